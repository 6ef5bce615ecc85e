"""Step times of a run: measured if RunOptions.trace_level asks for it, and written to RunMetadata.step_stats.

Each host operation is measured. A compiled cluster is one program and is measured as a whole: it is an entry of the device `.../stream:all`,
where TensorFlow 1.15 lists the kernels of a GPU. The times of its nodes are unknown; their entries divide its time evenly, in the order of the
nodes. The times of a plan's first run include compilation.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from tfcompat._src.graph import op_spec
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages
from tfcompat._src.runtime.ir.item import OpItem
from tfcompat._src.runtime.ir.plan import Cluster, HostStep, Plan
from tfcompat._src.runtime.state.run_context import RunContext


@dataclass
class _Entry:
    """One compiled cluster or host operation, when it ran (nanoseconds since 1970), and the shapes of its outputs."""

    work: Cluster | Operation
    start: int
    end: int
    sizes: dict[Tensor, tuple[Any, ...]]


@dataclass
class Recorder:
    """The entries of one run."""

    start: int = field(default_factory=time.time_ns)
    entries: list[_Entry] = field(default_factory=list)

    def timed(self, run_step: Callable[..., Any]) -> Callable[..., Any]:
        """Wraps `run_step(step, plan, values, context)` to record entries; a host step then runs one item at a time."""

        def run(step: HostStep | Cluster, plan: Plan, values: dict[Tensor, Any], context: RunContext) -> None:
            if isinstance(step, Cluster):
                self._time(step, step.outputs, run_step, step, plan, values, context)
                return
            for item in step.items:
                if isinstance(item, OpItem):
                    self._time(item.op, item.outputs, run_step, HostStep([item]), plan, values, context)
                else:
                    run_step(HostStep([item]), plan, values, context)

        return run

    def _time(
        self, work: Cluster | Operation, outputs: Sequence[Tensor], run_step: Callable[..., Any], step: HostStep | Cluster, plan: Plan,
        values: dict[Tensor, Any], context: RunContext,
    ) -> None:
        """Runs a step and records its time, up to when its outputs are computed: JAX calls return earlier."""
        # TensorFlow's step stats count from 1970.
        start = time.time_ns()
        run_step(step, plan, values, context)
        made = {t: values[t] for t in outputs if t in values}
        jax.block_until_ready([v for v in made.values() if isinstance(v, jax.Array)])
        self.entries.append(_Entry(work, start, time.time_ns(), {t: np.shape(v) for t, v in made.items() if hasattr(v, "shape")}))


class _Current(threading.local):
    recorder: Recorder | None = None


_CURRENT = _Current()
_OFF = contextlib.nullcontext()


def current() -> Recorder | None:
    """Returns the recorder of this thread's run, or None if no trace is asked for."""
    return _CURRENT.recorder


def recording(options: messages.RunOptions | None, run_metadata: messages.RunMetadata | None) -> contextlib.AbstractContextManager[Recorder | None]:
    """Records the run of its `with` block if RunOptions ask for a trace and there is a RunMetadata to fill."""
    return _on() if run_metadata is not None and options is not None and options.trace_level else _OFF


@contextlib.contextmanager
def _on() -> Iterator[Recorder | None]:
    outer, _CURRENT.recorder = _CURRENT.recorder, Recorder()
    try:
        yield _CURRENT.recorder
    finally:
        _CURRENT.recorder = outer


# ---- as a message ----


def fill(
    run_metadata: messages.RunMetadata, recorder: Recorder, leaves: Iterable[Operation], device_of: Callable[[Operation], Any], first_device: str
) -> None:  # fmt: skip
    """Writes the entries of a run to `run_metadata.step_stats`, by device; `leaves` (constants and variables) get entries of no duration."""
    devices: dict[str, Any] = {}

    def add(device: str, name: str, label: str, start: int, end: int) -> messages.NodeExecStats:
        if device not in devices:
            devices[device] = run_metadata.step_stats.dev_stats.add(device=device)
        nanos = end - start
        return devices[device].node_stats.add(
            node_name=name, timeline_label=label, all_start_micros=start // 1000, all_start_nanos=start,
            op_end_rel_micros=-(-nanos // 1000), op_end_rel_nanos=nanos, all_end_rel_micros=-(-nanos // 1000),
            all_end_rel_nanos=nanos, scheduled_micros=start // 1000, scheduled_nanos=start,
        )  # fmt: skip

    # TensorFlow's executor starts with a node _SOURCE; timeline tools expect it.
    add(first_device, "_SOURCE", "_SOURCE = NoOp()", recorder.start, recorder.start)
    for op in leaves:
        add(device_of(op).name, op.name, _label(op), recorder.start, recorder.start)
    clusters = 0
    # Each entry, divided among the operations of a cluster.
    for entry in recorder.entries:
        cluster = entry.work if isinstance(entry.work, Cluster) else None
        operations = [entry.work] if isinstance(entry.work, Operation) else [op for item in entry.work.items for op in item.operations]
        share = (entry.end - entry.start) // len(operations)
        for i, op in enumerate(operations):
            start = entry.start + i * share
            device = device_of(op).name
            stats = add(device, op.name, _label(op), start, start + share)
            _add_outputs(stats, op, entry.sizes, device)
            _add_memory(stats, op)
        # The measured entry of the whole cluster.
        if cluster is not None:
            stream = device_of(operations[0]).name.replace("/job:localhost/replica:0/task:0", "") + "/stream:all"
            inputs = ", ".join(_input_name(t) for t in cluster.inputs)
            name = f"cluster_{clusters}:CompiledCluster"
            add(stream, name, f"{name}({inputs})", entry.start, entry.end)
            clusters += 1


def _input_name(tensor: Tensor) -> str:
    """Returns the name of a tensor as an input of a NodeDef."""
    return tensor.op.name if tensor.value_index == 0 else tensor.name


def _label(op: Operation) -> str:
    inputs = [*map(_input_name, op.takes), *(f"^{c.name}" for c in op.control_inputs)]
    return f"{op.name} = {op.type}({', '.join(inputs)})"


def _add_outputs(stats: messages.NodeExecStats, op: Operation, sizes: dict[Tensor, tuple[Any, ...]], device: str) -> None:
    """Adds the outputs of a node whose shapes are known; handles and strings count no bytes."""
    for slot, tensor in enumerate(op.outputs):
        shape = sizes.get(tensor, tensor._sizes)
        if shape is None or None in shape:
            continue
        description = stats.output.add(slot=slot).tensor_description
        description.dtype = tensor.dtype.base_dtype.as_datatype_enum
        description.shape.SetInParent()
        for size in shape:
            description.shape.dim.add(size=size)
        # Names of TensorFlow's allocators, which its memory timelines group by.
        if tensor.dtype.base_dtype.is_numpy_compatible and tensor.dtype.base_dtype.name != "string":
            count = int(np.prod(shape, dtype=np.int64)) * tensor.dtype.base_dtype.size
            allocation = description.allocation_description
            allocation.requested_bytes = allocation.allocated_bytes = count
            allocation.allocator_name = "cpu" if ":CPU:" in device else "GPU_0_bfc"


def _add_memory(stats: messages.NodeExecStats, op: Operation) -> None:
    """Adds the memory of a node's new outputs whose shapes are known; ops that forward their input allocate nothing.

    TensorFlow counts the requests to its allocator, temporary memory included; that of a compiled cluster cannot be divided among its nodes.
    """
    if op.type in op_spec.PASS_ON or any(t.dtype._is_ref_dtype for t in op.outputs):
        return
    held = [output.tensor_description.allocation_description for output in stats.output]
    size = sum(each.allocated_bytes for each in held)
    if size:
        stats.memory.add(allocator_name=held[0].allocator_name, total_bytes=size, peak_bytes=size, live_bytes=size)
