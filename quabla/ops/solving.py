"""Linear systems, Cholesky factors and determinants of the matrices in the last two axes.

Kernels never raise for a matrix that has no answer: its part of the result is NaN, so that compiled programs and eager
ones agree. The public functions in ``quabla.linalg`` raise.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from quabla.ops.dispatch import Value, apply, constant
from quabla.ops.indexing import SLICE
from quabla.ops.linalg import product, swapped
from quabla.ops.reductions import SUM
from quabla.ops.registry import REGISTRY, Attribute, Kernel, Op, Sample, define
from quabla.ops.rules import align, unbroadcast
from quabla.ops.shaping import RESHAPE, TRANSPOSE
from quabla.ops.types import Const, Params, Shape, TensorType, broadcast_shapes

__all__ = [
    "CHOLESKY",
    "DET_SIGN",
    "LOG_ABS_DET",
    "SOLVE",
    "SOLVE_TRIANGULAR",
    "batch_matrices",
    "check_matrices",
    "diagonal_of",
    "dominant",
    "nan_where_refused",
    "on_target",
    "refusing",
    "scaled_columns",
    "symmetric_part",
    "triangle",
]


# ---- shared with the other factorizations ---------------------------------------------------------


def check_matrices(t: TensorType, *, square: bool = False) -> None:
    """Raise ValueError unless ``t`` is a stack of float matrices."""
    if not t.dtype.is_float:
        raise ValueError(f"needs a float array, got {t}")
    if t.ndim < 2 or (square and t.shape[-1] != t.shape[-2]):
        raise ValueError(f"needs {'square ' if square else ''}matrices in the last two axes, got {t}")


class _Refusing(threading.local):
    """Whether kernels of this thread raise for what they refuse."""

    on = False


_refusing: Final = _Refusing()


@contextmanager
def refusing() -> Generator[None]:
    """Let kernels raise ValueError for finite operands that they otherwise give NaN for."""
    _refusing.on = True
    try:
        yield
    finally:
        _refusing.on = False


def nan_where_refused(compute: Callable[..., Any], shape: Shape, core: int, refusal: str = "") -> Kernel:
    """A kernel over stacks whose result is NaN for those matrices that LAPACK refuses.

    Args:
        compute: raises ``LinAlgError`` if it refuses any of the stack.
        shape: the shape of the result.
        core: how many trailing axes of the result belong to one matrix.
        refusal: what ``refusing`` raises.
    """
    stack = shape[: len(shape) - core]

    def run(*arrays: Any) -> Any:
        try:
            return compute(*arrays)
        except np.linalg.LinAlgError:
            if _refusing.on and refusal and all(np.isfinite(x).all() for x in arrays):
                raise ValueError(refusal) from None
            operands = [np.broadcast_to(x, (*stack, *x.shape[-2:])) for x in arrays]
            out = np.full(shape, np.nan)
            for i in np.ndindex(*stack):
                try:
                    out[i] = compute(*[x[i] for x in operands])
                except np.linalg.LinAlgError:
                    continue
            return out

    return run


def batch_matrices(name: str) -> Callable[..., Value]:
    """The batching rule of an op with one operand: the mapped axis is one more of the stack's."""

    def batch(xs: Sequence[Value], mapped: Sequence[bool], params: Params) -> Value:
        return apply(REGISTRY[name], (xs[0],), params)

    return batch


def on_target(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    """The StableHLO rule of an op that StableHLO has nothing for: a custom call of the op's name."""
    return lo.call_target(node.op.mlir_name, xs, [x.type for x in node.operands], node.type)


def symmetric_part(x: Value) -> Value:
    return 0.5 * (x + swapped(x))


def diagonal_of(x: Value) -> Value:
    """The diagonals of square matrices, along the last axis."""
    *stack, n, _ = x.type.shape
    flat = apply(RESHAPE, (x,), ((*stack, n * n),))
    return apply(SLICE, (flat,), (len(stack), 0, n, n + 1))


def scaled_columns(x: Value, scales: Value) -> Value:
    """Every column of ``x`` times its scale; the scales lie along the last axis."""
    *stack, n = scales.type.shape
    return x * apply(RESHAPE, (scales,), ((*stack, 1, n),))


def dominant(*xs: Any) -> tuple[Any, ...]:
    """Operands for tests: the first made well-conditioned, its singular values distinct."""
    a, *rest = xs
    rows, columns = a.shape[-2:]
    shift = np.zeros((rows, columns))
    np.fill_diagonal(shift, 1.5 * np.arange(2.0, 2.0 + min(rows, columns)))
    return (a + shift, *rest)


# ---- solve --------------------------------------------------------------------------------------


def _infer_solve(types: Sequence[TensorType], params: Params) -> TensorType:
    a, b = types
    check_matrices(a, square=True)
    check_matrices(b)
    if a.dtype is not b.dtype:
        raise ValueError(f"needs two arrays of one float dtype, got {a} and {b}")
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"the matrix of {a} does not fit the {b.shape[-2]} rows of {b}")
    try:
        stack = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ValueError(f"the leading axes of {a} and {b} do not broadcast") from None
    return a.with_shape((*stack, *b.shape[-2:]))


def _solve_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    return nan_where_refused(np.linalg.solve, _infer_solve(types, params).shape, 2, f"solve: {SOLVE.refusal}")


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


def _solve_jvp(operands: Sequence[Value], tangents: Sequence[Value | None], x: Value, params: Params) -> Value | None:
    a, _ = operands
    da, db = tangents
    right = db
    if da is not None:
        moved = product(da, x)
        right = -moved if db is None else db - moved
    return None if right is None else apply(SOLVE, (a, right))


def _solve_vjp(
    operands: Sequence[Value], active: Sequence[bool], ct: Value, x: Value, params: Params
) -> list[Value | None]:
    a, b = operands
    found = apply(SOLVE, (swapped(a), ct))
    left = unbroadcast(-product(found, swapped(x)), a.type.shape) if active[0] else None
    return [left, unbroadcast(found, b.type.shape) if active[1] else None]


def _stacked(lo: Any, xs: Sequence[Any], node: Any) -> list[Any]:
    """Both operands with the leading axes of the result."""
    stack = node.type.shape[:-2]
    return [lo.broadcast(x, o.type, (*stack, *o.type.shape[-2:])) for x, o in zip(xs, node.operands, strict=True)]


def _solve_stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    stack = node.type.shape[:-2]
    types = [o.type.with_shape((*stack, *o.type.shape[-2:])) for o in node.operands]
    return lo.call_target(node.op.mlir_name, _stacked(lo, xs, node), types, node.type)


_SYSTEMS: Final = (
    ((3, 3), (3, 2)),
    ((2, 3, 3), (3, 1)),
    ((3, 3), (2, 3, 1)),
    ((2, 1, 2, 2), (3, 2, 2)),
)

SOLVE: Final = define(
    Op(
        "solve",
        "The solutions x of a x = b, by LU factorization with partial pivoting; NaN where a is singular.",
        ("a", "b"),
        infer=_infer_solve,
        kernel=_solve_kernel,
        may_alias=False,
        jvp=_solve_jvp,
        vjp=_solve_vjp,
        batch=_batch_systems(lambda: SOLVE),
        stablehlo=_solve_stablehlo,
        refusal="the matrix is singular",
        samples=tuple(Sample(s, make=dominant) for s in _SYSTEMS),
        source="M. B. Giles, Collected matrix derivative results for forward and reverse mode AD (2008), 2.3.1",
    )
)


# ---- triangular systems --------------------------------------------------------------------------


def _triangular_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    from scipy.linalg.blas import dtrsm  # pyright: ignore[reportAttributeAccessIssue]

    lower, transposed = params
    shape = _infer_solve(types, params).shape
    stack = shape[:-2]

    def one(a: Any, b: Any) -> Any:
        # BLAS counts by columns, so it is given the transposes: x^T op(a)^T = b^T.
        return dtrsm(1.0, a.T, b.T, side=1, lower=not lower, trans_a=transposed).T

    def run(a: Any, b: Any) -> Any:
        if 0 in shape:
            return np.zeros(shape)
        if not stack:
            return one(a, b)
        a = np.broadcast_to(a, (*stack, *a.shape[-2:]))
        b = np.broadcast_to(b, shape)
        out = np.empty(shape)
        for i in np.ndindex(*stack):
            out[i] = one(a[i], b[i])
        return out

    return run


def triangle(x: Value, lower: bool) -> Value:
    return apply(REGISTRY["tril" if lower else "triu"], (x,))


def _triangular_jvp(
    operands: Sequence[Value], tangents: Sequence[Value | None], x: Value, params: Params
) -> Value | None:
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


def _infer_square(types: Sequence[TensorType], params: Params) -> TensorType:
    check_matrices(types[0], square=True)
    return types[0]


def _cholesky_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    run = nan_where_refused(np.linalg.cholesky, types[0].shape, 2, f"cholesky: {CHOLESKY.refusal}")
    return lambda a: np.tril(run(a))


def _lower_half(n: int, type: TensorType) -> Value:
    """Ones below the diagonal, halves on it."""
    return constant(Const((np.tril(np.ones((n, n))) - 0.5 * np.eye(n)).astype(type.dtype.numpy)))


def _cholesky_jvp(
    operands: Sequence[Value], tangents: Sequence[Value | None], factor: Value, params: Params
) -> Value | None:
    (da,) = tangents
    if da is None:
        return None
    inner = apply(SOLVE_TRIANGULAR, (factor, symmetric_part(da)), (True, False))
    inner = apply(SOLVE_TRIANGULAR, (factor, swapped(inner)), (True, False))
    return product(factor, inner * _lower_half(factor.type.shape[-1], factor.type))


def _cholesky_stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    return lo.cholesky(xs[0], node.type)


CHOLESKY: Final = define(
    Op(
        "cholesky",
        "Lower Cholesky factors of symmetric matrices; reads their lower triangle; NaN where not positive definite.",
        ("a",),
        infer=_infer_square,
        kernel=_cholesky_kernel,
        may_alias=False,
        jvp=_cholesky_jvp,
        batch=batch_matrices("cholesky"),
        stablehlo=_cholesky_stablehlo,
        refusal="the matrix is not positive definite",
        samples=(
            Sample(((3, 3),), make=dominant, symmetric=True),
            Sample(((2, 2, 2),), make=dominant, symmetric=True),
        ),
        source="I. Murray, Differentiation of the Cholesky decomposition (2016), equation 8",
    )
)


# ---- determinants -----------------------------------------------------------------------------------


def _infer_number(types: Sequence[TensorType], params: Params) -> TensorType:
    check_matrices(types[0], square=True)
    return types[0].with_shape(types[0].shape[:-2])


def _slogdet_kernel(part: int) -> Callable[[Params, Sequence[TensorType]], Kernel]:
    def run(a: Any) -> Any:  # pivoting passes over NaN
        return np.where(np.isnan(a).any((-2, -1)), np.nan, np.linalg.slogdet(a)[part])

    return lambda params, types: run


DET_SIGN: Final = define(
    Op(
        "det_sign",
        "Signs of determinants: 1, -1, or 0 where the matrix is singular.",
        ("a",),
        infer=_infer_number,
        kernel=_slogdet_kernel(0),
        may_alias=False,
        differentiable=False,
        batch=batch_matrices("det_sign"),
        stablehlo=on_target,
        samples=(Sample(((3, 3),), make=dominant), Sample(((2, 2, 2),))),
    )
)


def _log_jvp(
    operands: Sequence[Value], tangents: Sequence[Value | None], result: Value, params: Params
) -> Value | None:
    (da,) = tangents
    if da is None:
        return None
    return apply(SUM, (diagonal_of(apply(SOLVE, (operands[0], da))),), ((result.type.ndim,),))


LOG_ABS_DET: Final = define(
    Op(
        "log_abs_det",
        "Logarithms of the magnitudes of determinants; -inf where the matrix is singular.",
        ("a",),
        infer=_infer_number,
        kernel=_slogdet_kernel(1),
        may_alias=False,
        jvp=_log_jvp,
        batch=batch_matrices("log_abs_det"),
        stablehlo=on_target,
        samples=(Sample(((3, 3),), make=dominant), Sample(((2, 2, 2),), make=dominant)),
        source="Jacobi's formula: d log|det a| = trace(a^-1 da)",
    )
)
