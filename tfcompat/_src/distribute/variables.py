"""Variables of a strategy: one component per device, that plain use picks from."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.trackable import VARIABLE_VALUE_KEY
from tfcompat._src.distribute.device_map import DeviceMap, ReplicaDeviceMap, SingleDeviceMap
from tfcompat._src.distribute.reduce_util import ReduceOp
from tfcompat._src.distribute.values import DistributedValues, Mirrored, select_replica
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.scopes import add_to_collections, device, get_collection_ref
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.control.groups import group
from tfcompat._src.train.saveable_object import SaveableObject, SaveSpec
from tfcompat._src.train.saveable_object_util import read_on_cpu
from tfcompat._src.variables.policies import VariableAggregation, VariableSynchronization
from tfcompat._src.variables.resource_variable import BaseResourceVariable

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation


class DistributedVariable(DistributedValues, BaseResourceVariable):
    """A variable with components on several devices; in a replica it is that replica's component.

    Args:
      strategy: the strategy that it was made under.
      device_map: the DeviceMap of the components.
      values: the components, resource variables.
      aggregation: how values that replicas assign are combined.
      logical_device: the number of the map's logical device.
    """

    def __init__(
        self, strategy: Any, device_map: DeviceMap, values: Sequence[BaseResourceVariable], aggregation: VariableAggregation,
        logical_device: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(device_map, values, logical_device)
        self._strategy, self._aggregation_mode = strategy, aggregation
        # What initializes all components at once, such as reading a checkpoint; else each has its own initializer.
        self._common_initializer: Operation | None = None
        for component in values:
            component._distributed_container, component._strategy = self, strategy

    def _set_initial_value(self, value: Tensor) -> None:
        self.primary._initial_value = value

    def _set_initializer(self, initializer: Operation) -> None:
        self._common_initializer = initializer

    @property
    def _here(self) -> BaseResourceVariable:
        """The component that plain use means, the first one where all replicas are meant."""
        return self._in_use(lambda: self.primary)

    _distributed_container = property(lambda self: self)
    handle = _handle = property(lambda self: self._here._handle)
    op = property(lambda self: self._here.op)
    _graph_element = property(lambda self: self._here._graph_element)
    _cached_value = property(lambda self: self._here._cached_value)
    _initial_value = property(lambda self: self.primary._initial_value, _set_initial_value)
    _initializer_op = property(lambda self: self.initializer, _set_initializer)
    _constraint = property(lambda self: self.primary._constraint)
    _trainable = property(lambda self: self.primary._trainable)
    _synchronization = property(lambda self: self.primary._synchronization)
    _aggregation = property(lambda self: self._aggregation_mode)
    _handle_name = property(lambda self: self.primary._handle_name)
    _shape = property(lambda self: self.primary._shape)
    _dtype = property(lambda self: self.primary.dtype)
    _distribute_strategy = property(lambda self: self._strategy)
    distribute_strategy = _distribute_strategy

    @property
    def initializer(self) -> Operation | None:
        """An operation that initializes every component."""
        return self._common_initializer or group(tuple(v.initializer for v in self._values))

    def is_initialized(self, name: str | None = None) -> Tensor:
        """A bool scalar: whether every component has a value."""
        found = self._values[0].is_initialized(*([name] if len(self._values) == 1 else []))
        for position, component in enumerate(self._values[1:], 2):
            found = raw.LogicalAnd(found, component.is_initialized(), name=name if position == len(self._values) else None)
        return found

    def _get_cross_replica(self) -> Any:
        return self.primary

    def _as_graph_element(self) -> Any:
        found = self.get()
        return found if isinstance(found, Tensor) else found._as_graph_element()

    def value(self) -> Tensor:
        return self._here.value()

    def read_value(self) -> Tensor:
        has_no_scope = distribution_context.current() is not None or self._distribute_strategy is None
        with contextlib.nullcontext() if has_no_scope else self._distribute_strategy.scope():
            return raw.Identity(convert_to_tensor(self.get()))

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The VariableDef message of the first component."""
        return self.primary.to_proto(export_scope)

    @property
    def sparse_read(self) -> Any:
        """Not there, as in 1.15: tf.gather reads the variable, and then gathers."""
        raise AttributeError("sparse_read")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    __repr__ = DistributedValues.__repr__
    __hash__ = BaseResourceVariable.__hash__

    # ---- updates ----

    def _change(self, change: Callable, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def assign(self, *args: Any, **kwargs: Any) -> Any:
        """Replaces the value; in a replica, by what the aggregation makes of all replicas' values."""
        return self._change(lambda v, *a, **k: v.assign(*a, **k), *args, **kwargs)

    def assign_add(self, *args: Any, **kwargs: Any) -> Any:
        """Adds to the value; in a replica, what the aggregation makes of all replicas' values."""
        return self._change(lambda v, *a, **k: v.assign_add(*a, **k), *args, **kwargs)

    def assign_sub(self, *args: Any, **kwargs: Any) -> Any:
        """Subtracts from the value; in a replica, what the aggregation makes of all replicas' values."""
        return self._change(lambda v, *a, **k: v.assign_sub(*a, **k), *args, **kwargs)

    def _scatter(self, kind: str, sparse_delta: object, use_locking: bool, name: str | None) -> Any:
        return self._change(lambda v, delta: v._scatter(kind, delta, use_locking, name), sparse_delta)


class MirroredVariable(DistributedVariable, Mirrored):
    """A variable whose components are kept equal."""

    def _change(self, change: Callable, *args: Any, **kwargs: Any) -> Any:
        extended = self._distribute_strategy.extended
        mode = distribution_context.current()
        if mode is None:
            with self._distribute_strategy.scope():
                return extended.update(self, change, args=args, kwargs=kwargs)
        if mode.replica_context is None:
            if distribution_context.update_device() is not None:
                return change(self.get(), *args, **kwargs)
            return extended.update(self, change, args=args, kwargs=kwargs)
        if self._aggregation is VariableAggregation.NONE:
            raise ValueError(
                f"You must specify an aggregation method to update a {type(self).__name__} in Replica Context. "
                f"The replicas may assign different values to {self.name}, whose components must stay equal: make it "
                "with tf.Variable(..., aggregation=tf.VariableAggregation.SUM) or another aggregation."
            )

        def merge(strategy: Any, value: Any, *others: Any, **kwargs: Any) -> Any:
            return strategy.extended.update(self, change, args=(self._aggregated(strategy, value), *others), kwargs=kwargs)

        return mode.replica_context.merge_call(merge, args=args, kwargs=kwargs)

    def _aggregated(self, strategy: Any, value: Any) -> Any:
        if self._aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
            return strategy.extended.broadcast_to(strategy.experimental_local_results(value)[0], destinations=self)
        return strategy.extended.reduce_to(ReduceOp.from_variable_aggregation(self._aggregation), value, destinations=self)

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {VARIABLE_VALUE_KEY: lambda name=self._shared_name: _MirroredSaveable(self, read_on_cpu(self.primary), name)}


class AggregatingVariable(MirroredVariable):
    """A variable on one device that several replicas use.

    Args:
      strategy: the strategy that it was made under. v: the resource variable.
      aggregation: how values that replicas assign are combined.
    """

    def __init__(self, strategy: object, v: BaseResourceVariable, aggregation: VariableAggregation) -> None:
        super().__init__(strategy, SingleDeviceMap(v.device), (v,), aggregation)


class SyncOnReadVariable(DistributedVariable):
    """A variable whose components differ, and are combined where it is read for all replicas."""

    def _change(self, change: Callable, *args: Any, **kwargs: Any) -> Any:
        mode = distribution_context.current()
        if mode is None or mode.replica_context is not None or distribution_context.update_device() is not None:
            return change(self.get(), *args, **kwargs)
        return self._on_each(change, *args, **kwargs)

    def _on_each(self, change: Callable, *args: Any, **kwargs: Any) -> Operation | None:
        made = []
        for i, (where, component) in enumerate(zip(self._devices, self._values)):
            with device(where):
                made.append(change(component, *select_replica(i, args), **kwargs))
        return group(tuple(made))

    def _in_cross_replica(self) -> bool:
        mode = distribution_context.current()
        return mode is not None and mode.replica_context is None and distribution_context.update_device() is None

    def assign(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Replaces the component of this replica; for all replicas, a summed variable gets equal parts of `value`."""
        if distribution_context.current() is None:
            with self._distribute_strategy.scope():
                return self.assign(value, *args, **kwargs)
        if self._in_cross_replica() and self._aggregation is VariableAggregation.SUM:
            value = value * (1.0 / len(self._devices))
        return super().assign(value, *args, **kwargs)

    def assign_add(self, *args: Any, **kwargs: Any) -> Any:
        """Adds to the component of this replica; ValueError for all replicas where they are summed."""
        self._check_not_summed("assign_add")
        return super().assign_add(*args, **kwargs)

    def assign_sub(self, *args: Any, **kwargs: Any) -> Any:
        """Subtracts from the component of this replica; ValueError for all replicas where they are summed."""
        self._check_not_summed("assign_sub")
        return super().assign_sub(*args, **kwargs)

    def _check_not_summed(self, method: str) -> None:
        if self._in_cross_replica() and self._aggregation is VariableAggregation.SUM:
            raise ValueError(
                f"SyncOnReadVariable does not support `{method}` in cross-replica context when aggregation is set to "
                "`tf.VariableAggregation.SUM`."
            )

    def _get_cross_replica(self) -> Any:
        if self._aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
            return self.primary
        with self._distribute_strategy.scope():
            return self._distribute_strategy.reduce(ReduceOp.from_variable_aggregation(self._aggregation), self, axis=None)

    def value(self) -> Tensor:
        found = self.get()
        return found if isinstance(found, Tensor) else found.value()

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {VARIABLE_VALUE_KEY: lambda name=self._shared_name: _SyncOnReadSaveable(self, self._saved_value, name)}

    def _saved_value(self) -> Tensor:
        with self._distribute_strategy.scope():
            found = self._get_cross_replica()
        return found if isinstance(found, Tensor) else found.read_value()


class _DistributedSaveable(SaveableObject):
    """One tensor in a checkpoint for all components."""

    def __init__(self, variable: DistributedVariable, read: Callable[[], Tensor], name: str) -> None:
        self._variable = variable
        super().__init__(read, [SaveSpec(read, "", name, dtype=variable.dtype, device=variable.primary.device)], name)


class _MirroredSaveable(_DistributedSaveable):
    def restore(self, restored_tensors: list[Tensor], restored_shapes: list | None) -> Operation | None:
        """Assigns the tensor to every component."""
        (tensor,) = restored_tensors
        return group(tuple(_assign_on(where, v, tensor) for where, v in zip(self._variable.devices, self._variable.values)))


class _SyncOnReadSaveable(_DistributedSaveable):
    def restore(self, restored_tensors: list[Tensor], restored_shapes: list | None) -> Any:
        """Assigns the tensor, or equal parts of it where the components are summed."""
        with self._variable.distribute_strategy.scope():
            return self._variable.assign(*restored_tensors)


def _assign_on(where: str, variable: BaseResourceVariable, tensor: Tensor) -> Any:
    with device(where):
        return variable.assign(tensor)


# ---- making ----


def create_mirrored_variable(strategy: object, devices: Sequence[str], make_components: Callable[..., list], kwargs: dict[str, Any]) -> DistributedVariable:
    """A variable of several components, in the collections that it was asked for.

    Args:
      strategy: the strategy.
      devices: the device of each replica, whose component it uses wherever a creator of the program's puts that.
      make_components: gives the components for the arguments of tf.Variable.
      kwargs: these arguments.

    Raises:
      ValueError: the synchronization or the aggregation does not go with such variables.
    """
    name = kwargs.get("name")
    synchronization = kwargs.get("synchronization", VariableSynchronization.ON_WRITE)
    if synchronization is VariableSynchronization.NONE:
        raise ValueError(
            "`NONE` variable synchronization mode is not supported with `Mirrored` distribution strategy. Please change "
            f"the `synchronization` for variable: {name}"
        )
    if synchronization is VariableSynchronization.ON_READ:
        kwargs["trainable"] = False
    elif synchronization not in (VariableSynchronization.ON_WRITE, VariableSynchronization.AUTO):
        raise ValueError(f"Invalid variable synchronization mode: {synchronization} for variable: {name}")
    kind = SyncOnReadVariable if synchronization is VariableSynchronization.ON_READ else MirroredVariable
    return in_collections(kwargs, lambda aggregation: kind(strategy, ReplicaDeviceMap(devices), make_components(**kwargs), aggregation))


def in_collections(kwargs: dict[str, Any], make: Callable[[VariableAggregation], DistributedVariable]) -> DistributedVariable:
    """A distributed variable in place of its components in the graph's collections.

    Args:
      kwargs: arguments of tf.Variable; what concerns collections and aggregation is taken out.
      make: gives the variable for an aggregation.

    Raises:
      ValueError: the aggregation is none.
    """
    aggregation = kwargs.pop("aggregation", VariableAggregation.NONE)
    if not isinstance(aggregation, VariableAggregation):
        raise ValueError(f"Invalid variable aggregation mode: {aggregation} for variable: {kwargs.get('name')}")
    collections = kwargs.pop("collections", None)
    collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
    kwargs["collections"] = []
    made = make(aggregation)
    if kwargs.get("trainable", True):
        collections.append(GraphKeys.TRAINABLE_VARIABLES)
        listed = get_collection_ref(GraphKeys.TRAINABLE_VARIABLES)
        listed[:] = [v for v in listed if all(v is not component for component in made.values)]
    add_to_collections(collections, made)
    return made
