"""Batches of arrays, datasets and generators, one after another."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfcompat._src.base import nest
from tfcompat._src.data.dataset import DatasetV2
from tfcompat._src.data.dataset_v1 import make_one_shot_iterator
from tfcompat._src.data.iterator import IteratorV2
from tfcompat._src.keras.utils.generic_utils import make_batches, slice_arrays
from tfcompat._src.keras.utils.sequences import Sequence, is_generator_or_sequence


def convert_to_generator_like(
    data: object, batch_size: int | None = None, steps_per_epoch: int | None = None, epochs: int = 1, shuffle: bool = False
) -> tuple[Any, int | None]:
    """A generator, Sequence or iterator of the batches of `data`, and how many an epoch has.

    Args:
      data: one of these, a dataset, or a tuple of up to three nests of arrays: inputs, targets, weights, where None is left out.
      batch_size: the most samples of a batch of arrays.
      steps_per_epoch: how many batches an epoch has, where `data` does not say so.
      epochs: how often a generator passes over arrays. shuffle: whether each pass has another order.

    Raises:
      ValueError: arrays come without `batch_size`.
    """
    if isinstance(data, tuple):
        data = tuple(part for part in data if not all(leaf is None for leaf in nest.flatten(part)))
    if is_generator_or_sequence(data) or isinstance(data, IteratorV2):
        return data, len(data) if isinstance(data, Sequence) and steps_per_epoch is None else steps_per_epoch
    if isinstance(data, DatasetV2):
        return make_one_shot_iterator(data), steps_per_epoch
    samples = int(nest.flatten(data)[0].shape[0])
    if batch_size is None:
        raise ValueError(
            "When passing input data as arrays, do not specify `steps_per_epoch`/`steps` argument. Please use `batch_size` instead."
        )
    return _batches(data, samples, batch_size, epochs, shuffle), math.ceil(samples / batch_size)


def _batches(data: object, samples: int, batch_size: int, epochs: int, shuffle: bool) -> Iterator[Any]:
    order = np.arange(samples)
    for _ in range(epochs):
        if shuffle:
            np.random.shuffle(order)
        for start, end in make_batches(samples, batch_size):
            chosen = slice_arrays(nest.flatten(data), order[start:end].tolist()) if shuffle else slice_arrays(nest.flatten(data), start, end)
            yield nest.pack_sequence_as(data, chosen)
