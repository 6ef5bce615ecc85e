"""Functions applied to the innermost values of ragged tensors, or to their rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.ops.ragged.partition import assert_splits_match, common_split_type
from tfcompat._src.ops.ragged.tensor import RaggedTensor, convert_to_tensor_or_ragged_tensor, is_ragged


def _flattened(value: Any, nested_splits_lists: list) -> Any:
    """`value` with its ragged parts replaced by their innermost values; the splits are put on the list."""
    if is_ragged(value):
        value = convert_to_tensor_or_ragged_tensor(value)
        nested_splits_lists.append(value.nested_row_splits)
        return value.flat_values
    if isinstance(value, (list, tuple)):
        return type(value)([_flattened(v, nested_splits_lists) for v in value])
    if isinstance(value, dict):
        return {k: _flattened(v, nested_splits_lists) for k, v in value.items()}
    return value


@export("ragged.map_flat_values")
def map_flat_values(op: Callable, *args: object, **kwargs: object) -> Any:
    """`op` of the innermost values of its ragged arguments, with their rows.

    Args:
      op: function of Tensors whose result has as many elements as the values.
      *args, **kwargs: its arguments; RaggedTensors in them, also within lists and dicts, all have the same rows.

    Raises:
      ValueError: the ragged arguments have different ranks or types of splits.
    """
    nested: list = []
    inner_args, inner_kwargs = _flattened(args, nested), _flattened(kwargs, nested)
    if not nested:
        return op(*args, **kwargs)
    common_split_type(splits[0] for splits in nested)
    with control_dependencies(assert_splits_match(nested)):
        return RaggedTensor.from_nested_row_splits(op(*inner_args, **inner_kwargs), nested[0], validate=False)
