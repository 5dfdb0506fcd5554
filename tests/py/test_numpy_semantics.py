"""What NumPy has, we have: random calls of every function that NumPy has too, eager and traced, against NumPy.

Shapes include rank 0 and empty axes, values infinities, NaN and both zeros, axes negative and wrong ones. Where NumPy
raises, so must we; where it gives an answer, ours is the same, but for what SPEC lists: arithmetic on bools and mixed
float dtypes are errors.
"""

import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st

import quabla as qb

DTYPES = (np.float64, np.float32, np.bool_)
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.5)

extents = st.integers(0, 3)
shapes = st.lists(extents, max_size=3).map(tuple)
small_ints = st.integers(-4, 4)


def values(draw, shape, dtype=np.float64, special=True):
    n = int(np.prod(shape))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    x = np.round(rng.normal(size=n) * 3, 2)
    if special and draw(st.booleans()):
        x[rng.random(n) < 0.3] = draw(st.sampled_from(SPECIAL))
    return (x > 0 if dtype == np.bool_ else x.astype(dtype)).reshape(shape)


def array(draw, shape=None, dtypes=DTYPES, special=True):
    return values(draw, draw(shapes) if shape is None else shape, draw(st.sampled_from(dtypes)), special)


def axis(draw, rank):
    """An axis, several, or None; sometimes one that does not exist or is there twice."""
    one = st.integers(-rank - 1, rank)
    return draw(st.one_of(st.none(), one, st.lists(one, max_size=3).map(tuple)))


def reduction(dtypes=(np.float64, np.float32)):
    def case(draw):
        x = array(draw, dtypes=dtypes)
        return (x,), {"axis": axis(draw, x.ndim), "keepdims": draw(st.booleans())}

    return case


def one_axis(draw):
    x = array(draw, dtypes=(np.float64, np.float32))
    return (x,), {"axis": draw(st.one_of(st.none(), st.integers(-x.ndim - 1, x.ndim)))}


def moments(draw):
    args, options = reduction()(draw)
    return args, {**options, "ddof": draw(st.integers(0, 2))}


def alone(dtypes=DTYPES, shape=None):
    return lambda draw: ((array(draw, shape, dtypes),), {})


def matrices(draw):
    return (array(draw, draw(st.lists(extents, min_size=2, max_size=4).map(tuple))),), {}


def broadcasting(draw, count=2, dtype=None):
    """Arrays of one dtype whose shapes mostly broadcast."""
    dtype = dtype or draw(st.sampled_from((np.float64, np.float32)))
    whole = draw(shapes)
    given = []
    for _ in range(count):
        cut = draw(st.integers(0, len(whole)))
        shape = [1 if draw(st.booleans()) and draw(st.booleans()) else n for n in whole[cut:]]
        if shape and draw(st.integers(0, 9)) == 0:
            shape[0] += 1
        given.append(values(draw, tuple(shape), dtype))
    return tuple(given), {}


def pairs_or_numbers(draw):
    (x, y), _ = broadcasting(draw)
    return (x, draw(st.one_of(st.just(y), st.sampled_from([2, 0.5, -3.0])))), {}


def reshaping(draw):
    x = array(draw)
    new = draw(st.one_of(st.just((-1,)), st.permutations(x.shape).map(tuple), st.lists(st.integers(-1, 4), max_size=3)))
    return (x, tuple(new)), {}


def permuting(draw):
    x = array(draw)
    axes = draw(st.one_of(st.none(), st.permutations(range(x.ndim)).map(tuple), st.lists(small_ints, max_size=3)))
    return (x, axes), {}


def moving(draw):
    x = array(draw)
    axes = st.one_of(st.integers(-x.ndim - 1, x.ndim), st.lists(st.integers(-x.ndim, max(x.ndim - 1, 0)), max_size=2))
    return (x, draw(axes), draw(axes)), {}


def swapping(draw):
    x = array(draw)
    return (x, draw(small_ints), draw(small_ints)), {}


def expanding(draw):
    x = array(draw)
    return (x, draw(st.one_of(small_ints, st.lists(small_ints, max_size=2).map(tuple)))), {}


def squeezing(draw):
    x = array(draw, draw(st.lists(st.integers(0, 2), max_size=4).map(tuple)))
    return (x,), {"axis": axis(draw, x.ndim)}


def broadcast_target(draw):
    (x, y), _ = broadcasting(draw)
    return (x, y.shape), {}


def joining(draw):
    x = array(draw)
    parts = [x]
    k = draw(st.integers(-x.ndim - 1, x.ndim))
    for _ in range(draw(st.integers(0, 2))):
        shape = list(x.shape)
        if shape and -x.ndim <= k < x.ndim and draw(st.booleans()):
            shape[k] = draw(extents)
        parts.append(values(draw, tuple(shape), x.dtype))
    return (parts, k), {}


def splitting(draw):
    x = array(draw)
    cuts = draw(st.one_of(st.integers(1, 4), st.lists(small_ints, max_size=3).map(sorted)))
    return (x, cuts, draw(st.integers(-x.ndim - 1, x.ndim))), {}


def tiling(draw):
    return (array(draw), draw(st.one_of(extents, st.lists(extents, max_size=4).map(tuple)))), {}


def repeating(draw):
    x = array(draw)
    k = draw(st.one_of(st.none(), st.integers(-x.ndim - 1, x.ndim)))
    n = x.size if k is None else x.shape[k] if -x.ndim <= k < x.ndim else 1
    return (x, draw(st.one_of(extents, st.lists(extents, min_size=n, max_size=n)))), {"axis": k}


def flipping(draw):
    x = array(draw)
    return (x,), {"axis": axis(draw, x.ndim)}


def rolling(draw):
    x = array(draw)
    shift = draw(st.one_of(small_ints, st.tuples(small_ints, small_ints)))
    return (x, shift), {"axis": axis(draw, x.ndim) if x.ndim else None}


def padding(draw):
    x = array(draw, draw(shapes.filter(len)))
    pair = st.tuples(extents, extents)
    width = draw(st.one_of(extents, pair, st.lists(pair, min_size=x.ndim, max_size=x.ndim)))
    mode = draw(st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap"]))
    options = {"constant_values": draw(st.sampled_from([0, 1.5, (2.0, -1.0)]))} if mode == "constant" else {}
    return (x, width, mode), options


def diagonals(draw):
    x = array(draw, dtypes=(np.float64, np.float32))
    return (x, draw(small_ints), draw(st.integers(-3, 2)), draw(st.integers(-3, 2))), {}


def diagonal_matrix(draw):
    return (array(draw), draw(small_ints)), {}


def products(draw):
    """Operands whose contracted extents mostly fit, without special values: sums have another order."""
    dtype = draw(st.sampled_from((np.float64, np.float32)))
    m, k, n = (draw(extents) for _ in range(3))
    stack = draw(st.lists(extents, max_size=1).map(tuple))
    left = draw(st.sampled_from([(k,), (m, k), (*stack, m, k), ()]))
    right = draw(st.sampled_from([(k,), (k, n), (*stack, k, n), (n,), ()]))
    return (values(draw, left, dtype, False), values(draw, right, dtype, False)), {}


def contractions(draw):
    (x, y), _ = products(draw)
    count = st.integers(0, 2)
    lists = st.tuples(st.lists(st.integers(-2, 1), max_size=2), st.lists(st.integers(-2, 1), max_size=2))
    return (x, y, draw(st.one_of(count, lists))), {}


def crossing(draw):
    with_two = [] if np.lib.NumpyVersion(np.__version__) >= "2.5.0" else [(2, 3), (3, 2)]  # NumPy refuses them now
    n, m = draw(st.sampled_from([(3, 3), (3, 1), *with_two]))
    lead = draw(st.sampled_from([(), (2,), (1,), (0,)]))
    x, y = (values(draw, s, np.float64) for s in ((*lead, n), (*draw(st.sampled_from([(), lead])), m)))
    options = draw(st.sampled_from([{}, {"axis": -1}, {"axisc": 0}, {"axisa": 0, "axisb": 0}]))
    return (x, y), options


def differences(draw):
    x = array(draw)
    options: dict = {"n": draw(st.integers(-1, 3)), "axis": draw(st.integers(-x.ndim - 1, x.ndim))}
    if not options["n"]:  # NumPy does not look at the axis then
        options["axis"] = -1 if x.ndim else 5
    if x.dtype == np.float64 and draw(st.booleans()):  # a number beside float32 is weak here, and float64 in NumPy
        options["prepend"] = 1.5
    return (x,), options


def integrals(draw):
    y = array(draw, dtypes=(np.float64,), special=False)
    k = draw(st.integers(-y.ndim - 1, max(y.ndim - 1, 0)))
    n = y.shape[k] if -y.ndim <= k < y.ndim else 2
    x = draw(st.sampled_from(["none", "vector", "same"]))
    if x == "none":
        return (y,), {"dx": 0.5, "axis": k}
    return (y, values(draw, (n,) if x == "vector" else y.shape, np.float64, False)), {"axis": k}


def polynomials(draw):
    # NumPy's Horner starts from 0 times x, so that even a constant is NaN at infinity.
    return (values(draw, (draw(extents),), np.float64), array(draw, dtypes=(np.float64,), special=False)), {}


def interpolation(draw):
    n = draw(st.integers(1, 4))
    knots = np.cumsum(np.abs(values(draw, (n,), np.float64, False)) + 0.1)
    at = draw(st.sampled_from([array(draw, dtypes=(np.float64,)), knots]))
    options = draw(st.sampled_from([{}, {"left": -1.0}, {"right": 7.0}, {"left": 0.0, "right": 0.5}]))
    return (at, knots, values(draw, (n,), np.float64, False)), options


def clipping(draw):
    (x, lo), _ = broadcasting(draw)
    bound = st.sampled_from([None, -1.0, 2.0, 0])
    return draw(st.sampled_from([(x, lo, None), (x, lo, 1.0), (x, draw(bound), draw(bound))])), {}


def replacing(draw):
    x = array(draw, dtypes=(np.float64, np.float32))
    return (x,), draw(st.sampled_from([{}, {"nan": 1.0}, {"posinf": 9.0}, {"nan": 2.0, "neginf": -1.0}]))


def grids(draw):
    vectors = [values(draw, (draw(extents),), np.float64) for _ in range(draw(st.integers(0, 3)))]
    return tuple(vectors), {"indexing": draw(st.sampled_from(["xy", "ij"]))}


def selecting(draw):
    (mask,), _ = broadcasting(draw, 1, np.bool_)
    x, y = values(draw, mask.shape, np.float64), values(draw, mask.shape[1:], np.float64)
    return (mask, x, draw(st.sampled_from([y, 1.0]))), {}


def equations(draw):
    letters = "abc"
    size = dict(zip(letters, [draw(st.integers(0, 3)) for _ in letters], strict=True))
    dots = draw(st.lists(st.integers(1, 2), max_size=2).map(tuple))
    terms, operands = [], []
    for _ in range(draw(st.integers(1, 3))):
        names = draw(st.lists(st.sampled_from(letters), max_size=3))
        dotted = draw(st.booleans())
        at = draw(st.integers(0, len(names)))
        shape = [1 if draw(st.integers(0, 5)) == 0 else size[n] for n in names]
        terms.append("".join(names[:at]) + ("..." if dotted else "") + "".join(names[at:]))
        shape[at:at] = dots[draw(st.integers(0, len(dots))) :] if dotted else ()
        operands.append(values(draw, tuple(shape), np.float64, False))
    equation = ",".join(terms)
    if draw(st.booleans()):
        used = sorted({n for t in terms for n in t if n in letters})
        equation += "->" + ("..." if any("..." in t for t in terms) else "")
        equation += "".join(draw(st.permutations(used))[: draw(st.integers(0, 3))])
    return (equation, *operands), {}


floats = (np.float64, np.float32)

#: Our function, NumPy's, the arguments, and the relative error that another order of operations allows.
CASES = {
    "sum": (qb.sum, np.sum, reduction(), 1e-13),
    "mean": (qb.mean, np.mean, reduction(), 1e-13),
    "prod": (qb.prod, np.prod, reduction(), 1e-13),
    "max": (qb.max, np.max, reduction(), 0),
    "min": (qb.min, np.min, reduction(), 0),
    "any": (qb.any, np.any, reduction((np.bool_,)), 0),
    "all": (qb.all, np.all, reduction((np.bool_,)), 0),
    "var": (qb.var, np.var, moments, 1e-12),
    "std": (qb.std, np.std, moments, 1e-12),
    "cumsum": (qb.cumsum, np.cumsum, one_axis, 1e-13),
    "add": (lambda x, y: x + y, np.add, pairs_or_numbers, 0),
    "subtract": (lambda x, y: x - y, np.subtract, pairs_or_numbers, 0),
    "multiply": (lambda x, y: x * y, np.multiply, pairs_or_numbers, 0),
    "divide": (lambda x, y: x / y, np.divide, pairs_or_numbers, 0),
    "floor_divide": (lambda x, y: x // y, np.floor_divide, pairs_or_numbers, 0),
    "mod": (qb.mod, np.mod, pairs_or_numbers, 0),
    "fmod": (qb.fmod, np.fmod, pairs_or_numbers, 0),
    "maximum": (qb.maximum, np.maximum, pairs_or_numbers, 0),
    "minimum": (qb.minimum, np.minimum, pairs_or_numbers, 0),
    "hypot": (qb.hypot, np.hypot, pairs_or_numbers, 1e-15),
    "atan2": (qb.atan2, np.arctan2, pairs_or_numbers, 1e-15),
    "logaddexp": (qb.logaddexp, np.logaddexp, pairs_or_numbers, 1e-14),
    "less": (qb.less, np.less, pairs_or_numbers, 0),
    "less_equal": (qb.less_equal, np.less_equal, pairs_or_numbers, 0),
    "greater": (qb.greater, np.greater, pairs_or_numbers, 0),
    "greater_equal": (qb.greater_equal, np.greater_equal, pairs_or_numbers, 0),
    "equal": (qb.equal, np.equal, pairs_or_numbers, 0),
    "not_equal": (qb.not_equal, np.not_equal, pairs_or_numbers, 0),
    "logical_and": (qb.logical_and, np.logical_and, lambda draw: broadcasting(draw, 2, np.bool_), 0),
    "logical_or": (qb.logical_or, np.logical_or, lambda draw: broadcasting(draw, 2, np.bool_), 0),
    "logical_not": (qb.logical_not, np.logical_not, alone((np.bool_,)), 0),
    "isnan": (qb.isnan, np.isnan, alone(floats), 0),
    "isinf": (qb.isinf, np.isinf, alone(floats), 0),
    "isfinite": (qb.isfinite, np.isfinite, alone(floats), 0),
    "sign": (qb.sign, lambda x: np.copysign(np.sign(x), x), alone(floats), 0),  # ours keeps the sign of zeros
    "round": (qb.round, np.round, alone(floats), 0),
    "square": (qb.square, np.square, alone(floats), 0),
    "reciprocal": (qb.reciprocal, np.reciprocal, alone(floats), 0),
    "where": (qb.where, np.where, selecting, 0),
    "clip": (qb.clip, np.clip, clipping, 0),
    "nan_to_num": (qb.nan_to_num, np.nan_to_num, replacing, 0),
    "reshape": (qb.reshape, np.reshape, reshaping, 0),
    "transpose": (qb.transpose, np.transpose, permuting, 0),
    "moveaxis": (qb.moveaxis, np.moveaxis, moving, 0),
    "swapaxes": (qb.swapaxes, np.swapaxes, swapping, 0),
    "expand_dims": (qb.expand_dims, np.expand_dims, expanding, 0),
    "squeeze": (qb.squeeze, np.squeeze, squeezing, 0),
    "ravel": (qb.ravel, np.ravel, alone(), 0),
    "broadcast_to": (qb.broadcast_to, np.broadcast_to, broadcast_target, 0),
    "concat": (qb.concat, np.concatenate, joining, 0),
    "stack": (qb.stack, np.stack, joining, 0),
    "split": (qb.split, np.split, splitting, 0),
    "tile": (qb.tile, np.tile, tiling, 0),
    "repeat": (qb.repeat, np.repeat, repeating, 0),
    "flip": (qb.flip, np.flip, flipping, 0),
    "roll": (qb.roll, np.roll, rolling, 0),
    "pad": (qb.pad, np.pad, padding, 0),
    "diag": (qb.diag, np.diag, diagonal_matrix, 0),
    "diagonal": (qb.diagonal, np.diagonal, diagonals, 0),
    "trace": (qb.trace, np.trace, diagonals, 1e-14),
    "tril": (qb.tril, np.tril, matrices, 0),
    "triu": (qb.triu, np.triu, matrices, 0),
    "meshgrid": (qb.meshgrid, np.meshgrid, grids, 0),
    "matmul": (qb.matmul, np.matmul, products, 1e-13),
    "dot": (qb.dot, np.dot, products, 1e-13),
    "outer": (qb.outer, np.outer, products, 0),
    "kron": (qb.kron, np.kron, products, 0),
    "tensordot": (qb.tensordot, np.tensordot, contractions, 1e-13),
    "cross": (qb.cross, np.cross, crossing, 0),
    "einsum": (qb.einsum, np.einsum, equations, 1e-13),
    "diff": (qb.diff, np.diff, differences, 0),
    "trapezoid": (qb.trapezoid, np.trapezoid, integrals, 1e-12),
    "polyval": (qb.polyval, np.polyval, polynomials, 0),
    "interp": (qb.interp, np.interp, interpolation, 1e-13),
}


def converted(x, to):
    """Arguments with each NumPy array replaced."""
    if isinstance(x, np.ndarray):
        return to(x)
    return type(x)([converted(v, to) for v in x]) if isinstance(x, (list, tuple)) else x


def numpys_answer(f, args, options, error):
    """What NumPy gives, sums of float32 in float64; None where it raises, or should: a scalar has no axis 0."""
    if options.get("axis") not in (None, ()) and np.ndim(args[0]) == 0:
        return None
    single = error and any(isinstance(x, np.ndarray) and x.dtype == np.float32 for x in flat(args))
    wide = converted(args, lambda x: x.astype(np.float64) if single and x.dtype == np.float32 else x)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            answer = f(*wide, **options)
        except (ValueError, TypeError, IndexError, np.exceptions.AxisError):
            return None
        found = [np.asarray(x) for x in (answer if isinstance(answer, (list, tuple)) else [answer])]
        return [x.astype(np.float32) if single and x.dtype == np.float64 else x for x in found]


def flat(x):
    return [y for v in x for y in flat(v)] if isinstance(x, (list, tuple)) else [x]


def traced(f, args, options):
    """``f`` with its arrays as arguments of a trace."""
    arrays = [x for x in flat(args) if isinstance(x, np.ndarray)]

    def call(*given):
        left = iter(given)
        return f(*converted(args, lambda x: next(left)), **options)

    return qb.jit(call)(*[qb.array(x) for x in arrays])


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
def test_as_numpy(name, data):
    ours, theirs, case, error = CASES[name]
    args, options = case(data.draw)
    wanted = numpys_answer(theirs, args, options, error)
    runs = [lambda: ours(*converted(args, qb.array), **options)]
    if data.draw(st.integers(0, 3)) == 0:
        runs.append(lambda: traced(ours, args, options))
    for run in runs:
        if wanted is None:
            with pytest.raises((ValueError, TypeError, IndexError)):
                run()
            continue
        got = run()
        got = got if isinstance(got, (list, tuple)) else [got]
        assert len(got) == len(wanted)
        for x, y in zip(got, wanted, strict=True):
            assert x.shape == list(y.shape)
            assert x.dtype.numpy == y.dtype
            rtol = 2e-7 if y.dtype == np.float32 and error else error
            np.testing.assert_allclose(x.numpy(), y, rtol=rtol, atol=1e-13 if error else 0)
            if not error and y.dtype != np.bool_:
                number = ~np.isnan(y)
                np.testing.assert_array_equal(np.signbit(x.numpy())[number], np.signbit(y)[number])
