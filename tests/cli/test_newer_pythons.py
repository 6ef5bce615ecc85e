"""What later versions of Python do in another way, and programs are used to."""

import sys

import children
import pytest

CHILDREN = """
import multiprocessing
import sys
import tensorflow as tf

count: int = 3

def leave():
    sys.exit(7)

if __name__ == "__main__":
    print(sys.modules["__main__"].__annotations__)
    child = multiprocessing.Process(target=lambda: leave())
    child.start()
    child.join()
    print(multiprocessing.get_start_method(), child.exitcode)
"""
CHOSEN = """
import multiprocessing
if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    print(multiprocessing.get_start_method())
"""
ANNOTATED = """
import tensorflow as tf

def absolute(x: Unknown) -> Unknown:
    if tf.reduce_sum(x) > 0:
        return x
    return -x

converted = tf.autograph.to_graph(absolute)
with tf.Session() as session:
    print(session.run(converted(tf.constant(-2.0))))
"""


def printed(tmp_path, program, *options):
    script = tmp_path / "program.py"
    script.write_text(program)
    done = children.warm(*children.RUN, *options, script)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(sys.platform != "linux", reason="children were made by fork on Linux alone")
def test_children_are_made_by_fork(tmp_path):
    assert printed(tmp_path, CHILDREN) == ["{'count': <class 'int'>}", "fork 7"]


def test_a_program_chooses_how_children_are_made(tmp_path):
    assert printed(tmp_path, CHOSEN) == ["spawn"]


@pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated with the definition")
def test_annotations_that_cannot_be_evaluated_are_not(tmp_path):
    assert printed(tmp_path, ANNOTATED) == ["2.0"]
