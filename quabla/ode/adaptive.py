"""Adaptive integration: trial steps that are accepted or rejected by their estimated error.

The trial steps are a bounded loop that records the sizes of those it accepts. Its derivative is that of a replay, which
takes the same steps again and nothing else: step sizes are constants, except for the last one, which ends at t1. So a
trial that failed, with NaN perhaps, has no part in any derivative, and reverse mode keeps the accepted states alone.

Source: E. Hairer, S. P. Nørsett and G. Wanner, Solving Ordinary Differential Equations I, 2nd ed. (1993), II.4, and
E. Hairer and G. Wanner, Solving Ordinary Differential Equations II, 2nd ed. (1996), IV.2, for the control of step sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from quabla import control
from quabla.dtypes import bool_
from quabla.functions import statistics
from quabla.functions.math import equal, isfinite, logical_and, logical_not, logical_or
from quabla.ode.dense import Span, rounding, saved, unsaved
from quabla.ode.stepping import Step, Stepper, Tolerance
from quabla.ode.system import System
from quabla.ops.casting import stop_gradient
from quabla.ops.control import PUT
from quabla.ops.dispatch import Value, apply, full
from quabla.ops.elementwise import abs as absolute, maximum, minimum, power, where
from quabla.transforms.replay import replayed

__all__ = ["Outcome", "integrate"]

_SAFETY: Final = 0.9
_LEAST, _MOST = 0.2, 10.0
#: An error below this one is no reason to make the next step larger still.
_LEAST_ERROR: Final = 1e-4


class Outcome(NamedTuple):
    """Where an integration ended.

    Attributes:
        y: the last state.
        rows: the states at the wanted times; None without any.
        t: the time reached.
        h: the size of the last trial step.
        error: the error norm of the last trial step.
        accepted: the number of accepted steps.
        rejected: the number of rejected ones.
        success: whether t1 was reached.
    """

    y: Value
    rows: Value | None
    t: Value
    h: Value
    error: Value
    accepted: Value
    rejected: Value
    success: Value


class _Progress(NamedTuple):
    """What the loop of trial steps carries.

    Attributes:
        t, y: the last accepted state.
        carried: what the stepper carries.
        rows: the states at the wanted times so far.
        h: the size of the next step.
        gain: the factor by which the error of the last accepted step changes the size of the next one.
        tried: the number of trial steps.
        accepted: the number of those accepted.
        done: whether t1 is reached.
        stuck: whether no step can follow: the next one is too small to change the time, or not finite.
        kept: the sizes of the accepted steps.
        last_h, last_error: size and error of the last trial step.
    """

    t: Value
    y: Value
    carried: tuple[Value, ...]
    rows: Value | None
    h: Value
    gain: Value
    tried: Value
    accepted: Value
    done: Value
    stuck: Value
    kept: Value
    last_h: Value
    last_error: Value


class _Replay(NamedTuple):
    """What the replay carries."""

    i: Value
    t: Value
    y: Value
    carried: tuple[Value, ...]
    rows: Value | None


def first_step(
    system: System, tolerance: Tolerance, order: int, t: Value, t1: Value, y: Value, f: Value, forward: Value
) -> Value:
    """The size of the first step, from the size of the solution and its first two derivatives.

    It changes the time, however steep the solution is, and is NaN where the state or its slope is not finite.
    """
    one, tiny = full(t.type, 1.0), full(t.type, 1e-6)
    least, span = rounding(t, t1), absolute(t1 - t)
    scale = tolerance.scale(y)
    d0, d1 = tolerance.norm(y, scale), tolerance.norm(f, scale)
    # Sizes that are too small to tell, or overflow, say nothing about the step.
    unknown = logical_or(minimum(d0, d1) < 1e-5, logical_not(isfinite(maximum(d0, d1))))
    h0 = where(unknown, tiny, 0.01 * where(unknown, one, d0) / where(unknown, one, d1))
    h0 = maximum(minimum(h0, span), least)  # f may not be defined outside the span
    ahead = system(y + (forward * h0) * f, t + forward * h0)
    d2 = tolerance.norm(ahead - f, scale) / h0
    # The trial state may lie where f is not defined; the step that follows then finds out by itself.
    steepest = where(isfinite(d2), maximum(d1, d2), d1)
    flat = steepest <= 1e-15
    h1 = where(flat, maximum(tiny, 1e-3 * h0), power(0.01 / where(flat, one, steepest), 1.0 / order))
    size = minimum(maximum(minimum(100.0 * h0, h1), least), span)
    defined = logical_and(statistics.all(isfinite(y)), statistics.all(isfinite(f)))
    return forward * where(defined, size, full(t.type, math.nan))


def next_step(h: Value, error: Value, ok: Value, gain: Value, order: int) -> tuple[Value, Value]:
    """The size of the next step, and the gain that this one's error leaves for the one after it.

    A proportional-integral control after accepted steps; after rejected ones the error alone decides.
    """

    def either(accepted: float, rejected: float) -> Value:
        return where(ok, full(h.type, accepted), full(h.type, rejected))

    factor = _SAFETY * where(ok, gain, full(h.type, 1.0)) * power(error, either(-0.7 / order, -1.0 / order))
    following = h * minimum(maximum(factor, _LEAST), either(_MOST, 1.0))
    return following, where(ok, power(maximum(error, _LEAST_ERROR), 0.4 / order), gain)


def integrate(
    system: System,
    stepper: Stepper,
    tolerance: Tolerance,
    y0: Value,
    t0: Value,
    t1: Value,
    times: Value | None,
    max_steps: int,
    *,
    final: bool,
) -> Outcome:
    """The solution at t1, and at the wanted times, with at most ``max_steps`` trial steps.

    ``final`` says that nothing will differentiate it.
    """
    scalar = t0.type

    def number(x: float) -> Value:
        return full(scalar, x)

    forward = stop_gradient(where(t1 < t0, number(-1.0), number(1.0)))
    slack = stop_gradient(rounding(t0, t1))

    def save(rows: Value | None, step: Step, span: Span, h: Value, y: Value, taken: Value) -> Value | None:
        if rows is None or times is None:
            return None
        return saved(rows, times, span, h, y, step.dense, taken)

    def blank() -> Value | None:
        return None if times is None else unsaved(times, y0)

    def going(now: _Progress) -> Value:
        return logical_and(now.tried < float(max_steps), logical_not(logical_or(now.done, now.stuck)))

    def trial(now: _Progress) -> _Progress:
        t, y = now.t, now.y
        last = (t + now.h - t1) * forward >= 0.0
        end = where(last, t1, t + now.h)
        h = end - t  # what the time really changes by
        step = stepper.step(system, t, y, h, end, now.carried, replay=False)
        error = tolerance.norm(step.error, tolerance.scale(y, step.y))
        error = where(error < math.inf, error, number(math.inf))  # NaN is an error too
        ok = error <= 1.0
        # Not from what was rounded, or a rejected step could be tried again for ever.
        following, gain = next_step(where(last, h, now.h), error, ok, now.gain, stepper.order)
        reached = where(ok, end, t)
        return _Progress(
            t=reached,
            y=where(ok, step.y, y),
            carried=tuple([where(ok, a, b) for a, b in zip(step.carried, now.carried, strict=True)]),
            rows=save(now.rows, step, Span(t, end, forward, where(last, slack, number(0.0))), h, y, ok),
            h=following,
            gain=gain,
            tried=now.tried + 1.0,
            accepted=where(ok, now.accepted + 1.0, now.accepted),
            done=logical_and(ok, last),
            stuck=equal(reached + following, reached),
            kept=apply(PUT, (now.kept, h, now.accepted), (0,)),
            last_h=h,
            last_error=error,
        )

    def run() -> tuple[list[Value], list[Value]]:
        carried = stepper.start(system, t0, y0)
        h = first_step(system, tolerance, stepper.order, t0, t1, y0, carried[0], forward)
        no = full(scalar.with_dtype(bool_), False)
        begin = _Progress(
            t=t0,
            y=y0,
            carried=carried,
            rows=blank(),
            h=h,
            gain=number(1.0),
            tried=number(0.0),
            accepted=number(0.0),
            done=no,
            stuck=logical_not(isfinite(h)),  # where f is not finite no step can help
            kept=full(scalar.with_shape((max_steps,)), 0.0),
            last_h=h,
            last_error=number(math.nan),
        )
        end: _Progress = control.while_loop(going, trial, begin)
        results = [end.y] if end.rows is None else [end.y, end.rows]
        rejected = end.tried - end.accepted
        return results, [end.kept, end.done, end.t, end.last_h, end.last_error, rejected, end.accepted, end.accepted]

    def again(records: Sequence[Value]) -> list[Value]:
        kept, done, accepted, trips = records[0], records[1], records[-2], records[-1]

        def repeat(now: _Replay) -> _Replay:
            i, t, y = now.i, now.t, now.y
            last = logical_and(done, equal(i, accepted - 1.0))
            # After its last step a lane of a mapped axis waits for the others with steps of length 0.
            h = where(last, t1 - t, where(i < accepted, kept[i], number(0.0)))
            end = where(last, t1, t + h)
            step = stepper.step(system, t, y, h, end, now.carried, replay=True)
            rows = save(now.rows, step, Span(t, end, forward, where(last, slack, number(0.0))), h, y, i < accepted)
            return _Replay(i + 1.0, end, step.y, step.carried, rows)

        begin = _Replay(number(0.0), t0, y0, stepper.start(system, t0, y0), blank())
        end: _Replay = control.while_loop(lambda now: now.i < trips, repeat, begin, max_steps=max_steps)
        return [end.y] if end.rows is None else [end.y, end.rows]

    flag = scalar.with_dtype(bool_)
    types = [scalar.with_shape((max_steps,)), flag, *[scalar] * 6]
    results, records = run() if final else replayed("odeint", types, run, again)
    _, done, t, tried, error, rejected, accepted, _ = records
    rows = results[1] if times is not None else None
    return Outcome(results[0], rows, t, tried, error, accepted, rejected, done)
