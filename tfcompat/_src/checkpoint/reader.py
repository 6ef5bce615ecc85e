"""tf.train.NewCheckpointReader: the tensors of a checkpoint of either version, without a graph."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.checkpoint.bundle_files import begun_saves, index_name
from tfcompat._src.checkpoint.bundle_reader import BundleReader
from tfcompat._src.checkpoint.reading import SavedTensors
from tfcompat._src.checkpoint.v1_reader import V1Reader
from tfcompat._src.platform import compat, file_io


def open_checkpoint(pattern: object) -> SavedTensors:
    """The tensors of the checkpoint with this prefix (version 2) or path or pattern (version 1).

    Raises:
      errors.NotFoundError: there is none. errors.DataLossError: its index is damaged.
    """
    path = file_io.local(pattern)
    is_bundle = file_io.exists(index_name(path)) or begun_saves(path)
    return BundleReader(path) if is_bundle else V1Reader(path)


class CheckpointReader:
    """The tensors of a checkpoint by name.

    Args:
      filename: the checkpoint's prefix, or the path or pattern of files of version 1.

    Raises:
      errors.NotFoundError: there is none. errors.DataLossError: its index is damaged.
    """

    def __init__(self, filename: object) -> None:
        self._saved = open_checkpoint(filename)

    def has_tensor(self, tensor_str: object) -> bool:
        """Whether there is a tensor of that name."""
        return self._saved.info(compat.as_text(tensor_str)) is not None

    def get_tensor(self, tensor_str: object) -> Any:
        """The values of a tensor: an array, or bytes or a NumPy number where it is a scalar.

        Raises:
          errors.NotFoundError: there is none of that name. errors.DataLossError: it is damaged.
        """
        found = self._saved.read(compat.as_text(tensor_str))
        return found if found.ndim else found[()]

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shape of each tensor by name."""
        return {name: list(self._saved.require(name).shape) for name in self._saved.names()}

    def get_variable_to_dtype_map(self) -> dict[str, dtypes.DType]:
        """The DType of each tensor by name."""
        return {name: self._saved.require(name).dtype for name in self._saved.names()}

    def debug_string(self) -> bytes:
        """One line per tensor: name, type and shape."""
        return self._saved.debug_string().encode()


@export("train.NewCheckpointReader")
def NewCheckpointReader(filepattern: object) -> CheckpointReader:  # noqa: N802
    """A CheckpointReader for a checkpoint of either version; see its class for what it raises."""
    return CheckpointReader(filepattern)
