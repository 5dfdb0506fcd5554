"""Random numbers: the published generator, the distributions, and keys as values."""

import copy
import hashlib
import math
import pickle

import numpy as np
import pytest
from scipy import special, stats

import quabla as qb
from quabla import random
from quabla.ops import random_words

COUNT = 100_000
#: Seeds are fixed, so that a test of a distribution passes always or never.
UNLIKELY = 1e-3


def words(seed, count):
    return [k.value for k in random.split(random.key(seed), count)]


# ---- keys ---------------------------------------------------------------------------------------


def test_split_is_the_published_splitmix64():
    assert words(0, 3) == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    # The example of the algorithm on Rosetta Code.
    assert words(1234567, 5) == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_a_key_is_a_number_of_64_bits():
    assert random.key(2**64 + 3) == random.key(3) == random.Key(3)
    assert random.key(-1).value == 2**64 - 1
    assert repr(random.key(0)) == "Key(0x0000000000000000)"
    assert len({random.key(1), random.key(1), random.key(2)}) == 2
    assert random.key(3) != 3
    assert random.key(np.int64(5)).value == 5


def test_a_key_is_immutable_and_can_be_copied_and_pickled():
    key = random.key(11)
    with pytest.raises(AttributeError):
        key.value = 3
    with pytest.raises(AttributeError):
        del key.value
    assert copy.deepcopy(key) == key == pickle.loads(pickle.dumps(key))


@pytest.mark.parametrize("seed", [1.5, "1", None, (1,)])
def test_a_seed_is_an_int(seed):
    with pytest.raises(TypeError):
        random.key(seed)
    with pytest.raises(TypeError):
        random.Key(seed)
    with pytest.raises(TypeError):
        random.fold_in(random.key(0), seed)


@pytest.mark.parametrize("num", [0, -1])
def test_split_makes_at_least_one_key(num):
    with pytest.raises(ValueError, match="at least one"):
        random.split(random.key(0), num)


def test_fold_in_gives_other_keys_than_split_and_one_for_each_number():
    key = random.key(7)
    folded = [random.fold_in(key, data) for data in range(-500, 500)]
    assert len({*folded, *random.split(key, 1000), key}) == 2001
    assert random.fold_in(key, 4) == random.fold_in(key, 4)
    assert random.fold_in(random.fold_in(key, 1), 2) != random.fold_in(random.fold_in(key, 2), 1)


@pytest.mark.parametrize("flip", range(0, 64, 7))
def test_fold_in_spreads_each_bit_of_key_and_data(flip):
    # Half of the bits change on average; the sum of 64 trials of 64 bits has standard deviation 32.
    changed = [
        [
            (random.fold_in(random.key(s ^ 1 << flip), 3).value ^ random.fold_in(random.key(s), 3).value)
            for s in range(64)
        ],
        [
            (random.fold_in(random.key(s), 3 ^ 1 << flip).value ^ random.fold_in(random.key(s), 3).value)
            for s in range(64)
        ],
    ]
    for each in changed:
        assert abs(sum(x.bit_count() for x in each) - 2048) < 4 * 32


# ---- distributions ------------------------------------------------------------------------------


def test_uniform_samples_are_the_top_53_bits():
    expected = [w >> 11 for w in words(3, 100)]
    got = random.uniform(random.key(3), 100).numpy()
    assert [int(x * 2**53) for x in got] == expected
    np.testing.assert_allclose(random.uniform(random.key(0), 2).numpy(), [0.88331081, 0.431528], atol=5e-9)


@pytest.mark.parametrize("seed", [0, 1, 2**63])
def test_uniform_samples_are_uniform(seed):
    x = random.uniform(random.key(seed), COUNT, minval=-2.0, maxval=3.0).numpy()
    assert stats.kstest(x, stats.uniform(-2.0, 5.0).cdf).pvalue > UNLIKELY
    assert x.min() >= -2.0
    assert x.max() < 3.0


@pytest.mark.parametrize("seed", [0, 1, 2**63])
def test_normal_samples_are_normal(seed):
    x = random.normal(random.key(seed), COUNT).numpy()
    assert stats.kstest(x, stats.norm.cdf).pvalue > UNLIKELY
    assert stats.skewtest(x).pvalue > UNLIKELY
    assert stats.kurtosistest(x).pvalue > UNLIKELY
    lagged = [stats.pearsonr(x[:-lag], x[lag:]).pvalue for lag in (1, 2, 3, 17)]
    assert min(lagged) > UNLIKELY


def test_normal_samples_are_the_quantiles_of_their_words():
    got = random.normal(random.key(5), COUNT).numpy()
    raw = np.array(words(5, COUNT), dtype=np.uint64)
    tail = ((raw >> np.uint64(12)).astype(np.float64) + 0.5) / 2**53
    expected = np.where(raw & np.uint64(1), 1.0, -1.0) * special.ndtri(tail)
    np.testing.assert_allclose(got, expected, rtol=4e-15)


def test_quantiles_hold_in_the_far_tails():
    mpmath = pytest.importorskip("mpmath")
    for exponent in (2, 6, 11, 12, 20, 30, 53, 54):
        tail = 2.0**-exponent
        r = np.sqrt(-random_words.log_of_fraction(np.array([tail])))
        got = (
            random_words._ratio(random_words._TAIL, r - 1.6)
            if r[0] <= 5
            else random_words._ratio(random_words._FAR_TAIL, r - 5.0)
        )[0]
        if exponent >= 4:
            with mpmath.workdps(40):
                truth = mpmath.findroot(lambda x, p=tail: mpmath.erfc(x / mpmath.sqrt(2)) / 2 - p, got)
            assert abs(got / float(truth) - 1) < 2e-15


def test_logarithms_are_within_an_ulp():
    x = np.concatenate([np.exp2(-np.linspace(0.1, 54, 5000)), [math.sqrt(0.5), 0.5, 0.25]])
    np.testing.assert_array_max_ulp(random_words.log_of_fraction(x), np.log(x), 1)


@pytest.mark.parametrize(("sample", "digest"), [
    (lambda key: random.uniform(key, 10_000, minval=-1.0, maxval=3.0), "181878b0835bdc85"),
    (lambda key: random.normal(key, 10_000), "79888a01d55f89d7"),
    (lambda key: random.normal(key, 10_000, qb.float32), "5a7116b469617e22"),
    (lambda key: random.glorot_uniform(key, (100, 50)), "f4caab887c9a8bd9"),
])  # fmt: skip
def test_samples_have_the_same_bits_everywhere(sample, digest):
    # Not numbers with a meaning: a fingerprint, to which every machine and release must agree.
    stored = sample(random.key(2026)).numpy()
    little = stored.astype(stored.dtype.newbyteorder("<")).tobytes()
    assert hashlib.sha256(little).hexdigest()[:16] == digest


@pytest.mark.parametrize("sample", [random.uniform, random.normal])
def test_samples_depend_on_their_place_alone(sample):
    key = random.key(9)
    assert sample(key, 1000).tolist()[:10] == sample(key, 10).tolist()
    assert sample(key, (4, 5)).to_flat_list() == sample(key, 20).tolist()
    assert sample(key).tolist() == sample(key, 1).tolist()[0]


def test_keys_of_one_split_give_unrelated_samples():
    a, b = (random.normal(k, COUNT).numpy() for k in random.split(random.key(0)))
    c = random.normal(random.fold_in(random.key(0), 0), COUNT).numpy()
    for x, y in ((a, b), (a, c), (b, c)):
        assert stats.pearsonr(x, y).pvalue > UNLIKELY
    firsts = [random.uniform(k).item() for k in random.split(random.key(1), 2000)]
    assert stats.kstest(firsts, stats.uniform.cdf).pvalue > UNLIKELY


@pytest.mark.parametrize("p", [0.0, 0.001, 0.3, 0.5, 1.0])
def test_bernoulli_has_its_probability(p):
    hits = random.bernoulli(random.key(4), p, COUNT)
    assert hits.dtype is qb.bool_
    assert stats.binomtest(int(hits.numpy().sum()), COUNT, p).pvalue > UNLIKELY


@pytest.mark.parametrize("dtype", [qb.float64, qb.float32])
@pytest.mark.parametrize(("sample", "deviation"), [
    (random.glorot_normal, math.sqrt(2 / 500)), (random.he_normal, math.sqrt(2 / 200)),
])  # fmt: skip
def test_normal_initializers_have_their_variance(sample, deviation, dtype):
    w = sample(random.key(2), (200, 300), dtype)
    assert w.dtype is dtype
    assert stats.kstest(w.numpy().ravel(), stats.norm(0, deviation).cdf).pvalue > UNLIKELY


def test_glorot_uniform_has_its_bounds():
    w = random.glorot_uniform(random.key(2), (200, 300)).numpy().ravel()
    bound = math.sqrt(6 / 500)
    assert stats.kstest(w, stats.uniform(-bound, 2 * bound).cdf).pvalue > UNLIKELY


def test_leading_extents_multiply_the_fans():
    w = random.he_normal(random.key(2), (5, 5, 20, 100)).numpy().ravel()
    assert stats.kstest(w, stats.norm(0, math.sqrt(2 / (25 * 20))).cdf).pvalue > UNLIKELY


# ---- dtypes, shapes, bounds ---------------------------------------------------------------------


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.1, 0.3), (-1e-3, 1e-30), (1.0, 1.0 + 2.0**-20)])
def test_float32_samples_are_the_float64_ones_rounded_inside_the_bounds(bounds):
    low, high = bounds
    wide = random.uniform(random.key(1), COUNT, minval=low, maxval=high).numpy()
    narrow = random.uniform(random.key(1), COUNT, qb.float32, low, high).numpy()
    assert narrow.dtype == np.float32
    assert np.all((narrow.astype(np.float64) >= low) & (narrow.astype(np.float64) < high))
    different = narrow != wide.astype(np.float32)
    assert np.all(np.isin(narrow[different], [narrow.min(), narrow.max()]))
    normal = random.normal(random.key(1), 1000, qb.float32).numpy()
    np.testing.assert_array_equal(normal, random.normal(random.key(1), 1000).numpy().astype(np.float32))


def test_shapes_are_ints_or_sequences_and_may_be_empty():
    key = random.key(0)
    assert random.uniform(key, 2).shape == [2]
    assert random.normal(key).shape == []
    assert random.bernoulli(key, 0.5, [2, 3]).shape == [2, 3]
    assert random.uniform(key, (0, 3)).shape == [0, 3]
    assert random.glorot_normal(key, (0, 0)).shape == [0, 0]
    assert random.he_normal(key, (0, 3)).shape == [0, 3]
    with pytest.raises(OverflowError):
        random.uniform(key, -1)
    with pytest.raises(TypeError):
        random.normal(key, 2.5)


@pytest.mark.parametrize("bounds", [(3.0, 2.0), (1.0, 1.0), (0.0, math.inf), (math.nan, 1.0), (-1e308, 1e308)])
def test_uniform_needs_finite_bounds_in_order(bounds):
    with pytest.raises(ValueError, match="minval < maxval"):
        random.uniform(random.key(0), (2,), minval=bounds[0], maxval=bounds[1])


def test_uniform_needs_a_number_of_the_dtype_between_its_bounds():
    with pytest.raises(ValueError, match="no float32 number"):
        random.uniform(random.key(0), (2,), qb.float32, 0.1, 0.1 + 1e-12)


@pytest.mark.parametrize("sample", [random.glorot_normal, random.glorot_uniform, random.he_normal])
def test_initializers_need_rank_2(sample):
    with pytest.raises(ValueError, match="rank 2"):
        sample(random.key(0), (2,))


@pytest.mark.parametrize("p", [-0.1, 1.5, math.nan])
def test_probabilities_are_between_0_and_1(p):
    with pytest.raises(ValueError, match="between 0 and 1"):
        random.bernoulli(random.key(0), p)


SAMPLERS = {
    "uniform": random.uniform,
    "normal": random.normal,
    "bernoulli": lambda key, shape: random.bernoulli(key, 0.5, shape),
    "glorot_normal": random.glorot_normal,
    "glorot_uniform": random.glorot_uniform,
    "he_normal": random.he_normal,
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_need_a_key(name):
    with pytest.raises(TypeError, match="needs a key"):
        SAMPLERS[name](0, (2, 2))


@pytest.mark.parametrize("name", SAMPLERS.keys() - {"bernoulli"})
@pytest.mark.parametrize("dtype", [qb.bool_, np.float64, "float64"])
def test_samples_are_of_a_float_dtype(name, dtype):
    with pytest.raises(TypeError):
        SAMPLERS[name](random.key(0), (2, 2), dtype)


# ---- inside transforms --------------------------------------------------------------------------


def test_samples_in_a_trace_are_constants():
    def noisy(x):
        return qb.sum(x * random.normal(random.key(1), (3,)))

    x = qb.array([1.0, 2.0, 3.0])
    noise = random.normal(random.key(1), (3,))
    assert qb.jit(noisy)(x).item() == pytest.approx(noisy(x).item(), rel=1e-15)
    assert qb.grad(noisy)(x).tolist() == noise.tolist()


def test_a_key_is_a_static_argument():
    traced = []

    def noisy(x, key):
        traced.append(key)
        return x + random.uniform(key, 2)

    compiled = qb.jit(noisy, static_argnums=1)
    x = qb.zeros(2)
    for seed in (1, 2, 1):
        assert compiled(x, random.key(seed)).tolist() == random.uniform(random.key(seed), 2).tolist()
    assert traced == [random.key(1), random.key(2)]


def draws(key):
    """A sample of every kind."""
    return (
        random.uniform(key, (4,)),
        random.uniform(key, (3, 2), qb.float32, -1.0, 2.0),
        random.normal(key, (500,)),
        random.normal(key, (), qb.float32),
        random.bernoulli(key, 0.3, (20,)),
        random.glorot_normal(key, (3, 2)),
        random.glorot_uniform(key, (3, 2), qb.float32),
        random.he_normal(key, (2, 3, 2)),
    )


def bits(samples):
    return [(x.dtype, x.shape, x.numpy().tobytes()) for x in samples]


@pytest.mark.parametrize("cpu", ["numpy", "xla"])
def test_a_traced_key_gives_the_bits_of_a_known_one(cpu, engine):
    engine(cpu)
    calls = []
    compiled = qb.jit(lambda key: calls.append(key) or draws(key))
    for seed in (0, 1, 2**63, 2**64 - 1):
        assert bits(compiled(random.key(seed))) == bits(draws(random.key(seed)))
    assert len(calls) == 1


@pytest.mark.parametrize("cpu", ["numpy", "xla"])
def test_keys_that_are_made_in_a_trace_are_those_made_outside(cpu, engine):
    engine(cpu)
    key = random.key(11)
    assert qb.jit(random.split, static_argnums=1)(key, 5) == random.split(key, 5)
    for data in (0, 3, -1, 2**63):
        assert qb.jit(lambda k, data=data: random.fold_in(k, data))(key) == random.fold_in(key, data)
    assert qb.jit(random.fold_in)(key, qb.array(3, dtype=qb.int64)) == random.fold_in(key, 3)
    assert random.fold_in(key, qb.array(3.0)) == random.fold_in(key, 3)
    assert qb.jit(lambda key: key)(key) == key


@pytest.mark.parametrize("run", [lambda f: f, qb.jit], ids=["eager", "jit"])
def test_an_array_of_keys_is_mapped_over(run):
    key = random.key(5)
    several = random.keys(key, 3)
    assert several.shape == [3]
    assert tuple(several) == random.split(key, 3)
    samples = run(qb.vmap(draws))(several)
    for i, one in enumerate(random.split(key, 3)):
        assert bits([s[i] for s in samples]) == bits(draws(one))
    nested = run(qb.vmap(lambda k: random.normal(random.keys(k, 2), (3,))))(several)
    assert nested.shape == [3, 2, 3]
    assert nested[1, 1].tolist() == random.normal(random.split(random.split(key, 3)[1])[1], (3,)).tolist()
    shifts = run(qb.vmap(lambda i: random.normal(random.fold_in(key, i), (2,))))(qb.arange(3.0))
    assert shifts[2].tolist() == random.normal(random.fold_in(key, 2), (2,)).tolist()


def test_keys_are_carried_through_loops():
    def walk(key):
        def step(i, carry):
            now, later = random.split(carry["key"])
            total = carry["total"] + random.normal(now) + random.uniform(random.fold_in(key, i))
            return {"key": later, "total": total}

        return qb.fori_loop(0, 6, step, {"key": key, "total": qb.array(0.0)})

    eager, traced = walk(random.key(2)), qb.jit(walk)(random.key(2))
    assert eager["key"] == traced["key"]
    assert eager["total"].item() == traced["total"].item()


def test_samples_have_no_derivative_and_stand_beside_what_has():
    f = lambda p, key: qb.sum(p * p * random.normal(key, (3,)))  # noqa: E731
    key = random.key(4)
    p = qb.array([1.0, -2.0, 0.5])
    want = 2.0 * p * random.normal(key, (3,))
    assert qb.grad(f)(p, key).tolist() == want.tolist()
    assert qb.jit(qb.grad(f))(p, key).tolist() == want.tolist()
    rows = qb.vmap(qb.grad(f), (None, 0))(p, random.keys(key, 4))
    assert rows.shape == [4, 3]


def test_what_an_array_of_keys_and_a_traced_key_are_not():
    several = random.keys(random.key(0), 2)
    with pytest.raises(TypeError, match="no single value"):
        _ = several.value
    with pytest.raises(TypeError, match="no length"):
        len(random.key(0))
    with pytest.raises(qb.TracerError, match="no value yet"):
        qb.jit(lambda k: qb.array(float(k.value)))(random.key(0))
    assert random.keys(random.key(0), 1) != random.key(0)


def test_traced_values_are_refused_by_name():
    with pytest.raises(qb.TracerError):
        qb.jit(lambda p: random.bernoulli(random.key(0), p))(qb.array(0.5))
    with pytest.raises(qb.TracerError):
        qb.jit(random.key)(qb.array(1.0))


# ---- constructors of Tensor ---------------------------------------------------------------------


def test_tensor_constructors_take_keys_as_ints():
    expected = 2.0 + 3.0 * random.normal(random.key(5), 4).numpy()
    np.testing.assert_array_equal(qb.Tensor.random_normal([4], 5, 2.0, 3.0).numpy(), expected)
    single = qb.Tensor.random_uniform([2, 2], 5, -1.0, 1.0, qb.float32)
    assert single.tolist() == random.uniform(random.key(5), (2, 2), qb.float32, -1.0, 1.0).tolist()
    assert qb.Tensor.random_uniform(3, 5).dtype is qb.float64
    assert qb.Tensor.glorot_normal([2, 3], 5).tolist() == random.glorot_normal(random.key(5), (2, 3)).tolist()
    assert qb.Tensor.split_key(5, 3) == tuple(words(5, 3))
    assert qb.Tensor.fold_in_key(5, 3) == random.fold_in(random.key(5), 3).value


def test_tensor_constructors_refuse_other_keys_and_negative_deviations():
    with pytest.raises(TypeError):
        qb.Tensor.random_uniform([2], 1.5)
    with pytest.raises(TypeError):
        qb.Tensor.random_normal([2], random.key(0))
    with pytest.raises(ValueError, match="not negative"):
        qb.Tensor.random_normal([2], 0, 0.0, -1.0)
