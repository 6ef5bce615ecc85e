"""The devices of a Session, from JAX's backends and the ConfigProto, under TensorFlow's names.

`TFCOMPAT_VIRTUAL_GPUS=4` in the environment lets four virtual CPU devices stand in for GPUs, to try programs for several GPUs
where there are none.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import jax

from tfcompat._src.base import errors, jax_compat
from tfcompat._src.base.device import canonical_name
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages
from tfcompat._src.runtime.hardware import KINDS, expected_count

VIRTUAL_GPUS = "TFCOMPAT_VIRTUAL_GPUS"
TASK = "/job:localhost/replica:0/task:0"
_UNLIMITED_CPU_BYTES = 268435456


@dataclass(frozen=True)
class Device:
    """A device: its full name, kind ("CPU", "GPU", "TPU") and what JAX calls it."""

    name: str
    kind: str
    jax_device: jax.Device


class DeviceAttributes:
    """What `Session.list_devices` lists."""

    def __init__(self, name: str, device_type: str, memory_limit_bytes: int, incarnation: int) -> None:
        self.name, self.device_type = canonical_name(name), device_type
        self.memory_limit_bytes, self.incarnation = memory_limit_bytes, incarnation

    def __repr__(self) -> str:
        return f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, {self.incarnation})"


def session_devices(config: messages.ConfigProto, task: str = TASK) -> list[Device]:
    """The devices of a task: CPU devices as `device_count` asks (at least one), then the accelerators that JAX found and the config lets be seen."""
    counts = config.device_count
    cpus = max(1, counts["CPU"] if "CPU" in counts else 1)
    virtual = int(os.environ.get(VIRTUAL_GPUS) or 0)
    _settle_memory(config.gpu_options)
    if max(cpus, virtual) > 1 and not jax_compat.ask_for_cpu_devices(max(cpus, virtual)):
        logging.warning(
            "%d CPU devices were asked for, but JAX has started with %d: they share these. Ask before the first Session.",
            max(cpus, virtual), len(jax.local_devices(backend="cpu")),
        )  # fmt: skip
    jax_cpus = jax.local_devices(backend="cpu")
    found = [_device(task, "CPU", i, jax_cpus[i % len(jax_cpus)]) for i in range(cpus)]
    accelerators = [("GPU", jax_cpus[i % len(jax_cpus)]) for i in range(virtual)] or _accelerators()
    accelerators = _visible(accelerators, config.gpu_options.visible_device_list)
    if accelerators:
        kind = accelerators[0][0]
        accelerators = accelerators[: counts[kind] if kind in counts else None]
    return found + [_device(task, kind, i, d) for i, (kind, d) in enumerate(accelerators)]


def _accelerators() -> list[tuple[str, Any]]:
    backend = jax.default_backend()
    return [] if backend == "cpu" else [(KINDS.get(backend, backend.upper()), d) for d in jax.local_devices()]


def accelerator_count(kind: str) -> int:
    """How many accelerators of a kind ("GPU", "TPU") this process has, virtual ones included; JAX is not started for it."""
    virtual = int(os.environ.get(VIRTUAL_GPUS) or 0)
    if virtual:
        return virtual if kind == "GPU" else 0
    return expected_count(kind)


def _visible(accelerators: list[tuple[str, Any]], visible: str) -> list[tuple[str, Any]]:
    """The accelerators that `visible_device_list` ("1,0") names, in its order; all where it is empty."""
    if not visible:
        return accelerators
    try:
        return [accelerators[int(i)] for i in visible.split(",")] if accelerators else []
    except (ValueError, IndexError):
        raise errors.InvalidArgumentError(
            None, None, f"'visible_device_list' is {visible!r}, but there are {len(accelerators)} devices, numbered from 0"
        ) from None


def _settle_memory(options: messages.GPUOptions) -> None:
    """Tells JAX how much GPU memory to take, as GPUOptions ask, where no backend has started yet."""
    fraction = options.per_process_gpu_memory_fraction
    if options.allow_growth or fraction:
        settings = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"} if options.allow_growth else {}
        if fraction:
            settings["XLA_PYTHON_CLIENT_MEM_FRACTION"] = str(fraction)
        if not jax_compat.backends_are_up():
            os.environ.update(settings)
        elif jax.default_backend() == "gpu" and any(os.environ.get(k) != v for k, v in settings.items()):
            logging.warning("GPUOptions on memory come too late: JAX has started already. Make the first Session with them.")


def _device(task: str, kind: str, index: int, jax_device: jax.Device) -> Device:
    return Device(f"{task}/device:{kind}:{index}", kind, jax_device)


def describe(found: list[Device]) -> list[DeviceAttributes]:
    return [DeviceAttributes(d.name, d.kind, _memory(d), i + 1) for i, d in enumerate(found)]


def mapping(found: list[Device]) -> str:
    """What `log_device_placement` prints first: which accelerator is which device of the machine."""
    lines = [f"{d.name} -> device: {d.jax_device.id}, name: {d.jax_device.device_kind}" for d in found if d.kind != "CPU"]
    return "\n".join(["Device mapping:", *lines]) if lines else "Device mapping: no known devices."


def _memory(device: Device) -> int:
    stats = device.jax_device.memory_stats() if device.kind != "CPU" else None
    return int(stats["bytes_limit"]) if stats and "bytes_limit" in stats else _UNLIMITED_CPU_BYTES
