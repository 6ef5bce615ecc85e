"""Programs whose repeats are loops: they compute what the unrolled ones do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import tfcompat as tf
from tfcompat._src.runtime.engines import choice
from tfcompat._src.runtime.latency import repeats, reroll

STEPS = 12


def normal(*shape):
    return np.random.RandomState(sum(shape)).standard_normal(shape).astype(np.float32)


def recurrent(x, h, w, b):
    """Every step slices its input, and the last states and all outputs are results."""
    outputs, c = [], h * 0.5
    for t in range(STEPS):
        i, j = jnp.split(jnp.concatenate([x[:, t], h], 1) @ w + b, 2, 1)
        c = c * jax.nn.sigmoid(i) + jnp.tanh(j)
        h = jnp.tanh(c) * (1.0 if t < 5 else 2.0)
        outputs.append(h)
    return jnp.concatenate(outputs, 1), c


def recurrent_gradients(x, h, w, b):
    return jax.grad(lambda *a: jnp.sum(recurrent(*a)[0] ** 2), (0, 1, 2, 3))(x, h, w, b)


def two_before(a, b, c):
    """Each value needs the two before it and the one five before it."""
    values = [a, b, c, a + b, b + c]
    for _ in range(40):
        values.append(jnp.tanh(values[-1] + 0.5 * values[-2]) - jnp.cos(values[-5]))
    return values[-1], values[-3]


def independent(x):
    """Blocks of an array that do not depend on each other, put together in the reversed order, and added."""
    blocks = [lax.slice(x, (0, 2 * t), (3, 2 * t + 2)) for t in range(30)]
    found = [jnp.sin(b) * jnp.exp(b) / (1 + b * b) for b in blocks]
    total = found[0]
    for f in found[1:]:
        total = total + f
    return jnp.concatenate(found[::-1], 0), total


def added_blocks(x):
    """Each step adds to another block of a wide array."""
    wide = jnp.zeros((3, 60), x.dtype)
    for t in range(30):
        wide = jnp.cos(wide) + lax.pad(jnp.sin(x) * x, x.dtype.type(0), ((0, 0, 0), (2 * t, 58 - 2 * t, 0)))
    return wide


def kernel_gradient(x, y):
    """The sum of the products of the steps, and one more term."""
    a, products = x, []
    for _ in range(30):
        a, y = jnp.tanh(a * 0.9), jnp.sin(y + 0.1)
        products.append(a.T @ y)
    total = jnp.ones((4, 6), x.dtype)
    for p in products[::-1]:
        total = total + p
    return total


PROGRAMS = {
    recurrent: (normal(4, STEPS, 3), normal(4, 5), normal(8, 10), normal(10)),
    recurrent_gradients: (normal(4, STEPS, 3), normal(4, 5), normal(8, 10), normal(10)),
    two_before: (normal(3), normal(3) + 1, normal(3) - 1),
    independent: (normal(3, 60),),
    added_blocks: (normal(3, 2),),
    kernel_gradient: (normal(5, 4), normal(5, 6)),
}


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_computes_the_same(function):
    arguments = [a.astype(np.float64) for a in PROGRAMS[function]]  # the gradients of so many steps multiply rounding errors
    with jax.enable_x64(True):
        traced = jax.jit(function).trace(*arguments)
        shorter = reroll.rerolled(traced)
        equations = jax.make_jaxpr(shorter)(*arguments).jaxpr.eqns
        assert any(e.primitive.name == "scan" for e in equations)
        assert len(equations) < 0.5 * len(traced.jaxpr.jaxpr.eqns)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11), function(*arguments), jax.jit(shorter)(*arguments))


def test_products_that_are_only_added_up_are_one_product():
    arguments = PROGRAMS[kernel_gradient]
    shorter = reroll.rerolled(jax.jit(kernel_gradient).trace(*arguments))
    equations = jax.make_jaxpr(shorter)(*arguments).jaxpr.eqns
    assert sum(e.primitive.name == "dot_general" for e in equations) == 1


def test_an_operand_from_another_place_ends_a_repeat():
    def program(x, y):
        for t in range(60):
            x = jnp.sin(x * y if t != 31 else x * x) + jnp.cos(x)
        return x

    found = repeats.find(jax.make_jaxpr(program)(normal(3), normal(3)).jaxpr)
    assert found[0].count == 31
    assert found[1].start >= found[0].end + 3 and found[1].count >= 27


def test_large_weights_of_their_own_are_not_copied():
    def layers(x, *weights):
        for w in weights:
            x = jnp.tanh(x @ w) * 0.5 + jnp.sin(x) * jnp.cos(x)
        return x

    def found(width):
        return repeats.find(jax.make_jaxpr(layers)(normal(2, width), *[normal(width, width)] * 30).jaxpr)

    assert found(8) and not found(64)


def test_nothing_repeats():
    assert reroll.rerolled(jax.jit(lambda x: jnp.sin(x) + 1).trace(normal(3))) is None


# ---- in a session ----


def language_model(steps=20):
    tf.set_random_seed(3)
    ids = tf.placeholder(tf.int32, [4, steps])
    table = tf.get_variable("table", [11, 5])
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(6) for _ in range(2)])
    inputs = [tf.nn.embedding_lookup(table, ids[:, t]) for t in range(steps)]
    outputs, state = tf.nn.static_rnn(cell, inputs, dtype=tf.float32)
    logits = tf.layers.dense(tf.stack(outputs, 1), 11)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids[:, 1:], logits=logits[:, :-1]))
    return ids, loss, state, tf.train.AdamOptimizer(0.05).minimize(loss)


def test_unrolled_lstm_trains_as_in_tensorflow(monkeypatch):
    """The losses and the state are TensorFlow 1.15.5's."""
    found = []
    find = repeats.find
    monkeypatch.setattr(choice, "ENGINE", "compile")
    monkeypatch.setattr(repeats, "find", lambda jaxpr: found.append(find(jaxpr)) or found[-1])
    with tf.Graph().as_default(), tf.Session() as sess:
        ids, loss, state, train = language_model()
        data = np.random.RandomState(0).randint(0, 11, (4, 20))
        sess.run(tf.global_variables_initializer())
        losses = [sess.run([loss, train], {ids: data})[0] for _ in range(5)]
        last = sess.run(state[1].h[0], {ids: data})
    np.testing.assert_allclose(losses, [2.406522274, 2.375135899, 2.352302074, 2.328253984, 2.299506426], rtol=2e-6)
    np.testing.assert_allclose(last, [-0.6156852, 0.4624683, -0.23598017, -0.10886267, 0.6768145, 0.32173473], rtol=5e-6)
    assert [len(r) for r in found] == [3, 2]


def test_a_check_that_fails_in_a_repeat_changes_nothing():
    with tf.Graph().as_default(), tf.Session() as sess:
        ids, _, _, train = language_model()
        sess.run(tf.global_variables_initializer())
        before = sess.run(tf.trainable_variables())
        data = np.zeros((4, 20), np.int32)
        data[2, 7] = 11
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[2\] = 11 is not in \[0, 11\)"):
            sess.run(train, {ids: data})
        for a, b in zip(before, sess.run(tf.trainable_variables())):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("rows", "inner", "loops"), [(40_000, 1, 0), (40_000, 2, 1), (100, 1, 1)])
def test_what_xla_fuses_stays_apart(rows, inner, loops):
    """Large arrays pass through memory once for all 40 iterations where XLA fuses these, as products over one element and sums."""

    def shifted_sums(x, w):
        total = jnp.zeros((rows, 4), x.dtype)
        for t in range(40):
            total = total + x[t : t + rows] @ lax.squeeze(w[t : t + 1], (0,))
        return total

    x, w = jax.ShapeDtypeStruct((rows + 40, inner), np.float32), jax.ShapeDtypeStruct((40, inner, 4), np.float32)
    assert len(repeats.find(jax.make_jaxpr(shifted_sums)(x, w).jaxpr)) == loops
