"""The part of scikit-learn's interface that estimators of contrib.learn have."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from typing import Self


class BaseSklearnEstimator:
    """Parameters are the attributes of an object whose names do not begin with an underscore."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters.

        Args:
          deep: whether those of parameters that have some are given too, as name__inner.
        """
        found: dict[str, Any] = {}
        for name in vars(self):
            value = getattr(self, name, None)
            if name.startswith("_") or isinstance(value, Callable):
                continue
            if deep and hasattr(value, "get_params"):
                found.update({f"{name}__{key}": inner for key, inner in value.get_params().items()})
            found[name] = value
        return found

    def set_params(self, **params: Any) -> Self:
        """Sets parameters, also as name__inner; ValueError where one is unknown."""
        known = self.get_params(deep=True) if params else {}
        for key, value in params.items():
            name, _, inner = key.partition("__")
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name} for estimator {type(self).__name__}. Check the list of available parameters "
                    "with `estimator.get_params().keys()`."
                )
            if inner:
                known[name].set_params(**{inner: value})
            else:
                setattr(self, key, value)
        return self

    def __repr__(self) -> str:
        parameters = ", ".join(f"{key}={value}" for key, value in self.get_params(deep=False).items())
        return f"{type(self).__name__}({parameters})"


class NotFittedError(ValueError, AttributeError):
    """A model is used before it is trained."""


def accuracy_score(y_true: object, y_pred: object) -> Any:
    """How often both are equal."""
    return np.average(y_true == y_pred)


def mean_squared_error(y_true: Any, y_pred: Any) -> Any:
    """The mean of the squared differences, without dimensions of 1."""
    y_true, y_pred = (np.squeeze(y) if len(y.shape) > 1 else y for y in (y_true, y_pred))
    return np.average((y_true - y_pred) ** 2)


def train_test_split(*args: Any, **options: Any) -> tuple:
    """Two parts of each array, by the same shuffled order.

    Args:
      *args: arrays [examples, ...].
      test_size, train_size: fractions; by default 0.75 to train.
      random_state: seed.
    """
    test_size, train_size = options.pop("test_size", None), options.pop("train_size", None)
    if train_size is None:
        train_size = 0.75 if test_size is None else 1 - test_size
    count = int(train_size * args[0].shape[0])
    np.random.seed(options.pop("random_state", None))
    order = np.random.permutation(args[0].shape[0])
    return tuple(x.take(part, axis=0) for x in args for part in (order[:count], order[count:]))
