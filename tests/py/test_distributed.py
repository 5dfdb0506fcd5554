"""Data parallelism: what is asked of it is checked, and a build that cannot do it says so."""

from __future__ import annotations

import pytest

import quabla as qb

GOOD = {"devices": ["cuda:0", "cuda:1"], "shard_argnums": 1}


def loss(w, x):
    return qb.mean((x * w) ** 2)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"reduction": "max"}, ValueError),
        ({"devices": []}, ValueError),
        ({"devices": "cuda:0"}, ValueError),
        ({"devices": ["gpu"]}, ValueError),
        ({"devices": ["cuda:0", "cuda:0"]}, ValueError),
        ({"devices": ["cuda", "cuda:0"]}, ValueError),
        ({"shard_argnums": 0}, ValueError),
        ({"shard_argnums": 1.0}, TypeError),
        ({"argnums": "w"}, TypeError),
        ({"devices": ["cpu"]}, qb.UnsupportedOperationError),
        ({"devices": ["cuda:0", "mlx"]}, qb.UnsupportedOperationError),
    ],
    ids=str,
)
def test_what_is_asked_is_checked(change, error):
    with pytest.raises(error, match=r"distributed.value_and_grad|device must be"):
        qb.distributed.value_and_grad(loss, **{**GOOD, **change})


def test_a_function_is_needed():
    with pytest.raises(TypeError):
        qb.distributed.value_and_grad(3.0, **GOOD)


@pytest.mark.skipif(qb.Compiler().capability("cuda"), reason="this build contains the CUDA target")
def test_a_build_without_cuda_says_so():
    with pytest.raises(qb.UnsupportedOperationError, match="'cuda' is missing") as caught:
        qb.distributed.value_and_grad(loss, **GOOD)
    assert caught.value.device == "cuda"
