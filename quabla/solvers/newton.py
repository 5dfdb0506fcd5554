"""Newton's method with a line search, for small systems."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

import numpy as np

from quabla import dtypes, errors
from quabla.control import while_loop
from quabla.functions.math import greater, isfinite, less, less_equal, logical_and, logical_not, logical_or
from quabla.ops.dispatch import Value, scalar
from quabla.ops.elementwise import minimum, where
from quabla.ops.shaping import concat, reshape
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
from quabla.transforms.implicit import dense_solve, root

__all__ = ["newton"]

#: What a step has to reduce the residual by, as a part of what it would reduce that of a linear function by.
_DECREASE: Final = 1e-4
#: The shortest step that the line search tries.
_SHORTEST: Final = 2.0**-40


@errors.hiding_library_frames
def newton(
    f: Callable[..., Any],
    x0: Any,
    *,
    args: Sequence[Any] = (),
    tol: float | None = None,
    maxiter: int = 50,
    info: bool = False,
) -> Any:
    """A root x of f, by Newton's method with the dense Jacobian and a line search.

    f is traced once, not called in each iteration. Derivatives are those of the root, in both modes and to every order, with
    respect to ``args`` and traced values that f closes over; ``x0`` has none.

    Args:
        f: ``f(x, *args)``, of the structure, shapes and dtypes of x.
        x0: the first iterate: a float array of any shape, or a pytree of them.
        args: further arguments for f, pytrees.
        tol: the iteration stops at ``norm(f(x)) <= tol * min(1, norm(f(x0)))``, or where a step whose elements are at most
            ``tol * max(abs(x))`` makes f no smaller; then one more step is taken if that makes f smaller. The square root of the dtype's unit
            roundoff by default.
        maxiter: the largest number of iterations.
        info: return a pair ``(x, info)``; info is a dict of the rank-0 arrays ``iterations``, ``residual_norm`` and
            ``success``.

    Returns:
        x, like x0. Inside a trace an iteration that fails returns its last iterate, which ``info`` tells, and NaN where f is
        not finite.

    Raises:
        RuntimeError: eagerly and without ``info``, where the Jacobian is singular, no step makes f smaller, the iteration
            does not converge, or f is not finite at x0.
        ValueError: a bool array, ``tol`` or ``maxiter`` out of range, a result of f that is not like x.
        TypeError: an f that cannot be called, ``args`` that are no tuple.

    Source: J. E. Dennis and R. B. Schnabel, Numerical Methods for Unconstrained Optimization and Nonlinear Equations
    (SIAM, 1996), chapter 6.

    Example:
        >>> import quabla as qb
        >>> qb.newton(lambda x, a: x * x - a, qb.array([1.0, 1.0]), args=(qb.array([4.0, 9.0]),))
        Tensor([2., 3.], dtype=float64)
        >>> qb.grad(lambda a: qb.newton(lambda x: x * x - a, 1.0))(4.0)
        Tensor(0.25, dtype=float64)
    """
    unknown = Unknown("newton", "x0", x0)
    roundoff = float(np.finfo(unknown.vector.type.dtype.numpy).eps)
    wanted = roundoff**0.5 if tol is None else tolerance("newton", "tol", tol)
    limit = positive_int("newton", "maxiter", maxiter)

    def algorithm(
        function: Callable[[Value], Value], jacobian: Callable[[Value], Value], start: Value
    ) -> Sequence[Value]:
        return _iterated(function, jacobian, start, wanted, max(wanted, 4.0 * roundoff), limit, partial=info)

    def emit(functions: Sequence[Body], operands: Sequence[Value]) -> Sequence[Value]:
        return root("newton", functions[0], operands, algorithm)

    def fail(outcome: Outcome) -> NoReturn:
        done = int(outcome.iterations.item())
        if not np.isfinite(outcome.residual.item()):
            problem = "f is not finite at x0"
        elif outcome.broken.item():
            problem = f"the Jacobian is singular at iteration {done}"
        elif done >= limit:
            problem = f"did not converge within {limit} iterations"
        else:
            problem = f"no step makes f smaller at iteration {done}"
        raise RuntimeError(f"newton: {problem}; {history_of(outcome)}{errors.at_user_line()}")

    options = ("newton", wanted, limit, bool(info))
    return solved(unknown, [unknown.vector], {"f": f}, arguments("newton", args), emit, options, fail, info)


def _iterated(
    function: Callable[[Value], Value],
    jacobian: Callable[[Value], Value],
    start: Value,
    tol: float,
    small: float,
    limit: int,
    *,
    partial: bool,
) -> list[Value]:
    """Emit the iteration and a last step; ``small`` is the relative length of a step that may end it.

    What is no root is NaN; with ``partial`` it is returned.
    """
    value = function(start)
    size = norm(value)
    target = tol * minimum(size, 1.0)
    no = scalar(False, dtypes.bool_)
    unknown = scalar(-1.0, start.type.dtype)

    def step_from(x: Value, value: Value) -> Value:
        return -dense_solve(jacobian(x), value)

    def going(carry: tuple[Any, ...]) -> Any:
        _, _, size, k, *ends, _ = carry
        unfinished = logical_and(greater(size, target), less(k, float(limit)))
        return logical_and(unfinished, logical_not(functools.reduce(logical_or, ends)))

    def step(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        x, value, size, k, *_, history = carry
        d = step_from(x, value)
        length = longest(d)
        y, image, reached = _shortened(function, x, d, size, isfinite(length))
        better = less(reached, size)
        # At a root that rounding hides, steps are short and make f no smaller.
        settled = logical_and(logical_not(better), less_equal(length, small * longest(x)))
        singular = logical_not(isfinite(length))
        stuck = logical_not(logical_or(better, logical_or(settled, singular)))
        return (
            where(better, y, x),
            where(better, image, value),
            where(better, reached, size),
            k + 1.0,
            settled,
            singular,
            stuck,
            (size, *history[:-1]),
        )

    carry = (start, value, size, count(0.0), no, no, no, (unknown,) * (KEPT - 1))
    x, value, size, iterations, settled, singular, _, history = while_loop(going, step, carry)
    success = logical_or(less_equal(size, target), settled)
    y = x + step_from(x, value)
    reached = norm(function(y))
    better = logical_and(success, less(reached, size))
    x = where(better, y, where(isfinite(size) if partial else success, x, np.nan))
    norms = [reshape(v, (1,)) for v in (size, *history)]
    return list(Outcome(x, iterations, where(better, reached, size), success, singular, concat(norms, 0)))


def _shortened(
    function: Callable[[Value], Value], x: Value, d: Value, size: Value, possible: Value
) -> tuple[Value, Value, Value]:
    """Halve a step until it makes f smaller: where it leads to, f there, and its norm."""

    def tried(t: Value) -> tuple[Value, Value, Value]:
        y = x + t * d
        image = function(y)
        return y, image, norm(image)

    def going(carry: tuple[Any, ...]) -> Any:
        t, _, _, reached = carry
        enough = less_equal(reached, (1.0 - _DECREASE * t) * size)
        return logical_and(possible, logical_and(logical_not(enough), greater(t, _SHORTEST)))

    def step(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        t = 0.5 * carry[0]
        return t, *tried(t)

    whole = scalar(1.0, x.type.dtype)
    return while_loop(going, step, (whole, *tried(whole)))[1:]
