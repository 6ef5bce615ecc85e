"""The op types of datasets that split a pipeline over workers (autosharding) and over replicas (rebatching), and wrap datasets as variants.

TensorFlow 1.15's AutoShard rewrites the graph of a pipeline. Here the kernels of the pipeline stay; the iteration's `Scope.shards` tells
those that read files by name to take only their shard of the names.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.data.transform_ops import shard_of
from tfcompat._src.data.values import NO_GRADIENT, OUTPUTS, DatasetValue, Element, Next, Scope, dataset_of, dataset_op
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.attr_values import FunctionRef
from tfcompat._src.graph.op_spec import HOST, op
from tfcompat._src.graph.operation import Operation
from tfcompat._src.ops.queues.resource import invalid

_READERS = ("FixedLengthRecordDataset", "FixedLengthRecordDatasetV2", "TextLineDataset", "TFRecordDataset")
"""Datasets that read files."""
_OF_FILES = ("FlatMapDataset", "InterleaveDataset", "ParallelInterleaveDataset", "ParallelInterleaveDatasetV2", "ExperimentalParallelInterleaveDataset")
"""Datasets that map elements, which may be file names, to datasets."""
_KEEP_ELEMENTS = (
    "BatchDataset", "BatchDatasetV2", "CacheDataset", "ConcatenateDataset", "FilterDataset", "MapAndBatchDataset",
    "ExperimentalMapAndBatchDataset", "MapDataset", "ModelDataset", "OptimizeDataset", "PaddedBatchDataset", "PaddedBatchDatasetV2",
    "ParallelMapDataset", "ParseExampleDataset", "PrefetchDataset", "RebatchDataset", "RepeatDataset", "ShardDataset",
    "ShuffleAndRepeatDataset", "ShuffleDataset", "SkipDataset", "TakeDataset", "WindowDataset", "ZipDataset",
)  # fmt: skip
"""Datasets through which TensorFlow 1.15 looks for the file names of a pipeline; others make it shard by elements."""


def _reads_files(node: Operation) -> bool:
    """Whether a node's function, or a function that is called from it, makes a dataset that reads files."""
    # Depth first through the functions that attributes refer to.
    pending, seen = [node], set()
    while pending:
        for reference in pending.pop().attrs.values():
            if not isinstance(reference, FunctionRef) or reference.name in seen:
                continue
            seen.add(reference.name)
            function = node._graph._get_function(reference.name)
            inner = function.body.get_operations() if function is not None else ()
            if any(each.type in _READERS for each in inner):
                return True
            pending.extend(inner)
    return False


def _over_files(last: DatasetValue) -> list[DatasetValue]:
    """Returns the datasets of the pipeline whose input is file names; an empty list if the pipeline cannot be sharded by files.

    Where file names are shuffled, it is the shuffle that is sharded: all workers must split the names before they reorder them.
    """
    # From the last dataset towards the sources. All sources must be lists of file names.
    over_files, pending = [], [last]
    while pending:
        value = pending.pop()
        if value.op.type in _OF_FILES and _reads_files(value.op):
            names = value.inputs[0]
            over_files.append(names if names.op.type == "ShuffleDataset" else value)
        elif value.op.type in _KEEP_ELEMENTS:
            pending.extend(value.inputs)
        else:
            return []
    return over_files


def _auto_shard(context: HostContext, input_dataset: NDArray, num_workers: NDArray, index: NDArray) -> DatasetValue:
    """Returns the elements of this worker: those of its files, or, without files, every `num_workers`-th element."""
    source, workers, own = dataset_of(input_dataset), int(num_workers), int(index)
    if own < 0 or own >= workers:
        raise invalid(f"`index` must be >= 0 and < {workers}, but is {own}.")
    over_files = _over_files(source) if workers > 1 else []

    def start(scope: Scope) -> Next:
        if workers == 1:
            return source.start(scope)
        # The datasets look up their shard when they start, so it is set before.
        scope.shards.update(dict.fromkeys((id(value.context) for value in over_files), (workers, own)))
        following = source.start(scope)
        return following if over_files else shard_of(following, workers, own, True)

    return DatasetValue(start, source.size if workers == 1 else -2)


def _rebatch(context: HostContext, input_dataset: NDArray, num_replicas: NDArray) -> DatasetValue:
    """Splits each batch into one for each replica."""
    source, replicas = dataset_of(input_dataset), int(num_replicas)
    if replicas <= 0:
        raise invalid("num_replicas must be greater than zero.")

    def start(scope: Scope) -> Next:
        following = source.start(scope)
        parts: Iterator[Element] = iter(())

        def part() -> Element:
            nonlocal parts
            for element in parts:
                return element
            parts = _parts(following(), replicas)
            return next(parts)

        return part

    return DatasetValue(start, source.size if source.size < 0 else source.size * replicas)


def _parts(batch: Element, replicas: int) -> Iterator[Element]:
    """Splits a batch into `replicas` batches of equal size, rounded up; the last ones may be smaller or empty."""
    if any(not component.ndim for component in batch):
        raise invalid("Cannot rebatch dataset: All components must have at least one dimension.")
    size = len(batch[0])
    if any(len(component) != size for component in batch):
        raise invalid("Cannot rebatch dataset: All components must have the same size in the first dimension.")
    # E.g. a batch of 10 for 4 replicas is split into 3, 3, 3 and 1.
    each = -(-size // replicas)
    bounds = [min(i * each, size) for i in range(replicas + 1)]
    return (tuple([component[a:b] for component in batch]) for a, b in zip(bounds, bounds[1:]))


for _prefix in ("", "Experimental"):
    dataset_op(_prefix + "AutoShardDataset", "input_dataset: variant, num_workers: int64, index: int64")(_auto_shard)
    dataset_op(
        _prefix + "RebatchDataset", "input_dataset: variant, num_replicas: int64", f"{OUTPUTS}, use_fallback: bool = True"
    )(_rebatch)

op("WrapDatasetVariant", "(input_handle: variant) -> (output_handle: variant)", shape=si.scalar, gradient=NO_GRADIENT, side=HOST,
   kernel=lambda input_handle: np.asarray(input_handle, object))  # fmt: skip
op("UnwrapDatasetVariant", "(input_handle: variant) -> (output_handle: variant)", shape=si.scalar, gradient=NO_GRADIENT, side=HOST,
   kernel=lambda input_handle: np.asarray(input_handle, object))  # fmt: skip
