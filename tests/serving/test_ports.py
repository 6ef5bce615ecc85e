"""A server at its ports: HTTP and gRPC clients, and how it ends."""

import gzip
import http.client
import json
import threading

import numpy as np
import pytest
from serving_clients import Client, spec, status_of
from serving_golden import TYPES, X

from tfcompat._src.cluster import wire
from tfcompat._src.graph import tensor_proto
from tfcompat._src.proto import messages
from tfcompat._src.serving import grpc_server
from tfcompat._src.serving.http_server import HttpServer
from tfcompat._src.serving.rest import Reply

serving = messages.serving
BODY = json.dumps({"instances": X})


@pytest.fixture(scope="module")
def prediction(server):
    client = Client(server.grpc.port, grpc_server.PREDICTION)
    yield client
    client.close()


@pytest.fixture(scope="module")
def model(server):
    client = Client(server.grpc.port, grpc_server.MODEL)
    yield client
    client.close()


def examples():
    found = serving.Input()
    for x in X:
        found.example_list.examples.add().features.feature["x"].float_list.value.append(x)
    return found


def tensor(value, dtype):
    return tensor_proto.make_tensor_proto(value, dtype)


DTYPES = {
    "f": np.float32, "d": np.float64, "i": np.int32, "l": np.int64, "u": np.uint8, "b": np.bool_, "s": np.object_, "s_bytes": np.object_,
}  # fmt: skip


def typed_inputs():
    return {key: tensor(value, None if DTYPES[key] is np.object_ else DTYPES[key]) for key, value in TYPES.items()}


# ---- HTTP ----


@pytest.fixture
def http_client(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.http.port)
    yield connection
    connection.close()


def ask(connection, method, path, body=None, headers={}):
    connection.request(method, path, body, headers)
    reply = connection.getresponse()
    return reply.status, reply.headers["Content-Type"], reply.read()


def test_http_keeps_its_connection(http_client, values):
    for _ in range(3):
        status, kind, body = ask(http_client, "POST", "/v1/models/half:predict", BODY)
        assert (status, kind) == (200, "application/json")
        np.testing.assert_array_equal(np.float32(json.loads(body)["predictions"]), np.float32(values["half_plus"]["3"]["y"]))
        first = http_client.sock
    assert http_client.sock is first


def test_http_takes_chunks_and_gzip(http_client):
    wanted = ask(http_client, "POST", "/v1/models/half:predict", BODY)
    assert ask(http_client, "POST", "/v1/models/half:predict", iter([BODY[:5].encode(), BODY[5:].encode()])) == wanted
    assert ask(http_client, "POST", "/v1/models/half:predict", gzip.compress(BODY.encode()), {"Content-Encoding": "gzip"}) == wanted


@pytest.mark.parametrize("headers, body, status, text", [
    ({"Content-Encoding": "gzip"}, "plain", 400, "The body is not what gzip writes"),
    ({"Content-Encoding": "br"}, "plain", 415, "Content-Encoding is 'br'; it can be gzip or identity"),
    ({"Content-Encoding": "gzip"}, gzip.compress(bytes(2 * 10**6)), 413, "The inflated body has more than 1000000 bytes"),
    ({"Content-Length": "1000001"}, "", 413, "The body has more than 1000000 bytes"),
    ({"Content-Length": "-1"}, "", 400, "Content-Length is '-1'"),
    ({"Transfer-Encoding": "chunked"}, "no size\r\n", 400, "A chunk of the body begins with b'no size'"),
    ({"Transfer-Encoding": "chunked"}, "f4241\r\n", 413, "The body has more than 1000000 bytes"),
])  # fmt: skip
def test_bodies_that_are_not_read(http_client, headers, body, status, text):
    http_client.putrequest("POST", "/v1/models/half:predict")
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        if name != "Content-Length" or "Transfer-Encoding" not in headers:
            http_client.putheader(name, value)
    http_client.endheaders(body.encode() if isinstance(body, str) else body)
    reply = http_client.getresponse()
    assert reply.status == status
    assert json.loads(reply.read())["error"].startswith(text)
    assert reply.headers["Connection"] == "close"


def test_paths_that_are_not_of_the_interface(http_client):
    assert ask(http_client, "GET", "/v2/models/half") == (404, "text/plain", b"Not Found")


def test_metrics(http_client):
    ask(http_client, "POST", "/v1/models/half:predict", BODY)
    ask(http_client, "POST", "/v1/models/half:predict", "")
    status, kind, body = ask(http_client, "GET", "/monitoring/prometheus/metrics")
    assert (status, kind) == (200, "text/plain")
    lines = dict(line.rsplit(" ", 1) for line in body.decode().splitlines() if line[0] == ":")
    count = ':tensorflow:serving:request_count{model_name="half",status="%s"}'
    assert int(lines[count % "OK"]) >= 1 and int(lines[count % "INVALID_ARGUMENT"]) >= 1
    labels = '{model_name="half",API="Predict",entrypoint="REST"%s}'
    latency = ":tensorflow:serving:request_latency"
    assert lines[latency + "_count" + labels % ""] == lines[latency + "_bucket" + labels % ',le="+Inf"']
    assert latency + "_bucket" + labels % ',le="18"' in lines
    assert int(lines[":tensorflow:core:graph_runs"]) >= 1


def test_a_server_that_stops_answers_what_is_under_way():
    class Slow:
        def __init__(self):
            self.begun, self.go_on = threading.Event(), threading.Event()

        def answer(self, method, path, body):
            self.begun.set()
            self.go_on.wait()
            return Reply(200, "text/plain", b"done")

    slow = Slow()
    server = HttpServer(("127.0.0.1", 0), slow)
    server.start()
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("GET", "/v1/x")
    slow.begun.wait()
    stopping = threading.Thread(target=server.stop)
    stopping.start()
    slow.go_on.set()
    reply = connection.getresponse()
    assert reply.read() == b"done"
    connection.close()
    stopping.join()
    with pytest.raises(ConnectionError):
        http.client.HTTPConnection("127.0.0.1", server.port).request("GET", "/v1/x")


# ---- gRPC ----


@pytest.mark.parametrize("which, version", [({}, 3), ({"version": 2}, 2), ({"label": "stable"}, 2)])
def test_predict(prediction, values, which, version):
    reply = prediction.Predict(model_spec=spec(**which), inputs={"x": tensor(X, np.float32)})
    assert list(reply.outputs["y"].float_val) == np.float32(values["half_plus"][str(version)]["y"]).tolist()
    assert reply.model_spec == spec(signature="serving_default", version=version)


def test_predict_with_every_type(prediction, values):
    outputs = prediction.Predict(model_spec=spec("types"), inputs=typed_inputs()).outputs
    assert sorted(outputs) == sorted(TYPES)
    fields = {"f": "float_val", "d": "double_val", "l": "int64_val", "b": "bool_val", "s": "string_val", "s_bytes": "string_val"}
    for key, dtype in DTYPES.items():
        assert len(getattr(outputs[key], fields.get(key, "int_val"))) == np.size(TYPES[key])  # typed fields, as TensorFlow Serving's
        found, wanted = wire.from_proto(outputs[key]), values["types"][key]
        if dtype is np.object_:
            assert [v.hex() for v in found.tolist()] == wanted
        else:
            np.testing.assert_array_equal(found, np.array(wanted, dtype))


def test_an_output_filter_picks_outputs(prediction):
    inputs = typed_inputs()
    reply = prediction.Predict(model_spec=spec("types"), inputs=inputs, output_filter=["i", "b"])
    assert sorted(reply.outputs) == ["b", "i"]
    code, text = status_of(prediction.Predict, model_spec=spec("types"), inputs=inputs, output_filter=["z"])
    assert (code, text.partition(" Outputs")[0]) == ("INVALID_ARGUMENT", "output tensor alias not found in signature: z")
    wanted = "INVALID_ARGUMENT", "duplicate output tensor alias: i"
    assert status_of(prediction.Predict, model_spec=spec("types"), inputs=inputs, output_filter=["i", "i"]) == wanted


@pytest.mark.parametrize("model_spec, inputs, code, text", [
    (spec(signature="s"), {}, "FAILED_PRECONDITION", 'Serving signature key "s" not found.'),
    (spec("none"), {}, "NOT_FOUND", "Servable not found for request: Latest(none)"),
    (spec(version=50), {}, "NOT_FOUND", "Servable not found for request: Specific(half, 50)"),
    (spec(label="canary"), {}, "INVALID_ARGUMENT", "Unrecognized servable version label: canary"),
    (spec(""), {}, "INVALID_ARGUMENT", "ModelSpec has no name specified."),
    (spec(), {}, "INVALID_ARGUMENT",
     "input size does not match signature: 0!=1 len({}) != len({x}). Sent extra: {}. Missing but required: {x}."),
    (spec(), {"z": tensor(1.0, np.float32)}, "INVALID_ARGUMENT",
     "input size does not match signature: 1!=1 len({z}) != len({x}). Sent extra: {z}. Missing but required: {x}."),
    (spec(), {"x": tensor([1], np.int32)}, "INVALID_ARGUMENT", "Expects arg[0] to be float but int32 is provided"),
])  # fmt: skip
def test_texts_of_errors_of_predict(prediction, model_spec, inputs, code, text):
    assert status_of(prediction.Predict, model_spec=model_spec, inputs=inputs) == (code, text)


def test_a_malformed_tensor_is_refused(prediction):
    broken = messages.TensorProto(dtype=1, tensor_content=b"123")
    broken.tensor_shape.dim.add(size=10**6)
    assert status_of(prediction.Predict, model_spec=spec(), inputs={"x": broken})[0] == "INVALID_ARGUMENT"
    bomb = messages.TensorProto(dtype=1, float_val=[1.0])
    bomb.tensor_shape.dim.add(size=2**40)
    wanted = "INVALID_ARGUMENT", f"The inputs have {2**40} elements; this server takes {2**26} at most (max_request_elements)"
    assert status_of(prediction.Predict, model_spec=spec(), inputs={"x": bomb}) == wanted
    broken = messages.TensorProto(dtype=1, float_val=[1.0])
    for _ in range(300):
        broken.tensor_shape.dim.add(size=10**6)
    assert status_of(prediction.Predict, model_spec=spec(), inputs={"x": broken})[0] == "INVALID_ARGUMENT"


def test_classify_regress_and_both(prediction, values):
    wanted = values["half_plus"]["3"]
    classified = prediction.Classify(model_spec=spec(signature="classify"), input=examples())
    regressed = prediction.Regress(model_spec=spec(signature="regress"), input=examples())
    assert [[c.label for c in row.classes] for row in classified.result.classifications] == wanted["classes"]
    assert [[c.score for c in row.classes] for row in classified.result.classifications] == wanted["scores"]
    assert [each.value for each in regressed.result.regressions] == wanted["regress"]
    assert regressed.model_spec == spec(signature="regress", version=3)
    tasks = [
        serving.InferenceTask(model_spec=spec(signature="regress"), method_name="tensorflow/serving/regress"),
        serving.InferenceTask(model_spec=spec(signature="classify"), method_name="tensorflow/serving/classify"),
    ]
    both = prediction.MultiInference(tasks=tasks, input=examples()).results
    assert [both[0].regression_result, both[1].classification_result] == [regressed.result, classified.result]
    assert [each.model_spec for each in both] == [regressed.model_spec, classified.model_spec]


@pytest.mark.parametrize("tasks, text", [
    ([("half", "regress", "regress"), ("other", "regress", "regress")],
     "All ModelSpecs in a MultiInferenceRequest must access the same model name."),
    ([("half", "regress", "regress")] * 2, "Duplicate evaluation of signature: regress"),
    ([("half", "none", "regress")], "Requested signature not found in model graph: none"),
    ([("half", "regress", "predict")], "Unsupported signature method_name: tensorflow/serving/predict"),
    ([("half", "regress", "classify")],
     "Expected classification signature method_name to be tensorflow/serving/classify. Was: tensorflow/serving/regress"),
])  # fmt: skip
def test_texts_of_errors_of_multi_inference(prediction, tasks, text):
    made = [serving.InferenceTask(model_spec=spec(name, signature), method_name=f"tensorflow/serving/{method}") for name, signature, method in tasks]
    assert status_of(prediction.MultiInference, tasks=made, input=examples())[1] == text


def test_texts_of_errors_of_classify(prediction):
    wanted = "INVALID_ARGUMENT", "No signature was found with the name: s"
    assert status_of(prediction.Classify, model_spec=spec(signature="s"), input=examples()) == wanted
    assert status_of(prediction.Classify, model_spec=spec(signature="classify")) == ("INVALID_ARGUMENT", "Input is empty.")


def test_metadata(prediction):
    reply = prediction.GetModelMetadata(model_spec=spec(), metadata_field=["signature_def"])
    assert reply.model_spec == spec(version=3)
    assert reply.metadata["signature_def"].type_url == "type.googleapis.com/tensorflow.serving.SignatureDefMap"
    found = serving.SignatureDefMap.FromString(reply.metadata["signature_def"].value).signature_def
    assert found["regress"].outputs["outputs"].name == "of_examples:0"
    wanted = "INVALID_ARGUMENT", "Metadata field graph is not supported"
    assert status_of(prediction.GetModelMetadata, model_spec=spec(), metadata_field=["graph"]) == wanted


def test_status(model):
    found = model.GetModelStatus(model_spec=spec()).model_version_status
    assert [(v.version, v.state, v.status.error_code) for v in found] == [(3, 30, 0), (2, 30, 0)]
    assert status_of(model.GetModelStatus) == ("INVALID_ARGUMENT", "Missing ModelSpec")
    assert status_of(model.GetModelStatus, model_spec=spec("none")) == ("NOT_FOUND", "Could not find any versions of model none")


def test_a_reload_that_contradicts_itself_changes_nothing(model):
    config = serving.ModelServerConfig()
    for _ in range(2):
        config.model_config_list.config.add(name="half", base_path="/nowhere", model_platform="tensorflow")
    reply = model.HandleReloadConfigRequest(config=config)
    assert (reply.status.error_code, reply.status.error_message) == (3, "Illegal to list model half multiple times in config list")
    assert model.HandleReloadConfigRequest().status.error_message == "ServerModelConfig needs to be of type model_config_list"
    assert len(model.GetModelStatus(model_spec=spec()).model_version_status) == 2


def test_health(server):
    client = Client(server.grpc.port, grpc_server.HEALTH)
    for service in ("", "ModelService", "PredictionService"):
        assert client.Check(service=service).status == 1
    assert status_of(client.Check, service="other")[0] == "NOT_FOUND"
    client.close()


def test_a_method_that_the_server_lacks(server):
    client = Client(server.grpc.port, "tensorflow.serving.SessionService")
    assert status_of(client.SessionRun)[0] == "UNIMPLEMENTED"
    client.close()


def test_large_tensors_travel(prediction):
    x = np.arange(3 * 10**6, dtype=np.float32)  # 12 MB: more than what gRPC takes by default
    reply = prediction.Predict(model_spec=spec(version=2), inputs={"x": tensor(x, np.float32)})
    np.testing.assert_array_equal(wire.from_proto(reply.outputs["y"]), x / 2 + 2)
