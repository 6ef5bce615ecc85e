"""The REST interface: forms of requests, replies to the byte, and texts of errors as TensorFlow Serving's sources have them."""

import base64
import json
import math

import numpy as np
import pytest
from serving_golden import TYPES, X

from tfcompat._src.serving import json_replies
from tfcompat._src.serving.rest import RestApi


@pytest.fixture(scope="module")
def api(server):
    return RestApi(server.manager, 30)


def post(api, path, document, status=200):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    reply = api.answer("POST", "/v1/models/" + path, body)
    assert (reply.status, reply.content_type) == (status, "application/json"), reply.body
    return reply.body.decode()


def error(api, path, document, status=400):
    found = json.loads(post(api, path, document, status))
    assert list(found) == ["error"]
    return found["error"]


def get(api, path, status=200):
    reply = api.answer("GET", "/v1/models" + path, b"")
    assert reply.status == status
    return json.loads(reply.body)


# ---- predict ----


@pytest.mark.parametrize("path, version", [
    ("half:predict", "3"), ("half/versions/2:predict", "2"), ("half/versions/3:predict", "3"), ("half/labels/stable:predict", "2"),
    ("half:PREDICT", "3"),
])  # fmt: skip
def test_predict_gives_the_values_of_session_run(api, values, path, version):
    wanted = np.float32(values["half_plus"][version]["y"])
    for document in ({"instances": X}, {"instances": [{"x": v} for v in X]}, {"signature_name": "serving_default", "instances": X}):
        found = json.loads(post(api, path, document))
        np.testing.assert_array_equal(np.float32(found["predictions"]), wanted)
    for document in ({"inputs": X}, {"inputs": {"x": X}}):
        np.testing.assert_array_equal(np.float32(json.loads(post(api, path, document))["outputs"]), wanted)


def test_replies_are_laid_out_as_those_of_tensorflow_serving(api):
    assert post(api, "half:predict", {"instances": [1, 2.0]}) == '{\n    "predictions": [3.5, 4.0\n    ]\n}'
    assert post(api, "half:predict", {"inputs": [1, 2.0]}) == '{\n    "outputs": [\n        3.5,\n        4.0\n    ]\n}'


def _typed():
    given = {key: value for key, value in TYPES.items() if key != "s_bytes"}
    return {**given, "s_bytes": [{"b64": base64.b64encode(v).decode()} for v in TYPES["s_bytes"]]}


def _check_typed(outputs, wanted):
    for key in ("i", "l", "u", "b", "s"):
        assert outputs[key] == wanted[key]
    for key, dtype in (("f", np.float32), ("d", np.float64)):
        np.testing.assert_array_equal(np.array(outputs[key], dtype), np.array(wanted[key], dtype))
    assert [base64.b64decode(v["b64"]).hex() for v in outputs["s_bytes"]] == wanted["s_bytes"]


def test_every_type_in_columns(api, values):
    wanted = {**values["types"], "s": [bytes.fromhex(v).decode() for v in values["types"]["s"]]}
    _check_typed(json.loads(post(api, "types:predict", {"inputs": _typed()}))["outputs"], wanted)


def test_every_type_in_rows(api, values):
    wanted = {**values["types"], "s": [bytes.fromhex(v).decode() for v in values["types"]["s"]]}
    given = _typed()
    rows = json.loads(post(api, "types:predict", {"instances": [{key: given[key][i] for key in given} for i in range(2)]}))["predictions"]
    _check_typed({key: [row[key] for row in rows] for key in given}, wanted)


def test_numbers_that_json_lacks(api):
    body = b'{"instances": [NaN, Infinity, -Infinity, 1e39]} what follows is ignored'
    assert post(api, "half:predict", body) == '{\n    "predictions": [NaN, Infinity, -Infinity, Infinity\n    ]\n}'


@pytest.mark.parametrize("value, text", [
    (0.2, "0.2"), (1 / 3, "0.333333343"), (9e6, "9e+06"), (3e-5, "3e-05"), (16777216.0, "16777216.0"), (-0.0, "-0.0"), (100.0, "100.0"),
])  # fmt: skip
def test_floats_are_as_short_as_they_can_be(value, text):
    assert json_replies.columns({"y": np.float32(value).reshape(())}).decode() == '{\n    "outputs": %s\n}' % text
    written = json.loads(json_replies.rows({"y": np.full(1, value)}))["predictions"][0]
    assert written == value and math.copysign(1, written) == math.copysign(1, value)


def test_an_output_without_rows_is_refused_in_row_form(api):
    with pytest.raises(Exception, match="Tensor name: y has no shape information "):
        json_replies.rows({"y": np.float32(1).reshape(())})
    with pytest.raises(Exception, match="Tensor name: z has inconsistent batch size: 3 expecting: 2"):
        json_replies.rows({"y": np.zeros(2), "z": np.zeros(3)})
    with pytest.raises(Exception, match="Failed to write JSON value for tensor type: complex64"):
        json_replies.columns({"y": np.zeros(2, np.complex64)})
    with pytest.raises(Exception, match="Failed to write JSON value for tensor type: half"):
        json_replies.columns({"y": np.zeros(2, np.float16)})


PROCESS = "Failed to process element: %s of 'instances' list. Error: INVALID_ARGUMENT: %s"


@pytest.mark.parametrize("document, text", [
    (b"", "JSON Parse error: The document is empty"),
    (b"instances = [1, 2]", "JSON Parse error: Invalid value. at offset: 0"),
    (b'{"instances": [1, }', "JSON Parse error: Invalid value. at offset: 18"),
    (b'{"instances" [1]}', "JSON Parse error: Missing a colon after a name of object member. at offset: 13"),
    (b"[" * 100000, "JSON Parse error: Lists and objects are nested too deeply."),
    (b'{"instances": [\xff]}', "JSON Parse error: Invalid encoding in string. at offset: 15"),
    ([1], "JSON Value: [1] Is not object"),
    ({}, "Missing 'inputs' or 'instances' key"),
    ({"signature_name": "none", "instances": [1]}, 'Serving signature name: "none" not found in signature def'),
    ({"instances": ["x", "y"]}, PROCESS % (0, 'JSON Value: "x" Type: String is not of expected type: float')),
    ({"instances": [1, [1]]}, PROCESS % (1, "Expecting shape [] but got: [1]")),
    ({"instances": [[1, 2], [3]]}, PROCESS % (1, "Expecting tensor size: 2 but got: 1")),
    ({"instances": [[1, 2], [[3, 4]]]}, PROCESS % (1, "Expecting shape [2] but got: [1,2]")),
    ({"instances": [[1, [2]]]}, PROCESS % (0, "Encountered list at unexpected level: 1 expected < 1")),
    ({"instances": [[[1, 2], [3]]]}, PROCESS % (0, "Encountered list at unexpected size: 1 at level: 1 expected size: 2")),
    ({"instances": [[[1], 2]]}, PROCESS % (0, "JSON Value: 2 found at incorrect level: 2 in the JSON DOM. Expected at level: 2")),
    ({"instances": [{"age": 1}]}, PROCESS % ("0 key: age", "JSON object: does not have named input: age")),
    ({"instances": [{"x": 1}, 2]}, "Expecting object but got list at item 1 of input list"),
    ({"instances": [2, {"x": 1}]}, "Expecting value/list but got object at item 1 of input list"),
    ({"inputs": {"y": 1}}, "Missing named input: x in 'inputs' object."),
    ({"instances": [[1.0, 2.0], [3.0, 4.0]]}, "Cannot feed value of shape (2, 2) for Tensor 'x:0', which has shape '(?,)'"),
])  # fmt: skip
def test_texts_of_errors(api, document, text):
    assert error(api, "half:predict", document) == text


@pytest.mark.parametrize("depth", [40, 70, 500, 950])
def test_values_of_many_dimensions_are_refused(api, depth):
    for key in ("instances", "inputs"):
        error(api, "half:predict", b'{"%s": %s1%s}' % (key.encode(), b"[" * depth, b"]" * depth))


@pytest.mark.parametrize("document, text", [
    ({"signature_name": 5}, "not formatted correctly. 'signature_name' key must be a string value."),
    ({"instances": [1], "inputs": [1]}, "Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist "),
    ({"instances": 1}, "Expecting 'instances' to be an list/array"),
    ({"instances": []}, "No values in 'instances' array"),
])  # fmt: skip
def test_texts_of_errors_show_the_document(api, document, text):
    found = error(api, "half:predict", document)
    assert found.startswith('JSON Value: {\n    "') and found.endswith(text)


@pytest.mark.parametrize("key, value, text", [
    ("i", 1.0, "JSON Value: 1.0 Type: Number is not of expected type: int32"),
    ("i", 2**31, "JSON Value: 2147483648 Type: Number is not of expected type: int32"),
    ("l", 2**63, "JSON Value: 9223372036854775808 Type: Number is not of expected type: int64"),
    ("b", 1, "JSON Value: 1 Type: Number is not of expected type: bool"),
    ("f", True, "JSON Value: true Type: True is not of expected type: float"),
    ("d", None, "JSON Value: null Type: Null is not of expected type: double"),
    ("s", 1, "JSON Value: 1 Type: Number is not of expected type: string"),
    ("s", {"b64": "*"}, "Unable to base64 decode"),
])  # fmt: skip
def test_values_of_other_types(api, key, value, text):
    assert error(api, "types:predict", {"inputs": {**_typed(), key: value}}) == text


def test_several_inputs_need_names(api):
    assert error(api, "types:predict", {"instances": [1]}) == (
        "instances is a plain list, but expecting list of objects as multiple input tensors required as per tensorinfo_map"
    )
    assert error(api, "types:predict", {"inputs": [1]}) == (
        "inputs is a plain value/list, but expecting an object as multiple input tensors required as per tensorinfo_map"
    )
    assert error(api, "types:predict", {"instances": [{"i": 1}]}) == (
        "Failed to process element: 0 of 'instances' list. JSON object: {\n    \"i\": 1\n} keys must be equal to: b,d,f,i,l,s,s_bytes,u"
    )


# ---- classify, regress ----


@pytest.mark.parametrize("path, version", [("half", "3"), ("half/versions/2", "2"), ("half/labels/stable", "2")])
def test_regress_and_classify(api, values, path, version):
    wanted = values["half_plus"][version]
    examples = [{"x": 80.0}, {"x": [20.0]}, {"x": 0.1}]
    found = json.loads(post(api, path + ":regress", {"signature_name": "regress", "examples": examples}))
    np.testing.assert_array_equal(np.float32(found["results"]), np.float32(wanted["regress"]))
    found = json.loads(post(api, path + ":classify", {"signature_name": "classify", "examples": examples}))["results"]
    assert [[label for label, _ in row] for row in found] == wanted["classes"]
    np.testing.assert_array_equal(np.float32([[score for _, score in row] for row in found]), np.float32(wanted["scores"]))


def test_layout_of_results(api):
    assert post(api, "half:regress", {"signature_name": "regress", "examples": [{"x": 2.0}, {"x": 4.0}]}) == '{\n    "results": [4.0, 5.0]\n}'
    found = post(api, "half:classify", {"signature_name": "scores", "examples": [{"x": 2.0}, {"x": 4.0}]})
    assert found == '{\n    "results": [[["", 4.0], ["", -4.0]], [["", 5.0], ["", -5.0]]\n    ]\n}'


def test_a_context_gives_what_examples_lack(api):
    document = {"signature_name": "regress", "context": {"x": 2.0}, "examples": [{}, {"x": 4.0}]}
    assert json.loads(post(api, "half:regress", document))["results"] == [4.0, 5.0]


@pytest.mark.parametrize("document, text", [
    ({"examples": [{"x": 1.0}]}, "Expected regression signature method_name to be tensorflow/serving/regress. Was: tensorflow/serving/predict"),
    ({"signature_name": "none", "examples": [{"x": 1.0}]}, "No signature was found with the name: none"),
    ({"signature_name": "regress", "examples": [1]}, "Example must be JSON object but got JSON Number"),
    ({"signature_name": "regress", "examples": [{"x": None}]}, "Feature: x has element with unexpected JSON type: Null"),
    ({"signature_name": "regress", "examples": [{"x": [[1.0]]}]}, "Feature: x has element with unexpected JSON type: Array"),
    ({"signature_name": "regress", "examples": [{"x": [1.0, 2]}]}, "Unexpected element type in feature: x expecting type: float"),
    ({"signature_name": "regress", "examples": [{"x": 2**63}]}, "Feature: x has uint64_t element. Only int64_t is supported."),
])  # fmt: skip
def test_texts_of_errors_of_regress(api, document, text):
    assert error(api, "half:regress", document) == text


@pytest.mark.parametrize("document, text", [
    ({"signature_name": "regress"}, "When method is classify, key 'examples' is expected and was not found"),
    ({"examples": {}}, "Expecting 'examples' value to be an list/array"),
    ({"examples": []}, "'examples' value is an empty array"),
])  # fmt: skip
def test_examples_are_a_list(api, document, text):
    assert error(api, "half:classify", document).endswith(text)


# ---- paths, status, metadata ----


@pytest.mark.parametrize("method, path", [
    ("GET", "/v1/foo"), ("POST", "/v1/foo"), ("GET", "/v1/models/foo:predict"), ("GET", "/v1/models/foo/version/50:predict"),
    ("POST", "/v1/models/foo/version/50:regress"), ("POST", "/v1/models/foo/versions/HELLO:regress"), ("POST", "/v1/models/foo/metadata"),
    ("POST", "/v1/models/foo/label/l:regress"), ("POST", "/v1/models/foo/versions/50/labels/l:regress"), ("POST", "/v1/models"),
    ("PUT", "/v1/models/foo:predict"),
])  # fmt: skip
def test_malformed_paths(api, method, path):
    reply = api.answer(method, path, b"")
    assert reply.status == 400
    assert json.loads(reply.body) == {"error": f"Malformed request: {method} {path}"}


def test_versions_that_are_not_there(api):
    assert error(api, "foo:predict", {"instances": [1]}, 404) == "Servable not found for request: Latest(foo)"
    assert error(api, "foo/versions/50:predict", {"instances": [1]}, 404) == "Servable not found for request: Specific(foo, 50)"
    assert error(api, "half/labels/canary:predict", {"instances": [1]}) == "Unrecognized servable version label: canary"
    number = 2**64 - 1
    assert error(api, f"half/versions/{number}:predict", {}) == f"Failed to convert version: {number} to numeric."
    assert get(api, "/foo", 404) == {"error": "Could not find any versions of model foo"}
    assert get(api, "/half/versions/9", 404) == {"error": "Could not find version 9 of model half"}
    assert get(api, "", 400) == {"error": "Missing model name in request."}


def test_status(api):
    ok = {"error_code": "OK", "error_message": ""}
    states = [{"version": number, "state": "AVAILABLE", "status": ok} for number in ("3", "2")]
    assert get(api, "/half") == {"model_version_status": states}
    assert get(api, "/half/versions/3") == {"model_version_status": states[:1]}
    assert get(api, "/half/labels/stable") == {"model_version_status": states[1:]}


def test_metadata(api):
    found = get(api, "/half/versions/2/metadata")
    assert found["model_spec"] == {"name": "half", "signature_name": "", "version": "2"}
    signatures = found["metadata"]["signature_def"]["signature_def"]
    assert sorted(signatures) == ["classify", "regress", "scores", "serving_default"]
    x = {"dtype": "DT_FLOAT", "name": "x:0", "tensor_shape": {"dim": [{"size": "-1", "name": ""}], "unknown_rank": False}}
    y = {**x, "name": "y:0"}
    assert signatures["serving_default"] == {"inputs": {"x": x}, "outputs": {"y": y}, "method_name": "tensorflow/serving/predict"}
