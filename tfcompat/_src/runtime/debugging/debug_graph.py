"""The graphs that a debugged run writes: the pruned graph with nodes for feeds and fetches, and copy and debug nodes for watched tensors.

A watched output gets a Copy node `__copy_NODE_SLOT`, which its consumers use instead, and a node `__dbg_NODE:SLOT_N_OP` for each debug op.
Names and attributes are those of 1.15, as tfdbg's command line shows and parses them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfcompat._src.base.dtypes import DType
from tfcompat._src.ops.control.debug_ops import COPY
from tfcompat._src.proto import messages
from tfcompat._src.runtime.debugging.debug_watches import DebugOp, Watch, Watches, debug_ops_of, gated
from tfcompat._src.runtime.session.partition_graphs import Node, by_device

_UNWAITED = ("Enter", "RefEnter", "NextIteration", "RefNextIteration")
"""Ops whose consumers get no control edges from debug nodes."""


class DebugGraph:
    """The graphs of a debugged run by device, and the debug ops of each watched tensor.

    Args:
      nodes: the nodes of the run without the debugger; they are modified. watches: the watches of the run.

    Attributes:
      graph_defs: a GraphDef for each device.
      looking: the device, the watch, and the debug ops with their index in the watch, by the name of the watched tensor.

    Raises:
      errors.FailedPreconditionError: a debug op does not exist or cannot take a tensor.
    """

    def __init__(self, nodes: Sequence[Node], watches: Watches) -> None:
        self.looking: dict[str, tuple[str, Watch, list[tuple[int, DebugOp]]]] = {}
        self._watches = watches
        self._copies: dict[str, tuple[str | None, list[str]]] = {}
        added: list[messages.NodeDef] = []
        for node, kinds in nodes:
            # The debugger of 1.15 runs iterations one after another.
            if "parallel_iterations" in node.attr:
                node.attr["parallel_iterations"].i = 1
            for slot, dtype in enumerate(kinds):
                added += self._looked_at(node, slot, dtype)
        for node, _ in nodes:
            _redirect(node, self._copies)
        self.graph_defs = by_device([*(node for node, _ in nodes), *added])

    def _looked_at(self, node: messages.NodeDef, slot: int, dtype: DType) -> list[messages.NodeDef]:
        """Makes the copy and debug nodes of an output (none if it is not watched), and notes how its consumers are rewired."""
        name = f"{node.name}:{slot}"
        watch = self._watches.of(name)
        if watch is None:
            return []
        debug_ops = debug_ops_of(watch, name, dtype)
        self.looking[name] = (node.device, watch, debug_ops)
        # GraphDefs write output 0 of a node without a slot.
        source = node.name if slot == 0 else name
        copy = messages.NodeDef(name=f"__copy_{node.name}_{slot}", op=COPY, input=[source], device=node.device)
        copy.attr["tensor_name"].s = b""
        specs = [f"{op};{url};{int(is_gated)}" for op, is_gated in gated(watch.ops) for url in watch.urls]
        copy.attr["debug_ops_spec"].list.s.extend(spec.encode() for spec in specs)
        looking = [_looking(copy, name, index, op, watch.urls) for index, op in debug_ops]
        for each in (copy, *looking):
            each.attr["T"].type = dtype.base_dtype.as_datatype_enum
        # Consumers of a ref must keep the ref, as a copy of it could not be assigned to.
        waiting = [] if node.op in _UNWAITED else [f"^{each.name}" for each in looking]
        self._copies[source] = (None if dtype._is_ref_dtype else copy.name, waiting)
        return [copy, *looking]


def _looking(copy: messages.NodeDef, name: str, index: int, debug_op: DebugOp, urls: Sequence[str]) -> messages.NodeDef:
    """Makes the node of a debug op that takes a copy of the tensor `name`."""
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
    """Rewires a node's inputs to the copies of watched tensors, and adds control edges from their debug nodes."""
    taken = [(name, *copies.get(name, (None, []))) for name in node.input]
    waiting = dict.fromkeys(w for _, _, each in taken for w in each)
    node.input[:] = [*(copy or name for name, copy, _ in taken), *waiting]
