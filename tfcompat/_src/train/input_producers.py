"""Queues that give input again and again: file names, numbers, slices of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, executing_eagerly, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_n_to_tensor_or_indexed_slices, convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.shape import shape, size
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import greater
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.queues.queue import FIFOQueue
from tfcompat._src.ops.random.stateful import random_shuffle
from tfcompat._src.summary.summary import scalar
from tfcompat._src.train.queue_runner import QueueRunner, add_queue_runner
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("io.match_filenames_once", "train.match_filenames_once")
def match_filenames_once(pattern: TensorLike, name: str | None = None) -> Any:
    """A local variable whose initial value is the names of the files that match glob patterns (string or vector)."""
    with name_scope(name, "matching_filenames", [pattern]) as scope:
        return Variable(
            name=scope, initial_value=raw.MatchingFiles(pattern), trainable=False, validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )  # fmt: skip


@export("train.limit_epochs")
def limit_epochs(tensor: TensorLike, num_epochs: int | None = None, name: str | None = None) -> Any:
    """`tensor`, which can be computed `num_epochs` times; after that OutOfRangeError. The local variable `epochs` counts.

    Raises:
      ValueError: `num_epochs` is not positive.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        zero = constant(0, dtype=dtypes.int64)
        epochs = Variable(zero, name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES])
        with control_dependencies([epochs.count_up_to(num_epochs)]):
            return identity(tensor, name=scope)


@export("train.input_producer")
def input_producer(
    input_tensor: TensorLike, element_shape: Any = None, num_epochs: int | None = None, shuffle: bool = True,
    seed: int | None = None, capacity: int = 32, shared_name: str | None = None, summary_name: str | None = None,
    name: str | None = None, cancel_op: Operation | None = None,
) -> FIFOQueue:  # fmt: skip
    """A queue of the rows of a tensor, filled by a QueueRunner.

    Args:
      input_tensor: Tensor of at least one dimension.
      element_shape: the shape of a row, where that of `input_tensor` is not fully known.
      num_epochs: how often each row is given; without end where it is None.
      shuffle: whether each epoch has an order of its own. seed: of that order.
      capacity: of the queue.
      shared_name: under which several nodes of a Session share the queue.
      summary_name: tag of a summary of how full the queue is; none where it is None.
      name: name scope.
      cancel_op: see QueueRunner.

    Raises:
      ValueError: the shape of a row is not known. RuntimeError: with eager execution.
    """
    if executing_eagerly():
        raise RuntimeError(
            "Input pipelines based on Queues are not supported when eager execution is enabled. Please use tf.data to "
            "ingest data into your model instead."
        )
    with name_scope(name, "input_producer", [input_tensor]):
        input_tensor = convert_to_tensor(input_tensor, name="input_tensor")
        element_shape = input_tensor.shape[1:].merge_with(element_shape)
        if not element_shape.is_fully_defined():
            raise ValueError("Either `input_tensor` must have a fully defined shape or `element_shape` must be specified")
        if shuffle:
            input_tensor = random_shuffle(input_tensor, seed=seed)
        input_tensor = limit_epochs(input_tensor, num_epochs)
        queue = FIFOQueue(
            capacity=capacity, dtypes=[input_tensor.dtype.base_dtype], shapes=[element_shape], shared_name=shared_name,
            name=name,
        )  # fmt: skip
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([input_tensor])], cancel_op=cancel_op))
        if summary_name is not None:
            scalar(summary_name, cast(queue.size(), dtypes.float32) * (1.0 / capacity))
        return queue


@export("train.string_input_producer")
def string_input_producer(
    string_tensor: TensorLike, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None, capacity: int = 32,
    shared_name: str | None = None, name: str | None = None, cancel_op: Operation | None = None,
) -> FIFOQueue:  # fmt: skip
    """A queue of strings, such as file names, filled by a QueueRunner.

    Args:
      string_tensor: list or vector of strings.
      num_epochs: how often each string is given; without end where it is None. It needs `tf.local_variables_initializer`.
      shuffle: whether each epoch has an order of its own. seed: of that order.
      capacity: of the queue.
      shared_name: under which sessions of one server share the queue.
      name: name scope.
      cancel_op: what the queue runner runs to stop, by default the queue's closing.

    Returns:
      a FIFOQueue.

    Raises:
      ValueError: `string_tensor` is an empty list. In a run: InvalidArgumentError for an empty tensor.
    """
    empty = "string_input_producer requires a non-null input tensor"
    if not isinstance(string_tensor, Tensor) and not string_tensor:
        raise ValueError(empty)
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        string_tensor = convert_to_tensor(string_tensor, dtype=dtypes.string)
        with control_dependencies([Assert(greater(size(string_tensor), 0), [empty])]):
            string_tensor = identity(string_tensor)
        return input_producer(
            input_tensor=string_tensor, element_shape=[], num_epochs=num_epochs, shuffle=shuffle, seed=seed,
            capacity=capacity, shared_name=shared_name, name=scope, summary_name=f"fraction_of_{capacity}_full",
            cancel_op=cancel_op,
        )  # fmt: skip


@export("train.range_input_producer")
def range_input_producer(
    limit: object, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None, capacity: int = 32,
    shared_name: str | None = None, name: str | None = None,
) -> FIFOQueue:  # fmt: skip
    """A queue of the numbers from 0 to `limit` - 1 (int32), filled by a QueueRunner; arguments as of `input_producer`."""
    with name_scope(name, "input_producer", [limit]) as scope:
        return input_producer(
            arange(limit), [], num_epochs, shuffle, seed, capacity, shared_name, f"fraction_of_{capacity}_full", scope
        )


@export("train.slice_input_producer")
def slice_input_producer(
    tensor_list: Any, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None, capacity: int = 32,
    shared_name: str | None = None, name: str | None = None,
) -> list[Tensor]:  # fmt: skip
    """One row of each tensor of a list, all at the same place, another one in each run; arguments as of `input_producer`.

    Raises:
      ValueError: the list is empty.
    """
    with name_scope(name, "input_producer", tensor_list):
        tensor_list = convert_n_to_tensor_or_indexed_slices(tensor_list)
        if not tensor_list:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        queue = range_input_producer(
            shape(tensor_list[0])[0], num_epochs=num_epochs, shuffle=shuffle, seed=seed, capacity=capacity,
            shared_name=shared_name,
        )  # fmt: skip
        index = queue.dequeue()
        return [gather(t, index) for t in tensor_list]
