"""Programs with if over tensors."""

from autograph.programs.registry import Holder, program


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
