"""Records what tests/distribute/inputs.py gives with TensorFlow 1.15: `python tests/oracle/record_distribute_inputs.py`."""

import json
import pathlib
import sys

import tensorflow as tf

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "distribute"))

import inputs  # noqa: E402

if __name__ == "__main__":
    recorded = {name: inputs.observed(tf, make) for name, make in inputs.INPUTS.items()}
    (TESTS / "golden" / "distribute_inputs.json").write_text(json.dumps(recorded, separators=(",", ":")) + "\n")
