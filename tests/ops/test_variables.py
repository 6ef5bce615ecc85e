"""tf.Variable in Python: properties, messages, errors, and what a run may and may not change."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.variables.ref_variable import RefVariable
from tfcompat._src.variables.resource_variable import ResourceVariable, is_resource_variable

BOTH = pytest.mark.parametrize("use_resource", [False, True])


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def initialized(graph):
    session = tf.Session(graph=graph)
    with graph.as_default():
        session.run(tf.global_variables_initializer())
    return session


@BOTH
def test_kinds_and_collections(use_resource):
    v = tf.Variable([1.0, 2.0], use_resource=use_resource)
    frozen = tf.Variable(1, trainable=False, collections=["mine"], use_resource=use_resource)
    assert isinstance(v, ResourceVariable if use_resource else RefVariable)
    assert is_resource_variable(v) is use_resource
    assert tf.global_variables() == [v] == tf.trainable_variables()
    assert tf.get_collection("mine") == [frozen]
    assert (v.name, v.op.type) == ("Variable:0", "VarHandleOp" if use_resource else "VariableV2")
    assert v.dtype == (tf.float32 if use_resource else tf.float32._as_ref)
    assert v.shape.as_list() == [2] and v.initial_value.shape.as_list() == [2]


@BOTH
def test_proto_round_trip(graph, use_resource):
    v = tf.Variable([1.0, 2.0], name="v", trainable=False, use_resource=use_resource)
    proto = v.to_proto()
    again = tf.Variable.from_proto(proto)
    read = "v/Read/ReadVariableOp:0" if use_resource else "v/read:0"
    initial = "v/Initializer/initial_value:0" if use_resource else "v/initial_value:0"
    assert (proto.variable_name, proto.initializer_name, proto.snapshot_name) == ("v:0", "v/Assign", read)
    assert (proto.initial_value_name, proto.is_resource, proto.trainable) == (initial, use_resource, False)
    assert again.op is v.op and again.initializer is v.initializer and not again.trainable
    session = initialized(graph)
    np.testing.assert_array_equal(session.run(again), [1.0, 2.0])


def test_proto_outside_of_the_export_scope():
    assert tf.Variable(1.0, name="a").to_proto(export_scope="b") is None


@BOTH
def test_load_adds_no_node(graph, use_resource):
    v = tf.Variable([1.0, 2.0], use_resource=use_resource)
    session = initialized(graph)
    count = graph.version
    v.load([5.0, 6.0], session)
    assert graph.version == count
    np.testing.assert_array_equal(v.eval(session), [5.0, 6.0])
    with pytest.raises(ValueError, match="default session should be established"):
        v.load([5.0, 6.0])


@pytest.mark.parametrize(
    ("error", "text", "make"),
    [
        (ValueError, "initial_value must be specified", lambda: tf.Variable()),
        (ValueError, "collections argument to Variable constructor", lambda: tf.Variable(1.0, collections="mine")),
        (ValueError, "`constraint` argument must be a callable", lambda: tf.Variable(1.0, constraint=3)),
        (ValueError, "Invalid variable synchronization mode: 9 for variable: v", lambda: tf.Variable(1.0, name="v", synchronization=9)),
        (ValueError, "Invalid variable aggregation mode: 9 for variable: v", lambda: tf.Variable(1.0, name="v", aggregation=9)),
        (ValueError, "is not compatible with the explicitly supplied", lambda: tf.Variable([1.0], shape=[2], use_resource=True)),
        (TypeError, "sparse_delta is not IndexedSlices", lambda: tf.Variable([1.0]).scatter_add([1.0])),
        (TypeError, "'Variable' object is not iterable", lambda: iter(tf.Variable([1.0]))),
        (RuntimeError, r"Variable \+= value not supported", lambda: tf.Variable([1.0], use_resource=True).__iadd__(1.0)),
        (NotImplementedError, "does not implement set_shape", lambda: tf.Variable([1.0], use_resource=True).set_shape([1])),
    ],
)
def test_wrong_arguments(error, text, make):
    with pytest.raises(error, match=text):
        make()


@BOTH
def test_a_failing_scatter_changes_nothing(graph, use_resource):
    v = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2), use_resource=use_resource)
    rows = tf.placeholder(tf.int32, [2])
    update = tf.scatter_add(v, rows, [[1.0, 1.0], [2.0, 2.0]])
    session = initialized(graph)
    before = session.run(v)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = 3 is not in \[0, 3\)"):
        session.run(update, {rows: [0, 3]})
    np.testing.assert_array_equal(session.run(v), before)
    session.run(update.op, {rows: [0, 0]})
    np.testing.assert_array_equal(session.run(v), [[3.0, 4.0], [2.0, 3.0], [4.0, 5.0]])


@BOTH
def test_a_failing_sparse_rule_changes_nothing(graph, use_resource):
    var, accum = (tf.Variable(np.ones((3, 2), np.float32), use_resource=use_resource) for _ in range(2))
    rows = tf.placeholder(tf.int32, [2])
    op_type = "ResourceSparseApplyAdagrad" if use_resource else "SparseApplyAdagrad"
    variables = [v.handle if use_resource else v for v in (var, accum)]
    update = getattr(tf.raw_ops, op_type)(var=variables[0], accum=variables[1], lr=0.5, grad=np.ones((2, 2), np.float32), indices=rows)
    session = initialized(graph)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Index 7 at offset 0 in indices is out of range"):
        session.run(update, {rows: [7, 1]})
    for v in (var, accum):
        np.testing.assert_array_equal(session.run(v), np.ones((3, 2)))


@BOTH
def test_a_variable_assigned_from_another_stays_apart(graph, use_resource):
    a = tf.Variable([1.0, 2.0], use_resource=use_resource)
    b = tf.Variable([3.0, 4.0], use_resource=use_resource)
    copy, add = a.assign(b.read_value()), b.assign_add([10.0, 10.0])
    session = initialized(graph)
    session.run(copy)
    for _ in range(2):
        session.run(add)
    np.testing.assert_array_equal(session.run(a), [3.0, 4.0])
    np.testing.assert_array_equal(session.run(b), [23.0, 24.0])


def test_assign_of_another_shape_when_it_runs(graph):
    v = tf.Variable([1.0, 2.0])
    value = tf.placeholder(tf.float32, None)
    session = initialized(graph)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"lhs shape= \[2\] rhs shape= \[1\]"):
        session.run(v.assign(value), {value: [9.0]})
    np.testing.assert_array_equal(session.run(v), [1.0, 2.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"lhs shape= \[2\] rhs shape= \[1\]"):
        tf.Session(graph=graph).run(v.assign(value), {value: [9.0]})


def test_report_uninitialized_variables(graph):
    a, b = tf.Variable(1.0, name="a"), tf.Variable(1.0, name="b", use_resource=True)
    report = tf.report_uninitialized_variables()
    session = tf.Session(graph=graph)
    assert session.run(report).tolist() == [b"a", b"b"]
    session.run(a.initializer)
    assert session.run(report).tolist() == [b"b"]
    session.run(b.initializer)
    assert session.run(report).tolist() == []


def test_creator_scopes_nest():
    order = []

    def creator(label):
        def make(next_creator, **kwargs):
            order.append(label)
            return next_creator(**{**kwargs, "trainable": False})

        return make

    with tf.variable_creator_scope(creator("outer")), tf.variable_creator_scope(creator("inner")):
        v = tf.Variable(1.0)
    assert order == ["inner", "outer"] and not v.trainable
    assert tf.Variable(1.0).trainable


@pytest.mark.parametrize(
    ("initializer", "config"),
    [
        (tf.zeros_initializer(tf.int32), {"dtype": "int32"}),
        (tf.constant_initializer(3), {"value": 3, "dtype": "float32"}),
        (tf.random_uniform_initializer(-1, 2, seed=5), {"minval": -1, "maxval": 2, "seed": 5, "dtype": "float32"}),
        (tf.truncated_normal_initializer(stddev=0.1), {"mean": 0.0, "stddev": 0.1, "seed": None, "dtype": "float32"}),
        (tf.glorot_uniform_initializer(7), {"seed": 7, "dtype": "float32"}),
        (tf.initializers.identity(2.0), {"gain": 2.0, "dtype": "float32"}),
        (
            tf.variance_scaling_initializer(2.0, "fan_out", "uniform"),
            {"scale": 2.0, "mode": "fan_out", "distribution": "uniform", "seed": None, "dtype": "float32"},
        ),
    ],
)
def test_initializer_configurations(initializer, config):
    assert initializer.get_config() == config
    assert type(initializer).from_config(config).get_config() == config
