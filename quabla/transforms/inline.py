"""Emitting a body as it is: inlining and cloning in one."""

from __future__ import annotations

from quabla.ops.dispatch import Value, weakly
from quabla.tracing.graph import Body, RegionNode, TraceTensor, current_graph

__all__ = ["Env", "inline", "results_of"]

#: The values in the graph under construction of the nodes that have been read.
Env = dict[TraceTensor, Value]


def inline(body: Body, env: Env) -> list[Value]:
    """Emit ``body`` at the arguments in ``env``; returns its results. Emitting folds and shares again."""
    graph = current_graph()
    for n in body.nodes:
        graph.location = n._loc
        if isinstance(n, RegionNode):
            operands = [env[k] for k in n.operands]
            results = graph.emit_region(n.op, operands, n.params, n.regions, [r.type for r in n.results])
            env.update(zip(n.results, results, strict=True))
            continue
        env[n] = graph.emit(n.op, tuple([env[k] for k in n.operands]), n.params)
    graph.location = None
    return results_of(body, env)


def results_of(body: Body, env: Env) -> list[Value]:
    """What the results of an emitted body are in the graph under construction; weak ones stay weak."""
    return [weakly(env[k], k.weak) for k in body.outs]
