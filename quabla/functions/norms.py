"""Norms of vectors and of matrices, with all of NumPy's orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from quabla import errors
from quabla.functions import math, statistics
from quabla.functions.shape import moveaxis, squeeze
from quabla.ops import elementwise, reductions
from quabla.ops.arguments import axis_set
from quabla.ops.dispatch import Value, apply, float_operand
from quabla.ops.factorizations import SVD_S

__all__ = ["norm"]


def norm(x: object, ord: float | str | None = None, axis: object = None, keepdims: bool = False) -> Value:
    """The norm of vectors or matrices, with NumPy's orders.

    Args:
        x: an array.
        ord: None for the 2-norm of all elements (``axis`` None) or along the axes; for one axis a number, ``inf`` or
            ``-inf``; for two axes ``"fro"``, ``"nuc"`` (the sum of the singular values), 2 and -2 (the largest and the
            least of them), 1, -1, ``inf`` or ``-inf``. A number or string with ``axis`` None wants a vector or a matrix.
        axis: an axis for vector norms, a pair of axes for matrix norms.
        keepdims: keep the reduced axes with extent 1.

    Returns:
        The norms, with the reduced axes dropped.

    Raises:
        ValueError: an order that NumPy does not know, or axes that do not fit it.

    Example:
        >>> qb.linalg.norm(qb.array([3.0, -4.0]), ord=1)
        Tensor(7., dtype=float64)
    """
    if ord is None:
        return statistics.norm(x, axis, keepdims)
    v = float_operand("norm", x)
    axes = axis_set("norm", axis, v.type.ndim)
    if axis is None and v.type.ndim not in (1, 2):
        raise ValueError(
            f"norm: ord={ord!r} without axis wants a vector or a matrix, got {v.type}{errors.at_user_line()}"
        )
    if len(axes) == 1:
        return _vector_norm(v, ord, axes[0], keepdims)
    if len(axes) == 2:
        first, second = _pair(axis, v.type.ndim)
        return _matrix_norm(v, ord, first, second, keepdims)
    raise ValueError(f"norm: takes one axis or two, got {axis!r}{errors.at_user_line()}")


def _pair(axis: Any, rank: int) -> tuple[int, int]:
    """Row and column axes in the order that they were given."""
    return (0, 1) if axis is None else (axis[0] % rank, axis[1] % rank)


def _vector_norm(v: Value, ord: float | str, axis: int, keepdims: bool) -> Value:
    if isinstance(ord, str):
        raise ValueError(f"norm: the order {ord!r} is for matrices, got one axis{errors.at_user_line()}")
    size = elementwise.abs(v)
    if ord == 2:
        return statistics.norm(v, axis, keepdims)
    if ord == np.inf:
        return reductions.max(size, axis, keepdims)
    if ord == -np.inf:
        return reductions.min(size, axis, keepdims)
    if ord == 1:
        return reductions.sum(size, axis, keepdims)
    if ord == 0:
        return reductions.sum(math.not_equal(v, 0.0).astype(v.type.dtype), axis, keepdims)
    scale = statistics.scale_of(v, (axis,))
    total = reductions.sum(elementwise.power(elementwise.div(size, scale), float(ord)), axis, True)
    result = elementwise.mul(elementwise.power(total, 1.0 / ord), scale)
    return result if keepdims else squeeze(result, axis)


def _matrix_norm(v: Value, ord: float | str, rows: int, columns: int, keepdims: bool) -> Value:
    if ord == "fro":
        return statistics.norm(v, (rows, columns), keepdims)
    if ord in (2, -2, "nuc"):
        values = apply(SVD_S, (moveaxis(v, (rows, columns), (-2, -1)),))
        reduce = reductions.sum if ord == "nuc" else reductions.max if ord == 2 else reductions.min
        result = reduce(values, -1)
        if not keepdims:
            return result
        return result.reshape([1 if i in (rows, columns) else n for i, n in enumerate(v.type.shape)])
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError(f"norm: NumPy has no matrix norm of order {ord!r}{errors.at_user_line()}")
    along, across = (rows, columns) if ord in (1, -1) else (columns, rows)
    sums = reductions.sum(elementwise.abs(v), along, True)
    extremum = reductions.max if ord in (1, np.inf) else reductions.min
    result = extremum(sums, across, True)
    if keepdims:
        return result
    return result.reshape([n for i, n in enumerate(result.shape) if i not in (rows, columns)])
