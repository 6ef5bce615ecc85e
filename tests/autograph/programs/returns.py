"""Programs with return over tensors."""

from autograph.programs.registry import program


@program
def return_in_both_branches(tf):
    @tf.function
    def f(x):
        if x > 0:
            return x * 2
        else:
            return -x

    return f(tf.constant(3)), f(tf.constant(-3))


@program
def return_early(tf):
    @tf.function
    def f(x):
        if x > 10:
            return x
        x = x + 1
        if x > 5:
            return x * 10
        return -x

    return [f(tf.constant(v)) for v in (11, 6, 1)]


@program
def return_missing(tf):
    @tf.function
    def f(x):
        if x > 0:
            return x

    return f(tf.constant(1))


@program
def return_none_in_one_branch(tf):
    @tf.function
    def f(x):
        if x > 0:
            return x
        return None

    return f(tf.constant(1))


@program
def return_nested_partial(tf):
    @tf.function
    def f(x, y):
        if x > 0:
            if y > 0:
                return 1
            x = x + 1
        return x

    return [f(tf.constant(a), tf.constant(b)) for a in (5, -5) for b in (1, -1)]


@program
def return_tuple(tf):
    @tf.function
    def f(x):
        if x > 0:
            return x, 1
        return -x, 2

    return f(tf.constant(3)), f(tf.constant(-3))


@program
def return_nothing(tf):
    v = tf.Variable(0, use_resource=True)

    @tf.function
    def f(x):
        if x > 0:
            v.assign(5)
            return
        v.assign(6)

    f(tf.constant(3))
    return v.initial_value


@program
def return_in_python_loop(tf):
    @tf.function
    def f(x, n):
        for i in range(10):
            if i == n:
                return x + i
        return x

    return f(tf.constant(3), 4), f(tf.constant(3), 40)


@program
def return_in_tensor_while(tf):
    @tf.function
    def f(x):
        while x > 0:
            x = x - 3
            if x == 1:
                return x
        return -x

    return f(tf.constant(10))


@program
def return_in_tensor_for(tf):
    @tf.function
    def f(x):
        for v in x:
            if v > 2:
                return v
        return tf.constant(0)

    return f(tf.constant([1, 2, 3, 4]))


@program
def return_in_dataset_loop(tf):
    @tf.function
    def f():
        for v in tf.data.Dataset.range(10):
            if v > 2:
                return v
        return tf.constant(0, tf.int64)

    return f()


@program
def return_in_with(tf):
    @tf.function
    def f(x):
        with tf.name_scope("inner"):
            if x > 0:
                return x
            x = x - 1
        return x

    return f(tf.constant(2)), f(tf.constant(-2))


@program
def return_in_try(tf):
    @tf.function
    def f(x, y):
        try:
            if y:
                return x
            raise KeyError("k")
        except KeyError:
            return x + 1
        finally:
            x = x + 100

    return f(tf.constant(2), True), f(tf.constant(2), False)
