"""Runs the examples under TensorFlow 1.15.5 and writes what they print to tests/examples/expected.

.venv-tf1/bin/python tests/oracle/record_examples.py              # every line of tests/examples/commands.txt
.venv-tf1/bin/python tests/oracle/record_examples.py word2vec     # one
"""

import os
import shlex
import subprocess
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXAMPLES = os.path.join(os.path.dirname(TESTS), "examples")


def main(names):
    """Records the named examples, or all."""
    with open(os.path.join(TESTS, "examples", "commands.txt")) as file:
        commands = [shlex.split(line) for line in file]
    env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", PYTHONWARNINGS="ignore")
    for script, *arguments in commands:
        name = script[: -len(".py")]
        if names and name not in names:
            continue
        printed = subprocess.check_output([sys.executable, os.path.join(EXAMPLES, script)] + arguments, env=env)
        with open(os.path.join(TESTS, "examples", "expected", name + ".txt"), "wb") as file:
            file.write(printed)
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
