"""The written forms of a graph, both ways, for every op of the registry; MLIR and its errors."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from dialect_helpers import (
    F32,
    asm,
    assert_equal,
    assert_written_forms_agree,
    constant_graph,
    function,
    graph_of,
    module,
    read_main,
    sample_graph,
    small_graph,
    t,
)

from quabla import mlir
from quabla.dialect import attributes, definition
from quabla.dialect.checks import SourceError
from quabla.dialect.text import as_text, parse
from quabla.dialect.writer import write, write_func
from quabla.ops import load_all
from quabla.ops.registry import REGISTRY
from quabla.ops.types import Const, splat_const
from quabla.tracing.graph import Graph

load_all()
SAMPLES = [(op, s) for op in REGISTRY.values() for s in op.samples]
SAMPLE_NAMES = [f"{op.name}-{i}" for op in REGISTRY.values() for i in range(len(op.samples))]


# ---- every op -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("op", "sample"), SAMPLES, ids=SAMPLE_NAMES)
def test_every_op_survives_writing_and_reading(op, sample):
    assert_written_forms_agree(sample_graph(op, sample))


@pytest.mark.parametrize(("op", "sample"), SAMPLES, ids=SAMPLE_NAMES)
def test_every_op_refuses_a_wrong_result_type(op, sample):
    wrong = str(write(sample_graph(op, sample)))
    # The result's dtype (of a cast, its shape) changes in the op, the return and the signature.
    line = next(x for x in wrong.splitlines() if f'"{op.mlir_name}"' in x)
    result = line.rsplit(" -> ", 1)[-1] if "->" in line else line.rsplit(" : ", 1)[-1]
    if any(a.kind == "dtype" for a in op.attributes):
        other = result.replace("tensor<", "tensor<7x")
    else:
        other = (
            result.replace("f64", "f32") if "f64" in result else re.sub(r"\b(f32|i\d+)|(?<=x)(f32|i\d+)", "f64", result)
        )
    wrong = wrong.replace(f"-> {result}", f"-> {other}").replace(f"return %0 : {result}", f"return %0 : {other}")
    with pytest.raises(mlir.ir.MLIRError, match=re.escape(f"'{op.mlir_name}' op ")):
        module(wrong)


def test_every_record_has_a_definition_and_is_pure():
    text = definition.dialect_text()
    for op in REGISTRY.values():
        assert f"irdl.operation @{op.name} {{" in text
    passes = mlir.passmanager.PassManager.parse("builtin.module(canonicalize)", mlir.context())
    for op, sample in SAMPLES:
        graph = sample_graph(op, sample)
        m = module(re.sub(r"return .*", "return", re.sub(r"\) -> .* {$", ") {", str(write(graph)), flags=re.MULTILINE)))
        passes.run(m.operation)
        assert "qb." not in str(m).replace("qb.name", ""), op.name


# ---- graphs ---------------------------------------------------------------------------------------


def test_names_of_arguments_are_kept():
    m = write(small_graph())
    assert '%arg0: tensor<2x3xf64> {qb.name = "params/w"}' in str(m)
    assert read_main(m).names == ["params/w", "x"]


@pytest.mark.parametrize("name", ["a b", "]", 'say "x"', "", "back\\slash", "new\nline", "été", "a//b", "x[0]", "//"])
def test_any_name_of_an_argument_survives(name):
    graph = Graph([t()], [name])
    assert_written_forms_agree(graph.finish(graph.args))


def test_hidden_arguments_are_marked():
    import quabla as qb

    graph = Graph([t(20)], ["x"])
    with graph:
        y = graph.emit(REGISTRY["mul"], (graph.args[0], qb.array(np.arange(20.0))))
    graph.finish([y])
    m = write(graph)
    assert '%arg1: tensor<20xf64> {qb.capture, qb.name = "capture0"}' in str(m)
    again = read_main(m)
    assert list(again.captures.values()) == [again.args[1]]
    assert asm(write(again)) == asm(m)


def test_locations_are_the_users_lines():
    graph = small_graph()
    node = graph.nodes[0]
    file, line = node.location
    assert file == small_graph.__code__.co_filename
    m = write(graph)
    assert f'loc("{file}":{line}:0)' in asm(m)
    assert [n.location for n in read_main(m).nodes] == [n.location for n in graph.nodes]


def test_unknown_locations_stay_unknown():
    graph = small_graph()
    for n in graph.nodes:
        n._loc = None
    assert [n.location for n in read_main(write(graph)).nodes] == [None] * len(graph.nodes)


@pytest.mark.parametrize(
    "location", ['callsite("u.py":3:1 at "v.py":4:1)', '"name"("u.py":3:1)', 'fused["u.py":3:1, "w.py":5:1]']
)
def test_nested_locations_give_the_first_place(location):
    m = module(f"""func.func @f(%x: tensor<f64>) -> tensor<f64> {{
      %0 = "qb.sin"(%x) : (tensor<f64>) -> tensor<f64> loc({location})
      return %0 : tensor<f64>
    }}""")
    assert read_main(m).nodes[0].location == ("u.py", 3)


def test_a_module_holds_several_functions():
    ir = mlir.ir
    m = ir.Module.create(mlir.unknown())
    for name in "f", "g":
        write_func(small_graph(), name, ir.InsertionPoint(m.body))
    assert m.operation.verify()
    assert [str(f.name) for f in m.body.operations] == ['"f"', '"g"']


def test_dead_nodes_are_not_written():
    graph = Graph([t()], ["x"])
    with graph:
        (x,) = graph.args
        graph.emit(REGISTRY["sin"], (x,))
        y = graph.emit(REGISTRY["cos"], (x,))
    graph.finish([y])
    assert "sin" not in as_text(graph)
    assert "sin" not in str(write(graph))


def test_reading_can_fold():
    m = module("""func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {
      %0 = "qb.reshape"(%x) : (tensor<3xf64>) -> tensor<3xf64>
      return %0 : tensor<3xf64>
    }""")
    assert len(read_main(m).nodes) == 1
    folded = read_main(m, fold=True)
    assert not folded.nodes
    assert folded.outs == folded.args


def test_concat_of_unequal_lengths_has_one_operand_type_in_mlir():
    graph = graph_of("concat", [t(2, 1), t(2, 2), t(2, 1)], (1,))
    text = str(write(graph))
    assert "tensor.cast %arg0 : tensor<2x1xf64> to tensor<2x?xf64>" in text
    assert "(tensor<2x?xf64>, tensor<2x?xf64>, tensor<2x?xf64>) -> tensor<2x4xf64>" in text
    assert as_text(graph).splitlines()[3] == "%3 = concat(%0, %1, %2) axis=1 : tensor<2x4xf64>"


def test_concat_of_equal_lengths_has_no_casts():
    text = str(write(graph_of("concat", [t(2)] * 9, (0,))))
    assert "tensor.cast" not in text


def test_upstream_passes_keep_the_casts_of_concat_readable():
    graph = Graph([t(2), t(3)], ["x", "y"], fold=False)
    with graph:
        x, y = graph.args
        a = graph.emit(REGISTRY["concat"], (x, y), (0,))
        b = graph.emit(REGISTRY["concat"], (y, x), (0,))
    graph.finish([a, b])
    m = write(graph)
    mlir.passmanager.PassManager.parse("builtin.module(cse,canonicalize)", mlir.context()).run(m.operation)
    assert str(m).count("tensor.cast") == 2
    assert_equal(graph, read_main(m))


# ---- constants ------------------------------------------------------------------------------------

BITS64 = [0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0xFFFFFFFFFFFFFFFF, 0x8000000000000000, 1]
BITS32 = [0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF, 0x80000000, 1]
PLAIN = [0.0, -0.0, 1.0, 0.1, -2.5, 1e300, 5e-324, np.inf, -np.inf, np.nan, 1 / 3, 16777217.0, 1e22, 123456789.0]
ARRAYS = [
    *[np.full((), x) for x in PLAIN],
    *[np.full((), x, np.float32) for x in PLAIN[:5] + PLAIN[7:]],
    *[np.array([b], np.uint64).view(np.float64) for b in BITS64],
    *[np.array([b], np.uint32).view(np.float32) for b in BITS32],
    *[np.repeat(np.array([b], np.uint32).view(np.float32), 6).reshape(2, 3) for b in BITS32],
    np.array(BITS64, np.uint64).view(np.float64),
    np.array(BITS32, np.uint32).view(np.float32).reshape(2, 1, 3),
    np.array(PLAIN),
    np.arange(6.0).reshape(3, 2),
    *[np.array(x) for x in (True, False, [True, False, True], [[True] * 9, [False] * 9], [True] * 3)],
    *[np.zeros(s, d) for s in ((0,), (0, 3), (2, 0)) for d in (np.float64, np.float32, np.bool_)],
]


@pytest.mark.parametrize("array", ARRAYS)
def test_constants_keep_every_bit(array):
    graph = constant_graph(Const(array))
    assert_written_forms_agree(graph)
    (node,) = parse(as_text(graph)).nodes
    assert node.params[0].array.tobytes() == array.tobytes()


def test_a_repeated_number_of_an_empty_type_survives():
    assert_written_forms_agree(constant_graph(splat_const(t(0, 3), 1.5)))
    assert_written_forms_agree(constant_graph(splat_const(t(0, dtype=F32), np.nan)))


def test_every_float32_prints_so_that_it_parses_to_itself():
    bits = np.random.default_rng(1).integers(0, 2**32, 2000, np.uint32)
    assert_written_forms_agree(constant_graph(Const(bits.view(np.float32))))


def test_large_repeated_constants_stay_small():
    m = write(constant_graph(splat_const(t(1000, 1000), 0.5)))
    assert "dense<5.000000e-01> : tensor<1000x1000xf64>" in str(m)
    assert function(m).regions[0].blocks[0].operations[0].attributes["value"].is_splat
    assert "constant[value=0.5] : tensor<1000x1000xf64>" in as_text(read_main(m))


@pytest.mark.parametrize(
    ("array", "shown"),
    [
        (np.array(0.5), "0.5] : tensor<f64>"),
        (np.array(2.0), "2.0] : tensor<f64>"),
        (np.array(0.1, np.float32), "0.1] : tensor<f32>"),
        (np.array([1.0, 2.0]), "[1.0, 2.0]] : tensor<2xf64>"),
        (np.ones((2, 2)), "1.0] : tensor<2x2xf64>"),
        (np.array([[1.0], [-0.0]]), "[[1.0], [-0.0]]] : tensor<2x1xf64>"),
        (np.array(False), "0] : tensor<i1>"),
        (np.array([True, False]), "[1, 0]] : tensor<2xi1>"),
        (np.array([np.inf, -np.inf, np.nan]), "[inf, -inf, nan]] : tensor<3xf64>"),
        (np.array([-np.nan]), "nan(0xfff8000000000000)] : tensor<1xf64>"),
    ],
)
def test_how_constants_print(array, shown):
    assert as_text(constant_graph(Const(array))).splitlines()[0] == f"%0 = constant[value={shown}"


def test_equal_numbers_may_be_written_out():
    a = parse("%0 = constant[value=[1.0, 1.0]] : tensor<2xf64>\noutputs: [[2]]\n")
    b = parse("%0 = constant[value=1.0] : tensor<2xf64>\noutputs: [[2]]\n")
    assert_equal(a, b)


# ---- errors in MLIR ---------------------------------------------------------------------------------


def verify_error(line, arguments="%x: tensor<3xf64>, %y: tensor<2xf64>"):
    with pytest.raises(mlir.ir.MLIRError) as e:
        module(f"func.func @f({arguments}) {{\n{line}\nreturn }}")
    return e.value.error_diagnostics[0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('%0 = "qb.add"(%x) : (tensor<3xf64>) -> tensor<3xf64>', "'qb.add' op expects 2 operands (x1, x2), got 1"),
        ('%0 = "qb.sin"() : () -> tensor<3xf64>', "'qb.sin' op expects 1 operand (x), got 0"),
        ('%0:2 = "qb.sin"(%x) : (tensor<3xf64>) -> (tensor<f64>, tensor<f64>)', "'qb.sin' op expects 1 result, got 2"),
        ('"qb.sin"(%x) : (tensor<3xf64>) -> ()', "'qb.sin' op expects 1 result, got 0"),
        ('%0 = "qb.sin"(%x) ({}) : (tensor<3xf64>) -> tensor<3xf64>', "'qb.sin' op expects no region, got 1"),
        (
            '%0 = "qb.sin"(%x) : (tensor<3xf64>) -> tensor<2xf64>',
            "'qb.sin' op has the result type tensor<2xf64>, but operands tensor<3xf64> give tensor<3xf64>",
        ),
        (
            '%0 = "qb.sin"(%x) : (tensor<3xf64>) -> f64',
            "'qb.sin' op result: expected a tensor of static shape, got f64",
        ),
        (
            '%c = arith.constant 1 : i64 %0 = "qb.sin"(%c) : (i64) -> tensor<f64>',
            "'qb.sin' op operand 0 (x): expected a tensor of static shape, got i64",
        ),
        (
            '%c = tensor.cast %x : tensor<3xf64> to tensor<?xf64> %0 = "qb.sin"(%c) : (tensor<?xf64>) -> tensor<3xf64>',
            "'qb.sin' op operand 0 (x): expected a tensor of static shape, got tensor<?xf64>",
        ),
        (
            '%c = arith.constant dense<1> : tensor<2xi8> %0 = "qb.sin"(%c) : (tensor<2xi8>) -> tensor<2xi8>',
            "'qb.sin' op operand 0 (x): expected elements of type f64, f32, i1, i32 or i64, got tensor<2xi8>",
        ),
        (
            '%0 = "qb.sum"(%x) : (tensor<3xf64>) -> tensor<f64>',
            "'qb.sum' op needs the attribute 'axis', an array of asc",
        ),
        (
            '%0 = "qb.sum"(%x) {axis = 0 : i64} : (tensor<3xf64>) -> tensor<f64>',
            "'qb.sum' op attribute 'axis' must be an array of ascending, non-negative axes (array<i64: ...>), got 0 : i64",
        ),
        (
            '%0 = "qb.sum"(%x) {axis = array<i64: 0>, axes = 1} : (tensor<3xf64>) -> tensor<f64>',
            "'qb.sum' op has no attribute 'axes'; it has axis; did you mean 'axis'?",
        ),
        (
            '%0 = "qb.sin"(%x) {axis = 1} : (tensor<3xf64>) -> tensor<3xf64>',
            "'qb.sin' op has no attribute 'axis'; it has none",
        ),
        (
            '%0 = "qb.cumsum"(%x) {axis = 0 : i32, reverse = false} : (tensor<3xf64>) -> tensor<3xf64>',
            "'qb.cumsum' op attribute 'axis' must be a 64-bit integer, got 0 : i32",
        ),
        (
            '%0 = "qb.cumsum"(%x) {axis = 0, reverse = 1} : (tensor<3xf64>) -> tensor<3xf64>',
            "'qb.cumsum' op attribute 'reverse' must be true or false, got 1 : i64",
        ),
        (
            '%0 = "qb.compare"(%x, %x) {kind = 1} : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xi1>',
            "'qb.compare' op attribute 'kind' must be a string, got 1 : i64",
        ),
        (
            '%0 = "qb.constant"() {value = dense<1> : tensor<2xi8>} : () -> tensor<2xf64>',
            "'qb.constant' op attribute 'value' must be dense elements of type f64, f32, i1, i32 or i64",
        ),
        (
            '%0 = "qb.constant"() {value = dense<1.0> : tensor<2xf64>} : () -> tensor<3xf64>',
            "'qb.constant' op has the result type tensor<3xf64>, but its attributes give tensor<2xf64>",
        ),
        ('%0 = "qb.concat"() {axis = 0} : () -> tensor<3xf64>', "'qb.concat' op "),
        (
            '%0 = "qb.concat"(%x, %y) {axis = 0} : (tensor<3xf64>, tensor<2xf64>) -> tensor<5xf64>',
            "'qb.concat' op operands must have one type, got tensor<3xf64> and tensor<2xf64>; pass",
        ),
        ('%0 = "qb.add"(%x, %y) : (tensor<3xf64>, tensor<2xf64>) -> tensor<3xf64>', "'qb.add' op "),
        (
            '%0 = "qb.nosuch"(%x) : (tensor<3xf64>) -> tensor<3xf64>',
            "unregistered operation 'qb.nosuch' found in dialect",
        ),
    ],
)
def test_errors_in_mlir_are_located_and_name_the_op(line, message):
    diagnostic = verify_error(line)
    assert message in diagnostic.message
    assert '"-":2:' in str(diagnostic.location)


def test_other_dialects_attributes_are_allowed():
    module(
        'func.func @f(%x: tensor<f64>) { %0 = "qb.sin"(%x) {qb.note = 1, test.x} : (tensor<f64>) -> tensor<f64> return }'
    )


def test_a_verifier_that_fails_reports_instead_of_raising(monkeypatch):
    def broken(op):
        raise ZeroDivisionError("seven")

    monkeypatch.setattr(definition, "fault", broken)
    found = verify_error('%0 = "qb.sin"(%x) : (tensor<3xf64>) -> tensor<3xf64>')
    assert found.message == "'qb.sin' op cannot be verified: ZeroDivisionError: seven"


@pytest.mark.parametrize("params", list(itertools.product([-(2**63), -1, 0, 7, 2**63 - 1], repeat=2)))
def test_extreme_attributes_are_errors(params):
    a, b = params
    verify_error(
        f'%0 = "qb.slice"(%x) {{axis = {a} : i64, start = {b} : i64, length = {a} : i64, step = {b} : i64}} '
        ": (tensor<3xf64>) -> tensor<9xf64>"
    )
    verify_error(
        f'%0 = "qb.gather"(%x) {{axis = {a} : i64, indices = array<i64: {b}>}} : (tensor<3xf64>) -> tensor<9xf64>'
    )
    verify_error(f'%0 = "qb.transpose"(%x) {{axes = array<i64: {a}, {b}>}} : (tensor<3xf64>) -> tensor<9xf64>')
    verify_error(
        f'%0 = "qb.pad"(%x) {{low = array<i64: {a}>, high = array<i64: {b}>, interior = array<i64: {b}>}} '
        ": (tensor<3xf64>) -> tensor<9xf64>"
    )


# ---- what cannot be read ----------------------------------------------------------------------------


def read_error(text):
    m = module(text)
    with pytest.raises(SourceError) as e:
        read_main(m)
    return e.value


def test_ops_of_other_dialects_are_not_read():
    error = read_error("""func.func @f(%x: tensor<2xf64>) -> tensor<2xf64> {
      %0 = arith.addf %x, %x : tensor<2xf64>
      return %0 : tensor<2xf64>
    }""")
    assert error.message == (
        "'arith.addf' is not a qb op: only qb ops can be read, with tensor.cast and func.return, and scf.for, scf.if "
        "and scf.while around them"
    )
    assert (error.file, error.line, error.column) == ("-", 2, 12)


def test_an_op_without_results_is_not_read():
    error = read_error("func.func @f() {\n call @f() : () -> ()\n return }")
    assert "'func.call' is not a qb op" in error.message


def test_a_declaration_is_not_read():
    assert "function 'f' must have a body of one block, got 0" in read_error("func.func private @f()").message


def test_branches_are_not_read():
    error = read_error("func.func @f() {\n cf.br ^a\n ^a:\n return }")
    assert "must have a body of one block, got 2 blocks" in error.message


def test_dynamic_arguments_are_not_read():
    error = read_error("func.func @f(%x: tensor<?xf64>) { return }")
    assert error.message == "argument 0: expected a tensor of static shape, got tensor<?xf64>"
    assert error.line == 1


def test_other_ops_are_not_functions():
    m = module("module { module {} }")
    with pytest.raises(SourceError, match=r"expected a func.func, got 'builtin.module'"):
        read_main(m)


def test_an_op_that_was_not_verified_is_checked_when_read():
    ir = mlir.ir
    m = write(small_graph())
    block = function(m).regions[0].blocks[0]
    ret = list(block.operations)[-1]
    location = ir.Location.file("bad.py", 7, 0, mlir.context())
    made = ir.Operation.create(
        "qb.add", [mlir.mlir_type(t(9))], [block.arguments[0]], loc=location, ip=ir.InsertionPoint(ret)
    )
    with pytest.raises(SourceError, match=r"^bad.py:7: 'qb.add' op expects 2 operands \(x1, x2\), got 1$"):
        read_main(m)
    made.erase()


def test_arguments_without_names_are_numbered():
    m = module('func.func @f(%x: tensor<f64>, %y: tensor<f64> {qb.name = "y"}) { return }')
    assert read_main(m).names == ["arg0", "y"]


def test_attributes_of_one_kind_are_not_taken_for_another():
    one = attributes.KINDS["int"].encode(1)
    assert attributes.decode("int", one) == 1
    assert attributes.decode("bool", one) is None
    assert attributes.decode("bool", attributes.KINDS["bool"].encode(True)) is True
    assert attributes.decode("axes", attributes.KINDS["ints"].encode((2, 1))) is None
    assert attributes.decode("axes", attributes.KINDS["ints"].encode(())) == ()


def test_every_op_has_a_lit_test():
    files = Path(__file__).parent.parent.joinpath("lit", "dialect").glob("*.txt")
    tested = set(re.findall(r"= (\w+)[(\[]", "\n".join(f.read_text() for f in files)))
    assert tested >= set(REGISTRY)
