"""`tfcompat convert`: a model of TensorFlow 1 in another format, with a summary of its nodes and a check of what was written."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence

from tfcompat._src.base import errors
from tfcompat._src.convert.model import ConversionError, Model, NotRunError, opened
from tfcompat._src.convert.report import Report, greatest_difference, made_arrays
from tfcompat._src.convert.targets import TARGETS, Options, Target
from tfcompat._src.convert.tfjs import SHARD
from tfcompat._src.lite.errors import ConverterError

ARGUMENTS = f"--to {'|'.join(TARGETS)} IN OUT [FLAGS...]"
_TOLERANCE = 1e-3
_STACK = "\n\nOriginal stack trace"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("tfcompat convert", description="a model of TensorFlow 1 in another format")
    parser.add_argument("--to", required=True, choices=list(TARGETS), help="the format")
    parser.add_argument("source", metavar="IN", help="SavedModel, frozen graph (.pb, .pbtxt), checkpoint beside its .meta file, or Keras model (.h5)")
    parser.add_argument("target", metavar="OUT", help="the file (tflite, onnx, frozen) or folder to write")
    parser.add_argument("--inputs", default="", help="names of the inputs, by commas")
    parser.add_argument("--outputs", default="", help="names of the outputs, by commas")
    parser.add_argument("--signature", default="serving_default", help="of a SavedModel")
    parser.add_argument("--tags", default="serve", help="of a SavedModel, by commas")
    parser.add_argument("--shapes", default="", metavar="INPUT=2,3;...", help="sizes of inputs, each a number or the name of an open size")
    parser.add_argument("--quantize", choices=["float16", "uint8", "uint16", "int8"], help="how to store weights (tfjs, tflite)")
    parser.add_argument("--graph-model", action="store_true", help="a graph model of TensorFlow.js from a Keras file, too")
    parser.add_argument("--shard-bytes", type=int, default=SHARD, help="size of a file of weights (tfjs)")
    parser.add_argument("--opset", type=int, default=17, help="version of ONNX's operators")
    parser.add_argument("--no-check", action="store_true", help="do not run both models on made inputs")
    parser.add_argument("--tolerance", type=float, help=f"greatest difference, relative to the greatest output ({_TOLERANCE}; with --quantize any)")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Converts; the exit status: 0, or 1 where that is not possible or the check fails. OUT is written whole or not at all."""
    parser = _parser()
    flags = parser.parse_args(arguments)
    target = TARGETS[flags.to]
    if flags.quantize and flags.quantize not in target.quantizations:
        parser.error(f"--to {flags.to} has no --quantize {flags.quantize}, but {', '.join(target.quantizations) or 'none'}")
    try:
        _convert(flags, target)
    except (ConversionError, ConverterError, NotImplementedError, ImportError, errors.OpError, OSError, ValueError) as error:
        sys.stderr.write(f"tfcompat convert: {str(error).partition(_STACK)[0]}\n")
        return 1
    return 0


def _convert(flags: argparse.Namespace, target: Target) -> None:
    out = os.path.abspath(flags.target)
    if os.path.lexists(out) and not flags.overwrite:
        raise ConversionError(f"{flags.target} is there already: use --overwrite to replace it.")
    os.makedirs(os.path.dirname(out), exist_ok=True)
    start = time.monotonic()
    _say(f"reading {flags.source}")
    with opened(flags.source, _names(flags.inputs), _names(flags.outputs), flags.signature, _names(flags.tags)) as model:
        options = Options(_shapes(flags.shapes, model), flags.quantize, flags.graph_model, flags.shard_bytes, flags.opset)
        report = Report()
        with tempfile.TemporaryDirectory(dir=os.path.dirname(out), prefix=".tfcompat-convert-") as folder:
            path = os.path.join(folder, os.path.basename(out))
            _say(f"writing {flags.to}")
            target.write(model, path, options, report)
            row = "not checked" if flags.no_check else _checked(target, path, model, options, flags)
            _put(path, out)
    for key, tensor in model.inputs.items():
        print(f"input   {key}: {tensor.dtype.base_dtype.name} {tensor.shape}")
    for key, tensor in model.outputs.items():
        print(f"output  {key}: {tensor.dtype.base_dtype.name} {tensor.shape}")
    print("\n".join((*report.rows, row)))
    print(f"wrote {_size(out):,} bytes to {flags.target} in {time.monotonic() - start:.1f} s")


def _say(text: str) -> None:
    sys.stderr.write(f"tfcompat convert: {text} ...\n")


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _shapes(text: str, model: Model) -> dict[str, list[int | str]]:
    """Sizes by input, from "x=2,3;y=batch,4"; ConversionError for an input that is not there."""
    found: dict[str, list[int | str]] = {}
    for part in filter(None, text.split(";")):
        key, _, sizes = part.partition("=")
        if key not in model.inputs:
            raise ConversionError(f"--shapes names {key!r}, but the inputs are {', '.join(model.inputs) or 'none'}.")
        found[key] = [int(size) if size.strip().isdigit() else size.strip() for size in sizes.split(",") if size.strip()]
    return found


def _checked(target: Target, path: str, model: Model, options: Options, flags: argparse.Namespace) -> str:
    """Runs both models on made inputs; a sentence with the greatest difference. ConversionError where that is too much."""
    _say("checking")
    arrays = made_arrays(model, options.shapes, target.batch)
    wanted = model.session.run(model.outputs, {model.inputs[key]: array for key, array in arrays.items()})
    try:
        found = target.run(path, model, arrays)
    except NotRunError as why:
        return f"not checked: {why}"
    most, scale = greatest_difference(wanted, found)
    limit = flags.tolerance if flags.tolerance is not None else float("inf") if flags.quantize else _TOLERANCE
    if not most <= limit * max(scale, 1.0):
        raise ConversionError(f"The written model differs from the graph by {most:.3g} in outputs of up to {scale:.3g}; nothing was written.")
    return f"checked on made inputs: greatest difference {most:.3g} in outputs of up to {scale:.3g}"


def _put(path: str, out: str) -> None:
    """Gives what was written its name, in place of what has it."""
    if os.path.isdir(out) and not os.path.islink(out):
        old = os.path.join(os.path.dirname(path), "replaced")
        os.rename(out, old)
        os.rename(path, out)
        shutil.rmtree(old)
    else:
        os.replace(path, out)


def _size(path: str) -> int:
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)
