"""Reverse mode: cotangents by transposing op by op.

The tangent graph is never built: an elementwise op multiplies by its partial derivatives, a linear op applies its
transpose. An op that has only a tangent rule gets its tangent traced into a scratch graph and transposed, so
forward and reverse mode cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from quabla.ops.dispatch import Value
from quabla.ops.registry import Op
from quabla.ops.rules import as_factor, unbroadcast, zeros
from quabla.ops.types import Params
from quabla.tracing.graph import Body, Graph, RegionNode, TraceTensor, build, current_graph
from quabla.transforms.forward import Tangent, add_tangents, linear_operands, recognized
from quabla.transforms.inline import Env, results_of

__all__ = ["Pullback", "graph_vjp", "op_vjp", "vjp"]

#: Cotangents of the results to cotangents of the differentiated arguments.
Pullback = Callable[[Sequence[Tangent]], dict[TraceTensor, Value]]


def op_vjp(
    op: Op, operands: tuple[Any, ...], active: Sequence[bool], ct: Value, out: Value | None, params: Params
) -> list[Tangent]:
    """The cotangents of one op's operands; None where an operand is not active or gets none.

    Raises:
        NotImplementedError: for an op without a derivative rule.
    """
    if op.partials is not None:
        cts: list[Tangent] = []
        for x, a, partial in zip(operands, active, op.partials, strict=True):
            c = as_factor(ct, partial(operands, out, params)) if a and partial is not None else None
            cts.append(c if c is None else unbroadcast(c, x.type.shape))
        return cts
    if op.vjp is not None:
        return op.vjp(operands, active, ct, out, params)
    if op.transpose is not None:
        if callable(op.transpose):
            return op.transpose(ct, operands, active, params)
        linear = linear_operands(op, len(operands))
        return [op.transpose[i](ct, operands, params) if a and i in linear else None for i, a in enumerate(active)]
    if op.jvp is not None:
        return _transposed_jvp(op.jvp, operands, active, ct, out, params)
    if not op.differentiable:
        return [None] * len(operands)
    raise NotImplementedError(f"{op.name} has no derivative rule")


class LinearOperand:
    """Stands for an operand that the traced tangent is linear in: it has a type and no value."""

    __slots__ = ("type",)

    traced = True

    def __init__(self, like: TraceTensor) -> None:
        self.type = like.type

    @property
    def shape(self) -> list[int]:
        return list(self.type.shape)

    @property
    def ndim(self) -> int:
        return self.type.ndim


def _transposed_jvp(
    jvp: Callable[..., Tangent],
    operands: tuple[Any, ...],
    active: Sequence[bool],
    ct: Value,
    out: Value | None,
    params: Params,
) -> list[Tangent]:
    """The transpose of what a tangent rule emits."""
    which = [i for i, a in enumerate(active) if a]
    graph = Graph([operands[i].type for i in which])
    graph.location = current_graph().location
    with graph:
        t = dict(zip(which, graph.args, strict=True))
        tangent = jvp(operands, [t.get(i) for i in range(len(operands))], out, params)
        if tangent is None:
            return [None] * len(operands)
        graph.finish([tangent])
    body = graph.body()
    linear = set(body.args[: len(which)])
    env: Env = {hidden: outside for outside, hidden in graph.captures.items()}
    cts = dict(zip(which, _backward(body, env, linear, ct), strict=True))
    return [cts.get(i) for i in range(len(operands))]


def _backward(body: Body, env: Env, linear: set[TraceTensor], seed: Value) -> list[Tangent]:
    """Transpose a body that is linear in the arguments ``linear``; the rest of it is emitted as it is."""
    graph = current_graph()
    arguments = [a for a in body.args if a in linear]
    tape: list[TraceTensor] = []
    for n in cast("Sequence[TraceTensor]", body.nodes):  # rules of ops are made of ops without regions
        if linear.isdisjoint(n.operands):
            env[n] = graph.emit(n.op, tuple([env[k] for k in n.operands]), n.params)
        else:
            linear.add(n)
            tape.append(n)
    cts: dict[TraceTensor, Tangent] = {body.outs[0]: seed}
    for n in reversed(tape):
        ct = cts.pop(n, None)
        if ct is None:
            continue
        active = [k in linear for k in n.operands]
        operands = tuple([LinearOperand(k) if a else env[k] for k, a in zip(n.operands, active, strict=True)])
        for k, c in zip(n.operands, op_vjp(n.op, operands, active, ct, None, n.params), strict=True):
            if c is not None:
                cts[k] = add_tangents(cts.get(k), c)
    return [cts.get(a) for a in arguments]


def vjp(body: Body, env: Env, wrt: set[TraceTensor], rule: Any = None) -> tuple[list[Value], Pullback]:
    """Emit a body; returns its results and the function that emits the backward part.

    Args:
        body: what to differentiate.
        env: the value of each argument; extended.
        wrt: the arguments to differentiate.
        rule: takes the place of the vjp of every op with regions.
    """
    graph = current_graph()
    body = recognized(body, wrt)
    tape: list[tuple[Any, Any, list[bool], Any]] = []
    active = set(wrt)
    for n in body.nodes:
        graph.location = n._loc
        operands = tuple([env[k] for k in n.operands])
        if isinstance(n, RegionNode):
            which = [k in active for k in n.operands]
            results, moving, pull = (rule or n.op.vjp)(n, operands, which)
            env.update(zip(n.results, results, strict=True))
            if pull is not None:
                active.update(r for r, m in zip(n.results, moving, strict=True) if m)
                tape.append((n, pull, which, None))
            continue
        out = env[n] = graph.emit(n.op, operands, n.params)
        if n.type.dtype.is_float:
            which = [k in active for k in n.operands]
            if True in which and n.op.differentiable:
                active.add(n)
                tape.append((n, operands, which, out))
    graph.location = None

    def pullback(seeds: Sequence[Tangent]) -> dict[TraceTensor, Value]:
        into = current_graph()
        cts: dict[TraceTensor, Tangent] = {}
        for k, c in zip(body.outs, seeds, strict=True):
            if c is not None and k in active:
                cts[k] = add_tangents(cts.get(k), c)
        for n, operands, which, out in reversed(tape):
            into.location = n._loc
            if isinstance(n, RegionNode):
                given = [cts.pop(r, None) for r in n.results]
                if any(c is not None for c in given):
                    for k, c in zip(n.operands, operands(given), strict=True):
                        if c is not None:
                            cts[k] = add_tangents(cts.get(k), c)
                continue
            ct = cts.pop(n, None)
            if ct is None:
                continue
            for k, c in zip(n.operands, op_vjp(n.op, operands, which, ct, out, n.params), strict=True):
                if c is not None:
                    cts[k] = add_tangents(cts.get(k), c)
        into.location = None
        return {k: c for k, c in cts.items() if c is not None}

    return results_of(body, env), pullback


def graph_vjp(graph: Graph, wrt: Sequence[int] | None = None) -> Graph:
    """The graph with its cotangents: one for each float result follows the inputs.

    Args:
        graph: a finished graph.
        wrt: which inputs' cotangents follow the results (default: every float one's).
    """
    body = graph.body()
    types = [a.type for a in body.args]
    chosen = [i for i, t in enumerate(types) if t.dtype.is_float] if wrt is None else list(wrt)
    floats = [i for i, o in enumerate(body.outs) if o.type.dtype.is_float]
    names = [*graph.names, *("ct" if len(floats) == 1 else f"ct{i}" for i in floats)]

    def run(*values: Value) -> list[Value]:
        env = dict(zip(body.args, values[: len(types)], strict=True))
        outs, pullback = vjp(body, env, {body.args[i] for i in chosen})
        seeds: list[Tangent] = [None] * len(outs)
        for i, c in zip(floats, values[len(types) :], strict=True):
            seeds[i] = c
        cts = pullback(seeds)
        return [*outs, *(cts[body.args[i]] if body.args[i] in cts else zeros(types[i]) for i in chosen)]

    return build([*types, *(body.outs[i].type for i in floats)], names, run)
