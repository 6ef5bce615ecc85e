"""Products for matrix factorization against the formulas, entry by entry."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.contrib.factorization import products  # noqa: F401 registers the op types
from tfcompat._src.nodes import raw

RANDOM = np.random.RandomState(0)
FACTORS = RANDOM.rand(4, 3).astype(np.float32)
INDICES = np.array([[4, 1], [0, 3], [4, 0], [2, 2], [0, 1]])
VALUES = RANDOM.rand(5).astype(np.float32)
FACTOR_WEIGHTS, INPUT_WEIGHTS = RANDOM.rand(4).astype(np.float32), RANDOM.rand(6).astype(np.float32)
ENTRY_WEIGHTS = RANDOM.rand(5).astype(np.float32)
NONE = np.zeros(0, np.float32)


@pytest.fixture(autouse=True)
def own_graph():
    with tf.Graph().as_default():
        yield


def run(fetch):
    with tf.Session() as session:
        return session.run(fetch)


def normal_equations(**changed):
    arguments = {
        "factors": FACTORS, "factor_weights": FACTOR_WEIGHTS, "unobserved_weights": 0.25, "input_weights": INPUT_WEIGHTS,
        "input_indices": INDICES, "input_values": VALUES, "entry_weights": NONE, "input_block_size": 6, "input_is_transpose": False,
    }  # fmt: skip
    return run(raw.WALSComputePartialLhsAndRhs(**{**arguments, **changed}))


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("by_entry", [False, True])
def test_normal_equations(transpose, by_entry):
    changed = {"factor_weights": NONE, "input_weights": NONE, "entry_weights": ENTRY_WEIGHTS} if by_entry else {}
    indices = INDICES[:, ::-1] if transpose else INDICES
    lhs, rhs = normal_equations(input_indices=indices, input_is_transpose=transpose, **changed)
    wanted_lhs, wanted_rhs = np.zeros((6, 3, 3)), np.zeros((6, 3))
    for entry, (row, column) in enumerate(INDICES):
        weight = ENTRY_WEIGHTS[entry] if by_entry else INPUT_WEIGHTS[row] * FACTOR_WEIGHTS[column]
        wanted_lhs[row] += weight * np.outer(FACTORS[column], FACTORS[column])
        wanted_rhs[row] += VALUES[entry] * (0.25 + weight) * FACTORS[column]
    np.testing.assert_allclose(lhs, wanted_lhs, rtol=1e-5)
    np.testing.assert_allclose(rhs, wanted_rhs, rtol=1e-5)


BAD = {
    "factors should be a matrix": {"factors": NONE},
    "factor_weights should be a vector": {"factor_weights": FACTORS},
    "unobserved_weights should be a scalar": {"unobserved_weights": NONE},
    r"input_indices should have shape \(\?, 2\)": {"input_indices": INDICES[:, :1]},
    "length should match": {"input_values": VALUES[:3]},
    "but not both": {"entry_weights": ENTRY_WEIGHTS},
    "The factor index 4": {"input_indices": INDICES + [[0, 1]]},
    "The input index 6": {"input_indices": INDICES + [[2, 0]]},
    "must not be negative": {"input_weights": -INPUT_WEIGHTS},
}


@pytest.mark.parametrize("text", BAD)
def test_what_does_not_fit(text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        normal_equations(**BAD[text])


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_masked_matmul(transpose_a, transpose_b):
    a, b = RANDOM.rand(5, 3).astype(np.float32), RANDOM.rand(3, 4).astype(np.float32)
    found = run(raw.MaskedMatmul(a.T if transpose_a else a, b.T if transpose_b else b, INDICES, transpose_a, transpose_b))
    np.testing.assert_allclose(found, (a.astype(np.float64) @ b)[INDICES[:, 0], INDICES[:, 1]], rtol=1e-6)


def test_what_does_not_fit_a_masked_matmul():
    eye = np.eye(3, dtype=np.float32)
    for index, other, text in (([[0, 3]], eye, "column index 3"), ([[-1, 0]], eye, "row index -1"), ([[0]], eye, "nnz 2"), ([[0, 0]], eye[:2], "incompatible")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            run(raw.MaskedMatmul(eye, other, np.array(index, np.int64), False, False))
