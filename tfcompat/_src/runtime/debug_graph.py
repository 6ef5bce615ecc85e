"""The graph of a debugged run: as it was pruned, with nodes for feeds and fetches, and those that copy and look at watched tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfcompat._src.base.dtypes import DType
from tfcompat._src.ops.control.debug_ops import COPY
from tfcompat._src.proto import messages
from tfcompat._src.runtime.debug_watches import DebugOp, Watch, Watches, debug_ops_of, gated
from tfcompat._src.runtime.partition_graphs import Node, by_device

_UNWAITED = ("Enter", "RefEnter", "NextIteration", "RefNextIteration")
"""Nodes whose consumers do not wait for the debug ops that look at them."""


class DebugGraph:
    """The graphs of a run by device, and the debug ops that look at each of its tensors.

    Args:
      nodes: those of the run without the debugger. watches: what is watched.

    Attributes:
      graph_defs: by device.
      looking: the device, watch and debug ops of each watched tensor, by its name in the graph.

    Raises:
      errors.FailedPreconditionError: a debug op cannot look at a tensor.
    """

    def __init__(self, nodes: Sequence[Node], watches: Watches) -> None:
        self.looking: dict[str, tuple[str, Watch, list[tuple[int, DebugOp]]]] = {}
        self._watches = watches
        self._copies: dict[str, tuple[str | None, list[str]]] = {}
        added: list[messages.NodeDef] = []
        for node, kinds in nodes:
            if "parallel_iterations" in node.attr:
                node.attr["parallel_iterations"].i = 1
            for slot, dtype in enumerate(kinds):
                added += self._looked_at(node, slot, dtype)
        for node, _ in nodes:
            _redirect(node, self._copies)
        self.graph_defs = by_device([*(node for node, _ in nodes), *added])

    def _looked_at(self, node: messages.NodeDef, slot: int, dtype: DType) -> list[messages.NodeDef]:
        """The nodes that copy and look at an output, if it is watched; its consumers take the copy, and wait for the debug ops."""
        name = f"{node.name}:{slot}"
        watch = self._watches.of(name)
        if watch is None:
            return []
        debug_ops = debug_ops_of(watch, name, dtype)
        self.looking[name] = (node.device, watch, debug_ops)
        source = node.name if slot == 0 else name
        copy = messages.NodeDef(name=f"__copy_{node.name}_{slot}", op=COPY, input=[source], device=node.device)
        copy.attr["tensor_name"].s = b""
        specs = [f"{op};{url};{int(is_gated)}" for op, is_gated in gated(watch.ops) for url in watch.urls]
        copy.attr["debug_ops_spec"].list.s.extend(spec.encode() for spec in specs)
        looking = [_looking(copy, name, index, op, watch.urls) for index, op in debug_ops]
        for each in (copy, *looking):
            each.attr["T"].type = dtype.base_dtype.as_datatype_enum
        waiting = [] if node.op in _UNWAITED else [f"^{each.name}" for each in looking]
        self._copies[source] = (None if dtype._is_ref_dtype else copy.name, waiting)
        return [copy, *looking]


def _looking(copy: messages.NodeDef, name: str, index: int, debug_op: DebugOp, urls: Sequence[str]) -> messages.NodeDef:
    node = messages.NodeDef(name=f"__dbg_{name}_{index}_{debug_op.spec.name}", op=debug_op.spec.name, input=[copy.name], device=copy.device)
    node.attr["device_name"].s, node.attr["tensor_name"].s = copy.device.encode(), name.encode()
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
