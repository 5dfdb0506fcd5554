"""MLX gives the CPU's float32 answers: every op, its derivatives, loops, matrices, solvers, edges; threads; training."""

from __future__ import annotations

import threading
import warnings
from random import Random

import numpy as np
import pytest
from engine_programs import DERIVATIVES, EDGES, LOOPS, MATRICES, OPS, SOLVERS, SPECIAL
from random_programs import Quabla, random_program

import quabla as qb

mx = pytest.importorskip("mlx.core", reason="mlx is not installed")

FLOAT32 = "mlx executes float64 programs as float32"
quiet = pytest.mark.filterwarnings(f"ignore:{FLOAT32}")


def agree(program, *, rtol=1e-5, atol=1e-5, signs=False):
    want = qb.jit(program.run)(*program.operands)
    got = qb.jit(program.run, device="mlx")(*program.operands)
    assert qb.tree.structure(got) == qb.tree.structure(want)
    for g, w in zip(qb.tree.leaves(got), qb.tree.leaves(want), strict=True):
        assert g.dtype is w.dtype
        np.testing.assert_allclose(g.numpy(), w.numpy(), rtol=rtol, atol=atol)
        if signs:
            number = ~np.isnan(w.numpy())
            np.testing.assert_array_equal(np.signbit(g.numpy())[number], np.signbit(w.numpy())[number])


def programs(these):
    return pytest.mark.parametrize("program", these, ids=[p.name for p in these])


@programs(OPS)
@quiet
def test_op(program):
    agree(program)


@programs(DERIVATIVES)
def test_derivatives_of_op(program):
    agree(program)


@programs(SPECIAL)
def test_special_values_of_op(program):
    agree(program, atol=0.0, signs=True)


@programs(LOOPS)
@quiet
def test_loop(program):
    agree(program)


@programs(MATRICES)
def test_matrix(program):
    agree(program)


@programs(SOLVERS)
def test_solver(program):
    agree(program)


@programs(EDGES)
def test_edge(program):
    agree(program, atol=0.0)


@quiet
@pytest.mark.parametrize("seed", range(20))
def test_random_program(seed):
    program = random_program(Random(seed))
    operands = [qb.array(a if a.dtype == bool else a.astype(np.float32)) for a in program.inputs]
    values = Quabla(qb.float32)

    def run(*xs):
        return program.run(values, xs), qb.grad(lambda *xs: program.scalar(values, xs), tuple(range(len(xs))))(*xs)

    want, got = qb.jit(run)(*operands), qb.jit(run, device="mlx")(*operands)
    for g, w in zip(qb.tree.leaves(got), qb.tree.leaves(want), strict=True):
        np.testing.assert_allclose(g.numpy(), w.numpy(), rtol=1e-5, atol=1e-5)


# ---- float64 programs, errors, the facade -----------------------------------------------------------


def test_float64_program_runs_as_float32_and_warns_once_for_a_function():
    f = qb.jit(lambda x: qb.sin(x) / 3.0, device="mlx")
    x = qb.array([0.1, 0.7])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = f(x)
        f(x)
        f(qb.ones(3))
    assert [(w.category, str(w.message)) for w in caught] == [(UserWarning, FLOAT32)]
    assert caught[0].filename == __file__
    assert y.dtype is qb.float64
    np.testing.assert_array_equal(y.numpy(), y.numpy().astype(np.float32))
    np.testing.assert_allclose(y.numpy(), np.sin([0.1, 0.7]) / 3.0, rtol=1e-6)


def test_float32_program_with_a_loop_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f = qb.jit(lambda x: qb.fori_loop(0, 3, lambda i, c: c + 0.5 * i * x, x), device="mlx")
        np.testing.assert_array_equal(f(qb.array([1.0], dtype=qb.float32)).numpy(), [2.5])


def test_ahead_of_time_and_facade():
    x = qb.ShapeDtype((2,), qb.float32)
    compiled = qb.jit(lambda x: {"y": x * x}, device="mlx").lower(x).compile()
    np.testing.assert_array_equal(compiled(qb.array([1.0, 3.0], dtype=qb.float32))["y"].numpy(), [1.0, 9.0])
    assert compiled.engine == "mlx"
    program = qb.Compiler().trace(lambda x, w: qb.sum(qb.sin(x * w)), [("x", [2]), ("w", [2])])
    inputs = {"x": qb.array([1.0, 2.0]), "w": qb.array([0.5, 0.25]), "y_bar": qb.array(1.0)}
    with pytest.warns(UserWarning, match=FLOAT32):
        executable = program.vjp("y_bar")["w"].compile("mlx")
    np.testing.assert_allclose(executable(inputs).numpy(), [0.87758256, 1.75516512], rtol=1e-6)
    assert executable.engine == "mlx"
    assert "target=mlx" in repr(executable)


def test_capabilities():
    assert "mlx" in qb.devices()
    assert qb.Compiler().capabilities()["mlx"]
    assert qb.Compiler().capability("mlx")


def test_captured_arrays_and_results_that_are_not_arrays():
    big = np.random.default_rng(0).normal(size=(40, 30)).astype(np.float32)
    weights = qb.array(big)
    got = qb.jit(lambda x: {"y": weights @ x, "n": 3, "same": x}, device="mlx")(qb.array(big.T))
    assert got["n"] == 3
    np.testing.assert_allclose(got["y"].numpy(), big @ big.T, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(got["same"].numpy(), big.T)


@pytest.mark.slow  # on the CPU, MLX has a C++ compiler make every kernel
@pytest.mark.parametrize("how", ["never", "always"])
def test_compiling_changes_nothing(how):
    qb.config.mlx_compile = how
    f = qb.jit(lambda x: qb.fori_loop(0, 4, lambda i, c: qb.sin(c) * 0.5 + x, x), device="mlx")
    x = np.linspace(-1.0, 1.0, 7, dtype=np.float32)
    want = x
    for _ in range(4):
        want = np.sin(want) * np.float32(0.5) + x
    np.testing.assert_allclose(f(qb.array(x)).numpy(), want, rtol=1e-6, atol=1e-7)


def test_setting_for_compiling_is_checked():
    with pytest.raises(ValueError, match=r"config.mlx_compile must be one of 'auto', 'always', 'never', got 'yes'"):
        qb.config.mlx_compile = "yes"


def test_what_mlx_refuses_at_run_time_is_an_error_of_ours():
    from quabla.runtime.mlx import MlxEngine

    program = qb.jit(lambda x, y: x + y).lower(*[qb.ShapeDtype((3,), qb.float32)] * 2).program
    with pytest.raises(qb.QuablaError, match="mlx cannot run the program"):
        MlxEngine(program.graph)([np.zeros(2, np.float32), np.zeros(3, np.float32)])


# ---- threads ----------------------------------------------------------------------------------------


def test_threads_get_right_answers():
    shared = qb.jit(lambda a, x: qb.linalg.solve(a, qb.sin(x) @ x), device="mlx")
    wrong: list[object] = []

    def work(k):
        own = qb.jit(lambda x: qb.fori_loop(0, 5, lambda i, c: qb.cos(c) + x, x * float(k)), device="mlx")
        rng = np.random.default_rng(k)
        try:
            for _ in range(5):
                a = (rng.normal(size=(4, 4)) + 6.0 * np.eye(4)).astype(np.float32)
                x = rng.normal(size=(4, 4)).astype(np.float32)
                got = shared(qb.array(a), qb.array(x)).numpy()
                np.testing.assert_allclose(got, np.linalg.solve(a, np.sin(x) @ x), rtol=1e-4, atol=1e-5)
                want = x * np.float32(k)
                for _ in range(5):
                    want = np.cos(want) + x
                np.testing.assert_allclose(own(qb.array(x)).numpy(), want, rtol=1e-5, atol=1e-5)
        except Exception as e:  # noqa: BLE001  (told by the main thread)
            wrong.append(e)

    for _ in range(2):  # the second round meets programs made by threads that have ended
        threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not wrong


# ---- state that stays on the device -----------------------------------------------------------------


def sgd_graph():
    def step(w, m, rate, x):
        loss, g = qb.value_and_grad(lambda w: qb.mean((qb.matmul(x, w) - 1.0) ** 2))(w)
        m = 0.9 * m + g.astype(qb.float64)
        return (w - (rate * m).astype(qb.float32)), m, loss

    spec = [qb.ShapeDtype(s, d) for s, d in [((3,), qb.float32), ((3,), qb.float64), ((), qb.float64)]]
    data = qb.ShapeDtype((5, 3), qb.float32)
    return qb.jit(step).lower(*spec, data).program.graph


def test_resident_state_advances_as_on_the_host():
    from quabla.runtime.mlx import Resident

    x = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    w, m = np.zeros(3, np.float32), np.zeros(3)
    steps = Resident(sgd_graph(), 2)
    steps.put([w, m], 7)
    for _ in range(20):
        (loss,) = steps([np.float64(0.05), x])
        r = x @ w - 1.0
        np.testing.assert_allclose(loss, np.mean(r * r), rtol=1e-5)
        m = 0.9 * m + 2.0 / 5 * (x.T @ r)
        w = (w - 0.05 * m).astype(np.float32)
    assert steps.calls == 27
    assert steps.engine == "mlx"
    state = steps.state()
    assert [a.dtype for a in state] == [np.float32, np.float64]
    np.testing.assert_allclose(state[0], w, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(state[1], m, rtol=1e-4, atol=1e-6)


def test_resident_state_is_as_before_a_call_that_fails():
    from quabla.runtime.mlx import Resident

    steps = Resident(sgd_graph(), 2)
    steps.put([np.ones(3, np.float32), np.zeros(3)], 0)
    with pytest.raises(qb.QuablaError):
        steps([np.float64(0.05), np.zeros((5, 4), np.float32)])
    assert steps.calls == 0
    np.testing.assert_array_equal(steps.state()[0], np.ones(3))


# ---- training ---------------------------------------------------------------------------------------


def network_loss(p, x, y):
    return qb.mean((qb.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] - y) ** 2)


def training(device, optimizer):
    rng = np.random.default_rng(0)

    def normal(*shape):
        return qb.array((rng.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32))

    params = {"w1": normal(2, 16), "b1": normal(16), "w2": normal(16, 1)}
    x = normal(64, 2)
    return qb.optim.Trainer(network_loss, params, optimizer, x, qb.sin(x[:, :1]), device=device)


@pytest.mark.parametrize(
    "optimizer",
    [qb.optim.SGD(0.1), qb.optim.Adam(1e-2), qb.optim.AdamW(qb.optim.cosine_decay(1e-2, 60), clip_norm=0.5)],
    ids=["sgd", "adam", "adamw-clipped-schedule"],
)
def test_training_goes_as_on_the_cpu(optimizer):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        here, there = training("cpu", optimizer), training("mlx", optimizer)
    for _ in range(50):
        here.step()
        there.step()
    assert there.engine == "mlx"
    assert there.steps == 50
    np.testing.assert_allclose(there.loss().item(), here.loss().item(), rtol=1e-4)
    for a, b in zip(qb.tree.leaves(there.params), qb.tree.leaves(here.params), strict=True):
        assert a.dtype is qb.float32
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


def test_training_continues_from_a_file_bit_for_bit(tmp_path):
    trainer = training("mlx", qb.optim.Adam(1e-2))
    trainer.fit(5)
    trainer.save(tmp_path / "state")
    want = trainer.fit(5)
    trainer.load(tmp_path / "state")
    assert trainer.fit(5) == want


def test_training_in_float64_warns():
    with pytest.warns(UserWarning, match=f"^{FLOAT32}$") as caught:
        trainer = qb.optim.Trainer(lambda p: qb.sum(p * p), qb.array([1.0, 2.0]), qb.optim.SGD(0.25), device="mlx")
    assert len(caught) == 1
    assert trainer.fit(4) == [5.0, 1.25, 0.3125, 0.078125]
    assert trainer.params.dtype is qb.float64
    with pytest.raises(qb.UnsupportedOperationError, match="Trainer: mlx has no float64 arithmetic"):
        qb.optim.Trainer(lambda p: qb.sum(p * p), qb.ones(2), qb.optim.SGD(0.25), device="mlx", precision="float64")
