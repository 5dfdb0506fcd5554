"""The written forms of a graph: MLIR and text, both ways, for every op of the registry."""

import contextlib
import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from quabla import dtypes, mlir
from quabla.dialect import attributes, definition
from quabla.dialect.checks import SourceError
from quabla.dialect.reader import read
from quabla.dialect.text import as_text, parse
from quabla.dialect.writer import write, write_func
from quabla.ops import load_all
from quabla.ops.registry import REGISTRY
from quabla.ops.types import Const, splat_const, tensor_type
from quabla.tracing.graph import Graph

load_all()
F64, F32, I1 = dtypes.float64, dtypes.float32, dtypes.bool_
SAMPLES = [(op, s) for op in REGISTRY.values() for s in op.samples]
SAMPLE_NAMES = [f"{op.name}-{i}" for op in REGISTRY.values() for i in range(len(op.samples))]


def t(*shape, dtype=F64):
    return tensor_type(shape, dtype)


def graph_of(op, types, params=()):
    """A graph of one op, as it is recorded without folding."""
    graph = Graph(types, fold=False)
    with graph:
        out = graph.emit(op if not isinstance(op, str) else REGISTRY[op], tuple(graph.args), params)
    return graph.finish([out])


def sample_graph(op, sample):
    given = dict(enumerate(sample.dtypes))
    return graph_of(op, [tensor_type(s, given.get(i, F64)) for i, s in enumerate(sample.shapes)], sample.params)


def constant_graph(const):
    return graph_of("constant", (), (const,))


def module(text):
    return mlir.ir.Module.parse(text, mlir.context())


def function(m):
    return m.body.operations[0]


def read_main(m, fold=False):
    """The graph of a module's first function; an op does not keep its module alive, the parameter does."""
    return read(function(m), fold)


def asm(m):
    return m.operation.get_asm(enable_debug_info=True)


def assert_equal(a, b):
    """Two graphs are equal node for node."""
    x, y = a.body(), b.body()
    assert a.names == b.names
    assert [p.type for p in x.args] == [p.type for p in y.args]
    twin = dict(zip(x.args, y.args, strict=True))
    assert len(x.nodes) == len(y.nodes)
    for n, m in zip(x.nodes, y.nodes, strict=True):
        assert (n.op, n.params, n.type, n.splat is None) == (m.op, m.params, m.type, m.splat is None)
        assert [twin[o] for o in n.operands] == list(m.operands)
        twin[n] = m
    assert [twin[o] for o in x.outs] == list(y.outs)


def assert_written_forms_agree(graph):
    m = write(graph)
    assert m.operation.verify()
    again = read_main(m)
    assert_equal(graph, again)
    assert asm(write(again)) == asm(m)
    assert_equal(graph, read_main(module(str(m))))
    text = as_text(graph)
    parsed = parse(text)
    assert_equal(graph, parsed)
    assert as_text(parsed) == text
    assert as_text(read_main(write(parsed))) == text


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
        other = result.replace("f64", "f32") if "f64" in result else re.sub("f32|i1", "f64", result)
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


def small_graph():
    graph = Graph([t(2, 3), t(3)], ["params/w", "x"])
    with graph:
        w, x = graph.args
        y = graph.emit(REGISTRY["mul"], (w, x))
        z = graph.emit(REGISTRY["tanh"], (y,))
        total = graph.emit(REGISTRY["sum"], (z,), ((0, 1),))
    return graph.finish([total])


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
    assert file == __file__
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


# ---- the text form --------------------------------------------------------------------------------


def test_the_text_of_a_program():
    graph = Graph([tensor_type(s, F32) for s in ((1,), (2, 1), (2, 2))], ["params/b", "params/w", "x"])
    with graph:
        b, w, x = graph.args
        y = graph.emit(REGISTRY["matmul"], (x, w))
        y = graph.emit(REGISTRY["tanh"], (graph.emit(REGISTRY["add"], (y, b)),))
        y = graph.emit(REGISTRY["mean"], (graph.emit(REGISTRY["powi"], (y,), (2,)),), ((0, 1),))
    graph.finish([y])
    assert as_text(graph) == (
        "%0 = input[name=params/b] : tensor<1xf32>\n"
        "%1 = input[name=params/w] : tensor<2x1xf32>\n"
        "%2 = input[name=x] : tensor<2x2xf32>\n"
        "%3 = matmul(%2, %1) : tensor<2x1xf32>\n"
        "%4 = add(%3, %0) : tensor<2x1xf32>\n"
        "%5 = tanh(%4) : tensor<2x1xf32>\n"
        "%6 = powi(%5, 2) : tensor<2x1xf32>\n"
        "%7 = mean(%6) : tensor<f32>\n"
        "outputs: [[]]\n"
    )
    assert_written_forms_agree(graph)


@pytest.mark.parametrize(
    ("op", "types", "params", "line"),
    [
        ("compare", [t(), t()], ("equal",), "%2 = compare(%0, %1, kind=equal) : tensor<i1>"),
        ("concat", [t(1), t(1)], (0,), "%2 = concat(%0, %1) axis=0 : tensor<2xf64>"),
        ("cumsum", [t(3)], (0, False), "%1 = cumsum(%0, axis=0, reverse=false) : tensor<3xf64>"),
        ("gather", [t(3)], (0, (0, 2)), "%1 = gather(%0, axis=0, indices=[0, 2]) : tensor<2xf64>"),
        ("scatter_add", [t(3), t(2)], (0, (0, 2)), "%2 = scatter_add(%0, %1, axis=0, indices=[0, 2]) : tensor<3xf64>"),
        ("slice", [t(3)], (0, 0, 1, 1), "%1 = slice(%0, axis=0, start=0, length=1) : tensor<1xf64>"),
        ("slice", [t(3)], (0, 2, 3, -1), "%1 = slice(%0, axis=0, start=2, length=3, step=-1) : tensor<3xf64>"),
        ("sum", [t(3)], ((0,),), "%1 = sum(%0) : tensor<f64>"),
        ("sum", [t(3, 2)], ((1,),), "%1 = sum(%0, axis=1) : tensor<3xf64>"),
        ("sum", [t(3, 2, 4)], ((0, 2),), "%1 = sum(%0, axis=[0, 2]) : tensor<2xf64>"),
        ("sum", [t(3, 2)], ((),), "%1 = sum(%0, axis=[]) : tensor<3x2xf64>"),
        ("transpose", [t(3, 3)], ((1, 0),), "%1 = transpose(%0, axes=[1, 0]) : tensor<3x3xf64>"),
        ("reshape", [t(1)], ((),), "%1 = reshape(%0) : tensor<f64>"),
        ("cast", [t()], (F32,), "%1 = cast(%0) : tensor<f32>"),
        ("powi", [t(3)], (3,), "%1 = powi(%0, 3) : tensor<3xf64>"),
        ("greater", [t(3), t(3)], (), "%2 = greater(%0, %1) : tensor<3xf64>"),
    ],
)
def test_how_attributes_print(op, types, params, line):
    graph = graph_of(op, types, params)
    assert as_text(graph).splitlines()[-2] == line
    assert_written_forms_agree(graph)


def results_graph(pick):
    graph = Graph([t(2), t(3)], ["x", "y"], fold=False)
    with graph:
        x, y = graph.args
        a = graph.emit(REGISTRY["sin"], (x,))
        b = graph.emit(REGISTRY["cos"], (a,))
        c = graph.emit(REGISTRY["cos"], (y,))
    return graph.finish(pick(x, y, a, b, c))


@pytest.mark.parametrize(
    ("pick", "returns"),
    [
        (lambda x, y, a, b, c: [b], None),
        (lambda x, y, a, b, c: [b, c], None),
        (lambda x, y, a, b, c: [x, y], None),
        (lambda x, y, a, b, c: [], None),
        (lambda x, y, a, b, c: [c, b], "returns: %4, %3"),
        (lambda x, y, a, b, c: [b, a], "returns: %3, %2"),
        (lambda x, y, a, b, c: [b, b], "returns: %3, %3"),
        (lambda x, y, a, b, c: [x], "returns: %0"),
        (lambda x, y, a, b, c: [b, y], "returns: %3, %1"),
    ],
)
def test_results_are_named_only_where_they_must_be(pick, returns):
    graph = results_graph(pick)
    assert_written_forms_agree(graph)
    assert [x for x in as_text(graph).splitlines() if x.startswith("returns")] == ([returns] if returns else [])


def test_comments_blank_lines_and_names_are_free():
    graph = parse(
        "// a comment\n\n  %x = input[name=x] : tensor<2xf64>  // another\n"
        "%the.sum=sum( %x ,axis = [0] ):tensor<f64>\r\noutputs: [ [] ]\n\n// the end"
    )
    assert as_text(graph) == "%0 = input[name=x] : tensor<2xf64>\n%1 = sum(%0) : tensor<f64>\noutputs: [[]]\n"


def test_parsed_nodes_know_their_lines():
    graph = parse("%0 = input[name=x] : tensor<f64>\n\n%1 = sin(%0) : tensor<f64>\noutputs: [[]]\n", "p.txt")
    assert graph.nodes[0].location == ("p.txt", 3)
    assert graph.args[0].location == ("p.txt", 1)


X = "%0 = input[name=x] : tensor<3xf64>\n%1 = input[name=y] : tensor<2xf64>\n"
END = "outputs: [[3]]\n"


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "the text ends without a line 'outputs: [...]'"),
        (X, 3, 1, "the text ends without a line 'outputs: [...]'; it may be truncated"),
        (X + "%2 = si", 3, 6, "unknown op 'si'; did you mean 'sin'?"),
        (X + "%2 = sin", 3, 9, "sin: expected '(' and operands, got the end of the line"),
        (X + "%2 = sin(%0", 3, 12, "sin: expected ',' or ')', got the end of the line"),
        (X + "%2 = sin(%0)", 3, 13, "sin: expected ':' and the result's type, got the end of the line"),
        (X + "%2 = sin(%0) : tens", 3, 16, "sin: expected a type such as tensor<2x3xf64>"),
        (X + "%2 = sin(%0) : tensor<3xi64>", 3, 16, "(of f64, f32 or i1), got 'tensor<3xi64>'"),
        (X + "%2 = sin(%0) : tensor<2xf64>\n", 3, 6, "sin: has the result type tensor<2xf64>, but operands"),
        (X + "%2 = sin(%0) : tensor<3xf64> x", 3, 30, "sin: expected the end of the line, got 'x'"),
        (X + "%2 = tanhh(%0) : tensor<3xf64>", 3, 6, "unknown op 'tanhh'; did you mean 'tanh'?"),
        (X + "%2 = quux(%0) : tensor<3xf64>", 3, 6, "unknown op 'quux'"),
        (X + "%2 = add(%0, %9) : tensor<3xf64>", 3, 14, "add: %9 is not defined before this line"),
        (X + "%2 = add(%0) : tensor<3xf64>", 3, 6, "add: expects 2 operands (x1, x2), got 1"),
        (X + "%2 = add(%0, %1) : tensor<3xf64>", 3, 6, "add: "),
        (X + "%1 = sin(%0) : tensor<3xf64>", 3, 1, "%1 is defined twice; the first definition is on line 2"),
        ("%0 = input[name=x] : tensor<f64>\n" * 2, 2, 1, "%0 is defined twice"),
        (
            X + "%2 = sin(%0) : tensor<3xf64>\n%3 = input[name=z] : tensor<f64>",
            4,
            6,
            "inputs must stand before the first",
        ),
        ("%0 = input[nam=x] : tensor<f64>", 1, 12, "input: expected 'name', got 'nam=x]'"),
        ("%0 = input[name=] : tensor<f64>", 1, 17, "input: expected a name, got ']'"),
        ('%0 = input[name="\\q"] : tensor<f64>', 1, 18, "input: not a JSON string"),
        (X + "%2 = gather(%0, axis=0) : tensor<3xf64>", 3, 6, "gather: needs the attribute 'indices'"),
        (
            X + "%2 = sum(%0, axes=0) : tensor<f64>",
            3,
            14,
            "sum: has no attribute 'axes'; it has axis; did you mean 'axis'?",
        ),
        (X + "%2 = sin(%0, axis=0) : tensor<3xf64>", 3, 14, "sin: has no attribute 'axis'; it has none"),
        (X + "%2 = reshape(%0, shape=0) : tensor<3xf64>", 3, 18, "reshape: has no attribute 'shape'; it has none"),
        (X + "%2 = sum(%0, axis=x) : tensor<f64>", 3, 19, "sum: expected an integer, got 'x)'"),
        (
            X + "%2 = sum(%0, axis=[1, 0]) : tensor<f64>",
            3,
            19,
            "sum: axes must be ascending and not negative, got [1, 0]",
        ),
        (X + "%2 = sum(%0, axis=5) : tensor<f64>", 3, 6, "sum: "),
        (X + "%2 = sum(%0, axis=0, axis=0) : tensor<f64>", 3, 22, "sum: attribute 'axis' is given twice"),
        (X + "%2 = sum(%0, axis=0, %1) : tensor<f64>", 3, 22, "sum: expected an attribute, got '%1)'"),
        (X + "%2 = gather(%0, axis=0, indices=[0, 9]) : tensor<2xf64>", 3, 6, "gather: "),
        (X + "%2 = powi(%0, 1.5) : tensor<3xf64>", 3, 15, "powi: expected an integer, got '1.5)'"),
        (
            X + "%2 = cumsum(%0, axis=0, reverse=1) : tensor<3xf64>",
            3,
            33,
            "cumsum: expected 'false' or 'true', got '1)'",
        ),
        (X + "%2 = compare(%0, %0, kind=odd) : tensor<3xi1>", 3, 6, "compare: "),
        (
            X + "%2 = constant[value=1.0] : tensor<3xi1>",
            3,
            15,
            "constant: expected 0 or 1 in a constant of type i1, got",
        ),
        (
            X + "%2 = constant[value=[1.0]] : tensor<3xf64>",
            3,
            15,
            "constant: the numbers do not have the shape of the type",
        ),
        (X + "%2 = constant[value=[[1.0], 2.0]] : tensor<2xf64>", 3, 15, "constant: the numbers do not have the shape"),
        (X + "%2 = constant[value=one] : tensor<f64>", 3, 21, "constant: expected a number, got 'one]'"),
        (X + "%2 = constant[value=nan(0x1)] : tensor<f64>", 3, 15, "constant: nan(0x1) is not a NaN of f64"),
        (X + "%2 = constant[value=nan(0x7ff8000000000001)] : tensor<f32>", 3, 15, "has more bits than f32"),
        (X + "%2 = constant : tensor<f64>", 3, 6, "constant: needs the attribute 'value'"),
        (X + f"%2 = constant[value={'[' * 5000}", 3, 85, "constant: lists are nested more than 64 deep"),
        (X + f"%2 = constant[value=1.0] : tensor<{'99999999999x' * 5}f64>", 3, 15, "constant: tensor<"),
        (X + f"%2 = sin(%0) : tensor<{'9' * 60}xf64>", 3, 16, "sin: expected a type"),
        (
            X + "%2 = sin(%0) : tensor<3xf64>\noutputs: [[2]]",
            4,
            10,
            "outputs: the results have the shapes [[3]], got [[2]]",
        ),
        (
            X + "%2 = sin(%0) : tensor<3xf64>\noutputs: [[3]",
            4,
            14,
            "outputs: expected ',' or ']', got the end of the line",
        ),
        (X + "%2 = sin(%0) : tensor<3xf64>\noutputs:", 4, 9, "outputs: expected '[', got the end of the line"),
        (X + "returns: %7\noutputs: [[3]]", 3, 10, "returns: %7 is not defined before this line"),
        (X + "returns: %0\n", 4, 1, "the text ends without a line 'outputs: [...]'"),
        (X + "hello", 3, 1, "expected 'outputs:' or a value such as '%0 = add(...)', got 'hello'"),
        (X + "= 3", 3, 1, "expected 'outputs:'"),
        (X + "%2 sin(%0)", 3, 4, "expected '=', got 'sin(%0)'"),
        (X + "%2 = 3", 3, 6, "expected an op's name, got '3'"),
        (
            X + "outputs: [[3], [2]]\n%2 = sin(%0) : tensor<3xf64>",
            4,
            1,
            "expected the end of the text after 'outputs:'",
        ),
    ],
)
def test_errors_in_text_name_the_place_and_what_was_expected(text, line, column, message):
    with pytest.raises(SourceError) as e:
        parse(text, "p.txt")
    assert message in e.value.message
    assert (e.value.file, e.value.line, e.value.column) == ("p.txt", line, column)
    assert str(e.value) == f"p.txt:{line}:{column}: {e.value.message}"


def test_every_truncation_of_a_text_is_an_error_or_a_program():
    text = as_text(small_graph())
    for n in range(len(text.rstrip()) - 1):
        with pytest.raises(SourceError):
            parse(text[:n])


def test_a_changed_character_never_crashes():
    text = as_text(graph_of("gather", [t(3)], (0, (0, 2)))) + as_text(constant_graph(Const(np.array([1.0, 2.0]))))
    for i, c in itertools.product(range(len(text)), "%[(9-x, \n"):
        with contextlib.suppress(SourceError):
            parse(text[:i] + c + text[i + 1 :])


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
            '%c = arith.constant dense<1> : tensor<2xi64> %0 = "qb.sin"(%c) : (tensor<2xi64>) -> tensor<2xi64>',
            "'qb.sin' op operand 0 (x): expected elements of type f64, f32 or i1, got tensor<2xi64>",
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
            '%0 = "qb.constant"() {value = dense<1> : tensor<2xi64>} : () -> tensor<2xf64>',
            "'qb.constant' op attribute 'value' must be dense elements of type f64, f32 or i1",
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
    assert error.message == "'arith.addf' is not a qb op: only qb ops can be read, with tensor.cast and func.return"
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
