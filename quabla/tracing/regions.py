"""Emitting ops with regions: Python functions of values become bodies that capture what they use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from quabla import dtypes
from quabla.ops.casting import CONSTANT
from quabla.ops.types import TensorType, tensor_type
from quabla.tracing.graph import (
    ARGUMENT,
    CALL,
    COND,
    FORI,
    WHILE,
    Body,
    Graph,
    RegionNode,
    TraceTensor,
    current_graph,
)

__all__ = ["INDEX", "branch", "call", "choice", "dependent", "depends", "fori", "loop", "while_"]

#: The type of a loop's counter. Float, because every index is; exact up to 2**53.
INDEX: Final = tensor_type((), dtypes.float64)

Values = Sequence[Any]


def _region(types: Sequence[TensorType], fun: Callable[..., Values]) -> Graph:
    """A finished graph of ``fun`` that captures values of the graph under construction."""
    graph = Graph(types)
    graph.location = current_graph().location
    with graph:
        outs = fun(*graph.args)
        graph.location = None
        return graph.finish(outs)


def _hoisted(graph: Graph, lead: int) -> tuple[Body, list[Any]]:
    """A loop's body and its captured values, with what does not change between iterations computed outside."""
    body = graph.body()
    outer = current_graph()
    outside: dict[TraceTensor, Any] = {a: outer.lift(x) for x, a in graph.captures.items()}
    moved: list[TraceTensor] = []
    stays = []
    for n in body.nodes:
        if n.__class__ is TraceTensor and n.operands and all(k in outside or k.op is CONSTANT for k in n.operands):
            operands = tuple([outside[k] if k in outside else outer.emit(CONSTANT, (), k.params) for k in n.operands])
            outside[n] = outer.emit(n.op, operands, n.params)
            moved.append(n)
        else:
            stays.append(n)
    if not moved:
        return body, list(outside.values())
    seen = set(body.outs).union(*[n.operands for n in stays])
    hidden = [k for k in outside if k in seen]
    replacement = {k: TraceTensor(graph, k.type, ARGUMENT, (), ()) for k in moved if k in seen}
    return _renamed(body, stays, lead, hidden, replacement), [outside[k] for k in hidden]


def _renamed(
    body: Body, nodes: Sequence[Any], count: int, hidden: Sequence[TraceTensor], replacement: dict[TraceTensor, TraceTensor]
) -> Body:
    """A body with hoisted nodes as arguments."""
    names = dict(replacement)
    kept: list[Any] = []
    for n in nodes:
        operands = tuple([names.get(k, k) for k in n.operands])
        if operands == n.operands:
            kept.append(n)
        elif n.__class__ is RegionNode:
            kept.append(RegionNode(n.op, operands, n.params, n.regions, n.results, n._loc))
        else:
            copy = TraceTensor(n.graph, n.type, n.op, operands, n.params)
            copy._loc, copy.weak, copy.splat = n._loc, n.weak, n.splat
            names[n] = copy
            kept.append(copy)
    args = [*body.args[:count], *(names.get(k, k) for k in hidden)]
    return Body(args, kept, [names.get(o, o) for o in body.outs])


def fori(lower: int, upper: int, inits: Values, step: Callable[[Any, list[Any]], Values]) -> list[Any]:
    """Emit a loop. ``step(i, carries)`` emits the next carries, of the same types; ``i`` has the type ``INDEX``."""
    first = [current_graph().lift(x) for x in inits]
    if lower >= upper:
        return list(first)
    return loop(lower, upper, first, _region([INDEX, *(x.type for x in first)], lambda i, *now: step(i, list(now))))


def loop(lower: int, upper: int, inits: Values, graph: Graph) -> list[Any]:
    """Emit a loop over a finished graph of the counter and the carries."""
    outer = current_graph()
    types = [x.type for x in inits]
    check_carries(types, graph.outs)
    body, captured = _hoisted(graph, 1 + len(types))
    return outer.emit_region(FORI, [*inits, *captured], (lower, upper), [body], types)


def while_(inits: Values, test: Callable[[list[Any]], Any], step: Callable[[list[Any]], Values]) -> list[Any]:
    """Emit a loop that runs while ``test(carries)``, a rank-0 bool, is True."""
    outer = current_graph()
    first = [outer.lift(x) for x in inits]
    types = [x.type for x in first]
    tested = _region(types, lambda *carries: [test(list(carries))])
    stepped = _region(types, lambda *carries: step(list(carries)))
    check_carries(types, stepped.outs)
    regions, captured = _closed([tested, stepped], len(types))
    return outer.emit_region(WHILE, [*first, *captured], (), regions, types)


def branch(pred: Any, on_true: Callable[[], Values], on_false: Callable[[], Values], lanes: int = 0) -> list[Any]:
    """Emit a choice between two functions without arguments; their results have the same types."""
    return choice(pred, [_region([], on_true), _region([], on_false)], lanes)


def choice(pred: Any, graphs: Sequence[Graph], lanes: int = 0) -> list[Any]:
    """Emit a choice between two finished graphs without declared arguments."""
    types = [o.type for o in graphs[0].outs]
    check_carries(types, graphs[1].outs)
    bodies, captured = _closed(graphs, 0)
    return current_graph().emit_region(COND, [pred, *captured], (lanes,), bodies, types)


def call(rule: Any, operands: Values, body: Body) -> list[Any]:
    """Emit a call of a body that ``rule`` differentiates."""
    return current_graph().emit_region(CALL, operands, (rule,), [body], [o.type for o in body.outs])


def check_carries(types: Sequence[TensorType], outs: Sequence[Any]) -> None:
    """Raise TypeError where a region's results differ from the wanted types."""
    got = [o.type for o in outs]
    if got != list(types):
        raise TypeError(f"a region returns {got} where {list(types)} is wanted")


def _closed(graphs: Sequence[Graph], count: int) -> tuple[list[Body], list[Any]]:
    """Bodies with the same captured values as their last arguments, and those values."""
    outer = current_graph()
    values: dict[Any, None] = {}
    for g in graphs:
        for x in g.captures:
            values[outer.lift(x)] = None
    bodies = []
    for g in graphs:
        inside = {outer.lift(x): a for x, a in g.captures.items()}
        hidden = [inside[v] if v in inside else TraceTensor(g, v.type, ARGUMENT, (), ()) for v in values]
        body = g.body()
        bodies.append(Body([*body.args[:count], *hidden], body.nodes, body.outs))
    return bodies, list(values)


def dependent(body: Body, keys: set[TraceTensor], *, control: bool = False) -> set[TraceTensor]:
    """``keys`` and everything in a body that is computed from them; with ``control`` also what they decide."""
    keys = set(keys)
    for n in body.nodes:
        if n.__class__ is RegionNode:
            marked = depends(n, [k in keys for k in n.operands], control=control)
            keys.update(r for r, d in zip(n.results, marked, strict=True) if d)
        elif not keys.isdisjoint(n.operands):
            keys.add(n)  # type: ignore[arg-type]
    return keys


def depends(n: RegionNode, operands: Sequence[bool], *, control: bool = False) -> list[bool]:
    """Which results of a node depend on the marked operands, loops taken to a fixed point."""
    op = n.op
    if control and any(operands[: op.fixed]):
        return [True] * len(n.results)
    marked = list(operands[op.fixed :])

    def outs(body: Body, flags: Sequence[bool]) -> list[bool]:
        seen = dependent(body, {a for a, m in zip(body.args, flags, strict=True) if m}, control=control)
        return [o in seen for o in body.outs]

    if not op.carried:
        each = [outs(body, marked) for body in n.regions]
        return [any(flags) for flags in zip(*each, strict=True)]
    count = len(n.results)
    carried, captured = marked[:count], marked[count:]
    while True:
        after = outs(n.regions[-1], [*[False] * op.lead, *carried, *captured])
        after = [a or c for a, c in zip(after, carried, strict=True)]
        if control and op is WHILE and outs(n.regions[0], [*after, *captured])[0]:
            after = [True] * count
        if after == carried:
            return carried
        carried = after
