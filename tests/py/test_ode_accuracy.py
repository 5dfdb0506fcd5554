"""Accuracy of ``odeint``: coefficients, orders of convergence, standard problems, stiffness."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import quabla as qb
from quabla.ode import odeint
from quabla.ode.radau import _A, _DENSE, _NODES
from quabla.ode.tableaus import FIXED, HERMITE, PAIRS

# ---- coefficients ---------------------------------------------------------------------------------------------------


def order_conditions(a, c, order):
    """For each rooted tree up to an order: its elementary weight without b, and what b times it must be."""
    one = np.ones_like(c)
    conditions = {
        1: [(one, 1)],
        2: [(c, 1 / 2)],
        3: [(c**2, 1 / 3), (a @ c, 1 / 6)],
        4: [(c**3, 1 / 4), (c * (a @ c), 1 / 8), (a @ c**2, 1 / 12), (a @ a @ c, 1 / 24)],
        5: [
            (c**4, 1 / 5), (c**2 * (a @ c), 1 / 10), ((a @ c) ** 2, 1 / 20), (c * (a @ c**2), 1 / 15),
            (a @ c**3, 1 / 20), (c * (a @ a @ c), 1 / 30), (a @ (c * (a @ c)), 1 / 40), (a @ a @ c**2, 1 / 60),
            (a @ a @ a @ c, 1 / 120),
        ],
    }  # fmt: skip
    return [(q, *pair) for q in range(1, order + 1) for pair in conditions[q]]


def matrices(t):
    rows = [(), *t.weights]
    if t.error:
        rows.append(t.solution)
    a = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        a[i, : len(row)] = row
    b = np.zeros(len(rows))
    b[: len(t.solution)] = t.solution
    return a, b, np.array(t.nodes)


@pytest.mark.parametrize("name", [*FIXED, *PAIRS])
def test_tableaus_satisfy_the_order_conditions(name):
    t = (FIXED | PAIRS)[name]
    a, b, c = matrices(t)
    np.testing.assert_allclose(a.sum(1), c, atol=1e-14)
    for _, weight, want in order_conditions(a, c, t.order):
        np.testing.assert_allclose(b @ weight, want, atol=1e-14)
    if t.error:
        embedded = b - np.array(t.error)
        for _, weight, want in order_conditions(a, c, 4):
            np.testing.assert_allclose(embedded @ weight, want, atol=1e-14)
        assert any(abs(embedded @ w - x) > 1e-4 for q, w, x in order_conditions(a, c, 5) if q == 5)
        for theta in (0.2, 0.7, 1.0):
            dense = theta * (theta ** np.arange(4.0)) @ t.dense
            for q, weight, want in order_conditions(a, c, 4):
                np.testing.assert_allclose(dense @ weight, want * theta**q, atol=1e-13)


def test_radau_integrates_polynomials_at_its_nodes():
    c = np.array(_NODES)
    # The nodes are the zeros of the second derivative of x**2 (x - 1)**3, which is 20 x**3 - 36 x**2 + 18 x - 2.
    np.testing.assert_allclose(np.sort(np.roots([20.0, -36.0, 18.0, -2.0])), c, rtol=1e-12)
    for k in range(3):
        np.testing.assert_allclose(_A @ c**k, c ** (k + 1) / (k + 1), atol=1e-14)
        for theta in (0.3, 1.0):
            np.testing.assert_allclose(theta * (theta ** np.arange(3.0)) @ _DENSE @ c**k, theta ** (k + 1) / (k + 1))
    for k in range(5):  # order 5 at the end of a step
        np.testing.assert_allclose(_A[2] @ c**k, 1 / (k + 1), atol=1e-14)


def test_cubic_has_the_values_and_slopes_of_both_ends():
    # y = t**3 on [0, 1]: slopes 0 and 3, mean slope 1.
    for theta in (0.25, 0.5, 1.0):
        weights = (theta ** np.arange(3.0)) @ HERMITE
        np.testing.assert_allclose(theta * weights @ [0.0, 1.0, 3.0], theta**3, atol=1e-15)


# ---- order of convergence -----------------------------------------------------------------------------------------

PROBLEMS = {
    "forced": (lambda y, t: -y + qb.sin(t), 1.0, 1.0, lambda: 1.5 * math.exp(-1.0) + (math.sin(1.0) - math.cos(1.0)) / 2),
    "riccati": (lambda y, t: -y * y, 1.0, 2.0, lambda: 1 / 3),
    "exponent": (lambda y, t: y * qb.cos(t), 1.0, 2.0, lambda: math.exp(math.sin(2.0))),
}  # fmt: skip


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(("method", "order", "steps"), [("euler", 1, 4000), ("heun", 2, 400), ("rk4", 4, 40)])
def test_fixed_steps_converge_with_their_order(method, order, steps, problem):
    f, y0, end, exact = PROBLEMS[problem]
    errors = [abs(odeint(f, y0, (0.0, end), method=method, steps=n).item() - exact()) for n in (steps, 2 * steps)]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize("method", ["dopri5", "tsit5", "radau"])
def test_interpolants_converge_with_order_four(method):
    """At times inside steps, by steps of the same sizes: a tolerance that is always met, and a first step that fits."""
    errors = []
    for tolerance in (1e-5, 1e-9):
        times = np.linspace(0.0, 2.0, 41)
        y = odeint(
            lambda y, t: y * qb.cos(t), 1.0, (0.0, 2.0), method=method, rtol=tolerance, atol=tolerance, saveat=times
        )
        errors.append(np.abs(y.numpy() - np.exp(np.sin(times))).max())
    # Errors go down with the tolerance, at times in between too; a cubic through the ends of the steps would not follow.
    assert errors[0] < 2e-4
    assert errors[1] < 20 * 1e-9


# ---- DETEST -----------------------------------------------------------------------------------------------------------
# T. E. Hull, W. H. Enright, B. M. Fellen and A. E. Sedgwick, Comparing numerical methods for ordinary differential
# equations, SIAM Journal on Numerical Analysis 9 (1972) 603-637: classes A and B, to t = 20.


def detest(xp):
    stack = xp.stack if xp is qb else np.array
    sqrt, cos = xp.sqrt, xp.cos

    def b4(y, t):
        r = sqrt(y[0] ** 2 + y[1] ** 2)
        return stack([-y[1] - y[0] * y[2] / r, y[0] - y[1] * y[2] / r, y[0] / r])

    return {
        "A1": (lambda y, t: -y, [1.0]),
        "A2": (lambda y, t: -0.5 * y**3, [1.0]),
        "A3": (lambda y, t: y * cos(t), [1.0]),
        "A4": (lambda y, t: y / 4.0 * (1.0 - y / 20.0), [1.0]),
        "A5": (lambda y, t: (y - t) / (y + t), [4.0]),
        "B1": (lambda y, t: stack([2.0 * (y[0] - y[0] * y[1]), -(y[1] - y[0] * y[1])]), [1.0, 3.0]),
        "B2": (lambda y, t: stack([-y[0] + y[1], y[0] - 2.0 * y[1] + y[2], y[1] - y[2]]), [2.0, 0.0, 1.0]),
        "B3": (lambda y, t: stack([-y[0], y[0] - y[1] ** 2, y[1] ** 2]), [1.0, 0.0, 0.0]),
        "B4": (b4, [3.0, 0.0, 0.0]),
        "B5": (lambda y, t: stack([y[1] * y[2], -y[0] * y[2], -0.51 * y[0] * y[1]]), [0.0, 1.0, 1.0]),
    }


def reference(name):
    """The solution at t = 20: in closed form where there is one, else by SciPy's method of order 8."""
    closed = {
        "A1": math.exp(-20.0),
        "A2": 1.0 / math.sqrt(21.0),
        "A3": math.exp(math.sin(20.0)),
        "A4": 20.0 / (1.0 + 19.0 * math.exp(-5.0)),
    }
    if name in closed:
        return np.array([closed[name]])
    f, y0 = detest(np)[name]
    return solve_ivp(lambda t, y: f(y, t), (0.0, 20.0), y0, method="DOP853", rtol=2.3e-14, atol=1e-14).y[:, -1]


def error_and_steps(method, tolerance, name):
    """The largest error at t = 20 in units of the tolerance, and the number of accepted steps."""
    f, y0 = detest(qb)[name]
    options = {"rtol": tolerance, "atol": tolerance, "max_steps": 20_000}
    y, info = odeint(f, y0, (0.0, 20.0), method=method, info=True, **options)
    want = reference(name)
    return np.max(np.abs(y.numpy() - want) / (tolerance + tolerance * np.abs(want))), info["accepted_steps"].item()


@pytest.mark.parametrize("name", detest(np))
def test_detest_problems_stay_within_ten_tolerances(name):
    for method in ("dopri5", "tsit5", "radau"):
        for tolerance in (1e-6, 1e-9):
            assert error_and_steps(method, tolerance, name)[0] < 10.0, (method, tolerance)


DOCUMENTED = re.findall(
    r"^\| `(\w+)` \| ([\d.]+), (\d+) \| ([\d.]+), (\d+) \| ([\d.]+), (\d+) \|$",
    (Path(__file__).parents[2] / "docs" / "ode.md").read_text(),
    re.MULTILINE,
)


def test_the_page_has_a_row_for_every_adaptive_method():
    assert {row[0] for row in DOCUMENTED} == {"dopri5", "tsit5", "radau", "rosenbrock23"}


@pytest.mark.parametrize("row", DOCUMENTED, ids=lambda row: row[0])
@pytest.mark.parametrize(("column", "tolerance"), [(0, 1e-4), (1, 1e-6), pytest.param(2, 1e-8, marks=pytest.mark.slow)])
def test_errors_and_steps_are_those_of_the_page(row, column, tolerance):
    """The largest error of the ten problems, and their steps together."""
    found = [error_and_steps(row[0], tolerance, name) for name in detest(np)]
    error, steps = (float(x) for x in row[1 + 2 * column : 3 + 2 * column])
    assert max(e for e, _ in found) == pytest.approx(error, rel=0.1)
    assert sum(n for _, n in found) == pytest.approx(steps, rel=0.02)


# ---- the method of order 2 --------------------------------------------------------------------------------------------


def ode23s(f, y, end, rtol, atol):
    """The pair of Shampine and Reichelt (1997), section 3.1, in their notation, with the step-size control of odeint.

    Derivatives are central differences of f(y, t). Returns the solution and the number of accepted steps.
    """
    d, e32 = 1.0 / (2.0 + math.sqrt(2.0)), 6.0 + math.sqrt(2.0)

    def norm(x, scale):
        return math.sqrt(np.mean((x / scale) ** 2))

    def derivative(y, t, i):
        """By the i-th component of y, or by t where there is none."""
        at = np.append(y, t)
        step = 1e-6 * max(1e-3, abs(at[i])) * np.eye(len(at))[i]
        ahead, behind = at + step, at - step
        return (f(ahead[:-1], ahead[-1]) - f(behind[:-1], behind[-1])) / (ahead[i] - behind[i])

    t, f0, gain, steps = 0.0, f(y, 0.0), 1.0, 0
    # Hairer, Norsett and Wanner (1993), II.4, the starting step
    scale = atol + rtol * abs(y)
    h0 = 0.01 * norm(y, scale) / norm(f0, scale)
    steepest = max(norm(f0, scale), norm(f(y + h0 * f0, h0) - f0, scale) / h0)
    h = min(100.0 * h0, (0.01 / steepest) ** (1.0 / 3.0))
    while t < end:
        last = t + h >= end
        h = end - t if last else h
        slope = derivative(y, t, len(y))
        w = np.eye(len(y)) - h * d * np.stack([derivative(y, t, i) for i in range(len(y))], 1)
        k1 = np.linalg.solve(w, f0 + h * d * slope)
        f1 = f(y + 0.5 * h * k1, t + 0.5 * h)
        k2 = np.linalg.solve(w, f1 - k1) + k1
        new = y + h * k2
        f2 = f(new, t + h)
        k3 = np.linalg.solve(w, f2 - e32 * (k2 - f1) - 2.0 * (k1 - f0) + h * d * slope)
        error = norm(h / 6.0 * (k1 - 2.0 * k2 + k3), atol + rtol * np.maximum(abs(y), abs(new)))
        if error <= 1.0:
            t, y, f0, steps = end if last else t + h, new, f2, steps + 1
            h *= min(max(0.9 * gain * error ** (-0.7 / 3.0), 0.2), 10.0)
            gain = max(error, 1e-4) ** (0.4 / 3.0)
        else:
            h *= min(max(0.9 * error ** (-1.0 / 3.0), 0.2), 1.0)
    return y, steps


@pytest.mark.parametrize("name", ["A3", "A5", "B1", "B4", "B5", "robertson"])
def test_rosenbrock23_is_the_published_pair(name):
    """It takes the steps of another implementation, to the same solution."""
    f, y0 = (robertson, [1.0, 0.0, 0.0]) if name == "robertson" else detest(qb)[name]
    g = (lambda y, t: robertson_rates(y)) if name == "robertson" else detest(np)[name][0]
    atol = 1e-10 if name == "robertson" else 1e-6
    want, steps = ode23s(g, np.array(y0), 20.0, 1e-6, atol)
    options = {"method": "rosenbrock23", "rtol": 1e-6, "atol": atol, "max_steps": 4000, "info": True}
    y, info = odeint(f, y0, (0.0, 20.0), **options)
    assert info["accepted_steps"].item() == pytest.approx(steps, abs=2)
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-5, atol=1e-9)


def test_errors_of_the_method_of_order_two_follow_their_law():
    """A step's error is of order 3 in its size, the solution's of order 2: with steps of error tol it is tol**(2/3)."""
    errors = [error_and_steps("rosenbrock23", tol, "B4")[0] * tol for tol in (1e-4, 1e-6)]
    assert math.log(errors[0] / errors[1]) / math.log(100.0) == pytest.approx(2 / 3, abs=0.05)


@pytest.mark.parametrize("name", ["A1", "A2", "B2", "B3"])
def test_the_method_of_order_two_keeps_dissipative_problems_within_ten_tolerances(name):
    for tolerance in (1e-4, 1e-6):
        assert error_and_steps("rosenbrock23", tolerance, name)[0] < 10.0


# ---- stiffness --------------------------------------------------------------------------------------------------------


def robertson(y, t):
    slow, fast, back = 0.04 * y[0], 3e7 * y[1] ** 2, 1e4 * y[1] * y[2]
    return qb.stack([back - slow, slow - back - fast, fast])


def robertson_rates(y):
    return np.array(
        [-0.04 * y[0] + 1e4 * y[1] * y[2], 0.04 * y[0] - 1e4 * y[1] * y[2] - 3e7 * y[1] ** 2, 3e7 * y[1] ** 2]
    )


def stiff_reference(f, y0, t1):
    return solve_ivp(lambda t, y: f(y), (0.0, t1), y0, method="Radau", rtol=1e-12, atol=1e-15).y[:, -1]


@pytest.mark.parametrize(("method", "tolerance"), [("radau", 1e-6), ("radau", 1e-9), ("rosenbrock23", 1e-4)])
def test_robertsons_reaction_to_t_40(method, tolerance):
    atol = tolerance * 1e-4
    y, info = odeint(
        robertson, [1.0, 0.0, 0.0], (0.0, 40.0), method=method, rtol=tolerance, atol=atol, max_steps=4000, info=True
    )
    want = stiff_reference(robertson_rates, [1.0, 0.0, 0.0], 40.0)
    np.testing.assert_allclose(want, [0.7158270688, 9.185534764e-06, 0.2841637457], rtol=1e-9)  # of Hairer and Wanner
    assert np.max(np.abs(y.numpy() - want) / (atol + tolerance * want)) < 10.0
    assert info["accepted_steps"].item() < 700
    np.testing.assert_allclose(qb.sum(y).item(), 1.0, rtol=1e-10)  # mass


def van_der_pol(y, t):
    return qb.stack([y[1], 1000.0 * (1.0 - y[0] ** 2) * y[1] - y[0]])


@pytest.mark.slow
@pytest.mark.parametrize(("method", "tolerance"), [("radau", 1e-6), ("radau", 1e-8), ("rosenbrock23", 1e-4)])
def test_van_der_pol_with_mu_1000(method, tolerance):
    f = lambda y: np.array([y[1], 1000.0 * (1.0 - y[0] ** 2) * y[1] - y[0]])  # noqa: E731
    want = stiff_reference(f, [2.0, 0.0], 1000.0)
    y = odeint(
        van_der_pol, [2.0, 0.0], (0.0, 1000.0), method=method, rtol=tolerance, atol=tolerance * 1e-3, max_steps=20_000
    )
    errors = np.abs(y.numpy() - want) / (tolerance * 1e-3 + tolerance * np.abs(want))
    assert errors.max() < 10.0


@pytest.mark.slow
@pytest.mark.parametrize(("method", "tolerance"), [("radau", 1e-6), ("radau", 1e-8), ("rosenbrock23", 1e-4)])
def test_robertsons_reaction_far_out(method, tolerance):
    want = stiff_reference(robertson_rates, [1.0, 0.0, 0.0], 1e6)
    atol = tolerance * 1e-6
    y = odeint(robertson, [1.0, 0.0, 0.0], (0.0, 1e6), method=method, rtol=tolerance, atol=atol, max_steps=20_000)
    assert np.max(np.abs(y.numpy() - want) / (atol + tolerance * want)) < 10.0


@pytest.mark.parametrize("method", ["radau", "rosenbrock23"])
def test_stiff_components_die_out(method):
    # Prothero and Robinson: y' = L (y - cos t) - sin t from y0 = 2; the answer is cos t whatever L is.
    def f(y, t, stiffness):
        return -stiffness * (y - qb.cos(t)) - qb.sin(t)

    for stiffness in (1e3, 1e6, 1e9):
        y, info = odeint(
            f, 2.0, (0.0, 2.0), method=method, args=(stiffness,), rtol=1e-4, atol=1e-6, max_steps=4000, info=True
        )
        np.testing.assert_allclose(y.item(), math.cos(2.0), rtol=1e-3)
        assert info["accepted_steps"].item() < 300


def test_gradients_of_stiff_problems():
    def first(k):
        def f(y, t):
            slow, fast, back = k[0] * y[0], k[1] * y[1] ** 2, k[2] * y[1] * y[2]
            return qb.stack([back - slow, slow - back - fast, fast])

        return odeint(f, [1.0, 0.0, 0.0], (0.0, 40.0), method="radau", rtol=1e-8, atol=1e-12)[0]

    k = np.array([0.04, 3e7, 1e4])
    found = qb.grad(first)(qb.array(k)).numpy() * k  # for relative changes
    want = []
    for i in range(3):
        h = 1e-4 * np.eye(3)[i]
        want.append((first(qb.array(k * (1 + h))).item() - first(qb.array(k * (1 - h))).item()) / 2e-4)
    np.testing.assert_allclose(found, want, rtol=1e-5)
