"""Determinants of the matrices in the last two axes, and their derivatives of every order.

A determinant is a polynomial, so it has derivatives at singular matrices too, where formulas with the inverse have
none. ``cofactors`` is its gradient; with further operands it is that gradient's derivative along them, so the op is
closed under differentiation.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, permutations
from typing import Any, Final

import numpy as np

from quabla.ops.dispatch import Value, apply
from quabla.ops.matrices import (
    Shared,
    Tangents,
    broadcast_stacks,
    check_matrices,
    diagonal_of,
    dominant,
    factor,
    finite_only,
    nan_where_refused,
)
from quabla.ops.reductions import SUM
from quabla.ops.registry import Kernel, Op, Sample, define
from quabla.ops.rules import unbroadcast
from quabla.ops.shaping import RESHAPE
from quabla.ops.solving import SOLVE
from quabla.ops.types import Params, Shape, TensorType

__all__ = ["COFACTORS", "DET", "DET_SIGN", "LOG_ABS_DET"]


def _number(rows: int, columns: int) -> Shape:
    return ()


def _nan_with_nan(a: Any, result: Any) -> Any:
    """``result``, but NaN for matrices with NaN, which pivoting passes over."""
    return np.where(np.isnan(a).any((-2, -1)), np.nan, result)


# ---- sign and logarithm --------------------------------------------------------------------------------


_LOGARITHMIC: Final = Shared(lambda a: [_nan_with_nan(a, part) for part in np.linalg.slogdet(a)])

DET_SIGN: Final = factor(
    "det_sign",
    "Signs of determinants: 1, -1, or 0 where the matrix is singular.",
    _number,
    _LOGARITHMIC.part(0),
    None,
    (Sample(((3, 3),), make=dominant), Sample(((2, 2, 2),))),
    square=True,
)


def _log_jvp(operands: Sequence[Value], tangents: Tangents, result: Value, params: Params) -> Value | None:
    (a,), (da,) = operands, tangents
    return None if da is None else apply(SUM, (diagonal_of(apply(SOLVE, (a, da))),), ((result.type.ndim,),))


LOG_ABS_DET: Final = factor(
    "log_abs_det",
    "Logarithms of the magnitudes of determinants; -inf where the matrix is singular.",
    _number,
    _LOGARITHMIC.part(1),
    _log_jvp,
    (Sample(((3, 3),), make=dominant), Sample(((2, 2, 2),), make=dominant)),
    square=True,
    source="Jacobi's formula: d log|det a| = trace(a^-1 da)",
)


# ---- determinant ---------------------------------------------------------------------------------------


def _det_jvp(operands: Sequence[Value], tangents: Tangents, result: Value, params: Params) -> Value | None:
    (a,), (da,) = operands, tangents
    axes = (a.type.ndim - 2, a.type.ndim - 1)
    return None if da is None else apply(SUM, (apply(COFACTORS, (a,)) * da,), (axes,))


DET: Final = factor(
    "det",
    "Determinants.",
    _number,
    lambda a: _nan_with_nan(a, np.linalg.det(a)),
    _det_jvp,
    (Sample(((3, 3),), make=dominant), Sample(((2, 2, 2),))),
    square=True,
    source="Jacobi's formula: d det a = sum(cofactors(a) * da)",
)


# ---- cofactors -----------------------------------------------------------------------------------------
#
# With a = u diag(s) v^T, every derivative of det at a is one at diag(s) of the directions u^T m v, times det(u) det(v).
# There it is the sum over rows i0, ..., ik, all different, of the product of the other singular values times the
# determinant of the matrix of m_p[i_p, i_q]. Nothing is divided by, so singular values may be zero.

#: Below this condition number the inverse loses fewer digits than matter, and is faster than singular values.
_REGULAR: Final = 1e4


def _infer_cofactors(types: Sequence[TensorType], params: Params) -> TensorType:
    for t in types:
        check_matrices(t, square=True)
        if t.shape[-1] != types[0].shape[-1] or t.ndim != types[0].ndim:
            raise ValueError(f"needs directions of the matrix's rank and size, got {t} for {types[0]}")
    return types[0].with_shape((*broadcast_stacks(*types), *types[0].shape[-2:]))


@lru_cache(16)
def _rows(n: int, count: int) -> tuple[Any, Any]:
    """For all ways to take ``count`` rows of n: which rows are taken, and 1 where all are different."""
    taken = (np.indices((n,) * count)[..., None] == np.arange(n)).any(0)
    return taken, (taken.sum(-1) == count).astype(np.float64)


@lru_cache(16)
def _leibniz(count: int) -> list[tuple[int, tuple[int, ...]]]:
    """The permutations of ``count`` rows with their signs."""
    return [(round(np.linalg.det(np.eye(count)[list(p)])), p) for p in permutations(range(count))]


def _cofactors(a: Any, *directions: Any) -> Any:
    u, s, vh = np.linalg.svd(a)
    n, count = s.shape[-1], len(directions) + 1
    ut, v = np.swapaxes(u, -1, -2), np.swapaxes(vh, -1, -2)
    turned = [ut @ m @ v for m in directions]
    taken, different = _rows(n, count)
    others = np.where(taken, 1.0, s[(..., *(None,) * count, slice(None))]).prod(-1) * different
    letters = "abcdefghijkl"[:count]
    inner = 0.0
    for sign, columns in _leibniz(count):
        pairs = [letters[i] + letters[j] for i, j in enumerate(columns)]
        last = pairs.pop()
        onto = last[:1] if last[0] == last[1] else last
        term = np.einsum(",".join(["..." + x for x in (letters, *pairs)]) + "->..." + onto, others, *turned)
        inner = inner + sign * (term[..., None] * np.eye(n) if len(onto) == 1 else term)
    handed = np.where(np.linalg.det(u) * np.linalg.det(vh) < 0.0, -1.0, 1.0)
    return handed[..., None, None] * (u @ inner @ vh)


def _gradient(a: Any) -> Any:
    """The cofactors of matrices: from inverses where all are well-conditioned, else from singular values."""
    if a.size:
        try:
            inverse = np.linalg.inv(a)
        except np.linalg.LinAlgError:
            return _cofactors(a)
        condition = np.abs(a).sum(-2).max(-1) * np.abs(inverse).sum(-2).max(-1)
        if not (condition < _REGULAR).all():
            return _cofactors(a)
        return np.linalg.det(a)[..., None, None] * np.swapaxes(inverse, -1, -2)
    return _cofactors(a)


def _cofactors_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    compute = _gradient if len(types) == 1 else _cofactors
    return nan_where_refused(finite_only(compute, 2), _infer_cofactors(types, params).shape, 2)


def _cofactors_jvp(operands: Sequence[Value], tangents: Tangents, result: Value, params: Params) -> Value | None:
    total = None
    for i, t in enumerate(tangents):
        if t is not None:
            part = apply(COFACTORS, (*operands, t) if i == 0 else (*operands[:i], t, *operands[i + 1 :]))
            total = part if total is None else total + part
    return total


def _cofactors_vjp(
    operands: Sequence[Value], active: Sequence[bool], ct: Value, result: Value, params: Params
) -> list[Value | None]:
    # The derivatives of det are symmetric in their directions, of which the cotangent is one.
    return [
        unbroadcast(apply(COFACTORS, (*operands[: max(i, 1)], *operands[i + 1 :], ct)), x.type.shape) if moves else None
        for i, (x, moves) in enumerate(zip(operands, active, strict=True))
    ]


def _cofactors_batch(xs: Sequence[Value], mapped: Sequence[bool], params: Params) -> Value:
    stacked = [x if m else apply(RESHAPE, (x,), ((1, *x.type.shape),)) for x, m in zip(xs, mapped, strict=True)]
    return apply(COFACTORS, tuple(stacked))


class _Lowering:
    """``_cofactors`` in StableHLO. A grid has an axis for each row i0, ..., ik behind the stack's."""

    def __init__(self, lo: Any, t: TensorType, count: int) -> None:
        *stack, n, _ = t.shape
        self.lo: Final = lo
        self.t: Final = t
        self.stack: Final = tuple(stack)
        self.count: Final = count
        self.line: Final = t.with_shape((*stack, n))
        self.grid: Final = t.with_shape((*stack, *(n,) * count))

    def cofactors(self, a: Any, directions: Sequence[Any]) -> Any:
        lo, t = self.lo, self.t
        u, vh = [lo.call_target(f"qb.{name}", [a], [t], t) for name in ("svd_u", "svd_vh")]
        ut, v = self.transposed(u), self.transposed(vh)
        turned = [lo.dot(lo.dot(ut, t, m, t, t), t, v, t, t) for m in directions]
        others = self.others(lo.call_target("qb.svd_s", [a], [t], self.line))
        inner = lo.full(t, 0.0)
        for sign, columns in _leibniz(self.count):
            term = self.term(others, turned, columns)
            inner = lo.add(t, inner, term) if sign > 0 else lo.sub(t, inner, term)
        number = t.with_shape(self.stack)
        handed = lo.mul(number, *[lo.call_target("qb.det_sign", [x], [t], number) for x in (u, vh)])
        return lo.mul(t, self.along(handed, t, ()), lo.dot(lo.dot(u, t, inner, t, t), t, vh, t, t))

    def transposed(self, x: Any) -> Any:
        n = len(self.stack)
        return self.lo.op("stablehlo.transpose", self.t, [x], permutation=(*range(n), n + 1, n))

    def along(self, x: Any, to: TensorType, axes: Sequence[int]) -> Any:
        """``x`` broadcast to ``to``, its axes behind the stack's being ``axes`` there."""
        places = (*range(len(self.stack)), *[len(self.stack) + i for i in axes])
        return self.lo.op("stablehlo.broadcast_in_dim", to, [x], broadcast_dimensions=places)

    def equal(self, to: TensorType, i: int, j: int) -> Any:
        """Where the indices along two axes behind the stack's are equal."""
        first, second = [self.lo.iota(to, len(self.stack) + k) for k in (i, j)]
        return self.lo.compare("EQ", first, second, to)

    def others(self, s: Any) -> Any:
        """The product of the singular values of all other rows; zero where rows are not all different."""
        lo, count, grid = self.lo, self.count, self.grid
        wide = grid.with_shape((*grid.shape, self.t.shape[-1]))
        factors = self.along(s, wide, (count,))
        for i in range(count):
            factors = lo.select(self.equal(wide, i, count), lo.full(wide, 1.0), factors, wide)
        found = lo.reduce("multiply", factors, wide, [wide.ndim - 1], grid)
        for i, j in combinations(range(count), 2):
            found = lo.select(self.equal(grid, i, j), lo.full(grid, 0.0), found, grid)
        return found

    def diagonal(self, x: Any) -> Any:
        lo, t = self.lo, self.t
        kept = lo.select(self.equal(t, 0, 1), x, lo.full(t, 0.0), t)
        return lo.reduce("add", kept, t, [t.ndim - 1], self.line)

    def term(self, others: Any, turned: Sequence[Any], columns: Sequence[int]) -> Any:
        """One term of Leibniz's formula, summed over all rows but those of the result."""
        lo, t, grid = self.lo, self.t, self.grid
        for i, m in enumerate(turned):
            j = columns[i]
            part = self.along(self.diagonal(m), grid, (i,)) if i == j else self.along(m, grid, (i, j))
            others = lo.mul(grid, others, part)
        row, column = self.count - 1, columns[-1]
        summed = [len(self.stack) + i for i in range(self.count) if i not in (row, column)]
        if row == column:
            line = lo.reduce("add", others, grid, summed, self.line) if summed else others
            return lo.select(self.equal(t, 0, 1), self.along(line, t, (0,)), lo.full(t, 0.0), t)
        return self.transposed(lo.reduce("add", others, grid, summed, t) if summed else others)


def _cofactors_stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    t = node.type
    operands = zip(xs, node.operands, strict=True)
    a, *directions = [lo.broadcast(x, o.type, t.shape) for x, o in operands]
    return _Lowering(lo, t, len(xs)).cofactors(a, directions)


COFACTORS: Final = define(
    Op(
        "cofactors",
        "Matrices of cofactors, the gradients of determinants; with more operands, their derivatives along those.",
        ("*operands",),
        infer=_infer_cofactors,
        kernel=_cofactors_kernel,
        may_alias=False,
        jvp=_cofactors_jvp,
        vjp=_cofactors_vjp,
        batch=_cofactors_batch,
        stablehlo=_cofactors_stablehlo,
        samples=(
            Sample(((3, 3),)),
            Sample(((2, 2, 2), (1, 2, 2))),
            Sample(((4, 4), (4, 4), (4, 4))),
        ),
        source="R. Bhatia, T. Jain, Higher order derivatives and perturbation bounds for determinants (2009)",
    )
)
