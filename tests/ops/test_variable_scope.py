"""tf.variable_scope, tf.get_variable and partitioners: names, reuse, defaults and errors as in TensorFlow 1.15."""

import pytest

import tfcompat as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_names_of_scopes_and_variables():
    with tf.variable_scope("a"):
        with tf.variable_scope("b") as inner:
            assert tf.get_variable("w", [1]).name == "a/b/w:0"
        assert inner.name == "a/b" and inner.original_name_scope == "a/b/"
    with tf.variable_scope("a"):
        assert tf.constant(1.0).name == "a_1/Const:0"
    with tf.variable_scope(inner):
        assert tf.get_variable_scope().name == "a/b"
        assert tf.constant(1.0).name == "b/Const:0"
        assert tf.get_variable("u", [1]).name == "a/b/u:0"


def test_default_names_are_unique():
    names = []
    for _ in range(3):
        with tf.variable_scope(None, "layer") as scope:
            names.append(scope.name)
    assert names == ["layer", "layer_1", "layer_2"]


def test_inner_scopes_are_counted_anew():
    for _ in range(2):
        with tf.variable_scope("outer"), tf.variable_scope(None, "layer") as scope:
            assert scope.name == "outer/layer"


def test_reuse():
    with tf.variable_scope("a") as scope:
        w = tf.get_variable("w", [2])
        with pytest.raises(ValueError, match="(?s)Variable a/w already exists, disallowed.*Originally defined at:.*test_variable_scope.py"):
            tf.get_variable("w", [2])
        scope.reuse_variables()
        assert tf.get_variable("w", [2]) is w
        with pytest.raises(ValueError, match=r"specified shape \(3,\) and found shape \(2,\)"):
            tf.get_variable("w", [3])
        with pytest.raises(ValueError, match="specified dtype int32 and found dtype float32_ref"):
            tf.get_variable("w", [2], tf.int32)
        with pytest.raises(ValueError, match="Variable a/u does not exist, or was not created with tf.get_variable"):
            tf.get_variable("u", [2])
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        assert tf.get_variable("w") is w
        assert tf.get_variable("u", [1]).name == "a/u:0"
        with tf.variable_scope("inner"):
            assert tf.get_variable_scope().reuse is tf.AUTO_REUSE


def test_scope_defaults_and_collections():
    regularizer = lambda v: tf.identity(v, name="loss")  # noqa: E731
    with tf.variable_scope("a", initializer=tf.ones_initializer(), regularizer=regularizer, use_resource=True, dtype=tf.float64) as scope:
        w = tf.get_variable("w", [2])
        tf.get_variable("free", [2], regularizer=tf.no_regularizer)
    local = tf.get_local_variable("mine", [1])
    assert w.op.type == "VarHandleOp" and w.dtype == tf.float64 and w.initial_value.op.type == "Const"
    assert [t.name for t in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)] == ["a/w/Regularizer/loss:0"]
    assert [v.name for v in scope.trainable_variables()] == ["a/w:0", "a/free:0"]
    assert tf.local_variables() == [local] and local not in tf.trainable_variables()


def test_custom_getters_nest():
    def named(prefix):
        return lambda getter, name, *args, **kwargs: getter(prefix + name, *args, **kwargs)

    with tf.variable_scope("a", custom_getter=named("x_")), tf.variable_scope("b", custom_getter=named("y_")):
        assert tf.get_variable("w", [1]).name == "x_y_a/b/w:0"


@pytest.mark.parametrize(
    ("error", "text", "make"),
    [
        (TypeError, "If default_name is None then name_or_scope is required", lambda: tf.variable_scope(None)),
        (ValueError, "reuse parameter must be True or False or None", lambda: tf.variable_scope("a", reuse=3)),
        (TypeError, "auxiliary_name_scope must be", lambda: tf.variable_scope("a", auxiliary_name_scope=1)),
        (ValueError, "reuse=True cannot be used without a name_or_scope", lambda: tf.variable_scope(None, "a", reuse=True).__enter__()),
        (ValueError, "If initializer is a constant, do not specify shape", lambda: tf.get_variable("w", [1], initializer=1.0)),
        (ValueError, "The initializer passed is not valid", lambda: tf.get_variable("w")),
        (ValueError, "Initializer type .* and explicit dtype .* don't match", lambda: tf.get_variable("w", dtype=tf.int32, initializer=1.0)),
        (ValueError, "Passed a custom_getter which is not callable", lambda: tf.get_variable("w", [1], custom_getter=3)),
        (ValueError, "Partitioner must be callable", lambda: tf.get_variable("w", [1], partitioner=3)),
        (ValueError, "An initializer for variable w of .*complex64.* is required", lambda: tf.get_variable("w", [1], tf.complex64)),
    ],
)
def test_wrong_arguments(error, text, make):
    with pytest.raises(error, match=text):
        make()


def test_partitioned_variables():
    partitioner = tf.fixed_size_partitioner(2)
    with tf.variable_scope("a", partitioner=partitioner):
        w = tf.get_variable("w", [5, 2])
        assert tf.get_variable("scalar", []).name == "a/scalar:0"
    parts = list(w)
    assert [p.name for p in parts] == ["a/w/part_0:0", "a/w/part_1:0"] and len(w) == 2
    assert [p.shape.as_list() for p in parts] == [[3, 2], [2, 2]]
    info = parts[1]._get_save_slice_info()
    assert (info.full_name, info.full_shape, info.var_offset, info.var_shape, info.spec) == ("a/w", [5, 2], [3, 0], [2, 2], "5 2 3,2:0,2")
    with tf.variable_scope("a", reuse=True):
        assert tf.get_variable("w") is w
        with pytest.raises(ValueError, match="specified partitions"):
            tf.get_variable("w", [5, 2], partitioner=tf.fixed_size_partitioner(3))
    with pytest.raises(ValueError, match="Can only slice a variable along one dimension"):
        tf.get_variable("u", [4, 4], partitioner=lambda shape, dtype: [2, 2])
    with pytest.raises(ValueError, match="does not match the Variable's rank"):
        tf.get_variable("u", [4, 4], partitioner=lambda shape, dtype: [2])


def test_partitioner_sizes():
    shape = tf.TensorShape([10, 5])
    assert tf.fixed_size_partitioner(3, 1)(shape=shape, dtype=tf.float32) == [1, 3]
    assert tf.fixed_size_partitioner(30)(shape=shape, dtype=tf.float32) == [10, 1]
    assert tf.variable_axis_size_partitioner(64)(shape, tf.float32) == [4, 1]
    assert tf.variable_axis_size_partitioner(64, 1)(shape, tf.float64) == [1, 5]
    assert tf.variable_axis_size_partitioner(64, max_shards=2)(shape, tf.float64) == [2, 1]
    assert tf.min_max_variable_partitioner(4, 0, 16)(shape, tf.float64) == [4, 1]
    assert tf.min_max_variable_partitioner(4, 0, 256)(shape, tf.float64) == [2, 1]
    with pytest.raises(ValueError, match="must be positive"):
        tf.variable_axis_size_partitioner(0)
    with pytest.raises(ValueError, match="shape is not fully defined"):
        tf.variable_axis_size_partitioner(64)(tf.TensorShape([None, 5]), tf.float64)
    with pytest.raises(ValueError, match="Can not partition variable along axis 3"):
        tf.min_max_variable_partitioner(4, 3)(shape, tf.float64)


def test_resource_variables_by_default():
    tf.enable_resource_variables()
    try:
        assert tf.resource_variables_enabled()
        assert tf.get_variable("w", [1]).op.type == "VarHandleOp" == tf.Variable(1.0).op.type
    finally:
        tf.disable_resource_variables()
    assert tf.get_variable("u", [1]).op.type == "VariableV2"
