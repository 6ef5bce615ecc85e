"""`tensorflow.python.eager.execute`: operations that run at once, from their types, flat inputs and attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfcompat._src.base import dtypes, errors, nest
from tfcompat._src.base.tensor_shape import as_shape
from tfcompat._src.graph import attr_values, op_spec
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.graph.operation import Operation
from tfcompat._src.nodes.apply_op import apply_op
from tfcompat._src.nodes.convert import convert_to_tensor

TF_ATTR_STRING, TF_ATTR_INT, TF_ATTR_FLOAT, TF_ATTR_BOOL, TF_ATTR_TYPE = range(5)
TF_ATTR_SHAPE, TF_ATTR_TENSOR, TF_ATTR_PLACEHOLDER, TF_ATTR_FUNC = range(5, 9)
_KINDS = {
    "string": TF_ATTR_STRING, "int": TF_ATTR_INT, "float": TF_ATTR_FLOAT, "bool": TF_ATTR_BOOL, "type": TF_ATTR_TYPE,
    "shape": TF_ATTR_SHAPE, "tensor": TF_ATTR_TENSOR, "func": TF_ATTR_FUNC,
}  # fmt: skip


def args_to_matching_eager(l: Sequence[Any], ctx: object, default_dtype: Any = None) -> tuple[int, list[Any]]:  # noqa: E741
    """Tensors of one dtype: that of the first EagerTensor, else `default_dtype` where the first value can have it, else that value's.

    Args:
      l: tensors and values. ctx: unused. default_dtype: a DType or None.

    Returns:
      the number of the dtype, and the list of EagerTensors.
    """
    dtype = next((value.dtype for value in l if isinstance(value, EagerTensor)), None)
    if dtype is None:
        dtype = convert_to_tensor(l[0], preferred_dtype=default_dtype).dtype
    return dtype.as_datatype_enum, [convert_to_tensor(value, dtype) for value in l]


def convert_to_mixed_eager_tensors(values: Sequence[Any], ctx: object) -> tuple[list[int], list[Any]]:
    """The numbers of the dtypes of values, and these as EagerTensors; `ctx` is unused."""
    tensors = [convert_to_tensor(value) for value in values]
    return [tensor.dtype.as_datatype_enum for tensor in tensors], tensors


def op_attr_type(op_type: str, attr_name: str) -> int | list[int]:
    """The kind of an attribute of an op type, one of TF_ATTR_*; in a list where the attribute is a list.

    Raises:
      InvalidArgumentError: the op type does not have the attribute.
    """
    kinds = {attr.name: attr.type for attr in attr_values.op_def(find_spec(op_type)).attr}
    if attr_name not in kinds:
        raise errors.InvalidArgumentError(None, None, f"Attribute '{attr_name}' does not exist for this operation")
    kind = kinds[attr_name]
    return [_KINDS[kind[len("list(") : -1]]] if kind.startswith("list(") else _KINDS[kind]


def make_attr(attr_type: int | list[int], value: Any) -> Any:
    """An attribute's value as `Operation.get_attr` gives it: DTypes, TensorShapeProtos, bytes; anything else unchanged."""
    if attr_type == TF_ATTR_TYPE:
        return dtypes.as_dtype(value)
    if attr_type == [TF_ATTR_TYPE]:
        return [dtypes.as_dtype(each) for each in value]
    if attr_type == TF_ATTR_SHAPE:
        return as_shape(value).as_proto()
    if attr_type == [TF_ATTR_SHAPE]:
        return [as_shape(each).as_proto() for each in value]
    return value.encode() if isinstance(value, str) else value


def find_spec(op_type: str) -> op_spec.OpSpec:
    """An op type; NotFoundError where there is none of that name."""
    spec = op_spec.find(op_type)
    if spec is None:
        raise errors.NotFoundError(
            None, None, f"Op type not registered '{op_type}' in this process: the name is misspelt, or tfcompat does not have the op"
        )
    return spec


def run(op_type: str, inputs: Sequence[Any], attrs: Sequence[Any] | None, name: str | None = None) -> list[Any]:
    """Runs an operation; its outputs.

    Args:
      inputs: its input tensors, those of lists side by side. attrs: names and values of attributes in turn, or None.

    Raises:
      TypeError: an input is no EagerTensor. errors.OpError: the operation fails.
    """
    spec, left = find_spec(op_type), list(inputs)
    for i, value in enumerate(left):
        if not isinstance(value, EagerTensor):
            raise TypeError(f"provided list of inputs contains objects other than 'EagerTensor'. Item {i} is {type(value).__name__}")
    given = dict(zip((attrs or ())[::2], (attrs or ())[1::2]))
    grouped: list[Any] = []
    for arg in attr_values.op_def(spec).input_arg:
        count = given.get(arg.number_attr, given.get(arg.type_list_attr))
        if count is None:
            grouped.append(left.pop(0))
        else:
            length = count if arg.number_attr else len(count)
            grouped.append([left.pop(0) for _ in range(length)])
    found = apply_op(spec, grouped, given, name)
    return [] if found is None or isinstance(found, Operation) else nest.flatten(found)


def execute(op_name: str, num_outputs: int, inputs: Sequence[Any], attrs: Sequence[Any] | None, ctx: object, name: str | None = None) -> list[Any]:
    """Runs an operation; the list of its `num_outputs` outputs. Arguments and errors as for `run`; `ctx` is unused."""
    return run(op_name, inputs, attrs, name)[:num_outputs]
