"""Names that TensorFlow lost until 1.15, by paths below `tensorflow`, and those that show that a program is for 1.0 or later."""

from __future__ import annotations

_BATCHED = (
    "cholesky cholesky_solve fft fft2d fft3d ifft ifft2d ifft3d matrix_band_part matrix_determinant matrix_diag matrix_diag_part matrix_inverse "
    "matrix_set_diag matrix_solve matrix_solve_ls matrix_transpose matrix_triangular_solve self_adjoint_eig self_adjoint_eigvals svd"
)

RENAMED: dict[str, str] = {
    "complex_abs": "abs", "concat_v2": "concat", "image.per_image_whitening": "image.per_image_standardization", "inv": "reciprocal", "listdiff": "setdiff1d",
    "mul": "multiply", "neg": "negative", "nn.deconv2d": "nn.conv2d_transpose", "pack": "stack", "select": "where", "split_v": "split", "sub": "subtract",
    "train.SyncReplicasOptimizerV2": "train.SyncReplicasOptimizer", "unpack": "unstack", "batch_matmul": "matmul",
    **{f"batch_{name}": {"batch_fft": "fft", "batch_ifft": "ifft"}.get(f"batch_{name}", name) for name in _BATCHED.split()},
}  # fmt: skip
"""Name before 1.0 -> the name of the same operation in 1.15."""

SUMMARIES: dict[str, str] = {
    "audio_summary": "summary.audio", "histogram_summary": "summary.histogram", "image_summary": "summary.image", "merge_all_summaries": "summary.merge_all",
    "merge_summary": "summary.merge", "scalar_summary": "summary.scalar", "train.SummaryWriter": "summary.FileWriter",
}  # fmt: skip
"""Name before 1.0 -> the name in 1.15 that takes its place; tags are made in another way there."""

RECURRENT: dict[str, str] = {
    "models.rnn": "nn.rnn_cell", "nn.bidirectional_rnn": "nn.static_bidirectional_rnn", "nn.rnn": "nn.static_rnn", "nn.seq2seq": "contrib.legacy_seq2seq",
    "nn.state_saving_rnn": "nn.static_state_saving_rnn", "python.ops.rnn.bidirectional_rnn": "nn.static_bidirectional_rnn", "python.ops.rnn.rnn": "nn.static_rnn",
    "python.ops.rnn.state_saving_rnn": "nn.static_state_saving_rnn", "python.ops.seq2seq": "contrib.legacy_seq2seq",
    **{
        f"{module}.{name}": f"contrib.rnn.{name}"
        for module in ("nn.rnn_cell", "python.ops.rnn_cell") for name in ("EmbeddingWrapper", "InputProjectionWrapper", "OutputProjectionWrapper")
    },
    **{f"{module}.{name}": "layers.dense" for module in ("nn.rnn_cell", "python.ops.rnn_cell") for name in ("_linear", "linear")},
}  # fmt: skip
"""Modules, functions and cells of recurrent networks before 1.0 -> what takes their place in 1.15."""

GONE: dict[str, str] = {**RENAMED, **SUMMARIES, **RECURRENT}

DECISIVE = frozenset({
    "merge_all_summaries", "models.rnn", "nn.bidirectional_rnn", "nn.rnn", "nn.seq2seq", "nn.state_saving_rnn", "python.ops.rnn.rnn", "python.ops.seq2seq",
    "scalar_summary", "train.SummaryWriter",
})  # fmt: skip
"""Names one use of which shows that a program is for TensorFlow before 1.0. Of others there are two, or three uses of one."""

OLD_KEYWORDS: dict[str, dict[str, str]] = {
    "concat": {"concat_dim": "axis"}, "split": {"split_dim": "axis", "num_split": "num_or_size_splits"}, "SparseTensor": {"shape": "dense_shape"},
    "SparseTensorValue": {"shape": "dense_shape"}, "nn.sigmoid_cross_entropy_with_logits": {"targets": "labels"},
    "image.resize_images": {"new_height": "size", "new_width": "size", "target_height": "size", "target_width": "size"},
    **{f"nn.rnn_cell.{name}": {"input_size": "nothing: it is found"} for name in ("BasicRNNCell", "GRUCell", "BasicLSTMCell", "LSTMCell")},
}  # fmt: skip
"""Operation -> its keywords that 1.15 does not take, and what 1.15 takes."""

OLD_ORDERS: dict[str, str] = {
    "concat": "concat(concat_dim, values)", "split": "split(split_dim, num_split, value)",
    "nn.sigmoid_cross_entropy_with_logits": "sigmoid_cross_entropy_with_logits(logits, targets)",
    "nn.softmax_cross_entropy_with_logits": "softmax_cross_entropy_with_logits(logits, labels)",
    "nn.sparse_softmax_cross_entropy_with_logits": "sparse_softmax_cross_entropy_with_logits(logits, labels)",
    "image.resize_images": "resize_images(images, height, width)",
}  # fmt: skip
"""Operation -> its arguments before 1.0, where a call shows that it has them in this order, which 1.15 refuses."""

FLAGS_OF_ARGPARSE = ("__flags", "_parse_flags", "__parsed")
"""What programs read of FLAGS until TensorFlow 1.4, where argparse parsed the command line."""

OF_1 = frozenset({
    "compat.v1", "compat.v2", "contrib.eager", "contrib.legacy_seq2seq", "contrib.rnn.BasicLSTMCell", "contrib.rnn.BasicRNNCell", "contrib.rnn.DropoutWrapper",
    "contrib.rnn.GRUCell", "contrib.rnn.LSTMCell", "contrib.rnn.LSTMStateTuple", "contrib.rnn.MultiRNNCell", "contrib.rnn.RNNCell", "contrib.rnn.static_rnn",
    "data", "distribute", "enable_eager_execution", "estimator", "feature_column", "keras", "layers", "losses", "metrics", "nn.static_bidirectional_rnn",
    "nn.static_rnn", "saved_model",
})  # fmt: skip
"""Names that TensorFlow has since 1.0."""
