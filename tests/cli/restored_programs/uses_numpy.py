import array
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
