"""The Rosenbrock pair of orders 2 and 3 for stiff systems: one Jacobian and three linear solves a step.

Source: L. F. Shampine and M. W. Reichelt, The MATLAB ODE suite, SIAM Journal on Scientific Computing 18 (1997) 1-22.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from quabla.functions.creation import eye
from quabla.functions.systems import solve
from quabla.ode.dense import Dense
from quabla.ode.stepping import Step
from quabla.ode.system import System
from quabla.ops.dispatch import Value, full
from quabla.transforms.directional import jvp
from quabla.transforms.jacobians import jacobian

__all__ = ["Rosenbrock23"]

_D: Final = 1.0 / (2.0 + math.sqrt(2.0))
_E32: Final = 6.0 + math.sqrt(2.0)
_DENSE: Final = np.array([[1.0, -2.0 * _D], [-1.0, 1.0]]) / (1.0 - 2.0 * _D)


class Rosenbrock23:
    """An L-stable method of order 2 with an error estimate of order 3."""

    order = 3

    def start(self, system: System, t: Value, y: Value) -> tuple[Value, ...]:
        """What the first step takes over: the slope at its start."""
        return (system(y, t),)

    def step(
        self, system: System, t: Value, y: Value, h: Value, end: Value, carried: tuple[Value, ...], *, replay: bool
    ) -> Step:
        """One step; it has no iteration, so ``replay`` changes nothing."""
        (f0,) = carried
        slope_in_time = jvp(lambda at: system(y, at), (t,), (full(t.type, 1.0),))[1]
        matrix = eye(y.type.size, dtype=y.type.dtype) - (_D * h) * jacobian(lambda at: system(at, t))(y)
        drift = (_D * h) * slope_in_time
        k1 = solve(matrix, f0 + drift)
        f1 = system(y + 0.5 * h * k1, t + 0.5 * h)
        k2 = solve(matrix, f1 - k1) + k1
        new = y + h * k2
        f2 = system(new, end)
        k3 = solve(matrix, f2 - _E32 * (k2 - f1) - 2.0 * (k1 - f0) + drift)
        return Step(new, (f2,), (h / 6.0) * (k1 - 2.0 * k2 + k3), Dense(_DENSE, (k1, k2)))
