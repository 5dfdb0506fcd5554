"""Operators and methods, in one place for eager and traced values.

A method that takes what its module function takes is that function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, ClassVar, Final, NoReturn, Self

import numpy as np

from quabla import errors
from quabla.dtypes import dtype
from quabla.functions import items, math, statistics
from quabla.ops import casting, elementwise, indexing, linalg, reductions, shaping, transcendental
from quabla.ops.dispatch import Value
from quabla.ops.eager import two
from quabla.ops.types import TensorType

__all__ = ["NUMPY_OPERATORS", "Methods"]


class ImmutableError(TypeError, AttributeError):
    """What Python raises for a class without item assignment: a TypeError, and an AttributeError for the method."""


def _matrix_product(x1: Any, x2: Any) -> Value:
    r = two(linalg.known_matrices, x1, x2)
    if r is not None:
        return r
    for x in (x1, x2):
        if getattr(x, "type", x).ndim < 2:
            raise ValueError(
                f"@ needs matrices, got an array of shape {list(x.shape)}; quabla.matmul and quabla.dot take vectors"
                f"{errors.at_user_line()}"
            )
    return linalg.matmul(x1, x2)


def _check_ranks(name: str, x: Any, rhs: Any) -> None:
    if len(x.shape) < 2 or len(rhs.shape) != len(x.shape):
        raise ValueError(
            f"{name}: the method needs matrices, or stacks of one rank, got shapes {list(x.shape)} and "
            f"{list(rhs.shape)}; linalg.{name} takes vectors{errors.at_user_line()}"
        )


def _operator(function: Callable[[Any, Any], Value], *, numbers: bool = True) -> Callable[[Any, Any], Value]:
    """An operator; unless it takes numbers, its other operand must be an array too."""

    def operator(self: Any, other: Any) -> Value:
        if not isinstance(other, _OPERANDS if numbers else _ARRAYS):
            return NotImplemented
        try:
            return function(self, other)
        except Exception as e:
            errors.hide_library_frames(e)
            raise

    return errors.hides_library_frames(operator)


def _reflected(function: Callable[[Any, Any], Value]) -> Callable[[Any, Any], Value]:
    return _operator(lambda self, other: function(other, self))


def _binary_method(function: Callable[[Any, Any], Value]) -> Callable[[Any, Any], Value]:
    """The method of a function of ``x1`` and ``x2``; its operand is called ``rhs``."""

    def method(self: Any, rhs: Any) -> Value:
        return function(self, rhs)

    method.__name__ = method.__qualname__ = function.__name__
    method.__doc__ = function.__doc__
    return method


def _later(module: str, name: str) -> Callable[..., Any]:
    """The module function of this name, imported when it is first called."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(import_module(f"quabla.{module}"), name)(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"``quabla.{name}`` of this array."
    return method


class Methods:
    """What eager and traced values have in common.

    ``==`` and ``!=`` compare identity, so values can be keys; ``equal`` and ``not_equal`` compare elements.
    """

    __slots__ = ()

    type: TensorType

    # ---- type -----------------------------------------------------------------------------------

    @property
    def shape(self) -> list[int]:
        """The extents."""
        return list(self.type.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.type.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.type.size

    @property
    def dtype(self) -> dtype:
        """The element type."""
        return self.type.dtype

    @property
    @errors.hiding_library_frames
    def T(self) -> Value:
        """The array with its axes reversed."""
        return shaping.transpose(self)

    def __len__(self) -> int:
        if not self.type.shape:
            raise TypeError(f"an array of rank 0 has no length and no rows{errors.at_user_line()}")
        return self.type.shape[0]

    @property
    def device(self) -> str:
        """Where the array is: ``"cpu"``, as every array that is not inside a compiled program."""
        return "cpu"

    @property
    @errors.hiding_library_frames
    def mT(self) -> Value:
        """The matrices in the last two axes, transposed."""
        return self.__array_namespace__().matrix_transpose(self)

    def to_device(self, device: str, /, *, stream: Any = None) -> Self:
        """The array itself, on its only device.

        Raises:
            ValueError: for another device than ``"cpu"``, and a stream.
        """
        if device != "cpu" or stream is not None:
            raise ValueError(
                f"arrays are on the device 'cpu', which has no streams, not {device!r}{errors.at_user_line()}"
            )
        return self

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        """The functions of the Python array API standard; see ``quabla.array_api``.

        Raises:
            ValueError: for a version of the standard later than 2024.12.
        """
        from quabla import array_api

        if api_version is not None and api_version not in ("2021.12", "2022.12", "2023.12", "2024.12"):
            raise ValueError(
                f"the array API is there up to version 2024.12, not {api_version!r}{errors.at_user_line()}"
            )
        return array_api

    # ---- identity -------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = object.__hash__
    __contains__: ClassVar[None] = None  # would compare rows by identity

    # What cannot change is its own copy.
    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    # ---- operators ------------------------------------------------------------------------------

    __add__ = _operator(elementwise.add)
    __radd__ = _reflected(elementwise.add)
    __sub__ = _operator(elementwise.sub)
    __rsub__ = _reflected(elementwise.sub)
    __mul__ = _operator(elementwise.mul)
    __rmul__ = _reflected(elementwise.mul)
    __truediv__ = _operator(elementwise.div)
    __rtruediv__ = _reflected(elementwise.div)
    __pow__ = _operator(elementwise.power)
    __rpow__ = _reflected(elementwise.power)
    __floordiv__ = _operator(math.floor_divide)
    __rfloordiv__ = _reflected(math.floor_divide)
    __mod__ = _operator(math.mod)
    __rmod__ = _reflected(math.mod)
    __matmul__ = _operator(_matrix_product, numbers=False)
    __neg__ = elementwise.neg
    __abs__ = elementwise.abs

    def __pos__(self) -> Value:
        return self

    __lt__ = _operator(math.less)
    __le__ = _operator(math.less_equal)
    __gt__ = _operator(math.greater)
    __ge__ = _operator(math.greater_equal)

    __and__ = _operator(math.logical_and, numbers=False)
    __or__ = _operator(math.logical_or, numbers=False)
    __xor__ = _operator(math.logical_xor, numbers=False)
    __invert__ = math.logical_not

    __getitem__ = items.getitem

    @property
    def at(self) -> items.At:
        """``x.at[index].set(values)`` and ``add``, ``multiply``, ``max``, ``min``: ``x`` with parts replaced."""
        return items.At(self)

    def __setitem__(self, index: Any, values: object) -> NoReturn:
        raise ImmutableError(
            "arrays are immutable: x[index] = values cannot change one; y = x.at[index].set(values) makes a new one"
        )

    def __delitem__(self, index: Any) -> NoReturn:
        raise ImmutableError("arrays are immutable: elements cannot be deleted")

    def __iter__(self) -> Iterator[Value]:
        return map(self.__getitem__, range(len(self)))

    # ---- elementwise ----------------------------------------------------------------------------

    sin = transcendental.sin
    cos = transcendental.cos
    tan = transcendental.tan
    arcsin = transcendental.arcsin
    arccos = transcendental.arccos
    arctan = transcendental.arctan
    sinh = transcendental.sinh
    cosh = transcendental.cosh
    tanh = transcendental.tanh
    arcsinh = transcendental.arcsinh
    arccosh = transcendental.arccosh
    arctanh = transcendental.arctanh
    exp = transcendental.exp
    expm1 = transcendental.expm1
    log = transcendental.log
    log1p = transcendental.log1p
    log2 = transcendental.log2
    log10 = transcendental.log10
    sqrt = elementwise.sqrt
    cbrt = elementwise.cbrt
    erf = transcendental.erf
    erfc = transcendental.erfc
    sigmoid = transcendental.sigmoid
    softplus = transcendental.softplus
    abs = elementwise.abs
    floor = elementwise.floor
    ceil = elementwise.ceil
    round = elementwise.round
    powi = elementwise.powi
    relu = math.relu
    isnan = math.isnan
    isfinite = math.isfinite
    stop_gradient = casting.stop_gradient
    astype = casting.astype

    add = _binary_method(elementwise.add)
    sub = _binary_method(elementwise.sub)
    mul = _binary_method(elementwise.mul)
    div = _binary_method(elementwise.div)
    maximum = _binary_method(elementwise.maximum)
    minimum = _binary_method(elementwise.minimum)
    atan2 = _binary_method(elementwise.atan2)
    fmod = _binary_method(elementwise.fmod)
    gt = _binary_method(elementwise.gt)
    equal = math.equal
    not_equal = math.not_equal
    greater = math.greater
    greater_equal = math.greater_equal
    less = math.less
    less_equal = math.less_equal
    logical_and = math.logical_and
    logical_or = math.logical_or
    logical_not = math.logical_not
    where_select = elementwise.where

    # ---- reductions -----------------------------------------------------------------------------

    sum = reductions.sum
    mean = reductions.mean
    max = reductions.max
    min = reductions.min
    cumsum = reductions.cumsum
    cumprod = _later("ops.cumulative", "cumprod")
    prod = statistics.prod
    any = statistics.any
    all = statistics.all
    norm = statistics.norm
    var = statistics.var
    std = statistics.std

    # ---- shape and elements ---------------------------------------------------------------------

    def reshape(self, *shape: Any) -> Value:
        """The array under another shape, given as ints or as one sequence; one extent may be -1.

        Raises:
            ValueError: where the number of elements differs.
        """
        return shaping.reshape(self, shape[0] if len(shape) == 1 else shape)

    transpose = shaping.transpose
    broadcast_to = shaping.broadcast_to
    slice = indexing.slice_
    gather = indexing.gather
    scatter_add = indexing.scatter_add
    take = items.take
    sort = _later("functions.sorting", "sort")
    argsort = _later("functions.sorting", "argsort")
    argmax = _later("functions.sorting", "argmax")
    argmin = _later("functions.sorting", "argmin")
    nonzero = _later("functions.sorting", "nonzero")
    tril = shaping.tril
    triu = shaping.triu
    clip = math.clip
    ravel = _later("functions.shape", "ravel")
    repeat = _later("functions.shape", "repeat")
    squeeze = _later("functions.shape", "squeeze")
    swapaxes = _later("functions.shape", "swapaxes")
    diagonal = _later("functions.shape", "diagonal")
    trace = _later("functions.shape", "trace")

    # ---- linear algebra -------------------------------------------------------------------------

    dot = _later("functions.products", "dot")

    def matmul(self, rhs: Any) -> Value:
        """The product of two matrices, or of stacks of them.

        Raises:
            ValueError: for vectors, and where shapes or dtypes do not fit.
        """
        return _matrix_product(self, rhs)

    def solve(self, rhs: Any) -> Value:
        """The solutions x of ``self x = rhs`` for matrices, or stacks of them.

        Raises:
            ValueError: as ``linalg.solve``, and for vectors and different ranks.
        """
        from quabla.functions import systems

        _check_ranks("solve", self, rhs)
        return systems.solve(self, rhs)

    def solve_triangular(self, rhs: Any, lower: bool = True, transpose: bool = False) -> Value:
        """The solutions x of ``self x = rhs`` for triangular matrices, or of their transposes.

        Raises:
            ValueError: as ``linalg.solve_triangular``, and for vectors and different ranks.
        """
        from quabla.functions import systems

        _check_ranks("solve_triangular", self, rhs)
        return systems.solve_triangular(self, rhs, int(transpose), lower)

    def cholesky(self) -> Value:
        """The lower Cholesky factors of symmetric positive definite matrices.

        Raises:
            ValueError: as ``linalg.cholesky``.
        """
        from quabla.functions import systems

        return systems.cholesky(self)


errors.hides_library_frames_in_methods(Methods)

_ARRAYS: Final = (Methods, np.ndarray)
_OPERANDS: Final = (Methods, int, float, np.ndarray, np.generic)

#: What NumPy's operators mean where an operand is traced.
NUMPY_OPERATORS: Final[dict[Any, Callable[..., Value]]] = {
    np.add: elementwise.add,
    np.subtract: elementwise.sub,
    np.multiply: elementwise.mul,
    np.true_divide: elementwise.div,
    np.power: elementwise.power,
    np.floor_divide: math.floor_divide,
    np.remainder: math.mod,
    np.matmul: _matrix_product,
    np.less: math.less,
    np.less_equal: math.less_equal,
    np.greater: math.greater,
    np.greater_equal: math.greater_equal,
    np.equal: math.equal,
    np.not_equal: math.not_equal,
    np.bitwise_and: math.logical_and,
    np.bitwise_or: math.logical_or,
    np.bitwise_xor: math.logical_xor,
}
