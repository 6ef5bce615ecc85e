"""What tf.autograph says, refuses and leaves alone."""

import ast
import contextlib
import inspect
import logging
import traceback

import pytest

import tfcompat as tf
from tfcompat._src.autograph import conversion, options
from tfcompat._src.base.autograph_status import Status, control_status_ctx
from tfcompat._src.eager.mode import eager_mode

Feature = tf.autograph.experimental.Feature


def magnitude(x):
    if x > 0:
        return x
    return -x


def helper_that_fails(x):
    return tf.matmul(x, x)  # here


def line_of(text):
    """The number of the line of this file that ends with a text."""
    lines = inspect.getsource(inspect.getmodule(line_of)).split("\n")
    return next(i for i, line in enumerate(lines, 1) if line.endswith(text))


@contextlib.contextmanager
def logged(caplog):
    logger = logging.getLogger("tensorflow")
    logger.addHandler(caplog.handler)
    try:
        yield caplog.records
    finally:
        logger.removeHandler(caplog.handler)


def test_errors_name_the_lines_of_the_user():
    def f(x):
        if x > 0:
            x = helper_that_fails(x)  # called
        return x

    with tf.Graph().as_default(), pytest.raises(ValueError, match="in converted code") as caught:
        tf.function(f)(tf.constant(1))
    text = str(caught.value)
    assert f"{__file__}:{line_of('# called')} f  *\n        x = helper_that_fails(x)" in text
    assert f"{__file__}:{line_of('# here')} helper_that_fails  *\n" in text
    assert text.rstrip().endswith("ValueError: Shape must be rank 2 but is rank 0 for 'MatMul' (op: 'MatMul') with input shapes: [], [].")
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(caught.tb)]
    assert {(__file__, line_of("# called")), (__file__, line_of("# here"))} <= set(frames)


def test_errors_of_a_run_name_the_line_that_made_the_node():
    def f(x):
        if x > 0:
            y = tf.debugging.check_numerics(tf.math.log(-x), "no number")  # made
        else:
            y = x
        return y

    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.autograph.to_graph(f)(tf.constant(1.0))
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(y)
    made = [frame for frame in caught.value.op.traceback if frame[0] == __file__]
    assert made[-1][1] == line_of("# made")


def test_exceptions_keep_their_types():
    class Plain(Exception):
        pass

    class Special(Exception):
        def __init__(self, one, two):
            super().__init__(one, two)

    def f(make):
        raise make()

    def raised(make):
        with tf.Graph().as_default():
            try:
                tf.autograph.to_graph(f)(make)
            except Exception as error:  # noqa: BLE001 - what it is, is the question
                return error

    for kind in (ValueError, KeyError, NotImplementedError, Plain):
        assert isinstance(raised(lambda kind=kind: kind("text")), kind)
    found = raised(lambda: tf.errors.NotFoundError(None, None, "text"))
    assert isinstance(found, tf.errors.NotFoundError) and "NotFoundError: text" in found.message
    assert type(raised(lambda: Special(1, 2))).__name__ == "StagingError"


def test_what_cannot_be_converted_runs_as_it_is_and_is_told(caplog):
    class Model:
        __hidden = 3

        def run(self, x):
            if x > 0:
                x = x * self.__hidden
            return x

    with logged(caplog) as records, tf.Graph().as_default():
        assert tf.autograph.to_graph(lambda model: model.run(2))(Model()) == 6
    assert any("could not be transformed and will be executed as-is" in r.getMessage() for r in records)


def test_functions_without_source_run_as_they_are(caplog):
    names = {}
    exec(compile("def made(x):\n    return x + 1 if x else 0", "<nowhere>", "exec"), names)  # noqa: S102
    with tf.Graph().as_default(), logged(caplog) as records:
        assert tf.autograph.experimental  # the namespace is there
        assert tf.function(lambda x: names["made"](3) + x)(tf.constant(1)).dtype == tf.int32
    assert any("Unable to locate the source code" in r.getMessage() for r in records)
    with pytest.raises(Exception, match="converting .*made.*Unable to locate the source code"):
        tf.autograph.to_graph(names["made"])


@pytest.mark.parametrize("entity", [len, 3, "text", tf.function])
def test_to_graph_takes_functions_only(entity):
    if entity is tf.function:
        assert tf.autograph.to_graph(tf.function(magnitude))(-3) == 3
        return
    with pytest.raises(NotImplementedError, match="object conversion is not yet supported"):
        tf.autograph.to_graph(entity)


def test_generators_are_refused():
    def numbers():
        yield 1

    with pytest.raises(NotImplementedError, match="Generators are not supported"):
        tf.autograph.to_graph(numbers)


def test_to_graph_of_a_class_converts_its_methods():
    class Scaled:
        def __init__(self, k):
            self.k = k

        def run(self, x):
            if x > 0:
                x = x * self.k
            return x

    with tf.Graph().as_default(), tf.Session() as session:
        made = tf.autograph.to_graph(Scaled)(3)
        assert isinstance(made, Scaled) and session.run(made.run(tf.constant(2))) == 6


def test_to_graph_keeps_name_signature_and_defaults():
    def f(x, k=3, *rest, bias=1, **named):
        """Text."""
        if x > 0:
            x = x * k + bias + sum(rest) + sum(named.values())
        return x

    made = tf.autograph.to_graph(f)
    assert made.__name__ == "tf__f" and made.__doc__ == "Text." and inspect.signature(made) == inspect.signature(f)
    assert made(2) == 7 and made(2, 4, 10, bias=0, other=5) == 23


def test_to_code_is_source():
    text = tf.autograph.to_code(magnitude)
    assert ast.parse(text).body[0].name == "tf__magnitude" and "if_stmt" in text
    assert ast.parse(tf.autograph.to_code(lambda x: x if x else 0))


def test_lambdas_are_found_wherever_they_stand():
    pair = (lambda x: x if x > 1 else -x, lambda x: x * 2 if x > 1 else x)
    apply = dict(
        one=lambda x: (
            x if x > 0 else -x
        ), two=lambda x: (lambda y: y if y > 5 else -y)(x),
    )  # fmt: skip
    with tf.Graph().as_default(), tf.Session() as session:
        functions = [*pair, *apply.values()]
        assert session.run([tf.function(fn)(tf.constant(-3)) for fn in functions]) == [3, -3, 3, 3]


def test_recursive_says_whether_called_functions_are_converted():
    def f(x):
        return magnitude(x)

    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.autograph.to_graph(f)(tf.constant(-3))) == 3
        with pytest.raises(TypeError, match="AutoGraph did not convert this function"):
            tf.autograph.to_graph(f, recursive=False)(tf.constant(-3))


def test_the_status_follows_calls():
    seen = []

    @tf.autograph.experimental.do_not_convert
    def apart():
        seen.append(control_status_ctx().status)

    @tf.contrib.autograph.convert()
    def inside():
        seen.append(control_status_ctx().status)
        apart()
        seen.append(control_status_ctx().status)

    inside()
    assert seen == [Status.ENABLED, Status.DISABLED, Status.ENABLED]
    assert control_status_ctx().status is Status.UNSPECIFIED


def test_convert_keeps_the_signature():
    made = tf.contrib.autograph.convert()(magnitude)
    assert inspect.getfullargspec(made).args == ["x"] and made(-2) == 2


def test_print_of_tensors_prints_when_it_runs(capfd):
    def f(x):
        print("x is", x, sep="=")
        return x

    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.autograph.to_graph(f, experimental_optional_features=Feature.ALL)(tf.constant(3))
        assert capfd.readouterr().out == ""
        session.run(y)
        assert capfd.readouterr().out == "x is=3\n"


def test_features_name_scopes():
    def f(x):
        return magnitude(x)

    with tf.Graph().as_default():
        x = tf.constant(1)
        assert tf.autograph.to_graph(f, experimental_optional_features=Feature.NAME_SCOPES)(x).op.name.startswith("f/magnitude/cond")
        assert tf.autograph.to_graph(f)(x).op.name.startswith("cond")


def test_features():
    assert Feature.all() == tuple(Feature)
    assert set(Feature.all_but(Feature.LISTS)) == set(Feature) - {Feature.ALL, Feature.LISTS}


def test_lists_with_an_element_type():
    def f(n):
        found = []
        tf.contrib.autograph.set_element_type(found, tf.int32, ())
        for i in tf.range(n):
            found.append(i * i)
        last = found.pop()
        return last, len(found), tf.stack(found)

    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.autograph.to_graph(f, experimental_optional_features=Feature.LISTS)(tf.constant(4))
        last, length, values = session.run(found)
        assert (last, length, values.tolist()) == (9, 3, [0, 1, 4])


def test_a_dataset_loop_in_a_graph_begins_anew_in_each_run():
    def f(limit):
        total = tf.constant(0, tf.int64)
        for x in tf.data.Dataset.range(100).repeat():
            if x > limit:
                break
            total += x
        return total

    with tf.Graph().as_default(), tf.Session() as session:
        limit = tf.placeholder(tf.int64, [])
        total = tf.autograph.to_graph(f)(limit)
        assert [session.run(total, {limit: n}) for n in (3, 10, 3)] == [6, 55, 6]


def test_eager_mode():
    @tf.function
    def f(x):
        total = tf.constant(0, tf.int64)
        for v in tf.data.Dataset.range(5):
            if v == x:
                continue
            total += v
        while total > 6:
            total -= 3
        return total

    def runs_at_once(x):
        return tf.autograph.to_graph(magnitude)(x)

    with eager_mode():
        assert f(tf.constant(9, tf.int64)).numpy() == 4
        assert runs_at_once(tf.constant(-3)).numpy() == 3


def test_gradients_in_eager_mode():
    @tf.function
    def f(x, n):
        y = x
        for _ in tf.range(n):
            if y < 100.0:
                y = y * x
        return y

    with eager_mode():
        x = tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, tf.constant(3))
        assert (y.numpy(), tape.gradient(y, x).numpy()) == (81.0, 4 * 27.0)


def test_losses_of_branches_are_refused():
    class Layer(tf.keras.layers.Layer):
        def call(self, inputs, training=None):
            if tf.reduce_sum(inputs) > 0.0:
                self.add_loss(tf.reduce_sum(inputs))
            return inputs

    with eager_mode(), pytest.raises(RuntimeError, match="`add_loss` in a control flow branch"):
        Layer()(tf.keras.Input((3,)))


def test_functions_of_replicas_are_converted_where_the_code_around_is():
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")

    @tf.function
    def f(x):
        return strategy.experimental_run_v2(magnitude, args=(x,))

    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(f(tf.constant(-3))) == 3
        with pytest.raises(TypeError, match="not allowed in Graph execution"):
            strategy.experimental_run_v2(magnitude, args=(tf.constant(-3),))


def test_verbosity(caplog):
    def f(x):
        return magnitude(x) if x else 0

    with logged(caplog) as records, caplog.at_level(logging.INFO, logger="tensorflow"):
        tf.autograph.set_verbosity(1)
        try:
            tf.autograph.to_graph(f)(3)
        finally:
            tf.autograph.set_verbosity(0)
    assert any("Converting <function test_verbosity" in r.getMessage() for r in records)


def test_trace_prints_when_traced(capsys):
    tf.autograph.trace("seen", 1)
    assert capsys.readouterr().out == "seen 1\n"


def test_closures_and_globals_stay_live():
    scale = 2

    def f(x):
        if x > 0:
            x = x * scale
        return x

    made = tf.autograph.to_graph(f)
    assert made(2) == 4
    scale = 5
    assert made(2) == 10


def test_unchanged_functions_are_themselves():


    def f(x):
        y = x + 1
        return y

    assert conversion.converted(f, options.STANDARD_OPTIONS) is f
    assert conversion.converted(tf.reduce_sum, options.STANDARD_OPTIONS) is tf.reduce_sum
    assert conversion.converted(conversion.converted(magnitude, options.STANDARD_OPTIONS), options.STANDARD_OPTIONS) is not magnitude
