"""From graphs to MLIR: one ``func.func`` of qb ops for each graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from quabla import errors, mlir
from quabla.dialect.attributes import attribute_dict
from quabla.mlir import ir, mlir_type
from quabla.ops.types import TensorType
from quabla.tracing.graph import Graph, TraceTensor

__all__ = ["ARGUMENT_CAPTURE", "ARGUMENT_NAME", "write", "write_func"]

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
    inside = ir.InsertionPoint(block)
    _write_nodes(body.nodes, values, inside, locations)
    ir.Operation.create("func.return", operands=[values[o] for o in body.outs], loc=mlir.unknown(), ip=inside)
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


def _write_nodes(nodes: Sequence[TraceTensor], values: dict[TraceTensor, Any], ip: Any, locations: _Locations) -> None:
    create = ir.Operation.create
    for node in nodes:
        op = node.op
        operands = [values[x] for x in node.operands]
        loc = locations.of(node)
        if op.variadic:
            operands = _of_one_type(node, operands, loc, ip)
        results = [mlir_type(node.type)]
        if op.attributes:
            made = create(op.mlir_name, results, operands, attributes=attribute_dict(op, node.params), loc=loc, ip=ip)
        else:
            made = create(op.mlir_name, results, operands, loc=loc, ip=ip)
        values[node] = made.result


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

    def of(self, node: TraceTensor) -> Any:
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
