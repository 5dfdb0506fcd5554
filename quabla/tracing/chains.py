"""Runs of elementwise ops on large arrays, block by block.

One op after another would carry every intermediate array through memory. A chain runs all of its ops on a block that
stays in the cache, then on the next; what nothing after the chain reads never becomes an array. Each element goes
through the same kernels either way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np

from quabla.ops.into import Into
from quabla.tracing.graph import TraceTensor

__all__ = ["LEAST", "Chain", "Link", "fits"]

#: Arrays of at least this many elements are worth cutting into blocks.
LEAST: Final = 1 << 15
#: The elements of a block: a few arrays of them fit into a level-two cache.
BLOCK: Final = 1 << 13


class Link(NamedTuple):
    """One op of a chain."""

    node: TraceTensor
    kernel: Callable[..., Any]
    into: Into | None


def fits(n: TraceTensor) -> bool:
    """Whether a node can be part of a chain: elementwise and large, and its result can be cut into blocks."""
    return n.op.elementwise and n.type.size >= LEAST and _axis(n.type.shape, n.type.size) is not None


def _axis(shape: tuple[int, ...], size: int) -> int | None:
    """The first axis along which a slice of one is no larger than a block."""
    return next((k for k, extent in enumerate(shape) if size <= extent * BLOCK), None)


class Chain:
    """Runs some elementwise ops, whose results have one shape, over the slots of a plan.

    Args:
        links: the ops in order.
        slots: where the plan keeps values.
        kept: the results that something after the chain reads.
        dropped: the operands from outside that nothing after the chain reads; a result may take the place of one.
        into: for kept results that have an array of their own, its slot.
        keeps: the blocks of memory stay from call to call, which therefore may not overlap.
    """

    def __init__(
        self,
        links: Sequence[Link],
        slots: dict[TraceTensor, int],
        kept: set[TraceTensor],
        dropped: set[TraceTensor],
        into: Mapping[TraceTensor, int] = MappingProxyType({}),
        *,
        keeps: bool = False,
    ) -> None:
        first = links[0].node.type
        axis = _axis(first.shape, first.size)
        assert axis is not None
        extent = first.shape[axis]
        rows = max(1, BLOCK * extent // first.size)
        made = {link.node for link in links}
        inputs = list(dict.fromkeys(k for link in links for k in link.node.operands if k not in made))
        places = {k: i for i, k in enumerate([*inputs, *(link.node for link in links)])}
        self._inputs: Final = [(slots[k], _cuts(k.type.shape, first.ndim, axis, extent)) for k in inputs]
        homes = {n: slots[k] for n, k in _homes(links, kept - into.keys(), dropped).items()} | dict(into)
        results = [link.node for link in links if link.node in kept]
        self._results: Final = [(slots[n], places[n], n.type.dtype.numpy, homes.get(n)) for n in results]
        self._shape: Final = first.shape
        self._axis: Final = axis
        self._starts: Final = range(0, extent, rows)
        self._block: Final = (*first.shape[:axis], rows, *first.shape[axis + 1 :])
        self._whole: Final = extent - extent % rows
        self._dropped: Final = tuple([slots[k] for k in dropped])
        registers = _registers(links, kept)
        self._scratch: Final = registers.dtypes
        self._kept: Final = self._blocks() if keeps else None
        self._program: Final = [
            (
                link.kernel if link.into is None else link.into.run,
                tuple([places[k] for k in link.node.operands]),
                places[link.node],
                register,
                scratch,
            )
            for link, (register, scratch) in zip(links, registers.of, strict=True)
        ]

    def _blocks(self) -> list[Any]:
        return [np.empty(self._block, dtype) for dtype in self._scratch]

    def __call__(self, v: list[Any]) -> None:
        """Run over the slots."""
        values = [v[slot] for slot, _ in self._inputs]
        results = [
            (slot, place, np.empty(self._shape, dtype) if home is None else v[home])
            for slot, place, dtype, home in self._results
        ]
        scratch = self._kept or self._blocks()
        cuts = [axis for _, axis in self._inputs]
        lead = (slice(None),) * self._axis
        rows = self._starts.step
        program = self._program
        frame: list[Any] = [*values, *[None] * len(program)]
        outs: list[Any] = [None] * len(frame)
        for start in self._starts:
            here = slice(start, start + rows)
            for i, axis in enumerate(cuts):
                if axis is not None:
                    frame[i] = values[i][(slice(None),) * axis + (here,)]
            for _, place, array in results:
                outs[place] = array[(*lead, here)]
            if start == self._whole:
                rest = (*lead, slice(0, len(range(start, self._starts.stop))))
                scratch = [a[rest] for a in scratch]
            for kernel, operands, place, register, needs in program:
                xs = [frame[i] for i in operands]
                target = outs[place]
                if register is None:
                    made = kernel(*xs)
                    if target is not None:
                        target[...] = made
                    frame[place] = made
                else:
                    target = scratch[register] if target is None else target
                    frame[place] = kernel(*xs, *[scratch[r] for r in needs], target)
        for slot in self._dropped:
            v[slot] = None
        for slot, _, array in results:
            v[slot] = array


def _homes(links: Sequence[Link], kept: set[TraceTensor], dropped: set[TraceTensor]) -> dict[TraceTensor, TraceTensor]:
    """For results that are kept, an operand of the same type that is not read after them and that they write over."""
    last = {k: i for i, link in enumerate(links) for k in link.node.operands}
    free = list(dropped)
    homes: dict[TraceTensor, TraceTensor] = {}
    for i, (n, _, into) in enumerate(links):
        home = next((k for k in free if k.type is n.type and last[k] <= i), None) if n in kept else None
        if home is not None and (last[home] < i or (into is not None and into.over)):
            free.remove(home)
            homes[n] = home
    return homes


def _cuts(shape: tuple[int, ...], rank: int, axis: int, extent: int) -> int | None:
    """Which axis of an operand is cut; None where it goes whole with every block, because it broadcasts there."""
    own = axis - (rank - len(shape))
    return own if own >= 0 and shape[own] == extent and extent > 1 else None


class _Registers(NamedTuple):
    dtypes: list[Any]
    of: list[tuple[int | None, tuple[int, ...]]]


def _registers(links: Sequence[Link], kept: set[TraceTensor]) -> _Registers:
    """Blocks of memory for what the ops make, each used again after the last use of what it holds.

    For each op the block that it writes to, and those that it needs beside. What a kernel makes that does not write
    where it is told is an array of its own, and has None here. A result that is kept is written to its own array.
    """
    last = {k: i for i, link in enumerate(links) for k in link.node.operands}
    dtypes: list[Any] = []
    free: list[int] = []
    holds: dict[TraceTensor, int] = {}
    of: list[tuple[int | None, tuple[int, ...]]] = []

    def take(dtype: Any) -> int:
        register = next((r for r in free if dtypes[r] == dtype), None)
        if register is None:
            dtypes.append(dtype)
            return len(dtypes) - 1
        free.remove(register)
        return register

    for i, (n, _, into) in enumerate(links):

        def release(n: TraceTensor = n, i: int = i) -> None:
            free.extend(holds.pop(k) for k in set(n.operands) if k in holds and last[k] == i)

        register = None
        scratch: tuple[int, ...] = ()
        if into is not None:
            if into.over:
                release()
            scratch = tuple([take(t.dtype.numpy) for t in into.scratch])
            register = -1
            if n not in kept:
                register = holds[n] = take(n.type.dtype.numpy)
            free.extend(scratch)
        of.append((register, scratch))
        release()
    return _Registers(dtypes, of)
