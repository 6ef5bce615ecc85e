"""Whole scripts, run as a user runs them, against what TensorFlow 1.15.5 computed and printed."""

import hashlib
from pathlib import Path

import children
import numpy as np
import pytest
from oracle import golden
from programs import run_folder

HERE = Path(__file__).resolve().parent
SEEDED = golden.read(HERE / "golden/programs/seeded.json.gz")
DOCUMENTS = golden.read(HERE / "golden/programs/documents.json.gz")
LOSS_RTOL = 1e-4
PRINTED_RTOL = 2e-3
NORMAL = {
    "cnn_dropout": {"conv2d/kernel", "conv2d_1/kernel"},
    "word2vec": {"nce_weights"},
    "linear_regression": {"w"},
    "batch_norm": {"dense/kernel"},
}
PRINTED_COUNT_TOLERANCE = {"kmeans": "clusters of equal distance swap points when a distance differs in its last bit"}


def run_program(script, folder, *arguments):
    """Runs `tfcompat run script` in folder and returns the finished process."""
    return children.warm(*children.RUN, script, *arguments, cwd=folder, PYTHONPATH=run_folder.program_path())


def check_initial(name, want, have, normal):
    """Bits of uniform initial values; one unit in the last place for normal ones."""
    assert list(have.shape) == want["shape"], name
    flat = have.ravel()[:: want["step"]]
    expected = want["values"].array
    assert flat.dtype == expected.dtype, name
    if normal:
        np.testing.assert_array_max_ulp(flat, expected, maxulp=1)
    else:
        np.testing.assert_array_equal(flat, expected, err_msg=name)
        assert hashlib.sha1(np.ascontiguousarray(have).tobytes()).hexdigest() == want["sha1"], name


@pytest.mark.parametrize("program", sorted(SEEDED))
def test_seeded_program(program, tmp_path):
    """Initial values and 20 training losses equal those of TensorFlow 1.15.5 for the same seed."""
    result = tmp_path / "result.npz"
    done = run_program(HERE / "programs" / f"{program}.py", tmp_path, str(result))
    assert done.returncode == 0, done.stderr
    want = SEEDED[program]
    with np.load(result) as arrays:
        assert set(arrays.files) == {"losses", *want["initial"]}
        for name, expected in want["initial"].items():
            check_initial(name, expected, arrays[name], name in NORMAL.get(program, ()))
        np.testing.assert_allclose(arrays["losses"], want["losses"].array, rtol=LOSS_RTOL)


@pytest.mark.parametrize("program", sorted(DOCUMENTS))
def test_document_program(program, tmp_path):
    """A program of the documents prints what TensorFlow 1.15.5 prints, or fails as it fails there."""
    run_folder.make_mnist(tmp_path)
    done = run_program(HERE / "programs/seeds" / f"{program}.py", tmp_path)
    want = DOCUMENTS[program]
    assert done.returncode == want["status"], done.stderr
    if want["status"]:
        assert run_folder.last_error(done.stderr) == want["error"], done.stderr
    text, numbers = run_folder.parts(done.stdout)
    expected_text, expected = run_folder.parts(want["stdout"])
    assert text == expected_text
    atol = 3 if program in PRINTED_COUNT_TOLERANCE else 1e-3
    np.testing.assert_allclose(numbers, expected, rtol=PRINTED_RTOL, atol=atol)


def test_example_digits(tmp_path):
    """The example trains and reaches nine of ten right."""
    done = run_program(HERE.parent / "examples/train_digits.py", tmp_path)
    assert done.returncode == 0, done.stderr
    accuracy = float(done.stdout.split("test accuracy:")[1].split()[0])
    assert accuracy > 0.9
