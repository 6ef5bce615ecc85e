"""What fills static tables: pairs of tensors, or the lines of a text file."""

from __future__ import annotations

import contextlib
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import add_to_collection, get_default_graph, init_scope, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lookup.interface import LookupInterface, TableInitializerBase, check_table_dtypes
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.lookup import text_file
from tfcompat._src.train.tracking import TrackableAsset


def outside_control_flow() -> contextlib.AbstractContextManager[None]:
    """Lifts what is made inside out of a loop or branch, where there is one."""
    inside = get_default_graph()._get_control_flow_context() is not None
    return init_scope() if inside else contextlib.nullcontext()


@export("lookup.KeyValueTensorInitializer", "contrib.lookup.KeyValueTensorInitializer")
class KeyValueTensorInitializer(TableInitializerBase):
    """Fills a table from a tensor of keys and a tensor of values.

    Args:
      keys, values: vectors of one length.
      key_dtype, value_dtype: their dtypes, where they are Python lists.
      name: name scope of the initializing operation.
    """

    def __init__(self, keys: object, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: str | None = None) -> None:
        with outside_control_flow():
            self._keys = convert_to_tensor(keys, dtype=key_dtype, name="keys")
            self._values = convert_to_tensor(values, dtype=value_dtype, name="values")
        self._name = "key_value_init" if name is None else name
        super().__init__(self._keys.dtype, self._values.dtype)

    def initialize(self, table: LookupInterface) -> Operation:
        """Adds the operation that fills `table`; TypeError where the dtypes are not those of the table."""
        check_table_dtypes(table, self._keys.dtype, self._values.dtype)
        with name_scope(self._name, values=(table.resource_handle, self._keys, self._values)):
            init_op = raw.LookupTableImportV2(table.resource_handle, self._keys, self._values)
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, init_op)
        return init_op


@export("lookup.TextFileIndex", "contrib.lookup.TextFileIndex")
class TextFileIndex:
    """What of a line a key or value is: a column number, or one of these."""

    WHOLE_LINE = text_file.WHOLE_LINE
    LINE_NUMBER = text_file.LINE_NUMBER


def _check_index(kind: str, index: int, dtype: dtypes.DType) -> None:
    if index < -2:
        raise ValueError(f"Invalid {kind.lower().rstrip('s')} index {index}.")
    if index == TextFileIndex.LINE_NUMBER and dtype != dtypes.int64:
        raise ValueError(f"Signature mismatch. {kind} must be dtype {dtypes.int64}, got {dtype}.")
    if index != TextFileIndex.WHOLE_LINE or dtype == dtypes.string:
        return
    if kind == "Values":
        raise ValueError(f"Signature mismatch. Values must be dtype {dtypes.string}, got {dtype}.")
    if not dtype.is_integer:
        raise ValueError(f"Signature mismatch. Keys must be integer or string, got {dtype}.")


@export("lookup.TextFileInitializer", "contrib.lookup.TextFileInitializer")
class TextFileInitializer(TableInitializerBase):
    """Fills a table from a text file, one entry for each line.

    Args:
      filename: path, or a scalar string tensor.
      key_dtype, value_dtype: dtypes.
      key_index, value_index: number of the column, or a TextFileIndex.
      vocab_size: number of lines that are read; by default all.
      delimiter: the character between columns.
      name: name scope of the initializing operation.

    Raises:
      ValueError: there is no filename, or an index does not go with its dtype.
    """

    def __init__(
        self, filename: Any, key_dtype: Any, key_index: int, value_dtype: Any, value_index: int,
        vocab_size: int | None = None, delimiter: str = "\t", name: str | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError(f"Filename required for {name}.")
        super().__init__(key_dtype, value_dtype)
        _check_index("Keys", key_index, self._key_dtype)
        _check_index("Values", value_index, self._value_dtype)
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"Invalid vocab_size {vocab_size}.")
        self._filename_arg = filename
        self._key_index, self._value_index = key_index, value_index
        self._vocab_size, self._delimiter, self._name = vocab_size, delimiter, name
        self._filename = self._track_trackable(TrackableAsset(filename), "_filename")

    def initialize(self, table: LookupInterface) -> Operation:
        """Adds the operation that fills `table`; TypeError where the dtypes are not those of the table."""
        check_table_dtypes(table, self.key_dtype, self.value_dtype)
        filename = self._filename.asset_path
        with name_scope(self._name, "text_file_init", (table.resource_handle,)):
            init_op = raw.InitializeTableFromTextFileV2(
                table.resource_handle, filename, key_index=self._key_index, value_index=self._value_index,
                vocab_size=-1 if self._vocab_size is None else self._vocab_size, delimiter=self._delimiter,
            )  # fmt: skip
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, init_op)
        if filename.op.type == "Const":
            add_to_collection(GraphKeys.ASSET_FILEPATHS, filename)
        return init_op

    @property
    def _shared_name(self) -> str:
        """Tables of one file with the same columns share their entries."""
        size = f"{self._vocab_size}_" if self._vocab_size else ""
        return f"hash_table_{self._filename_arg}_{size}{self._key_index}_{self._value_index}"


@export("contrib.lookup.TextFileStringTableInitializer")
class TextFileStringTableInitializer(TextFileInitializer):
    """Fills a table from int64 to strings, by default from line numbers to lines; arguments as TextFileInitializer's."""

    def __init__(
        self, filename: object, key_column_index: int = TextFileIndex.LINE_NUMBER,
        value_column_index: int = TextFileIndex.WHOLE_LINE, vocab_size: int | None = None, delimiter: str = "\t",
        name: str = "text_file_string_table_init",
    ) -> None:  # fmt: skip
        super().__init__(
            filename, dtypes.int64, key_column_index, dtypes.string, value_column_index, vocab_size, delimiter, name
        )


@export("contrib.lookup.TextFileIdTableInitializer")
class TextFileIdTableInitializer(TextFileInitializer):
    """Fills a table from strings to int64, by default from lines to line numbers; arguments as TextFileInitializer's."""

    def __init__(
        self, filename: object, key_column_index: int = TextFileIndex.WHOLE_LINE,
        value_column_index: int = TextFileIndex.LINE_NUMBER, vocab_size: int | None = None, delimiter: str = "\t",
        name: str = "text_file_id_table_init", key_dtype: object = dtypes.string,
    ) -> None:  # fmt: skip
        super().__init__(filename, key_dtype, key_column_index, dtypes.int64, value_column_index, vocab_size, delimiter, name)
