"""Properties of every op, generated from its record: derivatives, batching, engines, completeness."""

from __future__ import annotations

import math

import numpy as np
import pytest
from samples import (
    CASES,
    IDS,
    arrays,
    op_function,
    sample_dtypes,
    smooth_function,
    special_operands,
    takes_floats,
    tensor,
    tensors,
)

import quabla as qb
from quabla.ops.registry import REGISTRY
from quabla.ops.types import tensor_type
from quabla.tracing.graph import Graph
from quabla.tracing.plan import Plan


def result_is_float(op, sample):
    types = tuple(tensor_type(s, d) for s, d in zip(sample.shapes, sample_dtypes(sample), strict=True))
    return op.result_type(types, sample.params).dtype.is_float


def cases(keep=lambda op, sample: True):
    """A parametrization over the (op, sample) pairs that satisfy a predicate."""
    kept = [(c, i) for c, i in zip(CASES, IDS, strict=True) if c[0].operands and keep(*c)]
    return pytest.mark.parametrize(("op", "sample"), [c for c, _ in kept], ids=[i for _, i in kept])


CASE = cases()
FLOAT = cases(
    lambda op, sample: (
        op.name != "cast" and result_is_float(op, sample) and any(d.is_float for d in sample_dtypes(sample))
    )
)
SMOOTH = cases(
    lambda op, sample: (
        op.name != "cast"
        and op.differentiable
        and result_is_float(op, sample)
        and any(d.is_float for d in sample_dtypes(sample))
    )
)


def floats(sample):
    return [i for i, d in enumerate(sample_dtypes(sample)) if d.is_float]


def weighted(op, sample):
    """A scalar function of the float operands whose gradient sees every element of the result."""
    f = smooth_function(op, sample)
    operands = tensors(sample)
    which = floats(sample)

    def fun(*moving):
        full = list(operands)
        for i, x in zip(which, moving, strict=True):
            full[i] = x
        y = f(*full)
        weights = np.cos(np.arange(y.type.size)).reshape(y.type.shape) + 1.5
        return qb.sum(y.astype(qb.float64) * weights)

    return fun, [operands[i] for i in which]


def central_difference(fun, xs, i, step=1e-6):
    x = xs[i].numpy()
    out = np.zeros(x.shape)
    for k in np.ndindex(*x.shape):
        up, down = np.array(x), np.array(x)
        up[k] += step
        down[k] -= step
        args = list(xs)
        args[i] = tensor(up)
        high = fun(*args).item()
        args[i] = tensor(down)
        out[k] = (high - fun(*args).item()) / (2 * step)
    return out


@SMOOTH
def test_gradient_agrees_with_central_differences(op, sample):
    fun, xs = weighted(op, sample)
    grads = qb.grad(fun, argnums=tuple(range(len(xs))))(*xs)
    for i, g in enumerate(grads):
        np.testing.assert_allclose(g.numpy(), central_difference(fun, xs, i), rtol=2e-6, atol=2e-8)


@SMOOTH
def test_forward_and_reverse_mode_agree(op, sample):
    fun, xs = weighted(op, sample)
    rng = np.random.default_rng(1)
    ts = [tensor(rng.normal(size=x.type.shape)) for x in xs]
    _, along = qb.jvp(fun, tuple(xs), tuple(ts))
    grads = qb.grad(fun, argnums=tuple(range(len(xs))))(*xs)
    total = sum(float(np.sum(g.numpy() * t.numpy())) for g, t in zip(grads, ts, strict=True))
    np.testing.assert_allclose(along.item(), total, rtol=1e-11, atol=1e-13)


@SMOOTH
def test_second_derivatives_agree_in_every_order_of_modes(op, sample):
    fun, xs = weighted(op, sample)
    rng = np.random.default_rng(2)
    x, v = xs[0], tensor(rng.normal(size=xs[0].type.shape))
    rest = xs[1:]

    def first(y):
        return fun(y, *rest)

    forward_over_reverse = qb.jvp(qb.grad(first), (x,), (v,))[1].numpy()
    reverse_over_forward = qb.grad(lambda y: qb.jvp(first, (y,), (v,))[1])(x).numpy()
    reverse_over_reverse = qb.grad(lambda y: qb.sum(qb.grad(first)(y) * v))(x).numpy()
    np.testing.assert_allclose(reverse_over_forward, forward_over_reverse, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(reverse_over_reverse, forward_over_reverse, rtol=1e-9, atol=1e-11)
    step = 1e-5
    up, down = (qb.grad(first)(tensor(x.numpy() + s * step * v.numpy())).numpy() for s in (1, -1))
    np.testing.assert_allclose(forward_over_reverse, (up - down) / (2 * step), rtol=1e-5, atol=1e-7)


def test_derivative_of_a_cast_is_a_cast_back():
    x = qb.array([1.0, 2.0], dtype=qb.float32)
    g = qb.grad(lambda v: qb.sum(v.astype(qb.float64) * qb.array([0.1, 0.2])))(x)
    assert g.dtype is qb.float32
    np.testing.assert_array_equal(g.numpy(), np.float32([0.1, 0.2]))
    assert qb.grad(lambda v: qb.sum((v > 1.5).astype(qb.float32)))(x).tolist() == [0.0, 0.0]


def _combinations(count):
    yield (True,) * count
    if count > 1:
        for i in range(count):
            yield tuple(k == i for k in range(count))
            if count > 2:
                yield tuple(k != i for k in range(count))


@CASE
def test_batching_agrees_with_a_loop(op, sample):
    f = op_function(op, sample)
    batches = [np.stack(rows) for rows in zip(*(arrays(sample, seed) for seed in range(3)), strict=True)]
    for mapped in _combinations(len(batches)):
        args = [tensor(b if m else b[0]) for b, m in zip(batches, mapped, strict=True)]
        got = qb.vmap(f, in_axes=tuple(0 if m else None for m in mapped))(*args).numpy()
        rows = [
            f(*[tensor(b[k] if m else b[0]) for b, m in zip(batches, mapped, strict=True)]).numpy() for k in range(3)
        ]
        np.testing.assert_allclose(got, np.stack(rows), rtol=1e-14, atol=1e-15)


@CASE
@pytest.mark.parametrize("width", [np.float64, np.float32], ids=["f64", "f32"])
def test_plan_gives_the_bits_of_eager_execution(op, sample, width):
    values = [tensor(a) for a in arrays(sample, 4, width)]
    graph = Graph([x.type for x in values], fold=False)
    with graph:
        graph.finish([graph.emit(op, tuple(graph.args), sample.params)])
    (got,) = Plan(graph)([x.data for x in values])
    np.testing.assert_array_equal(np.asarray(got), op_function(op, sample)(*values).numpy())
    assert np.shape(got) == graph.outs[0].type.shape


@CASE
@pytest.mark.parametrize("width", [np.float64, np.float32], ids=["f64", "f32"])
def test_xla_agrees_with_eager_execution(op, sample, width, engine):
    values = [tensor(a) for a in arrays(sample, 4, width)]
    f = op_function(op, sample)
    want = f(*values).numpy()
    engine("xla")
    got = qb.jit(f)(*values).numpy()
    assert got.dtype == want.dtype
    if op.exact_f32:
        np.testing.assert_array_equal(got, want)
    else:
        eps = np.finfo(want.dtype).eps if want.dtype.kind == "f" else 0
        np.testing.assert_allclose(got, want, rtol=16 * eps, atol=16 * eps)


@FLOAT
def test_float32_is_the_float64_result_rounded_once(op, sample):
    narrow = arrays(sample, 5, np.float32)
    wide = [a.astype(np.float64) if a.dtype == np.float32 else a for a in narrow]
    f = op_function(op, sample)
    got = f(*map(tensor, narrow)).numpy()
    np.testing.assert_array_equal(got, f(*map(tensor, wide)).numpy().astype(np.float32))


@pytest.mark.parametrize("op", REGISTRY.values(), ids=REGISTRY)
def test_record_is_complete(op):
    """Docs, lowering, batching and derivative; elementwise also a domain, special values and a bound on the error."""
    assert op.summary.endswith(".")
    assert op.stablehlo is not None, "no StableHLO lowering"
    if op.operands:
        assert op.samples, "no samples: nothing about the op is tested"
        assert op.elementwise or op.batch is not None, "no batching rule"
        rules = [op.partials, op.transpose, op.jvp]
        assert any(r is not None for r in rules) or not op.differentiable, "no derivative rule"
    if op.elementwise and takes_floats(op):
        assert len(op.domain) == len(op.operands), "no domain"
        assert op.ulps is not None, "no bound on the error"
        assert op.special, "no special values"
        assert any(math.isnan(x) for inputs, _ in op.special for x in inputs), "no special value at NaN"
        assert any(math.isinf(x) for inputs, _ in op.special for x in inputs), "no special value at infinity"


@pytest.mark.parametrize(
    ("op", "inputs", "result"),
    [(op, i, r) for op in REGISTRY.values() for i, r in op.special],
    ids=[f"{op.name}-{i}" for op in REGISTRY.values() for i, _ in op.special],
)
@pytest.mark.parametrize("width", [np.float64, np.float32], ids=["f64", "f32"])
def test_special_values(op, inputs, result, width):
    operands = special_operands(inputs, width)
    got = op_function(op, op.samples[0])(*operands).numpy()
    if result is None or np.isnan(result):
        assert np.isnan(got)
    else:
        np.testing.assert_allclose(got, result, rtol=2 * np.finfo(width).eps)
        assert np.signbit(got) == np.signbit(result)
