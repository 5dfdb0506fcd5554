"""Functions of symmetric matrices: divided differences, derivatives at repeated eigenvalues, and recognized programs."""

import mpmath
import numpy as np
import pytest
import scipy.linalg
from op_helpers import numbers

import quabla as qb
from quabla.transforms.divided_differences import differences, tables

L = qb.linalg


def close(got, want, tolerance=1e-11):
    got = got.numpy() if hasattr(got, "numpy") else got
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def with_values(values, seed=0):
    """A symmetric matrix with the given eigenvalues."""
    q = np.linalg.qr(numbers(len(values), len(values), seed=seed))[0]
    a = q @ np.diag(values) @ q.T
    return 0.5 * (a + a.T)


def symmetric(n, seed=0):
    a = numbers(n, n, seed=seed)
    return a + a.T


def derivative(f, a, directions):
    """The derivative of f(a) along directions, from the corner of f of a block matrix (Mathias, 1996)."""
    for e in directions:
        e = np.kron(np.eye(len(a) // len(e)), e)
        a = np.block([[a, e], [np.zeros_like(a), a]])
    size = len(directions[0])
    return np.array(f(mpmath.matrix(a.tolist())).tolist(), dtype=float)[:size, -size:]


def along(f, a, directions):
    """The derivative of a program along directions, by forward mode."""
    if not directions:
        return f(a)
    *rest, last = directions
    return qb.jvp(lambda x: along(f, x, rest), (a,), (qb.array(last),))[1]


# ---- divided differences --------------------------------------------------------------------------------

FUNCTIONS = {
    "exp": (qb.exp, mpmath.exp),
    "log": (qb.log, mpmath.log),
    "sqrt": (qb.sqrt, mpmath.sqrt),
    "reciprocal": (lambda x: 1.0 / x, lambda x: 1 / x),
    "tanh": (qb.tanh, mpmath.tanh),
    "fast sine": (lambda x: qb.sin(20.0 * x), lambda x: mpmath.sin(20 * x)),
}


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_divided_differences_are_accurate_at_every_distance(name, order):
    f, exact = FUNCTIONS[name]
    program = qb.jit(lambda x: differences(lambda y, _: f(y), x, (), order))
    place = tables(order + 1, order)[0].tolist().index(list(range(order + 1)))
    with mpmath.workdps(200):
        for gap in (1e-14, 1e-9, 1e-5, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 3.0):
            x = 1.3 + gap * np.linspace(0.0, 1.0, order + 1) ** 1.5
            points = [mpmath.mpf(v) for v in x.tolist()]
            column = [exact(v) for v in points]
            for k in range(1, order + 1):
                pairs = zip(column[1:], column, points[k:], points, strict=False)
                column = [(b - a) / (xb - xa) for b, a, xb, xa in pairs]
            got = mpmath.mpf(program(qb.array(x))[place].item())
            assert abs(got / column[0] - 1) < 1e-13


def test_equal_points_give_derivatives_and_kinks_give_quotients():
    got = qb.jit(lambda x: differences(lambda y, _: qb.exp(y), x, (), 2))(qb.array([1.0, 1.0, 1.0]))
    close(got, np.full(10, np.e / 2.0), 1e-15)
    got = qb.jit(lambda x: differences(lambda y, _: qb.abs(y), x, (), 1))(qb.array([-1e-9, 3e-9]))
    close(got, [-1.0, 0.5, 1.0], 1e-15)


# ---- funm -------------------------------------------------------------------------------------------------

MATRICES = {
    "distinct": with_values([0.5, 1.0, 2.0, 3.0]),
    "pair": with_values([1.0, 1.0, 2.0, 3.0]),
    "nearly a pair": with_values([1.0, 1.0 + 1e-9, 2.0, 3.0]),
    "triple": with_values([1.0, 1.0, 1.0, 3.0]),
    "identity": np.eye(4),
    "scaled": 2.0 * np.eye(4),
}


@pytest.mark.parametrize("case", MATRICES)
def test_derivatives_of_every_order_are_those_of_mathematics(case):
    a = MATRICES[case]
    directions = [symmetric(4, seed=k) for k in (1, 2, 3)]
    for f, exact in ((qb.exp, mpmath.expm), (qb.log, mpmath.logm)):
        if exact is mpmath.logm and case == "nearly a pair":
            continue  # mpmath's own logarithm is not that accurate
        close(L.funm(qb.array(a), f), scipy.linalg.funm(a, {qb.exp: np.exp, qb.log: np.log}[f]).real)
        for order in (1, 2, 3) if f is qb.exp else (1,):
            want = derivative(exact, a, directions[:order])
            close(along(lambda x: L.funm(x, f), qb.array(a), directions[:order]), want, 1e-9)  # noqa: B023


@pytest.mark.parametrize("engine_name", ["numpy", "xla"])
@pytest.mark.parametrize("case", ["pair", "identity"])
def test_reverse_mode_agrees_with_forward_mode_on_every_engine(engine, engine_name, case):
    engine(engine_name)
    a, weights = qb.array(MATRICES[case]), numbers(4, 4, seed=5)
    f = lambda x: qb.sum(L.funm(x, qb.exp) * weights)  # noqa: E731
    directions = [symmetric(4, seed=k) for k in (1, 2)]
    first = derivative(mpmath.expm, MATRICES[case], directions[:1])
    second = derivative(mpmath.expm, MATRICES[case], directions)
    close(np.sum(qb.jit(qb.grad(f))(a).numpy() * directions[0]), np.sum(first * weights))
    hessian = qb.jit(qb.hessian(f))(a).numpy()
    close(np.einsum("ij,ijkl,kl", directions[0], hessian, directions[1]), np.sum(second * weights))
    twice = qb.jit(qb.jacobian(qb.grad(f)))(a).numpy()
    close(twice, hessian)
    close(hessian, np.transpose(hessian, (2, 3, 0, 1)))


def test_parameters_have_derivatives_too():
    a, weights = qb.array(MATRICES["pair"]), numbers(4, 4, seed=5)
    f = lambda x, p: qb.sum(L.funm(x, lambda y: y**p) * weights)  # noqa: E731
    p = qb.array(1.7)
    w, v = np.linalg.eigh(MATRICES["pair"])
    for k in (1, 2):
        want = np.sum((v * (w**1.7 * np.log(w) ** k)) @ v.T * weights)
        g = f
        for _ in range(k):
            g = qb.grad(g, argnums=1)
        close(g(a, p), want)
    # d/dp a^p = a^p log a, so the mixed derivative is the gradient of that.
    want = qb.grad(lambda x: qb.sum(L.funm(x, lambda y: y**1.7 * qb.log(y)) * weights))(a)
    close(qb.jacobian(qb.grad(f), argnums=1)(a, p), want)
    close(qb.jacobian(qb.grad(f, argnums=1), argnums=0)(a, p), want)
    many = qb.array([0.5, 1.7])
    close(qb.vmap(qb.grad(f, argnums=1), (None, 0))(a, many)[1], qb.grad(f, argnums=1)(a, p))
    layer = lambda x, w: qb.sum(L.funm(x, lambda y: qb.dot(qb.tanh(y * w), w)) * weights)  # noqa: E731
    units = lambda x, w: qb.sum(qb.vmap(lambda u: u * qb.sum(L.funm(x, lambda y: qb.tanh(y * u)) * weights))(w))  # noqa: E731
    close(qb.grad(layer, argnums=1)(a, many), qb.grad(units, argnums=1)(a, many))


def test_stacks_are_loops():
    stack = np.stack([MATRICES[case] for case in ("pair", "identity", "distinct")])
    weights = numbers(4, 4, seed=5)
    f = lambda x: qb.sum(L.funm(x, qb.exp) * weights)  # noqa: E731
    loop = np.stack([qb.hessian(f)(qb.array(a)).numpy() for a in stack])
    close(qb.vmap(qb.hessian(f))(qb.array(stack)), loop)
    whole = qb.hessian(f)(qb.array(stack)).numpy()
    close(np.stack([whole[i, :, :, i] for i in range(3)]), loop)
    mapped = qb.grad(lambda x: qb.sum(qb.vmap(lambda y: L.funm(y, qb.exp))(x) * weights))
    close(mapped(qb.array(stack)), np.stack([qb.grad(f)(qb.array(a)).numpy() for a in stack]))


def test_in_a_loop_and_in_float32():
    a = MATRICES["pair"]

    def f(x):
        return qb.sum(qb.fori_loop(0, 2, lambda i, y: L.funm(y, qb.sin), x) * numbers(4, 4, seed=5))

    twice = lambda x: qb.sum(L.funm(x, lambda y: qb.sin(qb.sin(y))) * numbers(4, 4, seed=5))  # noqa: E731
    close(qb.grad(f)(qb.array(a)), qb.grad(twice)(qb.array(a)))
    single = qb.array(a, dtype=qb.float32)
    got = qb.grad(lambda x: qb.sum(L.funm(x, qb.exp)))(single)
    assert got.dtype == qb.float32
    close(got, derivative(mpmath.expm, a, [np.ones((4, 4))]), 2e-5)


def test_traces():
    for case, a in MATRICES.items():
        x = qb.array(a)
        close(L.trace_funm(x, qb.log), np.linalg.slogdet(a)[1])
        f = lambda y: L.trace_funm(y, qb.log)  # noqa: E731
        inverse = np.linalg.inv(a)
        close(qb.grad(f)(x), inverse, 1e-9)
        e = symmetric(4, seed=1)
        close(along(f, x, [e, e]), -np.trace(inverse @ e @ inverse @ e), 1e-9)
        close(along(f, x, [e, e, e]), 2.0 * np.trace(inverse @ e @ inverse @ e @ inverse @ e), 1e-8), case


def test_square_roots_and_logarithms():
    for a in MATRICES.values():
        close(L.sqrtm(qb.array(a)), scipy.linalg.sqrtm(a))
        close(L.logm(qb.array(a)), scipy.linalg.logm(a))
        e = symmetric(4, seed=1)
        root = scipy.linalg.sqrtm(a)
        close(along(L.sqrtm, qb.array(a), [e]), scipy.linalg.solve_sylvester(root, root, e), 1e-9)
    half = with_values([0.0, 0.0, 1.0, 4.0])
    close(L.sqrtm(qb.array(half)) @ L.sqrtm(qb.array(half)), half)
    assert np.isfinite(qb.grad(lambda x: qb.sum(L.sqrtm(x)))(qb.array(half)).numpy()).all()


def test_refusals():
    for f in (L.sqrtm, L.logm, lambda a: L.funm(a, qb.exp), lambda a: L.trace_funm(a, qb.exp)):
        with pytest.raises(ValueError, match="is not symmetric"):
            f(qb.array([[1.0, 2.0], [0.0, 1.0]]))
        assert np.isnan(qb.jit(f)(qb.array([[1.0, 2.0], [0.0, 1.0]])).numpy()).all()
        with pytest.raises(ValueError, match="needs square matrices"):
            f(qb.ones((2, 3)))
    with pytest.raises(ValueError, match="sqrtm: the matrix has a negative eigenvalue"):
        L.sqrtm(qb.array([[-1.0]]))
    with pytest.raises(ValueError, match="logm: the matrix is not positive definite"):
        L.logm(qb.array([[0.0]]))
    with pytest.raises(TypeError, match="funm: f must return"):
        L.funm(qb.eye(2), lambda x: qb.array([1.0, 2.0]) * x)
    with pytest.raises(TypeError, match="funm: f must return"):
        L.funm(qb.eye(2), lambda x: (x, x))
    with pytest.raises(TypeError, match="expected a function"):
        L.funm(qb.eye(2), 1.0)


def test_small_and_odd_matrices():
    for n in (0, 1):
        one = qb.ones((n, n))
        close(L.funm(one, qb.exp), np.full((n, n), np.e))
        close(qb.hessian(lambda a: qb.sum(L.funm(a, qb.exp)))(one), np.full((n, n, n, n), np.e))
        close(L.trace_funm(one, qb.exp), n * np.e)
        assert L.sqrtm(one).shape == L.logm(one).shape == [n, n]
    stack = np.stack([np.eye(2), np.full((2, 2), np.nan)])
    got = qb.jit(lambda a: L.funm(a, qb.exp))(qb.array(stack)).numpy()
    close(got[0], np.e * np.eye(2))
    assert np.isnan(got[1]).all()
    close(L.funm(qb.eye(2), lambda x: 3.0), 3.0 * np.eye(2))
    assert np.isnan(qb.grad(lambda a: qb.sum(L.funm(a, qb.log)))(qb.zeros((2, 2))).numpy()).all()


# ---- programs over eigh --------------------------------------------------------------------------------------

B, C = numbers(4, seed=8), numbers(4, 4, seed=9)
K = numbers(4, 2, seed=10)
PROGRAMS = {
    "columns": (lambda w, v: (v * qb.exp(w)) @ v.T, lambda a: L.funm(a, qb.exp)),
    "rows": (lambda w, v: v @ (qb.exp(w)[:, None] * v.T), lambda a: L.funm(a, qb.exp)),
    "diag": (lambda w, v: v @ qb.diag(qb.exp(w)) @ v.T, lambda a: L.funm(a, qb.exp)),
    "eye": (lambda w, v: v @ (qb.eye(4) * qb.exp(w)) @ v.T, lambda a: L.funm(a, qb.exp)),
    "einsum": (lambda w, v: qb.einsum("ij,j,kj->ik", v, qb.exp(w), v), lambda a: L.funm(a, qb.exp)),
    "halves": (lambda w, v: (v * qb.exp(w / 2.0)) @ (v * qb.exp(w / 2.0)).T, lambda a: L.funm(a, qb.exp)),
    "inverse": (lambda w, v: (v / w) @ v.T, L.inv),
    "solve": (lambda w, v: qb.dot(v, qb.dot(v.T, B) / w), lambda a: L.solve(a, B)),
    "solve many": (lambda w, v: v @ ((v.T @ K) / w[:, None]), lambda a: L.solve(a, K)),
    "from the left": (lambda w, v: qb.dot(qb.dot(B, v) / w, v.T), lambda a: L.solve(a, B)),
    "quadratic": (lambda w, v: qb.sum(qb.dot(v.T, B) ** 2 / w), lambda a: qb.dot(B, L.solve(a, B))),
    "bilinear": (lambda w, v: qb.dot(qb.dot(B, v) / w, qb.dot(v.T, B**2)), lambda a: qb.dot(B**2, L.solve(a, B))),
    "diagonal": (lambda w, v: qb.sum(v**2 * qb.exp(w), -1), lambda a: qb.diag(L.funm(a, qb.exp))),
    "sum": (lambda w, v: qb.sum(qb.log(w)), lambda a: L.slogdet(a).logabsdet),
    "mean": (lambda w, v: qb.mean(w**2), lambda a: qb.sum(a * a) / 4.0),
    "norm": (lambda w, v: qb.norm(w) ** 3, lambda a: qb.norm(a) ** 3),
    "dot": (lambda w, v: qb.dot(w, w) ** 2, lambda a: qb.sum(a * a) ** 2),
    "variance": (lambda w, v: qb.var(w), lambda a: qb.sum(a * a) / 4.0 - (qb.trace(a) / 4.0) ** 2),
    "logsumexp": (lambda w, v: qb.logsumexp(w), lambda a: qb.log(L.trace_funm(a, qb.exp))),
    "softmax": (lambda w, v: (v * qb.softmax(w)) @ v.T, lambda a: L.funm(a, qb.exp) / L.trace_funm(a, qb.exp)),
    "where": (lambda w, v: (v * qb.where(w > 0.1, w, 0.0)) @ v.T, lambda a: a),
    "projector": (lambda w, v: v @ v.T, lambda a: 0.0 * a + qb.eye(4)),
}


#: They subtract the largest eigenvalue, which has no second derivative where it is repeated.
SHIFTED = {"logsumexp", "softmax"}


@pytest.mark.parametrize(
    ("name", "case"),
    [(n, c) for n in PROGRAMS for c in ("distinct", "pair", "identity") if not (n in SHIFTED and c == "identity")],
)
def test_plain_programs_have_the_derivatives_of_functions_of_the_matrix(name, case):
    program, truth = PROGRAMS[name]
    a = qb.array(MATRICES[case])

    def weighed(f):
        def run(x):
            y = f(0.5 * (x + x.T))
            return qb.sum(y * qb.array(C.ravel()[: y.size].reshape(y.shape)))

        return run

    f, g = weighed(lambda x: program(*L.eigh(x))), weighed(truth)
    assert qb.value_and_grad(f)(a)[0].item() == f(a).item()
    close(qb.grad(f)(a), qb.grad(g)(a))
    directions = [symmetric(4, seed=k) for k in (1, 2)]
    close(along(f, a, directions), along(g, a, directions), 1e-10)
    back = qb.grad(lambda x: along(f, x, directions[:1]))
    close(back(a), qb.grad(lambda x: along(g, x, directions[:1]))(a), 1e-10)


def test_plain_programs_over_stacks():
    stack = np.stack([MATRICES["pair"], MATRICES["identity"]])

    def f(x):
        w, v = L.eigh(x)
        return qb.sum((v * qb.exp(w)[:, None, :]) @ qb.swapaxes(v, -1, -2) * C) + qb.sum(qb.log(w), (0, 1))

    def g(x):
        return qb.sum(L.funm(x, qb.exp) * C) + qb.sum(L.trace_funm(x, qb.log))

    close(qb.grad(f)(qb.array(stack)), qb.grad(g)(qb.array(stack)))

    def one(x):
        w, v = L.eigh(x)
        return qb.sum((v * qb.exp(w)) @ v.T * C)

    mapped = qb.grad(lambda x: qb.sum(qb.vmap(one)(x)))(qb.array(stack))
    close(mapped, np.stack([qb.grad(one)(qb.array(a)).numpy() for a in stack]))
    close(qb.jit(qb.vmap(qb.grad(one)))(qb.array(stack)), mapped)


UNDEFINED = {
    "an eigenvector": lambda w, v: v[:, 0],
    "a factor for each place": lambda w, v: (v * (w * numbers(4, seed=3))) @ v.T,
    "another matrix between": lambda w, v: v @ C @ v.T,
    "a spectrum that is held": lambda w, v: (v * qb.stop_gradient(w)) @ v.T * C,
    "columns in another order": lambda w, v: (v * w[::-1]) @ v.T,
    "rows scaled": lambda w, v: (v * w[:, None]) @ v.T,
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_what_is_no_function_of_the_matrix_stays_undefined(name):
    f = lambda x: qb.sum(UNDEFINED[name](*L.eigh(x)) * numbers(4, seed=6))  # noqa: E731
    for case in ("pair", "identity"):
        a = qb.array(MATRICES[case])
        assert not np.isfinite(qb.grad(f)(a).numpy()).all()
        assert not np.isfinite(along(f, a, [symmetric(4, seed=1)]).item())
