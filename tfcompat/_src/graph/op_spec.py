"""The registry: one frozen record per TF op type, written at one place with everything that the op is."""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from typing import Any

from tfcompat._src.graph import signature as signature_lib


class Side(enum.Enum):
    """Which side of a run computes an op: DEVICE, traced into a compiled cluster, or HOST, a step in Python between clusters."""

    DEVICE = "device"
    HOST = "host"


DEVICE, HOST = Side.DEVICE, Side.HOST


@dataclass(frozen=True)
class Effects:
    """What running an op does beside computing its outputs.

    `reads` and `writes` name inputs (refs or resources) whose variable is read or written. `random` ops take a counter from
    the Session. `external` ops touch the world outside the graph (prints, files, queues, Python): they keep creation order.
    `creates` ops make a variable or resource handle. `waits` ops may wait for other threads (run_limits.MustWait). `copies` ops
    are external ones that keep none of the arrays that they are given. `calls` ops call functions of the program, which may wait for
    each other.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    random: bool = False
    external: bool = False
    creates: bool = False
    waits: bool = False
    copies: bool = False
    calls: bool = False

    @property
    def is_stateful(self) -> bool:
        return self.random or self.external or self.creates

    @property
    def keeps_inputs(self) -> bool:
        """Whether arrays that the op is given may stay where later runs find them."""
        return bool(self.external and not self.copies or self.creates or self.writes)


PURE = Effects()
RANDOM = Effects(random=True)
EXTERNAL = Effects(external=True)
WAITING = Effects(external=True, waits=True)


def reads(*names: str) -> Effects:
    """The op reads the variables behind these inputs."""
    return Effects(reads=names)


def updates(*names: str) -> Effects:
    """The op reads and writes the variables behind these inputs."""
    return Effects(reads=names, writes=names)


def overwrites(*names: str) -> Effects:
    """The op writes the variables behind these inputs without reading them."""
    return Effects(writes=names)


class FromKernel:
    """The gradient is the vjp of the kernel."""


FROM_KERNEL = FromKernel()


@dataclass(frozen=True)
class NotDifferentiable:
    """No gradient flows through this op, and why. `raises` says that asking for one is an error, as in 1.15."""

    reason: str
    raises: bool = False


Gradient = Callable[..., Any] | FromKernel | NotDifferentiable


class ByRule:
    """The derivative of the kernel, inside a loop, are the nodes that the op's gradient makes."""


BY_RULE = ByRule()


@dataclass(frozen=True)
class Facts:
    """What the planner knows of an op type beside its kernel.

    Attributes:
      names_variable: its output is the name of a variable. is_placeholder: its output is to be fed.
      names_resource: its output is the resource that its attributes name, the same in all runs of a session.
      tells_status: it tells whether a variable has a value. forgets: it takes the value of a variable or a resource away.
      does_nothing: it is there for control edges alone.
      rows_by: the input that says which rows are picked or added up. picks: whether they are picked out of the first input.
      row_count: where rows are added up, the input that says how many there are then.
      varying_length: how long results are depends on data.
      rejects: it draws until a sample is accepted.
      hands_on: the input that it hands on, or stores, as it is.
      reads_through: it gives what it reads, and nothing else.
      cuts: it cuts a piece out of its first input where the others say.
      scales_rows: it does the same to every number of the rows that it gets.
      compares: of a comparison of two numbers, whether the first is to be less (1) or greater (-1), and whether it may be equal (1, 0).
      conjoins: it is true where both inputs are. counts: it adds its inputs (1), or takes the second from the first (-1).
      adds_all: it adds up a list. reduces: "sum", "mean" or "product" of elements. joins: a list along a "new" dimension, or along an "old" one.
      reads_files: it reads a checkpoint. checks_numbers: it fails where its input has an infinity or a NaN.
      tells_sizes: it gives the shape of its input. converts: it gives its input in another dtype.
      meets_others: it meets its like on other devices or in other processes.
      gathers: it waits for what others give, and none of them waits for it.
      costly: most of the time of a program goes to ops like this.
    """

    names_variable: bool = False
    names_resource: bool = False
    is_placeholder: bool = False
    tells_status: bool = False
    forgets: bool = False
    does_nothing: bool = False
    rows_by: str = ""
    picks: bool = False
    row_count: str = ""
    varying_length: bool = False
    rejects: bool = False
    hands_on: str = ""
    reads_through: bool = False
    cuts: bool = False
    scales_rows: bool = False
    compares: tuple[int, int] | None = None
    conjoins: bool = False
    counts: int = 0
    adds_all: bool = False
    reduces: str = ""
    joins: str = ""
    reads_files: bool = False
    checks_numbers: bool = False
    tells_sizes: bool = False
    converts: bool = False
    meets_others: bool = False
    gathers: bool = False
    costly: bool = False


NO_FACTS = Facts()
COSTLY = Facts(costly=True)
MEETS_OTHERS = Facts(meets_others=True)
NAMES_VARIABLE = Facts(names_variable=True)
NAMES_RESOURCE = Facts(names_resource=True)


@dataclass(frozen=True)
class OpSpec:
    """One TF op type.

    Args:
      name: the op type.
      text: its OpDef signature (graph/signature.py).
      shape: `shape(c: InferenceContext) -> list` of sizes, one per output; sizes is a tuple of int or None, or None.
      kernel: a pure function of arrays (inputs by position, list inputs as tuples) and attributes (keyword-only, those it
        names). A device kernel computes with jax; a host kernel with NumPy. It returns one array, or a tuple of them: first
        the new values of `effects.writes`, then the outputs that are not refs. Random kernels take `rng=(key, counter)`.
      gradient: `gradient(op, *grads) -> list` built of ops, FROM_KERNEL, or NotDifferentiable(reason).
      constants: inputs that the kernel needs as NumPy values.
      traceable: `traceable(op) -> tuple` of those of `constants` that the kernel can also take traced for this node
        (an index that moves in a loop).
      shape_only: inputs of which the kernel uses shape and dtype alone; such a kernel returns NumPy values.
      fold: a NumPy twin of the kernel that gives the same bits; `True` where the kernel itself is written in NumPy.
      near: a NumPy kernel for floating numbers that is equal but for rounding, for shapes that come once and are not worth compiling.
      slope: makes of the kernel one whose derivative is TensorFlow's, where JAX's is another; BY_RULE for one that `gradient` gives.
      effects: what the op reads, writes or prints.
      side: DEVICE or HOST, see `Side`.
      reserve: for random ops, `reserve(outputs, *inputs, **attrs) -> int`: how far the counter moves.
      context: whether a host kernel takes the run's HostContext as its first argument.
      padded: a device twin of a host kernel whose output length depends on data: outputs are as long as they can be, filled up
        with `checks.no_row`. It stands in where only row updates see them, which pass over such entries.
      counted: inputs with one row per entry of which a device kernel takes more than there are: further entries are
        `checks.no_row` in integer inputs, 0 in others. It passes over them, so other numbers of entries need no other program.
      facts: what decides where it runs and with what.
      where: file and line of the registration.
      node_class: the class of its nodes, where that is not Operation.
    """

    name: str
    text: str
    shape: Callable[..., Any]
    kernel: Callable[..., Any]
    gradient: Gradient
    constants: tuple[str, ...] = ()
    shape_only: tuple[str, ...] = ()
    fold: Callable[..., Any] | bool | None = None
    near: Callable[..., Any] | None = None
    slope: Callable[[Callable[..., Any]], Callable[..., Any]] | ByRule | None = None
    effects: Effects = PURE
    side: Side = DEVICE
    reserve: Callable[..., Any] | None = None
    context: bool = False
    padded: Callable[..., Any] | None = None
    counted: tuple[str, ...] = ()
    traceable: Callable[..., Any] | None = None
    facts: Facts = NO_FACTS
    where: str = ""
    node_class: Any = None

    @functools.cached_property
    def signature(self) -> signature_lib.Signature:
        return signature_lib.parse(self.text)

    @functools.cached_property
    def kernel_attrs(self) -> tuple[str, ...]:
        """The attributes that the kernel takes."""
        return keyword_names(self.kernel)

    @functools.cached_property
    def fold_attrs(self) -> tuple[str, ...]:
        """The attributes that the NumPy twin takes."""
        return keyword_names(self.numpy_kernel)

    @functools.cached_property
    def counted_positions(self) -> tuple[int, ...]:
        """The positions of the `counted` inputs."""
        return tuple(self.signature.input_index[n] for n in self.counted)

    @functools.cached_property
    def shape_only_positions(self) -> Container[int]:
        """The flat positions of the `shape_only` inputs; a list among them is the op's only input."""
        found = frozenset(self.signature.input_index[n] for n in self.shape_only)
        is_list = any(self.signature.inputs[i].is_list for i in found)
        return range(sys.maxsize) if is_list else found

    @functools.cached_property
    def numpy_kernel(self) -> Callable[..., Any] | None:
        """The kernel on NumPy values: the twin, or the kernel itself where that is written in NumPy."""
        if self.fold is True or (not self.fold and (self.shape_only or self.is_pure_on_host)):
            return self.kernel
        return self.fold or None

    @property
    def is_pure_on_host(self) -> bool:
        """A host op without effects: computed while a cluster is traced where its inputs are known there."""
        return self.side == HOST and self.effects == PURE and not self.context


@functools.cache
def keyword_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The keyword-only parameters of a kernel without a default, except those that the runtime provides."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return ()
    return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name not in ("rng",))


_REGISTRY: dict[str, OpSpec] = {}


def register(spec: OpSpec) -> OpSpec:
    """Adds a record; a second one of the same name raises and names both places."""
    if spec.name in _REGISTRY:
        raise ValueError(f"op {spec.name} is registered at {_REGISTRY[spec.name].where} and again at {spec.where}")
    _REGISTRY[spec.name] = spec
    return spec


def op(name: str, text: str, *, shape: Callable[..., Any], gradient: Gradient, kernel: Callable[..., Any] | None = None, depth: int = 1, **fields: Any) -> Callable[..., Any]:
    """Registers an op type; without `kernel`, returns a decorator for it.

    `depth` is the number of call frames between the row and this function, so that `where` names the row.
    """
    frame = sys._getframe(depth)
    where = f"{frame.f_code.co_filename}:{frame.f_lineno}"

    def add(kernel: Callable[..., Any]) -> Callable[..., Any]:
        register(OpSpec(name, text, shape, kernel, gradient, where=where, **fields))
        return kernel

    return add if kernel is None else add(kernel)


LATER_FORMS: dict[str, OpSpec] = {}
"""Op types as TensorFlow 2 writes them, with attributes that 1.15 does not have: nodes of files that have these are of such types."""


def later_form(name: str, text: str, *, shape: Callable[..., Any], gradient: Gradient, **fields: Any) -> Callable[..., Any]:
    """A decorator that registers the kernel of an op type with the attributes that TensorFlow 2 has added."""

    def add(kernel: Callable[..., Any]) -> Callable[..., Any]:
        LATER_FORMS[name] = OpSpec(name, text, shape, kernel, gradient, where=kernel.__module__, **fields)
        return kernel

    return add


LATE_FAMILIES: list[str] = []
"""Modules that are imported when an op type is asked for that nobody has registered."""


def find(name: str) -> OpSpec | None:
    """The record of an op type, or None where tfcompat has none."""
    while name not in _REGISTRY and LATE_FAMILIES:
        importlib.import_module(LATE_FAMILIES.pop())
    return _REGISTRY.get(name)


def registered() -> Iterable[OpSpec]:
    """The records of all op types."""
    return _REGISTRY.values()


def get(name: str) -> OpSpec:
    """The record of an op type; NotImplementedError where tfcompat has none."""
    spec = find(name)
    if spec is None:
        raise NotImplementedError(f"tfcompat has no op {name!r}.")
    return spec


def registered_names() -> list[str]:
    return sorted(_REGISTRY)


PASS_ON = frozenset((
    "Const", "Enter", "Exit", "ExpandDims", "Identity", "Merge", "NextIteration", "Placeholder", "PreventGradient", "Reshape", "Squeeze",
    "StopGradient", "Switch", "Variable", "VariableV2",
))  # fmt: skip
"""Op types whose output is what they were given, or what is there already: they take no memory of their own."""
