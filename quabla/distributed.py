"""Data parallelism: a batch split over the GPUs of one machine, and gradients summed over them.

It needs the CUDA target. A build without that checks what it is asked for and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from quabla import errors
from quabla.devices import parse, require
from quabla.transforms.autodiff import check_argnums
from quabla.transforms.wrapper import check_callable

__all__ = ["value_and_grad"]

REDUCTIONS: Final = ("mean", "sum")


@errors.hiding_library_frames
def value_and_grad(
    fun: Callable[..., Any],
    *,
    devices: Sequence[str],
    shard_argnums: int | Sequence[int],
    argnums: int | Sequence[int] = 0,
    reduction: str = "mean",
) -> Callable[..., Any]:
    """``value_and_grad`` of a function on shards of a batch, one for each device.

    Args:
        fun: gives a rank-0 float32 array.
        devices: CUDA devices, ``"cuda:0"`` and so on, each once.
        shard_argnums: the positions of the arguments that are split along the first axis of their leaves.
        argnums: the positions of the arguments to differentiate, which every device has in full.
        reduction: how values and gradients of the shards are combined, ``"mean"`` or ``"sum"``.

    Returns:
        A function that gives the value and the gradients.

    Raises:
        TypeError: positions that are not ints.
        ValueError: another reduction, a device that is not spelled like one or named twice, an argument that is to be
            split and differentiated.
        UnsupportedOperationError: a device that is no CUDA device, or a build without the CUDA target.

    Example:
        >>> qb.distributed.value_and_grad(qb.sum, devices=["cpu"], shard_argnums=1)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        quabla.errors.UnsupportedOperationError: distributed.value_and_grad: needs CUDA devices, got 'cpu'...
    """
    name = "distributed.value_and_grad"
    check_callable(fun, name)
    if reduction not in REDUCTIONS:
        raise ValueError(f"{name}: reduction must be 'mean' or 'sum', got {reduction!r}")
    if isinstance(devices, str) or not devices:
        raise ValueError(f"{name}: devices must be a sequence of at least one device, got {devices!r}")
    places = [parse(d) for d in devices]
    for device, (target, _) in zip(devices, places, strict=True):
        if target != "cuda":
            raise errors.UnsupportedOperationError(
                f"{name}: needs CUDA devices, got {device!r}", op=name, device=target
            )
    if len(set(places)) < len(places):
        raise ValueError(f"{name}: devices names a device twice: {list(devices)}")
    split, differentiated = (check_argnums(name, nums) for nums in (shard_argnums, argnums))
    both = sorted(set(split) & set(differentiated))
    if both:
        raise ValueError(f"{name}: has no gradients with respect to arguments that are split, got both for {both}")
    require("cuda")
    raise errors.UnsupportedOperationError(f"{name}: this build has no data parallelism", op=name, device="cuda")
