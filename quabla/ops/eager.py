"""Eager values: how kernels run on Tensors at once, and how their results become Tensors.

On a few numbers a kernel takes half a microsecond, and every call of a Python function on the way to it a tenth of one. So
what an op does with operands of some types is worked out once, and looked up by the types from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from quabla.dtypes import dtype
from quabla.ops.registry import Kernel, Op
from quabla.ops.silence import silently, silently_inside
from quabla.ops.types import Params, TensorType, splat_const, tensor_type

__all__ = ["LONG_WAY", "Fields", "Known", "compute", "known_pairs", "known_singles", "numbers", "one", "provide", "two", "wrap"]

Value = Any


# ---- Tensors --------------------------------------------------------------------------------------


class Fields:
    """What a Tensor holds: an array that is never written to, its type, and whether its dtype gives way to others'."""

    __slots__ = ("__weakref__", "data", "type", "weak")

    data: np.ndarray[Any, Any]
    type: TensorType
    weak: bool


class _Open(Fields):
    """A Tensor in the making. Its fields can be set, at a third of the cost of getting around ``Tensor.__setattr__``."""

    __slots__ = ()


Tensor: Any = _Open


def provide(tensor: type[Fields]) -> None:
    """Let results be of this class, which adds no fields; for ``quabla.array``."""
    global Tensor
    Tensor = tensor


_ndarray: Final = np.ndarray


def wrap(array: Any, type: TensorType, weak: bool = False) -> Value:
    """A Tensor over a NumPy array or scalar, which must have this type and never be written again."""
    if array.__class__ is not _ndarray:
        array = np.asarray(array, type.dtype.numpy)
    t = _Open()
    t.data = array
    t.type = type
    t.weak = weak
    t.__class__ = Tensor
    return t


# ---- kernels --------------------------------------------------------------------------------------


def compute(op: Op, operands: tuple[Value, ...], params: Params = ()) -> Value:
    """An op on Tensors."""
    kernel, type = op.prepared[(params, *[x.type for x in operands])]
    arrays = [x.data for x in operands]
    try:
        array = silently(kernel, *arrays)
    except RuntimeError:
        array = silently_inside(kernel, *arrays)
    return wrap(array, type)


class _Numbers(dict[tuple[dtype, Any], Any]):
    """Python numbers as Tensors of rank 0, by dtype and value; None for an int that is too large for any float."""

    __slots__ = ()

    def __missing__(self, key: tuple[dtype, Any]) -> Value | None:
        dtype, value = key
        if value.__class__ is int and value.bit_length() > _MOST_BITS:
            return None
        if value != value or value == 0:  # NaN is not equal to itself, and zeros of both signs are
            key = dtype, str(float(value))
            if key in self:
                return self[key]
        if dtype.is_float:
            array = silently_inside(np.asarray, float(value), dtype.numpy)
        else:
            array = splat_const(tensor_type((), dtype), value).array
        if len(self) > _MOST:
            self.clear()
        number = self[key] = wrap(array, tensor_type((), dtype))
        return number


_MOST_BITS: Final = 1000
_MOST: Final = 4096
numbers: Final = _Numbers()


# ---- the short way --------------------------------------------------------------------------------

#: A kernel and the type of its result; None where the long way is needed.
Found = tuple[Kernel | None, Any]
LONG_WAY: Final[Found] = (None, None)


class Known(dict[Any, Found]):
    """What a function does to Tensors, by their types and what else its kernel depends on.

    Args:
        work_out: what is to be known about a key.
    """

    __slots__ = ("_work_out",)

    def __init__(self, work_out: Callable[[Any], Found]) -> None:
        super().__init__()
        self._work_out: Final = work_out

    def __missing__(self, key: Any) -> Found:
        if len(self) > _MOST:
            self.clear()
        found = self[key] = self._work_out(key)
        return found


def known_singles(op: Op, params: Params = ()) -> Known:
    """An op on one Tensor that needs no conversion, by its type."""
    return Known(lambda t: op.prepared[params, t] if _takes(op, t.dtype) else LONG_WAY)


def known_pairs(op: Op, params: Params = (), *, ints: bool = False) -> Known:
    """An op on two Tensors that need no conversion, by their types."""

    def work_out(types: tuple[TensorType, TensorType]) -> Found:
        x, y = types
        fit = x.dtype is y.dtype and _takes(op, x.dtype, ints=ints)
        return op.prepared[params, x, y] if fit else LONG_WAY

    return Known(work_out)


def _takes(op: Op, dtype: dtype, *, ints: bool = False) -> bool:
    return dtype.is_float or (dtype.is_int and (ints or op.ints))


def one(known: Known, x: Any) -> Value | None:
    """The result for a Tensor; None where the long way is needed."""
    if x.__class__ is not Tensor or x.weak:
        return None
    kernel, type = known[x.type]
    if kernel is None:
        return None
    try:
        array = silently(kernel, x.data)
    except RuntimeError:
        array = silently_inside(kernel, x.data)
    return wrap(array, type)


def two(known: Known, x: Any, y: Any) -> Value | None:
    """The result for two Tensors, or for one of floats and a Python number; None where the long way is needed."""
    kind, other = x.__class__, y.__class__
    if kind is not other:
        if kind is Tensor and (other is float or other is int) and x.type.dtype.is_float:
            y = numbers[x.type.dtype, y]
        elif other is Tensor and (kind is float or kind is int) and y.type.dtype.is_float:
            x = numbers[y.type.dtype, x]
        else:
            return None
        if x is None or y is None:
            return None
    elif kind is not Tensor:
        return None
    kernel, type = known[x.type, y.type]
    if kernel is None or x.weak or y.weak:
        return None
    try:
        array = silently(kernel, x.data, y.data)
    except RuntimeError:
        array = silently_inside(kernel, x.data, y.data)
    return wrap(array, type)
