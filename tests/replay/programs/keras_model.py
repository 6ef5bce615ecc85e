"""Keras trains a model with batch normalization and dropout."""
import numpy as np
import tensorflow as tf

tf.set_random_seed(9)
model = tf.keras.Sequential([
    tf.keras.layers.Dense(6, activation="relu", input_shape=(4,)), tf.keras.layers.BatchNormalization(),
    tf.keras.layers.Dropout(0.3), tf.keras.layers.Dense(2, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
rows = np.random.RandomState(0).rand(12, 4).astype("f")
model.fit(rows, (rows.sum(1) > 2).astype("i"), batch_size=6, epochs=2, shuffle=False, verbose=0)
model.evaluate(rows, (rows.sum(1) > 2).astype("i"), verbose=0)
model.predict(rows)
