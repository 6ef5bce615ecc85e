"""The placement rules: an ordered table, of which the first rule that holds decides on which side an item runs. `explain` prints its name.

Rules before the first choice say what only one side can do. The choices after it keep work on the host that compiling would not pay for:
mostly because its shapes depend on data, and each shape would be compiled. All other items are compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes, jax_compat
from tfcompat._src.graph import op_spec
from tfcompat._src.graph.op_spec import DEVICE, HOST
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.array_origin import array_of_flow, array_op, has_one_element_shape
from tfcompat._src.runtime.engines.choice import FEW, NEW_SHAPES, ONCE, Estimate, decide
from tfcompat._src.runtime.ir.cond_item import CondItem
from tfcompat._src.runtime.ir.item import Item, OpItem, constants_of
from tfcompat._src.runtime.ir.loop_item import LoopGradientItem, LoopItem, host_chooses, loops_of, opened
from tfcompat._src.runtime.ir.plan import COMPILED
from tfcompat._src.runtime.ir.routed_item import RoutedItem
from tfcompat._src.runtime.passes.fold import near_kernel
from tfcompat._src.runtime.state.variable_state import is_chosen, variable_key, variable_op

if TYPE_CHECKING:
    from tfcompat._src.runtime.passes.placement import Placement


@dataclass(frozen=True)
class Rule:
    """Places the items for which `holds(placement, item)` is true.

    Attributes:
      name: the reason, as `explain` shows it. side: HOST or DEVICE.
      is_choice: the other side could compute these items too, at a higher cost.
    """

    name: str
    side: op_spec.Side
    holds: Callable[[Placement, Item], bool]
    is_choice: bool = False


# ---- conditionals and loops ----


def _holds_host_work(p: Placement, item: Item) -> bool:
    """Whether the host must drive a conditional or loop: it holds host work, its predicate comes from the host, or an input has no value."""
    if isinstance(item, RoutedItem):
        return True
    if not isinstance(item, CondItem | LoopItem):
        return False
    # A predicate on the host: only the branch taken is called, instead of compiling both.
    if isinstance(item, CondItem) and p.producer.get(item.predicate) in p.on_host:
        return True
    # A tensor in the branch that a host conditional does not take has no value, where a compiled conditional has zeros. The host must
    # drive its consumers too, as they cannot be called without it.
    for t in item.takes:
        source = p.producer.get(t)
        if isinstance(source, CondItem) and source in p.on_host and source.is_guarded(t):
            return True
        if isinstance(item, CondItem) and t in p.work.dead:
            return True
    # Findings of earlier traces: the loop variables change their shape, branches have different shapes, ...
    if any(loop.program.why_not_compiled(p.work.findings, p.work.facts) for loop in loops_of(item)):
        return True
    if host_chooses(item, p.work.findings):
        return True
    is_static = p.static_inside(item.operations)
    if isinstance(item, CondItem) and _needs_number_of_branch(item, is_static):
        return True
    # Host operations inside, unless the trace folds them.
    return any(
        op.spec.effects.external or _has_host_dtype(p, op)
        or op.spec.side == HOST and not (op.spec.is_pure_on_host and all(map(is_static, op.outputs)))
        for op in item.operations
    )  # fmt: skip


def _needs_number_of_branch(item: CondItem, is_static: Callable[[Tensor], bool]) -> bool:
    """Whether a kernel in a branch needs a NumPy value that the branch itself computes from data."""
    # No host step can come in between, as it could before the conditional.
    inside = [*item.shared, *opened(item)]
    made = {t for i in inside for t in i.outputs} | {t for merge in item.merges for t in merge.outputs}
    asked = (i.takes[position] for i in inside if isinstance(i, OpItem) for position in constants_of(i))
    return any(t in made and not is_static(t) for t in asked)


def _differentiates_host_loop(p: Placement, item: Item) -> bool:
    """Whether an item is the gradient of a loop that the host drives; the host recorded its iterations."""
    return isinstance(item, LoopGradientItem) and item.loop in p.on_host


# ---- operations that only one side can run ----


def _has_host_dtype(p: Placement, item: OpItem | Operation) -> bool:
    """Whether an item has an input or output that only the host can represent.

    These are strings, variants, quantized values, resources other than variables, and refs of variables that are chosen at run time.
    """
    for t in (*item.takes, *item.outputs):
        name = t.dtype.base_dtype.name
        # A TensorArray (its handle, or its flow) can be compiled if it is one buffer: numbers, all of one shape.
        array = array_op(t) if name == "resource" else array_of_flow(t, p.arrays)
        if array is not None:
            if array.attrs["dtype"].name in ("string", "variant", "resource") or not has_one_element_shape(array):
                return True
            continue
        if (name in ("string", "variant") or t.dtype.is_quantized) and t not in p.known:
            return True
        # The handle of one known variable is resolved while planning.
        if name == "resource":
            variable = variable_op(t)
            if variable is None or variable.attrs["dtype"].name in ("string", "variant"):
                return True
        if t.dtype._is_ref_dtype and is_chosen(t):
            return True
    return False


def _only_updates_rows(p: Placement, item: OpItem) -> bool:
    """Whether distinct row numbers (`tf.unique`) are used only to sum by row and to update rows of variables, so that padding is harmless.

    This is how the sparse gradient of an embedding is applied. Its length depends on data; the device twin `padded` fills it up with
    `checks.no_row`, which these users ignore, so that the step stays one compiled program.
    """
    if item.spec.padded is None:
        return False
    rows, places = item.outputs
    if item.takes[0].dtype not in (dtypes.int32, dtypes.int64) or not {rows, places}.isdisjoint(p.fetched):
        return False
    # Row numbers of varying length come from a host step anyway. On a CPU they then stay there.
    if jax_compat.compiles_to_cpu() and p.varies(item.takes[0]):
        return False
    sums = p.uses(places)
    if not all(i.facts.row_count and _named(i, i.facts.rows_by) is places for i in sums):
        return False
    return all(_is_row_update(i, rows) or _is_row_count(p, i, sums) for i in p.uses(rows))


def _is_row_update(item: Item, rows: Tensor) -> bool:
    """Whether an item updates the rows of a variable that `rows` numbers."""
    if not isinstance(item, OpItem) or not item.effects.writes:
        return False
    names = item.spec.signature.input_index
    return "indices" in names and item.takes[names["indices"]] is rows


def _is_row_count(p: Placement, item: Item, sums: list[Item]) -> bool:
    """Whether `item` takes the shape of the rows, and only slices of it are used, as the number of rows of the sums."""
    if not isinstance(item, OpItem) or not item.spec.shape_only:
        return False
    return all(
        c.facts.cuts and all(u in sums and _named(u, u.facts.row_count) is c.outputs[0] for u in p.uses(c.outputs[0]))
        for c in p.uses(item.outputs[0])
    )


def _named(item: Item, name: str) -> Tensor | None:
    """Returns the input `name` of an item; None for "" and for items that are not operations."""
    return item.takes[item.spec.signature.input_index[name]] if isinstance(item, OpItem) and name else None


# ---- operations that are not worth compiling ----


def _is_small_work(p: Placement, item: OpItem) -> bool:
    """Whether the plan runs once, and NumPy can compute the item."""
    can = item.spec.numpy_kernel is not None or not item.outputs and not item.takes
    return p.decision.why == ONCE and not item.effects.creates and can


def _comes_once(p: Placement, item: OpItem) -> bool:
    """Whether the plan sees new shapes in most runs, and NumPy can compute the item, which has no effects."""
    effects = item.effects
    has_kernel = item.spec.numpy_kernel is not None or near_kernel(item.op) is not None
    return p.decision.why == NEW_SHAPES and has_kernel and not (effects.reads or effects.writes or effects.external)


def _samples_by_rejection(p: Placement, item: OpItem) -> bool:
    """Whether an item draws few samples by rejection, with parameters that are on the host."""
    # NumPy draws again only for the samples that were rejected; a compiled loop draws all of them in each round.
    if not item.facts.rejects or not all(map(p.is_there, item.takes)):
        return False
    return decide(Estimate(samples=item.outputs[0].shape.num_elements() or 0), p.work.record).why == FEW


def _is_integer_work_on_host_values(p: Placement, item: OpItem) -> bool:
    """Whether an item is integer arithmetic on outputs of host steps."""
    # A compiled call between two host steps costs more than the arithmetic, and their outputs often have other shapes in each run.
    if item.spec.numpy_kernel is None or item.effects != op_spec.PURE:
        return False
    if not all(t.dtype.is_integer or t.dtype.is_bool for t in item.outputs):
        return False
    sources = [p.producer.get(t) for t in item.takes if t not in p.known]
    return bool(sources) and all(s is not None and s in p.on_host and not s.facts.names_variable for s in sources)


def _moves_host_value(p: Placement, item: OpItem) -> bool:
    """Whether an item only forwards, reshapes or stores the output of a host step, e.g. assigns a restored value to a variable."""
    # A compiled copy of the value would be compiled again for each shape, and for each variable of a checkpoint.
    value = _named(item, item.facts.hands_on)
    if value is None or not p.is_from_host_step(value):
        return False
    rest = [t for t in item.takes if t is not value and not item.effects.writes]
    return all(t in p.known for t in rest) or p.varies(value) and all(map(p.is_there, rest))


FEW_ELEMENTS = 64
"""Most elements that NumPy joins: it takes 4 microseconds for these, a call of an interpreted cluster 60 more, of a compiled one 25 and transfers."""


def _joins_few_host_values(p: Placement, item: OpItem) -> bool:
    """Whether an item stacks or concatenates few elements that host steps computed, e.g. the fields of a record that was parsed."""
    count = item.outputs[0].shape.num_elements() if item.facts.joins else None
    if count is None or count > FEW_ELEMENTS or item.spec.numpy_kernel is None:
        return False
    given = [t for t in item.takes if t not in p.known]
    return bool(given) and all(map(p.is_from_host_step, given))


def _depends_on_host_count(p: Placement, item: OpItem) -> bool:
    """Whether an item gathers or sums rows by row numbers from a host step, so that its output has another length in each run.

    On a CPU, if the length varies; elsewhere, only if it gathers rows of a feed or of a host value.
    """
    rows = _named(item, item.facts.rows_by)
    if rows is None or not p.is_from_host_step(rows):
        return False
    if item.spec.numpy_kernel is None and near_kernel(item.op) is None:
        return False
    # On an accelerator the row numbers are padded instead (`execute._filled_up`), so that few lengths are compiled.
    if jax_compat.compiles_to_cpu() and p.varies(rows):
        return True
    return item.facts.picks and p.is_there(item.takes[0]) and item.takes[0] not in p.known


def _cuts_at_host_place(p: Placement, item: OpItem) -> bool:
    """Whether an item slices a value on the host at positions that a host step computes."""
    # Kernels take begin and size of a slice as NumPy values: each position would be compiled.
    if not item.facts.cuts or not all(map(p.is_there, item.takes)):
        return False
    return any(map(p.is_from_host_step, item.takes[1:]))


# ---- the table ----


def _of_operations(holds: Callable[[Placement, OpItem], bool]) -> Callable[[Placement, Item], bool]:
    """Returns a predicate on items that is false for all but single operations."""
    return lambda p, item: isinstance(item, OpItem) and holds(p, item)


RULES = (
    Rule("holds host work", HOST, _holds_host_work),
    Rule("derivative of a loop that the host drives", HOST, _differentiates_host_loop),
    Rule("several operations as one", DEVICE, lambda p, item: not isinstance(item, OpItem)),
    Rule("names a variable", HOST, lambda p, item: item.facts.names_variable),
    Rule("values of a kind that only the host has", HOST, _of_operations(_has_host_dtype)),
    Rule("host operation on numbers known while compiling", DEVICE, _of_operations(
        lambda p, item: item.spec.is_pure_on_host and all(map(p.is_traced_static, item.outputs))
    )),
    Rule("distinct rows for updates of rows", DEVICE, _of_operations(lambda p, item: item.spec.side == HOST and _only_updates_rows(p, item))),
    Rule("host operation", HOST, _of_operations(lambda p, item: item.spec.side == HOST)),
    Rule(ONCE, HOST, _of_operations(_is_small_work), is_choice=True),
    Rule(NEW_SHAPES, HOST, _of_operations(_comes_once), is_choice=True),
    Rule(FEW, HOST, _of_operations(_samples_by_rejection), is_choice=True),
    Rule("index arithmetic on host values", HOST, _of_operations(_is_integer_work_on_host_values), is_choice=True),
    Rule("hands on a host value", HOST, _of_operations(_moves_host_value), is_choice=True),
    Rule("puts few host values together", HOST, _of_operations(_joins_few_host_values), is_choice=True),
    Rule("as many rows as a host step found", HOST, _of_operations(_depends_on_host_count), is_choice=True),
    Rule("a piece at a place that the host found", HOST, _of_operations(_cuts_at_host_place), is_choice=True),
    Rule(COMPILED, DEVICE, lambda p, item: True),
)  # fmt: skip

# Names for the moves that Placement makes itself, after the table; no item is matched by the last two.
READ_FOR_HOST = Rule("read for host steps only", HOST, lambda p, item: is_read_for_host(p, item))
INDICES_FOR_HOST = Rule("index arithmetic that a host step needs", HOST, lambda p, item: False)
NUMBER_FOR_COMPILER = Rule("a number that something is compiled for", HOST, lambda p, item: False)


def first_that_holds(p: Placement, item: Item) -> Rule:
    """Returns the first rule that holds for an item; the last one always does."""
    return next(rule for rule in RULES if rule.holds(p, item))


def is_read_for_host(p: Placement, item: Item) -> bool:
    """Whether an item reads a variable, or forwards a value, for host steps only."""
    # Compiled, the read would be a call of its own that returns a copy of the variable.
    if not isinstance(item, OpItem) or not item.facts.reads_through:
        return False
    users = p.uses(item.outputs[0])
    return bool(users) and item.outputs[0] not in p.fetched and all(u in p.on_host for u in users)


def gives_varying_length(item: OpItem) -> bool:
    """Whether the length of an item's output depends on data."""
    return item.facts.varying_length


# ---- whole plans ----


def is_initializer(p: Placement) -> bool:
    """Whether a plan initializes variables: it has no feeds, writes variables, and reads none before it has written it.

    Programs run such a plan once, so that compiling it does not pay.
    """
    if p.work.feeds or not any(i.writes for i in p.items):
        return False
    written: set[str] = set()
    for item in p.items:
        if any(variable_key(v) not in written for v in item.reads):
            return False
        written.update(map(variable_key, item.writes))
    return True
