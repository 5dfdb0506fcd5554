"""The buffer protocol on Python 3.11, where a Python class cannot define it (``__buffer__`` came with 3.12)."""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Final

import numpy as np

__all__ = ["export_buffers"]

# PyTypeObject has been laid out like this in every release build of CPython 3.11 on 64-bit machines.
_BASICSIZE_OFFSET: Final = 32
_AS_BUFFER_OFFSET: Final = 160

_GetBuffer = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)
_ask = ctypes.pythonapi.PyObject_GetBuffer


@_GetBuffer
def _get_buffer(exporter: Any, view: int, flags: int) -> int:
    array = exporter.numpy()
    for order in ("K", "C", "F"):  # the storage itself, else a copy in the order that the consumer insists on
        candidate = np.asarray(array, order=order)
        candidate.flags.writeable = False
        try:
            return _ask(ctypes.py_object(candidate), ctypes.c_void_p(view), ctypes.c_int(flags))
        except (BufferError, ValueError):
            continue
    return -1  # a writable buffer is wanted; ctypes cannot pass the exception on


def export_buffers(cls: type) -> None:
    """Let instances of ``cls`` export the buffer of the NumPy array that their ``numpy()`` returns.

    Does nothing where the interpreter's type objects look otherwise; arrays then convert by ``__array__`` only.
    """
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return
    if ctypes.c_ssize_t.from_address(id(cls) + _BASICSIZE_OFFSET).value != cls.__basicsize__:
        return
    procs = ctypes.c_void_p.from_address(id(cls) + _AS_BUFFER_OFFSET).value
    if procs:
        ctypes.c_void_p.from_address(procs).value = ctypes.cast(_get_buffer, ctypes.c_void_p).value
