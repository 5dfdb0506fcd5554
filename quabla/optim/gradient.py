"""Optimizers that follow the gradient: Adam, AdamW and SGD.

An optimizer is its settings. ``init`` and ``update`` are pure functions of parameters, gradients and state, so they may be
traced: jitted, mapped, differentiated and carried through loops. Moments and arithmetic are float64 whatever the
parameters' dtype; the new parameters are rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from quabla import dtypes, errors, tree
from quabla.array import Tensor, TensorView
from quabla.functions.creation import zeros_like
from quabla.ops import dispatch, elementwise
from quabla.ops.dispatch import Value, cast
from quabla.ops.eager import wrap
from quabla.ops.types import TensorType, tensor_type
from quabla.optim.clipping import clipped
from quabla.optim.packing import Packing
from quabla.optim.schedules import Schedule
from quabla.optim.settings import between, positive
from quabla.tracing.graph import build
from quabla.tracing.plan import Plan
from quabla.tracing.trace import array_leaf

__all__ = ["SGD", "Adam", "AdamW", "GradientOptimizer", "at_leaf", "float_leaves", "refuse_traced"]

SCALAR: Final = tensor_type((), dtypes.float64)
#: How many combinations of types an optimizer keeps plans for.
KEPT_PLANS: Final = 16
#: Updates are counted below this number, up to which float64 has all integers.
MOST_STEPS: Final = 2**53


def float_leaves(name: str, what: str, given: Any) -> tuple[list[Value], Any]:
    """The leaves of a pytree of parameters, and its structure.

    Raises:
        TypeError: for a leaf that is not a float array of quabla.
    """
    leaves, treedef = tree.flatten(given)
    for i, x in enumerate(leaves):
        if isinstance(x, TensorView):
            leaves[i] = x.to_tensor()
        elif (x.__class__ is not Tensor and not dispatch.is_value(x)) or not x.type.dtype.is_float:
            raise TypeError(
                f"{name}: {what} must be float arrays of quabla, got {_other(x)}{at_leaf(treedef, i)}"
                f"{errors.at_user_line()}. {_remedy(x)}"
            )
    return leaves, treedef


def _other(x: Any) -> str:
    """What was given in the place of a float array of quabla."""
    if dispatch.is_value(x):
        return str(x.type)
    if isinstance(x, np.ndarray):
        return f"a NumPy array of shape {x.shape} and dtype {x.dtype}"
    return f"{x!r} of type {type(x).__name__}"


def _remedy(x: Any) -> str:
    """What makes a float array of it."""
    if dispatch.is_value(x):
        return "Convert it with x.astype(quabla.float64)"
    if isinstance(x, (float, int)):
        return f"Make it an array with quabla.array({float(x)!r})"
    return "Make it an array with quabla.array(x)"


def refuse_traced(name: str, why: str, values: Iterable[Any]) -> None:
    """Check that what runs at once uses nothing that is traced.

    Args:
        name: what runs, for the message.
        why: what it does that needs values, for the message.
        values: what it uses.

    Raises:
        TracerError: for a traced value.
    """
    for x in values:
        if getattr(x, "traced", False):
            if x.ended:
                raise errors.TracerError(x.escaped(name))
            raise errors.TracerError(
                f"{name} cannot be part of a traced function: it {why}, and {x.described()}, has none while "
                f"tracing{errors.at_user_line()}. Call it outside the traced function"
            )


def at_leaf(treedef: Any, i: int) -> str:
    """Where a leaf stands, for a message."""
    path = "/".join(map(str, treedef.paths()[i]))
    return f" at {path}" if path else ""


@errors.hides_library_frames_in_methods
class GradientOptimizer:
    """What the optimizers share: checks, clipping, and updates of whole trees.

    A subclass names its ``moments``, which are trees like the parameters, computes from the number of the step the
    scalars that the formula takes, and gives the formula for one array.

    Attributes:
        learning_rate: a positive number, a rank-0 array or a schedule.
        clip_norm: the greatest global norm of the gradients, or None.
    """

    moments: ClassVar[tuple[str, ...]] = ()

    def __init__(self, learning_rate: Any, clip_norm: float | None) -> None:
        self._name: Final = type(self).__name__
        if dispatch.is_value(learning_rate) and learning_rate.traced:
            if learning_rate.type.shape != () or not learning_rate.type.dtype.is_float:
                raise ValueError(
                    f"{self._name}: learning_rate must be a number, got {learning_rate.type}{errors.at_user_line()}"
                )
            learning_rate = cast(learning_rate, dtypes.float64)
        elif not callable(learning_rate):
            learning_rate = positive(f"{self._name}: learning_rate", learning_rate)
        self.learning_rate: Final[Any] = learning_rate
        self.clip_norm: Final = None if clip_norm is None else positive(f"{self._name}: clip_norm", clip_norm)
        self._plans: Final[dict[Any, tuple[Packing, Plan]]] = {}

    def settings(self) -> dict[str, Any]:
        """The settings by name."""
        found = {k: v for k, v in vars(self).items() if not k.startswith("_")}
        return {**{k: v for k, v in found.items() if k != "clip_norm"}, "clip_norm": self.clip_norm}

    def __repr__(self) -> str:
        return f"{self._name}({', '.join(f'{k}={v!r}' for k, v in self.settings().items())})"

    # ---- what a subclass gives --------------------------------------------------------------------

    def scalars(self, step: Any) -> tuple[Any, ...]:
        """The numbers that the formula takes, from the number of updates made before: the learning rate first."""
        return (self.rate(step),)

    def formula(
        self, scalars: Sequence[Value], p: Value, g: Value, moments: Sequence[Value]
    ) -> tuple[Value, list[Value]]:
        """The new value of one parameter and its new moments, all float64."""
        raise NotImplementedError

    # ---- state ------------------------------------------------------------------------------------

    @property
    def counts(self) -> bool:
        """Whether the state has the number of updates made."""
        return bool(self.moments) or callable(self.learning_rate)

    def rate(self, step: Any) -> Any:
        """The learning rate of the update after ``step`` others.

        Raises:
            ValueError: where a schedule gives a negative number or one that is not finite.
        """
        if not callable(self.learning_rate):
            return self.learning_rate
        value: Any = self.learning_rate(step)
        if dispatch.is_value(value):
            if value.type.shape != ():
                raise ValueError(
                    f"{self._name}: the schedule must give a number, got {value.type}{errors.at_user_line()}"
                )
            if value.traced:
                return value
        number = float(value)
        if not 0.0 <= number < math.inf:
            raise ValueError(
                f"{self._name}: the schedule gives the learning rate {number!r} at step {step}; it must be finite and "
                f"not negative{errors.at_user_line()}"
            )
        return number

    def init(self, params: Any) -> Any:
        """The state before the first update.

        Args:
            params: a pytree of float arrays.

        Returns:
            A dict with the number of updates made, ``step``, and trees of float64 zeros for the moments; None for SGD
            with a constant learning rate.

        Raises:
            TypeError: for leaves that are not float arrays.
        """
        leaves, treedef = float_leaves(f"{self._name}.init", "parameters", params)
        if not self.counts:
            return None
        state: dict[str, Any] = {"step": 0}
        for name in self.moments:
            state[name] = treedef.unflatten([zeros_like(p, dtypes.float64) for p in leaves])
        return state

    def update(self, params: Any, grads: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            params: a pytree of float arrays.
            grads: a tree of the same structure and shapes; a leaf's dtype may be the other float dtype.
            state: what ``init`` or the last update gave. In a compiled program or a loop its ``step`` is an array.

        Returns:
            The new parameters, of the same dtypes, and the new state.

        Raises:
            TypeError: parameters that are not float arrays.
            ValueError: gradients or state of another structure or other shapes, or a schedule's value that is
                negative or not finite.
        """
        name = f"{self._name}.update"
        leaves, treedef = float_leaves(name, "parameters", params)
        gradients = self._like(name, "gradients", grads, leaves, treedef)
        step, moments = self._state(name, state, leaves, treedef)
        scalars = self.scalars(cast(step, dtypes.float64) if dispatch.is_value(step) else step)
        if any(x.traced for x in (*leaves, *gradients, *moments, *filter(dispatch.is_value, scalars))):
            scalars = [x if dispatch.is_value(x) else dispatch.scalar(x, dtypes.float64) for x in scalars]
            outs = self.emit(scalars, leaves, gradients, moments)
        else:
            outs = self._run(scalars, leaves, gradients, moments)
        count = len(leaves)
        new = treedef.unflatten(outs[:count])
        if not self.counts:
            return new, None
        after = {"step": step + 1}
        for k, moment in enumerate(self.moments, 1):
            after[moment] = treedef.unflatten(outs[k * count : (k + 1) * count])
        return new, after

    def emit(
        self, scalars: Sequence[Value], params: Sequence[Value], grads: Sequence[Value], moments: Sequence[Value]
    ) -> list[Value]:
        """The new leaves of the parameters and of each moment in turn, from the old ones."""
        count = len(params)
        grads = [cast(g, dtypes.float64) for g in grads]
        if self.clip_norm is not None:
            grads, _ = clipped(grads, self.clip_norm)
        rows = [
            self.formula(scalars, cast(p, dtypes.float64), g, moments[i::count])
            for i, (p, g) in enumerate(zip(params, grads, strict=True))
        ]
        new = [cast(p, old.type.dtype) for (p, _), old in zip(rows, params, strict=True)]
        return [*new, *(row[1][k] for k in range(len(self.moments)) for row in rows)]

    def _run(
        self, scalars: Sequence[Any], params: Sequence[Value], grads: Sequence[Value], moments: Sequence[Value]
    ) -> list[Value]:
        """What ``emit`` gives, on eager arrays, by a plan that is kept for their types."""
        key = tuple([x.type for x in (*params, *grads)])
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= KEPT_PLANS:
                self._plans.clear()
            found = self._plans[key] = self._plan(len(scalars), key[: len(params)], key[len(params) :])
        packing, plan = found
        count = len(params)
        trees = [params, grads, *(moments[k : k + count] for k in range(0, len(moments), count or 1))]
        packed = [a for leaves in trees for a in packing.pack([x.data for x in leaves])]
        results = plan([*map(np.float64, scalars), *packed])
        count = len(packing.members)
        new = packing.unpack(results[:count])
        outs = [wrap(a, p.type) for a, p in zip(new, params, strict=True)]
        for k in range(1, 1 + len(self.moments)):
            arrays = packing.unpack(results[k * count : (k + 1) * count])
            outs += [wrap(a, p.type.with_dtype(dtypes.float64)) for a, p in zip(arrays, params, strict=True)]
        return outs

    def _plan(self, first: int, params: Sequence[TensorType], grads: Sequence[TensorType]) -> tuple[Packing, Plan]:
        """How leaves of these types are packed, and the plan of ``emit`` on the packed arrays."""
        kinds = [(p.dtype, g.dtype) for p, g in zip(params, grads, strict=True)]
        packing = Packing([p.shape for p in params], kinds)
        wide = [p.with_dtype(dtypes.float64) for p in params]
        rows = [packing.types(row) for row in (params, grads, *[wide] * len(self.moments))]
        count = len(packing.members)

        def run(*xs: Value) -> list[Value]:
            p, g, m = first, first + count, first + 2 * count
            return self.emit(xs[:p], xs[p:g], xs[g:m], xs[m:])

        return packing, Plan(build([*[SCALAR] * first, *(t for row in rows for t in row)], None, run))

    # ---- checks -----------------------------------------------------------------------------------

    def _like(self, name: str, what: str, given: Any, params: Sequence[Value], treedef: Any) -> list[Value]:
        """The leaves of a tree that has the structure and shapes of the parameters.

        Raises:
            ValueError: where it has not, or a leaf is not a float array.
        """
        leaves, found = tree.flatten(given)
        if found != treedef:
            raise ValueError(
                f"{name}: {what} must have the structure of the parameters, {treedef}, got {found}"
                f"{errors.at_user_line()}"
            )
        for i, (x, p) in enumerate(zip(leaves, params, strict=True)):
            if x.__class__ is Tensor and x.type is p.type:
                continue
            x = leaves[i] = dispatch.as_value(array_leaf(x))
            if x.type.shape != p.type.shape or not x.type.dtype.is_float:
                raise ValueError(
                    f"{name}: {what}{at_leaf(treedef, i)} must be like the parameter, {p.type}, got {x.type}"
                    f"{errors.at_user_line()}"
                )
        return leaves

    def _state(self, name: str, state: Any, params: Sequence[Value], treedef: Any) -> tuple[Any, list[Value]]:
        """The number of updates made and the moments' leaves.

        Raises:
            ValueError: for a state that ``init`` would not make.
        """
        if not self.counts:
            if state is not None:
                raise ValueError(
                    f"{name}: with a constant learning rate the state must be None, got {state!r}"
                    f"{errors.at_user_line()}"
                )
            return 0, []
        wanted = {"step", *self.moments}
        if not isinstance(state, dict) or set(state) != wanted:
            got = sorted(map(str, state)) if isinstance(state, dict) else type(state).__name__
            raise ValueError(
                f"{name}: the state must be a dict with {', '.join(sorted(wanted))}, as init makes it, got {got}"
                f"{errors.at_user_line()}"
            )
        step = state["step"]
        if dispatch.is_value(step):
            if step.type.shape != ():
                raise ValueError(f"{name}: the state's step must be a number, got {step.type}{errors.at_user_line()}")
        elif isinstance(step, bool) or not isinstance(step, (int, float, np.number)) or not step >= 0:
            raise ValueError(
                f"{name}: the state's step must be the number of updates made, got {step!r}{errors.at_user_line()}"
            )
        elif step >= MOST_STEPS:
            raise ValueError(f"{name}: the state's step must be less than 2**53{errors.at_user_line()}")
        moments: list[Value] = []
        for moment in self.moments:
            leaves = self._like(name, f"the state's {moment}", state[moment], params, treedef)
            moments += leaves
        moments = [cast(x, dtypes.float64) for x in moments]
        return step, moments


class SGD(GradientOptimizer):
    """Gradient descent: ``p - learning_rate * g``.

    Args:
        learning_rate: a positive number, a schedule, or a traced scalar.
        clip_norm: gradients are first scaled down to this global norm; see ``clip_by_global_norm``.

    Its state is None with a constant learning rate, else ``{"step": n}``.

    Raises:
        ValueError: a learning rate or norm that is not positive and finite.

    Example:
        >>> sgd = qb.optim.SGD(0.1)
        >>> sgd.update(qb.array([1.0, 2.0]), qb.array([1.0, 1.0]), sgd.init(qb.array([1.0, 2.0])))
        (Tensor([0.9, 1.9], dtype=float64), None)
    """

    def __init__(self, learning_rate: float | Schedule = 1e-2, *, clip_norm: float | None = None) -> None:
        super().__init__(learning_rate, clip_norm)

    def formula(
        self, scalars: Sequence[Value], p: Value, g: Value, moments: Sequence[Value]
    ) -> tuple[Value, list[Value]]:
        return p - scalars[0] * g, []


@errors.hides_library_frames_in_methods
class Adam(GradientOptimizer):
    """Adam (Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015).

    Args:
        learning_rate: a positive number, a schedule, or a traced scalar.
        b1, b2: the decay of the running means of gradients and of their squares.
        eps: added to the root of the second.
        beta1, beta2, epsilon: other spellings of the same, which take precedence.
        clip_norm: gradients are first scaled down to this global norm; see ``clip_by_global_norm``.

    Its state is ``{"step": n, "m": ..., "v": ...}`` with float64 moments. At a second moment of 0 the derivative of its
    root is 0, so an update can be differentiated everywhere.

    Raises:
        ValueError: a learning rate, ``eps`` or norm that is not positive and finite, or a decay outside [0, 1).

    Example:
        >>> adam = qb.optim.Adam(0.1)
        >>> params = qb.array([1.0, -2.0])
        >>> state = adam.init(params)
        >>> params, state = adam.update(params, qb.array([0.5, 4.0]), state)
        >>> params, state["step"]
        (Tensor([ 0.9, -2.1], dtype=float64), 1)
    """

    moments = ("m", "v")

    def __init__(
        self,
        learning_rate: float | Schedule = 1e-3,
        b1: float = 0.9,
        b2: float = 0.999,
        eps: float = 1e-8,
        *,
        beta1: float | None = None,
        beta2: float | None = None,
        epsilon: float | None = None,
        clip_norm: float | None = None,
    ) -> None:
        super().__init__(learning_rate, clip_norm)
        self.b1: Final = between(f"{self._name}: b1", b1 if beta1 is None else beta1, 0.0, 1.0)
        self.b2: Final = between(f"{self._name}: b2", b2 if beta2 is None else beta2, 0.0, 1.0)
        self.eps: Final = positive(f"{self._name}: eps", eps if epsilon is None else epsilon)
        self._stepped: Any = None

    def scalars(self, step: Any) -> tuple[Any, ...]:
        t = step + 1
        if dispatch.is_value(t):
            return self.rate(step), 1.0 - elementwise.power(self.b1, t), 1.0 - elementwise.power(self.b2, t)
        return self.rate(step), 1.0 - self.b1**t, 1.0 - self.b2**t

    def formula(
        self, scalars: Sequence[Value], p: Value, g: Value, moments: Sequence[Value]
    ) -> tuple[Value, list[Value]]:
        rate, correction1, correction2 = scalars
        m = self.b1 * moments[0] + (1.0 - self.b1) * g
        v = self.b2 * moments[1] + (1.0 - self.b2) * (g * g)
        direction = self.direction(p, (m / correction1) / (elementwise.sqrt(v / correction2) + self.eps))
        return p - rate * direction, [m, v]

    def direction(self, p: Value, adapted: Value) -> Value:
        """What the learning rate scales."""
        return adapted

    def step(self, params: Any, grads: Any) -> Any:
        """One step with the state kept in this object; ``update`` is the pure function of it.

        Raises:
            TypeError, ValueError: as ``update``.

        Example:
            >>> qb.optim.Adam(0.1).step(qb.array([1.0]), qb.array([2.0]))
            Tensor([0.9], dtype=float64)
        """
        if self._stepped is None:
            self._stepped = self.init(params)
        params, self._stepped = self.update(params, grads, self._stepped)
        return params


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019).

    The learning rate scales ``weight_decay * p`` too, which every leaf gets.

    Args:
        learning_rate: a positive number, a schedule, or a traced scalar.
        b1, b2: the decay of the running means of gradients and of their squares.
        eps: added to the root of the second.
        weight_decay: a number that is not negative.
        clip_norm: gradients are first scaled down to this global norm; see ``clip_by_global_norm``.

    Raises:
        ValueError: as Adam, or a weight decay that is negative or not finite.

    Example:
        >>> adamw = qb.optim.AdamW(0.1, weight_decay=0.5)
        >>> params = qb.array([2.0])
        >>> adamw.update(params, qb.array([1.0]), adamw.init(params))[0]
        Tensor([1.8], dtype=float64)
    """

    def __init__(
        self,
        learning_rate: float | Schedule = 1e-3,
        b1: float = 0.9,
        b2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: float = 1e-4,
        *,
        clip_norm: float | None = None,
    ) -> None:
        super().__init__(learning_rate, b1, b2, eps, clip_norm=clip_norm)
        self.weight_decay: Final = between("AdamW: weight_decay", weight_decay, 0.0, math.inf)

    def direction(self, p: Value, adapted: Value) -> Value:
        return adapted + self.weight_decay * p
