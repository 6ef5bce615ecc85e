"""ScatterAddNdim and ReinterpretStringToFloat."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.contrib.tensor_forest.examples import invalid
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op, updates

_MURMUR = 0xC6A4A7935BD1E995
_SEED = 0xC70F6907
_MASK = 2**64 - 1


def _mixed(value: int) -> int:
    return value ^ (value >> 47)


def murmur64(text: bytes) -> int:
    """MurmurHash64A (A. Appleby) with the seed of the GNU C++ library's hash of strings."""
    found = _SEED ^ (len(text) * _MURMUR & _MASK)
    whole = len(text) // 8 * 8
    for start in range(0, whole, 8):
        word = int.from_bytes(text[start : start + 8], "little")
        word = _mixed(word * _MURMUR & _MASK) * _MURMUR & _MASK
        found = (found ^ word) * _MURMUR & _MASK
    if whole < len(text):
        found = (found ^ int.from_bytes(text[whole:], "little")) * _MURMUR & _MASK
    return _mixed(_mixed(found) * _MURMUR & _MASK)


@op("ReinterpretStringToFloat", "(input_data: string) -> (output_data: float)", shape=si.unchanged,
    gradient=NotDifferentiable("strings have no derivative"), side=HOST)  # fmt: skip
def _reinterpret(texts: object) -> np.ndarray:
    texts = np.asarray(texts, object)
    hashes = np.array([murmur64(bytes(text)) for text in texts.reshape(-1)], np.uint64)
    return hashes.astype(np.float32).reshape(texts.shape)


@op("ScatterAddNdim", "(input: Ref(float), indices: int32, deltas: float) -> ()", shape=si.no_outputs,
    gradient=NotDifferentiable("it changes a variable"), effects=updates("input"))  # fmt: skip
def _scatter_add(values: Any, indices: Any, deltas: Any) -> Any:
    if indices.shape[:1] == (0,):
        return values
    if indices.ndim != 2:
        raise invalid("indices should be two-dimensional")
    if indices.shape[1] + deltas.ndim != values.ndim + 1:
        raise invalid("Number of indices dimensions should be the same as input rank.")
    if indices.shape[0] != deltas.shape[0]:
        raise invalid("Number of updates should be same as number of indices.")
    return jnp.asarray(values).at[tuple(indices.T)].add(deltas)
