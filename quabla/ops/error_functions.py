"""The error functions and the normal distribution, accurate to two units in the last place.

NumPy has none, and SciPy's err by up to ten units. One formula serves Python floats, NumPy arrays and StableHLO.

Near the origin ``erf(x) / x`` is a rational function of the square of x, and around 1 so is the slope of the chord of
erfc. Beyond, ``erfc(x) = exp(-x**2 - c + R(1 / x**2)) / x``, a form of W. J. Cody, "Rational Chebyshev approximations for
the error function", Math. Comp. 23 (1969), with a constant c that keeps R small. ``tools/error_functions.py`` computes
the coefficients.

The normal distribution function of x is ``erfc(-x / sqrt(2)) / 2``, but rounding that argument would cost x**2 / 2 units:
the quotient carries its rounding error along, and the tail is computed from the square of x itself.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from quabla.ops.decompositions import ARRAYS, Arithmetic, Number, Term, arithmetic_of, decomposed, select
from quabla.ops.registry import Kernel

__all__ = ["bell", "erf", "erfc", "kernel", "lowering", "normal_cdf"]

#: ``(x, |x|) -> value``.
Piece = Callable[[Number, Number], Number]
#: Pieces of a function, each with the bound that ``|x|`` is below; the last one holds for NaN too.
Pieces = Sequence[tuple[float, Piece]]


# ---- rational approximations --------------------------------------------------------------------

#: erf(x) / x - 1 as a function of x**2, for |x| < 0.75.
_NEAR: Final = (
    (
        0.1283791670955126, -0.3253680011121572, -0.02765571363292617, -0.005699545468103034,
        -1.1203703476604325e-05,
    ),
    (
        1.0, 0.39537869786860763, 0.06401920010002311, 0.004924686571810172, 0.00012183946372633183,
        -4.1312681164756e-06,
    ),
)  # fmt: skip
#: (erfc(1) - erfc(1 + s)) / s as a function of s, from -1/4 to 1/8.
_CHORD: Final = (
    (
        0.4151074974205947, -0.1620338381109016, 0.13463999160552348, -0.002859481319785938, 0.009716529058277598,
        -0.00226651982611476, 0.0007090092613488231,
    ),
    (
        1.0, 0.6096581268279867, 0.6006744919273547, 0.2238999175541159, 0.11213932562504082, 0.022432101914989098,
        0.006274186998405138,
    ),
)  # fmt: skip
#: log(erfc(x) exp(x**2) x) + 11/16 as a function of 1 / x**2, for x from 1.125 to 2.5.
_FAR: Final = (
    (
        0.1151350525895668, 1.6582452126286131, 5.831152145163785, -7.885101425310219, -72.3632798928458,
        -119.30268893840305, -70.76843337671185, -14.157591454605834, -0.6258077201465034,
    ),
    (
        1.0, 18.74533210960466, 126.62373019444914, 393.0366035138005, 594.1246572933683, 428.5362131143048,
        134.56326561226402, 14.879370535418625, 0.3288182781594567,
    ),
)  # fmt: skip
#: The same with 9/16, for x from 2.5 to 28.
_FARTHER: Final = (
    (
        -0.009864942924700198, -0.8116941920858285, -18.74789084289678, -181.72165967214949, -812.9987607868392,
        -1629.2937373171346, -1250.5160934790672, -235.2553371868909,
    ),
    (
        1.0, 31.596147536294453, 362.3758497127956, 1899.6217727743274, 4711.398490704064, 5165.933628896951,
        2045.6175168820482, 165.27797700668688,
    ),
)  # fmt: skip

#: erfc(1), and what that double lacks.
_ERFC_ONE: Final = (0.15729920705028513, -2.954563826510312e-18)
#: erfc is 0 in every dtype from here on.
_END: Final = 30.0
#: So is ``erfc(x / sqrt(2)) / 2``.
_END_HALVED: Final = 42.0
#: erf is 1 in every dtype from here on.
_ONE: Final = 6.0
#: Keep what is small beside the result a normal number.
_UP: Final = 2.0**64
_DOWN: Final = 2.0**-64


def _polynomial(x: Number, coefficients: Sequence[float]) -> Number:
    r = coefficients[-1]
    for c in coefficients[-2::-1]:
        r = r * x + c
    return r


def _rational(x: Number, table: tuple[Sequence[float], Sequence[float]]) -> Number:
    return _polynomial(x, table[0]) / _polynomial(x, table[1])


def _excess(x: Number) -> Number:
    """``erf(x) - x`` for ``|x| < 0.75``."""
    return x * _rational(x * x, _NEAR)


def _around_one(a: Number, low: Number = 0.0) -> Number:
    """``erfc(a + low)`` for ``a`` from 0.75 to 1.125."""
    s = (a - 1.0) + low
    return _ERFC_ONE[0] - (s * _rational(s, _CHORD) - _ERFC_ONE[1])


def _split(a: Number, m: Arithmetic) -> tuple[Number, Number]:
    """The leading bits of ``a``, so many that their square is exact, and the others; ``a`` is below 64."""
    shift = 1.5 * 2.0 ** (32 if m.digits == 53 else 16)  # adding and subtracting it rounds the others away
    lead = (a + shift) - shift
    return lead, a - lead


def _tail(a: Number, m: Arithmetic, *, halved: bool = False) -> Number:
    """``erfc(a)`` from 1.125 on; halved, ``erfc(a / sqrt(2)) / 2`` from 1.59 on."""
    a = m.minimum(a, _END_HALVED if halved else _END)
    lead, rest = _split(a, m)
    square, other, t = lead * lead, lead + a, 1.0 / (a * a)
    shift = 0.0
    if halved:  # the factor 1 / sqrt(2) is divided between the exponents
        square, other, t, shift = 0.5 * square, 0.5 * other, 2.0 * t, 0.34375
    nearer = a < (2.5 * math.sqrt(2.0) if halved else 2.5)
    e = m.exp(m.where(nearer, (-0.6875 - shift) - square, (-0.5625 - shift) - square)) * _UP
    r = m.where(nearer, _rational(t, _FAR), _rational(t, _FARTHER)) - rest * other
    if halved:
        r = r + (shift - 0.5 * math.log(2.0))
    # The rounding error of the quotient would be one too many: it is measured with the quotient in two halves, whose
    # products by the leading bits are exact (T. J. Dekker, Numer. Math. 18, 1971).
    q = e / a
    split = q * (2.0 ** ((m.digits + 1) // 2) + 1.0)
    high = split - (split - q)
    low = q - high
    missed = ((e - high * lead) - low * lead) - q * rest
    return (q + (q * m.expm1(r) + missed / a)) * _DOWN


def _tail_beside_one(a: Number, m: Arithmetic) -> Number:
    """``erfc(a)`` from 1.125 on, to the accuracy that ``1 - erfc(a)`` needs: there it is at most an eighth of that."""
    a = m.minimum(a, _ONE)
    nearer, square = a < 2.5, a * a
    t = 1.0 / square
    r = m.where(nearer, _rational(t, _FAR) - 0.6875, _rational(t, _FARTHER) - 0.5625)
    return m.exp(r - square) / a


# ---- the functions ------------------------------------------------------------------------------


def erf(m: Arithmetic) -> Pieces:
    """The error function."""

    def outer(x: Number, complement: Number) -> Number:
        r = 1.0 - complement
        return m.where(x < 0.0, -r, r)

    return (
        (0.75, lambda x, a: x + _excess(x)),
        (1.125, lambda x, a: outer(x, _around_one(a))),
        (math.inf, lambda x, a: outer(x, _tail_beside_one(a, m))),
    )


def erfc(m: Arithmetic) -> Pieces:
    """The complementary error function."""

    def near(x: Number, a: Number) -> Number:
        y = _excess(x)
        return m.where(x < 0.25, 1.0 - (x + y), 0.5 - (y + (x - 0.5)))

    def outer(x: Number, r: Number) -> Number:
        return m.where(x < 0.0, 2.0 - r, r)

    return (
        (0.75, near),
        (1.125, lambda x, a: outer(x, _around_one(a))),
        (math.inf, lambda x, a: outer(x, _tail(a, m))),
    )


_ROOT: Final = math.sqrt(0.5)
#: What that double lacks, and its leading 26 bits.
_ROOT_LOW: Final = -4.833646656726457e-17
_ROOT_LEAD: Final = math.ldexp(round(math.ldexp(_ROOT, 26)), -26)


def _over_root_two(x: Number, m: Arithmetic) -> tuple[Number, Number]:
    """``x / sqrt(2)`` rounded, and its rounding error."""
    high = x * _ROOT
    lead, rest = _split(x, m)
    missed = (lead * _ROOT_LEAD - high) + (rest * _ROOT_LEAD + x * (_ROOT - _ROOT_LEAD))
    return high, missed + x * _ROOT_LOW


def normal_cdf(m: Arithmetic) -> Pieces:
    """The standard normal distribution function."""

    def near(x: Number, a: Number) -> Number:
        y, low = _over_root_two(x, m)
        y_excess = _excess(y) + low
        return m.where(x > -0.36, 0.5 + 0.5 * (y + y_excess), 0.5 * (0.5 - ((-0.5 - y) - y_excess)))

    def outer(x: Number, r: Number) -> Number:
        return m.where(x > 0.0, 1.0 - r, r)

    return (
        (1.06, near),
        (1.59, lambda x, a: outer(x, 0.5 * _around_one(*_over_root_two(a, m)))),
        (math.inf, lambda x, a: outer(x, _tail(a, m, halved=True))),
    )


def bell(m: Arithmetic) -> Pieces:
    """``exp(-x**2 / 2)``."""

    def formula(x: Number, a: Number) -> Number:
        a = m.minimum(a, _END_HALVED)
        lead, rest = _split(a, m)
        e = m.exp(-0.5 * (lead * lead)) * _UP
        return (e + e * m.expm1(-0.5 * (rest * (lead + a)))) * _DOWN

    return ((math.inf, formula),)


# ---- kinds of numbers ---------------------------------------------------------------------------

_FLOATS: Final = Arithmetic(math.exp, math.expm1, builtins.min, lambda c, a, b: a if c else b)


def _of_float(x: float, pieces: Pieces) -> float:
    a = abs(x)
    for bound, formula in pieces:
        if a < bound:
            return formula(x, a)
    return pieces[-1][1](x, a)


def _of_array(x: Any, pieces: Pieces) -> Any:
    """Each piece computed where it holds only."""
    a = abs(x)
    out = np.empty_like(a)
    below = np.zeros(a.shape, bool)
    for bound, formula in pieces:
        under = a < bound if bound < math.inf else np.ones(a.shape, bool)
        where = np.flatnonzero(under > below)
        if where.size == a.size:
            return formula(x, a)
        if where.size:
            out[where] = formula(x[where], a[where])
        below = under
    return out


def _of_term(x: Term, pieces: Pieces) -> Term:
    a = abs(x)
    r = pieces[-1][1](x, a)
    for bound, formula in pieces[-2::-1]:
        r = select(a < bound, formula(x, a), r)
    return r


#: Up to this many elements, floats one by one are faster than arrays.
_FEW: Final = 32
#: Elements to compute at a time, so that what is between them stays in the cache.
_BLOCK: Final = 8192


def kernel(function: Callable[[Arithmetic], Pieces]) -> Kernel:
    """The NumPy kernel of an error function."""
    for_floats, for_arrays = function(_FLOATS), function(ARRAYS)

    def run(x: Any) -> Any:
        x = np.asarray(x)
        flat = x.ravel()
        if x.size <= _FEW:
            return np.array([_of_float(v, for_floats) for v in flat.tolist()], np.float64).reshape(x.shape)
        out = np.empty(x.size)
        for i in range(0, x.size, _BLOCK):
            out[i : i + _BLOCK] = _of_array(flat[i : i + _BLOCK], for_arrays)
        return out.reshape(x.shape)

    return run


def lowering(name: str, function: Callable[[Arithmetic], Pieces]) -> Callable[..., Any]:
    """The StableHLO rule of an error function."""
    return decomposed(name, lambda x: _of_term(x, function(arithmetic_of(x))))
