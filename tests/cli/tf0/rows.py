"""Runs the rows of meanings.txt, in TensorFlow 0.12.1 on Python 2.7 and under `tfcompat run`: each in a graph of its own.

    python rows.py FOUND.json
"""

from __future__ import division, print_function

import io
import json
import os
import shutil
import sys
import tempfile
import types

import numpy as np
import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = tempfile.mkdtemp()


def table():
    with io.open(os.path.join(HERE, "meanings.txt"), encoding="utf-8") as file:
        text = file.read()
    return [part.partition("\n")[::2] for part in ("\n" + text).split("\n## ")[1:]]


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, bytes):
        return value.decode()
    return round(value, 4) + 0.0 if isinstance(value, float) else value


def filled(variable):
    """Values that depend on the name of a variable only."""
    shape = variable.get_shape().as_list()
    start = sum(map(ord, variable.op.name)) % 17
    return ((np.arange(int(np.prod(shape))) * 7 + start) % 11 / 11.0 - 0.4).reshape(shape)


def main(found):
    results = {}
    sys.path.insert(0, FOLDER)
    names_of_row = sys.modules["names_of_row"] = types.ModuleType("names_of_row")
    for number, (name, source) in enumerate(table()):
        lines = []
        session = None

        def run(fetches, feed=None):
            return session.run(fetches, feed)

        def show(*values):
            lines.append(json.dumps([plain(each) for each in values]))

        def value(*tensors):
            show(*[run(tensor) for tensor in tensors])

        def start():
            run(tf.initialize_all_variables())
            for variable in tf.trainable_variables():
                run(variable.initializer, {variable.initializer.inputs[1]: filled(variable)})

        def names():
            return sorted(variable.name for variable in tf.all_variables())

        def raises(function):
            try:
                function()
            except Exception as error:
                return type(error).__name__
            return "nothing"

        with tf.Graph().as_default():
            session = tf.Session()
            space = dict(tf=tf, np=np, run=run, show=show, value=value, start=start, names=names, raises=raises, folder=FOLDER, sys=sys, session=lambda: session)
            try:
                if sys.version_info[0] == 2:  # whose import holds a lock that threads of a session want
                    exec(compile(source, name, "exec"), space)
                else:  # as a file of the program
                    vars(names_of_row).update(space)
                    with io.open(os.path.join(FOLDER, "row_%d.py" % number), "w", encoding="utf-8") as file:
                        file.write(u"from __future__ import division, print_function\nfrom names_of_row import *\n" + source)
                    __import__("row_%d" % number)
            except Exception as error:
                lines.append("%s: %s" % (type(error).__name__, error))
            session.close()
        results[name] = lines
    shutil.rmtree(FOLDER)
    with io.open(found, "w", encoding="utf-8") as file:
        file.write(json.dumps(results, indent=1, sort_keys=True, ensure_ascii=False).replace(" \n", "\n") + u"\n")


if __name__ == "__main__":
    main(sys.argv[1])
