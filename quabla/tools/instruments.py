"""What watches the passes of a run: printing the program around them, and timing them."""

from __future__ import annotations

import json
import re
import sys
import time
from typing import Any, Final

from quabla.mlir import ir
from quabla.passes.pipeline import Leaf, Pipeline
from quabla.tools.options import CommandLine

__all__ = ["PrintIR", "Printer", "Timing", "reproducer_text"]


class Printer:
    """Prints ops as the command line wants them."""

    def __init__(self, line: CommandLine) -> None:
        self._debug: Final = bool(line["mlir-print-debuginfo"] or line["mlir-pretty-debuginfo"])
        self._form: Final[dict[str, Any]] = {
            "print_generic_op_form": bool(line["mlir-print-op-generic"]),
            "enable_debug_info": self._debug,
            "pretty_debug_info": bool(line["mlir-pretty-debuginfo"]),
            "use_local_scope": bool(line["mlir-print-local-scope"]),
            "large_elements_limit": line["mlir-elide-elementsattrs-if-larger"],
        }

    def text(self, op: ir.Operation, source: str = "") -> str:
        """The op's text, with a line break at its end; ``source`` is the name of the file it was parsed from."""
        text = str(op.get_asm(**self._form)).rstrip("\n") + "\n"
        if self._debug and source:
            # MLIR parses from memory here, where the file's name is unknown to it.
            pretty = self._form["pretty_debug_info"]
            unnamed, name = (r"(?<= )-(?=:\d+:\d+)", source) if pretty else (r'"-"(?=:\d)', json.dumps(source))
            text = re.sub(unnamed, lambda _: name, text)
        return text


class PrintIR:
    """Prints the program to standard error before and after the passes that the command line names."""

    def __init__(self, line: CommandLine, printer: Printer) -> None:
        self._printer: Final = printer
        self._before: Final = frozenset(line["mlir-print-ir-before"])
        self._after: Final = frozenset(line["mlir-print-ir-after"])
        self._before_all: Final = bool(line["mlir-print-ir-before-all"])
        self._after_all: Final = bool(line["mlir-print-ir-after-all"])
        self._only_changed: Final = bool(line["mlir-print-ir-after-change"])
        self._failure: Final = bool(line["mlir-print-ir-after-failure"])
        self._module_scope: Final = bool(line["mlir-print-ir-module-scope"])
        self._earlier = ""

    def before(self, leaf: Leaf, op: ir.Operation) -> None:
        if self._before_all or leaf.name in self._before:
            self._print("Before", leaf, op, self._text(op))
        if self._only_changed and self._prints_after(leaf):
            self._earlier = self._text(op)

    def after(self, leaf: Leaf, op: ir.Operation) -> None:
        if self._prints_after(leaf):
            text = self._text(op)
            if not self._only_changed or text != self._earlier:
                self._print("After", leaf, op, text)

    def failed(self, leaf: Leaf, op: ir.Operation) -> None:
        if self._failure or self._prints_after(leaf):
            # What a failed pass left may be invalid, and only the generic form prints whatever there is.
            scope = self._scope(op)
            self._print("After", leaf, op, f"{scope.get_asm(print_generic_op_form=True)}\n", " Failed")

    def _prints_after(self, leaf: Leaf) -> bool:
        return self._after_all or leaf.name in self._after

    def _scope(self, op: ir.Operation) -> ir.Operation:
        if self._module_scope:
            while op.parent is not None:
                op = op.parent.operation
        return op

    def _text(self, op: ir.Operation) -> str:
        return self._printer.text(self._scope(op))

    def _print(self, when: str, leaf: Leaf, op: ir.Operation, text: str, outcome: str = "") -> None:
        where = ""
        if op.parent is not None:
            symbol = f": @{ir.StringAttr(op.attributes['sym_name']).value}" if "sym_name" in op.attributes else ""
            where = f" ('{op.name}' operation{symbol})"
        sys.stderr.write(f"// -----// IR Dump {when} {leaf}{outcome}{where} //----- //\n{text}\n")


class Timing:
    """Measures the passes of a run."""

    def __init__(self) -> None:
        self._spans: Final[dict[str, float]] = {}
        self._started: Final = time.perf_counter()
        self._pass_started = 0.0

    def before(self, leaf: Leaf, op: ir.Operation) -> None:
        self._pass_started = time.perf_counter()

    def after(self, leaf: Leaf, op: ir.Operation) -> None:
        nested = f"'{op.name}' " if op.parent is not None else ""
        self.add(f"{nested}{leaf}", time.perf_counter() - self._pass_started)

    failed = after

    def add(self, what: str, seconds: float) -> None:
        """Add to the time of a step."""
        self._spans[what] = self._spans.get(what, 0.0) + seconds

    def report(self) -> str:
        """The table that MLIR's tools print."""
        total = time.perf_counter() - self._started
        rule = f"===-{'-' * 73}-===\n"
        rows = [*self._spans.items(), ("Rest", max(0.0, total - sum(self._spans.values()))), ("Total", total)]
        return "".join(
            [
                f"{rule}{'... Execution time report ...':^80}".rstrip() + f"\n{rule}",
                f"  Total Execution Time: {total:.4f} seconds\n\n  ----Wall Time----  ----Name----\n",
                *(f"  {t:8.4f} ({100 * t / total:5.1f}%)  {name}\n" for name, t in rows),
            ]
        )


def reproducer_text(op: ir.Operation, pipeline: Pipeline, verify: bool) -> str:
    """The program and the pipeline, as ``--run-reproducer`` takes them."""
    quoted = str(pipeline).replace("\\", "\\\\").replace('"', '\\"')
    return (
        f"{str(op.get_asm(print_generic_op_form=True, enable_debug_info=True)).rstrip()}\n\n"
        "{-#\n  external_resources: {\n    mlir_reproducer: {\n"
        f'      pipeline: "{quoted}",\n      disable_threading: true,\n      verify_each: {str(verify).lower()}\n'
        "    }\n  }\n#-}\n"
    )
