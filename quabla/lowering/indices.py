"""Row numbers that are integers all along.

A loop counts in integers, while the counter that its body sees is a float, because every value of a program is. What
a body computes from the counter to index with, such as ``n - 1 - i``, is followed here as a linear form in the
integer counters, so that the index of a row needs no conversion, and often no check either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quabla import dtypes
from quabla.ops.casting import CAST, CONSTANT
from quabla.ops.control import BARRIER
from quabla.ops.elementwise import ADD, MUL, NEG, SUB

if TYPE_CHECKING:
    from quabla.tracing.graph import TraceTensor

__all__ = ["Linear", "counter", "derived"]

#: Up to here a dtype holds every integer.
_EXACT: Final = {dtypes.float64: 2**53, dtypes.float32: 2**24, dtypes.int64: 2**63 - 1, dtypes.int32: 2**31 - 1}


class Linear(NamedTuple):
    """``constant + sum(factor * value)`` of 64-bit integers, between ``low`` and ``high``."""

    terms: tuple[tuple[Any, int], ...]
    constant: int
    low: int
    high: int

    def times(self, factor: int) -> Linear:
        """The form times a number."""
        ends = sorted((self.low * factor, self.high * factor))
        return Linear(tuple([(v, f * factor) for v, f in self.terms]), self.constant * factor, *ends)

    def plus(self, other: Linear) -> Linear:
        """The sum of two forms."""
        factors = dict(self.terms)
        for v, f in other.terms:
            factors[v] = factors.get(v, 0) + f
        terms = tuple([(v, f) for v, f in factors.items() if f])
        return Linear(terms, self.constant + other.constant, self.low + other.low, self.high + other.high)


def counter(value: Any, lower: int, upper: int) -> Linear:
    """The form of a loop's integer counter."""
    return Linear(((value, 1),), 0, lower, upper - 1)


def derived(node: TraceTensor, forms: Sequence[Linear | None]) -> Linear | None:
    """The form of a rank-0 node whose operands have these forms; None where it may not be an integer."""
    op = node.op
    if op not in (ADD, SUB, MUL, NEG, CAST, BARRIER):
        return None
    known = [_number(x) if f is None else f for x, f in zip(node.operands, forms, strict=True)]
    a, b = known[0], known[-1]
    if a is None or b is None:
        return None
    if op is ADD:
        found = a.plus(b)
    elif op is SUB:
        found = a.plus(b.times(-1))
    elif op is MUL:
        if a.terms and b.terms:
            return None
        found = a.times(b.constant) if a.terms else b.times(a.constant)
    else:
        found = a.times(-1) if op is NEG else a
    exact = _EXACT.get(node.type.dtype, 0)
    return found if -exact <= found.low and found.high <= exact else None


def _number(x: TraceTensor) -> Linear | None:
    """The form of a constant that is an integer."""
    n = x.splat if x.op is CONSTANT else None
    return Linear((), int(n), int(n), int(n)) if n is not None and float(n).is_integer() else None
