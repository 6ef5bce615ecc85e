"""Strings hashed to numbers: StringToHashBucket in its three kinds, Fingerprint."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.strings.farmhash import fingerprint64, hash64, siphash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfcompat._src.base.arrays import TensorLike

_add = functools.partial(op, gradient=NotDifferentiable("a hash has no derivative"), side=HOST, depth=2)


def _buckets(hashes: np.ndarray, shape: tuple, num_buckets: int) -> np.ndarray:
    return (hashes % np.uint64(num_buckets)).astype(np.int64).reshape(shape)


def _strong(x, *, num_buckets, key):
    if len(key) != 2:
        raise errors.InvalidArgumentError(None, None, "Key must have 2 elements")
    return _buckets(siphash(x.reshape(-1), key), x.shape, num_buckets)


_add("StringToHashBucket", "(string_tensor: string, *, num_buckets: int >= 1) -> (output: int64)", shape=si.unchanged,
     kernel=lambda x, *, num_buckets: _buckets(hash64(x.reshape(-1)), x.shape, num_buckets))  # fmt: skip
_add("StringToHashBucketFast", "(input: string, *, num_buckets: int >= 1) -> (output: int64)", shape=si.unchanged,
     kernel=lambda x, *, num_buckets: _buckets(fingerprint64(x.reshape(-1)), x.shape, num_buckets))  # fmt: skip
_add("StringToHashBucketStrong", "(input: string, *, num_buckets: int >= 1, key: list(int)) -> (output: int64)",
     shape=si.unchanged, kernel=_strong)  # fmt: skip


def _fingerprint_shape(c):
    sizes = si.with_rank_at_least(c.inputs[0], 1)
    si.with_rank(c.inputs[1], 0)
    method = c.value(1)
    if method is not None and method.item() != b"farmhash64":
        raise ValueError("unsupported method")
    return [(None if sizes is None else sizes[0], None if method is None else 8)]


@op("Fingerprint", "(data: T, method: string, *, T: type) -> (fingerprint: uint8)", shape=_fingerprint_shape,
    gradient=NotDifferentiable("a hash has no derivative", raises=True), side=HOST)  # fmt: skip
def _fingerprint(data, method):
    if np.ndim(method) or method.item() != b"farmhash64":
        raise errors.InvalidArgumentError(None, None, f"Unsupported fingerprint method: {method}")
    if not data.ndim or not data.size:
        raise errors.InvalidArgumentError(None, None, f"input must be at least one dimensional, got shape: {data.shape}")
    if data.dtype == object:
        hashes = fingerprint64(data.reshape(-1)).reshape(len(data), -1)
        if data.ndim > 1:
            hashes = fingerprint64([row.tobytes() for row in hashes])
    else:
        hashes = fingerprint64([row.tobytes() for row in np.ascontiguousarray(data)])
    return hashes.astype("<u8").view(np.uint8).reshape(len(data), 8)


@export("fingerprint")
def fingerprint(data: TensorLike, method: str = "farmhash64", name: str | None = None) -> Tensor:
    """Hashes of the rows of a tensor.

    Args:
      data: Tensor [n, ...]; rows of strings are hashed string by string first.
      method: "farmhash64".
      name: node name.

    Returns:
      uint8 [n, 8], least significant byte first.
    """
    return raw.Fingerprint(data, method, name=name)


@export("strings.to_hash_bucket", "string_to_hash_bucket")
def string_to_hash_bucket_v1(
    string_tensor: TensorLike | None = None, num_buckets: int | None = None, name: str | None = None, input: object = None
) -> Tensor:
    """Each string hashed to a number below `num_buckets`, int64, by 1.15's first hash function (`input` names the strings too)."""
    string_tensor = deprecated_argument_lookup("input", input, "string_tensor", string_tensor)
    return string_to_hash_bucket(string_tensor, num_buckets, name)


def string_to_hash_bucket(input: TensorLike, num_buckets: int, name: str | None = None) -> Tensor:
    """Each string hashed to a number below `num_buckets`, int64, by 1.15's first hash function."""
    return raw.StringToHashBucket(input, num_buckets=num_buckets, name=name)


@export("strings.to_hash_bucket_fast", "string_to_hash_bucket_fast")
def string_to_hash_bucket_fast(input: TensorLike, num_buckets: int, name: str | None = None) -> Tensor:
    """Each string hashed to a number below `num_buckets`, int64, by FarmHash64."""
    return raw.StringToHashBucketFast(input, num_buckets=num_buckets, name=name)


@export("strings.to_hash_bucket_strong", "string_to_hash_bucket_strong")
def string_to_hash_bucket_strong(input: TensorLike, num_buckets: int, key: Sequence[int], name: str | None = None) -> Tensor:
    """Each string hashed to a number below `num_buckets`, int64, by SipHash with a `key` of two integers.

    Raises:
      InvalidArgumentError: in a run with a key of another length.
    """
    return raw.StringToHashBucketStrong(input, num_buckets=num_buckets, key=key, name=name)
