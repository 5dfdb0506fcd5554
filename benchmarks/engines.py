"""Both CPU engines on typical workloads, and JAX beside them where it is installed.

    python benchmarks/engines.py [--only NAME ...] [--columns auto,jax] [--processor]

For each workload the first answer and the best later call in milliseconds, all in one process. The last column is how
much longer than JAX's the later call of "auto" takes. With ``--processor`` the times are those of the processor, of all
threads together, which a busy machine changes less.
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
CALLS = 1500  # before the later calls of "auto": by then it has compiled what pays soon


def measure(
    m: Any, fun: Callable[..., Any], args: tuple[Any, ...], settle: int, clock: Callable[[], float]
) -> tuple[float, float]:
    """Milliseconds of the first call, and of the best later one after some that let an engine settle."""
    compiled = m.jit(fun)
    start = clock()
    m.wait(compiled(*args))
    first = clock() - start
    until = time.perf_counter() + 3.0
    for _ in range(settle):
        m.wait(compiled(*args))
        if time.perf_counter() > until:
            break
    best = float("inf")
    until = time.perf_counter() + 0.3
    while time.perf_counter() < until:
        start = clock()
        m.wait(compiled(*args))
        best = min(best, clock() - start)
    return first * 1e3, best * 1e3


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[""])
    parser.add_argument("--columns", default=",".join(COLUMNS))
    parser.add_argument("--processor", action="store_true")
    options = parser.parse_args()
    clock = time.process_time if options.processor else time.perf_counter
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
        if not any(part in name for part in options.only):
            continue
        row: dict[str, tuple[float, float]] = {}
        for column in columns:
            if column == "jax":
                other, *values = programs["jax"][name]
                row[column] = measure(theirs, other, tuple(values), 3, clock)
            else:
                qb.config.cpu_engine = column
                row[column] = measure(ours, fun, tuple(args), CALLS if column == "auto" else 3, clock)
        ratio = f"{row['auto'][1] / row['jax'][1]:9.2f}" if {"auto", "jax"} <= row.keys() else ""
        print(f"{name:34s}" + "".join(f"{row[c][0]:10.1f} /{row[c][1]:8.3f}" for c in columns) + ratio, flush=True)


if __name__ == "__main__":
    main()
