"""Optimizers for workers with variables of their own: elastic averages, model averages, accumulated gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import (
    add_to_collection,
    colocate_with,
    control_dependencies,
    device,
    get_collection_ref,
    name_scope,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.fill import fill, zeros_like
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.ops.math.binary import floormod, multiply, subtract
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.ops.nn.loss import l2_loss
from tfcompat._src.ops.queues.accumulators import ConditionalAccumulator
from tfcompat._src.ops.queues.queue import FIFOQueue
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.train.saveable_object_util import op_list_to_dict
from tfcompat._src.train.saver import Saver
from tfcompat._src.train.session_run_hook import SessionRunHook
from tfcompat._src.variables import assign
from tfcompat._src.variables.collections import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    trainable_variables,
)
from tfcompat._src.variables.scope import get_variable
from tfcompat._src.variables.variable import Variable, variable_creator_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

LOCAL_VARIABLE_NAME = "local_center_variable"
GLOBAL_VARIABLE_NAME = "global_center_variable"
GRAD_VARIABLE_NAME = "grad_variable"


def _matched(local: Any, other: Any, partitioner: Any) -> dict[Any, Any]:
    return {local: other} if partitioner is None else dict(zip(local, other))


class _TwinGetter:
    """Puts trainable variables on the worker, with a global variable and a second local one for each."""

    _second_name: str

    def __init__(self, worker_device: object) -> None:
        self._worker_device = worker_device
        self._global_map: dict[Any, Any] = {}
        self._second_map: dict[Any, Any] = {}

    def _trainable(self, getter: Callable, name: str, args: tuple, kwargs: dict) -> Any:
        with device(self._worker_device):
            local = getter(name, *args, trainable=True, collections=[GraphKeys.LOCAL_VARIABLES], **kwargs)
        if kwargs["reuse"] == True:  # noqa: E712  (tf.AUTO_REUSE is another true value)
            return local
        center = getter(
            f"{GLOBAL_VARIABLE_NAME}/{name}", *args, trainable=False, collections=[GraphKeys.GLOBAL_VARIABLES], **kwargs
        )
        with device(self._worker_device):
            second = getter(
                f"{self._second_name}/{name}", *args, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], **kwargs
            )
        self._global_map.update(_matched(local, center, kwargs["partitioner"]))
        self._second_map.update(_matched(local, second, kwargs["partitioner"]))
        return local


def _untrainable(worker_device: object, getter: Callable, name: str, collections: Any, args: tuple, kwargs: dict) -> Any:
    """A variable that is not trained: on the worker where it is local."""
    kwargs = {**kwargs, "trainable": False, "collections": collections}
    if GraphKeys.LOCAL_VARIABLES not in collections:
        return getter(name, *args, **kwargs)
    with device(worker_device):
        return getter(name, *args, **kwargs)


@export("contrib.opt.ElasticAverageCustomGetter")
class ElasticAverageCustomGetter(_TwinGetter):
    """The custom getter for variables that ElasticAverageOptimizer trains.

    Args:
      worker_device: device of the local variables.
    """

    _second_name = LOCAL_VARIABLE_NAME

    def __call__(self, getter: Callable, name: str, trainable: object, collections: object, *args: Any, **kwargs: Any) -> Any:
        if trainable:
            return self._trainable(getter, name, args, kwargs)
        return _untrainable(self._worker_device, getter, name, collections, args, kwargs)


@export("contrib.opt.AGNCustomGetter")
class AGNCustomGetter(_TwinGetter):
    """The custom getter for variables that AGNOptimizer trains.

    Args:
      worker_device: device of the local variables.
    """

    _second_name = GRAD_VARIABLE_NAME

    def __call__(self, getter: Callable, name: str, trainable: object, collections: object, *args: Any, **kwargs: Any) -> Any:
        if trainable:
            return self._trainable(getter, name, args, kwargs)
        return getter(name, *args, trainable=trainable, collections=collections, **kwargs)


@export("contrib.opt.ModelAverageCustomGetter")
class ModelAverageCustomGetter:
    """The custom getter for variables that ModelAverageOptimizer trains.

    Args:
      worker_device: device of the local variables.
    """

    def __init__(self, worker_device: object) -> None:
        self._worker_device = worker_device
        self._local_2_global: dict[Any, Any] = {}

    def __call__(self, getter: Callable, name: str, trainable: object, collections: object, *args: Any, **kwargs: Any) -> Any:
        if not trainable:
            return _untrainable(self._worker_device, getter, name, collections, args, kwargs)
        with device(self._worker_device):
            local = getter(name, *args, trainable=True, collections=[GraphKeys.LOCAL_VARIABLES], **kwargs)
        self._local_2_global[local] = Variable(
            name=f"{GLOBAL_VARIABLE_NAME}/{name}", initial_value=local.initialized_value(), trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES],
        )  # fmt: skip
        return local


class _WorkerOptimizer(Optimizer):
    """An optimizer around another one that counts the steps of its worker."""

    def __init__(self, opt: Optimizer, num_worker: int, use_locking: bool, name: str) -> None:
        super().__init__(use_locking, name)
        self._opt, self._num_worker = opt, num_worker
        self._local_step = get_variable(
            initializer=0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], name="local_step"
        )
        opt._prepare()

    def _count_step(self) -> Operation:
        return assign.assign_add(self._local_step, 1, name="local_step_update").op

    def _is_due(self, period: object) -> Tensor:
        return equal(floormod(self._local_step, period), 0)


class _InitHook(SessionRunHook):
    """Runs the optimizer's `get_init_op(task_index)` when a session was made."""

    def __init__(self, optimizer: Any, is_chief: bool, task_index: int) -> None:
        self._optimizer, self._is_chief, self._task_index = optimizer, is_chief, task_index

    def begin(self) -> None:
        self._local_init_op = local_variables_initializer()
        self._global_init_op = global_variables_initializer() if self._is_chief else None
        self._variable_init_op = self._optimizer.get_init_op(self._task_index)

    def after_create_session(self, session: SessionLike, coord: object) -> None:
        session.run(self._variable_init_op)


@export("contrib.opt.ElasticAverageOptimizer")
class ElasticAverageOptimizer(_WorkerOptimizer):
    """Elastic averaging SGD (Zhang, Choromanska & LeCun 2015): each worker trains variables of its own that are drawn to a
    common centre, and the centre to them.

    Args:
      opt: the optimizer of the local variables.
      num_worker: the number of workers.
      ea_custom_getter: the ElasticAverageCustomGetter that the variables were made with.
      communication_period: local steps between moves of the centre.
      moving_rate: part of the difference that is moved; by default `0.9 / communication_period / num_worker`.
      rho: weight of the distance from the centre in the loss; by default moving_rate / learning rate of `opt`.
      use_locking: passed on to the update operations.
      synchronous: whether the workers wait for each other before they start.
      name: name of the optimizer.
    """

    BETA = 0.9

    def __init__(
        self, opt: Optimizer, num_worker: int, ea_custom_getter: ElasticAverageCustomGetter,
        communication_period: int = 10, moving_rate: float | None = None, rho: float | None = None,
        use_locking: bool = True, synchronous: bool = False, name: str = "ElasticAverageOptimizer",
    ) -> None:  # fmt: skip
        self._period, self._synchronous = communication_period, synchronous
        self._global_map, self._local_map = ea_custom_getter._global_map, ea_custom_getter._second_map
        rate = self.BETA / communication_period / num_worker if moving_rate is None else moving_rate
        self._moving_rate = rate
        self._rho = rate / opt._learning_rate if rho is None else rho
        super().__init__(opt, num_worker, use_locking, name)

    def compute_gradients(
        self, loss: object, var_list: Any = None, gate_gradients: int = Optimizer.GATE_OP, aggregation_method: object = None,
        colocate_gradients_with_ops: bool = False, grad_loss: object = None,
    ) -> list[tuple[Any, Any]]:  # fmt: skip
        """As of tf.train.Optimizer, for the loss plus the distance from the centre."""
        var_list = var_list or trainable_variables()
        apart = [subtract(v, self._local_map[local]) for v, local in zip(trainable_variables(), var_list)]
        total = loss + self._rho * add_n([l2_loss(d) for d in apart])
        return self._opt.compute_gradients(
            total, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss
        )

    def apply_gradients(self, grads_and_vars: Iterable, global_step: object = None, name: str | None = None) -> Any:
        """As of tf.train.Optimizer; every `communication_period` steps the centre moves."""
        pairs = list(grads_and_vars)
        before = {v.op.name for v in global_variables()}
        updates = self._opt.apply_gradients(pairs)
        made = {v.op.name for v in global_variables()} - before
        with control_dependencies([updates]):
            counted = self._count_step()
        _make_local(made)
        variables = [v for g, v in pairs if g is not None]
        with control_dependencies([counted]):
            return cond(self._is_due(self._period), lambda: self._move_center(variables, global_step), no_op)

    def _move_center(self, variables: list[Any], global_step: TensorLike) -> Operation:
        centers = [self._global_map[v] for v in variables]
        copies = [self._local_map[v] for v in variables]
        copied = [copy.assign(center) for copy, center in zip(copies, centers)]
        updates, differences = [], []
        with control_dependencies(copied):
            for v, copy in zip(variables, copies):
                with device(v.device):
                    differences.append(subtract(v, copy))
            for move, targets in ((assign.assign_sub, variables), (assign.assign_add, centers)):
                for target, difference in zip(targets, differences):
                    with device(target.device):
                        updates.append(move(target, multiply(self._moving_rate, difference)))
            if global_step is not None:
                with colocate_with(global_step):
                    updates.append(assign.assign_add(global_step, 1))
        return group(*updates)

    def get_init_op(self, task_index: int) -> Operation:
        """The operation that sets the local variables of worker `task_index` to the centre."""
        variables = trainable_variables()
        if not variables:
            raise ValueError(
                "The lists of local_variables, global_center_variables, local_center_variables should not be empty  "
            )
        init_ops = []
        for v in variables:
            init_ops.append(assign.assign(v, self._global_map[v]))
            init_ops.append(assign.assign(self._local_map[v], self._global_map[v]))
        init_op = group(*init_ops)
        return self._barrier([init_op], task_index) if self._synchronous else init_op

    def _barrier(self, after: list[Operation], task_index: int) -> Operation:
        """Waits until every worker came here."""
        queues = [
            FIFOQueue(self._num_worker, [dtypes.bool], shapes=[[]], shared_name=f"variable_init_sync_queue{i}")
            for i in range(self._num_worker)
        ]
        token = constant(False)
        with control_dependencies(after):
            steps = [no_op() if i == task_index else q.enqueue(token) for i, q in enumerate(queues)]
        steps.append(queues[task_index].dequeue_many(len(queues) - 1))
        return group(*steps)

    def make_session_run_hook(self, is_chief: bool, task_index: int) -> SessionRunHook:
        """The hook that runs `get_init_op`."""
        return _InitHook(self, is_chief, task_index)

    def swapping_saver(self, var_list: object = None, name: str = "swapping_saver", **kwargs: Any) -> Saver:
        """A tf.train.Saver that saves the centre under the names of the local variables.

        Args:
          var_list: list or dict of variables; by default the trainable ones.
          name: name of its nodes.
          **kwargs: other arguments of tf.train.Saver.

        Raises:
          RuntimeError: no variable was made with the custom getter.
        """
        if not self._global_map:
            raise RuntimeError(
                "global_center_variable is empty, please make sure this is called after model created and "
                "ElasticAverageCustomGetter is used when declaring you model"
            )
        var_list = trainable_variables() if var_list is None else var_list
        if not isinstance(var_list, dict):
            var_list = op_list_to_dict(var_list)
        centers = {v.op.name: self._global_map.get(v) for v in trainable_variables()}

        def center_of(value: Any) -> Any:
            found = centers.get(value.op.name)
            return value if found is None else found

        swapped = {k: [*map(center_of, v)] if isinstance(v, list) else center_of(v) for k, v in var_list.items()}
        return Saver(swapped, name=name, **kwargs)


def _make_local(names: set[str]) -> None:
    """Moves the global variables of these names to the local ones."""
    collection = get_collection_ref(GraphKeys.GLOBAL_VARIABLES)
    for v in [v for v in collection if v.op.name in names]:
        add_to_collection(GraphKeys.LOCAL_VARIABLES, v)
        collection[:] = [other for other in collection if other is not v]


@export("contrib.opt.AGNOptimizer")
class AGNOptimizer(_WorkerOptimizer):
    """Accumulated gradient normalization (Hermans, Spanakis & Möckel 2017): workers step by themselves, and every
    `communication_period` steps apply the mean of their gradients to the common variables.

    Args:
      optimizer: the optimizer of the local and of the common variables.
      num_worker: the number of workers.
      custom_getter: the AGNCustomGetter that the variables were made with.
      communication_period: local steps between two updates of the common variables.
      use_locking: passed on to the update operations.
      name: name of the optimizer.
    """

    def __init__(
        self, optimizer: Optimizer, num_worker: int, custom_getter: AGNCustomGetter, communication_period: int = 10,
        use_locking: bool = True, name: str = "AGNOptimizer",
    ) -> None:  # fmt: skip
        super().__init__(optimizer, num_worker, use_locking, name)
        self._period = communication_period
        self._global_map, self._grad_map = custom_getter._global_map, custom_getter._second_map

    def apply_gradients(self, grads_and_vars: Iterable, global_step: object = None, name: str | None = None) -> Any:
        """As of tf.train.Optimizer; see the class."""
        pairs = [(g, v) for g, v in grads_and_vars]
        variables = [v for g, v in pairs if g is not None]
        with variable_creator_scope(_local_creator):
            updates = [self._opt.apply_gradients(pairs)]
        sums = [self._grad_map[v] for v in variables]
        updates += [assign.assign_add(total, g) for total, g in zip(sums, (g for g, _ in pairs if g is not None))]
        counted = self._count_step()
        with control_dependencies([counted]):
            is_due = self._is_due(self._period)
        with control_dependencies(updates):
            return cond(is_due, lambda: self._update_common(variables, sums, global_step), no_op)

    def _update_common(self, variables: list[Any], sums: list[Any], global_step: TensorLike) -> Operation:
        means = [assign.assign(total, total / self._period) for total in sums]
        with control_dependencies(means):
            applied = self._opt.apply_gradients(list(zip(sums, [self._global_map[v] for v in variables])))
        updates = []
        with control_dependencies([applied]):
            if global_step is not None:
                with colocate_with(global_step):
                    updates.append(assign.assign_add(global_step, 1))
            updates += [assign.assign(v, self._global_map[v].read_value()) for v in variables]
            updates += [assign.assign(total, zeros_like(total)) for total in sums]
            return group(*updates)

    def get_init_op(self, task_index: int) -> Operation:
        """The operation that sets the local variables to the common ones and the sums of gradients to 0."""
        variables = trainable_variables()
        if not variables:
            raise ValueError(
                "The lists of local_variables, global_center_variables,grad_center_variables should not be empty"
            )
        init_ops = [assign.assign(v, self._global_map[v]) for v in variables]
        init_ops += [assign.assign(total, zeros_like(total)) for total in (self._grad_map[v] for v in variables)]
        return group(*init_ops)

    def make_session_run_hook(self, is_chief: bool, task_index: int) -> SessionRunHook:
        """The hook that runs `get_init_op`."""
        return _InitHook(self, is_chief, task_index)


def _local_creator(next_creator: Callable, collections: Any = None, **kwargs: object) -> Any:
    """Makes local variables of what would be global ones."""
    kept = [c for c in collections or () if c != GraphKeys.GLOBAL_VARIABLES]
    if not collections or len(kept) < len(collections):
        kept.append(GraphKeys.LOCAL_VARIABLES)
    return next_creator(collections=kept, **kwargs)


@export("contrib.opt.ModelAverageOptimizer")
class ModelAverageOptimizer(_WorkerOptimizer):
    """Block momentum's simplest form: every `interval_steps` steps all workers go on from the mean of their variables.

    Args:
      opt: the optimizer of the local variables.
      num_worker: the number of workers.
      is_chief: whether this worker computes the mean.
      ma_custom_getter: the ModelAverageCustomGetter that the variables were made with.
      interval_steps: local steps between two means.
      use_locking: passed on to the update operations.
      name: name of the optimizer.
    """

    def __init__(
        self, opt: Optimizer, num_worker: int, is_chief: bool, ma_custom_getter: ModelAverageCustomGetter,
        interval_steps: int = 100, use_locking: bool = True, name: str = "ModelAverageOptimizer",
    ) -> None:  # fmt: skip
        super().__init__(opt, num_worker, use_locking, name)
        self._is_chief, self._interval_steps = is_chief, interval_steps
        self._local_2_global = ma_custom_getter._local_2_global
        self._accumulator_list: list[tuple[ConditionalAccumulator, Any]] = []
        self._chief_init_op: Operation | None = None

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """As of the optimizer that does the work."""
        return self._opt.compute_gradients(*args, **kwargs)

    def _local_vars_update(self, var_list: list[Any]) -> Operation:
        if not var_list:
            raise ValueError("The list of local_variables should not be empty")
        updates = []
        for v, center in zip(var_list, [self._local_2_global[v] for v in var_list]):
            with device(v.device):
                updates.append(assign.assign(v, center.read_value()))
        return group(*updates)

    def apply_gradients(self, grads_and_vars: Iterable, global_step: object = None, name: str | None = None) -> Any:
        """As of tf.train.Optimizer; see the class. ValueError: there is no variable or no global step."""
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required")
        with control_dependencies([self._opt.apply_gradients(pairs)]):
            counted = self._count_step()
        variables = [v for g, v in pairs if g is not None]
        with control_dependencies([counted]):
            update = cond(self._is_due(self._interval_steps), lambda: self._average(variables, global_step), no_op)
        init_ops = []
        for accumulator, place in self._accumulator_list:
            with device(place):
                init_ops.append(accumulator.set_global_step(global_step, name="SetGlobalStep"))
        self._chief_init_op = group(*init_ops)
        return update

    def _average(self, variables: list[Any], global_step: Any) -> Operation:
        centers = [self._local_2_global[v] for v in variables]
        with colocate_with(global_step):
            queue = FIFOQueue(-1, [dtypes.bool], shapes=[[]], shared_name="sync_queue")
        given, means = [], []
        with name_scope(None, self._name + "/global"):
            for v, center in zip(variables, centers):
                with device(center.device):
                    accumulator = ConditionalAccumulator(v.dtype, shape=v.shape, shared_name=center.name + "/var_accum")
                    given.append(accumulator.apply_grad(v._ref(), local_step=global_step))
                    means.append(accumulator.take_grad(self._num_worker))
                    self._accumulator_list.append((accumulator, center.device))
        synchronized = self._lead(queue, given, means, centers, global_step) if self._is_chief else None
        if synchronized is None:
            with control_dependencies(given), device(global_step.device):
                synchronized = queue.dequeue()
        with control_dependencies([synchronized]):
            return self._local_vars_update(variables)

    def _lead(self, queue: FIFOQueue, given: list, means: list, centers: list[Any], global_step: Any) -> Operation:
        """Takes the means, and tells the other workers."""
        updates = []
        with control_dependencies(given):
            for mean, center in zip(means, centers):
                with device(center.device):
                    updates.append(assign.assign(center, mean))
            with device(global_step.device):
                updates.append(assign.assign_add(global_step, 1))
        with control_dependencies(updates), device(global_step.device):
            return queue.enqueue_many(fill([self._num_worker - 1], constant(False)))

    def get_init_op(self) -> Operation:
        """The operation that sets the local variables to the common ones."""
        return self._local_vars_update(trainable_variables())

    def make_session_run_hook(self) -> SessionRunHook:
        """The hook that makes the init ops."""
        return _ModelAverageHook(self, self._is_chief)


class _ModelAverageHook(SessionRunHook):
    def __init__(self, optimizer: ModelAverageOptimizer, is_chief: bool) -> None:
        self._optimizer, self._is_chief = optimizer, is_chief

    def begin(self) -> None:
        self._local_init_op = local_variables_initializer()
        self._global_init_op = None
        if self._is_chief:
            self._global_init_op = global_variables_initializer()
            self._chief_init_op = self._optimizer._chief_init_op
        self._variable_init_op = self._optimizer.get_init_op()
