"""Transforms: each reads a body of nodes and emits its transform into the graph under construction."""
