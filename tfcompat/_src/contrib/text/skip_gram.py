"""tf.contrib.text: pairs of words that stand near each other (arXiv:1301.3781), frequent words left out at random (arXiv:1310.4546)."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.contrib.lookup.tables import HashTable
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, RANDOM, NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lookup.initializers import TextFileInitializer
from tfcompat._src.lookup.static import InitializableLookupTableBase
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.composed.masks import boolean_mask
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.random.seeds import get_seed
from tfcompat._src.ops.random.stateful import random_uniform
from tfcompat._src.ops.random.words import Words
from tfcompat._src.platform.file_io import FileIO
from tfcompat._src.train.input_batching import batch

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_ROUNDING = 1e-6
"""By how much a sum of frequencies may be above the given one."""


# ---- pairs ----


def _pairs_shape(c):
    si.with_rank(c.inputs[0], 1)
    for sizes in c.inputs[1:5]:
        si.with_rank(sizes, 0)
    return [(None,), (None,)]


def _end(count: int, start: int, limit: int) -> int:
    return count if limit < 0 else min(start + limit, count)


def _reserved(outputs, tokens, min_skips, max_skips, start, limit, emit_self):
    return -(-(_end(len(tokens), int(start), int(limit)) - int(start) + 1) // 4)


@op(
    "SkipGramGenerateCandidates",
    "(input_tensor: T, min_skips: int32, max_skips: int32, start: int32, limit: int32, emit_self_as_target: bool, *, T: type, "
    "seed: int = 0, seed2: int = 0) -> (tokens: T, labels: T)",
    shape=_pairs_shape, gradient=NotDifferentiable("words are chosen"), effects=RANDOM, side=HOST, reserve=_reserved,
)  # fmt: skip
def _pairs(tokens, min_skips, max_skips, start, limit, emit_self, *, rng):
    low, high, first = int(min_skips), int(max_skips), int(start)
    if low < 0 or high < 0:
        raise errors.InvalidArgumentError(None, None, "Both min_skips and max_skips must be >= 0.")
    if low > high:
        raise errors.InvalidArgumentError(None, None, "min_skips must be <= max_skips.")
    last, words = _end(len(tokens), first, int(limit)), Words(*rng)
    places, others = [], []
    for i in range(max(first, 0), last):
        skips = low + words.below(high - low + 1)
        near = [j for j in range(max(i - skips, first, 0), min(i + skips + 1, last)) if j != i or emit_self]
        places += [i] * len(near)
        others += near
    return tokens[np.array(places, np.int64)], tokens[np.array(others, np.int64)]


# ---- samples ----


def _known_words(tokens: TensorLike, frequencies: object, vocab_min_count: object) -> tuple[Tensor, Tensor]:
    """The tokens that the table has often enough, and how often."""
    if not isinstance(frequencies, InitializableLookupTableBase):
        raise ValueError(
            "vocab_freq_table must be a subclass of InitializableLookupTableBase (such as HashTable) instead of type "
            f"{type(frequencies)}."
        )
    with name_scope("filter_vocab", values=[frequencies, tokens, vocab_min_count]):
        found = frequencies.lookup(tokens)
        keep = raw.NotEqual(found, frequencies.default_value)
        if vocab_min_count is not None:
            keep = raw.LogicalAnd(keep, raw.GreaterEqual(found, cast(vocab_min_count, found.dtype)))
        return boolean_mask(tokens, keep), boolean_mask(found, keep)


def _without_frequent(tokens: Tensor, frequencies: Tensor, vocab_subsampling: float, corpus_size: object, seed: int | None) -> Tensor:
    """The tokens without some of the frequent ones: the more often a word stands in the corpus, the rarer it is kept."""
    if not 0 <= vocab_subsampling <= 1:
        raise ValueError(f"Invalid vocab_subsampling={vocab_subsampling} - it should be within range [0, 1].")
    with name_scope("subsample_vocab", values=[tokens, frequencies, vocab_subsampling]):
        size, frequencies, share = (cast(x, dtypes.float64) for x in (corpus_size, frequencies, vocab_subsampling))
        probability = (raw.Sqrt(frequencies / (share * size)) + 1.0) * (share * size / frequencies)
        drawn = random_uniform(shape(frequencies), 0, 1, dtypes.float64, seed=seed)
        return boolean_mask(tokens, raw.LessEqual(drawn, probability))


def filter_input(
    input_tensor: TensorLike, vocab_freq_table: object, vocab_min_count: object, vocab_subsampling: float | None, corpus_size: object, seed: int | None
) -> Any:
    """The tokens of which `skip_gram_sample` makes pairs; its arguments."""
    if vocab_freq_table is None:
        return input_tensor
    tokens, frequencies = _known_words(input_tensor, vocab_freq_table, vocab_min_count)
    return _without_frequent(tokens, frequencies, vocab_subsampling, corpus_size, seed) if vocab_subsampling else tokens


@export("contrib.text.skip_gram_sample")
def skip_gram_sample(
    input_tensor: TensorLike, min_skips: TensorLike = 1, max_skips: TensorLike = 5, start: TensorLike = 0, limit: TensorLike = -1, emit_self_as_target: TensorLike = False,
    vocab_freq_table: object = None, vocab_min_count: object = None, vocab_subsampling: float | None = None, corpus_size: object = None,
    batch_size: int | None = None, batch_capacity: int | None = None, seed: int | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Each token with those near it: for each as many places to both sides as is drawn from [min_skips, max_skips].

    Args:
      input_tensor: vector of tokens.
      min_skips, max_skips: int scalars, not negative.
      start, limit: int scalars: the first token used, and how many are (all where negative).
      emit_self_as_target: whether each token is near itself.
      vocab_freq_table: lookup table of the frequencies of tokens; those that it does not have are left out.
      vocab_min_count: those below this frequency too.
      vocab_subsampling: the share of the corpus from which on tokens are left out at random.
      corpus_size: the sum of all frequencies, for `vocab_subsampling`.
      batch_size: pairs per batch, which a queue collects; by default all pairs.
      batch_capacity: of that queue, by default 100 batches.
      seed: of what is drawn.
      name: name scope.

    Returns:
      (tokens, labels), vectors of one length.

    Raises:
      ValueError: what needs the table or the corpus size is given without it. InvalidArgumentError: in a run, skips do not fit.
    """
    if vocab_freq_table is None and any(x is not None for x in (vocab_min_count, vocab_subsampling, corpus_size)):
        raise ValueError(
            f"vocab_freq_table is not provided, but vocab_min_count={vocab_min_count}, vocab_subsampling={vocab_subsampling}, or "
            f"corpus_size={corpus_size} is not None. These settings are useless without a vocab_freq_table."
        )
    if (vocab_subsampling is None) != (corpus_size is None):
        raise ValueError(
            f"vocab_subsampling is {vocab_subsampling} while corpus_size is {corpus_size} - both must be provided in order for "
            "subsampling to work."
        )
    with name_scope(name, "skip_gram_sample", [input_tensor, min_skips, max_skips, start, limit]):
        tokens = filter_input(input_tensor, vocab_freq_table, vocab_min_count, vocab_subsampling, corpus_size, seed)
        seed1, seed2 = get_seed(seed)
        pairs = raw.SkipGramGenerateCandidates(
            tokens, min_skips, max_skips, start, limit, emit_self_as_target, seed=seed1, seed2=seed2
        )
        if batch_size is not None and batch_size > 0:
            capacity = batch_capacity if batch_capacity is not None and batch_capacity > 0 else 100 * batch_size
            return batch(list(pairs), batch_size, capacity=capacity, enqueue_many=True)
        return tuple(pairs)


def _read_frequencies(path: str, token_index: int, freq_index: int, freq_dtype: Any, delimiter: str) -> tuple[int, Any]:
    """How many rows a vocabulary has, and the sum of their frequencies."""
    total, count = 0.0, 0
    with FileIO(path, "r") as file:
        for row in csv.reader(file, delimiter=delimiter):
            if max(token_index, freq_index) >= len(row):
                raise ValueError(
                    f"Row in vocab file only has {len(row)} columns, so vocab_token_index={token_index} or "
                    f"vocab_freq_index={freq_index} is out of bounds. Row content: {row}"
                )
            frequency = freq_dtype.as_numpy_dtype(row[freq_index])
            if frequency < 0:
                raise ValueError(f"Row in vocab file has negative frequency of {frequency}. Row content: {row}")
            total, count = total + frequency, count + 1
    return count, total


@export("contrib.text.skip_gram_sample_with_text_vocab")
def skip_gram_sample_with_text_vocab(
    input_tensor: TensorLike, vocab_freq_file: str, vocab_token_index: int = 0, vocab_token_dtype: object = dtypes.string,
    vocab_freq_index: int = 1, vocab_freq_dtype: object = dtypes.float64, vocab_delimiter: str = ",", vocab_min_count: object = 0,
    vocab_subsampling: float | None = None, corpus_size: object = None, min_skips: TensorLike = 1, max_skips: TensorLike = 5, start: TensorLike = 0,
    limit: TensorLike = -1, emit_self_as_target: TensorLike = False, batch_size: int | None = None, batch_capacity: int | None = None,
    seed: int | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """`skip_gram_sample` with frequencies from a text file.

    Args:
      vocab_freq_file: path of a file with a token and its frequency in each line.
      vocab_token_index, vocab_freq_index: the columns where they stand.
      vocab_token_dtype, vocab_freq_dtype: their dtypes.
      vocab_delimiter: what stands between columns.
      corpus_size: by default the sum of the frequencies.
      input_tensor and others: as for `skip_gram_sample`.

    Raises:
      ValueError: a column is not there, both are the same, a frequency is negative, or the corpus is smaller than their sum.
    """
    if vocab_token_index < 0 or vocab_freq_index < 0:
        raise ValueError(f"vocab_token_index={vocab_token_index} and vocab_freq_index={vocab_freq_index} must both be >= 0.")
    if vocab_token_index == vocab_freq_index:
        raise ValueError(f"vocab_token_index and vocab_freq_index should be different, but are both {vocab_token_index}.")
    count, total = _read_frequencies(vocab_freq_file, vocab_token_index, vocab_freq_index, vocab_freq_dtype, vocab_delimiter)
    if corpus_size and total - corpus_size > _ROUNDING:
        raise ValueError(
            f"`corpus_size`={corpus_size} must be greater than or equal to the sum of all the frequency counts ({total}) of "
            f"`vocab_freq_file` ({vocab_freq_file})."
        )
    words = TextFileInitializer(
        vocab_freq_file, vocab_token_dtype, vocab_token_index, vocab_freq_dtype, vocab_freq_index, count, vocab_delimiter
    )
    return skip_gram_sample(
        input_tensor, min_skips, max_skips, start, limit, emit_self_as_target, HashTable(words, -1), vocab_min_count,
        vocab_subsampling, None if vocab_subsampling is None else corpus_size or total, batch_size, batch_capacity, seed, name,
    )  # fmt: skip
