"""The op registry: one frozen OpSpec per TF op type.

A record holds everything about the op in one row: signature, shape function, kernel, gradient, effects, and facts for the planner.
The modules of `ops/` (and of other folders that define op types) register their rows when they are imported.
"""

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


# ---- side effects ----


@dataclass(frozen=True)
class Effects:
    """The side effects of an op.

    Attributes:
      reads: names of the inputs (refs or resources) whose variables the op reads.
      writes: names of the inputs whose variables the op writes.
      random: the op takes a random counter from the Session.
      external: the op touches state outside the graph (prints, files, queues, Python); such ops run in creation order.
      creates: the op makes a variable or resource handle.
      waits: the op may block until another thread acts (run_limits.MustWait).
      copies: the op is external, but retains none of its input arrays.
      calls: the op calls Python functions of the program, which may wait for each other.
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
        """Whether the op may retain its input arrays beyond the run, so that their buffers must not be donated."""
        return bool(self.external and not self.copies or self.creates or self.writes)


PURE = Effects()
RANDOM = Effects(random=True)
EXTERNAL = Effects(external=True)
WAITING = Effects(external=True, waits=True)


def reads(*names: str) -> Effects:
    """Returns the effects of an op that reads the variables behind these inputs."""
    return Effects(reads=names)


def updates(*names: str) -> Effects:
    """Returns the effects of an op that reads and writes the variables behind these inputs."""
    return Effects(reads=names, writes=names)


def overwrites(*names: str) -> Effects:
    """Returns the effects of an op that writes the variables behind these inputs without reading them."""
    return Effects(writes=names)


# ---- gradients ----


class FromKernel:
    """Type of FROM_KERNEL, which says that the gradient is the VJP of the kernel."""


FROM_KERNEL = FromKernel()


@dataclass(frozen=True)
class NotDifferentiable:
    """The op has no gradient for this reason; `raises` if asking for one is an error in 1.15, otherwise it is None."""

    reason: str
    raises: bool = False


Gradient = Callable[..., Any] | FromKernel | NotDifferentiable


# ---- properties for the planner ----


@dataclass(frozen=True)
class Facts:
    """Properties of an op type that the planner uses, so that no stage of a run lists op types.

    Attributes:
      names_variable: the output is a variable handle.
      names_resource: the output is a resource handle determined by the attributes, the same in all runs of a session.
      is_placeholder: the output must be fed.
      tells_status: the op returns whether a variable has a value.
      forgets: the op removes the value of a variable or a resource.
      does_nothing: the op exists only for its control edges.
      rows_by: name of the input that holds the row numbers by which rows are gathered or summed.
      picks: with `rows_by`, the op gathers rows of its first input.
      row_count: for a sum by row, name of the input that holds the number of result rows.
      varying_length: the length of the outputs depends on data.
      rejects: the op samples by rejection.
      hands_on: name of the input that the op forwards, reshapes or stores without changing its elements.
      reads_through: the op returns its input, or the value of the variable that it reads, and does nothing else.
      cuts: the op slices its first input at positions that the other inputs hold.
      scales_rows: the op maps every element of its rows alike (scales, casts, negates them), so that padding rows stay padding.
      compares: for a comparison, (1 for less or -1 for greater, 1 if equal numbers compare true or 0).
      conjoins: the op is a logical AND.
      counts: 1 for an addition, -1 for a subtraction: the step of a loop counter.
      adds_all: the op sums a list of tensors.
      reduces: for a reduction, "sum", "mean" or "product".
      joins: "new" for a stack (along a new dimension), "old" for a concatenation (along an existing one).
      reads_files: the op reads a checkpoint.
      checks_numbers: the op fails if its input has an infinity or a NaN.
      tells_sizes: the op returns the shape of its input.
      converts: the op casts its input to another dtype.
      meets_others: the op is a collective: it communicates with its counterparts on other devices or in other processes.
      gathers: the op waits for values from other threads, none of which waits for this op.
      costly: ops of this type dominate a program's time (convolutions, matrix products ...).
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


# ---- the record ----


@dataclass(frozen=True)
class OpSpec:
    """The record of one TF op type.

    Args:
      name: the op type.
      text: its OpDef signature (graph/signature.py).
      shape: `shape(c: InferenceContext) -> list` of sizes, one per output; sizes is a tuple of int or None, or None.
      kernel: a function of arrays (inputs by position, list inputs as tuples) and of the attributes that it names as keyword-only
        parameters. A device kernel is pure and computes with JAX; a host kernel computes with NumPy. It returns one array, or a
        tuple of arrays: first the new values of `effects.writes`, then the outputs that are not refs. Random kernels take
        `rng=(key, counter)`.
      gradient: `gradient(op, *grads) -> list` of tensors built of ops, FROM_KERNEL, or NotDifferentiable(reason).
      constants: inputs that the kernel needs as NumPy values while it is traced.
      traceable: `traceable(op) -> tuple` of those of `constants` that the kernel of this node also accepts as tracers
        (a loop-dependent index).
      shape_only: inputs of which the kernel uses only shape and dtype; such a kernel returns NumPy values.
      fold: a NumPy twin of the kernel that gives the same bits; `True` where the kernel itself is written in NumPy.
      near: a NumPy kernel for floating numbers that is equal but for rounding, for shapes that come once and are not worth compiling.
      exact: whether JAX's derivative of the kernel is what `gradient` computes at every value, infinities and NaN included. Where JAX
        differentiates kernels (inside a loop), it is used then; for other ops the nodes that `gradient` builds are.
      effects: the side effects.
      side: DEVICE or HOST, see `Side`.
      reserve: for random ops, `reserve(outputs, *inputs, **attrs) -> int`: by how much the random counter advances.
      context: whether a host kernel takes the run's HostContext as its first argument.
      padded: a device twin of a host kernel whose output length depends on data. Its outputs have the maximal length, padded with
        `checks.no_row`; it is used if only row updates read the outputs, since those skip padding.
      counted: inputs with one row per entry that a device kernel also accepts padded, with `checks.no_row` in integer inputs and 0
        in others. The kernel skips padding, so one compiled program serves several numbers of entries.
      facts: properties that the planner uses, see `Facts`.
      where: file and line of the registration.
      node_class: the class of the op's nodes, if it is not Operation.
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
    exact: bool = False
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
        """Names of the attributes that the kernel takes."""
        return keyword_names(self.kernel)

    @functools.cached_property
    def fold_attrs(self) -> tuple[str, ...]:
        """Names of the attributes that the NumPy kernel takes."""
        return keyword_names(self.numpy_kernel)

    @functools.cached_property
    def counted_positions(self) -> tuple[int, ...]:
        """The positions of the `counted` inputs."""
        return tuple(self.signature.input_index[n] for n in self.counted)

    @functools.cached_property
    def shape_only_positions(self) -> Container[int]:
        """The flat positions of the `shape_only` inputs: all positions if one is a list, which is then the op's only input."""
        positions = frozenset(self.signature.input_index[n] for n in self.shape_only)
        is_list = any(self.signature.inputs[i].is_list for i in positions)
        return range(sys.maxsize) if is_list else positions

    @functools.cached_property
    def numpy_kernel(self) -> Callable[..., Any] | None:
        """The kernel for NumPy values: the `fold` twin, or the kernel itself if it is written in NumPy; None without either."""
        if self.fold is True or (not self.fold and (self.shape_only or self.is_pure_on_host)):
            return self.kernel
        return self.fold or None

    @property
    def is_pure_on_host(self) -> bool:
        """Whether this is a host op without effects, which tracing a cluster evaluates when its inputs are known."""
        return self.side == HOST and self.effects == PURE and not self.context


@functools.cache
def keyword_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Returns the names of a kernel's required keyword-only parameters (its attributes), without `rng`, which the runtime provides."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return ()
    return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name not in ("rng",))


# ---- the registry ----

# Written by `register` alone. Rows register at import time, so reading needs no lock.
_REGISTRY: dict[str, OpSpec] = {}


def register(spec: OpSpec) -> OpSpec:
    """Adds a record to the registry and returns it; raises ValueError if the op type is registered already."""
    if spec.name in _REGISTRY:
        raise ValueError(f"The op type {spec.name} is registered twice: at {_REGISTRY[spec.name].where} and at {spec.where}.")
    _REGISTRY[spec.name] = spec
    return spec


def op(name: str, text: str, *, shape: Callable[..., Any], gradient: Gradient, kernel: Callable[..., Any] | None = None, depth: int = 1, **fields: Any) -> Callable[..., Any]:
    """Registers an op type and returns its kernel; without `kernel`, returns a decorator for the kernel.

    `depth` is the number of call frames between the registering row and this function, so that `where` names the row.
    """
    # The caller's frame is the row in ops/, which errors and `explain` name.
    frame = sys._getframe(depth)
    where = f"{frame.f_code.co_filename}:{frame.f_lineno}"

    def add(kernel: Callable[..., Any]) -> Callable[..., Any]:
        register(OpSpec(name, text, shape, kernel, gradient, where=where, **fields))
        return kernel

    return add if kernel is None else add(kernel)


LATER_FORMS: dict[str, OpSpec] = {}
"""Records of op types with the attributes that TensorFlow 2 added; a node of a graph file that has these attributes uses them."""


def later_form(name: str, text: str, *, shape: Callable[..., Any], gradient: Gradient, **fields: Any) -> Callable[..., Any]:
    """Returns a decorator that registers a kernel for an op type with the attributes that TensorFlow 2 added."""

    def add(kernel: Callable[..., Any]) -> Callable[..., Any]:
        LATER_FORMS[name] = OpSpec(name, text, shape, kernel, gradient, where=kernel.__module__, **fields)
        return kernel

    return add


LATE_FAMILIES: list[str] = []
"""Names of modules that register further op types; `find` imports them when it meets an unknown op type."""


def find(name: str) -> OpSpec | None:
    """Returns the record of an op type, or None if tfcompat has none; imports late families until it is registered."""
    # A late family registers its op types when it is imported; which ones is not known before.
    while name not in _REGISTRY and LATE_FAMILIES:
        importlib.import_module(LATE_FAMILIES.pop())
    return _REGISTRY.get(name)


def registered() -> Iterable[OpSpec]:
    """Returns the records of all op types registered so far."""
    return _REGISTRY.values()


def get(name: str) -> OpSpec:
    """Returns the record of an op type; raises NotImplementedError if tfcompat has none."""
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
"""Op types whose outputs alias an input, a feed, a constant or a variable: they allocate no memory."""
