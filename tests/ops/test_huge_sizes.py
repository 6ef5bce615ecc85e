"""Results that no machine holds: what TensorFlow 1.15.5 raises of them, at once, or ResourceExhaustedError where its process ends."""

import numpy as np
import pytest

import tfcompat as tf

raw = tf.raw_ops
LONG, LONGEST = 2**31 - 1, 2**62
IMAGE, BOX = np.ones([1, 1, 1, 1], np.float32), [1, LONG, LONG, 1]


def known(value, dtype=None):
    return tf.constant(value, dtype)


def fed(value, dtype=None):
    return tf.placeholder_with_default(tf.constant(value, dtype), None)


WINDOW = {"padding": "VALID", "strides": BOX}
TOO_LARGE = {
    "unsorted segments": lambda f: raw.UnsortedSegmentSum(data=f([1.0, 2.0]), segment_ids=f([0, 1]), num_segments=f(LONGEST, tf.int64)),
    "sparse to dense": lambda f: raw.SparseToDense(
        sparse_indices=f([0], tf.int64), output_shape=f([LONGEST], tf.int64), sparse_values=f([1.0]), default_value=f(0.0)
    ),
    "range": lambda f: tf.range(f(0, tf.int64), f(LONGEST, tf.int64)),
    "linspace": lambda f: raw.LinSpace(start=f(0.0), stop=f(1.0), num=f(LONGEST, tf.int64)),
    "truncated normal": lambda f: raw.ParameterizedTruncatedNormal(
        shape=f([LONG, LONG]), means=f(0.0), stdevs=f(1.0), minvals=f(-1.0), maxvals=f(1.0)
    ),
    "glimpse": lambda f: raw.ExtractGlimpse(input=f(IMAGE), size=f([LONG, LONG]), offsets=f([[0.0, 0.0]])),
    "average pooling": lambda f: raw.AvgPoolGrad(orig_input_shape=f(BOX), grad=f(IMAGE), ksize=[1, 1, 1, 1], **WINDOW),
    "convolution": lambda f: raw.Conv2DBackpropInput(input_sizes=f(BOX), filter=f(IMAGE), out_backprop=f(IMAGE), **WINDOW),
    "stack (1.15.5 ends)": lambda f: tf.TensorArray(tf.float32, f(LONG), element_shape=[]).stack(),
}  # fmt: skip


@pytest.mark.parametrize("name", TOO_LARGE)
@pytest.mark.parametrize("given", [known, fed])
def test_too_large(name, given):
    with tf.Graph().as_default(), tf.Session() as session:
        result = TOO_LARGE[name](given)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM when allocating tensor"):
            session.run(result)


@pytest.mark.parametrize("given", [known, fed])
def test_tile_of_nothing(given):
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(raw.Tile(input=given(np.ones([0], np.float32)), multiples=given([LONG]))).shape == (0,)


def test_gradient_of_windows_far_apart():
    """Between the windows are zeros."""
    with tf.Graph().as_default(), tf.Session() as session:
        filters = tf.constant([[[[1.0]], [[2.0]]]])
        backprop = tf.constant([[[[1.0], [3.0]]]])
        result = raw.Conv2DBackpropInput(
            input_sizes=[1, 1, 3000, 1], filter=filters, out_backprop=backprop, strides=[1, 1, 2000, 1], padding="VALID"
        )
        wanted = np.zeros(3000)
        wanted[[0, 1, 2000, 2001]] = [1, 2, 3, 6]
        np.testing.assert_array_equal(session.run(result)[0, 0, :, 0], wanted)
