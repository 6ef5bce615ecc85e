"""RunMetadata.partition_graphs: the pruned graph of a run, divided by device, with _Arg and _Retval nodes for feeds and fetches.

Unlike those of TensorFlow 1.15 the graphs have no _Send and _Recv nodes for edges between devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from tfcompat._src.base.dtypes import DType
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.function_body import CallOperation, is_listed
from tfcompat._src.ops.control.control_flow_util import IsInXLAContext
from tfcompat._src.proto import messages
from tfcompat._src.runtime.devices.devices import Device

PRODUCER = 134
"""The producer version of graphs of TensorFlow 1.15."""
Node = tuple[messages.NodeDef, Sequence[DType]]
"""A node, and the dtypes of its outputs."""


def argument_names(fed: Iterable[Tensor]) -> dict[Tensor, str]:
    """Returns the names of the _Arg nodes that replace fed tensors in a run; as in TensorFlow they are numbered in the order of tensor names."""
    return {t: f"_arg_{t.op.name}_{t.value_index}_{i}" for i, t in enumerate(sorted(fed, key=lambda t: t.name))}


def nodes_of(
    ops: Iterable[Operation], fed: Iterable[Tensor], fetched: Iterable[Tensor], device_of: Callable[[Operation], Device]
) -> list[Node]:  # fmt: skip
    """Returns the nodes of a run, each with its device.

    Args:
      ops: the operations that run. fed, fetched: the tensors that are fed and fetched. device_of: returns the device of an operation.
    """
    nodes: list[Node] = []
    arguments = argument_names(fed)
    for index, (t, name) in enumerate(arguments.items()):
        nodes.append((_end(name, "_Arg", t, index, device_of), [t.dtype.base_dtype]))
    for op, node in _listed_nodes(ops):
        node.device = device_of(op).name
        nodes.append((node, [t.dtype for t in op.outputs]))
    for index, t in enumerate(sorted(set(fetched), key=lambda t: t.name)):
        node = _end(f"_retval_{t.op.name}_{t.value_index}_{index}", "_Retval", t, index, device_of)
        node.input.append(t._as_node_def_input())
        nodes.append((node, []))
    # Users of a fed tensor take the _Arg node; control edges from a fed placeholder, which does not run, go there too.
    renamed = {t._as_node_def_input(): name for t, name in arguments.items()}
    renamed.update({f"^{t.op.name}": f"^{name}" for t, name in arguments.items() if t.op.spec.facts.is_placeholder})
    for node, _ in nodes:
        node.input[:] = [renamed.get(i, i) for i in node.input]
    return nodes


def _end(name: str, kind: str, tensor: Tensor, index: int, device_of: Callable[[Operation], Device]) -> messages.NodeDef:
    """Returns the _Arg or _Retval node where a tensor enters or leaves a run."""
    node = messages.NodeDef(name=name, op=kind, device=device_of(tensor.op).name)
    node.attr["T"].type = tensor.dtype.base_dtype.as_datatype_enum
    node.attr["index"].i = index
    return node


def by_device(nodes: Iterable[messages.NodeDef]) -> dict[str, messages.GraphDef]:
    """Returns one graph for each device, by device name."""
    graphs: dict[str, messages.GraphDef] = {}
    for node in nodes:
        if node.device not in graphs:
            graphs[node.device] = messages.GraphDef(versions=messages.VersionDef(producer=PRODUCER))
        graphs[node.device].node.add().CopyFrom(node)
    return graphs


def _listed_nodes(operations: Iterable[Operation]) -> Iterator[tuple[Operation, messages.NodeDef]]:
    """Yields the operations of a run with copies of their NodeDefs.

    A call whose function is inlined is shown as the op that forwards the inlined results. A call in an XLA context is shown as a call, without
    its inlined nodes.
    """
    # The nodes of a call have its name as prefix.
    operations = list(operations)
    whole = tuple(f"{op.name}/" for op in operations if isinstance(op, CallOperation) and IsInXLAContext(op))
    for op in operations:
        if whole and op.name.startswith(whole) and not is_listed(op):
            continue
        node = messages.NodeDef()
        node.CopyFrom(op.node_def)
        if isinstance(op, CallOperation) and f"{op.name}/" not in whole:
            del node.input[:]
            node.op = op.shown_as
            node.input.extend(t._as_node_def_input() for t in op.takes)
        yield op, node
