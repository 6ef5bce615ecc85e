"""Rows of tests/cases in eager mode: the values and gradients of the graph, or 1.15's error (tests/golden/eager_rows.json.gz)."""

import pytest
from cases import observe
from deviations import CASES as DEVIATIONS_OF_GRAPHS
from deviations import EAGER as DEVIATIONS
from oracle import golden
from test_cases import HERE, all_cases, check_array, check_equal, check_leaf, recorded

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode

ROWS = golden.read(HERE / "golden/eager_rows.json.gz")


def check(case, expected, want):
    """One row: its values, its gradients where 1.15's are the graph's, or the class of its error."""
    found = error = None
    with eager_mode():
        try:
            found = observe.eager_results(tf, case)
        except Exception as raised:  # noqa: BLE001
            error = raised
    if expected not in ("same", "values"):
        check_equal(expected, type(error).__name__, f"error: {error}")
        return
    if error is not None:
        raise error
    values, gradients = found
    assert len(values) == len(want["values"])
    for (_, leaf), (path, value) in zip(want["values"], values, strict=True):
        check_leaf(case, leaf, value, path)
    if expected == "same":
        for (name, kind, array), (_, have_kind, have) in zip(
            [g for g in want["gradients"] if g[0] in case.arrays], gradients, strict=True
        ):
            check_equal(kind, have_kind, f"gradient for {name}")
            if kind is not None:
                check_array(case, array, have, f"gradient for {name}")


@pytest.mark.parametrize("case", [p for p in all_cases() if p.values[0].id in ROWS])
def test_case_eagerly(case):
    """A row equals TensorFlow's eager mode, or is a known difference that is still there."""
    reason = DEVIATIONS.get(case.id) or DEVIATIONS_OF_GRAPHS.get(case.id)
    try:
        check(case, ROWS[case.id], recorded(case))
    except Exception:
        if reason is None:
            raise
        return
    assert case.id not in DEVIATIONS, f"listed in deviations.py and equal now: {case.id}"
