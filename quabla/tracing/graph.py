"""Traced values and the graphs they belong to.

A traced value is an immutable node: the op that made it, its operands, its attributes and its type. Nodes are
hash-consed and folded as they are made, so a graph never holds the same computation twice. A transform
reads a ``Body`` of nodes and emits into the graph under construction; nothing rewrites a node.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NoReturn, Self, cast

import numpy as np

from quabla import errors
from quabla.array import Array, Tensor
from quabla.functions.methods import Methods
from quabla.ops import dispatch
from quabla.ops.casting import CONSTANT
from quabla.ops.registry import Op
from quabla.ops.types import Const, Params, TensorType, tensor_type

__all__ = ["Body", "Graph", "TraceTensor", "alive", "build", "current_graph"]

#: Eager arrays of at most this many elements become constants of a graph; larger ones become hidden inputs.
SMALL_CONSTANT: Final = 16


def _no_result(*_: object) -> NoReturn:
    raise TypeError("an argument of a graph is not computed")


#: What stands in the place of the op where a value is an argument of its graph.
ARGUMENT: Final = Op("argument", "An argument of the graph.", (), infer=_no_result, kernel=_no_result)


class TraceTensor(Methods, Array):
    """A value inside a trace: it has a shape and a dtype but no numbers.

    Attributes:
        shape: the extents, as a list.
        dtype: the element type.
        node_id: the position of the value among the nodes of its graph.
    """

    __slots__ = ("_loc", "graph", "op", "operands", "params", "splat", "type", "weak")

    traced = True
    regions: tuple[Body, ...] = ()

    def __init__(
        self, graph: Graph, type: TensorType, op: Op, operands: tuple[TraceTensor, ...], params: Params
    ) -> None:
        self.graph = graph
        self.type = type
        self.op = op
        self.operands = operands
        self.params = params
        self.splat: float | bool | None = None
        self.weak = False
        self._loc: errors.Location | tuple[str, int] | None = None

    @property
    def location(self) -> tuple[str, int] | None:
        """The file and line of the user's program that made this value."""
        loc = self._loc
        if loc is None:
            return None
        place = self._loc = errors.file_and_line(loc)
        return place

    @property
    def node_id(self) -> int:
        graph = self.graph
        for i, x in enumerate((*graph.args, *graph.nodes)):
            if x is self:
                return i
        return len(graph.args) + len(graph.nodes)

    def __repr__(self) -> str:
        return f"TraceTensor(node_id={self.node_id}, shape={list(self.type.shape)}, dtype={self.type.dtype.name})"

    __str__ = __repr__

    def escaped(self, use: str) -> str:
        """The message for a value that is used outside its trace."""
        return (
            f"{use}: {self._described()}, is used after its trace has ended. Return it from the traced function "
            f"instead of keeping it in a variable{errors.at_user_line()}"
        )

    def _described(self) -> str:
        """What this value is, for messages."""
        if self.op is ARGUMENT:
            name = self.graph.argument_name(self)
            which = "an argument of the traced function" if name is None else f"the argument {name!r}"
            return f"{which}, of type {self.type}"
        made = "in a trace" if self._loc is None else f"at {errors.place(self._loc)}"
        return f"a traced array of type {self.type}, made {made}"

    # A traced value has no numbers: whatever asks for them is told what to use instead.

    def _no_value(self, what: str, instead: str) -> NoReturn:
        raise errors.TracerError(
            f"{what} needs the value of {self._described()}, which is not known while "
            f"tracing{errors.at_user_line()}. {instead}"
        )

    def __bool__(self) -> bool:
        self._no_value("bool() (Python control flow)", "Use quabla.where or quabla.cond, or make the argument static")

    def __float__(self) -> float:
        self._no_value("float()", "Keep the array, or compute this outside the traced function")

    def __int__(self) -> int:
        self._no_value("int()", "Make the argument static, or compute this outside the traced function")

    def __index__(self) -> int:
        self._no_value(
            "an int (for range, an index or a shape)",
            "Counts, indices and extents must be known while tracing: take them from a shape, or make the argument "
            "static (static_argnums of quabla.jit)",
        )

    def __format__(self, spec: str) -> str:
        if spec:
            self._no_value(
                f"the format {spec!r}", "Return the array and format it outside; without a format the type is shown"
            )
        return str(self)

    @property
    def data(self) -> NoReturn:
        """Asked for where a program is about to run, so the trace of this argument must have ended."""
        raise errors.TracerError(self.escaped("argument"))

    def item(self) -> Any:
        self._no_value("item()", "Return the array from the traced function and read it there")

    def tolist(self) -> Any:
        self._no_value("tolist()", "Return the array from the traced function and read it there")

    to_flat_list = tolist

    def numpy(self) -> Any:
        self._no_value("numpy()", "Use quabla's functions instead of NumPy's inside a traced function")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self._no_value(
            "conversion to a NumPy array", "Use quabla's functions instead of NumPy's inside a traced function"
        )

    __array_priority__ = 1000

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from quabla.array import numpy_operator

        return numpy_operator(ufunc, method, inputs, kwargs)


class Body:
    """What a transform reads: arguments, nodes in order of definition, and results.

    Attributes:
        args: the arguments, captured values last.
        nodes: the nodes that the results depend on.
        outs: the results; nodes or arguments.
    """

    __slots__ = ("args", "nodes", "outs")

    def __init__(self, args: Sequence[TraceTensor], nodes: Sequence[TraceTensor], outs: Sequence[TraceTensor]) -> None:
        self.args = args
        self.nodes = nodes
        self.outs = outs


class Graph:
    """A function under construction. As a context manager it receives what is emitted inside.

    Attributes:
        args: the declared arguments; after ``finish`` the captured values follow.
        names: the arguments' names.
        nodes: everything emitted, in order.
        captures: values and large eager arrays from outside, each with the hidden argument that stands for it.
        call_them: gives the arguments' names in the user's function, for messages while it is traced.
        location: the user's line for what is emitted next, where a transform knows it.
    """

    __slots__ = ("_folding", "_table", "args", "call_them", "captures", "location", "names", "nodes", "outs")

    def __init__(
        self, types: Iterable[TensorType] = (), names: Sequence[str] | None = None, *, fold: bool = True
    ) -> None:
        self.args = [TraceTensor(self, t, ARGUMENT, (), ()) for t in types]
        self.names = list(names) if names is not None else [f"x{i}" for i in range(len(self.args))]
        self.nodes: list[TraceTensor] = []
        self.outs: list[TraceTensor] = []
        self.captures: dict[TraceTensor | Tensor, TraceTensor] = {}
        self.location: Any = None
        self.call_them: Callable[[], list[str]] | None = None
        self._table: dict[Any, TraceTensor] = {}
        self._folding = fold

    def __enter__(self) -> Self:
        dispatch.emitters.graphs.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        dispatch.emitters.graphs.pop()

    def argument_name(self, argument: TraceTensor) -> str | None:
        """What the function being traced calls an argument, such as ``params/w``; None where that is not known."""
        if self.call_them is None or argument not in self.args:
            return None
        return self.call_them()[self.args.index(argument)]

    # ---- values from outside --------------------------------------------------------------------

    def lift(self, x: Any) -> TraceTensor:
        """``x`` as a value of this graph.

        Raises:
            TracerError: for a traced value whose trace has ended.
        """
        if not x.traced:
            if x.type.size <= SMALL_CONSTANT:
                return self.emit(CONSTANT, (), (Const(x.data),))
        elif x.graph is self:
            return x
        elif x.graph not in dispatch.emitters.graphs:
            raise errors.TracerError(x.escaped("trace"))
        elif x.op is CONSTANT:
            return self.emit(CONSTANT, (), x.params)
        a = self.captures.get(x)
        if a is None:
            a = self.captures[x] = TraceTensor(self, x.type, ARGUMENT, (), ())
            a.weak = x.weak
            a._loc = getattr(x, "_loc", None)
        return a

    # ---- recording --------------------------------------------------------------------------------

    def emit(self, op: Op, operands: tuple[Any, ...], params: Params = ()) -> TraceTensor:
        """The value of ``op``; an equal or simpler one that is already there, if there is one."""
        for x in operands:
            if not x.traced or x.graph is not self:
                operands = tuple([self.lift(x) for x in operands])
                break
        key = (op, operands, params)
        node = self._table.get(key)
        if node is not None:
            return node
        types = tuple([x.type for x in operands])
        type = op.inferred.get((params, types))
        if type is None:
            type = op.result_type(types, params)
        if self._folding and operands:
            folded = op.fold(operands, params) if op.fold is not None else None
            if folded is None and operands[0].op is CONSTANT:
                folded = self._evaluated(op, operands, params, type)
            if folded is not None:
                if folded.graph is not self:
                    folded = self.lift(folded)
                self._table[key] = folded
                return folded
        node = TraceTensor(self, type, op, operands, params)
        if op is CONSTANT:
            node.splat = params[0].splat
        node._loc = self.location or errors.user_location()
        self.nodes.append(node)
        self._table[key] = node
        return node

    def _evaluated(
        self, op: Op, operands: tuple[TraceTensor, ...], params: Params, type: TensorType
    ) -> TraceTensor | None:
        """The op's result if all operands are constants and the result is small or one number repeated."""
        if any(x.op is not CONSTANT for x in operands):
            return None
        if op.elementwise and all(x.splat is not None for x in operands):
            scalars = tuple([tensor_type((), x.type.dtype) for x in operands])
            values = [x.type.dtype.numpy.type(x.splat) for x in operands]
            with np.errstate(all="ignore"):
                result = op.kernel_for(scalars, params)(*values)
            return self.emit(CONSTANT, (), (Const.repeat_element(type, np.asarray(result)),))
        if type.size > SMALL_CONSTANT:
            return None
        kernel = op.kernel_for(tuple([x.type for x in operands]), params)
        with np.errstate(all="ignore"):
            result = kernel(*[x.params[0].array for x in operands])
        return self.emit(CONSTANT, (), (Const(np.asarray(result)),))

    def weak_twin(self, x: TraceTensor) -> TraceTensor:
        """``x`` marked as weak; ``x`` itself may be shared with uses that are not."""
        if x.op is ARGUMENT:
            return x
        key = (x, "weak")
        node = self._table.get(key)
        if node is None:
            node = self._table[key] = TraceTensor(self, x.type, x.op, x.operands, x.params)
            node.weak, node.splat, node._loc = True, x.splat, x._loc
            self.nodes.append(node)
        return node

    def finish(self, outs: Iterable[Any]) -> Graph:
        """Close the graph over its results; hidden arguments are appended to ``args``."""
        self.outs = [self.lift(x) for x in outs]
        self.args = [*self.args, *self.captures.values()]
        self.names = [*self.names, *_fresh_names("capture", len(self.captures), self.names)]
        self._table = {}
        self.call_them = None  # it holds the arguments of the call
        return self

    def body(self) -> Body:
        """The finished function without dead nodes."""
        return Body(self.args, alive(self.nodes, self.outs), self.outs)


def _fresh_names(stem: str, count: int, taken: Sequence[str]) -> list[str]:
    """``count`` numbered names that are not taken."""
    used = set(taken)
    names: list[str] = []
    i = 0
    while len(names) < count:
        if f"{stem}{i}" not in used:
            names.append(f"{stem}{i}")
        i += 1
    return names


def alive(nodes: Sequence[TraceTensor], outs: Iterable[TraceTensor]) -> list[TraceTensor]:
    """The nodes that ``outs`` depend on, in order."""
    live = set(outs)
    kept = []
    for n in reversed(nodes):
        if n in live:
            live.update(n.operands)
            kept.append(n)
    kept.reverse()
    return kept


def current_graph() -> Graph:
    """The graph under construction in this thread; there must be one."""
    return cast("Graph", dispatch.emitters.graphs[-1])


def build(types: Iterable[TensorType], names: Sequence[str] | None, fun: Callable[..., Iterable[Any]]) -> Graph:
    """The graph of ``fun``, which is called with the arguments and returns the results.

    The garbage collector rests meanwhile: tracing makes many objects and no garbage.
    """
    graph = Graph(types, names)
    collecting = gc.isenabled()
    gc.disable()
    try:
        with graph:
            return graph.finish(fun(*graph.args))
    finally:
        if collecting:
            gc.enable()
