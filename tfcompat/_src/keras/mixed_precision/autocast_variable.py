"""Variables that are read in the dtype in which a layer computes."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.trackable import Trackable
from tfcompat._src.distribute.values import DistributedValues
from tfcompat._src.distribute.variables import DistributedVariable
from tfcompat._src.graph.scopes import colocate_with, device, executing_eagerly, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.graph.tensor_like import register_dense_tensor_like_type
from tfcompat._src.nodes.convert import convert_to_tensor, register_tensor_conversion_function
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.variables.resource_variable import is_resource_variable


def reading_as(dtype: Any) -> contextlib.AbstractContextManager[None]:
    """A block of the default graph in which these variables are read in `dtype`; their own where it is None or no floating one."""
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    return get_default_graph()._enable_auto_casting_variables(wanted if wanted is not None and wanted.is_floating else None)


class AutoCastVariable(Trackable):
    """A variable that is read in the dtype that a block of the default graph says (`Graph._enable_auto_casting_variables`).

    Args:
      variable: a floating resource variable.

    Raises:
      ValueError: it is something else.
    """

    def __init__(self, variable: Any) -> None:
        if not is_resource_variable(variable):
            raise ValueError(f"variable must be of type tf.ResourceVariable, but got: {variable!s}")
        if not variable.dtype.is_floating:
            raise ValueError(f"variable must be a floating point variable but has type: {variable.dtype.name}")
        self._variable = variable

    def __getattr__(self, name: str) -> Any:
        if name == "_variable":
            raise AttributeError(name)
        return getattr(self._variable, name)

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return self._variable._gather_saveables_for_checkpoint()

    name = property(lambda self: self._variable.name)
    true_dtype = property(lambda self: self._variable.dtype)

    @property
    def dtype(self) -> dtypes.DType:
        """The dtype in which it is read here."""
        return get_default_graph()._auto_cast_variable_read_dtype or self._variable.dtype

    def _as_read(self, value: Tensor) -> Tensor:
        if value.dtype == self.dtype:
            return value
        with colocate_with(None, ignore_existing=True), device(value.device):
            return cast(value, self.dtype)

    def value(self) -> Tensor:
        """The value, in the dtype in which it is read here."""
        return self._as_read(self._variable.value())

    def read_value(self) -> Tensor:
        """The value read by a node of its own, in the dtype in which it is read here."""
        return self._as_read(self._variable.read_value())

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """Some rows of the value, in the dtype in which it is read here."""
        return self._as_read(self._variable.sparse_read(indices, name=name))

    def _dense_var_to_tensor(self, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Tensor:
        if dtype is not None and not dtype.is_compatible_with(self.dtype):
            raise ValueError(
                f"Incompatible type conversion requested to type {dtype.name!r} for variable of type {self.dtype.name!r}"
            )
        return self._as_read(convert_to_tensor(self._variable, name=name))

    def __repr__(self) -> str:
        value = f", numpy={self.read_value()._text(True)}" if executing_eagerly() and not self._in_graph_mode else ""
        return (
            f"<AutoCastVariable '{self.name}' shape={self.shape} dtype={self.dtype.name} "
            f"true_dtype={self.true_dtype.name}{value}>"
        )

    def __getitem__(self, index: Any) -> Tensor:
        return self.value()[index]


def _forward(function: Callable) -> Callable:
    return lambda self, *others: function(self.value(), *others)


def _reflected(function: Callable) -> Callable:
    return lambda self, other: function(other, self.value())


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    setattr(AutoCastVariable, f"__{_name}__", _forward(getattr(operator, _name)))
    setattr(AutoCastVariable, f"__r{_name}__", _reflected(getattr(operator, _name)))
for _name in ("lt", "le", "gt", "ge", "neg", "abs"):
    setattr(AutoCastVariable, f"__{_name}__", _forward(getattr(operator, _name)))

register_tensor_conversion_function(AutoCastVariable, AutoCastVariable._dense_var_to_tensor)
register_dense_tensor_like_type(AutoCastVariable)


class AutoCastDistributedVariable(AutoCastVariable, DistributedVariable):
    """An AutoCastVariable whose components are on several devices.

    Args:
      variable: a floating DistributedVariable; it is updated and saved in its own way.

    Raises:
      ValueError: it is something else.
    """

    def __init__(self, variable: Any) -> None:
        if not isinstance(variable, DistributedValues):
            raise ValueError(f"variable must be of type DistributedValues, but got: {variable!s}")
        super().__init__(variable)

    _change = property(lambda self: self._variable._change)
    assign = property(lambda self: self._variable.assign)
    assign_add = property(lambda self: self._variable.assign_add)
    assign_sub = property(lambda self: self._variable.assign_sub)
    _get_cross_replica = property(lambda self: self._variable._get_cross_replica)
    _as_graph_element = property(lambda self: self._variable._as_graph_element)
    sparse_read = property(lambda self: self._variable.sparse_read)

    __repr__ = DistributedVariable.__repr__


def cast_when_read(variable: Any) -> AutoCastVariable:
    """Wraps a floating resource variable in the class of its kind: of one device, or of several."""
    kind = AutoCastDistributedVariable if isinstance(variable, DistributedVariable) else AutoCastVariable
    return kind(variable)
