"""The elementwise ops in mpmath, and where to look at them closely: what the accuracy tests take for true."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import mpmath
import numpy as np

MP: Any = mpmath.MPContext()
MP.prec = 250
INF, NAN = math.inf, math.nan

SMALLEST, LARGEST = 5e-324, math.nextafter(INF, 0.0)
NORMAL = 2.2250738585072014e-308


class Reference(NamedTuple):
    """One op of one operand.

    Attributes:
        function: the op on a number of mpmath's, inside its domain.
        near: points to look at closely on both sides: zeros, branches, edges.
        spans: intervals to look at evenly.
        far: beyond this magnitude the result is 0, infinite or constant, in any precision.
    """

    function: Callable[[Any], Any]
    near: tuple[float, ...] = (0.0, 1.0, -1.0)
    spans: tuple[tuple[float, float], ...] = ((-4.0, 4.0),)
    far: float = INF


WIDE = (0.0, 1.0, -1.0, 0.5, 2.0)
UNARY = {
    "neg": Reference(lambda x: -x),
    "abs": Reference(abs),
    "sign": Reference(MP.sign),
    "floor": Reference(MP.floor, near=(0.0, 1.0, -1.0, 2.0**52)),
    "ceil": Reference(MP.ceil, near=(0.0, 1.0, -1.0, 2.0**52)),
    "round": Reference(MP.nint, near=(0.5, -0.5, 1.5, 2.5, 2.0**52)),
    "barrier": Reference(lambda x: x),
    "sqrt": Reference(MP.sqrt),
    "rsqrt": Reference(lambda x: 1 / MP.sqrt(x) if x else MP.inf),
    "cbrt": Reference(lambda x: MP.sign(x) * MP.cbrt(abs(x))),
    "sin": Reference(MP.sin, (0.0, math.pi, math.pi / 2, 1e5, 355.0), ((-30.0, 30.0),)),
    "cos": Reference(MP.cos, (0.0, math.pi, math.pi / 2, 1e5, 355.0), ((-30.0, 30.0),)),
    "tan": Reference(MP.tan, (0.0, math.pi, math.pi / 2, 1e5, 355.0), ((-30.0, 30.0),)),
    "arcsin": Reference(MP.asin, WIDE, ((-1.0, 1.0),)),
    "arccos": Reference(MP.acos, WIDE, ((-1.0, 1.0),)),
    "arctan": Reference(MP.atan, WIDE),
    "sinh": Reference(MP.sinh, (0.0, 1.0, 22.0, 709.8, 710.4), ((-3.0, 3.0), (-711.0, 711.0)), 1e3),
    "cosh": Reference(MP.cosh, (0.0, 1.0, 22.0, 709.8, 710.4), ((-3.0, 3.0), (-711.0, 711.0)), 1e3),
    "tanh": Reference(MP.tanh, (0.0, 0.625, 1.0, 22.0), ((-3.0, 3.0), (-20.0, 20.0)), 1e3),
    "sech2": Reference(lambda x: MP.sech(x) ** 2, (0.0, 0.5, 1.0), ((-3.0, 3.0), (-372.0, 372.0)), 1e3),
    "arcsinh": Reference(MP.asinh, WIDE),
    "arccosh": Reference(MP.acosh, (1.0, 2.0, 10.0), ((1.0, 5.0),)),
    "arctanh": Reference(MP.atanh, WIDE, ((-1.0, 1.0),)),
    "exp": Reference(MP.exp, (0.0, 1.0, 709.78, -708.4, -745.1), ((-3.0, 3.0), (-746.0, 710.0)), 1e3),
    "expm1": Reference(MP.expm1, (0.0, 1.1, -0.7, 709.78), ((-3.0, 3.0), (-40.0, 710.0)), 1e3),
    "logistic": Reference(lambda x: 1 / (1 + MP.exp(-x)), WIDE, ((-5.0, 5.0), (-746.0, 50.0)), 1e3),
    "softplus": Reference(lambda x: MP.log1p(MP.exp(x)), WIDE, ((-5.0, 5.0), (-746.0, 50.0))),
    "log": Reference(lambda x: MP.log(x) if x else -MP.inf, (0.0, 1.0, 2.0, math.e), ((0.0, 4.0),)),
    "log1p": Reference(lambda x: MP.log1p(x) if x != -1 else -MP.inf, WIDE, ((-1.0, 4.0),)),
    "log2": Reference(lambda x: MP.log(x) / MP.ln2 if x else -MP.inf, (0.0, 1.0, 2.0), ((0.0, 4.0),)),
    "log10": Reference(lambda x: MP.log10(x) if x else -MP.inf, (0.0, 1.0, 10.0), ((0.0, 12.0),)),
    "erf": Reference(MP.erf, (0.0, 0.75, 1.0, 1.125, 2.5), ((-3.0, 3.0), (-6.5, 6.5)), 1e3),
    "normal_cdf": Reference(
        lambda x: MP.erfc(-x / MP.sqrt(2)) / 2,
        (0.0, -0.36, 1.06, -1.06, 1.59, -1.59, -3.54, -37.5, -38.4),
        ((-3.0, 3.0), (-38.5, 9.0)),
        1e3,
    ),
    "bell": Reference(lambda x: MP.exp(-x * x / 2), (0.0, 1.0, 37.5, 38.5), ((-3.0, 3.0), (-39.0, 39.0)), 1e3),
    "erfc": Reference(MP.erfc, (0.0, 0.25, 0.75, 1.0, 1.125, 2.5, 26.5), ((-3.0, 3.0), (-6.5, 27.5)), 1e3),
}


def _whole(x: float) -> bool:
    return math.isfinite(x) and x == math.floor(x)


def _power(x: float, y: float) -> Any:
    if x == 0 or y == 0:
        return None  # the special values
    if x < 0 and not _whole(y):
        return MP.nan
    sign = -1 if x < 0 and y % 2 else 1
    exponent = MP.mpf(y) * MP.log(abs(MP.mpf(x)))
    return sign * (MP.inf if exponent > 800 else MP.mpf(0) if exponent < -800 else MP.exp(exponent))


def _remainder(x: float, y: float) -> Any:
    if y == 0:
        return MP.nan
    return MP.mpf(float(abs(Fraction(x)) % abs(Fraction(y)))) * (-1 if x < 0 else 1)


def _exactly(f: Callable[[Any, Any], Any]) -> Callable[[float, float], Any]:
    return lambda x, y: f(MP.mpf(x), MP.mpf(y))


#: Ops of two finite operands. None stands for what the special values say.
BINARY: dict[str, Callable[[float, float], Any]] = {
    "add": _exactly(lambda x, y: x + y),
    "sub": _exactly(lambda x, y: x - y),
    "mul": _exactly(lambda x, y: x * y),
    "div": lambda x, y: MP.mpf(x) / MP.mpf(y) if y else None,
    "ratio": lambda x, y: MP.mpf(x) / MP.mpf(y) if y else None,
    "maximum": _exactly(max),
    "minimum": _exactly(min),
    "greater": lambda x, y: MP.mpf(x > y),
    "compare": lambda x, y: MP.mpf(x < y),
    "pow": _power,
    "direction": _exactly(lambda x, y: x / MP.sqrt(x * x + y * y) if x or y else MP.mpf(0)),
    "hypot": _exactly(lambda x, y: MP.sqrt(x * x + y * y)),
    "atan2": lambda y, x: MP.atan2(MP.mpf(y), MP.mpf(x)) if x and y else None,
    "fmod": _remainder,
}


def points(reference: Reference, domain: tuple[float, float], count: int = 150) -> np.ndarray:
    """Numbers of both signs and all magnitudes, denser near the points and in the spans of a reference."""
    rng = np.random.default_rng(len(reference.near))
    size = np.concatenate([10 ** rng.uniform(-323.3, 308.2, count), 10 ** rng.uniform(-20.0, 3.2, count)])
    found = [size, -size, np.array([0.0, SMALLEST, -SMALLEST, NORMAL, -NORMAL, LARGEST, -LARGEST])]
    for p in reference.near:
        steps = np.ldexp(rng.uniform(1.0, 2.0, 54), -np.arange(1, 55)) * max(abs(p), 1.0)
        found += [p + steps, p - steps, np.array([p, math.nextafter(p, INF), math.nextafter(p, -INF)])]
    found += [rng.uniform(low, high, 2 * count) for low, high in reference.spans]
    xs = np.unique(np.concatenate(found))
    return xs[(xs >= domain[0]) & (xs <= domain[1])]


def exact(reference: Reference, x: float) -> Any:
    """The op at a number of its domain."""
    limit = min(max(x, -reference.far), reference.far)
    return reference.function(MP.mpf(limit))


def grid(count: int = 250) -> tuple[np.ndarray, np.ndarray]:
    """Pairs: every two of some special numbers, any two magnitudes, and two that are close to each other."""
    rng = np.random.default_rng(7)

    def signed(low: float, high: float) -> np.ndarray:
        return 10 ** rng.uniform(low, high, count) * rng.choice([-1.0, 1.0], count)

    near, far, usual = signed(-300.0, 300.0), signed(-320.0, 308.2), signed(-5.0, 5.0)
    edges = [SMALLEST, NORMAL, 1e-300, 1e-155, 0.1, 0.5, 1.0, 2.0, 3.0, 1e5, 1e155, 1e300, LARGEST]
    special = np.array([0.0, *edges, -0.0, *(-e for e in edges)])
    a, b = (m.ravel() for m in np.meshgrid(special, special))
    other = np.clip(near * 10 ** rng.uniform(-7.0, 7.0, count), -1e308, 1e308)
    x = np.concatenate([near, far, usual, usual, a])
    y = np.concatenate(
        [other, signed(-320.0, 308.2), signed(-2.0, 2.0), usual * (1 + 1e-9 * rng.normal(size=count)), b]
    )
    return x, y


def ulps(got: float, want: Any) -> float:
    """The distance from an exact number in units in the last place of that; beyond float64 infinity is right."""
    if math.isnan(got) or MP.isnan(want):
        return 0.0 if math.isnan(got) and MP.isnan(want) else INF
    bound = MP.mpf(2) ** 1024
    want = min(max(want, -bound), bound)
    value = MP.sign(got) * bound if math.isinf(got) else MP.mpf(got)
    exponent = MP.frexp(want)[1] - 53 if want else -1074
    return float(abs(value - want) / MP.mpf(2) ** max(exponent, -1074))


def worst(got: Any, want: list[Any], *operands: np.ndarray) -> tuple[float, str]:
    """The largest error, and a sentence about it."""
    errors = [0.0 if w is None else ulps(float(g), w) for g, w in zip(got, want, strict=True)]
    i = int(np.argmax(errors))
    return errors[i], f"{errors[i]:.3g} ulp at {[float(x[i]) for x in operands]}: {float(got[i])!r}"


def derivatives(function: Callable[[Any], Any], x: float, orders: int = 3) -> list[float]:
    """The first derivatives at an inner point of an analytic function, by central differences in many digits."""
    with MP.workprec(12000):
        at = MP.mpf(x)
        distance = min(d for d in (abs(at), abs(abs(at) - 1), MP.mpf(1)) if d)
        step = distance * MP.mpf(2) ** -1000
        f = [function(at + k * step) for k in (-2, -1, 0, 1, 2)]
        first = (f[3] - f[1]) / (2 * step)
        second = (f[3] - 2 * f[2] + f[1]) / step**2
        third = (f[4] - 2 * f[3] + 2 * f[1] - f[0]) / (2 * step**3)
        return [float(d) for d in (first, second, third)][:orders]
