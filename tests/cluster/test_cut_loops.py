"""Loops that TensorFlow 1.15's master divides over several tasks, iteration by iteration; the parts have the form in which 1.15.5 registers them.

In every part that takes part in a loop the master builds a loop of its own around an empty tensor, on the condition that the loop's own
task computes and sends. What is received within the loop waits for that loop's Merge.
"""

import re

import numpy as np
import pytest
from cluster.test_phases import PLACES
from cluster.test_settled import key
from cluster.test_settled import worker as worker

import tfcompat as tf
from tfcompat._src.base import errors
from tfcompat._src.cluster import session_graph
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.rendezvous import Arrived, Iteration, Key
from tfcompat._src.cluster.settled import SettledGraphs
from tfcompat._src.graph.graph import Graph

HERE = PLACES["send_device"]
FRAME = "while/while_context"
RECORDED_FRAME = "1496156560211570566:2"


def node(name, op, *inputs, **attrs):
    """A NodeDef; attributes are dtypes, strings, booleans, shapes or arrays."""
    made = tf.NodeDef(name=name, op=op, input=inputs)
    for attr, value in attrs.items():
        if isinstance(value, tf.DType):
            made.attr[attr].type = value.as_datatype_enum
        elif isinstance(value, bool):
            made.attr[attr].b = value
        elif isinstance(value, int):
            made.attr[attr].i = value
        elif isinstance(value, str):
            made.attr[attr].s = value.encode()
        elif isinstance(value, tf.TensorShape):
            made.attr[attr].shape.CopyFrom(value.as_proto())
        else:
            made.attr[attr].tensor.CopyFrom(tf.make_tensor_proto(value))
    return made


def crossing(kind, name, dtype, *inputs):
    """A node that sends to another task, or receives; what is received comes under a key of this task, so that no other is asked for it."""
    type_attr, places = ("T", PLACES) if kind == "_Send" else ("tensor_type", {**PLACES, "recv_device": HERE})
    made = node(f"{kind}_{name}", kind, *inputs, **{type_attr: dtype}, tensor_name=name, client_terminated=False, **places)
    made.attr["send_device_incarnation"].i = 1
    return made


def control_loop(frame=FRAME):
    """The master's own loop in a part, on a condition that is received."""
    return [
        node("start", "Const", dtype=tf.float32, value=np.zeros(0, np.float32)), node("enter", "Enter", "start", T=tf.float32, frame_name=frame, is_constant=False),
        node("merge", "Merge", "enter", "next", T=tf.float32, N=2), crossing("_Recv", "condition", tf.bool, "^merge"),
        node("switch", "Switch", "merge", "_Recv_condition", T=tf.float32), node("next", "NextIteration", "switch:1", T=tf.float32),
    ]  # fmt: skip


def run(worker, number, nodes, received, wanted):
    """What a part sends, None where it is dead; `received` and `wanted` by name and iteration, None outside of the loop."""
    step = worker.steps.step(number)

    def at(iteration):
        return Iteration(step) if iteration is None else Iteration(step).inside(FRAME, iteration)

    for (name, iteration), value in received.items():
        dtype = {bool: tf.bool, int: tf.int32}.get(type(value), tf.float32)
        at(iteration).put_all({str(Key(HERE, 1, HERE, name)): Arrived(None if value is None else dtype.as_numpy_dtype(value), dtype, value is None)})
    handle = worker.register("session", tf.GraphDef(node=nodes), tf.GraphOptions())
    worker.run_graph("session", handle, number, {}, tf.RunOptions(), Cancellation())
    found = [at(iteration).take_all([key(name)])[key(name)] for name, iteration in wanted]
    worker.cleanup(number)
    return [None if one.is_dead else np.asarray(one.value).tolist() for one in found]


def test_a_part_computes_in_each_iteration_and_sends_nothing_when_the_condition_is_false(worker):
    nodes = [
        *control_loop(), node("three", "Const", dtype=tf.float32, value=np.float32(3)),
        crossing("_Recv", "x", tf.float32, "^merge"), node("y", "Mul", "_Recv_x", "_Recv_x", T=tf.float32), crossing("_Send", "y", tf.float32, "y"),
        node("outside", "Neg", "three", T=tf.float32), crossing("_Send", "outside", tf.float32, "outside"),
    ]  # fmt: skip
    rounds = {("condition", 0): True, ("x", 0): 2.0, ("condition", 1): True, ("x", 1): 5.0, ("condition", 2): False, ("x", 2): None}
    wanted = [("y", 0), ("y", 1), ("y", 2), ("outside", None)]
    assert run(worker, 1, nodes, rounds, wanted) == [4.0, 25.0, None, -3.0]
    assert run(worker, 2, nodes, {("condition", 0): False, ("x", 0): None}, [("y", 0), ("outside", None)]) == [None, -3.0]


def test_the_task_of_a_loop_carries_its_variables_and_sends_the_condition(worker):
    """a = b(a) four times from x, where another task computes b; the loop's task adds 1, counts, and sends what is left."""
    number = lambda name, value: node(name, "Const", *(["^m_i"] if name != "zero" else []), dtype=tf.int32, value=np.int32(value))
    nodes = [
        number("zero", 0), crossing("_Recv", "x", tf.float32),
        node("e_i", "Enter", "zero", T=tf.int32, frame_name=FRAME, is_constant=False),
        node("e_a", "Enter", "_Recv_x", T=tf.float32, frame_name=FRAME, is_constant=False),
        node("m_i", "Merge", "e_i", "n_i", T=tf.int32, N=2), node("m_a", "Merge", "e_a", "n_a", T=tf.float32, N=2),
        number("limit", 4), node("less", "Less", "m_i", "limit", T=tf.int32), node("condition", "LoopCond", "less"), crossing("_Send", "condition", tf.bool, "condition"),
        node("s_i", "Switch", "m_i", "condition", T=tf.int32), node("s_a", "Switch", "m_a", "condition", T=tf.float32),
        number("one", 1), node("i", "Add", "s_i:1", "one", T=tf.int32), node("n_i", "NextIteration", "i", T=tf.int32),
        crossing("_Send", "a", tf.float32, "s_a:1"), crossing("_Recv", "b", tf.float32, "^m_i"), node("n_a", "NextIteration", "_Recv_b", T=tf.float32),
        node("exit", "Exit", "s_a", T=tf.float32), node("twice", "Add", "exit", "exit", T=tf.float32), crossing("_Send", "result", tf.float32, "twice"),
    ]  # fmt: skip
    received = {("x", None): 3.0, **{("b", i): 10.0 + i for i in range(4)}, ("b", 4): None}
    wanted = [*(("a", i) for i in range(5)), ("result", None)]
    assert run(worker, 1, nodes, received, wanted) == [3.0, 10.0, 11.0, 12.0, None, 26.0]


@pytest.mark.parametrize("is_taken", [True, False])
def test_a_conditional_one_side_of_which_another_task_computes(worker, is_taken):
    """As the gradient of such a conditional: each sum has zeros from one side, where the other comes from the other task."""
    nodes = [
        crossing("_Recv", "taken", tf.bool), crossing("_Recv", "on", tf.float32), crossing("_Recv", "off", tf.float32),
        node("zero", "Const", dtype=tf.float32, value=np.float32(0)), node("switch", "Switch", "zero", "_Recv_taken", T=tf.float32),
        node("twice", "Add", "_Recv_on", "_Recv_on", T=tf.float32),
        node("first", "Merge", "switch", "twice", T=tf.float32, N=2), node("second", "Merge", "_Recv_off", "switch:1", T=tf.float32, N=2),
        node("sum", "AddN", "first", "second", T=tf.float32, N=2), crossing("_Send", "sum", tf.float32, "sum"),
    ]  # fmt: skip
    received = {("taken", None): is_taken, ("on", None): 3.0 if is_taken else None, ("off", None): None if is_taken else 5.0}
    assert run(worker, 1, nodes, received, [("sum", None)]) == [6.0 if is_taken else 5.0]


def test_the_error_of_a_loop_is_derived_for_tasks_that_wait_for_its_tensors(worker):
    nodes = [
        *control_loop(), crossing("_Recv", "x", tf.float32, "^merge"), node("y", "CheckNumerics", "_Recv_x", T=tf.float32, message="bad"),
        crossing("_Send", "y", tf.float32, "y"), crossing("_Recv", "later", tf.float32), crossing("_Send", "end", tf.float32, "_Recv_later"),
    ]  # fmt: skip
    with pytest.raises(errors.InvalidArgumentError, match="^bad : Tensor had Inf values"):
        run(worker, 1, nodes, {("condition", 0): True, ("x", 0): np.inf}, [])
    device = worker.devices()[0]
    with pytest.raises(errors.InvalidArgumentError, match=re.escape("[_Derived_]bad : Tensor had Inf values")):
        worker.recv_tensor(1, str(Key(device.name, device.incarnation, PLACES["recv_device"], "y")), Cancellation())


def test_a_merge_of_something_else_is_refused_by_name(worker):
    nodes = [*control_loop(), crossing("_Recv", "x", tf.float32, "^merge"), crossing("_Send", "index", tf.int32, "merge:1")]
    with pytest.raises(NotImplementedError, match="'merge' does not merge one Enter and one NextIteration"):
        worker.register("session", tf.GraphDef(node=nodes), tf.GraphOptions())


def test_a_loop_that_would_hold_up_its_own_sends_is_refused_by_name(worker):
    nodes = [
        *control_loop(), crossing("_Recv", "x", tf.float32, "^merge"), node("y", "Neg", "_Recv_x", T=tf.float32), crossing("_Send", "y", tf.float32, "y"),
        queue := node("queue", "FIFOQueueV2"), node("size", "QueueSizeV2", "queue", "^merge"),
        taken := node("taken", "QueueDequeueV2", "queue", "^merge"), crossing("_Send", "taken", tf.float32, "taken"),
    ]  # fmt: skip
    for each in (queue, taken):
        each.attr["component_types"].list.type.append(tf.float32.as_datatype_enum)
    with pytest.raises(NotImplementedError, match=f"take part in the loop '{FRAME}', .* would have to send and receive while it runs"):
        worker.register("session", tf.GraphDef(node=nodes), tf.GraphOptions())


def test_iterations_have_the_names_that_tensorflow_gives_them():
    """Recorded: the key of a tensor that a worker of 1.15.5 asks for in iteration 2 of a loop."""
    taken = []

    class Step:
        def has_put(self, text):
            taken.append(text)

    Iteration(Step()).inside(FRAME, 2).has_put(key("x"))
    assert taken == [key("x").removesuffix("0:0") + RECORDED_FRAME]


class Session:
    """A session that only counts how many there are."""

    is_open = 0

    def __init__(self, graph):
        Session.is_open += 1

    def close(self):
        Session.is_open -= 1


def test_settled_graphs_beyond_the_bound_are_closed_when_nothing_uses_them():
    graph = Graph()
    nodes = [node(f"p{i}", "Placeholder", dtype=tf.bool) for i in range(3)]
    session_graph.extend(graph, tf.GraphDef(node=nodes))
    predicates = [op.outputs[0] for op in graph.get_operations()]
    Session.is_open = 0
    graphs = SettledGraphs(graph, tf.GraphDef().library, {op: () for op in graph.get_operations()}, Session, bound=2)
    with graphs.lent((), {predicates[0]: True}) as first:
        for values in ([True, True], [True, False], [False, True], [False, False]):
            with graphs.lent((), dict(zip(predicates, values))):
                pass
        assert Session.is_open == 2
        with graphs.lent((), {predicates[0]: True}) as again:
            assert again is first
    graphs.close()
    assert Session.is_open == 0
