"""Hyperparameters with types, and their text form `name=value,list=[1,2],other[3]=4`."""

from __future__ import annotations

import json
import numbers
import re
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.registry import register_proto_function
from tfcompat._src.platform.compat import as_bytes, as_str
from tfcompat._src.proto import messages

_ASSIGNMENT = re.compile(
    r"(?P<name>[a-zA-Z][\w\.]*)(\[\s*(?P<index>\d+)\s*\])?\s*=\s*"
    r"((?P<value>[^,\[]*)|\[(?P<values>[^\]]*)\])($|,\s*)"
)
_TEXT = (str, bytes)
_BOOLEANS = {"true": True, "True": True, "false": False, "False": False}


def _as_bool(text: str) -> bool:
    return _BOOLEANS[text] if text in _BOOLEANS else bool(int(text))


def _parsed(parse: Callable[[str], Any], text: str, name: str, kind: type, values: str, whole: str) -> Any:
    try:
        return parse(text)
    except ValueError:
        raise ValueError(
            f"Could not parse hparam '{name}' of type '{kind.__name__}' with value '{whole}' in {values}"
        ) from None


def _assigned_twice(name: str, values: str) -> ValueError:
    return ValueError(f"Multiple assignments to variable '{name}' in {values}")


def _assign_element(found: dict[str, Any], name: str, index: int, value: object, values: str) -> None:
    elements = found.setdefault(name, {})
    if not isinstance(elements, dict):
        raise _assigned_twice(name, values)
    if index in elements:
        raise _assigned_twice(f"{name}[{index}]", values)
    elements[index] = value


@export("contrib.training.parse_values")
def parse_values(values: str, type_map: dict[str, type], ignore_unknown: bool = False) -> dict[str, Any]:
    """Reads hyperparameters from text.

    Args:
      values: assignments with commas between them: `name=value`, `name=[value,value]`, `name[index]=value`.
      type_map: names to types.
      ignore_unknown: whether to pass over names that are not in `type_map`.

    Returns:
      names to values, lists, or dicts from index to value.

    Raises:
      ValueError: the text has another form, a value does not fit its type, or a name is unknown or there twice.
    """
    found: dict[str, Any] = {}
    position = 0
    while position < len(values):
        match = _ASSIGNMENT.match(values, position)
        if not match:
            raise ValueError(f"Malformed hyperparameter value: {values[position:]}")
        position = match.end()
        name = match["name"]
        if name in type_map:
            _read_assignment(match, type_map[name], values, found)
        elif not ignore_unknown:
            raise ValueError(f"Unknown hyperparameter type for {name}")
    return found


def _read_assignment(match: re.Match, kind: type, values: str, found: dict[str, Any]) -> None:
    name, text, items = match["name"], match["value"], match["values"]
    parse = _as_bool if kind is bool else kind
    if text is not None:
        value = _parsed(parse, text, name, kind, values, text)
        if match["index"] is not None:
            _assign_element(found, name, int(match["index"]), value, values)
            return
    elif match["index"] is not None:
        raise ValueError("Assignment of a list to a list index.")
    else:
        value = [_parsed(parse, item, name, kind, values, items) for item in re.split("[ ,]", items) if item]
    if name in found:
        raise _assigned_twice(name, values)
    found[name] = value


def _converted(name: str, kind: type, value: object) -> Any:
    """`value` as a `kind`; ValueError where that would change what it says."""
    if type(value) is kind or issubclass(kind, type(None)):
        return value
    clashes = (
        (issubclass(kind, _TEXT) and not isinstance(value, _TEXT))
        or issubclass(kind, bool) != isinstance(value, bool)
        or (issubclass(kind, numbers.Integral) and not isinstance(value, numbers.Integral))
        or (issubclass(kind, numbers.Number) and not isinstance(value, numbers.Number))
    )
    if clashes:
        raise ValueError(f"Could not cast hparam '{name}' of type '{kind}' from value {value!r}")
    return kind(value)


@export("contrib.training.HParams")
class HParams:
    """Hyperparameters as attributes, each with the type of its first value.

    Args:
      hparam_def: an HParamDef message with the hyperparameters, in place of `kwargs`.
      model_structure: anything that belongs to them.
      **kwargs: names and values; a value is a number, a bool, a string, or a list of one of these.

    Raises:
      ValueError: both are given, a name is taken, or a list is empty.
    """

    _HAS_DYNAMIC_ATTRIBUTES = True

    def __init__(self, hparam_def: Any = None, model_structure: object = None, **kwargs: Any) -> None:
        self._hparam_types: dict[str, tuple[type, bool]] = {}
        self._model_structure = model_structure
        if hparam_def and kwargs:
            raise ValueError("hparam_def and initialization values are mutually exclusive")
        if hparam_def:
            kwargs = {name: _from_message(value) for name, value in hparam_def.hparam.items()}
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: object) -> None:
        """Adds a hyperparameter; ValueError where the name is taken or a list is empty."""
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        is_list = isinstance(value, (list, tuple))
        if is_list and not value:
            raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
        self._hparam_types[name] = (type(value[0] if is_list else value), is_list)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: object) -> None:
        """Changes a hyperparameter. KeyError: there is none of this name. ValueError: the value is of another kind."""
        kind, is_list = self._hparam_types[name]
        if isinstance(value, list):
            if not is_list:
                raise ValueError(f"Must not pass a list for single-valued parameter: {name}")
            setattr(self, name, [_converted(name, kind, v) for v in value])
        else:
            if is_list:
                raise ValueError(f"Must pass a list for multi-valued parameter: {name}.")
            setattr(self, name, _converted(name, kind, value))

    def del_hparam(self, name: str) -> None:
        """Removes a hyperparameter, where there is one of this name."""
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> HParams:
        """Changes hyperparameters to what text says, see `parse_values`; returns self."""
        return self.override_from_dict(parse_values(values, {name: kind for name, (kind, _) in self._hparam_types.items()}))

    def override_from_dict(self, values_dict: dict[str, Any]) -> HParams:
        """Changes hyperparameters to the values of a dict; returns self."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def set_from_map(self, values_map: dict[str, Any]) -> HParams:
        """The old name of `override_from_dict`."""
        return self.override_from_dict(values_dict=values_map)

    def set_model_structure(self, model_structure: object) -> None:
        """Replaces the object that belongs to the hyperparameters."""
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        """The object that belongs to the hyperparameters."""
        return self._model_structure

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        """The values as JSON; the arguments are those of `json.dumps`."""
        return json.dumps(self.values(), indent=indent, separators=separators, sort_keys=sort_keys)

    def parse_json(self, values_json: str) -> HParams:
        """Changes hyperparameters to the values of a JSON object; returns self."""
        return self.override_from_dict(json.loads(values_json))

    def values(self) -> dict[str, Any]:
        """Names to values."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """A hyperparameter, or `default` where there is none; ValueError where `default` is of another kind."""
        if key not in self._hparam_types:
            return default
        if default is not None:
            kind, is_list = self._hparam_types[key]
            text = f"list<{kind}>" if is_list else str(kind)
            message = f"Hparam '{key}' of type '{text}' is incompatible with default={default}"
            if is_list != isinstance(default, list):
                raise ValueError(message)
            try:
                for value in default if is_list else [default]:
                    _converted(key, kind, value)
            except ValueError as e:
                raise ValueError(f"{message}. {e}") from None
        return getattr(self, key)

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.values().items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sorted(self.values().items())})"

    @staticmethod
    def _get_kind_name(param_type: type, is_list: bool) -> str:
        """The name of a message's field for values of a type."""
        for kinds, name in ((bool, "bool"), (int, "int64"), (_TEXT, "bytes"), (float, "float")):
            if issubclass(param_type, kinds):
                return name + ("_list" if is_list else "_value")
        raise ValueError(f"Unsupported parameter type: {param_type}")

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The hyperparameters as HParamDef; ValueError where one is of a type that it cannot hold."""
        message = messages.HParamDef()
        for name, (kind, is_list) in self._hparam_types.items():
            field = self._get_kind_name(kind, is_list)
            value = getattr(self, name)
            if field.startswith("bytes"):
                value = [as_bytes(v) for v in value] if is_list else as_bytes(value)
            if is_list:
                getattr(message.hparam[name], field).value.extend(value)
            else:
                setattr(message.hparam[name], field, value)
        return message

    @staticmethod
    def from_proto(hparam_def: object, import_scope: str | None = None) -> HParams:
        """The hyperparameters of an HParamDef message."""
        return HParams(hparam_def=hparam_def)


def _from_message(value: Any) -> Any:
    field = value.WhichOneof("kind")
    convert = {"int64": int, "bytes": as_str}.get(field.partition("_")[0], lambda v: v)
    found = getattr(value, field)
    return [convert(v) for v in found.value] if field.endswith("_list") else convert(found)


register_proto_function(
    "hparams", proto_type=messages.HParamDef, to_proto=HParams.to_proto, from_proto=HParams.from_proto
)
