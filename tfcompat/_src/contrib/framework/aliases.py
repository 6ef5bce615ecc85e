"""Names of tf.contrib.framework for what stands elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfcompat._src.base import nest as _nest
from tfcompat._src.base.export import export
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import get_default_graph, graph_from_inputs
from tfcompat._src.nodes.sparse_tensor import convert_to_tensor_or_sparse_tensor as _convert
from tfcompat._src.nodes.tensor_spec import TensorSpec as _TensorSpec
from tfcompat._src.ops.composed import check_ops, sorting
from tfcompat._src.ops.control import cond

nest = export("contrib.framework.nest")(_nest)
TensorSpec = export("contrib.framework.TensorSpec")(_TensorSpec)
smart_cond = export("contrib.framework.smart_cond")(cond.smart_cond)
sort = export("contrib.framework.sort")(sorting.sort)
argsort = export("contrib.framework.argsort")(sorting.argsort)
smart_constant_value = export("contrib.framework.smart_constant_value")(cond.smart_constant_value)
assert_same_float_dtype = export("contrib.framework.assert_same_float_dtype")(check_ops.assert_same_float_dtype)
assert_scalar = export("contrib.framework.assert_scalar")(check_ops.assert_scalar)
convert_to_tensor_or_sparse_tensor = export("contrib.framework.convert_to_tensor_or_sparse_tensor")(_convert)


@export("contrib.framework.get_name_scope")
def get_name_scope() -> str:
    """The name scope that is open in the default graph, "outer/inner"."""
    return get_default_graph().get_name_scope()


@export("contrib.framework.get_graph_from_inputs")
def get_graph_from_inputs(op_input_list: Iterable[Any], graph: Graph | None = None) -> Graph:
    """The graph that the inputs of an op are in, or `graph`, or the default graph.

    Raises:
      ValueError: they are in different graphs. TypeError: `graph` is no Graph.
    """
    return graph_from_inputs(op_input_list, graph)
