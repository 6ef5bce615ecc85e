"""What a case table is made of; imports under Python 3.7 with NumPy and under the tests' own Python.

A row builds graph outputs from placeholders: case("sum", lambda tf, x: tf.reduce_sum(x, 1), x=F32(3, 4)).
"""

import zlib

import numpy as np


class Input(object):
    """Values of one placeholder: a shape to fill from a generator seeded by the case's and the argument's names."""

    def __init__(self, dtype, shape, low, high):
        self.dtype, self.shape, self.low, self.high = dtype, shape, low, high

    def array(self, label):
        """The values, always the same for the same label."""
        random = np.random.RandomState(zlib.crc32(label.encode()) & 0x7FFFFFFF)
        kind = np.dtype(self.dtype).kind
        if kind in "iu":
            return random.randint(self.low, self.high, self.shape).astype(self.dtype)
        if kind == "b":
            return random.uniform(size=self.shape) < 0.5
        values = random.uniform(self.low, self.high, self.shape)
        if kind == "c":
            values = values + 1j * random.uniform(self.low, self.high, self.shape)
        return np.asarray(values).astype(self.dtype)


def _generator(dtype, default_low, default_high):
    def make(*shape, **bounds):
        return Input(dtype, shape, bounds.get("low", default_low), bounds.get("high", default_high))

    return make


F16, F32, F64 = (_generator(t, -2.0, 2.0) for t in ("float16", "float32", "float64"))
C64, C128 = (_generator(t, -2.0, 2.0) for t in ("complex64", "complex128"))
I8, I16, I32, I64 = (_generator(t, -9, 10) for t in ("int8", "int16", "int32", "int64"))
U8, U16 = (_generator(t, 0, 20) for t in ("uint8", "uint16"))
BOOL = _generator("bool", 0, 1)


class Case(object):
    """One row: how to build the outputs, what to feed, and which generic checks apply."""

    def __init__(
        self,
        family,
        name,
        build,
        inputs,
        grad=None,
        seed=None,
        rtol=None,
        atol=None,
        reason=None,
        run=None,
        error=False,
        partial=True,
        fetch=True,
        same_words=False,
    ):
        if (rtol or atol) and not reason:
            raise ValueError("%s/%s: a tolerance needs a reason" % (family, name))
        self.id = family + "/" + name
        self.build, self.seed, self.rtol, self.atol, self.run = build, seed, rtol, atol, run
        self.error, self.partial, self.fetch, self.same_words = error, partial, fetch, same_words
        self.arrays = {
            key: spec.array(self.id + "." + key) if isinstance(spec, Input) else np.asarray(spec)
            for key, spec in inputs.items()
        }
        self.grad = grad if grad is not None else run is None and not error and fetch

    def float_inputs(self):
        """Names of the inputs that a gradient is taken for."""
        return [k for k, v in self.arrays.items() if v.dtype.kind in "fc"]


class Table(object):
    """The rows of one family."""

    def __init__(self, family):
        self.family, self.cases = family, []

    def _add(self, case):
        if any(other.id == case.id for other in self.cases):
            raise ValueError("two cases are called " + case.id)
        self.cases.append(case)

    def case(
        self,
        name,
        build,
        grad=None,
        seed=None,
        rtol=None,
        atol=None,
        reason=None,
        run=None,
        partial=True,
        fetch=True,
        **inputs,
    ):
        """Adds a row.

        build(tf, **placeholders) returns the outputs, nested as it likes; run(tf, session, outputs, feed) replaces
        fetching them, and what it returns is recorded; fetch=False records the graph only; partial=False leaves out
        the unknown static shapes.
        """
        self._add(Case(self.family, name, build, inputs, grad, seed, rtol, atol, reason, run, False, partial, fetch))

    def error_case(self, name, build, run=None, seed=None, same_words=False, **inputs):
        """Adds a row that raises, while it is built or while it runs; `same_words`: the first line of the message is in ours too."""
        self._add(Case(self.family, name, build, inputs, run=run, error=True, seed=seed, same_words=same_words))

    def each(self, prefix, names, call, **inputs):
        """Adds a row per public function name, called with the placeholders: call(function, **placeholders)."""
        for name in names:
            self.case(prefix + name.replace(".", "_"), _named(name, call), **dict(inputs))


def lookup(tf, dotted):
    """The public object at a dotted name below tf."""
    for part in dotted.split("."):
        tf = getattr(tf, part)
    return tf


def _named(name, call):
    return lambda tf, **placeholders: call(lookup(tf, name), **placeholders)


def steps(count):
    """A run= that fetches the outputs count times and returns what the last fetch and every fetch gave."""

    def run(tf, session, outputs, feed):
        return [session.run(outputs, feed) for _ in range(count)]

    return run
