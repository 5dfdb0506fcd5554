"""Diagnostics of the driver: collecting, showing them with their source lines, and checking expected ones."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from quabla.dialect.checks import suggestion
from quabla.mlir import ir, place
from quabla.ops.registry import REGISTRY

__all__ = ["Diagnostic", "Diagnostics", "Source"]

#: The name that MLIR gives to a text without a file.
_UNNAMED: Final = "-"
_NOWHERE: Final = ("", 0, 0)
#: Longer source lines are not shown.
_SHOWN: Final = 1000
_UNKNOWN_OP: Final = re.compile(r"unregistered operation '(qb\.[\w.]+)'")
_SEVERITIES: Final = {
    ir.DiagnosticSeverity.ERROR: "error",
    ir.DiagnosticSeverity.WARNING: "warning",
    ir.DiagnosticSeverity.REMARK: "remark",
    ir.DiagnosticSeverity.NOTE: "note",
}


class Source:
    """The input: its name for messages, and its lines."""

    __slots__ = ("_lines", "_text", "name")

    def __init__(self, name: str, text: str) -> None:
        self.name: Final = name
        self._text: Final = text
        self._lines: list[str] | None = None

    @property
    def lines(self) -> list[str]:
        if self._lines is None:
            self._lines = self._text.split("\n")
        return self._lines


class Diagnostic(NamedTuple):
    """One diagnostic; ``line`` and ``column`` are 0 where they are unknown, ``file`` is empty then."""

    severity: str
    message: str
    file: str
    line: int
    column: int

    def shown(self, source: Source) -> str:
        """``file:line:column: error: message``, the source line and a caret."""
        if not self.line:
            return f"{self.file or '<unknown>:0'}: {self.severity}: {self.message}\n"
        place = f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")
        head = f"{place}: {self.severity}: {self.message}\n"
        if self.file != source.name or self.line > len(source.lines):
            return head
        line = source.lines[self.line - 1].rstrip()
        if len(line) > _SHOWN:
            return head
        column = self.column - 1 if self.column else len(line) - len(line.lstrip())
        before = len(line[:column].expandtabs(8))
        return f"{head}{line.expandtabs(8)}\n{' ' * before}^\n"


class Diagnostics:
    """Receives a context's diagnostics: shows them at once, or keeps them for comparison with expected ones.

    Attributes:
        errors: how many errors have come.
    """

    def __init__(self, source: Source, *, keep: bool) -> None:
        self._source: Final = source
        self._keep: Final = keep
        self._kept: Final[list[Diagnostic]] = []
        self.errors = 0

    @contextmanager
    def attached(self, context: ir.Context) -> Generator[None]:
        """Receive everything that MLIR reports in ``context``."""
        handler = context.attach_diagnostic_handler(self._receive)
        context.emit_error_diagnostics = True
        try:
            yield
        finally:
            context.emit_error_diagnostics = False
            handler.detach()

    def _receive(self, diagnostic: ir.Diagnostic) -> bool:
        # Reproducers keep their pipeline in a section that MLIR's parser knows nothing of.
        if not diagnostic.message.startswith("ignoring unknown external resources for 'mlir_reproducer'"):
            self._add(diagnostic)
            for note in diagnostic.notes:
                # mlir-opt does not have these notes either while it checks diagnostics.
                if not (self._keep and note.message.startswith("see current operation: ")):
                    self._add(note)
        return True

    def _add(self, diagnostic: ir.Diagnostic) -> None:
        file, line, column = place(diagnostic.location) or _NOWHERE
        message = diagnostic.message
        unknown = _UNKNOWN_OP.match(message)
        if unknown is not None:
            message += suggestion(unknown[1], [op.mlir_name for op in REGISTRY.values()])
        self.add(Diagnostic(_SEVERITIES[diagnostic.severity], message, file, line, column))

    def add(self, diagnostic: Diagnostic) -> None:
        """Receive one diagnostic."""
        if diagnostic.file == _UNNAMED:
            diagnostic = diagnostic._replace(file=self._source.name)
        if diagnostic.severity == "error":
            self.errors += 1
        if self._keep:
            self._kept.append(diagnostic)
        else:
            sys.stderr.write(diagnostic.shown(self._source))

    def error(self, message: str, location: ir.Location) -> None:
        """Receive an error at a place in the program."""
        file, line, column = place(location) or _NOWHERE
        self.add(Diagnostic("error", message, file, line, column))

    def check(self, first: int, last: int) -> bool:
        """Whether what was kept is what comments on these source lines expect; differences are shown."""
        expected = list(_expected(self._source, first, last))
        found = [Diagnostic("error", e.fault, self._source.name, e.at, e.column) for e in expected if e.fault]
        left = [e for e in expected if not e.fault]
        for d in self._kept:
            hit = next((e for e in left if e.matches(d)), None)
            if hit is not None:
                left.remove(hit)
            else:
                found.append(d._replace(severity="error", message=f"unexpected {d.severity}: {d.message}"))
        for e in left:
            message = f'expected {e.severity} "{e.text}" was not produced'
            found.append(Diagnostic("error", message, self._source.name, e.at, e.column))
        for d in found:
            sys.stderr.write(d.shown(self._source))
        return not found


class _Expected(NamedTuple):
    severity: str
    line: int  # where the diagnostic must be; 0 for nowhere
    text: str
    pattern: re.Pattern[str]
    at: int  # where the comment is
    column: int
    fault: str = ""

    def matches(self, d: Diagnostic) -> bool:
        return d.severity == self.severity and d.line == self.line and self.pattern.search(d.message) is not None


_EXPECTED: Final = re.compile(
    r"expected-(error|note|remark|warning)(-re)? *(?:@([+-]\d+|above|below|unknown))? *\{\{(.*)\}\}\s*$"
)
_WORDS: Final = re.compile(r"expected-(?:error|note|remark|warning)\b")


def _expected(source: Source, first: int, last: int) -> Iterator[_Expected]:
    """What comments on the lines ``first`` to ``last`` expect."""
    # `above` and `below` skip lines that hold nothing but such comments.
    designators = {n for n in range(first, last + 1) if source.lines[n - 1].lstrip().startswith("// expected-")}
    for number in range(first, last + 1):
        line = source.lines[number - 1]
        if "expected-" not in line:
            continue
        found = _EXPECTED.search(line)
        if found is None:
            words = _WORDS.search(line)
            if words is not None and "{{" in line:
                yield _Expected("error", 0, "", _WORDS, number, words.start() + 1, "malformed expected-* comment")
            continue
        severity, regex, where, text = found.groups()
        at = _target(where, number, designators)
        column = found.start() + 1
        try:
            pattern = re.compile(_pattern(text) if regex else re.escape(text))
        except re.error as e:
            yield _Expected(severity, at, text, _WORDS, number, column, f"invalid regular expression: {e}")
            continue
        yield _Expected(severity, at, text, pattern, number, column)


def _target(where: str | None, line: int, designators: set[int]) -> int:
    if where is None:
        return line
    if where == "unknown":
        return 0
    if where in ("above", "below"):
        step = 1 if where == "below" else -1
        line += step
        while line in designators:
            line += step
        return line
    return line + int(where)


def _pattern(text: str) -> str:
    """A text with regular expressions between double braces as one regular expression."""
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return "".join(f"(?:{p})" if i % 2 else re.escape(p) for i, p in enumerate(parts))
