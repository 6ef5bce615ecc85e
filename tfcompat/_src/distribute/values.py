"""Values that have one component per replica or per device."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.distribute import device_util
from tfcompat._src.distribute.device_map import DeviceMap, of_replicas
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.graph.scopes import control_dependencies, device
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.graph.tensor_like import is_tensor
from tfcompat._src.nodes.convert import convert_to_tensor, register_tensor_conversion_function
from tfcompat._src.nodes.type_spec import TypeSpec, type_spec_from_value
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.control.groups import group
from tfcompat._src.variables.variable import Variable


class DistributedValues:
    """Components on several devices.

    Args:
      device_map: the DeviceMap, or the canonical device string of each replica.
      values: one component per device.
      logical_device: the number of the map's logical device, by default what the map says.
    """

    _is_distributed = True

    def __init__(self, device_map: DeviceMap | Sequence[str], values: Sequence[Any], logical_device: int | None = None) -> None:
        self._device_map = device_map if isinstance(device_map, DeviceMap) else of_replicas(device_map)
        self._values = tuple(values)
        self._logical_device = self._device_map.logical_device_from_values(self._values) if logical_device is None else logical_device
        self._devices = self._device_map.logical_to_actual_devices(self._logical_device)
        if len(self._devices) != len(self._values):
            raise AssertionError(f"{len(self._values)} values for {len(self._devices)} devices")

    @property
    def device_map(self) -> DeviceMap:
        """Which device, and which replica, each component belongs to."""
        return self._device_map

    @property
    def logical_device(self) -> int:
        """The number of the map's logical device that the components are on."""
        return self._logical_device

    @property
    def devices(self) -> tuple[str, ...]:
        """The device of each component."""
        return self._devices

    @property
    def values(self) -> tuple[Any, ...]:
        """The components."""
        return self._values

    @property
    def primary(self) -> Any:
        """The first component."""
        return self._values[0]

    @property
    def is_tensor_like(self) -> bool:
        """Whether every component is a tensor, a variable, or what is made of tensors."""
        return all(map(is_tensor, self._values))

    def get(self, device: str | None = None) -> Any:
        """The component on `device`, by default that of the replica which runs, or of the device that is updated.

        Raises:
          ValueError: there is none for it.
        """
        if device is None:
            return self._in_use(self._get_cross_replica)
        return self._device_map.select_for_device(self._values, device_util.canonicalize(device))

    def _in_use(self, cross_replica: Callable[[], Any]) -> Any:
        """The component of the replica that runs, or of the device that is updated; where there is neither, what `cross_replica` gives."""
        mode = distribution_context.current()
        if mode is None or mode.replica_context is not None:
            return self._device_map.select_for_current_replica(self._values, mode and mode.replica_context)
        updated = distribution_context.update_device()
        return cross_replica() if updated is None else self.get(updated)

    def _get_cross_replica(self) -> Any:
        raise ValueError(
            f"{type(self).__name__} has one value for each of {self._devices}, but is used as one value in a "
            "cross-replica context: reduce it, or take `strategy.experimental_local_results(value)`."
        )

    def __repr__(self) -> str:
        rows = ",\n".join(f"  {i} {d}: {v}" for i, (d, v) in enumerate(zip(self._devices, self._values)))
        return f"{type(self).__name__}:{{\n{rows}\n}}"


class PerReplica(DistributedValues, CompositeTensor):
    """One value per replica."""

    @property
    def _type_spec(self) -> PerReplicaSpec:
        specs = map(type_spec_from_value, self._values)
        return PerReplicaSpec(*specs, device_map=self._device_map, logical_device=self._logical_device)

    @property
    def _is_graph_tensor(self) -> bool:
        return any(isinstance(v, Tensor) and not isinstance(v, EagerTensor) for v in self._values)

    def _consumers(self) -> list[Any]:
        """The operations that take a component."""
        return list(dict.fromkeys(op for v in self._values for op in v.consumers()))

    def _shape_invariant_to_type_spec(self, shape: Any) -> PerReplicaSpec:
        raise NotImplementedError("PerReplica._shape_invariant_to_type_spec: a loop takes values of replicas by the shapes that they have.")


class PerReplicaSpec(TypeSpec):
    """The type of a PerReplica.

    Args:
      *value_specs: the TypeSpecs of its components. device_map, logical_device: its own.
    """

    def __init__(self, *value_specs: Any, device_map: DeviceMap, logical_device: int) -> None:
        self._value_specs, self._device_map, self._logical_device = value_specs, device_map, logical_device

    @property
    def value_type(self) -> type:
        return PerReplica

    @property
    def _component_specs(self) -> tuple[Any, ...]:
        return self._value_specs

    def _serialize(self) -> tuple[Any, ...]:
        return (*self._value_specs, self._device_map, self._logical_device)

    @classmethod
    def _deserialize(cls, serialization: tuple[Any, ...]) -> PerReplicaSpec:
        *specs, device_map, logical_device = serialization
        return cls(*specs, device_map=device_map, logical_device=logical_device)

    def _to_components(self, value: PerReplica) -> tuple[Any, ...]:
        mode = distribution_context.current()
        if mode is not None and mode.replica_context is not None and mode.replica_context.num_replicas_in_sync > 1:
            raise ValueError("Flattening a PerReplica to components is not supported in replica context.")
        return value._values

    def _from_components(self, components: Sequence[Any]) -> PerReplica:
        return PerReplica(self._device_map, components, self._logical_device)


class DistributedDelegate(DistributedValues):
    """Components that stand for the one in use: its attributes and operators are the value's."""

    def _get_as_operand(self) -> Any:
        return self.get()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_values", "_devices", "_device_map"):
            raise AttributeError(name)
        return getattr(self.get(), name)


def _binary(operate: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other, *modulo: operate(self._get_as_operand(), other, *modulo)


def _reflected(operate: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: operate(other, self._get_as_operand())


def _unary(operate: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: operate(self._get_as_operand())


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "matmul", "and", "or", "xor", "pow"):
    _operate = pow if _name == "pow" else getattr(operator, f"__{_name}__")
    setattr(DistributedDelegate, f"__{_name}__", _binary(_operate))
    setattr(DistributedDelegate, f"__r{_name}__", _reflected(_operate))
for _name in ("lt", "le", "gt", "ge", "getitem"):
    setattr(DistributedDelegate, f"__{_name}__", _binary(getattr(operator, f"__{_name}__")))
for _name in ("neg", "invert", "abs"):
    setattr(DistributedDelegate, f"__{_name}__", _unary(getattr(operator, f"__{_name}__")))


class Mirrored(DistributedDelegate):
    """The same value on each device; attributes and operators are those of the component in use."""

    def _get_cross_replica(self) -> Any:
        here = device_util.canonicalize(device_util.current())
        return self._values[self._devices.index(here)] if here in self._devices else self._values[0]

    def _as_graph_element(self) -> Any:
        found = self.get()
        return found._as_graph_element() if hasattr(found, "_as_graph_element") else found


def _convert(value: DistributedValues, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    return convert_to_tensor(value.get(), dtype=dtype, name=name)


register_tensor_conversion_function(DistributedValues, _convert)


# ---- nests of components ----


def _require(alike: bool, values: Sequence[Any]) -> None:
    if not alike:
        raise AssertionError(f"The replicas give values of different structure: {values}")


def regroup(device_map: DeviceMap | Sequence[str], values: Sequence[Any], wrap_class: Callable[..., Any] = PerReplica) -> Any:
    """One nest with distributed values in it, of one nest per device.

    Args:
      device_map: the DeviceMap, or the canonical device string of each replica.
      values: a nest for each device, of one structure.
      wrap_class: makes the distributed value of the map and components.

    Raises:
      AssertionError: the structures differ.
    """
    first = values[0]
    if isinstance(first, (list, tuple)):
        _require(all(type(v) is type(first) and len(v) == len(first) for v in values), values)
        parts = [regroup(device_map, column, wrap_class) for column in zip(*values)]
        return type(first)._make(parts) if hasattr(first, "_make") else type(first)(parts)
    if isinstance(first, dict):
        _require(all(isinstance(v, dict) and v.keys() == first.keys() for v in values), values)
        return {key: regroup(device_map, [v[key] for v in values], wrap_class) for key in first}
    if isinstance(first, Variable) and hasattr(first, "_distributed_container"):
        container = first._distributed_container
        _require(all(getattr(v, "_distributed_container", None) is container for v in values), values)
        return container
    return first if all(v is first for v in values) else wrap_class(device_map, values)


def select_replica(replica_id: int, structured: object) -> Any:
    """A nest with the component of one replica in place of each distributed value."""
    return nest.map_structure(lambda x: x.values[replica_id] if hasattr(x, "_is_distributed") else x, structured)


def select_device(device: str, structured: object) -> Any:
    """A nest with the component on one device in place of each distributed value."""
    return nest.map_structure(lambda x: x.get(device) if hasattr(x, "_is_distributed") else x, structured)


def select_device_mirrored(device: str, structured: object) -> Any:
    """A nest with the component on one device in place of each mirrored value; TypeError for a value per replica."""

    def get(x: Any) -> Any:
        if isinstance(x, PerReplica):
            raise TypeError(f"Expected value to be mirrored across replicas: {x} in {structured}.")
        return x.get(device) if hasattr(x, "_is_distributed") else x

    return nest.map_structure(get, structured)


def update_regroup(local_results: Callable, devices: Sequence[str], updates: Sequence[Any], together: bool) -> Any:
    """The updates of the components of a variable as one result.

    Args:
      local_results: gives the components of a distributed value.
      devices, updates: the devices, and what was made on each.
      together: whether each result waits for all updates; else the nest holds tuples of results.
    """
    if not together:
        return nest.map_structure(local_results, regroup(devices, updates, Mirrored))
    return regroup(devices, updates, _grouped)


def _grouped(devices: Sequence[str], values: Sequence[Any]) -> Any:
    if len(values) == 1:
        return Mirrored(devices, values)
    all_done = group(values)
    if not all(isinstance(v, (Tensor, Variable)) for v in values):
        return all_done
    found = []
    for value, where in zip(values, devices):
        with device(where), control_dependencies([all_done]):
            found.append(identity(value))
    return Mirrored(devices, found)


def value_container(value: object) -> Any:
    """The distributed variable that `value` is a component of, or `value`."""
    return getattr(value, "_distributed_container", value) if isinstance(value, Variable) else value
