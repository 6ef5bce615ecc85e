"""The names of what a model is run for."""

from __future__ import annotations


class ModeKeys:
    """Training, evaluation and prediction."""

    TRAIN = "train"
    TEST = "test"
    PREDICT = "predict"
