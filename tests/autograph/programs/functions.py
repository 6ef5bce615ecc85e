"""Programs with functions, methods and closures."""

import functools

from autograph.programs.registry import program


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
