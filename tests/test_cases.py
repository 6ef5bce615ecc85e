"""Every row of tests/cases against what TensorFlow 1.15.5 gave for it (tests/golden/cases)."""

import functools
import importlib
import json
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from cases import observe
from deviations import CASES as DEVIATIONS
from long_run import count
from oracle import describe, golden

import tfcompat as tf
from tfcompat._src.runtime.engines import choice

HERE = Path(__file__).resolve().parent
FAMILIES = sorted(path.name[: -len(".json.gz")] for path in (HERE / "golden/cases").glob("*.json.gz"))
RTOL = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "complex64": 1e-5, "float64": 1e-11, "complex128": 1e-11}
DIFFERENCE_STEP = 1e-4
LOWEST_OF_EMPTY = 1e30  # the extreme of an empty segment is the end of the number range, and does not move
DIFFERENCE_RTOL = 1e-7


@functools.lru_cache(maxsize=8)
def golden_of(family):
    """The recorded entries of one family; all of them would take 260 MB."""
    return golden.read(HERE / "golden/cases" / f"{family}.json.gz")


def recorded(case):
    """What is recorded of a row; the test fails, with what records it, where nothing is."""
    family = case.id.split("/")[0]
    found = golden_of(family).get(case.id)
    if found is None:
        pytest.fail(f"No value of the row {case.id!r} is recorded: .venv-tf1/bin/python tests/oracle/record_cases.py {family} records this table.", pytrace=False)
    return found


def all_cases():
    """Every row of every table, marked with its family."""
    for family in FAMILIES:
        for case in importlib.import_module("cases." + family).TABLE.cases:
            yield pytest.param(case, id=case.id)


def normal(value):
    """What JSON makes of a description."""
    return json.loads(json.dumps(value))


def check_equal(want, have, what):
    """Asserts that two descriptions are equal and shows both otherwise."""
    assert want == have, f"{what}\n  TensorFlow: {want}\n  tfcompat:   {have}"


def check_nodes(want, have):
    """Same nodes, in the same order, with the same inputs, attributes and shapes."""
    check_equal([(n["name"], n["op"]) for n in want], [(n["name"], n["op"]) for n in have], "nodes")
    for left, right in zip(want, have, strict=True):
        for field, expected in left.items():
            check_equal(expected, right[field], f"{field} of {left['name']} ({left['op']})")


def check_array(case, want, have, what):
    """Same dtype, shape and value, within what the dtype or the case allows."""
    have = np.asarray(have)
    check_equal(want.dtype, have.dtype.name, f"dtype of {what}")
    check_equal(want.array.shape, have.shape, f"shape of {what}")
    if want.array.dtype.kind not in "fc":
        check_equal(
            want.array.tolist(),
            [v.encode() if isinstance(v, str) else v for v in have.tolist()]
            if have.dtype.kind == "U"
            else have.tolist(),
            what,
        )
        return
    have = have.astype(want.array.dtype)
    finite = np.abs(want.array[np.isfinite(want.array)])
    rtol = case.rtol or RTOL[want.dtype]
    atol = case.atol or rtol * 0.1 * float(finite.max(initial=0.0))
    np.testing.assert_allclose(have, want.array, rtol=rtol, atol=atol, err_msg=what)


def check_leaf(case, want, have, what):
    """One leaf of the recorded values: an array, or a Python value."""
    if isinstance(want, golden.Value):
        check_array(case, want, have, what)
    else:
        check_equal(want, normal(golden.pack(have)) if not isinstance(have, bytes) else have, what)


def check_values(case, want, have):
    """Every recorded leaf, by its path."""
    found = describe.leaves(have)
    check_equal([path for path, _ in want], [path for path, _ in found], "structure of the values")
    for (path, expected), (_, value) in zip(want, found, strict=True):
        check_leaf(case, expected, value, path)


def check_gradients(case, want, grads, fetched):
    """Which gradients exist, in which form, and their values."""
    check_equal([[k, kind] for k, kind, _ in want], [[k, observe.gradient_kind(g)] for k, g in grads], "gradients")
    found = iter(fetched)
    for name, kind, expected in want:
        if kind is not None:
            value = observe.dense_gradient(kind, next(found), expected.array.shape)
            check_array(case, expected, value, f"gradient for {name}")


def check_differences(case, session, floats, inputs, grads, fetched):
    """The gradient along one direction against extrapolated central differences, for float64 inputs and outputs."""
    found = iter(fetched)
    slopes = {
        key: observe.dense_gradient(observe.gradient_kind(g), next(found), case.arrays[key].shape)
        for key, g in grads
        if g is not None and key in case.arrays
    }
    random = np.random.RandomState(len(case.id))
    direction = {key: random.uniform(-1, 1, case.arrays[key].shape) for key in slopes}

    def total(step):
        moved = {inputs[k]: a + step * direction[k] if k in direction else a for k, a in case.arrays.items()}
        values = session.run([t for _, t in floats], moved)
        seen = [np.where(np.abs(v) < LOWEST_OF_EMPTY, v, 0) for v in values]
        return sum(
            float(np.sum(v * observe.weights(case, i, v.shape))) for (i, _), v in zip(floats, seen, strict=True)
        )

    def central(step):
        return (total(step) - total(-step)) / (2 * step)

    numeric = (4 * central(DIFFERENCE_STEP / 2) - central(DIFFERENCE_STEP)) / 3
    analytic = sum(float(np.sum(slope * direction[key])) for key, slope in slopes.items())
    assert abs(numeric - analytic) <= DIFFERENCE_RTOL * max(1.0, abs(numeric)), f"slope {analytic}, numeric {numeric}"


def without_order(graph):
    """The nodes by name, their control inputs sorted: an import orders both anew, as 1.15's does."""
    nodes = sorted(describe.nodes(graph), key=lambda n: n["name"])
    return [{**n, "inputs": sorted(n["inputs"], key=lambda i: i if i.startswith("^") else "")} for n in nodes]


def check_roundtrip(graph, tensors, inputs, case, values):
    """The graph's GraphDef imported into a new graph has the same nodes and gives the same values."""
    definition = graph.as_graph_def()
    with tf.Graph().as_default() as copy:
        tf.import_graph_def(definition, name="")
        check_nodes(without_order(graph), without_order(copy))
        if any(op.type in ("VariableV2", "VarHandleOp", "PyFunc") for op in copy.get_operations()):
            return
        with tf.Session(graph=copy) as session:
            feed = {inputs[key].name: array for key, array in case.arrays.items()}
            again = session.run([t.name for _, t in tensors], feed)
        for value, other in zip(values, again, strict=True):
            np.testing.assert_array_equal(value, other)


class Aspects:
    """Runs the checks of one case and compares what failed with the known differences."""

    def __init__(self, case):
        self.known, self.failed = DEVIATIONS.get(case.id, {}), {}

    def check(self, aspect, function, *args):
        """Notes an assertion that fails; every other exception goes through."""
        try:
            function(*args)
        except AssertionError as error:
            self.failed.setdefault(aspect, str(error))

    def finish(self):
        """Fails on what is not a known difference, and on a known difference that is not there."""
        unknown = {k: v for k, v in self.failed.items() if k not in self.known}
        assert not unknown, "\n".join(f"[{k}] {v}" for k, v in unknown.items())
        gone = set(self.known) - set(self.failed)
        assert not gone, f"listed in deviations.py and equal now: {sorted(gone)}"


def words_of(message):
    """The words of a message, without what differs from run to run: the numbers of TensorArrays, addresses, where nodes were made."""
    message = re.sub(r" \(defined at .*?\) ?", "", re.sub(r"0x[0-9a-f]+", "0x", message))
    return re.sub(r"(TensorArray\w*?)_\d+(@\w+)?(?=:| has)", r"\1", message).replace("node ", "").strip(" .")


def check_error(case, want, aspects):
    """The same class of exception at the same stage, and the same words where the row asks for them."""
    stage, found = "build", None
    try:
        with tf.Graph().as_default():
            inputs, outputs, _ = observe.build(tf, case)
            stage = "run"
            with tf.Session() as session:
                observe.initialise(tf, session)
                feed = observe.feed_for(case, inputs)
                if case.run:
                    case.run(tf, session, outputs, feed)
                else:
                    session.run([t for _, t in observe.flat_outputs(tf, outputs)], feed)
    except Exception as error:  # noqa: BLE001
        found = error
    seen = f"{type(found).__name__} at {stage}: {found}"
    aspects.check(
        "error",
        check_equal,
        (want["error"], want["stage"]),
        (type(found).__name__, stage),
        f"wanted {want['error']}: {want['message']}\n  got {seen}\n",
    )
    if case.same_words:
        assert words_of(want["message"]) in words_of(str(found)), f"wanted {want['message']}\n  got {found}"


def is_smooth(case, outputs, values):
    """Whether differences say something: everything in float64, finite, and nothing random."""
    doubles = [t.dtype == tf.float64 for t in outputs] + [
        case.arrays[k].dtype == np.float64 for k in case.float_inputs()
    ]
    finite = all(np.isfinite(v).all() for v in values if np.asarray(v).dtype.kind in "fc")
    return case.seed is None and all(doubles) and finite


def check_run(case, want, graph, inputs, outputs, aspects, compiles):
    """Values, gradients, a second run, and the way through a GraphDef."""
    tensors = observe.flat_outputs(tf, outputs)
    fetches = [t for _, t in tensors]
    shapes = [leaf.array.shape if isinstance(leaf, golden.Value) else () for _, leaf in want["values"]]
    grads = observe.gradient_tensors(tf, case, inputs, outputs, shapes)
    grad_fetches = [observe.gradient_fetch(g) for _, g in grads if g is not None]
    feed = observe.feed_for(case, inputs)
    with tf.Session() as session:
        observe.initialise(tf, session)
        if case.run:
            aspects.check("values", check_values, case, want["values"], case.run(tf, session, outputs, feed))
            return
        values, fetched = session.run([fetches, grad_fetches], feed)
        aspects.check("values", check_values, case, want["values"], values)
        aspects.check("gradients", check_gradients, case, want["gradients"], grads, fetched)
        before = compiles.count
        session.run([fetches, grad_fetches], feed)
        assert compiles.count == before, "the second run compiles"
        floats = [(i, t) for i, t in enumerate(fetches) if t.dtype.is_floating or t.dtype.is_complex]
        if grad_fetches and is_smooth(case, [t for _, t in floats], values):
            check_differences(case, session, floats, inputs, grads, fetched)
    if not grads and fetches:
        aspects.check("roundtrip", check_roundtrip, graph, tensors, inputs, case, values)


def engine_of(case):
    """Every 24th row is compiled at once, which takes ten times as long; the others are interpreted at first. All are in a long run."""
    return "compile" if zlib.crc32(case.id.encode()) % count(24, 1) == 0 else "choose"


@pytest.mark.parametrize("case", list(all_cases()))
def test_case(case, compile_counter, monkeypatch):
    """A row equals TensorFlow in nodes, shapes, values, gradients and errors."""
    monkeypatch.setattr(choice, "ENGINE", engine_of(case))
    want = recorded(case)
    aspects = Aspects(case)
    if case.error:
        check_error(case, want, aspects)
        aspects.finish()
        return
    with tf.Graph().as_default() as graph:
        inputs, outputs, start = observe.build(tf, case)
        aspects.check("nodes", check_nodes, want["nodes"], normal(observe.node_list(graph, start)))
        aspects.check("collections", check_equal, want["collections"], normal(observe.collections(tf)), "collections")
        found = [[path, t.name] for path, t in observe.flat_outputs(tf, outputs)]
        aspects.check("nodes", check_equal, want["outputs"], found, "outputs")
        aspects.check("values", check_equal, want["plain"], observe.plain_outputs(tf, outputs), "plain outputs")
        aspects.check("shapes", check_equal, want["partial"], normal(observe.static_shapes(tf, case)), "static shapes")
        if case.fetch:
            check_run(case, want, graph, inputs, outputs, aspects, compile_counter)
    aspects.finish()


def test_a_row_without_a_recorded_value_is_named(monkeypatch):
    (case,) = next(all_cases()).values
    family = case.id.split("/")[0]
    monkeypatch.setitem(globals(), "golden_of", {family: {}}.get)
    with pytest.raises(pytest.fail.Exception, match=rf"'{re.escape(case.id)}'.*record_cases\.py {family} "):
        recorded(case)


@pytest.mark.parametrize("family", FAMILIES)
def test_golden_is_complete(family):
    """Every row has been recorded, and nothing else is kept."""
    table = importlib.import_module("cases." + family).TABLE
    assert {case.id for case in table.cases} == set(golden_of(family))
