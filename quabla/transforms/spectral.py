"""Functions of symmetric matrices, and sums over their eigenvalues, with derivatives of every order.

With a = V diag(w) V^T, the k-th derivative of f(a) along e1, ..., ek is V X V^T, where X is the sum over the orders of
the directions of f[w_i0, ..., w_ik] (V^T e1 V)_i0i1 ... (V^T ek V)_i(k-1)ik over all inner indices. Only divided
differences of f are in there, so repeated eigenvalues are ordinary, although eigenvectors have no derivative at them.

Source: N. J. Higham, Functions of Matrices (2008), theorem 3.11; R. Bhatia, Matrix Analysis (1997), theorem V.3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from quabla.functions.items import take
from quabla.ops import reductions
from quabla.ops.dispatch import Value, apply
from quabla.ops.factorizations import EIGH_VALUES, EIGH_VECTORS
from quabla.ops.linalg import product, swapped
from quabla.ops.matrices import as_row, symmetric_part
from quabla.ops.rules import zeros
from quabla.ops.shaping import RESHAPE
from quabla.transforms.divided_differences import Scalar, differences, slope, tables
from quabla.transforms.towers import Tower

__all__ = ["MatrixFunction", "SpectralSum"]


class MatrixFunction(Tower):
    """V diag(f(w)) V^T for the symmetric parts of matrices.

    Args:
        f: the function of an eigenvalue.
    """

    def __init__(self, f: Scalar) -> None:
        self.f = f

    def program(self, subject: Value, directions: Sequence[Value], parameters: Sequence[Value]) -> list[Value]:
        if 0 in subject.type.shape:
            return [zeros(subject.type)]
        w, v = apply(EIGH_VALUES, (subject,)), apply(EIGH_VECTORS, (subject,))
        if not directions:
            return [product(v * as_row(self.f(w, parameters)), swapped(v))]
        order, (*stack, n) = len(directions), w.type.shape
        _, _, _, places = tables(n, order)
        found = take(differences(self.f, w, parameters, order), places, -1)
        found = apply(RESHAPE, (found,), ((*stack, *(n,) * (order + 1)),))
        turned = [product(swapped(v), product(symmetric_part(e), v)) for e in directions]
        total = None
        for chain in permutations(range(order)):
            if chain[0] <= chain[-1]:  # the others are the transposes of these
                part = _contracted(found, [turned[i] for i in chain])
                total = part if total is None else total + part
        if order > 1:
            total = total + swapped(total)
        return [product(v, product(total, swapped(v)))]


def _contracted(found: Value, chain: Sequence[Value]) -> Value:
    """The sum over the inner indices of divided differences times a chain of matrices."""
    for i, m in enumerate(chain):
        *stack, n, _ = m.type.shape
        rest = len(chain) - 1 - i
        if i == 0:
            found = found * apply(RESHAPE, (m,), ((*stack, n, n, *(1,) * rest),))
        else:
            found = found * apply(RESHAPE, (m,), ((*stack, 1, n, n, *(1,) * rest),))
            found = reductions.sum(found, len(stack) + 1)
    return found


class SpectralSum(Tower):
    """The sum of f over the eigenvalues of the symmetric parts of matrices.

    Its derivative along e is the inner product of f'(a) with e, so all that follow are those of a matrix function.
    """

    def __init__(self, f: Scalar) -> None:
        self.f = f
        self.gradient = MatrixFunction(slope(f))

    def program(self, subject: Value, directions: Sequence[Value], parameters: Sequence[Value]) -> list[Value]:
        if not directions:
            return [reductions.sum(self.f(apply(EIGH_VALUES, (subject,)), parameters), -1)]
        *others, last = directions
        (matrix,) = self.gradient.program(subject, others, parameters)
        return [reductions.sum(matrix * last, (-2, -1))]
