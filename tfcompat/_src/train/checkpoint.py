"""tf.train.Checkpoint: saves and restores objects by how they depend on each other."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.base.tensor_shape import as_shape
from tfcompat._src.base.trackable import OBJECT_GRAPH_PROTO_KEY, Trackable
from tfcompat._src.checkpoint.reader import NewCheckpointReader
from tfcompat._src.function.def_function import Function
from tfcompat._src.graph.scopes import (
    colocate_with,
    control_dependencies,
    device,
    executing_eagerly,
    get_default_graph,
    init_scope,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.platform import compat, file_io
from tfcompat._src.proto import messages
from tfcompat._src.train import checkpoint_management
from tfcompat._src.train.functional_saver import MultiDeviceSaver
from tfcompat._src.train.trackable_data_structures import AutoTrackable, NoDependency
from tfcompat._src.train.trackable_graph import ObjectGraphView, object_graph_saveable
from tfcompat._src.train.trackable_restore import (
    CheckpointLoadStatus,
    CheckpointPosition,
    InitializationOnlyStatus,
    NameBasedSaverStatus,
    RestoreCoordinator,
    default_session,
    next_restore_uid,
)
from tfcompat._src.variables.store import default_initializer
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DTypeLike
    from tfcompat._src.base.tensor_shape import ShapeLike


class TrackableSaver:
    """Saves and restores the objects below a root.

    Args:
      graph_view: the objects.
    """

    def __init__(self, graph_view: ObjectGraphView) -> None:
        self._graph_view = graph_view
        self._object_graph_feed_tensor: Any = None
        self._file_prefix_feed_tensor: Any = None
        self._file_prefix_placeholder: Any = None
        self._last_save_object_graph: Any = None
        self._cached_save_operation: Any = None
        self._restore_op_cache: dict[str, Any] = {}

    def save(self, file_prefix: str, checkpoint_number: int | None = None, session: SessionLike | None = None) -> Any:
        """Saves; the prefix of the checkpoint, as bytes. In a function, a string tensor of it, behind the saving."""
        if checkpoint_number:
            file_prefix = f"{file_prefix}-{checkpoint_number}"
        if executing_eagerly() or get_default_graph().building_function:
            return self._save_here(file_prefix)
        session = default_session(session)
        if self._object_graph_feed_tensor is None:
            with device("/cpu:0"):
                self._object_graph_feed_tensor = constant("", dtype=dtypes.string)
                self._file_prefix_feed_tensor = constant("", dtype=dtypes.string)
        file_io.makedirs(os.path.dirname(file_prefix))
        serialized = self._graph_view.serialize_object_graph()
        saveables = [*serialized.saveables, object_graph_saveable(self._object_graph_feed_tensor)]
        if self._last_save_object_graph != serialized.proto:
            operation = MultiDeviceSaver(saveables).save(self._file_prefix_feed_tensor)
            with device("/cpu:0"), control_dependencies([operation]):
                self._cached_save_operation = raw.Identity(self._file_prefix_feed_tensor)
            self._last_save_object_graph = serialized.proto
        feeds = {
            **serialized.feeds, self._file_prefix_feed_tensor: file_prefix,
            self._object_graph_feed_tensor: serialized.proto.SerializeToString(),
        }  # fmt: skip
        return session.run(self._cached_save_operation, feed_dict=feeds)

    def _save_here(self, file_prefix: str) -> Tensor | str:
        """As `save`, where nothing is fed: operations run when they are called, or are those of a function."""
        file_io.makedirs(os.path.dirname(file_prefix))
        view = self._graph_view
        serialized = view.serialize_object_graph() if executing_eagerly() else view.serialize_object_graph(frozen=True)
        with device("/cpu:0"):
            object_graph = constant(serialized.proto.SerializeToString(), dtype=dtypes.string)
            prefix = constant(file_prefix, dtype=dtypes.string)
        saved = MultiDeviceSaver([*serialized.saveables, object_graph_saveable(object_graph)]).save(prefix)
        if executing_eagerly():
            return file_prefix
        with device("/cpu:0"), control_dependencies([saved]):
            return raw.Identity(prefix)

    def restore(self, save_path: str | None) -> Any:
        """Finds what of a checkpoint belongs to the objects; a status that restores them in a session."""
        if save_path is None:
            return InitializationOnlyStatus(self._graph_view, next_restore_uid())
        try:
            proto = object_metadata(save_path)
        except ValueError:
            status = NameBasedSaverStatus(save_path, self._graph_view)
            if executing_eagerly():
                status.run_restore_ops()
            return status
        if executing_eagerly():
            with device("/cpu:0"):
                prefix = constant(save_path)
            checkpoint = RestoreCoordinator(proto, save_path, prefix, None, self._graph_view)
            CheckpointPosition(checkpoint, 0).restore(self._graph_view.root)
            return CheckpointLoadStatus(checkpoint, {}, self._graph_view)
        if self._file_prefix_placeholder is None:
            with device("/cpu:0"):
                self._file_prefix_placeholder = constant("model")
        checkpoint = RestoreCoordinator(
            proto, save_path, self._file_prefix_placeholder, self._restore_op_cache, self._graph_view
        )
        CheckpointPosition(checkpoint, 0).restore(self._graph_view.root)
        return CheckpointLoadStatus(checkpoint, {self._file_prefix_placeholder: save_path}, self._graph_view)


@export("train.Checkpoint", "contrib.eager.Checkpoint")
class CheckpointV1(AutoTrackable):
    """Groups objects to save and restore them.

    Args:
      **kwargs: the objects, which become attributes: variables, optimizers, other Checkpoints.

    Raises:
      ValueError: one is not trackable.
    """

    def __init__(self, **kwargs: Any) -> None:
        for name, value in sorted(kwargs.items()):
            if not isinstance(value, (Trackable, Function)):
                raise ValueError(
                    "`Checkpoint` was expecting a trackable object (an object derived from `TrackableBase`), got "
                    f"{value}. If you believe this object should be trackable (i.e. it is part of the TensorFlow Python API and "
                    "manages state), please open an issue."
                )
            setattr(self, name, value)
        self._save_counter: Any = None
        self._save_assign_op: Any = None
        self._saver = TrackableSaver(ObjectGraphView(weakref.ref(self)))

    def _maybe_create_save_counter(self) -> None:
        if self._save_counter is None:
            with device("/cpu:0"):
                counter = add_variable(self, name="save_counter", initializer=0, dtype=dtypes.int64, trainable=False)
            self._save_counter = NoDependency(counter)

    @property
    def save_counter(self) -> Any:
        """An int64 variable: how often `save` was called."""
        self._maybe_create_save_counter()
        return self._save_counter

    def write(self, file_prefix: object, session: SessionLike | None = None) -> Any:
        """Saves without a number, a state file or the deletion of old ones.

        Args:
          file_prefix: what the names of the files begin with. session: by default the default one.

        Returns:
          the prefix: str; in a tf.function a string tensor, behind the saving.
        """
        found = self._saver.save(compat.as_text(compat.path_to_str(file_prefix)), session=session)
        return found if isinstance(found, Tensor) else compat.as_text(found)

    def save(self, file_prefix: object, session: SessionLike | None = None) -> str:
        """Saves as `file_prefix-NUMBER`, and makes it the latest checkpoint of its folder.

        Args:
          file_prefix: what the names of the files begin with. session: by default the default one.

        Returns:
          the prefix with the number.
        """
        file_prefix = compat.as_text(compat.path_to_str(file_prefix))
        if executing_eagerly():
            self.save_counter.assign_add(1)
            number = self.save_counter.numpy()
        else:
            session = default_session(session)
            number = session.run(self._counted(session))
        path = self.write(f"{file_prefix}-{number}", session=session)
        checkpoint_management.update_checkpoint_state_internal(
            save_dir=os.path.dirname(file_prefix), model_checkpoint_path=path, all_model_checkpoint_paths=[path],
            save_relative_paths=True,
        )  # fmt: skip
        return path

    def _counted(self, session: SessionLike) -> Any:
        """The tensor that adds 1 to the counter, which is initialized where it is new."""
        if self._save_counter is None:
            session.run(self.save_counter.initializer)
        if self._save_assign_op is None:
            with colocate_with(self.save_counter):
                self._save_assign_op = NoDependency(self.save_counter.assign_add(1, read_value=True))
        return self._save_assign_op

    def restore(self, save_path: str | None) -> Any:
        """Finds what of a checkpoint belongs to the objects; objects that come later are restored when they are attached.

        Args:
          save_path: the prefix that `save` returned, also of a tf.train.Saver; None for nothing.

        Returns:
          a status: `run_restore_ops(session)`, `initialize_or_restore(session)`, `assert_consumed()`,
          `assert_existing_objects_matched()`, `assert_nontrivial_match()`.

        Raises:
          errors.NotFoundError: there is no such checkpoint. errors.DataLossError: it is damaged.
        """
        status = self._saver.restore(None if save_path is None else compat.as_text(compat.path_to_str(save_path)))
        self._maybe_create_save_counter()
        return status


Checkpoint = CheckpointV1


def add_variable(
    trackable: Any,
    name: str,
    shape: object = None,
    dtype: object = dtypes.float32,
    initializer: object = None,
    trainable: bool = True,
) -> Any:
    """A new resource variable that is a dependency of `trackable`; `initializer` is a value, or a function of a shape."""
    return trackable._add_variable_with_custom_getter(
        name=name, shape=shape, dtype=dtype, initializer=initializer, getter=_new_variable, trainable=trainable
    )


def _new_variable(name: str, shape: ShapeLike, dtype: DTypeLike, initializer: object, **kwargs: object) -> Any:
    dtype = dtypes.as_dtype(dtype).base_dtype
    initializer = default_initializer(name, dtype) if initializer is None else initializer
    if not callable(initializer):
        if shape is not None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        value: Any = initializer
    else:
        made = initializer(dtype=dtype) if isinstance(initializer, type) else initializer

        def value() -> Any:
            return made(as_shape(shape).as_list(), dtype=dtype)

    with init_scope():
        return Variable(initial_value=value, name=name, dtype=dtype, use_resource=True, **kwargs)


# ---- about checkpoints and objects ----


@export("contrib.checkpoint.object_metadata")
def object_metadata(save_path: str) -> Any:
    """The TrackableObjectGraph message of a checkpoint; ValueError where a Saver wrote it."""
    try:
        found = NewCheckpointReader(save_path).get_tensor(OBJECT_GRAPH_PROTO_KEY)
    except errors.NotFoundError as e:
        if OBJECT_GRAPH_PROTO_KEY not in e.message:
            raise
        raise ValueError(
            f'The specified checkpoint "{save_path}" does not appear to be object-based (it is missing the key '
            f'"{OBJECT_GRAPH_PROTO_KEY}"). Likely it was created with a name-based saver and does not contain an object dependency '
            "graph."
        ) from None
    return messages.TrackableObjectGraph.FromString(found)


@export("contrib.checkpoint.list_objects")
def list_objects(root_trackable: object) -> list[Any]:
    """The object and all that it depends on, breadth first, then slot variables."""
    return ObjectGraphView(root_trackable).list_objects()


def frozen_saver(root_trackable: object) -> MultiDeviceSaver:
    """A saver of the objects below `root_trackable` as they are now, whose nodes need no feeds."""
    serialized = ObjectGraphView(root_trackable).serialize_object_graph(frozen=True)
    with device("/cpu:0"):
        object_graph = constant(serialized.proto.SerializeToString(), dtype=dtypes.string)
    return MultiDeviceSaver([*serialized.saveables, object_graph_saveable(object_graph)])


def gather_initializers(root_trackable: object) -> list[Any]:
    """The initializers of all variables below an object."""
    found = [getattr(o, "initializer", None) for o in list_objects(root_trackable)]
    return [op for op in found if op is not None]
