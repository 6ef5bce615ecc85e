"""`tensorflow.python.keras.model_subclassing_test_util`: subclasses of Model that tests share."""

from __future__ import annotations

from typing import Any

from tfcompat import keras


def _relu(units: int) -> Any:
    return keras.layers.Dense(units, activation="relu")


def _softmax(units: int) -> Any:
    return keras.layers.Dense(units, activation="softmax")


class SimpleTestModel(keras.Model):
    """Two dense layers, with dropout and batch normalization between them where wanted."""

    def __init__(self, use_bn: bool = False, use_dp: bool = False, num_classes: int = 10) -> None:
        super().__init__(name="test_model")
        self.use_bn, self.use_dp, self.num_classes = use_bn, use_dp, num_classes
        self.dense1, self.dense2 = _relu(32), _softmax(num_classes)
        if use_dp:
            self.dp = keras.layers.Dropout(0.5)
        if use_bn:
            self.bn = keras.layers.BatchNormalization(axis=-1)

    def call(self, x: Any) -> Any:
        x = self.dense1(x)
        x = self.dp(x) if self.use_dp else x
        x = self.bn(x) if self.use_bn else x
        return self.dense2(x)


class SimpleConvTestModel(keras.Model):
    """A convolution and a dense layer."""

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__(name="test_model")
        self.num_classes = num_classes
        self.conv1 = keras.layers.Conv2D(32, (3, 3), activation="relu")
        self.flatten = keras.layers.Flatten()
        self.dense1 = _softmax(num_classes)

    def call(self, x: Any) -> Any:
        return self.dense1(self.flatten(self.conv1(x)))


class MultiIOTestModel(keras.Model):
    """Two inputs through a shared layer to two outputs."""

    def __init__(self, use_bn: bool = False, use_dp: bool = False, num_classes: tuple[int, int] = (2, 3)) -> None:
        super().__init__(name="test_model")
        self.use_bn, self.use_dp, self.num_classes = use_bn, use_dp, num_classes
        self.dense1 = _relu(32)
        self.dense2, self.dense3 = _softmax(num_classes[0]), _softmax(num_classes[1])
        if use_dp:
            self.dp = keras.layers.Dropout(0.5)
        if use_bn:
            self.bn = keras.layers.BatchNormalization()

    def call(self, inputs: Any) -> list[Any]:
        first, second = (self.dense1(x) for x in inputs)
        first = self.dp(first) if self.use_dp else first
        second = self.bn(second) if self.use_bn else second
        return [self.dense2(first), self.dense3(second)]


class NestedTestModel1(keras.Model):
    """A subclass inside a subclass."""

    def __init__(self, num_classes: int = 2) -> None:
        super().__init__(name="nested_model_1")
        self.num_classes = num_classes
        self.dense1, self.dense2 = _relu(32), _relu(num_classes)
        self.bn = keras.layers.BatchNormalization()
        self.test_net = SimpleTestModel(num_classes=4, use_bn=True, use_dp=True)

    def call(self, inputs: Any) -> Any:
        return self.dense2(self.test_net(self.bn(self.dense1(inputs))))


class NestedTestModel2(keras.Model):
    """A graph of layers inside a subclass."""

    def __init__(self, num_classes: int = 2) -> None:
        super().__init__(name="nested_model_2")
        self.num_classes = num_classes
        self.dense1, self.dense2 = _relu(32), _relu(num_classes)
        self.bn = keras.layers.BatchNormalization()
        self.test_net = self.get_functional_graph_model(32, 4)

    @staticmethod
    def get_functional_graph_model(input_dim: int, num_classes: int) -> Any:
        """The inner model."""
        inputs = keras.Input(shape=(input_dim,))
        x = keras.layers.BatchNormalization()(_relu(32)(inputs))
        return keras.Model(inputs, keras.layers.Dense(num_classes)(x))

    def call(self, inputs: Any) -> Any:
        return self.dense2(self.test_net(self.bn(self.dense1(inputs))))


class _Inner(keras.Model):
    """Two dense layers and batch normalization."""

    def __init__(self) -> None:
        super().__init__()
        self.dense1, self.dense2 = _relu(32), _relu(5)
        self.bn = keras.layers.BatchNormalization()

    def call(self, inputs: Any) -> Any:
        return self.bn(self.dense2(self.dense1(inputs)))


def get_nested_model_3(input_dim: int, num_classes: int) -> Any:
    """A subclass inside a graph of layers."""
    inputs = keras.Input(shape=(input_dim,))
    x = keras.layers.BatchNormalization()(_relu(32)(inputs))
    return keras.Model(inputs, keras.layers.Dense(num_classes)(_Inner()(x)), name="nested_model_3")


class CustomCallModel(keras.Model):
    """A `call` with more than one input and other arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.dense1, self.dense2 = _relu(1), _softmax(1)

    def call(self, first: Any, second: Any, fiddle_with_output: str = "no", training: bool = True) -> Any:
        combined = self.dense1(first) + self.dense2(second)
        return 10.0 * combined if fiddle_with_output == "yes" else combined


class TrainingNoDefaultModel(keras.Model):
    """A `call` that must be told whether it trains."""

    def __init__(self) -> None:
        super().__init__()
        self.dense1 = keras.layers.Dense(1)

    def call(self, x: Any, training: Any) -> Any:
        return self.dense1(x)


class TrainingMaskingModel(keras.Model):
    """A `call` that takes a mask."""

    def __init__(self) -> None:
        super().__init__()
        self.dense1 = keras.layers.Dense(1)

    def call(self, x: Any, training: bool = False, mask: Any = None) -> Any:
        return self.dense1(x)
