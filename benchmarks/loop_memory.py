"""Peak memory and time of the gradient through a long loop, for each checkpointing policy.

    python benchmarks/loop_memory.py [--steps N] [--size N]

Every policy runs in a process of its own; memory is the peak resident set above that of the same process before
the gradient.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

#: What the policy ``sqrt`` may use for 100,000 steps of 1,000 elements.
BOUND_MB = 100.0


def peak_mb() -> float:
    """The largest resident set so far. Linux counts kilobytes, macOS bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def measure(policy: str, engine: str, steps: int, size: int) -> None:
    """Print one line of the table."""
    import numpy as np

    import quabla as qb

    qb.config.loop_checkpoint = int(policy) if policy.isdigit() else policy
    qb.config.cpu_engine = engine

    def gradient(count: int) -> qb.Tensor:
        def f(x: qb.Tensor) -> qb.Tensor:
            return qb.sum(qb.fori_loop(0, count, lambda i, c: c + (1.0 / steps) * qb.sin(c), x))

        return qb.grad(f)(qb.array(np.linspace(0.1, 1.0, size)))

    gradient(8)  # what the engine itself loads is not the loop's
    before = peak_mb()
    start = time.perf_counter()
    g = gradient(steps)
    seconds = time.perf_counter() - start
    # d/dx of y' = sin y over a unit of time is sin y / sin x; the loop is its Euler scheme.
    print(
        f"{policy:>8s}{engine:>8s}{peak_mb() - before:12.1f}{seconds:10.2f}{float(qb.sum(g).item()):24.15g}", flush=True
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--size", type=int, default=1_000)
    parser.add_argument("--engines", default="numpy,xla")
    parser.add_argument("--one", nargs=2, metavar=("POLICY", "ENGINE"), help="measure in this process")
    options = parser.parse_args()
    if options.one:
        measure(*options.one, options.steps, options.size)
        return
    print(f"{options.steps} steps of {options.size} elements; 'sqrt' may use {BOUND_MB:.0f} MB")
    print(f"{'policy':>8s}{'engine':>8s}{'MB':>12s}{'s':>10s}{'sum of the gradient':>24s}")
    full = options.steps * options.size * 8 < 2 << 30
    for engine in options.engines.split(","):
        for policy in ("auto", "sqrt", "1000", *(("full",) if full else ())):
            sizes = ["--steps", str(options.steps), "--size", str(options.size)]
            subprocess.run([sys.executable, __file__, "--one", policy, engine, *sizes], check=True)


if __name__ == "__main__":
    main()
