"""Engines: what runs a lowered program on arrays.

An engine knows the products of lowering, not how they were made.
"""

from __future__ import annotations

from typing import Any

from quabla.tracing import engines
from quabla.tracing.graph import Graph


def _on_mlx(graph: Graph) -> engines.Engine:
    """An engine of MLX, which few programs load."""
    from quabla.runtime.mlx import MlxEngine

    return MlxEngine(graph)


def resident(graph: Graph, count: int, target: str) -> Any:
    """A program that keeps the first ``count`` of its arguments, its state, in a target's buffers."""
    if target == "mlx":
        from quabla.runtime.mlx import Resident
    else:
        from quabla.runtime.resident import Resident
    return Resident(graph, count)


engines.install(_on_mlx, "mlx")
