"""``vmap``: a function of single examples applied to a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from quabla import errors, tree
from quabla.ops import dispatch
from quabla.ops.rules import move_mapped_first, with_mapped_axis
from quabla.ops.shaping import TRANSPOSE
from quabla.tracing.trace import Arguments, Output, input_names, nested, trace
from quabla.transforms import batching
from quabla.transforms.staging import Transformed

__all__ = ["Vmap", "vmap"]


class Vmap(Transformed):
    """A function of batches that applies ``fun`` to every example."""

    __slots__ = ("_in_axes", "_out_axes")

    transform = "vmap"

    def __init__(self, fun: Callable[..., Any], in_axes: Any, out_axes: Any) -> None:
        if isinstance(in_axes, list):
            in_axes = tuple(in_axes)
        if in_axes is not None and not isinstance(in_axes, (int, np.integer, tuple)):
            raise ValueError(
                f"vmap: in_axes must be an int, None or a tuple with one entry for each argument, got {in_axes!r}; "
                "wrap the axes of a single pytree argument in a 1-tuple"
            )
        self._in_axes = in_axes
        self._out_axes = out_axes
        super().__init__(fun)

    def _axes(self, flat: Arguments) -> list[int | None]:
        """The mapped axis of every leaf; None where there is none."""
        spec = self._in_axes
        count = len(flat.spans)
        if not isinstance(spec, tuple):
            spec = (spec,) * count
        elif len(spec) != count:
            raise ValueError(f"{self!r}: in_axes has {len(spec)} entries, but the function got {count} arguments")
        axes: list[int | None] = []
        for i, s in enumerate(spec):
            span = flat.spans[i]
            try:
                axes.extend(prefix_leaves(s, flat.rebuild_one(i, [flat.leaves[k] for k in span]), len(span)))
            except ValueError as e:
                raise ValueError(f"{self!r}: in_axes[{i}]: {e}") from None
        return axes

    def emit(self, args: Sequence[Any]) -> Any:
        flat = Arguments(args, self)
        axes = [self._leaf_axis(x, a) for x, a in zip(flat.leaves, self._axes(flat), strict=True)]
        size = self._size(flat, axes)
        leaves = [x if a is None else move_mapped_first(x, a) for x, a in zip(flat.leaves, axes, strict=True)]
        batches = flat.replaced(leaves)
        examples = flat.replaced([x if a is None else Example(x) for x, a in zip(leaves, axes, strict=True)])
        traced = trace(self._fun, examples)
        body, env, nodes = nested(traced, batches)
        mapped = {n for n, a in zip(nodes, axes, strict=True) if n is not None and a is not None}
        outs, which = batching.vmap(body, env, mapped)
        result = traced.result
        try:
            # The results themselves show the structure: a class may refuse stand-ins for its arrays.
            out_axes = prefix_leaves(self._out_axes, result.rebuild(outs), len(result.leaves))
        except ValueError as e:
            raise ValueError(f"{self!r}: out_axes: {e}") from None
        finished: list[Any] = []
        for leaf, axis in zip(result.leaves, out_axes, strict=True):
            if leaf.__class__ is Output:
                finished.append(self._place(outs[leaf.index], which[leaf.index], axis, size))
            elif dispatch.is_value(leaf) or isinstance(leaf, (int, float)):
                finished.append(leaf if axis is None else self._place(dispatch.as_value(leaf), False, axis, size))
            else:
                finished.append(leaf)
        return finished[0] if result.treedef is None else result.treedef.unflatten(finished)

    def _leaf_axis(self, x: Any, axis: int | None) -> int | None:
        """A leaf's mapped axis, checked and non-negative."""
        if axis is None:
            return None
        if isinstance(x, (int, float)):
            raise ValueError(
                f"{self!r}: cannot map over the number {x}; give it the axis None in in_axes, or make an array of a "
                "list of numbers"
            )
        if x.type.ndim == 0:
            raise ValueError(
                f"{self!r}: cannot map over {x.type}, of rank 0; give it the axis None in in_axes"
                f"{_KEYS if x.type.dtype.is_int else ''}"
            )
        if not -x.type.ndim <= axis < x.type.ndim:
            raise ValueError(f"{self!r}: axis {axis} is out of range for {x.type}{errors.at_user_line()}")
        return axis % x.type.ndim

    def _size(self, flat: Arguments, axes: Sequence[int | None]) -> int:
        """The size of the mapped axes, on which all must agree."""
        sizes = [None if a is None else x.type.shape[a] for x, a in zip(flat.leaves, axes, strict=True)]
        found = {n for n in sizes if n is not None}
        if not found:
            raise ValueError(f"{self!r}: nothing is mapped: every axis in in_axes is None, or there are no arrays")
        if len(found) > 1:
            arrays = [n for n, x in zip(sizes, flat.leaves, strict=True) if not isinstance(x, (int, float))]
            names = input_names(self._fun, flat, range(len(flat.spans)))
            told = [f"{name} has {n}" for name, n in zip(names, arrays, strict=True) if n is not None]
            raise ValueError(
                f"{self!r}: mapped axes have different sizes: {', '.join(told[:8])}{', ...' if told[8:] else ''}"
                f"{errors.at_user_line()}"
            )
        return found.pop()

    def _place(self, x: Any, mapped: bool, axis: int | None, size: int) -> Any:
        """A result with the mapped axis where out_axes wants it."""
        if axis is None:
            if mapped:
                raise ValueError(f"{self!r}: out_axes is None for a result that depends on a mapped argument")
            return x
        weak = x.weak
        x = with_mapped_axis(x, mapped, size)
        rank: int = x.type.ndim
        if not -rank <= axis < rank:
            raise ValueError(f"{self!r}: out_axes {axis} is out of range for a result of rank {rank}")
        axis %= rank
        if axis:
            x = dispatch.apply(TRANSPOSE, (x,), ((*range(1, axis + 1), 0, *range(axis + 1, rank)),))
        return dispatch.weakly(x, weak)


#: What to say where a single key may have been mapped.
_KEYS: Final = ". Keys to map over are made by quabla.random.keys; split returns a tuple of single ones"


class Example:
    """Stands for one example of a batch while its function is traced: the batch's type without the first axis."""

    __slots__ = ("type", "weak")

    traced = True

    def __init__(self, batch: Any) -> None:
        self.type = batch.type.with_shape(batch.type.shape[1:])
        self.weak = batch.weak


def prefix_leaves(spec: Any, full: Any, count: int) -> list[int | None]:
    """An axis for each of the ``count`` leaves of ``full`` from a pytree prefix of ints and Nones.

    Raises:
        ValueError: where the prefix does not fit or holds anything else.
    """
    if spec is None or (isinstance(spec, (int, np.integer)) and not isinstance(spec, bool)):
        return [spec if spec is None else int(spec)] * count
    if isinstance(spec, (tuple, list)) and full.__class__ in (tuple, list):
        if len(spec) != len(full):
            raise ValueError(f"has {len(spec)} entries for {len(full)}")
        return [a for s, x in zip(spec, full, strict=True) for a in prefix_leaves(s, x, len(tree.flatten(x)[0]))]
    if isinstance(spec, dict) and isinstance(full, dict):
        if spec.keys() != full.keys():
            raise ValueError(f"has keys {sorted(map(str, spec))} for {sorted(map(str, full))}")
        return [a for k in sorted(full) for a in prefix_leaves(spec[k], full[k], len(tree.flatten(full[k])[0]))]
    raise ValueError(f"must be ints, None or a prefix of the structure, got {spec!r}")


def vmap(fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Any:
    """Apply a function of single examples to a batch at once.

    Args:
        fun: a function of arrays and pytrees.
        in_axes: which axis of each argument is mapped: an int for all, or a tuple with an int, None (not mapped) or
            a pytree prefix of those for each argument. Negative axes count from the end.
        out_axes: where the mapped axis goes in the results, in the same way; None for results that do not
            depend on a mapped argument.

    Returns:
        A function of batches. Constant results are repeated along the mapped axis.

    Raises:
        ValueError: nothing mapped, mapped extents that differ, an axis out of range, a number or rank-0 array that
            is mapped, axes whose structure does not fit, or ``out_axes`` None for a mapped result.

    Example:
        >>> import quabla as qb
        >>> qb.vmap(lambda a, b: a * b, in_axes=(0, None))(qb.array([1.0, 2.0]), qb.array(3.0))
        Tensor([3., 6.], dtype=float64)
    """
    return Vmap(fun, in_axes, out_axes)
