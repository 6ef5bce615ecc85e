"""tf.train.Saver: saves and restores variables by name, and the graph beside them."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.registry import register_proto_function
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.base.trackable import OBJECT_GRAPH_PROTO_KEY
from tfcompat._src.checkpoint.reader import NewCheckpointReader
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import add_to_collection, executing_eagerly, get_collection, get_default_graph
from tfcompat._src.nodes import meta_graph
from tfcompat._src.platform import compat, file_io, logging
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session.session import BaseSession
from tfcompat._src.train import checkpoint_management, saveable_object_util
from tfcompat._src.train.saver_builder import V2, BulkSaverBuilder
from tfcompat._src.variables import training_util
from tfcompat._src.variables.collections import all_saveable_objects

_V1_WARNING = (
    "*******************************************************", "TensorFlow's V1 checkpoint format has been deprecated.",
    "Consider switching to the more efficient V2 format:", "   `tf.train.Saver(write_version=tf.train.SaverDef.V2)`",
    "now on by default.", "*******************************************************",
)  # fmt: skip
_NAME_FIELDS = ("filename_tensor_name", "save_tensor_name", "restore_op_name")


@export("train.Saver")
class Saver:
    """Saves variables to checkpoints and restores them.

    Args:
      var_list: list of variables and SaveableObjects, or dict of them by the names to save them under; by default all.
      reshape: restored values take the shapes of the variables.
      sharded: one file per device.
      max_to_keep: how many checkpoints are kept; 0 or None for all.
      keep_checkpoint_every_n_hours: beyond these, one for each so many hours is kept for good.
      name: name scope of the nodes; by default "save".
      restore_sequentially: accepted as in 1.15, where restoring is one node too.
      saver_def: a SaverDef of nodes that are in the graph already.
      builder: a BaseSaverBuilder; by default a BulkSaverBuilder.
      defer_build: make the nodes in `build()` only.
      allow_empty: whether there may be nothing to save.
      write_version: SaverDef.V1 or SaverDef.V2; both are read.
      pad_step_number: write step numbers with 8 digits.
      save_relative_paths: paths in the state file are relative to its folder.
      filename: what the graph saves to unless told otherwise.

    Raises:
      TypeError, ValueError: `var_list` cannot be saved, is empty, or is given though building is deferred.
    """

    def __init__(
        self, var_list: Any = None, reshape: bool = False, sharded: bool = False, max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0, name: str | None = None, restore_sequentially: bool = False,
        saver_def: Any = None, builder: Any = None, defer_build: bool = False, allow_empty: bool = False,
        write_version: int = V2, pad_step_number: bool = False, save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:  # fmt: skip
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set defer_build=False or var_list=None."
            )
        self._var_list, self._builder, self.saver_def = var_list, builder, saver_def
        self._reshape, self._sharded, self._restore_sequentially = reshape, sharded, restore_sequentially
        self._max_to_keep, self._keep_checkpoint_every_n_hours = max_to_keep, keep_checkpoint_every_n_hours
        self._name, self._filename = name, filename
        self._allow_empty, self._pad_step_number = allow_empty, pad_step_number
        self._write_version, self._save_relative_paths = write_version, save_relative_paths
        self._one_save = threading.RLock()  # the shards of a save have the same names each time
        self._is_built = False
        self._is_empty: bool | None = None
        self._last_checkpoints: list[tuple[str, float]] = []
        self._checkpoints_to_be_deleted: list[tuple[str, float]] = []
        self._object_restore_saver: Saver | None = None
        if executing_eagerly():
            if var_list is None:
                raise RuntimeError(
                    "When eager execution is enabled, `var_list` must specify a list or dict of variables to save"
                )
            self._next_checkpoint_time = time.time() + keep_checkpoint_every_n_hours * 3600
        elif not defer_build:
            self.build()
        if self.saver_def:
            self._check_saver_def()
            self._write_version = self.saver_def.version

    # ---- building ----

    def build(self) -> None:
        """Makes the nodes, once; RuntimeError where operations run when they are called."""
        if executing_eagerly():
            raise RuntimeError("Use save/restore instead of build in eager mode.")
        if self._is_built:
            return
        self._is_built = True
        if not self.saver_def:
            if not self._build_nodes():
                return
        elif self._name:
            for field in _NAME_FIELDS:
                setattr(
                    self.saver_def, field, meta_graph.prepend_name_scope(getattr(self.saver_def, field), self._name)
                )
        self._check_saver_def()
        self._next_checkpoint_time = time.time() + self.saver_def.keep_checkpoint_every_n_hours * 3600

    def _build_nodes(self, filename: str | None = None, save: bool = True, restore: bool = True) -> bool:
        """Makes the nodes for the variables, or runs them at once; false where there are none, and there may be none."""
        if self._builder is None:
            self._builder = BulkSaverBuilder(self._write_version)
        if self._var_list is None:
            self._var_list = all_saveable_objects()
        if not self._var_list:
            if not self._allow_empty:
                raise ValueError("No variables to save")
            self._is_empty = True
            return False
        self._is_empty = False
        self.saver_def = self._builder._build_internal(
            self._var_list, reshape=self._reshape, sharded=self._sharded, max_to_keep=self._max_to_keep,
            keep_checkpoint_every_n_hours=self._keep_checkpoint_every_n_hours, name=self._name,
            restore_sequentially=self._restore_sequentially, filename=filename or self._filename, build_save=save,
            build_restore=restore,
        )  # fmt: skip
        return True

    def _check_saver_def(self) -> None:
        if not isinstance(self.saver_def, messages.SaverDef):
            raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {self.saver_def}")
        for field in ("save_tensor_name", "restore_op_name"):
            if not getattr(self.saver_def, field):
                raise ValueError(f"saver_def must specify the {field}: {self.saver_def}")

    # ---- the list of checkpoints ----

    def _CheckpointFilename(self, p: tuple[str, float]) -> str:  # noqa: N802
        return p[0]

    def _RecordLastCheckpoint(self, latest_save_path: str) -> None:  # noqa: N802
        if not self.saver_def.max_to_keep:
            return
        self._last_checkpoints = [p for p in self._last_checkpoints if p[0] != latest_save_path]
        self._last_checkpoints.append((latest_save_path, time.time()))
        if len(self._last_checkpoints) > self.saver_def.max_to_keep:
            self._checkpoints_to_be_deleted.append(self._last_checkpoints.pop(0))

    def _MaybeDeleteOldCheckpoints(self, meta_graph_suffix: str = "meta") -> None:  # noqa: N802
        if not self._checkpoints_to_be_deleted:
            return
        path, written = self._checkpoints_to_be_deleted.pop(0)
        if written > self._next_checkpoint_time:
            self._next_checkpoint_time += self.saver_def.keep_checkpoint_every_n_hours * 3600
            return
        try:
            checkpoint_management.remove_checkpoint(path, self.saver_def.version, meta_graph_suffix)
        except errors.OpError as e:
            logging.warning("Ignoring: %s", e)

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that are not deleted yet, oldest first."""
        return [path for path, _ in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints: list[str]) -> None:
        """Replaces the list of checkpoints by paths; AssertionError where they are no list."""
        _require_list(last_checkpoints)
        self._last_checkpoints = [(path, np.inf) for path in last_checkpoints]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: list[tuple[str, float]]) -> None:
        """Replaces the list of checkpoints by (path, seconds since the epoch); AssertionError where they are no list."""
        _require_list(last_checkpoints_with_time)
        self._last_checkpoints = last_checkpoints_with_time

    def recover_last_checkpoints(self, checkpoint_paths: list[str]) -> None:
        """Replaces the list of checkpoints by those of `checkpoint_paths` that exist, with the times of their files."""
        found = [(path, checkpoint_management.get_checkpoint_mtimes([path])) for path in checkpoint_paths]
        self.set_last_checkpoints_with_time([(path, times[0]) for path, times in found if times])

    # ---- messages ----

    def as_saver_def(self) -> Any:
        """The SaverDef."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The SaverDef with names below `export_scope`; None where they are not below it."""
        if export_scope is None:
            return self.saver_def
        if not all(getattr(self.saver_def, field).startswith(export_scope) for field in _NAME_FIELDS):
            return None
        found = messages.SaverDef()
        found.CopyFrom(self.saver_def)
        for field in _NAME_FIELDS:
            setattr(found, field, meta_graph.strip_name_scope(getattr(found, field), export_scope))
        return found

    @staticmethod
    def from_proto(saver_def: object, import_scope: str | None = None) -> Saver:
        """A Saver over the nodes that a SaverDef names, below `import_scope`."""
        return Saver(saver_def=saver_def, name=import_scope)

    # ---- saving ----

    def save(
        self, sess: SessionLike, save_path: Any, global_step: Any = None, latest_filename: str | None = None,
        meta_graph_suffix: str = "meta", write_meta_graph: bool = True, write_state: bool = True,
        strip_default_attrs: bool = False, save_debug_info: bool = False,
    ) -> str | None:  # fmt: skip
        """Saves the variables of a session.

        Args:
          sess: the session.
          save_path: what the names of the files begin with.
          global_step: number added to them: an int, or a tensor or its name.
          latest_filename: name of the state file; by default "checkpoint".
          meta_graph_suffix: how the name of the graph's file ends.
          write_meta_graph: whether to write the graph.
          write_state: whether to write the state file and delete old checkpoints.
          strip_default_attrs, save_debug_info: see `export_meta_graph`.

        Returns:
          the path to restore from; None where there is nothing to save.

        Raises:
          RuntimeError: the nodes are not built. TypeError: `sess` is no session.
          ValueError: `latest_filename` has a folder or collides with `save_path`, or the folder does not exist.
        """
        is_eager = executing_eagerly()
        if not self._is_built and not is_eager:
            raise RuntimeError("`build()` should be called before save if defer_build==True")
        latest_filename = latest_filename or "checkpoint"
        if self._write_version != V2:
            for line in _V1_WARNING:
                logging.warning(line)
        if os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        save_path = compat.as_text(compat.path_to_str(save_path))
        if global_step is None and os.path.basename(save_path) == latest_filename and not self._sharded:
            raise ValueError(f"'latest_filename' collides with 'save_path': '{latest_filename}' and '{save_path}'")
        checkpoint_file = save_path if global_step is None else self._numbered(sess, save_path, global_step)
        session = getattr(sess, "_coordinated_creator", sess)
        if not is_eager and not isinstance(session, BaseSession) and not hasattr(sess, "run"):
            raise TypeError(f"'sess' must be a Session; {sess}")
        with self._one_save:
            found = None
            if is_eager:
                self._build_nodes(checkpoint_file, restore=False)
                found = self.saver_def.save_tensor_name
            elif not self._is_empty:
                found = self._run_save(sess, save_path, checkpoint_file)
            if found is not None and write_state:
                self._write_state(found, os.path.dirname(save_path), latest_filename, meta_graph_suffix)
        if write_meta_graph and not is_eager:
            filename = checkpoint_management.meta_graph_filename(checkpoint_file, meta_graph_suffix=meta_graph_suffix)
            with sess.graph.as_default():
                self.export_meta_graph(
                    filename, strip_default_attrs=strip_default_attrs, save_debug_info=save_debug_info
                )
        return found

    def _numbered(self, sess: SessionLike, save_path: str, global_step: object) -> str:
        if not isinstance(global_step, compat.integral_types):
            global_step = training_util.global_step(sess, global_step)
        return f"{save_path}-{global_step:08d}" if self._pad_step_number else f"{save_path}-{global_step}"

    def _run_save(self, sess: SessionLike, save_path: str, checkpoint_file: str) -> str:
        try:
            path = sess.run(self.saver_def.save_tensor_name, {self.saver_def.filename_tensor_name: checkpoint_file})
        except (errors.FailedPreconditionError, errors.NotFoundError):
            if file_io.isdir(os.path.dirname(save_path) or "."):
                raise
            raise ValueError(f"Parent directory of {save_path} doesn't exist, can't save.") from None
        return compat.as_text(path)

    def _write_state(self, path: str, folder: str, latest_filename: str, meta_graph_suffix: str) -> None:
        self._RecordLastCheckpoint(path)
        checkpoint_management.update_checkpoint_state_internal(
            save_dir=folder, model_checkpoint_path=path, all_model_checkpoint_paths=self.last_checkpoints,
            latest_filename=latest_filename, save_relative_paths=self._save_relative_paths,
        )  # fmt: skip
        self._checkpoints_to_be_deleted = [
            p
            for p in self._checkpoints_to_be_deleted
            if not checkpoint_management.is_named_by_state(p[0], folder, latest_filename)
        ]
        self._MaybeDeleteOldCheckpoints(meta_graph_suffix=meta_graph_suffix)

    def export_meta_graph(
        self, filename: str | None = None, collection_list: list[str] | None = None, as_text: bool = False,
        export_scope: str | None = None, clear_devices: bool = False, clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False, save_debug_info: bool = False,
    ) -> Any:  # fmt: skip
        """The MetaGraphDef of the default graph with this saver; see `tf.train.export_meta_graph`."""
        return export_meta_graph(
            filename=filename, graph_def=get_default_graph().as_graph_def(add_shapes=True), saver_def=self.saver_def,
            collection_list=collection_list, as_text=as_text, export_scope=export_scope, clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers, strip_default_attrs=strip_default_attrs,
            save_debug_info=save_debug_info,
        )  # fmt: skip

    # ---- restoring ----

    def restore(self, sess: SessionLike, save_path: object) -> None:
        """Gives the variables of a session the values of a checkpoint; they need not be initialized.

        Args:
          sess: the session.
          save_path: what `save` or `latest_checkpoint` returned.

        Raises:
          ValueError: there is no such checkpoint.
          errors.NotFoundError: it lacks a variable. errors.InvalidArgumentError: a shape or type differs.
          errors.DataLossError: it is damaged. Variables are then as they were.
        """
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        prefix = compat.as_text(compat.path_to_str(save_path))
        if not checkpoint_management.checkpoint_exists_internal(prefix):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {prefix}")
        logging.info("Restoring parameters from %s", prefix)
        try:
            if executing_eagerly():
                self._build_nodes(prefix, save=False)
                return
            sess.run(self.saver_def.restore_op_name, {self.saver_def.filename_tensor_name: prefix})
        except errors.NotFoundError as e:
            self._restore_objects(sess, prefix, e)
        except errors.InvalidArgumentError as e:
            raise _explained(e, "a mismatch between the current graph and the graph") from None

    def _restore_objects(self, sess: SessionLike, prefix: str, error: errors.NotFoundError) -> None:
        """Restores from a checkpoint of objects (tf.train.Checkpoint), whose variables have other names."""
        try:
            names_to_keys = object_graph_key_mapping(prefix)
        except errors.NotFoundError:
            raise _explained(error, "a Variable name or other graph key that is missing") from None
        logging.warning(
            "Restoring an object-based checkpoint using a name-based saver. This may be somewhat fragile, and will re-build the "
            "Saver. Instead, consider loading object-based checkpoints using tf.train.Checkpoint()."
        )
        self._object_restore_saver = saver_from_object_based_checkpoint(
            checkpoint_path=prefix, var_list=self._var_list, builder=self._builder, names_to_keys=names_to_keys,
            cached_saver=self._object_restore_saver,
        )  # fmt: skip
        self._object_restore_saver.restore(sess=sess, save_path=prefix)

    @staticmethod
    def _add_collection_def(meta_graph_def: messages.MetaGraphDef, key: str, export_scope: str | None = None) -> None:
        meta_graph.add_collection_def(meta_graph_def, key, export_scope=export_scope)


def _require_list(value: object) -> None:
    if not isinstance(value, list):
        raise AssertionError(f"a list of checkpoints is needed, not {type(value)}")


def _explained(error: Any, cause: str) -> errors.OpError:
    text = (
        f"Restoring from checkpoint failed. This is most likely due to {cause} from the checkpoint. Please ensure that you have "
        f"not altered the graph expected based on the checkpoint. Original error:\n\n{error.message}"
    )
    return type(error)(error.node_def, error.op, text)


def _get_saver_or_default() -> Saver:
    """The saver in the collection SAVERS, or a new sharded one that is put there; RuntimeError where there are several."""
    savers = get_collection(GraphKeys.SAVERS)
    if len(savers) > 1:
        raise RuntimeError(
            f"More than one item in collection {GraphKeys.SAVERS}. Please indicate which one to use by passing it to the constructor."
        )
    if savers:
        return savers[0]
    saver = Saver(sharded=True, allow_empty=True)
    add_to_collection(GraphKeys.SAVERS, saver)
    return saver


register_proto_function(
    GraphKeys.SAVERS, proto_type=messages.SaverDef, to_proto=Saver.to_proto, from_proto=Saver.from_proto
)


# ---- graphs in files ----


@export("train.import_meta_graph")
def import_meta_graph(
    meta_graph_or_file: object, clear_devices: bool = False, import_scope: str | None = None, **kwargs: object
) -> Saver | None:
    """Adds the nodes and collections of a MetaGraphDef to the default graph.

    Args:
      meta_graph_or_file: the message, or the path of a file with it.
      clear_devices: leave devices out.
      import_scope: name scope for what is added.
      **kwargs: further arguments of `meta_graph.import_scoped_meta_graph`.

    Returns:
      a Saver for its variables; None where it has none.

    Raises:
      IOError: the file does not exist or holds no MetaGraphDef.
    """
    return _import_meta_graph_with_return_elements(meta_graph_or_file, clear_devices, import_scope, **kwargs)[0]


def _import_meta_graph_with_return_elements(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, return_elements: object = None,
    **kwargs: Any,
) -> tuple[Saver | None, Any]:  # fmt: skip
    is_message = isinstance(meta_graph_or_file, messages.MetaGraphDef)
    meta_graph_def = meta_graph_or_file if is_message else meta_graph.read_meta_graph_file(meta_graph_or_file)
    variables, elements = meta_graph.import_scoped_meta_graph_with_return_elements(
        meta_graph_def,
        clear_devices=clear_devices,
        import_scope=import_scope,
        return_elements=return_elements,
        **kwargs,
    )
    return _create_saver_from_imported_meta_graph(meta_graph_def, import_scope, variables), elements


def _create_saver_from_imported_meta_graph(
    meta_graph_def: messages.MetaGraphDef, import_scope: str | None, imported_vars: dict
) -> Saver | None:
    if meta_graph_def.HasField("saver_def"):
        scope = import_scope
        if imported_vars:
            name, variable = next(iter(imported_vars.items()))
            scope = variable.name[: -len(name)]
        saver_def = messages.SaverDef()
        saver_def.CopyFrom(meta_graph_def.saver_def)
        return Saver(saver_def=saver_def, name=scope)
    if all_saveable_objects(scope=import_scope):
        return Saver()
    logging.info("Saver not created because there are no variables in the graph to restore")
    return None


@export("train.export_meta_graph")
def export_meta_graph(
    filename: str | None = None, meta_info_def: object = None, graph_def: messages.GraphDef | None = None, saver_def: object = None,
    collection_list: list[str] | None = None, as_text: bool = False, graph: Graph | None = None,
    export_scope: str | None = None, clear_devices: bool = False, clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False, save_debug_info: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """The MetaGraphDef of a graph with its collections.

    Args:
      filename: a file to write it to. meta_info_def: its MetaInfoDef.
      graph_def: its GraphDef; by default that of the graph.
      saver_def: its SaverDef. collection_list: keys of collections to write; by default all.
      as_text: write the text form. graph: by default the default graph.
      export_scope: only what is below this scope, with names without it.
      clear_devices: leave devices out. clear_extraneous_savers: leave out all savers but the given one.
      strip_default_attrs: leave out attributes with default values.
      save_debug_info: NotImplementedError where true.
      **kwargs: further arguments of `meta_graph.export_scoped_meta_graph`.

    Raises:
      ValueError: the GraphDef is larger than 2 GB.
    """
    return meta_graph.export_scoped_meta_graph(
        filename=filename, meta_info_def=meta_info_def, graph_def=graph_def, saver_def=saver_def,
        collection_list=collection_list, as_text=as_text, graph=graph, export_scope=export_scope, clear_devices=clear_devices,
        clear_extraneous_savers=clear_extraneous_savers, strip_default_attrs=strip_default_attrs,
        save_debug_info=save_debug_info, **kwargs,
    )[0]  # fmt: skip


# ---- checkpoints of objects ----


def object_graph_key_mapping(checkpoint_path: str) -> dict[str, str]:
    """The keys of a checkpoint of objects by the names of their variables; NotFoundError where it is none."""
    graph = NewCheckpointReader(checkpoint_path).get_tensor(OBJECT_GRAPH_PROTO_KEY)
    nodes = messages.TrackableObjectGraph.FromString(graph).nodes
    return {a.full_name: a.checkpoint_key for node in nodes for a in node.attributes}


def saver_from_object_based_checkpoint(
    checkpoint_path: str, var_list: object = None, builder: object = None, names_to_keys: dict[str, str] | None = None,
    cached_saver: Saver | None = None,
) -> Saver:  # fmt: skip
    """A Saver that restores variables from a checkpoint of objects.

    Args:
      checkpoint_path: its prefix. var_list: the variables; by default all.
      builder: makes its nodes. names_to_keys: keys by variable name; by default those of the checkpoint.
      cached_saver: a saver made before for the same kind of checkpoint, which is returned.

    Raises:
      ValueError: it is no checkpoint of objects. errors.NotFoundError: it lacks a variable.
    """
    if names_to_keys is None:
        try:
            names_to_keys = object_graph_key_mapping(checkpoint_path)
        except errors.NotFoundError:
            raise ValueError(f"Checkpoint in {checkpoint_path} not an object-based checkpoint.") from None
    saveables = saveable_object_util.validate_and_slice_inputs(all_saveable_objects() if var_list is None else var_list)
    specs = [spec for saveable in saveables for spec in saveable.specs]
    wanted, known = {spec.name for spec in specs}, set(names_to_keys)
    if wanted - known:
        raise errors.NotFoundError(
            None, None,
            f"\n\nExisting variables not in the checkpoint: {', '.join(sorted(wanted - known))}\n\n"
            f"Variables names when this checkpoint was written which don't exist now: {', '.join(sorted(known - wanted))}\n\n"
            f"({len(wanted & known)} variable name(s) did match)\n\n"
            "Could not find some variables in the checkpoint (see names above). It was written by tf.train.Checkpoint or "
            "tf.keras.Model.save_weights and is restored by variable names: pass Saver(var_list=...) a dict with the old names as "
            "keys, or only the variables that existed then.",
        )  # fmt: skip
    for spec in specs:
        spec.name = names_to_keys[spec.name]
    return cached_saver if cached_saver is not None else Saver(saveables, builder=builder)
