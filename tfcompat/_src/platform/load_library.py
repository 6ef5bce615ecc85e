"""tf.load_op_library and the like: shared objects are loaded; ops of TensorFlow in them find no TensorFlow to register with."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import types
from typing import Any

from tfcompat._src.base.errors import NotFoundError
from tfcompat._src.base.export import export

_KERNELS = re.compile(r"libtfkernel.*\.so(\.\d+){0,3}")


def _load(path: object) -> ctypes.CDLL:
    if not isinstance(path, (str, bytes)):
        raise TypeError(f"the path of a library must be a string, not {path!r}")
    try:
        return ctypes.CDLL(os.fsdecode(path))
    except OSError as e:
        raise NotFoundError(None, None, str(e)) from None


@export("load_op_library")
def load_op_library(library_filename: object) -> types.ModuleType:
    """Loads a shared object.

    A library of op kernels is built against TensorFlow's own, and is refused where that is not in the process: write its
    ops with tf.py_func, or of other ops.

    Args:
      library_filename: its path.

    Returns:
      A module with `LIB_HANDLE`, the loaded object; without ops.

    Raises:
      NotFoundError: there is no such file, or it cannot be loaded. TypeError: the path is no string.
    """
    found = types.ModuleType(os.path.basename(os.fsdecode(library_filename)) if isinstance(library_filename, (str, bytes)) else "")
    found.LIB_HANDLE = _load(library_filename)  # type: ignore[attr-defined]
    return found


@export("load_library")
def load_library(library_location: Any) -> None:
    """Loads a shared object, or those of a folder that are named libtfkernel*.so; see `load_op_library`.

    Raises:
      OSError: there is no such file or folder. NotFoundError: it cannot be loaded.
    """
    if not os.path.exists(library_location):
        text = "The file or folder to load kernel libraries from does not exist."
        raise OSError(errno.ENOENT, text, library_location)
    if not os.path.isdir(library_location):
        _load(library_location)
        return
    for name in sorted(filter(_KERNELS.fullmatch, os.listdir(library_location))):
        _load(os.path.join(library_location, name))


@export("load_file_system_library")
def load_file_system_library(library_filename: object) -> None:
    """Loads a shared object; see `load_op_library`."""
    _load(library_filename)
