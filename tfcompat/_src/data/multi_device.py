"""MultiDeviceIterator: distributes the elements of a dataset over several devices, round-robin.

The dataset is iterated over on its source device. Each device has a generator dataset whose functions call the source device for the
next element of their shard, a prefetch, and an iterator of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tfcompat._src.data import multi_device_ops, structure  # noqa: F401  (the ops)
from tfcompat._src.data.dataset import DatasetV2
from tfcompat._src.data.dataset_v1 import DatasetV1, DatasetV1Adapter, as_v1
from tfcompat._src.data.iterator import EagerIterator, Iterator, flat_attrs, get_next_as_optional
from tfcompat._src.data.options import Options
from tfcompat._src.data.remote_functions import HANDLE, generator_dataset, no_more, remote_function
from tfcompat._src.function.tracing import Traced
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import device as on_device
from tfcompat._src.graph.scopes import executing_eagerly, executing_eagerly_outside_functions
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.control.groups import group

T = TypeVar("T")
_Functions = tuple[Traced, Traced, Traced]
"""The init, next and finalize functions of a device's generator dataset."""


class MultiDeviceIterator:
    """An iterator whose elements go to the first device, the second, and so on, round-robin.

    Args:
      dataset: a tf.data.Dataset. devices: list of device strings.
      max_buffer_size: accepted without effect: on the source device, the elements of a slow device wait without a limit.
      prefetch_buffer_size: elements prefetched to each device.
      source_device: the device of the dataset.
    """

    def __init__(
        self, dataset: DatasetV2, devices: Sequence[str], max_buffer_size: int = 1, prefetch_buffer_size: int = 1, source_device: str = "/cpu:0"
    ) -> None:
        # The number of devices is the period of the slack optimization.
        options = Options()
        options.experimental_distribute.num_devices = len(devices)
        self._dataset = dataset.with_options(options)._apply_options()
        self._devices, self._source_device = devices, source_device
        self._source_device_tensor = convert_to_tensor(source_device)
        self._max_buffer_size = max(max_buffer_size, prefetch_buffer_size)
        with on_device(source_device):
            self._multi_device_iterator_resource = raw.MultiDeviceIterator(
                devices=list(devices), shared_name="", container="", **self._dataset._flat_structure
            )
            self._incarnation_id = raw.MultiDeviceIteratorInit(
                self._dataset._variant_tensor, self._multi_device_iterator_resource, max_buffer_size=self._max_buffer_size
            )
        # One iterator per device: it starts at once in eager code, and by an initializer in a graph.
        self._prefetch_buffer_size = prefetch_buffer_size
        self._device_iterators: list[Iterator] | list[EagerIterator]
        self._initializer: Operation | None = None
        if executing_eagerly():
            self._device_iterators = self._of_devices(lambda functions: EagerIterator(self._on_device(functions)))
        else:
            iterators = self._of_devices(lambda functions: self._on_device(functions).make_initializable_iterator())
            self._device_iterators, self._initializer = iterators, group(*[iterator.initializer for iterator in iterators])

    def _of_devices(self, make: Callable[[_Functions], T]) -> list[T]:
        """Returns `make(functions)` for each device, called in its device scope."""
        # TensorFlow 1.15 makes the generator datasets twice; the unused nodes are kept, as they count in the names of later ones.
        functions = []
        for shard, device in enumerate(self._devices):
            with on_device(device):
                functions.append(self._functions(shard))
                generator_dataset(*functions[-1], self._dataset.element_spec)
        made = []
        for device, three in zip(self._devices, functions):
            with on_device(device):
                made.append(make(three))
        return made

    def _eager_reset(self) -> None:
        """Starts a new iteration, in eager code; ValueError in a graph."""
        if not executing_eagerly_outside_functions():
            raise ValueError("Eager reset is only supported in eager mode.")
        with on_device(self._source_device):
            self._incarnation_id = raw.MultiDeviceIteratorInit(
                self._dataset._variant_tensor, self._multi_device_iterator_resource, max_buffer_size=self._max_buffer_size
            )
        for iterator, dataset in zip(self._device_iterators, self._of_devices(self._on_device)):
            raw.MakeIterator(dataset._apply_options()._variant_tensor, iterator._iterator_resource)

    def _functions(self, shard: int) -> _Functions:
        """Traces the functions that return the elements of one shard on its device."""
        # The string handle is the state of the generator: init returns it, and next looks the iterator up on the source device.
        handle = raw.MultiDeviceIteratorToStringHandle(self._multi_device_iterator_resource)
        if isinstance(handle, EagerTensor):
            handle.stays_captured = True  # a remote call takes what its function captures, and takes at least one tensor
        source, attrs = self._source_device_tensor, flat_attrs(self._dataset.element_spec)

        def next_element(inputs: list[Tensor]) -> Any:
            iterator = raw.MultiDeviceIteratorFromStringHandle(inputs[0], **attrs)
            return raw.MultiDeviceIteratorGetNextFromShard(iterator, shard, self._incarnation_id, **attrs)

        return (
            remote_function("init_func", source, [], lambda inputs: handle),
            remote_function("next_func", source, HANDLE, next_element),
            remote_function("finalize_func", source, HANDLE, no_more),
        )

    def _on_device(self, functions: _Functions) -> DatasetV1:
        """Returns the dataset of a device, without optimizations: those were applied on the source device."""
        dataset: DatasetV2 = DatasetV1Adapter(generator_dataset(*functions, self._dataset.element_spec), self._dataset.element_spec)
        if self._prefetch_buffer_size > 0:
            dataset = dataset.prefetch(self._prefetch_buffer_size)
        options = Options()
        options.experimental_optimization.apply_default_optimizations = False
        options.experimental_optimization.autotune = False
        return as_v1(dataset.with_options(options))

    def get_next(self, device: str | None = None) -> Any:
        """Returns the next element of `device`, or, without a device, the list of the next element of each."""
        if device is not None:
            return self._device_iterators[self._devices.index(device)].get_next()
        return self._of_each(lambda iterator: iterator.get_next())

    def get_next_as_optional(self) -> list[Any]:
        """Returns the list of the next element of each device as an Optional, without a value at the end."""
        return self._of_each(get_next_as_optional)

    def _of_each(self, take: Any) -> list[Any]:
        elements = []
        for device, iterator in zip(self._devices, self._device_iterators):
            with on_device(device):
                elements.append(take(iterator))
        return elements

    @property
    def initializer(self) -> Operation | None:
        """The operation that starts an iteration; None in eager code, where it has started already."""
        return self._initializer

    @property
    def element_spec(self) -> Any:
        """The structure of TypeSpecs of an element."""
        return self._dataset.element_spec
