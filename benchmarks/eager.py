"""What an eager op costs beside the NumPy call that does its work.

    python benchmarks/eager.py [--only NAME]

For each op, on 4 and on a million doubles: microseconds of quabla and of NumPy, the best of many batches taken in turns.
The bar is 2 microseconds over NumPy on few elements, and nothing but noise on many: no further pass over memory.
"""

from __future__ import annotations

import argparse
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

import quabla as qb

Calls = tuple[Callable[[], Any], Callable[[], Any]]


def changed(x: Any) -> Any:
    """NumPy's way to a new array with another first element."""
    x = x.copy()
    x[0] = 1.0
    return x


def calls(n: int) -> dict[str, Calls]:
    """Each op on arrays of n elements (matrices of about as many), by quabla and by NumPy."""
    x, y = np.linspace(0.1, 0.9, n), np.linspace(0.2, 0.7, n)
    side = min(int(n**0.5), 200)
    m, v = np.linspace(0.1, 0.9, side * side).reshape(side, side), np.linspace(0.2, 0.7, side)
    qx, qy, qm, qv = map(qb.array, (x, y, m, v))
    mask, qmask = x < y, qx < qy
    where = np.array([0, 2])
    numbers, number = x[:1000].tolist(), np.asarray(0.5)
    one = qb.array(0.5)
    half = n // 2
    return {
        "x + y": (lambda: qx + qy, lambda: x + y),
        "x * y": (lambda: qx * qy, lambda: x * y),
        "x / y": (lambda: qx / qy, lambda: x / y),
        "x + 2.0": (lambda: qx + 2.0, lambda: x + 2.0),
        "2 * x": (lambda: 2 * qx, lambda: 2 * x),
        "x ** 2": (lambda: qx**2, lambda: x**2),
        "-x": (lambda: -qx, lambda: -x),
        "sqrt": (lambda: qb.sqrt(qx), lambda: np.sqrt(x)),
        "sin": (lambda: qb.sin(qx), lambda: np.sin(x)),
        "exp": (lambda: qb.exp(qx), lambda: np.exp(x)),
        "maximum": (lambda: qb.maximum(qx, qy), lambda: np.maximum(x, y)),
        "x < y": (lambda: qx < qy, lambda: x < y),
        "x > 0": (lambda: qx > 0, lambda: x > 0),
        "where": (lambda: qb.where(qmask, qx, qy), lambda: np.where(mask, x, y)),
        "where, number": (lambda: qb.where(qmask, qx, 0.0), lambda: np.where(mask, x, 0.0)),
        "sum": (lambda: qb.sum(qx), lambda: np.sum(x)),
        "x.sum()": (qx.sum, x.sum),
        "mean": (lambda: qb.mean(qx), lambda: np.mean(x)),
        "sum, axis 0": (lambda: qm.sum(axis=0), lambda: m.sum(axis=0)),
        "matrix @ matrix": (lambda: qm @ qm, lambda: m @ m),
        "matrix by vector": (lambda: qb.matmul(qm, qv), lambda: np.matmul(m, v)),
        "dot": (lambda: qb.dot(qv, qv), lambda: np.dot(v, v)),
        "reshape": (lambda: qb.reshape(qx, (2, half)), lambda: np.reshape(x, (2, half))),
        "m.T": (lambda: qm.T, lambda: m.T),
        "x[0]": (lambda: qx[0], lambda: x[0]),
        "x[1:half]": (lambda: qx[1:half], lambda: x[1:half]),
        "m[:, 0]": (lambda: qm[:, 0], lambda: m[:, 0]),
        "m[0, 0]": (lambda: qm[0, 0], lambda: m[0, 0]),
        "x[indices]": (lambda: qx[where], lambda: x[where]),
        "x.at[0].set": (lambda: qx.at[0].set(1.0), lambda: changed(x)),
        "stack": (lambda: qb.stack([qv, qv]), lambda: np.stack([v, v])),
        "concat": (lambda: qb.concat([qv, qv], axis=0), lambda: np.concatenate([v, v], axis=0)),
        "astype": (lambda: qx.astype(qb.float32), lambda: x.astype(np.float32)),
        "array(list)": (lambda: qb.array(numbers), lambda: np.array(numbers)),
        "array(ndarray)": (lambda: qb.array(x), lambda: np.array(x)),
        "zeros": (lambda: qb.zeros(n), lambda: np.zeros(n)),
        "sqrt(2.0)": (lambda: qb.sqrt(2.0), lambda: np.sqrt(2.0)),
        "x.shape": (lambda: qx.shape, lambda: x.shape),
        "float": (lambda: float(one), lambda: float(number)),
        "item": (one.item, number.item),
    }


def measure(ours: Callable[[], Any], numpys: Callable[[], Any]) -> tuple[float, float]:
    """Microseconds of both calls."""
    timers = timeit.Timer(ours), timeit.Timer(numpys)
    number = max(1, int(2e-4 / timers[0].timeit(1)))
    best = [float("inf"), float("inf")]
    for _ in range(200):
        for i, timer in enumerate(timers):
            best[i] = min(best[i], timer.timeit(number) / number)
    return best[0] * 1e6, best[1] * 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    only = parser.parse_args().only
    few, many = calls(4), calls(1_000_000)
    print(f"{'':18s}{'4 elements':>27s}{'1e6 elements':>30s}   (quabla, NumPy, difference, us)")
    for name in few:
        if only in name:
            row = [measure(*few[name]), measure(*many[name])]
            print(f"{name:18s}" + "   ".join(f"{q:9.2f}{p:9.2f}{q - p:9.2f}" for q, p in row), flush=True)


if __name__ == "__main__":
    main()
