"""Programs with packages of tf.contrib and what they give; imports under Python 3.7 and under the tests' own Python.

A file `<name>_programs.py` has PROGRAMS: functions of the `tf` module and an empty folder that give plain values and arrays. What a program
raises is an outcome too: the class of the exception.
"""

import importlib
import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
END = "_programs.py"


def names():
    """The names of the files of programs."""
    return sorted(name[: -len(END)] for name in os.listdir(HERE) if name.endswith(END))


def programs(name):
    """Name -> program of a file."""
    return importlib.import_module("contrib.%s_programs" % name).PROGRAMS


def outcome(tf, program, folder):
    """What a program gives in a graph of its own, or the class of an error that TensorFlow raises."""
    tf.logging.set_verbosity(tf.logging.ERROR)
    tf.reset_default_graph()
    try:
        return program(tf, folder)
    except (tf.errors.OpError, LookupError, NotImplementedError, TypeError, ValueError) as error:
        return {"raises": type(error).__name__}


def plain(value):
    """The value with lists and text in place of arrays, tuples and bytes."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.decode("latin-1") if isinstance(value, bytes) else value


def nodes(graph_def):
    """Names, op types and inputs of the nodes of a GraphDef or graph."""
    found = graph_def.node if hasattr(graph_def, "node") else graph_def.as_graph_def().node
    return [[node.name, node.op, list(node.input)] for node in found]
