"""The base class of TensorFlow's tests of saved iterators checks what it says: it passes what comes again, and fails what does not."""

import itertools

import tfcompat as tf
from tfcompat._src.testing.data_serialization_test_base import DatasetSerializationTestBase, remove_variants


class Saved(DatasetSerializationTestBase):
    test_session = None

    def test_pipelines_that_come_again(self):
        self.run_core_tests(lambda: tf.data.Dataset.range(8).shuffle(3, seed=7).batch(3).map(lambda x: {"x": x, "y": (x, x + 1)}), 3)

    def test_sparse_elements(self):
        indices, values = [[0, 0], [0, 1], [2, 0]], [1.0, 2.0, 3.0]

        def made():
            return tf.data.Dataset.from_sparse_tensor_slices(tf.SparseTensor(indices, values, [3, 2]))

        self.verify_multiple_breaks(made, 3, num_breaks=2, sparse_tensors=True)

    def test_a_pipeline_that_does_not_come_again(self):
        numbers = itertools.count()
        with self.assertRaises(AssertionError):
            self.verify_unused_iterator(lambda: tf.data.Dataset.range(5).map(lambda x: x + next(numbers)), 5)

    def test_too_few_elements(self):
        with self.assertRaises(AssertionError):
            self.verify_unused_iterator(lambda: tf.data.Dataset.range(5), 4)

    def test_what_is_not_saved(self):
        self.verify_error_on_save(lambda: tf.data.Dataset.range(5).map(lambda x: tf.random_uniform([])), 5, tf.errors.FailedPreconditionError)

    def test_match(self):
        self.match({"a": (1, [2.0])}, {"a": (1, [2.0])})
        for other in ({"a": (1, [3.0])}, {"b": (1, [2.0])}, {"a": [1, [2.0]]}, {"a": (1, [2.0, 2.0])}):
            self.does_not_match({"a": (1, [2.0])}, other)

    def test_variants_are_left_out(self):
        with tf.Graph().as_default():
            x = tf.constant(1)
            assert remove_variants((x, tf.raw_ops.OptionalNone())) == (x, ())
