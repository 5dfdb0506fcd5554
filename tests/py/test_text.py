"""The text form: what it looks like, what it accepts, and its errors."""

import contextlib
import itertools

import numpy as np
import pytest
from dialect_helpers import F32, assert_written_forms_agree, constant_graph, graph_of, small_graph, t

from quabla.dialect.checks import SourceError
from quabla.dialect.text import as_text, parse
from quabla.ops.registry import REGISTRY
from quabla.ops.types import Const, tensor_type
from quabla.tracing.graph import Graph


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
        (X + "%2 = sin(%0) : tensor<3xi8>", 3, 16, "(of f64, f32, i1, i32 or i64), got 'tensor<3xi8>'"),
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
