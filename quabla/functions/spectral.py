"""Eigenvalues, singular values and orthogonal factors of the matrices in the last two axes.

The factors are unique: the component of largest magnitude of each eigenvector and left singular vector is positive (the
first of several), and R has a non-negative diagonal.
"""

from __future__ import annotations

from typing import NamedTuple

from quabla import errors
from quabla.functions.shape import pad
from quabla.functions.systems import matrices
from quabla.ops.dispatch import Value, apply
from quabla.ops.factorizations import (
    EIGH_VALUES,
    EIGH_VECTORS,
    QR_Q,
    QR_Q_COMPLETE,
    QR_R,
    SVD_S,
    SVD_U,
    SVD_U_FULL,
    SVD_VH,
)
from quabla.ops.indexing import piece
from quabla.ops.linalg import swapped
from quabla.ops.shaping import concat

__all__ = ["EighResult", "QRResult", "SVDResult", "eigh", "qr", "svd"]


class EighResult(NamedTuple):
    """What ``eigh`` returns: eigenvalues, ascending, and the eigenvectors as columns."""

    eigenvalues: Value
    eigenvectors: Value


class QRResult(NamedTuple):
    """What ``qr`` returns: orthonormal columns Q and the upper triangular R."""

    Q: Value
    R: Value


class SVDResult(NamedTuple):
    """What ``svd`` returns: left vectors as columns, singular values, descending, and right vectors as rows."""

    U: Value
    S: Value
    Vh: Value


def eigh(a: object) -> EighResult:
    """Eigenvalues and eigenvectors of the symmetric parts ``(a + a^T) / 2``.

    Args:
        a: square matrices, ``[..., n, n]``.

    Returns:
        ``(eigenvalues, eigenvectors)``: ``[..., n]``, ascending, and ``[..., n, n]``, one column for each; NaN for
        matrices that are not finite. The eigenvectors of a repeated eigenvalue have no derivative: what depends on them
        gets one that is not finite. The eigenvalues do, the eigenvectors of the others beside it, and what is a function
        of the matrix, such as ``(v * f(w)) @ v.T`` and ``sum(f(w))``, to every order: see ``funm``.

    Raises:
        ValueError: matrices that are not square.

    Example:
        >>> import quabla as qb
        >>> qb.linalg.eigh(qb.array([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
        [1.0, 2.0]
    """
    v = matrices("eigh", a, square=True)
    return EighResult(apply(EIGH_VALUES, (v,)), apply(EIGH_VECTORS, (v,)))


def qr(a: object, mode: str = "reduced") -> QRResult | Value:
    """QR factorizations ``a = Q R``.

    Args:
        a: matrices, ``[..., m, n]``; k is the less of m and n.
        mode: ``"reduced"`` for Q ``[..., m, k]`` and R ``[..., k, n]``; ``"complete"`` for ``[..., m, m]`` and
            ``[..., m, n]``; ``"r"`` for the reduced R alone.

    Returns:
        ``(Q, R)``, or R. The columns that ``"complete"`` adds to Q have no derivative.

    Raises:
        ValueError: another mode, or an array of rank 0 or 1.

    Example:
        >>> import quabla as qb
        >>> qb.linalg.qr(qb.array([[0.0, 2.0], [1.0, 3.0]])).R.tolist()
        [[1.0, 3.0], [0.0, 2.0]]
    """
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr: the mode must be 'reduced', 'complete' or 'r', got {mode!r}{errors.at_user_line()}")
    v = matrices("qr", a)
    r = apply(QR_R, (v,))
    if mode == "r":
        return r
    if mode == "reduced":
        return QRResult(apply(QR_Q, (v,)), r)
    rows, columns = v.type.shape[-2:]
    if rows > columns:
        r = pad(r, [*[(0, 0)] * (r.type.ndim - 2), (0, rows - columns), (0, 0)])
    return QRResult(apply(QR_Q_COMPLETE, (v,)), r)


def svd(a: object, full_matrices: bool = False, compute_uv: bool = True) -> SVDResult | Value:
    """Singular value decompositions ``a = U diag(S) Vh``.

    Args:
        a: matrices, ``[..., m, n]``; k is the less of m and n.
        full_matrices: make U ``[..., m, m]`` and Vh ``[..., n, n]``, not ``[..., m, k]`` and ``[..., k, n]``. What is
            added has no derivative.
        compute_uv: whether to return U and Vh, or the singular values alone.

    Returns:
        ``(U, S, Vh)``, or S, ``[..., k]``, descending; NaN for matrices that are not finite. The vectors of a repeated
        singular value have no derivative: what depends on them gets one that is not finite.

    Raises:
        ValueError: an array of rank 0 or 1.

    Example:
        >>> import quabla as qb
        >>> qb.linalg.svd(qb.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False).tolist()
        [4.0, 3.0]
    """
    v = matrices("svd", a)
    s = apply(SVD_S, (v,))
    if not compute_uv:
        return s
    rows, columns = v.type.shape[-2:]
    u = apply(SVD_U_FULL if full_matrices and rows > columns else SVD_U, (v,))
    vh = apply(SVD_VH, (v,))
    if full_matrices and columns > rows:
        rest = piece(swapped(apply(SVD_U_FULL, (swapped(v),))), v.type.ndim - 2, rows, columns - rows)
        vh = concat([vh, rest], v.type.ndim - 2)
    return SVDResult(u, s, vh)
