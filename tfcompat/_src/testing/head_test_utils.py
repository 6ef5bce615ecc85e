"""Checks that tests of heads share."""

from __future__ import annotations

from typing import Any

from tfcompat._src.estimator.heads.base_head import Head
from tfcompat._src.estimator.heads.class_heads import BinaryClassHead, MultiClassHead
from tfcompat._src.estimator.heads.keys import DEFAULT_SERVING_KEY
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.composed.check_ops import assert_less
from tfcompat._src.ops.math.unary import absolute
from tfcompat._src.proto.messages import Summary

_DEFAULT_SERVING_KEY = DEFAULT_SERVING_KEY


def binary_or_multi_class_head(n_classes: int, weight_column: object, label_vocabulary: object, loss_reduction: str) -> Head:
    """The head of tf.estimator for `n_classes` classes, 2 or more."""
    settings = {
        "weight_column": weight_column, "label_vocabulary": label_vocabulary, "loss_reduction": loss_reduction,
    }  # fmt: skip
    return BinaryClassHead(**settings) if n_classes == 2 else MultiClassHead(n_classes, **settings)


def _initialize_variables(test_case: Any, scaffold: Any) -> None:
    """Initializes what a scaffold says, in the test's session."""
    scaffold.finalize()
    test_case.assertIsNone(scaffold.init_feed_dict)
    test_case.assertIsNone(scaffold.init_fn)
    scaffold.init_op.run()
    scaffold.ready_for_local_init_op.eval()
    scaffold.local_init_op.run()
    scaffold.ready_op.eval()
    test_case.assertIsNotNone(scaffold.saver)


def _assert_simple_summaries(
    test_case: Any, expected_summaries: dict[str, float], summary_str: bytes, tol: float = 1e-6
) -> None:
    """Fails where the simple values of a summary are others."""
    found = {value.tag: value.simple_value for value in Summary.FromString(summary_str).value}
    test_case.assertAllClose(expected_summaries, found, rtol=tol, atol=tol)


def _assert_no_hooks(test_case: Any, spec: Any) -> None:
    """Fails where a spec has hooks of the training."""
    test_case.assertAllEqual([], spec.training_chief_hooks)
    test_case.assertAllEqual([], spec.training_hooks)


def assert_close(expected: object, actual: Tensor, rtol: float = 1e-4, name: str = "assert_close") -> Any:
    """An assertion that a tensor is near a value."""
    return assert_less(absolute(expected - actual) / absolute(expected), rtol, data=("expected", expected, "actual", actual), name=name)
