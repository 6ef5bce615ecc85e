"""tf.train.Optimizer: gradients of a loss, and the operation that applies them to variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.trackable import Trackable, TrackableReference
from tfcompat._src.gradients.gradients import gradients
from tfcompat._src.gradients.tape import GradientTape
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import (
    colocate_with,
    control_dependencies,
    executing_eagerly,
    get_collection,
    get_collection_ref,
    get_default_graph,
    init_scope,
    name_scope,
    present_graph,
)  # fmt: skip
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices, convert_to_tensor_or_indexed_slices
from tfcompat._src.ops.array.search import unique
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.groups import group, tuple_
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.train import slot_creator
from tfcompat._src.train.variable_processors import _get_processor, is_eager
from tfcompat._src.variables.assign import assign_add
from tfcompat._src.variables.resource_variable import is_resource_variable
from tfcompat._src.variables.variable import Variable, creator_stack

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _deduplicate_indexed_slices(values: TensorLike, indices: TensorLike) -> tuple[Any, Any]:
    """The sums of `values` with equal `indices`, and the distinct indices in order of appearance."""
    distinct, positions = unique(indices)
    return raw.UnsortedSegmentSum(values, positions, shape_of(distinct)[0]), distinct


def _var_key(var: Any) -> Any:
    container = getattr(var, "_distributed_container", None)
    primary = var if container is None else container.primary
    return primary._unique_id if is_eager(primary) else (primary.op.graph, primary.op.name)


def _graph_of(var: Any) -> Any:
    """The graph of a variable, None for one that is in none."""
    return None if is_eager(var) else var.op.graph


def get_filtered_grad_fn(grad_fn: Callable[..., Any]) -> Callable[..., list[tuple[Any, Any]]]:
    """`grad_fn` without the pairs of a variable and None: variables that another replica's thread has read while this one was watching."""
    return lambda *args, **kwargs: [(gradient, variable) for gradient, variable in grad_fn(*args, **kwargs) if gradient is not None]


@export("train.Optimizer")
class Optimizer(Trackable):
    """Base class of the optimizers.

    A subclass defines `_prepare`, `_create_slots`, `_apply_dense`, `_apply_sparse`, `_resource_apply_dense`,
    `_resource_apply_sparse` and `_finish` as far as it needs them.

    Args:
      use_locking: passed on to the update operations, where it has no further effect: a run updates each variable once.
      name: name of the training operation and of the slots.

    Raises:
      ValueError: the name is empty.
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking, self._name = use_locking, name
        self._slots: dict[str, dict[tuple, Any]] = {}
        self._non_slot_dict: dict[tuple, Any] = {}
        self._deferred_slot_restorations: dict[tuple, list[Any]] = {}

    def get_name(self) -> str:
        return self._name

    def minimize(
        self, loss: Any, global_step: Any = None, var_list: Any = None, gate_gradients: int = GATE_OP,
        aggregation_method: Any = None, colocate_gradients_with_ops: bool = False, name: str | None = None,
        grad_loss: Any = None,
    ) -> Operation:  # fmt: skip
        """The operation that makes one step down the gradient of `loss`: `compute_gradients`, then `apply_gradients`.

        Args:
          loss: a tensor, or a function without arguments that makes one.
          global_step: a variable to add 1 to afterwards.
          var_list: the variables to change; by default all trainable ones.
          gate_gradients: GATE_NONE, GATE_OP or GATE_GRAPH.
          aggregation_method: one of tf.AggregationMethod.
          colocate_gradients_with_ops: places each gradient where its operation is.
          name: node name; by default the optimizer's.
          grad_loss: the gradient of `loss`; by default ones.

        Raises:
          ValueError: there is no variable, or none that `loss` depends on, or one of a type that is not floating.
        """
        grads_and_vars = self.compute_gradients(
            loss, var_list=var_list, gate_gradients=gate_gradients, aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops, grad_loss=grad_loss,
        )  # fmt: skip
        if all(g is None for g, _ in grads_and_vars):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support gradients, "
                f"between variables {[str(v) for _, v in grads_and_vars]} and loss {loss}."
            )
        return self.apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def compute_gradients(
        self, loss: Any, var_list: Any = None, gate_gradients: int = GATE_OP, aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False, grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:  # fmt: skip
        """(gradient, variable) pairs; a gradient is a Tensor, IndexedSlices, or None. See `minimize` for the
        arguments.
        """
        if callable(loss):
            return _gradients_of_function(loss, var_list, grad_loss)
        loss = distribution_context.scaled_loss(loss)
        if executing_eagerly():
            raise RuntimeError(
                "`loss` passed to Optimizer.compute_gradients should be a function when eager execution is enabled."
            )
        if gate_gradients not in (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
            raise ValueError(
                f"gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH.  "
                f"Not {gate_gradients}"
            )
        self._assert_valid_dtypes([loss] if grad_loss is None else [loss, grad_loss])
        if var_list is None:
            found = get_collection(GraphKeys.TRAINABLE_VARIABLES) + get_collection(
                GraphKeys.TRAINABLE_RESOURCE_VARIABLES
            )
        else:
            found = nest.flatten(var_list)
        found += get_collection(GraphKeys._STREAMING_MODEL_PORTS)
        targets = [_get_processor(v).target() for v in found]
        if not found:
            raise ValueError("No variables to optimize.")
        grads = self._gradients(
            loss, targets, grad_ys=grad_loss, gate_gradients=gate_gradients == Optimizer.GATE_OP,
            aggregation_method=aggregation_method, colocate_gradients_with_ops=colocate_gradients_with_ops,
        )  # fmt: skip
        if gate_gradients == Optimizer.GATE_GRAPH:
            grads = tuple_(grads)
        self._assert_valid_dtypes([v for g, v in zip(grads, found) if g is not None and v.dtype != dtypes.resource])
        return list(zip(grads, found))

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Any = None, name: str | None = None
    ) -> Operation:
        """The operation that applies gradients to variables.

        Args:
          grads_and_vars: pairs as `compute_gradients` gives them.
          global_step: a variable to add 1 to afterwards.
          name: node name; by default the optimizer's.

        Raises:
          TypeError: a gradient is no Tensor, IndexedSlices or None. ValueError: there is no variable or no gradient.
        """
        pairs = [(_as_gradient(g), v) for g, v in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        for _, variable in pairs:
            _get_processor(variable).target()
        updated = [v for g, v in pairs if g is not None]
        if not updated:
            raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v in pairs]}.")
        if distribution_context.strategy_in_use() is not None:
            given = [(g, v) for g, v in pairs if g is not None]
            replica_context = distribution_context.current().replica_context
            if replica_context is None:
                raise RuntimeError(
                    "apply_gradients() cannot be called in a cross-replica context. Use "
                    "`tf.distribute.Strategy.experimental_run_v2` to enter replica context."
                )
            return replica_context.merge_call(self._distributed_apply, args=(given, global_step, name))
        with init_scope():
            self._create_slots(updated)
        updates = []
        with name_scope(name, self._name) as scope:
            self._prepare()
            for grad, variable in pairs:
                if grad is not None:
                    scope_name = "" if executing_eagerly() else variable.op.name
                    with name_scope("update_" + scope_name), colocate_with(variable):
                        updates.append(self._update(grad, variable))
            if global_step is None:
                train_op = self._finish(updates, scope)
            else:
                with control_dependencies([self._finish(updates, "update")]), colocate_with(global_step):
                    train_op = _increment(global_step, scope)
        if executing_eagerly():
            return train_op
        if isinstance(train_op, Tensor):
            train_op = train_op.op
        collection = get_collection_ref(GraphKeys.TRAIN_OP)
        if train_op not in collection:
            collection.append(train_op)
        return train_op

    def _distributed_apply(
        self, strategy: Any, grads_and_vars: list[tuple[Any, Any]], global_step: Any = None, name: str | None = None
    ) -> Any:
        """As `apply_gradients`, for the sums over the replicas of a strategy's gradients."""
        extended, found = strategy.extended, [v for _, v in grads_and_vars]
        grads = extended.batch_reduce_to("SUM", grads_and_vars)
        with init_scope():
            self._create_slots(found)

        def update(var: Any, grad: object) -> Any:
            with name_scope("update_" + var.op.name):
                return self._update(grad, var)

        with name_scope(name, self._name) as scope:
            self._prepare()
            updates = [op for g, v in zip(grads, found) for op in extended.update(v, update, args=(g,), group=False)]
            finished = extended.update_non_slot(
                extended.non_slot_devices(found), lambda: self._finish(updates, "update"), group=False
            )
            if global_step is None:
                train_op = strategy.group(finished, name=scope)
            else:
                with control_dependencies(finished):
                    train_op = extended.update(global_step, lambda v: v.assign_add(1))
        collection = get_collection_ref(GraphKeys.TRAIN_OP)
        if not any(train_op is op for op in collection):
            collection.append(train_op)
        return train_op

    def _gradients(self, loss: Any, targets: list[Any], **options: Any) -> list[Any]:
        """The gradients of `loss` for tensors and variables; `options` are arguments of tf.gradients."""
        return gradients(loss, targets, **options)

    def _update(self, grad: Any, var: Any, *state: Any) -> Any:
        """Returns the operation that changes one variable, and keeps its constraint; `state` is passed on to the methods that make it."""
        return _get_processor(var).update_op(self, grad, *state)

    # ---- slots ----

    def get_slot(self, var: Any, name: str) -> Any:
        """The slot `name` of a variable, or None where there is none."""
        return self._slots.get(name, {}).get(_var_key(var))

    def get_slot_names(self) -> list[str]:
        """The names of the slots that exist, sorted."""
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """The variables that this optimizer made, in the default graph where there is one, sorted by name."""
        graph = present_graph()
        made = [*self._non_slot_variables(), *[s for slots in self._slots.values() for s in slots.values()]]
        return sorted((v for v in made if graph is None or _graph_of(v) is graph), key=lambda v: v.name)

    def _slot_dict(self, slot_name: str) -> dict[tuple, Any]:
        return self._slots.setdefault(slot_name, {})

    def _slot(self, var: object, slot_name: str, make: Callable[[], Any]) -> Any:
        slots, key = self._slot_dict(slot_name), _var_key(var)
        if key not in slots:
            slots[key] = make()
            waiting = self._deferred_slot_restorations.pop((slot_name, key), ())
            for position in sorted(waiting, key=lambda p: p.restore_uid, reverse=True):
                position.restore(slots[key])
        return slots[key]

    def _get_or_make_slot(self, var: object, val: object, slot_name: str, op_name: str) -> Any:
        """The slot of a variable, made with the value `val` at first."""
        return self._slot(var, slot_name, lambda: slot_creator.create_slot(var, val, op_name))

    def _get_or_make_slot_with_initializer(
        self, var: Any, initializer: Any, shape: Any, dtype: Any, slot_name: str, op_name: str
    ) -> Any:
        """The slot of a variable, made with `initializer` at first."""
        return self._slot(
            var, slot_name, lambda: slot_creator.create_slot_with_initializer(var, initializer, shape, dtype, op_name)
        )

    def _zeros_slot(self, var: object, slot_name: str, op_name: str) -> Any:
        """The slot of a variable, made as zeros at first."""
        return self._slot(var, slot_name, lambda: slot_creator.create_zeros_slot(var, op_name))

    def _create_non_slot_variable(self, initial_value: object, name: str, colocate_with: object) -> Any:
        """A variable of the optimizer that belongs to no one variable, one per graph."""
        key = (name, _graph_of(colocate_with))
        if key not in self._non_slot_dict:
            with slot_creator.placed_with(colocate_with):
                self._non_slot_dict[key] = Variable(
                    initial_value, name=name, trainable=False, use_resource=is_resource_variable(colocate_with)
                )
            self._handle_deferred_dependencies(name=name, trackable=self._non_slot_dict[key])
        return self._non_slot_dict[key]

    def _get_non_slot_variable(self, name: str, graph: object = None) -> Any:
        return self._non_slot_dict.get((name, graph))

    def _non_slot_variables(self) -> Iterable[Any]:
        return self._non_slot_dict.values()

    # ---- checkpoints of objects ----

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        graph = present_graph()
        found = [TrackableReference(name, v) for (name, g), v in self._non_slot_dict.items() if g is graph]
        return [*super()._checkpoint_dependencies, *sorted(found, key=lambda reference: reference.name)]

    def _lookup_dependency(self, name: str) -> Any:
        found = super()._lookup_dependency(name)
        return self._get_non_slot_variable(name, present_graph()) if found is None else found

    def _create_or_restore_slot_variable(self, slot_variable_position: Any, slot_name: str, variable: Any) -> None:
        """Restores a slot from a checkpoint, now or when it is made."""
        slot = self.get_slot(variable, slot_name)
        waits = creator_stack(get_default_graph())  # what makes a variable here, a template say, would take the slot for its own
        if slot is None and executing_eagerly() and slot_variable_position.is_simple_variable() and not waits:
            value = convert_to_tensor(slot_variable_position.saved_value())
            slot = self._get_or_make_slot(variable, value, slot_name, self._name)
        if slot is not None:
            slot_variable_position.restore(slot)
        else:
            self._deferred_slot_restorations.setdefault((slot_name, _var_key(variable)), []).append(slot_variable_position)

    # ---- types ----

    def _assert_valid_dtypes(self, tensors: Iterable[Any]) -> None:
        valid = self._valid_dtypes()
        for t in tensors:
            if t.dtype.base_dtype not in valid:
                raise ValueError(f"Invalid type {t.dtype.base_dtype!r} for {t.name}, expected: {list(valid)}.")

    def _valid_dtypes(self) -> set:
        """The types that losses, variables and gradients may have."""
        return {dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64}

    # ---- what subclasses define ----

    def _create_slots(self, var_list: list[Any]) -> None:
        """Makes the slots of the variables."""

    def _prepare(self) -> None:
        """Makes the tensors of the hyperparameters, inside the name scope of the training operation."""

    def _rule(self, var: Any, as_type: Callable[[Any], Tensor]) -> tuple[str, dict[str, str], dict[str, Any]]:
        """Of an update that is one op type in four variants: the op type without its prefix, the slot of each of its slot inputs, and its
        other arguments without the gradient.

        Args:
          var: the variable. as_type: casts a hyperparameter to the type of the update.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no update of {var}.")

    def _apply_rule(self, variant: str, var: Any, dtype: dtypes.DType, **gradient: Any) -> Any:
        op_type, slots, settings = self._rule(var, lambda value: cast(value, dtype))
        variables = {"var": var, **{key: self.get_slot(var, name) for key, name in slots.items()}}
        if variant.startswith("Resource"):
            variables = {key: v.handle for key, v in variables.items()}
        return raw.function(variant + op_type)(**variables, **settings, **gradient, use_locking=self._use_locking)

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        """The update of a reference variable by a Tensor."""
        return self._apply_rule("Apply", var, var.dtype.base_dtype, grad=grad).op

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        """The update of a resource variable by a Tensor."""
        return self._apply_rule("ResourceApply", handle, grad.dtype.base_dtype, grad=grad)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        """The update of a reference variable by IndexedSlices with distinct indices."""
        return self._apply_rule("SparseApply", var, var.dtype.base_dtype, grad=grad.values, indices=grad.indices).op

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        """The update of a resource variable by rows with distinct indices."""
        return self._apply_rule("ResourceSparseApply", handle, grad.dtype.base_dtype, grad=grad, indices=indices)

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any, *state: Any) -> Any:
        """As `_apply_sparse`; equal indices are added up first."""
        values, indices = _deduplicate_indexed_slices(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(values, indices, grad.dense_shape), var, *state)

    def _resource_apply_sparse_duplicate_indices(self, grad: Tensor, handle: Any, indices: Tensor, *state: Any) -> Any:
        """As `_resource_apply_sparse`; equal indices are added up first."""
        values, distinct = _deduplicate_indexed_slices(grad, indices)
        return self._resource_apply_sparse(values, handle, distinct, *state)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        """The operation, of the name `name_scope`, that is done when the updates are."""
        return group(*update_ops, name=name_scope)

    def _call_if_callable(self, param: Any) -> Any:
        return param() if callable(param) else param

    def _hyperparameter(self, value: object, name: str) -> Tensor:
        """The tensor of a hyperparameter: a number, a Tensor, or a function that gives one."""
        return convert_to_tensor(self._call_if_callable(value), name=name)


def _as_gradient(grad: object) -> Any:
    if grad is None:
        return None
    try:
        return convert_to_tensor_or_indexed_slices(grad)
    except TypeError:
        raise TypeError(f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {grad}") from None


def _increment(global_step: Any, scope: str) -> Any:
    """Adds 1 to a variable, by an operation called as `scope` is."""
    if is_resource_variable(global_step):
        return raw.AssignAddVariableOp(global_step.handle, convert_to_tensor(1, dtype=global_step.dtype), name=scope)
    return assign_add(getattr(global_step, "_variable", global_step), 1, name=scope)


def _gradients_of_function(loss: Callable[[], Any], var_list: object, grad_loss: object) -> list[tuple[Any, Any]]:
    """As `compute_gradients`, for a loss that a function makes; by default for the resource variables that it reads."""
    with GradientTape() as tape:
        if var_list is not None:
            tape.watch(var_list)
        value = loss()
    found = list(tape.watched_variables()) if var_list is None else nest.flatten(var_list)
    with control_dependencies([value]):
        grads = tape.gradient(value, found, grad_loss)
    return list(zip(grads, found))
