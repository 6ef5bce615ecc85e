"""`tf.resource_loader`: files that lie beside a module."""

from __future__ import annotations

import inspect
import os

from tfcompat._src.base.export import export
from tfcompat._src.platform.sysconfig import PACKAGE


@export("resource_loader.load_resource")
def load_resource(path: str) -> bytes:
    """The bytes of the file `path` below the package's folder.

    Raises:
      OSError: it cannot be read.
    """
    with open(os.path.join(PACKAGE, path), "rb") as file:
        return file.read()


@export("resource_loader.get_data_files_path")
def get_data_files_path() -> str:
    """The folder of the file that calls this."""
    return os.path.dirname(inspect.getfile(inspect.currentframe().f_back))  # type: ignore[union-attr, arg-type]


@export("resource_loader.get_root_dir_with_all_resources")
def get_root_dir_with_all_resources() -> str:
    """The folder of the platform package, as outside a Bazel build."""
    return os.path.dirname(os.path.abspath(__file__))


@export("resource_loader.get_path_to_datafile")
def get_path_to_datafile(path: str) -> str:
    """The path of the file `path` that lies beside the file that calls this."""
    folder = os.path.dirname(inspect.getfile(inspect.currentframe().f_back))  # type: ignore[union-attr, arg-type]
    return os.path.join(folder, path)


@export("resource_loader.readahead_file_path")
def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """`path` itself: nothing is read ahead."""
    return path
