"""tf.contrib.slim.prefetch_queue: a queue that threads fill with tensors, and slim.queues."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.graph.scopes import get_collection, name_scope
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.queues.queue import FIFOQueue, PaddingFIFOQueue
from tfcompat._src.summary.summary import scalar
from tfcompat._src.train.coordinator import Coordinator
from tfcompat._src.train.queue_runner import QueueRunner, add_queue_runner

_running = threading.Lock()


@export("contrib.slim.prefetch_queue.prefetch_queue")
def prefetch_queue(
    tensors: Any, capacity: int = 8, num_threads: int = 1, dynamic_pad: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> FIFOQueue:  # fmt: skip
    """A queue that threads fill with the tensors.

    Args:
      tensors: list or dict of Tensors.
      capacity: number of elements.
      num_threads: number of threads that fill it.
      dynamic_pad: whether shapes may be partly unknown, and elements are padded.
      shared_name: name that sessions share the queue by.
      name: name scope.
    """
    names = sorted(tensors) if isinstance(tensors, dict) else None
    listed = [tensors[key] for key in names] if names is not None else tensors
    with name_scope(name, "prefetch_queue", listed):
        queue = (PaddingFIFOQueue if dynamic_pad else FIFOQueue)(
            capacity=capacity, dtypes=[each.dtype for each in listed], shapes=[each.get_shape() for each in listed],
            names=names, shared_name=shared_name,
        )  # fmt: skip
        add_queue_runner(QueueRunner(queue, [queue.enqueue(tensors)] * num_threads))
        scalar(f"fraction_of_{capacity}_full", cast(queue.size(), dtypes.float32) * (1.0 / capacity))
        return queue


@export("contrib.slim.queues.NestedQueueRunnerError")
class NestedQueueRunnerError(Exception):
    """Queue runners were started while they ran."""


@export("contrib.slim.queues.QueueRunners")
@contextlib.contextmanager
def QueueRunners(session: SessionLike) -> Iterator[None]:
    """Runs the graph's queue runners inside the block; NestedQueueRunnerError where they run already."""
    if not _running.acquire(blocking=False):
        raise NestedQueueRunnerError("QueueRunners cannot be nested")
    coordinator, threads = Coordinator(), []
    for runner in get_collection(GraphKeys.QUEUE_RUNNERS):
        threads.extend(runner.create_threads(session, coord=coordinator, daemon=True, start=True))
    try:
        yield
    finally:
        coordinator.request_stop()
        try:
            coordinator.join(threads, stop_grace_period_secs=120)
        except RuntimeError:
            session.close()
        _running.release()
