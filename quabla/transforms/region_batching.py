"""Batching of loops and choices: lanes that stop, and lanes that take different branches."""

from __future__ import annotations

from collections.abc import Sequence

from quabla.dtypes import bool_
from quabla.ops.casting import STOP_GRADIENT
from quabla.ops.control import ADD_AT, PUT, TAKE
from quabla.ops.dispatch import Value, apply, full
from quabla.ops.elementwise import WHERE
from quabla.ops.reductions import MAX
from quabla.ops.rules import with_mapped_axis, zeros
from quabla.ops.types import tensor_type
from quabla.tracing.graph import CALL, COND, FORI, Body, RegionNode
from quabla.tracing.regions import branch, depends, fori, while_
from quabla.transforms import batching
from quabla.transforms.bodies import chosen, select
from quabla.transforms.stopping import has_while, stopped

__all__ = ["node_batch"]


def _region_batch(
    body: Body, values: Sequence[Value], mapped: Sequence[bool], want: Sequence[bool], size: int
) -> list[Value]:
    """A body over a mapped axis; the wanted results carry it."""
    outs, which = batching.vmap(body, dict(zip(body.args, values, strict=True)), set(chosen(body.args, mapped)))
    return [with_mapped_axis(x, m, size) if w else x for x, m, w in zip(outs, which, want, strict=True)]


def node_batch(n: RegionNode, operands: Sequence[Value], mapped: Sequence[bool]) -> tuple[list[Value], list[bool]]:
    """Emit a node over a mapped axis; returns its results and which of them carry it."""
    size = next(x.type.shape[0] for x, m in zip(operands, mapped, strict=True) if m)
    if n.op is CALL:
        return n.params[0].batch(n, operands, mapped, size)
    if n.op is COND:
        return _cond_batch(n, operands, mapped, size)
    count = len(n.results)
    want = depends(n, mapped, control=True)
    captured = operands[count:]
    first = [
        with_mapped_axis(x, m, size) if w else x for x, m, w in zip(operands[:count], mapped[:count], want, strict=True)
    ]
    hidden = mapped[count:]
    body = n.regions[-1]
    if n.op is FORI:
        lower, upper = n.params
        outs = fori(
            lower, upper, first,
            lambda i, now: _region_batch(body, [i, *now, *captured], [False, *want, *hidden], want, size),
        )  # fmt: skip
        return outs, want
    test = n.regions[0]

    def tested(now: list[Value]) -> tuple[Value, bool]:
        flags = set(chosen(test.args, [*want, *hidden]))
        outs, which = batching.vmap(test, dict(zip(test.args, [*now, *captured], strict=True)), flags)
        return outs[0], which[0]

    def any_lane(now: list[Value]) -> Value:
        pred, lanes = tested(now)
        return apply(MAX, (pred,), ((0,),)) if lanes else pred

    written = _written(body, count)
    values = [o.operands[1] if w else o for o, w in zip(body.outs, written, strict=True)]
    program = Body(body.args, body.nodes, [*values, *(o.operands[2] for o in chosen(body.outs, written))])

    def step(now: list[Value]) -> list[Value]:
        pred, lanes = tested(now)
        if not lanes:
            return _region_batch(body, [*now, *captured], [*want, *hidden], want, size)
        here = now
        if n.params[0] is not None:
            # A stopped lane keeps its carry, and computes at its first one meanwhile: what it throws away must have
            # derivatives, which the last carry need not have.
            here = [
                select(pred, x, apply(STOP_GRADIENT, (f,))) if f.type.dtype.is_float and not w else x
                for x, f, w in zip(now, first, written, strict=True)
            ]
        flags = set(chosen(body.args, [*want, *hidden]))
        outs, which = batching.vmap(program, dict(zip(body.args, [*here, *captured], strict=True)), flags)
        rows = zip(outs[count:], which[count:], strict=True)
        after: list[Value] = []
        for x, a, m, o, w in zip(now, outs, which, body.outs, written, strict=False):
            a = with_mapped_axis(a, m, size)
            if w:
                row, lane = next(rows)
                kept = batching.op_batch(TAKE, (x, row), (True, lane), o.params) if o.op is PUT else zeros(a.type)
                a = batching.op_batch(o.op, (x, select(pred, a, kept), row), (True, True, lane), o.params)
            else:
                a = select(pred, a, x)
            after.append(a)
        return after

    return while_(first, any_lane, step, n.params[0]), want


def _written(body: Body, count: int) -> list[bool]:
    """Which carries a while loop's body only writes a row to: a lane that has stopped need not keep the rest."""
    pairs = zip(body.outs, body.args[:count], strict=True)
    return [o.op in (PUT, ADD_AT) and o.operands[0] is a for o, a in pairs]


def _cond_batch(
    n: RegionNode, operands: Sequence[Value], mapped: Sequence[bool], size: int
) -> tuple[list[Value], list[bool]]:
    pred, *values = operands
    lanes = n.params[0]
    if not mapped[0] and not lanes:
        want = depends(n, mapped, control=True)
        bodies = [lambda b=b: _region_batch(b, values, mapped[1:], want, size) for b in n.regions]
        return branch(pred, bodies[0], bodies[1]), want
    # Each lane has a branch of its own. Every operand gets the lanes' axis, so that what a lane's other branch computes
    # stays in that lane.
    pred = with_mapped_axis(pred, mapped[0], size)
    spread_out = [with_mapped_axis(x, m, size) for x, m in zip(values, mapped[1:], strict=True)]
    every = [True] * len(n.results)
    regions, taken = n.regions, ((), ())
    if not lanes and any(has_while(b.nodes) for b in regions):
        regions = tuple(map(stopped, regions))
        no, yes = (full(tensor_type((), bool_), x) for x in (False, True))
        taken = ((pred,), (apply(WHERE, (pred, no, yes)),))
    bodies = [
        lambda b=b, t=t: _region_batch(b, [*spread_out, *t], [True] * len(b.args), every, size)
        for b, t in zip(regions, taken, strict=True)
    ]
    return branch(pred, bodies[0], bodies[1], lanes + 1), every
