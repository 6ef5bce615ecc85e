"""Error texts for names of TensorFlow that tfcompat lacks, with the replacement if one is known."""

from __future__ import annotations

from tfcompat._src.base import tf1_names

# Names of TensorFlow 0.x, from the release notes of 1.0.
RENAMED_BEFORE_1_0 = {
    "tf.all_variables": "tf.global_variables",
    "tf.batch_matmul": "tf.matmul",
    "tf.batch_matrix_inverse": "tf.matrix_inverse",
    "tf.complex_abs": "tf.abs",
    "tf.concat_v2": "tf.concat",
    "tf.fft": "tf.signal.fft",
    "tf.image.per_image_whitening": "tf.image.per_image_standardization",
    "tf.image_summary": "tf.summary.image",
    "tf.histogram_summary": "tf.summary.histogram",
    "tf.audio_summary": "tf.summary.audio",
    "tf.scalar_summary": "tf.summary.scalar",
    "tf.merge_all_summaries": "tf.summary.merge_all",
    "tf.merge_summary": "tf.summary.merge",
    "tf.train.SummaryWriter": "tf.summary.FileWriter",
    "tf.inv": "tf.reciprocal",
    "tf.listdiff": "tf.setdiff1d",
    "tf.mul": "tf.multiply",
    "tf.neg": "tf.negative",
    "tf.pack": "tf.stack",
    "tf.unpack": "tf.unstack",
    "tf.sub": "tf.subtract",
    "tf.select": "tf.where",
    "tf.models.rnn": "tf.nn.rnn_cell and tf.nn.static_rnn",
    "tf.nn.rnn": "tf.nn.static_rnn",
    "tf.nn.seq2seq": "tf.contrib.legacy_seq2seq",
    "tf.python.ops.seq2seq": "tf.contrib.legacy_seq2seq",
    "tf.python.ops.rnn_cell": "tf.nn.rnn_cell",
}
ONLY_IN_2 = {
    "tf.random.Generator": "tf.random.uniform or tf.random.normal with a seed",
    "tf.random.set_seed": "tf.random.set_random_seed",
    "tf.keras.utils.set_random_seed": "tf.random.set_random_seed",
    "tf.data.AUTOTUNE": "tf.data.experimental.AUTOTUNE",
    "tf.config.list_physical_devices": "tf.config.experimental.list_physical_devices",
}



def reason(path: str) -> str:
    """Returns why tfcompat lacks `tf.path` ("nn.relu"), or "" if the recorded names of 1.15 do not tell."""
    short = "tf." + path
    if short in RENAMED_BEFORE_1_0:
        return f"TensorFlow 1.0 renamed it; use {RENAMED_BEFORE_1_0[short]}"
    if short in ONLY_IN_2:
        return f"it came with TensorFlow 2; use {ONLY_IN_2[short]}"
    in_tf1 = tf1_names.has(path)
    if in_tf1 is None:
        return ""
    if in_tf1:
        return "it is not built yet"
    near = tf1_names.nearest(path)
    return "TensorFlow 1.15 does not have it" + (f"; did you mean tf.{near}?" if near else "")


def message(path: str, public: str | None = None) -> str:
    """Returns the error text for a missing `path` ("tensorflow.python.ops.x.y"), which is `tf.public` in TensorFlow 1.15."""
    short = path.partition(".")[2]
    # Internal paths are followed by the public name, which a program should use.
    text = f"tfcompat does not have {path}"
    if public is not None and public != short:
        text += f" (tf.{public} of TensorFlow 1.15)"
    why = reason(short)
    return f"{text}: {why}" if why else text
