"""XLA as an engine: the same numbers as the eager kernels."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import quabla as qb
from quabla import dtypes, errors
from quabla.lowering.exact_f32 import widen
from quabla.lowering.for_xla import select_short_branches
from quabla.lowering.to_stablehlo import lower
from quabla.mlir import context, ir
from quabla.ops.dispatch import apply, full
from quabla.ops.registry import REGISTRY, lookup
from quabla.ops.types import tensor_type
from quabla.runtime import xla
from quabla.tracing.graph import build
from quabla.tracing.trace import Arguments, trace

#: Ops whose results must be the same bits.
EXACT = (  # noqa: SIM905
    "add sub mul div sqrt neg abs sign floor ceil round compare where maximum minimum greater max min cast constant "
    "reshape broadcast transpose slice pad concat gather tril triu stop_gradient take put add_at barrier"
).split()
#: How far XLA's float64 functions may be from NumPy's, in units in the last place.
ULPS = 16


def compiled(types, fun):
    module = lower(build(types, None, fun))
    widen(module)
    return xla.compile(module)


def same(got, wanted):
    """Whether two arrays are equal, NaN counting as equal to NaN."""
    return got.dtype == wanted.dtype and np.array_equal(got, wanted, equal_nan=wanted.dtype.kind == "f")


def ulps(got, wanted):
    """The greatest distance of two arrays, in units in the last place of the wanted numbers."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    differs = ~((got == wanted) | (np.isnan(got) & np.isnan(wanted)))
    if not differs.any():
        return 0.0
    if not np.isfinite(got[differs]).all():
        return np.inf
    return float(np.max(np.abs(got[differs] - wanted[differs]) / np.spacing(np.abs(wanted[differs]))))


def sample_arrays(sample, types):
    rng = np.random.default_rng(7)
    arrays = []
    for i, t in enumerate(types):
        lo, hi = [b[i] if isinstance(b, tuple) else b for b in (sample.lo, sample.hi)]
        x = rng.uniform(lo, hi, t.shape)
        arrays.append(x > (lo + hi) / 2 if t.dtype is dtypes.bool_ else x)
    if sample.make is not None:
        arrays = sample.make(*arrays)
    if sample.symmetric:
        arrays = [(a + np.swapaxes(a, -1, -2)) / 2 for a in arrays]
    return [np.asarray(a, t.dtype.numpy) for a, t in zip(arrays, types, strict=True)]


SAMPLES = [
    pytest.param(op, sample, dtype, id=f"{name}-{i}-{dtype}")
    for name, op in REGISTRY.items()
    for i, sample in enumerate(op.samples)
    for dtype in (dtypes.float64, dtypes.float32)
    if not (sample.dtypes and dtype is dtypes.float32)
]


@pytest.mark.parametrize(("op", "sample", "dtype"), SAMPLES)
def test_samples_agree_with_the_eager_kernels(op, sample, dtype):
    given = sample.dtypes or (dtype,) * len(sample.shapes)
    types = [tensor_type(s, d) for s, d in zip(sample.shapes, given, strict=True)]
    arrays = sample_arrays(sample, types)
    wanted = np.asarray(op.kernel_for(tuple(types), sample.params)(*arrays))
    (got,) = compiled(types, lambda *xs: [apply(op, xs, sample.params)])(arrays)
    assert got.shape == wanted.shape
    if op.name in EXACT or wanted.dtype.kind != "f":
        assert same(got, wanted)
    else:
        # The terms of cofactors cancel.
        assert ulps(got, wanted) <= (1 if dtype is dtypes.float32 else 64 if op.name == "cofactors" else ULPS)


def test_log1p_is_accurate_on_all_of_its_domain():
    """At points from mpmath, where jaxlib 0.10 errs by 125 ulp; and at the edges."""
    run = compiled([tensor_type((9,), dtypes.float64)], lambda x: [apply(lookup("log1p"), (x,))])
    x = [-0.41381035649350384, -0.2, -0.999, 1e-300, 1e10, -0.0, np.inf, -1.0, -2.0]
    (r,) = run([np.array(x)])
    wanted = [-0.5341119180287668, -0.22314355131420976, -6.907755278982136, 1e-300, 23.025850930040455]
    assert ulps(r[:5], np.array(wanted)) <= 2
    assert r[5] == 0
    assert np.signbit(r[5])
    assert list(r[6:8]) == [np.inf, -np.inf]
    assert np.isnan(r[8])


@pytest.mark.parametrize("dtype", [dtypes.float64, dtypes.float32], ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_chains_of_arithmetic_give_numpys_bits(dtype, seed):
    rng = np.random.default_rng(seed)
    t = tensor_type((257,), dtype)
    number = dtype.numpy.type
    ops = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
    arrays = [rng.uniform(0.5, 2.0, 257).astype(number) for _ in range(3)]
    steps = []
    values = list(arrays)
    while len(steps) < 20:  # steps that keep the numbers ordinary, so that every bit counts
        i, j = int(rng.integers(len(values))), int(rng.integers(len(values)))
        if len(steps) > 4:
            i = len(values) - 1
        name = str(rng.choice([*ops, "sqrt", "constant"]))
        c = float(rng.uniform(0.5, 2.0))
        if name == "sqrt":
            r = np.sqrt(np.abs(values[i]))
        elif name == "constant":
            name = str(rng.choice(list(ops)))
            j = -1
            r = ops[name](values[i], number(c))
        else:
            r = ops[name](values[i], values[j])
        size = np.abs(r)
        if np.isfinite(r).all() and size.max() < 1e6 and size.min() > 1e-6:
            steps.append((name, i, j, c))
            values.append(r)

    def fun(*xs):
        found = list(xs)
        for name, i, j, c in steps:
            if name == "sqrt":
                found.append(apply(lookup("sqrt"), (apply(lookup("abs"), (found[i],)),)))
            else:
                other = full(tensor_type((), dtype), c) if j < 0 else found[j]
                found.append(apply(lookup(name), (found[i], other)))
        return found[-1:]

    (got,) = compiled([t] * 3, fun)(arrays)
    assert same(got, values[-1])


@pytest.mark.parametrize("dtype", [dtypes.float64, dtypes.float32], ids=str)
def test_products_are_rounded_before_they_are_added(dtype):
    t = tensor_type((), dtype)
    mul, add, sub = lookup("mul"), lookup("add"), lookup("sub")
    number = dtype.numpy.type

    (r,) = compiled([t, t, t], lambda a, b, x: [apply(add, (apply(mul, (a, x)), apply(mul, (b, x))))])(
        [np.array(v, number) for v in (1e20, -1e20, 1e10)]
    )
    assert r == 0
    (r,) = compiled([t, t], lambda x, y: [apply(sub, (apply(mul, (x, x)), apply(mul, (y, y))))])(
        [np.array(1.1, number), np.array(1.1, number)]
    )
    assert r == 0


@pytest.mark.parametrize("dtype", [dtypes.float64, dtypes.float32], ids=str)
def test_arithmetic_with_constants_is_not_rewritten(dtype):
    t = tensor_type((64,), dtype)
    number = dtype.numpy.type
    x = np.random.default_rng(3).uniform(-5, 5, 64).astype(number)

    def fun(v):
        a, b = full(tensor_type((), dtype), 3.1), full(tensor_type((), dtype), 7.3)
        div, add, mul = lookup("div"), lookup("add"), lookup("mul")
        return [
            apply(div, (v, a)),
            apply(div, (apply(div, (v, a)), b)),
            apply(add, (apply(add, (v, a)), b)),
            apply(mul, (apply(mul, (v, a)), b)),
            apply(div, (a, apply(div, (b, v)))),
        ]

    a, b = number(3.1), number(7.3)
    wanted = [x / a, x / a / b, x + a + b, x * a * b, a / (b / x)]
    for got, w in zip(compiled([t], fun)([x]), wanted, strict=True):
        assert same(got, w)


def test_functions_of_large_numbers_are_not_combined():
    t = tensor_type((1,), dtypes.float64)
    exp, mul = lookup("exp"), lookup("mul")
    (r,) = compiled([t, t], lambda x, y: [apply(mul, (apply(exp, (x,)), apply(exp, (y,))))])(
        [np.array([800.0]), np.array([-800.0])]
    )
    assert np.isnan(r[0])  # inf * 0, where exp(x + y) would be 1


def test_float32_is_rounded_after_every_op():
    t = tensor_type((200,), dtypes.float32)
    x = np.random.default_rng(5).uniform(-3, 3, 200).astype(np.float32)
    tanh, exp = lookup("tanh"), lookup("exp")
    (r,) = compiled([t], lambda v: [apply(exp, (apply(tanh, (v,)),))])([x])
    inner = np.tanh(x.astype(np.float64)).astype(np.float32)
    assert same(r, np.exp(inner.astype(np.float64)).astype(np.float32))


def test_a_cast_to_float32_and_back_rounds():
    t = tensor_type((200,), dtypes.float64)
    x = np.random.default_rng(5).normal(size=200)
    cast = lookup("cast")
    (r,) = compiled([t], lambda v: [apply(cast, (apply(cast, (v,), (dtypes.float32,)),), (dtypes.float64,))])([x])
    assert same(r, x.astype(np.float32).astype(np.float64))


def test_arrays_of_any_layout_are_taken_and_results_are_read_only():
    t = tensor_type((3, 4), dtypes.float64)
    run = compiled([t, tensor_type((), dtypes.bool_), tensor_type((0, 2), dtypes.float32)], lambda *xs: list(xs))
    x = np.arange(24.0).reshape(4, 6)[:, ::2].T
    a, b, c = run([x, np.array(True), np.zeros((0, 2), np.float32)])
    assert same(a, np.ascontiguousarray(x))
    assert same(b, np.array(True))
    assert c.shape == (0, 2)
    assert not a.flags.writeable


def test_results_do_not_change_when_arguments_are_written_to():
    t = tensor_type((1024,), dtypes.float64)
    run = compiled([t], lambda x: [x])
    x = np.ones(1024)
    (r,) = run([x])
    x[:] = 2
    assert (r == 1).all()


def unaligned(n: int) -> np.ndarray:
    """An array that owns memory which XLA does not share."""
    while (x := np.empty(n)).ctypes.data % 64 == 0:
        n += 1
    return x


def test_a_large_array_is_copied_once_and_its_copy_goes_with_it():
    x = unaligned(10_000)
    x[:] = 1.0
    t = tensor_type(x.shape, dtypes.float64)
    run = compiled([t], lambda x: [x + 1.0])
    copies = xla._ready()._copies
    before = len(copies._found)
    for _ in range(3):
        assert (run([x])[0] == 2.0).all()
    assert len(copies._found) == before + 1
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 5.0
    del x
    run([np.zeros(t.shape)])  # XLA lets go of arrays when it is called
    gc.collect()
    assert len(copies._found) <= before + 1
    view = unaligned(20_000)[: t.shape[0]]  # somebody else may write to its memory
    view[:] = 1.0
    run([view])
    view[:] = 2.0
    assert (run([view])[0] == 3.0).all()


@pytest.mark.parametrize("nested", [False, True])
def test_a_choice_between_short_branches_is_a_selection(nested):
    def f(x):
        inner = (lambda v: qb.cond(v > 2.0, lambda v: v * 10.0, lambda v: v + 1.0, v)) if nested else lambda v: v + 1.0
        return qb.cond(x > 1.0, inner, lambda v: 1.0 / v, x)

    module = lower(trace(f, Arguments([qb.array(1.0)])).graph)
    select_short_branches(module)
    assert "stablehlo.if" not in str(module)
    run = xla.compile(module)
    for x in (0.0, -0.0, 0.5, 1.0, 2.0, 3.0, np.inf, np.nan):
        with np.errstate(all="ignore"):
            x = np.float64(x)
            inner = x * 10.0 if nested and x > 2.0 else x + 1.0
            assert same(run([np.asarray(x)])[0], np.asarray(inner if x > 1.0 else 1.0 / x))


def test_a_choice_between_long_branches_is_one():
    def f(x):
        return qb.cond(qb.sum(x) > 1.0, lambda v: qb.sin(v), lambda v: v * 2.0, x)

    module = lower(trace(f, Arguments([qb.ones(100)])).graph)
    select_short_branches(module)
    assert "stablehlo.if" in str(module)


def test_wrong_arguments_are_refused():
    run = compiled([tensor_type((4,), dtypes.float64)], lambda x: [x])
    with pytest.raises(errors.QuablaError, match=r"tensor<4xf64>.*float64\[3\]"):
        run([np.zeros(3)])
    with pytest.raises(errors.QuablaError, match="float32"):
        run([np.zeros(4, np.float32)])


def test_compiling_leaves_the_module_as_it_was():
    module = lower(build([tensor_type((4,), dtypes.float64)], None, lambda x: [apply(lookup("tanh"), (x,))]))
    before = str(module)
    xla.compile(module)
    assert str(module) == before


def test_what_xla_cannot_compile_is_a_library_error():
    module = ir.Module.parse(
        """func.func public @main(%x: tensor<4xf64>) -> tensor<4xf64> {
             %0 = stablehlo.custom_call @no_such_target(%x) : (tensor<4xf64>) -> tensor<4xf64>
             return %0 : tensor<4xf64>
           }""",
        context(),
    )
    with pytest.raises(errors.QuablaError, match="XLA cannot"):
        xla.compile(module)([np.zeros(4)])


def test_a_module_without_main_is_refused():
    with pytest.raises(errors.QuablaError, match="main"):
        xla.compile(ir.Module.parse("", context()))


def test_many_threads_may_call_and_compile():
    t = tensor_type((64,), dtypes.float64)
    modules = [lower(build([t], None, lambda x, k=k: [apply(lookup("mul"), (x, full(t, float(k))))])) for k in range(4)]
    wrong = []

    def work(k):
        run = xla.compile(modules[k])
        for i in range(200):
            x = np.full(64, float(i))
            if not (run([x])[0] == i * k).all():
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


_PROGRAM = """
import os, sys, warnings
{before}
import numpy as np
from quabla import dtypes
from quabla.lowering.exact_f32 import widen
from quabla.lowering.to_stablehlo import lower
from quabla.ops.dispatch import apply
from quabla.ops.registry import lookup
from quabla.ops.types import tensor_type
from quabla.runtime import xla
from quabla.tracing.graph import build
from quabla.tracing.regions import fori

def step(a, b, c):
    return apply(lookup("add"), (apply(lookup("mul"), (a, b)), c))

def run(dtype):
    t = tensor_type((64,), dtype)
    module = lower(build([t] * 3, None, lambda a, b, c: [
        step(a, b, c), *fori(0, 2, [c], lambda i, now: [step(a, now[0], b)])]))
    widen(module)
    x = np.random.default_rng(0).normal(size=(3, 64)).astype(dtype.numpy)
    straight, looped = xla.compile(module)(list(x))
    return np.sum(straight != x[0] * x[1] + x[2]) + np.sum(looped != x[0] * (x[0] * x[2] + x[1]) + x[1])

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(xla.has_exact_arithmetic(), run(dtypes.float64), run(dtypes.float32), len(caught), "jax" in sys.modules)
print(os.environ.get("XLA_FLAGS"))
"""


def fresh(before="", **environment):
    env = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"} | environment
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(before=before)], env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.split("\n")[:2]


def test_a_new_process_is_exact_without_jax_and_keeps_the_environment():
    assert fresh() == ["True 0 0 0 False", "None"]


def test_the_users_flags_are_kept():
    flags = "--xla_cpu_multi_thread_eigen=false"
    assert fresh(XLA_FLAGS=flags) == ["True 0 0 0 False", flags]


def test_float32_stays_exact_where_xla_was_already_running():
    started = "from jaxlib import xla_client; xla_client.make_cpu_client()"
    exact, wrong_f64, wrong_f32, warned, _ = fresh(started)[0].split()
    if exact == "True":
        pytest.skip("this processor has no fused multiply-add")
    assert int(wrong_f64) > 0  # what the warning is about
    assert wrong_f32 == "0"
    assert warned == "1"


@pytest.mark.parametrize("function", ["softmax", "norm", "peak"])
def test_axes_of_extent_one_that_a_broadcast_stretches(function):
    """XLA crashed on these: a softmax, a norm, and a division by the greatest element, of 5,000 numbers."""
    x = np.random.default_rng(0).normal(size=5000)
    kept = {"axis": 0, "keepdims": True}
    ours, theirs = {
        "softmax": (lambda x: qb.softmax(x, axis=0), np.exp(x - x.max()) / np.exp(x - x.max()).sum()),
        "norm": (qb.norm, np.linalg.norm(x)),
        "peak": (lambda x: x / qb.max(x, **kept), x / x.max()),
    }[function]
    run = compiled([tensor_type((5000,), dtypes.float64)], lambda x: [ours(x)])
    np.testing.assert_allclose(run([x])[0], theirs, rtol=1e-13)


def test_a_step_writes_over_its_state():
    t = tensor_type((1000,), dtypes.float64)
    module = lower(build([t, t, t], None, lambda a, b, c: [a + c, b * c, qb.sum(a)]))
    step = xla.compile_step(module, 2)
    state = step.place([np.ones(1000), np.ones(1000)])
    factor = np.full(1000, 2.0)
    for _ in range(3):
        places = [b.unsafe_buffer_pointer() for b in state]
        a, b, total = step.execute([*state, *step.place([factor], 2)]).consume_with_handlers(step.handlers)
        assert all(x.is_deleted() for x in state)
        state = [a, b]
    assert [x.unsafe_buffer_pointer() for x in state] == places
    assert [np.ravel(x)[0] for x in (a, b, total)] == [7.0, 8.0, 5000.0]
    with pytest.raises(errors.QuablaError, match="got arrays"):
        step.place([factor[:3]], 2)
