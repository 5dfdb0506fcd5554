"""``x[index]`` and ``x.at[index]``: parts of arrays read, and arrays with parts replaced.

Indices out of range
    An index that is known while tracing, or at once, raises IndexError. One that is known only when the program runs
    counts from the end where it is negative; if it is out of range then, a read takes the nearest element there is, and
    a write is dropped. Derivatives follow: that of such a read goes to the element that was read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from quabla import errors
from quabla.dtypes import bool_
from quabla.functions.creation import array
from quabla.functions.indices import Range, Selection, as_ints, int_array, select
from quabla.functions.math import logical_and, logical_or
from quabla.ops import rows
from quabla.ops.arguments import axis_index
from quabla.ops.dispatch import Value, apply, as_value, cast, full, is_value, promote, weakly
from quabla.ops.eager import alike, is_tensor, with_elements, wrap
from quabla.ops.elementwise import ADD, COMPARE, DIV, MAXIMUM, MINIMUM, MUL, WHERE
from quabla.ops.gathering import (
    CLAMP,
    DROP,
    GATHER_ND,
    SCATTER_ND_ADD,
    SCATTER_ND_MAX,
    SCATTER_ND_MIN,
    SCATTER_ND_SET,
    part_type,
)
from quabla.ops.indexing import piece
from quabla.ops.registry import Op
from quabla.ops.rules import ones
from quabla.ops.shaping import BROADCAST, CONCAT, PAD, RESHAPE, TRANSPOSE, reshaped
from quabla.ops.types import Shape, broadcast_shapes

__all__ = ["At", "getitem", "take", "take_along_axis"]


# ---- reading ------------------------------------------------------------------------------------


@errors.hides_library_frames
def getitem(x: Value, index: Any) -> Value:
    """``x[index]``: NumPy's basic and advanced indexing.

    Raises:
        TypeError: for floats, and for lists and arrays of anything but ints and bools.
        IndexError: for an index out of range, too many indices, two ellipses, or arrays that do not broadcast.
        TracerError: for a slice with a traced bound, and for a traced mask.
    """
    try:
        if not x.traced:
            plain = index if _is_plain(index) else _array_alone(index)
            if plain is not _NOT_PLAIN:
                try:
                    return with_elements(x, x.data[plain])
                except (IndexError, TypeError):
                    pass  # select says what is wrong
        return _read(x, select(index, x.type.shape))
    except Exception as e:
        errors.hide_library_frames(e)
        raise


def _is_plain(index: Any) -> bool:
    """Whether NumPy reads an index as we do."""
    if index.__class__ is not tuple:
        return index.__class__ in _PLAIN
    for i in index:  # noqa: SIM110  (all() takes longer than NumPy)
        if i.__class__ not in _PLAIN:
            return False
    return True


def _array_alone(index: Any) -> Any:
    """The only index array as NumPy's, where that reads it as we do."""
    array = index.data if is_tensor(index) else index
    return array if array.__class__ is np.ndarray and array.ndim and array.dtype.kind in "iub" else _NOT_PLAIN


_PLAIN: Final = frozenset({int, slice, type(None), type(...)})
_NOT_PLAIN: Final = object()


def _read(x: Value, taken: Selection) -> Value:
    if not x.traced and taken.window is not None:  # NumPy at once, where a trace has an op for each axis
        return with_elements(x, x.data[taken.window])
    weak = x.weak
    x = _window(x, taken)
    if taken.points is None:
        for axis in reversed(range(len(taken.axes))):
            if is_value(taken.axes[axis]):
                x = rows.take(x, axis, taken.axes[axis])
    else:
        axes, points = _points(taken)
        x = apply(GATHER_ND, (x, points), (axes, CLAMP))
        x = _reshaped(x, (*taken.points, *taken.kept))
        x = _transposed(x, _placing(taken))
    return weakly(_reshaped(x, taken.shape), weak)


def _window(x: Value, taken: Selection) -> Value:
    """The part that the slices and ints take; where an int stands extent 1 is left."""
    for axis, item in enumerate(taken.axes):
        if isinstance(item, int):
            x = piece(x, axis, item, 1)
        elif isinstance(item, Range):
            x = piece(x, axis, *item)
    return x


def _points(taken: Selection) -> tuple[tuple[int, ...], Value]:
    """The axes that index arrays go along, and the points that these name, as ``gather_nd`` wants them."""
    assert taken.points is not None
    axes = tuple([a for a, i in enumerate(taken.axes) if not isinstance(i, (int, Range))])
    items = [taken.axes[a] for a in axes]
    if not any(map(is_value, items)):
        return axes, as_ints(np.stack(np.broadcast_arrays(*items), -1))
    columns = []
    for item in items:
        column = as_ints(item)
        if column.type.shape != taken.points:
            column = apply(BROADCAST, (column,), (taken.points,))
        columns.append(apply(RESHAPE, (column,), ((*taken.points, 1),)))
    return axes, columns[0] if len(columns) == 1 else apply(CONCAT, tuple(columns), (len(taken.points),))


def _placing(taken: Selection) -> tuple[int, ...]:
    """The permutation that puts the axes of the points, which come first, to their place among the kept ones."""
    assert taken.points is not None
    lead, rank = len(taken.points), len(taken.points) + len(taken.kept)
    rest = range(lead, rank)
    return (*rest[: taken.place], *range(lead), *rest[taken.place :])


def _transposed(x: Value, order: tuple[int, ...]) -> Value:
    return x if order == tuple(range(len(order))) else apply(TRANSPOSE, (x,), (order,))


def _reshaped(x: Value, shape: Shape) -> Value:
    return x if x.type.shape == shape else apply(RESHAPE, (x,), (shape,))


def take(x: object, indices: object, axis: object = None) -> Value:
    """The elements at some indices along an axis.

    Args:
        x: array-like.
        indices: an int, or an int array or list of any shape; negative ones count from the end.
        axis: the axis, which the axes of ``indices`` replace; None flattens ``x`` first.

    Raises:
        TypeError: for indices that are not ints.
        IndexError: for an index out of range. Traced indices are clamped instead.

    Example:
        >>> import quabla as qb
        >>> qb.take(qb.array([1.0, 2.0, 3.0]), [2, -3])
        Tensor([3., 1.], dtype=float64)
    """
    v = as_value(x)
    if axis is None:
        v, k = reshaped(v, (v.type.size,)), 0
    else:
        k = axis_index("take", axis, v.type.ndim)
    if isinstance(indices, tuple):
        indices = list(indices)
    found = indices if isinstance(indices, int) else int_array(indices)
    if isinstance(found, np.ndarray) and found.dtype == np.bool_:
        raise TypeError(f"take: the indices must be ints, got bools{errors.at_user_line()}")
    return getitem(v, (*(slice(None),) * k, found))


def take_along_axis(x: object, indices: object, axis: object) -> Value:
    """The elements at the indices that go with each slice along an axis, such as those that ``argsort`` gives.

    Args:
        x: array-like.
        indices: an int array of the rank of ``x``; its other axes broadcast against those of ``x``.
        axis: the axis.

    Raises:
        TypeError: for indices that are not ints.
        ValueError: where the ranks differ.
        IndexError: for an index out of range. Traced indices are clamped instead.

    Example:
        >>> import quabla as qb
        >>> x = qb.array([[3.0, 1.0], [2.0, 4.0]])
        >>> qb.take_along_axis(x, qb.argsort(x, axis=1), axis=1)
        Tensor([[1., 3.],
                [2., 4.]], dtype=float64)
    """
    v = as_value(x)
    k = axis_index("take_along_axis", axis, v.type.ndim)
    found = int_array(indices)
    rank = 0 if isinstance(found, int) else found.type.ndim if is_value(found) else found.ndim
    if rank != v.type.ndim:
        raise ValueError(
            f"take_along_axis: needs indices of rank {v.type.ndim}, got rank {rank}{errors.at_user_line()}"
        )
    return getitem(v, tuple([found if a == k else _numbers(n, a, rank) for a, n in enumerate(v.type.shape)]))


def _numbers(extent: int, axis: int, rank: int) -> np.ndarray[Any, Any]:
    """The positions along one of ``rank`` axes."""
    return np.arange(extent).reshape([-1 if a == axis else 1 for a in range(rank)])


# ---- writing ------------------------------------------------------------------------------------

Combine = Callable[[Value, Value], Value]


def _binary(op: Op, of_bools: Combine | None = None) -> Combine:
    return lambda old, new: of_bools(old, new) if of_bools and old.type.dtype.is_bool else apply(op, (old, new))


#: What an update makes of what was there.
_COMBINE: Final[dict[str, Combine]] = {
    "set": lambda old, new: new,
    "add": _binary(ADD),
    "multiply": _binary(MUL),
    "max": _binary(MAXIMUM, logical_or),
    "min": _binary(MINIMUM, logical_and),
}
#: How updates of points that may be repeated are written.
_SCATTER: Final = {"set": SCATTER_ND_SET, "add": SCATTER_ND_ADD, "max": SCATTER_ND_MAX, "min": SCATTER_ND_MIN}


class At:
    """``x.at``: ``x.at[index]`` reads and writes what ``x[index]`` takes. Arrays never change; a write makes a new one.

    Example:
        >>> import quabla as qb
        >>> qb.zeros(3).at[[0, 0, 2]].add(1.0)
        Tensor([2., 0., 1.], dtype=float64)
    """

    __slots__ = ("_x",)

    def __init__(self, x: Value) -> None:
        self._x = x

    def __getitem__(self, index: Any) -> Place:
        return Place(self._x, index)

    def __repr__(self) -> str:
        return f"At({self._x!r})"


@errors.hides_library_frames_in_methods
class Place:
    """A place in an array: what ``x.at[index]`` stands for. Its methods return new arrays.

    Values broadcast to the shape of ``x[index]`` and must have the dtype of ``x``, to which numbers, ints and bools give
    way. Where an index is repeated, ``set`` keeps the last value, the others combine all of them in order.
    """

    __slots__ = ("_index", "_x")

    def __init__(self, x: Value, index: Any) -> None:
        self._x = x
        self._index = index

    def get(self) -> Value:
        """``x[index]``."""
        return getitem(self._x, self._index)

    def set(self, values: object) -> Value:
        """``x`` with the elements replaced."""
        return self._updated("set", values)

    def add(self, values: object) -> Value:
        """``x`` with values added to the elements."""
        return self._updated("add", values)

    def multiply(self, values: object) -> Value:
        """``x`` with the elements multiplied by values."""
        return self._updated("multiply", values)

    def divide(self, values: object) -> Value:
        """``x`` with the elements divided by values.

        Raises:
            ValueError: for an array that is not a float one.
        """
        if not self._x.type.dtype.is_float:
            raise ValueError(f"at[...].divide: needs a float array, got {self._x.type}{errors.at_user_line()}")
        divisors = Place(full(self._x.type, 1.0), self._index).multiply(values)
        return weakly(apply(DIV, (self._x, divisors)), self._x.weak)

    def max(self, values: object) -> Value:
        """``x`` with the larger of the elements and values; ties share the derivative equally."""
        return self._updated("max", values)

    def min(self, values: object) -> Value:
        """``x`` with the smaller of the elements and values; ties share the derivative equally."""
        return self._updated("min", values)

    def _updated(self, kind: str, values: object) -> Value:
        x = self._x
        new = _values(kind, x, values)
        if is_tensor(x) and is_tensor(new) and _is_plain(self._index):
            made = _written(kind, x, self._index, new)
            if made is not None:
                return made
        mask = _only_mask(self._index)
        if mask is not None:
            return _where_masked(kind, x, mask, new)
        taken = select(self._index, x.type.shape)
        try:
            new = new if new.type.shape == taken.shape else apply(BROADCAST, (new,), (taken.shape,))
        except ValueError:
            raise ValueError(
                f"at[...].{kind}: values of shape {list(new.type.shape)} do not broadcast to {list(taken.shape)}"
                f"{errors.at_user_line()}"
            ) from None
        return weakly(_write(kind, x, taken, new), x.weak)


def _written(kind: str, x: Value, index: Any, new: Value) -> Value | None:
    """An update of what ints and slices take, at once; None where ``select`` says what is wrong."""
    try:
        old = with_elements(x, x.data[index])
        fits = broadcast_shapes(new.type.shape, old.type.shape) == old.type.shape
    except (IndexError, TypeError, ValueError):
        return None
    if not fits:
        return None
    array = x.data.copy()
    array[index] = _COMBINE[kind](old, new).data
    return wrap(array, x.type, x.weak)


def _values(kind: str, x: Value, values: object) -> Value:
    """The values in the dtype of the array.

    Raises:
        ValueError: for values of another dtype, and arithmetic on bools.
    """
    dtype = x.type.dtype
    _, new = alike(x, values)
    if dtype.is_float and is_tensor(new) and new.type.dtype is dtype:
        return new
    name = f"at[...].{kind}"
    if dtype.is_int and isinstance(values, (list, tuple, np.ndarray)) and np.asarray(values).dtype.kind in "iu":
        values = array(values, dtype)
    if dtype.is_bool:
        new = as_value(values)
        if not new.type.dtype.is_bool or kind in ("add", "multiply"):
            raise ValueError(f"{name}: a bool array takes bools and set, max and min only{errors.at_user_line()}")
        return new
    (_, new), _ = promote(name, x, values, ints=True)
    if new.type.dtype is not dtype:
        if not x.weak:
            raise ValueError(
                f"{name}: the array is {dtype!r} and the values are {new.type.dtype!r}; convert one with astype"
                f"{errors.at_user_line()}"
            )
        new = cast(new, dtype)
    return new


def _only_mask(index: Any) -> Value | None:
    """The index where it is a traced mask."""
    item: Any = index[0] if index.__class__ is tuple and len(index) == 1 else index
    return item if rows.is_traced(item) and item.type.dtype.is_bool else None


def _where_masked(kind: str, x: Value, mask: Value, new: Value) -> Value:
    """An update where a traced mask holds: possible without knowing how many elements that are."""
    shape, m = x.type.shape, mask.type.shape
    if m != shape[: len(m)]:
        raise IndexError(
            f"a mask of shape {list(m)} does not fit an array of shape {list(shape)}{errors.at_user_line()}"
        )
    part = shape[len(m) :]
    if new.type.ndim > len(part):
        raise errors.TracerError(
            f"at[mask].{kind}: a traced mask has no static number of true elements to give values of shape "
            f"{list(new.type.shape)} to; use quabla.where with values of the shape of the array{errors.at_user_line()}"
        )
    mask = apply(RESHAPE, (mask,), ((*m, *(1,) * len(part)),)) if part else mask
    return weakly(apply(WHERE, (mask, _COMBINE[kind](x, new), x)), x.weak)


def _write(kind: str, x: Value, taken: Selection, new: Value) -> Value:
    if not new.type.size:
        return x
    if taken.points is None:
        new = _reshaped(new, tuple([i.length for i in taken.axes if isinstance(i, Range)]))
        return _write_rows(_COMBINE[kind], x, taken.axes, new)
    order = _placing(taken)
    new = _reshaped(new, tuple([(*taken.points, *taken.kept)[a] for a in order]))
    new = _transposed(new, tuple(np.argsort(order).tolist()))
    part = _window(x, taken)
    axes, points = _points(taken)
    new = _reshaped(new, part_type(part.type, points.type, axes).shape)
    return _placed(x, taken.axes, _scattered(kind, part, axes, points, new))


def _scattered(kind: str, x: Value, axes: tuple[int, ...], points: Value, new: Value) -> Value:
    """An update of points, which may be repeated."""
    if _all_differ(points):
        old = apply(GATHER_ND, (x, points), (axes, CLAMP))
        return apply(SCATTER_ND_SET, (x, points, _COMBINE[kind](old, new)), (axes, DROP, True))
    if kind == "multiply":
        return _multiplied(x, axes, points, new)
    return apply(_SCATTER[kind], (x, points, new), (axes, DROP, False))


def _all_differ(points: Value) -> bool:
    """Whether no point is repeated, as far as that is known."""
    t = points.type
    if prod(t.shape[:-1]) == 1:
        return True
    return not points.traced and len(np.unique(points.data.reshape(-1, t.shape[-1]), axis=0)) == prod(t.shape[:-1])


def _write_rows(combine: Combine, x: Value, axes: Sequence[Any], new: Value) -> Value:
    """An update of what slices, ints and traced scalars take: row by row, for rows can be written in place."""
    axis = next((a for a, i in enumerate(axes) if is_value(i)), None)
    if axis is None:
        old = x
        for a, i in enumerate(axes):
            old = piece(old, a, *((i, 1) if isinstance(i, int) else i))
        return _placed(x, axes, combine(old, _reshaped(new, old.type.shape)))
    row = rows.take(x, axis, axes[axis])
    changed = _write_rows(combine, row, [*axes[:axis], *axes[axis + 1 :]], new)
    return rows.put_row(x, axis, axes[axis], row, changed)


def _placed(x: Value, axes: Sequence[Any], new: Value) -> Value:
    """``x`` with ``new`` where the slices and ints among ``axes`` point."""
    shape = x.type.shape
    ranges = [
        Range(0, n, 1) if is_value(i) or isinstance(i, np.ndarray) else i for i, n in zip(axes, shape, strict=True)
    ]
    ranges = [Range(i, 1, 1) if isinstance(i, int) else i for i in ranges]
    if all(r.is_all(n) for r, n in zip(ranges, shape, strict=True)):
        return new
    low, high, interior = [], [], []
    for axis, (r, n) in enumerate(zip(ranges, shape, strict=True)):
        start, step = r.start, r.step
        if step < 0:
            new = piece(new, axis, r.length - 1, r.length, -1)
            start, step = start + (r.length - 1) * step, -step
        low.append(start)
        high.append(n - 1 - (start + (r.length - 1) * step))
        interior.append(step - 1 if r.length > 1 else 0)
    widths = tuple(low), tuple(high), tuple(interior)
    mask = apply(PAD, (ones(new.type.with_dtype(bool_)),), widths)
    return apply(WHERE, (mask, apply(PAD, (new,), widths), x))


def _multiplied(x: Value, axes: tuple[int, ...], points: Value, new: Value) -> Value:
    """``x`` with parts multiplied by all updates of their points.

    The updates of a point are brought together by sorting, and multiplied in a tree: the derivative is one of products
    only, exact at zeros.
    """
    from quabla.ops.cumulative import scanned
    from quabla.ops.sorting import ARGSORT

    lead = points.type.shape[:-1]
    count, k = prod(lead), len(axes)
    rest = new.type.shape[len(lead) :]
    points, new = _reshaped(points, (count, k)), _reshaped(new, (count, *rest))
    key = _flat(points, [x.type.shape[a] for a in axes])
    order = apply(RESHAPE, (apply(ARGSORT, (key,), (0,)),), ((count, 1),))
    key, points, new = (apply(GATHER_ND, (v, order), ((0,), CLAMP)) for v in (key, points, new))
    wide = apply(RESHAPE, (key,), ((count, *(1,) * len(rest)),))
    new = scanned((wide, new), _product_of_equals, 0)[1]
    flat = _reshaped(key, (count, 1))
    ends = apply(COMPARE, (piece(flat, 0, 1, count - 1), piece(flat, 0, 0, count - 1)), ("not_equal",))
    ends = apply(CONCAT, (ends, ones(ends.type.with_shape((1, 1)))), (0,))
    # The last of each point has the product of all; the others go out of range, where writes are dropped.
    beyond = full(points.type.with_shape(()), max(x.type.shape))
    points = apply(WHERE, (ends, points, beyond))
    old = apply(GATHER_ND, (x, points), (axes, CLAMP))
    return apply(SCATTER_ND_SET, (x, points, apply(MUL, (old, new))), (axes, DROP, True))


def _product_of_equals(first: Sequence[Value], then: Sequence[Value]) -> list[Value]:
    """Of sorted keys with products of the values of equal ones: the later key, and its product."""
    (k, a), (m, b) = first, then
    return [m, apply(WHERE, (apply(COMPARE, (k, m), ("equal",)), apply(MUL, (a, b)), b))]


def _flat(points: Value, extents: Sequence[int]) -> Value:
    """One number for each point; -1 for those that are out of range."""
    key: Value | None = None
    inside: Value | None = None
    for k, n in enumerate(extents):
        i = _reshaped(piece(points, 1, k, 1), (points.type.shape[0],))
        extent, zero = full(i.type.with_shape(()), n), full(i.type.with_shape(()), 0)
        i = apply(WHERE, (apply(COMPARE, (i, zero), ("less",)), apply(ADD, (i, extent)), i))
        fits = apply(COMPARE, (i, zero), ("greater_equal",)) & apply(COMPARE, (i, extent), ("less",))
        inside = fits if inside is None else inside & fits
        key = i if key is None else apply(ADD, (apply(MUL, (key, extent)), i))
    assert key is not None
    return apply(WHERE, (inside, key, full(key.type.with_shape(()), -1)))
