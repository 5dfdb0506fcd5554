"""Small arrays side by side in one, so that an elementwise formula runs once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import Any, Final

import numpy as np

from quabla.ops.types import TensorType, tensor_type

__all__ = ["Packing"]

#: Arrays of at most this many elements are packed: the calls of kernels on them cost more than their elements.
SMALL: Final = 8192


class Packing:
    """Which arrays of a list are packed together.

    Args:
        shapes: the shapes of the arrays.
        kinds: arrays of the same kind may be packed together.

    Attributes:
        members: for each array of the packed list, the positions of the arrays in it.
    """

    __slots__ = ("_count", "_parts", "_sizes", "members")

    def __init__(self, shapes: Sequence[tuple[int, ...]], kinds: Sequence[Any]) -> None:
        sizes = [prod(s) for s in shapes]
        groups: dict[Any, list[int]] = {}
        for i, (size, kind) in enumerate(zip(sizes, kinds, strict=True)):
            groups.setdefault((kind, i if size > SMALL else None), []).append(i)
        self.members: Final = list(groups.values())
        self._count: Final = len(sizes)
        self._sizes: Final = [sum(sizes[i] for i in m) for m in self.members]
        ends = [accumulate([sizes[i] for i in m]) for m in self.members]
        self._parts: Final = [
            [(i, end - sizes[i], end, shapes[i]) for i, end in zip(m, to, strict=True)]
            for m, to in zip(self.members, ends, strict=True)
        ]

    def types(self, types: Sequence[TensorType]) -> list[TensorType]:
        """The types of the packed list."""
        return [
            types[m[0]] if len(m) == 1 else tensor_type((size,), types[m[0]].dtype)
            for m, size in zip(self.members, self._sizes, strict=True)
        ]

    def pack(self, arrays: Sequence[Any]) -> list[Any]:
        """The packed list."""
        return [arrays[m[0]] if len(m) == 1 else np.concatenate([arrays[i].ravel() for i in m]) for m in self.members]

    def unpack(self, packed: Sequence[Any]) -> list[Any]:
        """The arrays of a packed list, as views."""
        arrays: list[Any] = [None] * self._count
        for whole, parts in zip(packed, self._parts, strict=True):
            if len(parts) == 1:
                arrays[parts[0][0]] = whole
                continue
            for i, start, end, shape in parts:
                arrays[i] = whole[start:end].reshape(shape)
        return arrays
