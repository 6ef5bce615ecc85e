"""tf.data.experimental: transformations for `Dataset.apply`, and two sources.

A transformation is a function from dataset to dataset; each function here returns one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.dtypes import DTypeLike
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.data import structure
from tfcompat._src.data.dataset import DatasetV2, batch_spec, number
from tfcompat._src.data.dataset_v1 import DatasetV1Adapter
from tfcompat._src.data.iterator import flat_attrs
from tfcompat._src.data.random_seed import get_seed
from tfcompat._src.data.readers import parallel_interleaved
from tfcompat._src.data.scans import scanned, taken_while
from tfcompat._src.data.structured_function import StructuredFunctionWrapper
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensorSpec
from tfcompat._src.nodes.tensor_spec import TensorSpec

INFINITE_CARDINALITY = export("data.experimental.INFINITE_CARDINALITY")(-1)
UNKNOWN_CARDINALITY = export("data.experimental.UNKNOWN_CARDINALITY")(-2)
Apply = Callable[[DatasetV2], DatasetV2]


@export("data.experimental.cardinality")
def cardinality(dataset: DatasetV2) -> Tensor:
    """Returns the number of elements of a dataset, an int64 scalar; INFINITE_CARDINALITY and UNKNOWN_CARDINALITY are negative."""
    size: Tensor = raw.DatasetCardinality(dataset._variant_tensor)
    return size


def sleep(sleep_microseconds: int) -> Apply:
    """For `apply`: waits `sleep_microseconds` before each element."""

    def apply(dataset: DatasetV2) -> DatasetV2:
        made = raw.ExperimentalSleepDataset(dataset._variant_tensor, sleep_microseconds, **flat_attrs(dataset.element_spec))
        return dataset._made(made, dataset.element_spec)

    return apply


# ---- fused transformations ----


def _map_and_batch(map_func: Callable[..., Any], batch_size: Any, num_parallel_batches: Any, drop_remainder: object, num_parallel_calls: Any, legacy: bool) -> Apply:
    # By default, the elements of one batch are computed concurrently.
    if num_parallel_batches is None and num_parallel_calls is None:
        num_parallel_calls = batch_size
    elif num_parallel_batches is not None and num_parallel_calls is None:
        num_parallel_calls = batch_size * num_parallel_batches
    elif num_parallel_batches is not None:
        raise ValueError("The `num_parallel_batches` and `num_parallel_calls` arguments are mutually exclusive.")

    def apply(dataset: DatasetV2) -> DatasetV2:
        function = StructuredFunctionWrapper(map_func, "tf.data.experimental.map_and_batch()", dataset=dataset, use_legacy_function=legacy)
        size = number(batch_size, "batch_size")
        calls = number(num_parallel_calls, "num_parallel_calls")
        drops = number(drop_remainder, "drop_remainder", dtypes.bool)
        spec = batch_spec(function.output_structure, size, drops)
        made = raw.MapAndBatchDataset(
            dataset._variant_tensor, function.captured_inputs, size, calls, drops, f=function.reference, preserve_cardinality=True,
            **flat_attrs(spec),
        )  # fmt: skip
        return dataset._made(made, spec)

    return apply


@export("data.experimental.map_and_batch", "contrib.data.map_and_batch")
def map_and_batch(
    map_func: Callable[..., Any], batch_size: object, num_parallel_batches: object = None, drop_remainder: object = False, num_parallel_calls: object = None
) -> Apply:
    """For `apply`: fuses `map` and `batch`.

    Args:
      map_func: maps an element. batch_size: int64 scalar. drop_remainder: whether a last batch with fewer elements is dropped.
      num_parallel_batches: batches computed concurrently. num_parallel_calls: elements computed concurrently; `batch_size` by default.

    Raises:
      ValueError: both kinds of parallelism are given.
    """
    return _map_and_batch(map_func, batch_size, num_parallel_batches, drop_remainder, num_parallel_calls, False)


@export("data.experimental.map_and_batch_with_legacy_function")
def map_and_batch_with_legacy_function(
    map_func: Callable[..., Any], batch_size: object, num_parallel_batches: object = None, drop_remainder: object = False, num_parallel_calls: object = None
) -> Apply:
    """Is `map_and_batch`, except that the function is traced by Defun."""
    return _map_and_batch(map_func, batch_size, num_parallel_batches, drop_remainder, num_parallel_calls, True)


@export("data.experimental.shuffle_and_repeat", "contrib.data.shuffle_and_repeat")
def shuffle_and_repeat(buffer_size: object, count: object = None, seed: object = None) -> Apply:
    """For `apply`: fuses `shuffle` and `repeat`, with one buffer for all epochs.

    Args:
      buffer_size: int64 scalar. count: number of epochs; None or -1: without end. seed: as for `Dataset.shuffle`.
    """

    def apply(dataset: DatasetV2) -> DatasetV2:
        size = number(buffer_size, "buffer_size")
        times = constant(-1, dtypes.int64, name="count") if count is None else number(count, "count")
        return dataset._same(raw.ShuffleAndRepeatDataset, size, *get_seed(seed), times)

    return apply


@export("data.experimental.parallel_interleave", "contrib.data.parallel_interleave")
def parallel_interleave(
    map_func: Callable[..., Any], cycle_length: object, block_length: object = 1, sloppy: object = False, buffer_output_elements: object = None,
    prefetch_input_elements: object = None,
) -> Apply:  # fmt: skip
    """For `apply`: maps each element to a dataset and interleaves the elements of `cycle_length` of these, which are read in threads.

    Args:
      map_func: takes an element, returns a dataset. cycle_length, block_length: as for `Dataset.interleave`.
      sloppy: whether a dataset whose next element is not ready is passed over, so that the order is not deterministic.
      buffer_output_elements: elements buffered per dataset. prefetch_input_elements: datasets started ahead.
    """
    return lambda dataset: parallel_interleaved(
        dataset, map_func, cycle_length, block_length, sloppy, buffer_output_elements, prefetch_input_elements
    )


# ---- one element at a time ----


@export("data.experimental.ignore_errors", "contrib.data.ignore_errors")
def ignore_errors() -> Apply:
    """For `apply`: skips elements whose computation raises an error."""
    return lambda dataset: dataset._same(raw.IgnoreErrorsDataset)


@export("data.experimental.enumerate_dataset", "contrib.data.enumerate_dataset")
def enumerate_dataset(start: object = 0) -> Apply:
    """For `apply`: `Dataset.enumerate`."""
    return lambda dataset: dataset.enumerate(start)


@export("data.experimental.unbatch", "contrib.data.unbatch")
def unbatch() -> Apply:
    """For `apply`: `Dataset.unbatch`."""
    return lambda dataset: dataset.unbatch()


@export("data.experimental.unique", "contrib.data.unique")
def unique() -> Apply:
    """For `apply`: removes duplicates; only the first of equal elements stays.

    Raises (when applied):
      TypeError: elements are not single int32, int64 or string tensors.
    """

    def apply(dataset: DatasetV2) -> DatasetV2:
        if dataset._flat_types not in ([dtypes.int32], [dtypes.int64], [dtypes.string]):
            raise TypeError("`tf.data.experimental.unique()` only supports inputs with a single component of type tf.int32, tf.int64, or tf.string.")
        return dataset._same(raw.UniqueDataset)

    return apply


@export("data.experimental.take_while")
def take_while(predicate: Callable[..., Any]) -> Apply:
    """For `apply`: ends before the first element for which `predicate` is false; ValueError if it does not return a bool scalar."""

    return lambda dataset: taken_while(dataset, predicate)


@export("data.experimental.scan", "contrib.data.scan")
def scan(initial_state: object, scan_func: Callable[..., Any]) -> Apply:
    """For `apply`: maps elements with a carried state; elements of the result are the outputs.

    Args:
      initial_state: structure of tensors. scan_func: takes a state and an element, returns the next state and an output.

    Raises (when applied):
      TypeError: `scan_func` does not return a pair, or the classes or dtypes of its state differ from those of `initial_state`.
    """

    return lambda dataset: scanned(dataset, initial_state, scan_func)


# ---- batches ----


@export("data.experimental.dense_to_sparse_batch", "contrib.data.dense_to_sparse_batch")
def dense_to_sparse_batch(batch_size: object, row_shape: object) -> Apply:
    """For `apply`: batches dense tensors of varying shapes into SparseTensors.

    Args:
      batch_size: int64 scalar. row_shape: the largest shape of an element, and the inner dense shape; None: the largest in the batch.

    Raises (when applied):
      TypeError: elements are not single tensors.
    """

    def apply(dataset: DatasetV2) -> DatasetV2:
        if not isinstance(dataset.element_spec, TensorSpec):
            raise TypeError("DenseToSparseDataset requires an input whose elements have a single component, whereas the input has %r." % (structure.legacy(dataset.element_spec, "types"),))
        # Batches have one dimension more than rows, of unknown size, as the last batch may be smaller.
        sizes = [-1 if n is None else n for n in TensorShape(row_shape).as_list()]
        spec = SparseTensorSpec(TensorShape([None]).concatenate(row_shape), dataset.element_spec.dtype)
        row = constant(sizes, dtypes.int64)
        return dataset._made(raw.DenseToSparseBatchDataset(dataset._variant_tensor, batch_size, row, **flat_attrs(spec)), spec)

    return apply


# ---- sources ----


@export("data.experimental.Counter", "contrib.data.Counter")
def CounterV1(start: object = 0, step: object = 1, dtype: DTypeLike | None = dtypes.int64) -> DatasetV2:
    """Makes the endless dataset `start`, `start + step`, `start + 2 * step`, ... of scalars of `dtype`."""
    with name_scope("counter"):
        start = convert_to_tensor(start, dtype, name="start")
        step = convert_to_tensor(step, dtype, name="step")
        return DatasetV1Adapter.from_tensors(0).repeat(None).apply(scan(start, lambda state, _: (state + step, state)))


Counter = CounterV1


@export("data.experimental.RandomDataset", "contrib.data.RandomDataset")
class RandomDatasetV1(DatasetV1Adapter):
    """An endless dataset of pseudorandom int64 numbers from 0 to 2**32 - 1; `seed` is as for `Dataset.shuffle`."""

    def __init__(self, seed: object = None) -> None:
        spec = TensorSpec([], dtypes.int64)
        super().__init__(raw.RandomDataset(*get_seed(seed), **flat_attrs(spec)), spec)


RandomDataset = RandomDatasetV1
