"""A graph over tasks is cut by task: what crosses, what is copied, in which order the parts run."""

import pytest

import tfcompat as tf
from tfcompat._src.base.device import DeviceSpec
from tfcompat._src.cluster import carried_derivatives, part_order, session_graph
from tfcompat._src.cluster.graph_partition import GraphPartition

PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"
ON_PS, ON_WORKER = (lambda: tf.device("/job:ps/task:0")), (lambda: tf.device("/job:worker/task:0"))


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def device_of(op):
    return f"{WORKER if DeviceSpec.from_string(op.device).job == 'worker' else PS}/device:CPU:0"


def parts(graph, fetches=(), targets=(), feeds=()):
    """The nodes of each part by name, of the graph as a master has it."""
    with tf.Graph().as_default() as imported:
        tf.import_graph_def(graph.as_graph_def(), name="")
        tensors = [[imported.get_tensor_by_name(t.name) for t in part] for part in (feeds, fetches)]
        targets = [imported.get_operation_by_name(op.name) for op in targets]
        found = GraphPartition(*tensors, targets, device_of, {PS: 1, WORKER: 1 << 63}).parts
        return {task: part.graph_def(imported).node for task, part in found.items()}


def kinds(nodes):
    return [node.op for node in nodes]


def test_a_tensor_crosses_once_for_a_task_and_constants_not_at_all(graph):
    with ON_PS():
        v = tf.Variable([1.0, 1.0], name="v")
        two = tf.constant(2.0)
    with ON_WORKER():
        found = v * two + v
    by_task = parts(graph, [found])
    assert kinds(by_task[PS]) == ["VariableV2", "Identity", "_Send"]
    assert sorted(kinds(by_task[WORKER])) == ["AddV2", "Const", "Mul", "_Recv", "_Send"]
    send, receive = by_task[PS][-1], next(node for node in by_task[WORKER] if node.op == "_Recv")
    for key in ("tensor_name", "send_device", "recv_device", "send_device_incarnation"):
        assert send.attr[key] == receive.attr[key]
    assert not send.attr["client_terminated"].b and by_task[WORKER][-1].attr["client_terminated"].b
    assert by_task[WORKER][-1].attr["send_device_incarnation"].i == -(1 << 63)


def test_feeds_go_to_the_tasks_that_use_them(graph):
    x = tf.placeholder(tf.float32, [2], name="x")
    with ON_PS():
        a = x + 1.0
    with ON_WORKER():
        b = x + a
    by_task = parts(graph, [b], feeds=[x])
    assert sorted(kinds(by_task[PS])) == ["AddV2", "Const", "_Recv", "_Send"]
    assert sorted(kinds(by_task[WORKER])) == ["AddV2", "_Recv", "_Recv", "_Send"]


def test_a_branch_is_sent_on_its_side_only(graph):
    with ON_PS():
        v = tf.Variable(1.0, name="v")
    with ON_WORKER():
        p = tf.placeholder(tf.bool, [], name="p")
        c = tf.cond(p, lambda: v + 1.0, lambda: tf.constant(0.0))
    by_task = parts(graph, [c], feeds=[p])
    assert "Merge" in kinds(by_task[WORKER])
    guarded = [n for n in by_task[WORKER] if n.op == "_Recv" and any(i.startswith("^") for i in n.input)]
    plain = [n for n in by_task[WORKER] if n.op == "_Recv" and not n.input]
    assert len(plain) + len(guarded) == kinds(by_task[PS]).count("_Send") + 1


def test_waiting_for_an_operation_of_another_task_crosses(graph):
    with ON_PS():
        v = tf.Variable(1.0, name="v")
        assigned = v.assign(2.0)
    with ON_WORKER(), tf.control_dependencies([assigned.op]):
        done = tf.no_op()
    by_task = parts(graph, targets=[done])
    (receive,) = (n for n in by_task[WORKER] if n.op == "_Recv")
    assert list(by_task[WORKER][-1].input) == [f"^{receive.name}"]
    empty = next(n for n in by_task[PS] if n.op == "Const" and n.input)
    assert list(empty.input) == [f"^{assigned.op.name}"] and empty.attr["value"].tensor.tensor_shape.dim[0].size == 0


def test_a_loop_is_on_one_task(graph):
    with ON_WORKER():
        start = tf.placeholder(tf.float32, [], name="start")
    found = tf.while_loop(lambda x: x < 10.0, lambda x: x * 2.0, [start])
    with ON_PS():
        queue = tf.FIFOQueue(1, tf.float32, shapes=[()])
    with ON_WORKER():
        other = tf.FIFOQueue(1, tf.float32, shapes=[()])
    both = tf.while_loop(lambda x: x < 10.0, lambda x: x + queue.dequeue() + other.dequeue(), [start])
    by_task = parts(graph, [found], feeds=[start])
    assert [task for task, nodes in by_task.items() if "NextIteration" in kinds(nodes)] == [PS]
    with pytest.raises(NotImplementedError, match="a loop on one task"):
        parts(graph, [both], feeds=[start])


def test_what_forwards_the_flow_of_an_array_is_where_its_loop_is(graph):
    with ON_WORKER():
        start = tf.placeholder(tf.float32, [], name="start")
        with tf.device(None):  # as 1.15's dynamic_rnn leaves it
            array = tf.TensorArray(tf.float32, 3, element_shape=[])
        found = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, start)), [0, array])[1]
        total = tf.reduce_sum(found.stack())
        slope = tf.gradients(total, start)[0]
    by_task = parts(graph, [total, slope], feeds=[start])
    assert sorted(kinds(by_task[PS])) == ["Const", "Const", "Range", "_Recv", "_Send"]  # of stack(), colocated with the array; no flow crosses


def test_parts_of_ours_keep_their_order_and_others_send_before_they_wait(graph):
    with ON_PS():
        v = tf.Variable(1.0, name="v")
    with ON_WORKER():
        g = v * 2.0
    with ON_PS():
        applied = v.assign_sub(g)
    nodes = parts(graph, targets=[applied.op])[PS]
    ours = tf.GraphDef(node=nodes)
    assert part_order.ordered(ours) is ours
    assert kinds(nodes).index("_Send") < kinds(nodes).index("_Recv")
    other = tf.GraphDef(node=reversed(nodes))
    for node in other.node:
        node.attr.pop(part_order.STAGE, None)
    order = kinds(part_order.ordered(other).node)
    assert order.index("_Send") < order.index("_Recv") < order.index("AssignSub")


def derived(graph, fetches, **fed):
    """What the parts of a graph, sent to a master, hold of its derivative: the nodes that there are for it alone, and whether it is noted."""
    sent = graph.as_graph_def()
    carried_derivatives.write(sent, graph.loop_derivatives)
    imported = tf.Graph()
    session_graph.extend(imported, sent)
    tensors = [[imported.get_tensor_by_name(t.name) for t in part] for part in (fed.get("feeds", ()), fetches)]
    found = {}
    for task, part in GraphPartition(*tensors, [], device_of, {PS: 1, WORKER: 2}, imported.loop_derivatives).parts.items():
        message, there = part.graph_def(imported), tf.Graph()
        found[task] = [node.name for node in message.node if carried_derivatives.KEPT in node.attr]
        session_graph.extend(there, message)
        found[task].append(bool(there.loop_derivatives))
    return found


def test_the_derivative_of_a_loop_goes_to_the_task_that_has_both_loops(graph):
    with ON_WORKER():
        x = tf.placeholder(tf.float32, [], name="x")
        y = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * s), [0, x])[1]
        slope = tf.gradients(3.0 * y, x)[0]
    count = next(op.outputs[0] for op in graph.get_operations() if op.name.startswith("gradients/b_count") and op.type == "Exit")
    popped = next(op.outputs[0] for op in graph.get_operations() if op.type == "StackPopV2")
    assert derived(graph, [slope], feeds=[x]) == {WORKER: [y.op.name, True]}
    assert derived(graph, [slope, y], feeds=[x]) == {WORKER: [True]}
    assert derived(graph, [y], feeds=[x]) == {WORKER: [False]}
    assert derived(graph, [slope, count], feeds=[x]) == {WORKER: [y.op.name, True]}  # the plan sees that a node is fetched
    assert derived(graph, [slope], feeds=[x, popped]) == {WORKER: [False]}
    assert derived(graph, [slope], feeds=[x, y]) == {WORKER: [False]}


def test_an_edited_backward_loop_is_sent_as_its_nodes(graph):
    with ON_WORKER():
        x = tf.placeholder(tf.float32, [], name="x")
        slope = tf.gradients(tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * s), [0, x])[1], x)[0]
    product = next(op for op in graph.get_operations() if op.type == "Mul" and op.name.startswith("gradients/while/mul_grad"))
    product._update_input(0, product.inputs[1])
    assert derived(graph, [slope], feeds=[x]) == {WORKER: [False]}


def test_what_a_message_says_of_a_derivative_must_fit_its_nodes(graph):
    x = tf.placeholder(tf.float32, [], name="x")
    tf.gradients(tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * s), [0, x])[1], x)
    sent = graph.as_graph_def()
    carried_derivatives.write(sent, graph.loop_derivatives)
    (says,) = (node for node in sent.node if "_gradients_of_exits" in node.attr)
    for line, of in ((b"while/Exit_1 x:0", "exits"), (b"x while/Exit_1:0", "exits"), (b"while/Enter_1 while/Exit_1:7", "entries")):
        bad = tf.GraphDef.FromString(sent.SerializeToString())
        node = next(node for node in bad.node if node.name == says.name)
        node.attr[f"_gradients_of_{of}"].list.s[:] = [line]
        there = tf.Graph()
        session_graph.extend(there, bad)
        assert not there.loop_derivatives
    there = tf.Graph()
    session_graph.extend(there, sent)
    assert len(there.loop_derivatives) == 1
    assert {node.name: node for node in there.as_graph_def().node} == {node.name: node for node in graph.as_graph_def().node}
