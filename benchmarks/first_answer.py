"""How soon programs answer: traces, first answers, lowering and calls.

    python benchmarks/first_answer.py [--rounds 15]

Prints the median and minimum in milliseconds (microseconds where marked) of each stage, each round in the same process.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import quabla as qb
from quabla.jitting import Jit


def pinn_data(width: int = 32, points: int = 128) -> tuple[Any, Any]:
    """Parameters of a 1-32-32-1 network and collocation points."""
    rng = np.random.default_rng(0)
    sizes = [(1, width), (width, width), (width, 1)]
    params = [
        {"w": qb.array(rng.normal(size=s) / np.sqrt(s[0])), "b": qb.array(rng.normal(size=s[1]) * 0.1)} for s in sizes
    ]
    return params, qb.array(np.linspace(0.0, 1.0, points))


def network(x: Any, params: Any, np_: Any = qb) -> Any:
    """The network at one point."""
    h = np_.reshape(x, (1,))
    for layer in params[:-1]:
        h = np_.tanh(np_.matmul(h, layer["w"]) + layer["b"])
    return np_.reshape(np_.matmul(h, params[-1]["w"]) + params[-1]["b"], ())


def pinn_loss(params: Any, xs: Any) -> Any:
    """The mean squared residual of u'' = -pi^2 sin(pi x)."""
    second = qb.vmap(lambda x, p: qb.grad(qb.grad(lambda y: network(y, p)))(x), in_axes=(0, None))
    return qb.mean((second(xs, params) + np.pi**2 * qb.sin(np.pi * xs)) ** 2)


def unrolled(x: Any) -> Any:
    """200 steps of a Python loop."""
    for i in range(200):
        x = x + 1e-3 * qb.sin(x) * qb.cos(x * (1 + i))
    return qb.mean(x)


def timed(label: str, make: Callable[[], Callable[[], Any]], rounds: int, unit: float = 1e3) -> None:
    """Time what ``make`` returns; ``make`` itself is not timed."""
    times = []
    for _ in range(rounds):
        run = make()
        gc.collect()
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    name = "ms" if unit == 1e3 else "us"
    print(f"{label:58s} median {statistics.median(times) * unit:8.2f} {name}   min {min(times) * unit:8.2f} {name}")


def call_time(fun: Callable[..., Any], *args: Any, repeats: int = 3000) -> float:
    """Microseconds a call, the best of five batches."""
    fun(*args)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(repeats):
            fun(*args)
        best = min(best, (time.perf_counter() - start) / repeats)
    return best * 1e6


def cold(code: str, rounds: int = 9) -> float:
    """Milliseconds of a new process that runs ``code``, the best of some."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def main() -> None:
    """Run every measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    params, xs = pinn_data()
    x = qb.array(np.linspace(0.1, 1.0, 8))
    qb.jit(qb.value_and_grad(pinn_loss))(params, xs)
    timed("PINN step, first answer", lambda: lambda: qb.jit(qb.value_and_grad(pinn_loss))(params, xs), rounds)
    timed("200 unrolled steps, first answer", lambda: lambda: qb.jit(qb.value_and_grad(unrolled))(x), rounds)
    step = qb.jit(qb.value_and_grad(pinn_loss))
    step(params, xs)
    timed("PINN step, later call (plan)", lambda: lambda: step(params, xs), rounds)

    from quabla.lowering.to_stablehlo import lower

    for label, fun, args in (("PINN step", pinn_loss, (params, xs)), ("200 unrolled steps", unrolled, (x,))):
        lowered = Jit(qb.value_and_grad(fun), None, (), 8, (), None).lower(*args)
        graph = lowered.program.graph
        count = len(graph.body().nodes)
        lower(graph)
        best = min(_once(lambda g=graph: lower(g)) for _ in range(rounds))
        print(f"{label}: {count} ops to StableHLO in {best * 1e3:.2f} ms, {best / count * 1e6:.1f} us an op")

    four = qb.array([1.0, 2.0, 3.0, 4.0])
    print(f"jit call on 4 doubles (x * 2 + 1): {call_time(qb.jit(lambda v: v * 2.0 + 1.0), four):.2f} us")
    print(f"eager add on 4 doubles: {call_time(lambda a: a + a, four):.2f} us")
    base = cold("import numpy")
    print(f"new process: import numpy {base:.0f} ms; import quabla {cold('import quabla'):.0f} ms; ", end="")
    print(
        f"small gradient {cold('import quabla as qb; qb.grad(lambda x: qb.sum(qb.sin(x) * x))(qb.array([1.0, 2.0]))'):.0f} ms"
    )


def _once(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
