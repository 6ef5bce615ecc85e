"""How copies of a variable on several devices are kept together: synchronization and aggregation."""

from __future__ import annotations

import enum

from tfcompat._src.base.export import export


@export("VariableSynchronization")
class VariableSynchronization(enum.Enum):
    """When a distributed variable's copies are synchronized."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


@export("VariableAggregation")
class VariableAggregation(enum.Enum):
    """How updates of a distributed variable's copies are combined."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3

    def __hash__(self) -> int:
        return hash(self.value)


def validate(synchronization: object, aggregation: object, trainable: bool | None, name: str | None) -> tuple:
    """The three settings with defaults filled in; ValueError where a mode is none of the enumerations' values."""
    if aggregation is None:
        aggregation = VariableAggregation.NONE
    elif not isinstance(aggregation, VariableAggregation):
        try:
            aggregation = VariableAggregation(aggregation)
        except ValueError:
            raise ValueError(f"Invalid variable aggregation mode: {aggregation} for variable: {name}") from None
    if synchronization is None:
        synchronization = VariableSynchronization.AUTO
    else:
        try:
            synchronization = VariableSynchronization(synchronization)
        except ValueError:
            raise ValueError(f"Invalid variable synchronization mode: {synchronization} for variable: {name}") from None
    if trainable is None:
        trainable = synchronization is not VariableSynchronization.ON_READ
    return synchronization, aggregation, trainable


def check_arguments(initial_value: object, collections: object, constraint: object) -> None:
    """ValueError where an argument of a variable's constructor cannot be."""
    if initial_value is None:
        raise ValueError("initial_value must be specified.")
    if not isinstance(collections, (list, tuple, set)):
        raise ValueError(
            f"collections argument to Variable constructor must be a list, tuple, or set. Got {collections} of type "
            f"{type(collections)}"
        )
    if constraint is not None and not callable(constraint):
        raise ValueError("The `constraint` argument must be a callable.")
