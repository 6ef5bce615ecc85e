"""tf.data.experimental: transformations that copy the elements of a dataset to another device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.device import DeviceSpec
from tfcompat._src.base.export import export
from tfcompat._src.data import structure
from tfcompat._src.data.dataset import DatasetV2
from tfcompat._src.data.dataset_v1 import DatasetV1Adapter
from tfcompat._src.data.iterator import EagerIterator, Iterator, flat_attrs, legacy_of
from tfcompat._src.data.options import Options
from tfcompat._src.data.remote_functions import HANDLE, generator_dataset, remote_function
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.scopes import device as on_device
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor

Apply = Callable[[DatasetV2], DatasetV2]


@export("data.experimental.prefetch_to_device", "contrib.data.prefetch_to_device")
def prefetch_to_device(device: str, buffer_size: object = None) -> Apply:
    """For `apply`, as the last transformation: `copy_to_device`, then `prefetch`.

    Args:
      device: string. buffer_size: int64 scalar, elements on the device; by default AUTOTUNE.
    """
    return lambda dataset: dataset.apply(copy_to_device(device)).prefetch(buffer_size)


@export("data.experimental.copy_to_device", "contrib.data.copy_to_device")
def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Apply:
    """For `apply`: copies the elements from `source_device`, where the dataset before it runs, to `target_device`."""

    def apply(dataset: DatasetV2) -> DatasetV2:
        # Optimizations belong to the pipeline on the source device; the generator dataset on the target is left as it is.
        options = Options()
        options.experimental_optimization.apply_default_optimizations = False
        options.experimental_optimization.autotune = False
        return _CopyToDeviceDataset(dataset, target_device, source_device).with_options(options)

    return apply


class _CopyToDeviceDataset(DatasetV1Adapter):
    """A generator dataset on the target device, whose functions run an iterator over the input dataset on the source device."""

    def __init__(self, input_dataset: DatasetV2, target_device: str, source_device: str = "/cpu:0") -> None:
        spec = input_dataset.element_spec
        attrs = flat_attrs(spec)
        source = convert_to_tensor(source_device)
        wrapped = raw.WrapDatasetVariant(input_dataset._variant_tensor)

        # The three functions run on the source device. Their state is the string handle of an iterator there, as a resource handle
        # cannot cross devices; the wrapped variant keeps the dataset itself from being copied to the target.
        def begin(inputs: list[Tensor]) -> Tensor:
            iterator = raw.AnonymousIterator(**attrs)
            with control_dependencies([raw.MakeIterator(raw.UnwrapDatasetVariant(wrapped), iterator)]):
                handle: Tensor = raw.IteratorToStringHandle(iterator)
            return handle

        def take(inputs: list[Tensor]) -> Any:
            with on_device(source_device):
                iterator = Iterator.from_string_handle(inputs[0], *legacy_of(spec))
            return structure.to_tensor_list(spec, iterator.get_next())

        def end(inputs: list[Tensor]) -> Tensor:
            iterator = raw.IteratorFromStringHandleV2(inputs[0], **attrs)
            with control_dependencies([raw.DestroyResourceOp(iterator, ignore_lookup_error=True)]):
                return constant(0, dtypes.int64)

        functions = (
            remote_function("init_func", source, [], begin), remote_function("next_func", source, HANDLE, take),
            remote_function("finalize_func", source, HANDLE, end),
        )  # fmt: skip
        with on_device(target_device):
            made = generator_dataset(*functions, spec)
        self._is_gpu_target = DeviceSpec.from_string(target_device).device_type == "GPU"
        super().__init__(made, spec, (input_dataset,))

    def make_one_shot_iterator(self) -> Iterator | EagerIterator:
        """Makes a one-shot iterator; ValueError if the target device is a GPU, as in TensorFlow 1.15."""
        if self._is_gpu_target:
            raise ValueError(
                "Cannot create a one shot iterator when using `tf.data.experimental.copy_to_device()` on GPU. Please use "
                "`Dataset.make_initializable_iterator()` instead."
            )
        return super().make_one_shot_iterator()
