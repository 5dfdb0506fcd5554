"""The op registry: one record per op, from which everything else about the op is made.

The dialect's op definition and verifier, the eager kernel, derivatives, batching, the StableHLO lowering,
documentation and the generated tests all read the same record. Adding an op is adding a record to the
file of its family.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from quabla import dtypes, errors
from quabla.ops.into import Into, into_array
from quabla.ops.memo import Memo
from quabla.ops.types import Params, Shape, TensorType

__all__ = ["REGISTRY", "Attribute", "Convention", "Op", "Sample", "define", "lookup"]

Array = Any  # a NumPy array or scalar
Value = Any  # a value that ops apply to: Tensor or TraceTensor
Kernel = Callable[..., Array]


class Attribute(NamedTuple):
    """One attribute of an op.

    Attributes:
        kind: ``"int"``, ``"bool"``, ``"ints"`` (a tuple of ints), ``"axes"`` (sorted, non-negative axes; the text form
            omits them where they are all of the operand's and writes a single one as ``axis=0``), ``"str"`` or
            ``"const"``; or ``"shape"`` or ``"dtype"`` where the attribute is the result's own shape or dtype and
            therefore never written down.
        style: how the text form shows it: ``"named"`` ``sum(%0, axis=1)``, ``"positional"`` ``powi(%0, 2)``,
            ``"trailing"`` ``concat(%0, %1) axis=0`` or ``"bracket"`` ``constant[value=1.0]``.
        default: a value that the text form leaves out.
    """

    name: str
    kind: str
    style: str = "named"
    default: Any = None


class Sample(NamedTuple):
    """A small application of an op, for the tests that are generated from the registry.

    Attributes:
        lo, hi: bound the operands' values (one pair for all, or one for each operand); values are distinct.
        make: operands from such values, where the op needs more, such as a well-conditioned matrix.
        symmetric: the operand is a symmetric matrix, and derivatives are those along symmetric directions.
    """

    shapes: tuple[Shape, ...]
    params: Params = ()
    lo: float | tuple[float, ...] = 0.3
    hi: float | tuple[float, ...] = 0.9
    dtypes: tuple[dtypes.dtype, ...] = ()
    make: Callable[..., tuple[Array, ...]] | None = None
    symmetric: bool = False


class Convention(NamedTuple):
    """The derivative at points where calculus leaves a choice; the table in docs/conventions.md is made of these.

    Attributes:
        where: the points, in words.
        derivative: what the derivative is there, in words.
        why: the reason of the choice.
        at: one such point, a number for each operand.
        slopes: the derivative by each operand there.
    """

    where: str
    derivative: str
    why: str
    at: tuple[float, ...] = ()
    slopes: tuple[float, ...] = ()


class Lowering(Protocol):
    """What a record's StableHLO rule may call; see ``quabla.lowering.to_stablehlo``."""

    def __getattr__(self, name: str) -> Any: ...


class Op:
    """Everything the system knows about one operation.

    Args:
        name: the op's name in the text form; ``qb.<name>`` in MLIR.
        summary: one line for the documentation.
        operands: operand names; one name that starts with ``*`` for any number of operands.
        attributes: the declared attributes, in the order of the params tuple.
        infer: ``(operand types, params) -> result type``; raises ValueError or TypeError with a message that
            names what came and what was wanted (the op's name and the user's line are added).
        kernel: ``(params, operand types) -> callable`` over NumPy arrays.
        into: ``(params, operand types) -> Into or None``: the kernel, rounding included, in a form that writes into an
            array. A kernel that is a ufunc, ``np.where`` or marked as a formula needs none.
        exact_f32: the kernel run in float32 already gives the float64 result rounded once, so nothing widens.
        may_alias: the kernel may return its operand or a view of it (default: every op that is not elementwise).
        ints: the op is defined for integer operands too, of one dtype; they wrap around.
        elementwise: operands broadcast against each other and each result element depends on its own operands only.
        partials: of an elementwise op, for each operand ``(operands, result, params) -> factor``; a factor is a
            value, the number 0, 1 or -1, or one of the kinds in ``rules``. None for an operand that has no derivative.
        transpose: for an op that is linear in an operand, ``{operand: (cotangent, operands, params) -> cotangent}``.
            The linear operands' values must not be used, only their shapes.
        joint: the op is linear in its transposed operands together (``concat``), not in each alone (``matmul``).
        jvp: ``(operands, tangents, result, params) -> tangent or None``, for ops with neither of the above. A
            missing tangent is None. Reverse mode transposes what this rule emits.
        vjp: ``(operands, active, cotangent, result, params) -> cotangents``, where transposition can be bettered.
        batch: ``(operands, mapped, params) -> result``; mapped operands carry the mapped axis first, and so must
            the result.
        stablehlo: the StableHLO op of the same meaning, or ``(lowering, values, node) -> value``.
        fold: ``(operands, params) -> value or None``: an equal, simpler value, tried when a node is made.
        differentiable: False for ops whose derivative is zero by definition.
        refusal: what is wrong with an operand where the kernel gives NaN, for ops that raise it when not compiled.
        recognized: expressions in the result may have derivatives that it has not, so they are looked for before a body is
            differentiated.
        samples: small applications for generated tests.
        special: ``(inputs, result)`` pairs at signed zeros, infinities, NaN and edges.
        domain: of an elementwise op, the interval of each operand outside of which the result is NaN.
        ulps: of an elementwise op, how far the float64 kernel is from the exact result at most, in units in the last
            place of that: 0 where it is exact, 1/2 where it is the exact one rounded.
        conventions: the derivative where calculus leaves a choice.
        source: where a non-obvious derivative or algorithm comes from.
    """

    def __init__(
        self,
        name: str,
        summary: str,
        operands: tuple[str, ...],
        *,
        infer: Callable[[Sequence[TensorType], Params], TensorType],
        kernel: Callable[[Params, Sequence[TensorType]], Kernel],
        into: Callable[[Params, Sequence[TensorType]], Into | None] | None = None,
        attributes: tuple[Attribute, ...] = (),
        exact_f32: bool = False,
        ints: bool = False,
        elementwise: bool = False,
        may_alias: bool | None = None,
        partials: tuple[Callable[..., Any] | None, ...] | None = None,
        transpose: dict[int, Callable[..., Any]] | Callable[..., Any] | None = None,
        joint: bool = False,
        jvp: Callable[..., Any] | None = None,
        vjp: Callable[..., Any] | None = None,
        batch: Callable[..., Any] | None = None,
        stablehlo: str | Callable[..., Any] | None = None,
        fold: Callable[..., Any] | None = None,
        differentiable: bool = True,
        refusal: str = "",
        recognized: bool = False,
        samples: tuple[Sample, ...] = (),
        special: tuple[tuple[tuple[float, ...], float], ...] = (),
        domain: tuple[tuple[float, float], ...] = (),
        ulps: float | None = None,
        conventions: tuple[Convention, ...] = (),
        source: str = "",
    ) -> None:
        self.name: Final = name
        self.mlir_name: Final = "qb." + name
        self.summary: Final = summary
        self.operands: Final = operands
        self.attributes: Final = attributes
        self.infer: Final = infer
        self.kernel: Final = kernel
        self.into: Final = into
        self.exact_f32: Final = exact_f32
        self.ints: Final = ints
        self.elementwise: Final = elementwise
        self.may_alias: Final = not elementwise if may_alias is None else may_alias
        self.partials: Final = partials
        self.transpose: Final = transpose
        self.joint: Final = joint
        self.jvp: Final = jvp
        self.vjp: Final = vjp
        self.batch: Final = batch
        self.stablehlo: Final = stablehlo
        self.fold: Final = fold
        self.differentiable: Final = differentiable
        self.refusal: Final = refusal
        self.recognized: Final = recognized
        self.samples: Final = samples
        self.special: Final = special
        self.domain: Final = domain
        self.ulps: Final = ulps
        self.conventions: Final = conventions
        self.source: Final = source
        #: The result's type by ``(params, operand types)``.
        self.inferred: Final = Memo(self._infer)
        #: The kernel and the result's type by ``(params, *operand types)``.
        self.prepared: Final = Memo(self._prepare)

    def __repr__(self) -> str:
        return f"Op({self.name})"

    @property
    def variadic(self) -> bool:
        return self.operands[:1] != () and self.operands[0].startswith("*")

    def result_type(self, types: tuple[TensorType, ...], params: Params) -> TensorType:
        """The result's type.

        Raises:
            ValueError, TypeError: with the op's name, what came, what was wanted and the user's line.
        """
        return self.inferred[params, types]

    def _infer(self, key: tuple[Params, tuple[TensorType, ...]]) -> TensorType:
        params, types = key
        try:
            return self.infer(types, params)
        except (ValueError, TypeError, IndexError) as e:
            raise type(e)(f"{self.name}: {e}{errors.at_user_line()}") from None

    def _prepare(self, key: tuple[Any, ...]) -> tuple[Kernel, TensorType]:
        params, *types = key
        result = self.inferred[params, tuple(types)]
        kernel = self.kernel(params, types)
        if self.widens(types):
            kernel = _widened(kernel, result.dtype.numpy)
        return kernel, result

    def kernel_for(self, types: tuple[TensorType, ...], params: Params) -> Kernel:
        """The NumPy kernel for these types, widened to float64 where float32 alone would round more than once."""
        return self.prepared[(params, *types)][0]

    def into_for(self, types: tuple[TensorType, ...], params: Params) -> Into | None:
        """The kernel in a form that writes into an array; None where it has none."""
        if self.into is not None:
            return self.into(params, types)
        return into_array(self.kernel(params, types), types, self.result_type(types, params), self.widens(types))

    def widens(self, types: Sequence[TensorType]) -> bool:
        """Whether the kernel runs on float64 copies of float32 operands."""
        return not self.exact_f32 and any(t.dtype is dtypes.float32 for t in types)


_F32: Final = np.dtype(np.float32)
_F64: Final = np.dtype(np.float64)


def _widened(kernel: Kernel, result: np.dtype[Any]) -> Kernel:
    """``kernel`` on float64 copies of float32 operands, its result rounded once."""
    if isinstance(kernel, np.ufunc) and result == _F32:

        def ufunc(*operands: Array) -> Array:
            return kernel(*operands, dtype=_F64).astype(result)

        return ufunc

    def run(*operands: Array) -> Array:
        return kernel(*[x.astype(_F64) if x.dtype == _F32 else x for x in operands]).astype(result)

    return run


REGISTRY: Final[dict[str, Op]] = {}


def define(op: Op) -> Op:
    """Enter a record into the registry."""
    if op.name in REGISTRY:
        raise ValueError(f"op {op.name} is defined twice")
    REGISTRY[op.name] = op
    return op


def lookup(name: str) -> Op:
    """The record of this name.

    Raises:
        KeyError: naming the closest known op.
    """
    op = REGISTRY.get(name)
    if op is None:
        import difflib

        near = difflib.get_close_matches(name, REGISTRY, 1)
        raise KeyError(f"unknown op {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    return op
