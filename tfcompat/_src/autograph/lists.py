"""Lists of converted code: TensorLists and TensorArrays as well as Python's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.graph.tensor_like import is_tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.scatter import tensor_scatter_update
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.flow import list_functions
from tfcompat._src.ops.flow.tensor_array import TensorArray


class ElementType(NamedTuple):
    """What the elements of a list are: their dtype and their shape, None where it is not known."""

    dtype: Any
    shape: Any


@export("contrib.autograph.set_element_type")
def set_element_type(entity: Any, dtype: Any, shape: Any = None) -> ElementType:
    """Says what the elements of a list are; it acts in code that is converted with Feature.LISTS.

    Args:
      entity: the list, a local variable. dtype: of its elements. shape: of its elements.
    """
    return ElementType(dtypes.as_dtype(dtype), shape)


def _is_list(value: Any) -> bool:
    """Whether a value is a TensorList.

    Raises:
      ValueError: another tensor.
    """
    if not is_tensor(value):
        return False
    if value.dtype != dtypes.variant:
        raise ValueError(f"tensor lists are expected to be Tensors with dtype=tf.variant, instead found {value}")
    return True


def new_list() -> Tensor:
    """An empty TensorList; the first element that is appended says its type."""
    return list_functions.empty_tensor_list(None, dtypes.variant)


def list_append(values: Any, x: Any) -> Any:
    """The list with `x` at its end."""
    if isinstance(values, TensorArray):
        return values.write(values.size(), x)
    if not _is_list(values):
        values.append(x)
        return values
    x = convert_to_tensor(x)
    typed = cond(
        raw.TensorListLength(values) > 0, lambda: values, lambda: raw.EmptyTensorList(raw.Shape(x), -1, element_dtype=x.dtype)
    )
    return raw.TensorListPushBack(typed, x)


def list_pop(values: Any, kind: ElementType | None) -> tuple[Any, Any]:
    """The list without its last element, and that element.

    Raises:
      ValueError: a TensorArray, or a TensorList whose element type is not known.
    """
    if isinstance(values, TensorArray):
        raise ValueError("TensorArray does not support item removal")
    if not _is_list(values):
        return values, values.pop()
    if kind is None or kind.shape is None:
        what = "type" if kind is None else "shape"
        raise ValueError(f"cannot pop from a list without knowing its element {what}; use set_element_type to annotate it")
    return list_functions.tensor_list_pop_back(values, kind.dtype)


def list_stack(values: Any, kind: ElementType, otherwise: Callable) -> Any:
    """The elements of a list as one tensor; what `otherwise` gives for what is no TensorList."""
    if not is_tensor(values) or values.dtype != dtypes.variant:
        return otherwise(values)
    return stack(values, kind.dtype)


@export("contrib.autograph.stack")
def stack(list_or_tensor: Any, element_dtype: Any = None, strict: bool = True) -> Any:
    """The elements of a TensorList as one tensor.

    Args:
      list_or_tensor: the list. element_dtype: of its elements. strict: whether what cannot be stacked raises; else it is returned.

    Raises:
      ValueError: the element type of a TensorList is not given, or `strict` and no list that can be stacked.
    """
    if isinstance(list_or_tensor, TensorArray):
        return list_or_tensor.stack()
    if is_tensor(list_or_tensor):
        if list_or_tensor.dtype != dtypes.variant:
            return list_or_tensor
        if element_dtype is None:
            raise ValueError("cannot stack a list without knowing its element type; use set_element_type to annotate it")
        return raw.TensorListStack(list_or_tensor, -1, element_dtype=dtypes.as_dtype(element_dtype))
    if strict:
        raise ValueError(f"{list_or_tensor} must be stackable when strict=True")
    return list_or_tensor


def set_item(target: Any, key: Any, value: Any) -> Any:
    """The list, tensor or other container with `value` at `key`."""
    if not is_tensor(target):
        target[key] = value
        return target
    if target.dtype == dtypes.variant:
        return raw.TensorListSetItem(target, key, value)
    return tensor_scatter_update(target, ((key,),), (value,))
