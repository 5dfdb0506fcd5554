"""Dense linear algebra where it is delicate: repeated and zero values, unread triangles, empty and odd inputs.

Many of these are what users of NumPy, SciPy, JAX, PyTorch and autograd have reported as wrong or NaN.
"""

import numpy as np
import pytest
import scipy.linalg
from op_helpers import central, numbers

import quabla as qb

L = qb.linalg


def close(got, want, tolerance=1e-11):
    got = got.numpy() if hasattr(got, "numpy") else got
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def rotation(n, seed=0):
    return np.linalg.qr(numbers(n, n, seed=seed))[0]


def with_values(values, seed=0, shape=None):
    """A matrix with the given singular values; symmetric, with those eigenvalues, without a shape."""
    if shape is None:
        q = rotation(len(values), seed)
        return q @ np.diag(values) @ q.T
    m, n = shape
    s = np.zeros(shape)
    np.fill_diagonal(s, values)
    return rotation(m, seed) @ s @ rotation(n, seed + 1)


def symmetric(n, seed=0):
    a = numbers(n, n, seed=seed)
    return a + a.T


@pytest.fixture(params=["eager", "xla"])
def run(request, engine):
    if request.param == "eager":
        return lambda f, *args: f(*map(qb.array, args))
    engine(request.param)
    return lambda f, *args: qb.jit(f)(*map(qb.array, args))


# ---- repeated eigenvalues --------------------------------------------------------------------------------

REPEATED = [np.eye(3), np.zeros((3, 3)), np.diag([1.0, 1.0, 3.0]), with_values([1.0, 1.0, 3.0]), with_values([2.0] * 4)]


@pytest.mark.parametrize("a", REPEATED)
def test_functions_of_eigenvalues_alone(run, a):
    close(run(qb.grad(lambda x: qb.sum(L.eigh(x).eigenvalues)), a), np.eye(len(a)))
    close(run(qb.grad(lambda x: qb.sum(L.eigh(x).eigenvalues ** 2)), a), 2.0 * a)
    close(run(qb.grad(lambda x: qb.sum(qb.exp(L.eigh(x).eigenvalues))), a), scipy.linalg.expm(a))
    v = symmetric(len(a))
    along = run(lambda x, t: qb.jvp(lambda y: qb.sum(qb.exp(L.eigh(y).eigenvalues)), (x,), (t,))[1], a, v)
    close(along, np.trace(scipy.linalg.expm(a) @ v))


def test_log_determinant_by_eigenvalues(run):
    a = with_values([2.0, 2.0, 2.0, 5.0])
    close(run(qb.grad(lambda x: qb.sum(qb.log(L.eigh(x).eigenvalues))), a), np.linalg.inv(a))
    close(run(qb.grad(lambda x: L.slogdet(x).logabsdet), a), np.linalg.inv(a).T)


def spread(a):
    """A function of the matrix that is written with its eigenvectors."""
    values, vectors = L.eigh(a)
    return qb.sum((vectors * qb.exp(values)) @ vectors.T * qb.array(np.outer([1.0, 2.0, 4.0], [1.0, 2.0, 4.0])))


def ordered(a):
    """A function of the eigenvectors that depends on which of them come first."""
    values, vectors = L.eigh(a)
    return qb.sum(
        (vectors * qb.exp(values) * qb.arange(3)) @ vectors.T * qb.array(np.outer([1.0, 2.0, 4.0], [1.0, 2.0, 4.0]))
    )


@pytest.mark.parametrize("a", [np.eye(3), with_values([1.0, 1.0, 3.0]), with_values([1.0, 1.0 + 1e-16, 3.0])])
def test_what_repeated_values_do_not_tell_is_never_a_number(run, a):
    assert not np.isfinite(run(qb.grad(ordered), a).numpy()).any()
    assert not np.isfinite(run(lambda x, t: qb.jvp(ordered, (x,), (t,))[1], a, symmetric(3)).item())
    want = scipy.linalg.expm_frechet(a, np.outer([1.0, 2.0, 4.0], [1.0, 2.0, 4.0]))[1]
    close(run(qb.grad(spread), a), want)


@pytest.mark.parametrize("a", [np.diag([1.0, 1.0, 3.0]), with_values([1.0, 1.0, 3.0]), with_values([1.0] * 3 + [2.0])])
def test_an_isolated_eigenvector_beside_repeated_values(run, a):
    n = len(a)
    weights = numbers(n, seed=7)

    def f(x):
        return qb.sum(L.eigh(x).eigenvectors[:, n - 1] * weights)

    def outer(x):
        top = L.eigh(x).eigenvectors[:, n - 1 :]
        return qb.sum(top @ top.T * qb.array(np.outer(weights, weights)))

    values, vectors = np.linalg.eigh(a)
    top = vectors[:, -1] * np.sign(vectors[np.argmax(np.abs(vectors[:, -1])), -1])
    gap = values[-1] - values[0]
    rest = np.eye(n) - np.outer(top, top)
    first = np.outer(rest @ weights, top) / gap  # dv = (v' da v has no part along v) / gap
    close(run(qb.grad(f), a), 0.5 * (first + first.T), 1e-9)
    second = 2.0 * (weights @ top) * np.outer(rest @ weights, top) / gap
    close(run(qb.grad(outer), a), 0.5 * (second + second.T), 1e-9)
    v = symmetric(n, seed=4)
    close(run(lambda x, t: qb.jvp(f, (x,), (t,))[1], a, v), np.sum(first * v), 1e-9)


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6])
def test_derivatives_near_repeated_values(gap):
    a = with_values([1.0, 1.0 + gap, 3.0])
    want = scipy.linalg.expm_frechet(a, np.outer([1.0, 2.0, 4.0], [1.0, 2.0, 4.0]))[1]
    close(qb.grad(spread)(qb.array(a)), want, 1e-13)


def test_vectors_of_singular_values_that_are_zero_have_no_derivative(run):
    def rebuilt(x):
        u, s, vh = L.svd(x)
        return qb.sum((u * s) @ vh)

    zero, v = np.zeros((3, 3)), numbers(3, 3)
    assert not np.isfinite(run(lambda x, t: qb.jvp(rebuilt, (x,), (t,))[1], zero, v).item())


# ---- singular values ------------------------------------------------------------------------------------

SINGULAR = {
    "square": with_values([3.0, 2.0, 1.0], shape=(3, 3)),
    "repeated": with_values([2.0, 2.0, 1.0], shape=(3, 3)),
    "orthogonal": rotation(3),
    "tall": with_values([3.0, 2.0], shape=(4, 2)),
    "tall repeated": with_values([2.0, 2.0], shape=(4, 2)),
    "wide repeated": with_values([2.0, 2.0], shape=(2, 5)),
    "identity": np.eye(3),
}


@pytest.mark.parametrize("case", SINGULAR)
def test_functions_of_singular_values_alone(run, case):
    a = SINGULAR[case]
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    close(run(qb.grad(lambda x: L.norm(x, "nuc")), a), u @ vh)
    close(run(qb.grad(lambda x: qb.sum(L.svd(x).S ** 2)), a), 2.0 * a)
    close(run(qb.grad(lambda x: qb.sum(L.svd(x, compute_uv=False) ** 3)), a), 3.0 * (u * s**2) @ vh)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
def test_singular_values_of_deficient_rank(run, shape):
    a = with_values([3.0, 1.0, 0.0], shape=shape)
    close(run(qb.grad(lambda x: qb.sum(L.svd(x).S ** 2)), a), 2.0 * a)
    close(run(qb.grad(lambda x: L.norm(x, 2)), a), np.outer(np.linalg.svd(a)[0][:, 0], np.linalg.svd(a)[2][0]))
    assert np.isfinite(run(qb.grad(lambda x: L.norm(x, "nuc")), a).numpy()).all()


def isolated_singular_vectors(run, a):
    """The first vectors of a matrix have their derivatives."""
    m, n = a.shape
    for f in (
        lambda x: qb.sum(L.svd(x).U[:, 0] * numbers(m, seed=8)),
        lambda x: qb.sum(L.svd(x).Vh[0] * numbers(n, seed=9)),
    ):
        want = central(lambda x: f(qb.array(x)).item(), a)  # noqa: B023
        close(run(qb.grad(f), a), want, 1e-7)
        v = numbers(m, n, seed=3)
        close(run(lambda x, t: qb.jvp(f, (x,), (t,))[1], a, v), np.sum(want * v), 1e-7)  # noqa: B023


@pytest.mark.parametrize("values", [[3.0, 1.0, 0.0], [3.0, 1.0, 1.0], [3.0, 0.0, 0.0]])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
def test_an_isolated_singular_vector_beside_repeated_or_zero_values(values, shape):
    isolated_singular_vectors(lambda f, *args: f(*map(qb.array, args)), with_values(values, shape=shape))


def test_a_compiled_isolated_singular_vector(run):
    isolated_singular_vectors(run, with_values([3.0, 0.0, 0.0], shape=(4, 3)))


def test_the_vector_of_a_single_zero_singular_value():
    # du of u = e2 in diag(3, 1, 0) is -da[2, j] / s[j] along the others
    weights = np.array([0.3, 0.7, 0.2])
    g = qb.grad(lambda x: qb.sum(L.svd(x).U[:, 2] * weights))(qb.array(np.diag([3.0, 1.0, 0.0])))
    close(g, [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [-0.1, -0.7, 0.0]])


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
def test_best_approximation_of_rank_one_of_a_matrix_of_rank_two(shape):
    a = with_values([3.0, 1.0, 0.0], shape=shape)
    weights = numbers(*shape, seed=2)

    def f(x):
        u, s, vh = L.svd(x)
        return qb.sum(s[0] * u[:, :1] @ vh[:1] * weights)

    close(qb.grad(f)(qb.array(a)), central(lambda x: f(qb.array(x)).item(), a), 1e-7)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_pseudoinverse_along_matrices_of_constant_rank(run, shape, rank):
    left, right = numbers(shape[0], rank), numbers(rank, shape[1], seed=1)
    dl, dr = numbers(shape[0], rank, seed=2), numbers(rank, shape[1], seed=3)

    def moved(t):
        return np.linalg.pinv((left + t * dl) @ (right + t * dr), rcond=1e-10)

    def along(x, v):
        return qb.jvp(lambda y: L.pinv(y, 1e-10), (x,), (v,))[1]

    h = 1e-5
    close(run(along, left @ right, dl @ right + left @ dr), (moved(h) - moved(-h)) / (2 * h), 1e-5)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (3, 3)])
def test_least_squares_in_both_operands(run, shape):
    a, b = numbers(*shape) + 2.0 * np.eye(*shape), numbers(shape[0], 2, seed=1)
    weights = numbers(shape[1], 2, seed=2)

    def f(solve, x, y):
        return qb.sum(solve(x, y) * weights)

    for i in range(2):
        got = run(qb.grad(lambda x, y: f(L.lstsq, x, y), argnums=i), a, b)
        close(
            got, qb.grad(lambda x, y: f(lambda p, q: L.pinv(p) @ q, x, y), argnums=i)(qb.array(a), qb.array(b)).numpy()
        )


# ---- norms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_gradients_of_norms_are_finite_at_zero(order):
    assert np.isfinite(qb.grad(lambda x: L.norm(x, order))(qb.zeros((3, 2))).numpy()).all()


@pytest.mark.parametrize("order", [None, 1, 2, np.inf, -np.inf, 0])
def test_gradients_of_vector_norms_are_finite_at_zero(order):
    assert np.isfinite(qb.grad(lambda x: L.norm(x, order))(qb.zeros(3)).numpy()).all()
    assert np.isfinite(qb.grad(lambda x: L.norm(x, order))(qb.array([0.0, 3.0, 0.0])).numpy()).all()


@pytest.mark.parametrize("order", [3, 2.5, 1.5])
def test_gradients_of_vector_norms_with_some_zeros(order):
    x = np.array([0.0, 3.0, -4.0])
    size = np.sum(np.abs(x) ** order) ** (1 / order)
    close(qb.grad(lambda v: L.norm(v, order))(qb.array(x)), np.sign(x) * (np.abs(x) / size) ** (order - 1))


@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_gradients_of_matrix_norms(order):
    a = numbers(4, 3)
    close(qb.grad(lambda x: L.norm(x, order))(qb.array(a)), central(lambda x: np.linalg.norm(x, order), a), 1e-7)


# ---- triangles that are not read -----------------------------------------------------------------------------


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("stack", [(), (2,), (50,)])
def test_the_unread_triangle_has_no_influence(run, lower, trans, stack):
    a, b = numbers(*stack, 3, 3) + 2.0 * np.eye(3), numbers(*stack, 3, 2, seed=1)
    unread = np.triu(np.ones((3, 3)), 1) if lower else np.tril(np.ones((3, 3)), -1)
    dirty = np.where(unread, np.nan, a)
    part = a * (1.0 - unread)
    close(run(lambda x, y: L.solve_triangular(x, y, trans, lower), dirty, b),
          np.linalg.solve(np.swapaxes(part, -1, -2) if trans else part, b))  # fmt: skip
    g = run(qb.grad(lambda x: qb.sum(qb.sin(L.solve_triangular(x, b, trans, lower)))), a).numpy()
    np.testing.assert_array_equal(g * unread, np.zeros_like(g))
    want = qb.grad(lambda x: qb.sum(qb.sin(L.solve(qb.swapaxes(x, -1, -2) if trans else x, b))))(qb.array(part)).numpy()
    close(g, want * (1.0 - unread), 1e-9)


def test_gradients_through_symmetric_factorizations_are_symmetric(run):
    a = symmetric(4) + 8.0 * np.eye(4)
    weights = numbers(4, 4, seed=5)
    for f in (L.cholesky, lambda x: L.eigh(x).eigenvectors, lambda x: L.eigh(x).eigenvalues):
        g = run(qb.grad(lambda x: qb.sum(qb.sin(f(x)) * weights)), a).numpy()  # noqa: B023
        close(g, g.T, 1e-13)


def test_an_asymmetric_matrix_is_its_symmetric_part_to_eigh(run):
    a = numbers(3, 3)
    close(run(lambda x: L.eigh(x).eigenvalues, a), np.linalg.eigvalsh(0.5 * (a + a.T)))


# ---- systems ---------------------------------------------------------------------------------------------------


def test_solve_maps_over_either_operand():
    a, b = numbers(5, 3, 3) + 3.0 * np.eye(3), numbers(5, 3, seed=1)
    want = np.linalg.solve(a, b[..., None])[..., 0]
    close(qb.vmap(L.solve)(qb.array(a), qb.array(b)), want)
    close(qb.vmap(L.solve, (0, None))(qb.array(a), qb.array(b[0])), np.linalg.solve(a, b[0][None, :, None])[..., 0])
    close(qb.vmap(L.solve, (None, 0))(qb.array(a[0]), qb.array(b)), np.linalg.solve(a[0], b.T).T)
    gradient = qb.vmap(qb.grad(lambda x, y: qb.sum(L.solve(x, y))), (None, 0))(qb.array(a[0]), qb.array(b))
    left = np.linalg.solve(a[0].T, np.ones(3))
    close(gradient, -left[:, None] * np.linalg.solve(a[0], b.T).T[:, None, :])


@pytest.mark.parametrize("power", [-2, -1, 0, 1, 2, 3, 7])
def test_gradients_of_powers(power):
    a = numbers(3, 3) / 3.0 + np.eye(3)

    def f(x):
        return qb.sum(qb.sin(L.matrix_power(x, power))) + qb.sum(x) * 0.0

    want = central(lambda x: np.sum(np.sin(np.linalg.matrix_power(x, power))), a)
    close(qb.grad(f)(qb.array(a)), want, 1e-6)


def test_a_zero_power_of_a_singular_matrix_is_one():
    close(L.matrix_power(qb.zeros((2, 3, 3)), 0), np.broadcast_to(np.eye(3), (2, 3, 3)))


@pytest.mark.parametrize("shape", [(2, 4), (4, 2), (3, 3), (1, 1), (1, 3), (3, 1)])
def test_gradients_of_qr(run, shape):
    a = numbers(*shape) + 2.0 * np.eye(*shape)
    k = min(shape)
    wq, wr = numbers(shape[0], k, seed=1), numbers(k, shape[1], seed=2)

    def f(x):
        q, r = L.qr(x)
        return qb.sum(q * wq) + qb.sum(r * wr)

    def reference(x):
        q, r = np.linalg.qr(x)
        signs = np.where(np.diagonal(r) < 0, -1.0, 1.0)
        return np.sum(q * signs * wq) + np.sum(signs[:, None] * r * wr)

    close(run(qb.grad(f), a), central(reference, a), 1e-6)


@pytest.mark.parametrize("engine_name", ["numpy", "xla"])
def test_a_factor_that_is_not_there_is_nan_below_and_zero_above(engine, engine_name):
    engine(engine_name)
    hurt = np.eye(3)
    hurt[2, 0] = np.nan
    stack = np.stack([np.eye(3), np.diag([1.0, -1.0, 1.0]), hurt, np.zeros((3, 3))])
    got = qb.jit(L.cholesky)(qb.array(stack)).numpy()
    np.testing.assert_array_equal(got, [np.eye(3), *[np.where(np.tri(3), np.nan, 0.0)] * 3])


@pytest.mark.parametrize("shape", [(5, 5), (40, 3, 3)])
@pytest.mark.parametrize("factorize", [L.eigh, L.svd, L.qr, L.slogdet])
def test_parts_of_one_factorization_belong_together(factorize, shape):
    first, second = numbers(*shape), numbers(*shape, seed=1)
    parts = [qb.jit(lambda a, i=i: factorize(a)[i]) for i in range(len(factorize(qb.array(first))))]
    one = [p(qb.array(first)).numpy() for p in parts]
    mixed = [[p(qb.array(x)).numpy() for x in (first, second)] for p in parts]  # asked for in turns
    for a, (b, c), d in zip(one, mixed, factorize(qb.array(second)), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(c, d.numpy())


# ---- odd inputs ------------------------------------------------------------------------------------------------

SQUARE = ["cholesky", "eigh", "inv", "slogdet", "det"]
ANY = ["qr", "svd", "pinv"]


def results(x):
    return list(x) if isinstance(x, tuple) else [x]


@pytest.mark.parametrize("name", SQUARE + ANY)
@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 2, 2), (0, 3), (3, 0), (2, 0, 3)])
def test_empty_matrices_as_numpy(run, name, shape):
    if name in SQUARE and shape[-1] != shape[-2]:
        return
    a = np.zeros(shape)
    options = {"full_matrices": False} if name == "svd" else {}
    want = results(getattr(np.linalg, name)(a, **options))
    got = results(run(lambda x: tuple(results(getattr(L, name)(x))), a))
    for x, y in zip(got, want, strict=True):
        assert x.shape == list(y.shape)
        close(x, y)


@pytest.mark.parametrize("name", [*SQUARE, *ANY])
@pytest.mark.parametrize("n", [1, 3])
def test_gradients_of_one_row_and_of_none(name, n):
    a = np.full((2, 1, 1), 4.0)
    g = qb.grad(lambda x: sum(qb.sum(y * y) for y in results(getattr(L, name)(x))))(qb.array(a)).numpy()
    assert np.isfinite(g).all()
    empty = qb.zeros((n, 0, 0))
    g = qb.grad(lambda x: sum(qb.sum(y * y) for y in results(getattr(L, name)(x))) + qb.sum(x))(empty)
    assert g.shape == [n, 0, 0]


@pytest.mark.parametrize("name", ["eigh", "svd", "qr", "pinv"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_only_the_matrix_that_is_not_finite_is_lost(run, name, bad):
    a = np.stack([symmetric(3), symmetric(3, 1)])
    want = results(run(lambda x: tuple(results(getattr(L, name)(x))), a))
    a[1, 0, 0] = bad
    for got, good in zip(results(run(lambda x: tuple(results(getattr(L, name)(x))), a)), want, strict=True):
        close(got.numpy()[0], good.numpy()[0])
        assert np.isnan(got.numpy()[1].ravel()[0])


@pytest.mark.parametrize("name", [*SQUARE, *ANY, "matrix_power"])
def test_views_and_float32(name):
    wide = np.zeros((6, 6))
    wide[::2, ::2] = symmetric(3) + 6.0 * np.eye(3)
    view = wide[::2, ::2].T
    more = (3,) if name == "matrix_power" else ()
    whole = results(getattr(L, name)(qb.array(np.ascontiguousarray(view)), *more))
    for x, y in zip(results(getattr(L, name)(qb.array(view), *more)), whole, strict=True):
        close(x, y.numpy(), 1e-13)
    for x, y in zip(results(getattr(L, name)(qb.array(view.astype(np.float32)), *more)), whole, strict=True):
        assert x.dtype is qb.float32
        np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=2e-5, atol=2e-5)


def test_a_derivative_of_cholesky_at_an_indefinite_matrix_is_nan(run):
    a = np.array([[1.0, 2.0], [2.0, 1.0]])
    if run is not None:
        g = qb.jit(qb.grad(lambda x: qb.sum(L.cholesky(x))))(qb.array(a)).numpy()
        assert np.isnan(g).all()
