"""tf.contrib.slim: data sets, their decoders and providers."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.slim.parallel_reader import parallel_read
from tfcompat._src.graph.tensor import Tensor


@export("contrib.slim.data_decoder.DataDecoder")
class DataDecoder(abc.ABC):
    """Decodes records."""

    @abc.abstractmethod
    def decode(self, data: Tensor, items: Sequence[str]) -> list:
        """The items of a record."""

    @abc.abstractmethod
    def list_items(self) -> list[str]:
        """The names of the items."""


@export("contrib.slim.dataset.Dataset")
class Dataset:
    """A data set.

    Args:
      data_sources: files, or patterns of files.
      reader: class of the reader, such as tf.TFRecordReader.
      decoder: a DataDecoder.
      num_samples: number of records.
      items_to_descriptions: dict from items to texts.
      kwargs: more attributes.
    """

    def __init__(
        self, data_sources: object, reader: object, decoder: DataDecoder, num_samples: int,
        items_to_descriptions: Mapping[str, str], **kwargs: Any,
    ) -> None:  # fmt: skip
        self.data_sources, self.reader, self.decoder = data_sources, reader, decoder
        self.num_samples, self.items_to_descriptions = num_samples, items_to_descriptions
        vars(self).update(kwargs)


@export("contrib.slim.data_provider.DataProvider")
class DataProvider:
    """Gives the items of a data set.

    Args:
      items_to_tensors: dict from items to Tensors.
      num_samples: number of records.
    """

    def __init__(self, items_to_tensors: Mapping[str, Any], num_samples: int) -> None:
        self._items_to_tensors = items_to_tensors
        self._num_samples = num_samples

    def get(self, items: Sequence[str]) -> list:
        """The Tensors of a list of items; ValueError where it is no list or one is not there."""
        if not isinstance(items, (list, tuple)):
            raise ValueError("items must be a list or tuple")
        for item in items:
            if item not in self._items_to_tensors:
                raise ValueError(f"Item [{item}] is invalid. Valid entries include: {self.list_items()}")
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> Iterable[str]:
        return self._items_to_tensors.keys()

    def num_samples(self) -> int:
        return self._num_samples


@export("contrib.slim.dataset_data_provider.DatasetDataProvider")
class DatasetDataProvider(DataProvider):
    """Reads a Dataset through queues.

    Args:
      dataset: a Dataset.
      num_readers, reader_kwargs, shuffle, num_epochs, common_queue_capacity, common_queue_min, seed, scope: as in
        `parallel_read`.
      record_key: the item that is a record's key; ValueError where the data set has an item of this name.
    """

    def __init__(
        self, dataset: Dataset, num_readers: int = 1, reader_kwargs: dict | None = None, shuffle: bool = True,
        num_epochs: int | None = None, common_queue_capacity: int = 256, common_queue_min: int = 128,
        record_key: str = "record_key", seed: int | None = None, scope: str | None = None,
    ) -> None:  # fmt: skip
        key, data = parallel_read(
            dataset.data_sources, reader_class=dataset.reader, num_epochs=num_epochs, num_readers=num_readers,
            reader_kwargs=reader_kwargs, shuffle=shuffle, capacity=common_queue_capacity,
            min_after_dequeue=common_queue_min, seed=seed, scope=scope,
        )  # fmt: skip
        names = dataset.decoder.list_items()
        items = dict(zip(names, dataset.decoder.decode(data, names), strict=True))
        if record_key in items:
            raise ValueError(
                "The item name used for `record_key` cannot also be used for a dataset item: %s", record_key
            )
        super().__init__({**items, record_key: key}, dataset.num_samples)
