"""Trace caches: one compiled program for each signature a function is called with."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Hashable
from typing import Any, Final

from quabla import errors

__all__ = ["SignatureCache"]


class SignatureCache:
    """The least recently used ``size`` entries, by signature.

    Args:
        owner: how warnings call the function.
        size: how many entries are kept.
        describe: a signature as text, for warnings.
    """

    __slots__ = ("_describe", "_entries", "_evictions", "_lock", "_making", "_owner", "_size")

    def __init__(self, owner: str, size: int, describe: Callable[[Any], str]) -> None:
        self._owner: Final = owner
        self._size: Final = size
        self._describe: Final = describe
        self._entries: Final[dict[Hashable, Any]] = {}
        self._making: Final[dict[Hashable, threading.RLock]] = {}
        self._lock: Final = threading.RLock()
        self._evictions = 0

    def get(self, key: Hashable) -> Any:
        """The entry for a signature, or None."""
        entries = self._entries
        entry = entries.get(key)
        if entry is not None and len(entries) > 1:
            with self._lock:  # the most recently used entry goes last
                if key in entries:
                    entries[key] = entries.pop(key)
        return entry

    def add(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The entry for a signature, made if another thread has not made it meanwhile.

        Threads wait for each other only over the same signature: a traced function may itself wait for another thread.
        """
        with self._lock:
            making = self._making.setdefault(key, threading.RLock())
        with making:
            with self._lock:
                entry = self._entries.get(key)
            if entry is None:
                try:
                    entry = make()
                    self._store(key, entry)
                finally:
                    self._making.pop(key, None)
        return entry

    def _store(self, key: Hashable, entry: Any) -> None:
        with self._lock:
            evicted = next(iter(self._entries)) if len(self._entries) >= self._size else None
            if evicted is not None:
                del self._entries[evicted]
                self._evictions += 1
            self._entries[key] = entry
            count = self._evictions
        # A loop that always traces again shall hear of it, but not at every step: at 1, 2, 4, 8, ... evictions.
        if evicted is not None and count & (count - 1) == 0:
            warnings.warn(
                f"{self._owner}: the trace for {self._describe(evicted)} was evicted to make room for "
                f"{self._describe(key)}; it keeps {self._size} traces"
                f"{f', and {count} were evicted so far' if count > 1 else ''}. A Python number is part of a trace: pass "
                "one that changes as an array, quabla.array(number). Keep shapes and static values fixed, or raise "
                "max_traces",
                errors.RetraceWarning,
                stacklevel=errors.user_stacklevel(),
            )
