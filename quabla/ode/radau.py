"""Radau IIA of order 5 for stiff systems: implicit, L-stable, with three stages found by Newton's method.

Source: E. Hairer and G. Wanner, Solving Ordinary Differential Equations II, 2nd ed. (1996), IV.5 and IV.8.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from quabla import control
from quabla.dtypes import bool_
from quabla.functions.creation import eye
from quabla.functions.math import equal, isfinite, logical_and, logical_not, logical_or
from quabla.functions.products import kron
from quabla.functions.shape import stack
from quabla.functions.systems import inv, solve
from quabla.ode.dense import Dense, constant
from quabla.ode.stepping import Step, Tolerance
from quabla.ode.system import System
from quabla.ops import dispatch
from quabla.ops.casting import stop_gradient
from quabla.ops.dispatch import Value, full
from quabla.ops.elementwise import where
from quabla.ops.linalg import matmul
from quabla.ops.rules import zeros
from quabla.ops.shaping import broadcast_to, reshape
from quabla.tracing.graph import Graph, current_graph
from quabla.transforms.implicit import root
from quabla.transforms.jacobians import jacobian

__all__ = ["Radau"]

_ROOT6: Final = math.sqrt(6.0)
#: Where the stages stand: the zeros of the Radau polynomial of degree 3.
_NODES: Final = ((4.0 - _ROOT6) / 10.0, (4.0 + _ROOT6) / 10.0, 1.0)
_POWERS: Final = np.vander(_NODES, 3, increasing=True)
#: Row j: the coefficients of theta**j in the Lagrange polynomials of the nodes.
_LAGRANGE: Final = np.linalg.inv(_POWERS)
#: The integrals of these polynomials from 0 to theta, divided by theta, by powers of theta.
_DENSE: Final = _LAGRANGE / np.arange(1.0, 4.0)[:, None]
#: The method's matrix a: these integrals from 0 to the nodes.
_A: Final = (np.array(_NODES)[:, None] * _POWERS) @ _DENSE
_A_INVERSE: Final = np.linalg.inv(_A)
#: The real eigenvalue of the inverse of a, which the error estimate shares.
_GAMMA: Final = 3.0 + 3.0 ** (2.0 / 3.0) - 3.0 ** (1.0 / 3.0)
_ERROR: Final = ((-13.0 - 7.0 * _ROOT6) / 3.0, (-13.0 + 7.0 * _ROOT6) / 3.0, -1.0 / 3.0)
_MOST_ITERATIONS: Final = 8


class _Newton(NamedTuple):
    """What the iteration for the stages carries: increments ``z``, and the size and the rate of the last change."""

    z: Value
    size: Value
    i: Value
    done: Value
    failed: Value


class Radau:
    """The stages are increments ``z_i = y(t + c_i h) - y``; the last one is the step's."""

    order = 4

    def __init__(self, tolerance: Tolerance) -> None:
        self._tolerance = tolerance

    def start(self, system: System, t: Value, y: Value) -> tuple[Value, ...]:
        """What the first step takes over: the slope at its start."""
        return (system(y, t),)

    def step(
        self, system: System, t: Value, y: Value, h: Value, end: Value, carried: tuple[Value, ...], *, replay: bool
    ) -> Step:
        """One step; the derivative of its stages is that of their equation."""
        (f0,) = carried
        n, d = y.type.size, y.type.dtype
        slope = stop_gradient(jacobian(lambda at: system(at, t))(stop_gradient(y)))
        step = stop_gradient(h)
        nodes = constant(_A, d)
        times = [*(t + c * h for c in _NODES[:-1]), end]
        newton = inv(eye(3 * n, dtype=d) - step * kron(nodes, slope))

        def residual(z: Value) -> Value:
            rows = reshape(z, (3, n))
            slopes = stack([system(y + rows[k], at) for k, at in enumerate(times)])
            return reshape(rows - h * matmul(nodes, slopes), (3 * n,))

        scale = stop_gradient(self._tolerance.scale(y))

        stages, converged = self._solved(residual, zeros(y.type.with_shape((3 * n,))), newton, scale)
        z = reshape(stages, (3, n))
        new = y + z[2]
        length = where(equal(h, 0.0), full(h.type, 1.0), h)
        means = matmul(constant(_A_INVERSE, d), z) / length
        dense = Dense(_DENSE, tuple([where(equal(h, 0.0), f0, means[k]) for k in range(3)]))
        f1 = system(new, end)
        if replay:
            return Step(new, (f1,), z[2], dense)
        error = self._error(system, t, y, h, f0, slope, z)
        return Step(new, (f1,), where(converged, error, full(error.type, math.nan)), dense)

    def _solved(self, residual: Callable[[Value], Value], start: Value, newton: Value, scale: Value) -> Sequence[Value]:
        """The zero of the residual and whether it was found; in a trace its derivative is that of the equation."""

        def iterate(residual: Callable[[Value], Value], _: Any, start: Value, *context: Value) -> Sequence[Value]:
            return self._iterate(residual, start, *context)

        if not dispatch.emitters.graphs:
            return iterate(residual, None, start, newton, scale)
        graph = Graph([start.type])
        with graph:
            graph.finish([residual(graph.args[0])])
        operands = [start, *map(current_graph().lift, graph.captures)]
        return root("odeint", graph.body(), operands, iterate, (newton, scale))

    def _iterate(self, residual: Callable[[Value], Value], start: Value, newton: Value, scale: Value) -> list[Value]:
        """The stages by Newton's method with a fixed matrix, and whether it converged."""
        tolerance, t = self._tolerance, newton.type.with_shape(())
        scale = broadcast_to(scale, (3, *scale.type.shape))
        epsilon = float(np.finfo(t.dtype.numpy).eps)
        wanted = max(10.0 * epsilon / max(tolerance.rtol, epsilon), min(0.03, math.sqrt(tolerance.rtol)))

        def going(now: _Newton) -> Value:
            return logical_not(logical_or(now.done, now.failed))

        def improve(now: _Newton) -> _Newton:
            change = matmul(newton, residual(now.z))
            size = tolerance.norm(reshape(change, scale.shape), scale)
            # Before there are two changes to compare the rate is a guess.
            rate = where(equal(now.i, 0.0), full(t, 0.5), size / now.size)
            small = rate / (1.0 - rate) * size < wanted
            done = logical_or(equal(size, 0.0), logical_and(rate < 1.0, small))
            left = float(_MOST_ITERATIONS) - now.i
            hopeless = logical_or(logical_not(isfinite(size)), logical_or(rate >= 1.0, left <= 1.0))
            return _Newton(now.z - change, size, now.i + 1.0, done, logical_and(logical_not(done), hopeless))

        no = full(t.with_dtype(bool_), False)
        begin = _Newton(start, full(t, 1.0), full(t, 0.0), no, no)
        end: _Newton = control.while_loop(going, improve, begin, max_steps=_MOST_ITERATIONS)
        return [end.z, end.done]

    def _error(self, system: System, t: Value, y: Value, h: Value, f0: Value, slope: Value, z: Value) -> Value:
        """The difference to an embedded method of order 3, filtered so that stiff components do not dominate it."""
        tolerance = self._tolerance
        matrix = eye(y.type.size, dtype=y.type.dtype) - (h / _GAMMA) * slope
        combined = _ERROR[0] * z[0] + _ERROR[1] * z[1] + _ERROR[2] * z[2]

        def filtered(at: Value) -> Value:
            return solve(matrix, (h * at + combined) / _GAMMA)

        first = filtered(f0)
        large = tolerance.norm(first, tolerance.scale(y, y + z[2])) > 1.0
        return control.cond(large, lambda: filtered(system(y + first, t)), lambda: first)
