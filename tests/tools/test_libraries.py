"""The table of libraries, of which docs/libraries.md is made."""

import libraries
import pytest


@pytest.mark.parametrize("library", libraries.LIBRARIES, ids=lambda library: library.name)
def test_numbers_are_those_of_1_15_5(library):
    if library.by_1_15 == libraries.NOT_RUN_BY_1_15:
        pytest.skip("TensorFlow 1.15.5 cannot run it")
    assert library.here == pytest.approx(library.by_1_15, rel=library.within)


def test_packages_are_named_once_and_sorted():
    names = [library.name for library in libraries.LIBRARIES]
    assert names == sorted(set(names))
