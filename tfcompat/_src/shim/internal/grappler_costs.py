"""Grappler's analytical cost model of 1.15.5: the time of each node on a device with given properties, a schedule, and its memory.

A roofline without overlap: a node takes ceil(operations / gigaops) + ceil(bytes / (GB/s)) nanoseconds, where bytes are those of its inputs and
outputs. The operations per element of element-wise nodes are those that 1.15.5 reports.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from typing import NamedTuple

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages

# Operations per element. Other op types have none: only their bytes count.
_PER_ELEMENT = {
    name: cost
    for cost, names in {
        1: "Cast Ceil Erf Erfc Floor InvGrad Lgamma Neg Rint Round Square Relu Add ApproximateEqual BiasAdd Equal Greater GreaterEqual Less LessEqual "
        "LogicalAnd LogicalNot LogicalOr Maximum Minimum Mul NotEqual ReluGrad Sub",
        3: "Sign",
        5: "Acos Asin Atan Cos Rsqrt Sin Tan",
        8: "Sqrt FloorMod Mod TruncateMod",
        14: "Inv Reciprocal Div FloorDiv RealDiv TruncateDiv",
        19: "Atan2",
        34: "Exp Expm1",
        36: "Tanh",
        37: "Sigmoid",
        50: "Log Log1p",
    }.items()
    for name in names.split()
}
# Op types whose outputs are persistent memory, not that of a run.
HELD = frozenset(("Const", "Variable", "VariableV2", "AutoReloadVariable", "VarHandleOp", "ReadVariableOp"))
# Op types that 1.15.5 counts as 1 ns, whatever their sizes.
_CHEAP = HELD | frozenset(
    "Placeholder Identity IdentityN RefIdentity StopGradient PreventGradient Reshape Squeeze Rank Shape ShapeN Size".split()
)
# Op types with a formula of their own in 1.15.5 that tfcompat does not have.
_OWN_FORMULA = frozenset(
    "Conv2D Conv2DBackpropFilter Conv2DBackpropInput FusedConv2DBiasActivation DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter "
    "DepthwiseConv2dNativeBackpropInput SparseTensorDenseMatMul BatchMatMul XlaEinsum QuantizedMatMul QuantizedMatMulV2 QuantizeV2 Dequantize "
    "QuantizedSigmoid QuantizedBiasAdd QuantizedAdd QuantizedMul ScatterAdd ScatterDiv ScatterMax ScatterMin ScatterMul ScatterSub ScatterUpdate "
    "MaxPool MaxPoolGrad AvgPool AvgPoolGrad FusedBatchNorm FusedBatchNormGrad".split()
)
_CONTROL_FLOW = frozenset("Switch Merge Enter Exit NextIteration LoopCond RefSwitch RefMerge RefEnter RefExit RefNextIteration".split())


class Cost(NamedTuple):
    """The time of a node in nanoseconds: for computing, for moving bytes, and in total."""

    compute: int
    memory: int
    total: int


class Step(NamedTuple):
    """An operation of a schedule, with its start and end in nanoseconds."""

    op: Operation
    start: int
    end: int
    cost: Cost


class LiveTensor(NamedTuple):
    """An output of a node, its size in bytes, and the times at which its memory is allocated and freed, in nanoseconds."""

    node: str
    output: int
    size: int
    allocated: int
    freed: int


def gigaops(device: messages.DeviceProperties) -> float:
    """Returns the speed of a device in 1e9 operations per second; -1 for devices other than CPU and GPU.

    Cores x clock rate; for a GPU, times twice the lanes of a multiprocessor of its architecture (a multiply-add counts as two).

    Raises:
      ValueError: a GPU without an architecture in its environment; 1.15 ends the process in this case.
    """
    rate: float = device.num_cores * device.frequency * 1e-3
    if device.type == "CPU":
        return rate
    if device.type != "GPU":
        return -1.0
    if "architecture" not in device.environment:
        raise ValueError("The properties of a GPU have no environment['architecture']. Set its compute capability there, for instance '7'.")
    # Strings are compared, as in 1.15. Lanes by major compute capability: below 3 32, 3 192, 4 and 5 128, later 64.
    architecture = device.environment["architecture"]
    lanes = next((lanes for below, lanes in (("3", 32), ("4", 192), ("6", 128)) if architecture < below), 64)
    return rate * lanes * 2


def _gigabytes(device: messages.DeviceProperties) -> float:
    """Returns the memory bandwidth of a device in GB/s; without one in its properties, 32 for a CPU and 100 for other devices."""
    return device.bandwidth / 1e6 if device.bandwidth > 0 else 32.0 if device.type == "CPU" else 100.0


def elements(tensor: Tensor) -> int:
    """Returns the number of elements of a tensor; an unknown size counts as 1, and so does an unknown rank."""
    return math.prod(1 if size is None else size for size in tensor.shape.as_list()) if tensor.shape.ndims is not None else 1


def size_of(tensor: Tensor) -> int:
    """Returns the size of a tensor in bytes; 0 for strings and handles."""
    base = tensor.dtype.base_dtype
    return elements(tensor) * base.size if base.is_numpy_compatible and base.name != "string" else 0


def cost_of(op: Operation, device: messages.DeviceProperties) -> Cost:
    """Estimates the time of an operation on a device.

    Raises:
      NotImplementedError: the op type has a formula of its own in 1.15 that tfcompat lacks; it is control flow or calls a function;
        or the speed of the device is unknown.
    """
    # Nodes that 1.15.5 does not time.
    if op.type in ("NoOp", "GuaranteeConst"):
        return Cost(0, 0, 0)
    if op.type in _CHEAP:
        return Cost(1, 0, 1)
    _refuse_what_is_not_estimated(op)
    speed = gigaops(device)
    if speed <= 0:
        raise NotImplementedError(
            f"Cluster: the time of {op.name!r} cannot be estimated, as its device ({device.type}) has no num_cores or no frequency. Set both."
        )
    # A gather or slice reads only what it returns, and its indices (or begin and size).
    taken, given = sum(map(size_of, op.inputs)), sum(map(size_of, op.outputs))
    if op.type in ("Gather", "GatherV2", "Slice"):
        taken = given + sum(elements(t) for t in op.inputs[1 : 3 if op.type == "Slice" else 2])
    compute, memory = math.ceil(_operations(op) / speed), math.ceil((taken + given) / _gigabytes(device))
    return Cost(compute, memory, compute + memory)


def _refuse_what_is_not_estimated(op: Operation) -> None:
    """Raises NotImplementedError for an operation that the model does not cover."""
    if op.type in _OWN_FORMULA:
        raise NotImplementedError(f"Cluster: {op.type} (node {op.name!r}) has a cost formula of its own in TensorFlow, which tfcompat does not have.")
    if op.type in _CONTROL_FLOW or any(attr.WhichOneof("value") == "func" for attr in op.node_def.attr.values()):
        raise NotImplementedError(f"Cluster: the cost of control flow and function calls is not estimated: {op.type} (node {op.name!r}).")


def _operations(op: Operation) -> int:
    """Returns the number of arithmetic operations of a node."""
    # Of inner sizes that differ (one may be unknown, and count as 1) the larger is taken.
    if op.type in ("MatMul", "SparseMatMul"):
        (rows, inner), columns = (_sizes(op.inputs[0], op.get_attr("transpose_a")), _sizes(op.inputs[1], op.get_attr("transpose_b")))
        return 2 * rows * max(inner, columns[0]) * columns[1]
    if op.type in ("Gather", "GatherV2", "Slice"):
        return elements(op.outputs[0])
    # The largest tensor has the elements of the broadcast.
    if op.type in _PER_ELEMENT:
        return _PER_ELEMENT[op.type] * max(map(elements, [*op.inputs, *op.outputs]))
    return 0


def _sizes(matrix: Tensor, transposed: bool) -> list[int]:
    """Returns the rows and columns of a matrix after the transposition; unknown ones are 1."""
    sizes = [1 if size is None else size for size in matrix.shape.as_list()] if matrix.shape.ndims == 2 else [1, 1]
    return sizes[::-1] if transposed else sizes


def schedule(operations: list[Operation], device: messages.DeviceProperties) -> list[Step]:
    """Schedules operations one after another on one device: the one that was ready first, then by name."""
    # Kahn's topological sort with a heap, by the time at which the last input of a node is ready.
    waiting = {op: {*(t.op for t in op.inputs), *op.control_inputs} for op in operations}
    takers: dict[Operation, list[Operation]] = {op: [] for op in operations}
    for op, sources in waiting.items():
        for source in sources:
            takers[source].append(op)
    ready = [(0, op.name, op) for op in operations if not waiting[op]]
    heapq.heapify(ready)
    steps: list[Step] = []
    now = 0
    while ready:
        op = heapq.heappop(ready)[2]
        cost = cost_of(op, device)
        steps.append(Step(op, now, now + cost.total, cost))
        now += cost.total
        for taker in takers[op]:
            waiting[taker].discard(op)
            if not waiting[taker]:
                heapq.heappush(ready, (now, taker.name, taker))
    return steps


def in_microseconds(steps: Iterable[Step]) -> list[Step]:
    """Rounds start and end of steps down to whole microseconds, the precision of traces; the unit stays nanoseconds."""
    return [step._replace(start=step.start // 1000 * 1000, end=step.end // 1000 * 1000) for step in steps]


def peak_memory(live: list[LiveTensor]) -> tuple[int, list[LiveTensor]]:
    """Returns the peak of the memory in bytes, and the tensors that are live then; (-1, []) without tensors."""
    # The sum grows only when a tensor is allocated, so that the peak is at one of these times.
    most, at_peak = -1, list[LiveTensor]()
    for moment in sorted({tensor.allocated for tensor in live}):
        held = [tensor for tensor in live if tensor.allocated <= moment < tensor.freed]
        total = sum(tensor.size for tensor in held)
        if total > most:
            most, at_peak = total, held
    return most, at_peak


def needed_memory(steps: list[Step]) -> int:
    """Returns the peak size in bytes of the outputs that later nodes need, without constants and variables; a device must have more memory."""
    # Reference counting: a tensor is freed by the last node that takes it.
    takers: dict[Tensor, set[Operation]] = {}
    for step in steps:
        for tensor in step.op.inputs:
            takers.setdefault(tensor, set()).add(step.op)
    now = most = 0
    for step in steps:
        for tensor in dict.fromkeys(step.op.inputs):
            takers[tensor].discard(step.op)
            now -= 0 if takers[tensor] or tensor.op.type in HELD else size_of(tensor)
        now += 0 if step.op.type in HELD else sum(map(size_of, step.op.outputs))
        most = max(most, now)
    return most


def held_tensors(steps: list[Step]) -> list[LiveTensor]:
    """Returns the lifetimes of all outputs: from the start of the node until 1 ns after the end of the last node that takes it."""
    ends = {step.op: step.end for step in steps}
    last: dict[Tensor, int] = {}
    for step in steps:
        for tensor in step.op.inputs:
            last[tensor] = max(last.get(tensor, 0), step.end)
    return [
        LiveTensor(step.op.name, slot, size_of(tensor), step.start, max(ends[step.op], last.get(tensor, 0)) + 1)
        for step in steps
        for slot, tensor in enumerate(step.op.outputs)
    ]
