"""`tensorflow.examples.tutorials.mnist.input_data` on small idx files; the order of batches is TensorFlow 1.15.5's."""

import gzip
import struct

import numpy as np
import pytest

from tfcompat._src.base import dtypes
from tfcompat._src.contrib.learn import mnist as input_data

TRAIN, TEST = 12, 4


def write_idx(path, array, magic, zipped):
    data = struct.pack(">%dI" % (1 + array.ndim), magic, *array.shape) + array.astype(np.uint8).tobytes()
    (path.with_name(path.name + ".gz") if zipped else path).write_bytes(gzip.compress(data) if zipped else data)


@pytest.fixture(params=[True, False], ids=["gz", "plain"])
def folder(tmp_path, request):
    for images, labels, count in (
        (input_data.TRAIN_IMAGES, input_data.TRAIN_LABELS, TRAIN),
        (input_data.TEST_IMAGES, input_data.TEST_LABELS, TEST),
    ):
        pixels = np.arange(count)[:, None, None] * np.ones((1, 2, 3))
        write_idx(tmp_path / images, pixels, 2051, request.param)
        write_idx(tmp_path / labels, np.arange(count) % 10, 2049, request.param)
    return tmp_path


def test_parts_and_scaling(folder):
    data = input_data.read_data_sets(str(folder), one_hot=True, validation_size=2)
    assert [part.num_examples for part in data] == [10, 2, 4]
    assert data.train.images.dtype == np.float32 and data.train.images.shape == (10, 6)
    np.testing.assert_array_equal(data.train.images[:, 0], np.arange(2, 12).astype(np.float32) * np.float32(1 / 255))
    np.testing.assert_array_equal(data.validation.labels, np.eye(10)[:2])
    assert data.train.labels.dtype == np.float64


def test_batches_are_shuffled_and_filled_up_as_by_tensorflow(folder):
    data = input_data.read_data_sets(str(folder), dtype=dtypes.uint8, reshape=False, validation_size=2, seed=1)
    batches = [data.test.next_batch(3) for _ in range(3)]
    generator = np.random.RandomState(1)
    first, second, third = (generator.permutation(4) for _ in range(3))
    second = first[second]
    third = second[third]
    wanted = [first[:3], np.r_[first[3:], second[:2]], np.r_[second[2:], third[:1]]]
    for (images, labels), order in zip(batches, wanted):
        np.testing.assert_array_equal(labels, order)
        assert images.shape == (3, 2, 3, 1)
    assert data.test.epochs_completed == 2
    np.testing.assert_array_equal(data.train.next_batch(3, shuffle=False)[1], [2, 3, 4])


def test_fake_data():
    images, labels = input_data.read_data_sets("", fake_data=True, one_hot=True).train.next_batch(2, fake_data=True)
    assert images == [[1] * 784] * 2 and labels == [[1] + [0] * 9] * 2


def test_lacking_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="train-images-idx3-ubyte, train-labels.*downloads nothing"):
        input_data.read_data_sets(str(tmp_path))


def test_damaged_file(folder):
    for path in folder.glob("train-images*"):
        path.unlink()
    (folder / input_data.TRAIN_IMAGES).write_bytes(struct.pack(">4I", 2051, 5, 2, 3) + b"\0" * 7)
    with pytest.raises(ValueError, match="ends after 7 bytes; its header says 30"):
        input_data.read_data_sets(str(folder))
    (folder / input_data.TRAIN_IMAGES).write_bytes(b"abcd" * 8)
    with pytest.raises(ValueError, match="Invalid magic number"):
        input_data.read_data_sets(str(folder))


def test_validation_size_out_of_range(folder):
    with pytest.raises(ValueError, match="Validation size should be between 0 and 12. Received: 13."):
        input_data.read_data_sets(str(folder), validation_size=13)
