"""tf.contrib.boosted_trees against TensorFlow 1.15's kernels (tests/oracle/record_gradient_trees.py): trees node for node."""

import pathlib

import pytest
from google.protobuf import json_format
from oracle import golden

import tfcompat as tf
from estimator import gradient_trees_programs as programs
from estimator.test_canned import check
from tfcompat._src.base import errors
from tfcompat._src.contrib.boosted_trees import estimator
from tfcompat._src.contrib.boosted_trees.trees import tree_message
from tfcompat._src.proto import pool

RECORDED = golden.read(pathlib.Path(__file__).parent.parent / "golden" / "estimator" / "gradient_trees.json.gz")
LEARNER = pool.module("tensorflow/contrib/boosted_trees/proto/learner.proto")


def readable(found):
    """An outcome with its ensemble as nested values."""
    message = tree_message("DecisionTreeEnsembleConfig").FromString(found["config"])
    return dict(found, config=json_format.MessageToDict(message, always_print_fields_with_no_presence=True))


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_gradient_trees(name, tmp_path):
    found = programs.PROGRAMS[name](tf, estimator, LEARNER, str(tmp_path))
    check(readable(found), readable(RECORDED[name]), name, 1e-4)


@pytest.mark.parametrize(
    ("fields", "what"),
    [({"weak_learner_type": 1, "pruning_mode": 1}, "OBLIVIOUS_DECISION_TREE")],
)
def test_what_is_not_done_says_so(fields, what, tmp_path):
    with pytest.raises(errors.UnimplementedError, match=what):
        programs.classifier(**fields)(tf, estimator, LEARNER, str(tmp_path))
