"""Ops for the bodies of loops: rows at an index that is known only when the program runs.

The index is a rank-0 float, such as a loop's counter, or int. A negative one counts from the end, and one
that is out of range is clamped, as in StableHLO.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from quabla import dtypes
from quabla.ops.dispatch import Value, apply, cast, full
from quabla.ops.eager import wrap
from quabla.ops.elementwise import ADD, COMPARE, FLOOR, MAXIMUM, MINIMUM, WHERE
from quabla.ops.gathering import CLAMP, GATHER_ND, SCATTER_ND_ADD, SCATTER_ND_SET, scatter_kernel, with_lanes
from quabla.ops.indexing import check_axis
from quabla.ops.into import Into, assigned
from quabla.ops.records import INF, NAN, REALS
from quabla.ops.reductions import SUM
from quabla.ops.registry import Attribute, Kernel, Op, Sample, define
from quabla.ops.rules import mapped_size, with_mapped_axis, zeros
from quabla.ops.shaping import BROADCAST, RESHAPE
from quabla.ops.types import Params, TensorType, tensor_type

__all__ = ["ADD_AT", "BARRIER", "PUT", "TAKE", "WRITERS", "row_number"]

AXIS: Final = (Attribute("axis", "int"),)
#: Bounds that keep the index of a sample inside its axis.
_INSIDE: Final[dict[str, Any]] = {"lo": (0.3, 0.3, 1.2), "hi": (0.9, 0.9, 1.8)}


def row_type(t: TensorType, axis: int) -> TensorType:
    """``t`` without one axis."""
    return t.with_shape((*t.shape[:axis], *t.shape[axis + 1 :]))


def row_number(index: Any, extent: int) -> int:
    """The row that an index names: negative from the end, then clamped; NaN is row 0."""
    i = float(index)
    if i != i:
        return 0
    if i < 0:
        i += extent
    return int(min(max(i, 0.0), extent - 1))


def _check_index(t: TensorType) -> None:
    if t.shape != () or t.dtype.is_bool:
        raise ValueError(f"the index must be a rank-0 float or int, got {t}")


def _check_row(x: TensorType, v: TensorType, axis: int) -> None:
    if v is not row_type(x, axis):
        raise ValueError(f"the row must be {row_type(x, axis)} to go along axis {axis} of {x}, got {v}")


def _infer_take(types: Sequence[TensorType], params: Params) -> TensorType:
    x, index = types
    if check_axis(x, params[0]) == 0:
        raise ValueError(f"axis {params[0]} of {x} has no rows")
    _check_index(index)
    return row_type(x, params[0])


def _infer_put(types: Sequence[TensorType], params: Params) -> TensorType:
    x, v, index = types
    check_axis(x, params[0])
    _check_row(x, v, params[0])
    _check_index(index)
    return x


def _at(axis: int, i: int) -> tuple[Any, ...]:
    return (*(slice(None),) * axis, i)


def _take_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    (axis,) = params
    extent = types[0].shape[axis]

    def take(x: Any, index: Any) -> Any:
        row = x[_at(axis, row_number(index, extent))]
        return row.copy() if row.ndim else row  # a copy, so that the buffer may be written to afterwards

    return take


def _take_into(params: Params, types: Sequence[TensorType]) -> Into:
    (axis,) = params
    extent = types[0].shape[axis]
    return Into(lambda x, index, out: assigned(x[_at(axis, row_number(index, extent))], out))


def put_kernel(params: Params, types: Sequence[TensorType], *, add: bool, in_place: bool = False) -> Kernel:
    """The kernel of ``put`` or ``add_at``; in place where the buffer is not needed afterwards."""
    (axis,) = params
    extent = types[0].shape[axis]

    def put(x: Any, v: Any, index: Any) -> Any:
        out = x if in_place else np.array(x)
        at = _at(axis, row_number(index, extent))
        if add:
            out[at] += v
        else:
            out[at] = v
        return out

    return put


# ---- batching: an index for each example ---------------------------------------------------------
#
# A row of a short axis is selected by comparison, which fuses with what is around it; a row of a long one is gathered.

SHORT: Final = 32


def _points(index: Value) -> Value:
    """For each example its number and the row that its index names, for reads and writes at points."""
    if index.type.dtype.is_float:
        index = cast(apply(FLOOR, (index,)), dtypes.int64)
    return with_lanes(apply(RESHAPE, (index,), ((index.type.shape[0], 1),)))


def _is_row(index: Value, extent: int, axis: int, rank: int) -> Value:
    """For each example, which rows its index names: ``[size, 1, .., extent, .., 1]`` with ``rank`` axes."""
    d = index.type.dtype
    zero, count = full(tensor_type((), d), 0.0), full(tensor_type((), d), float(extent))
    wrapped = apply(WHERE, (apply(COMPARE, (index, zero), ("less",)), apply(ADD, (index, count)), index))
    last = full(tensor_type((), d), float(extent - 1))
    row = apply(MAXIMUM, (zero, apply(MINIMUM, (last, wrapped))))
    if d.is_float:
        row = apply(FLOOR, (row,))
    row = apply(RESHAPE, (row,), ((index.type.shape[0], *(1,) * (rank - 1)),))
    shape = (1,) * axis + (extent,) + (1,) * (rank - 1 - axis)
    numbers = np.arange(extent, dtype=d.numpy).reshape(shape)
    return apply(COMPARE, (wrap(numbers, tensor_type(shape, d)), row), ("equal",))


def _batch_take(xs: Sequence[Value], mapped: Sequence[bool], params: Params) -> Value:
    x, index = xs
    axis = params[0] + 1
    size = mapped_size(xs, mapped)
    x = with_mapped_axis(x, mapped[0], size)
    if not mapped[1]:
        return apply(TAKE, (x, index), (axis,))
    if x.type.shape[axis] > SHORT:
        return apply(GATHER_ND, (x, _points(index)), ((0, axis), CLAMP))
    chosen = _is_row(index, x.type.shape[axis], axis, x.type.ndim)
    return apply(SUM, (apply(WHERE, (chosen, x, zeros(tensor_type((), x.type.dtype)))),), ((axis,),))


def _batch_put(add: bool) -> Any:
    def batch(xs: Sequence[Value], mapped: Sequence[bool], params: Params) -> Value:
        x, v, index = xs
        axis = params[0] + 1
        size = mapped_size(xs, mapped)
        x, v = with_mapped_axis(x, mapped[0], size), with_mapped_axis(v, mapped[1], size)
        if not mapped[2]:
            return apply(ADD_AT if add else PUT, (x, v, index), (axis,))
        if x.type.shape[axis] > SHORT:
            return apply(SCATTER_ND_ADD if add else SCATTER_ND_SET, (x, _points(index), v), ((0, axis), CLAMP, True))
        chosen = _is_row(index, x.type.shape[axis], axis, x.type.ndim)
        v = apply(RESHAPE, (v,), ((*v.type.shape[:axis], 1, *v.type.shape[axis:]),))
        v = apply(BROADCAST, (v,), (x.type.shape,))
        if add:
            return apply(WHERE, (chosen, apply(ADD, (x, v)), x))
        return apply(WHERE, (chosen, v, x))

    return batch


# ---- lowering -----------------------------------------------------------------------------------


def _starts(lo: Any, t: TensorType, index: Any, index_type: TensorType, axis: int) -> list[Any]:
    """The start indices of a row: the index along ``axis``, else 0. StableHLO clamps them."""
    row, first = lo.row(index, index_type, t.shape[axis]), lo.integer(0)
    return [row if k == axis else first for k in range(t.ndim)]


def _lower_take(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    x, index = (k.type for k in node.operands)
    (axis,) = node.params
    return lo.reshape(_row(lo, xs[0], x, _starts(lo, x, xs[1], index, axis), axis), node.type)


def _row(lo: Any, x: Any, t: TensorType, starts: list[Any], axis: int) -> Any:
    sizes = (*t.shape[:axis], 1, *t.shape[axis + 1 :])
    return lo.op("stablehlo.dynamic_slice", t.with_shape(sizes), [x, *starts], slice_sizes=sizes)


def _lower_put(add: bool) -> Any:
    def lower(lo: Any, xs: Sequence[Any], node: Any) -> Any:
        x, _, index = (k.type for k in node.operands)
        (axis,) = node.params
        starts = _starts(lo, x, xs[2], index, axis)
        piece = x.with_shape((*x.shape[:axis], 1, *x.shape[axis + 1 :]))
        v = lo.reshape(xs[1], piece)
        if add:
            v = lo.add(piece, _row(lo, xs[0], x, starts, axis), v)
        return lo.op("stablehlo.dynamic_update_slice", x, [xs[0], v, *starts])

    return lower


def _take_fold(operands: Sequence[Value], params: Params) -> Value | None:
    x = operands[0]
    return None if x.splat is None else full(_infer_take([v.type for v in operands], params), x.splat)


TAKE: Final = define(
    Op(
        "take",
        "The row of x at an index along one axis.",
        ("x", "index"),
        attributes=AXIS,
        infer=_infer_take,
        kernel=_take_kernel,
        fold=_take_fold,
        into=_take_into,
        exact_f32=True,
        may_alias=False,
        transpose={0: lambda ct, xs, params: apply(ADD_AT, (zeros(xs[0].type), ct, xs[1]), params)},
        batch=_batch_take,
        stablehlo=_lower_take,
        samples=(
            Sample(((4, 3), ()), (0,), (0.3, 1.2), (0.9, 1.8)),
            Sample(((2, 3), ()), (1,), (0.3, 1.2), (0.9, 1.8)),
            Sample(((4,), ()), (0,), (0.3, 1.2), (0.9, 1.8)),
            Sample(((4,), ()), (0,), -5, 5, dtypes=(dtypes.float64, dtypes.int64)),
            Sample(((4,), ()), (0,), -5, 5, dtypes=(dtypes.int32, dtypes.int32)),
        ),
    )
)
PUT: Final = define(
    Op(
        "put",
        "x with its row at an index along one axis replaced.",
        ("x", "row", "index"),
        attributes=AXIS,
        infer=_infer_put,
        kernel=lambda params, types: put_kernel(params, types, add=False),
        exact_f32=True,
        may_alias=False,
        joint=True,
        transpose={
            0: lambda ct, xs, params: apply(PUT, (ct, zeros(xs[1].type), xs[2]), params),
            1: lambda ct, xs, params: apply(TAKE, (ct, xs[2]), params),
        },
        batch=_batch_put(False),
        stablehlo=_lower_put(False),
        samples=(Sample(((4, 3), (3,), ()), (0,), **_INSIDE), Sample(((2, 3), (2,), ()), (1,), **_INSIDE)),
    )
)
ADD_AT: Final = define(
    Op(
        "add_at",
        "x with a row added to its row at an index along one axis.",
        ("x", "row", "index"),
        attributes=AXIS,
        infer=_infer_put,
        kernel=lambda params, types: put_kernel(params, types, add=True),
        exact_f32=True,
        may_alias=False,
        joint=True,
        transpose={
            0: lambda ct, xs, params: ct,
            1: lambda ct, xs, params: apply(TAKE, (ct, xs[2]), params),
        },
        batch=_batch_put(True),
        stablehlo=_lower_put(True),
        samples=(Sample(((4, 3), (3,), ()), (0,), **_INSIDE), Sample(((2, 3), (2,), ()), (1,), **_INSIDE)),
    )
)
BARRIER: Final = define(
    Op(
        "barrier",
        "x itself, which no pass looks through: what is computed from it is not shared with what is computed from x.",
        ("x",),
        attributes=(Attribute("id", "int"),),
        infer=lambda types, params: types[0],
        kernel=lambda params, types: lambda x: x,
        exact_f32=True,
        may_alias=True,
        elementwise=True,
        transpose={0: lambda ct, xs, params: ct},
        batch=lambda xs, mapped, params: apply(BARRIER, (xs[0],), params),
        # The number keeps barriers of one value apart in StableHLO too.
        stablehlo=lambda lo, xs, node: lo.op(
            "stablehlo.optimization_barrier", node.type, xs, **{"qb.id": node.params[0]}
        ),
        samples=(Sample(((2, 3),), (0,)),),
        special=(((-0.0,), -0.0), ((NAN,), NAN), ((INF,), INF)),
        domain=(REALS,),
        ulps=0,
    )
)


#: For ops that write to a buffer, ``(params, types) -> kernel or None``: one that writes over the buffer it is given.
WRITERS: Final = {
    PUT: lambda params, types: put_kernel(params, types, add=False, in_place=True),
    ADD_AT: lambda params, types: put_kernel(params, types, add=True, in_place=True),
    SCATTER_ND_SET: lambda params, types: scatter_kernel(params, types, in_place=True),
    SCATTER_ND_ADD: lambda params, types: scatter_kernel(params, types, add=True, in_place=True) if params[2] else None,
}
