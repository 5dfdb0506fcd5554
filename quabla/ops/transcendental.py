"""Transcendental ops: trigonometric, hyperbolic, exponential and logarithmic functions, their inverses, erf and erfc.

Derivatives keep their relative accuracy in the tails, and so do theirs: ``tanh`` has the derivative ``sech2``, not
``1 - tanh**2``, which is 0 from 19 on; ``arcsin`` has ``1 / sqrt((1 - x) (1 + x))``, not ``1 / sqrt(1 - x**2)``.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from quabla.ops import elementwise, error_functions
from quabla.ops.decompositions import ARRAYS, Arithmetic, Number, Term, arithmetic_of, decomposed, select
from quabla.ops.dispatch import Value
from quabla.ops.elementwise import cbrt, hypot, powi, rsqrt, sqrt
from quabla.ops.into import formula
from quabla.ops.records import INF, NAN, unary_function, unary_op
from quabla.ops.registry import Op
from quabla.ops.selection import choose, test
from quabla.ops.shaping import stop_gradient

__all__ = [
    "ARCCOS",
    "ARCCOSH",
    "ARCSIN",
    "ARCSINH",
    "ARCTAN",
    "ARCTANH",
    "BELL",
    "COS",
    "COSH",
    "ERF",
    "ERFC",
    "EXP",
    "EXPM1",
    "LOG",
    "LOG1P",
    "LOG2",
    "LOG10",
    "LOGISTIC",
    "NORMAL_CDF",
    "SECH2",
    "SIN",
    "SINH",
    "SOFTPLUS",
    "TAN",
    "TANH",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "bell",
    "cbrt",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "normal_cdf",
    "sech2",
    "sigmoid",
    "sin",
    "sinh",
    "softplus",
    "sqrt",
    "tan",
    "tanh",
]  # fmt: skip

_PI: Final = math.pi
_LN2: Final = math.log(2.0)

#: Signed zeros that stay as they are.
_ODD: Final = ((0.0, 0.0), (-0.0, -0.0))


# ---- trigonometric ------------------------------------------------------------------------------


def _one_minus_square(x: Value) -> Value:
    """``(1 - x) (1 + x)``, which keeps its digits near 1, with the derivative of ``1 - x**2``.

    The derivative of the product is a sum of terms with both signs, infinite and undefined at 1 where it is divided by.
    """
    plain = 1.0 - powi(x, 2)
    return plain + stop_gradient((1.0 - x) * (1.0 + x) - plain)


def _arcsin_slope(x: Value, r: Value) -> Value:
    return rsqrt(_one_minus_square(x))


def _arctan_slope(x: Value, r: Value) -> Value:
    c = 1.0 / hypot(1.0, x)  # 1 + x**2 overflows long before its reciprocal and the derivatives of that underflow
    return c * c


SIN: Final = unary_op(
    "sin", "The sine of an angle in radians.", np.sin, lambda x, r: cos(x), "stablehlo.sine",
    ulps=1.0, special=(*_ODD, (INF, NAN), (-INF, NAN)),
)  # fmt: skip
COS: Final = unary_op(
    "cos", "The cosine of an angle in radians.", np.cos, lambda x, r: -sin(x), "stablehlo.cosine",
    ulps=1.0, special=((0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN)),
)  # fmt: skip
TAN: Final = unary_op(
    "tan", "The tangent of an angle in radians.", np.tan, lambda x, r: 1.0 + r * r, "stablehlo.tan",
    ulps=1.0, special=(*_ODD, (INF, NAN), (-INF, NAN)),
)  # fmt: skip
ARCSIN: Final = unary_op(
    "arcsin", "The angle from -pi/2 to pi/2 with this sine.", np.arcsin, _arcsin_slope,
    decomposed("arcsin", lambda x: x.atan2(((1.0 - x) * (1.0 + x)).sqrt())),
    domain=(-1.0, 1.0), ulps=1.0, special=(*_ODD, (1.0, _PI / 2), (-1.0, -_PI / 2), (1.5, NAN), (INF, NAN)),
)  # fmt: skip
ARCCOS: Final = unary_op(
    "arccos", "The angle from 0 to pi with this cosine.", np.arccos, lambda x, r: -_arcsin_slope(x, r),
    decomposed("arccos", lambda x: ((1.0 - x) * (1.0 + x)).sqrt().atan2(x)),
    domain=(-1.0, 1.0), ulps=1.0, special=((1.0, 0.0), (0.0, _PI / 2), (-1.0, _PI), (1.5, NAN), (-INF, NAN)),
)  # fmt: skip
ARCTAN: Final = unary_op(
    "arctan", "The angle from -pi/2 to pi/2 with this tangent.", np.arctan, _arctan_slope,
    decomposed("arctan", lambda x: x.atan2(1.0)),
    ulps=1.0, special=(*_ODD, (INF, _PI / 2), (-INF, -_PI / 2)),
)  # fmt: skip


# ---- hyperbolic ---------------------------------------------------------------------------------

#: exp does not overflow below; sinh and cosh reach a little further.
_EXP_OVERFLOWS: Final = {"f64": 709.0, "f32": 88.0}


def _far(a: Term, near: Term) -> Term:
    """``near``, but ``exp(a) / 2`` without overflow where ``exp(a)`` does."""
    limit = _EXP_OVERFLOWS[a.type.dtype.mlir]
    return select(a > limit, (a - limit).exp() * (0.5 * math.exp(limit)), near)


def _sinh_formula(x: Term) -> Term:
    a = abs(x)
    e = a.expm1()
    return x.sign() * _far(a, 0.5 * (e + e / (e + 1.0)))


def _cosh_formula(x: Term) -> Term:
    a = abs(x)
    e = a.exp()
    return _far(a, 0.5 * e + 0.5 / e)


def _sech2(x: Number, m: Arithmetic) -> Number:
    """``4 e / (1 + e)**2`` for ``e = exp(-2 |x|)``, in two forms that keep the rounding errors small."""
    e = m.exp(-2.0 * abs(x))
    t = (1.0 - e) / (1.0 + e)
    s = e * (2.0 + e)
    return m.where(e > 0.37, 1.0 - t * t, 4.0 * e - 4.0 * e * (s / (1.0 + s)))


def _arcsinh_formula(x: Term) -> Term:
    a = abs(x)
    near = (a + a * a / (1.0 + (1.0 + a * a).sqrt())).log1p()
    return x.sign() * select(a > 1e8, a.log() + _LN2, near)


def _arccosh_formula(x: Term) -> Term:
    t = x - 1.0
    near = (t + t.sqrt() * (t + 2.0).sqrt()).log1p()
    return select(x > 1e8, x.log() + _LN2, near)


def _arctanh_formula(x: Term) -> Term:
    a = abs(x)
    return x.sign() * (0.5 * (2.0 * a / (1.0 - a)).log1p())


def _inverse_radius(x: Value, r: Value) -> Value:
    return 1.0 / hypot(1.0, x)


SINH: Final = unary_op(
    "sinh", "The hyperbolic sine.", np.sinh, lambda x, r: cosh(x), decomposed("sinh", _sinh_formula),
    special=(*_ODD, (INF, INF), (-INF, -INF)),
)  # fmt: skip
COSH: Final = unary_op(
    "cosh", "The hyperbolic cosine.", np.cosh, lambda x, r: sinh(x), decomposed("cosh", _cosh_formula),
    special=((0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF)),
)  # fmt: skip
TANH: Final = unary_op(
    "tanh", "The hyperbolic tangent.", np.tanh, lambda x, r: sech2(x), "stablehlo.tanh",
    special=(*_ODD, (INF, 1.0), (-INF, -1.0)),
)  # fmt: skip
SECH2: Final = unary_op(
    "sech2", "1 over the square of the hyperbolic cosine: the derivative of tanh.",
    formula(lambda x: _sech2(x, ARRAYS)), lambda x, r: -2.0 * tanh(x) * r,
    decomposed("sech2", lambda x: _sech2(x, arithmetic_of(x))),
    special=((0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 0.0), (20.0, 1.6993417021166356e-17)),
)  # fmt: skip
ARCSINH: Final = unary_op(
    "arcsinh", "The number with this hyperbolic sine.", np.arcsinh, _inverse_radius,
    decomposed("arcsinh", _arcsinh_formula), special=(*_ODD, (INF, INF), (-INF, -INF)),
)  # fmt: skip
ARCCOSH: Final = unary_op(
    "arccosh", "The non-negative number with this hyperbolic cosine.", np.arccosh,
    lambda x, r: rsqrt(x - 1.0) * rsqrt(x + 1.0), decomposed("arccosh", _arccosh_formula), lo=1.2, hi=3.0,
    domain=(1.0, INF), special=((1.0, 0.0), (0.5, NAN), (-2.0, NAN), (INF, INF), (-INF, NAN)),
)  # fmt: skip
ARCTANH: Final = unary_op(
    "arctanh", "The number with this hyperbolic tangent.", np.arctanh, lambda x, r: 1.0 / _one_minus_square(x),
    decomposed("arctanh", _arctanh_formula), domain=(-1.0, 1.0), special=(*_ODD, (1.0, INF), (-1.0, -INF), (1.5, NAN), (-INF, NAN)),
)  # fmt: skip


# ---- exponentials -------------------------------------------------------------------------------


@formula
def _logistic_kernel(x: Any) -> Any:
    e = np.exp(-np.abs(x))
    q = e / (1.0 + e)  # a correction on either side, so that its rounding errors count less
    return np.where(x < 0.0, e - e * q, 1.0 - q)


@formula
def _softplus_kernel(x: Any) -> Any:
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


EXP: Final = unary_op(
    "exp", "The exponential function.", np.exp, lambda x, r: r, "stablehlo.exponential",
    ulps=1.0, special=((0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1.0, math.e)),
)  # fmt: skip
EXPM1: Final = unary_op(
    "expm1", "exp(x) - 1, accurate near 0.", np.expm1, lambda x, r: exp(x), "stablehlo.exponential_minus_one",
    special=(*_ODD, (INF, INF), (-INF, -1.0)),
)  # fmt: skip
LOGISTIC: Final = unary_op(
    "logistic", "The logistic sigmoid, 1 / (1 + exp(-x)).", _logistic_kernel, lambda x, r: 0.25 * sech2(0.5 * x),
    "stablehlo.logistic", special=((0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0)),
)  # fmt: skip
SOFTPLUS: Final = unary_op(
    "softplus", "log(1 + exp(x)), without overflow.", _softplus_kernel, lambda x, r: sigmoid(x),
    decomposed("softplus", lambda x: x.maximum(0.0) + (-abs(x)).exp().log1p()),
    special=((0.0, _LN2), (-0.0, _LN2), (INF, INF), (-INF, 0.0), (1000.0, 1000.0)),
)  # fmt: skip


# ---- logarithms ---------------------------------------------------------------------------------


def _log_in_base(name: str, base: float, scale: float, kernel: Any) -> Op:
    """A logarithm that is exact at the integer powers of its base; ``scale`` is that of e."""

    def formula(x: Term) -> Term:
        y = x.log() * scale
        n = y.round()
        return select(x.of(base).apply("power", n).eq(x), n, y)

    return unary_op(
        name, f"The logarithm in base {base:g}.", kernel, lambda x, r: scale / x, decomposed(name, formula),
        domain=(0.0, INF),
        special=((1.0, 0.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (-INF, NAN), (INF, INF), (base**3, 3.0)),
    )  # fmt: skip


LOG: Final = unary_op(
    "log", "The natural logarithm.", np.log, lambda x, r: 1.0 / x, "stablehlo.log",
    domain=(0.0, INF), ulps=1.0, special=((1.0, 0.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (-INF, NAN), (INF, INF)),
)  # fmt: skip
LOG1P: Final = unary_op(
    "log1p", "log(1 + x), accurate near 0.", np.log1p, lambda x, r: 1.0 / (1.0 + x), "stablehlo.log_plus_one",
    domain=(-1.0, INF), special=(*_ODD, (-1.0, -INF), (-1.5, NAN), (-INF, NAN), (INF, INF)),
)  # fmt: skip
LOG2: Final = _log_in_base("log2", 2.0, math.log2(math.e), np.log2)
LOG10: Final = _log_in_base("log10", 10.0, math.log10(math.e), np.log10)


# ---- error functions ----------------------------------------------------------------------------

_TWO_OVER_SQRT_PI: Final = 2.0 / math.sqrt(_PI)
_ONE_OVER_SQRT_TWO_PI: Final = 1.0 / math.sqrt(2.0 * _PI)

#: bell is 0 in every dtype from here on, and so is its product by any power of a number.
_BELL_ENDS: Final = 42.0


def _bell_slope(x: Value, r: Value) -> Value:
    """``-x bell(x)``, with a factor that does not grow where the other one is 0."""
    return -choose(test(elementwise.abs(x), "greater", _BELL_ENDS), 0.0, x) * r


def _gaussian(x: Value) -> Value:
    """``2 / sqrt(pi) exp(-x**2)``, where rounding the exponent would cost ``x**2`` units in the last place."""
    b = bell(x)
    return _TWO_OVER_SQRT_PI * (b * b)


ERF: Final = unary_op(
    "erf", "The error function.", error_functions.kernel(error_functions.erf), lambda x, r: _gaussian(x),
    error_functions.lowering("erf", error_functions.erf), special=(*_ODD, (INF, 1.0), (-INF, -1.0)),
)  # fmt: skip
ERFC: Final = unary_op(
    "erfc", "The complementary error function, 1 - erf(x).", error_functions.kernel(error_functions.erfc),
    lambda x, r: -_gaussian(x), error_functions.lowering("erfc", error_functions.erfc),
    special=((0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 2.0)),
)  # fmt: skip
NORMAL_CDF: Final = unary_op(
    "normal_cdf", "The standard normal distribution function, erfc(-x / sqrt(2)) / 2.",
    error_functions.kernel(error_functions.normal_cdf), lambda x, r: _ONE_OVER_SQRT_TWO_PI * bell(x),
    error_functions.lowering("normal_cdf", error_functions.normal_cdf),
    special=((0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0)),
)  # fmt: skip
BELL: Final = unary_op(
    "bell", "exp(-x**2 / 2): the derivative of normal_cdf but for a factor.",
    error_functions.kernel(error_functions.bell), _bell_slope, error_functions.lowering("bell", error_functions.bell),
    special=((0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 0.0)),
)  # fmt: skip


# ---- public functions ---------------------------------------------------------------------------

sin: Final = unary_function(SIN, (0.5, "0.47942554"))
cos: Final = unary_function(COS, (0.5, "0.87758256"))
tan: Final = unary_function(TAN, (0.5, "0.54630249"))
arcsin: Final = unary_function(ARCSIN, (0.5, "0.52359878"))
arccos: Final = unary_function(ARCCOS, (0.5, "1.04719755"))
arctan: Final = unary_function(ARCTAN, (0.5, "0.46364761"))
sinh: Final = unary_function(SINH, (0.5, "0.52109531"))
cosh: Final = unary_function(COSH, (0.5, "1.12762597"))
tanh: Final = unary_function(TANH, (0.5, "0.46211716"))
sech2: Final = unary_function(SECH2)
arcsinh: Final = unary_function(ARCSINH, (0.5, "0.48121183"))
arccosh: Final = unary_function(ARCCOSH, (2.0, "1.3169579"))
arctanh: Final = unary_function(ARCTANH, (0.5, "0.54930614"))
exp: Final = unary_function(EXP, (0.5, "1.64872127"))
expm1: Final = unary_function(EXPM1, (0.5, "0.64872127"))
sigmoid: Final = unary_function(LOGISTIC, (0.5, "0.62245933"), "sigmoid")
softplus: Final = unary_function(SOFTPLUS, (0.5, "0.97407698"))
log: Final = unary_function(LOG, (10.0, "2.30258509"))
log1p: Final = unary_function(LOG1P, (0.5, "0.40546511"))
log2: Final = unary_function(LOG2, (8.0, "3."))
log10: Final = unary_function(LOG10, (1000.0, "3."))
erf: Final = unary_function(ERF, (0.5, "0.52049988"))
erfc: Final = unary_function(ERFC, (0.5, "0.47950012"))
normal_cdf: Final = unary_function(NORMAL_CDF)
bell: Final = unary_function(BELL)
