"""Training, test and prediction of a model that was compiled under a tf.distribute.Strategy.

A batch is one call of a function of the graph: each replica takes its part of it through `eager_step`, which is written for functions; what is
shown, the loss and the metrics, is put together from all replicas. Arrays are cut into one part for each replica, datasets are read by
the strategy, as TensorFlow 1.15 reads both.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import errors, nest
from tfcompat._src.distribute.distribute_coordinator import CoordinatorMode, run_distribute_coordinator
from tfcompat._src.distribute.reduce_util import ReduceOp
from tfcompat._src.distribute.values import regroup
from tfcompat._src.function.def_function import defun
from tfcompat._src.graph.scopes import executing_eagerly
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.function import function
from tfcompat._src.keras.backend.session import configure_and_create_distributed_session, get_session
from tfcompat._src.keras.backend.values import placeholder
from tfcompat._src.keras.callbacks import tensorboard, tensorboard_v2
from tfcompat._src.keras.callbacks.monitors import LearningRateScheduler, ReduceLROnPlateau
from tfcompat._src.keras.engine import eager_step, training_data, training_datasets
from tfcompat._src.keras.engine.registry import provides
from tfcompat._src.keras.engine.training_sources import ArraySource, Batch, Source
from tfcompat._src.keras.optimizers.legacy import TFOptimizer
from tfcompat._src.keras.optimizers.optimizer_v2 import OptimizerV2
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.platform import logging
from tfcompat._src.saved_model.model_utils.keras_mode_keys import ModeKeys
from tfcompat._src.train.worker_context import get_current_worker_context

if TYPE_CHECKING:
    from tfcompat._src.keras.engine.training import Model

Parts = list[list[Any]]
"""For each replica of this process, the inputs, targets and weights of samples of a batch, one after the other."""


def check_optimizer(optimizer: object) -> None:
    """Raises ValueError for an optimizer whose updates are not those of all replicas."""
    if not isinstance(optimizer, (OptimizerV2, TFOptimizer)):
        raise ValueError(f"A model under a tf.distribute.Strategy takes an optimizer of tf.keras.optimizers or tf.train, not {optimizer!r}.")


def global_batch_size_supported(distribution_strategy: Any) -> bool:
    """Whether a batch that a program names under this strategy is that of all replicas, not of each."""
    return bool(distribution_strategy.extended._global_batch_size)


def begin_session(model: Model) -> None:
    """Makes the session of Keras that of the model's strategy; where that is of a cluster, starts the server of this task."""
    as_task(model, lambda: configure_and_create_distributed_session(model._distribution_strategy))


def _make_optimizer_weights(model: Model) -> None:
    """Makes what the optimizer keeps, before a function is traced that changes it."""
    optimizer = model.optimizer
    if isinstance(optimizer, TFOptimizer):
        optimizer.optimizer._create_slots(model._unique_trainable_weights)
        return
    optimizer.iterations  # noqa: B018
    optimizer._create_hypers()
    optimizer._create_slots(model._unique_trainable_weights)


# ---- a batch ----


def make_step(model: Model, mode: str, structure: object) -> Callable[[Parts], list[Tensor]]:
    """What computes a batch: its results as tensors of the graph.

    Args:
      model: compiled under a strategy. mode: train, test or predict.
      structure: (inputs, targets, weights of samples), nests whose leaves are what a replica is given.
    """
    strategy = model._distribution_strategy
    devices = strategy.extended.worker_devices

    def on_replica(part: list[Tensor]) -> Any:
        inputs, targets, weights = nest.pack_sequence_as(structure, part)
        if mode == ModeKeys.PREDICT:
            return nest.flatten(eager_step._call(model, inputs, training=False))
        return eager_step._loss_and_metrics(model, inputs, targets, weights, trains=mode == ModeKeys.TRAIN)[0]

    def on_all(*flat: Tensor) -> list[Tensor]:
        size = len(flat) // len(devices)
        parts = [list(flat[i * size : (i + 1) * size]) for i in range(len(devices))]
        with strategy.scope():
            found = strategy.experimental_run_v2(on_replica, args=(parts[0] if len(parts) == 1 else regroup(devices, parts),))
            if mode == ModeKeys.PREDICT:
                rows = [strategy.experimental_local_results(each) for each in found]
                return [each[0] if len(each) == 1 else concat(each, axis=0) for each in rows]
            total = strategy.reduce(ReduceOp.SUM, found, axis=None)
            return [total, *(metric.result() for metric in model._get_training_eval_metrics())]

    if mode == ModeKeys.TRAIN:
        with strategy.scope():
            _make_optimizer_weights(model)
    run = defun(on_all, autograph=False)
    return lambda parts: run(*[tensor for part in parts for tensor in part])


def batch_function(
    model: Model, mode: str, inputs: object, targets: object, weights: object, rows: int | None
) -> Callable[[list[Any]], list[Any]]:
    """A function of the arrays of a batch, for all replicas of all workers together.

    Args:
      model: compiled under a strategy. mode: train, test or predict. inputs, targets, weights: nests like those of a batch.
      rows: what each replica takes, the last one maybe less; None for equal parts.
    """
    strategy = model._distribution_strategy
    structure = (inputs, targets or [], weights or [])
    arrays = nest.flatten(structure)
    key = mode, rows, tuple((np.asarray(a).dtype.str, np.shape(a)[1:]) for a in arrays), nest.map_structure(lambda _: 0, structure).__repr__()
    if key not in model._distributed_functions:
        context = strategy.extended._input_contexts(1)[0]
        replicas, workers = strategy.num_replicas_in_sync, context.num_input_pipelines
        own = [i * workers + context.input_pipeline_id for i in range(replicas // workers)]
        step = make_step(model, mode, structure)
        if executing_eagerly():
            run = functools.partial(_run_at_once, step)
        else:
            parts = [[placeholder(shape=(None, *np.shape(a)[1:]), dtype=np.asarray(a).dtype.name) for a in arrays] for _ in own]
            run = function([t for part in parts for t in part], step(parts), name=f"{mode}_function")
        model._distributed_functions[key] = functools.partial(_run_on_parts, run, replicas, own, rows)
    return model._distributed_functions[key]


def _run_at_once(step: Callable[[Parts], list[Tensor]], arrays: list[Any]) -> Any:
    return training_datasets.numpy_of(step([[convert_to_tensor(array) for array in arrays]]))


def refuse(model: Model, what: str) -> None:
    """Raises NotImplementedError for what models that are compiled under a strategy do not do, as in TensorFlow 1.15."""
    if model._distribution_strategy is not None:
        raise NotImplementedError(f"`{what}` is not supported for models compiled with tf.distribute.Strategy.")


def check_arguments(model: Model, class_weight: object = None, validation_split: object = None, callbacks: object = None) -> None:
    """Checks a model under a strategy, and what it is to be trained with.

    Raises:
      NotImplementedError: classes have weights. ValueError: the model has no inputs yet, samples are to be held out, or callbacks do not fit.
    """
    if model._distribution_strategy is None:
        return
    if class_weight:
        raise NotImplementedError("`class_weight` is currently not supported when using tf.distribute.Strategy.")
    if validation_split:
        raise ValueError("validation_split argument is not supported with distribution strategies.")
    validate_callbacks(callbacks, model.optimizer)
    if not model._is_graph_network:
        raise ValueError(
            "We currently do not support distribution strategy with a `Sequential` model that is created without `input_shape`/`input_dim` "
            "set in its first layer or a subclassed model."
        )


def _run_on_parts(
    run: Callable[[list[Any]], list[Any]], replicas: int, own: list[int], rows: int | None, arrays: list[Any]
) -> list[Any]:
    """Calls a function with the rows of each replica of this worker: `own` are their numbers."""
    rows = -(-len(arrays[0]) // replicas) if rows is None else rows
    return run([array[i * rows : (i + 1) * rows] for i in own for array in arrays])


# ---- where batches come from ----


def get_input_params(
    distribution_strategy: Any, num_samples: int, steps: int | None, batch_size: int | None, mode: str | None = None
) -> tuple[int, int]:
    """The steps of an epoch over arrays, and the batch size: of all replicas, or of each where the strategy names batches so.

    Args:
      distribution_strategy: the strategy. num_samples: of the arrays. steps, batch_size: those that the program states. mode: train, test or
        predict; None: no batch may be smaller than the others.

    Raises:
      ValueError: samples are left over, or there are too few; or replicas get batches of different sizes.
    """
    replicas = 1 if global_batch_size_supported(distribution_strategy) else distribution_strategy.num_replicas_in_sync
    size = None if batch_size is None else batch_size * replicas
    may_be_partial = mode == ModeKeys.TRAIN or executing_eagerly()
    if steps is None:
        size = min(num_samples, 32) if size is None else size
        if not may_be_partial and num_samples % size:
            raise ValueError(f"The number of samples {num_samples} is not divisible by batch size {size}.")
        steps = -(-num_samples // size)
    elif size is None:
        if num_samples % steps:
            raise ValueError(
                f"The number of samples {num_samples} is not divisible by steps {steps}. Please change the number of steps to a value that "
                "can consume all the samples"
            )
        size = num_samples // steps
    else:
        needed = size * steps if not may_be_partial else size * (steps - 1) + 1 if steps > 1 else 0
        if num_samples < needed:
            raise ValueError(
                f"Number of samples {num_samples} is less than samples required for specified batch_size {size} and steps {steps}"
            )
    if size % replicas:
        raise ValueError(
            f"The batch size ({size}) could not be sharded evenly across the sync replicas ({replicas}) in the distribution strategy."
        )
    return steps, size // replicas


def _replicas_of_batches(strategy: Any) -> int | None:
    """The replicas whose batches a program names one by one; None where it names the batch of all."""
    return None if global_batch_size_supported(strategy) else strategy.num_replicas_in_sync


@provides("distributed_arrays")
def array_source(
    model: Model, mode: str, inputs: Any, targets: Any, sample_weights: Any, batch_size: int | None, steps: int | None, shuffle: Any,
    steps_name: str, epochs: int,
) -> Source:  # fmt: skip
    """The batches of arrays for a model under a strategy: by the rules of 1.15's loops for graphs, or for operations that run at once."""
    if not executing_eagerly():
        return DistributedArraySource(model, mode, inputs, targets, sample_weights, batch_size, steps, shuffle, epochs)
    if steps_name == "validation_steps":
        steps = None if batch_size is None or steps is None else min(steps, -(-len(nest.flatten(inputs)[0]) // batch_size))
    return EagerArraySource(model, mode, inputs, targets, [w for w in sample_weights or [] if w is not None], batch_size, steps, shuffle)


class EagerArraySource(ArraySource):
    """Arrays in batches for all replicas, where operations run at once: the last batch of an epoch may be smaller, and leave replicas without samples.

    Args:
      model: compiled under a strategy. mode: train, test or predict. inputs, targets, sample_weights: lists of arrays.
      batch_size: samples in a batch. steps: batches in an epoch, all by default. shuffle: as of ArraySource.
    """

    uses_steps = False

    def __init__(
        self, model: Model, mode: str, inputs: object, targets: object, sample_weights: object, batch_size: int | None, steps: int | None, shuffle: object
    ) -> None:
        strategy = model._distribution_strategy
        samples = len(nest.flatten(inputs)[0])
        steps, size = get_input_params(strategy, samples, steps, batch_size, mode)
        replicas = _replicas_of_batches(strategy)
        super().__init__(model, mode, inputs, targets, sample_weights, size * (replicas or 1), None, shuffle)
        self.steps = steps
        self._function = batch_function(model, mode, self._inputs, targets, sample_weights, size if replicas else None)

    count = property(lambda self: self.samples)

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch."""
        return itertools.islice(super().epoch(), self.steps)


class DistributedArraySource(Source):
    """Arrays in batches for all replicas. Epochs follow each other without a gap: a batch may have samples of two.

    Args:
      model: compiled under a strategy. mode: train, test or predict. inputs, targets, sample_weights: lists of arrays.
      batch_size: samples in a batch. steps: batches in an epoch. shuffle: whether samples come in random order.
      epochs: how often all samples come.
    """

    def __init__(
        self, model: Model, mode: str, inputs: Any, targets: Any, sample_weights: Any, batch_size: int | None, steps: int | None,
        shuffle: object, epochs: int,
    ) -> None:  # fmt: skip
        structure = inputs, targets or [], [w for w in sample_weights or [] if w is not None]
        self._arrays = nest.flatten(structure)
        self.samples = len(self._arrays[0])
        strategy = model._distribution_strategy
        self.steps, self.batch_size = get_input_params(strategy, self.samples, steps, batch_size, mode)
        replicas = _replicas_of_batches(strategy)
        self._size = self.batch_size * (replicas or 1)
        self._shuffle, self._left = shuffle, epochs
        self._order = np.zeros(0, np.int64)
        self._function = batch_function(model, mode, *structure, self.batch_size if replicas else None)

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch; errors.OutOfRangeError where the samples end before."""
        for step in range(self.steps):
            while len(self._order) < self._size and self._left:
                self._left -= 1
                more = np.random.permutation(self.samples) if self._shuffle else np.arange(self.samples)
                self._order = np.concatenate([self._order, more])
            chosen, self._order = self._order[: self._size], self._order[self._size :]
            if not len(chosen):
                raise errors.OutOfRangeError(None, None, "there are no more samples")
            yield Batch(step, 0, 0, 1, functools.partial(self._function, [a[chosen] for a in self._arrays]))


@provides("distributed_datasets")
def dataset_source(model: Model, mode: str, dataset: Any, **settings: Any) -> Source:
    """The batches of a dataset for a model under a strategy; arguments as of DatasetSource."""
    kind = DistributedEagerSource if executing_eagerly() else DistributedDatasetSource
    return kind(model, mode, dataset, **settings)


class DistributedEagerSource(Source):
    """Batches of a dataset that the strategy of a model reads, where operations run at once; arguments as of DatasetSource."""

    def __init__(
        self, model: Model, mode: str, dataset: Any, steps: int | None = None, epochs: int = 1, steps_name: str = "steps",
        restarts: bool = False,
    ) -> None:  # fmt: skip
        self._restarts = restarts or steps is None
        self.steps = training_datasets.infer_steps_for_dataset(dataset, steps, epochs, steps_name) if steps is None else steps
        self._model, self._mode = model, mode
        self._inputs = model._distribution_strategy.experimental_distribute_dataset(dataset)
        self._iterator: Any = None
        self._steps: dict[str, Callable[[Parts], list[Tensor]]] = {}

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch; errors.OutOfRangeError where the dataset ends before."""
        if self._restarts or self._iterator is None:
            self._iterator = iter(self._inputs)
        for step in range(self.steps or sys.maxsize):
            element = training_datasets.unpack_element(self._iterator.get_next())
            replicas = range(len(self._model._distribution_strategy.extended.worker_devices))
            parts = [nest.map_structure(functools.partial(_of_replica, self._model._distribution_strategy, i), element) for i in replicas]
            size = sum(int(nest.flatten(part)[0].shape[0]) for part in parts)
            yield Batch(step, 0, 0, size, functools.partial(self._compute, parts))

    def _compute(self, parts: list[Any]) -> Any:
        given = [_as_lists(self._model, *part) for part in parts]
        key = repr(nest.map_structure(lambda _: 0, given[0]))
        if key not in self._steps:
            self._steps[key] = make_step(self._model, self._mode, given[0])
        return training_datasets.numpy_of(self._steps[key]([nest.flatten(each) for each in given]))

    def ran_out(self, step: int, epochs: int, steps_name: str) -> bool:
        """Takes note that an epoch ended at `step`; whether that ends the training, with a warning."""
        if self.steps is None:
            self.steps = step or None
            return False
        return super().ran_out(step, epochs, steps_name)


class DistributedDatasetSource(Source):
    """Batches of a dataset that the strategy of a model reads; arguments as of DatasetSource."""

    def __init__(
        self, model: Model, mode: str, dataset: Any, steps: int | None = None, epochs: int = 1, steps_name: str = "steps",
        restarts: bool = False,
    ) -> None:  # fmt: skip
        self._restarts = restarts or steps is None
        if steps is None and not _is_shared(model, dataset):
            steps = training_datasets.infer_steps_for_dataset(dataset, None, epochs, steps_name)
        self.steps = steps
        strategy = model._distribution_strategy
        with strategy.scope():
            self._iterator = strategy.make_dataset_iterator(dataset)
            element = training_datasets.unpack_element(self._iterator.get_next())
        self._session = get_session()
        self._session.run(self._iterator.initialize())
        self._begun = True
        replicas = range(len(strategy.extended.worker_devices))
        given = [_as_lists(model, *nest.map_structure(functools.partial(_of_replica, strategy, i), element)) for i in replicas]
        step = make_step(model, mode, given[0])
        self._function = function([], step([nest.flatten(each) for each in given]), name=f"{mode}_function")

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch; errors.OutOfRangeError where the dataset ends before."""
        if self._restarts and not self._begun:
            self._session.run(self._iterator.initialize())
        self._begun = False
        for step in range(self.steps or sys.maxsize):
            yield Batch(step, 0, 0, 1, lambda: self._function([]))

    def ran_out(self, step: int, epochs: int, steps_name: str) -> bool:
        """Takes note that an epoch ended at `step`; whether that ends the training, with a warning."""
        if self.steps is None:
            self.steps = step or None
            return False
        return super().ran_out(step, epochs, steps_name)


def _of_replica(strategy: Any, number: int, value: Any) -> Any:
    """What a replica of this process has of a distributed value; None of None."""
    return None if value is None else strategy.experimental_local_results(value)[number]


def _is_shared(model: Model, dataset: Any) -> bool:
    """Whether other workers read parts of a dataset: how much is left for this one is seen at its end."""
    return model._in_multi_worker_mode() and dataset.options().experimental_distribute.auto_shard


def _as_lists(model: Model, x: object, y: object, weights: object) -> tuple[list[Any], list[Any], list[Any]]:
    """Inputs, targets and weights of samples of a replica as lists, in the model's order."""
    x, y, weights = model._standardize_user_data(x, y, sample_weight=weights)
    return training_data.ModelInputs(x).as_list(), list(y or []), [w for w in weights or [] if w is not None]


# ---- several workers ----


def needs_task(model: Model) -> bool:
    """Whether the model is trained by the tasks of a cluster, and this process has not begun to be one of them."""
    return model._in_multi_worker_mode() and get_current_worker_context() is None


def as_task(model: Model, run: Callable[[], Any]) -> Any:
    """What `run()` gives, in a task of the cluster where the strategy is of one."""
    if not needs_task(model):
        return run()
    return run_distribute_coordinator(lambda _: run(), model._distribution_strategy, mode=CoordinatorMode.INDEPENDENT_WORKER)


def validate_callbacks(input_callbacks: Any, optimizer: object) -> None:
    """Checks callbacks of a model under a strategy; one that writes gradients writes none then, with a warning.

    Raises:
      ValueError: a callback changes the learning rate of an optimizer that is none of tf.keras.optimizers.
    """
    for callback in input_callbacks or ():
        if isinstance(callback, LearningRateScheduler | ReduceLROnPlateau) and not isinstance(optimizer, OptimizerV2):
            raise ValueError(f"You must specify a Keras Optimizer V2 when using {callback} callback with DistributionStrategy.")
        if isinstance(callback, tensorboard.TensorBoard | tensorboard_v2.TensorBoard) and getattr(callback, "write_grads", False):
            logging.warning(
                "`write_grads` in the TensorBoard callback is not supported when using DistributionStrategy. Setting `write_grads` to `False`."
            )
            callback.write_grads = False


def validate_distributed_dataset_inputs(
    distribution_strategy: object, x: object, y: object, sample_weights: object = None
) -> tuple[list[Any], list[Any] | None, list[Any] | None]:
    """The first replica's part of inputs, targets and weights.

    Args:
      distribution_strategy: the strategy.
      x, y, sample_weights: nests of PerReplica values or tensors; None for targets and weights that there are not.

    Raises:
      ValueError: a value is no tensor, or its parts have different shapes or dtypes.
    """
    parts = [None if value is None else _first_parts(distribution_strategy, value) for value in (x, y, sample_weights)]
    return parts[0], parts[1], parts[2]  # type: ignore[return-value]  # x is given


def _first_parts(strategy: Any, value: object) -> list[Any]:
    found = []
    for leaf in nest.flatten(value):
        parts = strategy.experimental_local_results(leaf)
        for part in parts:
            if not isinstance(part, Tensor):
                raise ValueError(f"Dataset input to the model should be tensors instead they are of type {type(leaf)}")
        for what, kinds in (("types", {part.dtype for part in parts}), ("shapes", {part.shape.sizes for part in parts})):
            if len(kinds) > 1:
                raise ValueError(f"Input tensor {what} do not match for distributed tensor inputs {leaf}")
        found.append(parts[0])
    return found


def get_distributed_model(model: Model, mode: str) -> Any:
    """Would give the copies of a model that a strategy trains.

    Raises:
      NotImplementedError: always: tfcompat trains the model itself under a strategy.
    """
    raise NotImplementedError("tfcompat makes no copies of a model under a strategy: look at the model itself")


def own_callbacks(callbacks: Any) -> list[Any]:
    """The callbacks that this task has to do: some are the chief's alone."""
    is_chief = get_current_worker_context().is_chief
    return [c for c in callbacks or () if is_chief or not getattr(c, "_chief_worker_only", False)]
