"""Coefficients of explicit Runge-Kutta methods.

Sources: E. Hairer, S. P. Nørsett and G. Wanner, Solving Ordinary Differential Equations I, 2nd ed. (1993), II.1 and II.5
and the interpolant of II.6; Ch. Tsitouras, Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying
assumption, Computers & Mathematics with Applications 62 (2011) 770-775.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

__all__ = ["FIXED", "HERMITE", "PAIRS", "Tableau"]

Matrix = np.ndarray[Any, np.dtype[np.float64]]


class Tableau(NamedTuple):
    """An explicit Runge-Kutta method.

    Attributes:
        order: of convergence.
        nodes: c, where in the step the stages stand.
        weights: the rows of a below the diagonal, from the second stage on.
        solution: b. A method with an error estimate has a last stage at the end of the step, which is the first of the
            next one and is not in b.
        error: the weights of the stages in the error estimate; empty without one.
        dense: powers of theta by stages, see ``dense.Dense``.
    """

    order: int
    nodes: tuple[float, ...]
    weights: tuple[tuple[float, ...], ...]
    solution: tuple[float, ...]
    error: tuple[float, ...] = ()
    dense: Matrix | None = None


#: The cubic through both ends of a step with the slopes there, by (slope at the start, mean slope, slope at the end).
HERMITE: Final = np.array([[1.0, 0.0, 0.0], [-2.0, 3.0, -1.0], [1.0, -2.0, 1.0]])

FIXED: Final = {
    "euler": Tableau(1, (0.0,), (), (1.0,)),
    "heun": Tableau(2, (0.0, 1.0), ((1.0,),), (0.5, 0.5)),
    "rk4": Tableau(
        4, (0.0, 0.5, 0.5, 1.0), ((0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), (1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0)
    ),
}


def _dopri5() -> Tableau:
    b = (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)
    last_row = np.array([*b, 0.0])
    d = np.array(
        [
            -12715105075 / 11282082432, 0.0, 87487479700 / 32700410799, -10690763975 / 1880347072,
            701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423,
        ]
    )  # fmt: skip
    first, last = np.eye(7)[0], np.eye(7)[6]
    # y + theta h (v + (1 - theta) (k1 - v + theta (2 v - k1 - k7 + (1 - theta) d))) with v = b, by powers of theta.
    inner = 2.0 * last_row - first - last
    dense = np.array([first, last_row - first + inner + d, -inner - 2.0 * d, d])
    return Tableau(
        5,
        (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0),
        (
            (1 / 5,),
            (3 / 40, 9 / 40),
            (44 / 45, -56 / 15, 32 / 9),
            (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
            (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        ),
        b,
        (-71 / 57600, 0.0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40),
        dense,
    )


def _tsit5() -> Tableau:
    def quadratic(scale: float, p: float, q: float) -> list[float]:
        """Powers of theta of ``scale * theta * (theta**2 - p * theta + q)``."""
        return [0.0, scale * q, -scale * p, scale]

    a, b = 1.3299890189751412, (1.4364028541716351, 0.7139816917074209)
    s = -1.0530884977290216
    # s (theta - a) (theta**2 - b0 theta + b1)
    first = [-s * a * b[1], s * (b[1] + a * b[0]), -s * (a + b[0]), s]
    stages = [
        first,
        quadratic(0.1017, 2.1966568338249754, 1.2949852507374631),
        quadratic(2.490627285651252793, 2.38535645472061657, 1.57803468208092486),
        quadratic(
            -16.54810288924490272, 1.21712927295533244 + 0.61620406037800089, 1.21712927295533244 * 0.61620406037800089
        ),
        quadratic(
            47.37952196281928122,
            1.203071208372362603 + 0.658047292653547382,
            1.203071208372362603 * 0.658047292653547382,
        ),
        quadratic(-34.87065786149660974, 1.2 + 2 / 3, 1.2 * 2 / 3),
        quadratic(2.5, 1.6, 0.6),
    ]
    return Tableau(
        5,
        (0.0, 0.161, 0.327, 0.9, 0.9800255409045097, 1.0, 1.0),
        (
            (0.161,),
            (-0.008480655492356989, 0.335480655492357),
            (2.8971530571054935, -6.359448489975075, 4.3622954328695815),
            (5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525),
            (5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383),
        ),
        (0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774),
        (
            -0.00178001105222577714, -0.0008164344596567469, 0.007880878010261995, -0.1447110071732629,
            0.5823571654525552, -0.45808210592918697, 0.015151515151515152,
        ),
        np.array(stages).T,
    )  # fmt: skip


PAIRS: Final = {"dopri5": _dopri5(), "tsit5": _tsit5()}
