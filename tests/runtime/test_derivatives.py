"""Loops that tf.gradients makes: a plan has the derivative of the forward loop in their place, or runs their nodes; both give 1.15.5's numbers."""

import importlib
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from cases import observe
from long_run import count
from oracle import golden

import tfcompat as tf
from tfcompat._src.gradients import recognized_loops
from tfcompat._src.runtime.passes import derivatives
from tfcompat._src.runtime.passes import pipeline as planner

ROWS = {case.id.split("/")[1]: case for case in importlib.import_module("cases.loop_gradients").TABLE.cases}
FEW = ("invariant_and_start", "matmul", "not_changed", "serial", "embedding", "branch_in_branch", "one_sided", "nested_uses_outer", "rows_read_and_written")
"""Rows of which the nodes run here; all in a long run."""
NOT_RECOGNIZED = ("loop_in_branch",)
"""Rows whose loops are not recognized in a file."""
RECORDED = golden.read(Path(__file__).resolve().parents[1] / "golden/cases/loop_gradients.json.gz")
X = np.array([0.3, -0.2, 0.7], np.float32)


@pytest.fixture(autouse=True)
def graph():
    """A graph of its own for each test."""
    with tf.Graph().as_default() as made:
        yield made


@pytest.fixture
def nodes_run(monkeypatch):
    """Has all plans run backward loops as they are."""
    monkeypatch.setattr(planner, "with_derivatives", lambda ops, *rest: (ops, derivatives.NONE))


@pytest.mark.parametrize("name", count(FEW, ROWS))
def test_the_nodes_give_what_they_give_in_tensorflow(name, nodes_run):
    case, want = ROWS[name], RECORDED[f"loop_gradients/{name}"]
    with tf.Graph().as_default(), tf.Session() as session:
        inputs, outputs, _ = observe.build(tf, case)
        shapes = [leaf.array.shape for _, leaf in want["values"]]
        grads = observe.gradient_tensors(tf, case, inputs, outputs, shapes)
        observe.initialise(tf, session)
        found = iter(session.run([observe.gradient_fetch(g) for _, g in grads if g is not None], observe.feed_for(case, inputs)))
        for (_, kind, expected), (_, grad) in zip(want["gradients"], grads, strict=True):
            if grad is not None:
                have = observe.dense_gradient(kind, next(found), expected.array.shape)
                np.testing.assert_allclose(have, expected.array, rtol=1e-5, atol=1e-6 * max(1.0, np.abs(expected.array).max()))


def powers(x, count=3):
    """x to the power of `count` + 1."""
    return tf.while_loop(lambda i, s: i < count, lambda i, s: (i + 1, s * x), [0, x])[1]


def explained(fetches, feed):
    with tf.Session() as session:
        return session.explain(fetches, feed)


def test_a_plan_has_the_derivative_of_the_loop():
    x = tf.placeholder(tf.float32, [3])
    slope = tf.gradients(powers(x), x)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(slope, {x: X})[0], 4 * X**3, rtol=1e-6)
        text = session.explain(slope, {x: X})
    assert "loop gradient" in text and "0 host step(s)" in text and "StackPop" not in text


def test_what_waits_for_a_gradient_waits_for_the_derivative():
    x = tf.placeholder(tf.float32, [3])
    slope = tf.gradients(powers(x), x)[0]
    with tf.control_dependencies([slope]):
        later = 2.0 * x
    with tf.Session() as session:
        found = session.run([slope, later], {x: X})
        text = session.explain([slope, later], {x: X})
    np.testing.assert_allclose(found, [4 * X**3, 2 * X], rtol=1e-6)
    assert "loop gradient" in text and "0 host step(s)" in text


def test_training_of_an_rnn_over_embedded_words_is_one_compiled_call():
    words = tf.placeholder(tf.int32, [None, None])
    embedded = tf.nn.embedding_lookup(tf.get_variable("embedding", [5, 3]), words)
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(4), embedded, dtype=tf.float32)
    step = tf.train.AdamOptimizer().minimize(tf.reduce_sum(outputs))
    assert "plan: 1 compiled call(s), 0 host step(s)" in explained(step, {words: np.ones([2, 6], np.int32)})


def test_two_calls_go_back_over_one_loop():
    x = tf.placeholder(tf.float32, [3])
    y = powers(x)
    slopes = [tf.gradients(y, x)[0], tf.gradients(2.0 * y, x)[0]]
    with tf.Session() as session:
        for have, want in zip(session.run(slopes, {x: X}), (4 * X**3, 8 * X**3)):
            np.testing.assert_allclose(have, want, rtol=1e-6)
    assert "0 host step(s)" in explained(slopes, {x: X})


def test_a_loop_that_pushes_for_nodes_runs_as_it_is():
    """One backward loop is changed, so that the other pops too."""
    x = tf.placeholder(tf.float32, [3])
    y = powers(x)
    kept, changed = tf.gradients(y, x)[0], tf.gradients(y, x)[0]
    changed.op._update_input(0, changed.op.inputs[1])
    with tf.Session() as session:
        have = session.run(kept, {x: X})
        np.testing.assert_allclose(have, 4 * X**3, rtol=1e-6)
        have, other = session.run([kept, changed], {x: X})
    np.testing.assert_allclose(have, 4 * X**3, rtol=1e-6)
    np.testing.assert_allclose(other, 6 * X**3, rtol=1e-6)


def test_an_edited_backward_loop_runs_as_it_is(graph):
    x = tf.placeholder(tf.float32, [3])
    slope = tf.gradients(tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * 2.0), [0, x])[1], x)[0]
    product = next(op for op in graph.get_operations() if op.type == "Mul" and op.name.startswith("gradients/while/mul_grad"))
    user = next(op for op in graph.get_operations() if product.outputs[0] in op.inputs)
    user._update_input(list(user.inputs).index(product.outputs[0]), product.inputs[0])
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(slope, {x: X}), np.ones(3))


def test_the_count_of_a_loop_is_fetched(graph):
    x = tf.placeholder(tf.float32, [3])
    slope = tf.gradients(powers(x, 5), x)[0]
    count = next(op for op in graph.get_operations() if op.type == "Exit" and "f_count" in op.name)
    with tf.Session() as session:
        times, have = session.run([count.outputs[0], slope], {x: X})
    assert times == 5
    np.testing.assert_allclose(have, 6 * X**5, rtol=1e-5)


def test_slices_are_those_of_tensorflow_where_they_are_fetched():
    table = tf.get_variable("table", [5, 3], initializer=tf.ones_initializer())
    y = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * tf.nn.embedding_lookup(table, i)), [0, tf.constant(X)])[1]
    slices = tf.gradients(y, table)[0]
    dense = tf.convert_to_tensor(slices)
    with tf.Session() as session:
        session.run(table.initializer)
        found = session.run(slices)
        np.testing.assert_array_equal(found.indices, [0, 2, 1, 0])
        np.testing.assert_allclose(found.values, [np.zeros(3), X, X, X], rtol=1e-6)
        np.testing.assert_allclose(session.run(dense), [X, X, X, np.zeros(3), np.zeros(3)], rtol=1e-6)


def test_gradients_inside_the_body_of_a_loop():
    """Gradient descent as a loop, on a loop: the values are 1.15.5's."""
    x = tf.placeholder(tf.float32, [3])

    def slope(w):
        y = tf.while_loop(lambda j, t: j < 3, lambda j, t: (j + 1, t * w + tf.sin(t)), [0, w])[1]
        return tf.gradients(y, w)[0]

    found = tf.while_loop(lambda i, w: i < 4, lambda i, w: (i + 1, w - 0.01 * slope(w)), [0, x])[1]
    chosen = tf.cond(tf.reduce_sum(x) > 0.0, lambda: slope(x), lambda: x)
    with tf.Session() as session:
        have = session.run([found, chosen], {x: X})
    np.testing.assert_allclose(have[0], [0.18573718, -0.20420453, 0.5420966], rtol=1e-6)
    np.testing.assert_allclose(have[1], [3.2013073, 0.1098341, 3.7357693], rtol=1e-6)
    assert "0 host step(s)" in explained([found, chosen], {x: X})


def test_a_gradient_of_its_own_inside_a_loop():
    @tf.custom_gradient
    def doubled(value):
        return 2.0 * value, lambda grad: 10.0 * grad

    x = tf.placeholder(tf.float32, [3])
    slope = tf.gradients(tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, doubled(s)), [0, x])[1], x)[0]
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(slope, {x: X}), np.full(3, 1000.0))


def test_host_work_inside_a_loop():
    x = tf.placeholder(tf.float32, [])

    def body(i, s):
        factor = tf.py_func(lambda n: np.float32(n + 1), [i], tf.float32)
        factor.set_shape([])
        return i + 1, s * factor

    slope = tf.gradients(tf.while_loop(lambda i, s: i < 4, body, [0, x])[1], x)[0]
    with tf.Session() as session:
        assert session.run(slope, {x: 1.5}) == 24.0


def imported(definition):
    """The graph of a GraphDef, of which the loops have been looked at."""
    with tf.Graph().as_default() as made:
        tf.import_graph_def(definition, name="")
    derivatives.noted_in(made, made.get_operations())
    return made


@pytest.mark.parametrize("name", count([n for n in FEW if n != "serial"], ROWS))
def test_a_file_has_the_derivatives_of_what_it_was_made_of(name, graph):
    case, want = ROWS[name], RECORDED[f"loop_gradients/{name}"]
    inputs, outputs, _ = observe.build(tf, case)
    grads = observe.gradient_tensors(tf, case, inputs, outputs, [leaf.array.shape for _, leaf in want["values"]])
    dense = [tf.convert_to_tensor(g).name for _, g in grads if g is not None]
    initializers = [v.initializer.name for v in tf.global_variables()]
    there = imported(graph.as_graph_def(add_shapes=True))
    if name not in NOT_RECOGNIZED and any(op.type == "StackPopV2" for op in graph.get_operations()):
        assert len(there.loop_derivatives) == len(graph.loop_derivatives)
    with tf.Session(graph=there) as session:
        session.run(initializers)
        found = iter(session.run(dense, {key.name: value for key, value in observe.feed_for(case, inputs).items()}))
    for (_, _, expected), (_, grad) in zip(want["gradients"], grads, strict=True):
        if grad is not None:
            np.testing.assert_allclose(next(found), expected.array, rtol=1e-5, atol=1e-6 * max(1.0, np.abs(expected.array).max()))


def lstm_step(graph):
    """A recurrent network's gradient, named "slope", as a GraphDef."""
    x = tf.placeholder(tf.float32, [2, 5, 3], name="x")
    with tf.variable_scope("net", initializer=tf.constant_initializer(0.1)):
        outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(4), x, tf.constant([5, 3]), dtype=tf.float32)
    tf.identity(tf.gradients(tf.reduce_sum(outputs * outputs), x)[0], name="slope")
    return tf.graph_util.extract_sub_graph(graph.as_graph_def(add_shapes=True), ["slope"])


def test_the_plan_of_a_file_has_the_derivative(graph):
    definition = lstm_step(graph)
    with tf.Session(graph=imported(definition)) as session:
        text = session.explain("slope:0", {"x:0": np.ones((2, 5, 3))})
    assert "gradient of gradients/f_count" in text and "StackPop" not in text


def test_a_backward_loop_that_is_changed_in_a_file_is_not_recognized(graph):
    definition = lstm_step(graph)
    others = {"Mul": "Sub", "Sub": "Mul", "Add": "Sub", "TanhGrad": "SigmoidGrad", "SigmoidGrad": "TanhGrad", "Select": "", "Const": ""}
    assert imported(definition).loop_derivatives
    changed = 0
    for node in definition.node:
        if not node.name.startswith("gradients/net/rnn/while/") or node.op not in others:
            continue
        edited = tf.GraphDef.FromString(definition.SerializeToString())
        there = next(n for n in edited.node if n.name == node.name)
        if others[node.op]:
            there.op = others[node.op]
        elif node.op == "Select":
            there.input[1], there.input[2] = there.input[2], there.input[1]
        elif not there.attr["value"].tensor.float_val:
            continue
        else:
            there.attr["value"].tensor.float_val[:] = [1.0]
        assert not imported(edited).loop_derivatives, node.name
        changed += 1
    assert changed == 18


def test_a_stack_that_something_else_pops_from_too_is_not_that_of_a_derivative(graph):
    definition = lstm_step(graph)
    pop = next(node for node in definition.node if node.op == "StackPopV2")
    definition.node.add(name="again", op="StackPopV2", input=list(pop.input)).attr["elem_type"].CopyFrom(pop.attr["elem_type"])
    assert not imported(definition).loop_derivatives


@pytest.mark.parametrize("error", [LookupError("No gradient defined"), ValueError("refused"), NotImplementedError("not done")])
def test_a_loop_whose_gradients_cannot_be_made_again_runs_its_nodes(graph, monkeypatch, error):
    monkeypatch.setattr(recognized_loops, "gradients_of_results", Mock(side_effect=error))
    definition = lstm_step(graph)
    assert not imported(definition).loop_derivatives


@pytest.mark.parametrize("error", [KeyError("x"), IndexError("x"), TypeError("x"), AttributeError("x")])
def test_a_bug_while_gradients_are_made_again_is_no_slow_run(graph, monkeypatch, error):
    monkeypatch.setattr(recognized_loops, "gradients_of_results", Mock(side_effect=error))
    definition = lstm_step(graph)
    with pytest.raises(type(error)):
        imported(definition)
