"""Batches of examples that are accepted at random, so that classes have wanted shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_n_to_tensor_or_indexed_slices, convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.array.gather import gather, one_hot
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.array.shape import expand_dims, squeeze
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.composed import check_ops
from tfcompat._src.ops.control.cond import Assert, cond
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.control.printing import Print
from tfcompat._src.ops.math.binary import truediv
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, less, logical_or, not_equal
from tfcompat._src.ops.math.reduce import reduce_all, reduce_max, reduce_sum
from tfcompat._src.ops.math.unary import is_nan
from tfcompat._src.ops.random.stateful import random_uniform
from tfcompat._src.train import input_batching as batching
from tfcompat._src.variables.scope import variable_scope
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

TOLERANCE = 1e-6


@export("contrib.training.rejection_sample")
def rejection_sample(
    tensors: Any, accept_prob_fn: Callable[[list[Tensor]], Any], batch_size: int, queue_threads: int = 1,
    enqueue_many: bool = False, prebatch_capacity: int = 16, prebatch_threads: int = 1, runtime_checks: bool = False,
    name: str | None = None,
) -> list[Tensor]:  # fmt: skip
    """Batches of examples, each of which is accepted with a probability of its own.

    Args:
      tensors: list of tensors, one example or, with `enqueue_many`, a batch.
      accept_prob_fn: function of the tensors of one example that gives its probability.
      batch_size: examples of a batch.
      queue_threads, prebatch_threads: threads that fill the queue of accepted and of all examples.
      enqueue_many: whether the tensors hold a batch.
      prebatch_capacity: length of the queue of all examples.
      runtime_checks: whether to check that probabilities are in [0, 1].
      name: variable scope.

    Returns:
      the tensors of a batch, [batch_size, ...].
    """
    with variable_scope(name, "rejection_sample", tensors):
        tensor_list = convert_n_to_tensor_or_indexed_slices(tensors)
        if enqueue_many:
            _require_equal_sizes(tensor_list, tensor_list[0])
            batched = batching.batch(
                tensor_list, batch_size=1, num_threads=prebatch_threads, capacity=prebatch_capacity, enqueue_many=True
            )
            tensor_list = [squeeze(x, [0]) for x in batched]
        probability = accept_prob_fn(tensor_list)
        if runtime_checks:
            in_range = [
                check_ops.assert_less_equal(0.0, probability),
                check_ops.assert_less_equal(probability, 1.0),
            ]
            probability = identity(with_dependencies(in_range, probability), name="prob_with_checks")
        minibatch = batching.maybe_batch(
            tensor_list, keep_input=random_uniform([]) < probability, batch_size=batch_size, num_threads=queue_threads
        )
        return [minibatch] if isinstance(minibatch, Tensor) else minibatch


@export("contrib.training.stratified_sample")
def stratified_sample(
    tensors: Any, labels: object, target_probs: TensorLike, batch_size: int, init_probs: TensorLike | None = None, enqueue_many: bool = False,
    queue_capacity: int = 16, threads_per_queue: int = 1, name: str | None = None,
) -> tuple[list[Tensor], Tensor]:  # fmt: skip
    """Batches in which each class has a wanted share.

    Args:
      tensors: list of tensors, one example or, with `enqueue_many`, a batch.
      labels: the class of the example, or [n].
      target_probs: [classes], the wanted shares.
      batch_size: examples of a batch.
      init_probs: [classes], the shares in the data; estimated by default.
      enqueue_many: whether the tensors hold a batch.
      queue_capacity: length of the queue of all examples.
      threads_per_queue: threads that fill each queue.
      name: name scope.

    Returns:
      the tensors of a batch, [batch_size, ...], and its labels.

    Raises:
      ValueError: shapes do not fit.
    """
    with name_scope(name, "stratified_sample", [*tensors, labels]):
        tensor_list = convert_n_to_tensor_or_indexed_slices(tensors)
        labels = convert_to_tensor(labels)
        target_probs = convert_to_tensor(target_probs, dtype=dtypes.float32)
        if not enqueue_many:
            tensor_list = [expand_dims(x, 0) for x in tensor_list]
            labels = expand_dims(labels, 0)
        if init_probs is None:
            target_probs.shape.assert_is_fully_defined()
            init_probs = _estimate_data_distribution(labels, target_probs.shape.num_elements())
        else:
            init_probs = convert_to_tensor(init_probs, dtype=dtypes.float32)
        tensor_list, labels, [init_probs, target_probs] = _verify_input(tensor_list, labels, [init_probs, target_probs])
        accept_probs = _accept_probs(init_probs, target_probs)
        batched = batching.batch(
            tensor_list + [labels], batch_size=1, num_threads=threads_per_queue, capacity=queue_capacity,
            enqueue_many=True,
        )  # fmt: skip
        values = [squeeze(x, [0]) for x in batched]
        probability = gather(accept_probs, values[-1])
        *results, labels = batching.maybe_batch(
            values, keep_input=random_uniform([]) < probability, batch_size=batch_size, num_threads=threads_per_queue
        )
        return results, labels


def _accept_probs(init_probs: Tensor, target_probs: Tensor) -> Tensor:
    """The probability with which an example of each class is accepted."""
    message = "All classes with zero initial probability must also have zero target probability: "
    possible = reduce_all(logical_or(not_equal(init_probs, 0), equal(target_probs, 0)))
    init_probs = with_dependencies([Assert(possible, [message, init_probs, target_probs])], init_probs)
    accept_probs = _calculate_acceptance_probabilities(init_probs, target_probs)
    rejected = reduce_sum((1 - accept_probs) * init_probs)
    return cond(
        less(rejected, 0.5),
        lambda: accept_probs,
        lambda: Print(
            accept_probs, [accept_probs], message="Proportion of examples rejected by sampler is high.", first_n=10
        ),
    )


def _estimate_data_distribution(labels: Tensor, num_classes: int, smoothing_constant: int = 10) -> Tensor:
    """The share of each class among the examples seen so far."""
    if smoothing_constant <= 0:
        raise ValueError("smoothing_constant must be nonzero.")
    seen = Variable(
        initial_value=[smoothing_constant] * num_classes, trainable=False, name="class_count", dtype=dtypes.int64
    )
    seen = seen.assign_add(reduce_sum(one_hot(labels, num_classes, dtype=dtypes.int64), 0)) + 0
    return cast(truediv(seen, reduce_sum(seen)), dtypes.float32)


def _require_equal_sizes(tensor_list: list[Tensor], first: Tensor) -> None:
    for tensor in tensor_list:
        tensor.shape.with_rank_at_least(1)[:1].assert_is_compatible_with(first.shape[:1])


def _verify_probabilities(probs: Tensor) -> Tensor:
    probs.shape.assert_is_fully_defined()
    probs.shape.assert_has_rank(1)
    total = reduce_sum(probs)
    checks = [
        check_ops.assert_non_negative(probs),
        check_ops.assert_less(total, 1.0 + TOLERANCE),
        check_ops.assert_less(1.0 - TOLERANCE, total),
    ]
    return with_dependencies(checks, probs)


def _verify_input(
    tensor_list: list[Tensor], labels: Tensor, probs_list: list[Tensor]
) -> tuple[list[Tensor], Tensor, list[Tensor]]:
    """The inputs, checked while building and while running."""
    checked = [_verify_probabilities(probs) for probs in probs_list]
    classes = checked[0].shape.num_elements()
    if any(probs.shape.num_elements() != classes for probs in checked):
        raise ValueError("Probability parameters must have the same length.")
    labels.shape.assert_has_rank(1)
    _require_equal_sizes(tensor_list, labels)
    size = shape_of(labels)[0]
    not_empty = check_ops.assert_positive(size)
    labels = with_dependencies([not_empty], labels)
    tensor_list = [
        with_dependencies([not_empty, check_ops.assert_equal(shape_of(x)[0], size)], x) for x in tensor_list
    ]
    checks = [
        check_ops.assert_integer(labels),
        check_ops.assert_non_negative(labels),
        check_ops.assert_less(labels, cast(classes, labels.dtype)),
    ]
    return tensor_list, with_dependencies(checks, labels), checked


def _calculate_acceptance_probabilities(init_probs: Tensor, target_probs: Tensor) -> Tensor:
    """The ratios of wanted share and share, over the largest; 0 where both shares are 0."""
    ratio = target_probs / init_probs
    ratio = where_v2(is_nan(ratio), zeros_like(ratio), ratio)
    return ratio / reduce_max(ratio)
