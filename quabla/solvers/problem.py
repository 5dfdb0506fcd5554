"""What the solvers share: unknowns as vectors, functions of them as graphs, checks, and the call itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from quabla import dtypes, errors, tree
from quabla.array import TensorView
from quabla.ops import dispatch
from quabla.ops.arguments import static_int
from quabla.ops.dispatch import Value, apply, cast, float_operand, scalar
from quabla.ops.elementwise import abs as magnitude, maximum, minimum, sqrt
from quabla.ops.linalg import matmul
from quabla.ops.reductions import max as largest, sum as total
from quabla.ops.shaping import CONCAT, RESHAPE, reshape
from quabla.tracing.graph import Body, Graph
from quabla.tracing.trace import Arguments, array_leaf
from quabla.transforms.implicit import with_common_captures
from quabla.transforms.programs import run_cached
from quabla.transforms.wrapper import check_callable

__all__ = [
    "KEPT",
    "Outcome",
    "Unknown",
    "arguments",
    "count",
    "dot",
    "longest",
    "norm",
    "positive_int",
    "solved",
    "tolerance",
]

#: How many residual norms, the last ones, a solver's message tells.
KEPT: Final = 4


class Unknown:
    """The unknown of a solver, a pytree of float arrays, as one vector.

    The vector has the widest dtype of the leaves.

    Args:
        name: how messages call the solver.
        what: how they call the value.
        value: an array, or a pytree of arrays. A list of numbers is an array, as elsewhere.
    """

    __slots__ = ("_dtype", "_name", "_treedef", "_types", "_what", "vector")

    def __init__(self, name: str, what: str, value: Any) -> None:
        leaves, self._treedef = _flatten(value)
        if not leaves:
            raise ValueError(f"{name}: {what} holds no arrays, got {value!r}{errors.at_user_line()}")
        values = [_float_leaf(name, what, x) for x in leaves]
        self._name = name
        self._what = what
        self._types = [x.type for x in values]
        self._dtype = next((t.dtype for t in self._types if t.dtype is dtypes.float64), self._types[0].dtype)
        self.vector = self._joined(values)

    def _joined(self, leaves: Sequence[Value]) -> Value:
        parts = [cast(apply(RESHAPE, (x,), ((x.type.size,),)), self._dtype) for x in leaves]
        return parts[0] if len(parts) == 1 else apply(CONCAT, tuple(parts), (0,))

    def rebuild(self, vector: Value) -> Any:
        """The pytree whose leaves a vector holds."""
        leaves, start = [], 0
        for t in self._types:
            part = vector if len(self._types) == 1 else vector[start : start + t.size]
            leaves.append(cast(apply(RESHAPE, (part,), (t.shape,)), t.dtype))
            start += t.size
        return leaves[0] if self._treedef is None else self._treedef.unflatten(leaves)

    def like(self, what: str, value: Any) -> Value:
        """The vector of another value of the same structure, shapes and dtypes; numbers take the dtype.

        Raises:
            ValueError: where they differ.
        """
        leaves, treedef = _flatten(value)
        if treedef != self._treedef:
            hint = ""
            if treedef is None and all(t.ndim == 0 for t in self._types):
                hint = "; a list that holds arrays is a pytree, of which quabla.array makes one array"
            raise ValueError(
                f"{self._name}: {what} has the structure {_structure(treedef)} where {self._what} has "
                f"{_structure(self._treedef)}{hint}{errors.at_user_line()}"
            )
        values = []
        for x, t in zip(leaves, self._types, strict=True):
            weak = isinstance(x, (int, float)) or getattr(x, "weak", False)
            v = _float_leaf(self._name, what, x)
            if v.type.shape != t.shape or (v.type.dtype is not t.dtype and not weak):
                raise ValueError(f"{self._name}: {what} is {v.type} where {self._what} is {t}{errors.at_user_line()}")
            values.append(cast(v, t.dtype))
        return self._joined(values)

    def function(self, what: str, fun: Callable[..., Any], args: Arguments) -> Graph:
        """``fun(x, *args)`` as a graph of the vector and the arrays among the arguments, to a vector.

        What else it uses it captures; numbers and small arrays are constants of it.
        """
        check_callable(fun, f"{self._name}: {what}")
        arrays = arrays_of(args)
        graph = Graph([self.vector.type, *(x.type for x in arrays)])
        with graph:
            x, *values = graph.args
            for v, given in zip(values, arrays, strict=True):
                v.weak = given.weak
            rest = iter(values)
            built = args.rebuild([a if isinstance(a, (int, float)) else next(rest) for a in args.leaves])
            return graph.finish([self.like(f"the result of {what}", fun(self.rebuild(x), *built))])


def _float_leaf(name: str, what: str, x: Any) -> Value:
    """A leaf as a float array; integers become float64.

    Raises:
        TypeError: for what is no array.
        ValueError: for a bool array.
    """
    if not (dispatch.is_value(x) or isinstance(x, (int, float, np.ndarray, np.generic, TensorView))):
        raise TypeError(f"{name}: {what} must be arrays, got {x!r} of type {type(x).__name__}{errors.at_user_line()}")
    v = array_leaf(x)
    if dispatch.is_value(v) and v.type.dtype.is_int:
        return cast(v, dtypes.float64)
    return float_operand(f"{name}: {what}", v)


def _flatten(value: Any) -> tuple[list[Any], Any]:
    """The leaves of a value and its structure, None for a single leaf; a list of numbers is an array."""
    leaves, treedef = tree.flatten(value)
    if len(leaves) == 1 and leaves[0] is value:
        return leaves, None
    if isinstance(value, list) and leaves and all(isinstance(x, (int, float, np.generic)) for x in leaves):
        return [np.asarray(value)], None
    return leaves, treedef


def _structure(treedef: Any) -> str:
    return "an array" if treedef is None else str(treedef)


def arrays_of(args: Arguments) -> list[Value]:
    """The arrays among the leaves of arguments."""
    return [x for x in args.leaves if not isinstance(x, (int, float))]


# ---- checks -----------------------------------------------------------------------------------------


def arguments(name: str, args: Any) -> Arguments:
    """Further arguments, flattened.

    Raises:
        TypeError: for anything but a tuple or list of arrays, numbers and pytrees of them.
    """
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"{name}: args must be a tuple of further arguments, got {args!r}{errors.at_user_line()}")
    try:
        return Arguments(args)
    except TypeError as e:
        raise TypeError(f"{name}: args: {e}") from None


def tolerance(name: str, what: str, x: Any) -> float:
    """A tolerance as a float.

    Raises:
        TypeError: for anything but a number.
        ValueError: for one that is negative, infinite or NaN.
    """
    message = f"{name}: {what} must be a number, got {x!r}"
    if isinstance(x, (str, bytes)):
        raise TypeError(f"{message}{errors.at_user_line()}")
    try:
        value = float(x)
    except errors.TracerError:
        raise
    except TypeError:
        raise TypeError(f"{message}{errors.at_user_line()}") from None
    if not 0.0 <= value < math.inf:
        raise ValueError(f"{name}: {what} must be a finite number that is not negative, got {x}{errors.at_user_line()}")
    return value


def positive_int(name: str, what: str, n: Any) -> int:
    """A static count of at least 1.

    Raises:
        TypeError: for anything but an int.
        ValueError: for one below 1.
    """
    if isinstance(n, bool):
        raise TypeError(f"{name}: {what} must be an int, got {n}{errors.at_user_line()}")
    value = static_int(f"{name}: {what}", n)
    if value < 1:
        raise ValueError(f"{name}: {what} must be at least 1, got {value}{errors.at_user_line()}")
    return value


# ---- arithmetic -------------------------------------------------------------------------------------


#: Vectors of at most this many elements are multiplied element by element.
_SHORT: Final = 4096


def dot(a: Value, b: Value) -> Value:
    """The inner product of two vectors."""
    # BLAS makes no array of the products, which costs more than what surrounds the call from some thousand elements on.
    return matmul(a, b) if a.type.size > _SHORT else total(a * b)


def norm(a: Value) -> Value:
    """The Euclidean norm of a vector, whose squares neither overflow nor underflow."""
    if a.type.size == 1:
        return reshape(magnitude(a), ())
    scale = longest(a)
    limits = np.finfo(a.type.dtype.numpy)
    scale = minimum(maximum(scale, float(limits.tiny)), float(limits.max))
    a = a / scale
    return scale * sqrt(dot(a, a))


def longest(a: Value) -> Value:
    """The largest magnitude among the elements of a vector, 0 for an empty one."""
    return largest(magnitude(a)) if a.type.size else scalar(0.0, a.type.dtype)


def count(n: float) -> Value:
    """A number of iterations, or a mark, as a value of the trace."""
    return scalar(float(n), dtypes.float64)


# ---- the call ---------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """What a solver's body returns.

    Attributes:
        x: the solution, a vector.
        iterations: how many iterations were done.
        residual: the norm of the last residual.
        success: whether x is a solution.
        broken: whether the solver cannot go on.
        history: the norms of the last residuals, the latest first.
    """

    x: Any
    iterations: Any
    residual: Any
    success: Any
    broken: Any
    history: Any


def solved(
    unknown: Unknown,
    inputs: Sequence[Value],
    functions: dict[str, Callable[..., Any]],
    args: Arguments,
    emit: Callable[[Sequence[Body], Sequence[Value]], Sequence[Value]],
    options: tuple[Any, ...],
    fail: Callable[[Outcome], NoReturn],
    info: bool,
) -> Any:
    """Solve: recorded inside a trace; else traced, if a program for the same functions is not there, and run.

    Args:
        unknown: the unknown.
        inputs: the vectors that the solver starts from.
        functions: the user's functions by the names that messages give them.
        args: their further arguments.
        emit: emits the call, given the functions' bodies and the operands: the inputs, the arrays among the arguments, and
            what the bodies capture. Returns the leaves of an ``Outcome``.
        options: all that ``emit`` depends on beside.
        fail: raises what an eager failure is; not called with ``info``.
        info: return a pair of the solution and a dict.
    """
    graphs = [unknown.function(what, f, args) for what, f in functions.items()]
    arrays = arrays_of(args)
    bodies, captured = with_common_captures(graphs, 1 + len(arrays))
    operands = [*inputs, *arrays, *captured]
    if dispatch.emitters.graphs:
        outcome = Outcome(*emit(bodies, operands))
    else:
        outcome = Outcome(*run_cached(options, bodies, operands, lambda *given: tuple(emit(*given))))
        if not info and not outcome.success.item():
            fail(outcome)
    if not info:
        return unknown.rebuild(outcome.x)
    return unknown.rebuild(outcome.x), {
        "iterations": outcome.iterations,
        "residual_norm": outcome.residual,
        "success": outcome.success,
    }


def history_of(outcome: Outcome) -> str:
    """The last residual norms as the tail of a message."""
    norms = [x for x in reversed(outcome.history.tolist()) if not x < 0.0]
    return "the last residual norms are " + ", ".join(f"{x:.3g}" for x in norms)
