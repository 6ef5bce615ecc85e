"""`tensorflow_serving.apis` under `tfcompat run`: programs that ask a server run unchanged, also as a server of their own."""

import children

PROGRAM = """
from concurrent import futures
import grpc
import tensorflow as tf
from tensorflow_serving.apis import model_service_pb2_grpc, predict_pb2, prediction_service_pb2_grpc
from tensorflow_serving.apis.classification_pb2 import ClassificationRequest
from tensorflow_serving.config import model_server_config_pb2
import tensorflow_serving.apis.prediction_service_pb2 as prediction_service_pb2

class Service(prediction_service_pb2_grpc.PredictionServiceServicer):
    def Predict(self, request, context):
        reply = predict_pb2.PredictResponse()
        reply.outputs["y"].CopyFrom(tf.make_tensor_proto(2 * tf.make_ndarray(request.inputs["x"])))
        return reply

server = grpc.server(futures.ThreadPoolExecutor(1))
prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(Service(), server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
channel = grpc.insecure_channel("127.0.0.1:%d" % port)
stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
request = predict_pb2.PredictRequest()
request.model_spec.name = "m"
request.inputs["x"].CopyFrom(tf.contrib.util.make_tensor_proto([1.0, 2.5], shape=[2]))
print(tf.make_ndarray(stub.Predict(request, 60.0).outputs["y"]).tolist())
try:
    stub.Classify(ClassificationRequest())
except grpc.RpcError as e:
    print(e.code(), e.details())
assert prediction_service_pb2.DESCRIPTOR.services_by_name["PredictionService"].full_name == "tensorflow.serving.PredictionService"
assert model_server_config_pb2.ModelServerConfig().model_config_list.config.add(name="m").name == "m"
assert model_service_pb2_grpc.ModelServiceStub(channel).GetModelStatus
channel.close()
server.stop(None).wait()
try:
    import tensorflow_serving.apis.nothing_pb2
except ImportError as e:
    print(e)
"""


def test_programs_that_ask_and_answer(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = children.warm(*children.RUN, "program.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["[2.0, 5.0]", "StatusCode.UNIMPLEMENTED Method not implemented!"]
    assert "tensorflow_serving.apis.nothing_pb2" in lines[2]
