"""What ``cg`` and ``gmres`` share: arguments, and the loop around runs of either method.

A method updates its residual by recursion, and the recursion drifts away from b - A x as rounding adds up. So each run starts
from the residual itself, and a run that claims success is followed by another look at it: runs go on as long as they make it
smaller. What is returned is as accurate as the tolerance asks, or as rounding lets it be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from quabla import dtypes, errors
from quabla.control import while_loop
from quabla.functions.creation import zeros_like
from quabla.functions.math import exp2, greater, isfinite, less, less_equal, logical_and, logical_not, logical_or
from quabla.ops.dispatch import Value, scalar
from quabla.ops.elementwise import floor, maximum, where
from quabla.ops.shaping import concat, reshape
from quabla.ops.transcendental import log2
from quabla.solvers.problem import (
    KEPT,
    Outcome,
    Unknown,
    arguments,
    count,
    history_of,
    longest,
    norm,
    positive_int,
    solved,
    tolerance,
)
from quabla.tracing.graph import Body
from quabla.transforms.implicit import linear_solve

__all__ = ["Run", "RunState", "solve_linear"]

#: A run stops where its recursion has left the first residual this many times the unit roundoff behind.
_BELOW_ROUNDING: Final = 1e-3


class RunState(NamedTuple):
    """Where a method stands.

    Attributes:
        x: the iterate.
        iterations: how many iterations were done.
        residual: the norm of the residual, by recursion.
        broken: whether the method cannot go on.
        history: the norms before, as scalars, the latest first.
    """

    x: Any
    iterations: Any
    residual: Any
    broken: Any
    history: tuple[Any, ...]


#: ``(A, M, state, r, target, limit) -> state``: iterations from a residual r until its norm is at most ``target``, the count
#: reaches ``limit`` or the method breaks down.
Run = Callable[[Callable[[Value], Value], Callable[[Value], Value] | None, RunState, Value, Value, float], RunState]


def solve_linear(
    name: str,
    matvec: Callable[..., Any],
    b: Any,
    args: Sequence[Any],
    x0: Any,
    tol: float,
    atol: float,
    maxiter: int | None,
    M: Callable[..., Any] | None,
    info: bool,
    *,
    run: Run,
    method: tuple[Any, ...] = (),
    symmetric: bool,
    broken: Callable[[Outcome], NoReturn],
) -> Any:
    """Solve a linear system by a method; see ``cg`` for the arguments.

    Args:
        run: the method.
        method: what the method depends on.
        symmetric: whether operator and preconditioner are their own transposes.
        broken: raises what an eager breakdown is.
    """
    unknown = Unknown(name, "b", b)
    start = zeros_like(unknown.vector) if x0 is None else unknown.like("x0", x0)
    relative, absolute = tolerance(name, "tol", tol), tolerance(name, "atol", atol)
    limit = max(10 * unknown.vector.type.size, 1) if maxiter is None else positive_int(name, "maxiter", maxiter)

    def algorithm(
        operator: Callable[[Value], Value], precondition: Callable[[Value], Value] | None, b: Value, x: Value
    ) -> Sequence[Value]:
        return _refined(operator, precondition, b, x, relative, absolute, limit, run, partial=info)

    def emit(functions: Sequence[Body], operands: Sequence[Value]) -> Sequence[Value]:
        return linear_solve(name, functions, operands, algorithm, symmetric=symmetric)

    def fail(outcome: Outcome) -> NoReturn:
        done = int(outcome.iterations.item())
        if not np.isfinite(outcome.residual.item()):
            problem = f"the residual is not finite after {done} iterations"
        elif outcome.broken.item():
            broken(outcome)
        elif done >= limit:
            problem = f"did not converge within {limit} iterations"
        else:
            problem = f"stagnates after {done} iterations"
        raise RuntimeError(f"{name}: {problem}; {history_of(outcome)}{errors.at_user_line()}")

    functions = {"matvec": matvec} if M is None else {"matvec": matvec, "M": M}
    options = (name, relative, absolute, limit, bool(info), *method)
    return solved(unknown, [start, unknown.vector], functions, arguments(name, args), emit, options, fail, info)


def _refined(
    operator: Callable[[Value], Value],
    precondition: Callable[[Value], Value] | None,
    b: Value,
    x: Value,
    relative: float,
    absolute: float,
    limit: int,
    run: Run,
    *,
    partial: bool,
) -> list[Value]:
    """Emit runs of a method until one starts from a residual that is small enough, or not smaller than the one before.

    What is no solution is NaN; with ``partial`` it is returned, if it is finite.
    """
    dtype = b.type.dtype
    scale = _scale(b)
    b = b / scale
    size = norm(b)
    x = where(greater(size, 0.0), x / scale, 0.0)
    threshold = maximum(size * relative, absolute / scale)
    roundoff = float(np.finfo(dtype.numpy).eps)

    def again(carry: tuple[RunState, Any, Any, Any]) -> Any:
        return carry[3]

    def step(carry: tuple[RunState, Any, Any, Any]) -> tuple[RunState, Any, Any, Any]:
        state, before, success, _ = carry
        r = b - operator(state.x)
        now = norm(r)
        better = less(now, where(success, 0.5 * before, before))
        target = maximum(threshold, now * (roundoff * _BELOW_ROUNDING))
        # A run that shall not start has reached its target.
        wanted = logical_and(logical_and(better, greater(now, threshold)), logical_not(state.broken))
        target = where(wanted, target, np.inf)
        after = run(operator, precondition, state._replace(residual=now), r, target, float(limit))
        moved = greater(after.iterations, state.iterations)
        claimed = less_equal(after.residual, where(moved, target, threshold))
        after = after._replace(broken=logical_or(state.broken, after.broken))
        return after, now, logical_or(success, claimed), moved

    infinite, unknown = scalar(np.inf, dtype), scalar(-1.0, dtype)
    no = scalar(False, dtypes.bool_)
    first = RunState(x, count(0.0), infinite, no, (unknown,) * (KEPT - 1))
    state, _, success, _ = while_loop(again, step, (first, infinite, no, scalar(True, dtypes.bool_)))
    ok = isfinite(state.residual)
    # What the recursion claims and b - A x belies is rounding, or an operator that is not linear.
    plausible = less_equal(state.residual, maximum(threshold, size * roundoff**0.5))
    history = [reshape(v, (1,)) for v in (state.residual, *state.history)]
    solved = logical_and(logical_and(success, plausible), ok)
    return [
        where(ok if partial else solved, state.x * scale, np.nan),
        state.iterations,
        state.residual * scale,
        solved,
        state.broken,
        concat(history, 0) * scale,
    ]


def _scale(b: Value) -> Value:
    """What b is divided by so that no inner product over- or underflows: 1, or a power of two, which costs no digit."""
    size = longest(b)
    limits = np.finfo(b.type.dtype.numpy)
    low, high = float(limits.tiny) ** 0.25, float(limits.max) ** 0.25
    extreme = logical_or(
        logical_and(greater(size, 0.0), less(size, low)), logical_and(greater(size, high), isfinite(size))
    )
    return where(extreme, exp2(floor(log2(size))), 1.0)
