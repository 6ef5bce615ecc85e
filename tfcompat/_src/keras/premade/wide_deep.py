"""tf.keras.experimental.WideDeepModel."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.keras import activations
from tfcompat._src.keras.engine import registry
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.training import Model
from tfcompat._src.keras.utils.generic_utils import serialize_keras_object


@export("keras.experimental.WideDeepModel")
class WideDeepModel(Model):
    """The mean of a linear and a deep model, trained together.

    Args:
      linear_model: a LinearModel.
      dnn_model: a model with outputs of the same shape.
      activation: function of the mean, or its name.
      kwargs: of every model.

    `compile` takes a list of two optimizers, of the linear and the deep model.
    """

    def __init__(self, linear_model, dnn_model, activation=None, **kwargs) -> None:
        super().__init__(**kwargs)
        self.linear_model, self.dnn_model = linear_model, dnn_model
        self.activation = activations.get(activation)

    def call(self, inputs: Any) -> Any:
        """The outputs for inputs of both models, or for a pair of them."""
        pair = isinstance(inputs, (tuple, list)) and len(inputs) == 2
        wide, deep = inputs if pair else (inputs, inputs)
        output = 0.5 * (self.linear_model(wide) + self.dnn_model(deep))
        return self.activation(output) if self.activation else output

    def _optimizers_and_models(self) -> list[tuple[Any, Any]]:
        both = self.optimizer if isinstance(self.optimizer, (tuple, list)) else [self.optimizer] * 2
        return list(zip(both, (self.linear_model, self.dnn_model)))

    def _backwards(self, tape: Any, loss: Any) -> None:
        models = self._optimizers_and_models()
        variables = [model._unique_trainable_weights for _, model in models]
        for (optimizer, _), grads, of_model in zip(models, tape.gradient(loss, variables), variables):
            optimizer.apply_gradients(zip(grads, of_model))

    def _check_optimizer(self) -> None:
        """Two optimizers are allowed here."""

    def _gradient_updates(self) -> list[Any]:
        return [
            update
            for optimizer, model in self._optimizers_and_models()
            for update in optimizer.get_updates(params=model._unique_trainable_weights, loss=self.total_loss)
        ]

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            **Layer.get_config(self),
            "linear_model": serialize_keras_object(self.linear_model),
            "dnn_model": serialize_keras_object(self.dnn_model),
            "activation": activations.serialize(self.activation),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> WideDeepModel:
        """A model from what `get_config` gave."""
        rest, deserialize = dict(config), registry.get("layers.deserialize")
        wide, deep = (deserialize(rest.pop(name), custom_objects) for name in ("linear_model", "dnn_model"))
        activation = activations.deserialize(rest.pop("activation", None), custom_objects=custom_objects)
        return cls(linear_model=wide, dnn_model=deep, activation=activation, **rest)
