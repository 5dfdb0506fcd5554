"""The generalized minimal residual method, restarted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

import numpy as np

from quabla import errors
from quabla.control import while_loop
from quabla.functions.creation import arange, eye, zeros
from quabla.functions.math import greater, less, less_equal, logical_and, logical_not
from quabla.functions.systems import solve_triangular
from quabla.ops.control import PUT
from quabla.ops.dispatch import Value, apply
from quabla.ops.elementwise import abs as magnitude, hypot, where
from quabla.ops.linalg import matmul
from quabla.ops.shaping import reshape
from quabla.solvers.linear import Run, RunState, solve_linear
from quabla.solvers.problem import Outcome, count, history_of, norm, positive_int

__all__ = ["gmres"]

#: A vector that orthogonalization leaves less of than this many units of roundoff was in the space already.
_LOST: Final = 10.0


@errors.hiding_library_frames
def gmres(
    matvec: Callable[..., Any],
    b: Any,
    *,
    args: Sequence[Any] = (),
    x0: Any = None,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Callable[..., Any] | None = None,
    info: bool = False,
) -> Any:
    """The solution x of A x = b for any regular A, by the generalized minimal residual method with restarts.

    A is a function and never a matrix; see ``cg`` for what is said there of tracing and derivatives. Reverse mode solves
    with the transposes of A and M, which it makes from ``matvec`` and ``M``.

    Args:
        matvec: ``matvec(x, *args)``, A x; linear in x, of the structure, shapes and dtypes of b.
        b: the right-hand side: a float array of any shape, or a pytree of them.
        args: further arguments for ``matvec`` and ``M``, pytrees.
        x0: the first iterate, like b; zeros by default.
        tol: relative tolerance: the iteration stops at ``norm(b - A x) <= max(tol * norm(b), atol)``, or where rounding
            does not let the residual become smaller, if it has become small.
        atol: absolute tolerance.
        restart: the number of iterations after which the method starts again from the residual; it keeps one vector more
            than that.
        maxiter: the largest number of iterations in all; ten for each unknown by default.
        M: ``M(r, *args)``, an approximation of the inverse of A, linear; it is applied on the right, so the residual is that
            of the system as it is given.
        info: return a pair ``(x, info)``; info is a dict of the rank-0 arrays ``iterations``, ``residual_norm`` and
            ``success``.

    Returns:
        x, like b. Inside a trace an iteration that fails returns its last iterate, which ``info`` tells, and NaN where the
        residual is not finite.

    Raises:
        RuntimeError: eagerly and without ``info``, where the iteration does not converge, stagnates, or meets a residual
            that is not finite.
        ValueError: a singular operator, likewise; a bool array, a tolerance, ``restart`` or ``maxiter`` out of range,
            ``x0`` or a result of ``matvec`` that is not like b.
        TypeError: functions that cannot be called, ``args`` that are no tuple.

    Source: Y. Saad and M. H. Schultz, GMRES: a generalized minimal residual algorithm for solving nonsymmetric linear
    systems, SIAM J. Sci. Stat. Comput. 7 (1986), 856-869.

    Example:
        >>> import quabla as qb
        >>> a = qb.array([[1.0, 1.0], [0.0, -2.0]])
        >>> qb.linalg.gmres(lambda x: qb.matmul(a, x), qb.array([3.0, -4.0]), tol=1e-12)
        Tensor([1., 2.], dtype=float64)
    """
    length = positive_int("gmres", "restart", restart)

    def broken(outcome: Outcome) -> NoReturn:
        raise ValueError(
            f"gmres: the operator is singular, as iteration {int(outcome.iterations.item())} finds; "
            f"{history_of(outcome)}{errors.at_user_line()}"
        )

    return solve_linear(
        "gmres",
        matvec,
        b,
        args,
        x0,
        tol,
        atol,
        maxiter,
        M,
        info,
        run=_runs_of(length),
        method=(length,),
        symmetric=False,
        broken=broken,
    )


def _runs_of(length: int) -> Run:
    """Runs of at most ``length`` iterations."""

    def run(
        operator: Callable[[Value], Value],
        precondition: Callable[[Value], Value] | None,
        state: RunState,
        r: Value,
        target: Value,
        limit: float,
    ) -> RunState:
        """GMRES from the residual r.

        The rows of ``basis`` span the Krylov space; those that are not there yet are zero. ``rotation`` is the product of all
        Givens rotations, so that ``rotation @ H`` is R, whose columns are the rows of ``triangle``, and
        ``norm(r) * rotation[:, 0]`` is the rotated right-hand side, whose last element is the residual.
        """
        n, dtype = r.type.shape[0], r.type.dtype
        m = max(min(length, n), 1)
        lost = _LOST * float(np.finfo(dtype.numpy).eps)

        def conditioned(v: Value) -> Value:
            return v if precondition is None else precondition(v)

        def going(carry: tuple[Any, ...]) -> Any:
            now, j = carry[0], carry[1]
            wanted = logical_and(greater(now.residual, target), less(now.iterations, limit))
            return logical_and(logical_and(wanted, less(j, float(m))), logical_not(now.broken))

        def step(carry: tuple[Any, ...]) -> tuple[Any, ...]:
            now, j, basis, rotation, triangle = carry
            image = operator(conditioned(basis[j]))
            whole = norm(image)
            column = matmul(basis, image)
            w = image - matmul(column, basis)
            again = matmul(basis, w)  # twice is enough
            column, w = column + again, w - matmul(again, basis)
            rest = norm(w)
            inside = less_equal(rest, lost * whole)
            rest = where(inside, 0.0, rest)
            basis = apply(PUT, (basis, where(inside, 0.0, w / rest), j + 1.0), (0,))
            column = matmul(rotation, apply(PUT, (column, rest, j + 1.0), (0,)))
            above, below = column[j], column[j + 1.0]
            radius = hypot(above, below)
            # Nothing new, and a zero on the diagonal of R: the operator maps the space to a smaller one.
            broken = less_equal(radius, lost * whole)
            c, s = where(broken, 1.0, above / radius), where(broken, 0.0, below / radius)
            one, other = rotation[j], rotation[j + 1.0]
            last = c * other - s * one
            rotation = apply(PUT, (rotation, c * one + s * other, j), (0,))
            rotation = apply(PUT, (rotation, last, j + 1.0), (0,))
            column = apply(PUT, (apply(PUT, (column, radius, j), (0,)), below * 0.0, j + 1.0), (0,))
            triangle = apply(PUT, (triangle, column, j), (0,))
            after = RunState(
                now.x,
                now.iterations + 1.0,
                where(broken, now.residual, magnitude(last[0]) * first),
                broken,
                (now.residual, *now.history[:-1]),
            )
            return after, j + where(broken, 0.0, 1.0), basis, rotation, triangle

        first = state.residual
        basis = apply(PUT, (zeros((m + 1, n), dtype), where(greater(first, 0.0), r / first, 0.0), count(0.0)), (0,))
        carry = (state, count(0.0), basis, eye(m + 1, dtype=dtype), zeros((m, m + 1), dtype))
        after, used, basis, rotation, triangle = while_loop(going, step, carry)
        # Columns that were not made have no part in x.
        made = less(arange(m), used)
        lower = where(reshape(made, (m, 1)), triangle[:, :m], eye(m, dtype=dtype))
        y = solve_triangular(lower, where(made, first * rotation[:m, 0], 0.0), trans=1, lower=True)
        return after._replace(x=after.x + conditioned(matmul(y, basis[:m])))

    return run
