"""`tensorflow.python.autograph.operators.data_structures`: lists, as Python's, as TensorLists and as TensorArrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.graph.tensor_like import is_tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.flow import list_functions
from tfcompat._src.ops.flow.tensor_array import TensorArray


class ListPopOpts(NamedTuple):
    """What is known of the elements of a list: their dtype and their shape, each or None."""

    element_dtype: Any
    element_shape: Any


class ListStackOpts(NamedTuple):
    """The dtype of the elements of a list, or None, and the function that stacks what is no list of tensors."""

    element_dtype: Any
    original_call: Callable[[Any], Any]


def new_list(iterable: Iterable[Any] | None = None) -> Any:
    """A Python list of the elements; without any, an empty TensorList, of which the first element that is appended says the type."""
    elements = list(iterable or ())
    return elements or tf_tensor_list_new(())


def _one(kinds: set[Any], given: object, what: str, elements: tuple[Any, ...]) -> Any:
    """What all elements have in common, None where they differ or there are none.

    Raises:
      ValueError: something else was given.
    """
    if len(kinds) != 1:
        return None
    (found,) = kinds
    if given is not None and given != found:
        raise ValueError(f"incompatible {what}; specified: {given}, inferred from {elements}: {found}")
    return found


def _kinds(elements: tuple[Any, ...]) -> tuple[set[Any], set[Any]]:
    """The dtypes and the shapes of elements."""
    return {each.dtype for each in elements}, {tuple(each.shape.as_list()) for each in elements}


def tf_tensor_array_new(elements: Iterable[Any], element_dtype: object = None, element_shape: object = None) -> TensorArray:
    """A TensorArray of elements of one dtype and shape, which grows.

    Raises:
      ValueError: they are not of one dtype and shape, or not of those given; or there are none and no dtype is given.
    """
    tensors = tuple(map(convert_to_tensor, elements))
    kinds, shapes = _kinds(tensors)
    dtype = _one(kinds, element_dtype, "dtype", tensors)
    if len(kinds) > 1:
        raise ValueError(f"TensorArray requires all elements to have the same dtype: {tensors}")
    if not kinds and element_dtype is None:
        raise ValueError("dtype is required to create an empty TensorArray")
    shape = _one(shapes, element_shape, "shape", tensors)
    if len(shapes) > 1:
        raise ValueError(f"TensorArray requires all elements to have the same shape: {tensors}")
    shape = shape if element_shape is None else element_shape
    found = TensorArray(
        dtype=dtype if element_dtype is None else element_dtype, size=len(tensors), dynamic_size=True, infer_shape=shape is None,
        element_shape=shape,
    )  # fmt: skip
    for i, each in enumerate(tensors):
        found = found.write(i, each)
    return found


def tf_tensor_list_new(elements: Any, element_dtype: Any = None, element_shape: object = None) -> Tensor:
    """A TensorList of elements, or of the rows of a tensor.

    Raises:
      ValueError: what is given of the elements is not what they are.
    """
    if is_tensor(elements):
        if element_shape is not None:
            raise ValueError("element shape may not be specified when creating list from tensor")
        return raw.TensorListFromTensor(elements, raw.Shape(elements)[1:])
    tensors = tuple(map(convert_to_tensor, elements))
    kinds, shapes = _kinds(tensors)
    dtype = _one(kinds, element_dtype, "dtype", tensors)
    if len(kinds) > 1 and element_dtype is not None:
        raise ValueError(f"specified dtype {element_dtype} is inconsistent with that of elements {tensors}")
    if len(shapes) > 1 and element_shape is not None:
        raise ValueError(f"specified shape {element_shape} is inconsistent with that of elements {tensors}")
    if shapes and element_shape is not None:  # 1.15 compares it with a tensor, which no shape equals
        raise ValueError(f"incompatible shape; specified: {element_shape}, inferred from {tensors}: {raw.Shape(tensors[0])}")
    if element_shape is None:
        element_shape = raw.Shape(tensors[0]) if len(shapes) == 1 else constant(-1)
    known = dtype if element_dtype is None else element_dtype
    found = list_functions.empty_tensor_list(
        convert_to_tensor(element_shape, dtype=dtypes.int32), dtypes.variant if known is None else known
    )
    for each in tensors:
        found = raw.TensorListPushBack(found, each)
    return found


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


def list_append(list_: Any, x: Any) -> Any:
    """The list with `x` at its end; a Python list is changed.

    Raises:
      ValueError: a tensor that is no list.
    """
    if isinstance(list_, TensorArray):
        return list_.write(list_.size(), x)
    if not _is_list(list_):
        list_.append(x)
        return list_
    x = convert_to_tensor(x)
    typed = cond(raw.TensorListLength(list_) > 0, lambda: list_, lambda: raw.EmptyTensorList(raw.Shape(x), -1, element_dtype=x.dtype))
    return raw.TensorListPushBack(typed, x)


def list_pop(list_: Any, i: int | None, opts: ListPopOpts) -> tuple[Any, Any]:
    """The list without an element, and that element: the one at `i`, the last one where that is None.

    Raises:
      ValueError: a TensorArray, a tensor that is no list, or a TensorList whose element type or shape is not given.
      NotImplementedError: an `i` for a TensorList.
    """
    if isinstance(list_, TensorArray):
        raise ValueError("TensorArray does not support item removal")
    if not _is_list(list_):
        return list_, list_.pop() if i is None else list_.pop(i)
    if i is not None:
        raise NotImplementedError("tensor lists only support removing from the end")
    for what, known in (("type", opts.element_dtype), ("shape", opts.element_shape)):
        if known is None:
            raise ValueError(f"cannot pop from a list without knowing its element {what}; use set_element_type to annotate it")
    shorter, x = list_functions.tensor_list_pop_back(list_, opts.element_dtype)
    x.set_shape(opts.element_shape)
    return shorter, x


def list_stack(list_: Any, opts: ListStackOpts) -> Any:
    """The elements of a TensorList or a TensorArray as one tensor, a tensor as it is, and what `original_call` gives for anything else.

    Raises:
      ValueError: a TensorList whose element type is not given.
    """
    if isinstance(list_, TensorArray):
        return list_.stack()
    if not is_tensor(list_):
        return opts.original_call(list_)
    if list_.dtype != dtypes.variant:
        return list_
    if opts.element_dtype is None:
        raise ValueError("cannot stack a list without knowing its element type; use set_element_type to annotate it")
    return raw.TensorListStack(list_, -1, element_dtype=dtypes.as_dtype(opts.element_dtype))
