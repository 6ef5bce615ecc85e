"""The files of a debugger's dump: how they are named, and what is read from one of them.

Each holds one Event message, without the frame of TFRecord files: `DEVICE/SCOPE/NODE_SLOT_DEBUGOP_MICROSECONDS` a tensor, and those whose
names begin with `_tfdbg_` the graph of a device and what is known of the run.
"""

from __future__ import annotations

import collections
import json
import math
import os
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from tfcompat._src.base import dtypes, errors
from tfcompat._src.graph.tensor_proto import make_ndarray
from tfcompat._src.io import debug_files
from tfcompat._src.io.debug_files import DEVICE_TAG, METADATA_FILE_PREFIX
from tfcompat._src.platform import compat, file_io
from tfcompat._src.proto import messages

FETCHES_INFO_FILE_TAG = "fetches_info_"
FEED_KEYS_INFO_FILE_TAG = "feed_keys_info_"

_CoreMetadata = collections.namedtuple(
    "CoreMetadata", ["global_step", "session_run_index", "executor_step_index", "input_names", "output_names", "target_nodes"]
)


class InconvertibleTensorProto:
    """A tensor that has no NumPy value: one that was not initialized, or a handle.

    Args:
      tensor_proto: the TensorProto. initialized: whether the tensor had a value.
    """

    def __init__(self, tensor_proto: messages.TensorProto, initialized: bool = True) -> None:
        self._tensor_proto = tensor_proto
        self._initialized = initialized

    def __str__(self) -> str:
        return f"{'' if self._initialized else 'Uninitialized tensor:' + chr(10)}{self._tensor_proto}"

    @property
    def initialized(self) -> bool:
        """Whether the tensor had a value."""
        return self._initialized


def read_event(path: str) -> messages.Event:
    """Reads the Event message that a file of a dump holds; DataLossError where it is damaged."""
    with file_io.FileIO(path, "rb") as file:
        content = file.read()
    try:
        event: messages.Event = messages.Event.FromString(content)
    except DecodeError as e:
        raise _damaged(path) from e
    return event


def _damaged(path: str) -> errors.DataLossError:
    return errors.DataLossError(None, None, f"{path} is cut off or damaged: it holds no Event message as the debugger writes them.")


def load_tensor_from_event_file(event_file_path: str) -> Any:
    """Reads a tensor from a file of a dump; `load_tensor_from_event` says what is returned.

    Raises:
      errors.DataLossError: the file is cut off or damaged.
    """
    event = read_event(event_file_path)
    if not event.summary.value:
        raise _damaged(event_file_path)
    return load_tensor_from_event(event)


def load_tensor_from_event(event: messages.Event) -> Any:
    """Returns the tensor of an Event message.

    Args:
      event: its first summary value holds the tensor.

    Returns:
      a NumPy array; an InconvertibleTensorProto for a tensor without a value, or of a type that NumPy lacks.
    """
    proto = event.summary.value[0].tensor
    size = math.prod(dim.size for dim in proto.tensor_shape.dim)
    if size and not proto.tensor_content and not proto.string_val:
        return InconvertibleTensorProto(proto, False)
    if proto.dtype == dtypes.resource.as_datatype_enum or not dtypes.as_dtype(proto.dtype).is_numpy_compatible:
        return InconvertibleTensorProto(proto)
    return make_ndarray(proto)


def extract_core_metadata_from_event_proto(event: messages.Event) -> _CoreMetadata:
    """Returns what an Event message tells of a run: a tuple with its indices and the names of its feeds, fetches and targets."""
    found = json.loads(event.log_message.message)
    return _CoreMetadata(*(found[field] for field in _CoreMetadata._fields))


def device_name_to_device_path(device_name: str) -> str:
    """Returns the folder of a device in a dump."""
    return debug_files.device_folder(compat.as_text(device_name))


def device_path_to_device_name(device_dir: str) -> str:
    """Returns the device whose folder in a dump this is."""
    parts = os.path.basename(device_dir)[len(METADATA_FILE_PREFIX + DEVICE_TAG) :].split(",")
    return "/".join(part.replace("device_", "device:").replace("_", ":", 1) for part in parts)


def watch_key(node_name: str, output_slot: int, debug_op: str) -> str:
    """Returns the name of a watch: "NODE:SLOT:DEBUGOP"."""
    return f"{node_name}:{output_slot}:{debug_op}"


def has_inf_or_nan(datum: object, tensor: Any) -> bool:
    """Whether a tensor has infinite values or NaNs: a filter for `DebugDumpDir.find` and the debugger's command line.

    Args:
      datum: the DebugTensorDatum, which makes no difference. tensor: its value, a NumPy array or InconvertibleTensorProto.
    """
    if isinstance(tensor, InconvertibleTensorProto) or not np.issubdtype(tensor.dtype, np.number):
        return False
    return bool(not np.all(np.isfinite(tensor)))


class DebugTensorDatum:
    """One dumped tensor, whose value is read from its file when it is asked for.

    Args:
      dump_root: the folder of the dump.
      debug_dump_rel_path: the path of the file in it, which begins with the folder of a device.

    Raises:
      ValueError: the file's name is not that of a dumped tensor.
    """

    def __init__(self, dump_root: str, debug_dump_rel_path: str) -> None:
        path = os.path.normpath(debug_dump_rel_path).split(os.sep)
        device, scopes, base = path[0], path[1:-1], path[-1]
        parts = base.rsplit("_", 3)
        if len(parts) < 4:
            raise ValueError(f"Dump file path does not conform to the naming pattern: {base}")
        node, slot, self._debug_op, self._extended_timestamp = parts
        self._device_name = device_path_to_device_name(device)
        self._node_name = "/".join([*scopes, node])
        self._output_slot = int(slot)
        self._timestamp = int(self._extended_timestamp.partition("-")[0])
        self._file_path = os.path.join(dump_root, debug_dump_rel_path)
        self._dump_size_bytes = file_io.stat(self._file_path).length if file_io.exists(self._file_path) else None

    def __str__(self) -> str:
        return f"{{DebugTensorDatum ({self.device_name}) {self.tensor_name} @ {self.debug_op} @ {self.timestamp}}}"

    __repr__ = __str__

    def get_tensor(self) -> Any:
        """Reads the value; `load_tensor_from_event` says what is returned."""
        return load_tensor_from_event_file(self.file_path)

    @property
    def timestamp(self) -> int:
        """When the tensor was dumped, in microseconds since 1970."""
        return self._timestamp

    @property
    def extended_timestamp(self) -> str:
        """The time as in the file's name: with "-1", "-2" behind it where the same tensor was dumped before in the same microsecond."""
        return self._extended_timestamp

    @property
    def debug_op(self) -> str:
        """The type of the debug op."""
        return self._debug_op

    @property
    def device_name(self) -> str:
        """The device that the tensor was on."""
        return self._device_name

    @property
    def node_name(self) -> str:
        """The node that made the tensor."""
        return self._node_name

    @property
    def output_slot(self) -> int:
        """Which output of the node it is."""
        return self._output_slot

    @property
    def tensor_name(self) -> str:
        """The tensor's name: "NODE:SLOT"."""
        return f"{self.node_name}:{self.output_slot}"

    @property
    def watch_key(self) -> str:
        """The name of the watch: "NODE:SLOT:DEBUGOP"."""
        return watch_key(self.node_name, self.output_slot, self.debug_op)

    @property
    def file_path(self) -> str:
        """The path of the file."""
        return self._file_path

    @property
    def dump_size_bytes(self) -> int | None:
        """The size of the file in bytes; None where there was no file."""
        return self._dump_size_bytes
