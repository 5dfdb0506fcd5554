"""quabla.functions.statistics: values against NumPy and SciPy, scaling, derivatives at zeros, kinds of errors."""

import math

import numpy as np
import pytest
import scipy.special
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from op_helpers import central, numbers

import quabla as qb

NAN, INF = math.nan, math.inf


@st.composite
def arrays_and_axes(draw):
    shape = tuple(draw(st.lists(st.integers(1, 4), max_size=3)))
    axes = [None] + [tuple(a) for a in draw(st.just([range(len(shape)), ()]))] + list(range(-len(shape), len(shape)))
    return numbers(*shape), draw(st.sampled_from(axes)), draw(st.booleans())


PAIRS = [
    (qb.prod, np.prod),
    (qb.var, np.var),
    (qb.std, np.std),
    (qb.norm, lambda x, axis, keepdims: np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))),
    (qb.logsumexp, lambda x, axis, keepdims: np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda f: f.__name__)
@given(case=arrays_and_axes())
def test_reductions_agree_with_numpy(ours, theirs, case):
    x, axis, keepdims = case
    wanted = theirs(x, axis=axis, keepdims=keepdims)
    got = ours(qb.array(x), axis=axis, keepdims=keepdims)
    assert got.shape == list(wanted.shape)
    assert_allclose(got.numpy(), wanted, rtol=1e-13, atol=1e-15)


@given(case=arrays_and_axes())
def test_any_and_all_agree_with_numpy(case):
    x, axis, keepdims = case
    for ours, theirs in ((qb.any, np.any), (qb.all, np.all)):
        got = ours(qb.array(x > 0), axis=axis, keepdims=keepdims)
        assert_array_equal(got.numpy(), theirs(x > 0, axis=axis, keepdims=keepdims))
        assert got.dtype is qb.bool_


@pytest.mark.parametrize("f", [qb.prod, qb.norm, qb.var, qb.std, qb.logsumexp, qb.softmax, qb.log_softmax])
def test_reductions_check_their_arguments(f):
    x = qb.array([[1.0, 2.0], [3.0, 4.0]])
    for axis in (2, -3, (0, 0)):
        with pytest.raises(ValueError, match="axis"):
            f(x, axis=axis)
    with pytest.raises(TypeError):
        f(x, axis=0.5)
    with pytest.raises(ValueError, match="astype"):
        f(qb.array([True]))
    assert f(np.ones((2, 3), np.float32), axis=0).dtype is qb.float32


@pytest.mark.parametrize("f", [qb.any, qb.all])
def test_any_and_all_need_bools(f):
    with pytest.raises(ValueError, match="bool"):
        f(qb.array([1.0]))


def test_reductions_of_nothing_are_numpys():
    empty = qb.zeros((2, 0))
    assert_array_equal(qb.prod(empty, axis=1).numpy(), [1.0, 1.0])
    assert_array_equal(qb.norm(empty, axis=1).numpy(), [0.0, 0.0])
    assert_array_equal(qb.logsumexp(empty, axis=1).numpy(), [-INF, -INF])
    assert_array_equal(qb.any(empty > 0, axis=1).numpy(), [False, False])
    assert_array_equal(qb.all(empty > 0, axis=1, keepdims=True).numpy(), [[True], [True]])
    assert np.isnan(qb.var(empty).item())
    assert qb.softmax(empty).shape == [2, 0]
    assert qb.prod(empty, axis=0).shape == [0]
    assert qb.logsumexp(empty, axis=0).shape == [0]


# ---- products -----------------------------------------------------------------------------------


def product_derivatives(x):
    """Gradient and Hessian of the product, from the products of the others."""
    n = len(x)
    gradient = [np.prod(np.delete(x, i)) for i in range(n)]
    hessian = [[np.prod(np.delete(x, [i, j])) if i != j else 0.0 for j in range(n)] for i in range(n)]
    return gradient, hessian


@given(st.lists(st.sampled_from([0.0, -1.5, 2.0, 3.0]), min_size=1, max_size=7))
def test_product_derivatives_are_exact_with_any_number_of_zeros(x):
    gradient, hessian = product_derivatives(np.array(x))
    assert_allclose(qb.grad(qb.prod)(qb.array(x)).numpy(), gradient, rtol=1e-15)
    assert_allclose(qb.hessian(qb.prod)(qb.array(x)).numpy(), hessian, rtol=1e-15)


def test_product_of_a_long_array_takes_few_ops():
    text = qb.jit(qb.prod).lower(qb.ones(1000)).as_text()
    assert text.count("mul(") < 20
    x = 1 + 0.01 * numbers(5, 7)
    assert_allclose(qb.grad(qb.prod)(qb.array(x)).numpy(), np.prod(x) / x, rtol=1e-13)


# ---- norms and variances ------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [4e307, 1e300, 1e-300, 5e-324, 1.0])
def test_norm_neither_overflows_nor_underflows(scale):
    x = np.array([3.0, 0.0, 4.0]) * scale
    assert_allclose(qb.norm(qb.array(x)).item(), 5 * scale, rtol=1e-15)
    assert_allclose(qb.grad(qb.norm)(qb.array(x)).numpy(), [0.6, 0.0, 0.8], rtol=1e-15)


def test_norm_of_infinity_and_nan():
    assert qb.norm(qb.array([1.0, -INF])).item() == INF
    assert np.isnan(qb.norm(qb.array([1.0, NAN])).item())


@pytest.mark.parametrize("f", [qb.norm, qb.std])
def test_derivatives_at_the_origin_are_zero(f):
    for x in (qb.zeros(3), qb.ones(3) if f is qb.std else qb.zeros(1)):
        assert_array_equal(qb.grad(f)(x).numpy(), 0.0)
        assert_array_equal(qb.hessian(f)(x).numpy(), 0.0)
        assert_array_equal(qb.jacobian(qb.hessian(f))(x).numpy(), 0.0)
        assert qb.jvp(f, (x,), (x + 1.0,))[1].item() == 0.0


def test_rows_at_the_origin_do_not_disturb_the_others():
    x = qb.array([[0.0, 0.0], [3.0, 4.0]])
    gradient = qb.grad(lambda t: qb.sum(qb.norm(t, axis=1)))(x)
    assert_allclose(gradient.numpy(), [[0.0, 0.0], [0.6, 0.8]], rtol=1e-15)
    hessian = qb.hessian(lambda t: qb.sum(qb.norm(t, axis=1)))(x).numpy()
    assert_array_equal(hessian[0], 0.0)
    assert_allclose(hessian[1, :, 1], np.array([[16.0, -12.0], [-12.0, 9.0]]) / 125, rtol=1e-14)


def test_variance_is_computed_in_two_passes():
    assert_allclose(qb.var(qb.array([1e8 + 1, 1e8 + 2, 1e8 + 3])).item(), 2 / 3, rtol=1e-15)
    assert qb.var(qb.array([1.0, 2.0, 3.0]), ddof=3).item() == INF
    assert qb.var(qb.array([1.0, 2.0, 3.0]), ddof=4).item() == INF
    assert np.isnan(qb.std(qb.array([1.0]), ddof=1).item())
    assert_allclose(qb.std(qb.array([1e200, 3e200])).item(), 1e200, rtol=1e-15)
    with pytest.raises(TypeError, match="ddof"):
        qb.var(qb.array([1.0]), ddof="one")


def test_variance_derivatives():
    x = numbers(5)
    n = len(x)
    assert_allclose(qb.grad(qb.var)(qb.array(x)).numpy(), 2 * (x - x.mean()) / n, rtol=1e-12, atol=1e-15)
    assert_allclose(qb.hessian(qb.var)(qb.array(x)).numpy(), 2 * (np.eye(n) - 1 / n) / n, rtol=1e-12)
    assert_allclose(qb.grad(qb.std)(qb.array(x)).numpy(), (x - x.mean()) / n / x.std(), rtol=1e-12, atol=1e-15)


# ---- the softmax family -------------------------------------------------------------------------


def test_softmax_family_agrees_with_scipy():
    x = numbers(3, 4)
    for axis in (-1, 0, (0, 1)):
        assert_allclose(qb.softmax(qb.array(x), axis=axis).numpy(), scipy.special.softmax(x, axis), rtol=1e-14)
        assert_allclose(qb.log_softmax(qb.array(x), axis=axis).numpy(), scipy.special.log_softmax(x, axis), rtol=1e-13)


def test_softmax_family_does_not_overflow():
    assert_array_equal(qb.softmax(qb.array([1e308, 1e308, -1e308])).numpy(), [0.5, 0.5, 0.0])
    assert_array_equal(qb.log_softmax(qb.array([1000.0, 0.0])).numpy(), [0.0, -1000.0])
    assert_allclose(qb.logsumexp(qb.array([1000.0, 1000.0])).item(), 1000 + math.log(2), rtol=1e-16)
    assert qb.logsumexp(qb.array([-INF, -INF])).item() == -INF
    assert qb.logsumexp(qb.array([INF, 0.0])).item() == INF
    assert np.isnan(qb.logsumexp(qb.array([NAN, INF])).item())


def test_softmax_derivatives():
    x = numbers(4)
    s = scipy.special.softmax(x)
    jacobian = np.diag(s) - np.outer(s, s)
    assert_allclose(qb.grad(qb.logsumexp)(qb.array(x)).numpy(), s, rtol=1e-13)
    assert_allclose(qb.hessian(qb.logsumexp)(qb.array(x)).numpy(), jacobian, rtol=1e-12, atol=1e-16)
    assert_allclose(qb.jacobian(qb.softmax)(qb.array(x)).numpy(), jacobian, rtol=1e-12, atol=1e-16)
    assert_allclose(qb.jacobian(qb.log_softmax)(qb.array(x)).numpy(), np.eye(4) - s, rtol=1e-12, atol=1e-16)
    third = qb.grad(lambda t: qb.hessian(qb.logsumexp)(t)[0, 1])(qb.array(x)).numpy()
    assert_allclose(third, central(lambda t: qb.hessian(qb.logsumexp)(qb.array(t)).numpy()[0, 1], x), rtol=1e-6)


def test_masked_elements_have_no_derivative():
    x = qb.array([[0.5, -INF], [-INF, -INF]])
    gradient = qb.grad(lambda t: qb.sum(qb.where(qb.array([True, False]), qb.logsumexp(t, axis=1), 0.0)))(x)
    assert_array_equal(gradient.numpy(), [[1.0, 0.0], [0.0, 0.0]])
    assert_array_equal(qb.grad(lambda t: qb.sum(qb.softmax(t) ** 2))(x[0]).numpy(), [0.0, 0.0])
