"""Checkpoint files of both versions, byte for byte those of TensorFlow 1.15.5 (tests/oracle/record_checkpoints.py)."""

import hashlib
import json
import pathlib
import sys

import ml_dtypes
import numpy as np
import pytest

from tfcompat._src.base import dtypes, errors
from tfcompat._src.checkpoint import bundle_writer, slices, v1_writer
from tfcompat._src.checkpoint.reader import CheckpointReader

HERE = pathlib.Path(__file__).parent
GOLDEN = HERE.parent / "golden" / "checkpoint"
FACTS = json.loads((GOLDEN / "facts.json").read_text())
sys.path.insert(0, str(HERE))

import values  # noqa: E402


def write(writer, tensors):
    for name, spec, value in tensors:
        value = np.asarray(value)
        if spec:
            shape, part = slices.parse_spec(spec)
            writer.add_slice(name, shape, part, value, dtypes.as_dtype(value.dtype))
        else:
            writer.add(name, value, dtypes.as_dtype(value.dtype))
    writer.finish()


def whole_tensors(version, parts):
    if parts:
        return {"rows": values.whole(), "columns": values.whole()}
    return {n: np.asarray(v) for n, _, v in values.tensors(version, ml_dtypes.bfloat16)}


@pytest.mark.parametrize("parts", ["", "_parts"])
@pytest.mark.parametrize("version", [1, 2])
def test_files_have_tensorflows_bytes(tmp_path, version, parts):
    writer = {1: v1_writer.V1Writer, 2: bundle_writer.BundleWriter}[version](str(tmp_path / f"v{version}{parts}"))
    write(writer, values.parts() if parts else values.tensors(version, ml_dtypes.bfloat16))
    names = [p.name for p in tmp_path.iterdir()]
    assert len(names) == version
    for name in names:
        assert (tmp_path / name).read_bytes() == (GOLDEN / name).read_bytes()


def test_an_index_of_several_blocks_has_tensorflows_bytes(tmp_path):
    names = values.many()
    write(bundle_writer.BundleWriter(str(tmp_path / "many")), [(n, "", np.float32(i)) for i, n in enumerate(names)])
    found = {k: hashlib.sha256((tmp_path / f"many.{f}").read_bytes()).hexdigest()
             for k, f in (("index", "index"), ("data", "data-00000-of-00001"))}  # fmt: skip
    assert found == FACTS["many"]
    reader = CheckpointReader(str(tmp_path / "many"))
    assert [reader.get_tensor(n) for n in names] == list(range(len(names)))


@pytest.mark.parametrize("parts", ["", "_parts"])
@pytest.mark.parametrize("version", [1, 2])
def test_reads_tensorflows_files(version, parts):
    reader = CheckpointReader(str(GOLDEN / f"v{version}{parts}"))
    facts = FACTS[f"v{version}{parts}"]
    if version == 1 or not parts:
        assert sorted(reader.debug_string().decode().splitlines()) == sorted(facts["debug_string"].splitlines())
    assert reader.get_variable_to_shape_map() == facts["shapes"]
    assert {k: v.name for k, v in reader.get_variable_to_dtype_map().items()} == facts["dtypes"]
    wanted = whole_tensors(version, parts)
    assert set(wanted) == set(facts["shapes"])
    for name, value in wanted.items():
        found = np.asarray(reader.get_tensor(name))
        assert found.dtype == value.dtype and found.shape == value.shape
        np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize("version", [1, 2])
def test_reads_parts_that_were_saved_in_other_parts(version):
    saved = CheckpointReader(str(GOLDEN / f"v{version}_parts"))._saved
    for spec in ("5 3 2,2:-", "5 3 1,3:1,2", "5 3 -:2,1", "5 3 0,3:0,3"):
        part = slices.parse_spec(spec)[1]
        box = tuple(slice(s, s + n) for s, n in zip(part.starts, part.sizes((5, 3))))
        for name in ("rows", "columns"):
            np.testing.assert_array_equal(saved.read(name, part), values.whole()[box])


@pytest.mark.parametrize("version", [1, 2])
def test_missing_tensor_and_missing_file(version, tmp_path):
    with pytest.raises(errors.NotFoundError, match="nope"):
        CheckpointReader(str(GOLDEN / f"v{version}")).get_tensor("nope")
    with pytest.raises(errors.NotFoundError, match="Failed to find any matching files"):
        CheckpointReader(str(tmp_path / "nope"))


@pytest.mark.parametrize("spec", ["", "3", "a 0,1", "3 0,4", "3 1,3", "3 0,1:0,1", "3 0", "3 -1,2", "3 0,0"])
def test_malformed_slices_raise(spec):
    with pytest.raises(errors.InvalidArgumentError):
        slices.parse_spec(spec)
