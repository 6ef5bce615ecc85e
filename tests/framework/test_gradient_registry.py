"""The gradient registry has 1.15.5's entries, and programs read, override, replace and delete them as there."""

import importlib
import json
from pathlib import Path

import gradient_registry_programs
import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.base.gradient_registry import GRADIENTS

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
RECORDED = json.loads((GOLDEN / "framework/gradient_registry_programs.json").read_text())
NAMES = json.loads((GOLDEN / "gradient_registry.json").read_text())
BY_IMPORT = {"GDNLowerBound", "FoldFusedBatchNormGrad"}
"""Registered by the modules of contrib that use them, when these are imported."""


def near(found, expected):
    if isinstance(expected, dict):
        return sorted(found) == sorted(expected) and all(near(found[k], expected[k]) for k in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(near, found, expected))
    if isinstance(expected, float):
        return bool(np.isclose(found, expected, rtol=1e-6, atol=1e-7, equal_nan=True))
    return found == expected


@pytest.mark.parametrize("name", gradient_registry_programs.PROGRAMS)
def test_programs_see_what_tensorflow_has(name):
    tf.install_as_tensorflow()
    ops = importlib.import_module("tensorflow.python.framework.ops")
    with tf.Graph().as_default():
        found = json.loads(json.dumps(gradient_registry_programs.PROGRAMS[name](tf, ops)))
    assert near(found, RECORDED[name]), (found, RECORDED[name])


def test_each_name_of_tensorflow_is_registered():
    assert [name for name in NAMES if name not in BY_IMPORT and name not in GRADIENTS._registry] == []
    assert [n for n, has_rule in NAMES.items() if n not in BY_IMPORT and (GRADIENTS.lookup(n) is not None) != has_rule] == []


def test_the_mapping_iterates_over_its_names():
    registry = GRADIENTS._registry
    assert len(registry) == len(list(registry)) == len(set(registry)) == len(GRADIENTS.list())
    assert set(NAMES) - BY_IMPORT <= set(registry)
    with pytest.raises(KeyError):
        registry["NoSuchName"]
    with pytest.raises(KeyError):
        del registry["NoSuchName"]


def test_a_second_registration_names_the_first():
    tf.RegisterGradient("RegisteredOnce")(lambda op, g: g)
    with pytest.raises(KeyError, match=r"Registering two gradient with name 'RegisteredOnce'! \(Previous registration was in .*test_gradient_registry.py:\d+"):
        tf.RegisterGradient("RegisteredOnce")(lambda op, g: g)
    del GRADIENTS._registry["RegisteredOnce"]
