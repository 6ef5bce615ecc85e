"""tf.contrib.copy_graph: variables and operations, with all that they need, in another graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.function_body import spec_of
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.variables.variable import Variable


def _in_scope(name: str, scope: str) -> str:
    return f"{scope}/{name}" if scope else name


def _collections_of(element: Any) -> list[str]:
    """The keys of the collections of its graph that an element is in."""
    graph = element.graph
    return [
        key for key in graph.get_all_collection_keys() if any(each is element for each in graph.get_collection(key))
    ]


@export("contrib.copy_graph.copy_variable_to_graph")
def copy_variable_to_graph(org_instance: object, to_graph: Graph, scope: str = "") -> Any:
    """A Variable of another graph with the same name and first value.

    Args:
      org_instance: the Variable.
      to_graph: the Graph that gets the copy.
      scope: name scope of the copy, and of its collections but those of all and of trainable variables.

    Raises:
      TypeError: `org_instance` is no Variable.
    """
    if not isinstance(org_instance, Variable):
        raise TypeError(f"{org_instance} is not a Variable")
    kept = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES)
    found = _collections_of(org_instance)
    with org_instance.graph.as_default(), Session() as session:
        value = session.run(org_instance.initialized_value())
    with to_graph.as_default():
        return Variable(
            value,
            trainable=GraphKeys.TRAINABLE_VARIABLES in found,
            name=_in_scope(org_instance.name.partition(":")[0], scope),
            collections=[key if key in kept else _in_scope(key, scope) for key in found],
            validate_shape=False,
        )


@export("contrib.copy_graph.copy_op_to_graph")
def copy_op_to_graph(org_instance: Any, to_graph: Graph, variables: Iterable[Any], scope: str = "") -> Any:
    """The copy of an operation or tensor in another graph, made with all that it needs where it is not there yet.

    Args:
      org_instance: the Operation or Tensor.
      to_graph: the Graph that gets the copy.
      variables: the Variables of `to_graph` that stand for those that are needed.
      scope: name scope of the copy.

    Raises:
      TypeError: `org_instance` is neither an Operation nor a Tensor.
    """
    name = _in_scope(org_instance.name, scope)
    if any(variable.name == name for variable in variables):
        return to_graph.get_tensor_by_name(name)
    present = _element(to_graph, name)
    if present is not None:
        return present
    if isinstance(org_instance, Tensor):
        op = copy_op_to_graph(org_instance.op, to_graph, variables, scope)
        found = op.outputs[org_instance.value_index]
        for key in _collections_of(org_instance):
            to_graph.add_to_collection(_in_scope(key, scope), found)
        return found
    if not isinstance(org_instance, Operation):
        raise TypeError(f"Could not copy instance: {org_instance}")
    before, inputs = (
        [copy_op_to_graph(each, to_graph, variables, scope) for each in needed]
        for needed in (org_instance.control_inputs, org_instance.inputs)
    )
    with to_graph.as_default(), control_dependencies(None), control_dependencies(before):
        dtypes = [t.dtype for t in org_instance.outputs]
        copied = to_graph.make_op(spec_of(org_instance), name, inputs, dict(org_instance.attrs), dtypes)
    copied._set_device(org_instance.device)
    return copied


def _element(graph: Graph, name: str) -> Any:
    """The operation or tensor with a name, None where there is none."""
    try:
        return graph.as_graph_element(name, allow_tensor=True, allow_operation=True)
    except (KeyError, ValueError):
        return None


@export("contrib.copy_graph.get_copied_op")
def get_copied_op(org_instance: Any, graph: Graph, scope: str = "") -> Any:
    """The operation or tensor of `graph` with the name of another graph's one, in a scope.

    Raises:
      KeyError: there is none.
    """
    return graph.as_graph_element(_in_scope(org_instance.name, scope), allow_tensor=True, allow_operation=True)
