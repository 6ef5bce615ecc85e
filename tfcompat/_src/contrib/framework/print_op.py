"""print_op: tf.Print that says what it prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.control.printing import Print
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import argmax
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_KINDS = ((Tensor, "Tensor"), (SparseTensor, "SparseTensor"), (TensorArray, "TensorArray"), (Variable, "Variable"))


def _described(value: Any, with_name: bool, with_type: bool, with_shape: bool, with_first_true: bool) -> list[Tensor]:
    """Texts and tensors to print for one value."""
    kind = next((name for cls, name in _KINDS if isinstance(value, cls)), None)
    found = []
    if with_name and kind == "Tensor":
        found.append(constant("Name: " + value.name))
    if with_type:
        if kind is None:
            raise ValueError("t must be a Tensor, SparseTensor, TensorArray or Variable.")
        found.append(constant(f"Type: {kind} ({value.dtype.name})"))
    if with_shape and kind == "SparseTensor":
        found += [constant("Shape:"), value.dense_shape]
    elif with_shape and kind == "Tensor":
        found.append(constant(f"Shape: {value.shape.dims}"))
    elif with_shape and kind == "TensorArray":
        found += [constant("Size:"), value.size()]
    if with_first_true and value.dtype == dtypes.bool:
        numbers = cast(value, dtypes.uint8)
        found += [constant("First True in Boolean tensor at:"), argmax(numbers, 0)]
    if kind == "SparseTensor":
        found += [constant("Sparse indices:"), value.indices, constant("Sparse values:"), value.values]
    elif kind == "Tensor":
        found += [constant("Value:"), value]
    elif kind == "TensorArray":
        found += [constant("Value:"), value.stack()]
    return found


def print_op(
    input_: TensorLike, data: list | None = None, message: str | None = None, first_n: int | None = None, summarize: int = 20,
    print_tensor_name: bool = True, print_tensor_type: bool = True, print_shape: bool = True,
    summarize_indicator_vector: bool = True, name: str | None = None,
) -> Any:  # fmt: skip
    """`input_`; when computed, prints it and `data` to standard error, each with its name, type and shape.

    Args:
      input_: Tensor, Variable, SparseTensor or TensorArray.
      data: further ones to print.
      message, first_n, summarize, name: see `tf.Print`.
      print_tensor_name, print_tensor_type, print_shape: whether these are printed.
      summarize_indicator_vector: print where the first True of a bool tensor is.

    Raises:
      ValueError: `input_` is none of these.
    """
    wrong = "input_ must be of type Tensor, SparseTensor or TensorArray"
    if input_ is None:
        raise ValueError(wrong)
    options = (print_tensor_name, print_tensor_type, print_shape, summarize_indicator_vector)
    printed = [tensor for value in (input_, *(data or ())) for tensor in _described(value, *options)]
    if isinstance(input_, (Tensor, Variable)):
        return Print(input_, printed, message or "", first_n, summarize, name)
    if not isinstance(input_, (SparseTensor, TensorArray)):
        raise ValueError(wrong)
    with control_dependencies([Print(constant([]), printed, message or "", first_n, summarize, name)]):
        if isinstance(input_, TensorArray):
            return TensorArray(dtype=input_.dtype, handle=input_.handle, flow=input_.flow)
        parts = (input_.indices, input_.values, input_.dense_shape)
        return SparseTensor(*[identity(part) for part in parts])
