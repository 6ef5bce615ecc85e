"""OpDefs say of the same op types as 1.15.5's that they are stateful."""

import json
import pathlib

from tfcompat._src.graph import op_spec
from tfcompat._src.graph.attr_values import op_def

RECORDED = json.loads((pathlib.Path(__file__).parent.parent / "golden" / "stateful_ops.json").read_text())
"""The stateful op types of the 1,227 that TensorFlow 1.15.5 registers with tensorflow.contrib."""


def test_op_types_that_are_stateful():
    op_spec.find("")
    known = {spec.name for spec in op_spec.registered()}
    stateful = {spec.name for spec in op_spec.registered() if op_def(spec).is_stateful}
    wanted = set(RECORDED["stateful"])
    recorded = json.loads((pathlib.Path(__file__).parent.parent / "golden" / "op_signatures.json").read_text())
    assert wanted & known <= stateful
    assert not (stateful & set(recorded)) - wanted
