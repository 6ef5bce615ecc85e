"""The transformations of tensorflow.python.data.experimental.ops.optimization: assertions, optimizations, and choice of the fastest."""

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
    """For `apply`: asserts which transformations follow; starting an iteration raises InvalidArgumentError if others do.

    Args:
      transformations: vector of names of TensorFlow 1.15's iterators ("Map", "BatchV2", "FiniteRepeat"), after optimization.
    """
    return lambda dataset: _AssertNextDataset(dataset, transformations)


def model() -> Apply:
    """For `apply`: adds the node of autotuning, which has no effect. TensorFlow 1.15.5's own raises TypeError when it is applied."""
    return lambda dataset: dataset._same(raw.ModelDataset)


def non_serializable() -> Apply:
    """For `apply`: makes the dataset raise UnimplementedError when it is serialized or saved."""
    return lambda dataset: _NonSerializableDataset(dataset)


def optimize(optimizations: object = None) -> Apply:
    """For `apply`: asks for graph optimizations; `optimizations` is a vector of their names, or None for none."""
    return lambda dataset: dataset._same(
        raw.OptimizeDataset, number([] if optimizations is None else optimizations, "optimizations", dtypes.string)
    )


class _AssertNextDataset(UnaryUnchangedStructureDataset):
    """The dataset of `assert_next`; ValueError if `transformations` is None."""

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
    """A dataset that reads one of several datasets with the same elements: the fastest in the first `num_experiments` elements."""

    def __init__(self, datasets: Iterable[DatasetV2], num_experiments: int = 10) -> None:
        inputs = list(datasets)
        spec = inputs[0].element_spec
        made = raw.ChooseFastestDataset([each._variant_tensor for each in inputs], num_experiments=num_experiments, **flat_attrs(spec))
        super().__init__(made, spec, tuple(inputs))


class _ChooseFastestBranchDataset(UnaryDataset):
    """A dataset that applies the fastest of several functions, which map a dataset to datasets with the same elements.

    Args:
      ratio_numerator, ratio_denominator: input elements per output elements of each function.
      num_elements_per_branch: output elements of each function in its trial; by default 10 * ratio_denominator.

    Raises:
      ValueError: the ratio is not positive.
    """

    def __init__(
        self, input_dataset: DatasetV2, functions: Iterable[Apply], ratio_numerator: int = 1, ratio_denominator: int = 1,
        num_elements_per_branch: int | None = None,
    ) -> None:  # fmt: skip
        # Each branch is traced as a function from a dataset to a dataset; captured tensors of all branches are one list of inputs.
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
