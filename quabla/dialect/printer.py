"""Graphs as text; ``quabla.dialect.text`` describes the form."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from quabla import dtypes
from quabla.dialect import checks
from quabla.dialect.captures import captured_in_order, first_operands, outer_names
from quabla.ops.registry import Attribute, Op
from quabla.ops.types import Const
from quabla.tracing.graph import COND, FORI, WHILE, Body, Graph, Node, RegionNode, TraceTensor

__all__ = ["BARE_NAME", "BETWEEN", "BITS", "WORD", "as_text", "implied_results", "left_out"]

BITS: Final = {dtypes.float64: np.dtype(np.uint64), dtypes.float32: np.dtype(np.uint32)}
BARE_NAME: Final = re.compile(r'(?:(?!//)[^\s\[\]"\\])+')
WORD: Final = re.compile(r"[A-Za-z_]\w*")
#: The word between the two regions of an op.
BETWEEN: Final = {COND: "else", WHILE: "do"}
_INDENT: Final = "  "


def as_text(graph: Graph) -> str:
    """The text form of a graph without its dead nodes."""
    body = graph.body()
    printer = _Printer()
    names: dict[TraceTensor, str] = {}
    for a, name in zip(body.args, graph.names, strict=True):
        names[a] = printer.name()
        shown = name if BARE_NAME.fullmatch(name) else json.dumps(name)
        printer.lines.append(f"{names[a]} = input[name={shown}] : {a.type!r}")
    printer.add_nodes(body.nodes, names)
    lines = printer.lines
    if body.outs and list(body.outs) != implied_results(body.args, body.nodes):
        lines.append(f"returns: {', '.join([names[o] for o in body.outs])}")
    lines.append(f"outputs: {[list(o.type.shape) for o in body.outs]}\n")
    return "\n".join(lines)


class _Printer:
    """The lines so far; values are numbered through, those of regions too."""

    __slots__ = ("_count", "_indent", "lines")

    def __init__(self) -> None:
        self.lines: Final[list[str]] = []
        self._count = 0
        self._indent = ""

    def name(self) -> str:
        """The name of the next value."""
        self._count += 1
        return f"%{self._count - 1}"

    def add_nodes(self, nodes: Sequence[Node], names: dict[TraceTensor, str]) -> None:
        """Add the lines of a body's nodes; ``names`` has the values that they use and gets those that they define."""
        for node in nodes:
            if isinstance(node, RegionNode):
                self._add_region(node, names)
                continue
            op = node.op
            name = names[node] = self.name()
            inside = [names[x] for x in node.operands]
            after = ""
            if op.attributes:
                after = _add_attributes(op, node, inside)
            between = f"({', '.join(inside)}){after}" if inside else after
            self.lines.append(f"{self._indent}{name} = {op.name}{between} : {node.type!r}")

    def _add_region(self, n: RegionNode, names: dict[TraceTensor, str]) -> None:
        inside = [names[x] for x in (*first_operands(n), *captured_in_order(n))]
        if n.op is FORI:
            inside += [f"lower={n.params[0]}", f"upper={n.params[1]}"]
        elif n.op is WHILE and n.params[0] is not None:
            inside.append(f"bound={n.params[0]}")
        names.update((r, self.name()) for r in n.results)
        results = ", ".join([names[r] for r in n.results])
        types = ", ".join([repr(r.type) for r in n.results])
        opening = f"{results} = {n.op.name}({', '.join(inside)}) : {types}"
        for body in n.regions:
            self.lines.append(f"{self._indent}{opening} {{")
            self._add_body(n, body, names)
            opening = f"}} {BETWEEN.get(n.op, '')}"
        self.lines.append(f"{self._indent}}}")

    def _add_body(self, n: RegionNode, body: Body, names: dict[TraceTensor, str]) -> None:
        self._indent += _INDENT
        outside = outer_names(n, body)
        # A captured value that the region does not use is no operand of the text and has no name in it.
        inner = {a: names[x] for a, x in outside.items() if x in names}
        own = body.args[: len(body.args) - len(outside)]
        inner.update((a, self.name()) for a in own)
        if own:
            self.lines.append(f"{self._indent}args: {', '.join([f'{inner[a]} : {a.type!r}' for a in own])}")
        self.add_nodes(body.nodes, inner)
        self.lines.append(f"{self._indent}yield {', '.join([inner[o] for o in body.outs])}")
        self._indent = self._indent[len(_INDENT) :]


def _add_attributes(op: Op, node: TraceTensor, inside: list[str]) -> str:
    """Add the attributes that stand among the operands to ``inside``; the result stands after the parenthesis."""
    after = ""
    for a, value in zip(op.attributes, node.params, strict=True):
        if a.kind in checks.TYPED or value == left_out(a, node.operands):
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


def left_out(a: Attribute, operands: Sequence[TraceTensor]) -> Any:
    """The value of an attribute that is not written down; None where every value is."""
    if a.kind == "axes" and a.default is None:
        return tuple(range(operands[0].type.ndim))
    return a.default


def _shown(kind: str, value: Any) -> str:
    if kind == "str":
        return value if WORD.fullmatch(value) else json.dumps(value)
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
    if flat.dtype.kind == "i":
        return str(flat[i])
    x = float(flat[i])
    if x != x:
        dtype = dtypes.from_numpy(flat.dtype)
        assert dtype is not None
        bits = int(flat[i : i + 1].view(BITS[dtype])[0])
        return "nan" if bits == _nan_bits(dtype) else f"nan({bits:#x})"
    if flat.dtype == np.float32:
        short = str(flat[i])
        # The parser rounds to float64 first, which in rare cases leads to a neighbour.
        return short if np.float32(float(short)) == flat[i] else repr(x)
    return repr(x)


def _nan_bits(dtype: dtypes.dtype) -> int:
    return int(np.array([np.nan], dtype.numpy).view(BITS[dtype])[0])


def implied_results(args: Sequence[TraceTensor], nodes: Sequence[Node]) -> list[TraceTensor]:
    """The results of a text that does not name them."""
    if not nodes:
        return list(args)
    used = {x for n in nodes for x in n.operands}
    made = [r for n in nodes for r in (n.results if isinstance(n, RegionNode) else (n,))]
    return [r for r in made if r not in used]
