"""Transformed functions: emitted in place inside a trace, traced once per signature and run outside one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from types import MethodType
from typing import Any, Final, Self

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

#: Flags of the code of functions that return before they have run, as in ``inspect``, which costs time to import.
CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR = 0x20, 0x80, 0x200

__all__ = [
    "StagedProgram",
    "Transformed",
    "Wrapper",
    "argument_texts",
    "check_callable",
    "function_name",
    "leaves_like",
    "run_once",
    "shown",
    "static_positions",
]

#: How many signatures a transformed function other than jit keeps.
KEPT_TRACES = 64

#: How many transforms around a function its name shows.
NAMED_WRAPPERS: Final = 8


def check_callable(fun: object, transform: str) -> None:
    """Raise TypeError where ``fun`` cannot be called, or returns before it has run."""
    if not callable(fun):
        raise TypeError(f"{transform}: expected a function, got {fun!r} of type {type(fun).__name__}")
    flags = getattr(getattr(fun, "__code__", None), "co_flags", 0)
    if flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR):
        kind = "generator" if flags & CO_GENERATOR else "async"
        raise TypeError(f"{transform}: expected a function that returns its result, got the {kind} function {fun!r}")


def static_positions(what: str, nums: Any) -> tuple[int, ...]:
    """Positions of arguments, an int or a sequence of ints, as a tuple.

    Raises:
        TypeError: for anything else.
    """
    positions = (nums,) if isinstance(nums, (int, np.integer)) else nums
    if not isinstance(positions, (tuple, list)) or any(
        isinstance(i, bool) or not isinstance(i, (int, np.integer)) for i in positions
    ):
        raise TypeError(f"{what} must be an int or a sequence of ints, got {nums!r}")
    return tuple([int(i) for i in positions])


def function_name(fun: Any) -> str:
    """How messages call a function; of functions that are wrapped many times over, only the outer wrappers."""
    around = ""
    depth = 0
    while isinstance(fun, Wrapper):
        if depth == NAMED_WRAPPERS:
            return f"{around}...{')' * depth}"
        around += f"{fun.transform}("
        depth += 1
        fun = fun.__wrapped__
    return f"{around}{getattr(fun, '__qualname__', None) or repr(fun)}{')' * depth}"


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


class _Docstring:
    """``__doc__`` of a class of wrappers: the class's own, and for an instance that of the function inside."""

    __slots__ = ("_own",)

    def __init__(self, own: str | None) -> None:
        self._own = own

    def __get__(self, instance: Any, owner: type | None = None) -> str | None:
        return self._own if instance is None else instance.__wrapped__.__doc__


@errors.hides_library_frames_in_methods
class Wrapper:
    """Base of what every transform returns: it stands for the user's function, as a method too."""

    __slots__ = ("__weakref__", "_cache", "_fun")

    transform: str
    _fun: Callable[..., Any]
    _cache: SignatureCache

    def __init_subclass__(cls) -> None:
        cls.__doc__ = _Docstring(cls.__doc__)  # pyright: ignore[reportAttributeAccessIssue]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

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
        flat = Arguments(args)
        program = self._cache.get(flat.key())
        return None if program is None else (program, flat.arrays())

    def __repr__(self) -> str:
        return f"{self.transform}({function_name(self._fun)})"

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The user's function, whose signature ``inspect.signature`` shows."""
        return self._fun

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind like a function, so that methods can be transformed; the instance is an argument like any other."""
        return self if instance is None else MethodType(self, instance)

    # Like a function it is its own copy, and pickled by its name.
    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        module, name = getattr(self._fun, "__module__", None), getattr(self._fun, "__qualname__", None)
        if isinstance(module, str) and isinstance(name, str) and _named(module, name) is self:
            return _named, (module, name)
        raise TypeError(
            f"{self!r} cannot be pickled: only what stands in a module under its function's name can, as after a "
            "decorator; pickle the function and transform it where it is loaded"
        )


def _named(module: str, name: str) -> Any:
    """What a module holds under a qualified name; None where there is nothing."""
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


class Transformed(Wrapper):
    """Base of what ``grad``, ``vmap`` and their like return: a function of positional pytree arguments."""

    __slots__ = ()

    def __init__(self, fun: Callable[..., Any]) -> None:
        check_callable(fun, self.transform)
        self._fun = fun
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
