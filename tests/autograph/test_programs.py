"""Python control flow over tensors gives what it gives under TensorFlow 1.15.5."""

import json
from pathlib import Path

import pytest

import tfcompat as tf
from autograph import observe, programs

RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "autograph.json").read_text())
PYTHON = "1.15 leaves Python's meaning here"
NOT_BUILT = "1.15 builds a graph that cannot run; here it runs, or is refused while it is built"
CLASS = "the same refusal under another class"
DEVIATIONS = {
    "calls_method": ("1.15 loses the object of a bound tf.function that nothing else holds", 6),
    "closure_over_loop_variable": (PYTHON, [4, 4, 4]),
    "for_else": (PYTHON, 600),
    "for_python_iterator_with_break": (PYTHON, 403),
    "try_except": (PYTHON, 4),
    "while_dict_item": ("1.15 does not see items of a dict that change in a loop", 2),
    "while_else": (PYTHON, 300),
    "while_else_python": (PYTHON, [600, 6]),
    "while_true_tensor_with_break": (NOT_BUILT, 5),
    "deleted_name": (CLASS, "UnboundLocalError"),
    "if_none_in_one_branch": (CLASS, "TypeError"),
    "if_structures_differ": (CLASS, "TypeError"),
    "local_used_before": (CLASS, "UnboundLocalError"),
    "return_none_in_one_branch": (CLASS, "TypeError"),
}
"""Programs that differ from 1.15.5: why, and the values that Python gives for them or the class of the exception."""


def _values(found):
    """A recorded value without dtypes."""
    if isinstance(found, dict) and found.keys() == {"dtype", "value"}:
        return found["value"]
    return [_values(each) for each in found] if isinstance(found, list) else found


@pytest.mark.parametrize("name", sorted(programs.PROGRAMS))
def test_program(name):
    found, want = observe.observed(tf, programs.PROGRAMS[name]), RECORDED[name]
    if name in DEVIATIONS:
        _, expected = DEVIATIONS[name]
        assert (found["error"] if isinstance(expected, str) else _values(found["value"])) == expected
        assert found.get("value", found.get("error")) != want.get("value", want.get("error")), "no deviation any more"
    elif "error" in want:
        assert found["error"] == want["error"]
    else:
        assert found["value"] == want["value"]
