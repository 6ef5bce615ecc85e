"""Programs with logic and comparisons."""

from autograph.programs.registry import program


@program
def logical_and_or_not(tf):
    @tf.function
    def f(a, b):
        return a and b, a or b, not a

    return [f(tf.constant(p), tf.constant(q)) for p in (True, False) for q in (True, False)]


@program
def logical_mixed(tf):
    @tf.function
    def f(a, flag):
        return a and flag, flag and a, a or flag, flag or a

    return f(tf.constant(True), False)


@program
def logical_is_lazy(tf):
    @tf.function
    def f(x):
        if x > 0 and 10 // x > 2:
            return 1
        return 0

    return [f(tf.constant(v)) for v in (0, 2, 7)]


@program
def logical_python(tf):
    @tf.function
    def f(x):
        return (x + 1) if (None or 3 and "s") == "s" else x

    return f(tf.constant(1))


@program
def logical_of_numbers(tf):
    @tf.function
    def f(x):
        return x and x

    return f(tf.constant(1))


@program
def comparison_chain(tf):
    @tf.function
    def f(x):
        if 0 < x < 10:
            return 1
        return 0

    return [f(tf.constant(v)) for v in (-1, 5, 11)]


@program
def equality_of_tensors(tf):
    @tf.function
    def f(x):
        if x == 1:
            return 1
        return 0

    return f(tf.constant(1)), f(tf.constant(2))


@program
def equality_feature(tf):
    def f(x):
        if x == 1:
            return 1
        if x != 3:
            return 2
        return 0

    g = tf.autograph.to_graph(f, experimental_optional_features=tf.autograph.experimental.Feature.EQUALITY_OPERATORS)
    return [g(tf.constant(v)) for v in (1, 2, 3)]


@program
def is_none(tf):
    @tf.function
    def f(x, y=None):
        if y is None:
            y = x
        return x + y

    return f(tf.constant(1)), f(tf.constant(1), tf.constant(5))
