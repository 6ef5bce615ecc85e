"""`tensorflow.python.eager.context`: the mode of the current thread (eager or graph), and the settings and devices of eager execution."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.eager import mode as eager
from tfcompat._src.eager.executor import Executor
from tfcompat._src.eager.graph import EagerGraph
from tfcompat._src.eager.mode import eager_mode, graph_mode
from tfcompat._src.eager.run_metadata import (
    disable_graph_collection,
    disable_run_metadata,
    enable_graph_collection,
    enable_run_metadata,
    export_run_metadata,
)
from tfcompat._src.function.executor_type import function_executor_type
from tfcompat._src.graph.scopes import device, executing_eagerly, get_default_graph
from tfcompat._src.ops.random.seeds import set_random_seed as set_global_seed
from tfcompat._src.runtime.devices.devices import accelerator_count
from tfcompat._src.runtime.session.config import POLICIES, ProcessConfig, VirtualDeviceConfiguration, process_config
from tfcompat._src.summary.recording import STATE

# The constants of 1.15.
SYNC, ASYNC = 0, 1
EAGER_MODE, GRAPH_MODE = 1, 0
DEVICE_PLACEMENT_EXPLICIT, DEVICE_PLACEMENT_WARN, DEVICE_PLACEMENT_SILENT, DEVICE_PLACEMENT_SILENT_FOR_INT32 = 0, 1, 2, 3

__all__ = [
    "ASYNC", "DEVICE_PLACEMENT_EXPLICIT", "DEVICE_PLACEMENT_SILENT", "DEVICE_PLACEMENT_SILENT_FOR_INT32", "DEVICE_PLACEMENT_WARN",
    "EAGER_MODE", "GRAPH_MODE", "SYNC", "Context", "VirtualDeviceConfiguration", "async_clear_error", "async_wait", "context", "device", "device_policy",
    "disable_graph_collection", "disable_run_metadata", "eager_mode", "enable_graph_collection", "enable_run_metadata", "ensure_initialized",
    "execution_mode", "executor_scope", "export_run_metadata", "function_executor_type", "global_seed", "graph_mode", "in_eager_mode",
    "in_graph_mode", "internal_operation_seed", "num_gpus", "set_execution_mode", "set_global_seed", "shared_name",
]  # fmt: skip


class _Thread(threading.local):
    """The executor that `executor_scope` sets in this thread."""

    executor: Executor | None = None


_thread = _Thread()


class Context:
    """The eager context: a view of the mode of this thread, and of the settings and devices of the process. Objects of it have no other state."""

    def __init__(self, settings: ProcessConfig) -> None:
        self._settings = settings

    def __getattr__(self, name: str) -> Any:
        # The other attributes (`log_device_placement`, `soft_device_placement`, ...) are settings of the process.
        return getattr(self._settings, name)

    @property
    def _handle(self) -> Context:
        """The context as functions of `pywrap_tensorflow` take it: this object."""
        return self

    def executing_eagerly(self) -> bool:
        """Whether operations run when they are called."""
        return executing_eagerly()

    def ensure_initialized(self) -> None:
        """Initializes eager execution, unless it is initialized."""
        eager.eager_graph()

    def devices(self) -> list[str]:
        """Returns the full names of the devices."""
        return [d.name for d in eager.eager_graph().state.devices]

    def num_gpus(self) -> int:
        return num_gpus()

    @property
    def device_name(self) -> str | None:
        """The device of the innermost `tf.device` block, or None."""
        graph = get_default_graph()
        return graph.device_asked() if isinstance(graph, EagerGraph) else None

    @property
    def summary_writer(self) -> Any:
        """The writer of this thread's summaries, or None."""
        return STATE.writer

    @summary_writer.setter
    def summary_writer(self, writer: object) -> None:
        STATE.writer = writer

    @property
    def summary_step(self) -> Any:
        """The default step of this thread's summaries, or None."""
        return STATE.step

    @summary_step.setter
    def summary_step(self, step: Any) -> None:
        STATE.step = step

    @property
    def summary_recording(self) -> Any:
        """Whether this thread's summaries are written: a bool, bool tensor, function, or None."""
        return STATE.recording

    @summary_recording.setter
    def summary_recording(self, condition: Any) -> None:
        STATE.recording = condition

    @property
    def scope_name(self) -> str:
        return get_default_graph().get_name_scope()

    # Always SYNC: see the function `execution_mode` for what ASYNC would change.
    @property
    def execution_mode(self) -> int:
        return SYNC

    @property
    def device_policy(self) -> int:
        """How an operation treats inputs on another device: one of DEVICE_PLACEMENT_*."""
        return POLICIES.index(self._settings.device_policy)

    @device_policy.setter
    def device_policy(self, policy: int | None) -> None:
        self._settings.device_policy = POLICIES[DEVICE_PLACEMENT_SILENT if policy is None else policy]

    @property
    def executor(self) -> Executor:
        """The executor of this thread's operations."""
        return _thread.executor or Executor(enable_async=self.execution_mode == ASYNC)

    @executor.setter
    def executor(self, executor: Executor | None) -> None:
        _thread.executor = executor

    def clear_kernel_cache(self) -> None:
        """Clears the cache of compiled operations. The counters of random operations start again, as in 1.15, whose kernels hold them."""
        eager.eager_graph().state.forget_programs()

    clear_caches = clear_kernel_cache
    enable_run_metadata, disable_run_metadata = staticmethod(enable_run_metadata), staticmethod(disable_run_metadata)
    enable_graph_collection, disable_graph_collection = staticmethod(enable_graph_collection), staticmethod(disable_graph_collection)
    export_run_metadata = staticmethod(export_run_metadata)


def context() -> Context:
    """Returns the eager context."""
    return Context(process_config())


def _set_context(ctx: Context) -> None:
    """Accepts the context of this process, which needs no setting; tfcompat has no other.

    Raises:
      NotImplementedError: `ctx` is another context.
    """
    if ctx is not None and ctx._settings is not process_config():
        raise NotImplementedError("tfcompat has one eager context in a process, which cannot be replaced. Set its options by tf.config.")


def set_server_def(server_def: Any) -> None:
    """Connects eager execution to other processes in 1.15; is not supported here.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError("tfcompat runs eager operations in this process only. Run a tf.Session on a tf.train.Server to use a cluster.")


class _EagerTensorCache:
    """A cache of tensors: the last `max_items` with at most `max_tensor_size` elements each (first in, first out)."""

    def __init__(self, max_items: int = 256, max_tensor_size: int = 10000) -> None:
        self._data: dict[Any, Any] = {}
        self._max_items, self._max_tensor_size = max_items, max_tensor_size

    def put(self, key: object, value: Any) -> None:
        """Adds a tensor, unless it is too large."""
        if value.shape.num_elements() > self._max_tensor_size:
            return
        self._data[key] = value
        # A dict iterates in insertion order: the first key is the oldest.
        if len(self._data) > self._max_items:
            del self._data[next(iter(self._data))]

    def get(self, key: object) -> Any:
        """Returns the tensor of a key, or None."""
        return self._data.get(key)

    def flush(self) -> None:
        """Removes all tensors."""
        self._data = {}


def ensure_initialized() -> None:
    """Initializes eager execution, unless it is initialized."""
    context().ensure_initialized()


def in_eager_mode() -> bool:
    """Whether operations run when they are called."""
    return executing_eagerly()


def in_graph_mode() -> bool:
    """Whether operations are added to a graph."""
    return not executing_eagerly()


@contextlib.contextmanager
def execution_mode(mode: int | None) -> Iterator[None]:
    """Context manager: accepts SYNC and ASYNC mode, and changes nothing.

    JAX dispatches asynchronously in both, and an operation's error is raised by its call.

    Raises:
      ValueError: `mode` is neither SYNC, ASYNC nor None.
    """
    if mode not in (None, SYNC, ASYNC):
        raise ValueError(f"Execution mode should be None/SYNC/ASYNC. Got {mode}")
    yield


@contextlib.contextmanager
def device_policy(policy: int | None) -> Iterator[None]:
    """Context manager: sets the device policy, one of DEVICE_PLACEMENT_*, inside the block; None means the default, to copy inputs silently."""
    current = context()
    before = current.device_policy
    current.device_policy = policy
    try:
        yield
    finally:
        current.device_policy = before


@contextlib.contextmanager
def executor_scope(e: Executor | None) -> Iterator[None]:
    """Context manager: runs this thread's operations in an executor inside the block; None means the default one."""
    before, _thread.executor = _thread.executor, e
    try:
        yield
    finally:
        _thread.executor = before


def set_execution_mode(mode: int | None) -> None:
    """Sets SYNC or ASYNC mode; see `execution_mode`."""
    with execution_mode(mode):
        pass


def async_wait() -> None:
    """Does nothing: reading a value waits for it."""


def async_clear_error() -> None:
    """Does nothing: no error is kept, since operations raise their errors when they are called."""


def global_seed() -> int | None:
    """Returns the seed that tf.set_random_seed set, or None."""
    return get_default_graph().seed


def internal_operation_seed() -> int:
    """Returns the seed of the next random operation without one; each call advances it."""
    return get_default_graph().next_operation_seed()


def shared_name(name: str | None = None) -> str | None:
    """Returns the `shared_name` of a resource: "" in eager mode, in which no two objects share one, else `name`."""
    return "" if executing_eagerly() else name


@export("contrib.eager.num_gpus")
def num_gpus() -> int:
    """Returns the number of GPUs of this process."""
    return accelerator_count("GPU")
