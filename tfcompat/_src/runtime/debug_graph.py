"""The graph of a debugged run: as it was pruned, with nodes for feeds and fetches, and those that copy and look at watched tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tfcompat._src.base.dtypes import DType
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages
from tfcompat._src.runtime.debug_watches import DebugOp, Watch, Watches, debug_ops_of, gated
from tfcompat._src.runtime.devices import listed_nodes

_UNWAITED = ("Enter", "RefEnter", "NextIteration", "RefNextIteration")
"""Nodes whose consumers do not wait for the debug ops that look at them."""


class DebugGraph:
    """The graphs of a run by device, and the debug ops that look at each of its tensors.

    Args:
      ops: the operations that run. fed, fetched: the tensors that are fed and fetched. device_of: the device of an operation.
      watches: what is watched.

    Attributes:
      graph_defs: by device.
      arguments: the names of fed tensors in the graph.
      looking: the device, watch and debug ops of each watched tensor, by its name in the graph.

    Raises:
      errors.FailedPreconditionError: a debug op cannot look at a tensor.
    """

    def __init__(
        self, ops: Iterable[Operation], fed: Iterable[Tensor], fetched: Iterable[Tensor], device_of: Callable[[Operation], str], watches: Watches
    ) -> None:  # fmt: skip
        self.graph_defs: dict[str, messages.GraphDef] = {}
        self.looking: dict[str, tuple[str, Watch, list[tuple[int, DebugOp]]]] = {}
        self._watches = watches
        by_name = sorted(fed, key=lambda t: t.name)
        self.arguments = {t: f"_arg_{t.op.name}_{t.value_index}_{i}" for i, t in enumerate(by_name)}
        nodes: list[tuple[str, messages.NodeDef, Sequence[DType]]] = []
        for t, name in self.arguments.items():
            node = messages.NodeDef(name=name, op="_Arg")
            nodes.append((device_of(t.op), _with_type(node, t.dtype, self._index(name)), [t.dtype.base_dtype]))
        nodes += [(device_of(op), node, [t.dtype for t in op.outputs]) for op, node in listed_nodes(ops)]
        for index, t in enumerate(sorted(fetched, key=lambda t: t.name)):
            node = messages.NodeDef(name=f"_retval_{t.op.name}_{t.value_index}_{index}", op="_Retval", input=[t._as_node_def_input()])
            nodes.append((device_of(t.op), _with_type(node, t.dtype, index), []))
        renamed = {t._as_node_def_input(): name for t, name in self.arguments.items()}
        renamed.update({f"^{t.op.name}": f"^{name}" for t, name in self.arguments.items() if t.op.spec.facts.is_placeholder})
        added: list[tuple[str, messages.NodeDef]] = []
        copies: dict[str, tuple[str | None, list[str]]] = {}
        for device, node, kinds in nodes:
            node.device = device
            node.input[:] = [renamed.get(i, i) for i in node.input]
            if "parallel_iterations" in node.attr:
                node.attr["parallel_iterations"].i = 1
            for slot, dtype in enumerate(kinds):
                added += self._looked_at(device, node, slot, dtype, copies)
        for device, node, _ in nodes:
            _redirect(node, copies)
            self._of(device).node.add().CopyFrom(node)
        for device, node in added:
            self._of(device).node.add().CopyFrom(node)

    @staticmethod
    def _index(name: str) -> int:
        return int(name.rpartition("_")[2])

    def _of(self, device: str) -> messages.GraphDef:
        if device not in self.graph_defs:
            self.graph_defs[device] = messages.GraphDef()
            self.graph_defs[device].versions.producer = 134
        return self.graph_defs[device]

    def _looked_at(
        self, device: str, node: messages.NodeDef, slot: int, dtype: DType, copies: dict[str, tuple[str | None, list[str]]]
    ) -> list[tuple[str, messages.NodeDef]]:  # fmt: skip
        """The nodes that copy and look at an output, if it is watched; its consumers take the copy, and wait for the debug ops."""
        name = f"{node.name}:{slot}"
        watch = self._watches.of(name)
        if watch is None:
            return []
        debug_ops = debug_ops_of(watch, name, dtype)
        self.looking[name] = (device, watch, debug_ops)
        source = node.name if slot == 0 else name
        copy = messages.NodeDef(name=f"__copy_{node.name}_{slot}", op="Copy", input=[source])
        copy.attr["T"].type = dtype.base_dtype.as_datatype_enum
        copy.attr["tensor_name"].s = b""
        specs = [f"{op};{url};{int(is_gated)}" for op, is_gated in gated(watch.ops) for url in watch.urls]
        copy.attr["debug_ops_spec"].list.s.extend(spec.encode() for spec in specs)
        looking = [_looking(copy.name, name, index, op, device, watch.urls) for index, op in debug_ops]
        for each in looking:
            each.attr["T"].type = dtype.base_dtype.as_datatype_enum
        waiting = [] if node.op in _UNWAITED else [f"^{each.name}" for each in looking]
        copies[source] = (None if dtype._is_ref_dtype else copy.name, waiting)
        return [(device, each) for each in (copy, *looking)]


def _with_type(node: messages.NodeDef, dtype: DType, index: int) -> messages.NodeDef:
    node.attr["T"].type = dtype.base_dtype.as_datatype_enum
    node.attr["index"].i = index
    return node


def _looking(copy: str, name: str, index: int, debug_op: DebugOp, device: str, urls: Sequence[str]) -> messages.NodeDef:
    node = messages.NodeDef(name=f"__dbg_{name}_{index}_{debug_op.spec.name}", op=debug_op.spec.name, input=[copy])
    node.attr["device_name"].s, node.attr["tensor_name"].s = device.encode(), name.encode()
    node.attr["debug_urls"].list.s.extend(url.encode() for url in urls)
    node.attr["gated_grpc"].b = False
    for key, value in debug_op.attrs.items():
        if isinstance(value, bool):
            node.attr[key].b = value
        elif isinstance(value, float):
            node.attr[key].f = value
        else:
            node.attr[key].s = value.encode()
    return node


def _redirect(node: messages.NodeDef, copies: Mapping[str, tuple[str | None, list[str]]]) -> None:
    """Lets a node take the copies of watched tensors, and wait for the debug ops that look at them."""
    taken = [(name, *copies.get(name, (None, []))) for name in node.input]
    waiting = dict.fromkeys(w for _, _, each in taken for w in each)
    node.input[:] = [*(copy or name for name, copy, _ in taken), *waiting]
