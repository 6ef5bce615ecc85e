"""What acts in a function runs in the order of the code, and before its result is known."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import nest
from tfcompat._src.graph.scopes import executing_eagerly, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.function_body import is_stateful

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class AutomaticControlDependencies:
    """A block whose operations that act wait for each other, and for all of which the marked results wait."""

    def __enter__(self) -> AutomaticControlDependencies:
        self._graph = get_default_graph()
        self._is_eager = executing_eagerly()
        self._before = 0 if self._is_eager else len(self._graph.get_operations())
        self._returned: list[Tensor] = []
        return self

    def mark_as_return(self, tensor: object) -> Any:
        """The results of the block that wait for it, from a tensor, a composite tensor or a TensorArray."""
        return tensor if self._is_eager else nest.map_structure(self._mark, tensor, expand_composites=True)

    def _mark(self, value: TensorLike) -> Any:
        if not isinstance(value, Tensor):
            return value
        marked = raw.Identity(value)
        self._returned.append(marked)
        return marked

    def __exit__(self, kind: object, value: object, trace: object) -> None:
        if self._is_eager or kind is not None:
            return
        context = self._graph._control_flow_context
        made = self._graph.get_operations()[self._before :]
        acting = [op for op in made if is_stateful(op) and op._get_control_flow_context() is context]
        for earlier, later in zip(acting, acting[1:]):
            if earlier not in later.control_inputs:
                later._add_control_input(earlier)
        for result in self._returned:
            for op in acting:
                result.op._add_control_input(op)


def automatic_control_dependencies(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls `f` in a block of AutomaticControlDependencies, and whose results wait for what acts there."""

    @functools.wraps(f)
    def ordered(*args: Any, **kwargs: Any) -> Any:
        with AutomaticControlDependencies() as block:
            return nest.map_structure(block.mark_as_return, f(*args, **kwargs))

    return ordered
