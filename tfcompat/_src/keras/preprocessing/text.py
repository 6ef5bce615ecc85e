"""tf.keras.preprocessing.text: texts as sequences of word numbers."""

from __future__ import annotations

import collections
import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.base.export import export

_FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'
_COUNTERS = ("word_counts", "word_docs", "index_docs", "index_word", "word_index")


@export("keras.preprocessing.text.text_to_word_sequence")
def text_to_word_sequence(text: str, filters: str = _FILTERS, lower: bool = True, split: str = " ") -> list[str]:
    """The words of a text.

    Args:
      text: the text.
      filters: characters that separate words as `split` does.
      lower: whether letters become small.
      split: what separates words.
    """
    text = text.lower() if lower else text
    words = text.translate(str.maketrans(dict.fromkeys(filters, split))).split(split)
    return [word for word in words if word]


@export("keras.preprocessing.text.one_hot")
def one_hot(text: str, n: int, filters: str = _FILTERS, lower: bool = True, split: str = " ") -> list[int]:
    """`hashing_trick` with Python's `hash`, which differs from one process to the next."""
    return hashing_trick(text, n, hash, filters, lower, split)


@export("keras.preprocessing.text.hashing_trick")
def hashing_trick(
    text: str, n: int, hash_function: Any = None, filters: str = _FILTERS, lower: bool = True, split: str = " "
) -> list[int]:
    """The words of a text as numbers from 1 to n - 1; different words may have the same.

    Args:
      text: the text.
      n: one more than the largest number.
      hash_function: function of a word, "md5", or None for Python's `hash`.
      filters, lower, split: see `text_to_word_sequence`.
    """
    function: Callable[[str], int] = _md5 if hash_function == "md5" else hash_function or hash
    return [function(word) % (n - 1) + 1 for word in text_to_word_sequence(text, filters, lower, split)]


def _md5(word: str) -> int:
    return int(hashlib.md5(word.encode(), usedforsecurity=False).hexdigest(), 16)


@export("keras.preprocessing.text.Tokenizer")
class Tokenizer:
    """Numbers the words of texts by how often they occur, from 1 on.

    Args:
      num_words: only numbers below it are used.
      filters, lower, split: see `text_to_word_sequence`.
      char_level: whether every character is a word.
      oov_token: the word, with number 1, that stands for unknown ones.
      document_count: number of texts seen.

    Raises:
      TypeError: another keyword is given.
    """

    def __init__(
        self, num_words: int | None = None, filters: str = _FILTERS, lower: bool = True, split: str = " ",
        char_level: bool = False, oov_token: str | None = None, document_count: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        if "nb_words" in kwargs:
            warnings.warn("The `nb_words` argument in `Tokenizer` has been renamed `num_words`.", stacklevel=2)
            num_words = kwargs.pop("nb_words")
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
        self.num_words, self.filters, self.lower, self.split = num_words, filters, lower, split
        self.char_level, self.oov_token, self.document_count = char_level, oov_token, document_count
        self.word_counts: dict[str, int] = collections.OrderedDict()
        self.word_docs: dict[str, int] = collections.defaultdict(int)
        self.index_docs: dict[int, int] = collections.defaultdict(int)
        self.word_index: dict[str, int] = {}
        self.index_word: dict[int, str] = {}

    def _words(self, text: Any) -> Any:
        if not (self.char_level or isinstance(text, list)):
            return text_to_word_sequence(text, self.filters, self.lower, self.split)
        if not self.lower:
            return text
        return [word.lower() for word in text] if isinstance(text, list) else text.lower()

    def fit_on_texts(self, texts: Iterable[Any]) -> None:
        """Counts the words of texts, or of lists of words, and numbers them anew."""
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] += 1
        found = sorted(self.word_counts, key=lambda word: -self.word_counts[word])
        vocabulary = found if self.oov_token is None else [self.oov_token, *found]
        self.word_index = dict(zip(vocabulary, range(1, len(vocabulary) + 1)))
        self.index_word = {i: word for word, i in self.word_index.items()}
        for word, count in self.word_docs.items():
            self.index_docs[self.word_index[word]] = count

    def fit_on_sequences(self, sequences: Any) -> None:
        """Counts in how many sequences each number occurs, for "tfidf" without texts."""
        self.document_count += len(sequences)
        for sequence in sequences:
            for i in set(sequence):
                self.index_docs[i] += 1

    def texts_to_sequences(self, texts: Iterable[Any]) -> list[list[int]]:
        """Texts as lists of numbers; unknown words are left out, or are those of `oov_token`."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts: Iterable[Any]) -> Iterator[list[int]]:
        """As `texts_to_sequences`, one after another."""
        unknown = self.word_index.get(self.oov_token)
        for text in texts:
            numbers = [self._number(self.word_index.get(word), unknown) for word in self._words(text)]
            yield [i for i in numbers if i is not None]

    def _number(self, i: int | None, unknown: int | None) -> int | None:
        return unknown if i is None or (self.num_words and i >= self.num_words) else i

    def sequences_to_texts(self, sequences: Iterable[Any]) -> list[str]:
        """Lists of numbers as texts, words separated by a space."""
        return list(self.sequences_to_texts_generator(sequences))

    def sequences_to_texts_generator(self, sequences: Iterable[Any]) -> Iterator[str]:
        """As `sequences_to_texts`, one after another."""
        unknown = self.word_index.get(self.oov_token)
        for sequence in sequences:
            numbers = [self._number(i if i in self.index_word else None, unknown) for i in sequence]
            yield " ".join(self.index_word[i] for i in numbers if i is not None)

    def texts_to_matrix(self, texts: Iterable[Any], mode: str = "binary") -> np.ndarray:
        """`sequences_to_matrix` of texts."""
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode=mode)

    def sequences_to_matrix(self, sequences: Any, mode: str = "binary") -> np.ndarray:
        """A row for each list of numbers, a column for each word.

        Args:
          sequences: lists of numbers.
          mode: "binary": whether a word occurs; "count": how often; "freq": its share; "tfidf": weighted by its rareness.

        Raises:
          ValueError: nothing was counted before, or the mode is unknown.
        """
        size = self.num_words or (len(self.word_index) + 1 if self.word_index else None)
        if size is None:
            raise ValueError("Specify a dimension (`num_words` argument), or fit on some text data first.")
        if mode == "tfidf" and not self.document_count:
            raise ValueError("Fit the Tokenizer on some data before using tfidf mode.")
        found = np.zeros((len(sequences), size))
        for row, sequence in zip(found, sequences):
            for i, count in collections.Counter(i for i in sequence if i < size).items():
                row[i] = self._weight(i, count, len(sequence), mode)
        return found

    def _weight(self, i: int, count: int, length: int, mode: str) -> float:
        if mode == "count":
            return count
        if mode == "freq":
            return count / length
        if mode == "binary":
            return 1
        if mode != "tfidf":
            raise ValueError("Unknown vectorization mode:", mode)
        return (1 + np.log(count)) * np.log(1 + self.document_count / (1 + self.index_docs.get(i, 0)))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, and what was counted as JSON texts."""
        names = ("num_words", "filters", "lower", "split", "char_level", "oov_token", "document_count")
        counted = {name: json.dumps(getattr(self, name)) for name in _COUNTERS}
        return {**{name: getattr(self, name) for name in names}, **counted}

    def to_json(self, **kwargs: Any) -> str:
        """The configuration as JSON; arguments are those of json.dumps."""
        return json.dumps({"class_name": type(self).__name__, "config": self.get_config()}, **kwargs)


def tokenizer_from_json(json_string: str) -> Tokenizer:
    """The tokenizer that `to_json` gave a text for."""
    config = json.loads(json_string)["config"]
    counted = {name: json.loads(config.pop(name)) for name in _COUNTERS}
    for name in ("index_docs", "index_word"):
        counted[name] = {int(i): value for i, value in counted[name].items()}
    tokenizer = Tokenizer(**config)
    for name, value in counted.items():
        setattr(tokenizer, name, value)
    return tokenizer
