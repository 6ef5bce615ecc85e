"""Initial values from checkpoints: warm_start, words that stand elsewhere, contrib.framework.assign_from_*."""

import numpy as np
import pytest

import tfcompat as tf

MATRIX = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture
def saved(tmp_path):
    """A checkpoint with `matrix`, whose rows belong to the words a b c d, and `bias`; and the folder."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("matrix", initializer=tf.constant(MATRIX))
        tf.get_variable("bias", initializer=tf.constant([7.0, 8.0]))
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "m"), write_meta_graph=False)
    (tmp_path / "old").write_text("a\nb\nc\nd\n")
    (tmp_path / "new").write_text("d\nx\nb\n")
    return path, tmp_path


def values(*variables):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(list(variables))


def test_warm_start(saved):
    with tf.Graph().as_default():
        bias = tf.get_variable("new_bias", [2])
        parts = tf.get_variable("matrix", [4, 3], partitioner=tf.fixed_size_partitioner(2))
        tf.train.warm_start(saved[0], var_name_to_prev_var_name={"new_bias": "bias"})
        found = values(bias, *parts)
    np.testing.assert_array_equal(found[0], [7, 8])
    np.testing.assert_array_equal(np.concatenate(found[1:]), MATRIX)


@pytest.mark.parametrize("parts", [1, 2])
def test_warm_start_with_words(saved, parts):
    path, folder = saved
    with tf.Graph().as_default():
        matrix = tf.get_variable("matrix", [4, 3], partitioner=tf.fixed_size_partitioner(parts))
        words = tf.train.VocabInfo(
            str(folder / "new"), 3, 1, str(folder / "old"), backup_initializer=lambda shape: tf.fill(shape, -1.0)
        )
        tf.train.warm_start(path, var_name_to_vocab_info={"matrix": words})
        found = np.concatenate(values(*matrix))
    np.testing.assert_array_equal(found, [MATRIX[3], [-1] * 3, MATRIX[1], [-1] * 3])


def test_columns_of_words(saved):
    path, folder = saved
    (folder / "old").write_text("a\nb\nc\n")
    with tf.Graph().as_default():
        initializer = tf.contrib.framework.load_and_remap_matrix_initializer(
            path, "matrix", 4, 3, old_col_vocab_file=str(folder / "old"), new_col_vocab_file=str(folder / "new"),
            num_col_oov_buckets=1, initializer=lambda shape: tf.fill(shape, 5.0),
        )  # fmt: skip
        (found,) = values(tf.get_variable("m", [4, 4], initializer=initializer))
    np.testing.assert_array_equal(found, np.stack([[5.0] * 4, [5.0] * 4, MATRIX[:, 1], [5.0] * 4], 1))


def test_wrong_names_raise(saved):
    with tf.Graph().as_default():
        tf.get_variable("bias", [2])
        with pytest.raises(ValueError, match="that were not used"):
            tf.train.warm_start(saved[0], var_name_to_prev_var_name={"other": "bias"})
        with pytest.raises(ValueError, match="is not found in"):
            tf.train.init_from_checkpoint(saved[0], {"other": "bias"})
        with pytest.raises(ValueError, match="axis"):
            tf.train.VocabInfo("new", 3, 0, "old", axis=2)


def test_assign_from_checkpoint(saved):
    with tf.Graph().as_default(), tf.Session() as session:
        parts = tf.get_variable("matrix", [4, 3], partitioner=tf.fixed_size_partitioner(2))
        extra = tf.get_variable("extra", [2], initializer=tf.zeros_initializer())
        session.run(extra.initializer)
        operation, feeds = tf.contrib.framework.assign_from_checkpoint(saved[0], {"matrix": list(parts)})
        session.run(operation, feeds)
        np.testing.assert_array_equal(np.concatenate(session.run(list(parts))), MATRIX)
        with pytest.raises(ValueError, match="missing variable"):
            tf.contrib.framework.assign_from_checkpoint(saved[0], [extra])
        bias = tf.get_variable("bias", [2])
        tf.contrib.framework.assign_from_checkpoint_fn(saved[0], [bias, extra], ignore_missing_vars=True)(session)
        np.testing.assert_array_equal(session.run([bias, extra]), [[7, 8], [0, 0]])
        tf.contrib.framework.assign_from_values_fn({"bias": [1.0, 2.0]})(session)
        np.testing.assert_array_equal(session.run(bias), [1, 2])


def test_reading_without_a_graph(saved):
    path, folder = saved
    assert tf.train.list_variables(str(folder)) == [("bias", [2]), ("matrix", [4, 3])]
    np.testing.assert_array_equal(tf.train.load_variable(path, "matrix:0"), MATRIX)
    assert list(tf.train.checkpoints_iterator(str(folder), timeout=0)) == [path]


def test_an_attribute_is_set_to_the_value_that_it_has():
    """1.15.5 leaves it alone, also a property without a setter: TensorFlow Probability 0.8's layers set a distribution's shape so."""
    value = object()

    class WithProperty(tf.Module):
        @property
        def shape(self):
            return value

    module = WithProperty()
    module.shape = value
    with pytest.raises(AttributeError):
        module.shape = object()


def test_a_tensor_gives_one_shape_until_more_of_it_is_known():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3])
        before = x.shape
        assert before is x.shape and before is x.get_shape()
        x.set_shape([4, None])
        assert x.shape.as_list() == [4, 3] and before.as_list() == [None, 3]
