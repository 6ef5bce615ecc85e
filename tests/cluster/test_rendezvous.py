"""Where tensors of a step meet: each once, whoever comes first."""

import threading

import pytest

from tfcompat._src.base import errors, run_limits
from tfcompat._src.cluster.rendezvous import Arrived, Key, Steps, parse_key


def test_a_key_is_written_as_the_real_program_does():
    text = "/job:ps/replica:0/task:0/device:CPU:0;3b05e9f0a1b2c3d4;/job:worker/replica:0/task:1/device:CPU:0;edge_5_v;0:0"
    key = parse_key(text)
    assert key == Key("/job:ps/replica:0/task:0/device:CPU:0", 0x3B05E9F0A1B2C3D4, "/job:worker/replica:0/task:1/device:CPU:0", "edge_5_v")
    assert str(key) == text
    for bad in ("", "a;b", "a;zz;b;c;0:0", "a;1;b;c;d;e"):
        with pytest.raises(errors.InvalidArgumentError):
            parse_key(bad)


def test_a_tensor_is_taken_once_before_or_after_it_comes():
    step = Steps().step(1)
    step.put("early", Arrived(1, None))
    assert step.take("early").value == 1
    found = []
    thread = threading.Thread(target=lambda: found.append(step.take("late").value))
    thread.start()
    step.put("late", Arrived(2, None))
    thread.join(30)
    assert found == [2]
    with pytest.raises(errors.AbortedError, match="Duplicated"):
        step.put("late", Arrived(3, None))


def test_of_several_sets_of_tensors_the_one_that_has_come_is_told():
    step = Steps().step(1)
    step.put("a", Arrived(1, None))
    found = []
    thread = threading.Thread(target=lambda: found.append(step.first_of([["a", "b"], ["c"]])))
    thread.start()
    step.put("c", Arrived(2, None))
    thread.join(30)
    assert found == [1]
    assert step.first_of([["a", "b"], ["a"]]) == 1
    assert step.take("c").value == 2


def test_who_may_not_wait_does_not():
    step = Steps().step(1)
    with run_limits.without_waiting(), pytest.raises(run_limits.MustWait):
        step.take("k")
    with run_limits.within(1), pytest.raises(errors.DeadlineExceededError):
        step.take("k")


def test_the_end_of_a_step_frees_those_who_wait_and_those_who_come_late():
    steps = Steps()
    step, failures = steps.step(7), []
    asked = threading.Event()
    step.fetch = lambda key: asked.set()

    def wait():
        try:
            step.take("k")
        except errors.AbortedError as e:
            failures.append(e.message)

    thread = threading.Thread(target=wait)
    thread.start()
    assert asked.wait(30)
    steps.end(7)
    thread.join(30)
    assert len(failures) == 1 and "Step 7 has ended" in failures[0]
    with pytest.raises(errors.AbortedError):
        steps.step(7)
