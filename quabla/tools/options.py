"""The driver's options: the table of them, help, and reading a command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from quabla.passes.table import PASSES, UPSTREAM, Pass

__all__ = ["FLAGS", "CommandLine", "Flag", "UsageError", "help_text", "list_passes", "read"]

EMIT: Final = ("text", "qb", "stablehlo", "mlx")

_GENERAL: Final = "General options"
_PRINTING: Final = "Printing options"
_RUNNING: Final = "Pass options"


class Flag(NamedTuple):
    """One option of the driver.

    Attributes:
        kind: ``"flag"`` takes no value or a truth value; ``"text"``, ``"count"``, ``"names"`` and ``"choice"`` need one.
        value: what to call the value in the help text.
    """

    name: str
    kind: str
    group: str
    summary: str
    value: str = ""
    default: Any = None


FLAGS: Final = (
    Flag("o", "text", _GENERAL, "Output file", "<filename>", "-"),
    Flag("emit", "choice", _GENERAL, "What to print; default: the module as it is", f"<{'|'.join(EMIT)}>"),
    Flag("split-input-file", "flag", _GENERAL, "Process each part between '// -----' lines on its own"),
    Flag("verify-diagnostics", "flag", _GENERAL, "Check diagnostics against expected-* comments"),
    Flag("verify-roundtrip", "flag", _GENERAL, "Check that each input survives printing and parsing, in every form"),
    Flag("allow-unregistered-dialect", "flag", _GENERAL, "Allow operation with no registered dialects"),
    Flag("list-passes", "flag", _GENERAL, "Print the list of passes and exit"),
    Flag("show-dialects", "flag", _GENERAL, "Print the list of registered dialects and exit"),
    Flag("help", "flag", _GENERAL, "Display available options and exit"),
    Flag("version", "flag", _GENERAL, "Display the version and exit"),
    Flag("pass-pipeline", "text", _RUNNING, "Textual description of the pass pipeline to run", "<pipeline>"),
    Flag("dump-pass-pipeline", "flag", _RUNNING, "Print the pipeline that will be run"),
    Flag("verify-each", "flag", _RUNNING, "Run the verifier after each pass", default=True),
    Flag("mlir-timing", "flag", _RUNNING, "Display execution times"),
    Flag(
        "mlir-pass-pipeline-crash-reproducer",
        "text",
        _RUNNING,
        "Write a reproducer there if a pass fails or crashes",
        "<filename>",
    ),
    Flag("run-reproducer", "flag", _RUNNING, "Run the pipeline stored in the reproducer"),
    Flag("mlir-print-ir-before", "names", _RUNNING, "Print IR before specified passes", "<pass,...>", ()),
    Flag("mlir-print-ir-after", "names", _RUNNING, "Print IR after specified passes", "<pass,...>", ()),
    Flag("mlir-print-ir-before-all", "flag", _RUNNING, "Print IR before each pass"),
    Flag("mlir-print-ir-after-all", "flag", _RUNNING, "Print IR after each pass"),
    Flag("mlir-print-ir-after-change", "flag", _RUNNING, "Print IR after a pass only if the pass changed it"),
    Flag("mlir-print-ir-after-failure", "flag", _RUNNING, "Print IR after a pass that failed"),
    Flag("mlir-print-ir-module-scope", "flag", _RUNNING, "Print the whole module before and after passes"),
    Flag("mlir-print-op-generic", "flag", _PRINTING, "Print the generic op form"),
    Flag("mlir-print-debuginfo", "flag", _PRINTING, "Print debug info in MLIR output"),
    Flag("mlir-pretty-debuginfo", "flag", _PRINTING, "Print debug info for reading; it does not parse"),
    Flag("mlir-print-local-scope", "flag", _PRINTING, "Print without aliases for attributes, types and locations"),
    Flag(
        "mlir-elide-elementsattrs-if-larger",
        "count",
        _PRINTING,
        "Elide elements attributes larger than this",
        "<count>",
    ),
)

_BY_NAME: Final = {f.name: f for f in FLAGS}
_ALIASES: Final = {"h": "help"}
_TRUTH: Final = {"": True, "true": True, "1": True, "false": False, "0": False}


class UsageError(Exception):
    """The command line is wrong."""


class CommandLine:
    """A command line that was read.

    Attributes:
        input: the input file, ``-`` for standard input.
        passes: the passes that were given as options, in order, each with its own options.
    """

    __slots__ = ("_values", "input", "passes")

    def __init__(self) -> None:
        self.input = "-"
        self.passes: list[tuple[str, str]] = []
        self._values: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        return self._values.get(name, _BY_NAME[name].default)

    def put(self, flag: Flag, text: str) -> None:
        """Set an option.

        Raises:
            UsageError: for a value of another kind.
        """
        self._values[flag.name] = _value(flag, text)


def read(arguments: Sequence[str]) -> CommandLine:
    """Read a command line. What is not an option of the driver is taken for a pass.

    Raises:
        UsageError: for values that are missing or wrong, and a second input file.
    """
    line = CommandLine()
    inputs: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            inputs.extend(rest)
        elif argument == "-" or not argument.startswith("-"):
            inputs.append(argument)
        else:
            name, equals, text = argument.lstrip("-").partition("=")
            flag = _BY_NAME.get(_ALIASES.get(name, name))
            if flag is None:
                line.passes.append((name, text.strip()))
            elif flag.kind == "flag":
                line.put(flag, text)
            else:
                if not equals:
                    following = next(rest, None)
                    if following is None:
                        raise UsageError(f"for the {_dashed(name)} option: requires a value")
                    text = following
                line.put(flag, text)
    if len(inputs) > 1:
        raise UsageError(f"too many positional arguments specified: one input file, got {', '.join(inputs)}")
    if inputs:
        line.input = inputs[0]
    if line["pass-pipeline"] is not None and line.passes:
        raise UsageError("'--pass-pipeline' option can't be used with individual pass options")
    return line


def _value(flag: Flag, text: str) -> Any:
    option = f"for the {_dashed(flag.name)} option:"
    if flag.kind == "flag":
        value = _TRUTH.get(text.lower())
        if value is None:
            raise UsageError(f"{option} '{text}' is invalid value for boolean argument! Try 0 or 1")
        return value
    if flag.kind == "count":
        if not text.isdecimal() or len(text) > 18:
            raise UsageError(f"{option} '{text}' value invalid for uint argument!")
        return int(text)
    if flag.kind == "names":
        return tuple(name.strip() for name in text.split(","))
    if flag.kind == "choice" and text not in EMIT:
        raise UsageError(f"{option} '{text}' is not one of {', '.join(EMIT)}")
    return text


def _dashed(name: str) -> str:
    return f"-{name}" if len(name) == 1 else f"--{name}"


# ---- help -------------------------------------------------------------------------------------------

_COLUMN: Final = 44


def help_text() -> str:
    """The options by group, and the passes."""
    lines = [
        "OVERVIEW: qb-opt: run passes on programs of the qb dialect, its text form, or StableHLO",
        "",
        "USAGE: qb-opt [options] [passes in order] <input file>",
        "",
        "The input is '-' (standard input) by default. Its form is found out: the text that as_text() prints, MLIR",
        "in generic or custom form, or MLIR bytecode.",
    ]
    for group in (_GENERAL, _RUNNING, _PRINTING):
        lines += ["", f"{group}:"]
        for flag in FLAGS:
            if flag.group == group:
                value = f"={flag.value}" if len(flag.name) > 1 else f" {flag.value}"
                lines.append(_row(f"  {_dashed(flag.name)}{value if flag.value else ''}", flag.summary))
    return "\n".join([*lines, "", list_passes()])


def list_passes() -> str:
    """The passes of this package with their options, and MLIR's."""
    lines = ["quabla passes:"]
    for record in PASSES.values():
        lines += _pass_rows(record)
    lines += ["", "Passes of MLIR and StableHLO (any other that the MLIR bindings register can be named too):"]
    lines += [_row(f"  --{name}", summary) for name, summary in UPSTREAM.items()]
    return "\n".join(lines) + "\n"


def _pass_rows(record: Pass) -> list[str]:
    values = {"int": "<int>", "ints": "<int,...>", "axes": "<0|none,...>"}
    rows = [_row(f"  --{record.name}", record.summary)]
    for option in record.options:
        required = " (required)" if option.required else ""
        rows.append(_row(f"    {option.name}={values[option.kind]}", f"  {option.summary}{required}"))
    return rows


def _row(left: str, right: str) -> str:
    return f"{left.ljust(_COLUMN)} - {right}"
