"""Attention layers (Luong, arXiv 1508.04025; Bahdanau, arXiv 1409.0473)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.config import floatx
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones, ones_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import expand_dims
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import greater_equal, logical_and, logical_not
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.scan import cumsum
from tfcompat._src.ops.math.unary import tanh
from tfcompat._src.ops.nn.softmax import softmax
from tfcompat._src.variables.initializers import GlorotUniform, Ones

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class BaseDenseAttention(Layer):
    """Attention of queries to values, by scores of keys that a subclass calculates.

    Called on a list [query, value] or [query, value, key] of tensors [batch, time, size], with masks [query, value].

    Args:
      causal: whether a position sees only those before it, and itself.
    """

    _config: tuple[str, ...] = ("causal",)

    def __init__(self, causal=False, **kwargs) -> None:
        super().__init__(**kwargs)
        self.causal, self.supports_masking = causal, True

    def _calculate_scores(self, query: Any, key: Any) -> Any:
        raise NotImplementedError

    def _apply_scores(self, scores: object, value: object, scores_mask: object = None) -> Tensor:
        if scores_mask is not None:
            scores -= 1.0e9 * cast(logical_not(scores_mask), dtype=floatx())
        return matmul(softmax(scores), value)

    def call(self, inputs: Any, mask: Any = None) -> Any:
        self._validate_call_args(inputs=inputs, mask=mask)
        query, value = inputs[:2]
        query_mask, value_mask = mask or (None, None)
        scores = self._calculate_scores(query=query, key=inputs[2] if len(inputs) > 2 else value)
        if value_mask is not None:
            value_mask = expand_dims(value_mask, axis=-2)
        scores_mask = _merge_masks(value_mask, _causal_mask(scores) if self.causal else None)
        result = self._apply_scores(scores=scores, value=value, scores_mask=scores_mask)
        if query_mask is not None:
            result *= cast(expand_dims(query_mask, axis=-1), dtype=result.dtype)
        return result

    def compute_mask(self, inputs: Any, mask: Any = None) -> Tensor | None:
        self._validate_call_args(inputs=inputs, mask=mask)
        return convert_to_tensor(mask[0]) if mask and mask[0] is not None else None

    def _validate_call_args(self, inputs: object, mask: Any) -> None:
        name = type(self).__name__
        if not isinstance(inputs, list):
            raise ValueError(
                f"{name} layer must be called on a list of inputs, namely [query, value] or [query, value, key]."
            )
        if not 2 <= len(inputs) <= 3:
            raise ValueError(
                f"{name} layer accepts inputs list of length 2 or 3, namely [query, value] or [query, value, key]. "
                f"Given length: {len(inputs)}"
            )
        if mask and not isinstance(mask, list):
            raise ValueError(f"{name} layer mask must be a list, namely [query_mask, value_mask].")
        if mask and len(mask) != 2:
            raise ValueError(
                f"{name} layer mask must be a list of length 2, namely [query_mask, value_mask]. "
                f"Given length: {len(mask)}"
            )


class _ScaledAttention(BaseDenseAttention):
    """Attention whose scores may have a weight."""

    _config = ("causal", "use_scale")

    def __init__(self, use_scale: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale = use_scale

    def _scale_settings(self, input_shape: Any) -> dict[str, Any]:
        """The shape and the initializer of the weight."""
        raise NotImplementedError(f"{type(self).__name__} defines no _scale_settings.")

    def build(self, input_shape: Any) -> None:
        self.scale = None
        if self.use_scale:
            settings = self._scale_settings(input_shape)
            self.scale = self.add_weight(name="scale", dtype=self.dtype, trainable=True, **settings)
        super().build(input_shape)


@export("keras.layers.Attention")
class Attention(_ScaledAttention):
    """Attention by the product of query and key, times a weight where `use_scale`; see `BaseDenseAttention`."""

    def __init__(self, use_scale=False, **kwargs) -> None:
        super().__init__(use_scale, **kwargs)

    def _scale_settings(self, input_shape: object) -> dict[str, Any]:
        return {"shape": (), "initializer": Ones()}

    def _calculate_scores(self, query: object, key: object) -> Tensor:
        scores = matmul(query, key, transpose_b=True)
        return scores if self.scale is None else scores * self.scale


@export("keras.layers.AdditiveAttention")
class AdditiveAttention(_ScaledAttention):
    """Attention by tanh(query + key), times a weight where `use_scale`; see `BaseDenseAttention`."""

    def __init__(self, use_scale=True, **kwargs) -> None:
        super().__init__(use_scale, **kwargs)

    def _scale_settings(self, input_shape: Any) -> dict[str, Any]:
        return {"shape": [TensorShape(input_shape[1]).as_list()[-1]], "initializer": GlorotUniform()}

    def _calculate_scores(self, query: TensorLike, key: TensorLike) -> Tensor:
        rows, columns = expand_dims(query, axis=-2), expand_dims(key, axis=-3)
        return reduce_sum((self.scale if self.use_scale else 1.0) * tanh(rows + columns), axis=-1)


def _causal_mask(scores: TensorLike) -> Tensor:
    sizes = shape_of(scores)
    return _lower_triangular_mask(concat([ones_like(sizes[:-2]), sizes[-2:]], axis=0))


def _lower_triangular_mask(shape: TensorLike) -> Tensor:
    """True where the last index is not larger than the one before."""
    rows = cumsum(ones(shape=shape, dtype=dtypes.int32), axis=-2)
    columns = cumsum(ones(shape=shape, dtype=dtypes.int32), axis=-1)
    return greater_equal(rows, columns)


def _merge_masks(x: object, y: object) -> Any:
    if x is None or y is None:
        return y if x is None else x
    return logical_and(x, y)
