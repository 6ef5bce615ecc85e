"""Resources that are no variables, as Savers see them."""

from __future__ import annotations

from collections.abc import Callable

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.train.saveable_object import SaveableObject, SaveSpec


class ResourceSaveable(SaveableObject):
    """What a resource is in a checkpoint.

    Args:
      handle: the resource.
      tensors: what is saved, by name.
      create: the operation that creates the resource.
      put_back: a function from the restored tensors to the operation that replaces what the resource holds.
      name: the name of the whole.
    """

    def __init__(self, handle: Tensor, tensors: dict[str, Tensor], create: Operation, put_back: Callable, name: str) -> None:
        super().__init__(handle, [SaveSpec(tensor, "", each) for each, tensor in tensors.items()], name)
        self._create, self._put_back = create, put_back

    def restore(self, restored_tensors: list[Tensor], restored_shapes: object) -> Operation:
        """The operation that replaces what the resource holds."""
        with control_dependencies([self._create]):
            return self._put_back(restored_tensors)
