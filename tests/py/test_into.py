"""Kernels that write into arrays they are given: the bits of the kernels that make arrays."""

import threading

import numpy as np
import pytest
from op_helpers import same_bits, type_of
from samples import CASES, IDS, arrays, takes_floats

import quabla as qb
from quabla.ops.control import WRITERS
from quabla.ops.into import Into, copied, into_array
from quabla.ops.registry import REGISTRY
from quabla.tracing import chains
from quabla.tracing.plan import Plan
from quabla.tracing.trace import Arguments, trace


def form_of(op, params, types) -> Into | None:
    if op in WRITERS:
        writer = WRITERS[op](params, types)
        return None if writer is None else copied(writer)
    return op.into_for(types, params)


def garbage(t):
    """What an array may hold before it is written to."""
    out = np.empty(t.shape, t.dtype.numpy)
    out.fill(True if t.dtype.is_bool else 77)
    return out


def check(op, params, operands):
    types = tuple(type_of(x) for x in operands)
    into = form_of(op, params, types)
    if into is None:
        return
    result = op.result_type(types, params)
    with np.errstate(all="ignore"):
        want = np.asarray(op.kernel_for(types, params)(*[x.copy() for x in operands]))
        before = [x.copy() for x in operands]
        out = garbage(result)
        got = into.run(*operands, *map(garbage, into.scratch), out)
        assert np.shares_memory(got, out) or not out.size
        assert same_bits(out, want)
        assert all(same_bits(x, y) for x, y in zip(operands, before, strict=True))
        for i, t in enumerate(types):
            if into.over and t is result:
                over = [x.copy() for x in operands]
                into.run(*over, *map(garbage, into.scratch), over[i])
                assert same_bits(over[i], want)


@pytest.mark.parametrize("width", [np.float64, np.float32], ids=["f64", "f32"])
@pytest.mark.parametrize(("op", "sample"), CASES, ids=IDS)
def test_the_bits_of_the_kernel(op, sample, width):
    if width is np.float32 and not takes_floats(op):
        pytest.skip("has no floats")
    check(op, sample.params, arrays(sample, float_dtype=width))


@pytest.mark.parametrize("width", [np.float64, np.float32], ids=["f64", "f32"])
@pytest.mark.parametrize(
    "op", sorted({op for op, _ in CASES if op.special}, key=lambda op: op.name), ids=lambda op: op.name
)
def test_zeros_infinities_and_nan(op, width):
    if not op.elementwise:
        pytest.skip("its special values are of whole arrays")
    rows = [inputs for inputs, _ in op.special]
    columns = [np.array(c, bool if isinstance(c[0], bool) else width) for c in zip(*rows, strict=True)]
    params = next(s.params for s in op.samples)
    check(op, params, columns)


def test_what_training_needs_has_such_a_form():
    x = type_of(np.zeros((3, 3)))
    for name in ("sech2", "logistic", "softplus", "rsqrt", "sign", "cbrt"):
        assert REGISTRY[name].into_for((x,), ()) is not None
    for name, params in (("sum", ((0,),)), ("mean", ((0,),)), ("max", ((0,),)), ("pad", ((1, 1), (0, 0), (0, 0)))):
        assert REGISTRY[name].into_for((x,), params) is not None
    assert REGISTRY["matmul"].into_for((x, x), ()) is not None


def test_a_kernel_that_looks_at_its_numbers_has_none():
    t = type_of(np.zeros(3))
    assert into_array(lambda x: x if x.any() else -x, [t], t, False) is None


def test_threads_that_run_one_plan_share_no_arrays():
    n = chains.LEAST + 5

    def f(x):
        a = qb.sigmoid(x) * qb.softplus(x) + qb.cumsum(x)
        return a, qb.sum(a * a), qb.fori_loop(0, 5, lambda i, c: qb.sin(c) + x, x)

    plan = Plan(trace(f, Arguments([qb.zeros(n)])).graph)
    xs = [np.random.default_rng(k).normal(size=n) for k in range(4)]
    wanted = [plan([x]) for x in xs]
    failures = []

    def work(k):
        for _ in range(10):
            got = plan([xs[k]])
            if not all(same_bits(a, b) for a, b in zip(got, wanted[k], strict=True)):
                failures.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
