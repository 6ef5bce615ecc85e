"""Loops of one's own under strategies: where operations run at once, in tf.function, and in one loop of the graph."""

import pathlib
import subprocess
import sys

import pytest

import tfcompat as tf

# What 1.15.5 prints of custom_loops.py.
PRINTED = """\
[[0], [1]]
[[2], [3]]
[[4], []]
[[0, 1], [2, 3]]
[[4, 5], [6]]
[[[20], [21]], [[22], [23]]]
[[[20], [21]], [[22], [23]]]
['0.69000', '0.43447', '1.02662', '0.53032']
['0.08387', '0.26638']
0.24428 ['1.46260', '1.51990']
22 {'kind': 'sum'}
"""


def test_loops_where_operations_run_at_once():
    program = pathlib.Path(__file__).with_name("custom_loops.py")
    done = subprocess.run([sys.executable, "-m", "tfcompat", "run", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == PRINTED


@pytest.mark.parametrize("strategy", [tf.distribute.OneDeviceStrategy("/cpu:0"), tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])])
def test_steps_in_one_loop_of_the_graph(strategy):
    with tf.Graph().as_default(), strategy.scope():
        weight = tf.get_variable("w", initializer=[2.0])
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensors([1.0, 3.0]).repeat())

        def of_replica(x):
            return tf.train.GradientDescentOptimizer(0.1).minimize(lambda: tf.reduce_sum(x * weight))

        def step(context, inputs):
            context.set_last_step_output("inputs", inputs)
            return strategy.group(strategy.experimental_run_v2(of_replica, args=(inputs,)))

        start = [tf.zeros([2])] if strategy.num_replicas_in_sync == 1 else [tf.zeros([1])] * 2
        context = strategy.extended.experimental_run_steps_on_iterator(step, iterator, 3, {"inputs": start})
        last = strategy.experimental_local_results(context.last_step_outputs["inputs"])
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            session.run([tf.global_variables_initializer()])
            session.run(iterator.initialize())
            session.run(context.run_op)
            assert session.run(weight) == pytest.approx([2.0 - 3 * 0.1 * (1.0 + 3.0)])
            assert sorted(sum((part.tolist() for part in session.run(last)), [])) == [1.0, 3.0]


@pytest.mark.parametrize("is_read_before", [False, True])
def test_a_loss_by_a_function_in_a_loop(is_read_before):
    with tf.Graph().as_default():
        weight = tf.get_variable("w", initializer=[2.0], use_resource=True)

        def body(i):
            if is_read_before:
                tf.identity(weight)
            op = tf.train.GradientDescentOptimizer(0.1).minimize(lambda: tf.reduce_sum(tf.square(weight)))
            with tf.control_dependencies([op]):
                return i + 1

        loop = tf.while_loop(lambda i: i < 3, body, [0], back_prop=False, parallel_iterations=1)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(loop)
            assert session.run(weight) == pytest.approx([2.0 * 0.8**3])


def test_inputs_are_refused_where_they_cannot_be():
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    with tf.Graph().as_default():
        inputs = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))
        with pytest.raises(RuntimeError, match="only supported inside of tf.function"):
            iter(inputs)
        with pytest.raises(ValueError, match="one shot iterator"):
            inputs.make_one_shot_iterator()
