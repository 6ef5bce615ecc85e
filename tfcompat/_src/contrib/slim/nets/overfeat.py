"""tf.contrib.slim.nets.overfeat: OverFeat (Sermanet et al. 2013, arXiv:1312.6229)."""

from __future__ import annotations

from tfcompat._src.base.export import export
from tfcompat._src.contrib.framework.arg_scope import arg_scope
from tfcompat._src.contrib.layers.conv import convolution2d as conv2d
from tfcompat._src.contrib.layers.pooling import max_pool2d
from tfcompat._src.contrib.slim.nets import fully_convolutional
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.variables.initializers import Constant, TruncatedNormal, Zeros
from tfcompat._src.variables.scope import variable_scope


@export("contrib.slim.nets.overfeat.overfeat_arg_scope")
def overfeat_arg_scope(weight_decay: float = 0.0005) -> dict:
    """The argument scope of OverFeat: ReLU, L2 regularization of so much, biases from 0."""
    return fully_convolutional.pooled_arg_scope(weight_decay, Zeros())


@export("contrib.slim.nets.overfeat.overfeat")
def overfeat(
    inputs: Tensor, num_classes: int = 1000, is_training: bool = True, dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True, scope: object = "overfeat",
) -> tuple[Tensor, dict[str, Tensor]]:  # fmt: skip
    """OverFeat, for images of 231 x 231 pixels; arguments as in `vgg.vgg_a`."""
    with variable_scope(scope, "overfeat", [inputs]) as sc:
        collection = sc.name + "_end_points"
        with fully_convolutional.collecting(collection):
            net = conv2d(inputs, 64, [11, 11], 4, padding="VALID", scope="conv1")
            net = max_pool2d(net, [2, 2], scope="pool1")
            net = conv2d(net, 256, [5, 5], padding="VALID", scope="conv2")
            net = max_pool2d(net, [2, 2], scope="pool2")
            for i, depth in enumerate((512, 1024, 1024), start=3):
                net = conv2d(net, depth, [3, 3], scope=f"conv{i}")
            net = max_pool2d(net, [2, 2], scope="pool5")
            with arg_scope(
                [conv2d], weights_initializer=TruncatedNormal(0.0, 0.005), biases_initializer=Constant(0.1)
            ):
                net = fully_convolutional.classifier(
                    net, (3072, 4096), [6, 6], num_classes, is_training, dropout_keep_prob, biases_initializer=Zeros()
                )
        return fully_convolutional.finished(net, sc.name, collection, spatial_squeeze)


overfeat.default_image_size = 231
