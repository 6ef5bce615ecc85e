"""Batch normalization computed as part of the layer before it: its scale goes into the weights, its shift into the bias."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.gradient_registry import RegisterGradient
from tfcompat._src.contrib.layers.utils import smart_cond
from tfcompat._src.contrib.quantize import common
from tfcompat._src.contrib.quantize.graph_matcher import GraphMatcher, MatchResult, OneofPattern, OpTypePattern
from tfcompat._src.contrib.quantize.input_to_ops import InputToOps
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import device, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.blocks import batch_to_space_nd
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import ones, zeros
from tfcompat._src.ops.array.shape import reshape, size
from tfcompat._src.ops.math.binary import divide, multiply, subtract
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.unary import rsqrt
from tfcompat._src.ops.nn.conv_functions import conv2d
from tfcompat._src.ops.nn.depthwise import depthwise_conv2d
from tfcompat._src.variables.scope import get_variable_scope

_GRADIENT = "FoldFusedBatchNormGrad"
_DEPTHWISE = "DepthwiseConv2dNative"


@dataclass
class Statistics:
    """What a batch normalization computes with: `moving_*` and `decay_*` are those of training."""

    gamma: Tensor
    mean: Tensor | None
    variance: Tensor | None
    epsilon: Any
    moving_mean: Tensor | None = None
    moving_variance: Tensor | None = None
    decay_mean: Tensor | None = None
    decay_variance: Tensor | None = None


@dataclass
class Fused:
    """A layer and the fused batch normalization behind it."""

    layer_op: Operation
    bn_op: Operation
    inputs: Tensor
    weights: Tensor
    beta: Tensor
    output: Tensor
    statistics: Statistics
    batch_to_space_op: Operation | None


def FoldBatchNorms(graph: Graph, is_training: bool, freeze_batch_norm_delay: int | None = None) -> None:
    """Folds the batch normalizations of a graph into convolutions and fully connected layers before them, in place.

    Args:
      graph: the graph.
      is_training: whether normalizations that are not fused take the statistics of the batch (fused ones say it).
      freeze_batch_norm_delay: how many runs there are before the moving averages are used in training; None: never.

    Raises:
      ValueError: nothing takes what a normalization gives, or it is not made as tf.contrib.layers makes it.
    """
    for found in _find_fused(graph):
        _fold_fused(graph, found, freeze_batch_norm_delay)
    consumers = InputToOps(graph).ConsumerOperations
    for prefix in common.BatchNormGroups(graph):
        normalized = graph.get_operation_by_name(prefix + "BatchNorm/batchnorm_1/add_1")
        if normalized.outputs[0].consumers():
            factor = graph.get_operation_by_name(prefix + "BatchNorm/batchnorm_1/Rsqrt")
            scaled = sum(op.type == "Mul" for op in consumers(factor)) == 1
            _fold_parts(graph, prefix, normalized, scaled, freeze_batch_norm_delay, is_training)


# ---- fused batch normalization ----


class _Patterns:
    """Layer [-> BatchToSpaceND] [-> Identity] [-> Reshape] -> FusedBatchNorm [-> Reshape] [-> Identity]."""

    def __init__(self) -> None:
        self.inputs, self.weights = OpTypePattern("*"), OpTypePattern("*")
        self.gamma, self.beta, self.mean, self.variance = (OpTypePattern("*") for _ in range(4))
        self.layer = OpTypePattern(f"Conv2D|{_DEPTHWISE}|MatMul", inputs=[self.inputs, self.weights])
        self.batch_to_space = OpTypePattern("BatchToSpaceND", inputs=[self.layer, "*", "*"])
        kept = OpTypePattern("Identity", inputs=[OneofPattern([self.batch_to_space, self.layer])])
        result = OneofPattern([kept, self.layer, self.batch_to_space])
        taken = OneofPattern([OpTypePattern("Reshape", inputs=[result, "*"]), result])
        self.batch_norm = OpTypePattern(
            "FusedBatchNorm|FusedBatchNormV3", inputs=[taken, self.gamma, self.beta, self.mean, self.variance]
        )
        self.reshaped = OpTypePattern("Reshape", inputs=[self.batch_norm, "*"])
        self.decay = OpTypePattern("*")
        self.difference = OpTypePattern("Sub", inputs=["*", self.batch_norm])
        self.step = OpTypePattern("Mul", inputs=[self.difference, self.decay])


def _find_fused(graph: Graph) -> list[Fused]:
    p = _Patterns()
    found: dict[Operation, Fused] = {}
    for match in GraphMatcher(OneofPattern([p.reshaped, p.batch_norm])).match_graph(graph):
        layer_op, bn_op = match.get_op(p.layer), match.get_op(p.batch_norm)
        output = bn_op if layer_op.type != "MatMul" else match.get_op(p.reshaped)
        if layer_op in found or output is None or not output.outputs[0].consumers():
            continue
        found[layer_op] = Fused(
            layer_op, bn_op, match.get_tensor(p.inputs), match.get_tensor(p.weights), match.get_tensor(p.beta), output.outputs[0],
            _fused_statistics(graph, p, match), match.get_op(p.batch_to_space),
        )  # fmt: skip
    return list(found.values())


def _fused_statistics(graph: Graph, p: _Patterns, match: MatchResult) -> Statistics:
    op = match.get_op(p.batch_norm)
    found = Statistics(
        match.get_tensor(p.gamma), match.get_tensor(p.mean), match.get_tensor(p.variance), op.get_attr("epsilon")
    )
    if not op.get_attr("is_training"):
        return found
    op._set_attr("_gradient_op_type", _GRADIENT.encode())
    with get_default_graph().name_scope(op.name.rpartition("/")[0] + "/"):
        # The node divides the variance by n - 1; what it normalizes with is divided by n.
        n = cast(size(match.get_tensor(p.layer)) / size(op.outputs[1]), dtypes.float32)
        found.mean = op.outputs[1]
        found.variance = multiply(op.outputs[2], (n - 1) / n, name="Undo_Bessel_Correction")
    for step in GraphMatcher(p.step).match_graph(graph):
        average, of_batch = step.get_op(p.difference).inputs
        if of_batch is op.outputs[1]:
            found.moving_mean, found.decay_mean = average, step.get_tensor(p.decay)
        elif of_batch is op.outputs[2]:
            found.moving_variance, found.decay_variance = average, step.get_tensor(p.decay)
    return found


@RegisterGradient(_GRADIENT)
def _fold_fused_batch_norm_grad(op: Operation, *grads: Any) -> list:
    """The gradient of a fused batch normalization of which only the mean and variance of the batch are used."""
    _, grad_mean, grad_var = grads[:3]
    x = op.inputs[0]
    n = cast(size(x) / size(grad_mean), dtypes.float32)
    by_mean = grad_mean / n
    by_variance = 2 * grad_var * (x - op.outputs[1]) / (n - 1)
    return [by_mean + by_variance, None, None, None, None]


def _fold_fused(graph: Graph, found: Fused, freeze_delay: int | None) -> None:
    scope, sep, _ = found.layer_op.name.rpartition("/")
    scale, weights, s = None, found.weights, found.statistics
    with graph.as_default(), graph.name_scope(scope + sep):
        with graph.name_scope(scope + sep + "BatchNorm_Fold" + sep):
            factor = s.gamma * rsqrt(s.variance + s.epsilon)
            bias = subtract(found.beta, s.mean * factor, name="bias")
            if found.bn_op.get_attr("is_training"):
                scale, recip, offset = _corrections("", s, freeze_delay)
            if found.layer_op.type == _DEPTHWISE:
                channels = weights.shape.as_list()[2:4]
                factor = reshape(factor, channels, name="scale_reshape")
                scale = None if scale is None else reshape(scale, channels, name="correction_reshape")
        if scale is not None:
            weights = multiply(scale, weights, name="correction_mult")
        weights = multiply(weights, factor, name="mul_fold")
        result = _again(found.layer_op, found.inputs, weights, found.layer_op.name.rpartition("/")[2] + "_Fold")
        blocks = found.batch_to_space_op
        if blocks is not None:
            name = blocks.name.rpartition("/")[2] + "_Fold"
            result = batch_to_space_nd(result, blocks.inputs[1], blocks.inputs[2], name=name)
        if scale is not None:
            result = multiply(recip, result, name="post_conv_mul")
            result = raw.Add(result, offset, name="correction_add")
        result = raw.Add(result, bias, name="add_fold")
        if common.RerouteTensor(result, found.output) == 0:
            raise ValueError(f"Folding batch norms failed, {found.output.name} had no outputs.")


def _again(op: Operation, inputs: Tensor, weights: Tensor, name: str) -> Tensor:
    """A layer with other inputs and weights; the blocks of a dilated one are around it already."""
    if op.type == "MatMul":
        return matmul(inputs, weights, op.get_attr("transpose_a"), op.get_attr("transpose_b"), name=name)
    strides, padding = op.get_attr("strides"), op.get_attr("padding").decode()
    if op.type == _DEPTHWISE:
        return depthwise_conv2d(inputs, weights, strides, padding, name=name)
    if op.type == "Conv2D":
        cudnn, data_format = op.get_attr("use_cudnn_on_gpu"), op.get_attr("data_format").decode()
        return conv2d(inputs, weights, strides, padding, use_cudnn_on_gpu=cudnn, data_format=data_format, name=name)
    raise ValueError(f"Cannot handle operation of type: {op.type}")


def _corrections(prefix: str, s: Statistics, freeze_delay: int | None) -> tuple[Tensor, Tensor, Tensor]:
    """What weights and results are multiplied with, and what is added, in training.

    Weights are scaled by the moving variance, so that they change slowly; the results by what undoes it, or, once the
    moving averages are frozen, shifted to what they give.
    """
    with get_default_graph().name_scope(prefix + "batch_norm_correction"):
        moving = rsqrt(s.moving_variance + s.epsilon)
        current = rsqrt(s.variance + s.epsilon)
        scale = identity(divide(moving, current, name="scale_compute"), name="correction_scale")
        recip = raw.Reciprocal(scale, name="reciprocal_compute")
        offset = multiply(s.gamma, s.mean * current - s.moving_mean * moving, name="offset_compute")
        frozen: Any = False
        if freeze_delay is not None:
            frozen = raw.GreaterEqual(common.CreateOrGetQuantizationStep(), freeze_delay, name="use_moving_average")
        for decay, name in ((s.decay_mean, "freeze_moving_mean"), (s.decay_variance, "freeze_moving_var")):
            consumers = decay.consumers()
            chosen = smart_cond(frozen, lambda: 0.0, lambda decay=decay: decay, name=name)
            common.RerouteTensor(chosen, decay, can_modify=consumers)
        recip = smart_cond(frozen, lambda: ones(scale.shape), lambda recip=recip: recip, name="correction_recip")
        offset = smart_cond(frozen, lambda offset=offset: offset, lambda: zeros(offset.shape), name="correction_offset")
    return scale, recip, offset


# ---- batch normalization in parts, as tf.contrib.layers.batch_norm(fused=False) makes it ----


def _fold_parts(
    graph: Graph, prefix: str, normalized: Operation, scaled: bool, freeze_delay: int | None, is_training: bool
) -> None:
    inside = prefix + "BatchNorm/batchnorm_1/"
    product = graph.get_operation_by_name(inside + ("mul_1" if scaled else "mul"))
    layer_op, blocks = product.inputs[0].op, None
    if layer_op.type == "BatchToSpaceND":
        layer_op, blocks = layer_op.inputs[0].op, layer_op
    weights, factor = layer_op.inputs[1], product.inputs[1]
    corrections = _corrections(prefix, _statistics_of_parts(graph, prefix, scaled), freeze_delay) if is_training else None
    scale = corrections[0] if corrections else None
    if layer_op.type == _DEPTHWISE:
        channels = weights.shape.as_list()[2:4]
        source = graph.get_operation_by_name(inside + ("mul" if scaled else "Rsqrt"))
        factor = reshape(source.outputs[0], channels, prefix + "scale_reshape")
        scale = None if scale is None else reshape(scale, channels, prefix + "correction_reshape")
    elif layer_op.type not in ("Conv2D", "MatMul"):
        raise ValueError(f"Cannot handle operation of type: {layer_op.type}")
    if scale is not None:
        with device(product.device):
            weights = multiply(scale, weights, prefix + "correction_mult")
    weights = _of_same_shape(weights, multiply(weights, factor, name=prefix + "mul_fold"))
    _check_layer(layer_op, layer_op.inputs[0], weights)
    result = folded = _again(layer_op, layer_op.inputs[0], weights, layer_op.name + "_Fold")
    if blocks is not None:
        result = batch_to_space_nd(result, blocks.inputs[1], blocks.inputs[2], name=blocks.name + "_Fold")
    if corrections:
        with device(folded.op.device):
            result = multiply(corrections[1], result, prefix + "post_conv_mul")
            result = raw.Add(result, corrections[2], name=prefix + "correction_add")
    result = _of_same_shape(result, raw.Add(result, normalized.inputs[1], name=prefix + "add_fold"))
    _reroute_end(graph, prefix, result, normalized.outputs[0])


def _of_same_shape(before: Tensor, after: Tensor) -> Tensor:
    """`after`; ValueError where it has another shape than `before`."""
    if not before.shape.is_compatible_with(after.shape):
        raise ValueError(f"{after.op.name} should not change tensor shape: input {before.shape}, output {after.shape}")
    return after


def _check_layer(op: Operation, inputs: Tensor, weights: Tensor) -> None:
    """ValueError where the weights do not fit the inputs of a layer."""
    rank, channels, taken = (2, 1, 0) if op.type == "MatMul" else (4, 3, 2)
    shapes = inputs.shape, weights.shape
    if any(s.ndims != rank for s in shapes) or not inputs.shape.dims[channels].is_compatible_with(weights.shape.dims[taken]):
        raise ValueError(f"Incompatible shapes for op {op.name} inputs: {inputs.shape} and {weights.shape}")


def _reroute_end(graph: Graph, prefix: str, result: Tensor, normalized: Tensor) -> None:
    """Gives the activation behind a normalization, or the sum with a bypass, the new result."""
    end = common.GetEndpointActivationOp(graph, prefix)
    if end is None:
        around = prefix.rstrip("/").rpartition("/")[0]
        end = graph.get_operation_by_name((around + "/" if around else "") + "AddV2")
    if common.RerouteTensor(result, normalized, can_modify=[end]) != 1:
        raise ValueError(f"Unexpected inputs to op: {end.name}")


def _statistics_of_parts(graph: Graph, prefix: str, scaled: bool) -> Statistics:
    resource = get_variable_scope().use_resource

    def find(suffix: str) -> Tensor | None:
        return _best_named(graph, f"BatchNorm/{suffix}", prefix)

    def read(name: str) -> Tensor | None:
        return find(f"{name}/Read/ReadVariableOp" if resource else name if name == "gamma" else f"{name}/read")

    moving_mean = read("moving_mean")
    return Statistics(
        gamma=read("gamma") if scaled else ones(moving_mean.shape),
        mean=find("moments/Squeeze"), variance=find("moments/Squeeze_1"), epsilon=find("batchnorm_1/add/y"),
        moving_mean=moving_mean, moving_variance=read("moving_variance"),
        decay_mean=find("AssignMovingAvg/decay"), decay_variance=find("AssignMovingAvg_1/decay"),
    )  # fmt: skip


def _best_named(graph: Graph, suffix: str, scope: str) -> Tensor | None:
    """The tensor whose name ends in `suffix` and has most parts of `scope` in it: names of variables repeat no scope."""
    wanted = set(scope.split("/"))

    def ranked() -> Iterator[tuple[int, Operation]]:
        for op in graph.get_operations():
            if op.name.endswith(suffix):
                shared = len(wanted.intersection(op.name.split("/")))
                if shared or not scope:
                    yield shared, op

    best = max(ranked(), key=lambda pair: pair[0], default=None)
    return None if best is None else best[1].outputs[0]
