"""tf.contrib.slim.nets.resnet_v2: residual networks with normalization first (He et al. 2016, arXiv:1603.05027)."""

from __future__ import annotations

from tfcompat._src.base.export import export
from tfcompat._src.contrib.framework.arg_scope import add_arg_scope, arg_scope
from tfcompat._src.contrib.layers.batch_norm import batch_norm
from tfcompat._src.contrib.layers.common import collect
from tfcompat._src.contrib.layers.conv import convolution2d as conv2d
from tfcompat._src.contrib.layers.functions import softmax
from tfcompat._src.contrib.layers.pooling import max_pool2d
from tfcompat._src.contrib.layers.utils import convert_collection_to_dict, last_dimension
from tfcompat._src.contrib.slim.nets import resnet_utils
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.math.reduce import reduce_mean
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.variables.scope import variable_scope

resnet_arg_scope = resnet_utils.resnet_arg_scope


@export("contrib.slim.nets.resnet_v2.bottleneck")
@add_arg_scope
def bottleneck(
    inputs: Tensor, depth: int, depth_bottleneck: int, stride: int, rate: int = 1, outputs_collections: object = None,
    scope: object = None,
) -> Tensor:  # fmt: skip
    """One residual unit: a convolution that narrows, one in space, one that widens, and the inputs added.

    Args:
      inputs: floating Tensor [batch, height, width, channels].
      depth, depth_bottleneck: number of channels of the result and of the layers inside.
      stride, rate: step and dilation of the convolution in space.
      outputs_collections: collections of the result.
      scope: variable scope, "bottleneck_v2" by default.
    """
    with variable_scope(scope, "bottleneck_v2", [inputs]) as sc:
        same_depth = depth == last_dimension(inputs.get_shape(), min_rank=4)
        linear = {"normalizer_fn": None, "activation_fn": None}
        preact = batch_norm(inputs, activation_fn=relu, scope="preact")
        if same_depth:
            shortcut = resnet_utils.subsample(inputs, stride, "shortcut")
        else:
            shortcut = conv2d(preact, depth, [1, 1], stride=stride, scope="shortcut", **linear)
        residual = conv2d(preact, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        residual = resnet_utils.conv2d_same(residual, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        residual = conv2d(residual, depth, [1, 1], stride=1, scope="conv3", **linear)
        output = shortcut + residual
        return collect(outputs_collections, sc.name, output)


@export("contrib.slim.nets.resnet_v2.resnet_v2")
def resnet_v2(
    inputs: Tensor, blocks: list[resnet_utils.Block], num_classes: int | None = None, is_training: bool = True,
    global_pool: bool = True, output_stride: int | None = None, include_root_block: bool = True,
    reuse: bool | None = None, scope: object = None,
) -> tuple[Tensor, dict[str, Tensor]]:  # fmt: skip
    """A ResNet of given blocks.

    Args:
      inputs: floating Tensor [batch, height, width, channels].
      blocks: the blocks of residual units.
      num_classes: number of classes; None leaves the logits out.
      is_training: whether batch norm trains.
      global_pool: whether the mean over space is taken before the logits.
      output_stride: the ratio of input to output resolution, by default what the blocks give.
      include_root_block: whether the first convolution and pooling layer are there.
      reuse: whether the variables must exist.
      scope: variable scope, "resnet_v2" by default.

    Returns:
      the logits, or the features without them, and a dict of end points.

    Raises:
      ValueError: the blocks cannot give `output_stride`.
    """
    with variable_scope(scope, "resnet_v2", [inputs], reuse=reuse) as sc:
        collection = sc.original_name_scope + "_end_points"
        with (
            arg_scope([conv2d, bottleneck, resnet_utils.stack_blocks_dense], outputs_collections=collection),
            arg_scope([batch_norm], is_training=is_training),
        ):
            net = inputs
            if include_root_block:
                output_stride = resnet_utils.root_stride(output_stride)
                with arg_scope([conv2d], activation_fn=None, normalizer_fn=None):
                    net = resnet_utils.conv2d_same(net, 64, 7, stride=2, scope="conv1")
                net = max_pool2d(net, [3, 3], stride=2, scope="pool1")
            net = resnet_utils.stack_blocks_dense(net, blocks, output_stride)
            net = batch_norm(net, activation_fn=relu, scope="postnorm")
            if global_pool:
                net = reduce_mean(net, [1, 2], name="pool5", keepdims=True)
            if num_classes is not None:
                net = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="logits")
            end_points = convert_collection_to_dict(collection)
            if num_classes is not None:
                end_points["predictions"] = softmax(net, scope="predictions")
            return net, end_points


resnet_v2.default_image_size = 224


@export("contrib.slim.nets.resnet_v2.resnet_v2_block")
def resnet_v2_block(scope: str, base_depth: int, num_units: int, stride: int) -> resnet_utils.Block:
    """A block of `num_units` units `base_depth` wide inside and four times as wide outside; the last has the stride."""
    return resnet_utils.bottleneck_block(bottleneck, scope, base_depth, num_units, stride)


resnet_v2_50 = export("contrib.slim.nets.resnet_v2.resnet_v2_50")(
    resnet_utils.published(resnet_v2, bottleneck, 50, (3, 4, 6, 3))
)
resnet_v2_101 = export("contrib.slim.nets.resnet_v2.resnet_v2_101")(
    resnet_utils.published(resnet_v2, bottleneck, 101, (3, 4, 23, 3))
)
resnet_v2_152 = export("contrib.slim.nets.resnet_v2.resnet_v2_152")(
    resnet_utils.published(resnet_v2, bottleneck, 152, (3, 8, 36, 3))
)
resnet_v2_200 = export("contrib.slim.nets.resnet_v2.resnet_v2_200")(
    resnet_utils.published(resnet_v2, bottleneck, 200, (3, 24, 36, 3))
)
