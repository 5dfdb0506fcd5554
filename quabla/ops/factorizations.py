"""Spectral and orthogonal factorizations of the matrices in the last two axes, one op for each factor.

Factors are unique: the component of largest magnitude of each eigenvector and left singular vector is positive (the
first of several), and R has a non-negative diagonal. Matrices that LAPACK refuses, such as those with NaN, give NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from quabla.ops.dispatch import Value, apply, constant, number_like
from quabla.ops.indexing import SLICE
from quabla.ops.linalg import product, swapped
from quabla.ops.matrices import (
    Shared,
    Tangents,
    as_column,
    as_row,
    check_matrices,
    diagonal_of,
    dominant,
    factor,
    finite_only,
    symmetric_part,
    triangle,
)
from quabla.ops.records import REALS, infer_elementwise
from quabla.ops.registry import REGISTRY, Kernel, Op, Sample, define
from quabla.ops.rules import unbroadcast, with_mapped_axis
from quabla.ops.selection import COMPARE, WHERE
from quabla.ops.shaping import RESHAPE
from quabla.ops.solving import SOLVE_TRIANGULAR
from quabla.ops.types import Const, Params, Shape, TensorType, broadcast_shapes

__all__ = [
    "EIGH_VALUES",
    "EIGH_VECTORS",
    "PINV",
    "QR_Q",
    "QR_Q_COMPLETE",
    "QR_R",
    "RATIO",
    "SVD_S",
    "SVD_U",
    "SVD_U_FULL",
    "SVD_VH",
    "TIE",
]

#: Components whose magnitudes differ by less than this part count as equal, so that rounding does not choose a sign.
TIE: Final = 1e-10


# ---- shapes of the factors -----------------------------------------------------------------------------


def _spectrum(rows: int, columns: int) -> Shape:
    return (min(rows, columns),)


def _left(rows: int, columns: int) -> Shape:
    return (rows, min(rows, columns))


def _left_full(rows: int, columns: int) -> Shape:
    return (rows, rows)


def _right(rows: int, columns: int) -> Shape:
    return (min(rows, columns), columns)


# ---- ratio: what derivatives of eigenvectors divide by gaps with ---------------------------------------


def _ratio_jvp(operands: Sequence[Value], tangents: Tangents, r: Value, params: Params) -> Value | None:
    _, gap = operands
    dx, dgap = tangents
    top = dx
    if dgap is not None:
        moved = r * dgap
        top = -moved if dx is None else dx - moved
    return None if top is None else apply(RATIO, (top, gap))


def _ratio_vjp(
    operands: Sequence[Value], active: Sequence[bool], ct: Value, r: Value, params: Params
) -> list[Value | None]:
    x, gap = operands
    found = apply(RATIO, (ct, gap))
    under = unbroadcast(-apply(RATIO, (ct * r, gap)), gap.type.shape) if active[1] else None
    return [unbroadcast(found, x.type.shape) if active[0] else None, under]


def _ratio_kernel(x: Any, gap: Any) -> Any:
    return np.where((x == 0) & (gap == 0), 0.0, x / gap)


def _ratio_stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    t = node.type
    x, gap = [lo.broadcast(v, o.type, t.shape) for v, o in zip(xs, node.operands, strict=True)]
    zero = lo.full(t, 0.0)
    none = [lo.compare("EQ", v, zero, t) for v in (x, gap)]
    both = lo.op("stablehlo.and", none[0].type, none)
    return lo.div(t, x, lo.select(both, lo.full(t, 1.0), gap, t))


RATIO: Final = define(
    Op(
        "ratio",
        "x1 / x2, with 0 / 0 = 0: what nothing depends on may have no derivative.",
        ("x1", "x2"),
        infer=infer_elementwise,
        kernel=lambda params, types: _ratio_kernel,
        elementwise=True,
        jvp=_ratio_jvp,
        vjp=_ratio_vjp,
        stablehlo=_ratio_stablehlo,
        samples=tuple(Sample(s) for s in (((2, 3), (2, 3)), ((2, 3), (3,)))),
        special=(
            ((0.0, 0.0), 0.0),
            ((1.0, 0.0), np.inf),
            ((np.nan, 1.0), np.nan),
            ((0.0, np.nan), np.nan),
            ((1.0, np.inf), 0.0),
        ),
        domain=(REALS, REALS),
        ulps=0.5,
    )
)


def _above_rounding(x: Value, values: Value) -> Value:
    """``x``, but 0 where it is within the rounding errors of ``values``, of whose differences it is one."""
    extent = values.type.shape[-1]
    if extent == 0:
        return x
    largest = apply(REGISTRY["max"], (apply(REGISTRY["abs"], (values,)),), ((values.type.ndim - 1,),))
    noise = largest * (extent * float(np.finfo(values.type.dtype.numpy).eps))
    noise = apply(RESHAPE, (noise,), ((*noise.type.shape, *(1,) * (x.type.ndim - noise.type.ndim)),))
    beyond = apply(COMPARE, (apply(REGISTRY["abs"], (x,)), noise), ("greater",))
    return apply(WHERE, (beyond, x, number_like(x, 0.0)))


def _identity(t: TensorType) -> Value:
    """The identity of the size of the last axis."""
    return constant(Const(np.eye(t.shape[-1]).astype(t.dtype.numpy)))


def _gaps(values: Value) -> Value:
    """``values[j] - values[i]`` in row i and column j: 0 for repeated values, and 1 on the diagonal."""
    return _above_rounding(as_row(values) - as_column(values), values) + _identity(values.type)


def _off_diagonal(t: TensorType) -> Value:
    n = t.shape[-1]
    return constant(Const((1.0 - np.eye(n)).astype(t.dtype.numpy)))


# ---- signs ---------------------------------------------------------------------------------------------


def _signs(columns: Any) -> Any:
    """1 or -1 for each column, which makes its largest component positive."""
    if columns.size == 0:
        return 1.0
    *stack, rows, count = columns.shape
    flat = columns.reshape(-1, rows, count)
    size = np.abs(flat)
    first = (size >= (1.0 - TIE) * size.max(1, keepdims=True)).argmax(1)
    chosen = flat[np.arange(len(flat))[:, None], first, np.arange(count)]
    return np.where(chosen < 0.0, -1.0, 1.0).reshape(*stack, 1, count)


# ---- eigh ----------------------------------------------------------------------------------------------


def _symmetrized(a: Any) -> Any:
    half = 0.5 * a
    return half + np.swapaxes(half, -1, -2)


def _eigh(a: Any) -> tuple[Any, Any]:
    values, vectors = np.linalg.eigh(_symmetrized(a))
    return values, vectors * _signs(vectors)


def _rotated(da: Value, vectors: Value) -> Value:
    """A symmetric perturbation in the basis of the eigenvectors."""
    return product(swapped(vectors), product(symmetric_part(da), vectors))


def _values_jvp(operands: Sequence[Value], tangents: Tangents, values: Value, params: Params) -> Value | None:
    (a,), (da,) = operands, tangents
    return None if da is None else diagonal_of(_rotated(da, apply(EIGH_VECTORS, (a,))))


def _vectors_jvp(operands: Sequence[Value], tangents: Tangents, vectors: Value, params: Params) -> Value | None:
    (a,), (da,) = operands, tangents
    if da is None:
        return None
    turned = _rotated(da, vectors) * _off_diagonal(a.type)
    return product(vectors, apply(RATIO, (turned, _gaps(apply(EIGH_VALUES, (a,))))))


_DECOMPOSED: Final = Shared(_eigh)
_SYMMETRIC: Final = (Sample(((3, 3),), make=dominant), Sample(((2, 2, 2),), make=dominant))
_EIGH_SOURCE: Final = "M. B. Giles, Collected matrix derivative results for forward and reverse mode AD (2008), 3.1"

EIGH_VALUES: Final = factor(
    "eigh_values",
    "Eigenvalues of the symmetric parts of matrices, ascending.",
    _spectrum,
    finite_only(_DECOMPOSED.part(0), 1),
    _values_jvp,
    _SYMMETRIC,
    square=True,
    recognized=True,
    source=_EIGH_SOURCE,
)

EIGH_VECTORS: Final = factor(
    "eigh_vectors",
    "Eigenvectors of the symmetric parts of matrices, as columns in the order of their eigenvalues.",
    _left_full,
    finite_only(_DECOMPOSED.part(1), 2),
    _vectors_jvp,
    _SYMMETRIC,
    square=True,
    recognized=True,
    source=_EIGH_SOURCE,
)


# ---- qr ------------------------------------------------------------------------------------------------


def _diagonal_signs(r: Any) -> Any:
    return np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0.0, -1.0, 1.0)


def _qr(a: Any) -> tuple[Any, Any]:
    q, r = np.linalg.qr(a)
    signs = _diagonal_signs(r)
    return q * signs[..., None, :], r * signs[..., :, None] + 0.0  # no negative zeros below the diagonal


def _q_complete(a: Any) -> Any:
    q, r = np.linalg.qr(a, mode="complete")
    signs = _diagonal_signs(r)
    q[..., : signs.shape[-1]] *= signs[..., None, :]
    return q


def _leading_columns(x: Value, count: int) -> Value:
    return x if x.type.shape[-1] == count else apply(SLICE, (x,), (x.type.ndim - 1, 0, count, 1))


def _turning(a: Value, da: Value, q: Value) -> tuple[Value, Value]:
    """The skew-symmetric q^T dq, and da r^-1, for the columns that q comes from."""
    rank = q.type.shape[-1]
    r = _leading_columns(apply(QR_R, (a,)), rank)
    scaled = swapped(apply(SOLVE_TRIANGULAR, (r, swapped(_leading_columns(da, rank))), (False, True)))
    below = triangle(product(swapped(q), scaled), True) * _off_diagonal(r.type)
    return below - swapped(below), scaled


def _q_jvp(operands: Sequence[Value], tangents: Tangents, q: Value, params: Params) -> Value | None:
    (a,), (da,) = operands, tangents
    if da is None:
        return None
    turning, scaled = _turning(a, da, q)
    moved = product(q, turning)
    if q.type.shape[-1] == q.type.shape[-2]:
        return moved
    return moved + (scaled - product(q, product(swapped(q), scaled)))


def _q_complete_jvp(operands: Sequence[Value], tangents: Tangents, q: Value, params: Params) -> Value | None:
    rows, columns = operands[0].type.shape[-2:]
    if rows > columns:
        raise ValueError(
            f"qr_q_complete: the columns of Q beyond the {columns} of {operands[0].type} are not unique and have no "
            "derivative; use mode='reduced'"
        )
    return _q_jvp(operands, tangents, q, params)


def _r_jvp(operands: Sequence[Value], tangents: Tangents, r: Value, params: Params) -> Value | None:
    (a,), (da,) = operands, tangents
    if da is None:
        return None
    q = apply(QR_Q, (a,))
    turning, _ = _turning(a, da, q)
    return triangle(product(swapped(q), da) - product(turning, r), False)


_ORTHOGONAL: Final = Shared(_qr)
_TALL: Final = Sample(((3, 2),), make=dominant)
_WIDE: Final = Sample(((2, 3),), make=dominant)
_STACK: Final = Sample(((2, 2, 2),), make=dominant)
_QR_SOURCE: Final = "S. F. Walter, L. Lehmann, Algorithmic differentiation of linear algebra functions (2010)"

QR_Q: Final = factor(
    "qr_q",
    "The orthonormal columns Q of a = Q R.",
    _left,
    finite_only(_ORTHOGONAL.part(0), 2),
    _q_jvp,
    (_TALL, _WIDE, _STACK),
    source=_QR_SOURCE,
)

QR_Q_COMPLETE: Final = factor(
    "qr_q_complete",
    "The square orthogonal Q of a = Q R; the columns beyond those of a are some basis of the rest.",
    _left_full,
    finite_only(_q_complete, 2),
    _q_complete_jvp,
    (_WIDE, _STACK),
    source=_QR_SOURCE,
)

QR_R: Final = factor(
    "qr_r",
    "The upper triangular R of a = Q R, its diagonal not negative.",
    _right,
    finite_only(_ORTHOGONAL.part(1), 2),
    _r_jvp,
    (_TALL, _WIDE, _STACK),
    source=_QR_SOURCE,
)


# ---- svd -----------------------------------------------------------------------------------------------


def _singular_vectors(a: Any) -> tuple[Any, Any]:
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    signs = np.broadcast_to(_signs(u), (*u.shape[:-2], 1, u.shape[-1]))
    return u * signs, vh * np.swapaxes(signs, -1, -2)


def _u_full(a: Any) -> Any:
    u = np.linalg.svd(a)[0]
    return u * _signs(u)


def _factors(a: Value) -> tuple[Value, Value, Value]:
    """u, the singular values, and v with its vectors as columns."""
    return apply(SVD_U, (a,)), apply(SVD_S, (a,)), swapped(apply(SVD_VH, (a,)))


def _s_jvp(operands: Sequence[Value], tangents: Tangents, s: Value, params: Params) -> Value | None:
    (a,), (da,) = operands, tangents
    if da is None:
        return None
    u, _, v = _factors(a)
    return diagonal_of(product(swapped(u), product(da, v)))


def _vectors_tangent(da: Value, u: Value, s: Value, v: Value) -> Value:
    """The tangent of u; that of v is this one for the transposed matrix."""
    carried = product(da, v)
    inner = product(swapped(u), carried)
    across = swapped(inner)
    # Not over one difference of squares: that loses half of the digits, and hides that zeros are repeated.
    stretched = apply(RATIO, ((inner + across) * _off_diagonal(inner.type), _gaps(s)))
    sums = _above_rounding(as_row(s) + as_column(s), s) + _identity(s.type)
    turned = 0.5 * (stretched + apply(RATIO, (inner - across, sums)))
    moved = product(u, turned)
    if u.type.shape[-1] == u.type.shape[-2]:
        return moved
    return moved + apply(RATIO, (carried - product(u, inner), as_row(_above_rounding(s, s))))


def _u_jvp(operands: Sequence[Value], tangents: Tangents, u: Value, params: Params) -> Value | None:
    (a,), (da,) = operands, tangents
    if da is None:
        return None
    _, s, v = _factors(a)
    return _vectors_tangent(da, u, s, v)


def _u_full_jvp(operands: Sequence[Value], tangents: Tangents, u: Value, params: Params) -> Value | None:
    rows, columns = operands[0].type.shape[-2:]
    if rows > columns:
        raise ValueError(
            f"svd_u_full: the columns of U beyond the {columns} of {operands[0].type} are not unique and have no "
            "derivative; use full_matrices=False"
        )
    return _u_jvp(operands, tangents, u, params)


def _vh_jvp(operands: Sequence[Value], tangents: Tangents, vh: Value, params: Params) -> Value | None:
    (a,), (da,) = operands, tangents
    if da is None:
        return None
    u, s, v = _factors(a)
    return swapped(_vectors_tangent(swapped(da), v, s, u))


_SINGULAR: Final = Shared(_singular_vectors)
_SVD_SOURCE: Final = "J. Townsend, Differentiating the singular value decomposition (2016)"

SVD_S: Final = factor(
    "svd_s",
    "Singular values, descending.",
    _spectrum,
    finite_only(lambda a: np.linalg.svd(a, compute_uv=False), 1),
    _s_jvp,
    (_TALL, _WIDE, _STACK),
    source=_SVD_SOURCE,
)

SVD_U: Final = factor(
    "svd_u",
    "Left singular vectors, as columns in the order of their singular values.",
    _left,
    finite_only(_SINGULAR.part(0), 2),
    _u_jvp,
    (_TALL, _WIDE, _STACK),
    source=_SVD_SOURCE,
)

SVD_U_FULL: Final = factor(
    "svd_u_full",
    "Left singular vectors and, beyond the singular values, some basis of the rest.",
    _left_full,
    finite_only(_u_full, 2),
    _u_full_jvp,
    (_WIDE, _STACK),
    source=_SVD_SOURCE,
)

SVD_VH: Final = factor(
    "svd_vh",
    "Right singular vectors, as rows in the order of their singular values.",
    _right,
    finite_only(_SINGULAR.part(1), 2),
    _vh_jvp,
    (_TALL, _WIDE, _STACK),
    source=_SVD_SOURCE,
)


# ---- pinv ----------------------------------------------------------------------------------------------


def _infer_pinv(types: Sequence[TensorType], params: Params) -> TensorType:
    a, rtol = types
    check_matrices(a)
    if rtol.dtype is not a.dtype or broadcast_shapes(a.shape[:-2], rtol.shape) != a.shape[:-2]:
        raise ValueError(f"needs a tolerance for the matrices, got {rtol} for {a}")
    *stack, rows, columns = a.shape
    return a.with_shape((*stack, columns, rows))


def _pinv_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    stack = types[0].shape[:-2]

    def run(a: Any, rtol: Any) -> Any:
        return finite_only(lambda x: np.linalg.pinv(x, rcond=np.broadcast_to(rtol, stack)), 2)(a)

    return run


def _pinv_jvp(operands: Sequence[Value], tangents: Tangents, p: Value, params: Params) -> Value | None:
    a, da = operands[0], tangents[0]
    if da is None:
        return None
    across, q = swapped(da), swapped(p)
    moved = -product(p, product(da, p))
    right = product(product(p, q), across)
    left = product(across, product(q, p))
    return moved + (right - product(product(right, a), p)) + (left - product(p, product(a, left)))


def _pinv_batch(xs: Sequence[Value], mapped: Sequence[bool], params: Params) -> Value:
    a, rtol = xs
    size = (a if mapped[0] else rtol).type.shape[0]
    a = with_mapped_axis(a, mapped[0], size)
    if mapped[1]:
        fill = (1,) * (a.type.ndim - 2 - rtol.type.ndim)
        rtol = apply(RESHAPE, (rtol,), ((size, *fill, *rtol.type.shape[1:]),))
    return apply(PINV, (a, rtol))


def _pinv_stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    a, rtol = node.operands
    stack = a.type.shape[:-2]
    values = [xs[0], lo.broadcast(xs[1], rtol.type, stack)]
    return lo.call_target(node.op.mlir_name, values, [a.type, rtol.type.with_shape(stack)], node.type)


PINV: Final = define(
    Op(
        "pinv",
        "Pseudoinverses; singular values of at most rtol times the largest count as zero.",
        ("a", "rtol"),
        infer=_infer_pinv,
        kernel=_pinv_kernel,
        may_alias=False,
        jvp=_pinv_jvp,
        batch=_pinv_batch,
        stablehlo=_pinv_stablehlo,
        samples=(
            Sample(((3, 2), ()), (), (0.3, 1e-8), (0.9, 1e-7), make=dominant),
            Sample(((2, 2, 3), ()), (), (0.3, 1e-8), (0.9, 1e-7), make=dominant),
        ),
        source="G. H. Golub, V. Pereyra, The differentiation of pseudo-inverses (1973), equation 4.12",
    )
)
