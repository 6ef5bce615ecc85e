"""tf.contrib.lookup: the names that differ from tf.lookup's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lookup import vocabulary
from tfcompat._src.lookup.interface import LookupInterface, TableInitializerBase
from tfcompat._src.lookup.static import HashTableBase, InitializableLookupTableBaseV1
from tfcompat._src.lookup.vocabulary import FastHashSpec, index_table_from_file
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.lookup.HashTable")
class HashTable(HashTableBase, InitializableLookupTableBaseV1):
    """A table that does not change after it is filled.

    Args:
      initializer: a table initializer.
      default_value: the value of keys that are not in the table.
      shared_name: tables of one shared name have the same entries.
      name: node name.
    """

    def __init__(
        self, initializer: TableInitializerBase, default_value: object, shared_name: str | None = None, name: str | None = None
    ) -> None:
        super().__init__(initializer, default_value, shared_name, name)

    @property
    def init(self) -> Operation:
        """Deprecated name of `initializer`."""
        return self.initializer

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and all values."""
        with name_scope(name, f"{self.name}_Export", [self.resource_handle]) as scope:
            keys, values = raw.LookupTableExportV2(
                self.resource_handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype, name=scope
            )
        values.set_shape(keys.get_shape().concatenate(self._value_shape))
        return keys, values


@export("contrib.lookup.index_table_from_tensor")
def index_table_from_tensor(
    mapping: object, num_oov_buckets: int = 0, default_value: int = -1, hasher_spec: Any = FastHashSpec,
    dtype: Any = dtypes.string, name: str | None = None,
) -> LookupInterface:  # fmt: skip
    """A table from the words of a vector to their int64 places in it.

    Args:
      mapping: vector of strings or integers, without repeats.
      num_oov_buckets: number of buckets for other words, whose ids follow.
      default_value: id of other words where there are no buckets.
      hasher_spec: hash function of the buckets.
      dtype: an integer dtype or string, that of the keys.
      name: name scope.

    Raises:
      ValueError: there is no mapping, it is of another kind than `dtype`, or `num_oov_buckets` is negative.
    """
    if mapping is None:
        raise ValueError("mapping must be specified.")
    return vocabulary.index_table_from_tensor(mapping, num_oov_buckets, default_value, hasher_spec, dtype, name)


@export("contrib.lookup.index_to_string_table_from_tensor")
def index_to_string_table_from_tensor(mapping: TensorLike, default_value: str = "UNK", name: str | None = None) -> LookupInterface:
    """A table from the places in a string vector to its words; `default_value` stands for other places."""
    if mapping is None:
        raise ValueError("mapping must be specified.")
    return vocabulary.index_to_string_table_from_tensor(mapping, default_value, name)


@export("contrib.lookup.string_to_index_table_from_file")
def string_to_index_table_from_file(
    vocabulary_file: object = None, num_oov_buckets: int = 0, vocab_size: int | None = None, default_value: int = -1,
    hasher_spec: object = FastHashSpec, name: str | None = None,
) -> LookupInterface:  # fmt: skip
    """Deprecated form of `index_table_from_file`, with string keys."""
    return index_table_from_file(
        vocabulary_file, num_oov_buckets, vocab_size, default_value, hasher_spec, key_dtype=dtypes.string, name=name
    )


@export("contrib.lookup.string_to_index_table_from_tensor")
def string_to_index_table_from_tensor(
    mapping: TensorLike, num_oov_buckets: int = 0, default_value: int = -1, hasher_spec: object = FastHashSpec,
    name: str | None = None,
) -> LookupInterface:  # fmt: skip
    """Deprecated form of `index_table_from_tensor`; ValueError where `mapping` is not of strings."""
    with name_scope(name, "string_to_index") as scope:
        mapping = convert_to_tensor(mapping)
    if dtypes.string != mapping.dtype.base_dtype:
        raise ValueError("string_to_index_table_from_tensor requires string.")
    return index_table_from_tensor(mapping, num_oov_buckets, default_value, hasher_spec, name=scope)


@export("contrib.lookup.string_to_index")
def string_to_index(tensor: object, mapping: TensorLike, default_value: int = -1, name: str | None = None) -> Any:
    """Deprecated: the places of the words of `tensor` in `mapping`, by a table made for it."""
    return index_table_from_tensor(mapping, default_value=default_value, name=name).lookup(tensor)


@export("contrib.lookup.index_to_string")
def index_to_string(tensor: object, mapping: TensorLike, default_value: str = "UNK", name: str | None = None) -> Any:
    """Deprecated: the words of `mapping` at the places in `tensor`, by a table made for it."""
    return index_to_string_table_from_tensor(mapping, default_value, name).lookup(tensor)
