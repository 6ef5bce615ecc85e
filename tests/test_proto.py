"""Protobuf messages and tensor conversion against what the real TensorFlow recorded in golden/proto/."""

import base64
import copy
import importlib
import json
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest
from google.protobuf import json_format, text_format
from google.protobuf.descriptor import FieldDescriptor

from tfcompat._src.base import dtypes
from tfcompat._src.graph import tensor_proto as tensors
from tfcompat._src.proto import definitions, messages, pool

GOLDEN = pathlib.Path(__file__).parent / "golden" / "proto"
DESCRIPTORS = json.loads((GOLDEN / "descriptors.json").read_text())
MESSAGES = json.loads((GOLDEN / "messages.json").read_text())
TENSORS = json.loads((GOLDEN / "tensors.json").read_text())
KINDS = {getattr(FieldDescriptor, name): name[5:].lower() for name in dir(FieldDescriptor) if name.startswith("TYPE_")}
OWN_MESSAGES = (
    "Expected", "Argument must be", "Failed to convert", "Too many elements", "None values", "Incompatible types",
    "allow_broadcast", "Cannot convert value",
)  # fmt: skip

# make_ndarray of 1.15 refuses these two; the values of their constants are needed all the same.
READABLE_HERE_ONLY = ("uint32", "uint64")

# 1.15 fails inside its conversion of single 16 bit quantized numbers.
WRITABLE_HERE_ONLY = ("qint16", "quint16")


def tensor_id(case):
    return f"{case['values']}-{case['dtype']}-{case['shape']}-{'-'.join(case['flags'])}"


def field_fact(field):
    type_of = field.message_type or field.enum_type
    return [
        field.name, field.number, KINDS[field.type], "repeated" if field.is_repeated else "single",
        "packed" if field.is_packed else "", type_of.full_name if type_of else "",
        field.containing_oneof.name if field.containing_oneof else "",
    ]


@pytest.mark.parametrize("path", DESCRIPTORS)
def test_descriptors_equal_the_real_ones(path):
    facts = DESCRIPTORS[path]
    descriptor = pool.module(path).DESCRIPTOR
    found = {"package": descriptor.package, "messages": {}, "enums": {}, "services": {}}

    def add_enum(enum):
        found["enums"][enum.full_name] = [[value.name, value.number] for value in enum.values]

    def add_message(message):
        found["messages"][message.full_name] = [field_fact(field) for field in message.fields]
        for nested in message.nested_types:
            add_message(nested)
        for enum in message.enum_types:
            add_enum(enum)

    for message in descriptor.message_types_by_name.values():
        add_message(message)
    for enum in descriptor.enum_types_by_name.values():
        add_enum(enum)
    for service in descriptor.services_by_name.values():
        found["services"][service.full_name] = [
            [method.name, method.input_type.full_name, method.output_type.full_name] for method in service.methods
        ]
    assert found == facts
    assert descriptor.name == path


def test_files_without_a_recorded_descriptor_are_few():
    assert set(definitions.files()) - set(DESCRIPTORS) == {
        *(f"tensorflow/contrib/boosted_trees/proto/{name}.proto" for name in ("learner", "quantiles", "split_info", "tree_config")),
        "tensorflow/contrib/decision_trees/proto/generic_tree_model_extensions.proto", "tensorflow/core/protobuf/critical_section.proto",
        "tensorflow/core/protobuf/master.proto", "tensorflow/core/protobuf/worker.proto",  # read in tests/cluster/test_messages.py
        "tfcompat/transfer.proto",  # of workers of tfcompat alone
        "tensorflow_serving/config/ssl_config.proto", "tensorflow_serving/config/monitoring_config.proto",  # files of text for a server
        "tensorflow_serving/servables/tensorflow/session_bundle_config.proto", "grpc/health/v1/health.proto",
    }  # fmt: skip


@pytest.mark.parametrize("case", MESSAGES, ids=lambda case: case["message"])
def test_serialized_messages(case):
    data = base64.b64decode(case["bytes"])
    message = pool.message(case["message"]).FromString(data)
    assert json_format.MessageToDict(message, preserving_proto_field_name=True) == case["fields"]
    # Protobuf versions order the entries of a map in different ways.
    assert sorted(message.SerializeToString()) == sorted(data)
    assert json_format.ParseDict(case["fields"], type(message)()) == message
    assert text_format.Parse(text_format.MessageToString(message), type(message)()) == message
    assert pickle.loads(pickle.dumps(message)) == message
    assert copy.deepcopy(message) == message


@pytest.mark.parametrize("case", TENSORS, ids=tensor_id)
def test_make_tensor_proto(case):
    values = eval(case["values"], {"np": np})

    def make():
        return tensors.make_tensor_proto(values, case["dtype"], case["shape"], **case["flags"])

    if "error" not in case:
        assert make().SerializeToString() == base64.b64decode(case["proto"])
        return
    if case["dtype"] in WRITABLE_HERE_ONLY:
        assert tensors.make_ndarray(make()).tolist() == values
        return
    with pytest.raises(Exception) as caught:
        make()
    assert type(caught.value).__name__ == case["error"]
    shows_numpy_scalar = "np.bool_" in case["values"]
    if case["message"].startswith(OWN_MESSAGES) and not shows_numpy_scalar:
        assert str(caught.value) == case["message"]


@pytest.mark.parametrize("case", [case for case in TENSORS if "proto" in case], ids=tensor_id)
def test_make_ndarray(case):
    proto = messages.TensorProto.FromString(base64.b64decode(case["proto"]))
    fact = case["ndarray"]
    array = tensors.make_ndarray(proto)
    if "error" in fact:
        assert dtypes.as_dtype(array.dtype).name in READABLE_HERE_ONLY
        return
    assert dtypes.as_dtype(array.dtype).name == fact["dtype"]
    assert list(array.shape) == fact["shape"]
    if array.dtype == object:
        assert array.ravel().tolist() == [base64.b64decode(value) for value in fact["values"]]
    else:
        assert array.tobytes() == base64.b64decode(fact["values"])
    assert array.flags.writeable


@pytest.mark.parametrize(
    "case",
    [case for case in TENSORS if "proto" in case and not case["flags"] and "error" not in case["ndarray"]],
    ids=tensor_id,
)
def test_to_numpy_holds_what_the_tensor_proto_means(case):
    array = tensors.to_numpy(eval(case["values"], {"np": np}), case["dtype"], case["shape"])
    wanted = tensors.make_ndarray(messages.TensorProto.FromString(base64.b64decode(case["proto"])))
    assert array.dtype == wanted.dtype
    assert array.shape == wanted.shape
    assert array.tolist() == wanted.tolist() or case["values"] == "float('nan')"


@pytest.mark.parametrize(
    "proto, error",
    [
        ({"dtype": 20}, TypeError),
        ({"dtype": 0}, TypeError),
        ({"dtype": 101, "float_val": [1]}, TypeError),
        ({"dtype": 1, "float_val": [1, 2]}, ValueError),
        ({"dtype": 1, "tensor_content": b"abcdefgh"}, ValueError),
        ({"dtype": 1, "tensor_shape": {"dim": [{"size": -1}]}}, ValueError),
    ],
)
def test_make_ndarray_refuses(proto, error):
    with pytest.raises(error):
        tensors.make_ndarray(messages.TensorProto(**proto))


def test_module_is_what_the_generated_module_is():
    types_pb2 = pool.module("tensorflow/core/framework/types.proto")
    assert types_pb2.__name__ == "tensorflow.core.framework.types_pb2"
    assert types_pb2.DT_HALF == 19
    assert types_pb2.DataType.Name(19) == "DT_HALF"
    assert pool.module("tensorflow/core/framework/node_def.proto").NodeDef is messages.NodeDef
    with pytest.raises(KeyError):
        pool.module("tensorflow/core/framework/nothing.proto")


def test_names():
    assert messages.DataType is pool.enum("tensorflow.DataType")
    assert messages.error.Code.Value("NOT_FOUND") == 5
    assert messages.serving.PredictRequest is pool.message("tensorflow.serving.PredictRequest")
    with pytest.raises(AttributeError, match="NothingDef"):
        messages.NothingDef  # noqa: B018
    with pytest.raises(AttributeError, match="NothingDef"):
        messages.serving.NothingDef  # noqa: B018
    with pytest.raises(KeyError):
        pool.message("tensorflow.NothingDef")


EARLIER_NAMES = {"CheckpointableObjectGraph": "TrackableObjectGraph"}
"""Names of tf.contrib from before messages were renamed."""


@pytest.mark.parametrize("public, full_name", messages.PUBLIC.items())
def test_public_names_are_messages(public, full_name):
    name = public.rpartition(".")[2]
    assert pool.message(full_name).DESCRIPTOR.name == EARLIER_NAMES.get(name, name)


def test_nested_messages_pickle_in_another_process():
    value = messages.Summary.Value(tag="t", simple_value=0.5)
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).tag)"
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(value), capture_output=True, check=True)
    assert done.stdout.strip() == b"t"


def test_any_packs_and_unpacks():
    meta_graph = messages.MetaGraphDef()
    packed = meta_graph.collection_def["saved_model_assets"].any_list.value.add()
    packed.Pack(messages.AssetFileDef(filename="f"))
    assert packed.type_url == "type.googleapis.com/tensorflow.AssetFileDef"
    asset = messages.AssetFileDef()
    assert packed.Unpack(asset)
    assert asset.filename == "f"
    text = text_format.MessageToString(meta_graph, descriptor_pool=pool.POOL)
    assert text_format.Parse(text, messages.MetaGraphDef(), descriptor_pool=pool.POOL) == meta_graph


def test_service_methods():
    predict = pool.service("tensorflow.serving.PredictionService")["Predict"]
    assert predict.path == "/tensorflow.serving.PredictionService/Predict"
    assert predict.request is messages.serving.PredictRequest
    assert predict.reply is messages.serving.PredictResponse
    assert pool.service("tensorflow.EventListener")["SendEvents"].client_streaming


def test_files_are_built_when_asked_for():
    code = (
        "from tfcompat._src.proto import messages, pool\n"
        "before = set(pool._built)\n"
        "assert 'tensorflow/core/example/feature.proto' not in before\n"
        "messages.Feature\n"
        "assert set(pool._built) - before == {'tensorflow/core/example/feature.proto'}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_tensorboard_lives_beside():
    pytest.importorskip("tensorboard")
    theirs = importlib.import_module("tensorboard.compat.proto.graph_pb2").GraphDef
    ours = messages.GraphDef(node=[messages.NodeDef(name="n", op="NoOp")])
    assert theirs.FromString(ours.SerializeToString()).node[0].name == "n"


def test_default_pool_may_hold_the_same_names():
    code = (
        "from google.protobuf import descriptor_pool\n"
        "from tfcompat._src.proto import definitions, messages\n"
        "for path in ('tensorflow/core/framework/versions.proto', 'tensorflow/core/framework/types.proto'):\n"
        "    descriptor_pool.Default().AddSerializedFile(definitions.file_proto(path).SerializeToString())\n"
        "theirs = descriptor_pool.Default().FindMessageTypeByName('tensorflow.VersionDef')\n"
        "assert theirs is not messages.VersionDef.DESCRIPTOR\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_text_has_sorted_keys_and_floats_of_python():
    """As 1.15.5 prints them, with protobuf 3."""
    node = messages.NodeDef(name="n\u00e9", op="Const")
    node.attr["value"].tensor.float_val.extend([0.1, 1e10, 2])
    node.attr["dtype"].type = 1
    node.attr["b"].b = True
    node.attr["a"].s = b"a'\"\\\t\x01\xe9"
    assert str(node).splitlines() == [
        'name: "n\\303\\251"',
        'op: "Const"',
        *["attr {", '  key: "a"', "  value {", '    s: "a\\\'\\"\\\\\\t\\001\\351"', "  }", "}"],
        *["attr {", '  key: "b"', "  value {", "    b: true", "  }", "}"],
        *["attr {", '  key: "dtype"', "  value {", "    type: DT_FLOAT", "  }", "}"],
        *["attr {", '  key: "value"', "  value {", "    tensor {"],
        *["      float_val: 0.10000000149011612", "      float_val: 10000000000.0", "      float_val: 2.0", "    }", "  }", "}"],
    ]
    assert repr(messages.ConfigProto(device_count={"GPU": 1, "CPU": 2})) == (
        'device_count {\n  key: "CPU"\n  value: 2\n}\ndevice_count {\n  key: "GPU"\n  value: 1\n}\n'
    )
