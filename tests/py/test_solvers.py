"""``linalg.cg`` and ``linalg.gmres``: values, info, failures; eagerly, compiled and batched."""

from __future__ import annotations

import gc
import re
import warnings
import weakref

import numpy as np
import pytest
import scipy.sparse.linalg as sparse

import quabla as qb

RNG = np.random.default_rng(7)
N = 6
R = RNG.standard_normal((N, N))
SPD = R @ R.T + N * np.eye(N)
GENERAL = R + N * np.eye(N)
B = RNG.standard_normal(N)
MATRICES = {"cg": SPD, "gmres": GENERAL}
BOTH = pytest.mark.parametrize("name", ["cg", "gmres"])


def solver(name):
    return getattr(qb.linalg, name)


def product(v, m):
    return qb.matmul(m, v)


def close(got, want, rtol=1e-10):
    np.testing.assert_allclose(got.numpy() if hasattr(got, "numpy") else got, want, rtol=rtol, atol=1e-13)


def matrix(rows):
    m = qb.array(rows)
    return lambda v: qb.matmul(m, v)


def laplacian(v):
    zero = qb.zeros((1,))
    return 2.0 * v - qb.concat([zero, v[:-1]], 0) - qb.concat([v[1:], zero], 0)


# ---- values -------------------------------------------------------------------------------------


@BOTH
def test_solution_is_that_of_the_matrix(name):
    m = MATRICES[name]
    x, info = solver(name)(product, qb.array(B), args=(qb.array(m),), tol=1e-12, info=True)
    close(x, np.linalg.solve(m, B))
    assert info["success"].item() is True
    assert 1 <= info["iterations"].item() <= N + 1
    assert info["residual_norm"].item() == pytest.approx(np.linalg.norm(B - m @ x.numpy()), rel=1e-3, abs=1e-14)
    assert info["residual_norm"].item() <= 1e-12 * np.linalg.norm(B)


def test_default_tolerance_is_relative_to_b():
    for scale in (1e-8, 1.0, 1e8):
        x = qb.linalg.cg(laplacian, qb.array(scale * np.sin(np.arange(40.0))))
        r = scale * np.sin(np.arange(40.0)) - laplacian(x).numpy()
        assert np.linalg.norm(r) <= 1e-5 * scale * np.linalg.norm(np.sin(np.arange(40.0)))


def test_absolute_tolerance_stops_earlier():
    b = np.cos(np.arange(50.0) ** 2)
    x, info = qb.linalg.cg(laplacian, qb.array(b), tol=0.0, atol=1e-1, info=True)
    assert 1e-9 < np.linalg.norm(b - laplacian(x).numpy()) <= 1e-1
    assert info["success"].item()


def test_the_laplacian_takes_half_as_many_iterations_as_unknowns():
    # The right-hand side is symmetric, so half of the eigenvectors have no part in it.
    x, info = qb.linalg.cg(laplacian, qb.ones((8,)), info=True)
    assert x.tolist() == [4.0, 7.0, 9.0, 10.0, 10.0, 9.0, 7.0, 4.0]
    assert info["iterations"].item() == 4.0


def test_iterations_are_those_of_scipy():
    n = 200
    d = np.linspace(1.0, 100.0, n)
    b = RNG.standard_normal(n)
    calls = []
    op = sparse.LinearOperator((n, n), matvec=lambda v: (calls.append(0), d * v)[1])
    want, _ = sparse.cg(op, b, rtol=1e-8)
    x, info = qb.linalg.cg(lambda v: qb.array(d) * v, qb.array(b), tol=1e-8, info=True)
    close(x, want, rtol=1e-6)
    assert abs(info["iterations"].item() - len(calls)) <= 2
    for restart in (10, 30):
        steps = []
        want, _ = sparse.gmres(op, b, rtol=1e-8, restart=restart, callback=steps.append, callback_type="pr_norm")
        x, info = qb.linalg.gmres(lambda v: qb.array(d) * v, qb.array(b), tol=1e-8, restart=restart, info=True)
        close(x, b / d, rtol=1e-6)
        assert info["iterations"].item() <= 1.1 * len(steps) + 2


@BOTH
def test_any_shape_and_any_structure(name):
    solve = solver(name)
    two = qb.array([[2.0, 0.0], [0.0, 4.0]])
    close(solve(lambda v: two @ v, qb.ones((2, 3)), tol=1e-12), [[0.5] * 3, [0.25] * 3])
    close(solve(lambda v: 4.0 * v, 3.0), 0.75)
    close(solve(lambda v: 4.0 * v, [1, 2]), [0.25, 0.5])
    close(solve(lambda v: 4.0 * v, np.array([1, 2])), [0.25, 0.5])
    close(solve(lambda v: 4.0 * v, qb.array([1, 2], dtype=qb.int64), x0=qb.array([0, 1], dtype=qb.int32)), [0.25, 0.5])
    assert solve(lambda v: v, qb.zeros((0,))).shape == [0]
    x = solve(lambda v: {"a": 2.0 * v["a"] + v["b"][0], "b": (v["a"] + 3.0 * v["b"][0],)},
              {"a": qb.array(3.0), "b": (qb.array(4.0),)}, tol=1e-12)  # fmt: skip
    close(x["a"], 1.0)
    close(x["b"][0], 1.0)


@BOTH
def test_leaves_of_two_dtypes_keep_theirs(name):
    b = {"single": qb.array([1.0, 2.0], dtype=qb.float32), "double": qb.array([3.0])}
    x = solver(name)(lambda v: {"single": v["single"] * 2.0, "double": v["double"] * 4.0}, b, tol=1e-6)
    assert (x["single"].dtype, x["double"].dtype) == (qb.float32, qb.float64)
    close(x["single"], [0.5, 1.0], 1e-6)
    close(x["double"], [0.75], 1e-6)


@BOTH
def test_float32_stays_float32(name):
    m = MATRICES[name].astype(np.float32)
    x, info = solver(name)(product, qb.array(B.astype(np.float32)), args=(qb.array(m),), tol=1e-6, info=True)
    assert x.dtype is qb.float32
    assert info["residual_norm"].dtype is qb.float32
    close(x, np.linalg.solve(MATRICES[name], B), 1e-4)


@BOTH
def test_first_iterate(name):
    solve = solver(name)
    m, b = qb.array(MATRICES[name]), qb.array(B)
    x = solve(product, b, args=(m,), tol=1e-12)
    again, info = solve(product, b, args=(m,), x0=x, tol=1e-10, info=True)
    assert info["iterations"].item() == 0.0
    assert again.tolist() == x.tolist()
    near, info = solve(product, b, args=(m,), x0=x + 1e-6, tol=1e-10, info=True)
    close(near, x.numpy(), 1e-8)
    assert info["iterations"].item() >= 1.0


@BOTH
@pytest.mark.parametrize("x0", [None, 1.0])
def test_zero_right_hand_side_gives_zero_at_once(name, x0):
    x, info = solver(name)(lambda v: 2.0 * v, qb.zeros((3,)), x0=None if x0 is None else qb.ones((3,)), info=True)
    assert x.tolist() == [0.0] * 3
    assert (info["iterations"].item(), info["residual_norm"].item(), info["success"].item()) == (0.0, 0.0, True)


@BOTH
@pytest.mark.parametrize(("scale", "size"), [(1e-200, 1e-150), (1e100, 1e300), (1e-300, 1e-300), (1.0, 5e-324)])
def test_sizes_whose_squares_no_float_holds(name, scale, size):
    x = solver(name)(lambda v: v * scale, qb.array([size, 2.0 * size]), tol=1e-10)
    close(x / (size / scale), [1.0, 2.0])


@BOTH
def test_tolerance_zero_gives_what_rounding_permits(name):
    m = MATRICES[name]
    x, info = solver(name)(product, qb.array(B), args=(qb.array(m),), tol=0.0, info=True)
    assert info["success"].item()
    assert np.linalg.norm(B - m @ x.numpy()) <= 1e-14 * np.linalg.norm(B)


def test_recursion_that_drifts_is_corrected():
    # Condition 1e10: the recursion reaches 1e-12 long before b - A x does.
    n = 12
    q, _ = np.linalg.qr(RNG.standard_normal((n, n)))
    a = q @ np.diag(np.logspace(0, -10, n)) @ q.T
    a = (a + a.T) / 2
    b = RNG.standard_normal(n)
    x, info = qb.linalg.cg(matrix(a), qb.array(b), tol=1e-12, maxiter=100_000, info=True)
    true = np.linalg.norm(b - a @ x.numpy())
    assert info["residual_norm"].item() == pytest.approx(true, rel=0.5)
    assert true <= 1e-15 * np.linalg.norm(x.numpy())


@pytest.mark.parametrize("restart", [1, 2, 3, 20])
def test_restarts(restart):
    x = qb.linalg.gmres(product, qb.array(B), args=(qb.array(GENERAL),), restart=restart, tol=1e-11, maxiter=500)
    close(x, np.linalg.solve(GENERAL, B), 1e-8)


def test_gmres_needs_no_symmetry_and_no_sign():
    close(qb.linalg.gmres(matrix([[1.0, 5.0], [0.0, -1.0]]), qb.array([1.0, 2.0]), tol=1e-12), [11.0, -2.0])
    close(qb.linalg.gmres(matrix([[0.0, 1.0], [-1.0, 0.0]]), qb.array([1.0, 0.0]), tol=1e-12), [0.0, 1.0])
    shift = np.roll(np.eye(7), 1, axis=0)  # the worst case: nothing happens before the last iteration
    x, info = qb.linalg.gmres(matrix(shift), qb.array(np.eye(7)[0]), info=True)
    close(x, np.linalg.solve(shift, np.eye(7)[0]))
    assert info["iterations"].item() == 7.0


def test_gmres_stops_at_an_invariant_space():
    x, info = qb.linalg.gmres(lambda v: 3.0 * v, qb.array(B), tol=1e-14, info=True)
    close(x, B / 3.0, 1e-14)
    assert info["iterations"].item() == 1.0
    x, info = qb.linalg.gmres(matrix(np.diag([1.0, 0.0])), qb.array([2.0, 0.0]), info=True)  # singular, solvable
    assert x.tolist() == [2.0, 0.0]


def test_preconditioners():
    d = np.logspace(0, 6, 60)
    a, b = qb.array(d), qb.ones((60,))
    plain = qb.linalg.cg(lambda v, a: a * v, b, args=(a,), maxiter=2000, tol=1e-8, info=True)[1]["iterations"].item()
    for solve in (qb.linalg.cg, qb.linalg.gmres):
        x, info = solve(lambda v, a: a * v, b, args=(a,), M=lambda r, a: r / a, tol=1e-8, info=True)
        close(x, 1.0 / d, 1e-7)
        assert info["iterations"].item() <= 2.0 < plain


def test_arguments_are_pytrees_and_numbers():
    params = {"m": qb.array(SPD), "mask": qb.array([True] * N), "flag": True, "k": 2.0}

    def apply(v, p, pair):
        y = qb.matmul(p["m"], v) * p["k"] * pair[0]
        return qb.where(p["mask"], y, 0.0) if p["flag"] else v

    x = qb.linalg.cg(apply, qb.array(B), args=(params, (qb.array(0.5),)), tol=1e-12)
    close(x, np.linalg.solve(SPD, B))


# ---- failures -----------------------------------------------------------------------------------


@BOTH
def test_failure_to_converge(name):
    with pytest.raises(
        RuntimeError, match=rf"{name}: did not converge within 2 iterations; the last residual norms are"
    ):
        solver(name)(laplacian, qb.array(np.arange(30.0)), maxiter=2)
    x, info = solver(name)(laplacian, qb.array(np.arange(30.0)), maxiter=2, info=True)
    assert (info["iterations"].item(), info["success"].item()) == (2.0, False)
    true = np.linalg.norm(np.arange(30.0) - laplacian(x).numpy())
    assert info["residual_norm"].item() == pytest.approx(true, rel=1e-12)


def test_message_ends_with_the_residuals_of_the_last_iterations():
    b = qb.array(np.arange(30.0))
    norms = [qb.linalg.cg(laplacian, b, maxiter=k, info=True)[1]["residual_norm"].item() for k in (3, 4, 5)]
    with pytest.raises(RuntimeError) as e:
        qb.linalg.cg(laplacian, b, maxiter=5)
    told = [float(x) for x in re.findall(r"[\d.]+(?:e[+-]\d+)?", str(e.value).split("norms are ")[1].split(" (")[0])]
    np.testing.assert_allclose(told[-3:], norms, rtol=1e-2)
    assert "test_solvers.py" in str(e.value)


@BOTH
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_ends_at_once(name, bad):
    solve = solver(name)
    for mv, b in ((lambda v: v, qb.array([1.0, bad])), (lambda v: v * bad, qb.array([1.0, 1.0]))):
        with pytest.raises(RuntimeError, match=f"{name}: the residual is not finite"):
            solve(mv, b)
        x, info = solve(mv, b, info=True)
        assert not info["success"].item()
        assert info["iterations"].item() <= 1.0
        assert np.isnan(x.numpy()).all()


def test_cg_notices_operators_that_are_not_positive_definite():
    for rows in ([[1.0, 2.0], [2.0, 1.0]], [[-1.0, 0.0], [0.0, -1.0]], [[0.0, 0.0], [0.0, 0.0]]):
        with pytest.raises(RuntimeError, match="cg: the operator is not positive definite"):
            qb.linalg.cg(matrix(rows), qb.array([1.0, 0.0]))
    with pytest.raises(RuntimeError, match="cg: the operator or M is not positive definite"):
        qb.linalg.cg(lambda v: v, qb.array([1.0, 2.0]), M=lambda r: -r)


def test_gmres_notices_singular_operators():
    for rows in ([[0.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]):
        with pytest.raises(ValueError, match="gmres: the operator is singular"):
            qb.linalg.gmres(matrix(rows), qb.array([1.0, 1.0]))
    assert not qb.linalg.gmres(lambda v: v * 0.0, qb.ones((2,)), info=True)[1]["success"].item()


@BOTH
@pytest.mark.parametrize(
    ("dtype", "scale"),
    [("float32", 1e-25), ("float32", 1e25), *[("float64", s) for s in (1e-280, 1e-170, 1e170, 1e280)]],
)
def test_the_scale_of_the_operator_does_not_matter(name, dtype, scale):
    a = np.random.default_rng(0).normal(size=(5, 5))
    a = (a @ a.T + np.eye(5) if name == "cg" else a).astype(dtype)
    b = np.arange(1.0, 6.0, dtype=dtype)
    want = np.linalg.solve(a.astype("float64"), b)
    rows = qb.array(a)

    def solution(b):
        return solver(name)(lambda v: scale * qb.matmul(rows, v), b, tol=1e-6)

    for run in (solution, qb.jit(solution)):
        np.testing.assert_allclose(run(qb.array(b)).numpy().astype("float64") * scale, want, rtol=1e-4, atol=1e-4)
    one = solver(name)(lambda v: scale * v, qb.array([1.0, 2.0], dtype=getattr(qb, dtype)))
    np.testing.assert_allclose(one.numpy().astype("float64") * scale, [1.0, 2.0], rtol=4 * np.finfo(dtype).eps)


@BOTH
@pytest.mark.parametrize("argument", ["tol", "atol", "maxiter"])
@pytest.mark.parametrize("value", ["a", "1e-3", [1.0], 1j, qb.array([1.0, 2.0])])
def test_messages_name_the_argument(name, argument, value):
    wanted = "an int" if argument == "maxiter" else "a number"
    with pytest.raises(TypeError, match=f"^{name}: {argument} must be {wanted}, got "):
        solver(name)(lambda v: v, qb.ones(2), **{argument: value})


@BOTH
@pytest.mark.parametrize("wrong", [lambda v: 2.0 * v + 1.0, lambda v: 2.0 * v + 0.1 * v**3, lambda v: 0.1 * v**3])
def test_operators_that_are_not_linear_are_no_success(name, wrong):
    b = qb.array(1.0 + np.arange(5.0))
    x, info = solver(name)(wrong, b, tol=1e-10, info=True)
    if info["success"].item():  # runs may still lead to a solution
        close(wrong(x), b.numpy(), 1e-9)
    else:
        with pytest.raises(RuntimeError):
            solver(name)(wrong, b, tol=1e-10)


def test_gmres_notices_stagnation():
    with pytest.raises(RuntimeError, match="gmres: stagnates after 1 iterations"):
        qb.linalg.gmres(matrix([[0.0, 1.0], [-1.0, 0.0]]), qb.array([1.0, 0.0]), restart=1)


@BOTH
def test_wrong_arguments(name):
    solve = solver(name)
    b, same = qb.ones((3,)), lambda v: v
    for error, message, call in (
        (ValueError, "tol must be", lambda: solve(same, b, tol=-1.0)),
        (ValueError, "tol must be", lambda: solve(same, b, tol=float("nan"))),
        (ValueError, "atol must be", lambda: solve(same, b, atol=-1e-3)),
        (ValueError, "maxiter must be at least 1", lambda: solve(same, b, maxiter=0)),
        (TypeError, "maxiter must be an int", lambda: solve(same, b, maxiter=2.5)),
        (ValueError, "x0 is tensor<2xf64> where b is tensor<3xf64>", lambda: solve(same, b, x0=qb.ones((2,)))),
        (ValueError, "x0 is tensor<3xf32>", lambda: solve(same, b, x0=qb.ones((3,), qb.float32))),
        (ValueError, "the result of matvec is tensor<2xf64> where b is tensor<3xf64>", lambda: solve(lambda v: v[:2], b)),
        (ValueError, "the result of matvec is tensor<3xf32>", lambda: solve(lambda v: v.astype(qb.float32), b)),
        (ValueError, "the result of matvec has the structure", lambda: solve(lambda v: (v, v), b)),
        (TypeError, "the result of matvec must be arrays", lambda: solve(lambda v: "no", b)),
        (ValueError, "needs a float array", lambda: solve(same, qb.array([True]))),
        (ValueError, "b holds no arrays", lambda: solve(same, ())),
        (TypeError, "matvec: expected a function", lambda: solve(qb.eye(3), b)),
        (TypeError, "M: expected a function", lambda: solve(same, b, M=qb.eye(3))),
        (TypeError, "args must be a tuple", lambda: solve(product, b, args=qb.eye(3))),
    ):  # fmt: skip
        with pytest.raises(error, match=re.escape(message)):
            call()


def test_wrong_restart():
    with pytest.raises(ValueError, match="restart must be at least 1"):
        qb.linalg.gmres(lambda v: v, qb.ones((2,)), restart=0)


# ---- tracing ------------------------------------------------------------------------------------


@BOTH
def test_the_operator_is_called_once(name):
    calls = []

    def operator(v):
        calls.append(v)
        return 2.0 * v + 0.5 * qb.flip(v)

    solver(name)(operator, qb.array(B))
    assert len(calls) == 1
    qb.jit(qb.grad(lambda b: qb.sum(solver(name)(operator, b))))(qb.array(B))
    assert len(calls) == 2


def test_programs_are_kept_by_what_the_operator_does():
    # The same lines with another constant, another closure and another structure.
    for k in (2.0, 3.0, 2.0):
        a = qb.array(np.full(40, k))
        close(qb.linalg.cg(lambda v, k=k: k * v, qb.ones((40,)), tol=1e-12), np.full(40, 1.0 / k))
        close(qb.linalg.cg(lambda v, a=a: a * v, qb.ones((40,)), tol=1e-12), np.full(40, 1.0 / k))
        close(qb.linalg.cg(lambda v, a=a: v * a + v, qb.ones((40,)), tol=1e-12), np.full(40, 1.0 / (k + 1.0)))
        close(qb.linalg.cg(lambda v, k: k * v, qb.ones((4,)), args=(qb.array(k),), tol=1e-12), np.full(4, 1.0 / k))
    flags = qb.array([True, False])
    close(qb.linalg.cg(lambda v, f: qb.where(f, 2.0 * v, v), qb.ones((2,)), args=(flags,)), [0.5, 1.0])
    close(qb.linalg.cg(lambda v, f: qb.where(f, 2.0 * v, v), qb.ones((2,)), args=(qb.logical_not(flags),)), [1.0, 0.5])


def test_kept_programs_do_not_keep_arrays():
    def solve():
        a = qb.array(np.full(1000, 2.0))
        qb.linalg.cg(lambda v: a * v, qb.ones((1000,)))
        return weakref.ref(a)

    gone = solve()
    gc.collect()
    assert gone() is None


@BOTH
@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_compiled(name, engine, monkeypatch):
    monkeypatch.setattr(qb.config, "cpu_engine", engine)
    m, b = qb.array(MATRICES[name]), qb.array(B)
    f = qb.jit(lambda m, b: solver(name)(product, b, args=(m,), tol=1e-11, info=True))
    x, info = f(m, b)
    close(x, np.linalg.solve(MATRICES[name], B), 1e-9)
    assert info["success"].item()
    x, info = f(m, b * qb.array(float("nan")))
    assert not info["success"].item()
    assert np.isnan(x.numpy()).all()


def test_a_traced_failure_is_nan_and_so_are_its_derivatives():
    cut = lambda b, info=False: qb.linalg.cg(laplacian, b, maxiter=2, info=info)  # noqa: E731
    ones = qb.ones((9,))
    assert np.isnan(qb.jit(cut)(ones).numpy()).all()
    value, slope = qb.value_and_grad(lambda b: qb.sum(cut(b)))(ones)
    assert np.isnan(value.item())
    assert np.isnan(slope.numpy()).all()
    assert np.isnan(qb.jvp(cut, (ones,), (ones,))[1].numpy()).all()
    lanes = qb.vmap(lambda s: qb.linalg.cg(lambda v: s * v, qb.ones(2)))(qb.array([2.0, -1.0]))
    np.testing.assert_array_equal(lanes.numpy(), [[0.5, 0.5], [np.nan, np.nan]])
    x, info = qb.jit(lambda b: cut(b, info=True))(ones)
    want, _ = cut(ones, info=True)
    assert x.tolist() == want.tolist()
    assert not info["success"].item()


def test_a_traced_search_for_a_root_that_is_not_there_is_nan():
    value, slope = qb.value_and_grad(lambda a: qb.newton(lambda x: x**2 + a, 0.3))(1.0)
    assert np.isnan(value.item())
    assert np.isnan(slope.item())


@BOTH
def test_batched(name):
    m = MATRICES[name]
    ms, bs = np.stack([m, 2.0 * m, m + np.eye(N)]), np.stack([B, 1e3 * B, 0.0 * B])
    solve = lambda m, b: solver(name)(product, b, args=(m,), tol=1e-12)  # noqa: E731
    close(qb.vmap(solve)(qb.array(ms), qb.array(bs)), [np.linalg.solve(a, c) for a, c in zip(ms, bs, strict=True)])
    close(qb.vmap(solve, in_axes=(None, 0))(qb.array(m), qb.array(bs)), [np.linalg.solve(m, c) for c in bs])
    close(qb.vmap(solve, in_axes=(0, None))(qb.array(ms), qb.array(B)), [np.linalg.solve(a, B) for a in ms])
    both = qb.vmap(qb.vmap(solve, in_axes=(None, 0)), in_axes=(0, None))(qb.array(ms), qb.array(bs))
    close(both, [[np.linalg.solve(a, c) for c in bs] for a in ms])


@BOTH
def test_lanes_do_not_change_each_other(name):
    def lane(d, b):
        return solver(name)(lambda v: d * v, b, tol=1e-9, info=True)

    quick, slow = np.linspace(1.0, 2.0, 30), np.linspace(1.0, 1e3, 30)
    b = np.cos(np.arange(30.0))
    alone, told = qb.vmap(lane)(qb.array(quick[None]), qb.array(b[None]))
    for other in (slow, np.full(30, np.nan), np.zeros(30), quick):
        x, info = qb.vmap(lane)(qb.array(np.stack([other, quick])), qb.array(np.stack([b, b])))
        assert x.numpy()[1].tolist() == alone.numpy()[0].tolist()
        for key in info:
            assert info[key].numpy()[1] == told[key].numpy()[0]
    x, info = qb.vmap(lane)(qb.array(np.stack([slow, quick])), qb.array(np.stack([b, b])))
    assert info["iterations"].numpy()[0] > info["iterations"].numpy()[1]


def test_no_warnings_of_numpy():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        qb.linalg.cg(lambda v: v, qb.zeros((3,)))
        qb.linalg.gmres(lambda v: v * 0.0, qb.ones((3,)), info=True)
        qb.linalg.cg(lambda v: v, qb.array([np.inf, 1.0]), info=True)


def test_jax_agrees():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    from jax.scipy.sparse import linalg as theirs

    d, b = np.linspace(1.0, 10.0, 20), np.sin(np.arange(20.0))

    def loss(solve, total, d, b):
        return total(solve(lambda v: d * v + 0.1 * v.sum() / 20.0, b, tol=1e-12) ** 2)

    want = jax.grad(lambda d, b: loss(lambda *a, **k: theirs.cg(*a, **k)[0], jax.numpy.sum, d, b), (0, 1))(d, b)
    for name in ("cg", "gmres"):
        got = qb.grad(lambda d, b, n=name: loss(solver(n), qb.sum, d, b), argnums=(0, 1))(qb.array(d), qb.array(b))
        close(got[0], want[0], 1e-8)
        close(got[1], want[1], 1e-8)
