"""What a program of `programs` gives, as JSON: values, or the class of an exception."""

import numpy as np


def _plain(value):
    """A fetched value as lists, numbers and strings."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [_plain(each) for each in value]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (np.ndarray, np.generic)):
        return {"dtype": value.dtype.name, "value": _plain(value.tolist())}
    return value


def _fetched(tf, session, value):
    if isinstance(value, dict):
        return {key: _fetched(tf, session, each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_fetched(tf, session, each) for each in value]
    return session.run(value) if isinstance(value, (tf.Tensor, tf.Operation, tf.Variable)) else value


def observed(tf, program):
    """{"value": ...} or {"error": class}."""
    with tf.Graph().as_default():
        try:
            result = program(tf)
            with tf.compat.v1.Session() as session:
                session.run(tf.compat.v1.global_variables_initializer())
                return {"value": _plain(_fetched(tf, session, result))}
        except Exception as error:  # noqa: BLE001 - any exception is an outcome
            return {"error": type(error).__name__}
