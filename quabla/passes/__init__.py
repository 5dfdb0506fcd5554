"""Passes over modules: the table of them, and pipelines that run them.

``table`` names every pass of this package once, for ``jit`` and ``qb-opt`` alike; ``pipeline`` parses and runs textual
pipelines of these and of MLIR's own passes. Nothing is imported here, because passes need the MLIR bindings.
"""
