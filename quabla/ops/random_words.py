"""Random words, and samples of them: a counter-based generator whose bits are the same wherever it runs.

The generator is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014) read as
a counter-based one: the word with index ``i`` of key ``s`` is a hash of ``s + (i + 1) * GAMMA``, so that every element is
computed on its own. Samples use only operations that IEEE 754 rounds exactly, and no mathematical library, whose last
bits differ between machines. Keys and words are 64 bits, held as int64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from quabla import dtypes
from quabla.ops.decompositions import Term, select
from quabla.ops.dispatch import Value, apply
from quabla.ops.records import check_one_dtype, listed
from quabla.ops.registry import Attribute, Kernel, Op, Sample, define
from quabla.ops.types import Const, Params, TensorType, broadcast_shapes, tensor_type

__all__ = ["FOLD_IN", "FRACTION", "GAUSSIAN", "RANDOM_WORDS", "fold", "fractions", "gaussians", "words"]

NumpyArray = np.ndarray[Any, Any]

GAMMA: Final = 0x9E3779B97F4A7C15
#: The hash: each shift to the right is an exclusive or with what it shifts, and a product follows but for the last.
ROUNDS: Final = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, None))
#: Keeps the keys that fold_in makes apart from those that split makes; the digits of pi, as good as any.
FOLDED: Final = 0x243F6A8885A308D3


# ---- with NumPy ---------------------------------------------------------------------------------


def _hashed(z: NumpyArray) -> NumpyArray:
    """The hash of an array of 64-bit words; a rank-0 one would be a NumPy scalar, which warns where it wraps."""
    for shift, factor in ROUNDS:
        z = z ^ (z >> np.uint64(shift))
        if factor is not None:
            z = z * np.uint64(factor)
    return z


def words(key: NumpyArray, shape: tuple[int, ...]) -> NumpyArray:
    """The first words of the streams of some keys, int64: for each key an array of this shape."""
    counters = np.arange(1, math.prod(shape) + 1, dtype=np.uint64) * np.uint64(GAMMA)
    lined = np.reshape(key, (-1, 1)).view(np.uint64)
    return _hashed(lined + counters).view(np.int64).reshape((*np.shape(key), *shape))


def fold(key: NumpyArray, data: NumpyArray) -> NumpyArray:
    """New keys of keys and numbers, int64."""
    shape = np.broadcast_shapes(np.shape(key), np.shape(data))
    keys, numbers = (np.atleast_1d(x).view(np.uint64) for x in (key, data))
    steps = (numbers + np.uint64(1)) * np.uint64(GAMMA)
    return _hashed(_hashed(keys ^ np.uint64(FOLDED)) + steps).view(np.int64).reshape(shape)


def fractions(w: NumpyArray) -> NumpyArray:
    """Multiples of 2**-53 in [0, 1): the highest 53 bits of words."""
    return (np.asarray(w).view(np.uint64) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def gaussians(w: NumpyArray) -> NumpyArray:
    """Normal samples of words; the lowest bit is the sign and the highest 52 choose the tail."""
    w = np.asarray(w).view(np.uint64)
    tail = ((w >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-53
    middle = 0.5 - tail
    size = np.asarray(middle * _ratio(_MIDDLE, 0.180625 - middle * middle))
    outside = middle > 0.425
    r = np.sqrt(-log_of_fraction(tail[outside]))
    size[outside] = np.where(r <= 5.0, _ratio(_TAIL, r - 1.6), _ratio(_FAR_TAIL, r - 5.0))
    return np.where(w & np.uint64(1), -size, size)


# ---- the normal distribution --------------------------------------------------------------------
#
# By inversion: Wichura, algorithm AS 241, Applied Statistics 37 (1988). Both the probability of the tail, an odd multiple
# of 2**-54, and its distance from one half are exact. Numerators and denominators, constant terms first, for the middle,
# the tails and the far tails.

_MIDDLE: Final = (
    (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3),
)  # fmt: skip
_TAIL: Final = (
    (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
     1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)  # fmt: skip
_FAR_TAIL: Final = (
    (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
)  # fmt: skip

_LN2: Final = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
_LOG: Final = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
    1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01,
)  # fmt: skip


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: Any) -> Any:
    numerator, denominator = (_polynomial(c, x) for c in coefficients)
    return numerator / denominator


def _polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    """A polynomial of an array or a term, by Horner's rule."""
    total: Any = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total


def log_of_fraction(x: NumpyArray) -> NumpyArray:
    """The natural logarithm of positive normal numbers to within an ulp."""
    mantissa, exponent = np.frexp(x)
    small = mantissa < math.sqrt(0.5)
    return _log(np.where(small, 2.0 * mantissa, mantissa), exponent - small.astype(np.float64))


def _log(m: Any, k: Any) -> Any:
    """``log(m * 2**k)`` for ``m`` about 1, by the method of fdlibm's e_log.c; arrays or terms."""
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    half = 0.5 * f * f
    r = z * _polynomial(_LOG, z)
    return k * _LN2[0] - ((half - (s * (half + r) + k * _LN2[1])) - f)


# ---- with StableHLO -----------------------------------------------------------------------------


class _Words:
    """64-bit words in StableHLO, with the arithmetic of the hash."""

    def __init__(self, lo: Any, type: TensorType, value: Any) -> None:
        self.lo = lo
        self.type = type
        self.value = value

    def of(self, number: int) -> Any:
        """A constant of these words' type."""
        one = np.array(number % 2**64, np.uint64).view(np.int64)
        return self.lo.constant(Const.repeat_element(self.type, one))

    def op(self, name: str, other: int | Any) -> _Words:
        """The result of an op with a constant or another value of the same type."""
        y = self.of(other) if isinstance(other, int) else other
        return _Words(self.lo, self.type, self.lo.op("stablehlo." + name, self.type, [self.value, y]))

    def hashed(self) -> _Words:
        w = self
        for shift, factor in ROUNDS:
            w = w.op("xor", w.op("shift_right_logical", shift).value)
            if factor is not None:
                w = w.op("multiply", factor)
        return w

    def floats(self) -> Term:
        """The words as float64 numbers; exact below 2**53."""
        t = self.type.with_dtype(dtypes.float64)
        return Term(self.lo, t, self.lo.op("stablehlo.convert", t, [self.value]))


def _spread(lo: Any, xs: Sequence[Any], node: Any, dtype: dtypes.dtype = dtypes.int64) -> list[_Words]:
    t = node.type.with_dtype(dtype)
    return [_Words(lo, t, lo.broadcast(x, k.type, t.shape)) for x, k in zip(xs, node.operands, strict=True)]


def _lower_words(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    keys, t = node.operands[0].type, node.type
    count = math.prod(node.params[0])
    flat = tensor_type((*keys.shape, count), dtypes.int64)
    lined = lo.reshape(xs[0], tensor_type((*keys.shape, 1), dtypes.int64))
    key = lo.broadcast(lined, tensor_type((*keys.shape, 1), dtypes.int64), flat.shape)
    counters = _Words(lo, flat, lo.iota(flat, flat.ndim - 1)).op("add", 1).op("multiply", GAMMA)
    return lo.reshape(counters.op("add", key).hashed().value, t)


def _lower_fold(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    key, data = _spread(lo, xs, node)
    steps = data.op("add", 1).op("multiply", GAMMA)
    return key.op("xor", FOLDED).hashed().op("add", steps.value).hashed().value


def _lower_fraction(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    (w,) = _spread(lo, xs, node)
    return (w.op("shift_right_logical", 11).floats() * 2.0**-53).value


def _lower_gaussian(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    t = node.type.with_dtype(dtypes.int64)
    (w,) = _spread(lo, xs, node)
    return lo.composite("gaussian", node.type, [w.value], [t], lambda lo, args: _gaussian(_Words(lo, t, args[0])).value)


def _gaussian(w: _Words) -> Term:
    tail = (w.op("shift_right_logical", 12).floats() + 0.5) * 2.0**-53
    middle = 0.5 - tail
    r = (-_log_term(tail)).sqrt()
    far = select(r > 5.0, _ratio(_FAR_TAIL, r - 5.0), _ratio(_TAIL, r - 1.6))
    size = select(middle > 0.425, far, middle * _ratio(_MIDDLE, 0.180625 - middle * middle))
    negative = w.lo.compare("NE", w.op("and", 1).value, w.of(0), w.type)
    return select(negative, -size, size)


def _log_term(x: Term) -> Term:
    """``log_of_fraction``; the mantissa and exponent are taken from the bits."""
    t = x.type.with_dtype(dtypes.int64)
    bits = _Words(x.lo, t, x.lo.op("stablehlo.bitcast_convert", t, [x.value]))
    exponent = bits.op("shift_right_logical", 52).op("subtract", 1022).floats()
    halves = bits.op("and", 2**52 - 1).op("or", 1022 << 52)
    mantissa = Term(x.lo, x.type, x.lo.op("stablehlo.bitcast_convert", x.type, [halves.value]))
    small = mantissa < math.sqrt(0.5)
    return _log(select(small, 2.0 * mantissa, mantissa), select(small, exponent - 1.0, exponent))


# ---- records ------------------------------------------------------------------------------------


def _check_words(types: Sequence[TensorType]) -> None:
    if any(t.dtype is not dtypes.int64 for t in types):
        raise ValueError(f"needs int64 operands, got {listed(types)}")


def _infer_words(types: Sequence[TensorType], params: Params) -> TensorType:
    _check_words(types)
    if any(n < 0 for n in params[0]):
        raise ValueError(f"the shape must not have negative extents, got {list(params[0])}")
    return types[0].with_shape((*types[0].shape, *params[0]))


def _infer_fold(types: Sequence[TensorType], params: Params) -> TensorType:
    _check_words(types)
    check_one_dtype(types)
    return types[0].with_shape(broadcast_shapes(*[t.shape for t in types]))


def _infer_sample(types: Sequence[TensorType], params: Params) -> TensorType:
    _check_words(types)
    return types[0].with_dtype(dtypes.float64)


def _random_words_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    (shape,) = params
    return lambda key: words(key, shape)


def _batch_words(xs: Sequence[Value], mapped: Sequence[bool], params: Params) -> Value:
    return apply(RANDOM_WORDS, (xs[0],), params)


_ANY: Final[dict[str, Any]] = {"lo": -(2.0**62), "hi": 2.0**62}

RANDOM_WORDS: Final = define(
    Op(
        "random_words",
        "The first 64-bit words of a key's stream, as an array of this shape; for each key where there are several.",
        ("key",),
        attributes=(Attribute("shape", "ints"),),
        infer=_infer_words,
        kernel=_random_words_kernel,
        exact_f32=True,
        ints=True,
        may_alias=False,
        differentiable=False,
        batch=_batch_words,
        stablehlo=_lower_words,
        samples=(
            Sample(((),), ((2, 3),), dtypes=(dtypes.int64,), **_ANY),
            Sample(((2,),), ((5,),), dtypes=(dtypes.int64,), **_ANY),
        ),
        source="Steele, Lea and Flood, OOPSLA 2014",
    )
)
FOLD_IN: Final = define(
    Op(
        "fold_in",
        "A new key from a key and a number.",
        ("key", "data"),
        infer=_infer_fold,
        kernel=lambda params, types: fold,
        exact_f32=True,
        ints=True,
        elementwise=True,
        differentiable=False,
        stablehlo=_lower_fold,
        samples=(Sample(((3,), ()), (), dtypes=(dtypes.int64, dtypes.int64), **_ANY),),
    )
)


def _sample_op(name: str, summary: str, kernel: Callable[..., Any], lower: Callable[..., Any], source: str = "") -> Op:
    return define(
        Op(
            name,
            summary,
            ("words",),
            infer=_infer_sample,
            kernel=lambda params, types: kernel,
            exact_f32=True,
            ints=True,
            elementwise=True,
            differentiable=False,
            stablehlo=lower,
            samples=tuple(Sample((s,), (), dtypes=(dtypes.int64,), **_ANY) for s in ((2, 3), ())),
            source=source,
        )
    )


FRACTION: Final = _sample_op(
    "fraction", "The highest 53 bits of words as a number in [0, 1).", fractions, _lower_fraction
)
GAUSSIAN: Final = _sample_op(
    "gaussian",
    "Samples of the standard normal distribution: the quantiles that words choose.",
    gaussians,
    _lower_gaussian,
    "Wichura, algorithm AS 241, Applied Statistics 37 (1988)",
)
