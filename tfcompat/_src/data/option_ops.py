"""The op types of datasets that set how the pipeline before them runs: optimizations, autotuning, thread limits.

They hand their settings to the iteration (`Scope.fusing`, `Scope.limited`) when it starts.
"""

from __future__ import annotations

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.data.values import NO_GRADIENT, OUTPUTS, DatasetValue, dataset_of, dataset_op
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, op
from tfcompat._src.ops.queues.queue_ops import MAKES_HANDLE
from tfcompat._src.ops.queues.resource import SharedResource, invalid, shared_resource


@dataset_op(
    "OptimizeDataset", "input_dataset: variant, optimizations: string", f"{OUTPUTS}, optimization_configs: list(string) = []"
)
def _optimize(context: HostContext, input_dataset: NDArray, optimizations: NDArray) -> DatasetValue:
    source, names = dataset_of(input_dataset), frozenset(name.decode() for name in optimizations.tolist())
    # Unknown names raise as in TensorFlow. Known optimizations that change results are refused; the others need nothing, except
    # shuffle_and_repeat_fusion and make_sloppy, which the datasets look up in `Scope.fuses`.
    for name in sorted(names - _OPTIMIZERS):
        raise errors.InternalError(None, None, f"Tried to register a dataset optimizer that doesn't exist: {name}")
    for name in sorted(names & _UNSUPPORTED):
        raise errors.UnimplementedError(None, None, f"The dataset optimization {name} changes the results of a pipeline, and is not supported. Do not set it.")
    if "slack" in names:
        _check_slack(source)
    return DatasetValue(lambda scope: source.start(scope.fusing(names)), source.size)


_UNSUPPORTED = frozenset(("hoist_random_uniform", "latency_all_edges"))
_OPTIMIZERS = _UNSUPPORTED | {
    "filter_fusion", "inject_prefetch", "make_sloppy", "make_stateless", "map_and_batch_fusion", "map_and_filter_fusion",
    "map_fusion", "map_parallelization", "map_vectorization", "noop_elimination", "parallel_batch", "shuffle_and_repeat_fusion", "slack",
}  # fmt: skip
"""The optimizers of TensorFlow 1.15.5."""
_BEFORE_SLACK = (
    "MapDataset", "ParallelMapDataset", "ModelDataset", "OptimizeDataset", "MaxIntraOpParallelismDataset", "PrivateThreadPoolDataset",
    "ThreadPoolDataset", "AutoShardDataset", "RebatchDataset", "TakeDataset",
)  # fmt: skip


def _check_slack(last: DatasetValue) -> None:
    """Raises InvalidArgumentError unless the last transformation, apart from those in `_BEFORE_SLACK`, is a prefetch."""
    while last.op.type in _BEFORE_SLACK:
        last = last.inputs[0]
    if last.op.type != "PrefetchDataset":
        raise invalid(f"Slack needs a `prefetch` at the end of the pipeline, but found {last.op.type}: leave experimental_slack unset.")


@dataset_op("ModelDataset", "input_dataset: variant", f"algorithm: int = 0, cpu_budget: int = 0, {OUTPUTS}")
def _model(context: HostContext, input_dataset: NDArray) -> DatasetValue:
    budget = context.op.attrs["cpu_budget"]
    if budget < 0:
        raise invalid(f"CPU budget must be positive but is {budget}.")
    source = dataset_of(input_dataset)
    return DatasetValue(source.start, source.size)


# ---- threads ----


class ThreadPool(SharedResource):
    """The resource of a thread pool: a limit on the threads of parallel calls."""

    def __init__(self, num_threads: int) -> None:
        super().__init__()
        self.num_threads = num_threads


def _thread_pool(context: HostContext) -> ThreadPool:
    return shared_resource(context, "thread pool", lambda: ThreadPool(context.op.attrs["num_threads"]))


def _limited(source: DatasetValue, num_threads: int) -> DatasetValue:
    if num_threads < 1:
        raise invalid("`num_threads` must be >= 1")
    return DatasetValue(lambda scope: source.start(scope.limited(num_threads)), source.size)


def _private_threads(context: HostContext, input_dataset: NDArray, num_threads: NDArray) -> DatasetValue:
    return _limited(dataset_of(input_dataset), int(num_threads))


def _with_threads_of(context: HostContext, input_dataset: NDArray, thread_pool: ThreadPool) -> DatasetValue:
    return _limited(dataset_of(input_dataset), thread_pool.num_threads)


def _intra_op_threads(context: HostContext, input_dataset: NDArray, max_intra_op_parallelism: NDArray) -> DatasetValue:
    if int(max_intra_op_parallelism) < 0:
        raise invalid("`max_intra_op_parallelism` must be >= 0")
    return dataset_of(input_dataset)


for _prefix in ("", "Experimental"):
    op(
        _prefix + "ThreadPoolHandle",
        '(*, num_threads: int, max_intra_op_parallelism: int = 1, display_name: string, container: string = "", shared_name: string = "") '
        "-> (handle: resource)",
        shape=si.scalar, gradient=NO_GRADIENT, kernel=_thread_pool, side=HOST, effects=MAKES_HANDLE, context=True,
    )  # fmt: skip
    dataset_op(_prefix + "ThreadPoolDataset", "input_dataset: variant, thread_pool: resource")(_with_threads_of)
    dataset_op(_prefix + "PrivateThreadPoolDataset", "input_dataset: variant, num_threads: int64")(_private_threads)
    dataset_op(_prefix + "MaxIntraOpParallelismDataset", "input_dataset: variant, max_intra_op_parallelism: int64")(_intra_op_threads)
