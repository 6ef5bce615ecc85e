"""The nodes that save and restore variables: BaseSaverBuilder, BulkSaverBuilder."""

from __future__ import annotations

import uuid
from typing import Any

from tfcompat._src.base.device import canonical_name
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import (
    control_dependencies,
    device,
    executing_eagerly,
    get_default_graph,
    name_scope,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.constant import placeholder_with_default
from tfcompat._src.ops.control.groups import group, with_dependencies
from tfcompat._src.ops.strings.text import string_join
from tfcompat._src.proto import messages
from tfcompat._src.train import saveable_object, saveable_object_util
from tfcompat._src.train.saveable_object import SaveableObject
from tfcompat._src.variables.partitioned import PartitionedVariable

V1, V2 = 1, 2
_PerDevice = list[tuple[str, list[SaveableObject]]]


class BaseSaverBuilder:
    """Makes the nodes of a Saver; each saveable is restored by nodes of its own.

    Args:
      write_version: SaverDef.V1 or SaverDef.V2.
    """

    SaveSpec = saveable_object.SaveSpec
    SaveableObject = saveable_object.SaveableObject
    VariableSaveable = saveable_object_util.ReferenceVariableSaveable
    ResourceVariableSaveable = saveable_object_util.ResourceVariableSaveable

    def __init__(self, write_version: int = V2) -> None:
        self._write_version = write_version

    # ---- what subclasses may change ----

    def save_op(self, filename_tensor: Tensor, saveables: list[SaveableObject]) -> Operation:
        """An operation that saves.

        Raises:
          RuntimeError: the version is unknown.
        """
        specs = [spec for saveable in saveables for spec in saveable.specs]
        names, slices = [s.name for s in specs], [s.slice_spec for s in specs]
        tensors = [s.tensor for s in specs]
        if self._write_version == V2:
            return raw.SaveV2(filename_tensor, names, slices, tensors)
        if self._write_version == V1:
            return raw.SaveSlices(filename_tensor, names, slices, tensors, name="save")
        raise RuntimeError(f"Unexpected write_version: {self._write_version}")

    def bulk_restore(
        self, filename_tensor: Tensor, saveables: list[SaveableObject], preferred_shard: int, restore_sequentially: bool
    ) -> list[Tensor]:
        """The restored tensors of all specs."""
        found: list[Tensor] = []
        for saveable in saveables:
            with device(saveable_object_util.set_cpu0(saveable.device) if saveable.device else None):
                found.extend(self.restore_op(filename_tensor, saveable, preferred_shard))
        return found

    def restore_op(self, filename_tensor: Tensor, saveable: SaveableObject, preferred_shard: int) -> list[Tensor]:
        """The restored tensors of one saveable."""
        return [_restore(filename_tensor, [spec])[0] for spec in saveable.specs]

    def sharded_filename(self, filename_tensor: Tensor, shard: int, num_shards: Tensor) -> Tensor:
        """The name of one shard's file."""
        return raw.ShardedFilename(filename_tensor, shard, num_shards)

    # ---- saving ----

    def _AddSaveOps(self, filename_tensor: Tensor, saveables: list[SaveableObject]) -> Tensor:  # noqa: N802
        return with_dependencies([self.save_op(filename_tensor, saveables)], filename_tensor)

    def _AddShardedSaveOps(self, filename_tensor: Tensor, per_device: _PerDevice) -> Tensor:  # noqa: N802
        if self._write_version == V2:
            return self._AddShardedSaveOpsForV2(filename_tensor, per_device)
        num_shards = constant(len(per_device), name="num_shards")
        saves = []
        for shard, (place, saveables) in enumerate(per_device):
            with device(place):
                saves.append(self._AddSaveOps(self.sharded_filename(filename_tensor, shard, num_shards), saveables))
        with control_dependencies([s.op for s in saves]):
            return raw.ShardedFilespec(filename_tensor, num_shards)

    def _AddShardedSaveOpsForV2(self, checkpoint_prefix: Tensor, per_device: _PerDevice) -> Tensor:  # noqa: N802
        temporary = string_join([checkpoint_prefix, f"_temp_{uuid.uuid4().hex}/part"])
        num_shards = constant(len(per_device), name="num_shards")
        prefixes, saves = [], []
        for shard, (place, saveables) in enumerate(per_device):
            with device(saveable_object_util.set_cpu0(place)):
                prefixes.append(self.sharded_filename(temporary, shard, num_shards))
                saves.append(self._AddSaveOps(prefixes[-1], saveables))
        last = saveable_object_util.set_cpu0(per_device[-1][0])
        with control_dependencies([s.op for s in saves]), device(last):
            merge = raw.MergeV2Checkpoints(prefixes, checkpoint_prefix, delete_old_dirs=True)
            with control_dependencies([merge]):
                return raw.Identity(checkpoint_prefix)

    # ---- restoring ----

    def _AddRestoreOps(  # noqa: N802
        self, filename_tensor: Tensor, saveables: list[SaveableObject], restore_sequentially: bool, reshape: bool,
        preferred_shard: int = -1, name: str = "restore_all",
    ) -> Operation:  # fmt: skip
        tensors = iter(self.bulk_restore(filename_tensor, saveables, preferred_shard, restore_sequentially))
        assigns = []
        for saveable in saveables:
            shapes = [_static_or_dynamic_shape(spec.tensor) for spec in saveable.specs] if reshape else None
            assigns.append(saveable.restore([next(tensors) for _ in saveable.specs], shapes))
        return group(*assigns, name=name)

    def _AddShardedRestoreOps(  # noqa: N802
        self, filename_tensor: Tensor, per_device: _PerDevice, restore_sequentially: bool, reshape: bool
    ) -> Operation:
        restores = []
        for shard, (place, saveables) in enumerate(per_device):
            with device(place):
                restores.append(self._AddRestoreOps(
                    filename_tensor, saveables, restore_sequentially, reshape, preferred_shard=shard, name="restore_shard"
                ))  # fmt: skip
        return group(*restores, name="restore_all")

    def _GroupByDevices(self, saveables: list[SaveableObject]) -> _PerDevice:  # noqa: N802
        """Saveables by device, devices sorted; ValueError where one has tensors on several."""
        found: dict[str, list[SaveableObject]] = {}
        for saveable in saveables:
            places = {canonical_name(spec.tensor.device) for spec in saveable.specs}
            if len(places) != 1:
                raise ValueError(f"All tensors of a saveable object must be on the same device: {saveable.name}")
            found.setdefault(places.pop(), []).append(saveable)
        return sorted(found.items())

    # ---- both ----

    def build(
        self, names_to_saveables: Any, reshape: bool = False, sharded: bool = False, max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0, name: str | None = None, restore_sequentially: bool = False,
        filename: str | None = "model",
    ) -> Any:  # fmt: skip
        """Makes the nodes; a SaverDef that names them. The arguments are those of tf.train.Saver.

        Raises:
          TypeError, ValueError: see `saveable_object_util.validate_and_slice_inputs`.
        """
        return self._build_internal(
            names_to_saveables, reshape=reshape, sharded=sharded, max_to_keep=max_to_keep,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours, name=name,
            restore_sequentially=restore_sequentially, filename=filename,
        )  # fmt: skip

    def _build_internal(
        self, names_to_saveables: object, reshape: bool = False, sharded: bool = False, max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0, name: str | None = None, restore_sequentially: bool = False,
        filename: object = "model", build_save: bool = True, build_restore: bool = True,
    ) -> Any:  # fmt: skip
        if not executing_eagerly() and not (build_save and build_restore):
            raise ValueError(
                "save and restore operations need to be built together  when eager execution is not enabled."
            )
        saveables = saveable_object_util.validate_and_slice_inputs(names_to_saveables)
        with name_scope(name, "save", [saveable.op for saveable in saveables]):
            filename_tensor = placeholder_with_default(filename or "model", shape=(), name="filename")
            filename_tensor = placeholder_with_default(filename_tensor, shape=(), name="Const")
            if executing_eagerly():
                return self._run_now(
                    filename_tensor, saveables, restore_sequentially, reshape, max_to_keep, sharded,
                    keep_checkpoint_every_n_hours, build_save, build_restore,
                )  # fmt: skip
            if sharded:
                per_device = self._GroupByDevices(saveables)
                save_tensor = self._AddShardedSaveOps(filename_tensor, per_device)
                restore_op = self._AddShardedRestoreOps(filename_tensor, per_device, restore_sequentially, reshape)
            else:
                save_tensor = self._AddSaveOps(filename_tensor, saveables)
                restore_op = self._AddRestoreOps(filename_tensor, saveables, restore_sequentially, reshape)
        _make_wholes_of_parts()
        return messages.SaverDef(
            filename_tensor_name=filename_tensor.name, save_tensor_name=save_tensor.name, restore_op_name=restore_op.name,
            max_to_keep=max_to_keep or 0, sharded=sharded, keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            version=self._write_version,
        )  # fmt: skip


    def _run_now(
        self, filename: Tensor, saveables: list[SaveableObject], restore_sequentially: bool, reshape: bool,
        max_to_keep: int | None, sharded: bool, hours: float, save: bool, restore: bool,
    ) -> Any:  # fmt: skip
        """Saves or restores at once, where operations run when they are called; a SaverDef with what was written."""
        if sharded:
            per_device = self._GroupByDevices(saveables)
        saved = b""
        if save:
            saved_tensor = (
                self._AddShardedSaveOps(filename, per_device) if sharded else self._AddSaveOps(filename, saveables)
            )
            saved = saved_tensor.numpy()
        if restore and sharded:
            self._AddShardedRestoreOps(filename, per_device, restore_sequentially, reshape)
        elif restore:
            self._AddRestoreOps(filename, saveables, restore_sequentially, reshape)
        return messages.SaverDef(
            filename_tensor_name=filename.numpy(), save_tensor_name=saved, max_to_keep=max_to_keep or 0, sharded=sharded,
            keep_checkpoint_every_n_hours=hours, version=self._write_version,
        )  # fmt: skip


class BulkSaverBuilder(BaseSaverBuilder):
    """Makes the nodes of a Saver; all saveables are restored by one node."""

    def bulk_restore(
        self, filename_tensor: Tensor, saveables: list[SaveableObject], preferred_shard: int, restore_sequentially: bool
    ) -> list[Tensor]:
        with device("cpu:0"):
            return _restore(filename_tensor, [spec for saveable in saveables for spec in saveable.specs])


def _restore(filename_tensor: Tensor, specs: list[Any]) -> list[Tensor]:
    names, slices = [s.name for s in specs], [s.slice_spec for s in specs]
    return raw.RestoreV2(filename_tensor, names, slices, dtypes=[s.dtype.base_dtype for s in specs])


def _static_or_dynamic_shape(tensor: Any) -> Any:
    shape = tensor.get_shape()
    return shape if shape.is_fully_defined() else raw.Shape(tensor)


def _make_wholes_of_parts() -> None:
    """Makes the tensor of each PartitionedVariable in a collection that has none yet, so that its name is in the graph."""
    graph = get_default_graph()
    for key in graph.get_all_collection_keys():
        for element in graph.get_collection(key):
            if isinstance(element, PartitionedVariable) and element.name not in graph._nodes_by_name:
                element.as_tensor()
