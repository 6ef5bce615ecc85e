"""The functions of `tensorflow.python.autograph.lang.special_functions`."""

from __future__ import annotations

from typing import Any

from tfcompat._src.autograph.operators.data_structures import (
    ListStackOpts,
    list_stack,
    tf_tensor_array_new,
    tf_tensor_list_new,
)
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor_like import is_tensor
from tfcompat._src.nodes.convert import constant


@export("contrib.autograph.stack")
def stack(list_or_tensor: Any, element_dtype: Any = None, strict: bool = True) -> Any:
    """The elements of a TensorList as one tensor.

    Args:
      list_or_tensor: the list. element_dtype: of its elements. strict: whether what cannot be stacked raises; else it is returned.

    Raises:
      ValueError: the element type of a TensorList is not given, or `strict` and no list that can be stacked.
    """

    def unchanged(value: Any) -> Any:
        if strict:
            raise ValueError(f"{value} must be stackable when strict=True")
        return value

    return list_stack(list_or_tensor, ListStackOpts(element_dtype, unchanged))


def tensor_list(elements: Any, element_dtype: Any = None, element_shape: Any = None, use_tensor_array: bool = False) -> Any:
    """A TensorList or a TensorArray of elements.

    Args:
      elements: a list, a tuple, or a tensor whose rows they are.
      element_dtype, element_shape: of the elements; required where there are none.
      use_tensor_array: whether it is a TensorArray.

    Raises:
      ValueError: there are none and it is not said of what type they are, or they are no list, tuple or tensor.
    """
    if (element_dtype is None or element_shape is None) and not is_tensor(elements):
        if not isinstance(elements, (list, tuple)):
            raise ValueError(f"unknown type for elements: {type(elements)}; only Tensor, list and tuple are allowed")
        if not elements:
            raise ValueError("element_dtype and element_shape are required when elements are empty")
    make = tf_tensor_array_new if use_tensor_array else tf_tensor_list_new
    return make(elements, element_dtype, element_shape)


def match_staging_level(value: Any, like_value: Any) -> Any:
    """A value as a tensor where another one is a tensor, else as it is."""
    return constant(value) if is_tensor(like_value) else value
