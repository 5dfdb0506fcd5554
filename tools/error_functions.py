"""Compute the tables of ``quabla/ops/error_functions.py`` and say how far each is from its function.

Each is the rational function through the values at Chebyshev points, solved with 80 digits: close to the best one of
its degrees.

    python tools/error_functions.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import mpmath

MP: Any = mpmath.MPContext()
MP.dps = 80

Function = Callable[[Any], Any]


def interpolant(f: Function, low: Any, high: Any, degrees: tuple[int, int]) -> tuple[list[float], list[float]]:
    """The coefficients of numerator and denominator, those of the constants first, rounded to float64."""
    m, n = degrees
    count = m + n + 1
    points = [(low + high - (high - low) * MP.cos(MP.pi * (2 * k + 1) / (2 * count))) / 2 for k in range(count)]
    values = [f(x) for x in points]
    system = MP.matrix(
        [
            [x**j for j in range(m + 1)] + [-y * x**j for j in range(1, n + 1)]
            for x, y in zip(points, values, strict=True)
        ]
    )
    solved = [float(c) for c in MP.lu_solve(system, MP.matrix(values))]
    return solved[: m + 1], [1.0, *solved[m + 1 :]]


def deviation(f: Function, low: Any, high: Any, table: tuple[list[float], list[float]]) -> Any:
    """The largest distance from the function on a fine grid."""
    grid = [low + (high - low) * k / 400 for k in range(401)]
    numerator, denominator = ([MP.mpf(c) for c in reversed(part)] for part in table)
    return max(abs(MP.polyval(numerator, x) / MP.polyval(denominator, x) - f(x)) for x in grid)


def near(t: Any) -> Any:
    """erf(x) / x - 1 at t = x**2."""
    return MP.erf(MP.sqrt(t)) / MP.sqrt(t) - 1 if t else 2 / MP.sqrt(MP.pi) - 1


def chord(s: Any) -> Any:
    """The slope of the chord of erfc from 1 to 1 + s, downwards."""
    return (MP.erfc(1) - MP.erfc(1 + s)) / s if s else 2 / (MP.sqrt(MP.pi) * MP.e)


def far(offset: Any) -> Function:
    """log(erfc(x) exp(x**2) x) + offset at t = 1 / x**2."""
    return lambda t: MP.log(MP.erfc(1 / MP.sqrt(t)) / MP.sqrt(t) * MP.exp(1 / t)) + offset


TABLES = {
    "_NEAR": (near, MP.mpf(0), MP.mpf(9) / 16, (4, 5)),
    "_CHORD": (chord, -MP.mpf(1) / 4, MP.mpf(1) / 8, (6, 6)),
    "_FAR": (far(MP.mpf(11) / 16), 1 / MP.mpf(2.5) ** 2, 1 / MP.mpf(1.125) ** 2, (8, 8)),
    "_FARTHER": (far(MP.mpf(9) / 16), 1 / MP.mpf(28) ** 2, 1 / MP.mpf(2.5) ** 2, (7, 7)),
}


def main() -> None:
    for name, (f, low, high, degrees) in TABLES.items():
        table = interpolant(f, low, high, degrees)
        off = MP.nstr(deviation(f, low, high, table), 2)
        sys.stdout.write("\n    ".join([name, *map(str, table), f"off by at most {off}\n"]))
    one = MP.erfc(1)
    sys.stdout.write(f"_ERFC_ONE\n    {float(one)}, {float(one - MP.mpf(float(one)))}\n")


if __name__ == "__main__":
    main()
