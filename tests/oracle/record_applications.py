"""Records tests/golden/keras/applications.json.gz, the layers of the models of tf.keras.applications, from TensorFlow 1.15.5."""

import gzip
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "keras"))

import application_models  # noqa: E402
import tensorflow as tf  # noqa: E402
from application_models import MODULES, PIXELS  # noqa: E402
from keras_applications import imagenet_utils  # noqa: E402


def main():
    found = {"models": {}, "pixels": {}}
    for key in sorted(application_models.MODELS):
        tf.keras.backend.clear_session()
        found["models"][key] = application_models.describe(application_models.build(tf, key))
    for name in MODULES:
        function = getattr(tf.keras.applications, name).preprocess_input
        imagenet_utils._IMAGENET_MEAN = None  # what the first call makes, whichever its mean is
        with tf.Session() as session:
            array, tensor = function(PIXELS.copy()), session.run(function(tf.constant(PIXELS)))
        found["pixels"][name] = [array.tolist(), tensor.tolist()]
    path = os.path.join(ROOT, "tests", "golden", "keras", "applications.json.gz")
    with open(path, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as packed:
        packed.write(json.dumps(found, sort_keys=True, default=application_models.plain).encode())


if __name__ == "__main__":
    main()
