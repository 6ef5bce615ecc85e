"""tf.contrib.saved_model: Keras models as SavedModels."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export


@export("contrib.saved_model.load_keras_model")
def load_keras_model(saved_model_path: str, custom_objects: dict[str, Any] | None = None) -> Any:
    """NotImplementedError: Keras models are not made from SavedModels."""
    raise NotImplementedError("tfcompat has no tf.contrib.saved_model.load_keras_model: call tf.saved_model.load on the SavedModel.")


@export("contrib.saved_model.save_keras_model")
def save_keras_model(
    model: Any, saved_model_path: str, custom_objects: dict[str, Any] | None = None, as_text: bool = False,
    input_signature: Any = None, serving_only: bool = False,
) -> Any:  # fmt: skip
    """NotImplementedError: Keras models are not written as SavedModels."""
    raise NotImplementedError("tfcompat has no tf.contrib.saved_model.save_keras_model: call tf.saved_model.simple_save on the model's tensors.")
