"""`tf.gfile`: `tf.io.gfile` under TensorFlow 1's names."""

from __future__ import annotations

from collections.abc import Iterator

from tfcompat._src.base.export import export
from tfcompat._src.platform import file_io


@export("gfile.Exists")
def file_exists(filename: object) -> bool:
    """Whether there is a file or folder of that name; `tf.io.gfile.exists`."""
    return file_io.exists(filename)


@export("gfile.IsDirectory")
def is_directory(dirname: object) -> bool:
    """`tf.io.gfile.isdir`."""
    return file_io.isdir(dirname)


@export("gfile.MkDir")
def create_dir(dirname: object) -> None:
    """`tf.io.gfile.mkdir`."""
    file_io.mkdir(dirname)


@export("gfile.MakeDirs")
def recursive_create_dir(dirname: object) -> None:
    """Makes a folder and those above it; nothing where it is there; `tf.io.gfile.makedirs`."""
    file_io.makedirs(dirname)


@export("gfile.Glob")
def get_matching_files(filename: object) -> list[str]:
    """`tf.io.gfile.glob`."""
    return file_io.glob(filename)


@export("gfile.ListDirectory")
def list_directory(dirname: object) -> list[str]:
    """`tf.io.gfile.listdir`."""
    return file_io.listdir(dirname)


@export("gfile.Remove")
def delete_file(filename: object) -> None:
    """`tf.io.gfile.remove`."""
    file_io.remove(filename)


@export("gfile.DeleteRecursively")
def delete_recursively(dirname: object) -> None:
    """`tf.io.gfile.rmtree`."""
    file_io.rmtree(dirname)


@export("gfile.Copy")
def copy(oldpath: object, newpath: object, overwrite: bool = False) -> None:
    """`tf.io.gfile.copy`."""
    file_io.copy(oldpath, newpath, overwrite)


@export("gfile.Rename")
def rename(oldname: object, newname: object, overwrite: bool = False) -> None:
    """`tf.io.gfile.rename`."""
    file_io.rename(oldname, newname, overwrite)


@export("gfile.Stat")
def stat(filename: object) -> file_io.FileStatistics:
    """`tf.io.gfile.stat`."""
    return file_io.stat(filename)


@export("gfile.Walk")
def walk(top: object, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """`tf.io.gfile.walk`."""
    return file_io.walk(top, topdown=in_order)
