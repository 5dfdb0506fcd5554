"""Random numbers from explicit keys: the same key gives the same numbers, on every machine.

The generator is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014) read as
a counter-based one: the word with index ``i`` of key ``s`` is a hash of ``s + (i + 1) * GAMMA``, so that every element is
computed on its own. Samples use only operations that IEEE 754 rounds exactly, and no mathematical library, whose last
bits differ between machines.

Sampling happens at once, also inside a trace, where the samples become constants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NoReturn, Self

import numpy as np

from quabla import dtypes, errors
from quabla.dtypes import dtype, float64
from quabla.functions.creation import checked_shape
from quabla.ops import dispatch
from quabla.ops.arguments import static_int
from quabla.ops.dispatch import Value
from quabla.ops.types import Shape, tensor_type

__all__ = [
    "Key",
    "bernoulli",
    "fold_in",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "key",
    "normal",
    "split",
    "uniform",
]

NumpyArray = np.ndarray[Any, Any]

_MASK: Final = 2**64 - 1
_GAMMA: Final = 0x9E3779B97F4A7C15
_MIXERS: Final = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
#: Keeps the keys that fold_in makes apart from those that split makes; the digits of pi, as good as any.
_FOLDED: Final = 0x243F6A8885A308D3


# ---- keys ---------------------------------------------------------------------------------------


class Key:
    """The state of the generator: an immutable number of 64 bits.

    Use a key for one sample; ``split`` and ``fold_in`` make more keys of it.

    Attributes:
        value: the number.

    Example:
        >>> qb.random.Key(7)
        Key(0x0000000000000007)
    """

    __slots__ = ("value",)

    value: int

    def __new__(cls, value: int) -> Self:
        made = object.__new__(cls)
        object.__setattr__(made, "value", static_int("Key: the value", value) & _MASK)
        return made

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Key is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Key is immutable: cannot delete {name!r}")

    def __reduce__(self) -> tuple[type[Key], tuple[int]]:
        return Key, (self.value,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.value == other.value

    def __hash__(self) -> int:
        return hash((Key, self.value))

    def __repr__(self) -> str:
        return f"Key(0x{self.value:016x})"


def key(seed: int) -> Key:
    """The key of a seed, which counts modulo 2**64.

    Raises:
        TypeError: for a seed that is not an int.

    Example:
        >>> qb.random.key(0)
        Key(0x0000000000000000)
    """
    return Key(static_int("key: the seed", seed))


def split(key: Key, num: int = 2) -> tuple[Key, ...]:
    """``num`` new keys, which are independent of each other for all that statistics can tell.

    Raises:
        TypeError: for a key that is not a Key, or a number that is not an int.
        ValueError: where ``num`` is less than 1.

    Example:
        >>> qb.random.split(qb.random.key(0))
        (Key(0xe220a8397b1dcdaf), Key(0x6e789e6aa1b965f4))
    """
    seed = _value("split", key)
    count = static_int("split: num", num)
    if count < 1:
        raise ValueError(f"split: needs at least one key to make, got num={count}{errors.at_user_line()}")
    return tuple([Key(word) for word in _words(seed, count).tolist()])


def fold_in(key: Key, data: int) -> Key:
    """A new key from a key and a number, such as the index of a step.

    Args:
        key: the key.
        data: an int of any sign, which counts modulo 2**64; different numbers give different keys.

    Raises:
        TypeError: for a key that is not a Key, or data that is not an int.

    Example:
        >>> base = qb.random.key(0)
        >>> qb.random.fold_in(base, 1) == qb.random.fold_in(base, 2)
        False
    """
    seed = _mixed(_value("fold_in", key) ^ _FOLDED)
    return Key(_mixed(seed + (static_int("fold_in: data", data) + 1) * _GAMMA))


def _value(name: str, key: object) -> int:
    if not isinstance(key, Key):
        raise TypeError(
            f"{name}: needs a key made by quabla.random.key, got {key!r} of type {type(key).__name__}"
            f"{errors.at_user_line()}"
        )
    return key.value


def _mixed(word: int) -> int:
    """The hash of one 64-bit word."""
    word &= _MASK
    word = ((word ^ (word >> 30)) * _MIXERS[0]) & _MASK
    word = ((word ^ (word >> 27)) * _MIXERS[1]) & _MASK
    return word ^ (word >> 31)


def _words(seed: int, count: int) -> NumpyArray:
    """The first words of a key's stream."""
    z = np.arange(1, count + 1, dtype=np.uint64)
    z *= np.uint64(_GAMMA)
    z += np.uint64(seed)
    z ^= z >> np.uint64(30)
    z *= np.uint64(_MIXERS[0])
    z ^= z >> np.uint64(27)
    z *= np.uint64(_MIXERS[1])
    z ^= z >> np.uint64(31)
    return z


# ---- samples ------------------------------------------------------------------------------------


def uniform(
    key: Key,
    shape: int | Sequence[int] = (),
    dtype: dtype = float64,
    minval: float = 0.0,
    maxval: float = 1.0,
) -> Value:
    """Uniform samples from ``minval`` to below ``maxval``, with steps of their distance times 2**-53.

    Args:
        key: the key.
        shape: the shape of the result.
        dtype: float64, or float32 for the same samples rounded.
        minval: the least value.
        maxval: the bound above.

    Raises:
        TypeError: for a key that is not a Key, or a dtype that is not a float dtype.
        ValueError: where the bounds are not finite, not in order, or have no number of the dtype between them.

    Example:
        >>> qb.random.uniform(qb.random.key(0), 2)
        Tensor([0.88331081, 0.431528  ], dtype=float64)
    """
    seed = _value("uniform", key)
    extents = checked_shape("uniform", shape)
    _check_float("uniform", dtype)
    low, high = _number("uniform", minval), _number("uniform", maxval)
    if not low < high or not math.isfinite(high - low):
        raise ValueError(
            f"uniform: needs finite bounds with minval < maxval, got minval={low} and maxval={high}"
            f"{errors.at_user_line()}"
        )
    first, last = _range(low, high, dtype)
    samples = _fractions(seed, math.prod(extents)) * (high - low)
    samples += low
    return _result(np.clip(samples.astype(dtype.numpy), first, last), extents, dtype)


def normal(key: Key, shape: int | Sequence[int] = (), dtype: dtype = float64) -> Value:
    """Samples of the standard normal distribution, by inversion (Wichura, algorithm AS 241, 1988).

    Each sample takes one word of the stream: a sign, and a tail's probability in odd multiples of 2**-54. The largest
    possible sample is 8.3.

    Args:
        key: the key.
        shape: the shape of the result.
        dtype: float64, or float32 for the same samples rounded.

    Raises:
        TypeError: for a key that is not a Key, or a dtype that is not a float dtype.

    Example:
        >>> qb.random.normal(qb.random.key(0), (2, 2)).shape
        [2, 2]
    """
    seed = _value("normal", key)
    extents = checked_shape("normal", shape)
    _check_float("normal", dtype)
    return _result(_normals(seed, math.prod(extents)), extents, dtype)


def bernoulli(key: Key, p: float = 0.5, shape: int | Sequence[int] = ()) -> Value:
    """Samples that are True with probability ``p``, as a bool array.

    Raises:
        TypeError: for a key that is not a Key.
        ValueError: where ``p`` is not between 0 and 1.

    Example:
        >>> qb.random.bernoulli(qb.random.key(0), 0.5, (2, 2))
        Tensor([[False,  True],
                [ True, False]], dtype=bool)
    """
    seed = _value("bernoulli", key)
    extents = checked_shape("bernoulli", shape)
    chance = _number("bernoulli", p)
    if not 0.0 <= chance <= 1.0:
        raise ValueError(f"bernoulli: a probability is between 0 and 1, got p={chance}{errors.at_user_line()}")
    return _result(_fractions(seed, math.prod(extents)) < chance, extents, dtypes.bool_)


def glorot_normal(key: Key, shape: Sequence[int], dtype: dtype = float64) -> Value:
    """Normal samples with variance 2 / (fan in + fan out), to start the weights of tanh and sigmoid layers.

    Of a shape ``[..., n, m]`` the fan in is ``n`` and the fan out ``m``, both times the product of the leading extents,
    as in the kernel of a convolution (Glorot and Bengio, 2010).

    Raises:
        TypeError: for a key that is not a Key, or a dtype that is not a float dtype.
        ValueError: for a shape of rank less than 2.

    Example:
        >>> qb.random.glorot_normal(qb.random.key(0), (20, 30)).shape
        [20, 30]
    """
    fan_in, fan_out = _fans("glorot_normal", shape)
    return _scaled_normal("glorot_normal", key, shape, dtype, math.sqrt(2.0 / (fan_in + fan_out)))


def glorot_uniform(key: Key, shape: Sequence[int], dtype: dtype = float64) -> Value:
    """Uniform samples between ±sqrt(6 / (fan in + fan out)), with fans as in ``glorot_normal``.

    Raises:
        TypeError: for a key that is not a Key, or a dtype that is not a float dtype.
        ValueError: for a shape of rank less than 2.

    Example:
        >>> w = qb.random.glorot_uniform(qb.random.key(0), (2, 4))
        >>> bool(qb.all(qb.abs(w) <= 1.0))
        True
    """
    _value("glorot_uniform", key)
    bound = math.sqrt(6.0 / sum(_fans("glorot_uniform", shape)))
    return uniform(key, shape, dtype, -bound, bound)


def he_normal(key: Key, shape: Sequence[int], dtype: dtype = float64) -> Value:
    """Normal samples with variance 2 / fan in, to start the weights of relu layers (He et al., 2015).

    The fan in is as in ``glorot_normal``.

    Raises:
        TypeError: for a key that is not a Key, or a dtype that is not a float dtype.
        ValueError: for a shape of rank less than 2.

    Example:
        >>> qb.random.he_normal(qb.random.key(0), (20, 30)).shape
        [20, 30]
    """
    fan_in, _ = _fans("he_normal", shape)
    return _scaled_normal("he_normal", key, shape, dtype, math.sqrt(2.0 / fan_in))


def normals(seed: int, shape: int | Sequence[int], mean: float, stddev: float) -> Value:
    """Normal samples of a mean and a standard deviation, from a key's number.

    Raises:
        ValueError: for a negative standard deviation.
    """
    name = "random_normal"
    extents = checked_shape(name, shape)
    center, scale = _number(name, mean), _number(name, stddev)
    if not scale >= 0.0:
        raise ValueError(f"{name}: a standard deviation is not negative, got {scale}{errors.at_user_line()}")
    samples = _normals(key(seed).value, math.prod(extents))
    samples *= scale
    samples += center
    return _result(samples, extents, float64)


# ---- how they are made --------------------------------------------------------------------------


def _result(samples: NumpyArray, extents: Shape, dtype: dtype) -> Value:
    storage = samples.astype(dtype.numpy, copy=False).reshape(extents)
    return dispatch.hooks.eager.wrap(storage, tensor_type(extents, dtype))


def _check_float(name: str, dtype: object) -> None:
    if not dtypes.check(dtype, f"{name}: dtype").is_float:
        raise TypeError(f"{name}: samples are float64 or float32, got dtype {dtype!r}{errors.at_user_line()}")


def _number(name: str, value: Any) -> float:
    if isinstance(value, str):
        raise TypeError(f"{name}: needs numbers, got {value!r}{errors.at_user_line()}")
    try:
        return float(value)
    except TypeError as e:
        if isinstance(e, errors.TracerError):
            raise
        raise TypeError(f"{name}: needs numbers, got {value!r}{errors.at_user_line()}") from None


def _fans(name: str, shape: Any) -> tuple[int, int]:
    """The numbers of inputs and outputs that a weight of this shape connects; 1 where there are none."""
    extents = checked_shape(name, shape)
    if len(extents) < 2:
        raise ValueError(f"{name}: needs a shape of rank 2 or more, got {list(extents)}{errors.at_user_line()}")
    field = math.prod(extents[:-2])
    return max(1, field * extents[-2]), max(1, field * extents[-1])


def _scaled_normal(name: str, key: Key, shape: Any, dtype: dtype, scale: float) -> Value:
    seed = _value(name, key)
    extents = checked_shape(name, shape)
    _check_float(name, dtype)
    return _result(_normals(seed, math.prod(extents)) * scale, extents, dtype)


def _range(low: float, high: float, dtype: dtype) -> tuple[Any, Any]:
    """The first and the last number of the dtype in the half-open interval."""
    with np.errstate(over="ignore"):
        first, last = dtype.numpy.type(low), dtype.numpy.type(high)
    if float(first) < low:
        first = np.nextafter(first, dtype.numpy.type(np.inf))
    if float(last) >= high:
        last = np.nextafter(last, dtype.numpy.type(-np.inf))
    if not float(first) <= float(last):
        raise ValueError(f"uniform: no {dtype.name} number is from {low!r} to below {high!r}{errors.at_user_line()}")
    return first, last


def _fractions(seed: int, count: int) -> NumpyArray:
    """Multiples of 2**-53 in [0, 1)."""
    return (_words(seed, count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


# Numerators and denominators of AS 241, constant terms first: for the middle, the tails, and the far tails.
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


def _normals(seed: int, count: int) -> NumpyArray:
    words = _words(seed, count)
    # The lowest bit is the sign and the highest 52 choose the tail. Both the probability and its distance from one half
    # are exact.
    tail = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-53
    middle = 0.5 - tail
    size = middle * _ratio(_MIDDLE, 0.180625 - middle * middle)
    outside = np.nonzero(middle > 0.425)[0]
    r = np.sqrt(-_log(tail[outside]))
    size[outside] = np.where(r <= 5.0, _ratio(_TAIL, r - 1.6), _ratio(_FAR_TAIL, r - 5.0))
    return np.where(words & np.uint64(1), -size, size)


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: NumpyArray) -> NumpyArray:
    numerator, denominator = (_polynomial(c, x) for c in coefficients)
    return numerator / denominator


def _polynomial(coefficients: tuple[float, ...], x: NumpyArray) -> NumpyArray:
    total = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        total *= x
        total += c
    return total


_LN2: Final = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
_LOG: Final = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
    1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01,
)  # fmt: skip


def _log(x: NumpyArray) -> NumpyArray:
    """The natural logarithm of positive normal numbers to within an ulp, by the method of fdlibm's e_log.c."""
    mantissa, exponent = np.frexp(x)
    small = mantissa < math.sqrt(0.5)
    f = np.where(small, 2.0 * mantissa, mantissa) - 1.0
    k = exponent - small.astype(np.float64)
    s = f / (2.0 + f)
    z = s * s
    half = 0.5 * f * f
    r = z * _polynomial(_LOG, z)
    return k * _LN2[0] - ((half - (s * (half + r) + k * _LN2[1])) - f)


globals().update(errors.hide_library_frames_in({name: globals()[name] for name in __all__}))
