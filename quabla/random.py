"""Random numbers from explicit keys: the same key gives the same numbers, on every machine and every engine.

The generator is counter-based: see ``quabla.ops.random_words``. A key that is known while tracing gives its samples at
once, as constants of the program. A key that is an argument of a compiled or mapped function is traced, and its samples
are computed where the program runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, NoReturn, Self

import numpy as np

from quabla import dtypes, errors, tree
from quabla.dtypes import dtype, float64, int64
from quabla.functions.creation import checked_shape
from quabla.functions.sorting import argsort
from quabla.ops import dispatch
from quabla.ops.arguments import static_int
from quabla.ops.dispatch import Value, apply, cast, is_value
from quabla.ops.eager import wrap
from quabla.ops.elementwise import MAXIMUM, MINIMUM
from quabla.ops.random_words import FOLD_IN, FRACTION, GAUSSIAN, RANDOM_WORDS, fold, fractions, gaussians, words
from quabla.ops.types import Shape, tensor_type

__all__ = [
    "Key",
    "bernoulli",
    "fold_in",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "key",
    "keys",
    "normal",
    "permutation",
    "randint",
    "split",
    "uniform",
]

NumpyArray = np.ndarray[Any, Any]

_MASK: Final = 2**64 - 1


# ---- keys ---------------------------------------------------------------------------------------


class Key:
    """The state of the generator: an immutable number of 64 bits, or an array of such numbers.

    Use a key for one sample; ``split``, ``keys`` and ``fold_in`` make more keys of it. A key is a pytree with one leaf, an
    int64 array, so that it can be an argument of a transformed function, a carry of a loop, and mapped over.

    Attributes:
        value: the number of a single key that is known.
        shape: the shape of an array of keys, ``[]`` for a single one.

    Example:
        >>> qb.random.Key(7)
        Key(0x0000000000000007)
    """

    __slots__ = ("_bits",)

    #: An int, or an int64 array: traced, or of several keys.
    _bits: Any

    def __new__(cls, value: int) -> Self:
        return cls._of(static_int("Key: the value", value) & _MASK)

    @classmethod
    def _of(cls, bits: Any) -> Self:
        """The key with these bits; an array of one known number counts as the number."""
        if is_value(bits) and not bits.traced and bits.type.shape == ():
            bits = bits.data.item() & _MASK
        made = object.__new__(cls)
        object.__setattr__(made, "_bits", bits)
        return made

    @property
    def value(self) -> int:
        """The number of a single key that is known.

        Raises:
            TracerError: for a traced key.
            TypeError: for an array of keys.
        """
        if self._bits.__class__ is int:
            return self._bits
        if is_value(self._bits) and self._bits.traced:
            raise errors.TracerError(f"Key.value: the key is traced and has no value yet{errors.at_user_line()}")
        raise TypeError(f"Key.value: an array of keys of shape {self.shape} has no single value{errors.at_user_line()}")

    @property
    def shape(self) -> list[int]:
        """The shape of an array of keys, ``[]`` for a single one."""
        return list(self._bits.type.shape) if is_value(self._bits) else []

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"a single Key has no length{errors.at_user_line()}")
        return self.shape[0]

    def __getitem__(self, index: Any) -> Key:
        if not self.shape:
            raise TypeError(f"a single Key has no elements{errors.at_user_line()}")
        return Key._of(self._bits[index])

    def __iter__(self) -> Iterator[Key]:
        return iter([self[i] for i in range(len(self))])

    def __bool__(self) -> bool:
        return True

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Key is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Key is immutable: cannot delete {name!r}")

    def __reduce__(self) -> tuple[type[Key], tuple[int]]:
        return Key, (self.value,)

    def __copy__(self) -> Key:
        return self

    def __deepcopy__(self, memo: Any) -> Key:
        return self

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Key)
            and self._bits.__class__ is int
            and other._bits.__class__ is int
            and self._bits == other._bits
        )

    def __hash__(self) -> int:
        return hash((Key, self._bits))

    def __repr__(self) -> str:
        return f"Key(0x{self._bits:016x})" if self._bits.__class__ is int else f"Key({self._bits!r})"


def _leaf(key: Key) -> tuple[tuple[Any], None]:
    return (_array(key._bits),), None


def _array(bits: Any) -> Value:
    """A key's bits as an int64 array."""
    if bits.__class__ is not int:
        return bits
    return wrap(np.array(bits, np.uint64).view(np.int64), tensor_type((), int64))


tree.register(Key, _leaf, lambda _, leaves: Key._of(leaves[0]))


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
    made = _split("split", key, num)
    return tuple([Key._of(made[..., i]) for i in range(made.type.shape[-1])])


def keys(key: Key, num: int) -> Key:
    """``num`` new keys as one array of keys, to map over: those of ``split``.

    Raises:
        TypeError: for a key that is not a Key, or a number that is not an int.
        ValueError: where ``num`` is less than 1.

    Example:
        >>> draws = qb.vmap(lambda k: qb.random.normal(k, (3,)))(qb.random.keys(qb.random.key(0), 4))
        >>> draws.shape
        [4, 3]
    """
    return Key._of(_split("keys", key, num))


def _split(name: str, key: Key, num: int) -> Value:
    bits = _bits(name, key)
    count = static_int(f"{name}: num", num)
    if count < 1:
        raise ValueError(f"{name}: needs at least one key to make, got num={count}{errors.at_user_line()}")
    return _words(bits, (count,))


def fold_in(key: Key, data: int | Value) -> Key:
    """A new key from a key and a number, such as the index of a step.

    Args:
        key: the key.
        data: an int of any sign, which counts modulo 2**64; different numbers give different keys. In a trace it may be
            traced: an int, or a loop's counter, of which the part after the point does not count.

    Raises:
        TypeError: for a key that is not a Key, or data that is not a number.

    Example:
        >>> base = qb.random.key(0)
        >>> qb.random.fold_in(base, 1) == qb.random.fold_in(base, 2)
        False
    """
    bits = _bits("fold_in", key)
    counts: Any = data
    number = (
        cast(counts, int64) if is_value(counts) and not counts.type.dtype.is_bool else static_int("fold_in: data", data)
    )
    if is_value(bits) or is_value(number):
        return Key._of(apply(FOLD_IN, (_array(bits), number if is_value(number) else _array(number & _MASK))))
    return Key(int(fold(np.array(bits, np.uint64), np.array(number & _MASK, np.uint64))))


def _bits(name: str, key: object) -> Any:
    if not isinstance(key, Key):
        raise TypeError(
            f"{name}: needs a key made by quabla.random.key, got {key!r} of type {type(key).__name__}"
            f"{errors.at_user_line()}"
        )
    return key._bits


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
        shape: the shape of the result; an array of keys gives such an array for each.
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
    bits = _bits("uniform", key)
    extents = checked_shape("uniform", shape)
    _check_float("uniform", dtype)
    low, high = _number("uniform", minval), _number("uniform", maxval)
    if not low < high or not math.isfinite(high - low):
        raise ValueError(
            f"uniform: needs finite bounds with minval < maxval, got minval={low} and maxval={high}"
            f"{errors.at_user_line()}"
        )
    first, last = _range(low, high, dtype)
    samples = _fractions(bits, extents) * (high - low) + low
    if is_value(samples):
        ends = (wrap(np.asarray(x), tensor_type((), dtype)) for x in (first, last))
        first, last = ends
        return apply(MINIMUM, (apply(MAXIMUM, (cast(samples, dtype), first)), last))
    return _result(np.clip(samples.astype(dtype.numpy), first, last), dtype)


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
    bits = _bits("normal", key)
    extents = checked_shape("normal", shape)
    _check_float("normal", dtype)
    return _result(_normals(bits, extents), dtype)


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
    bits = _bits("bernoulli", key)
    extents = checked_shape("bernoulli", shape)
    chance = _number("bernoulli", p)
    if not 0.0 <= chance <= 1.0:
        raise ValueError(f"bernoulli: a probability is between 0 and 1, got p={chance}{errors.at_user_line()}")
    return _result(_fractions(bits, extents) < chance, dtypes.bool_)


def randint(key: Key, shape: int | Sequence[int], minval: int, maxval: int, dtype: dtype = int64) -> Value:
    """Integers from ``minval`` to below ``maxval``, all as likely to within ``(maxval - minval) * 2**-53``.

    Args:
        key: the key.
        shape: the shape of the result; an array of keys gives such an array for each.
        minval: the least value, a static int.
        maxval: the bound above, a static int.
        dtype: int64 or int32.

    Raises:
        TypeError: for a key that is not a Key, bounds that are not ints, or a dtype that is not an int dtype.
        ValueError: where the bounds are not in order, or more than 2**53 apart.
        OverflowError: where a bound does not fit the dtype.

    Example:
        >>> qb.random.randint(qb.random.key(0), 5, 0, 10)
        Tensor([8, 4, 0, 9, 1], dtype=int64)
    """
    bits = _bits("randint", key)
    extents = checked_shape("randint", shape)
    if not dtypes.check(dtype, "randint: dtype").is_int:
        raise TypeError(f"randint: samples are int64 or int32, got dtype {dtype!r}{errors.at_user_line()}")
    low, high = static_int("randint: minval", minval), static_int("randint: maxval", maxval)
    if not low < high <= low + 2**53:
        raise ValueError(
            f"randint: needs minval < maxval, at most 2**53 apart, got minval={low} and maxval={high}"
            f"{errors.at_user_line()}"
        )
    limits = np.iinfo(dtype.numpy)
    if low < limits.min or high - 1 > limits.max:
        raise OverflowError(f"randint: {low} to {high - 1} do not fit {dtype!r}{errors.at_user_line()}")
    # A fraction is below 1 by 2**-53 or more, so that its product with the distance stays below that when it is rounded.
    scaled = _fractions(bits, extents) * float(high - low)
    if is_value(scaled):
        return cast(scaled, dtype) + low
    storage = scaled.astype(dtype.numpy) + dtype.numpy.type(low)
    return wrap(storage, tensor_type(storage.shape, dtype))


def permutation(key: Key, x: int | Value) -> Value:
    """The numbers from 0 to below ``x`` in random order, or the rows of the array ``x`` in random order.

    Args:
        key: a single key.
        x: a static int, or an array, which is shuffled along its first axis.

    Raises:
        TypeError: for a key that is not a Key.
        ValueError: for an array of rank 0, a negative number, or an array of keys.

    Example:
        >>> qb.random.permutation(qb.random.key(0), 5)
        Tensor([0, 3, 2, 4, 1], dtype=int64)
    """
    bits = _bits("permutation", key)
    if key.shape:
        raise ValueError(f"permutation: needs a single key, got keys of shape {key.shape}{errors.at_user_line()}")
    rows = None if isinstance(x, (int, np.integer)) else dispatch.as_value(x)
    if rows is not None and not rows.type.shape:
        raise ValueError(f"permutation: an array of rank 0 has no rows{errors.at_user_line()}")
    count = static_int("permutation: x", x) if rows is None else rows.type.shape[0]
    # Words repeat with a probability of count**2 * 2**-65; then the first stays first.
    order = argsort(_words(bits, checked_shape("permutation", (count,))))
    return order if rows is None else rows[order]


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
    _bits("glorot_uniform", key)
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
    return _result(_normals(key(seed).value, extents) * scale + center, float64)


# ---- how they are made --------------------------------------------------------------------------


def _words(bits: Any, extents: Shape) -> Value:
    """The first words of a key's stream, an int64 array; at once where the key is known."""
    if is_value(bits) and bits.traced:
        return apply(RANDOM_WORDS, (bits,), (extents,))
    made = words(_array(bits).data, extents)
    return wrap(made, tensor_type(made.shape, int64))


def _fractions(bits: Any, extents: Shape) -> Any:
    """Multiples of 2**-53 in [0, 1): traced, or a NumPy array."""
    w = _words(bits, extents)
    return apply(FRACTION, (w,)) if w.traced else fractions(w.data)


def _normals(bits: Any, extents: Shape) -> Any:
    """Samples of the standard normal distribution: traced, or a NumPy array."""
    w = _words(bits, extents)
    return apply(GAUSSIAN, (w,)) if w.traced else gaussians(w.data)


def _result(samples: Any, dtype: dtype) -> Value:
    if is_value(samples):
        return cast(samples, dtype)
    storage = np.asarray(samples, dtype.numpy)
    return wrap(storage, tensor_type(storage.shape, dtype))


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
    bits = _bits(name, key)
    extents = checked_shape(name, shape)
    _check_float(name, dtype)
    return _result(_normals(bits, extents) * scale, dtype)


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


@errors.hiding_library_frames
def __getattr__(name: str) -> NoReturn:
    from quabla.names import missing

    raise missing("quabla.random", name, __all__)


globals().update(errors.hide_library_frames_in({name: globals()[name] for name in __all__}))
