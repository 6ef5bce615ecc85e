"""`tf_debug.GradientsDebugger`: finds the gradients of tensors that tf.gradients and optimizers make."""

from __future__ import annotations

import re
import uuid
import weakref
from typing import Any

from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.op_spec import Facts, op
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.constant import define_identity

_TAG = "gradient_debug_"
_DEBUG_NODE = re.compile(rf"(?P<node>.*)_(?P<slot>\d+)/{_TAG}(?P<debugger>[0-9a-f]+)(_\d+)?")

_debuggers: weakref.WeakValueDictionary[str, GradientsDebugger] = weakref.WeakValueDictionary()
"""The debuggers that receive gradients, by the names in their nodes."""


def clear_gradient_debuggers() -> None:
    """Lets the debuggers made so far receive no more gradients."""
    _debuggers.clear()


class GradientsDebugger:
    """Receives the gradients of tensors while graphs of gradients are made.

    It receives all of them where it is the only debugger, else those that are made in its context.

    Args:
      y_tensor: a tensor of the graph that is differentiated, or None for any graph.
    """

    def __init__(self, y_tensor: Tensor | None = None) -> None:
        self._name = uuid.uuid4().hex
        self._gradients: dict[str, Tensor] = {}
        self._is_entered = False
        self.y_tensor = y_tensor
        self.graph: Graph | None = None if y_tensor is None else y_tensor.graph
        _debuggers[self._name] = self

    def __enter__(self) -> GradientsDebugger:
        self._is_entered = True
        return self

    def __exit__(self, *error: object) -> None:
        self._is_entered = False

    def identify_gradient(self, input_tensor: Tensor) -> Tensor:
        """The same tensor, whose gradient this debugger receives.

        Args:
          input_tensor: a tensor of a graph; what uses the result is watched.

        Raises:
          ValueError: this debugger watches the tensor already.
        """
        name = f"{input_tensor.op.name}_{input_tensor.value_index}/{_TAG}{self._name}"
        make = raw.DebugGradientRefIdentity if input_tensor.dtype._is_ref_dtype else raw.DebugGradientIdentity
        watched: Tensor = make(input_tensor, name=name)
        if watched.op.name != name:
            raise ValueError(f"The graph already contains an op named {name}")
        return watched

    def watch_gradients_by_tensors(self, graph: Graph, tensors: object) -> GradientsDebugger:
        """Watches tensors whose uses are in the graph already.

        Args:
          graph: their graph.
          tensors: a tensor or variable, or a list of them.
        """
        each = tensors if isinstance(tensors, list) else [tensors]
        return self.watch_gradients_by_tensor_names(graph, "|".join(f"{re.escape(tensor.name)}$" for tensor in each))

    def watch_gradients_by_tensor_names(self, graph: Graph, tensor_name_regex: str) -> GradientsDebugger:
        """Watches the tensors of a graph whose names begin with a match of a regular expression."""
        with graph.as_default():
            for node in graph.get_operations():
                for output in node.outputs:
                    if re.match(tensor_name_regex, output.name):
                        self._watch_uses(output)
        return self

    def _watch_uses(self, tensor: Tensor) -> None:
        uses = [(node, i) for node in tensor.consumers() for i, given in enumerate(node.inputs) if given is tensor]
        watched = self.identify_gradient(tensor)
        for node, i in dict.fromkeys(uses):
            node._update_input(i, watched)

    def register_gradient_tensor(self, x_tensor_name: str, gradient_tensor: Tensor) -> None:
        """Receives a gradient; ValueError where it is of another graph than those before."""
        if len(_debuggers) > 1 and not self._is_entered:
            return
        if self.graph not in (None, gradient_tensor.graph):
            raise ValueError(f"The graph of the value ({gradient_tensor.graph}) is not the same as the graph {self.graph}")
        self.graph = gradient_tensor.graph
        self._gradients[x_tensor_name] = gradient_tensor

    def gradient_tensor(self, x_tensor: Any) -> Tensor:
        """The gradient of a tensor.

        Args:
          x_tensor: a tensor, variable, or name of a tensor.

        Raises:
          TypeError: it is none of them. LookupError: no gradient of it has been received.
        """
        if not isinstance(x_tensor, str) and (isinstance(x_tensor, Operation) or not hasattr(x_tensor, "name")):
            raise TypeError(f"x_tensor must be a str or tf.Tensor or tf.Variable, but instead has type {type(x_tensor)}")
        name = x_tensor if isinstance(x_tensor, str) else x_tensor.name
        if name not in self._gradients:
            raise LookupError(f"This GradientsDebugger has not received any gradient tensor for x-tensor {name}")
        return self._gradients[name]

    def gradient_tensors(self) -> dict[str, Tensor]:
        """The gradients received so far, by the names of their tensors."""
        return self._gradients


def _received(node: Operation, grad: Tensor) -> Tensor:
    found = _DEBUG_NODE.fullmatch(node.name)
    debugger = _debuggers.get(found["debugger"]) if found else None
    if found and debugger is not None:
        debugger.register_gradient_tensor(f"{found['node']}:{found['slot']}", grad)
    return grad


define_identity("DebugGradientIdentity", _received, facts=Facts(hands_on="input", reads_through=True, scales_rows=True))
op("DebugGradientRefIdentity", "(input: Ref(T), *, T: type) -> (output: Ref(T))", shape=si.unchanged, gradient=_received,
   kernel=lambda x: None)  # fmt: skip  # it gives no value: the output is the same variable
