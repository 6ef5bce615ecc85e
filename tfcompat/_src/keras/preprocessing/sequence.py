"""tf.keras.preprocessing.sequence: sequences padded to one length, pairs of words, and windows of time series."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.keras.utils.sequences import Sequence


@export("keras.preprocessing.sequence.pad_sequences")
def pad_sequences(
    sequences: Any, maxlen: int | None = None, dtype: Any = "int32", padding: str = "pre", truncating: str = "pre",
    value: Any = 0.0,
) -> np.ndarray:  # fmt: skip
    """Sequences as one array [number, maxlen, ...].

    Args:
      sequences: list of lists.
      maxlen: length; by default that of the longest one.
      dtype: element type.
      padding: where shorter ones are filled up, "pre" or "post".
      truncating: where longer ones are cut, "pre" or "post".
      value: what they are filled up with.

    Raises:
      ValueError: they are no lists, or their elements differ in shape.
    """
    if not hasattr(sequences, "__len__"):
        raise ValueError("`sequences` must be iterable.")
    for sequence in sequences:
        if not hasattr(sequence, "__len__"):
            raise ValueError(f"`sequences` must be a list of iterables. Found non-iterable: {sequence}")
    filled = [s for s in sequences if len(s)]
    element_shape = np.asarray(filled[0]).shape[1:] if filled else ()
    if maxlen is None:
        maxlen = max(len(s) for s in sequences)
    if isinstance(value, str) and np.dtype(dtype).kind not in "OU":
        raise ValueError(
            f"`dtype` {dtype} is not compatible with `value`'s type: {type(value)}\nYou should set `dtype=object` for "
            "variable length strings."
        )
    found = np.full((len(sequences), maxlen, *element_shape), value, dtype=dtype)
    for i, sequence in enumerate(sequences):
        if not len(sequence):
            continue
        if truncating not in ("pre", "post"):
            raise ValueError(f'Truncating type "{truncating}" not understood')
        if padding not in ("pre", "post"):
            raise ValueError(f'Padding type "{padding}" not understood')
        kept = np.asarray(sequence[-maxlen:] if truncating == "pre" else sequence[:maxlen], dtype=dtype)
        if kept.shape[1:] != element_shape:
            raise ValueError(
                f"Shape of sample {kept.shape[1:]} of sequence at position {i} is different from expected shape "
                f"{element_shape}"
            )
        if padding == "post":
            found[i, : len(kept)] = kept
        else:
            found[i, -len(kept) :] = kept
    return found


@export("keras.preprocessing.sequence.make_sampling_table")
def make_sampling_table(size: int, sampling_factor: float = 1e-5) -> np.ndarray:
    """The probability to keep each word, by its rank: min(1, sqrt(sampling_factor / frequency)), frequencies by Zipf's law.

    Args:
      size: number of words.
      sampling_factor: as in word2vec.
    """
    rank = np.arange(size)
    rank[0] = 1
    inverse = rank * (np.log(rank) + 0.577) + 0.5 - 1.0 / (12.0 * rank)
    scaled = sampling_factor * inverse
    return np.minimum(1.0, scaled / np.sqrt(scaled))


@export("keras.preprocessing.sequence.skipgrams")
def skipgrams(
    sequence: Any, vocabulary_size: int, window_size: int = 4, negative_samples: float = 1.0, shuffle: bool = True,
    categorical: bool = False, sampling_table: Any = None, seed: int | None = None,
) -> tuple[list[list[int]], list[Any]]:  # fmt: skip
    """Pairs of words that stand near each other, and pairs with random words, labelled 1 and 0.

    Args:
      sequence: word numbers; 0 is no word.
      vocabulary_size: the largest number and 1.
      window_size: how far apart two words may stand.
      negative_samples: number of random pairs for each other one.
      shuffle: whether pairs come in random order.
      categorical: labels [0, 1] and [1, 0] instead.
      sampling_table: the probability to keep each word.
      seed: of the order.

    Returns:
      pairs and labels.
    """
    pairs: list[list[int]] = []
    for i, word in enumerate(sequence):
        if not word or (sampling_table is not None and sampling_table[word] < random.random()):
            continue
        window = range(max(0, i - window_size), min(len(sequence), i + window_size + 1))
        pairs += [[word, sequence[j]] for j in window if j != i and sequence[j]]
    yes, no = ([0, 1], [1, 0]) if categorical else (1, 0)
    labels: list[Any] = [yes] * len(pairs)
    if negative_samples > 0:
        words = [pair[0] for pair in pairs]
        random.shuffle(words)
        count = int(len(labels) * negative_samples)
        pairs += [[words[i % len(words)], random.randint(1, vocabulary_size - 1)] for i in range(count)]
        labels += [no] * count
    if shuffle:
        seed = random.randint(0, 10**7) if seed is None else seed
        for values in (pairs, labels):
            random.seed(seed)
            random.shuffle(values)
    return pairs, labels


def _remove_long_seq(maxlen: int, seq: Any, label: Any) -> tuple[list[Any], list[Any]]:
    """The sequences shorter than `maxlen`, and their labels."""
    kept = [(x, y) for x, y in zip(seq, label) if len(x) < maxlen]
    return [x for x, _ in kept], [y for _, y in kept]


@export("keras.preprocessing.sequence.TimeseriesGenerator")
class TimeseriesGenerator(Sequence):
    """Batches of windows of a time series, each with the target of the step after it.

    Args:
      data, targets: arrays or lists of one length; the first dimension is time.
      length: steps of a window.
      sampling_rate: every how many steps of it are taken.
      stride: steps between two windows.
      start_index, end_index: the part of the series that is used.
      shuffle: whether windows are drawn at random.
      reverse: whether time runs backwards in windows.
      batch_size: windows of a batch.

    Raises:
      ValueError: the lengths differ, or no window fits.
    """

    def __init__(
        self, data: Any, targets: Any, length: int, sampling_rate: int = 1, stride: int = 1, start_index: int = 0,
        end_index: int | None = None, shuffle: bool = False, reverse: bool = False, batch_size: int = 128,
    ) -> None:  # fmt: skip
        if len(data) != len(targets):
            raise ValueError(
                f"Data and targets have to be of same length. Data length is {len(data)} while target length is "
                f"{len(targets)}"
            )
        self.data, self.targets, self.length = data, targets, length
        self.sampling_rate, self.stride, self.shuffle = sampling_rate, stride, shuffle
        self.start_index = start_index + length
        self.end_index = len(data) - 1 if end_index is None else end_index
        self.reverse, self.batch_size = reverse, batch_size
        if self.start_index > self.end_index:
            raise ValueError(
                f"`start_index+length={self.start_index} > end_index={self.end_index}` is disallowed, as no part of the "
                "sequence would be left to be used as current step."
            )

    def __len__(self) -> int:
        step = self.batch_size * self.stride
        return (self.end_index - self.start_index + step) // step

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """The windows [batch, length / sampling_rate, ...] and the targets of a batch."""
        if self.shuffle:
            rows = np.random.randint(self.start_index, self.end_index + 1, size=self.batch_size)
        else:
            first = self.start_index + self.batch_size * self.stride * index
            rows = np.arange(first, min(first + self.batch_size * self.stride, self.end_index + 1), self.stride)
        windows = np.array([self.data[row - self.length : row : self.sampling_rate] for row in rows])
        targets = np.array([self.targets[row] for row in rows])
        return (windows[:, ::-1, ...] if self.reverse else windows), targets

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, with the data as JSON texts; TypeError where they have none."""
        names = ("length", "sampling_rate", "stride", "start_index", "end_index", "shuffle", "reverse", "batch_size")
        series = {name: _as_json(getattr(self, name)) for name in ("data", "targets")}
        return {**series, **{name: getattr(self, name) for name in names}}

    def to_json(self, **kwargs: Any) -> str:
        """The configuration as JSON; arguments are those of json.dumps."""
        return json.dumps({"class_name": type(self).__name__, "config": self.get_config()}, **kwargs)


def _as_json(series: object) -> str:
    return json.dumps(series.tolist() if isinstance(series, np.ndarray) else series)
