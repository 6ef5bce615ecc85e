"""Dataset.apply: transformations that return the dataset itself, or one that it was made from. Expected values: TensorFlow 1.15.5."""

import pytest

import tfcompat as tf


def elements(dataset):
    following = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        found = []
        while True:
            try:
                found.append(session.run(following).tolist())
            except tf.errors.OutOfRangeError:
                return found


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        (lambda source, doubled: source.apply(lambda d: d), [0, 1, 2, 3]),
        (lambda source, doubled: doubled.apply(lambda d: source), [0, 1, 2, 3]),
        (lambda source, doubled: doubled.apply(lambda d: d.apply(lambda e: e)).batch(2), [[0, 2], [4, 6]]),
        (lambda source, doubled: source.apply(lambda d: doubled), [0, 2, 4, 6]),
    ],
    ids=["itself", "its source", "itself twice", "one made of it"],
)
def test_what_a_transformation_returns(transform, expected):
    with tf.Graph().as_default():
        source = tf.data.Dataset.range(4)
        dataset = transform(source, source.map(lambda x: x * 2))
        assert dataset.options().experimental_deterministic is None
        assert elements(dataset) == expected
