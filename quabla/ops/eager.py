"""Eager values: how kernels run on Tensors at once, and how their results become Tensors.

On a few numbers a kernel takes half a microsecond, and every call of a Python function on the way to it a tenth of one. So
what an op does with operands of some types is worked out once, and looked up by the types from then on.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from quabla.dtypes import dtype
from quabla.ops.memo import Memo
from quabla.ops.registry import Kernel, Op
from quabla.ops.silence import silent
from quabla.ops.types import Params, TensorType, splat_const, tensor_type

__all__ = [
    "LONG_WAY",
    "Fields",
    "Found",
    "Known",
    "alike",
    "compute",
    "is_tensor",
    "known_pairs",
    "known_singles",
    "number",
    "one",
    "provide",
    "takes",
    "three",
    "two",
    "with_elements",
    "wrap",
]

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


def is_tensor(x: object) -> bool:
    """Whether ``x`` is eager."""
    return x.__class__ is Tensor


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
    # Spelled out for one and two operands: taking operands apart costs as much as a small kernel.
    n = len(operands)
    if n == 2:
        x, y = operands
        kernel, type = op.prepared[params, x.type, y.type]
        return wrap(silent().run(kernel, x.data, y.data), type)
    if n == 1:
        (x,) = operands
        kernel, type = op.prepared[params, x.type]
        return wrap(silent().run(kernel, x.data), type)
    kernel, type = op.prepared[(params, *[x.type for x in operands])]
    return wrap(silent().run(kernel, *[x.data for x in operands]), type)


def with_elements(x: Value, array: Any) -> Value:
    """Elements of a Tensor in another shape or order."""
    return wrap(array, x.type.with_shape(array.shape), x.weak)


def _rank_0(key: tuple[dtype, Any]) -> Value:
    dtype, value = key
    type = tensor_type((), dtype)
    if dtype.is_float:
        array = silent().run(np.asarray, float(value), dtype.numpy)
    else:
        array = splat_const(type, float(value) if value.__class__ is str else value).array
    return wrap(array, type)


#: Python numbers as Tensors of rank 0, by dtype and value: for a zero, which does not show its sign, its text.
_numbers: Final = Memo(_rank_0)


def number(value: float, dtype: dtype) -> Value:
    """A Python number, which must fit ``dtype``, as a Tensor of rank 0."""
    return _numbers[dtype, value or repr(float(value))]


# ---- the short way --------------------------------------------------------------------------------

#: A kernel and the type of its result; None where the long way is needed.
Found = tuple[Kernel | None, Any]
LONG_WAY: Final[Found] = (None, None)
#: What a function does to Tensors, by their types.
Known = Memo[Any, Found]


def known_singles(op: Op, params: Params = ()) -> Known:
    """An op on one Tensor that needs no conversion, by its type."""
    return Memo(lambda t: op.prepared[params, t] if takes(op, t.dtype) else LONG_WAY)


def known_pairs(op: Op, params: Params = (), *, ints: bool = False) -> Known:
    """An op on two Tensors that need no conversion, by their types."""

    def work_out(types: tuple[TensorType, TensorType]) -> Found:
        x, y = types
        fit = x.dtype is y.dtype and takes(op, x.dtype, ints=ints)
        return op.prepared[params, x, y] if fit else LONG_WAY

    return Memo(work_out)


def takes(op: Op, dtype: dtype, *, ints: bool = False) -> bool:
    """Whether an op takes a dtype as it is."""
    return dtype.is_float or (dtype.is_int and (ints or op.ints))


def one(known: Known, x: Any) -> Value | None:
    """The result for a Tensor or a Python float; None where the long way is needed."""
    if x.__class__ is Tensor:
        if x.weak:
            return None
        operand = x.data
        kernel, type = known[x.type]
    elif x.__class__ is float:
        operand = np.float64(x)
        kernel, type = known[_NUMBER]
    else:
        return None
    if kernel is None:
        return None
    return wrap(silent().run(kernel, operand), type)


def two(known: Known, x: Any, y: Any) -> Value | None:
    """The result for two Tensors, or for one of floats and a Python number; None where the long way is needed."""
    if x.__class__ is not y.__class__:
        x, y = alike(x, y)
    if x.__class__ is not Tensor or x.__class__ is not y.__class__ or x.weak or y.weak:
        return None
    kernel, type = known[x.type, y.type]
    if kernel is None:
        return None
    return wrap(silent().run(kernel, x.data, y.data), type)


def three(known: Known, x: Any, y: Any, z: Any) -> Value | None:
    """As ``two``, with another Tensor in front."""
    if y.__class__ is not z.__class__:
        y, z = alike(y, z)
    kind = x.__class__
    if kind is not Tensor or kind is not y.__class__ or kind is not z.__class__ or x.weak or y.weak or z.weak:
        return None
    kernel, type = known[x.type, y.type, z.type]
    if kernel is None:
        return None
    return wrap(silent().run(kernel, x.data, y.data, z.data), type)


def alike(x: Any, y: Any) -> tuple[Any, Any]:
    """A Python number beside a Tensor of floats as a Tensor of that dtype; anything else as it is."""
    kind, other = x.__class__, y.__class__
    if kind is Tensor and x.type.dtype.is_float:
        if other is float or (other is int and -_WHOLE < y < _WHOLE):
            return x, _numbers[x.type.dtype, y or repr(y)]
    elif other is Tensor and y.type.dtype.is_float and (kind is float or (kind is int and -_WHOLE < x < _WHOLE)):
        return _numbers[y.type.dtype, x or repr(x)], y
    return x, y


#: Ints up to here are floats too.
_WHOLE: Final = 1 << 53
_NUMBER: Final = tensor_type(())
