"""Functions of JAX from files, their parameters in files, and optimizers of TensorFlow 1 in optax loops."""

import jax
import numpy as np
import optax
import pytest

import tfcompat as tf

X = np.random.RandomState(0).rand(3, 2).astype(np.float32)
W = np.array([[1.0, -2.0], [3.0, 0.5]], np.float32)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def files(folder):
    """x @ w + 1 as a SavedModel, a checkpoint with its meta graph, and a frozen graph."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        y = tf.add(tf.matmul(x, tf.get_variable("w", initializer=W)), 1.0, name="y")
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(folder / "saved"), {"features": x}, {"scores": y})
        tf.train.Saver().save(session, str(folder / "model.ckpt"))
        frozen = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
        (folder / "frozen.pb").write_bytes(frozen.SerializeToString())


def test_functions_from_files(tmp_path):
    files(tmp_path)
    fn, params = tf.interop.to_jax_from(tmp_path / "saved")
    assert list(params["trainable"]) == ["w"]
    np.testing.assert_allclose(jax.jit(fn)(params, X)[0]["scores"], X @ W + 1, rtol=1e-6)
    for name, group in (("model.ckpt", {"w"}), ("frozen.pb", set())):
        fn, params = tf.interop.to_jax_from(tmp_path / name, "y:0", ["x:0"])
        assert set(params["trainable"]) == group
        np.testing.assert_allclose(fn(params, X)[0], X @ W + 1, rtol=1e-6)
    with pytest.raises(ValueError, match=r"no signature 'other', but \['serving_default'\]"):
        tf.interop.to_jax_from(tmp_path / "saved", signature="other")
    with pytest.raises(ValueError, match="has no signatures: say what to fetch"):
        tf.interop.to_jax_from(tmp_path / "frozen.pb")
    with pytest.raises(OSError, match="nothing"):
        tf.interop.to_jax_from(tmp_path / "nothing", "y:0", ["x:0"])


FORMATS = {"params.npz": None, "params.safetensors": "safetensors", "params": "orbax.checkpoint"}


@pytest.mark.parametrize("name", list(FORMATS))
def test_parameters_in_files(tmp_path, name):
    if FORMATS[name]:
        pytest.importorskip(FORMATS[name])
    params = {"trainable": {"a/w": W, "a": W[0]}, "other": {"step": np.array(3, np.int64)}, "constants": {}, "random": {"r": np.arange(6, dtype=np.uint32)}}
    path = tmp_path / name
    tf.interop.save_params(path, params)
    for found in (tf.interop.load_params(path), tf.interop.load_params(path, like=params)):
        assert jax.tree.structure(found) == jax.tree.structure(params)
        jax.tree.map(lambda a, b: np.testing.assert_array_equal(a, b, strict=True), found, params)
    with pytest.raises(ValueError, match="lacks the trainable parameter b"):
        tf.interop.load_params(path, like={"trainable": {"b": W}})
    with pytest.raises(ValueError, match=r"a has shape \(2,\), but \(2, 2\) is required"):
        tf.interop.load_params(path, like={"trainable": {"a": W}})
    with pytest.raises(ValueError, match="step is int64, but float32 is required"):
        tf.interop.load_params(path, like={"other": {"step": np.float32(0)}})


def test_a_checkpoint_goes_to_orbax_and_back(tmp_path):
    """TensorFlow's checkpoint, a step in JAX, an Orbax checkpoint, TensorFlow's checkpoint again, which Saver restores."""
    orbax = pytest.importorskip("orbax.checkpoint")
    x = tf.placeholder(tf.float32, [None, 2])
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("layer/w", initializer=W)
    loss = tf.reduce_sum(tf.matmul(x, w))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss, global_step=step)
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step.assign(2**40))
        fn, start = tf.to_jax([loss, train], [x], session)
        saver.save(session, str(tmp_path / "old.ckpt"))
    params = tf.interop.load_params(tmp_path / "old.ckpt", like=start)
    assert params["other"]["global_step"] == 2**40
    with jax.enable_x64(True):
        _, params = jax.jit(fn)(params, X)
        tf.interop.save_params(tmp_path / "orbax", params)
    with orbax.Checkpointer(orbax.PyTreeCheckpointHandler()) as checkpointer:
        np.testing.assert_allclose(checkpointer.restore(tmp_path / "orbax")["trainable"]["layer/w"], W - 0.5 * X.sum(0)[:, None], rtol=1e-6)
    tf.interop.save_params(tmp_path / "new.ckpt-1", tf.interop.load_params(tmp_path / "orbax"))
    with tf.Session() as session:
        saver.restore(session, str(tmp_path / "new.ckpt-1"))
        assert session.run(step) == 2**40 + 1
        np.testing.assert_allclose(session.run(w), W - 0.5 * X.sum(0)[:, None], rtol=1e-6)


def test_a_checkpoint_has_the_dtypes_of_the_graph(tmp_path):
    """Outside of 64-bit mode JAX makes a global step int32."""
    start = {"trainable": {"w": W}, "other": {"step": np.array(3, np.int64)}, "random": {"r": np.arange(6, dtype=np.uint32)}}
    tf.interop.save_params(tmp_path / "a.ckpt", jax.tree.map(jax.numpy.asarray, start), like=start)
    reader = tf.train.load_checkpoint(str(tmp_path / "a.ckpt"))
    assert reader.get_variable_to_dtype_map() == {"w": tf.float32, "step": tf.int64}
    found = tf.interop.load_params(tmp_path / "a.ckpt", like=start)
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a, b, strict=True), found, {**start, "constants": {}})


def test_what_parameter_files_refuse(tmp_path):
    with pytest.raises(ValueError, match=r"must end with .npz, .safetensors or .ckpt"):
        tf.interop.save_params(tmp_path / "params.bin", {})
    with pytest.raises(ValueError, match="trainable/w is bfloat16"):
        tf.interop.save_params(tmp_path / "params.npz", {"trainable": {"w": jax.numpy.zeros(2, jax.numpy.bfloat16)}})
    with pytest.raises(ValueError, match=r"has constants \(table\)"):
        tf.interop.save_params(tmp_path / "params.ckpt", {"constants": {"table": W}})
    assert not list(tmp_path.iterdir())
    np.savez(tmp_path / "other.npz", w=W)
    with pytest.raises(ValueError, match="'w' is in none of trainable"):
        tf.interop.load_params(tmp_path / "other.npz")
    tf.interop.save_params(tmp_path / "model.ckpt", {"trainable": {"w": W}})
    with pytest.raises(ValueError, match="does not say which variables are trainable"):
        tf.interop.load_params(tmp_path / "model.ckpt")
    for name in ("nothing.npz", "nothing.safetensors"):
        with pytest.raises(FileNotFoundError):
            tf.interop.load_params(tmp_path / name)
    with pytest.raises(tf.errors.NotFoundError):
        tf.interop.load_params(tmp_path / "nothing.ckpt", like={})


def test_what_orbax_refuses(tmp_path):
    orbax = pytest.importorskip("orbax.checkpoint")
    with pytest.raises(FileNotFoundError):
        tf.interop.load_params(tmp_path / "nothing")
    with pytest.raises(ValueError, match=r"trainable/w has shape \(0, 3\), and Orbax saves no empty arrays"):
        tf.interop.save_params(tmp_path / "empty", {"trainable": {"w": np.zeros((0, 3))}})
    assert not list(tmp_path.iterdir())
    with orbax.Checkpointer(orbax.PyTreeCheckpointHandler()) as checkpointer:
        checkpointer.save(tmp_path / "other", {"model": {"w": W}})
    with pytest.raises(ValueError, match="must be a tree of trainable, other"):
        tf.interop.load_params(tmp_path / "other")
    with pytest.raises(FileExistsError, match="is a new folder"):
        tf.interop.save_params(tmp_path / "other", {"trainable": {"w": W}})


def decaying():
    return tf.train.AdamOptimizer(tf.train.exponential_decay(0.1, tf.train.get_or_create_global_step(), 2, 0.5))


OPTIMIZERS = {
    "momentum": tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True), "ftrl": tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.05, momentum=0.5, centered=True), "decaying": decaying,
}  # fmt: skip


@pytest.mark.parametrize("name", list(OPTIMIZERS))
def test_optimizers_as_transformations(name):
    """Five steps on sum(sin(w)) + b**2 from the same start as a session's."""
    made = OPTIMIZERS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        w, b = tf.get_variable("w", initializer=W), tf.get_variable("b", initializer=np.float32(2))
        optimizer = made if isinstance(made, tf.train.Optimizer) else made()
        train = optimizer.minimize(tf.reduce_sum(tf.sin(w)) + b**2, global_step=tf.train.get_global_step())
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run(train)
        wanted = session.run({"w": w, "b": b})
    transformation, params = tf.interop.as_optax(made), {"w": W, "b": np.float32(2)}
    state = transformation.init(params)

    @jax.jit
    def step(params, state):
        grads = jax.grad(lambda p: jax.numpy.sum(jax.numpy.sin(p["w"])) + p["b"] ** 2)(params)
        updates, state = transformation.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    for _ in range(5):
        params, state = step(params, state)
    for key, value in wanted.items():
        np.testing.assert_allclose(params[key], value, rtol=2e-5, atol=1e-6)


def test_what_is_no_optimizer_is_refused():
    with pytest.raises(TypeError, match="must be a tf.train.Optimizer"):
        tf.interop.as_optax(3)
    transformation = tf.interop.as_optax(tf.train.GradientDescentOptimizer(0.5))
    with pytest.raises(ValueError, match="needs params"):
        transformation.update([W], transformation.init([W]))
    assert transformation.update([np.float32(2)], transformation.init([np.float32(1)]), [np.float32(1)])[0] == [-1]
