"""quabla.functions.math: values against NumPy and SciPy, derivatives at kinks and in the tails, kinds of errors."""

import math

import numpy as np
import pytest
import scipy.special
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import quabla as qb
from quabla.functions.math import floor_divide

NAN, INF = math.nan, math.inf
POINTS = np.array([-INF, -1e200, -30.0, -1.3, -0.4, -0.0, 0.0, 0.2, 0.9, 2.1, 30.0, 1e200, INF, NAN])
FINITE = np.array([-1e200, -700.0, -30.0, -1.3, -0.4, 0.0, 0.2, 0.9, 2.1, 30.0, 700.0, 1e200])
reals = st.floats(-1e3, 1e3)


def derivatives(f, x):
    """The first and second derivatives of an elementwise function."""
    first = qb.grad(lambda t: qb.sum(f(t)))
    second = qb.grad(lambda t: qb.sum(first(t)))
    x = qb.array(x)
    return first(x).numpy(), second(x).numpy()


def both(f, *args):
    """The value, which must be the same eagerly and compiled."""
    eager = f(*args)
    compiled = qb.jit(f)(*args)
    assert_array_equal(eager.numpy(), compiled.numpy())
    assert eager.dtype is compiled.dtype
    return eager.numpy()


def test_relu_keeps_nan_and_its_derivative_at_zero_is_zero():
    assert_array_equal(both(qb.relu, qb.array(POINTS)), np.maximum(POINTS, 0.0))
    first, second = derivatives(qb.relu, [-1.0, 0.0, 2.0])
    assert_array_equal(first, [0.0, 0.0, 1.0])
    assert_array_equal(second, 0.0)


def test_silu_and_gelu_agree_with_their_formulas():
    x = np.linspace(-6, 6, 41)
    assert_allclose(both(qb.silu, qb.array(x)), x * scipy.special.expit(x), rtol=1e-14)
    assert_allclose(both(lambda t: qb.gelu(t, approximate=False), qb.array(x)), x * scipy.special.ndtr(x), rtol=1e-14)
    u = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    assert_allclose(both(qb.gelu, qb.array(x)), 0.5 * x * (1 + np.tanh(u)), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("f", [qb.silu, qb.gelu, lambda t: qb.gelu(t, approximate=False)], ids=["silu", "gelu", "erf"])
def test_gates_and_their_derivatives_are_finite_at_every_magnitude(f):
    assert_array_equal(f(qb.array([-1e200, 1e200])).numpy(), [0.0, 1e200])
    first, second = derivatives(f, FINITE)
    assert np.isfinite(first).all()
    assert np.isfinite(second).all()
    assert_array_equal(first[[0, -1]], [0.0, 1.0])
    step = 1e-5
    x = np.array([-1.3, -0.4, 0.2, 0.9, 2.1])
    expected = (f(qb.array(x + step)).numpy() - f(qb.array(x - step)).numpy()) / (2 * step)
    assert_allclose(derivatives(f, x)[0], expected, rtol=1e-8)


def test_exp2_is_exact_for_whole_numbers():
    x = np.arange(-20.0, 21.0)
    assert_array_equal(both(qb.exp2, qb.array(x)), np.exp2(x))
    first, second = derivatives(qb.exp2, [-1.0, 0.0, 2.0])
    assert_allclose(first, np.exp2([-1.0, 0.0, 2.0]) * math.log(2), rtol=1e-15)
    assert_allclose(second, np.exp2([-1.0, 0.0, 2.0]) * math.log(2) ** 2, rtol=1e-15)


def test_square_and_reciprocal():
    x = np.array([-2.0, 0.5, 3.0])
    assert_array_equal(both(qb.square, qb.array(x)), x * x)
    assert_array_equal(both(qb.reciprocal, qb.array(x)), 1 / x)
    assert_allclose(derivatives(qb.reciprocal, x), [-(x**-2), 2 * x**-3], rtol=1e-15)
    assert_allclose(derivatives(qb.square, x), [2 * x, np.full(3, 2.0)])


def test_tests_for_nan_and_infinity():
    x = qb.array(POINTS)
    assert_array_equal(both(qb.isnan, x), np.isnan(POINTS))
    assert_array_equal(both(qb.isinf, x), np.isinf(POINTS))
    assert_array_equal(both(qb.isfinite, x), np.isfinite(POINTS))
    assert qb.isnan(POINTS).dtype is qb.bool_


@pytest.mark.parametrize("name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
def test_comparisons(name):
    x, y = np.array([1.0, 2.0, NAN, 3.0]), np.array([2.0, 2.0, NAN, 1.0])
    f = getattr(qb, name)
    assert_array_equal(both(f, qb.array(x), qb.array(y)), getattr(np, name)(x, y))
    assert_array_equal(f(2.0, qb.array(x)).numpy(), getattr(np, name)(2.0, x))
    with pytest.raises(TypeError, match=name):
        f(1.0, 2.0)
    with pytest.raises(ValueError, match="astype"):
        f(qb.array(x), qb.array(y, dtype=qb.float32))


def test_logic_is_for_bools():
    x, y = np.array([True, True, False, False]), np.array([True, False, True, False])
    assert_array_equal(both(qb.logical_and, qb.array(x), qb.array(y)), x & y)
    assert_array_equal(both(qb.logical_or, qb.array(x), qb.array(y)), x | y)
    assert_array_equal(both(qb.logical_not, qb.array(x)), ~x)
    for f in (qb.logical_and, qb.logical_or):
        with pytest.raises(ValueError, match="bool"):
            f(qb.array(x), qb.array([1.0, 0.0, 1.0, 0.0]))
    with pytest.raises(ValueError, match="bool"):
        qb.logical_not(qb.array([1.0]))


@pytest.mark.parametrize("dtype", [qb.float64, qb.float32])
def test_nan_to_num(dtype):
    x = qb.array([NAN, INF, -INF, 1.5], dtype=dtype)
    assert_array_equal(both(qb.nan_to_num, x), np.nan_to_num(x.numpy()))
    assert_array_equal(both(lambda t: qb.nan_to_num(t, nan=5.0, posinf=7.0, neginf=-7.0), x), [5.0, 7.0, -7.0, 1.5])
    assert_array_equal(derivatives(qb.nan_to_num, x)[0], [0.0, 0.0, 0.0, 1.0])


@given(st.lists(reals, min_size=1, max_size=4), reals, reals)
def test_clip_agrees_with_numpy(x, lo, hi):
    assert_array_equal(qb.clip(qb.array(x), lo, hi).numpy(), np.clip(x, lo, hi))
    assert_array_equal(qb.clip(qb.array(x), qb.array(lo), qb.array(hi)).numpy(), np.clip(x, lo, hi))


def test_clip_propagates_nan_and_gives_the_derivative_at_a_limit_to_the_limit():
    assert_array_equal(both(lambda t: qb.clip(t, -1.0, 1.0), qb.array([NAN, 2.0])), [NAN, 1.0])
    for nan in (NAN, qb.array(NAN)):
        assert_array_equal(qb.clip(qb.array([0.0, 2.0]), nan).numpy(), [NAN, NAN])
        assert_array_equal(qb.clip(qb.array([0.0, 2.0]), None, nan).numpy(), [NAN, NAN])
    first, second = derivatives(lambda t: qb.clip(t, -1.0, 1.0), [-1.5, -1.0, 0.0, 1.0, 2.0])
    assert_array_equal(first, [0.0, 0.0, 1.0, 0.0, 0.0])
    assert_array_equal(second, 0.0)
    bounds = qb.grad(lambda lo, hi: qb.sum(qb.clip(qb.array([-2.0, -1.0, 0.0, 3.0]), lo, hi)), argnums=(0, 1))
    assert [g.item() for g in bounds(qb.array(-1.0), qb.array(1.0))] == [2.0, 1.0]
    x = qb.array([1.0])
    assert_array_equal(qb.clip(x).numpy(), [1.0])


@given(st.lists(st.tuples(reals, reals), min_size=1, max_size=4))
def test_mod_and_floor_divide_agree_with_numpy(pairs):
    x, y = np.array(pairs).T
    with np.errstate(all="ignore"):
        assert_array_equal(qb.mod(qb.array(x), qb.array(y)).numpy(), np.mod(x, y))
        assert_array_equal(floor_divide(qb.array(x), qb.array(y)).numpy(), np.floor_divide(x, y))


def test_mod_and_floor_divide_at_the_edges():
    x = np.array([5.0, -5.0, 6.0, -6.0, 1.0, -1.0, 1.0, INF, NAN, 0.0, -1.0])
    y = np.array([-3.0, 3.0, -3.0, 3.0, 0.1, INF, -INF, 2.0, 1.0, 5.0, 0.0])
    with np.errstate(all="ignore"):
        wanted, whole = np.remainder(x, y), np.floor_divide(x, y)
    got = both(qb.remainder, qb.array(x), qb.array(y))
    assert_array_equal(got, wanted)
    assert_array_equal(np.signbit(got[:-1]), np.signbit(wanted[:-1]))
    assert_array_equal(both(floor_divide, qb.array(x), qb.array(y)), whole)
    assert_array_equal((qb.array(x) // qb.array(y)).numpy(), whole)


def test_mod_derivatives():
    f = qb.grad(lambda p, q: qb.sum(qb.mod(p, q)), argnums=(0, 1))
    gx, gy = f(qb.array([5.0, -5.5, 7.25]), qb.array([3.0, 2.0, -2.5]))
    assert_array_equal(gx.numpy(), 1.0)
    assert_array_equal(gy.numpy(), [-1.0, 3.0, 3.0])
    gx, gy = qb.grad(lambda p, q: qb.sum(floor_divide(p, q)), argnums=(0, 1))(qb.array([5.0]), qb.array([0.0]))
    assert_array_equal([gx.numpy(), gy.numpy()], 0.0)


def test_logaddexp_agrees_with_numpy_at_every_magnitude():
    x, y = (g.ravel() for g in np.meshgrid(POINTS, POINTS))
    with np.errstate(all="ignore"):
        assert_allclose(both(qb.logaddexp, qb.array(x), qb.array(y)), np.logaddexp(x, y), rtol=1e-15)


def test_logaddexp_derivatives_are_smooth_at_a_tie_and_finite_elsewhere():
    def f(v):
        return qb.logaddexp(v[0], v[1])

    assert_array_equal(qb.grad(f)(qb.array([0.7, 0.7])).numpy(), [0.5, 0.5])
    assert_allclose(qb.hessian(f)(qb.array([0.7, 0.7])).numpy(), [[0.25, -0.25], [-0.25, 0.25]])
    x = np.array([0.5, -1.2])
    s = scipy.special.softmax(x)
    assert_allclose(qb.grad(f)(qb.array(x)).numpy(), s, rtol=1e-14)
    assert_allclose(qb.hessian(f)(qb.array(x)).numpy(), np.diag(s) - np.outer(s, s), rtol=1e-13)
    for x in ([-INF, -INF], [INF, INF], [-INF, 1.0], [1e308, -1e308]):
        assert np.isfinite(qb.grad(f)(qb.array(x)).numpy()).all()
        assert np.isfinite(qb.hessian(f)(qb.array(x)).numpy()).all()


@pytest.mark.parametrize("f", [qb.relu, qb.silu, qb.gelu, qb.square, qb.reciprocal, qb.exp2, qb.isnan, qb.nan_to_num])
def test_elementwise_functions_reject_bools_and_take_arrays_of_any_kind(f):
    with pytest.raises(ValueError, match="astype"):
        f(qb.array([True]))
    x = np.array([[0.5, 2.0]], np.float32)
    assert f(x).shape == [1, 2]
    assert f(np.zeros((0, 3))).shape == [0, 3]


@pytest.mark.parametrize("f", [qb.isnan, qb.isfinite])
def test_tests_of_numbers_are_type_errors(f):
    with pytest.raises(TypeError, match="array"):
        f(1.0)


@pytest.mark.parametrize("f", [qb.mod, qb.logaddexp, lambda x, y: qb.clip(x, y), floor_divide])
def test_two_arguments_promote_strictly(f):
    one, single = qb.array([1.0]), qb.array([2.0], dtype=qb.float32)
    with pytest.raises(ValueError, match="astype"):
        f(one, single)
    assert f(single, 3.0).dtype is qb.float32
    assert f(single, qb.array([True]) * 3.0).dtype is qb.float32
    assert f(qb.array([True]), single).dtype is qb.float32
