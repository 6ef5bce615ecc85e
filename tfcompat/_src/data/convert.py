"""Conversion of optional arguments of datasets."""

from __future__ import annotations

from tfcompat._src.base import dtypes
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor


def optional_param_to_tensor(
    argument_name: str, argument_value: object, argument_default: object = 0, argument_dtype: dtypes.DType = dtypes.int64
) -> Tensor:
    """Converts an argument to a tensor of dtype `argument_dtype`; None means the default."""
    if argument_value is None:
        return constant(argument_default, argument_dtype, name=argument_name)
    return convert_to_tensor(argument_value, argument_dtype, name=argument_name)
