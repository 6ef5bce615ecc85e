"""The values of gradients that a dump has."""

from __future__ import annotations

from typing import Any

from tfcompat._src.debug.debug_graphs import parse_node_or_tensor_name
from tfcompat._src.debug.dump_dir import DebugDumpDir, WatchKeyDoesNotExistInDebugDumpDirError
from tfcompat._src.ops.control.gradients_debugger import GradientsDebugger


def gradient_values_from_dump(grad_debugger: GradientsDebugger, x_tensor: object, dump: DebugDumpDir) -> list[Any]:
    """Returns the values that a run gave the gradient of a tensor: one for each time that it was computed.

    Args:
      grad_debugger: the GradientsDebugger that received the gradient. x_tensor: the tensor, variable, or name of a tensor.
      dump: what the run left.

    Raises:
      LookupError: the debugger has received no gradient of the tensor. TypeError: `x_tensor` is none of these.
      ValueError: the debugger and the dump are of different graphs.
    """
    if dump.python_graph and grad_debugger.graph and dump.python_graph is not grad_debugger.graph:
        raise ValueError(
            f"This GradientsDebugger instance has a graph ({grad_debugger.graph}) that differs from the graph of the DebugDumpDir "
            f"object ({dump.python_graph})."
        )
    node, slot = parse_node_or_tensor_name(grad_debugger.gradient_tensor(x_tensor).name)
    try:
        return dump.get_tensors(node, slot or 0, "DebugIdentity")
    except WatchKeyDoesNotExistInDebugDumpDirError:
        return []
