"""Reverse mode of loops and choices.

Reverse mode of a loop runs the body's vjp from the last iteration to the first; the forward loop keeps those carries that
this backward body reads, in full for short loops, and for long ones only at the start of blocks, from which each block
is run again. A while loop counts its iterations, and its backward loop runs as often.

Source: A. Griewank, Achieving logarithmic growth of temporal and spatial complexity in reverse automatic
differentiation, Optimization Methods and Software 1 (1992), for the trade of recomputation for memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
from quabla.transforms.bodies import Pull, chosen, emit, filled, holds_call, run, spread
from quabla.transforms.forward import Tangent, add_tangents

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
    block = _block_length(n)
    if block:
        return _nested_vjp(_blocked(n, block), operands, which)
    return _taped_vjp(n, operands, which, active)


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
    return _taped_vjp(n, operands, which, active, rule) if any(active) else (emit(n, operands), active, None)


def _most_steps(n: RegionNode) -> int:
    """How often a loop runs at most."""
    return n.params[1] - n.params[0] if n.op is FORI else n.params[0]


def _stacking(n: RegionNode, j: int) -> TraceTensor | None:
    """The index at which an iteration writes a row of carry ``j``, where nothing in the body reads that carry."""
    body = n.regions[-1]
    buffer, out = body.args[n.op.lead + j], body.outs[j]
    if out.op is not PUT or out.operands[0] is not buffer or buffer in out.operands[1:] or body.outs.count(out) > 1:
        return None
    read = any(out in m.operands or (buffer in m.operands and m is not out) for m in body.nodes)
    return None if read or buffer in body.outs else out.operands[2]


def _stacks_all(n: RegionNode, j: int) -> bool:
    """Whether a loop writes every row of carry ``j`` once."""
    return (
        n.op is FORI
        and (index := _stacking(n, j)) is not None
        and index is n.regions[0].args[0]
        and n.regions[0].outs[j].params == (0,)
        and n.params == (0, n.results[j].type.shape[0])
    )


def _block_length(n: RegionNode) -> int:
    """The length of the blocks that are run again, or 0 for a full tape."""
    policy = config.loop_checkpoint
    steps = _most_steps(n)
    if policy == "full" or steps < 4:
        return 0
    if policy == "auto":
        kept = [c.type for j, c in enumerate(n.carries()) if _stacking(n, j) is None]
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
    n: RegionNode, operands: Sequence[Value], which: Sequence[bool], active: list[bool], rule: Any = None
) -> Any:
    steps, count, lead = _most_steps(n), len(n.results), n.op.lead
    carries, captured = operands[:count], operands[count:]
    moving = [w and c.type.dtype.is_float for w, c in zip(which[count:], captured, strict=True)]
    body = n.regions[-1]
    differentiated = [*[False] * lead, *active, *moving]
    program, extra = _vjp_program(body, differentiated, active, rule)
    size = sum(active)
    # What gets no cotangent from an iteration needs no sum over them.
    cotangents = iter(program.outs[size:])
    moving = [m and next(cotangents).splat != 0.0 for m in moving]
    outs = [*program.outs[:size], *(o for o in program.outs[size:] if o.splat != 0.0)]
    program = Body(program.args, program.nodes, outs)
    # The backward loop reads each row of a stack's cotangent once, so that it need not carry it.
    fixed = chosen([_stacks_all(n, j) for j in range(count)], active)
    seen = set(program.outs).union(*[m.operands for m in program.nodes])
    taped = [j for j in range(count) if program.args[lead + j] in seen]

    def step(first: Sequence[Value], row: Value, now: list[Value]) -> list[Value]:
        tapes = [apply(PUT, (tape, now[j], row), (0,)) for tape, j in zip(now[count:], taped, strict=True)]
        return [*_primal(body, [*first, *now[:count], *captured], differentiated, rule), *tapes]

    blank = [zeros(t.with_shape((steps, *t.shape))) for t in (carries[j].type for j in taped)]
    outs, ran = _forward(n, [*carries, *blank], captured, step)
    outs, tapes = outs[:count], outs[count:]

    def pull(given: Sequence[Tangent]) -> list[Tangent]:
        seeds = filled(chosen(given, active), chosen(outs, active))

        def back(first: Sequence[Value], row: Value, now: list[Value]) -> list[Value]:
            stored = {j: apply(TAKE, (tape, row), (0,)) for j, tape in zip(taped, tapes, strict=True)}
            # Carries that are not taped are not read: their first values stand for them.
            values = [stored.get(j, carries[j]) for j in range(count)]
            here = iter(now)
            cotangents = [seed if f else next(here) for seed, f in zip(seeds, fixed, strict=True)]
            cts = run(program, [*first, *values, *captured, *cotangents, *extra])
            return [*(c for c, f in zip(cts, fixed, strict=False) if not f), *map(_accumulated, here, cts[size:])]

        moved = chosen(captured, moving)
        going = [seed for seed, f in zip(seeds, fixed, strict=True) if not f]
        cts = iter(_backward(n, [*going, *(zeros(x.type) for x in moved)], ran, back))
        carried = [zeros(seed.type) if f else next(cts) for seed, f in zip(seeds, fixed, strict=True)]
        return [*spread(carried, active), *spread(list(cts), moving)]

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
