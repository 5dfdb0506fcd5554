"""The written forms of loops and choices: generated nested graphs, upstream passes, and what is refused."""

from random import Random

import numpy as np
import pytest
from dialect_helpers import F32, I1, asm, assert_written_forms_agree, module, read_main, t

from quabla import mlir
from quabla.dialect.checks import SourceError
from quabla.dialect.text import as_text, parse
from quabla.dialect.writer import write
from quabla.ops.dispatch import apply, full
from quabla.ops.registry import REGISTRY
from quabla.tracing.graph import COND, FORI, WHILE, Graph, RegionNode
from quabla.tracing.plan import Plan
from quabla.tracing.regions import branch, fori, while_
from quabla.transforms.simplify import simplify

TYPES = [t(), t(3), t(2, 3), t(3, dtype=F32), t(dtype=I1)]


# ---- generated graphs -----------------------------------------------------------------------------


class Maker:
    """Random graphs whose regions use values from every level around them."""

    def __init__(self, seed):
        self.rng = Random(seed)

    def graph(self):
        graph = Graph(TYPES, [f"a{i}" for i in range(len(TYPES))])
        with graph:
            values = self.extended(list(graph.args), 6, 0)
            return graph.finish(self.rng.sample(values[len(TYPES) :], 3))

    def extended(self, values, count, depth):
        values = list(values)
        for _ in range(count):
            if depth < 3 and self.rng.random() < 0.45:
                values += self.rng.choice([self.loop, self.choice, self.repeat])(values, depth)
            else:
                values.append(self.op(values))
        return values

    def value(self, values, type):
        fitting = [v for v in values if v.type is type]
        return self.rng.choice(fitting) if fitting else full(type, self.rng.choice([0.25, 1.5]))

    def op(self, values):
        rng = self.rng
        type = rng.choice(TYPES)
        x, y = self.value(values, type), self.value(values, type)
        if not type.dtype.is_float:
            x, y = self.value(values, t()), self.value(values, t())
            return apply(REGISTRY["compare"], (x, y), (rng.choice(["less", "greater_equal"]),))
        name = rng.choice(["sin", "tanh", "add", "mul", "take", "where", "constant"])
        if name == "constant":
            return full(type, float(rng.randrange(4)))
        if name == "where":
            return apply(REGISTRY["where"], (self.value(values, t(dtype=I1)), x, y))
        if name == "take":
            return apply(REGISTRY["take"], (self.value(values, t(2, 3)), self.value(values, t())), (0,))
        return apply(REGISTRY[name], (x, y) if name in ("add", "mul") else (x,))

    def carries(self, values):
        types = [self.rng.choice(TYPES) for _ in range(self.rng.choice([1, 1, 2, 3]))]
        return types, [self.value(values, k) for k in types]

    def body(self, values, types, depth):
        inside = self.extended(values, self.rng.randrange(4), depth + 1)
        return [self.value(inside, k) for k in types]

    def loop(self, values, depth):
        types, first = self.carries(values)
        lower = self.rng.choice([-1, 0, 2])
        return fori(
            lower,
            lower + self.rng.choice([1, 2, 3]),
            first,
            lambda i, now: self.body([*values, i, *now] if self.rng.random() < 0.6 else [*values, *now], types, depth),
        )

    def choice(self, values, depth):
        types, _ = self.carries(values)
        pred = self.value(values, t(dtype=I1))
        return branch(pred, lambda: self.body(values, types, depth), lambda: self.body(values, types, depth))

    def repeat(self, values, depth):
        types, first = self.carries(values)
        limit = full(t(), float(self.rng.randrange(3)))
        return while_(
            [full(t(), 0.0), *first],
            lambda now: apply(REGISTRY["compare"], (now[0], limit), ("less",)),
            lambda now: [apply(REGISTRY["add"], (now[0], full(t(), 1.0))), *self.body([*values, *now], types, depth)],
        )


INPUTS = [
    np.asarray(0.3),
    np.array([0.1, -0.5, 0.7]),
    np.array([[0.2, 0.4, -0.1], [1.0, 0.5, -0.3]]),
    np.array([0.5, 0.25, -1.0], np.float32),
    np.asarray(True),
]


def assert_same_results(a, b):
    for x, y in zip(Plan(a)(INPUTS), Plan(b)(INPUTS), strict=True):
        np.testing.assert_array_equal(x, y)


SEEDS = range(60)


def kinds(nodes):
    found = []
    for n in nodes:
        if isinstance(n, RegionNode):
            found.append(n.op)
            for body in n.regions:
                found += kinds(body.nodes)
    return found


def test_generated_graphs_hold_every_kind_of_region():
    every = [k for s in SEEDS for k in kinds(Maker(s).graph().body().nodes)]
    assert min(every.count(k) for k in (COND, FORI, WHILE)) >= 20


@pytest.mark.parametrize("seed", SEEDS)
def test_generated_graphs_survive_every_form(seed):
    graph = Maker(seed).graph()
    assert_written_forms_agree(graph)
    assert_same_results(graph, read_main(write(graph)))
    assert_same_results(graph, parse(as_text(graph)))


@pytest.mark.parametrize("seed", SEEDS)
def test_simplified_graphs_give_the_same_results(seed):
    graph = Maker(seed).graph()
    small = simplify(graph)
    assert_written_forms_agree(small)
    assert_same_results(graph, small)


PASSES = [
    "cse",
    "canonicalize",
    "loop-invariant-code-motion",
    "sccp",
    "remove-dead-values",
    "func.func(scf-for-loop-canonicalization)",
    "control-flow-sink",
    "cse,canonicalize,loop-invariant-code-motion,cse,canonicalize",
]


@pytest.mark.parametrize("passes", PASSES)
def test_upstream_passes_keep_programs_readable_and_right(passes):
    manager = mlir.passmanager.PassManager.parse(f"builtin.module({passes})", mlir.context())
    for seed in SEEDS[::2]:
        graph = Maker(seed).graph()
        m = write(graph)
        manager.run(m.operation)
        again = read_main(m)
        assert_same_results(graph, again)
        assert_written_forms_agree(again)


# ---- the MLIR form --------------------------------------------------------------------------------


def loop_text(body, bounds="%c0 to %c5 step %c1", carried="%x", result="tensor<f64>"):
    return f"""func.func @f(%x: tensor<f64>, %p: tensor<i1>, %n: index) -> {result} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c5 = arith.constant 5 : index
      %r = scf.for %i = {bounds} iter_args(%a = {carried}) -> {result} {{
        {body}
      }}
      return %r : {result}
    }}"""


def run(text, *arrays):
    return [x.tolist() for x in Plan(read_main(module(text)))([np.asarray(a) for a in arrays])]


def test_a_counter_that_is_not_used_is_not_written():
    graph = Graph([t()])
    with graph:
        outs = fori(0, 4, graph.args, lambda i, now: [apply(REGISTRY["sin"], (now[0],))])
        graph.finish(outs)
    assert "qb.index" not in str(write(graph))
    assert_written_forms_agree(graph)


def test_a_counter_may_be_read_anywhere_in_the_body():
    body = """%s = "qb.sin"(%a) : (tensor<f64>) -> tensor<f64>
        %q = tensor.extract %p[] : tensor<i1>
        %r2 = scf.if %q -> tensor<f64> {
          %i1 = "qb.index"(%i) : (index) -> tensor<f64>
          %t = "qb.add"(%a, %i1) : (tensor<f64>, tensor<f64>) -> tensor<f64>
          scf.yield %t : tensor<f64>
        } else {
          scf.yield %s : tensor<f64>
        }
        scf.yield %r2 : tensor<f64>"""
    text = loop_text(body).replace(", %n: index", "")
    assert run(text, 1.0, True) == [11.0]
    assert_written_forms_agree(read_main(module(text)))


def test_a_loop_without_iterations_is_its_first_carries():
    text = loop_text("scf.yield %a : tensor<f64>", "%c5 to %c0 step %c1").replace(", %n: index", "")
    assert not read_main(module(text)).body().nodes


def test_locations_of_regions_survive():
    m = module(loop_text("scf.yield %a : tensor<f64>").replace(", %n: index", "").replace("yield %a", "yield %x"))
    (node,) = read_main(m).body().nodes
    assert node._loc[1] == 6
    again = write(read_main(m))
    assert asm(write(read_main(again))) == asm(again)


@pytest.mark.parametrize("op", ["andi", "ori", "xori"])
@pytest.mark.parametrize("p", [False, True])
@pytest.mark.parametrize("q", [False, True])
def test_conditions_that_arith_combines(op, p, q):
    text = f"""func.func @f(%p: tensor<i1>, %q: tensor<i1>, %x: tensor<f64>, %y: tensor<f64>) -> tensor<f64> {{
      %a = tensor.extract %p[] : tensor<i1>
      %b = tensor.extract %q[] : tensor<i1>
      %c = arith.{op} %a, %b : i1
      %true = arith.constant true
      %d = arith.andi %c, %true : i1
      %r = arith.select %d, %x, %y : tensor<f64>
      return %r : tensor<f64>
    }}"""
    wanted = {"andi": p and q, "ori": p or q, "xori": p != q}[op]
    assert run(text, p, q, 1.0, 2.0) == [1.0 if wanted else 2.0]


def test_a_while_loop_may_hand_on_what_its_test_computes():
    # The test hands on sin-free values in another order: the doubled carry, and a bool.
    text = """func.func @f(%x: tensor<f64>, %n: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
      %r:2 = scf.while (%a = %x) : (tensor<f64>) -> (tensor<f64>, tensor<f64>) {
        %d = "qb.add"(%a, %a) : (tensor<f64>, tensor<f64>) -> tensor<f64>
        %c = "qb.compare"(%d, %n) {kind = "less"} : (tensor<f64>, tensor<f64>) -> tensor<i1>
        %q = tensor.extract %c[] : tensor<i1>
        scf.condition(%q) %n, %d : tensor<f64>, tensor<f64>
      } do {
      ^bb0(%m: tensor<f64>, %b: tensor<f64>):
        %s = "qb.add"(%b, %m) : (tensor<f64>, tensor<f64>) -> tensor<f64>
        scf.yield %s : tensor<f64>
      }
      return %r#0, %r#1 : tensor<f64>, tensor<f64>
    }"""
    # 1: 2 < 10, so the carry is 2 + 10; 12: 24 >= 10 ends it.
    assert run(text, 1.0, 10.0) == [10.0, 24.0]
    assert_written_forms_agree(read_main(module(text)))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (
            loop_text("scf.yield %a : tensor<f64>", "%c0 to %n step %c1").replace(", %n: index", ""),
            6,
            "'scf.for' op: the upper bound must be an arith.constant of type index",
        ),
        (
            loop_text("scf.yield %a : tensor<f64>", "%c0 to %c5 step %c2").replace(", %n: index", ""),
            6,
            "'scf.for' op: the step must be 1, got 2",
        ),
        (
            loop_text(
                '%j = arith.remui %i, %c1 : index\n %k = "qb.index"(%j) : (index) -> tensor<f64>\nscf.yield %k : tensor<f64>'
            ).replace(", %n: index", ""),
            7,
            "'arith.remui' is not a qb op: only qb ops can be read",
        ),
        (
            loop_text(
                "%f = tensor.extract %x[] : tensor<f64>\n%c = arith.constant true\nscf.yield %a : tensor<f64>"
            ).replace(", %n: index", ""),
            7,
            "'tensor.extract' op can be read only from a tensor<i1>, got tensor<f64>",
        ),
        (
            loop_text("%c = arith.constant dense<1.0> : tensor<f64>\nscf.yield %c : tensor<f64>").replace(
                ", %n: index", ""
            ),
            7,
            "'arith.constant' op can be read only as an index or i1, got tensor<f64>",
        ),
    ],
)
def test_loops_that_cannot_be_read(text, line, message):
    if "%n" in text:
        text = text.replace("%c5 = arith.constant 5 : index", "%n = arith.addi %c1, %c1 : index")
    with pytest.raises(SourceError) as caught:
        read_main(module(text))
    assert caught.value.message.startswith(message)
    assert caught.value.line == line


def test_bounds_that_are_no_index_constants_are_refused():
    text = """func.func @f(%x: tensor<f64>) -> tensor<f64> {
      %c0 = arith.constant 0 : i32
      %r = scf.for %i = %c0 to %c0 step %c0 iter_args(%a = %x) -> tensor<f64> : i32 {
        scf.yield %a : tensor<f64>
      }
      return %r : tensor<f64>
    }"""
    with pytest.raises(SourceError, match="can be read only as an index or i1, got i32"):
        read_main(module(text))


@pytest.mark.parametrize("types", ["(index) -> tensor<f32>", "(index) -> tensor<1xf64>"])
def test_the_counter_op_makes_one_float64(types):
    with pytest.raises(mlir.ir.MLIRError, match="tensor<f64>"):
        module(loop_text(f'%k = "qb.index"(%i) : {types}\n scf.yield %a : tensor<f64>'))


# ---- the text form --------------------------------------------------------------------------------

LOOP = """%0 = input[name=x] : tensor<3xf64>
%1 = input[name=w] : tensor<3xf64>
%2, %3 = fori(%0, %0, %1, lower=0, upper=5) : tensor<3xf64>, tensor<3xf64> {
  args: %4 : tensor<f64>, %5 : tensor<3xf64>, %6 : tensor<3xf64>
  %7 = mul(%5, %1) : tensor<3xf64>
  %8 = add(%6, %7) : tensor<3xf64>
  yield %7, %8
}
outputs: [[3], [3]]
"""
CHOICE = """%0 = input[name=p] : tensor<i1>
%1 = input[name=x] : tensor<3xf64>
%2 = cond(%0, %1) : tensor<3xf64> {
  yield %1
} else {
  %3 = neg(%1) : tensor<3xf64>
  yield %3
}
outputs: [[3]]
"""
REPEAT = """%0 = input[name=x] : tensor<f64>
%1 = input[name=n] : tensor<f64>
%2 = while(%0, %1) : tensor<f64> {
  args: %3 : tensor<f64>
  %4 = compare(%3, %1, kind=less) : tensor<i1>
  yield %4
} do {
  args: %5 : tensor<f64>
  %6 = add(%5, %5) : tensor<f64>
  yield %6
}
outputs: [[]]
"""


@pytest.mark.parametrize("text", [LOOP, CHOICE, REPEAT])
def test_printed_regions(text):
    graph = parse(text)
    assert as_text(graph) == text
    assert_written_forms_agree(graph)


def test_names_spaces_and_comments_are_free():
    text = LOOP.replace("%5", "%state.a").replace("{\n", "{ // the body\n\n").replace("  yield", "\n      yield")
    assert as_text(parse(text)) == LOOP


def test_captured_values_come_in_the_order_of_their_use():
    text = LOOP.replace("%0, %0, %1,", "%0, %0, %0, %1,").replace("add(%6, %7)", "add(%6, %7)")
    assert as_text(parse(text)) == LOOP  # a captured value that no body uses is left out
    both = LOOP.replace("%0, %0, %1,", "%0, %0, %0, %1,").replace("add(%6, %7)", "add(%6, %0)")
    assert "fori(%0, %0, %1, %0, lower=0" in as_text(parse(both))


@pytest.mark.parametrize(
    ("text", "old", "new", "line", "column", "message"),
    [
        (LOOP, "mul(%5, %1)", "mul(%5, %0)", 5, 16, "mul: %0 is from outside this region: name it among the operands of fori"),
        (LOOP, "yield %7, %8", "yield %7", 7, 9, "yield: must be given tensor<3xf64>, tensor<3xf64>, got tensor<3xf64>"),
        (LOOP, "yield %7, %8", "", 8, 1, "expected 'yield' or a value such as '%0 = add(...)', got '}'"),
        (LOOP, ", upper=5", "", 3, 35, "fori: needs the attribute 'upper'"),
        (LOOP, "lower=0", "lower=0.5", 3, 33, "fori: expected an integer, got '0.5,'"),
        (LOOP, "%2, %3 =", "%2 =", 3, 6, "fori: 1 result, but 2 types"),
        (LOOP, "%0, %0, %1,", "%1,", 3, 10, "fori: the first carries must be tensor<3xf64>, tensor<3xf64>, got tensor<3xf64>"),
        (LOOP, "%4 : tensor<f64>", "%4 : tensor<f32>", 4, 14, "args: argument 0 of the region is tensor<f64>, got tensor<f32>"),
        (LOOP, "%5 : tensor<3xf64>, %6 : tensor<3xf64>", "%5 : tensor<3xf64>", 4, 45, "args: expected ',', got the end of the line"),
        (LOOP, "  args: ", "  # ", 4, 3, "expected 'args:', got '#'"),
        (LOOP, "tensor<3xf64> {", "tensor<3xf64>", 3, 75, "fori: expected '{', got the end of the line"),
        (LOOP, "outputs:", "%9 = sin(%7) : tensor<3xf64>\noutputs:", 9, 10, "sin: %7 is defined inside a region, on line 5"),
        (LOOP, "%6 : tensor", "%0 : tensor", 4, 47, "args: %0 is defined twice; the first definition is on line 1"),
        (LOOP, "fori", "for", 3, 10, "unknown op 'for'; did you mean 'fori'?"),
        (CHOICE, "%0, %1)", "%1, %0)", 3, 6, "cond: the predicate must be tensor<i1>, got tensor<3xf64>"),
        (CHOICE, "} else {", "} do {", 5, 3, "cond: expected 'else', got 'do'"),
        (CHOICE, "neg(%1)", "neg(%2)", 6, 12, "neg: %2 is not defined before this line"),
        (REPEAT, "yield %4", "yield %3", 6, 9, "yield: must be given tensor<i1>, got tensor<f64>"),
        (REPEAT, "kind=less) : tensor<i1>", "kind=less, lower=1) : tensor<i1>", 5, 35, "compare: has no attribute 'lower'"),
        (REPEAT, "while(%0, %1)", "while(%0, lower=1)", 3, 16, "while: expected 'bound', got 'lower=1)'"),
        (CHOICE, "%3 = neg", "%3, %9 = neg", 6, 12, "neg: it has one result, got names for 2"),
    ],
)  # fmt: skip
def test_wrong_text_is_located(text, old, new, line, column, message):
    assert old in text
    with pytest.raises(SourceError) as caught:
        parse(text.replace(old, new, 1))
    assert caught.value.message.startswith(message)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize("text", [LOOP, CHOICE, REPEAT])
def test_truncated_text_is_refused(text):
    lines = text.split("\n")
    for count in range(1, len(lines) - 1):
        with pytest.raises(SourceError):
            parse("\n".join(lines[:count]))
    with pytest.raises(SourceError, match="the text ends inside a region"):
        parse("\n".join(lines[:4]))


def parsed(text):
    """The graph, or where the parser found a fault."""
    try:
        return parse(text), (1, 1)
    except SourceError as e:
        return None, (e.line, e.column)


def test_damaged_text_is_parsed_or_refused():
    rng = Random(5)
    for text in (LOOP, CHOICE, REPEAT):
        for _ in range(400):
            at = rng.randrange(len(text))
            piece = rng.choice(["", "%1", "{", "}", "\n", ",", "yield ", "7"])
            graph, place = parsed(text[:at] + piece + text[at + rng.randrange(3) :])
            assert min(place) > 0
            if graph is not None:
                assert as_text(parse(as_text(graph))) == as_text(graph)


def test_regions_may_not_nest_without_end():
    depth = 80
    opened = "".join(f"%v{i} = cond(%p, %p) : tensor<i1> {{\n" for i in range(depth))
    with pytest.raises(SourceError, match="regions are nested more than 64 deep"):
        parse(f"%p = input[name=p] : tensor<i1>\n{opened}")


# ---- simplification -------------------------------------------------------------------------------


def simplified(text):
    return as_text(simplify(parse(text)))


def test_a_choice_that_is_known_becomes_its_branch():
    text = CHOICE.replace("%0 = input[name=p] : tensor<i1>\n%1", "%1").replace(
        "%2 =", "%0 = constant[value=0] : tensor<i1>\n%2 ="
    )
    assert simplified(text) == "%0 = input[name=x] : tensor<3xf64>\n%1 = neg(%0) : tensor<3xf64>\noutputs: [[3]]\n"


def test_a_loop_that_runs_once_becomes_its_body():
    text = LOOP.replace("lower=0, upper=5", "lower=2, upper=3").replace("mul(%5, %1)", "mul(%5, %4)")
    assert "fori" not in simplified(text)
    assert "constant[value=2.0] : tensor<f64>" in simplified(text)


def test_a_carry_that_no_iteration_changes_is_captured():
    text = LOOP.replace("yield %7, %8", "yield %5, %8")
    assert "fori(%0, %2, lower=0, upper=5) : tensor<3xf64> {" in simplified(text)


def test_a_while_loop_that_never_runs_is_its_first_carries():
    text = REPEAT.replace("compare(%3, %1, kind=less)", "constant[value=0]")
    assert (
        simplified(text)
        == "%0 = input[name=x] : tensor<f64>\n%1 = input[name=n] : tensor<f64>\nreturns: %0\noutputs: [[]]\n"
    )
