"""A finished program as the compiler sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quabla.ops.dispatch import Value
from quabla.tracing.graph import CALL, COND, Body, Graph, RegionNode, current_graph
from quabla.transforms.bodies import rebuilt, select
from quabla.transforms.inline import Env

__all__ = ["expanded"]


def expanded(graph: Graph) -> Graph:
    """A graph as the compiler sees it: calls inlined, and choices by lane as both branches and a selection."""
    if not _unexpanded(graph.nodes):
        return graph
    body = graph.body()
    new = Graph([a.type for a in body.args], graph.names)
    with new:
        outs = _expand(body, new.args)
        new.finish(outs)
    count = len(graph.args)
    hidden = dict(zip(body.args, new.args[:count], strict=True))
    new.captures = {**{x: hidden[a] for x, a in graph.captures.items()}, **new.captures}
    return new


def _unexpanded(nodes: Sequence[Any]) -> bool:
    """Whether some node, in regions too, is a call or a choice by lane."""
    return any(
        n.op is CALL or (n.op is COND and n.params[0]) or any(_unexpanded(b.nodes) for b in n.regions)
        for n in nodes
        if isinstance(n, RegionNode)
    )


def _expand(body: Body, arguments: Sequence[Value]) -> list[Value]:
    graph = current_graph()
    env: Env = dict(zip(body.args, arguments, strict=True))
    for n in body.nodes:
        graph.location = n._loc
        operands = tuple([env[k] for k in n.operands])
        if not isinstance(n, RegionNode):
            env[n] = graph.emit(n.op, operands, n.params)
            continue
        if n.op is CALL:
            outs = _expand(n.regions[0], operands)
        elif n.op is COND and n.params[0]:
            pred, *values = operands
            pairs = zip(*(_expand(b, values) for b in n.regions), strict=True)
            outs = [select(pred, a, b) for a, b in pairs]
        else:
            outs = rebuilt(n, operands, _expand)
        env.update(zip(n.results, outs, strict=True))
    graph.location = None
    return [env[k] for k in body.outs]
