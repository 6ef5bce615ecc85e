"""tf.contrib.slim.nets.resnet_utils: blocks of residual units, and the density of their outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.contrib.framework.arg_scope import add_arg_scope, arg_scope
from tfcompat._src.contrib.layers.batch_norm import batch_norm
from tfcompat._src.contrib.layers.common import collect
from tfcompat._src.contrib.layers.conv import convolution2d as conv2d
from tfcompat._src.contrib.layers.initializers import variance_scaling_initializer
from tfcompat._src.contrib.layers.pooling import max_pool2d
from tfcompat._src.contrib.layers.regularizers import l2_regularizer
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.variables.scope import variable_scope

_UNREACHABLE = "The target output_stride cannot be reached."


@export("contrib.slim.nets.resnet_utils.Block")
class Block(NamedTuple):
    """A block of a ResNet: its scope, the function of its units, and a dict of its arguments for each unit."""

    scope: str
    unit_fn: Any
    args: list[dict[str, Any]]


@export("contrib.slim.nets.resnet_utils.subsample")
def subsample(inputs: Tensor, factor: int, scope: str | None = None) -> Tensor:
    """Every `factor`-th pixel of images [batch, height, width, channels]."""
    return inputs if factor == 1 else max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


@export("contrib.slim.nets.resnet_utils.conv2d_same")
def conv2d_same(
    inputs: Tensor, num_outputs: int, kernel_size: int, stride: int, rate: int = 1, scope: str | None = None
) -> Tensor:
    """A convolution that gives what one with stride 1 and padding SAME gives at every `stride`-th pixel.

    Args:
      inputs: floating Tensor [batch, height, width, channels].
      num_outputs: number of filters.
      kernel_size, stride, rate: size, step and dilation of the filters.
      scope: variable scope.
    """
    if stride == 1:
        return conv2d(inputs, num_outputs, kernel_size, stride=1, rate=rate, padding="SAME", scope=scope)
    before, odd = divmod((kernel_size - 1) * rate, 2)
    sides = [before, before + odd]
    inputs = pad(inputs, [[0, 0], sides, sides, [0, 0]])
    return conv2d(inputs, num_outputs, kernel_size, stride=stride, rate=rate, padding="VALID", scope=scope)


@export("contrib.slim.nets.resnet_utils.stack_blocks_dense")
@add_arg_scope
def stack_blocks_dense(
    net: Tensor, blocks: list[Block], output_stride: float | None = None, outputs_collections: object = None
) -> Tensor:
    """Blocks of units on top of each other; where the stride would exceed `output_stride`, dilation stands for it.

    Args:
      net: floating Tensor [batch, height, width, channels].
      blocks: the blocks; their last units have the strides.
      output_stride: the ratio of input to output resolution that is wanted, by default what the blocks give.
      outputs_collections: collections of the blocks' outputs.

    Raises:
      ValueError: the blocks cannot give `output_stride`.
    """
    reached, rate = 1, 1
    for block in blocks:
        with variable_scope(block.scope, "block", [net]) as sc:
            for i, unit in enumerate(block.args):
                stride = unit.get("stride", 1)
                if output_stride is not None and reached > output_stride:
                    raise ValueError(_UNREACHABLE)
                with variable_scope(f"unit_{i + 1}", values=[net]):
                    if reached == output_stride:
                        net = block.unit_fn(net, rate=rate, **{**unit, "stride": 1})
                        rate *= stride
                    else:
                        net = block.unit_fn(net, rate=1, **unit)
                        reached *= stride
            net = collect(outputs_collections, sc.name, net)
    if output_stride is not None and reached != output_stride:
        raise ValueError(_UNREACHABLE)
    return net


def bottleneck_block(unit_fn: object, scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """A block of bottleneck units whose last has the stride."""
    sizes = {"depth": base_depth * 4, "depth_bottleneck": base_depth}
    return Block(scope, unit_fn, [{**sizes, "stride": 1}] * (num_units - 1) + [{**sizes, "stride": stride}])


def four_blocks(unit_fn: object, units: tuple[int, int, int, int]) -> list[Block]:
    """The blocks of the published networks, with so many units in each."""
    return [
        bottleneck_block(unit_fn, f"block{i + 1}", 64 << i, count, 1 if i == 3 else 2) for i, count in enumerate(units)
    ]


def published(network: Callable, unit_fn: Callable, layers: int, units: tuple[int, int, int, int]) -> Callable:
    """The function that builds one of the published networks; its arguments are those of `network` but for the blocks."""

    def resnet(
        inputs: Tensor, num_classes: int | None = None, is_training: bool = True, global_pool: bool = True,
        output_stride: int | None = None, reuse: bool | None = None, scope: object = f"{network.__name__}_{layers}",
    ) -> tuple[Tensor, dict[str, Tensor]]:  # fmt: skip
        blocks = four_blocks(unit_fn, units)
        return network(inputs, blocks, num_classes, is_training, global_pool, output_stride, reuse=reuse, scope=scope)

    resnet.__name__ = resnet.__qualname__ = f"{network.__name__}_{layers}"
    resnet.__module__ = network.__module__
    resnet.__doc__ = f"`{network.__name__}` of {layers} layers."
    return resnet


def root_stride(output_stride: int | None) -> float | None:
    """What the root's stride of 4 leaves of `output_stride`; ValueError where it is no multiple."""
    if output_stride is None:
        return None
    if output_stride % 4:
        raise ValueError("The output_stride needs to be a multiple of 4.")
    return output_stride / 4


@export(
    "contrib.slim.nets.resnet_utils.resnet_arg_scope", "contrib.slim.nets.resnet_v1.resnet_arg_scope",
    "contrib.slim.nets.resnet_v2.resnet_arg_scope",
)  # fmt: skip
def resnet_arg_scope(
    weight_decay: float = 0.0001, batch_norm_decay: float = 0.997, batch_norm_epsilon: float = 1e-5,
    batch_norm_scale: bool = True,
) -> dict:  # fmt: skip
    """The argument scope of a ResNet: L2 regularization, ReLU, batch normalization, pooling with padding SAME.

    Args:
      weight_decay: of the convolutions' weights.
      batch_norm_decay, batch_norm_epsilon, batch_norm_scale: arguments of the batch normalization.
    """
    parameters = {
        "decay": batch_norm_decay, "epsilon": batch_norm_epsilon, "scale": batch_norm_scale,
        "updates_collections": GraphKeys.UPDATE_OPS,
    }  # fmt: skip
    with (
        arg_scope(
            [conv2d], weights_regularizer=l2_regularizer(weight_decay),
            weights_initializer=variance_scaling_initializer(), activation_fn=relu, normalizer_fn=batch_norm,
            normalizer_params=parameters,
        ),
        arg_scope([batch_norm], **parameters),
        arg_scope([max_pool2d], padding="SAME") as scope,
    ):  # fmt: skip
        return scope
