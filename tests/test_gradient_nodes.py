"""The nodes that tf.gradients makes for the rows of tests/cases against TensorFlow 1.15.5's (tests/golden/gradient_nodes)."""

import importlib
import json
from pathlib import Path

import pytest
from oracle import golden, gradient_nodes

import tfcompat as tf

GOLDEN = Path(__file__).resolve().parent / "golden/gradient_nodes"
FAMILIES = sorted(path.name[: -len(".json.gz")] for path in GOLDEN.glob("*.json.gz"))
DIFFERENT = set(json.loads((GOLDEN / "different.json").read_text()))
"""Rows for which gradients are computed by other nodes than 1.15's."""


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_make_the_nodes_of_tensorflow(family):
    """Names, types, inputs, control inputs, attributes, static shapes and order, with sizes known and unknown, gated and not."""
    recorded = golden.read(GOLDEN / f"{family}.json.gz")
    rows = {case.id: case for case in importlib.import_module("cases." + family).TABLE.cases}
    different = set()
    for name, want in recorded.items():
        if json.loads(json.dumps(golden.pack(gradient_nodes.entry(tf, rows[name])))) != want:
            different.add(name)
    assert different == {name for name in DIFFERENT if name.startswith(family + "/")}
