"""What both written forms check of an op, and the error for a program that is written wrongly.

A fault is a message without the op's name and place, which each form puts before it in its own way.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Final

from quabla import errors
from quabla.ops.registry import Attribute, Op
from quabla.ops.types import Params, TensorType

__all__ = [
    "TYPED",
    "SourceError",
    "attribute_names",
    "inferred",
    "operand_count_fault",
    "result_fault",
    "suggestion",
    "typed_value",
    "unknown_attribute_fault",
]

#: Kinds of attributes that are read off the result's type.
TYPED: Final = ("shape", "dtype")


class SourceError(errors.QuablaError, ValueError):
    """A written program, in text form or MLIR, is not a program of this library.

    Attributes:
        message: the message without the place.
        file: the file's name.
        line: the line, from 1; 0 where it is unknown.
        column: the column, from 1; 0 where it is unknown.
    """

    def __init__(self, message: str, file: str, line: int = 0, column: int = 0) -> None:
        place = file
        if line:
            place += f":{line}:{column}" if column else f":{line}"
        super().__init__(f"{place}: {message}")
        self.message = message
        self.file = file
        self.line = line
        self.column = column


def suggestion(name: str, known: Iterable[str]) -> str:
    """``"; did you mean 'sin'?"``, or nothing where no known name is close."""
    near = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean '{near[0]}'?" if near else ""


def attribute_names(op: Op) -> list[str]:
    """The attributes that are written down."""
    return [a.name for a in op.attributes if a.kind not in TYPED]


def unknown_attribute_fault(op: Op, name: str) -> str:
    """The fault of an attribute that the op does not have."""
    known = attribute_names(op)
    has = f"; it has {', '.join(known)}" if known else "; it has none"
    return f"has no attribute '{name}'{has}{suggestion(name, known)}"


def operand_count_fault(op: Op, count: int) -> str | None:
    """The fault of a wrong number of operands."""
    if op.variadic or count == len(op.operands):
        return None
    wanted = len(op.operands)
    names = f" ({', '.join(op.operands)})" if wanted else ""
    return f"expects {wanted} operand{'s' * (wanted != 1)}{names}, got {count}"


def typed_value(attribute: Attribute, result: TensorType) -> object:
    """The value of an attribute that is the result's own shape or dtype."""
    return result.shape if attribute.kind == "shape" else result.dtype


def inferred(op: Op, types: tuple[TensorType, ...], params: Params) -> TensorType:
    """The result's type.

    Raises:
        ValueError, TypeError, IndexError: from the record, without the op's name or a place.
    """
    key = (params, types)
    t = op.inferred.get(key)
    if t is None:
        t = op.inferred[key] = op.infer(types, params)
    return t


def result_fault(op: Op, types: Sequence[TensorType], params: Params, result: TensorType) -> str | None:
    """The fault of operand types and attributes that do not fit each other or the result's type."""
    try:
        t = inferred(op, tuple(types), params)
    except (ValueError, TypeError, IndexError) as e:
        return str(e)
    if t is result:
        return None
    giving = f"operands {', '.join(map(repr, types))} give" if types else "its attributes give"
    return f"has the result type {result}, but {giving} {t}"
