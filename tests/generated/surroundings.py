"""Rows of tests/cases with their inputs and their operations somewhere else: variables, branches, loops, functions, datasets, other dtypes.

What comes out is the values of the plain row or a stated error, never an error from inside. GENERATED_MODULE=tensorflow has
TensorFlow 1.15 asked instead, in Python 3.7.
"""

import importlib
import os
import pathlib
import random
import traceback

import numpy as np
from cases import observe

from generated.worker import is_stated

tf = importlib.import_module(os.environ.get("GENERATED_MODULE", "tfcompat"))

CASES = pathlib.Path(__file__).resolve().parent.parent / "cases"
NO_TABLES = ("__init__", "table", "observe")
NOT_FIT = "cannot be computed of these inputs and attributes"
"""What the message of a kernel's own Python exception says."""
KINDS = {
    "f": ("float16", "float32", "float64"), "i": ("int8", "int16", "int32", "int64", "uint8"), "c": ("complex64", "complex128"),
    "u": ("uint8", "uint16", "int32", "int64"),
}  # fmt: skip
ROUGHLY = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 2e-3, "complex64": 2e-3}
SAME = 1e-7


def rows(families=None):
    """The rows of the families (all tables where none are named) that have inputs and give values."""
    names = families or sorted(path.stem for path in CASES.glob("*.py") if path.stem not in NO_TABLES)
    found = [case for name in names for case in importlib.import_module("cases." + name).TABLE.cases]
    return [case for case in found if case.arrays and case.fetch and not case.error and case.run is None]


def _flat(case, inputs):
    return [tf.convert_to_tensor(t) for _, t in observe.flat_outputs(tf, case.build(tf, **inputs))]


def _placeholder(array, shape):
    return tf.placeholder(tf.as_dtype("string" if array.dtype.kind in "SO" else array.dtype.name), shape)


class Given:
    """A row with the arrays that it gets, what it gave where nothing surrounds it, and what has to be fed."""

    def __init__(self, case, arrays):
        self.case, self.arrays, self.feed, self.plain = case, arrays, {}, None

    def placeholders(self, shape_of=lambda array: array.shape):
        made = {key: _placeholder(array, shape_of(array)) for key, array in self.arrays.items()}
        self.feed.update((made[key], array) for key, array in self.arrays.items())
        return made

    def build(self, inputs):
        return _flat(self.case, inputs)

    def starts(self):
        """A tensor of the shape and dtype of each output, for a loop to begin with."""
        return [tf.constant(np.zeros_like(v) if v.dtype != object else np.full(v.shape, b"", object)) for v in self.plain]


def _static(given):
    inputs = given.placeholders()
    return inputs, given.build(inputs)


def _unknown(given):
    inputs = given.placeholders(lambda array: None)
    return inputs, given.build(inputs)


def _dimensions(given):
    inputs = given.placeholders(lambda array: [None] * array.ndim)
    return inputs, given.build(inputs)


def _constant(given):
    inputs = {key: tf.constant(array) for key, array in given.arrays.items()}
    return inputs, given.build(inputs)


def _variable(given, **options):
    inputs = {key: tf.Variable(array, name=key, **options) for key, array in given.arrays.items()}
    return inputs, given.build(inputs)


def _resource(given):
    return _variable(given, use_resource=True)


def _cond(given, taken):
    inputs, chosen = given.placeholders(), tf.placeholder(tf.bool, [])
    given.feed[chosen] = taken
    branches = [lambda: given.build(inputs), given.starts]
    return inputs, tf.cond(chosen, *(branches if taken else reversed(branches)))


def _then(given):
    return _cond(given, True)


def _otherwise(given):
    return _cond(given, False)


def _loop(given):
    inputs, starts = given.placeholders(), given.starts()

    def body(i, *_):
        return [i + 1, *given.build(inputs)]

    invariants = [tf.TensorShape([]), *(tf.TensorShape(None) for _ in starts)]
    return inputs, tf.while_loop(lambda i, *_: i < 2, body, [0, *starts], invariants)[1:]


def _carried(given):
    """The inputs are variables of the loop."""
    inputs, starts, keys = given.placeholders(), given.starts(), list(given.arrays)

    def body(i, values, _):
        return i + 1, values, given.build(dict(zip(keys, values)))

    invariants = (tf.TensorShape([]), [t.shape for t in inputs.values()], [tf.TensorShape(None) for _ in starts])
    return inputs, tf.while_loop(lambda i, *_: i < 2, body, (0, list(inputs.values()), starts), invariants)[2]


def _rows(given):
    inputs = given.placeholders()
    stacked = tuple(tf.stack([t, t]) for t in inputs.values())
    kinds = [tf.as_dtype(v.dtype if v.dtype != object else "string") for v in given.plain]
    made = tf.map_fn(lambda parts: given.build(dict(zip(inputs, parts))), stacked, kinds)
    return inputs, [t[1] for t in made]


def _function(given):
    inputs = given.placeholders()

    def build(*args):
        return given.build(dict(zip(inputs, args)))

    return inputs, tf.function(build, autograph=False)(*inputs.values())


def _dataset(given):
    build = tf.autograph.experimental.do_not_convert(lambda parts: tuple(given.build(parts)))
    data = tf.data.Dataset.from_tensors(dict(given.arrays)).map(build)
    return {}, list(tf.data.make_one_shot_iterator(data).get_next())


PLACES = {
    "static": _static, "unknown": _unknown, "dimensions": _dimensions, "constant": _constant, "variable": _variable, "resource": _resource,
    "then": _then, "otherwise": _otherwise, "loop": _loop, "carried": _carried, "rows": _rows, "function": _function, "dataset": _dataset,
}  # fmt: skip
NO_GRADIENT = ("dataset",)


def _fetched(given, place, slopes, carried=False):
    """The values of the outputs at a place, or of the gradients of their sum: zeros instead of none for what a loop carries, as in 1.15."""
    given.feed = {}
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        inputs, outputs = PLACES[place](given)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        if slopes:
            sources = [inputs[key] for key, array in given.arrays.items() if array.dtype.kind in "fc"]
            ys = [t for t in outputs if t.dtype.is_floating or t.dtype.is_complex]
            found = tf.gradients(ys, sources) if ys and sources else []
            if carried:
                found = [tf.zeros_like(x) if g is None else g for g, x in zip(found, sources)]
            outputs = [tf.convert_to_tensor(g) for g in found if g is not None]
        with tf.Session() as session:
            observe.initialise(tf, session)
            return [np.asarray(v) for v in session.run(outputs, given.feed)]


def _described(error):
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/tfcompat/" in f.filename]
    place = f"{frames[-1].filename.split('/tfcompat/')[-1]}:{frames[-1].lineno}" if frames else "?"
    return f"{type(error).__name__} at {place}: {error}"


def _of_row(error):
    """Whether the row's own function raised, and nothing below it."""
    return "/tests/" in traceback.extract_tb(error.__traceback__)[-1].filename


def verdict_of(error):
    """One word for an exception: raised (it is stated), or internal."""
    if isinstance(error, tf.errors.OpError):
        inside = isinstance(error, (tf.errors.InternalError, tf.errors.UnknownError)) or NOT_FIT in error.message
        return "internal" if inside or "Tracer" in error.message else "raised"
    stated = isinstance(error, (ValueError, TypeError, LookupError, RuntimeError, NotImplementedError)) and is_stated(error)
    return "raised" if _of_row(error) or (stated and "Tracer" not in str(error)) else "internal"


def _close(want, have):
    if want.shape != have.shape or want.dtype != have.dtype:
        return False
    if want.dtype.kind not in "fcV":
        return bool((want == have).all())
    rtol = ROUGHLY.get(want.dtype.name, SAME)
    finite = np.abs(want[np.isfinite(want)])
    return np.allclose(have, want, rtol=rtol, atol=rtol * max(1.0, float(finite.max(initial=0.0))), equal_nan=True)


class Variant:
    """A row at a place, `kind` for another dtype (kind of the arrays that change, name of the new one), `slopes` for gradients."""

    def __init__(self, case, place, slopes=False, kind=None):
        self.case, self.place, self.slopes, self.kind = case, place, slopes, kind
        self.name = f"{case.id} {place}{' gradient' if slopes else ''}{' ' + '->'.join(kind) if kind else ''}"

    @classmethod
    def drawn(cls, bank, number):
        """The variant of a number."""
        rng = random.Random(number)
        case, place = rng.choice(bank), rng.choice(list(PLACES))
        slopes = place not in NO_GRADIENT and case.grad and rng.random() < 0.35
        kind = None
        kinds = sorted({a.dtype.kind for a in case.arrays.values()} & set(KINDS))
        if kinds and rng.random() < 0.4:
            kind = rng.choice(kinds), rng.choice(KINDS[rng.choice(kinds)])
        return cls(case, place, slopes, kind)

    def given(self):
        arrays = self.case.arrays
        if self.kind:
            kind, wanted = self.kind
            with np.errstate(all="ignore"):
                arrays = {key: _cast(a, wanted) if a.dtype.kind == kind else a for key, a in arrays.items()}
        return Given(self.case, arrays)

    def values(self, given):
        """What it gives; the plain row has run."""
        return _fetched(given, self.place, self.slopes, self.place == "carried")

    def outcome(self):
        """How it ends, in one word (same, differs, raised, refused where the plain row raises too, internal), and a text."""
        given = self.given()
        try:
            given.plain = _fetched(given, "static", False)
            want = _fetched(given, "static", True, self.place == "carried") if self.slopes else given.plain
        except Exception as error:  # noqa: BLE001 (counted)
            word = verdict_of(error)
            return "refused" if word == "raised" else word, _described(error)
        try:
            have = self.values(given)
        except Exception as error:  # noqa: BLE001 (counted)
            return verdict_of(error), _described(error)
        same = len(want) == len(have) and all(map(_close, want, have))
        if same or self.case.seed is not None:
            return "same", ""
        return "differs", f"{[v.shape for v in want]} {[v.shape for v in have]} {str(want)[:120]} | {str(have)[:120]}"


def variants(prefixes=("",), places=tuple(PLACES), slopes=False):
    """The variants of the rows whose names begin so."""
    for case in rows():
        if case.id.startswith(tuple(prefixes)) and (case.grad or not slopes):
            for place in places:
                if not slopes or place not in NO_GRADIENT:
                    yield Variant(case, place, slopes)


def _cast(array, name):
    return (array.real if array.dtype.kind == "c" and not name.startswith("complex") else array).astype(name)
