"""Batching of concurrent runs: Batch, Unbatch, UnbatchGrad and BatchFunction.

Concurrent session runs add their rows to one open batch of a shared queue. The batch closes when it is full or its timeout is over. There
are no threads of its own: one of the runs in the batch does the work for all, the others wait for its result.
"""

from __future__ import annotations

import functools
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfcompat._src.base import confinement, errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.dtypes import DType, as_dtype, cpp_name
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.base.run_limits import MustWait, may_wait
from tfcompat._src.base.tensor_shape import Sizes
from tfcompat._src.data.functions import HostFunction
from tfcompat._src.data.values import Scope
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, WAITING, NotDifferentiable, op
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.queues.resource import SharedResource, invalid, shared_resource
from tfcompat._src.runtime.state.run_context import context_of

Arrays = tuple[NDArray, ...]


@dataclass(eq=False)
class _Task:
    """The share of one run in a batch: tensors with the same number of rows, and a random key that identifies the run."""

    inputs: Sequence[NDArray]
    captured: Sequence[Any] = ()
    call: Callable[..., Any] | None = None
    key: int = field(default_factory=lambda: secrets.randbits(64) - 2**63)

    @property
    def size(self) -> int:
        return len(self.inputs[0])


@dataclass(eq=False)
class _Batch:
    """Tasks that are processed together.

    Attributes:
      deadline: when the batch closes even if it is not full, in seconds of the monotonic clock.
      closed: whether it takes no more tasks. taken: whether a run has undertaken its work.
      results: one per task, once done. error: raised by every run of the batch.
    """

    deadline: float
    tasks: list[_Task] = field(default_factory=list)
    closed: bool = False
    taken: bool = False
    results: list[Any] | None = None
    error: Exception | None = None

    @property
    def size(self) -> int:
        return sum(t.size for t in self.tasks)

    @property
    def done(self) -> bool:
        return self.results is not None or self.error is not None


class BatchQueue(SharedResource):
    """A queue of batches: at most one is open, some are closed and wait, and at most `threads` are in work."""

    def __init__(self, attrs: dict[str, Any]) -> None:
        super().__init__()
        self.threads, self.most_rows = attrs["num_batch_threads"], attrs["max_batch_size"]
        self.timeout, self.most_batches = attrs["batch_timeout_micros"] / 1e6, attrs["max_enqueued_batches"]
        # The messages are TensorFlow's.
        if self.threads < 1:
            raise invalid(f"num_batch_threads must be positive; was {self.threads}")
        if self.most_rows < 1:
            raise invalid(f"max_batch_size must be positive; was {self.most_rows}")
        if self.timeout < 0:
            raise invalid(f"batch_timeout_micros must be non-negative; was {attrs['batch_timeout_micros']}")
        if self.most_batches < 0:
            raise invalid(f"max_enqueued_batches must be non-negative; was {self.most_batches}")
        self._open: _Batch | None = None
        self._closed = self._running = 0

    def run(self, task: _Task, work: Callable[[list[_Task]], list[Any]]) -> Any:
        """Adds a task to the open batch; returns its part of `work(tasks)`, which returns one result per task."""
        # The first run that sees the batch closed does its work.
        with self.lock:
            batch = self._add(task)
            self._wait_until_closed(batch)
            is_mine, batch.taken = not batch.taken, True
        if is_mine:
            self._work_on(batch, work)
        else:
            with self.lock:
                self.wait(lambda: batch.done, "Batch")
        if batch.error is not None:
            # The error belongs to no single node of the runs that raise it.
            e = batch.error
            raise e.at_node(None, None) if isinstance(e, errors.OpError) else e
        return (batch.results or [])[batch.tasks.index(task)]

    def _add(self, task: _Task) -> _Batch:
        """Adds a task to the open batch, or to a new one if it does not fit; UnavailableError if too many batches wait."""
        if task.size > self.most_rows:
            raise invalid(f"Task size {task.size} is larger than maximum batch size {self.most_rows}")
        # A task is never split: if it does not fit, the open batch closes as it is.
        batch = self._open
        if batch is not None and batch.size + task.size > self.most_rows:
            if self._closed + 1 >= self.most_batches:
                text = "The batch scheduling queue to which this task was submitted is full"
                raise errors.UnavailableError(None, None, text)
            self._close(batch)
        batch = self._open = self._open or _Batch(time.monotonic() + self.timeout)
        batch.tasks.append(task)
        if batch.size >= self.most_rows:
            self._close(batch)
        return batch

    def _close(self, batch: _Batch) -> None:
        batch.closed, self._open = True, None
        self._closed += 1
        self.changed.notify_all()

    def _wait_until_closed(self, batch: _Batch) -> None:
        """Waits until a batch is full, or its deadline has passed and a thread is free: while all are busy, it may still grow."""
        def is_due() -> bool:
            return batch.closed or (self._running < self.threads and time.monotonic() >= batch.deadline)

        # At the deadline nobody notifies, so the first wait ends by itself; the second waits for a free thread.
        self.wait(is_due, "Batch", until=batch.deadline)
        self.wait(is_due, "Batch")
        if not batch.closed:
            self._close(batch)

    def _work_on(self, batch: _Batch, work: Callable[[list[_Task]], list[Any]]) -> None:
        try:
            with self.lock:
                self.wait(lambda: self._running < self.threads, "Batch")
                self._closed -= 1
                self._running += 1
            # The lock is free during the work, so that other batches fill up and run.
            try:
                batch.results = work(batch.tasks)
            finally:
                with self.lock:
                    self._running -= 1
        except Exception as e:  # noqa: BLE001 every run of the batch raises it
            batch.error = e
        with self.lock:
            self.changed.notify_all()


def _check_allowed(allowed: Sequence[int], most_rows: int) -> None:
    if any(b <= a for a, b in zip(allowed, allowed[1:])):
        raise invalid("allowed_batch_sizes entries must be monotonically increasing")
    if allowed and allowed[-1] != most_rows:
        raise invalid("final entry in allowed_batch_sizes must equal max_batch_size")


def _rows_of(task: _Task) -> _Task:
    """Returns a task after checking that its tensors have the same number of rows."""
    for x in task.inputs:
        if not x.ndim:
            raise invalid("Batching input tensors must have at least one dimension")
        if len(x) != task.size:
            raise invalid("Batching input tensors supplied in a given op invocation must have equal 0th-dimension size")
    return task


def _joined(tasks: list[_Task], allowed: Sequence[int]) -> list[NDArray]:
    """Concatenates the inputs of all tasks and pads them with copies of the first row to the next allowed batch size."""
    if any(len(t.inputs) != len(tasks[0].inputs) for t in tasks):
        raise invalid("Batching inputs must have equal number of edges")
    # The compiled function then sees few batch sizes. Copies of a real row are valid inputs for it.
    size = sum(t.size for t in tasks)
    lacking = next((a for a in allowed if a >= size), size) - size
    joined = []
    # Input by input, over all tasks.
    for parts in zip(*(t.inputs for t in tasks)):
        for index, part in enumerate(parts):
            if part.shape[1:] != parts[0].shape[1:]:
                what = "Dimensions of inputs" if part.ndim == parts[0].ndim else "Ranks of all input tensors"
                shapes = f"shape[0] = {shape_text(parts[0].shape)} vs. shape[{index}] = {shape_text(part.shape)}"
                raise invalid(f"{what} should match: {shapes}")
        filler = parts[0][:1] if len(parts[0]) else np.zeros((1, *parts[0].shape[1:]), parts[0].dtype)
        joined.append(np.concatenate([*parts, *[filler] * lacking]))
    return joined


def _queue_of(context: HostContext) -> BatchQueue:
    """Returns the batch queue of a node; nodes with the same `shared_name` and `batching_queue` share one."""
    attrs = context.op.attrs
    _check_allowed(attrs["allowed_batch_sizes"], attrs["max_batch_size"])
    # The caller postpones the kernel until it may block.
    if not may_wait():
        raise MustWait
    return shared_resource(context, f"batch/{attrs['batching_queue'].decode()}", lambda: BatchQueue(attrs), by_node_name=True)


# ---- Batch ----


def _batched(tasks: list[_Task], allowed: Sequence[int]) -> list[tuple[Any, ...]]:
    """Returns the outputs of Batch for each task: the last gets the whole batch and its index, the others empty tensors.

    A row of the index is (key of the task, first row, end of its rows). So only one run computes the batch, and Unbatch splits its result.
    """
    # Task i has the rows borders[i] to borders[i + 1] of the batch.
    borders = np.cumsum([0, *(t.size for t in tasks)])
    index = np.array([(t.key, a, b) for t, a, b in zip(tasks, borders, borders[1:])], np.int64).reshape(-1, 3)
    outputs = [(tuple(x[:0] for x in t.inputs), index[:0], np.int64(t.key)) for t in tasks]
    outputs[-1] = (tuple(_joined(tasks, allowed)), index, np.int64(tasks[-1].key))
    return outputs


def _batch(context: HostContext, inputs: Arrays, *, allowed_batch_sizes: Sequence[int]) -> Any:
    queue, task = _queue_of(context), _rows_of(_Task(inputs))
    return queue.run(task, lambda tasks: _batched(tasks, allowed_batch_sizes))


def _without_first(sizes: Sizes) -> Any:
    """Returns the shape with an unknown number of rows; ValueError for a scalar."""
    if sizes is None:
        return None
    if not sizes:
        raise ValueError("Out of range dim_index 0 for shape with 0 dimensions")
    return (None, *sizes[1:])


def _batch_gradient(node: Operation, *grads: Tensor) -> list[Tensor]:
    *_, index, key = node.outputs
    return [
        raw.Unbatch(
            grad, index, key, timeout_micros=node.get_attr("grad_timeout_micros"), shared_name=f"batch_gradient_{node.name}_{i}"
        )
        for i, grad in enumerate(grads[:-2])
    ]


_QUEUE = (
    "num_batch_threads: int, max_batch_size: int, max_enqueued_batches: int = 10, batch_timeout_micros: int, "
    "allowed_batch_sizes: list(int) = []"
)
_SHARED = 'container: string = "", shared_name: string = ""'
_add = functools.partial(op, side=HOST, effects=WAITING, context=True)
_add(
    "Batch",
    f'(in_tensors: T, *, {_QUEUE}, grad_timeout_micros: int, {_SHARED}, batching_queue: string = "", T: list(type) >= 1) -> '
    "(batched_tensors: T, batch_index: int64, id: int64)",
    shape=lambda c: [*map(_without_first, c.inputs), (None, 3), ()], kernel=_batch, gradient=_batch_gradient,
)  # fmt: skip


# ---- Unbatch ----


class Unbatcher(SharedResource):
    """Hands the pieces of batches to their runs: holds the pieces that wait, by the key of their run, and the keys that runs wait for."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: dict[int, tuple[float, NDArray]] = {}
        self._waiting_keys: set[int] = set()

    def take(self, key: int, pieces: dict[int, NDArray], timeout: float) -> NDArray:
        """Publishes `pieces`, then returns the piece for `key`; waits for it at most `timeout` seconds.

        Raises:
          errors.DeadlineExceededError: the piece did not come in time. errors.AlreadyExistsError: a key is used twice.
        """
        with self.lock:
            # Pieces that no run took in time are dropped.
            now = time.monotonic()
            self._pieces = {k: piece for k, piece in self._pieces.items() if piece[0] >= now}
            # The run of the batch publishes the pieces of all runs; the others bring none, and wait.
            if key not in self._pieces:
                if key not in pieces and not may_wait():
                    raise MustWait
                self._hand_out(key, pieces, now + timeout)
            self._wait_for(key, now + timeout)
            return self._pieces.pop(key)[1]

    def _hand_out(self, key: int, pieces: dict[int, NDArray], deadline: float) -> None:
        if key in self._waiting_keys:
            raise errors.AlreadyExistsError(None, None, "Multiple session runs with the same batch key.")
        if any(k in self._pieces for k in pieces):
            raise errors.AlreadyExistsError(None, None, "Multiple tensors returned for same batch key.")
        self._pieces.update((k, (deadline, piece)) for k, piece in pieces.items())
        self.changed.notify_all()

    def _wait_for(self, key: int, deadline: float) -> None:
        self._waiting_keys.add(key)
        try:
            self.wait(lambda: key in self._pieces, "Unbatch", until=deadline)
        finally:
            self._waiting_keys.remove(key)
        if key not in self._pieces:
            raise errors.DeadlineExceededError(None, None, "Batched data did not arrive within timeout window.")


def _unbatch(context: HostContext, data: NDArray, index: NDArray, key: NDArray, *, timeout_micros: int) -> NDArray:
    if len(index) > len(data):
        text = f"Wrong shape for index tensor. Expected 0th dimension size to be no greater than {len(data)}; Got: {len(index)}."
        raise invalid(text)
    if index.shape[1] != 3:
        raise invalid(f"Wrong shape for index tensor. Expected 1st dimension size to be 3 ; Got: {index.shape[1]}.")
    sizes = index[:, 2] - index[:, 1]
    if sizes.sum() > len(data) or (sizes < 0).any():
        raise invalid("Sum of split sizes must not exceed dim0-size of input tensor")
    # The rows of each run by its key. Of several entries with the same key, the first counts: `dict` keeps the last.
    pieces = dict(reversed(list(zip(index[:, 0].tolist(), np.split(data, np.cumsum(sizes)) if len(index) else []))))
    shared = shared_resource(context, "unbatch", Unbatcher, by_node_name=True)
    return shared.take(int(key), pieces, timeout_micros / 1e6)


def _unbatch_gradient(node: Operation, grad: Tensor) -> list[Tensor | None]:
    data, index, key = node.inputs
    gradient = raw.UnbatchGrad(data, index, grad, key, shared_name=f"unbatch_gradient_{node.name}")
    return [gradient, None, None]


_add(
    "Unbatch",
    f"(batched_tensor: T, batch_index: int64, id: int64, *, timeout_micros: int, {_SHARED}, T: type) -> (unbatched_tensor: T)",
    shape=lambda c: [_without_first(c.inputs[0])], kernel=_unbatch, gradient=_unbatch_gradient,
)  # fmt: skip


class GradientCollector(SharedResource):
    """Collects the gradients of the pieces of batches, by the key of their run."""

    def __init__(self) -> None:
        super().__init__()
        self._grads: dict[int, NDArray] = {}

    def collect(self, key: int, grad: NDArray, wanted: list[int]) -> NDArray:
        """Stores the gradient of a run. Returns those of the runs `wanted` concatenated, once all are there; none if it is empty."""
        with self.lock:
            if key in self._grads:
                raise invalid("Two runs with the same batch key.")
            if not wanted:
                self._grads[key] = grad
                self.changed.notify_all()
                return grad[:0]
            # MustWait makes the caller run the kernel again where it may block, so that nothing is stored before it is raised.
            if not may_wait() and any(k not in self._grads for k in wanted if k != key):
                raise MustWait
            self._grads[key] = grad
            self.wait(lambda: all(k in self._grads for k in wanted), "UnbatchGrad")
            return np.concatenate([self._grads.pop(k) for k in wanted])


def _unbatch_grad(context: HostContext, data: NDArray, index: NDArray, grad: NDArray, key: NDArray) -> NDArray:
    if data.size and not index.size:
        raise invalid("batch_index is empty while the tensor isn't.")
    wanted = index[:, 0].tolist() if data.size else []
    return shared_resource(context, "unbatch_grad", GradientCollector, by_node_name=True).collect(int(key), grad, wanted)


_add(
    "UnbatchGrad",
    f"(original_input: T, batch_index: int64, grad: T, id: int64, *, {_SHARED}, T: type) -> (batched_grad: T)",
    shape=lambda c: [None if c.inputs[2] is None else (None,) * len(c.inputs[2])], kernel=_unbatch_grad,
    gradient=NotDifferentiable("1.15 has no gradient of this one", raises=True),
)  # fmt: skip


# ---- BatchFunction ----


def _check_outputs(outputs: Sequence[NDArray], kinds: Sequence[DType], rows: int) -> None:
    """Raises unless the batched function returned one tensor of each dtype, all with the rows of its inputs."""
    if len(outputs) != len(kinds):
        raise errors.InternalError(None, None, "Wrong number of batched output tensors")
    for position, (x, kind) in enumerate(zip(outputs, kinds)):
        if not x.ndim:
            raise errors.FailedPreconditionError(None, None, "Batched output tensor has 0 dimensions")
        if len(x) != rows:
            raise errors.FailedPreconditionError(
                None, None, "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes of the input "
                "tensors",
            )  # fmt: skip
        given = as_dtype(x.dtype)
        if given != kind:
            names = cpp_name(given.name), cpp_name(kind.name)
            raise errors.InternalError(None, None, "Output {} of type {} does not match declared output type {}".format(position, *names))


def _called(tasks: list[_Task], call: Callable[..., Any], allowed: Sequence[int], kinds: Sequence[DType]) -> list[tuple[Any, ...]]:
    """Calls the function once for the whole batch and splits its results by task; the padding rows are dropped."""
    joined = _joined(tasks, allowed)
    outputs = [np.asarray(x) for x in call(*joined)]
    _check_outputs(outputs, kinds, len(joined[0]))
    borders = np.cumsum([t.size for t in tasks])
    return list(zip(*(np.split(x, borders)[: len(tasks)] for x in outputs)))


def _batch_function(context: HostContext, inputs: Arrays, captured: Arrays, *, allowed_batch_sizes: Sequence[int]) -> Any:
    node = context.op
    # The function takes the batched inputs, then the captured ones.
    wanted, given = len(node._graph._get_function(node.attrs["f"].name).body.inputs), len(inputs) + len(captured)
    if wanted != given:
        raise invalid(f"Expects {wanted} arguments, but {given} {'is' if given == 1 else 'are'} provided")
    # The captured tensors are those of the last run of the batch, which all runs share.
    queue = _queue_of(context)
    call = HostFunction(context, "f", captured, len(inputs)).bound(Scope(context_of(context)))
    task = _rows_of(_Task(inputs, captured, confinement.bound(call)))
    return (queue.run(task, lambda tasks: _called(tasks, tasks[-1].call or call, allowed_batch_sizes, node.attrs["Tout"])),)


_add(
    "BatchFunction",
    "(in_tensors: Tin, captured_tensors: Tcaptured, *, f: func, num_batch_threads: int, max_batch_size: int, "
    f"batch_timeout_micros: int, max_enqueued_batches: int = 10, allowed_batch_sizes: list(int) = [], {_SHARED}, "
    'batching_queue: string = "", Tin: list(type) >= 1, Tcaptured: list(type) >= 0, Tout: list(type) >= 1) -> (out_tensors: Tout)',
    shape=si.unknown, kernel=_batch_function,
    gradient=NotDifferentiable("1.15 has no gradient of batched functions", raises=True),
)  # fmt: skip
