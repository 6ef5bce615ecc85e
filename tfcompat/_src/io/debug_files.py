"""Writes the files of a debugger's dump: tensors, graphs, and what is known of a run, each one Event message in a file of its own."""

from __future__ import annotations

import hashlib
import io
import json
import os
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.platform import file_io, logging
from tfcompat._src.proto import messages

METADATA_FILE_PREFIX = "_tfdbg_"
CORE_METADATA_TAG = "core_metadata_"
GRAPH_FILE_TAG = "graph_"
DEVICE_TAG = "device_"
HASH_TAG = "hash"
FILE_URL = "file://"
LIMIT_VARIABLE = "TFDBG_DISK_BYTES_LIMIT"
_LIMIT = 100 * 2**30
LARGEST = 2**31 - 2**16
"""Bytes of a tensor in a file, which is a message of less than 2 GiB; the value of a larger one is left out."""


class _DiskUsage:
    """How many bytes of tensors this process has dumped."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used = 0

    def reset(self) -> None:
        """Counts from zero again."""
        with self._lock:
            self._used = 0

    def take(self, size: int, name: str) -> None:
        """Counts `size` more bytes.

        Raises:
          errors.ResourceExhaustedError: they would be more than TFDBG_DISK_BYTES_LIMIT allows.
        """
        limit = int(os.environ.get(LIMIT_VARIABLE) or _LIMIT)
        with self._lock:
            if self._used + size > limit:
                raise errors.ResourceExhaustedError(
                    None, None, f"TensorFlow Debugger has exhausted file-system byte-size allowance ({limit}), therefore it cannot dump an "
                    f"additional {size} byte(s) of tensor data for the debug tensor {name}. You may use the environment variable "
                    f"{LIMIT_VARIABLE} to set a higher limit."
                )  # fmt: skip
            self._used += size


DISK_USAGE = _DiskUsage()


def device_folder(device: str) -> str:
    """Returns the folder of a device in a dump."""
    return METADATA_FILE_PREFIX + DEVICE_TAG + device.replace(":", "_").replace("/", ",")


def tensor_proto(value: Any) -> messages.TensorProto:
    """Returns the message of an array, with its bytes in `tensor_content`, or the strings in `string_val`."""
    found = messages.TensorProto()
    if value.dtype.kind in "OSU":
        found.dtype = dtypes.string.as_datatype_enum
        found.string_val.extend(v if isinstance(v, bytes) else str(v).encode() for v in value.ravel().tolist())
    else:
        kind = value.dtype.names[0] if value.dtype.names else None
        found.dtype = dtypes.as_dtype(value.dtype).as_datatype_enum
        found.tensor_content = np.ascontiguousarray(value if kind is None else value[kind]).tobytes()
    _set_shape(found, value.shape)
    return found


def empty_proto(dtype: dtypes.DType, shape: Sequence[int] | None) -> messages.TensorProto:
    """Returns the message of a tensor that has no value yet."""
    found = messages.TensorProto(dtype=dtype.base_dtype.as_datatype_enum)
    _set_shape(found, shape or ())
    return found


def handle_proto(dtype: dtypes.DType, handle: bytes) -> messages.TensorProto:
    """Returns the message of a handle: a resource or variant, of which nothing but its name can be read."""
    found = messages.TensorProto(dtype=dtype.base_dtype.as_datatype_enum, tensor_content=handle or b"\0")
    _set_shape(found, ())
    return found


def _set_shape(proto: messages.TensorProto, shape: Sequence[int]) -> None:
    proto.tensor_shape.SetInParent()
    for size in shape:
        proto.tensor_shape.dim.add(size=size)


def write_tensor(url: str, device: str, name: str, debug_op: str, proto: messages.TensorProto, microseconds: int) -> None:
    """Writes one tensor into a dump.

    Args:
      url: "file://" and the folder of the dump. device: the device of the tensor. name: the tensor's name: "NODE:SLOT".
      debug_op: the type of the debug op. proto: what it gives. microseconds: the time since 1970.

    Raises:
      errors.ResourceExhaustedError: it is more than TFDBG_DISK_BYTES_LIMIT allows. errors.InternalError: it cannot be written.
    """
    size = len(proto.tensor_content) + sum(map(len, proto.string_val))
    if size > LARGEST:
        logging.warning(f"The debugger leaves out the value of {name}, which has {size} bytes: a file holds {LARGEST} at most.")
        proto, size = messages.TensorProto(dtype=proto.dtype, tensor_shape=proto.tensor_shape), 0
    DISK_USAGE.take(size, name)
    node, _, slot = name.rpartition(":")
    event = tensor_event(device, name, debug_op, proto, microseconds)
    _write(url, os.path.join(device_folder(device), f"{node}_{slot}_{debug_op}"), event, microseconds)


def tensor_event(
    device: str, name: str, debug_op: str, proto: messages.TensorProto, microseconds: int, count: int = 1, index: int = 0
) -> messages.Event:  # fmt: skip
    """Returns the message of a tensor, or of the part `index` of `count` parts; the other arguments are as for `write_tensor`."""
    node, _, slot = name.rpartition(":")
    event = messages.Event(wall_time=float(microseconds))
    value = event.summary.value.add(tag=node, node_name=f"{name}:{debug_op}")
    value.tensor.CopyFrom(proto)
    value.metadata.plugin_data.plugin_name = "debugger"
    about = {"device": device, "outputSlot": int(slot), "numChunks": count, "chunkIndex": index}
    value.metadata.plugin_data.content = json.dumps(about, separators=(",", ":")).encode()
    return event


def graph_content(graph_def: messages.GraphDef) -> tuple[bytes, int]:
    """Returns the bytes of a graph, and a number that tells it from others."""
    content = graph_def.SerializeToString(deterministic=True)
    return content, int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def write_graph(url: str, device: str, graph_def: messages.GraphDef) -> None:
    """Writes the graph of a device into a dump; raises as `write_tensor`."""
    content, number = graph_content(graph_def)
    microseconds = now()
    event = messages.Event(wall_time=float(microseconds), graph_def=content)
    _write(url, os.path.join(device_folder(device), f"{METADATA_FILE_PREFIX}{GRAPH_FILE_TAG}{HASH_TAG}{number}"), event, microseconds)


def write_core_metadata(url: str, metadata: dict[str, Any]) -> None:
    """Writes what is known of a run into a dump: a dict as JSON, with `session_run_index` in the file's name; raises as `write_tensor`."""
    microseconds = now()
    event = messages.Event(wall_time=float(microseconds))
    event.log_message.message = json.dumps(metadata, separators=(",", ":"))
    _write(url, f"{METADATA_FILE_PREFIX}{CORE_METADATA_TAG}sessionrun{metadata['session_run_index']:014d}", event, microseconds)


def now() -> int:
    """Returns the time in microseconds since 1970."""
    return time.time_ns() // 1000


def _write(url: str, name: str, event: messages.Event, microseconds: int) -> None:
    """Writes an event as a file of its own, whose name ends with the time, and "-1", "-2" where there is one from the same time."""
    content = event.SerializeToString()
    path = start = file_io.local(os.path.join(url.removeprefix(FILE_URL), f"{name}_{microseconds}"))
    count = 0
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        while True:
            try:
                with open(path, "xb", buffering=0) as file:
                    _write_all(file, path, content)
                return
            except FileExistsError:
                count += 1
                path = f"{start}-{count}"
    except OSError as e:
        text = f"Publishing to the debug target URL {url} failed: {path}: {e.strerror}"
        raise errors.InternalError(None, None, text) from e


def _write_all(file: io.FileIO, path: str, content: bytes) -> None:
    """Writes all of a file, or removes it."""
    view = memoryview(content)
    try:
        while view:
            view = view[file.write(view) :]
    except OSError:
        os.unlink(path)
        raise
