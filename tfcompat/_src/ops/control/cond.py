"""tf.cond and tf.case: branches as Switch and Merge nodes, in TensorFlow 1's flat form."""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes, errors, nest
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.constant_value import constant_value, known_value
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import executing_eagerly, get_default_graph, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.control.branch_ops import merge, switch, switch_ref_or_tensor
from tfcompat._src.ops.control.context import ControlFlowContext, contains
from tfcompat._src.ops.control.control_flow_util import BUILDERS, EnableControlFlowV2
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.reduce import reduce_sum

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class CondContext(ControlFlowContext):
    """One branch of a cond: outer tensors come in through Switch nodes on its predicate.

    Args:
      pred: scalar bool tensor. pivot: a tensor that is alive in this branch. branch: 1 for the true one, 0 for the false one.
    """

    def __init__(self, pred: Tensor, pivot: Tensor, branch: int, name: str = "cond_text") -> None:
        super().__init__()
        self._name = get_default_graph().unique_name(name)
        self._pred, self._pivot, self._branch = pred, pivot, branch
        self._values.update((pred.name, pivot.name))
        self._external_values.update({pred.name: pred, pivot.name: pivot})
        pivot.op._control_flow_context = self

    @property
    def pred(self) -> Tensor:
        return self._pred

    @property
    def pivot(self) -> Tensor:
        return self._pivot

    @property
    def branch(self) -> int:
        return self._branch

    @property
    def grad_state(self) -> None:
        loop = self.GetWhileContext()
        return loop.grad_state if loop is not None else None

    @property
    def back_prop(self) -> bool:
        loop = self.GetWhileContext()
        return loop.back_prop if loop is not None else False

    def IsCondContext(self) -> bool:
        return True

    def GetControlPivot(self) -> Operation:
        return self._pivot.op

    def AddValue(self, tensor: Tensor) -> Tensor:
        if tensor.name in self._values:
            return self._external_values.get(tensor.name, tensor)
        self._values.add(tensor.name)
        outer = tensor
        if self._outer_context is not None:
            outer = self._outer_context.AddValue(tensor)
            self._values.add(outer.name)
            self._external_values[outer.name] = outer
        graph = tensor.graph
        with graph.control_dependencies(None):
            inner = switch_ref_or_tensor(outer, self._pred)[self._branch]
        graph.prevent_fetching(inner.op)
        inner.op._control_flow_context = self
        context: ControlFlowContext | None = self
        while context is not None:
            context._values.add(inner.name)
            context = context._outer_context
        self._external_values[tensor.name] = inner
        return inner

    def AddOp(self, op: Operation) -> None:
        self.add_op(op)

    def add_op(self, op: Operation) -> None:
        """Adds a node to this very context."""
        if not op.inputs:
            self._remove_external_controls(op)
            if not any(contains(self, c) for c in op.control_inputs):
                op._add_control_input(self._pivot.op)
        else:
            for index, tensor in enumerate(op.inputs):
                inner = self.AddValue(tensor)
                if inner is not tensor:
                    op._update_input(index, inner)
            self._remove_external_controls(op)
            if op.graph._is_function(op.type) or op.type == "SymbolicGradient":
                op._add_control_input(self._pivot.op)
        self._mark_made(op)

    def build_branch(self, fn: Callable) -> tuple[Any, Any]:
        """Calls a branch function; its result as it is, and with tensors that live in this branch."""
        graph = get_default_graph()
        summaries_before = graph.get_collection(GraphKeys._SUMMARY_COLLECTION)
        original = fn()
        added = graph.get_collection(GraphKeys._SUMMARY_COLLECTION)[len(summaries_before) :]
        if added:
            del graph.get_collection_ref(GraphKeys._SUMMARY_COLLECTION)[len(summaries_before) :]
            with graph.control_dependencies(added):
                if original is None:
                    return raw.NoOp(), None
                if not isinstance(original, Operation):
                    original = nest.map_structure(raw.Identity, original, expand_composites=True)
        if original is None:
            return None, None
        result = nest.map_structure(self._branch_tensor, original, expand_composites=True)
        return original, result if isinstance(result, (list, tuple)) or not nest.is_nested(result) else result

    def _branch_tensor(self, value: TensorLike) -> Any:
        if isinstance(value, Operation):
            return with_dependencies([value], self._pivot)
        if not isinstance(value, CompositeTensor):
            value = convert_to_tensor(value)
        return self._output(value)

    def _output(self, value: Tensor) -> Tensor:
        """A result made outside the branch comes in through a Switch, and out again."""
        if value.name not in self._values:
            self._values.add(value.name)
            if self._outer_context is not None:
                outer = self._outer_context.AddValue(value)
                self._values.add(outer.name)
            else:
                outer = value
            inner = switch_ref_or_tensor(outer, self._pred)[self._branch]
            self._external_values[value.name] = inner
            return inner
        return self._external_values.get(value.name, value)


@export("cond")
def cond(
    pred: TensorLike, true_fn: Callable | None = None, false_fn: Callable | None = None, strict: bool = False, name: str | None = None,
    fn1: Callable | None = None, fn2: Callable | None = None,
) -> Any:  # fmt: skip
    """The result of `true_fn()` where `pred` is true, else of `false_fn()`; only that branch runs.

    Args:
      pred: scalar bool tensor.
      true_fn, false_fn: functions that make the branch; both give the same structure of tensors of the same dtypes.
      strict: keeps lists of one element, which are unpacked otherwise.
      name: name scope, "cond" by default.
      fn1, fn2: deprecated names of `true_fn` and `false_fn`.

    Raises:
      TypeError: an argument is missing, not callable, or `pred` is a Python bool. ValueError: the branches do not match.
    """
    if EnableControlFlowV2(get_default_graph()) and not executing_eagerly():
        return BUILDERS["cond"](pred, true_fn or fn1, false_fn or fn2, name)
    true_fn, false_fn = _one_of("true_fn", true_fn, "fn1", fn1), _one_of("false_fn", false_fn, "fn2", fn2)
    for role, fn in (("true_fn", true_fn), ("false_fn", false_fn)):
        if fn is None:
            raise TypeError(f"cond(): {role} argument required")
    for role, fn in (("true_fn", true_fn), ("false_fn", false_fn)):
        if not callable(fn):
            raise TypeError(f"{role} must be callable.")
    if executing_eagerly():
        return _chosen(true_fn if pred else false_fn, strict)
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    with name_scope(name, "cond", [pred]):
        side_false, side_true = switch(pred, pred)
        pivot_true, pivot_false = raw.Identity(side_true, name="switch_t"), raw.Identity(side_false, name="switch_f")
        pred = raw.Identity(pred, name="pred_id")
        for tensor in (side_true, side_false, pivot_true, pivot_false, pred):
            tensor.graph.prevent_fetching(tensor.op)
        contexts, results = [], []
        for role, fn, pivot, branch in (("true_fn", true_fn, pivot_true, 1), ("false_fn", false_fn, pivot_false, 0)):
            context = CondContext(pred, pivot, branch)
            original, result = _build(context, fn)
            if original is None:
                raise ValueError(f"{role} must have a return value.")
            contexts.append(context)
            results.append((original, result))
        return _merged(pred, contexts, results, strict)


def _chosen(branch: Callable, strict: bool) -> Any:
    """The result of a branch that runs at once, where one element stands for itself unless `strict`."""
    result = branch()
    return result if strict or not isinstance(result, (list, tuple)) or len(result) != 1 else result[0]


def _one_of(name: str, value: object, deprecated_name: str, deprecated: object) -> Any:
    if deprecated is None:
        return value
    if value is not None:
        raise TypeError(f"cond(): {name} and {deprecated_name} may not be set simultaneously.")
    return deprecated


def _build(context: CondContext, fn: Callable) -> tuple[Any, Any]:
    context.Enter()
    try:
        original, result = context.build_branch(fn)
        if result is not None:
            context.ExitResult(nest.flatten(result, expand_composites=True))
    finally:
        context.Exit()
    return original, result


def _merged(pred: Tensor, contexts: list[CondContext], results: list[tuple], strict: bool) -> Any:
    (original_true, true), (original_false, false) = results
    is_empty = isinstance(original_true, (list, tuple)) and not original_true
    if not strict:
        original_true, true = _unpacked(original_true, true)
        original_false, false = _unpacked(original_false, false)
    for pairs in ((original_true, original_false), (true, false)):
        for t, f in zip(*map(nest.flatten, pairs)):
            _give_same_index_type(t, f)
    try:
        nest.assert_same_structure(original_true, original_false, expand_composites=True)
    except TypeError as e:
        raise TypeError(f"Incompatible return types of true_fn and false_fn: {e}") from None
    if is_empty:
        raise ValueError("true_fn and false_fn must return at least one result.")
    flat_true, flat_false = nest.flatten(true, expand_composites=True), nest.flatten(false, expand_composites=True)
    for t, f in zip(flat_true, flat_false):
        if t.dtype.base_dtype != f.dtype.base_dtype:
            raise ValueError(
                f"Outputs of true_fn and false_fn must have the same type: {t.dtype.name}, {f.dtype.name}"
            )
    merges = [merge(pair)[0] for pair in zip(flat_false, flat_true)]
    graph = get_default_graph()
    for context in contexts:
        if context.outer_context is None:
            graph.add_to_collection(GraphKeys.COND_CONTEXT, context)
    structure = nest.map_structure(lambda x: x, original_true, expand_composites=True)
    packed = nest.pack_sequence_as(structure, merges, expand_composites=True)
    return _unpacked(packed, packed)[0] if not strict else packed


def _give_same_index_type(a: object, b: object) -> None:
    """Indices of IndexedSlices become int64 where only one of the two has int64."""
    if isinstance(a, IndexedSlices) and isinstance(b, IndexedSlices) and a.indices.dtype != b.indices.dtype:
        a._indices, b._indices = (raw.Cast(v.indices, DstT=dtypes.int64) for v in (a, b))


def _unpacked(original: Any, result: Any) -> tuple[Any, Any]:
    """A list of one element becomes that element."""
    if isinstance(original, (list, tuple)) and len(original) == 1 and not hasattr(original, "_fields"):
        return _unpacked(original[0], result[0])
    return original, result


def smart_constant_value(pred: object) -> bool | None:
    """The value of a predicate that is known while the graph is built, else None; TypeError where it is no bool."""
    if isinstance(pred, Tensor):
        value = constant_value(pred)
        value = known_value(pred) if value is None else value
        return None if value is None else bool(value)
    if pred in (0, 1):
        return bool(pred)
    if isinstance(pred, bool):
        return pred
    raise TypeError(f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {type(pred)}")


def smart_cond(pred: TensorLike, true_fn: Callable | None = None, false_fn: Callable | None = None, name: str | None = None) -> Any:
    """`cond`, or just one of the functions where the predicate is known."""
    if not callable(true_fn):
        raise TypeError("`true_fn` must be callable.")
    if not callable(false_fn):
        raise TypeError("`false_fn` must be callable.")
    value = smart_constant_value(pred)
    if value is None:
        return cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)
    return true_fn() if value else false_fn()


@export("case")
def case(
    pred_fn_pairs: object, default: Callable | None = None, exclusive: bool = False, strict: bool = False, name: str = "case"
) -> Any:
    """The result of the function whose predicate is the first true one, else of `default`.

    Args:
      pred_fn_pairs: list of (scalar bool tensor, function) pairs, or a dict of them.
      default: function for when no predicate is true; without it, the last function, and that is asserted.
      exclusive: asserts that at most one predicate is true.
      strict: see `cond`.

    Raises:
      TypeError: the pairs are no list or dict of pairs, or a function is not callable.
    """
    return _case_helper(cond, pred_fn_pairs, default, exclusive, name, strict=strict)


@export("contrib.framework.smart_case")
def smart_case(pred_fn_pairs: object, default: Callable | None = None, exclusive: bool = False, name: str = "smart_case") -> Any:
    """`case` that calls only one function where the predicates are known; they may be Python bools too."""
    return _case_helper(smart_cond, pred_fn_pairs, default, exclusive, name, allow_python_preds=True)


def _case_helper(
    cond_fn: Callable, pred_fn_pairs: object, default: Callable | None, exclusive: bool, name: str | None, allow_python_preds: bool = False,
    **cond_kwargs: object,
) -> Any:  # fmt: skip
    """`case` by calls of `cond_fn`, which is like `cond` and also gets `cond_kwargs`."""
    pairs = _checked_pairs(pred_fn_pairs, allow_python_preds)
    predicates, actions = [p for p, _ in pairs], [f for _, f in pairs]
    with name_scope(name, "case", [predicates]):
        if default is None:
            default, guarded = _default_action(predicates, actions)
        else:
            guarded = actions
            if not callable(default):
                raise TypeError("default must be callable.")
        predicates = predicates[: len(guarded)]
        checks = [_assert_at_most(predicates, 1, "Input error: exclusive=True")] if exclusive else []
        with get_default_graph().control_dependencies(checks):
            return _chain(list(zip(predicates, guarded)), default, functools.partial(cond_fn, **cond_kwargs))


def _checked_pairs(pairs: object, python_predicates: bool = False) -> list[tuple[Any, Callable]]:
    if isinstance(pairs, collections.abc.Mapping):
        pairs = list(pairs.items()) if isinstance(pairs, collections.OrderedDict) else sorted(
            pairs.items(), key=lambda item: item[0].name
        )  # fmt: skip
    elif not isinstance(pairs, (list, tuple)):
        raise TypeError("fns must be a list, tuple, or dict")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        if isinstance(pair[0], Tensor):
            if pair[0].dtype != dtypes.bool:
                raise TypeError(f"pred must be Tensor of type bool: {pair[0].name}")
        elif not python_predicates:
            raise TypeError(f"pred must be a Tensor, got: {pair[0]}")
        elif not isinstance(pair[0], bool):
            raise TypeError(f"pred must be a Tensor or bool, got: {pair[0]}")
        if not callable(pair[1]):
            raise TypeError(f"fn for pred {getattr(pair[0], 'name', pair[0])} must be callable.")
    return list(pairs)


def _default_action(predicates: list[Any], actions: list[Callable]) -> tuple[Callable, list[Callable]]:
    """Without a default the last function is it, after assertions that its predicate alone holds."""

    def asserted() -> Any:
        stacked = raw.Pack(predicates, name="preds_c")
        alone = _assert_at_most(
            predicates[:-1], 0,
            f"Implementation error: selected default action #{len(actions) - 1} was called, "
            "but some of other predicates are True: ",
        )  # fmt: skip
        some = Assert(predicates[-1], ["Input error: None of conditions evaluated as True:", stacked])
        with get_default_graph().control_dependencies([alone, some]):
            return actions[-1]()

    return asserted, actions[:-1]


def _assert_at_most(predicates: list[Any], limit: int, message: str) -> Operation:
    """Asserts that at most `limit` of the predicates hold."""
    stacked = raw.Pack(predicates, name="preds_c")
    count = reduce_sum(raw.Cast(stacked, DstT=dtypes.int32), name="num_true_conds")
    few = raw.LessEqual(count, constant(limit, name="n_true_conds"))
    names = ", ".join(getattr(p, "name", "?") for p in predicates)
    text = f"{message}: more than {limit} conditions ({names}) evaluated as True:"
    return Assert(few, [text, stacked], summarize=len(predicates))


def _chain(pairs: list[tuple[Any, Callable]], default: Callable, choose: Callable) -> Any:
    fn = default
    for pred, action in reversed(pairs):
        fn = functools.partial(choose, pred, true_fn=action, false_fn=fn)
    return fn()


@export("Assert", "debugging.Assert")
def Assert(condition: TensorLike, data: list[Any], summarize: int | None = None, name: str | None = None) -> Operation:
    """An operation that raises InvalidArgumentError with `data` where `condition` is false.

    Args:
      condition: scalar bool tensor.
      data: tensors to show.
      summarize: how many entries of each to show, 3 by default.

    Returns:
      an Operation that raises when it runs and the condition does not hold.
    """
    if executing_eagerly():
        return _assert_now(condition, data, 3 if summarize is None else summarize)
    with name_scope(name, "Assert", [condition, data]):
        shown = [convert_to_tensor(v).dtype for v in data]
        limit = 3 if summarize is None else summarize
        if all(dtype in (dtypes.string, dtypes.int32) for dtype in shown):
            return raw.Assert(condition, data, summarize=limit, name="Assert")
        condition = convert_to_tensor(condition, name="Condition")
        guarded = cond(
            condition,
            true_fn=raw.NoOp,
            false_fn=lambda: raw.Assert(condition, data, summarize=limit, name="Assert"),
            name="AssertGuard",
        )
        return guarded.op


def _assert_now(condition: object, data: list[Any], summarize: int) -> None:
    if not condition:
        shown = "\n".join(_summarized(convert_to_tensor(value).numpy(), summarize) for value in data)
        raise errors.InvalidArgumentError(None, None, f"Expected '{condition!s}' to be true. Summarized data: {shown}")


def _summarized(value: Any, count: int) -> str:
    if not np.ndim(value):
        return str(value)
    flat = value.reshape(-1)
    texts = [str(v) for v in (flat if count < 0 else flat[:count])]
    return ", ".join(texts + ["..."] * (len(texts) < flat.size))
