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
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from quabla import errors
from quabla.dialect.writer import ARGUMENT_NAME
from quabla.lowering.attributes import attribute
from quabla.lowering.builder import Builder
from quabla.lowering.exact_f32 import walk
from quabla.lowering.indices import counter, derived
from quabla.mlir import context, ir, mlir_type, stablehlo, unknown
from quabla.tracing.graph import COND, FORI, WHILE, RegionNode, RegionOp

if TYPE_CHECKING:
    from quabla.tracing.graph import Body, Graph, Node, TraceTensor

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


def portable_artifact(module: ir.Module, version: str | None = None) -> bytes:
    """The module as a versioned StableHLO artifact, which consumers of that version (default: ours) or later read."""
    copy = copy_of(module)  # serializing rewrites the module it is given
    return bytes(stablehlo.serialize_portable_artifact(copy, version or stablehlo.get_current_version()))


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
        if old.operation.name != "func.func" or not any(map(_is_qb, walk([old.regions]))):
            continue
        graph = reader.read(old)
        symbol = ir.StringAttr(old.attributes["sym_name"]).value
        new = lower_func(graph, symbol, module, builder=lo, device=device)
        new.move_before(old.operation)
        old.operation.erase()


def _is_qb(op: Any) -> bool:
    return op.operation.name.startswith(("qb.", "scf."))


def _lower_body(lo: Builder, body: Body, names: list[str], name: str, device: str) -> Any:
    f, block = lo.function(name, [a.type for a in body.args], [o.type for o in body.outs], public=True)
    f.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [ir.DictAttr.get({ARGUMENT_NAME: attribute(ARGUMENT_NAME, n)}, context()) for n in names], context()
    )
    lo.enter(ir.InsertionPoint(block))
    _Writer(lo, device).write(body, block.arguments, "func.return")
    return f


class _Writer:
    """Writes bodies into the current block of a builder."""

    def __init__(self, lo: Builder, device: str) -> None:
        self._lo: Final = lo
        self._device: Final = device
        self._regions: Final[dict[RegionOp, Callable[[RegionNode, list[Any]], Sequence[Any]]]] = {
            COND: self._cond,
            FORI: self._fori,
            WHILE: self._while,
        }

    def write(
        self,
        body: Body,
        arguments: Sequence[Any],
        end: str = "stablehlo.return",
        results: Sequence[Any] = (),
        counted: Sequence[Any] = (),
    ) -> None:
        """Write a whole block.

        Args:
            end: the op that ends the block.
            results: what the block returns before the body's own results.
            counted: those arguments that were computed from an integer counter; they are erased if nothing uses them.
        """
        lo = self._lo
        ip, linear = lo.ip, lo.linear
        env: dict[TraceTensor, Any] = dict(zip(body.args, arguments, strict=True))
        integers = list(counted)
        for node in body.nodes:
            values = [env[x] for x in node.operands]
            lo.loc = loc = _location(node)
            if isinstance(node, RegionNode):
                env.update(zip(node.results, self._regions[node.op](node, values), strict=True))
                continue
            op = node.op
            rule = op.stablehlo
            if isinstance(rule, str):
                type = node.type
                if op.elementwise:
                    shape = type.shape
                    for i, x in enumerate(node.operands):
                        if x.type.shape != shape:
                            values[i] = lo.broadcast(values[i], x.type, shape)
                made = _create(rule, [mlir_type(type)], values, loc=loc, ip=ip).result
            elif rule is None:
                raise errors.UnsupportedOperationError(
                    f"{op.name} has no StableHLO lowering, so {self._device} cannot run it{errors.at(node.location)}",
                    op=op.name,
                    device=self._device,
                )
            else:
                made = lo.apply_rule(rule, values, node)
            env[node] = made
            if linear and not node.type.shape:
                form = derived(node, [linear.get(v) for v in values])
                if form is not None:
                    linear[made] = form
                    integers.append(made)
        lo.loc = unknown()
        _create(end, [], [*results, *[env[o] for o in body.outs]], loc=lo.loc, ip=ip)
        if integers:
            lo.forget(integers)

    def _fori(self, node: RegionNode, values: list[Any]) -> Sequence[Any]:
        """A loop that carries a 64-bit integer counter beside the carries."""
        lo = self._lo
        lower, upper = node.params
        (body,) = node.regions
        lead = body.args[0]
        count = len(node.results)
        loop, test, step = self._loop([lo.integer(lower), *values[:count]])
        with lo.inside(test):
            self._end([lo.less(test.arguments[0], lo.integer(upper))])
        with lo.inside(step):
            i, *carries = step.arguments
            number = None  # the counter as a float
            if lead in body.outs or any(lead in n.operands for n in body.nodes):
                number = lo.op("stablehlo.convert", lead.type, [i])
                lo.linear[number] = counter(i, lower, upper)
            after = lo.add_integers(i, lo.integer(1))
            counted = [] if number is None else [number]
            self.write(body, [number, *carries, *values[count:]], results=[after], counted=counted)
        return list(loop.results)[1:]

    def _while(self, node: RegionNode, values: list[Any]) -> Sequence[Any]:
        count = len(node.results)
        loop, *blocks = self._loop(values[:count])
        for body, block in zip(node.regions, blocks, strict=True):
            with self._lo.inside(block):
                self.write(body, [*block.arguments, *values[count:]])
        return loop.results

    def _cond(self, node: RegionNode, values: list[Any]) -> Sequence[Any]:
        lo = self._lo
        types = [mlir_type(r.type) for r in node.results]
        made = _create("stablehlo.if", types, values[:1], regions=len(node.regions), loc=lo.loc, ip=lo.ip)
        for body, region in zip(node.regions, made.regions, strict=True):
            with lo.inside(region.blocks.append()):
                self.write(body, values[1:])
        return made.results

    def _loop(self, first: list[Any]) -> tuple[Any, Any, Any]:
        """A ``while`` and its two blocks, as yet empty. What its regions capture they use from outside."""
        types, loc = [v.type for v in first], self._lo.loc
        loop = _create("stablehlo.while", types, first, regions=2, loc=loc, ip=self._lo.ip)
        test, step = [r.blocks.append(*types, arg_locs=[loc] * len(types)) for r in loop.regions]
        return loop, test, step

    def _end(self, results: Sequence[Any]) -> None:
        _create("stablehlo.return", [], results, loc=self._lo.loc, ip=self._lo.ip)


def _location(node: Node) -> Any:
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
