"""What a Saver saves: tensors with their names in the checkpoint, and how they are restored."""

from __future__ import annotations

from typing import Any


class SaveSpec:
    """A tensor to save.

    Args:
      tensor: the tensor, or a function that makes it.
      slice_spec: which part of a whole it is ("4 2 0,2:0,2"), or "".
      name: its name in the checkpoint.
      dtype, device: those of the tensor; needed where it is a function.
    """

    def __init__(self, tensor: Any, slice_spec: str, name: str, dtype: Any = None, device: str | None = None) -> None:
        self._tensor = tensor
        self.slice_spec, self.name = slice_spec, name
        if callable(tensor):
            if dtype is None or device is None:
                raise AssertionError(
                    "When passing a callable `tensor` to a SaveSpec, an explicit dtype and device must be provided."
                )
            self.dtype, self.device = dtype, device
        else:
            self.dtype, self.device = tensor.dtype, tensor.device

    @property
    def tensor(self) -> Any:
        return self._tensor() if callable(self._tensor) else self._tensor


class SaveableObject:
    """Something to save and restore.

    Args:
      op: the variable, tensor or table that it stands for; each may be saved once.
      specs: list of SaveSpec.
      name: its name in the checkpoint.
    """

    def __init__(self, op: Any, specs: list[SaveSpec], name: str) -> None:
        self.op, self.specs, self.name = op, specs, name

    @property
    def optional_restore(self) -> bool:
        """Whether a checkpoint may lack it."""
        return False

    @property
    def device(self) -> str:
        return self.specs[0].device

    def restore(self, restored_tensors: list[Any], restored_shapes: list[Any] | None) -> Any:
        """An operation that gives the object the values of `restored_tensors`, one per spec.

        Args:
          restored_tensors: what was read.
          restored_shapes: shapes to give them before, or None to keep those of the checkpoint.
        """
        raise ValueError("Calling an abstract method.")
