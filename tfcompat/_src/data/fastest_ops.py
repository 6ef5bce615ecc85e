"""The op types of datasets that time several pipelines with the same elements, and continue with the fastest.

ChooseFastestDataset has several datasets, ChooseFastestBranchDataset several functions of one dataset.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.data.functions import HostFunction
from tfcompat._src.data.values import OUTPUTS, UNKNOWN, DatasetValue, Element, Next, Scope, dataset_of, dataset_op
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.ops.flow.list_value import variant
from tfcompat._src.ops.queues.resource import invalid

_PERCENTILE = 90
"""Pipelines are compared by this percentile of the times of their elements, as in TensorFlow 1.15."""


def _fastest(times: list[list[float]]) -> int:
    """Returns the index of the pipeline with the smallest 90th percentile; of several, the last."""
    slowness = [np.percentile(each, _PERCENTILE) if each else 0.0 for each in times]
    return max(index for index, value in enumerate(slowness) if value == min(slowness))


def _timed(following: Next, times: list[float]) -> Element:
    """Returns the next element and appends the seconds that it took to `times`, also if it raises."""
    began = time.perf_counter()
    try:
        return following()
    finally:
        times.append(time.perf_counter() - began)


# ---- several datasets ----


def _check_alike(context: HostContext, sources: list[DatasetValue]) -> int:
    """Returns the number of elements of the datasets; InvalidArgumentError if their numbers, dtypes or shapes are not compatible."""
    kinds: list[dtypes.DType] = context.op.attrs["output_types"]
    shapes: list[TensorShape] = list(context.op.attrs["output_shapes"])
    size = sources[0].size
    for index, source in enumerate(sources[1:], 1):
        attrs = source.op.attrs
        types = attrs.get("output_types") or attrs["Toutput_types"]
        if list(types) != list(kinds):
            have, want = (", ".join(dtypes.cpp_name(kind.name) for kind in each) for each in (types, kinds))
            raise invalid(
                f"All inputs to ChooseFastestDataset must have the same output types. Input {index} has output types: {have}. Expected: {want}."
            )
        # Each input is compared with the shapes that all before it have in common.
        for component, (shape, other) in enumerate(zip(shapes, attrs["output_shapes"])):
            if not shape.is_compatible_with(other):
                raise invalid(
                    f"All inputs to ChooseFastestDataset must have compatible output shapes. Component {component} of input {index} has "
                    f"shape: {shape_text(other.sizes)}. Expected to be compatible with shape: {shape_text(shape.sizes)}."
                )
            shapes[component] = shape.merge_with(other)
        if UNKNOWN not in (size, source.size) and source.size != size:
            raise invalid(
                f"All inputs to ChooseFastestDataset must have compatible cardinalities. Input {index} has cardinality: {source.size}, "
                f"while all prior inputs have cardinality: {size}."
            )
        size = source.size if size == UNKNOWN else size
    return size


def _choose_fastest(context: HostContext, input_datasets: Element) -> DatasetValue:
    sources = [dataset_of(each) for each in input_datasets]
    size, experiments = _check_alike(context, sources), context.op.attrs["num_experiments"]

    # All pipelines run for the first elements, so that they stay at the same position; then the slower ones are dropped.
    def start(scope: Scope) -> Next:
        begun = [source.start(scope) for source in sources]
        times: list[list[float]] = [[] for _ in sources]
        left = experiments

        def element() -> Element:
            nonlocal left
            if left > 0:
                left -= 1
                return _experiment(begun, times)
            if len(begun) > 1:
                begun[:] = [begun[_fastest(times)]]
            return begun[0]()

        return element

    return DatasetValue(start, size)


def _experiment(begun: list[Next], times: list[list[float]]) -> Element:
    """Takes and times an element of every dataset; returns, or raises, the result of the first. Errors of the others are ignored."""
    for following, own_times in zip(begun[1:], times[1:]):
        try:
            _timed(following, own_times)
        except Exception:  # noqa: BLE001, S112  (an experiment: the first dataset is the one that is asked)
            continue
    return _timed(begun[0], times[0])


for _prefix in ("", "Experimental"):
    dataset_op(_prefix + "ChooseFastestDataset", "input_datasets: N*variant", f"N: int >= 2, num_experiments: int, {OUTPUTS}")(_choose_fastest)


# ---- several functions of one dataset ----


def _part(following: Next, most: int | None) -> DatasetValue:
    """Returns a dataset of the next `most` elements of a running iteration, or all that are left if it is None.

    It can be iterated over only once: a second iteration raises InvalidArgumentError.
    """
    numbers = itertools.count() if most is None else iter(range(most))
    is_begun = False

    def element() -> Element:
        # The count is taken first: at its end, no element of the running iteration is lost.
        next(numbers)
        return following()

    def start(scope: Scope) -> Next:
        nonlocal is_begun
        if is_begun:
            raise invalid(
                "Cannot create more than one WrapperIterator per WrapperDataset. Make sure the branches to ChooseFastestDataset do not "
                "expect the input to repeat."
            )
        is_begun = True
        return element

    return DatasetValue(start)


@dataset_op(
    "ChooseFastestBranchDataset",
    "input_dataset: variant, ratio_numerator: int64, ratio_denominator: int64, other_arguments: Targuments",
    "Targuments: list(type) >= 0, num_elements_per_branch: int >= 1, branches: list(func) >= 1, "
    f"other_arguments_lengths: list(int) >= 1, {OUTPUTS}",
)
def _choose_fastest_branch(
    context: HostContext, input_dataset: NDArray, ratio_numerator: NDArray, ratio_denominator: NDArray, other_arguments: Element
) -> DatasetValue:
    source, attrs = dataset_of(input_dataset), context.op.attrs
    given, produced, trial = int(ratio_numerator), int(ratio_denominator), attrs["num_elements_per_branch"]
    if given <= 0:
        raise invalid("`ratio_numerator` must be greater than zero.")
    if produced <= 0:
        raise invalid("`ratio_denominator` must be greater than zero.")
    if trial % produced:
        raise invalid("`num_elements_per_branch` must be divisible by `ratio_denominator`.")
    # The captured values of all branches are one list of inputs, after the dataset and the two numbers of the ratio.
    ends = list(itertools.accumulate(attrs["other_arguments_lengths"], initial=0))
    if len(ends) != len(attrs["branches"]) + 1:
        raise invalid("branches and other_arguments_lengths must have the same length.")
    functions = [
        HostFunction(context, "branches", other_arguments[first:end], 3 + first, index)
        for index, (first, end) in enumerate(itertools.pairwise(ends))
    ]  # fmt: skip

    def start(scope: Scope) -> Next:
        return _trying(source.start(scope), [function.bound(scope) for function in functions], trial, trial * given // produced, scope)

    # TensorFlow 1.15's formula is kept, though branches that read `given` elements for `produced` ones change the number inversely.
    size = source.size
    return DatasetValue(start, size if size < 0 else size * given // produced)


def _trying(outer: Next, branches: list[Callable[..., Element]], trial: int, taken: int, scope: Scope) -> Next:
    """Returns `trial` elements of each branch in turn, then all further elements of the fastest.

    A branch in trial is applied to the next `taken` elements of `outer`, so that no element is computed twice.
    """
    times: list[list[float]] = [[] for _ in branches]
    current: Next | None = None
    branch = done = 0

    def begin(index: int, most: int | None) -> Next:
        return dataset_of(branches[index](variant(_part(outer, most)))[0]).start(scope)

    def element() -> Element:
        nonlocal current, branch, done
        # All trials are over: the fastest branch gets the rest of the elements.
        if branch == len(branches):
            current = current or begin(_fastest(times), None)
            return current()
        following = current = current or begin(branch, taken)
        # The time of a branch's first element includes starting the branch, so it is not counted.
        own_times = times[branch] if done else []
        done += 1
        if done == trial:
            current, done, branch = None, 0, branch + 1
        return _timed(following, own_times)

    return element
