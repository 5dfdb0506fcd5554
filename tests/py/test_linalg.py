"""Dense linear algebra, against NumPy and SciPy; derivatives against JAX."""

import numpy as np
import pytest
import scipy.linalg
from op_helpers import numbers

import quabla as qb

L = qb.linalg


def regular(*stack, n=4, m=None, seed=0):
    """Well-conditioned matrices."""
    m = n if m is None else m
    return numbers(*stack, n, m, seed=seed) + 3.0 * np.eye(n, m)


def definite(*stack, n=4, seed=0):
    a = numbers(*stack, n, n, seed=seed)
    return a @ np.swapaxes(a, -1, -2) + n * np.eye(n)


def close(got, want, tolerance=1e-11):
    np.testing.assert_allclose(got.numpy(), want, rtol=tolerance, atol=tolerance)


@pytest.fixture(params=["eager", "numpy", "xla"])
def run(request, engine):
    """A function run eagerly, or compiled by each engine."""
    if request.param == "eager":
        return lambda f, *args: f(*map(qb.array, args))
    engine(request.param)
    return lambda f, *args: qb.jit(f)(*map(qb.array, args))


STACKS = [(), (3,), (2, 3)]


@pytest.mark.parametrize("stack", STACKS)
class TestValues:
    def test_solve(self, run, stack):
        a, b = regular(*stack), numbers(*stack, 4, 2, seed=1)
        close(run(L.solve, a, b), np.linalg.solve(a, b))

    def test_solve_broadcasts(self, run, stack):
        a, b = regular(*stack), numbers(4, seed=1)
        close(run(L.solve, a, b), np.linalg.solve(a, np.broadcast_to(b[:, None], (*stack, 4, 1)))[..., 0])
        close(run(L.solve, regular(), numbers(*stack, 4, 2)), np.linalg.solve(regular(), numbers(*stack, 4, 2)))

    @pytest.mark.parametrize("lower", [False, True])
    @pytest.mark.parametrize("trans", [0, 1, "N", "T", "C"])
    def test_solve_triangular(self, run, stack, lower, trans):
        a, b = regular(*stack), numbers(*stack, 4, 2, seed=1)
        part = np.tril(a) if lower else np.triu(a)
        part = np.swapaxes(part, -1, -2) if trans in (1, "T", "C") else part
        close(run(lambda x, y: L.solve_triangular(x, y, trans, lower), a, b), np.linalg.solve(part, b))

    def test_cholesky(self, run, stack):
        a = definite(*stack)
        close(run(L.cholesky, a), np.linalg.cholesky(a))

    @pytest.mark.parametrize("lower", [False, True])
    def test_cho_solve(self, run, stack, lower):
        a, b = definite(*stack), numbers(*stack, 4, 2, seed=1)
        c = np.linalg.cholesky(a)
        c = c if lower else np.swapaxes(c, -1, -2)
        close(run(lambda x, y: L.cho_solve(x, y, lower), c, b), np.linalg.solve(a, b))

    def test_inv(self, run, stack):
        close(run(L.inv, regular(*stack)), np.linalg.inv(regular(*stack)))

    def test_determinants(self, run, stack):
        a = numbers(*stack, 4, 4)
        close(run(L.det, a), np.linalg.det(a))
        for part in range(2):
            close(run(lambda x: L.slogdet(x)[part], a), np.linalg.slogdet(a)[part])  # noqa: B023

    def test_eigh(self, run, stack):
        a = numbers(*stack, 4, 4)
        symmetric = 0.5 * (a + np.swapaxes(a, -1, -2))
        values, vectors = (run(lambda x: L.eigh(x)[part], a).numpy() for part in range(2))  # noqa: B023
        np.testing.assert_allclose(values, np.linalg.eigvalsh(symmetric), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(symmetric @ vectors, vectors * values[..., None, :], atol=1e-12)
        assert_largest_is_positive(vectors)

    @pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
    def test_qr(self, run, stack, shape):
        a = numbers(*stack, *shape)
        for mode in ("reduced", "complete"):
            q, r = (run(lambda x: L.qr(x, mode)[part], a).numpy() for part in range(2))  # noqa: B023
            want_q, want_r = np.linalg.qr(a, mode=mode)
            assert q.shape == want_q.shape
            assert r.shape == want_r.shape
            np.testing.assert_allclose(q @ r, a, atol=1e-13)
            np.testing.assert_allclose(
                np.swapaxes(q, -1, -2) @ q,
                np.broadcast_to(np.eye(q.shape[-1]), (*stack, *q.shape[-1:] * 2)),
                atol=1e-13,
            )
            np.testing.assert_array_equal(r, np.triu(r))
            assert (np.diagonal(r, axis1=-2, axis2=-1) >= 0).all()
        close(run(lambda x: L.qr(x, "r"), a), r[..., : min(shape), :])

    @pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
    @pytest.mark.parametrize("full", [False, True])
    def test_svd(self, run, stack, shape, full):
        a = numbers(*stack, *shape)
        u, s, vh = (run(lambda x: L.svd(x, full)[part], a).numpy() for part in range(3))  # noqa: B023
        want = np.linalg.svd(a, full_matrices=full)
        assert [x.shape for x in (u, s, vh)] == [x.shape for x in want]
        rank = min(shape)
        np.testing.assert_allclose(s, want[1], rtol=1e-12)
        np.testing.assert_allclose(u[..., :rank] * s[..., None, :] @ vh[..., :rank, :], a, atol=1e-13)
        for x in (u, np.swapaxes(vh, -1, -2)):
            gram = np.swapaxes(x, -1, -2) @ x
            np.testing.assert_allclose(gram, np.broadcast_to(np.eye(gram.shape[-1]), gram.shape), atol=1e-13)
        assert_largest_is_positive(u)
        close(run(lambda x: L.svd(x, compute_uv=False), a), s)

    @pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
    def test_lstsq_and_pinv(self, run, stack, shape):
        a, b = numbers(*stack, *shape), numbers(*stack, shape[0], 2, seed=1)
        inverse = np.linalg.pinv(a)
        close(run(L.pinv, a), inverse)
        close(run(L.lstsq, a, b), inverse @ b)
        residuals = run(lambda x, y: L.lstsq(x, y, True).residuals, a, b)
        close(residuals, np.sum((b - a @ (inverse @ b)) ** 2, -2))

    @pytest.mark.parametrize("power", [-3, -1, 0, 1, 5])
    def test_matrix_power(self, run, stack, power):
        a = regular(*stack) / 3.0
        close(run(lambda x: L.matrix_power(x, power), a), np.linalg.matrix_power(a, power), 1e-9)


def assert_largest_is_positive(vectors):
    first = np.argmax(np.abs(vectors), -2)
    assert (np.take_along_axis(vectors, first[..., None, :], -2) > 0).all()


@pytest.mark.parametrize("order", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
@pytest.mark.parametrize("axis", [(0, 1), (2, 0), (-1, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_matrix_norms(order, axis, keepdims):
    x = numbers(2, 3, 4)
    close(L.norm(qb.array(x), order, axis, keepdims), np.linalg.norm(x, order, axis, keepdims))


def test_float32_is_rounded_once(run):
    a, b = regular().astype(np.float32), numbers(4, 1, dtype=np.float32)
    want = np.linalg.solve(a.astype(np.float64), b.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(run(L.solve, a, b).numpy(), want)
    x = definite().astype(np.float32)
    np.testing.assert_array_equal(
        run(L.cholesky, x).numpy(), np.linalg.cholesky(x.astype(np.float64)).astype(np.float32)
    )


def test_tied_components_do_not_depend_on_rounding(run):
    vectors = run(lambda a: L.eigh(a).eigenvectors, np.array([[2.0, 1.0], [1.0, 2.0]])).numpy()
    half = np.sqrt(0.5)
    np.testing.assert_allclose(vectors, [[half, half], [-half, half]], rtol=1e-14)


# ---- matrices without an answer ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: L.solve(qb.ones((2, 2)), qb.ones(2)), "solve: the matrix is singular"),
        (lambda: L.inv(qb.zeros((2, 2))), "inv: the matrix is singular"),
        (lambda: L.matrix_power(qb.zeros((2, 2)), -1), "singular"),
        (lambda: qb.vmap(L.inv)(qb.stack([qb.eye(2), qb.zeros((2, 2))])), "solve: the matrix is singular"),
        (lambda: qb.grad(lambda a: qb.sum(L.inv(a)))(qb.zeros((2, 2))), "singular"),
        (lambda: L.solve_triangular(qb.zeros((2, 2)), qb.ones(2)), "zero on its diagonal"),
        (lambda: L.cholesky(qb.array([[1.0, 2.0], [3.0, 9.0]])), "not symmetric"),
        (lambda: L.cholesky(qb.array([[1.0, 2.0], [2.0, 1.0]])), "not positive definite"),
        (lambda: L.cholesky(qb.full((2, 2), np.nan)), "cholesky"),
        (lambda: L.lstsq(qb.ones((3, 2)), qb.ones(3)), "full rank"),
        (lambda: L.solve(qb.eye(2), qb.ones(3)), "rows"),
        (lambda: L.solve(qb.eye(2), qb.array(1.0)), "vector or matrices"),
        (lambda: L.solve(qb.eye(2), qb.ones(2, dtype=qb.float32)), "dtype"),
        (lambda: L.solve(qb.ones((2, 3)), qb.ones(2)), "square"),
        (lambda: L.solve_triangular(qb.eye(2), qb.ones(2), trans=3), "trans"),
        (lambda: L.qr(qb.eye(2), mode="full"), "mode"),
        (lambda: L.det(qb.ones(2)), "det"),
        (lambda: L.eigh(qb.ones((2, 3))), "square"),
        (lambda: L.norm(qb.eye(2), 3), "order"),
        (lambda: qb.eye(2).solve(qb.ones(2)), "linalg.solve takes vectors"),
        (lambda: qb.grad(lambda a: qb.sum(L.qr(a, "complete").Q))(qb.ones((3, 2))), "no derivative"),
        (lambda: qb.grad(lambda a: qb.sum(L.svd(a, True).U))(qb.ones((3, 2))), "no derivative"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("name", ["numpy", "xla"])
def test_compiled_programs_give_nan(name, engine):
    engine(name)
    singular = np.stack([np.eye(2), np.ones((2, 2))])
    got = qb.jit(L.inv)(singular).numpy()
    np.testing.assert_allclose(got[0], np.eye(2))
    assert np.isnan(got[1]).all()
    factor = qb.jit(L.cholesky)(np.array([[1.0, 2.0], [2.0, 1.0]])).numpy()
    assert np.isnan(factor[np.tril_indices(2)]).all()
    lower = np.array([[4.0, 9.0], [2.0, 5.0]])
    close(qb.jit(L.cholesky)(lower), [[2.0, 0.0], [1.0, 2.0]])


def test_nan_in_gives_nan_out(run):
    a = np.array([[np.nan, 1.0], [1.0, 1.0]])
    for f in (L.slogdet, L.eigh, L.qr, L.svd):
        for x in run(lambda v: tuple(f(v)), a):  # noqa: B023
            assert np.isnan(x.numpy()[np.triu_indices(2)] if x.ndim == 2 else x.numpy()).all()
    assert np.isnan(run(L.pinv, a).numpy()).all()


def test_singular_determinants(run):
    a = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert run(L.det, a).item() == 0.0
    assert [x.item() for x in run(lambda v: tuple(L.slogdet(v)), a)] == [0.0, -np.inf]


def test_rank_deficient_pinv():
    a = numbers(4, 2) @ numbers(2, 3, seed=1)
    close(L.pinv(qb.array(a)), np.linalg.pinv(a, rcond=1e-12))
    close(L.pinv(qb.array(np.diag([1.0, 0.1])), rtol=0.2), np.diag([1.0, 0.0]))


def test_empty():
    assert L.det(qb.zeros((0, 0))).item() == 1.0
    assert L.solve(qb.zeros((0, 0)), qb.zeros((0, 2))).shape == [0, 2]


# ---- derivatives --------------------------------------------------------------------------------------


def weigh(xp, values):
    """A scalar that depends on every element of some results."""
    total = 0.0
    for k, x in enumerate(values):
        x = x if hasattr(x, "shape") else xp.asarray(x)
        weights = np.cos(np.arange(np.prod(x.shape, dtype=int)) + k).reshape(tuple(x.shape))
        total = total + xp.sum(x * weights)
    return total


A, TALL, RIGHT = regular(n=3), regular(n=4, m=3), numbers(3, 2, seed=3)
AGAINST_JAX = {
    "solve": (lambda L, a: [L.solve(a, RIGHT)], A),
    "inv": (lambda L, a: [L.inv(a)], A),
    "det": (lambda L, a: [L.det(a)], A),
    "slogdet": (lambda L, a: [L.slogdet(a)[1]], A),
    "cholesky": (lambda L, a: [L.cholesky(a)], definite(n=3)),
    "eigh values": (lambda L, a: [L.eigh(a)[0]], definite(n=3)),
    "eigh projector": (lambda L, a: [L.eigh(a)[1][:, :1] @ L.eigh(a)[1][:, :1].T], definite(n=3)),
    "qr": (lambda L, a: [L.qr(a)[0] ** 2, L.qr(a)[1] ** 2], TALL),
    "singular values": (lambda L, a: [L.svd(a, full_matrices=False)[1]], TALL),
    "singular vectors": (
        lambda L, a: [L.svd(a, full_matrices=False)[0] ** 2, L.svd(a, full_matrices=False)[2] ** 2],
        TALL,
    ),
    "pinv": (lambda L, a: [L.pinv(a)], TALL),
    "nuclear norm": (lambda L, a: [L.norm(a, "nuc")], TALL),
}


@pytest.mark.parametrize("case", AGAINST_JAX)
def test_derivatives_agree_with_jax(case):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    f, x = AGAINST_JAX[case]
    ours, theirs = qb.grad(lambda a: weigh(qb, f(L, a))), jax.grad(lambda a: weigh(jax.numpy, f(jax.numpy.linalg, a)))
    close(ours(qb.array(x)), np.asarray(theirs(x)), 1e-9)
    v = numbers(*x.shape, seed=9)
    v = v + v.T if x.shape[0] == x.shape[1] else v
    _, second = qb.jvp(ours, (qb.array(x),), (qb.array(v),))
    close(second, np.asarray(jax.jvp(theirs, (x,), (v,))[1]), 1e-7)


def test_gradient_of_lstsq():
    a, b = TALL, numbers(4, seed=5)
    by_definition = qb.grad(lambda x: qb.sum(L.solve(x.T @ x, x.T @ qb.reshape(qb.array(b), (4, 1)))))(qb.array(a))
    close(qb.grad(lambda x: qb.sum(L.lstsq(x, b)))(qb.array(a)), by_definition.numpy(), 1e-9)


def test_an_isolated_eigenvector_beside_a_repeated_pair_has_its_derivative():
    gradient = qb.grad(lambda a: qb.sum(L.eigh(a).eigenvectors[:, 2]))(qb.array(np.diag([1.0, 1.0, 3.0])))
    close(gradient, [[0.0, 0.0, 0.25], [0.0, 0.0, 0.25], [0.25, 0.25, 0.0]])
    assert np.isnan(qb.grad(lambda a: qb.sum(L.eigh(a).eigenvectors))(qb.eye(2)).numpy()).all()


def test_symmetric_functions_of_repeated_values_are_differentiable():
    close(qb.grad(lambda a: qb.sum(L.eigh(a).eigenvalues ** 3))(qb.eye(3)), 3.0 * np.eye(3))
    close(qb.grad(lambda a: qb.sum(L.pinv(a)))(qb.eye(2)), -np.ones((2, 2)))


def test_third_derivative_of_a_solution():
    def f(t):
        return qb.sum(L.solve(qb.array(A) + t * qb.eye(3), RIGHT))

    third = qb.grad(qb.grad(qb.grad(f)))(0.0).item()
    inverse = np.linalg.inv(A)
    np.testing.assert_allclose(third, -6.0 * np.sum(np.linalg.matrix_power(inverse, 4) @ RIGHT), rtol=1e-11)


def test_methods():
    a, b = qb.array(definite()), qb.array(numbers(4, 2))
    for run in (lambda f: f(a, b), lambda f: qb.jit(f)(a, b)):
        close(run(lambda x, y: x.solve(y)), np.linalg.solve(a.numpy(), b.numpy()))
        close(run(lambda x, y: x.cholesky()), np.linalg.cholesky(a.numpy()))
        want = scipy.linalg.solve_triangular(a.numpy(), b.numpy(), lower=True, trans=1)
        close(run(lambda x, y: x.solve_triangular(y, transpose=True)), want)
    assert qb.solve is L.solve
    close(qb.cholesky(a), L.cholesky(a).numpy())
