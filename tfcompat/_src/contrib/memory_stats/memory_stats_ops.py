"""tf.contrib.memory_stats: how much memory of a GPU is used."""

from __future__ import annotations

import functools

import jax
import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw

_STATISTICS = {"BytesInUse": "bytes_in_use", "BytesLimit": "bytes_limit", "MaxBytesInUse": "peak_bytes_in_use"}


def _bytes(name: str) -> np.int64:
    found = jax.local_devices()[0].memory_stats()
    if found is None:
        raise errors.InvalidArgumentError(
            None, None, f"No OpKernel was registered to support Op '{name}' with these attrs: []"
        )
    return np.int64(found[_STATISTICS[name]])


for _name in _STATISTICS:
    op(
        _name, "() -> (out: int64)", shape=si.scalar, kernel=functools.partial(_bytes, _name),
        gradient=NotDifferentiable("1.15 registers none", raises=True), side=HOST, effects=EXTERNAL,
    )  # fmt: skip


@export("contrib.memory_stats.BytesInUse")
def BytesInUse() -> Tensor:  # noqa: N802
    """The bytes of the first GPU in use, an int64 scalar; a run without GPU raises InvalidArgumentError."""
    return raw.BytesInUse()


@export("contrib.memory_stats.BytesLimit")
def BytesLimit() -> Tensor:  # noqa: N802
    """The bytes of the first GPU that may be used, an int64 scalar; a run without GPU raises InvalidArgumentError."""
    return raw.BytesLimit()


@export("contrib.memory_stats.MaxBytesInUse")
def MaxBytesInUse() -> Tensor:  # noqa: N802
    """The most bytes of the first GPU in use so far, an int64 scalar; a run without GPU raises InvalidArgumentError."""
    return raw.MaxBytesInUse()
