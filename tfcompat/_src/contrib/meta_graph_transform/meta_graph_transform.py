"""tf.contrib.meta_graph_transform: transforms of the graph of a MetaGraphDef, and the rest of it without what they took away."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

from tfcompat._src.base import registry
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.graph_util import convert_variables_to_constants
from tfcompat._src.nodes.graph_import import import_graph_def
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.saved_model import constants
from tfcompat._src.saved_model.graph_transforms import transform_graph
from tfcompat._src.saved_model.graph_transforms.context import node_of
from tfcompat._src.train.saver import Saver

_FREEZE_GRAPH_TRANSFORM, _SPARSIFY_GATHER_TRANSFORM = "freeze_graph", "sparsify_gather"
_VARIABLES = (
    GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES, GraphKeys.MOVING_AVERAGE_VARIABLES, GraphKeys.LOCAL_VARIABLES,
    GraphKeys.MODEL_VARIABLES,
)  # fmt: skip
_SINGLE = (
    constants.LEGACY_INIT_OP_KEY, constants.MAIN_OP_KEY, GraphKeys.INIT_OP, GraphKeys.LOCAL_INIT_OP, GraphKeys.READY_OP,
    GraphKeys.READY_FOR_LOCAL_INIT_OP,
)  # fmt: skip
_SHARED = (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY)
Initializers = dict[str, list[str]]
"""Nodes that initialize, save or restore, by the collection that they come from."""


@export("contrib.meta_graph_transform.meta_graph_transform.meta_graph_transform")
def meta_graph_transform(
    base_meta_graph_def: Any, input_names: list[str], output_names: list[str], transforms: list[str], tags: Iterable[str],
    checkpoint_path: str | None = None,
) -> Any:  # fmt: skip
    """A MetaGraphDef whose graph went through transforms; collections, Saver and signatures lose what they took away.

    Args:
      base_meta_graph_def: the MetaGraphDef; it stays as it is.
      input_names: names of nodes that are fed.
      output_names: names of nodes or tensors that are wanted.
      transforms: those of the Graph Transform Tool, and "freeze_graph", which makes constants of variables.
      tags: tags of the result.
      checkpoint_path: the prefix of the checkpoint that "freeze_graph" takes values from.

    Raises:
      ValueError: a collection has another kind of contents than 1.15 gives it, or nodes of the Saver were taken away.
      NotImplementedError: a transform is not built; "sparsify_gather" is not.
    """
    initializers = _find_all_mandatory_retain_ops(base_meta_graph_def)
    graph_def, initializers = _do_transforms(
        base_meta_graph_def.graph_def, input_names, output_names, initializers, transforms, base_meta_graph_def.saver_def, checkpoint_path
    )
    result = messages.MetaGraphDef(graph_def=graph_def, meta_info_def=base_meta_graph_def.meta_info_def)
    result.meta_info_def.tags[:] = tags
    removed = {node.name for node in base_meta_graph_def.graph_def.node} - {node.name for node in graph_def.node}
    logging.info("Transforms removed %s", sorted(removed))
    if _FREEZE_GRAPH_TRANSFORM not in transforms:
        _add_pruned_saver(base_meta_graph_def, result, removed)
    for key in base_meta_graph_def.collection_def:
        _add_pruned_collection(base_meta_graph_def, result, key, removed)
    _add_new_inits_to_collection(result, initializers)
    for key in base_meta_graph_def.signature_def:
        _add_pruned_signature(base_meta_graph_def, result, key, removed)
    return result


# ---- what has to stay ----


def _nodes_of(meta_graph_def: messages.MetaGraphDef, key: str) -> list[str]:
    """The names in a collection of nodes; none where it is not there, ValueError where it has no names of nodes."""
    if key not in meta_graph_def.collection_def:
        return []
    names = meta_graph_def.collection_def[key].node_list.value
    if not names:
        raise ValueError(f"The collection {key!r} must have names of nodes, but has {meta_graph_def.collection_def[key]!r}")
    return list(names)


def _messages_of(meta_graph_def: messages.MetaGraphDef, key: str) -> list[Any]:
    """The messages in a collection of them; none where it is not there, ValueError where it has no messages."""
    if key not in meta_graph_def.collection_def:
        return []
    serialized = meta_graph_def.collection_def[key].bytes_list.value
    kind = registry.get_collection_proto_type(key)
    if not serialized or kind is None:
        raise ValueError(f"The collection {key!r} must have serialized messages, but has {meta_graph_def.collection_def[key]!r}")
    return [kind.FromString(value) for value in serialized]


def _find_all_mandatory_retain_ops(meta_graph_def: messages.MetaGraphDef) -> Initializers:
    """The nodes that initialize, save or restore, by the collection that they come from."""
    savers = [meta_graph_def.saver_def] if meta_graph_def.HasField("saver_def") else []
    savers += _messages_of(meta_graph_def, GraphKeys.SAVERS)
    found = {GraphKeys.SAVERS: [name for each in savers for name in (each.filename_tensor_name, each.save_tensor_name, each.restore_op_name)]}
    for key in _VARIABLES:
        found[key] = [variable.initializer_name for variable in _messages_of(meta_graph_def, key)]
    for key in (GraphKeys.TABLE_INITIALIZERS, *_SINGLE):
        found[key] = _nodes_of(meta_graph_def, key)
        if key in _SINGLE and len(found[key]) > 1:
            raise ValueError(f"The collection {key!r} must have the name of one node, but has {found[key]}")
    return {key: [node_of(name) for name in names] for key, names in found.items() if names}


# ---- transforms ----


def _do_transforms(
    graph_def: messages.GraphDef, input_names: list[str], output_names: list[str], initializer_names: Initializers, transforms: list[str],
    saver_def: object = None, checkpoint_path: str | None = None,
) -> tuple[Any, Initializers]:  # fmt: skip
    """The GraphDef after all transforms, and the initializers that it has then."""
    result = messages.GraphDef()
    result.CopyFrom(graph_def)
    initializers, waiting = dict(initializer_names), []
    for transform in transforms:
        if transform not in (_FREEZE_GRAPH_TRANSFORM, _SPARSIFY_GATHER_TRANSFORM):
            waiting.append(transform)
            continue
        result = _gtt_transforms(result, input_names, output_names, initializers, waiting)
        waiting = []
        if transform == _FREEZE_GRAPH_TRANSFORM:
            nodes = [node_of(name) for name in output_names]
            result, initializers = _freeze_transform(result, nodes, initializers, saver_def, checkpoint_path)
        else:
            result, initializers = _sparsify_gather_transform(result, input_names, output_names, initializers, checkpoint_path)
    return _gtt_transforms(result, input_names, output_names, initializers, waiting), initializers


def _gtt_transforms(
    graph_def: messages.GraphDef, input_names: list[str], output_names: list[str], initializer_names: Initializers, transforms: list[str]
) -> Any:
    """The GraphDef after transforms of the Graph Transform Tool, with all initializers."""
    if not transforms:
        result = messages.GraphDef()
        result.CopyFrom(graph_def)
        return result
    kept = sorted(name for names in initializer_names.values() for name in names)
    return transform_graph.TransformGraph(graph_def, input_names, output_names + kept, transforms)


def _get_shared_init_op(initializer_names: Initializers) -> str | None:
    """The node that runs all initializers, or None."""
    return next((str(initializer_names[key][0]) for key in _SHARED if initializer_names.get(key)), None)


def _freeze_transform(
    graph_def: messages.GraphDef, output_names: list[str], initializer_names: Initializers, saver_def: object, checkpoint_path: str | None
) -> tuple[Any, Initializers]:
    """The GraphDef with constants in place of variables; of the initializers those of tables stay, and the node that runs them all."""
    tables = initializer_names.get(GraphKeys.TABLE_INITIALIZERS, [])
    shared = _get_shared_init_op(initializer_names)
    frozen = _freeze_graph_with_def_protos(graph_def, output_names, tables, shared, saver_def, checkpoint_path)
    if not tables:
        return frozen, {}
    return frozen, {GraphKeys.TABLE_INITIALIZERS: tables, **{key: initializer_names[key] for key in _SHARED if key in initializer_names}}


def _freeze_graph_with_def_protos(
    input_graph_def: object, output_node_names: list[str], initializer_names: list[str], shared_init_op_name: str | None,
    input_saver_def: object, input_checkpoint: str | None,
) -> Any:  # fmt: skip
    """The GraphDef with the values that a checkpoint has for its variables, and the given initializers."""
    with Graph().as_default():
        import_graph_def(input_graph_def, name="")
        with Session() as session:
            Saver(saver_def=input_saver_def).restore(session, input_checkpoint)
            frozen = convert_variables_to_constants(session, input_graph_def, output_node_names + initializer_names)
    if shared_init_op_name:
        _connect_to_shared_init_op(frozen, shared_init_op_name, initializer_names)
    return frozen


def _connect_to_shared_init_op(graph_def: messages.GraphDef, shared_init_op_name: str, nodes_to_connect: list[str]) -> None:
    """Adds the node that runs others; none where there are no others."""
    if nodes_to_connect:
        graph_def.node.add(name=shared_init_op_name, op="NoOp", input=[f"^{name}" for name in nodes_to_connect])


def _sparsify_gather_transform(
    graph_def: messages.GraphDef, input_names: list[str], output_names: list[str], initializer_names: Initializers, checkpoint_path: str | None
) -> tuple[Any, Initializers]:
    """The GraphDef with tables in place of sparse weights that are looked up; the tables' initializers join those that it had."""
    before = {node.name for node in graph_def.node}
    shared = "sparify_gather_init_op"
    while shared in before:
        shared += "_1"
    source = f'input_checkpoint="{checkpoint_path}", ' if checkpoint_path else ""
    command = f'{_SPARSIFY_GATHER_TRANSFORM}({source}group_init_node="{shared}")'
    graph_def = _gtt_transforms(graph_def, input_names, output_names, initializer_names, [command])
    nodes = {node.name: node for node in graph_def.node}
    removed = [re.sub(r"/part_[^/]*$", "", name) for name in sorted(before - set(nodes))]
    tables = [name.lstrip("^") for name in nodes[shared].input] if shared in nodes else []
    if shared in nodes:
        initializer_names[GraphKeys.TABLE_INITIALIZERS] = [*initializer_names.get(GraphKeys.TABLE_INITIALIZERS, []), *tables]
        graph_def.node.remove(nodes[shared])
    nodes = {node.name: node for node in graph_def.node}
    if tables:
        nodes[_get_shared_init_op(initializer_names)].input.extend(f"^{name}" for name in tables)  # type: ignore[index]
    for node in graph_def.node:
        if node.name.endswith("SaveV2"):
            _clean_save_and_restore(graph_def, node, removed)
    return graph_def, initializer_names


def _clean_save_and_restore(graph_def: messages.GraphDef, op: Any, removed_op_names: Collection[str]) -> None:
    """Takes variables that were removed out of a node that saves or restores, and out of its constants of names and slices."""
    nodes = {node.name: node for node in graph_def.node}
    names, slices = (nodes[f"{op.name}/{end}"] for end in ("tensor_names", "shape_and_slices"))
    stay = [i for i, name in enumerate(names.attr["value"].tensor.string_val) if not _is_removed(name.decode(), removed_op_names)]
    for node in (names, slices):
        tensor = node.attr["value"].tensor
        tensor.string_val[:] = [tensor.string_val[i] for i in stay]
        tensor.tensor_shape.dim[0].size = len(stay)
        shapes = node.attr["_output_shapes"].list.shape
        if not shapes:
            shapes.add().dim.add()
        shapes[0].dim[0].size = len(stay)
    op.attr["dtypes"].list.type[:] = [op.attr["dtypes"].list.type[i] for i in stay]


# ---- the rest of the MetaGraphDef ----


def _is_removed(tensor_name: str, removed_op_names: Collection[str]) -> bool:
    """Whether the node that gives a tensor was removed."""
    return tensor_name.split(":")[0] in removed_op_names


def _is_removed_mentioned(s: str | bytes, removed_op_names: Collection[str]) -> bool:
    """Whether a name of nodes in a serialized message ends as one of those that were removed does, as 1.15 looks for them."""
    text = s.decode("latin-1") if isinstance(s, bytes) else s
    return any(name.endswith(tuple(removed_op_names)) for name in re.findall(r"[/\w]+", text, re.ASCII))


def _check_tensor_not_removed(tensor_name: str, removed_op_names: Collection[str]) -> None:
    if not tensor_name:
        raise ValueError("Tensor name should not be empty")
    if _is_removed(tensor_name, removed_op_names):
        raise ValueError(f"Expected Tensor, but it was removed: {tensor_name}")


def _add_pruned_saver(base_meta_graph_def: Any, meta_graph_def: messages.MetaGraphDef, removed_op_names: Collection[str]) -> None:
    """Copies the Saver, none of whose nodes may have been removed."""
    if base_meta_graph_def.HasField("saver_def"):
        saver = base_meta_graph_def.saver_def
        for name in (saver.filename_tensor_name, saver.save_tensor_name, saver.restore_op_name):
            _check_tensor_not_removed(name, removed_op_names)
        meta_graph_def.saver_def.CopyFrom(saver)


def _add_pruned_collection(base_meta_graph_def: Any, meta_graph_def: Any, collection_name: str, removed_op_names: Collection[str]) -> None:
    """Copies of a collection what names no node that was removed."""
    old, new = base_meta_graph_def.collection_def[collection_name], meta_graph_def.collection_def[collection_name]
    kind = old.WhichOneof("kind")
    if kind == "node_list":
        new.node_list.value[:] = [name for name in old.node_list.value if not _is_removed(name, removed_op_names)]
    elif kind == "bytes_list":
        new.bytes_list.value[:] = [value for value in old.bytes_list.value if not _is_removed_mentioned(value, removed_op_names)]
    elif kind == "any_list":
        new.any_list.value.extend(each for each in old.any_list.value if not _is_removed_mentioned(each.value, removed_op_names))
    else:
        new.CopyFrom(old)


def _add_pruned_signature(base_meta_graph_def: Any, meta_graph_def: messages.MetaGraphDef, signature_name: str, removed_op_names: Collection[str]) -> None:
    """Copies a signature, unless one of its tensors was removed."""
    signature = base_meta_graph_def.signature_def[signature_name]
    names = [info.name for info in (*signature.inputs.values(), *signature.outputs.values())]
    if all(name and not _is_removed(name, removed_op_names) for name in names):
        meta_graph_def.signature_def[signature_name].CopyFrom(signature)


def _add_new_inits_to_collection(meta_graph_def: messages.MetaGraphDef, updated_initializer_names: Initializers) -> None:
    """Adds to the collection of tables' initializers those that transforms have made."""
    key = GraphKeys.TABLE_INITIALIZERS
    new = set(updated_initializer_names.get(key, ())) - set(_nodes_of(meta_graph_def, key))
    if key in updated_initializer_names:
        meta_graph_def.collection_def[key].node_list.value.extend(sorted(new))
