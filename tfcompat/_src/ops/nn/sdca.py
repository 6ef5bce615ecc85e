"""Stochastic dual coordinate ascent for linear models with L1 and L2 terms (arXiv:1211.2717, arXiv:1502.08053)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, NotDifferentiable, op, updates
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.nn.dual_losses import LOSSES, DualLoss
from tfcompat._src.ops.strings.fingerprint128 import fingerprint128

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_STATE_SIZE = 4
_NO_GRADIENT = NotDifferentiable("an optimizer moves the weights")


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def _shrunk(weights: Any, by: float) -> Any:
    return np.sign(weights) * np.maximum(np.abs(weights) - by, 0)


# ---- examples ----


@dataclass
class _Column:
    """A group of features of one example: its weights, which of them the example uses, and its values.

    As in 1.15, sparse groups are computed in double precision, so their `values` are float64, and dense ones in single.
    """

    weights: np.ndarray
    deltas: np.ndarray
    places: np.ndarray | slice
    values: np.ndarray


@dataclass
class _Example:
    """One example: the columns of its features, and the square of their norm."""

    columns: list[_Column]
    squared_norm: float

    def predictions(self, shrinkage: float, partitions: int) -> tuple[float, float]:
        """What the weights predict as they were given, and as they are now."""
        before = now = 0.0
        for c in self.columns:
            given, kind = c.weights[c.places], c.values.dtype
            current = given + c.deltas[c.places] * np.float32(partitions)
            before += float((c.values * _shrunk(given.astype(kind), kind.type(shrinkage))).sum())
            now += float((c.values * _shrunk(current.astype(kind), kind.type(shrinkage))).sum())
        return before, now

    def move(self, by: float) -> None:
        for c in self.columns:
            c.deltas[c.places] += c.values.dtype.type(by) * c.values


def _spans(example_indices: np.ndarray, count: int) -> list[slice]:
    """Where the features of each example stand among those of all, which are ordered by example."""
    found, end = [], 0
    for example in range(count):
        start = end
        while end < len(example_indices) and example_indices[end] == example:
            end += 1
        found.append(slice(start, end))
    return found


def _sparse_columns(
    example_indices: np.ndarray, feature_indices: np.ndarray, values: np.ndarray | None, indices: np.ndarray, weights: np.ndarray,
    deltas: np.ndarray, count: int,
) -> list[_Column]:  # fmt: skip
    place_of = {index: place for place, index in enumerate(indices.reshape(-1).tolist())}
    found = []
    for span in _spans(example_indices.reshape(-1), count):
        wanted = feature_indices.reshape(-1)[span].tolist()
        unknown = [i for i in wanted if i not in place_of]
        if unknown:
            raise _invalid(f"Found sparse feature indices out of valid range: {unknown[0]}")
        if len(set(wanted)) < len(wanted):
            raise _invalid("Duplicate index in sparse vector.")
        own = np.ones(len(wanted)) if values is None else values.reshape(-1)[span].astype(np.float64)
        found.append(_Column(weights, deltas, np.array([place_of[i] for i in wanted], np.int64), own))
    return found


def _dense_columns(features: np.ndarray, weights: np.ndarray, deltas: np.ndarray) -> list[_Column]:
    if features.shape[1] > weights.size:
        raise _invalid(f"More dense features than we have parameters for: {features.shape[1]}")
    return [_Column(weights, deltas, slice(None), row) for row in features]


def _examples(groups: Sequence[list[_Column]]) -> list[_Example]:
    return [_Example(list(columns), sum(float((c.values.astype(np.float64) ** 2).sum()) for c in columns)) for columns in zip(*groups)]


# ---- ascent ----


def _adaptive_order(priorities: np.ndarray) -> list[int]:
    """As many examples as there are, drawn by priority; one that was drawn n times already is kept with probability 0.1**n."""
    count, random = len(priorities), np.random.default_rng()
    total = priorities.sum()
    if not (total > 0 and math.isfinite(total)):
        return random.permutation(count).tolist()
    drawn, times = [], [0] * count
    for place in random.choice(count, 2 * count, p=priorities / total).tolist():
        if len(drawn) < count and random.random() <= 0.1 ** times[place]:
            times[place] += 1
            drawn.append(place)
    unseen = sorted((i for i in range(count) if not times[i]), key=lambda i: -priorities[i])
    return (drawn + unseen)[:count]


def _priorities(
    examples: list[_Example], labels: list[float], weights: np.ndarray, duals: np.ndarray, loss: DualLoss, shrinkage: float, l2: float,
    partitions: int,
) -> np.ndarray:  # fmt: skip
    found = np.zeros(len(examples))
    for i, example in enumerate(examples):
        wx = example.predictions(shrinkage, partitions)[1]
        residue = abs(float(duals[i]) + loss.slope(wx, labels[i]))
        found[i] = weights[i] * math.sqrt(example.squared_norm + l2 * loss.smoothness) * residue
    return found


def _ascend(
    examples: list[_Example], labels: np.ndarray, weights: np.ndarray, state: np.ndarray, loss: DualLoss, adaptive: bool,
    shrinkage: float, l2: float, partitions: int,
) -> np.ndarray:  # fmt: skip
    """One step for each example that is drawn; the new state: dual variable, primal and dual loss before, weight."""
    state, own = state.copy(), [loss.label(float(label)) for label in labels]
    if adaptive:
        order = _adaptive_order(_priorities(examples, own, weights, state[:, 0], loss, shrinkage, l2, partitions))
    else:
        order = np.random.default_rng().permutation(len(examples)).tolist()
    for i in order:
        example, weight, dual = examples[i], float(weights[i]), float(state[i, 0])
        before, now = example.predictions(shrinkage, partitions)
        new = loss.updated_dual(own[i], dual, now, partitions * example.squared_norm / l2 * weight)
        example.move((new - dual) * weight / l2)
        state[i] = new, loss.primal(before, own[i], weight), loss.dual(dual, own[i], weight), weight
    return state


def _optimize(
    sparse_examples, sparse_features, sparse_values, dense_features, example_weights, example_labels, sparse_indices, sparse_weights,
    dense_weights, state, *, loss_type, l1, l2, num_loss_partitions, adaptive,
):  # fmt: skip
    weights, labels = example_weights.reshape(-1), example_labels.reshape(-1)
    count = len(weights)
    if not sparse_weights and not dense_weights:
        raise _invalid("Requires at least one feature to train.")
    if len(labels) != count:
        raise _invalid(f"Expected {count} example labels but got {len(labels)}")
    sparse_deltas = [np.zeros(w.size, np.float32) for w in sparse_weights]
    dense_deltas = [np.zeros(w.size, np.float32) for w in dense_weights]
    values = [*sparse_values, *[None] * (len(sparse_weights) - len(sparse_values))]
    groups = [
        _sparse_columns(*columns[:4], columns[4].reshape(-1), columns[5], count)
        for columns in zip(sparse_examples, sparse_features, values, sparse_indices, sparse_weights, sparse_deltas)
    ]
    groups += [_dense_columns(x, w.reshape(-1), d) for x, w, d in zip(dense_features, dense_weights, dense_deltas)]
    if state.shape != (count, _STATE_SIZE):
        raise _invalid(f"Expected shape [{count},{_STATE_SIZE}] for example_state_data, got {shape_text(state.shape)}")
    with np.errstate(all="ignore"):
        shrinkage, l2 = float(np.float32(l1) / np.float32(l2)), float(np.float32(l2))
        new = _ascend(_examples(groups), labels, weights, state, LOSSES[loss_type], adaptive, shrinkage, l2, num_loss_partitions)
    return (
        new.astype(np.float32),
        tuple(d.reshape(w.shape) for d, w in zip(sparse_deltas, sparse_weights)),
        tuple(d.reshape(w.shape) for d, w in zip(dense_deltas, dense_weights)),
    )


def _optimized_shapes(c):
    node = c.op
    kept = [t.shape.sizes for name in ("sparse_weights", "dense_weights") for t in node.input_named(name)]
    return [(None, _STATE_SIZE), *kept]


def _optimizer(name: str, adaptive: str, kernel: Any) -> None:
    losses = ", ".join(f'"{each}"' for each in LOSSES)
    sparse, dense = "num_sparse_features", "num_dense_features"
    op(
        name,
        f"(sparse_example_indices: {sparse}*int64, sparse_feature_indices: {sparse}*int64, "
        f"sparse_feature_values: num_sparse_features_with_values*float32, dense_features: {dense}*float32, "
        f"example_weights: float32, example_labels: float32, sparse_indices: {sparse}*int64, sparse_weights: {sparse}*float32, "
        f"dense_weights: {dense}*float32, example_state_data: float32, *, loss_type: {{{losses}}}, {adaptive}: bool = False, "
        f"{sparse}: int >= 0, num_sparse_features_with_values: int >= 0, {dense}: int >= 0, l1: float, l2: float, "
        "num_loss_partitions: int >= 1, num_inner_iterations: int >= 1) -> (out_example_state_data: float32, "
        f"out_delta_sparse_weights: {sparse}*float32, out_delta_dense_weights: {dense}*float32)",
        shape=_optimized_shapes, kernel=kernel, gradient=_NO_GRADIENT, side=HOST, effects=EXTERNAL, depth=2,
    )  # fmt: skip


_optimizer(
    "SdcaOptimizer", "adaptative",
    lambda *inputs, loss_type, adaptative, l1, l2, num_loss_partitions: _optimize(
        *inputs, loss_type=loss_type, l1=l1, l2=l2, num_loss_partitions=num_loss_partitions, adaptive=adaptative
    ),
)  # fmt: skip
_optimizer("SdcaOptimizerV2", "adaptive", _optimize)


@op("SdcaShrinkL1", "(weights: Ref(num_features*float32), *, num_features: int >= 0, l1: float, l2: float) -> ()",
    shape=si.no_outputs, gradient=_NO_GRADIENT, effects=updates("weights"))  # fmt: skip
def _shrink(weights, *, l1, l2):
    return tuple(jnp.sign(w) * jnp.maximum(jnp.abs(w) - np.float32(l1 / l2), np.float32(0)) for w in weights)


def _fingerprints_shape(c):
    return [(*si.with_rank(c.inputs[0], 1), 2)]


@op("SdcaFprint", "(input: string) -> (output: int64)", shape=_fingerprints_shape, gradient=_NO_GRADIENT, side=HOST)
def _fingerprints(texts):
    if texts.ndim != 1:
        raise _invalid(f"Input must be a vector, got shape {shape_text(texts.shape)}")
    pairs = [fingerprint128(text) for text in texts.tolist()]
    lowest_left_out = [(low if low >= 2 else low + 2**64 - 2, high) for low, high in pairs]
    return np.array(lowest_left_out, np.uint64).reshape(-1, 2).view(np.int64)


# ---- public functions ----


@export("train.sdca_optimizer")
def sdca_optimizer(
    sparse_example_indices: Sequence[Any], sparse_feature_indices: Sequence[Any], sparse_feature_values: Sequence[Any],
    dense_features: Sequence[Any], example_weights: TensorLike, example_labels: TensorLike, sparse_indices: Sequence[Any],
    sparse_weights: Sequence[Any], dense_weights: Sequence[Any], example_state_data: TensorLike, loss_type: str, l1: float, l2: float,
    num_loss_partitions: int, num_inner_iterations: int, adaptative: bool = True, name: str | None = None,
) -> Any:  # fmt: skip
    """One step of stochastic dual coordinate ascent for each example of a batch, in an order that is drawn.

    Args:
      sparse_example_indices, sparse_feature_indices, sparse_feature_values: for each sparse group int64 vectors of the example,
        rising, and the feature of each element, and float32 vectors of its value; groups without values have ones.
      dense_features: for each dense group float32 [examples, features].
      example_weights, example_labels: float32 vectors; labels are 0 or 1 for losses of classes.
      sparse_indices, sparse_weights: for each sparse group the features that have a weight, and the weights.
      dense_weights: for each dense group a vector of weights.
      example_state_data: float32 [examples, 4]: dual variable, primal loss, dual loss, weight.
      loss_type: "logistic_loss", "squared_loss", "hinge_loss", "smooth_hinge_loss" or "poisson_loss".
      l1, l2: factors of the regularization.
      num_loss_partitions: over how many workers the examples are spread.
      num_inner_iterations: kept in the node; 1.15 makes one iteration too.
      adaptative: whether examples are drawn by how far they are from their best, or each once.
      name: node name.

    Returns:
      (out_example_state_data, out_delta_sparse_weights, out_delta_dense_weights): what to add to the weights.

    Raises:
      InvalidArgumentError: in a run, there is no feature, an index has no weight or comes twice, or a label does not fit.
    """
    return raw.SdcaOptimizer(
        sparse_example_indices, sparse_feature_indices, sparse_feature_values, dense_features, example_weights, example_labels,
        sparse_indices, sparse_weights, dense_weights, example_state_data, loss_type=loss_type, l1=l1, l2=l2,
        num_loss_partitions=num_loss_partitions, num_inner_iterations=num_inner_iterations, adaptative=adaptative, name=name,
    )  # fmt: skip


@export("train.sdca_shrink_l1")
def sdca_shrink_l1(weights: Sequence[Any], l1: float, l2: float, name: str | None = None) -> Operation:
    """Moves the values of reference variables towards 0 by l1 / l2."""
    return raw.SdcaShrinkL1(weights, l1=l1, l2=l2, name=name)


@export("train.sdca_fprint")
def sdca_fprint(input: TensorLike, name: str | None = None) -> Tensor:
    """128-bit fingerprints of a vector of strings, int64 [strings, 2]."""
    return raw.SdcaFprint(input, name=name)
