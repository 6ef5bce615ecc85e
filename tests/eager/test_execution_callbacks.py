"""Callbacks after operations that run at once; what TensorFlow 1.15.5 calls them with, and the texts of its errors."""

import pytest

import tfcompat as tf
from tfcompat._src.eager.execution_callbacks import InfOrNanError
from tfcompat._src.eager.mode import eager_mode

tfe = tf.contrib.eager


@pytest.fixture(autouse=True)
def _eager():
    with eager_mode():
        yield
        tfe.clear_execution_callbacks()


def test_callbacks_get_what_ran():
    seen = []
    tfe.add_execution_callback(lambda *call: seen.append(call))
    tf.add(1.0, 2.0)
    tf.math.log(1.0, name="foo")
    tfe.clear_execution_callbacks()
    tf.add(1.0, 2.0)
    found = [
        (kind, [t.numpy() for t in inputs], attrs, [t.numpy() for t in outputs], name)
        for kind, inputs, attrs, outputs, name in seen
    ]
    assert found == [("Add", [1.0, 2.0], ("T", 1), [3.0], None), ("Log", [1.0], ("T", 1), [0.0], "foo")]


def test_infinities_and_nan_raise():
    tfe.seterr(inf_or_nan="raise")
    with pytest.raises(InfOrNanError) as found:
        tf.constant([10.0, 0.0]) / tf.constant(0.0)
    assert str(found.value) == (
        "Output 1 of 1 of TFE operation RealDiv (name: 'truediv/') contains 1 inf(s) and 1 nan(s) "
        "out of a total of 2 element(s). Tensor value: [inf nan]"
    )
    assert (found.value.op_type, found.value.output_index, found.value.num_outputs) == ("RealDiv", 0, 1)
    with pytest.raises(InfOrNanError) as found:
        tf.math.log(0.0)
    assert str(found.value) == (
        "Output 1 of 1 of TFE operation Log (name: None) contains 1 inf(s) out of a total of 1 element(s). Tensor value: -inf"
    )


def test_actions(capsys):
    assert tfe.seterr(inf_or_nan=tfe.ExecutionCallback.PRINT) == {"inf_or_nan": tfe.ExecutionCallback.IGNORE}
    tf.math.log(-1.0)
    assert capsys.readouterr().out.startswith(
        "Warning: Output 1 of 1 of TFE operation Log (name: None) contains 1 nan(s)"
    )
    with tfe.errstate(inf_or_nan="raise"), pytest.raises(InfOrNanError):
        tf.math.log(-1.0)
    assert tfe.seterr("ignore") == {"inf_or_nan": tfe.ExecutionCallback.PRINT}
    tf.math.log(-1.0)
    assert capsys.readouterr().out == ""
    with pytest.raises(ValueError, match="'no' is not a valid ExecutionCallback"):
        tfe.seterr("no")


@pytest.mark.parametrize(("callback", "bad", "good"), [(tfe.inf_callback, 0.0, -1.0), (tfe.nan_callback, -1.0, 0.0)])
def test_one_kind_is_looked_for(callback, bad, good):
    tfe.add_execution_callback(callback)
    tf.math.log(good)
    with pytest.raises(InfOrNanError):
        tf.math.log(bad)
