"""Textual pass pipelines: parsing them, and running them over passes of this package and of MLIR alike.

The syntax is MLIR's: ``builtin.module(qb-vjp{wrt=0},func.func(cse,canonicalize{max-iterations=3}))``. A pass manager
of MLIR runs each pass of MLIR; a pass of this package is called directly, never from C++, where an exception or
an op that is gone would end the process.

Example:
    >>> from quabla.passes import pipeline
    >>> print(pipeline.parse("builtin.module( cse, qb-vjp{wrt=0} )"))
    builtin.module(cse,qb-vjp{wrt=0})
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from quabla import errors
from quabla.dialect import definition as _definition  # noqa: F401  # pyright: ignore[reportUnusedImport]  (loads it)
from quabla.dialect.checks import SourceError, suggestion
from quabla.mlir import context, ir, passmanager
from quabla.passes.table import FUNCTION, MODULE, PASSES, UPSTREAM, read_options

__all__ = ["ANY", "Instrument", "Leaf", "PassError", "Pipeline", "PipelineError", "from_flags", "parse", "run"]

#: The anchor of pipelines that run on any op that is isolated from above.
ANY: Final = "any"


class PipelineError(errors.QuablaError, ValueError):
    """A pipeline is written wrongly.

    Attributes:
        message: what is wrong.
        position: the index in the text of the place.
    """

    def __init__(self, message: str, text: str, position: int) -> None:
        line = text.count("\n", 0, position) + 1
        start = text.rfind("\n", 0, position) + 1
        shown = text[start:].split("\n", 1)[0]
        column = position - start
        super().__init__(f"<pass-pipeline>:{line}:{column + 1}: error: {message}\n{shown}\n{' ' * column}^")
        self.message = message
        self.position = position


class PassError(errors.QuablaError, ValueError):
    """A pass failed.

    Attributes:
        message: why.
        location: the place in the program.
        reported: whether MLIR has already given its diagnostics to the context's handlers.
    """

    def __init__(self, label: str, message: str, location: ir.Location, *, reported: bool = False) -> None:
        super().__init__(f"{label}: {message}")
        self.message = message
        self.location = location
        self.reported = reported


class Leaf:
    """One pass with its options.

    Attributes:
        name: the pass's name.
        options: the options as written, without the braces.
    """

    __slots__ = ("_manager", "_values", "name", "options")

    def __init__(self, name: str, options: str, values: Mapping[str, Any] | None, manager: Any) -> None:
        self.name: Final = name
        self.options: Final = options
        self._values: Final = values
        self._manager: Final = manager

    def __str__(self) -> str:
        return f"{self.name}{{{self.options}}}" if self.options else self.name

    def apply(self, op: ir.Operation, verify: bool) -> ir.Operation:
        """Run the pass; returns the op that is there afterwards.

        Raises:
            PassError: if the pass fails, or verification after it.
        """
        record = PASSES.get(self.name)
        if record is None:
            self._manager.enable_verifier(verify)
            try:
                self._manager.run(op)
            except ir.MLIRError as e:
                raise PassError(str(self), _told(e, "the pass failed"), op.location, reported=True) from None
            return op
        values = self._values or {}
        if record.anchor == FUNCTION and op.name == MODULE:
            for f in _children(op, FUNCTION):
                if len(f.regions[0].blocks):  # a declaration has nothing to work on
                    self._call(f, values)
        else:
            op = self._call(op, values)
        if verify:
            try:
                op.verify()
            except ir.MLIRError as e:
                raise PassError(str(self), _told(e, "the result is invalid"), op.location, reported=True) from None
        return op

    def _call(self, op: ir.Operation, values: Mapping[str, Any]) -> ir.Operation:
        try:
            return PASSES[self.name].run(op, values)
        except SourceError as e:
            place = ir.Location.file(e.file, e.line, e.column, op.context) if e.line else op.location
            raise PassError(str(self), f"{self.name}: {e.message}", place) from e
        except errors.UnsupportedOperationError as e:
            raise PassError(str(self), f"{self.name}: {e}", _place_of(op, e.op)) from e
        except (ValueError, TypeError, LookupError, ArithmeticError, NotImplementedError, RecursionError) as e:
            raise PassError(str(self), f"{self.name}: {e}", op.location) from e


class Pipeline:
    """Passes that run in order on an op of the kind ``anchor``.

    Attributes:
        anchor: the op's name, or ``any``.
        passes: passes, and pipelines for the op's children.
    """

    __slots__ = ("anchor", "passes")

    def __init__(self, anchor: str, passes: Sequence[Leaf | Pipeline]) -> None:
        self.anchor: Final = anchor
        self.passes: Final = tuple(passes)

    def __str__(self) -> str:
        return f"{self.anchor}({','.join(map(str, self.passes))})"


class Instrument(Protocol):
    """Told of every pass that runs."""

    def before(self, leaf: Leaf, op: ir.Operation) -> None: ...

    def after(self, leaf: Leaf, op: ir.Operation) -> None: ...

    def failed(self, leaf: Leaf, op: ir.Operation) -> None: ...


# ---- running ----------------------------------------------------------------------------------------


def run(
    op: ir.Operation, pipeline: Pipeline | str, *, verify: bool = True, instruments: Sequence[Instrument] = ()
) -> ir.Operation:
    """Run a pipeline; returns the op that is there afterwards.

    Args:
        op: the op, of the kind that the pipeline is for.
        pipeline: a pipeline or its text.
        verify: whether the op is verified after every pass.
        instruments: told of every pass before and after it runs.

    Raises:
        PipelineError: for a text that is not a pipeline.
        PassError: if a pass fails. The passes before it have been applied.
    """
    if isinstance(pipeline, str):
        pipeline = parse(pipeline)
    if pipeline.anchor not in (ANY, op.name):
        message = f"can't run '{pipeline.anchor}' pass manager on '{op.name}' op"
        raise PassError(str(pipeline), message, op.location)
    return _run(op, pipeline, verify, instruments)


def _run(op: ir.Operation, pipeline: Pipeline, verify: bool, instruments: Sequence[Instrument]) -> ir.Operation:
    for item in pipeline.passes:
        if isinstance(item, Pipeline):
            for child in _children(op, item.anchor):
                _run(child, item, verify, instruments)
            continue
        for i in instruments:
            i.before(item, op)
        try:
            op = item.apply(op, verify)
        except PassError:
            for i in instruments:
                i.failed(item, op)
            raise
        for i in instruments:
            i.after(item, op)
    return op


def _children(op: ir.Operation, anchor: str) -> list[ir.Operation]:
    found = [view.operation for region in op.regions for block in region.blocks for view in block.operations]
    if anchor == ANY:
        return [child for child in found if child.has_trait(ir.IsIsolatedFromAboveTrait)]
    return [child for child in found if child.name == anchor]


def _place_of(op: ir.Operation, name: str | None) -> ir.Location:
    """The location of the first qb op of this name inside ``op``, or that of ``op``."""
    places: list[ir.Location] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        if inner.name == f"qb.{name}":
            places.append(inner.location)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return places[0] if places else op.location


def _told(error: ir.MLIRError, otherwise: str) -> str:
    """The first message of an MLIR error. Where handlers have taken the diagnostics, there is none."""
    found = error.error_diagnostics
    return found[0].message if found else otherwise


# ---- parsing ----------------------------------------------------------------------------------------


def parse(text: str) -> Pipeline:
    """The pipeline that a text describes.

    Raises:
        PipelineError: with the place, for wrong syntax, unknown passes and options, and passes at the wrong level.
    """
    return _Parser(text).pipeline()


def from_flags(flags: Iterable[tuple[str, str]]) -> Pipeline:
    """The pipeline over a module of passes given one by one, each with its options as text.

    A pass of MLIR that only runs on functions runs on those of the module.

    Raises:
        PipelineError: for unknown passes and options.
    """
    passes: list[Leaf | Pipeline] = []
    for name, options in flags:
        try:
            passes.append(_leaf(name, options, MODULE, name, 0))
        except _WrongLevelError:
            passes.append(Pipeline(FUNCTION, [_leaf(name, options, FUNCTION, name, 0)]))
    return Pipeline(MODULE, passes)


class _WrongLevelError(PipelineError):
    """A pass does not run on ops of its pipeline's kind."""


_NAME: Final = re.compile(r"[A-Za-z_][\w.\-]*")
_SPACE: Final = re.compile(r"\s*")
_MAX_DEPTH: Final = 64


class _Parser:
    """A cursor over a pipeline's text."""

    def __init__(self, text: str) -> None:
        self._text: Final = text
        self._pos = 0

    def _fail(self, message: str, position: int | None = None) -> PipelineError:
        return PipelineError(message, self._text, self._pos if position is None else position)

    def _accept(self, token: str) -> bool:
        self._space()
        if self._text.startswith(token, self._pos):
            self._pos += len(token)
            return True
        return False

    def _space(self) -> None:
        found = _SPACE.match(self._text, self._pos)
        assert found is not None
        self._pos = found.end()

    def _name(self, what: str) -> str:
        self._space()
        found = _NAME.match(self._text, self._pos)
        if found is None:
            raise self._fail(f"expected {what}")
        self._pos = found.end()
        return found[0]

    def pipeline(self) -> Pipeline:
        self._space()
        anchor = self._name("a pass pipeline")
        if not self._accept("("):
            raise self._fail(
                "expected pass pipeline to be wrapped with the anchor operation type, e.g. 'builtin.module(...)'", 0
            )
        passes = self._items(anchor, 1)
        self._space()
        if self._pos != len(self._text):
            raise self._fail("expected the end of the pipeline after ')'")
        return Pipeline(anchor, passes)

    def _items(self, anchor: str, depth: int) -> list[Leaf | Pipeline]:
        """The elements up to the closing parenthesis."""
        opened = self._pos - 1
        if depth > _MAX_DEPTH:
            raise self._fail(f"pipelines nest at most {_MAX_DEPTH} deep", opened)
        items: list[Leaf | Pipeline] = []
        if self._accept(")"):
            return items
        while True:
            self._space()
            start = self._pos
            name = self._name("a pass's name")
            if self._accept("("):
                items.append(Pipeline(name, self._items(name, depth + 1)))
            else:
                options = self._options() if self._accept("{") else ""
                items.append(_leaf(name, options, anchor, self._text, start))
            if self._accept(")"):
                return items
            if not self._accept(","):
                self._space()
                if self._pos == len(self._text):
                    raise self._fail("expected ')' to close this '('", opened)
                raise self._fail("expected ',' or ')' after a pass")

    def _options(self) -> str:
        """The text up to the brace that closes the one before the cursor."""
        start = self._pos
        end = _closing_brace(self._text, start)
        if end is None:
            raise self._fail("expected '}' to close this '{'", start - 1)
        self._pos = end + 1
        return self._text[start:end].strip()


def _closing_brace(text: str, position: int) -> int | None:
    depth = 1
    quote = ""
    for i in range(position, len(text)):
        c = text[i]
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "{}":
            depth += 1 if c == "{" else -1
            if not depth:
                return i
    return None


def _leaf(name: str, options: str, anchor: str, text: str, position: int) -> Leaf:
    """The pass of this name in a pipeline for ops of the kind ``anchor``."""
    record = PASSES.get(name)
    if record is not None:
        try:
            values = read_options(record, _split_options(options))
        except ValueError as e:
            raise PipelineError(str(e), text, position) from None
        if anchor not in (record.anchor, ANY) and not (record.anchor == FUNCTION and anchor == MODULE):
            raise _WrongLevelError(_wrong_level(name, record.anchor, anchor), text, position)
        return Leaf(name, options, values, None)
    shown = f"{name}{{{options}}}" if options else name
    try:
        return Leaf(name, options, None, passmanager.PassManager.parse(f"{anchor}({shown})", context()))
    except ValueError as e:
        lines = [line for line in str(e).splitlines() if line.strip()]
    restricted = re.search(r"Can't add pass '.*' restricted to '([\w.]+)'", lines[0])
    if restricted is not None:
        raise _WrongLevelError(_wrong_level(name, restricted[1], anchor), text, position)
    if "does not refer to a registered pass" in lines[0]:
        message = f"'{name}' does not refer to a registered pass or pass pipeline"
        message += suggestion(name, [*PASSES, *UPSTREAM])
    else:
        message = re.sub(r"^(<.*?>|MLIR Textual PassPipeline Parser:\d+:\d+): *(error: )?", "", lines[0])
    raise PipelineError(message, text, position)


def _wrong_level(name: str, wanted: str, anchor: str) -> str:
    return (
        f"can't add pass '{name}' restricted to '{wanted}' on a pass manager intended to run on '{anchor}', "
        "did you intend to nest?"
    )


_OPTION: Final = re.compile(r"\s*([\w\-]+)(?:=(\"[^\"]*\"|'[^']*'|\{[^}]*\}|[^\s]*))?")


def _split_options(text: str) -> dict[str, str]:
    """``a=1 b="x y"`` as names and values.

    Raises:
        ValueError: for anything else.
    """
    found: dict[str, str] = {}
    position = 0
    while position < len(text.rstrip()):
        option = _OPTION.match(text, position)
        if option is None:
            raise ValueError(f"expected options such as 'wrt=0', got '{text[position:].strip()}'")
        name, value = option[1], option[2]
        if value is None:
            raise ValueError(f"option '{name}' needs a value: '{name}=...'")
        if name in found:
            raise ValueError(f"option '{name}' is given twice")
        quoted = value[:1] in ("'", '"', "{")
        found[name] = value[1:-1] if quoted else value
        position = option.end()
    return found
