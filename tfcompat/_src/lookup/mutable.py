"""Tables that can be changed, and are saved in checkpoints."""

from __future__ import annotations

import functools
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import add_to_collection, colocate_with, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lookup.interface import LookupInterface, own_name
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.train.saveable_object import SaveableObject, SaveSpec


class _Saveable(SaveableObject):
    """The keys and values of a table in a checkpoint."""

    def __init__(self, table: _MutableTable, name: str) -> None:
        keys, values = table.export()
        super().__init__(table, [SaveSpec(keys, "", name + "-keys"), SaveSpec(values, "", name + "-values")], name)

    def restore(self, restored_tensors: list[Tensor], restored_shapes: object, name: str | None = None) -> Operation:
        """The operation that replaces the table's entries; the shapes of the saved tensors are not needed."""
        with name_scope(name, f"{self.name}_table_restore"), colocate_with(self.op.resource_handle):
            return raw.LookupTableImportV2(self.op.resource_handle, restored_tensors[0], restored_tensors[1])


class _MutableTable(LookupInterface):
    """What the two kinds of mutable tables share."""

    _Saveable = _Saveable
    _default_value: Tensor
    _table_name: str

    def _finish(self, name: str, checkpoint: bool) -> None:
        """Makes the resource and, where wanted, what a Saver saves."""
        self._name, self._checkpoint = name, checkpoint
        self._resource_handle = self._create_resource()
        self._table_name = own_name(self._resource_handle)
        if checkpoint:
            add_to_collection(GraphKeys.SAVEABLE_OBJECTS, _Saveable(self, name))

    @property
    def name(self) -> str:
        return self._table_name

    def size(self, name: str | None = None) -> Tensor:
        """The number of entries, an int64 scalar."""
        with name_scope(name, f"{self.name}_Size", [self.resource_handle]), colocate_with(self.resource_handle):
            return raw.LookupTableSizeV2(self.resource_handle)

    def remove(self, keys: Any, name: str | None = None) -> Operation:
        """The operation that removes `keys`; those that are not in the table are passed over.

        Raises:
          TypeError: `keys` are of another dtype.
        """
        if keys.dtype != self._key_dtype:
            raise TypeError(f"Signature mismatch. Keys must be dtype {self._key_dtype}, got {keys.dtype}.")
        with name_scope(name, f"{self.name}_lookup_table_remove", (self.resource_handle, keys, self._default_value)):
            return raw.LookupTableRemoveV2(self.resource_handle, keys)

    def lookup(self, keys: Any, name: str | None = None) -> Tensor:
        """The values of `keys`, of the shape of `keys` and that of one value; TypeError where the dtype is another."""
        with name_scope(name, f"{self.name}_lookup_table_find", (self.resource_handle, keys, self._default_value)):
            keys = convert_to_tensor(keys, dtype=self._key_dtype, name="keys")
            with colocate_with(self.resource_handle):
                return raw.LookupTableFindV2(self.resource_handle, keys, self._default_value)

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """The operation that sets the values of `keys`; TypeError where a dtype is another."""
        with name_scope(name, f"{self.name}_lookup_table_insert", [self.resource_handle, keys, values]):
            keys = convert_to_tensor(keys, dtype=self._key_dtype, name="keys")
            values = convert_to_tensor(values, dtype=self._value_dtype, name="values")
            with colocate_with(self.resource_handle):
                return raw.LookupTableInsertV2(self.resource_handle, keys, values)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and all values."""
        with name_scope(name, f"{self.name}_lookup_table_export_values", [self.resource_handle]):
            with colocate_with(self.resource_handle):
                keys, values = raw.LookupTableExportV2(
                    self.resource_handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype
                )
        return keys, values

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {"table": functools.partial(_Saveable, table=self, name=self._name)}


@export("contrib.lookup.MutableHashTable")
class MutableHashTable(_MutableTable):
    """A table that can be changed; its entries are in no order.

    Args:
      key_dtype, value_dtype: dtypes.
      default_value: the value of keys that are not in the table, a scalar or vector; it gives the shape of the values.
      name: node name.
      checkpoint: whether a Saver saves the entries.
    """

    def __init__(
        self, key_dtype: object, value_dtype: Any, default_value: object, name: str = "MutableHashTable", checkpoint: bool = True
    ) -> None:
        self._default_value = convert_to_tensor(default_value, dtype=value_dtype)
        self._value_shape = self._default_value.get_shape()
        super().__init__(key_dtype, value_dtype)
        self._finish(name, checkpoint)

    def _create_resource(self) -> Tensor:
        attrs = {
            "use_node_name_sharing": self._checkpoint, "key_dtype": self._key_dtype, "value_dtype": self._value_dtype,
            "name": self._name,
        }  # fmt: skip
        if self._value_shape.ndims == 0:
            return raw.MutableHashTableV2(**attrs)
        return raw.MutableHashTableOfTensorsV2(value_shape=self._value_shape, **attrs)


@export("lookup.experimental.DenseHashTable", "contrib.lookup.MutableDenseHashTable")
class DenseHashTable(_MutableTable):
    """A table that can be changed, stored in two tensors, which an export shows as they are.

    Args:
      key_dtype, value_dtype: dtypes.
      default_value: the value of keys that are not in the table, a scalar or vector.
      empty_key, deleted_key: two different keys, scalars or vectors, that mark unused places; no entry may have them.
      initial_num_buckets: places at first, a power of two; default 131072.
      name: node name.
      checkpoint: whether a Saver saves the entries.
    """

    def __init__(
        self, key_dtype: Any, value_dtype: Any, default_value: Any, empty_key: Any, deleted_key: Any,
        initial_num_buckets: int | None = None, name: str = "MutableDenseHashTable", checkpoint: bool = True,
    ) -> None:  # fmt: skip
        self._default_value = convert_to_tensor(default_value, dtype=value_dtype, name="default_value")
        self._value_shape = self._default_value.get_shape()
        self._initial_num_buckets = initial_num_buckets
        self._empty_key = convert_to_tensor(empty_key, dtype=key_dtype, name="empty_key")
        self._deleted_key = convert_to_tensor(deleted_key, dtype=key_dtype, name="deleted_key")
        super().__init__(key_dtype, value_dtype)
        self._finish(name, checkpoint)

    def _create_resource(self) -> Tensor:
        return raw.MutableDenseHashTableV2(
            empty_key=self._empty_key, deleted_key=self._deleted_key, use_node_name_sharing=self._checkpoint,
            value_dtype=self._value_dtype, value_shape=self._value_shape,
            initial_num_buckets=self._initial_num_buckets, name=self._name,
        )  # fmt: skip

    def insert_or_assign(self, keys: object, values: object, name: str | None = None) -> Operation:
        """`insert` under its C++ name."""
        return self.insert(keys, values, name)

    def erase(self, keys: object, name: str | None = None) -> Operation:
        """`remove` under its C++ name."""
        return self.remove(keys, name)
