"""Rows at indices that are known only when a program runs: what indexing does with traced scalars.

A traced index is a rank-0 float, such as a loop's counter, or int. Negative ones count from the end. What is out of range
then is clamped where rows are read, and dropped where they are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quabla import dtypes
from quabla.ops.dispatch import Value, apply, is_value, number_like, scalar
from quabla.ops.registry import REGISTRY
from quabla.ops.rules import move_mapped_first
from quabla.ops.selection import COMPARE, WHERE
from quabla.ops.shaping import CONCAT, RESHAPE, TRANSPOSE

__all__ = ["add_array", "add_rows", "is_traced", "put_row", "take", "take_array", "take_range", "take_rows"]


def is_traced(index: object) -> bool:
    """Whether an index is a traced value."""
    return is_value(index) and bool(getattr(index, "traced", False))


def _row(index: Any) -> Value:
    """An index as an operand; a counter in float32 as the float64 that it came from, which is exact."""
    if not is_value(index):
        return scalar(float(index), dtypes.float64)
    if index.type.dtype.is_float and index.op.name == "cast" and index.operands[0].op.name == "argument":
        return index.operands[0]
    return index


def take(x: Value, axis: int, index: Any) -> Value:
    """The row of ``x`` at an index; the axis is dropped."""
    return apply(REGISTRY["take"], (x, _row(index)), (axis,))


def take_rows(x: Value, axis: int, indices: Sequence[Any]) -> Value:
    """The rows of ``x`` at some indices, along the same axis."""
    shape = x.type.shape
    kept = (*shape[:axis], 1, *shape[axis + 1 :])
    rows = [apply(RESHAPE, (take(x, axis, i),), (kept,)) for i in indices]
    return rows[0] if len(rows) == 1 else apply(CONCAT, tuple(rows), (axis,))


def take_array(x: Value, axis: int, indices: Value) -> Value:
    """The rows of ``x`` at an int array of rank 1, along the same axis."""
    rows = apply(REGISTRY["gather_nd"], (x, _points(indices)), ((axis,), "clamp"))
    return apply(TRANSPOSE, (rows,), ((*range(1, axis + 1), 0, *range(axis + 1, x.type.ndim)),)) if axis else rows


def add_array(x: Value, axis: int, indices: Value, updates: Value) -> Value:
    """``x`` with the rows of ``updates`` added at an int array of rank 1; those out of range add nothing."""
    updates = move_mapped_first(updates, axis)
    return apply(REGISTRY["scatter_nd_add"], (x, _points(indices), updates), ((axis,), "drop", False))


def _points(indices: Value) -> Value:
    return apply(RESHAPE, (indices,), ((*indices.type.shape, 1),))


def take_range(x: Value, axis: int, start: Any, length: int, step: int) -> Value:
    """``length`` rows of ``x`` from a traced index on, ``step`` apart."""
    first = _row(start)
    return take_rows(x, axis, [first + float(k * step) if k else first for k in range(length)])


def is_inside(index: Any, extent: int) -> Value:
    """Whether an index is in range, counted from either end."""
    row = _row(index)
    low, high = (number_like(row, n) for n in (-extent, extent))
    above = apply(COMPARE, (row, low), ("greater_equal",))
    return apply(WHERE, (above, apply(COMPARE, (row, high), ("less",)), above))


def put_row(x: Value, axis: int, index: Any, old: Value, new: Value) -> Value:
    """``x`` with its row ``old`` at an index replaced; nothing changes where the index is out of range."""
    kept = apply(WHERE, (is_inside(index, x.type.shape[axis]), new, old))
    return apply(REGISTRY["put"], (x, kept, _row(index)), (axis,))


def add_rows(x: Value, axis: int, indices: Sequence[Any], updates: Value) -> Value:
    """``x`` with the rows of ``updates`` added at some indices, in order; those out of range add nothing."""
    nothing = scalar(-0.0, x.type.dtype)
    for k, i in enumerate(indices):
        row = apply(WHERE, (is_inside(i, x.type.shape[axis]), take(updates, axis, float(k)), nothing))
        x = apply(REGISTRY["add_at"], (x, row, _row(i)), (axis,))
    return x
