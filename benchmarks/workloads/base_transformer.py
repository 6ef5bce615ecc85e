"""The model of `transformer` with 12 layers of width 768, on sequences of 128 tokens; in float32 or bfloat16."""

from benchmarks.workloads import transformer
from benchmarks.workloads.model import cast_variables

SIZES = {
    "whole": transformer.Size(layers=12, width=768, heads=12, hidden=3072, batch=32, positions=128, vocabulary=30522),
    "tiny": transformer.Size(layers=2, width=32, heads=4, hidden=64, batch=4, positions=16, vocabulary=100),
}


def batches(dtype="float32", size="whole"):
    return transformer.batches(SIZES[size])


def build(tf, dtype="float32", size="whole"):
    with tf.variable_scope("model", custom_getter=cast_variables(tf), dtype=dtype):
        return transformer.build(tf, SIZES[size])
