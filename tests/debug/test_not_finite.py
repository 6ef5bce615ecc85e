"""Runs that dump only where a tensor is infinite or NaN: they find what a dump of all would show, at the step where 1.15.5 stops, and
nothing acts twice."""

import io
import os
import sys

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.debug.debug_utils import watch_graph
from tfcompat._src.debug.dump_dir import DebugDumpDir
from tfcompat._src.debug.dump_files import has_inf_or_nan
from tfcompat._src.debug.local_cli_wrapper import LocalCLIDebugHook
from tfcompat._src.graph import op_spec
from tfcompat._src.ops.control import finiteness
from tfcompat._src.runtime.debugging import debug_watches, not_finite

BAD = (np.nan, np.inf, -np.inf)


@pytest.fixture
def watched(tmp_path, monkeypatch):
    """A function that runs fetches and gives the names of the tensors that are not finite; None where nothing was dumped."""
    folder = str(tmp_path / "dump")
    monkeypatch.setitem(debug_watches.IF_NOT_FINITE, f"file://{folder}", None)

    def run(sess, fetches, feeds=None):
        options = tf.RunOptions()
        watch_graph(options, sess.graph, debug_urls=f"file://{folder}")
        found = sess.run(fetches, feeds, options=options)
        if not os.path.isdir(folder):
            return found, None
        dump = DebugDumpDir(folder)
        return found, [f"{datum.node_name}:{datum.output_slot}" for datum in dump.find(has_inf_or_nan)]

    return run


def training():
    """A training step that takes the logarithm of a negative number where `rate` is -1e9; recorded from 1.15.5 as it is here."""
    x, rate = tf.placeholder(tf.float32, [4, 3], name="x"), tf.placeholder(tf.float32, [], name="rate")
    w = tf.Variable(np.ones([3, 2], np.float32), name="w")
    b = tf.get_variable("b", [2], initializer=tf.zeros_initializer(), use_resource=True)
    y = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w, name="mm"), b, name="pre"), name="act")
    _, total = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + tf.reduce_mean(y, name="inside")), [0, 0.0])
    loss = tf.add(tf.log(tf.reduce_sum(tf.square(w), name="norm") + rate, name="logarithm") ** 2, total, name="loss")
    return x, rate, [tf.train.AdamOptimizer(0.01).minimize(loss, name="train"), loss]


AT_STEP_137 = {
    "logarithm:0", "pow:0", "gradients/pow_grad/Pow:0", "gradients/pow_grad/mul_2:0", "gradients/pow_grad/mul_1:0", "gradients/pow_grad/mul_3:0",
    "gradients/pow_grad/tuple/control_dependency:0", "gradients/logarithm_grad/mul:0", "gradients/add_grad/tuple/control_dependency:0",
    "gradients/norm_grad/Reshape:0", "gradients/norm_grad/Tile:0", "gradients/Square_grad/Mul_1:0", "loss:0", "gradients/AddN:0",
    "train/update_w/ApplyAdam:0",
}  # fmt: skip
"""What passes has_inf_or_nan in 1.15.5 where it stops."""


def test_a_training_stops_where_the_real_one_stops(watched, tmp_path):
    rng = np.random.RandomState(0)
    with tf.Graph().as_default(), tf.Session() as sess:
        x, rate, fetches = training()
        sess.run(tf.global_variables_initializer())
        for step in range(1, 200):
            _, found = watched(sess, fetches, {x: rng.rand(4, 3).astype(np.float32), rate: -1e9 if step == 137 else 0.5})
            if found is not None:
                break
    assert step == 137
    assert set(found) == AT_STEP_137
    dump = DebugDumpDir(str(tmp_path / "dump"))
    np.testing.assert_allclose(dump.get_tensors("norm", 0, "DebugIdentity")[0], 0.4699623, rtol=1e-5)  # as in 1.15.5: the step had not run before


def in_a_branch(x):
    return tf.cond(x[0] > 100, lambda: tf.log(x - 1e9, name="one"), lambda: tf.minimum(tf.log(x, name="other"), 0))


def in_a_loop(x):
    """Only the second iteration divides by zero, and nothing of it leaves the loop."""
    hidden = lambda i: tf.reduce_sum(tf.cast(tf.is_nan(tf.divide(x, 2 - tf.cast(i, tf.float32), name="inside")), tf.float32))
    return tf.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + hidden(i)), [0, 0.0])[1]


def behind_a_maximum(x):
    return tf.maximum(tf.negative(tf.exp(x * 100), name="great"), -1.0)


def in_a_gradient(x):
    return tf.gradients(tf.reduce_sum(tf.sqrt(x - 2)), x)[0]


def of_the_host(x):
    return tf.is_nan(tf.py_func(lambda a: np.where(a == 2, np.inf, a), [x], tf.float32))


def in_a_product_without_elements(x):
    return tf.matmul(tf.log(x - 3)[:, None], tf.zeros([1, 0]))


def in_a_fetch_of_nothing(x):
    with tf.control_dependencies([tf.log(x - 3)]):
        return tf.no_op()


@pytest.mark.parametrize(
    "build, good, bad",
    [
        (in_a_branch, 1.0, 0.0), (in_a_branch, 1e10, 101.0), (in_a_loop, None, 1.0), (behind_a_maximum, 0.5, 1.0), (in_a_gradient, 3.0, 2.0),
        (of_the_host, 1.0, 2.0), (in_a_product_without_elements, 4.0, 3.0), (in_a_fetch_of_nothing, 4.0, 2.0), (tf.is_nan, 1.0, np.nan),
    ],
)  # fmt: skip
def test_wherever_it_is(build, good, bad, watched):
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2], name="x")
        fetch = build(x)
        if good is not None:
            assert watched(sess, fetch, {x: [good, good]})[1] is None
        found, names = watched(sess, fetch, {x: [bad, bad]})
        assert names
        np.testing.assert_array_equal(found, sess.run(fetch, {x: [bad, bad]}))


def test_nothing_acts_twice(watched):
    """A queue, a Python function, a variable and random numbers, where a dump follows: all are as after one run."""
    calls, found = [], []
    for debugged in (False, True):
        with tf.Graph().as_default(), tf.Session() as sess:
            tf.set_random_seed(3)
            queue = tf.FIFOQueue(9, tf.float32, shapes=[[]])
            fill = queue.enqueue_many(([1.0, 0.0, 2.0],))
            counted = tf.py_func(lambda a: calls.append(a) or a, [queue.dequeue()], tf.float32)
            counted.set_shape([])
            v, other = tf.Variable(1.0), tf.FIFOQueue(9, tf.float32, shapes=[[]])
            with tf.control_dependencies([other.enqueue(7.0)]):
                fetches = [tf.log(counted) + tf.random_uniform([]), tf.assign_add(v, 1.0), tf.random_normal([2])]
            sess.run([fill, tf.global_variables_initializer()])
            runs = [watched(sess, fetches) if debugged else (sess.run(fetches), None) for _ in range(2)]
            found.append([values for values, _ in runs] + [sess.run([queue.size(), other.size(), v])])
            assert (runs[1][1] is not None) == debugged
    assert calls == [1.0, 0.0] * 2
    for plain, watched_values in zip(*found, strict=True):
        for expected, value in zip(plain, watched_values, strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-6)


def test_an_error_is_that_of_the_run(watched):
    with tf.Graph().as_default(), tf.Session() as sess:
        x, v = tf.placeholder(tf.float32, [2]), tf.Variable(0.0)
        with tf.control_dependencies([tf.Assert(x[0] > 0, ["not positive", x])]):
            step = tf.assign_add(v, tf.reduce_sum(x))
        sess.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="not positive"):
            watched(sess, step, {x: [-1.0, 1.0]})
        assert sess.run(v) == 0


def test_a_function_that_fails_is_called_once(watched):
    calls = []
    with tf.Graph().as_default(), tf.Session() as sess:
        fetch = tf.py_func(lambda a: calls.append(a) or [][0], [tf.constant(1.0)], tf.float32)
        with pytest.raises(tf.errors.UnknownError, match="IndexError"):
            watched(sess, fetch)
    assert calls == [1.0]


def test_the_hook_stops_there_too(monkeypatch, capsys):
    """A MonitoredSession with LocalCLIDebugHook: commands from standard input."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("run -f has_inf_or_nan\nexit\n"))
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [], name="x")
        step = tf.assign_add(tf.Variable(0.0, name="v"), tf.log(x, name="logarithm"), name="step")
        with pytest.raises(SystemExit), tf.train.MonitoredSession(hooks=[LocalCLIDebugHook(ui_type="readline")]) as sess:
            for i in range(9):
                sess.run(step, {x: 5.0 - i})
    shown = capsys.readouterr().out
    assert i == 6  # the user has left after run 5, which ends the program before the next one
    assert shown.count("run-end: ") == 1 and "logarithm:0" in shown and "2 dumped tensor(s) passing filter" in shown


def test_excluded_nodes_do_not_count(watched, tmp_path):
    debug_watches.IF_NOT_FINITE[f"file://{tmp_path}/dump"] = "mask.*"
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2], name="x")
        y = tf.nn.softmax(tf.add(x, tf.log(tf.constant([1.0, 0.0]), name="mask"), name="masked"))
        assert watched(sess, y, {x: [1.0, 2.0]})[1] is None


def test_tensors_between_other_tensors_are_spared():
    """Of a hidden layer and its update, only what may be infinite by itself is looked at."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [4, 3], name="x")
        w, b = tf.Variable(tf.ones([3, 2]), name="w"), tf.Variable(tf.zeros([2]), name="b")
        y = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w), b, name="pre"), name="act")
        cluster, = sess.plan(y, {x: np.ones([4, 3])}).clusters
        everything = {t for op in sess.graph.get_operations() for t in op.outputs}
        assert {t.name for t in not_finite.looked_at(cluster, everything, [])} == {"pre:0"}
        assert {t.name for t in not_finite.looked_at(cluster, everything - {y.op.inputs[0]}, [])} == {"MatMul:0", "b:0", "act:0"}


SHAPES = {
    "BatchMatMul": [(2, 2, 3), (2, 3, 2)], "BatchMatMulV2": [(2, 2, 3), (2, 3, 2)], "MatMul": [(2, 3), (3, 2)], "BiasAdd": [(2, 3), (3,)],
    "MaxPoolGrad": [(1, 4, 4, 1), (1, 2, 2, 1), (1, 2, 2, 1)], "Conv2DBackpropFilter": [(1, 4, 4, 2), None, (1, 4, 4, 3)],
}  # fmt: skip
WINDOW = {"strides": [1, 2, 2, 1], "ksize": [1, 2, 2, 1], "padding": "SAME"}
MORE = {
    "ConcatV2": lambda op, a, b: op(values=[a, b], axis=0), "AddN": lambda op, a, b: op(inputs=[a, b]), "Pack": lambda op, a, b: op(values=[a, b]),
    "ExpandDims": lambda op, a, b: op(input=a, axis=0), "Mean": lambda op, a, b: op(input=a, axis=[0]), "Sum": lambda op, a, b: op(input=a, axis=[0]),
    "Pad": lambda op, a, b: op(input=a, paddings=[[1, 0], [0, 1]]), "Reshape": lambda op, a, b: op(tensor=a, shape=[6]),
    "Transpose": lambda op, a, b: op(x=a, perm=[1, 0]), "Split": lambda op, a, b: op(axis=0, value=a, num_split=2)[0],
    "SplitV": lambda op, a, b: op(value=a, size_splits=[2], axis=0, num_split=1)[0], "Unpack": lambda op, a, b: op(value=a, num=2)[0],
    "MaxPoolGrad": lambda op, a, b, c: op(orig_input=a, orig_output=b, grad=c, **WINDOW),
    "Conv2DBackpropFilter": lambda op, a, c: op(input=a, filter_sizes=[2, 2, 2, 3], out_backprop=c, strides=[1, 1, 1, 1], padding="SAME"),
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(t for t in finiteness.SPREADS if not t.startswith("Apply")))
@pytest.mark.parametrize("bad", BAD)
def test_what_spreads(kind, bad):
    """Each op of the table, with one bad element at each place of each position."""
    rng = np.random.RandomState(1)
    names = [a.name for a in op_spec.get(kind).signature.inputs]
    shapes = SHAPES.get(kind) or [(2, 3), (2, 3)]
    arrays = [None if shape is None else rng.rand(*shape).astype(np.float32) for shape in shapes]
    given = [i for i, shape in enumerate(shapes) if shape is not None]
    with tf.Graph().as_default(), tf.Session() as sess:
        places = [tf.placeholder(tf.float32, arrays[i].shape) for i in given]
        op = getattr(tf.raw_ops, kind)
        node = (MORE[kind](op, *places) if kind in MORE else op(**dict(zip(names, places)))).op
        positions = [p for p in finiteness.SPREADS[kind] if p < len(node.inputs) and node.inputs[p] in places]
        assert positions
        result = list(node.outputs)
        for position in positions:
            which = given[places.index(node.inputs[position])]
            for place in np.ndindex(arrays[which].shape):
                changed = arrays[which].copy()
                changed[place] = bad
                feeds = dict(zip(places, [arrays[i] if i != which else changed for i in given]))
                assert not all(np.isfinite(value).all() for value in sess.run(result, feeds))


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("optimizer", [tf.train.GradientDescentOptimizer(0.1), tf.train.MomentumOptimizer(0.1, 0.9), tf.train.AdamOptimizer(0.1)])
def test_what_updates_spread(optimizer, bad):
    """A bad element of the gradient, the variable, or a slot that is in the table is in the new variable."""
    with tf.Graph().as_default(), tf.Session() as sess:
        v, gradient = tf.Variable([1.0, 2.0]), tf.placeholder(tf.float32, [2])
        step = optimizer.apply_gradients([(gradient, v)])
        node = next(c for c in [*step.control_inputs, *(i for c in step.control_inputs for i in c.control_inputs)] if c.type.startswith("Apply"))
        for tensor in (node.inputs[p] for p in finiteness.SPREADS[node.type]):
            sess.run(tf.global_variables_initializer())
            feeds = {gradient: [1.0, 1.0]}
            if tensor.dtype._is_ref_dtype:
                sess.run(tf.assign(tensor, [1.0, bad]))
            else:
                feeds[tensor] = [1.0, bad] if tensor is gradient else bad
            assert not np.isfinite(sess.run(node.outputs[0], feeds)).all()


GREAT = np.float32([[3.4e38, -3.4e38, 0.0], [1e-45, -1.0, 2.0]])
TAMED = {
    "BroadcastTo": lambda op, x: op(input=x, shape=[2, 2, 3]), "ConcatV2": lambda op, x: op(values=[x, x], axis=0), "Fill": lambda op, x: op(dims=[2], value=x[0, 0]),
    "ExpandDims": lambda op, x: op(input=x, axis=0), "GatherV2": lambda op, x: op(params=x, indices=[1], axis=0),
    "MaxPool": lambda op, x: op(input=x[None, :, :, None], **WINDOW), "Maximum": lambda op, x: op(x=x, y=-x), "Minimum": lambda op, x: op(x=x, y=-x),
    "Pack": lambda op, x: op(values=[x, x]), "Pad": lambda op, x: op(input=x, paddings=[[1, 1], [1, 1]]),
    "RandomStandardNormal": lambda op, x: op(shape=[999], dtype=tf.float32), "RandomUniform": lambda op, x: op(shape=[999], dtype=tf.float32),
    "TruncatedNormal": lambda op, x: op(shape=[999], dtype=tf.float32), "ReluGrad": lambda op, x: op(gradients=x, features=x),
    "Reshape": lambda op, x: op(tensor=x, shape=[6]), "Select": lambda op, x: op(condition=x > 0, x=x, y=-x), "Slice": lambda op, x: op(input=x, begin=[0, 1], size=[1, 1]),
    "Split": lambda op, x: op(axis=0, value=x, num_split=2), "SplitV": lambda op, x: op(value=x, size_splits=[1, 1], axis=0, num_split=2),
    "StopGradient": lambda op, x: op(input=x), "StridedSlice": lambda op, x: op(input=x, begin=[0], end=[1], strides=[1]),
    "Tile": lambda op, x: op(input=x, multiples=[2, 2]), "Transpose": lambda op, x: op(x=x, perm=[1, 0]), "Unpack": lambda op, x: op(value=x, num=2),
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(finiteness.TAME))
def test_what_is_tame(kind):
    """Each op of the table gives finite values for the greatest and smallest numbers."""
    first = op_spec.get(kind).signature.inputs[0].name
    with tf.Graph().as_default(), tf.Session() as sess:
        x, op = tf.placeholder(tf.float32, [2, 3]), getattr(tf.raw_ops, kind)
        found = sess.run(TAMED[kind](op, x) if kind in TAMED else op(**{first: x}), {x: GREAT})
    assert all(np.isfinite(value).all() for value in tf.nest.flatten(found))
