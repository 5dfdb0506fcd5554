"""Dense linear algebra over the last two axes; leading axes are batches.

This module holds what needs no factorization; orders and exponents that do are refused by name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quabla import errors
from quabla.functions import math, statistics
from quabla.functions.creation import eye
from quabla.functions.shape import expand_dims
from quabla.ops import elementwise, reductions
from quabla.ops.arguments import axis_set
from quabla.ops.dispatch import Value, float_operand
from quabla.ops.linalg import matmul

__all__ = ["matrix_power", "norm"]


def norm(x: object, ord: float | str | None = None, axis: object = None, keepdims: bool = False) -> Value:
    """The norm of vectors or matrices, with NumPy's orders.

    Args:
        x: an array.
        ord: None for the 2-norm of all elements (``axis`` None) or along the axes; for one axis a number, ``inf`` or
            ``-inf``; for two axes ``"fro"``, 1, -1, ``inf`` or ``-inf``. A number or string with ``axis`` None
            wants a vector or a matrix.
        axis: an axis for vector norms, a pair of axes for matrix norms.
        keepdims: keep the reduced axes with extent 1.

    Returns:
        The norms, with the reduced axes dropped.

    Raises:
        ValueError: an order that NumPy does not know, or axes that do not fit it.
        UnsupportedOperationError: the matrix orders 2, -2 and ``"nuc"``, which need singular values.

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
    return elementwise.power(reductions.sum(elementwise.power(size, float(ord)), axis, keepdims), 1.0 / ord)


def _matrix_norm(v: Value, ord: float | str, rows: int, columns: int, keepdims: bool) -> Value:
    if ord == "fro":
        return statistics.norm(v, (rows, columns), keepdims)
    if ord in (2, -2, "nuc"):
        raise errors.UnsupportedOperationError(
            f"norm: the matrix order {ord!r} needs singular values, which are not available{errors.at_user_line()}",
            op="svd",
        )
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError(f"norm: NumPy has no matrix norm of order {ord!r}{errors.at_user_line()}")
    along, across = (rows, columns) if ord in (1, -1) else (columns, rows)
    sums = reductions.sum(elementwise.abs(v), along, True)
    extremum = reductions.max if ord in (1, np.inf) else reductions.min
    result = extremum(sums, across, True)
    if keepdims:
        return result
    return result.reshape([n for i, n in enumerate(result.shape) if i not in (rows, columns)])


def matrix_power(a: object, n: int) -> Value:
    """A square matrix to a non-negative integer power, by repeated squaring.

    Args:
        a: matrices, ``[..., k, k]``.
        n: the exponent.

    Raises:
        TypeError: an exponent that is not an int.
        ValueError: matrices that are not square.
        UnsupportedOperationError: a negative exponent, which needs an inverse.

    Example:
        >>> qb.linalg.matrix_power(qb.array([[1.0, 1.0], [0.0, 1.0]]), 5)
        Tensor([[1., 5.],
                [0., 1.]], dtype=float64)
    """
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
        raise TypeError(f"matrix_power: the exponent must be an int, got {n!r}{errors.at_user_line()}")
    v = float_operand("matrix_power", a)
    if v.type.ndim < 2 or v.type.shape[-1] != v.type.shape[-2]:
        raise ValueError(f"matrix_power: needs square matrices, got {v.type}{errors.at_user_line()}")
    if n < 0:
        raise errors.UnsupportedOperationError(
            f"matrix_power: the exponent {n} needs an inverse, which is not available{errors.at_user_line()}", op="inv"
        )
    result = None
    square = v
    power = int(n)
    while power:
        if power & 1:
            result = square if result is None else matmul(result, square)
        power >>= 1
        if power:
            square = matmul(square, square)
    if result is not None:
        return result
    identity = eye(v.type.shape[-1], dtype=v.type.dtype)
    for _ in v.type.shape[:-2]:
        identity = expand_dims(identity, 0)
    return identity.broadcast_to(list(v.type.shape))
