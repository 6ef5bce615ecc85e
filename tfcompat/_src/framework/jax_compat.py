"""Every touch of JAX that depends on its version or on its settings."""

from __future__ import annotations

import jax
import numpy as np


def x64() -> jax.enable_x64:
    """A context in which 64-bit types are real, whatever `jax_enable_x64` says outside."""
    return jax.enable_x64(True)


def own_array(value: np.ndarray | jax.Array, device: jax.Device | None = None) -> jax.Array:
    """A device array that shares no memory with `value`, so that it may be donated."""
    return jax.device_put(np.array(value), device, may_alias=False)


def to_numpy(value: np.ndarray | jax.Array) -> np.ndarray:
    """A writable NumPy array that stays valid when the device buffer is donated."""
    return np.array(value)
