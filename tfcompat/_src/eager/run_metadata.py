"""RunMetadata of eager execution: the graphs of functions that run for the first time, for `tf.compat.v2.summary.trace_on`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.eager.mode import eager_graph
from tfcompat._src.function.first_runs import FIRST_RUNS
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.function_body import GraphFunction, acting_nodes, with_held
from tfcompat._src.proto import messages
from tfcompat._src.runtime.devices.devices import Device
from tfcompat._src.runtime.devices.placer import Placer
from tfcompat._src.runtime.passes.prune import prune
from tfcompat._src.runtime.session.partition_graphs import PRODUCER, argument_names, by_device, nodes_of


def enable_run_metadata() -> None:
    """Starts collecting the graphs of functions that run for the first time. As in 1.15 on CPUs, no times are collected."""
    FIRST_RUNS.switch(is_on=True)


def disable_run_metadata() -> None:
    """Stops collecting and discards what was collected."""
    FIRST_RUNS.switch(is_on=False)


def enable_graph_collection() -> None:
    """Starts collecting the graphs of functions that run for the first time."""
    FIRST_RUNS.switch(is_on=True)


def disable_graph_collection() -> None:
    """Stops collecting and discards what was collected."""
    FIRST_RUNS.switch(is_on=False)


def export_run_metadata() -> Any:
    """Returns a RunMetadata of the functions that ran for the first time since collecting began, or since the last export.

    It has each function's graph as written, and as it runs: with calls inlined and pruned. XLA's optimizations do not show in it.
    """
    metadata = messages.RunMetadata()
    state = eager_graph().state
    device_of = Placer(state.devices, state.config).device_of
    for function in FIRST_RUNS.taken():
        graphs = metadata.function_graphs.add()
        graphs.pre_optimization_graph.CopyFrom(written_graph(function))
        parts = _graphs_that_run(function, device_of)
        graphs.partition_graphs.extend(parts)
        metadata.partition_graphs.extend(parts)
        for part in parts:
            graphs.post_optimization_graph.node.extend(part.node)
        graphs.post_optimization_graph.versions.producer = PRODUCER
    return metadata


def _ends(function: GraphFunction) -> tuple[dict[Tensor, str], list[str]]:
    """Returns the names of a function's arguments, by tensor, and those of the nodes of its results."""
    names = dict(zip(function.body.inputs, function.arg_names))
    return names, [f"{name}_RetVal" for name in function.out_names]


def written_graph(function: GraphFunction) -> Any:
    """Returns a function as a GraphDef: arguments as `_Arg` nodes, its nodes, results as `_Retval` nodes, and the functions it calls."""
    names, results = _ends(function)
    graph_def = messages.GraphDef(versions=messages.VersionDef(producer=PRODUCER))
    # Placeholders of the body become _Arg nodes with the arguments' names.
    renamed = {t._as_node_def_input(): name for t, name in names.items()}
    arguments = {t.op for t in names}
    for index, (tensor, name) in enumerate(names.items()):
        _add_end(graph_def, name, "_Arg", tensor, index)
    for op in function.body.get_operations():
        if op not in arguments:
            node = graph_def.node.add()
            node.CopyFrom(op.node_def)
            node.input[:] = [renamed.get(i, i) for i in node.input]
    for index, (tensor, name) in enumerate(zip(function.outputs, results)):
        source = tensor._as_node_def_input()
        _add_end(graph_def, name, "_Retval", tensor, index).input.append(renamed.get(source, source))
    for held in with_held(function.held.values()).values():
        graph_def.library.function.add().CopyFrom(held.definition)
    return graph_def


def _add_end(graph: Any, name: str, kind: str, tensor: Tensor, index: int) -> Any:
    """Adds the `_Arg` or `_Retval` node of a tensor and returns it."""
    node = graph.node.add(name=name, op=kind)
    node.attr["T"].type = tensor.dtype.base_dtype.as_datatype_enum
    node.attr["index"].i = index
    return node


def _graphs_that_run(function: GraphFunction, device_of: Callable[[Operation], Device]) -> list[Any]:
    """Returns the graph of each device as it runs: calls inlined, and pruned to what results and side effects depend on."""
    body, (names, results) = function.body, _ends(function)
    # As a run would prune them: by results and side effects.
    ops = prune(function.outputs, acting_nodes(body.get_operations()), body.inputs)
    renamed = {run_name: names[t] for t, run_name in argument_names(body.inputs).items()}
    graphs = by_device(node for node, _ in nodes_of(ops, body.inputs, (), device_of))
    # A result of a device without nodes (an argument that is returned) goes to the first graph.
    first = next(iter(graphs.values()), None) or messages.GraphDef(versions=messages.VersionDef(producer=PRODUCER))
    for graph in graphs.values():
        for node in graph.node:
            node.name = renamed.get(node.name, node.name)
            node.input[:] = [renamed.get(i, i) for i in node.input]
    for index, (tensor, name) in enumerate(zip(function.outputs, results)):
        device = device_of(tensor.op).name
        node = _add_end(graphs.get(device, first), name, "_Retval", tensor, index)
        node.device = device
        source = tensor._as_node_def_input()
        node.input.append(names.get(tensor, source))
    return list(graphs.values()) or [first]
