"""quabla.functions.shape: values against NumPy, derivatives of what moves data, kinds of errors."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal
from op_helpers import numbers

import quabla as qb

SHAPES = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple)


def same(ours, theirs):
    assert ours.shape == list(np.shape(theirs))
    assert_array_equal(ours.numpy(), theirs)


def moves_data(f, x):
    """``f`` is linear, the same compiled, and its derivative of sum(f(x) ** 2) is 2 f'(f(x))."""
    x = qb.array(x)
    same(qb.jit(f)(x), f(x).numpy())
    gradient = qb.grad(lambda t: qb.sum(f(t) ** 2))(x).numpy()
    zeros = np.zeros(x.shape)
    for i in np.ndindex(*x.shape):
        one = zeros.copy()
        one[i] = 1.0
        wanted = 2 * np.sum(f(x).numpy() * f(qb.array(one)).numpy())
        assert abs(gradient[i] - wanted) < 1e-12


@given(SHAPES, st.data())
def test_axes_move_as_in_numpy(shape, data):
    x = numbers(*shape)
    rank = len(shape)
    axis = st.integers(-rank, rank - 1)
    i, j = data.draw(axis), data.draw(axis)
    same(qb.swapaxes(x, i, j), np.swapaxes(x, i, j))
    same(qb.moveaxis(x, i, j), np.moveaxis(x, i, j))
    same(qb.flip(x, i), np.flip(x, i))
    same(qb.flip(x), np.flip(x))
    same(qb.ravel(x), np.ravel(x))
    k = data.draw(st.integers(-rank - 1, rank))
    same(qb.expand_dims(x, k), np.expand_dims(x, k))
    same(qb.squeeze(x), np.squeeze(x))
    order = data.draw(st.permutations(range(rank)))
    same(qb.moveaxis(x, order, list(range(rank))), np.moveaxis(x, order, list(range(rank))))


@given(SHAPES, st.data())
def test_stacking_and_splitting_as_in_numpy(shape, data):
    xs = [numbers(*shape, seed=s) for s in range(data.draw(st.integers(1, 3)))]
    k = data.draw(st.integers(-len(shape) - 1, len(shape)))
    same(qb.stack(xs, k), np.stack(xs, k))
    i = data.draw(st.integers(-len(shape), len(shape) - 1))
    cuts = data.draw(st.lists(st.integers(-4, 5), max_size=3))
    for ours, theirs in zip(qb.split(xs[0], cuts, i), np.split(xs[0], cuts, i), strict=True):
        same(ours, theirs)


@given(SHAPES, st.data())
def test_repeating_and_rolling_as_in_numpy(shape, data):
    x = numbers(*shape)
    k = data.draw(st.integers(-len(shape), len(shape) - 1))
    copies = data.draw(st.lists(st.integers(0, 2), max_size=4))
    same(qb.tile(x, copies), np.tile(x, copies))
    n = data.draw(st.integers(0, 3))
    same(qb.repeat(x, n), np.repeat(x, n))
    same(qb.repeat(x, n, axis=k), np.repeat(x, n, axis=k))
    each = data.draw(st.lists(st.integers(0, 2), min_size=shape[k], max_size=shape[k]))
    if each:
        same(qb.repeat(x, each, axis=k), np.repeat(x, each, axis=k))
    by = data.draw(st.integers(-5, 5))
    same(qb.roll(x, by), np.roll(x, by))
    same(qb.roll(x, by, axis=k), np.roll(x, by, axis=k))
    same(qb.roll(x, (by, 1), axis=(k, 0)), np.roll(x, (by, 1), axis=(k, 0)))
    same(qb.roll(x, by, axis=(k, 0)), np.roll(x, by, axis=(k, 0)))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
@given(data=st.data())
def test_padding_as_in_numpy(mode, data):
    shape = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=2).map(tuple))
    x = numbers(*shape)
    width = st.integers(0, 5)
    pair = st.tuples(width, width)
    widths = data.draw(st.one_of(width, pair, st.lists(pair, min_size=len(shape), max_size=len(shape))))
    same(qb.pad(x, widths, mode=mode), np.pad(x, widths, mode=mode))
    if mode == "constant":
        for value in (2.5, -0.0, (1.0, 2.0), [(1.0, 2.0)] * len(shape)):
            same(qb.pad(x, widths, constant_values=value), np.pad(x, widths, constant_values=value))


def test_padding_with_other_dtypes_and_a_traced_value():
    mask = np.array([True, False])
    same(qb.pad(mask, 1), np.pad(mask, 1))
    same(qb.pad(mask, 1, constant_values=True), np.pad(mask, 1, constant_values=True))
    same(qb.pad(mask, 1, mode="edge"), np.pad(mask, 1, mode="edge"))
    single = np.ones(2, np.float32)
    assert qb.pad(single, 1, constant_values=0.5).dtype is qb.float32
    assert qb.grad(lambda c: qb.sum(qb.pad(qb.ones((2, 2)), 1, constant_values=c)))(qb.array(3.0)).item() == 12.0


@given(st.integers(0, 4), st.integers(0, 4), st.integers(-5, 5))
def test_diagonals_as_in_numpy(rows, columns, k):
    x = numbers(rows, columns)
    same(qb.diag(x, k), np.diag(x, k))
    same(qb.diagonal(x, k), np.diagonal(x, k))
    same(qb.diag(numbers(rows), k), np.diag(numbers(rows), k))
    np.testing.assert_allclose(qb.trace(x, k).numpy(), np.trace(x, k), rtol=1e-14)
    stack = numbers(2, rows, columns)
    same(qb.diagonal(stack, k, 1, 2), np.diagonal(stack, k, 1, 2))
    same(qb.diagonal(stack, k, -1, 0), np.diagonal(stack, k, -1, 0))


def test_grids_as_in_numpy():
    xs = [numbers(2), numbers(3), numbers(4)]
    for indexing in ("xy", "ij"):
        for n in range(4):
            ours, theirs = qb.meshgrid(*xs[:n], indexing=indexing), np.meshgrid(*xs[:n], indexing=indexing)
            for a, b in zip(ours, theirs, strict=True):
                same(a, b)
    assert qb.meshgrid(qb.array(1.0), qb.ones(2))[0].shape == [2, 1]


@pytest.mark.parametrize(
    "f",
    [
        lambda t: qb.stack([t, 2.0 * t], axis=1),
        lambda t: qb.stack([t, 2.0 * t], axis=-1),
        lambda t: qb.split(t, [1], axis=1)[1],
        lambda t: qb.tile(t, (2, 1, 2)),
        lambda t: qb.repeat(t, 2, axis=1),
        lambda t: qb.repeat(t, [2, 0, 1], axis=1),
        lambda t: qb.flip(t, 1),
        lambda t: qb.roll(t, 1),
        lambda t: qb.pad(t, 2, mode="reflect"),
        lambda t: qb.pad(t, 2, mode="wrap"),
        lambda t: qb.pad(t, 1, constant_values=0.0),
        lambda t: qb.diag(qb.ravel(t), 1),
        lambda t: qb.diag(qb.ravel(t), -2),
        lambda t: qb.diagonal(t, 1),
        lambda t: qb.meshgrid(qb.ravel(t), qb.ravel(t))[0],
    ],
)
def test_derivatives_go_where_the_data_came_from(f):
    moves_data(f, numbers(2, 3))


def test_functions_of_shape_check_their_arguments():
    x, m = qb.array([1.0, 2.0, 3.0]), qb.ones((2, 3))
    for call in (
        lambda: qb.expand_dims(x, 5),
        lambda: qb.expand_dims(x, (0, 0)),
        lambda: qb.squeeze(m, 0),
        lambda: qb.moveaxis(m, (0, 1), (0,)),
        lambda: qb.swapaxes(m, 0, 2),
        lambda: qb.stack([], 0),
        lambda: qb.stack([x, qb.ones(1)]),
        lambda: qb.stack([x, qb.ones(3, qb.float32)]),
        lambda: qb.stack([x, x], 3),
        lambda: qb.split(x, 0),
        lambda: qb.split(x, 2),
        lambda: qb.tile(x, -1),
        lambda: qb.repeat(x, -1),
        lambda: qb.repeat(x, [1, 2]),
        lambda: qb.flip(x, 1),
        lambda: qb.roll(m, (1, 1, 1), (0, 1)),
        lambda: qb.pad(x, -1),
        lambda: qb.pad(x, 1, mode="linear_ramp"),
        lambda: qb.pad(x, [(1, 1), (1, 1)]),
        lambda: qb.pad(x, 1, constant_values=(1.0, 2.0, 3.0)),
        lambda: qb.pad(qb.zeros(0), 1, mode="edge"),
        lambda: qb.diag(qb.ones((2, 2, 2))),
        lambda: qb.diagonal(x),
        lambda: qb.diagonal(m, 0, 0, 0),
        lambda: qb.trace(m > 0),
        lambda: qb.meshgrid(x, x, indexing="ji"),
    ):
        with pytest.raises(ValueError, match=r"test_functions_shape\.py"):  # the message ends with the user's line
            call()
    for call in (
        lambda: qb.stack([1.0, 2.0]),
        lambda: qb.pad(x, 1.5),
        lambda: qb.tile(x, 1.5),
        lambda: qb.repeat(x, 1.5),
        lambda: qb.roll(x, 0.5),
        lambda: qb.split(x, 1.5),
        lambda: qb.expand_dims(x, 0.0),
    ):
        with pytest.raises(TypeError, match=r"test_functions_shape\.py"):
            call()
