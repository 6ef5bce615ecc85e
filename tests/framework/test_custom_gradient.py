"""tf.custom_gradient where the gradient has one of its own, and where variables stand only in shapes and predicates."""

import tfcompat as tf


def test_a_gradient_with_a_gradient_of_its_own():
    @tf.custom_gradient
    def double(x):
        @tf.custom_gradient
        def gradient(dy):
            return 3 * dy, lambda ddy: 5 * ddy

        return 2 * x, gradient

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.ones([2])
        first = tf.gradients(double(x), x, grad_ys=[7 * x])
        found = session.run([*first, *tf.gradients(first, x)])
        assert [value.tolist() for value in found] == [[21, 21], [35, 35]]


def test_variables_that_no_gradient_reaches_are_not_used():
    @tf.custom_gradient
    def clipped(x):
        return tf.cond(limit > 0, lambda: 2 * x, lambda: x), lambda dy: 3 * dy

    with tf.Graph().as_default(), tf.Session() as session:
        limit = tf.get_variable("limit", initializer=1.0)
        x = tf.ones([2])
        y = clipped(x)
        session.run(tf.global_variables_initializer())
        assert session.run([y, *tf.gradients(y, x)])[1].tolist() == [3, 3]
