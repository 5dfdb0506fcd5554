"""``jvp`` and ``vjp``: a function's value together with one product with its Jacobian."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from quabla import errors
from quabla.ops import dispatch
from quabla.ops.eager import wrap
from quabla.ops.rules import zeros
from quabla.ops.types import TensorType
from quabla.tracing.engines import engine_for
from quabla.tracing.graph import Graph, current_graph
from quabla.tracing.trace import Arguments, Output, ResultTree, array_leaf, nested, trace
from quabla.transforms import forward, reverse
from quabla.transforms.autodiff import tree_of_arrays
from quabla.transforms.inline import inline
from quabla.transforms.staging import captured_array, leaves_like, run_once, shown
from quabla.transforms.wrapper import check_callable, function_name

__all__ = ["VjpFunction", "jvp", "vjp"]


@errors.hiding_library_frames
def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value of ``fun`` and its derivative along a direction, by forward mode.

    Args:
        fun: a function of arrays and pytrees.
        primals: the arguments, a tuple or list.
        tangents: the direction, with the structure, shapes and dtypes of ``primals``; numbers go with rank-0
            primals, and the tangent of a bool leaf is ignored and may be None.

    Returns:
        The result and its tangent, of the same structure. Leaves that do not move have zero tangents; those
        that are not float arrays have None.

    Raises:
        TypeError: primals or tangents that are not tuples or lists, or a tangent of another shape or dtype.
        ValueError: tangents of another structure.

    Example:
        >>> import quabla as qb
        >>> qb.jvp(lambda x: x * x, (3.0,), (1.0,))
        (Tensor(9., dtype=float64), Tensor(6., dtype=float64))
    """
    check_callable(fun, "jvp")
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"jvp: {name} must be a tuple or a list, got {type(given).__name__}")
    if len(primals) != len(tangents):
        raise ValueError(f"jvp: {len(primals)} primals but {len(tangents)} tangents")
    args = Arguments([tree_of_arrays(p, "jvp") for p in primals])
    directions = _tangent_leaves(args, tangents)
    moving = [i for i, t in enumerate(directions) if t is not None]

    def emit(*leaves: Any) -> Any:
        flat = Arguments(args.rebuild(leaves[: len(args.leaves)]))
        return _emit_jvp(fun, flat, dict(zip(moving, leaves[len(args.leaves) :], strict=True)))

    leaves = [*args.leaves, *(directions[i] for i in moving)]
    return emit(*leaves) if dispatch.emitters.graphs else run_once(emit, Arguments(leaves))


def _tangent_leaves(args: Arguments, tangents: Sequence[Any]) -> list[Any]:
    """The tangent of every primal leaf; None for bool leaves."""
    out: list[Any] = []
    for i, (t, treedef, span) in enumerate(zip(tangents, args.treedefs, args.spans, strict=True)):
        try:
            leaves = leaves_like(treedef, t)
        except ValueError as e:
            raise ValueError(f"jvp: tangents[{i}] has another structure than primals[{i}]: {e}") from None
        primals = [args.leaves[k] for k in span]
        out.extend([_tangent(i, x, v) if x.type.dtype.is_float else None for x, v in zip(primals, leaves, strict=True)])
    return out


def _tangent(i: int, primal: Any, t: Any) -> Any:
    """One tangent, checked against its primal."""
    v = array_leaf(t, f"jvp: tangents[{i}]")
    if isinstance(v, (int, float)):
        if primal.type.shape != ():
            raise TypeError(f"jvp: tangents[{i}] has the number {v} where the primal is {primal.type}")
        return wrap(float(v), primal.type)
    if v.type is not primal.type:
        raise TypeError(f"jvp: tangents[{i}] has {v.type} where the primal is {primal.type}{errors.at_user_line()}")
    return v


def _emit_jvp(fun: Callable[..., Any], args: Arguments, directions: dict[int, Any]) -> tuple[Any, Any]:
    """Emit ``fun`` and its tangent; ``directions`` holds the tangents of the leaves that move."""
    graph = current_graph()
    traced = trace(fun, args)
    body, env, nodes = nested(traced, args)
    dot = {n: graph.lift(directions[i]) for i, n in enumerate(nodes) if n is not None and i in directions}
    outs, tangents = forward.jvp(body, env, dot)
    moved = [
        (zeros(o.type) if t is None else t) if o.type.dtype.is_float else None
        for o, t in zip(outs, tangents, strict=True)
    ]
    return traced.result.rebuild(outs), _tangent_tree(traced.result, moved)


def _tangent_tree(result: ResultTree, tangents: Sequence[Any]) -> Any:
    """The result's structure around tangents: zeros for float leaves that were not traced, None for others."""
    leaves: list[Any] = []
    for x in result.leaves:
        if x.__class__ is Output:
            leaves.append(tangents[x.index])
        elif dispatch.is_value(x):
            leaves.append(zeros(x.type) if x.type.dtype.is_float else None)
        else:
            leaves.append(0.0 if isinstance(x, float) else None)
    return leaves[0] if result.treedef is None else result.treedef.unflatten(leaves)


# ---- vjp --------------------------------------------------------------------------------------------


class VjpFunction:
    """Maps a cotangent of the result to a tuple with the cotangents of the primals."""

    __slots__ = ("_args", "_name", "_result", "_run", "_types")

    def __init__(
        self,
        name: str,
        args: Arguments,
        result: ResultTree,
        types: list[TensorType],
        run: Callable[[list[Any]], Sequence[Any]],
    ) -> None:
        self._name = name
        self._args = args
        self._result = result
        self._types = types
        self._run = run

    def __repr__(self) -> str:
        return f"vjp({self._name})"

    @errors.hiding_library_frames
    def __call__(self, *cotangents: Any) -> tuple[Any, ...]:
        """The cotangents of the primals, for one cotangent of the result.

        Raises:
            ValueError: a cotangent of another structure than the result.
            TypeError: a cotangent of another shape or dtype.
        """
        if len(cotangents) != 1:
            raise TypeError(f"{self!r}: takes one cotangent, of the structure of the result, got {len(cotangents)}")
        cts = iter(self._run(self._seeds(cotangents[0])))
        out = []
        for i, span in enumerate(self._args.spans):
            leaves = [next(cts) if self._args.leaves[k].type.dtype.is_float else None for k in span]
            out.append(self._args.rebuild_one(i, leaves))
        return tuple(out)

    def _seeds(self, cotangent: Any) -> list[Any]:
        """The cotangents of the float outputs, in order."""
        try:
            leaves = leaves_like(self._result.treedef, cotangent)
        except ValueError as e:
            raise ValueError(f"{self!r}: the cotangent has another structure than the result: {e}") from None
        return [
            self._seed(x, self._types[leaf.index])
            for x, leaf in zip(leaves, self._result.leaves, strict=True)
            if leaf.__class__ is Output and self._types[leaf.index].dtype.is_float
        ]

    def _seed(self, x: Any, type: TensorType) -> Any:
        v = array_leaf(x, f"{self!r}: the cotangent")
        if isinstance(v, (int, float)):
            if type.shape != ():
                raise TypeError(f"{self!r}: the cotangent is the number {v} where the result is {type}")
            return wrap(float(v), type)
        if v.type is not type:
            raise TypeError(f"{self!r}: the cotangent is {v.type} where the result is {type}{errors.at_user_line()}")
        return v


@errors.hiding_library_frames
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of ``fun`` and a function for its vector-Jacobian products, by reverse mode.

    Args:
        fun: a function of arrays and pytrees; with ``has_aux`` it returns a pair of a result and anything.
        primals: the arguments; Python numbers count as float64 arrays.
        has_aux: whether ``fun`` also returns an auxiliary result.

    Returns:
        ``(out, vjp_fun)`` or ``(out, vjp_fun, aux)``. ``vjp_fun(cotangent)`` returns a tuple with one cotangent for
        each primal, of its structure; bool leaves get None. The forward part runs once, however often
        ``vjp_fun`` is called.

    Raises:
        ValueError: if no result is a float array that depends on the trace.
        TypeError: with ``has_aux``, if ``fun`` does not return a pair.

    Example:
        >>> import quabla as qb
        >>> out, vjp_fun = qb.vjp(lambda x, y: x * y, 2.0, 3.0)
        >>> vjp_fun(1.0)
        (Tensor(3., dtype=float64), Tensor(2., dtype=float64))
    """
    check_callable(fun, "vjp")
    name = function_name(fun)
    args = Arguments([tree_of_arrays(p, f"vjp({name})") for p in primals])
    parts: list[ResultTree] = []

    def call(built: list[Any]) -> Any:
        result = fun(*built)
        if has_aux and (not isinstance(result, tuple) or len(result) != 2):
            raise TypeError(
                f"vjp({name}): with has_aux=True the function must return a pair (out, aux), got {shown(result)}"
            )
        out, aux = result if has_aux else (result, None)
        parts[:] = ResultTree(out), ResultTree(aux)
        return out, aux

    def linearize(values: Arguments) -> tuple[list[Any], list[TensorType], Callable[[Sequence[Any]], list[Any]]]:
        """Emit the forward part: its outputs, the types of those with cotangents, and what emits the rest."""
        traced = trace(fun, values, call)
        body, env, nodes = nested(traced, values)
        floats = [n for n in nodes if n is not None and n.type.dtype.is_float]
        outs, pullback = reverse.vjp(body, env, set(floats))
        types = [o.type for o in outs[: len(parts[0].outputs)]]
        if not any(t.dtype.is_float for t in types):
            raise ValueError(f"vjp({name}): no result is a float array that depends on the arguments")

        def emit(seeds: Sequence[Any]) -> list[Any]:
            if not dispatch.emitters.graphs:
                raise errors.TracerError(
                    f"vjp({name}): the function for cotangents was made in a trace that has ended; call it in the traced "
                    "function, or make it outside"
                )
            into = current_graph()
            given = iter(seeds)
            full = [into.lift(next(given)) if t.dtype.is_float else None for t in types]
            cts = pullback([*full, *[None] * (len(outs) - len(full))])
            return [cts[n] if n in cts else zeros(n.type) for n in floats]

        return outs, types, emit

    if dispatch.emitters.graphs:
        outs, types, run = linearize(args)
    else:
        outs, types, run = _run_forward(args, linearize)
    result, aux = parts
    function = VjpFunction(name, args, result, types, run)
    value = result.rebuild(outs[: len(types)])
    return (value, function, aux.rebuild(outs[len(types) :])) if has_aux else (value, function)


def _run_forward(args: Arguments, linearize: Callable[[Arguments], Any]) -> tuple[list[Any], list[TensorType], Any]:
    """Run the forward part now; the backward part is a program of its own that keeps the residuals."""
    graph = Graph(args.types())
    with graph:
        outs, types, emit = linearize(Arguments(args.rebuild(graph.args)))
        back = Graph([t for t in types if t.dtype.is_float])
        with back:
            back.finish(emit(back.args))
        graph.finish([*outs, *back.captures])
    captured = [captured_array(x) for x in graph.captures]
    arrays = engine_for(graph)([*(x.data for x in args.leaves), *captured])
    values = [wrap(a, o.type) for a, o in zip(arrays, graph.outs, strict=True)]
    results, residuals = values[: len(outs)], values[len(outs) :]
    engine = engine_for(back)

    def run(seeds: Sequence[Any]) -> list[Any]:
        if dispatch.emitters.graphs:
            into = current_graph()
            body = back.body()
            lifted = [into.lift(x) for x in (*seeds, *residuals)]
            return inline(body, dict(zip(body.args, lifted, strict=True)))
        cts = engine([x.data for x in (*seeds, *residuals)])
        return [wrap(a, o.type) for a, o in zip(cts, back.outs, strict=True)]

    return results, types, run
