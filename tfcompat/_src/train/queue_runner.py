"""tf.train.QueueRunner: threads that fill a queue."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.registry import register_proto_function
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.graph.scopes import executing_eagerly, get_default_graph
from tfcompat._src.nodes.meta_graph import prepend_name_scope, strip_name_scope
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session.session import BaseSession, get_default_session
from tfcompat._src.train.coordinator import Coordinator


@export("train.queue_runner.QueueRunner", "train.QueueRunner")
class QueueRunner:
    """Runs enqueue operations of a queue, each in a thread of its own, until the queue is closed or the input ends.

    Args:
      queue: a queue. enqueue_ops: list of Operations to run.
      close_op: Operation to run when the last thread ends; by default closes the queue.
      cancel_op: Operation to run when the coordinator stops; by default closes the queue and cancels its enqueues.
      queue_closed_exception_types: tuple of tf.errors types that mean the end of the input, by default OutOfRangeError.
      queue_runner_def: a QueueRunnerDef message, instead of the other arguments.
      import_scope: name scope below which the message's names are.

    Raises:
      ValueError: no queue or operations, or both these and a message. RuntimeError: with eager execution.
      TypeError: `queue_closed_exception_types` is not a tuple of tf.errors types.
    """

    def __init__(
        self, queue: Any = None, enqueue_ops: list | None = None, close_op: Any = None, cancel_op: Any = None,
        queue_closed_exception_types: tuple | None = None, queue_runner_def: Any = None, import_scope: str | None = None,
    ) -> None:  # fmt: skip
        if executing_eagerly():
            raise RuntimeError(
                "QueueRunners are not supported when eager execution is enabled. Instead, please use tf.data to get data "
                "into your model."
            )
        if queue_runner_def:
            if queue or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._init_from_proto(queue_runner_def, import_scope)
        else:
            self._init_from_args(queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types)
        self._lock = threading.Lock()
        self._runs_per_session: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._exceptions_raised: list[Exception] = []

    def _init_from_args(self, queue: Any, enqueue_ops: Any, close_op: Any, cancel_op: Any, types: Any) -> None:
        if not queue or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        if types is not None and not (
            isinstance(types, tuple) and types and all(issubclass(t, errors.OpError) for t in types)
        ):
            raise TypeError(
                f"queue_closed_exception_types, when provided, must be a tuple of tf.error types, but saw: {types}"
            )
        self._queue, self._enqueue_ops = queue, enqueue_ops
        self._close_op = queue.close() if close_op is None else close_op
        self._cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        self._queue_closed_exception_types = types or (errors.OutOfRangeError,)

    def _init_from_proto(self, message: Any, import_scope: str | None) -> None:
        graph = get_default_graph()

        def element(name: str) -> Any:
            return graph.as_graph_element(prepend_name_scope(name, import_scope))

        self._queue = element(message.queue_name)
        self._enqueue_ops = [element(name) for name in message.enqueue_op_name]
        self._close_op, self._cancel_op = element(message.close_op_name), element(message.cancel_op_name)
        types = tuple(errors.exception_type_from_error_code(c) for c in message.queue_closed_exception_types)
        self._queue_closed_exception_types = types or (errors.OutOfRangeError,)

    @property
    def queue(self) -> Any:
        return self._queue

    @property
    def enqueue_ops(self) -> list:
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple:
        return self._queue_closed_exception_types

    @property
    def exceptions_raised(self) -> list[Exception]:
        """What threads without a coordinator raised since `create_threads`."""
        return self._exceptions_raised

    @property
    def name(self) -> str:
        return self._queue.name

    def _run(self, sess: SessionLike, enqueue_op: Any, coord: Coordinator | None = None) -> None:
        """The work of one thread."""
        try:
            enqueue = self._enqueuer(sess, enqueue_op)
            while not (coord and coord.should_stop()):
                enqueue()
        except self._queue_closed_exception_types:
            self._end_run(sess, close=True)
        except Exception as e:
            self._end_run(sess)
            if coord:
                coord.request_stop(e)
                return
            logging.error("Exception in QueueRunner: %s", e)
            with self._lock:
                self._exceptions_raised.append(e)
            raise
        else:
            self._end_run(sess)

    def _enqueuer(self, sess: SessionLike, enqueue_op: Any) -> Callable[[], Any]:
        """A function that runs an enqueue operation once."""
        return sess.make_callable(enqueue_op)

    def _end_run(self, sess: SessionLike, close: bool = False) -> None:
        with self._lock:
            self._runs_per_session[sess] -= 1
            if close and not self._runs_per_session[sess]:
                _run_quietly(sess, self._close_op)

    def _close_on_stop(self, sess: SessionLike, cancel_op: Any, coord: Coordinator) -> None:
        """The work of the thread that waits for the coordinator."""
        coord.wait_for_stop()
        _run_quietly(sess, cancel_op)

    def create_threads(
        self, sess: SessionLike, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Threads that run the enqueue operations, and with a coordinator one that cancels them when it stops.

        Args:
          sess: a Session.
          coord: a Coordinator that the threads report to.
          daemon: whether the program may end while they run.
          start: whether to start them here.

        Returns:
          the threads; none where those of an earlier call still run in this Session.
        """
        with self._lock:
            if self._runs_per_session.get(sess, 0) > 0:
                return []
            self._runs_per_session[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        work = [(self._run, op.name, (sess, op, coord)) for op in self._enqueue_ops]
        if coord:
            work.append((self._close_on_stop, "close_on_stop", (sess, self._cancel_op, coord)))
        threads = [
            threading.Thread(target=target, args=args, name=f"QueueRunnerThread-{self.name}-{label}", daemon=daemon or None)
            for target, label, args in work
        ]
        for thread in threads:
            if coord:
                coord.register_thread(thread)
            if start:
                thread.start()
        return threads

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The QueueRunnerDef message, its names without `export_scope`; None where the queue is not below that scope."""
        if export_scope is not None and not self.queue.name.startswith(export_scope):
            return None

        def name(element: Any) -> str:
            return strip_name_scope(element.name, export_scope)

        return messages.QueueRunnerDef(
            queue_name=name(self.queue), enqueue_op_name=[name(op) for op in self.enqueue_ops],
            close_op_name=name(self.close_op), cancel_op_name=name(self.cancel_op),
            queue_closed_exception_types=[
                errors.error_code_from_exception_type(t) for t in self._queue_closed_exception_types
            ],
        )  # fmt: skip

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> QueueRunner:
        """The QueueRunner of a QueueRunnerDef message, of nodes of the default graph."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def _run_quietly(sess: SessionLike, op: Any) -> None:
    """Runs an operation that closes a queue: it may be closed already, or its session."""
    try:
        sess.run(op)
    except Exception as e:  # noqa: BLE001
        logging.debug("Ignored exception: %s", e)


@export("train.queue_runner.add_queue_runner", "train.add_queue_runner")
def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds a QueueRunner to a collection of the graph, for `start_queue_runners`."""
    get_default_graph().add_to_collection(collection, qr)


@export("train.queue_runner.start_queue_runners", "train.start_queue_runners")
def start_queue_runners(
    sess: SessionLike | None = None, coord: Coordinator | None = None, daemon: bool = True, start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:  # fmt: skip
    """Starts the threads of all queue runners of the graph.

    Args:
      sess: a Session, by default the default one.
      coord: a Coordinator that the threads report to.
      daemon: whether the program may end while they run.
      start: whether to start them here.
      collection: key of the queue runners.

    Returns:
      the threads.

    Raises:
      ValueError: no session is given and there is no default. TypeError: `sess` is not a Session. RuntimeError: with eager
        execution.
    """
    if executing_eagerly():
        raise RuntimeError("Queues are not compatible with eager execution.")
    if sess is None:
        sess = get_default_session()
        if not sess:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or pass an "
                "explicit session to tf.start_queue_runners(sess=sess)"
            )
    if not isinstance(sess, BaseSession):
        if type(sess).__name__ in ("MonitoredSession", "SingularMonitoredSession"):
            return []
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    runners = get_default_graph().get_collection(collection)
    if not runners:
        logging.warning(
            "`tf.train.start_queue_runners()` was called when no queue runners were defined. You can safely remove the "
            "call to this deprecated function."
        )
    with sess.graph.as_default():
        runners = get_default_graph().get_collection(collection)
        return [t for r in runners for t in r.create_threads(sess, coord=coord, daemon=daemon, start=start)]


register_proto_function(
    GraphKeys.QUEUE_RUNNERS, proto_type=messages.QueueRunnerDef, to_proto=QueueRunner.to_proto,
    from_proto=QueueRunner.from_proto,
)  # fmt: skip
