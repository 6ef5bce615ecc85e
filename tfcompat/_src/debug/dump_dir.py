"""`DebugDumpDir`: the tensors and graphs that a debugged run left in a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import Any

from tfcompat._src.debug import debug_graphs, dump_files
from tfcompat._src.debug.debug_graphs import DebugGraph
from tfcompat._src.debug.dump_files import DebugTensorDatum
from tfcompat._src.graph.graph import Graph
from tfcompat._src.io import debug_files
from tfcompat._src.platform import gfile, logging
from tfcompat._src.platform.gfile import get_matching_files as Glob  # noqa: N812  # the name that programs put another function under
from tfcompat._src.proto import messages

_NOT_CHECKED = ("Enter", "NextIteration")
"""Nodes whose watches the nodes behind them do not wait for."""


class WatchKeyDoesNotExistInDebugDumpDirError(ValueError):
    """The dump has no such watch."""


class _DeviceDumps:
    """What one device has dumped: tensors by time, and by watch key.

    Args:
      dump_root: the folder of the dump. folder: that of the device in it.
    """

    def __init__(self, dump_root: str, folder: str) -> None:
        self.graph_file: str | None = None
        data: list[DebugTensorDatum] = []
        for root, _, names in gfile.walk(folder):
            for name in names:
                if name.startswith(debug_files.METADATA_FILE_PREFIX + debug_files.GRAPH_FILE_TAG):
                    self.graph_file = os.path.join(root, name)
                else:
                    data.append(DebugTensorDatum(dump_root, os.path.join(os.path.relpath(root, dump_root), name)))
        self.data = sorted(data, key=lambda datum: datum.extended_timestamp)
        self.by_watch_key: dict[str, list[DebugTensorDatum]] = {}
        self.watch_keys: dict[str, dict[str, None]] = {}
        for datum in self.data:
            self.by_watch_key.setdefault(datum.watch_key, []).append(datum)
            self.watch_keys.setdefault(datum.node_name, {})[datum.watch_key] = None


class DebugDumpDir:
    """The tensors and graphs that a debugged run left in a folder.

    Args:
      dump_root: the folder.
      partition_graphs: the GraphDefs of the run (`RunMetadata.partition_graphs`), used where the folder has no graph of a device.
      validate: whether every dumped tensor must be of a node of the graph, and not older than the tensors that it was made from.

    Raises:
      IOError: there is no such folder.
      ValueError: a file's name is not that of a dumped tensor, or the dump does not fit its graphs.
    """

    def __init__(self, dump_root: str, partition_graphs: Iterable[messages.GraphDef] | None = None, validate: bool = True) -> None:
        if not gfile.is_directory(dump_root):
            raise OSError(f"Dump root directory {dump_root} does not exist")
        self._dump_root = dump_root
        self._core_metadata = [dump_files.extract_core_metadata_from_event_proto(e) for e in self._events(debug_files.CORE_METADATA_TAG)]
        self._fetches_info = [e.log_message.message for e in self._events(dump_files.FETCHES_INFO_FILE_TAG)]
        self._feed_keys_info = [e.log_message.message for e in self._events(dump_files.FEED_KEYS_INFO_FILE_TAG)]
        self._dumps: dict[str, _DeviceDumps] = {}
        for folder in self._files(debug_files.DEVICE_TAG):
            self._dumps[dump_files.device_path_to_device_name(folder)] = _DeviceDumps(dump_root, folder)
        self._graphs: dict[str, DebugGraph] = {}
        self._node_devices: dict[str, set[str]] = {}
        for device, dumps in self._dumps.items():
            self._load_graph(device, dumps, partition_graphs or (), validate)
        self._t0 = min((dumps.data[0].timestamp for dumps in self._dumps.values() if dumps.data), default=None)
        self._python_graph: Graph | None = None
        self._tracebacks: dict[str, Any] = {}

    def _files(self, tag: str) -> list[str]:
        return Glob(os.path.join(self._dump_root, f"{debug_files.METADATA_FILE_PREFIX}{tag}*"))

    def _events(self, tag: str) -> list[messages.Event]:
        return [dump_files.read_event(path) for path in self._files(tag)]

    def _load_graph(self, device: str, dumps: _DeviceDumps, given: Iterable[messages.GraphDef], validate: bool) -> None:
        """Loads the graph of a device from its file, else from those that the caller has given."""
        if dumps.graph_file is not None:
            found = messages.GraphDef.FromString(dump_files.read_event(dumps.graph_file).graph_def)
        else:
            logging.warning(f"The dump has no graph of the device {device}; one given by the caller is used, whose device names may differ.")
            found = next((graph for graph in given if any(node.device == device for node in graph.node)), None)
        if found is None:
            return
        graph = self._graphs[device] = DebugGraph(found, device)
        for node, devices in graph.node_devices.items():
            self._node_devices[node] = self._node_devices.get(node, set()) | devices
        if validate:
            _check_order(device, dumps, graph)

    # ---- the run ----

    @property
    def core_metadata(self) -> Any:
        """What is known of the run: a tuple with the fields global_step (-1 if none was given), session_run_index, executor_step_index,
        input_names, output_names and target_nodes; a list of such tuples where the folder has not just one."""
        return _one_of(self._core_metadata)

    @property
    def run_fetches_info(self) -> Any:
        """The repr of the fetches; a list of them where the folder has not just one."""
        return _one_of(self._fetches_info)

    @property
    def run_feed_keys_info(self) -> Any:
        """The repr of the keys of the feed_dict; a list of them where the folder has not just one."""
        return _one_of(self._feed_keys_info)

    def set_python_graph(self, python_graph: Graph | None) -> None:
        """Gives the tf.Graph of the run, which knows where its nodes were made."""
        self._python_graph = python_graph
        self._tracebacks = {op.name: tuple(op.traceback) for op in python_graph.get_operations()} if python_graph else {}

    @property
    def python_graph(self) -> Graph | None:
        """The tf.Graph of the run if it was given, else None."""
        return self._python_graph

    def node_traceback(self, element_name: str) -> Any:
        """Returns the stack where a node was made.

        Args:
          element_name: the name of the node or of a tensor of it.

        Raises:
          LookupError: the tf.Graph was not given. KeyError: it has no such node.
        """
        if self._python_graph is None:
            raise LookupError("Python graph is not available for traceback lookup")
        node = debug_graphs.get_node_name(element_name)
        if node not in self._tracebacks:
            raise KeyError(f'Cannot find node "{node}" in Python graph')
        return self._tracebacks[node]

    # ---- tensors ----

    @property
    def dumped_tensor_data(self) -> list[DebugTensorDatum]:
        """All dumped tensors, by time."""
        if len(self._dumps) == 1:
            return next(iter(self._dumps.values())).data
        return sorted((datum for dumps in self._dumps.values() for datum in dumps.data), key=lambda datum: datum.extended_timestamp)

    @property
    def t0(self) -> int | None:
        """When the first tensor was dumped, in microseconds since 1970; None where there is none."""
        return self._t0

    @property
    def size(self) -> int:
        """How many tensors were dumped."""
        return sum(len(dumps.data) for dumps in self._dumps.values())

    def find(
        self, predicate: Callable[[DebugTensorDatum, Any], bool], first_n: int = 0, device_name: str | None = None,
        exclude_node_names: str | None = None,
    ) -> list[DebugTensorDatum]:  # fmt: skip
        """Returns the tensors for which a function is true, device by device, by time.

        Args:
          predicate: a function of a DebugTensorDatum and its value. first_n: how many to find; all if it is not positive.
          device_name: the device; None for all. exclude_node_names: a regular expression; nodes whose names begin with a match are left out.
        """
        excluded = re.compile(exclude_node_names) if exclude_node_names else None
        found: list[DebugTensorDatum] = []
        for device in self._dumps if device_name is None else (device_name,):
            for datum in self._dumps[device].data:
                if not (excluded and excluded.match(datum.node_name)) and predicate(datum, datum.get_tensor()):
                    found.append(datum)
                    if len(found) == first_n:
                        return found
        return found

    def debug_watch_keys(self, node_name: str, device_name: str | None = None) -> list[str]:
        """Returns the keys of the watches of a node: [] where it has none."""
        if device_name is None and len(self._node_devices.get(node_name, ())) != 1:
            return []
        return list(self._dumps[self._device(node_name, device_name)].watch_keys.get(node_name, ()))

    def watch_key_to_data(self, debug_watch_key: str, device_name: str | None = None) -> list[DebugTensorDatum]:
        """Returns the tensors of a watch by time: [] where there is no such watch.

        Raises:
          ValueError: several devices have such a watch and `device_name` is not given, or there is no such device.
        """
        if device_name is not None:
            if device_name not in self._dumps:
                raise ValueError(f"There is no device named '{device_name}' consisting of debug watch keys.")
            return self._dumps[device_name].by_watch_key.get(debug_watch_key, [])
        found = [dumps.by_watch_key[debug_watch_key] for dumps in self._dumps.values() if debug_watch_key in dumps.by_watch_key]
        if len(found) > 1:
            raise ValueError(
                f"The debug watch key '{debug_watch_key}' exists on multiple ({len(found)}) devices, but device name is not specified."
            )
        return found[0] if found else []

    def _watched(self, node_name: str, output_slot: int, debug_op: str, device_name: str | None) -> list[DebugTensorDatum]:
        """The tensors of a watch, by time; ValueError where there is no such watch or several devices have the node."""
        device, key = self._device(node_name, device_name), dump_files.watch_key(node_name, output_slot, debug_op)
        dumps = self._dumps.get(device)
        if dumps is None or key not in dumps.by_watch_key:
            raise WatchKeyDoesNotExistInDebugDumpDirError(f'Watch key "{key}" does not exist in the debug dump of device {device}')
        return dumps.by_watch_key[key]

    def get_tensor_file_paths(self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None) -> list[str]:
        """Returns the paths of the files of a watch, by time.

        Raises:
          WatchKeyDoesNotExistInDebugDumpDirError: there is no such watch. ValueError: none or several devices have the node.
        """
        return [datum.file_path for datum in self._watched(node_name, output_slot, debug_op, device_name)]

    def get_tensors(self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None) -> list[Any]:
        """Returns the values of a watch, by time.

        Raises:
          WatchKeyDoesNotExistInDebugDumpDirError: there is no such watch.
        """
        try:
            data = self._watched(node_name, output_slot, debug_op, device_name)
        except ValueError as e:
            key = dump_files.watch_key(node_name, output_slot, debug_op)
            text = f'Watch key "{key}" does not exist in the debug dump of device {device_name}'
            raise WatchKeyDoesNotExistInDebugDumpDirError(text) from e
        return [datum.get_tensor() for datum in data]

    def get_rel_timestamps(self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None) -> list[int]:
        """Returns when the tensors of a watch were dumped, in microseconds after `t0`; raises as `get_tensor_file_paths`."""
        t0 = self._t0 or 0
        return [datum.timestamp - t0 for datum in self._watched(node_name, output_slot, debug_op, device_name)]

    def get_dump_sizes_bytes(self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None) -> list[int | None]:
        """Returns the sizes of the files of a watch in bytes, by time; raises as `get_tensor_file_paths`."""
        return [datum.dump_size_bytes for datum in self._watched(node_name, output_slot, debug_op, device_name)]

    # ---- graphs ----

    def loaded_partition_graphs(self) -> bool:
        """Whether there are graphs."""
        return bool(self._graphs)

    def _loaded(self, what: str = "No partition graphs have been loaded.") -> dict[str, DebugGraph]:
        if not self._graphs:
            raise LookupError(what)
        return self._graphs

    def partition_graphs(self) -> list[messages.GraphDef]:
        """Returns the GraphDefs that the devices ran; LookupError where there is none."""
        return [graph.debug_graph_def for graph in self._loaded().values()]

    def reconstructed_non_debug_partition_graphs(self) -> dict[str, messages.GraphDef]:
        """Returns the GraphDef of each device without the nodes of the debugger."""
        return {device: graph.non_debug_graph_def for device, graph in self._graphs.items()}

    def devices(self) -> list[str]:
        """Returns the names of the devices."""
        return list(self._dumps)

    def _device(self, node_name: str, device_name: str | None) -> str:
        """The device that is meant: the one that has a node, where none is given."""
        if device_name is not None:
            return device_name
        devices = self._node_devices.get(node_name)
        if not devices:
            raise ValueError(f"None of the {len(self._dumps)} device(s) has a node named '{node_name}'.")
        if len(devices) > 1:
            raise ValueError(f"There are multiple ({len(devices)}) devices with nodes named '{node_name}' but device_name is not specified.")
        return next(iter(devices))

    def _graph_of(self, node_name: str, device_name: str | None) -> DebugGraph:
        graphs = self._loaded("Nodes have not been loaded from partition graphs yet.")
        return graphs[self._device(node_name, device_name)]

    def nodes(self, device_name: str | None = None) -> list[str]:
        """Returns the names of all nodes.

        Raises:
          LookupError: there are no graphs. ValueError: there is no such device.
        """
        graphs = self._loaded()
        if device_name is None:
            return [node for graph in graphs.values() for node in graph.node_inputs]
        if device_name not in graphs:
            raise ValueError(f"Invalid device name: {device_name}")
        return list(graphs[device_name].node_inputs)

    def node_exists(self, node_name: str, device_name: str | None = None) -> bool:
        """Whether there is a node of this name.

        Raises:
          LookupError: there are no graphs. ValueError: there is no such device.
        """
        graphs = self._loaded("Nodes have not been loaded from partition graphs yet.")
        if device_name is not None and device_name not in graphs:
            raise ValueError(f"The specified device_name '{device_name}' cannot be found.")
        return any(node_name in graph.node_inputs for device, graph in graphs.items() if device_name in (None, device))

    def node_device(self, node_name: str) -> Any:
        """Returns the device of a node, or a list where several have a node of this name.

        Raises:
          LookupError: there are no graphs. ValueError: there is no such node.
        """
        self._loaded("Node devices are not loaded from partition graphs yet.")
        if node_name not in self._node_devices:
            raise ValueError(f"Node '{node_name}' does not exist in partition graphs.")
        return _one_of(list(self._node_devices[node_name]))

    def node_attributes(self, node_name: str, device_name: str | None = None) -> Any:
        """Returns the attributes of a node: AttrValue messages by name. Raises as `node_op_type`."""
        return self._graph_of(node_name, device_name).node_attributes[node_name]

    def node_op_type(self, node_name: str, device_name: str | None = None) -> str:
        """Returns the op type of a node.

        Args:
          node_name: the node. device_name: its device, needed where several have a node of this name.

        Raises:
          LookupError: there are no graphs. ValueError: there is no such node, or its device must be given.
        """
        return self._graph_of(node_name, device_name).node_op_types[node_name]

    def node_inputs(self, node_name: str, is_control: bool = False, device_name: str | None = None) -> list[str]:
        """Returns the names of a node's inputs, or of the nodes that it waits for if `is_control`. Raises as `node_op_type`."""
        graph = self._graph_of(node_name, device_name)
        return (graph.node_ctrl_inputs if is_control else graph.node_inputs)[node_name]

    def node_recipients(self, node_name: str, is_control: bool = False, device_name: str | None = None) -> list[str]:
        """Returns the nodes that take a node's outputs, or that wait for it if `is_control`. Raises as `node_op_type`."""
        graph = self._graph_of(node_name, device_name)
        return (graph.node_ctrl_recipients if is_control else graph.node_recipients)[node_name]

    def transitive_inputs(
        self, node_name: str, include_control: bool = True, include_reversed_ref: bool = False, device_name: str | None = None
    ) -> list[str]:
        """Returns the inputs of a node, theirs, and so on, as they are met first; the inputs of Merge nodes are not followed.

        Args:
          node_name: the node. include_control: whether what a node waits for counts as its input.
          include_reversed_ref: whether what may change a node's output counts as its input.
          device_name: the device, needed where several have a node of this name.

        Raises:
          LookupError: there are no graphs. ValueError: there is no such node, or its device must be given.
        """
        graph = self._graph_of(node_name, device_name)
        ways = _ways(graph, node_name, include_control, include_reversed_ref)
        return [way[-1] for way in ways]

    def find_some_path(
        self, src_node_name: str, dst_node_name: str, include_control: bool = True, include_reversed_ref: bool = False,
        device_name: str | None = None,
    ) -> list[str] | None:  # fmt: skip
        """Returns the names on a way from one node to another on the same device, both included; None where there is none.

        Args:
          src_node_name, dst_node_name: the first and the last node, or tensors of them. The others are as for `transitive_inputs`.

        Raises:
          ValueError: the nodes are on different devices, do not exist, or their device must be given.
        """
        source, target = self._device(src_node_name, device_name), self._device(dst_node_name, device_name)
        if source != target:
            raise ValueError(f"Source ({src_node_name}) and destination ({dst_node_name}) are not on the same device: {source} vs. {target}")
        for way in _ways(self._graphs[target], dst_node_name, include_control, include_reversed_ref, src_node_name):
            if debug_graphs.get_node_name(way[-1]) == src_node_name:
                return way[::-1]
        return None


def _one_of(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _ways(graph: DebugGraph, node: str, include_control: bool, include_reversed_ref: bool, until: str | None = None) -> Iterable[list[str]]:
    """The ways from a node back to its inputs, and theirs."""
    maps = [graph.node_inputs]
    if include_control:
        maps.append(graph.node_ctrl_inputs)
    if include_reversed_ref:
        maps.append(graph.node_reversed_ref_inputs)
    merges = {name for name, op_type in graph.node_op_types.items() if op_type == "Merge"}
    return debug_graphs.trace_back(node, maps, merges, until)


def _check_order(device: str, dumps: _DeviceDumps, graph: DebugGraph) -> None:
    """Checks that no tensor was dumped before the watched tensors that its node takes; a Merge needs one of them.

    Raises:
      ValueError: one was, or is of a node that the graph does not have.
    """
    for datum in dumps.data:
        if datum.node_name not in graph.node_inputs:
            raise ValueError(f"Node name '{datum.node_name}' is not found in partition graphs of device {device}.")
    first: dict[tuple[str, int], int] = {}
    for datum in dumps.data:
        first.setdefault((datum.node_name, datum.output_slot), datum.timestamp)
    for datum in dumps.data:
        names = (name for name in graph.node_inputs[datum.node_name] if graph.node_op_types.get(name) not in _NOT_CHECKED)
        inputs = dict.fromkeys((debug_graphs.get_node_name(name), debug_graphs.get_output_slot(name)) for name in names)
        needed = [each for each in inputs if each in first]
        late = [each for each in needed if first[each] > datum.timestamp]
        if late and not (graph.node_op_types[datum.node_name] == "Merge" and len(late) < len(needed)):
            raise ValueError(
                f"Causality violated in timing relations of debug dumps: {datum.node_name} ({datum.timestamp}): "
                f"these input(s) are not satisfied: {late}"
            )
