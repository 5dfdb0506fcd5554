"""From values to ops: promotion, and the choice between computing at once and recording.

An op's operands are Tensors (computed at once by the eager kernel) or traced values (recorded in the graph
under construction). The two classes meet here only through the small protocol of ``Value``.
"""

from __future__ import annotations

import threading
from typing import Any, Final, Protocol

import numpy as np

from quabla import dtypes, errors
from quabla.dtypes import dtype
from quabla.ops.registry import REGISTRY, Op
from quabla.ops.types import Const, Params, TensorType, splat_const, tensor_type

__all__ = ["Emitter", "Value", "apply", "as_value", "binary", "constant", "emitters", "full", "promote", "unary"]

Value = Any  # Tensor | TraceTensor: has .type, .traced, .weak


class Emitter(Protocol):
    """A graph under construction."""

    def emit(self, op: Op, operands: tuple[Value, ...], params: Params = ()) -> Value: ...


class _Stack(threading.local):
    """The graphs under construction in this thread, innermost last."""

    def __init__(self) -> None:
        self.graphs: list[Emitter] = []


emitters: Final = _Stack()


class Eager(Protocol):
    """How eager results and conversions are made; ``quabla.array`` provides it."""

    def wrap(self, array: Any, type: TensorType) -> Value: ...
    def asarray(self, obj: object) -> Value: ...


class _Hooks:
    eager: Eager


hooks: Final = _Hooks()


def apply(op: Op, operands: tuple[Value, ...], params: Params = ()) -> Value:
    """Record ``op`` if an operand is traced, else compute it. Dtypes are taken as they are."""
    for x in operands:
        if x.traced:
            graphs = emitters.graphs
            if not graphs:
                raise errors.TracerError(x.escaped(op.name))
            return graphs[-1].emit(op, operands, params)
    return evaluate(op, operands, params)


def evaluate(op: Op, operands: tuple[Value, ...], params: Params) -> Value:
    """Compute an op on Tensors with its eager kernel."""
    kernel, type = op.prepared(tuple([x.type for x in operands]), params)
    with np.errstate(all="ignore"):
        result = kernel(*[x.data for x in operands])
    return hooks.eager.wrap(result, type)


# ---- constants ----------------------------------------------------------------------------------


def full(type: TensorType, value: float | bool) -> Value:
    """A constant of ``type``: recorded if a graph is under construction, else a Tensor."""
    return constant(splat_const(type, value))


def constant(const: Const) -> Value:
    """A constant as a value."""
    graphs = emitters.graphs
    if graphs:
        return graphs[-1].emit(REGISTRY["constant"], (), (const,))
    return hooks.eager.wrap(const.array, const.type)


def scalar(value: float | bool, dtype: dtype) -> Value:
    """A rank-0 constant."""
    return full(tensor_type((), dtype), value)


def number_like(x: Value, value: float) -> Value:
    """A number as a rank-0 constant of the dtype of ``x``, recorded only where ``x`` is traced."""
    dtype = x.type.dtype
    if x.traced:
        return scalar(value, dtype)
    if value == 0.0 or value != value:  # zeros of both signs, and NaN, are poor keys
        return _eager_number(value, dtype)
    number = _numbers.get((dtype, value))
    if number is None:
        if len(_numbers) > 1024:
            _numbers.clear()
        number = _numbers[dtype, value] = _eager_number(value, dtype)
    return number


_numbers: Final[dict[tuple[dtype, float], Value]] = {}


def _eager_number(value: float, dtype: dtype) -> Value:
    const = splat_const(tensor_type((), dtype), value)
    return hooks.eager.wrap(const.array, const.type)


# ---- conversion and promotion -------------------------------------------------------------------


def as_value(x: object) -> Value:
    """``x`` as a Tensor or traced value; Python numbers become float64 (bool: bool_) scalars.

    Raises:
        TypeError: where ``x`` is not array-like.
    """
    if getattr(x, "type", None).__class__ is TensorType:
        return x
    return hooks.eager.asarray(x)


def is_value(x: object) -> bool:
    """Whether ``x`` is a Tensor or a traced value."""
    return getattr(x, "type", None).__class__ is TensorType


def is_number(x: object) -> bool:
    """Whether ``x`` is a Python number (or NumPy scalar, which counts as one): weak in promotion."""
    return isinstance(x, (int, float, np.generic))


def cast(x: Value, dtype: dtype) -> Value:
    """``x`` converted to ``dtype``; ``x`` itself where it has it already."""
    if x.type.dtype is dtype:
        return x
    return apply(REGISTRY["cast"], (x,), (dtype,))


def float_operand(name: str, x: object) -> Value:
    """``x`` as a float value, for ops with one operand.

    Raises:
        ValueError: for bool arrays, naming the op.
    """
    v = as_value(x)
    if not v.type.dtype.is_float:
        raise ValueError(f"{name}: needs a float array, got {v.type}; convert with astype{errors.at_user_line()}")
    return v


def bool_operand(name: str, x: object) -> Value:
    """``x`` as a bool value.

    Raises:
        ValueError: for float arrays and numbers, naming the function.
    """
    v = as_value(x)
    if v.type.dtype.is_float:
        raise ValueError(f"{name}: needs a bool array, got {v.type}; compare it with 0 first{errors.at_user_line()}")
    return v


def promote(name: str, *operands: object) -> tuple[list[Value], bool]:
    """Operands as values of one float dtype, and whether that dtype is weak.

    Two arrays must have the same float dtype. Python numbers take the dtype of the arrays; so do results of a
    bool array with a Python number (they are weak float64). A bool array next to a float one counts as 0 and 1.

    Raises:
        ValueError: two different float dtypes; only bool arrays.
        TypeError: an operand that is not array-like.
    """
    values: list[Any] = [x if is_number(x) else as_value(x) for x in operands]
    strong: dtype | None = None
    weak = True
    some_bool = False
    for v in values:
        if isinstance(v, (int, float, np.generic)):
            continue
        d = v.type.dtype
        if not d.is_float:
            some_bool = True
        elif not v.weak:
            weak = False
            if strong is None:
                strong = d
            elif strong is not d:
                raise ValueError(
                    f"{name}: operands have dtypes {' and '.join(_dtype_names(values))}; "
                    f"convert one with astype{errors.at_user_line()}"
                )
    numbers = any(isinstance(v, (int, float, np.generic)) for v in values)
    if strong is None and some_bool and not numbers and not any(v.type.dtype.is_float for v in values):
        raise ValueError(f"{name}: is not defined for bool arrays; convert with astype{errors.at_user_line()}")
    if strong is None:
        weak = some_bool or any(not isinstance(v, (int, float, np.generic)) and v.weak for v in values)
        strong = dtypes.float64
    out = []
    traced = any(not isinstance(v, (int, float, np.generic)) and v.traced for v in values)
    for v in values:
        if isinstance(v, (int, float, np.generic)):
            const = splat_const(tensor_type((), strong), _number(name, v))
            out.append(constant(const) if traced else hooks.eager.wrap(const.array, const.type))
        else:
            out.append(cast(v, strong))
    return out, weak


def _number(name: str, v: Any) -> float:
    try:
        return float(v)
    except OverflowError:
        raise OverflowError(f"{name}: the integer {v} is too large for float64{errors.at_user_line()}") from None


def _dtype_names(values: list[Any]) -> list[str]:
    return [repr(v.type.dtype) for v in values if not isinstance(v, (int, float, np.generic))]


def unary(op: Op, x: object, params: Params = ()) -> Value:
    """Apply an op with one float operand."""
    v = float_operand(op.name, x)
    r = apply(op, (v,), params)
    return weakly(r, v.weak and r.type.dtype is v.type.dtype)


def weakly(result: Value, weak: bool) -> Value:
    """``result``, marked as weak if ``weak``."""
    if weak and not result.weak:
        if result.traced:
            return result.graph.weak_twin(result)
        result.weak = True
    return result


def binary(op: Op, x: Any, y: Any, params: Params = ()) -> Value:
    """Apply an elementwise op with two float operands, promoted to one dtype."""
    xt, yt = getattr(x, "type", None), getattr(y, "type", None)
    if type(xt) is TensorType:
        if type(yt) is TensorType:
            if xt.dtype is yt.dtype and xt.dtype.is_float and not (x.weak or y.weak):
                return apply(op, (x, y), params)
        elif y.__class__ is float and xt.dtype.is_float:
            r = apply(op, (x, number_like(x, y)), params)
            return weakly(r, x.weak and r.type.dtype.is_float)
    elif x.__class__ is float and type(yt) is TensorType and yt.dtype.is_float:
        r = apply(op, (number_like(y, x), y), params)
        return weakly(r, y.weak and r.type.dtype.is_float)
    (a, b), weak = promote(op.name, x, y)
    r = apply(op, (a, b), params)
    return weakly(r, weak and r.type.dtype.is_float)
