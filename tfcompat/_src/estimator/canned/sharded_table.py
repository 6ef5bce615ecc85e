"""A MutableDenseHashTable in shards."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lookup.mutable import DenseHashTable
from tfcompat._src.ops.array.partition import dynamic_partition, dynamic_stitch
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.ops.math.sequence import arange


class ShardedMutableDenseHashTable:
    """Tables that share out keys: the shard is the key, or the first element of a key that is a vector, modulo their number.

    Args:
      key_dtype, value_dtype, default_value, empty_key, deleted_key, checkpoint: see tf.contrib.lookup.MutableDenseHashTable.
      num_shards: how many tables.
      name: how their names begin.
    """

    def __init__(
        self, key_dtype: object, value_dtype: object, default_value: object, empty_key: object, deleted_key: object, num_shards: int = 1,
        checkpoint: bool = True, name: str = "ShardedMutableHashTable",
    ) -> None:  # fmt: skip
        self._key_dtype, self._value_dtype = key_dtype, value_dtype
        with name_scope(name, "sharded_mutable_hash_table") as scope:
            self._table_name = scope
            self._table_shards = [
                DenseHashTable(
                    key_dtype, value_dtype, default_value, empty_key, deleted_key, checkpoint=checkpoint,
                    name=f"{name}-{i + 1}-of-{num_shards}",
                )
                for i in range(num_shards)
            ]  # fmt: skip

    @property
    def name(self) -> str:
        return self._table_name

    @property
    def table_shards(self) -> list[DenseHashTable]:
        """The tables."""
        return self._table_shards

    @property
    def _num_shards(self) -> int:
        return len(self._table_shards)

    def size(self, name: str | None = None) -> Tensor:
        """The number of entries, an int64 scalar."""
        with name_scope(name, "sharded_mutable_hash_table_size"):
            return add_n([table.size() for table in self._table_shards])

    def _shards_of(self, keys: Any) -> Tensor:
        """The shard of each key; ValueError where the shape of the keys is unknown or no vector or matrix."""
        sizes = keys.shape
        if not sizes.is_fully_defined():
            raise ValueError(f"Key shape must be fully defined, got {sizes}.")
        if sizes.ndims not in (1, 2):
            raise ValueError(f"Expected a vector or matrix for keys, got {sizes}.")
        return cast(abs(keys[:, 0] if sizes.ndims == 2 else keys) % self._num_shards, dtypes.int32)

    def lookup(self, keys: Tensor, name: str | None = None) -> Tensor:
        """The values of `keys`.

        Args:
          keys: a vector, or a matrix of vectors, of known shape.
          name: name of the nodes.

        Raises:
          TypeError: keys of another dtype. ValueError: keys of another or unknown shape.
        """
        if keys.dtype.base_dtype != self._key_dtype:
            raise TypeError(f"Signature mismatch. Keys must be dtype {self._key_dtype}, got {keys.dtype}.")
        shards = self._shards_of(keys)
        if self._num_shards == 1:
            return self._table_shards[0].lookup(keys, name=name)
        parts = dynamic_partition(keys, shards, self._num_shards)
        values = [table.lookup(part, name=name) for table, part in zip(self._table_shards, parts)]
        places = dynamic_partition(arange(keys.shape.dims[0].value), shards, self._num_shards)
        found = dynamic_stitch(places, values)
        found.set_shape(TensorShape(keys.shape[:1]).concatenate(self._table_shards[0]._value_shape))
        return found

    def insert(self, keys: Tensor, values: Tensor, name: str | None = None) -> Operation:
        """The operation that sets the values of `keys`; ValueError for keys of another or unknown shape."""
        shards = self._shards_of(keys)
        if self._num_shards == 1:
            return self._table_shards[0].insert(keys, values, name=name)
        parts = (dynamic_partition(t, shards, self._num_shards) for t in (keys, values))
        return group(*(table.insert(*each, name=name) for table, *each in zip(self._table_shards, *parts)))

    def export_sharded(self, name: str | None = None) -> tuple[list[Tensor], list[Tensor]]:
        """The keys and the values of each table."""
        exported = [table.export(name=name) for table in self._table_shards]
        return [keys for keys, _ in exported], [values for _, values in exported]
