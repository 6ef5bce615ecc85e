"""Tensors that are pushed: what arrives is what was sent, late ones are dropped, and a stream that ends fails who waits."""

import io
import struct
import threading

import ml_dtypes
import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.cluster import peers
from tfcompat._src.cluster.peers import Parcel, batches, framed
from tfcompat._src.cluster.rendezvous import Arrived, Steps
from tfcompat._src.cluster.stream_calls import StreamCalls, as_array
from tfcompat._src.cluster.tensor_streams import TensorStreams, _packed, _unpacked
from tfcompat._src.proto import messages

VALUES = {
    "scalar": (np.float32(2.5), tf.float32), "matrix": (np.arange(6.0).reshape(2, 3), tf.float64), "empty": (np.zeros((0, 3), np.int8), tf.int8),
    "flags": (np.array([True, False]), tf.bool), "complex": (np.array([1 + 2j], np.complex64), tf.complex64),
    "bfloat16": (np.array([1.5, -2], ml_dtypes.bfloat16), tf.bfloat16), "strings": (np.array([b"a", b"\0\xff"], object), tf.string),
    "large": (np.arange(700_000, dtype=np.int32).reshape(7, -1), tf.int32), "columns": (np.arange(6).reshape(2, 3).T, tf.int64),
}  # fmt: skip


class Bytes:
    """The bytes of batches as a receiver reads them."""

    def __init__(self, *sent):
        self._file = io.BytesIO(b"".join(bytes(part) for items in sent for part in framed(items)))

    def read_into(self, rooms, has_begun=False):
        return sum(self._file.readinto(room) for room in rooms)


@pytest.mark.parametrize("name", VALUES)
def test_a_tensor_arrives_as_it_was(name):
    value, dtype = VALUES[name]
    one, other = ("7 key", *_packed(Arrived(value, dtype))), ("other", *_packed(Arrived(None, dtype, is_dead=True)))
    (sent,) = batches(Bytes([one, other]))
    found, dead = map(_unpacked, sent)
    assert (found.dtype, found.is_dead, dead.is_dead) == (dtype, False, True)
    assert [parcel.key for parcel in sent] == ["7 key", "other"]
    assert found.value.dtype == value.dtype and found.value.shape == value.shape
    np.testing.assert_array_equal(found.value, value)


class Ending(Bytes):
    """Bytes behind which something is done before the stream ends."""

    def __init__(self, at_end, *sent):
        super().__init__(*sent)
        self._at_end = at_end

    def read_into(self, rooms, has_begun=False):
        count = super().read_into(rooms)
        if not count and any(map(len, rooms)):
            self._at_end()
        return count


TASK = "/job:worker/replica:0/task:0"


def test_tensors_wait_for_their_step_and_are_dropped_behind_its_end():
    steps, taken = Steps(), []
    streams = TensorStreams("/job:ps/replica:0/task:0", steps)
    one = "3 key", *_packed(Arrived(np.float32(1), tf.float32))
    streams.receive(TASK, Ending(lambda: taken.append(steps.step(3).take("key").value), [one]))
    assert taken == [1]

    def take_late():
        with pytest.raises(tf.errors.AbortedError):
            steps.step(4)
        taken.append("late")

    streams.receive(TASK, Ending(take_late, [("4 ", "end", np.zeros(0, np.uint8))], [("4 key", *one[1:])]))
    assert taken == [1, "late"]


def test_what_a_stream_brought_for_a_step_that_nobody_ends_goes_with_the_stream():
    steps, kept = Steps(), []
    streams = TensorStreams("/job:ps/replica:0/task:0", steps)
    run = messages.RunGraphRequest(step_id=9, session_handle="none", store_errors_in_response_body=True)
    streams.calls.answer = lambda request, cancellation: messages.RunGraphResponse()
    streams.calls._send = lambda *answer: None
    streams.receive(TASK, Ending(
        lambda: kept.extend(steps._steps), [("8 key", *_packed(Arrived(np.float32(1), tf.float32)))],
        [("1", "run localhost:1", np.frombuffer(run.SerializeToString(), np.uint8))],
    ))  # fmt: skip
    assert kept == [8, 9] and not steps._steps
    with pytest.raises(tf.errors.AbortedError):
        steps.step(8)


@pytest.mark.parametrize("kind, wanted", [("run", ["ran"]), ("last", [5, "ran"])])
def test_a_worker_ends_the_step_of_its_last_part_before_it_replies(kind, wanted):
    has_replied, seen = threading.Event(), []

    def send(address, key, text, data):
        seen.append(text)
        has_replied.set()

    calls = StreamCalls(send, seen.append)
    calls.answer = lambda request, cancellation: messages.RunGraphResponse()
    run = as_array(messages.RunGraphRequest(step_id=5).SerializeToString())
    assert calls.take(TASK, Parcel("1", f"{kind} there:1", run), lambda number: None)
    assert has_replied.wait(60)
    assert seen == wanted


def table(*entries):
    """The table of a batch: of each array the sizes of its key, of its description and of itself, and both texts."""
    text = b"".join(struct.pack("<HHQ", *sizes) + texts for *sizes, texts in entries)
    return struct.pack("<I", len(text)) + text


MALFORMED = {
    "too long": table((1, 1, 2**63, b"ab")), "longest": table((1, 1, 2**64 - 1, b"ab")), "half": table((3, 3, 8, b"7 k1 2")) + b"half",
    "half header": b"\1\0", "no text": table((1, 1, 0, b"\xff\xff")), "no entry": table(), "half a table": table((3, 3, 0, b"7 k1 2"))[:-2],
    "half an entry": struct.pack("<I", 3) + b"abc", "texts beyond the table": table((3, 3, 0, b"7 k1 ")), "second too long": table((3, 1, 0, b"7 k1"), (1, 1, 2**63, b"ab")),
    **{
        text: b"".join(bytes(part) for part in framed([(key, text, np.arange(16, dtype=np.uint8))]))
        for key, text in (
            ("7 k", "1 -1,-4"), ("7 k", "1 5"), ("7 k", "99 4"), ("7 k", "a 4"), ("7 k", ""), ("k", "1 4"), ("7 k", "7 proto"), ("7", "run x"),
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_a_stream_of_nonsense_ends_and_says_why(name):
    steps = Steps()
    steps.step(1).senders.add(TASK)
    noise = Bytes()
    noise._file = io.BytesIO(MALFORMED[name])
    TensorStreams("/job:ps/replica:0/task:0", steps).receive(TASK, noise)
    with pytest.raises(tf.errors.UnavailableError, match="has ended: (?!it has ended$)"):
        steps.step(1).take("key")
    assert list(steps._steps) == [1]


def test_an_array_may_be_so_large(monkeypatch):
    monkeypatch.setenv("TFCOMPAT_SERVER_MAX_MESSAGE", "100")
    assert len(list(batches(Bytes([("k", "", np.zeros(100, np.uint8))])))) == 1
    with pytest.raises(tf.errors.ResourceExhaustedError, match="TFCOMPAT_SERVER_MAX_MESSAGE"):
        list(batches(Bytes([("k", "", np.zeros(101, np.uint8))])))
    with pytest.raises(tf.errors.ResourceExhaustedError, match="An array of 104 bytes"):
        TensorStreams(TASK, Steps()).send("nowhere:1", 1, [("k", Arrived(np.zeros(26, np.float32), tf.float32))])


def test_room_is_made_for_few_bytes_at_a_time(monkeypatch):
    """Else a table of a few bytes would have a server allocate as many arrays as it promises."""
    monkeypatch.setattr(peers, "_TOGETHER", 100)
    rooms = []

    class Noted(Bytes):
        def read_into(self, parts, has_begun=False):
            rooms.append(sum(map(len, parts)))
            return super().read_into(parts, has_begun)

    arrays = [np.full(size, i, np.uint8) for i, size in enumerate((60, 40, 1, 300, 0, 99, 2))]
    (batch,) = batches(Noted([(str(i), "", array) for i, array in enumerate(arrays)]))
    assert [parcel.data.tolist() for parcel in batch] == [array.tolist() for array in arrays]
    assert rooms[2:-1] == [100, 1, 300, 99, 2]  # the size of the table and the table before, the end behind


def test_a_stream_that_ends_fails_the_steps_that_wait_for_it():
    steps = Steps()
    steps.step(1).senders.add("/job:worker/replica:0/task:0")
    steps.step(2).senders.add("/job:worker/replica:0/task:1")
    TensorStreams("/job:ps/replica:0/task:0", steps).receive("/job:worker/replica:0/task:0", Bytes())
    with pytest.raises(tf.errors.UnavailableError, match="The stream of tensors from /job:worker/replica:0/task:0 has ended"):
        steps.step(1).take("key")
    steps.step(2).arrive({"key": Arrived(np.float32(1), tf.float32)})
    assert steps.step(2).take("key").value == 1
