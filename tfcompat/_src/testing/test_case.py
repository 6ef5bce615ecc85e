"""`tf.test.TestCase`."""

from __future__ import annotations

import contextlib
import os
import random
import tempfile
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tfcompat as tf
from tfcompat._src.base import nest
from tfcompat._src.base.default_stack import GRAPHS
from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.nodes.indexed_slices import IndexedSlicesValue
from tfcompat._src.ops.ragged.value import RaggedTensorValue
from tfcompat._src.proto import messages
from tfcompat._src.testing import googletest
from tfcompat._src.testing.assertions import Assertions
from tfcompat._src.testing.devices import gpu_device_name

DEFAULT_GRAPH_SEED = 87654321


class CapturedWrites:
    """What was written to a stream."""

    def __init__(self, capture_location: str) -> None:
        self.capture_location = capture_location

    def contents(self) -> str:
        """The text written so far."""
        with open(self.capture_location) as file:
            return file.read()


class CheckedThread:
    """A thread whose exception fails the test when it is joined."""

    def __init__(self, testcase: TestCase, target: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self._testcase = testcase
        self._call = lambda: target(*(args or ()), **(kwargs or {}))
        self._thread = threading.Thread(target=self._run)
        self._error: Exception | None = None
        self._joined = False

    def _run(self) -> None:
        try:
            self._call()
        except Exception as error:  # noqa: BLE001
            self._error = error

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def join(self) -> None:
        """Waits for the end; the test fails if the thread raised."""
        self._joined = True
        self._thread.join()
        if self._error is not None:
            self._testcase.fail(f"Error in checkedThread: {self._error}")

    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def check_termination(self) -> None:
        """The test fails if the thread was not joined; RuntimeError if it still runs."""
        if not self._joined:
            self._testcase.fail("A checked thread was not joined.")
        if self.is_alive():
            raise RuntimeError("Thread was not joined with main thread, and is still running when the test finished.")


@export("test.TestCase")
class TestCase(Assertions):
    """A test with a fresh default graph, fixed seeds, sessions and assertions on tensors."""

    def __init__(self, methodName: str = "runTest") -> None:  # noqa: N803
        super().__init__(methodName)
        self._threads: list[CheckedThread] = []
        self._tempdir: str | None = None
        self._cached_session: Any = None
        self._cached_arguments: tuple[Any, ...] = ()

    def setUp(self) -> None:  # noqa: N802
        """Starts with a new default graph and fixed seeds of Python, NumPy and the graph."""
        self._ClearCachedSession()
        random.seed(DEFAULT_GRAPH_SEED)
        np.random.seed(DEFAULT_GRAPH_SEED)
        running = GRAPHS.top() if tf.executing_eagerly() else None
        GRAPHS.reset()
        tf.reset_default_graph()
        if running is not None:
            GRAPHS.stack.append(running)
        tf.set_random_seed(DEFAULT_GRAPH_SEED)
        if self.id().endswith(".test_session"):
            self.skipTest("Not a test.")

    def tearDown(self) -> None:  # noqa: N802
        """Checks the threads and closes the session of the test."""
        for thread in self._threads:
            thread.check_termination()
        self._ClearCachedSession()

    def _ClearCachedSession(self) -> None:  # noqa: N802
        if self._cached_session is not None:
            self._cached_session.close()
            self._cached_session = None

    def get_temp_dir(self) -> str:
        """A folder for this test's temporary files."""
        if self._tempdir is None:
            self._tempdir = tempfile.mkdtemp(dir=googletest.get_temp_dir())
        return self._tempdir

    @contextlib.contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator[CapturedWrites]:  # noqa: N802
        """A block in which what goes to the stream's file descriptor is kept instead."""
        stream.flush()
        target = stream.fileno()
        kept, path = tempfile.mkstemp(dir=self.get_temp_dir())
        original = os.dup(target)
        os.dup2(kept, target)
        try:
            yield CapturedWrites(path)
        finally:
            stream.flush()
            os.dup2(original, target)
            os.close(original)
            os.close(kept)

    def evaluate(self, tensors: Any) -> Any:
        """The values of a tensor or nested tensors, from the default session or else the test's."""
        if tf.executing_eagerly():
            return nest.map_structure(_value, tensors)
        session = tf.get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.test_session() as session:
            return session.run(tensors)

    @contextlib.contextmanager
    def session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Iterator[Any]:
        """A block with a new session, which and whose graph are the default.

        Args:
          graph: its graph, or None for the default graph.
          config: its ConfigProto.
          use_gpu: whether ops may go on a GPU; if false they go on the CPU.
          force_gpu: put ops on GPU 0.
        """
        if tf.executing_eagerly():
            yield _NoSession()
            return
        with self._create_session(graph, config, force_gpu) as session:
            with self._on_devices(session, use_gpu, force_gpu):
                yield session

    @contextlib.contextmanager
    def cached_session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Iterator[Any]:
        """A block with the one session of this test; the arguments are those of `session`.

        Raises:
          ValueError: the session was made with other arguments.
        """
        if tf.executing_eagerly():
            yield _NoSession()
            return
        session = self._get_cached_session(graph, config, force_gpu)
        for name, old, new in zip(("graph", "config", "force_gpu"), self._cached_arguments, (graph, config, force_gpu)):
            if old is not new:
                raise ValueError(
                    f"The {name} used to get the cached session is different than the one that was used to create the "
                    "session. Maybe create a new session with self.session()"
                )
        with self._on_devices(session, use_gpu, force_gpu):
            yield session

    @contextlib.contextmanager
    def test_session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Iterator[Any]:
        """`session` where a graph is given, else the one session of this test."""
        if self.id().endswith(".test_session"):
            self.skipTest("Not a test.")
        if tf.executing_eagerly():
            yield None
            return
        if graph is not None:
            with self.session(graph, config, use_gpu, force_gpu) as session:
                yield session
            return
        with self._on_devices(self._get_cached_session(graph, config, force_gpu), use_gpu, force_gpu) as session:
            yield session

    def _get_cached_session(self, graph: Any, config: Any, force_gpu: bool) -> Any:
        if self._cached_session is None:
            self._cached_session = self._create_session(graph, config, force_gpu)
            self._cached_arguments = (graph, config, force_gpu)
        return self._cached_session

    def _create_session(self, graph: Any, config: Any, force_gpu: bool) -> Any:
        own = messages.ConfigProto(allow_soft_placement=True)
        if config is not None:
            own.CopyFrom(config)
        if force_gpu:
            own.allow_soft_placement = False
        return tf.Session(graph=graph, config=own)

    @contextlib.contextmanager
    def _on_devices(self, session: SessionLike, use_gpu: bool, force_gpu: bool) -> Iterator[Any]:
        if force_gpu:
            device = session.graph.device(gpu_device_name() or "/device:GPU:0")
        else:
            device = contextlib.nullcontext() if use_gpu else session.graph.device("/device:CPU:0")
        with session.graph.as_default(), session.as_default(), device:
            yield session

    def checkedThread(self, target: Callable[..., Any], args: Any = None, kwargs: Any = None) -> CheckedThread:  # noqa: N802
        """A thread that calls `target(*args, **kwargs)`; the test fails if that raises or the thread is not joined."""
        thread = CheckedThread(self, target, args, kwargs)
        self._threads.append(thread)
        return thread


TensorFlowTestCase = TestCase


class _NoSession:
    """What stands for a session in eager mode."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            "Trying to access properties or call methods on the result of self.session(), self.cached_session(), etc while eager "
            "execution is enabled. If you're porting this test case to TF 2.0, either adapt the test to work with eager execution or "
            "insert a call to tf.disable_eager_execution() in the main() function of this test file."
        )


def _value(tensor: object) -> Any:
    """The value of what an eager test asks for."""
    if callable(tensor) and not isinstance(tensor, (tf.Tensor, tf.Variable)):
        return nest.map_structure(_value, tensor())
    if tensor is None:
        return None
    if isinstance(tensor, tf.SparseTensor):
        return tf.SparseTensorValue(*map(_value, (tensor.indices, tensor.values, tensor.dense_shape)))
    if isinstance(tensor, tf.RaggedTensor):
        return RaggedTensorValue(_value(tensor.values), _value(tensor.row_splits))
    if isinstance(tensor, tf.IndexedSlices):
        rows = tuple(map(_value, (tensor.values, tensor.indices, tensor.dense_shape)))
        return IndexedSlicesValue(*rows)
    return tensor.numpy() if hasattr(tensor, "numpy") else tensor
