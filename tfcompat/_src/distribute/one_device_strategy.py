"""tf.distribute.OneDeviceStrategy: everything on one device."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.distribute import device_util
from tfcompat._src.distribute.distribute_lib import InputContext, Strategy
from tfcompat._src.distribute.extended import StrategyExtended
from tfcompat._src.distribute.replica_context import ReplicaContext
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.scopes import colocate_with as colocated
from tfcompat._src.graph.scopes import device
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.constant import identity

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.tensor import Tensor


class OneDeviceExtended(StrategyExtended):
    """What OneDeviceStrategy does."""

    def __init__(self, container_strategy: object, where: str) -> None:
        super().__init__(container_strategy, (device_util.resolve(where),))
        self._device = self._devices[0]

    def _create_variable(self, next_creator: Callable, *args: Any, **kwargs: Any) -> Any:
        beside = kwargs.pop("colocate_with", None)
        if beside is None:
            with device(self._device):
                made = next_creator(*args, **kwargs)
        else:
            with colocated(beside.op):
                made = next_creator(*args, **kwargs)
        made._strategy_of_one = self._strategy
        return made

    def _validate_colocate_with_variable(self, variable: object) -> None:
        if getattr(variable, "_strategy_of_one", None) is not self._strategy:
            raise ValueError(f"`colocate_vars_with` must only be passed a variable created in this strategy's scope, not: {variable}")

    def variable_created_in_scope(self, v: object) -> bool:
        return getattr(v, "_strategy_of_one", None) is self._strategy

    def _call_for_each_replica(self, fn: Callable, args: tuple, kwargs: dict) -> Any:
        with device(self._device), ReplicaContext(self._strategy, constant(0, dtypes.int32)):
            return fn(*args, **kwargs)

    def _reduce_to(self, reduce_op: object, value: object, destinations: object) -> Any:
        return value

    def _broadcast_to(self, tensor: object, destinations: object) -> Any:
        return tensor

    def _update(self, var: object, fn: Callable, args: tuple, kwargs: dict, group: bool) -> Any:
        return self._update_non_slot(var, fn, (var, *args), kwargs, group)

    def _update_non_slot(self, colocate_with: object, fn: Callable, args: tuple, kwargs: dict, group: bool) -> Any:
        with device(self._device), distribution_context.updating(self._device):
            result = fn(*args, **kwargs)
        return result if group else nest.map_structure(self._local_results, result)

    def read_var(self, v: TensorLike) -> Tensor:
        return identity(v)

    def non_slot_devices(self, var_list: object) -> tuple[str, ...]:
        return (self._device,)

    def _input_contexts(self, count: int) -> list[InputContext]:
        return [InputContext()]

    def _split_batch_by(self) -> None:
        return None

    def value_container(self, value: object) -> Any:
        return value


@export("distribute.OneDeviceStrategy", "contrib.distribute.OneDeviceStrategy")
class OneDeviceStrategy(Strategy):
    """Puts variables and computation on one device.

    Args:
      device: its device string.
    """

    def __init__(self, device: str) -> None:
        super().__init__(OneDeviceExtended(self, device))
