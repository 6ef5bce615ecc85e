"""tf.contrib.slim.nets.vgg: the networks of Simonyan and Zisserman 2014 (arXiv:1409.1556)."""

from __future__ import annotations

from tfcompat._src.base.export import export
from tfcompat._src.contrib.layers.conv import convolution2d as conv2d
from tfcompat._src.contrib.layers.core import repeat
from tfcompat._src.contrib.layers.pooling import max_pool2d
from tfcompat._src.contrib.slim.nets import fully_convolutional
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.scope import variable_scope

_DEPTHS = (64, 128, 256, 512, 512)


@export("contrib.slim.nets.vgg.vgg_arg_scope")
def vgg_arg_scope(weight_decay: float = 0.0005) -> dict:
    """The argument scope of a VGG network: ReLU, L2 regularization of so much, biases from 0."""
    return fully_convolutional.convolutional_arg_scope(weight_decay, Zeros())


def _vgg(
    name: str, repeats: tuple[int, ...], inputs: Tensor, num_classes: int, is_training: object, keep_prob: float,
    spatial_squeeze: bool, scope: object,
) -> tuple[Tensor, dict[str, Tensor]]:  # fmt: skip
    with variable_scope(scope, name, [inputs]) as sc:
        collection = (sc.name if name == "vgg_19" else sc.original_name_scope) + "_end_points"
        net = inputs
        with fully_convolutional.collecting(collection):
            for i, (count, depth) in enumerate(zip(repeats, _DEPTHS, strict=True), start=1):
                net = repeat(net, count, conv2d, depth, [3, 3], scope=f"conv{i}")
                net = max_pool2d(net, [2, 2], scope=f"pool{i}")
            net = fully_convolutional.classifier(net, (4096, 4096), [7, 7], num_classes, is_training, keep_prob)
        return fully_convolutional.finished(net, sc.name, collection, spatial_squeeze)


@export("contrib.slim.nets.vgg.vgg_a")
def vgg_a(
    inputs: Tensor, num_classes: int = 1000, is_training: bool = True, dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True, scope: object = "vgg_a",
) -> tuple[Tensor, dict[str, Tensor]]:  # fmt: skip
    """The network with 11 layers, for images of 224 x 224 pixels.

    Args:
      inputs: floating Tensor [batch, height, width, channels].
      num_classes: number of classes.
      is_training: whether dropout is on.
      dropout_keep_prob: part of the activations that it keeps.
      spatial_squeeze: whether the logits lose their spatial dimensions.
      scope: variable scope.

    Returns:
      the logits, and a dict of end points.
    """
    return _vgg("vgg_a", (1, 1, 2, 2, 2), inputs, num_classes, is_training, dropout_keep_prob, spatial_squeeze, scope)


@export("contrib.slim.nets.vgg.vgg_16", "contrib.slim.nets.vgg.vgg_d")
def vgg_16(
    inputs: Tensor, num_classes: int = 1000, is_training: bool = True, dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True, scope: object = "vgg_16",
) -> tuple[Tensor, dict[str, Tensor]]:  # fmt: skip
    """The network with 16 layers; arguments and results as in `vgg_a`."""
    return _vgg("vgg_16", (2, 2, 3, 3, 3), inputs, num_classes, is_training, dropout_keep_prob, spatial_squeeze, scope)


@export("contrib.slim.nets.vgg.vgg_19", "contrib.slim.nets.vgg.vgg_e")
def vgg_19(
    inputs: Tensor, num_classes: int = 1000, is_training: bool = True, dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True, scope: object = "vgg_19",
) -> tuple[Tensor, dict[str, Tensor]]:  # fmt: skip
    """The network with 19 layers; arguments and results as in `vgg_a`."""
    return _vgg("vgg_19", (2, 2, 4, 4, 4), inputs, num_classes, is_training, dropout_keep_prob, spatial_squeeze, scope)


for network in (vgg_a, vgg_16, vgg_19):
    network.default_image_size = 224
vgg_d = vgg_16
vgg_e = vgg_19
