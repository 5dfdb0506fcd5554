"""Forward mode, reverse mode and batching of ops with regions.

A region's transform is the transform of its body, traced into a region of its own. Reverse mode of a loop runs the body's
vjp from the last iteration to the first; the forward loop keeps those carries that this backward body reads, in full for
short loops, and for long ones only at the start of blocks, from which each block is run again.

Source: A. Griewank, Achieving logarithmic growth of temporal and spatial complexity in reverse automatic
differentiation, Optimization Methods and Software 1 (1992), for the trade of recomputation for memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from quabla import errors
from quabla.config import config
from quabla.dtypes import bool_
from quabla.ops.control import ADD_AT, PUT, TAKE
from quabla.ops.dispatch import Value, apply, full
from quabla.ops.elementwise import ADD, WHERE
from quabla.ops.reductions import MAX
from quabla.ops.rules import with_mapped_axis, zeros
from quabla.ops.shaping import RESHAPE
from quabla.ops.types import tensor_type
from quabla.tracing.graph import CALL, COND, FORI, WHILE, Body, Graph, RegionNode, TraceTensor, current_graph
from quabla.tracing.regions import INDEX, branch, depends, fori, while_
from quabla.transforms import batching, forward, reverse
from quabla.transforms.forward import Tangent, add_tangents
from quabla.transforms.inline import Env, inline

#: With the policy "auto", tapes of at most this many bytes are kept in full.
FULL_TAPE_BYTES: Final = 1 << 24


def run(body: Body, values: Sequence[Value]) -> list[Value]:
    """Emit a closed body at its arguments."""
    return inline(body, dict(zip(body.args, values, strict=True)))


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


# ---- forward mode -------------------------------------------------------------------------------


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
        outs = while_(first, lambda now: run(test, [*now[:count], *captured])[0], lambda now: step([], now))
    return outs[:count], spread(outs[count:], active)


def emit(n: RegionNode, operands: Sequence[Value]) -> list[Value]:
    """Emit a node as it is. Its regions are closed, so they are shared."""
    return list(current_graph().emit_region(n.op, operands, n.params, n.regions, [r.type for r in n.results]))


# ---- reverse mode -------------------------------------------------------------------------------

Pull = Callable[[Sequence[Tangent]], list[Tangent]]


def node_vjp(
    n: RegionNode, operands: Sequence[Value], which: Sequence[bool]
) -> tuple[list[Value], list[bool], Pull | None]:
    """Emit a node's primal part.

    Returns:
        The results, which of them are active, and what maps their cotangents to those of the operands.

    Raises:
        ValueError: for a while loop, whose number of iterations is not known.
    """
    if n.op is CALL:
        return n.params[0].vjp(n, operands, which)
    active = [d and r.type.dtype.is_float for d, r in zip(depends(n, which), n.results, strict=True)]
    if not any(active):
        return emit(n, operands), active, None
    if n.op is COND:
        return _cond_vjp(n, operands, which, active)
    if n.op is WHILE:
        raise ValueError(
            f"while_loop{errors.at(n._loc)}: reverse mode needs the number of iterations in advance; use forward mode "
            "(jvp), or fori_loop with a bound and a mask"
        )
    block = _block_length(n, active)
    if block:
        return _nested_vjp(_blocked(n, block), operands, which)
    return _fori_vjp(n, operands, which, active)


def _nested_vjp(nodes: tuple[RegionNode, RegionNode | None], operands: Sequence[Value], which: Sequence[bool]) -> Any:
    """The vjp of a loop over blocks followed by the loop over the rest."""
    first, rest = nodes
    count = len(first.results)
    captured, captured_which = operands[count:], which[count:]
    outs, active, pull = _loop_vjp(first, operands, which, _loop_vjp)  # a block keeps all of its iterations
    if rest is None:
        return outs, active, pull
    after_which = [w or a for w, a in zip(which[:count], active, strict=True)]
    outs, active, pull_rest = _loop_vjp(rest, [*outs, *captured], [*after_which, *captured_which])

    def both(cts: Sequence[Tangent]) -> list[Tangent]:
        late = pull_rest(cts) if pull_rest else [*cts, *[None] * len(captured)]
        early = pull(late[:count]) if pull else [*late[:count], *[None] * len(captured)]
        return [*early[:count], *map(add_tangents, early[count:], late[count:])]

    return outs, active, both


def _loop_vjp(n: RegionNode, operands: Sequence[Value], which: Sequence[bool], rule: Any = None) -> Any:
    """The vjp of a loop with a full tape; ``rule`` is that of the ops with regions in its body."""
    active = [d and r.type.dtype.is_float for d, r in zip(depends(n, which), n.results, strict=True)]
    return _fori_vjp(n, operands, which, active, rule) if any(active) else (emit(n, operands), active, None)


def _block_length(n: RegionNode, active: Sequence[bool]) -> int:
    """The length of the blocks that are run again, or 0 for a full tape."""
    policy = config.loop_checkpoint
    steps = n.params[1] - n.params[0]
    if policy == "full" or steps < 4:
        return 0
    if policy == "auto":
        row = sum(c.type.size * c.type.dtype.numpy.itemsize for c in n.carries())
        if steps * row <= FULL_TAPE_BYTES:
            return 0
    length = policy if isinstance(policy, int) else math.isqrt(steps - 1) + 1
    return length if 1 < length < steps else 0


def _blocked(n: RegionNode, block: int) -> tuple[RegionNode, RegionNode | None]:
    """A loop as a loop over blocks of iterations, and the loop over those that are left."""
    lower, upper = n.params
    blocks, left = divmod(upper - lower, block)
    count = len(n.results)
    types = [r.type for r in n.results]
    hidden = [c.type for c in n.captured()]
    body = n.regions[0]
    outer = Graph([INDEX, *types, *hidden])
    with outer:
        k, *values = outer.args
        carries, captured = values[:count], values[count:]
        start = k * float(block) + float(lower)
        outer.finish(fori(0, block, carries, lambda j, now: run(body, [start + j, *now, *captured])))
    results = tuple([TraceTensor(r.graph, r.type, r.op, (), ()) for r in n.results])
    first = RegionNode(FORI, n.operands, (0, blocks), (outer.body(),), results, n._loc)
    rest = RegionNode(FORI, n.operands, (upper - left, upper), n.regions, n.results, n._loc) if left else None
    return first, rest


def _accumulated(total: Value, c: Value) -> Value:
    """``total + c``; a row is added to its place, so that a loop over rows takes time for the rows it reads."""
    if c.op is ADD and any(x.op is ADD_AT for x in c.operands):
        return _accumulated(_accumulated(total, c.operands[0]), c.operands[1])
    if c.op is ADD_AT and c.operands[0].splat == 0.0:
        return apply(ADD_AT, (total, *c.operands[1:]), c.params)
    return total + c


def _vjp_program(
    body: Body, which: Sequence[bool], seeded: Sequence[bool], rule: Any = None
) -> tuple[Body, list[Value]]:
    """A body's backward part.

    Returns:
        A body over the arguments and then the cotangents of the seeded results, which returns the cotangents of the
        marked arguments; and the values for its last arguments, which rules have captured.
    """
    types = [a.type for a in body.args]
    graph = Graph([*types, *(o.type for o in chosen(body.outs, seeded))])
    with graph:
        values, seeds = graph.args[: len(types)], graph.args[len(types) :]
        wrt = set(chosen(body.args, which))
        _, pullback = reverse.vjp(body, dict(zip(body.args, values, strict=True)), wrt, rule)
        cts = pullback(spread(seeds, seeded))
        graph.finish([cts[a] if a in cts else zeros(a.type) for a in chosen(body.args, which)])
    return graph.body(), list(graph.captures)


def holds_call(body: Body) -> bool:
    """Whether a body, or a region in it, calls a function with a rule of its own."""
    nodes = [m for m in body.nodes if isinstance(m, RegionNode)]
    return any(m.op is CALL or any(map(holds_call, m.regions)) for m in nodes)


def _primal(body: Body, values: Sequence[Value], which: Sequence[bool], rule: Any = None) -> list[Value]:
    """A body's results as reverse mode computes them.

    A call runs the forward part of its rule, so that what differentiates the results again meets that and not the rule.
    """
    if not holds_call(body):
        return run(body, values)
    return reverse.vjp(body, dict(zip(body.args, values, strict=True)), set(chosen(body.args, which)), rule)[0]


def _fori_vjp(
    n: RegionNode, operands: Sequence[Value], which: Sequence[bool], active: list[bool], rule: Any = None
) -> Any:
    lower, upper = n.params
    steps, count = upper - lower, len(n.results)
    carries, captured = operands[:count], operands[count:]
    moving = [w and c.type.dtype.is_float for w, c in zip(which[count:], captured, strict=True)]
    body = n.regions[0]
    differentiated = [False, *active, *moving]
    program, extra = _vjp_program(body, differentiated, active, rule)
    seen = set(program.outs).union(*[m.operands for m in program.nodes])
    taped = [j for j in range(count) if program.args[1 + j] in seen]

    def step(i: Value, now: list[Value]) -> list[Value]:
        row = i - float(lower) if lower else i
        tapes = [apply(PUT, (tape, now[j], row), (0,)) for tape, j in zip(now[count:], taped, strict=True)]
        return [*_primal(body, [i, *now[:count], *captured], differentiated, rule), *tapes]

    blank = [zeros(t.with_shape((steps, *t.shape))) for t in (carries[j].type for j in taped)]
    outs = fori(lower, upper, [*carries, *blank], step)
    outs, tapes = outs[:count], outs[count:]
    size = sum(active)

    def pull(given: Sequence[Tangent]) -> list[Tangent]:
        seeds = filled(chosen(given, active), chosen(outs, active))

        def back(k: Value, now: list[Value]) -> list[Value]:
            row = float(steps - 1) - k
            stored = {j: apply(TAKE, (tape, row), (0,)) for j, tape in zip(taped, tapes, strict=True)}
            # Carries that are not taped are not read: their first values stand for them.
            values = [stored.get(j, carries[j]) for j in range(count)]
            cts = run(program, [row + float(lower) if lower else row, *values, *captured, *now[:size], *extra])
            return [*cts[:size], *map(_accumulated, now[size:], cts[size:])]

        moved = chosen(captured, moving)
        cts = fori(0, steps, [*seeds, *(zeros(x.type) for x in moved)], back)
        return [*spread(cts[:size], active), *spread(cts[size:], moving)]

    return outs, active, pull


def _cond_vjp(n: RegionNode, operands: Sequence[Value], which: Sequence[bool], active: list[bool]) -> Any:
    pred, *values = operands
    moving = [w and x.type.dtype.is_float for w, x in zip(which[1:], values, strict=True)]
    if any(map(holds_call, n.regions)):
        runs = [lambda b=b: _primal(b, values, moving) for b in n.regions]
        outs = branch(pred, runs[0], runs[1], n.params[0])
    else:
        outs = emit(n, operands)

    def pull(given: Sequence[Tangent]) -> list[Tangent]:
        seeds = filled(chosen(given, active), chosen(outs, active))
        programs = [_vjp_program(b, moving, active) for b in n.regions]
        bodies = [lambda p=p, x=x: run(p, [*values, *seeds, *x]) for p, x in programs]  # the branch runs again
        return [None, *spread(branch(pred, bodies[0], bodies[1], n.params[0]), moving)]

    return outs, active, pull


# ---- batching -----------------------------------------------------------------------------------


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

    def step(now: list[Value]) -> list[Value]:
        pred, lanes = tested(now)
        after = _region_batch(body, [*now, *captured], [*want, *hidden], want, size)
        return [_select(pred, a, b) for a, b in zip(after, now, strict=True)] if lanes else after

    return while_(first, any_lane, step), want


def _select(pred: Value, on_true: Value, on_false: Value) -> Value:
    """Lanes of ``on_true`` where the predicate, which has fewer axes, is True; of ``on_false`` elsewhere."""
    fill = on_true.type.ndim - pred.type.ndim
    mask = apply(RESHAPE, (pred,), ((*pred.type.shape, *(1,) * fill),)) if fill else pred
    return apply(WHERE, (mask, on_true, on_false))


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
    if not lanes and any(_has_while(b.nodes) for b in regions):
        regions = tuple(map(_stopped, regions))
        no, yes = (full(tensor_type((), bool_), x) for x in (False, True))
        taken = ((pred,), (apply(WHERE, (pred, no, yes)),))
    bodies = [
        lambda b=b, t=t: _region_batch(b, [*spread_out, *t], [True] * len(b.args), every, size)
        for b, t in zip(regions, taken, strict=True)
    ]
    return branch(pred, bodies[0], bodies[1], lanes + 1), every


def _has_while(nodes: Sequence[Any]) -> bool:
    """Whether a while loop stands among nodes or in their regions."""
    return any(n.op is WHILE or any(_has_while(b.nodes) for b in n.regions) for n in nodes if n.__class__ is RegionNode)


def _stopped(body: Body) -> Body:
    """A branch with a last argument, whether it is the one taken: where it is not, its while loops do not run.

    A lane must not wait for a loop that only its other branch would end.
    """
    graph = Graph([*(a.type for a in body.args), tensor_type((), bool_)])
    graph.location = current_graph().location
    with graph:
        *values, taken = graph.args
        graph.finish(_stop(body, values, taken))
    return graph.body()


def _stop(body: Body, arguments: Sequence[Value], taken: Value) -> list[Value]:
    graph = current_graph()
    env: Env = dict(zip(body.args, arguments, strict=True))
    for n in body.nodes:
        graph.location = n._loc
        operands = [env[k] for k in n.operands]
        if not isinstance(n, RegionNode):
            env[n] = graph.emit(n.op, tuple(operands), n.params)
            continue
        if n.op is CALL or not _has_while([n]):
            outs = emit(n, operands)
        else:
            no = full(tensor_type((), bool_), False)
            outs = _rebuilt(
                n, operands, lambda b, xs: _stop(b, xs, taken), lambda going, no=no: apply(WHERE, (taken, going, no))
            )
        env.update(zip(n.results, outs, strict=True))
    graph.location = None
    return [env[k] for k in body.outs]


def _rebuilt(
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
        first, lambda now: going(visit(test, [*now, *captured])[0]), lambda now: visit(step, [*now, *captured])
    )


# ---- the finished program -----------------------------------------------------------------------


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
            outs = [_select(pred, a, b) for a, b in pairs]
        else:
            outs = _rebuilt(n, operands, _expand)
        env.update(zip(n.results, outs, strict=True))
    graph.location = None
    return [env[k] for k in body.outs]


for _op in (CALL, COND, FORI, WHILE):
    _op.jvp, _op.vjp, _op.batch = node_jvp, node_vjp, node_batch
