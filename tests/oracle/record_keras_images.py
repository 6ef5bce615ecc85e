"""Records what tf.keras.preprocessing gives for seeded random numbers: tests/golden/keras/preprocessing.json."""

import json
import os
import pathlib
import random

import numpy as np

PATH = pathlib.Path(__file__).resolve().parent.parent / "golden" / "keras" / "preprocessing.json"
SETTINGS = {
    "rotation": {"rotation_range": 40},
    "shifts": {"width_shift_range": 0.2, "height_shift_range": [1, 2], "fill_mode": "constant", "cval": 3.0},
    "shear_zoom": {"shear_range": 20, "zoom_range": [0.8, 1.3], "fill_mode": "reflect"},
    "flips": {"horizontal_flip": True, "vertical_flip": True, "channel_shift_range": 20.0, "rescale": 0.5},
    "normalized": {"samplewise_center": True, "samplewise_std_normalization": True},
}


def images():
    return np.arange(4 * 5 * 6 * 3, dtype="float32").reshape(4, 5, 6, 3) % 97


def main():
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    found = {}
    for name, settings in sorted(SETTINGS.items()):
        generator = tf.keras.preprocessing.image.ImageDataGenerator(**settings)
        x, y = next(generator.flow(images(), np.arange(4), batch_size=3, seed=5))
        found[name] = {"x": np.round(x.astype("float64"), 4).tolist(), "y": y.tolist()}
    random.seed(3)
    couples, labels = tf.keras.preprocessing.sequence.skipgrams([1, 2, 0, 3, 4], 5, window_size=2, seed=9)
    found["skipgrams"] = {"couples": couples, "labels": labels}
    tokenizer = tf.keras.preprocessing.text.Tokenizer(num_words=4, oov_token="?")
    tokenizer.fit_on_texts(["a cat, a dog", "the cat sat"])
    found["tokenizer"] = {
        mode: tokenizer.texts_to_matrix(["cat a a dog owl"], mode=mode).tolist()
        for mode in ("binary", "count", "freq", "tfidf")
    }
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(json.dumps(found, sort_keys=True))


if __name__ == "__main__":
    main()
