"""Behaviour at the edges that once went wrong, one test for each kind of mistake."""

from __future__ import annotations

import gc
import math
import threading

import numpy as np
import pytest

import quabla as qb
from quabla.ops import dispatch

X = qb.array([1.0, 2.0, 3.0])
F32 = qb.array([1.0, 2.0, 3.0], dtype=qb.float32)
MASK = qb.array([True, False, True])


def in_threads(count, run):
    """Run in threads at once and return their results, raising what any of them raised."""
    results, failures = [], []

    def guarded():
        try:
            results.append(run())
        except BaseException as e:  # noqa: BLE001
            failures.append(e)

    threads = [threading.Thread(target=guarded, daemon=True) for _ in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    if failures:
        raise failures[0]
    return results


# ---- signatures ---------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: (v,), lambda v: ((v, "a"), 0), lambda v: frozenset([v])])
def test_static_values_that_python_calls_equal_are_traced_apart(wrap):
    seen = []
    f = qb.jit(lambda x, s: (seen.append(s), x)[1], static_argnums=1)
    values = [1, True, 1.0, np.float32(1.0), 0.0, -0.0]
    for _ in range(2):
        for v in values:
            f(X, wrap(v))
    assert [repr(s) for s in seen] == [repr(wrap(v)) for v in values]


def test_a_nan_is_the_same_static_value_every_time():
    calls = []
    f = qb.jit(lambda x, s: (calls.append(s), x)[1], static_argnums=1)
    for _ in range(3):
        f(X, (float("nan"), "a"))
    assert len(calls) == 1


def test_dict_keys_that_python_calls_equal_are_different_structures():
    f = qb.jit(lambda d: d)
    for key in (1, True, 1.0, 1):
        assert type(next(iter(f({key: X})))) is type(key)
    assert qb.tree.structure({1: X}) != qb.tree.structure({True: X})


def test_static_arguments_may_be_left_to_their_defaults():
    def scaled(x, n=2, *, double=False):
        return x * n * (2.0 if double else 1.0)

    for options in ({"static_argnames": ("n", "double")}, {"static_argnums": 1, "static_argnames": "double"}):
        f = qb.jit(scaled, **options)
        assert f(X).tolist() == f(X, n=2).tolist() == f(X, 2).tolist() == f(x=X).tolist() == [2.0, 4.0, 6.0]
        assert f(X, 3, double=True).tolist() == [6.0, 12.0, 18.0]
    assert qb.jit(lambda x, n=2: x * n, static_argnums=-1)(X).tolist() == [2.0, 4.0, 6.0]
    with pytest.raises(ValueError, match="out of range"):
        qb.jit(lambda x: x, static_argnums=3)(X)


def test_a_jitted_function_sees_the_same_arguments_inside_a_trace():
    seen = []

    def f(d, s):
        seen.append(type(d["a"]).__name__)
        d["b"] = 1.0
        return d["a"] + 1.0

    mine = {"a": np.array([1.0, 2.0, 3.0])}
    jitted = qb.jit(f, static_argnums=1)
    qb.jit(lambda x: x + jitted(mine, "s"))(X)
    assert set(mine) == {"a"}
    assert seen == ["Tensor"]
    with pytest.raises(TypeError, match="hashable"):
        qb.jit(lambda x: jitted({"a": x}, []))(X)


# ---- weak dtypes --------------------------------------------------------------------------------


def test_a_weak_value_does_not_make_an_equal_strong_one_weak():
    def f(m):
        strong, weak = qb.astype(m, qb.float64) * 2.0, m * 2.0
        again = qb.astype(m, qb.float64) * 2.0
        assert (strong.weak, weak.weak, again.weak) == (False, True, False)
        return weak * F32

    assert qb.jit(f)(MASK).dtype is f(MASK).dtype is qb.float32


@pytest.mark.parametrize(
    "weak",
    [
        lambda: qb.jit(lambda m: m * 2.0)(MASK),
        lambda: qb.vmap(lambda m: m * 2.0)(MASK),
        lambda: qb.vmap(lambda m: qb.stack([m, m]) * 2.0, out_axes=1)(MASK)[0],
        lambda: qb.jvp(lambda x: (x > 0) * 2.0, (F32,), (F32,))[0],
    ],
)
def test_results_of_transforms_stay_weak(weak):
    assert (weak() * F32).dtype is qb.float32


# ---- threads ------------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", [qb.jit, qb.grad, qb.hessian, lambda f: qb.jit(qb.grad(f))])
def test_threads_that_call_first_share_one_trace(transform):
    calls = []
    start = threading.Barrier(6)

    def f(x):
        calls.append(1)
        return qb.sum(qb.sin(x) * x)

    g = transform(f)

    def run():
        start.wait()
        return str(g(X).tolist())

    assert len(set(in_threads(6, run))) == 1
    assert len(calls) == 1


def test_a_traced_function_may_wait_for_a_thread_that_traces_it_for_another_signature():
    def f(x):
        if x.shape == [3]:
            assert in_threads(1, lambda: g(qb.array([5.0])).tolist()) == [[10.0]]
        return x * 2.0

    g = qb.jit(f)
    assert g(X).tolist() == [2.0, 4.0, 6.0]


def test_threads_with_many_signatures_and_a_small_cache():
    f = qb.jit(lambda x: qb.sum(x * x), max_traces=2)

    def run():
        for n in (1, 2, 3, 4) * 5:
            assert f(qb.ones((n,))).item() == n

    with pytest.warns(qb.RetraceWarning):
        in_threads(6, run)


def test_threads_compile_at_once(engine):
    engine("xla")
    f = qb.jit(qb.grad(lambda x: qb.sum(qb.tanh(x) ** 2)))
    assert len(set(in_threads(6, lambda: str(f(X).tolist())))) == 1


def test_a_thread_is_not_inside_another_thread_s_trace():
    def f(x):
        assert in_threads(1, lambda: (X + 1.0).tolist()) == [[2.0, 3.0, 4.0]]
        with pytest.raises(qb.TracerError):
            in_threads(1, lambda: x + 1.0)
        return x

    qb.jit(f)(X)


# ---- failures inside a trace --------------------------------------------------------------------

TRANSFORMS = {
    "jit": qb.jit,
    "grad": qb.grad,
    "vmap": qb.vmap,
    "jacobian": qb.jacobian,
    "hessian": qb.hessian,
    "jvp": lambda f: lambda x: qb.jvp(f, (x,), (x,)),
    "vjp": lambda f: lambda x: qb.vjp(f, x),
}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_an_exception_in_a_traced_function_leaves_nothing_behind(name, error):
    def f(x):
        if failing:
            raise error("mine")
        return qb.sum(x)

    g = TRANSFORMS[name](f)
    failing = True
    for _ in range(2):
        with pytest.raises(error, match="mine"):
            g(qb.ones((2, 2)))
        assert not dispatch.emitters.graphs
        assert gc.isenabled()
    failing = False
    g(qb.ones((2, 2)))


def test_an_exception_that_a_traced_function_catches_is_forgotten():
    def f(x):
        for transform in (qb.grad, qb.hessian, qb.vmap):
            with pytest.raises(ValueError, match="broadcast"):
                transform(lambda v: qb.sum(qb.stack([v, v]) + qb.zeros((7,))))(x)
        with pytest.raises(ValueError, match="out_axes"):
            qb.vmap(lambda v: v, out_axes=5)(x)
        return x + 1.0

    assert qb.jit(f)(X).tolist() == [2.0, 3.0, 4.0]


def test_endless_recursion_ends_in_a_recursion_error():
    f = qb.jit(lambda x: f(x))
    with pytest.raises(RecursionError):
        f(X)
    assert qb.jit(lambda x: x + 1.0)(X).tolist() == [2.0, 3.0, 4.0]


@pytest.mark.parametrize("name", TRANSFORMS)
def test_an_escaped_tracer_as_an_argument_is_explained(name):
    kept = []
    qb.jit(lambda x: (kept.append(x + 1.0), x)[1])(X)
    with pytest.raises(qb.TracerError, match=r"test_regressions\.py:\d+.*after its trace has ended"):
        TRANSFORMS[name](lambda x: x if name in ("jit", "vmap", "jvp", "vjp", "jacobian") else qb.sum(x))(kept[0])


# ---- large programs -----------------------------------------------------------------------------


def test_chains_of_many_ops_need_no_recursion():
    def f(x):
        for _ in range(20_000):
            x = qb.sin(x)
        return x

    assert qb.jit(f)(1.0 * X).shape == [3]
    slope, tangent = qb.grad(f)(1.0).item(), qb.jvp(f, (1.0,), (1.0,))[1].item()
    assert slope == pytest.approx(tangent, rel=1e-9)
    assert qb.vmap(qb.grad(f))(X)[0].item() == pytest.approx(slope, rel=1e-9)
    assert len(qb.jit(f).lower(X).as_text().splitlines()) == 20_002


def test_a_value_used_many_times_gathers_every_contribution():
    g = qb.grad(lambda x: sum((x * float(i) for i in range(5_000)), x))
    assert g(1.0).item() == 1 + sum(range(5_000))
    assert qb.grad(lambda x: qb.sum(qb.concat([x] * 2_000, 0)))(X).tolist() == [2_000.0] * 3


def test_repeated_doubling_stays_linear():
    def f(x):
        for _ in range(300):
            x = (x + x) * 0.5
        return x

    assert qb.hessian(f)(1.0).item() == 0.0
    assert qb.grad(f)(1.0).item() == 1.0


def test_xla_is_not_worth_its_time_for_huge_programs():
    def f(x):
        for _ in range(20_000):
            x = qb.cos(x)
        return x

    run = qb.jit(f).lower(X).compile()
    for _ in range(100):
        run(X)
    assert run.engine == "numpy"


# ---- empty arrays and signs of zero -------------------------------------------------------------


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3), (1, 0)])
@pytest.mark.parametrize(
    "f", [lambda x: -x, lambda x: x + x, lambda x: qb.stack([x, x]), lambda x: qb.concat([x, x], 0), qb.std, qb.diff]
)
def test_derivatives_of_empty_arrays_are_empty(f, shape):
    x = qb.zeros(shape)
    total = lambda v: qb.sum(f(v) * 1.0)  # noqa: E731
    for derivative in (qb.grad(total), qb.jit(qb.grad(total)), lambda v: qb.jvp(qb.grad(total), (v,), (v,))[1]):
        assert tuple(derivative(x).shape) == shape
    assert qb.vmap(qb.grad(total))(qb.zeros((2, *shape))).shape == [2, *shape]
    assert qb.vmap(total)(qb.zeros((0, *shape))).shape == [0]


@pytest.mark.parametrize("f", [qb.sum, qb.mean])
def test_the_sum_of_one_zero_keeps_its_sign_however_it_runs(f):
    z = qb.array([-0.0])
    for run in (f, qb.jit(f), lambda x: qb.vmap(f)(x[None])[0], lambda x: f(x[None], axis=1)[0]):
        assert math.copysign(1.0, run(z).item()) == -1.0


@pytest.mark.parametrize(("x", "want"), [(-0.0, 0.0), (-math.inf, math.inf), (-1.0, math.nan), (4.0, 2.0)])
def test_a_power_of_one_half_is_no_square_root(x, want):
    for exponent in (0.5, qb.array(0.5), qb.array([0.5, 0.5])):
        for run in (lambda x: x**exponent, qb.jit(lambda x: x**exponent)):  # noqa: B023
            np.testing.assert_array_equal(run(qb.array([x, x])).numpy(), [want, want])
            assert math.isnan(want) or not np.signbit(run(qb.array([x, x])).numpy()).any()


@pytest.mark.parametrize("f", [qb.norm, qb.std, lambda v: qb.hypot(v[0], v[1])])
def test_second_derivatives_at_the_origin_are_zero_in_every_combination_of_modes(f):
    z = qb.array([0.0, 0.0])

    def along(g):
        return lambda x: qb.jvp(g, (x,), (qb.array([1.0, -2.0]),))[1]

    assert along(along(f))(z).item() == 0.0
    for g in (along(qb.grad(f)), qb.grad(along(f)), lambda x: qb.hessian(f)(x)[0]):
        assert g(z).tolist() == [0.0, 0.0]


# ---- products -----------------------------------------------------------------------------------


def test_a_letter_twice_in_one_term_needs_equal_extents():
    with pytest.raises(ValueError, match="'b' has the extents 4 and 1 in one operand"):
        qb.einsum("bb->b", qb.ones((4, 1)))
    assert qb.einsum("ab,bc->ac", qb.ones((4, 1)), qb.ones((3, 2))).tolist() == [[3.0, 3.0]] * 4


# ---- derivatives where a function jumps -----------------------------------------------------------


@pytest.mark.parametrize("name", ["numpy", "xla"])
def test_mod_has_no_slope_where_it_jumps_and_zeros_take_the_divisors_sign(engine, name):
    engine(name)
    x, y = qb.array([4.0, -4.0, 4.0, -4.0, 5.0]), qb.array([2.0, 2.0, -2.0, -2.0, 3.0])
    gx, gy = qb.grad(lambda x, y: qb.sum(qb.mod(x, y)), (0, 1))(x, y)
    assert gx.tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert gy.tolist() == [0.0, 0.0, 0.0, 0.0, -1.0]
    r = qb.jit(qb.mod)(x, y).numpy()
    np.testing.assert_array_equal(np.signbit(r), [False, False, True, True, False])
