"""Forward mode of ops with regions, and where their three rules are installed.

A region's transform is the transform of its body, traced into a region of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from quabla.ops.dispatch import Value
from quabla.tracing.graph import CALL, COND, FORI, WHILE, Body, RegionNode
from quabla.tracing.regions import branch, depends, fori, while_
from quabla.transforms import forward
from quabla.transforms.bodies import chosen, emit, filled, run, spread
from quabla.transforms.forward import Tangent
from quabla.transforms.region_batching import node_batch
from quabla.transforms.region_reverse import node_vjp

__all__ = ["node_jvp"]


def _region_jvp(
    body: Body, values: Sequence[Value], tangents: Sequence[Tangent], active: Sequence[bool]
) -> list[Value]:
    """A body's results followed by the tangents of those that are active."""
    dot = {a: t for a, t in zip(body.args, tangents, strict=True) if t is not None}
    outs, moved = forward.jvp(body, dict(zip(body.args, values, strict=True)), dot)
    return [*outs, *filled(chosen(moved, active), chosen(outs, active))]


def node_jvp(
    n: RegionNode, operands: Sequence[Value], tangents: Sequence[Tangent]
) -> tuple[list[Value], list[Tangent]]:
    """Emit a node with its tangents."""
    if n.op is CALL:
        return n.params[0].jvp(n, operands, tangents)
    moving = [t is not None for t in tangents]
    active = [d and r.type.dtype.is_float for d, r in zip(depends(n, moving), n.results, strict=True)]
    if not any(active):
        return emit(n, operands), [None] * len(n.results)
    count = len(n.results)
    if n.op is COND:
        pred, *values = operands
        inner = tangents[1:]
        bodies = [lambda b=b: _region_jvp(b, values, inner, active) for b in n.regions]
        outs = branch(pred, bodies[0], bodies[1], n.params[0])
        return outs[:count], spread(outs[count:], active)
    carries, captured = operands[:count], operands[count:]
    first = [*carries, *filled(chosen(tangents[:count], active), chosen(carries, active))]
    body = n.regions[-1]

    def step(lead: Sequence[Value], now: list[Value]) -> list[Value]:
        moved = [*[None] * len(lead), *spread(now[count:], active), *tangents[count:]]
        return _region_jvp(body, [*lead, *now[:count], *captured], moved, active)

    if n.op is FORI:
        lower, upper = n.params
        outs = fori(lower, upper, first, lambda i, now: step([i], now))
    else:
        test = n.regions[0]
        outs = while_(
            first, lambda now: run(test, [*now[:count], *captured])[0], lambda now: step([], now), n.params[0]
        )
    return outs[:count], spread(outs[count:], active)


for _op in (CALL, COND, FORI, WHILE):
    _op.jvp, _op.vjp, _op.batch = node_jvp, node_vjp, node_batch
