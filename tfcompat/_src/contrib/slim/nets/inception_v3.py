"""tf.contrib.slim.nets.inception: Inception V3 (Szegedy et al. 2015, arXiv:1512.00567)."""

from __future__ import annotations

from collections.abc import Callable

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.contrib.framework.arg_scope import arg_scope
from tfcompat._src.contrib.layers.conv import convolution2d as conv2d
from tfcompat._src.contrib.layers.core import dropout
from tfcompat._src.contrib.layers.functions import softmax
from tfcompat._src.contrib.layers.pooling import avg_pool2d, max_pool2d
from tfcompat._src.contrib.slim.nets import inception_blocks as blocks
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.variables.initializers import TruncatedNormal
from tfcompat._src.variables.scope import variable_scope


def _mixed_5(pooled: int, second: str = "Conv2d_0a_1x1 48, Conv2d_0b_5x5 64") -> tuple[str, ...]:
    return (
        "Conv2d_0a_1x1 64",
        second,
        "Conv2d_0a_1x1 64, Conv2d_0b_3x3 96, Conv2d_0c_3x3 96",
        f"AvgPool_0a_3x3, Conv2d_0b_1x1 {pooled}",
    )


def _mixed_6(width: int) -> tuple[str, ...]:
    return (
        "Conv2d_0a_1x1 192",
        f"Conv2d_0a_1x1 {width}, Conv2d_0b_1x7 {width}, Conv2d_0c_7x1 192",
        f"Conv2d_0a_1x1 {width}, Conv2d_0b_7x1 {width}, Conv2d_0c_1x7 {width}, Conv2d_0d_7x1 {width}, "
        "Conv2d_0e_1x7 192",
        "AvgPool_0a_3x3, Conv2d_0b_1x1 192",
    )


def _mixed_7(last: str) -> tuple[str, ...]:
    return (
        "Conv2d_0a_1x1 320",
        f"Conv2d_0a_1x1 384, Conv2d_0b_1x3 384 + {last} 384",
        "Conv2d_0a_1x1 448, Conv2d_0b_3x3 384, Conv2d_0c_1x3 384 + Conv2d_0d_3x1 384",
        "AvgPool_0a_3x3, Conv2d_0b_1x1 192",
    )


TABLE = {
    "Conv2d_1a_3x3": "32 /2 V",
    "Conv2d_2a_3x3": "32 V",
    "Conv2d_2b_3x3": "64",
    "MaxPool_3a_3x3": "/2 V",
    "Conv2d_3b_1x1": "80 V",
    "Conv2d_4a_3x3": "192 V",
    "MaxPool_5a_3x3": "/2 V",
    "Mixed_5b": _mixed_5(32),
    "Mixed_5c": _mixed_5(64, second="Conv2d_0b_1x1 48, Conv_1_0c_5x5 64"),
    "Mixed_5d": _mixed_5(64),
    "Mixed_6a": (
        "Conv2d_1a_1x1 384 3x3 /2 V",
        "Conv2d_0a_1x1 64, Conv2d_0b_3x3 96, Conv2d_1a_1x1 96 3x3 /2 V",
        "MaxPool_1a_3x3 /2 V",
    ),
    "Mixed_6b": _mixed_6(128),
    "Mixed_6c": _mixed_6(160),
    "Mixed_6d": _mixed_6(160),
    "Mixed_6e": _mixed_6(192),
    "Mixed_7a": (
        "Conv2d_0a_1x1 192, Conv2d_1a_3x3 320 /2 V",
        "Conv2d_0a_1x1 192, Conv2d_0b_1x7 192, Conv2d_0c_7x1 192, Conv2d_1a_3x3 192 /2 V",
        "MaxPool_1a_3x3 /2 V",
    ),
    "Mixed_7b": _mixed_7("Conv2d_0b_3x1"),
    "Mixed_7c": _mixed_7("Conv2d_0c_3x1"),
}


@export("contrib.slim.nets.inception.inception_v3_base")
def inception_v3_base(
    inputs: Tensor, final_endpoint: str = "Mixed_7c", min_depth: int = 16, depth_multiplier: float = 1.0,
    scope: object = None,
) -> tuple[Tensor, dict[str, Tensor]]:  # fmt: skip
    """The convolutional part of Inception V3; arguments, results and errors as in `inception_v2_base`."""
    depth = blocks.thinned(depth_multiplier, min_depth)
    with variable_scope(scope, "InceptionV3", [inputs]):
        return blocks.build(inputs, TABLE, final_endpoint, {}, depth)


def _auxiliary(net: Tensor, num_classes: int, depth: Callable[[int], int], spatial_squeeze: bool) -> Tensor:
    """The logits of the side branch that helps training."""
    with (
        arg_scope([conv2d, max_pool2d, avg_pool2d], stride=1, padding="SAME"),
        variable_scope("AuxLogits"),
    ):
        net = avg_pool2d(net, [5, 5], stride=3, padding="VALID", scope="AvgPool_1a_5x5")
        net = conv2d(net, depth(128), [1, 1], scope="Conv2d_1b_1x1")
        kernel = blocks.fitting_kernel(net, [5, 5])
        net = conv2d(
            net, depth(768), kernel, weights_initializer=TruncatedNormal(0.0, 0.01), padding="VALID",
            scope="Conv2d_2a_{}x{}".format(*kernel),
        )  # fmt: skip
        initializer = TruncatedNormal(0.0, 0.001)
        return blocks.logits(net, num_classes, "Conv2d_2b_1x1", spatial_squeeze, weights_initializer=initializer)


@export("contrib.slim.nets.inception.inception_v3")
def inception_v3(
    inputs: Tensor, num_classes: int = 1000, is_training: bool = True, dropout_keep_prob: float = 0.8,
    min_depth: int = 16, depth_multiplier: float = 1.0, prediction_fn: Callable = softmax,
    spatial_squeeze: bool = True, reuse: bool | None = None, scope: object = "InceptionV3",
) -> tuple[Tensor, dict[str, Tensor]]:  # fmt: skip
    """Inception V3 for classification, of images of 299 x 299 pixels by default; arguments as in `inception_v2`."""
    depth = blocks.thinned(depth_multiplier, min_depth)
    with variable_scope(scope, "InceptionV3", [inputs, num_classes], reuse=reuse) as sc, blocks.training(is_training):
        net, end_points = inception_v3_base(inputs, scope=sc, min_depth=min_depth, depth_multiplier=depth_multiplier)
        end_points["AuxLogits"] = _auxiliary(end_points["Mixed_6e"], num_classes, depth, spatial_squeeze)
        with variable_scope("Logits"):
            kernel = blocks.fitting_kernel(net, [8, 8])
            net = avg_pool2d(net, kernel, padding="VALID", scope="AvgPool_1a_{}x{}".format(*kernel))
            net = dropout(net, keep_prob=dropout_keep_prob, scope="Dropout_1b")
            end_points["PreLogits"] = net
            logits = blocks.logits(net, num_classes, "Conv2d_1c_1x1", spatial_squeeze)
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v3.default_image_size = 299


@export("contrib.slim.nets.inception.inception_v3_arg_scope")
def inception_v3_arg_scope(
    weight_decay: float = 0.00004, batch_norm_var_collection: str = "moving_vars", batch_norm_decay: float = 0.9997,
    batch_norm_epsilon: float = 0.001, updates_collections: object = GraphKeys.UPDATE_OPS,
    use_fused_batchnorm: bool = True,
) -> dict:  # fmt: skip
    """The argument scope of Inception V3: L2 regularization, ReLU, batch normalization."""
    return blocks.inception_arg_scope(
        weight_decay, batch_norm_var_collection, decay=batch_norm_decay, epsilon=batch_norm_epsilon,
        updates=updates_collections, fused=use_fused_batchnorm,
    )  # fmt: skip
