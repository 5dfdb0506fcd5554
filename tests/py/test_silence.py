"""Numbers outside a function's domain are silent, whatever NumPy is told elsewhere, which it is told still afterwards."""

import threading
import warnings

import numpy as np
import pytest

import quabla as qb
from quabla.ops import silence
from quabla.ops.dispatch import evaluate
from quabla.ops.registry import Op

PAIRS = {"direct": silence._direct, "portable": silence._portable}


def test_this_numpy_allows_the_direct_way():
    """A private name of NumPy's is used; without it ops are a microsecond slower and this test says so."""
    assert not isinstance(silence.silence(), np.errstate)


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_silence_lasts_until_restored_and_nests(pair):
    off, on = pair()
    with np.errstate(divide="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        outer = off()
        inner = off()
        on(inner)
        assert np.divide(1.0, np.zeros(2))[0] == np.inf
        on(outer)
        with pytest.raises(FloatingPointError):
            np.divide(1.0, np.zeros(2))


@pytest.mark.parametrize("mode", ["warn", "raise", "print", "ignore"])
def test_ops_neither_warn_nor_raise_nor_change_the_setting(mode, capfd):
    x = qb.array([0.0, -1.0, 1e308])
    with np.errstate(all=mode), warnings.catch_warnings():
        warnings.simplefilter("error")
        before = np.geterr()
        assert (1.0 / x).tolist() == [np.inf, -1.0, 1e-308]
        assert np.isnan(qb.log(x).numpy()[1])
        assert (x * 1e10).tolist()[2] == np.inf
        assert qb.where(x > 0, x, x - np.inf).tolist()[2] == 1e308
        assert np.geterr() == before
    assert capfd.readouterr() == ("", "")


def test_an_error_in_a_kernel_restores_the_setting():
    def broken(*operands):
        raise RuntimeError("from the kernel")

    before = np.geterr()
    for count in (1, 2, 3):
        op = Op("broken", "", ("*x",), infer=lambda types, params: types[0], kernel=lambda params, types: broken)
        with pytest.raises(RuntimeError, match="from the kernel"):
            evaluate(op, (qb.ones(2),) * count, ())
        assert np.geterr() == before


def test_other_threads_keep_their_own_setting():
    state = silence.silence()
    seen = []
    try:
        thread = threading.Thread(target=lambda: seen.append(np.geterr()["divide"]))
        thread.start()
        thread.join()
    finally:
        silence.restore(state)
    assert seen == ["warn"]
