"""Settings that all tests share: reproducible random examples, and GPU tests only where there is a GPU."""

import ctypes
import functools
import os

import pytest
from hypothesis import HealthCheck, settings

# Examples are derived from the test itself, so a failure on one machine is a failure on all. Nothing has a deadline:
# a first call compiles.
_common = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much],
}
settings.register_profile("short", max_examples=25, **_common)
settings.register_profile("long", max_examples=400, **_common)
# Where JAX serves as an oracle it may start XLA first; ask it for the arithmetic that quabla would ask for.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_max_isa=AVX")
settings.load_profile("long" if os.environ.get("QUABLA_TESTS") == "long" else "short")


@functools.cache
def has_gpu() -> bool:
    """Whether a CUDA driver answers and has a device."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests marked ``gpu`` on machines without one."""
    for item in items:
        if item.get_closest_marker("gpu") and not has_gpu():
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))


@pytest.fixture(autouse=True)
def _settings_restored():
    """``quabla.config`` as it was before each test, with whole tracebacks for tests that fail."""
    from quabla.config import config

    kept = config.cpu_engine, config.loop_checkpoint, config.mlx_compile
    config.full_tracebacks = True
    yield
    config.cpu_engine, config.loop_checkpoint, config.mlx_compile = kept


@pytest.fixture
def engine():
    """Sets the CPU engine for one test."""
    from quabla.config import config

    def use(name: str) -> None:
        config.cpu_engine = name

    return use
