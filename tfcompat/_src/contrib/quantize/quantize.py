"""Finds the layers of a graph that a quantized program computes in integers, and rounds their weights and results alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.contrib.quantize import common, quant_ops
from tfcompat._src.contrib.quantize.graph_matcher import GraphMatcher, MatchResult, OneofPattern, OpTypePattern, Pattern
from tfcompat._src.contrib.quantize.input_to_ops import InputToOps
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.platform import logging

_LAYERS = "Conv2D|MatMul|DepthwiseConv2dNative"
_SUMS = "Add|AddV2"
_RELU_TYPES = frozenset(("Relu", "Relu6"))
_ACTIVATIONS = "Relu|Relu6|Identity"
_COMBINING = frozenset(("Add", "AddV2", "Mul"))
_PASSING = frozenset(("Reshape", "Identity", "BatchToSpaceND", "SpaceToBatchND", "MaxPool", "Max"))
_FAKE_QUANT = frozenset(("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVarsPerChannel"))
_BATCH_NORMS = frozenset(("FusedBatchNorm", "FusedBatchNormV3"))


@dataclass(frozen=True)
class Layer:
    """A layer with weights and what follows it."""

    layer_op: Operation
    weight_tensor: Tensor | None
    activation_op: Operation
    bypass_op: Operation | None = None
    post_activation_bypass_op: Operation | None = None
    bias_add_op: Operation | None = None


class _Patterns:
    """A layer: weights (read, concatenated of parts, or folded), bias (folded), bypass, activation and second bypass."""

    def __init__(self) -> None:
        variable = OpTypePattern("Variable|VariableV2")
        part = OpTypePattern("Identity", inputs=[variable])
        parts = OpTypePattern("ConcatV2", inputs=[part, "*", "*"])
        self.weights: list[Pattern] = [
            OpTypePattern("Identity", inputs=[OneofPattern([part, parts, variable])]),
            OpTypePattern("ReadVariableOp"),
            OpTypePattern("Mul"),
        ]
        self.layer = OpTypePattern(_LAYERS, inputs=["*", OneofPattern(self.weights)], ordered_inputs=False)
        output = OneofPattern([OpTypePattern("BatchToSpaceND", inputs=[self.layer, "*", "*"]), self.layer])
        self.separable = OpTypePattern(_LAYERS, inputs=[output, "*"], ordered_inputs=False)
        self.bias = OpTypePattern(f"{_SUMS}|BiasAdd", inputs=[output, "*"], ordered_inputs=False)
        self.folded_bias = self._sum(self._sum(OpTypePattern("Mul", inputs=["*", output], ordered_inputs=False)))
        forced = OpTypePattern("Identity", inputs=[self.folded_bias])
        self.bypass = self._sum(OneofPattern([self.bias, self.folded_bias, forced]))
        ends = OneofPattern([self.bias, self.folded_bias, forced, self.bypass, self.layer])
        self.activation = OpTypePattern(_ACTIVATIONS, inputs=[ends])
        self.second_bypass = OpTypePattern(_SUMS, inputs=["*", self.activation], ordered_inputs=False)

    @staticmethod
    def _sum(term: Pattern) -> Pattern:
        return OpTypePattern(_SUMS, inputs=[term, "*"], ordered_inputs=False)

    def weight_of(self, match: MatchResult, folded: bool = True) -> Tensor | None:
        """The weights of a match; without `folded`, products do not count."""
        kinds = self.weights if folded else self.weights[:-1]
        return next((t for t in map(match.get_tensor, kinds) if t is not None), None)

    def bias_of(self, match: MatchResult) -> Operation | None:
        return match.get_op(self.bias) or match.get_op(self.folded_bias)


def _FindLayersToQuantize(graph: Graph) -> list[Layer]:
    """The layers of a graph, each once: those with most behind them first."""
    found: dict[Operation, Layer] = {}
    for layer in _matches(graph):
        found.setdefault(layer.layer_op, layer)
    return list(found.values())


def _matches(graph: Graph) -> Iterator[Layer]:
    p = _Patterns()
    for m in GraphMatcher(p.second_bypass).match_graph(graph):
        yield Layer(
            m.get_op(p.layer), p.weight_of(m), m.get_op(p.activation), m.get_op(p.bypass), m.get_op(p.second_bypass), p.bias_of(m)
        )
    for m in GraphMatcher(p.activation).match_graph(graph):
        if not _feeds_batch_norm(m.get_op(p.activation)):
            yield Layer(m.get_op(p.layer), p.weight_of(m), m.get_op(p.activation), m.get_op(p.bypass), None, p.bias_of(m))
    for m in GraphMatcher(OneofPattern([p.bias, p.folded_bias])).match_graph(graph):
        yield Layer(m.get_op(p.layer), p.weight_of(m), p.bias_of(m))
    for m in GraphMatcher(p.separable).match_graph(graph):
        yield Layer(m.get_op(p.layer), p.weight_of(m, folded=False), m.get_op(p.layer))


def _feeds_batch_norm(op: Operation) -> bool:
    """Whether an Identity stands before a fused batch normalization alone: after folding, that computes statistics only."""
    consumers = op.outputs[0].consumers() if op.type == "Identity" else []
    return len(consumers) == 1 and consumers[0].type in _BATCH_NORMS


def Quantize(
    graph: Graph, is_training: bool, weight_bits: int = 8, activation_bits: int = 8, symmetric: bool = False,
    ema_decay: float = 0.999, quant_delay: int | None = None, vars_collection: Any = GraphKeys.GLOBAL_VARIABLES,
    scope: str | None = None,
) -> None:  # fmt: skip
    """Rounds weights and results of the layers of a graph, in place.

    Args:
      graph: the graph.
      is_training: whether ranges are taken from what is computed, or from variables.
      weight_bits, activation_bits: bits of weights and of results.
      symmetric: the ranges are symmetric around 0.
      ema_decay: decay of the moving averages of the ranges of results.
      quant_delay: how many runs there are before values are rounded; None: from the first on.
      vars_collection: a collection for the variables.
      scope: the name scope of what is changed; None: all.

    Raises:
      ValueError: an operation does not take what it should.
    """
    scope = scope and scope.removesuffix("/") + "/"
    consumers = InputToOps(graph).ConsumerOperations
    quantized: set[Operation] = set()
    shared = dict(is_training=is_training, ema_decay=ema_decay, quant_delay=quant_delay, vars_collection=vars_collection)
    results = dict(shared, bits=activation_bits)

    def insert(context: str, name: str, op: Operation, **options: Any) -> None:
        _InsertQuantOp(context, name, op, consumers(op), producer_scope=scope, symmetric=symmetric, **results, **options)
        quantized.add(op)

    for layer in _FindLayersToQuantize(graph):
        context = _directory(layer.layer_op.name)
        around = _directory(context) if layer.bypass_op is not None else context
        if layer.weight_tensor is not None:
            weights = layer.weight_tensor.op
            _InsertQuantOp(
                context, "weights_quant", weights, consumers(weights), moving_avg=False, narrow_range=True, bits=weight_bits,
                symmetric=symmetric, consumer_scope=scope, **shared,
            )  # fmt: skip
        insert(around, "act_quant", layer.activation_op, init_min=0.0)
        if layer.bypass_op is not None:
            insert(context, "conv_quant", layer.bias_add_op, consumer_scope=scope)
            if not _followed_by(consumers(layer.bypass_op), _ACTIVATIONS.split("|")):
                insert(around, "add_quant", layer.bypass_op, consumer_scope=scope)
        second = layer.post_activation_bypass_op
        if second is not None and not _followed_by(consumers(second), _RELU_TYPES):
            insert(_directory(second.name), "post_activation_bypass_quant", second)
    consumers = InputToOps(graph).ConsumerOperations
    for op in graph.get_operations():
        if _CheckIfQuantizableOp(op, quantized):
            _InsertQuantOp(op.name, f"activation_{op.type}_quant", op, consumers(op), producer_scope=scope, **results)


def _followed_by(consumers: Iterable[Operation], types: Iterable[str]) -> bool:
    """Whether an activation follows, which a quantized program computes together with what is before it."""
    return any(c.type in types for c in consumers)


def _CheckIfQuantizableOp(src_op: Operation, quantized_ops: set[Operation]) -> bool:
    """Whether an operation is a sum or product of rounded values, directly or through others, without activation behind it."""
    if src_op in quantized_ops or src_op.type not in _COMBINING:
        return False
    consumers = src_op.outputs[0].consumers()
    if len(consumers) == 1 and consumers[0].type in _RELU_TYPES:
        return False
    for t in src_op.inputs:
        op = t.op
        while op.type in _PASSING:
            op = op.inputs[0].op
        if op.type == "FakeQuantWithMinMaxVars" or op.name.find("delayed_quant/Merge") > 0:
            return True
        if op.type in _COMBINING and any(_CheckIfQuantizableOp(i.op, quantized_ops) for i in op.inputs):
            return True
    return False


def _FollowedByFakeQuant(tensor: Tensor) -> bool:
    """Whether a tensor is rounded already."""
    pending = list(tensor.consumers())
    while pending:
        op = pending.pop()
        if op.type in _FAKE_QUANT:
            return True
        if op.type in ("Reshape", "Identity"):
            pending += [c for t in op.outputs for c in t.consumers()]
    return False


def _InsertQuantOp(
    context: str, name: str, producer: Operation, consumers: Iterable[Operation], is_training: bool, moving_avg: bool = True,
    init_min: float = -6.0, init_max: float = 6.0, bits: int = 8, symmetric: bool = False, ema_decay: float = 0.999,
    quant_delay: int | None = None, vars_collection: object = GraphKeys.GLOBAL_VARIABLES, narrow_range: bool = False,
    producer_scope: str | None = None, consumer_scope: str | None = None,
) -> None:  # fmt: skip
    """Rounds what operations take from another, unless it is rounded already or out of scope.

    Args:
      context: the scope of what is added.
      name: its name there.
      producer: the operation whose first output is rounded.
      consumers: the operations that take it.
      is_training, bits, symmetric, ema_decay, quant_delay, vars_collection: see `Quantize`.
      moving_avg: whether the range is a moving average, or the last one.
      init_min, init_max: the initial range.
      narrow_range: leaves out the lowest level.
      producer_scope, consumer_scope: the scopes that `producer`, and all of `consumers`, must be in; None: any.

    Raises:
      ValueError: one of `consumers` does not take the output.
    """
    outside = [producer.name] if producer_scope and not producer.name.startswith(producer_scope) else []
    outside += [c.name for c in consumers if consumer_scope and not c.name.startswith(consumer_scope)]
    inputs = producer.outputs[0]
    if outside or _FollowedByFakeQuant(inputs):
        logging.info("%s of %s is not quantized again, or out of scope: %s", name, context, outside)
        return
    prefix = f"{context}/{name}" if context else name
    around = get_default_graph().get_name_scope()
    prefix = common.DropStringPrefix(prefix, around + "/") if around else prefix
    quantize, options = quant_ops.LastValueQuantize, {}
    if moving_avg:
        quantize, options = quant_ops.MovingAvgQuantize, {"ema_decay": ema_decay}
    quant = quantize(
        inputs, init_min=init_min, init_max=init_max, is_training=is_training, num_bits=bits, symmetric=symmetric,
        narrow_range=narrow_range, vars_collection=vars_collection, name_prefix=prefix, **options,
    )  # fmt: skip
    if quant_delay and quant_delay > 0:
        active = raw.GreaterEqual(common.CreateOrGetQuantizationStep(), quant_delay, name=prefix + "/activate_quant")
        quant = cond(active, lambda: quant, lambda: inputs, name=prefix + "/delayed_quant")
    names = [c.name for c in consumers]
    if names and common.RerouteTensor(quant, inputs, can_modify=consumers) < len(names):
        raise ValueError(f"No inputs quantized for ops: [{', '.join(names)}]")


def _directory(name: str) -> str:
    """What stands before the last "/"."""
    return name.rpartition("/")[0]
