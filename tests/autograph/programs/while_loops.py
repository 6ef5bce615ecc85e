"""Programs with while over tensors."""

from autograph.programs.registry import Holder, program


@program
def while_basic(tf):
    @tf.function
    def f(n):
        i = 0
        s = 0
        while i < n:
            s = s + i
            i += 1
        return s, i

    return f(tf.constant(5)), f(tf.constant(0))


@program
def while_temporary(tf):
    @tf.function
    def f(n):
        while n > 1:
            half = n // 2
            n = half
        return n

    return f(tf.constant(37))


@program
def while_undefined(tf):
    @tf.function
    def f(n):
        while n > 1:
            last = n
            n = n // 2
        return last

    return f(tf.constant(37))


@program
def while_dtype_changes(tf):
    @tf.function
    def f(n):
        x = 0
        while n > 1:
            x = 0.5
            n = n - 1
        return x

    return f(tf.constant(37))


@program
def while_shape_changes(tf):
    @tf.function
    def f(n):
        x = tf.zeros([1])
        while n > 1:
            x = tf.concat([x, x], 0)
            n = n - 1
        return x

    return f(tf.constant(3))


@program
def while_structure_changes(tf):
    @tf.function
    def f(n):
        x = (n,)
        while n > 1:
            x = (n, n)
            n = n - 1
        return x

    return f(tf.constant(3))


@program
def while_none(tf):
    @tf.function
    def f(n):
        x = None
        while n > 1:
            x = n
            n = n - 1
        return x

    return f(tf.constant(3))


@program
def while_break(tf):
    @tf.function
    def f(n):
        i = 0
        while i < n:
            i += 1
            if i * i > 20:
                break
        return i

    return f(tf.constant(100)), f(tf.constant(3))


@program
def while_continue(tf):
    @tf.function
    def f(n):
        i = 0
        s = 0
        while i < n:
            i += 1
            if i % 2 == tf.constant(0):
                continue
            s += i
        return s

    return f(tf.constant(10))


@program
def while_continue_and_break(tf):
    @tf.function
    def f(n):
        i = 0
        s = 0
        while i < n:
            i += 1
            if tf.equal(i % 2, 0):
                continue
            if i > 6:
                break
            s += i
        return s, i

    return f(tf.constant(10)), f(tf.constant(4))


@program
def while_true_with_break(tf):
    @tf.function
    def f(n):
        i = 0
        while True:
            i += 1
            if tf.greater(i, n):
                break
        return i

    return f(tf.constant(4))


@program
def while_true_tensor_with_break(tf):
    @tf.function
    def f(n):
        i = 0
        while tf.constant(True):
            i += 1
            if tf.greater(i, n):
                break
        return i

    return f(tf.constant(4))


@program
def while_python(tf):
    @tf.function
    def f(x, n):
        while n > 0:
            x = x * 2
            n -= 1
        return x

    return f(tf.constant(1), 5)


@program
def while_nested(tf):
    @tf.function
    def f(n):
        i = 0
        total = 0
        while i < n:
            j = 0
            while j < i:
                total += j
                j += 1
            i += 1
        return total

    return f(tf.constant(5))


@program
def while_attribute(tf):
    @tf.function
    def f(n):
        h = Holder(v=n)
        s = 0
        while h.v > 0:
            s += h.v
            h.v -= 1
        return s, h.v

    return f(tf.constant(4))


@program
def while_dict_item(tf):
    @tf.function
    def f(n):
        d = {"k": n}
        while d["k"] > 3:
            d["k"] -= 3
        return d["k"]

    return f(tf.constant(14))


@program
def while_else(tf):
    @tf.function
    def f(n):
        while n > 3:
            n -= 1
        else:
            n = n * 100
        return n

    return f(tf.constant(6))


@program
def while_else_python(tf):
    @tf.function
    def f(x, n):
        while n > 3:
            n -= 1
            if n == 5:
                break
        else:
            x = x * 100
        return x

    return f(tf.constant(6), 5), f(tf.constant(6), 7)


@program
def while_shape_invariants_from_python(tf):
    @tf.function
    def f(n):
        x = tf.constant([1.0])
        i = 0
        while i < n:
            x = x * 2.0
            i += 1
        return x

    return f(tf.constant(3))


@program
def while_tensor_array(tf):
    @tf.function
    def f(n):
        ta = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        i = 0
        while i < n:
            ta = ta.write(i, i * i)
            i += 1
        return ta.stack()

    return f(tf.constant(4))


@program
def while_loop_options(tf):
    @tf.function
    def f(n):
        i = 0
        while i < n:
            tf.autograph.experimental.set_loop_options(parallel_iterations=1, maximum_iterations=3)
            i += 1
        return i

    return f(tf.constant(10))


@program
def while_variable(tf):
    v = tf.Variable(0, use_resource=True)

    @tf.function
    def f(n):
        while v.read_value() < n:
            v.assign_add(2)
        return v.read_value()

    return f(tf.constant(7))


@program
def while_gradient(tf):
    @tf.function
    def f(x, n):
        i = 0
        while i < n:
            x = x * x
            i += 1
        return x

    x = tf.constant(2.0)
    return tf.gradients(f(x, tf.constant(3)), x)
