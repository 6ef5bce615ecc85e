"""Writes tests/golden/estimator/gradient_trees.json.gz: `python tests/oracle/record_gradient_trees.py SOURCE`.

TensorFlow 1.15.5 is installed without the Python part of tf.contrib.boosted_trees' estimators. SOURCE is a folder with
tensorflow/contrib/boosted_trees of its source (folders without an __init__.py get an empty one), and with all.pb in it:
`protoc -ISOURCE --include_imports --descriptor_set_out=SOURCE/all.pb SOURCE/tensorflow/contrib/boosted_trees/proto/*.proto`.
"""

import os
import sys
import tempfile
import types

import tensorflow as tf
from google.protobuf import descriptor_pb2, descriptor_pool, symbol_database

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCE = os.path.abspath(sys.argv[1])
PACKAGE = "tensorflow.contrib.boosted_trees"
sys.path[:0] = [ROOT, os.path.dirname(os.path.abspath(__file__))]
import golden  # noqa: E402
from estimator import gradient_trees_programs as programs  # noqa: E402


def add_messages():
    """Makes the modules of the messages."""
    with open(os.path.join(SOURCE, "all.pb"), "rb") as f:
        files = descriptor_pb2.FileDescriptorSet.FromString(f.read()).file
    sys.modules[PACKAGE + ".proto"] = types.ModuleType(PACKAGE + ".proto")
    for each in files:
        descriptor_pool.Default().AddSerializedFile(each.SerializeToString())
        descriptor = descriptor_pool.Default().FindFileByName(each.name)
        module = types.ModuleType(each.name[: -len(".proto")].replace("/", ".") + "_pb2")
        for name, message in descriptor.message_types_by_name.items():
            setattr(module, name, symbol_database.Default().GetPrototype(message))
        sys.modules[module.__name__] = module
        setattr(sys.modules[PACKAGE + ".proto"], module.__name__.split(".")[-1], module)


def add_source():
    """Has TensorFlow find the modules that it was installed without."""
    folder = os.path.join(SOURCE, *PACKAGE.split("."))
    tf.contrib.boosted_trees.__path__.append(folder)
    sys.modules[PACKAGE].__path__.append(folder)
    sys.modules[PACKAGE + ".python"].__path__.append(os.path.join(folder, "python"))


def main():
    import tensorflow.contrib.boosted_trees.python  # noqa: F401

    add_source()
    add_messages()
    from tensorflow.contrib.boosted_trees.estimator_batch import estimator

    learner = sys.modules[PACKAGE + ".proto.learner_pb2"]
    found = {name: program(tf, estimator, learner, tempfile.mkdtemp()) for name, program in programs.PROGRAMS.items()}
    golden.write(os.path.join(ROOT, "golden", "estimator", "gradient_trees.json.gz"), found)


main()
