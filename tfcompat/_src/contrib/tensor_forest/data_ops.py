"""Features and labels of a forest as its operations take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.contrib.tensor_forest.examples import CATEGORICAL, FLOAT
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.sparse.combine import sparse_concat
from tfcompat._src.ops.sparse.convert import sparse_tensor_to_dense
from tfcompat._src.platform import logging

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

DATA_FLOAT, DATA_CATEGORICAL = FLOAT, CATEGORICAL
DTYPE_TO_FTYPE = {
    dtypes.string: DATA_CATEGORICAL,
    dtypes.int32: DATA_CATEGORICAL,
    dtypes.int64: DATA_CATEGORICAL,
    dtypes.float32: DATA_FLOAT,
    dtypes.float64: DATA_FLOAT,
}


def CastToFloat(tensor: Tensor) -> Tensor:  # noqa: N802
    """Strings become float32 numbers that stand for them, and integers float32; other tensors stay as they are."""
    if tensor.dtype == dtypes.string:
        return raw.ReinterpretStringToFloat(tensor)
    return cast(tensor, dtypes.float32) if tensor.dtype.is_integer else tensor


class DataColumn:
    """A column of features: its name, its type (DATA_FLOAT or DATA_CATEGORICAL), and how many features it has."""

    def __init__(self) -> None:
        self.name: Any = ""
        self.original_type: Any = ""
        self.size: Any = 0

    def SerializeToString(self) -> str:  # noqa: N802
        """The column as the operations read it."""
        return f"name: {self.name} original_type: {self.original_type} size: {self.size}"


class DataColumnCollection:
    """Columns in order."""

    def __init__(self) -> None:
        self.cols: list[DataColumn] = []

    def add(self) -> DataColumn:
        """A new column at the end."""
        self.cols.append(DataColumn())
        return self.cols[-1]

    def size(self) -> int:
        """The number of columns."""
        return len(self.cols)

    def SerializeToString(self) -> str:  # noqa: N802
        """The columns as the operations read them."""
        return "".join(f"{{{column.SerializeToString()}}}" for column in self.cols)


class TensorForestDataSpec:
    """What the features of a forest are: dense and sparse columns, and the number of dense features."""

    def __init__(self) -> None:
        self.sparse = DataColumnCollection()
        self.dense = DataColumnCollection()
        self.dense_features_size: Any = 0

    def SerializeToString(self) -> str:  # noqa: N802
        """The attribute `input_spec` of the operations."""
        return (
            f"dense_features_size: {int(self.dense_features_size)} dense: [{self.dense.SerializeToString()}] "
            f"sparse: [{self.sparse.SerializeToString()}]"
        )


def GetColumnName(column_key: object, col_num: int) -> str:  # noqa: N802
    """The name of a column under this key of a dict: itself, that of a feature column, or its number."""
    return column_key if isinstance(column_key, str) else getattr(column_key, "column_name", str(col_num))


def _add(columns: DataColumnCollection, name: str, original_type: int, size: Any) -> None:
    column = columns.add()
    column.name, column.original_type, column.size = name, original_type, size


def _parse_dict(data: dict) -> tuple[Tensor | None, SparseTensor | None, TensorForestDataSpec]:
    spec = TensorForestDataSpec()
    dense, sparse = [], []
    for key in sorted(data):
        tensor = data[key]
        if not isinstance(tensor, SparseTensor):
            shape = tensor.get_shape()
            _add(
                spec.dense,
                GetColumnName(key, len(dense)),
                DTYPE_TO_FTYPE[tensor.dtype],
                1 if len(shape) == 1 else dimension_value(shape[1]),
            )
            dense.append(CastToFloat(tensor))
        elif tensor.dtype == dtypes.float32:
            logging.info("TensorForest does not support sparse continuous.")
        else:
            if not sparse:
                _add(spec.sparse, "all_sparse", DATA_CATEGORICAL, -1)
            sparse.append(SparseTensor(tensor.indices, CastToFloat(tensor.values), tensor.dense_shape))
    spec.dense_features_size = sum(column.size for column in spec.dense.cols)
    joined = concat(dense, 1) if dense else None
    joined_sparse = sparse_concat(1, sparse) if sparse else None
    logging.info(spec.SerializeToString())
    return joined, joined_sparse, spec


def ParseDataTensorOrDict(data: TensorLike) -> tuple[Tensor | None, SparseTensor | None, TensorForestDataSpec]:  # noqa: N802
    """Joins features.

    Args:
      data: a Tensor [examples, features], a SparseTensor, or a dict of both; strings and integers are categories.

    Returns:
      Dense features (float Tensor [examples, features], or None), sparse features (SparseTensor, or None), and what they are.
    """
    if isinstance(data, dict):
        return _parse_dict(data)
    spec = TensorForestDataSpec()
    if isinstance(data, SparseTensor):
        _add(spec.sparse, "sparse_features", DTYPE_TO_FTYPE[data.dtype], -1)
        return None, data, spec
    data = convert_to_tensor(data)
    _add(spec.dense, "dense_features", DTYPE_TO_FTYPE[data.dtype], data.get_shape()[1])
    spec.dense_features_size = data.get_shape()[1]
    return data, None, spec


def ParseLabelTensorOrDict(labels: object) -> Tensor:  # noqa: N802
    """Labels as float32: a Tensor, a SparseTensor (-1 where it has none), or a dict of Tensors, which are joined by column."""
    if isinstance(labels, dict):
        return cast(concat([labels[key] for key in sorted(labels)], 1), dtypes.float32)
    if isinstance(labels, SparseTensor):
        labels = sparse_tensor_to_dense(labels, default_value=-1)
    return cast(labels, dtypes.float32)
