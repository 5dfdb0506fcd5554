"""What the translation writes with: Python functions under construction, and the names of values in them."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from quabla import errors
from quabla.mlir import ir

__all__ = ["Function", "Literal", "Program", "Type", "number", "type_of", "unsupported"]

#: The dtype in ``mlx.core`` of every element type. MLX has no float64 that every device computes with.
DTYPES: Final = {
    "f32": "float32",
    "f64": "float32",
    "i1": "bool_",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "ui8": "uint8",
    "ui16": "uint16",
    "ui32": "uint32",
    "ui64": "uint64",
}

_INT32: Final = 2**31


def unsupported(op: str, why: str) -> errors.UnsupportedOperationError:
    """The error for what MLX cannot run."""
    return errors.UnsupportedOperationError(f"mlx cannot run {op}: {why}", op=op.removeprefix("qb."), device="mlx")


class Type(NamedTuple):
    """A shape and the name of a dtype of ``mlx.core``."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def is_float(self) -> bool:
        return self.dtype == "float32"

    @property
    def is_bool(self) -> bool:
        return self.dtype == "bool_"


_types: Final[dict[Any, Type]] = {}


def type_of(value: Any) -> Type:
    """The type that an MLIR value has in MLX.

    Raises:
        UnsupportedOperationError: for types that MLX has no arrays of.
    """
    found = _types.get(value.type)
    if found is None:
        t = value.type
        if not isinstance(t, ir.RankedTensorType) or not t.has_static_shape:
            raise unsupported("a value", f"its type is {t}, and it needs a tensor of static shape")
        element = str(t.element_type)
        if element not in DTYPES:
            raise unsupported(element, "MLX has no such dtype")
        found = _types[t] = Type(tuple(t.shape), DTYPES[element])
    return found


class Literal(NamedTuple):
    """A constant whose elements are all one number: it is written where it is used."""

    value: float | bool
    type: Type


def number(value: float | bool, type: Type) -> str:
    """A number as Python source that MLX takes for one of the dtype."""
    if type.is_bool:
        return repr(bool(value))
    if not type.is_float:
        return repr(int(value))
    narrow = np.float32(value)
    if np.isnan(narrow):
        return "mx.nan"
    if np.isinf(narrow):
        return "mx.inf" if narrow > 0 else "-mx.inf"
    return repr(float(str(narrow)))


class Program:
    """A Python module under construction.

    Attributes:
        functions: the finished functions' text, in the order in which they must stand.
    """

    def __init__(self) -> None:
        self.functions: Final[list[str]] = []
        self._imports: Final[dict[str, set[str]]] = {}
        self._constants: Final[dict[tuple[bytes, Type], str]] = {}
        self._lines: Final[list[str]] = []
        self._taken: Final[set[str]] = {"mx", "main"}

    def helper(self, module: str, name: str) -> str:
        """The name of a function of ``quabla.lowering.mlx.<module>``, which the text then imports."""
        self._imports.setdefault(module, set()).add(name)
        return f"{module}.{name}"

    def name(self, stem: str) -> str:
        """A name for a function that is not taken; those with an underscore in front are no parameter's."""
        stem = re.sub(r"\W+", "_", stem)
        name, n = stem, 0
        while name in self._taken:
            n += 1
            name = f"{stem}_{n}"
        self._taken.add(name)
        return name

    def constant(self, array: np.ndarray[Any, Any], type: Type) -> str:
        """The name of a constant array."""
        with np.errstate(all="ignore"):
            array = array.astype(getattr(np, type.dtype))
        key = (array.tobytes(), type)
        name = self._constants.get(key)
        if name is None:
            name = self._constants[key] = f"C{len(self._constants)}"
            if array.size == 0:
                text = f"mx.zeros({type.shape}, mx.{type.dtype})"
            else:
                text = f"mx.array({_listed(array, type)}, mx.{type.dtype})"
            self._lines.append(f"{name} = {text}")
        return name

    def text(self) -> str:
        """The whole module."""
        head = ["import mlx.core as mx"]
        if self._imports:
            head += ["", f"from quabla.lowering.mlx import {', '.join(sorted(self._imports))}"]
        parts = ["\n".join(head)]
        if self._lines:
            parts.append("\n".join(self._lines))
        return "\n\n".join(parts) + "\n\n\n" + "\n\n\n".join(self.functions) + "\n"


def _listed(array: np.ndarray[Any, Any], type: Type) -> str:
    if array.ndim == 0:
        return number(array.item(), type)
    return f"[{', '.join(_listed(a, type) for a in array)}]"


class Function:
    """A Python function under construction.

    Attributes:
        program: the module that it belongs to.
        loops_evaluate: whether loops inside evaluate their carries as they go, so the function cannot be compiled.
    """

    def __init__(self, program: Program, name: str, *, loops_evaluate: bool) -> None:
        self.program: Final = program
        self.name: Final = name
        self.loops_evaluate: Final = loops_evaluate
        self._values: Final[dict[Any, str | Literal]] = {}
        self._lines: Final[list[str]] = []
        self._depth = 1
        self._taken: Final[set[str]] = {"mx", "helpers", "linalg", "range"}
        self._count = 0
        self._parameters: Final[list[str]] = []

    # ---- names ------------------------------------------------------------------------------------

    def parameter(self, value: Any, wanted: str = "") -> None:
        """One more parameter, which stands for an MLIR value."""
        name = re.sub(r"\W+", "_", wanted).strip("_")
        if not name or name[0].isdigit() or re.fullmatch(r"[vC]\d+", name):
            name = f"a{len(self._parameters)}"
        elif keyword.iskeyword(name):
            name += "_"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        self._parameters.append(name)
        self._values[value] = name

    def fresh(self) -> str:
        """A new name."""
        name = f"v{self._count}"
        self._count += 1
        return name

    def bind(self, value: Any, to: str | Literal) -> None:
        """Let an MLIR value be what a name or number stands for."""
        self._values[value] = to

    def found(self, value: Any) -> str | Literal:
        """The name or the number of a value."""
        return self._values[value]

    def knows(self, value: Any) -> bool:
        """Whether a value is defined in this function."""
        return value in self._values

    def array(self, value: Any) -> str:
        """The name of a value, which is an array."""
        found = self._values[value]
        if isinstance(found, str):
            return found
        text = self.filled(found)
        name = self._values[value] = self.let(text)
        return name

    def filled(self, literal: Literal) -> str:
        """An array of one number."""
        type, text = literal.type, number(literal.value, literal.type)
        if not type.shape:
            return f"mx.array({text}, mx.{type.dtype})"
        return f"mx.full({type.shape}, {text}, mx.{type.dtype})"

    def operands(self, values: Sequence[Any], shape: tuple[int, ...]) -> list[str]:
        """The operands of an elementwise op: numbers as such, next to an array of the result's shape."""
        found = [self._values[v] for v in values]
        whole = any(isinstance(f, str) and type_of(v).shape == shape for f, v in zip(found, values, strict=True))
        texts = []
        for f, v in zip(found, values, strict=True):
            if isinstance(f, Literal) and whole and (f.type.is_float or f.type.is_bool or abs(f.value) < _INT32):
                texts.append(number(f.value, f.type))
            else:
                texts.append(self.array(v))
                whole = whole or type_of(v).shape == shape
        return texts

    # ---- lines ------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """One more statement."""
        self._lines.append("    " * self._depth + text)

    def let(self, expression: str) -> str:
        """A new name for an expression."""
        name = self.fresh()
        self.line(f"{name} = {expression}")
        return name

    def block(self, head: str, write: Callable[[], None]) -> None:
        """A statement with a block of its own. Numbers that become arrays in it are numbers again behind it."""
        self.line(head)
        self._depth += 1
        before = dict(self._values)
        write()
        self._values.update(before)
        self._depth -= 1

    def helper(self, module: str, name: str) -> str:
        return self.program.helper(module, name)

    def finish(self, results: Sequence[str], *, compiled: bool, as_tuple: bool = False) -> None:
        """Return some values, and hand the text to the module."""
        values = ", ".join(results)
        if as_tuple or not results:
            values = f"({values}{',' if len(results) == 1 else ''})"
        head = ["@mx.compile"] if compiled else []
        head.append(f"def {self.name}({', '.join(self._parameters)}):")
        self.program.functions.append("\n".join([*head, *self._lines, f"    return {values}"]))
