"""`tensorflow.python.eager.execute`: runs eager operations given by op type, flat inputs and attributes."""

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

# The values of TF_AttrType in TensorFlow's C API.
TF_ATTR_STRING, TF_ATTR_INT, TF_ATTR_FLOAT, TF_ATTR_BOOL, TF_ATTR_TYPE = range(5)
TF_ATTR_SHAPE, TF_ATTR_TENSOR, TF_ATTR_PLACEHOLDER, TF_ATTR_FUNC = range(5, 9)
_KINDS = {
    "string": TF_ATTR_STRING, "int": TF_ATTR_INT, "float": TF_ATTR_FLOAT, "bool": TF_ATTR_BOOL, "type": TF_ATTR_TYPE,
    "shape": TF_ATTR_SHAPE, "tensor": TF_ATTR_TENSOR, "func": TF_ATTR_FUNC,
}  # fmt: skip


def args_to_matching_eager(l: Sequence[Any], ctx: object, default_dtype: Any = None) -> tuple[int, list[Any]]:  # noqa: E741
    """Converts values to tensors of one dtype.

    The dtype is that of the first EagerTensor; without one, `default_dtype` if the first value converts to it, else the first value's own.

    Args:
      l: tensors and values. ctx: unused. default_dtype: a DType or None.

    Returns:
      the enum of the dtype, and the list of EagerTensors.
    """
    # As in 1.15, tensors of another dtype are not cast: the conversion raises.
    dtype = next((value.dtype for value in l if isinstance(value, EagerTensor)), None)
    if dtype is None:
        dtype = convert_to_tensor(l[0], preferred_dtype=default_dtype).dtype
    return dtype.as_datatype_enum, [convert_to_tensor(value, dtype) for value in l]


def convert_to_mixed_eager_tensors(values: Sequence[Any], ctx: object) -> tuple[list[int], list[Any]]:
    """Converts values to tensors, each of its own dtype; returns the enums of the dtypes and the EagerTensors. `ctx` is unused."""
    tensors = [convert_to_tensor(value) for value in values]
    return [tensor.dtype.as_datatype_enum for tensor in tensors], tensors


def op_attr_type(op_type: str, attr_name: str) -> int | list[int]:
    """Returns the type of an attribute of an op type: one of TF_ATTR_*, in a list if the attribute is a list.

    Raises:
      InvalidArgumentError: the op type does not have the attribute.
    """
    kinds = {attr.name: attr.type for attr in attr_values.op_def(find_spec(op_type)).attr}
    if attr_name not in kinds:
        raise errors.InvalidArgumentError(None, None, f"Attribute '{attr_name}' does not exist for this operation")
    kind = kinds[attr_name]
    return [_KINDS[kind[len("list(") : -1]]] if kind.startswith("list(") else _KINDS[kind]


def make_attr(attr_type: int | list[int], value: Any) -> Any:
    """Converts an attribute's value as `Operation.get_attr` does: to DTypes, TensorShapeProtos or bytes; other values are returned unchanged."""
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
    """Returns the OpSpec of an op type.

    Raises:
      errors.NotFoundError: tfcompat has no op type of this name.
    """
    spec = op_spec.find(op_type)
    if spec is None:
        raise errors.NotFoundError(
            None, None, f"Op type not registered '{op_type}' in this process: the name is misspelt, or tfcompat does not have the op."
        )
    return spec


def run(op_type: str, inputs: Sequence[Any], attrs: Sequence[Any] | None, name: str | None = None) -> list[Any]:
    """Runs an operation and returns its outputs as a flat list.

    Args:
      inputs: the input tensors, with lists flattened. attrs: names and values of attributes, alternating, or None.

    Raises:
      TypeError: an input is not an EagerTensor. errors.OpError: the operation fails.
    """
    # No conversion here, as in 1.15: callers convert.
    spec, left = find_spec(op_type), list(inputs)
    for i, value in enumerate(left):
        if not isinstance(value, EagerTensor):
            raise TypeError(f"provided list of inputs contains objects other than 'EagerTensor'. Item {i} is {type(value).__name__}")
    given = dict(zip((attrs or ())[::2], (attrs or ())[1::2]))
    # Restores the lists: the length of one is in the attribute that its argument names (a number, or a list of types).
    grouped: list[Any] = []
    for arg in attr_values.op_def(spec).input_arg:
        count = given.get(arg.number_attr, given.get(arg.type_list_attr))
        if count is None:
            grouped.append(left.pop(0))
        else:
            length = count if arg.number_attr else len(count)
            grouped.append([left.pop(0) for _ in range(length)])
    results = apply_op(spec, grouped, given, name)
    return [] if results is None or isinstance(results, Operation) else nest.flatten(results)


def execute(op_name: str, num_outputs: int, inputs: Sequence[Any], attrs: Sequence[Any] | None, ctx: object, name: str | None = None) -> list[Any]:
    """Runs an operation and returns the list of its `num_outputs` outputs. Arguments and errors are as for `run`; `ctx` is unused."""
    return run(op_name, inputs, attrs, name)[:num_outputs]
