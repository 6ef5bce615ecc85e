import json, random, xml.etree.ElementTree as ET, locale, unittest, xml.etree.cElementTree as cET

assert json.loads('{"a": 1}', encoding="utf8") == {"a": 1}
random.seed(3)
a = random.sample({1, 2, 3}, 2)
random.seed(3)
assert a == random.sample((1, 2, 3), 2)
x = [1, 2, 3]
random.shuffle(x, lambda: 0.5)
assert sorted(x) == [1, 2, 3]
assert random.randint(0, 4 / 2) in (0, 1, 2)
e = ET.fromstring("<a><b/><b/></a>")
assert len(e.getchildren()) == 2 and len(e.getiterator("b")) == 2 and len(e.find("b").getchildren()) == 0
print(open("made.txt", "rU").mode)

import inspect
import tensorflow as tf

found = inspect.getargspec(tf.gradients)
assert found.args[:5] == ["ys", "xs", "grad_ys", "name", "colocate_gradients_with_ops"] and found.defaults[:3] == (None, "gradients", False)
assert inspect.getargspec(tf.zeros) == (["shape", "dtype", "name"], None, None, (tf.float32, None))
