"""Which engine runs a call."""

import threading

import numpy as np
import pytest

import quabla as qb
from quabla import errors
from quabla.runtime import cpu
from quabla.runtime.cpu import CpuEngine
from quabla.tracing.trace import Arguments, trace

X = np.array([1.0, 2.0])


def engine_with(monkeypatch, cost, compiled):
    """An engine whose program XLA saves one unit of time in each call."""
    monkeypatch.setattr(qb.config, "cpu_engine", "auto")
    monkeypatch.setattr(cpu, "estimate", lambda plan: (1.0, cost))
    monkeypatch.setattr(cpu, "_PAUSE", 5.0)
    monkeypatch.setattr(cpu, "compiled", compiled)
    return CpuEngine(trace(lambda x: [x + 1.0], Arguments([qb.array(X)])).graph)


def names(engine, calls):
    found = []
    for _ in range(calls):
        np.testing.assert_array_equal(engine([X])[0], X + 1.0)
        found.append(engine.name)
    return found


def test_a_short_compilation_is_waited_for(monkeypatch):
    threads = []

    def compiled(graph, state):
        threads.append(threading.current_thread())
        return lambda arrays: [arrays[0] + 1.0]

    assert names(engine_with(monkeypatch, 3.0, compiled), 5) == ["numpy"] * 2 + ["xla"] * 3
    assert threads == [threading.main_thread()]


def test_a_long_compilation_runs_beside_the_plan(monkeypatch):
    """The call that gets the program is the same whether or not the compilation ends before it."""
    for early in (True, False):
        go, threads = threading.Event(), []

        def compiled(graph, state, go=go, threads=threads):
            threads.append(threading.current_thread())
            go.wait(20.0)
            return lambda arrays: [arrays[0] + 1.0]

        engine = engine_with(monkeypatch, 10.0, compiled)
        assert names(engine, 9) == ["numpy"] * 9
        assert threads == []
        assert names(engine, 10) == ["numpy"] * 10
        if early:
            go.set()
        else:
            threading.Timer(0.2, go.set).start()
        assert names(engine, 3) == ["xla"] * 3
        assert len(threads) == 1
        assert threads[0] is not threading.main_thread()


@pytest.mark.parametrize(("cost", "before"), [(3.0, 2), (10.0, 19)], ids=["waited for", "in the background"])
def test_a_program_that_xla_cannot_compile_stays_on_the_plan_with_a_warning(cost, before, monkeypatch):
    def compiled(graph, state):
        raise errors.QuablaError("XLA cannot compile the program: too large")

    engine = engine_with(monkeypatch, cost, compiled)
    assert names(engine, before) == ["numpy"] * before
    with pytest.warns(RuntimeWarning, match=r"too large. NumPy's kernels run instead"):
        assert names(engine, 1) == ["numpy"]
    assert names(engine, 5) == ["numpy"] * 5
    monkeypatch.setattr(qb.config, "cpu_engine", "xla")
    with pytest.raises(errors.QuablaError, match="too large"):
        engine([X])


def test_a_program_that_xla_does_not_take_stays_on_the_plan(monkeypatch):
    def compiled(graph, state):
        raise errors.UnsupportedOperationError("no", op="x", device="cpu")

    assert names(engine_with(monkeypatch, 10.0, compiled), 30) == ["numpy"] * 30
