"""Formulas over StableHLO ops, for functions that StableHLO lacks.

A formula works on ``Term`` values, which take Python's operators, and is written once as the private function of a
``stablehlo.composite``. It holds over the whole range of the dtype: no step overflows or cancels where the result
does not, and infinities, NaN and signed zeros come out as C99 Annex F has them. One that serves NumPy arrays or Python
floats too takes what it needs beyond the operators from an ``Arithmetic``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from quabla.ops.types import TensorType

__all__ = ["ARRAYS", "Arithmetic", "Number", "Term", "arithmetic_of", "decomposed", "select"]

Predicate = Any  # an MLIR value of i1 elements
Number = Any  # a float, a NumPy array or a Term


class Term:
    """A StableHLO value with arithmetic. A Python number next to it becomes a constant of its type.

    Attributes:
        lo: the builder that the arithmetic writes to.
        type: the type of the value, and of every term computed from it.
        value: the MLIR value.
    """

    __slots__ = ("lo", "type", "value")

    def __init__(self, lo: Any, type: TensorType, value: Any) -> None:
        self.lo = lo
        self.type = type
        self.value = value

    def of(self, other: Term | float) -> Term:
        """``other`` as a term."""
        return other if isinstance(other, Term) else Term(self.lo, self.type, self.lo.full(self.type, other))

    def apply(self, name: str, *others: Term | float) -> Term:
        """The result of a StableHLO op on this term and others."""
        values = [self.value, *(self.of(x).value for x in others)]
        return Term(self.lo, self.type, self.lo.op("stablehlo." + name, self.type, values))

    def __add__(self, other: Term | float) -> Term:
        return self.apply("add", other)

    def __radd__(self, other: float) -> Term:
        return self.of(other) + self

    def __sub__(self, other: Term | float) -> Term:
        return self.apply("subtract", other)

    def __rsub__(self, other: float) -> Term:
        return self.of(other) - self

    def __mul__(self, other: Term | float) -> Term:
        return self.apply("multiply", other)

    def __rmul__(self, other: float) -> Term:
        return self.of(other) * self

    def __truediv__(self, other: Term | float) -> Term:
        return self.apply("divide", other)

    def __rtruediv__(self, other: float) -> Term:
        return self.of(other) / self

    def __neg__(self) -> Term:
        return self.apply("negate")

    def __abs__(self) -> Term:
        return self.apply("abs")

    def __lt__(self, other: Term | float) -> Predicate:
        return self._compare("LT", other)

    def __gt__(self, other: Term | float) -> Predicate:
        return self._compare("GT", other)

    def maximum(self, other: Term | float) -> Term:
        return self.apply("maximum", other)

    def minimum(self, other: Term | float) -> Term:
        return self.apply("minimum", other)

    def atan2(self, x: Term | float) -> Term:
        return self.apply("atan2", x)

    def sign(self) -> Term:
        return self.apply("sign")

    def sqrt(self) -> Term:
        return self.apply("sqrt")

    def exp(self) -> Term:
        return self.apply("exponential")

    def expm1(self) -> Term:
        return self.apply("exponential_minus_one")

    def log(self) -> Term:
        return self.apply("log")

    def log1p(self) -> Term:
        return self.apply("log_plus_one")

    def round(self) -> Term:
        return self.apply("round_nearest_even")

    def eq(self, other: Term | float) -> Predicate:
        return self._compare("EQ", other)

    def _compare(self, direction: str, other: Term | float) -> Predicate:
        return self.lo.compare(direction, self.value, self.of(other).value, self.type)


def select(predicate: Predicate, a: Term | float, b: Term | float) -> Term:
    """``a`` where the predicate holds, else ``b``; at least one is a term."""
    like = a if isinstance(a, Term) else b
    assert isinstance(like, Term)
    return Term(like.lo, like.type, like.lo.select(predicate, like.of(a).value, like.of(b).value, like.type))


class Arithmetic(NamedTuple):
    """What formulas need of a kind of number beyond ``+ - * /``, comparison and ``abs``.

    Attributes:
        digits: the binary digits of a number.
    """

    exp: Callable[[Number], Number]
    expm1: Callable[[Number], Number]
    minimum: Callable[[Number, float], Number]
    where: Callable[[Any, Number, Number], Number]
    digits: int = 53


ARRAYS: Final = Arithmetic(np.exp, np.expm1, np.minimum, np.where)


def arithmetic_of(x: Term) -> Arithmetic:
    """The arithmetic of terms."""
    return Arithmetic(Term.exp, Term.expm1, Term.minimum, select, 53 if x.type.dtype.mlir == "f64" else 24)


def decomposed(name: str, formula: Callable[..., Term]) -> Callable[..., Any]:
    """The StableHLO rule of an elementwise op: a composite ``qb.<name>`` that means ``formula``."""

    def rule(lo: Any, xs: Sequence[Any], node: Any) -> Any:
        type = node.type
        values = [lo.broadcast(x, a.type, type.shape) for x, a in zip(xs, node.operands, strict=True)]
        return lo.composite(
            name, type, values, [type] * len(values), lambda lo, args: formula(*[Term(lo, type, a) for a in args]).value
        )

    return rule
