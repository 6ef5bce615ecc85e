"""Batches: who is joined with whom, padding, limits, and failures that stay with their batch."""

import threading

import numpy as np
import pytest

from tfcompat._src.base import errors
from tfcompat._src.proto import messages
from tfcompat._src.serving.batching import Batching


def parameters(sizes=(), pads=False, **values):
    found = messages.serving.BatchingParameters(allowed_batch_sizes=sizes, pad_variable_length_inputs=pads)
    for key, value in values.items():
        getattr(found, key).value = value
    return found


SPLIT = {"enable_large_batch_splitting": True, "max_execution_batch_size": 2}


class Kit:
    """A Batcher, and a model that doubles x and can be made to wait."""

    def __init__(self, *args, **values):
        self.batching = Batching(parameters(*args, **{"num_batch_threads": 1, **values}))
        self.batcher = self.batching.batcher()
        self.batches, self.begun, self.go_on = [], threading.Semaphore(0), threading.Event()
        self.go_on.set()

    def model(self, feeds, fetches, seconds):
        self.begun.release()
        self.go_on.wait()
        self.batches.append(feeds["x"].tolist())
        if (feeds["x"] == 13).any():
            raise errors.InvalidArgumentError(None, None, "unlucky")
        return [feeds["x"] * 2]

    def run(self, x, seconds=0):
        return self.batcher.run(self.model, {"x": np.array(x)}, ["y"], seconds)[0].tolist()

    def together(self, *values):
        """The results of runs that all wait while another one runs."""
        self.go_on.clear()
        first = threading.Thread(target=self.run, args=[[0]])
        first.start()
        self.begun.acquire()
        results = [None] * len(values)

        def put(number, value):
            try:
                results[number] = self.run(value)
            except errors.OpError as e:
                results[number] = e

        threads = [threading.Thread(target=put, args=pair) for pair in enumerate(values)]
        for thread in threads:
            thread.start()
        while sum(len(queue.tasks) for queue in list(self.batcher._queues.values())) < len(values):
            pass
        self.go_on.set()
        for thread in [first, *threads]:
            thread.join()
        return results


@pytest.fixture
def make():
    made = []

    def kit(*args, **values):
        made.append(Kit(*args, **values))
        return made[-1]

    yield kit
    for each in made:
        each.go_on.set()
        each.batching.stop()


def test_runs_that_wait_become_one(make):
    kit = make()
    assert kit.together([1], [2, 3], [4]) == [[2], [4, 6], [8]]
    assert kit.batches[0] == [0] and sorted(kit.batches[1]) == [1, 2, 3, 4] and len(kit.batches) == 2


def test_a_batch_has_no_more_rows_than_it_may(make):
    kit = make(max_batch_size=3)
    assert kit.together([1, 2], [3, 4], [5]) == [[2, 4], [6, 8], [10]]
    assert max(map(len, kit.batches)) <= 3
    with pytest.raises(errors.InvalidArgumentError, match="Task size 4 is larger than maximum input batch size 3"):
        kit.run([1, 2, 3, 4])


def test_a_large_request_is_split_where_wanted(make):
    kit = make((1, 2), **SPLIT, max_batch_size=6, max_enqueued_batches=6)
    assert kit.run([1, 2, 3, 4, 5]) == [2, 4, 6, 8, 10]
    assert sorted(kit.batches) == [[1, 2], [3, 4], [5]]
    with pytest.raises(errors.InvalidArgumentError, match="Task size 7 is larger than maximum input batch size 6"):
        kit.run([1] * 7)
    with pytest.raises(errors.InvalidArgumentError, match="unlucky"):
        kit.run([1, 2, 3, 13])
    with pytest.raises(errors.DeadlineExceededError):
        kit.go_on.clear()
        kit.run([1, 2, 3], 1e-3)
    kit.go_on.set()
    assert kit.run([1, 2, 3]) == [2, 4, 6]


def test_batches_are_padded_to_allowed_sizes(make):
    kit = make((1, 2, 4, 8), max_batch_size=8)
    assert kit.run([7, 8, 9]) == [14, 16, 18]
    assert kit.run([7]) == [14] and kit.run([1] * 5) == [2] * 5
    assert kit.batches == [[7, 8, 9, 7], [7], [1] * 8]


def test_rows_of_other_shapes_are_other_batches(make):
    kit = make()
    assert kit.together([[1]], [[2, 3]]) == [[[2]], [[4, 6]]]
    assert len(kit.batches) == 3


def test_rows_of_other_lengths_are_padded_where_wanted(make):
    kit = make((), True)
    assert sorted(map(str, kit.together([[1]], [[2, 3]]))) == ["[[2, 0]]", "[[4, 6]]"]
    assert sorted(kit.batches[1]) == [[1, 0], [2, 3]]


def test_a_failure_is_that_of_its_batch(make):
    kit = make(max_batch_size=1)
    results = kit.together([13], [2])
    assert isinstance(results[0], errors.InvalidArgumentError) and results[1] == [4]


def test_a_full_queue_refuses(make):
    kit = make(max_batch_size=1, max_enqueued_batches=1)
    kit.go_on.clear()
    threads = [threading.Thread(target=kit.run, args=[[0]])]
    threads[0].start()
    kit.begun.acquire()
    threads.append(threading.Thread(target=kit.run, args=[[1]]))
    threads[1].start()
    (queue,) = kit.batcher._queues.values()
    while not queue.tasks:
        pass
    with pytest.raises(errors.UnavailableError, match="The batch scheduling queue to which this task was submitted is full"):
        kit.run([2])
    kit.go_on.set()
    for thread in threads:
        thread.join()


def test_a_deadline_ends_the_wait_for_a_batch(make):
    kit = make()
    kit.go_on.clear()
    first = threading.Thread(target=kit.run, args=[[0]])
    first.start()
    kit.begun.acquire()
    with pytest.raises(errors.DeadlineExceededError):
        kit.run([1], 1e-3)
    kit.go_on.set()
    first.join()
    assert kit.run([2]) == [4]
    assert [1] not in kit.batches  # whoever has given up costs nothing


def test_a_timeout_waits_for_a_full_batch(make):
    kit = make(max_batch_size=2, batch_timeout_micros=600_000_000)
    results = []
    threads = [threading.Thread(target=lambda v=v: results.append(kit.run([v]))) for v in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [[2], [4]] and len(kit.batches) == 1


@pytest.mark.parametrize("feeds, text", [
    ({"x": np.array(1)}, "Batching session Run.. input tensors must have at least one dimension"),
    ({"x": np.zeros(2), "z": np.zeros(3)}, "Batching session Run.. input tensors must have equal 0th-dimension size"),
])  # fmt: skip
def test_feeds_without_rows(make, feeds, text):
    with pytest.raises(errors.InvalidArgumentError, match=text):
        make().batcher.run(None, feeds, ["y"], 0)


@pytest.mark.parametrize("output, text", [
    (np.array(1), "Batched output tensor has 0 dimensions"), (np.zeros(1), "Batched output tensor's 0th dimension does not equal the sum"),
])  # fmt: skip
def test_outputs_without_rows(make, output, text):
    with pytest.raises(errors.FailedPreconditionError, match=text):
        make().batcher.run(lambda *_: [output], {"x": np.zeros(2)}, ["y"], 0)


@pytest.mark.parametrize("sizes, values, text", [
    ((1, 2), {"max_batch_size": 4}, "Last entry in allowed_batch_sizes must match max_batch_size; last was 2; expected 4"),
    ((2, 1, 4), {"max_batch_size": 4}, "allowed_batch_sizes entries must be positive and ascending"),
    ((), {"max_batch_size": 0}, "max_batch_size must be at least 1; was 0"),
    ((), {"max_execution_batch_size": 2}, "max_execution_batch_size is set without enable_large_batch_splitting"),
    ((), {**SPLIT, "max_batch_size": 1}, "max_execution_batch_size must be at least 1 and at most max_batch_size, 1; was 2"),
    ((1, 4), {**SPLIT, "max_batch_size": 4}, "Last entry in allowed_batch_sizes must be equal to max_execution_batch_size; last was 4; expected 2"),
])  # fmt: skip
def test_parameters_that_are_refused(sizes, values, text):
    with pytest.raises(errors.OpError, match=text):
        Batching(parameters(sizes, **values))
