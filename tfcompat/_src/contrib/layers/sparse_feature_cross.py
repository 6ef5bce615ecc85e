"""tf.contrib.layers.sparse_feature_cross: combinations of features as strings or hashes, with either of two ways to combine hashes."""

from __future__ import annotations

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.sparse.cross import (
    DEFAULT_HASH_KEY,
    as_hashes,
    as_texts,
    columns_of,
    combined_fingerprint,
    crossed,
    hashed_cross,
    prepared,
)

SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY = export("contrib.layers.SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY")(DEFAULT_HASH_KEY)
_OFFSET = np.int64(0x9E3779B97F4A7800 - 2**64)


def _combined(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """One hash of two: a ^ (b + offset + (a << 10) + (a >> 4)) in signed 64-bit numbers."""
    a, b = a.view(np.int64), b.view(np.int64)
    with np.errstate(over="ignore"):
        return (a ^ (b + _OFFSET + (a << np.int64(10)) + (a >> np.int64(4)))).view(np.uint64)


def _kernel(indices, values, shapes, dense, *, hashed_output, num_buckets):
    return _cross(indices, values, shapes, dense, hashed_output, num_buckets, DEFAULT_HASH_KEY, _combined)


def _kernel_v2(indices, values, shapes, dense, *, hashed_output, num_buckets, hash_key):
    return _cross(indices, values, shapes, dense, hashed_output, num_buckets, hash_key, combined_fingerprint)


def _cross(indices, values, shapes, dense, hashed_output, num_buckets, hash_key, combine):
    count, columns = columns_of(indices, values, shapes, dense, as_hashes if hashed_output else as_texts)
    if hashed_output:
        return hashed_cross(count, columns, hash_key, num_buckets, combine)
    return crossed(count, columns, b"_X_".join, object)


for _name, _key, _function in (("SparseFeatureCross", "", _kernel), ("SparseFeatureCrossV2", "hash_key: int, ", _kernel_v2)):
    op(
        _name,
        "(indices: N*int64, values: sparse_types, shapes: N*int64, dense: dense_types, *, N: int >= 0, hashed_output: bool, "
        f"num_buckets: int >= 0, {_key}sparse_types: list({{int64, string}}) >= 0, dense_types: list({{int64, string}}) >= 0, "
        "out_type: {int64, string}, internal_type: {int64, string}) -> "
        "(output_indices: int64, output_values: out_type, output_shape: int64)",
        shape=lambda c: [(None, 2), (None,), (2,)], gradient=NotDifferentiable("hashes and strings have no gradient"), side=HOST,
        kernel=_function,
    )  # fmt: skip


@export("contrib.slim.sparse_feature_cross")
def sparse_feature_cross(
    inputs: object, hashed_output: bool = False, num_buckets: int = 0, name: str | None = None, hash_key: int | None = None
) -> SparseTensor:
    """All combinations of one feature of each input in a row: strings joined by "_X_", or int64 hashes.

    Args:
      inputs: list of SparseTensors and Tensors [batch, any] of integers or strings.
      hashed_output: whether to give hashes.
      num_buckets: hashes are below it, where it is not 0.
      name: node name.
      hash_key: the key of the hashes; without one they are combined in an older way.

    Raises:
      TypeError: `inputs` is no list, or one of them is no tensor.
    """
    sparse, dense = prepared(inputs)
    internal = dtypes.string if all(i.dtype is dtypes.string for i in (*sparse, *dense)) else dtypes.int64
    attrs = dict(
        hashed_output=hashed_output, num_buckets=num_buckets, out_type=dtypes.int64 if hashed_output else dtypes.string,
        internal_type=internal, name=name,
    )  # fmt: skip
    parts = [i.indices for i in sparse], [i.values for i in sparse], [i.dense_shape for i in sparse], dense
    found = raw.SparseFeatureCrossV2(*parts, hash_key=hash_key, **attrs) if hash_key else raw.SparseFeatureCross(*parts, **attrs)
    return SparseTensor(*found)
