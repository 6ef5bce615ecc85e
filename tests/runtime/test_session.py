"""What Session.run promises: one compiled call, nothing compiled twice, 1.15's errors, and failing runs that change nothing."""

import collections
import threading

import numpy as np
import pytest

import tfcompat as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def training_step():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.placeholder(tf.int32, [None], name="y")
    logits = tf.layers.dense(tf.layers.dropout(tf.layers.dense(x, 8, tf.nn.relu), 0.5, training=True), 4)
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(tf.train.exponential_decay(0.1, step, 10, 0.9)).minimize(loss, step)
    return [train, loss], lambda n: {x: np.ones([n, 3]), y: np.zeros([n])}


def test_a_training_step_is_one_compiled_call():
    fetches, feed = training_step()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        plan = sess.plan(fetches, feed(5))
        assert len(plan.steps) == len(plan.clusters) == 1
        for _ in range(3):
            sess.run(fetches, feed(5))
        assert plan.compile_count() == 1
        sess.run(fetches, feed(2))
        assert plan.compile_count() == 2
        assert sess.plan(fetches, feed(2)) is plan


def test_initializers_compile_nothing():
    training_step()
    init = tf.global_variables_initializer()
    with tf.Session() as sess:
        assert sess.plan(init).clusters == []


def test_sparse_training_step_after_a_host_step_is_one_compiled_call():
    table = tf.get_variable("table", [50, 4])
    ids = tf.placeholder(tf.int32, [6])
    weights, biases = tf.get_variable("w", [50, 4]), tf.get_variable("b", [50])
    loss = tf.reduce_mean(
        tf.nn.nce_loss(weights, biases, tf.expand_dims(ids, 1), tf.nn.embedding_lookup(table, ids), 5, 50)
    )
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        plan = sess.plan([train, loss], {ids: np.arange(6)})
        assert len(plan.clusters) == 1
        for i in range(3):
            sess.run([train, loss], {ids: np.arange(6) + i})
        assert plan.compile_count() == 1


def test_explain_names_clusters_host_steps_and_state():
    v = tf.get_variable("v", [2])
    x = tf.placeholder(tf.float32, [2], name="x")
    shown = tf.py_func(lambda a: a, [x], tf.float32)
    text = tf.Session().explain(tf.assign(v, v + shown), {x: [0, 0]})
    assert "1 compiled call(s), 1 host step(s)" in text
    assert "host: PyFunc (PyFunc)" in text
    assert "updates: v" in text


def test_a_failing_run_changes_no_variable():
    dense, table = tf.Variable([1.0, 2.0]), tf.Variable(np.ones([3, 2], np.float32))
    ids = tf.placeholder(tf.int32, [2])
    ok = tf.placeholder(tf.float32, [])
    sparse_update = tf.scatter_add(table, ids, tf.gather(table, ids))
    with tf.control_dependencies([tf.Assert(ok > 0, [ok])]):
        dense_update = tf.assign_add(dense, [1.0, 1.0])
    updates = [sparse_update, dense_update]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for feed in ({ids: [0, 3], ok: 1.0}, {ids: [0, 1], ok: -1.0}):
            with pytest.raises(tf.errors.InvalidArgumentError):
                sess.run(updates, feed)
            np.testing.assert_array_equal(sess.run(dense), [1, 2])
            np.testing.assert_array_equal(sess.run(table), np.ones([3, 2]))
        sess.run(updates, {ids: [0, 1], ok: 1.0})
        np.testing.assert_array_equal(sess.run(table), [[2, 2], [2, 2], [1, 1]])


def test_an_uninitialized_variable_is_named_before_anything_runs():
    a, b = tf.Variable(1.0, name="a"), tf.Variable(1.0, name="b")
    with tf.Session() as sess:
        sess.run(a.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value b"):
            sess.run([tf.assign_add(a, 1.0), b + 1.0])
        assert sess.run(a) == 1.0


def test_fetched_arrays_stay_valid_and_writable():
    v = tf.Variable(np.zeros(1000, np.float32))
    update = tf.assign_add(v, np.ones(1000, np.float32))
    with tf.Session() as sess:
        sess.run(v.initializer)
        first = sess.run(update)
        sess.run(update)
        np.testing.assert_array_equal(first, 1)
        first[0] = 7
        np.testing.assert_array_equal(sess.run(v), 2)


def test_a_fed_array_is_not_changed_by_assigning_it():
    v = tf.Variable(np.zeros(64, np.float32))
    x = tf.placeholder(tf.float32, [64])
    given = np.ones(64, np.float32)
    with tf.Session() as sess:
        sess.run(tf.assign(v, x), {x: given})
        sess.run(tf.assign_add(v, x), {x: given})
        np.testing.assert_array_equal(given, 1)
        np.testing.assert_array_equal(sess.run(v), 2)


def test_sessions_have_variables_of_their_own():
    v = tf.Variable(1.0)
    update = tf.assign_add(v, 1.0)
    with tf.Session() as one, tf.Session() as two:
        one.run(v.initializer)
        two.run(v.initializer)
        one.run(update)
        assert (one.run(v), two.run(v)) == (2.0, 1.0)


def test_threads_share_a_session():
    v = tf.Variable(np.zeros(100, np.float32))
    update = tf.assign_add(v, np.ones(100, np.float32))
    read = v * 1.0
    with tf.Session() as sess:
        sess.run(v.initializer)
        failures = []

        def work():
            try:
                for _ in range(50):
                    sess.run(update)
                    values = sess.run(read)
                    assert np.all(values == values[0])
            except Exception as e:  # noqa: BLE001
                failures.append(e)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not failures
        np.testing.assert_array_equal(sess.run(v), 200)


@pytest.mark.parametrize(
    "feed, error, text",
    [
        (lambda x: {}, tf.errors.InvalidArgumentError, "You must feed a value for placeholder tensor 'x'"),
        (lambda x: {x: np.zeros([2, 2])}, ValueError, r"Cannot feed value of shape \(2, 2\) for Tensor 'x:0'"),
        (lambda x: {x: "word"}, ValueError, "could not convert string to float"),
        (lambda x: {x: tf.zeros([3])}, TypeError, "cannot be a tf.Tensor object"),
        (lambda x: {"nothing:0": 1.0}, TypeError, "Cannot interpret feed_dict key as Tensor"),
    ],
)
def test_bad_feeds(feed, error, text):
    x = tf.placeholder(tf.float32, [3], name="x")
    with tf.Session() as sess, pytest.raises(error, match=text):
        sess.run(x * 2.0, feed(x))


def test_a_callable_takes_its_feeds_as_a_list_or_a_tuple():
    x = tf.placeholder(tf.float32, [], "x")
    with tf.Session() as sess:
        assert sess.make_callable(x + 1.0, (x,))(1.0) == 2.0
        for feeds in (x, "x:0", {x}):
            with pytest.raises(TypeError, match="^`feed_list` must be a list or tuple.$"):
                sess.make_callable(x + 1.0, feeds)


def test_closed_sessions_foreign_tensors_and_empty_graphs():
    x = tf.constant(1.0)
    sess = tf.Session()
    sess.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        sess.run(x)
    with tf.Graph().as_default():
        with pytest.raises(RuntimeError, match="graph is empty"):
            tf.Session().run("x:0")
        tf.constant(2.0)
        with pytest.raises(ValueError, match="is not an element of this graph"):
            tf.Session().run(x)


def test_int64_and_float64_are_real_without_the_global_flag():
    import jax

    x = tf.placeholder(tf.int64, [])
    with tf.Session() as sess:
        assert sess.run(x + 1, {x: 2**40}) == 2**40 + 1
        assert sess.run(tf.constant(1.0, tf.float64) / 3.0) == 1.0 / 3.0
    assert not jax.config.jax_enable_x64


def test_a_fed_predicate_decides_the_plan():
    x, training = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.bool, [])
    y = tf.layers.dropout(x, 0.5, training=training)
    with tf.Session() as sess:
        np.testing.assert_array_equal(sess.run(y, {x: [1, 2], training: False}), [1, 2])
        plan = sess.plan(y, {x: [1, 2], training: True})
        assert len(plan.clusters) == 1
        assert not any(item.type == "cond" for item in plan.clusters[0].items)


def test_threads_never_draw_the_same_random_numbers():
    tf.set_random_seed(1)
    drawn, numbers = [], tf.random_uniform([3])
    with tf.Session() as session:
        work = lambda: drawn.extend(tuple(session.run(numbers).tolist()) for _ in range(100))  # noqa: E731
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(drawn) == len(set(drawn)) == 400





def test_a_fed_variable_needs_no_value_and_cannot_be_assigned():
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", [2], use_resource=False)
        loss = tf.reduce_sum(tf.square(v))
        feed = {"v:0": [1.0, 2.0]}
        assert session.run(loss, feed) == 5
        assert [g.tolist() for g in session.run([*tf.gradients(loss, v), v], feed)] == [[2, 4], [1, 2]]
        message = "Input 0 of node Assign was passed float from _arg_v_0_0:0 incompatible with expected float_ref."
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(v.assign([0.0, 0.0]), feed)
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(loss)


def test_host_work_and_units_take_what_is_fed_for_a_variable():
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([1.0, 2.0, 2.0], name="v", use_resource=False)
        distinct = tf.unique(v)[0]
        looped = tf.while_loop(lambda i: i < 3, lambda i: i + tf.size(tf.unique(v)[0]), [0])
        chosen = tf.cond(tf.size(distinct) > 1, lambda: tf.identity(v) * 2, lambda: tf.identity(v))
        feed = {v: [3.0, 3.0, 4.0]}
        assert [session.run(t, feed).tolist() for t in (distinct, looped, chosen)] == [[3, 4], 4, [6, 6, 8]]


@pytest.mark.parametrize("make", [dict, collections.OrderedDict, type("Own", (dict,), {}), lambda v: collections.defaultdict(list, v)])
def test_a_mapping_is_fetched_as_its_type(make):
    """1.15.5 makes an empty one of the type and sets its items."""
    fetches = make({"one": tf.constant(1), "rest": {"two": tf.constant(2)}})
    with tf.Session() as session:
        found = session.run(fetches)
    assert type(found) is type(fetches) and dict(found) == {"one": 1, "rest": {"two": 2}}
    assert getattr(found, "default_factory", None) is None
