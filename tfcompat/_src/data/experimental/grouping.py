"""tf.data.experimental: groups of elements with the same key."""

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
    """For `apply`: gathers elements by key, and gives what `reduce_func(key, group)` makes of each full group.

    Args:
      key_func: of an element, an int64 scalar. reduce_func: of a key and the dataset of a group, a dataset.
      window_size: int64, elements of a group. window_size_func: of a key, the number of elements of its groups.

    Raises:
      ValueError: both or none of the last two are given, or a function gives something of another type.
    """
    if (window_size is not None) == (window_size_func is not None):
        raise ValueError("Must pass either window_size or window_size_func.")
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
    """What `group_by_reducer` does with the elements of a key.

    Args:
      init_func: of a key, the first state. reduce_func: of a state and an element, the next. finalize_func: of a state, the result.
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
    """For `apply`: one result for each key that `key_func` (int64 scalar of an element) gives, in order of keys.

    Raises (when applied):
      ValueError, TypeError: a function gives something of another type.
    """

    def apply(dataset: DatasetV2) -> DatasetV2:
        keys = StructuredFunctionWrapper(key_func, _REDUCER, dataset=dataset)
        if not keys.output_structure.is_compatible_with(_KEY):
            raise ValueError("`key_func` must return a single tf.int64 tensor. Got type=%s and shape=%s" % (keys.output_types, keys.output_shapes))
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
    """For `apply`: padded batches of elements of similar length.

    Args:
      element_length_func: of an element, its length, an int32 scalar.
      bucket_boundaries: ints, upper limits (not included) of the lengths of buckets.
      bucket_batch_sizes: ints, one more than boundaries: the length of a bucket's batches.
      padded_shapes, padding_values: as for `padded_batch`.
      pad_to_bucket_boundary: whether unknown sizes are the bucket's limit less 1, and not those of the batch's largest element.
      no_padding: whether batches are of elements as they are.
      drop_remainder: whether a shorter last batch is left out.

    Raises:
      ValueError: the numbers of boundaries and batch sizes do not fit.
    """
    with name_scope("bucket_by_seq_length"):
        if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
            raise ValueError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")
        batch_sizes = constant(bucket_batch_sizes, dtypes.int64)

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
