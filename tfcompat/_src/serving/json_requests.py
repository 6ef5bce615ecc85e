"""JSON requests of the REST interface as arrays and messages.

Forms and texts of errors: TensorFlow Serving's REST reference, and util/json_tensor.cc for what it leaves open.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.proto import messages
from tfcompat._src.serving import json_replies
from tfcompat._src.serving.inference import invalid
from tfcompat._src.serving.servable import type_name

ROW, COLUMNS = "row", "columns"
_INTEGERS = {
    dtypes.int8: (-(2**31), 2**31), dtypes.int16: (-(2**31), 2**31), dtypes.int32: (-(2**31), 2**31), dtypes.uint8: (-(2**31), 2**31),
    dtypes.int64: (-(2**63), 2**63), dtypes.uint32: (0, 2**32), dtypes.uint64: (0, 2**64),
}  # fmt: skip
"""The numbers that a JSON value may have for each dtype; those of small ones are cut to it, as in TensorFlow Serving."""
_FLOATS = (dtypes.float32, dtypes.float64)
_TEXTS = {
    "Expecting value": "Invalid value.",
    "Expecting property name enclosed in double quotes": "Missing a name for object member.",
    "Illegal trailing comma before end of object": "Missing a name for object member.",
    "Illegal trailing comma before end of array": "Invalid value.",
    "Expecting ':' delimiter": "Missing a colon after a name of object member.",
    "Unterminated string starting at": "Missing a closing quotation mark in string.",
    "Invalid \\escape": "Invalid escape character in string.",
    "Invalid \\uXXXX escape": "Incorrect hex digit after \\u escape in string.",
    "Invalid control character at": "Invalid encoding in string.",
    "Expecting ',' delimiter": "Missing a comma after an object member or array element.",
}
"""What the parser of the server says for what Python's says."""
_DECODER = json.JSONDecoder()


class PredictRequest(NamedTuple):
    """A parsed body: the inputs by key, and the form that the reply takes, ROW or COLUMNS."""

    inputs: dict[str, NDArray]
    form: str


def parse(body: bytes) -> Any:
    """The first JSON value of a body; NaN and Infinity are numbers, and what follows the value is ignored.

    Raises:
      errors.InvalidArgumentError: it is empty, or not JSON.
    """
    if not body:
        raise invalid("JSON Parse error: The document is empty")
    try:
        text = body.decode()
        return _DECODER.raw_decode(text, len(text) - len(text.lstrip(" \t\r\n")))[0]
    except json.JSONDecodeError as e:
        said = next((ours for theirs, ours in _TEXTS.items() if e.msg.startswith(theirs)), e.msg)
        raise invalid(f"JSON Parse error: {said} at offset: {len(text[: e.pos].encode())}") from None
    except UnicodeDecodeError as e:
        raise invalid(f"JSON Parse error: Invalid encoding in string. at offset: {e.start}") from None
    except RecursionError:
        raise invalid("JSON Parse error: Lists and objects are nested too deeply.") from None
    except ValueError as e:  # a number of thousands of digits
        raise invalid(f"JSON Parse error: Number too big to be stored in double. ({e})") from None


def signature_name(document: object) -> str:
    """The signature that a request names, or ""; errors.InvalidArgumentError where the document is no request."""
    if not isinstance(document, dict):
        raise _malformed(document, "Is not object")
    name = document.get("signature_name", "")
    if not isinstance(name, str):
        raise _malformed(document, "not formatted correctly. 'signature_name' key must be a string value.")
    return name


def _malformed(value: object, text: str) -> errors.OpError:
    return invalid(f"JSON Value: {json_replies.shown(value)} {text}")


# ---- predict ----


def predict_request(document: Any, infos: Mapping[str, Any]) -> PredictRequest:
    """The inputs in a request.

    Args:
      document: the parsed body. infos: the TensorInfo of each input of its signature by key.

    Raises:
      errors.InvalidArgumentError: the request does not fit these inputs. errors.UnimplementedError: JSON has no values of a dtype.
    """
    if "instances" in document and "inputs" in document:
        raise _malformed(document, "Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist ")
    if "instances" in document:
        instances = document["instances"]
        if not isinstance(instances, list):
            raise _malformed(document, "Expecting 'instances' to be an list/array")
        if not instances:
            raise _malformed(document, "No values in 'instances' array")
        return PredictRequest(_rows(instances, {key: dtypes.as_dtype(info.dtype) for key, info in infos.items()}), ROW)
    if "inputs" in document:
        return PredictRequest(_columns(document["inputs"], {key: dtypes.as_dtype(info.dtype) for key, info in infos.items()}), COLUMNS)
    raise invalid("Missing 'inputs' or 'instances' key")


def _rows(instances: list[Any], types: Mapping[str, dtypes.DType]) -> dict[str, NDArray]:
    are_objects = _is_object(instances[0])
    if not are_objects and len(types) > 1:
        raise invalid("instances is a plain list, but expecting list of objects as multiple input tensors required as per tensorinfo_map")
    columns = {key: _Column(dtype) for key, dtype in types.items()}
    only = next(iter(types), "")
    for number, instance in enumerate(instances):
        if _is_object(instance) != are_objects:
            got, wanted = ("list", "object") if are_objects else ("object", "value/list")
            raise invalid(f"Expecting {wanted} but got {got} at item {number} of input list")
        for key, value in instance.items() if are_objects else ((only, instance),):
            try:
                if key not in columns:
                    raise invalid(f"JSON object: does not have named input: {key}")
                columns[key].add(value)
            except errors.InvalidArgumentError as e:
                named = f" key: {key}" if are_objects else ""
                raise invalid(
                    f"Failed to process element: {number}{named} of 'instances' list. Error: INVALID_ARGUMENT: {e.message}"
                ) from None
        if are_objects and len(instance) != len(types):
            raise invalid(
                f"Failed to process element: {number} of 'instances' list. JSON object: {json_replies.shown(instance)} "
                f"keys must be equal to: {','.join(sorted(types))}"
            )
    return {key: column.array(len(instances)) for key, column in columns.items()}


def _is_object(value: object) -> bool:
    return isinstance(value, dict) and not _is_base64(value)


class _Column:
    """The values that one input has in the instances of a request, which agree in shape."""

    def __init__(self, dtype: dtypes.DType) -> None:
        self._dtype = dtype
        self._shape: tuple[int, ...] | None = None
        self._size = 0
        self._flat: list[Any] = []

    def add(self, value: object) -> None:
        """Adds an instance's value."""
        shape, before = _shape_of(value), len(self._flat)
        _flatten(value, 0, shape, self._dtype, self._flat)
        size = len(self._flat) - before
        if self._shape is None:
            self._shape, self._size = shape, size
        elif size != self._size:
            raise invalid(f"Expecting tensor size: {self._size} but got: {size}")
        elif shape != self._shape:
            raise invalid(f"Expecting shape {_written(self._shape)} but got: {_written(shape)}")

    def array(self, count: int) -> NDArray:
        """The values of all `count` instances."""
        return _array(self._flat, (count, *(self._shape or ())), self._dtype)


def _written(shape: tuple[int, ...]) -> str:
    return "[" + ",".join(map(str, shape)) + "]"


def _columns(inputs: Any, types: Mapping[str, dtypes.DType]) -> dict[str, NDArray]:
    if not _is_object(inputs):
        if len(types) > 1:
            raise invalid("inputs is a plain value/list, but expecting an object as multiple input tensors required as per tensorinfo_map")
        return {key: _tensor(inputs, dtype) for key, dtype in types.items()}
    for key in types:
        if key not in inputs:
            raise invalid(f"Missing named input: {key} in 'inputs' object.")
    return {key: _tensor(inputs[key], dtype) for key, dtype in types.items()}


def _tensor(value: object, dtype: dtypes.DType) -> NDArray:
    shape, flat = _shape_of(value), []
    _flatten(value, 0, shape, dtype, flat)
    return _array(flat, shape, dtype)


def _array(flat: list[Any], shape: tuple[int, ...], dtype: dtypes.DType) -> NDArray:
    if dtype == dtypes.string:
        array = np.empty(len(flat), object)
        array[:] = flat
    elif dtype in _FLOATS:
        with np.errstate(over="ignore"), _numbers_too_big():  # 1e300 is infinite as a float
            array = np.array(flat, np.float64).astype(dtype.as_numpy_dtype)
    elif dtype in _INTEGERS and np.dtype(dtype.as_numpy_dtype).itemsize < 4:
        array = np.array(flat, np.int32).astype(dtype.as_numpy_dtype)
    else:
        array = np.array(flat, dtype.as_numpy_dtype)
    return array.reshape(shape)


@contextlib.contextmanager
def _numbers_too_big() -> Iterator[None]:
    """A block in which an integer without a double is an error of the request, as in TensorFlow Serving's parser."""
    try:
        yield
    except OverflowError:
        raise invalid("JSON Parse error: Number too big to be stored in double.") from None


def _shape_of(value: object) -> tuple[int, ...]:
    """The shape of nested lists by their first elements."""
    sizes = []
    while isinstance(value, list):
        sizes.append(len(value))
        if not value:
            break
        value = value[0]
    return tuple(sizes)


def _flatten(value: object, level: int, shape: tuple[int, ...], dtype: dtypes.DType, flat: list[Any]) -> None:
    """Appends the values in nested lists to `flat`."""
    if not isinstance(value, list):
        if level != len(shape):
            raise invalid(
                f"JSON Value: {json_replies.shown(value)} found at incorrect level: {level + 1} in the JSON DOM. "
                f"Expected at level: {len(shape)}"
            )
        flat.append(_scalar(value, dtype))
        return
    if level >= len(shape):
        raise invalid(f"Encountered list at unexpected level: {level} expected < {len(shape)}")
    if len(value) != shape[level]:
        raise invalid(f"Encountered list at unexpected size: {len(value)} at level: {level} expected size: {shape[level]}")
    if dtype in _FLOATS and level == len(shape) - 1 and {int, float}.issuperset(map(type, value)):
        flat.extend(value)  # as the loop does, for long lists of numbers
        return
    for element in value:
        _flatten(element, level + 1, shape, dtype, flat)


def _scalar(value: object, dtype: dtypes.DType) -> Any:
    if dtype in _FLOATS:
        fits = type(value) in (int, float)
    elif dtype in _INTEGERS:
        low, high = _INTEGERS[dtype]
        fits = type(value) is int and low <= value < high
    elif dtype == dtypes.bool:
        fits = isinstance(value, bool)
    elif dtype == dtypes.string:
        if _is_base64(value):
            return _decoded(value)
        if isinstance(value, str):
            return value.encode("utf-8", "surrogatepass")
        fits = False
    else:
        raise errors.UnimplementedError(None, None, f"Conversion of JSON Value: {json_replies.shown(value)} to type: {type_name(dtype)}")
    if not fits:
        raise invalid(
            f"JSON Value: {json_replies.shown(value)} Type: {_type_name(value)} is not of expected type: {type_name(dtype)}"
        )
    return value


def _type_name(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "Null", True: "True", False: "False"}[value]
    return {dict: "Object", list: "Array", str: "String"}.get(type(value), "Number")


def _is_base64(value: object) -> bool:
    return isinstance(value, dict) and value.keys() == {"b64"}


def _decoded(value: Any) -> bytes:
    text = value["b64"]
    if not isinstance(text, str):
        raise _malformed(value, "not formatted correctly for base64 data")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise invalid("Unable to base64 decode") from None


# ---- classify, regress ----


def fill_input(document: Any, request: Any) -> None:
    """Fills the Input of a ClassificationRequest or RegressionRequest with the Examples of a JSON document."""
    examples = document.get("examples")
    if "examples" not in document:
        raise _malformed(document, "When method is classify, key 'examples' is expected and was not found")
    if not isinstance(examples, list):
        raise _malformed(document, "Expecting 'examples' value to be an list/array")
    if not examples:
        raise _malformed(document, "'examples' value is an empty array")
    if "context" in document:
        kind = request.input.example_list_with_context
        kind.context.CopyFrom(_example(document["context"]))
    else:
        kind = request.input.example_list
    kind.examples.extend(_example(each) for each in examples)


def _example(value: object) -> Any:
    if not isinstance(value, dict):
        raise invalid(f"Example must be JSON object but got JSON {_type_name(value)}")
    example = messages.Example()
    for name, content in value.items():
        feature = example.features.feature[name]
        elements = content if isinstance(content, list) else [content]
        if elements and {float}.issuperset(map(type, elements)):
            feature.float_list.value.extend(elements)  # as the loop does, for long lists of numbers
            continue
        for element in elements:
            _add_to_feature(element, name, feature)
    return example


def _add_to_feature(value: Any, name: str, feature: Any) -> None:
    if isinstance(value, str):
        kind, stored = "bytes_list", value.encode("utf-8", "surrogatepass")
    elif _is_base64(value):
        kind, stored = "bytes_list", _decoded(value)
    elif isinstance(value, float):
        kind, stored = "float_list", value
    elif isinstance(value, int):
        kind, stored = "int64_list", int(value)
        if stored >= 2**63:
            raise invalid(f"Feature: {name} has uint64_t element. Only int64_t is supported.")
        if stored < -(2**63):
            with _numbers_too_big():
                kind, stored = "float_list", float(stored)
    else:
        raise invalid(f"Feature: {name} has element with unexpected JSON type: {_type_name(value)}")
    held = feature.WhichOneof("kind")
    if held not in (None, kind):
        raise invalid(f"Unexpected element type in feature: {name} expecting type: {held.removesuffix('_list')}")
    getattr(feature, kind).value.append(stored)
