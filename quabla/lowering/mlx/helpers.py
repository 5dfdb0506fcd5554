"""Functions that a translation calls where ``mlx.core`` has none, or one that differs from StableHLO's.

Importing this needs MLX; the translation only writes these names.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Any, Final

import mlx.core as mx  # pyright: ignore[reportMissingImports]

from quabla.ops import random_words as quantiles

__all__ = [
    "cbrt",
    "divide_integers",
    "dynamic_slice",
    "dynamic_update_slice",
    "erf",
    "gather",
    "gaussian",
    "long_sum",
    "order",
    "pad",
    "remainder",
    "remainder_integers",
    "round_away",
    "scatter",
    "sech2",
    "shift_right_logical",
    "sign",
    "sin",
    "take",
    "windows",
]

Array = Any  # an array of MLX


# ---- elementwise ------------------------------------------------------------------------------------


def sin(x: Array) -> Array:
    """The sine, which keeps the sign of zero."""
    return mx.where(x == 0.0, x, mx.sin(x))


def sech2(x: Array) -> Array:
    """1 over the square of the hyperbolic cosine."""
    r = 1.0 / mx.cosh(x)
    return r * r


def sign(x: Array) -> Array:
    """The sign; NaN and both zeros stay as they are."""
    return mx.where(x == 0.0, x, mx.where(x == x, mx.sign(x), x))


def cbrt(x: Array) -> Array:
    """The cube root: a power, and a step of Newton's method for the digits that it lacks."""
    a = mx.abs(x)
    y = mx.power(a, 1.0 / 3.0)
    y = y - (y - a / (y * y)) / 3.0
    y = mx.where((x == 0.0) | (a == mx.inf) | (x != x), a, y)
    return mx.where(x == 0.0, x, sign(x) * y)


def round_away(x: Array) -> Array:
    """Rounding to the nearest integer, halves away from zero."""
    a = mx.abs(x)
    low = mx.floor(a)
    return mx.where(x == 0.0, x, sign(x) * (low + (a - low >= 0.5).astype(x.dtype)))


def remainder(x: Array, y: Array) -> Array:
    """The remainder of a division that rounds towards zero: it has the sign of ``x``."""
    x, y = mx.broadcast_arrays(mx.array(x, mx.float32), mx.array(y, mx.float32))
    r = mx.remainder(mx.abs(x), mx.abs(y))
    r = mx.where((mx.abs(y) == mx.inf) & mx.isfinite(x), mx.abs(x), r)
    return mx.where((x == 0.0) & (r == r), x, mx.where(x < 0.0, -r, r))


def divide_integers(x: Array, y: Array) -> Array:
    """The quotient of integers, rounded towards zero; dividing by zero gives -1."""
    x, y = mx.broadcast_arrays(mx.array(x), mx.array(y))
    safe = mx.where(y == 0, mx.ones_like(y), y)
    q = x // safe
    inexact = q * safe != x
    q = q + (inexact & ((x < 0) != (safe < 0))).astype(q.dtype)
    return mx.where(y == 0, -mx.ones_like(q), q)


def remainder_integers(x: Array, y: Array) -> Array:
    """The remainder that belongs to ``divide_integers``; of a division by zero, ``x``."""
    x, y = mx.broadcast_arrays(mx.array(x), mx.array(y))
    return mx.where(y == 0, x, x - divide_integers(x, y) * y)


def shift_right_logical(x: Array, y: Array) -> Array:
    """A shift to the right that fills with zeros."""
    unsigned = {mx.int32: mx.uint32, mx.int64: mx.uint64, mx.int16: mx.uint16, mx.int8: mx.uint8}.get(x.dtype)
    if unsigned is None:
        return x >> y
    return (x.view(unsigned) >> mx.array(y).astype(unsigned)).view(x.dtype)


#: erf(x) / x - 1 by powers of x**2, for |x| < 0.84375: the quotient of fdlibm (Sun Microsystems, 1993).
_ABOVE: Final = (
    1.28379167095512558561e-01,
    -3.25042107247001499370e-01,
    -2.84817495755985104766e-02,
    -5.77027029648944159157e-03,
    -2.37630166566501626084e-05,
)
_BELOW: Final = (
    1.0,
    3.97917223959155352819e-01,
    6.50222499887672944485e-02,
    5.08130628187576562776e-03,
    1.32494738004321644526e-04,
    -3.96022827877536812320e-06,
)


def _polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    y = coefficients[-1]
    for c in coefficients[-2::-1]:
        y = y * x + c
    return y


def erf(x: Array) -> Array:
    """The error function. MLX's own has no correct digits near zero."""
    s = x * x
    near = x + x * (_polynomial(s, _ABOVE) / _polynomial(s, _BELOW))
    return mx.where(mx.abs(x) < 0.84375, near, mx.erf(x))


def gaussian(words: Array) -> Array:
    """Normal samples of 64-bit words, as ``quabla.ops.random_words`` has them.

    The tail's probability and its distance from one half are rounded once, from integers.
    """
    k = (words.view(mx.uint64) >> 12).astype(mx.int64)
    tail = (k.astype(mx.float32) + 0.5) * 2.0**-53
    middle = ((2**52 - k).astype(mx.float32) - 0.5) * 2.0**-53
    r = mx.sqrt(-mx.log(tail))
    far = mx.where(r > 5.0, quantiles._ratio(quantiles._FAR_TAIL, r - 5.0), quantiles._ratio(quantiles._TAIL, r - 1.6))
    near = middle * quantiles._ratio(quantiles._MIDDLE, 0.180625 - middle * middle)
    size = mx.where(middle > 0.425, far, near)
    return mx.where((words & 1) != 0, -size, size)


# ---- slices and padding -----------------------------------------------------------------------------


def pad(x: Array, value: Array, low: Sequence[int], high: Sequence[int], interior: Sequence[int]) -> Array:
    """Padding at the edges, which is cut off where it is negative, and between the elements."""
    for axis, (lo, hi, between) in enumerate(zip(low, high, interior, strict=True)):
        if between and x.shape[axis] > 1:
            x = mx.expand_dims(x, axis + 1)
            widths = [(0, between if i == axis + 1 else 0) for i in range(x.ndim)]
            x = mx.flatten(mx.pad(x, widths, constant_values=value), axis, axis + 1)
            hi -= between
        extent = x.shape[axis]
        if lo > 0 or hi > 0:
            widths = [(max(lo, 0), max(hi, 0)) if i == axis else (0, 0) for i in range(x.ndim)]
            x = mx.pad(x, widths, constant_values=value)
        if lo < 0 or hi < 0:
            start = max(-lo, 0)
            stop = start + max(0, extent + lo + hi) if hi < 0 else x.shape[axis]
            x = x[(*(slice(None),) * axis, slice(start, stop))]
    return x


def _places(starts: Sequence[Any], limits: Sequence[int]) -> Array:
    """Starts of slices, moved to where the slices fit."""
    where = mx.stack([mx.array(s).astype(mx.int32) for s in starts])
    return mx.minimum(mx.maximum(where, 0), mx.array(limits, mx.int32))


def dynamic_slice(x: Array, starts: Sequence[Any], axes: Sequence[int], sizes: Sequence[int]) -> Array:
    """The slice of these sizes that starts at ``starts`` along ``axes``."""
    where = _places(starts, [x.shape[i] - sizes[i] for i in axes])
    return mx.slice(x, where, axes, sizes)


def dynamic_update_slice(x: Array, update: Array, starts: Sequence[Any], axes: Sequence[int]) -> Array:
    """``x`` with ``update`` in the place that starts at ``starts`` along ``axes``."""
    where = _places(starts, [x.shape[i] - update.shape[i] for i in axes])
    return mx.slice_update(x, update, where, axes)


# ---- gathers and scatters ---------------------------------------------------------------------------


def take(x: Array, rows: Array, axis: int) -> Array:
    """The rows at some indices along an axis; indices out of range are moved to the nearest row."""
    rows = mx.minimum(mx.maximum(rows, 0), x.shape[axis] - 1)
    found = mx.take(x, rows, axis)
    if rows.ndim != 1:  # the rows' axes replace the axis
        found = mx.reshape(found, (*x.shape[:axis], *rows.shape, *x.shape[axis + 1 :]))
    return found


def _vectors(indices: Array, vector: int) -> Array:
    """Index vectors along the last axis."""
    return mx.expand_dims(indices, -1) if vector == indices.ndim else mx.moveaxis(indices, vector, -1)


def _along_axis(extent: int, axis: int, rank: int) -> Array:
    """The numbers from 0 along one of several axes."""
    return mx.reshape(mx.arange(extent, dtype=mx.int32), [extent if i == axis else 1 for i in range(rank)])


def gather(
    x: Array,
    indices: Array,
    mapped: Sequence[int],
    vector: int,
    sizes: Sequence[int],
    offset: Sequence[int],
    collapsed: Sequence[int],
    batching: Sequence[int],
    index_batching: Sequence[int],
) -> Array:
    """StableHLO's gather: slices of these sizes, each moved to where it fits."""
    vectors = _vectors(indices, vector)
    batch = vectors.shape[:-1]
    kept = [i for i in range(x.ndim) if i not in collapsed and i not in batching]
    rank = len(batch) + len(kept)
    batch_axes = [i for i in range(rank) if i not in offset]

    def spread(a: Array) -> Array:
        """An array over the batch, along the batch axes of the result."""
        return mx.reshape(a, [batch[batch_axes.index(i)] if i in batch_axes else 1 for i in range(rank)])

    where = []
    for axis in range(x.ndim):
        place: Any = mx.zeros([1] * rank, mx.int32)
        if axis in mapped:
            start = vectors[..., mapped.index(axis)].astype(mx.int32)
            start = mx.minimum(mx.maximum(start, 0), x.shape[axis] - sizes[axis])
            place = spread(start)
        elif axis in batching:
            k = index_batching[batching.index(axis)]
            place = spread(mx.broadcast_to(_along_axis(x.shape[axis], k - (k > vector), len(batch)), batch))
        if axis in kept:
            place = place + _along_axis(sizes[axis], offset[kept.index(axis)], rank)
        where.append(place)
    return x[tuple(where)] if where else x


def scatter(
    x: Array,
    indices: Array,
    updates: Array,
    kind: str,
    mapped: Sequence[int],
    vector: int,
    window: Sequence[int],
    inserted: Sequence[int],
    batching: Sequence[int],
    index_batching: Sequence[int],
) -> Array:
    """StableHLO's scatter: what falls outside is left out."""
    vectors = _vectors(indices, vector)
    batch = vectors.shape[:-1]
    kept = [i for i in range(x.ndim) if i not in inserted and i not in batching]
    rank = updates.ndim
    batch_axes = [i for i in range(rank) if i not in window]

    def spread(a: Array) -> Array:
        return mx.reshape(a, [batch[batch_axes.index(i)] if i in batch_axes else 1 for i in range(rank)])

    flat: Any = mx.zeros([1] * rank, mx.int32)
    inside: Any = mx.ones([1] * rank, mx.bool_)
    for axis in range(x.ndim):
        place: Any = mx.zeros([1] * rank, mx.int32)
        if axis in mapped:
            place = spread(vectors[..., mapped.index(axis)]).astype(mx.int32)
        elif axis in batching:
            k = index_batching[batching.index(axis)]
            place = spread(mx.broadcast_to(_along_axis(x.shape[axis], k - (k > vector), len(batch)), batch))
        if axis in kept:
            i = window[kept.index(axis)]
            place = place + _along_axis(updates.shape[i], i, rank)
        inside = inside & (place >= 0) & (place < x.shape[axis])
        flat = flat * x.shape[axis] + place
    # What falls outside goes to one more element, which is dropped.
    flat = mx.flatten(mx.broadcast_to(mx.where(inside, flat, x.size), updates.shape))
    plain = x.astype(mx.int32) if x.dtype == mx.bool_ else x
    # MLX has no kernels for GPUs that scatter 64 bits at once.
    with mx.stream(mx.cpu) if plain.itemsize == 8 else contextlib.nullcontext():
        line = mx.concatenate([mx.flatten(plain), mx.zeros((1,), plain.dtype)])
        values = mx.flatten(updates).astype(plain.dtype)
        if kind == "set":
            line[flat] = values
        else:
            line = getattr(line.at[flat], kind)(values)
        line = line[:-1]
    return mx.reshape(line, x.shape).astype(x.dtype)


#: Sums of more numbers than this are taken block by block: MLX on the CPU adds one number after the other.
_BLOCK: Final = 256


def long_sum(x: Array, axes: Sequence[int]) -> Array:
    """The sum of many numbers along some axes, with an error that does not grow with their count."""
    for axis in sorted(axes, reverse=True):
        x = _sum_along(x, axis)
    return x


def _sum_along(x: Array, axis: int) -> Array:
    extent = x.shape[axis]
    if extent <= 4 * _BLOCK:
        return mx.sum(x, axis)
    before = (slice(None),) * axis
    whole = extent - extent % _BLOCK
    blocks = mx.sum(mx.unflatten(x[(*before, slice(0, whole))], axis, (-1, _BLOCK)), axis + 1)
    if whole < extent:
        rest = mx.sum(x[(*before, slice(whole, None))], axis, keepdims=True)
        blocks = mx.concatenate([blocks, rest], axis)
    return _sum_along(blocks, axis)


def windows(x: Array, value: float, window: Sequence[int], padding: Sequence[tuple[int, int]]) -> Array:
    """All windows of a padded array, their own axes last."""
    low, high = zip(*padding, strict=True) if padding else ((), ())
    x = mx.contiguous(pad(x, value, low, high, (0,) * x.ndim))
    strides = [math.prod(x.shape[i + 1 :]) for i in range(x.ndim)]
    places = [n - w + 1 for n, w in zip(x.shape, window, strict=True)]
    return mx.as_strided(x, (*places, *window), (*strides, *strides))


def order(x: Array, axis: int, *, descending: bool) -> Array:
    """The indices that sort along an axis; NaN is last, and equal elements keep their order."""
    if not descending:
        return mx.argsort(x, axis)
    # Sorting what has been turned around keeps the order of equal elements when it is turned back.
    turned = x[(*(slice(None),) * axis, slice(None, None, -1))]
    found = x.shape[axis] - 1 - mx.argsort(turned, axis).astype(mx.int32)
    return found[(*(slice(None),) * axis, slice(None, None, -1))]
