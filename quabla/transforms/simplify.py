"""Simplification: a graph emitted again, its regions too.

Emitting folds constants, shares equal nodes, hoists what a loop repeats and leaves out what nothing needs. Beyond that a
choice whose predicate is known becomes one of its branches, a loop that runs once its body, and a carry that no
iteration changes a captured value.
"""

from __future__ import annotations

from collections.abc import Sequence

from quabla.ops.casting import CONSTANT
from quabla.ops.dispatch import Value, full
from quabla.tracing.graph import CALL, COND, FORI, WHILE, Body, Graph, RegionNode, build, current_graph
from quabla.tracing.regions import INDEX, branch, call, fori, while_
from quabla.transforms.inline import Env, results_of

__all__ = ["simplify"]


def simplify(graph: Graph) -> Graph:
    """The same function, simplified."""
    body = graph.body()
    return build([a.type for a in body.args], graph.names, lambda *args: _emit(body, args))


def _emit(body: Body, arguments: Sequence[Value]) -> list[Value]:
    graph = current_graph()
    env: Env = dict(zip(body.args, arguments, strict=True))
    for n in body.nodes:
        graph.location = n._loc
        operands = [env[k] for k in n.operands]
        if isinstance(n, RegionNode):
            env.update(zip(n.results, _emit_region(n, operands), strict=True))
        else:
            env[n] = graph.emit(n.op, tuple(operands), n.params)
    graph.location = None
    return results_of(body, env)


def _emit_region(n: RegionNode, operands: Sequence[Value]) -> list[Value]:
    if n.op is CALL:
        inner = build([x.type for x in operands], None, lambda *args: _emit(n.regions[0], args))
        return call(n.params[0], operands, inner.body())
    if n.op is COND:
        pred, *values = operands
        if pred.op is CONSTANT and not n.params[0]:
            return _emit(n.regions[0 if pred.splat else 1], values)
        on_true, on_false = n.regions
        return branch(pred, lambda: _emit(on_true, values), lambda: _emit(on_false, values), n.params[0])
    count = len(n.results)
    captured = operands[count:]
    step = n.regions[-1]
    carried = step.args[n.op.lead : n.op.lead + count]
    moves = [o is not a for o, a in zip(step.outs, carried, strict=True)]
    if n.op is WHILE and _known(n.regions[0]) is False:
        return list(operands[:count])
    if n.op is FORI and n.params[1] - n.params[0] == 1:
        return _emit(step, [full(INDEX, float(n.params[0])), *operands])

    def merged(now: Sequence[Value]) -> list[Value]:
        """Every carry of the old loop, of those of the new."""
        rest = iter(now)
        return [next(rest) if m else x for m, x in zip(moves, operands[:count], strict=True)]

    def moved(outs: Sequence[Value]) -> list[Value]:
        return [o for o, m in zip(outs, moves, strict=True) if m]

    first = moved(operands[:count])
    if n.op is FORI:
        if not first:
            return list(operands[:count])
        lower, upper = n.params
        outs = fori(lower, upper, first, lambda i, now: moved(_emit(step, [i, *merged(now), *captured])))
    else:
        test = n.regions[0]
        outs = while_(
            first,
            lambda now: _emit(test, [*merged(now), *captured])[0],
            lambda now: moved(_emit(step, [*merged(now), *captured])),
            n.params[0],
        )
    return merged(outs)


def _known(test: Body) -> bool | None:
    """What a test always returns, where that is a constant."""
    out = test.outs[0]
    return bool(out.splat) if out.op is CONSTANT else None
