"""The dtype to which a graph casts AutoCastVariables (Keras' mixed precision) when they are read."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes

if TYPE_CHECKING:
    from tfcompat._src.graph.graph import Graph


class VariableReads:
    """Base of Graph: the read dtype of AutoCastVariables, a scope of each thread."""

    outer_graph: Graph | None

    def __init__(self) -> None:
        super().__init__()
        self._read_dtypes: dict[int, dtypes.DType | None] = {}
        """Thread id -> the dtype of its innermost block; None for the variables' own dtype."""

    @property
    def _auto_cast_variable_read_dtype(self) -> dtypes.DType | None:
        """The dtype in which this thread reads AutoCastVariables, or None for their own; function bodies inherit from the outer graph."""
        thread, graph = threading.get_ident(), self
        while thread not in graph._read_dtypes and graph.outer_graph is not None:
            graph = graph.outer_graph
        return graph._read_dtypes.get(thread)

    @contextlib.contextmanager
    def _enable_auto_casting_variables(self, dtype: dtypes.DTypeLike | None) -> Iterator[None]:
        """Reads AutoCastVariables in `dtype` inside the block; None for their own dtype."""
        thread, reads = threading.get_ident(), self._read_dtypes
        # The entry of an outer block of this thread is restored at the end; None is a valid entry, so absence is kept apart.
        around = {thread: reads[thread]} if thread in reads else {}
        reads[thread] = None if dtype is None else dtypes.as_dtype(dtype)
        try:
            yield
        finally:
            del reads[thread]
            reads.update(around)
