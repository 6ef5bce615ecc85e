"""A QueueRunner whose threads feed what they enqueue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.train.queue_runner import QueueRunner


@export("contrib.training.FeedingQueueRunner")
class _FeedingQueueRunner(QueueRunner):
    """Runs enqueue operations with feeds that functions give, until one raises that the input has ended.

    Args:
      queue, enqueue_ops, close_op, cancel_op: as for QueueRunner.
      feed_fns: a function for each operation, without arguments, that gives its feeds; None for no feeds.
      queue_closed_exception_types: tuple of tf.errors types that mean the end of the input, by default OutOfRangeError
        and CancelledError.

    Raises:
      ValueError: another number of functions, or as for QueueRunner.
    """

    def __init__(
        self, queue: object = None, enqueue_ops: list | None = None, close_op: object = None, cancel_op: object = None,
        feed_fns: list[Callable[[], dict]] | None = None, queue_closed_exception_types: tuple | None = None,
    ) -> None:  # fmt: skip
        types = queue_closed_exception_types or (errors.OutOfRangeError, errors.CancelledError)
        super().__init__(queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types=types)
        if feed_fns is not None and len(feed_fns) != len(self._enqueue_ops):
            raise ValueError("If feed_fns is not None, it must have the same length as enqueue_ops.")
        self._feed_fns = [None for _ in self._enqueue_ops] if feed_fns is None else feed_fns

    def _enqueuer(self, sess: SessionLike, enqueue_op: Any) -> Callable[[], Any]:
        feed_fn = dict(zip(self._enqueue_ops, self._feed_fns))[enqueue_op]
        if feed_fn is None:
            return super()._enqueuer(sess, enqueue_op)
        return lambda: sess.run(enqueue_op, feed_dict=feed_fn())

    def _init_from_proto(self, message: Any, import_scope: str | None = None) -> NoReturn:
        raise NotImplementedError(f"{type(self).__name__} does not support initialization from proto.")

    def to_proto(self, export_scope: str | None = None) -> NoReturn:
        raise NotImplementedError(f"{type(self).__name__} does not support serialization to proto.")
