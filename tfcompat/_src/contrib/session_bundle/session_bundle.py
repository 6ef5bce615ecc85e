"""tf.contrib.session_bundle.session_bundle: loads what `session_bundle.exporter` wrote."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.session_bundle import constants
from tfcompat._src.contrib.session_bundle.exporter import manifest_pb2
from tfcompat._src.graph.scopes import get_collection, reset_default_graph
from tfcompat._src.platform import file_io, gfile
from tfcompat._src.proto.messages import GraphDef, MetaGraphDef
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.train.saver import import_meta_graph

if TYPE_CHECKING:
    from tfcompat._src.proto import messages


@export("contrib.session_bundle.session_bundle.maybe_session_bundle_dir")
def maybe_session_bundle_dir(export_dir: str) -> bool:
    """Whether the folder has the meta graph of an exported model."""
    return gfile.file_exists(os.path.join(export_dir, constants.META_GRAPH_DEF_FILENAME))


@export("contrib.session_bundle.session_bundle.load_session_bundle_from_path")
def load_session_bundle_from_path(
    export_dir: str, target: str = "", config: object = None, meta_graph_def: messages.MetaGraphDef | None = None
) -> tuple[Session, Any]:
    """Loads an exported model into a new default graph, restores its variables and runs its initialization.

    Args:
      export_dir: the folder.
      target, config: as of `tf.Session`.
      meta_graph_def: MetaGraphDef to use in place of the folder's.

    Returns:
      (session, MetaGraphDef).

    Raises:
      RuntimeError: there is no meta graph, or it has several graphs or initializations to serve.
    """
    if not meta_graph_def:
        meta_graph_def = _read_meta_graph(os.path.join(export_dir, constants.META_GRAPH_DEF_FILENAME))
    collections = meta_graph_def.collection_def
    if constants.GRAPH_KEY in collections:
        graph_def = GraphDef()
        _only(collections[constants.GRAPH_KEY].any_list.value, "GraphDef", meta_graph_def).Unpack(graph_def)
        meta_graph_def.graph_def.CopyFrom(graph_def)
    variables = _variables_file(export_dir)
    reset_default_graph()
    session = Session(target, graph=None, config=config)
    saver = import_meta_graph(meta_graph_def)
    if variables:
        saver.restore(session, os.path.join(export_dir, variables))
    if constants.INIT_OP_KEY in collections:
        _only(collections[constants.INIT_OP_KEY].node_list.value, "init op", meta_graph_def)
        session.run(get_collection(constants.INIT_OP_KEY)[:1], _asset_paths(export_dir, collections))
    return session, meta_graph_def


def _read_meta_graph(path: str) -> Any:
    if not gfile.file_exists(path):
        raise RuntimeError(f"Expected meta graph file missing {path}")
    found = MetaGraphDef()
    found.ParseFromString(file_io.read_file_to_string(path, binary_mode=True))
    return found


def _only(values: Any, what: str, meta_graph_def: messages.MetaGraphDef) -> Any:
    if len(values) != 1:
        raise RuntimeError(f"Expected exactly one serving {what} in : {meta_graph_def}")
    return values[0]


def _variables_file(export_dir: str) -> str:
    """What to restore from: the checkpoint's prefix, the pattern of one in several files, or "" where there is none."""
    if gfile.file_exists(os.path.join(export_dir, constants.VARIABLES_INDEX_FILENAME_V2)):
        parts = gfile.get_matching_files(os.path.join(export_dir, constants.VARIABLES_FILENAME_PATTERN_V2))
        return constants.VARIABLES_FILENAME if parts else ""
    if gfile.file_exists(os.path.join(export_dir, constants.VARIABLES_FILENAME)):
        return constants.VARIABLES_FILENAME
    pattern = constants.VARIABLES_FILENAME_PATTERN
    return pattern if gfile.get_matching_files(os.path.join(export_dir, pattern)) else ""


def _asset_paths(export_dir: str, collections: Any) -> dict[str, str]:
    """The path of each asset, by the name of the tensor that it is fed to."""
    found = {}
    for packed in collections[constants.ASSETS_KEY].any_list.value if constants.ASSETS_KEY in collections else ():
        asset = manifest_pb2.AssetFile()
        packed.Unpack(asset)
        found[asset.tensor_binding.tensor_name] = os.path.join(export_dir, constants.ASSETS_DIRECTORY, asset.filename)
    return found
