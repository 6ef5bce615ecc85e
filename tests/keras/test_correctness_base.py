"""The base of TensorFlow's tests that a model under a strategy gives what it gives without one, as a program outside uses it."""

import pathlib
import subprocess
import sys

PROGRAM = """
import numpy as np, tensorflow as tf
from tensorflow.python.distribute import combinations
from tensorflow.python.keras.distribute import keras_correctness_test_base as base
from tensorflow.python.keras.optimizer_v2 import gradient_descent

class Dense(base.TestDistributionStrategyCorrectnessBase):
    def get_data(self):
        x = np.random.rand(256, 1).astype("f")
        return x, 3 * x, np.array([[1.0], [2.0], [3.0], [4.0]], "f")

    def get_model(self, experimental_run_tf_function, initial_weights=None, distribution=None, input_shapes=None):
        with base.MaybeDistributionScope(distribution):
            model = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(1,)), tf.keras.layers.Dense(1)])
            if initial_weights:
                model.set_weights(initial_weights)
            rate = 0.1 if initial_weights is None or not WRONG or distribution is None else 0.3
            model.compile(gradient_descent.SGD(rate), "mse", experimental_run_tf_function=experimental_run_tf_function)
            return model

    @combinations.generate(base.all_strategy_and_input_config_combinations())
    def test_dense(self, distribution, use_numpy, use_validation_data, experimental_run_tf_function):
        self.run_correctness_test(distribution, use_numpy, use_validation_data, experimental_run_tf_function)

if __name__ == "__main__":
    tf.test.main()
"""


def _run(folder: pathlib.Path, wrong: bool) -> subprocess.CompletedProcess:
    (folder / "dense_test.py").write_text(f"WRONG = {wrong}\n" + PROGRAM)
    return subprocess.run([sys.executable, "-m", "tfcompat", "run", folder / "dense_test.py"], capture_output=True, text=True)


def test_a_model_is_the_same_under_each_strategy(tmp_path):
    done = _run(tmp_path, wrong=False)
    assert done.returncode == 0, done.stderr
    assert "OK" in done.stderr


def test_a_model_that_trains_otherwise_under_a_strategy_fails(tmp_path):
    done = _run(tmp_path, wrong=True)
    assert done.returncode == 1
    assert "Not equal to tolerance" in done.stderr, done.stderr
