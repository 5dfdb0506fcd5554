"""Factorizations and linear systems for translations: LAPACK in float64 on MLX's CPU stream.

MLX has no kernels of these for GPUs, and memory is shared, so nothing is copied. What LAPACK computes in float64 is
rounded once. Factors have the signs of the CPU backend's: the largest component of an eigenvector or left singular vector
is positive, R has a non-negative diagonal. A matrix that has no answer gives NaN: where LAPACK would refuse it, MLX ends
the whole evaluation, so it is given another matrix instead.

Importing this needs MLX; the translation only writes these names.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Final

import mlx.core as mx  # pyright: ignore[reportMissingImports]

from quabla.ops.factorizations import TIE

__all__ = [
    "cholesky",
    "det",
    "det_sign",
    "eigh_values",
    "eigh_vectors",
    "log_abs_det",
    "pinv",
    "qr_q",
    "qr_q_complete",
    "qr_r",
    "solve",
    "solve_triangular",
    "svd_s",
    "svd_u",
    "svd_u_full",
    "svd_vh",
]

Array = Any  # an array of MLX
_WIDE: Final = mx.float64


def _on_cpu(compute: Callable[..., Array]) -> Callable[..., Array]:
    """``compute`` on float64 arrays on the CPU stream; the result is rounded to float32."""

    @functools.wraps(compute)
    def run(*arrays: Array, **options: Any) -> Array:
        with mx.stream(mx.cpu):
            return compute(*[a.astype(_WIDE) for a in arrays], **options).astype(mx.float32)

    return run


def _swapped(a: Array) -> Array:
    return mx.swapaxes(a, -1, -2)


def _eye(rows: int, columns: int) -> Array:
    return mx.eye(rows, columns, dtype=_WIDE)


def _wide(number: float) -> Array:
    """A number that does not narrow what it meets."""
    return mx.array(number, _WIDE)


def _nan_unless(good: Array, x: Array) -> Array:
    """``x`` for the matrices of a stack that are good, NaN for the others."""
    return mx.where(mx.reshape(good, (*good.shape, *(1,) * (x.ndim - good.ndim))), x, _wide(math.nan))


def _finite(a: Array) -> Array:
    """Which matrices of a stack are finite."""
    return mx.all(mx.isfinite(a), axis=(-2, -1))


def _checked(a: Array) -> tuple[Array, Array]:
    """A stack with the identity in the place of matrices that are not finite, and which are."""
    good = _finite(a)
    return mx.where(good[..., None, None], a, _eye(*a.shape[-2:])), good


def _diagonal(a: Array) -> Array:
    return mx.diagonal(a, 0, -2, -1)


# ---- systems ----------------------------------------------------------------------------------------


@_on_cpu
def cholesky(a: Array, *, lower: bool = True) -> Array:
    """Cholesky factors; NaN where the matrix is not positive definite."""
    if not a.size:
        return a
    factor = mx.linalg.cholesky(a if lower else _swapped(a))
    # The pivot that stopped LAPACK is still on the diagonal.
    good = mx.all(_diagonal(factor) > _wide(0.0), axis=-1)
    kept = mx.tril(mx.ones(a.shape[-2:], mx.bool_))
    factor = mx.where(kept, _nan_unless(good, factor), _wide(0.0))
    return factor if lower else _swapped(factor)


@_on_cpu
def solve_triangular(a: Array, b: Array, *, lower: bool, transpose: bool, unit: bool = False) -> Array:
    """Solutions of triangular systems; NaN where the matrix has a zero on the diagonal or is not finite."""
    if not b.size:
        return b
    n = a.shape[-1]
    if unit:
        a = mx.where(_eye(n, n) != _wide(0.0), _wide(1.0), a)
    if transpose:
        a, lower = _swapped(a), not lower
    a = mx.tril(a) if lower else mx.triu(a)
    return _substituted(a, b, lower)


def _substituted(a: Array, b: Array, lower: bool) -> Array:
    """Solutions for triangular matrices, by LAPACK's inverse of the triangle."""
    good = _finite(a) & mx.all(_diagonal(a) != _wide(0.0), axis=-1)
    safe = mx.where(good[..., None, None], a, _eye(*a.shape[-2:]))
    inverse = mx.linalg.tri_inv(safe, upper=not lower)
    x = inverse @ b
    # A step of refinement brings back the digits that substitution has and the inverse loses.
    return _nan_unless(good, x + inverse @ (b - safe @ x))


@_on_cpu
def solve(a: Array, b: Array) -> Array:
    """Solutions of linear systems; NaN where the matrix is singular."""
    if not b.size:
        return b
    rows, lower, upper = mx.linalg.lu(a)  # a is lower[rows] @ upper
    places = mx.argsort(rows.astype(mx.int32), axis=-1)
    right = mx.take_along_axis(b, mx.broadcast_to(places[..., None], b.shape), -2)
    return _substituted(upper, _substituted(lower, right, True), False)


def _pivots(a: Array) -> tuple[Array, Array]:
    """The pivots with the signs of the exchanges, and whether the matrix has NaN."""
    packed, exchanged = mx.linalg.lu_factor(a)
    moved = exchanged.astype(mx.int32) != mx.arange(exchanged.shape[-1], dtype=mx.int32)
    diagonal = _diagonal(packed)
    return mx.where(moved, -diagonal, diagonal), ~mx.any(mx.isnan(a), axis=(-2, -1))


@_on_cpu
def det(a: Array) -> Array:
    """Determinants."""
    if not a.size:
        return mx.ones(a.shape[:-2], _WIDE)
    pivots, good = _pivots(a)
    return _nan_unless(good, mx.prod(pivots, axis=-1))


@_on_cpu
def det_sign(a: Array) -> Array:
    """Signs of determinants."""
    if not a.size:
        return mx.ones(a.shape[:-2], _WIDE)
    pivots, good = _pivots(a)
    return _nan_unless(good, mx.prod(mx.sign(pivots), axis=-1))


@_on_cpu
def log_abs_det(a: Array) -> Array:
    """Logarithms of the magnitudes of determinants."""
    if not a.size:
        return mx.zeros(a.shape[:-2], _WIDE)
    pivots, good = _pivots(a)
    return _nan_unless(good, mx.sum(mx.log(mx.abs(pivots)), axis=-1))


# ---- signs ------------------------------------------------------------------------------------------


def _signs(columns: Array) -> Array:
    """1 or -1 for each column, which makes its largest component positive."""
    size = mx.abs(columns)
    large = size >= _wide(1.0 - TIE) * mx.max(size, axis=-2, keepdims=True)
    first = mx.argmax(large.astype(mx.int32), axis=-2, keepdims=True)
    chosen = mx.take_along_axis(columns, first, -2)
    return mx.where(chosen < _wide(0.0), _wide(-1.0), _wide(1.0))


# ---- eigenvalues ------------------------------------------------------------------------------------


def _eigh(a: Array) -> tuple[Array, Array, Array]:
    """Eigenvalues, eigenvectors, and which matrices have them."""
    safe, good = _checked(_wide(0.5) * (a + _swapped(a)))
    values, vectors = mx.linalg.eigh(safe)
    return values, vectors, good


@_on_cpu
def eigh_values(a: Array) -> Array:
    """Eigenvalues of symmetric parts, ascending."""
    if not a.size:
        return mx.zeros(a.shape[:-1], _WIDE)
    values, _, good = _eigh(a)
    return _nan_unless(good, values)


@_on_cpu
def eigh_vectors(a: Array) -> Array:
    """Eigenvectors of symmetric parts, as columns."""
    if not a.size:
        return a
    _, vectors, good = _eigh(a)
    return _nan_unless(good, vectors * _signs(vectors))


# ---- QR ---------------------------------------------------------------------------------------------


def _qr(a: Array) -> tuple[Array, Array, Array, Array]:
    """LAPACK's Q and R, the signs that make the diagonal of R non-negative, and which matrices are finite."""
    safe, good = _checked(a)
    q, r = mx.linalg.qr(safe)
    diagonal = _diagonal(r)
    return q, r, mx.where(diagonal < _wide(0.0), _wide(-1.0), _wide(1.0)), good


@_on_cpu
def qr_q(a: Array) -> Array:
    """Q with as many columns as the matrix has, or rows if these are fewer."""
    if not a.size:
        return mx.zeros((*a.shape[:-1], min(a.shape[-2:])), _WIDE)
    q, _, signs, good = _qr(a)
    return _nan_unless(good, q * signs[..., None, :])


@_on_cpu
def qr_r(a: Array) -> Array:
    """R, with a non-negative diagonal."""
    if not a.size:
        return mx.zeros((*a.shape[:-2], min(a.shape[-2:]), a.shape[-1]), _WIDE)
    _, r, signs, good = _qr(a)
    return _nan_unless(good, mx.triu(r * signs[..., None]))


@_on_cpu
def qr_q_complete(a: Array) -> Array:
    """The square Q.

    MLX gives only the first columns Q1 of LAPACK's product of reflections, I - V T V^T. With E the first columns of
    the identity, E - Q1 = V T V1^T, so the others are E2 - (E - Q1) X^T with X the part of V below V1 times the inverse
    of V1, which (E - Q1) below the square times the inverse of that above it is.
    """
    *stack, rows, columns = a.shape
    if rows <= columns or not a.size:
        if not a.size:
            return mx.broadcast_to(_eye(rows, rows), (*stack, rows, rows))
        q, _, signs, good = _qr(a)
        return _nan_unless(good, q * signs[..., None, :])
    q, _, signs, good = _qr(a)
    gone = _eye(rows, columns) - q
    # A reflection that does nothing makes the square singular; the pseudo-inverse leaves it out.
    u, s, vh = mx.linalg.svd(gone[..., :columns, :])
    kept = s > _wide(1e-10)
    inverse = mx.where(kept, _wide(1.0) / mx.where(kept, s, _wide(1.0)), _wide(0.0))
    x = gone[..., columns:, :] @ (_swapped(vh) * inverse[..., None, :]) @ _swapped(u)
    more = mx.broadcast_to(_eye(rows, rows)[:, columns:], (*stack, rows, rows - columns)) - gone @ _swapped(x)
    return _nan_unless(good, mx.concatenate([q * signs[..., None, :], more], axis=-1))


# ---- singular values --------------------------------------------------------------------------------


def _svd(a: Array) -> tuple[Array, Array, Array, Array]:
    """Left vectors, all of them, singular values, right vectors, and which matrices have them."""
    safe, good = _checked(a)
    u, s, vh = mx.linalg.svd(safe)
    return u, s, vh, good


@_on_cpu
def svd_s(a: Array) -> Array:
    """Singular values, descending."""
    if not a.size:
        return mx.zeros((*a.shape[:-2], min(a.shape[-2:])), _WIDE)
    _, s, _, good = _svd(a)
    return _nan_unless(good, s)


@_on_cpu
def svd_u(a: Array) -> Array:
    """Left singular vectors as columns."""
    rank = min(a.shape[-2:])
    if not a.size:
        return mx.zeros((*a.shape[:-1], rank), _WIDE)
    u, _, _, good = _svd(a)
    u = u[..., :rank]
    return _nan_unless(good, u * _signs(u))


@_on_cpu
def svd_u_full(a: Array) -> Array:
    """Left singular vectors, completed to a square matrix."""
    if not a.size:
        return mx.broadcast_to(_eye(a.shape[-2], a.shape[-2]), (*a.shape[:-1], a.shape[-2]))
    u, _, _, good = _svd(a)
    return _nan_unless(good, u * _signs(u))


@_on_cpu
def svd_vh(a: Array) -> Array:
    """Right singular vectors as rows, with the signs that belong to the left ones."""
    rank = min(a.shape[-2:])
    if not a.size:
        return mx.zeros((*a.shape[:-2], rank, a.shape[-1]), _WIDE)
    u, _, vh, good = _svd(a)
    return _nan_unless(good, vh[..., :rank, :] * _swapped(_signs(u[..., :rank])))


@_on_cpu
def pinv(a: Array, tolerance: Array) -> Array:
    """Pseudo-inverses; singular values at most the tolerance times the largest count as zero."""
    if not a.size:
        return _swapped(a)
    u, s, vh, good = _svd(a)
    rank = s.shape[-1]
    zero = s <= tolerance[..., None] * mx.max(s, axis=-1, keepdims=True)
    inverse = mx.where(zero, _wide(0.0), _wide(1.0) / mx.where(zero, _wide(1.0), s))
    v = _swapped(vh[..., :rank, :])
    return _nan_unless(good, (v * inverse[..., None, :]) @ _swapped(u[..., :rank]))
