"""A regular expression takes time linear in the text, whatever it is: one that backtracks would not come to an end."""

import os
import subprocess
import sys

import tfcompat as tf

PROGRAM = """
import numpy as np, tfcompat as tf
text = np.array([b"a" * 5000 + b"!"], object)
with tf.Graph().as_default(), tf.Session() as session:
    for pattern in (r"(\\w+\\s?)*", r"(a*)*b", r"(a|aa)+$", r"(.*)(.*)(.*)x"):
        assert session.run(tf.strings.regex_full_match(text, pattern)).tolist() == [False]
    assert session.run(tf.strings.regex_replace(text, r"(\\w+\\s?)*!", r"<\\0>"))[0] == b"<" + text[0] + b">"
"""


def test_patterns_that_backtrack():
    root = os.path.dirname(os.path.dirname(tf.__file__))
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join((root, os.environ.get("PYTHONPATH", ""))))
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=120, env=environment)
