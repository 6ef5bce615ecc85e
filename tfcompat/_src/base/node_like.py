"""Protocols for nodes and tensors, for code below `graph/`, such as errors, that names them in messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from tfcompat._src.proto import messages

Frame = tuple[str, int, str, str | None]
"""A frame of the stack that made a node: (file, line, function, source line)."""


class TensorLike(Protocol):
    """An output of a node."""

    @property
    def op(self) -> NodeLike: ...


class NodeLike(Protocol):
    """An operation of a graph."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> str: ...

    @property
    def device(self) -> str: ...

    @property
    def node_def(self) -> messages.NodeDef: ...

    @property
    def inputs(self) -> Iterable[TensorLike]: ...

    @property
    def traceback(self) -> Sequence[Frame]: ...
