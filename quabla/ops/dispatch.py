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
from quabla.ops.eager import compute, number as eager_number, wrap
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
    """How other objects become Tensors; ``quabla.array`` provides it."""

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
    return compute(op, operands, params)


# ---- constants ----------------------------------------------------------------------------------


def full(type: TensorType, value: float | bool) -> Value:
    """A constant of ``type``: recorded if a graph is under construction, else a Tensor."""
    return constant(splat_const(type, value))


def constant(const: Const) -> Value:
    """A constant as a value."""
    graphs = emitters.graphs
    if graphs:
        return graphs[-1].emit(REGISTRY["constant"], (), (const,))
    return wrap(const.array, const.type)


def scalar(value: float | bool, dtype: dtype) -> Value:
    """A rank-0 constant."""
    return full(tensor_type((), dtype), value)


def number_like(x: Value, value: float) -> Value:
    """A number as a rank-0 constant of the dtype of ``x``, recorded only where ``x`` is traced."""
    return scalar(value, x.type.dtype) if x.traced else eager_number(value, x.type.dtype)


# ---- conversion and promotion -------------------------------------------------------------------


def as_value(x: Any) -> Value:
    """``x`` as a Tensor or traced value; Python numbers become float64 (bool: bool_) scalars.

    Raises:
        TypeError: where ``x`` is not array-like.
    """
    return x if getattr(x, "type", None).__class__ is TensorType else hooks.eager.asarray(x)


def is_value(x: object) -> bool:
    """Whether ``x`` is a Tensor or a traced value."""
    return getattr(x, "type", None).__class__ is TensorType


def is_number(x: object) -> bool:
    """Whether ``x`` is a Python number (or real NumPy scalar, which counts as one): weak in promotion."""
    return isinstance(x, _NUMBERS)


_NUMBERS: Final = (int, float, np.integer, np.floating, np.bool_)


def cast(x: Value, dtype: dtype) -> Value:
    """``x`` converted to ``dtype``; ``x`` itself where it has it already."""
    if x.type.dtype is dtype:
        return x
    return apply(REGISTRY["cast"], (x,), (dtype,))


def float_operand(name: str, x: object, *, ints: bool = False) -> Value:
    """``x`` as a float value, or one of ints where ``ints`` allows them, for ops with one operand.

    Raises:
        ValueError: for arrays of other dtypes, naming the op.
    """
    v = as_value(x)
    dtype = v.type.dtype
    if dtype.is_float:
        return v
    if dtype.is_int and v.weak and not ints:  # a loop's counter
        return weakly(cast(v, dtypes.float64), True)
    if not (ints and dtype.is_int):
        raise ValueError(f"{name}: needs a float array, got {v.type}; convert with astype{errors.at_user_line()}")
    return v


def bool_operand(name: str, x: object) -> Value:
    """``x`` as a bool value.

    Raises:
        ValueError: for arrays of other dtypes and numbers, naming the function.
    """
    v = as_value(x)
    if not v.type.dtype.is_bool:
        raise ValueError(f"{name}: needs a bool array, got {v.type}; compare it with 0 first{errors.at_user_line()}")
    return v


def promote(name: str, *operands: Any, ints: bool = False) -> tuple[list[Value], bool]:
    """Operands as values of one dtype, and whether that dtype is weak.

    Two arrays must have the same float dtype. Python numbers take the dtype of the arrays; so do results of a
    bool or int array with a Python float (they are weak float64). A bool or int array next to a float one takes its
    dtype, a bool array next to an int one counts as 0 and 1.

    Args:
        name: the op's name, for messages.
        operands: arrays and numbers.
        ints: whether the op is defined for int arrays alone.

    Raises:
        ValueError: two different float or int dtypes; only bool arrays; only int ones where ``ints`` is False.
        TypeError: an operand that is not array-like.
        OverflowError: a Python int beyond the dtype.
    """
    common: dtype | None = None
    for x in operands:
        t = getattr(x, "type", None)
        if type(t) is not TensorType or x.weak or not t.dtype.is_float or t.dtype is not (common or t.dtype):
            break
        common = t.dtype
    else:
        return list(operands), False
    values = [x if is_number(x) else as_value(x) for x in operands]
    arrays = [v for v in values if not is_number(v)]
    numbers = [v for v in values if is_number(v)]
    strong = _common_dtype(name, arrays, values)
    weak = strong is None
    if strong is None:
        kinds = [v.type.dtype for v in arrays]
        if arrays and not numbers and all(d.is_bool for d in kinds):
            raise ValueError(f"{name}: is not defined for bool arrays; convert with astype{errors.at_user_line()}")
        weak = bool(arrays)
        loops = [d for d in kinds if d.is_int]  # counters of loops over ints
        strong = loops[0] if loops and not any(d.is_float for d in kinds) else dtypes.float64
    if strong.is_int and ((weak and not ints) or any(isinstance(n, (float, np.floating)) for n in numbers)):
        strong, weak = dtypes.float64, True
    if strong.is_int and not ints:
        raise ValueError(
            f"{name}: is not defined for {strong!r} arrays; convert with astype(quabla.float64){errors.at_user_line()}"
        )
    out = []
    traced = any(v.traced for v in arrays)
    for v in values:
        if is_number(v):
            number = _number(name, v, strong)
            out.append(scalar(number, strong) if traced else eager_number(number, strong))
        else:
            out.append(cast(v, strong))
    return out, weak


def _common_dtype(name: str, arrays: list[Any], values: list[Any]) -> dtype | None:
    """The dtype to which no array gives way: the one float dtype, else the one int dtype.

    Raises:
        ValueError: where there are two.
    """
    firm = [v.type.dtype for v in arrays if not v.weak and not v.type.dtype.is_bool]
    chosen = [d for d in firm if d.is_float] or firm
    if any(v.type.dtype.is_float for v in arrays) and chosen and chosen[0].is_int:
        return None  # ints beside a weak float give a weak float
    if any(d is not chosen[0] for d in chosen):
        raise ValueError(
            f"{name}: operands have dtypes {' and '.join(_dtype_names(values))}; "
            f"convert one with astype{errors.at_user_line()}"
        )
    return chosen[0] if chosen else None


def _number(name: str, v: Any, dtype: dtype) -> float | int:
    if dtype.is_int:
        n, limits = int(v), np.iinfo(dtype.numpy)
        if not limits.min <= n <= limits.max:
            raise OverflowError(f"{name}: the integer {v} does not fit {dtype!r}{errors.at_user_line()}")
        return n
    try:
        return float(v)
    except OverflowError:
        raise OverflowError(f"{name}: the integer {v} is too large for float64{errors.at_user_line()}") from None


def _dtype_names(values: list[Any]) -> list[str]:
    return [repr(v.type.dtype) for v in values if not isinstance(v, (int, float, np.generic))]


def unary(op: Op, x: Any, params: Params = ()) -> Value:
    """Apply an op with one float operand."""
    v = float_operand(op.name, x, ints=op.ints)
    r = apply(op, (v,), params)
    return weakly(r, True) if v.weak and r.type.dtype is v.type.dtype else r


def weakly(result: Value, weak: bool) -> Value:
    """``result``, marked as weak if ``weak``."""
    if weak and not result.weak:
        if result.traced:
            return result.graph.weak_twin(result)
        result.weak = True
    return result


def binary(op: Op, x: Any, y: Any, params: Params = (), name: str = "", *, ints: bool = False) -> Value:
    """Apply an elementwise op with two operands, promoted to one dtype; ``name`` is for errors."""
    xt, yt = getattr(x, "type", None), getattr(y, "type", None)
    if type(xt) is TensorType:
        if type(yt) is TensorType:
            if xt.dtype is yt.dtype and xt.dtype.is_float and not (x.weak or y.weak):
                return apply(op, (x, y), params)
        elif (y.__class__ is float or _is_small_int(y)) and xt.dtype.is_float:
            r = apply(op, (x, number_like(x, y)), params)
            return weakly(r, True) if x.weak and not r.type.dtype.is_bool else r
    elif type(yt) is TensorType and (x.__class__ is float or _is_small_int(x)) and yt.dtype.is_float:
        r = apply(op, (number_like(y, x), y), params)
        return weakly(r, True) if y.weak and not r.type.dtype.is_bool else r
    (a, b), weak = promote(name or op.name, x, y, ints=ints or op.ints)
    r = apply(op, (a, b), params)
    return weakly(r, weak and not r.type.dtype.is_bool)


def _is_small_int(x: Any) -> bool:
    """Whether ``x`` is an int that is a float64 too, if rounded."""
    return x.__class__ is int and x.bit_length() < 1000
