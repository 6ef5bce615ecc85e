"""Static shapes of the ops of TensorLists: what is known of a list stands in the handle data of its variant."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.dtypes import cpp_name
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.shape_inference import Sizes

if TYPE_CHECKING:
    from tfcompat._src.graph.shape_inference import InferenceContext


def _read_sizes(c: InferenceContext, what: str) -> Sizes:
    """What is known of the shape of the elements that are read from input 0."""
    known = c.handle(0)
    if known is None:
        return None
    _require_static_dtype(c, known, what)
    return known[1]


def _require_static_dtype(c: InferenceContext, known: tuple, what: str) -> None:
    wanted = c.attr("element_dtype")
    if known[0] != wanted:
        raise ValueError(f"Trying to {what} list with wrong element dtype. List has type {cpp_name(known[0].name)} but expected type {cpp_name(wanted.name)}")


def new_list_shape(index: int, value_sizes: Callable[[Any], Sizes] | None = None) -> Callable:
    """A list whose element shape is input `index`, and of tensors of a shape that has to fit."""

    def shape(c: InferenceContext) -> list:
        sizes = c.shape_or_unknown(index)
        if value_sizes is not None:
            si.merge(value_sizes(c), sizes)
        c.set_handle(0, c.attr("element_dtype"), sizes)
        return [()]

    return shape


def pushed_shape(c: InferenceContext) -> list:
    c.set_handle(0, c.attr("element_dtype"), _read_sizes(c, "push to"))
    return [()]


def pushed_batch_shape(c: InferenceContext) -> list:
    handles, values = si.with_rank(c.inputs[0], 1), si.with_rank_at_least(c.inputs[1], 1)
    count = si.merge_size(handles[0], None if values is None else values[0])
    c.set_handle(0, c.attr("element_dtype"), _read_sizes(c, "push to"))
    return [(count,)]


def popped_shape(c: Any) -> list:
    sizes = _read_sizes(c, "read from")
    if c.handle(0) is not None:
        c.set_handle(0, *c.handle(0))
    return [(), sizes]


def stacked_shape(c: InferenceContext) -> list:
    sizes = si.merge(_read_sizes(c, "read from"), c.shape_or_unknown(1))
    count = c.attr("num_elements")
    return [None if sizes is None else (None if count == -1 else count, *sizes)]


def item_shape(c: InferenceContext) -> list:
    return [si.merge(_read_sizes(c, "read from"), c.shape_or_unknown(2))]


def set_shape(c: Any) -> list:
    known = c.handle(0)
    if known is not None:
        si.merge(c.inputs[2], known[1])
    c.set_handle(0, *(known or (c.attr("element_dtype"), None)))
    return [()]


def resized_shape(c: Any) -> list:
    si.with_rank(c.inputs[1], 0)
    if c.handle(0) is not None:
        c.set_handle(0, *c.handle(0))
    return [()]


def gathered_shape(c: InferenceContext) -> list:
    sizes = si.merge(_read_sizes(c, "read from"), c.shape_or_unknown(2))
    return [None if sizes is None or c.inputs[1] is None else (*c.inputs[1], *sizes)]


def scattered_into_shape(c: InferenceContext) -> list:
    si.with_rank_at_least(c.inputs[1], 1), si.with_rank(c.inputs[2], 1)
    c.set_handle(0, c.attr("element_dtype"), _read_sizes(c, "write to"))
    return [()]


def concat_shape(c: Any, sizes: Sizes) -> list:
    sizes = si.merge(sizes, _read_sizes(c, "read from"))
    return [None if sizes is None else (None, *sizes[1:]), (None,)]


def rows_of_split(c: InferenceContext) -> Sizes:
    sizes = si.with_rank_at_least(c.inputs[0], 1)
    si.with_rank(c.inputs[2], 1)
    return None if sizes is None else (None, *sizes[1:])


def rows(c: InferenceContext) -> Sizes:
    sizes = si.with_rank_at_least(c.inputs[0], 1)
    return None if sizes is None else sizes[1:]


def concat_lists_shape(c: Any) -> list:
    sizes = None
    for index, name in enumerate("ab"):
        if c.handle(index) is not None:
            dtype, known = c.handle(index)
            if dtype != c.attr("element_dtype"):
                raise ValueError(f"input_{name}.type != element_dtype: {cpp_name(dtype.name)} vs. {cpp_name(c.attr('element_dtype').name)}")
            sizes = si.merge(sizes, known)
    c.set_handle(0, c.attr("element_dtype"), sizes)
    return [si.merge(c.inputs[0], c.inputs[1])]


def element_shape_shape(c: InferenceContext) -> list:
    known = c.handle(0)
    return [(None,) if known is None else None if known[1] is None else (len(known[1]),)]
