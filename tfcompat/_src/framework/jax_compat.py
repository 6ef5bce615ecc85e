"""Every touch of JAX that depends on its version or on its settings."""

from __future__ import annotations

import ctypes
import logging
import os
import sys
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

# JAX reports each backend that is not there at the level INFO, which TensorFlow programs often turn on.
logging.getLogger("jax._src.xla_bridge").setLevel(logging.WARNING)

# By default XLA CPU gives convolutions to a library that runs most large ones on one core.
_CPU_OPTIONS = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_DOT"}


def x64() -> jax.enable_x64:
    """A context in which 64-bit types are real, whatever `jax_enable_x64` says outside."""
    return jax.enable_x64(True)


def jit(function: Callable, donate: tuple[int, ...]) -> Any:
    """`jax.jit` with the settings that compiled clusters want."""
    options = _CPU_OPTIONS if jax.default_backend() == "cpu" and jax.__version_info__ < (0, 13) else None
    return jax.jit(function, donate_argnums=donate, compiler_options=options)


def own_array(value: np.ndarray | jax.Array, device: jax.Device | None = None) -> jax.Array:
    """A device array that shares no memory with `value`, so that it may be donated."""
    return jax.device_put(np.array(value), device, may_alias=False)


def to_numpy(value: np.ndarray | jax.Array) -> np.ndarray:
    """A writable NumPy array that stays valid when the device buffer is donated."""
    return np.array(value)


def keep_freed_memory() -> None:
    """Lets the C library keep large freed blocks for the next ones, instead of giving each back to the system.

    Compiled CPU programs allocate their temporaries anew in every call; with glibc's defaults the page faults of those cost up
    to half of a step. Settings that the user gave (GLIBC_TUNABLES, MALLOC_...) are left alone, other C libraries too.
    """
    if sys.platform != "linux" or any(k == "GLIBC_TUNABLES" or k.startswith("MALLOC_") for k in os.environ):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in ((_M_MMAP_THRESHOLD, 1 << 30), (_M_TRIM_THRESHOLD, (1 << 31) - 1), (_M_ARENA_MAX, 1)):
            mallopt(parameter, value)


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
keep_freed_memory()
