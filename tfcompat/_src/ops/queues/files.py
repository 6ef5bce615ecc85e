"""Whole files as operations: read_file, write_file, matching_files."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, NotDifferentiable, op
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.queues.reader_state import read_file as contents_of
from tfcompat._src.ops.queues.reader_state import strings
from tfcompat._src.ops.queues.resource import invalid
from tfcompat._src.platform import file_io

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_add = functools.partial(op, side=HOST, effects=EXTERNAL, gradient=NotDifferentiable("files have no derivative", raises=True))


def _require_scalar(label: str, value: np.ndarray) -> None:
    if value.ndim:
        raise invalid(f"{label} tensor must be scalar, but had shape: {shape_text(value.shape)}")


def _scalars_in(count: int) -> Any:
    def shape(c):
        for sizes in c.inputs[:count]:
            si.with_rank(sizes, 0)
        return [()] * len(c.op.outputs)

    return shape


def _read(filename):
    if filename.ndim:
        raise invalid(f"Input filename tensor must be scalar, but had shape: {shape_text(filename.shape)}")
    return contents_of(filename.item())


def _write(filename, contents):
    _require_scalar("Input filename", filename)
    _require_scalar("Contents", contents)
    path = file_io.local(filename.item())
    file_io.makedirs(os.path.dirname(path))
    with file_io.opened(path, "wb") as file, file_io.tensorflow_errors(path):
        file.write(contents.item())
    return ()


def _names_shape(c):
    si.with_rank_at_most(c.inputs[0], 1)
    return [(None,)]


def _matching(pattern):
    if pattern.ndim > 1:
        raise invalid(f"Input patterns tensor must be scalar or vector, but had shape: {shape_text(pattern.shape)}")
    found = {name.encode() for p in pattern.reshape(-1).tolist() for name in file_io.glob(p)}
    return strings(sorted(found))


_add("ReadFile", "(filename: string) -> (contents: string)", shape=_scalars_in(1), kernel=_read)
_add("WriteFile", "(filename: string, contents: string) -> ()", shape=_scalars_in(2), kernel=_write)
_add("MatchingFiles", "(pattern: string) -> (filenames: string)", shape=_names_shape, kernel=_matching)


@export("read_file", "io.read_file")
def read_file(filename: TensorLike, name: str | None = None) -> Tensor:
    """The contents of the file `filename` (string scalar), a string scalar; NotFoundError in a run without it."""
    return raw.ReadFile(filename, name=name)


@export("write_file", "io.write_file")
def write_file(filename: TensorLike, contents: TensorLike, name: str | None = None) -> Operation:
    """Writes `contents` (string scalar) to the file `filename`, making its folder where needed."""
    return raw.WriteFile(filename, contents, name=name)


@export("matching_files", "io.matching_files")
def matching_files(pattern: TensorLike, name: str | None = None) -> Tensor:
    """The sorted names of the files that match a glob pattern, or any of a vector of them; a string vector."""
    return raw.MatchingFiles(pattern, name=name)
