"""Functions with rules of their own, for the tests of custom_vjp and custom_jvp."""

from __future__ import annotations

import numpy as np
import pytest

import quabla as qb

X = qb.array([0.3, 0.5, -0.7])


def make_cubic():
    """x**3 by reverse mode."""
    f = qb.custom_vjp(lambda x: x * x * x)
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (3.0 * x * x * ct,))
    return f


def make_scaled_sine(scale=3.0):
    """Sine with a derivative that is ``scale`` times as large, so that it is seen which one was used; reverse mode."""
    f = qb.custom_vjp(lambda x: qb.sin(x))
    f.defvjp(lambda x: (qb.sin(x), x), lambda x, ct: (scale * qb.cos(x) * ct,))
    return f


def make_scaled_sine_jvp(scale=3.0):
    f = qb.custom_jvp(lambda x: qb.sin(x))
    f.defjvp(lambda p, t: (qb.sin(p[0]), scale * qb.cos(p[0]) * t[0]))
    return f


def make_product(kind):
    """Sums of a * b over the lanes' own axis, whose derivatives are doubled."""
    f = kind(lambda a, b: qb.sum(a * b))
    if kind is qb.custom_vjp:
        f.defvjp(lambda a, b: (f(a, b), {"a": a, "b": b}), lambda r, ct: (2.0 * ct * r["b"], 2.0 * ct * r["a"]))
    else:
        f.defjvp(lambda p, t: (f(*p), 2.0 * qb.sum(p[0] * t[1] + t[0] * p[1])))
    return f


BOTH = pytest.mark.parametrize("make", [make_scaled_sine, make_scaled_sine_jvp])
KINDS = pytest.mark.parametrize("kind", [qb.custom_vjp, qb.custom_jvp])


def close(got, want, rtol=1e-12):
    np.testing.assert_allclose(np.asarray(got.numpy()), want, rtol=rtol, atol=1e-14)
