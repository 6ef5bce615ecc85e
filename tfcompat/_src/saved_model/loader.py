"""tf.saved_model.load: the graph of a SavedModel and the values of its variables in a session."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import get_collection
from tfcompat._src.platform import compat, logging
from tfcompat._src.proto import messages
from tfcompat._src.saved_model import constants, files
from tfcompat._src.saved_model.signature_def_utils import load_op_from_signature_def
from tfcompat._src.train.saver import Saver, _import_meta_graph_with_return_elements
from tfcompat._src.variables.collections import all_saveable_objects


def get_asset_tensors(export_dir: object, meta_graph_def_to_load: Any, import_scope: str | None = None) -> dict[str, bytes]:
    """The paths of a graph's assets by the names of the tensors that hold them.

    Args:
      export_dir: the folder of the SavedModel.
      meta_graph_def_to_load: the graph. import_scope: a name scope for the names.
    """
    assets = list(meta_graph_def_to_load.asset_file_def)
    if not assets and constants.ASSETS_KEY in meta_graph_def_to_load.collection_def:
        for packed in meta_graph_def_to_load.collection_def[constants.ASSETS_KEY].any_list.value:
            assets.append(messages.AssetFileDef.FromString(packed.value))
    folder = compat.as_bytes(files.get_assets_dir(export_dir))
    scope = f"{import_scope}/" if import_scope else ""
    return {scope + a.tensor_info.name: os.path.join(folder, compat.as_bytes(a.filename)) for a in assets}


def _op_from_collection(meta_graph_def: messages.MetaGraphDef, key: str) -> Any:
    if key not in meta_graph_def.collection_def:
        return None
    names = meta_graph_def.collection_def[key].node_list.value
    if len(names) != 1:
        raise RuntimeError(f"Expected exactly one SavedModel init op. Found: {list(names)}")
    return get_collection(key)[0]


def _op_from_signature(meta_graph_def: messages.MetaGraphDef, key: str, import_scope: str | None) -> Any:
    if key not in meta_graph_def.signature_def:
        return None
    return load_op_from_signature_def(meta_graph_def.signature_def[key], key, import_scope)


def get_init_op(meta_graph_def: messages.MetaGraphDef, import_scope: str | None = None) -> Any:
    """What is to run after a graph is restored, or None; the graph is in the default graph."""
    found = _op_from_signature(meta_graph_def, constants.INIT_OP_SIGNATURE_KEY, import_scope)
    for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
        if found is None:
            found = _op_from_collection(meta_graph_def, key)
    return found


def get_train_op(meta_graph_def: messages.MetaGraphDef, import_scope: str | None = None) -> Any:
    """What a training step of the graph runs, or None; the graph is in the default graph."""
    found = _op_from_signature(meta_graph_def, constants.TRAIN_OP_SIGNATURE_KEY, import_scope)
    return _op_from_collection(meta_graph_def, constants.TRAIN_OP_KEY) if found is None else found


@export("saved_model.load", "saved_model.loader.load")
def load(sess: SessionLike, tags: Iterable[str], export_dir: str, import_scope: str | None = None, **saver_kwargs: object) -> Any:
    """Adds the graph of a SavedModel to a session's graph, restores its variables and runs its initial operation.

    Args:
      sess: the session. tags: exactly those of the graph.
      export_dir: the folder of the SavedModel. import_scope: a name scope for what is added.
      **saver_kwargs: further arguments of `tf.train.import_meta_graph`.

    Returns:
      the MetaGraphDef message.

    Raises:
      RuntimeError: no graph has these tags. OSError: there is no SavedModel.
    """
    return SavedModelLoader(export_dir).load(sess, tags, import_scope, **saver_kwargs)


class SavedModelLoader:
    """Loads a SavedModel step by step.

    Args:
      export_dir: its folder.

    Raises:
      OSError: there is no SavedModel.
    """

    def __init__(self, export_dir: str) -> None:
        self._export_dir = export_dir
        self._saved_model = files.read_saved_model(export_dir)

    @property
    def export_dir(self) -> str:
        return self._export_dir

    @property
    def variables_path(self) -> str:
        """The prefix of its checkpoint."""
        return files.get_variables_path(self._export_dir)

    @property
    def saved_model(self) -> Any:
        """The SavedModel message."""
        return self._saved_model

    def get_meta_graph_def_from_tags(self, tags: Iterable[str]) -> Any:
        """The MetaGraphDef message with exactly the given tags; RuntimeError where there is none."""
        found = files.with_tags(self._saved_model, tags)
        if found is None:
            known = [set(g.meta_info_def.tags) for g in self._saved_model.meta_graphs]
            raise RuntimeError(
                f"MetaGraphDef associated with tags {str(tags).strip('[]')} could not be found in SavedModel. To inspect available "
                f"tag-sets in the SavedModel, please use the SavedModel CLI: `tfcompat saved-model show`\navailable_tags: {known}"
            )
        return found

    def load_graph(
        self, graph: Graph, tags: Iterable[str], import_scope: str | None = None, **saver_kwargs: Any
    ) -> tuple[Saver | None, Any]:
        """Adds the graph with the given tags to `graph`; its Saver, and the elements asked for by `return_elements`."""
        with graph.as_default():
            return _import_meta_graph_with_return_elements(
                self.get_meta_graph_def_from_tags(tags), import_scope=import_scope, **saver_kwargs
            )

    def restore_variables(self, sess: SessionLike, saver: Saver | None, import_scope: str | None = None) -> None:
        """Restores variables in a session.

        Args:
          sess: the session. saver: of the graph; None where it has no variables.
          import_scope: the name scope that the graph was added under.

        Raises:
          ValueError: there are variables but no Saver.
        """
        with sess.graph.as_default():
            if saver is None and not all_saveable_objects(scope=import_scope):
                logging.info("The specified SavedModel has no variables; no checkpoints were restored.")
            elif isinstance(saver, Saver):
                saver.restore(sess, self.variables_path)
            else:
                raise ValueError(
                    "No tf.train.Saver object was passed to the function SavedModelLoader.restore_variables. Since there are "
                    "variables in the graph, a saver is required."
                )

    def run_init_ops(self, sess: SessionLike, tags: Iterable[str], import_scope: str | None = None) -> None:
        """Runs the initial operation of the graph with the given tags, with the paths of its assets."""
        meta_graph_def = self.get_meta_graph_def_from_tags(tags)
        with sess.graph.as_default():
            assets = get_asset_tensors(self._export_dir, meta_graph_def, import_scope)
            init_op = get_init_op(meta_graph_def, import_scope)
            if init_op is not None:
                sess.run(fetches=[init_op], feed_dict=assets)

    def load(self, sess: SessionLike, tags: Iterable[str], import_scope: str | None = None, **saver_kwargs: Any) -> Any:
        """Does all of it; arguments and result are those of `tf.saved_model.load`."""
        with sess.graph.as_default():
            saver, _ = self.load_graph(sess.graph, tags, import_scope, **saver_kwargs)
            self.restore_variables(sess, saver, import_scope)
            self.run_init_ops(sess, tags, import_scope)
        return self.get_meta_graph_def_from_tags(tags)
