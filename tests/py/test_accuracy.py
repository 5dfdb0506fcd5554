"""Every elementwise op against exact values: over the whole range, on every engine, and outside its domain."""

from __future__ import annotations

import numpy as np
import pytest
from op_helpers import kernel
from references import BINARY, INF, MP, NORMAL, UNARY, exact, grid, points, worst
from samples import takes_floats, tensor

import quabla as qb
from quabla.ops.dispatch import apply
from quabla.ops.registry import REGISTRY

#: XLA's exponential errs by 1.3 units in the last place where NumPy's errs by 0.5; its atan2, from jaxlib 0.12 on, by 2.4.
XLA_MORE = 0.5
XLA_MORE_BY_NAME = {"arctan": 1.5, "direction": 1.0, "hypot": 1.0}
XS, YS = grid()


def attributes(op):
    return {"compare": ("less",), "barrier": (0,)}.get(op.name, ())


def domain(name):
    return REGISTRY[name].domain[0]


def is_normal(*values):
    """Where XLA does not flush anything to zero, with room for what is computed on the way."""
    return np.logical_and.reduce([(np.abs(v) >= 16 * NORMAL) | (v == 0) for v in values])


def test_every_elementwise_op_has_a_reference():
    names = {name for name, op in REGISTRY.items() if op.elementwise and takes_floats(op)}
    assert names == {*UNARY, *BINARY, "powi", "where"}


@pytest.mark.parametrize("name", UNARY)
def test_kernels_of_one_operand_are_within_their_bounds(name):
    op, xs = REGISTRY[name], points(UNARY[name], domain(name))
    want = [exact(UNARY[name], float(x)) for x in xs]
    error, words = worst(kernel(op, attributes(op), xs), want, xs)
    assert error <= op.ulps + 0.01, words
    # one by one, as scalars are computed
    few = slice(None, None, 23)
    error, words = worst([kernel(op, attributes(op), x) for x in xs[few]], want[few], xs[few])
    assert error <= op.ulps + 0.01, words


@pytest.mark.parametrize("name", UNARY)
def test_xla_is_within_the_bounds_of_one_operand(name, engine):
    op, xs = REGISTRY[name], points(UNARY[name], domain(name))
    want = [exact(UNARY[name], float(x)) for x in xs]
    kept = is_normal(xs, np.array([float(w) for w in want]))
    engine("xla")
    got = qb.jit(lambda x: apply(op, (x,), attributes(op)))(tensor(xs)).numpy()
    error, words = worst(got[kept], [w for w, k in zip(want, kept, strict=True) if k], xs[kept])
    assert error <= op.ulps + XLA_MORE_BY_NAME.get(name, XLA_MORE), words


@pytest.mark.parametrize("name", BINARY)
def test_kernels_of_two_operands_are_within_their_bounds(name):
    op = REGISTRY[name]
    want = [BINARY[name](float(x), float(y)) for x, y in zip(XS, YS, strict=True)]
    error, words = worst(kernel(op, attributes(op), XS, YS), want, XS, YS)
    assert error <= op.ulps + 0.01, words


@pytest.mark.parametrize("name", BINARY)
def test_xla_is_within_the_bounds_of_two_operands(name, engine):
    op = REGISTRY[name]
    want = [BINARY[name](float(x), float(y)) for x, y in zip(XS, YS, strict=True)]
    kept = is_normal(XS, YS, np.array([1.0 if w is None else float(w) for w in want]))
    engine("xla")
    got = qb.jit(lambda x, y: apply(op, (x, y), attributes(op)))(tensor(XS), tensor(YS)).numpy()
    error, words = worst(got[kept], [w for w, k in zip(want, kept, strict=True) if k], XS[kept], YS[kept])
    assert error <= op.ulps + XLA_MORE_BY_NAME.get(name, XLA_MORE), words


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 7, 8, 9, 20, 101])
def test_integer_powers_are_within_their_bounds(n, engine):
    op, xs = REGISTRY["powi"], points(UNARY["cbrt"], (-INF, INF))
    want = [MP.mpf(float(x)) ** n for x in xs]
    error, words = worst(kernel(op, (n,), xs), want, xs)
    assert error <= (op.ulps if n <= 8 else 1.0), words
    kept = is_normal(xs, np.array([float(w) for w in want]))
    engine("xla")
    got = qb.jit(lambda x: apply(op, (x,), (n,)))(tensor(xs)).numpy()
    error, words = worst(got[kept], [w for w, k in zip(want, kept, strict=True) if k], xs[kept])
    assert error <= (op.ulps if n <= 8 else 1.0), words


@pytest.mark.parametrize("name", [n for n in UNARY if domain(n) != (-INF, INF)])
def test_there_is_no_number_outside_the_domain(name, engine):
    low, high = domain(name)
    outside = [np.nextafter(low, -INF), low - 1.0, -1e300, np.nextafter(high, INF), high + 1.0, 1e300, INF, -INF]
    xs = np.array([x for x in outside if not low <= x <= high])
    assert np.isnan(kernel(REGISTRY[name], (), xs)).all()
    engine("xla")
    kept = is_normal(xs)
    assert np.isnan(qb.jit(lambda x: apply(REGISTRY[name], (x,)))(tensor(xs)).numpy()[kept]).all()


def test_logaddexp_errs_by_units_of_its_larger_part():
    """Where the logarithm is close to 0 the two parts cancel, and no digit of the operands is lost."""
    rng = np.random.default_rng(0)
    xs, ys = rng.uniform(-30.0, 30.0, 600), rng.uniform(-30.0, 30.0, 600)
    got = qb.logaddexp(tensor(xs), tensor(ys)).numpy()
    for x, y, r in zip(xs, ys, got, strict=True):
        want = MP.log(MP.exp(x) + MP.exp(y))
        assert abs(r - want) <= 2 * np.spacing(max(abs(x), abs(y), abs(r)))
