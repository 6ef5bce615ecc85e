"""The graph of a 12-layer transformer, 768 wide, with Adam: built, never run."""

from benchmarks.workloads import transformer

SIZE = transformer.Size(layers=12, width=768, heads=12, hidden=3072, batch=8, positions=128, vocabulary=30522)


def batches():
    return transformer.batches(SIZE)


def build(tf):
    return transformer.build(tf, SIZE)
