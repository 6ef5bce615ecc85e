"""Known differences from TensorFlow 1.15.5, each with its reason; the README's list is printed from here.

CASES maps "family/case" to {aspect: reason}; the aspects are "nodes", "collections", "shapes", "values", "gradients",
"error" and "roundtrip". A difference that is listed here and no longer there fails the case's test.
"""

CASES: dict[str, dict[str, str]] = {}
