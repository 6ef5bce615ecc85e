"""Libraries that were run unmodified under `tfcompat run`, and beside TensorFlow 1.15.5 where that can run them; docs/libraries.md is made of this table.

A row has what was run, the last numbers of both programs, and the tolerance within which they are equal; NOT_RUN_BY_1_15 where only tfcompat runs it.
"""

from typing import NamedTuple

NOT_RUN_BY_1_15 = ()


class Library(NamedTuple):
    """A package, its version, further packages that it needs besides NumPy and SciPy, options of `tfcompat run`, and the result of a program."""

    name: str
    version: str
    needs: str
    options: str
    ran: str
    here: tuple[float, ...]
    by_1_15: tuple[float, ...]
    within: float
    differs: str


LIBRARIES = [
    Library("adanet", "0.8.0", "tensorboard, absl-py", "", "an Estimator with two candidates, 2 iterations of 30 steps, and its loss",
            (3.9250236,), (3.925023,), 1e-6, ""),
    Library("deepxde", "1.15.0", "scikit-learn, scikit-optimize, matplotlib, pandas", "--as 2.15", "200 steps of Adam for Poisson's equation",
            (2.7308812, 2.3362603), NOT_RUN_BY_1_15, 0.0, "DDE_BACKEND=tensorflow.compat.v1"),
    Library("kfac", "0.2.3", "tensorflow-probability 0.8.0, gast, wrapt", "", "12 steps of PeriodicInvCovUpdateKfacOpt on a network of two layers, and its loss",
            (0.14821056,), (0.14821056,), 1e-6, ""),
    Library("nengo-dl", "2.2.2", "nengo 2.8.0, progressbar2, jinja2", "", "40 steps of two ensembles, training, and check_gradients; the loss",
            (0.13307163,), (0.13305269,), 1e-3, "batches of training are drawn at random"),
    Library("shap", "0.41.0", "scikit-learn, pandas, numba, slicer, cloudpickle", "", "DeepExplainer of a Keras CNN, sums of absolute values for three outputs",
            (0.313108526910014, 1.6863702631133037, 0.4980795347915432), (0.31310837661931146, 1.6863703353662913, 0.4980786423546988), 1e-5,
            "DeepExplainer of a softmax stops in both with the same error"),
    Library("tensorflow-hub", "0.7.0", "", "", "a module is made, exported, loaded and differentiated: 4.0 s, of 1.15.5 4.5 s", (2.0, 5.0), (2.0, 5.0), 0.0, ""),
]  # fmt: skip
