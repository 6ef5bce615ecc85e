"""Embeddings of a TPUEstimator: which columns they are, and how TPUs would train them; on the CPU they are columns like others."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.feature_column.embedding import EmbeddingColumn, _EmbeddingColumn
from tfcompat._src.feature_column.numeric import NumericColumn, _NumericColumn
from tfcompat._src.feature_column.shared_embedding import SharedEmbeddingColumn, _SharedEmbeddingColumn

_COLUMNS = (NumericColumn, _NumericColumn, EmbeddingColumn, _EmbeddingColumn, SharedEmbeddingColumn, _SharedEmbeddingColumn)


class OptimizationParameters:
    """What the optimizers of embeddings have in common.

    Args:
      learning_rate: of the embeddings.
      use_gradient_accumulation: whether gradients of one row are added up before the step.
      clip_weight_min, clip_weight_max: limits of the weights, None for none.
    """

    def __init__(
        self, learning_rate: float, use_gradient_accumulation: bool, clip_weight_min: float | None, clip_weight_max: float | None
    ) -> None:
        self.learning_rate, self.use_gradient_accumulation = learning_rate, use_gradient_accumulation
        self.clip_weight_min, self.clip_weight_max = clip_weight_min, clip_weight_max


@export("tpu.experimental.AdagradParameters")
class AdagradParameters(OptimizationParameters):
    """Adagrad for embeddings on TPUs.

    Args:
      initial_accumulator: first value of the accumulators, above 0; else ValueError.
      learning_rate, use_gradient_accumulation, clip_weight_min, clip_weight_max: see OptimizationParameters.
    """

    def __init__(
        self, learning_rate: float, initial_accumulator: float = 0.1, use_gradient_accumulation: bool = True,
        clip_weight_min: float | None = None, clip_weight_max: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, use_gradient_accumulation, clip_weight_min, clip_weight_max)
        if initial_accumulator <= 0:
            raise ValueError("Adagrad initial_accumulator must be positive")
        self.initial_accumulator = initial_accumulator


@export("tpu.experimental.AdamParameters")
class AdamParameters(OptimizationParameters):
    """Adam for embeddings on TPUs.

    Args:
      beta1, beta2: decay of the moments, in [0, 1).
      epsilon: added to the root, above 0.
      lazy_adam: whether only rows that were used are updated.
      sum_inside_sqrt: whether epsilon is added inside the root.
      learning_rate, use_gradient_accumulation, clip_weight_min, clip_weight_max: see OptimizationParameters.

    Raises:
      ValueError: a number is out of its range, or neither is Adam lazy nor are gradients accumulated.
    """

    def __init__(
        self, learning_rate: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, lazy_adam: bool = True,
        sum_inside_sqrt: bool = True, use_gradient_accumulation: bool = True, clip_weight_min: float | None = None,
        clip_weight_max: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, use_gradient_accumulation, clip_weight_min, clip_weight_max)
        for name, beta in (("beta1", beta1), ("beta2", beta2)):
            if not 0 <= beta < 1:
                raise ValueError(f"{name} must be between 0. and 1; got {beta}.")
        if epsilon <= 0:
            raise ValueError(f"epsilon must be positive; got {epsilon}.")
        if not use_gradient_accumulation and not lazy_adam:
            raise ValueError("When disabling Lazy Adam, gradient accumulation must be used.")
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self.lazy_adam, self.sum_inside_sqrt = lazy_adam, sum_inside_sqrt


@export("tpu.experimental.StochasticGradientDescentParameters")
class StochasticGradientDescentParameters(OptimizationParameters):
    """Gradient descent for embeddings on TPUs; arguments are those of OptimizationParameters."""

    def __init__(self, learning_rate: float, clip_weight_min: float | None = None, clip_weight_max: float | None = None) -> None:
        super().__init__(learning_rate, False, clip_weight_min, clip_weight_max)


_OPTIMIZERS = (AdagradParameters, AdamParameters, StochasticGradientDescentParameters)
_FIELDS = (
    "feature_columns", "optimization_parameters", "clipping_limit", "pipeline_execution_with_tensor_core",
    "experimental_gradient_multiplier_fn", "feature_to_config_dict", "table_to_config_dict", "partition_strategy",
)  # fmt: skip


@export("estimator.tpu.experimental.EmbeddingConfigSpec")
class EmbeddingConfigSpec(collections.namedtuple("EmbeddingConfigSpec", _FIELDS)):
    """The embeddings of a TPUEstimator.

    Args:
      feature_columns: numeric and embedding columns.
      optimization_parameters: AdagradParameters, AdamParameters or StochasticGradientDescentParameters.
      clipping_limit: of gradients, None for none.
      pipeline_execution_with_tensor_core: whether a step may begin before the embeddings of the last one are updated.
      experimental_gradient_multiplier_fn: function of the global step, which gradients are multiplied by.
      feature_to_config_dict, table_to_config_dict: None; configurations of features and tables are objects of TPUs alone.
      partition_strategy: "div" or "mod", how rows are spread over hosts.

    Raises:
      ValueError: there are no columns, or an argument is none of those listed.
      TypeError: a column of another kind, or a configuration.
    """

    def __new__(
        cls, feature_columns: Iterable[Any] | None = None, optimization_parameters: object = None, clipping_limit: float | None = None,
        pipeline_execution_with_tensor_core: bool = False, experimental_gradient_multiplier_fn: object = None,
        feature_to_config_dict: dict | None = None, table_to_config_dict: dict | None = None, partition_strategy: str = "div",
    ) -> EmbeddingConfigSpec:  # fmt: skip
        if bool(feature_columns) == bool(feature_to_config_dict and table_to_config_dict):
            raise ValueError(
                "Exactly one of `feature_columns` and the pair `feature_to_config_dict` and `table_to_config_dict` must be be specified."
            )
        if partition_strategy not in ("div", "mod"):
            raise ValueError(f'Invalid partition_strategy {partition_strategy}. Must be one of "mod" or "div".')
        for feature, config in () if feature_columns else feature_to_config_dict.items():
            raise TypeError(f"Config for feature {feature} must be of type `FeatureConfig`. Got {type(config)}")
        for column in feature_columns:
            if not isinstance(column, _COLUMNS):
                raise TypeError(f"All feature columns must be supported types in {_COLUMNS}. Got {type(column)}")
        if not isinstance(optimization_parameters, _OPTIMIZERS):
            raise ValueError(f"optimization_parameters must be an instance of type {_OPTIMIZERS}. Got {type(optimization_parameters)}.")
        return super().__new__(
            cls, feature_columns, optimization_parameters, clipping_limit, pipeline_execution_with_tensor_core,
            experimental_gradient_multiplier_fn, feature_to_config_dict, table_to_config_dict, partition_strategy,
        )  # fmt: skip
