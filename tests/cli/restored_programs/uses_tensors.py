"""Lists of tensors of a graph in NumPy's functions: they are arrays of objects, which NumPy 2 refuses to make of them."""

import numpy as np
import tensorflow as tf

scalar, vector = tf.constant(1.0), tf.constant([2.0, 3.0])
assert np.array([scalar, vector]).shape == (2,)
assert np.array([[scalar, scalar], [scalar, scalar]]).reshape(4)[3] is scalar
assert np.asarray([1.0, scalar]).dtype == object
total, product = np.sum([vector, vector]), np.prod([scalar, vector])
with tf.Session() as session:
    assert session.run(total).tolist() == [4.0, 6.0]
    assert session.run(product).tolist() == [2.0, 3.0]
for refused in (lambda: np.array(vector), lambda: np.mean(vector), lambda: np.stack([scalar, scalar])):
    try:
        refused()
    except NotImplementedError as error:
        assert "symbolic Tensor" in str(error)
    else:
        raise AssertionError("an array of a symbolic tensor")
