"""Python values and constants as the attributes of StableHLO ops; each is made once."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from quabla import dtypes
from quabla.mlir import context, ir, mlir_type, stablehlo, unknown
from quabla.ops.types import Const

__all__ = ["attribute", "dense"]

_CACHED: Final = 4096
_attributes: Final[dict[Any, Any]] = {}
_dense: Final[dict[Const, Any]] = {}


def attribute(key: str, value: Any) -> Any:
    """The MLIR attribute of a Python value, as an attribute called ``key``.

    An int is an i64, a tuple of ints ``array<i64>``, a tuple of bools ``array<i1>``, a tuple of tuples a dense
    tensor of i64, a str a string (or the comparison direction that it names); MLIR attributes pass through.
    """
    kind: Any = value.__class__
    if kind is tuple and value:
        kind = (tuple, value[0].__class__)  # (1, 0) and (True, False) are equal
    cached = (key == "comparison_direction", kind, value)
    found = _attributes.get(cached)
    if found is None:
        if len(_attributes) > _CACHED:
            _attributes.clear()
        found = _attributes[cached] = _make_attribute(key, value)
    return found


def _make_attribute(key: str, value: Any) -> Any:
    c = context()
    if isinstance(value, ir.Attribute):
        return value
    if isinstance(value, str):
        if key == "comparison_direction":
            return stablehlo.ComparisonDirectionAttr.get(value, c)
        return ir.StringAttr.get(value, c)
    if isinstance(value, bool):
        return ir.BoolAttr.get(value, c)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64, c), value)
    if isinstance(value, float):
        return ir.FloatAttr.get(ir.F64Type.get(c), value, unknown())
    if value and isinstance(value[0], bool):
        return ir.DenseBoolArrayAttr.get(list(value), c)
    if value and isinstance(value[0], tuple):
        return ir.DenseElementsAttr.get(np.array(value, np.int64), context=c)
    return ir.DenseI64ArrayAttr.get(list(value), c)


def dense(const: Const) -> Any:
    """The elements attribute of a constant."""
    found = _dense.get(const)
    if found is None:
        if len(_dense) > _CACHED:
            _dense.clear()
        t = mlir_type(const.type)
        if const.splat is None:
            found = ir.DenseElementsAttr.get(const.array, type=t, context=context())
        elif const.type.dtype is dtypes.bool_:
            found = ir.DenseElementsAttr.get_splat(t, ir.BoolAttr.get(bool(const.splat), context()))
        elif const.type.dtype.is_int:
            found = ir.DenseElementsAttr.get_splat(t, ir.IntegerAttr.get(t.element_type, const.splat))
        else:
            found = ir.DenseElementsAttr.get_splat(t, ir.FloatAttr.get(t.element_type, const.splat, unknown()))
        _dense[const] = found
    return found
