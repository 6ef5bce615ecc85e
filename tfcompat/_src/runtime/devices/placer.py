"""Device placement: the device of each operation, by TensorFlow 1.15's rules for explicit devices, colocation and soft placement."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator

import jax

from tfcompat._src.base import errors
from tfcompat._src.base.device import DeviceSpec
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.proto import messages
from tfcompat._src.runtime.devices.devices import TASK, Device, mapping
from tfcompat._src.runtime.state.variable_state import Place, accesses

_ORDER = {"TPU": 0, "GPU": 1, "CPU": 2}
"""Preference of an operation without a device."""


class Placer:
    """The devices of one Session's operations.

    An operation that reads or writes a variable is on the variable's device; otherwise one with a device string is there; one with a
    colocation group is where the operation of that name is; any other is on the first accelerator, or the first CPU.

    Attributes:
      has_twins: whether there are several devices of one kind. mesh_towers: whether equal work on each of them becomes one program.
    """

    def __init__(self, devices: list[Device], config: messages.ConfigProto) -> None:
        self.devices = sorted(devices, key=lambda d: _ORDER.get(d.kind, 1))
        self.jax_devices = list(dict.fromkeys(d.jax_device for d in self.devices))
        self._soft = config.allow_soft_placement
        self._log = config.log_device_placement
        self._only_wanted = config.graph_options.place_pruned_graph
        self._by_text: dict[str, Device | None] = {"": self.devices[0]}
        self._by_op: dict[Operation, Device] = {}
        self._checked = 0
        self.has_twins = len(self.jax_devices) > 1 and len({d.kind for d in devices}) < len(devices)
        self.mesh_towers = self.has_twins
        if self._log:
            sys.stdout.write(mapping(devices) + "\n")

    def place(self, graph: Graph, wanted: list[Operation]) -> None:
        """Checks the devices of the operations added to the graph since the last call, and prints all of them if the config asks for it.

        With `place_pruned_graph` only the operations that a run needs, `wanted`, are checked.

        Raises:
          errors.InvalidArgumentError: there is no such device and the config does not allow soft placement.
        """
        # As in TensorFlow 1.15, the error names the first operation in the order of placement, which may be one that is colocated with
        # an operation of a missing device.
        ops = graph.get_operations()
        new = wanted if self._only_wanted else ops[self._checked :]
        missing = {op for op in new if op._device and self._found(op._device) is None}
        for op in _ordered(new) if missing else ():
            beside = op if op in missing else next((root for root in _groups(op) if root in missing and not op._device), None)
            if beside is not None:
                raise self._missing(op, beside)
        if self._log and len(ops) > self._checked:
            ordered = _ordered(ops)
            sys.stdout.write("".join(f"{op.name}: ({op.type}): {self.device_of(op).name}\n" for op in ordered))
            sys.stdout.flush()
        self._checked = len(ops)

    def device_of(self, op: Operation) -> Device:
        """Returns the device of an operation."""
        device = self._by_op.get(op)
        if device is None:
            device = self._by_op[op] = self._decide(op)
        return device

    def task_of(self, op: Operation) -> str:
        """Returns the name of the task that an operation is placed on."""
        return self.device_of(op).name.partition("/device:")[0]

    def names_at(self, place: Place, ops: Iterable[Operation]) -> list[str]:
        """Returns TensorFlow's names of the devices where a cluster with `ops` runs, without the job and task of a local session.

        Several TensorFlow devices may be one JAX device, as `/device:CPU:0` and a virtual GPU: the one with most of the operations is named.
        """
        counts = Counter(map(self.device_of, ops))
        used = self.jax_devices[:1] if place is None else [place] if isinstance(place, jax.Device) else place.device_set
        named = [[d for d in self.devices if d.jax_device is one] for one in self.jax_devices if one in used]
        return [max(same, key=counts.__getitem__).name.removeprefix(TASK) for same in named]

    def _decide(self, op: Operation) -> Device:
        """Applies the rules of the class to one operation."""
        # An operation on a variable runs where the variable is, whatever device it asks for.
        variables = [v for used in accesses(op) for v in used]
        if variables and variables[0] is not op:
            return self.device_of(variables[0])
        if not op._device:
            root = next(_groups(op), None)
            if root is not None:
                return self.device_of(root)
        return self._found(op._device) or self.devices[0]

    def _found(self, text: str) -> Device | None:
        """Returns the first device that matches a device string; with soft placement, else one of the same task; else None."""
        if text not in self._by_text:
            # Fields that the string leaves out match any device.
            wanted = DeviceSpec.from_string(text)
            fitting = [d for d in self.devices if _fits(wanted, DeviceSpec.from_string(d.name))]
            if not fitting and self._soft:
                task = wanted.replace(device_type=None, device_index=None)
                fitting = [d for d in self.devices if _fits(task, DeviceSpec.from_string(d.name))]
            self._by_text[text] = fitting[0] if fitting else None
        return self._by_text[text]

    def _missing(self, op: Operation, beside: Operation) -> errors.InvalidArgumentError:
        """Returns the error, in TensorFlow's words, for an operation whose device does not exist.

        `beside` is the operation with the device string: `op` itself, or the one that it is colocated with.
        """
        names = ", ".join(d.name for d in self.devices)
        if beside is not op:
            return errors.InvalidArgumentError(
                op.node_def, op,
                f"Cannot assign a device for operation {op.name}: Could not satisfy explicit device specification '' because the node "
                f"{op.name} was colocated with a group of nodes that required incompatible device '{beside._device}'. All available "
                f"devices [{names}].",
            )  # fmt: skip
        # As in TensorFlow 1.15, a missing GPU gets a hint.
        gpu = DeviceSpec.from_string(op._device).device_type == "GPU" and all(d.kind != "GPU" for d in self.devices)
        hint = " The requested device appears to be a GPU, but JAX has found none." if gpu else ""
        return errors.InvalidArgumentError(
            op.node_def, op,
            f"Cannot assign a device for operation {op.name}: node {op.name} was explicitly assigned to {op._device} but "
            f"available devices are [ {names} ]. Make sure the device specification refers to a valid device, or run with "
            f"allow_soft_placement=True in the session's ConfigProto.{hint}",
        )  # fmt: skip


def _groups(op: Operation) -> Iterator[Operation]:
    """Returns the other operations that an operation's colocation groups name."""
    roots = (op.graph._nodes_by_name.get(group.removeprefix(b"loc:@").decode()) for group in op.attrs.get("_class") or ())
    return (root for root in roots if root is not None and root is not op)


def _ordered(ops: list[Operation]) -> list[Operation]:
    """Returns operations in the order in which TensorFlow 1.15 places them: sources last."""
    return [op for op in ops if not _is_source(op)] + [op for op in ops if _is_source(op)]


def _is_source(op: Operation) -> bool:
    """Whether TensorFlow 1.15 places an operation after the others: it has no input, and one output that is no ref."""
    return not op.inputs and len(op.outputs) == 1 and not op.outputs[0].dtype._is_ref_dtype


def _fits(ask: DeviceSpec, have: DeviceSpec) -> bool:
    return all(
        a is None or a == h
        for a, h in (
            (ask.job, have.job), (ask.replica, have.replica), (ask.task, have.task),
            (ask.device_type, have.device_type), (ask.device_index, have.device_index),
        )
    )  # fmt: skip
