"""From graphs to MLIR: one ``func.func`` of qb ops for each graph.

Ops with regions become ops of the scf dialect over tensors, whose regions use values from outside directly::

    scf.for    a loop with a counter; its bounds are constants, and ``qb.index`` makes the counter a ``tensor<f64>``
    scf.if     a choice; ``tensor.extract`` makes its condition from a ``tensor<i1>``
    scf.while  a loop with a test, whose condition is made likewise; ``qb.bound`` is how often it runs at most
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from quabla import errors, mlir
from quabla.dialect import definition as _definition  # noqa: F401  # pyright: ignore[reportUnusedImport]  (loads it)
from quabla.dialect.attributes import attribute_dict
from quabla.dialect.captures import outer_names
from quabla.mlir import ir, mlir_type
from quabla.ops.types import TensorType
from quabla.tracing.graph import COND, FORI, WHILE, Body, Graph, Node, RegionNode, TraceTensor

__all__ = ["ARGUMENT_CAPTURE", "ARGUMENT_NAME", "BOUND", "INDEX_OP", "write", "write_func"]

#: The op that makes a loop's counter a tensor.
INDEX_OP: Final = "qb.index"

#: The attribute of a scf.while that says how often it runs at most, where that is known.
BOUND: Final = "qb.bound"
#: The argument attribute that keeps an argument's name.
ARGUMENT_NAME: Final = "qb.name"
#: The argument attribute that marks a hidden argument, which stands for an array from outside.
ARGUMENT_CAPTURE: Final = "qb.capture"


def write(graph: Graph, name: str = "main") -> Any:
    """A module with the graph, without dead nodes, as its one function."""
    module = ir.Module.create(mlir.unknown())
    write_func(graph, name, ir.InsertionPoint(module.body))
    return module


def write_func(graph: Graph, name: str, ip: Any) -> Any:
    """The graph, without dead nodes, as a ``func.func`` at ``ip``."""
    body = graph.body()
    locations = _Locations()
    inputs = [mlir_type(a.type) for a in body.args]
    context = mlir.context()
    function_type = ir.FunctionType.get(inputs, [mlir_type(o.type) for o in body.outs], context=context)
    func = ir.Operation.create(
        "func.func",
        attributes={
            "sym_name": ir.StringAttr.get(name, context),
            "function_type": ir.TypeAttr.get(function_type, context),
            "arg_attrs": _argument_attributes(graph),
        },
        regions=1,
        loc=mlir.unknown(),
        ip=ip,
    )
    block = func.regions[0].blocks.append(*inputs, arg_locs=[locations.of(a) for a in body.args])
    values = dict(zip(body.args, block.arguments, strict=True))
    _Block(block, values, locations, {}).write(body, "func.return")
    return func


def _argument_attributes(graph: Graph) -> Any:
    context = mlir.context()
    hidden = set(graph.captures.values())
    dicts: list[Any] = []
    for a, name in zip(graph.args, graph.names, strict=True):
        entries: dict[str, Any] = {ARGUMENT_NAME: ir.StringAttr.get(name, context)}
        if a in hidden:
            entries[ARGUMENT_CAPTURE] = ir.UnitAttr.get(context)
        dicts.append(ir.DictAttr.get(entries, context))
    return ir.ArrayAttr.get(dicts, context)


class _Block:
    """Writes a body into a block.

    Args:
        values: what stands for the body's arguments; extended.
        indices: the index constants that are defined around the block.
    """

    __slots__ = ("_indices", "_ip", "_locations", "_values")

    def __init__(
        self, block: Any, values: dict[TraceTensor, Any], locations: _Locations, indices: dict[int, Any]
    ) -> None:
        self._ip: Final = ir.InsertionPoint(block)
        self._values: Final = values
        self._locations: Final = locations
        self._indices: Final = dict(indices)

    def write(self, body: Body, terminator: str, forwarded: Sequence[Any] = ()) -> None:
        """Write the body and its terminator; what a test forwards follows its condition."""
        self._nodes(body.nodes)
        results = [self._values[o] for o in body.outs]
        if terminator == "scf.condition":
            results = [self._scalar(results[0], mlir.unknown()), *forwarded]
        ir.Operation.create(terminator, operands=results, loc=mlir.unknown(), ip=self._ip)

    def _nodes(self, nodes: Sequence[Node]) -> None:
        create = ir.Operation.create
        values, ip = self._values, self._ip
        for node in nodes:
            if isinstance(node, RegionNode):
                self._region(node)
                continue
            op = node.op
            operands = [values[x] for x in node.operands]
            loc = self._locations.of(node)
            if op.variadic:
                operands = _of_one_type(node, operands, loc, ip)
            results = [mlir_type(node.type)]
            if op.attributes:
                attributes = attribute_dict(op, node.params)
                made = create(op.mlir_name, results, operands, attributes=attributes, loc=loc, ip=ip)
            else:
                made = create(op.mlir_name, results, operands, loc=loc, ip=ip)
            values[node] = made.result

    # ---- regions ----------------------------------------------------------------------------------

    def _region(self, n: RegionNode) -> None:
        loc = self._locations.of(n)
        types = [mlir_type(r.type) for r in n.results]
        first = [self._values[x] for x in n.carries()]
        name = _SCF[n.op]
        if n.op is FORI:
            bounds = [self._index(i, loc) for i in (*n.params, 1)]
            made = ir.Operation.create(name, types, [*bounds, *first], regions=1, loc=loc, ip=self._ip)
        elif n.op is COND:
            condition = self._scalar(self._values[n.operands[0]], loc)
            made = ir.Operation.create(name, types, [condition], regions=2, loc=loc, ip=self._ip)
        else:
            attributes = {} if n.params[0] is None else {BOUND: ir.IntegerAttr.get(_index_type(), n.params[0])}
            made = ir.Operation.create(name, types, first, regions=2, attributes=attributes, loc=loc, ip=self._ip)
        for r, (region, body) in enumerate(zip(made.regions, n.regions, strict=True)):
            own = body.args[: n.op.lead + len(first)]
            block_types = [_index_type()] * n.op.lead + [mlir_type(a.type) for a in own[n.op.lead :]]
            block = region.blocks.append(*block_types, arg_locs=[self._locations.of(a) for a in own])
            self._body(n, body, block, loc, tests=n.op is WHILE and r == 0)
        self._values.update(zip(n.results, made.results, strict=True))

    def _body(self, n: RegionNode, body: Body, block: Any, loc: Any, *, tests: bool) -> None:
        lead, arguments = n.op.lead, list(block.arguments)
        values = {a: self._values[x] for a, x in outer_names(n, body).items()}
        values.update(zip(body.args[lead:], arguments[lead:], strict=False))
        inside = _Block(block, values, self._locations, self._indices)
        if lead and _uses(body, body.args[0]):
            counter = mlir_type(body.args[0].type)
            values[body.args[0]] = ir.Operation.create(
                INDEX_OP, [counter], arguments[:1], loc=loc, ip=inside._ip
            ).result
        inside.write(body, "scf.condition" if tests else "scf.yield", arguments if tests else ())

    def _index(self, value: int, loc: Any) -> Any:
        """An index constant; one that is there already, if there is one."""
        found = self._indices.get(value)
        if found is None:
            type = _index_type()
            attributes = {"value": ir.IntegerAttr.get(type, value)}
            made = ir.Operation.create("arith.constant", [type], attributes=attributes, loc=loc, ip=self._ip)
            found = self._indices[value] = made.result
        return found

    def _scalar(self, value: Any, loc: Any) -> Any:
        """The condition that a ``tensor<i1>`` holds."""
        type = ir.IntegerType.get_signless(1, mlir.context())
        return ir.Operation.create("tensor.extract", [type], [value], loc=loc, ip=self._ip).result


_SCF: Final = {COND: "scf.if", FORI: "scf.for", WHILE: "scf.while"}


def _index_type() -> Any:
    return ir.IndexType.get(mlir.context())


def _uses(body: Body, value: TraceTensor) -> bool:
    return value in body.outs or any(value in n.operands for n in body.nodes)


def _of_one_type(node: TraceTensor, values: list[Any], loc: Any, ip: Any) -> list[Any]:
    """The operands of an op with any number of them, cast to the type that they share."""
    types = [x.type for x in node.operands]
    if all(t is types[0] for t in types):
        return values
    shared = _shared_type(types)
    return [ir.Operation.create("tensor.cast", [shared], [v], loc=loc, ip=ip).result for v in values]


def _shared_type(types: list[TensorType]) -> Any:
    dynamic = ir.ShapedType.get_dynamic_size()
    shape = [n[0] if len(set(n)) == 1 else dynamic for n in zip(*[t.shape for t in types], strict=True)]
    element = mlir_type(types[0]).element_type
    return ir.RankedTensorType.get(shape, element, loc=mlir.unknown())


class _Locations:
    """Nodes' places as MLIR locations; a place in the user's program is decoded once for all nodes made there."""

    __slots__ = ("_known", "_unknown")

    def __init__(self) -> None:
        self._unknown: Final = mlir.unknown()
        self._known: Final[dict[Any, Any]] = {}

    def of(self, node: Node) -> Any:
        place = node._loc
        if place is None:
            return self._unknown
        where, index = place
        key = (where if isinstance(where, str) else id(where), index)
        loc = self._known.get(key)
        if loc is None:
            file, line = errors.file_and_line(place)
            loc = self._known[key] = ir.Location.file(file, line, 0, mlir.context())
        return loc
