"""Schedules: learning rates as functions of the number of updates made so far.

The formulas are those of optax. A schedule takes an int and gives a float; given an array of any shape, traced or not or
NumPy's, it gives a float64 array of that shape, so that it can be part of a compiled program.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from quabla import dtypes, errors
from quabla.array import TensorView
from quabla.functions.creation import full
from quabla.ops import casting, dispatch, elementwise, transcendental
from quabla.optim.settings import number, positive
from quabla.tracing.trace import array_leaf

__all__ = [
    "Schedule",
    "constant",
    "cosine_decay",
    "exponential_decay",
    "piecewise_constant",
    "warmup_cosine_decay",
]

Schedule = Callable[[Any], Any]


class _Numbers:
    """What the formulas use, on Python numbers."""

    floor: Final = math.floor
    cos: Final = math.cos
    minimum: Final = min
    maximum: Final = max

    @staticmethod
    def where(condition: Any, x: float, y: float) -> float:
        return x if condition else y

    @staticmethod
    def power(x: float, y: float) -> float:
        try:
            return x**y
        except OverflowError:
            return math.inf


class _Arrays:
    """The same on arrays."""

    floor: Final = elementwise.floor
    cos: Final = transcendental.cos
    minimum: Final = elementwise.minimum
    maximum: Final = elementwise.maximum
    where: Final = elementwise.where
    power: Final = elementwise.power


def _schedule(formula: Callable[[Any, Any], Any]) -> Schedule:
    """A schedule from a formula of the step and the functions to compute with."""

    def schedule(step: Any) -> Any:
        if dispatch.is_value(step) or isinstance(step, (np.ndarray, TensorView)):
            x = casting.astype(array_leaf(step), dtypes.float64)
            return full(x.type.shape, formula(x, _Arrays), dtypes.float64)
        return float(formula(number("a schedule: the step", step), _Numbers))

    return schedule


def constant(value: float) -> Schedule:
    """The same value at every step.

    Example:
        >>> qb.optim.constant(0.3)(100)
        0.3
    """
    fixed = number("constant: value", value)
    return _schedule(lambda step, f: fixed)


def exponential_decay(
    init_value: float,
    transition_steps: int,
    decay_rate: float,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: float | None = None,
) -> Schedule:
    """``init_value * decay_rate ** ((step - transition_begin) / transition_steps)``.

    Args:
        init_value: the value up to ``transition_begin``.
        transition_steps: how many steps multiply the value by ``decay_rate`` once.
        decay_rate: the factor; more than 1 grows.
        transition_begin: the step at which the decay begins.
        staircase: whether the exponent is rounded down, so that the value changes at multiples of
            ``transition_steps`` only.
        end_value: a bound that the value does not pass: from above where it decays, from below where it grows.

    Raises:
        ValueError: ``transition_steps`` or ``decay_rate`` that is not positive.

    Example:
        >>> rate = qb.optim.exponential_decay(1.0, 10, 0.5)
        >>> rate(0), rate(10), rate(20)
        (1.0, 0.5, 0.25)
    """
    first = number("exponential_decay: init_value", init_value)
    steps = positive("exponential_decay: transition_steps", transition_steps)
    factor = positive("exponential_decay: decay_rate", decay_rate)
    begin = number("exponential_decay: transition_begin", transition_begin)
    end = None if end_value is None else number("exponential_decay: end_value", end_value)

    def formula(step: Any, f: Any) -> Any:
        exponent = f.maximum(step - begin, 0.0) / steps
        if staircase:
            exponent = f.floor(exponent)
        value = first * f.power(factor, exponent)
        if end is None:
            return value
        return f.maximum(value, end) if factor < 1.0 else f.minimum(value, end)

    return _schedule(formula)


def cosine_decay(init_value: float, decay_steps: int, alpha: float = 0.0) -> Schedule:
    """Half a period of a cosine from ``init_value`` to ``alpha * init_value``, which it keeps after ``decay_steps``.

    Raises:
        ValueError: ``decay_steps`` that is not positive.

    Example:
        >>> rate = qb.optim.cosine_decay(1.0, 10)
        >>> rate(0), rate(5), rate(10), rate(11)
        (1.0, 0.5, 0.0, 0.0)
    """
    first = number("cosine_decay: init_value", init_value)
    steps = positive("cosine_decay: decay_steps", decay_steps)
    last = number("cosine_decay: alpha", alpha)
    return _schedule(lambda step, f: first * _cosine(step, steps, last, f))


def _cosine(step: Any, steps: float, last: float, f: Any) -> Any:
    """From 1 at step 0 to ``last`` at ``steps``."""
    return (1.0 - last) * (0.5 * (1.0 + f.cos(math.pi * (f.minimum(step, steps) / steps)))) + last


def warmup_cosine_decay(
    init_value: float, peak_value: float, warmup_steps: int, decay_steps: int, end_value: float = 0.0
) -> Schedule:
    """A line from ``init_value`` to ``peak_value``, then half a period of a cosine down to ``end_value``.

    Args:
        init_value: the value at step 0.
        peak_value: the value at step ``warmup_steps``.
        warmup_steps: how many steps the line takes; 0 begins with the cosine.
        decay_steps: the step at which ``end_value`` is reached: it counts the warm-up too.
        end_value: the value from then on.

    Raises:
        ValueError: a negative ``warmup_steps``, or ``decay_steps`` that does not exceed it.

    Example:
        >>> rate = qb.optim.warmup_cosine_decay(0.0, 1.0, 10, 110)
        >>> rate(0), rate(5), rate(10), rate(60), rate(110)
        (0.0, 0.5, 1.0, 0.5, 0.0)
    """
    first = number("warmup_cosine_decay: init_value", init_value)
    peak = number("warmup_cosine_decay: peak_value", peak_value)
    warm = number("warmup_cosine_decay: warmup_steps", warmup_steps)
    steps = number("warmup_cosine_decay: decay_steps", decay_steps)
    end = number("warmup_cosine_decay: end_value", end_value)
    if not 0.0 <= warm < steps < math.inf:
        raise ValueError(
            "warmup_cosine_decay: warmup_steps must not be negative and decay_steps, which includes them, must exceed "
            f"them, got {warmup_steps!r} and {decay_steps!r}{errors.at_user_line()}"
        )
    last = end / peak if peak else 0.0

    def formula(step: Any, f: Any) -> Any:
        line = first + (peak - first) * (step / warm) if warm else first
        return f.where(step < warm, line, peak * _cosine(step - warm, steps - warm, last, f))

    return _schedule(formula)


def piecewise_constant(boundaries: Sequence[int], values: Sequence[float]) -> Schedule:
    """``values[i]`` from ``boundaries[i - 1]`` on, up to the step before ``boundaries[i]``.

    Args:
        boundaries: increasing steps.
        values: one more than boundaries.

    Raises:
        ValueError: boundaries that do not increase, or another number of values.

    Example:
        >>> rate = qb.optim.piecewise_constant([2, 4], [1.0, 0.1, 0.01])
        >>> [rate(step) for step in range(6)]
        [1.0, 1.0, 0.1, 0.1, 0.01, 0.01]
    """
    edges = [number("piecewise_constant: each boundary", b) for b in boundaries]
    levels = [number("piecewise_constant: each value", v) for v in values]
    if any(not a < b for a, b in itertools.pairwise(edges)) or any(math.isnan(b) for b in edges):
        raise ValueError(f"piecewise_constant: boundaries must increase, got {list(boundaries)}{errors.at_user_line()}")
    if len(levels) != len(edges) + 1:
        raise ValueError(
            f"piecewise_constant: needs one value more than boundaries, got {len(levels)} values for {len(edges)} "
            f"boundaries{errors.at_user_line()}"
        )

    def formula(step: Any, f: Any) -> Any:
        value: Any = levels[-1]
        for edge, level in zip(reversed(edges), reversed(levels[:-1]), strict=True):
            value = f.where(step < edge, level, value)
        return value

    return _schedule(formula)
