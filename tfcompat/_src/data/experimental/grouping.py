"""tf.data.experimental: grouping of elements by a key, and batches of sequences of similar length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.data import nest, structure
from tfcompat._src.data.dataset import DatasetV2, check_state, relaxed
from tfcompat._src.data.dataset_spec import DatasetSpec
from tfcompat._src.data.iterator import flat_attrs
from tfcompat._src.data.structured_function import StructuredFunctionWrapper
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.math.reduce import reduce_min

Apply = Callable[[DatasetV2], DatasetV2]
_KEY = TensorSpec([], dtypes.int64)
_GROUP = "tf.data.experimental.group_by_window()"
_REDUCER = "tf.data.experimental.group_by_reducer()"


@export("data.experimental.group_by_window", "contrib.data.group_by_window")
def group_by_window(key_func: Callable[..., Any], reduce_func: Callable[..., Any], window_size: object = None, window_size_func: Callable[..., Any] | None = None) -> Apply:
    """For `apply`: collects elements into groups with the same key, and concatenates the datasets `reduce_func(key, group)`.

    Args:
      key_func: maps an element to its key, an int64 scalar. reduce_func: maps a key and the dataset of a group to a dataset.
      window_size: int64, the number of elements of a group. window_size_func: maps a key to the number of elements of its groups.

    Raises:
      ValueError: not exactly one of the last two is given; when applied: `key_func` or `window_size_func` returns no int64 scalar.
      TypeError (when applied): `reduce_func` does not return a dataset.
    """
    if (window_size is not None) == (window_size_func is not None):
        raise ValueError("Must pass either window_size or window_size_func.")
    # A constant window size is a function that ignores the key.
    size_func = window_size_func
    if size_func is None:

        def size_func(unused_key: Tensor) -> Tensor:
            return convert_to_tensor(window_size, dtypes.int64)

    def key_func_wrapper(*args: object) -> Tensor:
        return _cast64(key_func(*args))

    def window_size_func_wrapper(key: Tensor) -> Tensor:
        return _cast64(size_func(key))

    def apply(dataset: DatasetV2) -> DatasetV2:
        keys = StructuredFunctionWrapper(key_func_wrapper, _GROUP, dataset=dataset)
        if not keys.output_structure.is_compatible_with(_KEY):
            raise ValueError("`key_func` must return a single tf.int64 tensor. Got type=%s and shape=%s" % (keys.output_types, keys.output_shapes))
        reduced = StructuredFunctionWrapper(reduce_func, _GROUP, input_structure=(_KEY, DatasetSpec(dataset.element_spec)))
        if not isinstance(reduced.output_structure, DatasetSpec):
            raise TypeError("`reduce_func` must return a `Dataset` object.")
        sizes = StructuredFunctionWrapper(window_size_func_wrapper, _GROUP, input_structure=_KEY)
        if not sizes.output_structure.is_compatible_with(_KEY):
            raise ValueError("`window_size_func` must return a single tf.int64 scalar tensor.")
        spec = reduced.output_structure._element_spec
        made = raw.GroupByWindowDataset(
            dataset._variant_tensor, keys.captured_inputs, reduced.captured_inputs, sizes.captured_inputs, key_func=keys.reference,
            reduce_func=reduced.reference, window_size_func=sizes.reference, **flat_attrs(spec),
        )  # fmt: skip
        return dataset._made(made, spec)

    return apply


def _cast64(value: object) -> Tensor:
    return convert_to_tensor(value, dtypes.int64)


@export("data.experimental.Reducer", "contrib.data.Reducer")
class Reducer:
    """The functions with which `group_by_reducer` folds the elements of a key.

    Args:
      init_func: maps a key to the first state. reduce_func: maps a state and an element to the next state.
      finalize_func: maps the last state to the result.
    """

    def __init__(self, init_func: Callable[..., Any], reduce_func: Callable[..., Any], finalize_func: Callable[..., Any]) -> None:
        self._functions = init_func, reduce_func, finalize_func

    @property
    def init_func(self) -> Callable[..., Any]:
        return self._functions[0]

    @property
    def reduce_func(self) -> Callable[..., Any]:
        return self._functions[1]

    @property
    def finalize_func(self) -> Callable[..., Any]:
        return self._functions[2]


@export("data.experimental.group_by_reducer", "contrib.data.group_by_reducer")
def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Apply:
    """For `apply`: folds the elements of each key; returns one result per key, in the order of the keys.

    Args:
      key_func: maps an element to its key, an int64 scalar. reducer: the functions of the fold.

    Raises (when applied):
      ValueError: `key_func` does not return an int64 scalar.
      TypeError: the classes or dtypes of a state differ from those of the first state.
    """

    def apply(dataset: DatasetV2) -> DatasetV2:
        keys = StructuredFunctionWrapper(key_func, _REDUCER, dataset=dataset)
        if not keys.output_structure.is_compatible_with(_KEY):
            raise ValueError("`key_func` must return a single tf.int64 tensor. Got type=%s and shape=%s" % (keys.output_types, keys.output_shapes))
        # Fixed point of the state's shapes, as in Dataset.reduce.
        first = StructuredFunctionWrapper(reducer.init_func, _REDUCER, input_structure=_KEY)
        spec = first.output_structure
        while True:
            step = StructuredFunctionWrapper(reducer.reduce_func, _REDUCER, input_structure=(spec, dataset.element_spec))
            check_state(spec, step.output_structure, "reduce_func")
            wider = relaxed(spec, step.output_structure)
            if wider == spec:
                break
            spec = wider
        last = StructuredFunctionWrapper(reducer.finalize_func, _REDUCER, input_structure=spec)
        made = raw.ExperimentalGroupByReducerDataset(
            dataset._variant_tensor, keys.captured_inputs, first.captured_inputs, step.captured_inputs, last.captured_inputs,
            key_func=keys.reference, init_func=first.reference, reduce_func=step.reference, finalize_func=last.reference,
            **flat_attrs(last.output_structure),
        )  # fmt: skip
        return dataset._made(made, last.output_structure)

    return apply


@export("data.experimental.bucket_by_sequence_length", "contrib.data.bucket_by_sequence_length")
def bucket_by_sequence_length(
    element_length_func: Callable[..., Any], bucket_boundaries: list[Any], bucket_batch_sizes: list[Any], padded_shapes: object = None, padding_values: object = None,
    pad_to_bucket_boundary: bool = False, no_padding: bool = False, drop_remainder: bool = False,
) -> Apply:  # fmt: skip
    """For `apply`: makes padded batches of elements of similar length.

    Args:
      element_length_func: maps an element to its length, an int32 scalar.
      bucket_boundaries: ints in increasing order; a bucket holds the lengths from one boundary up to, but not including, the next.
      bucket_batch_sizes: ints, the batch size of each bucket; one more than there are boundaries.
      padded_shapes, padding_values: as for `padded_batch`.
      pad_to_bucket_boundary: whether unknown dimensions are padded to the bucket's upper boundary minus 1; otherwise to the largest element.
      no_padding: whether elements are batched without padding.
      drop_remainder: whether a last batch with fewer elements is dropped.

    Raises:
      ValueError: `bucket_batch_sizes` does not have one entry more than `bucket_boundaries`.
    """
    with name_scope("bucket_by_seq_length"):
        if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
            raise ValueError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")
        batch_sizes = constant(bucket_batch_sizes, dtypes.int64)

        # The bucket is the only interval [low, high) that holds the length.
        def element_to_bucket_id(*args: object) -> Tensor:
            length = element_length_func(*args)
            boundaries = list(bucket_boundaries)
            low = [np.iinfo(np.int32).min, *boundaries]
            high = [*boundaries, np.iinfo(np.int32).max]
            inside = raw.LogicalAnd(raw.LessEqual(low, length), raw.Less(length, high))
            bucket: Tensor = reduce_min(where(inside))
            return bucket

        def window_size_fn(bucket_id: Tensor) -> Tensor:
            return batch_sizes[bucket_id]

        def make_padded_shapes(shapes: object, none_filler: object = None) -> Any:
            sizes = [[none_filler if n is None else n for n in TensorShape(shape).as_list()] for shape in nest.flatten(shapes)]
            return nest.pack_sequence_as(shapes, [TensorShape(s) if none_filler is None else s for s in sizes])

        def batching_fn(bucket_id: Tensor, grouped_dataset: DatasetV2) -> DatasetV2:
            batch_size = window_size_fn(bucket_id)
            if no_padding:
                return grouped_dataset.batch(batch_size, drop_remainder=drop_remainder)
            # The last bucket has no upper boundary to pad to.
            none_filler = None
            if pad_to_bucket_boundary:
                limit = constant(len(bucket_batch_sizes) - 1, dtypes.int64)
                message = "When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries)."
                check = Assert(raw.Less(bucket_id, limit), [message])
                with control_dependencies([check]):
                    limits = constant(bucket_boundaries, dtypes.int64)
                    none_filler = limits[bucket_id] - 1
            given = padded_shapes or structure.legacy(grouped_dataset.element_spec, "shapes")
            return grouped_dataset.padded_batch(
                batch_size, make_padded_shapes(given, none_filler), padding_values, drop_remainder=drop_remainder
            )

        def apply(dataset: DatasetV2) -> DatasetV2:
            return dataset.apply(group_by_window(element_to_bucket_id, batching_fn, window_size_func=window_size_fn))

        return apply
