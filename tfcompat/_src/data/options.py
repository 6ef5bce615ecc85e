"""tf.data.Options: settings of how a pipeline is optimized, threaded, measured and distributed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tfcompat._src.base.export import export


class OptionsBase:
    """Base of option classes: `create_option` defines a setting.

    Setting an undefined name raises AttributeError; a value of the wrong type raises TypeError.
    """

    _options: dict[str, Any]

    def __init__(self) -> None:
        object.__setattr__(self, "_options", {})

    def __setattr__(self, name: str, value: object) -> None:
        if not hasattr(type(self), name):
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        names = self._options.keys() | other._options.keys()
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]  # Python's way to have no hash


AnyOptions = TypeVar("AnyOptions", bound=OptionsBase)


def create_option(name: str, ty: type, docstring: str, default_factory: Callable[[], object] = lambda: None) -> property:
    """Returns the property of one setting of an option class.

    Args:
      name: of the setting. ty: the type that values must have. docstring: of the property. default_factory: makes the default value.
    """

    def get(options: OptionsBase) -> Any:
        return options._options.setdefault(name, default_factory())

    def put(options: OptionsBase, value: object) -> None:
        if not isinstance(value, ty):
            raise TypeError(f'Property "{name}" must be of type {ty}, got: {value!r} (type: {type(value)!r})')
        options._options[name] = value

    return property(get, put, None, docstring)


def merge_options(*options_list: AnyOptions) -> AnyOptions:
    """Merges options of one class.

    Raises:
      TypeError: the classes differ. ValueError: there are none, or two of them set an option to different values.
    """
    if not options_list:
        raise ValueError("At least one options should be provided")
    first = options_list[0]
    for each in options_list:
        if not isinstance(each, type(first)):
            raise TypeError(f"Incompatible options type: {type(each)!r} vs {type(first)!r}")
    merged = type(first)()
    for each in options_list:
        for name in each._options:
            mine, theirs = getattr(merged, name), getattr(each, name)
            # A default never overrides a value that was set before it, and a value overrides a default.
            default = getattr(type(first)(), name)
            if mine == theirs or theirs is None or (name in merged._options and theirs == default):
                continue
            if isinstance(mine, OptionsBase):
                merged._options[name] = merge_options(mine, theirs)
            elif mine is not None and mine != default:
                raise ValueError(f"Cannot merge incompatible values ({mine!r} and {theirs!r}) of option: {name}")
            else:
                merged._options[name] = theirs
    return merged


def _flags(*names: str) -> Callable[[type[AnyOptions]], type[AnyOptions]]:
    """Returns a class decorator that adds settings with the values True, False and None."""

    def add(cls: type[AnyOptions]) -> type[AnyOptions]:
        for name in names:
            setattr(cls, name, create_option(name, bool, f"bool or None: {name.replace('_', ' ')}."))
        return cls

    return add


def _refused(name: str, instead: str) -> Callable[[type[AnyOptions]], type[AnyOptions]]:
    """Returns a class decorator that adds a setting whose value True raises NotImplementedError; `instead` says what to do."""

    def add(cls: type[AnyOptions]) -> type[AnyOptions]:
        # Reading, False and None work as for other settings.
        kept = create_option(name, bool, f"bool or None: {name.replace('_', ' ')}; True is not supported.")

        def put(options: OptionsBase, value: object) -> None:
            if value is True:
                raise NotImplementedError(f"{cls.__name__}.{name} = True changes the results of a pipeline in TensorFlow 1.15, and is not supported. Instead, {instead}.")
            kept.__set__(options, value)

        setattr(cls, name, property(kept.fget, put, None, kept.__doc__))
        return cls

    return add


@export("data.experimental.MapVectorizationOptions")
@_flags("enabled", "use_choose_fastest")
class MapVectorizationOptions(OptionsBase):
    """Whether mapped functions are vectorized over batches. The settings are accepted and have no effect on results."""

    enabled: bool | None
    use_choose_fastest: bool | None

    def _static_optimizations(self) -> list[str]:
        return ["map_vectorization"] if self.enabled else []

    def _static_optimization_configs(self) -> list[str]:
        chosen = {None: "false", True: "true", False: "false"}[self.use_choose_fastest]
        return [f"map_vectorization:use_choose_fastest:{chosen}"]


_DEFAULTS = ("map_and_batch_fusion", "noop_elimination", "shuffle_and_repeat_fusion")
"""The optimizations that TensorFlow 1.15 makes by default."""
_OPTIMIZATIONS = (
    "filter_fusion", "filter_with_random_uniform_fusion", "map_and_batch_fusion", "map_and_filter_fusion",
    "map_parallelization", "map_fusion", "noop_elimination", "parallel_batch", "shuffle_and_repeat_fusion",
)  # fmt: skip


@export("data.experimental.OptimizationOptions")
@_flags("apply_default_optimizations", "autotune", "autotune_buffers", *_OPTIMIZATIONS)
@_refused("hoist_random_uniform", "draw the numbers in a dataset of their own (tf.data.experimental.RandomDataset) and zip it")
class OptimizationOptions(OptionsBase):
    """The graph optimizations of a pipeline, as in TensorFlow 1.15.

    `shuffle_and_repeat_fusion` (on by default) changes the order of shuffled elements, as it does there.
    `filter_with_random_uniform_fusion` raises InternalError when an iterator starts: TensorFlow 1.15 has no such optimizer.
    The others do not change results; they are accepted and not applied.
    """

    apply_default_optimizations: bool | None
    autotune: bool | None
    autotune_buffers: bool | None
    autotune_algorithm = create_option("autotune_algorithm", int, "int or None: how buffers are tuned.")
    autotune_cpu_budget = create_option("autotune_cpu_budget", int, "int or None: CPUs for tuning.")
    map_vectorization = create_option(
        "map_vectorization", MapVectorizationOptions, "MapVectorizationOptions.", MapVectorizationOptions
    )

    def _static_optimizations(self) -> list[str]:
        # None means the default: on for `_DEFAULTS` unless defaults are turned off, off for the others.
        names = {name for name in _OPTIMIZATIONS if getattr(self, name)}
        if self.apply_default_optimizations is not False:
            names |= {name for name in _DEFAULTS if getattr(self, name) is not False}
        if self.autotune is not False and self.autotune_buffers:
            names.add("inject_prefetch")
        vectorization: MapVectorizationOptions = self.map_vectorization
        return sorted(names) + vectorization._static_optimizations()

    def _static_optimization_configs(self) -> list[str]:
        vectorization: MapVectorizationOptions = self.map_vectorization
        return vectorization._static_optimization_configs()


@export("data.experimental.DistributeOptions")
@_flags("_make_stateless")
class DistributeOptions(OptionsBase):
    """How a pipeline is split over workers: `auto_shard` (bool), `num_devices` (int or None)."""

    auto_shard = create_option("auto_shard", bool, "bool: whether workers take different elements.", lambda: True)
    num_devices = create_option("num_devices", int, "int or None: number of devices.")


@export("data.experimental.StatsOptions")
@_refused("latency_all_edges", "apply tf.data.experimental.latency_stats after each transformation that is to be measured")
class StatsOptions(OptionsBase):
    """The statistics that a pipeline records: `aggregator`, `prefix`, `counter_prefix`, `latency_all_edges`."""

    aggregator = create_option("aggregator", object, "StatsAggregator or None.")
    prefix = create_option("prefix", str, "str: before the names of statistics.", str)
    counter_prefix = create_option("counter_prefix", str, "str: before the names of counters.", str)


@export("data.experimental.ThreadingOptions")
class ThreadingOptions(OptionsBase):
    """Limits on the threads of a pipeline: `max_intra_op_parallelism`, `private_threadpool_size` (int or None)."""

    max_intra_op_parallelism = create_option("max_intra_op_parallelism", int, "int or None: threads of one operation.")
    private_threadpool_size = create_option("private_threadpool_size", int, "int or None: threads of the pipeline.")


@export("data.Options")
@_flags("experimental_deterministic", "experimental_slack")
class Options(OptionsBase):
    """The options of a tf.data.Dataset, set by `Dataset.with_options`.

    Attributes: `experimental_deterministic`, `experimental_slack` (bool or None), `experimental_distribute`,
    `experimental_optimization`, `experimental_stats`, `experimental_threading` (their option classes), `experimental_stateful_whitelist`
    (list of op types or None).
    """

    experimental_deterministic: bool | None
    experimental_slack: bool | None
    experimental_distribute = create_option("experimental_distribute", DistributeOptions, "DistributeOptions.", DistributeOptions)
    experimental_optimization = create_option(
        "experimental_optimization", OptimizationOptions, "OptimizationOptions.", OptimizationOptions
    )
    experimental_stats = create_option("experimental_stats", StatsOptions, "StatsOptions.", StatsOptions)
    experimental_stateful_whitelist = create_option("experimental_stateful_whitelist", list, "list of op types or None.")
    experimental_threading = create_option("experimental_threading", ThreadingOptions, "ThreadingOptions.", ThreadingOptions)

    def _static_optimizations(self) -> list[str]:
        optimization: OptimizationOptions = self.experimental_optimization
        names = optimization._static_optimizations()
        if self.experimental_deterministic is False:
            names.append("make_sloppy")
        if self.experimental_slack:
            names.append("slack")
        return names

    def _static_optimization_configs(self) -> list[str]:
        optimization: OptimizationOptions = self.experimental_optimization
        configs = optimization._static_optimization_configs()
        if self.experimental_slack:
            configs.append(f"slack:slack_period:{self.experimental_distribute.num_devices or 1}")
        return configs

    def merge(self, options: Options) -> Options:
        """Returns these options merged with `options`; ValueError if they contradict each other."""
        return merge_options(self, options)
