"""What every lookup table and every table initializer is."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.trackable import Trackable
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.train.tracking import TrackableResource


@export("contrib.lookup.LookupInterface")
class LookupInterface(TrackableResource):
    """A table from keys to values that lasts from run to run.

    Args:
      key_dtype, value_dtype: dtypes of keys and values.
    """

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype, self._value_dtype = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype)
        super().__init__()

    @property
    def key_dtype(self) -> dtypes.DType:
        return self._key_dtype

    @property
    def value_dtype(self) -> dtypes.DType:
        return self._value_dtype

    @property
    def name(self) -> str | None:
        raise NotImplementedError("a table has a name")

    def size(self, name: str | None = None) -> Tensor:
        """The number of entries, an int64 scalar."""
        raise NotImplementedError("a table has a size")

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of `keys`."""
        raise NotImplementedError("a table can be looked up")

    def _check_keys(self, keys: Any) -> None:
        if keys.dtype.base_dtype != self._key_dtype:
            raise TypeError(f"Signature mismatch. Keys must be dtype {self._key_dtype}, got {keys.dtype}.")


@export("contrib.lookup.TableInitializerBase")
class TableInitializerBase(Trackable):
    """What fills a table.

    Args:
      key_dtype, value_dtype: dtypes of the keys and values that it gives.
    """

    _shared_name = ""

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype, self._value_dtype = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype)

    @property
    def key_dtype(self) -> dtypes.DType:
        return self._key_dtype

    @property
    def value_dtype(self) -> dtypes.DType:
        return self._value_dtype

    def initialize(self, table: LookupInterface) -> Operation:
        """Adds the operation that fills `table`."""
        raise NotImplementedError("a table initializer has initialize(table)")


def check_table_dtypes(table: LookupInterface, key_dtype: dtypes.DType, value_dtype: dtypes.DType) -> None:
    """TypeError where the dtypes are not those of the table."""
    if key_dtype.base_dtype != table.key_dtype:
        raise TypeError(f"Invalid key dtype, expected {table.key_dtype} but got {key_dtype}.")
    if value_dtype.base_dtype != table.value_dtype:
        raise TypeError(f"Invalid value dtype, expected {table.value_dtype} but got {value_dtype}.")


def with_values(keys: object, values: Tensor) -> SparseTensor | Tensor:
    """`values` in the form of `keys`, a Tensor or SparseTensor."""
    return SparseTensor(keys.indices, values, keys.dense_shape) if isinstance(keys, SparseTensor) else values


def own_name(handle: Tensor) -> str:
    """The name of a table's node without its scopes."""
    return handle.op.name.rpartition("/")[2]
