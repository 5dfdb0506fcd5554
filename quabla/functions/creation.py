"""Making arrays: from numbers, lists and buffers, and by rule.

The results are eager, also inside a trace, where they become constants when an op uses them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from quabla import dtypes, errors
from quabla.dtypes import dtype
from quabla.functions.shape import stack
from quabla.ops import dispatch
from quabla.ops.arguments import shape_tuple, static_int
from quabla.ops.dispatch import Value
from quabla.ops.eager import wrap
from quabla.ops.memo import Memo
from quabla.ops.shaping import broadcast_to
from quabla.ops.types import Shape, TensorType, tensor_type

__all__ = [
    "arange",
    "array",
    "asarray",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]

_F64: Final = np.dtype(np.float64)


# ---- conversion ---------------------------------------------------------------------------------


def to_storage(obj: Any, dtype: dtype | None = None) -> np.ndarray[Any, Any]:
    """Anything array-like as a new NumPy array in C order of one of the dtypes.

    Numbers and NumPy integers become float64 unless ``dtype`` is an int one; a list of bools only becomes bool.

    Raises:
        TypeError: for what has no such form: text, None, complex numbers, float16, integers beyond 64 bits, masked
            elements.
        ValueError: for ragged lists, and for NaN and infinities as ints.
        OverflowError: for numbers beyond an int dtype.
    """
    source = obj.__class__
    if dtype is None and source is np.ndarray and obj.dtype in _AS_THEY_ARE:
        return obj.copy()
    if isinstance(obj, (str, bytes)) or obj is None:
        raise TypeError(f"cannot make an array from {obj!r}{errors.at_user_line()}")
    if isinstance(obj, np.ndarray) and obj.__class__ is not np.ndarray and np.any(getattr(obj, "mask", False)):
        raise TypeError(
            "cannot make an array from a masked array with masked elements, since arrays have no masks; fill them first, "
            f"x.filled(value){errors.at_user_line()}"
        )
    try:
        found = np.asarray(obj)
    except ValueError as e:
        raise ValueError(f"cannot make an array from a ragged list: {e}{errors.at_user_line()}") from None
    if dtype is None and source in _COPIED and found.dtype in _AS_THEY_ARE:
        return found
    kind, size = found.dtype.kind, found.dtype.itemsize
    if dtype is not None and dtype.is_int and kind in "iuf" and size <= 8:
        return _integers(found, dtype)
    if kind in "iu":
        return found.astype(_F64, "C")
    if kind == "b" or (kind == "f" and size in (4, 8)):
        return np.array(found, found.dtype.newbyteorder("="), order="C", copy=True, subok=False)
    what = f"elements of NumPy dtype {found.dtype}" if kind != "O" else f"{type(obj).__name__} with such elements"
    raise TypeError(
        f"cannot make an array from {what}; arrays hold float64, float32, bool, int32 or int64{errors.at_user_line()}"
    )


#: The dtypes whose numbers stay what they are.
_AS_THEY_ARE: Final = frozenset({np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.bool_)})
#: The classes that NumPy makes a new array of in any case.
_COPIED: Final = frozenset({list, tuple, float, bool})


def _integers(found: np.ndarray[Any, Any], dtype: dtype) -> np.ndarray[Any, Any]:
    """Numbers as integers, truncated.

    Raises:
        ValueError: for NaN and infinities.
        OverflowError: for numbers out of range.
    """
    limits = np.iinfo(dtype.numpy)
    if found.dtype.kind == "f":
        if not np.isfinite(found).all():
            raise ValueError(f"cannot make {dtype!r} of NaN or infinity{errors.at_user_line()}")
        found = np.trunc(found.astype(_F64))
        fits = (found >= limits.min) & (found < -float(limits.min))
    else:
        fits = (found >= limits.min) & (found <= limits.max)
    if not fits.all():
        wrong = found[~fits].flat[0] if found.ndim else found[()]
        raise OverflowError(f"{wrong} does not fit {dtype!r}{errors.at_user_line()}")
    return found.astype(dtype.numpy, "C")


def type_of(storage: np.ndarray[Any, Any]) -> TensorType:
    """The tensor type of a NumPy array."""
    return _types[storage.shape, storage.dtype]


def _type_of(key: tuple[Shape, np.dtype[Any]]) -> TensorType:
    shape, numpy = key
    found = dtypes.from_numpy(numpy)
    if found is None:
        raise TypeError(f"arrays hold float64, float32, bool, int32 or int64, got NumPy dtype {numpy}")
    return tensor_type(shape, found)


_types: Final = Memo(_type_of)


def _wrap(storage: np.ndarray[Any, Any], dtype: dtype | None = None) -> Value:
    if dtype is not None and storage.dtype != dtype.numpy:
        with np.errstate(all="ignore"):
            storage = storage.astype(dtype.numpy)
    return wrap(storage, type_of(storage))


def checked_shape(name: str, shape: Any) -> Shape:
    extents = (shape,) if shape.__class__ is int else shape_tuple(name, shape)
    for n in extents:
        if n < 0:
            raise OverflowError(f"{name}: a shape has no negative extents, got {list(extents)}{errors.at_user_line()}")
    return extents


# ---- from values --------------------------------------------------------------------------------


def asarray(obj: Any, dtype: dtype | None = None) -> Value:
    """``obj`` as an array: the object itself where it is one already and has the dtype.

    Args:
        obj: an array, number, NumPy array, object with the buffer protocol or ``__array__``, or a nested list of
            numbers and arrays; with traced ones among them the result is traced.
        dtype: the element type; by default that of ``obj``, float64 for numbers and NumPy integers.

    Raises:
        TypeError: where ``obj`` is not array-like.
        ValueError: for ragged lists.

    Example:
        >>> qb.asarray([[1, 2], [3, 4]]).shape
        [2, 2]
    """
    if dtype is not None:
        dtypes.check(dtype)
    kind = obj.__class__
    if kind is np.ndarray or (kind is list and not _holds_arrays(obj)):  # the usual ones first
        return _wrap(to_storage(obj, dtype), dtype)
    if dispatch.is_value(obj):
        return obj if dtype is None else dispatch.cast(obj, dtype)
    if isinstance(obj, (list, tuple)) and _holds_arrays(obj):
        made = _stacked(obj)
        return made if dtype is None else dispatch.cast(made, dtype)
    view = getattr(obj, "to_tensor", None)
    if view is not None:
        return asarray(view(), dtype)
    return _wrap(to_storage(obj, dtype), dtype)


def _holds_arrays(items: Any) -> bool:
    if _NUMBERS.issuperset(map(type, items)):
        return False
    kinds = set(map(type, items))
    if any(hasattr(kind, "traced") for kind in kinds):
        return True
    nested = list in kinds or tuple in kinds
    return nested and any(_holds_arrays(x) for x in items if isinstance(x, (list, tuple)))


_NUMBERS: Final = frozenset({float, int, bool})


def _stacked(items: Any) -> Value:
    """A list with arrays among its elements, by the rules of promotion; traced if one of them is."""
    rows = [asarray(x) if isinstance(x, (list, tuple)) else x for x in items]
    values = [x if dispatch.is_number(x) else asarray(x) for x in rows]
    if any(dispatch.is_number(x) or not x.type.dtype.is_bool for x in values):
        values, _ = dispatch.promote("array", *values, ints=True)
    return stack(values)


@errors.hides_library_frames
def array(obj: Any, dtype: dtype | None = None) -> Value:
    """A new array with the values of ``obj``; takes what ``asarray`` takes.

    Example:
        >>> qb.array([1.0, 2.0])
        Tensor([1., 2.], dtype=float64)
    """
    try:
        out = asarray(obj, dtype)
        if out is obj and not out.traced:
            return wrap(out.data, out.type)  # arrays never change, so the storage can be shared
        return out
    except Exception as e:
        errors.hide_library_frames(e)
        raise


def from_dlpack(x: Any, *, device: str | None = None, copy: bool | None = None) -> Value:
    """An array over the memory of another library's array, without a copy where its dtype is one of ours.

    Args:
        x: an array in the memory of the CPU with ``__dlpack__``, such as one of NumPy, JAX or PyTorch. Who writes to it
            afterwards changes the result too, unless it is a copy.
        device: where to put the array: ``"cpu"`` or None.
        copy: True for a copy in any case, False for none. By default only integers of other sizes than
            32 and 64 bits, and unsigned ones, are copied, as float64.

    Raises:
        TypeError: where ``x`` has no ``__dlpack__``, or elements that have no dtype here.
        ValueError: for another device.
        BufferError: where ``x`` is not in the memory of the CPU, or needs a copy that is ruled out.

    Example:
        >>> import numpy as np
        >>> qb.from_dlpack(np.array([1.0, 2.0]))
        Tensor([1., 2.], dtype=float64)
    """
    if device not in (None, "cpu"):
        raise ValueError(f"from_dlpack: device must be 'cpu' or None, got {device!r}{errors.at_user_line()}")
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack: needs an array with __dlpack__, got {x!r}{errors.at_user_line()}")
    if dispatch.is_value(x) and x.traced:
        return x
    try:
        storage = np.from_dlpack(x, copy=copy)
    except (BufferError, RuntimeError) as e:
        raise BufferError(f"from_dlpack: {e}{errors.at_user_line()}") from None
    if dtypes.from_numpy(storage.dtype) is not None:
        return _wrap(storage)
    converted = to_storage(storage)
    if copy is False:
        raise BufferError(f"from_dlpack: {storage.dtype} elements need a copy{errors.at_user_line()}")
    return _wrap(converted)


# ---- filled -------------------------------------------------------------------------------------


def zeros(shape: int | Sequence[int], dtype: dtype | None = None) -> Value:
    """An array of zeros, float64 unless ``dtype`` says otherwise.

    Example:
        >>> qb.zeros((2, 2), dtype=qb.float32)
        Tensor([[0., 0.],
                [0., 0.]], dtype=float32)
    """
    return _filled("zeros", np.zeros, shape, dtype)


def ones(shape: int | Sequence[int], dtype: dtype | None = None) -> Value:
    """An array of ones, float64 unless ``dtype`` says otherwise.

    Example:
        >>> qb.ones(3)
        Tensor([1., 1., 1.], dtype=float64)
    """
    return _filled("ones", np.ones, shape, dtype)


def _filled(name: str, make: Callable[..., Any], shape: object, dtype: dtype | None) -> Value:
    kind = dtypes.float64 if dtype is None else dtypes.check(dtype)
    extents = checked_shape(name, shape)
    return wrap(make(extents, kind.numpy), tensor_type(extents, kind))


def full(shape: int | Sequence[int], fill_value: Any, dtype: dtype | None = None) -> Value:
    """An array filled with a number, or with an array broadcast to the shape.

    Args:
        shape: the extents.
        fill_value: a number or an array; a traced one gives a traced result.
        dtype: by default that of ``fill_value``.

    Raises:
        ValueError: where ``fill_value`` does not broadcast to ``shape``.

    Example:
        >>> qb.full((2, 2), qb.array([1.0, 2.0]))
        Tensor([[1., 2.],
                [1., 2.]], dtype=float64)
    """
    extents = checked_shape("full", shape)
    value = asarray(fill_value, dtype)
    if value.traced:
        return broadcast_to(value, extents)
    try:
        storage = np.broadcast_to(value.data, extents)
    except ValueError:
        raise ValueError(
            f"full: a value of shape {list(value.type.shape)} does not broadcast to {list(extents)}"
            f"{errors.at_user_line()}"
        ) from None
    return _wrap(storage)


def zeros_like(x: Any, dtype: dtype | None = None) -> Value:
    """Zeros of the shape and dtype of ``x``; eager, also for traced ``x``.

    Example:
        >>> qb.zeros_like(qb.array([1.0, 2.0]))
        Tensor([0., 0.], dtype=float64)
    """
    like = asarray(x).type
    return zeros(like.shape, like.dtype if dtype is None else dtype)


def ones_like(x: Any, dtype: dtype | None = None) -> Value:
    """Ones of the shape and dtype of ``x``; eager, also for traced ``x``.

    Example:
        >>> qb.ones_like(qb.array([[0.0, 2.0]]))
        Tensor([[1., 1.]], dtype=float64)
    """
    like = asarray(x).type
    return ones(like.shape, like.dtype if dtype is None else dtype)


def full_like(x: Any, fill_value: Any, dtype: dtype | None = None) -> Value:
    """An array of the shape and dtype of ``x`` filled with ``fill_value``; eager, also for traced ``x``.

    Example:
        >>> qb.full_like(qb.array([1.0, 2.0]), 7.0)
        Tensor([7., 7.], dtype=float64)
    """
    like = asarray(x).type
    return full(like.shape, fill_value, like.dtype if dtype is None else dtype)


# ---- by rule ------------------------------------------------------------------------------------


def arange(start: float, stop: float | None = None, step: float = 1.0, dtype: dtype | None = None) -> Value:
    """The numbers ``start + i * step`` before ``stop``; from 0 where only one bound is given.

    Raises:
        ValueError: for a step of zero, or bounds that are not finite.

    Example:
        >>> qb.arange(3)
        Tensor([0., 1., 2.], dtype=float64)
    """
    if dtype is not None:
        dtypes.check(dtype)
    if stop is None:
        start, stop = 0.0, start
    first, last, by = (_number("arange", v) for v in (start, stop, step))
    if by == 0:
        raise ValueError(f"arange: step must not be zero{errors.at_user_line()}")
    if dtype is not None and dtype.is_int and all(isinstance(n, (int, np.integer)) for n in (start, stop, step)):
        return _wrap(to_storage(np.arange(start, stop, step), dtype))
    count = (last - first) / by
    if not math.isfinite(count):
        raise ValueError(f"arange: no finite range from {first} to {last} by {by}{errors.at_user_line()}")
    return _by_rule(first + by * np.arange(max(0, math.ceil(count)), dtype=_F64), dtype)


def linspace(start: float, stop: float, num: int, dtype: dtype | None = None) -> Value:
    """``num`` evenly spaced numbers from ``start`` to ``stop``, both included.

    Raises:
        TypeError: where ``num`` is not an int.
        ValueError: where ``num`` is negative.

    Example:
        >>> qb.linspace(0.0, 1.0, 5)
        Tensor([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float64)
    """
    if dtype is not None:
        dtypes.check(dtype)
    first, last = _number("linspace", start), _number("linspace", stop)
    count = static_int("linspace: num", num)
    if count < 0:
        raise ValueError(f"linspace: num must not be negative, got {count}{errors.at_user_line()}")
    with np.errstate(all="ignore"):
        numbers = np.linspace(first, last, count)
        return _by_rule(np.floor(numbers) if dtype is not None and dtype.is_int else numbers, dtype)


def eye(n: int, m: int | None = None, dtype: dtype | None = None) -> Value:
    """The identity matrix, of shape ``[n, n]`` or, with ones on its main diagonal, ``[n, m]``.

    Example:
        >>> qb.eye(2, 3)
        Tensor([[1., 0., 0.],
                [0., 1., 0.]], dtype=float64)
    """
    rows, columns = checked_shape("eye", (n, n if m is None else m))
    return _by_rule(np.eye(rows, columns), dtype)


def _by_rule(storage: np.ndarray[Any, Any], dtype: dtype | None) -> Value:
    return _wrap(storage, None if dtype is None else dtypes.check(dtype))


def _number(name: str, value: Any) -> float:
    if isinstance(value, str):
        raise TypeError(f"{name}: needs numbers, got {value!r}{errors.at_user_line()}")
    try:
        return float(value)
    except TypeError as e:
        if isinstance(e, errors.TracerError):
            raise
        raise TypeError(f"{name}: needs numbers, got {value!r}{errors.at_user_line()}") from None
