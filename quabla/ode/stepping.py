"""What the adaptive solver asks of a method, and what a step gives back."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from quabla.ode.dense import Dense
from quabla.ode.system import System
from quabla.ops.dispatch import Value

__all__ = ["Step", "Stepper", "Tolerance", "rms"]


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
        self, system: System, t: Value, y: Value, h: Value, carried: tuple[Value, ...], *, replay: bool
    ) -> Step:
        """One step from a state. With ``replay`` it will be differentiated, and its error is not asked for."""
        ...
