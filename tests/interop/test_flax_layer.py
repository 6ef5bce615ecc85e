"""tfcompat.interop.flax_layer: a flax module in a graph gives what the module gives, learns, and is saved."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import tfcompat as tf

nn = pytest.importorskip("flax.linen")
X = np.random.RandomState(0).rand(6, 4).astype(np.float32)


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.relu(nn.Dense(8)(x))
        x = nn.BatchNorm(use_running_average=not train, momentum=0.9)(x)
        x = nn.Dropout(0.5, deterministic=not train)(x)
        return {"out": nn.Dense(3, name="last")(x), "hidden": x}


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        yield


def values_of(session, layer):
    return {v.op.name: session.run(v) for v in layer.variables}


@pytest.fixture
def net():
    x = tf.placeholder(tf.float32, [None, 4])
    layer = tf.interop.flax_layer(Net(), name="net")
    return x, layer, layer(x, train=True), layer(x, train=False)


def test_results_shapes_and_names(net):
    x, layer, _, calm = net
    assert [v.op.name for v in layer.trainable_variables] == [v.op.name for v in tf.trainable_variables()] == [
        "net/BatchNorm_0/bias", "net/BatchNorm_0/scale", "net/Dense_0/bias", "net/Dense_0/kernel", "net/last/bias", "net/last/kernel",
    ]  # fmt: skip
    assert {v.op.name for v in tf.global_variables()} - {v.op.name for v in tf.trainable_variables()} == {"net/BatchNorm_0/mean", "net/BatchNorm_0/var"}
    assert calm["out"].shape.as_list() == [None, 3] and calm["hidden"].shape.as_list() == [None, 8]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tree = layer.tree(values_of(session, layer))
        assert np.std(tree["params"]["Dense_0"]["kernel"]) == pytest.approx(0.5, rel=0.5)  # lecun_normal of 4 inputs
        wanted = Net().apply(tree, X, train=False)
        np.testing.assert_allclose(session.run(calm["out"], {x: X}), wanted["out"], rtol=1e-5, atol=1e-6)


def test_training_updates_statistics_and_draws_dropout(net):
    x, layer, lively, calm = net
    loss = tf.reduce_mean(tf.square(lively["out"] - 1.0))
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert len(updates) == 2  # only the call with train=True changes mean and var
    with tf.control_dependencies(updates):
        train = tf.train.AdamOptimizer(0.05).minimize(loss)
    error = tf.reduce_mean(tf.square(calm["out"] - 1.0))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        masks = [session.run(lively["hidden"], {x: X}) == 0 for _ in range(2)]
        assert (masks[0] != masks[1]).any()
        hidden = np.maximum(X @ session.run("net/Dense_0/kernel:0") + session.run("net/Dense_0/bias:0"), 0)
        before = session.run(error, {x: X})
        session.run(train, {x: X})
        np.testing.assert_allclose(session.run("net/BatchNorm_0/mean:0"), 0.1 * hidden.mean(0), rtol=1e-4, atol=1e-6)
        for _ in range(60):
            session.run(train, {x: X})
        assert session.run(error, {x: X}) < 0.3 * before  # it learns


def test_saver_and_jax_restore_it(net, tmp_path):
    x, layer, _, calm = net
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        wanted = session.run(calm["out"], {x: X})
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    reader = tf.train.load_checkpoint(path)
    tree = layer.tree({name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()})
    np.testing.assert_allclose(Net().apply(tree, X, train=False)["out"], wanted, rtol=1e-5, atol=1e-6)
    with tf.Session() as session:
        tf.train.Saver().restore(session, path)
        np.testing.assert_array_equal(session.run(calm["out"], {x: X}), wanted)


def test_gradients_are_those_of_the_module():
    x = tf.placeholder(tf.float32, [6, 4])
    layer = tf.interop.flax_layer(nn.Dense(2), name="dense")
    total = tf.reduce_sum(tf.sin(layer(x)))
    slopes = tf.gradients(total, [x, *layer.variables])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tree = layer.tree(values_of(session, layer))
        wanted = jax.grad(lambda x, tree: jnp.sum(jnp.sin(nn.Dense(2).apply(tree, x))), argnums=(0, 1))(X, tree)
        for have, want in zip(session.run(slopes, {x: X}), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)


def test_an_nnx_module_goes_through_its_bridge():
    nnx = pytest.importorskip("flax.nnx")
    x = tf.placeholder(tf.float32, [None, 4])
    layer = tf.interop.flax_layer(nnx.bridge.to_linen(nnx.Linear, 4, 3), name="linear")
    y = layer(x)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        kernel, bias = (session.run(f"linear/{name}:0") for name in ("kernel", "bias"))
        np.testing.assert_allclose(session.run(y, {x: X}), X @ kernel + bias, rtol=1e-5, atol=1e-6)


def test_a_graph_as_a_flax_module():
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    y = tf.layers.dense(tf.layers.dense(x, 3, tf.nn.relu, name="hidden"), 1, name="out")
    with tf.control_dependencies([y]):
        count = tf.get_variable("count", initializer=0, trainable=False).assign_add(1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        module, variables = tf.interop.to_flax([y, count], [x], session)
        assert set(variables["params"]) == {"hidden/kernel", "hidden/bias", "out/kernel", "out/bias"}
        wanted = session.run(y, {x: X})
        assert jax.tree.structure(module.init(jax.random.key(0), X)) == jax.tree.structure(variables)
        (found, _), new = module.apply(variables, X, mutable=["state"])
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
        assert new["state"]["count"] == 1
        slopes = jax.grad(lambda p: module.apply({**variables, "params": p}, X)[0].sum())(variables["params"])
        np.testing.assert_allclose(slopes["out/bias"], [6.0])
        train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y))
        with pytest.raises(NotImplementedError, match="changes hidden/bias, hidden/kernel, out/bias, out/kernel: fetch the loss"):
            tf.interop.to_flax(train, [x], session)


def test_a_graph_as_an_nnx_module_trains():
    """Five steps of optax's SGD in nnx are those of the session, with dropout and moving averages of batch normalization."""
    nnx = pytest.importorskip("flax.nnx")
    tf.set_random_seed(4)
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    hidden = tf.layers.batch_normalization(tf.layers.dense(x, 3, name="hidden"), training=True, name="norm")
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        loss = tf.reduce_mean(tf.square(tf.layers.dense(tf.nn.dropout(hidden, rate=0.3), 1, name="out") - 1))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        module, variables = tf.interop.to_flax(loss, [x], session, api="nnx")
        assert set(variables["params"]) == {v.op.name for v in tf.trainable_variables()}
        assert set(module.state) == {"norm/moving_mean", "norm/moving_variance"}
        optimizer = nnx.Optimizer(module, optax.sgd(0.1), wrt=nnx.Param)

        @nnx.jit
        def step(module, optimizer, batch):
            value, slopes = nnx.value_and_grad(lambda m: m(batch))(module)
            optimizer.update(module, slopes)
            return value

        for _ in range(5):
            wanted, _ = session.run([loss, train], {x: X})
            np.testing.assert_allclose(step(module, optimizer, X), wanted, rtol=1e-5)
        for held, names in ((module.params, [v.op.name for v in tf.trainable_variables()]), (module.state, list(module.state))):
            for name in names:
                np.testing.assert_allclose(held[name].get_value(), session.run(f"{name}:0"), rtol=1e-4, atol=1e-6)
        key = jax.random.key(3)
        assert module(X, rng=key) == module(X, rng=key) != module(X)
        with pytest.raises(ValueError, match="'haiku'"):
            tf.interop.to_flax(loss, [x], session, api="haiku")


def test_what_does_not_fit_is_said():
    with pytest.raises(TypeError, match="must be a flax.linen.Module"):
        tf.interop.flax_layer(object())
    with pytest.raises(ValueError, match="known rank"):
        tf.interop.flax_layer(nn.Dense(2))(tf.placeholder(tf.float32))
    tf.interop.flax_layer(nn.Dense(2))(tf.constant(X))
    definition = tf.get_default_graph().as_graph_def()
    for node in definition.node:
        if node.op == "FlaxInit":
            node.attr["token"].s = b"flax_of_another_process"
    with tf.Graph().as_default(), tf.Session() as session:
        init, = tf.import_graph_def(definition, return_elements=["Dense/kernel/Assign"])
        with pytest.raises(tf.errors.InvalidArgumentError, match="flax_of_another_process is not in this process: call flax_layer here again"):
            session.run(init)
