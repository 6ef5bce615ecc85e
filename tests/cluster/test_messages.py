"""The messages between processes, against what TensorFlow 1.15.5 sent; golden: the bytes of one message of each kind."""

import base64
import json
import pathlib

import numpy as np
import pytest

from tfcompat._src.base import dtypes, errors
from tfcompat._src.cluster import wire
from tfcompat._src.proto import messages, pool

TRAFFIC = json.loads((pathlib.Path(__file__).parents[1] / "golden" / "cluster_traffic.json").read_text())


def unknown_fields(message):
    from google.protobuf.unknown_fields import UnknownFieldSet

    found = [f"{type(message).__name__}: {field.field_number}" for field in UnknownFieldSet(message)]
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        for part in value if field.is_repeated else [value]:
            found += unknown_fields(part)
    return found


@pytest.mark.parametrize("name", TRAFFIC)
def test_messages_of_the_real_program_are_read_whole(name):
    message = pool.message(name).FromString(base64.b64decode(TRAFFIC[name]))
    assert unknown_fields(message) == []


def test_fields_are_where_the_real_program_has_them():
    def read(name):
        return pool.message(f"tensorflow.{name}").FromString(base64.b64decode(TRAFFIC[f"tensorflow.{name}"]))

    run = read("RunStepRequest")
    assert (run.store_errors_in_response_body, run.session_handle != "", run.request_id != 0) == (True, True, True)
    part = read("RunGraphRequest")
    assert part.create_worker_session_called and part.step_id and part.graph_handle
    receive = read("RecvTensorRequest")
    assert receive.rendezvous_key.count(";") == 4 and receive.step_id
    status = read("GetStatusResponse").device_attributes[0]
    assert (status.name, status.device_type, status.incarnation != 0) == ("/job:ps/replica:0/task:0/device:CPU:0", "CPU", True)
    assert wire.from_proto(read("RunStepResponse").tensor[0].tensor).tolist() == [3.0, 4.0]  # what the program fetched


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16", "bool", "int64", "complex64", "uint8"])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_numbers_cross_as_bytes(kind, shape):
    dtype = dtypes.as_dtype(kind)
    value = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype.as_numpy_dtype)
    found = wire.from_proto(wire.to_proto(value, dtype))
    assert (found.dtype, found.shape, found.tobytes()) == (value.dtype, value.shape, value.tobytes())


def test_strings_are_read_in_both_forms():
    value = np.array([[b"a", b""], [b"\xff" * 200, b"c"]], object)
    proto = wire.to_proto(value, dtypes.string)
    assert wire.from_proto(proto).tolist() == value.tolist()
    del proto.string_val[:]
    proto.tensor_content = b"\x01\x00\xc8\x01\x01a" + b"\xff" * 200 + b"c"  # lengths as varints, then the bytes
    assert wire.from_proto(proto).tolist() == value.tolist()


@pytest.mark.parametrize("fields", [{"tensor_content": b"abc"}, {"dtype": 200}, {"dtype": 7, "tensor_content": b"\x09a"}])
def test_malformed_tensors_are_refused(fields):
    proto = messages.TensorProto(**{"dtype": 1, **fields})
    proto.tensor_shape.dim.add(size=1)
    with pytest.raises(errors.InvalidArgumentError):
        wire.from_proto(proto)


def test_of_several_failures_the_roots_count():
    failures = [(errors.ABORTED, f"From b:\n{wire.DERIVED}x"), (errors.INVALID_ARGUMENT, "From a:\nx"), (errors.CANCELLED, "From c:\nstopped")]
    assert wire.joined(failures) == (errors.INVALID_ARGUMENT, "From a:\nx")
    code, text = wire.joined([(errors.ABORTED, "one"), (errors.INTERNAL, "two")])
    assert code == errors.ABORTED and text.startswith("2 root error(s) found.\n  (0) ")
