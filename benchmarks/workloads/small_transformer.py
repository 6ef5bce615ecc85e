"""The model of `transformer` with two layers of width 64, on sequences of 32 tokens."""

from benchmarks.workloads import transformer

SIZE = transformer.Size(layers=2, width=64, heads=4, hidden=256, batch=8, positions=32, vocabulary=1000)


def batches():
    return transformer.batches(SIZE)


def build(tf):
    return transformer.build(tf, SIZE)
