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
from tfcompat._src.runtime.devices.hardware import KINDS, expected_count

VIRTUAL_GPUS = "TFCOMPAT_VIRTUAL_GPUS"
TASK = "/job:localhost/replica:0/task:0"
_UNLIMITED_CPU_BYTES = 268435456


@dataclass(frozen=True)
class Device:
    """A device of a session: its full name ("/job:J/replica:0/task:T/device:KIND:N"), kind ("CPU", "GPU", "TPU") and JAX device."""

    name: str
    kind: str
    jax_device: jax.Device


class DeviceAttributes:
    """A row of `Session.list_devices`. Attributes as those of 1.15's class."""

    def __init__(self, name: str, device_type: str, memory_limit_bytes: int, incarnation: int) -> None:
        self.name, self.device_type = canonical_name(name), device_type
        self.memory_limit_bytes, self.incarnation = memory_limit_bytes, incarnation

    def __repr__(self) -> str:
        return f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, {self.incarnation})"


def session_devices(config: messages.ConfigProto, task: str = TASK) -> list[Device]:
    """The devices of a task, CPUs first.

    Args:
      config: `device_count` gives the number of CPU devices (at least 1) and limits that of accelerators; `gpu_options` selects which
        accelerators are visible and how much of their memory JAX takes. task: "/job:J/replica:0/task:T".

    Raises:
      errors.InvalidArgumentError: `visible_device_list` names a device that does not exist.
    """
    counts = config.device_count
    cpus = max(1, counts["CPU"] if "CPU" in counts else 1)
    virtual = int(os.environ.get(VIRTUAL_GPUS) or 0)
    _settle_memory(config.gpu_options)
    # JAX fixes the number of CPU devices when its backend starts. Later sessions share the devices that there are.
    if max(cpus, virtual) > 1 and not jax_compat.ask_for_cpu_devices(max(cpus, virtual)):
        logging.warning(
            "The session asks for %d CPU devices, but JAX has started with %d, which these share. Ask for them before the first Session.",
            max(cpus, virtual), len(jax.local_devices(backend="cpu")),
        )  # fmt: skip
    # Virtual GPUs share JAX's CPU devices with the session's CPUs: /GPU:0 is the same JAX device as /CPU:0.
    jax_cpus = jax.local_devices(backend="cpu")
    cpu_devices = [_device(task, "CPU", i, jax_cpus[i % len(jax_cpus)]) for i in range(cpus)]
    accelerators = [("GPU", jax_cpus[i % len(jax_cpus)]) for i in range(virtual)] or _accelerators()
    accelerators = _visible(accelerators, config.gpu_options.visible_device_list)
    if accelerators:
        kind = accelerators[0][0]
        accelerators = accelerators[: counts[kind] if kind in counts else None]
    return cpu_devices + [_device(task, kind, i, d) for i, (kind, d) in enumerate(accelerators)]


def _accelerators() -> list[tuple[str, Any]]:
    """(kind, JAX device) of each device of JAX's default backend; none if that is the CPU."""
    backend = jax.default_backend()
    return [] if backend == "cpu" else [(KINDS.get(backend, backend.upper()), d) for d in jax.local_devices()]


def accelerator_count(kind: str) -> int:
    """The number of accelerators of a kind ("GPU", "TPU"), virtual ones included. Does not start JAX's backends."""
    virtual = int(os.environ.get(VIRTUAL_GPUS) or 0)
    if virtual:
        return virtual if kind == "GPU" else 0
    return expected_count(kind)


def _visible(accelerators: list[tuple[str, Any]], visible: str) -> list[tuple[str, Any]]:
    """Selects accelerators by `visible_device_list` ("1,0"), in its order; all if it is empty."""
    if not visible:
        return accelerators
    try:
        return [accelerators[int(i)] for i in visible.split(",")] if accelerators else []
    except (ValueError, IndexError):
        raise errors.InvalidArgumentError(
            None, None, f"'visible_device_list' is {visible!r}, but it must list numbers of the {len(accelerators)} devices, counted from 0."
        ) from None


def _settle_memory(options: messages.GPUOptions) -> None:
    """Sets XLA's memory options from GPUOptions. They are environment variables, which JAX reads when its GPU backend starts.

    Logs a warning where the backend has started with others.
    """
    # By default JAX preallocates most of the memory of a GPU, as TensorFlow does.
    fraction = options.per_process_gpu_memory_fraction
    if options.allow_growth or fraction:
        settings = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"} if options.allow_growth else {}
        if fraction:
            settings["XLA_PYTHON_CLIENT_MEM_FRACTION"] = str(fraction)
        if not jax_compat.backends_are_up():
            os.environ.update(settings)
        elif jax.default_backend() == "gpu" and any(os.environ.get(k) != v for k, v in settings.items()):
            logging.warning("The memory settings in GPUOptions have no effect, as JAX has already started. Pass them to the first Session.")


def _device(task: str, kind: str, index: int, jax_device: jax.Device) -> Device:
    return Device(f"{task}/device:{kind}:{index}", kind, jax_device)


def describe(found: list[Device]) -> list[DeviceAttributes]:
    """Devices as `Session.list_devices` returns them; the incarnation is the device's index plus one."""
    return [DeviceAttributes(d.name, d.kind, _memory(d), i + 1) for i, d in enumerate(found)]


def mapping(found: list[Device]) -> str:
    """The header that `log_device_placement` prints, in 1.15's form: the hardware behind each accelerator."""
    lines = [f"{d.name} -> device: {d.jax_device.id}, name: {d.jax_device.device_kind}" for d in found if d.kind != "CPU"]
    return "\n".join(["Device mapping:", *lines]) if lines else "Device mapping: no known devices."


def _memory(device: Device) -> int:
    """The memory limit of a device in bytes; for CPUs the constant that 1.15 reports (256 MiB)."""
    stats = device.jax_device.memory_stats() if device.kind != "CPU" else None
    return int(stats["bytes_limit"]) if stats and "bytes_limit" in stats else _UNLIMITED_CPU_BYTES
