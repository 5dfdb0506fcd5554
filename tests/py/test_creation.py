"""Making arrays: dtypes, shapes, values, and the errors for what cannot be an array."""

from __future__ import annotations

import array as buffers
from typing import Any

import numpy as np
import pytest

import quabla as qb

A = qb.array


def same(x: Any, values: Any, dtype: qb.dtype) -> None:
    want = np.asarray(values, dtype.numpy)
    assert x.dtype is dtype
    assert x.shape == list(want.shape)
    np.testing.assert_array_equal(x.numpy(), want)


@pytest.mark.parametrize(
    ("obj", "values", "dtype"),
    [
        (2, 2.0, qb.float64),
        (True, True, qb.bool_),
        ([1, 2], [1.0, 2.0], qb.float64),
        ((1.0, (2.0)), [1.0, 2.0], qb.float64),
        ([[1], [2]], [[1.0], [2.0]], qb.float64),
        ([True, False], [True, False], qb.bool_),
        ([True, 0.5], [1.0, 0.5], qb.float64),
        ([], [], qb.float64),
        ([[], []], [[], []], qb.float64),
        (np.arange(3), [0.0, 1.0, 2.0], qb.float64),
        (np.uint8(7), 7.0, qb.float64),
        (np.float32(0.1), np.float32(0.1), qb.float32),
        (np.array([True]), [True], qb.bool_),
        (np.ones(2, ">f4"), [1.0, 1.0], qb.float32),
        (np.arange(4.0).reshape(2, 2).T, [[0.0, 2.0], [1.0, 3.0]], qb.float64),
        (np.ones((2, 3))[:, ::2], [[1.0, 1.0], [1.0, 1.0]], qb.float64),
        (buffers.array("f", [1.5]), [1.5], qb.float32),
        (memoryview(buffers.array("d", [1.5])), [1.5], qb.float64),
        ([A(1.0), A(2.0)], [1.0, 2.0], qb.float64),
    ],
)
def test_array_takes(obj: Any, values: Any, dtype: qb.dtype) -> None:
    same(A(obj), values, dtype)
    same(qb.asarray(obj), values, dtype)


@pytest.mark.parametrize(
    ("obj", "error"),
    [
        ("a", TypeError),
        (b"a", TypeError),
        (None, TypeError),
        (1j, TypeError),
        (2**70, TypeError),
        ([1.0, "a"], TypeError),
        ([1.0, None], TypeError),
        ({"a": 1}, TypeError),
        ({1.0}, TypeError),
        (object(), TypeError),
        (np.float16(1), TypeError),
        (np.ones(2, np.longdouble), TypeError),
        ([[1.0], [1.0, 2.0]], ValueError),
        ([1.0, [2.0]], ValueError),
    ],
)
def test_array_rejects(obj: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        A(obj)


@pytest.mark.parametrize("dtype", ["f", np.float32, float, np.dtype("f8")])
def test_dtype_must_be_one_of_ours(dtype: Any) -> None:
    for make in (lambda: A([1, 2], dtype=dtype), lambda: qb.zeros(2, dtype), lambda: qb.arange(2, dtype=dtype)):
        with pytest.raises(TypeError, match=r"quabla\.float64"):
            make()


def test_dtype_converts_with_one_rounding() -> None:
    same(A(0.1, dtype=qb.float32), np.float32(0.1), qb.float32)
    same(A([1e300], dtype=qb.float32), [np.inf], qb.float32)
    same(A([0.0, 2.0, float("nan")], dtype=qb.bool_), [False, True, True], qb.bool_)


def test_asarray_keeps_what_is_an_array_already() -> None:
    x = A([1.0, 2.0])
    assert qb.asarray(x) is x
    assert qb.asarray(x, dtype=qb.float64) is x
    assert qb.array(x) is not x
    assert qb.asarray(x, dtype=qb.float32) is not x


def test_arrays_do_not_follow_the_numpy_array_they_came_from() -> None:
    source = np.zeros(2)
    made = (A(source), qb.asarray(source), qb.full((2,), source))
    source[0] = 7.0
    assert [t.tolist() for t in made] == [[0.0, 0.0]] * 3
    assert source.flags.writeable


def test_filled_arrays() -> None:
    same(qb.zeros((2,)), [0.0, 0.0], qb.float64)
    same(qb.zeros(3), [0.0] * 3, qb.float64)
    same(qb.ones([1, 2], qb.float32), [[1.0, 1.0]], qb.float32)
    same(qb.ones((), qb.bool_), True, qb.bool_)
    same(qb.zeros((2, 0)), np.zeros((2, 0)), qb.float64)
    same(qb.zeros(np.int64(2)), [0.0, 0.0], qb.float64)


def test_full_takes_the_dtype_of_its_value() -> None:
    same(qb.full((2,), 3), [3.0, 3.0], qb.float64)
    same(qb.full(2, True), [True, True], qb.bool_)
    same(qb.full((2, 2), A([2.0, 1.0], dtype=qb.float32)), [[2.0, 1.0]] * 2, qb.float32)
    same(qb.full((2,), 0.1, qb.float32), [np.float32(0.1)] * 2, qb.float32)
    with pytest.raises(ValueError, match="broadcast"):
        qb.full((2,), [1.0, 2.0, 3.0])


def test_like_takes_shape_and_dtype() -> None:
    x = A([[1.0, 2.0]], dtype=qb.float32)
    same(qb.zeros_like(x), [[0.0, 0.0]], qb.float32)
    same(qb.ones_like([1, 2]), [1.0, 1.0], qb.float64)
    same(qb.full_like(x, 2.0), [[2.0, 2.0]], qb.float32)
    same(qb.full_like(x, 2, qb.float64), [[2.0, 2.0]], qb.float64)


@pytest.mark.parametrize(
    ("shape", "error"),
    [((-1,), OverflowError), ("ab", TypeError), (1.5, TypeError), ((2, 1.0), TypeError), (None, TypeError)],
)
def test_shapes_are_ints_and_not_negative(shape: Any, error: type[Exception]) -> None:
    for make in (qb.zeros, qb.ones, lambda s: qb.full(s, 1.0)):
        with pytest.raises(error):
            make(shape)


@pytest.mark.parametrize(
    ("args", "values"),
    [
        ((3,), [0.0, 1.0, 2.0]),
        ((1, 3, 0.5), [1.0, 1.5, 2.0, 2.5]),
        ((3, 0, -1), [3.0, 2.0, 1.0]),
        ((2.5,), [0.0, 1.0, 2.0]),
        ((3, 1), []),
        ((0,), []),
    ],
)
def test_arange_counts_before_stop(args: tuple[float, ...], values: list[float]) -> None:
    same(qb.arange(*args), values, qb.float64)


def test_arange_does_not_accumulate_the_rounding_of_its_step() -> None:
    # numpy.arange multiplies by (start + step) - start, which has lost bits of the step.
    assert qb.arange(1.0, 2.0, 0.1).tolist() == [1.0 + i * 0.1 for i in range(10)]


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ((0, 1, 0), ValueError),
        ((0, float("inf")), ValueError),
        ((float("nan"),), ValueError),
        (("3",), TypeError),
        ((None,), TypeError),
    ],
)
def test_arange_rejects(args: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        qb.arange(*args)


def test_linspace_includes_both_ends() -> None:
    same(qb.linspace(-1.0, 2.0, 7, dtype=qb.float32), [-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0], qb.float32)
    same(qb.linspace(3.0, 9.0, 1), [3.0], qb.float64)
    same(qb.linspace(3.0, 9.0, 0), [], qb.float64)
    for num, error in ((2.5, TypeError), (-1, ValueError)):
        with pytest.raises(error):
            qb.linspace(0, 1, num)  # type: ignore[arg-type]


def test_eye_has_ones_on_its_main_diagonal() -> None:
    same(qb.eye(2), [[1.0, 0.0], [0.0, 1.0]], qb.float64)
    same(qb.eye(2, 3, qb.float32), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], qb.float32)
    same(qb.eye(0), np.zeros((0, 0)), qb.float64)
    with pytest.raises(OverflowError):
        qb.eye(-1)


def test_made_inside_a_trace_arrays_are_eager() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.extend([qb.zeros_like(x), qb.ones_like(x), qb.full_like(x, 2.0), qb.arange(2)])
        assert qb.asarray(x) is x
        return x * qb.full((2,), 3.0) + qb.full((2,), qb.sum(x))

    assert qb.jit(f)(A([1.0, 2.0])).tolist() == [6.0, 9.0]
    assert all(isinstance(t, qb.Tensor) for t in seen)


def test_lists_may_hold_arrays() -> None:
    x = A([1.0, 2.0], dtype=qb.float32)
    same(A([x, 2.0 * x]), [[1.0, 2.0], [2.0, 4.0]], qb.float32)
    same(A([x[0], 0.5]), [1.0, 0.5], qb.float32)
    same(A([[x[0], 0.0], [0.5, x[1]]]), [[1.0, 0.0], [0.5, 2.0]], qb.float32)
    same(A([x > 1.0]), [[False, True]], qb.bool_)
    with pytest.raises(ValueError, match="shape"):
        A([x, x[0]])
    with pytest.raises(ValueError, match="astype"):
        A([x[0], A(1.0)])


def test_lists_with_traced_elements_give_traced_arrays() -> None:
    def rotated(y: Any) -> Any:
        return A([y[1], -y[0], 1.0])

    assert qb.jit(rotated)(A([1.0, 2.0])).tolist() == [2.0, -1.0, 1.0]
    assert qb.jacobian(rotated)(A([1.0, 2.0])).tolist() == [[0.0, 1.0], [-1.0, 0.0], [0.0, 0.0]]
