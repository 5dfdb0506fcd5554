"""A finished program with float32 for float64, for targets that have no float64."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from quabla import dtypes, errors
from quabla.ops.dispatch import Value, cast
from quabla.ops.types import Const, TensorType
from quabla.tracing.graph import Body, Graph, RegionNode, build, current_graph
from quabla.transforms.bodies import rebuilt
from quabla.transforms.inline import Env

__all__ = ["boundary", "narrowed", "warn_of_float32"]


def narrowed(graph: Graph) -> Graph:
    """The program that the same function would have been with float32 in the place of float64.

    Args:
        graph: a finished graph, expanded; its hidden arguments become ordinary ones, in their places.
    """
    body = graph.body()
    types = [a.type.with_dtype(dtypes.float32) if a.type.dtype is dtypes.float64 else a.type for a in body.args]
    return build(types, graph.names, lambda *arguments: _emit(body, arguments))


def warn_of_float32(target: str, types: Iterable[TensorType]) -> bool:
    """Warn, at the user's line, where a target will run a program on arrays of these types as float32.

    Returns:
        Whether it did.
    """
    if target == "cpu" or all(t.dtype is not dtypes.float64 for t in types):
        return False
    message = f"{target} executes float64 programs as float32"
    warnings.warn(message, UserWarning, stacklevel=errors.user_stacklevel())
    return True


def boundary(graph: Graph) -> list[TensorType]:
    """The types of a program's arguments and results. Inside, the counters of loops are float64 in any case."""
    return [x.type for x in (*graph.args, *graph.outs)]


def _emit(body: Body, arguments: Sequence[Value]) -> list[Value]:
    graph = current_graph()
    # The counter of a loop is float64 whatever the program.
    env: Env = dict(zip(body.args, map(_narrow, arguments), strict=True))
    for n in body.nodes:
        graph.location = n._loc
        operands = tuple([env[k] for k in n.operands])
        if isinstance(n, RegionNode):
            env.update(zip(n.results, rebuilt(n, operands, _emit), strict=True))
        else:
            # Some ops give float64 whatever their operands, such as random samples.
            env[n] = _narrow(graph.emit(n.op, operands, tuple([_attribute(p) for p in n.params])))
    graph.location = None
    return [env[k] for k in body.outs]


def _narrow(x: Value) -> Value:
    return cast(x, dtypes.float32) if x.type.dtype is dtypes.float64 else x


def _attribute(value: Any) -> Any:
    """An attribute of the narrower op."""
    if value is dtypes.float64:
        return dtypes.float32
    if isinstance(value, Const) and value.type.dtype is dtypes.float64:
        with np.errstate(all="ignore"):
            return Const(value.array.astype(np.float32))
    return value
