"""Datasets and iterators that give each replica its input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfcompat._src.base import nest
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.data import structure
from tfcompat._src.data.clone import _RebatchDataset, auto_shard_dataset, clone_dataset
from tfcompat._src.data.dataset import DatasetV2
from tfcompat._src.data.dataset_v1 import Dataset
from tfcompat._src.data.multi_device import MultiDeviceIterator
from tfcompat._src.data.options import Options
from tfcompat._src.distribute.device_util import get_host_for_device
from tfcompat._src.distribute.values import regroup
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import device
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.control.groups import group
from tfcompat._src.variables.variable import Variable, variable_creator_scope


class DistributedIterator:
    """An iterator over the inputs of all replicas.

    Args:
      take: makes the nodes of the next input of each replica, a list.
      initializers: operations that begin the iteration. devices: of the replicas.
      element_spec: structure of the TypeSpecs of a replica's input, where it is known.
    """

    def __init__(self, take: Callable[[], list], initializers: Sequence[Operation], devices: Sequence[str], element_spec: Any = None) -> None:
        self._take, self._initializers, self._devices, self.element_spec = take, list(initializers), tuple(devices), element_spec

    def get_next(self, name: str | None = None) -> Any:
        """The next input: of one replica as it is, of several as a nest of PerReplica values."""
        with device(get_host_for_device(self._devices[0])):
            made = self._take()
        return made[0] if len(made) == 1 else regroup(self._devices, made)

    def initialize(self) -> Any:
        """The operation that begins the iteration; a list without one where the input is a function."""
        return group(self._initializers) if self._initializers else []

    @property
    def initializer(self) -> Any:
        """As `initialize()`."""
        return self.initialize()

    output_classes = structure.legacy_property("classes")
    output_shapes = structure.legacy_property("shapes")
    output_types = structure.legacy_property("types")

    def __iter__(self) -> Any:
        raise RuntimeError("Iterating over a distributed iterator needs eager execution; call get_next() in the graph.")


def _iterator_over(dataset: Any, devices: Sequence[str]) -> DistributedIterator:
    with device(get_host_for_device(devices[0])):
        iterator = MultiDeviceIterator(dataset, list(devices))
    return DistributedIterator(iterator.get_next, [iterator.initializer], devices, dataset.element_spec)


class DistributedDataset:
    """A dataset whose elements go to the replicas in turn.

    Args:
      dataset: a tf.data.Dataset. devices: of the replicas.
      split_batch_by: in how many parts, for as many replicas, each of its batches is split; None: batches are as they are.
      context: the InputContext, where other workers share the dataset.

    Raises:
      ValueError: elements are to be split and are no batches.
    """

    def __init__(self, dataset: Any, devices: Sequence[str], split_batch_by: int | None = None, context: Any = None) -> None:
        workers, number = (1, 0) if context is None else (context.num_input_pipelines, context.input_pipeline_id)
        if split_batch_by:
            dataset = _RebatchDataset(dataset, split_batch_by).prefetch(split_batch_by)
        options = Options()
        options.experimental_distribute._make_stateless = True
        dataset = dataset.with_options(options)
        with device(get_host_for_device(devices[0])):
            self._dataset = auto_shard_dataset(clone_dataset(dataset), workers, number)
        self._devices, self.element_spec = tuple(devices), dataset.element_spec

    def make_initializable_iterator(self, shared_name: str | None = None) -> DistributedIterator:
        """An iterator whose `initializer` begins a pass."""
        return _iterator_over(self._dataset, self._devices)

    def make_one_shot_iterator(self) -> DistributedIterator:
        raise ValueError("Cannot create a one shot iterator. Please use `make_initializable_iterator()` instead.")

    def __iter__(self) -> Any:
        raise RuntimeError("__iter__() is only supported inside of tf.function or when eager execution is enabled.")


class DistributedDatasetFromFunction(DistributedDataset):
    """The dataset of batches for one replica each that `dataset_fn(input_context)` makes."""

    def __init__(self, dataset_fn: Callable, input_context: Any, devices: Sequence[str]) -> None:
        self._make, self._context, self._devices = dataset_fn, input_context, tuple(devices)

    def make_initializable_iterator(self, shared_name: str | None = None) -> DistributedIterator:
        """An iterator whose `initializer` begins a pass."""
        with device(get_host_for_device(self._devices[0])):
            dataset = self._make(self._context)
            options = Options()
            options.experimental_distribute._make_stateless = True
            return _iterator_over(dataset.with_options(options), self._devices)


def dataset_iterator(dataset: Any, devices: Sequence[str], split_batch_by: int | None = None) -> DistributedIterator:
    """What `make_dataset_iterator` gives; arguments as for DistributedDataset."""
    return DistributedDataset(dataset, devices, split_batch_by).make_initializable_iterator()


def input_function_iterator(input_fn: Callable, input_context: Any, devices: Sequence[str]) -> DistributedIterator:
    """What `make_input_fn_iterator` gives.

    Args:
      input_fn: of an InputContext; gives a tf.data.Dataset of batches for one replica each, or a function that makes the tensors of one.
      devices: of the replicas.

    Raises:
      ValueError: it gives something else.
    """
    with device(get_host_for_device(devices[0])):
        source = input_fn(input_context)
        if isinstance(source, DatasetV2):
            return _iterator_over(source, devices)
    return callable_iterator(source, devices)


def callable_iterator(source: Any, devices: Sequence[str]) -> DistributedIterator:
    """An iterator over the tensors that a function makes, once for each replica; ValueError where it is none."""
    if not callable(source):
        raise ValueError("input_fn must return a tf.data.Dataset or a callable.")
    return DistributedIterator(lambda: [source() for _ in devices], [], devices)


def numpy_dataset(numpy_input: Any, host_device: str, session: SessionLike) -> Any:
    """A dataset of the rows of a structure of arrays, which variables on the host keep and `session` is given the values of."""
    arrays = [np.asarray(each) for each in nest.flatten(numpy_input)]

    def on_host(next_creator: Callable, *args: Any, **kwargs: Any) -> Any:
        with device(host_device):
            return next_creator(*args, **kwargs)

    with variable_creator_scope(on_host):
        kept = [Variable(zeros(each.shape, each.dtype), trainable=False) for each in arrays]
    for each, array in zip(kept, arrays):
        session.run(each.initializer)
        fed = placeholder(array.dtype, array.shape)
        session.run(each.assign(fed), {fed: array})
    return Dataset.from_tensor_slices(nest.pack_sequence_as(numpy_input, kept))
