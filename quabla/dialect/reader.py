"""From MLIR to graphs: reads a ``func.func`` of qb ops and of the scf ops that stand for ops with regions.

Programs are read as MLIR's own passes leave them, not only as the writer writes them: regions use any value from
outside, conditions are combined by arith ops on ``i1``, counters are carried and computed by arith ops on ``index``,
and a loop's test hands other values on than it got. A counter is a ``tensor<f64>`` in a graph, exact up to 2**53.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from quabla.dialect.checks import SourceError
from quabla.dialect.definition import check_counts, checked_params, record_of
from quabla.dialect.writer import ARGUMENT_CAPTURE, ARGUMENT_NAME, BOUND, INDEX_OP
from quabla.dtypes import bool_
from quabla.mlir import context, ir, place, read_type
from quabla.ops.casting import CONSTANT
from quabla.ops.elementwise import ADD, COMPARE, MUL, SUB, WHERE
from quabla.ops.registry import Op
from quabla.ops.types import Const, Params, TensorType, splat_const, tensor_type
from quabla.tracing.graph import ARGUMENT, COND, FORI, WHILE, Graph, RegionOp, TraceTensor
from quabla.tracing.regions import INDEX, closed

__all__ = ["read"]


def read(func: Any, fold: bool = False) -> Graph:
    """The graph of a ``func.func``. Equal ops become one node.

    Args:
        func: the function. It does not keep its module alive; hold the module until this returns.
        fold: whether the ops' folding rules are applied.

    Raises:
        SourceError: for what is not a function of qb ops, with the op's place.
    """
    op: Any = func.operation
    if op.name != "func.func":
        raise _error(op, f"expected a func.func, got '{op.name}'")
    blocks = list(op.regions[0].blocks)
    name = ir.StringAttr(op.attributes["sym_name"]).value
    if len(blocks) != 1:
        raise _error(op, f"function '{name}' must have a body of one block, got {len(blocks)} blocks")
    (block,) = blocks
    graph = Graph(_argument_types(op, block), _argument_names(op, block), fold=fold)
    scope = _Scope(graph, None, block.arguments, graph.args)
    for a, value in zip(graph.args, block.arguments, strict=True):
        where = place(value.location)
        a._loc = where and where[:2]
    with graph:
        outs = _Reader(fold).block(block, scope, "func.return")
    graph.finish(outs)
    # What a hidden argument stands for is not written down: it stands for itself.
    graph.captures = {a: a for i, a in enumerate(graph.args) if ARGUMENT_CAPTURE in _argument_entries(op, i)}
    return graph


def _argument_types(func: Any, block: Any) -> list[TensorType]:
    types: list[TensorType] = []
    for i, a in enumerate(block.arguments):
        try:
            types.append(read_type(a.type))
        except ValueError as e:
            raise _error(func, f"argument {i}: {e}", a.location) from None
    return types


def _argument_names(func: Any, block: Any) -> list[str]:
    names: list[str] = []
    for i in range(len(block.arguments)):
        entries = _argument_entries(func, i)
        named = ARGUMENT_NAME in entries and isinstance(entries[ARGUMENT_NAME], ir.StringAttr)
        names.append(entries[ARGUMENT_NAME].value if named else f"arg{i}")
    return names


def _argument_entries(func: Any, i: int) -> Any:
    return func.attributes["arg_attrs"][i] if "arg_attrs" in func.attributes else {}


class _Scope:
    """The values that the ops of a block see, as values of one graph.

    Args:
        graph: the graph that the block's ops are emitted into.
        outer: the scope around it, whose values are captured where they belong to another graph.
        names: MLIR values.
        values: what they are in the graph.
    """

    __slots__ = ("_outer", "graph", "values")

    def __init__(self, graph: Graph, outer: _Scope | None, names: Sequence[Any], values: Sequence[TraceTensor]) -> None:
        self.graph: Final = graph
        self._outer: Final = outer
        self.values: Final[dict[Any, TraceTensor]] = dict(zip(names, values, strict=True))

    def find(self, name: Any, fold: bool) -> TraceTensor | None:
        """What an MLIR value is in the graph; None for one that has not been read."""
        found = self.values.get(name)
        if found is not None or self._outer is None:
            return found
        found = self._outer.find(name, fold)
        if found is None or found.graph is self.graph:
            return found
        if fold and found.op is CONSTANT:
            return self.graph.emit(CONSTANT, (), found.params)
        a = self.graph.captures.get(found)
        if a is None:
            a = self.graph.captures[found] = TraceTensor(self.graph, found.type, ARGUMENT, (), ())
            a._loc = found._loc
        self.values[name] = a
        return a


class _Reader:
    """Reads blocks, those of regions too.

    Args:
        fold: whether the ops' folding rules are applied.
    """

    __slots__ = ("_fold", "_integers")

    def __init__(self, fold: bool) -> None:
        self._fold: Final = fold
        self._integers: Final[dict[Any, int]] = {}

    def block(self, block: Any, scope: _Scope, terminator: str) -> list[TraceTensor]:
        """Emit a block's ops; the operands of its terminator are the results."""
        for view in block.operations:
            op: Any = view.operation
            if op.name == terminator:
                return self._operands(op, scope)
            step = _STEPS.get(op.name)
            if step is not None:
                step(self, op, scope)
            else:
                scope.values[op.results[0]] = self._op(op, scope)
        raise _error(block.owner.operation, f"expected a {terminator} at the end of the block")

    def _operands(self, op: Any, scope: _Scope) -> list[TraceTensor]:
        return [self._value(op, x, scope) for x in op.operands]

    def _value(self, op: Any, x: Any, scope: _Scope) -> TraceTensor:
        found = scope.find(x, self._fold)
        if found is None and x in self._integers:
            return self._emit(op, scope, CONSTANT, (), (Const(np.array(float(self._integers[x]))),))
        if found is None:
            raise _error(op, f"'{op.name}' op uses a value that no argument or earlier qb op of its function defines")
        return found

    def _op(self, op: Any, scope: _Scope) -> TraceTensor:
        record = record_of(op)
        if record is None:
            raise _error(
                op,
                f"'{op.name}' is not a qb op: only qb ops can be read, with tensor.cast and func.return, and scf.for, "
                "scf.if and scf.while around them",
            )
        operands = tuple(self._operands(op, scope))
        try:
            check_counts(record, op)
            params = checked_params(record, op, [x.type for x in operands])
        except ValueError as e:
            raise _error(op, f"'{op.name}' op {e}") from None
        return self._emit(op, scope, record, operands, params)

    def _emit(
        self, op: Any, scope: _Scope, record: Op, operands: tuple[TraceTensor, ...], params: Params
    ) -> TraceTensor:
        where = place(op.location)
        scope.graph.location = where and where[:2]
        node = scope.graph.emit(record, operands, params)
        if where is None:  # else emit would name the line that called this function
            node._loc = None
        return node

    # ---- conditions and counters ------------------------------------------------------------------

    def _same(self, op: Any, scope: _Scope) -> None:
        scope.values[op.results[0]] = self._value(op, op.operands[0], scope)

    def _condition(self, op: Any, scope: _Scope) -> None:
        value = self._value(op, op.operands[0], scope)
        if len(op.operands) != 1 or value.type.ndim or not value.type.dtype.is_bool:
            raise _error(op, f"'tensor.extract' op can be read only from a tensor<i1>, got {op.operands[0].type}")
        scope.values[op.results[0]] = value

    def _constant(self, op: Any, scope: _Scope) -> None:
        result, value = op.results[0], op.attributes["value"]
        if isinstance(result.type, ir.IndexType):
            self._integers[result] = ir.IntegerAttr(value).value
        elif isinstance(value, ir.BoolAttr):
            scope.values[result] = self._emit(op, scope, CONSTANT, (), (Const(np.array(value.value)),))
        else:
            raise _error(op, f"'arith.constant' op can be read only as an index or i1, got {result.type}")

    def _poison(self, op: Any, scope: _Scope) -> None:
        # MLIR puts it where nothing reads a value, so any value will do.
        result = op.results[0]
        try:
            t = tensor_type((), bool_) if result.type == _condition_type() else read_type(result.type)
        except ValueError as e:
            raise _error(op, f"'ub.poison' op: {e}") from None
        scope.values[result] = self._emit(op, scope, CONSTANT, (), (splat_const(t, 0),))

    def _index(self, op: Any, scope: _Scope) -> None:
        self._same(op, scope)

    def _logic(self, op: Any, scope: _Scope) -> None:
        x, y = self._operands(op, scope)
        record, operands, params = {
            "arith.andi": (WHERE, (x, y, x), ()),
            "arith.ori": (WHERE, (x, x, y), ()),
            "arith.xori": (COMPARE, (x, y), ("not_equal",)),
        }[op.name]
        scope.values[op.results[0]] = self._emit(op, scope, record, operands, params)

    def _counting(self, op: Any, scope: _Scope) -> None:
        if not isinstance(op.operands[0].type, ir.IndexType):
            raise _error(op, f"'{op.name}' op can be read only on index values, got {op.operands[0].type}")
        operands = tuple(self._operands(op, scope))
        if op.name == "arith.cmpi":
            predicate = ir.IntegerAttr(op.attributes["predicate"]).value
            if predicate >= len(_SIGNED):
                raise _error(op, "'arith.cmpi' op: an unsigned comparison of counters cannot be read")
            record, params = COMPARE, (_SIGNED[predicate],)
        else:
            record, params = {"arith.addi": ADD, "arith.subi": SUB, "arith.muli": MUL}[op.name], ()
        scope.values[op.results[0]] = self._emit(op, scope, record, operands, params)

    def _select(self, op: Any, scope: _Scope) -> None:
        scope.values[op.results[0]] = self._emit(op, scope, WHERE, tuple(self._operands(op, scope)), ())

    # ---- regions ----------------------------------------------------------------------------------

    def _region(self, block: Any, scope: _Scope, types: Sequence[TensorType], terminator: str = "scf.yield") -> Graph:
        """A block as a finished graph that captures values of the graph around it."""
        graph = Graph(types, fold=self._fold)
        inner = _Scope(graph, scope, block.arguments, graph.args)
        with graph:
            outs = self.block(block, inner, terminator)
        return graph.finish(outs[:1] if terminator == "scf.condition" else outs)

    def _emit_region(
        self, op: Any, scope: _Scope, kind: RegionOp, first: Sequence[TraceTensor], params: Params, graphs: list[Graph]
    ) -> list[TraceTensor]:
        bodies, captured = closed(graphs, kind.lead + (len(first) if kind.carried else 0))
        where = place(op.location)
        scope.graph.location = where and where[:2]
        types = [o.type for o in graphs[-1].outs]
        results = scope.graph.emit_region(kind, [*first, *captured], params, bodies, types)
        if where is None:
            for n in (scope.graph.nodes[-1], *results):
                n._loc = None
        return results

    def _for(self, op: Any, scope: _Scope) -> None:
        bounds: list[int] = []
        for what, x in zip(("lower bound", "upper bound", "step"), op.operands, strict=False):
            value = self._integers.get(x)
            if value is None:
                raise _error(op, f"'scf.for' op: the {what} must be an arith.constant of type index")
            bounds.append(value)
        lower, upper, step = bounds
        if step != 1:
            raise _error(op, f"'scf.for' op: the step must be 1, got {step}")
        if "unsignedCmp" in op.attributes and min(lower, upper) < 0:
            raise _error(op, f"'scf.for' op: the bounds {lower} and {upper} must not be negative in an unsigned loop")
        first = [self._value(op, x, scope) for x in list(op.operands)[3:]]
        graph = self._region(op.regions[0].blocks[0], scope, [INDEX, *(x.type for x in first)])
        if first and lower < upper:
            first = self._emit_region(op, scope, FORI, first, (lower, upper), [graph])
        scope.values.update(zip(op.results, first, strict=True))

    def _if(self, op: Any, scope: _Scope) -> None:
        condition = self._value(op, op.operands[0], scope)
        graphs = [self._region(r.blocks[0], scope, []) for r in op.regions if len(r.blocks)]
        if len(op.results):
            results = self._emit_region(op, scope, COND, [condition], (0,), graphs)
            scope.values.update(zip(op.results, results, strict=True))

    def _while(self, op: Any, scope: _Scope) -> None:
        # A test hands values on to the body, or to the results at the end: its own arguments, or others that it
        # computes. A graph's body and results get the carries themselves, so they compute these again.
        before, after = (r.blocks[0] for r in op.regions)
        first = self._operands(op, scope)
        types = [x.type for x in first]
        tested = self._region(before, scope, types, "scf.condition")
        graph = Graph(types, fold=self._fold)
        inner = _Scope(graph, scope, before.arguments, graph.args)
        with graph:
            inner.values.update(zip(after.arguments, self._handed_on(before, inner), strict=True))
            outs = self.block(after, inner, "scf.yield")
        graph.finish(outs)
        results = self._emit_region(op, scope, WHILE, first, (_bound(op),), [tested, graph]) if first else []
        last = _Scope(scope.graph, scope, before.arguments, results)
        scope.values.update(zip(op.results, self._handed_on(before, last), strict=True))

    def _handed_on(self, before: Any, scope: _Scope) -> list[TraceTensor]:
        """What a test hands on, in a scope that has its arguments."""
        condition = list(before.operations)[-1].operation
        names = list(condition.operands)[1:]
        if any(scope.find(x, self._fold) is None for x in names):
            self.block(before, scope, "scf.condition")
        return [self._value(condition, x, scope) for x in names]


#: The predicates of arith.cmpi that respect the sign, in their order.
_SIGNED: Final = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")

_STEPS: Final[dict[str, Callable[[_Reader, Any, _Scope], None]]] = {
    "arith.addi": _Reader._counting,
    "arith.andi": _Reader._logic,
    "arith.cmpi": _Reader._counting,
    "arith.constant": _Reader._constant,
    "arith.muli": _Reader._counting,
    "arith.ori": _Reader._logic,
    "arith.select": _Reader._select,
    "arith.subi": _Reader._counting,
    "arith.xori": _Reader._logic,
    INDEX_OP: _Reader._index,
    "scf.for": _Reader._for,
    "scf.if": _Reader._if,
    "scf.while": _Reader._while,
    "tensor.cast": _Reader._same,
    "tensor.extract": _Reader._condition,
    "ub.poison": _Reader._poison,
}


def _bound(op: Any) -> int | None:
    """How often a scf.while runs at most, where it says so."""
    if BOUND not in op.attributes:
        return None
    attribute = op.attributes[BOUND]
    if not isinstance(attribute, ir.IntegerAttr) or attribute.value < 1:
        raise _error(op, f"'scf.while' op: the attribute '{BOUND}' must be a positive integer, got {attribute}")
    return attribute.value


def _condition_type() -> Any:
    return ir.IntegerType.get_signless(1, context())


def _error(op: Any, message: str, location: Any = None) -> SourceError:
    where = place(location or op.location)
    return SourceError(message, "unknown location") if where is None else SourceError(message, *where)
