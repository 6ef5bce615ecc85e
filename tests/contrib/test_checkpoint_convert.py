"""Old names of recurrent cells' variables in checkpoints, and sizes of arrays that grow: values from TensorFlow 1.15."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.contrib.metrics.concat import next_array_size
from tfcompat._src.contrib.rnn import checkpoint_convert

CHANGED = {
    "a/basic_rnn_cell/weights": "a/basic_rnn_cell/kernel",
    "a/gru_cell/gates/biases": "a/gru_cell/gates/bias",
    "root/attention_decoder/LSTMCell/W_0": "root/attention_decoder/lstm_cell/kernel",
    "m/lstm_cell/weights/Adam": "m/lstm_cell/kernel/Adam",
}
UNCHANGED = ["x/y", "BasicLSTMCell/Linear/Matrix_1", "BasicLSTMCell/Linear/Matrix_2"]


@pytest.mark.parametrize("first_version", [False, True])
def test_names_of_cells_are_converted(tmp_path, first_version):
    with tf.Graph().as_default(), tf.Session() as session:
        for number, name in enumerate([*CHANGED, *UNCHANGED]):
            tf.Variable(np.arange(3.0) + number, name=name)
        session.run(tf.global_variables_initializer())
        source = tf.train.Saver().save(session, str(tmp_path / "from"))
    variables, changed = checkpoint_convert.convert_names(source, str(tmp_path / "to"), write_v1_checkpoint=first_version)
    assert changed == CHANGED
    assert {new: variable.op.name for new, variable in variables.items()} == {
        **{new: old for old, new in CHANGED.items()}, **{name: name for name in UNCHANGED}
    }
    reader = tf.train.NewCheckpointReader(str(tmp_path / "to"))
    for number, name in enumerate([*CHANGED.values(), *UNCHANGED]):
        np.testing.assert_array_equal(reader.get_tensor(name), np.arange(3.0) + number)


def test_next_sizes_of_arrays():
    with tf.Graph().as_default(), tf.Session() as session:
        sizes = [next_array_size(size) for size in (1, 2, 3, 4, 5, 10, 100, 1000)]
        assert session.run(sizes) == [1, 3, 4, 6, 6, 12, 130, 1478]
        assert session.run(next_array_size(7, 2)) == 8
