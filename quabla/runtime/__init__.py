"""Engines: what runs a lowered program on arrays.

An engine knows the products of lowering, not how they were made.
"""

from __future__ import annotations

from quabla.tracing import engines
from quabla.tracing.graph import Graph


def _on_mlx(graph: Graph) -> engines.Engine:
    """An engine of MLX, which few programs load."""
    from quabla.runtime.mlx import MlxEngine

    return MlxEngine(graph)


engines.install(_on_mlx, "mlx")
