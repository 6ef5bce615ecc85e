import array
import io
import threading

import numpy as np
import tensorflow as tf

x = np.arange(4, dtype=np.float32)
assert x.tostring() == x.tobytes() and np.float32(1).tostring() == np.float32(1).tobytes()
x.itemset(1, 9.0)
x.itemset((2,), 7.0)
assert x.tolist() == [0, 9, 7, 3] and x.ptp() == 9 and np.ndarray.ptp(x) == 9
assert x.newbyteorder().dtype.byteorder == ">" and array.array("b", [1]).tostring() == b"\x01"
assert np.fromstring(b"\x00\x01", np.uint8).tolist() == [0, 1] and np.fromstring("1 2", sep=" ").tolist() == [1, 2]
assert np.histogram([1, 2, 3], 1, normed=True)[0] == 0.5 and np.math.pi == np.pi and np.lib.pad([1], 1, "constant").tolist() == [0, 1, 0]
try:
    x.tostrin()
except AttributeError as e:
    assert str(e) == "'numpy.ndarray' object has no attribute 'tostrin'"

table = np.arange(6).reshape(2, 3)
backwards = [slice(None), slice(None, None, -1)]
assert table[backwards].tolist() == [[2, 1, 0], [5, 4, 3]] and table[[1, 0]].tolist() == [[3, 4, 5], [0, 1, 2]]
table[[slice(1)] + [0]] = 7
del backwards[backwards.index(slice(None))]
assert table.tolist() == [[7, 1, 2], [3, 4, 5]] and len(backwards) == 1 and table[[0, None]].shape == (1, 3)
assert np.stack(np.ones(2) * i for i in range(2)).tolist() == np.vstack(np.ones(2) * i for i in range(2)).tolist() == [[0, 0], [1, 1]]
assert np.bool is bool and np.long is int and isinstance(True, np.bool) and np.zeros(2, np.bool).dtype == np.bool_

unequal, kept = [[1, 2], [3]], io.BytesIO()
np.savez(kept, unequal, named=[np.zeros((2, 3)), np.zeros(3)])
kept.seek(0)
held = np.load(kept, allow_pickle=True)
assert held["arr_0"].tolist() == unequal and [part.shape for part in held["named"]] == [(2, 3), (3,)]
for function in (np.asanyarray, np.ravel, np.transpose, np.unique, np.random.permutation, np.copy, np.zeros_like, np.squeeze):
    assert (function(unequal).dtype, function(unequal).shape) == (object, (2,)), function
assert np.reshape(unequal, (2, 1)).shape == (2, 1) and np.sum(unequal) == [1, 2, 3] and np.append(unequal, [5]).shape == (3,)
try:
    np.asanyarray([np.zeros((2, 3)), np.zeros((2, 4))])
except ValueError as e:
    assert "could not broadcast" in str(e)
