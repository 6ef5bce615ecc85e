"""Looks inside a run that differs: which is the first node whose inputs agree and whose output does not?

A record made with --all-tensors has the tensors between feeds and fetches. The run is made once more with all of them fetched; then each node that
differs, in topological order, is computed alone from its recorded inputs. The first that differs alone too is wrong by itself. Where each agrees alone,
the difference is rounding noise that the program amplifies.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping

import numpy as np
from google.protobuf import text_format

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph.operation import Operation
from tfcompat._src.proto import messages
from tfcompat._src.replay import recorder
from tfcompat._src.replay.differences import DIFFERS, Difference, difference
from tfcompat._src.replay.record import Run, Value
from tfcompat._src.replay.replay import NotReplayed, Replica, as_array

MOST = 200
"""How many nodes are computed alone at most."""


@dataclasses.dataclass
class FirstNode:
    """The first node of a run that differs.

    Attributes:
      alone: whether it differs when it is computed alone from its recorded inputs; None if it could not be computed alone (`why`).
      inputs: its inputs by name. unknown: those that the record lacks, so that a node before them may be the first. files: for a program that shows it.
    """

    op: Operation
    type: str
    line: str
    difference: Difference
    inputs: Mapping[str, NDArray]
    unknown: list[str]
    alone: bool | None
    why: str = ""
    files: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """The report."""
        yield f"first node that differs: {self.op.name} ({self.type})" + (f", made at {self.line}" if self.line else "")
        yield f"  output {self.difference}"
        for name, array in self.inputs.items():
            yield f"  input {name} {array.dtype.name if array.dtype != object else 'string'} {list(array.shape)}"
        shown = {key: str(value).strip().replace("\n", " ") for key, value in self.op.node_def.attr.items() if not key.startswith("_")}
        yield "  attributes " + ", ".join(f"{key}: {value[:60]}" for key, value in sorted(shown.items()))
        if self.alone:
            yield "  it differs alone too, computed from its recorded inputs"
        elif self.alone is None:
            yield f"  it was not computed alone: {self.why}"
        if self.unknown:
            yield f"  the record lacks its inputs {', '.join(self.unknown)}: the first difference may be before them"
        for file in self.files:
            yield f"  wrote {file}"


@dataclasses.dataclass
class Explanation:
    """The first node that differs, or a sentence that says why there is none; `is_noise`: rounding explains the difference."""

    node: FirstNode | None
    why: str = ""
    is_noise: bool = False


def explain(replica: Replica, run: Run, folder: str | None = None, exact: bool = False) -> Explanation:
    """Searches a run that differs for the first node that does.

    Args:
      folder: where to write the inputs of the node and a program that shows it, or None.
    """
    return _Inside(replica, run, exact).explain(folder)


class _Inside:
    """One search: recorded tensors, and those of this run, by name."""

    def __init__(self, replica: Replica, run: Run, exact: bool) -> None:
        self.replica, self.run, self.exact, self.graph = replica, run, exact, replica.graph
        self.recorded: dict[str, NDArray] = {}
        for values in (run.between, run.random, run.sources, run.fetches, run.feeds):
            self.recorded.update({name: value.array for name, value in values.items() if value is not None and value.is_whole and value.array is not None})
        for name, value in run.before.items():
            if value is not None and value.array is not None and value.is_whole:
                self._is_read_as(self.graph.get_operation_by_name(name), value.array)
        tensors = [self.graph.get_tensor_by_name(name) for name in run.wanted]
        targets = [self.graph.get_operation_by_name(name) for name in run.targets]
        self.anatomy = recorder.Anatomy([self.graph.get_tensor_by_name(name) for name in run.feeds], tensors, targets, lambda name: True)
        self.order = {op: i for i, op in enumerate(self.graph.get_operations())}

    def _is_read_as(self, variable: Operation, array: NDArray) -> None:
        """Takes a variable's value before the run for what its Identity gives: in 1.15 that shares the variable's memory, and is not recorded."""
        for reader in variable.outputs[0].consumers():
            if reader.type == "Identity":
                self.recorded.setdefault(reader.outputs[0].name, array)

    def explain(self, folder: str | None) -> Explanation:
        run, replica = self.run, self.replica
        names = [t.name for t in (*self.anatomy.between, *self.anatomy.random) if t.name in self.recorded and t.name not in run.feeds]
        names = list(dict.fromkeys([*names, *run.wanted]))
        try:
            replica.put_in_place(run)
            replica.rewind(run)
            values, variables = replica.make(run, names)
        except (NotReplayed, errors.OpError, NotImplementedError, TypeError, ValueError, RuntimeError) as e:
            return Explanation(None, f"the run cannot be made with all recorded tensors fetched: {type(e).__name__}: {e}")
        found = {name: self._difference(name, here) for name, here in values.items() if name in self.recorded}
        differing = {name for name, d in found.items() if d.verdict == DIFFERS}
        ops = sorted({self.graph.get_tensor_by_name(name).op for name in differing}, key=self.order.__getitem__)
        written = {name: difference(name, value.array, variables[name], self._depth([]), self.exact) for name, value in run.after.items() if _is_whole(value) and name in variables}  # type: ignore[union-attr, arg-type]  # _is_whole
        ops += sorted((op for name in written if written[name].verdict == DIFFERS for op in self._writers(name)), key=self.order.__getitem__)
        if not ops:
            return Explanation(None, "no recorded tensor differs when all of them are fetched: the difference comes of how the run is compiled as a whole")
        if not run.between:
            nearest = sorted(differing, key=lambda name: self.order[self.graph.get_tensor_by_name(name).op])[:1] or [name for name, d in written.items() if d.verdict == DIFFERS][:1]
            return Explanation(None, f"{nearest[0]} is the first that differs of the values in the record; record with --all-tensors to find the node")
        return self._first(ops[:MOST], differing, found, written, folder)

    def _first(
        self, ops: list[Operation], differing: set[str], found: Mapping[str, Difference], written: Mapping[str, Difference], folder: str | None
    ) -> Explanation:  # fmt: skip
        """Returns the first of `ops` whose inputs agree, and which is wrong alone."""
        agree_alone = 0
        for op in ops:
            wrong = next((found[t.name] for t in op.outputs if t.name in differing), None)
            variables = [t.op.name for t in op.inputs if t.op.name in written]
            wrong = wrong or next((written[name] for name in variables if written[name].verdict == DIFFERS), None)
            if wrong is None:
                continue
            inputs, unknown = self._inputs(op)
            alone, why = None, ""
            if _in_loop(op):
                why = "it is the result of a loop, whose inside a run cannot fetch"
            else:
                try:
                    alone = self._alone(op, inputs)
                except (errors.OpError, NotImplementedError, TypeError, ValueError, RuntimeError, NotReplayed) as e:
                    why = f"{type(e).__name__}: {str(e).partition(chr(10))[0]}"
            if alone is False:
                agree_alone += 1
                continue
            if alone is None and any(t.name in differing for t in op.inputs):
                continue  # another is before it
            node = FirstNode(op, self.replica.types.get(op.name, op.type), self.replica.record.lines(self.replica.name).get(op.name, ""), wrong, inputs, unknown, alone, why)
            if folder is not None and alone:
                node.files = write_program(folder, self.run, node, {n: v.array for n, v in self.run.before.items() if v is not None and v.array is not None})
            return Explanation(node)
        return Explanation(None, f"each of the {agree_alone} nodes that differ agrees when it is computed alone from its recorded inputs: rounding that the program amplifies", True)

    # ---- one node ----

    def _inputs(self, op: Operation) -> tuple[dict[str, NDArray], list[str]]:
        """The recorded inputs of a node, and the names of those that the record lacks."""
        known: dict[str, NDArray] = {}
        unknown = []
        for tensor in op.inputs:
            if recorder.is_ref(tensor) or recorder.dtype_name(tensor) in ("resource", "variant"):
                continue
            if tensor.name in self.recorded:
                known[tensor.name] = self.recorded[tensor.name]
            else:
                unknown.append(tensor.name)
        return known, unknown

    def _alone(self, op: Operation, inputs: Mapping[str, NDArray]) -> bool:
        """Computes a node from its recorded inputs; returns whether its outputs, or the variables that it writes, differ."""
        replica, run = self.replica, self.run
        replica.put_in_place(run)
        replica.rewind(run)
        feeds = replica.feeds(run)
        feeds.update({name: array for name, array in inputs.items() if self.graph.get_tensor_by_name(name).op.type != "Const"})
        outputs = [t for t in op.outputs if t.name in self.recorded]
        values = replica.session.run([[t.name for t in outputs], op], feeds)[0]
        depth = self._depth(list(inputs.values()))
        for tensor, here in zip(outputs, values):
            if difference(tensor.name, self.recorded[tensor.name], as_array(here), depth, self.exact, op.type).verdict == DIFFERS:
                return True
        for name in {t.op.name for t in op.inputs} & set(run.after):
            value = run.after[name]
            if _is_whole(value):
                here = as_array(replica.session.run(replica.imported.setters[name].read))
                if difference(name, value.array, here, depth, self.exact).verdict == DIFFERS:  # type: ignore[union-attr, arg-type]  # _is_whole
                    return True
        return False

    def _writers(self, variable: str) -> list[Operation]:
        """The operations of the run that write a variable."""
        consumers = self.graph.get_operation_by_name(variable).outputs[0].consumers()
        return [op for op in consumers if op.name in self.anatomy.names and recorder.is_whole(recorder.WRITER, op.type)]

    def _difference(self, name: str, here: NDArray) -> Difference:
        op = self.graph.get_tensor_by_name(name).op
        return difference(name, self.recorded[name], here, self._depth(list(self._inputs(op)[0].values())), self.exact, op.type)

    def _depth(self, inputs: list[NDArray]) -> int:
        return max((array.size for array in inputs), default=0) or self.replica.depth(self.run)


def _is_whole(value: Value | None) -> bool:
    return value is not None and value.is_whole and value.array is not None


def _in_loop(op: Operation) -> bool:
    return op.type in ("Exit", "RefExit", "Merge", "RefMerge", "Switch", "RefSwitch")


# ---- a program that shows it ----

PROGRAM = '''"""{title}

Runs with TensorFlow 1.15 and, as `tfcompat run {name}.py`, with tfcompat. It prints how far the result is from the recorded one.
"""
import numpy as np
import tensorflow as tf
from google.protobuf import text_format
values = np.load("{name}.npz")
tf.import_graph_def(text_format.Parse(open("{name}.pbtxt").read(), tf.GraphDef()), name="")
with tf.Session() as session:
    feeds = {{key + ":0": values[key] for key in values.files if key != "recorded"}}
    session.run({assigns}, feeds)
    {run}
print("largest difference:", np.abs(np.asarray(here, np.float64) - values["recorded"].astype(np.float64)).max())
'''


def write_program(folder: str, run: Run, node: FirstNode, variables: Mapping[str, NDArray]) -> tuple[str, ...]:
    """Writes a node's inputs (.npz), the node (.pbtxt) and a program; returns the files, or none where NumPy's files cannot hold the values."""
    op = node.op
    graph, arrays = messages.GraphDef(), {}
    copy = graph.node.add()
    copy.CopyFrom(op.node_def)
    copy.name, copy.device = "node", ""
    del copy.input[:]
    copy.attr.pop("_class", None)
    assigns: list[str] = []
    result = next((f"node:{i}" for i, t in enumerate(op.outputs) if t.name == node.difference.name), "")
    for i, tensor in enumerate(op.inputs):
        key = f"input_{i}"
        dtype = tensor.dtype.base_dtype.as_datatype_enum
        if tensor.op.type in recorder.VARIABLES:
            _add_variable(graph, tensor.op, f"variable_{i}", key)
            copy.input.append(f"variable_{i}")
            assigns.append(f"assign_variable_{i}")
            arrays[key] = variables[tensor.op.name]
            if tensor.op.name == node.difference.name:
                result = f"read_variable_{i}:0"
            continue
        placeholder = graph.node.add(name=key, op="Placeholder")
        placeholder.attr["dtype"].type = dtype
        copy.input.append(key)
        if tensor.name not in node.inputs:
            return ()
        arrays[key] = node.inputs[tensor.name]
    recorded = _recorded(run, node.difference.name)
    if recorded is None or any(array.dtype.kind not in "fiubc" for array in [*arrays.values(), recorded]):
        return ()
    name = f"run{run.order}_" + op.name.replace("/", "_")
    os.makedirs(folder, exist_ok=True)
    paths = tuple(os.path.join(folder, name + ending) for ending in (".npz", ".pbtxt", ".py"))
    np.savez(paths[0], recorded=recorded, **arrays)
    made = f'here = session.run("{result}", feeds)' if result.startswith("node") else f'session.run("node", feeds); here = session.run("{result}")'
    title = f"{node.type} {op.name!r} of recorded run {run.order}."
    for path, text in [(paths[1], text_format.MessageToString(graph)), (paths[2], PROGRAM.format(title=title, name=name, assigns=assigns, run=made))]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return paths


def _recorded(run: Run, name: str) -> NDArray | None:
    everywhere: tuple[Mapping[str, Value | None], ...] = (run.between, run.random, run.fetches, run.after)
    for values in everywhere:
        value = values.get(name)
        if value is not None:
            return value.array
    return None


def _add_variable(graph: messages.GraphDef, variable: Operation, name: str, key: str) -> None:
    """Adds a variable, a placeholder for its value, and nodes that assign and read it."""
    own = graph.node.add()
    own.CopyFrom(variable.node_def)
    own.name, own.device = name, ""
    own.attr.pop("_class", None)
    dtype = own.attr["dtype"].type
    graph.node.add(name=key, op="Placeholder").attr["dtype"].type = dtype
    assign = graph.node.add(name="assign_" + name, input=[name, key])
    read = graph.node.add(name="read_" + name, input=[name])
    if own.op == "VarHandleOp":
        assign.op, read.op = "AssignVariableOp", "ReadVariableOp"
        assign.attr["dtype"].type = read.attr["dtype"].type = dtype
    else:
        assign.op, read.op = "Assign", "Identity"
        assign.attr["T"].type = read.attr["T"].type = dtype
        assign.attr["validate_shape"].b = False
