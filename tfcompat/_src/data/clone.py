"""Copies of a dataset for several devices, and the datasets of autosharding and rebatching."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.data import nest
from tfcompat._src.data.dataset import DatasetV2
from tfcompat._src.data.dataset_v1 import DatasetV1Adapter
from tfcompat._src.data.iterator import flat_attrs
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import device, executing_eagerly, get_default_graph
from tfcompat._src.nodes import raw


def clone_dataset(dataset: DatasetV2) -> DatasetV2:
    """Copies the nodes of a dataset that have variant outputs; their other inputs are shared with the original."""
    copies: dict[Operation, Operation] = {}

    # Recursion over variant inputs, with a memo, so that a dataset that is used twice is copied once.
    def copied(op: Operation) -> Operation:
        inputs = [copied(t.op).outputs[t.value_index] if t.dtype == dtypes.variant else t for t in op.inputs]
        if op not in copies:
            copies[op] = get_default_graph().create_op(op.type, inputs, [t.dtype for t in op.outputs], name=op.name, attrs=op.node_def.attr)
        return copies[op]

    return DatasetV1Adapter(copied(dataset._variant_tensor.op).outputs[0], dataset.element_spec).with_options(dataset.options())


_clone_dataset = clone_dataset
"""The name in TensorFlow 1.15."""


def obtain_all_variant_tensor_ops(dataset: DatasetV2) -> list[Operation]:
    """Returns the nodes with variant outputs that a dataset depends on, breadth first from its own node."""
    seen: dict[Operation, None] = {}
    pending = [dataset._variant_tensor.op]
    while pending:
        op = pending.pop(0)
        if op not in seen:
            seen[op] = None
            pending += [tensor.op for tensor in op.inputs]
    return [op for op in seen if op.outputs[0].dtype == dtypes.variant]


def replicate(dataset: DatasetV2, devices: Iterable[str]) -> dict[str, DatasetV2]:
    """Copies a dataset to several devices; returns the copies by device. In eager code, the dataset itself serves all devices.

    Raises:
      TypeError: `dataset` is not a dataset.
    """
    if not isinstance(dataset, DatasetV2):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    copies: dict[str, DatasetV2] = {}
    for where in devices:
        with device(where):
            copies[where] = dataset if executing_eagerly() else clone_dataset(dataset)
    return copies


def auto_shard_dataset(dataset: DatasetV2, num_shards: int, index: int) -> DatasetV2:
    """Returns the share of worker `index` of `num_shards`, or the whole dataset if its options turn autosharding off."""
    return _AutoShardDataset(dataset, num_shards, index) if dataset.options().experimental_distribute.auto_shard else dataset


class _AutoShardDataset(DatasetV1Adapter):
    """A dataset of one worker's share of the files, or of the elements if no files are read."""

    def __init__(self, input_dataset: DatasetV2, num_workers: object, index: object) -> None:
        made = raw.AutoShardDataset(input_dataset._variant_tensor, num_workers, index, **input_dataset._flat_structure)
        super().__init__(made, input_dataset.element_spec, (input_dataset,))


_AutoShardDatasetV1 = _AutoShardDataset


class _RebatchDataset(DatasetV1Adapter):
    """A dataset that splits each batch of another into `num_replicas` batches; ValueError if a component is a scalar."""

    def __init__(self, input_dataset: DatasetV2, num_replicas: int, use_fallback: bool = True) -> None:
        def part_of(spec: Any) -> Any:
            size = _part_size(spec._to_legacy_output_shapes(), num_replicas)
            return spec._unbatch()._batch(size)

        spec = nest.map_structure(part_of, input_dataset.element_spec)
        made = raw.RebatchDataset(input_dataset._variant_tensor, num_replicas, use_fallback=use_fallback, **flat_attrs(spec))
        super().__init__(made, spec, (input_dataset,))


def _part_size(shape: TensorShape, num_replicas: int) -> int | None:
    """Returns the static batch size of a part, or None if it is not known or not the same for all parts."""
    if shape.ndims is not None and not shape.ndims:
        raise ValueError("Input shape should have at least one dimension. Perhaps your input dataset is not batched?")
    size = shape.dims[0].value if shape.dims else None
    return size // num_replicas if size is not None and size % num_replicas == 0 else None
