"""Runs graphs under one program: `python graph_worker.py MODULE GRAPHS ANSWERS`, where MODULE is tensorflow or tfcompat (Python 3.7 reads this).

GRAPHS is a file of pickled (number, GraphDef, names of fetches). ANSWERS gets a pickled (number, None) before each and (number, outcomes)
after it, so that whoever started this knows which graph ended the process.
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


def main():
    module, graphs, answers = sys.argv[1:]
    tf = importlib.import_module(module)
    tf.logging.set_verbosity(tf.logging.FATAL)
    dir(tf.contrib)  # which registers contrib's operations
    with open(graphs, "rb") as source, open(answers, "ab") as sink:
        for number, graph_def, fetches in pickle.load(source):
            pickle.dump((number, None), sink, 2)
            sink.flush()
            pickle.dump((number, outcomes(tf, graph_def, fetches)), sink, 2)
            sink.flush()


if __name__ == "__main__":
    main()
