"""Both CPU engines on typical workloads, and JAX beside them where it is installed.

    python benchmarks/engines.py [--only NAME]

For each workload: the first answer and the best later call in milliseconds, all in one process.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_max_isa=AVX")

import numpy as np
from first_answer import network

import quabla as qb


def mlp(np_: Any, params: Any, x: Any, y: Any) -> Any:
    """The mean squared error of a tanh network."""
    h = x
    for w, b in params[:-1]:
        h = np_.tanh(np_.matmul(h, w) + b)
    w, b = params[-1]
    return np_.mean((np_.matmul(h, w) + b - y) ** 2)


def workloads(
    np_: Any, grad: Any, value_and_grad: Any, vmap: Any, hessian: Any, array: Any
) -> dict[str, tuple[Any, ...]]:
    """Functions and arguments, written once for both libraries."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return array(rng.normal(size=shape))

    net = [(normal(a, b), normal(b)) for a, b in ((2, 64), (64, 64), (64, 1))]
    pinn = [{"w": array(rng.normal(size=s) / np.sqrt(s[0])), "b": normal(s[1])} for s in ((1, 32), (32, 32), (32, 1))]

    def pinn_loss(params: Any, xs: Any) -> Any:
        def u(x: Any, p: Any) -> Any:
            return network(x, p, np_)

        second = vmap(lambda x, p: grad(grad(lambda y: u(y, p)))(x), (0, None))
        return np_.mean((second(xs, params) + np.pi**2 * np_.sin(np.pi * xs)) ** 2)

    def chain(x: Any) -> Any:
        for _ in range(5):
            x = np_.tanh(x) * 1.01 + 0.1
        return x

    def arithmetic(x: Any) -> Any:
        return ((x * 2.0 + 1.0) * x - 3.0) / (x * x + 1.0)

    def unrolled(x: Any) -> Any:
        for i in range(200):
            x = x + 1e-3 * np_.sin(x) * np_.cos(x * (1.0 + i))
        return np_.mean(x)

    return {
        "call on 4 doubles": (lambda x: x * 2.0 + 1.0, normal(4)),
        "MLP step, batch 256": (value_and_grad(lambda p, x, y: mlp(np_, p, x, y)), net, normal(256, 2), normal(256, 1)),
        "PINN step, 128 points": (value_and_grad(pinn_loss), pinn, array(np.linspace(0.0, 1.0, 128))),
        "200 unrolled steps": (value_and_grad(unrolled), array(np.linspace(0.1, 1.0, 8))),
        "tanh chain, 1e6": (chain, normal(1_000_000)),
        "arithmetic chain, 1e6": (arithmetic, normal(1_000_000)),
        "matmul 512": (lambda a: np_.matmul(a, a), normal(512, 512)),
        "hessian, 50 variables": (hessian(lambda v: np_.sum(np_.sin(v) * v) ** 2), normal(50)),
    }


def measure(
    jit: Callable[..., Any], wait: Callable[[Any], Any], fun: Any, args: tuple[Any, ...]
) -> tuple[float, float]:
    """Milliseconds of the first call, and of the best later one."""
    compiled = jit(fun)
    start = time.perf_counter()
    wait(compiled(*args))
    first = time.perf_counter() - start
    best = float("inf")
    until = time.perf_counter() + 0.4
    while time.perf_counter() < until:
        start = time.perf_counter()
        wait(compiled(*args))
        best = min(best, time.perf_counter() - start)
    return first * 1e3, best * 1e3


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    only = parser.parse_args().only
    ours = workloads(qb, qb.grad, qb.value_and_grad, qb.vmap, qb.hessian, qb.array)
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        theirs = {}
    else:
        jax.config.update("jax_enable_x64", True)
        theirs = workloads(jnp, jax.grad, jax.value_and_grad, jax.vmap, jax.hessian, jnp.asarray)
    print(f"{'':24s}{'numpy plan':>18s}{'xla':>18s}{'auto':>18s}{'jax':>18s}   (first / later, ms)")
    for name, (fun, *args) in ours.items():
        if only not in name:
            continue
        row = []
        for engine in ("numpy", "xla", "auto"):
            qb.config.cpu_engine = engine
            row.append(measure(qb.jit, lambda r: r, fun, tuple(args)))
        if theirs:
            other, *values = theirs[name]
            row.append(measure(jax.jit, jax.block_until_ready, other, tuple(values)))
        print(f"{name:24s}" + "".join(f"{f:9.1f} /{c:7.3f}" for f, c in row), flush=True)


if __name__ == "__main__":
    main()
