"""Records what the rows of tests/cli/tf0/meanings.txt give in TensorFlow 0.12.1 on Python 2.7: tests/golden/tf0_meanings.json.

    .venv-tf012/bin/python tests/oracle/record_tf0.py
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli", "tf0"))

import rows  # noqa: E402

if __name__ == "__main__":
    rows.main(os.path.join(HERE, "..", "golden", "tf0_meanings.json"))
