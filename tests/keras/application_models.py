"""The models of tf.keras.applications that are compared with the real program's; the file imports under both Pythons."""

import numpy as np

PIXELS = np.arange(24, dtype=np.float32).reshape(1, 2, 4, 3) * 10
MODULES = (
    "densenet", "imagenet_utils", "inception_resnet_v2", "inception_v3", "mobilenet", "mobilenet_v2", "nasnet", "resnet",
    "resnet50", "resnet_v2", "vgg16", "vgg19", "xception",
)  # fmt: skip
SMALL = {"include_top": False, "pooling": "avg", "input_shape": (75, 75, 3)}
MODELS = {
    "DenseNet121": {},
    "DenseNet169": {},
    "DenseNet201": {},
    "InceptionResNetV2": {},
    "InceptionV3": {},
    "MobileNet": {},
    "MobileNetV2": {},
    "NASNetMobile": {},
    "ResNet50": {},
    "ResNet50V2": {},
    "ResNet101": {},
    "ResNet152V2": {},
    "VGG16": {},
    "VGG19": {},
    "Xception": {},
    "MobileNet:narrow": {"alpha": 0.25, "input_shape": (128, 128, 3), "classes": 7},
    "MobileNetV2:headless": {"alpha": 0.5, "include_top": False, "pooling": "max", "input_shape": (96, 96, 3)},
    "VGG16:headless": SMALL,
    "ResNet50:headless": SMALL,
    "Xception:headless": SMALL,
}
QUICK = ("MobileNet", "MobileNet:narrow", "MobileNetV2:headless", "VGG16", "VGG16:headless", "ResNet50:headless", "ResNet50V2")
"""Those that are built in a second or two."""


def build(tf, key):
    return getattr(tf.keras.applications, key.partition(":")[0])(weights=None, **MODELS[key])


def describe(model):
    """The model's name, its numbers of parameters, and each layer's class, name, configuration, inputs, shape and parameters."""
    config = model.get_config()
    layers = [
        [each["class_name"], each["name"], {k: v for k, v in each["config"].items() if k != "name"}, each["inbound_nodes"]]
        + [[list(s) for s in shapes(layer.output_shape)], layer.count_params()]
        for layer, each in zip(model.layers, config["layers"])
    ]
    trained = sum(int(np.prod(w.shape.as_list())) for w in model.trainable_weights)
    return {"name": model.name, "parameters": model.count_params(), "trained": trained, "layers": layers}


def shapes(found):
    return found if isinstance(found, list) else [found]



def plain(value):
    """What JSON writes of a value that it does not know."""
    return dict(value) if isinstance(value, dict) else value.item()
