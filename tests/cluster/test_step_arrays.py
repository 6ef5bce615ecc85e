"""TensorArrays of loops that TensorFlow 1.15's masters divide over several tasks, where a flow is the float that 1.15.5 sends."""

import re
import threading

import numpy as np
import pytest
from cluster.test_cut_loops import FRAME, HERE, control_loop, crossing, node, run
from cluster.test_settled import key
from cluster.test_settled import worker as worker

import tfcompat as tf
from tfcompat._src.base import errors
from tfcompat._src.cluster.rendezvous import Iteration, Key

FLOW = {("flow", None): 0.0}


def constant(name, value):
    value = np.asarray(value)
    return node(name, "Const", dtype=tf.as_dtype(value.dtype), value=value)


def array(size, **attrs):
    """A TensorArray of `size` elements, and a flow of it that another task has forwarded."""
    made = node("array", "TensorArrayV3", "size", dtype=tf.float32, tensor_array_name="array", **attrs)
    return [constant("size", np.int32(size)), made, crossing("_Send", "begin", tf.float32, "array:1"), crossing("_Recv", "flow", tf.float32)]


def write(name, handle, index, value, flow):
    return [constant(f"{name}/index", np.int32(index)), constant(f"{name}/value", np.float32(value)), node(name, "TensorArrayWriteV3", handle, f"{name}/index", f"{name}/value", flow, T=tf.float32)]


def read(name, handle, index, flow):
    return [constant(f"{name}/index", np.int32(index)), node(name, "TensorArrayReadV3", handle, f"{name}/index", flow, dtype=tf.float32)]


def gather(name, handle, indices, flow):
    return [constant(f"{name}/indices", np.int32(indices)), node(name, "TensorArrayGatherV3", handle, f"{name}/indices", flow, dtype=tf.float32)]


def gradient(name, handle, flow, source="gradients"):
    return [node(name, "TensorArrayGradV3", handle, flow, source=source)]


def send(name, tensor, dtype=tf.float32):
    return [crossing("_Send", name, dtype, tensor)]


def forward_flow(step, count):
    """Does what the loop's own task does with a flow: forwards it from the array to the first of `count` iterations, to the next, and to the end."""
    sender, name = step, "begin"
    for i in range(count + 1):
        flow = sender.take_all([key(name)])[key(name)]
        assert (flow.value, flow.dtype) == (0.0, tf.float32)
        taker, taken = (step, "flow") if i == count else (step.inside(FRAME, i), "before")
        taker.put_all({str(Key(HERE, 1, HERE, taken)): flow})
        sender, name = taker, "after"


def test_each_iteration_writes_an_element_when_the_flow_goes_round_another_task(worker):
    nodes = [
        *array(3), *control_loop(), node("handle", "Enter", "array", T=tf.resource, frame_name=FRAME, is_constant=True),
        crossing("_Recv", "x", tf.float32, "^merge"), crossing("_Recv", "i", tf.int32, "^merge"), crossing("_Recv", "before", tf.float32, "^merge"),
        node("square", "Mul", "_Recv_x", "_Recv_x", T=tf.float32),
        node("write", "TensorArrayWriteV3", "handle", "_Recv_i", "square", "_Recv_before", T=tf.float32), *send("after", "write"),
        *gather("all", "array", [2, 1, 0], "_Recv_flow"), *send("result", "all"),
    ]  # fmt: skip
    for number, values in ((1, (2.0, 3.0, 5.0)), (2, (1.0, -4.0, 7.0))):
        threading.Thread(target=forward_flow, args=(Iteration(worker.steps.step(number)), len(values)), daemon=True).start()
        rounds = {(name, i): value for i, x in enumerate(values) for name, value in (("condition", True), ("x", x), ("i", i))}
        ends = {("condition", 3): False, ("x", 3): None, ("i", 3): None, ("before", 3): None}
        assert run(worker, number, nodes, {**rounds, **ends}, [("after", 3), ("result", None)]) == [None, [x * x for x in values[::-1]]]


def test_gradients_add_up_in_a_loop_over_tasks_when_the_flow_stays_here(worker):
    """The flow of the gradients begins as the number 0, as in TensorFlow's graphs, and each iteration adds that of a write."""
    inside = lambda name, source, dtype: node(name, "Enter", source, T=dtype, frame_name=FRAME, is_constant=True)
    nodes = [
        constant("size", np.int32(3)), node("array", "TensorArrayV3", "size", dtype=tf.float32), constant("all", np.arange(3, dtype=np.int32)),
        constant("values", np.ones(3, np.float32)), node("filled", "TensorArrayScatterV3", "array", "all", "values", "array:1", T=tf.float32),
        *control_loop(), inside("handle", "array", tf.resource), inside("elements", "filled", tf.float32), constant("zero", np.float32(0)),
        node("e_sum", "Enter", "zero", T=tf.float32, frame_name=FRAME, is_constant=False), node("m_sum", "Merge", "e_sum", "n_sum", T=tf.float32, N=2),
        node("s_sum", "Switch", "m_sum", "_Recv_condition", T=tf.float32), node("exit", "Exit", "s_sum", T=tf.float32),
        crossing("_Recv", "i", tf.int32, "^merge"), crossing("_Recv", "d", tf.float32, "^merge"), *gradient("g", "handle", "elements"),
        node("write", "TensorArrayWriteV3", "g", "_Recv_i", "_Recv_d", "elements", T=tf.float32), node("sum", "Add", "s_sum:1", "write", T=tf.float32),
        node("n_sum", "NextIteration", "sum", T=tf.float32), *gradient("sums", "array", "exit"),
        node("gradients", "TensorArrayGatherV3", "sums", "all", "exit", dtype=tf.float32), *send("result", "gradients"),
    ]  # fmt: skip
    writes = [(0, 2.0), (2, 5.0), (0, 3.0)]
    rounds = {(name, n): value for n, (i, d) in enumerate(writes) for name, value in (("condition", True), ("i", i), ("d", d))}
    ends = {("condition", 3): False, ("i", 3): None, ("d", 3): None}
    assert run(worker, 1, nodes, {**rounds, **ends}, [("result", None)]) == [[5.0, 0.0, 5.0]]


def test_gradients_of_one_call_add_up_wherever_they_are_asked_for(worker):
    nodes = [
        *array(2, element_shape=tf.TensorShape([2])), *write("x", "array", 0, [2.0, 3.0], "_Recv_flow"),
        *gradient("g", "array", "x"), *write("first", "g", 0, [1.0, 10.0], "g:1"),
        *gradient("again", "array", "first"), *write("second", "again", 0, [5.0, 20.0], "again:1"), *read("sum", "g", 0, "second"),
        *read("unwritten", "again", 1, "second"), *gradient("h", "array", "x", "gradients_1"), *read("zeros", "h", 0, "h:1"),
        *read("element", "array", 0, "second"),
        *(n for name in ("sum", "unwritten", "zeros", "element") for n in send(f"{name}_sent", name)),
    ]  # fmt: skip
    wanted = [(f"{name}_sent", None) for name in ("sum", "unwritten", "zeros", "element")]
    assert run(worker, 1, nodes, FLOW, wanted) == [[6.0, 30.0], [0.0, 0.0], [0.0, 0.0], [2.0, 3.0]]


def test_elements_of_several_lengths(worker):
    nodes = [
        *array(0, dynamic_size=True), constant("value", np.arange(4, dtype=np.float32)), constant("lengths", np.int64([1, 3])),
        node("split", "TensorArraySplitV3", "array", "value", "lengths", "_Recv_flow", T=tf.float32),
        *write("third", "array", 2, [8.0, 9.0], "split"), node("count", "TensorArraySizeV3", "array", "third"), *send("count_sent", "count", tf.int32),
        node("g", "TensorArrayGradWithShape", "array", "third", "wider", source="gradients"), constant("wider", np.int32([2])),
        *read("zeros", "g", 2, "g:1"), *send("zeros_sent", "zeros"),
        node("all", "TensorArrayConcatV3", "array", "third", dtype=tf.float32), *send("all_sent", "all"), *send("lengths_sent", "all:1", tf.int64),
    ]  # fmt: skip
    wanted = [(f"{name}_sent", None) for name in ("count", "zeros", "all", "lengths")]
    assert run(worker, 1, nodes, FLOW, wanted) == [3, [[0.0, 0.0], [0.0, 0.0]], [0.0, 1.0, 2.0, 3.0, 8.0, 9.0], [1, 3, 2]]


CLEARED = "TensorArray array_0: Could not read index 0 twice because it was cleared after a previous read (perhaps try setting clear_after_read = false?)."
FIXED = "TensorArray array_0: Tried to write to index 2 but array is not resizeable and size is: 1"
REFUSED = {
    "read twice": ([*read("a", "array", 0, "x"), *read("b", "array", 0, "x"), node("end", "Add", "a", "b", T=tf.float32)], CLEARED),
    "written twice": (
        write("end", "array", 0, 2.0, "x"), "TensorArray array_0: Could not write to TensorArray index 0 because it has already been written to.",
    ),
    "written when read": (
        [*read("a", "array", 0, "x"), *gradient("g", "array", "x"), *write("b", "g", 0, 1.0, "g:1"), *read("c", "g", 0, "b"), *write("end", "g", 0, 2.0, "b")],
        "TensorArray array_0@gradients: Could not write to TensorArray index 0 because it has already been read.",
    ),
    "grown when it has gradients": ([*gradient("g", "array", "x"), *write("end", "array", 2, 2.0, "g:1")], FIXED),
    "closed": (
        [node("close", "TensorArrayCloseV3", "array", "^x"), node("end", "TensorArraySizeV3", "array", "x", "^close")],
        "TensorArray array_0 has already been closed.",
    ),
}  # fmt: skip
"""Uses of an array of one written element, and what 1.15.5 says; it numbers all arrays of a process, and tfcompat none."""


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_in_the_words_of_tensorflow(worker, name):
    uses, message = REFUSED[name]
    nodes = [*array(1, dynamic_size=True), *write("x", "array", 0, 1.0, "_Recv_flow"), *uses]
    with pytest.raises(errors.InvalidArgumentError, match=re.escape(message)):
        run(worker, 1, nodes, FLOW, [])
