"""Tensors that are pushed: what arrives is what was sent, late ones are dropped, and a stream that ends fails who waits."""

import io

import ml_dtypes
import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.cluster.peers import framed, parcels
from tfcompat._src.cluster.rendezvous import Arrived, Steps
from tfcompat._src.cluster.tensor_streams import TensorStreams, _packed, _unpacked

VALUES = {
    "scalar": (np.float32(2.5), tf.float32), "matrix": (np.arange(6.0).reshape(2, 3), tf.float64), "empty": (np.zeros((0, 3), np.int8), tf.int8),
    "flags": (np.array([True, False]), tf.bool), "complex": (np.array([1 + 2j], np.complex64), tf.complex64),
    "bfloat16": (np.array([1.5, -2], ml_dtypes.bfloat16), tf.bfloat16), "strings": (np.array([b"a", b"\0\xff"], object), tf.string),
    "large": (np.arange(700_000, dtype=np.int32).reshape(7, -1), tf.int32), "columns": (np.arange(6).reshape(2, 3).T, tf.int64),
}  # fmt: skip


class Bytes:
    """The bytes of items as a receiver reads them."""

    def __init__(self, *items):
        self._file = io.BytesIO(b"".join(bytes(part) for item in items for part in framed(*item)))

    def read_into(self, room):
        return self._file.readinto(room)


@pytest.mark.parametrize("name", VALUES)
def test_a_tensor_arrives_as_it_was(name):
    value, dtype = VALUES[name]
    sent = list(parcels(Bytes(("7 key", *_packed(Arrived(value, dtype))), ("7 other", *_packed(Arrived(None, dtype, is_dead=True))))))
    found, dead = map(_unpacked, sent)
    assert (found.dtype, found.is_dead, dead.is_dead) == (dtype, False, True)
    assert [parcel.key for parcel in sent] == ["7 key", "7 other"]
    assert found.value.dtype == value.dtype and found.value.shape == value.shape
    np.testing.assert_array_equal(found.value, value)


def test_tensors_wait_for_their_step_and_are_dropped_behind_its_end():
    steps = Steps()
    streams = TensorStreams("/job:ps/replica:0/task:0", steps)
    one = "3 key", *_packed(Arrived(np.float32(1), tf.float32))
    streams.receive("/job:worker/replica:0/task:0", Bytes(one))
    assert steps.step(3).take("key").value == 1
    streams.receive("/job:worker/replica:0/task:0", Bytes(("3 ", "end", np.zeros(0, np.uint8))))
    streams.receive("/job:worker/replica:0/task:0", Bytes(one))
    with pytest.raises(tf.errors.AbortedError):
        steps.step(3)


def test_a_stream_that_ends_fails_the_steps_that_wait_for_it():
    steps = Steps()
    steps.step(1).senders.add("/job:worker/replica:0/task:0")
    steps.step(2).senders.add("/job:worker/replica:0/task:1")
    TensorStreams("/job:ps/replica:0/task:0", steps).receive("/job:worker/replica:0/task:0", Bytes())
    with pytest.raises(tf.errors.UnavailableError, match="The stream of tensors from /job:worker/replica:0/task:0 has ended"):
        steps.step(1).take("key")
    steps.step(2).arrive("key", Arrived(np.float32(1), tf.float32))
    assert steps.step(2).take("key").value == 1
