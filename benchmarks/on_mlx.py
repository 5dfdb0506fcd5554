"""Training steps on MLX beside the same steps written by hand with mlx.core.

    python benchmarks/on_mlx.py [--compile always|never] [--only mlp|pinn]

A step is the loss, its gradient and an update of parameters that stay on the device; the loss is read after each. Both
sides are compiled with mx.compile, or neither. Steps of the two sides alternate, and the medians count. The first
call is left out: on a CPU, MLX has a C++ compiler make every fused kernel, which can take minutes.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import mlx.core as mx
import numpy as np

import quabla as qb
from quabla.runtime.mlx import Resident

RATE = 1e-3


def layers(rng: np.random.Generator, *sizes: int) -> list[np.ndarray]:
    """Weights and biases, one after the other."""
    out = []
    for m, n in pairwise(sizes):
        out += [rng.normal(size=(m, n)) / np.sqrt(m), np.zeros(n)]
    return [a.astype(np.float32) for a in out]


def forward(lib: Any, params: Any, h: Any) -> Any:
    """A tanh network."""
    *hidden, w, b = params
    for i in range(0, len(hidden), 2):
        h = lib.tanh(h @ hidden[i] + hidden[i + 1])
    return h @ w + b


def mlp_loss(lib: Any, params: Any, x: Any, y: Any) -> Any:
    return lib.mean((forward(lib, params, x) - y) ** 2)


def pinn_loss(lib: Any, params: Any, x: Any, y: Any) -> Any:
    """The residual of u'' = -y at some points, with the derivatives taken point by point."""

    def u(t: Any) -> Any:
        return forward(lib, params, t.reshape((1, 1))).reshape(())

    second = lib.vmap(lib.grad(lib.grad(u)))(x)
    return lib.mean((second + y) ** 2)


def problems() -> dict[str, tuple[Callable[..., Any], list[np.ndarray], np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(256, 2)).astype(np.float32)
    points = np.linspace(0.0, 1.0, 128, dtype=np.float32)
    return {
        "mlp": (mlp_loss, layers(rng, 2, 64, 64, 1), x, np.sin(x[:, :1])),
        "pinn": (pinn_loss, layers(rng, 1, 32, 32, 1), points, (np.pi**2 * np.sin(np.pi * points)).astype(np.float32)),
    }


def by_hand(loss: Callable[..., Any], params: list[np.ndarray], x: np.ndarray, y: np.ndarray, compiled: bool) -> Any:
    """A step as an MLX user writes it."""
    differentiated = mx.value_and_grad(lambda p, x, y: loss(mx, p, x, y))

    def step(p: Any, x: Any, y: Any) -> Any:
        value, grads = differentiated(p, x, y)
        return [a - RATE * g for a, g in zip(p, grads, strict=True)], value

    if compiled:
        step = mx.compile(step)
    state, data = [mx.array(p) for p in params], (mx.array(x), mx.array(y))

    def run() -> float:
        nonlocal state
        state, value = step(state, *data)
        mx.eval(state, value)
        return value.item()

    return run


def by_quabla(loss: Callable[..., Any], params: list[np.ndarray], x: np.ndarray, y: np.ndarray) -> Any:
    """The same step traced, differentiated and translated."""

    def step(p: Any, x: Any, y: Any) -> Any:
        value, grads = qb.value_and_grad(lambda p, x, y: loss(qb, p, x, y))(p, x, y)
        return [*(a - RATE * g for a, g in zip(p, grads, strict=True)), value]

    lowered = qb.jit(step).lower([qb.array(p) for p in params], qb.array(x), qb.array(y))
    steps = Resident(lowered.program.graph, len(params))
    steps.put(params, 0)
    return lambda: float(steps([x, y])[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--compile", choices=("always", "never"), default="always")
    parser.add_argument("--only", choices=("mlp", "pinn"))
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args()
    qb.config.mlx_compile = options.compile
    print(f"{mx.default_device()}, mx.compile: {options.compile}")
    for name, problem in problems().items():
        if options.only in (None, name):
            runs = [by_hand(*problem, options.compile == "always"), by_quabla(*problem)]
            started = time.perf_counter()
            losses = [run() for run in runs]
            first = time.perf_counter() - started
            times: list[list[float]] = [[], []]
            for _ in range(options.steps):
                for run, spent in zip(runs, times, strict=True):
                    started = time.perf_counter()
                    run()
                    spent.append(time.perf_counter() - started)
            hand, ours = [1e3 * statistics.median(t) for t in times]
            print(
                f"{name:5} by hand {hand:7.3f} ms, quabla {ours:7.3f} ms, ratio {ours / hand:.2f}; "
                f"losses {losses[0]:.6f} {losses[1]:.6f}; first calls {first:.1f} s"
            )


if __name__ == "__main__":
    main()
