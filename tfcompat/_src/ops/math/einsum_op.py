"""The op type Einsum: one node for an equation over one or two inputs."""

from __future__ import annotations

import itertools
import string
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import COSTLY, NotDifferentiable, op
from tfcompat._src.graph.tensor import shape_text

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array
    from tfcompat._src.graph.shape_inference import InferenceContext

_ELLIPSIS = "..."


def _subscripts(equation: str, inputs: int) -> tuple[list[str], str]:
    """The labels of each input and of the output; ValueError where the equation is malformed. Any character is a label."""
    sides = equation.split("->")
    if len(sides) != 2:
        raise ValueError(f"Expecting exactly one '->' in einsum equation: {equation}")
    terms, output = sides[0].split(","), sides[1]
    if len(terms) not in (1, 2):
        raise ValueError(f"Expecting 1 or 2 input subscripts in equation '{equation}' but got: {len(terms)}")
    if len(terms) != inputs:
        raise ValueError(f"Expected {len(terms)} inputs for equation {equation} but got: {inputs}")
    for term, where in (*zip(terms, itertools.repeat("input")), (output, "output")):
        periods = term.count(".")
        if periods and (periods != 3 or _ELLIPSIS not in term):
            text = f"Expected at most one ellipsis (...), but found {periods} periods (.) in the {where} subscript: {term}"
            raise ValueError(text)
    for label in output.replace(_ELLIPSIS, ""):
        if label not in sides[0]:
            raise ValueError(
                f"Einsum output subscripts for equation '{equation}' has label '{label}' which is not present in the input subscripts"
            )
    return terms, output


def _split(term: str, sizes: tuple) -> tuple[list[tuple[str, Any]], tuple]:
    """The label of each named axis with its size, and the sizes of the axes that the ellipsis stands for."""
    labels, rank = term.replace(_ELLIPSIS, ""), len(sizes)
    if _ELLIPSIS not in term:
        return list(zip(labels, sizes)), ()
    start, stop = term.index("."), rank - (len(labels) - term.index("."))
    return list(zip(labels, sizes[:start] + sizes[stop:])), sizes[start:stop]


def _einsum_shape(c: InferenceContext) -> list:
    equation = c.attr("equation").decode()
    terms, output = _subscripts(equation, len(c.inputs))
    known: dict[str, int | None] = {}
    broadcast: tuple | None = ()
    for i, (term, sizes) in enumerate(zip(terms, c.inputs)):
        if sizes is None:
            broadcast = None if _ELLIPSIS in term else broadcast
            known.update({label: known.get(label) for label in term.replace(_ELLIPSIS, "")})
            continue
        labels = len(term.replace(_ELLIPSIS, ""))
        if len(sizes) < labels or (len(sizes) > labels and _ELLIPSIS not in term):
            kind = "at least rank" if _ELLIPSIS in term else "rank"
            raise ValueError(f"Shape must be {kind} {labels} but is rank {len(sizes)}\n\t for {i}th input and equation: {equation}")
        named, extra = _split(term, sizes)
        for label, size in named:
            known[label] = si.merge_size(known.get(label), size)
        broadcast = None if broadcast is None else si.broadcast(broadcast, extra)
    if _ELLIPSIS not in output:
        if broadcast:
            raise ValueError(
                f"Shape must be at most rank 0 but is rank {len(broadcast)}\n\t for einsum equation '{equation}' without ellipsis "
                "(...) in the output subscripts where input(s) have non-empty broadcasting shape"
            )
        return [tuple(known[label] for label in output)]
    if broadcast is None:
        return [None]
    before, after = output.split(_ELLIPSIS)
    return [(*(known[c] for c in before), *broadcast, *(known[c] for c in after))]


def _check_sizes(terms: list[str], output: str, inputs: tuple) -> None:
    found: dict[str, int] = {}
    for i, (term, x) in enumerate(zip(terms, inputs)):
        labels = len(term.replace(_ELLIPSIS, ""))
        if x.ndim < labels or (x.ndim > labels and _ELLIPSIS not in term):
            kind = "rank at least" if _ELLIPSIS in term else "rank"
            raise errors.InvalidArgumentError(None, None, f"Expected input {i} to have {kind} {labels} but got: {x.ndim}")
        named, extra = _split(term, x.shape)
        if extra and _ELLIPSIS not in output:
            text = f"Output contains {len(extra)} broadcasting dimension(s) but no ellipsis (...) was found in the output subscripts."
            raise errors.InvalidArgumentError(None, None, text)
        for axis, (label, size) in enumerate(named):
            if found.setdefault(label, size) != size:
                raise errors.InvalidArgumentError(
                    None, None,
                    f"Expected dimension {found[label]} at axis {axis} of the input shaped {shape_text(x.shape)} but got dimension {size}",
                )  # fmt: skip


@op("Einsum", "(inputs: N*T, *, equation: string, N: int >= 1, T: type) -> (output: T)", shape=_einsum_shape,
    gradient=NotDifferentiable("no gradient is defined", raises=True), facts=COSTLY)  # fmt: skip
def _einsum(inputs, *, equation):
    terms, output = _subscripts(equation, len(inputs))
    _check_sizes(terms, output, inputs)
    labels = sorted(set("".join([*terms, output])) - {"."})
    letters = dict(zip(labels, string.ascii_letters), **{".": "."})
    terms, output = ["".join(letters[c] for c in t) for t in terms], "".join(letters[c] for c in output)
    distinct = "".join(c for i, c in enumerate(output) if c == "." or c not in output[:i])
    found = jnp.einsum(f"{','.join(terms)}->{distinct}", *inputs, preferred_element_type=inputs[0].dtype)
    return found if distinct == output else _on_diagonal(found, distinct, output)


def _on_diagonal(x: Any, distinct: str, output: str) -> Array:
    """`x`, whose axes are `distinct`, on the diagonal of the axes that `output` repeats, with zeros elsewhere."""
    sizes = dict(_split(distinct, x.shape)[0])
    for i, label in enumerate(output):
        if label == "." or label not in output[:i]:
            continue
        fresh = next(c for c in string.ascii_letters if c not in output and c not in distinct)
        unit = np.eye(sizes[label], dtype=x.dtype)
        longer = distinct + fresh
        x = jnp.einsum(f"{distinct},{label}{fresh}->{longer}", x, unit)
        distinct, output = longer, output[:i] + fresh + output[i + 1 :]
    return jnp.einsum(f"{distinct}->{output}", x)
