"""Training: loss, gradient and update as one compiled program whose parameters stay in the target's buffers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from quabla import dtypes, errors
from quabla.devices import checked_target
from quabla.io import load, save
from quabla.ops import dispatch
from quabla.ops.eager import wrap
from quabla.optim.gradient import MOST_STEPS, GradientOptimizer, at_leaf, float_leaves, refuse_traced
from quabla.optim.progress import Progress
from quabla.optim.settings import count
from quabla.tracing.engines import engine_for, resident_for
from quabla.tracing.graph import Body, Graph, TraceTensor, alive, build
from quabla.tracing.trace import Arguments, trace
from quabla.transforms.autodiff import check_argnums, tree_of_arrays, value_and_grad
from quabla.transforms.inline import inline
from quabla.transforms.narrowing import warn_of_float32
from quabla.transforms.staging import captured_array
from quabla.transforms.wrapper import check_callable

__all__ = ["Trainer"]


class Trainer:
    """Minimises ``loss(params, *data)`` step by step with a gradient optimizer.

    A step is one compiled program: the loss, its gradient, clipping and the update. Parameters and moments stay in the
    target's buffers from step to step. Learning rates enter the program as numbers, so that a schedule never compiles
    again. Steps may be made from several threads, one at a time. If a step is interrupted or fails, parameters, moments
    and counter are those before it or, together, those after it.

    Args:
        loss: gives a rank-0 float array.
        params: a pytree of float arrays, which is copied.
        optimizer: an ``Adam``, ``AdamW`` or ``SGD``.
        data: the other arguments of ``loss``: pytrees of arrays and numbers.
        device: None or ``"cpu"``, ``"cuda"``, ``"cuda:N"`` or ``"mlx"``, as in ``jit``.
        batch_argnums: which of ``data``, counted from 0, ``step`` takes anew; an int or several.
        precision: None or ``"float64"``, as in ``jit``.

    Raises:
        TypeError: another optimizer, or parameters that are not float arrays.
        TracerError: a loss, parameters, data or a learning rate that use a traced value.
        ValueError: a loss that is not a rank-0 float array, ``batch_argnums`` that are out of range or repeated,
            parameters without arrays, or a device that is not spelled like one.
        UnsupportedOperationError: a target that this build does not contain, or an op that it cannot run.

    Example:
        >>> loss = lambda p, x, y: qb.mean((p["w"] * x + p["b"] - y) ** 2)
        >>> x = qb.linspace(-1.0, 1.0, 32)
        >>> start = {"w": qb.array(0.0), "b": qb.array(0.0)}
        >>> trainer = qb.optim.Trainer(loss, start, qb.optim.Adam(0.1), x, 3.0 * x - 0.5)
        >>> for _ in range(300):
        ...     trainer.step()
        >>> {k: round(v.item(), 5) for k, v in trainer.params.items()}
        {'w': 3.0, 'b': -0.5}
    """

    @errors.hiding_library_frames
    def __init__(
        self,
        loss: Callable[..., Any],
        params: Any,
        optimizer: Any,
        *data: Any,
        device: str | None = "cpu",
        batch_argnums: int | Sequence[int] = (),
        precision: str | None = None,
    ) -> None:
        check_callable(loss, "Trainer")
        if not isinstance(optimizer, GradientOptimizer):
            raise TypeError(
                f"Trainer: the optimizer must be an Adam, AdamW or SGD, got {optimizer!r} of type "
                f"{type(optimizer).__name__}"
            )
        target = checked_target("Trainer", device, precision)
        leaves, self._treedef = float_leaves("Trainer", "parameters", params)
        if not leaves:
            raise ValueError("Trainer: the parameters have no arrays")
        self._batch = _batch_positions(batch_argnums, len(data))
        args = [tree_of_arrays(d, "Trainer") if i in self._batch else d for i, d in enumerate(data)]
        flat = Arguments([self._treedef.unflatten(leaves), *args])
        scalars = optimizer.scalars(0)
        refuse_traced("Trainer", "keeps values", [*flat.leaves, *scalars])
        self._optimizer: Final = optimizer
        self._types: Final = [x.type for x in leaves]
        self._data: Final = Arguments(args)
        self._lock: Final = threading.RLock()
        graph = _step_graph(loss, self._treedef, leaves, optimizer, scalars, args)
        refuse_traced("Trainer", "keeps values", graph.captures)
        state = len(leaves) * (1 + len(optimizer.moments))
        self._steps: Final = resident_for(graph, state, target)
        moments = [np.zeros(t.shape) for _ in optimizer.moments for t in self._types]
        self._steps.put([*(x.data for x in leaves), *moments], 0)
        value = _loss_graph(graph, len(leaves), state + len(scalars))
        self._loss: Final = engine_for(value, target), value.outs[0].type, [captured_array(x) for x in value.captures]
        self._snapshot: tuple[int, Any] | None = None
        warn_of_float32(target, flat.types())

    def __repr__(self) -> str:
        return f"Trainer({self._optimizer!r}, steps={self.steps})"

    @property
    def steps(self) -> int:
        """The number of steps made."""
        return self._steps.calls

    @property
    def engine(self) -> str:
        """The engine of the last step."""
        return self._steps.engine

    @property
    def params(self) -> Any:
        """The parameters, as arrays of their own."""
        return self._treedef.unflatten(self._leaves())

    def _leaves(self) -> list[Any]:
        with self._lock:
            if self._snapshot is None or self._snapshot[0] != self.steps:
                arrays = self._steps.state()[: len(self._types)]
                self._snapshot = self.steps, [wrap(a, t) for a, t in zip(arrays, self._types, strict=True)]
            return self._snapshot[1]

    def step(self, *batch: Any) -> None:
        """One step of training.

        Args:
            batch: new values of the data that ``batch_argnums`` names, in that order, of the same structure, shapes and
                dtypes. They stay the data afterwards.

        Raises:
            ValueError: another number of batches, another structure, shape or dtype, or a schedule's value that is
                negative or not finite.
            TypeError: batches that are not pytrees of arrays.
        """
        self._advance(batch)

    def _advance(self, batch: Sequence[Any]) -> Any:
        """One step; the loss before it."""
        with self._lock:
            if len(batch) != len(self._batch):
                raise ValueError(
                    f"Trainer.step: takes {len(self._batch)} batches, as batch_argnums={self._batch} names, got "
                    f"{len(batch)}{errors.at_user_line()}"
                )
            scalars = self._optimizer.scalars(self.steps)
            data = self._with(batch) if batch else self._data.leaves
            value = self._steps([*map(np.float64, scalars), *_arrays(data)])[0]
            self._data.leaves = data
            return value

    def _with(self, batch: Sequence[Any]) -> list[Any]:
        """The leaves of the data with a batch in its place.

        Raises:
            ValueError, TypeError: for a batch that does not fit.
        """
        new = list(self._data.leaves)
        for i, given in zip(self._batch, batch, strict=True):
            span, treedef = self._data.spans[i], self._data.treedefs[i]
            one = Arguments([tree_of_arrays(given, "Trainer")])
            if one.treedefs[0] != treedef:
                raise ValueError(
                    f"Trainer.step: the batch for data {i} must have the structure {treedef or 'of one array'}, got "
                    f"{one.treedefs[0] or 'one array'}{errors.at_user_line()}"
                )
            for k, x in zip(span, one.leaves, strict=True):
                if x.type is not new[k].type:
                    where = at_leaf(treedef, k - span.start) if treedef else ""
                    raise ValueError(
                        f"Trainer.step: the batch for data {i}{where} must be {new[k].type}, got {x.type}"
                        f"{errors.at_user_line()}"
                    )
                new[k] = x
            refuse_traced("Trainer.step", "keeps values", one.leaves)
        return new

    @errors.hiding_library_frames
    def loss(self) -> Any:
        """The loss at the parameters as they are now, with the data of the last step: a rank-0 array."""
        with self._lock:
            run, type, captured = self._loss
            return wrap(run([*_arrays(self._leaves()), *_arrays(self._data.leaves), *captured])[0], type)

    def fit(
        self, steps: int, *, batches: Iterable[Any] | None = None, progress: bool = False, log_every: int = 1
    ) -> list[float]:
        """Make many steps.

        Args:
            steps: how many.
            batches: what each step takes: an iterable of batches, or of tuples where a step takes several. It may end
                before ``steps``. None for a trainer without ``batch_argnums``.
            progress: show the loss, the rate of steps and the time left, with the package rich, where the standard
                output is a terminal.
            log_every: the loss is read, shown and returned at each multiple of this many steps.

        Returns:
            The losses before steps 0, ``log_every``, 2 ``log_every``, ... of these. No step computes its loss twice.

        Raises:
            ValueError, TypeError: as ``step``; ``steps`` or ``log_every`` that is not positive.
            ImportError: for a display without rich.

        Example:
            >>> trainer = qb.optim.Trainer(lambda p: qb.sum(p * p), qb.array([1.0, 2.0]), qb.optim.SGD(0.25))
            >>> trainer.fit(4)
            [5.0, 1.25, 0.3125, 0.078125]
        """
        total, every = count("Trainer.fit: steps", steps), count("Trainer.fit: log_every", log_every)
        several = len(self._batch) > 1
        given = iter(()) if batches is None else iter(batches)
        losses: list[float] = []
        with Progress(total, shown=progress) as display:
            for k in range(total):
                if batches is None:
                    batch: Any = ()
                else:
                    try:
                        batch = next(given)
                    except StopIteration:
                        break
                    batch = tuple(batch) if several else (batch,)
                value = self._advance(batch)
                if k % every == 0:
                    losses.append(float(value))
                display.advance(losses[-1])
        return losses

    def save(self, file: Any) -> None:
        """Write parameters, moments and the counter to a file, from which ``load`` continues bit for bit.

        Args:
            file: a path or a binary file.
        """
        with self._lock:
            arrays, steps = self._steps.state(), self.steps
        save(
            file,
            {
                "trainer": type(self._optimizer).__name__,
                "structure": repr(self._treedef),
                "steps": steps,
                "state": [dispatch.hooks.eager.asarray(a) for a in arrays],
            },
        )

    def load(self, file: Any) -> None:
        """Continue from a file that ``save`` wrote, with parameters of the same structure and the same optimizer.

        The data stay as they are.

        Args:
            file: a path or a binary file.

        Raises:
            ValueError: a file that is damaged, or that was written for other parameters or another optimizer. The
                trainer is then as before.
        """
        kind, structure, steps, state = _saved(load(file))
        wanted = type(self._optimizer).__name__, repr(self._treedef)
        if kind != wanted[0]:
            raise ValueError(f"Trainer.load: the file is from training with {kind}, not {wanted[0]}")
        moments = [t.with_dtype(dtypes.float64) for _ in self._optimizer.moments for t in self._types]
        types = [x.type for x in state]
        if structure != wanted[1] or types != [*self._types, *moments]:
            raise ValueError(
                f"Trainer.load: the file has parameters {structure} and a state of {', '.join(map(str, types))}, the "
                f"trainer {wanted[1]} and {', '.join(map(str, [*self._types, *moments]))}"
            )
        with self._lock:
            self._snapshot = None
            self._steps.put([x.data for x in state], steps)


def _saved(found: Any) -> tuple[str, str, int, list[Any]]:
    """What ``save`` wrote: the optimizer's name, the structure of the parameters, the counter and the state.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(found, dict) and set(found) == {"trainer", "structure", "steps", "state"}:
        steps, state = found["steps"], found["state"]
        if (
            type(steps) is int
            and 0 <= steps < MOST_STEPS
            and isinstance(state, list)
            and all(map(dispatch.is_value, state))
        ):
            return found["trainer"], found["structure"], steps, state
    raise ValueError("Trainer.load: the file was not written by Trainer.save")


def _batch_positions(batch_argnums: int | Sequence[int], count: int) -> tuple[int, ...]:
    """The positions among the data that change.

    Raises:
        ValueError: positions that are out of range or repeated.
        TypeError: positions that are not ints.
    """
    if isinstance(batch_argnums, (tuple, list)) and not batch_argnums:
        return ()
    positions = []
    for i in check_argnums("Trainer: batch_argnums", batch_argnums):
        if not -count <= i < count:
            raise ValueError(
                f"Trainer: batch_argnums {i} is out of range for {count} data arguments, which are counted from 0 "
                f"without the parameters{errors.at_user_line()}"
            )
        positions.append(i % count)
    if len(set(positions)) != len(positions):
        raise ValueError(f"Trainer: batch_argnums {batch_argnums} name an argument twice{errors.at_user_line()}")
    return tuple(positions)


def _arrays(leaves: Sequence[Any]) -> list[Any]:
    """The NumPy arrays of leaves; Python numbers are constants of the program."""
    return [x.data for x in leaves if not isinstance(x, (int, float))]


def _step_graph(
    loss: Callable[..., Any],
    treedef: Any,
    leaves: Sequence[Any],
    optimizer: GradientOptimizer,
    numbers: Sequence[Any],
    data: Sequence[Any],
) -> Graph:
    """The graph of a step: parameters, moments, scalars and data to new parameters and moments and the loss."""
    wide = [wrap(np.zeros(x.type.shape), x.type.with_dtype(dtypes.float64)) for x in leaves]
    moments = wide * len(optimizer.moments)
    scalars = [dispatch.scalar(float(s), dtypes.float64) for s in numbers]

    def step(params: list[Any], moments: list[Any], scalars: list[Any], *data: Any) -> list[Any]:
        value, grads = value_and_grad(loss)(treedef.unflatten(params), *data)
        return [*optimizer.emit(scalars, params, treedef.flatten_up_to(grads), moments), value]

    params = [wrap(x.data, x.type) for x in leaves]
    return trace(step, Arguments([params, moments, scalars, *data])).graph


def _loss_graph(step: Graph, params: int, others: int) -> Graph:
    """The part of a step's graph that computes the loss from parameters and data.

    Args:
        step: the graph; the loss is its last result.
        params: how many of its arguments are parameters; they come first.
        others: how many arguments come before the data.
    """
    body = Body(step.args, alive(step.nodes, step.outs[-1:]), step.outs[-1:])
    declared = len(step.args) - len(step.captures)
    args = [*step.args[:params], *step.args[others:declared]]
    captured = {a: x for x, a in step.captures.items()}

    def run(*values: TraceTensor) -> list[Any]:
        return inline(body, {**captured, **dict(zip(args, values, strict=True))})

    return build([a.type for a in args], None, run)
