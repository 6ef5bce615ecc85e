"""Assertions about ranks and sizes: tf.assert_rank and its like, tf.debugging.assert_shapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, executing_eagerly, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array import shape as shape_ops
from tfcompat._src.ops.composed.check_ops import assert_type, label
from tfcompat._src.ops.control.cond import Assert, cond
from tfcompat._src.ops.control.groups import group, no_op, with_dependencies
from tfcompat._src.ops.math.compare import equal, greater_equal, logical_or

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _name(x: Tensor) -> str:
    return "" if executing_eagerly() else x.name


class _RankMismatch(ValueError):
    """The static rank is known and not a wanted one."""


def _checked_rank(
    x: Tensor, ranks: tuple[Tensor, ...], holds: Callable, condition: Callable, data: list, summarize: int | None
) -> Operation:
    """Asserts the rank of `x`, at once where it and the wanted ranks are known.

    Args:
      x: the tensor. ranks: scalars int32.
      holds: function of the known rank and the known ranks that says whether the one is right.
      condition: function of the rank's tensor that adds the same check to the graph.
      data, summarize: those of `Assert`.
    """
    for rank in ranks:
        assert_type(rank, dtypes.int32)
    known = tuple(constant_value(rank) for rank in ranks)
    if all(rank is not None for rank in known):
        if any(rank.ndim for rank in known):
            raise ValueError("Rank must be a scalar.")
        if x.shape.ndims is not None:
            if not holds(x.shape.ndims, known):
                raise _RankMismatch
            return no_op(name="static_checks_determined_all_ok")
    correct = condition(shape_ops.rank(x))
    for rank, value in zip(ranks, known):
        if value is None:
            is_scalar = assert_rank(rank, 0, data=["Rank must be a scalar. Received rank: ", rank])
            correct = with_dependencies([is_scalar], correct)
    return Assert(correct, data, summarize=summarize)


def _assert_one(
    default_name: str, words: str, holds: Callable, condition: Callable, x: object, rank: object, data: Any,
    summarize: int | None, message: str | None, name: str | None,
) -> Operation:  # fmt: skip
    with name_scope(name, default_name, (x, rank, *(data or ()))):
        x, rank = convert_to_tensor(x, name="x"), convert_to_tensor(rank, name="rank")
        message = message or ""
        if data is None:
            data = [message, f"Tensor {_name(x)} must have {words}", rank, "Received shape: ", shape_ops.shape(x)]
        try:
            return _checked_rank(
                x, (rank,), lambda have, known: holds(have, known[0]), lambda have: condition(have, rank), data,
                summarize,
            )  # fmt: skip
        except _RankMismatch:
            raise ValueError(
                f"{message}.  Tensor {_name(x)} must have {words} {constant_value(rank)}.  "
                f"Received rank {x.shape.ndims}, shape {x.shape}"
            ) from None


@export("assert_rank", "debugging.assert_rank")
def assert_rank(
    x: TensorLike, rank: TensorLike, data: object = None, summarize: int | None = None, message: str | None = None,
    name: str | None = None,
) -> Operation:  # fmt: skip
    """An operation that demands that `x` has `rank` dimensions.

    Args:
      x: a tensor.
      rank: scalar int32.
      data: list of tensors to show where it has not; by default the rank and the shape.
      summarize: how many entries of each to show, 3 by default.
      message: text before `data`.
      name: name scope.

    Raises:
      ValueError: the static rank is another. InvalidArgumentError: the rank in a run is another.
    """
    return _assert_one(
        "assert_rank", "rank", lambda have, known: have == known, equal, x, rank, data, summarize, message, name
    )


@export("assert_rank_at_least", "debugging.assert_rank_at_least")
def assert_rank_at_least(
    x: TensorLike, rank: TensorLike, data: object = None, summarize: int | None = None, message: str | None = None,
    name: str | None = None,
) -> Operation:  # fmt: skip
    """An operation that demands that `x` has `rank` dimensions or more; arguments and errors are those of `assert_rank`."""
    return _assert_one(
        "assert_rank_at_least", "rank at least", lambda have, known: have >= known, greater_equal, x, rank, data,
        summarize, message, name,
    )  # fmt: skip


@export("assert_rank_in", "debugging.assert_rank_in")
def assert_rank_in(
    x: object, ranks: Any, data: Any = None, summarize: int | None = None, message: str | None = None,
    name: str | None = None,
) -> Operation:  # fmt: skip
    """An operation that demands that `x` has one of `ranks` dimensions; arguments and errors are those of `assert_rank`."""
    with name_scope(name, "assert_rank_in", (x, *ranks, *(data or ()))):
        x = convert_to_tensor(x, name="x")
        ranks = tuple(convert_to_tensor(rank, name="rank") for rank in ranks)
        message = message or ""
        if data is None:
            data = [message, f"Tensor {_name(x)} must have rank in", *ranks, "Received shape: ", shape_ops.shape(x)]
        try:
            return _checked_rank(
                x, ranks, lambda have, known: have in known, lambda have: _is_one_of(have, ranks), data, summarize
            )
        except _RankMismatch:
            wanted = ", ".join(str(constant_value(rank)) for rank in ranks)
            raise ValueError(
                f"{message}.  Tensor {_name(x)} must have rank in ({wanted}{',' * (len(ranks) == 1)}).  "
                f"Received rank {x.shape.ndims}, shape {x.shape}"
            ) from None


def _is_one_of(rank: Tensor, ranks: tuple[Tensor, ...]) -> Tensor:
    if not ranks:
        return convert_to_tensor(False)
    found = equal(ranks[0], rank)
    for other in ranks[1:]:
        found = logical_or(found, equal(other, rank))
    return found


# ---- assert_shapes ----


@dataclass(frozen=True)
class _Constraint:
    """The wanted sizes of one tensor: `symbols` are ints, names, or None and "." for any size.

    `innermost` says that they are those of the last dimensions, with any number before. `sizes` are the tensor's sizes,
    ints where static.
    """

    tensor: Tensor
    innermost: bool
    sizes: Any
    symbols: tuple


def _sizes(x: Tensor) -> Any:
    dynamic = shape_ops.shape(x)
    if x.shape.ndims is None:
        return cond(equal(shape_ops.rank(x), 0), lambda: constant([1]), lambda: dynamic)
    if x.shape.ndims == 0:
        return (1,)
    return [dynamic[i] if size is None else int(size) for i, size in enumerate(x.shape.as_list())]


def _constraint(tensor: Tensor, wanted: Any, message: str) -> _Constraint:
    if not hasattr(wanted, "__iter__") and not hasattr(wanted, "__getitem__"):
        raise ValueError(
            f"{message}.  Tensor {label(tensor)}.  Specified shape must be an iterable.  An iterable has the attribute "
            f"`__iter__` or `__getitem__`.  Received specified shape: {wanted}"
        )
    symbols = tuple(wanted)
    for i, symbol in enumerate(symbols):
        if i and (symbol is Ellipsis or symbol == "*"):
            raise ValueError(
                f"{message}.  Tensor {label(tensor)} specified shape index {i}.  Symbol `...` or `*` for a variable number "
                "of unspecified dimensions is only allowed as the first entry"
            )
    innermost = bool(symbols) and (symbols[0] is Ellipsis or symbols[0] == "*")
    sizes = _sizes(tensor)
    return _Constraint(tensor, innermost, sizes, (symbols[1:] if innermost else symbols) or (1,))


def _known_size(size: Any) -> int | None:
    if isinstance(size, Tensor):
        return None
    try:
        return int(size)
    except (TypeError, ValueError):
        return None


def _rank_assertion(c: _Constraint, **arguments: Any) -> Operation | None:
    rank = len(c.symbols)
    if c.innermost:
        return None if rank < 2 else assert_rank_at_least(c.tensor, rank, **arguments)
    if rank < 2:
        return assert_rank_in(c.tensor, [0, 1], **arguments)
    return assert_rank(c.tensor, rank, **arguments)


def _size_assertions(constraints: list[_Constraint], data: object, summarize: int | None, message: str) -> list[Operation]:
    assertions, given = [], {}
    for c in constraints:
        for i, symbol in enumerate(c.symbols):
            if symbol is None or symbol == ".":
                continue
            dimension = i - len(c.symbols) if c.innermost else i
            wanted, source = _known_size(symbol), "Specified explicitly"
            if wanted is None:
                if symbol not in given:
                    given[symbol] = c.sizes[dimension], c.tensor, dimension
                    continue
                wanted, origin, at = given[symbol]
                source = f"Specified by tensor {label(origin)} dimension {at}"
            assertion = _size_assertion(c, dimension, wanted, source, data, summarize, message)
            if assertion is not None:
                assertions.append(assertion)
    return assertions


def _size_assertion(
    c: _Constraint, dimension: int, wanted: TensorLike, source: str, data: Any, summarize: int | None, message: str
) -> Operation | None:
    actual = c.sizes[dimension]
    known, known_wanted = _known_size(actual), _known_size(wanted)
    if known is not None and known_wanted is not None:
        if known != known_wanted:
            raise ValueError(
                f"{message}.  {source}.  Tensor {label(c.tensor)} dimension {dimension} must have size {known_wanted}.  "
                f"Received size {known}, shape {c.tensor.shape}"
            )
        return None
    condition = equal(convert_to_tensor(actual), convert_to_tensor(wanted))
    if data is None:
        data = [
            message, source, f"Tensor {label(c.tensor)} dimension", dimension, "must have size", wanted,
            "Received shape: ", shape_ops.shape(c.tensor),
        ]  # fmt: skip
    return Assert(condition, data, summarize=summarize)


@export("debugging.assert_shapes")
def assert_shapes(
    shapes: Any, data: object = None, summarize: int | None = None, message: str | None = None, name: str | None = None
) -> Operation:
    """An operation that demands sizes, and that sizes of one name are equal.

    Args:
      shapes: dict, or list of (tensor, sizes) pairs; sizes are ints, names (strings), or None and "." for any size; a
        leading "..." or "*" stands for any number of dimensions. Pairs whose sizes are None are left out.
      data: list of tensors to show where it does not hold.
      summarize: how many entries of each to show, 3 by default.
      message: text before `data`.
      name: name scope.

    Raises:
      ValueError: static shapes show a mismatch, or `shapes` has another form. InvalidArgumentError: a run shows one.
    """
    if isinstance(shapes, dict):
        shapes = shapes.items()
    message = message or ""
    with name_scope(name, "assert_shapes", [shapes, data]):
        pairs = [(convert_to_tensor(x), wanted) for x, wanted in shapes if wanted is not None]
        constraints = [_constraint(x, wanted, message) for x, wanted in pairs]
        arguments = {"data": data, "summarize": summarize, "message": message, "name": name}
        ranks = [a for a in (_rank_assertion(c, **arguments) for c in constraints) if a is not None]
        sizes = _size_assertions(constraints, data, summarize, message)
        with control_dependencies(ranks):
            return group(sizes)
