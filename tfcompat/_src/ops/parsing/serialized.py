"""Tensors and messages as strings: SerializeTensor, ParseTensor, DecodeJSONExample, DecodeCompressed."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from google.protobuf import json_format
from google.protobuf.message import DecodeError

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph import variant
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.graph.tensor_proto import content_proto
from tfcompat._src.graph.variant import EncodedVariant
from tfcompat._src.nodes import raw
from tfcompat._src.proto import messages

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

_NO_GRADIENT = NotDifferentiable("a string has no derivative")


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def _each(function: Callable[[bytes], bytes], texts: np.ndarray) -> np.ndarray:
    found = np.empty(texts.size, object)
    found[:] = [function(text) for text in texts.reshape(-1)]
    return found.reshape(texts.shape)


# ---- tensors ----


@op("SerializeTensor", "(tensor: T, *, T: type) -> (serialized: string)", shape=si.scalar, gradient=_NO_GRADIENT, side=HOST)
def _serialize_tensor(x):
    array = np.asarray(x)
    holds_variants = array.dtype == object and any(isinstance(value, EncodedVariant) for value in array.reshape(-1))
    proto = variant.message_of(array) if holds_variants else content_proto(array)
    return np.array(proto.SerializeToString(), object)


@export("serialize_tensor", "io.serialize_tensor")
def serialize_tensor(tensor: TensorLike, name: str | None = None) -> Tensor:
    """A Tensor as a serialized TensorProto, a string scalar."""
    return raw.SerializeTensor(tensor, name=name)


@op("ParseTensor", "(serialized: string, *, out_type: type) -> (output: out_type)", shape=si.unknown, gradient=_NO_GRADIENT,
    side=HOST)  # fmt: skip
def _parse_tensor(serialized, *, out_type):
    if serialized.ndim:
        raise _invalid(f"Expected `serialized` to be a scalar, got shape: {shape_text(serialized.shape)}")
    proto, text = messages.TensorProto(), serialized.item()
    try:
        proto.ParseFromString(text)
        found = variant.array_of(proto, numbers_only=False)
    except DecodeError:
        raise _invalid(f"Could not parse `serialized` as TensorProto: '{text.decode('utf-8', 'replace')}'") from None
    except (TypeError, ValueError) as e:
        raise _invalid(f"Cannot parse tensor from proto: {e}") from None
    held, wanted = dtypes.as_dtype(proto.dtype), dtypes.as_dtype(out_type)
    if held != wanted:
        names = (dtypes.cpp_name(kind.name) for kind in (held, wanted))
        raise _invalid("Type mismatch between parsed tensor ({}) and dtype ({})".format(*names))
    return found


@export("parse_tensor", "io.parse_tensor")
def parse_tensor(serialized: TensorLike, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """The Tensor of a serialized TensorProto.

    Args:
      serialized: string scalar.
      out_type: its dtype.
      name: node name.

    Raises:
      InvalidArgumentError: in a run with a string that is no TensorProto, or one of another dtype.
    """
    return raw.ParseTensor(serialized, out_type=out_type, name=name)


# ---- strings to strings ----


def _example_of_json(text: bytes) -> bytes:
    try:
        return json_format.Parse(text, messages.Example()).SerializeToString()
    except (json_format.ParseError, UnicodeDecodeError) as e:
        raise _invalid(f"Error while parsing JSON: {e}") from None


op("DecodeJSONExample", "(json_examples: string) -> (binary_examples: string)", shape=si.unchanged, gradient=_NO_GRADIENT,
   side=HOST, kernel=lambda texts: _each(_example_of_json, texts))  # fmt: skip


@export("decode_json_example", "io.decode_json_example")
def decode_json_example(json_examples: TensorLike, name: str | None = None) -> Tensor:
    """Example messages in protobuf's JSON form as serialized ones.

    Raises:
      InvalidArgumentError: in a run with a string that is no Example in JSON.
    """
    return raw.DecodeJSONExample(json_examples, name=name)


_WINDOW_BITS = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS | 16}


def _inflated(text: bytes, window_bits: int) -> bytes:
    try:
        return zlib.decompressobj(window_bits).decompress(text)
    except zlib.error as e:
        code, _, text = str(e).removeprefix("Error ").partition(" while decompressing data: ")
        raise errors.DataLossError(None, None, f"inflate() failed with error {code}: {text}") from None


@op("DecodeCompressed", '(bytes: string, *, compression_type: string = "") -> (output: string)', shape=si.unchanged,
    gradient=_NO_GRADIENT, side=HOST)  # fmt: skip
def _decode_compressed(texts, *, compression_type):
    if not compression_type:
        return texts
    if compression_type not in _WINDOW_BITS:
        raise _invalid("Only ZLIB, GZIP or NONE are supported compressions")
    return _each(functools.partial(_inflated, window_bits=_WINDOW_BITS[compression_type]), texts)


@export("decode_compressed", "io.decode_compressed")
def decode_compressed(bytes: TensorLike, compression_type: str = "", name: str | None = None) -> Tensor:
    """Each string decompressed.

    Args:
      bytes: string Tensor.
      compression_type: "", "ZLIB" or "GZIP".
      name: node name.

    Raises:
      InvalidArgumentError: another compression. DataLossError: in a run with a string that is not compressed so.
    """
    return raw.DecodeCompressed(bytes, compression_type=compression_type, name=name)
