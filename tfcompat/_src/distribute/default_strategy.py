"""The strategy that is in use where no other is, and the functions that say which is in use."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.data.dataset import DatasetV2
from tfcompat._src.distribute.distribute_lib import InputContext, Strategy
from tfcompat._src.distribute.extended import StrategyExtended
from tfcompat._src.distribute.numpy_dataset import one_host_numpy_dataset
from tfcompat._src.distribute.reduce_util import ReduceOp
from tfcompat._src.distribute.replica_context import ReplicaContext
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import colocate_with as colocated
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.variables.variable import variable_creator_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.tensor import Tensor


class DefaultExtended(StrategyExtended):
    """One replica, without any placement."""

    _is_default = True

    def __init__(self, container_strategy: object) -> None:
        super().__init__(container_strategy, ("",))

    @contextlib.contextmanager
    def _scope(self, strategy: object) -> Any:
        if has_strategy():
            raise RuntimeError("Must not nest tf.distribute.Strategy scopes.")
        with variable_creator_scope(self._creator):
            yield strategy

    def _creator(self, next_creator: Callable, *args: Any, **kwargs: Any) -> Any:
        self._require_strategy()
        return next_creator(*args, **kwargs)

    def colocate_vars_with(self, colocate_with_variable: object) -> contextlib.AbstractContextManager:
        self._require_strategy()
        return colocated(colocate_with_variable)

    def variable_created_in_scope(self, v: Any) -> bool:
        return v._distribute_strategy is None

    def _call_for_each_replica(self, fn: Callable, args: tuple, kwargs: dict) -> Any:
        with ReplicaContext(self._strategy, constant(0, dtypes.int32)):
            return fn(*args, **kwargs)

    def _reduce_to(self, reduce_op: object, value: object, destinations: object) -> Any:
        return value

    def _reduce(self, reduce_op: object, value: object) -> Any:
        return value

    def _broadcast_to(self, tensor: object, destinations: object) -> Any:
        return tensor

    def _update(self, var: object, fn: Callable, args: tuple, kwargs: dict, group: bool) -> Any:
        return self._update_non_slot(var, fn, (var, *args), kwargs, group)

    def _update_non_slot(self, colocate_with: object, fn: Callable, args: tuple, kwargs: dict, group: bool) -> Any:
        with colocated(colocate_with):
            result = fn(*args, **kwargs)
        return result if group else nest.map_structure(self._local_results, result)

    def read_var(self, v: TensorLike) -> Tensor:
        return identity(v)

    def non_slot_devices(self, var_list: Any) -> Any:
        return min(var_list, key=lambda v: v.name)

    def _make_input_fn_iterator(self, input_fn: Callable) -> Any:
        found = input_fn(InputContext())
        if isinstance(found, DatasetV2):
            return self._make_dataset_iterator(found)
        if not callable(found):
            raise ValueError("input_fn must return a tf.data.Dataset or a callable.")
        return _DefaultInputFunction(found)

    def _make_dataset_iterator(self, dataset: object) -> Any:
        return _DefaultInputIterator(dataset)

    def _experimental_make_numpy_dataset(self, numpy_input: object, session: SessionLike | None) -> Any:
        return one_host_numpy_dataset(numpy_input, "", session)

    def _experimental_distribute_dataset(self, dataset: object) -> Any:
        return dataset

    def _experimental_distribute_datasets_from_function(self, dataset_fn: Callable) -> Any:
        return dataset_fn(InputContext())

    @property
    def worker_devices(self) -> tuple[str, ...]:
        raise RuntimeError("worker_devices() method unsupported by default tf.distribute.Strategy.")

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        raise RuntimeError("parameter_devices() method unsupported by default tf.distribute.Strategy.")


class _DefaultInputIterator:
    """An iterator over a dataset with the methods of those of strategies."""

    def __init__(self, dataset: Any) -> None:
        self._iterator = dataset.make_initializable_iterator()

    def get_next(self) -> Any:
        """The next element."""
        return self._iterator.get_next()

    def initialize(self) -> list:
        """The operations that begin a pass."""
        return [self._iterator.initializer]


class _DefaultInputFunction:
    """What a function makes, with the methods of an iterator."""

    def __init__(self, fn: Callable[[], Any]) -> None:
        self.get_next = fn

    def initialize(self) -> list:
        """Nothing: a function has no start."""
        return []


class DefaultStrategy(Strategy):
    """The strategy that is in use where no other is."""

    def __init__(self) -> None:
        super().__init__(DefaultExtended(self))


DEFAULT = DefaultStrategy()
_DEFAULT_REPLICA = ReplicaContext(DEFAULT, 0)


def _get_default_strategy() -> Strategy:
    """The strategy that is in use where no other is."""
    return DEFAULT


def _get_default_replica_context() -> ReplicaContext:
    """The context of the one replica of the default strategy."""
    return _DEFAULT_REPLICA


@export("distribute.get_strategy", "contrib.distribute.get_strategy", "contrib.distribute.get_distribution_strategy")
def get_strategy() -> Strategy:
    """The strategy in use; a default one where none is."""
    mode = distribution_context.current()
    return _get_default_strategy() if mode is None else mode.strategy


@export("distribute.has_strategy", "contrib.distribute.has_strategy", "contrib.distribute.has_distribution_strategy")
def has_strategy() -> bool:
    """Whether a strategy other than the default one is in use."""
    return get_strategy() is not DEFAULT


@export("distribute.get_replica_context", "contrib.distribute.get_replica_context")
def get_replica_context() -> ReplicaContext | None:
    """The context of the replica that runs; None in cross-replica context."""
    mode = distribution_context.current()
    return _get_default_replica_context() if mode is None else mode.replica_context


@export("distribute.in_cross_replica_context", "contrib.distribute.in_cross_replica_context")
def in_cross_replica_context() -> bool:
    """Whether a strategy is in use and no replica runs."""
    mode = distribution_context.current()
    return mode is not None and mode.replica_context is None


@export("contrib.distribute.get_cross_replica_context")
def get_cross_replica_context() -> Strategy | None:
    """The strategy in use, in cross-replica context; None where a replica runs."""
    mode = distribution_context.current()
    return mode.strategy if mode is not None and mode.replica_context is None else None


_OPEN_SCOPES: dict[Graph, contextlib.AbstractContextManager] = {}


@export("distribute.experimental_set_strategy")
def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Enters the scope of a strategy for good, or leaves that of the one set before.

    Raises:
      RuntimeError: a `with strategy.scope()` block is open.
    """
    graph = get_default_graph()
    opened = _OPEN_SCOPES.pop(graph, None)
    if opened is not None:
        opened.__exit__(None, None, None)
    if has_strategy():
        raise RuntimeError("Must not be called inside a `tf.distribute.Strategy` scope.")
    if strategy is not None:
        scope = strategy.scope()
        scope.__enter__()
        _OPEN_SCOPES[graph] = scope


@export("distribute.get_loss_reduction", "contrib.distribute.get_loss_reduction")
def get_loss_reduction() -> ReduceOp:
    """How the replicas' losses become that of all: MEAN in an Estimator whose loss is no sum, else SUM."""
    return ReduceOp.MEAN if distribution_context.loss_is_mean() else ReduceOp.SUM
