"""What eager functions look up by the types of their operands is what they work out the long way, which tracing takes."""

import math
import threading
import weakref

import numpy as np
import pytest

import quabla as qb
from quabla.ops.eager import number

X = np.array([0.5, -0.0, 2.0, np.nan])
Y = np.array([2.0, 0.0, -3.0, 1.0])

ARRAYS = {
    "float64": (qb.array(X), qb.array(Y)),
    "float32": (qb.array(X, dtype=qb.float32), qb.array(Y, dtype=qb.float32)),
    "int64": (qb.array([3, -4, 5], dtype=qb.int64), qb.array([2, 7, -1], dtype=qb.int64)),
    "bool": (qb.array([True, False]), qb.array([True, True])),
    "mixed": (qb.array([1.0, 2.0]), qb.array([True, False])),
    "two floats": (qb.array([1.0, 2.0]), qb.array([1.0, 2.0], dtype=qb.float32)),
    "misfits": (qb.ones(2), qb.ones(3)),
    "broadcast": (qb.ones((2, 1)), qb.array([1.0, 2.0, 3.0])),
    "rank 0": (qb.array(3.0), qb.array(Y)),
    "weak": (qb.array([True, False]) * 2.0, qb.array([1.0, 2.0], dtype=qb.float32)),
    "matrices": (qb.array([[1.0, 2.0], [3.0, 4.0]]), qb.array([[0.5, 1.0], [2.0, -1.0]])),
    "matrix and vector": (qb.array([[1.0, 2.0], [3.0, 4.0]]), qb.array([0.5, 1.0])),
    "stacks": (qb.ones((3, 2, 2)), qb.ones((2, 2))),
    "empty": (qb.zeros(0), qb.zeros(0)),
}
PAIRS = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "div": lambda x, y: x / y,
    "mod": lambda x, y: x % y,
    "power": lambda x, y: x**y,
    "maximum": qb.maximum,
    "hypot": qb.hypot,
    "less": lambda x, y: x < y,
    "equal": qb.equal,
    "where": lambda x, y: qb.where(x > 0.0, x, y),
    "matmul": qb.matmul,
    "@": lambda x, y: x @ y,
    "dot": qb.dot,
    "and": lambda x, y: x & y,
    "stack": lambda x, y: qb.stack([x, y]),
    "concat": lambda x, y: qb.concat([x, y], axis=0),
}
NUMBERS = [2.0, 0.0, -0.0, 0, 3, True, math.nan, math.inf, 0.1, 2**53 + 1, 2**60, np.float32(0.1), np.int64(2)]
SINGLES = {
    "neg": lambda x: -x,
    "sqrt": qb.sqrt,
    "tanh": qb.tanh,
    "square": lambda x: x**2,
    "cube": lambda x: x**3,
    "zeroth": lambda x: x**0,
    "sum": qb.sum,
    "sum over rows": lambda x: x.sum(axis=0),
    "kept": lambda x: x.sum(axis=-1, keepdims=True),
    "mean": qb.mean,
    "max": qb.max,
    "min": lambda x: x.min(axis=0),
    "reshape": lambda x: qb.reshape(x, (-1, 1)),
    "transpose": lambda x: x.T,
    "float32": lambda x: x.astype(qb.float32),
    "bool": lambda x: x.astype(qb.bool_),
    "row": lambda x: x[0],
    "slice": lambda x: x[::-1],
}


def outcome(call):
    """The bits, type and weakness of a result, or the error."""
    try:
        r = call()
    except (ValueError, TypeError, OverflowError, IndexError) as e:
        return type(e), str(e).split(" (")[0]
    return r.type, r.weak, r.numpy().tobytes()


def long_way(function, *operands):
    """The same by a trace."""
    with_numpy = qb.jit(function)
    return outcome(lambda: with_numpy(*operands))


@pytest.fixture(autouse=True)
def plan():
    before = qb.config.cpu_engine
    qb.config.cpu_engine = "numpy"
    yield
    qb.config.cpu_engine = before


@pytest.mark.parametrize("operands", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("name", PAIRS)
def test_two_arrays(name, operands):
    function = PAIRS[name]
    first, again = outcome(lambda: function(*operands)), outcome(lambda: function(*operands))
    assert first == again == long_way(function, *operands)


@pytest.mark.parametrize("dtype", [qb.float64, qb.float32, qb.int64, qb.bool_])
@pytest.mark.parametrize("name", [n for n in PAIRS if n not in ("stack", "concat", "@", "matmul", "and")])
def test_an_array_and_a_number(name, dtype):
    function, x = PAIRS[name], qb.array([1.5, 0.0, 3.0]).astype(dtype)
    for n in NUMBERS:  # in turns, so that equal keys would show
        for call in (lambda v, n=n: function(v, n), lambda v, n=n: function(n, v)):
            if name == "less" and isinstance(n, np.generic):  # NumPy's own scalars answer such a comparison themselves
                break
            assert outcome(lambda c=call: c(x)) == long_way(call, x), n


@pytest.mark.parametrize("x", [a for a, _ in ARRAYS.values()], ids=ARRAYS)
@pytest.mark.parametrize("name", SINGLES)
def test_one_array(name, x):
    function = SINGLES[name]
    first, again = outcome(lambda: function(x)), outcome(lambda: function(x))
    assert first == again == long_way(function, x)


@pytest.mark.parametrize("value", [2.0, -1.0, 0.0, -0.0, math.nan, 3, True])
@pytest.mark.parametrize("function", [qb.sqrt, qb.exp, qb.sign, qb.cbrt, qb.sum, qb.max], ids=lambda f: f.__name__)
def test_a_python_number_alone(function, value):
    assert outcome(lambda: function(value)) == outcome(lambda: function(qb.array(value)))


INDICES = {
    "int": 1,
    "last": -1,
    "slice": slice(0, 2),
    "backwards": slice(None, None, -2),
    "nothing": slice(2, 2),
    "pair": (0, slice(1, None)),
    "ellipsis": (..., 0),
    "new axis": (None, 1),
    "all": (),
    "out of range": 7,
    "too many": (0, 0, 0),
    "array": np.array([2, 0, -1, 2]),
    "table": np.array([[0, 1], [1, 1]]),
    "mask": np.array([True, False, True]),
    "mask of another shape": np.array([True, False]),
    "int beyond": np.array([0, 3]),
    "tensor": qb.array([1, -3], dtype=qb.int64),
    "tensor mask": qb.array([False, True, True]),
    "floats": np.array([0.0, 1.0]),
    "list": [0, 2],
}


@pytest.mark.parametrize("dtype", [qb.float64, qb.float32, qb.int64, qb.bool_])
@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_parts(index, dtype):
    x = qb.array([[0.1, -2.0], [3.0, 0.0], [5.0, 7.5]]).astype(dtype)
    assert outcome(lambda: x[index]) == long_way(lambda v: v[index], x)


@pytest.mark.parametrize("kind", ["set", "add", "multiply", "max", "min"])
@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_updates(index, kind):
    columns = qb.array([[0.1, -2.0], [3.0, 0.0], [5.0, 7.5]])
    for dtype in (qb.float64, qb.float32, qb.int64, qb.bool_):
        x = columns.astype(dtype)
        for values in (2.0, -0.0, 3, True, math.nan, x[0], x[:2], qb.ones(2), qb.ones((1, 1, 2)), [1.0, 2.0]):
            before = x.tolist()

            def update(v, values=values):
                return getattr(v.at[index], kind)(values)

            assert outcome(lambda v=x, f=update: f(v)) == long_way(update, x), (dtype, values)
            assert x.tolist() == before


def test_signs_of_zeros_are_told_apart():
    x = qb.ones(1)
    for _ in range(2):
        assert [(1.0 / (x * z)).item() for z in (0.0, -0.0, 0, -0.0)] == [math.inf, -math.inf, math.inf, -math.inf]


def test_numbers_of_every_dtype():
    assert [number(v, qb.bool_).item() for v in (False, True, 0, 1)] == [False, True, False, True]
    assert [number(v, qb.int64).item() for v in (0, 7, -7)] == [0, 7, -7]
    assert number(0.1, qb.float32).item() == np.float32(0.1)


@pytest.mark.parametrize("n", [10**400, -(10**400)])
def test_ints_beyond_every_float(n):
    for call in (lambda: qb.ones(1) * n, lambda: n - qb.ones(1), lambda: qb.maximum(n, qb.ones(1))):
        with pytest.raises(OverflowError, match=r"is too large for float64 .*test_eager"):
            call()


def test_more_numbers_than_are_kept():
    x = qb.zeros(1)
    assert all((x + float(i)).item() == i for i in range(5000))


def test_what_was_accepted_does_not_make_its_equals_acceptable():
    x = qb.ones((2, 2))
    assert x.reshape((4, 1)).shape == [4, 1]
    assert x.sum(axis=1).shape == [2]
    for call in (lambda: x.reshape((4.0, 1)), lambda: x.sum(axis=1.0), lambda: x.astype("float32")):
        with pytest.raises(TypeError, match=r"test_eager|must be"):
            call()
    for shape in ((-2, 2), (-1, -1), (3, -1), (5,)):
        with pytest.raises(ValueError, match="reshape: cannot give"):
            qb.reshape(x, shape)


@pytest.mark.parametrize("make", [lambda x: x + x, lambda x: x[0], lambda x: x.T, qb.sqrt, lambda x: x.sum()])
def test_results_are_tensors_that_cannot_be_changed(make):
    r = make(qb.ones((2, 2)))
    assert type(r) is qb.Tensor
    assert weakref.ref(r)() is r
    for name in ("data", "type", "shape", "anything"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(r, name, None)
    with pytest.raises(AttributeError, match="immutable"):
        del r.data


def test_creation_copies_what_others_may_write_to():
    source = np.ones(3)
    made = [qb.array(source), qb.array([source, source]), qb.asarray(source), qb.array(source[::2])]
    source[:] = 7.0
    assert all(np.all(x.numpy() == 1.0) for x in made)
    fortran = qb.array(np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    assert fortran.data.flags.c_contiguous
    assert fortran.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert qb.array(np.ones(2, ">f8")).tolist() == [1.0, 1.0]


def test_threads_share_what_is_known():
    wrong = []

    def work(seed):
        x = np.random.default_rng(seed).normal(size=7)
        v = qb.array(x)
        for k in range(2000):
            if not np.array_equal((v * float(k) + v).numpy(), x * float(k) + x):
                wrong.append((seed, k))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# ---- transforms ------------------------------------------------------------------------------------


def test_transforms_tell_arguments_apart_after_a_first_call():
    calls = []

    def f(p, x):
        calls.append(None)
        return qb.sum(p["w"] * x * p["n"])

    g = qb.grad(f)
    x, w = qb.array([1.0, 2.0]), qb.array([3.0, 4.0])
    for n in (2.0, 3.0, 2.0):
        made = g({"w": w, "n": n}, x)
        assert made["w"].tolist() == [n, 2 * n]
        assert made["n"].item() == 11.0
    assert len(calls) == 1
    j = qb.jit(f)
    assert [j({"w": w, "n": n}, x).item() for n in (2.0, 3.0, 2.0, True)] == [22.0, 33.0, 22.0, 11.0]
    assert len(calls) == 4


@pytest.mark.parametrize("transform", [qb.grad, qb.jacobian, qb.hessian, qb.jit])
def test_transforms_take_arrays_and_numbers_in_turns(transform):
    f = transform(lambda x: x * x * x)
    expected = {qb.grad: 12.0, qb.jacobian: 12.0, qb.hessian: 12.0, qb.jit: 8.0}[transform]
    for x in (2.0, qb.array(2.0), np.array(2.0), 2, qb.array(2.0), 2.0, np.float64(2.0)):
        assert float(f(x)) == expected
