"""Which devices a test has, and blocks that put ops on one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import jax

import tfcompat as tf
from tfcompat._src.base.export import export
from tfcompat._src.proto import messages
from tfcompat._src.runtime.devices.devices import accelerator_count, session_devices


def gpus() -> list[jax.Device]:
    """The GPUs of this process, or the devices that stand in for them."""
    return [d.jax_device for d in session_devices(messages.ConfigProto()) if d.kind == "GPU"]


@export("test.gpu_device_name")
def gpu_device_name() -> str:
    """ "/device:GPU:0", or an empty text where there is no GPU."""
    return "/device:GPU:0" if accelerator_count("GPU") else ""


@export("test.is_gpu_available")
def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None) -> bool:
    """Whether there is a GPU, or a device that stands in for one.

    Args:
      cuda_only: nothing here: every GPU counts, as in TensorFlow.
      min_cuda_compute_capability: the lowest (major, minor) that counts, or None; stand-ins have none and count.
    """
    if min_cuda_compute_capability is None:
        return accelerator_count("GPU") > 0
    found = [_capability(gpu) for gpu in gpus()]
    return any(c is None or c >= tuple(min_cuda_compute_capability) for c in found)


def _capability(gpu: jax.Device) -> tuple[int, ...] | None:
    if gpu.platform == "cpu":
        return None
    return tuple(int(part) for part in str(gpu.compute_capability).split("."))


@export("test.is_built_with_cuda")
def is_built_with_cuda() -> bool:
    """Whether a CUDA GPU can be used."""
    return bool(gpus())


@export("test.is_built_with_gpu_support")
def is_built_with_gpu_support() -> bool:
    """Whether a GPU can be used."""
    return is_built_with_cuda() or is_built_with_rocm()


@export("test.is_built_with_rocm")
def is_built_with_rocm() -> bool:
    """Whether a ROCm GPU can be used."""
    return any("rocm" in getattr(gpu.client, "platform_version", "").lower() for gpu in gpus())


IsGoogleCudaEnabled = is_built_with_cuda
IsBuiltWithROCm = is_built_with_rocm


def GpuSupportsHalfMatMulAndConv() -> bool:  # noqa: N802
    """Whether matmul and convolution take float16 on a GPU."""
    return bool(gpus())


def IsMklEnabled() -> bool:  # noqa: N802
    """Whether MKL computes: never."""
    return False


def InstallStackTraceHandler() -> None:  # noqa: N802
    """Nothing: Python prints its own stack traces."""


def device(use_gpu: bool) -> contextlib.AbstractContextManager[None]:
    """A block whose ops go on the GPU if `use_gpu` and there is one, else on the CPU."""
    return tf.device(gpu_device_name() if use_gpu and gpus() else "/device:CPU:0")


@contextlib.contextmanager
def use_gpu() -> Iterator[None]:
    """A block whose ops go on the GPU if there is one, else on the CPU."""
    with device(use_gpu=True):
        yield


@contextlib.contextmanager
def force_gpu() -> Iterator[None]:
    """A block whose ops go on the GPU."""
    with tf.device("/device:GPU:0"):
        yield


@contextlib.contextmanager
def force_cpu() -> Iterator[None]:
    """A block whose ops go on the CPU."""
    with tf.device("/device:CPU:0"):
        yield
