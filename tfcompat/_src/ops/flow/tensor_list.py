"""The ops of TensorLists: lists of tensors that are values themselves, in a tensor of dtype variant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, Effects, NotDifferentiable, later_form, op
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.flow import list_shapes
from tfcompat._src.ops.flow.list_value import (
    Sizes,
    TensorList,
    dtype_text,
    invalid,
    is_compatible,
    is_full,
    merged,
    variant,
    zeros,
)

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.graph.tensor import Tensor

_NO_GRADIENT = NotDifferentiable("1.15 has no gradient here")
_SHAPE = "element_shape: shape_type"
_TYPES = "element_dtype: type, shape_type: INDEX"


# ---- values ----


def _sizes(shape: np.ndarray) -> Sizes:
    """A shape tensor as sizes."""
    if shape.ndim == 0:
        if shape != -1:
            raise invalid("The only valid scalar shape tensor is the fully unknown shape specified as -1.")
        return None
    return tuple(None if size < 0 else int(size) for size in shape)


def _list_in(handle: np.ndarray) -> TensorList:
    if handle.ndim:
        raise invalid(f"Input list must be a scalar saw: {shape_text(handle.shape)}")
    value = handle[()]
    if not isinstance(value, TensorList):
        raise invalid(f"Input handle is not a list. Saw: '{value}'")
    return value


def _require_vector(shape: tuple) -> None:
    if not shape:
        raise invalid("Tensor must be at least a vector, but saw shape: []")


# ---- new lists ----


@op(
    "EmptyTensorList", f"({_SHAPE}, max_num_elements: int32, *, {_TYPES}) -> (handle: variant)", shape=list_shapes.new_list_shape(0),
    gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _empty(shape, limit, *, element_dtype):
    if limit.ndim:
        raise invalid(f"max_num_elements expected to be a scalar but got shape: {shape_text(limit.shape)}")
    return variant(TensorList(element_dtype, _sizes(shape), (), int(limit)))


@op(
    "TensorListReserve", f"({_SHAPE}, num_elements: int32, *, {_TYPES}) -> (handle: variant)", shape=list_shapes.new_list_shape(0),
    gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _reserve(shape, count, *, element_dtype):
    if count < 0:
        raise invalid(f"The num_elements to reserve must be a non negative number, but got {count}")
    return variant(TensorList(element_dtype, _sizes(shape), (None,) * int(count)))


def _require_fit(sizes: Sizes, shape: tuple) -> None:
    if not is_compatible(sizes, shape[1:]):
        raise invalid(f"Specified a list with shape {shape_text(sizes)} from a tensor with shape {shape_text(shape)}")


def _from_tensor_gradient(node: Operation, grad: TensorLike) -> list:
    value = node.inputs[0]
    count = value.shape.dims and value.shape.dims[0].value
    sizes = raw.Slice(shape_of(value), [1], [-1])
    return [raw.TensorListStack(grad, sizes, element_dtype=value.dtype, num_elements=-1 if count is None else count), None]


@op(
    "TensorListFromTensor", f"(tensor: element_dtype, {_SHAPE}, *, {_TYPES}) -> (output_handle: variant)",
    shape=list_shapes.new_list_shape(1, list_shapes.rows), gradient=_from_tensor_gradient, side=HOST,
)  # fmt: skip
def _from_tensor(tensor, shape, *, element_dtype):
    _require_vector(tensor.shape)
    _require_fit(_sizes(shape), tensor.shape)
    return variant(TensorList(element_dtype, _sizes(shape), tuple(map(np.asarray, tensor))))


def _split_gradient(node: Operation, grad: TensorLike) -> list:
    value, _, lengths = node.inputs
    sizes = concat([[-1], raw.Slice(shape_of(value), [1], [-1])], 0)
    return [raw.TensorListConcatV2(grad, sizes, lengths, element_dtype=value.dtype)[0], None, None]


@op(
    "TensorListSplit", f"(tensor: element_dtype, {_SHAPE}, lengths: int64, *, {_TYPES}) -> (output_handle: variant)",
    shape=list_shapes.new_list_shape(1, list_shapes.rows_of_split), gradient=_split_gradient, side=HOST,
)  # fmt: skip
def _split(tensor, shape, lengths, *, element_dtype):
    sizes = _sizes(shape)
    if sizes == ():
        raise invalid("TensorListSplit requires element_shape to be at least of rank 1, but saw: []")
    _require_vector(tensor.shape)
    if not is_compatible(sizes, (None, *tensor.shape[1:])):
        raise invalid(f"tensor shape {shape_text(tensor.shape)} is not compatible with element_shape {shape_text(sizes)}")
    if lengths.ndim != 1:
        raise invalid(f"Expected lengths to be a vector, received shape: {shape_text(lengths.shape)}")
    items, end = [], 0
    for length in lengths.tolist():
        if length < 0:
            raise invalid(f"Invalid value in lengths: {length}")
        start, end = end, end + length
        if end > len(tensor):
            raise invalid(f"Attempting to slice [{start}, {end}] from tensor with length {len(tensor)}")
        items.append(tensor[start:end])
    if end != len(tensor):
        raise invalid(f"Unused values in tensor. Length of tensor: {len(tensor)} Values used: {end}")
    return variant(TensorList(element_dtype, sizes, tuple(items)))


# ---- one element ----


def _element_type(node: Operation) -> Any:
    return node.get_attr("element_dtype")


@op(
    "TensorListPushBack", "(input_handle: variant, tensor: element_dtype, *, element_dtype: type) -> (output_handle: variant)",
    shape=list_shapes.pushed_shape, side=HOST,
    gradient=lambda node, grad: list(raw.TensorListPopBack(grad, shape_of(node.inputs[1]), element_dtype=_element_type(node))),
)  # fmt: skip
def _push(handle, tensor, *, element_dtype):
    found = _list_in(handle)
    if not is_compatible(found.sizes, tensor.shape):
        raise invalid(
            f"Tried to append a tensor with incompatible shape to a list. Op element shape: {shape_text(tensor.shape)} "
            f"list shape: {shape_text(found.sizes)}"
        )
    found.require_dtype(element_dtype)
    if found.limit != -1 and len(found.items) >= found.limit:
        raise invalid(f"Tried to push item into a full list list size: {len(found.items)} max_num_elements: {found.limit}")
    return variant(found.with_items((*found.items, tensor)))


@op(
    "TensorListPushBackBatch",
    "(input_handles: variant, tensor: element_dtype, *, element_dtype: type) -> (output_handles: variant)",
    shape=list_shapes.pushed_batch_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _push_batch(handles, tensor, *, element_dtype):
    if not tensor.ndim:
        raise invalid("Expected tensor to be at least a vector, but saw shape: []")
    if handles.ndim != 1:
        raise invalid(f"Expected input_handles to be a vector, but saw shape: {shape_text(handles.shape)}")
    if len(tensor) != len(handles):
        raise invalid(f"Expected tensor.shape[0] == input_handles.size, but saw {len(tensor)} vs. {len(handles)}")
    result = np.empty(len(handles), object)
    for i, found in enumerate(handles):
        if not isinstance(found, TensorList):
            raise invalid(f"Input handle at index {i} is not a list. Saw: '{found}'")
        if not is_compatible(found.sizes, tensor.shape[1:]):
            raise invalid(
                f"Tried to append a tensor with incompatible shape to a list at index {i}. Op element shape: "
                f"{shape_text(tensor.shape[1:])} list shape: {shape_text(found.sizes)}"
            )
        if found.dtype != element_dtype:
            raise invalid(
                f"Invalid data type at index {i}; op elements {dtype_text(element_dtype)} but list elements {dtype_text(found.dtype)}"
            )
        result[i] = found.with_items((*found.items, np.asarray(tensor[i])))
    return result


def _pop_gradient(node: Any, grad: Any, element: Any) -> list:
    if grad is None:
        sizes = raw.TensorListElementShape(node.outputs[0], shape_type="int32")
        grad = raw.EmptyTensorList(sizes, -1, element_dtype=element.dtype)
    return [raw.TensorListPushBack(grad, element), None]


@op(
    "TensorListPopBack",
    "(input_handle: variant, element_shape: int32, *, element_dtype: type) -> (output_handle: variant, tensor: element_dtype)",
    shape=list_shapes.popped_shape, gradient=_pop_gradient, side=HOST,
)  # fmt: skip
def _pop(handle, shape, *, element_dtype):
    found = _list_in(handle).require_dtype(element_dtype)
    if not found.items:
        raise invalid("Trying to pop from an empty list.")
    item = found.items[-1]
    if item is None:
        item = _unset_item(merged(_sizes(shape), found.sizes), element_dtype, ".")
    return variant(found.with_items(found.items[:-1])), item


def _unset_item(sizes: Sizes, dtype: object, rest: str) -> np.ndarray:
    if not is_full(sizes):
        raise invalid(f"Trying to read an uninitialized tensor but element_shape is not fully defined{rest}{shape_text(sizes)}")
    return zeros(sizes, dtype)


def _get_gradient(node: Operation, grad: Any) -> list:
    handle, index, _ = node.inputs
    count = raw.TensorListLength(handle)
    reserved = raw.TensorListReserve(raw.TensorListElementShape(handle, shape_type="int32"), count, element_dtype=grad.dtype)
    return [raw.TensorListSetItem(reserved, index, grad), None, None]


@op(
    "TensorListGetItem",
    "(input_handle: variant, index: int32, element_shape: int32, *, element_dtype: type) -> (item: element_dtype)",
    shape=list_shapes.item_shape, gradient=_get_gradient, side=HOST,
)  # fmt: skip
def _get(handle, index, shape, *, element_dtype):
    found = _list_in(handle).require_dtype(element_dtype)
    if not 0 <= index < len(found.items):
        raise invalid(f"Trying to access element {index} in a list with {len(found.items)} elements.")
    item = found.items[int(index)]
    if item is not None:
        return item
    sizes = merged(_sizes(shape), found.sizes)
    if not is_full(sizes):
        sizes = found.common_sizes(sizes, found.items)
    return _unset_item(sizes, element_dtype, ": ")


def _set_gradient(node: Operation, grad: TensorLike) -> list:
    handle, index, item = node.inputs
    rest = raw.TensorListSetItem(grad, index, zeros_like(item))
    if node.attrs.get("resize_if_index_out_of_bounds"):
        rest = raw.TensorListResize(rest, raw.TensorListLength(handle))
    return [rest, None, raw.TensorListGetItem(grad, index, shape_of(item), element_dtype=item.dtype)]


@op(
    "TensorListSetItem",
    "(input_handle: variant, index: int32, item: element_dtype, *, element_dtype: type) -> (output_handle: variant)",
    shape=list_shapes.set_shape, gradient=_set_gradient, side=HOST,
)  # fmt: skip
def _set(handle, index, item, *, element_dtype):
    return _with_item(_list_in(handle).require_dtype(element_dtype), index, item)


@later_form(
    "TensorListSetItem",
    "(input_handle: variant, index: int32, item: element_dtype, *, element_dtype: type, resize_if_index_out_of_bounds: bool = False) "
    "-> (output_handle: variant)",
    shape=list_shapes.set_shape, gradient=_set_gradient, side=HOST,
)  # fmt: skip
def _set_or_grow(handle, index, item, *, element_dtype, resize_if_index_out_of_bounds):
    found = _list_in(handle).require_dtype(element_dtype)
    missing = int(index) + 1 - len(found.items) if resize_if_index_out_of_bounds else 0
    return _with_item(found.with_items((*found.items, *[None] * missing)) if missing > 0 else found, index, item)


def _with_item(found: TensorList, index: Any, item: Any) -> np.ndarray:
    """A list with another element at a place that it has."""
    if not 0 <= index < len(found.items):
        raise invalid(f"Trying to modify element {index} in a list with {len(found.items)} elements.")
    if not is_compatible(found.sizes, item.shape):
        raise invalid(
            "Tried to set a tensor with incompatible shape at a list index. Item element shape: "
            f"{shape_text(item.shape)} list shape: {shape_text(found.sizes)}"
        )
    items = list(found.items)
    items[int(index)] = item
    return variant(found.with_items(items))


# ---- many elements ----


@op(
    "TensorListStack",
    "(input_handle: variant, element_shape: int32, *, element_dtype: type, num_elements: int = -1) -> (tensor: element_dtype)",
    shape=list_shapes.stacked_shape, side=HOST,
    gradient=lambda node, grad: [raw.TensorListFromTensor(grad, _static_rows(grad)), None],
)  # fmt: skip
def _stack(handle, shape, *, element_dtype, num_elements):
    found = _list_in(handle).require_dtype(element_dtype)
    if num_elements not in (-1, len(found.items)):
        raise invalid(f"Operation expected a list with {num_elements} elements but got a list with {len(found.items)} elements.")
    sizes = merged(_sizes(shape), found.sizes)
    if not found.items and not is_full(sizes):
        raise invalid(f"Tried to stack elements of an empty list with non-fully-defined element_shape: {shape_text(sizes)}")
    sizes = found.common_sizes(sizes, found.items)
    if not is_full(sizes):
        raise invalid(
            f"Tried to stack list which only contains uninitialized tensors and has a non-fully-defined element_shape: {shape_text(sizes)}"
        )
    return _stacked(found.items, sizes, element_dtype)


def _static_rows(tensor: Any) -> Any:
    """The shape of the rows of a tensor, as an element shape."""
    sizes = tensor.shape[1:].sizes
    return -1 if sizes is None else np.array([-1 if s is None else s for s in sizes], np.int32)


def _stacked(items: Any, sizes: tuple, dtype: Any) -> np.ndarray:
    result = zeros((len(items), *sizes), dtype)
    for i, item in enumerate(items):
        if item is not None:
            result[i] = item[()]
    return result


def _gather_gradient(node: Any, grad: Any) -> list:
    handle, indices, _ = node.inputs
    sizes = raw.TensorListElementShape(handle, shape_type="int32")
    reserved = raw.TensorListReserve(sizes, raw.TensorListLength(handle), element_dtype=grad.dtype)
    return [raw.TensorListScatterIntoExistingList(reserved, grad, indices), None, None]


@op(
    "TensorListGather",
    "(input_handle: variant, indices: int32, element_shape: int32, *, element_dtype: type) -> (values: element_dtype)",
    shape=list_shapes.gathered_shape, gradient=_gather_gradient, side=HOST,
)  # fmt: skip
def _gather(handle, indices, shape, *, element_dtype):
    found = _list_in(handle).require_dtype(element_dtype)
    sizes = merged(_sizes(shape), found.sizes)
    if not indices.size and not is_full(sizes):
        raise invalid(f"Tried to gather 0-elements from a list with non-fully-defined shape: {shape_text(sizes)}")
    items = []
    for index in indices.reshape(-1).tolist():
        if not 0 <= index < len(found.items):
            raise invalid(f"Index {index} out o range; list only has {len(found.items)} elements.")
        items.append(found.items[index])
    sizes = found.common_sizes(sizes, items)
    if not is_full(sizes):
        sizes = found.common_sizes(sizes, found.items)
    if not is_full(sizes):
        raise invalid(f"Tried to gather uninitialized tensors from a list with non-fully-defined element_shape: {shape_text(sizes)}")
    return _stacked(items, sizes, element_dtype).reshape(*indices.shape, *sizes)


def _scatter_gradient(node: Operation, grad: TensorLike) -> list:
    tensor, indices = node.inputs[:2]
    return [_gathered_rows(grad, indices, tensor)] + [None] * (len(node.inputs) - 1)


def _gathered_rows(grad: Any, indices: Any, tensor: Any) -> Tensor:
    return raw.TensorListGather(grad, indices, raw.Slice(shape_of(tensor), [1], [-1]), element_dtype=tensor.dtype)


def _scattered(items: tuple, indices: np.ndarray, tensor: np.ndarray) -> list:
    items = list(items)
    for index, row in zip(indices.tolist(), tensor):
        items[index] = np.asarray(row)
    return items


def _scatter_v2(tensor, indices, shape, count, *, element_dtype):
    if count < -1:
        raise invalid(f"TensorListScatter expects num_elements >= -1, found: {count}")
    _require_vector(tensor.shape)
    sizes = _sizes(shape)
    _require_fit(sizes, tensor.shape)
    if len(tensor) < indices.size:
        raise invalid(f"Invalid number of rows in input tensor. Expected: {indices.size} Actual: {len(tensor)}")
    if (indices < 0).any():
        raise invalid("Indices in TensorListScatter must all be non-negative.")
    last = int(indices.max(initial=-1))
    if count != -1 and last >= count:
        raise invalid(f"TensorListScatter: Trying to scatter at index {last} in list with size {count}")
    items = (None,) * (last + 1 if count == -1 else int(count))
    return variant(TensorList(element_dtype, sizes, tuple(_scattered(items, indices, tensor))))


def _scatter(tensor, indices, shape, *, element_dtype):
    return _scatter_v2(tensor, indices, shape, -1, element_dtype=element_dtype)


for _name, _count, _kernel in (("TensorListScatter", "", _scatter), ("TensorListScatterV2", "num_elements: int32, ", _scatter_v2)):
    op(
        _name, f"(tensor: element_dtype, indices: int32, {_SHAPE}, {_count}*, {_TYPES}) -> (output_handle: variant)",
        shape=list_shapes.new_list_shape(2), gradient=_scatter_gradient, side=HOST, kernel=_kernel,
    )  # fmt: skip


def _scatter_into_gradient(node: Operation, grad: TensorLike) -> list:
    _, tensor, indices = node.inputs
    rows = _gathered_rows(grad, indices, tensor)
    return [raw.TensorListScatterIntoExistingList(grad, zeros_like(tensor), indices), rows, None]


@op(
    "TensorListScatterIntoExistingList",
    "(input_handle: variant, tensor: element_dtype, indices: int32, *, element_dtype: type) -> (output_handle: variant)",
    shape=list_shapes.scattered_into_shape, gradient=_scatter_into_gradient, side=HOST,
)  # fmt: skip
def _scatter_into(handle, tensor, indices, *, element_dtype):
    found = _list_in(handle).require_dtype(element_dtype)
    _require_vector(tensor.shape)
    if indices.ndim != 1:
        raise invalid(f"Expected indices to be a vector, but received shape: {shape_text(indices.shape)}")
    if len(indices) != len(tensor):
        raise invalid(f"Expected len(indices) == tensor.shape[0], but saw: {len(indices)} vs. {len(tensor)}")
    if (indices < 0).any():
        raise invalid("Indices in TensorListScatter must all be non-negative.")
    missing = int(indices.max(initial=-1)) + 1 - len(found.items)
    return variant(found.with_items(_scattered(found.items + (None,) * missing, indices, tensor)))


def _concat_v2(handle, shape, leading, *, element_dtype):
    found = _list_in(handle).require_dtype(element_dtype)
    sizes = merged(_sizes(shape), found.sizes)
    if sizes == ():
        raise invalid("Concat requires elements to be at least vectors, found scalars instead.")
    first, rest = (None, None) if sizes is None else (sizes[0], sizes[1:])
    if not found.items and not is_full(rest):
        raise invalid(
            f"All except the first dimension must be fully defined when concating an empty tensor list. element_shape: {shape_text(rest)}"
        )
    for i, item in enumerate(found.items):
        if item is not None:
            if not item.ndim:
                raise invalid(f"Concat saw a scalar shape at index {i} but requires at least vectors.")
            rest = merged(rest, item.shape[1:])
            if first not in (None, len(item)):
                raise invalid(
                    f"First entry of element_shape input does not match the first dim of list element at index: {i} "
                    f"Expected: {first} Actual: {len(item)}"
                )
    if not is_full(rest):
        raise invalid(
            f"Trying to concat list with only uninitialized tensors but element_shape_except_first_dim_ is not fully defined: {shape_text(rest)}"
        )
    return _joined(found, _first_size(found, first), rest, leading)


def _first_size(found: TensorList, first: int | None) -> int | None:
    """The first size of elements that are not set, where no one says it: that of the others, if they have one."""
    lengths = {len(item) for item in found.items if item is not None}
    return lengths.pop() if first is None and len(lengths) == 1 else first


def _joined(found: TensorList, first: int | None, rest: tuple, leading: np.ndarray) -> tuple:
    parts = []
    for i, item in enumerate(found.items):
        if item is None:
            length = int(leading[i]) if i < len(leading) else first
            if length is None:
                raise invalid(f"List contains uninitialized tensor at index {i} but leading_dims has only {len(leading)} elements.")
            item = zeros((length, *rest), found.dtype)
        parts.append(item)
    lengths = np.array([len(part) for part in parts], np.int64)
    return np.concatenate([zeros((0, *rest), found.dtype), *parts]), lengths


def _concat(handle, *, element_dtype, element_shape):
    sizes = element_shape.sizes
    shape = np.array(-1 if sizes is None else [-1 if s is None else s for s in sizes], np.int64)
    return _concat_v2(handle, shape, np.zeros(0, np.int64), element_dtype=element_dtype)


def _concat_gradient(node: Operation, grad: TensorLike, _: object) -> list:
    sizes = raw.TensorListElementShape(node.inputs[0], shape_type="int32")
    return [raw.TensorListSplit(grad, sizes, node.outputs[1])] + [None] * (len(node.inputs) - 1)


op(
    "TensorListConcat",
    "(input_handle: variant, *, element_dtype: type, element_shape: shape = None) -> (tensor: element_dtype, lengths: int64)",
    shape=lambda c: list_shapes.concat_shape(c, c.attr("element_shape").sizes), gradient=_concat_gradient, side=HOST, kernel=_concat,
)  # fmt: skip
op(
    "TensorListConcatV2",
    f"(input_handle: variant, {_SHAPE}, leading_dims: int64, *, {_TYPES}) -> (tensor: element_dtype, lengths: int64)",
    shape=lambda c: list_shapes.concat_shape(c, c.shape_or_unknown(1)), gradient=_concat_gradient, side=HOST, kernel=_concat_v2,
)  # fmt: skip


# ---- whole lists ----


@op(
    "TensorListConcatLists", "(input_a: variant, input_b: variant, *, element_dtype: type) -> (output: variant)",
    shape=list_shapes.concat_lists_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _concat_lists(first, second, *, element_dtype):
    if first.shape != second.shape:
        raise invalid(f"Incompatible input TensorList tensor shapes: {shape_text(first.shape)} vs. {shape_text(second.shape)}")
    result = np.empty(first.shape, object)
    for i, (place, a) in enumerate(np.ndenumerate(first)):
        b = second[place]
        for name, value in (("a", a), ("b", b)):
            if not isinstance(value, TensorList):
                raise invalid(f"input_{name} is not a TensorList at index {i}.  Saw: '{value}'")
            if value.dtype != element_dtype:
                raise invalid(f"input_{name}[{i}].dtype != element_dtype.  Saw: {dtype_text(value.dtype)} vs. {dtype_text(element_dtype)}")
        if a.sizes != b.sizes:
            raise invalid(
                f"input_a and input_b TensorList element shapes are not identical at index {i}.  Saw {shape_text(a.sizes)} vs. {shape_text(b.sizes)}"
            )
        result[place] = a.with_items(a.items + b.items)
    return result


@op("TensorListLength", "(input_handle: variant) -> (length: int32)", shape=si.scalar, gradient=_NO_GRADIENT, side=HOST)
def _length(handle):
    return np.array(len(_list_in(handle).items), np.int32)


@op(
    "TensorListElementShape", "(input_handle: variant, *, shape_type: INDEX) -> (element_shape: shape_type)",
    shape=list_shapes.element_shape_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _element_shape(handle, *, shape_type):
    sizes = _list_in(handle).sizes
    return np.array(-1 if sizes is None else [-1 if s is None else s for s in sizes], shape_type)


@op(
    "TensorListResize", "(input_handle: variant, size: int32) -> (output_handle: variant)", shape=list_shapes.resized_shape, side=HOST,
    gradient=lambda node, grad: [raw.TensorListResize(grad, raw.TensorListLength(node.inputs[0])), None],
    effects=Effects(external=True),
)  # fmt: skip
def _resize(handle, size):
    found = _list_in(handle)
    if size < 0:
        raise invalid(f"TensorListSlice expects size to be non-negative. Got: {size}")
    kept = found.items[: int(size)]
    return variant(found.with_items(kept + (None,) * (int(size) - len(kept))))
