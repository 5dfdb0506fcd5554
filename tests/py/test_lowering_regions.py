"""Loops and branches as StableHLO: what is written, and that XLA computes what the NumPy plan does."""

from __future__ import annotations

import time

import numpy as np
import pytest

import quabla as qb
from quabla import dtypes
from quabla.lowering.exact_f32 import rounds_more_than_once, widen
from quabla.lowering.for_xla import INACCURATE_BEFORE_0_12, guard_products, keep_barriers, write_out
from quabla.lowering.to_stablehlo import lower, portable_artifact, stablehlo_text
from quabla.mlir import context, ir, stablehlo
from quabla.ops.control import ADD_AT, BARRIER, PUT, TAKE
from quabla.ops.dispatch import apply, full
from quabla.ops.types import tensor_type
from quabla.runtime import cpu, xla
from quabla.tracing.graph import build
from quabla.tracing.plan import Plan
from quabla.tracing.regions import branch, fori, while_
from quabla.transforms.expansion import expanded

WIDTHS = pytest.mark.parametrize("width", [dtypes.float64, dtypes.float32], ids=str)


def vector(n=4, dtype=dtypes.float64):
    return tensor_type((n,), dtype)


SCALAR = tensor_type((), dtypes.float64)
FLAG = tensor_type((), dtypes.bool_)


def text_of(types, fun):
    module = lower(build(types, None, fun))
    assert module.operation.verify()
    artifact = portable_artifact(module)
    assert stablehlo.deserialize_portable_artifact(context(), artifact).operation.verify()
    return str(module)


def between(text, first, last):
    return text.split(first, 1)[1].split(last, 1)[0]


# ---- what is written --------------------------------------------------------------------------------


def test_a_loop_counts_in_integers_and_makes_no_float_of_a_counter_that_is_not_used():
    text = text_of([vector()], lambda x: fori(2, 7, [x], lambda i, now: [qb.sin(now[0])]))
    assert "stablehlo.while" in text
    assert "tensor<i64>, tensor<4xf64>" in text
    assert "compare LT" in between(text, "cond {", "} do {")
    assert "dense<7> : tensor<i64>" in between(text, "cond {", "} do {")
    assert "convert" not in text


def test_a_counter_that_is_computed_with_is_converted_once():
    text = text_of([vector()], lambda x: fori(0, 3, [x], lambda i, now: [now[0] * i + i]))
    assert text.count("stablehlo.convert") == 1


def test_rows_at_the_counter_need_no_conversion():
    def fun(x):
        return fori(0, 4, [full(SCALAR, 0.0), x], lambda i, now: [
            now[0] + apply(TAKE, (x, 3.0 - i), (0,)), apply(PUT, (now[1], now[0], i), (0,))])  # fmt: skip

    text = text_of([vector()], fun)
    assert "tensor<i64>) -> tensor<f64>" not in text
    assert "select" not in text
    assert between(text, "do {", "return").count("stablehlo.subtract") == 1


def test_rows_at_a_sum_of_counters_that_may_leave_the_axis_are_wrapped_in_integers():
    def fun(x):
        def inner(i, total):
            def step(j, now):
                return [now[0] + apply(TAKE, (x, 2.0 * i + j - 3.0), (0,))]

            return fori(0, 3, total, step)

        return fori(0, 3, [full(SCALAR, 0.0)], inner)

    text = text_of([vector(6)], fun)
    assert "tensor<i64>) -> tensor<f64>" not in text
    assert text.count("stablehlo.select") == 1
    x = np.arange(6.0)
    (got,) = xla.compile(lower(build([vector(6)], None, fun)))([x])
    assert got == sum(x[2 * i + j - 3] for i in range(3) for j in range(3))


def test_captured_values_are_used_from_outside():
    text = text_of([vector(), vector()], lambda x, y: fori(0, 3, [x], lambda i, now: [now[0] * y]))
    assert "stablehlo.multiply %iterArg_0, %arg1" in text


def test_a_while_loop_and_a_choice():
    text = text_of([vector(), FLAG], lambda x, p: [
        *while_([x], lambda now: qb.max(now[0]) < 9.0, lambda now: [now[0] * 2.0]),
        *branch(p, lambda: [qb.sin(x)], lambda: [x]),
    ])  # fmt: skip
    assert "stablehlo.reduce" in between(text, "cond {", "} do {")
    assert '"stablehlo.if"(%arg1)' in text
    assert "stablehlo.sine" in between(text, '"stablehlo.if"(%arg1)', "}, {")


def test_ops_in_regions_carry_the_users_line():
    g = build([vector()], None, lambda x: fori(0, 3, [x], lambda i, now: [qb.tanh(now[0])]))
    line = g.nodes[-1].regions[0].nodes[-1].location[1]
    asm = lower(g).operation.get_asm(enable_debug_info=True, use_local_scope=True)
    (found,) = [t for t in asm.splitlines() if "stablehlo.tanh" in t]
    assert f'test_lowering_regions.py":{line}:0' in found


def test_an_op_without_a_rule_is_found_in_regions_too():
    op = qb.ops.registry.Op(
        "nolowering", "", ("x",), infer=lambda types, params: types[0], kernel=lambda params, types: np.exp
    )
    with pytest.raises(qb.errors.UnsupportedOperationError, match="nolowering"):
        lower(build([vector()], None, lambda x: fori(0, 3, [x], lambda i, now: [apply(op, tuple(now))])))


def test_lowering_a_loop_costs_no_more_than_its_ops():
    def body(i, now):
        (x,) = now
        for k in range(1000):
            x = qb.sin(x) * (1.0 + k)
        return [x]

    g = build([vector()], None, lambda x: fori(0, 3, [x], body))
    lower(g)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        lower(g)
        best = min(best, time.perf_counter() - start)
    assert best / 3000 < 40e-6


# ---- float32 and rewrites for XLA -------------------------------------------------------------------


def test_float32_functions_in_regions_are_widened_and_arguments_of_regions_are_not():
    f32 = vector(4, dtypes.float32)

    def fun(x):
        def step(now):
            return branch(qb.sum(now[0]) > 1.0, lambda: [qb.sin(now[0])], lambda: [qb.cos(x) + now[0]])

        return while_([x], lambda now: qb.sum(qb.exp(now[0])) < 9.0, step)

    module = lower(build([f32], None, fun))
    widen(module)
    assert module.operation.verify()
    text = str(module)
    assert "stablehlo.while(%iterArg = %arg0) : tensor<4xf32>" in text
    for name in ("sine", "cosine", "exponential"):
        (line,) = [t for t in text.splitlines() if f"stablehlo.{name} " in t]
        assert "f64" in line
    assert "tensor<4xf32>\n" in between(text, "stablehlo.cosine", "})")  # the sum stays narrow


def test_rewrites_for_xla_reach_into_regions():
    def fun(x):
        return fori(0, 3, [x], lambda i, now: [qb.log1p(apply(BARRIER, (now[0],), (1,)) * x)])

    module = lower(build([vector(4, dtypes.float32)], None, fun))
    widen(module)
    guard_products(module)
    write_out(module, INACCURATE_BEFORE_0_12)
    keep_barriers(module)
    assert module.operation.verify()
    text = str(module)
    assert "log_plus_one" not in text
    assert "optimization_barrier" not in text
    assert "reduce_precision" in between(text, "do {", "return")


@WIDTHS
def test_moving_rows_rounds_nothing(width):
    row = tensor_type((), width)
    for op, operands in ((TAKE, [vector(4, width), row]), (PUT, [vector(4, width), row, row])):
        module = lower(build(operands, None, lambda *xs, op=op: [apply(op, xs, (0,))]))
        widen(module)
        text = str(module)
        assert "composite" not in text
        assert "tensor<4xf32>) -> tensor<4xf64>" not in text
    (f,) = module.body.operations
    assert not rounds_more_than_once(f.regions[0].blocks[0])


def test_barriers_keep_recomputation_apart_in_the_compiled_program():
    def fun(x):
        a, b = apply(BARRIER, (x,), (1,)), apply(BARRIER, (x,), (2,))
        return [qb.exp(qb.sin(x)) * qb.sin(a) + qb.sin(b)]

    module = lower(build([vector()], None, fun))
    text = str(module)
    assert text.count("optimization_barrier") == 2
    keep_barriers(module)
    client = xla._ready()
    program = client._client.compile_and_load(portable_artifact(module), client._devices, client._options)
    assert program.hlo_modules()[0].to_string().count(" sine(") == 3


@pytest.mark.parametrize("dtype", [dtypes.float64, dtypes.float32, dtypes.bool_], ids=str)
@pytest.mark.parametrize("where", ["outside", "loop"])
def test_a_barrier_returns_its_operands_bits(dtype, where):
    t = tensor_type((4,), dtype)
    x = np.array([True, False, True, True]) if dtype is dtypes.bool_ else np.array([-0.0, np.nan, np.inf, 0.1])
    x = x.astype(dtype.numpy)

    def fun(v):
        if where == "outside":
            return [apply(BARRIER, (v,), (1,))]
        return fori(0, 3, [v], lambda i, now: [apply(BARRIER, (now[0],), (1,))])

    (got,) = xla.compile(lower(build([t], None, fun)))([x])
    assert got.tobytes() == x.tobytes()


# ---- rows ----------------------------------------------------------------------------------------------

INDICES = [0.0, 1.0, 2.7, 3.0, 4.0, 1e30, -0.0, -0.3, -1.0, -1.0000001, -4.0, -4.5, -9.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("op", [TAKE, PUT, ADD_AT], ids=repr)
@WIDTHS
@pytest.mark.parametrize("index_width", [dtypes.float64, dtypes.float32], ids=str)
def test_any_index_names_the_row_that_it_names_eagerly(op, width, index_width):
    x = np.arange(8.0).reshape(2, 4).astype(width.numpy)
    operands = [x, np.array([10.0, 20.0], width.numpy)] if op is not TAKE else [x]
    types = [tensor_type(a.shape, width) for a in operands] + [tensor_type((), index_width)]
    module = lower(build(types, None, lambda *xs: [apply(op, xs, (1,))]))
    widen(module)
    run = xla.compile(module)
    kernel = op.kernel_for(tuple(types), (1,))
    for i in INDICES:
        index = np.array(i, index_width.numpy)
        np.testing.assert_array_equal(run([*operands, index])[0], kernel(*operands, index), err_msg=str(i))


@pytest.mark.parametrize(
    "index",
    [
        lambda i: i,
        lambda i: i - 3.0,
        lambda i: -i,
        lambda i: -1.0 - i,
        lambda i: 2.0 * i - 4.0,
        lambda i: i + 0.5,
        lambda i: 0.5 * i,
        lambda i: i * i,
        lambda i: i + 100.0,
        lambda i: i - 100.0,
        lambda i: i.astype(qb.float32) * 3.0,
        lambda i: (i - i) + 1.0,
        lambda i: apply(BARRIER, (i,), (1,)) + 2.0,
        lambda i: i * 1e300,
    ],
)
def test_rows_at_what_is_computed_from_the_counter(index):
    def fun(x):
        def step(i, now):
            total, buffer = now
            row = apply(TAKE, (x, index(i)), (0,))
            return [total * 2.0 + row, apply(ADD_AT, (buffer, row + 1.0, index(i)), (0,))]

        return fori(1, 7, [full(SCALAR, 0.0), x], step)

    g = build([vector()], None, fun)
    x = np.array([1.0, 2.0, 3.0, 5.0])
    for got, want in zip(xla.compile(lower(g))([x]), Plan(g)([x]), strict=True):
        np.testing.assert_array_equal(got, want)


# ---- the two engines ------------------------------------------------------------------------------------


def power(x):
    return qb.fori_loop(0, 5, lambda i, c: c * x + i, x)


def waves(x):
    return qb.fori_loop(0, 4, lambda i, c: qb.sin(c) * x + qb.mean(c) / (i + 1.0), x)


def history(x):
    return qb.scan(lambda c, i: (c * 0.75 + x, c * c), x * 0.5, length=4)


def chosen(x):
    return qb.cond(qb.sum(x) > 2.0, lambda v: v * v + 1.0, lambda v: v / 3.0, x)


def nested(x):
    def outer(i, c):
        def inner(j, d):
            return qb.cond(j < i, lambda e: e * 1.5, lambda e: e + x, d)

        return qb.fori_loop(0, 3, inner, c) * 0.5

    return qb.fori_loop(0, 3, outer, x)


def flags(x):
    def step(i, carry):
        value, odd = carry
        return qb.where(odd, value * 1.25, value + x), qb.equal(odd, False)

    return qb.fori_loop(0, 5, step, (x, qb.array(False)))[0]


def checkpointed(x):
    return qb.fori_loop(0, 12, lambda i, c: c * x + 0.125 * i, x)


def rows(x):
    def step(i, c):
        return c + apply(TAKE, (x, i), (0,)) * apply(TAKE, (x, 3.0 - i), (0,))

    return qb.fori_loop(0, 4, step, qb.sum(x) * 0.25)


EXACT = [power, history, chosen, nested, flags, checkpointed, rows]
PROGRAMS = [*EXACT, waves]


def total(f):
    def scalar(x):
        out = f(x)
        return sum((qb.sum(leaf) for leaf in (out if isinstance(out, tuple) else (out,))), 0.0)

    return scalar


def tangent(f):
    return lambda x: qb.jvp(f, (x,), (x * 0.5,))[1]


TRANSFORMS = {
    "value": lambda f: f,
    "grad": lambda f: qb.grad(total(f)),
    "jvp": tangent,
    "grad grad": lambda f: qb.grad(lambda x: qb.sum(qb.grad(total(f))(x))),
    "jvp grad": lambda f: tangent(qb.grad(total(f))),
    "grad jvp": lambda f: qb.grad(total(tangent(f))),
    "vmap": lambda f: lambda x: qb.vmap(f)(qb.stack([x, x * 0.25, x + 0.5])),
    "vmap grad": lambda f: lambda x: qb.vmap(qb.grad(total(f)))(qb.stack([x, x * 0.25, x + 0.5])),
}


def leaves(out):
    return [leaf.numpy() for leaf in (out if isinstance(out, tuple) else (out,))]


def compared(f, x, engine, *, bits):
    engine("numpy")
    want = leaves(qb.jit(f)(x))
    engine("xla")
    for a, b in zip(leaves(qb.jit(f)(x)), want, strict=True):
        assert a.dtype == b.dtype
        if bits:
            np.testing.assert_array_equal(a, b)
        else:
            eps = np.finfo(b.dtype).eps
            np.testing.assert_allclose(a, b, rtol=64 * eps, atol=64 * eps)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", PROGRAMS)
@WIDTHS
def test_xla_agrees_with_the_plan(f, transform, width, engine, monkeypatch):
    if f is checkpointed:
        monkeypatch.setattr(qb.config, "loop_checkpoint", 3)
    x = qb.array(np.array([0.25, 0.5, 0.75, 1.25], width.numpy))
    compared(TRANSFORMS[transform](f), x, engine, bits=f in EXACT)


def doubled(x):
    return qb.while_loop(lambda c: qb.sum(c[0]) < 50.0, lambda c: (c[0] * 1.5 + x, c[1] + 1.0), (x, 0.0))


@pytest.mark.parametrize("transform", ["value", "jvp", "vmap", "jvp jvp"])
@WIDTHS
def test_xla_agrees_with_the_plan_on_while_loops(transform, width, engine):
    f = doubled
    if transform != "value":
        f = {
            "jvp": lambda x: qb.jvp(lambda y: doubled(y)[0], (x,), (x,))[1],
            "jvp jvp": lambda x: qb.jvp(tangent(lambda y: doubled(y)[0]), (x,), (x,))[1],
            "vmap": TRANSFORMS["vmap"](doubled),
        }[transform]
    compared(f, qb.array(np.array([0.25, 0.5, 0.75, 1.25], width.numpy)), engine, bits=True)


def test_a_choice_that_is_not_taken_is_not_run(engine):
    """A loop without end in the other branch would hang."""
    engine("xla")

    def forever(v):
        return qb.while_loop(lambda c: c < 1.0, lambda c: c * 1.0, v * 0.0)

    f = qb.jit(lambda p, v: qb.cond(p > 0.0, lambda w: w + 1.0, forever, v))
    assert float(f(1.0, 2.0)) == 3.0


def test_a_loop_that_runs_once_or_not_at_all(engine):
    engine("xla")
    for n in (0, 1):
        got = qb.jit(lambda x, n=n: qb.fori_loop(0, n, lambda i, c: c * 3.0 + i, x))(qb.array([2.0, 4.0]))
        np.testing.assert_array_equal(got.numpy(), [2.0, 4.0] if n == 0 else [6.0, 12.0])


def test_long_loops_are_fast(engine):
    """Thirty microseconds an iteration would be a call of a kernel each; the plan takes three."""
    engine("xla")
    x = qb.array([0.1, 0.2, 0.3, 0.4])
    loop = qb.jit(lambda v: qb.fori_loop(0, 10_000, lambda i, c: qb.sin(c), v))
    slope = qb.jit(qb.grad(lambda v: qb.sum(qb.fori_loop(0, 1_000, lambda i, c: qb.sin(c), v))))
    for f, limit in ((loop, 10e-3), (slope, 5e-3)):
        f(x)
        best = float("inf")
        for _ in range(5):
            start = time.perf_counter()
            f(x)
            best = min(best, time.perf_counter() - start)
        assert best < limit


# ---- the model that chooses an engine ---------------------------------------------------------------------


def model(fun):
    made = cpu.CpuEngine(build([vector()], None, fun))
    return made._make_plan(), made


def test_the_cost_of_compiling_a_loop_does_not_depend_on_its_length():
    costs = set()
    for n in (10, 10_000):
        plan, made = model(lambda x, n=n: fori(0, n, [x], lambda i, now: [qb.sin(now[0]) * i]))
        assert plan.static_ops == 2
        assert plan.op_count == 2 * n
        assert plan.trips == n
        costs.add(made._paid)
    assert len(costs) == 1


def test_inner_loops_run_for_every_iteration_of_the_outer():
    plan, _ = model(lambda x: fori(0, 10, [x], lambda i, now: fori(0, 5, now, lambda j, then: [qb.sin(then[0])])))
    assert plan.trips == 10 + 50
    assert plan.op_count == 50
    assert plan.static_ops == 1


def test_a_long_loop_is_compiled_after_a_few_calls(engine):
    engine("auto")
    made = cpu.CpuEngine(build([vector()], None, lambda x: fori(0, 10_000, [x], lambda i, now: [qb.sin(now[0])])))
    x = np.array([0.1, 0.2, 0.3, 0.4])
    want = made([x])[0]
    assert made.name == "numpy"
    calls = 1
    while made.name == "numpy" and calls < 20:
        got = made([x])[0]
        calls += 1
    assert made.name == "xla"
    np.testing.assert_allclose(got, want, rtol=1e-13)


def test_text_of_a_program_with_lanes_and_calls_is_that_of_its_expansion():
    g = build([vector(), tensor_type((4,), dtypes.bool_)], None, lambda x, p: [
        *branch(p, lambda: [x * 2.0], lambda: [x], 1)])  # fmt: skip
    assert "stablehlo.select" in stablehlo_text(expanded(g))


def test_modules_of_ir_survive_a_copy_with_regions():
    module = lower(build([vector()], None, lambda x: fori(0, 3, [x], lambda i, now: [qb.sin(now[0])])))
    parsed = ir.Module.parse(str(module), context())
    assert str(parsed) == str(module)
