"""tf.distribute.StrategyExtended: what kinds of strategies differ in."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.distribute import device_util, input_lib
from tfcompat._src.distribute.cross_device_ops import CrossDeviceOps, reduce_non_distributed_value
from tfcompat._src.distribute.device_map import of_replicas
from tfcompat._src.distribute.input_workers import InputWorkers
from tfcompat._src.distribute.multi_step_context import MultiStepContext
from tfcompat._src.distribute.numpy_dataset import one_host_numpy_dataset
from tfcompat._src.distribute.reduce_util import ReduceOp, as_reduce_op
from tfcompat._src.distribute.values import DistributedValues, Mirrored, regroup, value_container
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.scopes import control_dependencies, device
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.platform import logging
from tfcompat._src.variables.scope import get_variable_scope, variable_scope
from tfcompat._src.variables.variable import variable_creator_scope


@export("distribute.StrategyExtended")
class StrategyExtended:
    """Base class of what a strategy does beyond what its users call; made by the strategy's constructor.

    Args:
      container_strategy: the strategy that this belongs to.
      devices: canonical strings of the devices, one per replica.
      cross_device_ops: how values are reduced.
    """

    _is_default = False
    _global_batch_size = True
    """Whether the batches that a strategy is given are for all replicas together."""

    def __init__(self, container_strategy: Any, devices: Iterable[str] = (), cross_device_ops: CrossDeviceOps | None = None) -> None:
        self._strategy = container_strategy
        self._devices = tuple(devices)
        self._cross_device_ops = cross_device_ops
        self._default_device: str | None = None

    def _container_strategy(self) -> Any:
        return self._strategy

    # ---- properties ----

    @property
    def _num_replicas_in_sync(self) -> int:
        return len(self._devices)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices that replicas run on."""
        return self._devices

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices that variables are on."""
        return self._devices

    def _in_multi_worker_mode(self) -> bool:
        """Whether other tasks train with this one, by graphs of their own."""
        return False

    @property
    def experimental_between_graph(self) -> bool:
        """Whether each worker makes a graph of its own."""
        return False

    @property
    def experimental_should_init(self) -> bool:
        """Whether this worker initializes variables."""
        return True

    @property
    def should_checkpoint(self) -> bool:
        """Whether this worker writes checkpoints."""
        return True

    @property
    def should_save_summary(self) -> bool:
        """Whether this worker writes summaries."""
        return True

    @property
    def experimental_require_static_shapes(self) -> bool:
        """Whether shapes must be known while the graph is built."""
        return False

    # ---- scopes ----

    @contextlib.contextmanager
    def _scope(self, strategy: Any) -> Iterator[Any]:
        if distribution_context.strategy_in_use() is not None:
            self._require_cross_replica()
            yield strategy
            return
        with contextlib.ExitStack() as stack:
            distribution_context.push(strategy)
            stack.callback(distribution_context.pop)
            _enter(stack, variable_scope(get_variable_scope(), custom_getter=self._getter), "Variable scope")
            _enter(stack, variable_creator_scope(self._creator), "Variable creator scope")
            if self._default_device:
                _enter(stack, device(self._default_device), "Device scope")
            yield strategy

    def _creator(self, next_creator: Callable, *args: Any, **kwargs: Any) -> Any:
        self._require_strategy()
        kwargs["use_resource"] = True
        return self._create_variable(next_creator, *args, **kwargs)

    def _getter(self, getter: Callable, *args: Any, **kwargs: Any) -> Any:
        if not self._allow_variable_partition() and kwargs.pop("partitioner", None) is not None:
            logging.warning("Partitioned variables are disabled when using current tf.distribute.Strategy.")
        return getter(*args, **kwargs)

    def _allow_variable_partition(self) -> bool:
        return False

    def colocate_vars_with(self, colocate_with_variable: Any) -> contextlib.AbstractContextManager:
        """A block whose variables are on the devices of `colocate_with_variable`.

        Raises:
          RuntimeError: this strategy is not in use. ValueError: that is no variable of it.
        """
        self._require_strategy()
        self._validate_colocate_with_variable(colocate_with_variable)

        def creator(next_creator: Callable, *args: Any, **kwargs: Any) -> Any:
            self._require_strategy()
            return next_creator(*args, **{**kwargs, "use_resource": True, "colocate_with": colocate_with_variable})

        return variable_creator_scope(creator)

    def _validate_colocate_with_variable(self, variable: Any) -> None:
        if getattr(value_container(variable), "_distribute_strategy", None) is not self._strategy:
            raise ValueError(
                f"`colocate_vars_with` must only be passed a variable created in this tf.distribute.Strategy.scope(), not: {variable}"
            )

    def variable_created_in_scope(self, v: Any) -> bool:
        """Whether a variable was made under this strategy."""
        return v._distribute_strategy is self._strategy

    def _create_variable(self, next_creator: Callable, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("must be implemented in descendants")

    def read_var(self, v: Any) -> Any:
        """The value of a variable of this strategy, for all replicas."""
        return identity(v.value() if not isinstance(v, Mirrored) else v.get().value())

    # ---- calls ----

    def call_for_each_replica(self, fn: Callable, args: tuple = (), kwargs: dict | None = None) -> Any:
        """`fn` once per replica; see `Strategy.experimental_run_v2`."""
        self._require_cross_replica()
        with self._strategy.scope():
            return self._call_for_each_replica(fn, tuple(args), kwargs or {})

    def _require_strategy(self) -> None:
        """Raises RuntimeError where this strategy is not in use."""
        mode = distribution_context.current()
        if mode is not None and mode.strategy is self._strategy:
            return
        if distribution_context.strategy_in_use() is not None:
            raise RuntimeError(f"Mixing different tf.distribute.Strategy objects: {mode.strategy} is not {self._strategy}")
        if not (mode is None and self._is_default):
            raise RuntimeError(f'Need to be inside "with strategy.scope()" for {self._strategy}')

    def _require_cross_replica(self) -> None:
        """Raises RuntimeError where another strategy is in use, or a replica runs; outside of all strategies everything may be called."""
        mode = distribution_context.current()
        if mode is None:
            return
        self._require_strategy()
        if mode.replica_context is not None:
            raise RuntimeError("Method requires being in cross-replica context, use get_replica_context().merge_call()")

    def _call_for_each_replica(self, fn: Callable, args: tuple, kwargs: dict) -> Any:
        raise NotImplementedError("must be implemented in descendants")

    def update(self, var: object, fn: Callable, args: tuple = (), kwargs: dict | None = None, group: bool = True) -> Any:
        """`fn(component, ...)` for each component of a variable, on its device.

        Args:
          var: a variable of this strategy.
          fn: takes the component, and the components of `args` and `kwargs` on its device.
          group: whether the results become one that waits for all; else a tuple with one per component.
        """
        self._require_cross_replica()
        with self._strategy.scope():
            return self._update(var, fn, tuple(args), kwargs or {}, group)

    def update_non_slot(
        self, colocate_with: object, fn: Callable, args: tuple = (), kwargs: dict | None = None, group: bool = True
    ) -> Any:
        """`fn(...)` on each device of `colocate_with`, which `non_slot_devices` gave; see `update`."""
        self._require_cross_replica()
        with self._strategy.scope():
            return self._update_non_slot(colocate_with, fn, tuple(args), kwargs or {}, group)

    def _update(self, var: Any, fn: Callable, args: tuple, kwargs: dict, group: bool) -> Any:
        raise NotImplementedError("must be implemented in descendants")

    def _update_non_slot(self, colocate_with: Any, fn: Callable, args: tuple, kwargs: dict, group: bool) -> Any:
        raise NotImplementedError("must be implemented in descendants")

    def non_slot_devices(self, var_list: Any) -> Any:
        """Where variables that belong to an optimizer as a whole are."""
        raise NotImplementedError("must be implemented in descendants")

    def _local_results(self, value: object) -> tuple:
        return value.values if isinstance(value, DistributedValues) else (value,)

    def value_container(self, value: Any) -> Any:
        """The distributed variable that `value` is a component of, or `value`."""
        return value_container(value)

    # ---- reductions ----

    def reduce_to(self, reduce_op: object, value: object, destinations: object) -> Any:
        """The sum or mean of the replicas' values, on the devices of `destinations`."""
        self._require_cross_replica()
        return self._reduce_to(as_reduce_op(reduce_op), value, destinations)

    def batch_reduce_to(self, reduce_op: object, value_destination_pairs: Iterable[tuple]) -> list:
        """`reduce_to` for each pair of a value and its destinations."""
        self._require_cross_replica()
        return self._batch_reduce_to(as_reduce_op(reduce_op), list(value_destination_pairs))

    def broadcast_to(self, tensor: object, destinations: object) -> Any:
        """Copies of a tensor on the devices of `destinations`; a Python number is given back."""
        self._require_cross_replica()
        return self._broadcast_to(tensor, destinations)

    def _reduce(self, reduce_op: ReduceOp, value: Any) -> Any:
        where = device_util.current() or "/device:CPU:0"
        with self._strategy.scope():
            return self._local_results(self._reduce_to(reduce_op, value, where))[0]

    def _reduce_to(self, reduce_op: ReduceOp, value: Any, destinations: Any) -> Any:
        if isinstance(value, Mirrored) and reduce_op is ReduceOp.MEAN:
            return value
        if isinstance(value, Mirrored):
            raise ValueError(f"The sum over replicas of a mirrored value is not defined: {value!r}")
        if not isinstance(value, DistributedValues):
            return reduce_non_distributed_value(reduce_op, self._num_replicas_in_sync, value, destinations)
        return self._cross_device_ops.reduce(reduce_op, value, destinations)

    def _batch_reduce_to(self, reduce_op: ReduceOp, pairs: list[tuple]) -> list:
        return [self.reduce_to(reduce_op, value, destinations) for value, destinations in pairs]

    def _broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        if isinstance(tensor, (float, int)):
            return tensor
        everywhere = Mirrored(self._devices, self._devices)
        return self._cross_device_ops.broadcast(tensor, everywhere if destinations is None else destinations)

    # ---- input ----

    _given_input_workers: InputWorkers | None = None

    @property
    def _input_workers(self) -> InputWorkers:
        """The hosts that read the input of the replicas: one for each task that they are on, unless a subclass has set others."""
        if self._given_input_workers is not None:
            return self._given_input_workers
        fed: dict[str, list[str]] = {}
        for where in self.worker_devices:
            fed.setdefault(device_util.get_host_for_device(where), []).append(where)
        return InputWorkers(of_replicas(self.worker_devices), list(fed.items()))

    @_input_workers.setter
    def _input_workers(self, workers: InputWorkers) -> None:
        self._given_input_workers = workers

    def _split_batch_by(self) -> int | None:
        """In how many parts a batch of a dataset is split, as each replica takes one; None: it stays whole."""
        return self._num_replicas_in_sync

    def _shared_input(self) -> Any:
        """The InputContext where other processes share a dataset; None in the only one."""
        return None

    def _input_contexts(self, count: int) -> list[Any]:
        """What an input function is told, for each of the hosts that read."""
        raise NotImplementedError("must be implemented in descendants")

    def _make_dataset_iterator(self, dataset: Any) -> Any:
        split_by = self._split_batch_by() if self._global_batch_size else None
        return input_lib.DatasetIterator(dataset, self._input_workers, self._strategy, split_by, self._shared_input())

    def _make_input_fn_iterator(self, input_fn: Callable) -> Any:
        workers = self._input_workers
        return input_lib.InputFunctionIterator(input_fn, workers, self._input_contexts(workers.num_workers), self._strategy)

    def experimental_make_numpy_dataset(self, numpy_input: object, session: SessionLike | None = None) -> Any:
        """A tf.data.Dataset of the rows of a structure of arrays, which `session` keeps in variables."""
        self._require_cross_replica()
        return self._experimental_make_numpy_dataset(numpy_input, session)

    def _experimental_make_numpy_dataset(self, numpy_input: object, session: SessionLike | None) -> Any:
        return one_host_numpy_dataset(numpy_input, device_util.get_host_for_device(self.worker_devices[0]), session)

    def _experimental_distribute_dataset(self, dataset: Any) -> Any:
        return input_lib.get_distributed_dataset(dataset, self._input_workers, self._strategy, self._split_batch_by(), self._shared_input())

    def _experimental_distribute_datasets_from_function(self, dataset_fn: Callable) -> Any:
        workers = self._input_workers
        contexts = self._input_contexts(workers.num_workers)
        return input_lib.get_distributed_datasets_from_function(dataset_fn, workers, contexts, self._strategy)

    # ---- steps in a loop ----

    def experimental_run_steps_on_iterator(
        self, fn: Callable, iterator: object, iterations: int = 1, initial_loop_values: object = None
    ) -> MultiStepContext:
        """Runs `iterations` steps of `fn(context, inputs)` in one loop.

        Arguments:
          fn: builds a step: of a MultiStepContext, to which it gives outputs, and of the inputs of all replicas; gives the operation of it.
          iterator: of the inputs.
          iterations: how many steps, a Python integer or a scalar.
          initial_loop_values: what the outputs are before the first step: a structure of their dtypes and shapes, by their names.

        Returns:
          The MultiStepContext, whose `run_op` runs all steps and whose `last_step_outputs` are those of the last one.
        """
        self._require_cross_replica()
        with self._strategy.scope():
            return self._experimental_run_steps_on_iterator(fn, iterator, iterations, initial_loop_values)

    def _experimental_run_steps_on_iterator(
        self, fn: Callable, iterator: Any, iterations: object, initial_loop_values: object = None
    ) -> MultiStepContext:
        context = MultiStepContext()

        def step(i: Any, *_: Any) -> list:
            done = fn(context, iterator.get_next())
            for name, output in context.last_step_outputs.items():
                context.last_step_outputs[name] = self._local_results(output)
            with control_dependencies([done]):
                return [i + 1, *nest.flatten(context.last_step_outputs)]

        start = [constant(0), *nest.flatten({} if initial_loop_values is None else initial_loop_values)]
        _, *last = loop = while_loop(
            lambda i, *_: i < iterations, step, start, parallel_iterations=1, back_prop=False, name="", return_same_structure=True
        )
        context.run_op = group(loop)
        outputs = nest.pack_sequence_as(context.last_step_outputs, last)
        for name, reduce_op in context._last_step_outputs_reduce_ops.items():
            output = outputs[name]
            outputs[name] = output[0] if reduce_op is not None or len(output) == 1 else regroup(of_replicas(self.worker_devices), output)
        context._set_last_step_outputs(outputs)
        return context

    # ---- configuration ----

    def _configure(self, session_config: Any, cluster_spec: Any, task_type: str | None, task_id: int | None) -> None:
        if cluster_spec:
            raise NotImplementedError("A strategy of tfcompat runs in one process; it has no configure with a cluster_spec.")
        if session_config is not None:
            session_config.CopyFrom(self._update_config_proto(session_config))

    def _update_config_proto(self, config_proto: Any) -> Any:
        return copy.deepcopy(config_proto)


def _enter(stack: contextlib.ExitStack, scope: contextlib.AbstractContextManager, kind: str) -> None:
    """Enters a scope that `stack` leaves; RuntimeError where another that was opened inside is still open then."""

    def leave(*exc_info: Any) -> None:
        try:
            scope.__exit__(*exc_info)
        except RuntimeError as e:
            raise RuntimeError(f"{kind} nesting error: move call to tf.distribute.set_strategy() out of `with` scope.") from e

    scope.__enter__()
    stack.push(leave)
