"""Names that other libraries have and quabla spells otherwise: what the error of a missing attribute advises."""

from __future__ import annotations

from typing import Final

__all__ = ["missing"]

#: For each module the names that people bring from NumPy, JAX or PyTorch, each with what to write instead.
_INSTEAD: Final[dict[str, dict[str, str]]] = {
    "quabla": {
        "absolute": "quabla.abs",
        "add": "the operator +",
        "allclose": "numpy.allclose, which takes arrays of quabla",
        "amax": "quabla.max",
        "amin": "quabla.min",
        "append": "quabla.concat",
        "arctan2": "quabla.atan2",
        "argwhere": "quabla.nonzero",
        "array_equal": "numpy.array_equal, which takes arrays of quabla",
        "average": "quabla.mean",
        "backward": "quabla.grad",
        "block_until_ready": "nothing: results are ready when a call returns",
        "clear_caches": "nothing: a jitted function's programs go when the function goes",
        "column_stack": "quabla.stack with axis=1",
        "concatenate": "quabla.concat",
        "cumulative_sum": "quabla.cumsum",
        "device_put": "nothing: arrays are on the CPU; jit's device moves a program",
        "divide": "the operator /",
        "dsplit": "quabla.split with axis=2",
        "dstack": "quabla.concat with axis=2",
        "eig": "quabla.linalg.eigh, for symmetric matrices",
        "eigh": "quabla.linalg.eigh",
        "empty": "quabla.zeros",
        "apply_along_axis": "quabla.vmap",
        "count_nonzero": "quabla.sum of mask.astype(quabla.float64)",
        "expit": "quabla.sigmoid",
        "fabs": "quabla.abs",
        "flatten": "quabla.ravel",
        "fliplr": "quabla.flip with axis=1",
        "flipud": "quabla.flip with axis=0",
        "floor_divide": "the operator //",
        "fill_diagonal": "quabla.where with quabla.eye",
        "gradient": "quabla.grad for derivatives; differences are x[2:] - x[:-2]",
        "hsplit": "quabla.split with axis=1",
        "hstack": "quabla.concat with axis=1, or axis=0 for vectors",
        "identity": "quabla.eye",
        "inner": "quabla.tensordot, or quabla.dot for vectors",
        "int8": "quabla.int32",
        "int16": "quabla.int32",
        "isclose": "numpy.isclose, which takes arrays of quabla",
        "jacfwd": "quabla.jacobian, which picks the direction",
        "jacrev": "quabla.jacobian, which picks the direction",
        "lax": "quabla itself: cond, scan, fori_loop and while_loop are there",
        "logit": "quabla.log(p) - quabla.log1p(-p)",
        "logspace": "10.0 ** quabla.linspace",
        "median": "quabla.sort, and the elements in the middle",
        "multiply": "the operator *",
        "nanmean": "quabla.where with quabla.isnan, and sums",
        "nansum": "quabla.sum of quabla.where(quabla.isnan(x), 0.0, x)",
        "negative": "the operator -",
        "nn": "quabla itself: relu, sigmoid, softmax, softplus, gelu and silu are there",
        "no_grad": "quabla.stop_gradient",
        "numpy": "quabla itself, which has NumPy's functions, or the method numpy() of an array",
        "permute": "quabla.transpose",
        "permute_dims": "quabla.transpose",
        "pmap": "quabla.vmap, or quabla.distributed",
        "pow": "quabla.power, or the operator **",
        "rand": "quabla.random.uniform with a key",
        "randn": "quabla.random.normal with a key",
        "rint": "quabla.round",
        "row_stack": "quabla.stack",
        "select": "quabla.where",
        "shape": "the attribute shape of an array",
        "sinc": "quabla.sin, with quabla.where at 0",
        "size": "the attribute size of an array",
        "subtract": "the operator -",
        "take_along_dim": "quabla.take_along_axis",
        "tensor": "quabla.array",
        "trapz": "quabla.trapezoid",
        "tree_leaves": "quabla.tree.leaves",
        "tree_map": "quabla.tree.map",
        "tree_util": "quabla.tree",
        "true_divide": "the operator /",
        "vectorize": "quabla.vmap",
        "vsplit": "quabla.split",
        "vstack": "quabla.concat, or quabla.stack for vectors",
        "xlogy": "quabla.where(quabla.equal(x, 0.0), 0.0, x * quabla.log(y))",
    },
    "quabla.linalg": {
        "eig": "quabla.linalg.eigh, for symmetric matrices",
        "eigvalsh": "eigh(a).eigenvalues",
        "expm": "quabla.linalg.funm(a, quabla.exp), for symmetric matrices",
        "kron": "quabla.kron",
        "lu": "quabla.linalg.solve, det or inv",
        "matmul": "quabla.matmul",
        "matrix_norm": "quabla.linalg.norm",
        "multi_dot": "quabla.einsum, which chooses the order",
        "outer": "quabla.outer",
        "svdvals": "svd(a, compute_uv=False)",
        "trace": "quabla.trace",
        "vector_norm": "quabla.linalg.norm",
    },
    "quabla.random": {
        "PRNGKey": "quabla.random.key",
        "choice": "quabla.random.permutation or randint, and index with the result",
        "gaussian": "quabla.random.normal",
        "rand": "quabla.random.uniform",
        "randn": "quabla.random.normal",
        "random": "quabla.random.uniform",
        "seed": "quabla.random.key: a key is an argument, there is no global state",
        "shuffle": "quabla.random.permutation, which returns a new array",
        "split_key": "quabla.random.split",
        "xavier_normal": "quabla.random.glorot_normal",
        "xavier_uniform": "quabla.random.glorot_uniform",
    },
}


def missing(module: str, name: str, there: list[str]) -> AttributeError:
    """The error of an attribute that a module lacks, with what to use instead where that is known.

    Args:
        module: the module.
        name: the attribute.
        there: the names that the module has, among which a misspelt one is looked for.
    """
    advice = ""
    if instead := _INSTEAD.get(module, {}).get(name):
        advice = f"; use {instead}"
    else:
        from difflib import get_close_matches

        if close := get_close_matches(name, there, 1, 0.8):
            advice = f"; did you mean {module}.{close[0]}?"
    return AttributeError(f"module {module!r} has no attribute {name!r}{advice}")
