"""The NumPy plan: a finished graph as a list of kernel calls.

The plan is the reference engine and the one that answers first: it is made straight from nodes in about a
microsecond each and runs the same kernels as eager execution, so it gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from quabla.ops.blas import MOST
from quabla.ops.casting import CONSTANT
from quabla.ops.control import WRITERS
from quabla.ops.into import Into, copied
from quabla.ops.linalg import MATMUL
from quabla.ops.silence import silent
from quabla.tracing.chains import Chain, Link, fits
from quabla.tracing.graph import CALL, COND, FORI, WHILE, Body, Graph, RegionNode, TraceTensor
from quabla.tracing.loops import PythonLoop, writable_carries
from quabla.tracing.scalars import fused, number_kernel

__all__ = ["Plan"]

#: Buffers of at least this many elements are dropped, or written over, at their last use.
LARGE: Final = 512

#: How many values of a loop's counter are made at a time.
COUNTERS: Final = 4096

#: How often a while loop is taken to run where a cost is estimated.
GUESSED_TRIPS: Final = 100
#: The same for one around other loops, which mostly runs a whole method a few times.
GUESSED_RUNS: Final = 3

#: BLAS computes products of more multiplications with several threads.
LARGE_PRODUCT: Final = MOST

Step = tuple[Any, tuple[int, ...], int, tuple[int, ...]]


class Plan:
    """Runs a graph op by op with NumPy.

    Args:
        program: a finished graph, or a closed body.
        donated: the arguments that ``put`` may write to.

    Attributes:
        op_count: the number of kernels that a call runs.
        static_ops: the number of kernels that are written down, those of a loop's body once.
        trips: the number of iterations that a call's loops run.
        elements: how many elements a call's large elementwise kernels compute, by op.
        traffic: the bytes of the arguments and results.
        large_products: the number of matrix products large enough for BLAS to hand to several threads.
        inputs: the slots of the arguments.
        steps: what a call runs.
        outputs: the slots of the results.
    """

    name: str = "numpy"
    #: Arrays of at least this many elements are written into ones that are there.
    least: float = np.inf

    def __init__(self, program: Graph | Body, donated: Sequence[int] = ()) -> None:
        body = program.body() if isinstance(program, Graph) else program
        self._slots: dict[TraceTensor, int] = {}
        self._initial: list[Any] = []
        self.inputs: Final = [self._slot(a) for a in body.args]
        self.op_count = 0
        self.static_ops = 0
        self.trips = 0
        self.elements: Final[dict[str, float]] = {}
        self.traffic: Final = sum(k.type.size * k.type.dtype.numpy.itemsize for k in (*body.args, *body.outs))
        self.large_products = 0
        self.steps: Final = self._compile(body, {body.args[i] for i in donated})
        self.outputs: Final = [self._slot(o) for o in body.outs]
        del self._slots

    def _slot(self, key: TraceTensor) -> int:
        i = self._slots.get(key)
        if i is None:
            i = self._slots[key] = len(self._initial)
            self._initial.append(None)
        return i

    def _compile(self, body: Body, donated: set[TraceTensor]) -> list[Step]:
        nodes = body.nodes
        last: dict[TraceTensor, int] = {}
        pinned = set(body.outs)
        for i, n in enumerate(nodes):
            aliases = isinstance(n, RegionNode) or n.op.may_alias
            for k in n.operands:
                last[k] = i
                if aliases:  # a view may outlive this use
                    pinned.add(k)
        steps: list[Step] = []
        combined, inside = fused(body)
        least = min(LARGE, self.least)
        run: list[tuple[Link, Step]] = []  # elementwise ops in a row
        for i, n in enumerate(nodes):
            if run and (isinstance(n, RegionNode) or not (n.op is CONSTANT or _continues(run[0][0].node, n))):
                steps.extend(self._chained(run, i, last, pinned))
                run = []
            if isinstance(n, RegionNode):
                steps.append(self._region(n))
                continue
            if n in inside:
                continue
            op, out = n.op, self._slot(n)
            if op is CONSTANT:
                self._initial[out] = n.params[0].array[()]  # of rank 0: a number
                continue
            self.op_count += 1
            self.static_ops += 1
            if n in combined:
                kernel, operands = combined[n]
                steps.append((kernel, tuple([self._slots[k] for k in operands]), out, ()))
                continue
            types = tuple([k.type for k in n.operands])
            writer = WRITERS[op](n.params, types) if op in WRITERS else None
            if writer is not None and n.operands[0] in donated:
                kernel, in_place = writer, True
            else:
                kernel, in_place = number_kernel(op.kernel_for(types, n.params), n), False
            slots = tuple([self._slots[k] for k in n.operands])
            size = n.type.size
            drop: tuple[int, ...] = ()
            if op is MATMUL and size * n.operands[0].type.shape[-1] > LARGE_PRODUCT:
                self.large_products += 1
            if size >= LARGE and op.elementwise:
                self.elements[op.name] = self.elements.get(op.name, 0.0) + size
            if size < least and all(t.size < least for t in types):
                steps.append((kernel, slots, out, drop))
                continue
            dying = {
                k
                for k in n.operands
                if k.type.size >= least and last[k] == i and k not in pinned and k.op is not CONSTANT
            }
            if dying:
                dying = {k for k in dying if not k.op.may_alias}
                drop = tuple([self._slots[k] for k in dying])
            chains = fits(n)
            into = None
            if not in_place and (dying or size >= self.least or chains):
                into = copied(writer) if writer is not None else op.into_for(types, n.params)
            alone = kernel
            if into is not None:
                targets = self._targets(n, dying, into)
                if targets:
                    slots = (*slots, *targets)
                    alone = into.run
            if chains:
                run.append((Link(n, kernel, into), (alone, slots, out, drop)))
            else:
                steps.append((alone, slots, out, drop))
        steps.extend(self._chained(run, len(nodes), last, pinned))
        return steps

    def _chained(
        self,
        run: Sequence[tuple[Link, Step]],
        end: int,
        last: dict[TraceTensor, int],
        pinned: set[TraceTensor],
    ) -> list[Step]:
        """Elementwise ops in a row as one step, where that saves an array."""
        links = [link for link, _ in run]
        kept = {link.node for link in links if link.node in pinned or last.get(link.node, -1) >= end}
        saves = len(kept) < len(links) > 1 or any(link.into and len(link.into.scratch) > 1 for link in links)
        if not links or not (saves or self.least < np.inf):
            return [step for _, step in run]
        gone = {s for _, (_, _, _, drop) in run for s in drop}
        made = {link.node for link in links}
        dropped = {k for link in links for k in link.node.operands if k not in made and self._slots[k] in gone}
        return [(self._chain(links, kept, dropped), (), -1, ())]

    def _chain(self, links: Sequence[Link], kept: set[TraceTensor], dropped: set[TraceTensor]) -> Chain:
        """A chain; ``kept`` and ``dropped`` are what it has of its results and what it is the last to read."""
        return Chain(links, self._slots, kept, dropped)

    def _targets(self, n: TraceTensor, dying: set[TraceTensor], into: Into) -> tuple[int, ...]:
        """The slots of the scratch arrays, and of the array that a kernel writes the result of ``n`` to.

        Args:
            n: the node.
            dying: operands whose arrays nothing reads after it.
            into: how its kernel writes into an array.

        Returns:
            Nothing for a new array.
        """
        for k in dying:
            if into.over and k.type is n.type:
                return (self._slots[k],)
        return ()

    def _region(self, n: RegionNode) -> Step:
        """The step that runs an op with regions: it reads and writes slots itself."""
        slots = [self._slots[k] for k in n.operands]
        runner = RUNNERS[n.op](n, self)
        results = [self._slot(r) for r in n.results]

        def step(v: list[Any]) -> None:
            for r, x in zip(results, runner([v[i] for i in slots]), strict=True):
                v[r] = x

        return step, (), -1, ()

    def absorb(self, part: Plan, times: float) -> None:
        """Count a region's work."""
        self.op_count += int(part.op_count * times)
        self.static_ops += part.static_ops
        self.trips += int(part.trips * times)
        for name, count in part.elements.items():
            self.elements[name] = self.elements.get(name, 0.0) + count * times
        self.large_products += int(part.large_products * times)

    def frame(self, values: Sequence[Any], first: int = 0) -> list[Any]:
        """Slots in which the arguments from ``first`` on have values."""
        v = self._initial.copy()
        for i, x in zip(self.inputs[first:], values, strict=True):
            v[i] = x
        return v

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """The results; called with NumPy's warnings off."""
        v = self.frame(arguments)
        execute(self.steps, v)
        return [v[i] for i in self.outputs]

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """The results for these input arrays, which are not written to."""
        return silent().run(self.run, arrays)


def _continues(n: TraceTensor, after: TraceTensor) -> bool:
    """Whether an op can be in a chain with one before it."""
    return fits(after) and after.type.shape == n.type.shape


def execute(steps: Sequence[Step], v: list[Any]) -> None:
    """Run steps over slots."""
    for kernel, slots, out, drop in steps:
        n = len(slots)
        if n == 2:
            i, j = slots
            v[out] = kernel(v[i], v[j])
        elif n == 1:
            v[out] = kernel(v[slots[0]])
        elif n:
            v[out] = kernel(*[v[i] for i in slots])
        else:
            kernel(v)
        for i in drop:
            v[i] = None


# ---- regions ------------------------------------------------------------------------------------

Runner = Callable[[list[Any]], list[Any]]


def moves(sources: Sequence[int], targets: Sequence[int]) -> Callable[[list[Any]], None] | None:
    """What copies slots to others at once; None where there is nothing to copy."""
    pairs = [(s, t) for s, t in zip(sources, targets, strict=True) if s != t]
    if not pairs:
        return None
    if len(pairs) == 1:
        ((source, target),) = pairs

        def move(v: list[Any]) -> None:
            v[target] = v[source]

        return move
    goes = {t for _, t in pairs}
    if any(s in goes for s, _ in pairs):

        def exchange(v: list[Any]) -> None:
            values = [v[s] for s, _ in pairs]
            for (_, t), x in zip(pairs, values, strict=True):
                v[t] = x

        return exchange

    def copy(v: list[Any]) -> None:
        for s, t in pairs:
            v[t] = v[s]

    return copy


def counters(lower: int, upper: int) -> Iterator[Any]:
    """The values of a loop's counter, converted a block at a time."""
    for start in range(lower, upper, COUNTERS):
        yield from np.arange(start, min(start + COUNTERS, upper), dtype=np.float64)


def _fori_runner(n: RegionNode, plan: Plan) -> Runner:
    count = len(n.results)
    (body,) = n.regions
    writable = writable_carries(body, 1, count)
    part = Plan(body, [1 + k for k in writable])
    lower, upper = n.params
    plan.absorb(part, upper - lower)
    plan.trips += upper - lower
    steps, outputs = part.steps, part.outputs
    counter, *carried = part.inputs[: 1 + count]
    advance = moves(outputs, carried)
    used = any(body.args[0] in m.operands for m in body.nodes) or body.args[0] in body.outs
    python = PythonLoop(n)

    def run(operands: list[Any]) -> list[Any]:
        if python.function is not None:
            return python.function(operands, lower)
        wait = python.wait
        for k in writable:
            operands[k] = np.array(operands[k])
        v = part.frame(operands, 1)
        for done, i in enumerate(counters(lower, upper) if used else range(lower, upper)):
            if done == wait:
                return python.written()([*(v[i] for i in carried), *operands[count:]], lower + done)
            v[counter] = i
            execute(steps, v)
            if advance is not None:
                advance(v)
        python.wait = max(wait - (upper - lower), 0)
        return [v[i] for i in carried]

    return run


def _while_runner(n: RegionNode, plan: Plan) -> Runner:
    count = len(n.results)
    test, body = n.regions
    writable = writable_carries(body, 0, count)
    tested, part = Plan(test), Plan(body, writable)
    trips = GUESSED_RUNS if part.trips else GUESSED_TRIPS
    if n.params[0] is not None:
        trips = min(trips, n.params[0])
    plan.absorb(tested, trips)
    plan.absorb(part, trips)
    plan.trips += trips
    steps, outputs, carried = part.steps, part.outputs, part.inputs[:count]
    advance = moves(outputs, carried)
    # What the test reads of the carries.
    read = [
        (s, t)
        for s, t, a in zip(carried, tested.inputs, test.args, strict=False)
        if a in test.outs or any(a in m.operands for m in test.nodes)
    ]
    (going,) = tested.outputs
    python = PythonLoop(n)

    def run(operands: list[Any]) -> list[Any]:
        if python.function is not None:
            return python.function(operands, None)
        wait = python.wait
        for k in writable:
            operands[k] = np.array(operands[k])
        u, v = tested.frame(operands), part.frame(operands)
        execute(tested.steps, u)
        done = 0
        while u[going]:
            if done == wait:
                return python.written()([*(v[i] for i in carried), *operands[count:]], None)
            done += 1
            execute(steps, v)
            if advance is not None:
                advance(v)
            for s, t in read:
                u[t] = v[s]
            execute(tested.steps, u)
        python.wait = max(wait - done, 0)
        return [v[i] for i in carried]

    return run


def _cond_runner(n: RegionNode, plan: Plan) -> Runner:
    on_true, on_false = map(Plan, n.regions)
    plan.absorb(on_true, 0.5)
    plan.absorb(on_false, 0.5)

    def run(operands: list[Any]) -> list[Any]:
        part = on_true if operands[0] else on_false
        return part.run(operands[1:])

    def run_lanes(operands: list[Any]) -> list[Any]:
        pred, *values = operands
        pairs = zip(*(part.run(values) for part in (on_true, on_false)), strict=True)
        return [np.where(np.reshape(pred, pred.shape + (1,) * (a.ndim - pred.ndim)), a, b) for a, b in pairs]

    return run_lanes if n.params[0] else run


def _call_runner(n: RegionNode, plan: Plan) -> Runner:
    part = Plan(n.regions[0])
    plan.absorb(part, 1.0)
    return part.run


RUNNERS: Final = {CALL: _call_runner, COND: _cond_runner, FORI: _fori_runner, WHILE: _while_runner}
