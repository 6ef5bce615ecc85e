"""Dimension numbers and per-dimension values moved from one data format to another."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.tensor import shape_text

_DIMENSIONS = 4
_UNDEFINED = NotDifferentiable("no gradient is defined", raises=True)


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def _formats(source: str, target: str) -> None:
    for name, value in (("Source", source), ("Destination", target)):
        if len(value) not in (4, 5):
            short = {"Source": "src", "Destination": "dst"}[name]
            raise _invalid(f"{name} format must be of length 4 or 5, received {short}_format = {value}")
    if sorted(source) != sorted(target) or len(set(source)) < len(source):
        raise _invalid(f"Destination and source format must determine a permutation, got {source} and {target}")


@op(
    "DataFormatDimMap",
    '(x: T, *, T: INDEX = int32, src_format: string = "NHWC", dst_format: string = "NCHW") -> (y: T)',
    shape=si.unchanged, gradient=_UNDEFINED,
)  # fmt: skip
def _dim_map(x, *, src_format, dst_format):
    _formats(src_format, dst_format)
    places = np.array([dst_format.index(axis) for axis in src_format], x.dtype)
    return jnp.asarray(places)[jnp.mod(x, _DIMENSIONS)]


@op(
    "DataFormatVecPermute",
    '(x: T, *, T: INDEX = int32, src_format: string = "NHWC", dst_format: string = "NCHW") -> (y: T)',
    shape=si.unchanged, gradient=_UNDEFINED,
)  # fmt: skip
def _vec_permute(x, *, src_format, dst_format):
    _formats(src_format, dst_format)
    if x.ndim not in (1, 2):
        raise _invalid(f"input must be a vector or 2D tensor, but got shape {shape_text(x.shape)}")
    if x.ndim == 1 and x.shape[0] != _DIMENSIONS:
        raise _invalid(f"1D input must be of size {_DIMENSIONS}, but got shape {shape_text(x.shape)}")
    if x.ndim == 2 and x.shape[0] != _DIMENSIONS:
        raise _invalid(f"First dimension of 2D input must be of size {_DIMENSIONS}, but got shape {shape_text(x.shape)}")
    if x.ndim == 2 and x.shape[1] != 2:
        raise _invalid(f"Second dimension of 2D input must be of size 2, but got shape {shape_text(x.shape)}")
    return jnp.asarray(x)[np.array([src_format.index(axis) for axis in dst_format])]
