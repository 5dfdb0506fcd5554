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


def _kept_on_cpu(graph: Graph, count: int) -> engines.Resident:
    from quabla.runtime.resident import Resident

    return Resident(graph, count)


def _kept_on_mlx(graph: Graph, count: int) -> engines.Resident:
    from quabla.runtime.mlx import Resident

    return Resident(graph, count)


engines.install(_on_mlx, "mlx")
engines.install_resident(_kept_on_cpu)
engines.install_resident(_kept_on_mlx, "mlx")
