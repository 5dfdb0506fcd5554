"""From text to graphs; ``quabla.dialect.text`` describes the form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from quabla import dtypes
from quabla.dialect import checks
from quabla.dialect.literals import STRING, Cursor
from quabla.dialect.printer import BARE_NAME, BETWEEN, WORD, implied_results, left_out
from quabla.ops import load_all
from quabla.ops.registry import REGISTRY, Attribute, Op
from quabla.ops.types import Params, TensorType, tensor_type
from quabla.tracing.graph import ARGUMENT, COND, FORI, WHILE, Graph, RegionOp, TraceTensor
from quabla.tracing.regions import INDEX, closed

__all__ = ["parse"]


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


_VALUE: Final = re.compile(r"%[\w.]+")
_INPUT: Final = re.compile(r"%[\w.]+\s*=\s*input\b")
_NAMED: Final = re.compile(r"([A-Za-z_]\w*)[ \t]*=")
_REGION_OPS: Final = {op.name: op for op in (COND, FORI, WHILE)}
_BOOL: Final = tensor_type((), dtypes.bool_)
_DEPTH: Final = 64  # of regions


class _Parser(Cursor):
    """Reads lines into a graph."""

    def __init__(self, text: str, file: str) -> None:
        super().__init__(text, file)
        self._values: dict[str, TraceTensor] = {}  # what the current region sees
        self._around: Final[list[tuple[str, dict[str, TraceTensor]]]] = []  # the ops around it, and what they see
        self._defined: Final[dict[str, int]] = {}
        self._inner: Final[set[str]] = set()  # the values of regions that have been read

    # ---- lines ----------------------------------------------------------------------------------

    def graph(self) -> Graph:
        self._number = -1
        names: list[str] = []
        types: list[TensorType] = []
        keys: list[tuple[str, int]] = []
        more = self._next_line()
        while more and self._is_input():
            (key,), number = self._definitions(), self._number
            self._expect_match(WORD, "input")
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
            more = self._statements(graph, more)
        return graph.finish(self._results(graph, more))

    def _statements(self, graph: Graph, more: bool) -> bool:
        """Emit lines that define values; returns whether there is a line after them."""
        while more and self._peek("%"):
            keys = self._definitions()
            graph.location = (self._file, self._number + 1)
            self._skip()
            start = self._pos
            name = self._expect_match(WORD, "an op's name")
            kind = _REGION_OPS.get(name)
            if kind is not None:
                made = self._region_op(kind, graph, len(keys), start)
            else:
                made = [self._op(name, graph, start)]
                if len(keys) != 1:
                    self._fail(f"it has one result, got names for {len(keys)}", start)
            self._values.update(zip(keys, made, strict=True))
            self._end_line()
            more = self._next_line()
        return more

    def _is_input(self) -> bool:
        return _INPUT.match(self._lines[self._number], self._pos) is not None

    def _definitions(self) -> list[str]:
        """``%name =``, or several names with commas between: values that are not defined yet."""
        keys = [self._new_name()]
        while self._accept(","):
            keys.append(self._new_name())
        self._expect("=")
        return keys

    def _new_name(self) -> str:
        self._skip()
        start = self._pos
        key = self._expect_match(_VALUE, "a value such as '%0'")
        earlier = self._defined.get(key)
        if earlier is not None:
            self._fail(f"{key} is defined twice; the first definition is on line {earlier + 1}", start)
        self._defined[key] = self._number
        return key

    def _end_line(self) -> None:
        if not self._at_end():
            self._fail(f"expected the end of the line, got {self._found()}")

    def _input_name(self) -> str:
        self._expect("[")
        self._expect("name")
        self._expect("=")
        quoted = self._take(STRING)
        name = self._expect_match(BARE_NAME, "a name") if quoted is None else self._unquoted(quoted)
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
            outs = implied_results(graph.args, graph.nodes) if shapes else []
        found = [list(o.type.shape) for o in outs]
        if shapes != found:
            self._fail(f"the results have the shapes {found}, got {shapes}", start)
        if self._next_line():
            self._fail(f"expected the end of the text after 'outputs:', got {self._found()}")
        return outs

    def _shape(self) -> list[int]:
        return self._list(self._integer)

    # ---- ops ------------------------------------------------------------------------------------

    def _op(self, name: str, graph: Graph, start: int) -> TraceTensor:
        op = REGISTRY.get(name)
        if op is None:
            if name == "input":
                self._fail("inputs must stand before the first op", start)
            self._fail(f"unknown op '{name}'{checks.suggestion(name, (*REGISTRY, *_REGION_OPS))}", start)
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
        return self._named_operand()[1]

    def _named_operand(self) -> tuple[str, TraceTensor]:
        self._skip()
        start = self._pos
        key = self._expect_match(_VALUE, "a value such as '%0'")
        found = self._values.get(key)
        if found is None:
            if any(key in values for _, values in self._around):
                self._fail(
                    f"{key} is from outside this region: name it among the operands of {self._around[-1][0]}", start
                )
            if key in self._inner:
                self._fail(f"{key} is defined inside a region, on line {self._defined[key] + 1}", start)
            self._fail(f"{key} is not defined before this line", start)
        return key, found

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
                default = left_out(a, operands)
                if default is None:
                    self._fail(f"needs the attribute '{a.name}'", start)
                values.append(default)
        return tuple(values)

    # ---- ops with regions -------------------------------------------------------------------------

    def _region_op(self, kind: RegionOp, graph: Graph, count: int, start: int) -> list[TraceTensor]:
        """Read an op with regions up to its last brace; returns its ``count`` results."""
        if len(self._around) == _DEPTH:
            self._fail(f"regions are nested more than {_DEPTH} deep", start)
        self._subject = kind.name
        operands, bounds = self._region_operands(kind)
        self._expect(":")
        types = [self._type()]
        while self._accept(","):
            types.append(self._type())
        if len(types) != count:
            self._fail(f"{count} result{'s' * (count != 1)}, but {len(types)} type{'s' * (len(types) != 1)}", start)
        fixed = [_BOOL] if kind is COND else types
        first, rest = operands[: len(fixed)], operands[len(fixed) :]
        found = [x.type for _, x in first]
        if found != fixed:
            what = "the predicate" if kind is COND else "the first carries"
            self._fail(f"{what} must be {_listed(fixed)}, got {_listed(found)}", start)
        own = [*[INDEX] * kind.lead, *(types if kind.carried else ())]
        wanted = [types] if kind is FORI else [[_BOOL], types] if kind is WHILE else [types, types]
        graphs: list[Graph] = []
        for outs in wanted:
            if graphs:
                self._expect("}")
                self._expect(BETWEEN[kind])
            self._expect("{")
            self._end_line()
            graphs.append(self._region(kind, own, dict(rest), outs))
            self._subject = kind.name
        self._expect("}")
        values = [x for _, x in first]
        if kind is FORI and bounds[0] >= bounds[1]:
            return values
        bodies, captured = closed(graphs, len(own))
        params = (0,) if kind is COND else bounds or (None,)
        return graph.emit_region(kind, [*values, *captured], params, bodies, types)

    def _region_operands(self, kind: RegionOp) -> tuple[list[tuple[str, TraceTensor]], tuple[int, ...]]:
        """What stands between the parentheses: named operands, then a loop's bounds."""
        operands: list[tuple[str, TraceTensor]] = []
        bounds: list[int] = []
        wanted = {FORI: ("lower", "upper"), WHILE: ("bound",)}.get(kind, ())
        self._expect("(")
        while not self._accept(")"):
            if operands:
                self._expect(",", " or ')'")
            if self._peek("%") and not bounds:
                operands.append(self._named_operand())
            elif len(bounds) == len(wanted):
                self._fail(f"expected an operand such as '%0', got {self._found()}")
            else:
                self._expect(wanted[len(bounds)])
                self._expect("=")
                column = self._pos
                bounds.append(self._integer())
                if kind is WHILE and bounds[0] < 1:
                    self._fail(f"the bound must be positive, got {bounds[0]}", column)
        if len(bounds) != len(wanted) and kind is not WHILE:
            self._fail(f"needs the attribute '{wanted[len(bounds)]}'")
        return operands, tuple(bounds)

    def _region(
        self, kind: RegionOp, own: Sequence[TensorType], outside: dict[str, TraceTensor], wanted: Sequence[TensorType]
    ) -> Graph:
        """The lines between two braces."""
        region = Graph(own, fold=False)
        for x in outside.values():
            if x not in region.captures:
                region.captures[x] = TraceTensor(region, x.type, ARGUMENT, (), ())
        self._around.append((kind.name, self._values))
        self._values = {key: region.captures[x] for key, x in outside.items()}
        more = self._next_line()
        if more and own:
            self._region_arguments(region)
            more = self._next_line()
        with region:
            more = self._statements(region, more)
        if not more:
            self._pos = len(self._lines[self._number])
            self._fail("the text ends inside a region; it may be truncated")
        self._expect("yield", " or a value such as '%0 = add(...)'")
        self._subject = "yield"
        self._skip()
        start = self._pos
        outs = [self._operand()]
        while self._accept(","):
            outs.append(self._operand())
        found = [o.type for o in outs]
        if found != list(wanted):
            self._fail(f"must be given {_listed(wanted)}, got {_listed(found)}", start)
        self._end_line()
        self._inner.update(self._values.keys() - outside.keys())
        _, self._values = self._around.pop()
        if not self._next_line():
            self._pos = len(self._lines[self._number])
            self._fail("the text ends inside a region; it may be truncated")
        return region.finish(outs)

    def _region_arguments(self, region: Graph) -> None:
        self._expect("args:")
        self._subject = "args"
        for i, a in enumerate(region.args):
            if i:
                self._expect(",")
            self._values[self._new_name()] = a
            self._expect(":")
            self._skip()
            start = self._pos
            found = self._type()
            if found is not a.type:
                self._fail(f"argument {i} of the region is {a.type}, got {found}", start)
        self._end_line()


def _listed(types: Sequence[TensorType]) -> str:
    return ", ".join(map(repr, types)) or "none"
