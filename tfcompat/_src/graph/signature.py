"""OpDef signatures as text: `"(input: T, axis: Tidx, *, keep_dims: bool = False, T: NUMBER, Tidx: INDEX = int32) -> (output: T)"`.

Inputs come before the `*`, attributes after it. The type of an input or output is a dtype, a type attribute (`T`),
`N*T` (a list whose length is the attribute N), a `list(type)` attribute, or `Ref(...)` of one of these.
The kind of an attribute is `int`, `float`, `bool`, `string`, `type`, `shape`, `tensor`, `func`, a `list(...)` of one, or a set of
allowed values: a named set of dtypes (`NUMBER`), `{int32, int64}`, or `{"SAME", "VALID"}`; `int >= 1` and `list(type) >= 1` set a minimum.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfcompat._src.base import dtypes

# The sets have 1.15's order: OpDefs list allowed values in it, and error messages repeat it.
NAMED_SETS = {
    "FLOAT": "float16 bfloat16 float32 float64",
    "INDEX": "int32 int64",
    "COMPLEX": "complex64 complex128",
    "REAL": "float32 float64 int32 uint8 int16 int8 int64 bfloat16 uint16 float16 uint32 uint64",
    "NUMBER": "float32 float64 int32 uint8 int16 int8 complex64 int64 qint8 quint8 qint32 bfloat16 uint16 complex128 "
    "float16 uint32 uint64",
    "QUANTIZED": "qint8 quint8 qint32 qint16 quint16",
}
SCALAR_KINDS = frozenset(("int", "float", "bool", "string", "type", "shape", "tensor", "func"))
REQUIRED = object()
"""The default of an attribute that has none."""
_NAMES_OF_JSON = {"True": "true", "False": "false", "None": "null"}


@dataclass(frozen=True)
class Arg:
    """An input or output, with the fields of an ArgDef: `dtype` is fixed, or the attribute `type_attr` or `type_list_attr` holds it."""

    name: str
    dtype: dtypes.DType | None = None
    type_attr: str = ""
    number_attr: str = ""
    type_list_attr: str = ""
    is_ref: bool = False

    @property
    def is_list(self) -> bool:
        return bool(self.number_attr or self.type_list_attr)


@dataclass(frozen=True)
class Attr:
    """An attribute: its kind, default (REQUIRED if there is none), allowed values in 1.15's order, and minimum (of a list: of its length)."""

    name: str
    kind: str
    default: Any = REQUIRED
    allowed: tuple[Any, ...] | None = None
    minimum: int | None = None

    @property
    def is_list(self) -> bool:
        return self.kind.startswith("list(")

    @property
    def element_kind(self) -> str:
        return self.kind[5:-1] if self.is_list else self.kind


@dataclass(frozen=True)
class Signature:
    """A parsed signature.

    Attributes:
      inputs: the inputs. outputs: the outputs. attrs: the attributes by name.
      inferred: names of the attributes that the inputs determine.
      explicit: names of the other attributes, those without a default first: the parameters of the op's Python function.
      input_index: position of each input by name.
    """

    inputs: tuple[Arg, ...]
    outputs: tuple[Arg, ...]
    attrs: dict[str, Attr]
    inferred: frozenset[str]
    explicit: tuple[str, ...]
    input_index: dict[str, int]

    def require_refs(self, name: str, given: Sequence[dtypes.DType]) -> None:
        """Raises TypeError, in 1.15's words, if an input of the op `name` must be a ref and is given as a value."""
        args = self.inputs
        if any(arg.is_list for arg in args) or all(kind._is_ref_dtype for arg, kind in zip(args, given) if arg.is_ref):
            return
        types = ", ".join(f"tf.{kind.name}" for kind in given)
        expected = ", ".join(f"tf.{kind.base_dtype.name}{'_ref' if arg.is_ref else ''}" for arg, kind in zip(args, given))
        raise TypeError(f"In op '{name}', input types ([{types}]) are not compatible with expected types ([{expected}])")


def _split(text: str) -> list[str]:
    """Splits a text at commas outside brackets and quotes; drops empty parts."""
    # Commas inside quotes belong to strings, those inside brackets to sets and lists.
    parts, depth, quoted, start = [], 0, False, 0
    for i, ch in enumerate(text):
        if ch == '"' and text[i - 1] != "\\":
            quoted = not quoted
        elif quoted:
            continue
        elif ch in "([{":
            depth += 1
        elif ch in ")]}":
            depth -= 1
        elif ch == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return [p for p in parts if p]


@functools.cache
def _dtypes_of(names: str) -> tuple[dtypes.DType, ...]:
    return tuple(dtypes.as_dtype(n) for n in names.replace(",", " ").split())


def _parse_arg(text: str, attrs: dict[str, Attr]) -> Arg:
    """Parses an input or output (`name: type`), given the attributes, which tell `T` from a dtype."""
    name, _, kind = (s.strip() for s in text.partition(":"))
    is_ref = kind.startswith("Ref(")
    if is_ref:
        kind = kind[4:-1].strip()
    # `N*T`: a list of N tensors of type T.
    number, _, element = kind.rpartition("*")
    element = element.strip()
    if element in attrs:
        if attrs[element].is_list:
            return Arg(name, type_list_attr=element, is_ref=is_ref)
        return Arg(name, type_attr=element, number_attr=number.strip(), is_ref=is_ref)
    return Arg(name, dtype=dtypes.as_dtype(element), number_attr=number.strip(), is_ref=is_ref)


def _parse_default(text: str, element_kind: str, is_list: bool) -> Any:
    """Parses a default: names of dtypes for `type`, otherwise JSON, with True, False and None for JSON's names."""
    if element_kind == "type":
        names = text.strip("[]").replace(",", " ").split()
        kinds = [dtypes.as_dtype(n) for n in names]
        return kinds if is_list else kinds[0]
    value = json.loads(_NAMES_OF_JSON.get(text, text))
    if element_kind == "string":
        return [v.encode("latin-1") for v in value] if is_list else value.encode("latin-1")
    if element_kind == "float":
        return [float(v) for v in value] if is_list else float(value)
    return value


def _parse_attr(text: str) -> Attr:
    """Parses an attribute: `name: kind`, then an optional `>= minimum` and an optional `= default`."""
    name, _, kind = (s.strip() for s in text.partition(":"))
    allowed, minimum, default = None, None, REQUIRED
    # Splits at the first "=" that is not part of ">=".
    kind, _, default_text = (s.strip() for s in re.sub(r"(?<![><])=", "\0", kind, count=1).partition("\0"))
    if ">=" in kind:
        kind, _, limit = (s.strip() for s in kind.partition(">="))
        minimum = int(limit)
    is_list = kind.startswith("list(")
    element = kind[5:-1].strip() if is_list else kind
    # Sets of dtypes restrict a `type` attribute, sets of strings a `string` attribute.
    if element in NAMED_SETS:
        element, allowed = "type", _dtypes_of(NAMED_SETS[element])
    elif element.startswith("{") and '"' in element:
        allowed, element = tuple(v.encode() for v in json.loads(f"[{element[1:-1]}]")), "string"
    elif element.startswith("{"):
        allowed, element = _dtypes_of(element.strip("{}")), "type"
    elif element not in SCALAR_KINDS:
        raise ValueError(f"The attribute {text!r} has the unknown kind {element!r}; the docstring of signature.py lists the kinds.")
    if default_text:
        default = _parse_default(default_text, element, is_list)
    return Attr(name, f"list({element})" if is_list else element, default, allowed, minimum)


def parse(text: str) -> Signature:
    """Parses a signature text; raises ValueError if it is malformed."""
    left, arrow, right = text.partition(" -> ")
    if not arrow:
        raise ValueError(f"A signature must have the form '(inputs, *, attributes) -> (outputs)', got {text!r}.")
    parts = _split(left.strip()[1:-1])
    star = parts.index("*") if "*" in parts else len(parts)
    # Attributes are parsed first: the type of an input or output may name one.
    attrs = {a.name: a for a in map(_parse_attr, parts[star + 1 :])}
    inputs = tuple(_parse_arg(p, attrs) for p in parts[:star])
    outputs = tuple(_parse_arg(p, attrs) for p in _split(right.strip()[1:-1]))
    # An attribute that types or counts an input is determined by the inputs, so a Python function does not take it.
    inferred = frozenset(
        n for a in inputs for n in (a.type_attr, a.number_attr, a.type_list_attr) if n
    )
    named = [n for n in attrs if n not in inferred]
    explicit = tuple(sorted(named, key=lambda n: attrs[n].default is not REQUIRED))
    return Signature(inputs, outputs, attrs, inferred, explicit, {a.name: i for i, a in enumerate(inputs)})
