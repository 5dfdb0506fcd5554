"""Sorting, positions, searchsorted, nonzero and cumprod, against NumPy and, for derivatives, against JAX."""

from __future__ import annotations

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import quabla as qb

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
jnp = jax.numpy

ENGINES = pytest.mark.parametrize("name", ["numpy", "xla"])
RELAXED = settings(deadline=None, max_examples=60)
SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, max_side=5)
#: Few values, so that there are ties, with both zeros, infinities and NaN.
AWKWARD = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan])
ARRAYS = hnp.arrays(np.float64, SHAPES, elements=AWKWARD)
INT_ARRAYS = hnp.arrays(np.int64, SHAPES, elements=st.integers(-3, 3))


def same(got, want):
    np.testing.assert_array_equal(got.numpy(), want)
    assert got.numpy().dtype == want.dtype


def quabla_array(a, dtype=None):
    return qb.array(a, dtype=qb.int64 if a.dtype == np.int64 else dtype)


@given(ARRAYS | INT_ARRAYS, st.integers(-3, 2) | st.none())
@RELAXED
def test_order_is_numpys(a, axis):
    if axis is not None and not -a.ndim <= axis < a.ndim:
        return
    x = quabla_array(a)
    for run in (lambda f: f(x), lambda f: qb.jit(f)(x)):
        order = run(lambda x: qb.argsort(x, axis=axis))
        same(order, np.argsort(a, axis=axis, kind="stable"))
        got = run(lambda x: qb.sort(x, axis=axis))
        same(got, np.sort(a, axis=axis, kind="stable"))
        want = np.take_along_axis(a if axis is not None else a.ravel(), order.numpy(), axis if axis is not None else 0)
        np.testing.assert_array_equal(np.signbit(got.numpy()), np.signbit(want))  # zeros keep their order
        same(run(lambda x: qb.argmax(x, axis=axis)), np.asarray(np.argmax(a, axis=axis)))
        same(run(lambda x: qb.argmin(x, axis=axis)), np.asarray(np.argmin(a, axis=axis)))
        same(run(lambda x: qb.argmax(x, axis=axis, keepdims=True)), np.argmax(a, axis=axis, keepdims=True))


@ENGINES
@pytest.mark.parametrize("dtype", [qb.float64, qb.float32, qb.int32, qb.int64, qb.bool_], ids=str)
def test_engines_order_alike(name, dtype, engine):
    engine(name)
    rng = np.random.default_rng(3)
    a = rng.integers(-4, 5, (4, 7)).astype(dtype.numpy)
    if dtype.is_float:
        a[0, 2], a[1, 0], a[2, 3], a[2, 5], a[3, 1] = np.nan, np.inf, np.nan, -0.0, -np.inf
    x = qb.array(a, dtype=dtype)

    def f(x):
        return (
            qb.sort(x), qb.argsort(x, axis=0), qb.argmax(x, axis=1), qb.argmin(x, axis=0), qb.argmax(x),
            qb.vmap(qb.sort)(x), qb.vmap(qb.argmin)(x),
        )  # fmt: skip

    want = (
        np.sort(a, kind="stable"), np.argsort(a, axis=0, kind="stable"), a.argmax(1), a.argmin(0), a.argmax(),
        np.sort(a, kind="stable"), a.argmin(1),
    )  # fmt: skip
    for g, w in zip(qb.jit(f)(x), want, strict=True):
        same(g, np.asarray(w))


@given(
    hnp.arrays(np.float64, st.integers(0, 9), elements=AWKWARD),
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=0, max_dims=2, max_side=4), elements=AWKWARD),
    st.sampled_from(["left", "right"]),
)
@RELAXED
def test_searchsorted_is_numpys(a, v, side):
    a = np.sort(a)
    want = np.asarray(np.searchsorted(a, v, side))
    x, y = qb.array(a), qb.array(v)
    same(qb.searchsorted(x, y, side), want)
    same(qb.jit(lambda x, y: qb.searchsorted(x, y, side))(x, y), want)


@ENGINES
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_on_engines_and_in_lanes(name, side, engine):
    engine(name)
    rng = np.random.default_rng(4)
    a = np.sort(rng.integers(-5, 6, (3, 11)).astype(float), axis=1)
    v = rng.integers(-6, 7, (3, 4)).astype(float)
    v[0, 0] = a[1, -1] = np.nan
    want = np.stack([np.searchsorted(r, w, side) for r, w in zip(a, v, strict=True)])
    f = qb.jit(lambda a, v: qb.searchsorted(a, v, side))
    same(f(qb.array(a[0]), qb.array(v[0])), want[0])
    same(f(qb.array(a[0], dtype=qb.float32), qb.array(v[0], dtype=qb.float32)), want[0])
    same(qb.jit(qb.vmap(lambda a, v: qb.searchsorted(a, v, side)))(qb.array(a), qb.array(v)), want)
    one = np.stack([np.searchsorted(a[2], w, side) for w in v])
    same(qb.vmap(lambda v: qb.searchsorted(qb.array(a[2]), v, side))(qb.array(v)), one)
    same(f(qb.array([], dtype=qb.float64), qb.array(v[0])), np.zeros(4, np.int64))


@given(ARRAYS, st.integers(0, 8), st.integers(-2, 2))
@RELAXED
def test_nonzero_is_numpys(a, size, fill):
    x = qb.array(a)
    want = np.nonzero(a)
    for got, w in zip(qb.nonzero(x), want, strict=True):
        same(got, w)
    padded = [np.concatenate([w, np.full(max(0, size - len(w)), fill)])[:size].astype(np.int64) for w in want]
    for f in (
        lambda x: qb.nonzero(x, size=size, fill_value=fill),
        qb.jit(lambda x: qb.nonzero(x, size=size, fill_value=fill)),
    ):
        for got, w in zip(f(x), padded, strict=True):
            same(got, w)


# ---- derivatives --------------------------------------------------------------------------------


@ENGINES
def test_derivatives_of_sort_follow_the_values(name, engine):
    engine(name)
    x = np.array([[3.0, 1.0, 2.0], [0.5, -1.0, 7.0]])
    w = np.array([[1.0, 10.0, 100.0], [2.0, 20.0, 200.0]])
    for axis in (0, 1, -1, None):
        shaped = w if axis is not None else w.ravel()
        want = jax.grad(lambda x, axis=axis, s=shaped: (jnp.sort(x, axis=axis) ** 2 * s).sum())(jnp.array(x))
        f = lambda x, axis=axis, s=shaped: qb.sum(qb.sort(x, axis=axis) ** 2 * qb.array(s))  # noqa: E731
        np.testing.assert_allclose(qb.jit(qb.grad(f))(qb.array(x)).numpy(), want, rtol=1e-14)
        hessian = jax.hessian(lambda x, axis=axis, s=shaped: (jnp.sort(x, axis=axis) ** 2 * s).sum())(jnp.array(x))
        np.testing.assert_allclose(qb.jit(qb.hessian(f))(qb.array(x)).numpy(), hessian, rtol=1e-14)
    ties = qb.array([1.0, 0.0, 1.0])
    assert qb.grad(lambda x: qb.sum(qb.sort(x) * qb.array([1.0, 10.0, 100.0])))(ties).tolist() == [10.0, 1.0, 100.0]


def test_median_by_sorting():
    """The gradient of the mean of the two middle elements is 1/2 for each of them."""
    x = qb.array([4.0, 1.0, 3.0, 2.0])
    assert qb.grad(lambda x: (qb.sort(x)[1] + qb.sort(x)[2]) / 2.0)(x).tolist() == [0.0, 0.0, 0.5, 0.5]


@ENGINES
def test_cumprod(name, engine):
    engine(name)
    rng = np.random.default_rng(5)
    a = rng.normal(size=(3, 5))
    a[0, 1] = a[1, 0] = a[1, 3] = 0.0
    w = rng.normal(size=(3, 5))
    for axis in (0, 1, -1):
        same_values = qb.jit(lambda x, axis=axis: qb.cumprod(x, axis=axis))(qb.array(a)).numpy()
        np.testing.assert_allclose(same_values, np.cumprod(a, axis), rtol=1e-15)

        # Each result's derivative is the product of the other factors, by the definition.
        def derivative(axis):
            b, v = np.moveaxis(a, axis, -1), np.moveaxis(w, axis, -1)
            out = np.zeros_like(b)
            for i in range(b.shape[0]):
                for j in range(b.shape[1]):
                    for k in range(j, b.shape[1]):
                        out[i, j] += v[i, k] * np.prod(np.delete(b[i, : k + 1], j))
            return np.moveaxis(out, -1, axis)

        f = lambda x, axis=axis: qb.sum(qb.cumprod(x, axis=axis) * qb.array(w))  # noqa: E731
        np.testing.assert_allclose(qb.jit(qb.grad(f))(qb.array(a)).numpy(), derivative(axis), rtol=1e-12, atol=1e-14)
    # x y z at (0, 0, z): the only second derivatives that are not 0 are z for x and y, twice.
    third = qb.hessian(lambda x: qb.cumprod(x)[2])(qb.array([0.0, 0.0, 3.0]))
    assert third.tolist() == [[0.0, 3.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    assert qb.cumprod(qb.array([[1.0, 2.0], [3.0, 4.0]])).tolist() == [1.0, 2.0, 6.0, 24.0]
    assert qb.cumprod(qb.array([2, 3], dtype=qb.int32)).tolist() == [2, 6]


# ---- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: qb.sort(qb.ones(3), axis=1), ValueError, "sort: axis 1 is out of range"),
        (lambda: qb.argmax(qb.zeros(0)), ValueError, "argmax: no elements along axis 0"),
        (lambda: qb.argmin(qb.ones(2), axis=2), ValueError, "argmin: axis 2 is out of range"),
        (lambda: qb.searchsorted(qb.ones((2, 2)), 1.0), ValueError, "searchsorted: the sorted array must be of rank 1"),
        (lambda: qb.searchsorted(qb.ones(2), 1.0, side="middle"), ValueError, "side must be left or right, got middle"),
        (lambda: qb.nonzero(qb.array(1.0)), ValueError, "nonzero: needs an array of rank 1 or more"),
        (lambda: qb.nonzero(qb.ones(2), size=-1), ValueError, "nonzero: size must not be negative"),
        (lambda: qb.compress([[True]], qb.ones(1)), ValueError, "compress: the condition must be of rank 1"),
        (lambda: qb.compress([True, True], qb.ones(1)), IndexError, "index 1 is out of range"),
        (lambda: qb.cumprod(qb.array([True])), ValueError, "cumprod: needs a float array"),
        (lambda: qb.take_along_axis(qb.ones((2, 2)), [0], 0), ValueError, "take_along_axis: needs indices of rank 2"),
        (lambda: qb.take(qb.ones(2), [0.5]), TypeError, "int or bool arrays"),
        (lambda: qb.take(qb.ones(2), [True, False]), TypeError, "take: the indices must be ints"),
    ],
)  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_methods_are_the_functions():
    x = qb.array([[3.0, 1.0], [0.0, 2.0]])
    for name, args in (
        ("sort", (0,)), ("argsort", ()), ("argmax", (1,)), ("argmin", ()), ("cumprod", (1,)), ("take", ([1, 0],)),
    ):  # fmt: skip
        want = getattr(qb, name)(x, *args)
        assert getattr(x, name)(*args).tolist() == want.tolist()
        assert qb.jit(lambda x, name=name, args=args: getattr(x, name)(*args))(x).tolist() == want.tolist()
    assert [i.tolist() for i in x.nonzero()] == [[0, 0, 1], [0, 1, 1]]
