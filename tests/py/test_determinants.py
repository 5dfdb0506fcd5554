"""Determinants and their derivatives of every order, against the polynomial that a determinant is."""

from itertools import permutations

import numpy as np
import pytest
from op_helpers import numbers

import quabla as qb

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
L = qb.linalg


def leibniz(a):
    """The determinant as its polynomial, for JAX to differentiate."""
    n = a.shape[0]
    orders = np.array(list(permutations(range(n))))
    total = np.linalg.det(np.eye(n)[orders]).round()
    for i in range(n):
        total = total * a[i, orders[:, i]]
    return jax.numpy.sum(total)


def of_rank(n, rank, seed=0):
    return numbers(n, rank, seed=seed) @ numbers(rank, n, seed=seed + 1)


SIZES = [1, 2, 3, 4, 5]
CASES = [(n, rank) for n in SIZES for rank in range(n + 1)]


@pytest.fixture(params=["eager", "numpy", "xla"])
def run(request, engine):
    if request.param == "eager":
        return lambda f, *args: f(*map(qb.array, args)).numpy()
    engine(request.param)
    return lambda f, *args: qb.jit(f)(*map(qb.array, args)).numpy()


def close(got, want, tolerance=1e-11):
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("n", "rank"), CASES)
class TestEveryRank:
    def test_gradient(self, run, n, rank):
        a = of_rank(n, rank)
        close(run(qb.grad(L.det), a), jax.grad(leibniz)(a))

    def test_tangent(self, run, n, rank):
        a, v = of_rank(n, rank), numbers(n, n, seed=5)
        close(run(lambda x, t: qb.jvp(L.det, (x,), (t,))[1], a, v), jax.jvp(leibniz, (a,), (v,))[1])


def seconds(run, n, rank):
    """The second derivative along a direction, in every order of modes, is that of the polynomial."""
    a, v = of_rank(n, rank), numbers(n, n, seed=5)
    want = jax.jvp(jax.grad(leibniz), (a,), (v,))[1]
    close(run(lambda x, t: qb.jvp(qb.grad(L.det), (x,), (t,))[1], a, v), want)
    close(run(lambda x, t: qb.grad(lambda y: qb.jvp(L.det, (y,), (t,))[1])(x), a, v), want)
    close(run(lambda x, t: qb.grad(lambda y: qb.sum(qb.grad(L.det)(y) * t))(x), a, v), want)


@pytest.mark.parametrize(("n", "rank"), CASES)
def test_second_derivatives(n, rank):
    seconds(lambda f, *args: f(*map(qb.array, args)).numpy(), n, rank)


@pytest.mark.parametrize("rank", [2, 4])
def test_compiled_second_derivatives(run, rank):
    seconds(run, 4, rank)


@pytest.mark.parametrize(("n", "rank"), [(3, 1), (4, 1), (4, 2), (4, 4), (5, 2)])
def test_third_derivatives(n, rank):
    a, v, w = of_rank(n, rank), numbers(n, n, seed=5), numbers(n, n, seed=6)

    def third(m, f, array):
        def along(g, t):
            return lambda y: m.jvp(g, (y,), (array(t),))[1]

        return np.asarray(m.grad(along(along(f, v), w))(array(a)))

    close(third(qb, L.det, qb.array), third(jax, leibniz, jax.numpy.asarray), 1e-10)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_hessian(n):
    a = of_rank(n, n - 1)
    close(qb.hessian(L.det)(qb.array(a)).numpy(), jax.hessian(leibniz)(a))


def test_fourth_derivative_of_five_rows():
    v = numbers(5, 5, seed=1)

    def fourth(m, f):
        g = lambda t: f(t * v)  # noqa: E731
        for _ in range(5):
            g = m.grad(g)
        return g(0.0)

    close(fourth(qb, L.det).numpy(), 120.0 * np.linalg.det(v), 1e-10)


def test_stacks_mix_regular_and_singular_matrices(run):
    stack = np.stack([of_rank(4, r) for r in range(5)])
    close(run(qb.grad(lambda a: qb.sum(L.det(a))), stack), jax.vmap(jax.grad(leibniz))(stack))
    close(run(qb.vmap(qb.grad(L.det)), stack), jax.vmap(jax.grad(leibniz))(stack))
    v = numbers(5, 4, 4, seed=3)
    second = jax.vmap(lambda a, t: jax.jvp(jax.grad(leibniz), (a,), (t,))[1])
    close(run(qb.vmap(lambda a, t: qb.jvp(qb.grad(L.det), (a,), (t,))[1]), stack, v), second(stack, v))
    one = jax.vmap(lambda t: jax.jvp(jax.grad(leibniz), (stack[3],), (t,))[1])(v)
    close(run(lambda a, ts: qb.vmap(lambda t: qb.jvp(qb.grad(L.det), (a,), (t,))[1])(ts), stack[3], v), one)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_exact_at_zeros(n):
    a = np.diag([1.0] * (n - 1) + [0.0])
    want = np.zeros((n, n))
    want[-1, -1] = 1.0
    np.testing.assert_array_equal(qb.grad(L.det)(qb.array(a)).numpy(), want)
    np.testing.assert_array_equal(qb.grad(L.det)(qb.zeros((n, n))).numpy(), (n == 1) * np.ones((n, n)))


def test_badly_scaled_matrices_keep_their_digits():
    # cofactors of a matrix with one tiny singular value come from the others alone
    a = np.diag([1e3, 1.0, 1.0, 1e-18])
    close(qb.grad(L.det)(qb.array(a)).numpy()[3, 3], 1e3)
    assert L.det(qb.array(np.diag([1e200, 1e-200, 1e100, 1e-100]))).item() == pytest.approx(1.0)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_float32_is_rounded_once(n):
    a = numbers(n, n).astype(np.float32)
    got = L.det(qb.array(a))
    assert got.dtype is qb.float32
    np.testing.assert_allclose(got.numpy(), np.float32(np.linalg.det(a.astype(np.float64))), rtol=1e-7)
    assert qb.grad(L.det)(qb.array(a)).dtype is qb.float32


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_nan(run, n):
    a = np.eye(n)
    a[0, n - 1] = np.nan
    assert np.isnan(run(L.det, a))
    assert np.isnan(run(qb.grad(L.det), a)).any()


def test_empty(run):
    assert run(L.det, np.zeros((0, 0))) == 1.0
    assert run(L.det, np.zeros((3, 0, 0))).tolist() == [1.0] * 3
    assert run(L.det, np.zeros((0, 4, 4))).shape == (0,)
    assert run(qb.grad(lambda a: qb.sum(L.det(a))), np.zeros((2, 0, 0))).shape == (2, 0, 0)
    assert run(qb.grad(lambda a: qb.sum(L.det(a))), np.zeros((0, 4, 4))).shape == (0, 4, 4)


def test_strided_operands():
    a = numbers(8, 8)[::2, ::2].T
    close(L.det(qb.array(a)).numpy(), np.linalg.det(a))


def test_the_sign_of_a_determinant_has_derivative_zero():
    a = qb.array(numbers(4, 4))
    assert qb.grad(lambda x: L.slogdet(x).sign)(a).numpy().any() == False  # noqa: E712
    value = lambda x: L.slogdet(x).sign * qb.exp(L.slogdet(x).logabsdet)  # noqa: E731
    close(qb.grad(value)(a).numpy(), qb.grad(L.det)(a).numpy())


def test_the_logarithm_has_no_derivative_at_a_singular_matrix():
    f = qb.grad(lambda a: L.slogdet(a).logabsdet)
    with pytest.raises(ValueError, match="singular"):
        f(qb.ones((4, 4)))
    assert np.isnan(qb.jit(f)(qb.ones((4, 4))).numpy()).all()
