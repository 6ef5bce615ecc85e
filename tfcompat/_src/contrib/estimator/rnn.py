"""tf.contrib.estimator: recurrent networks on columns of sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.feature_column.sequence import sequence_input_layer
from tfcompat._src.estimator.canned.optimizers import get_optimizer_instance
from tfcompat._src.estimator.canned.settings import check_features, model_fn_with, partitioner_of
from tfcompat._src.estimator.estimator import Estimator
from tfcompat._src.estimator.extenders import clip_gradients_by_norm
from tfcompat._src.estimator.heads.head import _binary_logistic_or_multi_class_head
from tfcompat._src.feature_column.input_layer import input_layer
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.layers.core import dense
from tfcompat._src.losses.losses import Reduction
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, tile
from tfcompat._src.ops.array.shape import expand_dims, reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.composed.check_ops import assert_type
from tfcompat._src.ops.composed.masks import sequence_mask
from tfcompat._src.ops.composed.rank_checks import assert_rank
from tfcompat._src.ops.math.cast import to_int64
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.rnn.basic_cells import BasicLSTMCell, BasicRNNCell, GRUCell
from tfcompat._src.rnn.cell import RNNCell
from tfcompat._src.rnn.dynamic import dynamic_rnn
from tfcompat._src.rnn.wrappers import MultiRNNCell
from tfcompat._src.summary.summary import histogram
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.variables.initializers import GlorotUniform
from tfcompat._src.variables.scope import variable_scope
from tfcompat._src.variables.training_util import get_global_step

USE_DEFAULT = object()
_CELL_TYPES = {"basic_rnn": BasicRNNCell, "lstm": BasicLSTMCell, "gru": GRUCell}
_LEARNING_RATE = 0.05
_CLIP_NORM = 5.0


def _cell_fn(num_units: Iterable[int], cell_type: Any) -> Callable:
    """The function from a mode to the cell of all layers."""

    def layer(units: int) -> RNNCell:
        kind = _CELL_TYPES.get(cell_type, cell_type)
        if not kind or not issubclass(kind, RNNCell):
            raise ValueError(f"Supported cell types are {list(_CELL_TYPES)}; got {kind}")
        return kind(num_units=units)

    def rnn_cell_fn(mode: str) -> RNNCell:
        cells = [layer(units) for units in num_units]
        return cells[0] if len(cells) == 1 else MultiRNNCell(cells)

    return rnn_cell_fn


def _chosen_cell_fn(rnn_cell_fn: Callable | None, num_units: Any, cell_type: Any) -> Callable:
    if rnn_cell_fn and (num_units or cell_type is not USE_DEFAULT):
        raise ValueError("num_units and cell_type must not be specified when using rnn_cell_fn")
    return rnn_cell_fn or _cell_fn(num_units, "basic_rnn" if cell_type is USE_DEFAULT else cell_type)


def _concatenate_context_input(sequence_input: Tensor, context_input: Tensor) -> Tensor:
    """[batch, time, n] and [batch, m] -> [batch, time, n + m]: the second at every step."""
    checks = []
    for name, tensor, rank in (("sequence_input", sequence_input, 3), ("context_input", context_input, 2)):
        checks.append(assert_rank(tensor, rank, message=f"{name} must have rank {rank}", data=[shape_of(tensor)]))
        message = f"{name} must have dtype float32; got {tensor.dtype}."
        checks.append(assert_type(tensor, dtypes.float32, message=message))
    with control_dependencies(checks):
        length = shape_of(sequence_input)[1]
        repeated = tile(expand_dims(context_input, 1), concat([[1], [length], [1]], 0))
    return concat([sequence_input, repeated], 2)


def _select_last_activations(activations: Tensor, sequence_lengths: Tensor | None) -> Tensor:
    """The last step of each sequence, [batch, units]."""
    with name_scope("select_last_activations", values=[activations, sequence_lengths]):
        sizes = shape_of(activations)
        batch, time, units = sizes[0], sizes[1], sizes[2]
        starts = to_int64(arange(batch) * time)
        last = starts + (time if sequence_lengths is None else sequence_lengths) - 1
        found = gather(reshape(activations, [batch * time, units]), last)
        found.set_shape([activations.shape[0], activations.shape[2]])
        return found


def _logits(
    features: dict[str, Any], mode: str, units: int, rnn_cell_fn: Callable, sequence_feature_columns: object,
    context_feature_columns: object, partitioner: Callable,
) -> Tensor:  # fmt: skip
    """The logits of sequences, from the last of their steps."""
    if not isinstance(units, int):
        raise ValueError(f"output_units must be an int.  Given type: {type(units)}")
    with variable_scope("sequence_input_layer", values=tuple(features.values()), partitioner=partitioner):
        inputs, lengths = sequence_input_layer(features=features, feature_columns=sequence_feature_columns)
        histogram("sequence_length", lengths)
        if context_feature_columns:
            context = input_layer(features=features, feature_columns=context_feature_columns)
            inputs = _concatenate_context_input(inputs, context)
    outputs, _ = dynamic_rnn(
        cell=rnn_cell_fn(mode), inputs=inputs, sequence_length=lengths, dtype=dtypes.float32, time_major=False
    )
    outputs = _select_last_activations(outputs, lengths)
    with variable_scope("logits", values=(outputs,)):
        logits = dense(outputs, units=units, activation=None, kernel_initializer=GlorotUniform())
    sequence_mask(lengths)  # a node of TensorFlow's graph, for heads of sequences
    return logits


def _rnn_model_fn(
    features: Any, labels: object, mode: str, head: Any, rnn_cell_fn: Callable, sequence_feature_columns: Any,
    context_feature_columns: Any, optimizer: object = "Adagrad",
    input_layer_partitioner: Callable | None = None, config: Any = None,
) -> Any:  # fmt: skip
    check_features(features)
    if not isinstance(optimizer, Optimizer):
        optimizer = clip_gradients_by_norm(get_optimizer_instance(optimizer, _LEARNING_RATE), _CLIP_NORM)
    with variable_scope("rnn", values=tuple(features.values()), partitioner=partitioner_of(config)):
        logits = _logits(
            features, mode, head.logits_dimension, rnn_cell_fn, sequence_feature_columns, context_feature_columns,
            input_layer_partitioner or partitioner_of(config, min_slice_size=64 << 20),
        )  # fmt: skip
        return head.create_estimator_spec(
            features=features, mode=mode, labels=labels, logits=logits,
            train_op_fn=lambda loss: optimizer.minimize(loss, global_step=get_global_step()),
        )  # fmt: skip


def _model_fn(sequence_feature_columns: Any, context_feature_columns: Any, **settings: Any) -> Callable:
    return model_fn_with(
        _rnn_model_fn, sequence_feature_columns=tuple(sequence_feature_columns or []),
        context_feature_columns=tuple(context_feature_columns or []), **settings,
    )  # fmt: skip


@export("contrib.estimator.RNNClassifier")
class RNNClassifier(Estimator):
    """A recurrent network that classifies sequences.

    Args:
      sequence_feature_columns: dense columns of sequences.
      context_feature_columns: dense columns that are given to every step.
      num_units: sizes of the layers.
      cell_type: "basic_rnn" (the default), "lstm", "gru" or a class of RNNCells.
      rnn_cell_fn: function from a mode to an RNNCell, in place of `num_units` and `cell_type`.
      model_dir: folder of the model.
      n_classes: number of classes.
      weight_column: name or numeric column of the examples' weights.
      label_vocabulary: names of the classes, where labels are strings.
      optimizer: tf.train.Optimizer, or the name of one, which has the rate 0.05 and gradients of norm 5 at most.
      loss_reduction: one of tf.losses.Reduction but NONE.
      input_layer_partitioner: partitioner of the embeddings.
      config: a RunConfig.

    Raises:
      ValueError: `rnn_cell_fn` comes with `num_units` or `cell_type`, or an argument is out of range.
    """

    def __init__(
        self, sequence_feature_columns, context_feature_columns=None, num_units=None, cell_type=USE_DEFAULT,
        rnn_cell_fn=None, model_dir=None, n_classes=2, weight_column=None, label_vocabulary=None, optimizer="Adagrad",
        loss_reduction=Reduction.SUM_OVER_BATCH_SIZE, input_layer_partitioner=None, config=None,
    ) -> None:  # fmt: skip
        cell_fn = _chosen_cell_fn(rnn_cell_fn, num_units, cell_type)
        head = _binary_logistic_or_multi_class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        model_fn = _model_fn(
            sequence_feature_columns, context_feature_columns, head=head, rnn_cell_fn=cell_fn, optimizer=optimizer,
            input_layer_partitioner=input_layer_partitioner,
        )  # fmt: skip
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)


@export("contrib.estimator.RNNEstimator")
class RNNEstimator(Estimator):
    """A recurrent network with a head; the other arguments are those of RNNClassifier.

    Args:
      head: a head.
      return_sequences: must be False: heads of sequences are not built.

    Raises:
      ValueError: as RNNClassifier, and where `return_sequences` is set.
    """

    def __init__(
        self, head, sequence_feature_columns, context_feature_columns=None, num_units=None, cell_type=USE_DEFAULT,
        rnn_cell_fn=None, return_sequences=False, model_dir=None, optimizer="Adagrad", input_layer_partitioner=None,
        config=None,
    ) -> None:  # fmt: skip
        cell_fn = _chosen_cell_fn(rnn_cell_fn, num_units, cell_type)
        if return_sequences:
            raise ValueError("Provided head must be a `_SequentialHead` object when `return_sequences` is set to True.")
        model_fn = _model_fn(
            sequence_feature_columns, context_feature_columns, head=head, rnn_cell_fn=cell_fn, optimizer=optimizer,
            input_layer_partitioner=input_layer_partitioner,
        )  # fmt: skip
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)
