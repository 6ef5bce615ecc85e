"""The ranks of the inputs of op types that make datasets: checked by shape functions, and by kernels.

TensorFlow 1.15 checks some inputs when a node is built, some only in the kernel, and some never. The same inputs are checked here at the
same time, so that a program fails where it fails there. Inputs are known by their names and types in the op's signature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tfcompat._src.graph import shape_inference as si
from tfcompat._src.ops.queues.resource import invalid

_KINDS = ("int32", "int64", "float32", "bool", "string")
_VECTORS = ("transformations", "select_cols", "row_shape")
_UP_TO_VECTORS = ("filenames", "patterns")
_OF_ANY_RANK = ("optimizations", "indices", "dense_shape")
_WITHOUT_CHECKS = ("LMDBDataset", "SequenceFileDataset")
"""Op types whose shape function in TensorFlow 1.15 checks no input."""

_ONLY_WHEN_RUN = (
    "cycle_length", "block_length", "sloppy", "buffer_output_elements", "prefetch_input_elements", "num_parallel_calls", "num_replicas",
    "num_threads", "max_intra_op_parallelism", "ratio_numerator", "ratio_denominator",
)  # fmt: skip
"""Scalars that TensorFlow 1.15 checks only in the kernel."""

_BY_OP = {"MapAndBatchDataset": (), "AutoShardDataset": ("num_workers", "index"), "SetStatsAggregatorDataset": ("tag", "counter_prefix"),
          "FixedLengthRecordDatasetV2": ("compression_type",)}  # fmt: skip
"""Op types for which other inputs than `_ONLY_WHEN_RUN` are checked only in the kernel."""


class _Input(NamedTuple):
    """An input whose rank is checked.

    Attributes:
      position: its index among the node's inputs; negative, from the end, if a list of inputs comes before it.
      check: raises ValueError for a static shape of another rank; None if only the kernel checks.
    """

    name: str
    position: int
    check: Callable[[si.Sizes], None] | None


def _up_to_vector(sizes: si.Sizes) -> None:
    if sizes is not None and len(sizes) > 1:
        raise ValueError(f"Shape must be at most rank 1 but is rank {len(sizes)}")


def _inputs(op_type: str, signature: str) -> list[_Input]:
    """Returns the inputs of an op type whose ranks are checked; `signature` is `name: type, ...`."""
    if op_type in _WITHOUT_CHECKS:
        return []
    # An input of another type than these is a list, whose length varies from node to node.
    named = [part.split(": ") for part in signature.split(", ") if part]
    lists = [position for position, (_, kind) in enumerate(named) if kind not in (*_KINDS, "variant", "resource", "Tvalues")]
    late = _BY_OP.get(op_type, _ONLY_WHEN_RUN)
    inputs = []
    for position, (name, kind) in enumerate(named):
        if kind not in _KINDS or name in _OF_ANY_RANK:
            continue
        # Names that are in none of the tables are scalars.
        check = None if name in late else _up_to_vector if name in _UP_TO_VECTORS else _vector if name in _VECTORS else _scalar
        inputs.append(_Input(name, position - len(named) if lists and position > lists[-1] else position, check))
    return inputs


def _scalar(sizes: si.Sizes) -> None:
    si.with_rank(sizes, 0)


def _vector(sizes: si.Sizes) -> None:
    si.with_rank(sizes, 1)


def shape_of(op_type: str, signature: str) -> Callable[[si.InferenceContext], list[si.Sizes]]:
    """Returns the shape function of an op type that makes a dataset: it checks the ranks of inputs and returns a scalar's shape."""
    checked = [each for each in _inputs(op_type, signature) if each.check is not None]

    def shape(c: si.InferenceContext) -> list[si.Sizes]:
        for each in checked:
            each.check(c.inputs[each.position])  # type: ignore[misc]  # those without a check are left out
        return si.scalar(c)

    return shape


def require_scalars(op_type: str, signature: str) -> Callable[[Sequence[object]], None]:
    """Returns a check of a kernel's arguments, which raises InvalidArgumentError if a scalar input has another rank.

    A list of inputs is one argument of a kernel, so the position of an argument is that of its name in the signature.
    """
    names = [part.split(": ")[0] for part in signature.split(", ") if part]
    numbers = [each.name for each in _inputs(op_type, signature) if each.check in (_scalar, None)]
    positions = [(name, names.index(name)) for name in numbers]

    def check(arguments: Sequence[object]) -> None:
        for name, position in positions:
            if np.ndim(arguments[position]):  # type: ignore[arg-type]  # kernels take arrays
                raise invalid(f"{name} must be a scalar")

    return check
