"""The model functions of boosted trees."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.estimator.canned.boosted_trees_features import (
    boundaries_by_column,
    feature_vectors,
    grouped_by_buckets,
    is_float_column,
    number_of_features,
    transformed,
)
from tfcompat._src.estimator.canned.boosted_trees_growth import (
    AccumulatorEnsembleGrower,
    EnsembleGrower,
    GrowerInitializationHook,
    InMemoryEnsembleGrower,
    StopAtAttemptsHook,
    TreeHParams,
)
from tfcompat._src.estimator.model_fn import EstimatorSpec, ModeKeys
from tfcompat._src.feature_column.indicator import Indicator
from tfcompat._src.feature_column.numeric import numeric_column
from tfcompat._src.function.control_flow_v2 import cond_v2
from tfcompat._src.gradients.gradients import gradients as gradients_of
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, device, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.fill import ones, zeros
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.array.shape import squeeze
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.summary.summary import scalar
from tfcompat._src.train.boosted_trees_ops import QuantileAccumulator, TreeEnsemble
from tfcompat._src.variables.assign import assign, assign_add
from tfcompat._src.variables.training_util import get_or_create_global_step
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

DEBUG_KEY = "_serialized_debug_outputs_proto"
"""Where explanations are among the predictions."""

_NO_NODE = -1
_QUANTILES_NAME = "QuantileAccumulator"


def _variable(initial_value: object, name: str) -> Any:
    return Variable(initial_value=initial_value, trainable=False, validate_shape=False, name=name, use_resource=True)


class _Kept(NamedTuple):
    """Where examples were when they were last seen: tree, node and logits."""

    tree_ids: Any
    node_ids: Any
    logits: Any

    @classmethod
    def nowhere(cls, batch_size: Tensor, logits_dimension: int, keep: Callable = lambda initial, name: initial) -> _Kept:
        """The state of examples that were not seen yet; `keep` may make variables of it."""
        return cls(
            keep(zeros([batch_size], dtype=dtypes.int32), "tree_ids_cache"),
            keep(_NO_NODE * ones([batch_size], dtype=dtypes.int32), "node_ids_cache"),
            keep(zeros([batch_size, logits_dimension], dtype=dtypes.float32), "logits_cache"),
        )

    def insert(self, *values: Tensor) -> Operation:
        return group([variable.assign(value) for variable, value in zip(self, values)], name="cache_insert")


def _kept_features(
    features: dict[str, Any], columns: list[Any], batch_size: Tensor, boundaries: dict[str, list[Tensor]], are_boundaries_ready: TensorLike
) -> tuple[list[Tensor], Operation]:
    """The bucket numbers of one batch that comes again and again: from variables after the first time.

    They are kept while boundaries are not ready yet, as in 1.15.

    Returns:
      Vectors, and the operation that keeps them.
    """
    kept = [
        _variable(zeros([batch_size], dtype=dtypes.int32), name=f"cached_feature_{i}") for i in range(number_of_features(columns))
    ]
    are_kept = _variable(False, name="are_features_cached")
    indicators = [column for column in columns if isinstance(column, Indicator)]
    # Tables of categorical columns are initialized where they are made outside of branches.
    known = transformed(features, indicators) if indicators else {}

    def computed() -> list[Tensor]:
        return feature_vectors(features, columns, boundaries, known)

    def compute_and_keep() -> tuple[list[Tensor], Any]:
        assigned = [assign(variable, vector) for variable, vector in zip(kept, computed(), strict=True)]
        with control_dependencies(assigned):
            return assigned, are_kept.assign(True)

    return cond_v2(
        are_boundaries_ready,
        lambda: (computed(), no_op()),
        lambda: cond_v2(are_kept, lambda: (kept, no_op()), compute_and_keep, name=None),
        name=None,
    )


class _Columns(NamedTuple):
    """The columns of a model, sorted by name, and the quantiles of those that give floats."""

    columns: list[Any]
    float_columns: list[Any]
    quantiles: QuantileAccumulator | None
    boundaries: dict[str, list[Tensor]]

    @classmethod
    def made(cls, columns: Any, epsilon: float) -> _Columns:
        columns = sorted(columns, key=lambda column: column.name)
        float_columns = [column for column in columns if is_float_column(column)]
        if not float_columns:
            return cls(columns, [], None, {})
        count = number_of_features(float_columns)
        quantiles = QuantileAccumulator(epsilon, count, int(1.0 / epsilon), name=_QUANTILES_NAME)
        return cls(columns, float_columns, quantiles, boundaries_by_column(float_columns, quantiles.get_bucket_boundaries()))

    def vectors(self, features: dict[str, Any]) -> list[Tensor]:
        """A vector of bucket numbers for each feature."""
        return feature_vectors(features, self.columns, self.boundaries)


def _inference_spec(
    features: Any, labels: Any, mode: str, head: Any, ensemble: TreeEnsemble, vectors: list[Tensor]
) -> EstimatorSpec:
    logits = raw.BoostedTreesPredict(ensemble.resource_handle, vectors, logits_dimension=head.logits_dimension)
    return head.create_estimator_spec(features=features, mode=mode, labels=labels, train_op_fn=no_op, logits=logits)


def _check_in_memory(n_batches_per_layer: object, config: Any) -> None:
    if n_batches_per_layer != 1:
        raise AssertionError(
            "When train_in_memory is enabled, input_fn should return the entire dataset as a single batch, and "
            "n_batches_per_layer should be set as 1."
        )
    if not config.is_chief or config.num_worker_replicas > 1 or config.num_ps_replicas > 0:
        raise ValueError("train_in_memory is supported only for non-distributed training.")


def _own_ensemble(ensemble: TreeEnsemble, config: Any, name: str, worker_device: str) -> tuple[TreeEnsemble, Operation]:
    """The ensemble that a worker predicts with, and the operation that brings it up to date."""
    if config.num_worker_replicas <= 1:
        return ensemble, no_op()
    with device(worker_device):
        own = TreeEnsemble(name=name + "_local", is_local=True)
    return own, own.deserialize(*ensemble.serialize())


class _Training(NamedTuple):
    """What the steps of a training are made of."""

    features: Any
    labels: Any
    columns: _Columns
    hparams: TreeHParams
    groups: tuple[list[int], list[list[int]]]
    grower: EnsembleGrower
    vectors: list[Tensor]
    kept: _Kept | None
    keep_features: Operation | None
    walked: tuple[Tensor, Tensor, Tensor]
    last_layer: Tensor
    are_boundaries_ready: Any
    center_bias_var: Any
    weights: Tensor
    closed_form: Callable | None

    def train_op(self, loss: Tensor) -> Any:
        """The operation of a step: it adds to quantiles first, and grows trees when there are boundaries."""
        grow = functools.partial(self._grow, loss)
        if not self.columns.float_columns:
            return grow()
        return cond_v2(self.are_boundaries_ready, grow, self._update_quantiles, name=None)

    def _update_quantiles(self) -> Operation:
        with name_scope("UpdateQuantile"):
            floats = feature_vectors(self.features, self.columns.float_columns)
            return self.grower.accumulate_quantiles(floats, self.weights, self.are_boundaries_ready)

    def _grow(self, loss: Tensor) -> Operation:
        done = [] if self.keep_features is None else [self.keep_features]
        if self.kept is not None:
            done.append(cond_v2(self.center_bias_var, no_op, lambda: self.kept.insert(*self.walked), name=None))
        gradients, hessians = self._derivatives(loss)
        summaries = self._summaries(gradients, hessians)
        grow = functools.partial(self.grower.grow_tree, summaries, self.last_layer)
        if self.hparams.center_bias:
            center = functools.partial(self.grower.center_bias, self.center_bias_var, gradients, hessians)
            update = cond_v2(self.center_bias_var, center, grow, name=None)
        else:
            update = grow()
        done.append(update)
        with control_dependencies([update]):
            done.append(assign_add(get_or_create_global_step(), 1).op)
        return group(done, name="grow_op")

    def _derivatives(self, loss: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.walked[2]
        if self.closed_form is not None:
            return self.closed_form(logits, self.labels)
        (gradients,) = gradients_of(loss, logits, name="Gradients")
        (hessians,) = gradients_of(gradients, logits, name="Hessians")
        return gradients, hessians

    def _summaries(self, gradients: Tensor, hessians: Tensor) -> list[list[Tensor]]:
        def summary(feature: int, buckets: int) -> Tensor:
            found = raw.BoostedTreesMakeStatsSummary(
                self.walked[1], gradients, hessians, [self.vectors[feature]],
                max_splits=self.hparams.max_splits, num_buckets=buckets,
            )  # fmt: skip
            return squeeze(found, axis=0)

        return [[summary(feature, buckets) for feature in ids] for buckets, ids in zip(*self.groups)]


def _example_weights(features: dict[str, Any], weight_column: object) -> Tensor:
    if weight_column is None:
        return constant(1.0, shape=[1])
    if isinstance(weight_column, str):
        weight_column = numeric_column(key=weight_column, shape=(1,))
    return feature_vectors(features, [weight_column])[0]


def model_fn(
    features: Any, labels: object, mode: str, head: Any, feature_columns: object, hparams: TreeHParams, n_batches_per_layer: Any,
    config: Any, closed_form: Callable | None = None, weight_column: Any = None, train_in_memory: bool = False,
    name: str = "boosted_trees",
) -> EstimatorSpec:  # fmt: skip
    """The model function of boosted trees.

    Args:
      features: dict from key to Tensor.
      labels: Tensor [batch] or [batch, 1].
      mode: one of ModeKeys.
      head: a head with one logit.
      feature_columns: dense, bucketized and indicator columns.
      hparams: how trees grow.
      n_batches_per_layer: how many batches a layer is grown from.
      config: the RunConfig.
      closed_form: a function from logits and labels to gradients and hessians of the loss; by default tf.gradients finds them.
      weight_column: key or numeric column of the weights that examples have in quantiles.
      train_in_memory: whether every batch is the whole data.
      name: scope of the model, and name of the ensemble in checkpoints.

    Raises:
      ValueError: a column is not supported, or arguments do not go together.
    """
    with name_scope(name) as name:
        get_or_create_global_step()
        ensemble = TreeEnsemble(name=name)
        columns = _Columns.made(feature_columns, hparams.quantile_sketch_epsilon)
        groups = grouped_by_buckets(columns.columns, int(1.0 / hparams.quantile_sketch_epsilon))
        if mode != ModeKeys.TRAIN:
            return _inference_spec(features, labels, mode, head, ensemble, columns.vectors(features))
        if train_in_memory:
            _check_in_memory(n_batches_per_layer, config)
        worker_device = no_op().device
        are_boundaries_ready = _variable(not columns.float_columns, name="are_boundaries_ready")
        kept, keep_features = None, None
        if train_in_memory:
            batch_size = shape_of(labels)[0]
            vectors, keep_features = _kept_features(
                features, columns.columns, batch_size, columns.boundaries, are_boundaries_ready
            )
            seen = kept = _Kept.nowhere(batch_size, head.logits_dimension, _variable)
        else:
            vectors = columns.vectors(features)
            seen = _Kept.nowhere(shape_of(labels)[0], head.logits_dimension)
        own, reload = _own_ensemble(ensemble, config, name, worker_device)
        with control_dependencies([reload]):
            stamp_token, num_trees, num_finalized, num_layers, last_layer = own.get_states()
            more_logits, tree_ids, node_ids = raw.BoostedTreesTrainingPredict(
                own.resource_handle, seen.tree_ids, seen.node_ids, vectors, logits_dimension=head.logits_dimension
            )
        logits = seen.logits + more_logits
        if train_in_memory:
            grower = InMemoryEnsembleGrower(ensemble, columns.quantiles, hparams, groups[1])
        else:
            grower = AccumulatorEnsembleGrower(
                ensemble, columns.quantiles, hparams, stamp_token, n_batches_per_layer, groups[0], config.is_chief, groups[1]
            )
        scalar("ensemble/num_trees", num_trees)
        scalar("ensemble/num_finalized_trees", num_finalized)
        scalar("ensemble/num_attempted_layers", num_layers)
        training = _Training(
            features, labels, columns, hparams, groups, grower, vectors, kept, keep_features, (tree_ids, node_ids, logits),
            last_layer, are_boundaries_ready, _variable(hparams.center_bias, name="center_bias_needed"),
            _example_weights(features, weight_column), closed_form,
        )  # fmt: skip
    spec = head.create_estimator_spec(features=features, mode=mode, labels=labels, train_op_fn=training.train_op, logits=logits)
    stop = StopAtAttemptsHook(num_finalized, num_layers, hparams.n_trees, hparams.max_depth)
    return spec._replace(
        training_hooks=(*spec.training_hooks, stop),
        training_chief_hooks=[GrowerInitializationHook(grower.chief_init_op()), *spec.training_chief_hooks],
    )


def explanations_fn(features: Any, head: Any, columns: list[Any], epsilon: float, name: str = "boosted_trees") -> EstimatorSpec:
    """The model function of predictions with explanations; arguments as `model_fn` has them."""
    with name_scope(name) as name:
        ensemble = TreeEnsemble(name=name)
        vectors = _Columns.made(columns, epsilon).vectors(features)
        spec = _inference_spec(features, None, ModeKeys.PREDICT, head, ensemble, vectors)
        spec.predictions[DEBUG_KEY] = raw.BoostedTreesExampleDebugOutputs(
            ensemble.resource_handle, vectors, logits_dimension=head.logits_dimension
        )
        return spec
