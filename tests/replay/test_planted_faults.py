"""A kernel is changed: the replay differs, and names the first node that the kernel computes."""

import functools
import pathlib

import children
import numpy as np
import pytest

from tfcompat._src.graph import op_spec
from tfcompat._src.replay.differences import DIFFERS
from tfcompat._src.replay.record import Record
from tfcompat._src.replay.replay import Replay
from tfcompat._src.replay.settle import settle

RECORDS = pathlib.Path(__file__).parents[1] / "golden/records"


def negative(result):
    return -result


def first_negative(result):
    return (-result[0], *result[1:])


def of_bool(result):
    return result * 0 + (result > 0)


def transposed(result):
    return result.swapaxes(0, 1).reshape(result.shape)


def larger(result):
    return result * (1 + 1e-4)


def rounded(result):
    return result.astype("float16").astype(result.dtype)


FAULTS = [
    ("linear", "Relu", negative, "dense/Relu"),
    ("linear", "MatMul", transposed, "dense/MatMul"),
    ("linear", "BiasAdd", rounded, "dense/BiasAdd"),
    ("linear", "ReluGrad", of_bool, "gradients/dense/Relu_grad/ReluGrad"),
    ("linear", "Mean", larger, "loss"),
    ("static_rnn", "Sigmoid", negative, "rnn/gru_cell/Sigmoid"),
    ("static_rnn", "L2Loss", larger, "global_norm/L2Loss"),
    ("cnn", "MaxPool", negative, "max_pooling2d/MaxPool"),
    ("cnn", "Conv2D", transposed, "conv2d/Conv2D"),
    ("sparse_feed", "SparseTensorDenseMatMul", negative, "product/SparseTensorDenseMatMul"),
]


def plant(monkeypatch, op_type, change):
    """Has the kernels of an op type return something else."""
    spec = op_spec.get(op_type)

    @functools.wraps(spec.kernel)
    def wrong(*arguments, **attributes):
        return change(spec_kernel(*arguments, **attributes))

    spec_kernel = spec.kernel
    for field, value in (("kernel", wrong), ("fold", None), ("near", None)):
        monkeypatch.setitem(spec.__dict__, field, value)


def first_difference(name, folder=None):
    replay = Replay(Record(str(RECORDS / f"{name}.zip")))
    verdict = next(v for v in replay.in_order() if v.verdict == DIFFERS)
    return verdict, settle(replay, verdict, folder)


@pytest.mark.parametrize("record, op_type, change, node", FAULTS, ids=[f"{f[0]}-{f[1]}" for f in FAULTS])
def test_the_node_is_named(record, op_type, change, node, monkeypatch, tmp_path):
    plant(monkeypatch, op_type, change)
    verdict, found = first_difference(record, str(tmp_path))
    assert verdict.verdict == DIFFERS and found.node is not None, found.why
    assert (found.node.op.name, found.node.type, found.node.alone) == (node, op_type, True)
    assert found.node.line.startswith(f"{record}.py:")


def test_a_dropped_update_is_named(monkeypatch):
    plant(monkeypatch, "ApplyMomentum", lambda result: tuple(each * 0 + 1 for each in result))
    verdict, found = first_difference("cnn")
    assert found.node.type == "ApplyMomentum" and found.node.alone


def test_the_program_that_shows_it_runs(monkeypatch, tmp_path):
    with monkeypatch.context() as patch:
        plant(patch, "Relu", negative)
        _, found = first_difference("linear", str(tmp_path))
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".npz", ".pbtxt", ".py"] and len(found.node.files) == 3
    with np.load(found.node.files[0]) as arrays:
        assert arrays["recorded"].shape == (16, 8)
    done = children.warm(*children.RUN, pathlib.Path(found.node.files[2]).name, cwd=tmp_path)
    assert done.stdout.endswith("largest difference: 0.0\n"), done.stderr


def test_without_inner_tensors_the_first_recorded_value_is_named(monkeypatch):
    plant(monkeypatch, "Relu", negative)
    replay = Replay(Record(str(RECORDS / "linear.zip")))
    verdict = next(v for v in replay.in_order() if v.verdict == DIFFERS)
    object.__setattr__(verdict.run, "between", {})
    found = settle(replay, verdict)
    assert found.node is None and found.why.startswith("loss:0 is the first that differs")
