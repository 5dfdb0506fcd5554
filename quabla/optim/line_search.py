"""A line search for the strong Wolfe conditions.

The algorithm is that of Moré and Thuente, "Line search algorithms with guaranteed sufficient decrease", ACM Transactions
on Mathematical Software 20 (1994). Section and case numbers in the comments are the paper's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

__all__ = ["Point", "strong_wolfe"]

#: The value must decrease by this part of what the slope at the start promises,
DECREASE: Final = 1e-4
#: and the slope to this part of it.
CURVATURE: Final = 0.9
#: The most evaluations.
EVALUATIONS: Final = 25

#: Steps grow by at most this factor as long as no minimum is bracketed, and
EXPANSION: Final = 4.0
#: by at least this one.
LEAST_EXPANSION: Final = 1.1
#: The interval must shrink to this part of itself in two trials, else it is bisected.
SHRINKAGE: Final = 0.66
#: An interval of this relative width is not divided further.
NARROW: Final = 1e-12


class Point(NamedTuple):
    """A trial step, the value there and its slope along the direction."""

    step: float
    value: float
    slope: float


def strong_wolfe(
    evaluate: Callable[[float], tuple[float, float]], value: float, slope: float, step: float, evaluations: int
) -> Point | None:
    """A step with a sufficient decrease and a small slope.

    Args:
        evaluate: the value and the slope at a step. Where one is not finite, the step is taken to be too long.
        value: the value at step 0.
        slope: the slope at step 0, which is negative.
        step: the first trial.
        evaluations: how many calls of ``evaluate`` are left.

    Returns:
        The step; or, where no step satisfies both conditions before the evaluations are used up or the interval is too
        narrow, the best one if it decreases the value sufficiently, else None.
    """
    start = best = other = Point(0.0, value, slope)
    bracketed = False
    auxiliary = True  # stage 1: search the value less what decrease is sufficient
    longest = math.inf
    width, before = math.inf, math.inf
    for _ in range(min(EVALUATIONS, evaluations)):
        trial = Point(step, *evaluate(step))
        if not (math.isfinite(trial.value) and math.isfinite(trial.slope)):
            longest = step = best.step + 0.5 * (step - best.step)
            if not best.step < step:
                break
            continue
        decreases = trial.value <= _line(start, step)
        if decreases and abs(trial.slope) <= -CURVATURE * slope:
            return trial
        if step >= longest and decreases and trial.slope <= DECREASE * slope:
            return trial  # the values beyond are not finite
        auxiliary = auxiliary and not (decreases and trial.slope >= 0.0)
        tilted = auxiliary and trial.value <= best.value and not decreases
        points = best, other, trial
        shift = DECREASE * slope if tilted else 0.0
        ends = [Point(p.step, p.value - shift * p.step, p.slope - shift) for p in points]
        step, bracket = _next_step(*ends, bracketed, *_room(best.step, step, longest))
        best, other = (points[i] for i in _interval(*ends))
        bracketed = bracketed or bracket
        if bracketed:
            span = abs(other.step - best.step)
            if span <= NARROW * max(best.step, other.step):
                break
            if span >= SHRINKAGE * before or not math.isfinite(step):
                step = best.step + 0.5 * (other.step - best.step)
            before, width = width, span
        if step in (best.step, other.step) or not math.isfinite(step):
            break
    return best if best.value < value and best.value <= _line(start, best.step) else None


def _line(start: Point, step: float) -> float:
    """The greatest value that is a sufficient decrease."""
    return start.value + DECREASE * step * start.slope


def _room(best: float, step: float, longest: float) -> tuple[float, float]:
    """The bounds of the next step while no minimum is bracketed."""
    low, high = step + LEAST_EXPANSION * (step - best), step + EXPANSION * (step - best)
    return min(low, longest), min(high, longest)


def _interval(best: Point, other: Point, trial: Point) -> tuple[int, int]:
    """Which of the three are the ends of the interval after a trial: the one with the least value, and the other.

    Values and slopes are those that the next step was chosen by (section 2). In stage 1 that is the auxiliary function,
    so that a trial without a sufficient decrease, which lies beyond the minimum sought, never becomes the best.
    """
    if trial.value > best.value:
        return 0, 2
    return 2, 0 if trial.slope * (best.step - trial.step) < 0.0 else 1


def _next_step(best: Point, other: Point, trial: Point, bracketed: bool, low: float, high: float) -> tuple[float, bool]:
    """The next trial step (section 4), and whether the trial shows that a minimum is bracketed."""
    if trial.value > best.value:  # case 1
        cubic, quadratic = _cubic(best, trial), _quadratic(best, trial)
        near = abs(cubic - best.step) < abs(quadratic - best.step)
        return (cubic if near else cubic + 0.5 * (quadratic - cubic)), True
    secant = _secant(best, trial)
    if trial.slope * math.copysign(1.0, best.slope) < 0.0:  # case 2
        cubic = _cubic(best, trial)
        far = abs(cubic - trial.step) > abs(secant - trial.step)
        return (cubic if far else secant), True
    if abs(trial.slope) < abs(best.slope):  # case 3
        cubic = _cubic(best, trial)
        ahead = (cubic - trial.step) * (trial.step - best.step) > 0.0
        if not (ahead and math.isfinite(cubic)):
            cubic = high if trial.step > best.step else low
        closer = abs(cubic - trial.step) < abs(secant - trial.step)
        if not bracketed:
            return min(max(secant if closer else cubic, low), high), False
        step = cubic if closer else secant
        bound = trial.step + SHRINKAGE * (other.step - trial.step)
        return (min(step, bound) if trial.step > best.step else max(step, bound)), False
    if bracketed:  # case 4
        return _cubic(other, trial), False
    return (high if trial.step > best.step else low), False


def _cubic(a: Point, b: Point) -> float:
    """The minimiser of the cubic that has the values and slopes of two points; infinite where it has none."""
    theta = 3.0 * (a.value - b.value) / (b.step - a.step) + a.slope + b.slope
    scale = max(abs(theta), abs(a.slope), abs(b.slope))
    if scale == 0.0:
        return math.inf
    squared = (theta / scale) ** 2 - (a.slope / scale) * (b.slope / scale)
    gamma = math.copysign(scale * math.sqrt(max(squared, 0.0)), b.step - a.step)
    below = b.slope - a.slope + 2.0 * gamma
    if below == 0.0:
        return math.inf
    return b.step - (b.step - a.step) * (b.slope + gamma - theta) / below


def _quadratic(a: Point, b: Point) -> float:
    """The minimiser of the parabola that has the values of two points and the slope of the first."""
    width = b.step - a.step
    return a.step + 0.5 * width * a.slope / ((a.value - b.value) / width + a.slope)


def _secant(a: Point, b: Point) -> float:
    """The minimiser of the parabola that has the slopes of two points; infinite where they are equal."""
    if a.slope == b.slope:
        return math.inf
    return b.step - (b.step - a.step) * b.slope / (b.slope - a.slope)
