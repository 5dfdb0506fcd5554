"""Checks of the numbers that configure optimizers and schedules."""

from __future__ import annotations

import math
from typing import Any

from quabla import errors
from quabla.ops.arguments import static_int

__all__ = ["between", "count", "number", "positive"]


def number(what: str, value: Any) -> float:
    """A number of a configuration.

    Raises:
        TypeError: for anything but a number.
        ValueError: for an int that is out of float64's range.
    """
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        raise TypeError(f"{what} must be a number, got {value!r}{errors.at_user_line()}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{what} must be in the range of float64, got a greater int{errors.at_user_line()}") from None


def positive(what: str, value: Any) -> float:
    """A positive, finite number.

    Raises:
        TypeError: for anything but a number.
        ValueError: where it is not positive and finite.
    """
    x = number(what, value)
    if not 0.0 < x < math.inf:
        raise ValueError(f"{what} must be positive and finite, got {value!r}{errors.at_user_line()}")
    return x


def between(what: str, value: Any, low: float, high: float) -> float:
    """A number from ``low`` up to, not including, ``high``.

    Raises:
        TypeError: for anything but a number.
        ValueError: where it is outside.
    """
    x = number(what, value)
    if not low <= x < high:
        raise ValueError(f"{what} must be in [{low:g}, {high:g}), got {value!r}{errors.at_user_line()}")
    return x


def count(what: str, value: Any) -> int:
    """A positive int.

    Raises:
        TypeError: for anything but an int.
        ValueError: where it is not positive.
    """
    n = static_int(what, value)
    if n < 1:
        raise ValueError(f"{what} must be at least 1, got {n}{errors.at_user_line()}")
    return n
