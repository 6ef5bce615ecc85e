"""tf.data.experimental: sampling from several datasets, and choosing among them by another dataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.data import nest, structure
from tfcompat._src.data.dataset import DatasetV2
from tfcompat._src.data.dataset_v1 import DatasetV1Adapter
from tfcompat._src.data.experimental.transformations import RandomDatasetV1
from tfcompat._src.data.iterator import flat_attrs
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.tensor_spec import TensorSpec


def _DirectedInterleaveDataset(selector_input: DatasetV2, data_inputs: Sequence[DatasetV2]) -> DatasetV2:
    """Returns a dataset whose elements come from the datasets with the indices in `selector_input`; TypeError if dtypes differ."""
    selector, datasets = selector_input, list(data_inputs)
    first = datasets[0]
    for index, dataset in enumerate(datasets[1:], 1):
        mine, theirs = (structure.legacy(d.element_spec, "types") for d in (first, dataset))
        if mine != theirs:
            raise TypeError(f"Datasets to interleave have different types: {mine} and {theirs} (dataset {index}).")
    spec = first.element_spec
    for dataset in datasets[1:]:
        spec = nest.map_structure(lambda a, b: a.most_specific_compatible_type(b), spec, dataset.element_spec)
    made = raw.DirectedInterleaveDataset(selector._variant_tensor, [d._variant_tensor for d in datasets], **flat_attrs(spec))
    return DatasetV1Adapter(made, spec, (selector, *datasets))


@export("data.experimental.sample_from_datasets", "contrib.data.sample_from_datasets")
def sample_from_datasets_v1(datasets: Sequence[DatasetV2], weights: object = None, seed: object = None) -> DatasetV2:
    """Makes a dataset whose elements are drawn from randomly chosen datasets.

    Args:
      datasets: list of datasets of one element type.
      weights: float vector of probabilities, a dataset of such vectors, or None for equal probabilities.
      seed: as for `Dataset.shuffle`.

    Raises:
      ValueError: there are not as many weights as datasets. TypeError: weights are not floats, or element types differ.
    """
    count = len(datasets)

    def select_constant(logits: Tensor | list[list[float]]) -> Callable[[Tensor], Tensor]:
        def select_dataset_constant_logits(seed: Tensor) -> Tensor:
            return select_dataset_varying_logits(logits, seed)

        return select_dataset_constant_logits

    def select_dataset_varying_logits(logits: Tensor | list[list[float]], seed: Tensor) -> Tensor:
        chosen: Tensor = raw.Squeeze(raw.StatelessMultinomial(logits, 1, seed=seed), squeeze_dims=[0, 1])
        return chosen

    # Each choice is a stateless draw, seeded by two numbers of a RandomDataset, so that the choices only depend on `seed`.
    if weights is None:
        chosen = RandomDatasetV1(seed).batch(2).map(select_constant([[1.0] * count]))
    elif not isinstance(weights, DatasetV2):
        weights = convert_to_tensor(weights, name="weights")
        if weights.dtype not in (dtypes.float32, dtypes.float64):
            raise TypeError("`weights` must be convertible to a tensor of `tf.float32` or `tf.float64` elements.")
        if not weights.shape.is_compatible_with([count]):
            raise ValueError("`weights` must be a vector of length `len(datasets)`.")
        logits = raw.ExpandDims(raw.Log(weights, name="logits"), 0)
        chosen = RandomDatasetV1(seed).batch(2).map(select_constant(logits))
    else:
        logits_dataset = weights.map(lambda *p: raw.Log(p, name="logits"))
        seeds = RandomDatasetV1(seed).batch(2)
        chosen = DatasetV1Adapter.zip((logits_dataset, seeds)).map(select_dataset_varying_logits)
    return _DirectedInterleaveDataset(chosen, datasets)


@export("data.experimental.choose_from_datasets", "contrib.data.choose_from_datasets")
def choose_from_datasets_v1(datasets: Sequence[DatasetV2], choice_dataset: DatasetV2) -> DatasetV2:
    """Makes a dataset whose elements come from the datasets with the indices in another dataset.

    Args:
      datasets: list of datasets of one element type. choice_dataset: dataset of int64 scalars.

    Raises:
      TypeError: `choice_dataset` has other elements, or element types differ.
    """
    if not structure.are_compatible(choice_dataset.element_spec, TensorSpec([], dtypes.int64)):
        raise TypeError("`choice_dataset` must be a dataset of scalar `tf.int64` tensors.")
    return _DirectedInterleaveDataset(choice_dataset, datasets)


sample_from_datasets, choose_from_datasets = sample_from_datasets_v1, choose_from_datasets_v1
