"""`tensorflow.python.framework.function_def_to_graph`: turns a FunctionDef into a GraphDef, or into a graph that can be inspected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph import attr_values, op_spec
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.nodes.function_body import FuncGraph
from tfcompat._src.nodes.graph_import import import_graph_def
from tfcompat._src.proto import messages


def is_function(fname: str) -> bool:
    """Returns whether the default graph has a function of this name."""
    return get_default_graph()._is_function(fname)


def function_def_to_graph(fdef: messages.FunctionDef, input_shapes: Sequence[object] | None = None, copy_functions: bool = True) -> FuncGraph:
    """Returns the body of a function as a graph with `name`, `inputs`, `outputs` and `control_outputs`.

    Args:
      fdef: the FunctionDef.
      input_shapes: see `function_def_to_graph_def`; by default the function's `_input_shapes` attribute.
      copy_functions: see `function_def_to_graph_def`.
    """
    stated = fdef.attr["_input_shapes"].list.shape if "_input_shapes" in fdef.attr else None
    graph_def, flat = function_def_to_graph_def(fdef, stated if input_shapes is None else input_shapes, copy_functions)
    graph = FuncGraph(get_default_graph())
    graph.name = fdef.signature.name  # type: ignore[attr-defined]  # of 1.15's
    with graph.as_default():
        import_graph_def(graph_def, name="")
        graph.inputs = [graph.get_tensor_by_name(flat[arg.name]) for arg in fdef.signature.input_arg]
        graph.outputs = [graph.get_tensor_by_name(flat[fdef.ret[arg.name]]) for arg in fdef.signature.output_arg]
        waited = [fdef.control_ret[name] for name in fdef.signature.control_output]
        graph.control_outputs = [graph.get_operation_by_name(name) for name in waited]  # type: ignore[attr-defined]  # of 1.15's
    return graph


def function_def_to_graph_def(
    fdef: messages.FunctionDef, input_shapes: Sequence[object] | None = None, copy_functions: bool = True
) -> tuple[messages.GraphDef, dict[str, str]]:
    """Returns the nodes of a function as a GraphDef with a placeholder for each argument.

    Args:
      fdef: the FunctionDef.
      input_shapes: TensorShapes or TensorShapeProtos, one per argument; None for an unknown shape.
      copy_functions: whether the library gets all functions of the default graph, not only those that the nodes call.

    Returns:
      the GraphDef, and a dict from tensor names in the function to names in the GraphDef.

    Raises:
      ValueError: the number of shapes differs from that of arguments, or a node names an unknown function or op type.
    """
    arguments = fdef.signature.input_arg
    if input_shapes and len(input_shapes) != len(arguments):
        raise ValueError(
            f"Length of input_shapes must match the number of input_args. len(input_shapes): {len(input_shapes)} len(input_arg): {len(arguments)}"
        )
    graph = get_default_graph()
    graph_def = messages.GraphDef(versions=graph.graph_def_versions)
    for i, arg in enumerate(arguments):
        _add_placeholder(graph_def, arg, input_shapes[i] if input_shapes else None, fdef.arg_attr[i].attr if i in fdef.arg_attr else {})
    graph_def.node.extend(fdef.node_def)
    # Checks that all functions exist, also if the whole library is copied.
    called = {name for node in fdef.node_def for name in _functions_of(graph, node)}
    copied = graph._functions if copy_functions else [name for name in graph._functions if name in called]
    for name in copied:
        graph_def.library.function.add().CopyFrom(graph._functions[name].definition)
    # Bodies name tensors "node:output:index", graphs "node:number"; control inputs keep their names.
    flat = {arg.name: f"{arg.name}:0" for arg in arguments}
    for node in fdef.node_def:
        flat.update(_outputs(graph, node))
    flat |= {f"^{name}": f"^{name}" for name in [*(arg.name for arg in arguments), *(node.name for node in fdef.node_def)]}
    for node in graph_def.node:
        node.input[:] = [flat[source] for source in node.input]
    return graph_def, flat


def _add_placeholder(graph_def: messages.GraphDef, arg: messages.OpDef.ArgDef, shape: object, attrs: Mapping[str, messages.AttrValue]) -> None:
    """Adds the placeholder of an argument, with the argument's private attributes (names that begin with "_")."""
    node = graph_def.node.add(name=arg.name, op="Placeholder")
    node.attr["dtype"].type = arg.type
    if shape is not None:
        node.attr["shape"].shape.CopyFrom(shape.as_proto() if isinstance(shape, TensorShape) else shape)
    for key, value in attrs.items():
        if key.startswith("_"):
            node.attr[key].CopyFrom(value)


def _functions_of(graph: Graph, node: messages.NodeDef) -> Iterator[str]:
    """Yields the names of the functions that a node calls, by its op type or in its attributes.

    Raises:
      ValueError: the graph has no function of such a name.
    """
    if graph._is_function(node.op):
        yield node.op
    for value in node.attr.values():
        for function in (value.func, *value.list.func):
            if not function.name:
                continue
            if not graph._is_function(function.name):
                raise ValueError(f"{function.name} function not found.")
            yield function.name


def _outputs(graph: Graph, node: messages.NodeDef) -> Iterator[tuple[str, str]]:
    """Yields, for each output of a node, its name in a function and its name in a graph."""
    function = graph._get_function(node.op)
    spec = op_spec.find(node.op) if function is None else function.spec
    if spec is None:
        raise ValueError(f"Op type not registered '{node.op}' in tfcompat: node {node.name!r}.")
    number = 0
    for arg in attr_values.op_def(spec).output_arg:
        for i in range(_count(arg, node)):
            yield f"{node.name}:{arg.name}:{i}", f"{node.name}:{number}"
            number += 1


def _count(arg: messages.OpDef.ArgDef, node: messages.NodeDef) -> int:
    """Returns the number of tensors that an output argument consists of."""
    if arg.number_attr:
        return int(node.attr[arg.number_attr].i)
    return len(node.attr[arg.type_list_attr].list.type) if arg.type_list_attr else 1
