"""tf.contrib.learn.Trainable and Evaluable: what can be trained and evaluated."""

from __future__ import annotations

import abc
from typing import Any

from tfcompat._src.base.export import export


@export("contrib.learn.Trainable")
class Trainable(abc.ABC):
    """What can be trained."""

    @abc.abstractmethod
    def fit(
        self, x: Any = None, y: Any = None, input_fn: Any = None, steps: int | None = None, batch_size: int | None = None,
        monitors: Any = None, max_steps: int | None = None,
    ) -> Any:  # fmt: skip
        """Trains a model.

        Args:
          x, y: features and labels as arrays or iterators.
          input_fn: function that gives features and labels, instead.
          steps: how many steps; by default until the input ends.
          batch_size: examples in a batch of `x`.
          monitors: monitors or SessionRunHooks.
          max_steps: the global step to stop at.
        """


@export("contrib.learn.Evaluable")
class Evaluable(abc.ABC):
    """What can be evaluated."""

    @property
    @abc.abstractmethod
    def model_dir(self) -> str:
        """The folder of the model."""

    @abc.abstractmethod
    def evaluate(
        self, x: Any = None, y: Any = None, input_fn: Any = None, feed_fn: Any = None, batch_size: int | None = None,
        steps: int | None = None, metrics: Any = None, name: str | None = None, checkpoint_path: str | None = None,
        hooks: Any = None,
    ) -> Any:  # fmt: skip
        """Evaluates a model.

        Args:
          x, y: features and labels as arrays or iterators.
          input_fn: function that gives features and labels, instead.
          feed_fn: function that gives what is fed.
          batch_size: examples in a batch of `x`.
          steps: how many batches; by default until the input ends.
          metrics: dict of MetricSpec.
          name: name of the evaluation.
          checkpoint_path: checkpoint; by default the latest.
          hooks: SessionRunHooks.
        """
