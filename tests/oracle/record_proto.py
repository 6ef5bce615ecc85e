"""Records descriptors, serialized messages and tensor conversions of the real TensorFlow into tests/golden/proto/.

Run with tensorflow==1.15.5 and tensorflow-serving-api==1.15.0 installed: python tests/oracle/record_proto.py
"""

import base64
import glob
import importlib
import json
import os
import tempfile

import numpy as np
import tensorflow as tf
import tensorflow_core
import tensorflow_serving
from google.protobuf import json_format
from google.protobuf.descriptor_pb2 import FieldDescriptorProto
from tensorflow.contrib.tensorboard.plugins.projector import projector_config_pb2
from tensorflow.core.framework import types_pb2
from tensorflow.core.profiler import tfprof_log_pb2
from tensorflow.core.protobuf import saved_model_pb2, struct_pb2, tensor_bundle_pb2
from tensorflow.core.util import saved_tensor_slice_pb2
from tensorflow_serving.apis import get_model_status_pb2, inference_pb2, predict_pb2

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden", "proto")
NOT_COVERED = (
    "tensorflow.compiler.xla",
    "tensorflow.lite.toco",
    "tensorflow.core.protobuf.tpu.compilation_result",
)

TENSORS = [
    # values, dtype, shape, flags
    ("1",), ("1.0",), ("True",), ("'a'",), ("u'\\u00e9'",), ("b'\\xff'",), ("1+2j",), ("[1, 2]",), ("[1, 2.5]",),
    ("[]",), ("[[]]",), ("[[], []]",), ("[[1], [2, 3]]",), ("2**31",), ("[1, 2**40]",), ("2**63",), ("2**64",),
    ("-2**31",), ("None",), ("[None]",), ("[1, None]",), ("{}",), ("['a', 1]",), ("[1, 'a']",), ("[True, 1]",),
    ("[1.0, True]",), ("np.float64(1)",), ("[np.float64(1), 2.0]",), ("[np.float32(1), np.float64(2)]",),
    ("[np.int64(1)]",), ("np.int64(3)",), ("np.bool_(1)",), ("[np.bool_(1)]",), ("[np.uint8(1)]",),
    ("[np.int8(1), 2]",), ("[np.float16(1)]",), ("np.float16(1)",), ("[np.complex64(1j)]",),
    ("[np.arange(2.), np.arange(2.)]",), ("[np.arange(2), [3, 4]]",), ("np.arange(3.)",), ("np.arange(1.)",),
    ("np.arange(3)",), ("np.float16([1, 2])",), ("np.array(['a', 'bc'])",), ("np.array([b'a', b'bc'])",),
    ("np.array(['a', b'bc'], object)",), ("np.array([1, 2], object)",), ("np.array([1j], np.complex64)",),
    ("np.array([1j, 2])",), ("np.array([True, False])",), ("np.uint16([1, 2])",), ("np.uint32([1])",),
    ("np.uint64([1, 2])",), ("np.uint32([1, 2])",), ("np.int16([1, 2])",),
    ("np.int8([1, -2])",), ("np.uint16([7])",), ("np.int16([-7])",), ("np.array([1j, 2], np.complex64)",),
    ("np.array(['2000-01-01'], 'M8[D]')",), ("np.asfortranarray([[1, 2], [3, 4]])",),
    ("np.zeros([0, 3])",), ("np.str_('a')",), ("np.bytes_(b'a')",), ("[b'a\\0']",), ("np.array([b'a\\0'])",),
    ("bytearray(b'ab')",), ("range(3)",), ("(1, (2))",), ("[[1, 2], 3]",), ("[3, [1, 2]]",), ("[[], [1]]",),
    ("[b'a', u'b']",), ("[['a', 'b'], ['c', 'd']]",), ("1e400",), ("[-2**31 - 1]",), ("float('nan')",),
    ("1.5", "int32"), ("1", "float32"), ("True", "int32"), ("True", "float32"), ("1", "bool"), ("1.0", "bool"),
    ("[True]", "bool"), ("'a'", "int32"), ("1", "string"), ("True", "string"), ("300", "uint8"), ("-1", "uint8"),
    ("2**31", "int32"), ("2**70", "int32"), ("[1, 2**40]", "float64"), ("1e39", "float32"), ("1e6", "half"),
    ("1.5", "bfloat16"), ("[1.0, 3.14159]", "bfloat16"), ("[1.5, 2]", "half"), ("1.5", "uint32"), ("5", "uint32"),
    ("2**64 - 1", "uint64"), ("1.0", "int16"), ("np.array([1.5])", "int32"), ("np.array([1.5, 2])", "float32"),
    ("np.arange(3)", "int32"), ("np.arange(3)", "float32"), ("np.arange(3)", "string"), ("np.array(['a'])", "int32"),
    ("np.array([True, False])", "float32"), ("np.array([0, 2])", "bool"), ("1j", "float32"), ("1", "complex64"),
    ("1.0", "complex128"), ("'a'", "complex64"), ("None", "float32"), ("[None]", "float32"), ("[]", "int32"),
    ("[]", "string"), ("[]", "bool"), ("np.float64(1.1)", "float32"), ("[np.float64(1.1)]", "float32"),
    ("np.float64(1.5)", "int32"), ("1", "resource"), ("1", "variant"), ("1", "foo"), ("[1, 2.5]", "int32"),
    ("[[1], [2, 3]]", "int32"), ("[[1], [2.5]]", "int32"), ("['a', 1]", "string"), ("[['a'], ['b', 'c']]", "string"),
    ("bytearray(b'ab')", "string"), ("[np.arange(2.)]", "float32"), ("[[1.0, 'b']]", "float32"),
    ("[1, 2]", "qint8"), ("1", "qint8"), ("[(1,), (2,)]", "qint8"), ("(1,)", "qint8"),
    ("[[(1,), (2,)], [(3,), (4,)]]", "quint8"), ("np.uint8([1, 2])", "quint8"), ("1.5", "qint32"),
    ("np.array([1.5, 2.])", "qint8"),
    ("[(1,), (2,)]", "qint16"), ("[(1,), (2,)]", "quint16"), ("[(1,), (-2,)]", "qint32"), ("[(1,)]", "qint16"),
    ("[1, 2]", "uint16"), ("[1, 2]", "uint32"), ("[1, -2]", "int8"), ("[1, -2]", "int16"), ("[1, 2]", "uint8"),
    ("(1.5,)", "qint8"), ("[np.bool_(1)]", "bool"), ("[[1, 2], [3, 4]]", "int64"), ("[b'', b'a']", "string"),
    ("1.0", "float32_ref"),
    ("1", None, [2, 3]), ("1", None, [0]), ("np.arange(2.)", None, [0]), ("None", None, [0]),
    ("'a'", "int32", [0]), ("'a'", None, [0]), ("1", "string", [0]), ("np.arange(0)", None, [2]),
    ("np.arange(0)", None, [0, 2]), ("[1, 2]", None, [2, 2]), ("[1, 2, 3]", None, [2]),
    ("[1, 2, 3, 4]", None, [2, 2]), ("'a'", None, [2]), ("['a', 'b']", None, [3]), ("['a', 'b']", None, [1]),
    ("np.float32(1)", None, [2]), ("np.arange(2.)", None, [4]), ("np.arange(4.)", None, [2, 2]),
    ("np.arange(4.)", None, [2]), ("1", None, [None]), ("1", None, 3), ("1", None, [-1]), ("[]", None, [2]),
    ("[]", None, [0, 3]), ("[1]", None, []), ("1", None, []), ("[1.0, 2.0]", "float32", [5]), ("[7]", None, [1]),
    ("True", None, [2]), ("[1j, 2]", "complex64", [3]), ("[1.0, 2.0]", "half", [3]),
    ("[1, 2]", None, [2], {"verify_shape": True}), ("[1, 2]", None, [2, 1], {"verify_shape": True}),
    ("1", None, [], {"verify_shape": True}), ("1", None, [2], {"verify_shape": True}),
    ("[1, 2]", None, [2, 2], {"allow_broadcast": True}), ("[1]", None, [2, 2], {"allow_broadcast": True}),
    ("[[1, 2]]", None, [2], {"allow_broadcast": True}),
    ("1", None, [2], {"verify_shape": True, "allow_broadcast": True}),
]  # fmt: skip


def b64(data):
    return base64.b64encode(data).decode("ascii")


def protos_of(root_file, package):
    root = os.path.dirname(root_file)
    for path in sorted(glob.glob(os.path.join(root, "**", "*_pb2.py"), recursive=True)):
        name = package + "." + os.path.relpath(path, root)[:-3].replace(os.sep, ".")
        if not name.startswith(NOT_COVERED):
            yield importlib.import_module(name).DESCRIPTOR


def field_fact(field):
    type_of = field.message_type or field.enum_type
    kind = FieldDescriptorProto.Type.Name(field.type)[len("TYPE_") :].lower()
    repeated = field.label == FieldDescriptorProto.LABEL_REPEATED
    packed = repeated and type_of is field.enum_type and field.type not in (9, 12)
    return [
        field.name,
        field.number,
        kind,
        "repeated" if repeated else "single",
        "packed" if packed else "",
        type_of.full_name if type_of else "",
        field.containing_oneof.name if field.containing_oneof else "",
    ]


def add_message(facts, message):
    facts["messages"][message.full_name] = [field_fact(field) for field in message.fields]
    for nested in message.nested_types:
        add_message(facts, nested)
    for enum in message.enum_types:
        facts["enums"][enum.full_name] = [[value.name, value.number] for value in enum.values]


def descriptors():
    found = {}
    for package in ((tensorflow_core.__file__, "tensorflow"), (tensorflow_serving.__file__, "tensorflow_serving")):
        for file in protos_of(*package):
            facts = found[file.name] = {"package": file.package, "messages": {}, "enums": {}, "services": {}}
            for message in file.message_types_by_name.values():
                add_message(facts, message)
            for enum in file.enum_types_by_name.values():
                facts["enums"][enum.full_name] = [[value.name, value.number] for value in enum.values]
            for service in file.services_by_name.values():
                facts["services"][service.full_name] = [
                    [method.name, method.input_type.full_name, method.output_type.full_name]
                    for method in service.methods
                ]
    return found


def trained_graph():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
    y = tf.identity(tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.matmul(x, w), lambda: tf.matmul(-x, w)), name="y")
    tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(y))
    tf.summary.histogram("h", w)
    return x, y


def messages():
    graph = tf.Graph()
    with graph.as_default(), tf.Session() as session, tempfile.TemporaryDirectory() as folder:
        x, y = trained_graph()
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        meta_graph = saver.export_meta_graph()
        saved = os.path.join(folder, "saved")
        tf.saved_model.simple_save(session, saved, {"x": x}, {"y": y})
        with open(os.path.join(saved, "saved_model.pb"), "rb") as file:
            yield saved_model_pb2.SavedModel.FromString(file.read())
        summary = tf.Summary.FromString(session.run(tf.summary.merge_all()))
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, timeout_in_ms=1000)
        session.run(y, {x: [[1.0, 2.0]]}, options=options, run_metadata=metadata)
    yield meta_graph
    yield summary
    yield options
    yield metadata.step_stats.dev_stats[0]
    yield tf.Event(wall_time=1.5, step=7, summary=summary)
    yield tf.Event(session_log=tf.SessionLog(status=tf.SessionLog.CHECKPOINT, checkpoint_path="c"))
    config = tf.ConfigProto(device_count={"CPU": 2, "GPU": 0}, allow_soft_placement=True)
    config.gpu_options.per_process_gpu_memory_fraction = 0.25
    config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
    config.graph_options.rewrite_options.optimizers.extend(["constfold", "layout"])
    config.cluster_def.job.add(name="worker").tasks[3] = "host:1"
    yield config
    feature = {
        "bytes": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"\x00\xff", b""])),
        "floats": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, -2.0])),
        "ints": tf.train.Feature(int64_list=tf.train.Int64List(value=[-1, 2**62])),
    }
    yield tf.train.Example(features=tf.train.Features(feature=feature))
    lists = tf.train.FeatureLists(feature_list={"l": tf.train.FeatureList(feature=[feature["ints"]])})
    yield tf.train.SequenceExample(feature_lists=lists)
    yield tensor_bundle_pb2.BundleEntryProto(dtype=types_pb2.DT_FLOAT, offset=2**40, size=8, crc32c=0xFFFFFFFF)
    slices = saved_tensor_slice_pb2.SavedTensorSlices()
    slices.data.name = "v"
    slices.data.slice.extent.add(start=1, length=0)
    slices.data.data.half_val.extend([15360, 0])
    yield slices
    yield struct_pb2.StructuredValue(
        dict_value=struct_pb2.DictValue(fields={"a": struct_pb2.StructuredValue(none_value=struct_pb2.NoneValue())})
    )
    projector = projector_config_pb2.ProjectorConfig()
    projector.embeddings.add(tensor_name="e").sprite.single_image_dim.extend([2, 3])
    yield projector
    log = tfprof_log_pb2.OpLogProto()
    log.log_entries.add(name="n", float_ops=-5, types=["t"])
    yield log
    request = predict_pb2.PredictRequest(output_filter=["y"])
    request.model_spec.name = "m"
    request.model_spec.version.value = 3
    request.inputs["x"].CopyFrom(tf.make_tensor_proto([1.0, 2.0]))
    yield request
    status = get_model_status_pb2.GetModelStatusResponse()
    status.model_version_status.add(version=1, state=get_model_status_pb2.ModelVersionStatus.AVAILABLE)
    yield status
    inference = inference_pb2.MultiInferenceRequest()
    inference.tasks.add(method_name="tensorflow/serving/classify").model_spec.version_label = "stable"
    inference.input.example_list.examples.add().features.feature["f"].float_list.value.append(1.5)
    yield inference


def ndarray_fact(proto):
    try:
        array = tf.make_ndarray(proto)
    except (TypeError, KeyError, ValueError) as error:
        return {"error": type(error).__name__}
    values = [b64(value) for value in array.ravel()] if array.dtype == object else b64(array.tobytes())
    return {"dtype": tf.as_dtype(array.dtype).name, "shape": list(array.shape), "values": values}


def tensors():
    found = []
    for case in TENSORS:
        text, dtype, shape, flags = case + (None, None, {})[len(case) - 1 :]
        fact = {"values": text, "dtype": dtype, "shape": shape, "flags": flags}
        try:
            proto = tf.make_tensor_proto(eval(text, {"np": np}), dtype, shape, **flags)
        except Exception as error:
            fact.update(error=type(error).__name__, message=str(error))
        else:
            fact.update(proto=b64(proto.SerializeToString()), ndarray=ndarray_fact(proto))
        found.append(fact)
    return found


def write(name, lines):
    with open(os.path.join(GOLDEN, name), "w") as file:
        file.write(lines + "\n")


def dump(entries):
    return "[\n" + ",\n".join(json.dumps(entry, sort_keys=True) for entry in entries) + "\n]"


def main():
    facts = descriptors()
    write(
        "descriptors.json",
        "{\n"
        + ",\n".join(json.dumps(name) + ": " + json.dumps(facts[name], separators=(",", ":")) for name in sorted(facts))
        + "\n}",
    )
    write(
        "messages.json",
        dump(
            {
                "message": message.DESCRIPTOR.full_name,
                "bytes": b64(message.SerializeToString(deterministic=True)),
                "fields": json_format.MessageToDict(message, preserving_proto_field_name=True),
            }
            for message in messages()
        ),
    )
    write("tensors.json", dump(tensors()))


if __name__ == "__main__":
    main()
