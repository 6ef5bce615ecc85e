"""Fills `RunOptions.debug_options` with watches."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages

Names = str | Sequence[str]


def add_debug_tensor_watch(
    run_options: messages.RunOptions, node_name: str, output_slot: int = 0, debug_ops: Names = "DebugIdentity", debug_urls: Names | None = None,
    tolerate_debug_op_creation_failures: bool = False, global_step: int = -1,
) -> None:  # fmt: skip
    """Adds a watch of one tensor to the options of a run.

    Args:
      run_options: a RunOptions message, which is changed.
      node_name, output_slot: the node that makes the tensor, and which output it is; "*" and -1 mean those without a watch of their own.
      debug_ops: the debug ops that look at it: "DebugIdentity", or with attributes "DebugNumericSummary(mute_if_healthy=true; lower_bound=-10)".
      debug_urls: where these write: "file://" and a folder.
      tolerate_debug_op_creation_failures: whether debug ops that cannot look at the tensor are left out, rather than an error of the run.
      global_step: a number that the dump keeps.
    """
    run_options.debug_options.global_step = global_step
    watch = run_options.debug_options.debug_tensor_watch_opts.add(
        node_name=node_name, output_slot=output_slot, tolerate_debug_op_creation_failures=tolerate_debug_op_creation_failures
    )
    watch.debug_ops.extend(_listed(debug_ops))
    watch.debug_urls.extend(_listed(debug_urls or ()))


def _listed(names: Names) -> Sequence[str]:
    return [names] if isinstance(names, str) else names


def watch_graph(
    run_options: messages.RunOptions, graph: Graph, debug_ops: Names = "DebugIdentity", debug_urls: Names | None = None,
    node_name_regex_whitelist: str | None = None, op_type_regex_whitelist: str | None = None, tensor_dtype_regex_whitelist: str | None = None,
    tolerate_debug_op_creation_failures: bool = False, global_step: int = -1, reset_disk_byte_usage: bool = False,
) -> None:  # fmt: skip
    """Adds watches of the tensors of a graph to the options of a run: of all, or those that fit regular expressions.

    Args:
      run_options: a RunOptions message, which is changed. graph: the tf.Graph.
      node_name_regex_whitelist, op_type_regex_whitelist, tensor_dtype_regex_whitelist: what the names and types of nodes and the dtypes of
        tensors must begin with; None allows all.
      reset_disk_byte_usage: whether the bytes that TFDBG_DISK_BYTES_LIMIT limits are counted from zero again. The others are as for
        `add_debug_tensor_watch`.

    Raises:
      ValueError: there are no debug ops or no URLs.
    """
    if not debug_ops:
        raise ValueError("debug_ops must not be empty or None.")
    if not debug_urls:
        raise ValueError("debug_urls must not be empty or None.")
    wanted = [_matcher(each) for each in (node_name_regex_whitelist, op_type_regex_whitelist, tensor_dtype_regex_whitelist)]

    def is_watched(op: Operation, tensor: Tensor) -> bool:
        return all(match is None or match(text) for match, text in zip(wanted, _texts(op, tensor)))

    def add(node_name: str, slot: int) -> None:
        add_debug_tensor_watch(run_options, node_name, slot, debug_ops, debug_urls, tolerate_debug_op_creation_failures, global_step)

    _watch(graph, is_watched, add)
    if wanted == [None, None, None]:
        add("*", -1)
    run_options.debug_options.reset_disk_byte_usage = reset_disk_byte_usage


def watch_graph_with_blacklists(
    run_options: messages.RunOptions, graph: Graph, debug_ops: Names = "DebugIdentity", debug_urls: Names | None = None,
    node_name_regex_blacklist: str | None = None, op_type_regex_blacklist: str | None = None, tensor_dtype_regex_blacklist: str | None = None,
    tolerate_debug_op_creation_failures: bool = False, global_step: int = -1, reset_disk_byte_usage: bool = False,
) -> None:  # fmt: skip
    """Adds watches of the tensors of a graph to the options of a run, but for those that fit one of some regular expressions.

    Args:
      node_name_regex_blacklist, op_type_regex_blacklist, tensor_dtype_regex_blacklist: what the names and types of nodes and the dtypes of
        tensors must not begin with. The others are as for `watch_graph`.
    """
    unwanted = [_matcher(each) for each in (node_name_regex_blacklist, op_type_regex_blacklist, tensor_dtype_regex_blacklist)]

    def is_watched(op: Operation, tensor: Tensor) -> bool:
        return not any(match is not None and match(text) for match, text in zip(unwanted, _texts(op, tensor)))

    def add(node_name: str, slot: int) -> None:
        add_debug_tensor_watch(run_options, node_name, slot, debug_ops, debug_urls, tolerate_debug_op_creation_failures, global_step)

    _watch(graph, is_watched, add)
    run_options.debug_options.reset_disk_byte_usage = reset_disk_byte_usage


def _matcher(pattern: str | None) -> Callable[[str], object] | None:
    return re.compile(pattern).match if pattern else None


def _texts(op: Operation, tensor: Tensor) -> tuple[str, str, str]:
    """What regular expressions look at."""
    return op.name, op.type, tensor.dtype.name


def _watch(graph: Graph, is_watched: Callable[[Operation, Tensor], bool], add: Callable[[str, int], None]) -> None:
    for op in graph.get_operations():
        for slot, tensor in enumerate(op.outputs):
            if is_watched(op, tensor):
                add(op.name, slot)
