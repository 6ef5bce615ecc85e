"""tf.contrib.libsvm: records of the LIBSVM text format, "label index:value index:value ..."."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.strings.numbers import parse_number

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_INDEX = np.dtype(np.int64)


def _shape(c):
    return [c.inputs[0], (None, None), (None,), (None,)]


def _invalid(message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, message)


def _shown(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _features(pieces: list[bytes], dtype: np.dtype) -> Iterator[tuple[int, float | int]]:
    """(index, value) of each feature of a record."""
    for piece in pieces:
        index, colon, value = piece.partition(b":")
        if not colon:
            raise _invalid(f'Invalid feature "{_shown(piece)}"')
        try:
            place, number = int(parse_number(index, _INDEX)), parse_number(value, dtype)
        except ValueError:
            raise _invalid(f"Feature format incorrect: {_shown(piece)}") from None
        if place < 0:
            raise _invalid(f"Feature index should be >= 0, got {place}")
        yield place, number


def _label(record: bytes, pieces: list[bytes], dtype: np.dtype, number: int) -> float | int:
    if not pieces:
        raise _invalid(f'No label found for input[{number}]: "{_shown(record)}"')
    try:
        return parse_number(pieces[0], dtype)
    except ValueError:
        raise _invalid(f"Label format incorrect: {_shown(pieces[0])}") from None


@op(
    "DecodeLibsvm",
    "(input: string, *, dtype: {float32, float64, int32, int64} = float32, label_dtype: {float32, float64, int32, int64} = int64, "
    "num_features: int >= 1) -> (label: label_dtype, feature_indices: int64, feature_values: dtype, feature_shape: int64)",
    shape=_shape, gradient=NotDifferentiable("text has no derivative"), side=HOST,
)  # fmt: skip
def _decode_libsvm(records, *, dtype, label_dtype, num_features):
    labels, places, values = np.zeros(records.shape, label_dtype), [], []
    for number, (at, record) in enumerate(np.ndenumerate(records)):
        pieces = record.split()
        labels[at] = _label(record, pieces, labels.dtype, number)
        for index, value in _features(pieces[1:], np.dtype(dtype)):
            places.append((*at, index))
            values.append(value)
    indices = np.array(places, np.int64).reshape(len(places), records.ndim + 1)
    return labels, indices, np.array(values, dtype), np.array((*records.shape, num_features), np.int64)


@export("contrib.libsvm.decode_libsvm")
def decode_libsvm(
    content: TensorLike, num_features: int, dtype: object = None, label_dtype: object = None
) -> tuple[SparseTensor, Tensor]:
    """Features and labels of records in the LIBSVM text format.

    Args:
      content: string tensor, a record each; an index may be as large as is written.
      num_features: the last size of the features' dense shape.
      dtype: of the features: float32 (the default), float64, int32 or int64.
      label_dtype: of the labels: int64 (the default), int32, float32 or float64.

    Returns:
      (features, labels): a SparseTensor of shape [*content.shape, num_features], and a tensor of the shape of `content`.

    Raises:
      InvalidArgumentError: in a run, of a record without a label, or with what is no index and number.
    """
    labels, indices, values, sizes = raw.DecodeLibsvm(
        content, num_features=num_features, dtype=dtype or dtypes.float32, label_dtype=label_dtype or dtypes.int64
    )
    return SparseTensor(indices, values, sizes), labels
