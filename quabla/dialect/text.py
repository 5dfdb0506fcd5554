"""The text form of a graph, as ``as_text()`` prints it, and its parser.

One line for each value, arguments first, and the results' shapes at the end::

    %0 = input[name=params/w] : tensor<2x1xf64>
    %1 = input[name=x] : tensor<3x2xf64>
    %2 = matmul(%1, %0) : tensor<3x1xf64>
    %3 = sum(%2, axis=0) : tensor<1xf64>
    outputs: [[1]]

The results are the values that no op uses, in order (the arguments, where there are no ops). A graph with other
results has them on a line before the last: ``returns: %4, %2``. The parser also takes comments, from ``//`` to
the end of a line, empty lines, and any names of letters, digits and ``_.`` after ``%``.

Numbers are the shortest that give the same bits in their dtype. A constant whose elements are all equal is
written as one number, another as nested lists; bools are 0 and 1; NaNs other than ``nan`` carry their bits,
``nan(0x7ff8000000000001)``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final, NoReturn

import numpy as np

from quabla import dtypes
from quabla.dialect import checks
from quabla.dialect.checks import SourceError
from quabla.ops import load_all
from quabla.ops.registry import REGISTRY, Attribute, Op
from quabla.ops.types import Const, Params, Shape, TensorType, splat_const, tensor_type
from quabla.tracing.graph import Graph, TraceTensor

__all__ = ["as_text", "parse"]

_BITS: Final = {dtypes.float64: np.dtype(np.uint64), dtypes.float32: np.dtype(np.uint32)}
_BARE_NAME: Final = re.compile(r'(?:(?!//)[^\s\[\]"\\])+')


# ---- graph to text ------------------------------------------------------------------------------


def as_text(graph: Graph) -> str:
    """The text form of a graph without its dead nodes."""
    body = graph.body()
    names: dict[TraceTensor, str] = {}
    lines: list[str] = []
    for a, name in zip(body.args, graph.names, strict=True):
        names[a] = f"%{len(names)}"
        shown = name if _BARE_NAME.fullmatch(name) else json.dumps(name)
        lines.append(f"{names[a]} = input[name={shown}] : {a.type!r}")
    _add_nodes(body.nodes, names, lines)
    if body.outs and list(body.outs) != _implied_results(body.args, body.nodes):
        lines.append(f"returns: {', '.join([names[o] for o in body.outs])}")
    lines.append(f"outputs: {[list(o.type.shape) for o in body.outs]}\n")
    return "\n".join(lines)


def _add_nodes(nodes: Sequence[TraceTensor], names: dict[TraceTensor, str], lines: list[str]) -> None:
    for node in nodes:
        op = node.op
        name = names[node] = f"%{len(names)}"
        inside = [names[x] for x in node.operands]
        after = ""
        if op.attributes:
            after = _add_attributes(op, node, inside)
        between = f"({', '.join(inside)}){after}" if inside else after
        lines.append(f"{name} = {op.name}{between} : {node.type!r}")


def _add_attributes(op: Op, node: TraceTensor, inside: list[str]) -> str:
    """Add the attributes that stand among the operands to ``inside``; the result stands after the parenthesis."""
    after = ""
    for a, value in zip(op.attributes, node.params, strict=True):
        if a.kind in checks.TYPED or value == _left_out(a, node.operands):
            continue
        shown = _shown(a.kind, value)
        if a.style == "named":
            inside.append(f"{a.name}={shown}")
        elif a.style == "positional":
            inside.append(shown)
        elif a.style == "trailing":
            after += f" {a.name}={shown}"
        else:
            after += f"[{a.name}={shown}]"
    return after


def _left_out(a: Attribute, operands: Sequence[TraceTensor]) -> Any:
    """The value of an attribute that is not written down; None where every value is."""
    if a.kind == "axes" and a.default is None:
        return tuple(range(operands[0].type.ndim))
    return a.default


def _shown(kind: str, value: Any) -> str:
    if kind == "str":
        return value if _WORD.fullmatch(value) else json.dumps(value)
    if kind == "bool":
        return "true" if value else "false"
    if kind == "ints" or (kind == "axes" and len(value) != 1):
        return str(list(value))
    if kind == "axes":
        return str(value[0])
    if kind == "const":
        return _constant_text(value)
    return str(value)


def _constant_text(const: Const) -> str:
    if const.splat is not None:
        array = const.array.flat[:1] if const.array.size else np.array([const.splat], const.array.dtype)
        return _number_text(array, 0)
    if not const.array.size:
        return str(const.array.tolist())
    flat = const.array.reshape(-1)
    items = [_number_text(flat, i) for i in range(flat.size)]
    for n in reversed(const.type.shape):
        items = [f"[{', '.join(items[i : i + n])}]" for i in range(0, len(items), n)]
    return items[0]


def _number_text(flat: np.ndarray[Any, Any], i: int) -> str:
    """Element ``i`` of an array; the array rather than a number, so that a NaN's bits are still there."""
    if flat.dtype == np.bool_:
        return "1" if flat[i] else "0"
    x = float(flat[i])
    if x != x:
        dtype = dtypes.from_numpy(flat.dtype)
        assert dtype is not None
        bits = int(flat[i : i + 1].view(_BITS[dtype])[0])
        return "nan" if bits == _nan_bits(dtype) else f"nan({bits:#x})"
    if flat.dtype == np.float32:
        short = str(flat[i])
        # The parser rounds to float64 first, which in rare cases leads to a neighbour.
        return short if np.float32(float(short)) == flat[i] else repr(x)
    return repr(x)


def _nan_bits(dtype: dtypes.dtype) -> int:
    return int(np.array([np.nan], dtype.numpy).view(_BITS[dtype])[0])


def _implied_results(args: Sequence[TraceTensor], nodes: Sequence[TraceTensor]) -> list[TraceTensor]:
    """The results of a text that does not name them."""
    if not nodes:
        return list(args)
    used = {x for n in nodes for x in n.operands}
    return [n for n in nodes if n not in used]


# ---- text to graph ------------------------------------------------------------------------------


def parse(text: str, file: str = "<text>") -> Graph:
    """The graph that a text describes. Its nodes' locations are the text's lines; equal ops become one node.

    Args:
        text: what ``as_text`` printed, or was written by hand.
        file: the name of the text's file, for messages and locations.

    Raises:
        SourceError: naming line and column, the op, and what was expected.
    """
    load_all()
    return _Parser(text, file).graph()


_SPACE: Final = re.compile(r"[ \t\r]*(?://.*)?")
_VALUE: Final = re.compile(r"%[\w.]+")
_INPUT: Final = re.compile(r"%[\w.]+\s*=\s*input\b")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_NAMED: Final = re.compile(r"([A-Za-z_]\w*)[ \t]*=")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_INTEGER: Final = re.compile(r"-?\d{1,18}(?![\w.])")
_NUMBER: Final = re.compile(r"nan\(0x[0-9a-fA-F]{1,16}\)|(?:-?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|inf)|nan)(?![\w.])")
_TYPE: Final = re.compile(r"tensor<((?:\d{1,18}x)*)(f64|f32|i1)>")
_DEPTH: Final = 64  # NumPy has no more axes


class _Parser:
    """A cursor over the lines of a text, and the graph made from the lines before it."""

    def __init__(self, text: str, file: str) -> None:
        self._file: Final = file
        self._lines: Final = text.split("\n")
        self._number = 0  # of the current line, from 0
        self._pos = 0
        self._subject = ""  # the op that is being read, for messages
        self._values: Final[dict[str, TraceTensor]] = {}
        self._defined: Final[dict[str, int]] = {}

    # ---- the cursor ---------------------------------------------------------------------------

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

    # ---- lines ----------------------------------------------------------------------------------

    def graph(self) -> Graph:
        self._number = -1
        names: list[str] = []
        types: list[TensorType] = []
        keys: list[tuple[str, int]] = []
        more = self._next_line()
        while more and self._is_input():
            key, number = self._definition(), self._number
            self._expect_match(_WORD, "input")
            self._subject = "input"
            names.append(self._input_name())
            self._expect(":")
            types.append(self._type())
            keys.append((key, number))
            self._end_line()
            more = self._next_line()
        graph = Graph(types, names, fold=False)
        for a, (key, number) in zip(graph.args, keys, strict=True):
            a._loc = (self._file, number + 1)
            self._values[key] = a
        with graph:
            while more and self._peek("%"):
                key = self._definition()
                graph.location = (self._file, self._number + 1)
                self._values[key] = self._op(graph)
                self._end_line()
                more = self._next_line()
        return graph.finish(self._results(graph, more))

    def _peek(self, token: str) -> bool:
        self._skip()
        return self._lines[self._number].startswith(token, self._pos)

    def _is_input(self) -> bool:
        return _INPUT.match(self._lines[self._number], self._pos) is not None

    def _definition(self) -> str:
        """``%name =``: the name of a value that is not defined yet."""
        start = self._pos
        key = self._expect_match(_VALUE, "a value such as '%0'")
        earlier = self._defined.get(key)
        if earlier is not None:
            self._fail(f"{key} is defined twice; the first definition is on line {earlier + 1}", start)
        self._defined[key] = self._number
        self._expect("=")
        return key

    def _end_line(self) -> None:
        if not self._at_end():
            self._fail(f"expected the end of the line, got {self._found()}")

    def _input_name(self) -> str:
        self._expect("[")
        self._expect("name")
        self._expect("=")
        quoted = self._take(_STRING)
        name = self._expect_match(_BARE_NAME, "a name") if quoted is None else self._unquoted(quoted)
        self._expect("]")
        return name

    def _results(self, graph: Graph, more: bool) -> list[TraceTensor]:
        outs: list[TraceTensor] | None = None
        if more and self._accept("returns:"):
            self._subject = "returns"
            outs = [self._operand()]
            while self._accept(","):
                outs.append(self._operand())
            self._end_line()
            more = self._next_line()
        if not more:
            self._pos = len(self._lines[self._number])
            self._fail("the text ends without a line 'outputs: [...]'; it may be truncated")
        self._expect("outputs:", " or a value such as '%0 = add(...)'")
        self._subject = "outputs"
        self._skip()
        start = self._pos
        shapes = self._list(self._shape)
        self._end_line()
        if outs is None:
            outs = _implied_results(graph.args, graph.nodes) if shapes else []
        found = [list(o.type.shape) for o in outs]
        if shapes != found:
            self._fail(f"the results have the shapes {found}, got {shapes}", start)
        if self._next_line():
            self._fail(f"expected the end of the text after 'outputs:', got {self._found()}")
        return outs

    def _shape(self) -> list[int]:
        return self._list(self._integer)

    # ---- ops ------------------------------------------------------------------------------------

    def _op(self, graph: Graph) -> TraceTensor:
        self._skip()
        start = self._pos
        name = self._expect_match(_WORD, "an op's name")
        op = REGISTRY.get(name)
        if op is None:
            if name == "input":
                self._fail("inputs must stand before the first op", start)
            self._fail(f"unknown op '{name}'{checks.suggestion(name, REGISTRY)}", start)
        self._subject = name
        operands: list[TraceTensor] = []
        given: dict[str, tuple[Any, int]] = {}
        if self._accept("["):
            self._attribute(op, given)
            self._expect("]")
        elif self._accept("("):
            self._arguments(op, operands, given)
        elif op.operands:
            self._fail(f"expected '(' and operands, got {self._found()}")
        while not self._accept(":"):
            if not self._attribute(op, given):
                self._fail(f"expected ':' and the result's type, got {self._found()}")
        result = self._type()
        message = checks.operand_count_fault(op, len(operands))
        if message is not None:
            self._fail(message, start)
        params = self._params(op, operands, given, result, start)
        message = checks.result_fault(op, [x.type for x in operands], params, result)
        if message is not None:
            self._fail(message, start)
        return graph.emit(op, tuple(operands), params)

    def _arguments(self, op: Op, operands: list[TraceTensor], given: dict[str, tuple[Any, int]]) -> None:
        """What stands between the parentheses: operands, then attributes."""
        positional = [a for a in op.attributes if a.style == "positional"]
        while not self._accept(")"):
            if operands or given:
                self._expect(",", " or ')'")
            if self._peek("%") and not given:
                operands.append(self._operand())
            elif not self._attribute(op, given):
                if not positional:
                    what = "an attribute" if given else "an operand such as '%0' or an attribute"
                    self._fail(f"expected {what}, got {self._found()}")
                a = positional.pop(0)
                self._give(given, a, self._value(a.kind))

    def _operand(self) -> TraceTensor:
        self._skip()
        start = self._pos
        key = self._expect_match(_VALUE, "a value such as '%0'")
        found = self._values.get(key)
        if found is None:
            self._fail(f"{key} is not defined before this line", start)
        return found

    def _attribute(self, op: Op, given: dict[str, tuple[Any, int]]) -> bool:
        """Read ``name=value`` if it stands here."""
        found = self._take(_NAMED)
        if found is None:
            return False
        key, start = found[1], found.start()
        fits = [a for a in op.attributes if a.name == key]
        if not fits or fits[0].kind in checks.TYPED:
            self._fail(checks.unknown_attribute_fault(op, key), start)
        self._give(given, fits[0], self._value(fits[0].kind), start)
        return True

    def _give(self, given: dict[str, tuple[Any, int]], a: Attribute, value: Any, start: int | None = None) -> None:
        start = self._pos if start is None else start
        if a.name in given:
            self._fail(f"attribute '{a.name}' is given twice", start)
        given[a.name] = (value, start)

    def _params(
        self,
        op: Op,
        operands: list[TraceTensor],
        given: dict[str, tuple[Any, int]],
        result: TensorType,
        start: int,
    ) -> Params:
        values: list[Any] = []
        for a in op.attributes:
            if a.kind in checks.TYPED:
                values.append(checks.typed_value(a, result))
            elif a.name in given:
                value, column = given[a.name]
                values.append(self._constant(value, result, column) if a.kind == "const" else value)
            else:
                default = _left_out(a, operands)
                if default is None:
                    self._fail(f"needs the attribute '{a.name}'", start)
                values.append(default)
        return tuple(values)

    # ---- types and attribute values -------------------------------------------------------------

    def _type(self) -> TensorType:
        found = self._take(_TYPE)
        if found is None:
            self._fail(f"expected a type such as tensor<2x3xf64> (of f64, f32 or i1), got {self._found()}")
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
            quoted = self._take(_STRING)
            return self._expect_match(_WORD, "a word") if quoted is None else self._unquoted(quoted)
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
        if not dtype.is_float:
            if number not in ("0", "1"):
                self._fail(f"expected 0 or 1 in a constant of type i1, got '{number}'", column)
            array[i] = number == "1"
        elif number.startswith("nan("):
            bits = int(number[4:-1], 16)
            if bits >> (8 * dtype.numpy.itemsize):
                self._fail(f"{number} has more bits than {dtype}", column)
            array.view(_BITS[dtype])[i] = bits
            if array[i] == array[i]:
                self._fail(f"{number} is not a NaN of {dtype}", column)
        else:
            with np.errstate(over="ignore"):  # rounds to infinity, as everywhere
                array[i] = float(number)
