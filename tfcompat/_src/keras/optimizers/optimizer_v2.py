"""The base of tf.keras.optimizers: hyperparameters, slots, and the operation that applies gradients to variables."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.trackable import Trackable
from tfcompat._src.distribute.default_strategy import get_replica_context, get_strategy
from tfcompat._src.distribute.reduce_util import ReduceOp
from tfcompat._src.gradients.gradients import gradients
from tfcompat._src.gradients.tape import GradientTape
from tfcompat._src.graph.scopes import (
    control_dependencies,
    device,
    executing_eagerly,
    get_default_graph,
    init_scope,
    name_scope,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras import initializers
from tfcompat._src.keras.backend.session import get_graph, track_variable, unique_object_name
from tfcompat._src.keras.backend.values import batch_get_value, batch_set_value, get_value, set_value
from tfcompat._src.keras.engine.base_layer_utils import make_variable
from tfcompat._src.keras.engine.layer_weights import check_trainable
from tfcompat._src.keras.optimizers import schedules
from tfcompat._src.keras.utils.generic_utils import to_snake_case
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.clip import clip_by_norm, clip_by_value
from tfcompat._src.platform import logging
from tfcompat._src.train.optimizer import _deduplicate_indexed_slices
from tfcompat._src.train.schedules import LearningRateSchedule
from tfcompat._src.variables import assign
from tfcompat._src.variables.policies import VariableAggregation, VariableSynchronization
from tfcompat._src.variables.variable import Variable, creator_stack

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

_KEYWORDS = ("clipnorm", "clipvalue", "lr", "decay")


@export("keras.optimizers.Optimizer")
class OptimizerV2(Trackable):
    """Base class of the optimizers of Keras.

    A subclass names its hyperparameters with `_set_hyper` in its constructor, and defines `_create_slots`,
    `_resource_apply_dense`, `_resource_apply_sparse` and `get_config`.

    Args:
      name: name of the operations and of the variables.
      clipnorm: largest norm of each gradient.
      clipvalue: largest magnitude of each element of a gradient.
      lr: old name of `learning_rate`.
      decay: c in learning_rate / (1 + c * iterations).

    Raises:
      TypeError: another keyword is given.
      ValueError: one of them is negative.
    """

    def __init__(self, name: str | None, **kwargs: Any) -> None:
        for keyword, value in kwargs.items():
            if keyword not in _KEYWORDS:
                raise TypeError(f"Unexpected keyword argument passed to optimizer: {keyword}")
            if value < 0:
                raise ValueError(f"Expected {keyword} >= 0, received: {value}")
        self._use_locking = True
        self._init_set_name(name)
        self._hyper: dict[str, Any] = {}
        self._slots: dict[str, dict[str, Any]] = {}
        self._slot_names: list[str] = []
        self._weights: list[Any] = []
        self._iterations: Any = None
        self._deferred_slot_restorations: dict[tuple[str, str], list[Any]] = {}
        self._initial_decay = kwargs.get("decay", 0.0)
        for limit in ("clipnorm", "clipvalue"):
            if limit in kwargs:
                setattr(self, limit, kwargs[limit])
        self._hypers_created = False

    def _init_set_name(self, name: str | None, zero_based: bool = True) -> None:
        self._name = name or unique_object_name(to_snake_case(type(self).__name__), zero_based=zero_based)

    # ---- a step ----

    def minimize(self, loss: Callable[[], Any], var_list: object, grad_loss: object = None, name: str | None = None) -> Any:
        """The operation that makes one step down the gradient of a loss.

        Args:
          loss: a function without arguments that makes the loss.
          var_list: the variables to change, or a function that gives them after `loss` was called.
          grad_loss: the gradient of the loss; by default ones.
          name: name scope of the updates; by default the optimizer's name.

        Raises:
          ValueError: no variable has a gradient, or one is not of a floating type.
        """
        return self.apply_gradients(self._compute_gradients(loss, var_list, grad_loss), name=name)

    def _compute_gradients(self, loss: Callable[[], Any], var_list: Any, grad_loss: Any = None) -> list[tuple[Any, Any]]:
        with GradientTape() as tape:
            if not callable(var_list):
                tape.watch(var_list)
            value = loss()
        variables = nest.flatten(var_list() if callable(var_list) else var_list)
        with name_scope(f"{self._name}/gradients"):
            grads = self._clipped(tape.gradient(value, variables, grad_loss))
        pairs = list(zip(grads, variables))
        self._require_valid_dtypes(pairs)
        return pairs

    def get_gradients(self, loss: Tensor, params: Any) -> list[Any]:
        """The gradients of `loss` for variables; ValueError where one is None."""
        variables = nest.flatten(params)
        with get_graph().as_default(), name_scope(f"{self._name}/gradients"):
            grads = gradients(loss, variables)
            for grad, variable in zip(grads, variables):
                if grad is None:
                    raise ValueError(
                        f"Variable {variable} has `None` for gradient. Please make sure that all of your ops have a "
                        "gradient defined (i.e. are differentiable). Common ops without gradient: K.argmax, K.round, "
                        "K.eval."
                    )
            return self._clipped(grads)

    def _clipped(self, grads: list[Any]) -> list[Any]:
        if hasattr(self, "clipnorm"):
            grads = [clip_by_norm(g, self.clipnorm) for g in grads]
        if hasattr(self, "clipvalue"):
            grads = [clip_by_value(g, -self.clipvalue, self.clipvalue) for g in grads]
        return grads

    def get_updates(self, loss: Tensor, params: Any) -> list[Any]:
        """The operation of one step, in a list."""
        pairs = list(zip(self.get_gradients(loss, params), params))
        self._require_valid_dtypes(pairs)
        return [self.apply_gradients(pairs)]

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Any]], name: str | None = None) -> Any:
        """The operation that applies gradients, and then adds 1 to `iterations`.

        Args:
          grads_and_vars: pairs; those without a gradient are left out with a warning.
          name: name scope of the updates; by default the optimizer's name.

        Raises:
          ValueError: no variable has a gradient.
        """
        pairs = _with_gradients(grads_and_vars)
        variables = [v for _, v in pairs]
        with name_scope(self._name):
            with init_scope():
                self.iterations  # noqa: B018
                self._create_hypers()
                self._create_slots(variables)
            apply_state = self._prepare(variables)
            return get_replica_context().merge_call(
                functools.partial(self._distributed_apply, apply_state=apply_state), args=(pairs,), kwargs={"name": name}
            )

    def _distributed_apply(self, distribution: Any, grads_and_vars: Any, name: str | None, apply_state: object) -> Any:
        extended = distribution.extended
        grads = extended.batch_reduce_to(ReduceOp.SUM, grads_and_vars)
        update = functools.partial(self._update, apply_state)
        updates: list[Any] = []
        with name_scope(name or self._name):
            for grad, (_, var) in zip(grads, grads_and_vars):
                with name_scope(f"update_{var.op.name}"), extended.colocate_vars_with(var):
                    updates.extend(extended.update(var, update, args=(grad,), group=False))
            with control_dependencies(updates):
                return self._iterations.assign_add(1).op

    def _update(self, apply_state: Any, var: Any, grad: Any) -> Any:
        """The operation that changes one variable, and keeps its constraint."""
        if isinstance(var, Tensor):
            raise NotImplementedError("Trying to update a Tensor ", var)
        if isinstance(grad, IndexedSlices):
            if var.constraint is not None:
                raise RuntimeError("Cannot use a constraint function on a sparse variable.")
            state = _accepted(self._resource_apply_sparse, apply_state)
            return self._resource_apply_sparse_duplicate_indices(grad.values, var, grad.indices, **state)
        update = self._resource_apply_dense(grad, var, **_accepted(self._resource_apply_dense, apply_state))
        if var.constraint is None:
            return update
        with control_dependencies([update]):
            return var.assign(var.constraint(var))

    # ---- what subclasses define ----

    def _create_slots(self, var_list: list[Any]) -> None:
        """Makes the slots of the variables."""

    def _rule(self, c: dict[str, Any]) -> tuple[str, dict[str, str], dict[str, Any]]:
        """Of an update that is one op type: the op type without its prefix, the slot of each input that is one, and the inputs but the
        gradient.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no update of variables.")

    def _resource_apply_dense(self, grad: Tensor, handle: Any, apply_state: Any = None) -> Any:
        """The update of a variable by a Tensor."""
        op_type, slots, settings = self._rule(self._coefficients(handle, apply_state))
        return self._fused(op_type, handle, slots, {**settings, "grad": grad})

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor, apply_state: Any = None) -> Any:
        """The update of a variable by rows with distinct indices."""
        op_type, slots, settings = self._rule(self._coefficients(handle, apply_state))
        return self._fused(op_type, handle, slots, {**settings, "grad": grad}, indices)

    def _resource_apply_sparse_duplicate_indices(self, grad: Tensor, handle: Any, indices: Tensor, **kwargs: Any) -> Any:
        """As `_resource_apply_sparse`; equal indices are added up first."""
        rows, distinct = _deduplicate_indexed_slices(grad, indices)
        return self._resource_apply_sparse(rows, handle, distinct, **kwargs)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, as values that JSON can hold."""
        limits = {limit: getattr(self, limit) for limit in ("clipnorm", "clipvalue") if hasattr(self, limit)}
        return {"name": self._name, **limits}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> OptimizerV2:
        """An optimizer from what `get_config` gave; `lr` stands for `learning_rate`."""
        if "lr" in config:
            config["learning_rate"] = config.pop("lr")
        if isinstance(config.get("learning_rate"), dict):
            config["learning_rate"] = schedules.deserialize(config["learning_rate"], custom_objects=custom_objects)
        return cls(**config)

    # ---- tensors that the updates share ----

    def _prepare(self, var_list: list[Any]) -> dict[tuple, dict[str, Any]]:
        """The tensors that updates need, by device and dtype of the variables."""
        keys = [(where, v.dtype.base_dtype) for v in var_list for where in getattr(v, "devices", None) or [v.device]]
        apply_state: dict[tuple, dict[str, Any]] = {key: {} for key in keys}
        for var_device, var_dtype in apply_state:
            with device(var_device):
                self._prepare_local(var_device, var_dtype, apply_state)
        return apply_state

    def _prepare_local(self, var_device: str, var_dtype: dtypes.DType, apply_state: Any) -> None:
        if "learning_rate" in self._hyper:
            apply_state[var_device, var_dtype]["lr_t"] = identity(self._decayed_lr(var_dtype))

    def _fallback_apply_state(self, var_device: str, var_dtype: dtypes.DType) -> dict[str, Any]:
        apply_state: dict[tuple, dict[str, Any]] = {(var_device, var_dtype): {}}
        self._prepare_local(var_device, var_dtype, apply_state)
        return apply_state[var_device, var_dtype]

    def _coefficients(self, var: Any, apply_state: Any) -> dict[str, Any]:
        """The tensors that the update of `var` needs."""
        key = var.device, var.dtype.base_dtype
        return (apply_state or {}).get(key) or self._fallback_apply_state(*key)

    def _decayed_lr(self, var_dtype: dtypes.DType) -> Tensor:
        """The learning rate of this step."""
        rate = self._get_hyper("learning_rate", var_dtype)
        if isinstance(rate, LearningRateSchedule):
            rate = cast(rate(cast(self.iterations, var_dtype)), var_dtype)
        if self._initial_decay > 0.0:
            step = cast(self.iterations, var_dtype)
            rate = rate / (1.0 + self._get_hyper("decay", var_dtype) * step)
        return rate

    # ---- hyperparameters ----

    def _set_hyper(self, name: str, value: object) -> None:
        """Names a hyperparameter, or gives it a new value: a number, a tensor, a function or a schedule."""
        if isinstance(value, Trackable):
            self._track_trackable(value, name, overwrite=True)
        before = self._hyper.get(name)
        if isinstance(before, Variable) and not isinstance(value, LearningRateSchedule):
            set_value(before, value)
        else:
            self._hyper[name] = value

    def _get_hyper(self, name: str, dtype: object = None) -> Any:
        """A hyperparameter as variable, tensor or schedule, and cast where `dtype` is given."""
        if not self._hypers_created:
            self._create_hypers()
        value = self._hyper[name]
        if isinstance(value, LearningRateSchedule):
            return value
        if callable(value):
            value = value()
        return cast(value, dtype) if dtype else value

    def _create_hypers(self) -> None:
        """Makes variables of the hyperparameters that are numbers."""
        if self._hypers_created:
            return
        for name, value in sorted(self._hyper.items()):
            if not isinstance(value, (Tensor, Variable)) and not callable(value):
                self._hyper[name] = self.add_weight(
                    name, shape=[], trainable=False, initializer=value, aggregation=VariableAggregation.ONLY_FIRST_REPLICA
                )
        self._hypers_created = True

    def _serialize_hyperparameter(self, hyperparameter_name: str) -> Any:
        value = self._hyper[hyperparameter_name]
        if isinstance(value, LearningRateSchedule):
            return schedules.serialize(value)
        if callable(value):
            return value()
        return get_value(value) if isinstance(value, (Tensor, Variable)) else value

    def _serialized(self, *names: str) -> dict[str, Any]:
        """The configuration of hyperparameters and attributes."""
        return {n: self._serialize_hyperparameter(n) if n in self._hyper else getattr(self, n) for n in names}

    def __getattr__(self, name: str) -> Any:
        hyper = self.__dict__.get("_hyper", {})
        name = "learning_rate" if name == "lr" else name
        if name in hyper:
            return self._get_hyper(name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: object) -> None:
        name = "learning_rate" if name == "lr" else name
        if name in self.__dict__.get("_hyper", {}):
            self._set_hyper(name, value)
        else:
            super().__setattr__(name, value)

    # ---- variables ----

    @property
    def iterations(self) -> Any:
        """The int64 variable that counts the steps."""
        if self._iterations is None:
            self._iterations = self.add_weight(
                "iter", shape=[], dtype=dtypes.int64, trainable=False, aggregation=VariableAggregation.ONLY_FIRST_REPLICA
            )
            self._weights.append(self._iterations)
        return self._iterations

    @iterations.setter
    def iterations(self, variable: Any) -> None:
        if self._iterations is not None:
            raise RuntimeError(
                "Cannot set `iterations` to a new Variable after the Optimizer weights have been created"
            )
        self._iterations = variable
        self._weights.append(variable)

    def add_weight(
        self, name: str, shape: object, dtype: DTypeLike | None = None, initializer: object = "zeros", trainable: bool | None = None,
        synchronization: object = VariableSynchronization.AUTO, aggregation: object = VariableAggregation.NONE,
    ) -> Any:  # fmt: skip
        """A new variable of the optimizer; ValueError where it is trainable and synchronized on read."""
        if isinstance(initializer, str) or callable(initializer):
            initializer = initializers.get(initializer)
        variable = self._add_variable_with_custom_getter(
            name=name, shape=shape, getter=make_variable, overwrite=True, initializer=initializer,
            dtype=dtypes.float32 if dtype is None else dtypes.as_dtype(dtype),
            trainable=check_trainable(trainable, synchronization),
            use_resource=True, synchronization=synchronization, aggregation=aggregation,
        )  # fmt: skip
        track_variable(variable)
        return variable

    def add_slot(self, var: Any, slot_name: str, initializer: Any = "zeros") -> Any:
        """The slot of a variable, made at first with an initializer or a value."""
        if slot_name not in self._slot_names:
            self._slot_names.append(slot_name)
        key = _var_key(var)
        slots = self._slots.setdefault(key, {})
        if slot_name in slots:
            return slots[slot_name]
        if isinstance(initializer, str) or callable(initializer):
            initializer = functools.partial(initializers.get(initializer), shape=var.shape, dtype=var.dtype.base_dtype)
        with get_strategy().extended.colocate_vars_with(var):
            slot = Variable(
                name=f"{var._shared_name}/{slot_name}", dtype=var.dtype.base_dtype, trainable=False, initial_value=initializer,
                use_resource=True,
            )  # fmt: skip
        track_variable(slot)
        slots[slot_name] = slot
        waiting = self._deferred_slot_restorations.pop((slot_name, key), ())
        for position in sorted(waiting, key=lambda p: p.restore_uid, reverse=True):
            position.restore(slot)
        self._weights.append(slot)
        return slot

    def get_slot(self, var: object, slot_name: str) -> Any:
        """The slot of a variable; KeyError where there is none."""
        return self._slots[_var_key(var)][slot_name]

    def get_slot_names(self) -> list[str]:
        """The names of the slots."""
        return self._slot_names

    def variables(self) -> list[Any]:
        """The variables of the optimizer, in order of creation."""
        return self._weights

    weights = property(lambda self: self._weights)

    def get_weights(self) -> list[np.ndarray]:
        """The values of the variables."""
        return batch_get_value(self.weights)

    def set_weights(self, weights: list[Any]) -> None:
        """Sets the values of the variables; ValueError where number or shapes differ."""
        variables = self.weights
        if len(variables) != len(weights):
            raise ValueError(
                f"You called `set_weights(weights)` on optimizer {self._name} with a  weight list of length "
                f"{len(weights)}, but the optimizer was expecting {len(variables)} weights. Provided weights: "
                f"{str(weights)[:50]}..."
            )
        for old, new in zip(batch_get_value(variables), weights):
            if old.shape != new.shape:
                raise ValueError(
                    f"Optimizer weight shape {old.shape} not compatible with provided weight shape {new.shape}"
                )
        batch_set_value(list(zip(variables, weights)))

    def _create_or_restore_slot_variable(self, slot_variable_position: Any, slot_name: str, variable: Any) -> None:
        """Restores a slot from a checkpoint, now or when it is made."""
        key = _var_key(variable)
        slot = self._slots.get(key, {}).get(slot_name)
        waits = creator_stack(get_default_graph())  # what makes a variable here, a template say, would take the slot for its own
        if slot is None and executing_eagerly() and slot_variable_position.is_simple_variable() and not waits:
            slot = self.add_slot(variable, slot_name, slot_variable_position.saved_value())
        if slot is not None:
            slot_variable_position.restore(slot)
        else:
            self._deferred_slot_restorations.setdefault((slot_name, key), []).append(slot_variable_position)

    # ---- parts of updates ----

    def _fused(
        self, op_type: str, var: Any, slots: dict[str, str], settings: dict[str, Any], indices: Tensor | None = None
    ) -> Any:
        """The update that is one op: ResourceApply<op_type>, or ResourceSparseApply<op_type> of rows.

        Args:
          slots: the slot of each input that is one. settings: the other inputs and attributes.
        """
        handles = {"var": var.handle, **{i: self.get_slot(var, name).handle for i, name in slots.items()}}
        prefix, rows = ("ResourceApply", {}) if indices is None else ("ResourceSparseApply", {"indices": indices})
        return raw.function(prefix + op_type)(**handles, **settings, **rows, use_locking=self._use_locking)

    def _assign(self, variable: TensorLike, value: TensorLike) -> Any:
        return assign.assign(variable, value, use_locking=self._use_locking)

    def _resource_scatter_add(self, x: Any, i: Tensor, v: Tensor) -> Tensor:
        with control_dependencies([raw.ResourceScatterAdd(x.handle, i, v)]):
            return x.value()

    def _resource_scatter_update(self, x: Any, i: Tensor, v: Tensor) -> Tensor:
        with control_dependencies([raw.ResourceScatterUpdate(x.handle, i, v)]):
            return x.value()

    def _decay_and_add(self, slot: object, decay: Tensor, rows: Tensor, indices: Tensor) -> tuple[Tensor, Callable]:
        """`slot * decay` with `rows` added: the whole of it, and a function that gives its rows at `indices`."""
        decayed = self._assign(slot, slot * decay)
        with control_dependencies([decayed]):
            whole = self._resource_scatter_add(slot, indices, rows)

        def at_indices() -> Tensor:
            with control_dependencies([decayed]):
                return gather(whole, indices)

        return whole, at_indices

    # ---- types ----

    def _require_valid_dtypes(self, pairs: list[tuple[Any, Any]]) -> None:
        self._assert_valid_dtypes([v for g, v in pairs if g is not None and v.dtype != dtypes.resource])

    def _assert_valid_dtypes(self, tensors: Iterable[Any]) -> None:
        valid = self._valid_dtypes()
        for t in tensors:
            if t.dtype.base_dtype not in valid:
                raise ValueError(f"Invalid type {t.dtype.base_dtype!r} for {t.name}, expected: {list(valid)}.")

    def _valid_dtypes(self) -> set:
        """The types that losses, variables and gradients may have."""
        return {dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64}

    def _call_if_callable(self, param: object) -> Any:
        return param() if callable(param) else param


class RestoredOptimizer(OptimizerV2):
    """The variables of an optimizer that was read from a SavedModel; it makes no updates."""

    def __init__(self) -> None:
        super().__init__("RestoredOptimizer")
        self._hypers_created = True

    def get_config(self) -> dict[str, Any]:
        raise NotImplementedError("Optimizers that were read from a SavedModel have no configuration.")


def _accepted(function: Callable, apply_state: object) -> dict[str, Any]:
    """The argument `apply_state`, where `function` takes it."""
    return {"apply_state": apply_state} if "apply_state" in inspect.signature(function).parameters else {}


def _with_gradients(grads_and_vars: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, Any], ...]:
    pairs = tuple(grads_and_vars)
    found = tuple((g, v) for g, v in pairs if g is not None)
    if pairs and not found:
        raise ValueError(f"No gradients provided for any variable: {[v.name for _, v in pairs]}.")
    without = [v.name for g, v in pairs if g is None]
    if without:
        logging.warning("Gradients do not exist for variables %s when minimizing the loss.", without)
    return found


def _var_key(var: Any) -> str:
    """What stands for a variable in `_slots`: the primary component's name where it is distributed."""
    container = getattr(var, "_distributed_container", None)
    primary = var if container is None else container
    return primary._shared_name if getattr(primary, "_in_graph_mode", True) else primary._unique_id
