"""Tables that are filled once, by an initializer."""

from __future__ import annotations

import uuid
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import init_scope, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lookup.initializers import outside_control_flow
from tfcompat._src.lookup.interface import LookupInterface, TableInitializerBase, own_name, with_values
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor


@export("contrib.lookup.InitializableLookupTableBase")
class InitializableLookupTableBase(LookupInterface):
    """A table filled by an initializer; a base of the static tables.

    Args:
      default_value: scalar, the value of keys that are not in the table.
      initializer: a TableInitializerBase, which has the dtypes of the table.
    """

    def __init__(self, default_value: Any, initializer: TableInitializerBase) -> None:
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        self._default_value = convert_to_tensor(default_value, dtype=self._value_dtype)
        self._default_value.shape.merge_with([])
        self._initializer = self._track_trackable(initializer, "_initializer")
        with init_scope():
            self._resource_handle = self._create_resource()
        with outside_control_flow():
            self._init_op = self._initialize()

    def _initialize(self) -> Operation:
        return self._initializer.initialize(self)

    @property
    def default_value(self) -> Tensor:
        return self._default_value

    def size(self, name: str | None = None) -> Tensor:
        """The number of entries, an int64 scalar; 0 before the table is filled."""
        with name_scope(name, f"{self.name}_Size", [self.resource_handle]):
            return raw.LookupTableSizeV2(self.resource_handle)

    def lookup(self, keys: Any, name: str | None = None) -> SparseTensor | Tensor:
        """The values of `keys`, a Tensor or SparseTensor, in its form.

        Raises:
          TypeError: `keys` are of another dtype. FailedPreconditionError: in a run, where the table is not filled.
        """
        self._check_keys(keys)
        tensor = keys.values if isinstance(keys, SparseTensor) else keys
        with name_scope(name, f"{self.name}_Lookup", (self.resource_handle, tensor, self._default_value)):
            values = raw.LookupTableFindV2(self.resource_handle, tensor, self._default_value)
        values.set_shape(tensor.get_shape())
        return with_values(keys, values)


class InitializableLookupTableBaseV1(InitializableLookupTableBase):
    """The same, and `initializer` is the operation that fills the table."""

    @property
    def initializer(self) -> Operation:
        return self._init_op


class HashTableBase(InitializableLookupTableBase):
    """A table of one HashTableV2 node."""

    def __init__(self, initializer: TableInitializerBase, default_value: Any, shared_name: str | None, name: str | None) -> None:
        self._initializer, self._shared_name, self._name = initializer, shared_name, name or "hash_table"
        self._table_name: str | None = None
        super().__init__(default_value, initializer)
        self._value_shape = self._default_value.get_shape()

    def _create_resource(self) -> Tensor:
        handle = raw.HashTableV2(
            shared_name=self._shared_name, key_dtype=self._initializer.key_dtype,
            value_dtype=self._initializer.value_dtype, name=self._name,
        )  # fmt: skip
        self._table_name = own_name(handle)
        return handle

    @property
    def name(self) -> str | None:
        return self._table_name


class StaticHashTable(HashTableBase):
    """See StaticHashTableV1, which has an `initializer` besides."""

    def __init__(self, initializer: TableInitializerBase, default_value: Any, name: str | None = None) -> None:
        super().__init__(initializer, default_value, initializer._shared_name or f"hash_table_{uuid.uuid4()}", name)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and all values, in the order in which they came in."""
        with name_scope(name, f"{self.name}_Export", [self.resource_handle]):
            keys, values = raw.LookupTableExportV2(self.resource_handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype)
        values.set_shape(keys.get_shape().concatenate(self._value_shape))
        return keys, values


@export("lookup.StaticHashTable")
class StaticHashTableV1(StaticHashTable):
    """A table that does not change after it is filled.

    Args:
      initializer: a KeyValueTensorInitializer or TextFileInitializer; its operation `initializer`, or
        `tf.tables_initializer()`, fills the table.
      default_value: the value of keys that are not in the table.
      name: node name.
    """

    @property
    def initializer(self) -> Operation:
        return self._init_op


class HashTable(StaticHashTableV1):
    """StaticHashTableV1 with the older name `init` of its initializer."""

    @property
    def init(self) -> Operation:
        return self.initializer
