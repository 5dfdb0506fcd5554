"""Lower a finished graph, or the qb functions of a module, to StableHLO.

Example:
    >>> import quabla as qb
    >>> program = qb.Compiler().trace(lambda x: qb.tanh(x), [("x", [2], qb.float64)])
    >>> print(program.stablehlo_text())  # doctest: +ELLIPSIS
    module {
      func.func public @main(%arg0: tensor<2xf64> {qb.name = "x"}) -> tensor<2xf64> {
        %0 = stablehlo.tanh %arg0 : tensor<2xf64>
        return %0 : tensor<2xf64>
      }
    }
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any, Final

from quabla import errors
from quabla.dialect.writer import ARGUMENT_NAME
from quabla.lowering.builder import Builder, attribute
from quabla.mlir import context, ir, mlir_type, stablehlo, unknown

if TYPE_CHECKING:
    from quabla.tracing.graph import Body, Graph, TraceTensor

__all__ = ["convert", "copy_of", "lower", "lower_func", "portable_artifact", "stablehlo_text"]

_create: Final = ir.Operation.create
_CACHED: Final = 1 << 16
# Keyed by the code object's address, because hashing a code object costs more than lowering an op. The entry keeps
# the code object alive, so the address stays its own.
_locations: Final[dict[tuple[Any, int], tuple[Any, Any]]] = {}


def lower(graph: Graph, name: str = "main", *, device: str = "cpu") -> ir.Module:
    """The module whose public function ``name`` computes a finished graph.

    Args:
        graph: a finished graph; dead nodes are left out.
        device: the target that an error names.

    Raises:
        UnsupportedOperationError: for an op that has no StableHLO rule; ``.op`` names it.
    """
    module = ir.Module.create(unknown())
    lower_func(graph, name, module, device=device)
    return module


def lower_func(
    graph: Graph, name: str, module: ir.Module, *, builder: Builder | None = None, device: str = "cpu"
) -> Any:
    """Append a public function that computes ``graph`` to ``module``.

    Args:
        builder: the builder of earlier functions of the module, which then share their composites' decompositions.

    Returns:
        The ``func.func`` operation.
    """
    lo = Builder(module) if builder is None else builder
    collecting = gc.isenabled()
    gc.disable()  # ops are many objects and no garbage
    try:
        return _lower_body(lo, graph.body(), graph.names, name, device)
    finally:
        if collecting:
            gc.enable()


def stablehlo_text(graph: Graph) -> str:
    """The StableHLO text of a finished graph."""
    return str(lower(graph)).rstrip("\n")


def portable_artifact(module: ir.Module) -> bytes:
    """The module as a versioned StableHLO artifact, which later StableHLO consumers can read."""
    copy = copy_of(module)  # serializing rewrites the module it is given
    return bytes(stablehlo.serialize_portable_artifact(copy, stablehlo.get_current_version()))


def copy_of(module: ir.Module) -> ir.Module:
    """A module with the same functions."""
    copy = ir.Module.create(unknown())
    end = ir.InsertionPoint(copy.body)
    for op in module.body.operations:
        op.operation.clone(ip=end)
    return copy


def convert(module: ir.Module, *, device: str = "cpu") -> None:
    """Replace the functions over qb ops of a module by StableHLO ones, in place."""
    from quabla.dialect import reader

    lo = Builder(module)
    for old in list(module.body.operations):
        if old.operation.name != "func.func" or not any(map(_is_qb, _ops(old))):
            continue
        graph = reader.read(old)
        symbol = ir.StringAttr(old.attributes["sym_name"]).value
        new = lower_func(graph, symbol, module, builder=lo, device=device)
        new.move_before(old.operation)
        old.operation.erase()


def _ops(function: Any) -> Any:
    for region in function.regions:
        for block in region.blocks:
            yield from block.operations


def _is_qb(op: Any) -> bool:
    return op.operation.name.startswith("qb.")


def _lower_body(lo: Builder, body: Body, names: list[str], name: str, device: str) -> Any:
    f, block = lo.function(name, [a.type for a in body.args], [o.type for o in body.outs], public=True)
    f.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [ir.DictAttr.get({ARGUMENT_NAME: attribute(ARGUMENT_NAME, n)}, context()) for n in names], context()
    )
    ip = ir.InsertionPoint(block)
    lo.enter(ip)
    env: dict[TraceTensor, Any] = dict(zip(body.args, block.arguments, strict=True))
    for node in body.nodes:
        op = node.op
        rule = op.stablehlo
        values = [env[x] for x in node.operands]
        lo.loc = loc = _location(node)
        if isinstance(rule, str):
            type = node.type
            if op.elementwise:
                shape = type.shape
                for i, x in enumerate(node.operands):
                    if x.type.shape != shape:
                        values[i] = lo.broadcast(values[i], x.type, shape)
            env[node] = _create(rule, [mlir_type(type)], values, loc=loc, ip=ip).result
        elif rule is None:
            raise errors.UnsupportedOperationError(
                f"{op.name} has no StableHLO lowering, so {device} cannot run it{errors.at(node.location)}",
                op=op.name,
                device=device,
            )
        else:
            env[node] = lo.apply_rule(rule, values, node)
    lo.loc = unknown()
    _create("func.return", [], [env[o] for o in body.outs], loc=lo.loc, ip=ip)
    return f


def _location(node: TraceTensor) -> Any:
    """A node's line in the user's program as an MLIR location."""
    place = node._loc
    if place is None:
        return unknown()
    key = place if place[0].__class__ is str else (id(place[0]), place[1])
    found = _locations.get(key)
    if found is None:
        if len(_locations) > _CACHED:
            _locations.clear()
        file, line = errors.file_and_line(place)
        found = _locations[key] = ir.Location.file(file, line, 0, context()), place[0]
    return found[0]
