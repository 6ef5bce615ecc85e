"""Programs with functions given to tf.data, tf.while_loop and Keras."""

from autograph.programs.registry import program


@program
def dataset_map(tf):
    def magnitude(x):
        if x > 0:
            return x
        return -x

    d = tf.data.Dataset.range(-2, 3).map(magnitude).batch(5)
    return tf.data.experimental.get_single_element(d)


@program
def dataset_map_lambda_and_filter(tf):
    d = tf.data.Dataset.range(-4, 5)
    d = d.filter(lambda x: x > 0 or x < -2)
    d = d.map(lambda x: x * 2 if x > 0 else x)
    return tf.data.experimental.get_single_element(d.batch(9))


@program
def dataset_flat_map_and_reduce(tf):
    def repeated(x):
        n = x
        if x > 2:
            n = tf.constant(1, tf.int64)
        return tf.data.Dataset.from_tensors(x).repeat(n)

    def total(s, x):
        if x > 1:
            s = s + x
        return s

    return tf.data.Dataset.range(5).flat_map(repeated).reduce(tf.constant(0, tf.int64), total)


@program
def dataset_map_in_function_without_autograph(tf):
    def magnitude(x):
        if x > 0:
            return x
        return -x

    @tf.function(autograph=False)
    def f():
        return tf.data.Dataset.range(-2, 3).map(magnitude).reduce(tf.constant(0, tf.int64), lambda s, x: s + x)

    return f()


@program
def while_loop_with_python_body(tf):
    def body(i):
        if i > 3:
            i += 2
        else:
            i += 1
        return i

    @tf.function
    def f(n):
        return tf.while_loop(lambda i: i < n, body, [0])

    return f(tf.constant(9))


@program
def cond_with_python_branch(tf):
    @tf.function
    def f(x):
        def true_branch():
            if x > 5:
                return x * 10
            return x

        return tf.cond(x > 0, true_branch, lambda: -x)

    return f(tf.constant(9))


@program
def map_fn_with_python_body(tf):
    @tf.function
    def f(x):
        def magnitude(v):
            if v > 0:
                return v
            return -v

        return tf.map_fn(magnitude, x)

    return f(tf.constant([-1, 2]))


@program
def keras_layer(tf):
    class Magnitude(tf.keras.layers.Layer):
        def call(self, x):
            if tf.reduce_sum(x) > 0:
                return x
            return -x

    layer = Magnitude()
    return layer(tf.constant([[-3.0, 1.0]])), layer(tf.constant([[3.0]]))


@program
def keras_model(tf):
    class Model(tf.keras.Model):
        def call(self, x, training=None):
            y = x
            for i in tf.range(3):
                y = y * 2.0
            if training:
                y = -y
            return y

    model = Model()
    return model(tf.constant([[1.0]])), model(tf.constant([[1.0]]), training=True)


@program
def keras_lambda(tf):
    def magnitude(x):
        if tf.reduce_sum(x) > 0:
            return x
        return -x

    return tf.keras.layers.Lambda(magnitude)(tf.constant([[-3.0]]))


@program
def custom_gradient_inside(tf):
    @tf.custom_gradient
    def double(x):
        if x > 0:
            y = x * 2.0
        else:
            y = x

        def grad(dy):
            return dy * 5.0

        return y, grad

    @tf.function
    def f(x):
        return double(x)

    x = tf.constant(3.0)
    y = f(x)
    return y, tf.gradients(y, x)
