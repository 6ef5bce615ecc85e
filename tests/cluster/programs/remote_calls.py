"""Functions called on another task, in datasets and in a step: remote_calls.py TARGET WAITS FILES.

TARGET is the server of /job:worker, which calls /job:coordinator; that task reads the text FILES. WAITS is 1 to end with a call that waits for
ever, after which the session of TensorFlow 1.15.5 cannot be closed.
"""

import json
import sys

import tensorflow as tf
from tensorflow.python.framework import function
from tensorflow.python.ops.functional_ops import remote_call
from tensorflow.python.tpu.datasets import StreamingFilesDataset

THERE = "/job:coordinator/replica:0/task:0/cpu:0"


@function.Defun(tf.string)
def following(handle):
    return tf.data.Iterator.from_string_handle(handle, (tf.int64, tf.string), ([], [])).get_next()


@function.Defun(tf.float32, tf.string)
def described(x, text):
    with tf.control_dependencies([tf.debugging.assert_less(x, 2.5, message="too big")]):
        return tf.string_join([text, tf.as_string(x * 2.0, precision=1)]), x + 1.0


@function.Defun(tf.int64)
def never(x):
    waits_for_ever = tf.FIFOQueue(1, tf.int64, [[]], shared_name="empty")
    return waits_for_ever.dequeue() + x


def source(count):
    with tf.device("/job:coordinator/task:0"):
        names = tf.data.Dataset.from_tensor_slices(["a", "b", "c"])
        made = tf.data.Dataset.zip((tf.data.Dataset.range(count), names.repeat()))
        return tf.data.make_one_shot_iterator(made).string_handle()


def pulled(count):
    handle = source(count)
    return tf.data.Dataset.range(9).map(lambda _: tuple(remote_call(THERE, [handle], [tf.int64, tf.string], following)))


def computed(target=THERE):
    def call(x):
        return tuple(remote_call(target, [x, tf.constant("is ")], [tf.string, tf.float32], described))

    return tf.data.Dataset.from_tensor_slices([0.5, 1.5, 3.5]).map(call)


def plain(value):
    return value.decode() if isinstance(value, bytes) else value.item()


def streamed():
    files = tf.data.Dataset.from_tensor_slices(sys.argv[3:])
    return StreamingFilesDataset(files, "text", num_epochs=1, filename_shuffle_buffer_size=0, num_parallel_reads=1, sloppy=False)


def elements(session, dataset, following):
    try:
        session.run(dataset)
        while True:
            print(json.dumps([plain(value) for value in session.run(following)]), flush=True)
    except tf.errors.OpError as e:
        print(json.dumps(type(e).__name__), flush=True)


with tf.device("/job:worker/task:0"):
    made = [pulled(2), pulled(4).prefetch(2), computed(), computed("/job:nobody/task:0"), streamed().map(lambda line: (line,))]
    iterators = [tf.data.make_initializable_iterator(each) for each in made]
    pairs = [(each.initializer, each.get_next()) for each in iterators]
    waiting = tf.data.make_one_shot_iterator(tf.data.Dataset.range(1).map(lambda x: remote_call(THERE, [x], [tf.int64], never)[0])).get_next()
    foreign = tf.data.Iterator.from_string_handle(tf.placeholder(tf.string, []), tf.int64, []).get_next()
    computed_target = tf.placeholder(tf.string, [])
    somewhere = remote_call(computed_target, [tf.constant(1.0), tf.constant("anywhere: ")], [tf.string, tf.float32], described)
    pulled_from = remote_call(computed_target, [source(1)], [tf.int64, tf.string], following)
    in_step = remote_call(THERE, [tf.constant(2.0), tf.constant("a step: ")], [tf.string, tf.float32], described)
with tf.Session(sys.argv[1]) as session:
    for each in pairs:
        elements(session, *each)
    print(json.dumps([plain(value) for value in session.run(in_step)]), flush=True)
    for target in ("/job:worker/replica:0/task:0/cpu:0", THERE):
        print(json.dumps([plain(value) for value in session.run(somewhere, {computed_target: target})]), flush=True)
        try:
            print(json.dumps([plain(value) for value in session.run(pulled_from, {computed_target: target})]), flush=True)
        except tf.errors.OpError as e:
            print(json.dumps(type(e).__name__), flush=True)
    try:
        session.run(foreign, {foreign.op.inputs[0].op.inputs[0]: session.run(source(1))})
    except (tf.errors.InvalidArgumentError, tf.errors.NotFoundError):
        print(json.dumps("an iterator of another task"), flush=True)
    if sys.argv[2] == "1":
        try:
            session.run(waiting, options=tf.RunOptions(timeout_in_ms=500))
        except tf.errors.OpError as e:
            print(json.dumps(type(e).__name__), flush=True)
