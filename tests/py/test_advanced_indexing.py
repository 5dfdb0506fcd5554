"""Advanced indexing and updates of places, against NumPy and, for derivatives, against JAX."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import quabla as qb

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
jnp = jax.numpy

ENGINES = pytest.mark.parametrize("name", ["numpy", "xla"])
RELAXED = settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])


def ints(values):
    return qb.array(values, dtype=qb.int64)


# ---- random indices -----------------------------------------------------------------------------


@st.composite
def cases(draw, masks=True):
    """A shape and an index into it."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    points = draw(st.lists(st.integers(1, 3), max_size=2))
    items, axis = [], 0
    stop = draw(st.integers(0, len(shape)))
    ellipsis = draw(st.integers(0, len(shape))) if draw(st.booleans()) else None
    while axis < stop:
        if axis == ellipsis:
            items.append(...)
            axis += draw(st.integers(0, stop - axis))
            ellipsis = None
            continue
        n = shape[axis]
        kind = draw(
            st.sampled_from(["int", "slice", "none", "array", "array", "mask"] if masks else ["int", "slice", "array"])
        )
        if kind == "none":
            items.append(None)
            continue
        if kind == "int":
            items.append(draw(st.integers(-n, n - 1)))
        elif kind == "slice":
            bound = st.none() | st.integers(-n - 1, n + 1)
            step = draw(st.none() | st.sampled_from([1, 2, -1, -2]))
            items.append(slice(draw(bound), draw(bound), step))
        elif kind == "array":
            own = [1 if draw(st.booleans()) else k for k in points[draw(st.integers(0, len(points))) :]]
            count = int(np.prod(own))
            values = draw(st.lists(st.integers(-n, n - 1), min_size=count, max_size=count))
            items.append(np.array(values, np.int64).reshape(own))
        else:
            flags = draw(st.lists(st.booleans(), min_size=n, max_size=n))
            items.append(np.array(flags))
        axis += 1
    return tuple(shape), tuple(items)


def as_index(items, convert):
    return tuple(convert(i) if isinstance(i, np.ndarray) else i for i in items)


def quabla_array(a):
    return qb.array(a) if a.dtype == bool else ints(a)


def data(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def reference(x, items):
    try:
        return x[items]
    except IndexError:
        return None


@given(cases())
@RELAXED
def test_reads_are_numpys(case):
    shape, items = case
    x = data(shape)
    want = reference(x, items)
    v = qb.array(x)
    if want is None:
        with pytest.raises(IndexError):
            v[items]
        with pytest.raises(IndexError):
            qb.jit(lambda v: v[items])(v)
        return
    own = as_index(items, quabla_array)
    lists = as_index(items, lambda a: a.tolist())
    for got in (v[items], v[own], v[lists], qb.jit(lambda v: v[items])(v), qb.jit(lambda v: v[own])(v)):
        np.testing.assert_array_equal(got.numpy(), want)


def traced_form(items):
    """The int arrays of an index, and a function that puts others in their places."""
    places = [k for k, i in enumerate(items) if isinstance(i, np.ndarray) and i.dtype != bool]

    def rebuild(arrays):
        out = list(items)
        for k, a in zip(places, arrays, strict=True):
            out[k] = a
        return tuple(out)

    return [items[k] for k in places], rebuild


@given(cases())
@RELAXED
def test_traced_indices_read_the_same(case):
    shape, items = case
    x = data(shape)
    want = reference(x, items)
    arrays, rebuild = traced_form(items)
    if want is None or not arrays:
        return
    got = qb.jit(lambda v, *a: v[rebuild(a)])(qb.array(x), *map(ints, arrays))
    np.testing.assert_array_equal(got.numpy(), want)


@given(cases(), st.integers(0, 99))
@RELAXED
def test_derivatives_of_reads(case, seed):
    shape, items = case
    x = data(shape)
    read = reference(x, items)
    if read is None:
        return
    weights = data(read.shape, seed)
    want = np.zeros(shape)
    np.add.at(want, items, weights)
    v, w = qb.array(x), qb.array(weights) if read.size else None
    if w is None:
        return
    np.testing.assert_allclose(qb.grad(lambda v: qb.sum(v[items] * w))(v).numpy(), want, rtol=1e-13, atol=1e-14)
    tangent = data(shape, seed + 1)
    moved = qb.jvp(lambda v: v[items], (v,), (qb.array(tangent),))[1]
    np.testing.assert_array_equal(moved.numpy(), tangent[items])
    arrays, rebuild = traced_form(items)
    if arrays:
        grad = qb.jit(lambda v, *a: qb.grad(lambda v: qb.sum(v[rebuild(a)] * w))(v))
        np.testing.assert_allclose(grad(v, *map(ints, arrays)).numpy(), want, rtol=1e-13, atol=1e-14)


UPDATES = {
    "set": lambda x, i, v: x.__setitem__(i, v),
    "add": np.add.at,
    "multiply": np.multiply.at,
    "max": np.maximum.at,
    "min": np.minimum.at,
}


@given(cases(), st.sampled_from(list(UPDATES)), st.integers(0, 99), st.booleans())
@RELAXED
def test_writes_are_numpys(case, kind, seed, scalar):
    shape, items = case
    x = data(shape)
    read = reference(x, items)
    if read is None:
        return
    values = np.float64(0.5) if scalar else data(read.shape, seed)
    want = x.copy()
    UPDATES[kind](want, items, values)
    new = 0.5 if scalar else qb.array(values)
    arrays, rebuild = traced_form(items)

    def write(v, new, index):
        return getattr(v.at[index], kind)(new)

    results = [write(qb.array(x), new, items), qb.jit(lambda v, new: write(v, new, items))(qb.array(x), new)]
    if arrays:
        program = qb.jit(lambda v, new, *a: write(v, new, rebuild(a)))
        results.append(program(qb.array(x), new, *map(ints, arrays)))
    for got in results:
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-13, atol=0 if kind != "add" else 1e-14)


@given(cases(masks=False), st.sampled_from(["set", "add"]), st.integers(0, 99))
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_derivatives_of_writes_are_jaxs(case, kind, seed):
    shape, items = case
    x = data(shape)
    read = reference(x, items)
    if read is None or not read.size:
        return
    if kind == "set":  # where JAX's order of repeated writes is its own
        count = np.zeros(shape)
        np.add.at(count, items, 1.0)
        if count.max() > 1:
            return
    values, weights = data(read.shape, seed), data(shape, seed + 1)
    arrays, rebuild = traced_form(items)

    def total(at, x, v, w):
        return (getattr(at, kind)(v) ** 2 * w).sum()

    want = jax.grad(lambda x, v: total(x.at[items], x, v, weights), (0, 1))(jnp.array(x), jnp.array(values))
    w = qb.array(weights)
    a, b = qb.array(x), qb.array(values)
    f = qb.grad(lambda a, b, *i: total(a.at[rebuild(i)], a, b, w), argnums=(0, 1))
    for got in (
        qb.grad(lambda a, b: total(a.at[items], a, b, w), argnums=(0, 1))(a, b),
        qb.jit(f)(a, b, *map(ints, arrays)),
    ):
        for g, h in zip(got, want, strict=True):
            np.testing.assert_allclose(g.numpy(), h, rtol=1e-12, atol=1e-13)


# ---- engines, batching and programs -------------------------------------------------------------

PROGRAMS = {
    "gather": lambda x, i, j, v: x[i],
    "gather two axes": lambda x, i, j, v: x[i, j],
    "gather the last axis": lambda x, i, j, v: x[:, j],
    "separated": lambda x, i, j, v: x[None, i, None, j],
    "mixed": lambda x, i, j, v: x[1:][i[:, None], ::2],
    "take": lambda x, i, j, v: qb.take(x, i[:, None], axis=1),
    "take flat": lambda x, i, j, v: qb.take(x, i),
    "take along": lambda x, i, j, v: qb.take_along_axis(x, qb.stack([i[:4], j[:4]]), 0),
    "scalars": lambda x, i, j, v: x[i[0], j[1]],
    "set": lambda x, i, j, v: x.at[i].set(v[:, None]),
    "set points": lambda x, i, j, v: x.at[i, j].set(v),
    "set row": lambda x, i, j, v: x.at[i[0]].set(v[0]),
    "set element": lambda x, i, j, v: x.at[i[0], j[0]].set(v[0]),
    "set part of a row": lambda x, i, j, v: x.at[i[0], 1:].multiply(v[0]),
    "add": lambda x, i, j, v: x.at[i, j].add(v),
    "add columns": lambda x, i, j, v: x.at[:, j].add(v),
    "multiply": lambda x, i, j, v: x.at[i, j].multiply(v),
    "max": lambda x, i, j, v: x.at[i, j].max(v),
    "min": lambda x, i, j, v: x.at[:, j].min(v),
    "sort": lambda x, i, j, v: qb.sort(x, axis=0) * qb.sort(v)[0],
    "sort both": lambda x, i, j, v: qb.sort(x.at[i, j].add(v), axis=-1),
    "cumprod": lambda x, i, j, v: qb.cumprod(x, axis=1)[i],
    "argmax": lambda x, i, j, v: x[:, qb.argmax(v)],
    "searchsorted": lambda x, i, j, v: x[:, qb.searchsorted(qb.sort(v), 0.1)],
    "gather by list": lambda x, i, j, v: x.gather([i[0], 1]) + x.gather(i)[:2],
    "scatter_add": lambda x, i, j, v: x.scatter_add(i, qb.tile(v[:, None], (1, 4))),
    "scatter_add scalars": lambda x, i, j, v: x.scatter_add([i[0], 0], qb.tile(v[:2, None], (1, 4))),
}


def operands(seed):
    """Indices in range, from the end, and out of range."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(3, 4)), rng.integers(-5, 6, 5), rng.integers(-6, 7, 5), rng.normal(size=5)


def quabla_operands(seed):
    x, i, j, v = operands(seed)
    return qb.array(x), ints(i), ints(j), qb.array(v)


@pytest.mark.parametrize("program", PROGRAMS)
def test_engines_agree_to_second_order(program, engine):
    f = PROGRAMS[program]

    def weighted(x, i, j, v):
        y = f(x, i, j, v)
        return qb.sum(y * y * qb.cos(qb.arange(y.size).reshape(y.shape)))

    def derivatives(x, i, j, v):
        def gradient(x, v):
            return qb.grad(lambda x, v: weighted(x, i, j, v), argnums=(0, 1))(x, v)

        return f(x, i, j, v), gradient(x, v), qb.jvp(gradient, (x, v), (x, v))[1]

    args = quabla_operands(1)
    results = {}
    for name in ("numpy", "xla"):
        engine(name)
        results[name] = qb.tree.leaves(qb.jit(derivatives)(*args))
    for g, w in zip(results["xla"], results["numpy"], strict=True):
        np.testing.assert_allclose(g.numpy(), w.numpy(), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("program", PROGRAMS)
def test_mapping_agrees_with_a_loop(program):
    f = PROGRAMS[program]

    def both(x, i, j, v):
        def total(x, v):
            y = f(x, i, j, v)
            return qb.sum(y * y * qb.cos(qb.arange(y.size).reshape(y.shape)))

        return f(x, i, j, v), qb.grad(total, argnums=(0, 1))(x, v)

    batches = [qb.stack([quabla_operands(seed)[k] for seed in range(3)]) for k in range(4)]
    for axes in ((0, 0, 0, 0), (0, None, None, 0), (None, 0, 0, None), (None, 0, None, 0), (0, None, 0, None)):
        args = [b if a == 0 else b[0] for b, a in zip(batches, axes, strict=True)]
        got = qb.tree.leaves(qb.vmap(both, in_axes=axes)(*args))
        rows = [
            qb.tree.leaves(qb.jit(both)(*[x[k] if a == 0 else x for x, a in zip(args, axes, strict=True)]))
            for k in range(3)
        ]
        for n, g in enumerate(got):
            np.testing.assert_allclose(g.numpy(), np.stack([r[n].numpy() for r in rows]), rtol=1e-12, atol=1e-13)


# ---- the rules ----------------------------------------------------------------------------------


@ENGINES
def test_out_of_range_in_a_program(name, engine):
    """Reads take the nearest element, writes are dropped, and so do their derivatives."""
    engine(name)
    x, i = qb.array([1.0, 2.0, 3.0]), ints([-1, 3, -4, 9])
    v = qb.array([10.0, 20.0, 30.0, 40.0])
    assert qb.jit(lambda x, i: x[i])(x, i).tolist() == [3.0, 3.0, 1.0, 3.0]
    assert qb.jit(lambda x, i: qb.grad(lambda x: qb.sum(x[i] * v))(x))(x, i).tolist() == [30.0, 0.0, 70.0]
    for kind, want in (("set", 10.0), ("add", 13.0), ("multiply", 30.0), ("max", 10.0), ("min", 3.0)):
        f = qb.jit(lambda x, i, v, kind=kind: getattr(x.at[i], kind)(v))
        assert f(x, i, v).tolist() == [1.0, 2.0, want]
        g = qb.jit(lambda x, i, v, kind=kind: qb.grad(lambda v: qb.sum(getattr(x.at[i], kind)(v)))(v))
        slope = {"multiply": 3.0, "min": 0.0}.get(kind, 1.0)
        assert g(x, i, v).tolist() == [slope, 0.0, 0.0, 0.0]
    for k, want in ((-1, [1.0, 2.0, 9.0]), (3, [1.0, 2.0, 3.0]), (-4, [1.0, 2.0, 3.0]), (0, [9.0, 2.0, 3.0])):
        for index in (qb.array(k, dtype=qb.int32), qb.array(float(k))):
            assert qb.jit(lambda x, k: x.at[k].set(9.0))(x, index).tolist() == want
            assert qb.jit(lambda x, k: x.scatter_add([k], qb.array([0.0])).at[k].set(9.0))(x, index).tolist() == want


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda x: x[[0, 3]], "index 3 is out of range for axis 0, whose extent is 3"),
        (lambda x: x[:, np.array([-3])], "index -3 is out of range for axis 1, whose extent is 2"),
        (lambda x: x.at[5].set(0.0), "index 5 is out of range"),
        (lambda x: qb.take(x, 6), "index 6 is out of range"),
        (lambda x: x[[True, False]], "a mask of shape .2. does not fit axes of extents .3."),
        (lambda x: x[[0, 1], [0, 1, 0]], "index arrays of shapes"),
        (lambda x: x[0, 0, [0]], "3 indices for an array of rank 2"),
    ],
)
def test_index_errors(read, message):
    for f in (read, qb.jit(read), qb.grad(lambda x: qb.sum(read(x)))):
        with pytest.raises(IndexError, match=message):
            f(qb.ones((3, 2)))


@pytest.mark.parametrize(
    ("program", "error", "message"),
    [
        (lambda x: x[x > 0.5], qb.TracerError, r"quabla.where .*quabla.nonzero\(mask, size="),
        (lambda x: qb.nonzero(x), qb.TracerError, r"give size=, or use quabla.where"),
        (lambda x: qb.compress(x > 0.5, x), qb.TracerError, r"quabla.where .*size="),
        (lambda x: x.at[x > 0.5].set(qb.ones(2)), qb.TracerError, "quabla.where"),
        (lambda x: x[qb.argmax(x) :], qb.TracerError, r"x.slice\(axis, start, length\)"),
        (lambda x: x[x], TypeError, "an index array must hold ints, got tensor<3xf64>; convert with astype"),
        (lambda x: x.at[0].set(qb.array(1.0, dtype=qb.float32)), ValueError, "set: operands have dtypes .*astype"),
        (lambda x: x.at[:2].set(qb.ones(3)), ValueError, r"values of shape \[3\] do not broadcast to \[2\]"),
        (lambda x: x.astype(qb.int64).at[0].set(0.5), ValueError, "the array is quabla.int64 and the values are"),
        (lambda x: (x > 0).at[0].add(True), ValueError, "a bool array takes bools and set, max and min only"),
    ],
)
def test_other_errors_in_programs(program, error, message):
    with pytest.raises(error, match=message):
        qb.jit(program)(qb.ones(3))


def test_masks():
    x = qb.array([[1.0, -2.0], [3.0, -4.0]])
    assert x[x > 0.0].tolist() == [1.0, 3.0]
    assert x[qb.array([True, False])].tolist() == [[1.0, -2.0]]
    assert x[[False, True], 1].tolist() == [-4.0]
    assert qb.compress([True, False, True], x).tolist() == [1.0, 3.0]
    assert qb.grad(lambda y: qb.sum(y[x > 0.0] ** 2))(x).tolist() == [[2.0, 0.0], [6.0, 0.0]]  # the mask is not traced
    # A traced mask decides values, not shapes.
    assert qb.jit(lambda x: x.at[x < 0.0].set(0.0))(x).tolist() == [[1.0, 0.0], [3.0, 0.0]]
    assert qb.jit(lambda x: x.at[x[:, 0] > 2.0].add(qb.array([10.0, 20.0])))(x).tolist() == [[1.0, -2.0], [13.0, 16.0]]
    assert qb.grad(lambda x: qb.sum(x.at[x < 0.0].multiply(5.0)))(x).tolist() == [[1.0, 5.0], [1.0, 5.0]]


def test_the_last_of_repeated_writes_stays():
    x, i, v = qb.zeros(3), ints([1, 0, 1, 1]), qb.array([1.0, 2.0, 3.0, 4.0])
    weights = qb.array([10.0, 20.0, 30.0])
    for f in (lambda x, i, v: x.at[i].set(v), qb.jit(lambda x, i, v: x.at[i].set(v))):
        assert f(x, i, v).tolist() == [2.0, 4.0, 0.0]
        dx, dv = qb.grad(lambda x, v, f=f: qb.sum(f(x, i, v) * weights), argnums=(0, 1))(x, v)
        assert (dx.tolist(), dv.tolist()) == ([0.0, 0.0, 30.0], [0.0, 10.0, 0.0, 20.0])
        assert qb.jvp(lambda v, f=f: f(x, i, v), (v,), (v,))[1].tolist() == [2.0, 4.0, 0.0]


def test_ties_of_extrema_share_and_products_are_exact_at_zeros():
    i = ints([0, 0, 1])
    x, v = qb.array([2.0, 5.0]), qb.array([2.0, 2.0, 1.0])
    dx, dv = qb.grad(lambda x, v: qb.sum(x.at[i].max(v)), argnums=(0, 1))(x, v)
    np.testing.assert_allclose(dx.numpy(), [1 / 3, 1.0])
    np.testing.assert_allclose(dv.numpy(), [1 / 3, 1 / 3, 0.0])
    x, v = qb.array([2.0, 5.0]), qb.array([0.0, 3.0, 0.0])
    f = lambda x, v: qb.sum(x.at[i].multiply(v))  # noqa: E731  2 v0 v1 + 5 v2
    assert qb.grad(f, argnums=1)(x, v).tolist() == [6.0, 0.0, 5.0]
    assert qb.hessian(f, argnums=1)(x, v).tolist() == [[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]


def test_loops_write_in_place():
    """The squares, written one by one at a counter, and their derivative."""

    def squares(x):
        return qb.fori_loop(0, 4, lambda i, out: out.at[i].set(x[i] ** 2), qb.zeros(4))

    x = qb.array([1.0, 2.0, 3.0, 4.0])
    for f in (squares, qb.jit(squares)):
        assert f(x).tolist() == [1.0, 4.0, 9.0, 16.0]
    assert qb.jit(qb.grad(lambda x: qb.sum(squares(x))))(x).tolist() == [2.0, 4.0, 6.0, 8.0]
    table = qb.jit(lambda x: qb.fori_loop(0, 2, lambda i, t: t.at[i, 1 - i].add(x[i]), qb.zeros((2, 2))))(x)
    assert table.tolist() == [[0.0, 1.0], [2.0, 0.0]]


def test_dtypes_of_values():
    x = qb.zeros(3, dtype=qb.float32)
    assert x.at[0].set(0.5).dtype is qb.float32
    assert x.at[[0, 1]].add(ints([1, 2])).tolist() == [1.0, 2.0, 0.0]
    assert x.at[0].set(True).tolist() == [1.0, 0.0, 0.0]
    i = qb.zeros(3, dtype=qb.int64)
    assert i.at[[0, 0]].add(1).tolist() == [2, 0, 0]
    assert i.at[:2].set([7, 8]).tolist() == [7, 8, 0]
    assert qb.array([True, False]).at[1].set(True).tolist() == [True, True]
    assert qb.zeros(3).at[1:2].get().tolist() == [0.0]
    # float32 updates add up in float64 and are rounded once
    tiny = qb.full(64, 2.0**-26, dtype=qb.float32)
    zeros = ints([0] * 64)
    assert qb.ones(1, dtype=qb.float32).at[zeros].add(tiny).item() == 1.0 + 2.0**-20
    assert qb.jit(lambda x, i: x.at[i].add(tiny))(qb.ones(1, dtype=qb.float32), zeros).item() == 1.0 + 2.0**-20


@given(st.integers(0, 999), st.integers(1, 6), st.integers(1, 6))
@RELAXED
def test_take_along_axis_is_numpys(seed, n, m):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, m))
    for axis in (0, 1, -1):
        shape = [3, m] if axis == 0 else [n, 3]
        i = rng.integers(-x.shape[axis], x.shape[axis], shape)
        for got in (
            qb.take_along_axis(qb.array(x), i, axis),
            qb.jit(lambda x, i, axis=axis: qb.take_along_axis(x, i, axis))(qb.array(x), ints(i)),
        ):
            np.testing.assert_array_equal(got.numpy(), np.take_along_axis(x, i, axis))
        for k in (i, int(i.flat[0]), i.ravel().tolist()):
            np.testing.assert_array_equal(qb.take(qb.array(x), k, axis).numpy(), np.take(x, k, axis))
