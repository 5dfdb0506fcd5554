"""What the adaptive solver asks of a method, and what a step gives back."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

from quabla.functions import statistics
from quabla.functions.math import equal
from quabla.ode.dense import Dense
from quabla.ode.system import System
from quabla.ops.dispatch import Value, full
from quabla.ops.elementwise import abs as absolute, maximum, where
from quabla.ops.rules import zeros

__all__ = ["Step", "Stepper", "Tolerance"]


class Tolerance(NamedTuple):
    """How large an error may be: ``atol + rtol |y|`` for each component.

    Attributes:
        rtol: the relative part.
        atol: the absolute part.
    """

    rtol: float
    atol: float

    def scale(self, *states: Value) -> Value:
        """The allowed error of each component, by the largest of the states."""
        size = absolute(states[0])
        for y in states[1:]:
            size = maximum(size, absolute(y))
        return self.atol + self.rtol * size

    def norm(self, error: Value, scale: Value) -> Value:
        """The root mean square of an error in units of the allowed one; no error is 0 where none is allowed too."""
        if not error.type.size:
            return zeros(error.type.with_shape(()))
        relative = error / where(equal(error, 0.0), full(scale.type, 1.0), scale)
        return statistics.norm(relative) / math.sqrt(error.type.size)


class Step(NamedTuple):
    """One trial step.

    Attributes:
        y: the state at its end.
        carried: what the next step takes over if this one is accepted.
        error: the estimated error of ``y``; NaN or infinite where the step failed.
        dense: the states in between.
    """

    y: Value
    carried: tuple[Value, ...]
    error: Value
    dense: Dense


class Stepper(Protocol):
    """A method with an error estimate."""

    @property
    def order(self) -> int:
        """The power of the step size with which the error estimate goes to 0."""
        ...

    def start(self, system: System, t: Value, y: Value) -> tuple[Value, ...]:
        """What the first step takes over; first the slope at its start."""
        ...

    def step(
        self, system: System, t: Value, y: Value, h: Value, end: Value, carried: tuple[Value, ...], *, replay: bool
    ) -> Step:
        """One step from a state to the time ``end``, which is ``t + h`` but for rounding.

        With ``replay`` it will be differentiated, and its error is not asked for.
        """
        ...
