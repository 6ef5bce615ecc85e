"""tfcompat.interop.OptaxOptimizer against optax itself."""

import jax
import numpy as np
import optax
import pytest

import tfcompat as tf

X = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -0.7]])
START = {"w": np.array([[0.5, -0.3], [0.2, 0.8]]), "b": np.array([0.1, -0.1])}
TRANSFORMATIONS = {
    "sgd": optax.sgd(0.1),
    "momentum": optax.sgd(0.1, momentum=0.9),
    "lamb": optax.lamb(0.05),
    "adamw": optax.adamw(0.1, weight_decay=0.01),
    "schedule": optax.adam(optax.exponential_decay(0.1, 2, 0.5)),
    "chain": optax.chain(optax.clip_by_global_norm(0.5), optax.rmsprop(0.1)),
}


def expected(transformation, steps):
    """Losses and parameters of a plain optax loop."""
    with jax.enable_x64(True):
        params, losses = jax.tree.map(jax.numpy.asarray, START), []
        state = transformation.init(params)

        def loss_of(p):
            return jax.numpy.mean(jax.numpy.square(X @ p["w"] + p["b"] - 1.0))

        for _ in range(steps):
            loss, grads = jax.value_and_grad(loss_of)(params)
            updates, state = transformation.update(grads, state, params)
            params = optax.apply_updates(params, updates)
            losses.append(float(loss))
        return losses, {k: np.asarray(v) for k, v in params.items()}


def model(resource):
    with tf.variable_scope("", use_resource=resource):
        w = tf.get_variable("w", initializer=START["w"])
        b = tf.get_variable("b", initializer=START["b"])
    return tf.reduce_mean(tf.square(tf.matmul(tf.constant(X), w) + b - 1.0)), w, b


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("name", sorted(TRANSFORMATIONS))
def test_ten_steps_are_those_of_optax(name, resource):
    losses, params = expected(TRANSFORMATIONS[name], 10)
    with tf.Graph().as_default():
        loss, w, b = model(resource)
        train = tf.interop.OptaxOptimizer(TRANSFORMATIONS[name]).minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found = [session.run([train, loss])[1] for _ in range(10)]
            np.testing.assert_allclose(found, losses, rtol=1e-12)
            np.testing.assert_allclose(session.run(w), params["w"], rtol=1e-12)
            np.testing.assert_allclose(session.run(b), params["b"], rtol=1e-12)
            assert len(session.plan(train).clusters) == 1


def test_state_is_variables_named_by_path_and_goes_through_a_checkpoint(tmp_path):
    with tf.Graph().as_default():
        loss, w, _ = model(False)
        step = tf.train.get_or_create_global_step()
        optimizer = tf.interop.OptaxOptimizer(optax.adam(0.1), name="Adam")
        train = optimizer.minimize(loss, global_step=step)
        assert [v.op.name for v in optimizer.variables()] == [
            "Adam/0/count", "Adam/0/mu/b", "Adam/0/mu/w", "Adam/0/nu/b", "Adam/0/nu/w",
        ]  # fmt: skip
        saver = tf.train.Saver()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train)
            path = saver.save(session, str(tmp_path / "model"))
            session.run(train)
            after_two = session.run(w)
        with tf.Session() as session:
            saver.restore(session, path)
            session.run(train)
            np.testing.assert_array_equal(session.run(w), after_two)
            assert session.run(step) == 2


def test_sparse_gradients_are_added_up():
    with tf.Graph().as_default():
        table = tf.Variable(np.ones([4, 2]))
        train = tf.interop.OptaxOptimizer(optax.sgd(0.25)).minimize(tf.reduce_sum(tf.gather(table, [1, 1, 3])))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train)
            np.testing.assert_array_equal(session.run(table)[:, 0], [1.0, 0.5, 1.0, 0.75])


def test_constraints_hold_after_the_step():
    with tf.Graph().as_default():
        v = tf.Variable([1.0, 2.0], constraint=lambda value: tf.clip_by_value(value, 0.75, 1.5))
        train = tf.interop.OptaxOptimizer(optax.sgd(0.5)).minimize(tf.reduce_sum(v))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train)
            np.testing.assert_array_equal(session.run(v), [0.75, 1.5])


def test_what_is_no_transformation_is_refused():
    with pytest.raises(TypeError, match="must be an optax.GradientTransformation"):
        tf.interop.OptaxOptimizer(0.1)


def test_other_variables_later_are_refused():
    with tf.Graph().as_default():
        a, b = tf.Variable(1.0, name="a"), tf.Variable(1.0, name="b")
        optimizer = tf.interop.OptaxOptimizer(optax.sgd(0.1))
        optimizer.minimize(a * b, var_list=[a])
        with pytest.raises(ValueError, match=r"updates the variables \['a'\]; it cannot update \['b'\]"):
            optimizer.minimize(a * b, var_list=[b])
