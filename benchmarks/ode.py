"""Ordinary differential equations: steps, errors and times of ``odeint`` beside SciPy's ``solve_ivp`` and JAX's ``odeint``.

python benchmarks/ode.py

Times are of the processor, the best of several runs, in milliseconds. "first" is an eager call that traces; "eager" is one
whose program is there already, on the NumPy plan; "compiled" is ``jit`` on XLA.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

import quabla as qb
from quabla.transforms import programs

COLUMNS = ("first", "eager", "compiled")
METHODS = ("dopri5", "tsit5", "rosenbrock23", "radau")


def lotka_volterra(xp: Any, stack: Any) -> Callable[..., Any]:
    return lambda y, t: stack([1.5 * y[0] - y[0] * y[1], y[0] * y[1] - 3.0 * y[1]])


def van_der_pol(xp: Any, stack: Any) -> Callable[..., Any]:
    return lambda y, t: stack([y[1], 1000.0 * (1.0 - y[0] ** 2) * y[1] - y[0]])


def robertson(xp: Any, stack: Any) -> Callable[..., Any]:
    def f(y: Any, t: Any) -> Any:
        slow, back, fast = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
        return stack([back - slow, slow - back - fast, fast])

    return f


class Problem(NamedTuple):
    """An initial value problem, and the methods to solve it with."""

    make: Callable[..., Any]
    y0: list[float]
    end: float
    rtol: float
    atol: float
    ours: tuple[str, ...]
    scipy: tuple[str, ...]


PROBLEMS = {
    "Lotka-Volterra": Problem(lotka_volterra, [1.0, 1.0], 10.0, 1e-6, 1e-9, METHODS, ("RK45", "Radau")),
    "Robertson": Problem(robertson, [1.0, 0.0, 0.0], 1e4, 1e-6, 1e-10, METHODS[2:], ("Radau",)),
    "Van der Pol, mu = 1000": Problem(van_der_pol, [2.0, 0.0], 1000.0, 1e-6, 1e-9, METHODS[2:], ("Radau",)),
}


def best(run: Callable[[], Any], repeat: int = 5) -> float:
    times = []
    for _ in range(repeat):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times) * 1e3


def by_scipy(p: Problem, method: str, rtol: float, atol: float) -> Any:
    f = p.make(np, np.array)
    return solve_ivp(lambda t, y: f(y, t), (0.0, p.end), p.y0, method=method, rtol=rtol, atol=atol)


def show(name: str, steps: str, y: Any, exact: Any, p: Problem, times: dict[str, float]) -> None:
    error = np.max(np.abs(y - exact) / (p.atol + p.rtol * np.abs(exact)))
    shown = "".join(f"{times[k]:10.2f}" if k in times else " " * 10 for k in COLUMNS)
    print(f"  {name:22s}{steps:>12s}{error:12.2f}{shown}")


def ours(p: Problem, method: str, exact: Any) -> None:
    f, start = p.make(qb, qb.stack), qb.array(p.y0)

    def solve(y: Any, *, info: bool = False) -> Any:
        return qb.ode.odeint(f, y, (0.0, p.end), method=method, rtol=p.rtol, atol=p.atol, max_steps=20_000, info=info)

    def first() -> None:
        programs._programs.clear()
        solve(start)

    y, info = solve(start, info=True)
    qb.config.cpu_engine = "numpy"
    times = {"first": best(first, 3), "eager": best(lambda: solve(start), 3)}
    qb.config.cpu_engine = "xla"
    compiled = qb.jit(solve)
    compiled(start)
    times["compiled"] = best(lambda: compiled(start))
    qb.config.cpu_engine = "auto"
    counts = f"{info['accepted_steps'].item():.0f} + {info['rejected_steps'].item():.0f}"
    show(method, counts, y.numpy(), exact, p, times)


def scipy(p: Problem, method: str, exact: Any) -> None:
    solution = by_scipy(p, method, p.rtol, p.atol)
    time_taken = best(lambda: by_scipy(p, method, p.rtol, p.atol), 3)
    show(f"SciPy {method}", str(len(solution.t) - 1), solution.y[:, -1], exact, p, {"eager": time_taken})


def jax(p: Problem, exact: Any) -> None:
    try:
        import jax
        from jax.experimental.ode import odeint
    except ImportError:
        return
    jax.config.update("jax_enable_x64", True)
    f = p.make(jax.numpy, jax.numpy.stack)
    solve = jax.jit(lambda y: odeint(f, y, jax.numpy.array([0.0, p.end]), rtol=p.rtol, atol=p.atol)[-1])
    start = jax.numpy.array(p.y0)
    y = np.asarray(solve(start))
    show("JAX odeint (dopri5)", "", y, exact, p, {"compiled": best(lambda: solve(start).block_until_ready())})


def main() -> None:
    for title, p in PROBLEMS.items():
        exact = by_scipy(p, "Radau", 1e-12, 1e-15).y[:, -1]
        print(f"\n{title}, t = {p.end:g}, rtol {p.rtol:g}, atol {p.atol:g}")
        print(f"  {'method':22s}{'steps':>12s}{'error / tol':>12s}{''.join(f'{k:>10s}' for k in COLUMNS)}")
        for method in p.ours:
            ours(p, method, exact)
        for method in p.scipy:
            scipy(p, method, exact)
        if "dopri5" in p.ours:
            jax(p, exact)


if __name__ == "__main__":
    main()
