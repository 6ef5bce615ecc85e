"""tf.contrib.learn: queues of batches of Examples that are read from files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.contrib.input_pipeline.input_pipeline_ops import seek_next
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.composed.masks import boolean_mask
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.parsing.functions import parse_example
from tfcompat._src.ops.queues.queue import FIFOQueue
from tfcompat._src.ops.queues.readers import TFRecordReader
from tfcompat._src.platform.gfile import get_matching_files as Glob
from tfcompat._src.summary.summary import scalar
from tfcompat._src.train.input_batching import batch_join, shuffle_batch_join
from tfcompat._src.train.input_producers import string_input_producer
from tfcompat._src.train.queue_runner import QueueRunner, add_queue_runner

KEY_FEATURE_NAME = "__key__"
this_module = export("contrib.learn.io.graph_io")(sys.modules[__name__])


def _get_file_names(file_pattern: object, randomize_input: bool) -> list[str]:
    """The files of a pattern or of a list of patterns, sorted unless they are shuffled."""
    patterns = file_pattern if isinstance(file_pattern, list) else [file_pattern]
    if not patterns:
        raise ValueError("No files given to dequeue_examples.")
    found = [path for pattern in patterns for path in Glob(pattern)]
    if not found:
        raise ValueError(f"No files match {file_pattern}.")
    return found if randomize_input else sorted(found)


class _Source(NamedTuple):
    """How often files are read, in what order, and whether workers share the list of them."""

    randomize_input: bool
    num_epochs: int | None
    seed: int | None
    shared: bool = False

    def queue(self, files: list[str], name: str) -> Any:
        """The queue of paths, or one that takes them from a list shared by all workers."""
        order = {"shuffle": self.randomize_input, "num_epochs": self.num_epochs, "seed": self.seed}
        if not self.shared:
            return string_input_producer(constant(files, name="input"), name=name, **order)
        queue = FIFOQueue(capacity=1, dtypes=[dtypes.string], shapes=[[]])
        add_queue_runner(QueueRunner(queue, [queue.enqueue(seek_next(files, **order))]))
        return queue


def _check_sizes(batch_size: Any, queue_capacity: Any, read_batch_size: Any, num_threads: Any, num_epochs: Any) -> None:
    if not queue_capacity or queue_capacity <= 0:
        raise ValueError(f"Invalid queue_capacity {queue_capacity}.")
    if batch_size is None or not isinstance(batch_size, Tensor) and not 0 < batch_size < queue_capacity:
        raise ValueError(f"Invalid batch_size {batch_size}, with queue_capacity {queue_capacity}.")
    if read_batch_size is None or not isinstance(read_batch_size, Tensor) and read_batch_size <= 0:
        raise ValueError(f"Invalid read_batch_size {read_batch_size}.")
    if not num_threads or num_threads <= 0:
        raise ValueError(f"Invalid num_threads {num_threads}.")
    if num_epochs is not None and num_epochs <= 0:
        raise ValueError(f"Invalid num_epochs {num_epochs}.")


def _read(queue: object, reader: Callable, count: int, filter_fn: Callable | None, parse_fn: Callable | None) -> Any:
    """What a reader gives of a queue's files, a tuple of keys and examples, or a dict of features and keys."""
    keys, examples = reader().read_up_to(queue, count) if count > 1 else reader().read(queue)
    if filter_fn:
        mask = filter_fn(keys, examples)
        keys, examples = boolean_mask(keys, mask), boolean_mask(examples, mask)
    parsed = parse_fn(examples) if parse_fn else examples
    return {**parsed, KEY_FEATURE_NAME: keys} if isinstance(parsed, dict) else (keys, parsed)


def _read_keyed_batch_examples_helper(
    file_pattern: object, batch_size: Any, reader: Callable, randomize_input: bool = True, num_epochs: int | None = None,
    queue_capacity: int = 10000, num_threads: int = 1, read_batch_size: Any = 1, filter_fn: Callable | None = None,
    parse_fn: Callable | None = None, setup_shared_queue: bool = False, name: str | None = None, seed: int | None = None,
) -> Any:  # fmt: skip
    """Keys and examples in batches; `filter_fn(keys, examples)` says which are kept."""
    source = _Source(randomize_input, num_epochs, seed, setup_shared_queue)
    files = _get_file_names(file_pattern, randomize_input)
    _check_sizes(batch_size, queue_capacity, read_batch_size, num_threads, num_epochs)
    with name_scope(name, "read_batch_examples", [file_pattern]) as scope:
        with name_scope("file_name_queue") as queue_scope:
            queue = source.queue(files, queue_scope)
        with name_scope("read"):
            examples = [_read(queue, reader, read_batch_size, filter_fn, parse_fn) for _ in range(num_threads)]
        options = {
            "capacity": queue_capacity, "enqueue_many": read_batch_size > 1, "name": scope,
            "allow_smaller_final_batch": num_epochs is not None,
        }  # fmt: skip
        if randomize_input:
            least = int(queue_capacity * 0.4)
            if not isinstance(batch_size, Tensor):
                least = max(queue_capacity - 3 * batch_size, batch_size)
            batches = shuffle_batch_join(examples, batch_size, min_after_dequeue=least, seed=seed, **options)
        else:
            batches = batch_join(examples, batch_size, **options)
        if parse_fn and isinstance(batches, dict):
            return batches.pop(KEY_FEATURE_NAME), batches
        return batches


@export("contrib.learn.read_keyed_batch_examples", "contrib.learn.io.read_keyed_batch_examples")
def read_keyed_batch_examples(
    file_pattern: object, batch_size: object, reader: Callable, randomize_input: bool = True, num_epochs: int | None = None,
    queue_capacity: int = 10000, num_threads: int = 1, read_batch_size: object = 1, parse_fn: Callable | None = None,
    name: str | None = None, seed: int | None = None,
) -> Any:  # fmt: skip
    """Batches of records of files, and of their keys.

    Args:
      file_pattern: pattern of paths, or a list of patterns.
      batch_size: int or scalar Tensor.
      reader: function without arguments that gives a reader, such as `tf.TFRecordReader`.
      randomize_input: whether files and records are shuffled.
      num_epochs: how often all files are read (a local variable counts that), by default for ever.
      queue_capacity: records that a queue holds.
      num_threads: readers.
      read_batch_size: records that are read at once.
      parse_fn: function of a record, or of several, to a Tensor or a dict of Tensors.
      name: of the operations.
      seed: of the shuffling.

    Returns:
      (string Tensor [batch] of keys, the records or what `parse_fn` gives of them).

    Raises:
      ValueError: no file is there, or a number does not fit.
    """
    return _read_keyed_batch_examples_helper(
        file_pattern, batch_size, reader, randomize_input=randomize_input, num_epochs=num_epochs,
        queue_capacity=queue_capacity, num_threads=num_threads, read_batch_size=read_batch_size, parse_fn=parse_fn, name=name,
        seed=seed,
    )  # fmt: skip


@export("contrib.learn.read_keyed_batch_examples_shared_queue", "contrib.learn.io.read_keyed_batch_examples_shared_queue")
def read_keyed_batch_examples_shared_queue(
    file_pattern: object, batch_size: object, reader: Callable, randomize_input: bool = True, num_epochs: int | None = None,
    queue_capacity: int = 10000, num_threads: int = 1, read_batch_size: object = 1, parse_fn: Callable | None = None,
    name: str | None = None, seed: int | None = None,
) -> Any:  # fmt: skip
    """`read_keyed_batch_examples` of workers that share the list of files, so that each record is seen once."""
    return _read_keyed_batch_examples_helper(
        file_pattern, batch_size, reader, randomize_input=randomize_input, num_epochs=num_epochs,
        queue_capacity=queue_capacity, num_threads=num_threads, read_batch_size=read_batch_size, parse_fn=parse_fn,
        setup_shared_queue=True, name=name, seed=seed,
    )  # fmt: skip


@export("contrib.learn.read_batch_examples", "contrib.learn.io.read_batch_examples")
def read_batch_examples(
    file_pattern: object, batch_size: object, reader: Callable, randomize_input: bool = True, num_epochs: int | None = None,
    queue_capacity: int = 10000, num_threads: int = 1, read_batch_size: object = 1, parse_fn: Callable | None = None,
    name: str | None = None, seed: int | None = None,
) -> Any:  # fmt: skip
    """The records of `read_keyed_batch_examples` without their keys."""
    return read_keyed_batch_examples(
        file_pattern, batch_size, reader, randomize_input=randomize_input, num_epochs=num_epochs,
        queue_capacity=queue_capacity, num_threads=num_threads, read_batch_size=read_batch_size, parse_fn=parse_fn, name=name,
        seed=seed,
    )[1]  # fmt: skip


@export("contrib.learn.io.queue_parsed_features")
def queue_parsed_features(
    parsed_features: dict[str, Any], keys: Any = None, feature_queue_capacity: int = 100, num_enqueue_threads: int = 2,
    name: str | None = None,
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """Features that come out of a queue, which threads fill.

    Args:
      parsed_features: dict of Tensors and SparseTensors.
      keys: string Tensor, or None.
      feature_queue_capacity: elements of the queue.
      num_enqueue_threads: threads.
      name: of the operations.

    Returns:
      (keys or None, dict of features).
    """
    given = {each: parsed_features[each] for each in sorted(parsed_features)}
    with name_scope(name, "queue_parsed_features", [*parsed_features.values(), *([] if keys is None else [keys])]):
        parts = [_parts(each) for each in given.values()]
        tensors = [tensor for each in parts for tensor in each] + ([] if keys is None else [keys])
        queue = FIFOQueue(feature_queue_capacity, [each.dtype for each in tensors])
        scalar(
            f"queue/parsed_features/{queue.name}/fraction_of_{feature_queue_capacity}_full",
            cast(queue.size(), dtypes.float32) * (1.0 / feature_queue_capacity),
        )
        runs = [queue.enqueue(tensors) for _ in range(num_enqueue_threads)]
        closing = (errors.OutOfRangeError, errors.CancelledError)
        add_queue_runner(QueueRunner(queue, runs, queue_closed_exception_types=closing))
        found = queue.dequeue()
        found = found if isinstance(found, list) else [found]
        for ours, theirs in zip(found, tensors):
            ours.set_shape(theirs.shape)
        rest = iter(found)
        features = {
            each: SparseTensor(next(rest), next(rest), next(rest)) if len(part) == 3 else next(rest)
            for each, part in zip(given, parts)
        }
        return next(rest, None), features


def _parts(feature: Any) -> list[Tensor]:
    if isinstance(feature, SparseTensor):
        return [feature.indices, feature.values, feature.dense_shape]
    return [feature]


@export("contrib.learn.read_keyed_batch_features", "contrib.learn.io.read_keyed_batch_features")
def read_keyed_batch_features(
    file_pattern: object, batch_size: object, features: dict[str, Any], reader: Callable, randomize_input: bool = True,
    num_epochs: int | None = None, queue_capacity: int = 10000, reader_num_threads: int = 1,
    feature_queue_capacity: int = 100, num_enqueue_threads: int = 2, parse_fn: Callable | None = None,
    name: str | None = None, read_batch_size: object = None,
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """Batches of parsed Examples of files, and of their keys.

    Args:
      features: dict of `tf.FixedLenFeature` and `tf.VarLenFeature`.
      reader_num_threads: readers.
      feature_queue_capacity, num_enqueue_threads: as of `queue_parsed_features`.
      read_batch_size: records that are read at once, by default `batch_size`.
      file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity, parse_fn, name: as of
        `read_keyed_batch_examples`.

    Returns:
      (string Tensor [batch] of keys, dict of features).
    """
    with name_scope(name, "read_batch_features", [file_pattern]) as scope:
        keys, examples = read_keyed_batch_examples(
            file_pattern, batch_size, reader, randomize_input=randomize_input, num_epochs=num_epochs,
            queue_capacity=queue_capacity, num_threads=reader_num_threads,
            read_batch_size=batch_size if read_batch_size is None else read_batch_size, parse_fn=parse_fn, name=scope,
        )  # fmt: skip
        return queue_parsed_features(
            parse_example(examples, features), keys=keys, feature_queue_capacity=feature_queue_capacity,
            num_enqueue_threads=num_enqueue_threads, name=scope,
        )  # fmt: skip


@export("contrib.learn.read_keyed_batch_features_shared_queue", "contrib.learn.io.read_keyed_batch_features_shared_queue")
def read_keyed_batch_features_shared_queue(
    file_pattern: object, batch_size: object, features: dict[str, Any], reader: Callable, randomize_input: bool = True,
    num_epochs: int | None = None, queue_capacity: int = 10000, reader_num_threads: int = 1,
    feature_queue_capacity: int = 100, num_queue_runners: int = 2, parse_fn: Callable | None = None,
    name: str | None = None,
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """`read_keyed_batch_features` of workers that share the list of files; `num_queue_runners` fill the queue."""
    with name_scope(name, "read_batch_features", [file_pattern]) as scope:
        keys, examples = read_keyed_batch_examples_shared_queue(
            file_pattern, batch_size, reader, randomize_input=randomize_input, num_epochs=num_epochs,
            queue_capacity=queue_capacity, num_threads=reader_num_threads, read_batch_size=batch_size, parse_fn=parse_fn,
            name=scope,
        )  # fmt: skip
        return queue_parsed_features(
            parse_example(examples, features), keys=keys, feature_queue_capacity=feature_queue_capacity,
            num_enqueue_threads=num_queue_runners, name=scope,
        )  # fmt: skip


@export("contrib.learn.read_batch_features", "contrib.learn.io.read_batch_features")
def read_batch_features(
    file_pattern: object, batch_size: object, features: dict[str, Any], reader: Callable, randomize_input: bool = True,
    num_epochs: int | None = None, queue_capacity: int = 10000, feature_queue_capacity: int = 100,
    reader_num_threads: int = 1, num_enqueue_threads: int = 2, parse_fn: Callable | None = None, name: str | None = None,
    read_batch_size: object = None,
) -> dict[str, Any]:  # fmt: skip
    """The features of `read_keyed_batch_features` without keys."""
    return read_keyed_batch_features(
        file_pattern, batch_size, features, reader, randomize_input=randomize_input, num_epochs=num_epochs,
        queue_capacity=queue_capacity, reader_num_threads=reader_num_threads, feature_queue_capacity=feature_queue_capacity,
        num_enqueue_threads=num_enqueue_threads, read_batch_size=read_batch_size, parse_fn=parse_fn, name=name,
    )[1]  # fmt: skip


@export("contrib.learn.read_batch_record_features", "contrib.learn.io.read_batch_record_features")
def read_batch_record_features(
    file_pattern: object, batch_size: object, features: dict[str, Any], randomize_input: bool = True,
    num_epochs: int | None = None, queue_capacity: int = 10000, reader_num_threads: int = 1,
    name: str | None = "dequeue_record_examples",
) -> dict[str, Any]:  # fmt: skip
    """`read_batch_features` of TFRecord files."""
    return read_batch_features(
        file_pattern=file_pattern, batch_size=batch_size, features=features, reader=TFRecordReader,
        randomize_input=randomize_input, num_epochs=num_epochs, queue_capacity=queue_capacity,
        reader_num_threads=reader_num_threads, name=name,
    )  # fmt: skip
