"""tf.contrib.model_pruning: weights of small magnitude are masked while a model is trained.

Zhu and Gupta 2017, "To prune, or not to prune": the sparsity rises from an initial to a target value,
`target + (initial - target) (1 - p)^exponent`, p from 0 to 1 between two steps.
"""

from __future__ import annotations

import re
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.model_pruning import pruning_utils
from tfcompat._src.contrib.model_pruning.core_layers import (
    MASK_COLLECTION,
    MASKED_WEIGHT_COLLECTION,
    THRESHOLD_COLLECTION,
    WEIGHT_COLLECTION,
    masked,
)
from tfcompat._src.contrib.training.hparam import HParams
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, get_collection, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.shape import reshape, size, squeeze
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.array.slice import slice_
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.ops.math import unary
from tfcompat._src.ops.math.binary import add, div, maximum, minimum, multiply, power
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import greater_equal, less, less_equal, logical_and, logical_or
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.ops.nn.dilated import pool
from tfcompat._src.ops.nn.top_k import top_k
from tfcompat._src.ops.nn.zero_fraction import zero_fraction
from tfcompat._src.platform import logging
from tfcompat._src.summary import summary
from tfcompat._src.variables import assign, training_util
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.partitioned import PartitionedVariable
from tfcompat._src.variables.scope import get_variable, variable_scope


@export("contrib.model_pruning.apply_mask")
def apply_mask(x: object, scope: object = "") -> Tensor:
    """A weight with the mask of a variable scope on it.

    Args:
      x: a weight, variable or Tensor.
      scope: where the variables "mask" and "threshold" are made.
    """
    mask = pruning_utils.weight_mask_variable(x, scope)
    return masked(mask, pruning_utils.weight_threshold_variable(x, scope), x)


@export("contrib.model_pruning.get_masked_weights")
def get_masked_weights() -> list:
    """The weights of the default graph with their masks on."""
    return get_collection(MASKED_WEIGHT_COLLECTION)


@export("contrib.model_pruning.get_masks")
def get_masks() -> list:
    """The masks of the default graph."""
    return get_collection(MASK_COLLECTION)


@export("contrib.model_pruning.get_thresholds")
def get_thresholds() -> list:
    """The thresholds of the masks of the default graph."""
    return get_collection(THRESHOLD_COLLECTION)


@export("contrib.model_pruning.get_weights")
def get_weights() -> list:
    """The weights of the default graph that have masks."""
    return get_collection(WEIGHT_COLLECTION)


@export("contrib.model_pruning.get_weight_sparsity")
def get_weight_sparsity() -> list[Tensor]:
    """The part of zeros in each mask of the default graph."""
    return [zero_fraction(mask) for mask in get_masks()]


@export("contrib.model_pruning.get_pruning_hparams")
def get_pruning_hparams() -> HParams:
    """The hyperparameters of Pruning with their default values.

    `name` is the name scope. Masks change from `begin_pruning_step` to `end_pruning_step` (-1: the end of training), every
    `pruning_frequency` steps. `weight_sparsity_map` ["regex:sparsity"] and `block_dims_map` ["regex:4x1"] name weights
    with other targets and blocks than `target_sparsity`, `block_height`, `block_width` (-1: all of the weight).
    `block_pooling_function` is "AVG" or "MAX". `threshold_decay` is that of the moving average of thresholds.
    `initial_sparsity`, `sparsity_function_begin_step`, `sparsity_function_end_step`, `sparsity_function_exponent`
    give the sparsity at each step; `use_tpu` asks for what TPUs can run; `nbins` has no effect, as in 1.15.
    """
    return HParams(
        name="model_pruning", begin_pruning_step=0, end_pruning_step=-1, weight_sparsity_map=[""], block_dims_map=[""],
        threshold_decay=0.0, pruning_frequency=10, nbins=256, block_height=1, block_width=1,
        block_pooling_function="AVG", initial_sparsity=0.0, target_sparsity=0.5, sparsity_function_begin_step=0,
        sparsity_function_end_step=100, sparsity_function_exponent=3.0, use_tpu=False,
    )  # fmt: skip


@export("contrib.model_pruning.Pruning")
class Pruning:
    """Updates the masks of the default graph.

    Args:
      spec: hyperparameters, see `get_pruning_hparams`.
      global_step: the step that decides, by default the graph's global step.
      sparsity: a scalar in place of the function of the step that `spec` describes.

    Raises:
      ValueError: a hyperparameter is out of its range.
    """

    def __init__(self, spec: HParams | None = None, global_step: object = None, sparsity: object = None) -> None:
        self._spec = spec or get_pruning_hparams()
        _check(self._spec)
        step = training_util.get_global_step() if global_step is None else global_step
        self._global_step = cast(step, dtypes.int32)
        self._sparsity = self._sparsity_now() if sparsity is None else sparsity
        self._assign_ops: list[Any] = []
        self._last_update_step = self._make_last_update_step()
        self._block_dims = [self._spec.block_height, self._spec.block_width]
        self._block_dims_map = _block_dims_map(self._spec.block_dims_map)
        self._weight_sparsity_map = _weight_sparsity_map(self._spec.weight_sparsity_map)

    def _sparsity_now(self) -> Tensor:
        spec = self._spec
        begin, end = spec.sparsity_function_begin_step, spec.sparsity_function_end_step
        with name_scope(spec.name):
            passed = div(cast(self._global_step - begin, dtypes.float32), end - begin)
            progress = minimum(1.0, maximum(0.0, passed))
            missing = multiply(
                spec.initial_sparsity - spec.target_sparsity, power(1 - progress, spec.sparsity_function_exponent)
            )
            return add(missing, spec.target_sparsity, name="sparsity")

    def _make_last_update_step(self) -> Any:
        name = "last_mask_update_step"
        with variable_scope(self._spec.name, use_resource=self._spec.use_tpu) as scope:
            try:
                return get_variable(name, [], initializer=Zeros(), trainable=False, dtype=dtypes.int32)
            except ValueError:  # another Pruning of this graph made it
                scope.reuse_variables()
                return get_variable(name, dtype=dtypes.int32)

    def _block_dims_of(self, weight_name: str) -> list[int]:
        return _only_match(self._block_dims_map, weight_name, "block_dims_map", self._block_dims)

    def _sparsity_of(self, weight_name: str) -> Any:
        target = _only_match(self._weight_sparsity_map, weight_name, "weight_sparsity_map", None)
        if target is None:
            return self._sparsity
        return multiply(self._sparsity, div(target, self._spec.target_sparsity))

    def _update_mask(self, weights: Tensor, threshold: object) -> tuple[Tensor, Tensor]:
        """The new threshold, smoothed, and the mask of the weights that reach it."""
        if self._sparsity is None:
            raise ValueError("Sparsity variable undefined")
        sparsity = self._sparsity_of(weights.op.name)
        decay = self._spec.threshold_decay
        with name_scope(f"{weights.op.name}_pruning_ops"):
            magnitudes = unary.absolute(weights)
            kept = cast(unary.round_half_to_even(cast(size(magnitudes), dtypes.float32) * (1 - sparsity)), dtypes.int32)
            ordered, _ = top_k(reshape(magnitudes, [-1]), k=size(magnitudes))
            present = gather(ordered, kept - 1)
            smoothed = add_n([multiply(present, 1 - decay), multiply(threshold, decay)])
            return smoothed, cast(greater_equal(magnitudes, smoothed), dtypes.float32)

    def _maybe_update_block_mask(self, weights: Any, threshold: Any) -> tuple[Tensor, Tensor]:
        """As `_update_mask`, by blocks where they are larger than one element and the weight is a matrix but for ones."""
        blocks = self._block_dims_of(weights.op.name)
        matrix = squeeze(weights)
        if matrix.shape.ndims != 2 or blocks == [1, 1]:
            return self._update_mask(weights, threshold)
        sizes = matrix.shape.as_list()
        blocks = [n if block == -1 else block for n, block in zip(sizes, blocks)]
        pooling = self._spec.block_pooling_function
        if pooling not in ("AVG", "MAX"):
            raise ValueError(f"Unknown pooling function for block sparsity: {pooling}")
        with name_scope(f"{weights.op.name}_pruning_ops"):
            pooled = self._pooled(unary.absolute(matrix), blocks, f"{weights.op.name}_pooled")
            smoothed, mask = self._update_mask(pooled, threshold)
            whole = slice_(pruning_utils.expand_tensor(mask, blocks), [0, 0], sizes)
        return smoothed, reshape(whole, shape_of(weights))

    def _pooled(self, magnitudes: Tensor, blocks: list[int], name: str) -> Tensor:
        kind = self._spec.block_pooling_function
        if self._spec.use_tpu:
            return pruning_utils.factorized_pool(magnitudes, blocks, kind, blocks, "SAME", name)
        image = reshape(magnitudes, [1, *magnitudes.shape.as_list(), 1])
        return squeeze(pool(image, blocks, kind, strides=blocks, padding="SAME", name=name), axis=[0, 3])

    def _add_assignments(self) -> None:
        if self._assign_ops:
            raise ValueError("Assign op list not empty. _get_mask_assign_ops() called twice?")
        masks, weights, thresholds = get_masks(), get_weights(), get_thresholds()
        if len(masks) != len(thresholds):
            raise ValueError(f"Number of masks {len(masks)} and number of thresholds {len(thresholds)} mismatch")
        for mask, weight, threshold in zip(masks, weights, thresholds):
            partitioned = isinstance(weight, PartitionedVariable)
            new_threshold, new_mask = self._maybe_update_block_mask(
                weight.as_tensor() if partitioned else weight, threshold
            )
            self._assign_ops.append(pruning_utils.variable_assign(threshold, new_threshold))
            give = pruning_utils.partitioned_variable_assign if partitioned else pruning_utils.variable_assign
            self._assign_ops.append(give(mask, new_mask))

    def mask_update_op(self) -> Operation:
        """An operation that updates all masks and thresholds."""
        with name_scope(self._spec.name):
            if not self._assign_ops:
                self._add_assignments()
            last = assign.assign(self._last_update_step, self._global_step, name="last_mask_update_step_assign")
            with control_dependencies([last]), control_dependencies(self._assign_ops):
                logging.info("Updating masks.")
                return no_op("mask_update")

    def conditional_mask_update_op(self) -> Any:
        """As `mask_update_op`, at the steps at which the masks are to change; else it does nothing."""
        return cond(self._is_update_step(), self.mask_update_op, no_op)

    def _is_update_step(self) -> Tensor:
        spec = self._spec
        with name_scope(spec.name):
            begun = greater_equal(self._global_step, spec.begin_pruning_step)
            goes_on = logical_or(
                less_equal(self._global_step, spec.end_pruning_step), less(spec.end_pruning_step, 0)
            )
            in_range = logical_and(begun, goes_on)
            due = less_equal(add(self._last_update_step, spec.pruning_frequency), self._global_step)
            return logical_and(in_range, due)

    def add_pruning_summaries(self) -> None:
        """Adds summaries of the sparsity, of each mask's zeros and of each threshold."""
        with name_scope(f"{self._spec.name}_summaries"):
            summary.scalar("sparsity", self._sparsity)
            summary.scalar("last_mask_update_step", self._last_update_step)
            for mask, threshold in zip(get_masks(), get_thresholds()):
                summary.scalar(f"{mask.op.name}/sparsity", zero_fraction(mask))
                summary.scalar(f"{threshold.op.name}/threshold", threshold)

    def print_hparams(self) -> None:
        """Logs the hyperparameters as JSON."""
        logging.info(self._spec.to_json())


def _check(spec: HParams) -> None:
    begin, end = spec.begin_pruning_step, spec.end_pruning_step
    if begin < 0:
        raise ValueError("Illegal value for begin_pruning_step")
    if begin >= end != -1:
        raise ValueError(
            f"Pruning must begin before it can end. begin_step={begin}, end_step={end}. Set end_pruning_step to -1 if "
            "pruning is required till training stops"
        )
    if spec.sparsity_function_begin_step < 0:
        raise ValueError("Illegal value for sparsity_function_begin_step")
    if spec.sparsity_function_begin_step >= spec.sparsity_function_end_step:
        raise ValueError("Sparsity function requires begin_step < end_step")
    for name in ("threshold_decay", "initial_sparsity", "target_sparsity"):
        if not 0.0 <= getattr(spec, name) < 1.0:
            raise ValueError(f"{name} must be in range [0,1)")


def _block_dims_map(pairs: list[str]) -> dict[re.Pattern, list[int]]:
    found = {}
    for pair in filter(None, pairs):
        name, sizes = pair.split(":")
        if len(sizes.split("x")) != 2:
            raise ValueError(f"Expected 2 values for block dim for {name}, got {sizes.split('x')}")
        found[re.compile(name)] = [int(n) for n in sizes.split("x")]
    return found


def _weight_sparsity_map(pairs: list[str]) -> dict[re.Pattern, float]:
    found = {}
    for pair in filter(None, pairs):
        name, sparsity = pair.split(":")
        if float(sparsity) >= 1.0:
            raise ValueError("Weight sparsity can not exceed 1.0")
        found[re.compile(name)] = float(sparsity)
    return found


def _only_match(known: dict[re.Pattern, Any], name: str, what: str, default: object) -> Any:
    """The value of the one pattern that is found in `name`; ValueError where there are several."""
    matches = [value for pattern, value in known.items() if pattern.search(name)]
    if len(matches) > 1:
        raise ValueError(f"Multiple matches in {what} for weight {name}")
    return matches[0] if matches else default
