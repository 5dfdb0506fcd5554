"""Sorting, positions of extremes, places in sorted arrays, and the indices of elements that are not zero."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from quabla import errors
from quabla.dtypes import int64
from quabla.functions.items import getitem
from quabla.functions.math import floor_divide, mod
from quabla.ops.arguments import axis_index, static_int
from quabla.ops.casting import apply_weakly
from quabla.ops.dispatch import Value, apply, as_value, cast, full, promote
from quabla.ops.eager import wrap
from quabla.ops.elementwise import SUB, WHERE
from quabla.ops.gathering import DROP, SCATTER_ND_SET
from quabla.ops.reductions import CUMSUM
from quabla.ops.registry import Op
from quabla.ops.selection import test
from quabla.ops.shaping import RESHAPE, reshaped
from quabla.ops.sorting import ARGMAX, ARGMIN, ARGSORT, SEARCHSORTED, SORT
from quabla.ops.types import tensor_type

__all__ = ["argmax", "argmin", "argsort", "compress", "nonzero", "searchsorted", "sort"]


def _along(name: str, x: object, axis: object) -> tuple[Value, int]:
    """An array and the axis to go along; flat for None."""
    v = as_value(x)
    if axis is None:
        return reshaped(v, (v.type.size,)), 0
    return v, axis_index(name, axis, v.type.ndim)


def sort(x: object, axis: object = -1) -> Value:
    """The elements in ascending order along an axis; NaN comes last.

    The derivative of each element goes to where it came from; equal elements keep their order.

    Args:
        x: array-like.
        axis: the axis; None flattens first.

    Raises:
        ValueError: for an axis that does not exist.

    Example:
        >>> import quabla as qb
        >>> qb.sort(qb.array([3.0, 1.0, 2.0]))
        Tensor([1., 2., 3.], dtype=float64)
    """
    v, k = _along("sort", x, axis)
    return apply_weakly(SORT, v, (k,))


def argsort(x: object, axis: object = -1) -> Value:
    """The indices that sort an axis, as int64; equal elements keep their order and NaN comes last.

    Args:
        x: array-like.
        axis: the axis; None flattens first.

    Raises:
        ValueError: for an axis that does not exist.

    Example:
        >>> import quabla as qb
        >>> qb.argsort(qb.array([3.0, 1.0, 2.0]))
        Tensor([1, 2, 0], dtype=int64)
    """
    v, k = _along("argsort", x, axis)
    return apply(ARGSORT, (v,), (k,))


def _position(op: Op, x: object, axis: object, keepdims: bool) -> Value:
    rank = as_value(x).type.ndim
    v, k = _along(op.name, x, axis)
    r = apply(op, (v,), (k,))
    if not keepdims:
        return r
    t = v.type
    return apply(RESHAPE, (r,), ((1,) * rank if axis is None else (*t.shape[:k], 1, *t.shape[k + 1 :]),))


def argmax(x: object, axis: object = None, keepdims: bool = False) -> Value:
    """The index of the first largest element along an axis, as int64; of the first NaN where there is one.

    Args:
        x: array-like.
        axis: the axis; None flattens first.
        keepdims: keep the axis with extent 1.

    Raises:
        ValueError: for an axis that does not exist or has no elements.

    Example:
        >>> import quabla as qb
        >>> qb.argmax(qb.array([1.0, 3.0, 3.0]))
        Tensor(1, dtype=int64)
    """
    return _position(ARGMAX, x, axis, keepdims)


def argmin(x: object, axis: object = None, keepdims: bool = False) -> Value:
    """The index of the first smallest element along an axis, as int64; of the first NaN where there is one.

    Args:
        x: array-like.
        axis: the axis; None flattens first.
        keepdims: keep the axis with extent 1.

    Raises:
        ValueError: for an axis that does not exist or has no elements.

    Example:
        >>> import quabla as qb
        >>> qb.argmin(qb.array([[2.0, 1.0], [0.0, 5.0]]), axis=1)
        Tensor([1, 0], dtype=int64)
    """
    return _position(ARGMIN, x, axis, keepdims)


def searchsorted(a: object, v: object, side: str = "left") -> Value:
    """Where values belong in a sorted array, as int64.

    Args:
        a: an array of rank 1 in ascending order.
        v: values of the same dtype and any shape.
        side: ``"left"`` for the place before elements that equal a value, ``"right"`` for the one behind them.

    Raises:
        ValueError: for an array of another rank, different dtypes, or another side.

    Example:
        >>> import quabla as qb
        >>> qb.searchsorted(qb.array([1.0, 2.0, 2.0, 3.0]), 2.0, side="right")
        Tensor(3, dtype=int64)
    """
    (x, y), _ = promote("searchsorted", as_value(a), v, ints=True)
    return apply(SEARCHSORTED, (x, y), (side,))


def nonzero(x: object, size: int | None = None, fill_value: int = 0) -> tuple[Value, ...]:
    """The indices of the elements that are not zero (True), in order: an int64 array for each axis.

    Args:
        x: array-like.
        size: how many indices to give. In a trace it is needed, since shapes are static; more elements are left out.
        fill_value: the index that fills up where there are fewer.

    Raises:
        TracerError: for a traced array without ``size``.
        ValueError: for rank 0 or a negative size.

    Example:
        >>> import quabla as qb
        >>> qb.nonzero(qb.array([True, False, True]))
        (Tensor([0, 2], dtype=int64),)
        >>> qb.jit(lambda x: qb.nonzero(x > 1.0, size=3, fill_value=-1))(qb.array([0.0, 2.0, 4.0]))
        (Tensor([ 1,  2, -1], dtype=int64),)
    """
    v = as_value(x)
    if not v.type.ndim:
        raise ValueError(f"nonzero: needs an array of rank 1 or more, got {v.type}{errors.at_user_line()}")
    if size is None:
        if v.traced:
            raise errors.TracerError(
                f"nonzero: the number of elements that are not zero is not known while tracing; give size=, or use "
                f"quabla.where to select{errors.at_user_line()}"
            )
        return tuple([_ints(i) for i in np.nonzero(v.data)])
    count = static_int("nonzero: size", size)
    if count < 0:
        raise ValueError(f"nonzero: size must not be negative, got {count}{errors.at_user_line()}")
    fill = static_int("nonzero: fill_value", fill_value)
    n = v.type.size
    hit = reshaped(v if v.type.dtype.is_bool else test(v, "not_equal", 0.0), (n,))
    # Each hit is written to its number among them; the rest, and hits beyond the size, out of range.
    rank = apply(CUMSUM, (cast(hit, int64),), (0, False))
    one = full(tensor_type((), int64), 1)
    target = apply(WHERE, (hit, apply(SUB, (rank, one)), full(rank.type, count)))
    blank = full(tensor_type((count,), int64), -1)
    flat = apply(SCATTER_ND_SET, (blank, reshaped(target, (n, 1)), _ints(np.arange(n))), ((0,), DROP, False))
    missing = test(flat, "less", 0.0)
    out: list[Any] = []
    for axis, extent in enumerate(v.type.shape):
        along = floor_divide(flat, max(prod(v.type.shape[axis + 1 :]), 1))
        out.append(apply(WHERE, (missing, full(flat.type, fill), mod(along, max(extent, 1)))))
    return tuple(out)


def _ints(array: np.ndarray[Any, Any]) -> Value:
    array = array.astype(np.int64, copy=False)
    return wrap(array, tensor_type(array.shape, int64))


def compress(condition: object, x: object, axis: object = None) -> Value:
    """The slices along an axis for which a condition holds.

    Args:
        condition: bools of rank 1, at most as many as the axis is long; not traced, since they decide a shape.
        x: array-like.
        axis: the axis; None flattens first.

    Raises:
        TracerError: for a traced condition.
        ValueError: for a condition of another rank.
        IndexError: for a condition that holds beyond the axis.

    Example:
        >>> import quabla as qb
        >>> qb.compress([False, True], qb.array([[1.0, 2.0], [3.0, 4.0]]), axis=0)
        Tensor([[3., 4.]], dtype=float64)
    """
    c = as_value(condition)
    if c.traced:
        raise errors.TracerError(
            f"compress: a traced condition has no static number of true elements; use quabla.where to select, or "
            f"quabla.nonzero(condition, size=...){errors.at_user_line()}"
        )
    if c.type.ndim != 1:
        raise ValueError(f"compress: the condition must be of rank 1, got {c.type}{errors.at_user_line()}")
    v, k = _along("compress", x, axis)
    return getitem(v, (*(slice(None),) * k, np.nonzero(c.data)[0]))
