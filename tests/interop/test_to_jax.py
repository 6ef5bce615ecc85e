"""tfcompat.to_jax: the function gives what Session.run gives, and JAX transforms it; what only the host can do is refused by name."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.base import jax_compat
from tfcompat._src.runtime.engines import choice

RANDOM = np.random.RandomState(0)
X = RANDOM.rand(6, 4).astype(np.float32)
Y = RANDOM.randint(0, 3, 6)


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """Sessions compile at once, so that both sides are what XLA computes; each test has a graph of its own."""
    monkeypatch.setattr(choice, "ENGINE", "compile")
    with tf.Graph().as_default():
        yield


def started():
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def jitted(fn):
    """With the compile options of sessions."""
    return jax.jit(fn, compiler_options=jax_compat.compiler_options())


def same(one, other):
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b), strict=True)


def network():
    """Dropout, batch normalization, moving averages, Adam with a decaying rate, a global step."""
    tf.set_random_seed(3)
    x, y = tf.placeholder(tf.float32, [None, 4], name="x"), tf.placeholder(tf.int64, [None], name="y")
    training = tf.placeholder_with_default(True, [], name="training")
    hidden = tf.layers.dropout(tf.layers.dense(x, 8, tf.nn.relu, name="hidden"), 0.3, training=training)
    logits = tf.layers.dense(tf.layers.batch_normalization(hidden, training=training, name="bn"), 3, name="logits")
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.05, step, 2, 0.5)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)
    average = tf.train.ExponentialMovingAverage(0.9)
    with tf.control_dependencies([train]):
        train = average.apply(tf.trainable_variables())
    return x, y, training, logits, loss, train


def variables_of(session):
    return {v.op.name: session.run(v) for v in tf.global_variables()}


def held(params):
    return {name: np.asarray(value) for group in ("trainable", "other") for name, value in params[group].items()}


def test_training_steps_are_those_of_the_session():
    x, y, _, _, loss, train = network()
    with started() as session, jax.enable_x64(True):
        fn, params = tf.to_jax({"loss": loss, "train": train}, [x, y], session)
        assert set(params["trainable"]) == {v.op.name for v in tf.trainable_variables()}
        assert set(held(params)) == {v.op.name for v in tf.global_variables()}
        step = jax.jit(fn, compiler_options=fn.compiler_options)
        for _ in range(5):
            wanted = session.run({"loss": loss, "train": train}, {x: X, y: Y})
            found, params = step(params, X, Y)
            assert found["train"] is None
            same(found["loss"], wanted["loss"])
        now = variables_of(session)
        for name, value in held(params).items():
            np.testing.assert_array_equal(value, now[name], err_msg=name, strict=True)


def test_a_scan_trains_as_a_loop_of_runs():
    x, y, _, _, loss, train = network()
    with started() as session:
        fn, params = tf.to_jax([loss, train], [x, y], session)
        last, losses = jax.lax.scan(lambda p, _: (lambda found, new: (new, found[0]))(*fn(p, X, Y)), params, None, length=4)
        wanted = [session.run([loss, train], {x: X, y: Y})[0] for _ in range(4)]
        np.testing.assert_allclose(losses, wanted, rtol=1e-5)
        assert last["other"]["global_step"] == session.run(tf.train.get_global_step()) == 4


def test_each_device_of_a_shard_map_takes_its_part_of_the_batch():
    """Losses of parts are those of the session's runs on the parts; the mean of their slopes is the slope of the whole batch."""
    x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.int64, [None])
    loss = tf.losses.sparse_softmax_cross_entropy(y, tf.layers.dense(tf.layers.dense(x, 8, tf.nn.relu), 3))
    slopes = tf.gradients(loss, tf.trainable_variables())
    features, labels = np.tile(X, (2, 1))[:, ::-1].copy(), np.tile(Y, 2)
    mesh = jax.sharding.Mesh(np.array(jax.devices("cpu")[:4]), ("batch",))
    everywhere, divided = jax.sharding.PartitionSpec(), jax.sharding.PartitionSpec("batch")
    with started() as session:
        fn, params = tf.to_jax(loss, [x, y], session)

        def part(trainable, x, y):
            value, slope = jax.value_and_grad(lambda t: fn({**params, "trainable": t}, x, y)[0])(trainable)
            return value[None], jax.lax.pmean(slope, "batch")

        run = jax.shard_map(part, mesh=mesh, in_specs=(everywhere, divided, divided), out_specs=(divided, everywhere), check_vma=False)
        losses, slope = jax.jit(run)(params["trainable"], features, labels)
        assert losses.sharding.spec == divided
        wanted = [session.run(loss, {x: features[i : i + 3], y: labels[i : i + 3]}) for i in range(0, 12, 3)]
        np.testing.assert_allclose(losses, wanted, rtol=1e-6)
        for variable, expected in zip(tf.trainable_variables(), session.run(slopes, {x: features, y: labels})):
            np.testing.assert_allclose(slope[variable.op.name], expected, rtol=1e-5, atol=1e-7)


def test_inference_for_other_batches_with_a_fixed_branch():
    x, y, training, logits, loss, train = network()
    with started() as session:
        session.run(train, {x: X, y: Y})
        fn, params = tf.to_jax(logits, [x], session, fixed={training: False})
        assert not params["random"]
        assert set(params["other"]) == {"bn/moving_mean", "bn/moving_variance"}
        for count in (1, 6):
            found, new = jitted(fn)(params, X[:count])
            same(found, session.run(logits, {x: X[:count], training: False}))
            same(new, params)


def test_a_traced_branch_is_that_of_the_session():
    x, _, training, logits, _, _ = network()
    with started() as session:
        fn, params = tf.to_jax(logits, [x, training], session)
        for value in (False, True):
            np.testing.assert_allclose(jitted(fn)(params, X, value)[0], session.run(logits, {x: X, training: value}), rtol=2e-6)


def test_random_numbers_of_a_key():
    x = tf.placeholder(tf.float32, [100])
    dropped = tf.nn.dropout(x, rate=0.5)
    fn, params = tf.to_jax(dropped, [x])
    ones = np.ones(100, np.float32)
    draws = [np.asarray(fn(params, ones, rng=jax.random.key(i))[0]) for i in (0, 0, 1)]
    same(draws[0], draws[1])
    assert (draws[0] != draws[2]).any()
    assert set(np.unique(draws)) == {0, 2}
    assert 25 < np.count_nonzero(draws[2]) < 75
    same(fn(params, ones, rng=jax.random.key(0))[1], params)
    assert (np.asarray(fn(params, ones)[1]["random"]["dropout/random_uniform/RandomUniform"]) != params["random"]["dropout/random_uniform/RandomUniform"]).any()


def rnn():
    x = tf.placeholder(tf.float64, [None, 5, 3])
    lengths = tf.placeholder(tf.int32, [None])
    _, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(4), x, lengths, dtype=tf.float64)
    return x, lengths, tf.reduce_sum(tf.square(state))


def convolution():
    x = tf.placeholder(tf.float64, [None, 6, 6, 2])
    lengths = tf.placeholder(tf.int32, [None])
    maps = tf.layers.max_pooling2d(tf.layers.conv2d(x, 3, 3, activation=tf.nn.tanh), 2, 2)
    rows = tf.gather(tf.layers.flatten(maps), lengths % 2)
    return x, lengths, tf.reduce_sum(tf.log(tf.nn.softmax(tf.layers.dense(rows, 2)))[:, 0])


def loop():
    x = tf.placeholder(tf.float64, [None, 3])
    lengths = tf.placeholder(tf.int32, [None])
    w = tf.get_variable("w", [3, 3], tf.float64)
    array = tf.TensorArray(tf.float64, 4)
    first = tf.reduce_sum(x)
    _, last, array = tf.while_loop(lambda i, *_: i < 4, lambda i, h, a: (i + 1, tf.tanh(tf.matmul(h, w)), a.write(i, h)), [0, x, array])
    positive = tf.cond(tf.reduce_sum(last) > 0, lambda: 2 * tf.reduce_sum(last), lambda: first * tf.reduce_sum(last))
    return x, lengths, positive + tf.reduce_sum(array.stack() ** 2) + 0 * tf.cast(tf.reduce_sum(lengths), tf.float64)


SHAPES = {rnn: (5, 3), convolution: (6, 6, 2), loop: (3,)}
LENGTHS = np.array([2, 5, 3])


@pytest.mark.parametrize("make", list(SHAPES), ids=lambda make: make.__name__)
def test_gradients_and_vmap(make):
    """Against Session.run, TensorFlow's own gradient, central differences, and a loop of calls."""
    tf.set_random_seed(1)  # with some weights a difference goes across a maximum of the pooling
    x, lengths, total = make()
    of_graph = tf.gradients(total, [*tf.trainable_variables(), x])
    batch = np.random.RandomState(1).randn(3, *SHAPES[make])
    with started() as session, jax.enable_x64(True):
        fn, params = tf.to_jax(total, [x, lengths], session)

        def value(trainable, x):
            return fn({**params, "trainable": trainable}, x, LENGTHS)[0]

        weights, call = params["trainable"], jitted(value)
        same(call(weights, batch), session.run(total, {x: batch, lengths: LENGTHS}))
        slopes, by_x = jax.jit(jax.grad(value, argnums=(0, 1)))(weights, batch)
        wanted = session.run(of_graph, {x: batch, lengths: LENGTHS})
        for name, expected in zip([v.op.name for v in tf.trainable_variables()], wanted):
            np.testing.assert_allclose(slopes[name], expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(by_x, wanted[-1], rtol=1e-9, atol=1e-12)
        random, step = np.random.RandomState(2), 1e-5
        way = jax.tree.map(lambda a: random.randn(*a.shape), (weights, batch))
        ends = [call(*jax.tree.map(lambda a, d, s=sign: a + s * step * d, (weights, batch), way)) for sign in (1, -1)]
        along = sum(float(np.sum(a * b)) for a, b in zip(jax.tree.leaves((slopes, by_x)), jax.tree.leaves(way)))
        np.testing.assert_allclose((ends[0] - ends[1]) / (2 * step), along, rtol=1e-6)

        batches = np.stack([batch, -batch, 2 * batch])
        found = jax.jit(jax.vmap(value, (None, 0)))(weights, batches)
        np.testing.assert_allclose(found, [call(weights, b) for b in batches], rtol=1e-10)


def test_a_vmap_over_64_bit_integers_outside_of_jit():
    ids = tf.placeholder(tf.int64, [None])
    table = tf.get_variable("table", initializer=np.arange(12, dtype=np.float32).reshape(4, 3))
    with started() as session:
        fn, params = tf.to_jax(tf.nn.embedding_lookup(table, ids), [ids], session)
        found = jax.vmap(lambda i: fn(params, i)[0])(np.array([[0, 2], [3, 1]]))
        np.testing.assert_array_equal(found, np.arange(12).reshape(4, 3)[[[0, 2], [3, 1]]])


def test_the_gradient_of_a_training_step():
    """How the loss after a step depends on the weights before it: x - 0.1 * 2x, squared, has the slope 1.28 x."""
    w = tf.get_variable("w", initializer=np.float32(3))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(w))
    with started() as session:
        fn, params = tf.to_jax(train, [], session)

        def after(w):
            return fn({**params, "trainable": {"w": w}})[1]["trainable"]["w"] ** 2

        assert jax.grad(after)(3.0) == pytest.approx(1.28 * 3)


def test_derivatives_are_those_of_tensorflow():
    """The absolute value has slope 0 at 0 there; tf.stop_gradient stops; what has a gradient function of its own is refused."""
    x = tf.placeholder(tf.float32, [2])
    fn, params = tf.to_jax(tf.reduce_sum(tf.abs(x) + tf.stop_gradient(x * 5) + tf.nn.relu(x)), [x])
    assert jax.grad(lambda x: fn(params, x)[0])(jnp.array([0.0, 2.0])).tolist() == [0, 2]
    strange = tf.custom_gradient(lambda x: (x * 2, lambda slope: slope * 100))(x)
    fn, params = tf.to_jax(tf.reduce_sum(strange), [x])
    assert jax.jit(fn)(params, np.ones(2))[0] == 4
    with pytest.raises(NotImplementedError, match="no derivative: .* has a gradient function of its own"):
        jax.grad(lambda x: fn(params, x)[0])(jnp.ones(2))


def _rich(x):
    """Operations with gradient functions of many kinds, among them some with checks, of 64 bits, and without a second derivative in 1.15."""
    y = tf.nn.relu(tf.layers.conv1d(tf.reshape(x, [1, 5, 1]), 2, 3, kernel_initializer=tf.constant_initializer(0.3)))
    y = tf.reduce_max(y, 2) * tf.div_no_nan(x[:3], x[1:4] ** 2 + 1) + tf.gather(tf.nn.softsign(x), [0, 1, 4])
    wide = tf.cast(x, tf.float64)
    cross = tf.nn.softmax_cross_entropy_with_logits_v2(labels=[0.1, 0.2, 0.3, 0.4, 0.0], logits=x * 2)  # 1.15's second derivative by labels is not right
    return tf.reduce_sum(y) * cross + tf.cast(tf.reduce_sum(tf.sqrt(wide**2 + 1e-9)), tf.float32)


def test_forward_and_reverse_mode_agree():
    """Also in both orders for second derivatives, under vmap, and without compiling; central differences tell that all are right."""
    x = tf.placeholder(tf.float32, [5])
    y = _rich(x)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        fn, params = tf.to_jax(y, [x])
    f = lambda x: fn(params, x)[0]
    at, step = jnp.float32([0.3, -0.2, 1.1, 0.7, -0.9]), 1e-2
    slopes = jax.grad(f)(at)
    for found in (jax.jacfwd(f)(at), jax.vmap(lambda t: jax.jvp(f, (at,), (t,))[1])(jnp.eye(5)), jax.jit(jax.vmap(jax.jacfwd(f)))(at[None])[0]):
        np.testing.assert_allclose(found, slopes, rtol=1e-5)
    differences = [(f(at + step * t) - f(at - step * t)) / (2 * step) for t in np.eye(5, dtype="f4")]
    np.testing.assert_allclose(slopes, differences, rtol=0.01, atol=0.01)
    curvature = jax.jacrev(jax.jacrev(f))(at)
    for found in (jax.hessian(f)(at), jax.jacfwd(jax.jacfwd(f))(at), jax.jacrev(jax.jacfwd(f))(at)):
        np.testing.assert_allclose(found, curvature, rtol=1e-4, atol=1e-4)
    differences = [(jax.grad(f)(at + step * t) - jax.grad(f)(at - step * t)) / (2 * step) for t in np.eye(5, dtype="f4")]
    np.testing.assert_allclose(curvature, differences, rtol=0.02, atol=0.02)


def test_forward_mode_has_the_derivatives_of_tensorflow_at_kinks_and_ties():
    x = tf.placeholder(tf.float32, [3])
    many = [tf.nn.relu(x), tf.abs(x), tf.maximum(x, 0.0), tf.nn.softplus(x), tf.nn.leaky_relu(x), tf.math.xlogy(x, 0.0), tf.sqrt(tf.nn.relu(x)), tf.reduce_max(x) * [1.0, 1, 1]]
    fn, params = tf.to_jax(many, [x])
    at, direction = jnp.float32([0, -0.0, 0]), jnp.float32([1, 3, -2])
    tangents = jax.jvp(lambda x: fn(params, x)[0], (at,), (direction,))[1]
    with tf.Session() as session:
        slopes = session.run([tf.stack([tf.gradients(y[i], x)[0] for i in range(3)]) for y in many], {x: at})
    for jacobian, tangent in zip(slopes, tangents):
        np.testing.assert_allclose(tangent, jacobian @ direction, rtol=1e-6)


def test_arrays_of_other_dtypes():
    x = tf.placeholder(tf.float32, [2])
    w, count = tf.get_variable("w", initializer=[1.5, 2.0]), tf.get_variable("n", initializer=np.int64(0), trainable=False)
    run = [x * w, count.assign_add(1), w.assign(w * 2)]
    with started() as session:
        fn, params = tf.to_jax(run, [x], session)
        low = {**params, "trainable": {"w": jnp.array([1.5, 2.0], jnp.bfloat16)}}
        (product, *_), new = fn(low, jnp.array([2, 3]))
        assert product.tolist() == [3, 6] and product.dtype == np.float32
        assert new["trainable"]["w"].dtype == jnp.bfloat16 and new["trainable"]["w"].tolist() == [3, 4]
        with pytest.raises(TypeError, match=r"n is int64 in the graph, but got float32"):
            fn({**params, "other": {"n": np.float32(0)}}, X[0, :2])
        with pytest.raises(ValueError, match=r"Placeholder:0 has shape \(2,\), but got \(3,\)"):
            fn(params, X[0, :3])
        with pytest.raises(TypeError, match=r"takes params and 1 feeds \(Placeholder:0\), but got 0 feeds"):
            fn(params)
        with pytest.raises(ValueError, match=r"params\['trainable'\] lacks the variable w"):
            fn({**params, "trainable": {}}, X[0, :2])


def test_checks_are_a_flag():
    x = tf.placeholder(tf.float32, [])
    w = tf.get_variable("w", initializer=1.0)
    with tf.control_dependencies([tf.Assert(x > 0, [x])]):
        update = w.assign_add(x)
    with started() as session:
        fn, params = tf.to_jax(update, [x], session, checks=True)
        for value, wanted, holds in ((2.0, 3.0, True), (-2.0, 1.0, False)):
            _, new, ok = jax.jit(fn)(params, value)
            assert (new["trainable"]["w"], bool(ok)) == (wanted, holds)
        plain, _ = tf.to_jax(update, [x], session)
        assert len(plain(params, 2.0)) == 2


def test_an_initializer_makes_the_parameters():
    tf.get_variable("w", initializer=np.full([2, 2], 7, np.float32))
    fn, params = tf.to_jax(tf.global_variables_initializer(), [])
    assert not held(params)
    _, made = fn(params)
    assert made["other"]["w"].tolist() == [[7, 7], [7, 7]]


def test_sparse_feeds_and_structured_fetches():
    sparse = tf.sparse_placeholder(tf.float32)
    dense = tf.get_variable("w", initializer=np.arange(6, dtype=np.float32).reshape(3, 2))
    twice = tf.SparseTensor(sparse.indices, sparse.values * 2, sparse.dense_shape)
    indices, values, sizes = np.array([[0, 1], [1, 2]]), np.array([1, 10], np.float32), np.array([2, 3])
    with started() as session:
        fn, params = tf.to_jax({"twice": twice}, [sparse], session)
        found, _ = jax.jit(fn)(params, tf.SparseTensorValue(indices, values, sizes))
        assert isinstance(found["twice"], tf.SparseTensorValue) and found["twice"].values.tolist() == [2, 20]
        product = (tf.sparse_tensor_dense_matmul(sparse, dense),)
        fn, params = tf.to_jax(product, [sparse.indices, sparse.values], session, fixed={sparse.dense_shape: sizes})
        assert jax.jit(fn)(params, indices, values)[0][0].tolist() == [[2, 3], [40, 50]]


def test_what_the_host_does_is_refused_by_name():
    x = tf.placeholder(tf.float32, [None], name="x")
    made = tf.py_func(lambda a: a + 1, [x], tf.float32, name="mine")
    queue = tf.FIFOQueue(3, tf.float32, [[]], name="queue")
    image = tf.decode_raw(tf.read_file("name"), tf.uint8)
    element = tf.data.Dataset.range(3).make_one_shot_iterator().get_next()
    words = tf.strings.to_number(tf.placeholder(tf.string, [2], name="words"))
    rows = tf.boolean_mask(x, x > 0)
    for wanted, feeds, message in (
        (made * 2, [x], r"mine \(op type PyFunc\) runs on the host .*: feed mine:0 instead"),
        (queue.dequeue() + 1, [], r"queue_Dequeue \(op type QueueDequeueV2\) .*: feed queue_Dequeue:0 instead"),
        (tf.cast(image, tf.float32), [], r"DecodeRaw .*: feed DecodeRaw:0 instead"),
        (element + 1, [], r"IteratorGetNext .*: feed IteratorGetNext:0 instead"),
        (words * 2, [], r"StringToNumber .*: feed StringToNumber:0 instead"),
        (tf.reduce_sum(rows), [x], r"boolean_mask/Where .*: feed boolean_mask/Where:0 instead"),
        (tf.print(x), [x], r"PrintV2 .*: fetch nothing that needs it"),
        (tf.as_string(x), [x], r"is of dtype string"),
    ):
        with pytest.raises(NotImplementedError, match=message):
            tf.to_jax(wanted, feeds)
    made.set_shape([None])
    fn, params = tf.to_jax(made * 2, [made])
    assert fn(params, np.ones(2))[0].tolist() == [2, 2]


def test_numbers_that_shape_the_run_are_fixed():
    x, n = tf.placeholder(tf.float32, [4], name="x"), tf.placeholder(tf.int32, [], name="n")
    tiled = tf.reshape(tf.tile(x, [n]), [n, 4])
    with pytest.raises(NotImplementedError, match=r"Tile.* is compiled for the value of .*, which depends on data"):
        tf.to_jax(tiled, [x, n])
    fn, params = tf.to_jax(tiled, [x], fixed={n: 2})
    assert fn(params, np.arange(4.0))[0].tolist() == [[0, 1, 2, 3]] * 2


def test_the_gradient_of_a_loop_of_unknown_length():
    x = tf.placeholder(tf.float32, [], name="x")
    for most in (None, 20):
        _, y = tf.while_loop(lambda i, y: y < 100, lambda i, y: [i + 1, y * x], [0, x], maximum_iterations=most)
        slope = tf.gradients(y, x)[0]
        if most is None:
            with pytest.raises(NotImplementedError, match=r"gradient of the loop .*while.* must know how often it runs: give tf.while_loop maximum"):
                tf.to_jax(slope, [x])
        else:
            fn, params = tf.to_jax(slope, [x])
            assert fn(params, 3.0)[0] == 5 * 3**4


def test_what_is_missing_is_named():
    x = tf.placeholder(tf.float32, [], name="x")
    w = tf.get_variable("w", initializer=1.0)
    with pytest.raises(tf.errors.FailedPreconditionError, match="w"):
        tf.to_jax(w * 2, [])
    with pytest.raises(NotImplementedError, match=r"x \(op type Placeholder\) .*: feed x:0 instead"):
        tf.to_jax(x * 2, [])
    with pytest.raises(ValueError, match="twice"):
        tf.to_jax(x * 2, [x, x])
    with pytest.raises(TypeError, match="session must be a tf.Session"):
        tf.to_jax(x * 2, [x], session=tf.get_default_graph())


def test_indices_are_compiled_outside_of_64_bit_mode():
    """Those of argmax, and of checks: JAX has no lowering of an argmax in int64 there."""
    x, at = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.int32, [None])
    found = [tf.argmax(x, 1), tf.gather(x, at), tf.gather_nd(x, at[:, None]), tf.reverse_sequence(x, at, 1, batch_axis=0), tf.unsorted_segment_sum(x, at, 2)]
    fn, params = tf.to_jax(found, [x, at])
    rows = np.array([[1, 3, 2], [6, 5, 4]], np.float32)
    most, *gathered, turned, sums = jax.jit(fn)(params, rows, np.array([0, 1]))[0]
    assert most.tolist() == [1, 0]
    for part in (*gathered, turned, sums):
        assert part.tolist() == rows.tolist()
