"""The phases of a part: what is sent first waits for nothing that it does not need; what cannot be cut stays whole."""

import tfcompat as tf
from tfcompat._src.cluster import session_graph
from tfcompat._src.cluster.phases import phases_of
from tfcompat._src.graph.graph import Graph

PLACES = {"send_device": "/job:ps/replica:0/task:0/device:CPU:0", "recv_device": "/job:worker/replica:0/task:0/device:CPU:0"}


def transfer(graph, kind, name, stage, tensor=None):
    """Adds a node that sends or receives to a graph."""
    node = tf.NodeDef(name=f"{kind}_{name}", op=kind, input=[] if tensor is None else [tensor.name])
    node.attr["T" if kind == "_Send" else "tensor_type"].type = tf.float32.as_datatype_enum
    for key, value in PLACES.items():
        node.attr[key].s = value.encode()
    node.attr["tensor_name"].s = name.encode()
    node.attr["send_device_incarnation"].i = 1
    if stage is not None:
        node.attr["_stage"].i = stage
    session_graph.extend(graph, tf.GraphDef(node=[node]))
    op = graph.get_operation_by_name(node.name)
    return op if kind == "_Send" else op.outputs[0]


def named(phase):
    return [key.split(";")[3] for key in phase.received], [key.split(";")[3] for key in phase.sent], sorted(op.name for op in phase.targets)


def test_a_parameter_server_sends_before_it_waits_for_gradients():
    with Graph().as_default() as graph:
        v = tf.Variable([1.0, 2.0], name="v")
        transfer(graph, "_Send", "value", 0, v._snapshot)
        gradient = transfer(graph, "_Recv", "gradient", 2)
        v.assign_sub(gradient, name="update")
    first, second = phases_of(graph)[:2]
    assert named(first) == ([], ["value"], [])
    assert named(second) == (["gradient"], [], ["update", "v/Assign"])
    assert second.fed == [gradient]


def test_phases_of_another_master_that_need_nothing_of_each_other_come_in_any_order():
    with Graph().as_default() as graph:
        v, w = tf.Variable(1.0, name="v"), tf.Variable(1.0, name="w")
        transfer(graph, "_Send", "values", None, v._snapshot)
        for name, variable, count in (("step", v, 1), ("weights", w, 2)):
            added = [transfer(graph, "_Recv", f"{name}{i}", None) for i in range(count)]
            transfer(graph, "_Send", name, None, variable.assign_add(tf.add_n(added)))
        late = transfer(graph, "_Recv", "late", None)
        tf.identity(late, name="end")
    found = phases_of(graph)
    assert [named(phase)[:2] for phase in found] == [
        ([], ["values"]), (["step0"], ["step"]), (["weights0", "weights1"], ["weights"]), (["late"], []),
    ]  # fmt: skip
    assert [sorted(phase.after) for phase in found] == [[], [0], [0], [0, 1, 2]]


def test_what_several_sends_of_another_master_need_comes_before_them():
    with Graph().as_default() as graph:
        a, b, c = (transfer(graph, "_Recv", name, None) for name in "abc")
        shared = tf.exp(b)
        with tf.control_dependencies([tf.assert_positive(b)]):
            checked = tf.identity(shared)
        transfer(graph, "_Send", "one", None, a + checked)
        transfer(graph, "_Send", "other", None, checked + c)
    found = phases_of(graph)
    assert [named(phase)[:2] for phase in found] == [(["b"], []), (["a"], ["one"]), (["c"], ["other"])]
    assert [sorted(phase.after) for phase in found] == [[], [0], [0]]
    assert found[0].given == [checked] and [phase.fed[-1] for phase in found[1:]] == [checked, c]


def test_what_is_only_waited_for_runs_once_before_all_that_wait():
    with Graph().as_default() as graph:
        v = tf.Variable(1.0, name="v")
        a, b = (transfer(graph, "_Recv", name, None) for name in "ab")
        with tf.control_dependencies([v.assign_add(1.0, name="add")]):
            transfer(graph, "_Send", "one", None, a + 1.0)
            transfer(graph, "_Send", "other", None, b + 1.0)
            for name in "one", "other":
                graph.get_operation_by_name(f"_Send_{name}").inputs[0].op._add_control_inputs([graph.get_operation_by_name("add")])
    assert ["add" in named(phase)[2] for phase in phases_of(graph)] == [True, False, False]


def test_a_worker_is_one_phase():
    with Graph().as_default() as graph:
        weights = transfer(graph, "_Recv", "weights", 1)
        bias = transfer(graph, "_Recv", "bias", 1)
        transfer(graph, "_Send", "gradient", 1, weights * 2.0)
        tf.add(weights, bias, name="loss")
    (only,) = phases_of(graph)
    assert named(only) == (["weights", "bias"], ["gradient"], ["loss"])


def test_a_value_of_one_phase_is_fed_to_the_next():
    with Graph().as_default() as graph:
        drawn = tf.random_normal([2])
        transfer(graph, "_Send", "drawn", 0, drawn)
        answer = transfer(graph, "_Recv", "answer", 2)
        tf.add(drawn, answer, name="both")
    first, second = phases_of(graph)
    assert drawn in first.given and second.fed == [drawn, answer]
    assert named(second) == (["answer"], [], ["both"])


def test_what_receives_in_a_branch_stays_a_node():
    with Graph().as_default() as graph:
        there = transfer(graph, "_Recv", "there", 1)
        predicate = tf.constant(True)
        tf.cond(predicate, lambda: tf.identity(there), lambda: tf.constant(0.0), name="cond")
        branch = next(op for op in graph.get_operations() if op.type == "Switch")
        taken = tf.identity(branch.outputs[1])
        with tf.control_dependencies([taken]):
            waiting = tf.constant(1.0)
        transfer(graph, "_Send", "branch", 1, waiting)
    (only,) = phases_of(graph)
    assert only.received == {} and "_Send_branch" in [op.name for op in only.targets]


def test_a_queue_does_not_hold_up_what_others_wait_for():
    with Graph().as_default() as graph:
        queue = tf.FIFOQueue(1, [tf.float32], [[]])
        transfer(graph, "_Send", "element", 0, queue.dequeue())
        transfer(graph, "_Recv", "next", 2)
        tf.identity(graph.get_operation_by_name("_Recv_next").outputs[0], name="end")
    (only,) = phases_of(graph)
    assert only.received == {}
