"""Detects the accelerators of this machine, by their device files, and the JAX plugins for them. Does not start JAX's backends."""

from __future__ import annotations

import importlib.metadata
import os
import pathlib
import re
from dataclasses import dataclass

import jax

from tfcompat._src.base import jax_compat

KINDS = {"cpu": "CPU", "gpu": "GPU", "cuda": "GPU", "rocm": "GPU", "tpu": "TPU"}
"""JAX's platforms -> TensorFlow's device types."""


@dataclass(frozen=True)
class Hardware:
    """A kind of accelerator.

    Attributes:
      kind: "GPU" or "TPU". name: for messages.
      devices: where its device files are, as (folder, regular expression of names).
      plugins: regular expression of the Python distributions that are JAX plugins for it. advice: how to install one.
    """

    kind: str
    name: str
    devices: tuple[tuple[str, str], ...]
    plugins: str
    advice: str

    def count(self) -> int:
        """The number of such devices in this machine, by their device files."""
        return max((sum(_matches(name, pattern) for name in _names(folder)) for folder, pattern in self.devices), default=0)

    def plugin(self) -> str | None:
        """Name and version of the installed plugin, or None."""
        for distribution in importlib.metadata.distributions():
            name = distribution.metadata["Name"] or ""
            if _matches(name.replace("_", "-").lower(), self.plugins):
                return f"{name} {distribution.version}"
        return None


# The device files that the drivers of each vendor create; the JAX packages are those of JAX's installation guide.
HARDWARE = (
    Hardware("GPU", "NVIDIA GPU", (("/dev", r"nvidia\d+"), ("/proc/driver/nvidia/gpus", r".+")),
             r"jax-cuda\d+-plugin", 'pip install "jax[cuda13]"; drivers before 580 and GPUs before compute capability 7.5 need "jax[cuda12]"'),
    Hardware("GPU", "AMD GPU", (("/sys/module/amdgpu/drivers/pci:amdgpu", r"[0-9a-f:.]+"),),
             r"jax-rocm\d+-plugin", "see https://docs.jax.dev/en/latest/installation.html"),
    Hardware("TPU", "TPU", (("/dev", r"accel\d+"), ("/dev/vfio", r"\d+")), r"libtpu.*", 'pip install "jax[tpu]"'),
)  # fmt: skip


def _names(folder: str) -> list[str]:
    """The names of files in a folder; none if it does not exist."""
    path = pathlib.Path(folder)
    return [p.name for p in path.iterdir()] if path.is_dir() else []


def _matches(name: str, pattern: str) -> bool:
    return re.fullmatch(pattern, name) is not None


def _allowed(kind: str) -> bool:
    """Whether the setting of JAX's platforms (JAX_PLATFORMS) permits devices of a kind."""
    platforms = jax_compat.platforms()
    return not platforms or any(KINDS.get(p) == kind for p in platforms.split(","))


def expected_count(kind: str) -> int:
    """The number of accelerators of a kind ("GPU", "TPU") that JAX has, or is expected to have when its backends start."""
    if jax_compat.backends_are_up():
        platform = jax.default_backend()
        return len(jax.local_devices()) if KINDS.get(platform) == kind else 0
    if not _allowed(kind):
        return 0
    # JAX is not started to count, as that would fix settings that a Session may still ask for.
    installed = sum(hardware.count() for hardware in HARDWARE if hardware.kind == kind and hardware.count() and hardware.plugin())
    visible = os.environ.get("CUDA_VISIBLE_DEVICES") if kind == "GPU" else None
    return installed if visible is None else min(installed, len([v for v in visible.split(",") if v.strip() not in ("", "-1")]))
