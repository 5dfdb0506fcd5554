"""Derivatives of ``odeint``: in states, times and arguments, of every order, in every mode, over lanes."""

import numpy as np
import pytest

import quabla as qb
from quabla.ode import odeint

ADAPTIVE = ("dopri5", "tsit5", "rosenbrock23", "radau")
#: Tolerances for derivatives of six digits and more.
FINE = {
    "euler": {"steps": 4000},
    "heun": {"steps": 1000},
    "rk4": {"steps": 100},
    "dopri5": {"rtol": 1e-10, "atol": 1e-12},
    "tsit5": {"rtol": 1e-10, "atol": 1e-12},
    "rosenbrock23": {"rtol": 1e-8, "atol": 1e-9, "max_steps": 2000},
    "radau": {"rtol": 1e-10, "atol": 1e-12},
}


def riccati(method, y0, t0=0.0, t1=1.0, k=1.0, **options):
    """y' = -k y**2, whose solution is y0 / (1 + k y0 (t1 - t0))."""
    return odeint(lambda y, t: -k * y * y, y0, (t0, t1), method=method, **(FINE[method] | options))


@pytest.mark.parametrize("method", FINE)
def test_first_derivatives_in_every_argument(method):
    tolerance = {"euler": 5e-4, "rosenbrock23": 1e-5}.get(method, 2e-6)
    names = ("y0", "t0", "t1", "k")
    at = dict(zip(names, (1.5, 0.25, 1.0, 0.8), strict=True))
    y0, t0, t1, k = at.values()
    d = 1.0 + k * y0 * (t1 - t0)
    want = np.array([1.0, k * y0**2, -k * y0**2, -(y0**2) * (t1 - t0)]) / d**2
    solve = lambda *x: riccati(method, **dict(zip(names, x, strict=True)))  # noqa: E731
    point = [qb.array(x) for x in at.values()]
    reverse = qb.grad(solve, argnums=(0, 1, 2, 3))(*point)
    np.testing.assert_allclose([g.item() for g in reverse], want, rtol=tolerance)
    forward = [qb.jvp(solve, point, [qb.array(float(i == j)) for j in range(4)])[1].item() for i in range(4)]
    np.testing.assert_allclose(forward, [g.item() for g in reverse], rtol=1e-12)


@pytest.mark.parametrize("method", FINE)
def test_second_derivative_in_the_first_state(method):
    # y(1) = y0 / (1 + y0) from y' = -y**2, so the second derivative at 1 is -2 / (1 + y0)**3 = -1/4.
    tolerance = 2e-4 if method == "euler" else 1e-6
    solve = lambda y0: riccati(method, y0)  # noqa: E731
    np.testing.assert_allclose(qb.grad(qb.grad(solve))(1.0).item(), -0.25, atol=tolerance)
    np.testing.assert_allclose(qb.hessian(solve)(1.0).item(), -0.25, atol=tolerance)
    twice = qb.jvp(lambda y: qb.jvp(solve, (y,), (1.0,))[1], (qb.array(1.0),), (qb.array(1.0),))[1]
    np.testing.assert_allclose(twice.item(), -0.25, atol=tolerance)


@pytest.mark.parametrize("method", ["rk4", "dopri5", "radau"])
def test_third_derivative(method):
    third = qb.grad(qb.grad(qb.grad(lambda y0: riccati(method, y0))))(1.0)
    np.testing.assert_allclose(third.item(), 6.0 / 16.0, rtol=1e-6)


@pytest.mark.parametrize("method", ["rk4", *ADAPTIVE])
def test_second_derivatives_in_times_and_arguments(method):
    def solve(x):
        return riccati(method, x[0], x[1], x[2], x[3])

    y0, t0, t1, k = at = (1.5, 0.25, 1.0, 0.8)
    found = qb.hessian(solve)(qb.array(at)).numpy()
    d, s = 1.0 + k * y0 * (t1 - t0), t1 - t0
    # Of y0 / d by hand.
    want = np.zeros((4, 4))
    want[0, 0] = -2 * k * s / d**3
    want[0, 1] = 2 * k * y0 / d**3
    want[0, 3] = -2 * y0 * s / d**3
    want[1, 1] = 2 * k**2 * y0**3 / d**3
    want[1, 3] = y0**2 / d**2 - 2 * k * y0**3 * s / d**3
    want[3, 3] = 2 * y0**3 * s**2 / d**3
    want[0, 2], want[1, 2], want[2, 2], want[2, 3] = -want[0, 1], -want[1, 1], want[1, 1], -want[1, 3]
    want = np.triu(want) + np.triu(want, 1).T
    # Only the last step depends on t1, so its second derivative has an error of the order of that step's size.
    np.testing.assert_allclose(found, want, rtol=1e-3 if method == "rosenbrock23" else 2e-5, atol=2e-6)
    np.testing.assert_allclose(found, found.T, rtol=1e-10, atol=1e-12)
    v = qb.array([0.3, -0.2, 0.5, 0.7])
    product = qb.grad(lambda x: qb.sum(qb.grad(solve)(x) * v))(qb.array(at))
    np.testing.assert_allclose(product.numpy(), found @ v.numpy(), rtol=1e-9)


@pytest.mark.parametrize("method", FINE)
def test_derivatives_in_the_wanted_times_are_slopes(method):
    times = qb.array([0.0, 0.3, 0.7, 1.0])
    total = lambda s: qb.sum(riccati(method, 1.0, saveat=s) * qb.array([1.0, 2.0, 3.0, 4.0]))  # noqa: E731
    found = qb.grad(total)(times).numpy()
    want = -np.array([1.0, 2.0, 3.0, 4.0]) / (1.0 + times.numpy()) ** 2
    np.testing.assert_allclose(found, want, rtol=2e-3 if method == "euler" else 2e-5)
    in_t0 = qb.grad(lambda t0: qb.sum(riccati(method, 1.0, t0, saveat=qb.array([0.5, 1.0]))))(qb.array(0.0))
    np.testing.assert_allclose(in_t0.item(), 1 / 1.5**2 + 1 / 4, rtol=2e-3 if method == "euler" else 2e-5)


@pytest.mark.parametrize("method", FINE)
def test_derivatives_at_a_span_of_length_zero(method):
    options = {"steps": 3} if "steps" in FINE[method] else {}
    solve = lambda t1: odeint(lambda y, t: -y * y, 2.0, (1.0, t1), method=method, **options)  # noqa: E731
    np.testing.assert_allclose(qb.grad(solve)(qb.array(1.0)).item(), -4.0, rtol=1e-12)
    if method != "euler":  # which is linear in the length of the span if there is one step
        np.testing.assert_allclose(qb.grad(qb.grad(solve))(qb.array(1.0)).item(), 16.0, rtol=1e-12)
    rows = lambda s: qb.sum(odeint(lambda y, t: -y * y, 2.0, (1.0, 1.0), method=method, saveat=s, **options))  # noqa: E731
    np.testing.assert_allclose(qb.grad(rows)(qb.array([1.0, 1.0])).numpy(), [-4.0, -4.0], rtol=1e-12)


@pytest.mark.parametrize("method", ["rk4", "dopri5", "radau"])
def test_pytree_states_and_arguments(method):
    def f(s, t, p):
        return {"q": s["p"], "p": -p["k"] * s["q"]}

    def final(s, p):
        return odeint(f, s, (0.0, 1.0), method=method, args=(p,), **FINE[method])["q"][0]

    s, p = qb.grad(final, argnums=(0, 1))({"q": qb.array([1.0]), "p": qb.array([2.0])}, {"k": qb.array(4.0)})
    # q(1) = q cos w + p / w sin w with w = sqrt(k) = 2
    c, w = np.cos(2.0), np.sin(2.0)
    np.testing.assert_allclose(s["q"].item(), c, rtol=1e-6)
    np.testing.assert_allclose(s["p"].item(), w / 2, rtol=1e-6)
    np.testing.assert_allclose(p["k"].item(), (-w + c - w / 2) / 4, rtol=1e-6)


# ---- lanes ------------------------------------------------------------------------------------------------------------


def oscillator(method, k, **options):
    """Van der Pol's equation, which needs more steps the larger k is."""
    f = lambda y, t: qb.stack([y[1], k * (1.0 - y[0] ** 2) * y[1] - y[0]])  # noqa: E731
    return odeint(f, [2.0, 0.0], (0.0, 1.0), method=method, max_steps=400, **options)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_lanes_equal_a_loop(method):
    ks = qb.array([0.1, 1.0, 30.0])
    solve = lambda k: qb.sum(oscillator(method, k, saveat=[0.5, 1.0]))  # noqa: E731
    for fun in (solve, qb.grad(solve), qb.hessian(solve)):
        want = [fun(k).item() for k in ks]
        np.testing.assert_allclose(qb.vmap(fun)(ks).numpy(), want, rtol=1e-11)
    summed = qb.grad(lambda ks: qb.sum(qb.vmap(solve)(ks)))(ks)
    np.testing.assert_allclose(summed.numpy(), [qb.grad(solve)(k).item() for k in ks], rtol=1e-11)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_each_lane_takes_its_own_steps(method):
    ks = qb.array([0.1, 1.0, 30.0])
    count = lambda k: [oscillator(method, k, info=True)[1][s] for s in ("accepted_steps", "rejected_steps")]  # noqa: E731
    lanes = [x.tolist() for x in qb.vmap(count)(ks)]
    assert lanes == [[x.item() for x in pair] for pair in zip(*map(count, ks), strict=True)]
    assert lanes[0][0] < lanes[0][2]


def test_lanes_share_arguments_and_nest():
    def solve(y0, k):
        return odeint(lambda y, t: -k * y, y0, (0.0, 1.0), method="dopri5", rtol=1e-9)

    y0s, ks = qb.array([1.0, 2.0]), qb.array([0.5, 1.0, 2.0])
    table = qb.vmap(lambda y0: qb.vmap(lambda k: solve(y0, k))(ks))
    np.testing.assert_allclose(table(y0s).numpy(), np.outer([1, 2], np.exp(-ks.numpy())), rtol=1e-8)
    in_k = qb.grad(lambda ks: qb.sum(qb.vmap(lambda y0: qb.vmap(lambda k: solve(y0, k))(ks))(y0s)))(ks)
    np.testing.assert_allclose(in_k.numpy(), -3.0 * np.exp(-ks.numpy()), rtol=1e-7)


def test_a_lane_that_fails_leaves_the_others_alone():
    def solve(y0):
        return odeint(lambda y, t: y * y, y0, (0.0, 1.0), method="dopri5", max_steps=60)

    y = qb.vmap(solve)(qb.array([0.5, 2.0, float("nan"), 0.25])).numpy()  # the second blows up at t = 1/2
    np.testing.assert_allclose(y, [1.0, np.nan, np.nan, 1.0 / 3.0], rtol=1e-6)
    slopes = qb.vmap(qb.grad(solve))(qb.array([0.5, 2.0, 0.25])).numpy()
    np.testing.assert_allclose(slopes[[0, 2]], [4.0, 16.0 / 9.0], rtol=1e-5)


# ---- what has no derivative -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["dopri5", "tsit5"])
def test_a_rejected_trial_with_nan_has_no_part_in_derivatives(method):
    def solve(y0):  # y' = -20 sqrt(y - 0.2) after a long way without change: the step that meets it is too long
        return odeint(
            lambda y, t: -20.0 * qb.sqrt(y - 0.2) * qb.sigmoid(200.0 * (t - 1.0)), y0, (0.0, 1.05), method=method,
            info=True,
        )  # fmt: skip

    _, info = solve(1.2)
    assert info["rejected_steps"].item() > 0
    h = 1e-5
    slope = (solve(1.2 + h)[0].item() - solve(1.2 - h)[0].item()) / (2 * h)
    first = lambda y0: solve(y0)[0]  # noqa: E731
    np.testing.assert_allclose(qb.grad(first)(1.2).item(), slope, rtol=1e-3)
    assert np.isfinite(qb.hessian(first)(1.2).item())
    lanes = qb.vmap(qb.grad(first))(qb.array([1.2, 1.5])).numpy()
    np.testing.assert_allclose(lanes, [qb.grad(first)(x).item() for x in (1.2, 1.5)], rtol=1e-11)


def test_step_counts_have_no_derivative():
    def counted(k):
        _, info = odeint(lambda y, t: -k * y, 1.0, (0.0, 1.0), method="dopri5", info=True)
        return k * info["accepted_steps"] + 0.0 * info["t"]

    k = qb.array(1.0)
    steps = odeint(lambda y, t: -y, 1.0, (0.0, 1.0), method="dopri5", info=True)[1]["accepted_steps"].item()
    assert qb.grad(counted)(k).item() == steps


# ---- inside other programs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["rk4", "dopri5", "radau"])
def test_solves_inside_loops_branches_and_checkpoints(method):
    def solve(k, y0):
        return odeint(lambda y, t: -k * y, y0, (0.0, 1.0), method=method, **FINE[method])

    k, want = qb.array(1.0), -3.0 * np.exp(-3.0)
    loop = lambda k: qb.fori_loop(0, 3, lambda i, y: solve(k, y), 1.0)  # noqa: E731
    np.testing.assert_allclose(qb.grad(loop)(k).item(), want, rtol=1e-6)
    np.testing.assert_allclose(qb.hessian(loop)(k).item(), 9.0 * np.exp(-3.0), rtol=1e-6)
    branch = lambda k: qb.cond(k > 0.0, lambda: solve(3.0 * k, 1.0), lambda: k)  # noqa: E731
    np.testing.assert_allclose(qb.grad(branch)(k).item(), want, rtol=1e-6)
    again = qb.checkpoint(lambda k: solve(3.0 * k, 1.0))
    np.testing.assert_allclose(qb.grad(again)(k).item(), want, rtol=1e-6)


@pytest.mark.parametrize("policy", ["full", "sqrt", 3])
def test_checkpoints_of_the_steps_give_the_same_derivatives(policy):
    solve = lambda y0: riccati("dopri5", y0)  # noqa: E731
    before = qb.config.loop_checkpoint
    qb.config.loop_checkpoint = policy
    try:
        assert abs(qb.grad(solve)(1.0).item() - 0.25) < 1e-9
        assert abs(qb.grad(qb.grad(solve))(1.0).item() + 0.25) < 1e-8
    finally:
        qb.config.loop_checkpoint = before


@pytest.mark.parametrize("method", ["dopri5", "rosenbrock23", "radau"])
def test_custom_rules_in_the_right_hand_side_hold(method):
    @qb.custom_jvp
    def scaled(y):
        return -y

    scaled.defjvp(lambda primals, tangents: (scaled(primals[0]), -3.0 * tangents[0]))
    found = qb.grad(lambda y0: odeint(lambda y, t: scaled(y), y0, (0.0, 1.0), method=method, **FINE[method]))(1.0)
    if method == "dopri5":  # the stiff methods' values too depend on the derivative of f
        np.testing.assert_allclose(found.item(), np.exp(-3.0), rtol=1e-6)
    assert np.isfinite(found.item())


@pytest.mark.parametrize("method", ["dopri5", "radau"])
def test_engines_agree_on_derivatives(method):
    found = []
    before = qb.config.cpu_engine
    for engine in ("numpy", "xla"):
        qb.config.cpu_engine = engine
        try:
            found.append(qb.jit(qb.grad(lambda k: qb.sum(oscillator(method, k))))(qb.array(2.0)).item())
        finally:
            qb.config.cpu_engine = before
    np.testing.assert_allclose(*found, rtol=1e-9)
