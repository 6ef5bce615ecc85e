"""What acts in a function runs in the order of the code, and before its result is known."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.graph.scopes import control_dependencies, executing_eagerly, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.function_body import is_stateful


def in_order(function: Callable) -> Callable:
    """A function whose operations that act wait for each other, and whose tensors wait for them."""

    @functools.wraps(function)
    def ordered(*args: Any, **kwargs: Any) -> Any:
        graph = get_default_graph()
        if executing_eagerly():
            return function(*args, **kwargs)
        before = len(graph.get_operations())
        result = function(*args, **kwargs)
        context = graph._control_flow_context
        made = graph.get_operations()[before:]
        acting = [op for op in made if is_stateful(op) and op._get_control_flow_context() is context]
        for earlier, later in zip(acting, acting[1:]):
            if earlier not in later.control_inputs:
                later._add_control_input(earlier)
        with control_dependencies(acting):
            return nest.map_structure(lambda v: raw.Identity(v) if isinstance(v, Tensor) else v, result, expand_composites=True)

    return ordered
