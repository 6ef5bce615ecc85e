"""tf.contrib.data: functions for `Dataset.apply`, and datasets, that tf.data.experimental does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.framework.shapes import with_shape
from tfcompat._src.data import nest, structure
from tfcompat._src.data.dataset import DatasetV2, number
from tfcompat._src.data.dataset_v1 import DatasetV1Adapter, make_one_shot_iterator
from tfcompat._src.data.experimental.grouping import Reducer
from tfcompat._src.data.experimental.readers import make_batched_features_dataset_v1
from tfcompat._src.data.experimental.transformations import parallel_interleave
from tfcompat._src.data.iterator import flat_attrs
from tfcompat._src.data.readers import TFRecordDatasetV1
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.tensor_spec import TensorSpec

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

Apply = Callable[[Any], Any]


@export("contrib.data.batch_and_drop_remainder")
def batch_and_drop_remainder(batch_size: object) -> Apply:
    """For `apply`: full batches of `batch_size` (int64 scalar) elements; those that are left are dropped."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


@export("contrib.data.padded_batch_and_drop_remainder")
def padded_batch_and_drop_remainder(batch_size: object, padded_shapes: object, padding_values: object = None) -> Apply:
    """For `apply`: `Dataset.padded_batch` without a shorter last batch."""
    return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, drop_remainder=True)


@export("contrib.data.sloppy_interleave")
def sloppy_interleave(map_func: Callable, cycle_length: object, block_length: object = 1) -> Apply:
    """For `apply`: `parallel_interleave` that passes over datasets whose next element is not there yet."""
    return parallel_interleave(map_func, cycle_length, block_length, sloppy=True)


@export("contrib.data.sliding_window_batch")
def sliding_window_batch(window_size: Any, stride: object = None, window_shift: Any = None, window_stride: Any = 1) -> Apply:
    """For `apply`: batches of `window_size` elements `window_stride` apart.

    Args:
      window_shift: elements from the begin of one window to that of the next, by default 1. stride: another name of it.

    Raises:
      ValueError: both names are given.
    """
    if stride is not None and window_shift is not None:
        raise ValueError("Cannot specify both `stride` and `window_shift`")
    shift = stride if stride is not None else 1 if window_shift is None else window_shift

    def apply(dataset: Any) -> Any:
        size, stride_64 = number(window_size, "window_stride"), number(window_stride, "window_stride")
        spec = nest.map_structure(lambda each: each._batch(None), dataset.element_spec)
        made = raw.SlidingWindowDataset(dataset._variant_tensor, size, number(shift, "window_shift"), stride_64, **flat_attrs(spec))
        return dataset._made(made, spec)

    return apply


@export("contrib.data.assert_element_shape")
def assert_element_shape(expected_shapes: Any) -> Apply:
    """For `apply`: checks that elements have these shapes, a structure of TensorShapes; ValueError where they cannot have."""

    def check(*elements: Any) -> Any:
        pairs = zip(nest.flatten(expected_shapes), nest.flatten(elements))
        return nest.pack_sequence_as(elements, [with_shape(shape, tensor) if shape else tensor for shape, tensor in pairs])

    def apply(dataset: Any) -> Any:
        shapes = structure.legacy(dataset.element_spec, "shapes")
        merged = [a.merge_with(b) for a, b in zip(nest.flatten(shapes), nest.flatten_up_to(shapes, expected_shapes))]
        types = structure.legacy(dataset.element_spec, "types")
        return _RestructuredDataset(
            dataset.map(check), types, nest.pack_sequence_as(shapes, merged), structure.legacy(dataset.element_spec, "classes")
        )

    return apply


class _RestructuredDataset(DatasetV1Adapter):
    """A dataset whose elements have the same components in another structure, or closer shapes.

    Args:
      output_types, output_shapes, output_classes: structures of what the elements are; shapes and classes by default as before.

    Raises:
      ValueError: dtypes differ from those of `dataset`, or shapes cannot be.
    """

    def __init__(self, dataset: Any, output_types: object, output_shapes: object = None, output_classes: object = None) -> None:
        types, shapes, classes = (structure.legacy(dataset.element_spec, what) for what in ("types", "shapes", "classes"))
        output_types = nest.map_structure(dtypes.as_dtype, output_types)
        if nest.flatten(types) != nest.flatten(output_types):
            raise ValueError("Dataset with output types %r cannot be restructured to have output types %r" % (types, output_types))
        if output_shapes is None:
            output_shapes = nest.pack_sequence_as(output_types, nest.flatten(shapes))
        else:
            nest.assert_same_structure(output_types, output_shapes)
            output_shapes = nest.map_structure_up_to(output_types, TensorShape, output_shapes)
            for before, after in zip(nest.flatten(shapes), nest.flatten_up_to(output_types, output_shapes)):
                if not before.is_compatible_with(after):
                    raise ValueError(
                        "Dataset with output shapes %r cannot be restructured to have incompatible output shapes %r" % (shapes, output_shapes)
                    )
        if output_classes is None:
            output_classes = nest.pack_sequence_as(output_types, nest.flatten(classes))
        spec = structure.convert_legacy_structure(output_types, output_shapes, output_classes)
        super().__init__(dataset._variant_tensor, spec, (dataset,))


@export("contrib.data.reduce_dataset")
def reduce_dataset(dataset: object, reducer: Reducer) -> Any:
    """The state of a reducer after all elements; its `finalize_func` is not called. TypeError where `dataset` is none."""
    if not isinstance(dataset, DatasetV2):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    return dataset.reduce(reducer.init_func(np.int64(0)), reducer.reduce_func)


@export("contrib.data.read_batch_features")
def read_batch_features(
    file_pattern: object, batch_size: object, features: dict, reader: object = TFRecordDatasetV1, reader_args: object = None, randomize_input: bool = True,
    num_epochs: object = None, capacity: object = 10000,
) -> dict:  # fmt: skip
    """The tensors of the next batch of parsed tf.Example messages from files; arguments as for `make_batched_features_dataset`."""
    dataset = make_batched_features_dataset_v1(
        file_pattern, batch_size, features, reader=reader, reader_args=reader_args, shuffle=randomize_input, num_epochs=num_epochs,
        shuffle_buffer_size=capacity,
    )  # fmt: skip
    return make_one_shot_iterator(dataset).get_next()


@export("contrib.data.LMDBDataset")
class LMDBDataset(DatasetV1Adapter):
    """The keys and values of LMDB databases, in order of the keys.

    Args:
      filenames: files, or folders with a data.mdb.
    """

    def __init__(self, filenames: TensorLike) -> None:
        spec = (TensorSpec([], dtypes.string), TensorSpec([], dtypes.string))
        names = convert_to_tensor(filenames, dtypes.string, name="filenames")
        super().__init__(raw.LMDBDataset(names, **flat_attrs(spec)), spec)
