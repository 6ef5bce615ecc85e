"""Runs a program of branch_programs.py, under either TensorFlow, and describes what each of its runs gave."""

import numpy as np


def outcomes(build, tf, flow):
    """For each run, the values as lists, or the kind and the first words of the error."""
    config = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
    with tf.Graph().as_default():
        tf.compat.v1.set_random_seed(1)
        runs = build(tf, flow)
        with tf.compat.v1.Session(config=config) as session:
            session.run([tf.compat.v1.global_variables_initializer(), tf.compat.v1.local_variables_initializer()])
            return [_outcome(session, tf, *run) for run in runs]


def _outcome(session, tf, fetches, feeds):
    try:
        result = session.run(fetches, feeds)
    except tf.errors.OpError as error:
        return {"error": type(error).__name__, "text": first_words(error.message)}
    return _described(result)


def first_words(message):
    """The part of an error's message that tells its kind: for a dead fetch the words of the executor."""
    return message.split("\n")[0].split(":")[0] if message.startswith("Retval") else ""


def _described(result):
    if isinstance(result, list):
        return [_described(r) for r in result]
    if result is None:
        return None
    array = np.asarray(result)
    if array.dtype.kind in "OS":
        return np.vectorize(lambda s: s.hex() if isinstance(s, bytes) else s.encode().hex(), otypes=[object])(array).tolist()
    return array.tolist()
