"""Numbers outside a function's domain are silent, whatever NumPy is told elsewhere, which it is told still afterwards."""

import contextvars
import threading
import warnings

import numpy as np
import pytest

import quabla as qb
from quabla.ops.dispatch import apply
from quabla.ops.registry import Op
from quabla.ops.silence import silent


def op_of(kernel):
    return Op("made up", "", ("*x",), infer=lambda types, params: types[0], kernel=lambda params, types: kernel)


def test_a_silent_call_changes_nothing_around_it_and_nests():
    def outer():
        inner = silent().run(np.divide, 1.0, np.zeros(2))
        return inner + np.divide(1.0, np.zeros(2))

    with np.errstate(divide="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert silent().run(outer)[0] == np.inf
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
        assert (x.astype(qb.float32) * 1e300).tolist()[2] == np.inf
        assert qb.where(x > 0, x, x - np.inf).tolist()[2] == 1e308
        assert qb.dot(x, x).item() == np.inf
        assert qb.jit(lambda v: qb.sum(v / 0.0))(qb.array([1.0, 2.0])).item() == np.inf
        assert np.geterr() == before
    assert capfd.readouterr() == ("", "")


def test_an_error_in_a_kernel_restores_the_setting():
    def broken(*operands):
        raise RuntimeError("from the kernel")

    before = np.geterr()
    for count in (1, 2, 3):
        with pytest.raises(RuntimeError, match="from the kernel"):
            apply(op_of(broken), (qb.ones(2),) * count)
        assert np.geterr() == before


def test_a_kernel_may_run_ops():
    def nested(x):
        return (1.0 / qb.array(x)).numpy() + np.divide(1.0, x)

    with np.errstate(divide="raise"):
        assert apply(op_of(nested), (qb.zeros(2),)).tolist() == [np.inf, np.inf]


def test_other_threads_keep_their_own_setting_and_run_ops_meanwhile():
    seen = []

    def elsewhere():
        seen.append(np.geterr()["divide"])
        seen.append((1.0 / qb.zeros(1)).item())

    def kernel(x):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return x

    apply(op_of(kernel), (qb.ones(2),))
    assert seen == ["warn", np.inf]


def test_context_variables_of_users_survive_ops():
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(1)
    qb.ones(2) + qb.ones(2)
    assert variable.get() == 1
