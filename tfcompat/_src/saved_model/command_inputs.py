"""The values that the options of `tfcompat saved-model run` give to inputs."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

import numpy as np

from tfcompat._src.platform.file_io import FileIO
from tfcompat._src.proto import messages

_FILE = re.compile(r"([^=]+)=([^\[\]]+)(?:\[([^\[\]]+)\])?$")


def preprocess_inputs_arg_string(inputs_str: str) -> dict[str, tuple[str, str | None]]:
    """(file, name in it or None) by input, from "KEY=FILE;KEY=FILE[NAME]"; RuntimeError where it has another form."""
    found = {}
    for text in filter(bool, inputs_str.split(";")):
        match = _FILE.match(text)
        if match is None:
            raise RuntimeError(
                f'--inputs "{text}" format is incorrect. Please follow"<input_key>=<filename>", or"<input_key>=<filename>[<variable_name>]"'
            )
        found[match.group(1)] = match.group(2), match.group(3)
    return found


def preprocess_input_exprs_arg_string(input_exprs_str: str, safe: bool = False) -> dict[str, Any]:
    """Values by input, from "KEY=EXPRESSION;...".

    Args:
      input_exprs_str: the text; NumPy is `np` in expressions.
      safe: allow literals only.

    Raises:
      RuntimeError: it has another form, or an expression is no literal where only these are allowed.
    """
    found = {}
    for text in filter(bool, input_exprs_str.split(";")):
        key, equals, expression = text.partition("=")
        if not equals:
            raise RuntimeError(
                f'--input_exprs "{input_exprs_str}" format is incorrect. Please follow"<input_key>=<python expression>"'
            )
        found[key] = _literal(expression) if safe else eval(expression, {"np": np, "numpy": np})  # noqa: S307
    return found


def _literal(expression: str) -> Any:
    try:
        return ast.literal_eval(expression)
    except (ValueError, SyntaxError):
        raise RuntimeError(f'Expression "{expression}" is not a valid python literal.') from None


def preprocess_input_examples_arg_string(input_examples_str: str) -> dict[str, list[bytes]]:
    """Serialized tf.train.Examples by input, from "KEY=[{FEATURE: LIST}, ...];...".

    Raises:
      ValueError: a value is no list of dicts of lists of numbers or strings.
    """
    found = {}
    for key, examples in preprocess_input_exprs_arg_string(input_examples_str, safe=True).items():
        if not isinstance(examples, list):
            raise ValueError(f'tf.Example input must be a list of dictionaries, but "{examples}" is {type(examples)}')
        found[key] = [_example(each) for each in examples]
    return found


def _example(features: dict[str, Any]) -> bytes:
    example = messages.Example()
    for name, values in features.items():
        if not isinstance(values, list):
            raise ValueError(f'feature value must be a list, but {name}: "{values}" is {type(values)}')
        feature = example.features.feature[name]
        first = values[0] if values else 0
        if isinstance(first, float):
            feature.float_list.value.extend(values)
        elif isinstance(first, (str, bytes)):
            feature.bytes_list.value.extend(v.encode() if isinstance(v, str) else v for v in values)
        elif isinstance(first, int):
            feature.int64_list.value.extend(values)
        else:
            raise ValueError(f"Type {type(first)} for value {first} is not supported for tf.train.Feature.")
    return example.SerializeToString()


def load_inputs_from_input_arg_string(inputs_str: str, input_exprs_str: str, input_examples_str: str) -> dict[str, Any]:
    """Values by input, from the options --inputs, --input_exprs and --input_examples; a later one wins, with a warning.

    Raises:
      RuntimeError: an option has another form, or a file holds several arrays and not the named one.
    """
    found = {key: _from_file(*place) for key, place in preprocess_inputs_arg_string(inputs_str).items()}
    exprs, examples = preprocess_input_exprs_arg_string(input_exprs_str), preprocess_input_examples_arg_string(input_examples_str)
    for option, values in (("--input_exprs", exprs), ("--input_examples", examples)):
        for key, value in values.items():
            if key in found:
                warnings.warn(
                    f"input_key {key} has been specified in several options. Value in {option} will be used.", stacklevel=2
                )
            found[key] = value
    return found


def _from_file(filename: str, name: str | None) -> Any:
    data = np.load(FileIO(filename, "rb"), allow_pickle=True)
    if isinstance(data, np.ndarray):
        if name:
            warnings.warn(f'Input file {filename} contains a single ndarray. Name key "{name}" ignored.', stacklevel=2)
        return data
    if name:
        if name not in data:
            raise RuntimeError(f'Input file {filename} does not contain variable with name "{name}".')
        return data[name]
    if not isinstance(data, np.lib.npyio.NpzFile):
        return data
    if len(data.files) != 1:
        raise RuntimeError(
            f"Input file {filename} contains more than one ndarrays. Please specify the name of ndarray to use."
        )
    return data[data.files[0]]
