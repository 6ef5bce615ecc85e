"""Iterators by their string handles on several devices, and functions called on a device that is computed in the run.

Values and messages are those of TensorFlow 1.15.5.
"""

import pytest

import tfcompat as tf
from tfcompat._src.function.defun import Defun
from tfcompat._src.nodes import raw

DEVICE = "/job:localhost/replica:0/task:0/device:CPU:{}"
WRONG = 'Attempted create an iterator on device "{}" from handle defined on device "{}"'


def following(handle):
    return tf.data.Iterator.from_string_handle(handle, tf.int32, []).get_next()


@Defun(tf.string)
def taken(handle):
    return following(handle)


@Defun(tf.string)
def two_taken(handle):
    iterator = tf.data.Iterator.from_string_handle(handle, tf.int32, [])
    return iterator.get_next(), tf.constant("c")


@pytest.fixture
def handle():
    """The handle of an iterator on the second of three CPUs."""
    with tf.Graph().as_default():
        with tf.device(DEVICE.format(1)):
            yield tf.data.make_one_shot_iterator(tf.data.Dataset.from_tensor_slices([1, 2, 3])).string_handle()


def session():
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": 3}))


def raised(kind, run, *arguments):
    with pytest.raises(kind) as caught:
        run(*arguments)
    return caught.value.message.splitlines()[0]


def test_a_handle_names_an_iterator_on_its_own_device_only(handle):
    here, there, neither = (tf.device(name) for name in (DEVICE.format(1), "/cpu:2", None))
    elements = []
    for device in (here, there, neither):
        with device:
            elements.append(following(handle))
    with session() as run:
        assert run.run(elements[0]) == 1
        assert WRONG.format(DEVICE.format(2), DEVICE.format(1)) in raised(tf.errors.InvalidArgumentError, run.run, elements[1])
        kept = run.run(handle)
        assert WRONG.format(DEVICE.format(0), DEVICE.format(1)) in raised(tf.errors.InvalidArgumentError, run.run, elements[2], {handle: kept})
        message = "Could not parse string_handle as a valid ResourceHandle"
        assert message in raised(tf.errors.InvalidArgumentError, run.run, elements[0], {handle: b"nothing"})
    with session() as other:
        assert "does not exist." in raised(tf.errors.NotFoundError, other.run, elements[0], {handle: kept})


def test_a_function_runs_on_the_device_that_the_run_computes(handle):
    with tf.device("/cpu:0"):
        target = tf.placeholder(tf.string, [])
        element = raw.RemoteCall(target, [handle], Tout=[tf.int32], f=taken)
        several = raw.RemoteCall(target, [handle], Tout=[tf.int32, tf.string], f=two_taken)
    with session() as run:
        assert run.run(element, {target: DEVICE.format(1)}) == [1]
        for index in (2, 0):
            text = raised(tf.errors.InvalidArgumentError, run.run, element, {target: DEVICE.format(index)})
            assert WRONG.format(DEVICE.format(index), DEVICE.format(1)) in text
        assert run.run(several, {target: "/cpu:1"}) == [2, b"c"]
        assert "Could not parse zzz into a device specification." in raised(tf.errors.InvalidArgumentError, run.run, element, {target: "zzz"})
        missing = "Currently don't support instantiating functions on device: "
        assert missing + DEVICE.format(7) in raised(tf.errors.InternalError, run.run, element, {target: "/cpu:7"})
        assert missing + "/job:x/replica:0/task:0/device:CPU:0" in raised(
            tf.errors.InternalError, run.run, element, {target: "/job:x/task:0/cpu:0"}
        )
        assert run.run(element, {target: DEVICE.format(1)}) == [3]
        raised(tf.errors.OutOfRangeError, run.run, element, {target: DEVICE.format(1)})


def test_a_function_runs_on_the_server_that_the_run_computes():
    workers, _ = tf.test.create_local_cluster(2, 1)
    names = [f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(2)]
    with tf.Graph().as_default():
        with tf.device(names[1]):
            iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.from_tensor_slices([1, 2]))
            handle = iterator.string_handle()
        with tf.device(names[0]):
            target = tf.placeholder(tf.string, [])
            element = raw.RemoteCall(target, [handle], Tout=[tf.int32], f=taken)
        with tf.Session(workers[0].target) as run:
            assert run.run(element, {target: names[1]}) == [1]
            assert WRONG.format(*names) in str(pytest.raises(tf.errors.InvalidArgumentError, run.run, element, {target: names[0]}).value)
            assert run.run(iterator.get_next()) == 2
