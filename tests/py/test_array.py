"""Eager arrays: attributes, operators, conversions out, views, immutability, and the exchange with NumPy."""

from __future__ import annotations

import copy
import operator as operators
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import quabla as qb

A = qb.array
vector = A([1.0, 2.0, 3.0])
matrix = A([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]])
mask = A([True, False, True])


# ---- attributes ---------------------------------------------------------------------------------


def test_shape_is_a_list() -> None:
    assert (matrix.shape, matrix.ndim, matrix.size, len(matrix), matrix.dtype) == ([2, 3], 2, 6, 2, qb.float64)
    assert matrix.T.tolist() == [[1.0, 4.0], [2.0, 5.0], [3.0, 7.0]]
    with pytest.raises(TypeError, match="rank 0"):
        len(A(1.0))


def test_kinds_of_arrays_are_arrays() -> None:
    assert isinstance(vector, qb.Array)
    assert isinstance(vector.slice(0, 0, 1), qb.Array)
    assert issubclass(qb.TraceTensor, qb.Array)
    assert not isinstance(np.ones(1), qb.Array)


def test_tensor_takes_a_shape_and_flat_data() -> None:
    assert qb.Tensor([], [1.0]).tolist() == 1.0
    assert qb.Tensor((2, 1), [1, 2]).tolist() == [[1.0], [2.0]]
    assert qb.Tensor([2], [True, False]).dtype is qb.bool_
    assert qb.Tensor([2], [0.1, 0.2], dtype=qb.float32).tolist() == [0.10000000149011612, 0.20000000298023224]
    assert qb.Tensor([0, 2], []).shape == [0, 2]
    for data in ([1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]]):
        with pytest.raises(ValueError, match="needs a flat list of 2"):
            qb.Tensor([2], data)


def test_static_constructors() -> None:
    assert qb.Tensor.zeros((1, 2)).tolist() == [[0.0, 0.0]]
    assert qb.Tensor.ones(2).tolist() == [1.0, 1.0]
    assert qb.Tensor.full((1,), 3.0).tolist() == [3.0]
    assert qb.Tensor.eye(1, 2).tolist() == [[1.0, 0.0]]
    assert qb.Tensor.arange(0, 2).tolist() == [0.0, 1.0]
    assert qb.Tensor.linspace(0.0, 1.0, 3).tolist() == [0.0, 0.5, 1.0]


# ---- operators ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "operator",
    [
        lambda x, y: x + y,
        lambda x, y: x - y,
        lambda x, y: x * y,
        lambda x, y: x / y,
        lambda x, y: x**y,
        lambda x, y: x // y,
        lambda x, y: x % y,
        lambda x, y: x < y,
        lambda x, y: x <= y,
        lambda x, y: x > y,
        lambda x, y: x >= y,
    ],
)
def test_operators_agree_with_numpy(operator: Callable[[Any, Any], Any]) -> None:
    x, y = np.array([1.5, -2.0, 3.0]), np.array([2.0, 3.0, 3.0])
    want = operator(x, y)
    for a, b in ((A(x), A(y)), (A(x), y)):
        got = operator(a, b)
        assert isinstance(got, qb.Tensor)
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-15)
    np.testing.assert_allclose(operator(A(x), 2.0).numpy(), operator(x, 2.0), rtol=1e-15)
    np.testing.assert_allclose(operator(2.0, A(y)).numpy(), operator(2.0, y), rtol=1e-15)


def test_unary_operators() -> None:
    x = A([1.0, -2.0])
    assert ((-x).tolist(), (+x).tolist(), abs(x).tolist()) == ([-1.0, 2.0], [1.0, -2.0], [1.0, 2.0])
    assert (~mask).tolist() == [False, True, False]
    with pytest.raises(ValueError, match="bool"):
        operators.invert(x)


def test_logic_takes_bool_arrays_only() -> None:
    other = A([True, True, False])
    assert ((mask & other).tolist(), (mask | other).tolist()) == ([True, False, False], [True, True, True])
    with pytest.raises(ValueError, match="bool"):
        vector & vector
    for number in (True, 1):
        with pytest.raises(TypeError, match="unsupported operand"):
            mask | number


def test_matrix_product_takes_matrices() -> None:
    assert (matrix @ matrix.T).tolist() == [[14.0, 35.0], [35.0, 90.0]]
    assert matrix.matmul(matrix.T).tolist() == (matrix @ matrix.T).tolist()
    assert (matrix @ np.ones((3, 1))).tolist() == [[6.0], [16.0]]
    with pytest.raises(ValueError, match=r"matmul and quabla\.dot take vectors"):
        matrix @ vector
    with pytest.raises(TypeError):
        matrix @ 2.0


@pytest.mark.parametrize("other", ["a", None, [1.0], vector.slice(0, 0, 3), {}], ids=lambda v: type(v).__name__)
def test_operators_reject_what_is_not_an_array_or_number(other: Any) -> None:
    for combine in (lambda: vector + other, lambda: other * vector, lambda: vector < other):
        with pytest.raises(TypeError):
            combine()


def test_whole_powers_are_exact_products() -> None:
    assert (A(3.0) ** 20).item() == 3.0**20
    assert A(-2.0).powi(3).item() == -8.0
    with pytest.raises(OverflowError):
        vector.powi(-1)
    with pytest.raises(TypeError):
        vector.powi(1.5)


def test_equality_is_identity() -> None:
    assert vector == vector
    assert vector != A([1.0, 2.0, 3.0])
    assert (vector == np.array([1.0, 2.0, 3.0])) is False
    assert {vector: "x"}[vector] == "x"


def test_membership_is_not_defined() -> None:
    with pytest.raises(TypeError):
        operators.contains(vector, 2.0)  # type: ignore[arg-type]


def test_indexing_and_iteration() -> None:
    assert [row.tolist() for row in matrix] == matrix.tolist()
    assert (matrix[1, -1].item(), matrix[:, 1].tolist(), matrix[None, ..., ::-2].tolist()) == (
        7.0,
        [2.0, 5.0],
        [[[3.0, 1.0], [7.0, 4.0]]],
    )
    with pytest.raises(TypeError, match="rank 0"):
        iter(A(1.0))
    with pytest.raises(IndexError):
        vector[3]
    with pytest.raises(TypeError):
        vector[1.0]  # type: ignore[index]


# ---- methods ------------------------------------------------------------------------------------

UNARY = [
    "abs",
    "exp",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "sqrt",
    "cbrt",
    "sin",
    "cos",
    "tan",
    "tanh",
    "sinh",
    "cosh",
    "arcsin",
    "arccos",
    "arctan",
    "arcsinh",
    "arctanh",
    "erf",
    "erfc",
    "floor",
    "ceil",
    "round",
    "relu",
    "sigmoid",
    "softplus",
    "isnan",
    "isfinite",
    "stop_gradient",
]


@pytest.mark.parametrize("name", UNARY)
def test_methods_are_the_module_functions(name: str) -> None:
    x = A([0.25, 0.5])
    assert getattr(x, name)().tolist() == getattr(qb, name)(x).tolist()


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "norm"])
def test_reductions_take_axis_and_keepdims(name: str) -> None:
    for kwargs in ({}, {"axis": 1}, {"axis": (0, 1), "keepdims": True}):
        assert getattr(matrix, name)(**kwargs).tolist() == getattr(qb, name)(matrix, **kwargs).tolist()
    assert (mask.any().item(), mask.all(axis=0).item()) == (True, False)


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("add", [3.0, 4.0, 5.0]),
        ("sub", [-1.0, 0.0, 1.0]),
        ("mul", [2.0, 4.0, 6.0]),
        ("div", [0.5, 1.0, 1.5]),
        ("maximum", [2.0, 2.0, 3.0]),
        ("minimum", [1.0, 2.0, 2.0]),
        ("fmod", [1.0, 0.0, 1.0]),
        ("equal", [False, True, False]),
        ("not_equal", [True, False, True]),
        ("greater", [False, False, True]),
        ("greater_equal", [False, True, True]),
        ("less", [True, False, False]),
        ("less_equal", [True, True, False]),
        ("gt", [0.0, 0.0, 1.0]),
    ],
)
def test_named_operators(name: str, want: list[Any]) -> None:
    assert getattr(vector, name)(A([2.0, 2.0, 2.0])).tolist() == want


def test_shape_methods() -> None:
    assert matrix.reshape(3, -1).shape == matrix.reshape((3, 2)).shape == matrix.reshape([3, 2]).shape == [3, 2]
    assert A(5.0).reshape().shape == []
    assert matrix.transpose((1, 0)).shape == matrix.transpose().shape == [3, 2]
    with pytest.raises(TypeError):
        matrix.transpose(1, 0)
    assert vector.broadcast_to((2, 3)).shape == [2, 3]
    assert matrix.gather([2, 0], axis=1).tolist() == [[3.0, 1.0], [7.0, 4.0]]
    assert qb.zeros(3).scatter_add([0, 2, 0], vector).tolist() == [4.0, 0.0, 2.0]
    assert vector.cumsum(reverse=True).tolist() == [6.0, 5.0, 3.0]
    assert mask.where_select(vector, -vector).tolist() == [1.0, -2.0, 3.0]
    assert (matrix.tril().tolist(), matrix.triu().tolist()) == (qb.tril(matrix).tolist(), qb.triu(matrix).tolist())
    assert vector.astype(qb.float32).dtype is qb.float32


# ---- values out ---------------------------------------------------------------------------------


def test_lists_and_items() -> None:
    assert (matrix.to_flat_list(), A(2.0).tolist()) == ([1.0, 2.0, 3.0, 4.0, 5.0, 7.0], 2.0)
    assert matrix.T.to_flat_list() == [1.0, 4.0, 2.0, 5.0, 3.0, 7.0]
    assert A([[2.5]]).item() == 2.5
    assert A([True]).item() is True
    with pytest.raises(ValueError, match="one element"):
        vector.item()


def test_numbers_come_from_one_element() -> None:
    assert (float(A([2.5])), int(A(2.5)), float(A(True))) == (2.5, 2, 1.0)
    for convert in (float, int):
        with pytest.raises(TypeError, match="one element"):
            convert(vector)


def test_truth_is_that_of_one_element() -> None:
    assert [bool(A(v)) for v in (2.0, 0.0, [True], False, float("nan"))] == [True, False, True, False, True]
    for several in (vector, mask, A([])):
        with pytest.raises(ValueError, match=r"quabla\.any"):
            bool(several)


@pytest.mark.parametrize(("dtype", "code"), [(qb.float64, "d"), (qb.float32, "f"), (qb.bool_, "?")])
def test_buffers_are_read_only_and_shared(dtype: qb.dtype, code: str) -> None:
    t = A([[0.0, 1.0], [1.0, 0.0]], dtype=dtype)
    view = memoryview(t)
    assert (view.format, view.shape, view.readonly, view.tolist()) == (code, (2, 2), True, t.tolist())
    assert np.shares_memory(np.asarray(t), t.numpy())
    assert bytes(t.T) == t.numpy().T.tobytes()


@pytest.mark.parametrize("export", [lambda t: t.numpy(), np.asarray, np.from_dlpack, lambda t: np.frombuffer(t)])
def test_exports_cannot_change_the_array(export: Callable[[Any], np.ndarray[Any, Any]]) -> None:
    t = A([1.0, 2.0])
    out = export(t)
    assert np.shares_memory(out, t.numpy())
    with pytest.raises(ValueError, match="read-only"):
        out[0] = 5.0
    with pytest.raises(ValueError, match="WRITEABLE"):
        out.flags.writeable = True


def test_dlpack_without_a_version_exports_a_copy() -> None:
    class Old:
        def __init__(self, t: Any) -> None:
            self.t = t

        def __dlpack__(self, **_: Any) -> Any:
            return self.t.__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.t.__dlpack_device__()

    t = A([1.0, 2.0])
    out = np.from_dlpack(Old(t))
    assert out.tolist() == [1.0, 2.0]
    assert not np.shares_memory(out, t.numpy())
    assert t.__dlpack_device__() == (1, 0)


def test_array_protocol_converts() -> None:
    assert np.asarray(vector, np.float32).dtype == np.float32
    assert np.array(vector).flags.writeable
    assert vector.__array__(copy=True).flags.writeable
    with pytest.raises(ValueError, match="copy"):
        vector.__array__(np.float32, copy=False)


# ---- immutability -------------------------------------------------------------------------------


def test_an_array_is_its_own_copy() -> None:
    assert copy.copy(vector) is vector
    assert copy.deepcopy({"x": [vector]})["x"][0] is vector


def test_arrays_are_not_pickled() -> None:
    with pytest.raises(TypeError, match=r"numpy\(\)"):
        pickle.dumps(vector)


def test_arrays_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        vector[0] = 1.0  # type: ignore[index]
    for name in ("shape", "dtype", "data", "type", "other"):
        with pytest.raises(AttributeError):
            setattr(vector, name, 1)
        with pytest.raises(AttributeError):
            delattr(vector, name)
    with pytest.raises(AttributeError):
        vector.foo  # noqa: B018


def test_computing_does_not_make_the_users_numpy_arrays_read_only() -> None:
    x = np.ones(3)
    (vector + x, qb.sin(x), A(x), qb.jit(lambda v: v + x)(vector))
    assert x.flags.writeable


# ---- views --------------------------------------------------------------------------------------


def test_slice_gives_a_view_that_shares_storage() -> None:
    view = matrix.slice(1, 1, 2)
    assert repr(view) == "TensorView(shape=[2, 2], strides=[3, 1])"
    assert (view.ndim, view.offset, view.dtype, view.size) == (2, 1, qb.float64, 4)
    assert view.to_flat_list() == [2.0, 3.0, 5.0, 7.0]
    assert view.to_tensor().tolist() == view.tolist() == [[2.0, 3.0], [5.0, 7.0]]
    assert np.shares_memory(view.numpy(), matrix.numpy())
    assert view.slice(0, 1, 1).offset == 4
    backwards = vector.slice(0, 2, 2, -2)
    assert (backwards.tolist(), backwards.strides, backwards.offset) == ([3.0, 1.0], [-2], 2)
    assert vector.slice(0, 1, 0).tolist() == []


def test_module_functions_take_views() -> None:
    np.testing.assert_allclose(qb.sin(matrix.slice(1, 0, 2)).numpy(), np.sin([[1.0, 2.0], [4.0, 5.0]]), rtol=1e-15)
    assert qb.asarray(vector.slice(0, 1, 2)).tolist() == [2.0, 3.0]
    assert np.asarray(vector.slice(0, 1, 2)).tolist() == [2.0, 3.0]


@pytest.mark.parametrize("args", [(1, 0, 1), (0, 0, 4), (0, 3, 1), (0, -1, 1), (0, 0, 2, -1), (0, 0, 1, 0), (0, 0, -1)])
def test_slice_must_stay_inside(args: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="slice"):
        vector.slice(*args)


def test_views_come_from_slice_only() -> None:
    with pytest.raises(TypeError, match=r"Tensor\.slice"):
        qb.TensorView()


# ---- NumPy --------------------------------------------------------------------------------------


def test_numpy_on_the_left_of_an_eager_array_is_numpys_operator() -> None:
    got = np.ones(3) + vector
    assert isinstance(got, np.ndarray)
    assert got.tolist() == [2.0, 3.0, 4.0]
    total = np.zeros(3)
    total += vector
    assert total.tolist() == [1.0, 2.0, 3.0]


def test_numpy_scalars_count_as_numbers() -> None:
    x = A([1.0, 2.0], dtype=qb.float32)
    for got in (np.float64(0.1) * x, x * np.float64(0.1)):
        assert isinstance(got, qb.Tensor)
        assert got.dtype is qb.float32
    assert (np.int64(2) - x).tolist() == [1.0, 0.0]


def test_numpy_functions_take_eager_arrays() -> None:
    assert np.sin(vector).tolist() == np.sin([1.0, 2.0, 3.0]).tolist()
    assert np.max(vector) == 3.0
    assert np.concatenate([vector, vector]).shape == (6,)
    assert (np.shape(matrix), np.ndim(matrix), np.size(matrix)) == ((2, 3), 2, 6)
    np.testing.assert_allclose(matrix, matrix.tolist())
    with pytest.raises(TypeError, match="immutable"):
        np.add(np.ones(3), 1.0, out=vector)  # type: ignore[call-overload]


def test_numpy_operators_on_traced_values_are_recorded() -> None:
    c = np.array([1.0, 2.0, 3.0])
    f = qb.jit(lambda x: (c + x) * c - c / (x**c) + (c < x) + np.float64(2.0) * x + x * c)
    x = np.array([0.5, 2.5, 1.0])
    np.testing.assert_allclose(f(A(x)).numpy(), (c + x) * c - c / (x**c) + (c < x) + 2.0 * x + x * c, rtol=1e-15)
    assert qb.jit(lambda m: np.ones((1, 2)) @ m)(matrix).tolist() == [[5.0, 7.0, 10.0]]


@pytest.mark.parametrize(
    ("use", "advice"),
    [
        (np.sin, r"quabla\.sin"),
        (np.add.reduce, "quabla"),
        (np.sum, "quabla"),
        (np.asarray, "quabla"),
        (np.linalg.norm, "quabla"),
    ],
)
def test_numpy_functions_on_traced_values_say_what_to_use(use: Callable[[Any], Any], advice: str) -> None:
    with pytest.raises(qb.TracerError, match=advice):
        qb.jit(use)(vector)


def test_traced_values_have_shape_and_methods() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.extend([x.shape, x.ndim, x.size, len(x), x.dtype, np.shape(x), (x == x) is True])
        return sum(row.exp().sum() for row in x) + x.T[0].sum()

    assert qb.jit(f)(matrix).item() == pytest.approx(np.exp(matrix.numpy()).sum() + 5.0, rel=1e-14)
    assert seen == [[2, 3], 2, 6, 2, qb.float64, (2, 3), True]
