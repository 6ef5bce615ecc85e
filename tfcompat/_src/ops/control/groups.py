"""Nodes that only order others: no_op, group, tuple, with_dependencies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import colocate_with, control_dependencies, device, executing_eagerly, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.graph.tensor_like import is_dense_tensor_like
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices, convert_to_tensor_or_indexed_slices


@export("no_op")
def no_op(name: str | None = None) -> Operation:
    """An operation that does nothing; control dependencies hang on it."""
    return raw.NoOp(name=name)


def _after(inputs: Iterable[Any], where: str | None, name: str | None = None) -> Operation:
    with control_dependencies(inputs):
        if where is None:
            return no_op(name=name)
        with device(where):
            return no_op(name=name)


@export("group")
def group(*inputs: Any, **kwargs: Any) -> Operation | None:
    """An operation that runs when all of `inputs` have run.

    Args:
      *inputs: tensors and operations, or nested structures of them.
      **kwargs: `name` of the operation.

    Raises:
      ValueError: another keyword argument. TypeError: an input is neither a tensor nor an operation.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError("Unknown keyword arguments: " + ", ".join(kwargs))
    if executing_eagerly():
        return None
    with name_scope(name, "group_deps", inputs) as scope:
        if not inputs:
            return no_op(name=scope)
        by_device: dict[str, list] = {}
        for value in nest.flatten(inputs, expand_composites=True):
            if not hasattr(value, "device"):
                raise TypeError(
                    f"Expected tf.group() expected Tensor arguments not '{value}' with type '{type(value)}'"
                )
            by_device.setdefault(value.device, []).append(value)
        if len(by_device) == 1:
            ((where, members),) = by_device.items()
            return _after(members, where, scope)
        gates = [_after(by_device[where], where) for where in sorted(by_device, key=lambda d: d or "")]
        with control_dependencies(gates):
            return no_op(name=scope)


def with_dependencies(dependencies: Iterable[Any], output_tensor: object, name: str | None = None) -> Any:
    """The value of `output_tensor` (a tensor or IndexedSlices), given only after `dependencies` have run."""
    if executing_eagerly():
        return output_tensor
    dependencies = list(dependencies)
    with name_scope(name, "control_dependency", [*dependencies, output_tensor]) as scope:
        with colocate_with(convert_to_tensor_or_indexed_slices(output_tensor)), control_dependencies(dependencies):
            value = convert_to_tensor_or_indexed_slices(output_tensor)
            if isinstance(value, Tensor):
                return (raw.RefIdentity if value.dtype._is_ref_dtype else raw.Identity)(value, name=scope)
            return IndexedSlices(raw.Identity(value.values, name=scope), value.indices, value.dense_shape)


def _is_tensor(value: object) -> bool:
    return is_dense_tensor_like(value) or isinstance(value, IndexedSlices)


def _control_op(value: object) -> Operation:
    if isinstance(value, Tensor):
        return value.op
    if not isinstance(value, Operation):
        raise TypeError(f"Control input must be Operation or Tensor: {value}")
    return value


@export("tuple")
def tuple_(tensors: Iterable[Any], name: str | None = None, control_inputs: Iterable[Any] | None = None) -> list:
    """Copies of `tensors` that are given only when all of them are computed.

    Args:
      tensors: tensors, IndexedSlices, operations or None.
      name: name scope.
      control_inputs: further operations or tensors to wait for.

    Raises:
      ValueError: there is nothing to wait for. TypeError: a control input is neither an operation nor a tensor.
    """
    if executing_eagerly():
        return tensors
    with name_scope(name, "tuple", tensors):
        values = [
            t if t is None or isinstance(t, Operation) or _is_tensor(t) else convert_to_tensor(t) for t in tensors
        ]
        gates = [t if isinstance(t, Operation) else t.op for t in values if t is not None]
        gates += [_control_op(c) for c in control_inputs or ()]
        if not gates:
            raise ValueError(f"Must have at least one Tensor: {values}")
        gate = group(*sorted(set(gates), key=lambda op: op._id))
        return [_gated(t, gate) for t in values]


def _gated(value: object, gate: Operation) -> Any:
    if value is None:
        return None
    if isinstance(value, Operation):
        with control_dependencies([gate]):
            return group(value)
    return with_dependencies([gate], value)
