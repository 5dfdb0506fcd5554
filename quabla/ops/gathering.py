"""Reads and writes at index arrays: ``gather_nd``, and ``scatter_nd_set``, ``_add``, ``_max`` and ``_min``.

The last axis of ``indices`` holds one index for each of the attribute ``axes``. What stands at such a point is the part
of ``x`` along its other axes; the result of a read, and the updates of a write, have the other axes of ``indices``
first and those of a part behind them. A negative index counts from the end. One that is out of range after that is
clamped, or with ``outside=drop`` reads zeros and writes nothing: each read is then the transpose of a write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from quabla import dtypes
from quabla.ops.casting import CONSTANT
from quabla.ops.dispatch import Value, apply, cast, full
from quabla.ops.eager import wrap
from quabla.ops.masking import added
from quabla.ops.records import check_one_dtype
from quabla.ops.registry import Attribute, Kernel, Op, Sample, define
from quabla.ops.rules import mapped_size, with_mapped_axis, zeros
from quabla.ops.selection import choose, test
from quabla.ops.shaping import BROADCAST, CONCAT, RESHAPE, TRANSPOSE
from quabla.ops.types import Const, Params, TensorType, tensor_type

__all__ = [
    "CLAMP",
    "GATHER_ND",
    "SCATTER_ND_ADD",
    "SCATTER_ND_MAX",
    "SCATTER_ND_MIN",
    "SCATTER_ND_SET",
    "scatter_kernel",
    "with_lanes",
]

CLAMP: Final = "clamp"
DROP: Final = "drop"


def rest_axes(rank: int, axes: Sequence[int]) -> tuple[int, ...]:
    """The axes along which no index goes."""
    return tuple([a for a in range(rank) if a not in axes])


def part_type(x: TensorType, indices: TensorType, axes: Sequence[int]) -> TensorType:
    """The type of what is read, or written, at ``indices``."""
    return x.with_shape((*indices.shape[:-1], *(x.shape[a] for a in rest_axes(x.ndim, axes))))


def _check(x: TensorType, indices: TensorType, axes: tuple[int, ...], outside: str) -> None:
    if not axes or len(set(axes)) != len(axes) or not all(0 <= a < x.ndim for a in axes):
        raise ValueError(f"axes {list(axes)} are not distinct axes of {x}")
    if not indices.dtype.is_int or not indices.ndim or indices.shape[-1] != len(axes):
        raise ValueError(f"the indices must be ints with a last axis of extent {len(axes)}, got {indices}")
    if outside not in (CLAMP, DROP):
        raise ValueError(f"outside must be {CLAMP} or {DROP}, got {outside}")
    if outside == CLAMP and indices.size and not all(x.shape[a] for a in axes):
        raise ValueError(f"{x} has no elements along axes {list(axes)}")


# ---- kernels ------------------------------------------------------------------------------------


def _points(indices: Any, extents: Sequence[int], outside: str) -> tuple[tuple[Any, ...], Any]:
    """An index array for each axis, in range, and which points are in range where some are not."""
    parts: list[Any] = []
    inside: Any = None
    for k, n in enumerate(extents):
        i = indices[..., k].astype(np.intp, copy=False)
        if i.size and (i.min() < 0 or i.max() >= n):
            i = np.where(i < 0, i + n, i)
            if outside == DROP:
                fits = (i >= 0) & (i < n)
                inside = fits if inside is None else inside & fits
            i = np.clip(i, 0, max(n - 1, 0))
        parts.append(i)
    return tuple(parts), inside


def _gather_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    axes, outside = params
    x, indices = types
    extents = [x.shape[a] for a in axes]
    order = (*axes, *rest_axes(x.ndim, axes))
    mask = (*indices.shape[:-1], *(1,) * (x.ndim - len(axes)))
    result = part_type(x, indices, axes)
    zero = x.dtype.type(0)

    def gather(x: Any, indices: Any) -> Any:
        points, inside = _points(indices, extents, outside)
        if inside is None:
            return x.transpose(order)[points]
        if not inside.any():
            return np.zeros(result.shape, x.dtype)
        return np.where(inside.reshape(mask), x.transpose(order)[points], zero)

    return gather


def _set(out: Any, points: tuple[Any, ...], updates: Any) -> None:
    out[points] = updates


def _add(out: Any, points: tuple[Any, ...], updates: Any) -> None:
    out[points] += updates


def scatter_kernel(
    params: Params, types: Sequence[TensorType], *, add: bool = False, write: Any = None, in_place: bool = False
) -> Kernel:
    """The kernel of a write.

    Args:
        params: those of the op.
        types: its operands' types.
        add: the updates are added up; else they replace, or ``write`` says what they do.
        write: ``(out, points, updates)`` changes ``out``.
        in_place: the buffer itself is written to and returned; not with added updates at points that repeat.
    """
    axes, outside, unique = params
    x = types[0]
    extents = [x.shape[a] for a in axes]
    order = (*axes, *rest_axes(x.ndim, axes))
    own = x.dtype.numpy
    total = np.dtype(np.float64) if add and not unique and x.dtype is dtypes.float32 else own
    change: Any = write or ((_add if unique else np.add.at) if add else _set)

    def scatter(x: Any, indices: Any, updates: Any) -> Any:
        out = x if in_place else np.array(x, total)
        points, inside = _points(indices, extents, outside)
        if inside is not None:
            points, updates = tuple([p[inside] for p in points]), updates[inside]
        if points[0].size:
            change(out.transpose(order), points, updates)
        return out.astype(own, copy=False)

    return scatter


# ---- lowering -----------------------------------------------------------------------------------


def _starts(lo: Any, xs: Sequence[Any], node: Any) -> tuple[Any, bool]:
    """The indices with negative ones counted from the end, and whether all are known to be in range."""
    x, indices = node.operands[0].type, node.operands[1]
    t = indices.type
    extents = np.array([x.shape[a] for a in node.params[0]], t.dtype.numpy)
    if indices.op is CONSTANT and ((given := indices.params[0].array) >= 0).all() and (given < extents).all():
        return xs[1], True
    limits = lo.broadcast(lo.constant(Const(extents)), t.with_shape(extents.shape), t.shape)
    negative = lo.compare("LT", xs[1], lo.full(t, 0), t)
    return lo.select(negative, lo.add(t, xs[1], limits), xs[1], t), False


def _inside(lo: Any, starts: Any, node: Any) -> Any:
    """Which points are in range, for the axes of a read."""
    x, t = node.operands[0].type, node.operands[1].type
    extents = np.array([x.shape[a] for a in node.params[0]], t.dtype.numpy)
    limits = lo.broadcast(lo.constant(Const(extents)), t.with_shape(extents.shape), t.shape)
    low, high = lo.compare("GE", starts, lo.full(t, 0), t), lo.compare("LT", starts, limits, t)
    both = lo.op("stablehlo.and", t.with_dtype(dtypes.bool_), [low, high])
    points = t.with_shape(t.shape[:-1]).with_dtype(dtypes.bool_)
    return lo.reduce("minimum", both, t.with_dtype(dtypes.bool_), [t.ndim - 1], points)


def _gather_stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    axes, outside = node.params
    t = node.type
    if not t.size or not node.operands[0].type.size:
        return lo.full(t, 0)
    starts, known = _starts(lo, xs, node)
    read = lo.gather(xs[0], node.operands[0].type, starts, axes, 0, t)
    if known or outside == CLAMP:
        return read
    lead = node.operands[1].type.shape[:-1]
    mask = tensor_type((*lead, *(1,) * (t.ndim - len(lead))), dtypes.bool_)
    inside = lo.broadcast(lo.reshape(_inside(lo, starts, node), mask), mask, t.shape)
    return lo.select(inside, read, lo.full(t, 0), t)


def _scatter_stablehlo(kind: str) -> Callable[..., Any]:
    def lower(lo: Any, xs: Sequence[Any], node: Any) -> Any:
        axes, outside, unique = node.params
        x, indices, updates = (k.type for k in node.operands)
        if not updates.size:
            return xs[0]
        starts, known = _starts(lo, xs, node)
        if outside == CLAMP and not known:
            last = np.array([x.shape[a] - 1 for a in axes], indices.dtype.numpy)
            limits = lo.broadcast(lo.constant(Const(last)), indices.with_shape(last.shape), indices.shape)
            starts = lo.op("stablehlo.clamp", indices, [lo.full(indices, 0), starts, limits])
        if kind == "set" and not unique:
            starts, unique = _last_writers(lo, starts, node), True
        return lo.scatter(kind, xs[0], x, starts, xs[2], updates, axes, 0, unique=unique)

    return lower


def _last_writers(lo: Any, starts: Any, node: Any) -> Any:
    """``starts`` with those points moved out of range that a later one writes over.

    StableHLO leaves the order of writes to the target: this order is ours.
    """
    x, t = node.operands[0].type, node.operands[1].type
    points = t.with_shape(t.shape[:-1]).with_dtype(dtypes.int64)
    if points.size == 1:
        return starts
    extents = tuple([x.shape[a] for a in node.params[0]])
    axes = range(len(extents))
    board = tensor_type(extents, dtypes.int64)
    number = lo.reshape(lo.iota(tensor_type((points.size,), dtypes.int64), 0), points)
    latest = lo.scatter("maximum", lo.full(board, -1), board, starts, number, points, axes, 0)
    latest = lo.gather(latest, board, starts, axes, 0, points)
    mask = tensor_type((*points.shape, 1), dtypes.bool_)
    wins = lo.broadcast(lo.reshape(lo.compare("EQ", latest, number, points), mask), mask, t.shape)
    return lo.select(wins, starts, lo.full(t, -1), t)


# ---- batching -----------------------------------------------------------------------------------


def _moved(x: Value, source: int, target: int) -> Value:
    """``x`` with one axis elsewhere."""
    if source == target:
        return x
    order = [i for i in range(x.type.ndim) if i != source]
    order.insert(target, source)
    return apply(TRANSPOSE, (x,), (tuple(order),))


def with_lanes(indices: Value) -> Value:
    """Mapped indices with the number of the lane before them."""
    t = indices.type
    size, column = t.shape[0], (*t.shape[:-1], 1)
    lanes = np.arange(size, dtype=t.dtype.numpy).reshape((size, *(1,) * (t.ndim - 1)))
    first = apply(BROADCAST, (wrap(lanes, t.with_shape(lanes.shape)),), (column,))
    return apply(CONCAT, (first, indices), (t.ndim - 1,))


def _gather_batch(xs: Sequence[Value], mapped: Sequence[bool], params: Params) -> Value:
    axes, outside = params
    x, indices = xs
    shifted = tuple([a + 1 for a in axes])
    if not mapped[0]:
        return apply(GATHER_ND, (x, indices), params)
    if mapped[1]:
        return apply(GATHER_ND, (x, with_lanes(indices)), ((0, *shifted), outside))
    return _moved(apply(GATHER_ND, (x, indices), (shifted, outside)), indices.type.ndim - 1, 0)


def _scatter_batch(op: Callable[[], Op]) -> Callable[..., Value]:
    def batch(xs: Sequence[Value], mapped: Sequence[bool], params: Params) -> Value:
        axes, *rest = params
        size = mapped_size(xs, mapped)
        x, updates = (with_mapped_axis(xs[k], mapped[k], size) for k in (0, 2))
        indices = xs[1]
        shifted = tuple([a + 1 for a in axes])
        if mapped[1]:
            return apply(op(), (x, with_lanes(indices), updates), ((0, *shifted), *rest))
        updates = _moved(updates, 0, indices.type.ndim - 1)
        return apply(op(), (x, indices, updates), (shifted, *rest))

    return batch


# ---- derivatives --------------------------------------------------------------------------------


def _latest(xs: Sequence[Value], params: Params) -> Value | None:
    """Which updates are not written over by a later one, broadcast to the updates; None where all are."""
    axes, outside, unique = params
    x, indices = xs[0].type, xs[1]
    lead = indices.type.shape[:-1]
    if unique or prod(lead) <= 1:
        return None
    number = wrap(np.arange(prod(lead)).reshape(lead), tensor_type(lead, dtypes.int64))
    board = full(tensor_type(tuple([x.shape[a] for a in axes]), dtypes.int64), -1)
    every = tuple(range(len(axes)))
    latest = apply(SCATTER_ND_MAX, (board, indices, number), (every, outside, False))
    wins = test(apply(GATHER_ND, (latest, indices), (every, outside)), "equal", number)
    part = part_type(x, indices.type, axes)
    wins = apply(RESHAPE, (wins,), ((*lead, *(1,) * (part.ndim - len(lead))),))
    return apply(BROADCAST, (wins,), (part.shape,))


def _set_transpose_updates(ct: Value, xs: Sequence[Value], params: Params) -> Value:
    read = apply(GATHER_ND, (ct, xs[1]), params[:2])
    latest = _latest(xs, params)
    return read if latest is None else choose(latest, read, 0.0)


def _extremum_jvp(
    operands: Sequence[Value], tangents: Sequence[Value | None], result: Value, params: Params
) -> Value | None:
    """The mean of the tangents of all that equal the result, so that ties share the derivative equally."""
    x, indices, updates = operands
    own, _, others = tangents
    # What no update reaches equals itself, NaN too.
    kept = choose(test(x, "equal", x), test(x, "equal", result), test(x, "not_equal", x))
    taken = test(updates, "equal", apply(GATHER_ND, (result, indices), params[:2]))

    def total(a: Value, b: Value) -> Value:
        return apply(SCATTER_ND_ADD, (a, indices, b), params)

    a = zeros(x.type) if own is None else choose(kept, own, 0.0)
    b = zeros(updates.type) if others is None else choose(taken, others, 0.0)
    return total(a, b) / total(cast(kept, x.type.dtype), cast(taken, x.type.dtype))


# ---- records ------------------------------------------------------------------------------------


def _gather_infer(types: Sequence[TensorType], params: Params) -> TensorType:
    x, indices = types
    axes, outside = params
    _check(x, indices, axes, outside)
    return part_type(x, indices, axes)


def _scatter_infer(*, adds: bool = False) -> Callable[..., TensorType]:
    def infer(types: Sequence[TensorType], params: Params) -> TensorType:
        x, indices, updates = types
        axes, outside, _ = params
        _check(x, indices, axes, outside)
        check_one_dtype((x, updates))
        if adds and x.dtype.is_bool:
            raise ValueError(f"needs float or int arrays, got {x}")
        wanted = part_type(x, indices, axes)
        if updates is not wanted:
            raise ValueError(f"indices of type {indices} along axes {list(axes)} of {x} need {wanted}, got {updates}")
        return x

    return infer


_F, _I, _J = dtypes.float64, dtypes.int64, dtypes.int32


def _samples(params: Params, written: bool) -> tuple[Sample, ...]:
    """Points in range, from the end, out of range and repeated, along one axis and two."""

    def sample(x: Any, indices: Any, updates: Any, axes: tuple[int, ...], x_dtype: Any = _F, i: Any = _I) -> Sample:
        shapes = (x, indices, updates) if written else (x, indices)
        kinds = (x_dtype, i, x_dtype) if written else (x_dtype, i)
        lo, hi = ((0.3, -4.4, 0.2), (0.9, 4.4, 1.1)) if written else ((0.3, -4.4), (0.9, 4.4))
        return Sample(shapes, (axes, *params), lo, hi, dtypes=kinds)

    return (
        sample((4,), (5, 1), (5,), (0,)),
        sample((2, 3), (4, 1), (4, 2), (1,), i=_J),
        sample((3, 2, 4), (2, 3, 2), (2, 3, 2), (2, 0)),
        sample((3, 2), (1,), (2,), (0,), _J),
        sample((3, 2), (2,), (), (0, 1)),
    )


_OUTSIDE: Final = Attribute("outside", "str")
_AXES: Final = Attribute("axes", "ints")

GATHER_ND: Final = define(
    Op(
        "gather_nd",
        "The parts of x at index arrays; an index out of range is clamped, or reads zeros.",
        ("x", "indices"),
        attributes=(_AXES, _OUTSIDE),
        infer=_gather_infer,
        kernel=_gather_kernel,
        exact_f32=True,
        may_alias=False,
        transpose={
            0: lambda ct, xs, params: added(
                ct, lambda x: apply(SCATTER_ND_ADD, (zeros(xs[0].type), xs[1], x), (*params, False))
            ),
        },
        batch=_gather_batch,
        stablehlo=_gather_stablehlo,
        samples=(*_samples((CLAMP,), False), *_samples((DROP,), False)),
    )
)


def _scatter(name: str, summary: str, kind: str, *, adds: bool = False, write: Any = None, **rules: Any) -> Op:
    op = Op(
        name,
        summary + " An index out of range is clamped, or writes nothing; unique says that no point is repeated.",
        ("x", "indices", "updates"),
        attributes=(_AXES, _OUTSIDE, Attribute("unique", "bool", default=False)),
        infer=_scatter_infer(adds=adds),
        kernel=lambda params, types: scatter_kernel(params, types, add=adds, write=write),
        exact_f32=True,
        may_alias=False,
        batch=_scatter_batch(lambda: op),
        stablehlo=_scatter_stablehlo(kind),
        samples=(*_samples((CLAMP, False), True), *_samples((DROP, False), True)),
        **rules,
    )
    return define(op)


SCATTER_ND_SET: Final = _scatter(
    "scatter_nd_set",
    "x with parts replaced; where a point is repeated the last update stays.",
    "set",
    joint=True,
    transpose={
        0: lambda ct, xs, params: apply(SCATTER_ND_SET, (ct, xs[1], zeros(xs[2].type)), params),
        2: _set_transpose_updates,
    },
)
SCATTER_ND_ADD: Final = _scatter(
    "scatter_nd_add",
    "x with updates added to parts; repeated points add up in order.",
    "add",
    adds=True,
    joint=True,
    transpose={
        0: lambda ct, xs, params: ct,
        2: lambda ct, xs, params: apply(GATHER_ND, (ct, xs[1]), params[:2]),
    },
)
SCATTER_ND_MAX: Final = _scatter(
    "scatter_nd_max",
    "x with the maximum of parts and updates; ties share the derivative equally.",
    "maximum",
    write=np.maximum.at,
    jvp=_extremum_jvp,
)
SCATTER_ND_MIN: Final = _scatter(
    "scatter_nd_min",
    "x with the minimum of parts and updates; ties share the derivative equally.",
    "minimum",
    write=np.minimum.at,
    jvp=_extremum_jvp,
)
