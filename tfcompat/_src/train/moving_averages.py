"""Exponential moving averages of variables and tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import (
    add_to_collection,
    colocate_with,
    get_collection,
    get_default_graph,
    init_scope,
    name_scope,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.binary import div, power, truediv
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.train import slot_creator
from tfcompat._src.variables import assign
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.scope import get_variable, get_variable_scope, variable_scope
from tfcompat._src.variables.variable import Variable

_FLOATING = (dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64)
_VARIABLE_OPS = ("Variable", "VariableV2", "VarHandleOp")


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """Moves `variable` towards `value`: `variable -= (1 - decay) * (variable - value)`.

    Args:
      variable: the average.
      value: a tensor of its shape.
      decay: a number or scalar tensor, mostly near 1.
      zero_debias: for an average that starts at 0: divides by `1 - decay ** updates`, as Adam does (Kingma & Ba 2015).
      name: name of the update.

    Returns:
      the updated reference, or variable.
    """
    with name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope:
        rate = cast(convert_to_tensor(1.0 - decay, name="decay"), variable.dtype.base_dtype)
        if zero_debias:
            return _zero_debias(variable, value, rate)
        return assign.assign_sub(variable, (variable - value) * rate, name=scope)


def weighted_moving_average(
    value: Tensor, decay: object, weight: Tensor, truediv: bool = True, collections: object = None, name: str | None = None
) -> Tensor:
    """The moving average of `value * weight` over that of `weight`.

    Args:
      value: a floating tensor.
      decay: a number or scalar tensor.
      weight: a tensor that `value` can be multiplied with.
      truediv: False divides as Python 2 does.
      collections: of the two variables that are made; by default GLOBAL_VARIABLES.
      name: variable scope.
    """
    collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else collections
    with variable_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope:
        averages = []
        for label, like in (("value_x_weight", value), ("weight", weight)):
            averages.append(get_variable(
                label, shape=like.shape, dtype=like.dtype, initializer=Zeros(), trainable=False,
                collections=collections,
            ))  # fmt: skip
        numerator = assign_moving_average(averages[0], value * weight, decay, zero_debias=False)
        denominator = assign_moving_average(averages[1], weight, decay, zero_debias=False)
        return (_truediv if truediv else div)(numerator, denominator, name=scope.name)


_truediv = truediv


def _zero_debias(average: Any, value: Any, rate: Tensor) -> Any:
    """`average` becomes the biased average, kept beside it, divided by `1 - (1 - rate) ** updates`."""
    with variable_scope(average.name[: -len(":0")], values=[average, value, rate]), colocate_with(average):
        biased, steps = (
            get_variable(_free_name(label), shape=shape, dtype=average.dtype, initializer=Zeros(), trainable=False)
            for label, shape in (("biased", average.shape), ("local_step", []))
        )
    new_biased = assign.assign_sub(biased, (biased - value) * rate)
    new_steps = steps.assign_add(1)
    factor = 1 - power(1.0 - rate, new_steps)
    return assign.assign(average, new_biased / factor, name=get_default_graph().get_name_scope() + "/")


def _free_name(name: str) -> str:
    """`name`, or `name_1`... where the open variable scope has a variable of that name and does not reuse."""
    scope = get_variable_scope()
    taken = {v.op.name for v in scope.global_variables()}
    if scope.reuse or f"{scope.name}/{name}" not in taken:
        return name
    index = 1
    while f"{scope.name}/{name}_{index}" in taken:
        index += 1
    return f"{name}_{index}"


@export("train.ExponentialMovingAverage")
class ExponentialMovingAverage:
    """Shadow variables that follow variables: `shadow = decay * shadow + (1 - decay) * variable`.

    Args:
      decay: a number or scalar tensor, mostly near 1.
      num_updates: a count of updates; the decay is then at most `(1 + num_updates) / (10 + num_updates)`.
      zero_debias: divides averages of tensors, which start at 0, by `1 - decay ** updates`.
      name: last part of the shadow variables' names, and name of the update.
    """

    def __init__(
        self, decay: Any, num_updates: Any = None, zero_debias: bool = False, name: str = "ExponentialMovingAverage"
    ) -> None:
        self._decay, self._num_updates, self._zero_debias, self._name = decay, num_updates, zero_debias, name
        self._averages: dict[Any, Any] = {}

    @property
    def name(self) -> str:
        return self._name

    def apply(self, var_list: Iterable[Any] | None = None) -> Operation:
        """The operation that updates the averages, made for what has none yet.

        Args:
          var_list: variables and tensors; by default all trainable variables.

        Raises:
          TypeError: one is not of a floating type.
        """
        var_list = get_collection(GraphKeys.TRAINABLE_VARIABLES) if var_list is None else list(var_list)
        debiased = set()
        for var in var_list:
            if var.dtype.base_dtype not in _FLOATING:
                raise TypeError(f"The variables must be half, float, or double: {var.name}")
            if var.experimental_ref() not in self._averages:
                self._averages[var.experimental_ref()] = average = self._make(var)
                if self._zero_debias and not isinstance(var, Variable):
                    debiased.add(average)
        with name_scope(self.name) as scope:
            decay = convert_to_tensor(self._decay, name="decay")
            if self._num_updates is not None:
                updates = cast(self._num_updates, dtypes.float32, name="num_updates")
                decay = raw.Minimum(decay, (1.0 + updates) / (10.0 + updates))
            steps = []
            for var in var_list:
                average = self._averages[var.experimental_ref()]
                steps.append(assign_moving_average(average, var, decay, zero_debias=average in debiased))
            return group(*steps, name=scope)

    def _make(self, var: Any) -> Any:
        with init_scope():
            if isinstance(var, Variable):
                average = slot_creator.create_slot(var, var.initialized_value(), self.name)
                add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, var)
                return average
            return slot_creator.create_zeros_slot(var, self.name, colocate_with_primary=var.op.type in _VARIABLE_OPS)

    def average(self, var: Any) -> Any:
        """The shadow variable of `var`, or None where there is none."""
        return self._averages.get(var.experimental_ref())

    def average_name(self, var: Any) -> str:
        """The name of the operation that holds the average of `var`, made already or not."""
        average = self.average(var)
        if average is not None:
            return average.op.name
        return get_default_graph().unique_name(f"{var.op.name}/{self.name}", mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Iterable[Any] | None = None) -> dict[str, Any]:
        """Names in a checkpoint, to the variables to restore from them: the averages where there are any.

        Args:
          moving_avg_variables: the variables to restore from their averages; by default all trainable and all
            averaged ones.
        """
        if moving_avg_variables is None:
            moving_avg_variables = get_collection(GraphKeys.TRAINABLE_VARIABLES) + get_collection(
                GraphKeys.MOVING_AVERAGE_VARIABLES
            )
        averaged = list(dict.fromkeys(moving_avg_variables))
        found = {self.average_name(v): v for v in averaged}
        names = {v.name for v in averaged}
        for v in get_collection(GraphKeys.GLOBAL_VARIABLES):
            if v.name not in names:
                found.setdefault(v.op.name, v)
        return found
