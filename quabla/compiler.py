"""The explicit, name-keyed compilation interface: ``Compiler``, ``Program`` and ``Executable``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from quabla import dtypes, errors
from quabla.array import Tensor, TensorView
from quabla.devices import TARGETS, capabilities, require
from quabla.ops import dispatch
from quabla.ops.eager import wrap
from quabla.ops.rules import ones
from quabla.ops.types import TensorType, tensor_type
from quabla.tracing.engines import Engine, engine_for
from quabla.tracing.graph import Graph, TraceTensor, build
from quabla.transforms import forward, reverse
from quabla.transforms.expansion import expanded
from quabla.transforms.narrowing import boundary, warn_of_float32
from quabla.transforms.staging import captured_array, shown
from quabla.transforms.wrapper import check_callable

__all__ = ["Compiler", "Executable", "Program"]


@errors.hides_library_frames_in_methods
class Compiler:
    """Traces functions of named inputs into programs.

    Example:
        >>> import quabla as qb
        >>> program = qb.Compiler().trace(lambda x: qb.sum(x * x), [("x", [2])])
        >>> program.compile("cpu")({"x": qb.array([1.0, 2.0])})
        Tensor(5., dtype=float64)
    """

    __slots__ = ()

    def capabilities(self) -> dict[str, bool]:
        """Every target, and whether this build contains it; hardware is not looked for."""
        return capabilities()

    def capability(self, target: str) -> bool:
        """Whether this build contains a target.

        Raises:
            ValueError: for an unknown target.
        """
        return capabilities()[_target(target)]

    def trace(self, fn: Callable[..., Any], specs: Sequence[tuple[Any, ...]]) -> Program:
        """Trace a function of arrays.

        Args:
            fn: called with one traced array for each spec; returns one traced array.
            specs: ``(name, shape)`` for float64 inputs or ``(name, shape, dtype)``.

        Raises:
            TypeError: a spec of another form, or a function that does not return one traced array.
            ValueError: a name that is given twice.
        """
        check_callable(fn, "Compiler.trace")
        names, types = [], []
        for spec in specs:
            name, type = _input_spec(spec)
            if name in names:
                raise ValueError(f"Compiler.trace: the input {name!r} is specified twice")
            names.append(name)
            types.append(type)

        def run(*values: TraceTensor) -> list[Any]:
            out = fn(*values)
            if out.__class__ is not TraceTensor:
                raise TypeError(f"Compiler.trace: the function must return one traced array, got {shown(out)}")
            return [out]

        return Program(build(types, names, run), single=True)


def _input_spec(spec: Any) -> tuple[str, TensorType]:
    if not isinstance(spec, (tuple, list)) or len(spec) not in (2, 3) or not isinstance(spec[0], str):
        raise TypeError(f"Compiler.trace: a spec is (name, shape) or (name, shape, dtype), got {spec!r}")
    shape = spec[1]
    if not isinstance(shape, (tuple, list)) or any(isinstance(n, bool) or not isinstance(n, int) for n in shape):
        raise TypeError(f"Compiler.trace: the shape of {spec[0]!r} must be a sequence of ints, got {shape!r}")
    if any(n < 0 for n in shape):
        raise ValueError(f"Compiler.trace: the shape of {spec[0]!r} has a negative extent: {shape!r}")
    dtype = dtypes.check(spec[2], f"Compiler.trace: the dtype of {spec[0]!r}") if len(spec) == 3 else dtypes.float64
    return spec[0], tensor_type(tuple(shape), dtype)


def _target(target: str) -> str:
    if target not in TARGETS:
        raise ValueError(f"target must be one of {', '.join(map(repr, TARGETS))}, got {target!r}")
    return target


@errors.hides_library_frames_in_methods
class Program:
    """A traced function with named inputs, before compilation.

    Attributes:
        graph: the finished graph.

    Example:
        >>> import quabla as qb
        >>> qb.Compiler().trace(lambda x: qb.sum(x * x), [("x", [2])])
        Program(output_shape=[])
    """

    __slots__ = ("_single", "graph")

    def __init__(self, graph: Graph, *, single: bool) -> None:
        self.graph = expanded(graph)
        self._single = single

    def __repr__(self) -> str:
        if self._single:
            return f"Program(output_shape={self.output_shape})"
        return f"Program(output_shapes={self.output_shapes})"

    @property
    def output_shape(self) -> list[int]:
        """The shape of the only output.

        Raises:
            UnsupportedOperationError: where there is not exactly one.
        """
        if len(self.graph.outs) != 1:
            raise errors.UnsupportedOperationError(
                f"output_shape: the program has {len(self.graph.outs)} outputs; use output_shapes", op="output_shape"
            )
        return list(self.graph.outs[0].type.shape)

    @property
    def output_shapes(self) -> list[list[int]]:
        """The shapes of the outputs."""
        return [list(o.type.shape) for o in self.graph.outs]

    def lower_text(self) -> str:
        """The program as text: inputs, then ops in order."""
        from quabla.dialect.text import as_text

        text = as_text(self.graph)
        return text if not self._single else text[: text.rindex("outputs:")].rstrip("\n")

    def stablehlo_text(self) -> str:
        """The program as a StableHLO module."""
        from quabla.lowering.to_stablehlo import stablehlo_text

        return stablehlo_text(self.graph)

    def vjp(self, cotangent_name: str) -> dict[str, Program]:
        """The reverse-mode derivative with respect to each float input.

        Args:
            cotangent_name: what to call the cotangent input; a program with several float outputs gets one input
                for each, ``<name>_0``, ``<name>_1``, ...

        Returns:
            For each float input, by name, the program that maps the inputs and the cotangents to its cotangent.

        Raises:
            ValueError: a name that is an input's, or no float output.
        """
        names, types = self._inputs()
        floats = [i for i, o in enumerate(self.graph.outs) if o.type.dtype.is_float]
        if not floats:
            raise ValueError("Program.vjp: the program has no float output")
        cts = [cotangent_name] if len(floats) == 1 else [f"{cotangent_name}_{i}" for i in range(len(floats))]
        for n in cts:
            if n in names:
                raise ValueError(f"Program.vjp: the cotangent name {n!r} is an input's name")
        whole = reverse.graph_vjp(self.graph)
        whole.names[len(self.graph.names) : len(self.graph.names) + len(cts)] = cts
        whole.captures = self._rekeyed(whole)
        every = [n for n, a in zip(self.graph.names, self.graph.args, strict=True) if a.type.dtype.is_float]
        wrt = [n for n, t in zip(names, types, strict=True) if t.dtype.is_float]
        first = len(self.graph.outs)
        return {n: Program(_selected(whole, first + every.index(n)), single=True) for n in sorted(wrt)}

    def jvp(self, input_name: str) -> Program:
        """The forward-mode derivative along a tangent of ones of one input.

        Raises:
            ValueError: an unknown input, or one that is not float.
        """
        names, types = self._inputs()
        if input_name not in names:
            raise ValueError(f"Program.jvp: no input is called {input_name!r}; the inputs are {', '.join(names)}")
        which = names.index(input_name)
        if not types[which].dtype.is_float:
            raise ValueError(f"Program.jvp: the input {input_name!r} is {types[which]}, which has no tangents")
        body = self.graph.body()

        def run(*values: Any) -> list[Any]:
            env = dict(zip(body.args, values, strict=True))
            outs, tangents = forward.jvp(body, env, {body.args[which]: ones(types[which])})
            return [dispatch.full(o.type, 0.0) if t is None else t for o, t in zip(outs, tangents, strict=True)]

        graph = build([a.type for a in body.args], self.graph.names, run)
        graph.captures = self._rekeyed(graph)
        return Program(graph, single=self._single)

    def _inputs(self) -> tuple[list[str], list[TensorType]]:
        """The declared inputs; hidden ones follow them among the graph's arguments."""
        count = len(self.graph.args) - len(self.graph.captures)
        return self.graph.names[:count], [a.type for a in self.graph.args[:count]]

    def _rekeyed(self, graph: Graph) -> dict[Any, Any]:
        """The captured arrays with their arguments in a graph derived from this one."""
        count = len(self.graph.args) - len(self.graph.captures)
        hidden = graph.args[count : len(self.graph.args)]
        return {**dict(zip(self.graph.captures, hidden, strict=True)), **graph.captures}

    def compile(self, target: str = "cpu", device_ordinal: int = 0) -> Executable:
        """Compile for a target: ``"cpu"``, ``"cuda"`` or ``"mlx"``.

        Raises:
            ValueError: an unknown target.
            UnsupportedOperationError: a target that this build does not contain, an op that it cannot lower, or a
                program without traced outputs.
        """
        require(_target(target))
        if not self.graph.outs:
            raise errors.UnsupportedOperationError(
                "Program.compile: the program has no traced output", op="compile", device=target
            )
        return Executable(self.graph, target, single=self._single)


def _selected(graph: Graph, index: int) -> Graph:
    """The same graph with one of its results, the captured arrays last among its arguments."""
    one = Graph()
    hidden = set(graph.captures.values())
    pairs = list(zip(graph.args, graph.names, strict=False))
    one.args = [a for a, _ in pairs if a not in hidden] + [a for a, _ in pairs if a in hidden]
    one.names = [n for a, n in pairs if a not in hidden] + [n for a, n in pairs if a in hidden]
    one.captures = graph.captures
    one.nodes = graph.nodes
    one.outs = [graph.outs[index]]
    return one


@errors.hides_library_frames_in_methods
class Executable:
    """A compiled program: maps a dict of named inputs to its output, or to a list of outputs.

    Attributes:
        target: where it runs.
        node_count: the number of inputs and ops.

    Example:
        >>> import quabla as qb
        >>> double = qb.Compiler().trace(lambda x: 2.0 * x, [("x", [2])]).compile("cpu")
        >>> double({"x": qb.array([1.0, 2.0])})
        Tensor([2., 4.], dtype=float64)
    """

    __slots__ = ("_engine", "_graph", "_single", "_specs", "node_count", "target")

    def __init__(self, graph: Graph, target: str, *, single: bool) -> None:
        self._graph = graph
        self._single = single
        self.target = target
        count = len(graph.args) - len(graph.captures)
        self._specs = [(n, a.type) for n, a in zip(graph.names, graph.args[:count], strict=False)]
        self._engine: Engine = engine_for(graph, target)
        warn_of_float32(target, boundary(graph))
        body = graph.body()
        self.node_count = len(body.args) + len(body.nodes)

    def __repr__(self) -> str:
        return f"Executable(target={self.target}, node_count={self.node_count})"

    @property
    def engine(self) -> str:
        """The engine of the last call."""
        return self._engine.name

    def __call__(self, inputs: dict[str, Any]) -> Any:
        """Run the program.

        Args:
            inputs: an array for each input; other keys are ignored.

        Raises:
            TypeError: inputs that are not a dict of arrays.
            ValueError: an input that is missing or has another shape or dtype.
        """
        if not isinstance(inputs, dict):
            raise TypeError(f"{self!r}: inputs must be a dict of arrays by name, got {shown(inputs)}")
        arrays = []
        for name, type in self._specs:
            if name not in inputs:
                raise ValueError(f"{self!r}: the input {name!r} ({type}) is missing")
            x = inputs[name]
            if not isinstance(x, (Tensor, TensorView)):
                raise TypeError(f"{self!r}: the input {name!r} must be a Tensor, got {shown(x)}")
            x = dispatch.as_value(x)
            if x.type is not type:
                raise ValueError(f"{self!r}: the input {name!r} must be {type}, got {x.type}")
            arrays.append(x.data)
        results = self._engine([*arrays, *(captured_array(x) for x in self._graph.captures)])
        outs = [wrap(a, o.type) for a, o in zip(results, self._graph.outs, strict=True)]
        return outs[0] if self._single else outs

    evaluate = __call__
