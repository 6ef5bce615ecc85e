"""Writes tests/golden/special_values.npz with TensorFlow 1.15: `python tests/oracle/record_special_values.py`.

Elementwise cases run as one vector, and then as vectors of 1 to 40 elements that begin at many places: where the result of an element
depends on its place among the lanes of the processor, no result of it is kept, and its index is written down.
"""

import json
import os
import sys

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import kernels

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "ops"))
import special_value_cases as special  # noqa: E402

_AT_ONCE = 100  # cases of a graph
_LONGEST = 40
_ALL_STARTS = 40  # vectors with at most so many elements are turned to begin at every element, others at as many drawn ones


def _tensors(case):
    return [tf.placeholder(tf.as_dtype(dtype), [None] * np.ndim(array)) for dtype, array in case.inputs.values()]


def _has_kernel(op):
    """Whether the processor has a kernel for the attributes of a node."""
    return any(
        kernel.device_type == "CPU"
        and all(op.get_attr(c.name).as_datatype_enum in c.allowed_values.list.type for c in kernel.constraint)
        for kernel in kernels.get_registered_kernels_for_op(op.type).kernel
    )


def _built(case):
    """(placeholders, outputs), or None where 1.15's op does not take the dtype, or has no kernel of it."""
    with tf.Graph().as_default():
        try:
            outputs = special.apply(tf, case, _tensors(case))
        except (TypeError, ValueError):
            return None
        if not _has_kernel(outputs[0].op):
            return None
    tensors = _tensors(case)
    return tensors, special.apply(tf, case, tensors)


def _varying(case, run, arrays, whole):
    """The sorted indices of elements whose results depend on their place in a vector."""
    size = max(np.size(a) for a in arrays)
    chance = np.random.RandomState(1)
    varying = set()
    for length in range(1, _LONGEST + 1):
        starts = range(size) if length == 1 or size <= _ALL_STARTS else chance.randint(size, size=12)
        for start in starts:
            where = (start + np.arange(length)) % size
            found = run(*[a[where] if np.ndim(a) else a for a in arrays])
            for (dtype, wanted), part in zip(whole, found):
                varying.update(where[special.differences(case, dtype, special.stored(dtype, part), wanted[where])].tolist())
    return sorted(varying)


def _record(case, session, built):
    """The row of a case and its outputs, as they are stored; None where 1.15 has no kernel."""
    tensors, outputs = built
    run = session.make_callable(outputs, feed_list=tensors)
    arrays = [special.fed(tf, dtype, array) for dtype, array in case.inputs.values()]
    try:
        results = run(*arrays)
    except tf.errors.UnimplementedError:
        return None
    whole = [(t.dtype.base_dtype.name, special.stored(t.dtype.base_dtype.name, value)) for t, value in zip(outputs, results)]
    varying = _varying(case, run, arrays, whole) if case.elementwise else []
    return varying, whole


def _canonical(dtype, array):
    """The array with one NaN for all, as bytes that compress well."""
    array = np.array(array)
    if dtype == "bfloat16":
        array[(array & 0x7FFF) > 0x7F80] = 0x7FC0
    elif dtype.startswith("complex"):
        parts = array.view(array.real.dtype)
        parts[np.isnan(parts)] = np.nan
    elif array.dtype.kind == "f":
        array[np.isnan(array)] = np.nan
    return array.ravel()


def main():
    index, data = [], {}
    cases = list(special.cases())
    options = tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0))
    options.rewrite_options.disable_meta_optimizer = True
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1, graph_options=options)
    for start in range(0, len(cases), _AT_ONCE):
        with tf.Graph().as_default() as graph, tf.device("/cpu:0"):
            built = [(case, _built(case)) for case in cases[start : start + _AT_ONCE]]
            with tf.Session(graph=graph, config=config) as session:
                for case, nodes in built:
                    kept = nodes and _record(case, session, nodes)
                    if not kept:
                        continue
                    varying, whole = kept
                    index.append([case.name, [[dtype, list(array.shape)] for dtype, array in whole], varying])
                    for dtype, array in whole:
                        data.setdefault(dtype, []).append(_canonical(dtype, array))
        print(start, len(index), flush=True)
    text = np.frombuffer(json.dumps(index).encode(), np.uint8)
    arrays = {dtype: np.concatenate(parts) for dtype, parts in data.items()}
    np.savez_compressed(os.path.join(ROOT, "golden", "special_values.npz"), index=text, **arrays)


if __name__ == "__main__":
    main()
