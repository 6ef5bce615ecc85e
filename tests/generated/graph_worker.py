"""Answers for graphs under one program: `python graph_worker.py run|shapes MODULE GRAPHS ANSWERS`, where MODULE is tensorflow or tfcompat.

GRAPHS is a file of a pickled list of (number, GraphDef, names of tensors). ANSWERS gets a pickled (number, None) before each and
(number, answer) after it, so that whoever started this knows which graph ended the process. Python 3.7 reads this.
"""

import importlib
import pickle
import sys


def outcomes(tf, graph_def, fetches):
    """The value of each fetch, or the class of the error: of the import, of the run, or of the run of this fetch alone."""
    message = tf.GraphDef.FromString(graph_def)
    with tf.Graph().as_default():
        try:
            tf.import_graph_def(message, name="")
        except Exception as e:  # noqa: BLE001 (compared)
            return [("import", type(e).__name__, str(e)[:300])] * len(fetches)
        with tf.Session(config=_without_rewriting(tf)) as session:
            try:
                return [("value", value) for value in session.run(fetches)]
            except Exception:  # noqa: BLE001 (each fetch says which it is)
                return [_outcome(session, fetch) for fetch in fetches]


def _without_rewriting(tf):
    """A configuration in which 1.15 runs the nodes that it was given: what it folds can lose outputs."""
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def _outcome(session, fetch):
    try:
        return "value", session.run(fetch)
    except Exception as e:  # noqa: BLE001 (compared)
        return "error", type(e).__name__, str(e)[:300]


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
    task, module, graphs, answers = sys.argv[1:]
    tf = importlib.import_module(module)
    tf.logging.set_verbosity(tf.logging.FATAL)
    dir(tf.contrib)  # which registers contrib's operations, but for those of contrib.text
    importlib.import_module(module + ".contrib.text")
    answer = {"run": outcomes, "shapes": inferred}[task]
    with open(graphs, "rb") as source, open(answers, "ab") as sink:
        for number, graph_def, names in pickle.load(source):
            pickle.dump((number, None), sink, 2)
            sink.flush()
            pickle.dump((number, answer(tf, graph_def, names)), sink, 2)
            sink.flush()


if __name__ == "__main__":
    main()
