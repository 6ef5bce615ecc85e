"""The Levenshtein distance of sequences."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from tfcompat._src.base import checks
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.sparse_tensor import SparseTensor, is_sparse
from tfcompat._src.ops.array.shape import invalid

if TYPE_CHECKING:
    from tfcompat._src.graph.shape_inference import InferenceContext


def _distance_shape(c: InferenceContext) -> list:
    si.sparse_rank(*c.inputs[:3]), si.sparse_rank(*c.inputs[3:])
    hypothesis, truth = c.value(2), c.value(5)
    if hypothesis is None or truth is None:
        return [None]
    if len(hypothesis) != len(truth):
        raise ValueError(
            f"Num elements of hypothesis_shape does not match truth_shape: {len(hypothesis)} vs. {len(truth)}"
        )
    return [tuple(int(s) for s in np.maximum(hypothesis, truth)[:-1])]


def _sequences(label: str, indices: np.ndarray, values: np.ndarray, shape: np.ndarray) -> dict[tuple, list]:
    """The values of each row, by the indices of all dimensions but the last."""
    if indices.ndim != 2 or indices.shape[1] != len(shape):
        raise invalid(
            f"Expected {label}_shape.NumElements == #cols({label}_indices), their shapes are: {shape_text(shape.shape)} and "
            f"{shape_text(indices.shape)}"
        )
    if len(indices) != len(values):
        raise invalid(
            f"indices and values rows (indexing dimension) must match. (indices = {len(indices)}, values = {len(values)})"
        )
    found: dict[tuple, list] = defaultdict(list)
    for place, value in zip(indices, values.tolist()):
        found[tuple(place[:-1].tolist())].append(value)
    return found


def levenshtein(a: list, b: list) -> int:
    """The least number of insertions, deletions and replacements that make `b` of `a`."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (x != y))
    return row[-1]


@op(
    "EditDistance",
    "(hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, truth_indices: int64, truth_values: T, "
    "truth_shape: int64, *, normalize: bool = True, T: type) -> (output: float32)",
    shape=_distance_shape, gradient=NotDifferentiable("a number of edits is no smooth function"), side=HOST, fold=True,
)  # fmt: skip
def _edit_distance(
    hypothesis_indices, hypothesis_values, hypothesis_shape, truth_indices, truth_values, truth_shape, *, normalize
):
    if hypothesis_shape.shape != truth_shape.shape:
        raise invalid(
            "Expected hypothesis_shape and truth_shape to have the same number of elements, but got shapes "
            f"{shape_text(hypothesis_shape.shape)} and {shape_text(truth_shape.shape)}"
        )
    checks.sizes(hypothesis_shape)
    checks.sizes(truth_shape)
    hypotheses = _sequences("hypothesis", hypothesis_indices, hypothesis_values, hypothesis_shape)
    truths = _sequences("truth", truth_indices, truth_values, truth_shape)
    output = np.zeros(np.maximum(hypothesis_shape, truth_shape)[:-1], np.float32)
    for place in {*hypotheses, *truths}:
        given, wanted = hypotheses.get(place, []), truths.get(place, [])
        distance = float(levenshtein(wanted, given))
        if normalize:
            distance = distance / len(wanted) if wanted else np.inf
        output[place] = distance
    return output


@export("edit_distance")
def edit_distance(hypothesis: object, truth: object, normalize: bool = True, name: str = "edit_distance") -> Tensor:
    """The Levenshtein distance of the sequences in the last dimension of two SparseTensors.

    Args:
      hypothesis, truth: SparseTensors (or SparseTensorValues) of one rank.
      normalize: whether distances are divided by the length of the truth; infinity where that is empty and the
        hypothesis is not.
      name: node name.

    Returns:
      a float32 tensor without the last dimension.

    Raises:
      TypeError: an argument is no SparseTensor.
    """
    hypothesis, truth = _sparse(hypothesis, "Hypothesis"), _sparse(truth, "Truth")
    return raw.EditDistance(
        hypothesis.indices, hypothesis.values, hypothesis.dense_shape, truth.indices, truth.values, truth.dense_shape,
        normalize=normalize, name=name,
    )  # fmt: skip


def _sparse(value: object, label: str) -> SparseTensor:
    if not is_sparse(value):
        raise TypeError(f"{label} must be a SparseTensor.")
    return value if isinstance(value, SparseTensor) else SparseTensor.from_value(value)
