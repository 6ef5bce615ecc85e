"""How the values of replicas are combined."""

from __future__ import annotations

import enum
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.variables.policies import VariableAggregation


@export("distribute.ReduceOp")
class ReduceOp(enum.Enum):
    """A sum or a mean over replicas."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation: VariableAggregation) -> ReduceOp:
        """The reduction that a variable's aggregation asks for; ValueError where it is none."""
        for reduce_op in ReduceOp:
            if aggregation is VariableAggregation[reduce_op.name]:
                return reduce_op
        raise ValueError(f"Could not convert from `tf.VariableAggregation` {aggregation} to`tf.distribute.ReduceOp` type")


def as_reduce_op(value: Any) -> ReduceOp:
    """A ReduceOp, or its name in any case; ValueError for other names."""
    return ReduceOp(value.upper()) if isinstance(value, str) else value
