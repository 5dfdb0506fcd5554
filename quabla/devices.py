"""Targets: how a device is spelled, what this build contains, and errors for what it does not."""

from __future__ import annotations

from typing import Final

from quabla import errors

__all__ = ["TARGETS", "capabilities", "checked_target", "devices", "parse", "require"]

TARGETS: Final = ("cpu", "cuda", "mlx")

#: Targets whose backend is part of the package.
BUILT: Final = ("cpu",)


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
    return list(BUILT)


def capabilities() -> dict[str, bool]:
    """Every target, and whether this build contains it."""
    return {t: t in BUILT for t in TARGETS}


def require(target: str) -> None:
    """Raise where this build does not contain ``target``.

    Raises:
        UnsupportedOperationError: naming the target.
    """
    if target not in BUILT:
        raise errors.UnsupportedOperationError(
            f"the target {target!r} is not part of this build; it contains {', '.join(BUILT)}",
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
