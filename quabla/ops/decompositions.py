"""Formulas over StableHLO ops, for functions that StableHLO lacks.

A formula works on ``Term`` values, which take Python's operators, and is written once as the private function of a
``stablehlo.composite``. It holds over the whole range of the dtype: no step overflows or cancels where the result
does not, and infinities, NaN and signed zeros come out as C99 Annex F has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from quabla.ops.types import TensorType

__all__ = ["Term", "decomposed", "erf_formula", "erfc_formula", "select"]

Predicate = Any  # an MLIR value of i1 elements


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

    def poly(self, *coefficients: float) -> Term:
        """The polynomial with these coefficients, that of the constant term first."""
        return Term(self.lo, self.type, self.lo.poly(self.type, self.value, coefficients[::-1]))

    def maximum(self, other: Term | float) -> Term:
        return self.apply("maximum", other)

    def minimum(self, other: Term | float) -> Term:
        return self.apply("minimum", other)

    def atan2(self, x: Term | float) -> Term:
        return self.apply("atan2", x)

    def abs(self) -> Term:
        return self.apply("abs")

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

    def lt(self, other: Term | float) -> Predicate:
        return self._compare("LT", other)

    def gt(self, other: Term | float) -> Predicate:
        return self._compare("GT", other)

    def _compare(self, direction: str, other: Term | float) -> Predicate:
        return self.lo.compare(direction, self.value, self.of(other).value, self.type)


def select(predicate: Predicate, a: Term | float, b: Term | float) -> Term:
    """``a`` where the predicate holds, else ``b``; at least one is a term."""
    like = a if isinstance(a, Term) else b
    assert isinstance(like, Term)
    return Term(like.lo, like.type, like.lo.select(predicate, like.of(a).value, like.of(b).value, like.type))


def decomposed(name: str, formula: Callable[..., Term]) -> Callable[..., Any]:
    """The StableHLO rule of an elementwise op: a composite ``qb.<name>`` that means ``formula``."""

    def rule(lo: Any, xs: Sequence[Any], node: Any) -> Any:
        type = node.type
        values = [lo.broadcast(x, a.type, type.shape) for x, a in zip(xs, node.operands, strict=True)]
        return lo.composite(
            name, type, values, [type] * len(values), lambda lo, args: formula(*[Term(lo, type, a) for a in args]).value
        )

    return rule


# ---- error functions ----------------------------------------------------------------------------
#
# Rational approximations on four intervals, from W. J. Cody, "Rational Chebyshev approximations for the error
# function", Math. Comp. 23 (1969), with the coefficients of FreeBSD's s_erf.c (Sun Microsystems, 1993).

_ERF_ONE = 8.45062911510467529297e-01


def _quotient(x: Term, numerator: Sequence[float], denominator: Sequence[float]) -> Term:
    return x.poly(*numerator) / x.poly(*denominator)


def _erf_near(x: Term) -> Term:
    """``erf(x) / x - 1`` for ``|x| < 0.84375``."""
    return _quotient(
        x * x,
        (
            1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02,
            -5.77027029648944159157e-03, -2.37630166566501626084e-05,
        ),
        (
            1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
            1.32494738004321644526e-04, -3.96022827877536812320e-06,
        ),
    )  # fmt: skip


def _erf_at_one(a: Term) -> Term:
    """``erf(a)`` less the constant ``_ERF_ONE``, for ``a`` from 0.84375 to 1.25."""
    return _quotient(
        a - 1.0,
        (
            -2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01,
            3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02,
            -2.16637559486879084300e-03,
        ),
        (
            1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02,
            1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02,
        ),
    )  # fmt: skip


def _erfc_far(a: Term) -> Term:
    """``erfc(a)`` for ``a`` from 1.25 on."""
    a = a.minimum(30.0)
    s = 1.0 / (a * a)
    nearer = _quotient(
        s,
        (
            -9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e01,
            -6.23753324503260060396e01, -1.62396669462573470355e02, -1.84605092906711035994e02,
            -8.12874355063065934246e01, -9.81432934416914548592e00,
        ),
        (
            1.0, 1.96512716674392571292e01, 1.37657754143519042600e02, 4.34565877475229228821e02,
            6.45387271733267880336e02, 4.29008140027567833386e02, 1.08635005541779435134e02,
            6.57024977031928170135e00, -6.04244152148580987438e-02,
        ),
    )  # fmt: skip
    farther = _quotient(
        s,
        (
            -9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e01,
            -1.60636384855821916062e02, -6.37566443368389627722e02, -1.02509513161107724954e03,
            -4.83519191608651397019e02,
        ),
        (
            1.0, 3.03380607434824582924e01, 3.25792512996573918826e02, 1.53672958608443695994e03,
            3.19985821950859553908e03, 2.55305040643316442583e03, 4.74528541206955367215e02,
            -2.24409524465858183362e01,
        ),
    )  # fmt: skip
    # A few leading bits of a, so that their square is exact and the exponential loses no digits.
    bits = 2.0**20 if a.type.dtype.mlir == "f64" else 2.0**7
    short = (a * bits).round() * (1.0 / bits)
    correction = (short - a) * (short + a) + select(a.lt(1.0 / 0.35), nearer, farther)
    return (-0.5625 - short * short).exp() * correction.exp() / a


def erf_formula(x: Term) -> Term:
    """The error function."""
    a = x.abs()
    far = x.sign() * select(a.lt(1.25), _ERF_ONE + _erf_at_one(a), 1.0 - _erfc_far(a))
    return select(a.lt(0.84375), x + x * _erf_near(x), far)


def erfc_formula(x: Term) -> Term:
    """The complementary error function."""
    a = x.abs()
    y = x * _erf_near(x)
    near = select(x.lt(0.25), 1.0 - (x + y), 0.5 - (y + (x - 0.5)))
    p = _erf_at_one(a)
    tail = _erfc_far(a)
    right = select(a.lt(1.25), (1.0 - _ERF_ONE) - p, tail)
    left = select(a.lt(1.25), (1.0 + _ERF_ONE) + p, 2.0 - tail)
    return select(a.lt(0.84375), near, select(x.lt(0.0), left, right))
