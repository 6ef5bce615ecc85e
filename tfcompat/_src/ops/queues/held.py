"""Resources that a node creates, others use and savers serialize: what a handle names, or nothing before it is created."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, NAMES_RESOURCE, Effects, NotDifferentiable, op
from tfcompat._src.ops.queues.resource import SharedResource

held_op = functools.partial(
    op, gradient=NotDifferentiable("a resource is no function of its parameters", raises=True), side=HOST, context=True, effects=EXTERNAL
)
"""Registers an operation of such resources: its kernel gets the HostContext first, and the Held of each handle."""


class Held(SharedResource):
    """What a handle names: nothing at first, then `content`.

    Args:
      name: the shared name.
      kind: the mangled name of TensorFlow's class, for messages.
    """

    def __init__(self, name: str, kind: str) -> None:
        super().__init__()
        self.name, self._kind = name, kind
        self.content: Any = None

    def held(self) -> Any:
        """The content; NotFoundError before it is created."""
        if self.content is None:
            raise errors.NotFoundError(None, None, f"Resource localhost/{self.name}/{self._kind} does not exist.")
        return self.content

    def create(self, make: Callable[[], Any]) -> None:
        """Holds what `make()` gives; what it holds already stays."""
        made = make()
        with self.lock:
            if self.content is None:
                self.content = made

    def cancel(self) -> None:
        """Lets go of what it holds."""
        super().cancel()
        self.content = None


def handle_op(op_type: str, kind: str) -> None:
    """Registers the operation that gives the handle of a resource.

    Args:
      op_type: its type, which ends in HandleOp.
      kind: see Held.
    """

    def handle(context: Any) -> Held:
        attrs = context.op.attrs
        name, container = attrs["shared_name"].decode() or context.op.name, attrs["container"].decode()
        return context.resources.setdefault(f"{container}/{op_type.removesuffix('HandleOp')}/{name}", Held(name, kind))

    signature = '(*, container: string = "", shared_name: string = "") -> (resource: resource)'
    held_op(op_type, signature, shape=si.scalar, kernel=handle, effects=Effects(creates=True), facts=NAMES_RESOURCE, depth=2)


def is_initialized_op(op_type: str, handle: str) -> None:
    """Registers the operation that says whether a resource is created; `handle` names its input."""
    held_op(op_type, f"({handle}: resource) -> (is_initialized: bool)", shape=si.scalar, depth=2,
            kernel=lambda context, resource: np.bool_(resource.content is not None))  # fmt: skip
