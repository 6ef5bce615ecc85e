"""Connectionist temporal classification: the loss and the decoders."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import invalid
from tfcompat._src.ops.nn import ctc_beam_search
from tfcompat._src.ops.nn.ctc_kernel import loss_and_gradient

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.graph.shape_inference import InferenceContext

_NO_SECOND = (
    "Currently there is no way to take the second  derivative of ctc_loss due to the fused implementation's "
    "interaction  with tf.gradients()"
)

# ---- loss ----


def _loss_shape(c: InferenceContext) -> list:
    inputs, count = si.with_rank(c.inputs[0], 3), si.with_rank(c.inputs[1], 2)[0]
    si.merge_size(count, si.with_rank(c.inputs[2], 1)[0])
    batch = si.merge_size(inputs[1], si.with_rank(c.inputs[3], 1)[0])
    return [(batch,), (inputs[0], batch, inputs[2])]


def _loss_gradient(op: Operation, grad_loss: TensorLike, _: object) -> list:
    gradient = raw.PreventGradient(op.outputs[1], message=_NO_SECOND)
    return [raw.ExpandDims(grad_loss, -1) * gradient, None, None, None]


def _require(ok: object, text: str) -> None:
    if not ok:
        raise invalid(text)


def _check_loss_inputs(inputs: np.ndarray, indices: np.ndarray, values: np.ndarray, lengths: np.ndarray) -> None:
    _require(inputs.ndim == 3, "inputs is not a 3-Tensor")
    _require(lengths.ndim == 1, "sequence_length is not a vector")
    _require(indices.ndim == 2, "labels_indices is not a matrix")
    columns = indices.shape[1]
    _require(columns > 1, f"labels_indices second dimension must be >= 1. Received {columns}")
    _require(columns == 2, "Order length must be SparseTensor rank.")
    _require(values.ndim == 1, "labels_values is not a vector")
    time, batch, _ = inputs.shape
    _require(time, "Max time or first dimension of input cannot be 0.")
    found = f"len(sequence_length):  {len(lengths)} batch_size: {batch}"
    _require(batch == len(lengths), f"len(sequence_length) != batch_size.  {found}")
    shapes = f"{shape_text(indices.shape)} vs. {shape_text(values.shape)}"
    rows = f"labels_indices and labels_values must contain the same number of rows, but saw shapes: {shapes}"
    _require(len(indices) == len(values), rows)
    _require(batch, "batch_size must not be 0")
    _check_indices(indices, (batch, int(indices[:, 1].max(initial=-1)) + 1))
    for b, length in enumerate(lengths.tolist()):
        _require(length <= time, f"sequence_length({b}) <= {time}")
        _require(length >= 0, f"seq_len({b}) < 0")


def _check_indices(indices: np.ndarray, sizes: tuple[int, int]) -> None:
    prefix, rows = "label SparseTensor is not valid: ", indices.tolist()
    for n, (before, row) in enumerate(zip([None, *rows], rows)):
        place = f"{prefix}indices[{n}] = [{','.join(map(str, row))}]"
        inside = all(0 <= i < size for i, size in zip(row, sizes))
        _require(inside, f"{place} is out of bounds: need 0 <= index < [{sizes[0]},{sizes[1]}]")
        _require(row != before, f"{place} is repeated")
        order = "Many sparse ops require sorted indices.\n    Use `tf.sparse.reorder` to create a correctly ordered copy."
        _require(before is None or row > before, f"{place} is out of order. {order}\n\n")


def _labels_of(
    given: list[int], b: int, num_classes: int, length: int, collapse_repeated: bool, ignore_longer: bool
) -> list[int]:
    """The labels of one sequence without the null labels at its end."""
    _require(given, f"Labels length is zero in batch {b}")
    shown = ",".join(map(str, given))
    kept = [key for key, _ in itertools.groupby(given)] if collapse_repeated else given
    labels = list(itertools.takewhile(lambda label: label < num_classes - 1, kept))
    rest = kept[len(labels) :]
    is_clean = all(label >= num_classes - 1 for label in rest)
    seen = f"labels: {shown} labels seen so far: {','.join(map(str, labels))}"
    _require(
        is_clean,
        "Saw a non-null label (index >= num_classes - 1) following a null label, "
        f"batch: {b} num_classes: {num_classes} {seen}",
    )
    labels_text = ",".join(map(str, labels))
    _require(
        all(label >= 0 for label in labels),
        f"All labels must be nonnegative integers, batch: {b} labels: {labels_text}",
    )
    _require(
        ignore_longer or len(given) <= length,
        f"Not enough time for target transition sequence (required: {len(given)}, available: {length}){b}"
        "You can turn this error into a warning by using the flag ignore_longer_outputs_than_inputs",
    )
    return labels


@op(
    "CTCLoss",
    "(inputs: T, labels_indices: int64, labels_values: int32, sequence_length: int32, *, "
    "preprocess_collapse_repeated: bool = False, ctc_merge_repeated: bool = True, "
    "ignore_longer_outputs_than_inputs: bool = False, T: {float32, float64} = float32) -> (loss: T, gradient: T)",
    shape=_loss_shape, gradient=_loss_gradient, side=HOST,
)  # fmt: skip
def _ctc_loss(
    inputs, indices, values, lengths, *, preprocess_collapse_repeated, ctc_merge_repeated,
    ignore_longer_outputs_than_inputs,
):  # fmt: skip
    _check_loss_inputs(inputs, indices, values, lengths)
    num_classes, used = inputs.shape[2], lengths.copy()
    given: list[list[int]] = [[] for _ in lengths]
    for b, value in zip(indices[:, 0].tolist(), values.tolist()):
        given[b].append(value)
    labels = []
    for b, sequence in enumerate(given):
        labels.append(
            _labels_of(
                sequence, b, num_classes, int(lengths[b]), preprocess_collapse_repeated, ignore_longer_outputs_than_inputs
            )
        )
        if len(sequence) > lengths[b]:
            used[b] = 0
    return loss_and_gradient(inputs, labels, used, ctc_merge_repeated)


@export("nn.ctc_loss")
def ctc_loss(
    labels: object, inputs: TensorLike | None = None, sequence_length: TensorLike | None = None, preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True, ignore_longer_outputs_than_inputs: bool = False, time_major: bool = True,
    logits: object = None,
) -> Tensor:  # fmt: skip
    """Minus the log probability that the frames spell the labels: Graves et al., "Connectionist Temporal Classification", 2006.

    Args:
      labels: int32 SparseTensor [batch, labels]; labels are below `num_classes - 1`.
      inputs: float Tensor [time, batch, num_classes] (batch first without `time_major`) before softmax; the last class
        is the blank.
      sequence_length: int32 [batch], the number of frames.
      preprocess_collapse_repeated: whether equal neighbours among the labels are merged first.
      ctc_merge_repeated: whether a label seen in successive frames counts once.
      ignore_longer_outputs_than_inputs: whether a sequence with more labels than frames has no loss and no gradient.
      time_major: whether time is the first dimension of `inputs`.
      logits: another name of `inputs`.

    Returns:
      a Tensor [batch].

    Raises:
      TypeError: `labels` is no SparseTensor.
      InvalidArgumentError: labels that do not fit the frames or the classes.
    """
    if not isinstance(labels, SparseTensor):
        raise TypeError("Expected labels (first argument) to be a SparseTensor")
    inputs = deprecated_argument_lookup("logits", logits, "inputs", inputs)
    if not time_major:
        inputs = transpose(inputs, [1, 0, 2])
    return raw.CTCLoss(
        inputs, labels.indices, labels.values, sequence_length,
        preprocess_collapse_repeated=preprocess_collapse_repeated, ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
    )[0]  # fmt: skip


# ---- decoders ----

_DISCRETE = NotDifferentiable("decoded labels are discrete")


def _decoder_shape(c: InferenceContext) -> list:
    batch = si.merge_size(si.with_rank(c.inputs[0], 3)[1], si.with_rank(c.inputs[1], 1)[0])
    paths = (len(c.op.outputs) - 1) // 3
    return [(None, 2)] * paths + [(None,)] * paths + [(2,)] * paths + [(batch, paths)]


def _check_decoder_inputs(inputs: np.ndarray, lengths: np.ndarray) -> None:
    _require(inputs.ndim == 3, "inputs is not a 3-Tensor")
    time, batch, _ = inputs.shape
    _require(time, "max_time is 0")
    _require(lengths.ndim == 1, "sequence_length is not a vector")
    if batch != len(lengths):
        text = f"len(sequence_length) != batch_size.  len(sequence_length):  {len(lengths)} batch_size: {batch}"
        raise errors.FailedPreconditionError(None, None, text)
    for b, length in enumerate(lengths.tolist()):
        if length > time:
            raise errors.FailedPreconditionError(None, None, f"sequence_length({b}) <= {time}")


def _sparse(sequences: list[list[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indices, values and shape of one decoded sequence per batch entry."""
    places = [(b, t) for b, sequence in enumerate(sequences) for t in range(len(sequence))]
    values = [label for sequence in sequences for label in sequence]
    shape = (len(sequences), max(map(len, sequences), default=0))
    return np.array(places, np.int64).reshape(-1, 2), np.array(values, np.int64), np.array(shape, np.int64)


@op(
    "CTCGreedyDecoder",
    "(inputs: T, sequence_length: int32, *, merge_repeated: bool = False, T: {float32, float64} = float32) -> "
    "(decoded_indices: int64, decoded_values: int64, decoded_shape: int64, log_probability: T)",
    shape=_decoder_shape, gradient=_DISCRETE, side=HOST,
)  # fmt: skip
def _greedy_decoder(inputs, lengths, *, merge_repeated):
    _check_decoder_inputs(inputs, lengths)
    best = inputs.argmax(2)
    running = np.arange(len(inputs))[:, None] < lengths
    emits = running & (best != inputs.shape[2] - 1)
    if merge_repeated:
        emits[1:] &= best[1:] != best[:-1]
    sequences = [best[emits[:, b], b].tolist() for b in range(len(lengths))]
    total = -np.where(running, inputs.max(2), 0).sum(0, dtype=inputs.dtype)
    return (*_sparse(sequences), total[:, None])


@op(
    "CTCBeamSearchDecoder",
    "(inputs: T, sequence_length: int32, *, beam_width: int >= 1, top_paths: int >= 1, merge_repeated: bool = True, "
    "T: {float32, float64} = float32) -> (decoded_indices: top_paths*int64, decoded_values: top_paths*int64, "
    "decoded_shape: top_paths*int64, log_probability: T)",
    shape=_decoder_shape, gradient=_DISCRETE, side=HOST,
)  # fmt: skip
def _beam_search_decoder(inputs, lengths, *, beam_width, top_paths, merge_repeated):
    _check_decoder_inputs(inputs, lengths)
    found = [
        ctc_beam_search.decode(inputs[: max(length, 0), b], beam_width, top_paths, merge_repeated)
        for b, length in enumerate(lengths.tolist())
    ]
    parts = [_sparse([paths[p] for paths, _ in found]) for p in range(top_paths)]
    scores = np.array([scores for _, scores in found], inputs.dtype).reshape(len(lengths), top_paths)
    return (*(tuple(part) for part in zip(*parts)), scores)


@export("nn.ctc_greedy_decoder")
def ctc_greedy_decoder(inputs: TensorLike, sequence_length: TensorLike, merge_repeated: bool = True) -> tuple[list[SparseTensor], Tensor]:
    """The labels of the most probable class of each frame, without blanks.

    Args:
      inputs: float Tensor [time, batch, num_classes]; the last class is the blank.
      sequence_length: int32 [batch], the number of frames.
      merge_repeated: whether a class that stays the most probable one is emitted once.

    Returns:
      (a list of one int64 SparseTensor [batch, labels], minus the sum of the largest logits [batch, 1]).
    """
    indices, values, shape, score = raw.CTCGreedyDecoder(inputs, sequence_length, merge_repeated=merge_repeated)
    return [SparseTensor(indices, values, shape)], score


@export("nn.ctc_beam_search_decoder")
def ctc_beam_search_decoder(
    inputs: TensorLike, sequence_length: TensorLike, beam_width: int = 100, top_paths: int = 1, merge_repeated: bool = True
) -> tuple[list[SparseTensor], Tensor]:
    """The most probable label sequences that a beam search finds.

    Args:
      inputs: float Tensor [time, batch, num_classes]; the last class is the blank.
      sequence_length: int32 [batch], the number of frames.
      beam_width: the number of candidates kept after each frame.
      top_paths: the number of sequences returned, at most `beam_width`.
      merge_repeated: whether equal neighbours in a found sequence are merged.

    Returns:
      (a list of `top_paths` int64 SparseTensors [batch, labels], log probabilities [batch, top_paths]).
    """
    indices, values, shapes, scores = raw.CTCBeamSearchDecoder(
        inputs, sequence_length, beam_width=beam_width, top_paths=top_paths, merge_repeated=merge_repeated
    )
    return [SparseTensor(*parts) for parts in zip(indices, values, shapes)], scores


@export("nn.ctc_beam_search_decoder_v2")
def ctc_beam_search_decoder_v2(
    inputs: TensorLike, sequence_length: TensorLike, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """`tf.nn.ctc_beam_search_decoder` with `merge_repeated=False`."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, merge_repeated=False)
