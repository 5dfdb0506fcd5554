"""Random programs of masks and functions with holes, against the same programs with the masks resolved beforehand.

A derivative sees only what the masks select at a point. So the truth is the program on Python lists of numbers, each
mask a Python bool there: whatever a mask hides is not even computed.
"""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

import quabla as qb

UNARY = {
    "log": qb.log,
    "reciprocal": lambda x: 1.0 / x,
    "root": lambda x: qb.sqrt(qb.log(x * x) + 9.0),
    "sine": qb.sin,
    "bell": lambda x: qb.exp(-x * x),
    "power": lambda x: x**-0.5,
    "square": lambda x: x * x,
    "radius": lambda x: qb.sqrt(x * x + 1.0),
}
BINARY = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b}
#: How a mask compares a value with a number.
MASKS = {"positive": (">", 0.0), "nonzero": ("!=", 0.0), "large": (">", 1.5), "small": ("<", 2.0)}
WEIGHTS = [1.0, -0.7, 0.4, 1.3]
POINTS = [[0.0, 1.0, 2.0, -1.0], [0.0, 0.0, 1.7, 3.0], [-1.0, 0.0, 2.0, 0.5]]
DIRECTION = qb.array([0.3, -1.1, 0.9, 0.6])


def program(rng):
    """Steps, each of which makes a value from those before it."""
    steps = []
    for n in range(1, rng.randrange(4, 9)):
        kind = rng.choices(["unary", "binary", "where", "flip", "stack", "rows"], [35, 20, 30, 5, 5, 5])[0]
        names = {"unary": UNARY, "binary": BINARY}.get(kind, MASKS)
        steps.append((kind, rng.choice(list(names)), [rng.randrange(n) for _ in range(3)], rng.random() < 0.7))
    return steps


def mask(name, x):
    kind, limit = MASKS[name]
    if isinstance(x, float):
        return {">": x > limit, "!=": x != limit, "<": x < limit}[kind]
    return {">": qb.greater, "!=": qb.not_equal, "<": qb.less}[kind](x, limit)


def on_arrays(steps, x):
    values = [x]
    for kind, name, at, plain in steps:
        a, b, c = (values[i] for i in at)
        if kind == "unary":
            r = UNARY[name](a)
        elif kind == "binary":
            r = BINARY[name](a, b)
        elif kind == "where":
            r = qb.where(mask(name, c), a, 0.0 if plain else b)
        elif kind == "flip":
            r = a[::-1]
        elif kind == "stack":
            r = qb.sum(qb.where(mask(name, qb.stack([b, c])), qb.stack([a, b]), 0.0), axis=0)
        else:
            r = qb.sum(qb.where(mask(name, b[:, None]), a[:, None] * qb.array([1.0, 2.0]), 0.0), axis=1)
        values.append(r)
    return qb.sum(values[-1] * qb.array(WEIGHTS))


def on_lists(steps, numbers, x):
    """The program on the elements of ``x``, with the masks that it has at ``numbers``."""
    values, seen = [[x[i] for i in range(4)]], [[float(v) for v in numbers]]
    for kind, name, at, plain in steps:

        def step(values, kind=kind, name=name, at=at, plain=plain, seen=tuple(seen)):
            a, b, _ = (values[i] for i in at)
            _, by, cy = (seen[i] for i in at)
            if kind == "unary":
                return [UNARY[name](v) for v in a]
            if kind == "binary":
                return [BINARY[name](v, w) for v, w in zip(a, b, strict=True)]
            if kind == "where":
                return [v if mask(name, m) else 0.0 if plain else w for v, w, m in zip(a, b, cy, strict=True)]
            if kind == "flip":
                return a[::-1]
            if kind == "stack":
                shown = [
                    [v for v, m in ((v, p), (w, q)) if mask(name, m)] for v, w, p, q in zip(a, b, by, cy, strict=True)
                ]
                return [s[0] + s[1] if len(s) == 2 else s[0] if s else 0.0 for s in shown]
            return [3.0 * v if mask(name, m) else 0.0 for v, m in zip(a, by, strict=True)]

        with np.errstate(all="ignore"):
            made = step([[np.float64(v) for v in vs] for vs in seen])
        values.append(step(values))
        seen.append([float(v) for v in made])
    total = 0.0 * x[1]
    for w, v in zip(WEIGHTS, values[-1], strict=True):
        total = total + w * v
    return total


def along(f):
    return lambda x: qb.jvp(f, (x,), (DIRECTION,))[1]


def back(f):
    return lambda x: qb.sum(qb.grad(f)(x) * DIRECTION)


@pytest.mark.parametrize("seed", range(40))
def test_random_masks(seed):
    steps, numbers = program(random.Random(seed)), POINTS[seed % 3]
    x = qb.array(numbers)
    if not math.isfinite(on_arrays(steps, x).item()):
        return
    truth = lambda v: on_lists(steps, numbers, v)  # noqa: E731
    for order in (1, 2, 3):
        truth = along(truth)
        try:
            want = truth(x).item()
        except ZeroDivisionError:  # of Python numbers, which hidden values leave behind
            return
        if not math.isfinite(want):
            return
        for modes in itertools.product([along, back], repeat=order):
            f = lambda v: on_arrays(steps, v)  # noqa: E731
            for mode in modes:
                f = mode(f)
            np.testing.assert_allclose(f(x).item(), want, rtol=1e-9, atol=1e-9, err_msg=str((steps, modes)))
