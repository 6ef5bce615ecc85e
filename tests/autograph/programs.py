"""Programs with Python control flow over tensors; the file runs under TensorFlow 1.15 and under tfcompat alike.

Each program is called with the module `tf` in a new graph and gives a structure of tensors and Python values.
"""

import functools

PROGRAMS = {}


def program(fn):
    PROGRAMS[fn.__name__] = fn
    return fn


class Holder:
    """An object with attributes."""

    def __init__(self, **values):
        self.__dict__.update(values)


# ---- if ----


@program
def if_else_assigns(tf):
    @tf.function
    def f(x):
        if x > 0:
            y = x * 2
        else:
            y = -x
        return y

    return [f(tf.constant(3)), f(tf.constant(-3))]


@program
def if_without_else(tf):
    @tf.function
    def f(x):
        if x > 0:
            x = x * 2
        return x

    return [f(tf.constant(3)), f(tf.constant(-3))]


@program
def if_elif_else(tf):
    @tf.function
    def f(x):
        if x > 10:
            y = 1
        elif x > 5:
            y = 2
        elif x > 0:
            y = 3
        else:
            y = 4
        return y

    return [f(tf.constant(v)) for v in (11, 6, 1, 0)]


@program
def if_reads_value_before(tf):
    @tf.function
    def f(x):
        z = x + 1
        if x > 0:
            z = z * 10
            y = z
        else:
            y = z
        return y

    return [f(tf.constant(1)), f(tf.constant(-1))]


@program
def if_several_variables(tf):
    @tf.function
    def f(a, b):
        if a > b:
            a, b = b, a
        return a, b

    return [f(tf.constant(1), tf.constant(2)), f(tf.constant(2), tf.constant(1))]


@program
def if_undefined_in_one_branch(tf):
    @tf.function
    def f(x):
        if x > 0:
            y = x
        return y

    return f(tf.constant(1))


@program
def if_undefined_but_not_used(tf):
    @tf.function
    def f(x):
        if x > 0:
            y = x
            x = y + 1
        return x

    return f(tf.constant(1))


@program
def if_none_in_one_branch(tf):
    @tf.function
    def f(x):
        y = None
        if x > 0:
            y = x
        return y

    return f(tf.constant(1))


@program
def if_dtypes_differ(tf):
    @tf.function
    def f(x):
        if x > 0:
            y = tf.constant(1)
        else:
            y = tf.constant(1.0)
        return y

    return f(tf.constant(1))


@program
def if_python_types_differ(tf):
    @tf.function
    def f(x):
        if x > 0:
            y = 1
        else:
            y = 1.5
        return y

    return f(tf.constant(1))


@program
def if_structures_differ(tf):
    @tf.function
    def f(x):
        if x > 0:
            y = (x, x)
        else:
            y = x
        return y

    return f(tf.constant(1))


@program
def if_shapes_differ(tf):
    @tf.function
    def f(x):
        if x > 0:
            y = tf.zeros([2])
        else:
            y = tf.zeros([3])
        return y, str(y.shape)

    return f(tf.constant(1))[0]


@program
def if_structured_value(tf):
    @tf.function
    def f(x):
        if x > 0:
            y = {"a": x, "b": (x, x + 1)}
        else:
            y = {"a": -x, "b": (x, x - 1)}
        return y["a"], y["b"]

    return f(tf.constant(1)), f(tf.constant(-1))


@program
def if_attribute(tf):
    @tf.function
    def f(x):
        h = Holder(v=x)
        if x > 0:
            h.v = x + 10
        return h.v

    return f(tf.constant(1)), f(tf.constant(-1))


@program
def if_attribute_in_both(tf):
    @tf.function
    def f(x):
        h = Holder()
        if x > 0:
            h.v = x + 10
        else:
            h.v = x - 10
        return h.v

    return f(tf.constant(1)), f(tf.constant(-1))


@program
def if_dict_item(tf):
    @tf.function
    def f(x):
        d = {"a": x}
        if x > 0:
            d["a"] = x + 10
        return d["a"]

    return f(tf.constant(1)), f(tf.constant(-1))


@program
def if_list_item(tf):
    @tf.function
    def f(x):
        d = [x, x]
        if x > 0:
            d[1] = x + 10
        return d[0] + d[1]

    return f(tf.constant(1)), f(tf.constant(-1))


@program
def if_list_item_of_variable_index(tf):
    @tf.function
    def f(x):
        d = [x, x]
        for i in range(2):
            if x > 0:
                d[i] = x + i
        return d

    return f(tf.constant(1)), f(tf.constant(-1))


@program
def if_new_dict_item(tf):
    @tf.function
    def f(x):
        d = {}
        if x > 0:
            d["a"] = x + 10
        else:
            d["a"] = x
        return d["a"]

    return f(tf.constant(1)), f(tf.constant(-1))


@program
def if_not_scalar(tf):
    @tf.function
    def f(x):
        if x > 0:
            return x
        return -x

    return f(tf.constant([1, 2]))


@program
def if_of_size_one(tf):
    @tf.function
    def f(x):
        if x > 0:
            y = x
        else:
            y = -x
        return y

    return f(tf.constant([-2]))


@program
def if_of_number(tf):
    @tf.function
    def f(x):
        if x:
            y = 1
        else:
            y = 2
        return y

    return f(tf.constant(5))


@program
def if_python_value(tf):
    @tf.function
    def f(x, double):
        if double:
            x = x * 2
        return x

    return f(tf.constant(3), True), f(tf.constant(3), False)


@program
def if_variable(tf):
    v = tf.Variable(2, use_resource=True)

    @tf.function
    def f():
        if v > 1:
            v.assign_add(10)
        else:
            v.assign_add(20)
        return v.read_value()

    return f()


@program
def if_with_side_effects_only(tf):
    v = tf.Variable(2, use_resource=True)

    @tf.function
    def f(x):
        if x:
            v.assign_add(10)
        return v.read_value()

    with tf.control_dependencies([f(tf.constant(True))]):
        return f(tf.constant(False))


@program
def if_nested(tf):
    @tf.function
    def f(x, y):
        r = 0
        if x > 0:
            if y > 0:
                r = 1
            else:
                r = 2
        elif y > 0:
            r = 3
        return r

    return [f(tf.constant(a), tf.constant(b)) for a in (1, -1) for b in (1, -1)]


@program
def ternary(tf):
    @tf.function
    def f(x):
        return x * 2 if x > 0 else -x

    return f(tf.constant(3)), f(tf.constant(-3))


@program
def ternary_dtypes_differ(tf):
    @tf.function
    def f(x):
        return 1 if x > 0 else 2.0

    return f(tf.constant(3))


@program
def ternary_python(tf):
    @tf.function
    def f(x, flag):
        return x if flag else None

    return f(tf.constant(3), True)


# ---- return ----


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


# ---- while ----


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


# ---- for ----


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


# ---- logic, comparisons ----


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


# ---- assert, print, built-ins ----


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


# ---- lists ----


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


# ---- functions ----


@program
def calls_other_function(tf):
    def helper(x):
        if x > 0:
            return x
        return -x

    @tf.function
    def f(x):
        return helper(x) + helper(x=x)

    return f(tf.constant(-3))


@program
def calls_recursively(tf):
    def factorial(n):
        if n == 0:
            return 1
        return n * factorial(n - 1)

    @tf.function
    def f(x):
        return x * factorial(4)

    return f(tf.constant(2))


@program
def calls_lambda(tf):
    @tf.function
    def f(x):
        g = lambda v: v if v > 0 else -v  # noqa: E731
        return g(x)

    return f(tf.constant(-3))


@program
def lambda_as_function(tf):
    f = tf.function(lambda v: v * 2 if v > 0 else -v)
    return f(tf.constant(-3)), f(tf.constant(3))


@program
def two_lambdas_on_a_line(tf):
    f, g = (tf.function(lambda v: v if v > 0 else -v), tf.function(lambda w: w * 2))
    return f(tf.constant(-3)), g(tf.constant(3))


@program
def calls_nested_function(tf):
    @tf.function
    def f(x):
        def inner(v):
            if v > 0:
                return v
            return -v

        return inner(x)

    return f(tf.constant(-3))


@program
def calls_method(tf):
    class Model:
        def __init__(self):
            self.w = tf.constant(2)

        def magnitude(self, x):
            if x > 0:
                return x * self.w
            return -x * self.w

        @tf.function
        def run(self, x):
            return self.magnitude(x)

    return Model().run(tf.constant(-3))


@program
def calls_callable_object(tf):
    class Magnitude:
        def __call__(self, x):
            if x > 0:
                return x
            return -x

    @tf.function
    def f(x):
        return Magnitude()(x)

    return f(tf.constant(-3))


@program
def calls_partial(tf):
    def scaled(k, x, bias=0):
        if x > 0:
            return k * x + bias
        return -x

    @tf.function
    def f(x):
        return functools.partial(scaled, 10, bias=1)(x)

    return f(tf.constant(3)), tf.function(functools.partial(scaled, 10))(tf.constant(4))


@program
def calls_wrapped(tf):
    def twice(fn):
        @functools.wraps(fn)
        def wrapper(x):
            return fn(x) * 2

        return wrapper

    @twice
    def magnitude(x):
        if x > 0:
            return x
        return -x

    @tf.function
    def f(x):
        return magnitude(x)

    return f(tf.constant(-3))


@program
def calls_static_and_class_methods(tf):
    class Model:
        k = 3

        @staticmethod
        def magnitude(x):
            if x > 0:
                return x
            return -x

        @classmethod
        def scaled(cls, x):
            if x > 0:
                return x * cls.k
            return x

    @tf.function
    def f(x):
        return Model.magnitude(x), Model.scaled(x), Model().magnitude(x), Model().scaled(x)

    return f(tf.constant(-3)), f(tf.constant(3))


@program
def calls_super(tf):
    class Base:
        def run(self, x):
            if x > 0:
                return x
            return -x

    class Derived(Base):
        def run(self, x):
            y = super(Derived, self).run(x)  # noqa: UP008
            if y > 10:
                y = y * 2
            return y

    @tf.function
    def f(x):
        return Derived().run(x)

    return f(tf.constant(-3)), f(tf.constant(30))


@program
def calls_super_without_arguments(tf):
    class Base:
        def run(self, x):
            if x > 0:
                return x
            return -x

    class Derived(Base):
        def run(self, x):
            y = super().run(x)
            return y * 2

    @tf.function
    def f(x):
        return Derived().run(x)

    return f(tf.constant(-3))


@program
def calls_do_not_convert(tf):
    @tf.autograph.experimental.do_not_convert
    def helper(x):
        if x > 0:
            return x
        return -x

    @tf.function
    def f(x):
        return helper(x)

    return f(tf.constant(-3))


@program
def calls_constructor(tf):
    class Model:
        def __init__(self, x):
            if x > 0:
                self.x = x
            else:
                self.x = -x

    @tf.function
    def f(x):
        return Model(x).x

    return f(tf.constant(-3))


@program
def calls_mangled(tf):
    class Model:
        def __init__(self):
            self.__k = 3

        @tf.function
        def run(self, x):
            if x > 0:
                x = x * self.__k
            return x

    return Model().run(tf.constant(2))


@program
def calls_generator(tf):
    def numbers(n):
        for i in range(n):
            if i == 1:
                continue
            yield i

    @tf.function
    def f(x):
        for i in numbers(4):
            x = x * 10 + i
        return x

    return f(tf.constant(2))


@program
def calls_with_stars(tf):
    def total(*values, **named):
        s = 0
        for v in values:
            if v > 0:
                s += v
        for name in sorted(named):
            s += named[name]
        return s

    @tf.function
    def f(x):
        pair = (x, -x)
        return total(*pair, x, **{"a": 1, "b": 2})

    return f(tf.constant(2))


@program
def calls_function_of_graph(tf):
    @tf.function
    def inner(x):
        if x > 0:
            return x
        return -x

    @tf.function
    def f(x):
        return inner(x) + inner(-x)

    return f(tf.constant(-2))


@program
def default_arguments(tf):
    @tf.function
    def f(x, k=3, *, bias=1):
        if x > 0:
            x = x * k + bias
        return x

    return f(tf.constant(2)), f(tf.constant(2), 4, bias=7)


@program
def closure_is_live(tf):
    k = 2

    @tf.function
    def f(x):
        if x > 0:
            x = x * k
        return x

    first = f(tf.constant(2))
    k = 5
    return first, f(tf.constant([2]))


@program
def nonlocal_variable(tf):
    count = [0]
    total = 0

    @tf.function
    def f(x):
        nonlocal total
        for i in range(3):
            total = total + i
            count[0] += 1
        return x + total

    return f(tf.constant(2)), total, count


@program
def closure_over_loop_variable(tf):
    @tf.function
    def f(x):
        found = []
        for i in range(3):
            found.append(lambda v: v + i)
        return [g(x) for g in found]

    return f(tf.constant(2))


@program
def autograph_off(tf):
    @tf.function(autograph=False)
    def f(x):
        if x > 0:
            return x
        return -x

    return f(tf.constant(-3))


@program
def not_in_a_function(tf):
    x = tf.constant(1)
    if x > 0:
        return x
    return -x


@program
def to_graph_in_graph(tf):
    def f(x):
        while x < 100:
            x = x * 2
        return x

    return tf.autograph.to_graph(f)(tf.constant(3))


@program
def to_graph_not_recursive(tf):
    def helper(x):
        if x > 0:
            return x
        return -x

    def f(x):
        return helper(x)

    return tf.autograph.to_graph(f, recursive=False)(tf.constant(3))


@program
def try_except(tf):
    @tf.function
    def f(x):
        try:
            if x > 0:
                y = x
            else:
                y = -x
            raise ValueError("v")
        except ValueError as error:
            y = y + len(str(error))
        return y

    return f(tf.constant(-3))


@program
def error_in_function(tf):
    @tf.function
    def f(x):
        if x > 0:
            x = tf.matmul(x, x)
        return x

    return f(tf.constant(-3))


@program
def error_of_python(tf):
    @tf.function
    def f(x):
        raise ValueError("of the user")

    return f(tf.constant(-3))


@program
def error_of_own_type(tf):
    class Own(Exception):
        def __init__(self, one, two):
            super(Own, self).__init__(one, two)  # noqa: UP008

    @tf.function
    def f(x):
        raise Own(1, 2)

    return f(tf.constant(-3))


@program
def error_in_called_function(tf):
    def helper(x):
        raise KeyError("of the helper")

    @tf.function
    def f(x):
        return helper(x)

    return f(tf.constant(-3))


@program
def undefined_name(tf):
    @tf.function
    def f(x):
        if x > 0:
            x = nothing_of_this_name  # noqa: F821
        return x

    return f(tf.constant(-3))


@program
def local_used_before(tf):
    @tf.function
    def f(x):
        if False:
            y = x
        return y

    return f(tf.constant(-3))


@program
def deleted_name(tf):
    @tf.function
    def f(x):
        y = x
        del y
        if x > 0:
            x = x + 1
        return y  # noqa: F821

    return f(tf.constant(-3))


# ---- tf.data, tf.while_loop, Keras ----


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
