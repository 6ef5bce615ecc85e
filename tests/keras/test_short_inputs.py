"""Generators and datasets that end early stop training, evaluation and prediction as in 1.15.5: results, errors and warnings."""

import json
from pathlib import Path

import numpy as np
import pytest
import short_inputs

import tfcompat as tf

RECORDED = json.loads((Path(__file__).resolve().parent.parent / "golden/keras/short_inputs.json").read_text())


def near(found, expected):
    if isinstance(expected, dict):
        return list(found) == list(expected) and all(near(found[k], expected[k]) for k in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(near, found, expected))
    return bool(np.isclose(found, expected, rtol=1e-3, atol=1e-3)) if isinstance(expected, float) else found == expected


@pytest.mark.parametrize("name", short_inputs.ROWS)
def test_input_ends_early(name):
    tf.logging.set_verbosity(tf.logging.WARN)
    found = json.loads(json.dumps(short_inputs.outcome(tf, name), sort_keys=True))
    assert near(found, RECORDED[name]), (found, RECORDED[name])
