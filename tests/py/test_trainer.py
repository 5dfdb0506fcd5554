"""Trainer: the same numbers as a loop of updates, state that survives whatever happens, and files to continue from."""

from __future__ import annotations

import io
import itertools
import resource
import signal
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest

import quabla as qb
from quabla import optim
from quabla.optim import Trainer

RNG = np.random.default_rng(3)
X, Y = qb.array(RNG.normal(size=(64, 2))), qb.array(RNG.normal(size=(64, 1)))


def network(*sizes, dtype=qb.float64):
    pairs = itertools.pairwise(sizes)
    return [
        {"w": qb.array(RNG.normal(size=s) / np.sqrt(s[0])).astype(dtype), "b": qb.zeros(s[1], dtype=dtype)}
        for s in pairs
    ]


def mse(params, x, y):
    for layer in params[:-1]:
        x = qb.tanh(x @ layer["w"] + layer["b"])
    return qb.mean((x @ params[-1]["w"] + params[-1]["b"] - y) ** 2)


def scanned(params, x, y):
    h, _ = qb.scan(lambda h, i: (qb.tanh(h @ params[1]["w"] + params[1]["b"]), h), x @ params[0]["w"], length=5)
    return qb.mean((h @ params[2]["w"] - y) ** 2)


def penalised(params, x, y):
    size = qb.norm(params[1]["w"])
    return mse(params, x, y) + qb.cond(size > 1.0, lambda s: s, lambda s: s**2, size) + qb.sum(params[0]["w"].T[0])


def by_hand(loss, params, optimizer, batches):
    """The losses and parameters of a loop of updates."""
    slope = qb.jit(qb.value_and_grad(loss))
    state = optimizer.init(params)
    losses, trail = [], [params]
    for batch in batches:
        value, grads = slope(params, *batch)
        params, state = optimizer.update(params, grads, state)
        losses.append(value.item())
        trail.append(params)
    return losses, trail


def same(a, b, rtol=0.0):
    for x, y in zip(qb.tree.leaves(a), qb.tree.leaves(b), strict=True):
        assert x.type is y.type
        np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=rtol, atol=rtol * 1e-2)


@pytest.fixture(params=["numpy", "xla"])
def engine(request, monkeypatch):
    monkeypatch.setattr(qb.config, "cpu_engine", request.param)
    return request.param


OPTIMIZERS = {
    "adam": lambda: optim.Adam(optim.cosine_decay(0.05, 20), clip_norm=1.0),
    "adamw": lambda: optim.AdamW(0.01, weight_decay=0.1),
    "sgd": lambda: optim.SGD(0.1),
}


@pytest.mark.parametrize(
    ("engine", "loss", "name", "dtype"),
    [
        *itertools.product(["numpy"], [mse, scanned, penalised], OPTIMIZERS, [qb.float64, qb.float32]),
        ("xla", penalised, "adam", qb.float64),
        ("xla", mse, "adamw", qb.float32),
        ("xla", scanned, "sgd", qb.float64),
    ],
    indirect=["engine"],
)
def test_steps_are_updates(engine, loss, name, dtype):
    params, data = network(2, 32, 32, 1, dtype=dtype), [X.astype(dtype), Y.astype(dtype)]
    losses, trail = by_hand(loss, params, OPTIMIZERS[name](), [data] * 12)
    trainer = Trainer(loss, params, OPTIMIZERS[name](), *data)
    # Clipping adds up the gradient in another order where small leaves are packed.
    rtol = 1e-4 if dtype is qb.float32 else 0.0 if engine == "numpy" and name != "adam" else 1e-9
    for k in range(12):
        assert trainer.steps == k
        same(trainer.params, trail[k], rtol)
        assert trainer.loss().item() == pytest.approx(losses[k], rel=rtol or 1e-15)
        assert trainer.step() is None
    assert trainer.engine == engine
    same(trainer.params, trail[12], rtol)


@pytest.mark.parametrize("dtype", [qb.float64, qb.float32], ids=["f64", "f32"])
@pytest.mark.parametrize("rows", [8, 200])
def test_large_arrays_are_updated_block_by_block(monkeypatch, dtype, rows):
    monkeypatch.setattr(qb.config, "cpu_engine", "numpy")
    params = network(2, 250, 250, 1, dtype=dtype)
    data = [qb.array(RNG.normal(size=(rows, n))).astype(dtype) for n in (2, 1)]
    for optimizer in (optim.AdamW(0.01, weight_decay=0.1), optim.SGD(0.1)):
        losses, trail = by_hand(penalised, params, optimizer, [data] * 5)
        trainer = Trainer(penalised, params, optimizer, *data)
        for k in range(5):
            assert trainer.loss().item() == losses[k]
            trainer.step()
            same(trainer.params, trail[k + 1])


def test_initial_parameters_and_read_ones_stay(engine):
    params = {"a": qb.array(RNG.normal(size=1024)), "b": qb.array(1.0)}
    start = [x.numpy().copy() for x in qb.tree.leaves(params)]
    trainer = Trainer(lambda p: qb.sum(p["a"] ** 2) * p["b"], params, optim.SGD(0.1))
    read = []
    for _ in range(4):
        read.append((trainer.params, [x.numpy().copy() for x in qb.tree.leaves(trainer.params)], trainer.loss()))
        trainer.step()
    values = [v.item() for _, _, v in read]
    trainer.step()
    for got, copies, _ in read:
        for x, y in zip(qb.tree.leaves(got), copies, strict=True):
            np.testing.assert_array_equal(x.numpy(), y)
    assert [v.item() for _, _, v in read] == values
    for x, y in zip(qb.tree.leaves(params), start, strict=True):
        np.testing.assert_array_equal(x.numpy(), y)


def test_a_loss_that_is_a_parameter(engine):
    trainer = Trainer(lambda p: p, qb.array(5.0), optim.SGD(1.0))
    seen = [trainer.loss()]
    assert trainer.fit(3) == [5.0, 4.0, 3.0]
    assert (seen[0].item(), trainer.loss().item()) == (5.0, 2.0)


def test_parameters_that_the_loss_does_not_use(engine):
    trainer = Trainer(lambda p: qb.sum(p["a"]), {"a": qb.ones(600), "b": qb.ones(600)}, optim.Adam(0.5))
    trainer.fit(2)
    np.testing.assert_allclose(trainer.params["a"].numpy(), 0.0, atol=1e-7)
    np.testing.assert_array_equal(trainer.params["b"].numpy(), 1.0)


def test_moves_to_xla_when_it_pays_and_a_resumed_run_at_the_same_step(tmp_path):
    def make():
        trainer = Trainer(mse, network(2, 8, 1) if make.start is None else make.start, optim.Adam(0.01), X, Y)
        trainer._steps._from_call = 5.5
        return trainer

    make.start = network(2, 8, 1)
    whole, first = make(), make()
    engines = []
    for _ in range(10):
        whole.step()
        engines.append(whole.engine)
    assert engines == ["numpy"] * 6 + ["xla"] * 4
    for _ in range(3):
        first.step()
    for stop in (7, 10):
        first.save(tmp_path / "state")
        first = make()
        first.load(tmp_path / "state")
        while first.steps < stop:
            first.step()
    same(first.params, whole.params)


def test_a_program_that_xla_does_not_take_stays_on_the_plan(monkeypatch):
    from quabla.runtime import cpu

    def refuse(graph, state):
        raise qb.UnsupportedOperationError("no", op="x", device="cpu")

    monkeypatch.setattr(cpu, "compiled", refuse)
    trainer = Trainer(mse, network(2, 8, 1), optim.SGD(0.1), X, Y)
    trainer._steps._from_call = 1
    trainer.fit(3)
    assert trainer.engine == "numpy"
    monkeypatch.setattr(qb.config, "cpu_engine", "xla")
    with pytest.raises(qb.UnsupportedOperationError):
        trainer.step()
    assert trainer.steps == 3


# ---- batches ------------------------------------------------------------------------------------


def test_batches(engine):
    params = network(2, 8, 1)
    batches = [(qb.array(RNG.normal(size=(16, 2))), qb.array(RNG.normal(size=(16, 1)))) for _ in range(5)]
    losses, trail = by_hand(mse, params, optim.Adam(0.01), batches)
    trainer = Trainer(mse, params, optim.Adam(0.01), *batches[0], batch_argnums=(0, 1))
    for x, y in batches:
        trainer.step(x, y.numpy())  # NumPy arrays are as good
    same(trainer.params, trail[-1], 1e-12)
    assert trainer.loss().item() == pytest.approx(mse(trail[-1], *batches[-1]).item(), rel=1e-12)

    again = Trainer(mse, params, optim.Adam(0.01), *batches[0], batch_argnums=[0, 1])
    assert again.fit(9, batches=batches) == pytest.approx(losses, rel=1e-12)
    assert again.steps == 5


def test_a_batch_may_be_a_tree_and_count_from_the_end():
    trainer = Trainer(
        lambda p, scale, d: scale * qb.sum(p * d["x"][0]), qb.ones(2), optim.SGD(1.0), 2.0, {"x": [qb.ones(2)]},
        batch_argnums=-1,
    )  # fmt: skip
    trainer.step({"x": [qb.array([1.0, 2.0])]})
    assert trainer.params.tolist() == [-1.0, -3.0]
    assert trainer.fit(1, batches=[{"x": [qb.zeros(2)]}]) == [0.0]


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        ((), "takes 1 batches"),
        ((X, X), "got 2"),
        ((X[:3],), r"must be tensor<64x2xf64>, got tensor<3x2xf64>"),
        ((X.astype(qb.float32),), "f32"),
        (([X],), "structure"),
        ((1.0,), "got tensor<f64>"),
    ],
)
def test_a_batch_that_does_not_fit_changes_nothing(batch, words):
    trainer = Trainer(mse, network(2, 4, 1), optim.Adam(0.1), X, Y, batch_argnums=0)
    trainer.step(X)
    before, loss = trainer.params, trainer.loss().item()
    with pytest.raises(ValueError, match=words):
        trainer.step(*batch)
    same(trainer.params, before)
    assert (trainer.steps, trainer.loss().item()) == (1, loss)


# ---- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: Trainer(mse, network(2, 1), None, X, Y), TypeError, "optimizer"),
        (lambda: Trainer(mse, network(2, 1), optim.LBFGS(), X, Y), TypeError, "optimizer"),
        (lambda: Trainer(None, network(2, 1), optim.SGD(), X, Y), TypeError, "expected a function"),
        (lambda: Trainer(mse, [{"w": np.ones((2, 1))}], optim.SGD(), X, Y), TypeError, "parameters must be"),
        (lambda: Trainer(lambda p, x: qb.sum(x), {}, optim.SGD(), X), ValueError, "no arrays"),
        (lambda: Trainer(lambda p: p * 2.0, qb.ones(3), optim.SGD()), ValueError, "rank-0"),
        (lambda: Trainer(lambda p: 1.0, qb.ones(3), optim.SGD()), ValueError, "constant"),
        (lambda: Trainer(lambda p: (qb.sum(p), p), qb.ones(3), optim.SGD()), TypeError, "rank-0"),
        (lambda: Trainer(mse, network(2, 1), optim.SGD(), X, Y, batch_argnums=2), ValueError, "out of range"),
        (lambda: Trainer(mse, network(2, 1), optim.SGD(), X, Y, batch_argnums=(0, -2)), ValueError, "twice"),
        (lambda: Trainer(mse, network(2, 1), optim.SGD(), X, Y, batch_argnums=0.5), TypeError, "batch_argnums"),
        (lambda: Trainer(mse, network(2, 1), optim.SGD(), X, Y, device="gpu"), ValueError, "device"),
        (lambda: Trainer(mse, network(2, 1), optim.SGD(), X, Y, precision="f64"), ValueError, "precision"),
        (lambda: Trainer(mse, network(2, 1), optim.SGD(), X, "text"), TypeError, "text"),
    ],
)
def test_what_cannot_be_trained(make, kind, words):
    with pytest.raises(kind, match=words):
        make()


def test_targets_that_are_not_built():
    for device in ("cuda", "cuda:1", "mlx"):
        target = device.split(":")[0]
        if target in qb.devices():
            continue
        with pytest.raises(qb.UnsupportedOperationError) as e:
            Trainer(mse, network(2, 1), optim.SGD(), X, Y, device=device)
        assert e.value.device == target
    with pytest.raises(qb.UnsupportedOperationError) as e:
        Trainer(mse, network(2, 1), optim.SGD(), X, Y, device="mlx", precision="float64")
    assert (e.value.op, e.value.device) == ("float64", "mlx")
    Trainer(mse, network(2, 1), optim.SGD(), X, Y, device=None, precision="float64").step()


def test_training_on_mlx():
    pytest.importorskip("mlx.core")
    narrow = [network(2, 16, 1, dtype=qb.float32), X.astype(qb.float32), Y.astype(qb.float32)]
    make = OPTIMIZERS["adam"]
    there, here = (Trainer(mse, narrow[0], make(), *narrow[1:], device=d) for d in ("mlx", "cpu"))
    np.testing.assert_allclose(there.fit(20), here.fit(20), rtol=1e-4)
    same(there.params, here.params, 1e-3)
    assert there.engine == "mlx"
    assert there.loss().item() == pytest.approx(here.loss().item(), rel=1e-4)
    file = io.BytesIO()
    there.save(file)
    file.seek(0)
    again = Trainer(mse, narrow[0], make(), *narrow[1:], device="mlx")
    again.load(file)
    assert again.fit(5) == there.fit(5)
    with pytest.warns(UserWarning, match="mlx executes float64 programs as float32"):
        Trainer(mse, network(2, 1), optim.SGD(0.1), X, Y, device="mlx").step()


def test_traced_parameters_are_refused():
    with pytest.raises(qb.TracerError, match="cannot be part of a traced function"):
        qb.jit(lambda p: Trainer(lambda q: qb.sum(q), p, optim.SGD()).params)(qb.ones(2))


def test_what_is_traced_is_refused_by_name():
    start = qb.ones(2)
    trainer = Trainer(lambda p, x: qb.sum(p * x), start, optim.SGD(), start, batch_argnums=0)
    for fun, name in (
        (lambda a: Trainer(lambda p: qb.sum((p - a) ** 2), start, optim.SGD()).params, "Trainer"),
        (lambda a: Trainer(lambda p: qb.sum(p), start, optim.SGD(a)).params, "Trainer"),
        (lambda a: Trainer(lambda p: qb.sum(p), start, optim.SGD(lambda step: a * step)).params, "Trainer"),
        (lambda a: trainer.step(a * start), "Trainer.step"),
    ):
        with pytest.raises(qb.TracerError, match=f"^{name} cannot be part of a traced function: it keeps values, and "):
            qb.jit(fun)(0.5 * qb.ones(()))
    assert trainer.steps == 0
    trainer.step(start)
    kept = []
    qb.jit(lambda a: kept.append(a) or a)(start)
    with pytest.raises(qb.TracerError, match=r"Trainer\.step: .* used after its trace has ended"):
        trainer.step(kept[0])


def test_integer_data_keep_their_dtype():
    labels = qb.array(np.array([2, 0, 1]), dtype=qb.int64)

    def loss(logits, labels):
        assert labels.dtype is qb.int64
        return -qb.mean(qb.log_softmax(logits)[qb.arange(3, dtype=qb.int64), labels])

    trainer = Trainer(loss, qb.zeros((3, 3)), optim.SGD(1.0), labels, batch_argnums=0)
    assert trainer.loss().item() == pytest.approx(np.log(3.0))
    trainer.step(labels)
    wanted = (np.eye(3)[[2, 0, 1]] - 1.0 / 3.0) / 3.0
    np.testing.assert_allclose(trainer.params.numpy(), wanted, rtol=1e-14)
    with pytest.raises(ValueError, match="must be tensor<3xi64>, got tensor<3xf64>"):
        trainer.step(np.array([2, 0, 1]))


# ---- whatever happens ---------------------------------------------------------------------------


def test_a_schedule_that_fails_changes_nothing(engine):
    trainer = Trainer(mse, network(2, 4, 1), optim.Adam(lambda n: 0.1 if n < 2 else -1.0), X, Y)
    trainer.fit(2)
    before = trainer.params
    with pytest.raises(ValueError, match="at step 2"):
        trainer.step()
    same(trainer.params, before)
    assert trainer.steps == 2


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that interrupts")
def test_an_interrupt_leaves_the_state_of_a_whole_number_of_steps(engine):
    params = network(2, 16, 16, 1)
    wanted = Trainer(mse, params, optim.Adam(0.01), X, Y)
    trail = []
    for _ in range(400):
        trail.append(wanted.params)
        wanted.step()
    trainer = Trainer(mse, params, optim.Adam(0.01), X, Y)
    trainer.step()
    interrupts = 0

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        while trainer.steps < 350 and interrupts < 60:
            try:
                signal.setitimer(signal.ITIMER_REAL, float(RNG.uniform(1e-4, 3e-3)))
                for _ in range(350):
                    trainer.step()
            except KeyboardInterrupt:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
                interrupts += 1
                same(trainer.params, trail[trainer.steps])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert interrupts > 0


def test_threads_take_turns(engine):
    params = network(2, 8, 1)
    one, many = (Trainer(mse, params, optim.Adam(0.01), X, Y) for _ in range(2))
    for _ in range(80):
        one.step()

    def work():
        for _ in range(20):
            many.step()
            many.loss()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert many.steps == 80
    same(many.params, one.params)


# ---- cost ---------------------------------------------------------------------------------------


def resident_kilobytes():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize() // 1024


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_steps_keep_no_memory(engine):
    trainer = Trainer(mse, network(2, 64, 64, 1), optim.Adam(optim.cosine_decay(1e-3, 1000), clip_norm=1.0), X, Y)
    for _ in range(100):
        trainer.step()
    before = resident_kilobytes()
    tracemalloc.start()
    for _ in range(10):
        trainer.step()
    kept = tracemalloc.get_traced_memory()[0]
    for _ in range(500):
        trainer.step()
    assert tracemalloc.get_traced_memory()[0] - kept < 4096
    tracemalloc.stop()
    assert resident_kilobytes() - before < 4096


@pytest.mark.parametrize("dtype", [qb.float64, qb.float32], ids=str)
@pytest.mark.parametrize("act", [qb.tanh, qb.sigmoid, qb.softplus, qb.relu], ids=lambda f: f.__name__)
def test_a_step_on_the_plan_makes_no_arrays(monkeypatch, act, dtype):
    """One array of this network's hidden values takes 128 kB in float64; a step holds a few kB of small ones."""
    monkeypatch.setattr(qb.config, "cpu_engine", "numpy")

    def loss(params, x, y):
        for w, b in params[:-1]:
            x = act(x @ w + b)
        w, b = params[-1]
        return qb.mean((x @ w + b - y) ** 2)

    params = [
        (qb.array(RNG.normal(size=(a, b)), dtype=dtype), qb.zeros(b, dtype)) for a, b in ((2, 64), (64, 64), (64, 1))
    ]
    x, y = (qb.array(RNG.normal(size=(256, n)), dtype=dtype) for n in (2, 1))
    trainer = Trainer(loss, params, optim.Adam(optim.cosine_decay(1e-3, 1000), clip_norm=1.0), x, y)
    size = np.setbufsize(16)  # of the buffers in which NumPy's loops convert and broadcast, which are no arrays
    try:
        for _ in range(3):
            trainer.step()
        tracemalloc.start()
        trainer.step()
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        trainer.step()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        np.setbufsize(size)
    assert peak - before < 12_000


def test_the_state_stays_where_it_is(engine):
    """Two sets of arrays change places on the plan; XLA writes over its own."""
    trainer = Trainer(mse, network(2, 64, 1), optim.Adam(1e-3), X, Y)

    def places():
        latest = trainer._steps._current()
        if engine == "numpy":
            return {a.ctypes.data for a in latest._sets[0] + latest._sets[1]}
        return {b.unsafe_buffer_pointer() for b in latest._latest[0][0][: 4 * 3]}

    trainer.fit(3)
    before = places()
    trainer.fit(5)
    assert places() == before


def test_a_step_costs_about_as_much_as_the_gradient(engine):
    """The bound is 1.5 at the benchmark's size; a busy machine gets some slack."""
    params = network(2, 64, 64, 1)
    x, y = qb.array(RNG.normal(size=(256, 2))), qb.array(RNG.normal(size=(256, 1)))
    slope = qb.jit(qb.value_and_grad(mse))
    trainer = Trainer(mse, params, optim.Adam(1e-3), x, y)
    best = [np.inf, np.inf]
    for _ in range(100):
        for k, f in enumerate((lambda: slope(params, x, y), trainer.step)):
            start = time.perf_counter()
            f()
            best[k] = min(best[k], time.perf_counter() - start)
    assert best[1] <= 2.0 * best[0]


# ---- fit, save and load -------------------------------------------------------------------------


def test_fit_returns_the_losses():
    trainer = Trainer(lambda p: qb.sum(p * p), qb.array([1.0, 2.0]), optim.SGD(0.25))
    assert trainer.fit(5) == [5.0 / 4**k for k in range(5)]
    assert trainer.fit(5, log_every=2) == [5.0 / 4**k for k in (5, 7, 9)]
    assert trainer.steps == 10
    for call in (lambda: trainer.fit(0), lambda: trainer.fit(3, log_every=0)):
        with pytest.raises(ValueError, match="at least 1"):
            call()


def test_the_display_needs_a_terminal(capsys):
    trainer = Trainer(lambda p: qb.sum(p * p), qb.array([1.0, 2.0]), optim.SGD(0.25))
    trainer.fit(3, progress=True)
    assert capsys.readouterr().out == ""


def test_the_display_shows_loss_rate_and_time(monkeypatch):
    pytest.importorskip("rich")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    trainer = Trainer(lambda p: qb.sum(p * p), qb.array([1.0, 2.0]), optim.SGD(0.25))
    trainer.fit(50, progress=True)
    shown = terminal.getvalue()
    for words in ("50/50", "loss", "steps/s", "0:00:"):
        assert words in shown


def test_the_display_says_what_it_needs(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setitem(sys.modules, "rich", None)
    trainer = Trainer(lambda p: qb.sum(p * p), qb.array([1.0, 2.0]), optim.SGD(0.25))
    with pytest.raises(ImportError, match=r"quabla\[progress\]"):
        trainer.fit(3, progress=True)


@pytest.mark.parametrize(
    ("engine", "name", "dtype"),
    [
        *itertools.product(["numpy"], OPTIMIZERS, [qb.float64, qb.float32]),
        ("xla", "adam", qb.float64),
        ("xla", "sgd", qb.float32),
    ],
    indirect=["engine"],
)
def test_a_resumed_run_is_the_same_bit_for_bit(engine, name, dtype):
    params, data = network(2, 16, 1, dtype=dtype), (X.astype(dtype), Y.astype(dtype))
    whole = Trainer(mse, params, OPTIMIZERS[name](), *data)
    whole.fit(6)
    file = io.BytesIO()
    whole.save(file)
    wanted = whole.fit(6)
    resumed = Trainer(mse, network(2, 16, 1, dtype=dtype), OPTIMIZERS[name](), *data)
    file.seek(0)
    resumed.load(file)
    assert resumed.steps == 6
    assert resumed.fit(6) == wanted
    same(resumed.params, whole.params)


def test_a_resumed_run_does_not_depend_on_the_layout_of_the_parameters(engine):
    start = qb.array(RNG.normal(size=(3, 700))).T
    trainers = [Trainer(lambda p: qb.mean(qb.exp(p)) + qb.sum(p**2), start, optim.Adam(0.1)) for _ in range(2)]
    trainers[0].fit(3)
    file = io.BytesIO()
    trainers[0].save(file)
    file.seek(0)
    trainers[1].load(file)
    assert trainers[0].fit(4) == trainers[1].fit(4)


def test_files_that_do_not_fit(tmp_path):
    trainer = Trainer(mse, network(2, 4, 1), optim.Adam(), X, Y)
    trainer.step()
    before = trainer.params
    Trainer(mse, network(2, 4, 1), optim.SGD(), X, Y).save(tmp_path / "sgd")
    Trainer(mse, network(2, 5, 1), optim.Adam(), X, Y).save(tmp_path / "wide")
    qb.save(tmp_path / "other", {"steps": 3})
    qb.save(tmp_path / "odd", {"trainer": "Adam", "structure": "", "steps": -1, "state": [1.0]})
    trainer.save(tmp_path / "later")
    for name, steps in (("far", 10**400), ("over", 2**53), ("flag", True), ("half", 0.5)):
        qb.save(tmp_path / name, {**qb.load(tmp_path / "later"), "steps": steps})
    (tmp_path / "broken").write_bytes(b"\x10")
    for name in ("sgd", "wide", "other", "odd", "broken", "far", "over", "flag", "half"):
        with pytest.raises(ValueError):  # noqa: PT011 (the last is a message of load)
            trainer.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        trainer.load(tmp_path / "none")
    assert trainer.steps == 1
    same(trainer.params, before)
