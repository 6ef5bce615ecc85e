"""CTC loss of dense labels by the batched forward-backward algorithm (Sim et al., ASRU 2017), in log space.

A sequence of L labels has 2 * (L + 1) states: the start and its L labels first, then for each of these the blank that follows it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.gradients.custom_gradient import custom_gradient
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.fill import fill, ones, zeros, zeros_like
from tfcompat._src.ops.array.gather import gather, one_hot
from tfcompat._src.ops.array.inplace import alias_inplace_add, alias_inplace_update, empty
from tfcompat._src.ops.array.join import concat, stack, tile
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.scatter import scatter_nd
from tfcompat._src.ops.array.search import unique, where
from tfcompat._src.ops.array.shape import expand_dims, reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.composed.eye import eye
from tfcompat._src.ops.composed.masks import sequence_mask
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.reduce import reduce_logsumexp, reduce_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.unary import exp, log
from tfcompat._src.ops.nn.ctc import ctc_loss
from tfcompat._src.ops.nn.ctc_labels import size_along
from tfcompat._src.ops.nn.softmax import log_softmax
from tfcompat._src.variables.functional import map_fn

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_TINY = 1e-307
"""Added before a logarithm, in place of probability 0."""


def _scan(
    fn: Callable, elems: object, initial: object, reverse: bool = False, inclusive: bool = False, final_only: bool = False
) -> Any:
    """Returns the accumulators `acc = fn(acc, element)` after each element, without a gradient.

    Args:
      fn: function of accumulators and an element, each in its structure.
      elems: tensors [n, ...].
      initial: the first accumulators.
      reverse: whether to begin with the last element.
      inclusive: whether the result contains the initial accumulators.
      final_only: whether only the last accumulators are returned.
    """
    flat_elems = [convert_to_tensor(x) for x in nest.flatten(elems)]
    start = [convert_to_tensor(x) for x in nest.flatten(initial)]
    count = shape_of(flat_elems[0])[0]
    first = count - 1 if reverse else constant(0, dtype=dtypes.int32)
    outputs = []
    for value in () if final_only else start:
        # The results are written in place, row by row: a loop that stacked them would copy all rows in each iteration.
        output = empty(concat([[count + int(inclusive)], shape_of(value)], 0), dtype=value.dtype, init=True)
        outputs.append(alias_inplace_add(output, first + int(reverse), value) if inclusive else output)

    def body(i: Tensor, *values: Tensor) -> list:
        kept, state = values[: len(outputs)], values[len(outputs) :]
        rows = [gather(x, i) for x in flat_elems]
        accumulated = fn(nest.pack_sequence_as(initial, list(state)), nest.pack_sequence_as(elems, rows))
        after = [convert_to_tensor(x) for x in nest.flatten(accumulated)]
        for new, old in zip(after, state):
            new.set_shape(old.shape)
        row = i + 1 if inclusive and not reverse else i
        kept = [alias_inplace_update(x, row, y) for x, y in zip(kept, after)]
        return [i - 1 if reverse else i + 1, *kept, *after]

    results = while_loop(
        lambda i, *_: i >= 0 if reverse else i < count, body, [first, *outputs, *start], back_prop=False, parallel_iterations=1
    )[1:]
    return nest.pack_sequence_as(initial, list(results[: len(start)]))


@export("nn.ctc_unique_labels")
def ctc_unique_labels(labels: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Returns the distinct labels of each sequence, for the argument `unique` of `tf.nn.ctc_loss_v2`.

    Args:
      labels: Tensor [batch, time].
      name: name scope.

    Returns:
      int64 [batch, time], the distinct labels padded with 0, and int32 [batch, time], the index of each label among them.
    """
    with name_scope(name, "ctc_unique_labels", [labels]):
        labels = convert_to_tensor(labels, name="labels")

        def row(x: Tensor) -> list[Tensor]:
            distinct, positions = unique(x)
            filled = pad(distinct, [[0, size_along(positions, 0) - size_along(distinct, 0)]])
            return [cast(filled, dtypes.int64), positions]

        return map_fn(row, labels, dtype=[dtypes.int64, dtypes.int32])


# ---- the model of states ----


def _ctc_state_trans(label_seq: TensorLike) -> Tensor:
    """Returns which state may follow which, [batch, states (to), states (from)]: 1 or 0."""
    with name_scope("ctc_state_trans"):
        label_seq = convert_to_tensor(label_seq, name="label_seq")
        batch, count = size_along(label_seq, 0), size_along(label_seq, 1) + 1
        labels = arange(count)
        blanks = labels + count
        # For all sequences: a label follows the blank before it, a blank the label before it, the first label the start; any state may repeat.
        to_label = stack([labels[1:], blanks[:-1]], 1)
        to_blank = stack([blanks, labels], 1)
        moves = concat([[[1, 0]], to_label, to_blank], 0)
        fixed = scatter_nd(moves, ones([size_along(moves, 0)]), shape=[2 * count, 2 * count]) + eye(2 * count)
        # For each sequence: a label directly follows the previous one only if they differ; equal labels need a blank between them.
        between = stack([zeros_like(labels[2:]), labels[2:], labels[1:-1]], 1)
        between = tile(expand_dims(between, 0), [batch, 1, 1])
        between += expand_dims(expand_dims(arange(batch), 1) * [1, 0, 0], 1)
        differs = 1.0 - cast(equal(label_seq[:, :-1], label_seq[:, 1:]), dtypes.float32)
        label_to_label = scatter_nd(between, differs, [batch, 2 * count, 2 * count])
        return expand_dims(fixed, 0) + label_to_label


def ctc_state_log_probs(seq_lengths: Any, max_seq_length: Any) -> tuple[Tensor, Tensor]:
    """Returns log probabilities [batch, states] of beginning in each state (the start), and of ending in it (last label or last blank)."""
    batch, count = size_along(seq_lengths, 0), max_seq_length + 1
    never = cast(log(cast(0, dtypes.float64) + _TINY), dtypes.float32)
    first = one_hot(zeros([batch], dtype=dtypes.int32), depth=2 * count, on_value=0.0, off_value=never, axis=1)
    # The last label and the blank after it have the same index in the two halves of the states.
    is_last = ones([2, 1, batch]) * one_hot(seq_lengths, depth=count, axis=0)
    last = reshape((1.0 - is_last) * never, [2 * count, batch])
    return first, transpose(last)


def _ilabel_to_state(labels: Any, num_labels: TensorLike, ilabel_log_probs: Any) -> Tensor:
    """Returns log probabilities [time, batch, states] of emitting each frame in each state, from those of the classes."""
    blank = tile(ilabel_log_probs[:, :, :1], [1, 1, size_along(labels, 1) + 1])
    chosen = expand_dims(one_hot(labels, depth=num_labels), axis=0)
    of_labels = reduce_sum(expand_dims(ilabel_log_probs, axis=2) * chosen, axis=3)
    # The start emits nothing.
    return pad(concat([of_labels, blank], axis=2), [[0, 0], [0, 0], [1, 0]], constant_values=log(0.0))


def _state_to_olabel(labels: Any, num_labels: Any, states: Any) -> Tensor:
    """Returns log probabilities [time, batch, classes] from those of the states: the sum over all states that emit a class."""
    count = size_along(labels, 1) + 1
    # One-hot without the blank's class: label 0, which is padding, selects nothing.
    chosen = one_hot(labels - 1, depth=num_labels - 1, on_value=0.0, off_value=log(0.0))
    of_states = expand_dims(states[:, :, 1:count], axis=3)
    of_labels = reduce_logsumexp(of_states + expand_dims(chosen, axis=0), axis=2)
    blank = reduce_logsumexp(states[:, :, count:], axis=2, keepdims=True)
    return concat([blank, of_labels], axis=-1)


def _sum_states(idx: TensorLike, states: Any) -> Tensor:
    """Returns log sums [time, batch, n] of the probabilities [time, batch, n] of states with the same index."""
    with name_scope("sum_states"):
        idx = convert_to_tensor(idx, name="idx")
        count = size_along(states, 2)
        chosen = one_hot(idx, depth=count, on_value=0.0, off_value=log(0.0), axis=1)
        return reduce_logsumexp(expand_dims(states, axis=2) + chosen, axis=-1)


def _state_to_olabel_unique(labels: Any, num_labels: object, states: Any, unique: Any) -> Tensor:
    """`_state_to_olabel` with one sum for each distinct label of a sequence, which needs less memory if there are many classes."""
    count = size_along(labels, 1) + 1
    distinct, positions = unique
    # Equal labels of a sequence add up first; the sums of its distinct labels then go to their classes.
    sums = _sum_states(positions, states[:, :, 1:count])
    time, batch = size_along(states, 0), size_along(states, 1)
    rows = reshape(transpose(sums, perm=[1, 2, 0]), [batch * (count - 1), time])
    # Rows of all sequences are scattered into one matrix, where each sequence has `num_labels` rows.
    starts = arange(batch, dtype=distinct.dtype) * num_labels
    indices = reshape(distinct + expand_dims(starts, axis=-1), [-1, 1])
    of_labels = scatter_nd(indices=indices, updates=rows, shape=[batch * num_labels, time])
    of_labels = reshape(of_labels, [batch, num_labels, time])
    of_labels = where(equal(of_labels, 0.0), fill(shape_of(of_labels), log(0.0)), of_labels)
    blank = reduce_logsumexp(states[:, :, count:], axis=2, keepdims=True)
    return concat([blank, transpose(of_labels, [2, 0, 1])[:, :, 1:]], axis=-1)


# ---- forward and backward ----


def _forward_backward_log(
    state_trans_log_probs: Tensor, initial_state_log_probs: Tensor, final_state_log_probs: Tensor, observed_log_probs: Tensor,
    sequence_length: TensorLike,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Returns log probabilities [time, batch, states] of being in each state, and log likelihoods [batch] of the sequences.

    Args:
      state_trans_log_probs: [states, states] or [batch, states, states], to and from.
      initial_state_log_probs, final_state_log_probs: [batch, states].
      observed_log_probs: [time, batch, states].
      sequence_length: int [batch].

    Raises:
      ValueError: the transitions have another rank.
    """
    rank = state_trans_log_probs.shape.ndims
    if rank not in (2, 3):
        raise ValueError(f"state_trans_log_probs rank must be known and == 2 or 3, is: {rank}")
    # Backwards, a state leads to those that it came from.
    back_log_probs = transpose(state_trans_log_probs, [1, 0] if rank == 2 else [0, 2, 1])
    batch = size_along(observed_log_probs, 1)

    # Both recursions normalize each step, so that long sequences do not underflow; `total` adds up the normalizers, whose sum is the
    # log likelihood. Beyond a sequence's end the backward recursion stays at the final state.
    def forward(state: Tensor, seen: Tensor) -> Tensor:
        state = reduce_logsumexp(expand_dims(state, axis=1) + state_trans_log_probs, axis=-1) + seen
        return state - reduce_logsumexp(state, axis=-1, keepdims=True)

    def backward(accumulated: tuple, element: tuple) -> tuple:
        (state, total), (seen, inside) = accumulated, element
        state = reduce_logsumexp(expand_dims(state + seen, axis=1) + back_log_probs, axis=-1)
        norm = reduce_logsumexp(state, axis=-1, keepdims=True)
        total += reshape(norm, [batch]) * inside
        weight = expand_dims(inside, axis=1)
        return (state - norm) * weight + final_state_log_probs * (1.0 - weight), total

    ahead = _scan(forward, observed_log_probs, initial_state_log_probs, inclusive=True)
    mask = transpose(sequence_mask(sequence_length, size_along(observed_log_probs, 0), dtypes.float32), perm=[1, 0])
    behind, total = _scan(
        backward, (observed_log_probs, mask), (final_state_log_probs, zeros([batch])), reverse=True, inclusive=True
    )
    # Posteriors: forward times backward, normalized for each frame; frames after the end have probability 0.
    joint = ahead[1:] + behind[1:]
    joint -= reduce_logsumexp(joint, axis=2, keepdims=True)
    joint += log(expand_dims(mask, axis=2))
    return joint, behind[0, :, 0] + total[0]


def ctc_loss_and_grad(logits: Any, labels: Any, label_length: Any, logit_length: TensorLike, unique: object = None) -> tuple[Tensor, Tensor]:
    """Returns the loss [batch] and its gradient with respect to logits [time, batch, classes]; the blank is class 0.

    The gradient is the difference of the classes' probabilities and their expected counts (Graves et al., 2006, equation 16).
    """
    classes = size_along(logits, 2)
    log_probs = log_softmax(logits)
    observed = _ilabel_to_state(labels, classes, log_probs)
    moves = log(_ctc_state_trans(labels))
    first, last = ctc_state_log_probs(label_length, size_along(labels, 1))
    states, likelihood = _forward_backward_log(moves, first, last, observed, logit_length)
    if unique:
        expected = _state_to_olabel_unique(labels, classes, states, unique)
    else:
        expected = _state_to_olabel(labels, classes, states)
    return -likelihood, exp(log_probs) - exp(expected)


def ctc_loss_dense(
    labels: object, logits: object, label_length: object, logit_length: object, logits_time_major: bool = True, unique: Any = None,
    blank_index: int = 0, name: str | None = None,
) -> Tensor:  # fmt: skip
    """`ctc_loss_v2` for dense labels."""
    with name_scope(name, "ctc_loss_dense", [logits, labels, label_length, logit_length]):
        logits, labels = convert_to_tensor(logits, name="logits"), convert_to_tensor(labels, name="labels")
        label_length = convert_to_tensor(label_length, name="label_length")
        logit_length = convert_to_tensor(logit_length, name="logit_length")
        if not logits_time_major:
            logits = transpose(logits, perm=[1, 0, 2])
        if blank_index != 0:
            blank_index += size_along(logits, 2) if blank_index < 0 else 0
            # The blank moves to class 0, and the classes before it by one.
            parts = [logits[:, :, blank_index : blank_index + 1], logits[:, :, :blank_index], logits[:, :, blank_index + 1 :]]
            logits, labels = concat(parts, axis=2), where(labels < blank_index, labels + 1, labels)
        arguments = [logits, labels, label_length, logit_length, *(unique or ())]

        @custom_gradient
        def loss(*given: Tensor) -> tuple[Tensor, Callable]:
            losses, gradient = ctc_loss_and_grad(*given[:4], unique=given[4:])

            def grad(upstream: Tensor) -> list:
                return [reshape(upstream, [1, -1, 1]) * gradient] + [None] * (len(given) - 1)

            return losses, grad

        return loss(*arguments)


@export("nn.ctc_loss_v2")
def ctc_loss_v2(
    labels: TensorLike, logits: Any, label_length: TensorLike, logit_length: TensorLike, logits_time_major: bool = True, unique: object = None,
    blank_index: int | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Returns the CTC loss of dense or sparse labels (Graves et al., 2006).

    Args:
      labels: int [batch, labels] padded with 0, or an int32 SparseTensor.
      logits: float [time, batch, classes]; without `logits_time_major` [batch, time, classes].
      label_length: int [batch]; not used for a SparseTensor.
      logit_length: int [batch].
      logits_time_major: whether time is the first dimension.
      unique: the result of `tf.nn.ctc_unique_labels(labels)`, or None.
      blank_index: the class of the blank, 0 by default; negative numbers count from the end. Required with a SparseTensor.
      name: name scope.

    Returns:
      float [batch].

    Raises:
      ValueError: a SparseTensor without `blank_index`.
    """
    if not isinstance(labels, SparseTensor):
        return ctc_loss_dense(
            labels, logits, label_length, logit_length, logits_time_major, unique, 0 if blank_index is None else blank_index, name
        )
    if blank_index is None:
        raise ValueError("blank_index must be given when using SparseTensor labels.")
    blank_index += size_along(logits, 2) if blank_index < 0 else 0
    # The op for sparse labels has the blank as its last class.
    if blank_index != size_along(logits, 2) - 1:
        before, after = logits[:, :, :blank_index], logits[:, :, blank_index + 1 :]
        logits = concat([before, after, logits[:, :, blank_index : blank_index + 1]], axis=2)
        values = where(labels.values < blank_index, labels.values, labels.values - 1)
        labels = SparseTensor(labels.indices, values, labels.dense_shape)
    return ctc_loss(labels=labels, inputs=logits, sequence_length=logit_length, time_major=logits_time_major)
