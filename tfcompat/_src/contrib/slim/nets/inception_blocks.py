"""Inception networks from tables: rows of layers, each named as its scope."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.contrib.framework.arg_scope import arg_scope
from tfcompat._src.contrib.layers.batch_norm import batch_norm
from tfcompat._src.contrib.layers.conv import convolution2d as conv2d
from tfcompat._src.contrib.layers.core import dropout, fully_connected
from tfcompat._src.contrib.layers.initializers import variance_scaling_initializer
from tfcompat._src.contrib.layers.pooling import avg_pool2d, max_pool2d
from tfcompat._src.contrib.layers.regularizers import l2_regularizer
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import squeeze
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.variables.scope import variable_scope

Table = Mapping[str, Any]
"""End point -> a layer, or a tuple of branches, each of layers separated by commas.

A layer is "SCOPE DEPTH KERNEL /STRIDE V": the kernel by default ends the scope ("Conv2d_0a_1x1"), the stride is 1,
the padding SAME without the V; the depth is given for convolutions only. "A + B" stands for two that are concatenated.
"""
_LAYER = re.compile(r"(?P<scope>\w+?_(?P<named>\d+x\d+))( (?P<depth>\d+))?( (?P<kernel>\d+x\d+))?( /(?P<stride>\d))?( (?P<valid>V))?")
_POOLS = {"MaxPool": max_pool2d, "AvgPool": avg_pool2d}


def layer(net: Tensor, text: str, depth: Callable[[int], int], **options: object) -> Tensor:
    """One row of the table."""
    row = _LAYER.fullmatch(text)
    kernel = [int(size) for size in (row["kernel"] or row["named"]).split("x")]
    places = dict(stride=int(row["stride"] or 1), padding="VALID" if row["valid"] else "SAME", scope=row["scope"])
    pool = _POOLS.get(row["scope"].partition("_")[0])
    if pool:
        return pool(net, kernel, **places)
    return conv2d(net, depth(int(row["depth"])), kernel, **places, **options)


def _branch(net: Tensor, text: str, depth: Callable[[int], int], options: Callable[[list[str], int], dict]) -> Tensor:
    rows = text.split(", ")
    for i, row in enumerate(rows):
        parts = [layer(net, part, depth, **options(rows, i)) for part in row.split(" + ")]
        net = parts[0] if len(parts) == 1 else concat(parts, 3)
    return net


def build(
    net: Tensor, table: Table, final_endpoint: str, end_points: dict[str, Tensor],
    depth: Callable[[int], int] = int, options: Callable[[list[str], int], dict] = lambda rows, i: {},
) -> tuple[Tensor, dict[str, Tensor]]:  # fmt: skip
    """Adds the layers of a table up to one.

    Args:
      net: what the first layer takes.
      table: the network.
      final_endpoint: the last end point.
      end_points: what is there already; the end points of the table join it.
      depth: the number of channels for one of the table.
      options: arguments of the convolution that is row i of its branch.

    Returns:
      the output of the last layer, and the end points.

    Raises:
      ValueError: the table does not have `final_endpoint`.
    """
    for name, rows in table.items():
        if isinstance(rows, str):
            net = layer(net, f"{name} {rows}".strip(), depth, **options([f"{name} {rows}"], 0))
        else:
            with variable_scope(name):
                branches = []
                for i, row in enumerate(rows):
                    with variable_scope(f"Branch_{i}"):
                        branches.append(_branch(net, row, depth, options))
                net = concat(branches, 3)
        end_points[name] = net
        if name == final_endpoint:
            return net, end_points
    raise ValueError(f"Unknown final endpoint {final_endpoint}")


def thinned(depth_multiplier: float, min_depth: int) -> Callable[[int], int]:
    """The function that scales numbers of channels; ValueError where the multiplier is not positive."""
    if depth_multiplier <= 0:
        raise ValueError("depth_multiplier is not greater than zero.")
    return lambda depth: max(int(depth * depth_multiplier), min_depth)


def logits(net: Tensor, num_classes: int, scope: str, spatial_squeeze: bool, **options: object) -> Tensor:
    """A 1x1 convolution without activation, its spatial dimensions dropped where `spatial_squeeze`."""
    net = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope=scope, **options)
    return squeeze(net, [1, 2], name="SpatialSqueeze") if spatial_squeeze else net


def training(is_training: object) -> Any:
    """The argument scope that tells batch norm and dropout whether the network is trained."""
    return arg_scope([batch_norm, dropout], is_training=is_training)


def fitting_kernel(net: Tensor, kernel: list[int]) -> list[int]:
    """The kernel, no larger than the images where their size is known."""
    sizes = net.get_shape().as_list()[1:3]
    return kernel if None in sizes else [min(pair) for pair in zip(sizes, kernel, strict=True)]


def inception_arg_scope(
    weight_decay: float, collection: str, normalizer_fn: object = batch_norm, decay: float = 0.9997,
    epsilon: float = 0.001, updates: object = GraphKeys.UPDATE_OPS, **batch_norm_options: object,
) -> dict:  # fmt: skip
    """The argument scope of an Inception network: L2 regularization, ReLU, batch normalization."""
    moving = {"beta": None, "gamma": None, "moving_mean": [collection], "moving_variance": [collection]}
    parameters = dict(decay=decay, epsilon=epsilon, updates_collections=updates, variables_collections=moving)
    with (
        arg_scope([conv2d, fully_connected], weights_regularizer=l2_regularizer(weight_decay)),
        arg_scope(
            [conv2d], weights_initializer=variance_scaling_initializer(), activation_fn=relu,
            normalizer_fn=normalizer_fn,
            normalizer_params={**parameters, **batch_norm_options} if normalizer_fn else {},
        ) as scope,
    ):  # fmt: skip
        return scope
