"""What the classifiers without inner blocks share: their argument scopes and their last layers, as convolutions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tfcompat._src.contrib.framework.arg_scope import arg_scope
from tfcompat._src.contrib.layers.conv import convolution2d as conv2d
from tfcompat._src.contrib.layers.core import dropout, fully_connected
from tfcompat._src.contrib.layers.pooling import max_pool2d
from tfcompat._src.contrib.layers.regularizers import l2_regularizer
from tfcompat._src.contrib.layers.utils import convert_collection_to_dict
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.shape import squeeze
from tfcompat._src.ops.nn.activation import relu


def convolutional_arg_scope(weight_decay: float, biases_initializer: object) -> dict:
    """ReLU, L2 regularization, and padding SAME for convolutions."""
    with (
        arg_scope(
            [conv2d, fully_connected], activation_fn=relu, weights_regularizer=l2_regularizer(weight_decay),
            biases_initializer=biases_initializer,
        ),
        arg_scope([conv2d], padding="SAME") as scope,
    ):  # fmt: skip
        return scope


def pooled_arg_scope(weight_decay: float, biases_initializer: object) -> dict:
    """`convolutional_arg_scope` with padding VALID for pooling."""
    with (
        arg_scope(convolutional_arg_scope(weight_decay, biases_initializer)),
        arg_scope([max_pool2d], padding="VALID") as scope,
    ):
        return scope


@contextlib.contextmanager
def collecting(collection: object) -> Iterator[None]:
    """Inside, the layers' outputs join a collection."""
    with arg_scope([conv2d, fully_connected, max_pool2d], outputs_collections=collection):
        yield


def classifier(
    net: Tensor, units: tuple[int, int], kernel: list[int], num_classes: int, is_training: object, keep_prob: float,
    **last: object,
) -> Tensor:  # fmt: skip
    """The layers fc6, fc7 and fc8, with dropout between them; `last` are arguments of fc8."""
    net = conv2d(net, units[0], kernel, padding="VALID", scope="fc6")
    net = dropout(net, keep_prob, is_training=is_training, scope="dropout6")
    net = conv2d(net, units[1], [1, 1], scope="fc7")
    net = dropout(net, keep_prob, is_training=is_training, scope="dropout7")
    return conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="fc8", **last)


def finished(net: Tensor, scope: str, collection: str, spatial_squeeze: bool) -> tuple[Tensor, dict[str, Tensor]]:
    """The logits, without their spatial dimensions where `spatial_squeeze`, and the end points."""
    end_points = convert_collection_to_dict(collection)
    if spatial_squeeze:
        net = squeeze(net, [1, 2], name="fc8/squeezed")
        end_points[scope + "/fc8"] = net
    return net, end_points
