"""Resource variables that nothing initializes: what takes the place of a variable in another graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.tensor_shape import as_shape
from tfcompat._src.graph.scopes import add_to_collection, device, name_scope
from tfcompat._src.nodes import raw
from tfcompat._src.variables import policies
from tfcompat._src.variables.resource_variable import BaseResourceVariable, ResourceVariable

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DTypeLike
    from tfcompat._src.base.tensor_shape import ShapeLike


class UninitializedVariable(ResourceVariable):
    """A resource variable of the default graph without an initial value and an initializer.

    Args:
      trainable: whether optimizers train it.
      name: node name; by default "Variable".
      shape, dtype: of its values.
      constraint: function of the value, applied by optimizers after each update; or None.
      synchronization, aggregation: of its copies on several devices.
    """

    def __init__(
        self, trainable: bool | None = None, name: str | None = None, shape: ShapeLike = None, dtype: DTypeLike | None = None, constraint: Any = None,
        synchronization: object = None, aggregation: object = None,
    ) -> None:  # fmt: skip
        self._synchronization, self._aggregation, self._trainable = policies.validate(
            synchronization, aggregation, trainable, name
        )
        self._constraint, self._caching_device = constraint, None
        self._shape, self._dtype = as_shape(shape), dtypes.as_dtype(dtype)
        with name_scope(name, "Variable", []) as scope:
            self._handle = raw.VarHandleOp(shape=self._shape, dtype=self._dtype, shared_name=scope[:-1], name=scope)
            self._handle_name = self._handle.name
            with name_scope("Read"), device(self._handle.device):
                self._graph_element = self._read_variable_op()
        add_to_collection(GraphKeys.GLOBAL_VARIABLES, self)


def copy_to_graph_uninitialized(var: BaseResourceVariable) -> UninitializedVariable:
    """A variable of the default graph with the name, shape and dtype of `var`, and no value."""
    return UninitializedVariable(
        var.trainable, var._shared_name, var.shape, var.dtype, var.constraint, var.synchronization, var.aggregation
    )
