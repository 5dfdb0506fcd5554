"""From a Python function to a graph: arguments in, pytrees around them, results out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NoReturn

import numpy as np

from quabla import dtypes, errors, tree
from quabla.array import Tensor, TensorView
from quabla.ops import dispatch
from quabla.ops.types import TensorType, tensor_type
from quabla.tracing.graph import Body, Graph, TraceTensor, build, current_graph

__all__ = [
    "Arguments",
    "ResultTree",
    "ShapeDtype",
    "Traced",
    "array_leaf",
    "input_names",
    "nested",
    "parameters_of",
    "trace",
]


class ShapeDtype:
    """A placeholder for an array in ``lower``: a shape and a dtype without values.

    Args:
        shape: a sequence of non-negative ints.
        dtype: the element type.

    Raises:
        TypeError: a shape that is not a sequence, or a dtype that is not quabla's.
        ValueError: an extent that is negative or not an int.

    Example:
        >>> import quabla as qb
        >>> qb.ShapeDtype((3,))
        ShapeDtype(shape=(3,), dtype=quabla.float64)
    """

    __slots__ = ("_type",)

    def __init__(self, shape: Sequence[int], dtype: dtypes.dtype = dtypes.float64) -> None:
        if isinstance(shape, (str, bytes)) or not hasattr(shape, "__iter__"):
            raise TypeError(f"ShapeDtype: shape must be a sequence of ints, got {shape!r}")
        extents = tuple(shape)
        for n in extents:
            if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
                raise ValueError(f"ShapeDtype: extents must be non-negative ints, got {n!r} in {extents}")
        dtypes.check(dtype, "ShapeDtype: dtype")
        object.__setattr__(self, "_type", tensor_type(tuple(int(n) for n in extents), dtype))

    @property
    def type(self) -> TensorType:
        return self._type

    @property
    def shape(self) -> tuple[int, ...]:
        return self._type.shape

    @property
    def dtype(self) -> Any:
        return self._type.dtype

    def _no_values(self) -> NoReturn:
        raise TypeError(
            f"{self!r} is a placeholder without values, for lower; pass an array here{errors.at_user_line()}"
        )

    #: Asked for by ops, and where a program is about to run.
    traced = data = property(_no_values)

    def __reduce__(self) -> tuple[Any, ...]:
        return ShapeDtype, (self.shape, self.dtype)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"ShapeDtype is immutable; cannot set {name!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtype) and self._type is other._type

    def __hash__(self) -> int:
        return hash(self._type)

    def __repr__(self) -> str:
        return f"ShapeDtype(shape={self._type.shape}, dtype={self._type.dtype!r})"


# ---- arguments ------------------------------------------------------------------------------------


def array_leaf(x: Any, what: str = "", owner: object = None) -> Any:
    """An array-like leaf as a value; a Python number or placeholder as it is.

    Messages call it ``what``, or an argument of ``owner``.

    Raises:
        TypeError: for leaves that are none of these.
    """
    kind = x.__class__
    if kind is Tensor or kind is TraceTensor or kind is float or kind is int or kind is bool:
        return x
    if isinstance(x, (np.ndarray, np.generic, TensorView)):
        return dispatch.hooks.eager.asarray(x)
    if isinstance(x, (int, float)) or dispatch.is_value(x):
        return x
    got = f"got {x!r} of type {type(x).__name__}"
    if what:
        raise TypeError(f"{what} must be an array or a number, {got}{errors.at_user_line()}")
    raise TypeError(
        f"{tree.named(owner)}arguments must be arrays, Python numbers or pytrees of them, {got}; "
        f"mark other arguments static in jit, or close over them{errors.at_user_line()}"
    )


_SINGLE: Final = (float, int, np.ndarray, np.generic)


class Arguments:
    """Positional arguments, flattened one by one; messages name the ``owner`` whose arguments they are.

    Attributes:
        leaves: the flat leaves, arrays converted.
        treedefs: the structure of each argument, hashable; None for a single leaf.
        spans: the range of ``leaves`` that belongs to each argument.
    """

    __slots__ = ("leaves", "spans", "treedefs")

    def __init__(self, args: Sequence[Any], owner: object = None) -> None:
        leaves: list[Any] = []
        treedefs: list[Any] = []
        spans: list[range] = []
        for a in args:
            start = len(leaves)
            if a.__class__ is Tensor or a.__class__ is TraceTensor:
                leaves.append(a)
                treedefs.append(None)
            elif isinstance(a, _SINGLE) or dispatch.is_value(a):
                leaves.append(array_leaf(a, owner=owner))
                treedefs.append(None)
            else:
                flat, treedef = tree.flatten_args(a, owner)
                leaves.extend([array_leaf(x, owner=owner) for x in flat])
                treedefs.append(treedef)
            spans.append(range(start, len(leaves)))
        self.leaves = leaves
        self.treedefs = tuple(treedefs)
        self.spans = spans

    def replaced(self, leaves: Sequence[Any]) -> Arguments:
        """Other leaves in the same structure, without making the containers, which may refuse stand-ins for arrays."""
        other = object.__new__(Arguments)
        other.leaves, other.treedefs, other.spans = list(leaves), self.treedefs, self.spans
        return other

    def rebuild(self, leaves: Sequence[Any]) -> list[Any]:
        """The arguments with other leaves in place."""
        return [self.rebuild_one(i, [leaves[k] for k in span]) for i, span in enumerate(self.spans)]

    def rebuild_one(self, i: int, leaves: Sequence[Any]) -> Any:
        """Argument ``i`` with other leaves in place."""
        treedef = self.treedefs[i]
        return leaves[0] if treedef is None else treedef.unflatten(leaves)

    def types(self) -> Iterator[TensorType]:
        """The types of the array leaves, in order."""
        for x in self.leaves:
            if not isinstance(x, (int, float)):
                yield x.type

    def arrays(self) -> list[Any]:
        """The NumPy arrays of the leaves that are Tensors, in order."""
        return [x.data for x in self.leaves if not isinstance(x, (int, float))]

    def key(self) -> tuple[Any, ...]:
        """The signature: structure, types and, where a leaf is a Python number, its exact value."""
        return (self.treedefs, *[leaf_key(x) for x in self.leaves])


def leaf_key(x: Any) -> Any:
    """What of a leaf decides whether a trace can be reused."""
    if isinstance(x, (int, float)):
        return x.__class__, float.hex(x) if isinstance(x, float) else int(x)
    return (x.type, True) if x.__class__ is not ShapeDtype and x.weak else x.type


def parameters_of(fun: Callable[..., Any]) -> list[Any] | None:
    """The parameters of a function's signature, or None where it has none."""
    import inspect

    try:
        return list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return None


def input_names(fun: Callable[..., Any], args: Arguments, labels: Sequence[int | str]) -> list[str]:
    """The inputs' names: the parameter's name and the path inside its pytree, such as ``params/w``.

    Args:
        fun: the function.
        args: its traced arguments.
        labels: the position or keyword of each.
    """
    parameters = parameters_of(fun) or []
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), "arg")
    names = []
    for i, (label, span) in enumerate(zip(labels, args.spans, strict=True)):
        if isinstance(label, str):
            root = label
        elif label < len(positional):
            root = positional[label]
        else:
            root = f"{rest}/{label - len(positional)}"
        treedef = args.treedefs[i]
        for path, k in zip([()] if treedef is None else treedef.paths(), span, strict=True):
            if not isinstance(args.leaves[k], (int, float)):
                names.append("/".join([root, *map(str, path)]))
    return names


# ---- results --------------------------------------------------------------------------------------


class ResultTree:
    """The structure of a traced function's result and what of it was not traced.

    Attributes:
        treedef: the pytree's structure.
        leaves: for each leaf the traced value's index among the outputs, wrapped in ``Output``, or the leaf itself.
        outputs: the traced values.
    """

    __slots__ = ("leaves", "outputs", "treedef")

    def __init__(self, result: Any) -> None:
        flat, self.treedef = ([result], None) if result.__class__ is TraceTensor else tree.flatten(result)
        self.outputs: list[TraceTensor] = []
        self.leaves: list[Any] = []
        for x in flat:
            if x.__class__ is TraceTensor:
                self.leaves.append(Output(len(self.outputs)))
                self.outputs.append(x)
            else:
                if x.__class__ not in _PLAIN_LEAVES and _holds_traced(x):
                    raise TypeError(
                        f"the traced function returns traced arrays in a {type(x).__qualname__}, which is no pytree; "
                        "return a plain dict, list or tuple, or register the class with quabla.tree.register or "
                        f"register_dataclass{errors.at_user_line()}"
                    )
                self.leaves.append(x)

    def rebuild(self, outputs: Sequence[Any]) -> Any:
        """The result with ``outputs`` in place of the traced values."""
        if self.treedef is None:
            return outputs[0]
        return self.treedef.unflatten([outputs[x.index] if x.__class__ is Output else x for x in self.leaves])


#: Common leaves of results that hold nothing.
_PLAIN_LEAVES: Final = frozenset({Tensor, float, int, bool, str, np.ndarray})


def _holds_traced(x: Any) -> bool:
    """Whether a container that is no pytree, or a dataclass instance, holds a traced value."""
    if x.__class__ is TraceTensor:
        return True
    if isinstance(x, dict):
        return any(map(_holds_traced, x.values()))
    if isinstance(x, (list, tuple, set, frozenset)):
        return any(map(_holds_traced, x))
    return hasattr(x.__class__, "__dataclass_fields__") and any(
        _holds_traced(getattr(x, name, None)) for name in x.__class__.__dataclass_fields__
    )


class Output:
    """Marks a leaf of a result that is traced."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index: Final = index


# ---- tracing --------------------------------------------------------------------------------------


class Traced:
    """A traced function.

    Attributes:
        graph: the finished graph.
        result: the structure of the result.
    """

    __slots__ = ("graph", "result")

    def __init__(self, graph: Graph, result: ResultTree) -> None:
        self.graph = graph
        self.result = result


def trace(
    fun: Callable[..., Any],
    args: Arguments,
    call: Callable[..., Any] | None = None,
    labels: Sequence[int | str] | None = None,
) -> Traced:
    """Trace ``fun`` with its array leaves replaced by traced values; Python numbers stay what they are.

    Args:
        fun: the function.
        args: its arguments; arrays or placeholders give the types.
        call: calls ``fun`` with the rebuilt list of arguments, where that is more than ``fun(*args)``.
        labels: the position or keyword of each argument, where they are not the positions in order.
    """
    kept: list[Any] = []

    def run(*values: TraceTensor) -> list[TraceTensor]:
        places = range(len(args.spans)) if labels is None else labels
        current_graph().call_them = lambda: input_names(fun, args, places)
        rest = iter(values)
        leaves = []
        for x in args.leaves:
            if isinstance(x, (int, float)):
                leaves.append(x)
            else:
                v = next(rest)
                v.weak = x.__class__ is not ShapeDtype and x.weak
                leaves.append(v)
        built = args.rebuild(leaves)
        kept.append(ResultTree(fun(*built) if call is None else call(built)))
        return kept[0].outputs

    graph = build(args.types(), None, run)
    return Traced(graph, kept[0])


def nested(traced: Traced, args: Arguments) -> tuple[Body, dict[TraceTensor, Any], list[TraceTensor | None]]:
    """A traced function about to be emitted into the graph under construction.

    Returns:
        Its body, the values of all its arguments (captured ones too) in the current graph, and for each leaf the
        argument that stands for it; None for a Python number.
    """
    graph = current_graph()
    body = traced.graph.body()
    arrays = [x for x in args.leaves if not isinstance(x, (int, float))]
    values = [graph.lift(x) for x in (*arrays, *traced.graph.captures)]
    rest = iter(body.args)
    nodes = [None if isinstance(x, (int, float)) else next(rest) for x in args.leaves]
    return body, dict(zip(body.args, values, strict=True)), nodes
