"""Order along an axis: sorting, the positions of extremes, and places in a sorted array. NaN comes last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from quabla import dtypes
from quabla.ops.dispatch import Value, apply, cast
from quabla.ops.eager import wrap
from quabla.ops.gathering import CLAMP, GATHER_ND
from quabla.ops.indexing import check_axis
from quabla.ops.records import INTS, check_one_dtype
from quabla.ops.reductions import SUM
from quabla.ops.registry import Attribute, Kernel, Op, Sample, define
from quabla.ops.rules import mapped_size, with_mapped_axis
from quabla.ops.selection import test
from quabla.ops.shaping import BROADCAST, CONCAT, RESHAPE
from quabla.ops.types import Params, TensorType, tensor_type

__all__ = ["ARGMAX", "ARGMIN", "ARGSORT", "SEARCHSORTED", "SORT", "grid_indices"]

AXIS: Final = (Attribute("axis", "int"),)


def grid_indices(indices: Value, axis: int) -> Value:
    """Indices along one axis, of the shape of what they take, as the points of ``gather_nd`` along every axis."""
    t = indices.type
    column = (*t.shape, 1)
    columns = []
    for a, n in enumerate(t.shape):
        if a == axis:
            columns.append(apply(RESHAPE, (indices,), (column,)))
            continue
        shape = (*(n if i == a else 1 for i in range(t.ndim)), 1)
        numbers = np.arange(n, dtype=t.dtype.numpy).reshape(shape)
        columns.append(apply(BROADCAST, (wrap(numbers, t.with_shape(shape)),), (column,)))
    return columns[0] if len(columns) == 1 else apply(CONCAT, tuple(columns), (t.ndim,))


def _samples() -> tuple[Sample, ...]:
    return (
        Sample(((5,),), (0,)),
        Sample(((2, 4),), (1,)),
        Sample(((3, 2),), (0,)),
        *(Sample(((7,),), (0,), -3, 3, dtypes=(d,)) for d in (*INTS, dtypes.bool_)),
    )


def _batch(op: Callable[[], Op]) -> Callable[..., Value]:
    return lambda xs, mapped, params: apply(op(), (xs[0],), (params[0] + 1,))


# ---- sort and argsort ---------------------------------------------------------------------------


def _before(lo: Any, t: TensorType) -> Callable[[Any, Any], Any]:
    """Whether one value comes before another in sorted order."""

    def before(a: Any, b: Any) -> Any:
        less = lo.compare("LT", a, b, t)
        if not t.dtype.is_float:
            return less
        last = lo.op("stablehlo.and", less.type, [lo.compare("EQ", a, a, t), lo.compare("NE", b, b, t)])
        return lo.op("stablehlo.or", less.type, [less, last])

    return before


def _infer_sort(types: Sequence[TensorType], params: Params) -> TensorType:
    check_axis(types[0], params[0])
    return types[0]


def _infer_argsort(types: Sequence[TensorType], params: Params) -> TensorType:
    return _infer_sort(types, params).with_dtype(dtypes.int64)


def _sort_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    (axis,) = params
    return lambda x: np.sort(x, axis, kind="stable")


def _argsort_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    (axis,) = params
    return lambda x: np.argsort(x, axis, kind="stable").astype(np.int64, copy=False)


def _sort_stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    return lo.sort(xs, [node.type], node.params[0], _before(lo, node.type.with_shape(())))[0]


def _argsort_stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    t, (axis,) = node.operands[0].type, node.params
    numbers = lo.iota(node.type, axis)
    return lo.sort([xs[0], numbers], [t, node.type], axis, _before(lo, t.with_shape(())))[1]


def _sort_jvp(operands: Sequence[Value], tangents: Sequence[Value | None], result: Value, params: Params) -> Any:
    """The tangents in the order of the values."""
    (x,), (t,) = operands, tangents
    if t is None:
        return None
    points = grid_indices(apply(ARGSORT, (x,), params), params[0])
    return apply(GATHER_ND, (t, points), (tuple(range(x.type.ndim)), CLAMP))


SORT: Final = define(
    Op(
        "sort",
        "The elements in ascending order along an axis; equal ones keep their order, NaN comes last.",
        ("x",),
        attributes=AXIS,
        infer=_infer_sort,
        kernel=_sort_kernel,
        exact_f32=True,
        ints=True,
        may_alias=False,
        jvp=_sort_jvp,
        batch=_batch(lambda: SORT),
        stablehlo=_sort_stablehlo,
        samples=_samples(),
    )
)
ARGSORT: Final = define(
    Op(
        "argsort",
        "The indices that sort an axis, as int64; equal elements keep their order, NaN comes last.",
        ("x",),
        attributes=AXIS,
        infer=_infer_argsort,
        kernel=_argsort_kernel,
        exact_f32=True,
        ints=True,
        may_alias=False,
        differentiable=False,
        batch=_batch(lambda: ARGSORT),
        stablehlo=_argsort_stablehlo,
        samples=_samples(),
    )
)


# ---- positions of extremes ----------------------------------------------------------------------


def _infer_position(types: Sequence[TensorType], params: Params) -> TensorType:
    (t,), (axis,) = types, params
    n = check_axis(t, axis)
    result = tensor_type((*t.shape[:axis], *t.shape[axis + 1 :]), dtypes.int64)
    if not n and result.size:
        raise ValueError(f"no elements along axis {axis} of {t}")
    return result


def _position(name: str, summary: str, find: Callable[..., Any], extreme: str) -> Op:
    def kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
        (axis,) = params
        return lambda x: find(x, axis)

    def lower(lo: Any, xs: Sequence[Any], node: Any) -> Any:
        """The least index of an element that is the extreme, or NaN if there is one."""
        (axis,), t, numbers = node.params, node.operands[0].type, node.operands[0].type.with_dtype(dtypes.int64)
        if not node.type.size:
            return lo.full(node.type, 0)
        kept = t.with_shape((*t.shape[:axis], 1, *t.shape[axis + 1 :]))
        found = lo.reduce(extreme, xs[0], t, [axis], t.with_shape(node.type.shape))
        found = lo.broadcast(lo.reshape(found, kept), kept, t.shape)
        hit = lo.compare("EQ", xs[0], found, t)
        if t.dtype.is_float:
            hit = lo.op("stablehlo.or", hit.type, [hit, lo.compare("NE", xs[0], xs[0], t)])
        at = lo.select(hit, lo.iota(numbers, axis), lo.full(numbers, t.shape[axis]), numbers)
        return lo.reduce("minimum", at, numbers, [axis], node.type)

    op = Op(
        name,
        summary,
        ("x",),
        attributes=AXIS,
        infer=_infer_position,
        kernel=kernel,
        exact_f32=True,
        ints=True,
        may_alias=False,
        differentiable=False,
        batch=_batch(lambda: op),
        stablehlo=lower,
        samples=_samples(),
    )
    return define(op)


ARGMAX: Final = _position(
    "argmax", "The index of the first largest element along an axis, or of the first NaN.", np.argmax, "maximum"
)
ARGMIN: Final = _position(
    "argmin", "The index of the first smallest element along an axis, or of the first NaN.", np.argmin, "minimum"
)


# ---- searchsorted -------------------------------------------------------------------------------


def _infer_search(types: Sequence[TensorType], params: Params) -> TensorType:
    a, v = types
    if a.ndim != 1:
        raise ValueError(f"the sorted array must be of rank 1, got {a}")
    check_one_dtype(types)
    if params[0] not in ("left", "right"):
        raise ValueError(f"side must be left or right, got {params[0]}")
    return v.with_dtype(dtypes.int64)


def _search_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    (side,) = params
    return lambda a, v: np.asarray(np.searchsorted(a, v, side), np.int64)


def _search_batch(xs: Sequence[Value], mapped: Sequence[bool], params: Params) -> Value:
    """In lanes with sorted arrays of their own, by counting what comes before."""
    if not mapped[0]:
        return apply(SEARCHSORTED, tuple(xs), params)
    size = mapped_size(xs, mapped)
    v = with_mapped_axis(xs[1], mapped[1], size)
    n, rank = xs[0].type.shape[1], v.type.ndim
    a = apply(RESHAPE, (xs[0],), ((size, *(1,) * (rank - 1), n),))
    v = apply(RESHAPE, (v,), ((*v.type.shape, 1),))
    left = params[0] == "left"
    x, y = (a, v) if left else (v, a)
    before = test(x, "less", y)
    if x.type.dtype.is_float:
        before = before | (test(x, "equal", x) & test(y, "not_equal", y))
    counted = cast(before if left else ~before, dtypes.int64)
    return apply(SUM, (counted,), ((rank,),))


def _search_stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    """Bisection, written out."""
    a, v = (k.type for k in node.operands)
    (n,), t = a.shape, node.type
    before = _before(lo, v)
    left = node.params[0] == "left"
    low, high, one = lo.full(t, 0), lo.full(t, n), lo.full(t, 1)
    for _ in range(n.bit_length()):
        middle = lo.op("stablehlo.shift_right_logical", t, [lo.add(t, low, high), one])
        pivot = lo.gather(xs[0], a, lo.reshape(middle, t.with_shape((*t.shape, 1))), [0], 0, v)
        open_ = lo.compare("LT", low, high, t)
        after = before(pivot, xs[1]) if left else lo.op("stablehlo.not", open_.type, [before(xs[1], pivot)])
        up = lo.op("stablehlo.and", open_.type, [open_, after])
        high = lo.select(lo.op("stablehlo.xor", open_.type, [open_, up]), middle, high, t)
        low = lo.select(up, lo.add(t, middle, one), low, t)
    return low


SEARCHSORTED: Final = define(
    Op(
        "searchsorted",
        "Where values belong in a sorted array: before its equals, or behind them.",
        ("a", "v"),
        attributes=(Attribute("side", "str"),),
        infer=_infer_search,
        kernel=_search_kernel,
        exact_f32=True,
        ints=True,
        may_alias=False,
        differentiable=False,
        batch=_search_batch,
        stablehlo=_search_stablehlo,
        samples=tuple(
            Sample(shapes, (side,), dtypes=kinds, lo=-4.0, hi=4.0, make=lambda a, v: (np.sort(a), v))
            for side in ("left", "right")
            for shapes, kinds in (
                (((5,), (2, 3)), ()),
                (((8,), ()), ()),
                (((6,), (7,)), (dtypes.int64, dtypes.int64)),
            )
        ),
    )
)
