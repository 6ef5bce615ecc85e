"""Slots: variables that an optimizer or an average keeps for another variable."""

from __future__ import annotations

import contextlib
from typing import Any

from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.scopes import colocate_with
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.ref_variable import RefVariable
from tfcompat._src.variables.resource_variable import is_resource_variable
from tfcompat._src.variables.scope import get_variable, get_variable_scope, variable_scope
from tfcompat._src.variables.variable import SaveSliceInfo, Variable


def create_slot(primary: Any, val: Any, name: str, colocate_with_primary: bool = True) -> Any:
    """A variable called `<primary>/<name>`, not trainable, that starts as `val`.

    Args:
      primary: the variable or tensor that the slot belongs to.
      val: the initial value, a Tensor.
      name: last part of the slot's name.
      colocate_with_primary: whether it is placed where `primary` is.
    """
    return _slot(primary, val, val.shape.is_fully_defined(), name, colocate_with_primary)


def create_slot_with_initializer(
    primary: object, initializer: object, shape: TensorShape, dtype: object, name: str, colocate_with_primary: bool = True
) -> Any:
    """As `create_slot`, with the initial value that `initializer` makes for `shape` and `dtype`."""
    arguments = {"shape": shape if callable(initializer) else None, "dtype": dtype}
    return _slot(primary, initializer, shape.is_fully_defined(), name, colocate_with_primary, **arguments)


def create_zeros_slot(primary: Any, name: str, dtype: object = None, colocate_with_primary: bool = True) -> Any:
    """As `create_slot`, with zeros of the primary's shape; `dtype` is the primary's by default."""
    dtype = primary.dtype if dtype is None else dtype
    if primary.shape.is_fully_defined():
        return create_slot_with_initializer(primary, Zeros(), primary.shape, dtype, name, colocate_with_primary)
    value = primary.initialized_value() if isinstance(primary, Variable) else primary
    return create_slot(primary, zeros(shape_of(value), dtype=dtype), name, colocate_with_primary)


def placed_with(primary: Any) -> contextlib.AbstractContextManager:
    """A block whose variables are placed where `primary` is, on each of its devices under a tf.distribute strategy."""
    strategy = distribution_context.strategy_in_use()
    return colocate_with(primary.op) if strategy is None else strategy.extended.colocate_vars_with(primary)


def _slot(primary: object, value: object, validate_shape: bool, name: str, colocate: bool, **arguments: object) -> Any:
    with variable_scope(None, f"{_name_of(primary)}/{name}"):
        with placed_with(primary) if colocate else contextlib.nullcontext(), _without_partitioner():
            slot = get_variable(
                "",
                initializer=value,
                trainable=False,
                use_resource=_kind_of(primary),
                validate_shape=validate_shape,
                **arguments,
            )
    _describe_slice(primary, slot)
    return slot


def _name_of(primary: Any) -> str:
    return primary.op.name if getattr(primary, "_in_graph_mode", True) else primary._shared_name


def _kind_of(primary: object) -> bool | None:
    """The `use_resource` that makes a variable of the primary's kind; None where it is no variable."""
    if is_resource_variable(primary):
        return True
    return False if isinstance(primary, RefVariable) else None


@contextlib.contextmanager
def _without_partitioner():
    scope = get_variable_scope()
    partitioner = scope.partitioner
    scope.set_partitioner(None)
    try:
        yield
    finally:
        scope.set_partitioner(partitioner)


def _describe_slice(primary: object, slot: Any) -> None:
    """Says of the slot of a partition which part of the whole slot it is."""
    info = primary._get_save_slice_info() if isinstance(primary, Variable) else None
    if info is not None:
        name = _name_of(slot)[len(_name_of(primary)) + 1 :]
        slot._set_save_slice_info(
            SaveSliceInfo(
                f"{info.full_name}/{name}", list(info.full_shape), list(info.var_offset), list(info.var_shape)
            )
        )
