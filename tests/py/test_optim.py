"""Adam, AdamW, SGD, clipping and schedules against their formulas, optax, and calculus."""

from __future__ import annotations

import math

import numpy as np
import pytest

import quabla as qb
from quabla import errors, optim

RNG = np.random.default_rng(5)
SHAPES = {"a": (3,), "b": {"c": (2, 4), "d": ()}}
F32, F64 = qb.float32, qb.float64


def tree_of(make, shapes=SHAPES):
    if isinstance(shapes, dict):
        return {k: tree_of(make, v) for k, v in shapes.items()}
    return make(shapes)


def drawn(dtype=F64):
    return tree_of(lambda s: qb.array(RNG.normal(size=s)).astype(dtype))


def numbers(tree):
    return [np.asarray(x.numpy(), np.float64) for x in qb.tree.leaves(tree)]


def adam(p, grads, rate, *, decay=0.0, b1=0.9, b2=0.999, eps=1e-8):
    """Kingma and Ba, algorithm 1, on lists of arrays; with decay that of Loshchilov and Hutter."""
    m = [np.zeros_like(x) for x in p]
    v = [np.zeros_like(x) for x in p]
    for t, g in enumerate(grads, 1):
        m = [b1 * a + (1 - b1) * x for a, x in zip(m, g, strict=True)]
        v = [b2 * a + (1 - b2) * x**2 for a, x in zip(v, g, strict=True)]
        p = [
            x - rate(t - 1) * (a / (1 - b1**t) / (np.sqrt(b / (1 - b2**t)) + eps) + decay * x)
            for x, a, b in zip(p, m, v, strict=True)
        ]
    return p


def run(optimizer, params, grads):
    state = optimizer.init(params)
    for g in grads:
        params, state = optimizer.update(params, g, state)
    return params, state


# ---- updates ------------------------------------------------------------------------------------


def test_adam_is_its_algorithm():
    params, grads = drawn(), [drawn() for _ in range(20)]
    got, state = run(optim.Adam(0.05, 0.8, 0.95, 1e-3), params, grads)
    wanted = adam(numbers(params), map(numbers, grads), lambda step: 0.05, b1=0.8, b2=0.95, eps=1e-3)
    assert state["step"] == 20
    for x, y in zip(numbers(got), wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13)


def test_adamw_decays_every_leaf():
    params, grads = drawn(), [drawn() for _ in range(20)]
    rate = optim.cosine_decay(0.1, 15, 0.1)
    got, _ = run(optim.AdamW(rate, weight_decay=0.3), params, grads)
    for x, y in zip(numbers(got), adam(numbers(params), map(numbers, grads), rate, decay=0.3), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13)


def test_sgd_has_no_state_with_a_constant_rate():
    params, g = drawn(), drawn()
    got, state = optim.SGD(0.5).update(params, g, optim.SGD(0.5).init(params))
    assert state is None
    for x, p, d in zip(numbers(got), numbers(params), numbers(g), strict=True):
        np.testing.assert_array_equal(x, p - 0.5 * d)


def test_sgd_counts_with_a_schedule():
    sgd = optim.SGD(optim.piecewise_constant([1], [0.5, 0.25]))
    params, state = run(sgd, qb.array([1.0]), [qb.array([1.0])] * 3)
    assert state == {"step": 3}
    assert params.tolist() == [0.0]


@pytest.mark.parametrize(("params", "grads"), [(F32, F32), (F32, F64), (F64, F32)])
def test_arithmetic_is_float64_and_parameters_keep_their_dtype(params, grads):
    start, steps = drawn(params), [drawn(grads) for _ in range(3)]
    got, state = run(optim.Adam(0.1), start, steps)
    assert {x.dtype for x in qb.tree.leaves(got)} == {params}
    assert {x.dtype for x in qb.tree.leaves([state["m"], state["v"]])} == {F64}
    p = [x.astype(params.numpy) for x in adam(numbers(start), [numbers(steps[0])], lambda step: 0.1)]
    one, _ = run(optim.Adam(0.1), start, steps[:1])
    for x, y in zip(numbers(one), p, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("size", [3, 20_000])
def test_large_and_small_leaves_are_updated_alike(size):
    x, g = RNG.normal(size=size), RNG.normal(size=size)
    alone, _ = run(optim.Adam(0.1), qb.array(x), [qb.array(g)])
    beside, state = run(optim.Adam(0.1), [qb.array(x), qb.array([1.0])], [[qb.array(g), qb.array([2.0])]])
    np.testing.assert_array_equal(alone.numpy(), beside[0].numpy())
    assert [m.shape for m in state["m"]] == [[size], [1]]


def test_update_leaves_its_arguments_alone():
    params, g = drawn(), drawn()
    state = optim.Adam().init(params)
    before = [x.numpy().copy() for x in qb.tree.leaves([params, g, state["m"], state["v"]])]
    optim.Adam().update(params, g, state)
    after = [x.numpy() for x in qb.tree.leaves([params, g, state["m"], state["v"]])]
    assert state["step"] == 0
    for x, y in zip(before, after, strict=True):
        np.testing.assert_array_equal(x, y)


def test_nan_gradients_show():
    adam_ = optim.Adam(0.1)
    params, state = adam_.update(qb.array([1.0, 1.0]), qb.array([math.nan, 1.0]), adam_.init(qb.zeros(2)))
    assert np.isnan(params.numpy()).tolist() == [True, False]
    assert np.isnan(state["m"].numpy()).tolist() == [True, False]


def test_empty_trees():
    adam_ = optim.Adam()
    assert adam_.update({}, {}, adam_.init({})) == ({}, {"step": 1, "m": {}, "v": {}})
    assert optim.SGD().update([], [], None) == ([], None)
    assert optim.clip_by_global_norm({}, 1.0) == ({}, 0.0)


def test_step_keeps_the_state():
    stateful, pure = optim.Adam(0.1), optim.Adam(0.1)
    params, grads = drawn(), [drawn() for _ in range(3)]
    wanted, _ = run(pure, params, grads)
    got = params
    for g in grads:
        got = stateful.step(got, g)
    for x, y in zip(numbers(got), numbers(wanted), strict=True):
        np.testing.assert_array_equal(x, y)


def test_other_spellings_take_precedence():
    adam_ = optim.Adam(0.1, 0.5, 0.5, 0.5, beta1=0.8, beta2=0.95, epsilon=1e-3)
    assert (adam_.b1, adam_.b2, adam_.eps) == (0.8, 0.95, 1e-3)
    assert repr(adam_) == "Adam(learning_rate=0.1, b1=0.8, b2=0.95, eps=0.001, clip_norm=None)"


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD"])
def test_like_optax(name):
    optax = pytest.importorskip("optax")
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        theirs = {"Adam": optax.adam, "AdamW": lambda r: optax.adamw(r, weight_decay=1e-4), "SGD": optax.sgd}[name](
            optax.exponential_decay(0.1, 3, 0.5)
        )
        params, grads = drawn(), [drawn() for _ in range(10)]
        chain = optax.chain(optax.clip_by_global_norm(2.0), theirs)
        p = qb.tree.map(lambda x: jax.numpy.asarray(x.numpy()), params)
        state = chain.init(p)
        for g in grads:
            u, state = chain.update(qb.tree.map(lambda x: jax.numpy.asarray(x.numpy()), g), state, p)
            p = optax.apply_updates(p, u)
        p = [np.asarray(x) for x in qb.tree.leaves(p)]
    got, _ = run(getattr(optim, name)(optim.exponential_decay(0.1, 3, 0.5), clip_norm=2.0), params, grads)
    for x, y in zip(numbers(got), p, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-8)  # optax computes schedules in float32


# ---- traced updates -----------------------------------------------------------------------------

OPTIMIZERS = {
    "adam": optim.Adam(optim.cosine_decay(0.1, 10), clip_norm=1.0),
    "adamw": optim.AdamW(0.1, weight_decay=0.1),
    "sgd": optim.SGD(optim.warmup_cosine_decay(0.0, 0.1, 2, 6)),
}
BOWL = qb.grad(lambda p: qb.sum(qb.array([1.0, 2.0, 3.0]) * p**2))


def traced_state(optimizer, params):
    state = optimizer.init(params)
    return {**state, "step": qb.array(0.0)}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_jit_and_loops_compute_what_updates_do(name):
    o = OPTIMIZERS[name]
    x = qb.array([1.0, -2.0, 0.5])
    wanted = x
    state = o.init(x)
    for _ in range(6):
        wanted, state = o.update(wanted, BOWL(wanted), state)

    step = qb.jit(lambda p, s: o.update(p, BOWL(p), s))
    got, state = x, traced_state(o, x)
    for _ in range(6):
        got, state = step(got, state)
    np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-13)
    assert state["step"].item() == 6.0

    def scanned(p):
        return qb.scan(lambda c, i: (o.update(c[0], BOWL(c[0]), c[1]), i), (p, o.init(p)), length=6)[0][0]

    def looped(p):
        return qb.fori_loop(0, 6, lambda i, c: o.update(c[0], BOWL(c[0]), c[1]), (p, traced_state(o, p)))[0]

    for f in (scanned, looped):
        np.testing.assert_allclose(qb.jit(f)(x).numpy(), wanted.numpy(), rtol=1e-13)


def test_the_counter_of_a_float32_loop_stays_float32():
    o = optim.Adam(optim.cosine_decay(0.1, 10))
    start = qb.array([1.0, 2.0], dtype=F32)
    state = {**o.init(start), "step": qb.array(0.0, dtype=F32)}
    out = qb.jit(lambda: qb.fori_loop(0, 3, lambda i, c: o.update(c[0], c[0], c[1]), (start, state)))()
    assert out[0].dtype is F32
    assert out[1]["step"].dtype is F32


def test_lanes_are_updated_on_their_own():
    o = optim.Adam(0.1, clip_norm=1.0)
    xs = qb.array([[1.0, 2.0, 3.0], [-10.0, 0.1, 5.0]])

    def two(p):
        s = o.init(p)
        for _ in range(2):
            p, s = o.update(p, BOWL(p), s)
        return p

    for row, x in zip(qb.vmap(two)(xs).numpy(), xs.numpy(), strict=True):
        np.testing.assert_allclose(row, two(qb.array(x)).numpy(), rtol=1e-14)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_gradient_through_updates(name):
    o = OPTIMIZERS[name]

    def after(p):
        s = o.init(p)
        for _ in range(3):
            p, s = o.update(p, BOWL(p), s)
        return qb.sum(p**3)

    x = qb.array([1.0, -2.0, 0.5])
    h = 1e-6
    ends = [(after(x + h * qb.array(e)), after(x - h * qb.array(e))) for e in np.eye(3)]
    wanted = [(a.item() - b.item()) / (2 * h) for a, b in ends]
    np.testing.assert_allclose(qb.grad(after)(x).numpy(), wanted, rtol=1e-5)


def test_derivative_with_respect_to_the_learning_rate():
    x, g = qb.array([1.0, 2.0]), qb.array([3.0, 4.0])
    assert qb.grad(lambda r: qb.sum(optim.SGD(r).update(x, g, None)[0]))(0.1).item() == -7.0


def test_derivatives_at_zero_moments():
    """d/dg of p - r (g / c) / (|g| / c + eps) at 0 is -r / eps; the second derivative follows the convention for sqrt."""
    o = optim.Adam(0.1, eps=1e-3)
    x = qb.array([1.0, 2.0])

    def after(g):
        return qb.sum(o.update(x, g, o.init(x))[0])

    np.testing.assert_allclose(qb.grad(after)(qb.zeros(2)).numpy(), [-100.0, -100.0], rtol=1e-12)
    assert np.isfinite(qb.hessian(after)(qb.zeros(2)).numpy()).all()
    np.testing.assert_array_equal(
        qb.grad(lambda g: qb.sum(optim.SGD(1.0, clip_norm=1.0).update(x, g, None)[0]))(qb.zeros(2)).numpy(), [-1, -1]
    )


# ---- errors -------------------------------------------------------------------------------------

X = qb.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: optim.Adam(0.0), "learning_rate must be positive"),
        (lambda: optim.Adam(math.nan), "learning_rate"),
        (lambda: optim.SGD(math.inf), "learning_rate"),
        (lambda: optim.Adam(b1=1.0), "b1"),
        (lambda: optim.Adam(b2=-0.1), "b2"),
        (lambda: optim.Adam(eps=0.0), "eps"),
        (lambda: optim.Adam(clip_norm=0.0), "clip_norm"),
        (lambda: optim.AdamW(weight_decay=-1.0), "weight_decay"),
        (lambda: optim.AdamW(weight_decay=math.inf), "weight_decay"),
        (lambda: optim.SGD(lambda n: -1.0).update(X, X, {"step": 0}), "gives the learning rate -1.0 at step 0"),
        (lambda: optim.SGD(lambda n: math.nan).update(X, X, {"step": 4}), "at step 4"),
        (lambda: optim.SGD(optim.constant(-1.0)).update(X, X, {"step": 0}), "-1.0"),
        (lambda: optim.SGD(0.1).update(X, X, {"step": 0}), "must be None"),
        (lambda: optim.SGD(optim.constant(0.1)).update(X, X, None), "as init makes it"),
        (lambda: optim.Adam().update(X, X, {"step": 0, "m": X}), "as init makes it"),
        (lambda: optim.Adam().update(X, X, {"step": -1, "m": X, "v": X}), "number of updates"),
        (lambda: optim.Adam().update(X, X, {"step": math.nan, "m": X, "v": X}), "number of updates"),
        (lambda: optim.Adam().update(X, X, {"step": 10**400, "m": X, "v": X}), "less than 2"),
        (lambda: optim.Adam(10**400), "range of float64"),
        (lambda: optim.constant(0.1)(10**400), "range of float64"),
        (lambda: optim.Adam().update(X, X, {"step": 0, "m": X, "v": X[:2]}), "state's v"),
        (lambda: optim.SGD(0.1).update({"w": X}, {"w": X[:2]}, None), "gradients at w must be like the parameter"),
        (lambda: optim.SGD(0.1).update({"w": X}, [X], None), "structure"),
        (lambda: optim.SGD(0.1).update({"w": X}, {"w": None}, None), "structure"),
        (lambda: optim.SGD(0.1).update(X, qb.array([True, False, True]), None), "must be like"),
        (lambda: optim.clip_by_global_norm(X, -1.0), "max_norm"),
        (lambda: optim.clip_by_global_norm(X, math.inf), "max_norm"),
        (lambda: optim.exponential_decay(1.0, 0, 0.5), "transition_steps"),
        (lambda: optim.exponential_decay(1.0, 10, 0.0), "decay_rate"),
        (lambda: optim.cosine_decay(1.0, 0), "decay_steps"),
        (lambda: optim.warmup_cosine_decay(0.0, 1.0, 10, 10), "must exceed"),
        (lambda: optim.warmup_cosine_decay(0.0, 1.0, -1, 10), "must not be negative"),
        (lambda: optim.piecewise_constant([4, 2], [1.0, 2.0, 3.0]), "increase"),
        (lambda: optim.piecewise_constant([2, 2], [1.0, 2.0, 3.0]), "increase"),
        (lambda: optim.piecewise_constant([2], [1.0]), "1 values for 1 boundaries"),
    ],
)
def test_values_that_are_wrong(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(
    "params", [{"w": qb.array([True])}, {"w": np.ones(2)}, {"w": 1.0}, {"w": "x"}, {"w": X, "b": object()}]
)
@pytest.mark.parametrize("optimizer", [optim.Adam(), optim.SGD()])
def test_parameters_are_float_arrays(params, optimizer):
    with pytest.raises(TypeError, match="parameters must be float arrays"):
        optimizer.init(params)
    with pytest.raises(TypeError, match="parameters must be float arrays"):
        optimizer.update(params, params, None)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (
            {"w": [np.ones((2, 3))]},
            r"a NumPy array of shape \(2, 3\) and dtype float64 at w/0 .*with quabla\.array\(x\)",
        ),
        ([1.0], r"1\.0 of type float at 0 .*with quabla\.array\(1\.0\)"),
        (2, r"2 of type int .*with quabla\.array\(2\.0\)"),
        (qb.array([1, 2], dtype=qb.int64), r"tensor<2xi64> .*x\.astype\(quabla\.float64\)"),
    ],
)
def test_messages_say_how_to_make_parameters(params, words):
    for call in (lambda: optim.Adam().init(params), lambda: optim.SGD().update(params, params, None)):
        with pytest.raises(TypeError, match=words):
            call()


def test_numbers_are_numbers():
    for call in (
        lambda: optim.Adam("fast"),
        lambda: optim.Adam(b1=None),
        lambda: optim.cosine_decay("1", 2),
        lambda: optim.AdamW(weight_decay=True),
        lambda: optim.constant(0.1)([1, 2]),
        lambda: optim.cosine_decay(1.0, 2)("1"),
    ):
        with pytest.raises(TypeError, match="must be a number"):
            call()


# ---- clipping -----------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [None, (20_000,), (20_000, 3), (3, 20_000, 10_000, 4)])
def test_clipping_scales_to_the_norm(sizes):
    grads = drawn() if sizes is None else [qb.array(RNG.normal(size=n)) for n in sizes]
    norm = math.sqrt(sum(float((g**2).sum()) for g in numbers(grads)))
    clipped, found = optim.clip_by_global_norm(grads, 0.5)
    assert found == pytest.approx(norm, rel=1e-13)
    for x, g in zip(numbers(clipped), numbers(grads), strict=True):
        np.testing.assert_allclose(x, g * (0.5 / norm), rtol=1e-13)
    same, _ = optim.clip_by_global_norm(grads, 2 * norm)
    for x, g in zip(numbers(same), numbers(grads), strict=True):
        np.testing.assert_array_equal(x, g)


@pytest.mark.parametrize("engine", ["eager", "numpy", "xla"])
@pytest.mark.parametrize(
    ("grads", "clipped", "norm"),
    [
        ([3e300, 4e300], [0.6, 0.8], 5e300),
        ([0.0, 0.0], [0.0, 0.0], 0.0),
        ([math.inf, 1.0], [math.nan, math.nan], math.inf),
        ([math.nan, 1.0], [math.nan, math.nan], math.nan),
        ([3e-200, 4e-200], [3e-200, 4e-200], 5e-200),
    ],
)
def test_clipping_at_the_ends_of_the_range(monkeypatch, engine, grads, clipped, norm):
    f = lambda g: optim.clip_by_global_norm(g, 1.0)  # noqa: E731
    if engine != "eager":
        monkeypatch.setattr(qb.config, "cpu_engine", engine)
        f = qb.jit(f)
    got, found = f(qb.array(grads))
    np.testing.assert_allclose(got.numpy(), clipped, rtol=1e-14)
    np.testing.assert_allclose(float(found), norm, rtol=1e-14)


def test_clipping_keeps_dtypes_and_does_not_overflow_float32():
    got, norm = optim.clip_by_global_norm([qb.array([3e38, 3e38], dtype=F32), qb.array([0.0])], 1.0)
    assert [g.dtype for g in got] == [F32, F64]
    np.testing.assert_allclose(got[0].numpy(), np.float32([math.sqrt(0.5)] * 2), rtol=1e-7)
    assert norm == pytest.approx(math.hypot(*np.float32([3e38, 3e38]).astype(float)))


# ---- schedules ----------------------------------------------------------------------------------

SCHEDULES = {
    "constant": ((0.3,), lambda n: 0.3),
    "exponential_decay": ((1.0, 10, 0.5), lambda n: 0.5 ** (n / 10)),
    "exponential_decay later": (
        (2.0, 10, 0.5, 7, True, 0.3),
        lambda n: max(2.0 * 0.5 ** math.floor(max(n - 7, 0) / 10), 0.3),
    ),
    "exponential_decay growing": (
        (1.0, 10, 1.5, 0, False, 2.0),
        lambda n: min(1.5 ** (n / 10), 2.0),
    ),
    "cosine_decay": (
        (2.0, 20, 0.1),
        lambda n: 2.0 * (0.9 * 0.5 * (1 + math.cos(math.pi * min(n, 20) / 20)) + 0.1),
    ),
    "warmup_cosine_decay": (
        (0.1, 1.0, 5, 25, 0.01),
        lambda n: 0.1 + 0.9 * n / 5 if n < 5 else 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(n - 5, 20) / 20)),
    ),
    "warmup_cosine_decay at once": (
        (0.1, 1.0, 0, 20),
        lambda n: 0.5 * (1 + math.cos(math.pi * min(n, 20) / 20)),
    ),
    "piecewise_constant": (([3, 20], [1.0, 0.5, 0.25]), lambda n: 1.0 if n < 3 else 0.5 if n < 20 else 0.25),
}
STEPS = (0, 1, 3, 4, 5, 7, 8, 17, 19, 20, 24, 25, 26, 1000)


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name):
    args, formula = SCHEDULES[name]
    schedule = getattr(optim, name.split()[0])(*args)
    compiled = qb.jit(lambda n: schedule(n) * qb.ones(()))
    for n in STEPS:
        assert type(schedule(n)) is float
        assert schedule(n) == pytest.approx(formula(n), rel=1e-14, abs=1e-16)
        assert schedule(np.int64(n)) == schedule(n)
        assert compiled(qb.array(float(n))).item() == pytest.approx(formula(n), rel=1e-14, abs=1e-16)


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_of_arrays(name):
    args, formula = SCHEDULES[name]
    schedule = getattr(optim, name.split()[0])(*args)
    wanted = np.array([formula(n) for n in STEPS])
    ints = np.array(STEPS)
    for steps in (ints, ints.astype(np.float32), qb.array(ints, dtype=qb.int64), qb.array(ints)[:]):
        got = schedule(steps)
        assert (got.dtype, tuple(got.shape)) == (F64, wanted.shape)
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(schedule(ints.reshape(2, 7)).numpy(), wanted.reshape(2, 7), rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(qb.jit(schedule)(ints).numpy(), wanted, rtol=1e-14, atol=1e-16)
    assert tuple(schedule(np.array(3)).shape) == ()
    assert tuple(schedule(np.zeros((0, 2))).shape) == (0, 2)


def test_schedules_like_optax():
    optax = pytest.importorskip("optax")
    jax = pytest.importorskip("jax")
    pairs = {
        "exponential_decay later": optax.exponential_decay(2.0, 10, 0.5, 7, True, 0.3),
        "cosine_decay": optax.cosine_decay_schedule(2.0, 20, 0.1),
        "warmup_cosine_decay": optax.warmup_cosine_decay_schedule(0.1, 1.0, 5, 25, 0.01),
        "piecewise_constant": optax.piecewise_constant_schedule(1.0, {3: 0.5, 20: 0.5}),
    }
    with jax.enable_x64(True):
        for name, theirs in pairs.items():
            args, _ = SCHEDULES[name]
            ours = getattr(optim, name.split()[0])(*args)
            for n in STEPS:
                assert ours(n) == pytest.approx(float(theirs(n)), rel=1e-6, abs=1e-9), (name, n)


def test_growth_beyond_the_range_is_an_error_when_used():
    schedule = optim.exponential_decay(1.0, 1, 10.0)
    assert schedule(1000) == math.inf
    with pytest.raises(ValueError, match="inf at step 1000"):
        optim.SGD(schedule).update(X, X, {"step": 1000})


def test_a_traced_parameter_outside_its_trace_is_an_error():
    kept = []
    qb.jit(lambda x: kept.append(x) or x * 2.0)(X)
    with pytest.raises(errors.TracerError):
        optim.SGD(0.1).update(kept[0], X, None)
