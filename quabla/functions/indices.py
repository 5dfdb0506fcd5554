"""Reading an index: what ``x[index]`` takes from an array of some shape, by NumPy's rules.

Ints, slices, None and one ``...`` make a basic index. Beside them stand int arrays, which broadcast against each other,
and bool arrays, each short for the int arrays of its true elements. The axes of the broadcast arrays take the place of
the first of them where all of them, and the ints, are neighbours; else they come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from quabla import errors
from quabla.dtypes import int64
from quabla.functions.shape import stack
from quabla.ops.dispatch import Value, apply, cast, is_value
from quabla.ops.eager import wrap
from quabla.ops.elementwise import FLOOR
from quabla.ops.rows import is_traced
from quabla.ops.types import Shape, broadcast_shapes, tensor_type

__all__ = ["Range", "Selection", "as_ints", "int_array", "select"]


class Range(NamedTuple):
    """What a slice takes of an axis."""

    start: int
    length: int
    step: int

    def is_all(self, extent: int) -> bool:
        """Whether it takes all of an axis of this extent as it is."""
        return self == (0, extent, 1)


class Selection(NamedTuple):
    """What an index takes.

    Attributes:
        axes: for each axis a ``Range``, an int, a traced scalar, or an index array: a NumPy array of ints that are in
            range and not negative, or a traced value.
        points: the shape to which the index arrays broadcast; None where there are none.
        kept: the extents of the axes that slices keep, in order.
        place: how many of those come before the axes of the points.
        shape: the shape of the result.
        window: the index as NumPy understands it; None where something in it is traced.
    """

    axes: tuple[Any, ...]
    points: Shape | None
    kept: Shape
    place: int
    shape: Shape
    window: tuple[Any, ...] | None


_NEW: Final = object()
#: An ellipsis that stands for no axis: it still parts the ints and index arrays on its sides.
_GAP: Final = object()


def select(index: Any, shape: Shape) -> Selection:
    """Read an index into an array of this shape.

    Raises:
        TypeError: for floats, and for lists and arrays of anything but ints and bools.
        IndexError: for an index out of range, too many indices, two ellipses, or arrays that do not broadcast.
        TracerError: for a slice with a traced bound, and for a traced mask.
    """
    axes: list[Any] = []
    layout: list[Any] = []  # a Range, _NEW, _GAP, or None where an int or index array stands
    window: list[Any] = []
    for item in _expanded(index, len(shape)):
        axis = len(axes)
        if item is None or item is ...:
            layout.append(_NEW if item is None else _GAP)
            window.append(item)
        elif isinstance(item, slice):
            found = _range(item, shape[axis])
            axes.append(found)
            layout.append(found)
            window.append(item)
        elif isinstance(item, int):
            axes.append(_in_range(item, axis, shape[axis]))
            layout.append(None)
            window.append(item)
        elif isinstance(item, np.ndarray) and item.dtype == np.bool_:
            _check_mask(item, axis, shape)
            for part in item.nonzero():
                axes.append(part)
                layout.append(None)
                window.append(part)
        elif isinstance(item, np.ndarray):
            found = _all_in_range(item, axis, shape[axis])
            axes.append(found)
            layout.append(None)
            window.append(found)
        else:
            axes.append(item)
            layout.append(None)
            window.append(None)
    arrays = [i.shape if isinstance(i, np.ndarray) else i.type.shape for i in axes if not isinstance(i, (int, Range))]
    points: Shape | None = None
    if any(arrays) or any(isinstance(i, np.ndarray) for i in axes):
        try:
            points = broadcast_shapes(*arrays)
        except ValueError as e:
            raise IndexError(f"index arrays of {e}{errors.at_user_line()}") from None
    extents = [1 if i is _NEW else i.length for i in layout if i is not None and i is not _GAP]
    place = before = 0
    if points is not None:
        taking = [k for k, i in enumerate(layout) if i is None]
        if taking[-1] - taking[0] == len(taking) - 1:
            place = sum(i is not _GAP for i in layout[: taking[0]])
            before = sum(isinstance(i, Range) for i in layout[: taking[0]])
        result = (*extents[:place], *points, *extents[place:])
    else:
        result = tuple(extents)
    kept = tuple([i.length for i in layout if isinstance(i, Range)])
    static = not any(is_value(i) for i in axes)
    return Selection(tuple(axes), points, kept, before, result, tuple(window) if static else None)


def _expanded(index: Any, rank: int) -> list[Any]:
    """The items of an index with slices for its ellipsis, or at its end: ints, slices, None, arrays, traced values."""
    items = [_item(i) for i in (index if isinstance(index, tuple) else (index,))]
    ellipses = [k for k, i in enumerate(items) if i is ...]
    if len(ellipses) > 1:
        raise IndexError(f"an index can have only one ellipsis{errors.at_user_line()}")
    used = sum(_axes_of(i) for i in items)
    if used > rank:
        raise IndexError(f"{used} indices for an array of rank {rank}{errors.at_user_line()}")
    k = ellipses[0] if ellipses else len(items)
    missing = [slice(None)] * (rank - used)
    return [*items[:k], *(missing or items[k : k + 1]), *items[k + 1 :]]


def _axes_of(item: Any) -> int:
    if item is None or item is ...:
        return 0
    return item.ndim if isinstance(item, np.ndarray) and item.dtype == np.bool_ else 1


def _item(item: Any) -> Any:
    """One item of an index: eager arrays and lists as NumPy arrays or, of rank 0, ints."""
    if item is None or item is ...:
        return item
    if isinstance(item, slice):
        if any(map(is_traced, (item.start, item.stop, item.step))):
            raise errors.TracerError(
                f"a slice with a traced bound has no static length; use x.slice(axis, start, length), whose start may "
                f"be traced{errors.at_user_line()}"
            )
        return item
    if isinstance(item, np.bool_):
        return int(item)
    if is_traced(item):
        return _traced(item)
    if isinstance(item, (list, tuple, np.ndarray)) or is_value(item):
        return int_array(item)
    if hasattr(item, "__index__"):
        return int(item.__index__())
    raise _refusal(item)


def _traced(item: Value) -> Value:
    d = item.type.dtype
    if d.is_bool:
        raise errors.TracerError(
            f"a traced mask has no static number of true elements: use quabla.where to select, or "
            f"quabla.nonzero(mask, size=...) for a fixed number of indices{errors.at_user_line()}"
        )
    if d.is_float and item.type.ndim:
        raise TypeError(f"an index array must hold ints, got {item.type}; convert with astype{errors.at_user_line()}")
    return item


def int_array(item: Any) -> Any:
    """An index array: a traced value, or a NumPy array of ints or bools, as an int where it is of rank 0.

    Raises:
        TypeError: for arrays and lists of anything else.
    """
    if is_value(item):
        if item.traced:
            return _traced(item)
        array = item.data
    elif isinstance(item, (list, tuple)) and _has_traced(item):
        return stack([as_ints(int_array(i) if isinstance(i, (list, tuple)) else _item(i)) for i in item])
    else:
        try:
            array = np.asarray(item)
        except ValueError as e:
            raise TypeError(f"an index cannot be a ragged list: {e}{errors.at_user_line()}") from None
        if not array.size and isinstance(item, (list, tuple)):
            array = array.astype(np.intp)
    if array.dtype.kind not in "iub" or (array.dtype.kind == "b" and not array.ndim):
        raise _refusal(item)
    if not array.ndim:
        return int(array)
    return array if array.dtype.kind == "b" else array.astype(np.int64, copy=False)


def _refusal(item: Any) -> TypeError:
    hint = ""
    if is_value(item) and item.type.dtype.is_float:
        hint = "; make the array with dtype=quabla.int64, or convert with astype"
    return TypeError(
        f"an index must be made of ints, slices, None, ..., and int or bool arrays, got {item!r}{hint}"
        f"{errors.at_user_line()}"
    )


def _has_traced(items: Sequence[Any]) -> bool:
    return any(_has_traced(i) if isinstance(i, (list, tuple)) else is_traced(i) for i in items)


def as_ints(item: Any) -> Value:
    """An int, an index array or a traced scalar as an int64 value; floats are rounded down."""
    if is_value(item):
        if item.type.dtype.is_float:
            item = apply(FLOOR, (item,))
        return cast(item, int64)
    array = np.asarray(item, np.int64)
    return wrap(array, tensor_type(array.shape, int64))


# ---- checks -------------------------------------------------------------------------------------


def _range(item: slice, extent: int) -> Range:
    bounds = range(extent)[item]
    return Range(bounds.start, len(bounds), bounds.step) if len(bounds) else Range(0, 0, 1)


def _in_range(i: int, axis: int, extent: int) -> int:
    if not -extent <= i < extent:
        raise IndexError(f"index {i} is out of range for axis {axis}, whose extent is {extent}{errors.at_user_line()}")
    return i % extent


def _all_in_range(array: np.ndarray[Any, Any], axis: int, extent: int) -> np.ndarray[Any, Any]:
    if array.size and (array.min() < -extent or array.max() >= extent):
        wrong = array[(array < -extent) | (array >= extent)].flat[0]
        _in_range(int(wrong), axis, extent)
    return np.where(array < 0, array + extent, array)


def _check_mask(mask: np.ndarray[Any, Any], axis: int, shape: Shape) -> None:
    wanted = shape[axis : axis + mask.ndim]
    if mask.shape != wanted:
        raise IndexError(
            f"a mask of shape {list(mask.shape)} does not fit axes of extents {list(wanted)}{errors.at_user_line()}"
        )
