"""Datasets and iterators that give each replica its input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.autograph.control_flow import Loop, loop_over
from tfcompat._src.base import dtypes, errors, nest
from tfcompat._src.data import structure
from tfcompat._src.data.clone import _RebatchDataset, auto_shard_dataset, clone_dataset
from tfcompat._src.data.dataset import DatasetV2
from tfcompat._src.data.dataset_v1 import DatasetV1
from tfcompat._src.data.multi_device import MultiDeviceIterator
from tfcompat._src.data.options import Options
from tfcompat._src.distribute.input_workers import InputWorkers
from tfcompat._src.distribute.values import regroup
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import device, executing_eagerly, executing_eagerly_outside_functions, get_default_graph
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.scan import add_n

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.tensor import Tensor

# ---- the input of one host ----


class _SingleWorkerDatasetIterator:
    """The elements of a dataset for the devices that one host feeds, in turn."""

    def __init__(self, dataset: DatasetV2, worker: str, devices: Sequence[str]) -> None:
        self._worker, self._devices = worker, tuple(devices)
        with device(worker):
            self._iterator = MultiDeviceIterator(dataset, list(devices))

    @property
    def element_spec(self) -> Any:
        """The structure of TypeSpecs of a replica's input."""
        return self._iterator.element_spec

    def get_next(self, device_string: str, name: str | None = None) -> Any:
        """The next element for one device."""
        with device(self._worker):
            return self._iterator.get_next(device_string)

    def get_next_as_list_deprecated(self, name: str | None = None) -> list:
        """The next element for each device; OutOfRangeError where one of them gets none."""
        with device(self._worker):
            return self._iterator.get_next()

    def get_next_as_list(self, name: str | None = None) -> tuple[Any, list]:
        """Whether the first device gets an element, and what each gets: an empty one where there is none."""
        with device(self._worker):
            optionals = self._iterator.get_next_as_optional()
            found = []
            for where, optional in zip(self._devices, optionals):
                with device(where):
                    found.append(cond(optional.has_value(), optional.get_value, lambda each=optional: _empty(each.value_structure)))
            return optionals[0].has_value(), found

    def initialize(self) -> list[Operation]:
        """Begins a pass; the operations that do, in a graph."""
        if executing_eagerly_outside_functions():
            self._iterator._eager_reset()
            return []
        return [self._iterator.initializer]

    output_classes = structure.legacy_property("classes")
    output_shapes = structure.legacy_property("shapes")
    output_types = structure.legacy_property("types")


def _empty(spec: object) -> Any:
    """An element without rows: its first dimension, and any that is not known, is 0."""

    def empty_of(shape: Any, kind: object) -> Tensor:
        sizes = [0 if size is None else size for size in shape.as_list()]
        return zeros([0, *sizes[1:]] if sizes and shape.is_fully_defined() else sizes, kind)

    shapes, kinds = structure.get_flat_tensor_shapes(spec), structure.get_flat_tensor_types(spec)
    return nest.pack_sequence_as(spec, [empty_of(shape, kind) for shape, kind in zip(shapes, kinds)])


class _SingleWorkerCallableIterator:
    """The tensors that a function makes, once for each device that one host feeds."""

    def __init__(self, fn: Callable[[], Any], worker: str, devices: Sequence[str]) -> None:
        self._fn, self._worker, self._devices = fn, worker, tuple(devices)

    def get_next(self, device_string: str, name: str | None = None) -> Any:
        """What the function makes for one device."""
        with device(self._worker):
            return self._fn()

    def get_next_as_list_deprecated(self, name: str | None = None) -> list:
        """What the function makes for each device."""
        with device(self._worker):
            return [self._fn() for _ in self._devices]

    def get_next_as_list(self, name: str | None = None) -> tuple[Any, list]:
        """True, and what the function makes for each device."""
        with device(self._worker):
            made = [self._fn() for _ in self._devices]
            return constant(True), made

    def initialize(self) -> list:
        """Nothing: a function has no start."""
        return []


def _iterators_of(datasets: Sequence[DatasetV2], input_workers: InputWorkers) -> list[_SingleWorkerDatasetIterator]:
    """The iterator of each host over its dataset."""
    found = []
    for i, (worker, dataset) in enumerate(zip(input_workers.worker_devices, datasets)):
        with device(worker):
            found.append(_SingleWorkerDatasetIterator(dataset, worker, input_workers.compute_devices_for_worker(i)))
    return found


# ---- iterators of all replicas ----


class DistributedIterator:
    """An iterator over the inputs of all replicas.

    Args:
      input_workers: the hosts, and the devices that they feed. iterators: one of each host. strategy: the strategy.

    Raises:
      ValueError: there is no host.
    """

    def __init__(self, input_workers: InputWorkers, iterators: Sequence[Any], strategy: Any) -> None:
        if not input_workers.worker_devices:
            raise ValueError("Should have at least one worker for input iterator.")
        self._input_workers, self._iterators, self._strategy = input_workers, list(iterators), strategy
        specs = [iterator.element_spec for iterator in iterators if isinstance(iterator, _SingleWorkerDatasetIterator)]
        self.element_spec = specs[0] if specs else None
        has_fixed_shapes = all(shape.is_fully_defined() for spec in specs for shape in structure.get_flat_tensor_shapes(spec))
        wants_optional = getattr(strategy.extended, "experimental_enable_get_next_as_optional", False)
        self._enable_get_next_as_optional = wants_optional and not has_fixed_shapes

    def __iter__(self) -> DistributedIterator:
        return self

    def __next__(self) -> Any:
        try:
            return self.get_next()
        except errors.OutOfRangeError:
            raise StopIteration from None

    next = __next__

    def get_next(self, name: str | None = None) -> Any:
        """The next input: of one replica as it is, of several as a nest of PerReplica values; OutOfRangeError where there is none.

        Where the strategy says so and shapes are not fixed, the last inputs, which are not enough for all replicas, are given with empty ones.
        """
        if self._enable_get_next_as_optional:
            has_value, found = _next_or_empty(self)
            return self._regrouped(self._or_end(has_value, found))
        made = []
        for worker, iterator in zip(self._input_workers.worker_devices, self._iterators):
            with device(worker):
                made.extend(iterator.get_next_as_list_deprecated())
        return self._regrouped(made)

    def _or_end(self, has_value: TensorLike, found: list[list]) -> list:
        """The inputs of all replicas, or the error at the end where no host has any."""
        results = []
        for i, (worker, iterator) in enumerate(zip(self._input_workers.worker_devices, self._iterators)):
            for where, value in zip(self._input_workers.compute_devices_for_worker(i), found[i]):
                with device(worker), device(where):
                    results.append(cond(has_value, lambda value=value: value, lambda iterator=iterator, where=where: iterator.get_next(where)))
        return results

    def _regrouped(self, made: list) -> Any:
        return made[0] if len(made) == 1 else regroup(self._input_workers.device_map, made)

    @property
    def _initializer(self) -> Any:
        """Begins a pass; the operation that does, in a graph."""
        operations = [op for iterator in self._iterators for op in iterator.initialize()]
        return group(operations) if operations else []


def _next_or_empty(iterator: DistributedIterator) -> tuple[Any, list[list]]:
    """Whether a host has an element, and what each gives for its devices: empty elements where there is none."""
    flags, found = [], []
    for worker, each in zip(iterator._input_workers.worker_devices, iterator._iterators):
        with device(worker):
            has_value, elements = each.get_next_as_list()
            flags.append(has_value)
            found.append(elements)
    if len(flags) == 1:
        return flags[0], found
    return cast(add_n([cast(flag, dtypes.int32) for flag in flags]), dtypes.bool), found


class DistributedIteratorV1(DistributedIterator):
    """A DistributedIterator that a program begins."""

    def initialize(self) -> Any:
        """The operation that begins the iteration; a list without one where the input is a function or operations run at once."""
        return self._initializer

    @property
    def initializer(self) -> Any:
        """As `initialize()`."""
        return self.initialize()

    output_classes = structure.legacy_property("classes")
    output_shapes = structure.legacy_property("shapes")
    output_types = structure.legacy_property("types")

    def get_iterator(self, worker: str) -> Any:
        """The iterator of a host; None where it reads no input."""
        hosts = self._input_workers.worker_devices
        return self._iterators[hosts.index(worker)] if worker in hosts else None


class DatasetIterator(DistributedIteratorV1):
    """An iterator over a dataset whose elements go to the replicas in turn; arguments as for DistributedDataset."""

    def __init__(
        self, dataset: DatasetV2, input_workers: InputWorkers, strategy: object, split_batch_by: int | None = None, input_context: object = None
    ) -> None:
        datasets = DistributedDataset(dataset, input_workers, strategy, split_batch_by, input_context)._cloned_datasets
        super().__init__(input_workers, _iterators_of(datasets, input_workers), strategy)


class InputFunctionIterator(DistributedIteratorV1):
    """An iterator over what a function gives for each host.

    Args:
      input_fn: of an InputContext; gives a tf.data.Dataset of batches for one replica each, or a function that makes the tensors of one.
      input_workers: the hosts. input_contexts: one for each. strategy: the strategy.

    Raises:
      ValueError: it gives something else, or there are not as many contexts as hosts.
    """

    def __init__(self, input_fn: Callable[[Any], Any], input_workers: InputWorkers, input_contexts: Sequence[Any], strategy: object) -> None:
        _check_contexts(input_workers, input_contexts)
        iterators: list[Any] = []
        for i, (worker, context) in enumerate(zip(input_workers.worker_devices, input_contexts)):
            with device(worker):
                source, devices = input_fn(context), input_workers.compute_devices_for_worker(i)
                if isinstance(source, DatasetV2):
                    iterators.append(_SingleWorkerDatasetIterator(source, worker, devices))
                elif callable(source):
                    iterators.append(_SingleWorkerCallableIterator(source, worker, devices))
                else:
                    raise ValueError("input_fn must return a tf.data.Dataset or a callable.")
        super().__init__(input_workers, iterators, strategy)


def _check_contexts(input_workers: InputWorkers, input_contexts: Sequence[Any]) -> None:
    if input_workers.num_workers != len(input_contexts):
        raise ValueError(
            f"Number of input workers ({input_workers.num_workers}) is not same as number of input_contexts ({len(input_contexts)})"
        )


# ---- datasets ----


class _IterableInput:
    """What gives all replicas their inputs, again and again."""

    def __init__(self, input_workers: InputWorkers, strategy: Any) -> None:
        self._input_workers, self._strategy = input_workers, strategy

    def _datasets(self) -> list[DatasetV2]:
        """The dataset of each host."""
        raise NotImplementedError("must be implemented in descendants")

    def _iterator(self, kind: type[DistributedIterator]) -> Any:
        return kind(self._input_workers, _iterators_of(self._datasets(), self._input_workers), self._strategy)

    def __iter__(self) -> DistributedIterator:
        if not (executing_eagerly() or get_default_graph().building_function):
            raise RuntimeError("__iter__() is only supported inside of tf.function or when eager execution is enabled.")
        return self._iterator(DistributedIterator)

    def reduce(self, initial_state: object, reduce_fn: Callable[[Any, Any], Any]) -> Any:
        """What is left of a state after `state = reduce_fn(state, input)` for each input, in a loop of the graph.

        Raises:
          ValueError: several hosts read the input.
        """
        iterator = iter(self)
        if self._input_workers.num_workers > 1:
            raise ValueError("Dataset iteration within a tf.function is not supported for multiple workers.")

        def step(has_value: object, found: list, state: object) -> tuple[Any, list, Any]:
            state = reduce_fn(state, iterator._regrouped(found[0]))
            return (*_next_or_empty(iterator), state)

        return while_loop(lambda has_value, *_: has_value, step, [*_next_or_empty(iterator), initial_state], parallel_iterations=1)[2]


class DistributedDataset(_IterableInput):
    """A dataset whose elements go to the replicas in turn.

    Args:
      dataset: a tf.data.Dataset.
      input_workers: the hosts, each of which gets a part of it, and the devices that they feed.
      strategy: the strategy.
      split_batch_by: in how many parts, for as many replicas, each of its batches is split; None: batches are as they are.
      input_context: the InputContext, where other processes share the dataset.

    Raises:
      ValueError: elements are to be split and are no batches.
    """

    def __init__(
        self, dataset: DatasetV2, input_workers: InputWorkers, strategy: object, split_batch_by: int | None = None, input_context: Any = None
    ) -> None:
        super().__init__(input_workers, strategy)
        if split_batch_by:
            dataset = _RebatchDataset(dataset, split_batch_by).prefetch(split_batch_by)
        dataset = _stateless(dataset)
        self.element_spec = dataset.element_spec
        self._cloned_datasets = []
        for i, worker in enumerate(input_workers.worker_devices):
            count, number = input_workers.num_workers, i
            if input_context is not None:
                count, number = input_context.num_input_pipelines, input_context.input_pipeline_id
            with device(worker):
                own = dataset if executing_eagerly() else clone_dataset(dataset)
                self._cloned_datasets.append(auto_shard_dataset(own, count, number))

    def _datasets(self) -> list[DatasetV2]:
        return self._cloned_datasets


def _stateless(dataset: DatasetV2) -> DatasetV2:
    options = Options()
    options.experimental_distribute._make_stateless = True
    return dataset.with_options(options)


class _IterableInputV1(_IterableInput):
    """The iterators of tf.compat.v1 over inputs of replicas."""

    def make_one_shot_iterator(self) -> DistributedIteratorV1:
        """An iterator, where operations run at once; ValueError in a graph."""
        if not executing_eagerly():
            raise ValueError("Cannot create a one shot iterator. Please use `make_initializable_iterator()` instead.")
        return self._iterator(DistributedIteratorV1)

    def make_initializable_iterator(self, shared_name: str | None = None) -> DistributedIteratorV1:
        """An iterator whose `initializer` begins a pass; ValueError where operations run at once."""
        if executing_eagerly():
            raise ValueError("Cannot create initializable iterator in Eager mode. Please use `iter()` instead.")
        return self._iterator(DistributedIteratorV1)

    _make_one_shot_iterator = make_one_shot_iterator
    _make_initializable_iterator = make_initializable_iterator


class DistributedDatasetV1(_IterableInputV1, DistributedDataset):
    """A DistributedDataset with the iterators of tf.compat.v1."""


class DistributedDatasetsFromFunction(_IterableInput):
    """The datasets of batches for one replica each that `dataset_fn(input_context)` makes for each host, whenever an iteration begins."""

    def __init__(self, dataset_fn: Callable[[Any], DatasetV2], input_workers: InputWorkers, input_contexts: Sequence[Any], strategy: object) -> None:
        super().__init__(input_workers, strategy)
        _check_contexts(input_workers, input_contexts)
        self._dataset_fn, self._input_contexts = dataset_fn, input_contexts

    def _datasets(self) -> list[DatasetV2]:
        found = []
        for worker, context in zip(self._input_workers.worker_devices, self._input_contexts):
            with device(worker):
                found.append(_stateless(self._dataset_fn(context)))
        return found


class DistributedDatasetsFromFunctionV1(_IterableInputV1, DistributedDatasetsFromFunction):
    """As DistributedDatasetsFromFunction, with the iterators of tf.compat.v1."""


def get_distributed_dataset(
    dataset: DatasetV2, input_workers: InputWorkers, strategy: object, split_batch_by: int | None = None, input_context: object = None
) -> DistributedDataset:
    """A dataset of tf.compat.v1 or of TensorFlow 2 as one of all replicas; arguments as for DistributedDataset."""
    kind = DistributedDatasetV1 if isinstance(dataset, DatasetV1) else DistributedDataset
    return kind(dataset, input_workers, strategy, split_batch_by, input_context)


def get_distributed_datasets_from_function(
    dataset_fn: Callable[[Any], DatasetV2], input_workers: InputWorkers, input_contexts: Sequence[Any], strategy: object
) -> DistributedDatasetsFromFunction:
    """The inputs of all replicas by a function of an InputContext; arguments as for DistributedDatasetsFromFunction."""
    kind = DistributedDatasetsFromFunction if executing_eagerly_outside_functions() else DistributedDatasetsFromFunctionV1
    return kind(dataset_fn, input_workers, input_contexts, strategy)


@loop_over.register
def _over_inputs(inputs: _IterableInput, loop: Loop) -> None:
    """`for x in inputs`: a loop that takes all."""
    if loop.stops_early:
        raise NotImplementedError("break and return statements are not yet supported in for ... in distributed input loops.")
    has_variables = bool(loop.variables)

    def step(state: tuple[Any, ...], item: object) -> tuple[Any, ...]:
        found = loop.step(*(state if has_variables else ()), item=(item,))
        return found if has_variables else state

    found = inputs.reduce(loop.variables if has_variables else (constant(0),), step)
    loop.finish(found if has_variables else ())
