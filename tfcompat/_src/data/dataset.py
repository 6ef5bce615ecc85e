"""tf.data.Dataset: a lazy pipeline whose elements are structures of tensors.

Each method adds one node to the graph; its output is a variant that holds a `values.DatasetValue`. Nothing is read before an iterator
takes an element. Beside the variant, a dataset keeps the types of its elements and its inputs, from which options are collected.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape, dimension_at_index
from tfcompat._src.base.trackable import Trackable
from tfcompat._src.data import (  # noqa: F401  (the ops)
    batch_ops,
    buffer_ops,
    distribution_ops,
    generators,
    nest,
    option_ops,
    padding,
    parallel_ops,
    pipeline_ops,
    shuffle_ops,
    source_ops,
    stats_ops,
    structure,
    transform_ops,
)
from tfcompat._src.data.dataset_spec import DatasetSpec
from tfcompat._src.data.iterator import EagerIterator, ElementAttrs, flat_attrs
from tfcompat._src.data.options import Options
from tfcompat._src.data.random_seed import get_seed
from tfcompat._src.data.structured_function import StructuredFunctionWrapper
from tfcompat._src.function.wrapped_function import WrappedFunction, function_from_graph_def
from tfcompat._src.graph import constant_value
from tfcompat._src.graph.attr_values import FunctionRef
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import control_dependencies, get_default_graph, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.queues.files import matching_files
from tfcompat._src.ops.strings.text import reduce_join
from tfcompat._src.proto import messages

AUTOTUNE = export("data.experimental.AUTOTUNE", "contrib.data.AUTOTUNE")(-1)
_CPUS = os.cpu_count() or 1
"""The cycle length that AUTOTUNE asks for."""


def number(value: object, name: str, dtype: dtypes.DType = dtypes.int64) -> Tensor:
    """Converts an argument of a transformation to a tensor."""
    return convert_to_tensor(value, dtype, name=name)


def batch_spec(element_spec: object, batch_size: object, drop_remainder: Tensor) -> Any:
    """Returns the element type of batches; their length is known statically only if the last, smaller batch is dropped."""
    drops = constant_value.constant_value(drop_remainder)
    size = constant_value.constant_value(batch_size) if drops is not None and drops else None
    return nest.map_structure(lambda spec: spec._batch(None if size is None else int(size)), element_spec)


@export("compat.v2.data.Dataset")
class DatasetV2(Trackable, CompositeTensor):
    """A lazy pipeline whose elements are structures of tensors; methods return new datasets that read from this one.

    Args:
      variant_tensor: the dataset in the graph, a scalar variant.
      element_spec: structure of the TypeSpecs of an element.
      inputs: the datasets that this one reads from.
    """

    _preserve_cardinality = True

    def __init__(self, variant_tensor: Tensor, element_spec: object, inputs: tuple[Any, ...] = ()) -> None:
        self._variant_tensor_attr, self._element_spec, self._input_datasets = variant_tensor, element_spec, tuple(inputs)
        self._graph_attr = get_default_graph()
        self._own_options: Options | None = None

    def _made(self, variant_tensor: Tensor, element_spec: object, *more_inputs: object) -> DatasetV2:
        """Returns a dataset of the same class with this one (and `more_inputs`) as its inputs."""
        return self._class()(variant_tensor, element_spec, (self, *more_inputs))

    @classmethod
    def _class(cls) -> type[DatasetV2]:
        return DatasetV2

    @property
    def _variant_tensor(self) -> Tensor:
        return self._variant_tensor_attr

    def _as_variant_tensor(self) -> Tensor:
        return self._variant_tensor_attr

    def _as_serialized_graph(self, stateful_whitelist: object = None) -> Tensor:
        """Returns the nodes that make the dataset as a serialized GraphDef, a string scalar."""
        graph: Tensor = raw.DatasetToGraph(self._variant_tensor, stateful_whitelist=[] if stateful_whitelist is None else stateful_whitelist)
        return graph

    def _inputs(self) -> list[Any]:
        return list(self._input_datasets)

    def _functions(self) -> list[StructuredFunctionWrapper]:
        """Returns the user functions that this dataset's own node calls, without those of its inputs."""
        node = self._variant_tensor.op
        named = [node.graph._get_function(value.name) for value in node.attrs.values() if isinstance(value, FunctionRef)]
        wrappers = [None if function is None else function.of_elements for function in named]
        return [wrapper for wrapper in wrappers if isinstance(wrapper, StructuredFunctionWrapper)]

    def _trace_variant_creation(self) -> WrappedFunction:
        """Returns a function without arguments that makes the dataset again; NotImplementedError if it was made in a graph."""
        # A dataset of a graph has no value yet that could be serialized.
        if not self._graph.executes:
            raise NotImplementedError(
                "Can only export Datasets which were created executing eagerly. Please file a feature request if this is important to you."
            )
        graph_def = messages.GraphDef.FromString(np.asarray(self._as_serialized_graph()).item())
        # The last node of the serialized graph is a _Retval, whose input is the dataset.
        result = graph_def.node.pop()
        return function_from_graph_def(graph_def, [], f"{result.input[0]}:0")

    @property
    def _graph(self) -> Graph:
        return self._graph_attr

    @property
    def element_spec(self) -> Any:
        """The structure of TypeSpecs of an element."""
        return self._element_spec

    @property
    def _type_spec(self) -> DatasetSpec:
        return DatasetSpec(self.element_spec)

    @property
    def _flat_structure(self) -> ElementAttrs:
        return flat_attrs(self.element_spec)

    @property
    def _flat_shapes(self) -> list[TensorShape]:
        return structure.get_flat_tensor_shapes(self.element_spec)

    @property
    def _flat_types(self) -> list[dtypes.DType]:
        return structure.get_flat_tensor_types(self.element_spec)

    def __repr__(self) -> str:
        shapes = nest.map_structure(str, structure.legacy(self.element_spec, "shapes"))
        types = nest.map_structure(repr, structure.legacy(self.element_spec, "types"))
        return f"<{type(self).__name__} shapes: {shapes}, types: {types}>".replace("'", "")

    __str__ = __repr__

    def __iter__(self) -> EagerIterator:
        # In a plain graph, elements are symbolic, and a `for` over them would never end.
        graph = get_default_graph()
        if graph.executes or graph.building_function:
            return EagerIterator(self)
        raise RuntimeError("__iter__() is only supported inside of tf.function or when eager execution is enabled.")

    # ---- options ----

    def options(self) -> Options:
        """Returns the merged options of this dataset and all its inputs; ValueError if they contradict each other."""
        merged = Options()
        for dataset in self._input_datasets:
            merged = merged.merge(dataset.options())
        return merged if self._own_options is None else merged.merge(self._own_options)

    def with_options(self, options: Options) -> DatasetV2:
        """Returns this dataset with `options` added; ValueError if they contradict options that are already set."""
        dataset = self._made(self._variant_tensor, self.element_spec)
        # A copy, so that later changes of `options` have no effect. Merging all options once reports contradictions here.
        dataset._own_options = Options().merge(options)
        dataset.options()
        return dataset

    def _apply_options(self) -> DatasetV2:
        """Returns the dataset that an iterator runs: this one, wrapped in the nodes that implement its options."""
        # The order of the wrappers is that of TensorFlow 1.15: threads, static optimizations, autotuning, statistics.
        options, variant = self.options(), self._variant_tensor
        threads, optimization = options.experimental_threading, options.experimental_optimization
        if threads.max_intra_op_parallelism is not None:
            parallelism = number(threads.max_intra_op_parallelism, "max_intra_op_parallelism")
            variant = raw.MaxIntraOpParallelismDataset(variant, parallelism, **self._flat_structure)
        if threads.private_threadpool_size is not None:
            variant = raw.PrivateThreadPoolDataset(variant, number(threads.private_threadpool_size, "num_threads"), **self._flat_structure)
        names = options._static_optimizations()
        if names:
            optimizations = number(names, "optimizations", dtypes.string)
            variant = raw.OptimizeDataset(
                variant, optimizations, optimization_configs=options._static_optimization_configs(), **self._flat_structure
            )
        if optimization.autotune is not False:
            variant = raw.ModelDataset(
                variant, algorithm=optimization.autotune_algorithm or 0, cpu_budget=optimization.autotune_cpu_budget or 0, **self._flat_structure
            )
        stats = options.experimental_stats
        if stats.aggregator is not None:
            variant = raw.SetStatsAggregatorDataset(
                variant, stats.aggregator._resource, stats.prefix, stats.counter_prefix, **self._flat_structure
            )
        return self._made(variant, self.element_spec)

    # ---- sources ----

    @classmethod
    def _source(cls, variant_tensor: Tensor, element_spec: object, *inputs: object) -> DatasetV2:
        return cls._class()(variant_tensor, element_spec, inputs)

    @classmethod
    def from_tensors(cls, tensors: object) -> DatasetV2:
        """Makes a dataset of one element.

        Args:
          tensors: the element, a structure of arrays, tensors or composite tensors.
        """
        element = structure.normalize_element(tensors)
        spec = structure.type_spec_from_value(element)
        parts = structure.to_tensor_list(spec, element)
        return cls._source(raw.TensorDataset(parts, output_shapes=structure.get_flat_tensor_shapes(spec)), spec)

    @classmethod
    def from_tensor_slices(cls, tensors: object) -> DatasetV2:
        """Makes a dataset of the slices of tensors along their first dimension.

        Args:
          tensors: an array, a tensor or a nest of them, all with the same first dimension.

        Returns:
          a dataset with one element per slice, in the same structure.

        Raises:
          ValueError: the first dimensions differ, or a value is a scalar.
        """
        element = structure.normalize_element(tensors)
        batched = structure.type_spec_from_value(element)
        parts = structure.to_batched_tensor_list(batched, element)
        spec = nest.map_structure(lambda each: each._unbatch(), batched)
        # Static first dimensions must agree now; unknown ones are checked by the kernel.
        length = dimension_at_index(parts[0].shape, 0)
        for part in parts[1:]:
            length.assert_is_compatible_with(dimension_at_index(part.shape, 0))
        return cls._source(raw.TensorSliceDataset(parts, output_shapes=structure.get_flat_tensor_shapes(spec)), spec)

    @classmethod
    def range(cls, *args: object) -> DatasetV2:
        """Makes a dataset of int64 scalars, called as Python's `range`: `(stop)`, `(start, stop)` or `(start, stop, step)`.

        Raises:
          ValueError: there are no arguments, or more than three.
        """
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid arguments to RangeDataset: {args}")
        # One argument is `stop`; with two or three, the first is `start`.
        start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
        numbers = number(start, "start"), number(stop, "stop"), number(step, "step")
        spec = TensorSpec([], dtypes.int64)
        return cls._source(raw.RangeDataset(*numbers, **flat_attrs(spec)), spec)

    @classmethod
    def from_generator(cls, generator: Callable[..., Any], output_types: object, output_shapes: object = None, args: Any = None) -> DatasetV2:
        """Makes a dataset of the values that a Python generator yields.

        Args:
          generator: callable that returns an iterable; called once per epoch, with the values of `args` as arrays.
          output_types: structure of the dtypes of an element.
          output_shapes: structure of the shapes of an element; unknown by default.
          args: tuple of tensors.

        Raises:
          TypeError: `generator` is not callable.
        """
        if not callable(generator):
            raise TypeError("`generator` must be callable.")
        if output_shapes is None:
            output_shapes = nest.map_structure(lambda _: TensorShape(None), output_types)
        else:
            output_shapes = nest.map_structure_up_to(output_types, TensorShape, output_shapes)
        given = () if args is None else tuple(convert_to_tensor(a, name=f"args_{i}") for i, a in enumerate(args))
        # Each epoch has its own id, under which `state` keeps the running Python iterator. A flat map over a single dummy element
        # makes the inner dataset, so that each iteration starts its own generator.
        state = generators.GeneratorState(generator)

        def get_iterator_id_fn(unused: object) -> Tensor:
            return generators.call_python(state.get_next_id, list(given), dtypes.int64)

        def finalize_fn(iterator_id: Tensor) -> Tensor:
            def finish(iterator_id: NDArray) -> NDArray:
                state.iterator_completed(iterator_id)
                return np.array(0, np.int64)

            return generators.call_python(finish, [iterator_id], dtypes.int64)

        generator_next_fn = generators.next_function(state, output_types, output_shapes)

        def flat_map_fn(dummy: Tensor) -> DatasetV2:
            return _GeneratorDataset(dummy, get_iterator_id_fn, generator_next_fn, finalize_fn)

        return cls._class().from_tensors(0).flat_map(flat_map_fn)

    @classmethod
    def list_files(cls, file_pattern: object, shuffle: bool | None = None, seed: object = None) -> DatasetV2:
        """Makes a dataset of the names of the files that match patterns; a run raises InvalidArgumentError if there are none.

        Args:
          file_pattern: string scalar or vector of glob patterns.
          shuffle: whether the order is random; by default it is. seed: int or int64 scalar, for the random order.
        """
        with name_scope("list_files"):
            shuffle = True if shuffle is None else shuffle
            file_pattern = number(file_pattern, "file_pattern", dtypes.string)
            names = matching_files(file_pattern)
            condition = raw.Greater(shape_of(names)[0], 0, name="match_not_empty")
            message = raw.Add("No files matched pattern: ", reduce_join(file_pattern, separator=", "), name="message")
            not_empty = Assert(condition, [message], summarize=1, name="assert_not_empty")
            with control_dependencies([not_empty]):
                names = identity(names)
            dataset = cls._class().from_tensor_slices(names)
            if shuffle:
                # The buffer holds all names; a buffer size of 0 would be an error of its own.
                count = maximum(shape_of(names, out_type=dtypes.int64)[0], 1)
                dataset = dataset.shuffle(count, seed=seed)
            return dataset

    @classmethod
    def zip(cls, datasets: object) -> DatasetV2:
        """Makes a dataset whose elements combine one element of each dataset; it ends with the shortest.

        Args:
          datasets: a structure of datasets, which is also that of the elements.

        Raises:
          TypeError: a leaf of the structure is not a dataset.
        """
        sources = nest.flatten(datasets)
        for source in sources:
            if not isinstance(source, DatasetV2):
                text = "The argument to `Dataset.zip()` must be a nested structure of `Dataset` objects."
                if isinstance(source, list):
                    text += " Nested structures do not support Python lists; please use a tuple instead."
                raise TypeError(text)
        spec = nest.pack_sequence_as(datasets, [source.element_spec for source in sources])
        return cls._source(raw.ZipDataset([s._variant_tensor for s in sources], **flat_attrs(spec)), spec, *sources)

    # ---- order and number ----

    def concatenate(self, dataset: DatasetV2) -> DatasetV2:
        """Returns the elements of this dataset followed by those of another; TypeError if their types or classes differ."""
        # Shapes may differ: the result has the most specific shape that is compatible with both.
        for what, label in (("types", "types"), ("classes", "classes")):
            mine, theirs = structure.legacy(self.element_spec, what), structure.legacy(dataset.element_spec, what)
            if mine != theirs:
                raise TypeError(f"Two datasets to concatenate have different {label} {_text(mine)} and {_text(theirs)}")
        spec = nest.map_structure(lambda a, b: a.most_specific_compatible_type(b), self.element_spec, dataset.element_spec)
        return self._made(raw.ConcatenateDataset(self._variant_tensor, dataset._variant_tensor, **flat_attrs(spec)), spec, dataset)

    def _same(self, make: Callable[..., Any], *inputs: object, **attrs: object) -> DatasetV2:
        """Returns the dataset of the node that `make` adds; its elements have the type of this dataset's."""
        return self._made(make(self._variant_tensor, *inputs, **attrs, **self._flat_structure), self.element_spec)

    def prefetch(self, buffer_size: object) -> DatasetV2:
        """Computes up to `buffer_size` (int64 scalar, or AUTOTUNE) elements ahead in a background thread."""
        size = number(AUTOTUNE if buffer_size is None else buffer_size, "buffer_size")
        return self._same(raw.PrefetchDataset, size)

    def enumerate(self, start: object = 0) -> DatasetV2:
        """Pairs each element with its number, an int64 scalar that counts from `start`."""
        # A range without an end, in effect; the zip ends with this dataset.
        most = np.iinfo(np.int64).max
        return self._class().zip((self._class().range(start, most), self))

    def shuffle(self, buffer_size: object, seed: object = None, reshuffle_each_iteration: bool | None = None) -> DatasetV2:
        """Shuffles the elements: each is drawn at random from a buffer of the next `buffer_size`.

        Args:
          buffer_size: int64 scalar. seed: int or int64 scalar.
          reshuffle_each_iteration: whether each epoch has another order; by default it has.
        """
        size = number(buffer_size, "buffer_size")
        seeds = get_seed(seed)
        reshuffles = True if reshuffle_each_iteration is None else reshuffle_each_iteration
        return self._same(raw.ShuffleDataset, size, *seeds, reshuffle_each_iteration=reshuffles)

    def cache(self, filename: object = "") -> DatasetV2:
        """Caches the elements during the first complete pass: in memory, or in files whose names begin with `filename`."""
        return self._same(raw.CacheDataset, number(filename, "filename", dtypes.string))

    def repeat(self, count: object = None) -> DatasetV2:
        """Repeats the dataset `count` times (int64 scalar), or without end if `count` is None or -1."""
        return self._same(raw.RepeatDataset, number(-1 if count is None else count, "count"))

    def take(self, count: object) -> DatasetV2:
        """Returns the first `count` elements (int64 scalar), or all of them if `count` is -1."""
        return self._same(raw.TakeDataset, number(count, "count"))

    def skip(self, count: object) -> DatasetV2:
        """Returns the elements after the first `count` (int64 scalar), or none if `count` is -1."""
        return self._same(raw.SkipDataset, number(count, "count"))

    def shard(self, num_shards: object, index: object) -> DatasetV2:
        """Returns the elements whose number modulo `num_shards` is `index` (int64 scalars)."""
        shards = number(num_shards, "num_shards")
        return self._same(raw.ShardDataset, shards, number(index, "index"))

    # ---- several elements as one ----

    def batch(self, batch_size: object, drop_remainder: object = False) -> DatasetV2:
        """Stacks `batch_size` consecutive elements (int64 scalar) into one.

        Args:
          drop_remainder: whether a last batch with fewer elements is dropped; the batch dimension is then static.
        """
        size = number(batch_size, "batch_size")
        drops = number(drop_remainder, "drop_remainder", dtypes.bool)
        spec = batch_spec(self.element_spec, size, drops)
        return self._made(raw.BatchDatasetV2(self._variant_tensor, size, drops, **flat_attrs(spec)), spec)

    def padded_batch(self, batch_size: object, padded_shapes: object, padding_values: object = None, drop_remainder: object = False) -> DatasetV2:
        """Stacks consecutive elements into one after padding them to the same shape.

        Args:
          batch_size: int64 scalar.
          padded_shapes: structure of shapes; an unknown dimension is padded to the largest size in the batch.
          padding_values: structure of scalars; by default 0, "" or False.
          drop_remainder: whether a last batch with fewer elements is dropped.

        Raises:
          TypeError: a component is not a dense tensor, or a padding value has another dtype than its component.
          ValueError: a padded shape is not compatible with its component.
        """
        specs = nest.flatten(self.element_spec)
        for spec in specs:
            if not isinstance(spec, TensorSpec):
                raise TypeError("Batching of padded sparse tensors is not currently supported")
        # Each component has a target shape and a filler of its dtype.
        size = number(batch_size, "batch_size")
        types, shapes = structure.legacy(self.element_spec, "types"), structure.legacy(self.element_spec, "shapes")
        values = padding.padding_values_or_default(padding_values, types)
        wanted = [
            padding.padded_shape_to_tensor(shape, component)
            for shape, component in zip(nest.flatten_up_to(shapes, padded_shapes), nest.flatten(shapes))
        ]
        fillers = [padding.padding_value_to_tensor(v, t) for v, t in zip(nest.flatten(values), nest.flatten(types))]
        drops = number(drop_remainder, "drop_remainder", dtypes.bool)
        # The static shape of a batch is that of the padded rows, as far as the target shapes are constants.
        rows = [TensorSpec(constant_value.constant_value_as_shape(s), t) for s, t in zip(wanted, nest.flatten(types))]
        spec = batch_spec(nest.pack_sequence_as(self.element_spec, rows), size, drops)
        made = raw.PaddedBatchDatasetV2(
            self._variant_tensor, size, wanted, fillers, drops, output_shapes=structure.get_flat_tensor_shapes(spec)
        )
        return self._made(made, spec)

    def window(self, size: object, shift: object = None, stride: object = 1, drop_remainder: object = False) -> DatasetV2:
        """Groups elements into windows; each component of an element becomes a dataset.

        Args:
          size: elements per window. shift: elements between the starts of consecutive windows; by default `size`.
          stride: distance between the elements of a window. drop_remainder: whether windows with fewer elements are dropped.
        """
        numbers = number(size, "size"), number(size if shift is None else shift, "shift"), number(stride, "stride")
        drops = number(drop_remainder, "drop_remainder", dtypes.bool)
        # A window of an element (a, b) is a pair of datasets, not a dataset of pairs.
        kinds = [DatasetSpec(spec) for spec in nest.flatten(self.element_spec)]
        spec = nest.pack_sequence_as(self.element_spec, kinds)
        return self._made(raw.WindowDataset(self._variant_tensor, *numbers, drops, **flat_attrs(spec)), spec)

    def unbatch(self) -> DatasetV2:
        """Splits each element into its slices along the first dimension; the inverse of `batch`."""

        # Sparse and ragged components are batched variants first: the node then slices dense tensors and variants alike.
        def normalize(*args: object) -> Any:
            element = args[0] if not nest.is_sequence(self.element_spec) or type(self.element_spec) is not tuple else args
            return tuple(structure.to_batched_tensor_list(self.element_spec, element))

        flat = self.map(normalize)
        spec = nest.map_structure(lambda each: each._unbatch(), self.element_spec)
        return self._class()(raw.UnbatchDataset(flat._variant_tensor, **flat_attrs(spec)), spec, (flat,))

    # ---- functions of elements ----

    def _mapped(self, map_func: Callable[..., Any], num_parallel_calls: object, legacy: bool, keeps_size: bool) -> DatasetV2:
        function = StructuredFunctionWrapper(map_func, "Dataset.map()", dataset=self, use_legacy_function=legacy)
        attrs: dict[str, Any] = {"f": function.reference, "preserve_cardinality": keeps_size, **flat_attrs(function.output_structure)}
        # The op types with and without threads differ in their inputs only; the elements are the same.
        if num_parallel_calls is None:
            made = raw.MapDataset(self._variant_tensor, function.captured_inputs, **attrs)
        else:
            calls = number(num_parallel_calls, "num_parallel_calls", dtypes.int32)
            made = raw.ParallelMapDataset(self._variant_tensor, function.captured_inputs, calls, **attrs)
        return self._made(made, function.output_structure)

    def map(self, map_func: Callable[..., Any], num_parallel_calls: object = None) -> DatasetV2:
        """Applies `map_func` to each element.

        Args:
          map_func: traced once; takes the components of a tuple as separate arguments.
          num_parallel_calls: how many calls may run at the same time, an int32 scalar or AUTOTUNE; None: one. The order is kept.

        Raises:
          TypeError: `map_func` returns a value that cannot be part of an element.
        """
        return self._mapped(map_func, num_parallel_calls, False, self._preserve_cardinality)

    def filter(self, predicate: Callable[..., Any]) -> DatasetV2:
        """Returns the elements for which `predicate` is true; ValueError if it does not return a bool scalar."""
        return self._filtered(predicate, False)

    def _filtered(self, predicate: Callable[..., Any], legacy: bool) -> DatasetV2:
        function = StructuredFunctionWrapper(predicate, "Dataset.filter()", dataset=self, use_legacy_function=legacy)
        if not structure.are_compatible(function.output_structure, TensorSpec([], dtypes.bool)):
            raise ValueError(f"`predicate` return type must be convertible to a scalar boolean tensor. Was {function.output_structure}.")
        return self._same(raw.FilterDataset, function.captured_inputs, predicate=function.reference)

    def _inner(self, map_func: Callable[..., Any], transformation_name: str) -> tuple[StructuredFunctionWrapper, Any]:
        """Traces a function that returns datasets; returns it and the type of their elements.

        Raises:
          TypeError: `map_func` does not return a dataset.
        """
        function = StructuredFunctionWrapper(map_func, transformation_name, dataset=self)
        if not isinstance(function.output_structure, DatasetSpec):
            raise TypeError(f"`map_func` must return a `Dataset` object. Got {type(function.output_structure)}")
        return function, function.output_structure._element_spec

    def flat_map(self, map_func: Callable[..., Any]) -> DatasetV2:
        """Maps each element to a dataset and concatenates these; TypeError if `map_func` does not return a dataset."""
        function, spec = self._inner(map_func, "Dataset.flat_map()")
        made = raw.FlatMapDataset(self._variant_tensor, function.captured_inputs, f=function.reference, **flat_attrs(spec))
        return self._made(made, spec)

    def interleave(self, map_func: Callable[..., Any], cycle_length: object = AUTOTUNE, block_length: object = 1, num_parallel_calls: object = None) -> DatasetV2:
        """Maps each element to a dataset and interleaves the elements of these.

        Args:
          map_func: takes an element, returns a dataset. cycle_length: how many datasets are read in turn; AUTOTUNE: the number of CPUs.
          block_length: consecutive elements of one dataset. num_parallel_calls: int64 scalar or AUTOTUNE: read in threads.

        Raises:
          TypeError: `map_func` does not return a dataset.
        """
        # The op types with and without threads differ in their inputs only; the order of elements is the same.
        function, spec = self._inner(map_func, "Dataset.interleave()")
        if isinstance(cycle_length, int) and cycle_length == AUTOTUNE:
            cycle_length = _CPUS
        lengths = number(cycle_length, "cycle_length"), number(block_length, "block_length")
        attrs: dict[str, Any] = {"f": function.reference, **flat_attrs(spec)}
        if num_parallel_calls is None:
            made = raw.InterleaveDataset(self._variant_tensor, function.captured_inputs, *lengths, **attrs)
        else:
            calls = number(num_parallel_calls, "num_parallel_calls")
            made = raw.ParallelInterleaveDatasetV2(self._variant_tensor, function.captured_inputs, *lengths, calls, **attrs)
        return self._made(made, spec)

    def apply(self, transformation_func: Callable[..., Any]) -> DatasetV2:
        """Returns `transformation_func(self)`; TypeError if that is not a dataset."""
        result = transformation_func(self)
        if not isinstance(result, DatasetV2):
            raise TypeError(f"`transformation_func` must return a Dataset. Got {result}.")
        # The options of this dataset apply to the result even if the transformation made it from something else, but for a dataset that this
        # one itself was made from.
        if self not in result._input_datasets and not self._comes_from(result):
            result._input_datasets = (self, *result._input_datasets)
        return result

    def _comes_from(self, other: DatasetV2) -> bool:
        """Whether `other` is this dataset, or one that it was made from, directly or not."""
        pending, seen = [self], set()
        while pending:
            dataset = pending.pop()
            if dataset is other:
                return True
            if id(dataset) not in seen:
                seen.add(id(dataset))
                pending += dataset._inputs()
        return False

    def reduce(self, initial_state: object, reduce_func: Callable[..., Any]) -> Any:
        """Folds the elements: computes `state = reduce_func(state, element)` for each; returns the last state.

        Args:
          initial_state: structure of tensors. reduce_func: takes a state and an element, returns the next state.

        Raises:
          TypeError: the classes or dtypes of a new state differ from those of `initial_state`.
        """
        state = structure.as_element(initial_state)
        spec = structure.type_spec_from_value(state)
        # Fixed point: if the function returns wider shapes than it was traced for, it is traced again with the wider ones.
        while True:
            function = StructuredFunctionWrapper(reduce_func, "reduce()", input_structure=(spec, self.element_spec))
            returned = function.output_structure
            check_state(spec, returned, "reduce_func")
            wider = relaxed(spec, returned)
            if wider == spec:
                break
            spec = wider
        made = raw.ReduceDataset(
            self._variant_tensor, structure.to_tensor_list(spec, state), function.captured_inputs, f=function.reference, **flat_attrs(spec)
        )
        return structure.from_compatible_tensor_list(spec, list(made) if isinstance(made, (list, tuple)) else [made])


def _text(types: object) -> str:
    return str(types) if nest.is_sequence(types) else repr(types)


def _GeneratorDataset(init_args: object, init_func: Callable[..., Any], next_func: Callable[..., Any], finalize_func: Callable[..., Any]) -> DatasetV2:
    """Makes a dataset of the results of `next_func(state)`, until that raises OutOfRangeError.

    `state` is the result of `init_func(init_args)`; `finalize_func(state)` is called at the end.
    """
    spec = structure.type_spec_from_value(init_args)
    first = StructuredFunctionWrapper(init_func, "Dataset.from_generator()", input_structure=spec)
    following = StructuredFunctionWrapper(next_func, "Dataset.from_generator()", input_structure=first.output_structure)
    last = StructuredFunctionWrapper(finalize_func, "Dataset.from_generator()", input_structure=first.output_structure)
    made = generators.generator_variant(structure.to_tensor_list(spec, init_args), first, following, last)
    return DatasetV2(made, following.output_structure)


def check_state(wanted: object, returned: object, function: str) -> None:
    """Raises TypeError if a component of a new state has another class or dtype than before; a run checks their number."""
    for what in ("classes", "types"):
        mine, theirs = structure.legacy(wanted, what), structure.legacy(returned, what)
        if any(a != b for a, b in zip(nest.flatten(theirs), nest.flatten(mine))):
            raise TypeError(f"The element {what} for the new state must match the initial state. Expected {mine}; got {theirs} from {function}.")


def relaxed(wanted: object, returned: object) -> Any:
    """Returns the most specific type of both states, component by component; components that only `wanted` has stay."""
    first, after = nest.flatten(wanted), nest.flatten(returned)
    return nest.pack_sequence_as(wanted, [*(a.most_specific_compatible_type(b) for a, b in zip(first, after)), *first[len(after) :]])
