"""Ops: the registry, one file per family of records, and the dispatch from values to ops."""

from __future__ import annotations

from importlib import import_module
from typing import Final

__all__ = ["FAMILIES", "load_all"]

#: The modules that hold the records.
FAMILIES: Final = (
    "elementwise", "transcendental", "selection", "casting", "shaping", "indexing", "reductions", "linalg",
    "integers", "gathering", "sorting", "cumulative", "random_words", "solving",
    "determinants", "factorizations",
)  # fmt: skip


def load_all() -> None:
    """Import every family, so that the registry is complete."""
    for family in FAMILIES:
        import_module(f"quabla.ops.{family}")
