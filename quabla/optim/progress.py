"""The display of a training run: loss, rate of steps, time left. It uses the package rich, which is optional."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Final, Self

__all__ = ["Progress"]

#: How many seconds pass between two changes of the display: more would cost more than small steps themselves.
PERIOD: Final = 0.1


class Progress:
    """Shows a line that changes, where it is asked for and the standard output is a terminal.

    Args:
        total: the number of steps.
        shown: whether it is asked for.

    Raises:
        ImportError: where rich is needed and not installed.
    """

    def __init__(self, total: int, *, shown: bool) -> None:
        self._bar: Any = _bar() if shown and sys.stdout is not None and sys.stdout.isatty() else None
        self._task: Any = (
            None if self._bar is None else self._bar.add_task("", total=total, loss=float("nan"), rate=0.0)
        )
        self._done = 0
        self._loss = float("nan")
        self._start = self._next = time.monotonic()

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._show(time.monotonic())
            self._bar.stop()

    def advance(self, loss: float) -> None:
        """One more step was made."""
        self._done += 1
        self._loss = loss
        if self._bar is not None and (now := time.monotonic()) >= self._next:
            self._next = now + PERIOD
            self._show(now)

    def _show(self, now: float) -> None:
        rate = self._done / max(now - self._start, 1e-9)
        self._bar.update(self._task, completed=self._done, loss=self._loss, rate=rate)


def _bar() -> Any:
    try:
        from rich import progress  # pyright: ignore[reportMissingImports]
    except ImportError as e:
        raise ImportError(
            "Trainer.fit: the progress display needs the package rich: pip install 'quabla[progress]', or leave out progress"
        ) from e
    return progress.Progress(
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("loss {task.fields[loss]:.3e}"),
        progress.TextColumn("{task.fields[rate]:.0f} steps/s"),
        progress.TimeRemainingColumn(),
    )
