"""Arrays to other libraries and back by DLPack, without copies where nothing forbids it."""

import numpy as np
import pytest

import quabla as qb

jax = pytest.importorskip("jax")

ARRAYS = {
    "f64": lambda: qb.array([1.0, 2.0, 3.0]),
    "f32": lambda: qb.array([[1.0], [2.0]], dtype=qb.float32),
    "bool": lambda: qb.array([True, False, True]),
    "i64": lambda: qb.array([1, 2], dtype=qb.int64),
    "i32": lambda: qb.array([1, 2], dtype=qb.int32),
    "scalar": lambda: qb.array(3.0),
    "transposed": lambda: qb.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).T,
    "reversed": lambda: qb.array([1.0, 2.0, 3.0])[::-1],
    "view": lambda: qb.array([1.0, 2.0, 3.0]).slice(0, 1, 2),
    "empty": lambda: qb.zeros((0, 2)),
}


class Old:
    """An exporter of a time when __dlpack__ took nothing but a stream."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Elsewhere(Old):
    """An array that is not in the memory of the CPU."""

    def __dlpack__(self, **options):
        raise BufferError("on a GPU")

    def __dlpack_device__(self):
        return (2, 0)


@pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS)
class TestOut:
    def test_numpy_sees_the_storage_read_only(self, make):
        x = make()
        seen = np.from_dlpack(x)
        np.testing.assert_array_equal(seen, x.numpy())
        assert seen.dtype == x.numpy().dtype
        assert not seen.flags.writeable
        assert x.numpy().size == 0 or np.shares_memory(seen, x.numpy())

    def test_a_copy_on_demand(self, make):
        x = make()
        seen = np.from_dlpack(x, copy=True)
        assert not np.shares_memory(seen, x.numpy())
        np.testing.assert_array_equal(seen, x.numpy())

    def test_jax_takes_it(self, make, request):
        if request.node.callspec.id == "reversed":
            pytest.skip("JAX takes no negative strides")
        with jax.enable_x64(True):
            x = make()
            seen = jax.numpy.from_dlpack(x)
            np.testing.assert_array_equal(seen, x.numpy())
            assert seen.dtype == x.numpy().dtype

    def test_and_back(self, make):
        x = make()
        back = qb.from_dlpack(x)
        np.testing.assert_array_equal(back.numpy(), x.numpy())
        assert back.dtype is x.dtype

    def test_torch_takes_it(self, make):
        torch = pytest.importorskip("torch")
        x = make()
        np.testing.assert_array_equal(torch.from_dlpack(x).numpy(), x.numpy())


def test_a_consumer_without_a_version_gets_a_copy_that_it_may_write():
    x = qb.array([1.0, 2.0])
    seen = np.from_dlpack(Old(x))
    assert not np.shares_memory(seen, x.numpy())
    with pytest.raises(BufferError, match="read-only"):
        x.__dlpack__(copy=False)


def test_other_devices_are_refused():
    x = qb.array([1.0])
    assert x.__dlpack_device__() == x.slice(0, 0, 1).__dlpack_device__() == (1, 0)
    with pytest.raises((BufferError, ValueError)):
        x.__dlpack__(dl_device=(2, 0), max_version=(1, 0))


def test_traced_values_have_no_memory():
    for use in (np.from_dlpack, lambda x: x.__dlpack_device__()):
        with pytest.raises(qb.TracerError):
            qb.jit(use)(qb.array([1.0]))
    assert qb.jit(qb.from_dlpack)(qb.array([1.0])).tolist() == [1.0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.bool_, np.int32, np.int64])
def test_numpy_arrays_come_in_without_a_copy(dtype):
    source = np.ones((2, 3), dtype)
    x = qb.from_dlpack(source)
    assert np.shares_memory(x.numpy(), source)
    assert x.dtype.numpy == dtype
    assert source.flags.writeable
    assert not np.shares_memory(qb.from_dlpack(source, copy=True).numpy(), source)
    assert not np.shares_memory(qb.array(source).numpy(), source)


def test_read_only_and_strided_arrays_come_in():
    source = np.arange(6.0).reshape(2, 3)
    source.flags.writeable = False
    np.testing.assert_array_equal(qb.from_dlpack(source[:, ::2]).numpy(), [[0.0, 2.0], [3.0, 5.0]])
    np.testing.assert_array_equal(qb.sum(qb.from_dlpack(source.T), axis=0).numpy(), [3.0, 12.0])


def test_jax_arrays_come_in():
    with jax.enable_x64(True):
        for source in (jax.numpy.arange(3.0), jax.numpy.array([True, False])):
            x = qb.from_dlpack(source)
            np.testing.assert_array_equal(x.numpy(), source)
            assert x.numpy().dtype == source.dtype


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.uint64])
def test_integers_without_a_dtype_here_become_float64(dtype):
    x = qb.from_dlpack(np.arange(3, dtype=dtype))
    assert x.dtype is qb.float64
    assert x.tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(BufferError, match="copy"):
        qb.from_dlpack(np.arange(3, dtype=dtype), copy=False)


def test_what_cannot_come_in():
    with pytest.raises(TypeError, match="__dlpack__"):
        qb.from_dlpack([1.0])
    with pytest.raises(TypeError, match="complex128"):
        qb.from_dlpack(np.ones(2, complex))
    with pytest.raises(ValueError, match="cuda"):
        qb.from_dlpack(np.ones(2), device="cuda")
    with pytest.raises(BufferError, match="GPU"):
        qb.from_dlpack(Elsewhere(np.ones(2)))
