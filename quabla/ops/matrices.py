"""What the ops over matrices share: checks and result types, kernels around LAPACK, rules, and a few expressions.

A matrix op works on the last two axes; the leading ones are a stack. Kernels never raise for a matrix that has no
answer: its part of the result is NaN, so that compiled programs and eager ones agree.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from quabla.ops.blas import on_one_thread
from quabla.ops.dispatch import Value, apply
from quabla.ops.indexing import SLICE
from quabla.ops.linalg import swapped
from quabla.ops.registry import REGISTRY, Kernel, Op, Sample, define
from quabla.ops.shaping import RESHAPE
from quabla.ops.types import Params, Shape, TensorType, broadcast_shapes

__all__ = [
    "Shared",
    "Tangents",
    "as_column",
    "as_row",
    "broadcast_stacks",
    "check_matrices",
    "diagonal_of",
    "dominant",
    "factor",
    "finite_only",
    "nan_where_refused",
    "refusing",
    "same_stack",
    "symmetric_part",
    "triangle",
]

Tangents = Sequence[Value | None]


# ---- types ---------------------------------------------------------------------------------------------


def check_matrices(t: TensorType, *, square: bool = False) -> None:
    """Raise ValueError unless ``t`` is a stack of float matrices."""
    if not t.dtype.is_float:
        raise ValueError(f"needs a float array, got {t}")
    if t.ndim < 2 or (square and t.shape[-1] != t.shape[-2]):
        raise ValueError(f"needs {'square ' if square else ''}matrices in the last two axes, got {t}")


def broadcast_stacks(*types: TensorType) -> Shape:
    """The broadcast of the leading axes of matrices of one dtype.

    Raises:
        ValueError: for different dtypes or leading axes that do not broadcast.
    """
    listed = " and ".join(map(str, types))
    if any(t.dtype is not types[0].dtype for t in types):
        raise ValueError(f"needs arrays of one float dtype, got {listed}")
    try:
        return broadcast_shapes(*[t.shape[:-2] for t in types])
    except ValueError:
        raise ValueError(f"the leading axes of {listed} do not broadcast") from None


# ---- kernels -------------------------------------------------------------------------------------------


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


def nan_where_refused(
    compute: Callable[..., Any], shape: Shape, core: int, refusal: str = "", blank: Any = np.nan
) -> Kernel:
    """A kernel over stacks whose result is NaN for those matrices that LAPACK refuses.

    Args:
        compute: raises ``LinAlgError`` if it refuses any of the stack.
        shape: the shape of the result.
        core: how many trailing axes of the result belong to one matrix.
        refusal: what ``refusing`` raises.
        blank: the result for one such matrix, where zeros stay zeros.
    """
    stack = shape[: len(shape) - core]

    def run(*arrays: Any) -> Any:
        try:
            return compute(*arrays)
        except np.linalg.LinAlgError:
            if _refusing.on and refusal and all(np.isfinite(x).all() for x in arrays):
                raise ValueError(refusal) from None
            operands = [np.broadcast_to(x, (*stack, *x.shape[-2:])) for x in arrays]
            out = np.full(shape, blank)
            for i in np.ndindex(*stack):
                try:
                    out[i] = compute(*[x[i] for x in operands])
                except np.linalg.LinAlgError:
                    continue
            return out

    return run


def finite_only(compute: Callable[..., Any], core: int) -> Callable[..., Any]:
    """``compute``, but NaN for matrices that are not finite.

    LAPACK is not asked about them: it may take NaN for zero, and may never return from infinities.

    Args:
        compute: of stacks of matrices.
        core: how many trailing axes of the result belong to one matrix.
    """

    def run(*stacks: Any) -> Any:
        finite = [np.isfinite(a).all((-2, -1)) for a in stacks]
        if all(f.all() for f in finite):
            return compute(*stacks)
        some = compute(
            *[np.where(f[..., None, None], a, np.eye(*a.shape[-2:])) for f, a in zip(finite, stacks, strict=True)]
        )
        whole = np.logical_and.reduce(np.broadcast_arrays(*finite))
        return np.where(whole[(..., *(None,) * core)], some, np.nan)

    return run


class Shared(threading.local):
    """A factorization of which several ops take a part each: done once in a thread where they do so in turn.

    Args:
        compute: of a stack of matrices; returns the parts.
    """

    def __init__(self, compute: Callable[[Any], Sequence[Any]]) -> None:
        self._compute = compute
        self._key: Any = None
        self._parts: dict[int, Any] = {}

    def part(self, i: int) -> Callable[[Any], Any]:
        """The function of a stack that gives part ``i``. Each part is given away once, so nobody else writes to it."""

        def run(a: Any) -> Any:
            key = (a.shape, a.tobytes())  # the buffer may be written to before the next op asks
            if key != self._key or i not in self._parts:
                self._key, self._parts = None, dict(enumerate(self._compute(a)))
            found = self._parts.pop(i)
            self._key = key if self._parts else None
            return found

        return run


# ---- records -------------------------------------------------------------------------------------------


def same_stack(name: str) -> Callable[..., Value]:
    """The batching rule of an op with one operand: the mapped axis is one more of the stack's."""

    def batch(xs: Sequence[Value], mapped: Sequence[bool], params: Params) -> Value:
        return apply(REGISTRY[name], (xs[0],), params)

    return batch


def on_target(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    """The StableHLO rule of an op that StableHLO has nothing for: a custom call of the op's name."""
    return lo.call_target(node.op.mlir_name, xs, [x.type for x in node.operands], node.type)


#: How many matrix products a factorization costs, about.
_PASSES: Final = 4


def factor(
    name: str,
    summary: str,
    core: Callable[[int, int], Shape],
    compute: Callable[[Any], Any],
    jvp: Callable[..., Value | None] | None,
    samples: tuple[Sample, ...],
    *,
    square: bool = False,
    refusal: str = "",
    blank: Callable[[Any], Any] = lambda nan: nan,
    recognized: bool = False,
    stablehlo: Callable[..., Any] = on_target,
    source: str = "",
) -> Op:
    """Define an op that makes one thing of each matrix.

    Args:
        name: the op's name.
        summary: one line for the documentation.
        core: the shape that belongs to one matrix in the result, from its numbers of rows and columns.
        compute: of a NumPy stack of matrices; may raise ``LinAlgError``.
        jvp: as in the record; None where the derivative is zero by definition.
        samples: as in the record.
        square: whether the matrices must be square.
        refusal: as in the record.
        blank: makes the result for a matrix that LAPACK refuses of a matrix of NaN.
        recognized: as in the record.
        stablehlo: as in the record.
        source: as in the record.
    """
    axes = len(core(1, 1))

    def infer(types: Sequence[TensorType], params: Params) -> TensorType:
        check_matrices(types[0], square=square)
        *stack, rows, columns = types[0].shape
        return types[0].with_shape((*stack, *core(rows, columns)))

    def kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
        rows, columns = types[0].shape[-2:]
        run = on_one_thread(compute, _PASSES * rows * columns * min(rows, columns))
        shape = infer(types, params).shape
        none = blank(np.full(shape[len(shape) - axes :], np.nan))
        return nan_where_refused(run, shape, axes, f"{name}: {refusal}" if refusal else "", none)

    return define(
        Op(
            name,
            summary,
            ("a",),
            infer=infer,
            kernel=kernel,
            may_alias=False,
            jvp=jvp,
            differentiable=jvp is not None,
            batch=same_stack(name),
            stablehlo=stablehlo,
            refusal=refusal,
            recognized=recognized,
            samples=samples,
            source=source,
        )
    )


# ---- expressions ---------------------------------------------------------------------------------------


def symmetric_part(x: Value) -> Value:
    return 0.5 * (x + swapped(x))


def triangle(x: Value, lower: bool) -> Value:
    return apply(REGISTRY["tril" if lower else "triu"], (x,))


def diagonal_of(x: Value) -> Value:
    """The diagonals of square matrices, along the last axis."""
    *stack, n, _ = x.type.shape
    flat = apply(RESHAPE, (x,), ((*stack, n * n),))
    return apply(SLICE, (flat,), (len(stack), 0, n, n + 1))


def as_column(x: Value) -> Value:
    """The last axis as a column: ``[..., n, 1]``."""
    return apply(RESHAPE, (x,), ((*x.type.shape, 1),))


def as_row(x: Value) -> Value:
    """The last axis as a row: ``[..., 1, n]``."""
    *stack, n = x.type.shape
    return apply(RESHAPE, (x,), ((*stack, 1, n),))


# ---- samples -------------------------------------------------------------------------------------------


def dominant(*xs: Any) -> tuple[Any, ...]:
    """Operands for tests: the first made well-conditioned, its singular values distinct."""
    a, *rest = xs
    rows, columns = a.shape[-2:]
    shift = np.zeros((rows, columns))
    np.fill_diagonal(shift, 1.5 * np.arange(2.0, 2.0 + min(rows, columns)))
    return (a + shift, *rest)
