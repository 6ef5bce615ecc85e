"""Malformed input is answered with 1.15.5's class of error, at the same stage; where 1.15.5 crashes or hangs, with an error all the same."""

import deviations
import pytest
from oracle import golden

from generated import fuzz, recorded

ROWS = golden.read(str(recorded.PATH))
SAMPLE = {s["name"]: (fuzz.Input(s["kind"], s["name"], s["files"]), s["outcome"]) for s in ROWS["sample"]}
BY_HAND = {given.name: (given, ROWS["by_hand"][given.name]) for given in recorded.by_hand()}


@pytest.fixture(scope="module")
def worker():
    found = fuzz.Worker()
    yield found
    found.close()


@pytest.mark.parametrize("name", [*BY_HAND, *SAMPLE])
def test_outcome(worker, name):
    given, expected = BY_HAND.get(name) or SAMPLE[name]
    found = worker.read(given)
    assert fuzz.verdict(given.kind, found) not in fuzz.WRONG, found
    if name in deviations.MALFORMED:
        assert recorded.row(found) != expected, f"{name} is no deviation"
    elif expected[0] not in ("crash", "hang"):
        assert recorded.row(found) == expected, found
