"""What `tensorflow.python.training.saver_test_utils` holds: a table that a Saver saves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.scopes import add_to_collection
from tfcompat._src.nodes import raw
from tfcompat._src.train.saver_builder import BaseSaverBuilder

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.tensor import Tensor


class CheckpointedOp:
    """A mutable table from string to float32.

    Args:
      name: its name, also in checkpoints.
      table_ref: the table where there is one already.
    """

    def __init__(self, name: str, table_ref: Any = None) -> None:
        if table_ref is None:
            table_ref = raw.MutableHashTableV2(key_dtype=dtypes.string, value_dtype=dtypes.float32, name=name)
        self.table_ref, self._name = table_ref, name
        self._saveable = CheckpointedOp.CustomSaveable(self, name)
        add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self._saveable)

    @property
    def name(self) -> str:
        return self._name

    @property
    def saveable(self) -> Any:
        return self._saveable

    def insert(self, keys: TensorLike, values: TensorLike) -> Any:
        """An operation that sets entries."""
        return raw.LookupTableInsertV2(self.table_ref, keys, values)

    def lookup(self, keys: TensorLike, default: TensorLike) -> Tensor:
        """The values of keys."""
        return raw.LookupTableFindV2(self.table_ref, keys, default)

    def keys(self) -> Tensor:
        """All keys."""
        return self._export()[0]

    def values(self) -> Any:
        """All values."""
        return self._export()[1]

    def _export(self) -> Any:
        return raw.LookupTableExportV2(self.table_ref, Tkeys=dtypes.string, Tvalues=dtypes.float32)

    class CustomSaveable(BaseSaverBuilder.SaveableObject):
        """Saves the keys and the values of a table."""

        def __init__(self, table: CheckpointedOp, name: str) -> None:
            keys, values = table._export()
            specs = [
                BaseSaverBuilder.SaveSpec(keys, "", name + "-keys"),
                BaseSaverBuilder.SaveSpec(values, "", name + "-values"),
            ]
            super().__init__(table, specs, name)

        def restore(self, restore_tensors: list[Any], shapes: object) -> Any:
            return raw.LookupTableImportV2(self.op.table_ref, restore_tensors[0], restore_tensors[1])
