"""Frozen GraphDefs of sessions and SavedModels, and the names and shapes of their tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.graph import graph_util
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lite.op_hint import convert_op_hints_to_stubs, find_all_hinted_output_nodes
from tfcompat._src.nodes.function_body import CallOperation
from tfcompat._src.proto import messages
from tfcompat._src.runtime.passes.prune import prune
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.saved_model import constants, loader


def get_tensor_name(tensor: Any) -> str:
    """The name of a tensor, without the ":0" of first outputs.

    Raises:
      ValueError: the name has several colons.
    """
    parts = tensor.name.split(":")
    if len(parts) > 2:
        raise ValueError(f"Tensor name invalid. Expect 0 or 1 colon, got {len(parts) - 1}")
    return str(tensor.name if len(parts) > 1 and parts[1] != "0" else parts[0])


def get_tensors_from_tensor_names(graph: Graph, tensor_names: Iterable[str]) -> list[Tensor]:
    """The tensors of a graph by their names, as get_tensor_name gives them.

    Raises:
      ValueError: the graph does not have some of them.
    """
    known = {get_tensor_name(t): t for op in graph.get_operations() for t in op.outputs}
    names = list(tensor_names)
    invalid = [name for name in names if name not in known]
    if invalid:
        raise ValueError(f"Invalid tensors '{','.join(invalid)}' were found.")
    return [known[name] for name in names]


def set_tensor_shapes(tensors: Sequence[Tensor], shapes: dict[str, Any] | None) -> None:
    """Sets the shapes of tensors by their names; None leaves one.

    Raises:
      ValueError: there is no such tensor, or its shape contradicts.
    """
    by_name = {get_tensor_name(t): t for t in tensors}
    for name, shape in (shapes or {}).items():
        if name not in by_name:
            raise ValueError(f"Invalid tensor '{name}' found in tensor shapes map.")
        if shape is None:
            continue
        tensor = by_name[name]
        try:
            tensor.set_shape(shape)
        except ValueError as error:
            raise ValueError(f"The shape of tensor '{name}' cannot be changed from {tensor.shape} to {shape}. {error}") from error


def is_frozen_graph(sess: SessionLike) -> bool:
    """Whether the graph of a session has no variables."""
    return not any(op.type.startswith("Variable") or op.type.endswith("VariableOp") for op in sess.graph.get_operations())


def freeze_graph(sess: SessionLike, input_tensors: Sequence[Tensor], output_tensors: Sequence[Tensor]) -> Any:
    """The GraphDef of a session that its outputs need: functions inlined, variables as constants of their values, a node in place of
    what each OpHint marks.

    Raises:
      errors.FailedPreconditionError: a variable has no value.
    """
    graph_def = inlined(sess.graph, output_tensors)
    names = [t.op.name for t in output_tensors]
    hinted = find_all_hinted_output_nodes(graph_def=graph_def)
    if hinted:
        frozen = graph_util.convert_variables_to_constants(sess, graph_def, [*names, *hinted])
        return graph_util.extract_sub_graph(convert_op_hints_to_stubs(graph_def=frozen), names)
    if is_frozen_graph(sess):
        return graph_def
    return graph_util.convert_variables_to_constants(sess, graph_def, names)


def inlined(graph: Graph, output_tensors: Sequence[Tensor]) -> Any:
    """The GraphDef, with copies of the bodies for calls of functions."""
    ops = prune(output_tensors, [], [])
    graph_def = graph.as_graph_def()
    if not any(isinstance(op, CallOperation) for op in ops):
        return graph_def
    found = messages.GraphDef(versions=graph_def.versions, library=graph_def.library)
    for op in ops:
        node = found.node.add()
        if isinstance(op, CallOperation):
            node.name, node.op = op.name, "IdentityN"
            node.attr["T"].list.type.extend(t.dtype.as_datatype_enum for t in op.outputs)
        else:
            node.CopyFrom(op.node_def)
        del node.input[:]
        node.input.extend([get_tensor_name(t) for t in op.takes] + ["^" + c.name for c in op.waits_for])
    named = {node.name for node in found.node}
    for node in found.node:
        if "_class" in node.attr:
            beside = node.attr["_class"].list.s
            beside[:] = [each for each in beside if each.removeprefix(b"loc:@").decode() in named]
    return found


def get_meta_graph_def(saved_model_dir: str, tag_set: Iterable[str]) -> Any:
    """The MetaGraphDef of a SavedModel by its tags."""
    with Session(graph=Graph()) as sess:
        return loader.load(sess, tag_set, saved_model_dir)


def get_signature_def(meta_graph: Any, signature_key: str) -> Any:
    """A signature of a MetaGraphDef.

    Raises:
      ValueError: it has no such signature.
    """
    keys = set(meta_graph.signature_def.keys())
    if signature_key not in keys:
        raise ValueError(f"No '{signature_key}' in the SavedModel's SignatureDefs. Possible values are '{','.join(keys)}'.")
    return meta_graph.signature_def[signature_key]


def get_inputs_outputs(signature_def: Any) -> tuple[list[str], list[str]]:
    """Names of the tensors that a signature takes and gives."""
    return [i.name for i in signature_def.inputs.values()], [o.name for o in signature_def.outputs.values()]


def _get_tensors(graph: Graph, signature_def_tensor_names: Iterable[str] | None = None, user_tensor_names: Iterable[str] | None = None) -> list[Tensor]:
    if user_tensor_names:
        return get_tensors_from_tensor_names(graph, sorted(user_tensor_names))
    if signature_def_tensor_names:
        return [graph.get_tensor_by_name(name) for name in sorted(signature_def_tensor_names)]
    raise ValueError("Specify either signature_def_tensor_names or user_tensor_names")


def freeze_saved_model(
    saved_model_dir: str, input_arrays: Iterable[str] | None, input_shapes: dict[str, Any] | None, output_arrays: Iterable[str] | None,
    tag_set: Iterable[str], signature_key: str,
) -> tuple[Any, list[Tensor], list[Tensor], Graph]:  # fmt: skip
    """A SavedModel as a frozen GraphDef.

    Returns:
      the GraphDef, its inputs and outputs in the order of their names, and the graph.

    Raises:
      ValueError: there is no such signature, name or shape, or the SavedModel has assets.
    """
    meta_graph = get_meta_graph_def(saved_model_dir, tag_set)
    inputs, outputs = get_inputs_outputs(get_signature_def(meta_graph, signature_key))
    if constants.ASSETS_KEY in meta_graph.collection_def:
        raise ValueError("SavedModels with assets/ directory are not supported.")
    graph = Graph()
    with Session(graph=graph) as sess:
        loader.load(sess, meta_graph.meta_info_def.tags, saved_model_dir)
        in_tensors = _get_tensors(graph, inputs, input_arrays)
        out_tensors = _get_tensors(graph, outputs, output_arrays)
        set_tensor_shapes(in_tensors, input_shapes)
        return freeze_graph(sess, in_tensors, out_tensors), in_tensors, out_tensors, sess.graph
