"""A layer that looks up vectors."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras import constraints, initializers, regularizers
from tfcompat._src.keras.backend.config import floatx
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import not_equal
from tfcompat._src.ops.nn.embedding import embedding_lookup


@export("keras.layers.Embedding")
class Embedding(Layer):
    """The vector of each index.

    Args:
      input_dim: number of vectors.
      output_dim: their length.
      embeddings_initializer, embeddings_regularizer, embeddings_constraint: of the weight.
      activity_regularizer: function of the output that gives a loss.
      mask_zero: whether index 0 means that there is nothing.
      input_length: length of the sequences, an int or one for each dimension behind the batch.
    """

    _config = (
        "input_dim", "output_dim", "embeddings_initializer", "embeddings_regularizer", "activity_regularizer",
        "embeddings_constraint", "mask_zero", "input_length",
    )  # fmt: skip

    def __init__(
        self, input_dim, output_dim, embeddings_initializer="uniform", embeddings_regularizer=None,
        activity_regularizer=None, embeddings_constraint=None, mask_zero=False, input_length=None, **kwargs,
    ) -> None:  # fmt: skip
        kwargs.setdefault("input_shape", (input_length or None,))
        super().__init__(dtype=kwargs.pop("dtype", floatx()), **{**kwargs, "autocast": False})
        self.input_dim, self.output_dim, self.input_length = input_dim, output_dim, input_length
        self.embeddings_initializer = initializers.get(embeddings_initializer)
        self.embeddings_regularizer = regularizers.get(embeddings_regularizer)
        self.activity_regularizer = regularizers.get(activity_regularizer)
        self.embeddings_constraint = constraints.get(embeddings_constraint)
        self.mask_zero = self.supports_masking = mask_zero

    def build(self, input_shape: Any) -> None:
        TensorShape(input_shape).as_list()  # ValueError for an unknown rank
        self.embeddings = self.add_weight(
            shape=(self.input_dim, self.output_dim), initializer=self.embeddings_initializer, name="embeddings",
            regularizer=self.embeddings_regularizer, constraint=self.embeddings_constraint,
        )  # fmt: skip
        self.built = True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Tensor | None:
        return not_equal(inputs, 0) if self.mask_zero else None

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        sizes = TensorShape(input_shape).as_list()
        if self.input_length is None:
            return TensorShape([*sizes, self.output_dim])
        lengths = list(self.input_length) if isinstance(self.input_length, (list, tuple)) else [self.input_length]
        wrong = f'"input_length" is {self.input_length}, but received input has shape {tuple(sizes)}'
        if len(lengths) != len(sizes) - 1:
            raise ValueError(wrong)
        if any(None not in pair and pair[0] != pair[1] for pair in zip(lengths, sizes[1:])):
            raise ValueError(wrong)
        known = [size if length is None else length for length, size in zip(lengths, sizes[1:])]
        return TensorShape([sizes[0], *known, self.output_dim])

    def call(self, inputs: Any) -> Tensor:
        if inputs.dtype.base_dtype.name not in ("int32", "int64"):
            inputs = cast(inputs, "int32")
        return embedding_lookup(self.embeddings, inputs)
