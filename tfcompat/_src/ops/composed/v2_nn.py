"""Functions under the names of tf.compat.v2.nn: the same operations, with the arguments of TensorFlow 2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array import blocks
from tfcompat._src.ops.nn import (
    activation,
    conv_functions,
    depthwise,
    dilated,
    dilation,
    dropout,
    embedding,
    loss,
    moments,
    nce,
    pool_functions,
    softmax,
    top_k,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfcompat._src.base.arrays import TensorLike


@export("compat.v2.nn.avg_pool2d")
def avg_pool2d_v2(
    input: object, ksize: object, strides: object, padding: str, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """`tf.nn.avg_pool` with `input`."""
    return pool_functions.avg_pool(input, ksize, strides, padding, data_format, name)


@export("compat.v2.nn.batch_norm_with_global_normalization")
def batch_norm_with_global_normalization_v2(
    input: object, mean: object, variance: object, beta: object, gamma: object, variance_epsilon: float,
    scale_after_normalization: bool, name: str | None = None,
) -> Tensor:  # fmt: skip
    """`tf.nn.batch_norm_with_global_normalization` under the names of TensorFlow 2."""
    return moments.batch_norm_with_global_normalization(
        input, mean, variance, beta, gamma, variance_epsilon, scale_after_normalization, name
    )


@export("compat.v2.nn.conv1d")
def conv1d_v2(
    input: object, filters: object, stride: Any, padding: Any, data_format: str = "NWC", dilations: object = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """`tf.nn.conv1d` without `use_cudnn_on_gpu`."""
    return conv_functions.conv1d(
        input, filters, stride, padding, data_format=data_format, name=name, dilations=dilations
    )


@export("compat.v2.nn.conv2d")
def conv2d_v2(
    input: TensorLike, filters: TensorLike, strides: object, padding: object, data_format: str = "NHWC", dilations: object = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """`tf.nn.conv2d` without `use_cudnn_on_gpu`."""
    dilations = [1, 1, 1, 1] if dilations is None else dilations
    return conv_functions.conv2d(
        input, filters, strides, padding, data_format=data_format, dilations=dilations, name=name
    )


@export("compat.v2.nn.conv3d")
def conv3d_v2(
    input: object, filters: object, strides: object, padding: Any, data_format: str = "NDHWC", dilations: Any = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """`tf.nn.conv3d` with `filters`."""
    dilations = [1, 1, 1, 1, 1] if dilations is None else dilations
    return conv_functions.conv3d(
        input, filters, strides, padding, data_format=data_format, dilations=dilations, name=name
    )


@export("compat.v2.nn.conv2d_transpose")
def conv2d_transpose_v2(
    input: object, filters: object, output_shape: object, strides: object, padding: str = "SAME", data_format: str = "NHWC",
    dilations: object = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """`tf.nn.conv2d_transpose` with `dilations` before `name`."""
    return conv_functions.conv2d_transpose(
        input, filters, output_shape, strides, padding, data_format, name, dilations=dilations
    )


@export("compat.v2.nn.conv3d_transpose")
def conv3d_transpose_v2(
    input: object, filters: object, output_shape: object, strides: object, padding: str = "SAME", data_format: str = "NDHWC",
    dilations: object = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """`tf.nn.conv3d_transpose` with `dilations` before `name`."""
    return conv_functions.conv3d_transpose(
        input, filters, output_shape, strides, padding, data_format, name, dilations=dilations
    )


@export("compat.v2.nn.convolution")
def convolution_v2(
    input: object, filters: object, strides: object = None, padding: str = "VALID", data_format: str | None = None,
    dilations: object = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """`tf.nn.convolution` with `strides` before `padding`."""
    return dilated.convolution(input, filters, padding, strides, dilations, name, data_format)


@export("compat.v2.nn.pool")
def pool_v2(
    input: TensorLike, window_shape: object, pooling_type: str, strides: object = None, padding: str = "VALID",
    data_format: str | None = None, dilations: object = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """`tf.nn.pool` with `strides` before `padding`."""
    return dilated.pool(input, window_shape, pooling_type, padding, dilations, strides, name, data_format)


@export("compat.v2.nn.depthwise_conv2d")
def depthwise_conv2d_v2(
    input: Any, filter: Any, strides: Any, padding: Any, data_format: str | None = None, dilations: Any = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """`tf.nn.depthwise_conv2d` with `dilations`."""
    return depthwise.depthwise_conv2d(input, filter, strides, padding, dilations, name, data_format)


@export("compat.v2.nn.separable_conv2d")
def separable_conv2d_v2(
    input: Any, depthwise_filter: Any, pointwise_filter: Any, strides: Any, padding: Any,
    data_format: str | None = None, dilations: Any = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """`tf.nn.separable_conv2d` with `dilations`."""
    return depthwise.separable_conv2d(
        input, depthwise_filter, pointwise_filter, strides, padding, dilations, name, data_format
    )


def _require_nhwc(data_format: str) -> None:
    if data_format != "NHWC":
        raise ValueError("Data formats other than NHWC are not yet supported")


@export("compat.v2.nn.dilation2d")
def dilation2d_v2(
    input: TensorLike, filters: TensorLike, strides: Sequence[int], padding: str, data_format: str, dilations: Sequence[int], name: str | None = None
) -> Tensor:
    """`tf.nn.dilation2d` with `data_format`.

    Raises:
      ValueError: `data_format` is not "NHWC".
    """
    _require_nhwc(data_format)
    return dilation.dilation2d(input, filters, strides, dilations, padding, name)


@export("compat.v2.nn.erosion2d")
def erosion2d_v2(
    value: TensorLike, filters: TensorLike, strides: Sequence[int], padding: str, data_format: str, dilations: Sequence[int], name: str | None = None
) -> Tensor:
    """`tf.nn.erosion2d` with `data_format`.

    Raises:
      ValueError: `data_format` is not "NHWC".
    """
    _require_nhwc(data_format)
    return dilation.erosion2d(value, filters, strides, dilations, padding, name)


@export("compat.v2.nn.crelu")
def crelu_v2(features: TensorLike, axis: int = -1, name: str | None = None) -> Tensor:
    """`tf.nn.crelu` with `axis` before `name`."""
    return activation.crelu(features, name, axis)


@export("compat.v2.nn.dropout")
def dropout_v2(x: TensorLike, rate: TensorLike, noise_shape: object = None, seed: int | None = None, name: str | None = None) -> Tensor:
    """`tf.nn.dropout` by the share of elements that become 0."""
    return dropout.dropout(x, noise_shape=noise_shape, seed=seed, name=name, rate=rate)


@export("compat.v2.nn.embedding_lookup")
def embedding_lookup_v2(params: object, ids: TensorLike, max_norm: float | None = None, name: str | None = None) -> Tensor:
    """`tf.nn.embedding_lookup` where parts of `params` hold following rows."""
    return embedding.embedding_lookup(params, ids, "div", name, max_norm=max_norm)


@export("compat.v2.nn.embedding_lookup_sparse")
def embedding_lookup_sparse_v2(
    params: object, sp_ids: object, sp_weights: object, combiner: str | None = None, max_norm: float | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """`tf.nn.embedding_lookup_sparse` where parts of `params` hold following rows."""
    return embedding.embedding_lookup_sparse(params, sp_ids, sp_weights, "div", name, combiner, max_norm)


@export("compat.v2.nn.in_top_k", "compat.v2.math.in_top_k")
def in_top_k_v2(targets: TensorLike, predictions: TensorLike, k: TensorLike, name: str | None = None) -> Tensor:
    """`tf.nn.in_top_k` with `targets` first."""
    return top_k.in_top_k(predictions, targets, k, name)


@export("compat.v2.nn.nce_loss")
def nce_loss_v2(
    weights: object, biases: object, labels: Any, inputs: Any, num_sampled: int, num_classes: int, num_true: int = 1,
    sampled_values: object = None, remove_accidental_hits: bool = False, name: str = "nce_loss",
) -> Tensor:  # fmt: skip
    """`tf.nn.nce_loss` where parts of `weights` hold following rows."""
    return nce.nce_loss(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        "div",
        name,
    )


@export("compat.v2.nn.sampled_softmax_loss")
def sampled_softmax_loss_v2(
    weights: object, biases: object, labels: Any, inputs: Any, num_sampled: int, num_classes: int, num_true: int = 1,
    sampled_values: object = None, remove_accidental_hits: bool = True, seed: int | None = None,
    name: str = "sampled_softmax_loss",
) -> Tensor:  # fmt: skip
    """`tf.nn.sampled_softmax_loss` where parts of `weights` hold following rows."""
    return nce.sampled_softmax_loss(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        "div",
        name,
        seed,
    )


@export("compat.v2.nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits_v2(labels: TensorLike | None = None, logits: TensorLike | None = None, name: str | None = None) -> Tensor:
    """`tf.nn.sigmoid_cross_entropy_with_logits` of arguments by position."""
    return loss.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


@export("compat.v2.nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits_v2(labels: TensorLike, logits: TensorLike, name: str | None = None) -> Tensor:
    """`tf.nn.sparse_softmax_cross_entropy_with_logits` of arguments by position."""
    return softmax.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


@export("compat.v2.nn.sufficient_statistics")
def sufficient_statistics_v2(
    x: TensorLike, axes: TensorLike, shift: TensorLike | None = None, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any, Any, Any]:
    """`tf.nn.sufficient_statistics` without `keep_dims`."""
    return moments.sufficient_statistics(x, axes, shift, name=name, keepdims=keepdims)


@export("compat.v2.nn.weighted_moments")
def weighted_moments_v2(
    x: TensorLike, axes: object, frequency_weights: TensorLike, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """`tf.nn.weighted_moments` without `keep_dims`."""
    return moments.weighted_moments(x, axes, frequency_weights, name=name, keepdims=keepdims)


@export("compat.v2.nn.depth_to_space")
def depth_to_space_v2(input: TensorLike, block_size: int, data_format: str = "NHWC", name: str | None = None) -> Tensor:
    """`tf.nn.depth_to_space` with `name` at the end."""
    return blocks.depth_to_space(input, block_size, name, data_format)


@export("compat.v2.nn.space_to_depth")
def space_to_depth_v2(input: TensorLike, block_size: int, data_format: str = "NHWC", name: str | None = None) -> Tensor:
    """`tf.nn.space_to_depth` with `name` at the end."""
    return blocks.space_to_depth(input, block_size, name, data_format)


@export("compat.v2.space_to_batch", "compat.v2.nn.space_to_batch")
def space_to_batch_v2(input: TensorLike, block_shape: TensorLike, paddings: TensorLike, name: str | None = None) -> Tensor:
    """`tf.space_to_batch_nd`."""
    return blocks.space_to_batch_nd(input, block_shape, paddings, name)


@export("compat.v2.batch_to_space")
def batch_to_space_v2(input: TensorLike, block_shape: TensorLike, crops: TensorLike, name: str | None = None) -> Tensor:
    """`tf.batch_to_space_nd`."""
    return blocks.batch_to_space_nd(input, block_shape, crops, name)


@export("compat.v2.nn.max_pool_with_argmax")
def max_pool_with_argmax_v2(
    input: TensorLike, ksize: object, strides: object, padding: str, data_format: str = "NHWC", output_dtype: object = dtypes.int64,
    include_batch_in_index: bool = False, name: str | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`tf.nn.max_pool_with_argmax`, whose window may be given by one int, or by height and width."""
    return pool_functions.max_pool_with_argmax(
        input, pool_functions.per_dimension(ksize, 2, "NHWC", "ksize"),
        pool_functions.per_dimension(strides, 2, "NHWC", "strides"), padding, data_format, output_dtype, name,
        include_batch_in_index=include_batch_in_index,
    )  # fmt: skip
