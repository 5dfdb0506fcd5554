"""XLA on the CPU, through jaxlib's client. jax itself is never imported.

jaxlib's interface is private. Everything that touches it is in this file, and works with jaxlib 0.10 (the newest for
Python 3.11) and 0.12 alike.

Exact arithmetic
    ``+ - * /`` and ``sqrt`` give the same bits as NumPy, op by op, but XLA has to be kept from two habits:

    * It contracts ``a * b + c`` to a fused multiply-add wherever the instruction set has one. The client is therefore
      made with ``--xla_cpu_max_isa=AVX``, the newest instruction set without it, in ``XLA_FLAGS``. XLA reads that
      variable once in a process; the user's own value is kept in front of ours, and is back in place afterwards.
    * Its algebraic simplifier reassociates: ``x / c`` becomes ``x * (1 / c)``, ``(x + c) + d`` becomes
      ``x + (c + d)``, ``exp(x) * exp(y)`` becomes ``exp(x + y)``. It is switched off for our programs. A call of a
      network's training step or of a chain over 1e6 numbers takes the same time without it, within the noise.

    Where XLA was already running in the process (somebody uses jax) or the processor has no AVX, the first point cannot
    be had. A program of three ops finds that out. Then products of float32 programs are rounded explicitly, which stays
    exact; float64 programs may differ in the last bit, and a warning says so once.

Recomputation
    XLA on the CPU would drop optimization barriers and then merge what they keep apart; see
    ``quabla.lowering.for_xla.keep_barriers``.

Subnormal numbers
    XLA computes with subnormal numbers flushed to zero, in float32 and float64, whatever its flags. Results below
    2.2e-308 (1.2e-38 for float32) in magnitude are zero here, where NumPy keeps them.
"""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from quabla import errors
from quabla.mlir import ir, read_type
from quabla.runtime import forks

__all__ = ["Step", "compile", "compile_step", "has_exact_arithmetic"]

Run = Callable[[Sequence[Any]], list[Any]]

_FLAG: Final = "--xla_cpu_max_isa=AVX"
# XLA reserves the right to skip a rounding to float32 between float64 ops. jaxlib 0.10 and 0.12 do not use it on the
# CPU, so the second option only makes sure.
_OPTIONS: Final = [("xla_disable_hlo_passes", "algsimp"), ("xla_allow_excess_precision", False)]

#: The version of StableHLO that jaxlib 0.10 reads. Custom calls were written anew in a later one.
_STABLEHLO: Final = "1.17.0"

#: The first known version of jaxlib's client (that of jaxlib 0.12) whose float64 log1p is accurate.
_GOOD_LOG1P: Final = 505

_lock: Final = threading.Lock()
_client: _Client | None = None


def compile(module: ir.Module) -> Run:
    """Compile the function ``main`` of a StableHLO module.

    float32 programs get the library's float32 semantics from ``quabla.lowering.exact_f32.widen`` beforehand; this
    compiles what it is given. See the module's documentation for what XLA does to subnormal numbers.

    Returns:
        A function from the argument arrays, in order, to the result arrays, which are read-only. It may be called from
        any number of threads.

    Raises:
        QuablaError: where XLA cannot compile the module; calling the function raises it where XLA cannot run it.
    """
    return _ready().compile(module)


def compile_step(module: ir.Module, state: int) -> Step:
    """Compile the function ``main`` of a module so that its first results are written over its first arguments.

    Args:
        module: the module, which stays as it is.
        state: how many arguments; each has the type of the result in its place.

    Raises:
        QuablaError: where XLA cannot compile the module.
    """
    return _ready().compile_step(module, state)


def has_exact_arithmetic() -> bool:
    """Whether float64 ``+ - * /`` and ``sqrt`` give NumPy's bits: False only where XLA was started by somebody else."""
    return _ready().exact


def _ready() -> _Client:
    """The process's client, made by the first caller."""
    global _client
    if forks.process.lost:
        raise errors.QuablaError(forks.LOST)
    client = _client
    if client is None:
        forks.watch()  # before the lock, which a child process would find held for ever
        with _lock:
            client = _client
            if client is None:
                client = _client = _Client()
    return client


class _Client:
    """jaxlib's CPU client and what every program shares.

    Attributes:
        exact: whether XLA leaves ``a * b + c`` uncontracted.
    """

    def __init__(self) -> None:
        with _environment():
            try:
                from jaxlib import _jax, xla_client  # pyright: ignore[reportAttributeAccessIssue]
            except ImportError as e:
                raise errors.QuablaError(f"XLA needs the package jaxlib, which cannot be imported: {e}") from e
            self._jax: Final[Any] = _jax
            try:
                # Synchronous dispatch halves the time of a small call: nothing waits for another thread.
                self._client: Final[Any] = xla_client.make_cpu_client(asynchronous=False)
            except (RuntimeError, TypeError) as e:
                raise errors.QuablaError(f"XLA's CPU client cannot be made: {_first_line(e)}") from e

        class Placement(xla_client.SingleDeviceSharding):  # pyright: ignore[reportUntypedBaseClass]
            """Everything on the one device. jaxlib 0.10 asks for what jax's own subclass adds."""

            memory_kind = None

            def _to_xla_hlo_sharding(self, rank: int) -> Any:
                return xla_client.HloSharding.replicate()

        self._device: Final = self._client.devices()[0]
        self._devices: Final = xla_client.DeviceList((self._device,))
        self._placement: Final = Placement(self._device)
        self._options: Final = xla_client.CompileOptions()
        self._options.num_replicas = self._options.num_partitions = 1
        self._options.env_option_overrides = _OPTIONS
        self._poor_log1p: Final = xla_client._version < _GOOD_LOG1P
        self._has_lapack = False
        self._copies: Final = _Copies(self._placed)
        self.exact = True
        self.exact = self._keeps_products()

    def compile(self, module: ir.Module) -> Run:
        return self._runner(*self._load(module))

    def compile_step(self, module: ir.Module, state: int) -> Step:
        return Step(*self._load(module, state), self._placed, self._handlers)

    def _load(self, module: ir.Module, state: int = 0) -> tuple[Any, list[Any], list[Any]]:
        """The loaded program and the types of its arguments and results."""
        from quabla.lowering.for_xla import (
            INACCURATE,
            INACCURATE_BEFORE_0_12,
            guard_products,
            keep_barriers,
            keep_zeros,
            select_short_branches,
            split_broadcasts,
            write_out,
        )
        from quabla.lowering.lapack import call_lapack
        from quabla.lowering.to_stablehlo import copy_of, portable_artifact

        inputs, outputs = _signature(module)
        module = copy_of(module)
        if state:
            _alias(module, state)
        keep_barriers(module)
        select_short_branches(module)
        keep_zeros(module)
        split_broadcasts(module)
        if call_lapack(module):
            self._offer_lapack()
        write_out(module, INACCURATE | INACCURATE_BEFORE_0_12 if self._poor_log1p else INACCURATE)
        if not self.exact:
            guard_products(module)
            if "f64" in str(module):
                _warn_of_contraction()
        try:
            program = self._client.compile_and_load(portable_artifact(module, _STABLEHLO), self._devices, self._options)
        except (RuntimeError, ValueError) as e:
            types = f"({', '.join(map(repr, inputs))}) -> ({', '.join(map(repr, outputs))})"
            raise errors.QuablaError(f"XLA cannot compile the program of type {types}: {_first_line(e)}") from e
        return program, inputs, outputs

    def _offer_lapack(self) -> None:
        """Let programs call LAPACK, which jaxlib takes from SciPy; jax itself may have done the same."""
        if self._has_lapack:
            return
        from jaxlib.cpu import _lapack  # pyright: ignore[reportMissingImports]

        _lapack.initialize()
        for name, function in _lapack.registrations().items():
            version = int(name.endswith("_ffi"))
            self._jax.register_custom_call_target(name, function, platform="cpu", api_version=version)
        self._has_lapack = True

    def _handlers(self, outputs: list[Any]) -> list[Any]:
        """What makes an array of each result's buffer."""
        make = self._jax.array_result_handler
        # jaxlib 0.10 checks results with a method that jax patches in, unless told not to.
        extra = {"_skip_checks": True} if "_skip_checks" in (make.__doc__ or "") else {}
        return [make(_Described(t), self._placement, committed=True, **extra) for t in outputs]

    def _placed(self, array: Any, described: _Described) -> Any:
        """A NumPy array as a buffer, which may share its memory."""
        return self._jax.batched_device_put(described, self._placement, [array], [self._device], True, enable_x64=True)

    def _runner(self, program: Any, inputs: list[Any], outputs: list[Any]) -> Run:
        put, execute = self._jax.batched_device_put, program.execute_sharded
        placement, devices = self._placement, [self._device]
        arguments = [_Described(t) for t in inputs]
        wanted = [(t.shape, t.dtype.numpy) for t in inputs]
        handlers = self._handlers(outputs)
        copies = self._copies

        def run(arrays: Sequence[Any]) -> list[Any]:
            buffers = []
            for x, a, (shape, dtype) in zip(arrays, arguments, wanted, strict=True):
                if x.shape != shape or x.dtype != dtype:  # XLA would read the memory as if it fitted
                    raise _unfit(arrays, inputs)
                if x.nbytes < _COPIED:
                    buffers.append(put(a, placement, [x], devices, True, enable_x64=True))
                else:
                    buffers.append(copies.of(x, a))
            try:
                results = execute(buffers).consume_with_handlers(handlers)
                return [np.asarray(r) for r in results]
            except RuntimeError as e:
                raise errors.QuablaError(f"XLA cannot run the program: {_first_line(e)}") from e

        return run

    def _keeps_products(self) -> bool:
        """Whether a compiled ``a * b + c`` rounds its product."""
        from quabla.mlir import context

        module = ir.Module.parse(_CONTRACTION, context())
        a = np.full(8, 1.0 + 2.0**-30)
        (r,) = self.compile(module)([a, a, -(a * a)])
        return not r.any()


class Step:
    """A program that writes its first results over its first arguments.

    Attributes:
        execute: runs it on the buffers of all arguments, of which the first are gone afterwards.
        handlers: what the results of ``execute`` become arrays with.
    """

    __slots__ = ("_arguments", "_inputs", "_kept", "_placed", "execute", "handlers")

    def __init__(
        self,
        program: Any,
        inputs: list[Any],
        outputs: list[Any],
        placed: Callable[[Any, _Described], Any],
        handlers: Callable[[list[Any]], list[Any]],
    ) -> None:
        self._inputs: Final = inputs
        self._arguments: Final = [_Described(t) for t in inputs]
        self._placed: Final = placed
        self._kept: Final[list[tuple[Any, Any]]] = [(None, None)] * len(inputs)
        self.execute: Final = program.execute_sharded
        self.handlers: Final = handlers(outputs)

    def place(self, arrays: Sequence[Any], first: int = 0) -> list[Any]:
        """Buffers of the arguments from ``first`` on. An array that came in the last call keeps its buffer.

        Raises:
            QuablaError: for arrays of other types.
        """
        buffers = []
        for i, x in enumerate(arrays, first):
            if x is not self._kept[i][0]:
                t = self._inputs[i]
                if x.shape != t.shape or x.dtype != t.dtype.numpy:
                    raise _unfit(arrays, self._inputs[first:])
                buffer = self._placed(np.asarray(x), self._arguments[i])
                self._kept[i] = (x, buffer) if first else (None, None)
                buffers.append(buffer)
            else:
                buffers.append(self._kept[i][1])
        return buffers

    @contextmanager
    def errors(self) -> Generator[None]:
        """XLA's errors as ours.

        Raises:
            QuablaError: where XLA fails, or its threads are not there.
        """
        if forks.process.lost:
            raise errors.QuablaError(forks.LOST)
        try:
            yield
        except RuntimeError as e:
            raise errors.QuablaError(f"XLA cannot run the program: {_first_line(e)}") from e


#: XLA shares the memory of an array that starts at a multiple of this, and copies others.
_ALIGNMENT: Final = 64
#: Copies of arrays of at least this many bytes are kept for the next call.
_COPIED: Final = 1 << 16


class _Copies:
    """Buffers of large arrays that XLA had to copy, for as long as the arrays live.

    Only of arrays that own their memory, as those of a Tensor do; they become read-only.
    """

    def __init__(self, placed: Callable[[Any, _Described], Any]) -> None:
        self._placed: Final = placed
        self._found: Final[dict[int, tuple[weakref.ref[Any], Any]]] = {}

    def of(self, x: Any, described: _Described) -> Any:
        """The buffer of an array."""
        if x.base is not None or x.ctypes.data % _ALIGNMENT == 0:
            return self._placed(x, described)
        key = id(x)
        reference, buffer = self._found.get(key, (None, None))
        if reference is None or reference() is not x:
            buffer = self._placed(x, described)

            def forget(dead: Any) -> None:
                if self._found.get(key, (None,))[0] is dead:
                    del self._found[key]

            x.flags.writeable = False
            self._found[key] = weakref.ref(x, forget), buffer
        return buffer


_CONTRACTION: Final = """
func.func public @main(%a: tensor<8xf64>, %b: tensor<8xf64>, %c: tensor<8xf64>) -> tensor<8xf64> {
  %0 = stablehlo.multiply %a, %b : tensor<8xf64>
  %1 = stablehlo.add %0, %c : tensor<8xf64>
  return %1 : tensor<8xf64>
}
"""


class _Described:
    """The shape and dtype of an argument or result, in the words that jaxlib asks for."""

    __slots__ = ("dtype", "ndim", "shape", "size", "weak_type")

    def __init__(self, type: Any) -> None:
        self.shape = type.shape
        self.dtype = type.dtype.numpy
        self.ndim = type.ndim
        self.size = type.size
        self.weak_type = False


def _alias(module: ir.Module, state: int) -> None:
    """Let the first results of ``main`` be written over its first arguments."""
    context = module.context
    for f in module.body.operations:
        attributes = f.operation.attributes
        if f.operation.name == "func.func" and ir.StringAttr(attributes["sym_name"]).value == "main":
            i32 = ir.IntegerType.get_signless(32, context)
            rows = []
            for i in range(len(ir.FunctionType(ir.TypeAttr(attributes["function_type"]).value).inputs)):
                into = {"tf.aliasing_output": ir.IntegerAttr.get(i32, i)} if i < state else {}
                rows.append(ir.DictAttr.get(into, context))
            attributes["arg_attrs"] = ir.ArrayAttr.get(rows, context)


def _signature(module: ir.Module) -> tuple[list[Any], list[Any]]:
    """The types of the arguments and results of ``main``."""
    for f in module.body.operations:
        attributes = f.operation.attributes
        if f.operation.name == "func.func" and ir.StringAttr(attributes["sym_name"]).value == "main":
            t = ir.FunctionType(ir.TypeAttr(attributes["function_type"]).value)
            return [read_type(i) for i in t.inputs], [read_type(o) for o in t.results]
    raise errors.QuablaError("the module has no function 'main'")


def _unfit(arrays: Sequence[Any], inputs: list[Any]) -> errors.QuablaError:
    got = ", ".join(f"{x.dtype}{list(x.shape)}" for x in arrays)
    return errors.QuablaError(f"the program takes ({', '.join(map(repr, inputs))}), got arrays {got}")


def _first_line(e: BaseException) -> str:
    return str(e).strip().split("\n", 1)[0]


@contextmanager
def _environment() -> Generator[None]:
    """Our flags in the environment while jaxlib reads it; afterwards it is the user's again."""
    flags = " ".join(filter(None, [os.environ.get("XLA_FLAGS"), _FLAG]))
    ours = {"XLA_FLAGS": flags, "TF_CPP_MIN_LOG_LEVEL": os.environ.get("TF_CPP_MIN_LOG_LEVEL", "1")}
    kept = {k: os.environ.get(k) for k in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for k, v in kept.items():
            if v is None:
                del os.environ[k]
            else:
                os.environ[k] = v


_warned = False


def _warn_of_contraction() -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            "XLA contracts products and sums of float64 numbers in this process, so compiled results can differ from "
            "eager ones in the last bit. It was started before quabla could ask it not to (by jax, for example), or "
            f"the processor has no instruction set without fused multiply-add. Set XLA_FLAGS={_FLAG} before the first "
            "use of jax, or quabla.config.cpu_engine = 'numpy'",
            RuntimeWarning,
            stacklevel=2,
        )
