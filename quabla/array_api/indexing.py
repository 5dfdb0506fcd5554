"""The standard's functions of indices, and sorting."""

from __future__ import annotations

from typing import Any

from quabla.functions import items, shape as shapes, sorting
from quabla.ops.dispatch import Value, as_value

__all__ = ["argsort", "nonzero", "searchsorted", "sort", "take_along_axis"]


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Value:
    """``quabla.sort``; it is stable in any case.

    Example:
        >>> sort(qb.array([2.0, 3.0, 1.0]), descending=True).tolist()
        [3.0, 2.0, 1.0]
    """
    r = sorting.sort(x, axis)
    return shapes.flip(r, axis) if descending else r


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Value:
    """``quabla.argsort``; equal elements keep their order in any case.

    Example:
        >>> argsort(qb.array([2.0, 2.0, 1.0, 3.0]), descending=True).tolist()
        [3, 0, 1, 2]
    """
    if not descending:
        return sorting.argsort(x, axis)
    # Ascending order of the elements from the end, read backwards, has equal ones in their own order.
    v = as_value(x)
    backwards = sorting.argsort(shapes.flip(v, axis), axis)
    return shapes.flip(v.type.shape[axis] - 1 - backwards, axis)


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Value:
    """``quabla.searchsorted`` in ``x1``, or in its elements in the order of ``sorter``.

    Example:
        >>> searchsorted(qb.array([1.0, 2.0, 3.0]), qb.array([2.0])).tolist()
        [1]
    """
    return sorting.searchsorted(x1 if sorter is None else items.take(x1, sorter), x2, side)


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Value:
    """``quabla.take_along_axis``, by default along the last axis.

    Example:
        >>> take_along_axis(qb.array([1.0, 2.0]), qb.array([1], dtype=qb.int64)).tolist()
        [2.0]
    """
    return items.take_along_axis(x, indices, axis)


def nonzero(x: Any, /) -> tuple[Value, ...]:
    """``quabla.nonzero`` of an eager array.

    Example:
        >>> nonzero(qb.array([0.0, 3.0]))[0].tolist()
        [1]
    """
    return sorting.nonzero(x)
