"""What several feature columns check and compute."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.fill import ones_like, zeros
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.segment import segment_max
from tfcompat._src.ops.math.unary import ceil


def sequence_length_from_sparse_tensor(sp_tensor: Any, num_elements: int = 1) -> Tensor:
    """The number of steps of each row of a SparseTensor, int64 [batch]; a step is `num_elements` columns."""
    with name_scope(None, "sequence_length") as scope:
        row_ids = sp_tensor.indices[:, 0]
        columns = sp_tensor.indices[:, 1]
        columns += ones_like(columns)
        steps = segment_max(columns, segment_ids=row_ids)
        lengths = cast(ceil(steps / num_elements), dtypes.int64)
        missing = shape_of(sp_tensor)[:1] - shape_of(lengths)[:1]
        return concat([lengths, zeros(missing, dtype=lengths.dtype)], axis=0, name=scope)


def assert_string_or_int(dtype: Any, prefix: str) -> None:
    """ValueError where `dtype` is neither string nor an integer."""
    if dtype != dtypes.string and not dtype.is_integer:
        raise ValueError(f"{prefix} dtype must be string or integer. dtype: {dtype}.")


def assert_number(dtype: Any, key: str) -> None:
    """ValueError where `dtype` is neither floating nor an integer."""
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")


def assert_key_is_string(key: object) -> None:
    """ValueError where the key of a feature is no string."""
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key}.")


def assert_callable(normalizer_fn: object) -> None:
    """TypeError where a normalizer is given that is no function."""
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")


def checked_shape(shape: Any, key: str) -> tuple[int, ...]:
    """A shape as a tuple of ints; TypeError for other dimensions, ValueError for ones below 1."""
    if shape is None:
        raise AssertionError(f"numeric column {key} needs a shape, got None")
    sizes = tuple(shape) if nest.is_sequence(shape) else (shape,)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"shape dimensions must be integer. shape: {sizes}, key: {key}")
        if size < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {sizes}, key: {key}")
    return sizes


def check_default_value(shape: tuple[int, ...], default_value: Any, dtype: Any, key: str) -> Any:
    """A default value as nested tuples of `shape`.

    Args:
      shape: its shape.
      default_value: a number for all elements, or nested sequences or an array of that shape; None stays None.
      dtype: what the elements must fit; floats need a floating one.
      key: the feature, for messages.

    Raises:
      ValueError: another shape. TypeError: elements that do not fit.
    """
    if default_value is None:
        return None
    if isinstance(default_value, int) or (isinstance(default_value, float) and dtype.is_floating):
        return _filled(shape, default_value)
    if callable(getattr(default_value, "tolist", None)):
        default_value = default_value.tolist()
    if nest.is_sequence(default_value):
        if not _has_shape(default_value, shape):
            raise ValueError(
                "The shape of default_value must be equal to given shape. "
                f"default_value: {default_value}, shape: {shape}, key: {key}"
            )
        elements = nest.flatten(default_value)
        floats = any(isinstance(x, float) for x in elements)
        if all(isinstance(x, int) for x in elements) or (floats and dtype.is_floating):
            return _as_tuple(default_value)
    raise TypeError(
        f"default_value must be compatible with dtype. default_value: {default_value}, dtype: {dtype}, key: {key}"
    )


def _filled(shape: tuple[int, ...], value: object) -> Any:
    return tuple(_filled(shape[1:], value) for _ in range(shape[0])) if shape else value


def _as_tuple(value: Any) -> Any:
    return tuple(_as_tuple(x) for x in value) if nest.is_sequence(value) else value


def _has_shape(value: Any, shape: tuple[int, ...]) -> bool:
    if not nest.is_sequence(value) or not shape:
        return not nest.is_sequence(value) and not shape
    return len(value) == shape[0] and all(_has_shape(x, shape[1:]) for x in value)


def check_static_batch_sizes(tensors: list[Tensor], columns: list[Any]) -> None:
    """ValueError where the first dimensions of the tensors of columns are known to differ."""
    first = None
    for column, tensor in zip(columns, tensors):
        size = tensor.shape.dims[0]
        if size.value is None:
            continue
        if first is None:
            first = column, size
        elif not first[1].is_compatible_with(size):
            raise ValueError(
                "Batch size (first dimension) of each feature must be same. "
                f"Batch size of columns ({first[0].name}, {column.name}): ({first[1]}, {size})"
            )
