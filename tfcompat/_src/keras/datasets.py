"""tf.keras.datasets: data sets read from files in ~/.keras/datasets; nothing is downloaded."""

from __future__ import annotations

import gzip
import json
import pathlib
import pickle
import tarfile
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.keras.backend.config import image_data_format
from tfcompat._src.keras.preprocessing.sequence import _remove_long_seq
from tfcompat._src.keras.utils.data_utils import data_dir, validate_file
from tfcompat._src.platform import logging

_STORAGE = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
_CIFAR = "https://www.cs.toronto.edu/~kriz/"
_Parts = tuple[tuple[Any, Any], tuple[Any, Any]]


def _file(name: str, origin: str, file_hash: str | None = None, subfolder: str = "datasets") -> pathlib.Path:
    """The path of a file of a data set.

    Raises:
      FileNotFoundError: it is not there. OSError: it has another hash.
    """
    path = data_dir(subfolder) / name
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing, and data sets are not downloaded: fetch {origin} and put it there.")
    if file_hash is not None and not validate_file(path, file_hash):
        raise OSError(f"{path} is not the file at {origin}, or is damaged: its hash is not {file_hash}.")
    return path


@export("keras.datasets.mnist.load_data")
def mnist(path: str = "mnist.npz") -> _Parts:
    """Handwritten digits: uint8 images [60000, 28, 28] and labels, and 10000 more for tests; FileNotFoundError without
    the file `path`."""
    found = _file(
        path, _STORAGE + "mnist.npz", "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"
    )
    with np.load(found) as f:
        return (f["x_train"], f["y_train"]), (f["x_test"], f["y_test"])


@export("keras.datasets.fashion_mnist.load_data")
def fashion_mnist() -> _Parts:
    """Pictures of clothes, in the form of `mnist`, from four gzip files in ~/.keras/datasets/fashion-mnist."""

    def read(name: str, offset: int) -> np.ndarray:
        path = _file(name, _STORAGE + name, subfolder="datasets/fashion-mnist")
        return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=offset)

    parts = []
    for part in ("train", "t10k"):
        labels = read(f"{part}-labels-idx1-ubyte.gz", 8)
        parts.append((read(f"{part}-images-idx3-ubyte.gz", 16).reshape(len(labels), 28, 28), labels))
    return parts[0], parts[1]


@export("keras.datasets.boston_housing.load_data")
def boston_housing(path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113) -> _Parts:
    """Prices of houses by 13 features.

    Args:
      path: the file in ~/.keras/datasets.
      test_split: share of the examples for tests, from 0 to below 1.
      seed: of NumPy's shuffle.

    Raises:
      ValueError: `test_split` is not in the range. FileNotFoundError: the file is missing.
    """
    if not 0 <= test_split < 1:
        raise ValueError(f"`test_split` must be in [0, 1). Received: {test_split}")
    found = _file(
        path, _STORAGE + "boston_housing.npz", "f553886a1f8d56431e820c5b82552d9d95cfcb96d1e678153f8839538947dff5"
    )
    with np.load(found) as f:
        x, y = f["x"], f["y"]
    order = _shuffled(len(x), seed)
    x, y, border = x[order], y[order], int(len(x) * (1 - test_split))
    return (x[:border], y[:border]), (x[border:], y[border:])


def _shuffled(count: int, seed: int | None = None) -> np.ndarray:
    if seed is not None:
        np.random.seed(seed)
    order = np.arange(count)
    np.random.shuffle(order)
    return order


# ---- pictures of 32 x 32 pixels ----


def _cifar(name: str, archive: str, file_hash: str) -> pathlib.Path:
    """The folder of a data set, unpacked from its archive where only that is there."""
    folder = data_dir() / name
    if not folder.exists():
        with tarfile.open(_file(f"{name}.tar.gz", _CIFAR + archive, file_hash)) as packed:
            packed.extractall(data_dir(), filter="data")
    return folder


def _batch(path: pathlib.Path, label_key: str = "labels") -> tuple[np.ndarray, np.ndarray]:
    """Images in Keras' data format, and labels [number, 1]."""
    with path.open("rb") as file:
        found = {key.decode(): value for key, value in pickle.load(file, encoding="bytes").items()}
    images = found["data"].reshape(-1, 3, 32, 32)
    labels = np.reshape(np.array(found[label_key], dtype="uint8"), (-1, 1))
    return (images.transpose(0, 2, 3, 1) if image_data_format() == "channels_last" else images), labels


@export("keras.datasets.cifar10.load_data")
def cifar10() -> _Parts:
    """Pictures of ten classes: uint8 images [50000, 32, 32, 3] and labels [50000, 1], and 10000 more for tests;
    FileNotFoundError without ~/.keras/datasets/cifar-10-batches-py or its archive."""
    folder = _cifar(
        "cifar-10-batches-py", "cifar-10-python.tar.gz",
        "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
    )  # fmt: skip
    batches = [_batch(folder / f"data_batch_{i}") for i in range(1, 6)]
    images, labels = (np.concatenate(part) for part in zip(*batches))
    return (images, labels), _batch(folder / "test_batch")


@export("keras.datasets.cifar100.load_data")
def cifar100(label_mode: str = "fine") -> _Parts:
    """Pictures of 100 classes, or of 20 with label_mode="coarse", in the form of `cifar10`; ValueError for another mode."""
    if label_mode not in ("fine", "coarse"):
        raise ValueError('`label_mode` must be one of `"fine"`, `"coarse"`.')
    folder = _cifar(
        "cifar-100-python", "cifar-100-python.tar.gz",
        "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
    )  # fmt: skip
    return _batch(folder / "train", f"{label_mode}_labels"), _batch(folder / "test", f"{label_mode}_labels")


# ---- texts as word numbers ----


def _old_name_of_num_words(num_words: int | None, kwargs: dict[str, Any]) -> int | None:
    if "nb_words" in kwargs:
        logging.warning("The `nb_words` argument in `load_data` has been renamed `num_words`.")
        num_words = kwargs.pop("nb_words")
    if kwargs:
        raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
    return num_words


def _marked(texts: Any, start_char: int | None, index_from: int) -> list[list[int]]:
    """Texts whose numbers begin at `index_from`, each after a mark."""
    marks = [] if start_char is None else [start_char]
    shift = index_from or 0
    return [marks + [word + shift for word in text] for text in texts]


def _known_words(texts: list, num_words: int | None, skip_top: int, oov_char: int | None) -> list[list[int]]:
    """Texts with a mark in place of rare and of the most frequent words, or without them."""
    limit = num_words or max(max(text) for text in texts)
    if oov_char is None:
        return [[word for word in text if skip_top <= word < limit] for text in texts]
    return [[word if skip_top <= word < limit else oov_char for word in text] for text in texts]


def _split(texts: list[list[int]], labels: object, border: int) -> _Parts:
    found = np.empty(len(texts), dtype=object)
    found[:] = texts
    labels = np.array(labels)
    return (found[:border], labels[:border]), (found[border:], labels[border:])


@export("keras.datasets.imdb.load_data")
def imdb(
    path: str = "imdb.npz", num_words: int | None = None, skip_top: int = 0, maxlen: int | None = None, seed: int = 113,
    start_char: int | None = 1, oov_char: int | None = 2, index_from: int = 3, **kwargs: object,
) -> _Parts:  # fmt: skip
    """Reviews of films as lists of word numbers by frequency, with 1 for good ones and 0 for bad ones.

    Args:
      path: the file in ~/.keras/datasets.
      num_words: numbers from it on, and below `skip_top`, become `oov_char`, or are left out where it is None.
      maxlen: longer reviews are left out.
      seed: of NumPy's shuffle.
      start_char: first number of every review.
      index_from: what is added to the numbers.

    Raises:
      ValueError: no review is short enough. FileNotFoundError: the file is missing.
    """
    num_words = _old_name_of_num_words(num_words, kwargs)
    found = _file(path, _STORAGE + "imdb.npz", "69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f")
    with np.load(found, allow_pickle=True) as f:
        parts = [(f[f"x_{part}"], f[f"y_{part}"]) for part in ("train", "test")]
    orders = [_shuffled(len(parts[0][0]), seed), _shuffled(len(parts[1][0]))]
    texts = _marked(np.concatenate([x[o] for (x, _), o in zip(parts, orders)]), start_char, index_from)
    labels: Any = np.concatenate([y[o] for (_, y), o in zip(parts, orders)])
    if maxlen:
        texts, labels = _remove_long_seq(maxlen, texts, labels)
        if not texts:
            raise ValueError(
                f"After filtering for sequences shorter than maxlen={maxlen}, no sequence was kept. Increase maxlen."
            )
    return _split(_known_words(texts, num_words, skip_top, oov_char), labels, len(parts[0][0]))


@export("keras.datasets.reuters.load_data")
def reuters(
    path: str = "reuters.npz", num_words: int | None = None, skip_top: int = 0, maxlen: int | None = None,
    test_split: float = 0.2, seed: int = 113, start_char: int | None = 1, oov_char: int | None = 2, index_from: int = 3,
    **kwargs: object,
) -> _Parts:  # fmt: skip
    """News as lists of word numbers, of 46 topics; arguments are those of `imdb`, and the share for tests."""
    num_words = _old_name_of_num_words(num_words, kwargs)
    found = _file(path, _STORAGE + "reuters.npz", "d6586e694ee56d7a4e65172e12b3e987c03096cb01eab99753921ef915959916")
    with np.load(found, allow_pickle=True) as f:
        x, labels = f["x"], f["y"]
    order = _shuffled(len(x), seed)
    texts, labels = _marked(x[order], start_char, index_from), labels[order]
    if maxlen:
        texts, labels = _remove_long_seq(maxlen, texts, labels)
    return _split(_known_words(texts, num_words, skip_top, oov_char), labels, int(len(texts) * (1 - test_split)))


@export("keras.datasets.imdb.get_word_index")
def imdb_words(path: str = "imdb_word_index.json") -> dict[str, int]:
    """The number of each word of `imdb`, before `index_from` is added."""
    file_hash = "bfafd718b763782e994055a2d397834f"
    return json.loads(_file(path, _STORAGE + "imdb_word_index.json", file_hash).read_text())


@export("keras.datasets.reuters.get_word_index")
def reuters_words(path: str = "reuters_word_index.json") -> dict[str, int]:
    """The number of each word of `reuters`, before `index_from` is added."""
    file_hash = "4d44cc38712099c9e383dc6e5f11a921"
    return json.loads(_file(path, _STORAGE + "reuters_word_index.json", file_hash).read_text())
