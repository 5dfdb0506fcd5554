"""Eager arrays: immutable values over NumPy storage.

``Tensor`` computes at once; ``TensorView`` is a slice that shares a Tensor's storage. What an operator or
method does is written down once, for eager and traced values, in ``quabla.functions.methods``; this module
adds what only values with numbers have: conversions out, printing, and the exchange with NumPy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, Self, cast

import numpy as np

from quabla import errors
from quabla.dtypes import dtype, float64
from quabla.functions import creation
from quabla.functions.methods import NUMPY_OPERATORS, Methods
from quabla.ops import dispatch
from quabla.ops.arguments import axis_index, static_int
from quabla.ops.eager import Fields, provide, wrap
from quabla.ops.types import tensor_type
from quabla.printing import array_text

__all__ = ["Array", "Tensor", "TensorView", "numpy_operator"]

NumpyArray = np.ndarray[Any, Any]


@errors.hides_library_frames_in_methods
class Array:
    """The common base of eager arrays, their views and traced values, for ``isinstance``."""

    __slots__ = ()

    traced: bool

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return numpy_operator(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if func in _OF_SHAPE:
            return _OF_SHAPE[func](self)
        return func(*_untensored(args), **_untensored(kwargs))


class Tensor(Fields, Methods, Array):
    """An immutable dense array.

    Args:
        shape: the extents.
        data: the elements in C order, a flat sequence.
        dtype: the element type; by default float64, or bool for bools.

    Raises:
        ValueError: where ``data`` has another number of elements than ``shape``.

    Example:
        >>> qb.Tensor([2, 2], [1.0, 2.0, 3.0, 4.0])
        Tensor([[1., 2.],
                [3., 4.]], dtype=float64)
    """

    __slots__ = ()

    traced = False

    def __new__(cls, shape: int | Sequence[int], data: Sequence[Any], dtype: dtype | None = None) -> Self:
        flat = creation.asarray(data, dtype)
        extents = creation.checked_shape("Tensor", shape)
        wanted = tensor_type(extents, flat.type.dtype)
        if flat.type.ndim != 1 or flat.type.size != wanted.size:
            raise ValueError(
                f"Tensor: shape {list(extents)} needs a flat list of {wanted.size} elements, got an array of shape "
                f"{flat.shape}{errors.at_user_line()}"
            )
        return cast("Self", wrap(flat.data.reshape(extents), wanted))

    def __setattr__(self, name: str, value: object) -> None:
        # Only dispatch writes here, to the one slot that is not part of the value.
        if name != "weak":
            raise AttributeError(f"arrays are immutable: cannot set {name!r}")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"arrays are immutable: cannot delete {name!r}")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            "a Tensor cannot be pickled; pickle the NumPy array that numpy() gives, and make a Tensor of it again with "
            "quabla.array"
        )

    # ---- values out -----------------------------------------------------------------------------

    def __repr__(self) -> str:
        return array_text("Tensor", self.data)

    def item(self) -> float | bool | int:
        """The only element, as a Python number.

        Raises:
            ValueError: where there is not exactly one element.
        """
        if self.type.size != 1:
            raise ValueError(f"item: needs an array of one element, got {self.type}{errors.at_user_line()}")
        return self.data.item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers; a number for rank 0."""
        return self.data.tolist()

    def to_flat_list(self) -> list[Any]:
        """The elements in C order as one list of Python numbers."""
        return self.data.ravel().tolist()

    def numpy(self) -> NumpyArray:
        """The elements as a read-only NumPy array that shares storage."""
        self.data.flags.writeable = False
        return self.data.view()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NumpyArray:
        return _numpy_export(self.numpy(), dtype, copy)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule: read-only and without a copy, or a copy where the consumer's version cannot say read-only.

        Raises:
            BufferError: for another device than the CPU, and where ``copy`` is False and a copy is needed.
        """
        return _dlpack_capsule(self.numpy(), stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.data.__dlpack_device__()

    def __buffer__(self, flags: int) -> memoryview:
        return self.numpy().data

    def __bool__(self) -> bool:
        if self.type.size != 1:
            raise ValueError(
                f"the truth value of an array of shape {self.shape} is ambiguous: use quabla.any or quabla.all"
                f"{errors.at_user_line()}"
            )
        return bool(self.data.item())

    def __float__(self) -> float:
        return float(self._one_number("float"))

    def __int__(self) -> int:
        return int(self._one_number("int"))

    def __index__(self) -> int:
        if self.type.shape or not self.type.dtype.is_int:
            raise TypeError(f"only an int array of rank 0 can be an int, got {self.type}{errors.at_user_line()}")
        return self.data.item()

    def _one_number(self, what: str) -> float | bool | int:
        if self.type.size != 1:
            raise TypeError(f"{what}() needs an array of one element, got {self.type}{errors.at_user_line()}")
        return self.data.item()

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    # ---- views ----------------------------------------------------------------------------------

    def slice(self, axis: int, start: int, length: int, step: int = 1) -> TensorView:
        """``length`` elements of one axis from ``start``, as a view that shares storage.

        Raises:
            ValueError: where the axis or an element does not exist.
        """
        return TensorView.of(self).slice(axis, start, length, step)

    # ---- constructors ---------------------------------------------------------------------------

    @staticmethod
    def zeros(shape: int | Sequence[int]) -> Tensor:
        """An array of zeros."""
        return creation.zeros(shape)

    @staticmethod
    def ones(shape: int | Sequence[int]) -> Tensor:
        """An array of ones."""
        return creation.ones(shape)

    @staticmethod
    def full(shape: int | Sequence[int], value: Any) -> Tensor:
        """An array filled with ``value``."""
        return creation.full(shape, value)

    @staticmethod
    def eye(rows: int, cols: int | None = None) -> Tensor:
        """The identity matrix."""
        return creation.eye(rows, cols)

    @staticmethod
    def arange(start: float, stop: float | None = None, step: float = 1.0) -> Tensor:
        """The numbers from ``start`` to before ``stop``."""
        return creation.arange(start, stop, step)

    @staticmethod
    def linspace(start: float, stop: float, num: int) -> Tensor:
        """``num`` evenly spaced numbers, both ends included."""
        return creation.linspace(start, stop, num)

    # Here keys are ints, the numbers of keys of quabla.random.

    @staticmethod
    def random_normal(shape: int | Sequence[int], key: int, mean: float = 0.0, stddev: float = 1.0) -> Tensor:
        """Normal samples of a mean and a standard deviation."""
        from quabla import random

        return random.normals(key, shape, mean, stddev)

    @staticmethod
    def random_uniform(
        shape: int | Sequence[int], key: int, minval: float = 0.0, maxval: float = 1.0, dtype: dtype | None = None
    ) -> Tensor:
        """Uniform samples from ``minval`` to below ``maxval``."""
        from quabla import random

        return random.uniform(random.key(key), shape, float64 if dtype is None else dtype, minval, maxval)

    @staticmethod
    def glorot_normal(shape: Sequence[int], key: int) -> Tensor:
        """Normal samples with variance 2 / (fan in + fan out)."""
        from quabla import random

        return random.glorot_normal(random.key(key), shape)

    @staticmethod
    def split_key(key: int, count: int) -> tuple[int, ...]:
        """``count`` new keys."""
        from quabla import random

        return tuple([k.value for k in random.split(random.key(key), count)])

    @staticmethod
    def fold_in_key(key: int, data: int) -> int:
        """A new key from a key and a number."""
        from quabla import random

        return random.fold_in(random.key(key), data).value


class TensorView(Array):
    """A strided part of a Tensor, made by ``Tensor.slice``; it shares the Tensor's storage.

    Module functions take views as arrays; operators need ``to_tensor()``.

    Attributes:
        shape: the extents.
        strides: for each axis, the distance between neighbours, in elements of the storage.
        offset: the position of the first element in the storage.
    """

    __slots__ = ("_array", "_offset")

    _array: NumpyArray
    _offset: int

    traced = False

    def __init__(self) -> None:
        raise TypeError("a TensorView is made by Tensor.slice")

    @classmethod
    def of(cls, tensor: Tensor) -> TensorView:
        """The view of all of a Tensor."""
        return cls._make(np.ascontiguousarray(tensor.data).reshape(tensor.type.shape), 0)

    @classmethod
    def _make(cls, array: NumpyArray, offset: int) -> TensorView:
        v = object.__new__(cls)
        v._array, v._offset = array, offset
        return v

    @property
    def shape(self) -> list[int]:
        return list(self._array.shape)

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def size(self) -> int:
        return self._array.size

    @property
    def dtype(self) -> dtype:
        return creation.type_of(self._array).dtype

    @property
    def strides(self) -> list[int]:
        return [n // self._array.itemsize for n in self._array.strides]

    @property
    def offset(self) -> int:
        return self._offset

    def slice(self, axis: int, start: int, length: int, step: int = 1) -> TensorView:
        """``length`` elements of one axis from ``start``.

        Raises:
            ValueError: where the axis or an element does not exist.
        """
        axis = axis_index("slice", axis, self.ndim)
        start = static_int("slice: start", start)
        length = static_int("slice: length", length)
        step = static_int("slice: step", step)
        extent = self._array.shape[axis]
        last = start + (length - 1) * step
        if step == 0 or length < 0 or (length and not (0 <= start < extent and 0 <= last < extent)):
            raise ValueError(
                f"slice: {length} elements from {start} by {step} are not in axis {axis} of shape {self.shape}"
                f"{errors.at_user_line()}"
            )
        stop = start + length * step
        window = slice(start, stop if stop >= 0 else None, step) if length else slice(0, 0)
        array = self._array[(slice(None),) * axis + (window,)]
        return self._make(array, self._offset + (start * self.strides[axis] if length else 0))

    def to_tensor(self) -> Tensor:
        """The view as a Tensor, without a copy."""
        return wrap(self._array, creation.type_of(self._array))

    def to_flat_list(self) -> list[Any]:
        """The elements in C order as one list of Python numbers."""
        return self._array.ravel().tolist()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self._array.tolist()

    def numpy(self) -> NumpyArray:
        """The elements as a read-only NumPy array that shares storage."""
        return self.to_tensor().numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NumpyArray:
        return _numpy_export(self.numpy(), dtype, copy)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule, as ``Tensor.__dlpack__`` gives it."""
        return _dlpack_capsule(self.numpy(), stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    def __repr__(self) -> str:
        return f"TensorView(shape={self.shape}, strides={self.strides})"


# ---- exchange with NumPy ------------------------------------------------------------------------


def _numpy_export(array: NumpyArray, dtype: Any, copy: bool | None) -> NumpyArray:
    if dtype is None or array.dtype == dtype:
        return array.copy() if copy else array
    if copy is False:
        raise ValueError(f"a {array.dtype} array cannot be seen as {np.dtype(dtype)} without a copy")
    return array.astype(dtype)


def _dlpack_capsule(
    array: NumpyArray,
    stream: Any,
    max_version: tuple[int, int] | None,
    device: tuple[Any, int] | None,
    copy: bool | None,
) -> Any:
    if max_version is not None and max_version[0] >= 1:
        return array.__dlpack__(stream=stream, max_version=max_version, dl_device=device, copy=copy)
    if copy is False:
        raise BufferError("arrays are read-only, which only DLPack 1.0 can say: allow a copy, or ask for max_version")
    return array.copy().__dlpack__(stream=stream, dl_device=device)


_OF_SHAPE: Final[dict[Any, Callable[[Any], Any]]] = {
    np.shape: lambda x: tuple(x.shape),
    np.ndim: lambda x: x.ndim,
    np.size: lambda x: x.size,
}


def _untensored(arguments: Any) -> Any:
    """Arguments of a NumPy function with NumPy arrays in place of Tensors, also inside lists."""
    if isinstance(arguments, Array):
        return np.asarray(arguments)
    if isinstance(arguments, tuple):
        return tuple([_untensored(x) for x in arguments])
    if isinstance(arguments, list):
        return [_untensored(x) for x in arguments]
    if isinstance(arguments, dict):
        return {k: _untensored(x) for k, x in arguments.items()}
    return arguments


def numpy_operator(ufunc: Any, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What NumPy does where one of its operators or ufuncs meets an array of ours.

    An operator on a traced value is recorded, and a NumPy scalar counts as a number. Anything else on eager
    arrays is NumPy's own business and gives a NumPy array.

    Raises:
        TracerError: for any other ufunc on a traced value.
        TypeError: for an eager array as ``out``.
    """
    ours = NUMPY_OPERATORS.get(ufunc) if method == "__call__" and not kwargs else None
    if any(getattr(x, "traced", False) for x in inputs):
        if ours is not None:
            return ours(*inputs)
        import quabla

        name = getattr(ufunc, "__name__", str(ufunc))
        instead = f"use quabla.{name}" if hasattr(quabla, name) else "use quabla's functions"
        raise errors.TracerError(
            f"numpy.{name} cannot take a traced array, whose values are not known while tracing; {instead}"
            f"{errors.at_user_line()}"
        )
    if ours is not None and any(isinstance(x, np.generic) for x in inputs):
        return ours(*inputs)
    if any(isinstance(x, Array) for x in kwargs.get("out", ())):
        raise TypeError("arrays of quabla are immutable and cannot be the out= of a NumPy function")
    return getattr(ufunc, method)(*_untensored(tuple(inputs)), **_untensored(kwargs))


for _class in (Tensor, TensorView):
    errors.hides_library_frames_in_methods(_class)


class _Eager:
    """How other objects become Tensors; see ``dispatch.Eager``."""

    __slots__ = ()

    asarray = staticmethod(creation.asarray)


provide(Tensor)
dispatch.hooks.eager = _Eager()

if sys.version_info < (3, 12):
    from quabla.buffers import export_buffers

    export_buffers(Tensor)
