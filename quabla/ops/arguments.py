"""What public functions accept for axes, shapes, widths and sequences of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

import numpy as np

from quabla import errors
from quabla.ops.dispatch import Value, as_value, is_value, promote
from quabla.ops.eager import is_tensor
from quabla.ops.types import Shape

__all__ = ["array_list", "axis_index", "axis_set", "pad_widths", "shape_tuple", "static_int", "static_ints"]


def _is_list(x: object) -> TypeGuard[Iterable[Any]]:
    kind = x.__class__
    if kind is tuple or kind is list or kind is int:  # an answer without the abstract class, which is slow to ask
        return kind is not int
    return isinstance(x, (Sequence, np.ndarray)) and not isinstance(x, (str, bytes)) and not is_value(x)


def static_int(what: str, x: Any) -> int:
    """``x`` as a Python int.

    Raises:
        TypeError: for anything that is not an integer (TracerError for traced values).
    """
    if x.__class__ is int:
        return x
    if isinstance(x, np.bool_):
        return int(x)
    if not isinstance(x, np.ndarray) and hasattr(x, "__index__"):
        try:
            return x.__index__()
        except errors.TracerError:
            raise
        except TypeError:  # an array of several elements, or of floats
            pass
    raise TypeError(f"{what} must be an int, got {x!r}{errors.at_user_line()}") from None


def static_ints(what: str, x: object) -> tuple[int, ...]:
    """A sequence of ints as a tuple.

    Raises:
        TypeError: for anything else.
    """
    if not _is_list(x):
        raise TypeError(f"{what} must be a sequence of ints, got {x!r}{errors.at_user_line()}")
    return tuple([static_int(f"{what}: each", i) for i in x])


def shape_tuple(name: str, shape: object) -> Shape:
    """A shape given as an int or a sequence of ints, as a tuple."""
    if isinstance(shape, (int, np.integer)):
        return (int(shape),)
    return static_ints(f"{name}: the shape", shape)


def axis_index(name: str, axis: object, rank: int) -> int:
    """An axis as a non-negative int.

    Raises:
        TypeError: where ``axis`` is not an int.
        ValueError: where there is no such axis.
    """
    i = static_int(f"{name}: the axis", axis)
    if not -rank <= i < rank:
        raise ValueError(f"{name}: axis {i} is out of range for rank {rank}{errors.at_user_line()}")
    return i % rank


def axis_set(name: str, axis: object, rank: int) -> tuple[int, ...]:
    """Axes to reduce, sorted: all of them for None, one for an int, the given ones for a sequence.

    Raises:
        TypeError: where ``axis`` is none of these.
        ValueError: where an axis does not exist or is given twice.
    """
    if axis is None:
        return tuple(range(rank))
    if not _is_list(axis):
        return (axis_index(name, axis, rank),)
    axes = sorted([axis_index(name, a, rank) for a in axis])
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: an axis is given twice in {axis!r}{errors.at_user_line()}")
    return tuple(axes)


def array_list(name: str, arrays: Any) -> list[Value]:
    """A non-empty sequence of arrays as values of one dtype.

    Raises:
        TypeError: where an element is not an array.
        ValueError: for an empty sequence or different float or int dtypes.
    """
    if (arrays.__class__ is list or arrays.__class__ is tuple) and arrays and is_tensor(arrays[0]):
        first = arrays[0]
        for x in arrays:
            if x.__class__ is not first.__class__ or x.type.dtype is not first.type.dtype:
                break
        else:
            return list(arrays)
    if not is_value(arrays) and not _is_list(arrays):
        raise TypeError(f"{name}: needs a sequence of arrays, got {arrays!r}{errors.at_user_line()}")
    values = []
    for x in arrays:
        if not is_value(x) and not isinstance(x, np.ndarray):
            raise TypeError(
                f"{name}: needs arrays, got {x!r} among them; quabla.array makes one of numbers and arrays"
                f"{errors.at_user_line()}"
            )
        values.append(as_value(x))
    if not values:
        raise ValueError(f"{name}: needs at least one array{errors.at_user_line()}")
    first = values[0].type.dtype
    if any(v.type.dtype is not first for v in values):
        values, _ = promote(name, *values, ints=True)
    return values


def pad_widths(name: str, pad_width: object, rank: int) -> list[tuple[int, int]]:
    """NumPy's pad widths (a number, a pair, or a pair for each axis) as a pair (before, after) for each axis.

    Raises:
        TypeError: where a width is not an int.
        ValueError: for negative widths or a number of pairs other than the rank.
    """
    what = f"{name}: a width"
    rows = list(pad_width) if _is_list(pad_width) else [pad_width]
    if rows and not any(map(_is_list, rows)):
        rows = [rows]
    pairs = [static_ints(what, r) for r in rows]
    pairs = [p * 2 if len(p) == 1 else p for p in pairs]
    if len(pairs) == 1:
        pairs *= rank
    if len(pairs) != rank or any(len(p) != 2 or min(p) < 0 for p in pairs):
        raise ValueError(
            f"{name}: widths must be a non-negative int, a pair, or a pair for each of the {rank} axes, "
            f"got {pad_width!r}{errors.at_user_line()}"
        )
    return [(p[0], p[1]) for p in pairs]
