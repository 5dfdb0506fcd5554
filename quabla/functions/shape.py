"""Functions that rearrange, repeat, join and pad, composed of the ops that move data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quabla import errors
from quabla.ops.arguments import array_list, axis_index, axis_set, pad_widths, static_int, static_ints
from quabla.ops.casting import apply_weakly
from quabla.ops.dispatch import Value, apply, as_value, cast, full, is_value, weakly
from quabla.ops.indexing import GATHER, piece
from quabla.ops.reductions import SUM
from quabla.ops.rules import zeros
from quabla.ops.shaping import BROADCAST, CONCAT, PAD, TRANSPOSE, pad_zeros, reshaped
from quabla.ops.types import Shape, broadcast_shapes

__all__ = [
    "diag",
    "diagonal",
    "expand_dims",
    "flip",
    "meshgrid",
    "moveaxis",
    "pad",
    "ravel",
    "repeat",
    "roll",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "tile",
    "trace",
]


def _joined(parts: Sequence[Value], axis: int) -> Value:
    return weakly(apply(CONCAT, tuple(parts), (axis,)), parts[0].weak)


def _ints(what: str, x: object) -> tuple[int, ...]:
    """An int or a sequence of ints, as a tuple."""
    if isinstance(x, (Sequence, np.ndarray)) and getattr(x, "ndim", 1):
        return static_ints(what, x)
    return (static_int(what, x.item() if isinstance(x, np.ndarray) else x),)


def _axes(name: str, axis: object, rank: int) -> tuple[int, ...]:
    """Distinct axes in the order given."""
    axes = tuple([axis_index(name, a, rank) for a in _ints(f"{name}: the axis", axis)])
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: an axis is given twice in {axis!r}{errors.at_user_line()}")
    return axes


# ---- axes ---------------------------------------------------------------------------------------


def expand_dims(x: object, axis: object) -> Value:
    """``x`` with new axes of extent 1.

    Args:
        x: array-like.
        axis: the position of the new axis in the result, or several.

    Raises:
        ValueError: where a position is out of range or given twice.

    Example:
        >>> import quabla as qb
        >>> qb.expand_dims(qb.ones(3), (0, 2)).shape
        [1, 3, 1]
    """
    v = as_value(x)
    positions = _ints("expand_dims: the axis", axis)
    rank = v.type.ndim + len(positions)
    new = _axes("expand_dims", positions, rank)
    rest = iter(v.type.shape)
    return reshaped(v, tuple([1 if i in new else next(rest) for i in range(rank)]))


def squeeze(x: object, axis: object = None) -> Value:
    """``x`` without axes of extent 1.

    Args:
        x: array-like.
        axis: an axis, several, or None for all that have extent 1.

    Raises:
        ValueError: where an axis has another extent, does not exist or is given twice.

    Example:
        >>> import quabla as qb
        >>> qb.squeeze(qb.ones((1, 3, 1))).shape
        [3]
    """
    v = as_value(x)
    shape = v.type.shape
    gone = tuple([i for i, n in enumerate(shape) if n == 1]) if axis is None else axis_set("squeeze", axis, len(shape))
    for a in gone:
        if shape[a] != 1:
            raise ValueError(f"squeeze: axis {a} of {v.type} has not extent 1{errors.at_user_line()}")
    return reshaped(v, tuple([n for i, n in enumerate(shape) if i not in gone]))


def ravel(a: object) -> Value:
    """The elements of ``a`` in row-major order, as a vector.

    Example:
        >>> import quabla as qb
        >>> qb.ravel(qb.ones((2, 3))).shape
        [6]
    """
    v = as_value(a)
    return reshaped(v, (v.type.size,))


def moveaxis(a: object, source: object, destination: object) -> Value:
    """``a`` with axes moved to other positions; the others keep their order.

    Args:
        a: array-like.
        source: the axis to move, or several.
        destination: its position in the result, or as many.

    Raises:
        ValueError: where an axis does not exist or is given twice, or the numbers differ.

    Example:
        >>> import quabla as qb
        >>> qb.moveaxis(qb.ones((2, 3, 4)), 0, -1).shape
        [3, 4, 2]
    """
    v = as_value(a)
    rank = v.type.ndim
    old, new = _axes("moveaxis", source, rank), _axes("moveaxis", destination, rank)
    if len(old) != len(new):
        raise ValueError(f"moveaxis: {len(old)} source axes and {len(new)} destinations{errors.at_user_line()}")
    order = [i for i in range(rank) if i not in old]
    for to, axis in sorted(zip(new, old, strict=True)):
        order.insert(to, axis)
    return apply_weakly(TRANSPOSE, v, (tuple(order),))


def swapaxes(a: object, axis1: object, axis2: object) -> Value:
    """``a`` with two axes exchanged.

    Raises:
        ValueError: where an axis does not exist.

    Example:
        >>> import quabla as qb
        >>> qb.swapaxes(qb.ones((2, 3, 4)), 0, 2).shape
        [4, 3, 2]
    """
    v = as_value(a)
    rank = v.type.ndim
    i, j = axis_index("swapaxes", axis1, rank), axis_index("swapaxes", axis2, rank)
    order = list(range(rank))
    order[i], order[j] = j, i
    return apply_weakly(TRANSPOSE, v, (tuple(order),))


# ---- joining and splitting ----------------------------------------------------------------------


def stack(tensors: object, axis: object = 0) -> Value:
    """Arrays of one shape joined along a new axis.

    Args:
        tensors: a sequence of arrays.
        axis: the position of the new axis in the result.

    Raises:
        TypeError: where an element is not an array.
        ValueError: for an empty sequence, or different shapes or float dtypes.

    Example:
        >>> import quabla as qb
        >>> qb.stack([qb.ones(2), qb.zeros(2)], axis=1).tolist()
        [[1.0, 0.0], [1.0, 0.0]]
    """
    values = array_list("stack", tensors)
    shape = values[0].type.shape
    for v in values:
        if v.type.shape != shape:
            raise ValueError(
                f"stack: arrays have the shapes {list(shape)} and {list(v.type.shape)}{errors.at_user_line()}"
            )
    k = axis_index("stack", axis, len(shape) + 1)
    stacked = (*shape[:k], len(values), *shape[k:])
    if k == len(shape):
        return _joined([reshaped(v, (*shape, 1)) for v in values], k)
    # Blocks along an axis are rows along a new axis before it: one reshape instead of one for each array.
    return reshaped(_joined(values, k), stacked)


def split(x: object, indices_or_sections: object, axis: object = 0) -> list[Value]:
    """``x`` cut into pieces along an axis.

    Args:
        x: array-like.
        indices_or_sections: the number of equal pieces, or the positions to cut at.
        axis: the axis to cut.

    Raises:
        ValueError: where the extent is not a multiple of the number of pieces, or the axis does not exist.

    Example:
        >>> import quabla as qb
        >>> [p.tolist() for p in qb.split(qb.array([1.0, 2.0, 3.0]), [1])]
        [[1.0], [2.0, 3.0]]
    """
    v = as_value(x)
    k = axis_index("split", axis, v.type.ndim)
    n = v.type.shape[k]
    if isinstance(indices_or_sections, (Sequence, np.ndarray)) and getattr(indices_or_sections, "ndim", 1):
        cuts = list(static_ints("split: the positions", indices_or_sections))
    else:
        sections = static_int("split: the number of pieces", indices_or_sections)
        if sections < 1 or n % sections:
            raise ValueError(
                f"split: axis {k} of {v.type} does not divide into {sections} equal pieces{errors.at_user_line()}"
            )
        cuts = [i * (n // sections) for i in range(1, sections)]
    pieces = []
    for start, stop in zip([0, *cuts], [*cuts, n], strict=True):
        first, last, _ = slice(start, stop).indices(n)
        pieces.append(piece(v, k, first, max(last - first, 0)))
    return pieces


# ---- repeating ----------------------------------------------------------------------------------


def tile(A: object, reps: object) -> Value:
    """``A`` repeated as a whole along each axis.

    Args:
        A: array-like.
        reps: the number of copies along the last axis, or along each of the last axes.

    Raises:
        TypeError: where a number of copies is not an int.
        ValueError: where one is negative.

    Example:
        >>> import quabla as qb
        >>> qb.tile(qb.array([1.0, 2.0]), 2).tolist()
        [1.0, 2.0, 1.0, 2.0]
    """
    v = as_value(A)
    copies = _ints("tile: the number of copies", reps)
    if min(copies, default=0) < 0:
        raise ValueError(f"tile: the numbers of copies must not be negative, got {reps!r}{errors.at_user_line()}")
    rank = max(v.type.ndim, len(copies))
    shape = (*(1,) * (rank - v.type.ndim), *v.type.shape)
    copies = (*(1,) * (rank - len(copies)), *copies)
    if all(c == 1 for c in copies):
        return reshaped(v, shape)
    apart = [m for n in shape for m in (1, n)]
    spread = [m for c, n in zip(copies, shape, strict=True) for m in (c, n)]
    v = apply_weakly(BROADCAST, reshaped(v, tuple(apart)), (tuple(spread),))
    return reshaped(v, tuple([c * n for c, n in zip(copies, shape, strict=True)]))


def repeat(a: object, repeats: object, axis: object = None) -> Value:
    """``a`` with each element along an axis repeated.

    Args:
        a: array-like.
        repeats: the number of copies of each, or one number for each.
        axis: the axis; None flattens first.

    Raises:
        TypeError: where a number of copies is not an int.
        ValueError: where one is negative, or there are not as many as elements along the axis.

    Example:
        >>> import quabla as qb
        >>> qb.repeat(qb.array([1.0, 2.0]), [1, 2]).tolist()
        [1.0, 2.0, 2.0]
    """
    v = ravel(a) if axis is None else as_value(a)
    k = 0 if axis is None else axis_index("repeat", axis, v.type.ndim)
    counts = _ints("repeat: the number of copies", repeats)
    n = v.type.shape[k]
    if min(counts, default=0) < 0 or len(counts) not in (1, n):
        raise ValueError(
            f"repeat: needs a non-negative number of copies for all or for each of {n} elements, got {repeats!r}"
            f"{errors.at_user_line()}"
        )
    before, after = v.type.shape[:k], v.type.shape[k + 1 :]
    if len(counts) == 1:
        apart = reshaped(v, (*before, n, 1, *after))
        spread = apply_weakly(BROADCAST, apart, ((*before, n, counts[0], *after),))
        return reshaped(spread, (*before, n * counts[0], *after))
    indices = tuple([i for i, c in enumerate(counts) for _ in range(c)])
    return _taken(v, k, indices)


def _taken(x: Value, axis: int, indices: tuple[int, ...]) -> Value:
    if not indices:
        return piece(x, axis, 0, 0)
    return apply_weakly(GATHER, x, (axis, indices))


# ---- reversing and rotating ---------------------------------------------------------------------


def flip(m: object, axis: object = None) -> Value:
    """``m`` with the order of its elements reversed along axes.

    Args:
        m: array-like.
        axis: an axis, several, or None for all.

    Raises:
        ValueError: where an axis does not exist or is given twice.

    Example:
        >>> import quabla as qb
        >>> qb.flip(qb.array([1.0, 2.0, 3.0])).tolist()
        [3.0, 2.0, 1.0]
    """
    v = as_value(m)
    for a in axis_set("flip", axis, v.type.ndim):
        n = v.type.shape[a]
        if n > 1:
            v = piece(v, a, n - 1, n, -1)
    return v


def roll(a: object, shift: object, axis: object = None) -> Value:
    """``a`` with its elements moved along axes; those beyond the end come back at the start.

    Args:
        a: array-like.
        shift: by how many places, or a number for each axis.
        axis: an axis or several; None rolls the flattened array.

    Raises:
        TypeError: where a shift is not an int.
        ValueError: where an axis does not exist, or the numbers of shifts and axes differ.

    Example:
        >>> import quabla as qb
        >>> qb.roll(qb.array([1.0, 2.0, 3.0]), 1).tolist()
        [3.0, 1.0, 2.0]
    """
    v = as_value(a)
    if axis is None:
        return reshaped(roll(ravel(v), sum(_ints("roll: the shift", shift)), 0), v.type.shape)
    shifts = _ints("roll: the shift", shift)
    axes = [axis_index("roll", i, v.type.ndim) for i in _ints("roll: the axis", axis)]
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise ValueError(f"roll: {len(shifts)} shifts for {len(axes)} axes{errors.at_user_line()}")
    places: dict[int, int] = {}
    for i in range(max(len(shifts), len(axes)) if shifts and axes else 0):
        k = axes[i % len(axes)]
        places[k] = places.get(k, 0) + shifts[i % len(shifts)]
    for k, by in places.items():
        n = v.type.shape[k]
        by = by % n if n else 0
        if by:
            v = _joined([piece(v, k, n - by, by), piece(v, k, 0, n - by)], k)
    return v


# ---- padding ------------------------------------------------------------------------------------


def pad(array: object, pad_width: object, mode: str = "constant", constant_values: object = 0) -> Value:
    """``array`` with elements added before and after each axis.

    Args:
        array: array-like.
        pad_width: how many: a number, a pair (before, after), or a pair for each axis.
        mode: ``"constant"``; ``"edge"`` repeats the outermost elements; ``"reflect"`` and ``"symmetric"`` mirror
            at the outermost element and at the edge beyond it; ``"wrap"`` continues periodically.
        constant_values: for ``"constant"``: a number, a pair, or a pair for each axis. The number may be a scalar array.

    Raises:
        TypeError: where a width is not an int.
        ValueError: for negative widths, an unknown mode, or an empty axis that a mode other than constant extends.

    Example:
        >>> import quabla as qb
        >>> qb.pad(qb.array([1.0, 2.0, 3.0]), (1, 2), mode="reflect").tolist()
        [2.0, 1.0, 2.0, 3.0, 2.0, 1.0]
    """
    v = as_value(array)
    widths = pad_widths("pad", pad_width, v.type.ndim)
    if mode == "constant":
        return _pad_constant(v, widths, constant_values)
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise ValueError(
            f"pad: mode must be constant, edge, reflect, symmetric or wrap, got {mode!r}{errors.at_user_line()}"
        )
    for k, (before, after) in enumerate(widths):
        if before or after:
            n = v.type.shape[k]
            if not n:
                raise ValueError(f"pad: cannot extend axis {k} of {v.type} by {mode!r}{errors.at_user_line()}")
            # NumPy's own padding of the positions says where each element comes from.
            indices = np.pad(np.arange(n), (before, after), mode=mode)
            v = _taken(v, k, tuple(indices.tolist()))
    return v


def _pad_constant(x: Value, widths: list[tuple[int, int]], given: Any) -> Value:
    if is_value(given):
        if given.type.ndim:
            raise ValueError(f"pad: an array for constant_values must be a scalar{errors.at_user_line()}")
        filler = cast(given, x.type.dtype)
        return _extended(x, widths, lambda axis, side, shape: apply(BROADCAST, (filler,), (shape,)))
    try:
        values = np.broadcast_to(np.asarray(given, np.float64), (x.type.ndim, 2))
    except ValueError:
        raise ValueError(
            f"pad: constant_values must be a number, a pair, or a pair for each of the {x.type.ndim} axes, "
            f"got {given!r}{errors.at_user_line()}"
        ) from None
    if not values.any() and not np.signbit(values).any():
        return pad_zeros(x, widths)
    return _extended(x, widths, lambda axis, side, shape: full(x.type.with_shape(shape), values[axis, side].item()))


def _extended(x: Value, widths: list[tuple[int, int]], make: Callable[[int, int, Shape], Value]) -> Value:
    """``x`` joined along each axis with what ``make`` gives for the axis, the side (0 or 1) and the shape."""
    weak = x.weak
    for k, (before, after) in enumerate(widths):
        shape = x.type.shape
        parts = [x]
        if before:
            parts.insert(0, make(k, 0, (*shape[:k], before, *shape[k + 1 :])))
        if after:
            parts.append(make(k, 1, (*shape[:k], after, *shape[k + 1 :])))
        if len(parts) > 1:
            x = apply(CONCAT, tuple(parts), (k,))
    return weakly(x, weak)


# ---- diagonals ----------------------------------------------------------------------------------


def diag(v: object, k: int = 0) -> Value:
    """The matrix with a vector on a diagonal, or the diagonal of a matrix.

    Args:
        v: a vector or a matrix.
        k: which diagonal: 0 the main one, positive above it.

    Raises:
        ValueError: for any other rank.

    Example:
        >>> import quabla as qb
        >>> qb.diag(qb.array([1.0, 2.0])).tolist()
        [[1.0, 0.0], [0.0, 2.0]]
    """
    x = as_value(v)
    k = static_int("diag: k", k)
    if x.type.ndim == 2:
        return diagonal(x, k)
    if x.type.ndim != 1:
        raise ValueError(f"diag: needs a vector or a matrix, got {x.type}{errors.at_user_line()}")
    n = x.type.size
    m = n + abs(k)
    if not n:
        return zeros(x.type.with_shape((m, m)))
    # Row by row, the places of the diagonal are m + 1 apart.
    low = k if k >= 0 else -k * m
    length = (n - 1) * (m + 1) + 1
    return reshaped(apply_weakly(PAD, x, ((low,), (m * m - low - length,), (m,))), (m, m))


def diagonal(a: object, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    """The diagonals of the matrices in two axes, along a new last axis.

    Args:
        a: array-like of rank 2 or more.
        offset: which diagonal: 0 the main one, positive above it.
        axis1, axis2: the axes of the rows and of the columns.

    Raises:
        ValueError: where there are not two such axes.

    Example:
        >>> import quabla as qb
        >>> qb.diagonal(qb.array([[1.0, 2.0], [3.0, 4.0]]), offset=1).tolist()
        [2.0]
    """
    return _diagonal("diagonal", a, offset, axis1, axis2)


def _diagonal(name: str, a: object, offset: object, axis1: object, axis2: object) -> Value:
    x = as_value(a)
    k = static_int(f"{name}: the offset", offset)
    i, j = axis_index(name, axis1, x.type.ndim), axis_index(name, axis2, x.type.ndim)
    if i == j:
        raise ValueError(f"{name}: needs two axes, got {axis1} and {axis2}{errors.at_user_line()}")
    rest = [d for d in range(x.type.ndim) if d not in (i, j)]
    x = apply_weakly(TRANSPOSE, x, ((*rest, i, j),))
    *lead, rows, columns = x.type.shape
    x = reshaped(x, (*lead, rows * columns))
    length = max(min(rows, columns - k) if k >= 0 else min(rows + k, columns), 0)
    return piece(x, len(lead), k if k >= 0 else -k * columns, length, columns + 1)


def trace(a: object, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    """The sums of the diagonals of the matrices in two axes.

    Args:
        a: array-like of rank 2 or more.
        offset: which diagonal: 0 the main one, positive above it.
        axis1, axis2: the axes of the rows and of the columns.

    Raises:
        ValueError: for bool arrays, and where there are not two such axes.

    Example:
        >>> import quabla as qb
        >>> qb.trace(qb.array([[1.0, 2.0], [3.0, 4.0]])).item()
        5.0
    """
    d = _diagonal("trace", a, offset, axis1, axis2)
    return apply_weakly(SUM, d, ((d.type.ndim - 1,),))


# ---- grids --------------------------------------------------------------------------------------


def meshgrid(*xs: object, indexing: str = "xy") -> list[Value]:
    """The coordinates of the points of a grid, one array for each direction.

    Args:
        xs: the positions along each direction; vectors.
        indexing: ``"ij"``: direction i runs along axis i; ``"xy"``: the first direction runs along the columns and the
            second along the rows.

    Raises:
        ValueError: for any other indexing.

    Example:
        >>> import quabla as qb
        >>> [g.tolist() for g in qb.meshgrid(qb.array([1.0, 2.0]), qb.array([3.0]))]
        [[[1.0, 2.0]], [[3.0, 3.0]]]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}{errors.at_user_line()}")
    values = [ravel(x) for x in xs]
    rank = len(values)
    along = list(range(rank))
    if indexing == "xy" and rank > 1:
        along[:2] = 1, 0
    apart = [
        reshaped(v, tuple([v.type.size if d == k else 1 for d in range(rank)]))
        for v, k in zip(values, along, strict=True)
    ]
    shape = broadcast_shapes(*[v.type.shape for v in apart]) if apart else ()
    return [apply_weakly(BROADCAST, v, (shape,)) for v in apart]
