"""Which inputs of the op types that make datasets are numbers and which are lists of them: checked when a node is built, and when it runs."""

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
"""Op types whose inputs 1.15 looks at in their kernels only."""

_ONLY_WHEN_RUN = (
    "cycle_length", "block_length", "sloppy", "buffer_output_elements", "prefetch_input_elements", "num_parallel_calls", "num_replicas",
    "num_threads", "max_intra_op_parallelism", "ratio_numerator", "ratio_denominator",
)  # fmt: skip
"""Numbers whose shape 1.15 does not look at when it builds the node."""

_BY_OP = {"MapAndBatchDataset": (), "AutoShardDataset": ("num_workers", "index"), "SetStatsAggregatorDataset": ("tag", "counter_prefix"),
          "FixedLengthRecordDatasetV2": ("compression_type",)}  # fmt: skip


class _Input(NamedTuple):
    """An input with a rank: its name, its place among the node's inputs (from the end where a list comes before it), what it must be."""

    name: str
    place: int
    check: Callable[[si.Sizes], None] | None


def _up_to_vector(sizes: si.Sizes) -> None:
    if sizes is not None and len(sizes) > 1:
        raise ValueError(f"Shape must be at most rank 1 but is rank {len(sizes)}")


def _inputs(op_type: str, signature: str) -> list[_Input]:
    """The inputs with a rank of an op type whose inputs read `name: type, ...`."""
    if op_type in _WITHOUT_CHECKS:
        return []
    named = [part.split(": ") for part in signature.split(", ") if part]
    lists = [place for place, (_, kind) in enumerate(named) if kind not in (*_KINDS, "variant", "resource", "Tvalues")]
    late = _BY_OP.get(op_type, _ONLY_WHEN_RUN)
    found = []
    for place, (name, kind) in enumerate(named):
        if kind not in _KINDS or name in _OF_ANY_RANK:
            continue
        check = None if name in late else _up_to_vector if name in _UP_TO_VECTORS else _vector if name in _VECTORS else _scalar
        found.append(_Input(name, place - len(named) if lists and place > lists[-1] else place, check))
    return found


def _scalar(sizes: si.Sizes) -> None:
    si.with_rank(sizes, 0)


def _vector(sizes: si.Sizes) -> None:
    si.with_rank(sizes, 1)


def shape_of(op_type: str, signature: str) -> Callable[[si.InferenceContext], list[si.Sizes]]:
    """The shape function of an op type that makes a dataset: a scalar, after ValueError for an input of another rank."""
    checked = [each for each in _inputs(op_type, signature) if each.check is not None]

    def shape(c: si.InferenceContext) -> list[si.Sizes]:
        for each in checked:
            each.check(c.inputs[each.place])  # type: ignore[misc]  # those without a check are left out
        return si.scalar(c)

    return shape


def require_scalars(op_type: str, signature: str) -> Callable[[Sequence[object]], None]:
    """A check of a kernel's arguments, lists as one argument each: InvalidArgumentError where a number is a list."""
    names = [part.split(": ")[0] for part in signature.split(", ") if part]
    numbers = [each.name for each in _inputs(op_type, signature) if each.check in (_scalar, None)]
    places = [(name, names.index(name)) for name in numbers]

    def check(arguments: Sequence[object]) -> None:
        for name, place in places:
            if np.ndim(arguments[place]):  # type: ignore[arg-type]  # kernels take arrays
                raise invalid(f"{name} must be a scalar")

    return check
