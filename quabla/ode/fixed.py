"""Explicit Runge-Kutta methods with steps of one size."""

from __future__ import annotations

from typing import Any

from quabla import control
from quabla.functions.math import equal
from quabla.functions.shape import expand_dims
from quabla.ode.dense import Dense, Span, rounding, saved, unsaved
from quabla.ode.explicit import advance, stages
from quabla.ode.system import System
from quabla.ode.tableaus import HERMITE, Tableau
from quabla.ops.casting import stop_gradient
from quabla.ops.dispatch import Value, as_value, full
from quabla.ops.elementwise import where
from quabla.ops.shaping import concat

__all__ = ["final", "sampled", "trajectory"]


class _Grid:
    """Steps of one size from t0 to t1.

    Attributes:
        h: the size of a step.
    """

    def __init__(self, t0: Value, t1: Value, steps: int) -> None:
        self.h = (t1 - t0) / float(steps)
        self._t0, self._t1, self._steps = t0, t1, steps

    def ends(self, i: Any) -> tuple[Value, Value, Value]:
        """Where step i starts and ends, and whether it is the last one."""
        last = as_value(i >= self._steps - 1.0)
        return self._t0 + i * self.h, where(last, self._t1, self._t0 + (i + 1.0) * self.h), last

    def advance(self, system: System, method: Tableau, i: Any, y: Value) -> Value:
        """The state at the end of step i."""
        t, end, _ = self.ends(i)
        return advance(y, self.h, method.solution, stages(system, method, t, y, self.h, end, system(y, t)))


def final(system: System, method: Tableau, y0: Value, t0: Value, t1: Value, steps: int) -> Value:
    """The state at t1."""
    grid = _Grid(t0, t1, steps)
    return control.fori_loop(0, steps, lambda i, y: grid.advance(system, method, i, y), y0)


def trajectory(system: System, method: Tableau, y0: Value, t0: Value, t1: Value, steps: int) -> Value:
    """The states at the ends of all steps, the first state included, as rows."""
    grid = _Grid(t0, t1, steps)

    def step(y: Value, i: Any) -> tuple[Value, Value]:
        new = grid.advance(system, method, i, y)
        return new, new

    _, rows = control.scan(step, y0, length=steps)
    return concat([expand_dims(y0, 0), rows], 0)


def sampled(system: System, method: Tableau, y0: Value, t0: Value, t1: Value, steps: int, times: Value) -> Value:
    """The states at wanted times as rows, from the cubic through both ends of each step with the slopes there."""
    grid = _Grid(t0, t1, steps)
    h = grid.h
    one = full(t0.type, 1.0)
    forward = stop_gradient(where(h < 0.0, -one, one))
    slack = stop_gradient(rounding(t0, t1))

    def step(i: Any, now: tuple[Value, Value, Value]) -> tuple[Value, Value, Value]:
        y, slope, rows = now
        t, end, last = grid.ends(i)
        new = advance(y, h, method.solution, stages(system, method, t, y, h, end, slope))
        following = system(new, end)
        mean = (new - y) / where(equal(h, 0.0), one, h)
        dense = Dense(HERMITE, (slope, mean, following))
        span = Span(t, end, forward, where(last, slack, full(slack.type, 0.0)))
        return new, following, saved(rows, times, span, h, y, dense)

    return control.fori_loop(0, steps, step, (y0, system(y0, t0), unsaved(times, y0)))[2]
