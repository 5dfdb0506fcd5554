"""Kernels that write their results where they are told, and allocate nothing.

A program that runs again and again, such as a step of training, keeps an array for every value in between. A ufunc takes
one as it is. A kernel that is a formula of ufuncs is recorded once, by calling it with stand-ins for its operands, as
a list of ufuncs over scratch arrays. What else has such a form states it in its record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from quabla import dtypes
from quabla.ops.types import TensorType

__all__ = ["Into", "assigned", "copied", "formula", "into_array"]

F = TypeVar("F", bound=Callable[..., Any])


class Into(NamedTuple):
    """How a kernel writes into an array.

    Attributes:
        run: ``(*operands, *scratch, out) -> out``.
        scratch: the types of the arrays that it needs beside the result.
        over: the array for the result may be that of an operand of its type.
    """

    run: Callable[..., Any]
    scratch: tuple[TensorType, ...] = ()
    over: bool = False


def formula(kernel: F) -> F:
    """Mark a kernel as a formula: ufuncs and ``np.where`` of its operands and numbers, whatever their values."""
    kernel.is_formula = True  # pyright: ignore[reportFunctionMemberAccess]
    return kernel


def into_array(
    kernel: Callable[..., Any], types: Sequence[TensorType], result: TensorType, widens: bool
) -> Into | None:
    """The form of an elementwise kernel that writes into an array; None where there is none.

    Args:
        kernel: the kernel as the record has it.
        types: of the operands.
        result: the type of the result.
        widens: the kernel takes float64 copies of float32 operands, and its result is rounded once.
    """
    if kernel is np.where:
        return Into(_select, (result,)) if result.dtype.is_float else Into(_copy_selected)
    if isinstance(kernel, np.ufunc):
        if kernel.signature is not None:  # it would make wide copies of whole arrays
            return None if widens else Into(kernel)
        if widens:
            return Into(_rounded(kernel), over=True) if result.dtype is dtypes.float32 else None
        return Into(_BY_KEYWORD.get(kernel, kernel), over=True)
    if getattr(kernel, "is_formula", False):
        return _recorded(kernel, types, result, widens)
    return None


def copied(write: Callable[..., Any]) -> Into:
    """For a kernel that returns a changed copy of its first operand; ``write`` changes it in place."""

    def run(x: Any, *arrays: Any) -> Any:
        *others, out = arrays
        np.copyto(out, x)
        return write(out, *others)

    return Into(run)


def assigned(x: Any, out: Any) -> Any:
    """``out`` with the elements of ``x``, converted."""
    np.copyto(out, x, "unsafe")
    return out


#: Ufuncs that take the array for the result by keyword only.
_BY_KEYWORD: Final[dict[Any, Callable[..., Any]]] = {
    np.maximum: lambda x, y, out: np.maximum(x, y, out=out),
    np.minimum: lambda x, y, out: np.minimum(x, y, out=out),
}


def _copy_selected(mask: Any, on_true: Any, on_false: Any, out: Any) -> Any:
    np.copyto(out, on_false)
    np.copyto(out, on_true, where=mask)
    return out


def _select(mask: Any, on_true: Any, on_false: Any, scratch: Any, out: Any) -> Any:
    """A selection of floats by their bits, in a third of the time that copying where the mask holds takes."""
    integer = _BITS[out.dtype]
    chosen, bits, other = scratch.view(integer), out.view(integer), on_false.view(integer)
    np.negative(mask.view(np.int8), chosen, dtype=integer)  # all bits or none
    np.bitwise_xor(on_true.view(integer), other, bits)
    np.bitwise_and(bits, chosen, bits)
    np.bitwise_xor(bits, other, bits)
    return out


#: Integers as wide as floats.
_BITS: Final = {np.dtype(np.float64): np.dtype(np.int64), np.dtype(np.float32): np.dtype(np.int32)}


def _rounded(kernel: np.ufunc) -> Callable[..., Any]:
    """A ufunc that computes in float64 and rounds once; NumPy widens and rounds some thousand elements at a time."""
    return lambda *arrays: kernel(*arrays[:-1], out=arrays[-1], dtype=np.float64, casting="same_kind")


#: By the dtype of NumPy.
_QUABLA: Final = {d.numpy: d for d in (dtypes.bool_, dtypes.float32, dtypes.float64)}


# ---- formulas -----------------------------------------------------------------------------------


class _Step(NamedTuple):
    """One call; operands and result are numbered values."""

    call: Callable[..., Any]
    operands: tuple[int, ...]
    result: int


class _Recording:
    """The calls of a formula, in order.

    Attributes:
        dtypes: the NumPy dtype of every value: the operands, constants, and results of calls.
        constants: those values that are numbers.
    """

    def __init__(self, operands: Sequence[Any], work: np.dtype[Any]) -> None:
        self.steps: Final[list[_Step]] = []
        self.dtypes: Final[list[np.dtype[Any]]] = list(operands)
        self.constants: Final[dict[int, Any]] = {}
        self._work: Final = work

    def value(self, dtype: np.dtype[Any]) -> int:
        self.dtypes.append(dtype)
        return len(self.dtypes) - 1

    def number(self, x: Any) -> int:
        """The value of an operand of a call."""
        if isinstance(x, _StandIn):
            return x.index
        i = self.value(self._work)
        self.constants[i] = np.asarray(x, self._work)
        return i

    def call(self, function: Any, operands: Sequence[Any]) -> _StandIn:
        xs = tuple([self.number(x) for x in operands])
        if isinstance(function, np.ufunc):
            dtype = function.resolve_dtypes((*[self.dtypes[i] for i in xs], None))[-1]
            run = _BY_KEYWORD.get(function, function)
        else:
            dtype, run = self.dtypes[xs[1]], _select
        return self._append(run, xs, dtype)

    def convert(self, x: _StandIn, dtype: np.dtype[Any]) -> _StandIn:
        return self._append(assigned, (x.index,), dtype)

    def _append(self, call: Callable[..., Any], operands: tuple[int, ...], dtype: np.dtype[Any]) -> _StandIn:
        r = self.value(dtype)
        self.steps.append(_Step(call, operands, r))
        return _StandIn(self, r)


class _StandIn(np.lib.mixins.NDArrayOperatorsMixin):
    """What a formula is called with: it records what NumPy is asked to do with it."""

    def __init__(self, recording: _Recording, index: int) -> None:
        self.recording: Final = recording
        self.index: Final = index

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        return self.recording.call(ufunc, operands) if method == "__call__" and not options else NotImplemented

    def __array_function__(self, function: Any, types: Any, operands: Sequence[Any], options: Any) -> Any:
        return self.recording.call(function, operands) if function is np.where and not options else NotImplemented


def _recorded(kernel: Callable[..., Any], types: Sequence[TensorType], result: TensorType, widens: bool) -> Into:
    """A formula as calls over scratch arrays, each used again after the last use of what it holds."""
    wide = np.dtype(np.float64)
    given = [t.dtype.numpy for t in types]
    work = wide if widens else given[0]
    recording = _Recording(given, work)
    operands = [_StandIn(recording, i) for i in range(len(given))]
    if widens:
        operands = [recording.convert(x, wide) for x in operands]
    made = kernel(*operands)
    if recording.dtypes[made.index] != result.dtype.numpy:
        made = recording.convert(made, result.dtype.numpy)
    found = made.index
    last = {i: k for k, step in enumerate(recording.steps) for i in step.operands}
    places = {i: i for i in range(len(given))}
    scratch: list[np.dtype[Any]] = []
    free: list[int] = []

    def take(dtype: np.dtype[Any]) -> int:
        r = next((r for r in free if scratch[r] == dtype), None)
        if r is None:
            scratch.append(dtype)
            return len(scratch) - 1
        free.remove(r)
        return r

    for k, step in enumerate(recording.steps):
        done = [i for i in set(step.operands) if last[i] == k and i >= len(given) and i not in recording.constants]
        extra: list[int] = []
        if step.call is _select:  # needs an array of its own, and the result must not be an operand
            r = take(recording.dtypes[step.result])
            extra.append(recording.value(scratch[r]))
            places[extra[0]] = len(given) + r
            recording.steps[k] = step._replace(operands=(*step.operands, *extra))
        else:
            free.extend(places[i] - len(given) for i in done)
        if step.result != found:
            places[step.result] = len(given) + take(recording.dtypes[step.result])
        if extra:
            free.extend(places[i] - len(given) for i in (*done, *extra))
    out = places[found] = len(given) + len(scratch)
    for n, i in enumerate(recording.constants):
        places[i] = out + 1 + n
    numbers = tuple(recording.constants.values())
    calls = [(s.call, tuple([places[i] for i in s.operands]), places[s.result]) for s in recording.steps]

    def run(*arrays: Any) -> Any:
        frame = (*arrays, *numbers)
        for call, operands, r in calls:
            call(*[frame[i] for i in operands], frame[r])
        return arrays[-1]

    return Into(run, tuple([result.with_dtype(_QUABLA[d]) for d in scratch]))
