"""Layers that Keras makes by itself: of single operations between layers, of losses and of metrics added to a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from google.protobuf import json_format

from tfcompat._src.base import nest
from tfcompat._src.graph import attr_values, op_spec
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import init_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.function import function
from tfcompat._src.keras.backend.values import get_value
from tfcompat._src.keras.engine import registry
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.base_layer_utils import uses_keras_history
from tfcompat._src.nodes.convert import constant
from tfcompat._src.proto import messages

_PREFIX = "tf_op_layer_"


class TensorFlowOpLayer(Layer):
    """An operation on outputs of layers, made again for other inputs.

    Args:
      node_def: the operation: a NodeDef, its bytes, or the dict of its JSON form.
      name: name of the operation.
      constants: dict from the index of an input to the array that it always is.
      trainable, dtype: as of every layer; nothing depends on them.
    """

    def __init__(self, node_def: object, name: str, constants: Any = None, trainable: bool = True, dtype: object = None) -> None:
        super().__init__(name=_PREFIX + name, trainable=trainable, dtype=dtype, autocast=False)
        if isinstance(node_def, dict):
            self.node_def = json_format.ParseDict(node_def, messages.NodeDef())
        else:
            node_def = node_def.encode() if isinstance(node_def, str) else node_def
            self.node_def = messages.NodeDef.FromString(node_def)
        self.constants = {int(index): value for index, value in (constants or {}).items()}
        self.built = True

    def call(self, inputs: Any) -> Any:
        tensors = nest.flatten(inputs)
        graph = tensors[0].graph
        with graph.as_default():
            name = graph.unique_name(self.node_def.name)
            for index, value in sorted(self.constants.items()):
                tensors.insert(index, self._constant(index, value))
            attrs = {key: attr_values.from_proto(value) for key, value in self.node_def.attr.items()}
            op = graph.make_op(op_spec.get(self.node_def.op), name, tensors, attrs)
        return op.outputs[0] if len(op.outputs) == 1 else op.outputs

    def _constant(self, index: int, value: Any) -> Tensor:
        known = constant_value(value) if isinstance(value, Tensor) else np.asarray(value)
        return value if known is None else constant(known, name=self.node_def.input[index].partition(":")[0])

    def get_config(self) -> dict[str, Any]:
        values = {i: get_value(v) if isinstance(v, Tensor) else v for i, v in self.constants.items()}
        return {
            **super().get_config(),
            "name": self.name[len(_PREFIX) :],
            "node_def": json_format.MessageToDict(self.node_def),
            "constants": values,
        }


class AddLoss(Layer):
    """Adds its inputs as a loss; `unconditional` says that it depends on no inputs."""

    def __init__(self, unconditional: bool, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "autocast": False})
        self.unconditional = unconditional

    def call(self, inputs: Any) -> Any:
        self.add_loss(inputs, inputs=not self.unconditional or None)
        return inputs

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "unconditional": self.unconditional}


class AddMetric(Layer):
    """Adds its inputs as a metric of the name `metric_name`; `aggregation` is that of `add_metric`."""

    def __init__(self, aggregation: str | None = None, metric_name: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.aggregation, self.metric_name = aggregation, metric_name

    def call(self, inputs: Any) -> Any:
        self.add_metric(inputs, self.aggregation, self.metric_name)
        return inputs

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "aggregation": self.aggregation, "metric_name": self.metric_name}


@registry.provides("create_keras_history")
def create_keras_history(tensors: object) -> list[TensorFlowOpLayer]:
    """Makes a layer of each operation between the outputs of layers and `tensors`; the layers that were made."""
    made: list[TensorFlowOpLayer] = []
    _wrap_operations(nest.flatten(tensors), set(), made)
    return made


def _wrap_operations(tensors: list[Tensor], done: set[Any], made: list[TensorFlowOpLayer]) -> None:
    for tensor in tensors:
        op = tensor.op
        if getattr(tensor, "_keras_history", None) is not None or op in done:
            continue
        layer_inputs = [x for x in op.inputs if uses_keras_history(x)]
        constants = {}
        for i, x in enumerate(op.inputs):
            if not any(x is y for y in layer_inputs):
                with init_scope():
                    constants[i] = function([], x)([])
        _wrap_operations(layer_inputs, done, made)
        layer = TensorFlowOpLayer(op.node_def.SerializeToString(), constants=constants, name=op.name)
        made.append(layer)
        layer._add_inbound_node(layer_inputs, op.outputs)
        done.add(op)
