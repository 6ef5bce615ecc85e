"""Functions of JAX from files, their parameters in files, and optimizers of TensorFlow 1 in optax loops."""

import jax
import numpy as np
import optax
import pytest

import tfcompat as tf

X = np.random.RandomState(0).rand(3, 2).astype(np.float32)
W = np.array([[1.0, -2.0], [3.0, 0.5]], np.float32)


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


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_parameters_in_files(tmp_path, suffix):
    if suffix == "safetensors":
        pytest.importorskip("safetensors")
    params = {"trainable": {"a/w": W}, "other": {"step": np.array(3, np.int64)}, "constants": {}, "random": {"r": np.arange(6, dtype=np.uint32)}}
    path = tmp_path / f"params.{suffix}"
    tf.interop.save_params(path, params)
    found = tf.interop.load_params(path)
    assert jax.tree.structure(found) == jax.tree.structure(params)
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a, b, strict=True), found, params)


def test_what_parameter_files_refuse(tmp_path):
    with pytest.raises(ValueError, match=r"must end with .npz or .safetensors"):
        tf.interop.save_params(tmp_path / "params.bin", {})
    with pytest.raises(ValueError, match="trainable/w is bfloat16"):
        tf.interop.save_params(tmp_path / "params.npz", {"trainable": {"w": jax.numpy.zeros(2, jax.numpy.bfloat16)}})
    assert not list(tmp_path.iterdir())
    np.savez(tmp_path / "other.npz", w=W)
    with pytest.raises(ValueError, match="'w' is in none of trainable"):
        tf.interop.load_params(tmp_path / "other.npz")


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
