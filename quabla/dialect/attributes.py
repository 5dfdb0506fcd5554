"""Attribute values as MLIR attributes, and back."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import numpy as np

from quabla import mlir
from quabla.dialect.checks import TYPED
from quabla.mlir import ir
from quabla.ops.registry import Op
from quabla.ops.types import Const, Params, splat_const

__all__ = ["KINDS", "Kind", "attribute_dict", "decode"]

_CACHED: Final = 4096


class Kind:
    """How one kind of attribute is written in MLIR.

    Attributes:
        wanted: what to call a value of it in a message.
        irdl: its constraint in the dialect's definition.
        encode: the MLIR attribute of a value.
        decode: the value of an MLIR attribute; None where it is none of this kind.
    """

    __slots__ = ("decode", "encode", "irdl", "wanted")

    def __init__(self, wanted: str, irdl: str, encode: Callable[[Any], Any], decode: Callable[[Any], Any]) -> None:
        self.wanted = wanted
        self.irdl = irdl
        self.encode = encode
        self.decode = decode


def _encode_int(value: int) -> Any:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64, mlir.context()), value)


def _decode_int(a: Any) -> int | None:
    if isinstance(a, ir.IntegerAttr) and isinstance(a.type, ir.IntegerType) and a.type.width == 64:
        return a.value
    return None


def _decode_bool(a: Any) -> bool | None:
    return a.value if isinstance(a, ir.BoolAttr) else None


def _decode_ints(a: Any) -> tuple[int, ...] | None:
    return tuple(a) if isinstance(a, ir.DenseI64ArrayAttr) else None


def _decode_axes(a: Any) -> tuple[int, ...] | None:
    axes = _decode_ints(a)
    ascending = axes is not None and all(n < m for n, m in pairwise((-1, *axes)))
    return axes if ascending else None


def _decode_str(a: Any) -> str | None:
    return a.value if isinstance(a, ir.StringAttr) else None


def _encode_const(const: Const) -> Any:
    array = const.array
    if const.splat is not None:  # one element stands for all: MLIR keeps it as a splat, whatever the size
        array = array.flat[:1] if array.size else np.array([const.splat], array.dtype)
    return ir.DenseElementsAttr.get(
        np.ascontiguousarray(array), type=mlir.mlir_type(const.type), context=mlir.context()
    )


def _decode_const(a: Any) -> Const | None:
    if not isinstance(a, ir.DenseElementsAttr):
        return None
    try:
        t = mlir.read_type(a.type)
    except ValueError:
        return None
    if a.is_splat:
        value = a.get_splat_value().value
        if value == value or not t.size:
            return splat_const(t, value)
    return Const(np.array(a))


KINDS: Final = {
    "int": Kind("a 64-bit integer", 'irdl.base "#builtin.integer"', _encode_int, _decode_int),
    "bool": Kind(
        "true or false", 'irdl.base "#builtin.integer"', lambda v: ir.BoolAttr.get(v, mlir.context()), _decode_bool
    ),
    "ints": Kind(
        "an array of 64-bit integers (array<i64: ...>)",
        'irdl.base "#builtin.dense_array"',
        mlir.attribute_ints,
        _decode_ints,
    ),
    "axes": Kind(
        "an array of ascending, non-negative axes (array<i64: ...>)",
        'irdl.base "#builtin.dense_array"',
        mlir.attribute_ints,
        _decode_axes,
    ),
    "str": Kind("a string", 'irdl.base "#builtin.string"', lambda v: ir.StringAttr.get(v, mlir.context()), _decode_str),
    "const": Kind("dense elements of type f64, f32, i1, i32 or i64", "irdl.any", _encode_const, _decode_const),
}


_written: Final[dict[tuple[Op, Params], dict[str, Any]]] = {}
_read: Final[dict[tuple[str, Any], Any]] = {}


def attribute_dict(op: Op, params: Params) -> dict[str, Any]:
    """The MLIR attributes of an op; equal ones are made once, but arrays, which would be kept for good, each time."""
    key = (op, params)
    found = _written.get(key)
    if found is None:
        found = {
            a.name: KINDS[a.kind].encode(v) for a, v in zip(op.attributes, params, strict=True) if a.kind not in TYPED
        }
        if not any(isinstance(v, Const) and v.splat is None for v in params):
            if len(_written) > _CACHED:
                _written.clear()
            _written[key] = found
    return found


def decode(kind: str, attribute: Any) -> Any:
    """The value of an MLIR attribute, or None where it is none of this kind."""
    key = (kind, attribute)
    value = _read.get(key)
    if value is None:
        value = KINDS[kind].decode(attribute)
        if not isinstance(value, Const) or value.splat is not None:
            if len(_read) > _CACHED:
                _read.clear()
            _read[key] = value
    return value
