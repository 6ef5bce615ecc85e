"""A regular expression takes time linear in the text, whatever it is: one that backtracks would not come to an end."""

import children

PROGRAM = """
import numpy as np, tfcompat as tf
text = np.array([b"a" * 5000 + b"!"], object)
with tf.Graph().as_default(), tf.Session() as session:
    for pattern in (r"(\\w+\\s?)*", r"(a*)*b", r"(a|aa)+$", r"(.*)(.*)(.*)x"):
        assert session.run(tf.strings.regex_full_match(text, pattern)).tolist() == [False]
    assert session.run(tf.strings.regex_replace(text, r"(\\w+\\s?)*!", r"<\\0>"))[0] == b"<" + text[0] + b">"
"""


def test_patterns_that_backtrack():
    done = children.warm("-c", PROGRAM)
    assert done.returncode == 0, done.stderr
