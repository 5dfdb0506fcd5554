"""Graphs, their written forms, and what makes two of them equal."""

from quabla import dtypes, mlir
from quabla.dialect.captures import captured_in_order, first_operands, outer_names
from quabla.dialect.reader import read
from quabla.dialect.text import as_text, parse
from quabla.dialect.writer import write
from quabla.ops.registry import REGISTRY
from quabla.ops.types import tensor_type
from quabla.tracing.graph import Graph, RegionNode

F64, F32, I1 = dtypes.float64, dtypes.float32, dtypes.bool_


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
    """Two graphs are equal node for node; captured values may come in any order."""
    x, y = a.body(), b.body()
    assert a.names == b.names
    _assert_equal_bodies(x, y, dict(zip(x.args, y.args, strict=True)))


def _assert_equal_bodies(x, y, twin):
    assert [twin[p].type for p in twin] == [p.type for p in twin]
    assert len(x.nodes) == len(y.nodes)
    for n, m in zip(x.nodes, y.nodes, strict=True):
        if isinstance(n, RegionNode):
            _assert_equal_regions(n, m, twin)
            continue
        assert (n.op, n.params, n.type, n.splat is None) == (m.op, m.params, m.type, m.splat is None)
        assert [twin[o] for o in n.operands] == list(m.operands)
        twin[n] = m
    assert [twin[o] for o in x.outs] == list(y.outs)


def _assert_equal_regions(n, m, twin):
    assert (n.op, n.params, [r.type for r in n.results]) == (m.op, m.params, [r.type for r in m.results])
    assert [twin[o] for o in first_operands(n)] == list(first_operands(m))
    assert [twin[o] for o in captured_in_order(n)] == captured_in_order(m)
    for x, y in zip(n.regions, m.regions, strict=True):
        own = len(x.args) - len(n.captured())
        hidden = {outside: a for a, outside in outer_names(m, y).items()}
        inner = dict(zip(x.args[:own], y.args[:own], strict=True))
        inner.update((a, hidden[twin[o]]) for a, o in outer_names(n, x).items() if o in twin and twin[o] in hidden)
        _assert_equal_bodies(x, y, inner)
    twin.update(zip(n.results, m.results, strict=True))


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


def small_graph():
    graph = Graph([t(2, 3), t(3)], ["params/w", "x"])
    with graph:
        w, x = graph.args
        y = graph.emit(REGISTRY["mul"], (w, x))
        z = graph.emit(REGISTRY["tanh"], (y,))
        total = graph.emit(REGISTRY["sum"], (z,), ((0, 1),))
    return graph.finish([total])
