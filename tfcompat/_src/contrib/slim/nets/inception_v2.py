"""tf.contrib.slim.nets.inception: Inception V2 (Ioffe and Szegedy 2015, arXiv:1502.03167)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.layers.conv import separable_convolution2d as separable_conv2d
from tfcompat._src.contrib.layers.core import dropout
from tfcompat._src.contrib.layers.functions import softmax
from tfcompat._src.contrib.layers.pooling import avg_pool2d
from tfcompat._src.contrib.slim.nets import inception_blocks as blocks
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.variables.initializers import TruncatedNormal
from tfcompat._src.variables.scope import variable_scope

_FIRST = "Conv2d_1a_7x7"


def _mixed(one: int, two: tuple[int, int], three: tuple[int, int], four: int, pool: str = "AvgPool") -> tuple[str, ...]:
    """The branches of one block: 1x1, 1x1 before 3x3, 1x1 before two 3x3, 1x1 after pooling."""
    return (
        f"Conv2d_0a_1x1 {one}",
        f"Conv2d_0a_1x1 {two[0]}, Conv2d_0b_3x3 {two[1]}",
        f"Conv2d_0a_1x1 {three[0]}, Conv2d_0b_3x3 {three[1]}, Conv2d_0c_3x3 {three[1]}",
        f"{pool}_0a_3x3, Conv2d_0b_1x1 {four}",
    )


def _reduction(one: tuple[int, int], two: tuple[int, int]) -> tuple[str, ...]:
    """The branches of a block with stride 2."""
    return (
        f"Conv2d_0a_1x1 {one[0]}, Conv2d_1a_3x3 {one[1]} /2",
        f"Conv2d_0a_1x1 {two[0]}, Conv2d_0b_3x3 {two[1]}, Conv2d_1a_3x3 {two[1]} /2",
        "MaxPool_1a_3x3 /2",
    )


TABLE = {
    "MaxPool_2a_3x3": "/2",
    "Conv2d_2b_1x1": "64",
    "Conv2d_2c_3x3": "192",
    "MaxPool_3a_3x3": "/2",
    "Mixed_3b": _mixed(64, (64, 64), (64, 96), 32),
    "Mixed_3c": _mixed(64, (64, 96), (64, 96), 64),
    "Mixed_4a": _reduction((128, 160), (64, 96)),
    "Mixed_4b": _mixed(224, (64, 96), (96, 128), 128),
    "Mixed_4c": _mixed(192, (96, 128), (96, 128), 128),
    "Mixed_4d": _mixed(160, (128, 160), (128, 160), 96),
    "Mixed_4e": _mixed(96, (128, 192), (160, 192), 96),
    "Mixed_5a": _reduction((128, 192), (192, 256)),
    "Mixed_5b": _mixed(352, (192, 320), (160, 224), 128),
    "Mixed_5c": _mixed(352, (192, 320), (192, 224), 128, pool="MaxPool"),
}


def _weights(rows: list[str], i: int) -> dict[str, Any]:
    """The initializer of a 1x1 convolution that follows a pooling layer or comes before others."""
    if rows[i].startswith("Conv2d_2b_1x1") or (i and "Pool" in rows[0]):
        return {"weights_initializer": TruncatedNormal(0.0, 0.1)}
    return {"weights_initializer": TruncatedNormal(0.0, 0.09)} if i == 0 and len(rows) > 1 else {}


@export("contrib.slim.nets.inception.inception_v2_base")
def inception_v2_base(
    inputs: Tensor, final_endpoint: str = "Mixed_5c", min_depth: int = 16, depth_multiplier: float = 1.0,
    scope: object = None,
) -> tuple[Tensor, dict[str, Tensor]]:  # fmt: skip
    """The convolutional part of Inception V2.

    Args:
      inputs: floating Tensor [batch, height, width, channels].
      final_endpoint: the last layer.
      min_depth: least number of channels of a layer.
      depth_multiplier: factor of the numbers of channels.
      scope: variable scope.

    Returns:
      the output of the last layer, and a dict of end points.

    Raises:
      ValueError: there is no such end point, or the multiplier is not positive.
    """
    depth = blocks.thinned(depth_multiplier, min_depth)
    with variable_scope(scope, "InceptionV2", [inputs]):
        net = separable_conv2d(
            inputs, depth(64), [7, 7], depth_multiplier=min(int(depth(64) / 3), 8), stride=2, padding="SAME",
            weights_initializer=TruncatedNormal(0.0, 1.0), scope=_FIRST,
        )  # fmt: skip
        if final_endpoint == _FIRST:
            return net, {_FIRST: net}
        return blocks.build(net, TABLE, final_endpoint, {_FIRST: net}, depth, _weights)


@export("contrib.slim.nets.inception.inception_v2")
def inception_v2(
    inputs: Tensor, num_classes: int = 1000, is_training: bool = True, dropout_keep_prob: float = 0.8,
    min_depth: int = 16, depth_multiplier: float = 1.0, prediction_fn: Callable = softmax,
    spatial_squeeze: bool = True, reuse: bool | None = None, scope: object = "InceptionV2",
) -> tuple[Tensor, dict[str, Tensor]]:  # fmt: skip
    """Inception V2 for classification, of images of 224 x 224 pixels by default.

    Args:
      inputs, num_classes, is_training, dropout_keep_prob, prediction_fn, spatial_squeeze, reuse, scope: as in
        `inception_v1`.
      min_depth, depth_multiplier: as in `inception_v2_base`.

    Returns:
      the logits, and a dict of end points.

    Raises:
      ValueError: the multiplier is not positive.
    """
    blocks.thinned(depth_multiplier, min_depth)
    with variable_scope(scope, "InceptionV2", [inputs, num_classes], reuse=reuse) as sc, blocks.training(is_training):
        net, end_points = inception_v2_base(inputs, scope=sc, min_depth=min_depth, depth_multiplier=depth_multiplier)
        with variable_scope("Logits"):
            kernel = blocks.fitting_kernel(net, [7, 7])
            net = avg_pool2d(net, kernel, padding="VALID", scope="AvgPool_1a_{}x{}".format(*kernel))
            net = dropout(net, keep_prob=dropout_keep_prob, scope="Dropout_1b")
            logits = blocks.logits(net, num_classes, "Conv2d_1c_1x1", spatial_squeeze)
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v2.default_image_size = 224


@export("contrib.slim.nets.inception.inception_v2_arg_scope")
def inception_v2_arg_scope(weight_decay: float = 0.00004, batch_norm_var_collection: str = "moving_vars") -> dict:
    """The argument scope of Inception V2: L2 regularization, ReLU, batch normalization."""
    return blocks.inception_arg_scope(weight_decay, batch_norm_var_collection)
