"""The user's differential equation as a function of one array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quabla import errors, tree
from quabla.array import TensorView
from quabla.dtypes import dtype, float64
from quabla.ops import dispatch
from quabla.ops.dispatch import Value, apply, cast
from quabla.ops.shaping import BROADCAST, RESHAPE, concat
from quabla.ops.types import TensorType, tensor_type
from quabla.tracing.graph import Body, Graph, current_graph
from quabla.tracing.trace import array_leaf
from quabla.transforms.inline import inline

__all__ = ["Evaluate", "Function", "State", "System", "emitted"]


#: The leaves of a state, the time and the arrays among the further arguments to the leaves of the derivative.
Evaluate = Callable[[Sequence[Value], Value, Sequence[Value]], list[Value]]


class State:
    """The pytree of a state and how it is packed: one array as it is, several as one vector.

    Attributes:
        treedef: the structure of the pytree.
        types: the types of its leaves.
        dtype: that of all leaves.
        type: the type of the packed state.
    """

    __slots__ = ("dtype", "treedef", "type", "types")

    def __init__(self, y0: Any, *, vector: bool) -> None:
        """Find out what the states of an equation look like.

        Args:
            y0: the first state.
            vector: pack a single array as a vector too.

        Raises:
            TypeError: leaves that are not arrays.
            ValueError: bool leaves, leaves of different dtypes, or none at all.
        """
        leaves, self.treedef = tree.flatten_args(y0)
        values = [array_leaf(x) for x in leaves]
        if not values:
            raise ValueError(f"odeint: y0 has no arrays: {self.treedef}{errors.at_user_line()}")
        arrays = [x for x in values if dispatch.is_value(x)]
        for x in arrays:
            if not x.type.dtype.is_float:
                raise ValueError(f"odeint: y0 must be made of float arrays, got {x.type}{errors.at_user_line()}")
        kinds = list(dict.fromkeys(x.type.dtype for x in arrays if not x.weak)) or [float64]
        if len(kinds) > 1:
            raise ValueError(
                f"odeint: y0 mixes {' and '.join(map(str, kinds))}; convert its arrays to one dtype with astype"
                f"{errors.at_user_line()}"
            )
        self.dtype: dtype = kinds[0]
        self.types = [tensor_type(x.type.shape if dispatch.is_value(x) else (), self.dtype) for x in values]
        single = len(values) == 1 and not vector
        self.type: TensorType = self.types[0] if single else tensor_type((sum(t.size for t in self.types),), self.dtype)

    @property
    def scalar(self) -> TensorType:
        """The type of times and step sizes."""
        return tensor_type((), self.dtype)

    def pack(self, leaves: Sequence[Value]) -> Value:
        """Leaves of the right types as the state."""
        if len(leaves) == 1:
            return _reshaped(leaves[0], self.type.shape)
        return concat([_reshaped(x, (x.type.size,)) for x in leaves], 0)

    def unpack(self, y: Value) -> list[Value]:
        """The leaves of the state, or of states along leading axes."""
        lead = y.type.shape[: y.type.ndim - self.type.ndim]
        if len(self.types) == 1:
            return [_reshaped(y, (*lead, *self.types[0].shape))]
        leaves, start = [], 0
        for t in self.types:
            leaves.append(_reshaped(y[..., start : start + t.size], (*lead, *t.shape)))
            start += t.size
        return leaves

    def rebuild(self, y: Value) -> Any:
        """The pytree of the state, or of states along leading axes."""
        return self.treedef.unflatten(self.unpack(y))

    def result(self, value: Any, f: Callable[..., Any]) -> list[Value]:
        """What the user's function returned as leaves of the right types.

        Raises:
            TypeError: another structure, or leaves that are not arrays.
            ValueError: shapes that do not broadcast to the state's, or another dtype.
        """
        leaves, treedef = tree.flatten(value)
        if treedef != self.treedef:
            hint = ""
            if self.treedef.num_leaves == 1 and len(leaves) > 1:
                hint = "; quabla.array makes one array of a list"
            elif len(leaves) == 1 and all(t.ndim == 0 for t in self.types):
                hint = "; a list that holds arrays is a pytree: give quabla.array(y0) for a state of one array"
            raise TypeError(
                f"odeint: f must return the structure of y0, {self.treedef}, got {treedef}{hint}{at_function(f)}"
            )
        out = []
        for x, t in zip(leaves, self.types, strict=True):
            if not dispatch.is_value(x) and not isinstance(x, (int, float, np.ndarray, np.generic, TensorView)):
                raise TypeError(f"odeint: f must return arrays, got {x!r} of type {type(x).__name__}{at_function(f)}")
            v = dispatch.as_value(array_leaf(x))
            if v.type.dtype is not self.dtype and v.type.dtype.is_float and not (v.weak or not dispatch.is_value(x)):
                raise ValueError(
                    f"odeint: f returns {v.type} where the state is {t}; convert with astype{at_function(f)}"
                )
            v = cast(v, self.dtype)
            shape = v.type.shape
            if shape != t.shape:
                if len(shape) > t.ndim or any(
                    n not in (1, m) for n, m in zip(reversed(shape), reversed(t.shape), strict=False)
                ):
                    raise ValueError(
                        f"odeint: f returns {v.type}, which does not broadcast to the state, {t}{at_function(f)}"
                    )
                v = apply(BROADCAST, (v,), (t.shape,))
            out.append(v)
        return out


def _reshaped(x: Value, shape: Sequence[int]) -> Value:
    return x if x.type.shape == tuple(shape) else apply(RESHAPE, (x,), (tuple(shape),))


def at_function(f: Any) -> str:
    """The line where the user's function is defined, as the tail of a message."""
    code = getattr(f, "__code__", None)
    if code is None or errors.is_library_file(code.co_filename):
        return errors.at_user_line()
    return errors.at((code.co_filename, code.co_firstlineno))


class Function:
    """The user's function, traced once.

    Attributes:
        body: over the leaves of a state, the time, the arrays among the further arguments, and what it captures.
        captured: the values of the last of these around it.

    Raises:
        TracerError: for a function that needs the values of its arguments.
    """

    __slots__ = ("body", "captured")

    def __init__(self, evaluate: Evaluate, state: State, arrays: Sequence[Value]) -> None:
        graph = Graph([*state.types, state.scalar, *(x.type for x in arrays)])
        count = len(state.types)
        with graph:
            given = graph.args[count + 1 :]
            for v, x in zip(given, arrays, strict=True):
                v.weak = x.weak
            graph.finish(evaluate(graph.args[:count], graph.args[count], given))
        self.body = graph.body()
        self.captured = list(graph.captures)

    def __call__(self, leaves: Sequence[Value], t: Value, arrays: Sequence[Value]) -> list[Value]:
        """Emit it; ``arrays`` are followed by what is captured."""
        return emitted(self.body, leaves, t, arrays)


def emitted(body: Body, leaves: Sequence[Value], t: Value, arrays: Sequence[Value]) -> list[Value]:
    """Emit a traced function; ``arrays`` are followed by what is captured."""
    lift = current_graph().lift
    return inline(body, dict(zip(body.args, map(lift, (*leaves, t, *arrays)), strict=True)))


class System:
    """``y' = f(y, t, ...)`` for packed states.

    Attributes:
        state: what the states look like.
    """

    __slots__ = ("_arrays", "_evaluate", "state")

    def __init__(self, state: State, evaluate: Evaluate, arrays: Sequence[Value]) -> None:
        self.state = state
        self._evaluate = evaluate
        self._arrays = arrays

    def __call__(self, y: Value, t: Value) -> Value:
        """The derivative of the packed state ``y`` at time ``t``."""
        state = self.state
        return state.pack(self._evaluate(state.unpack(y), t, self._arrays))
