"""Infers shapes under one program: `python shape_worker.py MODULE GRAPHS ANSWERS`, where MODULE is tensorflow or tfcompat (Python 3.7 reads this).

GRAPHS is a file of a pickled list of (GraphDef, names of tensors); ANSWERS gets the pickled list of what `inferred` gives for each.
"""

import importlib
import pickle
import sys


def inferred(tf, graph_def, names):
    """The static shape of each tensor (None, or sizes of which some are None), or the class and message of the import's error."""
    with tf.Graph().as_default() as graph:
        try:
            tf.import_graph_def(tf.GraphDef.FromString(graph_def), name="")
            shapes = [graph.get_tensor_by_name(name).shape for name in names]
        except Exception as e:  # noqa: BLE001 (compared)
            return type(e).__name__, str(e)[:300]
        return [None if shape.dims is None else shape.as_list() for shape in shapes]


def main():
    module, graphs, answers = sys.argv[1:]
    tf = importlib.import_module(module)
    dir(tf.contrib)  # which registers contrib's operations
    with open(graphs, "rb") as source:
        found = [inferred(tf, *given) for given in pickle.load(source)]
    with open(answers, "wb") as sink:
        pickle.dump(found, sink, 2)


if __name__ == "__main__":
    main()
