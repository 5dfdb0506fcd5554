"""Command-line tools: ``opt`` is the driver behind ``qb-opt``."""
