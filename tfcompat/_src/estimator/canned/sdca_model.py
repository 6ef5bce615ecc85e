"""tf.contrib.linear_optimizer.SdcaModel: linear models trained by stochastic dual coordinate ascent (arXiv:1211.2717)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.estimator.canned.sharded_table import ShardedMutableDenseHashTable
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import colocate_with, control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, split
from tfcompat._src.ops.array.partition import dynamic_partition, dynamic_stitch
from tfcompat._src.ops.array.search import unique, where_v2
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.unary import sigmoid, square
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.ops.nn.loss import log_poisson_loss, sigmoid_cross_entropy_with_logits
from tfcompat._src.summary.summary import scalar
from tfcompat._src.variables.assign import assign_add, scatter_add
from tfcompat._src.variables.partitioned import PartitionedVariable
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_LOSSES = ("logistic_loss", "squared_loss", "hinge_loss", "smooth_hinge_loss", "poisson_loss")
_KINDS = ("sparse_features_weights", "dense_features_weights")
_FEATURES = ("sparse_features", "dense_features")


def _parts(variable: Any) -> list[Any]:
    """A variable's parts: itself where it is not divided."""
    return list(variable) if _is_divided(variable) else [variable]


def _is_divided(variable: object) -> bool:
    return isinstance(variable, (list, PartitionedVariable))


def _whole(variable: Any) -> Tensor:
    return convert_to_tensor(concat(list(variable), 0) if _is_divided(variable) else variable)


def _check(given: dict[str, Any], needed: tuple[str, ...], lists: tuple[str, ...]) -> None:
    for name in needed:
        if given[name] is None:
            raise ValueError(f"{name} must be specified.")
    for name in lists:
        if not isinstance(given[name], list):
            raise ValueError(f"{name} must be a list.")


class _Rows:
    """Some rows of a weight, which may be divided among variables by contiguous rows."""

    def __init__(self, weight: object, rows: Tensor) -> None:
        self.parts, self.rows = _parts(weight), rows
        if len(self.parts) > 1 or _is_divided(weight):
            self._divide()
        else:
            self.values = gather(convert_to_tensor(weight), rows)

    def _divide(self) -> None:
        count = len(self.parts)
        total = reduce_sum(cast(raw.Pack([shape(p)[0] for p in self.parts]), dtypes.int64))
        size, rest = total // count, total % count
        self.shard = maximum(self.rows // (size + 1), (self.rows - rest) // size)
        local = where_v2(self.shard < rest, self.rows % (size + 1), (self.rows - rest) % size)
        self.shard = cast(self.shard, dtypes.int32)
        self.local = dynamic_partition(local, self.shard, count)
        found = []
        for part, local in zip(self.parts, self.local):
            with colocate_with(part):
                found.append(gather(convert_to_tensor(part), local))
        places = dynamic_partition(arange(shape(self.rows)[0]), self.shard, count)
        self.values = dynamic_stitch(places, found)

    def add(self, updates: Tensor) -> list[Any]:
        """The operations that add to these rows."""
        if not hasattr(self, "shard"):
            return [scatter_add(self.parts[0], self.rows, updates)]
        divided = dynamic_partition(updates, self.shard, len(self.parts))
        return [scatter_add(*each) for each in zip(self.parts, self.local, divided)]


@export("contrib.linear_optimizer.SdcaModel")
class SdcaModel:
    """A linear model with L1 and L2 regularization, trained by stochastic dual coordinate ascent.

    `minimize` updates slots, from which `update_weights` makes the weights.

    Args:
      examples: a dict of `sparse_features` (a list of SparseFeatureColumn), `dense_features` (a list of float32 matrices),
        `example_labels` and `example_weights` (float32 vectors) and `example_ids` (a string vector of known size).
      variables: a dict of `sparse_features_weights` and `dense_features_weights`: lists of vectors, or lists of their parts.
      options: a dict of `loss_type` ("logistic_loss", "squared_loss", "hinge_loss", "smooth_hinge_loss" or "poisson_loss"),
        `symmetric_l1_regularization`, `symmetric_l2_regularization` (at least 1 is used in training) and, not needed,
        `num_loss_partitions` (models that are trained at once; 1), `num_table_shards` (1) and `adaptive` (examples with a
        large gap are taken more often; True).

    Raises:
      ValueError: something is missing or no list, an unknown loss, or a negative regularization.
    """

    _SLOT = "_unshrinked/SDCAOptimizer"

    def __init__(self, examples: dict[str, Any], variables: dict[str, Any], options: dict[str, Any]) -> None:
        if not examples or not variables or not options:
            raise ValueError("examples, variables and options must all be specified.")
        if options["loss_type"] not in _LOSSES:
            raise ValueError("Unsupported loss_type: ", options["loss_type"])
        _check(examples, ("example_labels", "example_weights", "example_ids", *_FEATURES), _FEATURES)
        _check(variables, _KINDS, _KINDS)
        _check(options, ("loss_type", "symmetric_l2_regularization", "symmetric_l1_regularization"), ())
        for name in ("symmetric_l1_regularization", "symmetric_l2_regularization"):
            if options[name] < 0.0:
                raise ValueError(f"{name} should be non-negative. Found ({options[name]:f})")
        self._examples, self._variables, self._options = examples, variables, options
        self._slots = {kind: [self._slot(v) for v in variables[kind]] for kind in _KINDS}
        self._hashtable = ShardedMutableDenseHashTable(
            dtypes.int64, dtypes.float32, [0.0, 0.0, 0.0, 0.0], [0, 0], [1, 1], options.get("num_table_shards") or 1
        )
        scalar("approximate_duality_gap", self.approximate_duality_gap())
        scalar("examples_seen", self._hashtable.size())

    def _slot(self, variable: object) -> Any:
        """What is trained for a variable: a variable, or a list of them where it is divided."""
        slots = []
        for part in _parts(variable):
            with colocate_with(part):
                initial = raw.ZerosLike(part.initialized_value())
                slots.append(Variable(cast(initial, dtypes.float32), name=part.op.name + self._SLOT))
        return slots if _is_divided(variable) else slots[0]

    def _all_parts(self) -> list[Any]:
        return [part for kind in _KINDS for v in self._variables[kind] for part in _parts(v)]

    def _training_l2(self) -> float:
        return max(self._options["symmetric_l2_regularization"], 1.0)

    def _l1_loss(self) -> Tensor:
        with name_scope("sdca/l1_loss"):
            sums = [reduce_sum(abs(cast(convert_to_tensor(v), dtypes.float64))) for v in self._all_parts()]
            return self._options["symmetric_l1_regularization"] * add_n(sums)

    def _l2_loss(self, l2: float) -> Tensor:
        with name_scope("sdca/l2_loss"):
            sums = [reduce_sum(square(cast(convert_to_tensor(v), dtypes.float64))) for v in self._all_parts()]
            return l2 * add_n(sums) / 2.0

    def _linear_predictions(self, examples: dict[str, Any]) -> Tensor:
        """The products of weights and features, a vector."""
        with name_scope("sdca/prediction"):
            total: Any = 0.0
            for column, weight in zip(examples["sparse_features"], self._variables["sparse_features_weights"]):
                terms = gather(_whole(weight), column.feature_indices)
                if column.feature_values is not None:
                    terms *= column.feature_values
                total += raw.SegmentSum(terms, column.example_indices)
            dense: Any = 0.0
            for matrix, weight in zip(examples["dense_features"], self._variables["dense_features_weights"]):
                dense += matmul(convert_to_tensor(matrix), expand_dims(_whole(weight), -1))
        return reshape(dense, [-1]) + total

    def predictions(self, examples: dict[str, Any]) -> Tensor:
        """What the model predicts: probabilities for the logistic loss, rates for Poisson's, else products.

        Args:
          examples: a dict of `sparse_features`, `dense_features` and `example_weights`.

        Raises:
          ValueError: something is missing or no list.
        """
        _check(examples, ("example_weights", *_FEATURES), _FEATURES)
        found = self._linear_predictions(examples)
        if self._options["loss_type"] == "logistic_loss":
            with name_scope("sdca/logistic_prediction"):
                return sigmoid(found)
        if self._options["loss_type"] == "poisson_loss":
            with name_scope("sdca/poisson_prediction"):
                return raw.Exp(found)
        return found

    def minimize(self, global_step: TensorLike | None = None, name: str | None = None) -> Operation:
        """The operation that trains on the examples once.

        Args:
          global_step: a variable that counts, or None.
          name: name scope.
        """
        with name_scope(name, "sdca/minimize"):
            columns = self._examples["sparse_features"]
            keys = raw.SdcaFprint(convert_to_tensor(self._examples["example_ids"]))
            rows = []
            for weight, column in zip(self._slots["sparse_features_weights"], columns):
                used = unique(cast(column.feature_indices, dtypes.int32))[0]
                rows.append(_Rows(weight, cast(used, dtypes.int64)))
            state, sparse, dense = raw.SdcaOptimizerV2(
                [c.example_indices for c in columns], [c.feature_indices for c in columns],
                [c.feature_values for c in columns if c.feature_values is not None],
                [_whole(t) for t in self._examples["dense_features"]],
                convert_to_tensor(self._examples["example_weights"]), convert_to_tensor(self._examples["example_labels"]),
                [r.rows for r in rows], [r.values for r in rows],
                [_whole(w) for w in self._slots["dense_features_weights"]], self._hashtable.lookup(keys),
                loss_type=self._options["loss_type"], l1=self._options["symmetric_l1_regularization"], l2=self._training_l2(),
                num_loss_partitions=self._options.get("num_loss_partitions", 1), num_inner_iterations=1,
                adaptive=self._options.get("adaptive", True),
            )  # fmt: skip
            with control_dependencies([state]):
                updates: list[Any] = [self._hashtable.insert(keys, state)]
                for each, update in zip(rows, sparse):
                    updates += each.add(update)
                for weight, update in zip(self._slots["dense_features_weights"], dense):
                    updates += self._added(weight, update)
            if global_step is None:
                return group(*updates)
            with control_dependencies(updates):
                return assign_add(global_step, 1, name=name).op

    @staticmethod
    def _added(weight: object, update: Tensor) -> list[Any]:
        parts = _parts(weight)
        updates = split(update, [p.shape.as_list()[0] for p in parts]) if _is_divided(weight) else [update]
        return [assign_add(*each) for each in zip(parts, updates)]

    def update_weights(self, train_op: Operation) -> Operation:
        """The operation that makes the weights from what was trained, after `train_op` (what `minimize` gives)."""
        with control_dependencies([train_op]):
            slots = [part for kind in _KINDS for v in self._slots[kind] for part in _parts(v)]
            assigned = [variable.assign(slot) for variable, slot in zip(self._all_parts(), slots)]
        with control_dependencies(assigned):
            l1, l2 = self._options["symmetric_l1_regularization"], self._training_l2()
            return group(*(self._shrink(v, l1, l2) for v in self._all_parts()))

    @staticmethod
    def _shrink(variable: Any, l1: float, l2: float) -> Operation:
        """Moves a variable towards 0 by `l1 / l2`."""
        if variable.dtype._is_ref_dtype:
            return raw.SdcaShrinkL1([variable._variable], l1=l1, l2=l2)
        value = variable.read_value()
        return variable.assign(raw.Sign(value) * maximum(abs(value) - l1 / l2, 0.0)).op

    def approximate_duality_gap(self) -> Tensor:
        """The gap between primal and dual objective, per example: what was noted when each example was taken last."""
        with name_scope("sdca/approximate_duality_gap"):
            _, tables = self._hashtable.export_sharded()
            _, primal, dual, weights = raw.Unpack(add_n([reduce_sum(cast(t, dtypes.float64), 0) for t in tables]), num=4)
            return (primal + dual + self._l1_loss() + 2.0 * self._l2_loss(self._training_l2())) / weights

    def unregularized_loss(self, examples: dict[str, Any]) -> Tensor:
        """The weighted mean loss of examples, a float64 scalar.

        Args:
          examples: a dict as that of the model, without `example_ids`.

        Raises:
          ValueError: something is missing or no list.
        """
        _check(examples, ("example_labels", "example_weights", *_FEATURES), _FEATURES)
        with name_scope("sdca/unregularized_loss"):
            predictions = cast(self._linear_predictions(examples), dtypes.float64)
            labels, weights = (
                cast(convert_to_tensor(examples[key]), dtypes.float64) for key in ("example_labels", "example_weights")
            )
            return reduce_sum(self._losses(labels, predictions) * weights) / reduce_sum(weights)

    def _losses(self, labels: Tensor, predictions: Tensor) -> Tensor:
        kind = self._options["loss_type"]
        if kind == "logistic_loss":
            return sigmoid_cross_entropy_with_logits(labels=labels, logits=predictions)
        if kind == "poisson_loss":
            return log_poisson_loss(targets=labels, log_input=predictions)
        if kind == "squared_loss":
            return square(labels - predictions) / 2.0
        return relu(1.0 - (2.0 * labels - 1.0) * predictions)

    def regularized_loss(self, examples: dict[str, Any]) -> Tensor:
        """`unregularized_loss` and the penalties of the weights over the sum of example weights."""
        _check(examples, ("example_labels", "example_weights", *_FEATURES), _FEATURES)
        with name_scope("sdca/regularized_loss"):
            weights = reduce_sum(cast(convert_to_tensor(examples["example_weights"]), dtypes.float64))
            penalty = self._l1_loss() + self._l2_loss(self._options["symmetric_l2_regularization"])
            return penalty / weights + self.unregularized_loss(examples)
