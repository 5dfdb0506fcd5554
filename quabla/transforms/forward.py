"""Forward mode: the tangents of a body's results beside the results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quabla.ops.dispatch import Value, apply
from quabla.ops.masking import sum_of
from quabla.ops.registry import Op
from quabla.ops.rules import as_factor, zeros
from quabla.ops.shaping import BROADCAST
from quabla.ops.types import Params
from quabla.tracing.graph import Body, Graph, RegionNode, TraceTensor, build, current_graph
from quabla.transforms.inline import Env, results_of

__all__ = ["Tangent", "add_tangents", "graph_jvp", "jvp", "op_jvp"]

#: None is a tangent that is zero without being computed.
Tangent = Value | None


def add_tangents(a: Tangent, b: Tangent) -> Tangent:
    """The sum of two tangents or cotangents."""
    return b if a is None else a if b is None else sum_of(a, b)


def op_jvp(op: Op, operands: tuple[Value, ...], tangents: Sequence[Tangent], out: Value, params: Params) -> Tangent:
    """The tangent of one op's result.

    Raises:
        NotImplementedError: for an op without a derivative rule.
    """
    if op.partials is not None:
        total: Tangent = None
        for t, partial in zip(tangents, op.partials, strict=True):
            if t is not None and partial is not None:
                total = add_tangents(total, as_factor(t, partial(operands, out, params)))
        if total is not None and total.type.shape != out.type.shape:
            total = apply(BROADCAST, (total,), (out.type.shape,))
        return total
    if op.jvp is not None:
        return op.jvp(operands, tangents, out, params)
    if op.transpose is not None:
        return _linear_jvp(op, operands, tangents, params)
    if not op.differentiable:
        return None
    raise NotImplementedError(f"{op.name} has no derivative rule")


def linear_operands(op: Op, count: int) -> Sequence[int]:
    """The operands in which an op with a transpose rule is linear."""
    return range(count) if callable(op.transpose) else tuple(op.transpose or ())


def _linear_jvp(op: Op, operands: tuple[Value, ...], tangents: Sequence[Tangent], params: Params) -> Tangent:
    """The op applied to tangents: once if it is linear in its operands together, else once for each."""
    linear = linear_operands(op, len(operands))
    if not any(tangents[i] is not None for i in linear):
        return None
    if op.joint:
        moving = list(operands)
        for i in linear:
            t = tangents[i]
            moving[i] = zeros(operands[i].type) if t is None else t
        return apply(op, tuple(moving), params)
    total: Tangent = None
    for i in linear:
        t = tangents[i]
        if t is not None:
            total = add_tangents(total, apply(op, (*operands[:i], t, *operands[i + 1 :]), params))
    return total


def recognized(body: Body, active: Iterable[TraceTensor]) -> Body:
    """A body to differentiate, with calls of their own rules for what its ops have no derivative of but it has."""
    if not any(isinstance(n, TraceTensor) and n.op.recognized for n in body.nodes):
        return body
    from quabla.transforms.recognition import with_matrix_functions

    return with_matrix_functions(body, set(active))


def jvp(body: Body, env: Env, dot: dict[TraceTensor, Value]) -> tuple[list[Value], list[Tangent]]:
    """Emit a body and its tangents.

    Args:
        body: what to differentiate.
        env: the value of each argument; extended.
        dot: the tangents of the arguments that have one; extended.

    Returns:
        The results and their tangents.
    """
    graph = current_graph()
    body = recognized(body, dot)
    for n in body.nodes:
        graph.location = n._loc
        operands = tuple([env[k] for k in n.operands])
        if isinstance(n, RegionNode):
            results, moved = n.op.jvp(n, operands, [dot.get(k) for k in n.operands])
            env.update(zip(n.results, results, strict=True))
            dot.update((r, t) for r, t in zip(n.results, moved, strict=True) if t is not None)
            continue
        out = env[n] = graph.emit(n.op, operands, n.params)
        if n.type.dtype.is_float:
            tangents = [dot.get(k) for k in n.operands]
            if any(t is not None for t in tangents):
                t = op_jvp(n.op, operands, tangents, out, n.params)
                if t is not None:
                    dot[n] = t
    graph.location = None
    return results_of(body, env), [dot.get(k) for k in body.outs]


def graph_jvp(graph: Graph, wrt: Sequence[int] | None = None) -> Graph:
    """The graph with its tangents: its results are followed by the tangents of the float ones.

    Args:
        graph: a finished graph.
        wrt: which inputs have tangents (default: every float one); these follow the inputs.
    """
    body = graph.body()
    types = [a.type for a in body.args]
    chosen = [i for i, t in enumerate(types) if t.dtype.is_float] if wrt is None else list(wrt)
    names = [*graph.names, *(f"{graph.names[i]}_dot" for i in chosen)]

    def run(*values: Value) -> list[Value]:
        env = dict(zip(body.args, values[: len(types)], strict=True))
        dot = {body.args[i]: t for i, t in zip(chosen, values[len(types) :], strict=True)}
        outs, tangents = jvp(body, env, dot)
        moving = [
            zeros(o.type) if t is None else t for o, t in zip(outs, tangents, strict=True) if o.type.dtype.is_float
        ]
        return [*outs, *moving]

    return build([*types, *(types[i] for i in chosen)], names, run)
