"""Drawn training programs have the losses and variables of TensorFlow 1.15.5: a sample that compare_training.py has recorded."""

import numpy as np
import pytest
from oracle import golden

import tfcompat as tf
from generated.compare_training import PATH, close
from generated.training_programs import outcome

ROWS = golden.read(str(PATH))


@pytest.mark.parametrize("number", sorted(ROWS, key=int))
def test_losses_and_variables_are_those_of_tensorflow(number):
    found, expected = outcome(tf, int(number)), ROWS[number]
    assert "error" not in found
    assert close(found["losses"], expected["losses"])
    assert [[name, kind, list(sizes)] for name, kind, sizes, *_ in found["variables"]] == [row[:3] for row in expected["variables"]]
    sums = [row[3:] for row in found["variables"]], [[v.array for v in row[3:]] for row in expected["variables"]]
    np.testing.assert_allclose(*sums, rtol=1e-3, atol=1e-4)
