"""int32 and int64: creation, promotion, arithmetic, transforms, control flow, files and exchange."""

from __future__ import annotations

import io

import numpy as np
import pytest

import quabla as qb

INTS = pytest.mark.parametrize("dtype", [qb.int32, qb.int64], ids=str)
ENGINES = pytest.mark.parametrize("name", ["numpy", "xla"])


def ints(*values, dtype=qb.int64):
    return qb.array(list(values), dtype=dtype)


# ---- dtypes and creation ------------------------------------------------------------------------


def test_names_and_printing():
    assert (str(qb.int32), repr(qb.int64)) == ("i32", "quabla.int64")
    assert repr(ints(1, -20)) == "Tensor([  1, -20], dtype=int64)"
    assert repr(qb.array(3, dtype=qb.int32)) == "Tensor(3, dtype=int32)"


@INTS
def test_creation(dtype):
    for got, want in (
        (qb.array([[1, 2], [3, 4]], dtype=dtype), [[1, 2], [3, 4]]),
        (qb.asarray(np.arange(3, dtype=np.uint8), dtype=dtype), [0, 1, 2]),
        (qb.array([1.7, -1.7, True], dtype=dtype), [1, -1, 1]),
        (qb.array([True, False], dtype=dtype), [1, 0]),
        (qb.zeros(2, dtype=dtype), [0, 0]),
        (qb.ones((1, 2), dtype=dtype), [[1, 1]]),
        (qb.full(2, 7, dtype=dtype), [7, 7]),
        (qb.full(2, qb.array(7, dtype=dtype)), [7, 7]),
        (qb.zeros_like(qb.ones(2, dtype=dtype)), [0, 0]),
        (qb.full_like(qb.ones(2, dtype=dtype), 5), [5, 5]),
        (qb.arange(2, 9, 3, dtype=dtype), [2, 5, 8]),
        (qb.arange(3.5, dtype=dtype), [0, 1, 2, 3]),
        (qb.linspace(0, 3, 4, dtype=dtype), [0, 1, 2, 3]),
        (qb.eye(2, dtype=dtype), [[1, 0], [0, 1]]),
        (qb.Tensor([2, 1], [4, 5], dtype), [[4], [5]]),
    ):
        assert got.dtype is dtype
        assert got.tolist() == want


def test_without_dtype_integers_are_float64():
    for x in (1, [1, 2], np.arange(3), np.int32(4), [np.int64(2)]):
        assert qb.array(x).dtype is qb.float64
    assert qb.full(2, 3).dtype is qb.float64
    assert qb.arange(3).dtype is qb.float64


def test_64_bits_are_exact():
    big = 2**62 + 1
    assert ints(big).tolist() == [big]
    assert (ints(big) + 1).tolist() == [big + 1]
    assert qb.jit(lambda x: x - big)(ints(big)).tolist() == [0]
    assert qb.full(2, big, dtype=qb.int64).tolist() == [big, big]
    assert qb.arange(big, big + 2, 1, dtype=qb.int64).tolist() == [big, big + 1]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ints(2**31, dtype=qb.int32), OverflowError, "does not fit quabla.int32"),
        (lambda: ints(np.uint64(2**63)), OverflowError, "does not fit quabla.int64"),
        (lambda: ints(float("nan")), ValueError, "NaN or infinity"),
        (lambda: ints(1e30), OverflowError, "does not fit"),
        (lambda: qb.array("1", dtype=qb.int64), TypeError, "cannot make an array"),
        (lambda: qb.zeros(2, dtype=np.int64), TypeError, "quabla.int32 or quabla.int64"),
        (
            lambda: ints(1, dtype=qb.int32) + 2**31,
            OverflowError,
            "add: the integer 2147483648 does not fit quabla.int32",
        ),
        (lambda: ints(1) + ints(1, dtype=qb.int32), ValueError, "add: .*int64 and .*int32; convert one with astype"),
        (lambda: qb.where(True, ints(1), ints(1, dtype=qb.int32)), ValueError, "where: .*astype"),
        (lambda: ints(1) / 2, ValueError, "div: .*int64.*astype"),
        (lambda: ints(1) / ints(2), ValueError, "div: .*int64.*astype"),
        (lambda: qb.sin(ints(1)), ValueError, "sin: .*i64.*astype"),
        (lambda: qb.mean(ints(1)), ValueError, "mean: .*i64.*astype"),
        (lambda: ints(1) ** 2, ValueError, "powi: .*i64.*astype"),
        (lambda: qb.matmul(ints(1), ints(1)), ValueError, "matmul: .*astype"),
        (lambda: qb.einsum("i,i", ints(1), ints(1)), ValueError, "einsum: .*astype"),
        (lambda: qb.logaddexp(ints(1), 2), ValueError, "logaddexp: .*astype"),
        (lambda: qb.logical_and(ints(1), ints(1)), ValueError, "logical_and: needs a bool array"),
        (lambda: qb.any(ints(1)), ValueError, "any: needs a bool array"),
        (lambda: range(qb.array(1.0)), TypeError, "only an int array of rank 0"),
        (lambda: range(ints(1)), TypeError, "only an int array of rank 0"),
    ],
)
def test_errors(make, error, message):
    with pytest.raises(error, match=message):
        make()
    if error is not TypeError:
        with pytest.raises(error, match=message):
            qb.jit(make)()


@ENGINES
def test_conversion_from_floats_is_defined_everywhere(name, engine):
    engine(name)
    values = [1.7, -1.7, -0.0, np.nan, np.inf, -np.inf, 2.0**31, -(2.0**31), 2.0**31 - 0.5, 2.0**63, -(2.0**63), 1e300]
    low, high = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    want32 = [1, -1, 0, 0, high, low, high, low, high, high, low, high]
    low64, high64 = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    want64 = [1, -1, 0, 0, high64, low64, 2**31, -(2**31), 2**31 - 1, high64, low64, high64]
    x = qb.array(values)
    for dtype, want in ((qb.int32, want32), (qb.int64, want64)):
        assert x.astype(dtype).tolist() == want
        assert qb.jit(lambda v, d=dtype: v.astype(d))(x).tolist() == want
        assert qb.jit(lambda d=dtype: qb.full(20, 1e300).astype(d), static_argnums=0)(dtype).tolist()[0] == want[-1]
    assert ints(2**32 + 5).astype(qb.int32).tolist() == [5]
    assert ints(0, 2).astype(qb.bool_).tolist() == [False, True]


# ---- promotion and arithmetic -------------------------------------------------------------------


def test_ints_give_way_to_floats():
    i = ints(1, 2)
    assert (i + qb.array([0.5, 0.5])).tolist() == [1.5, 2.5]
    assert (i + qb.array([0.5, 0.5], dtype=qb.float32)).dtype is qb.float32
    assert (i * 0.5).dtype is qb.float64
    assert (i * 0.5 + qb.array([0.5, 0.5], dtype=qb.float32)).dtype is qb.float32  # a Python float is weak
    assert (i + 1).dtype is qb.int64
    assert (i + True).tolist() == [2, 3]
    assert (i + qb.array([True, False])).tolist() == [2, 2]
    assert qb.where(i > 1, i, 0).dtype is qb.int64
    assert qb.where(i > 1, i, 0.5).tolist() == [0.5, 2.0]
    assert qb.stack([i, i]).dtype is qb.int64
    assert qb.array([i[0], i[1]]).dtype is qb.int64


@INTS
@ENGINES
def test_arithmetic_is_numpys(dtype, name, engine):
    engine(name)
    limits = np.iinfo(dtype.numpy)
    x = np.array([7, -7, 7, -7, 0, 5, limits.min, limits.min, limits.max, 3, -1], dtype.numpy)
    y = np.array([3, 3, -3, -3, 4, 0, -1, 1, -2, 0, 5], dtype.numpy)

    def f(x, y):
        return x + y, x - y, x * y, x // y, x % y, 3 // y, x % 4, -x, abs(x), x < y, x >= y

    with np.errstate(all="ignore"):
        want = f(x, y)
    a, b = qb.array(x, dtype=dtype), qb.array(y, dtype=dtype)
    for got in (f(a, b), qb.jit(f)(a, b), qb.vmap(f)(a, b)):
        for w, g in zip(want, got, strict=True):
            assert g.numpy().dtype == w.dtype
            np.testing.assert_array_equal(g.numpy(), w)


@ENGINES
def test_division_of_every_length(name, engine):
    engine(name)
    rng = np.random.default_rng(0)
    f = qb.jit(lambda x, y: (x // y, x % y), max_traces=20)
    for n in (1, 2, 3, 5, 6, 9, 10, 13, 33, 100):
        x, y = rng.integers(-99, 99, n), rng.integers(-3, 4, n)
        with np.errstate(all="ignore"):
            want = x // y, x % y
        for dtype in (qb.int32, qb.int64):
            for w, g in zip(want, f(qb.array(x, dtype=dtype), qb.array(y, dtype=dtype)), strict=True):
                np.testing.assert_array_equal(g.numpy(), w)


@INTS
@ENGINES
def test_reductions_keep_the_dtype(dtype, name, engine):
    engine(name)
    x = np.array([[3, -1, 2], [2**30, 2**30, 2**30]], dtype.numpy)
    a = qb.array(x, dtype=dtype)
    for f, want in (
        (lambda v: qb.sum(v, axis=1), np.sum(x, 1, dtype=dtype.numpy)),
        (lambda v: qb.max(v, axis=0), x.max(0)),
        (lambda v: qb.min(v), x.min()),
        (lambda v: qb.cumsum(v, axis=1), np.cumsum(x, 1, dtype=dtype.numpy)),
        (lambda v: qb.prod(v[0]), np.prod(x[0], dtype=dtype.numpy)),
        (lambda v: qb.clip(v, 0, 2), np.clip(x, 0, 2)),
        (lambda v: qb.maximum(v, 1), np.maximum(x, 1)),
        (lambda v: qb.diff(v), np.diff(x)),
        (lambda v: qb.flip(qb.pad(v, 1), axis=1), np.flip(np.pad(x, 1), 1)),
    ):
        for got in (f(a), qb.jit(f)(a)):
            assert got.dtype is dtype
            np.testing.assert_array_equal(got.numpy(), want)


# ---- transforms ---------------------------------------------------------------------------------


def test_no_derivative():
    x, i = qb.array([1.5, 2.5]), ints(2, 3)
    assert [g if g is None else g.tolist() for g in qb.grad(lambda x, i: qb.sum(x * i), argnums=(0, 1))(x, i)] == [
        [2.0, 3.0],
        None,
    ]
    (_, count), (dx, dcount) = qb.jvp(lambda x, i: (x * i, i + 1), (x, i), (x, None))
    assert (count.tolist(), dx.tolist(), dcount) == ([3, 4], [3.0, 7.5], None)
    _, pull = qb.vjp(lambda x, i: x * i, x, i)
    assert pull(x)[1] is None
    assert qb.grad(lambda x: qb.sum(x.astype(qb.int64).astype(qb.float64) * x))(x).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="rank-0 float"):
        qb.grad(lambda x: qb.sum(x.astype(qb.int64)))(x)


def test_signatures_and_specs():
    f = qb.jit(lambda i: i + 1)
    assert f.lower(qb.ShapeDtype((2,), qb.int32)).as_text().splitlines()[-2] == "%2 = add(%0, %1) : tensor<2xi32>"
    program = qb.Compiler().trace(lambda i: i * i, [("i", [2], qb.int64)])
    assert "stablehlo.multiply %arg0, %arg0 : tensor<2xi64>" in program.stablehlo_text()
    assert program.compile()({"i": ints(3, 4)}).tolist() == [9, 16]


@ENGINES
def test_carries_and_indices_of_loops(name, engine):
    engine(name)
    x = qb.array([10.0, 20.0, 30.0])
    zero = qb.array(0, dtype=qb.int64)

    def total(x, start):
        def body(_, carry):
            i, s = carry
            return i + 1, s + x[i]

        return qb.fori_loop(0, 3, body, (start, 0.0))[1]

    assert qb.jit(total)(x, zero).item() == total(x, zero).item() == 60.0
    assert qb.jit(qb.grad(total))(x, zero).tolist() == [1.0, 1.0, 1.0]
    rows = qb.jit(lambda c: qb.scan(lambda c, i: (c + 1, x[-1 - c]), c, length=3))(zero)
    assert (rows[0].item(), rows[1].tolist()) == (3, [30.0, 20.0, 10.0])
    assert qb.jit(lambda c: qb.while_loop(lambda c: x[c] < 25.0, lambda c: c + 1, c))(zero).item() == 2
    assert qb.vmap(lambda c: qb.while_loop(lambda c: c < 5, lambda c: c + 2, c))(ints(0, 1, 9)).tolist() == [6, 5, 9]
    assert qb.jit(lambda c: qb.fori_loop(0, 4, lambda i, c: c + i, c))(zero).item() == 6  # the counter is an int too
    assert qb.jit(lambda i: qb.cond(i > 2, lambda: i, lambda: 7))(zero).item() == 7
    assert qb.jit(lambda i: qb.cond(i, lambda: 1.0, lambda: 2.0))(zero).item() == 2.0
    with pytest.raises(ValueError, match="the carry is tensor<i64>, but the body returns tensor<f64>"):
        qb.jit(lambda c: qb.fori_loop(0, 4, lambda i, c: c + 0.5, c))(zero)
    with pytest.raises(ValueError, match="the branches must return the same shapes and dtypes"):
        qb.jit(lambda i: qb.cond(i > 2, lambda: i, lambda: 7.5))(zero)
    with pytest.raises(TypeError, match="rank-0 bool"):
        qb.jit(lambda c: qb.while_loop(lambda c: c, lambda c: c, c))(zero)


# ---- exchange -----------------------------------------------------------------------------------


@INTS
def test_values_out(dtype):
    a = ints(1, 2, 3, dtype=dtype)
    assert a.numpy().dtype == dtype.numpy
    assert np.from_dlpack(a).tolist() == np.asarray(memoryview(a)).tolist() == a.tolist() == [1, 2, 3]
    assert type(a[0].item()) is int
    assert range(10)[a[1]] == 2
    assert [5, 6, 7][a[0]] == 6
    file = io.BytesIO()
    qb.save(file, {"a": a})
    file.seek(0)
    back = qb.load(file)["a"]
    assert (back.dtype, back.tolist()) == (dtype, [1, 2, 3])


def test_npz_files_of_integers(tmp_path):
    np.savez(tmp_path / "x.npz", i=np.arange(3), j=np.arange(2, dtype=np.int32))
    found = qb.load(tmp_path / "x.npz")
    assert found["i"].dtype is qb.int64
    assert found["j"].dtype is qb.int32
    assert found["i"].tolist() == [0, 1, 2]


def test_an_int_counter_computes_as_pythons_int_does():
    """The counter of a loop over ints is an int eagerly and in a trace, and gives way to floats."""
    seen = []

    def body(i, c):
        seen.append((i / 2, qb.sqrt(i * 1.0), i * 0.5 + 1, i + c, i // 2))
        return c + i

    f = lambda c: qb.fori_loop(0, 3, body, c)  # noqa: E731
    assert f(ints(0, 1)).tolist() == qb.jit(f)(ints(0, 1)).tolist() == [3, 4]
    half, root, more, total, floor = seen[-1]
    assert [v.dtype for v in (half, root, more, total, floor)] == [qb.float64] * 3 + [qb.int64] * 2
