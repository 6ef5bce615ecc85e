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

import logging
import warnings
from lib2to3.pgen2.parse import ParseError
from lib2to3.pgen2.tokenize import TokenError
from lib2to3.refactor import RefactoringTool

import pkg_resources

assert issubclass(ParseError, Exception) and issubclass(TokenError, Exception) and callable(RefactoringTool)
assert tuple(map(int, pkg_resources.get_distribution("numpy>=1.16").version.split(".")[:2])) >= (1, 16)
assert pkg_resources.EntryPoint.parse("x=os.path:join").load(False) is pkg_resources.EntryPoint.parse("x = os.path:join").resolve()
assert pkg_resources.resource_filename(__name__, "made.txt").endswith("made.txt")
try:
    pkg_resources.get_distribution("tfcompat-has-no-such-package")
    raise AssertionError
except pkg_resources.DistributionNotFound:
    pass

with warnings.catch_warnings(record=True) as seen:
    exec(compile("x = '\\d'", "old.py", "exec"))
assert not [each for each in seen if each.category is SyntaxWarning]

lines = []
handler = logging.Handler()
handler.emit = lambda record: lines.append(record.name)
logging.getLogger().addHandler(handler)
logging.getLogger().setLevel(logging.DEBUG)
place = tf.placeholder(tf.float32, [3])
with tf.Session() as session:
    session.run(tf.nn.softmax(place), {place: [1, 2, 3]})
assert not [name for name in lines if name.startswith(("jax", "tfcompat"))], lines
