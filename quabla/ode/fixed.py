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


def _step(system: System, method: Tableau, t0: Value, h: Value, i: Any, y: Value) -> Value:
    t = t0 + i * h
    return advance(y, h, method.solution, stages(system, method, t, y, h, system(y, t)))


def final(system: System, method: Tableau, y0: Value, t0: Value, t1: Value, steps: int) -> Value:
    """The state at t1."""
    h = (t1 - t0) / float(steps)
    return control.fori_loop(0, steps, lambda i, y: _step(system, method, t0, h, i, y), y0)


def trajectory(system: System, method: Tableau, y0: Value, t0: Value, t1: Value, steps: int) -> Value:
    """The states at the ends of all steps, the first state included, as rows."""
    h = (t1 - t0) / float(steps)

    def step(y: Value, i: Any) -> tuple[Value, Value]:
        new = _step(system, method, t0, h, i, y)
        return new, new

    _, rows = control.scan(step, y0, length=steps)
    return concat([expand_dims(y0, 0), rows], 0)


def sampled(system: System, method: Tableau, y0: Value, t0: Value, t1: Value, steps: int, times: Value) -> Value:
    """The states at wanted times as rows, from the cubic through both ends of each step with the slopes there."""
    h = (t1 - t0) / float(steps)
    one = full(t0.type, 1.0)
    forward = stop_gradient(where(h < 0.0, -one, one))
    slack = stop_gradient(rounding(t0, t1))

    def step(i: Any, now: tuple[Value, Value, Value]) -> tuple[Value, Value, Value]:
        y, slope, rows = now
        t, end = t0 + i * h, t0 + (i + 1.0) * h
        new = advance(y, h, method.solution, stages(system, method, t, y, h, slope))
        following = system(new, end)
        mean = (new - y) / where(equal(h, 0.0), one, h)
        dense = Dense(HERMITE, (slope, mean, following))
        last = as_value(i >= steps - 1.0)
        span = Span(t, where(last, t1, end), forward, where(last, slack, full(slack.type, 0.0)))
        return new, following, saved(rows, times, span, h, y, dense)

    return control.fori_loop(0, steps, step, (y0, system(y0, t0), unsaved(times, y0)))[2]
