"""`tensorflow.python.keras.engine.data_adapter`: each kind of data that a model is given, as a dataset of batches."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.base import nest
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.data.dataset import AUTOTUNE, DatasetV2
from tfcompat._src.data.options import Options
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.utils.sequences import GeneratorEnqueuer, OrderedEnqueuer, Sequence
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.platform import logging


class DataAdapter:
    """Data of one kind as a dataset, and what is known of its batches. A subclass sets the fields that it knows.

    Args:
      x: inputs. y: targets, or None.

    Raises:
      ValueError: they are of another kind.
    """

    _dataset: Any
    _size: int | None = None
    _batch_size: int | None = None
    _partial_batch_size: int | None = None

    def __init__(self, x: Any, y: Any = None, **kwargs: Any) -> None:
        if not self.can_handle(x, y):
            raise ValueError(f"{type(self)} Cannot handle input {x}")

    @staticmethod
    def can_handle(x: Any, y: Any = None) -> bool:
        """Whether inputs and targets are of this kind."""
        raise NotImplementedError("An adapter says which data it takes.")

    def get_dataset(self) -> Any:
        """The data as a dataset of batches."""
        return self._dataset

    def get_size(self) -> int | None:
        """The number of batches; None where it is not known."""
        return self._size

    def batch_size(self) -> int | None:
        """The samples of a batch; None where that is not known."""
        return self._batch_size

    def has_partial_batch(self) -> bool:
        """Whether the last batch is known to have fewer samples."""
        return self._partial_batch_size is not None

    def partial_batch_size(self) -> int | None:
        """The samples of the last batch, where it has fewer."""
        return self._partial_batch_size

    def should_recreate_iterator(self, steps_per_epoch: int | None) -> bool:
        """Whether each epoch begins a new pass over the dataset."""
        return self.get_size() is not None or steps_per_epoch is None

    def _cut(self, samples: int, batch_size: int | None, steps: int | None) -> int:
        """Notes how `samples` make batches, of a size or in so many steps; the size of a batch.

        Raises:
          ValueError: neither is given.
        """
        size = batch_size or (-(-samples // steps) if steps else 0)
        if not size:
            raise ValueError("`batch_size` or `steps` is required for `Tensor` or `NumPy` input data.")
        self._size, self._batch_size = -(-samples // size), size
        self._partial_batch_size = samples % size or None
        return size


# ---- arrays and tensors ----


class TensorLikeDataAdapter(DataAdapter):
    """Arrays and tensors, cut into batches.

    Args:
      x, y, sample_weights: nests of arrays and tensors. batch_size: samples in a batch. epochs: passes over the data. steps: batches in a
        pass, where no batch size is given. shuffle: whether each pass has an order of its own, from NumPy's random numbers.
    """

    def __init__(
        self, x: object, y: object = None, sample_weights: object = None, batch_size: int | None = None, epochs: int = 1, steps: int | None = None,
        shuffle: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(x, y, **kwargs)
        inputs = _together(x, y, sample_weights)
        samples = _samples(inputs)
        size = self._cut(samples, batch_size, steps)
        passes = [_in_batches(samples, size, shuffle) for _ in range(epochs)]
        places = DatasetV2.from_tensor_slices(passes).flat_map(lambda each: each)
        fixed = size if self._partial_batch_size is None else samples if samples < size else None

        def batch_of(data: object, chosen: Tensor) -> Any:
            def rows(values: Tensor) -> Tensor:
                found = gather(values, chosen)
                if fixed is not None:
                    found.set_shape([fixed, *values.shape.as_list()[1:]])
                return found

            return nest.map_structure(rows, data)

        options = Options()
        options.experimental_optimization.apply_default_optimizations = False
        repeated = DatasetV2.from_tensors(inputs).repeat()
        self._dataset = DatasetV2.zip((repeated, places)).map(batch_of, num_parallel_calls=AUTOTUNE).with_options(options)

    @staticmethod
    def can_handle(x: object, y: object = None) -> bool:
        return all(isinstance(each, (Tensor, np.ndarray)) for each in _leaves(x, y))

    def should_recreate_iterator(self, steps_per_epoch: int | None) -> bool:
        return False


class CompositeTensorDataAdapter(DataAdapter):
    """Sparse and ragged tensors, beside others, cut into batches; arguments as of TensorLikeDataAdapter."""

    def __init__(
        self, x: object, y: object = None, sample_weights: object = None, batch_size: int | None = None, steps: int | None = None, shuffle: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(x, y, **kwargs)
        inputs = _together(x, y, sample_weights)
        samples = _samples(inputs)
        dataset = DatasetV2.from_tensor_slices(inputs)
        self._dataset = (dataset.shuffle(samples) if shuffle else dataset).batch(self._cut(samples, batch_size, steps))

    @staticmethod
    def can_handle(x: object, y: object = None) -> bool:
        leaves = _leaves(x, y)
        composite = [isinstance(each, CompositeTensor) and not isinstance(each, DatasetV2) for each in leaves]
        return any(composite) and all(own or isinstance(each, (Tensor, np.ndarray)) for own, each in zip(composite, leaves))


class ListsOfScalarsDataAdapter(DataAdapter):
    """Lists of numbers and strings, as arrays; arguments as of TensorLikeDataAdapter."""

    def __init__(
        self, x: object, y: object = None, sample_weights: object = None, batch_size: int | None = None, shuffle: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(x, y, **kwargs)
        arrays = [None if each is None else np.asarray(each) for each in (x, y, sample_weights)]
        self._arrays = TensorLikeDataAdapter(*arrays, batch_size=batch_size, shuffle=shuffle, **kwargs)
        self._dataset, self._size, self._batch_size = self._arrays.get_dataset(), self._arrays.get_size(), self._arrays.batch_size()
        self._partial_batch_size = self._arrays.partial_batch_size()

    @staticmethod
    def can_handle(x: object, y: object = None) -> bool:
        return _is_list_of_scalars(x) and (y is None or _is_list_of_scalars(y))


def _is_list_of_scalars(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return bool(value) and _is_list_of_scalars(value[0])
    return isinstance(value, (float, int, str))


def _leaves(x: object, y: object) -> list[Any]:
    return nest.flatten(x) + ([] if y is None else nest.flatten(y))


def _samples(inputs: object) -> int:
    return int(nest.flatten(inputs)[0].shape[0])


def _together(x: object, y: object, sample_weights: object) -> tuple[Any, ...]:
    """What is given of the three, with weights of one where a list of them lacks some."""
    found = tuple(map(_as_tensors, (x, y, sample_weights)))
    weights = found[2]
    if isinstance(weights, tuple) and any(each is None for each in weights):
        rows = next(each.shape[0] for each in weights if each is not None)
        weights = tuple(ones((rows,)) if each is None else each for each in weights)
    if y is None:
        return found[:1]
    return found[:2] if weights is None else (*found[:2], weights)


def _as_tensors(inputs: object) -> Any:
    """A nest with tuples for lists and tensors for arrays; its one leaf; None where it is empty."""
    if is_none_or_empty(inputs):
        return None
    leaves = nest.flatten(inputs)
    if len(leaves) == 1:
        return leaves[0]
    return _as_tuples(nest.map_structure(lambda each: convert_to_tensor(each) if isinstance(each, np.ndarray) else each, inputs))


def _as_tuples(inputs: object) -> Any:
    return tuple(map(_as_tuples, inputs)) if isinstance(inputs, list) else inputs


def _in_batches(samples: int, size: int, shuffle: bool) -> DatasetV2:
    """The numbers of samples in batches, the last of which may be smaller."""
    order = np.arange(samples)
    if shuffle:
        np.random.shuffle(order)
    whole = samples // size * size
    full = DatasetV2.from_tensors(order[:whole].reshape(-1, size)).unbatch()
    return full.concatenate(DatasetV2.from_tensors(order[whole:])) if whole < samples else full


# ---- datasets, generators and sequences ----


class DatasetAdapter(DataAdapter):
    """A dataset, which has targets and weights in its elements."""

    def __init__(self, x: Any, y: object = None, sample_weights: object = None, **kwargs: Any) -> None:
        super().__init__(x, y, **kwargs)
        _refuse(y, sample_weights, "dataset")
        self._dataset = x

    @staticmethod
    def can_handle(x: object, y: object = None) -> bool:
        return isinstance(x, DatasetV2)


class GeneratorDataAdapter(DataAdapter):
    """A Python generator of batches.

    Args:
      x: the generator. workers: threads or processes that read ahead; 0 for none. use_multiprocessing: whether they are processes.
      max_queue_size: batches that are read ahead.
    """

    def __init__(
        self, x: Any, y: object = None, sample_weights: object = None, workers: int = 1, use_multiprocessing: bool = False, max_queue_size: int = 10,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(x, y, **kwargs)
        _refuse(y, sample_weights, "python generator")
        first = next(x)
        if workers > 0 and use_multiprocessing:
            logging.warning(
                "Using a generator with `use_multiprocessing=True` and multiple workers may duplicate your data. Please consider using the "
                "`tf.data.Dataset`."
            )

        def batches() -> Iterator[Any]:
            all_of_them = itertools.chain([first], x)
            if not workers:
                return all_of_them
            return _read_ahead(GeneratorEnqueuer(all_of_them, use_multiprocessing=use_multiprocessing), workers, max_queue_size)

        self._dataset, self._batch_size = _generated(batches, first)

    @staticmethod
    def can_handle(x: object, y: object = None) -> bool:
        return inspect.isgenerator(x)


class KerasSequenceAdapter(DataAdapter):
    """A keras.utils.Sequence of batches; `shuffle`: whether they come in random order. Other arguments as of GeneratorDataAdapter."""

    def __init__(
        self, x: Any, y: object = None, sample_weights: object = None, shuffle: bool = False, workers: int = 1, use_multiprocessing: bool = False,
        max_queue_size: int = 10, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(x, y, **kwargs)
        _refuse(y, sample_weights, "`keras.utils.Sequence`")

        def batches() -> Iterator[Any]:
            if not workers:
                return (x[i] for i in range(len(x)))
            return _read_ahead(OrderedEnqueuer(x, use_multiprocessing=use_multiprocessing), workers, max_queue_size)

        dataset, self._batch_size = _generated(batches, x[0])
        self._dataset, self._size = dataset.shuffle(len(x)) if shuffle else dataset, len(x)

    @staticmethod
    def can_handle(x: object, y: object = None) -> bool:
        return isinstance(x, Sequence)


def _refuse(y: object, sample_weights: object, kind: str) -> None:
    for name, value in (("y", y), ("sample_weight", sample_weights)):
        if not is_none_or_empty(value):
            raise ValueError(f"`{name}` argument is not supported when using {kind} as input.")


def _read_ahead(enqueuer: Any, workers: int, max_queue_size: int) -> Iterator[Any]:
    enqueuer.start(workers=workers, max_queue_size=max_queue_size)
    return enqueuer.get()  # type: ignore[no-any-return]  # a generator


def _generated(batches: Callable[[], Iterator[Any]], first: object) -> tuple[Any, int]:
    """A dataset of what a function generates, with the dtypes and shapes of its first batch; and the samples of that."""
    kinds, shapes = (nest.map_structure(lambda array, key=key: getattr(array, key), first) for key in ("dtype", "shape"))
    return DatasetV2.from_generator(batches, kinds, output_shapes=shapes), _samples(first)


# ---- the choice ----

ALL_ADAPTER_CLS = [
    ListsOfScalarsDataAdapter, TensorLikeDataAdapter, DatasetAdapter, GeneratorDataAdapter, KerasSequenceAdapter, CompositeTensorDataAdapter,
]  # fmt: skip


def select_data_adapter(x: object, y: object) -> type[DataAdapter]:
    """The class of adapters for inputs and targets.

    Raises:
      ValueError: there is none. RuntimeError: there are several.
    """
    fitting = [each for each in ALL_ADAPTER_CLS if each.can_handle(x, y)]
    if not fitting:
        raise ValueError(f"Failed to find data adapter that can handle input: {_type_name(x)}, {_type_name(y)}")
    if len(fitting) > 1:
        raise RuntimeError(
            f"Data adapters should be mutually exclusive for handling inputs. Found multiple adapters {fitting} to handle input: "
            f"{_type_name(x)}, {_type_name(y)}"
        )
    return fitting[0]


def _type_name(x: object) -> str:
    """The class of a value, with those of what it holds."""
    if isinstance(x, dict):
        keys, values = (set(map(_type_name, each)) for each in (x.keys(), x.values()))
        return f"({type(x)} containing {keys} keys and {values} values)"
    if isinstance(x, (list, tuple)):
        return f"({type(x)} containing values of types {set(map(_type_name, x))})"
    return str(type(x))


def is_none_or_empty(inputs: object) -> bool:
    """Whether a nest is None or has no leaves."""
    return inputs is None or not nest.flatten(inputs)
