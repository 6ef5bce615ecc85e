"""Programs with for over tensors."""

from autograph.programs.registry import Holder, program


@program
def for_tensor(tf):
    @tf.function
    def f(x):
        s = 0
        for v in x:
            s = s * 10 + v
        return s

    return f(tf.constant([1, 2, 3]))


@program
def for_variable(tf):
    v = tf.Variable([1.0, 2.0], use_resource=True)

    @tf.function
    def f():
        s = 0.0
        for x in v:
            s = s * 10.0 + x
        return s

    return f()


@program
def for_branches_that_change_nothing(tf):
    @tf.function
    def f(a, b):
        for i in tf.range(a):
            b += i
            if b > 3:
                continue
            if b > 2:
                continue
        return b

    return f(tf.constant(4), tf.constant(1))


@program
def for_tensor_rows(tf):
    @tf.function
    def f(x):
        s = tf.zeros([2])
        for row in x:
            s = s * 10.0 + row
        return s

    return f(tf.constant([[1.0, 2.0], [3.0, 4.0]]))


@program
def for_empty_tensor(tf):
    @tf.function
    def f(x):
        s = 5
        for v in x:
            s = s * 10 + v
        return s

    return f(tf.zeros([0], tf.int32))


@program
def for_scalar(tf):
    @tf.function
    def f(x):
        s = 0
        for v in x:
            s += v
        return s

    return f(tf.constant(1))


@program
def for_string_tensor(tf):
    @tf.function
    def f(x):
        s = tf.constant("")
        for v in x:
            s = s + v
        return s

    return f(tf.constant(["a", "bc"]))


@program
def for_tf_range(tf):
    @tf.function
    def f(n):
        s = 0
        for i in tf.range(n):
            s = s * 10 + i
        return s

    return f(tf.constant(5))


@program
def for_tf_range_backwards(tf):
    @tf.function
    def f(n):
        s = 0
        for i in tf.range(n, 0, -2):
            s = s * 10 + i
        return s

    return f(tf.constant(7))


@program
def for_range_of_tensor(tf):
    @tf.function
    def f(n):
        s = 0
        for i in range(n):
            s = s * 10 + i
        for i in range(1, n):
            s = s * 10 + i
        for i in range(n, 0, -1):
            s = s * 10 + i
        return s

    return f(tf.constant(3))


@program
def for_python_range(tf):
    @tf.function
    def f(x):
        for i in range(3):
            x = x * 10 + i
        return x

    return f(tf.constant(1))


@program
def for_target_after_loop(tf):
    @tf.function
    def f(n):
        i = -1
        for i in tf.range(n):
            pass
        return i

    return f(tf.constant(3))


@program
def for_target_undefined_after_loop(tf):
    @tf.function
    def f(n):
        for i in tf.range(n):
            pass
        return i

    return f(tf.constant(3))


@program
def for_target_after_python_loop(tf):
    @tf.function
    def f(x):
        for i in range(3):
            x = x + i
        return x + i

    return f(tf.constant(3))


@program
def for_break(tf):
    @tf.function
    def f(x):
        s = 0
        for v in x:
            if v > 3:
                break
            s += v
        return s

    return f(tf.constant([1, 2, 3, 4, 1]))


@program
def for_continue(tf):
    @tf.function
    def f(x):
        s = 0
        for v in x:
            if v > 3:
                continue
            s += v
        return s

    return f(tf.constant([1, 2, 3, 4, 1]))


@program
def for_range_break(tf):
    @tf.function
    def f(n):
        s = 0
        for i in tf.range(n):
            if i > 3:
                break
            s += i
        return s

    return f(tf.constant(10))


@program
def for_python_range_with_tensor_break(tf):
    @tf.function
    def f(x):
        s = 0
        for i in range(5):
            if s > x:
                break
            s += i
        return s

    return f(tf.constant(3))


@program
def for_python_range_with_python_break(tf):
    @tf.function
    def f(x, n):
        for i in range(5):
            if i > n:
                break
            x += i
        return x

    return f(tf.constant(3), 2)


@program
def for_python_iterator_with_break(tf):
    @tf.function
    def f(x):
        numbers = iter([1, 2, 3, 4])
        for i in numbers:
            if i == 2:
                break
            x += i
        return x * 100 + next(numbers)

    return f(tf.constant(3))


@program
def for_else(tf):
    @tf.function
    def f(x):
        for i in tf.range(x):
            x += i
        else:
            x = x * 100
        return x

    return f(tf.constant(3))


@program
def for_unpacks(tf):
    @tf.function
    def f(x):
        s = 0
        for a, b in [(x, 1), (x, 2)]:
            s += a * b
        return s

    return f(tf.constant(3))


@program
def for_unpacks_tensor(tf):
    @tf.function
    def f(x):
        s = 0
        for a, b in x:
            s += a * b
        return s

    return f(tf.constant([[1, 2], [3, 4]]))


@program
def for_dataset(tf):
    @tf.function
    def f():
        s = tf.constant(0, tf.int64)
        for v in tf.data.Dataset.range(5):
            s = s * 10 + v
        return s

    return f()


@program
def for_dataset_python_start(tf):
    @tf.function
    def f():
        s = 0
        for v in tf.data.Dataset.range(5):
            s += 1
        return s

    return f()


@program
def for_dataset_tuples(tf):
    @tf.function
    def f():
        s = tf.constant(0, tf.int64)
        d = tf.data.Dataset.range(5)
        for a, b in tf.data.Dataset.zip((d, d)):
            s += a * b
        return s

    return f()


@program
def for_dataset_break(tf):
    @tf.function
    def f():
        s = tf.constant(0, tf.int64)
        for v in tf.data.Dataset.range(10):
            if v > 4:
                break
            s += v
        return s

    return f()


@program
def for_dataset_continue(tf):
    @tf.function
    def f():
        s = tf.constant(0, tf.int64)
        for v in tf.data.Dataset.range(10):
            if v < 4:
                continue
            s += v
        return s

    return f()


@program
def for_dataset_side_effects(tf):
    v = tf.Variable(0, dtype=tf.int64, use_resource=True)

    @tf.function
    def f():
        for x in tf.data.Dataset.range(5):
            v.assign_add(x)
        return v.read_value()

    return f()


@program
def for_dataset_attribute(tf):
    @tf.function
    def f():
        h = Holder(v=tf.constant(1, tf.int64))
        for x in tf.data.Dataset.range(5):
            h.v += x
        return h.v

    return f()


@program
def for_dataset_in_graph(tf):
    def f():
        s = tf.constant(0, tf.int64)
        for v in tf.data.Dataset.range(5):
            s = s * 10 + v
        return s

    return tf.autograph.to_graph(f)()


@program
def for_iterator(tf):
    @tf.function
    def f():
        s = tf.constant(0, tf.int64)
        it = iter(tf.data.Dataset.range(5))
        for v in it:
            s = s * 10 + v
        return s

    return f()


@program
def for_iterator_break(tf):
    @tf.function
    def f():
        s = tf.constant(0, tf.int64)
        it = iter(tf.data.Dataset.range(10))
        for v in it:
            if v > 3:
                break
            s += v
        return s, next(it)

    return f()


@program
def for_ragged(tf):
    @tf.function
    def f():
        s = 0
        for row in tf.ragged.constant([[1, 2], [3], []]):
            s = s * 10 + tf.reduce_sum(row)
        return s

    return f()


@program
def for_enumerate_tensor(tf):
    @tf.function
    def f(x):
        s = 0
        for i, v in enumerate(x):
            s += i * v
        return s

    return f(tf.constant([1, 2, 3]))


@program
def for_enumerate_dataset(tf):
    @tf.function
    def f():
        s = tf.constant(0, tf.int64)
        for i, v in enumerate(tf.data.Dataset.range(3, 6)):
            s += i * v
        return s

    return f()


@program
def for_zip_datasets(tf):
    @tf.function
    def f():
        s = tf.constant(0, tf.int64)
        for a, b in zip(tf.data.Dataset.range(3), tf.data.Dataset.range(3, 6)):
            s += a * b
        return s

    return f()


@program
def for_nested(tf):
    @tf.function
    def f(n):
        s = 0
        for i in tf.range(n):
            for j in tf.range(i):
                s += i * j
        return s

    return f(tf.constant(5))


@program
def for_unknown_length(tf):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def f(x):
        s = 0
        for v in x:
            s += v
        return s

    return f(tf.constant([1, 2, 3]))


@program
def for_gradient(tf):
    @tf.function
    def f(x, w):
        s = 0.0
        for v in x:
            if v > 1.0:
                s += v * w
        return s

    w = tf.constant(3.0)
    x = tf.constant([1.0, 2.0, 3.0])
    return tf.gradients(f(x, w), [x, w])


@program
def for_state_in_comprehension(tf):
    @tf.function
    def f(x):
        values = [x + i for i in range(3)]
        for v in tf.range(3):
            values = [u + v for u in values]
        return values

    return f(tf.constant(1))
