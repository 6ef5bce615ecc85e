"""`tfcompat tflite-convert`: 1.15's tflite_convert, with its flags. A module that runs as `tensorflow.lite.python.tflite_convert`, too."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.lite import constants
from tfcompat._src.lite.converter import Optimize, TFLiteConverter
from tfcompat._src.lite.errors import ConverterError
from tfcompat._src.lite.toco import OpsSet
from tfcompat._src.platform import file_io

ARGUMENTS = "--output_file=FILE --saved_model_dir=DIR|--graph_def_file=FILE|--keras_model_file=FILE [FLAGS...]"
_TYPES = {"FLOAT": constants.FLOAT, "QUANTIZED_UINT8": constants.QUANTIZED_UINT8}
_FORMATS = {"TFLITE": constants.TFLITE, "GRAPHVIZ_DOT": constants.GRAPHVIZ_DOT}
_TEXTS = {
    "input_arrays": "names of the inputs, by commas", "input_shapes": "sizes of the inputs: sizes by commas, inputs by colons",
    "output_arrays": "names of the outputs, by commas", "saved_model_tag_set": "tags of the graph, by commas (serve)",
    "saved_model_signature_key": "the signature (serving_default)", "std_dev_values": "standard deviations of uint8 inputs, by commas",
    "mean_values": "means of uint8 inputs, by commas", "target_ops": "operators that are allowed: " + ", ".join(OpsSet.get_options()),
    "dump_graphviz_dir": "a folder for the graph as .dot",
}  # fmt: skip
_SWITCHES = {
    "post_training_quantize": "store weights as int8", "quantize_to_float16": "store weights as float16, with --post_training_quantize",
    "drop_control_dependency": "pass over control inputs (default)", "reorder_across_fake_quant": "refused for graphs with FakeQuant nodes",
    "allow_custom_ops": "make custom operators of unknown ops", "dump_graphviz_video": "with --dump_graphviz_dir, also in steps",
}  # fmt: skip
_RENAMED = {
    "--input_file": "--graph_def_file", "--savedmodel_directory": "--saved_model_dir", "--std_value": "--std_dev_values",
    "--batch_size": "--input_shapes", "--dump_graphviz": "--dump_graphviz_dir",
}  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("tfcompat tflite-convert", description="Converts a graph to a TensorFlow Lite model.")
    parser.add_argument("--output_file", required=True, help="where to write the model")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--graph_def_file", help="a frozen GraphDef, binary or text")
    source.add_argument("--saved_model_dir", help="a SavedModel")
    source.add_argument("--keras_model_file", help="a Keras model in HDF5")
    parser.add_argument("--output_format", type=str.upper, choices=list(_FORMATS))
    for name in ("inference_type", "inference_input_type"):
        parser.add_argument(f"--{name}", type=str.upper, choices=list(_TYPES))
    for name, text in _TEXTS.items():
        parser.add_argument(f"--{name}", help=text)
    for name in ("default_ranges_min", "default_ranges_max"):
        parser.add_argument(f"--{name}", type=float, help="range of tensors that have none")
    parser.add_argument("--change_concat_input_ranges", type=str.upper, choices=["TRUE", "FALSE"], help="TRUE is refused for graphs with FakeQuant nodes")
    parser.add_argument("--quantize_weights", dest="post_training_quantize", action="store_true", help=argparse.SUPPRESS)
    for name, text in _SWITCHES.items():
        parser.add_argument(f"--{name}", action="store_true", help=text)
    return parser


def _list(text: str | None, convert: Callable[[str], Any] = str) -> list[Any] | None:
    return None if text is None else [convert(part) for part in text.split(",") if part]


def _check(flags: argparse.Namespace, others: Sequence[str]) -> None:
    """Raises ValueError, with 1.15's words, where flags contradict each other or are of an older program."""
    renamed = [f"\n  Use {new} instead of {old}" for flag in others for old, new in _RENAMED.items() if flag.split("=")[0] == old]
    if renamed:
        raise ValueError("".join(renamed))
    if others:
        raise ValueError(f"unrecognized arguments: {' '.join(others)}")
    if flags.graph_def_file and not (flags.input_arrays and flags.output_arrays):
        raise ValueError("--input_arrays and --output_arrays are required with --graph_def_file")
    if flags.input_shapes and not flags.input_arrays:
        raise ValueError("--input_shapes must be used with --input_arrays")
    if flags.input_shapes and flags.input_shapes.count(":") != flags.input_arrays.count(","):
        raise ValueError("--input_shapes and --input_arrays must have the same number of items")
    if bool(flags.std_dev_values) != bool(flags.mean_values):
        raise ValueError("--std_dev_values and --mean_values must be used together")
    if flags.std_dev_values and flags.std_dev_values.count(",") != flags.mean_values.count(","):
        raise ValueError("--std_dev_values, --mean_values must have the same number of items")
    if (flags.default_ranges_min is None) != (flags.default_ranges_max is None):
        raise ValueError("--default_ranges_min and --default_ranges_max must be used together")
    if flags.dump_graphviz_video and not flags.dump_graphviz_dir:
        raise ValueError("--dump_graphviz_video must be used with --dump_graphviz_dir")


def _converter(flags: argparse.Namespace) -> TFLiteConverter:
    names, shapes = _list(flags.input_arrays), None
    if flags.input_shapes:
        shapes = dict(zip(names or (), (_list(part, int) for part in flags.input_shapes.split(":"))))
    common: dict[str, Any] = {"input_arrays": names, "input_shapes": shapes, "output_arrays": _list(flags.output_arrays)}
    if flags.graph_def_file:
        return TFLiteConverter.from_frozen_graph(flags.graph_def_file, **common)
    if flags.keras_model_file:
        return TFLiteConverter.from_keras_model_file(flags.keras_model_file, **common)
    tags = None if flags.saved_model_tag_set is None else set(_list(flags.saved_model_tag_set) or ())
    return TFLiteConverter.from_saved_model(flags.saved_model_dir, tag_set=tags, signature_key=flags.saved_model_signature_key, **common)


def _set_up(converter: TFLiteConverter, flags: argparse.Namespace) -> None:
    """Sets the attributes of a converter that flags name."""
    for name in ("inference_type", "inference_input_type"):
        if getattr(flags, name):
            setattr(converter, name, _TYPES[getattr(flags, name)])
    if flags.output_format:
        converter.output_format = _FORMATS[flags.output_format]
    if flags.mean_values:
        stats = list(zip(_list(flags.mean_values, float) or (), _list(flags.std_dev_values, float) or ()))
        names = converter.get_input_arrays()
        if len(names) != len(stats) or (not flags.input_arrays and len(names) > 1):
            raise ValueError("Mismatching --input_arrays, --std_dev_values, and --mean_values. The flags must have the same number of items. "
                             f"The current input arrays are '{','.join(names)}'.")  # fmt: skip
        converter.quantized_input_stats = dict(zip(names, stats))
    if flags.default_ranges_min is not None:
        converter.default_ranges_stats = (flags.default_ranges_min, flags.default_ranges_max)
    if flags.target_ops:
        if not set(flags.target_ops.split(",")) <= set(OpsSet.get_options()):
            raise ValueError(f"Invalid value for --target_ops. Options: {','.join(OpsSet.get_options())}")
        converter.target_spec.supported_ops = {OpsSet(name) for name in flags.target_ops.split(",")}
    if flags.post_training_quantize:
        converter.optimizations = [Optimize.DEFAULT]
        converter.inference_type = constants.FLOAT
    if flags.quantize_to_float16:
        converter.target_spec.supported_types = [constants.FLOAT16]
    converter.allow_custom_ops = flags.allow_custom_ops
    converter.dump_graphviz_dir, converter.dump_graphviz_video = flags.dump_graphviz_dir, flags.dump_graphviz_video


def main(arguments: Sequence[str] | None = None) -> int:
    """Converts; the exit status: 0, or 1 where that is not possible. The file is written whole or not at all."""
    flags, others = _parser().parse_known_args(arguments)
    try:
        _check(flags, others)
        converter = _converter(flags)
        _set_up(converter, flags)
        content = converter.convert()
    except (ValueError, OSError, ConverterError) as error:
        print(f"tflite-convert: {error}", file=sys.stderr)
        return 1
    file_io.atomic_write_string_to_file(flags.output_file, content)
    print(f"Wrote {len(content)} bytes to {flags.output_file}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
