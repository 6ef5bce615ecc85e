"""tf.keras.applications: the package keras_applications over tf.keras, as in TensorFlow 1.15."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export

PARTS = ("backend", "layers", "models", "utils")
"""What keras_applications is handed of Keras, by the name of the argument and of the namespace."""


def keras_modules_injection(base_fun: Callable[..., Any]) -> Callable[..., Any]:
    """The function `base_fun` of keras_applications with tf.keras as its Keras; `layers` may be given by the caller."""

    @functools.wraps(base_fun)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        parts = {name: importlib.import_module(f"tfcompat.keras.{name}") for name in PARTS}
        return base_fun(*args, **{**parts, **kwargs, **{name: parts[name] for name in PARTS if name != "layers"}})

    return wrapper


def _of(module: str, name: str) -> Callable[..., Any]:
    """The function `name` of `keras_applications.module`, which is imported when it is called.

    Raises (when called):
      ImportError: keras_applications is not installed.
    """

    def function(*args: Any, **kwargs: Any) -> Any:
        try:
            library = importlib.import_module(f"keras_applications.{module}")
        except ModuleNotFoundError as e:
            raise ImportError(
                f"tf.keras.applications.{name} needs the package keras_applications: pip install keras_applications"
            ) from e
        return keras_modules_injection(getattr(library, name))(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`keras_applications.{module}.{name}` with the layers of tf.keras; its documentation says what it takes."
    return function


DenseNet121 = export(
    "keras.applications.DenseNet121", "keras.applications.densenet.DenseNet121"
)(_of("densenet", "DenseNet121"))
DenseNet169 = export(
    "keras.applications.DenseNet169", "keras.applications.densenet.DenseNet169"
)(_of("densenet", "DenseNet169"))
DenseNet201 = export(
    "keras.applications.DenseNet201", "keras.applications.densenet.DenseNet201"
)(_of("densenet", "DenseNet201"))
InceptionResNetV2 = export(
    "keras.applications.InceptionResNetV2", "keras.applications.inception_resnet_v2.InceptionResNetV2"
)(_of("inception_resnet_v2", "InceptionResNetV2"))
InceptionV3 = export(
    "keras.applications.InceptionV3", "keras.applications.inception_v3.InceptionV3"
)(_of("inception_v3", "InceptionV3"))
MobileNet = export(
    "keras.applications.MobileNet", "keras.applications.mobilenet.MobileNet"
)(_of("mobilenet", "MobileNet"))
MobileNetV2 = export(
    "keras.applications.MobileNetV2", "keras.applications.mobilenet_v2.MobileNetV2"
)(_of("mobilenet_v2", "MobileNetV2"))
NASNetLarge = export(
    "keras.applications.NASNetLarge", "keras.applications.nasnet.NASNetLarge"
)(_of("nasnet", "NASNetLarge"))
NASNetMobile = export(
    "keras.applications.NASNetMobile", "keras.applications.nasnet.NASNetMobile"
)(_of("nasnet", "NASNetMobile"))
ResNet101 = export("keras.applications.ResNet101", "keras.applications.resnet.ResNet101")(_of("resnet", "ResNet101"))
ResNet152 = export("keras.applications.ResNet152", "keras.applications.resnet.ResNet152")(_of("resnet", "ResNet152"))
ResNet50 = export(
    "keras.applications.ResNet50", "keras.applications.resnet50.ResNet50", "keras.applications.resnet.ResNet50"
)(_of("resnet", "ResNet50"))
ResNet50V2 = export(
    "keras.applications.ResNet50V2", "keras.applications.resnet_v2.ResNet50V2"
)(_of("resnet_v2", "ResNet50V2"))
ResNet101V2 = export(
    "keras.applications.ResNet101V2", "keras.applications.resnet_v2.ResNet101V2"
)(_of("resnet_v2", "ResNet101V2"))
ResNet152V2 = export(
    "keras.applications.ResNet152V2", "keras.applications.resnet_v2.ResNet152V2"
)(_of("resnet_v2", "ResNet152V2"))
VGG16 = export("keras.applications.VGG16", "keras.applications.vgg16.VGG16")(_of("vgg16", "VGG16"))
VGG19 = export("keras.applications.VGG19", "keras.applications.vgg19.VGG19")(_of("vgg19", "VGG19"))
Xception = export("keras.applications.Xception", "keras.applications.xception.Xception")(_of("xception", "Xception"))
decode_predictions = export(
    "keras.applications.imagenet_utils.decode_predictions", "keras.applications.densenet.decode_predictions",
    "keras.applications.inception_resnet_v2.decode_predictions", "keras.applications.inception_v3.decode_predictions",
    "keras.applications.mobilenet.decode_predictions", "keras.applications.mobilenet_v2.decode_predictions",
    "keras.applications.nasnet.decode_predictions", "keras.applications.resnet.decode_predictions",
    "keras.applications.resnet50.decode_predictions", "keras.applications.resnet_v2.decode_predictions",
    "keras.applications.vgg16.decode_predictions", "keras.applications.vgg19.decode_predictions",
    "keras.applications.xception.decode_predictions",
)(_of("imagenet_utils", "decode_predictions"))
preprocess_input = export(
    "keras.applications.imagenet_utils.preprocess_input", "keras.applications.vgg16.preprocess_input",
    "keras.applications.vgg19.preprocess_input",
)(_of("imagenet_utils", "preprocess_input"))
preprocess_resnet = export(
    "keras.applications.resnet.preprocess_input", "keras.applications.resnet50.preprocess_input",
)(_of("resnet", "preprocess_input"))
preprocess_densenet = export("keras.applications.densenet.preprocess_input")(_of("densenet", "preprocess_input"))
preprocess_signed = export(
    "keras.applications.inception_resnet_v2.preprocess_input", "keras.applications.inception_v3.preprocess_input",
    "keras.applications.mobilenet.preprocess_input", "keras.applications.mobilenet_v2.preprocess_input",
    "keras.applications.nasnet.preprocess_input", "keras.applications.resnet_v2.preprocess_input",
    "keras.applications.xception.preprocess_input",
)(_of("mobilenet", "preprocess_input"))
