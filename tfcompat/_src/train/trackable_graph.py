"""The objects below a root, as a message, and what of them is saved under which keys."""

from __future__ import annotations

import collections
import weakref
from typing import Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.base.trackable import OBJECT_GRAPH_PROTO_KEY
from tfcompat._src.graph.scopes import device, executing_eagerly, init_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.proto import messages
from tfcompat._src.train import saveable_object_util
from tfcompat._src.train.saveable_object import SaveableObject, SaveSpec
from tfcompat._src.train.trackable_data_structures import NotTrackable

ATTRIBUTES = ".ATTRIBUTES"
OPTIMIZER_SLOT = ".OPTIMIZER_SLOT"


class NoRestoreSaveable(SaveableObject):
    """A tensor that is saved and not restored."""

    def __init__(self, tensor: object, name: str, dtype: object = None, device: str | None = None) -> None:
        super().__init__(tensor, [SaveSpec(tensor, "", name, dtype=dtype, device=device)], name)

    def restore(self, restored_tensors: list[Any], restored_shapes: list[Any] | None) -> Any:
        return no_op()


class PythonStringStateSaveable(SaveableObject):
    """Python state as bytes.

    Args:
      name: its key.
      state_callback: gives the bytes to save.
      restore_callback: takes the bytes that were saved; without it nothing is restored.
    """

    def __init__(self, name: str, state_callback: Any, restore_callback: Any = None) -> None:
        self._state_callback, self._restore_callback = state_callback, restore_callback
        self._save_string: Any = self._state_now
        if not executing_eagerly():
            with device("/cpu:0"):
                self._save_string = constant("", dtype=dtypes.string)
        spec = SaveSpec(self._save_string, "", name, dtype=dtypes.string, device="cpu:0")
        super().__init__(self._save_string, [spec], name)

    def _state_now(self) -> Tensor:
        return constant(self._state_callback(), dtype=dtypes.string)

    @property
    def optional_restore(self) -> bool:
        return self._restore_callback is None

    def feed_dict_additions(self) -> dict[Any, Any]:
        """What to feed when saving."""
        if callable(self._save_string):
            return {}
        with init_scope():
            return {self._save_string: self._state_callback()}

    def freeze(self) -> NoRestoreSaveable:
        """A saveable of the present state."""
        with device("/cpu:0"):
            return NoRestoreSaveable(constant(self._state_callback(), dtype=dtypes.string), self.name)

    def python_restore(self, restored_strings: list[bytes]) -> None:
        """Takes back what was saved."""
        if self._restore_callback is not None:
            (restored,) = restored_strings
            self._restore_callback(restored)

    def restore(self, restored_tensors: list[Any], restored_shapes: list[Any] | None) -> Any:
        return no_op()


class SerializedGraph(NamedTuple):
    """What saving an object graph needs: saveables, the TrackableObjectGraph message, and values to feed."""

    saveables: list[SaveableObject]
    proto: Any
    feeds: dict[Any, Any]


def _escaped(name: str) -> str:
    return name.replace(".", "..").replace("/", ".S")


class ObjectGraphView:
    """The objects that a root depends on, directly and through others.

    Args:
      root: the object, or a weak reference to it.
    """

    def __init__(self, root: Any) -> None:
        self._root_ref = root
        self._saveables: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()

    @property
    def root(self) -> Any:
        return self._root_ref() if isinstance(self._root_ref, weakref.ref) else self._root_ref

    def dependencies(self, obj: Any) -> list[Any]:
        """(name, object) of what an object depends on."""
        return obj._checkpoint_dependencies

    def _traverse(self) -> tuple[list[Any], dict[int, str]]:
        """The objects in breadth-first order, and their paths from the root by id.

        Raises:
          NotImplementedError: one cannot be saved.
        """
        found, waiting = [], collections.deque([self.root])
        paths = {id(self.root): ""}
        while waiting:
            current = waiting.popleft()
            if isinstance(current, NotTrackable):
                raise NotImplementedError(f"The object {current} does not support object-based saving.")
            found.append(current)
            for name, dependency in self.dependencies(current):
                if id(dependency) not in paths:
                    above = paths[id(current)]
                    paths[id(dependency)] = f"{above}/{_escaped(name)}" if above else _escaped(name)
                    waiting.append(dependency)
        return found, paths

    def list_objects(self) -> list[Any]:
        """All objects: breadth first from the root, then slot variables."""
        objects, paths = self._traverse()
        self._slots(objects, paths)
        return objects

    def _slots(self, objects: list[Any], paths: dict[int, str]) -> dict[int, list[Any]]:
        """Adds slot variables to the objects and paths; their references by the id of their optimizer."""
        found: dict[int, list[Any]] = {}
        others = list(objects)
        for optimizer in others:
            if not hasattr(optimizer, "_create_or_restore_slot_variable"):
                continue
            for slot_name in optimizer.get_slot_names():
                for number, variable in enumerate(others):
                    slot = _slot_of(optimizer, variable, slot_name)
                    if slot is None:
                        continue
                    if id(slot) in paths:
                        raise NotImplementedError(
                            "A slot variable was re-used as a dependency of a Trackable object. This is not currently allowed."
                        )
                    paths[id(slot)] = (
                        f"{paths[id(variable)]}/{OPTIMIZER_SLOT}/{paths[id(optimizer)]}/{_escaped(slot_name)}"
                    )
                    found.setdefault(id(optimizer), []).append(
                        messages.TrackableObjectGraph.TrackableObject.SlotVariableReference(
                            slot_name=slot_name, original_variable_node_id=number, slot_variable_node_id=len(objects)
                        )
                    )
                    objects.append(slot)
        return found

    def serialize_object_graph(self, frozen: bool = False) -> SerializedGraph:
        """What saving needs; where it is frozen, Python state is what it is now, and nothing is to be fed."""
        objects, paths = self._traverse()
        slots = self._slots(objects, paths)
        numbers = {id(o): i for i, o in enumerate(objects)}
        proto = messages.TrackableObjectGraph()
        for obj in objects:
            node = proto.nodes.add()
            node.slot_variables.extend(slots.get(id(obj), ()))
            for name, dependency in self.dependencies(obj):
                node.children.add(node_id=numbers[id(dependency)], local_name=name)
        saveables: list[SaveableObject] = []
        feeds: dict[Any, Any] = {}
        for obj, node in zip(objects, proto.nodes):
            for name, factory in obj._gather_saveables_for_checkpoint().items():
                key = f"{paths[id(obj)]}/{ATTRIBUTES}/{_escaped(name)}"
                made = self.saveables_for(obj, name, factory, key)
                if frozen:
                    made = [s.freeze() if isinstance(s, PythonStringStateSaveable) else s for s in made]
                full_names = [s.full_name for s in made if hasattr(s, "full_name")]
                node.attributes.add(
                    name=name, checkpoint_key=key, full_name=full_names[-1] if full_names else "",
                    optional_restore=bool(made) and all(s.optional_restore for s in made),
                )  # fmt: skip
                for saveable in made:
                    if isinstance(saveable, PythonStringStateSaveable):
                        feeds.update(saveable.feed_dict_additions())
                saveables.extend(made)
        return SerializedGraph(saveables, proto, feeds)

    def saveables_for(self, obj: object, name: str, factory: Any, key: str) -> list[SaveableObject]:
        """The saveables of one attribute of an object under a key, made once."""
        cached: dict = {} if executing_eagerly() else self._saveables.setdefault(obj, {})
        if (name, key) not in cached:
            made = factory(name=key) if callable(factory) else factory
            if not isinstance(made, SaveableObject):
                (full_name,) = saveable_object_util.op_list_to_dict([made], convert_variable_to_tensor=False)
                found = list(saveable_object_util.saveable_objects_for_op(made, key))
                for saveable in found:
                    saveable.full_name = full_name
            else:
                found = [made]
            cached[name, key] = found
        return cached[name, key]


def _slot_of(optimizer: Any, variable: Any, slot_name: str) -> Any:
    if not hasattr(variable, "initializer"):
        return None
    try:
        return optimizer.get_slot(variable, slot_name)
    except KeyError:
        return None


def object_graph_saveable(tensor: object) -> NoRestoreSaveable:
    """Saves the message of the object graph, which `tensor` holds."""
    return NoRestoreSaveable(tensor, OBJECT_GRAPH_PROTO_KEY)
