"""Every row of the tables of internal paths leads to something."""

import importlib.util

from tfcompat._src.shim.modules import target
from tfcompat._src.shim.places import NAMES, PLACES
from tfcompat._src.shim.real_modules import REAL_MODULES
from tfcompat._src.shim.resolve import ABSENT


def test_modules_exist():
    named = {*REAL_MODULES.values(), *(f"tfcompat._src.{place}" for places in PLACES.values() for place in places)}
    assert [name for name in sorted(named) if importlib.util.find_spec(name) is None] == []


def test_names_mean_something():
    assert [name for name, meant in NAMES.items() if target(meant) is ABSENT] == []
