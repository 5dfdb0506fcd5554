"""qb-opt's driver in this process, textual pipelines, and that the lit tests leave out no op."""

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from quabla.mlir import context, ir
from quabla.ops import load_all
from quabla.ops.registry import REGISTRY
from quabla.passes import pipeline
from quabla.passes.table import PASSES, UPSTREAM, read_options
from quabla.tools import opt

ROOT = Path(__file__).resolve().parent.parent.parent

SIN = """\
func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.sin"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
"""


class Run:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def qb_opt(capsys, monkeypatch):
    def run(text, *arguments):
        data = text if isinstance(text, bytes) else text.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        code = opt.main(list(arguments))
        return Run(code, *capsys.readouterr())

    return run


# ---- the driver -------------------------------------------------------------------------------------


def test_prints_the_module_of_standard_input(qb_opt):
    r = qb_opt(SIN)
    assert (r.code, r.err) == (0, "")
    assert '"qb.sin"(%arg0)' in r.out


def test_passes_run_in_the_order_of_the_command_line(qb_opt):
    vmapped_gradient = qb_opt(SIN, "--qb-vjp", "--qb-vmap=size=4", "--emit=text")
    assert vmapped_gradient.out.startswith(
        "%0 = input[name=arg0] : tensor<4x3xf64>\n%1 = input[name=ct] : tensor<4x3xf64>"
    )
    assert vmapped_gradient.out.endswith("outputs: [[4, 3], [4, 3]]\n")
    again = qb_opt(SIN, "--qb-vmap=size=4", "--qb-vjp", "--emit=text")
    assert again.out == vmapped_gradient.out


@pytest.mark.parametrize("dashes", ["-", "--"])
def test_options_take_one_dash_or_two_and_values_either_way(qb_opt, tmp_path, dashes):
    for i, arguments in enumerate(([f"{dashes}emit=text"], [f"{dashes}emit", "text"])):
        file = tmp_path / f"out{i}.txt"
        assert qb_opt(SIN, *arguments, "-o", str(file)).out == ""
        assert (
            file.read_text() == "%0 = input[name=arg0] : tensor<3xf64>\n%1 = sin(%0) : tensor<3xf64>\noutputs: [[3]]\n"
        )


def test_bytecode_is_read(qb_opt):
    into = io.BytesIO()
    ir.Module.parse(SIN, context()).operation.write_bytecode(into)
    r = qb_opt(into.getvalue(), "--emit=text")
    assert r.code == 0
    assert "sin(%0)" in r.out


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_line_breaks_of_either_kind(qb_opt, line_break):
    text = "%0 = input[name=a] : tensor<f64>\noutputs: [[]]\n"
    assert qb_opt(text.replace("\n", line_break), "--emit=text").out == text


@pytest.mark.parametrize("text", ["", " \n\n"])
def test_an_empty_input_is_an_error(qb_opt, text):
    r = qb_opt(text)
    assert (r.code, r.out) == (1, "")
    assert r.err == "<stdin>:1:1: error: the input is empty; expected MLIR or the text of a program\n"


def test_an_empty_part_of_an_input_is_an_empty_module(qb_opt):
    assert qb_opt("// -----\n", "--split-input-file").out == "module {\n}\n// -----\nmodule {\n}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--qb-vpj"], "Unknown command line argument '--qb-vpj'. Try: 'qb-opt --help'; did you mean '--qb-vjp'?"),
        (["--split-input"], "did you mean '--split-input-file'?"),
        (["--qb-vjp=wrt"], "option 'wrt' needs a value"),
        (["--qb-vjp=by=1"], "no such option 'by' of 'qb-vjp'; it has wrt"),
        (["--qb-simplify=x=1"], "no such option 'x' of 'qb-simplify'; it has none"),
        (["--canonicalize=nope=1"], "no such option nope"),
        (["--emit=ptx"], "for the --emit option: 'ptx' is not one of text, qb, stablehlo"),
        (["--emit"], "for the --emit option: requires a value"),
        (["--verify-each=maybe"], "for the --verify-each option: 'maybe' is invalid value for boolean argument"),
        (["--mlir-elide-elementsattrs-if-larger=-1"], "'-1' value invalid for uint argument"),
        (["a.mlir", "b.mlir"], "too many positional arguments specified"),
        (["--cse", "--pass-pipeline=any(cse)"], "can't be used with individual pass options"),
        (["--run-reproducer"], "the input has no mlir_reproducer"),
        (["-o", "/no/such/folder/out"], "cannot open output file '/no/such/folder/out': No such file or directory"),
        (["/no/such/file"], "cannot open input file '/no/such/file': No such file or directory"),
        (["/"], "cannot open input file '/': Is a directory"),
    ],
)
def test_a_wrong_command_line_is_told_in_one_line(qb_opt, arguments, message):
    r = qb_opt(SIN, *arguments)
    assert r.code == 1
    assert message in r.err
    assert r.err.startswith("qb-opt: ")
    assert r.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (SIN.replace("sin", "sinn"), "<stdin>:2:8", "unregistered operation 'qb.sinn'"),
        (SIN[:90], "<stdin>:2:", "expected"),
        (
            SIN.replace("-> tensor<3xf64>", "-> tensor<2xf64>").replace("return %0 : tensor<3", "return %0 : tensor<2"),
            "<stdin>:2:8",
            "the result type tensor<2xf64>",
        ),
        (SIN.replace('"qb.sin"(%x)', '"qb.sin"(%y)'), "<stdin>:2:17", "use of undeclared SSA value name"),
        (SIN.replace("3xf64", "?xf64"), "<stdin>:2:8", "expected a tensor of static shape"),
        (SIN.replace("3xf64", "3xi16"), "<stdin>:2:8", "expected elements of type f64, f32, i1, i32 or i64"),
        ("%0 = sinn(%1) : tensor<f64>\n", "<stdin>:1:6", "unknown op 'sinn'"),
        ("%0 = input[name=a] : tensor<f64>\n", "<stdin>:2:1", "may be truncated"),
        ("\x00\x01", "<stdin>:1:2", "unexpected character"),
        ("func.func @f() attributes {a = " + "[" * 100_000, "<stdin>:1:", "brackets nest more than 1000 deep"),
        ("!a = " + "tuple<" * 100_000, "<stdin>:1:", "brackets nest more than 1000 deep"),
    ],
)
def test_a_wrong_program_is_told_with_its_place(qb_opt, text, place, message):
    r = qb_opt(text, "--qb-vjp")
    assert (r.code, r.out) == (1, "")
    assert r.err.startswith(place)
    assert ": error: " in r.err.split("\n")[0]
    assert message in r.err.split("\n")[0]


def test_every_prefix_of_a_program_is_a_program_or_an_error(qb_opt):
    for text in (SIN, qb_opt(SIN, "--emit=text").out):
        for n in range(len(text)):
            r = qb_opt(text[:n], "--qb-jvp", "--emit=text")
            assert r.code == 0 or re.match(r"<stdin>:\d+(:\d+)?: error: |<stdin>: error: ", r.err), (n, r.err)


def test_the_context_is_left_as_it_was(qb_opt):
    assert qb_opt('"foo.bar"() : () -> ()', "--allow-unregistered-dialect").code == 0
    assert not context().allow_unregistered_dialects
    assert qb_opt('"foo.bar"() : () -> ()').code == 1


def test_dumps_of_a_failed_pass_name_it(qb_opt):
    r = qb_opt(SIN, "--cse", "--qb-vjp=wrt=7", "--mlir-print-ir-after-failure")
    assert r.code == 1
    assert "IR Dump After qb-vjp{wrt=7} Failed" in r.err
    assert "IR Dump After cse" not in r.err


def test_a_reproducer_goes_when_all_is_well(qb_opt, tmp_path):
    file = tmp_path / "reproducer.mlir"
    assert qb_opt(SIN, "--cse", f"--mlir-pass-pipeline-crash-reproducer={file}").code == 0
    assert not file.exists()


def test_expected_diagnostics_without_a_place(qb_opt):
    text = "// expected-error@unknown {{func.func' pass manager}}\n" + SIN
    assert qb_opt(text, "--verify-diagnostics", "--pass-pipeline=func.func(cse)").code == 0


def test_listed_passes_exist(qb_opt):
    listed = set(re.findall(r"^  --(\S+)", qb_opt("", "--list-passes").out, re.MULTILINE))
    assert listed == {*PASSES, *UPSTREAM}
    for name in UPSTREAM:
        pipeline.parse(f"any({name})")


def test_a_reader_that_closes_early_gets_no_traceback():
    many = "".join(SIN.replace("@f", f"@f{i}") for i in range(2000))
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "tools" / "qb-opt")], stdin=-1, stdout=-1, stderr=-1, text=True
    )
    process.stdout.close()
    process.stdin.write(many)
    process.stdin.close()
    assert process.stderr.read() == ""
    assert process.wait() == 1


# ---- pipelines --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("builtin.module(cse)", None),
        ("any()", None),
        (" builtin.module ( cse ,\n canonicalize ) ", "builtin.module(cse,canonicalize)"),
        ("builtin.module(func.func(cse,qb-vjp{wrt=0,1}),any(canonicalize{max-iterations=3}))", None),
        ("builtin.module(qb-vmap{ size=4 in-axes=0,none })", "builtin.module(qb-vmap{size=4 in-axes=0,none})"),
        ("builtin.module(inline{op-pipelines=func.func(canonicalize,cse)})", None),
        ("builtin.module(inline{default-pipeline={canonicalize,cse}})", None),
    ],
)
def test_a_pipeline_prints_as_it_parses(text, printed):
    assert str(pipeline.parse(text)) == (printed or text)
    assert str(pipeline.parse(printed or text)) == (printed or text)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "expected a pass pipeline"),
        ("cse", 1, "expected pass pipeline to be wrapped with the anchor operation type"),
        ("builtin.module(", 16, "expected a pass's name"),
        ("builtin.module(cse", 15, "expected ')' to close this '('"),
        ("builtin.module(cse canonicalize)", 20, "expected ',' or ')' after a pass"),
        ("builtin.module(cse,)", 20, "expected a pass's name"),
        ("builtin.module(cse))", 20, "expected the end of the pipeline after ')'"),
        ("builtin.module(func.func(cse)", 15, "expected ')' to close this '('"),
        ("builtin.module(qb-vjp{wrt=0)", 22, "expected '}' to close this '{'"),
        ("builtin.module(cse,foo)", 20, "'foo' does not refer to a registered pass or pass pipeline"),
        ("builtin.module(func.func(qb-simplfy))", 26, "did you mean 'qb-simplify'?"),
        ("builtin.module(qb-vjp{wrt=x})", 16, "must be non-negative integers with commas between, got 'x'"),
        ("builtin.module(qb-vmap{size=2 size=3})", 16, "option 'size' is given twice"),
        ("func.func(stablehlo-exact-f32)", 11, "restricted to 'builtin.module' on a pass manager intended to run on"),
        ("builtin.module(affine-parallelize)", 16, "restricted to 'func.func' on a pass manager intended to run on"),
        ("a(" * 100, 130, "pipelines nest at most 64 deep"),
    ],
)
def test_a_wrong_pipeline_is_told_with_its_place(text, column, message):
    with pytest.raises(pipeline.PipelineError) as caught:
        pipeline.parse(text)
    first, shown, caret = str(caught.value).split("\n")
    assert first.startswith(f"<pass-pipeline>:1:{column}: error: ")
    assert message in first
    assert shown == text
    assert caret == " " * (column - 1) + "^"


def test_a_pass_of_mlir_over_functions_nests_by_itself_when_it_is_a_flag():
    flags = [("cse", ""), ("affine-parallelize", "max-nested=1"), ("qb-vjp", "wrt=0")]
    assert (
        str(pipeline.from_flags(flags))
        == "builtin.module(cse,func.func(affine-parallelize{max-nested=1}),qb-vjp{wrt=0})"
    )


def test_run_tells_instruments_and_returns_the_op():
    calls = []

    class Watch:
        def before(self, leaf, op):
            calls.append(f"before {leaf} on {op.name}")

        def after(self, leaf, op):
            calls.append(f"after {leaf} on {op.name}")

        def failed(self, leaf, op):
            calls.append(f"failed {leaf} on {op.name}")

    module = ir.Module.parse(SIN, context())
    op = pipeline.run(module.operation, "builtin.module(cse,func.func(qb-jvp))", instruments=[Watch()])
    assert op.name == "builtin.module"
    assert "qb.cos" in str(op)
    assert calls == [
        "before cse on builtin.module",
        "after cse on builtin.module",
        "before qb-jvp on func.func",
        "after qb-jvp on func.func",
    ]
    with pytest.raises(pipeline.PassError, match="qb-vjp: wrt=9: there is no such argument"):
        pipeline.run(module.operation, "builtin.module(qb-vjp{wrt=9})", instruments=[Watch()])
    assert calls[-1] == "failed qb-vjp{wrt=9} on builtin.module"


def test_a_failed_verification_names_the_pass_before_it():
    module = ir.Module.parse(SIN, context())
    f = module.body.operations[0]
    f.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([], [], context()), context())
    with pytest.raises(pipeline.PassError, match="stablehlo-exact-f32"):
        pipeline.run(module.operation, "builtin.module(stablehlo-exact-f32)")


def test_options_that_are_not_given_are_none():
    assert read_options(PASSES["qb-vmap"], {"size": "3"}) == {"size": 3, "in-axes": None}


# ---- the lit tests ----------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", ["jvp", "vjp", "vmap"])
def test_every_op_has_a_lit_test_of_its_transforms(transform):
    load_all()
    texts = [f.read_text() for f in (ROOT / "tests" / "lit" / "transforms" / transform).glob("*.mlir")]
    code = "\n".join(line for text in texts for line in text.splitlines() if not line.startswith("//"))
    assert set(REGISTRY) - set(re.findall(r'"qb\.(\w+)"', code)) == set()
