"""Einstein summation, made of transposes, reshapes and matrix products as TensorFlow 1.15 makes it."""

from __future__ import annotations

import functools
import operator
import re
import string

from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape
from tfcompat._src.ops.math.contraction import trace
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.platform import logging


@export("einsum", "linalg.einsum")
def einsum(equation, *inputs, **kwargs):
    """The sum of products that an equation such as "ij,jk->ik" states.

    Args:
      equation: one label per axis of each input, after "->" those of the result (by default, those
        that occur once, in alphabetical order). "..." stands for any number of axes. A label occurs twice in one input only in a
        trace over its last two axes ("ii", "ijji").
      *inputs: Tensors of one dtype.
      name: node name.

    Returns:
      a Tensor.

    Raises:
      ValueError: the equation is malformed or does not fit the inputs. TypeError: an unknown keyword argument.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise TypeError(f"invalid keyword arguments for this function: {', '.join(sorted(map(format, kwargs)))}")
    with name_scope(name, "einsum", [equation, *inputs]):
        tensors = [to_tensor(x) for x in inputs]
        labels, output = _resolve(equation, tensors)
        if len(labels) == 1 and "->" not in equation and _is_trace(labels[0]):
            return trace(tensors[0])
        for term in labels:
            if len(set(term)) < len(term):
                raise ValueError(f"Subscript not supported: an axis appears more than once: {term}")
        for label in sorted(set("".join(labels)) - set(output)):
            if sum(label in term for term in labels) > 2:
                logging.warn(
                    'Falling back to exponential-space implementation of einsum() because index "%s" is summed over more '
                    "than two inputs.", label,
                )  # fmt: skip
                return _broadcast_einsum(tensors, labels, output)
        return _pairwise_einsum(equation, tensors, labels, output)


def _is_trace(term: str) -> bool:
    """Whether the labels read the same backwards and one occurs twice ("ii", "ijji")."""
    return term == term[::-1] and any(term.count(label) == 2 for label in term)


def _resolve(equation: str, tensors: list[Tensor]) -> tuple[list[str], str]:
    """The labels of each input and of the output, without spaces and ellipses."""
    equation = equation.replace(" ", "")
    match = re.fullmatch(r"([a-zA-Z,.]+)(?:->([a-zA-Z.]*))?", equation)
    if not match:
        raise ValueError(f"Indices have incorrect format: {equation}")
    labels, output = match.group(1).split(","), match.group(2)
    if len(tensors) != len(labels):
        raise ValueError(f'Got {len(tensors)} arguments for equation "{equation}", expecting {len(labels)}')
    ellipsis = ""
    if "..." in equation:
        unused = "".join(c for c in string.ascii_letters if c not in "".join(labels))
        for i, tensor in enumerate(tensors):
            labels[i], added = _expand_ellipsis(labels[i], tensor.shape.ndims, unused)
            ellipsis = max(ellipsis, added, key=len)
        if output is not None:
            output = output.replace("...", ellipsis)
        if "." in "".join(labels) + (output or ""):
            raise ValueError('period "." found outside of ellipsis')
    if output is None:
        joined = "".join(labels)
        output = ellipsis + "".join(sorted(c for c in set(joined) - set(ellipsis) if joined.count(c) == 1))
    return labels, output


def _expand_ellipsis(term: str, ndims: int | None, unused: str) -> tuple[str, str]:
    """A term with labels in place of "...", and these labels."""
    if "..." not in term:
        return term, ""
    parts = term.split("...")
    if len(parts) != 2:
        raise ValueError("Unable to resolve ellipsis. Excess number found.")
    if ndims is None:
        raise ValueError("Unable to statically infer ellipsis axes.")
    count = ndims - len("".join(parts))
    if count < 0:
        raise ValueError("Ellipses lengths do not match.")
    if len(unused) < count:
        raise ValueError("Unable to resolve ellipsis, too many distinct labels.")
    added = unused[len(unused) - count :]
    return added.join(parts), added


def _pairwise_einsum(equation: str, tensors: list[Tensor], labels: list[str], output: str) -> Tensor:
    """Multiplies the inputs from left to right, then sums and orders what is left."""
    found, found_labels = tensors[0], labels[0]
    for tensor, term in zip(tensors[1:], labels[1:]):
        summed = set(found_labels) & (set(term) - set(output))
        found, found_labels = _product(found, found_labels, tensor, term, summed)
    left = [i for i, c in enumerate(found_labels) if c not in output]
    if left:
        found = reduce_sum(found, axis=left)
        found_labels = "".join(c for c in found_labels if c in output)
    if sorted(found_labels) != sorted(output):
        raise ValueError(f"Invalid equation: {equation}")
    return _transpose(found, [found_labels.index(c) for c in output])


def _product(x: Tensor, x_labels: str, y: Tensor, y_labels: str, summed: set[str]) -> tuple[Tensor, str]:
    """The product of two tensors, summed over `summed`, and its labels: those kept of both, those of x, those of y."""
    for tensor, term, name in ((x, x_labels, "t0"), (y, y_labels, "t1")):
        if len(term) != tensor.shape.ndims:
            raise ValueError(
                f"Tensor {name} of rank {tensor.shape.ndims} does not match einsum reduction of length {len(term)}"
            )
    kept = sorted((set(x_labels) & set(y_labels)) - summed)
    x_only = sorted(set(x_labels) - set(kept) - summed)
    y_only = sorted(set(y_labels) - set(kept) - summed)
    x = _transpose(x, [x_labels.index(c) for c in kept + x_only + sorted(summed)])
    y = _transpose(y, [y_labels.index(c) for c in kept + sorted(summed) + y_only])
    found_labels = "".join(kept + x_only + y_only)
    if not summed:
        for _ in y_only:
            x = expand_dims(x, -1)
        for _ in x_only:
            y = expand_dims(y, len(kept))
        return raw.Mul(x, y), found_labels
    batch, count = len(kept), len(summed)
    x_sizes = _sizes(x)
    x = _reshape(x, x_sizes[:batch] + [_total(x_sizes[batch:-count]), _total(x_sizes[-count:])])
    y_sizes = _sizes(y)
    y = _reshape(y, y_sizes[:batch] + [_total(x_sizes[-count:]), _total(y_sizes[batch + count :])])
    product = matmul(x, y)
    return _reshape(product, x_sizes[: batch + len(x_only)] + y_sizes[batch + count :]), found_labels


def _transpose(x: Tensor, order: list[int]) -> Tensor:
    return x if order == sorted(order) else raw.Transpose(x, order, name="transpose")


def _sizes(x: Tensor) -> list:
    """The sizes of a tensor of known rank: numbers where they are known, else scalar tensors."""
    sizes = list(x._sizes)
    if None in sizes:
        dynamic = shape(x)
        sizes = [dynamic[i] if s is None else s for i, s in enumerate(sizes)]
    return sizes


def _total(sizes: list) -> int:
    return functools.reduce(operator.mul, sizes, 1)


def _reshape(x: Tensor, sizes: list) -> Tensor:
    """`x` in other sizes; as it is where it has them."""
    if len(sizes) == len(x._sizes) and all(old is not None and old == new for old, new in zip(x._sizes, sizes)):
        return x
    return reshape(x, sizes)


def _broadcast_einsum(tensors: list[Tensor], labels: list[str], output: str) -> Tensor:
    """One product of all inputs broadcast to all labels, summed at the end."""
    every = set("".join(labels))
    missing = set(output) - every
    if missing:
        raise ValueError(f"Unknown output axes: {missing}")
    order = sorted(every - set(output)) + list(output)
    expanded = []
    for i, (tensor, term) in enumerate(zip(tensors, labels)):
        if tensor.shape.ndims != len(term):
            raise ValueError(
                f"Input {i} with axes {term} has incorrect number of dimensions (expected {len(term)}, got {tensor.shape.ndims})"
            )
        tensor = _transpose(tensor, [term.index(c) for c in order if c in term])
        expanded.append((tensor, {c: s for c, s in zip((c for c in order if c in term), tensor._sizes)}))
    for label in order:
        if len({sizes[label] for _, sizes in expanded if (sizes.get(label) or 1) > 1}) > 1:
            raise ValueError(f"Dimension mismatch on axis: {label}")
    reshaped = [reshape(t, [(sizes[c] or -1) if c in sizes else 1 for c in order]) for t, sizes in expanded]
    product = functools.reduce(operator.mul, reshaped, 1)
    return reduce_sum(product, list(range(len(order) - len(output))))
