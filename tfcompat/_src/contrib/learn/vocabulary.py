"""`tf.contrib.learn.preprocessing`: documents as rows of word numbers.

Attributes have the names that 1.15 pickles, so that `restore` reads vocabularies that 1.15 saved.
"""

from __future__ import annotations

import pickle
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.platform.file_io import FileIO

TOKENIZER_RE = export("contrib.learn.preprocessing.TOKENIZER_RE")(re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+"))


@export("contrib.learn.preprocessing.tokenizer")
def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """Gives the words of each document: runs of letters, digits, `_`, `-` and `'`, cut inside CamelCase."""
    for document in iterator:
        yield TOKENIZER_RE.findall(document)


@export("contrib.learn.preprocessing.ByteProcessor")
class ByteProcessor:
    """Maps documents to the bytes of their UTF-8 text.

    Args:
      max_document_length: number of bytes of each row; longer documents are cut, shorter ones filled with zeros.
    """

    def __init__(self, max_document_length: int) -> None:
        self.max_document_length = max_document_length

    def fit(self, x: Any) -> None:
        """Nothing is to be learned."""

    def fit_transform(self, x: Iterable[str | bytes]) -> Iterator[np.ndarray]:
        """The same as `transform`."""
        return self.transform(x)

    def reverse(self, x: Iterable[np.ndarray]) -> Iterator[str]:
        """Gives the text of each row of bytes; "" where it is not UTF-8."""
        for row in x:
            try:
                yield np.trim_zeros(row.astype(np.uint8), trim="b").tobytes().decode("utf-8")
            except UnicodeDecodeError:
                yield ""

    def transform(self, x: Iterable[str | bytes]) -> Iterator[np.ndarray]:
        """Gives a uint8 row [max_document_length] for each document."""
        for document in x:
            text = document.encode("utf-8") if isinstance(document, str) else document
            found = np.frombuffer(memoryview(text)[: self.max_document_length], dtype=np.uint8)
            yield np.pad(found, (0, self.max_document_length - len(found)), "constant")


@export("contrib.learn.preprocessing.CategoricalVocabulary")
class CategoricalVocabulary:
    """Numbers categories from 1 as they come; 0 stands for the unknown ones."""

    def __init__(self, unknown_token: object = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token = unknown_token
        self._mapping = {unknown_token: 0}
        self._support_reverse = support_reverse
        if support_reverse:
            self._reverse_mapping = [unknown_token]
        self._freq: dict[Any, int] = defaultdict(int)
        self._freeze = False

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Says whether new categories are unknown (True) or get a number."""
        self._freeze = freeze

    def get(self, category: object) -> int:
        """The number of a category; a new one gets a number, or 0 where the vocabulary is frozen."""
        if category not in self._mapping:
            if self._freeze:
                return 0
            self._mapping[category] = len(self._mapping)
            if self._support_reverse:
                self._reverse_mapping.append(category)
        return self._mapping[category]

    def add(self, category: object, count: int = 1) -> None:
        """Counts `count` more occurrences of a category."""
        if self.get(category) > 0:
            self._freq[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Keeps categories that came more often than `min_frequency` and at most `max_frequency` times (-1: no limit), most frequent first."""
        by_name = sorted(self._freq.items(), key=lambda item: (isinstance(item[0], str), item[0]))
        ranked = sorted(by_name, key=lambda item: item[1], reverse=True)
        kept = [(c, n) for c, n in ranked if n > min_frequency and (max_frequency <= 0 or n <= max_frequency)]
        names = [self._unknown_token, *[c for c, _ in kept]]
        self._freq = defaultdict(int, kept)
        self._mapping = {c: i for i, c in enumerate(names)}
        if self._support_reverse:
            self._reverse_mapping = names

    def reverse(self, class_id: int) -> Any:
        """The category of a number.

        Raises:
          ValueError: made with `support_reverse=False`.
        """
        if not self._support_reverse:
            raise ValueError("This vocabulary wasn't initialized with support_reverse to support reverse() function.")
        return self._reverse_mapping[class_id]


@export("contrib.learn.preprocessing.VocabularyProcessor")
class VocabularyProcessor:
    """Maps documents to int64 rows of word numbers, cut or filled with 0 to one length."""

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[[Iterable[str]], Iterable[list[str]]] | None = None,
    ) -> None:
        """Args:
        max_document_length: the words in a row.
        min_frequency: words that come this often or less are unknown.
        vocabulary: what to start from.
        tokenizer_fn: gives the words of each document; by default `tokenizer`.
        """
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary if vocabulary is not None and len(vocabulary) else CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: object = None) -> VocabularyProcessor:
        """Numbers the words of the documents and freezes the vocabulary."""
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Iterable[str], unused_y: object = None) -> Iterator[np.ndarray]:
        """`fit` and `transform` of the same documents."""
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[np.ndarray]:
        """Gives an int64 [max_document_length] for each document."""
        for words in self._tokenizer(raw_documents):
            row = np.zeros(self.max_document_length, np.int64)
            for position, word in enumerate(words[: self.max_document_length]):
                row[position] = self.vocabulary_.get(word)
            yield row

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """Gives the words of each row, joined by spaces."""
        for row in documents:
            yield " ".join(self.vocabulary_.reverse(number) for number in row)

    def save(self, filename: str) -> None:
        """Pickles the processor to a file."""
        with FileIO(filename, "wb") as file:
            file.write(pickle.dumps(self))

    @classmethod
    def restore(cls, filename: str) -> VocabularyProcessor:
        """Reads a processor that `save` has written: a pickle, which can run any code, so only a file that is trusted."""
        with FileIO(filename, "rb") as file:
            return pickle.loads(file.read())
