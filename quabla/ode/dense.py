"""Values between the ends of a step, and the rows of a solution at the times the user asked for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from quabla import control
from quabla.dtypes import dtype
from quabla.functions import statistics
from quabla.functions.math import equal, logical_and
from quabla.functions.products import tensordot
from quabla.functions.shape import stack
from quabla.ops.dispatch import Value, apply, full
from quabla.ops.eager import wrap
from quabla.ops.elementwise import abs as absolute, maximum, where
from quabla.ops.shaping import RESHAPE
from quabla.ops.types import tensor_type

__all__ = ["Dense", "Span", "constant", "rounding", "saved", "unsaved"]


class Dense(NamedTuple):
    """A polynomial through a step: ``y(t + theta h) = y + theta h * sum_i p_i(theta) k_i``.

    The slopes ``k_i`` are weighted by polynomials with constant coefficients. So the time derivative is right where the
    step has no length too.

    Attributes:
        coefficients: of the p_i; row j has those of theta**j.
        slopes: the k_i.
    """

    coefficients: np.ndarray[Any, Any]
    slopes: tuple[Value, ...]

    def at(self, y: Value, h: Value, elapsed: Value) -> Value:
        """The states at times after the start of the step, ``[m]``, as rows."""
        t = h.type
        length = where(equal(h, 0.0), full(t, 1.0), h)
        theta = elapsed / length
        power, powers = theta, []
        for _ in self.coefficients[1:]:
            powers.append(power)
            power = power * theta
        first, *rest = self.coefficients
        weights = constant(first, t.dtype) + tensordot(stack(powers, 1), constant(np.array(rest), t.dtype), 1)
        slope = tensordot(weights, stack(self.slopes), 1)
        return y + column(elapsed, slope.type.ndim) * slope


class Span(NamedTuple):
    """One step in time.

    Attributes:
        start: where it starts.
        end: where it ends.
        forward: 1 or -1, the direction of time.
        slack: how far beyond its end it covers times still: what rounding leaves for the last step, 0 for others.
    """

    start: Value
    end: Value
    forward: Value
    slack: Value


def rounding(t0: Value, t1: Value) -> Value:
    """How far apart times of a span may be that differ by a few roundings; never 0."""
    limits = np.finfo(t0.type.dtype.numpy)
    size = maximum(absolute(t0), absolute(t1))
    return maximum(4.0 * float(limits.eps) * size, full(t0.type, float(limits.tiny)))


def unsaved(times: Value, like: Value) -> Value:
    """A row of NaN for each time."""
    t = like.type
    return full(t.with_shape((times.type.shape[0], *t.shape)), float("nan"))


def saved(rows: Value, times: Value, span: Span, h: Value, y: Value, dense: Dense, taken: Value | None = None) -> Value:
    """The rows with those filled whose times a step covers, both ends included, if the step is taken."""
    since = (times - span.start) * span.forward
    covered = logical_and(since >= 0.0, (times - span.end) * span.forward <= span.slack)
    if taken is not None:
        covered = logical_and(covered, taken)

    def fill() -> Value:
        # Elsewhere the polynomial could overflow.
        elapsed = where(covered, times - span.start, full(times.type, 0.0))
        return where(column(covered, rows.type.ndim), dense.at(y, h, elapsed), rows)

    return control.cond(statistics.any(covered), fill, lambda: rows)


def column(x: Value, rank: int) -> Value:
    """A vector along the first of ``rank`` axes."""
    shape = (x.type.shape[0], *(1,) * (rank - 1))
    return x if x.type.shape == shape else apply(RESHAPE, (x,), (shape,))


def constant(array: np.ndarray[Any, Any], dtype: dtype) -> Value:
    """A constant matrix in the state's dtype."""
    return wrap(array.astype(dtype.numpy), tensor_type(array.shape, dtype))
