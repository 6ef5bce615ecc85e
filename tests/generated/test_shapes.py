"""Static shapes, and the classes of shape functions' errors, are 1.15.5's: a sample that generated/compare_shapes.py has recorded."""

from oracle import golden

import tfcompat as tf
from generated.compare_shapes import PATH, difference
from generated.graph_worker import inferred


def test_static_shapes_are_those_of_tensorflow():
    found = []
    rows = golden.read(str(PATH))
    for kind, graph_def, names, expected in rows:
        expected = tuple(expected) if expected and isinstance(expected[0], str) else expected
        ours = inferred(tf, graph_def, names)
        word = difference(kind, ours, expected)
        if word not in (None, "known"):
            found.append(f"{word}: {kind}: {ours}, 1.15 {expected}")
    assert len(rows) >= 2900
    assert not found
