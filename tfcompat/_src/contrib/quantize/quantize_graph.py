"""tf.contrib.quantize: graphs that compute as their quantized programs would."""

from __future__ import annotations

import re

from tfcompat._src.base.export import export
from tfcompat._src.contrib.quantize.fold_batch_norms import FoldBatchNorms
from tfcompat._src.contrib.quantize.quantize import Quantize
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import get_default_graph

_TRAINING_OP = re.compile(
    "(?!ApplyAdadelta)(?:Resource)?(?:Sparse)?Apply(?:Ada(?:delta|grad|gradDA|m)|AddSign|CenteredRMSProp|Ftrl(?:V2)?|GradientDescent|Momentum"
    "|PowerSign|ProximalAdagrad|ProximalGradientDescent|RMSProp)"
)


def _rewrite(
    input_graph: Graph | None, is_training: bool, weight_bits: int = 8, activation_bits: int = 8, symmetric: bool = False,
    quant_delay: int | None = None, freeze_bn_delay: int | None = None, scope: str | None = None,
) -> None:  # fmt: skip
    graph = get_default_graph() if input_graph is None else input_graph
    training = {op.type for op in graph.get_operations() if _TRAINING_OP.fullmatch(op.type)}
    if training:
        raise ValueError(f"Training op found in graph, exiting {training}")
    with graph.as_default():
        FoldBatchNorms(graph, freeze_batch_norm_delay=freeze_bn_delay, is_training=is_training)
        Quantize(
            graph, is_training, quant_delay=quant_delay, weight_bits=weight_bits, activation_bits=activation_bits,
            symmetric=symmetric, scope=scope,
        )  # fmt: skip


@export("contrib.quantize.create_training_graph")
def create_training_graph(input_graph: Graph | None = None, quant_delay: int = 0) -> None:
    """Folds batch normalizations and rounds weights and results to 8 bits, in place, in a graph that is to be trained.

    Call it before gradients are added. New variables are in GLOBAL_VARIABLES. Method: Jacob et al., "Quantization and
    Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference", 2018.

    Args:
      input_graph: the graph; None: the default graph.
      quant_delay: how many steps there are before values are rounded.

    Raises:
      ValueError: the graph holds training operations.
    """
    _rewrite(input_graph, True, quant_delay=quant_delay)


@export("contrib.quantize.create_eval_graph")
def create_eval_graph(input_graph: Graph | None = None) -> None:
    """`create_training_graph` for a graph that is not trained: the ranges are those that training left in the variables.

    Args:
      input_graph: the graph; None: the default graph.

    Raises:
      ValueError: the graph holds training operations.
    """
    _rewrite(input_graph, False)


@export("contrib.quantize.experimental_create_training_graph")
def experimental_create_training_graph(
    input_graph: Graph | None = None, weight_bits: int = 8, activation_bits: int = 8, symmetric: bool = False,
    quant_delay: int = 0, freeze_bn_delay: int | None = None, scope: str | None = None,
) -> None:  # fmt: skip
    """`create_training_graph` with more to choose.

    Args:
      input_graph: the graph; None: the default graph.
      weight_bits, activation_bits: bits of weights and of results.
      symmetric: the ranges are symmetric around 0.
      quant_delay: how many steps there are before values are rounded.
      freeze_bn_delay: how many steps there are before batch normalization takes its moving averages; None: never.
      scope: the name scope of what is rounded; None: all.

    Raises:
      ValueError: the graph holds training operations.
    """
    _rewrite(input_graph, True, weight_bits, activation_bits, symmetric, quant_delay, freeze_bn_delay, scope)


@export("contrib.quantize.experimental_create_eval_graph")
def experimental_create_eval_graph(
    input_graph: Graph | None = None, weight_bits: int = 8, activation_bits: int = 8, symmetric: bool = False,
    quant_delay: int | None = None, scope: str | None = None,
) -> None:  # fmt: skip
    """`create_eval_graph` with the choices of `experimental_create_training_graph`."""
    _rewrite(input_graph, False, weight_bits, activation_bits, symmetric, quant_delay, None, scope)
