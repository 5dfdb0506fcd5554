"""Explicit Runge-Kutta steps, with an error estimate or without."""

from __future__ import annotations

from collections.abc import Sequence

from quabla.ode.dense import Dense
from quabla.ode.stepping import Step
from quabla.ode.system import System
from quabla.ode.tableaus import Tableau
from quabla.ops.dispatch import Value

__all__ = ["Explicit", "advance", "stages"]


def combination(weights: Sequence[float], values: Sequence[Value]) -> Value | None:
    """The sum of values times constants; None where all are 0."""
    total = None
    for w, x in zip(weights, values, strict=False):
        if w:
            term = x if w == 1.0 else w * x
            total = term if total is None else total + term
    return total


def advance(y: Value, h: Value, weights: Sequence[float], slopes: Sequence[Value]) -> Value:
    """``y`` moved by ``h`` along a combination of slopes."""
    slope = combination(weights, slopes)
    return y if slope is None else y + h * slope


def stages(system: System, method: Tableau, t: Value, y: Value, h: Value, end: Value, first: Value) -> list[Value]:
    """The slopes at the stages of a step that ends at ``end``, given the first one."""
    slopes = [first]
    for c, row in zip(method.nodes[1:], method.weights, strict=False):
        # Never after the end by a rounding: f may not be defined there.
        slopes.append(system(advance(y, h, row, slopes), end if c == 1.0 else t + c * h))
    return slopes


class Explicit:
    """A pair of explicit methods whose last stage is the first one of the next step."""

    #: What the step-size control takes for the order of the error.
    order = 5

    def __init__(self, method: Tableau) -> None:
        self._method = method

    def start(self, system: System, t: Value, y: Value) -> tuple[Value, ...]:
        """What the first step takes over: the slope at its start."""
        return (system(y, t),)

    def step(
        self, system: System, t: Value, y: Value, h: Value, end: Value, carried: tuple[Value, ...], *, replay: bool
    ) -> Step:
        """One step; ``replay`` changes nothing."""
        method = self._method
        slopes = stages(system, method, t, y, h, end, carried[0])
        new = advance(y, h, method.solution, slopes)
        slopes.append(system(new, end))
        error = combination(method.error, slopes)
        assert error is not None
        assert method.dense is not None
        return Step(new, (slopes[-1],), h * error, Dense(method.dense, tuple(slopes)))
