"""The dtype in which variables that cast themselves are read in a graph."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes

if TYPE_CHECKING:
    from tfcompat._src.graph.graph import Graph


class VariableReads:
    """The blocks of each thread in which AutoCastVariables are read in another dtype than their own; a base of Graph."""

    outer_graph: Graph | None

    def __init__(self) -> None:
        super().__init__()
        self._read_dtypes: dict[int, dtypes.DType | None] = {}
        """The dtype of the innermost block, by thread."""

    @property
    def _auto_cast_variable_read_dtype(self) -> dtypes.DType | None:
        """The dtype in which this thread reads them, or None for their own. A function without a block reads as the graph around it."""
        thread, graph = threading.get_ident(), self
        while thread not in graph._read_dtypes and graph.outer_graph is not None:
            graph = graph.outer_graph
        return graph._read_dtypes.get(thread)

    @contextlib.contextmanager
    def _enable_auto_casting_variables(self, dtype: dtypes.DTypeLike | None) -> Iterator[None]:
        """In this block, AutoCastVariables are read in `dtype`; in their own where it is None."""
        thread, reads = threading.get_ident(), self._read_dtypes
        around = {thread: reads[thread]} if thread in reads else {}
        reads[thread] = None if dtype is None else dtypes.as_dtype(dtype)
        try:
            yield
        finally:
            del reads[thread]
            reads.update(around)
