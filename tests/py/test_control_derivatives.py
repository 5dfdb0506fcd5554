"""Derivatives of control flow of every order, batching, and what reverse mode keeps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from control_programs import POINT, PROGRAMS, REVERSIBLE, decay

import quabla as qb

X = qb.array(POINT)
T = np.array([0.3, -1.0, 0.5, 0.7])


def forward(f):
    return lambda x: qb.jvp(f, (x,), (qb.ones(x.shape),))[1]


MODES = {"forward": forward, "reverse": qb.grad}
ONE = qb.array(1.0)


# ---- the equation y' = -y**2 ------------------------------------------------------------------------


@pytest.mark.parametrize("run", [lambda f: f, qb.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("cpu", ["numpy", "xla"])
def test_second_derivatives_agree_in_every_combination_of_modes(run, cpu, engine):
    engine(cpu)
    assert run(decay)(ONE).item() == pytest.approx(0.5, abs=1e-11)
    first = [run(d(decay))(ONE).item() for d in MODES.values()]
    second = [run(d(e(decay)))(ONE).item() for d, e in itertools.product(MODES.values(), repeat=2)]
    np.testing.assert_allclose(first, 0.25, atol=1e-11)
    np.testing.assert_allclose(second, -0.25, atol=1e-11)
    np.testing.assert_allclose(first, first[0], rtol=1e-12)
    np.testing.assert_allclose(second, second[0], rtol=1e-12)


@pytest.mark.parametrize("cpu", ["numpy", "xla"])
def test_second_derivatives_of_a_batch(cpu, engine):
    engine(cpu)
    ys = qb.array([0.5, 1.0, 2.0])
    alone = np.array([qb.grad(qb.grad(decay))(y).item() for y in ys])
    np.testing.assert_allclose(alone, -2.0 / (1.0 + ys.numpy()) ** 3, rtol=1e-8)
    for d, e in itertools.product(MODES.values(), repeat=2):
        np.testing.assert_allclose(qb.vmap(d(e(decay)))(ys).numpy(), alone, rtol=1e-12)
        np.testing.assert_allclose(qb.jit(qb.vmap(d(e(decay))))(ys).numpy(), alone, rtol=1e-12)


def test_third_derivatives_agree_in_every_combination_of_modes():
    ys = qb.array([1.0, 3.0])
    third = []
    for a, b, c in itertools.product(MODES.values(), repeat=3):
        f = a(b(c(decay)))
        third.append([f(ONE).item(), *qb.vmap(f)(ys).tolist()])
    np.testing.assert_allclose(third[0], [0.375, 0.375, 6 / 256], rtol=1e-7)
    np.testing.assert_allclose(third, [third[0]] * 8, rtol=1e-12)


@pytest.mark.parametrize("policy", ["full", "sqrt", 1, 7, 10, 199, 200, 500])
def test_policies_agree_to_rounding(policy):
    qb.config.loop_checkpoint = "full"
    want = [f(ONE).item() for f in (qb.grad(decay), qb.grad(qb.grad(decay)), forward(qb.grad(decay)))]
    qb.config.loop_checkpoint = policy
    again = lambda x: decay(x)  # noqa: E731
    got = [f(ONE).item() for f in (qb.grad(again), qb.grad(qb.grad(again)), forward(qb.grad(again)))]
    np.testing.assert_allclose(got, want, rtol=1e-13)


@pytest.mark.parametrize("policy", ["sqrt", 1, 2, 3, 6])
@pytest.mark.parametrize("cpu", ["numpy", "xla"])
def test_blocks_collect_rows(cpu, policy, engine):
    engine(cpu)

    @qb.custom_jvp
    def sine(x):
        return qb.sin(x)

    sine.defjvp(lambda x, t: (sine(*x), qb.cos(*x) * t[0]))

    def f(x):
        def body(c, r):
            a, b = c
            return (sine(a * r) + b, b * 1.01 + a * a), {"a": a * r, "b": qb.stack([sine(b), a])}

        (a, b), rows = qb.scan(body, (x[0], x[1]), qb.concat([x, 1.1 * x, 0.9 * x], 0)[:11], reverse=True)
        return a * b + qb.sum(rows["a"] ** 2) + qb.sum(sine(rows["b"] * x[2]))

    along = lambda f: lambda x: qb.jvp(f, (x,), (qb.array(T),))[1]  # noqa: E731
    transforms = [
        qb.grad,
        lambda f: along(qb.grad(f)),
        lambda f: qb.grad(along(f)),
        lambda f: qb.grad(lambda x: qb.sum(qb.grad(f)(x) * qb.array(T))),
    ]
    for transform in transforms:
        qb.config.loop_checkpoint = "full"
        want = along(f) if transform is qb.grad else along(qb.grad(f))
        qb.config.loop_checkpoint = policy
        got = qb.jit(transform(lambda x: f(x)))(X).numpy()
        if transform is qb.grad:
            assert float(got @ T) == pytest.approx(want(X).item(), rel=1e-12)
        else:
            np.testing.assert_allclose(got, want(X).numpy(), rtol=1e-11)


def test_the_tape_has_the_rows_that_are_read_in_the_place_of_a_long_carry():
    def f(x):
        x = qb.concat([x] * 10, 0)
        return qb.sum(qb.fori_loop(0, 39, lambda i, u: u.at[i + 1].set(qb.sin(u[i]) * x[i]), 0.1 * x))

    text = qb.jit(qb.grad(f)).lower(X).program.lower_text()
    assert "tensor<39xf64>" in text
    assert "tensor<39x40xf64>" not in text
    along = qb.jvp(f, (X,), (qb.array(T),))[1].item()
    assert float(qb.grad(f)(X).numpy() @ T) == pytest.approx(along, rel=1e-12)


def test_the_backward_loop_carries_nothing_for_what_is_only_collected():
    def f(x):
        return qb.sum(qb.scan(lambda c, i: (qb.sin(c), c * c), x, length=50)[1])

    text = qb.jit(qb.grad(f)).lower(X).program.lower_text()
    backward = text[text.rindex("fori") :]
    assert " take(" in backward
    assert " put(" not in backward


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5, 16, 17, 23])
@pytest.mark.parametrize("policy", ["sqrt", 2, 3, 4])
def test_blocks_of_loops_of_every_length(steps, policy):
    def f(x):
        def body(i, c):
            a, b, flag = c
            return qb.where(flag, qb.sin(a) * x[1] + b[i - 2], a), b * 1.01 + a, qb.logical_not(flag)

        a, b, _ = qb.fori_loop(2, 2 + steps, body, (x[0], qb.concat([x] * 6, 0), True))
        return a + qb.sum(b * b)

    qb.config.loop_checkpoint = "full"
    want = qb.value_and_grad(f)(X), qb.vmap(qb.grad(f))(qb.stack([X, X * 1.1]))
    qb.config.loop_checkpoint = policy
    g = lambda x: f(x)  # noqa: E731
    got = qb.value_and_grad(g)(X), qb.vmap(qb.grad(g))(qb.stack([X, X * 1.1]))
    for a, b in zip(qb.tree.leaves(got), qb.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-13)


def test_long_loops_keep_little_by_default():
    shapes = []

    def f(x):
        return qb.sum(qb.fori_loop(0, 10_000, lambda i, c: c + 1e-4 * qb.sin(c), x))

    for policy in ("full", "auto", "sqrt"):
        qb.config.loop_checkpoint = policy
        text = qb.jit(qb.grad(lambda x: f(x))).lower(qb.zeros((1000,))).program.lower_text()
        shapes.append("tensor<10000x1000xf64>" in text)
    assert shapes == [True, False, False]


def test_the_tape_has_only_what_the_backward_body_reads():
    def f(x):
        a, b = qb.fori_loop(0, 50, lambda i, c: (c[0] * 1.01 + c[1], qb.sin(c[1])), (x, x[0]))
        return qb.sum(a) * b

    text = qb.jit(qb.grad(f)).lower(X).program.lower_text()
    assert "tensor<50xf64>" in text
    assert "tensor<50x4xf64>" not in text


# ---- every program ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_tangents_agree_with_central_differences(name):
    f = PROGRAMS[name]
    h = 1e-5
    value, tangent = qb.jvp(f, (X,), (qb.array(T),))
    assert value.item() == f(X).item()
    difference = (f(qb.array(POINT + h * T)).item() - f(qb.array(POINT - h * T)).item()) / (2 * h)
    assert tangent.item() == pytest.approx(difference, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("name", REVERSIBLE)
def test_modes_agree(name):
    f = REVERSIBLE[name]
    along = lambda x: qb.jvp(f, (x,), (qb.array(T),))[1]  # noqa: E731
    g = qb.grad(f)(X)
    assert float(g.numpy() @ T) == pytest.approx(along(X).item(), rel=1e-12, abs=1e-12)
    np.testing.assert_array_equal(qb.jit(qb.grad(f))(X).numpy(), g.numpy())
    second = [
        qb.jvp(qb.grad(f), (X,), (qb.array(T),))[1],
        qb.grad(along)(X),
        qb.grad(lambda x: qb.sum(qb.grad(f)(x) * qb.array(T)))(X),
        qb.matmul(qb.hessian(f)(X), qb.array(T)),
    ]
    for s in second[1:]:
        np.testing.assert_allclose(s.numpy(), second[0].numpy(), rtol=1e-11, atol=1e-12)
    twice = qb.jvp(along, (X,), (qb.array(T),))[1]
    assert twice.item() == pytest.approx(float(second[0].numpy() @ T), rel=1e-11, abs=1e-12)


LANES = np.stack([POINT, POINT[::-1] * 1.3, POINT * 0.9, POINT + 0.31])


def mapped_and_looped(f, xs):
    mapped = qb.vmap(f)(xs)
    looped = [f(x) for x in xs]
    for k, m in enumerate(qb.tree.leaves(mapped)):
        rows = np.stack([np.asarray(qb.tree.leaves(r)[k].numpy()) for r in looped])
        np.testing.assert_allclose(m.numpy(), rows, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_batches_agree_with_a_python_loop(name):
    f = PROGRAMS[name]
    mapped_and_looped(f, qb.array(LANES))
    mapped_and_looped(lambda x: qb.jvp(f, (x,), (qb.array(T),)), qb.array(LANES))
    mapped_and_looped(qb.vmap(f), qb.array(LANES.reshape(2, 2, 4)))


@pytest.mark.parametrize("name", REVERSIBLE)
def test_gradients_of_batches_agree_with_a_python_loop(name):
    f = REVERSIBLE[name]
    mapped_and_looped(qb.grad(f), qb.array(LANES))
    mapped_and_looped(lambda x: qb.jvp(qb.grad(f), (x,), (qb.array(T),))[1], qb.array(LANES))
    mapped_and_looped(qb.grad(lambda x: qb.sum(qb.grad(f)(x) ** 2)), qb.array(LANES))
    # The gradient of a batch, instead of a batch of gradients.
    total = qb.grad(lambda xs: qb.sum(qb.vmap(f)(xs)))(qb.array(LANES)).numpy()
    np.testing.assert_allclose(total, qb.vmap(qb.grad(f))(qb.array(LANES)).numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_batches_agree_on_xla(name, engine):
    engine("xla")
    f = PROGRAMS[name]
    g = qb.grad(f) if name in REVERSIBLE else lambda x: qb.jvp(f, (x,), (qb.array(T),))
    mapped_and_looped(lambda x: g(x), qb.array(LANES))


# ---- while loops ------------------------------------------------------------------------------------


@pytest.mark.parametrize("cpu", ["numpy", "xla"])
def test_lanes_that_have_finished_are_left_alone(cpu, engine):
    engine(cpu)

    def f(x, n):
        return qb.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1.0, qb.sin(c[1]) * 1.7, c[0]), (0.0, x, -1.0))

    xs, counts = qb.array([0.3, 0.4, 0.5]), qb.array([4.0, 2.0, 0.0])
    t, y, last = qb.vmap(f)(xs, counts)
    assert t.tolist() == [4.0, 2.0, 0.0]
    assert last.tolist() == [3.0, 1.0, -1.0]
    for k in range(3):
        assert y.numpy()[k] == qb.jit(f)(xs[k], counts[k])[1].item()
    assert y.numpy()[2] == 0.5


def test_nan_of_a_finished_lane_stays_there():
    def f(x, n):
        # Going on after its end a lane would become NaN.
        return qb.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1.0, qb.sqrt(c[1] - 1.0)), (0.0, x))[1]

    xs, counts = qb.array([200.0, 5.0, np.nan, 0.5]), qb.array([3.0, 1.0, 2.0, 0.0])
    y, dy = qb.vmap(lambda x, n: qb.jvp(lambda v: f(v, n), (x,), (1.0,)))(xs, counts)
    for k in (0, 1, 3):
        value, slope = qb.jvp(lambda v, k=k: f(v, counts[k]), (xs[k],), (qb.array(1.0),))
        assert (y.numpy()[k], dy.numpy()[k]) == (value.item(), slope.item())
    assert y.numpy()[3] == 0.5
    assert dy.numpy()[3] == 1.0
    assert np.isnan(y.numpy()[2])


def test_lanes_differ_only_where_the_predicate_or_the_carry_does():
    f = lambda x, n: qb.while_loop(lambda c: c < n, lambda c: c + 1.0, x)  # noqa: E731
    assert qb.vmap(f, (None, 0))(qb.array(0.5), qb.array([2.0, 0.0])).tolist() == [2.5, 0.5]
    assert qb.vmap(f, (0, None))(qb.array([0.5, 3.0]), qb.array(2.0)).tolist() == [2.5, 3.0]
    assert qb.vmap(lambda x: (x, f(qb.array(0.0), qb.array(2.0))))(qb.array([1.0, 2.0]))[1].tolist() == [2.0, 2.0]
    two = qb.vmap(qb.vmap(f, (None, 0)), (0, None))(qb.array([0.5, 3.0]), qb.array([2.0, 0.0]))
    assert two.tolist() == [[2.5, 0.5], [3.0, 3.0]]


def test_reverse_mode_of_while_names_what_to_use_instead():
    f = lambda x: qb.while_loop(lambda c: c < 9.0, lambda c: c * c, x)  # noqa: E731
    x, xs = qb.array(2.0), qb.array([2.0])
    in_loop = qb.grad(lambda x: qb.fori_loop(0, 2, lambda i, c: f(c), x))
    for g, at in ((qb.grad(f), x), (qb.jit(qb.grad(f)), x), (in_loop, x), (qb.vmap(qb.grad(f)), xs)):
        with pytest.raises(ValueError, match=r"while_loop.*test_control_derivatives\.py:\d+.*forward mode.*fori_loop"):
            g(at)
    assert forward(f)(qb.array(2.0)).item() == 32.0
    assert forward(forward(f))(qb.array(2.0)).item() == 48.0


def test_while_loops_without_a_derivative_do_not_stand_in_the_way():
    def f(x):
        n = qb.while_loop(lambda c: c < qb.stop_gradient(x), lambda c: c + qb.floor(x), 0.0)
        return n * x

    assert qb.grad(f)(qb.array(2.5)).item() == 4.0
    assert forward(f)(qb.array(2.5)).item() == 4.0


# ---- choices ----------------------------------------------------------------------------------------


def safe_sqrt(x):
    return qb.cond(x > 0.0, lambda v: qb.sqrt(v) / v, lambda v: qb.exp(v) * 0.0 + 3.0 * v, x)


@pytest.mark.parametrize("cpu", ["numpy", "xla"])
def test_nothing_of_the_other_branch_gets_into_a_lane(cpu, engine):
    """At 0 the branch not taken is NaN and its slope infinite; at 1000 the other one overflows."""
    engine(cpu)
    xs = qb.array([0.0, -1.0, 4.0, 1000.0])
    mapped = [
        qb.vmap(f)(xs).numpy()
        for f in (
            safe_sqrt,
            forward(safe_sqrt),
            qb.grad(safe_sqrt),
            forward(qb.grad(safe_sqrt)),
            qb.grad(forward(safe_sqrt)),
            qb.grad(qb.grad(safe_sqrt)),
            forward(forward(safe_sqrt)),
        )
    ]
    positive = xs.numpy()[2:]
    np.testing.assert_allclose(mapped[0], [0.0, -3.0, *positive**-0.5], rtol=1e-14)
    for d in mapped[1:3]:
        np.testing.assert_allclose(d, [3.0, 3.0, *(-0.5 * positive**-1.5)], rtol=1e-13)
    for d in mapped[3:]:
        np.testing.assert_allclose(d, [0.0, 0.0, *(0.75 * positive**-2.5)], rtol=1e-12, atol=1e-300)


def test_nothing_leaks_through_what_lanes_share():
    """The value that the other branch makes infinite is not mapped itself."""
    f = lambda p, w: qb.cond(p > 0.0, lambda: qb.log(w) * p, lambda: w * 2.0)  # noqa: E731
    ps = qb.array([-1.0, -2.0])
    assert qb.grad(lambda w: qb.sum(qb.vmap(f, (0, None))(ps, w)))(qb.array(0.0)).item() == 4.0
    ps = qb.array([-1.0, 1.0])
    assert qb.grad(lambda w: qb.sum(qb.vmap(f, (0, None))(ps, w)))(qb.array(2.0)).item() == 2.5
    assert qb.vmap(qb.grad(f, 1), (0, None))(ps, qb.array(0.0)).numpy()[0] == 2.0


def test_choices_in_loops_and_loops_in_choices_do_not_leak():
    def f(x):
        def body(i, c):
            return qb.cond(c > 0.0, lambda: c - qb.sqrt(c) * 0.1, lambda: c * 0.5 + i)

        return qb.fori_loop(0, 6, body, x)

    xs = qb.array([0.0, -3.0, 2.0])
    for g in (f, qb.grad(f), forward(f), qb.grad(qb.grad(f))):
        mapped_and_looped(g, xs)
        assert np.isfinite(qb.vmap(g)(xs).numpy()).all()


def test_a_predicate_that_lanes_share_runs_one_branch():
    f = lambda p, x: qb.cond(p > 0.0, lambda: x * 2.0, lambda: qb.zeros(()))  # noqa: E731
    xs = qb.array([1.0, 2.0])
    text = qb.jit(qb.vmap(f, (None, 0))).lower(ONE, xs).program.lower_text()
    assert "cond" in text
    assert "where" not in text
    assert qb.vmap(f, (None, 0))(ONE, xs).tolist() == [2.0, 4.0]
    assert qb.vmap(f, (None, 0))(-ONE, xs).tolist() == [0.0, 0.0]


def test_a_choice_by_lane_inside_one_that_lanes_share():
    f = lambda p, x: qb.cond(p > 0.0, lambda: qb.cond(x > 0.0, lambda: 1.0, lambda: 2.0), lambda: 3.0)  # noqa: E731
    assert qb.vmap(f, (None, 0))(ONE, qb.array([1.0, -1.0])).tolist() == [1.0, 2.0]
    assert qb.vmap(f, (None, 0))(-ONE, qb.array([1.0, -1.0])).tolist() == [3.0, 3.0]


def test_a_lane_does_not_wait_for_a_loop_of_its_other_branch():
    """For the first lane the loop would never end."""

    def f(x):
        def grow():
            return qb.fori_loop(0, 2, lambda i, c: qb.while_loop(lambda d: d < 100.0 * x, lambda d: d * x, c), x)

        return qb.cond(x > 1.5, grow, lambda: x * 3.0)

    xs = qb.array([0.5, 2.0, 3.0])
    mapped_and_looped(f, xs)
    mapped_and_looped(forward(f), xs)
    mapped_and_looped(qb.vmap(f), qb.array([[0.5, 2.0], [0.7, 0.2]]))
    np.testing.assert_array_equal(qb.vmap(f)(xs[:1]).numpy(), [1.5])


# ---- compositions -----------------------------------------------------------------------------------


def test_a_loop_in_jit_in_grad_in_vmap():
    inner = qb.jit(lambda x, w: qb.fori_loop(0, 5, lambda i, c: qb.sin(c * w) + x, x))
    f = lambda x, w: inner(x, w) ** 2  # noqa: E731
    xs = qb.array([0.1, 0.2, 0.3])
    g = qb.jit(qb.vmap(qb.grad(f, (0, 1)), (0, None)))(xs, qb.array(0.7))
    want = [qb.grad(f, (0, 1))(x, qb.array(0.7)) for x in xs]
    for k in range(2):
        np.testing.assert_allclose(g[k].numpy(), [w[k].item() for w in want], rtol=1e-13)


def test_transforms_inside_a_body():
    energy = lambda q: qb.sum(q**4) + qb.prod(q)  # noqa: E731

    def f(q):
        newton = lambda i, c: c - 0.05 * qb.grad(energy)(c) * qb.sum(qb.vmap(qb.sin)(c))  # noqa: E731
        return qb.sum(qb.fori_loop(0, 8, newton, q))

    q = qb.array([0.3, 0.5])
    h = 1e-5
    g = qb.grad(f)(q).numpy()
    for k in range(2):
        e = qb.array(np.eye(2)[k] * h)
        assert g[k] == pytest.approx((f(q + e).item() - f(q - e).item()) / (2 * h), rel=1e-8)


def test_gradients_through_captured_values_of_the_outer_trace():
    def f(w):
        inner = lambda x: qb.fori_loop(0, 4, lambda i, c: qb.sin(c * w) + x * w, x)  # noqa: E731
        return qb.sum(qb.vmap(qb.grad(inner))(qb.array([0.1, 0.6])))

    h = 1e-5
    want = (f(qb.array(0.8 + h)).item() - f(qb.array(0.8 - h)).item()) / (2 * h)
    assert qb.grad(f)(qb.array(0.8)).item() == pytest.approx(want, rel=1e-8)
    assert forward(f)(qb.array(0.8)).item() == pytest.approx(want, rel=1e-8)


def test_rows_read_in_a_loop_cost_time_for_rows():
    """The gradient of a captured array is added row by row, in place."""
    f = lambda x: qb.fori_loop(0, 2000, lambda i, c: c + x[i] * x[i], 0.0)  # noqa: E731
    x = qb.array(np.arange(2000.0))
    np.testing.assert_array_equal(qb.grad(f)(x).numpy(), 2.0 * np.arange(2000.0))
    text = qb.jit(qb.grad(f)).lower(x).program.lower_text()
    assert "add_at" in text
    backward = text[text.rindex("fori") :]
    assert not any(" add(" in line and "2000" in line for line in backward.splitlines())


#: JAX wants carries that keep one type, where a Python number becomes an array here.
NUMBERS_IN_CARRIES = {"ignored_carry", "masked_by_choice", "rows"}


@pytest.mark.parametrize("name", [name for name in REVERSIBLE if name not in NUMBERS_IN_CARRIES])
def test_jax_agrees(name):
    jax = pytest.importorskip("jax", reason="JAX is an oracle of the dev extra")
    jax.config.update("jax_enable_x64", True)
    lax = jax.lax

    class Oracle:
        """JAX under quabla's names."""

        cond = staticmethod(lambda p, t, f, *xs: lax.cond(p, t, f, *xs))
        fori_loop = staticmethod(lambda a, b, f, c: lax.fori_loop(a, b, f, c))
        while_loop = staticmethod(lax.while_loop)

        @staticmethod
        def scan(f, c, xs=None, *, length=None, reverse=False):
            return lax.scan(f, c, jax.numpy.arange(length) if xs is None else xs, reverse=reverse)

        def __getattr__(self, name):
            return getattr(jax.numpy, name)

    import control_programs

    f = REVERSIBLE[name]
    ours = qb.vmap(qb.value_and_grad(f))(qb.array(LANES))
    module_qb, control_programs.qb = control_programs.qb, Oracle()
    try:
        theirs = jax.vmap(jax.value_and_grad(f))(LANES)
    finally:
        control_programs.qb = module_qb
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.numpy(), np.asarray(b), rtol=1e-11, atol=1e-12)


# ---- stacked outputs --------------------------------------------------------------------------------


def loops_of(fun, *args):
    """The loops of a traced function, in order."""
    from quabla.tracing.graph import FORI
    from quabla.tracing.trace import Arguments, trace

    return [n for n in trace(fun, Arguments(list(args))).graph.body().nodes if n.op is FORI]


def test_the_cotangent_of_a_stacked_output_is_not_carried():
    """The backward loop reads one row of it in each iteration; a copy of all of it would take quadratic time."""

    def f(x):
        return qb.sum(qb.scan(lambda c, i: (qb.sin(c) + 0.5, c * c), x, length=6)[1])

    _, backward = loops_of(qb.grad(f), ONE)
    assert [r.type.shape for r in backward.results] == [()]

    c, slope, want = 1.0, 1.0, 0.0
    for _ in range(6):
        want += 2.0 * c * slope
        c, slope = np.sin(c) + 0.5, slope * np.cos(c)
    assert qb.grad(f)(ONE).item() == pytest.approx(want, rel=1e-14)


@pytest.mark.parametrize(
    ("upper", "write"),
    [
        (4, lambda b, i, c: b.at[i].set(c * c)),
        (3, lambda b, i, c: b.at[i].set(c * c)),  # the last row stays
        (4, lambda b, i, c: b.at[i - 1].set(c * c)),
        (4, lambda b, i, c: b.at[i].set(b[i] * c)),  # reads what was there
        (4, lambda b, i, c: b.at[0].set(c * c)),  # one row, again and again
    ],
)
def test_buffers_with_a_derivative_of_their_own(upper, write):
    def f(x, buffer):
        step = lambda i, s: (s[0] * 1.1 + 0.2, write(s[1], i, s[0]))  # noqa: E731
        x, buffer = qb.fori_loop(0, upper, step, (x, buffer))
        return qb.sum(buffer * qb.array([1.0, 2.0, 3.0, 5.0])) + x

    def unrolled(x, buffer):
        for i in range(upper):
            x, buffer = x * 1.1 + 0.2, write(buffer, i, x)
        return qb.sum(buffer * qb.array([1.0, 2.0, 3.0, 5.0])) + x

    for make in (lambda g: g, qb.jit):
        got = make(qb.grad(f, (0, 1)))(ONE, qb.array(T))
        want = qb.grad(unrolled, (0, 1))(ONE, qb.array(T))
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-14)


def test_a_stacked_output_does_not_count_as_tape():
    """The states of 3,000 iterations take 24 kB; the stack that the loop fills is not kept for each of them."""

    def f(x):
        return qb.sum(qb.scan(lambda c, i: (qb.sin(c), c), x, length=3000)[1])

    forward, backward = loops_of(qb.grad(f), ONE)
    assert forward.params == backward.params == (0, 3000)
