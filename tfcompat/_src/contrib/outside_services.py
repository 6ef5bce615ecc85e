"""Names of tf.contrib that speak to services and libraries outside of TensorFlow; each says what does that today."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.data.dataset_v1 import DatasetV1
from tfcompat._src.ops.queues.readers import ReaderBase
from tfcompat._src.platform import load_library
from tfcompat._src.train.session_run_hook import SessionRunHook

if TYPE_CHECKING:
    from types import ModuleType


def _absent(name: str, what: str, instead: str) -> NotImplementedError:
    return NotImplementedError(f"tf.contrib.{name} is not built: tfcompat has no {what}. Use {instead}.")


_CLOUD = ("client of Google Cloud", "the package google-cloud-bigquery in tf.data.Dataset.from_generator")
_TABLE = ("client of Cloud Bigtable", "the package google-cloud-bigtable in tf.data.Dataset.from_generator")
_GCS = ("file system of Google Cloud Storage", "the package gcsfs, or copy the files first (gsutil cp)")


@export("contrib.cloud.BigQueryReader")
class BigQueryReader(ReaderBase):
    """A reader of BigQuery tables; making one raises NotImplementedError."""

    def __init__(
        self, project_id: str, dataset_id: str, table_id: str, timestamp_millis: int, num_partitions: int,
        features: Any = None, columns: Any = None, test_end_point: str | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        raise _absent("cloud.BigQueryReader", *_CLOUD)


@export("contrib.cloud.BlockCacheParams")
class BlockCacheParams:
    """Sizes of the cache of Google Cloud Storage.

    Args:
      block_size, max_bytes: bytes, by default 128 MiB and twice a block.
      max_staleness: seconds, by default 0.
    """

    def __init__(self, block_size: int | None = None, max_bytes: int | None = None, max_staleness: int | None = None) -> None:
        self.block_size = block_size or 128 * 1024 * 1024
        self.max_bytes = max_bytes or 2 * self.block_size
        self.max_staleness = max_staleness or 0


@export("contrib.cloud.ConfigureGcsHook")
class ConfigureGcsHook(SessionRunHook):
    """A hook that sets up Google Cloud Storage; making one raises NotImplementedError."""

    def __init__(self, credentials: Any = None, block_cache: Any = None) -> None:
        raise _absent("cloud.ConfigureGcsHook", *_GCS)


@export("contrib.cloud.configure_gcs")
def configure_gcs(session: SessionLike, credentials: Any = None, block_cache: Any = None, device: Any = None) -> Any:
    """Sets up Google Cloud Storage; raises NotImplementedError."""
    raise _absent("cloud.configure_gcs", *_GCS)


@export("contrib.cloud.configure_colab_session")
def configure_colab_session(session: SessionLike) -> None:
    """Sets up Google Cloud Storage in a notebook; raises NotImplementedError."""
    raise _absent("cloud.configure_colab_session", *_GCS)


@export("contrib.bigtable.BigtableClient", "contrib.cloud.BigtableClient")
class BigtableClient:
    """A client of Cloud Bigtable; making one raises NotImplementedError."""

    def __init__(
        self, project_id: str, instance_id: str, connection_pool_size: int | None = None,
        max_receive_message_size: int | None = None,
    ) -> None:  # fmt: skip
        raise _absent("bigtable.BigtableClient", *_TABLE)


@export("contrib.bigtable.BigtableTable", "contrib.cloud.BigtableTable")
class BigtableTable:
    """A table of Cloud Bigtable; making one raises NotImplementedError."""

    def __init__(self, name: str, snapshot: Any, resource: Any) -> None:
        raise _absent("bigtable.BigtableTable", *_TABLE)


@export("contrib.kafka.KafkaDataset")
class KafkaDataset(DatasetV1):
    """Messages of Kafka; making one raises NotImplementedError."""

    def __init__(self, topics: Any, servers: str = "localhost", group: str = "", eof: bool = False, timeout: int = 1000) -> None:
        raise _absent("kafka.KafkaDataset", "client of Kafka", "the package kafka-python in tf.data.Dataset.from_generator")


@export("contrib.kinesis.KinesisDataset")
class KinesisDataset(DatasetV1):
    """Records of Kinesis; making one raises NotImplementedError."""

    def __init__(self, stream: str, shard: str = "", read_indefinitely: bool = True, interval: int = 100000) -> None:
        raise _absent("kinesis.KinesisDataset", "client of Kinesis", "the package boto3 in tf.data.Dataset.from_generator")


@export("contrib.ignite.IgniteDataset")
class IgniteDataset(DatasetV1):
    """A cache of Ignite; making one raises NotImplementedError."""

    def __init__(
        self, cache_name: str, host: str = "localhost", port: int = 10800, local: bool = False, part: int = -1,
        page_size: int = 100, username: str | None = None, password: str | None = None, certfile: str | None = None,
        keyfile: str | None = None, cert_password: str | None = None,
    ) -> None:  # fmt: skip
        raise _absent("ignite.IgniteDataset", "client of Ignite", "the package pyignite in tf.data.Dataset.from_generator")


_SERIALIZED = "tf.py_func with a gRPC stub of the package grpcio"


@export("contrib.rpc.rpc")
def rpc(
    address: Any, method: Any, request: Any, protocol: str = "", fail_fast: bool = True, timeout_in_ms: int = 0,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Remote procedure calls of a graph; raises NotImplementedError."""
    raise _absent("rpc.rpc", "operation that makes remote procedure calls", _SERIALIZED)


@export("contrib.rpc.try_rpc")
def try_rpc(
    address: Any, method: Any, request: Any, protocol: str = "", fail_fast: bool = True, timeout_in_ms: int = 0,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Remote procedure calls of a graph, with their status; raises NotImplementedError."""
    raise _absent("rpc.try_rpc", "operation that makes remote procedure calls", _SERIALIZED)


@export("contrib.tensorrt.create_inference_graph", "contrib.tensorrt.trt_convert.create_inference_graph")
def create_inference_graph(
    input_graph_def: Any, outputs: Any, max_batch_size: int = 1, max_workspace_size_bytes: int = 1 << 30,
    precision_mode: str = "FP32", minimum_segment_size: int = 3, is_dynamic_op: bool = False,
    maximum_cached_engines: int = 1, input_saved_model_dir: str | None = None, input_saved_model_tags: Any = None,
    output_saved_model_dir: str | None = None, session_config: Any = None,
) -> Any:  # fmt: skip
    """A graph with parts that TensorRT runs; raises NotImplementedError."""
    raise _absent(
        "tensorrt.create_inference_graph", "TensorRT",
        "the graph as it is, which is compiled for the GPU, or tf2onnx and TensorRT's own tools",
    )  # fmt: skip


@export("contrib.remote_fused_graph.pylib.remote_fused_graph_execute")
def remote_fused_graph_execute(
    inputs: Any, output_types: Any, graph_def: Any, graph_input_node_names: Any, graph_output_node_names: Any,
    executor_name: str, serialized_executor_parameters: Any, default_graph_input_tensor_type_shapes: Any = None,
    default_graph_output_tensor_type_shapes: Any = None,
) -> Any:  # fmt: skip
    """A graph that another processor runs; raises NotImplementedError."""
    raise _absent(
        "remote_fused_graph.pylib.remote_fused_graph_execute", "executor of remote graphs", "tf.import_graph_def of the graph"
    )


_AUDIO = ("binding to ffmpeg", "the program ffmpeg, or the package soundfile, in tf.py_func or tf.data.Dataset.from_generator")


@export("contrib.ffmpeg.decode_audio")
def decode_audio(
    contents: Any, file_format: Any = None, samples_per_second: Any = None, channel_count: Any = None, stream: Any = None
) -> Any:
    """The samples of a sound file; raises NotImplementedError."""
    raise _absent("ffmpeg.decode_audio", *_AUDIO)


@export("contrib.ffmpeg.encode_audio")
def encode_audio(audio: Any, file_format: Any = None, samples_per_second: Any = None) -> Any:
    """A sound file of samples; raises NotImplementedError."""
    raise _absent("ffmpeg.encode_audio", *_AUDIO)


@export("contrib.ffmpeg.decode_video")
def decode_video(contents: Any) -> Any:
    """The frames of a film; raises NotImplementedError."""
    raise _absent("ffmpeg.decode_video", *_AUDIO)


@export("contrib.fused_conv.fused_conv2d_bias_activation")
def fused_conv2d_bias_activation(
    conv_input: Any, filter: Any, bias: Any, strides: Any = None, padding: Any = None, conv_input_scale: float = 1.0,
    side_input_scale: float = 0.0, side_input: Any = None, activation_mode: str = "Relu", data_format: Any = None,
    filter_format: Any = None, name: str | None = None,
) -> Any:  # fmt: skip
    """cuDNN's fused convolution; raises NotImplementedError."""
    raise _absent(
        "fused_conv.fused_conv2d_bias_activation", "operation of cuDNN",
        "tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(...), bias)), which is compiled to one kernel",
    )  # fmt: skip


@export("contrib.util.loader.load_op_library", "contrib.nearest_neighbor.loader.load_op_library", "contrib.slim.loader.load_op_library")
def load_op_library(path: object) -> ModuleType:
    """`tf.load_op_library` of a package's file, which says why compiled operations cannot be used."""
    return load_library.load_op_library(path)
