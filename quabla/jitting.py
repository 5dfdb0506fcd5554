"""``jit``: a function traced once per signature and compiled for a device, at once or ahead of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quabla import errors, tree
from quabla.devices import checked_target
from quabla.ops import dispatch
from quabla.tracing.cache import SignatureCache
from quabla.tracing.engines import engine_for
from quabla.tracing.trace import Arguments, Traced, input_names, parameters_of, trace
from quabla.transforms.narrowing import boundary, warn_of_float32
from quabla.transforms.staging import Staged, StagedProgram, argument_texts, describe_key
from quabla.transforms.wrapper import function_name, static_positions

__all__ = ["Call", "Compiled", "Jit", "Lowered", "jit"]


class Call:
    """One call of a jitted function, taken apart into traced and static arguments.

    Attributes:
        args: the traced arguments, flattened; keyword ones last, by name.
        static: static values by position or name.
        key: everything that a trace depends on.
    """

    __slots__ = ("_count", "_dynamic", "_keywords", "args", "key", "static")

    def __init__(
        self, owner: Jit, args: tuple[Any, ...], kwargs: dict[str, Any], static: set[int], static_names: set[str]
    ) -> None:
        self._count = len(args)
        self._dynamic = [i for i in range(len(args)) if i not in static]
        self._keywords = sorted(k for k in kwargs if k not in static_names)
        self.args = Arguments([*(args[i] for i in self._dynamic), *(kwargs[k] for k in self._keywords)], owner)
        self.static: dict[int | str, Any] = {i: args[i] for i in sorted(static) if i < len(args)}
        self.static |= {k: kwargs[k] for k in sorted(kwargs) if k in static_names}
        key = self.args.key()
        if self.static or self._keywords:
            given = tuple([(k, static_key(k, v)) for k, v in self.static.items()])
            key = (*key, ("static", tuple(self._dynamic), tuple(self._keywords), given))
        self.key = key

    def run(self, fun: Callable[..., Any], built: list[Any]) -> Any:
        """``fun`` at rebuilt traced arguments and the static ones."""
        values = dict(zip(self._dynamic, built, strict=False)) | self.static
        keywords = dict(zip(self._keywords, built[len(self._dynamic) :], strict=True))
        keywords |= {k: v for k, v in self.static.items() if isinstance(k, str)}
        return fun(*[values[i] for i in range(self._count)], **keywords)

    def labels(self) -> list[int | str]:
        """The position or keyword of each traced argument."""
        return [*self._dynamic, *self._keywords]


def static_key(name: int | str, value: Any) -> tuple[Any, ...]:
    """A static value as part of a key.

    Raises:
        TypeError: where it is not hashable.
    """
    try:
        hash(value)
    except TypeError:
        which = f"argument {name}" if isinstance(name, int) else name
        raise TypeError(
            f"jit: the static {which} must be hashable, got {value!r} of type {type(value).__name__}"
        ) from None
    return tree.exact_key(value)


class Jit(Staged):
    """What ``jit`` returns: calls its function through compiled programs, one for each signature."""

    __slots__ = (
        "_body",
        "_parameters",
        "_static",
        "_static_names",
        "_target",
        "_warned",
        "device",
        "precision",
    )

    transform = "jit"

    def __init__(
        self,
        fun: Callable[..., Any],
        device: str | None,
        static_argnums: int | Sequence[int],
        max_traces: int,
        static_argnames: str | Sequence[str],
        precision: str | None,
    ) -> None:
        super().__init__(fun)
        self._target = checked_target("jit", device, precision)
        self._warned = False
        if isinstance(max_traces, bool) or not isinstance(max_traces, int):
            raise TypeError(f"jit: max_traces must be an int, got {max_traces!r}")
        if max_traces < 1:
            raise ValueError(f"jit: max_traces must be at least 1, got {max_traces}")
        self.device = device
        self.precision = precision
        self._static, self._static_names, self._parameters = _static_arguments(fun, static_argnums, static_argnames)
        # A jit of a jit runs what the inner one would: however many there are, one call is one call deep.
        self._body = fun
        if isinstance(fun, Jit) and not (self._is_static() or fun._is_static()):
            self._body = fun._body
        self._cache = SignatureCache(repr(self), max_traces, _describe)

    def _is_static(self) -> bool:
        """Whether some argument is static."""
        return bool(self._static or self._static_names)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if dispatch.emitters.graphs:
                call = self.take_apart(args, kwargs)
                return call.run(self._body, call.args.rebuild(call.args.leaves))
            if not kwargs and not self._static:
                found = self.find(args)
                if found is not None:
                    program, arrays = found
                    return program(arrays)
            call = self.take_apart(args, kwargs)
            program = self._cache.get(call.key)
            if program is None:
                program = self._cache.add(call.key, lambda: self.staged(self.trace(call)))
            return program(call.args.arrays())
        except Exception as e:
            errors.hide_library_frames(e)
            raise

    def take_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """The traced and the static arguments of a call.

        Raises:
            ValueError: a static position that the call does not have.
            TypeError: a static value that is not hashable, or an argument that is not an array or pytree of arrays.
        """
        static = set()
        for i in self._static:
            k = i + len(args) if i < 0 else i
            if 0 <= k < len(args):
                static.add(k)
            elif i not in self._parameters:
                raise ValueError(f"{self!r}: static_argnums {i} is out of range for {len(args)} positional arguments")
        return Call(self, args, kwargs, static, self._static_names)

    def trace(self, call: Call) -> Traced:
        """Trace the function for one call."""
        return trace(self._body, call.args, lambda built: call.run(self._body, built), call.labels())

    def staged(self, traced: Traced) -> StagedProgram:
        """A traced function with its target's engine.

        Raises:
            UnsupportedOperationError: for an op that the target cannot run.
        """
        program = StagedProgram(traced, engine_for(traced.graph, self._target))
        if not self._warned:
            self._warned = warn_of_float32(self._target, boundary(traced.graph))
        return program

    def describe(self, key: tuple[Any, ...]) -> str:
        """A signature as text."""
        return _describe(key)

    @errors.hiding_library_frames
    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Trace without running.

        Args:
            args: arrays, or ``ShapeDtype`` placeholders anywhere in the pytrees.
            kwargs: the same by keyword.

        Returns:
            A ``Lowered`` with ``as_text()``, ``program`` and ``compile()``.

        Raises:
            TypeError: for arguments that are not arrays, placeholders, numbers or pytrees of them.
        """
        call = self.take_apart(args, kwargs)
        with_names = self.trace(call)
        with_names.graph.names[: len(list(call.args.types()))] = input_names(self._body, call.args, call.labels())
        return Lowered(self, call, with_names)


@errors.hides_library_frames_in_methods
class Lowered:
    """A traced function for one signature.

    Attributes:
        program: the program with named inputs and its traced outputs in order.
    """

    __slots__ = ("_call", "_jit", "_traced", "program")

    def __init__(self, jit: Jit, call: Call, traced: Traced) -> None:
        self._jit = jit
        self._call = call
        self._traced = traced
        from quabla.compiler import Program

        self.program = Program(traced.graph, single=False)

    def __repr__(self) -> str:
        return f"Lowered({self._jit!r})"

    def as_text(self) -> str:
        """The program after folding, sharing and dead-code elimination; inputs are named by their pytree path."""
        return self.program.lower_text()

    def stablehlo_text(self) -> str:
        """The program as a StableHLO module."""
        return self.program.stablehlo_text()

    def compile(self) -> Compiled:
        """A function of the same arguments that never traces again."""
        return Compiled(self._jit, self._call, self._jit.staged(self._traced))


@errors.hides_library_frames_in_methods
class Compiled:
    """A compiled function for one signature; it takes arguments as the function does."""

    __slots__ = ("_call", "_jit", "_program")

    def __init__(self, jit: Jit, call: Call, program: StagedProgram) -> None:
        self._jit = jit
        self._call = call
        self._program = program

    def __repr__(self) -> str:
        return f"Compiled({self._jit!r})"

    @property
    def engine(self) -> str:
        """The engine of the last call."""
        return self._program.engine.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program.

        Raises:
            ValueError: arguments whose structure, shapes, dtypes or static values differ from those lowered for.
        """
        call = self._jit.take_apart(args, kwargs)
        if call.key != self._call.key:
            raise ValueError(
                f"{self!r}: was compiled for {self._jit.describe(self._call.key)}, got {self._jit.describe(call.key)}"
            )
        return self._program(call.args.arrays())


def _static_arguments(fun: Callable[..., Any], nums: Any, names: Any) -> tuple[tuple[int, ...], set[str], range]:
    """Static positions and names; each implies the other where the function's signature is known.

    The range is of the positions that have a name: a call may leave them to a keyword or a default.
    """
    positions = static_positions("jit: static_argnums", nums)
    given = (names,) if isinstance(names, str) else names
    if not isinstance(given, (tuple, list)) or not all(isinstance(n, str) for n in given):
        raise TypeError(f"jit: static_argnames must be a str or a sequence of strs, got {names!r}")
    if not positions and not given:
        return (), set(), range(0)
    parameters = parameters_of(fun)
    if parameters is None:
        return positions, set(given), range(0)
    by_name = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    takes_any = any(p.kind == p.VAR_KEYWORD for p in parameters)
    for n in given:
        if not takes_any and n not in [p.name for p in parameters]:
            raise ValueError(f"jit: static_argnames has {n!r}, which {function_name(fun)} does not take")
    if not any(p.kind == p.VAR_POSITIONAL for p in parameters):
        positions = tuple([i + len(by_name) if -len(by_name) <= i < 0 else i for i in positions])
    implied = {by_name[i] for i in positions if -len(by_name) <= i < len(by_name)}
    also = [by_name.index(n) for n in given if n in by_name]
    return tuple(dict.fromkeys((*positions, *also))), implied | set(given), range(len(by_name))


def _shown_static(key: tuple[type, Any]) -> str:
    """The text of a static value from its key."""
    kind, value = key
    if issubclass(kind, (tuple, frozenset)):
        return f"{kind.__name__ if kind is not tuple else ''}({', '.join(map(_shown_static, value))})"
    return repr(float.fromhex(value)) if issubclass(kind, (float, np.floating)) else repr(value)


def _describe(key: tuple[Any, ...]) -> str:
    """A signature as text."""
    if not isinstance(key[-1], tuple) or key[-1][:1] != ("static",):
        return describe_key(key)
    _, _, keywords, given = key[-1]
    texts = argument_texts(key[:-1])
    first = len(texts) - len(keywords)
    texts[first:] = [f"{k}={text}" for k, text in zip(keywords, texts[first:], strict=True)]
    values = ", ".join(f"{k}={_shown_static(v)}" for k, v in given)
    return f"({', '.join(texts)})" + (f" with {values}" if values else "")


def jit(
    fun: Callable[..., Any] | None = None,
    device: str | None = None,
    static_argnums: int | Sequence[int] = (),
    max_traces: int = 8,
    static_argnames: str | Sequence[str] = (),
    precision: str | None = None,
) -> Any:
    """Compile a function: it is traced once for each signature and then runs as one program.

    Args:
        fun: a function of arrays, Python numbers and pytrees. Without it ``jit`` is a decorator.
        device: ``None`` or ``"cpu"``, ``"cuda"``, ``"cuda:N"`` or ``"mlx"``.
        static_argnums: positions of arguments that are values of the trace, not inputs; they must be hashable.
        max_traces: how many signatures are kept; the least recently used makes room, with a ``RetraceWarning``.
        static_argnames: names of static arguments; a position implies its name and the other way round.
        precision: ``"float64"`` runs float64 programs natively on CUDA; it changes nothing on the CPU.

    Returns:
        The compiled function, with ``lower`` for ahead-of-time lowering. Arrays become inputs; Python numbers are
        part of the signature and stay weak constants. What the function returns that is not a traced array is
        passed through.

    Raises:
        TypeError: ``fun`` that cannot be called, or static values that are not hashable.
        ValueError: a device that is not spelled like one, ``max_traces`` below 1, unknown ``static_argnames``.
        UnsupportedOperationError: a target that this build does not contain.

    Example:
        >>> import quabla as qb
        >>> qb.jit(lambda x: qb.sum(x * x))(qb.array([1.0, 2.0]))
        Tensor(5., dtype=float64)
    """
    if fun is None:
        return lambda f: Jit(f, device, static_argnums, max_traces, static_argnames, precision)
    return Jit(fun, device, static_argnums, max_traces, static_argnames, precision)
