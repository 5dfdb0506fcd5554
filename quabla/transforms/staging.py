"""Transformed functions: emitted in place inside a trace, traced once per signature and run outside one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quabla import errors, tree
from quabla.array import Tensor
from quabla.ops import dispatch
from quabla.ops.eager import wrap
from quabla.ops.types import TensorType
from quabla.tracing.cache import SignatureCache
from quabla.tracing.engines import Engine, engine_for
from quabla.tracing.graph import RegionNode
from quabla.tracing.plan import Plan
from quabla.tracing.trace import Arguments, Traced, trace
from quabla.transforms.wrapper import Wrapper

__all__ = [
    "Staged",
    "StagedProgram",
    "Transformed",
    "argument_texts",
    "leaves_like",
    "run_once",
    "shown",
]

#: How many signatures a transformed function other than jit keeps.
KEPT_TRACES = 64


def shown(x: object) -> str:
    """An object for a message: a container by its structure and the types of its leaves, others as they print."""
    leaves, treedef = tree.flatten(x)
    if len(leaves) != 1 or leaves[0] is not x:
        types = [str(v.type) if dispatch.is_value(v) else type(v).__name__ for v in leaves]
        return f"{_cut(treedef.text(types), 200)}, a {type(x).__name__}"
    return f"{_cut(repr(x), 80)} of type {type(x).__name__}"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}..."


def leaves_like(treedef: Any, given: Any) -> list[Any]:
    """The parts of ``given`` in the places of a structure's leaves (None: a single leaf).

    Raises:
        ValueError: where the structures differ.
    """
    leaves = [given] if treedef is None else treedef.flatten_up_to(given)
    for x in leaves:
        if x.__class__ in (dict, list, tuple):
            raise ValueError(f"expected one array, got {shown(x)}")
    return leaves


class StagedProgram:
    """A traced function with the engine that runs it.

    Args:
        eager: the user did not ask for compilation, so a matrix that an op refuses is an error, not NaN.
    """

    __slots__ = ("_captured", "_may_refuse", "_result", "_types", "_weak", "engine", "traced")

    def __init__(self, traced: Traced, engine: Engine | None = None, *, eager: bool = False) -> None:
        self.traced = traced
        self._may_refuse = eager and _may_refuse(traced.graph.nodes)
        self.engine = engine_for(traced.graph) if engine is None else engine
        self._captured = [captured_array(x) for x in traced.graph.captures]
        self._result = traced.result
        self._types: list[TensorType] = [o.type for o in traced.graph.outs]
        self._weak = [i for i, o in enumerate(traced.result.outputs) if o.weak]

    def __call__(self, arrays: list[Any]) -> Any:
        """The result for these input arrays."""
        if self._captured:
            arrays = [*arrays, *self._captured]
        results = self.engine(arrays)
        if self._may_refuse and any(np.isnan(a).any() for a in results):
            from quabla.ops.matrices import refusing  # only programs with such ops load them

            with refusing():
                Plan(self.traced.graph)(arrays)
        outs = [wrap(a, t) for a, t in zip(results, self._types, strict=True)]
        for i in self._weak:
            outs[i].weak = True
        return self._result.rebuild(outs)


def _may_refuse(nodes: Sequence[Any]) -> bool:
    """Whether some op, in regions too, refuses operands."""
    return any(
        any(_may_refuse(r.nodes) for r in n.regions) if isinstance(n, RegionNode) else n.op.refusal for n in nodes
    )


def captured_array(x: Any) -> Any:
    """The array of an eager value that a trace captured.

    Raises:
        TracerError: for a traced value.
    """
    if x.traced:
        if x.ended:
            raise errors.TracerError(x.escaped("closure"))
        raise errors.TracerError(
            f"closure: a program that runs now uses {x.described()}, which has no value while "
            f"tracing{errors.at_user_line()}. Run the program outside the traced function"
        )
    return x.data


def run_once(fun: Callable[..., Any], args: Arguments) -> Any:
    """Trace ``fun`` at concrete arguments and run it."""
    return StagedProgram(trace(fun, args), eager=True)(args.arrays())


class Staged(Wrapper):
    """Base of what keeps a program for each signature it is called with."""

    __slots__ = ("_cache",)

    _cache: SignatureCache

    def find(self, args: tuple[Any, ...]) -> tuple[StagedProgram, list[Any]] | None:
        """The program of an earlier call with arrays of these types, and the arrays; None where there is none."""
        types: list[Any] = [(None,) * len(args)]
        for a in args:
            if a.__class__ is not Tensor or a.weak:
                break
            types.append(a.type)
        else:
            program = self._cache.get(tuple(types))
            return None if program is None else (program, [a.data for a in args])
        if any(isinstance(a, (int, float)) for a in args):  # such a number may still have to become an array
            return None
        flat = Arguments(args, self)
        program = self._cache.get(flat.key())
        return None if program is None else (program, flat.arrays())


class Transformed(Staged):
    """Base of what ``grad``, ``vmap`` and their like return: a function of positional pytree arguments."""

    __slots__ = ()

    def __init__(self, fun: Callable[..., Any]) -> None:
        super().__init__(fun)
        self._cache = SignatureCache(repr(self), KEPT_TRACES, describe_key)

    def prepare(self, args: tuple[Any, ...]) -> Sequence[Any]:
        """The arguments as the transform wants them; raises for wrong ones."""
        return args

    def emit(self, args: Sequence[Any]) -> Any:
        """Emit the transformed function into the graph under construction; returns its result."""
        raise NotImplementedError

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if kwargs:
                raise TypeError(f"{self!r} takes positional arguments only, got {', '.join(kwargs)}")
            tracing = dispatch.emitters.graphs
            if not tracing:
                found = self.find(args)
                if found is not None:
                    program, arrays = found
                    return program(arrays)
            args = tuple(self.prepare(args))
            if tracing:
                return self.emit(args)
            flat = Arguments(args, self)
            key = flat.key()
            program = self._cache.get(key)
            if program is None:
                program = self._cache.add(key, lambda: StagedProgram(trace(lambda *a: self.emit(a), flat), eager=True))
            return program(flat.arrays())
        except Exception as e:
            errors.hide_library_frames(e)
            raise


def describe_key(key: tuple[Any, ...]) -> str:
    """A signature as text: types of arrays, values of Python numbers."""
    return f"({', '.join(argument_texts(key))})"


def argument_texts(key: tuple[Any, ...]) -> list[str]:
    """The arguments of a signature as texts: structures around types of arrays and values of Python numbers."""
    leaves = iter(key[1:])
    texts = []
    for treedef in key[0]:
        if treedef is None:
            texts.append(_leaf_text(next(leaves)))
        else:
            texts.append(treedef.text([_leaf_text(next(leaves)) for _ in range(treedef.num_leaves)]))
    return texts


def _leaf_text(leaf: Any) -> str:
    """A leaf of a signature as text."""
    if isinstance(leaf, TensorType):
        return str(leaf)
    kind, value = leaf
    if isinstance(kind, TensorType):
        return f"{kind} (weak)"
    return repr(float.fromhex(value) if issubclass(kind, float) else value)
