"""``jacobian`` and ``hessian``: whole derivative blocks, by mapping a product over a basis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quabla.ops import dispatch
from quabla.ops.eager import wrap
from quabla.ops.rules import zeros
from quabla.ops.shaping import BROADCAST, RESHAPE, TRANSPOSE
from quabla.ops.types import TensorType
from quabla.tracing.graph import Body, Graph, TraceTensor, current_graph
from quabla.tracing.trace import Arguments, Output, nested, trace
from quabla.transforms import batching, forward, reverse
from quabla.transforms.autodiff import Grad, check_argnums, differentiable_args
from quabla.transforms.staging import Transformed

__all__ = ["Hessian", "Jacobian", "hessian", "jacobian"]


class Jacobian(Transformed):
    """A function of ``fun``'s arguments that returns derivative blocks of shape ``[*out, *in]``."""

    __slots__ = ("_argnums", "_single")

    transform = "jacobian"
    #: "reverse", "forward", or None for whichever costs fewer products.
    mode: str | None = None

    def __init__(self, fun: Callable[..., Any], argnums: int | Sequence[int]) -> None:
        self._argnums = check_argnums(self.transform, argnums)
        self._single = not isinstance(argnums, Sequence)
        super().__init__(fun)

    def prepare(self, args: tuple[Any, ...]) -> Sequence[Any]:
        return differentiable_args(self.transform, args, self._argnums)[0]

    def emit(self, args: Sequence[Any]) -> Any:
        args, positions = differentiable_args(self.transform, args, self._argnums)
        flat = Arguments(args, self)
        traced = trace(self._fun, flat)
        body, env, nodes = nested(traced, flat)
        chosen = [nodes[k] for i in positions for k in flat.spans[i]]
        wrt = [n for n in chosen if n is not None and n.type.dtype.is_float]
        outs = [o for o in body.outs if o.type.dtype.is_float]
        if self._forward_pays(body, wrt, outs):
            blocks = _forward_blocks(body, env, wrt)
        else:
            blocks = _reverse_blocks(body, env, wrt)

        def block(leaf: Any, node: TraceTensor | None) -> Any:
            if node is None or node not in wrt:
                return None
            if leaf.__class__ is not Output:
                return zeros(_block_type(leaf.type, node.type)) if dispatch.is_value(leaf) else None
            out = body.outs[leaf.index]
            found = blocks.get((leaf.index, node))
            return zeros(_block_type(out.type, node.type)) if found is None else found

        def of_output(leaf: Any) -> Any:
            parts = [flat.rebuild_one(i, [block(leaf, nodes[k]) for k in flat.spans[i]]) for i in positions]
            return parts[0] if self._single else tuple(parts)

        leaves = [of_output(x) for x in traced.result.leaves]
        return leaves[0] if traced.result.treedef is None else traced.result.treedef.unflatten(leaves)

    def _forward_pays(self, body: Body, wrt: Sequence[TraceTensor], outs: Sequence[TraceTensor]) -> bool:
        if self.mode is not None:
            return self.mode == "forward"
        from quabla.transforms.call_rules import reverse_only  # most programs have no such rules

        if reverse_only(body):
            return False
        if any(x.type.dtype is not o.type.dtype for x in wrt for o in outs):
            return True  # a tangent keeps the result's precision, a cotangent would be rounded to the argument's
        return sum(o.type.size for o in outs) >= sum(x.type.size for x in wrt)


def _block_type(out: TensorType, argument: TensorType) -> TensorType:
    dtype = out.dtype if out.dtype.is_float else argument.dtype
    return out.with_shape((*out.shape, *argument.shape)).with_dtype(dtype)


Blocks = dict[tuple[int, TraceTensor], Any]


def _along_basis(make: Callable[[Any], list[Any]], seed: TensorType) -> tuple[list[Any], list[bool]]:
    """Map an emitter over the unit tensors of a type; results carry the basis axis first where they depend on it."""
    into = current_graph()
    one = Graph([seed])
    with one:
        made = make(one.args[0])
        present = [x for x in made if x is not None]
        one.finish(present)
    body = one.body()
    values = [into.lift(x) for x in (_unit_tensors(seed), *one.captures)]
    outs, mapped = batching.vmap(body, dict(zip(body.args, values, strict=True)), {body.args[0]})
    found, flags = iter(outs), iter(mapped)
    return [None if x is None else next(found) for x in made], [False if x is None else next(flags) for x in made]


def _unit_tensors(type: TensorType) -> Any:
    """The unit tensors of a type, stacked along a new first axis."""
    units = np.eye(type.size, dtype=type.dtype.numpy).reshape(type.size, *type.shape)
    return wrap(units, type.with_shape(units.shape))


def _spread(x: Any, mapped: bool, size: int) -> Any:
    return x if mapped else dispatch.apply(BROADCAST, (x,), ((size, *x.type.shape),))


def _reverse_blocks(body: Any, env: dict[TraceTensor, Any], wrt: Sequence[TraceTensor]) -> Blocks:
    """One product for each element of each result."""
    blocks: Blocks = {}
    outs, pullback = reverse.vjp(body, env, set(wrt))
    for i, out in enumerate(outs):
        if not out.type.dtype.is_float:
            continue

        def products(ct: Any, i: int = i) -> list[Any]:
            seeds = [None] * len(outs)
            seeds[i] = ct
            cts = pullback(seeds)
            return [cts.get(x) for x in wrt]

        rows, mapped = _along_basis(products, out.type)
        for x, row, m in zip(wrt, rows, mapped, strict=True):
            if row is not None:
                row = _spread(row, m, out.type.size)
                blocks[i, x] = dispatch.apply(RESHAPE, (row,), ((*out.type.shape, *x.type.shape),))
    return blocks


def _forward_blocks(body: Any, env: dict[TraceTensor, Any], wrt: Sequence[TraceTensor]) -> Blocks:
    """One product for each element of each argument."""
    blocks: Blocks = {}
    for x in wrt:

        def products(t: Any, x: TraceTensor = x) -> list[Any]:
            return forward.jvp(body, dict(env), {x: t})[1]

        columns, mapped = _along_basis(products, x.type)
        for i, (out, column, m) in enumerate(zip(body.outs, columns, mapped, strict=True)):
            if column is not None and out.type.dtype.is_float:
                column = _spread(column, m, x.type.size)
                axes = (*range(1, column.type.ndim), 0)
                column = dispatch.apply(TRANSPOSE, (column,), (axes,))
                blocks[i, x] = dispatch.apply(RESHAPE, (column,), ((*out.type.shape, *x.type.shape),))
    return blocks


class _ForwardJacobian(Jacobian):
    __slots__ = ()
    mode = "forward"


class Hessian(Transformed):
    """A function of ``fun``'s arguments that returns blocks of second derivatives, forward over reverse."""

    __slots__ = ("_jacobian",)

    transform = "hessian"

    def __init__(self, fun: Callable[..., Any], argnums: int | Sequence[int]) -> None:
        nums = check_argnums(self.transform, argnums)
        super().__init__(fun)
        which = nums if isinstance(argnums, Sequence) else nums[0]
        self._jacobian = _ForwardJacobian(Grad(fun, which, False), which)

    def prepare(self, args: tuple[Any, ...]) -> Sequence[Any]:
        return self._jacobian.prepare(args)

    def emit(self, args: Sequence[Any]) -> Any:
        return self._jacobian.emit(args)


def jacobian(fun: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Any:
    """The Jacobian of a function, by whichever of forward and reverse mode needs fewer products.

    Args:
        fun: a function of arrays and pytrees that returns arrays or pytrees of them.
        argnums: which positional arguments to differentiate; an int, or a sequence for a tuple of Jacobians.

    Returns:
        A function that returns, in the structure of the result, the structure of the arguments with blocks of shape
        ``[*out, *in]`` in the result's dtype. Bool arguments get None; results that do not depend on an
        argument get zeros.

    Raises:
        ValueError: argnums out of range or repeated.
        TypeError: if ``fun`` cannot be called or argnums is not made of ints.

    Example:
        >>> import quabla as qb
        >>> qb.jacobian(lambda x: x * x)(qb.array([1.0, 2.0]))
        Tensor([[2., 0.],
                [0., 4.]], dtype=float64)
    """
    return Jacobian(fun, argnums)


def hessian(fun: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Any:
    """The matrix of second derivatives of a scalar function, forward over reverse.

    Args:
        fun: a function whose result is a rank-0 float array.
        argnums: which positional arguments to differentiate twice.

    Returns:
        A function that returns blocks of shape ``[*in, *in]``, nested like the arguments: for a dict argument
        ``h["a"]["b"]`` is the derivative of the gradient in ``a`` with respect to ``b``.

    Raises:
        ValueError: if the result is not a rank-0 float array, or argnums is out of range.

    Example:
        >>> import quabla as qb
        >>> qb.hessian(lambda x: qb.sum(x**3))(qb.array([1.0, 2.0]))
        Tensor([[ 6.,  0.],
                [ 0., 12.]], dtype=float64)
    """
    return Hessian(fun, argnums)
