"""The inputs of a model."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.config import floatx
from tfcompat._src.keras.backend.session import get_uid
from tfcompat._src.keras.backend.values import placeholder
from tfcompat._src.keras.engine import op_layer
from tfcompat._src.keras.engine.node import KerasHistory, Node
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.ragged.tensor import RaggedTensor
from tfcompat._src.variables.variable import Variable


@export("keras.layers.InputLayer")
class InputLayer(op_layer.Layer):
    """A placeholder, or a tensor, that a model takes.

    Args:
      input_shape: of one sample.
      batch_size: or None.
      dtype: by default floatx, or that of `input_tensor`.
      input_tensor: the tensor to use in place of a new placeholder.
      sparse, ragged: kind of the placeholder.
      name: by default input_1, input_2.
      batch_input_shape: in place of `batch_size` and `input_shape`.

    Raises:
      ValueError: both shapes are given, `dtype` is not that of `input_tensor`, or another keyword is given.
    """

    def __init__(
        self, input_shape=None, batch_size=None, dtype=None, input_tensor=None, sparse=False, name=None, ragged=False,
        **kwargs,
    ) -> None:  # fmt: skip
        if "batch_input_shape" in kwargs:
            batch_shape = kwargs.pop("batch_input_shape")
            if input_shape and batch_shape:
                raise ValueError(
                    "Only provide the input_shape OR batch_input_shape argument to InputLayer, not both at the same time."
                )
            if batch_shape is not None:
                batch_size, input_shape = batch_shape[0], batch_shape[1:]
        if kwargs:
            raise ValueError("Unrecognized keyword arguments:", kwargs.keys())
        if not dtype:
            dtype = floatx() if input_tensor is None else input_tensor.dtype.base_dtype.name
        elif input_tensor is not None and input_tensor.dtype != dtype:
            raise ValueError(f"`input_tensor.dtype` differs from `dtype`: {input_tensor.dtype} vs. {dtype}")
        super().__init__(dtype=dtype, name=name or f"input_{get_uid('input')}")
        self.built, self.supports_masking = True, True
        self.sparse, self.ragged, self.batch_size = sparse, ragged, batch_size
        self.is_placeholder = input_tensor is None
        if input_tensor is None:
            self._batch_input_shape = _batch_shape(batch_size, input_shape)
            input_tensor = placeholder(
                shape=self._batch_input_shape, dtype=dtype, name=self.name, sparse=sparse, ragged=ragged
            )
        elif not isinstance(input_tensor, (Tensor, SparseTensor, RaggedTensor, Variable)):
            raise ValueError(
                "You should not pass an EagerTensor to `Input`. For example, instead of creating an InputLayer, you "
                "should instantiate your model and directly call it on your input."
            )
        else:
            self._batch_input_shape = tuple(input_tensor.shape.as_list())
        input_tensor._keras_history = KerasHistory(self, 0, 0)
        input_tensor._keras_mask = None
        Node(self, [], [], [], [input_tensor], [input_tensor])

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "batch_input_shape": self._batch_input_shape,
            "dtype": self.dtype,
            "sparse": self.sparse,
            "ragged": self.ragged,
            "name": self.name,
        }


def _batch_shape(batch_size: int | None, shape: Any) -> tuple | None:
    if shape is None:
        return None
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    return (batch_size, *((shape,) if isinstance(shape, int) else shape))


@export("keras.layers.Input", "keras.Input")
def Input(shape=None, batch_size=None, name=None, dtype=None, sparse=False, tensor=None, ragged=False, **kwargs) -> Any:
    """A tensor that models begin with.

    Args:
      shape: of one sample; None in it stands for any size.
      batch_size: or None.
      name, dtype: of the placeholder.
      sparse, ragged: its kind.
      tensor: an existing tensor to use.
      batch_shape: in place of `shape` and `batch_size`.

    Raises:
      ValueError: no shape, two shapes, both kinds, or another keyword is given.
    """
    if sparse and ragged:
        raise ValueError("Cannot set both sparse and ragged to True in a Keras input.")
    batch_shape = kwargs.pop("batch_input_shape", kwargs.pop("batch_shape", None))
    if shape and batch_shape:
        raise ValueError(
            "Only provide the `shape` OR `batch_input_shape` argument to Input, not both at the same time."
        )
    if kwargs:
        raise ValueError("Unrecognized keyword arguments:", kwargs.keys())
    if batch_shape:
        batch_size, shape = batch_shape[0], tuple(batch_shape[1:])
    elif shape is None and tensor is None:
        raise ValueError(
            "Please provide to Input either a `shape` or a `tensor` argument. Note that `shape` does not include the "
            "batch dimension."
        )
    layer = InputLayer(
        input_shape=shape, batch_size=batch_size, dtype=dtype, input_tensor=tensor, sparse=sparse, name=name,
        ragged=ragged,
    )  # fmt: skip
    return layer._inbound_nodes[0].output_tensors[0]
