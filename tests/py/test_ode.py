"""``odeint``: what it returns, how it fails, and what runs it."""

import gc
import weakref

import numpy as np
import pytest

import quabla as qb
from quabla.ode import odeint

FIXED = ("euler", "heun", "rk4")
ADAPTIVE = ("dopri5", "tsit5", "rosenbrock23", "radau")
#: What to give each method for a solution of six digits.
OPTIONS = {
    **{m: {"steps": n} for m, n in zip(FIXED, (200_000, 2000, 100), strict=True)},
    **{m: {"rtol": 1e-8, "atol": 1e-10} for m in ADAPTIVE},
    "rosenbrock23": {"rtol": 1e-9, "atol": 1e-9, "max_steps": 20_000},
}


def decay(y, t):
    return -y


def circle(y, t):
    return qb.stack([y[1], -y[0]])


@pytest.mark.parametrize("method", [m for m in OPTIONS if m != "euler"])
def test_solution_of_an_oscillator(method):
    y = odeint(circle, [1.0, 0.0], (0.0, 2.0), method=method, **OPTIONS[method])
    np.testing.assert_allclose(y.numpy(), [np.cos(2.0), -np.sin(2.0)], rtol=2e-6)


@pytest.mark.parametrize("method", [m for m in OPTIONS if m != "euler"])
def test_time_runs_backwards_too(method):
    y = odeint(circle, [1.0, 0.0], (2.0, 0.0), method=method, **OPTIONS[method])
    np.testing.assert_allclose(y.numpy(), [np.cos(2.0), np.sin(2.0)], rtol=2e-6)


@pytest.mark.parametrize("method", [m for m in OPTIONS if m != "euler"])
@pytest.mark.parametrize("span", [(0.0, 2.0), (2.0, -1.0)])
def test_states_between_steps(method, span):
    times = np.linspace(*span, 7)
    options = {"steps": 300} if method == "rk4" else OPTIONS[method]
    y = odeint(circle, [np.cos(span[0]), -np.sin(span[0])], span, method=method, saveat=times, **options)
    want = np.stack([np.cos(times), -np.sin(times)], 1)
    np.testing.assert_allclose(y.numpy(), want, atol=2e-6)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_repeated_times_and_the_ends_are_covered(method):
    y = odeint(decay, 1.0, (0.0, 1.0), method=method, saveat=[0.0, 0.0, 0.5, 0.5, 1.0, 1.0], **OPTIONS[method])
    np.testing.assert_allclose(y.numpy(), np.exp([0.0, 0.0, -0.5, -0.5, -1.0, -1.0]), rtol=1e-6)
    assert y[0].item() == y[1].item() == 1.0


def test_all_steps_of_a_fixed_method():
    y = odeint(decay, [1.0, 2.0], (0.0, 1.0), steps=4, method="euler", save=True)
    np.testing.assert_allclose(y.numpy(), np.outer(0.75 ** np.arange(5.0), [1.0, 2.0]), rtol=1e-15)


@pytest.mark.parametrize("method", OPTIONS)
def test_a_span_of_length_zero_is_the_first_state(method):
    options = {"steps": 3} if method in FIXED else {}
    assert odeint(decay, 2.0, (1.0, 1.0), method=method, **options).item() == 2.0
    assert odeint(decay, 2.0, (1.0, 1.0), method=method, saveat=[1.0, 1.0], **options).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("method", ["rk4", *ADAPTIVE])
def test_states_are_pytrees(method):
    def swing(s, t):
        return {"q": s["p"], "p": -s["q"], "still": (0.0,)}

    s = odeint(swing, {"q": qb.array([[1.0, 0.0]]), "p": qb.array([[0.0, 1.0]]), "still": (3.0,)}, (0.0, 1.0),
               method=method, saveat=[0.0, 1.0], **({"steps": 100} if method == "rk4" else OPTIONS[method]))  # fmt: skip
    c, w = np.cos(1.0), np.sin(1.0)
    np.testing.assert_allclose(s["q"].numpy(), [[[1.0, 0.0]], [[c, w]]], atol=1e-6)
    np.testing.assert_allclose(s["p"].numpy(), [[[0.0, 1.0]], [[-w, c]]], atol=1e-6)
    np.testing.assert_allclose(s["still"][0].numpy(), [3.0, 3.0], rtol=1e-12)


@pytest.mark.parametrize("method", ["rk4", *ADAPTIVE])
def test_states_have_any_shape(method):
    options = {"steps": 100} if method == "rk4" else OPTIONS[method]
    y0 = np.arange(1.0, 7.0).reshape(2, 3)
    y = odeint(decay, y0, (0.0, 1.0), method=method, saveat=[0.0, 1.0], **options)
    np.testing.assert_allclose(y.numpy(), [y0, y0 * np.exp(-1.0)], rtol=1e-6)


def test_numbers_and_lists_are_float64_states():
    assert odeint(decay, 1, (0, 1), steps=10).dtype is qb.float64
    assert odeint(decay, [1, 2], (0, 1), steps=10).shape == [2]


@pytest.mark.parametrize("method", ["rk4", *ADAPTIVE])
def test_float32_states_stay_float32(method):
    options = {"steps": 100} if method == "rk4" else {"rtol": 1e-4, "atol": 1e-6}
    seen = []

    def f(y, t):
        seen.append(t.dtype)
        return -t * y

    y = odeint(f, qb.array([1.0, 2.0], dtype=qb.float32), (0.0, 1.0), method=method, saveat=[0.5, 1.0], **options)
    assert y.dtype is qb.float32
    assert set(seen) == {qb.float32}
    np.testing.assert_allclose(y.numpy(), np.outer(np.exp([-0.125, -0.5]), [1.0, 2.0]), rtol=1e-3)


def test_further_arguments_are_pytrees_and_other_objects():
    def f(y, t, parameters, name):
        assert name == "linear"
        return -parameters["k"] * y

    y = odeint(f, 1.0, (0.0, 1.0), steps=50, args=({"k": np.array(2.0)}, "linear"))
    np.testing.assert_allclose(y.item(), np.exp(-2.0), rtol=1e-6)


def test_the_right_hand_side_is_broadcast():
    np.testing.assert_allclose(odeint(lambda y, t: 1.0, [1.0, 2.0], (0.0, 1.0), steps=4).numpy(), [2.0, 3.0])
    np.testing.assert_allclose(odeint(lambda y, t: t, [1.0, 2.0], (0.0, 2.0), steps=4).numpy(), [3.0, 4.0])


@pytest.mark.parametrize("method", ["rk4", "dopri5", "tsit5"])
def test_functions_that_look_at_values_run_step_by_step(method):
    def f(y, t):
        return -y if t < 0.5 else 2.0 * y

    options = {"steps": 100} if method == "rk4" else {"max_steps": 5000, "atol": 1e-8}
    np.testing.assert_allclose(odeint(f, 1.0, (0.0, 1.0), method=method, **options).item(), np.exp(0.5), rtol=0.05)
    np.testing.assert_allclose(
        odeint(lambda y, t: np.array([-y[0].item()]), [1.0], (0.0, 1.0), steps=50).numpy(), [np.exp(-1.0)], rtol=1e-7
    )


def test_methods_that_differentiate_a_function_need_to_trace_it():
    for method in ("rosenbrock23", "radau"):
        message = (
            rf"odeint: {method} takes the derivative of f, so f must be traceable: .*Use quabla\.where or quabla\.cond"
        )
        with pytest.raises(qb.TracerError, match=message):
            odeint(lambda y, t: -y if t < 0.5 else y, 1.0, (0.0, 1.0), method=method)


def test_what_a_function_closes_over_may_change_between_calls():
    k = [1.0]
    solve = lambda: odeint(lambda y, t: -k[0] * y, 1.0, (0.0, 1.0), method="dopri5")  # noqa: E731
    first = solve().item()
    k[0] = qb.array(2.0)
    second = solve().item()
    k[0] = 3.0
    np.testing.assert_allclose([first, second, solve().item()], np.exp([-1.0, -2.0, -3.0]), rtol=1e-5)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_engines_and_eager_solves_agree(engine):
    def f(y, t, k):
        return qb.stack([y[1], k * (1.0 - y[0] ** 2) * y[1] - y[0]])

    k = qb.array(2.0)
    before = qb.config.cpu_engine
    for method in ADAPTIVE:
        solve = lambda k, m=method: odeint(f, [2.0, 0.0], (0.0, 1.0), method=m, args=(k,), saveat=[0.3, 1.0])  # noqa: E731
        eager = solve(k)
        qb.config.cpu_engine = engine
        try:
            compiled = qb.jit(solve)(k)
        finally:
            qb.config.cpu_engine = before
        np.testing.assert_allclose(compiled.numpy(), eager.numpy(), rtol=1e-11)


# ---- success and failure --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ADAPTIVE)
def test_info_tells_how_it_went(method):
    y, info = odeint(circle, [1.0, 0.0], (0.0, 2.0), method=method, info=True)
    assert sorted(info) == ["accepted_steps", "rejected_steps", "success", "t"]
    assert info["t"].item() == 2.0
    assert info["success"].item() is True
    assert info["accepted_steps"].item() > 3
    assert info["rejected_steps"].item() >= 0
    assert y.shape == [2]


@pytest.mark.parametrize("method", ADAPTIVE)
def test_too_few_steps_raise_eagerly_and_are_reported(method):
    with pytest.raises(RuntimeError, match=rf"odeint: {method} reached t = .* instead of t1 in 3 trial steps"):
        odeint(circle, [1.0, 0.0], (0.0, 10.0), method=method, max_steps=3)
    y, info = odeint(circle, [1.0, 0.0], (0.0, 10.0), method=method, max_steps=3, info=True)
    t = info["t"].item()
    assert info["success"].item() is False
    assert 0.0 < t < 10.0
    np.testing.assert_allclose(y.numpy(), [np.cos(t), -np.sin(t)], rtol=1e-5)  # what there is


def test_traced_solves_that_fail_are_partial_with_info_and_nan_without():
    def solve(y, **options):
        return odeint(decay, y, (0.0, 10.0), method="dopri5", max_steps=3, **options)

    y, info = qb.jit(lambda y: solve(y, info=True))(qb.array(1.0))
    assert info["success"].item() is False
    np.testing.assert_allclose(y.item(), np.exp(-info["t"].item()), rtol=1e-6)
    assert np.isnan(qb.jit(solve)(qb.array(1.0)).item())


def test_times_that_were_not_reached_are_nan():
    y, info = odeint(decay, 1.0, (0.0, 10.0), method="dopri5", max_steps=3, saveat=[0.0, 10.0], info=True)
    assert not info["success"].item()
    assert y[0].item() == 1.0
    assert np.isnan(y[1].item())


def test_a_start_that_is_not_finite_ends_at_once():
    for method in ADAPTIVE:
        with pytest.raises(RuntimeError, match="cannot start"):
            odeint(lambda y, t: qb.log(y), -1.0, (0.0, 1.0), method=method, max_steps=10**6)


def test_a_solution_that_blows_up_is_an_error():
    with pytest.raises(RuntimeError, match="reached t = 1 instead of t1"):
        odeint(lambda y, t: y * y, 1.0, (0.0, 2.0), method="dopri5")


def sinking(y, t):
    """A square root that trial steps below 0.2 find NaN in; y(0.04) = 0.36 from 1.2."""
    return -30.0 * qb.sqrt(y - 0.2)


def test_nan_in_a_trial_step_shrinks_the_step():
    y, info = odeint(sinking, 1.2, (0.0, 0.04), method="dopri5", rtol=1e-2, atol=1e-2, info=True)
    assert info["rejected_steps"].item() == 1.0
    np.testing.assert_allclose(y.item(), 0.36, atol=2e-2)


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize(("dtype", "slope"), [(qb.float32, 1e11), (qb.float64, 1e170), (qb.float64, -1e300)])
def test_slopes_whose_squares_overflow(method, dtype, slope):
    def solve(y0):
        return odeint(lambda y, t: slope + 0.0 * y, y0, (0.0, 1e-3), method=method, info=True)

    for run in (solve, qb.jit(solve), qb.vmap(solve)):
        y, info = run(qb.array([0.0, 0.0], dtype=dtype))
        assert np.all(info["success"].numpy())
        assert np.all(info["accepted_steps"].numpy() < 40)
        np.testing.assert_allclose(y.numpy(), slope * 1e-3, rtol=1e-6)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_a_solution_of_0_needs_no_absolute_tolerance(method):
    assert odeint(decay, 0.0, (0.0, 1.0), method=method, atol=0.0).item() == 0.0
    y = odeint(decay, [0.0, 1.0], (0.0, 1.0), method=method, atol=0.0, rtol=1e-4)
    np.testing.assert_allclose(y.numpy(), [0.0, np.exp(-1.0)], rtol=1e-2)


@pytest.mark.parametrize("method", ["dopri5", "tsit5", "rosenbrock23"])
def test_a_component_that_starts_at_0_without_an_absolute_tolerance(method):
    y = odeint(lambda y, t: qb.cos(t), 0.0, (0.0, 1.0), method=method, atol=0.0)
    np.testing.assert_allclose(y.item(), np.sin(1.0), rtol=1e-5)


def test_a_failure_for_want_of_an_absolute_tolerance_says_so():
    with pytest.raises(RuntimeError, match="give an atol above 0"):
        odeint(lambda y, t: 1.0 + y, 0.0, (0.0, 1.0), method="radau", atol=0.0)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_steps_that_cannot_change_the_time_end_the_solve(method):
    """y' = y**2 from 1 has its pole at 1."""
    info = odeint(lambda y, t: y * y, 1.0, (0.0, 2.0), method=method, max_steps=10**4, info=True)[1]
    assert not info["success"].item()
    assert info["accepted_steps"].item() + info["rejected_steps"].item() < 3000
    np.testing.assert_allclose(info["t"].item(), 1.0, rtol=1e-4)
    with pytest.raises(RuntimeError, match="a smaller one would not change the time") as e:
        odeint(lambda y, t: y * y, 1.0, (0.0, 2.0), method=method, max_steps=10**4)
    assert ("use a stiff method" in str(e.value)) == (method in ("dopri5", "tsit5"))


@pytest.mark.parametrize("method", ADAPTIVE)
def test_steps_are_what_the_rounded_time_changes_by(method):
    """Around 1e8 neighbours in float32 are 8 apart."""
    y0 = qb.array(0.0, dtype=qb.float32)
    y = odeint(lambda y, t: 1.0, y0, (1e8, 1e8 + 640.0), method=method)
    np.testing.assert_allclose(y.item(), 640.0, rtol=1e-6)


@pytest.mark.parametrize("method", OPTIONS)
@pytest.mark.parametrize("saved", [False, True])
def test_a_function_is_not_asked_for_times_outside_the_span(method, saved):
    """Not in the search for the first step, and not by a rounding: it may be defined nowhere else."""
    options = {"steps": 7} if method in FIXED else {}
    rng = np.random.default_rng(0)
    ends = [(0.0, 1e-4), (1e-4, 0.0), *rng.normal(size=(20, 2)).tolist()]
    for t0, t1 in ends:
        low, high = min(t0, t1), max(t0, t1)

        def f(y, t, low, high):
            inside = qb.logical_and(t >= low, t <= high)
            return qb.where(inside, -0.1 * y, np.nan)

        saveat = {"saveat": [t0, t1]} if saved else {}
        y = odeint(f, 1.0, (t0, t1), method=method, args=(qb.array(low), qb.array(high)), **saveat, **options)
        rows = y.tolist() if saved else [1.0, y.item()]
        np.testing.assert_allclose(rows, [1.0, np.exp(-0.1 * (t1 - t0))], rtol=0.05)


def test_steps_by_python_stay_inside_the_span():
    times = []
    f = lambda y, t: times.append(t.item()) or (2.0 * y if t.item() > 0.0 else y)  # noqa: E731
    for method in ("dopri5", "tsit5"):
        odeint(f, 1.0, (0.1, 0.1001), method=method)
    assert min(times) == 0.1
    assert max(times) == 0.1001


@pytest.mark.parametrize("method", ADAPTIVE)
def test_a_first_step_does_not_leave_the_span_for_good(method):
    """f is defined up to the end of the span alone, which is shorter than the first guess of a step."""
    y = odeint(lambda y, t: qb.sqrt(1e-8 - t), 0.0, (0.0, 1e-8), method=method)
    np.testing.assert_allclose(y.item(), 2.0 / 3.0 * 1e-12, atol=1e-9)


@pytest.mark.parametrize("method", OPTIONS)
@pytest.mark.parametrize("span", [(0.0, 1.0), (1.0, 0.0), (100.1, 99.1)])
def test_traced_times_outside_the_span_are_nan(method, span):
    t0, t1 = span
    d = t1 - t0
    options = {"steps": 7} if method in FIXED else {"atol": 1e-4, "rtol": 1e-4}
    times = np.array(
        [t0 - 0.5 * d, t0, t0 + 0.5 * d, t1, t1 + np.spacing(t1) * np.sign(d), t1 + 1e-6 * d, t1 + 0.5 * d]
    )
    solve = qb.jit(lambda ts: odeint(decay, 1.0, span, method=method, saveat=ts, **options))
    nan = np.isnan(solve(qb.array(times)).numpy())
    assert nan.tolist() == [True, False, False, False, False, True, True]


# ---- misuse -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "message", "options"),
    [
        (TypeError, "rk4 needs steps", {}),
        (TypeError, "steps must be an int", {"steps": 2.5}),
        (TypeError, "steps must be an int", {"steps": True}),
        (ValueError, "steps must be at least 1", {"steps": 0}),
        (ValueError, "method must be one of 'euler'", {"steps": 2, "method": "rk45"}),
        (ValueError, "method must be one of 'euler'", {"steps": 2, "method": ["rk4"]}),
        (TypeError, "dopri5 chooses its own steps", {"steps": 2, "method": "dopri5"}),
        (ValueError, "save=True is for euler, heun, rk4", {"save": True, "method": "dopri5"}),
        (ValueError, "save and saveat exclude each other", {"steps": 2, "save": True, "saveat": [1.0]}),
        (ValueError, "info=True is for the adaptive methods", {"steps": 2, "info": True}),
        (ValueError, "saveat must be a vector", {"steps": 2, "saveat": 1.0}),
        (ValueError, "saveat must be in order", {"steps": 2, "saveat": [1.0, 0.5]}),
        (ValueError, "saveat must lie between", {"steps": 2, "saveat": [0.0, 2.5]}),
        (ValueError, "saveat must lie between", {"method": "dopri5", "saveat": [-0.5, 2.0]}),
        (ValueError, "rtol must be finite and not negative", {"method": "dopri5", "rtol": -1.0}),
        (ValueError, "atol must be finite and not negative", {"method": "dopri5", "atol": float("nan")}),
        (TypeError, "rtol must be a number", {"method": "dopri5", "rtol": "1e-3"}),
        (ValueError, "rtol and atol must not both be 0", {"method": "dopri5", "rtol": 0.0, "atol": 0.0}),
        (ValueError, "max_steps must be at least 1", {"method": "dopri5", "max_steps": 0}),
        (TypeError, "max_steps must be an int", {"method": "dopri5", "max_steps": 1e3}),
        (
            TypeError,
            r"args must be a tuple of arguments for f, got Tensor; write \(x,\)",
            {"steps": 2, "args": qb.ones(1)},
        ),
    ],
)
def test_options_that_are_refused(error, message, options):
    with pytest.raises(error, match=f"odeint: {message}"):
        odeint(decay, qb.array([1.0, 2.0]), (0.0, 2.0), **options)


@pytest.mark.parametrize("span", [2.0, (0.0, 1.0, 2.0), qb.array([0.0, 1.0])])
def test_spans_that_are_no_pairs_are_refused(span):
    with pytest.raises(TypeError, match=r"t_span must be a pair \(t0, t1\)"):
        odeint(decay, 1.0, span, steps=2)


@pytest.mark.parametrize(
    ("error", "message", "f", "y0"),
    [
        (TypeError, "expected a function", 3, 1.0),
        (TypeError, "f must return the structure of y0, .*; quabla.array makes one array of a list", lambda y, t: [y[0], y[1]], [1.0, 2.0]),
        (
            TypeError,
            r"f must return the structure of y0, .*; a list that holds arrays is a pytree: give quabla.array\(y0\)",
            lambda y, t: qb.stack([y[1], -y[0]]),
            [qb.array(1.0), 2.0],
        ),
        (TypeError, "f must return the structure of y0", lambda y, t: y["q"], {"q": 1.0}),
        (TypeError, "f must return the structure of y0", lambda y, t: None, 1.0),
        (TypeError, "f must return arrays, got 'text' of type str", lambda y, t: "text", 1.0),
        (ValueError, "does not broadcast to the state", lambda y, t: qb.ones(3), [1.0, 2.0]),
        (ValueError, "f returns .* convert with astype", lambda y, t: y.astype(qb.float32), [1.0, 2.0]),
        (ValueError, "y0 must be made of float arrays", decay, qb.array([True])),
        (ValueError, "y0 has no arrays", decay, {}),
        (ValueError, "y0 mixes f64 and f32", decay, (qb.ones(2), qb.ones(2, dtype=qb.float32))),
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["rk4", "dopri5", "radau"])
def test_functions_and_states_that_are_refused(error, message, f, y0, method):
    with pytest.raises(error, match=message):
        odeint(f, y0, (0.0, 1.0), method=method, **({"steps": 2} if method == "rk4" else {}))


@pytest.mark.parametrize(
    ("error", "message", "span"),
    [
        (TypeError, "t0 of t_span: cannot make an array from 'a'", ("a", 1)),
        (TypeError, "t1 of t_span: cannot make an array from None", (0.0, None)),
        (ValueError, "t1 of t_span must be finite, got inf", (0.0, float("inf"))),
        (ValueError, "t0 of t_span must be finite, got nan", (qb.array(float("nan")), 1.0)),
    ],
)
@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_ends_of_the_span_that_are_refused(error, message, span, method):
    with pytest.raises(error, match=f"odeint: {message}"):
        odeint(decay, 1.0, span, method=method, **({"steps": 2} if method == "rk4" else {}))


def test_times_of_another_dtype_are_refused():
    y0 = qb.ones(2, dtype=qb.float32)
    with pytest.raises(ValueError, match=r"t1 is tensor<f64> where the state is f32; convert one with astype"):
        odeint(decay, y0, (0.0, qb.array(1.0)), steps=2)
    with pytest.raises(ValueError, match="t0 must be a number or a rank-0 array"):
        odeint(decay, y0, (qb.ones(1, dtype=qb.float32), 1.0), steps=2)


def test_a_message_names_the_users_line():
    with pytest.raises(TypeError, match=r"test_ode\.py:\d+"):
        odeint(lambda y, t: [y, y], 1.0, (0.0, 1.0), steps=2)


@pytest.mark.parametrize("method", ["rk4", "dopri5", "radau"])
def test_kept_programs_do_not_keep_arrays(method):
    def solve():
        a = qb.array(np.full(40, 0.5))
        odeint(lambda y, t: -a * y, np.ones(40), (0.0, 1.0), method=method, **({"steps": 5} if method == "rk4" else {}))
        return weakref.ref(a)

    gone = solve()
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("method", ["dopri5", "tsit5", "radau", "rosenbrock23"])
def test_a_solve_that_stops_early_has_no_derivative(method):
    """y' = k y**2 from 1 has no value at 2 for k = 1; lanes that reach the end keep their derivatives."""

    def f(k, y0=1.0):
        return qb.ode.odeint(lambda y, t: k * y**2, y0, (0.0, 2.0), method=method, max_steps=60)

    value, slope = qb.value_and_grad(f)(1.0)
    assert np.isnan(value.item())
    assert np.isnan(slope.item())
    assert np.isnan(qb.jvp(f, (1.0,), (1.0,))[1].item())
    slopes = qb.vmap(qb.grad(f))(qb.array([0.1, 1.0])).numpy()
    np.testing.assert_allclose(slopes[0], 2.0 / 0.8**2, rtol=1e-3)
    assert np.isnan(slopes[1])
