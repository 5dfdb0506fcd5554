"""Devices: their spelling, what a build contains, and what is said of what it does not."""

import sys

import numpy as np
import pytest

import quabla as qb
from quabla.devices import missing


@pytest.fixture
def without_mlx(monkeypatch):
    """A machine on which mlx is not installed."""
    monkeypatch.setitem(sys.modules, "mlx", None)
    monkeypatch.setitem(sys.modules, "mlx.core", None)
    missing.cache_clear()
    yield
    missing.cache_clear()


def test_a_target_that_is_not_installed_is_named_with_what_to_install(without_mlx):
    assert "mlx" not in qb.devices()
    assert qb.Compiler().capabilities()["mlx"] is False
    program = qb.Compiler().trace(lambda x: x * x, [("x", [2])])
    for use in (lambda: qb.jit(lambda x: x, device="mlx"), lambda: program.compile("mlx")):
        with pytest.raises(qb.UnsupportedOperationError, match=r"'mlx' is missing.*package mlx.*pip install") as e:
            use()
        assert e.value.device == "mlx"
        assert e.value.op == "compile"


def test_devices_lists_what_can_be_imported():
    assert qb.devices()[0] == "cpu"
    assert qb.devices() == [t for t, there in qb.Compiler().capabilities().items() if there]


def test_mlx_has_no_float64():
    with pytest.raises(qb.UnsupportedOperationError, match="mlx has no float64 arithmetic") as e:
        qb.jit(lambda x: x, device="mlx", precision="float64")
    assert (e.value.op, e.value.device) == ("float64", "mlx")
    with pytest.raises(ValueError, match="'cuda:N' or 'mlx', got 'gpu'"):
        qb.jit(lambda x: x, device="gpu")


# ---- programs that become float32 -------------------------------------------------------------------


def narrowed(fun, *types):
    from quabla.dialect.text import as_text
    from quabla.transforms.narrowing import narrowed

    return as_text(narrowed(qb.jit(fun).lower(*types).program.graph))


def test_narrowed_program_is_that_of_float32_arguments():
    weights = np.array([0.1, 0.2, 0.3])

    def fun(dtype):
        def run(x):
            mask = (x > 0.25).astype(dtype)
            c = qb.fori_loop(0, 3, lambda i, c: qb.cond(qb.sum(c) > 1.0, qb.sin, lambda v: v + x, c), x)
            return c * qb.array(weights.astype(dtype.numpy)) + 1e300 * mask, qb.erfc(x)

        return run

    wide, narrow = qb.ShapeDtype((3,)), qb.ShapeDtype((3,), qb.float32)
    assert narrowed(fun(qb.float64), wide) == qb.jit(fun(qb.float32)).lower(narrow).as_text()


def test_narrowed_program_keeps_bools_and_counters():
    text = narrowed(
        lambda m, x: qb.fori_loop(0, 4, lambda i, c: qb.where(m, c * i, x[0]), x),
        *(qb.ShapeDtype((4,), qb.bool_), qb.ShapeDtype((4,))),
    )
    assert "input[name=m] : tensor<4xi1>" in text or "input[name=m] : tensor<4xbool>" in text
    assert "cast" in text
    assert "tensor<4xf64>" not in text
