"""tf.data.Dataset of TensorFlow 1: DatasetV2 with the graph iterators and the methods that TensorFlow 2 has not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.data import autograph_loops, dataset_spec, iterator_resources, structure  # noqa: F401  (the ops and loops)
from tfcompat._src.data.dataset import DatasetV2
from tfcompat._src.data.iterator import EagerIterator, Iterator, flat_attrs, legacy_of
from tfcompat._src.function.defun import Defun
from tfcompat._src.graph.attr_values import FunctionRef
from tfcompat._src.graph.scopes import colocate_with, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.tensor_spec import TensorSpec

_STATELESS_READERS = ("MatchingFiles", "ReadFile")


@export("data.Dataset")
class DatasetV1(DatasetV2):
    """A lazy pipeline whose elements are structures of tensors, with one-shot and initializable iterators."""

    _preserve_cardinality = False

    @classmethod
    def _class(cls) -> type[DatasetV1]:
        return DatasetV1Adapter

    output_classes = structure.legacy_property("classes")
    output_shapes = structure.legacy_property("shapes")
    output_types = structure.legacy_property("types")

    def make_one_shot_iterator(self) -> Iterator | EagerIterator:
        """Makes an iterator that needs no initialization and runs through the dataset once per session.

        Raises:
          ValueError: the dataset depends on placeholders or on state of the graph (variables, tables).
        """
        graph = get_default_graph()
        if graph.executes:
            return EagerIterator(self)
        # The dataset is made inside a function, which captures all its inputs by value. Nodes that only read files may be captured too.
        readers = {op for op in graph.get_operations() if op.type in _STATELESS_READERS}

        @Defun(capture_by_value=True, whitelisted_stateful_ops=readers)
        def _make_dataset() -> Tensor:
            variant: Tensor = self._apply_options()._variant_tensor
            return variant

        function: Any = _make_dataset  # a DefinedFunction, as it takes nothing
        try:
            function.add_to_graph(graph)
        except ValueError as error:
            if "Cannot capture a stateful node" not in str(error):
                raise
            raise ValueError(
                "Failed to create a one-shot iterator for a dataset. `Dataset.make_one_shot_iterator()` does not support datasets that "
                "capture stateful objects, such as a `Variable` or `LookupTable`. In these cases, use "
                f"`Dataset.make_initializable_iterator()`. (Original error: {error})"
            ) from error
        handle = raw.OneShotIterator(dataset_factory=FunctionRef(function.name), **self._flat_structure)
        return Iterator(handle, None, *legacy_of(self.element_spec))

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """Makes an iterator whose `initializer` operation starts an iteration.

        Args:
          shared_name: name under which the sessions of a server share the iterator.

        Raises:
          RuntimeError: eager execution is enabled.
        """
        if get_default_graph().executes:
            raise RuntimeError("dataset.make_initializable_iterator is not supported when eager execution is enabled.")
        # The initializer runs on the device of the iterator.
        dataset = self._apply_options()
        handle = raw.IteratorV2(container="", shared_name=shared_name or "", **self._flat_structure)
        with colocate_with(handle):
            initializer = raw.MakeIterator(dataset._variant_tensor, handle)
        return Iterator(handle, initializer, *legacy_of(self.element_spec))

    @classmethod
    def from_sparse_tensor_slices(cls, sparse_tensor: Any) -> DatasetV2:
        """Makes a dataset of the rows of a SparseTensor, each a tuple (indices, values, dense_shape).

        A run raises UnimplementedError if the indices are not ordered by rows.
        """
        rank = sparse_tensor.dense_shape.shape.dims[0].value
        inner = None if rank is None else rank - 1
        spec = (
            TensorSpec([None, inner], dtypes.int64), TensorSpec([None], sparse_tensor.dtype),
            TensorSpec([inner], dtypes.int64),
        )  # fmt: skip
        made = raw.SparseTensorSliceDataset(sparse_tensor.indices, sparse_tensor.values, sparse_tensor.dense_shape)
        return cls._source(made, spec)

    def map_with_legacy_function(self, map_func: Callable[..., Any], num_parallel_calls: object = None) -> DatasetV2:
        """Is `map`, except that the function is traced by Defun."""
        return self._mapped(map_func, num_parallel_calls, True, False)

    def filter_with_legacy_function(self, predicate: Callable[..., Any]) -> DatasetV2:
        """Is `filter`, except that the function is traced by Defun."""
        return self._filtered(predicate, True)


class DatasetV1Adapter(DatasetV1):
    """The class of datasets that methods return; called with a DatasetV2 alone, it wraps that as a DatasetV1."""

    def __init__(self, variant_tensor: Any, element_spec: Any = None, inputs: tuple[Any, ...] = ()) -> None:
        if isinstance(variant_tensor, DatasetV2):
            variant_tensor, element_spec, inputs = variant_tensor._variant_tensor, variant_tensor.element_spec, (variant_tensor,)
        super().__init__(variant_tensor, element_spec, inputs)


dataset_spec.DATASET_CLASSES["made"] = DatasetV1Adapter
Dataset = DatasetV1


def as_v1(dataset: DatasetV2) -> DatasetV1:
    """Returns a dataset as a DatasetV1; anything else, such as the input of a strategy, is returned unchanged."""
    return DatasetV1Adapter(dataset) if isinstance(dataset, DatasetV2) and not isinstance(dataset, DatasetV1) else dataset


@export("data.make_one_shot_iterator")
def make_one_shot_iterator(dataset: DatasetV2) -> Iterator | EagerIterator:
    """Makes an iterator that runs through `dataset` once; raises the errors of `Dataset.make_one_shot_iterator`."""
    return as_v1(dataset).make_one_shot_iterator()


@export("data.make_initializable_iterator")
def make_initializable_iterator(dataset: DatasetV2, shared_name: str | None = None) -> Iterator:
    """Makes an iterator over `dataset` whose `initializer` operation starts an iteration."""
    return as_v1(dataset).make_initializable_iterator(shared_name)


@export("data.experimental.get_structure")
def get_structure(dataset_or_iterator: Any) -> Any:
    """Returns the structure of TypeSpecs of an element of a dataset or iterator; TypeError for anything else."""
    try:
        return dataset_or_iterator.element_spec
    except AttributeError:
        raise TypeError(f"`dataset_or_iterator` must be a Dataset or Iterator object, but got {type(dataset_or_iterator)}.") from None


@export("data.get_output_classes")
def get_legacy_output_classes(dataset_or_iterator: object) -> Any:
    """Returns the structure of the classes of an element of a dataset or iterator."""
    return structure.legacy(get_structure(dataset_or_iterator), "classes")


@export("data.get_output_shapes")
def get_legacy_output_shapes(dataset_or_iterator: object) -> Any:
    """Returns the structure of the shapes of an element of a dataset or iterator."""
    return structure.legacy(get_structure(dataset_or_iterator), "shapes")


@export("data.get_output_types")
def get_legacy_output_types(dataset_or_iterator: object) -> Any:
    """Returns the structure of the dtypes of an element of a dataset or iterator."""
    return structure.legacy(get_structure(dataset_or_iterator), "types")


@export("data.experimental.from_variant")
def from_variant(variant: Tensor, structure: object) -> DatasetV1:
    """Returns the dataset in a variant tensor; `structure` is the structure of TypeSpecs of its elements."""
    return DatasetV1Adapter(variant, structure)


@export("data.experimental.to_variant")
def to_variant(dataset: DatasetV2) -> Tensor:
    """Returns the variant tensor, a scalar, that holds a dataset."""
    variant: Tensor = dataset._variant_tensor
    return variant


@export("data.experimental.get_single_element", "contrib.data.get_single_element")
def get_single_element(dataset: DatasetV2) -> Any:
    """Returns the only element of a dataset; a run raises InvalidArgumentError if there is not exactly one.

    Raises:
      TypeError: `dataset` is not a dataset.
    """
    if not isinstance(dataset, DatasetV2):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    tensors = raw.DatasetToSingleElement(dataset._variant_tensor, **flat_attrs(dataset.element_spec))
    return structure.from_compatible_tensor_list(dataset.element_spec, list(tensors) if isinstance(tensors, (list, tuple)) else [tensors])
