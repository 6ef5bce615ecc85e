"""JSON replies of the REST interface, laid out as TensorFlow Serving lays them out: indented by 4 spaces, lists of values in one line.

Numbers: six digits where these read back as the same number, else all (9 of a float, 17 of a double), and ".0" behind whole ones.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from json.encoder import encode_basestring
from typing import Any

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.serving.inference import invalid
from tfcompat._src.serving.servable import dtype_of, type_name

_BYTES_SUFFIX = "_bytes"
_LONGEST_SHOWN = 256


def error(text: str) -> bytes:
    """The reply of a request that failed."""
    return f'{{\n    "error": {_quoted(text)}\n}}'.encode("utf-8", "backslashreplace")


def shown(value: object) -> str:
    """A value of a request as texts of errors show it: its first 256 characters."""
    written = json.dumps(value, ensure_ascii=False, indent=4) if isinstance(value, dict) else json.dumps(value, ensure_ascii=False)
    return written[:_LONGEST_SHOWN]


def rows(outputs: Mapping[str, NDArray]) -> bytes:
    """The reply to a request in row form: one value or, of several outputs, one object for each instance.

    Raises:
      errors.InvalidArgumentError: outputs have no first dimension, or sizes of it that differ; or JSON has no such values.
    """
    if not outputs:
        raise invalid("Cannot convert empty tensor map to JSON")
    count = None
    for key, value in outputs.items():
        if not value.ndim:
            raise invalid(f"Tensor name: {key} has no shape information ")
        if count not in (None, len(value)):
            raise invalid(f"Tensor name: {key} has inconsistent batch size: {len(value)} expecting: {count}")
        count = len(value)
    written = {key: [_in_line(row) for row in _values(key, value)] for key, value in outputs.items()}
    if len(outputs) == 1:
        (each,) = written.values()
        return _reply("predictions", _closed("[" + ", ".join(each), bool(each)))
    objects = []
    for number in range(count or 0):
        members = ",\n".join(f"            {_quoted(key)}: {each[number]}" for key, each in sorted(written.items()))
        objects.append(f"\n        {{\n{members}\n        }}")
    return _reply("predictions", _closed("[" + ",".join(objects), bool(objects)))


def columns(outputs: Mapping[str, NDArray]) -> bytes:
    """The reply to a request in columnar form: the output, or an object of several; errors.InvalidArgumentError where JSON has no such values."""
    if not outputs:
        raise invalid("Cannot convert empty tensor map to JSON")
    if len(outputs) == 1:
        ((key, value),) = outputs.items()
        return _reply("outputs", _in_lines(_values(key, value), 4))
    members = ",\n".join(f"        {_quoted(key)}: {_in_lines(_values(key, value), 8)}" for key, value in sorted(outputs.items()))
    return _reply("outputs", "{\n" + members + "\n    }")


def classifications(result: Any) -> bytes:
    """The reply with a ClassificationResult."""
    rows = []
    for each in result.classifications:
        scores = _floats(np.array([c.score for c in each.classes], np.float32))
        rows.append([[_quoted(c.label), score] for c, score in zip(each.classes, scores, strict=True)])
    return _reply("results", _closed("[" + ", ".join(map(_in_line, rows)), True))


def regressions(result: Any) -> bytes:
    """The reply with a RegressionResult."""
    return _reply("results", _in_line(_floats(np.array([each.value for each in result.regressions], np.float32))))


def _reply(key: str, written: str) -> bytes:
    return f'{{\n    "{key}": {written}\n}}'.encode("utf-8", "surrogateescape")


def _closed(opened: str, has_elements: bool) -> str:
    return opened + ("\n    ]" if has_elements else "]")


def _in_line(value: Any) -> str:
    return "[" + ", ".join(map(_in_line, value)) + "]" if isinstance(value, list) else value


def _in_lines(value: Any, margin: int) -> str:
    if not isinstance(value, list):
        return value
    if not value:
        return "[]"
    inner = " " * (margin + 4)
    return "[\n" + ",\n".join(inner + _in_lines(each, margin + 4) for each in value) + "\n" + " " * margin + "]"


# ---- values ----


def _values(key: str, value: NDArray) -> Any:
    """Nested lists with the text of each value."""
    if value.dtype.kind in "OSU":
        write: Callable[[Any], str] = _object_of_bytes if key.endswith(_BYTES_SUFFIX) else _quoted
        texts = [write(each) for each in value.ravel().tolist()]
    elif value.dtype in (np.float32, np.float64):
        texts = _floats(value.ravel())
    elif value.dtype == np.bool_:
        texts = ["true" if each else "false" for each in value.ravel().tolist()]
    elif value.dtype.kind in "iu":
        texts = list(map(str, value.ravel().tolist()))
    else:
        raise invalid(f"Failed to write JSON value for tensor type: {type_name(dtype_of(value))}")
    written = np.empty(len(texts), object)
    written[:] = texts
    return written.reshape(value.shape).tolist() if value.ndim else texts[0]


def _floats(values: NDArray) -> list[str]:
    """The texts of a vector of floats or doubles."""
    short = ["%.6g" % number for number in values.tolist()]
    same = np.array(short, np.float64).astype(values.dtype) == values
    digits = "%.9g" if values.dtype == np.float32 else "%.17g"
    found = [text if is_same else digits % number for text, is_same, number in zip(short, same.tolist(), values.tolist(), strict=True)]
    return [_SPECIAL.get(text) or (text if "." in text or "e" in text else text + ".0") for text in found]


_SPECIAL = {"nan": "NaN", "-nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _quoted(value: str | bytes) -> str:
    text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
    return encode_basestring(text)


def _object_of_bytes(value: str | bytes) -> str:
    data = value.encode() if isinstance(value, str) else value
    return f'{{"b64": "{base64.b64encode(data).decode()}"}}'
