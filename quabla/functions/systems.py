"""Linear systems, inverses, determinants and powers of the matrices in the last two axes."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from quabla import dtypes, errors
from quabla.functions import math
from quabla.functions.creation import eye
from quabla.functions.products import cross
from quabla.ops import reductions
from quabla.ops.determinants import DET, DET_SIGN, LOG_ABS_DET
from quabla.ops.dispatch import Value, apply, cast, float_operand, full, promote
from quabla.ops.factorizations import PINV, QR_Q, QR_R
from quabla.ops.indexing import piece
from quabla.ops.linalg import matmul, product, swapped
from quabla.ops.shaping import BROADCAST, RESHAPE
from quabla.ops.solving import CHOLESKY, SOLVE, SOLVE_TRIANGULAR
from quabla.ops.types import tensor_type

__all__ = [
    "LstsqResult",
    "SlogdetResult",
    "cho_solve",
    "cholesky",
    "det",
    "inv",
    "lstsq",
    "matrices",
    "matrix_power",
    "pinv",
    "slogdet",
    "solve",
    "solve_triangular",
    "symmetric_matrices",
]


class SlogdetResult(NamedTuple):
    """What ``slogdet`` returns: the determinant is ``sign * exp(logabsdet)``."""

    sign: Value
    logabsdet: Value


class LstsqResult(NamedTuple):
    """What ``lstsq`` returns with ``return_residuals``: the solutions and their sums of squared residuals."""

    solution: Value
    residuals: Value


def matrices(name: str, a: object, *, square: bool = False) -> Value:
    """``a`` as a stack of float matrices.

    Raises:
        ValueError: for bool arrays, ranks below 2 and, with ``square``, other matrices.
    """
    v = float_operand(name, a)
    shape = v.type.shape
    if len(shape) < 2 or (square and shape[-1] != shape[-2]):
        kind = "square matrices" if square else "a matrix or a stack of matrices"
        raise ValueError(f"{name}: needs {kind}, got {v.type}{errors.at_user_line()}")
    return v


def symmetric_matrices(name: str, a: object) -> Value:
    """``a`` as a stack of square float matrices, checked to be symmetric to rounding where it is not traced.

    Raises:
        ValueError: for what is none.
    """
    v = matrices(name, a, square=True)
    if not v.traced:
        x = v.data
        slack = 100.0 * float(np.finfo(x.dtype).eps) * np.abs(x).max(initial=0.0)
        if not (np.abs(x - np.swapaxes(x, -1, -2)) <= slack).all():
            raise ValueError(f"{name}: the matrix is not symmetric{errors.at_user_line()}")
    return v


def _system(name: str, a: object, b: object) -> tuple[Value, Value, bool]:
    """Matrices, right-hand sides as columns, and whether those were one vector."""
    (left, right), _ = promote(name, a, b)
    matrices(name, left)
    if right.type.ndim == 0:
        raise ValueError(f"{name}: needs a vector or matrices on the right, got {right.type}{errors.at_user_line()}")
    vector = right.type.ndim == 1
    if vector:
        right = apply(RESHAPE, (right,), ((right.type.shape[0], 1),))
    if left.type.shape[-2] != right.type.shape[-2]:
        raise ValueError(
            f"{name}: {left.type.shape[-2]} rows on the left do not fit {right.type.shape[-2]} on the right"
            f"{errors.at_user_line()}"
        )
    return left, right, vector


def _without_column(x: Value, vector: bool) -> Value:
    return apply(RESHAPE, (x,), (x.type.shape[:-1],)) if vector else x


def _refuse_singular(name: str, a: Value, result: Value, *others: Value) -> None:
    """Raise for eager results that have become NaN although the operands are finite."""
    if result.traced or not np.isnan(result.data).any():
        return
    if all(not x.traced and np.isfinite(x.data).all() for x in (a, *others)):
        raise ValueError(f"{name}: {SOLVE.refusal}{errors.at_user_line()}")


def solve(a: object, b: object) -> Value:
    """The solutions x of ``a x = b``, by LU factorization with partial pivoting.

    Args:
        a: square matrices, ``[..., n, n]``.
        b: right-hand sides: a vector ``[n]``, or matrices ``[..., n, k]``; leading axes broadcast.

    Returns:
        The solutions, in the shape of the right-hand sides. In a traced program those of singular matrices are not
        finite.

    Raises:
        ValueError: shapes or dtypes that do not fit; eagerly, a singular matrix.

    Example:
        >>> import quabla as qb
        >>> qb.linalg.solve(qb.array([[2.0, 0.0], [0.0, 4.0]]), qb.array([1.0, 2.0])).tolist()
        [0.5, 0.5]
    """
    a, b, vector = _system("solve", a, b)
    matrices("solve", a, square=True)
    x = apply(SOLVE, (a, b))
    _refuse_singular("solve", a, x, b)
    return _without_column(x, vector)


_TRANSPOSED: Final = {0: False, "N": False, 1: True, "T": True, 2: True, "C": True}


def solve_triangular(a: object, b: object, trans: int | str = 0, lower: bool = False) -> Value:
    """The solutions x of ``a x = b`` for triangular matrices.

    Args:
        a: square matrices, ``[..., n, n]``, of which one triangle is read.
        b: right-hand sides: a vector ``[n]``, or matrices ``[..., n, k]``; leading axes broadcast.
        trans: 0 or ``"N"`` for ``a``; 1, ``"T"`` or ``"C"`` for its transpose.
        lower: read the lower triangle, not the upper one.

    Raises:
        ValueError: shapes or dtypes that do not fit, another ``trans``; eagerly, a zero on the diagonal.

    Example:
        >>> import quabla as qb
        >>> qb.linalg.solve_triangular(qb.array([[2.0, 0.0], [1.0, 1.0]]), qb.array([2.0, 3.0]), lower=True).tolist()
        [1.0, 2.0]
    """
    if isinstance(trans, bool) or not isinstance(trans, (int, str)) or trans not in _TRANSPOSED:
        raise ValueError(f"solve_triangular: trans must be 0, 1, 'N', 'T' or 'C', got {trans!r}{errors.at_user_line()}")
    a, b, vector = _system("solve_triangular", a, b)
    matrices("solve_triangular", a, square=True)
    return _without_column(_triangular("solve_triangular", a, b, bool(lower), _TRANSPOSED[trans]), vector)


def _triangular(name: str, a: Value, b: Value, lower: bool, transposed: bool) -> Value:
    if not a.traced and (np.diagonal(a.data, axis1=-2, axis2=-1) == 0.0).any():
        raise ValueError(f"{name}: the matrix is singular: it has a zero on its diagonal{errors.at_user_line()}")
    return apply(SOLVE_TRIANGULAR, (a, b), (lower, transposed))


def cholesky(a: object) -> Value:
    """Lower triangular factors L of symmetric positive definite matrices, ``a = L L^T``.

    Derivatives are those along symmetric directions, so gradients are symmetric.

    Args:
        a: symmetric matrices, ``[..., n, n]``.

    Returns:
        The factors. A traced program reads the lower triangle only, and gives NaN for a matrix that is not positive
        definite.

    Raises:
        ValueError: matrices that are not square; eagerly, one that is not symmetric or not positive definite.

    Example:
        >>> import quabla as qb
        >>> qb.linalg.cholesky(qb.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
        [[2.0, 0.0], [1.0, 2.0]]
    """
    v = symmetric_matrices("cholesky", a)
    factor = apply(CHOLESKY, (v,))
    if not factor.traced and np.isnan(factor.data).any():
        raise ValueError(f"cholesky: {CHOLESKY.refusal}{errors.at_user_line()}")
    return factor


def cho_solve(c: object, b: object, lower: bool = True) -> Value:
    """The solutions x of ``a x = b``, given a Cholesky factor of ``a``.

    Args:
        c: factors, ``[..., n, n]``, of which one triangle is read.
        b: right-hand sides: a vector ``[n]``, or matrices ``[..., n, k]``; leading axes broadcast.
        lower: whether ``a = c c^T`` with a lower triangular c, or ``a = c^T c`` with an upper one.

    Raises:
        ValueError: shapes or dtypes that do not fit; eagerly, a zero on the diagonal.

    Example:
        >>> import quabla as qb
        >>> c = qb.linalg.cholesky(qb.array([[4.0, 2.0], [2.0, 5.0]]))
        >>> qb.linalg.cho_solve(c, qb.array([8.0, 8.0])).tolist()
        [1.5, 1.0]
    """
    c, b, vector = _system("cho_solve", c, b)
    matrices("cho_solve", c, square=True)
    lower = bool(lower)
    y = _triangular("cho_solve", c, b, lower, not lower)
    return _without_column(_triangular("cho_solve", c, y, lower, lower), vector)


def inv(a: object) -> Value:
    """Inverses of square matrices. ``solve`` is more accurate and faster than to multiply by one.

    Args:
        a: square matrices, ``[..., n, n]``.

    Raises:
        ValueError: matrices that are not square; eagerly, a singular matrix.

    Example:
        >>> import quabla as qb
        >>> qb.linalg.inv(qb.array([[2.0, 0.0], [0.0, 4.0]])).tolist()
        [[0.5, 0.0], [0.0, 0.25]]
    """
    v = matrices("inv", a, square=True)
    x = apply(SOLVE, (v, eye(v.type.shape[-1], dtype=v.type.dtype)))
    _refuse_singular("inv", v, x)
    return x


def det(a: object) -> Value:
    """Determinants of square matrices.

    Args:
        a: square matrices, ``[..., n, n]``.

    Returns:
        The determinants, ``[...]``, with derivatives of every order at singular matrices too: the gradient is the
        matrix of cofactors. NaN for a matrix with NaN.

    Raises:
        ValueError: matrices that are not square.

    Example:
        >>> import quabla as qb
        >>> qb.linalg.det(qb.array([[1.0, 2.0], [3.0, 4.0]])).item()
        -2.0
        >>> qb.grad(qb.linalg.det)(qb.array([[1.0, 2.0], [2.0, 4.0]])).tolist()
        [[4.0, -2.0], [-2.0, 1.0]]
    """
    v = matrices("det", a, square=True)
    if v.type.shape[-1] not in (2, 3):
        return apply(DET, (v,))
    wide = cast(v, dtypes.float64)  # differences of products are rounded once
    return cast(_written_out(wide), v.type.dtype)


def _written_out(a: Value) -> Value:
    """Determinants of matrices of 2 or 3 rows as the polynomials that they are."""
    n = a.type.shape[-1]
    rows = [apply(RESHAPE, (piece(a, a.type.ndim - 2, i, 1),), ((*a.type.shape[:-2], n),)) for i in range(n)]
    if n == 2:
        return cross(rows[0], rows[1])
    return reductions.sum(rows[0] * cross(rows[1], rows[2]), -1)


def slogdet(a: object) -> SlogdetResult:
    """Signs of determinants and the logarithms of their magnitudes, which neither overflow nor underflow.

    Args:
        a: square matrices, ``[..., n, n]``.

    Returns:
        ``(sign, logabsdet)``, each ``[...]``: (0, -inf) for a singular matrix, (nan, nan) for one with NaN. The
        logarithm has no derivative at a singular matrix: it is NaN there, and an error where nothing is compiled.

    Raises:
        ValueError: matrices that are not square.

    Example:
        >>> import quabla as qb
        >>> qb.linalg.slogdet(qb.array([[0.0, 1.0], [1.0, 0.0]])).sign.item()
        -1.0
    """
    v = matrices("slogdet", a, square=True)
    return SlogdetResult(apply(DET_SIGN, (v,)), apply(LOG_ABS_DET, (v,)))


def lstsq(a: object, b: object, return_residuals: bool = False) -> Value | LstsqResult:
    """Least-squares solutions of ``a x = b`` by QR factorization; those of least norm where ``a`` is wide.

    Args:
        a: matrices of full rank, ``[..., m, n]``; for others multiply ``b`` by ``pinv(a)``.
        b: right-hand sides: a vector ``[m]``, or matrices ``[..., m, k]``; leading axes broadcast.
        return_residuals: return the sums of squared residuals, one for each right-hand side, too.

    Returns:
        The solutions, or ``(solution, residuals)``.

    Raises:
        ValueError: shapes or dtypes that do not fit; eagerly, a matrix without full rank.

    Example:
        >>> import quabla as qb
        >>> x = qb.linalg.lstsq(qb.array([[1.0], [1.0]]), qb.array([1.0, 3.0]))
        >>> round(x[0].item(), 12)
        2.0
    """
    matrix, right, vector = _system("lstsq", a, b)
    rows, columns = matrix.type.shape[-2:]
    tall = rows >= columns
    basis = matrix if tall else swapped(matrix)
    q, r = apply(QR_Q, (basis,)), apply(QR_R, (basis,))
    if not r.traced and r.type.size:
        pivots = np.abs(np.diagonal(r.data, axis1=-2, axis2=-1))
        least = max(rows, columns) * float(np.finfo(r.data.dtype).eps) * pivots.max(-1, keepdims=True)
        if (pivots <= least).any():
            raise ValueError(f"lstsq: the matrix has not full rank; use pinv{errors.at_user_line()}")
    if tall:
        x = apply(SOLVE_TRIANGULAR, (r, product(swapped(q), right)), (False, False))
    else:
        x = product(q, apply(SOLVE_TRIANGULAR, (r, right), (False, True)))
    solution = _without_column(x, vector)
    if not return_residuals:
        return solution
    squares = reductions.sum(math.square(right - product(matrix, x)), -2)
    return LstsqResult(solution, reductions.sum(squares, -1) if vector else squares)


def pinv(a: object, rtol: float | None = None) -> Value:
    """Moore-Penrose pseudoinverses, by singular values.

    Args:
        a: matrices, ``[..., m, n]``.
        rtol: singular values of at most ``rtol`` times the largest count as zero; by default ``max(m, n)`` times the
            machine epsilon of the dtype.

    Returns:
        The pseudoinverses, ``[..., n, m]``, with derivatives that hold as long as the rank stays the same.

    Raises:
        ValueError: an array of rank 0 or 1.

    Example:
        >>> import quabla as qb
        >>> qb.linalg.pinv(qb.array([[2.0, 0.0], [0.0, 0.0]])).tolist()
        [[0.5, 0.0], [0.0, 0.0]]
    """
    v = matrices("pinv", a)
    if rtol is None:
        rtol = max(v.type.shape[-2:]) * float(np.finfo(v.type.dtype.numpy).eps)
    scalar = tensor_type((), v.type.dtype)
    return apply(PINV, (v, full(scalar, rtol) if isinstance(rtol, (int, float)) else cast(rtol, v.type.dtype)))


def matrix_power(a: object, n: int) -> Value:
    """A square matrix to an integer power, by repeated squaring; negative powers are those of the inverse.

    Args:
        a: matrices, ``[..., k, k]``.
        n: the exponent.

    Raises:
        TypeError: an exponent that is not an int.
        ValueError: matrices that are not square; eagerly, a singular one with a negative exponent.

    Example:
        >>> import quabla as qb
        >>> qb.linalg.matrix_power(qb.array([[1.0, 1.0], [0.0, 1.0]]), 5)
        Tensor([[1., 5.],
                [0., 1.]], dtype=float64)
    """
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
        raise TypeError(f"matrix_power: the exponent must be an int, got {n!r}{errors.at_user_line()}")
    v = matrices("matrix_power", a, square=True)
    result = None
    square = inv(v) if n < 0 else v
    power = abs(int(n))
    while power:
        if power & 1:
            result = square if result is None else matmul(result, square)
        power >>= 1
        if power:
            square = matmul(square, square)
    if result is not None:
        return result
    return apply(BROADCAST, (eye(v.type.shape[-1], dtype=v.type.dtype),), (v.type.shape,))
