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
    alive,
    current_graph,
)

__all__ = ["INDEX", "branch", "call", "choice", "closed", "dependent", "depends", "fori", "loop", "while_"]

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


def _hoisted(body: Body, lead: int, outside: dict[TraceTensor, Any]) -> tuple[Body, list[Any]]:
    """A loop's body and its captured values, with what does not change between iterations computed outside.

    Args:
        body: the body; its captured values are ``outside``.
        lead: the number of arguments before these.
        outside: the values around the loop of the arguments that do not change; extended.
    """
    outer = current_graph()
    moved: list[TraceTensor] = []
    stays = []
    for n in body.nodes:
        if isinstance(n, TraceTensor) and n.operands and all(k in outside or k.op is CONSTANT for k in n.operands):
            operands = tuple([outside[k] if k in outside else outer.emit(CONSTANT, (), k.params) for k in n.operands])
            outside[n] = outer.emit(n.op, operands, n.params)
            moved.append(n)
        else:
            stays.append(n)
    if not moved:
        return body, list(outside.values())
    seen = set(body.outs).union(*[n.operands for n in stays])
    hidden = [k for k in outside if k in seen]
    names = {k: TraceTensor(k.graph, k.type, ARGUMENT, (), ()) for k in moved if k in seen}
    args = [*body.args[:lead], *(names.get(k, k) for k in hidden)]
    return _renamed(Body(body.args, stays, body.outs), args, names), [outside[k] for k in hidden]


def _renamed(body: Body, args: Sequence[TraceTensor], names: dict[TraceTensor, TraceTensor]) -> Body:
    """A body over other arguments; ``names`` says what replaces which value, and is extended."""
    kept: list[Any] = []
    for n in body.nodes:
        operands = tuple([names.get(k, k) for k in n.operands])
        if operands == n.operands:
            kept.append(n)
        elif isinstance(n, RegionNode):
            kept.append(RegionNode(n.op, operands, n.params, n.regions, n.results, n._loc))
        else:
            copy = TraceTensor(n.graph, n.type, n.op, operands, n.params)
            copy._loc, copy.weak, copy.splat = n._loc, n.weak, n.splat
            names[n] = copy
            kept.append(copy)
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
    changing, body, outside = _split(graph, 1, inits)
    body, captured = _hoisted(body, 1 + len(changing), outside)
    first = [inits[k] for k in changing]
    outs = (
        outer.emit_region(FORI, [*first, *captured], (lower, upper), [body], [types[k] for k in changing])
        if first
        else []
    )
    return _merged(inits, changing, outs)


def _split(graph: Graph, lead: int, inits: Values) -> tuple[list[int], Body, dict[TraceTensor, Any]]:
    """A step without the carries that it returns as they are: these are captured.

    Returns:
        Which carries change; the body over these; the value around the loop of each of its captured arguments.
    """
    lift = current_graph().lift
    carries = graph.args[lead : lead + len(inits)]
    changing = [k for k, (o, a) in enumerate(zip(graph.outs, carries, strict=True)) if o is not a]
    outside = {a: lift(x) for k, (a, x) in enumerate(zip(carries, inits, strict=True)) if k not in changing}
    outside.update((a, lift(x)) for x, a in graph.captures.items())
    outs = [graph.outs[k] for k in changing]
    args = [*graph.args[:lead], *(carries[k] for k in changing), *outside]
    return changing, Body(args, alive(graph.nodes, outs), outs), outside


def _merged(inits: Values, changing: Sequence[int], outs: Values) -> list[Any]:
    """All last carries, given those that change."""
    results = list(map(current_graph().lift, inits))
    for k, x in zip(changing, outs, strict=True):
        results[k] = x
    return results


def while_(
    inits: Values, test: Callable[[list[Any]], Any], step: Callable[[list[Any]], Values], bound: int | None = None
) -> list[Any]:
    """Emit a loop that runs while ``test(carries)``, a rank-0 bool, is True: ``bound`` times at most, if it is known."""
    outer = current_graph()
    first = [outer.lift(x) for x in inits]
    types = [x.type for x in first]
    tested = _region(types, lambda *carries: [test(list(carries))])
    stepped = _region(types, lambda *carries: step(list(carries)))
    check_carries(types, stepped.outs)
    changing, step_body, outside = _split(stepped, 0, first)
    if not changing:
        return first
    test_outside = {a: x for k, (a, x) in enumerate(zip(tested.args, first, strict=False)) if k not in changing}
    test_outside.update((a, outer.lift(x)) for x, a in tested.captures.items())
    carries = [tested.args[k] for k in changing]
    test_body = Body([*carries, *test_outside], tested.body().nodes, tested.outs)
    regions, captured = _closed([(test_body, test_outside), (step_body, outside)], len(changing))
    outs = outer.emit_region(
        WHILE, [*(first[k] for k in changing), *captured], (bound,), regions, [types[k] for k in changing]
    )
    return _merged(first, changing, outs)


def branch(pred: Any, on_true: Callable[[], Values], on_false: Callable[[], Values], lanes: int = 0) -> list[Any]:
    """Emit a choice between two functions without arguments; their results have the same types."""
    return choice(pred, [_region([], on_true), _region([], on_false)], lanes)


def choice(pred: Any, graphs: Sequence[Graph], lanes: int = 0) -> list[Any]:
    """Emit a choice between two finished graphs without declared arguments."""
    types = [o.type for o in graphs[0].outs]
    check_carries(types, graphs[1].outs)
    bodies, captured = closed(graphs, 0)
    return current_graph().emit_region(COND, [pred, *captured], (lanes,), bodies, types)


def call(rule: Any, operands: Values, body: Body) -> list[Any]:
    """Emit a call of a body that ``rule`` differentiates."""
    return current_graph().emit_region(CALL, operands, (rule,), [body], [o.type for o in body.outs])


def check_carries(types: Sequence[TensorType], outs: Sequence[Any]) -> None:
    """Raise TypeError where a region's results differ from the wanted types."""
    got = [o.type for o in outs]
    if got != list(types):
        raise TypeError(f"a region returns {got} where {list(types)} is wanted")


def closed(graphs: Sequence[Graph], count: int) -> tuple[list[Body], list[Any]]:
    """Bodies of finished graphs with the same captured values as their last arguments, and those values."""
    lift = current_graph().lift
    return _closed([(g.body(), {a: lift(x) for x, a in g.captures.items()}) for g in graphs], count)


def _closed(parts: Sequence[tuple[Body, dict[TraceTensor, Any]]], count: int) -> tuple[list[Body], list[Any]]:
    """Bodies with the same captured values as their last arguments, and those values.

    Args:
        parts: bodies, each with the values around the op of its captured arguments.
        count: the number of arguments before these.
    """
    values = list(dict.fromkeys(x for _, outside in parts for x in outside.values()))
    bodies = []
    for body, outside in parts:
        arguments: dict[Any, TraceTensor] = {}
        same: dict[TraceTensor, TraceTensor] = {}
        for a, x in outside.items():
            same[a] = arguments.setdefault(x, a)
        hidden = [
            arguments[x] if x in arguments else TraceTensor(current_graph(), x.type, ARGUMENT, (), ()) for x in values
        ]
        args = [*body.args[:count], *hidden]
        if all(a is b for a, b in same.items()):
            bodies.append(Body(args, body.nodes, body.outs))
        else:
            bodies.append(_renamed(body, args, same))
    return bodies, values


def dependent(body: Body, keys: set[TraceTensor], *, control: bool = False) -> set[TraceTensor]:
    """``keys`` and everything in a body that changes with them.

    With ``control`` that is also what they decide; without it only what has a derivative.
    """
    keys = set(keys)
    for n in body.nodes:
        if isinstance(n, RegionNode):
            marked = depends(n, [k in keys for k in n.operands], control=control)
            keys.update(r for r, d in zip(n.results, marked, strict=True) if d)
        elif not keys.isdisjoint(n.operands) and (control or (n.op.differentiable and n.type.dtype.is_float)):
            keys.add(n)
    return keys


def depends(n: RegionNode, operands: Sequence[bool], *, control: bool = False) -> list[bool]:
    """Which results of a node depend on the marked operands as in ``dependent``, loops taken to a fixed point."""
    op = n.op
    if op is CALL and n.params[0].opaque:
        return [any(operands)] * len(n.results)  # a rule may give a derivative to what has none
    if control and op is COND and any(operands if n.params[0] else operands[: op.fixed]):
        return [True] * len(n.results)  # what a lane's branch decides, every result of the lane carries
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
