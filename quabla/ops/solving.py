"""Linear systems and Cholesky factors of the matrices in the last two axes.

For a matrix that has no answer the public functions in ``quabla.linalg`` raise where the result is not traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from quabla.ops.blas import on_one_thread
from quabla.ops.dispatch import Value, apply, constant
from quabla.ops.linalg import product, swapped
from quabla.ops.matrices import (
    Tangents,
    broadcast_stacks,
    check_matrices,
    dominant,
    factor,
    nan_where_refused,
    symmetric_part,
    triangle,
)
from quabla.ops.registry import Attribute, Kernel, Op, Sample, define
from quabla.ops.rules import align, unbroadcast
from quabla.ops.shaping import RESHAPE, TRANSPOSE
from quabla.ops.types import Const, Params, TensorType

__all__ = ["CHOLESKY", "SOLVE", "SOLVE_OR_NAN", "SOLVE_TRIANGULAR"]


# ---- solve --------------------------------------------------------------------------------------


def _infer_solve(types: Sequence[TensorType], params: Params) -> TensorType:
    a, b = types
    check_matrices(a, square=True)
    check_matrices(b)
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"the matrix of {a} does not fit the {b.shape[-2]} rows of {b}")
    return a.with_shape((*broadcast_stacks(a, b), *b.shape[-2:]))


def _batch_systems(
    op: Callable[[], Op],
) -> Callable[[Sequence[Value], Sequence[bool], Params], Value]:
    def batch(xs: Sequence[Value], mapped: Sequence[bool], params: Params) -> Value:
        a, b = xs
        if not mapped[0] and a.type.ndim == 2 and b.type.ndim == 3:  # one factorization for all right-hand sides
            size, n, k = b.type.shape
            wide = apply(RESHAPE, (apply(TRANSPOSE, (b,), ((1, 0, 2),)),), ((n, size * k),))
            x = apply(RESHAPE, (apply(op(), (a, wide), params),), ((n, size, k),))
            return apply(TRANSPOSE, (x,), ((1, 0, 2),))
        a, b = align(xs, mapped)
        return apply(op(), (a, b), params)

    return batch


def _stacked(lo: Any, xs: Sequence[Any], node: Any) -> list[Any]:
    """Both operands with the leading axes of the result."""
    stack = node.type.shape[:-2]
    return [lo.broadcast(x, o.type, (*stack, *o.type.shape[-2:])) for x, o in zip(xs, node.operands, strict=True)]


def _solve_stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    stack = node.type.shape[:-2]
    types = [o.type.with_shape((*stack, *o.type.shape[-2:])) for o in node.operands]
    return lo.call_target(SOLVE.mlir_name, _stacked(lo, xs, node), types, node.type)


_SYSTEMS: Final = (
    ((3, 3), (3, 2)),
    ((2, 3, 3), (3, 1)),
    ((3, 3), (2, 3, 1)),
    ((2, 1, 2, 2), (3, 2, 2)),
)


def _define_solve(name: str, summary: str, refusal: str = "") -> Op:
    """An op that solves systems by LU factorization; derivatives are solves by the same op."""

    def kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
        shape = _infer_solve(types, params).shape
        n, columns = shape[-2:]
        solve = on_one_thread(np.linalg.solve, n * n * (n // 3 + columns))
        return nan_where_refused(solve, shape, 2, f"{name}: {refusal}" if refusal else "")

    def jvp(operands: Sequence[Value], tangents: Tangents, x: Value, params: Params) -> Value | None:
        a, _ = operands
        da, db = tangents
        right = db
        if da is not None:
            moved = product(da, x)
            right = -moved if db is None else db - moved
        return None if right is None else apply(op, (a, right))

    def vjp(
        operands: Sequence[Value], active: Sequence[bool], ct: Value, x: Value, params: Params
    ) -> list[Value | None]:
        a, b = operands
        found = apply(op, (swapped(a), ct))
        left = unbroadcast(-product(found, swapped(x)), a.type.shape) if active[0] else None
        return [left, unbroadcast(found, b.type.shape) if active[1] else None]

    op = define(
        Op(
            name,
            summary,
            ("a", "b"),
            infer=_infer_solve,
            kernel=kernel,
            may_alias=False,
            jvp=jvp,
            vjp=vjp,
            batch=_batch_systems(lambda: op),
            stablehlo=_solve_stablehlo,
            refusal=refusal,
            samples=tuple(Sample(s, make=dominant) for s in _SYSTEMS),
            source="M. B. Giles, Collected matrix derivative results for forward and reverse mode AD (2008), 2.3.1",
        )
    )
    return op


SOLVE: Final = _define_solve(
    "solve",
    "The solutions x of a x = b, by LU factorization with partial pivoting; NaN where a is singular.",
    "the matrix is singular",
)
SOLVE_OR_NAN: Final = _define_solve("solve_or_nan", "As solve, but NaN where a is singular in eager programs too.")


# ---- triangular systems --------------------------------------------------------------------------


#: Stacks of at least this many matrices for each row are solved all at once.
_MANY: Final = 4


def _substitute(a: Any, b: Any, lower: bool) -> Any:
    """Solutions for a stack of triangular matrices, one row of all of them after the other."""
    n = a.shape[-1]
    x = np.empty((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:]))
    for i in range(n) if lower else range(n - 1, -1, -1):
        known = slice(0, i) if lower else slice(i + 1, n)
        moved = a[..., i : i + 1, known] @ x[..., known, :]
        x[..., i, :] = (b[..., i, :] - moved[..., 0, :]) / a[..., i, i, None]
    return x


def _triangular_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    from scipy.linalg.blas import dtrsm  # pyright: ignore[reportAttributeAccessIssue]

    lower, transposed = params
    shape = _infer_solve(types, params).shape
    stack = shape[:-2]

    def one(a: Any, b: Any) -> Any:
        # BLAS counts by columns, so it is given the transposes: x^T op(a)^T = b^T.
        return dtrsm(1.0, a.T, b.T, side=1, lower=not lower, trans_a=transposed).T

    def each(a: Any, b: Any) -> Any:
        a, b = np.broadcast_to(a, (*stack, *a.shape[-2:])), np.broadcast_to(b, shape)
        out = np.empty(shape)
        for i in np.ndindex(*stack):
            out[i] = one(a[i], b[i])
        return out

    if 0 in shape:
        return lambda a, b: np.zeros(shape)
    if not stack:
        return one
    if prod(stack) < _MANY * shape[-2]:
        return each
    return lambda a, b: _substitute(np.swapaxes(a, -1, -2) if transposed else a, b, lower is not transposed)


def _triangular_jvp(operands: Sequence[Value], tangents: Tangents, x: Value, params: Params) -> Value | None:
    a, _ = operands
    da, db = tangents
    lower, transposed = params
    right = db
    if da is not None:
        part = triangle(da, lower)
        moved = product(swapped(part) if transposed else part, x)
        right = -moved if db is None else db - moved
    return None if right is None else apply(SOLVE_TRIANGULAR, (a, right), params)


def _triangular_vjp(
    operands: Sequence[Value], active: Sequence[bool], ct: Value, x: Value, params: Params
) -> list[Value | None]:
    a, b = operands
    lower, transposed = params
    found = apply(SOLVE_TRIANGULAR, (a, ct), (lower, not transposed))
    left = None
    if active[0]:
        outer = product(x, swapped(found)) if transposed else product(found, swapped(x))
        left = unbroadcast(triangle(-outer, lower), a.type.shape)
    return [left, unbroadcast(found, b.type.shape) if active[1] else None]


def _triangular_stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    lower, transposed = node.params
    a, b = _stacked(lo, xs, node)
    return lo.triangular_solve(a, b, node.type, lower=lower, transposed=transposed)


SOLVE_TRIANGULAR: Final = define(
    Op(
        "solve_triangular",
        "The solutions x of a x = b, or of its transpose, where one triangle of a is read and the other is zero.",
        ("a", "b"),
        attributes=(Attribute("lower", "bool"), Attribute("transpose", "bool")),
        infer=_infer_solve,
        kernel=_triangular_kernel,
        may_alias=False,
        jvp=_triangular_jvp,
        vjp=_triangular_vjp,
        batch=_batch_systems(lambda: SOLVE_TRIANGULAR),
        stablehlo=_triangular_stablehlo,
        samples=tuple(
            Sample(s, p, make=dominant)
            for s, p in zip(_SYSTEMS, [(True, False), (False, False), (True, True), (False, True)], strict=True)
        ),
        source="M. B. Giles, Collected matrix derivative results for forward and reverse mode AD (2008), 2.3.1",
    )
)


# ---- Cholesky --------------------------------------------------------------------------------------


def _lower_half(n: int, type: TensorType) -> Value:
    """Ones below the diagonal, halves on it."""
    return constant(Const((np.tril(np.ones((n, n))) - 0.5 * np.eye(n)).astype(type.dtype.numpy)))


def _cholesky(a: Any) -> Any:
    """Factors, NaN as a whole where NaN is read: how far LAPACK comes with it is the library's affair."""
    factor = np.linalg.cholesky(a)
    spoiled = np.isnan(factor).any((-2, -1))
    return (
        np.where(spoiled[..., None, None], np.tril(np.full_like(factor, np.nan)), factor) if spoiled.any() else factor
    )


def _cholesky_jvp(operands: Sequence[Value], tangents: Tangents, factor: Value, params: Params) -> Value | None:
    (da,) = tangents
    if da is None:
        return None
    inner = apply(SOLVE_TRIANGULAR, (factor, symmetric_part(da)), (True, False))
    inner = apply(SOLVE_TRIANGULAR, (factor, swapped(inner)), (True, False))
    return product(factor, inner * _lower_half(factor.type.shape[-1], factor.type))


CHOLESKY: Final = factor(
    "cholesky",
    "Lower Cholesky factors of symmetric matrices, of which it reads the lower triangle; NaN there where not positive "
    "definite.",
    lambda rows, columns: (rows, columns),
    _cholesky,
    _cholesky_jvp,
    (
        Sample(((3, 3),), make=dominant, symmetric=True),
        Sample(((2, 2, 2),), make=dominant, symmetric=True),
    ),
    square=True,
    refusal="the matrix is not positive definite",
    blank=np.tril,
    stablehlo=lambda lo, xs, node: lo.cholesky(xs[0], node.type),
    source="I. Murray, Differentiation of the Cholesky decomposition (2016), equation 8",
)
