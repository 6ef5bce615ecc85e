"""The devices of a Session, from JAX's backends and the ConfigProto, under TensorFlow's names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax

from tfcompat._src.framework.device import canonical_name

_KINDS = {"cpu": "CPU", "gpu": "GPU", "cuda": "GPU", "rocm": "GPU", "tpu": "TPU"}
_UNLIMITED_CPU_BYTES = 268435456


@dataclass(frozen=True)
class Device:
    """A device: its full name, kind ("CPU", "GPU", "TPU") and what JAX calls it."""

    name: str
    kind: str
    jax_device: Any


class _DeviceAttributes:
    """What `Session.list_devices` lists."""

    def __init__(self, name: str, device_type: str, memory_limit_bytes: int, incarnation: int) -> None:
        self.name, self.device_type = canonical_name(name), device_type
        self.memory_limit_bytes, self.incarnation = memory_limit_bytes, incarnation

    def __repr__(self) -> str:
        return f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, {self.incarnation})"


def session_devices(config: Any) -> list[Device]:
    """CPU devices as `device_count` asks (at least one), then the accelerators that JAX found."""
    cpus = config.device_count.get("CPU", 1) if "CPU" in config.device_count else 1
    jax_cpus = jax.devices("cpu")
    found = [_device("CPU", i, jax_cpus[i % len(jax_cpus)]) for i in range(max(1, cpus))]
    backend = jax.default_backend()
    if backend != "cpu":
        kind = _KINDS.get(backend, backend.upper())
        limit = config.device_count[kind] if kind in config.device_count else None
        found += [_device(kind, i, d) for i, d in enumerate(jax.local_devices()[:limit])]
    return found


def _device(kind: str, index: int, jax_device: Any) -> Device:
    return Device(f"/job:localhost/replica:0/task:0/device:{kind}:{index}", kind, jax_device)


def describe(found: list[Device]) -> list[_DeviceAttributes]:
    return [_DeviceAttributes(d.name, d.kind, _memory(d), i + 1) for i, d in enumerate(found)]


def _memory(device: Device) -> int:
    stats = device.jax_device.memory_stats() if device.kind != "CPU" else None
    return int(stats["bytes_limit"]) if stats and "bytes_limit" in stats else _UNLIMITED_CPU_BYTES


def fill_metadata(run_metadata: Any, options: Any, plan: Any) -> None:
    """Writes the operations of a run into a RunMetadata message; there are no times of single nodes in a compiled call."""
    run_metadata.Clear()
    if options is not None and options.output_partition_graphs:
        graph = run_metadata.partition_graphs.add()
        for step in plan.steps:
            for item in step.items:
                graph.node.add().CopyFrom(item.node_def)
