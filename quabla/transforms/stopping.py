"""While loops in a branch that a lane does not take: they do not run, since nobody may wait for them to end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from quabla.dtypes import bool_
from quabla.ops.dispatch import Value, apply, full
from quabla.ops.elementwise import WHERE
from quabla.ops.types import tensor_type
from quabla.tracing import regions
from quabla.tracing.graph import CALL, WHILE, Body, Graph, RegionNode, current_graph
from quabla.transforms.bodies import emit, rebuilt
from quabla.transforms.inline import Env

__all__ = ["emit_stopped", "has_while", "stopped"]


def has_while(nodes: Sequence[Any]) -> bool:
    """Whether a while loop stands among nodes or in their regions."""
    return any(n.op is WHILE or any(has_while(b.nodes) for b in n.regions) for n in nodes if n.__class__ is RegionNode)


def stopped(body: Body) -> Body:
    """A branch with a last argument, whether it is the one taken: where it is not, its while loops do not run."""
    graph = Graph([*(a.type for a in body.args), tensor_type((), bool_)])
    graph.location = current_graph().location
    with graph:
        *values, taken = graph.args
        graph.finish(_stop(body, values, taken))
    return graph.body()


def emit_stopped(values: Sequence[Value], taken: Value, fun: Callable[[list[Value]], Sequence[Value]]) -> list[Value]:
    """Emit a function of values; where ``taken`` is False its while loops do not run."""
    into = current_graph()
    graph = Graph([x.type for x in values])
    with graph:
        graph.finish(fun(list(graph.args)))
    return _stop(graph.body(), [into.lift(x) for x in (*values, *graph.captures)], taken)


def _stop(body: Body, arguments: Sequence[Value], taken: Value) -> list[Value]:
    graph = current_graph()
    env: Env = dict(zip(body.args, arguments, strict=True))
    for n in body.nodes:
        graph.location = n._loc
        operands = [env[k] for k in n.operands]
        if not isinstance(n, RegionNode):
            env[n] = graph.emit(n.op, tuple(operands), n.params)
            continue
        env.update(zip(n.results, _stop_node(n, operands, taken), strict=True))
    graph.location = None
    return [env[k] for k in body.outs]


def _stop_node(n: RegionNode, operands: Sequence[Value], taken: Value) -> list[Value]:
    """Emit a loop, a choice or a call so that the while loops in it run only where the branch is taken."""
    if not has_while([n]):
        return emit(n, operands)
    if n.op is CALL:
        rule = n.params[0].stopped(len(operands))
        if rule is None:
            return emit(n, operands)
        return regions.call(rule, [*operands, taken], stopped(n.regions[0]))
    no = full(tensor_type((), bool_), False)
    return rebuilt(n, operands, lambda b, xs: _stop(b, xs, taken), lambda going: apply(WHERE, (taken, going, no)))
