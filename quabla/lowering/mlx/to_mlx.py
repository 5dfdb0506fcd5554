"""A StableHLO module as Python source over ``mlx.core``: functions, loops and choices.

Every op becomes one line, by the table in ``ops.py``. A decomposition becomes a function of its own. A program without
loops and choices is one function for ``mx.compile``; so is the body of a loop. A loop that is short is written out by
``mx.compile`` with the function around it. Any other is run by Python, an iteration at a time, its carries arrays on the
device, and a choice reads its predicate once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from quabla.dialect.writer import ARGUMENT_NAME
from quabla.lowering.exact_f32 import functions_of
from quabla.lowering.mlx.ops import OPS
from quabla.lowering.mlx.writer import Function, Literal, Program, type_of, unsupported
from quabla.mlir import ir, place

__all__ = ["translate"]

#: A function with loops is one program for ``mx.compile`` if that writes out at most this many ops.
_WRITTEN_OUT: Final = 256
#: A loop that Python runs evaluates its carries about every so many ops.
_EVALUATED: Final = 400

_CHOICES: Final = ("stablehlo.if", "stablehlo.case")


def translate(module: Any, name: str = "main") -> str:
    """The Python source of a StableHLO module; its function ``main`` takes and returns arrays of MLX.

    Args:
        module: a module of StableHLO functions.
        name: the function that is ``main``; where there is none of this name, every public function keeps its own.

    Raises:
        UnsupportedOperationError: for an op or a dtype that MLX lacks; ``.op`` names it.
    """
    return _Translation(module).text(name)


class _Count(NamedTuple):
    """A loop of a known number of iterations: the integer counter is its first carry."""

    lower: int
    upper: int


class _Translation:
    """One run over a module."""

    def __init__(self, module: Any) -> None:
        self._program: Final = Program()
        self._sources: Final = {ir.StringAttr(f.attributes["sym_name"]).value: f for f in functions_of(module)}
        self._called: Final[dict[str, str]] = {}
        self._costs: Final[dict[str, float]] = {}

    def text(self, main: str) -> str:
        for symbol, f in self._sources.items():
            if symbol == main or (main not in self._sources and not _is_private(f)):
                self._function(f, "main" if symbol == main else self._program.name(symbol), as_tuple=True)
        return self._program.text()

    # ---- functions --------------------------------------------------------------------------------

    def _function(self, f: Any, name: str, *, as_tuple: bool) -> None:
        block = f.regions[0].blocks[0]
        whole = self._is_one_program(block)
        out = Function(self._program, name, loops_evaluate=not whole)
        names = _argument_names(f)
        for i, a in enumerate(block.arguments):
            out.parameter(a, names[i] if names else "")
        returned = self._block(out, block)
        # What a compiled function calls is compiled with it.
        out.finish([out.array(v) for v in returned], compiled=whole and as_tuple, as_tuple=as_tuple)

    def _callee(self, symbol: str) -> str:
        """The Python function of a function that is called."""
        name = self._called.get(symbol)
        if name is None:
            name = self._called[symbol] = self._program.name(f"_{symbol}")
            self._function(self._sources[symbol], name, as_tuple=False)
        return name

    # ---- blocks -----------------------------------------------------------------------------------

    def _block(self, out: Function, block: Any, *, without: Any = None) -> Sequence[Any]:
        """Write the ops of a block but for the one ``without``; returns what it returns."""
        for op in block.operations:
            name = op.operation.name
            if without is not None and op.operation == without.operation:
                continue
            if name in ("func.return", "stablehlo.return"):
                return list(op.operands)
            if name == "stablehlo.while":
                self._while(out, op)
            elif name in _CHOICES:
                self._choice(out, op)
            elif name in ("func.call", "stablehlo.composite"):
                self._call(out, op)
            else:
                self._op(out, op, name)
        return []

    def _op(self, out: Function, op: Any, name: str) -> None:
        if name == "stablehlo.constant":
            out.bind(op.results[0], _constant(out, op))
            return
        if name == "stablehlo.custom_call":
            name = ir.StringAttr(op.attributes["call_target_name"]).value
        build = OPS.get(name)
        if build is None:
            where = place(op.location)
            at = "" if where is None else f" ({where[0]}:{where[1]})"
            raise unsupported(name.removeprefix("stablehlo."), f"there is no translation of it{at}")
        made = build(out, op)
        if made is None:
            return
        out.bind(op.results[0], made if isinstance(made, Literal) else out.let(made))

    def _call(self, out: Function, op: Any) -> None:
        if op.operation.name == "stablehlo.composite":
            name = ir.StringAttr(op.attributes["name"]).value
            build = OPS.get(name)
            if build is not None:
                made = build(out, op)
                if made is not None:
                    out.bind(op.results[0], out.let(str(made)))
                    return
            symbol = ir.FlatSymbolRefAttr(op.attributes["decomposition"]).value
        else:
            symbol = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        callee = self._callee(symbol)
        arguments = ", ".join(out.array(v) for v in op.operands)
        names = [out.fresh() for _ in op.results]
        out.line(f"{', '.join(names)} = {callee}({arguments})")
        for r, n in zip(op.results, names, strict=True):
            out.bind(r, n)

    # ---- choices ----------------------------------------------------------------------------------

    def _choice(self, out: Function, op: Any) -> None:
        names = [out.fresh() for _ in op.results]
        read = f"{out.array(op.operands[0])}.item()"
        if op.operation.name == "stablehlo.case" and len(op.regions) > 1:
            read = out.let(read)
        last = len(op.regions) - 1
        for i, region in enumerate(op.regions):
            if i == last:  # of a case also what is out of range
                head = "else:" if i else "if True:"
            elif op.operation.name == "stablehlo.case":
                head = f"{'elif' if i else 'if'} {read} == {i}:"
            else:
                head = f"if {read}:"
            out.block(head, lambda block=region.blocks[0]: self._assign(out, names, self._block(out, block)))
        for r, n in zip(op.results, names, strict=True):
            out.bind(r, n)

    def _assign(self, out: Function, names: Sequence[str], values: Sequence[Any]) -> None:
        """Give names to values, all at once."""
        texts = [out.array(v) for v in values]
        out.line(f"{', '.join(names)} = {', '.join(texts)}" if names else "pass")

    # ---- loops ------------------------------------------------------------------------------------

    def _while(self, out: Function, op: Any) -> None:
        test, step = [r.blocks[0] for r in op.regions]
        count = _counted(op, test, step)
        names = [out.fresh() for _ in op.results]
        if count is None:
            self._assign(out, names, op.operands)
            out.block("while True:", lambda: self._until(out, test, step, names))
        else:
            self._for(out, op, step, names, count)
        for r, n in zip(op.results, names, strict=True):
            out.bind(r, n)

    def _until(self, out: Function, test: Any, step: Any, names: list[str]) -> None:
        """One iteration of a loop that reads its test."""
        for a, n in zip(test.arguments, names, strict=True):
            out.bind(a, n)
        (going,) = self._block(out, test)
        out.line(f"if not {out.array(going)}.item():")
        out.line("    break")
        self._iterate(out, step, names, names)
        if names:
            out.line(f"mx.eval({', '.join(names)})")

    def _for(self, out: Function, op: Any, step: Any, names: list[str], count: _Count) -> None:
        """A loop over a range of integers. Its counter becomes an array for the body."""
        counter, *carries = names
        self._assign(out, carries, list(op.operands)[1:]) if carries else None
        index = out.fresh()
        every = max(1, int(_EVALUATED // max(1.0, self._cost(step)))) if self._cost(step) < math.inf else 1

        def body() -> None:
            counting = _counting_on(step)
            if counting is None or any(use.owner != counting for use in step.arguments[0].uses):
                out.line(f"{counter} = mx.array({index}, mx.{type_of(op.operands[0]).dtype})")
            self._iterate(out, step, names, [None, *carries])
            if out.loops_evaluate and carries:
                what = f"mx.eval({', '.join(carries)})"
                out.line(what if every == 1 else f"if {index} % {every} == {every - 1}:")
                if every > 1:
                    out.line("    " + what)

        out.block(f"for {index} in range({count.lower}, {count.upper}):", body)
        if not _is_unused(op.results[0]):
            last = max(count.lower, count.upper)
            out.line(f"{counter} = mx.array({last}, mx.{type_of(op.operands[0]).dtype})")

    def _iterate(self, out: Function, step: Any, names: Sequence[str], assigned: Sequence[str | None]) -> None:
        """The body of a loop: the names of its carries, then those that get its results (None: not needed)."""
        counting = _counting_on(step) if assigned and assigned[0] is None else None
        wanted = [(n, i) for i, n in enumerate(assigned) if n is not None]
        targets = ", ".join(n for n, _ in wanted)
        if out.loops_evaluate and wanted and self._is_one_program(step):
            call = self._body(out, step, names, [i for _, i in wanted], counting)
            out.line(f"{targets} = {call}")
            return
        for a, n in zip(step.arguments, names, strict=True):
            out.bind(a, n)
        results = self._block(out, step, without=counting)
        self._assign(out, [n for n, _ in wanted], [results[i] for _, i in wanted])

    def _body(self, out: Function, step: Any, names: Sequence[str], wanted: Sequence[int], counting: Any) -> str:
        """A call of a new function, the body of a loop; its parameters are the carries and what it captures."""
        inner = Function(self._program, self._program.name("_body"), loops_evaluate=False)
        passed = []
        for a, n in zip(step.arguments, names, strict=True):
            if counting is None or any(use.owner != counting for use in a.uses):
                inner.parameter(a)
                passed.append(n)
        for v in _captured(step):
            found = out.found(v)
            if isinstance(found, Literal):
                inner.bind(v, found)
            else:
                inner.parameter(v)
                passed.append(found)
        results = self._block(inner, step, without=counting)
        inner.finish([inner.array(results[i]) for i in wanted], compiled=True)
        return f"{inner.name}({', '.join(passed)})"

    def _is_one_program(self, block: Any) -> bool:
        """Whether ``mx.compile`` can and should take a block whole, with the loops in it written out."""
        cost = self._cost(block)
        return cost <= _WRITTEN_OUT or (cost < math.inf and not _has_loops(block))

    # ---- costs ------------------------------------------------------------------------------------

    def _cost(self, block: Any) -> float:
        """How many ops a block is, loops written out; infinite where something must be read on the way."""
        total = 0.0
        for op in block.operations:
            name = op.operation.name
            if name in _CHOICES:
                return math.inf
            if name == "stablehlo.while":
                test, step = [r.blocks[0] for r in op.regions]
                count = _counted(op, test, step)
                if count is None:
                    return math.inf
                total += max(0, count.upper - count.lower) * self._cost(step)
            elif name in ("func.call", "stablehlo.composite"):
                key = "callee" if name == "func.call" else "decomposition"
                total += self._called_cost(ir.FlatSymbolRefAttr(op.attributes[key]).value)
            else:
                total += 1.0
        return total

    def _called_cost(self, symbol: str) -> float:
        cost = self._costs.get(symbol)
        if cost is None:
            cost = self._costs[symbol] = self._cost(self._sources[symbol].regions[0].blocks[0])
        return cost


# ---- reading MLIR -----------------------------------------------------------------------------------


def _is_private(f: Any) -> bool:
    attributes = f.attributes
    return "sym_visibility" in attributes and ir.StringAttr(attributes["sym_visibility"]).value == "private"


def _argument_names(f: Any) -> list[str]:
    """What the arguments are called in the user's program; empty where that is not known."""
    if "arg_attrs" not in f.attributes:
        return []
    names = []
    for a in ir.ArrayAttr(f.attributes["arg_attrs"]):
        attributes = ir.DictAttr(a)
        names.append(ir.StringAttr(attributes[ARGUMENT_NAME]).value if ARGUMENT_NAME in attributes else "")
    return names


def _constant(out: Function, op: Any) -> str | Literal:
    elements = ir.DenseElementsAttr(op.attributes["value"])
    type = type_of(op.results[0])
    if elements.is_splat and math.prod(type.shape):
        return Literal(_python(elements.get_splat_value()), type)
    return out.program.constant(_array(elements, type), type)


def _array(elements: Any, type: Any) -> np.ndarray[Any, Any]:
    if type.is_bool:  # bits are packed in memory, and iteration unpacks them
        return np.array(list(ir.DenseIntElementsAttr(elements)), np.bool_).reshape(type.shape)
    return np.array(elements).reshape(type.shape)


def _python(attribute: Any) -> float | bool:
    """The number of an attribute."""
    if isinstance(attribute, ir.FloatAttr):
        return attribute.value
    if isinstance(attribute, ir.BoolAttr):
        return bool(attribute.value)
    number = ir.IntegerAttr(attribute)
    if ir.IntegerType(number.type).width == 1:
        return bool(number.value)
    return number.value


def _is_unused(value: Any) -> bool:
    return next(iter(value.uses), None) is None


def _counting_on(step: Any) -> Any:
    """The op that computes a loop's next counter, if nothing else uses that."""
    counter = list(step.operations)[-1].operands[0]
    return counter.owner if sum(1 for _ in counter.uses) == 1 else None


def _has_loops(block: Any) -> bool:
    return any(op.operation.name == "stablehlo.while" for op in block.operations)


def _counted(op: Any, test: Any, step: Any) -> _Count | None:
    """The range of a loop whose first carry counts up by one from a constant, and which ends at a constant."""
    first = _known_integer(op.operands[0]) if len(op.operands) else None
    ops = list(test.operations)
    if first is None or not ops:
        return None
    (going,) = ops[-1].operands
    compare = going.owner
    if not isinstance(compare, ir.Operation) and not hasattr(compare, "operation"):
        return None
    if compare.name != "stablehlo.compare" or not str(compare.attributes["comparison_direction"]).endswith(" LT>"):
        return None
    a, b = compare.operands
    last = _known_integer(b)
    after = list(step.operations)[-1].operands[0].owner
    if a != test.arguments[0] or last is None or isinstance(after, ir.Block) or after.name != "stablehlo.add":
        return None
    i, one = after.operands
    if i != step.arguments[0] or _known_integer(one) != 1:
        return None
    return _Count(first, last)


def _known_integer(value: Any) -> int | None:
    """The number of an integer constant of rank 0."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "stablehlo.constant" or type_of(value).shape:
        return None
    if type_of(value).is_float or type_of(value).is_bool:
        return None
    return int(_python(ir.DenseElementsAttr(owner.attributes["value"]).get_splat_value()))


def _captured(block: Any) -> list[Any]:
    """The values from outside that a block's ops use, in order."""
    inside: set[Any] = set()
    found: dict[Any, None] = {}

    def visit(block: Any) -> None:
        inside.update(block.arguments)
        for op in block.operations:
            for v in op.operands:
                if v not in inside:
                    found[v] = None
            for region in op.regions:
                for inner in region.blocks:
                    visit(inner)
            inside.update(op.results)

    visit(block)
    return list(found)
