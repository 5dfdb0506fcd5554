"""Graphs, their written forms, and what makes two of them equal."""

from quabla import dtypes, mlir
from quabla.dialect.reader import read
from quabla.dialect.text import as_text, parse
from quabla.dialect.writer import write
from quabla.ops.registry import REGISTRY
from quabla.ops.types import tensor_type
from quabla.tracing.graph import Graph

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


def small_graph():
    graph = Graph([t(2, 3), t(3)], ["params/w", "x"])
    with graph:
        w, x = graph.args
        y = graph.emit(REGISTRY["mul"], (w, x))
        z = graph.emit(REGISTRY["tanh"], (y,))
        total = graph.emit(REGISTRY["sum"], (z,), ((0, 1),))
    return graph.finish([total])
