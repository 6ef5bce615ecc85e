"""Which TensorArray stands behind a handle or a flow."""

from __future__ import annotations

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.function_body import CallOperation
from tfcompat._src.ops.control.guards import MERGE, SWITCH
from tfcompat._src.ops.control.loop_ops import ENTER, EXIT, NEXT_ITERATION

FORWARDS_HANDLE = frozenset(("Identity", "RefIdentity", "DebugGradientIdentity", "DebugGradientRefIdentity")) | SWITCH | MERGE | ENTER | EXIT | NEXT_ITERATION

FORWARDS_FLOW = frozenset(("Identity", "Enter", "Exit", "Switch", "Merge", "NextIteration", "AddN"))
_SUMS = ("Add", "AddV2")
_GRADIENTS = ("TensorArrayGradV3", "TensorArrayGradWithShape")
GIVES_FLOW = frozenset(("TensorArrayWriteV3", "TensorArrayScatterV3", "TensorArraySplitV3", *_GRADIENTS))


def handed_on(tensor: Tensor) -> Tensor | None:
    """What a node hands on as `tensor`: the first input of one that routes, the result of a call; None where it makes `tensor`."""
    op = tensor.op
    if isinstance(op, CallOperation):
        return op.inlined.results[tensor.value_index]
    return op.takes[0] if op.type in FORWARDS_HANDLE else None


def array_op(tensor: Tensor) -> Operation | None:
    """The op that makes the TensorArray behind a handle, or None where there is none."""
    source: Tensor | None = tensor
    while source is not None and source.op.type != "TensorArrayV3":
        source = source.op.takes[0] if source.op.type in _GRADIENTS else handed_on(source)
    return None if source is None else source.op


def array_of_flow(tensor: Tensor, memo: dict[Tensor, Operation | None] | None = None) -> Operation | None:
    """The op that makes the TensorArray whose elements a flow carries, or None where a tensor is no flow.

    Args:
      memo: what earlier calls have found, for one who asks of many tensors of a graph.
    """
    known = {} if memo is None else memo
    # Depth first; a sum is a flow if one of its terms is. In a graph that adds a tensor to itself again and again the paths are many.
    pending, seen = [tensor], set()
    while pending:
        source = pending.pop()
        if source in known and known[source] is not None:
            return known[source]
        if source in seen or source in known or source._sizes not in ((), None) or source.dtype.name != "float32":
            continue
        seen.add(source)
        op = source.op
        if isinstance(op, CallOperation):
            pending.append(op.inlined.results[source.value_index])
        elif op.type in _SUMS:
            pending += op.takes
        elif op.type in FORWARDS_FLOW:
            pending.append(op.takes[0])
        else:
            array = op if op.type == "TensorArrayV3" else array_op(op.takes[0]) if op.type in GIVES_FLOW else None
            if array is not None:
                known[tensor] = array
                return array
    known.update(dict.fromkeys(seen))
    return None


def has_one_element_shape(array: Operation) -> bool:
    """Whether all elements of a TensorArray have one shape."""
    return array.attrs["identical_element_shapes"] or array.attrs["element_shape"].is_fully_defined()


def is_length(op: Operation) -> bool:
    """Whether an operation tells how many elements a TensorArray has."""
    return op.type == "TensorArraySizeV3"


def fixed_length(op: Operation) -> Tensor | None:
    """The tensor that says how long the array is whose length `op` tells; None where it may grow."""
    array = array_op(op.takes[0])
    return None if array is None or array.attrs["dynamic_size"] else array.takes[0]


def written_at(tensor: Tensor) -> tuple[Tensor, Tensor] | None:
    """The index and the flow before of a write of one element that gives the flow `tensor`; None where it is none."""
    op = tensor.op
    return (op.takes[1], op.takes[3]) if op.type == "TensorArrayWriteV3" else None
