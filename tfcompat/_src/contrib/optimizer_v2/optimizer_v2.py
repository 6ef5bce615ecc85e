"""tf.contrib.optimizer_v2: optimizers whose hyperparameters, slots and other variables are kept per graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.gradients.gradients import gradients
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import (
    control_dependencies,
    executing_eagerly,
    get_collection_ref,
    init_scope,
    name_scope,
    present_graph,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.train.optimizer import Optimizer, _as_gradient
from tfcompat._src.train.slot_creator import placed_with
from tfcompat._src.variables.variable import Variable


class OptimizerV2State:
    """What an optimizer keeps for one graph; a subclass of OptimizerV2 makes and finds its variables by it.

    Args:
      optimizer: the optimizer.
      hyper: the tensors of the hyperparameters by name.
      colocated: the variable where variables go that belong to no one variable.
    """

    def __init__(self, optimizer: OptimizerV2, hyper: dict[str, Tensor], colocated: Any) -> None:
        self._optimizer, self._hyper, self._colocated = optimizer, hyper, colocated
        self._converted: dict[tuple[str, Any], Tensor] = {}

    def zeros_slot(self, var: object, slot_name: str, optional_op_name: str | None = None) -> Any:
        """The slot of a variable, made as zeros at first."""
        return self._optimizer._zeros_slot(var, slot_name, optional_op_name or self._optimizer._name)

    def create_slot(self, var: object, val: object, slot_name: str, optional_op_name: str | None = None) -> Any:
        """The slot of a variable, made with the value `val` at first."""
        return self._optimizer._get_or_make_slot(var, val, slot_name, optional_op_name or self._optimizer._name)

    def create_slot_with_initializer(
        self, var: object, initializer: object, shape: object, dtype: object, slot_name: str, optional_op_name: str | None = None
    ) -> Any:
        """The slot of a variable, made with `initializer` at first."""
        return self._optimizer._get_or_make_slot_with_initializer(
            var, initializer, shape, dtype, slot_name, optional_op_name or self._optimizer._name
        )

    def get_slot(self, var: object, name: str) -> Any:
        """The slot `name` of a variable, or None."""
        return self._optimizer.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """The names of the slots."""
        return self._optimizer.get_slot_names()

    def create_non_slot(self, initial_value: object, name: str, colocate_with: object = None) -> Any:
        """The variable `name` that belongs to no one variable, made at first."""
        found = self.get_non_slot(name)
        if found is None:
            with placed_with(self._colocated if colocate_with is None else colocate_with):
                found = Variable(initial_value, name=name, trainable=False)
            self._optimizer._non_slot_dict[name, present_graph()] = found
            self._optimizer._handle_deferred_dependencies(name=name, trackable=found)
        return found

    def get_non_slot(self, name: str) -> Any:
        """The variable `name` that belongs to no one variable, or None."""
        return self._optimizer._get_non_slot_variable(name, present_graph())

    def get_hyper(self, name: str, dtype: object = None) -> Tensor:
        """The tensor of a hyperparameter, as `dtype` if that is given."""
        if dtype is None:
            return self._hyper[name]
        if (name, dtype) not in self._converted:
            self._converted[name, dtype] = cast(self._hyper[name], dtype)
        return self._converted[name, dtype]


@export("contrib.optimizer_v2.optimizer_v2.OptimizerV2", "contrib.optimizer_v2.optimizer_v2_symbols.OptimizerV2")
class OptimizerV2(Optimizer):
    """Base class; a subclass sets hyperparameters by `_set_hyper` and defines `_create_vars`, `_apply_dense` and so on, which
    all get the state as their last argument.

    Args:
      use_locking: passed on to the update operations.
      name: name of the training operation and of the slots.

    Raises:
      ValueError: the name is empty. RuntimeError: the subclass defines `_create_slots`.
    """

    def __init__(self, use_locking: bool, name: str) -> None:
        if type(self)._create_slots is not OptimizerV2._create_slots:
            raise RuntimeError(
                "Override _create_vars instead of _create_slots when descending from OptimizerV2 "
                f"(class {type(self).__name__})"
            )
        super().__init__(use_locking, name)
        self._hyper: dict[str, Any] = {}
        self._static_hyper: dict[Any, dict[str, Tensor]] = {}
        self._stop_gradients: Any = None

    def _set_hyper(self, name: str, value: object) -> None:
        """Sets a hyperparameter: a number, a tensor, or a function that is asked whenever gradients are applied."""
        self._hyper[name] = value

    def minimize(
        self, loss: object, global_step: object = None, var_list: object = None, gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: object = None, name: str | None = None, grad_loss: object = None, stop_gradients: object = None,
        scale_loss_by_num_replicas: bool = False,
    ) -> Operation:  # fmt: skip
        """As of tf.train.Optimizer. stop_gradients: tensors not to differentiate through. scale_loss_by_num_replicas:
        whether the loss is divided by the number of replicas.
        """
        pairs = self.compute_gradients(
            loss, var_list=var_list, gate_gradients=gate_gradients, aggregation_method=aggregation_method,
            grad_loss=grad_loss, stop_gradients=stop_gradients, scale_loss_by_num_replicas=scale_loss_by_num_replicas,
        )  # fmt: skip
        if all(g is None for g, _ in pairs):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support gradients, "
                f"between variables {[str(v) for _, v in pairs]} and loss {loss}."
            )
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    def compute_gradients(
        self, loss: Any, var_list: Any = None, gate_gradients: int = Optimizer.GATE_OP, aggregation_method: Any = None,
        grad_loss: Any = None, stop_gradients: Any = None, scale_loss_by_num_replicas: bool = False,
    ) -> list[tuple[Any, Any]]:  # fmt: skip
        """As of tf.train.Optimizer; see `minimize`."""
        if scale_loss_by_num_replicas:
            loss = self._scaled(loss)
        self._stop_gradients = stop_gradients
        return super().compute_gradients(
            loss, var_list=var_list, gate_gradients=gate_gradients, aggregation_method=aggregation_method,
            grad_loss=grad_loss,
        )  # fmt: skip

    @staticmethod
    def _scaled(loss: object) -> Any:
        strategy = distribution_context.strategy_in_use()
        count = 1 if strategy is None else strategy.num_replicas_in_sync
        if count == 1:
            return loss
        return (lambda: loss() * (1.0 / count)) if callable(loss) else loss * (1.0 / count)

    def _gradients(self, loss: object, targets: list[Any], **options: Any) -> list[Any]:
        del options["colocate_gradients_with_ops"]
        return gradients(loss, targets, stop_gradients=self._stop_gradients, **options)

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Any = None, name: str | None = None
    ) -> Operation:
        """As of tf.train.Optimizer. NotImplementedError: inside the scope of a distribution strategy."""
        pairs = tuple(grads_and_vars)
        if not pairs:
            raise ValueError("No variables provided.")
        given = [(g, v) for g, v in pairs if g is not None]
        if not given:
            raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v in pairs]}.")
        if distribution_context.strategy_in_use() is not None:
            raise NotImplementedError("tfcompat does not use a tf.contrib.optimizer_v2 optimizer in the scope of a distribution strategy.")
        variables = [v for _, v in given]
        for var in variables:
            if isinstance(var, Tensor):
                raise NotImplementedError("Trying to update a Tensor ", var)
        with name_scope(name, self._name) as scope:
            state = OptimizerV2State(self, self._hyper_tensors(), min(variables, key=lambda v: v.name))
        with init_scope():
            self._create_vars(variables, state)
        with name_scope(scope):
            self._prepare(state)
            train_op = self._apply(given, state, global_step, scope)
        if executing_eagerly():
            return train_op
        train_op = train_op.op if isinstance(train_op, Tensor) else train_op
        collection = get_collection_ref(GraphKeys.TRAIN_OP)
        if train_op not in collection:
            collection.append(train_op)
        return train_op

    def _hyper_tensors(self) -> dict[str, Tensor]:
        """The tensors of all hyperparameters; those of functions are made anew."""
        graph = present_graph()
        if graph not in self._static_hyper:
            with init_scope():
                self._static_hyper[graph] = {
                    key: convert_to_tensor(value, name=key)
                    for key, value in sorted(self._hyper.items())
                    if not callable(value)
                }
        asked = {k: convert_to_tensor(v(), name=k) for k, v in sorted(self._hyper.items()) if callable(v)}
        return {**self._static_hyper[graph], **asked}

    def _apply(self, given: list, state: OptimizerV2State, global_step: Any, scope: str) -> Any:
        updates = []
        for grad, var in given:
            grad = _as_gradient(grad)
            with name_scope("update_" + var.op.name):
                updates.append(self._update(grad, var, state))
        updated = group(updates)
        with control_dependencies([updated]):
            finished = self._finish(state)
        finished = updated if finished is None else finished
        if global_step is None:
            return group(finished, name=scope)
        with control_dependencies([finished]):
            return global_step.assign_add(1, read_value=False, name=scope)

    # ---- what subclasses define ----

    def _create_vars(self, var_list: list[Any], state: OptimizerV2State) -> None:
        """Makes the slots and other variables."""

    def _prepare(self, state: OptimizerV2State) -> None:
        """Makes tensors before the updates."""

    def _apply_dense(self, grad: Tensor, var: Any, state: OptimizerV2State) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no _apply_dense.")

    def _resource_apply_dense(self, grad: Tensor, handle: Any, state: OptimizerV2State) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no _resource_apply_dense.")

    def _apply_sparse(self, grad: IndexedSlices, var: Any, state: OptimizerV2State) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no _apply_sparse.")

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor, state: OptimizerV2State) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no _resource_apply_sparse.")

    def _finish(self, state: OptimizerV2State) -> Any:
        """What is done after the updates, or None."""


class FusedOptimizerV2(OptimizerV2):
    """An optimizer whose update is one op type in four variants, as `_rule` says."""

    def _rule(self, var: Any, hyper: Callable[[str], Tensor], state: OptimizerV2State) -> tuple[str, dict, dict]:
        """The op type without its prefix, the slot of each of its slot inputs, and its other arguments without the gradient.

        Args:
          var: the variable. hyper: gives a hyperparameter in the type of the update.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no _rule.")

    def _fused(self, variant: str, var: Any, state: OptimizerV2State, **gradient: Any) -> Any:
        dtype = var.dtype.base_dtype
        op_type, slots, settings = self._rule(var, lambda name: state.get_hyper(name, dtype), state)
        variables = {"var": var, **{key: state.get_slot(var, name) for key, name in slots.items()}}
        if variant.startswith("Resource"):
            variables = {key: v.handle for key, v in variables.items()}
        return raw.function(variant + op_type)(**variables, **settings, **gradient, use_locking=self._use_locking)

    def _apply_dense(self, grad: Tensor, var: object, state: OptimizerV2State) -> Any:
        return self._fused("Apply", var, state, grad=grad).op

    def _resource_apply_dense(self, grad: Tensor, handle: object, state: OptimizerV2State) -> Any:
        return self._fused("ResourceApply", handle, state, grad=grad)

    def _apply_sparse(self, grad: IndexedSlices, var: Any, state: OptimizerV2State) -> Any:
        return self._fused("SparseApply", var, state, grad=grad.values, indices=grad.indices).op

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor, state: OptimizerV2State) -> Any:
        return self._fused("ResourceSparseApply", handle, state, grad=grad, indices=indices)
