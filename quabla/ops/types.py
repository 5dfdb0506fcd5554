"""Tensor types and constants: what an op's inference sees and what its attributes hold."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy as np

from quabla import dtypes
from quabla.dtypes import dtype

__all__ = ["Const", "Params", "Shape", "TensorType", "broadcast_shapes", "tensor_type"]

Shape = tuple[int, ...]
#: Attribute values of one op, in the order its record declares them.
Params = tuple[Any, ...]


class TensorType:
    """A shape and a dtype. Types are interned: equal types are the same object, so compare with ``is``."""

    __slots__ = ("dtype", "ndim", "shape", "size")

    shape: Shape
    dtype: dtype
    ndim: int
    size: int

    def __repr__(self) -> str:
        return f"tensor<{'x'.join([*map(str, self.shape), self.dtype.mlir])}>"

    def with_shape(self, shape: Shape) -> TensorType:
        return _interned.get((shape, self.dtype)) or tensor_type(shape, self.dtype)

    def with_dtype(self, dtype: dtype) -> TensorType:
        return tensor_type(self.shape, dtype)


_interned: Final[dict[tuple[Shape, dtype], TensorType]] = {}


def tensor_type(shape: Shape, dtype: dtype = dtypes.float64) -> TensorType:
    """The type of tensors of this shape (a tuple of ints) and dtype."""
    t = _interned.get((shape, dtype))
    if t is None:
        t = TensorType()
        t.shape, t.dtype, t.ndim, t.size = shape, dtype, len(shape), prod(shape)
        t = _interned.setdefault((shape, dtype), t)
    return t


def broadcast_shapes(*shapes: Shape) -> Shape:
    """NumPy's broadcast of some shapes.

    Raises:
        ValueError: where the extents of an axis differ and none of them is 1.
    """
    first = shapes[0]
    for s in shapes:
        if s != first:
            break
    else:
        return first
    rank = max(map(len, shapes))
    out = [1] * rank
    for s in shapes:
        for i, n in enumerate(s, rank - len(s)):
            if n != out[i]:
                if out[i] == 1:
                    out[i] = n
                elif n != 1:
                    raise ValueError(f"shapes {' and '.join(str(list(s)) for s in shapes)} do not broadcast")
    return tuple(out)


class Const:
    """The value of a constant. Equal bytes are equal, so 0.0 and -0.0 differ and NaN equals itself.

    Attributes:
        array: the value, read-only and C-contiguous.
        splat: the Python number that every element equals bit for bit, or None.
    """

    __slots__ = ("_hash", "array", "key", "splat", "type")

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        found = dtypes.from_numpy(array.dtype)
        if found is None:
            raise TypeError(f"a constant must be of one of quabla's dtypes, got {array.dtype}")
        raw = array.tobytes()
        one = raw[: array.itemsize]
        repeated = array.size > 0 and raw == one * array.size
        self._fill(tensor_type(array.shape, found), array, one if repeated else raw, repeated)

    def _fill(self, type: TensorType, array: np.ndarray[Any, Any], raw: bytes, repeated: bool) -> None:
        self.type = type
        self.splat: float | bool | int | None = array.flat[0].item() if repeated else None
        if repeated:  # a view of one element, however large the tensor
            array = np.broadcast_to(np.frombuffer(raw, array.dtype).reshape(()), type.shape)
        else:
            array = np.ascontiguousarray(array)
            array.flags.writeable = False
        self.array = array
        self.key = (type, raw)
        self._hash = hash(self.key)

    @classmethod
    def repeat(cls, type: TensorType, value: float | bool) -> Const:
        """The constant of ``type`` whose elements are all ``value``, rounded once to its dtype; integers wrap around."""
        if type.dtype.is_int:
            return cls.repeat_element(type, np.asarray(_wrapped(int(value), type.dtype), type.dtype.numpy))
        with np.errstate(all="ignore"):
            return cls.repeat_element(type, np.asarray(value, np.float64).astype(type.dtype.numpy))

    @classmethod
    def repeat_element(cls, type: TensorType, one: np.ndarray[Any, Any]) -> Const:
        """The constant of ``type`` whose elements are all the rank-0 array ``one``, bit for bit."""
        c = cls.__new__(cls)
        c._fill(type, one, one.tobytes(), True)
        return c

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and self.key == other.key

    def __repr__(self) -> str:
        return f"Const({self.splat if self.splat is not None else self.array.tolist()} : {self.type})"


def _wrapped(value: int, dtype: dtype) -> int:
    """The integer of ``dtype`` that is ``value`` modulo 2 to the number of its bits."""
    count = 1 << 8 * dtype.numpy.itemsize
    return (value + count // 2) % count - count // 2


_splats: Final[dict[tuple[TensorType, str | int], Const]] = {}


def splat_const(type: TensorType, value: float | bool) -> Const:
    """A constant of ``type`` whose elements are all ``value``, rounded once to its dtype; integers wrap around."""
    key = (type, int(value) if type.dtype.is_int else float.hex(float(value)))
    c = _splats.get(key)
    if c is None:
        c = Const.repeat(type, value)
        if len(_splats) > 4096:
            _splats.clear()
        _splats[key] = c
    return c
