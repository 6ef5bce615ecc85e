"""Restoring objects from a checkpoint: which of its objects is which of ours, and what could not be found yet."""

from __future__ import annotations

import collections
import itertools
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from tfcompat._src.base.default_stack import SESSIONS
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.checkpoint.reader import NewCheckpointReader
from tfcompat._src.graph.scopes import device, executing_eagerly, init_scope
from tfcompat._src.platform import logging
from tfcompat._src.train import saveable_object_util
from tfcompat._src.train.functional_saver import MultiDeviceSaver
from tfcompat._src.train.saver import Saver
from tfcompat._src.train.trackable_data_structures import TrackableDataStructure
from tfcompat._src.train.trackable_graph import ObjectGraphView, PythonStringStateSaveable

_RESTORES = itertools.count()
_PARTIAL = (
    "A checkpoint was restored (e.g. tf.train.Checkpoint.restore or tf.keras.Model.load_weights) but not all checkpointed "
    "values were used. See above for specific issues. Use expect_partial() on the load status object, e.g. "
    "tf.train.Checkpoint.restore(...).expect_partial(), to silence these warnings, or use assert_consumed() to make the check "
    "explicit. See https://www.tensorflow.org/alpha/guide/checkpoints#loading_mechanics for details."
)
_NOTHING = "No checkpoint specified (save_path=None); nothing is being restored."


class _SlotRestoration(NamedTuple):
    """A slot variable in a checkpoint: its optimizer's and its own number, the variable that it belongs to, its name."""

    optimizer_id: int
    slot_variable_id: int
    slot_name: str
    variable: Any = None


class RestoreCoordinator:
    """One restoration: what of a checkpoint was found so far, and the operations that restore it.

    Args:
      proto: the TrackableObjectGraph. save_path: the checkpoint's prefix. prefix_tensor: holds it in a run.
      known_ops: restoring operations by key that earlier restorations made; None where they run at once.
      view: the objects.
    """

    def __init__(
        self, proto: Any, save_path: str, prefix_tensor: Any, known_ops: dict[str, Any] | None, view: ObjectGraphView
    ) -> None:
        self.proto, self.save_path, self.prefix_tensor = proto, save_path, prefix_tensor
        self.known_ops, self.view = known_ops, view
        self.restore_uid = next(_RESTORES)
        self.restore_ops: list[Any] = []
        self.unused_attributes: dict[int, list[str]] = {}
        self._matched: set[int] = set()
        self.object_by_proto_id: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
        self.all_python_objects: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
        self.new_restore_ops_callback: Any = None
        self.slot_restorations: dict[int, list[_SlotRestoration]] = {}
        self.deferred_slot_restorations: dict[int, list[_SlotRestoration]] = {}
        self.warns = True
        for number, node in enumerate(proto.nodes):
            for slot in node.slot_variables:
                self.slot_restorations.setdefault(slot.original_variable_node_id, []).append(
                    _SlotRestoration(number, slot.slot_variable_node_id, slot.slot_name)
                )

    def add_restore_ops(self, new_ops: list[Any]) -> None:
        self.restore_ops.extend(new_ops)
        if self.new_restore_ops_callback is not None:
            self.new_restore_ops_callback(new_ops)

    def restore_saveables(self, tensors: dict[str, Any], python: list[PythonStringStateSaveable]) -> list[Any]:
        """Operations that restore tensors, by key; Python state is restored at once."""
        if python:
            reader = NewCheckpointReader(self.save_path)
            for saveable in python:
                saveable.python_restore([reader.get_tensor(spec.name) for spec in saveable.specs])
        if not tensors:
            return []
        made = MultiDeviceSaver(saveable_object_util.validate_and_slice_inputs(tensors)).restore(self.prefix_tensor)
        if self.known_ops is None:
            return []
        self.known_ops.update(made)
        return [op for _, op in sorted(made.items())]

    def __del__(self) -> None:
        if not self.warns:
            return
        lines = [
            f"Unresolved object in checkpoint: {self.node_name(number)}"
            for number in range(len(self.proto.nodes))
            if number not in self._matched
        ]
        for number, names in self.unused_attributes.items():
            lines += [f"Unused attribute in object {self.node_name(number)}: {name}" for name in names]
        for line in lines:
            logging.warning(line)
        if lines:
            logging.warning(_PARTIAL)

    def node_name(self, number: int) -> str:
        """The path of an object of the checkpoint, for messages."""
        names = {0: "(root)"}
        waiting = collections.deque([0])
        while waiting:
            current = waiting.popleft()
            for child in self.proto.nodes[current].children:
                if child.node_id not in names:
                    names[child.node_id] = f"{names[current]}.{child.local_name}"
                    waiting.append(child.node_id)
        for owner, name in list(names.items()):
            for slot in self.proto.nodes[owner].slot_variables:
                variable = names.get(slot.original_variable_node_id, str(slot.original_variable_node_id))
                names.setdefault(slot.slot_variable_node_id, f"{name}'s state '{slot.slot_name}' for {variable}")
        return names.get(number, str(number))


class CheckpointPosition:
    """An object of a checkpoint.

    Args:
      checkpoint: the RestoreCoordinator. proto_id: the object's number.
    """

    def __init__(self, checkpoint: RestoreCoordinator, proto_id: int) -> None:
        self.checkpoint, self._proto_id = checkpoint, proto_id

    @property
    def object_proto(self) -> Any:
        return self.checkpoint.proto.nodes[self._proto_id]

    @property
    def trackable(self) -> Any:
        return self.checkpoint.object_by_proto_id[self._proto_id]

    @property
    def restore_uid(self) -> int:
        return self.checkpoint.restore_uid

    def restore(self, trackable: Any) -> None:
        """Restores an object and what it depends on."""
        with init_scope():
            if self.bind_object(trackable):
                new_ops = trackable._restore_from_checkpoint_position(self)
                if new_ops:
                    self.checkpoint.add_restore_ops(new_ops)

    def bind_object(self, trackable: Any) -> bool:
        """Notes which object this is; whether that was not known before."""
        checkpoint = self.checkpoint
        checkpoint.all_python_objects[id(trackable)] = trackable
        known = checkpoint.object_by_proto_id.get(self._proto_id)
        if known is not None:
            if known is not trackable:
                logging.warning(
                    "Inconsistent references when loading the checkpoint into this object graph. Either the Trackable object "
                    "references in the Python program have changed in an incompatible way, or the checkpoint was generated in an "
                    "incompatible program.\n\nTwo checkpoint references resolved to different objects (%s and %s).", known, trackable,
                )  # fmt: skip
            return False
        checkpoint.object_by_proto_id[self._proto_id] = trackable
        checkpoint._matched.add(self._proto_id)
        for slot in checkpoint.deferred_slot_restorations.pop(self._proto_id, ()):
            self._restore_slot(trackable, slot, slot.variable)
        for slot in checkpoint.slot_restorations.pop(self._proto_id, ()):
            optimizer = checkpoint.object_by_proto_id.get(slot.optimizer_id)
            if optimizer is None:
                waiting = checkpoint.deferred_slot_restorations.setdefault(slot.optimizer_id, [])
                waiting.append(slot._replace(variable=trackable))
            else:
                self._restore_slot(optimizer, slot, trackable)
        return True

    def _restore_slot(self, optimizer: Any, slot: _SlotRestoration, variable: object) -> None:
        optimizer._create_or_restore_slot_variable(
            slot_variable_position=CheckpointPosition(self.checkpoint, slot.slot_variable_id), variable=variable,
            slot_name=slot.slot_name,
        )  # fmt: skip

    def is_simple_variable(self) -> bool:
        """Whether the object is nothing but one value."""
        attributes = self.object_proto.attributes
        return len(attributes) == 1 and attributes[0].name == "VARIABLE_VALUE" and not self.object_proto.children

    def saved_value(self) -> Any:
        """The value of an object that is nothing but one."""
        (attribute,) = self.object_proto.attributes
        return NewCheckpointReader(self.checkpoint.save_path).get_tensor(attribute.checkpoint_key)

    def restore_tree(self) -> list[Any]:
        """The operations that restore this object and, breadth first, all that it depends on."""
        found: list[Any] = []
        tensors: dict[str, Any] = {}
        python: list[PythonStringStateSaveable] = []
        waiting = collections.deque([self])
        while waiting:
            position = waiting.popleft()
            obj = position.trackable
            if position.restore_uid > obj._update_uid:
                position._gather(obj, found, tensors, python)
                obj._update_uid = position.restore_uid
            for child in position.object_proto.children:
                inner = CheckpointPosition(self.checkpoint, child.node_id)
                local = obj._lookup_dependency(child.local_name)
                if local is None:
                    obj._deferred_dependencies.setdefault(child.local_name, []).append(inner)
                elif inner.bind_object(local):
                    waiting.append(inner)
        return found + self.checkpoint.restore_saveables(tensors, python)

    def _gather(self, obj: Any, found: list[Any], tensors: dict[str, Any], python: list[Any]) -> None:
        """Adds what restores the values of one object: operations made before, tensors by key, Python state."""
        factories = obj._gather_saveables_for_checkpoint()
        for attribute in self.object_proto.attributes:
            key = attribute.checkpoint_key
            if key in (self.checkpoint.known_ops or {}):
                found.append(self.checkpoint.known_ops[key])
            elif attribute.name not in factories:
                if not attribute.optional_restore:
                    self.checkpoint.unused_attributes.setdefault(self._proto_id, []).append(attribute.name)
            else:
                (saveable,) = self.checkpoint.view.saveables_for(obj, attribute.name, factories[attribute.name], key)
                if isinstance(saveable, PythonStringStateSaveable):
                    python.append(saveable)
                else:
                    tensors[key] = saveable


# ---- what restore() returns ----


_session_providers: list[Callable[[], Any]] = []


def register_session_provider(provider: Callable[[], Any]) -> None:
    """Has saving and restoring run in the session that `provider` gives where there is no default session."""
    _session_providers[:] = [provider]


def present_session() -> Any:
    """The default session, or the one that is provided in its place; None where there is neither."""
    found = SESSIONS.top()
    return _session_providers[0]() if found is None and _session_providers else found


def default_session(session: SessionLike) -> Any:
    """The session to run in; ValueError where none is given, none is the default and none is provided."""
    found = session or present_session()
    if found is None:
        raise ValueError("Saving and restoring need a session: pass session= or make one the default.")
    return found


def _run_initializers(objects: list[Any], uid: int, session: SessionLike, restored: set[int]) -> None:
    found = [
        o.initializer for o in objects
        if getattr(o, "initializer", None) is not None and id(o) not in restored and getattr(o, "_update_uid", uid - 1) < uid
    ]  # fmt: skip
    session.run(found)


class LoadStatus:
    """What became of a restoration."""

    def expect_partial(self) -> LoadStatus:
        """Says that values that are not used are no cause for a warning."""
        return self


class CheckpointLoadStatus(LoadStatus):
    """The restoration of a checkpoint of objects."""

    def __init__(self, checkpoint: RestoreCoordinator, feed_dict: dict[Any, Any], graph_view: ObjectGraphView) -> None:
        self._checkpoint, self._feed_dict, self._graph_view = checkpoint, feed_dict, graph_view
        self._root = graph_view.root

    def expect_partial(self) -> CheckpointLoadStatus:
        self._checkpoint.warns = False
        return self

    def _unmatched(self) -> list[Any]:
        for obj in self._graph_view.list_objects():
            if not (isinstance(obj, TrackableDataStructure) and not obj._checkpoint_dependencies):
                self._checkpoint.all_python_objects[id(obj)] = obj
        bound = set(map(id, self._checkpoint.object_by_proto_id.values()))
        return [o for o in self._checkpoint.all_python_objects.values() if id(o) not in bound]

    def assert_consumed(self) -> CheckpointLoadStatus:
        """AssertionError where an object here or in the checkpoint has no counterpart."""
        checkpoint = self._checkpoint
        self.assert_existing_objects_matched()
        for number, node in enumerate(checkpoint.proto.nodes):
            if number not in checkpoint.object_by_proto_id:
                raise AssertionError(f"Unresolved object in checkpoint {checkpoint.node_name(number)}: {node}")
        if checkpoint.slot_restorations:
            raise AssertionError(f"Unresolved slot restorations: {checkpoint.slot_restorations}")
        if checkpoint.unused_attributes:
            lines = [f"{checkpoint.node_name(n)}: {names}" for n, names in checkpoint.unused_attributes.items()]
            raise AssertionError(
                "Unused attributes in these objects (the attributes exist in the checkpoint but were not restored):\n"
                + "\n".join(lines)
            )
        return self

    def assert_existing_objects_matched(self) -> CheckpointLoadStatus:
        """AssertionError where an object here has no counterpart in the checkpoint."""
        for number, node in enumerate(self._checkpoint.proto.nodes):
            obj = self._checkpoint.object_by_proto_id.get(number)
            if obj is not None and obj._update_uid < self._checkpoint.restore_uid:
                raise AssertionError(f"Object not assigned a value from checkpoint: {node}")
        unmatched = self._unmatched()
        if unmatched:
            raise AssertionError(
                "Some Python objects were not bound to checkpointed values, likely due to changes in the Python program: "
                f"{unmatched}"
            )
        return self

    def assert_nontrivial_match(self) -> CheckpointLoadStatus:
        """AssertionError where nothing but the root has a counterpart."""
        if len(self._checkpoint.object_by_proto_id) <= 1:
            unmatched = self._unmatched()
            if not unmatched:
                raise AssertionError(
                    f"Nothing to load. No dependencies have been added to {self._graph_view.root} yet."
                )
            raise AssertionError(
                "Nothing except the root object matched a checkpointed value. Typically this means that the checkpoint does not "
                f"match the Python program. The following objects have no matching checkpointed value: {unmatched}"
            )
        return self

    def run_restore_ops(self, session: SessionLike | None = None) -> None:
        """Restores what was found so far in a session, by default the default one."""
        if self._checkpoint.known_ops is not None:
            default_session(session).run(self._checkpoint.restore_ops, feed_dict=self._feed_dict)

    def initialize_or_restore(self, session: SessionLike | None = None) -> None:
        """Restores what was found, and initializes the variables that were not."""
        if self._checkpoint.known_ops is None:
            return
        session = default_session(session)
        restored = set(map(id, self._checkpoint.object_by_proto_id.values()))
        self.run_restore_ops(session)
        _run_initializers(self._graph_view.list_objects(), self._checkpoint.restore_uid, session, restored)


class InitializationOnlyStatus(LoadStatus):
    """The restoration of nothing."""

    def __init__(self, graph_view: ObjectGraphView, restore_uid: int) -> None:
        self._graph_view, self._restore_uid = graph_view, restore_uid
        self._root = graph_view.root

    def assert_consumed(self) -> Any:
        """Raises AssertionError."""
        raise AssertionError(_NOTHING)

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def run_restore_ops(self, session: SessionLike | None = None) -> Any:
        """Raises AssertionError."""
        raise AssertionError(
            "No checkpoint specified, so no restore ops are available (save_path=None to Saver.restore)."
        )

    def initialize_or_restore(self, session: SessionLike | None = None) -> None:
        """Initializes all variables."""
        if executing_eagerly():
            return
        _run_initializers(self._graph_view.list_objects(), self._restore_uid, default_session(session), set())


class NameBasedSaverStatus(LoadStatus):
    """The restoration of a checkpoint that a Saver wrote: variables are found by their names."""

    def __init__(self, save_path: str, graph_view: ObjectGraphView) -> None:
        self._save_path, self._graph_view = save_path, graph_view
        self._restore_uid = next(_RESTORES)
        self._root = graph_view.root
        self._unused: list[tuple[Any, str]] = []

    def assert_consumed(self) -> NameBasedSaverStatus:
        """AssertionError where an object was not restored."""
        if self._unused:
            lines = "".join(f"\n    {obj}: {name}" for obj, name in self._unused)
            raise AssertionError(f"Some objects had attributes which were not restored:{lines}")
        for obj in self._graph_view.list_objects():
            if obj._update_uid < self._restore_uid:
                raise AssertionError(f"Object not restored: {obj}")
        return self

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def _saveables(self) -> list[Any]:
        found: list[Any] = []
        for obj in self._graph_view.list_objects():
            if obj._update_uid >= self._restore_uid:
                continue
            obj._update_uid = self._restore_uid
            for name, factory in obj._gather_saveables_for_checkpoint().items():
                try:
                    made = factory() if callable(factory) else factory
                except TypeError:
                    if not factory("").optional_restore:
                        self._unused.append((obj, name))
                    continue
                for saved_as, op in saveable_object_util.op_list_to_dict(
                    [made], convert_variable_to_tensor=False
                ).items():
                    found.extend(saveable_object_util.saveable_objects_for_op(op, saved_as))
        return found

    def _that_are_saved(self, saveables: list[Any]) -> list[Any]:
        """The saveables that the checkpoint has values for; notes the others."""
        reader = NewCheckpointReader(self._save_path)
        missing = {id(s): [n.name for n in s.specs if not reader.has_tensor(n.name)] for s in saveables}
        self._unused.extend((s.op, name) for s in saveables for name in missing[id(s)])
        return [s for s in saveables if not missing[id(s)]]

    def run_restore_ops(self, session: SessionLike | None = None) -> None:
        """Restores in a session, by default the default one."""
        session, saveables = None, self._saveables()
        if executing_eagerly():
            saveables = self._that_are_saved(saveables)
        else:
            session = default_session(session)
        if saveables:
            with device("/cpu:0"):
                Saver(saveables).restore(sess=session, save_path=self._save_path)

    initialize_or_restore = run_restore_ops


def streaming_restore(status: Any, session: SessionLike | None = None) -> None:
    """Restores what was found in a session, and what is found later as soon as it is.

    Raises:
      NotImplementedError: the checkpoint was written by a Saver.
    """
    if executing_eagerly():
        return
    session = default_session(session)
    if isinstance(status, NameBasedSaverStatus):
        raise NotImplementedError(
            "Streaming restore not supported from name-based checkpoints when graph building: use tf.train.Checkpoint to save."
        )
    status.run_restore_ops(session=session)
    status._checkpoint.new_restore_ops_callback = lambda ops: session.run(ops, feed_dict=status._feed_dict)


def next_restore_uid() -> int:
    """A number above those of all earlier restorations."""
    return next(_RESTORES)
