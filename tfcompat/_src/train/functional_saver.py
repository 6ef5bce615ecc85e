"""Saving and restoring of SaveableObjects, one part of the checkpoint per device."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.graph.scopes import control_dependencies, device
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.ops.strings.text import string_join
from tfcompat._src.proto import messages
from tfcompat._src.train.saveable_object import SaveableObject
from tfcompat._src.train.saveable_object_util import set_cpu0

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class _SingleDeviceSaver:
    """Saves and restores saveables of one device; ValueError where one is no SaveableObject."""

    def __init__(self, saveable_objects: Iterable[SaveableObject]) -> None:
        self._saveable_objects = list(saveable_objects)
        for saveable in self._saveable_objects:
            if not isinstance(saveable, SaveableObject):
                raise ValueError(f"Expected a list of SaveableObjects, got {saveable}.")

    def save(self, file_prefix: TensorLike) -> Any:
        """An operation that saves."""
        specs = [spec for saveable in self._saveable_objects for spec in saveable.specs]
        names, tensors, slices = [], [], []
        for spec in specs:
            names.append(spec.name)
            tensors.append(spec.tensor)
            slices.append(spec.slice_spec)
        with device("cpu:0"):
            return raw.SaveV2(file_prefix, names, slices, tensors)

    def restore(self, file_prefix: object) -> dict[str, Any]:
        """Operations that restore, by the names of the saveables."""
        specs = [spec for saveable in self._saveable_objects for spec in saveable.specs]
        with device("cpu:0"):
            restored = iter(raw.RestoreV2(
                file_prefix, [s.name for s in specs], [s.slice_spec for s in specs], dtypes=[s.dtype.base_dtype for s in specs]
            ))  # fmt: skip
        return {
            saveable.name: saveable.restore([next(restored) for _ in saveable.specs], restored_shapes=None)
            for saveable in self._saveable_objects
        }


class MultiDeviceSaver:
    """Saves and restores saveables of several devices; ValueError where one is no SaveableObject."""

    def __init__(self, saveable_objects: Iterable[SaveableObject]) -> None:
        by_device: dict[str, list[SaveableObject]] = {}
        for saveable in saveable_objects:
            if not isinstance(saveable, SaveableObject):
                raise ValueError(f"Expected a dictionary of SaveableObjects, got {saveable}.")
            by_device.setdefault(saveable.device, []).append(saveable)
        self._single_device_savers = {place: _SingleDeviceSaver(found) for place, found in sorted(by_device.items())}

    def to_proto(self) -> Any:
        """A SaverDef of new nodes in the default graph."""
        filename = placeholder(dtypes.string, shape=[], name="saver_filename")
        with device("cpu:0"), control_dependencies([self.save(filename)]):
            saved = raw.Identity(filename)
        with device("cpu:0"), control_dependencies(list(self.restore(filename).values())):
            restored = raw.Identity(filename)
        return messages.SaverDef(
            filename_tensor_name=filename.name, save_tensor_name=saved.name, restore_op_name=restored.op.name,
            version=messages.SaverDef.V2,
        )  # fmt: skip

    def save(self, file_prefix: Tensor) -> Any:
        """An operation that saves to the prefix in a string tensor."""
        with device("cpu:0"):
            temporary = string_join([file_prefix, f"_temp_{uuid.uuid4().hex}/part"])
        num_shards = constant(len(self._single_device_savers), name="num_shards")
        prefixes, saves = [], []
        for shard, (place, saver) in enumerate(self._single_device_savers.items()):
            with device(set_cpu0(place)):
                prefixes.append(raw.ShardedFilename(temporary, shard, num_shards))
            with device(place):
                saves.append(saver.save(prefixes[-1]))
        last = list(self._single_device_savers)[-1]
        with control_dependencies(saves), device(set_cpu0(last)):
            return raw.MergeV2Checkpoints(prefixes, file_prefix, delete_old_dirs=True)

    def restore(self, file_prefix: Tensor) -> dict[str, Any]:
        """Operations that restore from the prefix in a string tensor, by the names of the saveables."""
        found: dict[str, Any] = {}
        for place, saver in self._single_device_savers.items():
            with device(place):
                found.update(saver.restore(file_prefix))
        return found
