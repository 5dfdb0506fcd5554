"""What the transforms of ops with regions share: emitting bodies and nodes, and lists with marked places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from quabla.ops.dispatch import Value, apply
from quabla.ops.elementwise import WHERE
from quabla.ops.rules import zeros
from quabla.ops.shaping import RESHAPE
from quabla.tracing.graph import CALL, COND, FORI, Body, RegionNode, TraceTensor, current_graph
from quabla.tracing.regions import branch, fori, while_
from quabla.transforms.forward import Tangent
from quabla.transforms.inline import inline

#: Maps the cotangents of results to those of operands.
Pull = Callable[[Sequence[Tangent]], list[Tangent]]


def run(body: Body, values: Sequence[Value]) -> list[Value]:
    """Emit a closed body at its arguments."""
    return inline(body, dict(zip(body.args, values, strict=True)))


def part(body: Body, outs: Sequence[TraceTensor]) -> Body:
    """What of a body some of its values depend on."""
    needed, nodes = set(outs), []
    for n in reversed(body.nodes):
        if not needed.isdisjoint(n.results if isinstance(n, RegionNode) else (n,)):
            needed.update(n.operands)
            nodes.append(n)
    return Body(body.args, nodes[::-1], outs)


def filled(tangents: Sequence[Tangent], like: Sequence[Value]) -> list[Value]:
    """Tangents with zeros in the place of missing ones."""
    return [zeros(x.type) if t is None else t for t, x in zip(tangents, like, strict=True)]


def chosen(values: Sequence[Any], which: Sequence[bool]) -> list[Any]:
    """The values that are marked."""
    return [v for v, w in zip(values, which, strict=True) if w]


def spread(values: Sequence[Any], which: Sequence[bool]) -> list[Any]:
    """Values in the marked places, None elsewhere."""
    rest = iter(values)
    return [next(rest) if w else None for w in which]


def emit(n: RegionNode, operands: Sequence[Value]) -> list[Value]:
    """Emit a node as it is. Its regions are closed, so they are shared."""
    return list(current_graph().emit_region(n.op, operands, n.params, n.regions, [r.type for r in n.results]))


def holds_call(body: Body) -> bool:
    """Whether a body, or a region in it, calls a function with a rule of its own."""
    nodes = [m for m in body.nodes if isinstance(m, RegionNode)]
    return any(m.op is CALL or any(map(holds_call, m.regions)) for m in nodes)


def select(pred: Value, on_true: Value, on_false: Value) -> Value:
    """Lanes of ``on_true`` where the predicate, which has fewer axes, is True; of ``on_false`` elsewhere."""
    fill = on_true.type.ndim - pred.type.ndim
    mask = apply(RESHAPE, (pred,), ((*pred.type.shape, *(1,) * fill),)) if fill else pred
    return apply(WHERE, (mask, on_true, on_false))


def rebuilt(
    n: RegionNode,
    operands: Sequence[Value],
    visit: Callable[[Body, Sequence[Value]], list[Value]],
    going: Callable[[Value], Value] = lambda pred: pred,
) -> list[Value]:
    """Emit a loop or a choice with ``visit`` emitting its bodies, and ``going`` applied to a while loop's test."""
    if n.op is COND:
        pred, *values = operands
        on_true, on_false = n.regions
        return branch(pred, lambda: visit(on_true, values), lambda: visit(on_false, values), n.params[0])
    count = len(n.results)
    first, captured = operands[:count], operands[count:]
    step = n.regions[-1]
    if n.op is FORI:
        lower, upper = n.params
        return fori(lower, upper, first, lambda i, now: visit(step, [i, *now, *captured]))
    test = n.regions[0]
    return while_(
        first,
        lambda now: going(visit(test, [*now, *captured])[0]),
        lambda now: visit(step, [*now, *captured]),
        n.params[0],
    )
