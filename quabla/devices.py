"""Targets: how a device is spelled, what this build contains, and errors for what it does not.

A build contains a target if the packages that it needs can be imported; whether there is hardware is not looked for.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from quabla import errors

__all__ = ["TARGETS", "capabilities", "checked_target", "devices", "missing", "parse", "require"]

TARGETS: Final = ("cpu", "cuda", "mlx")

#: What to install for a target that needs another package.
_INSTALL: Final = {"mlx": "pip install 'mlx[cpu]' (on a Mac: pip install mlx)"}


def parse(device: str | None) -> tuple[str, int]:
    """A device's target and ordinal: ``"cuda:1"`` is ``("cuda", 1)`` and None is ``("cpu", 0)``.

    Raises:
        ValueError: for any other spelling than None, ``"cpu"``, ``"cuda"``, ``"cuda:N"`` and ``"mlx"``.
    """
    if device is None:
        return "cpu", 0
    if isinstance(device, str):
        if device in TARGETS:
            return device, 0
        target, _, ordinal = device.partition(":")
        if target == "cuda" and ordinal.isascii() and ordinal.isdecimal():
            return target, int(ordinal)
    raise ValueError(f"device must be None, 'cpu', 'cuda', 'cuda:N' or 'mlx', got {device!r}")


def devices() -> list[str]:
    """The targets of this build; it does not look for hardware.

    Example:
        >>> import quabla as qb
        >>> "cpu" in qb.devices()
        True
    """
    return [t for t in TARGETS if missing(t) is None]


def capabilities() -> dict[str, bool]:
    """Every target, and whether this build contains it."""
    return {t: missing(t) is None for t in TARGETS}


@cache
def missing(target: str) -> str | None:
    """What this build lacks for a target; None where it has all."""
    if target == "mlx":
        try:
            import mlx.core  # noqa: F401  # pyright: ignore[reportMissingImports, reportUnusedImport]
        except ImportError as e:
            return f"it needs the package mlx, which cannot be imported ({e}): {_INSTALL[target]}"
        return None
    return None if target == "cpu" else "it is not part of this build"


def require(target: str) -> None:
    """Raise where this build does not contain ``target``.

    Raises:
        UnsupportedOperationError: naming the target and what is missing.
    """
    lack = missing(target)
    if lack is not None:
        raise errors.UnsupportedOperationError(
            f"the target {target!r} is missing: {lack}; this build contains {', '.join(devices())}",
            op="compile",
            device=target,
        )


def checked_target(what: str, device: str | None, precision: str | None) -> str:
    """The target of a device that this build contains and that has the precision.

    Args:
        what: who asks, for messages.
        device: how the user spells it.
        precision: None or ``"float64"``.

    Raises:
        ValueError: a device or precision that is not spelled like one.
        UnsupportedOperationError: a target that has no float64 or is not part of this build.
    """
    target, _ = parse(device)
    if precision not in (None, "float64"):
        raise ValueError(f"{what}: precision must be None or 'float64', got {precision!r}")
    if target == "mlx" and precision == "float64":
        raise errors.UnsupportedOperationError(f"{what}: mlx has no float64 arithmetic", op="float64", device="mlx")
    require(target)
    return target
