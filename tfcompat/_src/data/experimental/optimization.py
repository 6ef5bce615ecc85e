"""Transformations of datasets about their optimization, as tensorflow.python.data.experimental.ops.optimization has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tfcompat._src.base import dtypes
from tfcompat._src.data.dataset import DatasetV2, number
from tfcompat._src.data.dataset_classes import UnaryDataset, UnaryUnchangedStructureDataset
from tfcompat._src.data.dataset_spec import DatasetSpec
from tfcompat._src.data.iterator import flat_attrs
from tfcompat._src.data.structured_function import StructuredFunctionWrapper
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor

Apply = Callable[[DatasetV2], DatasetV2]


def assert_next(transformations: object) -> Apply:
    """For `apply`: the elements; starting an iteration raises InvalidArgumentError where other transformations follow.

    Args:
      transformations: vector of the names of 1.15's iterators ("Map", "BatchV2", "FiniteRepeat"), as optimizations leave them.
    """
    return lambda dataset: _AssertNextDataset(dataset, transformations)


def model() -> Apply:
    """For `apply`: the elements; what autotuning chooses is modelled from here. (1.15.5's own raises TypeError when it is applied.)"""
    return lambda dataset: dataset._same(raw.ModelDataset)


def non_serializable() -> Apply:
    """For `apply`: the elements of a dataset whose graph cannot be had."""
    return lambda dataset: _NonSerializableDataset(dataset)


def optimize(optimizations: object = None) -> Apply:
    """For `apply`: the elements, with the optimizations of these names (a vector of strings; None is none)."""
    return lambda dataset: dataset._same(
        raw.OptimizeDataset, number([] if optimizations is None else optimizations, "optimizations", dtypes.string)
    )


class _AssertNextDataset(UnaryUnchangedStructureDataset):
    """The dataset of `assert_next`; ValueError where `transformations` is None."""

    def __init__(self, input_dataset: DatasetV2, transformations: object) -> None:
        if transformations is None:
            raise ValueError("At least one transformation should be specified")
        names = convert_to_tensor(transformations, dtypes.string, name="transformations")
        made = raw.AssertNextDataset(input_dataset._variant_tensor, names, **input_dataset._flat_structure)
        super().__init__(input_dataset, made)


class _NonSerializableDataset(UnaryUnchangedStructureDataset):
    """The dataset of `non_serializable`."""

    def __init__(self, input_dataset: DatasetV2) -> None:
        super().__init__(input_dataset, raw.NonSerializableDataset(input_dataset._variant_tensor, **input_dataset._flat_structure))


class _ChooseFastestDataset(DatasetV2):
    """The elements that all `datasets` have, from the one that was fastest in the first `num_experiments` elements."""

    def __init__(self, datasets: Iterable[DatasetV2], num_experiments: int = 10) -> None:
        inputs = list(datasets)
        spec = inputs[0].element_spec
        made = raw.ChooseFastestDataset([each._variant_tensor for each in inputs], num_experiments=num_experiments, **flat_attrs(spec))
        super().__init__(made, spec, tuple(inputs))


class _ChooseFastestBranchDataset(UnaryDataset):
    """The elements of the fastest of `functions`, each of a dataset and giving a dataset of the same elements.

    Args:
      ratio_numerator, ratio_denominator: how many elements a function takes for how many it gives.
      num_elements_per_branch: how many elements each function gives while they are tried; 10 * ratio_denominator by default.

    Raises:
      ValueError: the ratio is not positive.
    """

    def __init__(
        self, input_dataset: DatasetV2, functions: Iterable[Apply], ratio_numerator: int = 1, ratio_denominator: int = 1,
        num_elements_per_branch: int | None = None,
    ) -> None:  # fmt: skip
        taken = DatasetSpec(input_dataset.element_spec)
        traced = [StructuredFunctionWrapper(function, "ChooseFastestV2", input_structure=taken) for function in functions]
        if ratio_numerator <= 0 or ratio_denominator <= 0:
            raise ValueError("ratio must be positive.")
        spec = traced[0].output_structure._element_spec
        made = raw.ChooseFastestBranchDataset(
            input_dataset._variant_tensor, ratio_numerator, ratio_denominator, [t for each in traced for t in each.captured_inputs],
            num_elements_per_branch=num_elements_per_branch or 10 * ratio_denominator, branches=[each.reference for each in traced],
            other_arguments_lengths=[len(each.captured_inputs) for each in traced], **flat_attrs(spec),
        )  # fmt: skip
        super().__init__(input_dataset, made, spec)
