"""tf.contrib.slim.nets.inception: Inception V1 (Szegedy et al. 2014, arXiv:1409.4842)."""

from __future__ import annotations

from collections.abc import Callable

from tfcompat._src.base.export import export
from tfcompat._src.contrib.framework.arg_scope import arg_scope
from tfcompat._src.contrib.layers.batch_norm import batch_norm
from tfcompat._src.contrib.layers.conv import convolution2d as conv2d
from tfcompat._src.contrib.layers.core import dropout, fully_connected
from tfcompat._src.contrib.layers.functions import softmax
from tfcompat._src.contrib.layers.pooling import avg_pool2d
from tfcompat._src.contrib.slim.nets import inception_blocks as blocks
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.variables.initializers import TruncatedNormal
from tfcompat._src.variables.scope import variable_scope


def _mixed(one: int, two: tuple[int, int], three: tuple[int, int], four: int, second: str = "0b") -> tuple[str, ...]:
    """The branches of one block: 1x1, 1x1 before 3x3, the same, 1x1 after pooling."""
    return (
        f"Conv2d_0a_1x1 {one}",
        f"Conv2d_0a_1x1 {two[0]}, Conv2d_0b_3x3 {two[1]}",
        f"Conv2d_0a_1x1 {three[0]}, Conv2d_{second}_3x3 {three[1]}",
        f"MaxPool_0a_3x3, Conv2d_0b_1x1 {four}",
    )


TABLE = {
    "Conv2d_1a_7x7": "64 /2",
    "MaxPool_2a_3x3": "/2",
    "Conv2d_2b_1x1": "64",
    "Conv2d_2c_3x3": "192",
    "MaxPool_3a_3x3": "/2",
    "Mixed_3b": _mixed(64, (96, 128), (16, 32), 32),
    "Mixed_3c": _mixed(128, (128, 192), (32, 96), 64),
    "MaxPool_4a_3x3": "/2",
    "Mixed_4b": _mixed(192, (96, 208), (16, 48), 64),
    "Mixed_4c": _mixed(160, (112, 224), (24, 64), 64),
    "Mixed_4d": _mixed(128, (128, 256), (24, 64), 64),
    "Mixed_4e": _mixed(112, (144, 288), (32, 64), 64),
    "Mixed_4f": _mixed(256, (160, 320), (32, 128), 128),
    "MaxPool_5a_2x2": "/2",
    "Mixed_5b": _mixed(256, (160, 320), (32, 128), 128, second="0a"),
    "Mixed_5c": _mixed(384, (192, 384), (48, 128), 128),
}


@export("contrib.slim.nets.inception.inception_v1_base")
def inception_v1_base(
    inputs: Tensor, final_endpoint: str = "Mixed_5c", scope: object = "InceptionV1"
) -> tuple[Tensor, dict[str, Tensor]]:
    """The convolutional part of Inception V1.

    Args:
      inputs: floating Tensor [batch, height, width, channels].
      final_endpoint: the last layer.
      scope: variable scope.

    Returns:
      the output of the last layer, and a dict of end points.

    Raises:
      ValueError: there is no such end point.
    """
    initializer = TruncatedNormal(0.0, 0.01)
    with (
        variable_scope(scope, "InceptionV1", [inputs]),
        arg_scope([conv2d, fully_connected], weights_initializer=initializer),
    ):
        return blocks.build(inputs, TABLE, final_endpoint, {})


@export("contrib.slim.nets.inception.inception_v1")
def inception_v1(
    inputs: Tensor, num_classes: int = 1000, is_training: bool = True, dropout_keep_prob: float = 0.8,
    prediction_fn: Callable = softmax, spatial_squeeze: bool = True, reuse: bool | None = None,
    scope: object = "InceptionV1",
) -> tuple[Tensor, dict[str, Tensor]]:  # fmt: skip
    """Inception V1 for classification, of images of 224 x 224 pixels by default.

    Args:
      inputs: floating Tensor [batch, height, width, channels].
      num_classes: number of classes.
      is_training: whether batch norm and dropout train.
      dropout_keep_prob: part of the activations that dropout keeps.
      prediction_fn: function from the logits and a `scope` to predictions.
      spatial_squeeze: whether the logits lose their spatial dimensions.
      reuse: whether the variables must exist.
      scope: variable scope.

    Returns:
      the logits, and a dict of end points.
    """
    with variable_scope(scope, "InceptionV1", [inputs, num_classes], reuse=reuse) as sc, blocks.training(is_training):
        net, end_points = inception_v1_base(inputs, scope=sc)
        with variable_scope("Logits"):
            net = avg_pool2d(net, [7, 7], stride=1, scope="MaxPool_0a_7x7")
            net = dropout(net, dropout_keep_prob, scope="Dropout_0b")
            logits = blocks.logits(net, num_classes, "Conv2d_0c_1x1", spatial_squeeze)
            end_points["Logits"] = logits
            end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v1.default_image_size = 224


@export("contrib.slim.nets.inception.inception_v1_arg_scope")
def inception_v1_arg_scope(
    weight_decay: float = 0.00004, use_batch_norm: bool = True, batch_norm_var_collection: str = "moving_vars"
) -> dict:
    """The argument scope of Inception V1: L2 regularization, ReLU, and batch normalization where `use_batch_norm`."""
    return blocks.inception_arg_scope(weight_decay, batch_norm_var_collection, batch_norm if use_batch_norm else None)
