"""Programs with assert, print and built-in functions."""

from autograph.programs.registry import program


@program
def assert_feature(tf):
    def f(x):
        assert x > 0, "positive wanted"
        return x

    g = tf.autograph.to_graph(f, experimental_optional_features=tf.autograph.experimental.Feature.ASSERT_STATEMENTS)
    return g(tf.constant(1))


@program
def assert_fails(tf):
    def f(x):
        assert x > 0, "positive wanted"
        return tf.identity(x)

    g = tf.autograph.to_graph(f, experimental_optional_features=tf.autograph.experimental.Feature.ALL)
    return g(tf.constant(-1))


@program
def assert_in_function(tf):
    @tf.function
    def f(x):
        assert x > 0, "positive wanted"
        return x

    return f(tf.constant(-1))


@program
def assert_python(tf):
    @tf.function
    def f(x, n):
        assert n > 0, "positive wanted"
        return x

    return f(tf.constant(-1), 0)


@program
def print_in_function(tf):
    @tf.function
    def f(x):
        print("x is", x)
        return x

    return f(tf.constant(1))


@program
def len_of_tensor(tf):
    @tf.function
    def f(x):
        return len(x), len([1, 2])

    return f(tf.zeros([3, 2]))


@program
def len_of_unknown(tf):
    @tf.function(input_signature=[tf.TensorSpec(None, tf.int32)])
    def f(x):
        return len(x)

    return f(tf.constant([1, 2, 3]))


@program
def len_of_scalar(tf):
    @tf.function
    def f(x):
        return len(x)

    return f(tf.constant(3))


@program
def len_of_unknown_scalar(tf):
    @tf.function(input_signature=[tf.TensorSpec(None, tf.int32)])
    def f(x):
        return len(x)

    return f(tf.constant(3))


@program
def int_and_float(tf):
    @tf.function
    def f(x):
        return int(x), float(x), abs(x), int("7"), float("1.5"), abs(-3), int("11", 2)

    return f(tf.constant(-2.7))


@program
def int_of_string(tf):
    @tf.function
    def f(x):
        return int(x), float(x)

    return f(tf.constant("12"))


@program
def int_with_base(tf):
    @tf.function
    def f(x):
        return int(x, 8)

    return f(tf.constant("12"))


@program
def range_of_tensor(tf):
    @tf.function
    def f(n):
        return range(n), range(1, n), range(1, n, 2)

    return f(tf.constant(6))


@program
def other_builtins(tf):
    @tf.function
    def f(x):
        parts = list(map(lambda v: v + 1, [x, x * 2]))
        kept = list(filter(lambda v: v > 1, [1, 2, 3]))
        return parts, kept, sum(parts), max(1, 2), sorted([3, 1]), isinstance(x, tf.Tensor), any([False, True])

    return f(tf.constant(6))


@program
def max_of_tensors(tf):
    @tf.function
    def f(x):
        return max(x, x)

    return f(tf.constant(6))
