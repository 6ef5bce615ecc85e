"""`tensorflow.python.keras.testing_utils`: checks of layers, and the small models that tests of Keras share."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tfcompat import keras
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.scopes import executing_eagerly
from tfcompat._src.keras.engine import base_layer_utils
from tfcompat._src.nodes.tensor_spec import TensorSpec


class _Settings(threading.local):
    """What the scopes around a test say; None outside of them."""

    model_type: str | None = None
    run_eagerly: bool | None = None
    experimental_run_tf_function: bool | None = None


_settings = _Settings()


@contextlib.contextmanager
def _setting(name: str, value: object) -> Iterator[Any]:
    before = getattr(_settings, name)
    setattr(_settings, name, value)
    try:
        yield value
    finally:
        setattr(_settings, name, before)


def model_type_scope(value: str) -> contextlib.AbstractContextManager[str]:
    """A block in which `get_model_type` is "sequential", "functional" or "subclass"."""
    return _setting("model_type", value)


def run_eagerly_scope(value: bool) -> contextlib.AbstractContextManager[bool]:
    """A block that says whether models are to run eagerly."""
    return _setting("run_eagerly", value)


def experimental_run_tf_function_scope(value: bool) -> contextlib.AbstractContextManager[bool]:
    """A block that says whether models are to run as one function of an eager program."""
    return _setting("experimental_run_tf_function", value)


def _required(name: str, function: str, scope: str) -> Any:
    value = getattr(_settings, name)
    if value is None:
        raise ValueError(f"Cannot call `{function}()` outside of a `{scope}()` or `run_all_keras_modes` decorator.")
    return value


def should_run_eagerly() -> bool:
    """Whether models are to run eagerly; ValueError outside of a scope."""
    return _required("run_eagerly", "should_run_eagerly", "run_eagerly_scope") and executing_eagerly()


def should_run_tf_function() -> bool:
    """Whether models are to run as one function; ValueError outside of a scope."""
    name = "experimental_run_tf_function"
    return _required(name, "should_run_tf_function", f"{name}_scope") and executing_eagerly()


def get_model_type() -> str:
    """Which kind of model the functions below make; ValueError outside of a scope."""
    if _settings.model_type is None:
        raise ValueError(
            "Cannot call `get_model_type()` outside of a `model_type_scope()` or `run_with_all_model_types` decorator."
        )
    return _settings.model_type


# ---- data and checks ----


def get_test_data(
    train_samples: int, test_samples: int, input_shape: tuple, num_classes: int, random_seed: int | None = None
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """((x, y), (x, y)) for training and for a test: float32 samples around a template of their class, and classes."""
    if random_seed is not None:
        np.random.seed(random_seed)
    count = train_samples + test_samples
    templates = 2 * num_classes * np.random.random((num_classes, *input_shape))
    y = np.random.randint(0, num_classes, size=(count,))
    x = np.zeros((count, *input_shape), dtype=np.float32)
    for i, label in enumerate(y):
        x[i] = templates[label] + np.random.normal(loc=0, scale=1.0, size=input_shape)
    return (x[:train_samples], y[:train_samples]), (x[train_samples:], y[train_samples:])


def _random_inputs(shape: Any, dtype: str) -> np.ndarray:
    values = 10 * np.random.random([np.random.randint(1, 4) if size is None else size for size in shape])
    return (values - 0.5 if dtype.startswith("float") else values).astype(dtype)


class _LayerTest:
    """What `layer_test` was called with, and the steps of the test."""

    def __init__(self, layer_cls: type, kwargs: dict[str, Any], expected_output: Any) -> None:
        self.layer_cls, self.kwargs, self.expected_output = layer_cls, kwargs, expected_output

    def same_shape(self, expected: Any, actual: Any) -> None:
        """Raises AssertionError where known sizes differ."""
        fits = len(expected) == len(actual) and all(e is None or e == a for e, a in zip(expected, actual))
        if not fits:
            raise AssertionError(
                f"{self.layer_cls.__name__} gave the shape {actual}, expected was {expected}. Arguments: {self.kwargs}"
            )

    def same_dtype(self, expected: object, actual: object) -> None:
        if expected != actual:
            raise AssertionError(
                f"{self.layer_cls.__name__} gave the dtype {actual}, expected was {expected}. Arguments: {self.kwargs}"
            )

    def same_output(self, actual: np.ndarray) -> None:
        if self.expected_output is not None:
            np.testing.assert_allclose(actual, self.expected_output, rtol=1e-3, atol=1e-6)

    @staticmethod
    def survives_config(model: Any, inputs: np.ndarray, outputs: np.ndarray) -> None:
        """Checks that the model of the configuration, with the same weights, gives the same outputs."""
        recovered = type(model).from_config(model.get_config())
        if model.weights:
            recovered.set_weights(model.get_weights())
            np.testing.assert_allclose(recovered.predict(inputs), outputs, rtol=1e-3, atol=1e-6)

    @staticmethod
    def trains(inputs: object, outputs: object, data: np.ndarray, targets: np.ndarray) -> None:
        model = keras.models.Model(inputs, outputs)
        eager = {} if _settings.run_eagerly is None else {"run_eagerly": should_run_eagerly()}
        model.compile("rmsprop", "mse", weighted_metrics=["acc"], **eager)
        model.train_on_batch(data, targets)


def layer_test(
    layer_cls: type, kwargs: dict | None = None, input_shape: tuple | None = None, input_dtype: Any = None,
    input_data: Any = None, expected_output: object = None, expected_output_dtype: object = None,
    expected_output_shape: object = None, validate_training: bool = True, adapt_data: object = None,
) -> np.ndarray:  # fmt: skip
    """Checks a layer: weights, shapes, dtypes, its configuration, training, and its place in a Sequential.

    Args:
      layer_cls, kwargs: the class and its arguments.
      input_shape, input_dtype: of random inputs, or `input_data` gives the inputs.
      expected_output, expected_output_dtype, expected_output_shape: what has to come out.
      validate_training: whether to train a step.
      adapt_data: what `adapt` is called with.

    Returns:
      the outputs.

    Raises:
      AssertionError: something differs. ValueError: neither data nor a shape.
    """
    kwargs = kwargs or {}
    if input_data is None:
        if input_shape is None:
            raise ValueError("input_shape is None")
        input_dtype = input_dtype or "float32"
        input_data = _random_inputs(input_shape, input_dtype)
    input_shape = input_data.shape if input_shape is None else input_shape
    input_dtype = input_data.dtype if input_dtype is None else input_dtype
    test = _LayerTest(layer_cls, kwargs, expected_output)

    layer = layer_cls(**kwargs)
    if adapt_data is not None:
        layer.adapt(adapt_data)
    layer.set_weights(layer.get_weights())
    x = keras.layers.Input(shape=input_shape[1:], dtype=input_dtype)
    y = layer(x)
    test.same_dtype(expected_output_dtype or input_dtype, keras.backend.dtype(y))
    if expected_output_shape is not None:
        test.same_shape(TensorShape(expected_output_shape).as_list(), y.shape.as_list())
    model = keras.models.Model(x, y)
    computed = tuple(layer.compute_output_shape(TensorShape(input_shape)).as_list())
    signature = layer.compute_output_signature(TensorSpec(shape=input_shape, dtype=input_dtype))
    actual = model.predict(input_data)
    test.same_shape(computed, actual.shape)
    test.same_shape(TensorShape(signature.shape).as_list(), actual.shape)
    test.same_dtype(signature.dtype, actual.dtype)
    test.same_output(actual)
    test.survives_config(model, input_data, actual)
    if validate_training:
        test.trains(x, layer(x), input_data, actual)

    layer = type(layer).from_config({**layer.get_config(), "batch_input_shape": input_shape})
    if adapt_data is not None:
        layer.adapt(adapt_data)
    sequential = keras.models.Sequential()
    sequential.add(layer)
    actual = sequential.predict(input_data)
    test.same_shape(computed, actual.shape)
    test.same_output(actual)
    test.survives_config(sequential, input_data, actual)
    return actual


# ---- models ----


def _output_activation(num_classes: int) -> str:
    return "sigmoid" if num_classes == 1 else "softmax"


def _hidden(units: int, **kwargs: object) -> Any:
    return keras.layers.Dense(units, activation="relu", **kwargs)


def _classes(num_classes: int) -> Any:
    return keras.layers.Dense(num_classes, activation=_output_activation(num_classes))


def get_small_sequential_mlp(num_hidden: int, num_classes: int, input_dim: int | None = None) -> Any:
    """Two dense layers in a Sequential."""
    first = _hidden(num_hidden, **({"input_dim": input_dim} if input_dim else {}))
    model = keras.models.Sequential()
    model.add(first)
    model.add(_classes(num_classes))
    return model


def get_small_functional_mlp(num_hidden: int, num_classes: int, input_dim: int) -> Any:
    """Two dense layers between tensors."""
    inputs = keras.Input(shape=(input_dim,))
    return keras.Model(inputs, _classes(num_classes)(_hidden(num_hidden)(inputs)))


class _SmallSubclassMLP(keras.Model):
    """Two dense layers in a subclass."""

    def __init__(self, num_hidden: int, num_classes: int) -> None:
        super().__init__()
        self.layer_a = _hidden(num_hidden)
        self.layer_b = _classes(num_classes)

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        return self.layer_b(self.layer_a(inputs))


class _SmallSubclassMLPCustomBuild(keras.Model):
    """Two dense layers that `build` makes."""

    def __init__(self, num_hidden: int, num_classes: int) -> None:
        super().__init__()
        self.layer_a, self.layer_b = None, None
        self.num_hidden, self.num_classes = num_hidden, num_classes

    def build(self, input_shape: Any) -> None:
        self.layer_a = _hidden(self.num_hidden)
        self.layer_b = _classes(self.num_classes)

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        return self.layer_b(self.layer_a(inputs))


get_small_subclass_mlp = _SmallSubclassMLP
get_small_subclass_mlp_with_custom_build = _SmallSubclassMLPCustomBuild


def get_small_mlp(num_hidden: int, num_classes: int, input_dim: int) -> Any:
    """Two dense layers in a model of the kind that the scope says; ValueError for an unknown kind."""
    model_type = get_model_type()
    if model_type == "subclass":
        return _SmallSubclassMLP(num_hidden, num_classes)
    if model_type == "subclass_custom_build":
        return _SmallSubclassMLPCustomBuild(num_hidden, num_classes)
    if model_type == "sequential":
        return get_small_sequential_mlp(num_hidden, num_classes, input_dim)
    if model_type == "functional":
        return get_small_functional_mlp(num_hidden, num_classes, input_dim)
    raise ValueError(f"Unknown model type {model_type}")


def _through(layers: Any, x: object) -> Any:
    for layer in layers or ():
        x = layer(x)
    return x


class _SubclassModel(keras.Model):
    """Layers one after the other, each an attribute."""

    def __init__(self, layers: list[Any], *args: Any, **kwargs: Any) -> None:
        inputs = kwargs.pop("input_tensor", None)
        super().__init__(*args, **kwargs)
        for i, layer in enumerate(layers):
            setattr(self, self._layer_name_for_i(i), layer)
        self.num_layers = len(layers)
        if inputs is not None:
            self._set_inputs(inputs)

    def _layer_name_for_i(self, i: int) -> str:
        return f"layer{i}"

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        return _through([getattr(self, self._layer_name_for_i(i)) for i in range(self.num_layers)], inputs)


class _SubclassModelCustomBuild(keras.Model):
    """Layers one after the other, which `build` makes."""

    def __init__(self, layer_generating_func: Callable, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.all_layers = None
        self._layer_generating_func = layer_generating_func

    def build(self, input_shape: Any) -> None:
        self.all_layers = list(self._layer_generating_func())

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        return _through(self.all_layers, inputs)


def get_model_from_layers(
    layers: list[Any], input_shape: tuple | None = None, input_dtype: object = None, name: str | None = None,
    input_ragged: bool | None = None, input_sparse: bool | None = None,
) -> Any:  # fmt: skip
    """Layers one after the other in a model of the kind that the scope says.

    Raises:
      ValueError: the kind is unknown, or a functional model lacks `input_shape`.
    """
    kind = {"dtype": input_dtype, "ragged": input_ragged, "sparse": input_sparse}
    model_type = get_model_type()
    if model_type == "subclass":
        inputs = keras.Input(shape=input_shape, **kind) if input_ragged or input_sparse else None
        return _SubclassModel(layers, name=name, input_tensor=inputs)
    if model_type == "subclass_custom_build":
        return _SubclassModelCustomBuild(lambda: layers, name=name)
    if model_type == "sequential":
        model = keras.models.Sequential(name=name)
        for layer in [keras.layers.InputLayer(input_shape=input_shape, **kind)] * bool(input_shape) + layers:
            model.add(layer)
        return model
    if model_type == "functional":
        if not input_shape:
            raise ValueError("Cannot create a functional model from layers with no input shape.")
        inputs = keras.Input(shape=input_shape, **kind)
        return keras.Model(inputs, _through(layers, inputs), name=name)
    raise ValueError(f"Unknown model type {model_type}")


class _MultiIOSubclassModel(keras.Model):
    """Two branches of layers, between shared layers where there are some."""

    def __init__(
        self, branch_a: Any, branch_b: Any, shared_input_branch: Any = None, shared_output_branch: Any = None
    ) -> None:
        super().__init__()
        self._shared_input_branch = shared_input_branch
        self._branch_a, self._branch_b = branch_a, branch_b
        self._shared_output_branch = shared_output_branch

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        if self._shared_input_branch:
            a = b = _through(self._shared_input_branch, inputs)
        else:
            a, b = inputs
        return _through(self._shared_output_branch, [_through(self._branch_a, a), _through(self._branch_b, b)])


class _MultiIOSubclassModelCustomBuild(_MultiIOSubclassModel):
    """Two branches of layers that `build` makes with the functions given."""

    def __init__(self, *functions: Any) -> None:
        super().__init__(None, None)
        self._functions = functions

    def build(self, input_shape: Any) -> None:
        branch_a, branch_b, shared_input, shared_output = (make() for make in self._functions)
        self._branch_a, self._branch_b = branch_a, branch_b
        self._shared_input_branch, self._shared_output_branch = shared_input, shared_output


def get_multi_io_model(
    branch_a: list[Any], branch_b: list[Any], shared_input_branch: Any = None, shared_output_branch: object = None
) -> Any:
    """Two branches of layers in a model of the kind that the scope says; each branch, or the shared one, starts with
    its Input.

    Raises:
      ValueError: the kind is "sequential" or unknown.
    """
    if shared_input_branch:
        inputs, *shared_input_branch = shared_input_branch
    else:
        (input_a, *branch_a), (input_b, *branch_b) = branch_a, branch_b
        inputs = (input_a, input_b)
    model_type = get_model_type()
    parts = (branch_a, branch_b, shared_input_branch, shared_output_branch)
    if model_type == "subclass":
        return _MultiIOSubclassModel(*parts)
    if model_type == "subclass_custom_build":
        return _MultiIOSubclassModelCustomBuild(*(functools.partial(lambda part: part, part) for part in parts))
    if model_type == "sequential":
        raise ValueError("Cannot use `get_multi_io_model` to construct sequential models")
    if model_type == "functional":
        a, b = [_through(shared_input_branch, inputs)] * 2 if shared_input_branch else inputs
        outputs = _through(shared_output_branch, (_through(branch_a, a), _through(branch_b, b)))
        return keras.Model(inputs, outputs)
    raise ValueError(f"Unknown model type {model_type}")


# ---- optimizers and names ----

_OPTIMIZERS = {
    "adadelta": keras.optimizers.Adadelta,
    "adagrad": keras.optimizers.Adagrad,
    "adam": keras.optimizers.Adam,
    "adamax": keras.optimizers.Adamax,
    "nadam": keras.optimizers.Nadam,
    "rmsprop": keras.optimizers.RMSprop,
    "sgd": keras.optimizers.SGD,
}


def get_v2_optimizer(name: str, **kwargs: Any) -> Any:
    """An OptimizerV2 by its name; ValueError where it is unknown."""
    if name not in _OPTIMIZERS:
        raise ValueError(f"Could not find requested v2 optimizer: {name}\nValid choices: {list(_OPTIMIZERS)}")
    return _OPTIMIZERS[name](**kwargs)


def get_expected_metric_variable_names(var_names: list[str], name_suffix: str = "") -> list[str]:
    """The names that variables of metrics have in a graph."""
    return [f"{name}{name_suffix}:0" for name in var_names]


def _with_v2_dtype_behavior(function: Callable, enabled: bool) -> Callable:
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        before = base_layer_utils.V2_DTYPE_BEHAVIOR
        base_layer_utils.V2_DTYPE_BEHAVIOR = enabled
        try:
            return function(*args, **kwargs)
        finally:
            base_layer_utils.V2_DTYPE_BEHAVIOR = before

    return wrapped


def enable_v2_dtype_behavior(fn: Callable) -> Callable:
    """Decorates a test in which layers have dtype floatx by default and cast their inputs."""
    return _with_v2_dtype_behavior(fn, True)


def disable_v2_dtype_behavior(fn: Callable) -> Callable:
    """Decorates a test in which layers take the dtype of their inputs."""
    return _with_v2_dtype_behavior(fn, False)
