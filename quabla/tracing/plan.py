"""The NumPy plan: a finished graph as a list of kernel calls.

The plan is the reference engine and the one that answers first: it is made straight from nodes in about a
microsecond each and runs the same kernels as eager execution, so it gives the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from quabla.ops.blas import MOST
from quabla.ops.casting import CONSTANT
from quabla.ops.linalg import MATMUL
from quabla.tracing.graph import Body, Graph, TraceTensor

__all__ = ["Plan"]

#: Buffers of at least this many elements are dropped, or written over, at their last use.
LARGE: Final = 512

#: BLAS computes products of more multiplications with several threads.
LARGE_PRODUCT: Final = MOST

Step = tuple[Any, tuple[int, ...], int, tuple[int, ...]]


class Plan:
    """Runs a graph op by op with NumPy.

    Args:
        graph: a finished graph.

    Attributes:
        op_count: the number of kernels that a call runs.
        bytes_moved: the bytes that a call's large kernels read and write.
        large_products: the number of matrix products large enough for BLAS to hand to several threads.
    """

    name: str = "numpy"

    def __init__(self, graph: Graph) -> None:
        body = graph.body()
        self._slots: dict[TraceTensor, int] = {}
        self._initial: list[Any] = []
        self._inputs: Final = [self._slot(a) for a in body.args]
        self.bytes_moved = 0
        self.large_products = 0
        self._steps: Final = self._compile(body)
        self._outputs: Final = [self._slot(o) for o in body.outs]
        self.op_count: Final = len(self._steps)
        self._dtypes: Final = [o.type.dtype.numpy for o in body.outs]
        del self._slots

    def _slot(self, key: TraceTensor) -> int:
        i = self._slots.get(key)
        if i is None:
            i = self._slots[key] = len(self._initial)
            self._initial.append(None)
        return i

    def _compile(self, body: Body) -> list[Step]:
        nodes = body.nodes
        last: dict[TraceTensor, int] = {}
        pinned = set(body.outs)
        for i, n in enumerate(nodes):
            aliases = n.op.may_alias
            for k in n.operands:
                last[k] = i
                if aliases:  # a view may outlive this use
                    pinned.add(k)
        steps: list[Step] = []
        for i, n in enumerate(nodes):
            op, out = n.op, self._slot(n)
            if op is CONSTANT:
                self._initial[out] = n.params[0].array
                continue
            kernel = op.kernel_for(tuple([k.type for k in n.operands]), n.params)
            slots = tuple([self._slots[k] for k in n.operands])
            size = n.type.size
            drop: tuple[int, ...] = ()
            if op is MATMUL and size * n.operands[0].type.shape[-1] > LARGE_PRODUCT:
                self.large_products += 1
            if size >= LARGE:
                self.bytes_moved += (len(slots) + 1) * size * n.type.dtype.numpy.itemsize
            dying = {
                k
                for k in n.operands
                if k.type.size >= LARGE and last[k] == i and k not in pinned and k.op is not CONSTANT
            }
            if dying:
                dying = {k for k in dying if not k.op.may_alias}
                if isinstance(kernel, np.ufunc):
                    for k in dying:
                        if k.type is n.type:
                            slots = (*slots, self._slots[k])
                            break
                drop = tuple([self._slots[k] for k in dying])
            steps.append((kernel, slots, out, drop))
        return steps

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """The results for these input arrays, which are not written to."""
        v = self._initial.copy()
        for i, a in zip(self._inputs, arrays, strict=True):
            v[i] = a
        with np.errstate(all="ignore"):
            for kernel, slots, out, drop in self._steps:
                n = len(slots)
                if n == 2:
                    i, j = slots
                    v[out] = kernel(v[i], v[j])
                elif n == 1:
                    v[out] = kernel(v[slots[0]])
                else:
                    v[out] = kernel(*[v[i] for i in slots])
                for i in drop:
                    v[i] = None
        return [v[i] for i in self._outputs]
