"""Elementwise functions of a million doubles on both CPU engines: the numbers behind the engines' cost model.

    python benchmarks/elements.py

For each function the processor time of a call in nanoseconds per element, the best of several.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import quabla as qb

COUNT = 1_000_000
NAMES = (
    "exp expm1 log log1p sin cos tan arctan tanh sinh cosh sigmoid softplus silu gelu erf erfc sqrt cbrt square "
    "reciprocal abs floor"
)


def functions(y: Any) -> dict[str, Callable[[Any], Any]]:
    """The functions by name; some have two operands."""
    found: dict[str, Callable[[Any], Any]] = {name: getattr(qb, name) for name in NAMES.split()}
    return found | {
        "x + y": lambda x: x + y,
        "x / y": lambda x: x / y,
        "x ** 3": lambda x: x**3,
        "x ** y": lambda x: x**y,
        "hypot": lambda x: qb.hypot(x, y),
        "where": lambda x: qb.where(x > 1.0, x, y),
        "six of arithmetic": lambda x: ((x * 2.0 + 1.0) * x - 3.0) / (x * x + 1.0),
        "gradient of tanh": qb.grad(lambda x: qb.sum(qb.tanh(x))),
    }


def measure(f: Callable[[Any], Any], x: Any) -> float:
    f(x)
    best = float("inf")
    for _ in range(7):
        start = time.process_time()
        f(x)
        best = min(best, time.process_time() - start)
    return best * 1e9 / COUNT


def main() -> None:
    rng = np.random.default_rng(0)
    x, y = (qb.array(rng.uniform(0.1, 2.0, COUNT)) for _ in range(2))
    print(f"{'ns an element':20s}{'numpy plan':>12s}{'xla':>8s}   ({os.cpu_count()} cores)")
    for name, f in functions(y).items():
        row = []
        for engine in ("numpy", "xla"):
            qb.config.cpu_engine = engine
            row.append(measure(qb.jit(lambda x, f=f: f(x)), x))
        print(f"{name:20s}{row[0]:12.1f}{row[1]:8.1f}", flush=True)


if __name__ == "__main__":
    main()
