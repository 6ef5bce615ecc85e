"""The op types of datasets that assert facts of a pipeline: which transformations follow (AssertNext), and that it is not serialized.

AssertNext sees the pipeline after TensorFlow 1.15's graph optimizations. These are not made here; their effect on the names of the
transformations is computed by rewriting the list of names (`_REWRITES`).
"""

from __future__ import annotations

import re

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.data.values import Consumer, DatasetValue, dataset_of, dataset_op
from tfcompat._src.ops.queues.resource import invalid

_REWRITES = {
    "shuffle_and_repeat_fusion": ("Shuffle [A-Z][a-z]+Repeat", "ShuffleAndRepeat"),
    "map_fusion": ("Map(?: Map)+", "Map"),
    "filter_fusion": ("Filter(?: Filter)+", "Filter"),
    "map_and_filter_fusion": ("Map Filter", "Map Filter Map"),
    "map_parallelization": ("Map", "ParallelMap"),
    "map_and_batch_fusion": ("(?:Parallel)?Map Batch(?:V2)?", "MapAndBatch"),
}
"""For each optimization of TensorFlow 1.15, in the order in which it applies them: a pattern of transformations, and its replacement."""
_BY_NUMBER = ("Zip", "Concatenate", "DirectedInterleave")
_ITERATORS = {"Snapshot": "SnapshotWriterImpl"}


def _count(dataset: DatasetValue) -> int:
    return int(dataset.arguments[1])


def _name(consumer: Consumer) -> str:
    """Returns the name that TensorFlow 1.15 gives to the iterator of a dataset, e.g. "FiniteRepeat" or "Zip[1]"."""
    # The name is that of the op type; some iterators have names of their own, which depend on their arguments.
    dataset = consumer.dataset
    kind: str = dataset.op.type.removeprefix("Experimental").replace("Dataset", "")
    if kind == "Repeat":
        count = _count(dataset)
        return ("Forever" if count < 0 else "Finite" if count else "Empty") + kind
    if kind in ("Take", "Skip"):
        empty = not _count(dataset) if kind == "Take" else _count(dataset) < 0
        return ("Empty" if empty else "Finite") + kind
    if kind in ("Cache", "CacheV2"):
        return ("FileCache" if dataset.arguments[1].item() else "MemoryCache") + "Impl"
    # Iterators with several inputs are named after the input that the asserting dataset feeds.
    if kind in _BY_NUMBER:
        return f"{kind}[{consumer.place}]"
    return f"{kind}_{consumer.place}" if kind == "ChooseFastest" else _ITERATORS.get(kind, kind)


def _changes_nothing(dataset: DatasetValue) -> bool:
    """Whether `noop_elimination` removes a dataset: repeat(1), skip(0) or prefetch(0)."""
    neutral = {"RepeatDataset": 1, "SkipDataset": 0, "PrefetchDataset": 0}.get(dataset.op.type)
    return neutral is not None and _count(dataset) == neutral


def _following(consumer: Consumer | None) -> list[str]:
    """Returns the names of the transformations from a consumer on; an OptimizeDataset rewrites those before it."""
    steps: list[tuple[str, bool]] = []
    while consumer is not None:
        if consumer.dataset.op.type == "OptimizeDataset":
            steps = _optimized(steps, {name.decode() for name in consumer.dataset.arguments[1].tolist()})
        else:
            steps.append((_name(consumer), _changes_nothing(consumer.dataset)))
        consumer = consumer.later
    return [name for name, _ in steps]


def _optimized(steps: list[tuple[str, bool]], optimizations: set[str]) -> list[tuple[str, bool]]:
    """Returns the names after optimizations; a step is a name and whether it does nothing."""
    if "noop_elimination" in optimizations:
        steps = [step for step in steps if not step[1]]
    # The rewrites are substitutions in the text of all names, each as a whole word.
    text = " ".join(name for name, _ in steps)
    for optimization, (pattern, result) in _REWRITES.items():
        if optimization in optimizations:
            text = re.sub(rf"(?<!\S){pattern}(?!\S)", result, text)
    return [(name, False) for name in text.split()]


def _assert_next(context: HostContext, input_dataset: NDArray, transformations: NDArray) -> DatasetValue:
    source = dataset_of(input_dataset)
    if transformations.ndim != 1:
        raise invalid("transformations must be a vector.")
    wanted = [name.decode() for name in transformations.tolist()]

    def check(later: Consumer | None) -> None:
        names = _following(later)
        if len(wanted) > len(names):
            raise invalid(f"Asserted next {len(wanted)} transformations but encountered only {len(names)}.")
        for offset, (name, other) in enumerate(zip(wanted, names)):
            if name != other:
                raise invalid(f"Asserted {name} transformation at offset {offset} but encountered {other} transformation instead.")

    return DatasetValue(source.start, source.size, check=check)


def _in_this_process(context: HostContext, input_dataset: NDArray) -> DatasetValue:
    source = dataset_of(input_dataset)
    return DatasetValue(source.start, source.size, has_no_graph=True)


for _prefix in ("", "Experimental"):
    dataset_op(_prefix + "AssertNextDataset", "input_dataset: variant, transformations: string")(_assert_next)
    dataset_op(_prefix + "NonSerializableDataset", "input_dataset: variant")(_in_this_process)
