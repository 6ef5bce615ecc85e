"""Rows whose kernels JAX would differentiate otherwise than TensorFlow does have TensorFlow's gradients in loops too."""

import pytest

from generated.surroundings import variants

OTHERWISE = (
    "extremes/dilation2d", "extremes/max_pool", "extremes/segment_m", "extremes/unsorted_segment_m", "feature_column/dense_features_weighted",
    "gradients64/Betainc", "gradients64/ComplexParts",
    "gradients64/Polygamma", "gradients64/Zeta", "image/crop_and_resize_nearest_3x4", "kernel_edges/block_lstm_sequencev2",
    "linalg/svd_full_wide", "loop_gradients/no_back_prop", "losses_contrib/softmax_cross_entropy", "math_binary/div_no_nan_by_zero",
    "nn_misc/unsorted_unsorted_segment_prod", "quantized/there_and_back", "reduction/ties_reduce_m", "signal/dct_3",
)  # fmt: skip


@pytest.mark.parametrize("variant", variants(OTHERWISE, ("rows",), slopes=True), ids=lambda v: v.case.id)
def test_gradient_in_a_loop(variant):
    assert variant.outcome()[0] == "same"
