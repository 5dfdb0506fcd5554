"""Reverse mode of loops and choices.

Reverse mode of a loop runs the body's vjp from the last iteration to the first; the forward loop keeps those carries that
this backward body reads, in full for short loops, and for long ones only at the start of blocks, from which each block
is run again. A while loop counts its iterations, and its backward loop runs as often.

Source: A. Griewank, Achieving logarithmic growth of temporal and spatial complexity in reverse automatic
differentiation, Optimization Methods and Software 1 (1992), for the trade of recomputation for memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Final

from quabla import errors
from quabla.config import config
from quabla.ops.control import ADD_AT, PUT, TAKE
from quabla.ops.dispatch import Value, apply, full
from quabla.ops.elementwise import ADD, COMPARE, WHERE
from quabla.ops.rules import zeros
from quabla.tracing.graph import CALL, COND, FORI, WHILE, Body, Graph, RegionNode, TraceTensor
from quabla.tracing.regions import INDEX, branch, depends, fori, while_
from quabla.transforms import reverse
from quabla.transforms.bodies import Pull, chosen, emit, filled, holds_call, part, run, spread
from quabla.transforms.forward import Tangent, add_tangents
from quabla.transforms.stacks import put_of, stacks, without
from quabla.transforms.tapes import Tape

__all__ = ["node_vjp"]

#: With the policy "auto", tapes of at most this many bytes are kept in full.
FULL_TAPE_BYTES: Final = 1 << 24


def node_vjp(
    n: RegionNode, operands: Sequence[Value], which: Sequence[bool]
) -> tuple[list[Value], list[bool], Pull | None]:
    """Emit a node's primal part.

    Returns:
        The results, which of them are active, and what maps their cotangents to those of the operands.

    Raises:
        ValueError: for a while loop that may run any number of times.
    """
    if n.op is CALL:
        return n.params[0].vjp(n, operands, which)
    active = [d and r.type.dtype.is_float for d, r in zip(depends(n, which), n.results, strict=True)]
    if not any(active):
        return emit(n, operands), active, None
    if n.op is COND:
        return _cond_vjp(n, operands, which, active)
    if n.op is WHILE and n.params[0] is None:
        raise ValueError(
            f"while_loop{errors.at(n._loc)}: reverse mode needs a bound on the number of iterations; give max_steps, use "
            "forward mode (jvp), or fori_loop with a mask"
        )
    stacked = stacks(n, operands, which)
    block = _block_length(n)
    if block:
        return _nested_vjp(_blocked(n, block), operands, which, stacked)
    return _taped_vjp(n, operands, which, active, stacked=stacked)


def _nested_vjp(
    nodes: tuple[RegionNode, RegionNode | None],
    operands: Sequence[Value],
    which: Sequence[bool],
    stacked: Sequence[int],
) -> Any:
    """The vjp of a loop over blocks followed by the loop over the rest."""
    first, rest = nodes
    count = len(first.results)
    captured, captured_which = operands[count:], which[count:]
    # A block keeps all of its iterations. Run again, it has nothing to add to the stacks.
    again = partial(_loop_vjp, stacked=stacked, stacking=False)
    outs, active, pull = _loop_vjp(first, operands, which, again)
    if rest is None:
        return outs, active, pull
    after_which = [w or a for w, a in zip(which[:count], active, strict=True)]
    outs, active, pull_rest = _loop_vjp(rest, [*outs, *captured], [*after_which, *captured_which], stacked=stacked)

    def both(cts: Sequence[Tangent]) -> list[Tangent]:
        late = pull_rest(cts) if pull_rest else [*cts, *[None] * len(captured)]
        early = pull(late[:count]) if pull else [*late[:count], *[None] * len(captured)]
        return [*early[:count], *map(add_tangents, early[count:], late[count:])]

    return outs, active, both


def _loop_vjp(
    n: RegionNode,
    operands: Sequence[Value],
    which: Sequence[bool],
    rule: Any = None,
    *,
    stacked: Collection[int] = (),
    stacking: bool = True,
) -> Any:
    """The vjp of a loop with a full tape; see ``_taped_vjp``."""
    active = [d and r.type.dtype.is_float for d, r in zip(depends(n, which), n.results, strict=True)]
    if not any(active):
        return emit(n, operands), active, None
    return _taped_vjp(n, operands, which, active, rule, stacked=stacked, stacking=stacking)


def _most_steps(n: RegionNode) -> int:
    """How often a loop runs at most."""
    return n.params[1] - n.params[0] if n.op is FORI else n.params[0]


def _block_length(n: RegionNode) -> int:
    """The length of the blocks that are run again, or 0 for a full tape."""
    policy = config.loop_checkpoint
    steps = _most_steps(n)
    if policy == "full" or steps < 4:
        return 0
    if policy == "auto":
        kept = [c.type for k, c in enumerate(n.carries()) if put_of(n, k) is None]
        row = sum(t.size * t.dtype.numpy.itemsize for t in kept)
        if steps * row <= FULL_TAPE_BYTES:
            return 0
    length = policy if isinstance(policy, int) else math.isqrt(steps - 1) + 1
    return length if 1 < length < steps else 0


def _blocked(n: RegionNode, block: int) -> tuple[RegionNode, RegionNode | None]:
    """A loop as a loop over blocks of iterations, and the loop over those that are left."""
    blocks, left = divmod(_most_steps(n), block)
    count = len(n.results)
    body = n.regions[-1]
    outer = Graph(a.type for a in body.args)
    with outer:
        values = outer.args[n.op.lead :]
        carries, captured = values[:count], values[count:]
        if n.op is FORI:
            start = outer.args[0] * float(block) + float(n.params[0])
            outer.finish(fori(0, block, carries, lambda j, now: run(body, [start + j, *now, *captured])))
        else:
            outer.finish(_some_steps(n, block, carries, captured))
    if n.op is WHILE:
        bound = (blocks + (left > 0),)
        return RegionNode(WHILE, n.operands, bound, (n.regions[0], outer.body()), n.results, n._loc), None
    upper = n.params[1]
    results = tuple([TraceTensor(r.graph, r.type, r.op, (), ()) for r in n.results])
    first = RegionNode(FORI, n.operands, (0, blocks), (outer.body(),), results, n._loc)
    rest = RegionNode(FORI, n.operands, (upper - left, upper), n.regions, n.results, n._loc) if left else None
    return first, rest


def _some_steps(n: RegionNode, most: int, carries: Sequence[Value], captured: Sequence[Value]) -> list[Value]:
    """Emit a while loop that stops after some iterations at the latest; returns its carries."""
    test, body = n.regions

    def going(now: list[Value]) -> Value:
        within = apply(COMPARE, (now[-1], full(INDEX, float(most))), ("less",))
        return apply(WHERE, (within, run(test, [*now[:-1], *captured])[0], within))

    outs = while_(
        [*carries, full(INDEX, 0.0)], going, lambda now: [*run(body, [*now[:-1], *captured]), now[-1] + 1.0], most
    )
    return outs[:-1]


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


def _primal(body: Body, values: Sequence[Value], which: Sequence[bool], rule: Any = None) -> list[Value]:
    """A body's results as reverse mode computes them.

    A call runs the forward part of its rule, so that what differentiates the results again meets that and not the rule.
    """
    if not holds_call(body):
        return run(body, values)
    return reverse.vjp(body, dict(zip(body.args, values, strict=True)), set(chosen(body.args, which)), rule)[0]


def _taped_vjp(
    n: RegionNode,
    operands: Sequence[Value],
    which: Sequence[bool],
    active: list[bool],
    rule: Any = None,
    *,
    stacked: Collection[int] = (),
    stacking: bool = True,
) -> Any:
    """The vjp of a loop with a full tape.

    Args:
        n: the loop.
        operands: its operands, emitted.
        which: the operands that are differentiated.
        active: the results that depend on them.
        rule: that of the ops with regions in its body; None for their own.
        stacked: the carries that are stacks (see ``stacks``). Their cotangents come out as they went in.
        stacking: whether the stacks are among the results that are needed.
    """
    steps, count, lead = _most_steps(n), len(n.results), n.op.lead
    carries, captured = operands[:count], operands[count:]
    moving = [w and c.type.dtype.is_float for w, c in zip(which[count:], captured, strict=True)]
    whole = n.regions[-1]
    puts = {k: put for k in stacked if active[k] and (put := put_of(n, k)) is not None}
    body = without(whole, puts)
    carried = [a and k not in puts for k, a in enumerate(active)]
    every = [*[False] * lead, *active, *moving]
    program, extra = _vjp_program(body, [*[False] * lead, *carried, *moving], active, rule)
    size = sum(carried)
    # What gets no cotangent from an iteration needs no sum over them.
    cotangents = iter(program.outs[size:])
    moving = [m and next(cotangents).splat != 0.0 for m in moving]
    outs = [*program.outs[:size], *(o for o in program.outs[size:] if o.splat != 0.0)]
    program = Body(program.args, program.nodes, outs)
    places = part(body, [put.operands[2] for put in puts.values()])
    arguments, seeds = program.args[: len(body.args)], program.args[len(body.args) :][: sum(active)]
    read = [a for a, b in zip(arguments, body.args, strict=True) if b in set(places.outs)]
    record = Tape(program, arguments[lead : lead + count], seeds, read)

    def step(first: Sequence[Value], row: Value, now: list[Value]) -> list[Value]:
        values = [*first, *now[:count], *captured]
        kept = record.record([*values, *seeds, *extra])
        tapes = [apply(PUT, (tape, x, row), (0,)) for tape, x in zip(now[count:], kept, strict=True)]
        if stacking:
            return [*_primal(whole, values, every, rule and _loop_vjp), *tapes]
        outs = _primal(body, values, every, rule and _loop_vjp)
        return [*(now[k] if k in puts else x for k, x in enumerate(outs)), *tapes]

    blank = [zeros(x.type.with_shape((steps, *x.type.shape))) for x in record.kept]
    outs, ran = _forward(n, [*carries, *blank], captured, step)
    outs, tapes = outs[:count], outs[count:]

    def pull(given: Sequence[Tangent]) -> list[Tangent]:
        given = [*spread(filled(chosen(given, active), chosen(outs, active)), active)]

        def back(first: Sequence[Value], row: Value, now: list[Value]) -> list[Value]:
            kept = [apply(TAKE, (tape, row), (0,)) for tape in tapes]
            stored = dict(zip(record.kept, kept, strict=True))
            # Carries that are not kept are not read: their first values stand for them.
            values = [stored.get(a, x) for a, x in zip(arguments, [*first, *carries, *captured], strict=True)]
            rows = {
                k: apply(TAKE, (given[k], place), put.params)
                for (k, put), place in zip(puts.items(), run(places, values), strict=True)
            }
            others = iter(now)
            cts = [rows[k] if k in rows else next(others) for k in range(count) if active[k]]
            cts = record.play([*values, *cts, *extra], kept)
            return [*cts[:size], *map(_accumulated, now[size:], cts[size:])]

        moved = chosen(captured, moving)
        cts = _backward(n, [*chosen(given, carried), *(zeros(x.type) for x in moved)], ran, back)
        cts_of_carries = spread(cts[:size], carried)
        for k in puts:
            cts_of_carries[k] = given[k]
        return [*cts_of_carries, *spread(cts[size:], moving)]

    return outs, active, pull


#: One iteration: the counter, where the loop has one; the iteration's number from 0; the carries.
Step = Callable[[Sequence[Value], Value, list[Value]], list[Value]]


def _forward(
    n: RegionNode, first: Sequence[Value], captured: Sequence[Value], step: Step
) -> tuple[list[Value], Value | None]:
    """Emit a loop with other carries after its own; returns the last ones, and how often a while loop has run."""
    if n.op is FORI:
        lower, upper = n.params
        return fori(lower, upper, first, lambda i, now: step([i], i - float(lower) if lower else i, now)), None
    test, count = n.regions[0], len(n.results)
    *outs, ran = while_(
        [*first, full(INDEX, 0.0)],
        lambda now: run(test, [*now[:count], *captured])[0],
        lambda now: [*step([], now[-1], now[:-1]), now[-1] + 1.0],
        n.params[0],
    )
    return outs, ran


def _backward(n: RegionNode, first: Sequence[Value], ran: Value | None, step: Step) -> list[Value]:
    """Emit a loop over the iterations of another, from the last to the first; returns its last carries."""
    if ran is None:
        lower, upper = n.params
        final = float(upper - lower - 1)

        def reversed_step(k: Value, now: list[Value]) -> list[Value]:
            row = final - k
            return step([row + float(lower) if lower else row], row, now)

        return fori(0, upper - lower, first, reversed_step)
    zero = full(INDEX, 0.0)

    def earlier(now: list[Value]) -> list[Value]:
        row = now[-1] - 1.0
        return [*step([], row, now[:-1]), row]

    return while_([*first, ran], lambda now: apply(COMPARE, (now[-1], zero), ("greater",)), earlier, n.params[0])[:-1]


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
