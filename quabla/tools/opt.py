"""``qb-opt``: read a program in any of its forms, run passes, print it.

The options are those that users of mlir-opt expect. Whatever is wrong with the input is told as
``file:line:column: error: ...`` with the source line, and the exit status is 1.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

from quabla import errors
from quabla.dialect.checks import SourceError, suggestion
from quabla.mlir import context, ir
from quabla.passes import pipeline as pipelines
from quabla.passes.pipeline import Instrument, PassError, Pipeline, PipelineError
from quabla.passes.table import PASSES, UPSTREAM
from quabla.tools import options, roundtrip
from quabla.tools.diagnostics import Diagnostic, Diagnostics, Source
from quabla.tools.instruments import Printer, PrintIR, Timing, reproducer_text
from quabla.tools.options import CommandLine, UsageError

__all__ = ["main"]

MARKER: Final = "// -----"
_BYTECODE: Final = b"ML\xefR"
_CONVERSION: Final = "convert-qb-to-stablehlo"
_NARROWING: Final = "qb-narrow"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the driver.

    Args:
        argv: the arguments without the program's name; default: this process's.

    Returns:
        The exit status: 0, or 1 if anything was wrong.
    """
    try:
        line = options.read(sys.argv[1:] if argv is None else argv)
        if line["help"]:
            return _say(options.help_text())
        if line["version"]:
            return _say(_version())
        if line["list-passes"]:
            return _say(options.list_passes())
        if line["show-dialects"]:
            return _say(_dialects())
        return _Driver(line).run()
    except (UsageError, PipelineError) as e:
        sys.stderr.write(f"qb-opt: {e}\n" if isinstance(e, UsageError) else f"{e}\n")
        return 1
    except BrokenPipeError:
        # The reader has seen enough. Python would complain once more when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _say(text: str) -> int:
    sys.stdout.write(text)
    sys.stdout.flush()
    return 0


def _version() -> str:
    from importlib.metadata import version

    import quabla
    from quabla.mlir import stablehlo

    python = sys.version.split()[0]
    return (
        f"qb-opt (quabla {quabla.__version__})\n"
        f"  MLIR from torch-mlir {version('torch-mlir')}, StableHLO {stablehlo.get_current_version()}, Python {python}\n"
    )


#: Names to ask the bindings for, since they give no list.
_DIALECTS: Final = (
    "acc affine amdgpu arith arm_neon arm_sme arm_sve async bufferization builtin cf chlo complex dlti emitc func gpu "
    "index irdl linalg llvm math memref ml_program mpi nvgpu nvvm omp pdl pdl_interp ptr quant rocdl scf shape shard smt "
    "sparse_tensor spirv stablehlo tensor tosa transform ub vector vhlo wasmssa x86 xegpu"
)


def _dialects() -> str:
    known = ["qb"]
    for name in _DIALECTS.split():
        try:
            context().get_dialect_descriptor(name)
        except ValueError:
            continue
        known.append(name)
    return f"Available Dialects: {', '.join(sorted(known))}\n"


class _Driver:
    """One run over one input."""

    def __init__(self, line: CommandLine) -> None:
        self._line: Final = line
        self._verify: Final[bool] = line["verify-each"]
        self._printer: Final = Printer(line)
        self._timing: Final = Timing() if line["mlir-timing"] else None
        self._pipeline = self._read_pipeline()

    def _read_pipeline(self) -> Pipeline:
        line = self._line
        if line["pass-pipeline"] is not None:
            return pipelines.parse(line["pass-pipeline"])
        try:
            return pipelines.from_flags(line.passes)
        except PipelineError as e:
            if not e.message.startswith("'") or "does not refer to a registered pass" not in e.message:
                raise UsageError(e.message) from None
            name = e.message.split("'")[1]
            known = [f.name for f in options.FLAGS] + [*PASSES, *UPSTREAM]
            near = suggestion(name, known).replace("'", "'--", 1)
            raise UsageError(f"Unknown command line argument '--{name}'. Try: 'qb-opt --help'{near}") from None

    def run(self) -> int:
        data = self._read_input()
        if data is None:
            return 1
        name = "<stdin>" if self._line.input == "-" else self._line.input
        text = self._decode(data, name)
        if text is None:
            return 1
        source = Source(name, text)
        if not data.strip():
            sys.stderr.write(f"{name}:1:1: error: the input is empty; expected MLIR or the text of a program\n")
            return 1
        if self._line["run-reproducer"]:
            self._pipeline = _stored_pipeline(text)
        c = context()
        c.allow_unregistered_dialects = self._line["allow-unregistered-dialect"] or False
        try:
            if self._line["dump-pass-pipeline"]:
                sys.stderr.write(f"Pass Manager with {len(self._pipeline.passes)} passes:\n{self._pipeline}\n")
            return self._run_parts(source, data)
        finally:
            c.allow_unregistered_dialects = False
            if self._timing is not None:
                sys.stderr.write(self._timing.report())

    def _run_parts(self, source: Source, data: bytes) -> int:
        outputs: list[str] = []
        good = True
        parts = _split(source) if self._line["split-input-file"] else [(1, len(source.lines))]
        for first, last in parts:
            diagnostics = Diagnostics(source, keep=bool(self._line["verify-diagnostics"]))
            with diagnostics.attached(context()):
                output = self._run_part(source, data, first, last, diagnostics)
            if self._line["verify-diagnostics"]:
                good &= diagnostics.check(first, last)
            else:
                good &= output is not None
            if output is not None:
                outputs.append(output)
        # As with mlir-opt, a file is only written if all went well, and standard output gets what there is.
        to_file = self._line["o"] != "-"
        if good or not to_file:
            good &= self._write((MARKER + "\n").join(outputs))
        return 0 if good else 1

    # ---- one part -----------------------------------------------------------------------------------

    def _run_part(self, source: Source, data: bytes, first: int, last: int, diagnostics: Diagnostics) -> str | None:
        """The output for the source lines ``first`` to ``last``, or None if something was wrong."""
        # Line breaks in place of the lines before keep the line numbers those of the file.
        text = "\n" * (first - 1) + "\n".join(source.lines[first - 1 : last])
        module = self._timed("Parser", self._parse, source.name, data, text, diagnostics)
        if module is None:
            return None
        if self._line["verify-roundtrip"]:
            fault = roundtrip.fault(module)
            if fault is not None:
                diagnostics.error(fault, module.operation.location)
                return None
        if not self._transform(module, diagnostics):
            return None
        return self._timed("Output", self._emit, module, source.name, diagnostics)

    def _timed(self, what: str, step: Any, *arguments: Any) -> Any:
        started = time.perf_counter()
        result = step(*arguments)
        if self._timing is not None:
            self._timing.add(what, time.perf_counter() - started)
        return result

    def _parse(self, name: str, data: bytes, text: str, diagnostics: Diagnostics) -> ir.Module | None:
        try:
            if data.startswith(_BYTECODE):
                return ir.Module.parse(data, context())
            if _is_text_form(text):
                from quabla.dialect import writer
                from quabla.dialect.text import parse

                return writer.write(parse(text, name))
            depth = _too_deep(text)
            if depth is not None:
                diagnostics.add(Diagnostic("error", f"brackets nest more than {_MAX_DEPTH} deep", name, *depth))
                return None
            return ir.Module.parse(text, context())
        except SourceError as e:
            diagnostics.add(Diagnostic("error", e.message, e.file, e.line, e.column))
        except ir.MLIRError as e:
            if not diagnostics.errors:
                diagnostics.error(str(e), ir.Location.unknown(context()))
        return None

    def _transform(self, module: ir.Module, diagnostics: Diagnostics) -> bool:
        """Run the passes; whether all went well."""
        reproducer = self._line["mlir-pass-pipeline-crash-reproducer"]
        if reproducer is not None:
            # Written before anything runs, it is there even if the process ends in a crash.
            text = reproducer_text(module.operation, self._pipeline, self._verify)
            if not _write_file(reproducer, text):
                return False
        instruments: list[Instrument] = [PrintIR(self._line, self._printer)]
        if self._timing is not None:
            instruments.append(self._timing)
        try:
            pipelines.run(module.operation, self._pipeline, verify=self._verify, instruments=instruments)
        except PassError as e:
            if not (e.reported and diagnostics.errors):
                diagnostics.error(e.message, e.location)
            if reproducer is not None:
                place = ir.Location.file(reproducer, 0, 0, context())
                diagnostics.error(
                    f"Failures have been detected while processing an MLIR pass pipeline; reproducer generated at `{reproducer}`",
                    place,
                )
            return False
        if reproducer is not None:
            os.remove(reproducer)
        return True

    # ---- output -------------------------------------------------------------------------------------

    def _emit(self, module: ir.Module, name: str, diagnostics: Diagnostics) -> str | None:
        emit = self._line["emit"]
        try:
            if emit == "stablehlo":
                pipelines.run(module.operation, f"builtin.module({_CONVERSION})", verify=self._verify)
            elif emit == "mlx":
                return _mlx(module, verify=self._verify)
            elif emit is not None:
                texts = _texts(module)
                if emit == "text":
                    return (MARKER + "\n").join(texts)
        except PassError as e:
            if not (e.reported and diagnostics.errors):
                diagnostics.error(e.message, e.location)
            return None
        except errors.UnsupportedOperationError as e:
            diagnostics.error(f"cannot emit {emit}: {e}", ir.Location.unknown(context()))
            return None
        except SourceError as e:
            diagnostics.add(Diagnostic("error", f"cannot emit {emit}: {e.message}", e.file, e.line, e.column))
            return None
        return self._printer.text(module.operation, name)

    def _write(self, text: str) -> bool:
        if self._line["o"] != "-":
            return _write_file(self._line["o"], text)
        sys.stdout.write(text)
        sys.stdout.flush()
        return True

    # ---- input --------------------------------------------------------------------------------------

    def _read_input(self) -> bytes | None:
        name = self._line.input
        try:
            if name == "-":
                return sys.stdin.buffer.read()
            with open(name, "rb") as f:
                return f.read()
        except OSError as e:
            sys.stderr.write(f"qb-opt: cannot open input file '{name}': {e.strerror}\n")
            return None

    def _decode(self, data: bytes, name: str) -> str | None:
        if data.startswith(_BYTECODE):
            return ""
        try:
            text = data.decode()
        except UnicodeDecodeError as e:
            line = data.count(b"\n", 0, e.start) + 1
            column = e.start - data.rfind(b"\n", 0, e.start)
            sys.stderr.write(f"{name}:{line}:{column}: error: the file is not UTF-8 text\n")
            return None
        return text.replace("\r\n", "\n")


def _write_file(name: str, text: str) -> bool:
    try:
        with open(name, "w", encoding="utf-8") as f:
            f.write(text)
    except OSError as e:
        sys.stderr.write(f"qb-opt: cannot open output file '{name}': {e.strerror}\n")
        return False
    return True


def _texts(module: ir.Module) -> list[str]:
    """The text form of every function.

    Raises:
        SourceError: for a function that is not one of qb ops.
    """
    from quabla.dialect import reader
    from quabla.dialect.text import as_text

    return [as_text(reader.read(op.operation)) for op in module.body.operations]


def _mlx(module: ir.Module, *, verify: bool) -> str:
    """The Python source over ``mlx.core`` of a module of qb or StableHLO functions.

    Raises:
        UnsupportedOperationError: for what MLX cannot run.
    """
    from quabla.lowering.exact_f32 import functions_of, walk
    from quabla.lowering.mlx.to_mlx import translate

    if any(op.name.startswith("qb.") for op in walk(f.regions for f in functions_of(module))):
        pipelines.run(module.operation, f"builtin.module(func.func({_NARROWING}),{_CONVERSION})", verify=verify)
    return translate(module)


def _split(source: Source) -> list[tuple[int, int]]:
    """The first and last lines of the parts of a source."""
    marks = [i for i, line in enumerate(source.lines, 1) if line.rstrip() == MARKER]
    return list(zip([1, *(m + 1 for m in marks)], [*(m - 1 for m in marks), len(source.lines)], strict=True))


_FIRST: Final = re.compile(r"(?:\s|//[^\n]*(?:\n|\Z))*(%|outputs:|returns:)")


def _is_text_form(text: str) -> bool:
    """Whether a text is of the form that ``as_text()`` prints: no MLIR file starts with a value."""
    return _FIRST.match(text) is not None


def _stored_pipeline(text: str) -> Pipeline:
    """The pipeline of a reproducer.

    Raises:
        UsageError: for a file that holds none.
    """
    found = re.search(r'mlir_reproducer:\s*\{[^}]*?pipeline:\s*"((?:[^"\\]|\\.)*)"', text)
    if found is None:
        raise UsageError("--run-reproducer: the input has no mlir_reproducer with a pipeline")
    return pipelines.parse(found[1].replace('\\"', '"').replace("\\\\", "\\"))


#: MLIR's parser recurses for every bracket, until the stack is full and the process ends.
_MAX_DEPTH: Final = 1000


def _too_deep(text: str) -> tuple[int, int] | None:
    """The line and column of the bracket that nests too deep, if there is one."""
    if text.count("(") + text.count("[") + text.count("{") + text.count("<") <= _MAX_DEPTH:
        return None
    depth = 0
    for found in re.finditer(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|->|[(\[{<]|[)\]}>]', text):
        token = found[0]
        if token in ("(", "[", "{", "<"):
            depth += 1
            if depth > _MAX_DEPTH:
                start = found.start()
                return text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
        elif token in (")", "]", "}", ">"):
            depth -= 1
    return None


if __name__ == "__main__":
    sys.exit(main())
