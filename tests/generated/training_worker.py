"""Outcomes of drawn training programs under one program: `python training_worker.py run MODULE PROGRAMS ANSWERS`.

PROGRAMS is a file of a pickled list of ((number, moved),); ANSWERS is that of graph_worker.py. Python 3.7 reads this.
"""

import importlib
import os
import pickle
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from generated.training_programs import outcome  # noqa: E402


def main():
    _, module, programs, answers = sys.argv[1:]
    warnings.simplefilter("ignore")
    tf = importlib.import_module(module)
    tf.logging.set_verbosity(tf.logging.FATAL)
    with open(programs, "rb") as source, open(answers, "ab") as sink:
        for (key,) in pickle.load(source):
            pickle.dump((key, None), sink, 2)
            sink.flush()
            pickle.dump((key, outcome(tf, *key)), sink, 2)
            sink.flush()


if __name__ == "__main__":
    main()
