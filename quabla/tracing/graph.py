"""Traced values and the graphs they belong to.

A traced value is an immutable node: the op that made it, its operands, its attributes and its type. Nodes are
hash-consed and folded as they are made, so a graph never holds the same computation twice. A transform
reads a ``Body`` of nodes and emits into the graph under construction; nothing rewrites a node.
"""

from __future__ import annotations

import gc
import sys
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

__all__ = ["Body", "Graph", "TraceTensor", "alive", "build", "current_graph", "outermost_graph"]

#: Eager arrays of at most this many elements become constants of a graph; larger ones become hidden inputs.
SMALL_CONSTANT: Final = 16


#: Whatever reads a program descends into its regions, by up to this many calls for each level. Where ops are nested
#: deeper than ``DEEP``, Python is told that such calls are no runaway recursion.
DEEP_FRAMES: Final = 50
DEEP: Final = 8


def _no_result(*_: object) -> NoReturn:
    raise TypeError("an argument of a graph is not computed")


#: What stands in the place of the op where a value is an argument of its graph.
ARGUMENT: Final = Op("argument", "An argument of the graph.", (), infer=_no_result, kernel=_no_result)


@errors.hides_library_frames_in_methods
class TraceTensor(Methods, Array):
    """A value inside a trace: it has a shape and a dtype but no numbers.

    Attributes:
        shape: the extents, as a list.
        dtype: the element type.
        node_id: the position of the value among the nodes of its graph.
    """

    __slots__ = ("_loc", "graph", "op", "operands", "params", "splat", "type", "weak")

    traced = True

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

    @property
    def ended(self) -> bool:
        """Whether the trace that this value belongs to is over."""
        return self.graph not in dispatch.emitters.graphs

    def escaped(self, use: str) -> str:
        """The message for a value that is used outside its trace."""
        if self.graph.open:
            return (
                f"{use}: {self.described()}, belongs to a trace of another thread{errors.at_user_line()}. Trace a "
                "function in one thread"
            )
        return (
            f"{use}: {self.described()}, is used after its trace has ended. Return it from the traced function "
            f"instead of keeping it in a variable{errors.at_user_line()}"
        )

    def described(self) -> str:
        """What this value is, for messages."""
        if self.op is ARGUMENT:
            name = self.graph.argument_name(self)
            which = "an argument of the traced function" if name is None else f"the argument {name!r}"
            return f"{which}, of type {self.type}"
        made = "in a trace" if self._loc is None else f"at {errors.place(self._loc)}"
        return f"a traced array of type {self.type}, made {made}"

    # A traced value has no numbers: whatever asks for them is told what to use instead.

    def _no_value(self, what: str, instead: str) -> NoReturn:
        if self.ended:
            raise errors.TracerError(self.escaped(what))
        raise errors.TracerError(
            f"{what} needs the value of {self.described()}, which is not known while "
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
        """Asked for where a program is about to run."""
        if self.ended:
            raise errors.TracerError(self.escaped("argument"))
        self._no_value(
            "a compiled program", "Call the function itself, which jit returned, where its arguments may be traced"
        )

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

    def __dlpack__(self, **options: Any) -> Any:
        self._no_value("__dlpack__", "Export the array outside the traced function")

    def __dlpack_device__(self) -> tuple[int, int]:
        self._no_value("__dlpack_device__", "Export the array outside the traced function")

    __array_priority__ = 1000

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from quabla.array import numpy_operator

        return numpy_operator(ufunc, method, inputs, kwargs)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        self._no_value("pickling", "Return the array from the traced function and pickle what its numpy() gives")


class RegionOp:
    """An op with regions: functions that it runs once, several times or not at all.

    A region is closed: whatever its body uses is an argument, so a body can be read, emitted and run alone. Its
    arguments are ``lead`` values of the op's own (a loop's counter), the carries, and the captured values. The op's
    operands are ``fixed`` operands of its own (a predicate), the first carries, and the captured values.

    Attributes:
        name: the op's name.
        lead: how many arguments the op itself supplies.
        fixed: how many operands the op itself consumes.
        carried: whether results are carries; else each region only returns them.
        jvp: ``(node, operands, tangents) -> (results, tangents)``.
        vjp: ``(node, operands, active) -> (results, active, pull)``; ``pull`` maps cotangents of the results to those
            of the operands, and is None where no result is active.
        batch: ``(node, operands, mapped) -> (results, mapped)``.
    """

    __slots__ = ("batch", "carried", "fixed", "jvp", "lead", "name", "vjp")

    jvp: Callable[..., Any]
    vjp: Callable[..., Any]
    batch: Callable[..., Any]

    def __init__(self, name: str, *, lead: int = 0, fixed: int = 0, carried: bool = True) -> None:
        self.name: Final = name
        self.lead: Final = lead
        self.fixed: Final = fixed
        self.carried: Final = carried

    def __repr__(self) -> str:
        return f"RegionOp({self.name})"


#: Runs one of two regions. The parameter is the number of lane axes of the predicate: 0 for an ordinary branch; with
#: more, both regions run on all lanes and each lane keeps the results of its own.
COND: Final = RegionOp("cond", fixed=1, carried=False)
#: Runs its region for a counter from the first parameter up to the second.
FORI: Final = RegionOp("fori", lead=1)
#: Runs its second region as long as its first returns True. The parameter is how often at most, where that is known;
#: it is a promise that reverse mode relies on, and stops nothing.
WHILE: Final = RegionOp("while")
#: Runs its only region; the parameter is the rule that differentiates it.
CALL: Final = RegionOp("call", carried=False)

#: What stands in the place of the op where a value is a result of an op with regions.
RESULT: Final = Op("result", "A result of an op with regions.", (), infer=_no_result, kernel=_no_result)


class RegionNode:
    """One application of an op with regions.

    Attributes:
        depth: how deep ops with regions are nested in this one, which counts itself.
    """

    __slots__ = ("_loc", "depth", "op", "operands", "params", "regions", "results")

    def __init__(
        self,
        op: RegionOp,
        operands: tuple[TraceTensor, ...],
        params: Params,
        regions: tuple[Body, ...],
        results: tuple[TraceTensor, ...],
        location: Any,
    ) -> None:
        self.op = op
        self.operands = operands
        self.params = params
        self.regions = regions
        self.results = results
        self._loc = location
        self.depth: int = 1 + max([n.depth for r in regions for n in r.nodes if isinstance(n, RegionNode)], default=0)

    def carries(self) -> tuple[TraceTensor, ...]:
        """The operands that are first carries."""
        return self.operands[self.op.fixed : self.op.fixed + len(self.results)] if self.op.carried else ()

    def captured(self) -> tuple[TraceTensor, ...]:
        """The operands that are captured values."""
        return self.operands[self.op.fixed + len(self.carries()) :]

    def selected(self, keep: Sequence[bool]) -> RegionNode:
        """The same application without the results, carries and captured values that are not needed."""
        results = tuple([r for r, k in zip(self.results, keep, strict=True) if k])
        op, lead = self.op, self.op.lead
        count = len(self.results) if op.carried else 0
        bodies = []
        used: set[int] = set()
        for r, body in enumerate(self.regions):
            tests = op is WHILE and r == 0
            outs = body.outs if tests else [o for o, k in zip(body.outs, keep, strict=True) if k]
            nodes = alive(body.nodes, outs)
            bodies.append((body, nodes, outs))
            seen = set(outs).union(*[n.operands for n in nodes])
            used |= {i for i, a in enumerate(body.args[lead + count :]) if a in seen}
        regions = tuple(
            [
                Body(
                    [
                        *body.args[:lead],
                        *(a for a, k in zip(body.args[lead : lead + count], keep[:count], strict=True) if k),
                        *(a for i, a in enumerate(body.args[lead + count :]) if i in used),
                    ],
                    nodes,
                    outs,
                )
                for body, nodes, outs in bodies
            ]
        )
        operands = (
            *self.operands[: op.fixed],
            *(x for x, k in zip(self.carries(), keep[:count], strict=True) if k),
            *(x for i, x in enumerate(self.captured()) if i in used),
        )
        return RegionNode(op, operands, self.params, regions, results, self._loc)

    def needed(self, live: set[TraceTensor]) -> list[bool]:
        """Which results are needed where those in ``live`` are: with a carry all that it is computed from."""
        keep = [r in live for r in self.results]
        if not self.op.carried:
            return keep
        lead = self.op.lead
        while True:
            seen: set[TraceTensor] = set()
            for r, body in enumerate(self.regions):
                outs = (
                    body.outs if self.op is WHILE and r == 0 else [o for o, k in zip(body.outs, keep, strict=True) if k]
                )
                seen |= set(outs).union(*[n.operands for n in alive(body.nodes, outs)])
            more = [k or a in seen for k, a in zip(keep, self.regions[-1].args[lead : lead + len(keep)], strict=True)]
            if self.op is WHILE:
                tested = self.regions[0].args[: len(keep)]
                more = [k or a in seen for k, a in zip(more, tested, strict=True)]
            if more == keep:
                return keep
            keep = more


class Body:
    """What a transform reads: arguments, nodes in order of definition, and results.

    Attributes:
        args: the arguments, captured values last.
        nodes: the nodes that the results depend on.
        outs: the results; nodes or arguments.
    """

    __slots__ = ("args", "nodes", "outs")

    def __init__(self, args: Sequence[TraceTensor], nodes: Sequence[Node], outs: Sequence[TraceTensor]) -> None:
        self.args = args
        self.nodes = nodes
        self.outs = outs


Node = TraceTensor | RegionNode


class Graph:
    """A function under construction. As a context manager it receives what is emitted inside.

    Attributes:
        args: the declared arguments; after ``finish`` the captured values follow.
        names: the arguments' names.
        nodes: everything emitted, in order.
        captures: values and large eager arrays from outside, each with the hidden argument that stands for it.
        call_them: gives the arguments' names in the user's function, for messages while it is traced.
        location: the user's line for what is emitted next, where a transform knows it.
        open: whether some thread is inside the graph's context.
    """

    __slots__ = (
        "_folding", "_serial", "_table", "args", "call_them", "captures", "location", "names", "nodes", "open", "outs",
    )  # fmt: skip

    def __init__(
        self, types: Iterable[TensorType] = (), names: Sequence[str] | None = None, *, fold: bool = True
    ) -> None:
        self.args = [TraceTensor(self, t, ARGUMENT, (), ()) for t in types]
        self.names = list(names) if names is not None else [f"x{i}" for i in range(len(self.args))]
        self.nodes: list[Node] = []
        self.outs: list[TraceTensor] = []
        self.captures: dict[TraceTensor | Tensor, TraceTensor] = {}
        self.location: Any = None
        self.call_them: Callable[[], list[str]] | None = None
        self._table: dict[Any, TraceTensor] = {}
        self._folding = fold
        self._serial = 0
        self.open = False

    def __enter__(self) -> Self:
        dispatch.emitters.graphs.append(self)
        self.open = True
        return self

    def __exit__(self, *exc: object) -> None:
        graphs = dispatch.emitters.graphs
        graphs.pop()
        self.open = self in graphs

    def argument_name(self, argument: TraceTensor) -> str | None:
        """What the function being traced calls an argument, such as ``params/w``; None where that is not known."""
        if self.call_them is None or argument not in self.args:
            return None
        return self.call_them()[self.args.index(argument)]

    # ---- values from outside --------------------------------------------------------------------

    def lift(self, x: Any, use: str = "trace") -> TraceTensor:
        """``x`` as a value of this graph; messages call what it is for ``use``.

        Raises:
            TracerError: for a traced value whose trace has ended.
        """
        if not x.traced:
            if x.type.size <= SMALL_CONSTANT:
                return self.emit(CONSTANT, (), (Const(x.data),))
        elif x.graph is self:
            return x
        elif x.ended:
            raise errors.TracerError(x.escaped(use))
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
                operands = tuple([self.lift(x, op.name) for x in operands])
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

    def emit_region(
        self,
        op: RegionOp,
        operands: Sequence[Any],
        params: Params,
        regions: Sequence[Body],
        types: Sequence[TensorType],
    ) -> list[TraceTensor]:
        """The results of an op with regions."""
        lifted = tuple([self.lift(x, op.name) for x in operands])
        results = tuple([TraceTensor(self, t, RESULT, (), ()) for t in types])
        location = self.location or errors.user_location()
        for r in results:
            r._loc = location
        node = RegionNode(op, lifted, params, tuple(regions), results, location)
        self.nodes.append(node if op is CALL else node.selected([True] * len(results)))
        if node.depth > DEEP:
            sys.setrecursionlimit(max(sys.getrecursionlimit(), DEEP_FRAMES * node.depth))
        return list(results)

    def next_serial(self) -> int:
        """A number that this graph has not given before."""
        self._serial += 1
        return self._serial

    def argument(self, type: TensorType) -> TraceTensor:
        """A further declared argument."""
        a = TraceTensor(self, type, ARGUMENT, (), ())
        self.args.append(a)
        self.names.append(f"x{len(self.names)}")
        return a

    def weak_twin(self, x: TraceTensor) -> TraceTensor:
        """``x`` marked as weak; ``x`` itself may be shared with uses that are not."""
        if x.op is ARGUMENT or x.op is RESULT:
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
        self.outs = [self.lift(x, "result") for x in outs]
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


def alive(nodes: Sequence[Node], outs: Iterable[TraceTensor]) -> list[Node]:
    """The nodes that ``outs`` depend on, in order; dead results and carries of regions are left out."""
    live = set(outs)
    kept: list[Node] = []
    for n in reversed(nodes):
        if isinstance(n, RegionNode):
            if live.isdisjoint(n.results):
                continue
            # A rule knows its call as it was made.
            if n.op is not CALL and not live.issuperset(n.results):
                n = n.selected(n.needed(live))
        elif n not in live:
            continue
        live.update(n.operands)
        kept.append(n)
    kept.reverse()
    return kept


def current_graph() -> Graph:
    """The graph under construction in this thread; there must be one."""
    return cast("Graph", dispatch.emitters.graphs[-1])


def outermost_graph() -> Graph:
    """The graph that everything under construction in this thread becomes part of."""
    return cast("Graph", dispatch.emitters.graphs[0])


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
