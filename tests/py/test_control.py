"""Control flow: what loops and choices compute, eagerly, traced and unrolled, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from control_programs import POINT, PROGRAMS

import quabla as qb

M = qb.array(np.arange(6.0).reshape(3, 2) + 0.5)
V = qb.array([1.0, 2.0, 3.0, 4.0])


def leaves(tree):
    return [x.numpy() for x in qb.tree.leaves(qb.tree.map(qb.array, tree))]


def same(a, b):
    """Equal bits, dtypes and structure."""
    assert qb.tree.structure(a) == qb.tree.structure(b)
    for x, y in zip(leaves(a), leaves(b), strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_array_equal(x, y)


def close(a, b, rtol=1e-12):
    for x, y in zip(leaves(a), leaves(b), strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)


# ---- eager, plan, XLA ---------------------------------------------------------------------------

fori, scan, loop, cond = qb.fori_loop, qb.scan, qb.while_loop, qb.cond
CASES = {
    "row": lambda: (lambda x: fori(0, 3, lambda i, c: c + qb.sum(x[i]), 0.0), M),
    "element": lambda: (lambda x: fori(0, 3, lambda i, c: c * 2.0 + x[i, 1], 0.0), M),
    "column": lambda: (lambda x: fori(0, 2, lambda i, c: c * 2.0 + x[..., i], qb.zeros((3,))), M),
    "two indices": lambda: (
        lambda x: fori(0, 3, lambda i, c: fori(0, 2, lambda j, d: d * 2.0 + x[i, j], c), 0.0),
        M,
    ),
    "negative index": lambda: (lambda x: fori(0, 3, lambda i, c: c * 2.0 + x[-i - 1], qb.zeros((2,))), M),
    "index beside slices": lambda: (lambda x: fori(0, 2, lambda i, c: c * 2.0 + x[::-1, None, i], qb.zeros((3, 1))), M),
    "bounds": lambda: (lambda x: fori(2, 5, lambda i, c: c * 2.0 + i, x), M),
    "no iterations": lambda: (lambda x: fori(3, 3, lambda i, c: c + 1.0, x), M),
    "one iteration": lambda: (lambda x: fori(3, 4, lambda i, c: c + i, x), M),
    "unchanged": lambda: (lambda x: fori(0, 3, lambda i, c: c, x), M),
    "constant": lambda: (lambda x: fori(0, 3, lambda i, c: 5, x), qb.array(1.0)),
    "counter": lambda: (lambda x: fori(0, 3, lambda i, c: i, x), qb.array(1.0)),
    "other carry": lambda: (lambda x: fori(0, 3, lambda i, c: (x, c[0]), (0.0 * x, x)), M),
    "swap": lambda: (lambda x: fori(0, 3, lambda i, c: (c[1], c[0]), (x, x + 1.0)), M),
    "rotation": lambda: (lambda x: fori(0, 4, lambda i, c: (c[1], c[2], c[0] * 2.0), (x, x + 1.0, x + 2.0)), M),
    "fibonacci": lambda: (lambda x: fori(0, 7, lambda i, c: (c[1], c[0] + c[1]), (x, x)), M),
    "same twice": lambda: (lambda x: fori(0, 3, lambda i, c: (c[0] * 2.0,) * 2, (x, x)), M),
    "pytree": lambda: (
        lambda x: fori(0, 3, lambda i, c: {"a": [c["a"][0] + i, c["a"][1] * 2.0], "b": ()}, {"a": [x, x], "b": ()}),
        M,
    ),
    "bool carry": lambda: (
        lambda x: fori(0, 3, lambda i, c: (c[0] * 2.0, qb.logical_and(c[1], c[0] < 5.0)), (x, x > 0.0)),
        M,
    ),
    "float32": lambda: (
        lambda x: fori(0, 4, lambda i, c: c + i * 0.1, x),
        qb.array([1.0, 2.0], dtype=qb.float32),
    ),
    "no elements": lambda: (lambda x: scan(lambda c, i: (c * 2.0, c), x, length=2), qb.zeros((0, 3))),
    "scan": lambda: (
        lambda x: scan(lambda c, i: (c * 1.5, {"a": c, "b": (c > 2.0, i, qb.sum(c)), "n": 3}), x, length=4),
        M,
    ),
    "scan without results": lambda: (lambda x: scan(lambda c, i: (c * 1.5, ()), x, length=4), M),
    "scan of numbers, float32": lambda: (
        lambda x: scan(lambda c, i: (c + i, (i, 2.0, i * 2, True, c * i)), x, length=3),
        qb.array(1.0, dtype=qb.float32),
    ),
    "scan of scans": lambda: (
        lambda x: scan(lambda c, i: scan(lambda d, j: (d * 1.1 + i, d[j]), c, length=2), x, length=3),
        M,
    ),
    "scan over rows": lambda: (
        lambda x: scan(lambda c, r: (c * r["a"] + r["b"][1], (c, r)), 0.5, {"a": V, "b": qb.stack([x, x * x, x, -x])}),
        V,
    ),
    "scan back": lambda: (
        lambda x: scan(lambda c, r: (c * r[0] + r[1], c), x, qb.stack([V, V * V], 1), reverse=True),
        V,
    ),
    "scan over ints and bools, back": lambda: (
        lambda x: scan(
            lambda c, r: (c * r[0], (c, r)), x, (qb.array([3, 1, 2], dtype=qb.int64), V[:3] > 1.0), reverse=True
        ),
        V,
    ),
    "scan of numbers, back": lambda: (lambda x: scan(lambda c, i: (c * i, (i, c)), x, length=3, reverse=True), V),
    "buffer read and kept": lambda: (lambda x: scan(lambda c, i: ((c[0] + 1.0, c[1]), c[1][i]), (x, x), length=3), M),
    "while": lambda: (
        lambda x: loop(lambda c: c[0] < qb.sum(x), lambda c: (c[0] + 1.0, c[1] * x, c[2]), (0.0, x, x)),
        V,
    ),
    "while with a bool": lambda: (
        lambda x: loop(lambda c: c[1], lambda c: (c[0] * 2.0, qb.all(c[0] < 50.0)), (x, True)),
        V,
    ),
    "while that never runs": lambda: (lambda x: loop(lambda c: c[0] < 0.0, lambda c: c * 2.0, x), V),
    "cond of bools": lambda: (
        lambda x: cond(qb.sum(x) > 0.0, lambda v: (v > 1.0, v), lambda v: (v < 1.0, v * 2.0), x),
        V,
    ),
    "cond of numbers": lambda: (lambda x: cond(x[0] > 2.0, lambda: (1, 2.0), lambda: (x[0], x[1])), V),
    "float predicate": lambda: (lambda x: cond(x - 1.0, lambda: 1.0, lambda: 2.0) * x, qb.array([1.0])),
    "nested conds": lambda: (
        lambda x: cond(x[0] > 0.0, lambda: cond(x[1] > 5.0, lambda: x, lambda: x * 2.0), lambda: x * 3.0),
        V,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_traced_control_flow_gives_the_bits_of_eager_execution(name, engine):
    f, x = CASES[name]()
    engine("numpy")
    eager = f(x)
    same(qb.jit(f)(x), qb.tree.map(qb.array, eager))
    engine("xla")
    close(qb.jit(lambda v: f(v))(x), qb.tree.map(qb.array, eager))


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree_on_all_engines(name, engine):
    f, x = PROGRAMS[name], qb.array(POINT)
    engine("numpy")
    same(qb.jit(f)(x), f(x))
    engine("xla")
    close(qb.jit(lambda v: f(v))(x), f(x))


def test_unrolled_loops_see_ints_and_agree():
    def body(i, c):
        assert type(i) is int
        return c * 2.0 + M[i]

    def both(x):
        y, rows = qb.scan(lambda c, i: (body(i, c), c), x, length=3, unroll=True)
        return qb.fori_loop(0, 3, body, x, unroll=True), y, rows

    def rolled(x):
        step = lambda i, c: c * 2.0 + M[i]  # noqa: E731
        y, rows = qb.scan(lambda c, i: (step(i, c), c), x, length=3)
        return qb.fori_loop(0, 3, step, x), y, rows

    x = qb.zeros((2,))
    same(qb.jit(both)(x), both(x))
    same(qb.jit(both)(x), qb.jit(rolled)(x))


def test_loops_capture_what_their_bodies_use():
    big = qb.array(np.arange(100.0))

    def f(x):
        y = qb.sin(x)
        captured = qb.fori_loop(0, 3, lambda i, c: c + y * qb.sum(big) * qb.fori_loop(0, 2, lambda j, d: d + y, x), x)
        passed = qb.fori_loop(
            0, 3, lambda i, c, y, b: c + y * qb.sum(b) * qb.fori_loop(0, 2, lambda j, d, y: d + y, x, operands=(y,)), x,
            operands=(y, big),
        )  # fmt: skip
        return captured, passed

    for run in (f, qb.jit(f)):
        a, b = run(qb.array(0.5))
        assert a.item() == b.item()
    assert qb.grad(lambda x: f(x)[0])(0.5).item() == qb.grad(lambda x: f(x)[1])(0.5).item()


def test_operands_are_pytrees_and_numbers():
    def body(i, c, p, n):
        return c + p["a"] * n

    f = lambda x: qb.fori_loop(0, 3, body, x, operands=({"a": x}, 2))  # noqa: E731
    assert f(qb.array(1.0)).item() == qb.jit(f)(qb.array(1.0)).item() == 7.0
    g = lambda x: qb.while_loop(lambda c, n: c < n, lambda c, n: c + n, x, operands=(4,))  # noqa: E731
    assert g(1.0).item() == qb.jit(g)(qb.array(1.0)).item() == 5.0
    h = lambda x: qb.scan(lambda c, i, n: (c + n, c), x, length=2, operands=(4,))[1]  # noqa: E731
    assert h(1.0).tolist() == qb.jit(h)(qb.array(1.0)).tolist() == [1.0, 5.0]


def test_known_predicates_call_one_branch():
    def never():
        raise AssertionError

    for pred in (True, 1, 2.0, np.bool_(True), qb.array([3.0]), qb.array(True)):
        assert cond(pred, lambda: "any object", never) == "any object"
        assert qb.jit(lambda x, p=pred: cond(p, lambda: x, never))(qb.array(1.0)).item() == 1.0
    assert cond(False, never, lambda: 2) == 2


def test_python_numbers_keep_the_dtype_of_the_carry():
    x = qb.array([1.0, 2.0], dtype=qb.float32)
    f = lambda v: qb.fori_loop(0, 3, lambda i, c: (c[0] * 2 + i, i, 1), (v, v[0], v[1]))  # noqa: E731
    for out in (f(x), qb.jit(f)(x)):
        assert [y.dtype for y in out] == [qb.float32] * 3


def test_results_of_loops_do_not_give_way_in_promotion():
    weak = qb.array(True) * 2.0
    single = qb.array(1.0, dtype=qb.float32)
    assert (weak * single).dtype is qb.float32
    for run in (lambda f: f, qb.jit):
        with pytest.raises(ValueError, match="dtypes"):
            run(lambda w: qb.fori_loop(0, 2, lambda i, c: w * 1.0, w) * single)(weak)


def test_a_loop_does_not_write_to_its_arguments():
    x = qb.array(np.arange(1000.0).reshape(10, 100))
    start = x.numpy().copy()
    f = qb.jit(qb.grad(lambda v: qb.sum(qb.scan(lambda c, i: (c + v[i], c * v[i]), v[0], length=10)[1])))
    first = f(x).numpy()
    np.testing.assert_array_equal(f(x).numpy(), first)
    np.testing.assert_array_equal(x.numpy(), start)


def test_a_body_is_traced_once_and_programs_are_cached():
    calls = []

    def body(i, c):
        calls.append(i)
        return c * 2.0

    f = qb.jit(lambda x: qb.fori_loop(0, 1000, body, x))
    for x in (1.0, 2.0, 3.0):
        f(qb.array(x))
    assert len(calls) == 1
    f(V)
    assert len(calls) == 2
    g = qb.grad(lambda x: qb.fori_loop(0, 10, body, x))
    g(qb.array(1.0))
    g(qb.array(2.0))
    assert len(calls) == 3


def test_what_does_not_change_is_computed_once():
    f = lambda x: qb.fori_loop(0, 10, lambda i, c: (c[0] + qb.sin(c[1]) * 2.0, c[1]), (x, x))  # noqa: E731
    program = qb.jit(f).lower(qb.array(1.0)).program
    text = program.lower_text()
    head, _, body = text.partition("fori")
    assert "sin" in head
    assert "sin" not in body


# ---- errors -------------------------------------------------------------------------------------

here = r"test_control\.py:\d+"


@pytest.mark.parametrize("run", [lambda f: f, qb.jit], ids=["eager", "traced"])
@pytest.mark.parametrize(
    ("f", "kind", "words"),
    [
        (lambda x: fori(0, 2, lambda i, c: {"a": c["a"], "b": c["b"][:1]}, {"a": x, "b": V}), ValueError,
         rf"fori_loop: the carry at b is tensor<4xf64>, but the body returns tensor<1xf64> \(.*{here}"),
        (lambda x: fori(0, 2, lambda i, c: qb.astype(c, qb.float32), x), ValueError, rf"f64.*f32.*{here}"),
        (lambda x: fori(0, 2, lambda i, c: c > 1.0, x), ValueError, rf"tensor<f64>.*tensor<i1>.*{here}"),
        (lambda x: fori(0, 2, lambda i, c: 7, V), ValueError, rf"tensor<4xf64>.*tensor<f64>.*{here}"),
        (lambda x: fori(0, 2, lambda i, c: (c, c), x), TypeError, rf"structure.*\(\*, \*\).*{here}"),
        (lambda x: fori(0, 2, lambda i, c: None, x), TypeError, rf"structure.*None.*{here}"),
        (lambda x: loop(lambda c: c < 3.0, lambda c: (c, c), x), TypeError, rf"while_loop.*structure.*{here}"),
        (lambda x: loop(lambda c: c[0] < 3.0, lambda c: (c[0] + 1, V), (x, x)), ValueError,
         rf"while_loop: the carry at 1 is.*4xf64.*{here}"),
        (lambda x: scan(lambda c, i: (V, c), x, length=2), ValueError, rf"scan.*tensor<f64>.*tensor<4xf64>.*{here}"),
        (lambda x: scan(lambda c, i: c, x, length=2), TypeError, rf"pair \(carry, y\).*{here}"),
        (lambda x: scan(lambda c, i: [c, c], x, length=2), TypeError, rf"pair \(carry, y\), got list.*{here}"),
        (lambda x: scan(lambda c, i: (c, c), x, length=-1), ValueError, rf"length.*negative.*{here}"),
        (lambda x: scan(lambda c, i: (c, c), x, length=0), ValueError, rf"length.*at least 1.*{here}"),
        (lambda x: scan(lambda c, i: (c, c), x, length=2.0), TypeError, rf"length.*static int, got 2\.0.*{here}"),
        (lambda x: scan(lambda c, i: (c, c), x), TypeError, rf"scan: needs xs or a length.*{here}"),
        (lambda x: scan(lambda c, i: (c, c), x, x), ValueError, rf"scan: xs.*first axis.*rank 0.*{here}"),
        (lambda x: scan(lambda c, i: (c, c), x, (V, V[:2])), ValueError, rf"scan: xs.*agree.*\[\[4\], \[2\]\].*{here}"),
        (lambda x: scan(lambda c, i: (c, c), x, V, length=3), ValueError, rf"agree.*\[\[4\]\] and length=3.*{here}"),
        (lambda x: scan(lambda c, i: (c, c), x, V[:0]), ValueError, rf"length.*at least 1, got 0.*{here}"),
        (lambda x: fori(-1, 3, lambda i, c: c, x), ValueError, rf"lower.*negative, got -1.*{here}"),
        (lambda x: fori(0, 3.0, lambda i, c: c, x), TypeError, rf"upper.*static int, got 3\.0.*{here}"),
        (lambda x: fori(0, True, lambda i, c: c, x), TypeError, rf"upper.*static int, got True.*{here}"),
        (lambda x: fori(0, x, lambda i, c: c, x), TypeError, rf"upper.*static int.*{here}"),
        (lambda x: fori(4, 3, lambda i, c: c, x), ValueError, rf"upper 3 is below lower 4.*{here}"),
        (lambda x: fori(0, 3, lambda i, c: c, "x"), TypeError, "'x'"),
        (lambda x: cond(V * x, lambda: 1.0, lambda: 2.0), ValueError, rf"one element, got tensor<4xf64>.*{here}"),
        (lambda x: loop(lambda c: c, lambda c: c, x), TypeError, rf"rank-0 bool, got tensor<f64>.*{here}"),
        (lambda x: loop(lambda c: V * c > 0.0, lambda c: c, x), TypeError, rf"rank-0 bool, got tensor<4xi1>.*{here}"),
        (lambda x: loop(lambda c: 1.0, lambda c: c, x), TypeError, rf"rank-0 bool, got 1\.0.*{here}"),
    ],
)  # fmt: skip
def test_misuse_is_explained(run, f, kind, words):
    with pytest.raises(kind, match=words):
        run(f)(qb.array(1.0))


@pytest.mark.parametrize(
    ("on_true", "on_false", "kind", "words"),
    [
        (lambda x: {"a": x}, lambda x: {"a": V}, ValueError, rf"tensor<f64> and .*tensor<4xf64> at a.*{here}"),
        (lambda x: x, lambda x: qb.astype(x, qb.float32), ValueError, rf"f64.*f32.*{here}"),
        (lambda x: V, lambda x: 2.0, ValueError, rf"4xf64.*f64.*{here}"),
        (lambda x: V, lambda x: (x > 0.0) * 2.0, ValueError, rf"4xf64.*f64.*{here}"),
        (lambda x: x > 0.0, lambda x: 2.0, ValueError, rf"i1.*f64.*{here}"),
        (lambda x: (x, x), lambda x: x, TypeError, rf"\(\*, \*\).*{here}"),
    ],
)
def test_branches_that_differ_are_refused(on_true, on_false, kind, words):
    with pytest.raises(kind, match=words):
        qb.jit(lambda x: cond(x > 0.0, on_true, on_false, x))(qb.array(1.0))


def test_a_carry_that_changes_names_the_line_that_made_it():
    def body(i, c):
        wrong = qb.concat([c, c], 0)  # the line named
        return wrong  # noqa: RET504

    line = body.__code__.co_firstlineno + 1
    with pytest.raises(ValueError, match=rf"4xf64.*8xf64.*test_control\.py:{line}\)"):
        qb.jit(lambda x: fori(0, 2, body, x))(V)


def test_values_of_a_body_cannot_leave_it():
    kept = []
    f = lambda x: fori(0, 2, lambda i, c: kept.append(c * 2.0) or c, x) + kept[0]  # noqa: E731
    with pytest.raises(qb.TracerError, match="after its trace has ended"):
        qb.jit(f)(qb.array(1.0))


def test_an_exception_in_a_body_leaves_no_trace_open():
    def fails(i, c):
        raise KeyError("mine")

    for f in (
        lambda x: fori(0, 2, fails, x),
        lambda x: cond(x > 0.0, lambda: fails(0, x), lambda: x),
        lambda x: scan(lambda c, i: fails(i, c), x, length=2)[0],
        lambda x: loop(lambda c: c < 3.0, lambda c: fails(0, c), x),
    ):
        with pytest.raises(KeyError, match="mine"):
            qb.jit(f)(qb.array(1.0))
        assert qb.jit(lambda x: x + 1.0)(qb.array(1.0)).item() == 2.0


# ---- rows at traced indices --------------------------------------------------------------------------


@pytest.mark.parametrize("cpu", ["numpy", "xla"])
def test_traced_indices_gather_slice_and_scatter_as_ints_do(engine, cpu):
    engine(cpu)
    x = qb.array(np.arange(12.0).reshape(6, 2))

    def products(x):
        def step(i, c):
            return c + qb.sum(x.gather([i, i + 1])) * qb.sum(x.slice(0, i, 2))

        return qb.fori_loop(0, 4, step, 0.0)

    def doubled(x):
        return qb.fori_loop(0, 3, lambda i, c: c.scatter_add([i], x.gather([i]) * 2.0), x)

    assert qb.jit(products)(x).item() == products(x).item() == sum((8.0 * i + 6.0) ** 2 for i in range(4))
    pairs = [2 * (8.0 * i + 6.0) for i in range(4)]
    rows = [pairs[0], pairs[0] + pairs[1], pairs[1] + pairs[2], pairs[2] + pairs[3], pairs[3], 0.0]
    np.testing.assert_array_equal(qb.grad(products)(x).numpy(), np.repeat(rows, 2).reshape(6, 2))
    np.testing.assert_array_equal(qb.jit(doubled)(x).numpy(), x.numpy() * np.array([[3.0]] * 3 + [[1.0]] * 3))


def test_a_float32_loop_indexes_exactly_above_two_to_the_24():
    x = qb.array((np.arange(2**24 + 5) % 7).astype(np.float32))

    def digits(x):
        return qb.fori_loop(2**24, 2**24 + 4, lambda i, c: c * 10 + x[i], x[0])

    assert qb.jit(digits)(x).item() == digits(x).item()


# ---- lanes and rules in loops ------------------------------------------------------------------------


def test_hessian_of_a_loop_over_choices_by_lane():
    def f(q, unroll):
        def step(i, c):
            return c * qb.vmap(lambda s: qb.cond(s > 0.0, lambda: qb.sin(s) * s, lambda: s * s))(c)

        return qb.sum(qb.fori_loop(0, 2, step, q, unroll=unroll))

    p = qb.array([-1.0, 0.5])
    loop, unrolled = (qb.hessian(lambda q, u=u: f(q, u))(p).numpy() for u in (False, True))
    np.testing.assert_allclose(loop, unrolled, rtol=1e-13, atol=1e-15)
    assert loop[0, 0] == -72.0  # of c**9 at -1


def test_lanes_that_share_a_loops_carry_keep_their_axis():
    p, ts = qb.array([-1.0, 0.5]), qb.array([1.0, 2.0, 3.0])

    def f(t):
        def step(i, c):
            return qb.vmap(lambda s, a: qb.cond(s > 0.0, lambda: (a * 2.0, t * s), lambda: (a, s)))(p, c[0])

        return qb.fori_loop(0, 2, step, (p, p))

    a, b = qb.vmap(f)(ts)
    np.testing.assert_array_equal(a.numpy(), [[-1.0, 2.0]] * 3)
    np.testing.assert_array_equal(b.numpy(), [[-1.0, 0.5], [-1.0, 1.0], [-1.0, 1.5]])
