"""Tables of model states: from keys to tensors, and to nested structures of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lookup.interface import LookupInterface
from tfcompat._src.lookup.mutable import DenseHashTable
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.join import concat, tile
from tfcompat._src.ops.array.shape import expand_dims, rank, reshape, shape
from tfcompat._src.ops.control.groups import group

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class TensorValuedMutableDenseHashTable(DenseHashTable):
    """A MutableDenseHashTable of tensors of any one shape, which it stores as vectors.

    Args:
      key_dtype, value_dtype: dtypes.
      default_value: the value of keys that are not in the table; it gives the shape of the values.
      *args, **kwargs: see tf.contrib.lookup.MutableDenseHashTable.
    """

    def __init__(self, key_dtype: object, value_dtype: object, default_value: TensorLike, *args: Any, **kwargs: Any) -> None:
        self._value_shape_of_table = shape(default_value)
        super().__init__(key_dtype, value_dtype, reshape(default_value, [-1]), *args, **kwargs)

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> Operation:
        """The operation that sets the values, [*shape of the keys, *shape of a value], of keys of any shape."""
        keys = reshape(convert_to_tensor(keys, dtype=self._key_dtype), [-1])
        return super().insert(keys, reshape(values, [shape(keys)[0], -1]), name=name)

    def lookup(self, keys: TensorLike, name: str | None = None) -> Tensor:
        """The values, [*shape of the keys, *shape of a value], of keys of any shape."""
        keys = convert_to_tensor(keys, dtype=self._key_dtype)
        found = super().lookup(reshape(keys, [-1]), name=name)
        return reshape(found, concat([shape(keys), self._value_shape_of_table], 0))


class TupleOfTensorsLookup(LookupInterface):
    """A table of nested structures of tensors: one table for each tensor of the structure.

    Args:
      key_dtype: dtype of the keys.
      default_values: the structure for keys that are not in the table.
      empty_key, deleted_key: two keys that no entry has.
      name: how the names of the tables begin.
      checkpoint: whether a Saver saves the entries.
    """

    def __init__(
        self, key_dtype: object, default_values: object, empty_key: object, deleted_key: object, name: str, checkpoint: bool = True
    ) -> None:
        tables = [
            TensorValuedMutableDenseHashTable(
                key_dtype, default.dtype.base_dtype, default, empty_key=empty_key, deleted_key=deleted_key,
                name=f"{name}_{number}", checkpoint=checkpoint,
            )
            for number, default in enumerate(nest.flatten(default_values))
        ]  # fmt: skip
        self._tables = nest.pack_sequence_as(default_values, tables)
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def lookup(self, keys: object) -> Any:
        """The structure of the values of keys, each tensor [*shape of the keys, *shape of a value]."""
        return nest.map_structure(lambda table: table.lookup(keys), self._tables)

    def insert(self, keys: object, values: object) -> Operation:
        """The operation that sets the values of keys; all values are computed before one is set."""
        nest.assert_same_structure(self._tables, values)
        computed = [identity(value) for value in nest.flatten(values)]
        with control_dependencies(computed):
            return group(*(table.insert(keys, value) for table, value in zip(nest.flatten(self._tables), computed)))


def replicate_state(start_state: object, batch_size: object) -> Any:
    """A state whose tensors [...] are repeated to [batch_size, ...].

    Args:
      start_state: nested structure of tensors.
      batch_size: integer scalar.
    """

    def repeated(tensor: TensorLike) -> Tensor:
        return tile(expand_dims(tensor, 0), concat([[batch_size], ones([rank(tensor)], dtype=dtypes.int32)], 0))

    return nest.map_structure(repeated, start_state)
