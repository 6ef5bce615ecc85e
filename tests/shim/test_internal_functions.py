"""Functions of TensorFlow's own modules do what those of 1.15.5 do."""

import difflib
import pathlib
import subprocess
import sys

import numpy as np

from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.keras.engine import data_adapter

HERE = pathlib.Path(__file__).parent


def test_what_1_15_5_prints():
    done = subprocess.run([sys.executable, "-m", "tfcompat", "run", HERE / "internal_functions.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = (HERE / "internal_functions_expected.txt").read_text()
    assert done.stdout == expected, "\n".join(difflib.unified_diff(expected.split("\n"), done.stdout.split("\n"), lineterm=""))


def test_batches_of_adapters():
    with eager_mode():
        x, y = np.arange(10).reshape(5, 2), np.arange(5)
        made = data_adapter.TensorLikeDataAdapter(x, y, batch_size=2, epochs=2)
        rows = [(a.numpy().tolist(), b.numpy().tolist()) for a, b in made.get_dataset()]
        one = [([[0, 1], [2, 3]], [0, 1]), ([[4, 5], [6, 7]], [2, 3]), ([[8, 9]], [4])]
        assert rows == one * 2
        np.random.seed(1)
        shuffled = data_adapter.TensorLikeDataAdapter(x, y, batch_size=5, shuffle=True).get_dataset()
        np.random.seed(1)
        order = np.arange(5)
        np.random.shuffle(order)
        assert [b.numpy().tolist() for _, b in shuffled] == [order.tolist()]
        weights = data_adapter.TensorLikeDataAdapter([x, x], [y, y], [None, np.full(5, 2.0, "f")], batch_size=5).get_dataset()
        assert [[w.numpy().tolist() for w in given] for _, _, given in weights] == [[[1.0] * 5, [2.0] * 5]]
        generated = data_adapter.GeneratorDataAdapter(((np.full((2, 1), i), np.full(2, -i)) for i in range(3)), workers=1)
        assert [b.numpy().tolist() for _, b in generated.get_dataset()] == [[0, 0], [-1, -1], [-2, -2]]
