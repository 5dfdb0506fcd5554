"""A cursor over a text's lines that reads what the text form is made of: tokens, types and attribute values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final, NoReturn

import numpy as np

from quabla import dtypes
from quabla.dialect.checks import SourceError
from quabla.dialect.printer import BITS, WORD
from quabla.ops.types import Const, Shape, TensorType, splat_const, tensor_type

__all__ = ["STRING", "Cursor"]

STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_SPACE: Final = re.compile(r"[ \t\r]*(?://.*)?")
_INTEGER: Final = re.compile(r"-?\d{1,18}(?![\w.])")
_NUMBER: Final = re.compile(r"nan\(0x[0-9a-fA-F]{1,16}\)|(?:-?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|inf)|nan)(?![\w.])")
_INTEGRAL: Final = re.compile(r"-?\d+")
_TYPE: Final = re.compile(r"tensor<((?:\d{1,18}x)*)(f64|f32|i1|i32|i64)>")
_DEPTH: Final = 64  # NumPy has no more axes


class Cursor:
    """A position in a text.

    Args:
        text: the text.
        file: its name for messages.
    """

    def __init__(self, text: str, file: str) -> None:
        self._file: Final = file
        self._lines: Final = text.split("\n")
        self._number = 0  # of the current line, from 0
        self._pos = 0
        self._subject = ""  # the op that is being read, for messages

    # ---- tokens -------------------------------------------------------------------------------

    def _fail(self, message: str, column: int | None = None) -> NoReturn:
        subject = f"{self._subject}: " if self._subject else ""
        raise SourceError(
            subject + message, self._file, self._number + 1, (self._pos if column is None else column) + 1
        )

    def _skip(self) -> None:
        found = _SPACE.match(self._lines[self._number], self._pos)
        assert found is not None
        self._pos = found.end()

    def _found(self) -> str:
        """What stands at the cursor, for messages."""
        self._skip()
        rest = self._lines[self._number][self._pos :].split("//")[0].split()
        return f"'{rest[0]}'" if rest else "the end of the line"

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self._skip()
        found = pattern.match(self._lines[self._number], self._pos)
        if found is not None:
            self._pos = found.end()
        return found

    def _accept(self, token: str) -> bool:
        self._skip()
        if self._lines[self._number].startswith(token, self._pos):
            self._pos += len(token)
            return True
        return False

    def _expect(self, token: str, also: str = "") -> None:
        if not self._accept(token):
            self._fail(f"expected '{token}'{also}, got {self._found()}")

    def _expect_match(self, pattern: re.Pattern[str], what: str) -> str:
        found = self._take(pattern)
        if found is None:
            self._fail(f"expected {what}, got {self._found()}")
        return found[0]

    def _at_end(self) -> bool:
        self._skip()
        return self._pos == len(self._lines[self._number])

    def _next_line(self) -> bool:
        """Move to the next line that holds something."""
        self._subject = ""
        while self._number + 1 < len(self._lines):
            self._number += 1
            self._pos = 0
            if not self._at_end():
                return True
        return False

    def _peek(self, token: str) -> bool:
        self._skip()
        return self._lines[self._number].startswith(token, self._pos)

    # ---- types and attribute values -------------------------------------------------------------

    def _type(self) -> TensorType:
        found = self._take(_TYPE)
        if found is None:
            self._fail(f"expected a type such as tensor<2x3xf64> (of f64, f32, i1, i32 or i64), got {self._found()}")
        shape = tuple([int(n) for n in found[1].split("x")[:-1]])
        return tensor_type(shape, dtypes.BY_MLIR[found[2]])

    def _list(self, item: Callable[[], Any]) -> list[Any]:
        items: list[Any] = []
        self._expect("[")
        while not self._accept("]"):
            if items:
                self._expect(",", " or ']'")
            items.append(item())
        return items

    def _integer(self) -> int:
        return int(self._expect_match(_INTEGER, "an integer"))

    def _value(self, kind: str) -> Any:
        if kind == "int":
            return self._integer()
        if kind == "ints":
            return tuple(self._list(self._integer))
        if kind == "axes":
            return self._axes() if self._peek("[") else (self._integer(),)
        if kind == "bool":
            if self._accept("true"):
                return True
            self._expect("false", " or 'true'")
            return False
        if kind == "str":
            quoted = self._take(STRING)
            return self._expect_match(WORD, "a word") if quoted is None else self._unquoted(quoted)
        return self._numbers(0)

    def _axes(self) -> tuple[int, ...]:
        self._skip()
        start = self._pos
        axes = tuple(self._list(self._integer))
        if any(n >= m for n, m in pairwise((-1, *axes))):
            self._fail(f"axes must be ascending and not negative, got {list(axes)}", start)
        return axes

    def _unquoted(self, quoted: re.Match[str]) -> str:
        try:
            return json.loads(quoted[0])
        except json.JSONDecodeError as e:
            self._fail(f"not a JSON string: {e.msg}", quoted.start() + e.pos)

    def _numbers(self, depth: int) -> Any:
        """A number's text, or nested lists of them."""
        if not self._peek("["):
            return self._expect_match(_NUMBER, "a number")
        if depth == _DEPTH:
            self._fail(f"lists are nested more than {_DEPTH} deep")
        return self._list(lambda: self._numbers(depth + 1))

    def _constant(self, value: Any, type: TensorType, column: int) -> Const:
        flat: list[str] = []
        if isinstance(value, str):
            flat.append(value)
        else:
            self._flatten(value, type, type.shape, flat, column)
        array = np.empty(len(flat), type.dtype.numpy)
        for i, number in enumerate(flat):
            self._set_number(array, i, number, type.dtype, column)
        if not isinstance(value, str):
            return Const(array.reshape(type.shape))
        try:
            if array[0] == array[0] or not type.size:
                return splat_const(type, array[0].item())
            return Const(np.broadcast_to(array.reshape(()), type.shape))
        except (ValueError, MemoryError) as e:
            self._fail(f"{type} is too large: {e}", column)

    def _flatten(self, value: Any, type: TensorType, shape: Shape, flat: list[str], column: int) -> None:
        if isinstance(value, str) != (not shape) or (shape and len(value) != shape[0]):
            self._fail(f"the numbers do not have the shape of the type {type}", column)
        if isinstance(value, str):
            flat.append(value)
        else:
            for item in value:
                self._flatten(item, type, shape[1:], flat, column)

    def _set_number(self, array: Any, i: int, number: str, dtype: dtypes.dtype, column: int) -> None:
        if dtype.is_int:
            limits = np.iinfo(dtype.numpy)
            if _INTEGRAL.fullmatch(number) is None or not limits.min <= int(number) <= limits.max:
                self._fail(f"expected an integer of {dtype.mlir}, got '{number}'", column)
            array[i] = int(number)
        elif dtype.is_bool:
            if number not in ("0", "1"):
                self._fail(f"expected 0 or 1 in a constant of type i1, got '{number}'", column)
            array[i] = number == "1"
        elif number.startswith("nan("):
            bits = int(number[4:-1], 16)
            if bits >> (8 * dtype.numpy.itemsize):
                self._fail(f"{number} has more bits than {dtype}", column)
            array.view(BITS[dtype])[i] = bits
            if array[i] == array[i]:
                self._fail(f"{number} is not a NaN of {dtype}", column)
        else:
            with np.errstate(over="ignore"):  # rounds to infinity, as everywhere
                array[i] = float(number)
