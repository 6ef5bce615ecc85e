"""The dataset classes of TensorFlow 1.15's tensorflow.python.data, for programs that define datasets of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.data.dataset import DatasetV2, number
from tfcompat._src.data.iterator import flat_attrs
from tfcompat._src.data.structured_function import StructuredFunctionWrapper
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw


class DatasetSource(DatasetV2):
    """Base of datasets without an input; subclasses define `element_spec`, or pass it."""

    def __init__(self, variant_tensor: Tensor, element_spec: object = None) -> None:
        super().__init__(variant_tensor, element_spec)


class UnaryDataset(DatasetV2):
    """Base of datasets with one input; subclasses define `element_spec`, or pass it."""

    def __init__(self, input_dataset: DatasetV2, variant_tensor: Tensor, element_spec: object = None) -> None:
        super().__init__(variant_tensor, element_spec, (input_dataset,))


class UnaryUnchangedStructureDataset(UnaryDataset):
    """Base of datasets with one input whose elements have the type of the input's elements."""

    def __init__(self, input_dataset: DatasetV2, variant_tensor: Tensor) -> None:
        self._input_dataset = input_dataset
        super().__init__(input_dataset, variant_tensor, input_dataset.element_spec)

    @property
    def element_spec(self) -> Any:
        return self._input_dataset.element_spec


class MapDataset(UnaryDataset):
    """The dataset of `Dataset.map`; `use_inter_op_parallelism` is an attribute of the node, and has no effect here."""

    def __init__(
        self, input_dataset: DatasetV2, map_func: Callable[..., Any], use_inter_op_parallelism: bool = True, preserve_cardinality: bool = False,
        use_legacy_function: bool = False,
    ) -> None:  # fmt: skip
        function = StructuredFunctionWrapper(map_func, "Dataset.map()", dataset=input_dataset, use_legacy_function=use_legacy_function)
        made = raw.MapDataset(
            input_dataset._variant_tensor, function.captured_inputs, f=function.reference, preserve_cardinality=preserve_cardinality,
            use_inter_op_parallelism=use_inter_op_parallelism, **flat_attrs(function.output_structure),
        )  # fmt: skip
        super().__init__(input_dataset, made, function.output_structure)


class ParallelMapDataset(UnaryDataset):
    """The dataset of `Dataset.map` with `num_parallel_calls`."""

    def __init__(
        self, input_dataset: DatasetV2, map_func: Callable[..., Any], num_parallel_calls: object, use_inter_op_parallelism: bool = True,
        preserve_cardinality: bool = False, use_legacy_function: bool = False,
    ) -> None:  # fmt: skip
        function = StructuredFunctionWrapper(map_func, "Dataset.map()", dataset=input_dataset, use_legacy_function=use_legacy_function)
        made = raw.ParallelMapDataset(
            input_dataset._variant_tensor, function.captured_inputs, number(num_parallel_calls, "num_parallel_calls", dtypes.int32),
            f=function.reference, preserve_cardinality=preserve_cardinality, use_inter_op_parallelism=use_inter_op_parallelism,
            **flat_attrs(function.output_structure),
        )  # fmt: skip
        super().__init__(input_dataset, made, function.output_structure)


class PrefetchDataset(UnaryUnchangedStructureDataset):
    """The dataset of `Dataset.prefetch`; `slack_period` is accepted without effect: elements are computed as soon as there is room."""

    def __init__(self, input_dataset: DatasetV2, buffer_size: object, slack_period: int | None = None) -> None:
        size = number(-1 if buffer_size is None else buffer_size, "buffer_size")
        made = raw.PrefetchDataset(input_dataset._variant_tensor, size, slack_period=slack_period or 0, **input_dataset._flat_structure)
        super().__init__(input_dataset, made)


class _VariantDataset(DatasetV2):
    """The dataset in a variant tensor; `structure` is the type of its elements."""

    def __init__(self, dataset_variant: Tensor, structure: object) -> None:
        super().__init__(dataset_variant, structure)


class _MaxIntraOpParallelismDataset(UnaryUnchangedStructureDataset):
    """A dataset with a limit on the threads of single operations, which is checked and has no effect here."""

    def __init__(self, input_dataset: DatasetV2, max_intra_op_parallelism: object) -> None:
        limit = number(max_intra_op_parallelism, "max_intra_op_parallelism")
        made = raw.MaxIntraOpParallelismDataset(input_dataset._variant_tensor, limit, **input_dataset._flat_structure)
        super().__init__(input_dataset, made)


class _PrivateThreadPoolDataset(UnaryUnchangedStructureDataset):
    """A dataset whose parallel calls have at most `num_threads` threads."""

    def __init__(self, input_dataset: DatasetV2, num_threads: object) -> None:
        threads = number(num_threads, "num_threads")
        made = raw.PrivateThreadPoolDataset(input_dataset._variant_tensor, threads, **input_dataset._flat_structure)
        super().__init__(input_dataset, made)


class PrivateThreadPool:
    """The resource of a thread pool for the parallel calls of datasets.

    Args:
      num_threads: int. display_name: str, for traces. max_intra_op_parallelism: int, threads of one operation; has no effect here.
    """

    def __init__(self, num_threads: int, display_name: str | None = None, max_intra_op_parallelism: int | None = 1) -> None:
        self._resource = raw.ThreadPoolHandle(
            num_threads=num_threads, max_intra_op_parallelism=1 if max_intra_op_parallelism is None else max_intra_op_parallelism,
            display_name=display_name or "",
        )  # fmt: skip


class _ThreadPoolDataset(UnaryUnchangedStructureDataset):
    """A dataset whose parallel calls have at most as many threads as a pool."""

    def __init__(self, input_dataset: DatasetV2, thread_pool: PrivateThreadPool) -> None:
        made = raw.ThreadPoolDataset(input_dataset._variant_tensor, thread_pool._resource, **input_dataset._flat_structure)
        super().__init__(input_dataset, made)


def override_threadpool(dataset: DatasetV2, thread_pool: PrivateThreadPool) -> _ThreadPoolDataset:
    """Returns a dataset of the same elements whose parallel calls have at most as many threads as `thread_pool`."""
    return _ThreadPoolDataset(dataset, thread_pool)
