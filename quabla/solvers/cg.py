"""The method of conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from quabla import errors
from quabla.control import while_loop
from quabla.functions.math import greater, less, less_equal, logical_and
from quabla.ops.dispatch import Value, scalar
from quabla.ops.elementwise import minimum, sqrt, where
from quabla.solvers.linear import RunState, solve_linear
from quabla.solvers.problem import Outcome, dot, history_of

__all__ = ["cg"]


@errors.hiding_library_frames
def cg(
    matvec: Callable[..., Any],
    b: Any,
    *,
    args: Sequence[Any] = (),
    x0: Any = None,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Callable[..., Any] | None = None,
    info: bool = False,
) -> Any:
    """The solution x of A x = b for a symmetric positive definite A, by conjugate gradients.

    A is a function and never a matrix. It is traced once, not called in each iteration. Derivatives are those of the
    solution, in both modes and to every order, with respect to b, ``args`` and traced values that ``matvec`` closes over;
    each is one more solve with the same tolerance. ``x0``, ``M`` and the tolerances have none.

    Args:
        matvec: ``matvec(x, *args)``, A x; linear in x, of the structure, shapes and dtypes of b.
        b: the right-hand side: a float array of any shape, or a pytree of them.
        args: further arguments for ``matvec`` and ``M``, pytrees.
        x0: the first iterate, like b; zeros by default.
        tol: relative tolerance: the iteration stops at ``norm(b - A x) <= max(tol * norm(b), atol)``, or where rounding
            does not let the residual become smaller, if it has become small.
        atol: absolute tolerance.
        maxiter: the largest number of iterations; ten for each unknown by default.
        M: ``M(r, *args)``, an approximation of the inverse of A, symmetric positive definite too.
        info: return a pair ``(x, info)``; info is a dict of the rank-0 arrays ``iterations``, ``residual_norm`` and
            ``success``.

    Returns:
        x, like b. Inside a trace an iteration that fails returns its last iterate, which ``info`` tells, and NaN where the
        residual is not finite.

    Raises:
        RuntimeError: eagerly and without ``info``, where the iteration does not converge, meets a direction p with
            p A p <= 0, or a residual that is not finite.
        ValueError: a bool array, a tolerance or ``maxiter`` out of range, ``x0`` or a result of ``matvec`` that is not
            like b.
        TypeError: functions that cannot be called, ``args`` that are no tuple.

    Source: M. R. Hestenes and E. Stiefel, Methods of conjugate gradients for solving linear systems, J. Res. Nat. Bur.
    Standards 49 (1952), 409-436.

    Example:
        >>> import quabla as qb
        >>> qb.linalg.cg(lambda x, d: d * x, qb.array([1.0, 1.0]), args=(qb.array([2.0, 4.0]),))
        Tensor([0.5 , 0.25], dtype=float64)
    """

    def broken(outcome: Outcome) -> NoReturn:
        which = "the operator is not" if M is None else "the operator or M is not"
        raise RuntimeError(
            f"cg: {which} positive definite, as iteration {int(outcome.iterations.item())} finds; use gmres; "
            f"{history_of(outcome)}{errors.at_user_line()}"
        )

    return solve_linear("cg", matvec, b, args, x0, tol, atol, maxiter, M, info, run=_run, symmetric=True, broken=broken)


def _run(
    operator: Callable[[Value], Value],
    precondition: Callable[[Value], Value] | None,
    state: RunState,
    r: Value,
    target: Value,
    limit: float,
) -> RunState:
    """Conjugate gradients from the residual r."""

    def conditioned(r: Value) -> tuple[Value, Value]:
        z = r if precondition is None else precondition(r)
        return z, dot(r, z)

    def going(carry: tuple[Any, ...]) -> Any:
        _, k, residual, _, lowest, *_ = carry
        return logical_and(logical_and(greater(residual, target), less(k, limit)), greater(lowest, 0.0))

    def step(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        x, k, residual, history, _, r, p, slope = carry
        image = operator(p)
        curvature = dot(p, image)
        lowest = minimum(curvature, slope)
        length = where(less_equal(lowest, 0.0), 0.0, slope / curvature)
        x = x + length * p
        r = r - length * image
        z, after = conditioned(r)
        return x, k + 1.0, sqrt(dot(r, r)), (residual, *history[:-1]), lowest, r, z + (after / slope) * p, after

    z, slope = conditioned(r)
    unbroken = scalar(1.0, r.type.dtype)
    carry = (state.x, state.iterations, state.residual, state.history, unbroken, r, z, slope)
    x, k, residual, history, lowest, *_ = while_loop(going, step, carry)
    return RunState(x, k, residual, less_equal(lowest, 0.0), history)
