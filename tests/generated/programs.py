"""Small programs of constants, drawn from a seed: operations with usable arguments, some of them at the edge of what is allowed.

What is usable is taken from the nodes that the rows of tests/cases build.
"""

import importlib
import pathlib
from dataclasses import dataclass

import numpy as np
from cases import observe

import tfcompat as tf
from tfcompat._src.graph import op_spec
from tfcompat._src.graph.constant_value import known_value
from tfcompat._src.nodes import raw

CASES = pathlib.Path(__file__).resolve().parent.parent / "cases"
NO_TABLES = ("__init__", "table", "observe")
EDGE_FLOATS = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 1e-45, 3e38, 1e300, 1e5, 2.0**31, 2.0**63]
EDGE_INTEGERS = [0, 1, -1, 2, 3, 7, 31, 32, 64, 10**5, 2**31 - 1, -(2**31), 2**31, 2**32, 2**62, 2**63 - 1, -(2**63)]
EDGE_SIZES = [0, 1, 2, 3, 5, 17]
NOT_ALONE = ("Enter", "Exit", "Switch", "Merge", "NextIteration", "LoopCond", "LoopGradient", "LoopGradientGradient", "LoopRecord")
"""Op types that mean something together only."""
MOST_STEPS = 8
MOST_ELEMENTS = 1 << 16


@dataclass(frozen=True)
class Usage:
    """One node of a row: its op type, attributes that inputs do not determine, and (dtype, sizes, value or None) of each input."""

    type: str
    attrs: dict
    inputs: tuple
    lengths: tuple


def usages(families=None, computed=True):
    """What the rows of the families (all tables where none are named) use, by op type.

    `computed`: only of operations that can stand anywhere in a program: without state, of arrays of numbers.
    """
    names = sorted(path.stem for path in CASES.glob("*.py") if path.stem not in NO_TABLES)
    found = {}
    for name in families or names:
        for case in importlib.import_module("cases." + name).TABLE.cases:
            with tf.Graph().as_default() as graph:
                try:
                    inputs, *_ = observe.build(tf, case)
                except Exception:  # noqa: BLE001 S112 (rows of bad input raise; what they made before is used)
                    inputs = {}
                given = {t: case.arrays[key] for key, t in inputs.items()}
                for op in graph.get_operations():
                    usage = _usage(op, given, computed)
                    if usage is not None:
                        kept = found.setdefault(op.type, {})
                        kept.setdefault(str((usage.attrs, [i[:2] for i in usage.inputs], usage.lengths)), usage)
    return {name: list(kept.values()) for name, kept in sorted(found.items())}


def _usage(op, given, computed):
    """How a node is used; None where it is of no use to whoever draws."""
    spec = op.spec
    if op.type in NOT_ALONE or not op.inputs or not op.outputs or any(t.dtype._is_ref_dtype for t in (*op.inputs, *op.outputs)):
        return None
    if op_spec.find(op.type) is None or raw.missing_arguments(spec.signature, {*spec.signature.input_index, *op.attrs}):
        return None
    attrs = {name: op.attrs[name] for name in spec.signature.explicit if name in op.attrs}
    if any(spec.signature.attrs[name].element_kind == "func" for name in attrs) or (computed and not _is_computed(op)):
        return None
    inputs = tuple((t.dtype.name, t._sizes, _value(t, given)) for t in op.inputs)
    return Usage(op.type, attrs, inputs, tuple(op.arg_length(a) if a.is_list else None for a in spec.signature.inputs))


def _is_computed(op):
    """Whether the node has no state, and takes and gives arrays of numbers."""
    effects = op.spec.effects
    if effects.is_stateful or effects.reads or effects.writes or effects.external:
        return False
    return not any(t.dtype.name in ("resource", "variant", "string") or t.dtype.is_quantized for t in (*op.inputs, *op.outputs))


def _value(tensor, given):
    value = given.get(tensor)
    value = known_value(tensor) if value is None else value
    return value if value is not None and np.size(value) <= MOST_ELEMENTS else None


class Drawing:
    """Draws one program into the default graph. `steps` describes what it consists of, `refused` the steps that raised.

    `at_edges`: whether some inputs and attributes are at the edge of what is allowed.
    """

    def __init__(self, bank, number, most_steps=MOST_STEPS, at_edges=True):
        self.bank, self.types = bank, list(bank)
        self.most_steps, self.at_edges = most_steps, at_edges
        self.random = np.random.RandomState(number % 2**32)
        self.tensors, self.steps, self.refused = [], [], []

    def build(self):
        """The tensors that no later step takes."""
        for _ in range(self.random.randint(1, self.most_steps + 1)):
            self._add_step()
        used = {id(t) for op in {t.op for t in self.tensors} for t in op.inputs}
        return [t for t in self.tensors if id(t) not in used]

    def _add_step(self):
        uses = self.bank[self.types[self.random.randint(len(self.types))]]
        usage = uses[self.random.randint(len(uses))]
        attrs = {name: self._attr(value) for name, value in usage.attrs.items()}
        shifts = self.random.rand() < 0.15
        values = [self._input(*given, shifts) for given in usage.inputs]
        step = f"{usage.type}({', '.join(map(_shown, values))}, {attrs})"
        arguments, start = [], 0
        for length in usage.lengths:
            arguments.append(values[start] if length is None else values[start : start + length])
            start += 1 if length is None else length
        try:
            made = raw.function(usage.type)(*arguments, **attrs)
        except (ValueError, TypeError, tf.errors.OpError) as e:
            self.refused.append((step, e))
            return
        self.steps.append(step)
        flat = tf.nest.flatten(made)
        self.tensors += [t for t in flat if isinstance(t, tf.Tensor)]

    def _attr(self, value):
        random = self.random
        if isinstance(value, list):
            return [self._attr(v) for v in value]
        if isinstance(value, bool) or random.rand() > 0.04 or not self.at_edges:
            return value
        if isinstance(value, int):
            return EDGE_INTEGERS[random.randint(len(EDGE_INTEGERS))]
        if isinstance(value, float):
            return EDGE_FLOATS[random.randint(len(EDGE_FLOATS))]
        return value

    def _input(self, dtype, sizes, value, shifts):
        random = self.random
        fitting = [t for t in self.tensors if t.dtype.name == dtype and (t._sizes == sizes or random.rand() < 0.3)]
        if fitting and random.rand() < (0.9 if value is None else 0.5):
            return fitting[random.randint(len(fitting))]
        kind = tf.as_dtype(dtype).as_numpy_dtype
        if value is None:
            sizes = [random.randint(1, 4) if s is None else s for s in sizes or ()]
            value = self._random_array(sizes, kind)
        value = np.array(value, kind)
        if shifts and random.rand() < 0.5 and self.at_edges:
            value = self._reshaped(value)
        if random.rand() < 0.3 and self.at_edges:
            value = self._at_edges(value)
        return tf.constant(value, dtype)

    def _random_array(self, sizes, kind):
        numbers = self.random.randint(0, 4, sizes) if np.dtype(kind).kind in "iub" else self.random.uniform(-2, 2, sizes)
        return np.asarray(numbers).astype(kind)

    def _reshaped(self, value):
        """Other sizes: one dimension more, fewer, empty, or of another length."""
        random = self.random
        choice = random.randint(4)
        if choice == 0 or not value.ndim:
            return value[None]
        if choice == 1:
            return value[0] if len(value) else value.reshape(value.shape[1:] + (0,))
        sizes = list(value.shape)
        sizes[random.randint(len(sizes))] = EDGE_SIZES[random.randint(len(EDGE_SIZES))]
        return np.resize(value, sizes) if value.size else np.zeros(sizes, value.dtype)

    def _at_edges(self, value):
        """Some elements, or all, replaced by one or several edge values."""
        random, kind = self.random, value.dtype.kind
        edges = EDGE_INTEGERS if kind in "iu" else [0, 1] if kind == "b" else EDGE_FLOATS
        if kind in "iu":
            limits = np.iinfo(value.dtype)
            edges = [min(max(e, int(limits.min)), int(limits.max)) for e in edges]
        drawn = np.array([edges[i] for i in random.randint(len(edges), size=max(value.size, 1))], object)[: value.size]
        if random.rand() < 0.3:
            drawn[:] = drawn[0] if len(drawn) else None
        with np.errstate(all="ignore"):
            drawn = drawn.astype(np.float64 if kind not in "iub" else value.dtype).astype(value.dtype).reshape(value.shape)
        return np.where(random.rand(*value.shape) < random.choice([0.3, 1.0]), drawn, value)


def _shown(value):
    if value.op.type != "Const":
        return value.name
    array = value.op.attrs["value"]
    return f"{array.dtype}{list(array.shape)}{array.ravel()[:6].tolist()}{'...' if array.size > 6 else ''}"
