"""L-BFGS on test functions with known minima, beside SciPy's L-BFGS-B, and its line search."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, special

import quabla as qb
from quabla.optim import LBFGS, lbfgs
from quabla.optim.line_search import CURVATURE, DECREASE, EVALUATIONS, strong_wolfe

RNG = np.random.default_rng(0)


def rosenbrock(p):
    return (1.0 - p[0]) ** 2 + 100.0 * (p[1] - p[0] ** 2) ** 2


def beale(p):
    x, y = p[0], p[1]
    return (1.5 - x + x * y) ** 2 + (2.25 - x + x * y**2) ** 2 + (2.625 - x + x * y**3) ** 2


Q, _ = np.linalg.qr(RNG.normal(size=(100, 100)))
MATRIX = qb.array(Q @ np.diag(np.logspace(0, 2, 100)) @ Q.T)
RIGHT = qb.array(RNG.normal(size=100))


def quadratic(p):
    return 0.5 * qb.dot(p, qb.matmul(MATRIX, p)) - qb.dot(RIGHT, p)


SHAPES = [(1, 16), (16,), (16, 16), (16,), (16, 1), (1,)]
CUTS = np.cumsum([0, *map(math.prod, SHAPES)]).tolist()
POINTS = qb.linspace(0.0, 1.0, 16)


def poisson(p):
    """The mean squared residual of u'' = -pi^2 sin(pi x) for a network; its minimum is about 0."""
    w = [qb.reshape(p[a:b], s) for (a, b), s in zip(itertools.pairwise(CUTS), SHAPES, strict=True)]

    def u(x):
        h = qb.tanh(qb.reshape(x, (1, 1)) @ w[0] + w[1])
        return x * (1.0 - x) * qb.sum(qb.tanh(h @ w[2] + w[3]) @ w[4] + w[5])

    return qb.mean((qb.vmap(qb.grad(qb.grad(u)))(POINTS) + np.pi**2 * qb.sin(np.pi * POINTS)) ** 2)


NETWORK = np.concatenate([RNG.normal(size=s).ravel() / math.sqrt(s[0]) * (len(s) == 2) for s in SHAPES])

#: For each function the start and the value to reach.
PROBLEMS = {
    "rosenbrock": (rosenbrock, [-1.2, 1.0], 1e-12),
    "beale": (beale, [1.0, 1.0], 1e-12),
    "quadratic": (quadratic, np.zeros(100), None),
    "network": (poisson, NETWORK, 1e-3),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_evaluations_beside_scipy(monkeypatch, name):
    """As many as SciPy's L-BFGS-B needs to reach the same value, times 1.3 at most."""
    fun, start, goal = PROBLEMS[name]
    compiled = qb.jit(qb.value_and_grad(fun))
    if goal is None:
        solution = np.linalg.solve(MATRIX.numpy(), RIGHT.numpy())
        goal = fun(qb.array(solution)).item() + 1e-10

    def evaluate(_, x):
        value, gradient = compiled(qb.array(x))
        seen.append(value.item())
        return value.item(), gradient.numpy().copy()

    def until_the_goal():
        return next(i for i, v in enumerate(seen, 1) if v <= goal)

    seen = []
    options = {"maxcor": 10, "maxiter": 400, "gtol": 1e-9, "ftol": 0.0}
    optimize.minimize(lambda x: evaluate(None, x), start, jac=True, method="L-BFGS-B", options=options)
    theirs = until_the_goal()
    seen.clear()
    monkeypatch.setattr(lbfgs._Objective, "__call__", evaluate)
    LBFGS(max_iterations=400, tolerance_grad=1e-9, tolerance_change=0.0).minimize(fun, qb.array(start))
    ours = until_the_goal()
    assert ours <= 1.3 * theirs, (ours, theirs)


def test_rosenbrock_takes_as_long_as_ever():
    params, info = LBFGS().minimize(rosenbrock, qb.array([-1.2, 1.0]))
    np.testing.assert_allclose(params.numpy(), [1.0, 1.0], atol=1e-7)
    assert info["reason"] == "gradient_tolerance"
    assert info["converged"] is True
    assert abs(info["iterations"] - 37) <= 2
    assert abs(info["evaluations"] - 46) <= 3
    assert info["grad_norm"] <= 1e-7
    assert info["loss"] == rosenbrock(params).item()


def test_a_quadratic_is_solved():
    params, info = LBFGS(tolerance_change=0.0, tolerance_grad=1e-6).minimize(quadratic, qb.zeros(100))
    np.testing.assert_allclose(params.numpy(), np.linalg.solve(MATRIX.numpy(), RIGHT.numpy()), atol=1e-6)
    assert info["converged"]


def test_trees_and_arguments():
    def squares(p, target, scale):
        return scale * (qb.sum((p["x"] - target["x"]) ** 2) + (p["y"][0] - target["y"]) ** 4)

    target = {"x": qb.array([[1.0, 2.0]]), "y": np.array(3.0)}
    params, info = LBFGS(tolerance_grad=1e-12).minimize(
        squares, {"x": qb.zeros((1, 2)), "y": [qb.array(0.0)]}, target, 2.0
    )
    assert info["converged"]
    np.testing.assert_allclose(params["x"].numpy(), [[1.0, 2.0]], atol=1e-9)
    assert params["y"][0].item() == pytest.approx(3.0, abs=1e-3)


def test_float32_parameters():
    start = {"a": qb.array([-1.2], dtype=qb.float32), "b": qb.array(1.0, dtype=qb.float32)}
    params, info = LBFGS(tolerance_grad=1e-3).minimize(lambda p: rosenbrock([p["a"][0], p["b"]]), start)
    assert (params["a"].dtype, params["b"].dtype) == (qb.float32, qb.float32)
    np.testing.assert_allclose([params["a"].item(), params["b"].item()], [1.0, 1.0], atol=2e-3)
    assert info["converged"]


def test_the_function_is_traced_once():
    calls = []
    _, info = LBFGS().minimize(lambda p: calls.append(1) or rosenbrock(p), qb.array([-1.2, 1.0]))
    assert info["evaluations"] > 40
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("settings", "reason", "converged"),
    [
        ({"tolerance_grad": 10.0}, "gradient_tolerance", True),
        ({"tolerance_change": 0.5}, "change_tolerance", True),
        ({"max_iterations": 3}, "max_iterations", False),
        ({"max_evaluations": 7}, "max_evaluations", False),
        ({"max_evaluations": 1}, "max_evaluations", False),
    ],
)
def test_reasons(settings, reason, converged):
    _, info = LBFGS(**settings).minimize(rosenbrock, qb.array([-1.2, 1.0]))
    assert (info["reason"], info["converged"]) == (reason, converged)
    assert info["iterations"] <= settings.get("max_iterations", 500)
    assert info["evaluations"] <= settings.get("max_evaluations", 10**6)


def test_a_minimum_needs_no_iteration():
    params, info = LBFGS().minimize(rosenbrock, qb.array([1.0, 1.0]))
    assert (info["iterations"], info["evaluations"], info["reason"]) == (0, 1, "gradient_tolerance")
    assert params.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("fun", "start", "minimum"),
    [
        (lambda p: qb.sum(p - qb.log(p)), [0.1, 30.0], 1.0),  # NaN and infinite for p <= 0
        (lambda p: qb.sum(-qb.sqrt(1.0 - p**2) + 0.5 * p), [-0.9, 0.9], -1.0 / math.sqrt(5.0)),
        (
            lambda p: qb.sum(qb.exp(qb.exp(p)) - 20.0 * p),
            [6.0, -40.0],
            math.log(20.0) - special.lambertw(20.0).real,
        ),  # overflows
    ],
)
def test_steps_out_of_the_domain_are_shortened(fun, start, minimum):
    params, info = LBFGS().minimize(fun, qb.array(start))
    assert info["converged"]
    np.testing.assert_allclose(params.numpy(), minimum, rtol=1e-4)


#: Convex functions that are steep at one end, with starts there, and where each element of the minimum is.
STEEP = {
    "p - log(p)": (lambda p: qb.sum(p - qb.log(p)), [[1e-3], [1e-6], [1e-8], [1e-12], [1e-6, 1e-3]], 1.0),
    "p + 1 / p": (lambda p: qb.sum(p + 1.0 / p), [[1e-3], [1e-6]], 1.0),
    "3 log(p) + 5 / p": (lambda p: qb.sum(3.0 * qb.log(p) + 5.0 / p), [[1e-3], [1e-5]], 5.0 / 3.0),
    "2 p + 1 / p^2": (lambda p: qb.sum(2.0 * p + p**-2.0), [[1e-2], [1e-4]], 1.0),
    "1e4 p^2 - log(p)": (lambda p: qb.sum(1e4 * p**2 - qb.log(p)), [[1e-7]], math.sqrt(0.5e-4)),
}


@pytest.mark.parametrize(
    ("name", "start"), [(name, start) for name, (_, starts, _) in STEEP.items() for start in starts]
)
def test_steep_functions_beside_scipy(name, start):
    """No more evaluations than SciPy's L-BFGS-B with the same tolerances, where that converges."""
    fun, _, minimum = STEEP[name]
    compiled = qb.jit(qb.value_and_grad(fun))

    def evaluate(x):
        value, gradient = compiled(qb.array(x))
        return value.item(), gradient.numpy().copy()

    params, info = LBFGS().minimize(fun, qb.array(start))
    assert info["converged"], info
    np.testing.assert_allclose(params.numpy(), minimum, rtol=1e-4)
    options = {"maxcor": 10, "gtol": 1e-7, "ftol": 1e-9}
    with np.errstate(all="ignore"):
        theirs = optimize.minimize(evaluate, start, jac=True, method="L-BFGS-B", options=options)
    if theirs.success:
        assert info["evaluations"] <= theirs.nfev, (info["evaluations"], theirs.nfev)


def test_rank_0_parameters_far_from_the_minimum():
    for start in (1e-6, 1e-8):
        params, info = LBFGS().minimize(lambda p: p - qb.log(p), qb.array(start))
        assert info["reason"] == "gradient_tolerance"
        assert params.item() == pytest.approx(1.0, abs=1e-7)


def test_a_start_that_is_not_finite_fails():
    params, info = LBFGS().minimize(lambda p: qb.sum(qb.log(p)), qb.array([-1.0]))
    assert (info["reason"], info["converged"], info["iterations"]) == ("line_search_failed", False, 0)
    assert params.tolist() == [-1.0]


def test_a_function_without_a_minimum_ends():
    _, info = LBFGS(max_iterations=50).minimize(lambda p: -qb.sum(p), qb.array([1.0]))
    assert not info["converged"] or info["loss"] < -1e6


def test_a_kink_ends_at_the_kink():
    params, _ = LBFGS().minimize(lambda p: qb.sum(qb.abs(p - 1.0)), qb.array([3.0]))
    assert params.item() == pytest.approx(1.0, abs=1e-6)


def test_wrong_arguments():
    x = qb.array([1.0, 2.0])
    for make in (
        lambda: LBFGS(history=0),
        lambda: LBFGS(max_iterations=0),
        lambda: LBFGS(max_evaluations=0),
        lambda: LBFGS(tolerance_grad=-1.0),
        lambda: LBFGS(tolerance_change=math.nan),
        lambda: LBFGS(line_search="armijo"),
        lambda: LBFGS().minimize(lambda p: p * 2.0, x),
        lambda: LBFGS().minimize(lambda p: 1.0, x),
    ):
        with pytest.raises(ValueError, match=r"LBFGS|value_and_grad"):
            make()
    for make in (
        lambda: LBFGS(history=1.5),
        lambda: LBFGS().minimize(rosenbrock, [1.0, 2.0]),
        lambda: LBFGS().minimize(rosenbrock, np.ones(2)),
        lambda: LBFGS().minimize(None, x),
        lambda: LBFGS().minimize(lambda p, s: qb.sum(p), x, "text"),
    ):
        with pytest.raises(TypeError):
            make()
    with pytest.raises(qb.TracerError, match="cannot be part of a traced function"):
        qb.jit(lambda p: LBFGS().minimize(rosenbrock, p)[0])(x)
    with pytest.raises(TypeError, match=r"NumPy array of shape \(2,\) and dtype float64.*with quabla\.array"):
        LBFGS().minimize(rosenbrock, np.ones(2))
    with pytest.raises(qb.TracerError):
        LBFGS().minimize(lambda p: p[0] if p[0] > 0 else -p[0], x)


def test_what_is_traced_is_refused_by_name():
    def closing(a):
        return LBFGS().minimize(lambda p: (p - a) ** 2, qb.array(0.0))[0]

    def given(a):
        return LBFGS().minimize(lambda p, b: (p - b) ** 2, qb.array(0.0), 2.0 * a)[0]

    for fun, what in ((closing, "the argument 'a'"), (given, "a traced array")):
        for call in (
            lambda f=fun: qb.grad(f)(1.0),
            lambda f=fun: qb.jit(f)(qb.array(1.0)),
            lambda f=fun: qb.vmap(f)(qb.ones(2)),
        ):
            with pytest.raises(qb.TracerError, match=f"LBFGS.minimize cannot be part of a traced function.*{what}"):
                call()
    kept = []
    qb.jit(lambda a: kept.append(a) or a)(qb.array(1.0))
    for call in (
        lambda: LBFGS().minimize(lambda p: (p - kept[0]) ** 2, qb.array(0.0)),
        lambda: LBFGS().minimize(lambda p, b: (p - b) ** 2, qb.array(0.0), kept[0]),
    ):
        with pytest.raises(qb.TracerError, match="used after its trace has ended"):
            call()


# ---- the line search ----------------------------------------------------------------------------

#: Functions 1 and 3 to 6 of Moré and Thuente, section 5: the value and the derivative.
FUNCTIONS = {
    "1": (lambda a: -a / (a**2 + 2), lambda a: (a**2 - 2) / (a**2 + 2) ** 2),
    "2": (lambda a: (a + 0.004) ** 5 - 2 * (a + 0.004) ** 4, lambda a: 5 * (a + 0.004) ** 4 - 8 * (a + 0.004) ** 3),
    "cosine": (lambda a: -math.sin(a), lambda a: -math.cos(a)),
    "steep": (lambda a: math.exp(a) - 100 * a, lambda a: math.exp(a) - 100),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("step", [1e-3, 1e-1, 1.0, 10.0, 1e3])
def test_steps_satisfy_both_conditions(name, step):
    f, df = FUNCTIONS[name]
    calls = []

    def evaluate(a):
        calls.append(a)
        return (f(a), df(a)) if a < 700 else (math.inf, math.inf)

    found = strong_wolfe(evaluate, f(0.0), df(0.0), step, 100)
    assert found is not None
    assert len(calls) <= EVALUATIONS
    assert found.step in calls
    assert found.value <= f(0.0) + DECREASE * found.step * df(0.0)
    assert abs(found.slope) <= CURVATURE * abs(df(0.0))


def test_the_best_step_always_has_a_sufficient_decrease():
    """Along p - log(p) from 1e-6 most steps decrease the value, but by less than 1e-4 of what the slope promises."""
    slope = -((1e6 - 1.0) ** 2)

    def evaluate(a):
        p = 1e-6 + a * (1e6 - 1.0)
        return p - math.log(p), (1.0 - 1.0 / p) * (1e6 - 1.0)

    value = 1e-6 - math.log(1e-6)
    for step in (1e-6, 1e-5, 1e-3, 1.0):
        found = strong_wolfe(evaluate, value, slope, step, 100)
        assert found is not None
        assert found.value <= value + DECREASE * found.step * slope
        assert abs(found.slope) <= CURVATURE * abs(slope)


def test_a_line_search_without_a_decrease_fails():
    assert strong_wolfe(lambda a: (1.0 + a, -1.0), 1.0, -1.0, 1.0, 100) is None
    assert strong_wolfe(lambda a: (math.nan, math.nan), 1.0, -1.0, 1.0, 100) is None
    assert strong_wolfe(lambda a: (0.0, 0.0), 1.0, -1.0, 1.0, 0) is None
