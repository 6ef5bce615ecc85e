"""The global step: the number of training steps done."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, executing_eagerly, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.platform import logging
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.policies import VariableAggregation
from tfcompat._src.variables.scope import get_variable
from tfcompat._src.variables.variable import Variable

GLOBAL_STEP_READ_KEY = "global_step_read_op_cache"


@export("train.global_step")
def global_step(sess: SessionLike, global_step_tensor: Any) -> int:
    """The value of a global step in a session, as an int."""
    if executing_eagerly():
        return int(global_step_tensor.numpy())
    return int(np.asarray(sess.run(global_step_tensor)).item())


@export("train.get_global_step")
def get_global_step(graph: Graph | None = None) -> Any:
    """The global step of a graph, or None where it has none.

    Args:
      graph: by default the default graph.

    Raises:
      TypeError: what is called the global step is no integer scalar.
    """
    graph = graph or get_default_graph()
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        logging.error("Multiple tensors in global_step collection.")
        return None
    if found:
        tensor = found[0]
    else:
        try:
            tensor = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    assert_global_step(tensor)
    return tensor


@export("train.create_global_step")
def create_global_step(graph: Graph | None = None) -> Any:
    """Makes the int64 variable `global_step` of a graph; ValueError where it exists."""
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP, shape=[], dtype=dtypes.int64, initializer=Zeros(), trainable=False,
            aggregation=VariableAggregation.ONLY_FIRST_REPLICA, collections=[GraphKeys.GLOBAL_VARIABLES,
            GraphKeys.GLOBAL_STEP],
        )  # fmt: skip


@export("train.get_or_create_global_step")
def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """The global step of a graph, made if there is none; see `get_global_step` for what is raised."""
    graph = graph or get_default_graph()
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


@export("train.assert_global_step")
def assert_global_step(global_step_tensor: object) -> None:
    """Raises TypeError where the argument is no variable or tensor that is an integer scalar."""
    if not isinstance(global_step_tensor, (Variable, Tensor)):
        raise TypeError(f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor}.')
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}')
    shape = global_step_tensor.shape
    if shape.ndims != 0 and shape.is_fully_defined():
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')


def _get_global_step_read(graph: Graph | None = None) -> Tensor | None:
    graph = graph or get_default_graph()
    found = graph.get_collection(GLOBAL_STEP_READ_KEY)
    if len(found) > 1:
        raise RuntimeError(
            "There are multiple items in collection global_step_read_op_cache. There should be only one."
        )
    return found[0] if found else None


def _get_or_create_global_step_read(graph: Graph | None = None) -> Tensor | None:
    """The tensor that reads the global step before it is increased, made once per graph; None where there is no
    step.
    """
    graph = graph or get_default_graph()
    found = _get_global_step_read(graph)
    if found is not None:
        return found
    step = get_global_step(graph)
    if step is None:
        return None
    with graph.as_default(), graph.name_scope(None), graph.name_scope(step.op.name + "/"):
        value = step.initialized_value() if isinstance(step, Variable) else step
        read = value + 0
    graph.add_to_collection(GLOBAL_STEP_READ_KEY, read)
    return read


def _increment_global_step(increment: int, graph: Graph | None = None) -> Tensor | Operation:
    """The operation that adds `increment` to the global step, after it was read; ValueError where there is none."""
    graph = graph or get_default_graph()
    step = get_global_step(graph)
    if step is None:
        raise ValueError(
            "Global step tensor should be created by tf.train.get_or_create_global_step before calling increment."
        )
    read = _get_or_create_global_step_read(graph)
    with graph.as_default(), graph.name_scope(None), graph.name_scope(step.op.name + "/"), control_dependencies([read]):
        return step.assign_add(increment)
