"""Settings: ``quabla.config``.

Example:
    >>> import quabla as qb
    >>> qb.config.cpu_engine
    'auto'
"""

from __future__ import annotations

import os
from typing import Final

__all__ = ["Config", "config"]

CPU_ENGINES: Final = ("auto", "numpy", "xla")
MLX_COMPILE: Final = ("auto", "always", "never")


class Config:
    """Process-wide settings.

    Attributes:
        cpu_engine: which engine runs compiled programs on the CPU. ``"numpy"`` runs the plan, op by op;
            ``"xla"`` compiles with XLA before the first call; ``"auto"`` (the default) answers with the
            plan and moves to XLA once an estimate from op counts, bytes and calls says that compiling
            pays. The choice never changes a result beyond rounding.
        loop_checkpoint: what reverse mode of a loop keeps of the carries that it needs. ``"full"`` keeps them for
            every iteration; ``"sqrt"`` at the start of blocks of about the square root of the length, from which a
            block is run again; an int sets the length of the blocks; ``"auto"`` (the default) keeps small tapes in
            full and large ones in blocks. It is read when a program is differentiated.
        mlx_compile: whether programs for MLX go through ``mx.compile``. ``"auto"`` (the default) compiles on a GPU, and not
            on the CPU, where MLX calls a C++ compiler, seconds for each fused kernel; ``"always"`` and ``"never"``.
        full_tracebacks: whether an exception that leaves ``jit``, ``grad``, ... also shows the package's own
            frames, which are dropped by default; the environment variable ``QUABLA_FULL_TRACEBACKS=1`` sets it.
    """

    __slots__ = ("_cpu_engine", "_loop_checkpoint", "_mlx_compile", "full_tracebacks")

    def __init__(self) -> None:
        self._cpu_engine = "auto"
        self._loop_checkpoint: str | int = "auto"
        self._mlx_compile = "auto"
        self.full_tracebacks = os.environ.get("QUABLA_FULL_TRACEBACKS", "") not in ("", "0")

    @property
    def loop_checkpoint(self) -> str | int:
        return self._loop_checkpoint

    @loop_checkpoint.setter
    def loop_checkpoint(self, value: str | int) -> None:
        whole = isinstance(value, int) and not isinstance(value, bool) and value > 0
        if value not in ("auto", "full", "sqrt") and not whole:
            raise ValueError(f"config.loop_checkpoint must be 'auto', 'full', 'sqrt' or a positive int, got {value!r}")
        self._loop_checkpoint = value

    @property
    def cpu_engine(self) -> str:
        return self._cpu_engine

    @cpu_engine.setter
    def cpu_engine(self, value: str) -> None:
        if value not in CPU_ENGINES:
            raise ValueError(f"config.cpu_engine must be one of {', '.join(map(repr, CPU_ENGINES))}, got {value!r}")
        self._cpu_engine = value

    @property
    def mlx_compile(self) -> str:
        return self._mlx_compile

    @mlx_compile.setter
    def mlx_compile(self, value: str) -> None:
        if value not in MLX_COMPILE:
            raise ValueError(f"config.mlx_compile must be one of {', '.join(map(repr, MLX_COMPILE))}, got {value!r}")
        self._mlx_compile = value

    def __repr__(self) -> str:
        return (
            f"Config(cpu_engine={self._cpu_engine!r}, loop_checkpoint={self._loop_checkpoint!r}, "
            f"mlx_compile={self._mlx_compile!r}, full_tracebacks={self.full_tracebacks})"
        )


config: Final = Config()
