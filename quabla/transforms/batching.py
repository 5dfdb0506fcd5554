"""Batching: a body applied to every slice along a mapped axis at once."""

from __future__ import annotations

from collections.abc import Sequence

from quabla.ops.dispatch import Value, apply
from quabla.ops.registry import Op
from quabla.ops.rules import align, with_mapped_axis
from quabla.tracing.graph import Body, Graph, RegionNode, TraceTensor, build, current_graph
from quabla.transforms.inline import Env, results_of

__all__ = ["graph_vmap", "op_batch", "vmap"]


def op_batch(op: Op, operands: tuple[Value, ...], mapped: tuple[bool, ...], params: tuple[object, ...]) -> Value:
    """One op on operands whose mapped axis comes first; so does the result's.

    Raises:
        NotImplementedError: for an op without a batching rule.
    """
    if op.batch is not None:
        return op.batch(operands, mapped, params)
    if op.elementwise:
        return apply(op, tuple(align(operands, mapped)), params)
    raise NotImplementedError(f"{op.name} has no batching rule")


def vmap(body: Body, env: Env, mapped: set[TraceTensor]) -> tuple[list[Value], list[bool]]:
    """Emit a body over a mapped axis.

    Args:
        body: what to map.
        env: the value of each argument, with the mapped axis first for those that are mapped; extended.
        mapped: the arguments that are mapped; extended by the nodes that depend on them.

    Returns:
        The results, and which of them carry the mapped axis.
    """
    graph = current_graph()
    for n in body.nodes:
        graph.location = n._loc
        operands = tuple([env[k] for k in n.operands])
        which = tuple([k in mapped for k in n.operands])
        if isinstance(n, RegionNode):
            if True in which:
                results, carrying = n.op.batch(n, operands, which)
                mapped.update(r for r, m in zip(n.results, carrying, strict=True) if m)
            else:
                results = graph.emit_region(n.op, operands, n.params, n.regions, [r.type for r in n.results])
            env.update(zip(n.results, results, strict=True))
        elif True in which:
            env[n] = op_batch(n.op, operands, which, n.params)
            mapped.add(n)
        else:
            env[n] = graph.emit(n.op, operands, n.params)
    graph.location = None
    return results_of(body, env), [k in mapped for k in body.outs]


def graph_vmap(graph: Graph, size: int, mapped: Sequence[bool] | None = None) -> Graph:
    """The graph mapped over an extra first axis, which every result has.

    Args:
        graph: a finished graph.
        size: the extent of the axis.
        mapped: which inputs have the axis (default: all).
    """
    body = graph.body()
    which = [True] * len(body.args) if mapped is None else list(mapped)
    types = [a.type.with_shape((size, *a.type.shape)) if m else a.type for a, m in zip(body.args, which, strict=True)]

    def run(*values: Value) -> list[Value]:
        env = dict(zip(body.args, values, strict=True))
        outs, batched = vmap(body, env, {a for a, m in zip(body.args, which, strict=True) if m})
        return [with_mapped_axis(x, m, size) for x, m in zip(outs, batched, strict=True)]

    return build(types, graph.names, run)
