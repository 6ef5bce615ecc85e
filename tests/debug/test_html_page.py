"""The page of `tfcompat debug DIR --html FILE`: what it tells of dumps."""

import base64
import json
import re

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.cli import debug
from tfcompat._src.debug import page
from tfcompat._src.debug.dumping_wrapper import DumpingDebugWrapperSession


@pytest.fixture
def root(tmp_path):
    """Dumps of four runs, of which the third makes a NaN and an infinity."""
    images = np.arange(2 * 6 * 5 * 3, dtype=np.float32).reshape(2, 6, 5, 3)
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2, 3], "x")
        with tf.name_scope("inner"):
            logs = tf.log(x, name="logs")
        fetches = [logs, tf.placeholder_with_default(images, images.shape, "images"), tf.constant(b"</script>", name="text")]
        wrapped = DumpingDebugWrapperSession(sess, str(tmp_path / "root"))
        for lowest in (1.0, 2.0, -1.0, 3.0):
            wrapped.run(fetches, {x: [[lowest, abs(lowest) - 1, 1], [1, 1, 1]]})
    return tmp_path / "root"


def written(root, file):
    """The page's text, and what is told of tensors by watch key."""
    page.write_page(str(root), str(file))
    text = file.read_text()
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])
    return text, data, {tensor["key"].removesuffix(":DebugIdentity"): tensor for tensor in data["tensors"]}


def test_a_history_has_a_point_for_each_run(root, tmp_path):
    _, data, tensors = written(root, tmp_path / "page.html")
    logs = tensors["inner/logs:0"]
    assert data["runs"] == logs["count"] == 4
    assert [point["run"] for point in logs["points"]] == [0, 1, 2, 3]
    assert [(point["nan"], point["inf"]) for point in logs["points"]] == [(0, 1), (0, 0), (1, 1), (0, 0)]
    assert logs["bad"] == 2
    second = logs["points"][1]
    assert (second["dtype"], second["shape"], second["min"]) == ("float32", [2, 3], 0)
    np.testing.assert_allclose([second["max"], second["mean"]], [np.log(2), np.log(2) / 6], rtol=1e-5)
    np.testing.assert_allclose(second["std"], np.std([np.log(2), 0, 0, 0, 0, 0]), rtol=1e-5)


def test_details_are_of_the_first_bad_dump_or_the_last(root, tmp_path):
    _, _, tensors = written(root, tmp_path / "page.html")
    logs, x = tensors["inner/logs:0"], tensors["_arg_x_0_0:0"]
    assert (logs["of"], x["of"]) == (0, 3)
    assert logs["values"][:2] == ["0.0", "-inf"]
    assert x["values"] == ["3.0", "2.0", "1.0", "1.0", "1.0", "1.0"]
    assert (x["histogram"]["counts"], x["histogram"]["from"], x["histogram"]["to"]) == ([4, 0, 0, 1, 0, 1], 1, 3)


def pixels(tensor):
    found = tensor["picture"]
    return np.frombuffer(base64.b64decode(found["pixels"]), np.uint8).reshape(found["count"], found["height"], found["width"])


def test_pictures_of_matrices_and_images(root, tmp_path):
    """Matrices are one picture with marks of NaNs and infinities; of images the channels of the first are shown."""
    _, _, tensors = written(root, tmp_path / "page.html")
    np.testing.assert_array_equal(pixels(tensors["_arg_x_0_0:0"]), [[[253, 126, 0], [0, 0, 0]]])
    np.testing.assert_array_equal(pixels(tensors["inner/logs:0"]), [[[0, 254, 0], [0, 0, 0]]])
    images = pixels(tensors["images:0"])
    assert images.shape == (3, 6, 5)
    assert (images[0, 0, 0], images[2, 5, 4]) == (0, 253)
    assert "picture" not in tensors["text:0"]


def test_a_nan_has_a_colour_of_its_own():
    assert page._details(0, np.array([[np.nan, 1.0], [-np.inf, 2.0]]))["picture"]["pixels"] == base64.b64encode(bytes([255, 0, 254, 253])).decode()


@pytest.mark.parametrize("shape, count, size", [((3, 3, 4, 2), 8, (3, 3)), ((5, 200, 100, 40), 16, (64, 64)), ((300, 7), 1, (64, 7))])
def test_pictures_are_small(shape, count, size):
    """All planes of filters, at most 16 of images; at most 64 pixels each way."""
    found = page._details(0, np.zeros(shape, np.float32))["picture"]
    assert (found["count"], (found["height"], found["width"])) == (count, size)


@pytest.mark.parametrize("values", [[1e308, -1e308], [5e-324, 0.0], [7.0, 7.0]])
def test_histograms_of_extreme_values(values):
    found = page._details(0, np.array(values))["histogram"]
    assert sum(found["counts"]) == 2
    json.dumps(page._measured(np.array(values)), allow_nan=False)


def test_the_page_needs_nothing_else(root, tmp_path):
    text, data, _ = written(root, tmp_path / "page.html")
    assert set(re.findall(r"https?://[^\s\"'&;]*", text)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<link|<img|@import|\bsrc=|url\((?!#)", text)
    assert "default-src 'none'" in text
    assert "</script>" not in json.dumps(data["tensors"]) or "\\u003c/script>" in text
    assert data["nodes"]["inner/logs"] == ["Log", ["_arg_x_0_0"], [], "/job:localhost/replica:0/task:0/device:CPU:0"]


def test_its_size_is_bounded(root, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "MOST_POINTS", 0)
    monkeypatch.setattr(page, "MOST_PICTURES", 1)
    monkeypatch.setattr(page, "MOST_NODES", 2)
    text, data, tensors = written(root, tmp_path / "page.html")
    assert {len(tensor["points"]) for tensor in tensors.values()} == {2}
    assert tensors["inner/logs:0"]["count"] == 4
    assert [key for key, tensor in tensors.items() if "picture" in tensor] == ["inner/logs:0"]
    assert "graphs of more than 2 are not drawn" in text


def test_a_truncated_file_is_named_and_the_rest_shown(root, tmp_path):
    damaged = next(path for path in sorted(root.rglob("logs_0_*")))
    damaged.write_bytes(damaged.read_bytes()[:60])
    _, _, tensors = written(root, tmp_path / "page.html")
    first, *others = tensors["inner/logs:0"]["points"]
    assert damaged.name in first["error"]
    assert [point["run"] for point in others] == [1, 2, 3]


def test_command(root, tmp_path, capsys):
    """One run, or the folder with all; what cannot be read is an error."""
    run = sorted(root.iterdir())[0]
    assert debug.main([str(run), "--html", str(tmp_path / "one.html")]) == 0
    assert '"runs":1,' in (tmp_path / "one.html").read_text()
    assert debug.main([str(root), "--html", str(tmp_path / "all.html")]) == 0
    assert '"runs":4,' in (tmp_path / "all.html").read_text()
    (tmp_path / "empty").mkdir()
    assert debug.main([str(tmp_path / "empty"), "--html", str(tmp_path / "none.html")]) == 1
    assert debug.main([str(tmp_path / "nowhere"), "--html", str(tmp_path / "none.html")]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"tfcompat debug: {tmp_path / 'empty'} is neither the folder of a debugged run nor one with such folders in it.",
        f"tfcompat debug: Dump root directory {tmp_path / 'nowhere'} does not exist",
    ]
    assert not (tmp_path / "none.html").exists()
