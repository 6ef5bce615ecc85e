"""Writes tests/golden/nn/kernels.npz with TensorFlow 1.15: `python tests/oracle/record_nn_kernels.py`."""

import os
import sys

import numpy as np
import tensorflow as tf

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "nn"))
import kernel_cases  # noqa: E402


def main():
    golden = {}
    with tf.Session() as session:
        for case in kernel_cases.CASES:
            name, op, _, _, attributes = case
            outputs = getattr(tf.raw_ops, op)(**dict(kernel_cases.arguments(case), **attributes))
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            for index, value in enumerate(session.run(list(outputs))):
                golden["{}/{}".format(name, index)] = value
    np.savez_compressed(os.path.join(ROOT, "golden", "nn", "kernels.npz"), **golden)


if __name__ == "__main__":
    main()
