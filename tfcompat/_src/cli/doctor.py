"""`tfcompat doctor`: which JAX and which devices there are, where operations would go, and what is missing."""

from __future__ import annotations

import argparse
import os
import platform

import jax
import jaxlib
import numpy as np

from tfcompat._src.base import errors, promotion
from tfcompat._src.cli import timed_training
from tfcompat._src.graph.graph import Graph
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.proto import messages
from tfcompat._src.runtime.devices.devices import VIRTUAL_GPUS, Device
from tfcompat._src.runtime.devices.hardware import HARDWARE, KINDS, Hardware
from tfcompat._src.runtime.session.session import Session

ARGUMENTS = ""
_GIGABYTE = 1 << 30
_SETTINGS = (
    "JAX_PLATFORMS", "XLA_FLAGS", "CUDA_VISIBLE_DEVICES", "XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "JAX_COMPILATION_CACHE_DIR", VIRTUAL_GPUS,
)  # fmt: skip
_ASKED = ("", "/cpu:0", "/gpu:0", "/device:TPU:0")


def main(arguments: list[str]) -> int:
    """Prints the report.

    Args:
      arguments: none.

    Returns:
      0; 1 where the machine has an accelerator that JAX does not use, a device does not compute, or training does not lower a loss.
    """
    argparse.ArgumentParser(prog="tfcompat doctor", description="what tfcompat finds on this machine").parse_args(arguments)
    print(f"Python {platform.python_version()}, JAX {jax.__version__}, jaxlib {jaxlib.__version__}, NumPy {np.__version__}")
    if not promotion.CAN_BE_OLD:
        print("  this NumPy promotes by type alone: np.ones(1, np.float32) * np.float64(2), float32 in a TensorFlow 1 program, is float64; "
              "NumPy 2.1 (Python 3.11 to 3.13) has both rules")  # fmt: skip
    for name in _SETTINGS:
        if name in os.environ:
            print(f"  {name}={os.environ[name]}")
    with Graph().as_default(), Session(config=messages.ConfigProto()) as session:
        computes = [_print_device(device) for device in session.context.devices]
        _print_placement()
    trains = _print_training()
    print("Accelerators:")
    usable = [_print_hardware(hardware) for hardware in HARDWARE]
    return 0 if all(computes) and trains and all(usable) else 1


def _print_device(device: Device) -> bool:
    """Prints one device of a session; whether it computes."""
    stats = device.jax_device.memory_stats() or {}
    memory = f", {stats['bytes_limit'] / _GIGABYTE:.1f} GiB" if "bytes_limit" in stats else ""
    stand_in = " standing in" if KINDS.get(device.jax_device.platform, device.kind) != device.kind else ""
    try:
        outcome, works = f"computes: {_product(device.name)}", True
    except errors.OpError as e:
        outcome, works = f"fails: {e.message.splitlines()[0]}", False
    print(f"{device.name}: {device.jax_device.device_kind}{stand_in}{memory}; {outcome}")
    return works


def _product(where: str, soft: bool = False) -> str:
    """Computes a small matrix product on a device; "ok", and the device where it ran."""
    graph = Graph()
    with graph.as_default(), graph.device(where or None):
        x = placeholder("float32", [8, 8])
        y = matmul(x, x)
    with Session(graph=graph, config=messages.ConfigProto(allow_soft_placement=soft)) as session:
        right = np.array_equal(session.run(y, {x: np.eye(8)}), np.eye(8))
        return f"{'ok' if right else 'wrong result'}, on {session.context.placer.device_of(y.op).name.rpartition('/device:')[2]}"


def _print_placement() -> None:
    print("Placement:")
    for where in _ASKED:
        text = f'  with tf.device("{where}"): ' if where else "  without tf.device: "
        try:
            print(text + _product(where))
        except errors.InvalidArgumentError:
            print(f"{text}InvalidArgumentError, no such device; with allow_soft_placement=True {_product(where, soft=True)}")


def _print_training() -> bool:
    """Trains a small network, and prints where and how long; whether its loss went down."""
    try:
        run = timed_training.train()
    except errors.OpError as e:
        print(f"Training: fails: {e.message.splitlines()[0]}")
        return False
    first, last = run.losses
    print(f"Training: {timed_training.STEPS} steps on {run.device}, loss {first:.3f} -> {last:.3f}; the first took {run.compiling:.2f} s "
          f"with compiling, the others {1000 * run.step:.2f} ms each")  # fmt: skip
    return last < first


def _print_hardware(hardware: Hardware) -> bool:
    """Prints what is there of a kind of accelerator; whether nothing is missing."""
    count, plugin = hardware.count(), hardware.plugin()
    in_use = KINDS.get(jax.default_backend()) == hardware.kind
    if not count:
        print(f"  {hardware.name}: none in this machine" + (f" ({plugin} is installed)" if plugin else ""))
        return True
    if in_use:
        print(f"  {hardware.name}: {count} in this machine, {jax.local_device_count()} in use by {plugin}")
        return True
    if plugin:
        print(f"  {hardware.name}: {count} in this machine, but JAX does not use them although {plugin} is installed: see JAX_PLATFORMS "
              "and CUDA_VISIBLE_DEVICES above, and the driver")  # fmt: skip
    else:
        print(f"  {hardware.name}: {count} in this machine, but JAX has no plugin for them. To get it: {hardware.advice}")
    return False
