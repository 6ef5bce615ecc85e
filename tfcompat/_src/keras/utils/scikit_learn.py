"""tf.keras.wrappers.scikit_learn: Sequential models with the interface of scikit-learn's estimators."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.keras import losses
from tfcompat._src.keras.engine.sequential import Sequential
from tfcompat._src.keras.utils.generic_utils import has_arg, to_list
from tfcompat._src.keras.utils.np_utils import to_categorical

if TYPE_CHECKING:
    from typing import Self

_MODEL_METHODS = (Sequential.fit, Sequential.predict, Sequential.predict_classes, Sequential.evaluate)


class BaseWrapper:
    """An estimator around the model that a function builds.

    Args:
      build_fn: function or callable object that gives a compiled model; by default `__call__` of a subclass.
      sk_params: arguments of `build_fn` and of the model's `fit`, `predict`, `predict_classes` and `evaluate`.

    Raises:
      ValueError: a parameter is an argument of none of these.
    """

    def __init__(self, build_fn=None, **sk_params) -> None:
        self.build_fn, self.sk_params = build_fn, sk_params
        self.check_params(sk_params)

    def _builder(self) -> Callable:
        """The function that builds the model."""
        if self.build_fn is None:
            return self.__call__
        if isinstance(self.build_fn, (types.FunctionType, types.MethodType)):
            return self.build_fn
        return self.build_fn.__call__

    def check_params(self, params) -> None:
        """Raises ValueError where a name is an argument of no function of the model."""
        known = (*_MODEL_METHODS, self._builder())
        for name in params:
            if name != "nb_epoch" and not any(has_arg(function, name) for function in known):
                raise ValueError(f"{name} is not a legal parameter")

    def get_params(self, **params) -> dict[str, Any]:
        """The parameters, and `build_fn`."""
        return {**copy.deepcopy(self.sk_params), "build_fn": self.build_fn}

    def set_params(self, **params) -> Self:
        """Sets parameters; the estimator."""
        self.check_params(params)
        self.sk_params.update(params)
        return self

    def fit(self, x, y, **kwargs) -> Any:
        """Builds and trains the model; its History.

        Args:
          x, y: arrays of inputs and targets.
          kwargs: of the model's `fit`.
        """
        self.model = self._builder()(**self.filter_sk_params(self._builder()))
        if losses.is_categorical_crossentropy(self.model.loss) and len(y.shape) != 2:
            y = to_categorical(y)
        return self.model.fit(x, y, **{**copy.deepcopy(self.filter_sk_params(Sequential.fit)), **kwargs})

    def filter_sk_params(self, fn, override=None) -> dict[str, Any]:
        """The parameters that a function takes, and `override`."""
        return {**{k: v for k, v in self.sk_params.items() if has_arg(fn, k)}, **(override or {})}


@export("keras.wrappers.scikit_learn.KerasClassifier")
class KerasClassifier(BaseWrapper):
    """A classifier; arguments as of BaseWrapper."""

    def fit(self, x, y, **kwargs) -> Any:
        """Builds and trains the model; its History.

        Args:
          x: array of inputs.
          y: array of classes, or of one column for each class.
          kwargs: of the model's `fit`.

        Raises:
          ValueError: `y` has another shape.
        """
        y = np.array(y)
        if y.ndim == 2 and y.shape[1] > 1:
            self.classes_ = np.arange(y.shape[1])
        elif y.ndim == 1 or (y.ndim == 2 and y.shape[1] == 1):
            self.classes_ = np.unique(y)
            y = np.searchsorted(self.classes_, y)
        else:
            raise ValueError(f"Invalid shape for y: {y.shape}")
        self.n_classes_ = len(self.classes_)
        return super().fit(x, y, **kwargs)

    def predict(self, x, **kwargs) -> Any:
        """The classes of inputs; `kwargs` are of `predict_classes`."""
        found = self.model.predict_classes(x, **self.filter_sk_params(Sequential.predict_classes, kwargs))
        return self.classes_[found]

    def predict_proba(self, x, **kwargs) -> Any:
        """The probabilities of the classes, one column for each; `kwargs` are of `predict_proba`."""
        found = self.model.predict_proba(x, **self.filter_sk_params(Sequential.predict_proba, kwargs))
        return np.hstack([1 - found, found]) if found.shape[1] == 1 else found

    def score(self, x, y, **kwargs) -> Any:
        """The accuracy on data; ValueError where the model is not compiled with it."""
        y = np.searchsorted(self.classes_, y)
        loss = getattr(self.model.loss, "__name__", self.model.loss)
        if loss == "categorical_crossentropy" and len(y.shape) != 2:
            y = to_categorical(y)
        outputs = to_list(self.model.evaluate(x, y, **self.filter_sk_params(Sequential.evaluate, kwargs)))
        for name, output in zip(self.model.metrics_names, outputs):
            if name in ("accuracy", "acc"):
                return output
        raise ValueError(
            'The model is not configured to compute accuracy. You should pass `metrics=["accuracy"]` to the '
            "`model.compile()` method."
        )


@export("keras.wrappers.scikit_learn.KerasRegressor")
class KerasRegressor(BaseWrapper):
    """A regressor; arguments as of BaseWrapper."""

    def predict(self, x, **kwargs) -> Any:
        """The outputs for inputs; `kwargs` are of `predict`."""
        return np.squeeze(self.model.predict(x, **self.filter_sk_params(Sequential.predict, kwargs)))

    def score(self, x, y, **kwargs) -> Any:
        """The loss on data, negated."""
        return -to_list(self.model.evaluate(x, y, **self.filter_sk_params(Sequential.evaluate, kwargs)))[0]
