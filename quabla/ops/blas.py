"""One thread for the matrix products that more threads do not pay for.

OpenBLAS, which NumPy's wheels bring, hands even a product of a few microseconds to all its threads. On a busy machine it
then waits milliseconds until the last of them gets a core. Products of the sizes of small networks are computed by the
calling thread alone; large ones are left to OpenBLAS.
"""

from __future__ import annotations

import os
import threading
from typing import Any, Final

import numpy as np

from quabla.ops.registry import Kernel

__all__ = ["MOST", "on_one_thread"]

#: Products of at most this many multiplications are computed by one thread. Two threads halve a time at best, and take
#: several times as long where something else keeps one of two cores busy.
MOST: Final = 1 << (28 if (os.cpu_count() or 1) <= 2 else 26)
#: OpenBLAS computes smaller ones with one thread by itself: matrices, and products by vectors.
LEAST: Final = 1 << 17
LEAST_BY_VECTOR: Final = 9_000


class _OpenBlas:
    """NumPy's OpenBLAS, looked for at the first product; absent where NumPy uses another library."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._inside = 0
        self._before = 0
        self._get: Any = None
        self._set: Any = None
        self._looked = False

    def _look(self) -> None:
        import ctypes
        from pathlib import Path

        self._looked = True
        home = Path(np.__file__).parent
        for path in (*home.parent.glob("numpy.libs/*openblas*"), *home.glob(".dylibs/*openblas*")):
            try:
                library = ctypes.CDLL(str(path))
            except OSError:
                continue
            for prefix, suffix in (("scipy_", "64_"), ("", "64_"), ("scipy_", ""), ("", "")):
                name = f"{prefix}openblas_{{}}_num_threads{suffix}"
                if hasattr(library, name.format("set")):
                    self._set = getattr(library, name.format("set"))
                    self._get = getattr(library, name.format("get"))
                    return

    def enter(self) -> None:
        """Let OpenBLAS use one thread until ``leave``; calls in several threads overlap."""
        with self._lock:
            if not self._looked:
                self._look()
            if self._set is not None:
                if self._inside == 0:
                    self._before = self._get()
                    self._set(1)
                self._inside += 1

    def leave(self) -> None:
        """Undo ``enter``."""
        with self._lock:
            if self._set is not None:
                self._inside -= 1
                if self._inside == 0:
                    self._set(self._before)


_openblas: Final = _OpenBlas()


def on_one_thread(kernel: Kernel, multiplications: int, *, by_vector: bool = False) -> Kernel:
    """A product's kernel, run by one thread where more would not pay."""
    if not (LEAST_BY_VECTOR if by_vector else LEAST) <= multiplications <= MOST:
        return kernel

    def run(*arrays: Any) -> Any:
        _openblas.enter()
        try:
            return kernel(*arrays)
        finally:
            _openblas.leave()

    return run
