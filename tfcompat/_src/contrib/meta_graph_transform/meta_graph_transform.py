"""tf.contrib.meta_graph_transform: transforms of the graph of a MetaGraphDef, and the rest of it without what they took away."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tfcompat._src.base import registry
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.graph_util import convert_variables_to_constants
from tfcompat._src.nodes.graph_import import import_graph_def
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session import Session
from tfcompat._src.saved_model import constants
from tfcompat._src.saved_model.graph_transforms import transform_graph
from tfcompat._src.saved_model.graph_transforms.context import node_of
from tfcompat._src.train.saver import Saver

_FREEZE, _SPARSIFY = "freeze_graph", "sparsify_gather"
_VARIABLES = (
    GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES, GraphKeys.MOVING_AVERAGE_VARIABLES, GraphKeys.LOCAL_VARIABLES,
    GraphKeys.MODEL_VARIABLES,
)  # fmt: skip
_SINGLE = (
    constants.LEGACY_INIT_OP_KEY, constants.MAIN_OP_KEY, GraphKeys.INIT_OP, GraphKeys.LOCAL_INIT_OP, GraphKeys.READY_OP,
    GraphKeys.READY_FOR_LOCAL_INIT_OP,
)  # fmt: skip
_SHARED = (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY)


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
      NotImplementedError: the transform is "sparsify_gather", or another that is not built.
    """
    graph_def = _transformed(
        base_meta_graph_def.graph_def, input_names, output_names, _initializers(base_meta_graph_def), transforms,
        base_meta_graph_def.saver_def, checkpoint_path,
    )  # fmt: skip
    result = messages.MetaGraphDef(graph_def=graph_def, meta_info_def=base_meta_graph_def.meta_info_def)
    result.meta_info_def.tags[:] = tags
    removed = {node.name for node in base_meta_graph_def.graph_def.node} - {node.name for node in graph_def.node}
    logging.info("Transforms removed %s", sorted(removed))
    if _FREEZE not in transforms:
        _keep_saver(base_meta_graph_def, result, removed)
    for key, collection in base_meta_graph_def.collection_def.items():
        _keep_collection(collection, result.collection_def[key], removed)
    for key, signature in base_meta_graph_def.signature_def.items():
        if not any(node_of(info.name) in removed or not info.name for info in (*signature.inputs.values(), *signature.outputs.values())):
            result.signature_def[key].CopyFrom(signature)
    return result


# ---- what has to stay ----


def _nodes_of(meta_graph_def: Any, key: str) -> list[str]:
    """The names in a collection of nodes; none where it is not there, ValueError where it has no names of nodes."""
    if key not in meta_graph_def.collection_def:
        return []
    names = meta_graph_def.collection_def[key].node_list.value
    if not names:
        raise ValueError(f"The collection {key!r} must have names of nodes, but has {meta_graph_def.collection_def[key]!r}")
    return list(names)


def _messages_of(meta_graph_def: Any, key: str) -> list[Any]:
    """The messages in a collection of them; none where it is not there, ValueError where it has no messages."""
    if key not in meta_graph_def.collection_def:
        return []
    serialized = meta_graph_def.collection_def[key].bytes_list.value
    kind = registry.get_collection_proto_type(key)
    if not serialized or kind is None:
        raise ValueError(f"The collection {key!r} must have serialized messages, but has {meta_graph_def.collection_def[key]!r}")
    return [kind.FromString(value) for value in serialized]


def _initializers(meta_graph_def: Any) -> dict[str, list[str]]:
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


def _transformed(
    graph_def: Any, inputs: list[str], outputs: list[str], initializers: dict[str, list[str]], transforms: list[str], saver_def: Any,
    checkpoint_path: str | None,
) -> Any:  # fmt: skip
    """The GraphDef after all transforms."""
    if _SPARSIFY in transforms:
        raise NotImplementedError(f"The transform {_SPARSIFY!r} is not built; leave it out: it makes tables of lookups in sparse weights.")
    waiting: list[str] = []
    for transform in transforms:
        if transform == _FREEZE:
            graph_def = _by_tool(graph_def, inputs, outputs, initializers, waiting)
            graph_def, initializers = _frozen(graph_def, outputs, initializers, saver_def, checkpoint_path)
            waiting = []
        else:
            waiting.append(transform)
    return _by_tool(graph_def, inputs, outputs, initializers, waiting)


def _by_tool(graph_def: Any, inputs: list[str], outputs: list[str], initializers: dict[str, list[str]], transforms: list[str]) -> Any:
    """The GraphDef after transforms of the Graph Transform Tool, with all initializers."""
    if not transforms:
        return graph_def
    kept = sorted(name for names in initializers.values() for name in names)
    return transform_graph.TransformGraph(graph_def, inputs, outputs + kept, transforms)


def _frozen(
    graph_def: Any, outputs: list[str], initializers: dict[str, list[str]], saver_def: Any, checkpoint_path: str | None
) -> tuple[Any, dict[str, list[str]]]:
    """The GraphDef with constants in place of variables; of the initializers those of tables stay, and the node that runs them all."""
    tables = initializers.get(GraphKeys.TABLE_INITIALIZERS, [])
    with Graph().as_default():
        import_graph_def(graph_def, name="")
        with Session() as session:
            Saver(saver_def=saver_def).restore(session, checkpoint_path)
            frozen = convert_variables_to_constants(session, graph_def, [node_of(name) for name in outputs] + tables)
    if not tables:
        return frozen, {}
    shared = {key: initializers[key] for key in _SHARED if key in initializers}
    for name in next(iter(shared.values()), [])[:1]:
        frozen.node.add(name=name, op="NoOp", input=[f"^{table}" for table in tables])
    return frozen, {GraphKeys.TABLE_INITIALIZERS: tables, **shared}


# ---- the rest of the MetaGraphDef ----


def _keep_saver(base: Any, result: Any, removed: set[str]) -> None:
    if not base.HasField("saver_def"):
        return
    saver = base.saver_def
    for name in (saver.filename_tensor_name, saver.save_tensor_name, saver.restore_op_name):
        if not name or node_of(name) in removed:
            raise ValueError(f"The Saver of the MetaGraphDef needs the node {name!r}, which the transforms removed, or which has no name.")
    result.saver_def.CopyFrom(saver)


def _keep_collection(old: Any, new: Any, removed: set[str]) -> None:
    """Fills a collection with what names no node that was removed."""
    kind = old.WhichOneof("kind")
    if kind == "node_list":
        new.node_list.value[:] = [name for name in old.node_list.value if node_of(name) not in removed]
    elif kind == "bytes_list":
        new.bytes_list.value[:] = [value for value in old.bytes_list.value if not _mentions(value.decode("latin-1"), removed)]
    elif kind == "any_list":
        new.any_list.value.extend(each for each in old.any_list.value if not _mentions(each.value.decode("latin-1"), removed))
    else:
        new.CopyFrom(old)


def _mentions(text: str, removed: set[str]) -> bool:
    """Whether a name of nodes in a serialized message ends as one of those that were removed does, as 1.15 looks for them."""
    return any(name.endswith(tuple(removed)) for name in re.findall(r"[/\w]+", text, re.ASCII))
