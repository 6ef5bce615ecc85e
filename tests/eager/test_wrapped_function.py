"""tf.wrap_function and the parts of such functions; what eager operations leave behind."""

import gc

import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.function.variable_lifting import UnliftableError


@pytest.fixture
def wrapped():
    """(x, y) -> (v * x, v * x + y), with what is between at hand."""
    inside = {}
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=3.0, use_resource=True)

        def product_and_sum(x, y):
            inside["product"] = tf.multiply(v, x, name="product")
            inside["sum"] = inside["product"] + y
            inside["set"] = v.assign(10.0 * x).op
            return inside["product"], inside["sum"]

        yield tf.wrap_function(product_and_sum, [tf.TensorSpec([], tf.float32)] * 2), inside, v


def test_a_part_takes_feeds_and_gives_fetches_in_their_structure(wrapped):
    function, inside, v = wrapped
    product = function.prune(function.inputs[0], {"p": [inside["product"]]})
    more = function.prune([inside["product"], function.inputs[1]], inside["sum"])
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(product(tf.constant(2.0))) == {"p": [6.0]}
        assert session.run(more(tf.constant(100.0), tf.constant(1.0))) == 101.0
        assert session.run(function(tf.constant(2.0), tf.constant(1.0))) == (6.0, 7.0)


def test_a_part_may_only_run_an_operation(wrapped):
    function, inside, v = wrapped
    written = function.prune(function.inputs[0], inside["set"])
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(written(tf.constant(2.0)))
        assert session.run(v) == 20.0


def test_a_part_needs_what_it_hangs_on(wrapped):
    function, inside, _ = wrapped
    with pytest.raises(UnliftableError, match="placeholder y"):
        function.prune(function.inputs[0], inside["sum"])
    with pytest.raises(ValueError, match="does not belong to"):
        function.prune(function.inputs[0], tf.constant(1.0))


def test_eager_operations_leave_no_cycles_of_objects(tmp_path):
    with eager_mode():

        def work():
            layer = tf.layers.Dense(3)
            layer(tf.ones([2, 2]))
            tf.train.Checkpoint(v=tf.Variable(1.0)).save(str(tmp_path / "c"))

        work()
        gc.collect()
        flags, before = gc.get_debug(), len(gc.garbage)
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            work()
            gc.collect()
            assert [type(each) for each in gc.garbage[before:]] == []
        finally:
            gc.set_debug(flags)
            del gc.garbage[before:]
