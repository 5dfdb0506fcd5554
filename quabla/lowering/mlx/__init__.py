"""StableHLO programs as programs of ``mlx.core``: the translation, which needs no MLX, and what it calls, which does."""
