"""tf.compat.v2.Variable: the class of all variables, which makes resource variables when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.variables.policies import VariableAggregation, VariableSynchronization
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from typing import Self


class _OfAllVariables(type):
    """Has every variable as an instance, and the attributes of Variable."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Variable)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, Variable)

    def __getattr__(cls, name: str) -> Any:
        return getattr(Variable, name)


@export("compat.v2.Variable")
class VariableV2(metaclass=_OfAllVariables):
    """A resource variable; arguments as those of tf.Variable."""

    def __new__(
        cls, initial_value: object = None, trainable: bool | None = None, validate_shape: bool = True,
        caching_device: object = None, name: str | None = None, variable_def: object = None, dtype: object = None,
        import_scope: str | None = None, constraint: object = None, synchronization: object = VariableSynchronization.AUTO,
        aggregation: object = VariableAggregation.NONE, shape: object = None,
    ) -> Self:  # fmt: skip
        return Variable(
            initial_value=initial_value, trainable=trainable, validate_shape=validate_shape,
            caching_device=caching_device, name=name, variable_def=variable_def, dtype=dtype, import_scope=import_scope,
            constraint=constraint, use_resource=True, synchronization=synchronization, aggregation=aggregation,
            shape=shape,
        )  # fmt: skip
