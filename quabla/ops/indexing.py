"""Parts of arrays: slices, gathers along an axis with static indices, and their adjoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from quabla import dtypes, errors
from quabla.ops import rows
from quabla.ops.arguments import axis_index, static_int, static_ints
from quabla.ops.dispatch import Value, apply, as_value, full, is_value, promote, weakly
from quabla.ops.into import Into
from quabla.ops.masking import added, moved
from quabla.ops.registry import Attribute, Kernel, Op, Sample, define
from quabla.ops.rules import mapped_size, with_mapped_axis, zeros
from quabla.ops.shaping import CONCAT, PAD, apply_weakly, is_zero
from quabla.ops.types import Params, TensorType

__all__ = ["GATHER", "SCATTER_ADD", "SLICE", "gather", "piece", "scatter_add", "slice_"]

Index = tuple[slice, ...]


def resized(t: TensorType, axis: int, extent: int) -> TensorType:
    """``t`` with another extent along one axis."""
    return t.with_shape((*t.shape[:axis], extent, *t.shape[axis + 1 :]))


def check_axis(t: TensorType, axis: int) -> int:
    """The extent of an axis.

    Raises:
        ValueError: where there is no such axis.
    """
    if not 0 <= axis < t.ndim:
        raise ValueError(f"axis {axis} is out of range for {t}")
    return t.shape[axis]


# ---- slice --------------------------------------------------------------------------------------


def _slice_infer(types: Sequence[TensorType], params: Params) -> TensorType:
    (t,) = types
    axis, start, length, step = params
    n = check_axis(t, axis)
    if step == 0:
        raise ValueError("the step must not be 0")
    last = start + (length - 1) * step
    if length < 0 or (length and not (0 <= start < n and 0 <= last < n)):
        raise ValueError(
            f"start {start}, length {length} and step {step} reach outside axis {axis} of {t}, whose extent is {n}"
        )
    return resized(t, axis, length)


def _slice_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    axis, start, length, step = params
    stop = start + length * step
    window: Index = (*(slice(None),) * axis, slice(start, stop if stop >= 0 else None, step) if length else slice(0, 0))
    return lambda x: x[window]


def _slice_transpose(ct: Value, operands: Sequence[Value], params: Params) -> Value:
    t = operands[0].type
    if params[2] == 0:
        return zeros(t)
    return moved(ct, lambda x: _put_back(x, t, params))


def _put_back(ct: Value, t: TensorType, params: Params) -> Value:
    """The elements of a slice in their places, zeros elsewhere."""
    axis, start, length, step = params
    if step < 0:
        ct = apply(SLICE, (ct,), (axis, length - 1, length, -1))
        start, step = start + (length - 1) * step, -step
    low, high, interior = [0] * t.ndim, [0] * t.ndim, [0] * t.ndim
    low[axis] = start
    high[axis] = t.shape[axis] - 1 - (start + (length - 1) * step)
    interior[axis] = step - 1 if length > 1 else 0
    return apply(PAD, (ct,), (tuple(low), tuple(high), tuple(interior)))


def _slice_fold(operands: Sequence[Value], params: Params) -> Value | None:
    (x,) = operands
    axis, start, length, step = params
    t = x.type
    if length == t.shape[axis] and (step == 1 or length <= 1):
        return x
    if x.splat is not None:
        return full(resized(t, axis, length), x.splat)
    if length <= 1 and step != 1:
        return apply(SLICE, (x,), (axis, start if length else 0, length, 1))
    if x.op is SLICE and x.params[0] == axis and length:
        return apply(SLICE, x.operands, (axis, x.params[1] + start * x.params[3], length, step * x.params[3]))
    if x.op is CONCAT and x.params[0] == axis and length:
        first, last = sorted((start, start + (length - 1) * step))
        offset = 0
        for part in x.operands:
            n = part.type.shape[axis]
            if offset <= first and last < offset + n:
                return apply(SLICE, (part,), (axis, start - offset, length, step))
            offset += n
    return None


def _lower_slice(lo: Any, x: Any, t: TensorType, axis: int, start: int, length: int, step: int) -> Any:
    if step < 0:
        x = lo.op("stablehlo.reverse", t, [x], dimensions=(axis,))
        start, step = t.shape[axis] - 1 - start, -step
    limits = list(t.shape)
    limits[axis] = start + (length - 1) * step + 1 if length else start
    starts, strides = [0] * t.ndim, [1] * t.ndim
    starts[axis], strides[axis] = start, step
    bounds = {"start_indices": tuple(starts), "limit_indices": tuple(limits), "strides": tuple(strides)}
    return lo.op("stablehlo.slice", resized(t, axis, length), [x], **bounds)


SLICE: Final = define(
    Op(
        "slice",
        "length elements along one axis, from start on, step apart; the step may be negative.",
        ("x",),
        attributes=(
            Attribute("axis", "int"),
            Attribute("start", "int"),
            Attribute("length", "int"),
            Attribute("step", "int", default=1),
        ),
        infer=_slice_infer,
        kernel=_slice_kernel,
        exact_f32=True,
        transpose={0: _slice_transpose},
        batch=lambda xs, mapped, params: apply(SLICE, (xs[0],), (params[0] + 1, *params[1:])),
        stablehlo=lambda lo, xs, node: _lower_slice(lo, xs[0], node.operands[0].type, *node.params),
        fold=_slice_fold,
        samples=(
            Sample(((5,),), (0, 1, 3, 1)),
            Sample(((2, 7),), (1, 1, 3, 2)),
            Sample(((6, 2),), (0, 5, 3, -2)),
            Sample(((2, 3),), (1, 2, 1, 1), dtypes=(dtypes.bool_,)),
        ),
    )
)


def slice_(x: object, axis: object, start: object, length: object, step: object = 1) -> Value:
    """``length`` elements along one axis, from ``start`` on and ``step`` apart.

    Args:
        x: array-like.
        axis: the axis; negative ones count from the end.
        start: the index of the first element.
        length: the number of elements.
        step: the distance between elements, negative to go backwards.

    Raises:
        ValueError: where the elements are not all inside the array, or the step is 0.
    """
    v = as_value(x)
    i = axis_index("slice", axis, v.type.ndim)
    if rows.is_traced(start):
        count, apart = static_int("slice: length", length), static_int("slice: step", step)
        if not 1 <= count <= v.type.shape[i]:
            raise ValueError(f"slice: length {count} does not fit axis {i} of {v.type}{errors.at_user_line()}")
        return weakly(rows.take_range(v, i, start, count, apart), v.weak)
    named = (("start", start), ("length", length), ("step", step))
    return apply_weakly(SLICE, v, (i, *(static_int(f"slice: {name}", n) for name, n in named)))


# ---- gather and scatter_add ---------------------------------------------------------------------


def piece(x: Value, axis: int, start: int, length: int, step: int = 1) -> Value:
    """A slice whose bounds are known to be right; of no elements, it may start anywhere."""
    return apply_weakly(SLICE, x, (axis, start if length else 0, length, step))


def _check_indices(t: TensorType, axis: int, indices: tuple[int, ...]) -> None:
    n = check_axis(t, axis)
    if indices and not (min(indices) >= 0 and max(indices) < n):
        wrong = next(i for i in indices if not 0 <= i < n)
        raise IndexError(f"index {wrong} is out of range for axis {axis} of {t}, whose extent is {n}")


def runs(indices: Sequence[int]) -> list[tuple[int, int, int]]:
    """Indices as maximal runs ``(start, length, step)`` of equal non-zero step, in order."""
    out: list[tuple[int, int, int]] = []
    i = 0
    while i < len(indices):
        start, step, j = indices[i], 1, i + 1
        if j < len(indices) and indices[j] != start:
            step = indices[j] - start
            while j < len(indices) and indices[j] - indices[j - 1] == step:
                j += 1
        out.append((start, j - i, step))
        i = j
    return out


#: Up to this many runs a gather is slices side by side, which every backend fuses better than a gather.
FEW_RUNS: Final = 4


def _gather_infer(types: Sequence[TensorType], params: Params) -> TensorType:
    axis, indices = params
    _check_indices(types[0], axis, indices)
    return resized(types[0], axis, len(indices))


def _gather_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    axis, indices = params
    where = np.array(indices, np.intp)
    return lambda x: x.take(where, axis)


def _gather_into(params: Params, types: Sequence[TensorType]) -> Into:
    axis, indices = params
    where = np.array(indices, np.intp)
    return Into(lambda x, out: x.take(where, axis, out, "clip"))  # checking them would take a copy


def _gather_fold(operands: Sequence[Value], params: Params) -> Value | None:
    (x,) = operands
    axis, indices = params
    if x.splat is not None:
        return full(resized(x.type, axis, len(indices)), x.splat)
    if len(indices) == x.type.shape[axis] and indices == tuple(range(len(indices))):
        return x
    if x.op is GATHER and x.params[0] == axis:
        return apply(GATHER, x.operands, (axis, tuple([x.params[1][i] for i in indices])))
    return None


def _gather_stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    axis, indices = node.params
    t = node.operands[0].type
    pieces = runs(indices)
    if len(pieces) > FEW_RUNS:
        starts = lo.integers(np.reshape(indices, (-1, 1)))
        return lo.gather(xs[0], t, starts, [axis], axis, node.type, ordered=list(indices) == sorted(indices))
    if not pieces:
        return _lower_slice(lo, xs[0], t, axis, 0, 0, 1)
    parts = [_lower_slice(lo, xs[0], t, axis, *piece) for piece in pieces]
    return parts[0] if len(parts) == 1 else lo.op("stablehlo.concatenate", node.type, parts, dimension=axis)


GATHER: Final = define(
    Op(
        "gather",
        "The elements at static indices along an axis.",
        ("x",),
        attributes=(Attribute("axis", "int"), Attribute("indices", "ints")),
        infer=_gather_infer,
        kernel=_gather_kernel,
        into=_gather_into,
        exact_f32=True,
        may_alias=False,
        transpose={
            0: lambda ct, operands, params: added(
                ct, lambda x: apply(SCATTER_ADD, (zeros(operands[0].type), x), params)
            )
        },
        batch=lambda xs, mapped, params: apply(GATHER, (xs[0],), (params[0] + 1, params[1])),
        stablehlo=_gather_stablehlo,
        fold=_gather_fold,
        samples=(
            Sample(((4,),), (0, (2, 0, 2))),
            Sample(((2, 5),), (1, (4, 3, 1))),
            Sample(((9, 2),), (0, (3, 3, 8, 0, 5, 5, 4, 1, 7, 2, 2))),
            Sample(((3, 2),), (0, (1, 1)), dtypes=(dtypes.bool_,)),
        ),
    )
)


def _scatter_infer(types: Sequence[TensorType], params: Params) -> TensorType:
    x, updates = types
    axis, indices = params
    _check_indices(x, axis, indices)
    if x.dtype is not updates.dtype or not x.dtype.is_float:
        raise ValueError(f"needs two arrays of one float dtype, got {x} and {updates}")
    wanted = resized(x, axis, len(indices))
    if updates is not wanted:
        raise ValueError(
            f"{len(indices)} indices along axis {axis} of {x} need updates of type {wanted}, got {updates}"
        )
    return x


#: An index that repeats more often than this leaves the vectorized kernel for ``np.add.at``.
FEW_ROUNDS: Final = 8


def _rounds(indices: tuple[int, ...]) -> list[list[int]]:
    """Positions of ``indices`` in groups without repetition: the first occurrence of each index, the second, ..."""
    seen: dict[int, int] = {}
    groups: list[list[int]] = []
    for position, i in enumerate(indices):
        k = seen[i] = seen.get(i, -1) + 1
        if k == len(groups):
            groups.append([])
        groups[k].append(position)
    return groups


def _scatter_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    axis, indices = params
    t = types[0]
    lead = (slice(None),) * axis
    where = np.array(indices, np.intp)
    groups = _rounds(indices)
    if len(groups) <= 1:

        def once(x: Any, updates: Any) -> Any:
            out = x.copy()
            out[(*lead, where)] += updates
            return out

        return once

    targets = [((*lead, where[g]), (*lead, np.array(g, np.intp))) for g in groups[: FEW_ROUNDS + 1]]
    result = t.dtype.numpy

    def repeated(x: Any, updates: Any) -> Any:
        out = x.astype(np.float64)
        if len(targets) <= FEW_ROUNDS:
            for target, source in targets:
                out[target] += updates[source]
        else:
            np.add.at(out, (*lead, where), updates)
        return out.astype(result, copy=False)

    return repeated


def _scatter_batch(xs: Sequence[Value], mapped: Sequence[bool], params: Params) -> Value:
    size = mapped_size(xs, mapped)
    x, updates = [with_mapped_axis(v, m, size) for v, m in zip(xs, mapped, strict=True)]
    return apply(SCATTER_ADD, (x, updates), (params[0] + 1, params[1]))


def _scatter_transpose(
    ct: Value, operands: Sequence[Value], active: Sequence[bool], params: Params
) -> list[Value | None]:
    return [ct if active[0] else None, apply(GATHER, (ct,), params) if active[1] else None]


def _scatter_stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    axis, indices = node.params
    x, updates = node.operands
    pieces = runs(indices)
    if len(pieces) == 1 and is_zero(x):
        start, length, step = pieces[0]
        source = xs[1]
        if step < 0:
            source = lo.op("stablehlo.reverse", updates.type, [source], dimensions=(axis,))
            start, step = start + (length - 1) * step, -step
        low, high, interior = [0] * x.type.ndim, [0] * x.type.ndim, [0] * x.type.ndim
        low[axis], interior[axis] = start, step - 1
        high[axis] = x.type.shape[axis] - 1 - (start + (length - 1) * step)
        widths = {"edge_padding_low": tuple(low), "edge_padding_high": tuple(high), "interior_padding": tuple(interior)}
        return lo.op("stablehlo.pad", node.type, [source, lo.full(x.type.with_shape(()), 0)], **widths)
    known = {"ordered": list(indices) == sorted(indices), "unique": len(set(indices)) == len(indices)}
    starts = lo.integers(np.reshape(indices, (-1, 1)))
    return lo.scatter("add", xs[0], x.type, starts, xs[1], updates.type, [axis], axis, **known)


SCATTER_ADD: Final = define(
    Op(
        "scatter_add",
        "Add updates at static indices along an axis; repeated indices add up in order.",
        ("x", "updates"),
        attributes=(Attribute("axis", "int"), Attribute("indices", "ints")),
        infer=_scatter_infer,
        kernel=_scatter_kernel,
        exact_f32=True,
        may_alias=False,
        transpose=_scatter_transpose,
        joint=True,
        batch=_scatter_batch,
        stablehlo=_scatter_stablehlo,
        samples=(
            Sample(((3,), (2,)), (0, (2, 0))),
            Sample(((2, 3), (2, 4)), (1, (1, 1, 0, 1))),
            Sample(((4, 2), (3, 2)), (0, (3, 2, 1))),
        ),
    )
)


def is_int_array(indices: Any) -> bool:
    """Whether indices are an int array of rank 1."""
    return is_value(indices) and indices.type.dtype.is_int and indices.type.ndim == 1


def normalized_indices(name: str, indices: Any, t: TensorType, axis: int) -> tuple[int, ...]:
    """Indices along an axis as non-negative ints.

    Raises:
        TypeError: where they are not a flat sequence of ints.
        IndexError: where one is out of range.
    """
    n = t.shape[axis]
    if is_int_array(indices):
        indices = indices.tolist()
    given = static_ints(f"{name}: indices", indices)
    for i in given:
        if not -n <= i < n:
            raise IndexError(
                f"{name}: index {i} is out of range for axis {axis} of {t}, whose extent is {n}{errors.at_user_line()}"
            )
    return tuple([i % n for i in given])


def gather(x: object, indices: Any, axis: object = 0) -> Value:
    """The elements of ``x`` at some indices along an axis.

    Args:
        x: array-like.
        indices: an int array of rank 1 or a flat sequence of ints; negative ones count from the end. Traced scalars may
            be among them. What is traced and out of range is clamped.
        axis: the axis.

    Raises:
        IndexError: for an index out of range.

    Example:
        >>> import quabla as qb
        >>> qb.array([1.0, 2.0, 3.0]).gather([2, 0])
        Tensor([3., 1.], dtype=float64)
    """
    v = as_value(x)
    i = axis_index("gather", axis, v.type.ndim)
    if isinstance(indices, (list, tuple)) and any(map(rows.is_traced, indices)):
        return weakly(rows.take_rows(v, i, indices), v.weak)
    if rows.is_traced(indices) and is_int_array(indices):
        return weakly(rows.take_array(v, i, indices), v.weak)
    return apply_weakly(GATHER, v, (i, normalized_indices("gather", indices, v.type, i)))


def scatter_add(x: object, indices: Any, updates: object, axis: object = 0) -> Value:
    """``x`` with ``updates`` added at some indices along an axis.

    Args:
        x: array-like.
        indices: an int array of rank 1 or a flat sequence of ints; negative ones count from the end, repeated ones add
            up in order. Traced scalars may be among them. What is traced and out of range adds nothing.
        updates: array-like of the shape of ``x`` with as many elements along ``axis`` as there are indices.
        axis: the axis.

    Raises:
        ValueError: where the shape of ``updates`` does not fit.
        IndexError: for an index out of range.

    Example:
        >>> import quabla as qb
        >>> qb.zeros(3).scatter_add([0, 2, 0], qb.array([1.0, 2.0, 3.0]))
        Tensor([4., 0., 2.], dtype=float64)
    """
    (v, u), weak = promote("scatter_add", x, updates)
    i = axis_index("scatter_add", axis, v.type.ndim)
    whole = rows.is_traced(indices) and is_int_array(indices)
    if whole or (isinstance(indices, (list, tuple)) and any(map(rows.is_traced, indices))):
        wanted = resized(v.type, i, len(indices))
        if u.type is not wanted:
            raise ValueError(f"scatter_add: updates must be {wanted}, got {u.type}{errors.at_user_line()}")
        return weakly((rows.add_array if whole else rows.add_rows)(v, i, indices, u), weak)
    r = apply(SCATTER_ADD, (v, u), (i, normalized_indices("scatter_add", indices, v.type, i)))
    return weakly(r, weak)
