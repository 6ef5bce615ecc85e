"""Functions that configurations hold as bytecode: only the Python that wrote it runs it, and others say what to do."""

import base64
import json
import marshal
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.keras.utils.generic_utils import func_dump, func_load
from tfcompat._src.platform import function_code

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "keras"
RUNNING = f"python{sys.version_info.major}.{sys.version_info.minor}"
FILES = sorted(GOLDEN.glob("lambda_*.h5"))
X = np.array([[1.0, 2.0]], np.float32)


def twice(x):
    return x * 2.0 + 1.0


def predicted(model):
    return model.predict(X).tolist()


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_files_of_every_python(path):
    pytest.importorskip("h5py")
    writer = path.stem.removeprefix("lambda_")
    if writer == RUNNING:
        assert predicted(tf.keras.models.load_model(str(path))) == [[3.0, 5.0]]
    else:
        with pytest.raises(ValueError, match=r"the Lambda layer 'twice'.*custom_objects=\{'twice': function\}") as raised:
            tf.keras.models.load_model(str(path))
        said = "does not say which Python wrote it" if "_" in writer else f"bytecode of {writer.replace('python', 'Python ')}"
        assert said in str(raised.value)
    assert predicted(tf.keras.models.load_model(str(path), custom_objects={"twice": twice})) == [[3.0, 5.0]]


def model():
    return tf.keras.Sequential([tf.keras.layers.Lambda(twice, input_shape=(2,), name="twice")])


def changed(config, change):
    """The JSON of a model whose first code is `change(bytes)`."""
    found = json.loads(config)
    function = found["config"]["layers"][0]["config"]["function"]
    function[0] = base64.encodebytes(change(base64.decodebytes(function[0].encode()))).decode()
    return json.dumps(found)


def test_own_code_goes_through_json_and_config():
    made = model()
    assert predicted(tf.keras.models.model_from_json(made.to_json())) == [[3.0, 5.0]]
    assert predicted(tf.keras.Sequential.from_config(made.get_config())) == [[3.0, 5.0]]
    assert predicted(tf.keras.models.clone_model(made)) == [[3.0, 5.0]]


CHANGES = {
    "no stamp": (lambda raw: marshal.dumps(twice.__code__), "does not say which Python wrote it"),
    "nothing": (lambda raw: b"", "does not say which Python wrote it"),
    "cut": (lambda raw: raw[:-1], "does not say which Python wrote it"),
    "another Python": (lambda raw: raw.replace(b" bytecode ", b" bytecode 00"), "which Python 3.* cannot run"),
    "a changed byte": (lambda raw: bytes([raw[0] ^ 4]) + raw[1:], "is damaged"),
    "less code": (lambda raw: raw[7:], "is damaged"),
}


@pytest.mark.parametrize("change, message", CHANGES.values(), ids=CHANGES)
def test_changed_code_is_not_loaded(change, message, monkeypatch):
    config = changed(model().to_json(), change)
    unmarshals_nothing = SimpleNamespace(dumps=marshal.dumps, loads=lambda _: pytest.fail("unmarshalled"))
    monkeypatch.setattr(function_code, "marshal", unmarshals_nothing)  # for this module alone: imports unmarshal, too
    with pytest.raises(ValueError, match=message):
        tf.keras.models.model_from_json(config)
    assert predicted(tf.keras.models.model_from_json(config, {"twice": twice})) == [[3.0, 5.0]]


def test_text_that_is_no_base64():
    with pytest.raises(ValueError, match="is not base64"):
        func_load("\u00e9", owner="a layer", key="name")
    with pytest.raises(ValueError, match="is not base64"):
        func_load("A", owner="a layer", key="name")


def test_the_stamp_stands_where_unmarshalling_does_not_look():
    raw = base64.decodebytes(func_dump(twice)[0].encode())
    assert marshal.loads(raw) == twice.__code__
    assert raw.startswith(marshal.dumps(twice.__code__))


def test_functions_of_output_shape_and_mask():
    layer = tf.keras.layers.Lambda(twice, output_shape=lambda s: s, mask=lambda x, m: m, name="a")
    config = layer.get_config()
    for key in ("function", "output_shape", "mask"):
        config[key] = (base64.encodebytes(b"old").decode(), None, None)
    names = {"a": twice, "a/output_shape": tuple, "a/mask": max}
    with pytest.raises(ValueError, match="custom_objects={'a/mask': function}"):
        tf.keras.layers.Lambda.from_config(config, {k: v for k, v in names.items() if k != "a/mask"})
    made = tf.keras.layers.Lambda.from_config(config, names)
    assert (made.function, made._output_shape, made.mask) == (twice, tuple, max)


def test_the_function_of_a_cell():
    cell = tf.nn.RNNCellResidualWrapper if hasattr(tf.nn, "RNNCellResidualWrapper") else tf.compat.v2.nn.RNNCellResidualWrapper
    config = cell(tf.keras.layers.LSTMCell(2), residual_fn=lambda i, o: i + o).get_config()
    assert cell.from_config(dict(config))._residual_fn(1, 2) == 3
    code, defaults, closure = config["residual_fn"]
    config["residual_fn"] = (base64.encodebytes(base64.decodebytes(code.encode())[:-1]).decode(), defaults, closure)
    with pytest.raises(ValueError, match="custom_objects={'residual_fn': function}"):
        cell.from_config(dict(config))
    assert cell.from_config(dict(config), custom_objects={"residual_fn": max})._residual_fn is max
