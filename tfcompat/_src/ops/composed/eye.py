"""Identity matrices."""

from __future__ import annotations

import numbers
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.ops.array.diagonal import matrix_diag, matrix_set_diag
from tfcompat._src.ops.array.fill import ones, zeros
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.math.binary import minimum


@export("eye", "linalg.eye")
def eye(
    num_rows: object,
    num_columns: object = None,
    batch_shape: Any = None,
    dtype: object = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Ones on the diagonal, zeros elsewhere.

    Args:
      num_rows: an int or an int32 scalar.
      num_columns: as `num_rows`, which is the default.
      batch_shape: list of int or int32 vector: leading dimensions of the result.
      dtype: element type.
      name: name scope.

    Returns:
      a tensor of shape `batch_shape + [num_rows, num_columns]`.

    Raises:
      TypeError: a number is not an int.
    """
    with name_scope(name, "eye", [num_rows, num_columns, batch_shape]):
        columns = num_rows if num_columns is None else num_columns
        batch = [] if batch_shape is None else batch_shape
        if isinstance(num_rows, Tensor) or isinstance(columns, Tensor):
            is_square, length = num_columns is None, minimum(num_rows, columns)
        else:
            if not isinstance(num_rows, numbers.Integral) or not isinstance(columns, numbers.Integral):
                raise TypeError("num_rows and num_columns must be positive integer values.")
            is_square, length = num_rows == columns, min(num_rows, columns)

        is_dynamic = isinstance(batch, Tensor) or isinstance(length, Tensor)
        if is_dynamic:
            batch = to_tensor(batch, dtypes.int32, "shape")

        def joined(*sizes: Any) -> Any:
            return concat((batch, list(sizes)), axis=0) if is_dynamic else (*batch, *sizes)

        diagonal_shape = joined(length)
        shape = None if is_square else joined(num_rows, columns)
        diagonal = ones(diagonal_shape, dtype)
        return matrix_diag(diagonal) if is_square else matrix_set_diag(zeros(shape, dtype), diagonal)
