"""Conversions are those of TensorFlow 1.15.5: its operators, its numbers. Recorded by tests/oracle/record_lite.py."""

import collections
import pathlib

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.lite import reader

RECORDED = dict(np.load(pathlib.Path(__file__).parent / "recorded.npz"))
NAMES = sorted({key.split("/")[0] for key in RECORDED})
FILES = sorted(key for key, value in RECORDED.items() if value.dtype == np.uint8 and key.split("/")[1] in ("float", "float16", "int8", "uint8", "dynamic"))
STEPS = {"float": 1e-5, "float16": 1e-5, "dynamic": 2e-2}
"""Greatest differences from the real interpreter; dynamic range: 1.15 rounds activations to int8, tfcompat does not."""


def listed(prefix):
    count = sum(key.startswith(prefix) and key[len(prefix) :].isdigit() for key in RECORDED)
    return [RECORDED[f"{prefix}{i}"] for i in range(count)]


def prepare(converter, variant, feeds):
    if variant == "uint8":
        converter.inference_type = tf.lite.constants.QUANTIZED_UINT8
        converter.quantized_input_stats = {"x0": (0.0, 255.0)}
    elif variant != "float":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if variant == "float16":
        converter.target_spec.supported_types = [tf.lite.constants.FLOAT16]
    if variant == "int8":
        samples = [[(feed * factor).astype(np.float32) for feed in feeds] for factor in (0.5, 0.8, 1.0)]
        converter.representative_dataset = lambda: iter(samples)


def convert(name, variant):
    graph_def = tf.GraphDef.FromString(RECORDED[f"{name}/graph"].tobytes())
    with tf.Graph().as_default(), tf.Session() as session:
        feeds = listed(f"{name}/feed")
        elements = tf.import_graph_def(graph_def, name="", return_elements=[f"x{i}:0" for i in range(len(feeds))] + list(RECORDED[f"{name}/outputs"]))
        converter = tf.lite.TFLiteConverter.from_session(session, elements[: len(feeds)], elements[len(feeds) :])
        prepare(converter, variant, feeds)
        return converter.convert()


def run(content, feeds):
    interpreter = tf.lite.Interpreter(model_content=content)
    interpreter.allocate_tensors()
    for detail, feed in zip(interpreter.get_input_details(), feeds):
        interpreter.set_tensor(detail["index"], feed)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()], interpreter


def given(name, variant):
    feeds = listed(f"{name}/feed")
    return [np.round(feeds[0] * 255).astype(np.uint8)] if variant == "uint8" else feeds


def close(found, expected, tolerance):
    assert [f.shape for f in found] == [e.shape for e in expected]
    assert [f.dtype for f in found] == [e.dtype for e in expected]
    for f, e in zip(found, expected):
        np.testing.assert_allclose(f.astype(np.float64), e.astype(np.float64), rtol=1e-5, atol=tolerance)


def tolerance(variant, content):
    """One step of the last quantized tensor, where the model has integers."""
    if variant in STEPS:
        return STEPS[variant]
    last = [t for t in reader.read(content).subgraphs[0].tensors if t.quantization is not None and t.data is None]
    return 1.01 if variant == "uint8" else 2.01 * max(float(t.quantization.scale[0]) for t in last)


@pytest.mark.parametrize("key", FILES)
def test_interpreter_runs_files_of_the_real_converter(key):
    name, variant = key.split("/")
    content = RECORDED[key].tobytes()
    found, _ = run(content, given(name, variant))
    close(found, listed(f"{key}_value"), tolerance(variant, content))


@pytest.mark.parametrize("key", FILES)
def test_operators_are_those_of_toco(key):
    """The same operators with the same versions, fused activations and windows."""
    found, expected = (reader.read(c) for c in (convert(*key.split("/")), RECORDED[key].tobytes()))
    interesting = ("fused_activation_function", "padding", "stride_w", "dilation_w_factor", "axis", "depth_multiplier", "keep_dims")

    def described(model):
        return collections.Counter((o.builtin, o.version, *(o.options.get(name, 0) for name in interesting)) for o in model.operators())

    assert described(found) == described(expected)


@pytest.mark.parametrize("key", FILES)
def test_models_give_what_the_real_ones_give(key):
    name, variant = key.split("/")
    content = convert(name, variant)
    found, _ = run(content, given(name, variant))
    close(found, listed(f"{key}_value"), tolerance(variant, content))


@pytest.mark.parametrize("name", [n for n in NAMES if f"{n}/float" in RECORDED])
def test_float_models_give_what_the_session_gives(name):
    found, _ = run(convert(name, "float"), listed(f"{name}/feed"))
    close(found, listed(f"{name}/value"), 1e-5)


@pytest.mark.parametrize("key", FILES)
def test_files_read_and_written_again_hold_the_same(key):
    from tfcompat._src.lite import writer

    model = reader.read(RECORDED[key].tobytes())
    again = reader.read(writer.write(model))
    for first, second in zip(model.subgraphs[0].used(), again.subgraphs[0].used()):
        assert (first.name, first.shape, first.dtype) == (second.name, second.shape, second.dtype)
        assert (first.data is None) == (second.data is None)
        if first.data is not None:
            np.testing.assert_array_equal(first.data, second.data)
    assert [(o.builtin, o.version, o.options) for o in model.operators()] == [(o.builtin, o.version, o.options) for o in again.operators()]


@pytest.mark.parametrize("key", FILES)
def test_inputs_and_outputs_are_named_and_quantized_as_the_real_ones(key):
    name, variant = key.split("/")
    ours, theirs = (run(content, given(name, variant))[1] for content in (convert(name, variant), RECORDED[key].tobytes()))
    for a, b in zip(ours.get_input_details() + ours.get_output_details(), theirs.get_input_details() + theirs.get_output_details()):
        assert (a["name"], a["dtype"], a["shape"].tolist()) == (b["name"], b["dtype"], b["shape"].tolist())
        np.testing.assert_allclose(a["quantization"], b["quantization"], rtol=1e-3)
