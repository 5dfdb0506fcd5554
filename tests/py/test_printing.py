"""How arrays print: NumPy's default style with the dtype, whatever the user's print options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import quabla as qb

A = qb.array


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (A(1.5), "Tensor(1.5, dtype=float64)"),
        (A(True), "Tensor( True, dtype=bool)"),
        (A(False), "Tensor(False, dtype=bool)"),
        (A([True, False]), "Tensor([ True, False], dtype=bool)"),
        (A([0.87758255, 1.7551651]), "Tensor([0.87758255, 1.7551651 ], dtype=float64)"),
        (A([[1, 2], [3, 4]]), "Tensor([[1., 2.],\n        [3., 4.]], dtype=float64)"),
        (A([0.1], dtype=qb.float32), "Tensor([0.1], dtype=float32)"),
        (A([float("inf"), float("nan"), -1.0]), "Tensor([inf, nan, -1.], dtype=float64)"),
        (A([]), "Tensor([], dtype=float64)"),
        (qb.zeros((0, 3)), "Tensor([], shape=(0, 3), dtype=float64)"),
        (qb.arange(1001), "Tensor([   0.,    1.,    2., ...,  998.,  999., 1000.], dtype=float64)"),
    ],
)
def test_array_prints(array: Any, text: str) -> None:
    assert repr(array) == text
    assert str(array) == text


def test_dtype_moves_to_an_aligned_line_where_it_does_not_fit() -> None:
    fits, does_not = A([0.123456789] * 4), A([0.123456789] * 5)
    assert repr(fits) == "Tensor([0.12345679, 0.12345679, 0.12345679, 0.12345679], dtype=float64)"
    assert repr(does_not).splitlines()[1] == "       dtype=float64)"


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=1, max_dims=3, max_side=5), elements=st.floats(width=32)))
def test_elements_print_as_numpy_prints_them(values: np.ndarray[Any, Any]) -> None:
    body = np.array2string(values, separator=", ", prefix="Tensor(", suffix=")")
    assert repr(A(values)).startswith(f"Tensor({body},")


def test_print_options_of_numpy_have_no_effect() -> None:
    a = A([1 / 3, 1e-12, float("nan")])
    before = repr(a)
    with np.printoptions(precision=2, suppress=True, nanstr="?", formatter={"float": str}, linewidth=10, threshold=1):
        assert repr(a) == before


def test_format_applies_to_one_element() -> None:
    assert f"{A([2.5]):.2e} {A(True)}" == "2.50e+00 Tensor( True, dtype=bool)"
    with pytest.raises(ValueError, match="one element"):
        format(A([1.0, 2.0]), ".2e")
