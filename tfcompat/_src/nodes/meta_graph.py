"""MetaGraphDef messages: a graph with its collections, whole or only the part below one name scope."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError, Message

from tfcompat._src.base.export import export
from tfcompat._src.base.registry import get_collection_proto_type, get_from_proto_function, get_to_proto_function
from tfcompat._src.graph import attr_values, op_spec
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.nodes.graph_import import import_graph_def
from tfcompat._src.platform import file_io, logging
from tfcompat._src.platform.versions import GIT_VERSION, VERSION
from tfcompat._src.proto import messages, pool

SAVER_OPS = frozenset(("Save", "SaveSlices", "SaveV2", "Restore", "RestoreSlice", "RestoreV2"))
UNBOUND_INPUT_PREFIX = "$unbound_inputs_"
_TRAINABLE = "trainable_variables"


# ---- op types ----


@export("contrib.util.ops_used_by_graph_def")
def ops_used_by_graph_def(graph_def: messages.GraphDef) -> list[str]:
    """Returns the op types of the nodes of a GraphDef and of the functions that they call."""
    # Calls are followed into the library; each function is visited once, so that recursion ends.
    functions = {f.signature.name: f for f in graph_def.library.function}
    used: dict[str, None] = {}
    entered: set[str] = set()
    pending = list(graph_def.node)
    while pending:
        op_type = pending.pop().op
        if op_type not in functions:
            used[op_type] = None
        elif op_type not in entered:
            entered.add(op_type)
            pending.extend(functions[op_type].node_def)
    return list(used)


@export("contrib.util.stripped_op_list_for_graph")
def stripped_op_list_for_graph(graph_def: messages.GraphDef) -> messages.OpList:
    """Returns an OpList message with the op types that a GraphDef uses, sorted by name, without unknown ones."""
    specs = [op_spec.find(name) for name in sorted(ops_used_by_graph_def(graph_def))]
    return messages.OpList(op=[attr_values.op_def(spec) for spec in specs if spec is not None])


def strip_graph_default_valued_attrs(meta_graph_def: messages.MetaGraphDef) -> None:
    """Removes attributes with the default of their op type from all nodes."""
    library = meta_graph_def.graph_def.library
    for node in (*meta_graph_def.graph_def.node, *(n for f in library.function for n in f.node_def)):
        spec = op_spec.find(node.op)
        if spec is None:
            continue
        for attr in attr_values.op_def(spec).attr:
            if attr.HasField("default_value") and attr.name in node.attr and node.attr[attr.name] == attr.default_value:
                del node.attr[attr.name]
    meta_graph_def.meta_info_def.stripped_default_attrs = True


# ---- names ----


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """Returns the name of a node or collection entry without the scope; the prefixes "^" and "loc:@" stay."""
    if not export_scope:
        return name
    return re.sub(rf"^([\^]|loc:@|){re.escape(export_scope.rstrip('/'))}/", r"\1", name)


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """Returns a name below the scope; the prefixes "^" and "loc:@" stay in front."""
    if not import_scope:
        return name
    return re.sub(r"^([\^]|loc:@|)(.*)$", rf"\1{import_scope.rstrip('/')}/\2", name)


def _is_below(name: str, export_scope: str | None, excluded: str | None = None) -> bool:
    """Returns whether a name is below the scope and does not begin with `excluded`."""
    name = name.lstrip("^").removeprefix("loc:@")
    if excluded and name.startswith(excluded):
        return False
    return not export_scope or name.startswith(export_scope.rstrip("/") + "/")


# ---- export ----


def create_meta_graph_def(
    meta_info_def: messages.MetaGraphDef.MetaInfoDef = None, graph_def: messages.GraphDef = None, saver_def: messages.SaverDef = None, collection_list: Iterable[str] | None = None,
    graph: Graph | None = None, export_scope: str | None = None, exclude_nodes: str | None = None,
    clear_extraneous_savers: bool = False, strip_default_attrs: bool = False,
) -> messages.MetaGraphDef:  # fmt: skip
    """Returns a MetaGraphDef message of a graph and its collections.

    Args:
      meta_info_def: a MetaInfoDef, whose copy is completed by versions and op list.
      graph_def: its GraphDef; by default that of the graph.
      saver_def: its SaverDef.
      collection_list: keys of the collections to write; by default all.
      graph: the graph; by default the default graph.
      export_scope: only entries of collections below this scope are written, with names relative to it.
      exclude_nodes: entries of collections whose names begin with this are left out.
      clear_extraneous_savers: whether `saver_def` replaces the contents of the collection "savers".
      strip_default_attrs: whether attributes with default values are left out.

    Raises:
      TypeError: `graph` is not a Graph.
    """
    if graph is not None and not isinstance(graph, Graph):
        raise TypeError(f"graph must be of type Graph, not {type(graph)}")
    graph = graph or get_default_graph()
    meta_graph_def = messages.MetaGraphDef()
    meta_graph_def.meta_info_def.CopyFrom(meta_info_def or messages.MetaGraphDef.MetaInfoDef())
    meta_graph_def.meta_info_def.tensorflow_version, meta_graph_def.meta_info_def.tensorflow_git_version = VERSION, GIT_VERSION
    meta_graph_def.graph_def.CopyFrom(graph.as_graph_def(add_shapes=True) if graph_def is None else graph_def)
    if not meta_graph_def.meta_info_def.HasField("stripped_op_list"):
        meta_graph_def.meta_info_def.stripped_op_list.CopyFrom(stripped_op_list_for_graph(meta_graph_def.graph_def))
    if strip_default_attrs:
        strip_graph_default_valued_attrs(meta_graph_def)
    if saver_def is not None:
        meta_graph_def.saver_def.CopyFrom(saver_def)
    for key in graph.get_all_collection_keys() if collection_list is None else collection_list:
        kept = [saver_def] if clear_extraneous_savers and key == "savers" else None
        add_collection_def(meta_graph_def, key, graph, export_scope, exclude_nodes, kept)
    return meta_graph_def


def add_collection_def(
    meta_graph_def: Any, key: str, graph: Graph | None = None, export_scope: str | None = None,
    exclude_nodes: str | None = None, override_contents: Any = None,
) -> None:  # fmt: skip
    """Writes one collection into a MetaGraphDef.

    An empty collection is left out. One with entries that cannot be serialized is left out with a warning, as in 1.15.

    Args:
      meta_graph_def: the message.
      key: of the collection.
      graph: by default the default graph.
      export_scope: only entries below this scope are written.
      exclude_nodes: entries whose names begin with this are left out.
      override_contents: objects to write instead of those of the collection.
    """
    if not isinstance(key, (str, bytes)):
        logging.warning("Only collections with string type keys will be serialized. This key has %s", type(key))
        return
    values = (graph or get_default_graph()).get_collection(key) if override_contents is None else override_contents
    exported = [v for v in values if _is_exported(v, export_scope, exclude_nodes)]
    if not exported:
        return
    try:
        _fill_collection(meta_graph_def.collection_def[key], key, exported, export_scope)
    except (TypeError, ValueError, AttributeError) as e:
        logging.warning(
            "Issue encountered when serializing %s.\nType is unsupported, or the types of the items don't match field type "
            "in CollectionDef. Note this is a warning and probably safe to ignore.\n%s", key, e,
        )  # fmt: skip
        del meta_graph_def.collection_def[key]


def _is_exported(value: object, export_scope: str | None, exclude_nodes: str | None) -> bool:
    """Returns whether an object of a collection belongs to the exported part, judged by its name if it has one."""
    name = getattr(value, "name", None) or getattr(getattr(value, "op", None), "name", None)
    return not isinstance(name, str) or _is_below(name, export_scope, exclude_nodes)


def _fill_collection(entry: messages.CollectionDef, key: str, values: list[Any], export_scope: str | None) -> None:
    """Writes the values of a collection in the form that fits all of them, in 1.15's order of preference."""
    to_proto = get_to_proto_function(key)
    if to_proto is not None:
        protos = [v if isinstance(v, Message) else to_proto(v, export_scope=export_scope) for v in values]
        entry.bytes_list.value.extend(p.SerializeToString() for p in protos if p is not None)
    elif all(isinstance(v, (str, bytes)) for v in values):
        entry.bytes_list.value.extend(v.encode() if isinstance(v, str) else v for v in values)
    elif all(isinstance(v, bool) or isinstance(v, int) for v in values):
        entry.int64_list.value.extend(values)
    elif all(isinstance(v, float) for v in values):
        entry.float_list.value.extend(values)
    elif all(isinstance(v, Message) and v.DESCRIPTOR.full_name == "google.protobuf.Any" for v in values):
        for value in values:
            entry.any_list.value.add(type_url=value.type_url, value=value.value)
    elif all(isinstance(v, Message) for v in values):
        entry.bytes_list.value.extend(v.SerializeToString() for v in values)
    else:
        entry.node_list.value.extend(strip_name_scope(v.name, export_scope) for v in values)
        # An empty list, too, says of which kind the collection is.
        entry.node_list.SetInParent()


def export_scoped_meta_graph(
    filename: str | None = None, graph_def: messages.GraphDef = None, graph: Graph | None = None, export_scope: str | None = None,
    as_text: bool = False, unbound_inputs_col_name: str = "unbound_inputs", clear_devices: bool = False,
    saver_def: messages.SaverDef = None, clear_extraneous_savers: bool = False, strip_default_attrs: bool = False,
    save_debug_info: bool = False, **kwargs: Any,
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """Returns a MetaGraphDef message of a graph, or of the part below a scope.

    Inputs of that part from outside are renamed to "$unbound_inputs_" and their name, for the importer to replace.

    Args:
      filename: a file to write the message to.
      graph_def: a GraphDef in place of the graph's.
      graph: by default the default graph.
      export_scope: the scope; names in the message are relative to it.
      as_text: whether the file has the text format.
      unbound_inputs_col_name: key of the collection that lists the inputs from outside.
      clear_devices: whether devices are left out.
      saver_def: a SaverDef.
      clear_extraneous_savers: whether nodes and collection entries of other savers are left out.
      strip_default_attrs: see create_meta_graph_def.
      save_debug_info: not supported; must be false.
      **kwargs: further arguments of create_meta_graph_def.

    Returns:
      the message, and the variables below the scope by their names relative to it.

    Raises:
      NotImplementedError: `save_debug_info` is true.
    """
    if save_debug_info:
        raise NotImplementedError("tfcompat does not have export_scoped_meta_graph(save_debug_info=True)")
    graph = graph or get_default_graph()
    # As in 1.15, the key of the collection also serves as the prefix of names to exclude.
    excluded = unbound_inputs_col_name if export_scope and unbound_inputs_col_name in graph.get_all_collection_keys() else None
    if export_scope or clear_devices or clear_extraneous_savers:
        unbound: set[str] = set()
        graph_def = graph_def or graph.as_graph_def(add_shapes=True)
        if clear_extraneous_savers:
            graph_def = _without_other_savers(graph_def, saver_def)
        graph_def = _scoped_graph_def(graph_def, export_scope, clear_devices, unbound)
        if unbound and unbound_inputs_col_name:
            graph.clear_collection(unbound_inputs_col_name)
            for name in sorted(unbound):
                graph.add_to_collection(unbound_inputs_col_name, name)
    variables = _variables_below(graph, export_scope)
    meta_graph_def = create_meta_graph_def(
        graph_def=graph_def, graph=graph, export_scope=export_scope, exclude_nodes=excluded, saver_def=saver_def,
        clear_extraneous_savers=clear_extraneous_savers, strip_default_attrs=strip_default_attrs, **kwargs,
    )  # fmt: skip
    if filename:
        write_message(meta_graph_def, filename, as_text)
    return meta_graph_def, variables


def _without_other_savers(graph_def: messages.GraphDef, saver_def: messages.SaverDef) -> messages.GraphDef:
    """Returns a GraphDef without the name scopes of savers, but for that of `saver_def`."""
    # A saver's nodes are below one name scope, that of its save and restore ops.
    scopes = {node.name.rpartition("/")[0] or node.name for node in graph_def.node if node.op in SAVER_OPS}
    if saver_def is not None:
        scopes -= {name.rpartition("/")[0] for name in (saver_def.save_tensor_name, saver_def.restore_op_name)}
    extraneous = tuple(scope + "/" for scope in scopes)
    kept = messages.GraphDef(versions=graph_def.versions, library=graph_def.library)
    kept.node.extend(node for node in graph_def.node if not node.name.startswith(extraneous))
    return kept


def _scoped_graph_def(graph_def: messages.GraphDef, export_scope: str | None, clear_devices: bool, unbound: set[str]) -> messages.GraphDef:
    """Returns the nodes below a scope with relative names; adds the inputs from outside to `unbound`."""
    scoped = messages.GraphDef(versions=graph_def.versions, library=graph_def.library)
    for node in graph_def.node:
        if not _is_below(node.name, export_scope):
            continue
        new = scoped.node.add()
        new.CopyFrom(node)
        new.name = strip_name_scope(node.name, export_scope)
        del new.input[:]
        new.input.extend(_scoped_input(i, export_scope, unbound) for i in node.input)
        # Colocation with nodes outside of the scope is dropped.
        groups = node.attr["_class"].list.s if "_class" in node.attr else ()
        if groups:
            del new.attr["_class"].list.s[:]
            kept = [g for g in groups if _is_below(g.decode(), export_scope)]
            new.attr["_class"].list.s.extend(strip_name_scope(g.decode(), export_scope).encode() for g in kept)
            if not kept:
                del new.attr["_class"]
        if clear_devices:
            new.device = ""
    return scoped


def _scoped_input(name: str, export_scope: str | None, unbound: set[str]) -> str:
    """Returns an input's name relative to the scope; for one from outside its unbound name, which is added to `unbound`."""
    if _is_below(name, export_scope):
        return strip_name_scope(name, export_scope)
    # The mark of a control input goes before the prefix.
    mark = "^" if name.startswith("^") else ""
    unbound_name = f"{mark}{UNBOUND_INPUT_PREFIX}{name.lstrip('^')}"
    unbound.add(unbound_name.lstrip("^"))
    return unbound_name


def _variables_below(graph: Graph, export_scope: str | None) -> dict[str, Any]:
    """Returns the variables below a scope by their names relative to it."""
    variables: dict[str, Any] = {}
    for variable in graph.get_collection("variables") + graph.get_collection(_TRAINABLE):
        if _is_below(variable.name, export_scope):
            variables.setdefault(strip_name_scope(variable.name, export_scope), variable)
    return variables


def write_message(message: messages.MetaGraphDef, filename: str, as_text: bool) -> None:
    """Writes a message to a file, as text or binary; creates missing folders."""
    folder = os.path.dirname(filename)
    if folder:
        file_io.makedirs(folder)
    data = text_format.MessageToString(message, descriptor_pool=pool.POOL) if as_text else message.SerializeToString()
    file_io.atomic_write_string_to_file(filename, data)


# ---- import ----


def read_meta_graph_file(filename: str) -> messages.MetaGraphDef:
    """Returns the MetaGraphDef in a file, binary or text.

    Raises:
      IOError: the file does not exist, or holds no MetaGraphDef.
    """
    if not file_io.exists(filename):
        raise OSError(f"File {filename} does not exist.")
    data = file_io.read_file_to_string(filename, binary_mode=True)
    meta_graph_def = messages.MetaGraphDef()
    try:
        # Neither format has a mark of its own: what does not parse as binary is read as text.
        meta_graph_def.ParseFromString(data)
        return meta_graph_def
    except DecodeError:
        meta_graph_def.Clear()
    try:
        text_format.Merge(data.decode("utf-8"), meta_graph_def, descriptor_pool=pool.POOL)
    except (text_format.ParseError, UnicodeDecodeError) as e:
        raise OSError(f"Cannot parse file {filename}: {e}.") from None
    return meta_graph_def


def import_scoped_meta_graph(
    meta_graph_or_file: messages.MetaGraphDef | str, clear_devices: bool = False, graph: Graph | None = None, import_scope: str | None = None,
    input_map: dict[Any, Any] | None = None, unbound_inputs_col_name: str = "unbound_inputs",
    restore_collections_predicate: Callable[[str], bool] = lambda key: True,
) -> dict[str, Any]:  # fmt: skip
    """Adds the nodes and collections of a MetaGraphDef to a graph.

    Args:
      meta_graph_or_file: the message, or the name of a file with it.
      clear_devices: whether devices are left out.
      graph: by default the default graph.
      import_scope: a scope for the imported nodes.
      input_map: tensors for the inputs from outside, by their names.
      unbound_inputs_col_name: key of the collection that lists these names.
      restore_collections_predicate: called with a key, returns whether to fill that collection.

    Returns:
      the variables by their names relative to the scope.

    Raises:
      ValueError: an input from outside has no tensor in `input_map`.
    """
    return import_scoped_meta_graph_with_return_elements(
        meta_graph_or_file, clear_devices, graph, import_scope, input_map, unbound_inputs_col_name,
        restore_collections_predicate,
    )[0]  # fmt: skip


def import_scoped_meta_graph_with_return_elements(
    meta_graph_or_file: messages.MetaGraphDef | str, clear_devices: bool = False, graph: Graph | None = None, import_scope: str | None = None,
    input_map: dict[Any, Any] | None = None, unbound_inputs_col_name: str = "unbound_inputs",
    restore_collections_predicate: Callable[[str], bool] = lambda key: True, return_elements: Any = None,
) -> tuple[dict[str, Any], list[Any] | None]:  # fmt: skip
    """`import_scoped_meta_graph`, which also returns the elements that `return_elements` names, as import_graph_def does."""
    source = meta_graph_or_file
    meta_graph_def = source if isinstance(source, messages.MetaGraphDef) else read_meta_graph_file(source)
    _check_bound(meta_graph_def, unbound_inputs_col_name, input_map)
    graph = graph or get_default_graph()
    with graph.as_default():
        if clear_devices:
            for node in meta_graph_def.graph_def.node:
                node.device = ""
        # The scope that import_graph_def will use, made unique the same way: collections need it afterwards.
        below = graph.unique_name(import_scope or "", mark_as_used=False) if import_scope else graph.get_name_scope()
        elements = import_graph_def(
            meta_graph_def.graph_def, name=import_scope or (below and below + "/"), input_map=input_map,
            producer_op_list=meta_graph_def.meta_info_def.stripped_op_list, return_elements=return_elements,
        )  # fmt: skip
        _restore_collections(graph, meta_graph_def, below, unbound_inputs_col_name, restore_collections_predicate)
        variables = graph.get_collection("variables", scope=below or None)
        return {strip_name_scope(v.name, below): v for v in variables if _is_below(v.name, below)}, elements


def _check_bound(meta_graph_def: messages.MetaGraphDef, key: str | None, input_map: dict[Any, Any] | None) -> None:
    """Raises ValueError if an input from outside is not in the input map."""
    if not key or key not in meta_graph_def.collection_def:
        return
    needed = [n.decode() for n in meta_graph_def.collection_def[key].bytes_list.value]
    missing = [n for n in needed if n not in (input_map or {}) and n + ":0" not in (input_map or {})]
    if missing:
        raise ValueError(f"Graph contains unbound inputs: {','.join(missing)}. Must provide these inputs through input_map.")


def _states_trainable(version: str) -> bool:
    """Returns whether a producer's variables state if they are trainable. Before 1.9 only their collection said so."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return numbers is None or (int(numbers[1]), int(numbers[2])) >= (1, 9)


def _restore_collections(
    graph: Graph, meta_graph_def: messages.MetaGraphDef, scope: str, unbound_key: str, predicate: Callable[[str], bool]
) -> None:
    """Fills the graph's collections from a MetaGraphDef, with one object for each variable that is in several of them."""
    made: dict[bytes, Any] = {}
    states_trainable = _states_trainable(meta_graph_def.meta_info_def.tensorflow_version)
    # The trainable variables come first: for old producers, the first collection of a variable decides whether it is trainable.
    trained_first = sorted(meta_graph_def.collection_def.items(), key=lambda item: (item[0] != _TRAINABLE, item[0]))
    for key, entry in trained_first:
        if key == unbound_key or not predicate(key):
            continue
        kind = entry.WhichOneof("kind")
        if kind is None:
            logging.error("Cannot identify data type for collection %s. Skipping.", key)
            continue
        from_proto = get_from_proto_function(key)
        if from_proto is not None and kind == "bytes_list":
            proto_type = get_collection_proto_type(key)
            if proto_type is None:
                raise ValueError(
                    f"The collection {key!r} holds messages, but no message type is registered for it. Pass proto_type to register_proto_function."
                )
            for data in entry.bytes_list.value:
                # A variable is in several collections with the same message: all get the same object.
                value = made.get(data) if key.endswith("variables") else None
                if value is None:
                    message = proto_type.FromString(data)
                    if not states_trainable and isinstance(message, messages.VariableDef):
                        # Messages of old producers lack the field: the collection decides.
                        message.trainable = key == _TRAINABLE
                    value = from_proto(message, import_scope=scope or None)
                    made[data] = value
                graph.add_to_collection(key, value)
        elif kind == "node_list":
            for name in entry.node_list.value:
                graph.add_to_collection(key, graph.as_graph_element(prepend_name_scope(name, scope)))
        else:
            for value in getattr(entry, kind).value:
                graph.add_to_collection(key, value)


def copy_scoped_meta_graph(
    from_scope: str, to_scope: str, from_graph: Graph | None = None, to_graph: Graph | None = None
) -> dict[str, Any]:
    """Copies the part of a graph below a scope to another scope; returns the new variables by their names relative to it.

    Raises:
      ValueError: the scopes are the same, in the same graph.
    """
    source, target = from_graph or get_default_graph(), to_graph or get_default_graph()
    if source is target and from_scope == to_scope:
        raise ValueError(f"'from_scope' and 'to_scope' need to be different when performing copy in the same graph: {from_scope}")
    meta_graph_def = export_scoped_meta_graph(export_scope=from_scope, graph=source)[0]
    return import_scoped_meta_graph(meta_graph_def, graph=target, import_scope=to_scope)
