"""``grad`` and ``value_and_grad``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from quabla import errors, tree
from quabla.ops import dispatch
from quabla.ops.rules import ones, zeros
from quabla.tracing.graph import TraceTensor
from quabla.tracing.trace import Arguments, array_leaf, nested, trace
from quabla.transforms import reverse
from quabla.transforms.staging import Transformed, shown
from quabla.transforms.wrapper import static_positions

__all__ = ["Grad", "ValueAndGrad", "check_argnums", "differentiable_args", "grad", "tree_of_arrays", "value_and_grad"]


def check_argnums(transform: str, argnums: int | Sequence[int]) -> tuple[int, ...]:
    """``argnums`` as a tuple.

    Raises:
        TypeError: for anything but ints.
    """
    nums = static_positions(f"{transform}: argnums", argnums)
    if not nums:
        raise ValueError(f"{transform}: argnums must name at least one argument")
    return nums


def differentiable_args(transform: str, args: Sequence[Any], argnums: tuple[int, ...]) -> tuple[list[Any], list[int]]:
    """The arguments with Python numbers in differentiated positions as float64 arrays, and those positions.

    Raises:
        ValueError: argnums out of range or repeated.
        TypeError: a differentiated leaf that is not an array or a number.
    """
    out = list(args)
    positions = []
    for i in argnums:
        k = i + len(args) if i < 0 else i
        if not 0 <= k < len(args):
            raise ValueError(f"{transform}: argnums {i} is out of range for {len(args)} positional arguments")
        if k in positions:
            raise ValueError(f"{transform}: argnums {argnums} name an argument twice")
        positions.append(k)
        out[k] = tree_of_arrays(args[k], transform)
    return out, positions


def tree_of_arrays(x: Any, owner: object) -> Any:
    """An argument of ``owner``, a pytree, with every leaf an array; Python numbers become float64 (bool: bool_) arrays.

    Raises:
        TypeError: for leaves that are neither.
    """
    if dispatch.is_value(x):
        return x
    if isinstance(x, (int, float)):
        return dispatch.hooks.eager.asarray(x)
    leaves, treedef = tree.flatten_args(x, owner)
    return treedef.unflatten([_as_array(leaf, owner) for leaf in leaves])


def _as_array(x: Any, owner: object) -> Any:
    x = array_leaf(x, owner=owner)
    return dispatch.hooks.eager.asarray(x) if isinstance(x, (int, float)) else x


class ValueAndGrad(Transformed):
    """A function of ``fun``'s arguments that returns its value and gradients."""

    __slots__ = ("_argnums", "_has_aux", "_single")

    transform = "value_and_grad"

    def __init__(self, fun: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool) -> None:
        self._argnums = check_argnums(self.transform, argnums)
        self._single = not isinstance(argnums, Sequence)
        self._has_aux = bool(has_aux)
        super().__init__(fun)

    def prepare(self, args: tuple[Any, ...]) -> Sequence[Any]:
        return differentiable_args(self.transform, args, self._argnums)[0]

    def _value(self, result: Any) -> tuple[Any, Any]:
        """Check what the function returned; its value and auxiliary result."""
        aux = None
        if self._has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(
                    f"{self!r}: with has_aux=True the function must return a pair (value, aux), got {shown(result)}"
                )
            result, aux = result
        if result.__class__ is not TraceTensor:
            kind = ValueError if dispatch.is_value(result) or isinstance(result, (int, float)) else TypeError
            what = "a constant that does not depend on the arguments" if kind is ValueError else shown(result)
            advice = (
                "; has_aux=True takes a pair (value, aux)" if isinstance(result, tuple) and not self._has_aux else ""
            )
            raise kind(f"{self!r}: the function must return a rank-0 float array, got {what}{advice}")
        if result.type.shape != () or not result.type.dtype.is_float:
            raise ValueError(
                f"{self!r}: the function must return a rank-0 float array, got {result.type}"
                f"{errors.at(result.location) or errors.at_user_line()}; reduce it with sum or mean, or use jacobian"
            )
        return result, aux

    def emit(self, args: Sequence[Any]) -> Any:
        args, positions = differentiable_args(self.transform, args, self._argnums)
        flat = Arguments(args, self)
        traced = trace(self._fun, flat, lambda built: self._value(self._fun(*built)))
        body, env, nodes = nested(traced, flat)
        chosen = [nodes[k] for i in positions for k in flat.spans[i]]
        outs, pullback = reverse.vjp(body, env, {n for n in chosen if n is not None and n.type.dtype.is_float})
        cts = pullback([ones(outs[0].type), *[None] * (len(outs) - 1)])
        grads = []
        for i in positions:
            leaves: list[Any] = []
            for k in flat.spans[i]:
                node = nodes[k]
                if node is None or not node.type.dtype.is_float:
                    leaves.append(None)
                else:
                    leaves.append(cts[node] if node in cts else zeros(node.type))
            grads.append(flat.rebuild_one(i, leaves))
        value, aux = traced.result.rebuild(outs)
        return self._packed(value, aux, grads[0] if self._single else tuple(grads))

    def _packed(self, value: Any, aux: Any, grads: Any) -> Any:
        return ((value, aux) if self._has_aux else value), grads


class Grad(ValueAndGrad):
    """A function of ``fun``'s arguments that returns its gradients."""

    __slots__ = ()

    transform = "grad"

    def _packed(self, value: Any, aux: Any, grads: Any) -> Any:
        return (grads, aux) if self._has_aux else grads


def grad(fun: Callable[..., Any] | None = None, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Any:
    """The gradient of a scalar function, by reverse mode.

    Args:
        fun: a function whose result is a rank-0 float array; with ``has_aux`` a pair of that and anything.
            Without it ``grad`` is a decorator: ``@qb.grad(argnums=1)``.
        argnums: which positional arguments to differentiate; an int (negative counts from the end) gives the
            gradient itself, a sequence a tuple.
        has_aux: whether ``fun`` also returns an auxiliary result, which is passed through.

    Returns:
        A function of ``fun``'s arguments. Gradients have the structure, shapes and dtypes of the arguments; Python
        numbers count as float64 arrays and bool leaves get None.

    Raises:
        ValueError: if the result is not a rank-0 float array that depends on the trace, or argnums is out of range.
        TypeError: if ``fun`` cannot be called or argnums is not made of ints.

    Example:
        >>> import quabla as qb
        >>> qb.grad(lambda x: x**3)(2.0)
        Tensor(12., dtype=float64)
    """
    if fun is None:
        return lambda f: Grad(f, argnums, has_aux)
    return Grad(fun, argnums, has_aux)


def value_and_grad(
    fun: Callable[..., Any] | None = None, argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Any:
    """The value of a scalar function and its gradient; see ``grad`` for the arguments.

    Returns:
        A function that returns ``(value, gradients)``, or ``((value, aux), gradients)`` with ``has_aux``.

    Example:
        >>> import quabla as qb
        >>> qb.value_and_grad(lambda x: x * x)(3.0)
        (Tensor(9., dtype=float64), Tensor(6., dtype=float64))
    """
    if fun is None:
        return lambda f: ValueAndGrad(f, argnums, has_aux)
    return ValueAndGrad(fun, argnums, has_aux)
