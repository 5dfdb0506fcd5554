"""What a selection leaves out has no part in a derivative, where its own is infinite or NaN too.

The truth of a masked function is the function itself at the points that the mask lets through, and 0 at the others.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import quabla as qb

X = qb.array([-1.0, 0.0, 1.0, 2.5])


def forward(f):
    return lambda x: qb.jvp(f, (x,), (qb.ones(x.shape),))[1]


def reverse(f):
    return qb.grad(lambda x: qb.sum(f(x)))


MODES = {"forward": forward, "reverse": reverse}

#: Functions that have no finite value or slope where their mask is False.
FUNCTIONS = {
    "log": (lambda x: x > 0, qb.log),
    "reciprocal": (lambda x: qb.not_equal(x, 0.0), lambda x: 1.0 / x),
    "x log x": (lambda x: x > 0, lambda x: x * qb.log(x)),
    "sinc": (lambda x: qb.not_equal(x, 0.0), lambda x: qb.sin(x) / x),
    "powers": (lambda x: x > 0, lambda x: x**0.5 * x**-1.5),
    "inner powers": (lambda x: x > 0, lambda x: qb.exp(x**-0.3)),
    "root of a log": (lambda x: x > 0, lambda x: qb.sqrt(qb.log(x * x) + 3.0) * x),
    "twice used": (lambda x: x > 0, lambda x: qb.log(x) * qb.log(x) + qb.exp(qb.log(x) * 0.5)),
    "arccosh": (lambda x: x > 1.5, qb.arccosh),
    "nested": (lambda x: x > 0, lambda x: qb.where(x > 2.0, qb.log(x - 2.0), qb.log(2.0 - x) / x)),
    "selection inside": (lambda x: x > 0, lambda x: qb.log(qb.maximum(x, 0.0)) * qb.abs(x)),
    "softplus of a pole": (lambda x: qb.not_equal(x, 0.0), lambda x: qb.softplus(-1.0 / (x * x))),
}


def masked(name):
    mask, f = FUNCTIONS[name]
    return lambda x: qb.where(mask(x), f(x), 0.0)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_only_what_is_selected_has_a_derivative(name, order):
    mask, f = FUNCTIONS[name]
    inside = mask(X).numpy()
    plain, truth = f, np.zeros(4)
    for _ in range(order):
        plain = forward(plain)
    truth[inside] = plain(qb.array(X.numpy()[inside])).numpy()
    assert np.isfinite(truth).all()
    for modes in itertools.product(MODES.values(), repeat=order):
        g = masked(name)
        for mode in modes:
            g = mode(g)
        np.testing.assert_allclose(g(X).numpy(), truth, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("cpu", ["numpy", "xla"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_mapped_and_compiled(name, cpu, engine):
    engine(cpu)
    want = reverse(masked(name))(X).numpy()
    np.testing.assert_allclose(qb.jit(qb.vmap(qb.grad(masked(name))))(X).numpy(), want, rtol=1e-12, atol=1e-14)
    second = qb.hessian(lambda x: qb.sum(masked(name)(x)))(X).numpy()
    assert np.isfinite(second).all()
    np.testing.assert_allclose(np.diag(second), reverse(reverse(masked(name)))(X).numpy(), rtol=1e-12, atol=1e-14)


def test_masks_that_broadcast():
    x = qb.array([[0.0, 1.0], [2.0, -3.0]])
    rows = qb.array([[False], [True]])
    f = lambda x: qb.sum(qb.where(rows, qb.log(qb.abs(x)), 0.0) * qb.array([1.0, 2.0]))  # noqa: E731
    assert qb.grad(f)(x).tolist() == [[0.0, 0.0], [0.5, -2.0 / 3.0]]
    scalar = lambda s: qb.sum(qb.where(qb.array([True, False]), qb.log(s * qb.array([1.0, 0.0])), 0.0))  # noqa: E731
    assert qb.grad(scalar)(2.0).item() == 0.5
    assert qb.grad(qb.grad(scalar))(2.0).item() == -0.25


def test_what_both_branches_give_adds_up():
    f = lambda x: qb.sum(qb.where(x > 0, qb.log(x), qb.exp(x)))  # noqa: E731
    np.testing.assert_allclose(qb.grad(f)(X).numpy(), [np.exp(-1.0), 1.0, 1.0, 0.4], rtol=1e-15)


def test_a_long_chain_of_selections_does_not_grow_faster_than_its_length():
    def f(x, n):
        for _ in range(n):
            x = qb.where(x > 0.1, qb.sin(x) * 1.1, x * x + 0.2)
        return qb.sum(x)

    sizes = [len(qb.jit(qb.grad(lambda x, n=n: f(x, n))).lower(X).as_text().splitlines()) for n in (20, 40, 80)]
    assert sizes[2] - sizes[1] < 2.2 * (sizes[1] - sizes[0])


W = qb.array([1.0, 2.0])
PLACES = qb.array([3, 1, 1, 2], dtype=qb.int64)
#: Functions of the elements of ``x``, some of which have no finite value at 0, behind ops that move elements or add them up.
MOVED = {
    "broadcast": lambda x: qb.where(x[:, None] > 0, qb.log(x)[:, None] * W, 0.0),
    "sum with an outer value": lambda x: qb.where(x[:, None] > 0, qb.log(x)[:, None] + W, 0.0),
    "mean": lambda x: qb.where(x > 0, qb.mean(qb.log(x)[:, None] * W, axis=1), 0.0),
    "flip": lambda x: qb.where(x[::-1] > 0, qb.log(x)[::-1], 0.0),
    "transpose": lambda x: qb.where(qb.outer(x, W).T > 0, qb.log(qb.outer(x, W)).T, 0.0),
    "reshape": lambda x: qb.where(x.reshape(2, 2) > 0, qb.log(x).reshape(2, 2), 0.0),
    "slices": lambda x: qb.where(x[1::2] > 0, qb.log(x)[1::2], 0.0),
    "stack": lambda x: qb.where(qb.stack([x, x]) > 0, qb.stack([qb.log(x), 1.0 / x]), 0.0),
    "pad": lambda x: qb.where(qb.pad(x, 1) > 0, qb.pad(qb.log(x), 1), 0.0),
    "roll": lambda x: qb.where(qb.roll(x, 1) > 0, qb.roll(qb.log(x), 1), 0.0),
    "static indices": lambda x: qb.where(x[[3, 1, 1, 2]] > 0, qb.log(x)[[3, 1, 1, 2]], 0.0),
    "indices": lambda x: qb.where(qb.take(x, PLACES) > 0, qb.take(qb.log(x), PLACES), 0.0),
    "running sum": lambda x: qb.where(x[1:2] > 0, qb.cumsum(qb.log(x[1:2])), 0.0),
    "masks that differ": lambda x: qb.where(x > 0, qb.log(x), 0.0) + qb.where(x > 0.5, qb.sqrt(x) / x, 0.0) * x,
    "concat": lambda x: qb.where(qb.concat([x, x], 0) > 0, qb.concat([qb.sqrt(qb.log(x + 1.0)), 1.0 / x], 0), 0.0),
}


@pytest.mark.parametrize("name", MOVED)
def test_masks_follow_elements_that_are_moved(name):
    f = MOVED[name]
    x = qb.array([0.0, 1.0, 0.0, 2.5])
    apart = qb.array([1e-3, 1.0, 1e-3, 2.5])  # where nothing is infinite
    hidden = x.numpy() == 0.0
    directions = [qb.array(np.eye(4)[i]) for i in range(4)]
    forward_mode = [qb.sum(qb.jvp(f, (x,), (d,))[1]).item() for d in directions]
    got = reverse(f)(x).numpy()
    np.testing.assert_allclose(got, forward_mode, rtol=1e-14)
    assert (got[hidden] == 0.0).all()
    np.testing.assert_allclose(got[~hidden], reverse(f)(apart).numpy()[~hidden], rtol=1e-14)
    for modes in itertools.product(MODES.values(), repeat=2):
        higher = f
        for mode in (reverse, *modes):
            higher = mode(higher)
            assert (higher(x).numpy()[hidden] == 0.0).all()
            np.testing.assert_allclose(higher(x).numpy()[~hidden], higher(apart).numpy()[~hidden], rtol=1e-13)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
@pytest.mark.parametrize("f", [qb.logaddexp, qb.hypot, lambda a, b: qb.where(b > 0.0, qb.log(b), a * a)])
def test_a_selection_without_elements_has_zero_derivatives(f, shape):
    a, b = qb.array([0.5]), qb.zeros(shape)
    loss = lambda a, b: qb.sum(f(a, b))  # noqa: E731
    along_a, along_b = qb.grad(loss, (0, 1))(a, b)
    assert along_a.tolist() == [0.0]
    assert tuple(along_b.shape) == shape
    assert qb.grad(lambda a: qb.sum(qb.grad(loss)(a, b)))(a).tolist() == [0.0]
