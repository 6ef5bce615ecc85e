"""tf.data pipelines as the data of fit, evaluate and predict."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfcompat._src.base import errors, nest
from tfcompat._src.data.dataset import DatasetV2
from tfcompat._src.data.dataset_v1 import as_v1
from tfcompat._src.data.experimental.transformations import INFINITE_CARDINALITY, cardinality
from tfcompat._src.data.iterator import Iterator
from tfcompat._src.data.readers import _FileDataset
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.graph.scopes import executing_eagerly
from tfcompat._src.keras.backend.session import get_session
from tfcompat._src.keras.backend.values import get_value
from tfcompat._src.platform import logging

_ONE_BY_ONE = {
    "CacheDataset", "CacheDatasetV2", "ConcatenateDataset", "MapDataset", "ParallelMapDataset", "PrefetchDataset", "RangeDataset",
    "RepeatDataset", "SkipDataset", "SparseTensorSliceDataset", "TakeDataset", "TensorDataset", "TensorSliceDataset", "ZipDataset",
}  # fmt: skip
"""Types of datasets whose elements come one by one, in the order of those that they take."""

_IN_BATCHES = {"BatchDataset", "BatchDatasetV2", "PaddedBatchDataset", "PaddedBatchDatasetV2", "WindowDataset"}


def is_dataset(data: object) -> bool:
    """Whether `data` is a tf.data.Dataset."""
    return isinstance(data, DatasetV2)


def is_iterator(data: object) -> bool:
    """Whether `data` is an iterator over a dataset."""
    return isinstance(data, Iterator)


def refuse_iterator(data: object) -> None:
    """Raises ValueError for an iterator in the place of its dataset."""
    if is_iterator(data):
        raise ValueError(
            "For performance reasons Keras `fit`, `evaluate` and`predict` accept tf.data `Datasets` as input but not "
            "iterators that have been manually generated from Datasets by users. Please directly pass in the original "
            "`Dataset` object instead of passing in `iter(dataset)`."
        )


def validate_dataset_input(x: object, y: object, sample_weight: object, validation_split: object = None) -> None:
    """Raises ValueError for arguments that a dataset takes the place of."""
    if y is not None:
        raise ValueError(
            f"You passed a dataset or dataset iterator ({x}) as input `x` to your model. In that case, you should not "
            "specify a target (`y`) argument, since the dataset or dataset iterator generates both input data and "
            f"target data. Received: {y}"
        )
    if sample_weight is not None:
        raise ValueError(
            "`sample_weight` argument is not supported when input `x` is a dataset or a dataset iterator. Instead, you"
            "can provide sample_weight as the third element  of yourdataset, i.e. (inputs, targets, sample_weight). "
            f"Received: x={x}, sample_weight={sample_weight}"
        )
    if validation_split:
        raise ValueError(
            "`validation_split` argument is not supported when input `x` is a dataset or a dataset iterator. "
            f"Received: x={x}, validation_split={validation_split:f}"
        )


def _is_made_of(dataset: DatasetV2, kinds: set[str]) -> bool:
    """Whether a dataset, and those that it is made of down to files, are of these op types."""
    if isinstance(dataset, _FileDataset):
        return True
    return dataset._variant_tensor.op.type in kinds and all(_is_made_of(each, kinds) for each in dataset._inputs())


def assert_not_batched(dataset: DatasetV2) -> None:
    """Raises ValueError unless every dataset that this is made of is known not to batch."""
    if not _is_made_of(dataset, _ONE_BY_ONE | {"FilterDataset", "ShuffleDataset", "ShuffleDatasetV2"}):
        raise ValueError("Could not assert that dataset is not batched.")


def assert_not_shuffled(dataset: DatasetV2) -> None:
    """Raises ValueError unless every dataset that this is made of is known not to shuffle."""
    if not _is_made_of(dataset, _ONE_BY_ONE | _IN_BATCHES | {"FilterDataset"}):
        raise ValueError("Could not assert that dataset is not shuffled.")


def verify_dataset_shuffled(x: DatasetV2) -> None:
    """Warns where the elements of a dataset come in the order of their source."""
    if _is_made_of(x, _ONE_BY_ONE | _IN_BATCHES | {"FilterDataset"}):
        logging.warning(
            "Expected a shuffled dataset but input dataset `x` is not shuffled. Please invoke `shuffle()` on input "
            "dataset."
        )


def infer_steps_for_dataset(dataset: DatasetV2, steps: int | None, epochs: int = 1, steps_name: str = "steps") -> int | None:
    """The number of batches of an epoch; None where it is not known before the dataset ends.

    Raises:
      ValueError: the dataset has no end and `steps` is None, or fewer batches than `epochs * steps`.
    """
    size = int(get_value(cardinality(dataset)))
    if size == INFINITE_CARDINALITY and steps is None:
        raise ValueError(
            f"When passing an infinitely repeating dataset, you must specify the `{steps_name}` argument."
        )
    if size >= 0 and steps is not None and steps * epochs > size:
        several = f"`epochs={epochs}` and " if epochs > 1 else ""
        total = f"which is a total of {steps * epochs} steps. " if epochs > 1 else ""
        raise ValueError(
            f"The dataset you passed contains {size} batches, but you passed {several}`{steps_name}={steps}`"
            f"{', ' + total if total else '. '}We cannot draw that many steps from this dataset. We suggest to set "
            f"`{steps_name}={size // epochs}`."
        )
    if steps is None and size >= 0:
        return size
    return steps


def unpack_element(element: object) -> tuple[Any, Any, Any]:
    """(inputs, targets, sample weights) of an element, None for what it lacks; ValueError for another length."""
    if not isinstance(element, (list, tuple)):
        return element, None, None
    if len(element) not in (2, 3):
        raise ValueError(
            "Please provide model inputs as a list or tuple of 2 or 3 elements: (input, target) or (input, target, "
            f"sample_weights) Received {element}"
        )
    return (*element, None) if len(element) == 2 else tuple(element)


def initialize(iterator: Iterator) -> None:
    """Begins an iteration, in Keras' session."""
    get_session((iterator.initializer,)).run(iterator.initializer)


def iterator_of(dataset: DatasetV2) -> Iterator:
    """An iterator of the graph over a dataset, at its beginning."""
    iterator = as_v1(dataset).make_initializable_iterator()
    initialize(iterator)
    return iterator


def numpy_of(value: object) -> Any:
    """A nest with arrays in place of tensors that have a value."""
    return nest.map_structure(lambda x: x.numpy() if isinstance(x, EagerTensor) else x, value)


def first_element(data: Any) -> tuple[Any, Any, Any]:
    """(inputs, targets, sample weights) of a dataset or iterator: tensors that each run gives new values, or the next ones.

    Raises:
      RuntimeError: where operations run at once, the data have ended.
    """
    if not executing_eagerly():
        return unpack_element((data if is_iterator(data) else iterator_of(data)).get_next())
    element = next(iter(data), None)
    if element is None:
        raise RuntimeError(
            "Your dataset iterator ran out of data; Make sure that your dataset can generate required number of samples."
        )
    return numpy_of(unpack_element(element))


def is_infinite(dataset: DatasetV2) -> bool:
    """Whether a dataset is known to have no end."""
    return int(get_value(cardinality(dataset))) == INFINITE_CARDINALITY


def values_of(dataset: DatasetV2) -> Iterable[Any]:
    """The elements of a dataset, as arrays, of graphs in Keras' session."""
    if executing_eagerly():
        yield from (numpy_of(element) for element in dataset)
        return
    iterator = iterator_of(dataset)
    element = iterator.get_next()
    session = get_session(nest.flatten(element))
    while True:
        try:
            yield session.run(element)
        except errors.OutOfRangeError:
            return
