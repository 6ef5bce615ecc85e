"""tf.contrib.slim.summaries: summaries named after their tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.scopes import add_to_collection
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.printing import Print
from tfcompat._src.ops.nn.zero_fraction import zero_fraction
from tfcompat._src.summary import summary

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _name(tensor: Any, name: str | None, prefix: str | None) -> str:
    name = name or tensor.op.name
    return f"{prefix}/{name}" if prefix else name


def _printed(make: Any, tensor: Any, name: str, print_summary: bool) -> Tensor:
    """The summary; one that prints the tensor joins the summaries in place of the plain one."""
    made = make(name=name, tensor=tensor, collections=[] if print_summary else None)
    if print_summary:
        made = Print(made, [tensor], name)
        add_to_collection(GraphKeys.SUMMARIES, made)
    return made


@export("contrib.slim.summaries.add_histogram_summary")
def add_histogram_summary(tensor: TensorLike, name: str | None = None, prefix: str | None = None) -> Tensor:
    """A histogram summary, named `prefix`/`name`, by default after the tensor."""
    return summary.histogram(_name(tensor, name, prefix), tensor)


@export("contrib.slim.summaries.add_image_summary")
def add_image_summary(
    tensor: object, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """An image summary; where `print_summary`, it prints the tensor too."""
    return _printed(summary.image, tensor, _name(tensor, name, prefix), print_summary)


@export("contrib.slim.summaries.add_scalar_summary")
def add_scalar_summary(
    tensor: object, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """A scalar summary; where `print_summary`, it prints the tensor too."""
    return _printed(summary.scalar, tensor, _name(tensor, name, prefix), print_summary)


@export("contrib.slim.summaries.add_zero_fraction_summary")
def add_zero_fraction_summary(
    tensor: TensorLike, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """A scalar summary of the part of the elements that are 0, its name ending "/Fraction_of_Zero_Values"."""
    name = _name(tensor, name, prefix) + "/Fraction_of_Zero_Values"
    return add_scalar_summary(zero_fraction(tensor), name, print_summary=print_summary)


@export("contrib.slim.summaries.add_histogram_summaries")
def add_histogram_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Tensor]:
    """`add_histogram_summary` of each tensor."""
    return [add_histogram_summary(tensor, prefix=prefix) for tensor in tensors]


@export("contrib.slim.summaries.add_image_summaries")
def add_image_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Tensor]:
    """`add_image_summary` of each tensor."""
    return [add_image_summary(tensor, prefix=prefix) for tensor in tensors]


@export("contrib.slim.summaries.add_scalar_summaries")
def add_scalar_summaries(
    tensors: Iterable[Any], prefix: str | None = None, print_summary: bool = False
) -> list[Tensor]:
    """`add_scalar_summary` of each tensor."""
    return [add_scalar_summary(tensor, prefix=prefix, print_summary=print_summary) for tensor in tensors]


@export("contrib.slim.summaries.add_zero_fraction_summaries")
def add_zero_fraction_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Tensor]:
    """`add_zero_fraction_summary` of each tensor."""
    return [add_zero_fraction_summary(tensor, prefix=prefix) for tensor in tensors]
