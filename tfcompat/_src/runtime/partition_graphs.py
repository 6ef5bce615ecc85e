"""The graphs that the devices of a run have, as RunMetadata.partition_graphs shows them: pruned, with nodes for feeds and fetches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from tfcompat._src.base.dtypes import DType
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.function_body import CallOperation, is_listed
from tfcompat._src.ops.control.control_flow_util import IsInXLAContext
from tfcompat._src.proto import messages
from tfcompat._src.runtime.devices import Device

PRODUCER = 134
"""The version of graphs that TensorFlow 1.15 makes."""
Node = tuple[messages.NodeDef, Sequence[DType]]
"""A node, and the dtypes of its outputs."""


def argument_names(fed: Iterable[Tensor]) -> dict[Tensor, str]:
    """The names of the nodes that stand in a run for fed tensors."""
    return {t: f"_arg_{t.op.name}_{t.value_index}_{i}" for i, t in enumerate(sorted(fed, key=lambda t: t.name))}


def nodes_of(
    ops: Iterable[Operation], fed: Iterable[Tensor], fetched: Iterable[Tensor], device_of: Callable[[Operation], Device]
) -> list[Node]:  # fmt: skip
    """The nodes of a run, each with its device.

    Args:
      ops: the operations that run. fed, fetched: the tensors that are fed and fetched. device_of: the device of an operation.
    """
    found: list[Node] = []
    arguments = argument_names(fed)
    for index, (t, name) in enumerate(arguments.items()):
        found.append((_end(name, "_Arg", t, index, device_of), [t.dtype.base_dtype]))
    for op, node in _listed_nodes(ops):
        node.device = device_of(op).name
        found.append((node, [t.dtype for t in op.outputs]))
    for index, t in enumerate(sorted(set(fetched), key=lambda t: t.name)):
        node = _end(f"_retval_{t.op.name}_{t.value_index}_{index}", "_Retval", t, index, device_of)
        node.input.append(t._as_node_def_input())
        found.append((node, []))
    renamed = {t._as_node_def_input(): name for t, name in arguments.items()}
    renamed.update({f"^{t.op.name}": f"^{name}" for t, name in arguments.items() if t.op.spec.facts.is_placeholder})
    for node, _ in found:
        node.input[:] = [renamed.get(i, i) for i in node.input]
    return found


def _end(name: str, kind: str, tensor: Tensor, index: int, device_of: Callable[[Operation], Device]) -> messages.NodeDef:
    """A node where a tensor comes into a run or leaves it."""
    node = messages.NodeDef(name=name, op=kind, device=device_of(tensor.op).name)
    node.attr["T"].type = tensor.dtype.base_dtype.as_datatype_enum
    node.attr["index"].i = index
    return node


def by_device(nodes: Iterable[messages.NodeDef]) -> dict[str, messages.GraphDef]:
    """The graph of each device."""
    found: dict[str, messages.GraphDef] = {}
    for node in nodes:
        if node.device not in found:
            found[node.device] = messages.GraphDef(versions=messages.VersionDef(producer=PRODUCER))
        found[node.device].node.add().CopyFrom(node)
    return found


def _listed_nodes(operations: Iterable[Operation]) -> Iterator[tuple[Operation, messages.NodeDef]]:
    """Yields the operations of a run with NodeDefs of their own.

    A node that runs functions is among them as what hands on the results of the nodes in its place; one made for XLA as it is.
    """
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
