"""Both CPU engines on typical workloads, and JAX beside them where it is installed.

    python benchmarks/engines.py [--only NAME] [--columns auto,jax]

For each workload the first answer and the best later call in milliseconds, all in one process. The first calls of
"auto" and JAX include tracing; the last column is how much longer than JAX's the later call of "auto" takes.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_max_isa=AVX")

from workloads import Jax, Quabla, workloads

import quabla as qb

COLUMNS = ("numpy", "xla", "auto", "jax")


def measure(m: Any, fun: Callable[..., Any], args: tuple[Any, ...], settle: int) -> tuple[float, float]:
    """Milliseconds of the first call, and of the best later one after some that let an engine settle."""
    compiled = m.jit(fun)
    start = time.perf_counter()
    m.wait(compiled(*args))
    first = time.perf_counter() - start
    until = time.perf_counter() + 3.0
    for _ in range(settle):
        m.wait(compiled(*args))
        if time.perf_counter() > until:
            break
    best = float("inf")
    until = time.perf_counter() + 0.3
    while time.perf_counter() < until:
        start = time.perf_counter()
        m.wait(compiled(*args))
        best = min(best, time.perf_counter() - start)
    return first * 1e3, best * 1e3


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--columns", default=",".join(COLUMNS))
    options = parser.parse_args()
    columns = options.columns.split(",")
    ours = Quabla()
    programs = {"quabla": workloads(ours)}
    theirs: Any = None
    if "jax" in columns:
        try:
            theirs = Jax()
        except ImportError:
            columns.remove("jax")
        else:
            programs["jax"] = workloads(theirs)
    print(f"{'first / later, ms':34s}" + "".join(f"{c:>20s}" for c in columns))
    for name, (fun, *args) in programs["quabla"].items():
        if options.only not in name:
            continue
        row: dict[str, tuple[float, float]] = {}
        for column in columns:
            if column == "jax":
                other, *values = programs["jax"][name]
                row[column] = measure(theirs, other, tuple(values), 3)
            else:
                qb.config.cpu_engine = column
                row[column] = measure(ours, fun, tuple(args), 1000 if column == "auto" else 3)
        ratio = f"{row['auto'][1] / row['jax'][1]:9.2f}" if {"auto", "jax"} <= row.keys() else ""
        print(f"{name:34s}" + "".join(f"{row[c][0]:10.1f} /{row[c][1]:8.3f}" for c in columns) + ratio, flush=True)


if __name__ == "__main__":
    main()
