"""tf.contrib.labeled_tensor: operations that change, make or drop axes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.labeled_tensor import core
from tfcompat._src.contrib.labeled_tensor.axes import Axes, Axis, as_axis, concat_axes, require
from tfcompat._src.contrib.labeled_tensor.core import LabeledTensor, converted
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant as tf_constant
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array import constant as constants
from tfcompat._src.ops.array import fill, gather, join, search, shape
from tfcompat._src.ops.array import pad as padding
from tfcompat._src.ops.composed import finite, masks
from tfcompat._src.ops.math import cast as casts
from tfcompat._src.ops.math import matmul as products
from tfcompat._src.ops.math import reduce
from tfcompat._src.ops.random import crop
from tfcompat._src.train import input_batching
from tfcompat._src.variables import functional

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DTypeLike


def _values(x: LabeledTensor) -> list[Axis]:
    return list(x.axes.values())


def _size(axis: Axis) -> int:
    return -1 if axis.size is None else axis.size


@export("contrib.labeled_tensor.select")
def select(labeled_tensor: object, selection: Mapping[str, Any], name: str | None = None) -> LabeledTensor:
    """The part of the tensor with some labels.

    Args:
      labeled_tensor: the tensor.
      selection: from names of axes to a label, whose axis goes away, a slice between two labels, both within, or a list of
        labels, which is then the only selection.
      name: of the operation.

    Raises:
      ValueError: an axis is not there or has no labels. KeyError: a label is not there.
      NotImplementedError: a slice has a step, or a list comes with other selections.
    """
    with converted(name, "lt_select", labeled_tensor) as (scope, x):
        lists, parts = {}, {}
        for axis_name, value in selection.items():
            axis = _labeled_axis(x, axis_name)
            if isinstance(value, slice):
                parts[axis_name] = _positions(axis, value)
            elif isinstance(value, list):
                lists[axis_name] = [axis.index(each) for each in value]
            else:
                parts[axis_name] = axis.index(require(value, Hashable, "a label"))
        if len(lists) > 1:
            raise NotImplementedError("select does not yet support more than one list selection at the same time")
        if lists and parts:
            raise NotImplementedError("select does not yet support combined scalar and list selection")
        if not lists:
            return core.slice_function(x, parts, name=scope)
        ((axis_name, positions),) = lists.items()
        indices = convert_to_tensor(positions, dtype=dtypes.int64)
        return _gathered(x, indices, Axis(axis_name, selection[axis_name]), scope)


def _labeled_axis(x: LabeledTensor, name: str) -> Axis:
    if name not in x.axes:
        raise ValueError(f"The tensor does not have an axis named {name}. Its axes are: {list(x.axes)!r}")
    if x.axes[name].labels is None:
        raise ValueError(f"The axis named {name} does not have labels. The axis is: {x.axes[name]!r}")
    return x.axes[name]


def _positions(axis: Axis, labels: slice) -> slice:
    if labels.step is not None:
        raise NotImplementedError("slicing with a step is not yet supported")
    start = None if labels.start is None else axis.index(labels.start)
    return slice(start, None if labels.stop is None else axis.index(labels.stop) + 1)


def _gathered(x: LabeledTensor, indices: Tensor, axis: Axis, name: str) -> LabeledTensor:
    """The elements at positions of an axis, which becomes `axis`."""
    with name_scope(name, "lt_take", [x]) as scope:
        axes = Axes([axis, *x.axes.remove(axis.name).values()])
        first = core.transpose(x, list(axes))
        return core.transpose(LabeledTensor(gather.gather(first.tensor, indices), axes), list(x.axes), name=scope)


@export("contrib.labeled_tensor.concat")
def concat(labeled_tensors: Collection[Any], axis_name: str, name: str | None = None) -> LabeledTensor:
    """Tensors one after another along an axis, whose labels are concatenated too.

    Raises:
      ValueError: there is no tensor, the axis is not there, or the other axes differ.
    """
    with converted(name, "lt_concat", *labeled_tensors) as (scope, *tensors):
        if not tensors:
            raise ValueError(f"concat expects at least 1 tensor, but received {tensors}")
        first = tensors[0]
        if axis_name not in first.axes:
            raise ValueError(f"{axis_name} not in {list(first.axes)}")
        shared = first.axes.remove(axis_name)
        for each in tensors[1:]:
            if each.axes.remove(axis_name) != shared:
                raise ValueError(
                    f"Mismatched shared axes: the first tensor had axes {shared!r} but this tensor has axes "
                    f"{each.axes.remove(axis_name)!r}."
                )
        joined = concat_axes([each.axes[axis_name] for each in tensors])
        found = join.concat([each.tensor for each in tensors], list(first.axes).index(axis_name), name=scope)
        return LabeledTensor(found, [joined if each.name == axis_name else each for each in _values(first)])


@export("contrib.labeled_tensor.pack")
def pack(labeled_tensors: Collection[Any], new_axis: object, axis_position: int = 0, name: str | None = None) -> LabeledTensor:
    """Tensors of equal axes stacked along a new axis, a name or (name, labels), at a position.

    Raises:
      ValueError: there is no tensor, or axes differ.
    """
    with converted(name, "lt_pack", *labeled_tensors) as (scope, *tensors):
        if not tensors:
            raise ValueError(f"pack expects at least 1 tensors, but received {tensors}")
        for each in tensors:
            if each.axes != tensors[0].axes:
                raise ValueError(f"Non-identical axes. Expected {tensors[0].axes} but got {each.axes}")
        found = join.stack([each.tensor for each in tensors], axis=axis_position, name=scope)
        axes: list[Any] = _values(tensors[0])
        axes.insert(axis_position, new_axis)
        return LabeledTensor(found, axes)


@export("contrib.labeled_tensor.unpack")
def unpack(labeled_tensor: object, axis_name: str | None = None, name: str | None = None) -> list[LabeledTensor]:
    """The parts of a tensor along an axis, by default the first; ValueError where it is not there."""
    with converted(name, "lt_unpack", labeled_tensor) as (scope, x):
        names = list(x.axes)
        axis_name = names[0] if axis_name is None else axis_name
        if axis_name not in names:
            raise ValueError(f"{axis_name} not in {names}")
        parts = join.unstack(x.tensor, axis=names.index(axis_name), name=scope)
        return [LabeledTensor(each, x.axes.remove(axis_name)) for each in parts]


@export("contrib.labeled_tensor.reshape")
def reshape(
    labeled_tensor: object, existing_axes: Collection[str], new_axes: Collection[Any], name: str | None = None
) -> LabeledTensor:
    """The tensor with axes that stand side by side replaced by others.

    Args:
      labeled_tensor: the tensor.
      existing_axes: their names in order.
      new_axes: Axis or tuples (name, value); at most one name alone, whose size is what remains.
      name: of the operation.

    Raises:
      ValueError: an axis is not there, or two have an unknown size.
      AxisOrderError: the axes do not stand side by side in this order.
    """
    with converted(name, "lt_reshape", labeled_tensor) as (scope, x):
        names, replaced = list(x.axes), list(existing_axes)
        if not set(replaced) <= set(names):
            raise ValueError(
                f"existing_axes {replaced!r} are not contained in the set of axis names {names!r} on the input labeled tensor"
            )
        start, stop = names.index(replaced[0]), names.index(replaced[-1]) + 1
        if replaced != names[start:stop]:
            raise core.AxisOrderError(
                f"existing_axes {replaced!r} are not a slice of axis names {names!r} on the input labeled tensor. Use "
                "`transpose` or `impose_axis_order` to reorder axes on the input explicitly."
            )
        if sum(isinstance(each, str) for each in new_axes) > 1:
            raise ValueError(
                "at most one axis in new_axes can have unknown size. All other axes must have an indicated integer size "
                f"or labels: {new_axes!r}"
            )
        before, after = _values(x)[:start], _values(x)[stop:]
        axes = [*before, *new_axes, *after]
        sizes = [-1 if isinstance(each, str) else _size(as_axis(each)) for each in axes]
        return LabeledTensor(shape.reshape(x.tensor, sizes, name=scope), axes)


@export("contrib.labeled_tensor.rename_axis")
def rename_axis(labeled_tensor: Any, existing_name: str, new_name: str, name: str | None = None) -> LabeledTensor:
    """The tensor with another name for an axis; ValueError where it is not there."""
    with name_scope(name, "lt_rename_axis", [labeled_tensor]) as scope:
        if existing_name not in labeled_tensor.axes:
            raise ValueError(
                f"existing_name {existing_name!r} are not contained in the set of axis names "
                f"{list(labeled_tensor.axes)!r} on the input labeled tensor"
            )
        renamed = Axis(new_name, labeled_tensor.axes[existing_name].value)
        return reshape(labeled_tensor, [existing_name], [renamed], name=scope)


@export("contrib.labeled_tensor.random_crop")
def random_crop(labeled_tensor: object, shape_map: Mapping[str, int], seed: int | None = None, name: str | None = None) -> LabeledTensor:
    """A random part of the tensor, with a size for each axis that is cut, which loses its labels.

    Raises:
      ValueError: an axis is not there, or the size of another one is unknown.
    """
    with converted(name, "lt_random_crop", labeled_tensor) as (scope, x):
        for each in shape_map:
            if each not in x.axes:
                raise ValueError(f"Selection axis {each} not in axes {x.axes}")
        axes = [as_axis((each.name, shape_map[each.name])) if each.name in shape_map else each for each in _values(x)]
        return LabeledTensor(crop.random_crop(x.tensor, [len(each) for each in axes], seed=seed, name=scope), axes)


@export("contrib.labeled_tensor.squeeze")
def squeeze(labeled_tensor: object, axis_names: Collection[str] | None = None, name: str | None = None) -> LabeledTensor:
    """The tensor without axes of size 1, by default all of them.

    Raises:
      ValueError: an axis is not there or has another size.
    """
    with converted(name, "lt_squeeze", labeled_tensor) as (scope, x):
        dropped = [each.name for each in _values(x) if len(each) == 1] if axis_names is None else axis_names
        for each in dropped:
            if each not in x.axes:
                raise ValueError(f"axis {each} is not in tensor axes {x.axes}")
            if len(x.axes[each]) != 1:
                raise ValueError(f"cannot squeeze axis with size greater than 1: ({each}, {x.axes[each]})")
        positions = [i for i, each in enumerate(x.axes) if each in dropped]
        found = shape.squeeze(x.tensor, positions, name=scope) if positions else constants.identity(x.tensor, name=scope)
        return LabeledTensor(found, [each for each in _values(x) if each.name not in dropped])


@export("contrib.labeled_tensor.matmul")
def matmul(a: object, b: object, name: str | None = None) -> LabeledTensor:
    """The product of two matrices or vectors over the one axis that they share.

    Raises:
      NotImplementedError: a rank above 2, or several shared axes.
      ValueError: a scalar, no shared axis, or a shared axis that differs.
    """
    with converted(name, "lt_matmul", a, b) as (scope, x, y):
        shared = _shared_axis(x, y)
        axes = [each for tensor in (x, y) for each in _values(tensor) if each.name != shared]
        order = core.get_axis_order()
        names = [each.name for each in axes]
        if order is not None and [each for each in order if each in names] != names:
            x, y, axes = y, x, axes[::-1]
        added = []
        left, right, transpose_x, transpose_y = x.tensor, y.tensor, False, False
        if len(x.axes) == 1:
            left = shape.reshape(left, (1, -1))
            added.append(0)
        else:
            transpose_x = list(x.axes).index(shared) == 0
        if len(y.axes) == 1:
            right = shape.reshape(right, (-1, 1))
            added.append(1)
        else:
            transpose_y = list(y.axes).index(shared) == 1
        found = products.matmul(left, right, transpose_a=transpose_x, transpose_b=transpose_y)
        found = shape.squeeze(found, added) if added else found
        return LabeledTensor(constants.identity(found, name=scope), axes)


def _shared_axis(x: LabeledTensor, y: LabeledTensor) -> str:
    ranks = f"inputs have ranks {len(x.axes)!r} and {len(y.axes)!r}"
    if len(x.axes) > 2 or len(y.axes) > 2:
        raise NotImplementedError(f"matmul currently requires inputs with rank 2 or less, but {ranks}")
    if not x.axes or not y.axes:
        raise ValueError(f"matmul currently requires inputs with at least rank 1, but {ranks}")
    shared = set(x.axes) & set(y.axes)
    if len(shared) > 1:
        raise NotImplementedError(
            f"matmul does not yet support summing over multiple shared axes: {shared!r}. Use transpose and reshape to "
            "create a single shared axis to sum over."
        )
    if not shared:
        raise ValueError(
            f"there must have exactly one axis in common between input to matmul: {list(x.axes)!r}, {list(y.axes)!r}"
        )
    name = shared.pop()
    if x.axes[name] != y.axes[name]:
        raise ValueError(
            f"axis {name!r} does not match on input arguments: {x.axes[name].value!r} vs {y.axes[name].value!r}"
        )
    return name


def _checked_names(what: str, names: Any, x: LabeledTensor) -> None:
    if not set(names) <= set(x.axes):
        raise ValueError(
            f"{what} axes {list(names)!r} are not contained in the set of axis names {x.axes!r} on the input labeled tensor"
        )


@export("contrib.labeled_tensor.tile")
def tile(labeled_tensor: object, multiples: Mapping[str, Any], name: str | None = None) -> LabeledTensor:
    """The tensor repeated along axes without labels, as often as `multiples` says by their names.

    Raises:
      ValueError: an axis is not there, or has labels.
    """
    with converted(name, "lt_tile", labeled_tensor) as (scope, x):
        _checked_names("tile", multiples, x)
        labeled = [each for each in multiples if x.axes[each].labels is not None]
        if labeled:
            raise ValueError(f"cannot tile axes with tick labels: {labeled!r}")
        found = join.tile(x.tensor, [multiples.get(each, 1) for each in x.axes], name=scope)
        return LabeledTensor(found, [each.name if each.labels is None else each for each in _values(x)])


@export("contrib.labeled_tensor.pad")
def pad(labeled_tensor: object, paddings: Mapping[str, tuple[Any, Any]], mode: str = "CONSTANT", name: str | None = None) -> LabeledTensor:
    """The tensor with elements added at both ends of axes.

    Args:
      labeled_tensor: the tensor.
      paddings: from names of axes to what is added before and after: two sizes or lists of labels.
      mode: "CONSTANT", "REFLECT" or "SYMMETRIC".
      name: of the operation.

    Raises:
      ValueError: an axis is not there.
    """
    with converted(name, "lt_pad", labeled_tensor) as (scope, x):
        _checked_names("pad", paddings, x)
        ends = {each: [Axis(each, end) for end in paddings[each]] for each in x.axes if each in paddings}
        axes = [
            concat_axes([ends[each.name][0], each, ends[each.name][1]]) if each.name in ends else each for each in _values(x)
        ]
        sizes = [tuple(len(end) for end in ends[each]) if each in ends else (0, 0) for each in x.axes]
        return LabeledTensor(padding.pad(x.tensor, sizes, mode, name=scope), axes)


@export("contrib.labeled_tensor.constant")
def constant(value: Any, dtype: Any = None, axes: Any = None, name: str | None = None) -> LabeledTensor:
    """A constant; the shape is that of the axes, or that of the value where an axis is a name alone."""
    with name_scope(name, "lt_constant", [value]) as scope:
        axes = list(axes.values()) if isinstance(axes, Axes) else list(axes or [])
        if any(isinstance(each, str) for each in axes):
            return LabeledTensor(tf_constant(value, dtype=dtype, name=scope), axes)
        axes = [as_axis(each) for each in axes]
        return LabeledTensor(tf_constant(value, dtype=dtype, shape=[each.size for each in axes], name=scope), axes)


@export("contrib.labeled_tensor.zeros_like")
def zeros_like(labeled_tensor: object, dtype: DTypeLike | None = None, name: str | None = None) -> LabeledTensor:
    """Zeros with the tensor's axes."""
    with converted(name, "lt_zeros_like", labeled_tensor) as (scope, x):
        return LabeledTensor(fill.zeros_like(x.tensor, dtype=dtype, name=scope), x.axes)


@export("contrib.labeled_tensor.ones_like")
def ones_like(labeled_tensor: object, dtype: object = None, name: str | None = None) -> LabeledTensor:
    """Ones with the tensor's axes."""
    with converted(name, "lt_ones_like", labeled_tensor) as (scope, x):
        return LabeledTensor(fill.ones_like(x.tensor, dtype=dtype, name=scope), x.axes)


@export("contrib.labeled_tensor.cast")
def cast(labeled_tensor: object, dtype: object = None, name: str | None = None) -> LabeledTensor:
    """The tensor with another dtype."""
    with converted(name, "lt_cast", labeled_tensor) as (scope, x):
        return LabeledTensor(casts.cast(x.tensor, dtype=dtype, name=scope), x.axes)


@export("contrib.labeled_tensor.verify_tensor_all_finite")
def verify_tensor_all_finite(labeled_tensor: object, message: str, name: str | None = None) -> LabeledTensor:
    """The tensor; a run raises InvalidArgumentError with the message where an element is infinite or NaN."""
    with converted(name, "lt_verify_tensor_all_finite", labeled_tensor) as (scope, x):
        return LabeledTensor(finite.verify_tensor_all_finite(x.tensor, msg=message, name=scope), x.axes)


@export("contrib.labeled_tensor.boolean_mask")
def boolean_mask(labeled_tensor: object, mask: object, name: str | None = None) -> LabeledTensor:
    """The elements of the first axis where a mask with that axis is true; the axis loses its labels.

    Raises:
      NotImplementedError: the mask has more axes. ValueError: its axis is another one.
    """
    with converted(name, "lt_boolean_mask", labeled_tensor, mask) as (scope, x, chosen):
        if len(chosen.axes) > 1:
            raise NotImplementedError("LabeledTensor's boolean_mask currently only supports 1D masks")
        first = _values(x)[0]
        if _values(chosen)[0] != first:
            raise ValueError(
                f"the first axis of the labeled tensor and the mask are not equal:\n{first!r}\n{_values(chosen)[0]!r}"
            )
        found = masks.boolean_mask(x.tensor, chosen.tensor, name=scope)
        return LabeledTensor(found, [first.name, *_values(x)[1:]])


@export("contrib.labeled_tensor.where")
def where(condition: object, x: object, y: object, name: str | None = None) -> LabeledTensor:
    """Elements of x where a boolean tensor is true, else of y; ValueError where their axes differ."""
    with converted(name, "lt_where", condition, x, y) as (scope, chosen, first, second):
        if not chosen.axes == first.axes == second.axes:
            raise ValueError("all inputs to `where` must have equal axes")
        return LabeledTensor(search.where(chosen.tensor, first.tensor, second.tensor, name=scope), first.axes)


@export("contrib.labeled_tensor.define_reduce_op")
def define_reduce_op(op_name: str, reduce_fn: Callable) -> Callable:
    """A function of a labeled tensor, axes and a name, that reduces over the axes.

    Args:
      op_name: its name; nodes are called "lt_" + op_name.
      reduce_fn: function of a Tensor, dimensions and `keepdims`.
    """

    def op(labeled_tensor: object, axes: Any = None, name: str | None = None) -> LabeledTensor:
        with converted(name, f"lt_{op_name}", labeled_tensor) as (scope, x):
            wanted = list(x.axes) if axes is None else [axes] if isinstance(axes, (str, tuple)) else list(axes)
            kept = {each if isinstance(each, str) else each[0]: each for each in wanted}
            for each in kept:
                if each not in x.axes:
                    raise ValueError(f"Axis {each} not in axes {x.axes}")
            reduced = [_reduced_axis(kept[each.name]) if each.name in kept else each for each in _values(x)]
            found = reduce_fn(x.tensor, [i for i, each in enumerate(x.axes) if each in kept], keepdims=True)
            dropped = [each for each in wanted if isinstance(each, str)]
            return squeeze(LabeledTensor(found, reduced), dropped, name=scope)

    op.__name__ = op_name
    op.__doc__ = f"`tf.{op_name}` over axes: names, which go away, and tuples (name, label or None), which stay; by default all."
    return op


def _reduced_axis(wanted: Any) -> Any:
    """The axis of size 1 that a reduction leaves: a name, or (name, [label])."""
    if isinstance(wanted, str):
        return wanted
    return wanted[0], None if wanted[1] is None else [wanted[1]]

reduce_all = export("contrib.labeled_tensor.reduce_all")(define_reduce_op("reduce_all", reduce.reduce_all))
reduce_any = export("contrib.labeled_tensor.reduce_any")(define_reduce_op("reduce_any", reduce.reduce_any))
reduce_logsumexp = export("contrib.labeled_tensor.reduce_logsumexp")(
    define_reduce_op("reduce_logsumexp", reduce.reduce_logsumexp)
)
reduce_max = export("contrib.labeled_tensor.reduce_max")(define_reduce_op("reduce_max", reduce.reduce_max))
reduce_mean = export("contrib.labeled_tensor.reduce_mean")(define_reduce_op("reduce_mean", reduce.reduce_mean))
reduce_min = export("contrib.labeled_tensor.reduce_min")(define_reduce_op("reduce_min", reduce.reduce_min))
reduce_prod = export("contrib.labeled_tensor.reduce_prod")(define_reduce_op("reduce_prod", reduce.reduce_prod))
reduce_sum = export("contrib.labeled_tensor.reduce_sum")(define_reduce_op("reduce_sum", reduce.reduce_sum))


@export("contrib.labeled_tensor.foldl")
def foldl(fn: Callable, labeled_tensor: object, initial_value: object, name: str | None = None) -> LabeledTensor:
    """`fn(accumulated, part)` over the parts of a tensor along its first axis.

    Args:
      fn: function of two LabeledTensors that gives one with the axes of the first.
      labeled_tensor: the tensor.
      initial_value: the first accumulated one.
      name: of the operation.
    """
    with converted(name, "lt_foldl", labeled_tensor, initial_value) as (scope, x, start):

        def step(accumulated: Tensor, part: Tensor) -> Tensor:
            return fn(LabeledTensor(accumulated, start.axes), LabeledTensor(part, _values(x)[1:])).tensor

        found = functional.foldl(step, x.tensor, initializer=start.tensor)
        return core.identity(LabeledTensor(found, start.axes), name=scope)


@export("contrib.labeled_tensor.map_fn")
def map_fn(fn: Callable, labeled_tensor: object, name: str | None = None) -> LabeledTensor:
    """The results of `fn` of each part of a tensor along its first axis, packed along it.

    Args:
      fn: function of a LabeledTensor that gives one.
      labeled_tensor: the tensor.
      name: of the operation.
    """
    with converted(name, "lt_map_fn", labeled_tensor) as (scope, x):
        parts, first = unpack(x), _values(x)[0]
        if x.dtype == dtypes.string:
            return pack([fn(each) for each in parts], first, name=scope)
        example = fn(parts[0])

        def step(part: Tensor) -> Tensor:
            return fn(LabeledTensor(part, _values(x)[1:])).tensor

        found = functional.map_fn(step, x.tensor, dtype=example.dtype)
        return core.identity(LabeledTensor(found, [first, *_values(example)]), name=scope)


def _batched(
    default_name: str, batch_fn: Callable, batch_size: int | None, enqueue_many: bool, tensors: Collection[Any], name: str | None
) -> list[LabeledTensor]:
    """What `batch_fn(tensors, name)` gives, with an axis "batch" of a size."""
    with converted(name, default_name, *tensors) as (scope, *found):
        batches = batch_fn([each.tensor for each in found], scope)
        batches = batches if isinstance(batches, list) else [batches]
        for each in found if enqueue_many else ():
            if next(iter(each.axes), None) != "batch":
                raise ValueError(
                    'When enqueue_many is True, input tensors must have an axis called "batch" as their first dimension, '
                    f"but axes were {each.axes}"
                )
        rest = [_values(each)[1 if enqueue_many else 0 :] for each in found]
        return [LabeledTensor(each, Axes([("batch", batch_size), *axes])) for each, axes in zip(batches, rest)]


@export("contrib.labeled_tensor.batch")
def batch(
    labeled_tensors: Collection[Any], batch_size: int, num_threads: int = 1, capacity: int = 32, enqueue_many: bool = False,
    allow_smaller_final_batch: bool = False, name: str | None = None,
) -> list[LabeledTensor]:  # fmt: skip
    """`tf.train.batch` of labeled tensors: each gets a first axis "batch", or has it with `enqueue_many`.

    Raises:
      ValueError: `enqueue_many` is set and a tensor's first axis is another one.
    """

    def make(tensors: list[Tensor], scope: str) -> Any:
        return input_batching.batch(
            tensors, batch_size=batch_size, num_threads=num_threads, capacity=capacity, enqueue_many=enqueue_many,
            allow_smaller_final_batch=allow_smaller_final_batch, name=scope,
        )  # fmt: skip

    size = None if allow_smaller_final_batch else batch_size
    return _batched("lt_batch", make, size, enqueue_many, labeled_tensors, name)


@export("contrib.labeled_tensor.shuffle_batch")
def shuffle_batch(
    labeled_tensors: Collection[Any], batch_size: int, num_threads: int = 1, capacity: int = 32, enqueue_many: bool = False,
    min_after_dequeue: int = 0, seed: int | None = None, allow_smaller_final_batch: bool = False, name: str | None = None,
) -> list[LabeledTensor]:  # fmt: skip
    """`tf.train.shuffle_batch` of labeled tensors, as `batch`."""

    def make(tensors: list[Tensor], scope: str) -> Any:
        return input_batching.shuffle_batch(
            tensors, batch_size=batch_size, num_threads=num_threads, capacity=capacity, enqueue_many=enqueue_many,
            min_after_dequeue=min_after_dequeue, seed=seed, allow_smaller_final_batch=allow_smaller_final_batch, name=scope,
        )  # fmt: skip

    size = None if allow_smaller_final_batch else batch_size
    return _batched("lt_shuffle_batch", make, size, enqueue_many, labeled_tensors, name)
