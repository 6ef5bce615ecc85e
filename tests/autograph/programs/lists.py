"""Programs with lists."""

from autograph.programs.registry import program


@program
def list_append_python_loop(tf):
    @tf.function
    def f(x):
        found = []
        for i in range(3):
            found.append(x * i)
        return tf.stack(found)

    return f(tf.constant(2))


@program
def list_append_tensor_loop(tf):
    @tf.function
    def f(n):
        found = []
        for i in tf.range(n):
            found.append(i)
        return found

    return f(tf.constant(2))


@program
def lists_feature(tf):
    ag = tf.contrib.autograph

    def f(n):
        found = []
        ag.set_element_type(found, tf.int32)
        for i in tf.range(n):
            found.append(i * i)
        return ag.stack(found)

    g = tf.autograph.to_graph(f, experimental_optional_features=tf.autograph.experimental.Feature.LISTS)
    return g(tf.constant(4))


@program
def lists_feature_set_item(tf):
    def f(x):
        x[1] = 10
        return x

    g = tf.autograph.to_graph(f, experimental_optional_features=tf.autograph.experimental.Feature.LISTS)
    return g(tf.constant([1, 2, 3])), g([1, 2, 3])
