"""tf.contrib.learn.ops: embeddings, losses with their predictions, and sequence to sequence models of lists of Tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.losses import losses
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import concat, stack, unstack
from tfcompat._src.ops.array.shape import reshape, squeeze
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.binary import multiply
from tfcompat._src.ops.math.reduce import reduce_prod, reduce_sum
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.ops.nn import embedding
from tfcompat._src.ops.nn.bias import xw_plus_b
from tfcompat._src.ops.nn.softmax import softmax, softmax_cross_entropy_with_logits
from tfcompat._src.rnn.static import static_rnn
from tfcompat._src.variables.scope import get_variable, get_variable_scope, variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.learn.ops.embedding_lookup")
def embedding_lookup(params: TensorLike, ids: TensorLike, name: str | None = "embedding_lookup") -> Tensor:
    """The rows of `params` that ids of any shape point to.

    Args:
      params: Tensor [count, ...].
      ids: integer Tensor.
      name: of the operations.

    Returns:
      Tensor of the shape of `ids` and the rest of that of `params`.
    """
    with name_scope(name, "embedding_lookup", [params, ids]):
        params, ids = convert_to_tensor(params), convert_to_tensor(ids)
        sizes = shape_of(ids)
        flat = embedding.embedding_lookup(params, reshape(ids, reduce_prod(sizes, keepdims=True)), name)
        found = reshape(flat, concat([sizes, [-1]], 0))
        found.set_shape(ids.shape.concatenate(params.shape[1:]))
        return found


@export("contrib.learn.ops.categorical_variable")
def categorical_variable(tensor_in: TensorLike, n_classes: int, embedding_size: int, name: str) -> Tensor:
    """The embeddings of classes.

    Args:
      tensor_in: integer Tensor of classes.
      n_classes, embedding_size: shape of the variable `<name>/<name>_embeddings`.
      name: variable scope.
    """
    with variable_scope(name):
        return embedding_lookup(get_variable(f"{name}_embeddings", [n_classes, embedding_size]), tensor_in)


@export("contrib.learn.ops.mean_squared_error_regressor")
def mean_squared_error_regressor(
    tensor_in: TensorLike, labels: Tensor, weights: TensorLike, biases: TensorLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The predictions `tensor_in @ weights + biases`, and their mean squared error.

    Args:
      tensor_in: float Tensor [batch, features].
      labels: float Tensor [batch, outputs], or [batch] for one output.
      weights: float Tensor [features, outputs].
      biases: float Tensor [outputs].
      name: of the operations.
    """
    with name_scope(name, "mean_squared_error_regressor", [tensor_in, labels]):
        predictions = xw_plus_b(tensor_in, weights, biases)
        if len(labels.shape) == 1 and len(predictions.shape) == 2:
            predictions = squeeze(predictions, axis=[1])
        return predictions, losses.mean_squared_error(labels, predictions)


@export("contrib.learn.ops.softmax_classifier")
def softmax_classifier(
    tensor_in: TensorLike, labels: object, weights: TensorLike, biases: TensorLike, class_weight: object = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The probabilities of classes with logits `tensor_in @ weights + biases`, and their cross entropy.

    Args:
      tensor_in: float Tensor [batch, features].
      labels: float Tensor [batch, classes], one-hot.
      weights: float Tensor [features, classes].
      biases: float Tensor [classes].
      class_weight: float Tensor [classes] that the logits are multiplied by.
      name: of the operations.
    """
    with name_scope(name, "softmax_classifier", [tensor_in, labels]):
        logits = xw_plus_b(tensor_in, weights, biases)
        if class_weight is not None:
            logits = multiply(logits, class_weight)
        return softmax(logits), losses.softmax_cross_entropy(labels, logits)


@export("contrib.learn.ops.sequence_classifier")
def sequence_classifier(
    decoding: list[Tensor], labels: list[Tensor], sampling_decoding: list[Tensor] | None = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The probabilities of a sequence of classes, and the sum of the cross entropies.

    Args:
      decoding: float Tensors [batch, classes], logits.
      labels: as many Tensors [batch, classes].
      sampling_decoding: logits for the probabilities, by default `decoding`.
      name: of the operations.

    Returns:
      (float Tensor [batch, steps, classes], scalar).
    """
    with name_scope(name, "sequence_classifier", [decoding, labels]):
        predictions, entropies = [], []
        for i, logits in enumerate(decoding):
            entropies.append(
                softmax_cross_entropy_with_logits(labels=labels[i], logits=logits, name=f"sequence_loss/xent_raw{i}")
            )
            predictions.append(softmax(sampling_decoding[i] if sampling_decoding else logits))
        loss = reduce_sum(add_n(entropies, name="sequence_loss/xent"), name="sequence_loss")
        return stack(predictions, axis=1), loss


@export("contrib.learn.ops.seq2seq_inputs")
def seq2seq_inputs(
    x: TensorLike, y: TensorLike, input_length: int, output_length: int, sentinel: Tensor | None = None, name: str | None = None
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """The steps of x, and those of y after and before a sentinel.

    Args:
      x: Tensor [batch, input_length, depth].
      y: Tensor [batch, output_length, depth].
      input_length, output_length: the numbers of steps, which the shapes say too.
      sentinel: Tensor [batch, depth], by default zeros.
      name: of the operations.

    Returns:
      (inputs of the encoder, inputs of the decoder, outputs of the decoder).
    """
    with name_scope(name, "seq2seq_inputs", [x, y]):
        inputs, outputs = unstack(x, axis=1), unstack(y, axis=1)
        if sentinel is None:
            sentinel = zeros(stack([shape_of(x)[0], outputs[0].shape[1]]))
            sentinel.set_shape(outputs[0].shape)
        return inputs, [sentinel, *outputs], [*outputs, sentinel]


@export("contrib.learn.ops.rnn_decoder")
def rnn_decoder(
    decoder_inputs: list[Tensor], initial_state: Any, cell: Any, scope: object = None
) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Calls a cell on each input, and once more on its own outputs.

    Args:
      decoder_inputs: Tensors [batch, depth].
      initial_state: the cell's state.
      cell: RNNCell.
      scope: variable scope, "dnn_decoder" by default.

    Returns:
      (outputs, states, sampled outputs, sampled states).
    """
    with variable_scope(scope or "dnn_decoder"):
        outputs, states = [], [initial_state]
        with name_scope("training", values=[decoder_inputs, initial_state]):
            for i, each in enumerate(decoder_inputs):
                if i:
                    get_variable_scope().reuse_variables()
                output, state = cell(each, states[-1])
                outputs.append(output)
                states.append(state)
        sampled, sampled_states = outputs[:1], [initial_state, *states[: min(1, len(outputs))]]
        with name_scope("sampling", values=[initial_state]):
            for _ in decoder_inputs[1:]:
                output, state = cell(sampled[-1], sampled_states[-1])
                sampled.append(output)
                sampled_states.append(state)
    return outputs, states, sampled, sampled_states


@export("contrib.learn.ops.rnn_seq2seq")
def rnn_seq2seq(
    encoder_inputs: list[Tensor], decoder_inputs: list[Tensor], encoder_cell: object, decoder_cell: object = None,
    dtype: object = dtypes.float32, scope: object = None,
) -> tuple[list[Any], list[Any], list[Any], list[Any]]:  # fmt: skip
    """An encoder whose last state starts an `rnn_decoder`.

    Args:
      encoder_inputs, decoder_inputs: Tensors [batch, depth].
      encoder_cell, decoder_cell: RNNCells, by default the same one.
      dtype: of the encoder's first state.
      scope: variable scope, "rnn_seq2seq" by default.
    """
    with variable_scope(scope or "rnn_seq2seq"):
        _, state = static_rnn(encoder_cell, encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, decoder_cell or encoder_cell)
