"""Programs with control flow that several tests share: scalar functions of a vector of four elements around [1, 2]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import quabla as qb

__all__ = ["POINT", "PROGRAMS", "REVERSIBLE", "decay"]

#: Where the programs are smooth: no predicate of theirs is near its edge.
POINT = np.array([1.1, 1.4, 1.25, 1.7])


def decay(y0: Any, steps: int = 200) -> Any:
    """The solution of y' = -y**2 at 1, by the classical method of Runge and Kutta."""
    h = 1.0 / steps

    def body(_: Any, y: Any) -> Any:
        k1 = -y * y
        k2 = -((y + h / 2 * k1) ** 2)
        k3 = -((y + h / 2 * k2) ** 2)
        k4 = -((y + h * k3) ** 2)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return qb.fori_loop(0, steps, body, y0)


def rows(x: Any) -> Any:
    return qb.fori_loop(0, 4, lambda i, c: c * qb.sin(x[i]) + x[-i - 1], 0.3)


def scanned(x: Any) -> Any:
    def body(c: Any, i: Any) -> Any:
        c = qb.sin(c) + x[i] * x
        return c, {"row": c * x[i], "sum": qb.sum(c)}

    last, ys = qb.scan(body, x, length=5 - 1)
    return qb.sum(last) + qb.sum(ys["row"] ** 2) + qb.prod(ys["sum"])


def swapped(x: Any) -> Any:
    a, b = qb.fori_loop(0, 5, lambda i, c: (c[1] * 0.5, qb.sin(c[0]) + x), (x, x * x))
    return qb.sum(a * b)


def twice_the_same(x: Any) -> Any:
    a, b = qb.fori_loop(0, 3, lambda i, c: (qb.tanh(c[0] * c[1]),) * 2, (x, x + 1.0))
    return qb.sum(a * a * b)


def nested(x: Any) -> Any:
    return qb.fori_loop(0, 3, lambda i, c: qb.fori_loop(0, 4, lambda j, d: qb.sin(d * x[i]) + x[j], c), x[0])


def chosen_in_loop(x: Any) -> Any:
    def body(i: Any, c: Any) -> Any:
        return qb.cond(qb.sum(c) > 5.0, lambda v: v * 0.5 * x, lambda v: v * v + x[i], c)

    return qb.sum(qb.fori_loop(0, 4, body, x))


def loop_in_choice(x: Any) -> Any:
    def product() -> Any:
        return qb.fori_loop(0, 4, lambda i, c: c * x[i], x[1])

    return qb.cond(x[0] > 1.3, product, lambda: qb.fori_loop(0, 3, lambda i, c: c + x[i] * x[3], x[1]))


def safe_branches(x: Any) -> Any:
    """Each branch is infinite or not a number, with its derivatives, where the other is taken."""
    r = x[0] - 1.3
    return qb.cond(r > 0.0, lambda: qb.sqrt(r) * x[1], lambda: qb.log(-r) + qb.sqrt(-r) * x[2])


def adaptive(x: Any) -> Any:
    """Newton's method for the square root, masked once it has converged."""
    a = qb.sum(x)

    def body(_: Any, state: Any) -> Any:
        y, done = state
        new = 0.5 * (y + a / y)
        return qb.where(done, y, new), qb.logical_or(done, qb.abs(new * new - a) < 1e-13)

    return qb.fori_loop(0, 30, body, (a, False))[0] * x[0]


def masked_by_choice(x: Any) -> Any:
    """Steps of a size that shrinks, until the time is up."""

    def body(_: Any, state: Any) -> Any:
        t, y = state

        def step() -> Any:
            h = qb.minimum(0.3 / (1.0 + y * y), 1.0 - t)
            return t + h, y + h * qb.sin(y) * x[1]

        return qb.cond(t < 1.0, step, lambda: (t, y))

    return qb.fori_loop(0, 40, body, (0.0, x[0]))[1]


def ignored_carry(x: Any) -> Any:
    return qb.fori_loop(0, 3, lambda i, c: x[i] * i, x[3]) + qb.fori_loop(0, 2, lambda i, c: 2.0, x[0])


def counted(x: Any) -> Any:
    """A while loop of which only the count is used: it has no derivative, so reverse mode may pass."""
    return qb.while_loop(lambda c: c * x[0] < 8.0, lambda c: c + 1.0, 0.0) * qb.sum(x * x)


def stacks(x: Any) -> Any:
    """Rows that are collected in order, from the last, beside their place, and over values that have derivatives."""
    back = qb.scan(lambda c, r: (qb.sin(c * r), c * c), x[0], x, reverse=True)[1]
    shifted = qb.fori_loop(1, 4, lambda i, s: s.at[i - 1].set(x[i] * x[0]), qb.zeros_like(x))
    over = qb.fori_loop(1, 3, lambda i, s: s.at[i].set(x[i] * x[i + 1]), x * x)
    of_itself = qb.fori_loop(0, 3, lambda i, s: s.at[i + 1].set(qb.sin(s[i]) + x[i]), x)
    written_twice = qb.fori_loop(0, 4, lambda i, s: s.at[1].set(x[i] * s[0]), x)
    return sum(qb.sum(s * s * x[1]) for s in (back, shifted, over, of_itself, written_twice))


def doubled(x: Any) -> Any:
    return qb.sum(qb.while_loop(lambda c: qb.sum(c) < 40.0, lambda c: c * x + 1.0, x))


def while_of_loops(x: Any) -> Any:
    def body(state: Any) -> Any:
        n, c = state
        c = qb.fori_loop(0, 2, lambda i, d: d + qb.sin(d * x[i]), c)
        return n + 1.0, qb.cond(c > 5.0, lambda: c - x[1], lambda: c * x[2])

    return qb.while_loop(lambda s: s[0] < 5.0, body, (0.0, x[0]))[1]


REVERSIBLE: dict[str, Callable[[Any], Any]] = {
    f.__name__: f
    for f in (
        rows,
        scanned,
        swapped,
        twice_the_same,
        nested,
        chosen_in_loop,
        loop_in_choice,
        safe_branches,
        adaptive,
        masked_by_choice,
        ignored_carry,
        counted,
        stacks,
    )
}
PROGRAMS: dict[str, Callable[[Any], Any]] = {**REVERSIBLE, "doubled": doubled, "while_of_loops": while_of_loops}
