"""tf.contrib.learn.datasets.mnist, `tensorflow.examples.tutorials.mnist.input_data`: the MNIST digits from idx files in a folder.

Format: http://yann.lecun.com/exdb/mnist/ (big-endian header: magic number, sizes; then unsigned bytes).
"""

from __future__ import annotations

import gzip
import os
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.learn.tables import Datasets
from tfcompat._src.ops.random.seeds import get_seed

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DTypeLike

DEFAULT_SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
TRAIN_IMAGES = "train-images-idx3-ubyte"
TRAIN_LABELS = "train-labels-idx1-ubyte"
TEST_IMAGES = "t10k-images-idx3-ubyte"
TEST_LABELS = "t10k-labels-idx1-ubyte"
FILES = (TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS)
IMAGES_MAGIC = 2051
LABELS_MAGIC = 2049
FAKE_EXAMPLES = 10000


def read_idx(file: BinaryIO, magic: int, dimensions: int) -> np.ndarray:
    """The array of unsigned bytes in an idx file.

    Raises:
      ValueError: another magic number, or fewer bytes than the header says.
    """
    name = getattr(file, "name", "the file")
    header = file.read(4 * (1 + dimensions))
    found = np.frombuffer(header, ">u4") if len(header) == 4 * (1 + dimensions) else np.zeros(1, ">u4")
    if found[0] != magic:
        raise ValueError(f"Invalid magic number {found[0]} in MNIST file {name}: {magic} was wanted")
    shape = tuple(int(n) for n in found[1:])
    data = file.read(int(np.prod(shape)))
    if len(data) != np.prod(shape):
        raise ValueError(f"MNIST file {name} ends after {len(data)} bytes; its header says {np.prod(shape)}")
    return np.frombuffer(data, np.uint8).reshape(shape)


@export("contrib.learn.datasets.mnist.extract_images")
def extract_images(f: BinaryIO) -> np.ndarray:
    """Images [number, rows, columns, 1] (uint8) of an open, uncompressed or gzip idx file."""
    with decompressed(f) as file:
        return read_idx(file, IMAGES_MAGIC, 3)[..., np.newaxis]


@export("contrib.learn.datasets.mnist.extract_labels")
def extract_labels(f: BinaryIO, one_hot: bool = False, num_classes: int = 10) -> np.ndarray:
    """Labels [number] (uint8), or [number, num_classes] (float64) if `one_hot`, of an open idx file."""
    with decompressed(f) as file:
        labels = read_idx(file, LABELS_MAGIC, 1)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


def decompressed(file: BinaryIO) -> Any:
    start = file.read(2)
    file.seek(0)
    return gzip.GzipFile(fileobj=file) if start == b"\x1f\x8b" else file


@export("contrib.learn.datasets.mnist.dense_to_one_hot")
def dense_to_one_hot(labels_dense: np.ndarray, num_classes: int) -> np.ndarray:
    """Labels [number] as rows of zeros with a one at the label, float64 [number, num_classes]."""
    return np.eye(num_classes)[labels_dense]


@export("contrib.learn.datasets.mnist.DataSet")
class DataSet:
    """Images and labels, given out in shuffled batches.

    Args:
      images: uint8 [number, rows, columns, 1].
      labels: [number] or [number, classes].
      fake_data: give out constant images instead.
      one_hot: whether fake labels are one-hot.
      dtype: tf.uint8 leaves images as they are, tf.float32 scales them to [0, 1].
      reshape: whether images become rows [number, rows * columns].
      seed: of the shuffling, by default the graph's; NumPy's global generator is seeded with it.

    Raises:
      TypeError: another dtype.
      ValueError: images and labels differ in number, or there is more than one channel where rows are asked for.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: DTypeLike = dtypes.float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        graph_seed, op_seed = get_seed(seed)
        np.random.seed(graph_seed if seed is None else op_seed)
        dtype = dtypes.as_dtype(dtype).base_dtype
        if dtype not in (dtypes.uint8, dtypes.float32):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        if fake_data:
            self._num_examples = FAKE_EXAMPLES
            self.one_hot = one_hot
        else:
            images, labels = checked(images, labels, reshape)
            self._num_examples = images.shape[0]
            if dtype == dtypes.float32:
                images = np.multiply(images.astype(np.float32), np.float32(1.0 / 255.0))
        self._fake_data = fake_data
        self._images = images
        self._labels = labels
        self._epochs_completed = 0
        self._index_in_epoch = 0

    @property
    def images(self) -> np.ndarray:
        return self._images

    @property
    def labels(self) -> np.ndarray:
        return self._labels

    @property
    def num_examples(self) -> int:
        return self._num_examples

    @property
    def epochs_completed(self) -> int:
        return self._epochs_completed

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Any, Any]:
        """The next `batch_size` images and labels; at the end of an epoch its rest is filled up from the next one."""
        if fake_data:
            label: Any = [1] + [0] * 9 if self._fake_data and self.one_hot else 0
            return [[1] * 784 for _ in range(batch_size)], [label for _ in range(batch_size)]
        start = self._index_in_epoch
        if start == 0 and self._epochs_completed == 0 and shuffle:
            self._shuffle()
        if start + batch_size <= self._num_examples:
            self._index_in_epoch = start + batch_size
            return self._images[start : self._index_in_epoch], self._labels[start : self._index_in_epoch]
        self._epochs_completed += 1
        rest_images, rest_labels = self._images[start:], self._labels[start:]
        if shuffle:
            self._shuffle()
        self._index_in_epoch = batch_size - len(rest_images)
        return (
            np.concatenate((rest_images, self._images[: self._index_in_epoch])),
            np.concatenate((rest_labels, self._labels[: self._index_in_epoch])),
        )

    def _shuffle(self) -> None:
        order = np.arange(self._num_examples)
        np.random.shuffle(order)
        self._images, self._labels = self._images[order], self._labels[order]


def checked(images: np.ndarray, labels: np.ndarray, reshape: bool) -> tuple[np.ndarray, np.ndarray]:
    if images.shape[0] != labels.shape[0]:
        raise ValueError(f"images.shape: {images.shape} labels.shape: {labels.shape}: they must agree in number")
    if not reshape:
        return images, labels
    if images.shape[3] != 1:
        raise ValueError(f"Only images of one channel become rows; these have the shape {images.shape}")
    return images.reshape(images.shape[0], images.shape[1] * images.shape[2]), labels


def opened(folder: str, name: str) -> BinaryIO:
    """The idx file `name` or `name`.gz in a folder.

    Raises:
      FileNotFoundError: neither is there.
    """
    for candidate in (name + ".gz", name):
        path = os.path.join(folder, candidate)
        if os.path.isfile(path):
            print("Extracting", path)
            return open(path, "rb")
    lacking = [
        each for each in FILES if not any(os.path.isfile(os.path.join(folder, each + end)) for end in (".gz", ""))
    ]
    raise FileNotFoundError(
        f"{os.path.abspath(folder)} lacks {', '.join(lacking)}: tfcompat downloads nothing; put them, plain or "
        f"as .gz, there ({DEFAULT_SOURCE_URL} has them)"
    )


@export("contrib.learn.datasets.mnist.read_data_sets")
def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = dtypes.float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = DEFAULT_SOURCE_URL,
) -> Datasets:
    """Training, validation and test data from the four idx files in `train_dir`; nothing is ever downloaded.

    Args:
      train_dir: the folder.
      fake_data: give out constant images instead, without files.
      one_hot: whether labels become rows of zeros with a one.
      dtype: see `DataSet`.
      reshape: see `DataSet`.
      validation_size: how many of the training examples are for validation.
      seed: see `DataSet`.
      source_url: where the files come from; named in the error only.

    Raises:
      FileNotFoundError: a file is not there; the message names all that are lacking.
      ValueError: a file is damaged, or `validation_size` is not within the number of training examples.
    """
    options: dict[str, Any] = dict(dtype=dtype, reshape=reshape, seed=seed)
    if fake_data:
        empty = np.array([], np.uint8)
        return Datasets(
            *(DataSet(empty, empty, fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed) for _ in range(3))
        )
    with opened(train_dir, TRAIN_IMAGES) as file:
        images = extract_images(file)
    with opened(train_dir, TRAIN_LABELS) as file:
        labels = extract_labels(file, one_hot)
    with opened(train_dir, TEST_IMAGES) as file:
        test_images = extract_images(file)
    with opened(train_dir, TEST_LABELS) as file:
        test_labels = extract_labels(file, one_hot)
    if not 0 <= validation_size <= len(images):
        raise ValueError(f"Validation size should be between 0 and {len(images)}. Received: {validation_size}.")
    return Datasets(
        train=DataSet(images[validation_size:], labels[validation_size:], **options),
        validation=DataSet(images[:validation_size], labels[:validation_size], **options),
        test=DataSet(test_images, test_labels, **options),
    )


@export("contrib.learn.datasets.mnist.load_mnist")
def load_mnist(train_dir: str = "MNIST-data") -> Datasets:
    """`read_data_sets` of a folder."""
    return read_data_sets(train_dir)
