"""Message definitions of `tensorflow_serving`: requests, replies, services and settings of TensorFlow Serving; and gRPC's health service."""

DEFINITIONS = """\
file tensorflow_serving/apis/classification.proto package tensorflow.serving
  message Class
    label: string = 1, score: float = 2
  message Classifications
    classes: Class* = 1
  message ClassificationResult
    classifications: Classifications* = 1
  message ClassificationRequest
    model_spec: ModelSpec = 1, input: Input = 2
  message ClassificationResponse
    model_spec: ModelSpec = 2, result: ClassificationResult = 1

file tensorflow_serving/apis/get_model_metadata.proto package tensorflow.serving
  message SignatureDefMap
    signature_def: {string: SignatureDef} = 1
  message GetModelMetadataRequest
    model_spec: ModelSpec = 1, metadata_field: string* = 2
  message GetModelMetadataResponse
    model_spec: ModelSpec = 1, metadata: {string: google.protobuf.Any} = 2

file tensorflow_serving/apis/get_model_status.proto package tensorflow.serving
  message GetModelStatusRequest
    model_spec: ModelSpec = 1
  message ModelVersionStatus
    version: int64 = 1, state: State = 2, status: StatusProto = 3
    enum State
      UNKNOWN = 0, START = 10, LOADING = 20, AVAILABLE = 30, UNLOADING = 40, END = 50
  message GetModelStatusResponse
    model_version_status: ModelVersionStatus* = 1

file tensorflow_serving/apis/inference.proto package tensorflow.serving
  message InferenceTask
    model_spec: ModelSpec = 1, method_name: string = 2
  message InferenceResult
    model_spec: ModelSpec = 1
    oneof result | classification_result: ClassificationResult = 2, regression_result: RegressionResult = 3
  message MultiInferenceRequest
    tasks: InferenceTask* = 1, input: Input = 2
  message MultiInferenceResponse
    results: InferenceResult* = 1

file tensorflow_serving/apis/input.proto package tensorflow.serving
  message ExampleList
    examples: Example* = 1
  message ExampleListWithContext
    examples: Example* = 1, context: Example = 2
  message Input
    oneof kind | example_list: ExampleList = 1, example_list_with_context: ExampleListWithContext = 2

file tensorflow_serving/apis/model.proto package tensorflow.serving
  message ModelSpec
    name: string = 1
    oneof version_choice | version: google.protobuf.Int64Value = 2, version_label: string = 4
    signature_name: string = 3

file tensorflow_serving/apis/model_management.proto package tensorflow.serving
  message ReloadConfigRequest
    config: ModelServerConfig = 1
  message ReloadConfigResponse
    status: StatusProto = 1

file tensorflow_serving/apis/model_service.proto package tensorflow.serving
  service ModelService
    GetModelStatus: GetModelStatusRequest -> GetModelStatusResponse
    HandleReloadConfigRequest: ReloadConfigRequest -> ReloadConfigResponse

file tensorflow_serving/apis/predict.proto package tensorflow.serving
  message PredictRequest
    model_spec: ModelSpec = 1, inputs: {string: TensorProto} = 2, output_filter: string* = 3
  message PredictResponse
    model_spec: ModelSpec = 2, outputs: {string: TensorProto} = 1

file tensorflow_serving/apis/prediction_log.proto package tensorflow.serving
  message ClassifyLog
    request: ClassificationRequest = 1, response: ClassificationResponse = 2
  message RegressLog
    request: RegressionRequest = 1, response: RegressionResponse = 2
  message PredictLog
    request: PredictRequest = 1, response: PredictResponse = 2
  message MultiInferenceLog
    request: MultiInferenceRequest = 1, response: MultiInferenceResponse = 2
  message SessionRunLog
    request: SessionRunRequest = 1, response: SessionRunResponse = 2
  message PredictionLog
    log_metadata: LogMetadata = 1
    oneof log_type | classify_log: ClassifyLog = 2, regress_log: RegressLog = 3, predict_log: PredictLog = 6
    oneof log_type | multi_inference_log: MultiInferenceLog = 4, session_run_log: SessionRunLog = 5

file tensorflow_serving/apis/prediction_service.proto package tensorflow.serving
  service PredictionService
    Classify: ClassificationRequest -> ClassificationResponse
    Regress: RegressionRequest -> RegressionResponse
    Predict: PredictRequest -> PredictResponse
    MultiInference: MultiInferenceRequest -> MultiInferenceResponse
    GetModelMetadata: GetModelMetadataRequest -> GetModelMetadataResponse

file tensorflow_serving/apis/regression.proto package tensorflow.serving
  message Regression
    value: float = 1
  message RegressionResult
    regressions: Regression* = 1
  message RegressionRequest
    model_spec: ModelSpec = 1, input: Input = 2
  message RegressionResponse
    model_spec: ModelSpec = 2, result: RegressionResult = 1

file tensorflow_serving/apis/session_service.proto package tensorflow.serving
  message SessionRunRequest
    model_spec: ModelSpec = 1, feed: NamedTensorProto* = 2, fetch: string* = 3, target: string* = 4
    options: RunOptions = 5
  message SessionRunResponse
    model_spec: ModelSpec = 3, tensor: NamedTensorProto* = 1, metadata: RunMetadata = 2
  service SessionService
    SessionRun: SessionRunRequest -> SessionRunResponse

file tensorflow_serving/config/log_collector_config.proto package tensorflow.serving
  message LogCollectorConfig
    type: string = 1, filename_prefix: string = 2

file tensorflow_serving/config/logging_config.proto package tensorflow.serving
  message SamplingConfig
    sampling_rate: double = 1
  message LoggingConfig
    log_collector_config: LogCollectorConfig = 1, sampling_config: SamplingConfig = 2

file tensorflow_serving/config/model_server_config.proto package tensorflow.serving
  enum ModelType
    MODEL_TYPE_UNSPECIFIED = 0, TENSORFLOW = 1, OTHER = 2
  message ModelConfig
    name: string = 1, base_path: string = 2, model_type: ModelType = 3, model_platform: string = 4
    model_version_policy: FileSystemStoragePathSourceConfig.ServableVersionPolicy = 7
    version_labels: {string: int64} = 8, logging_config: LoggingConfig = 6
  message ModelConfigList
    config: ModelConfig* = 1
  message ModelServerConfig
    oneof config | model_config_list: ModelConfigList = 1, custom_model_config: google.protobuf.Any = 2

file tensorflow_serving/core/logging.proto package tensorflow.serving
  message LogMetadata
    model_spec: ModelSpec = 1, sampling_config: SamplingConfig = 2, saved_model_tags: string* = 3

file tensorflow_serving/sources/storage_path/file_system_storage_path_source.proto package tensorflow.serving
  message FileSystemStoragePathSourceConfig
    servables: ServableToMonitor* = 5, servable_name: string = 1, base_path: string = 2
    file_system_poll_wait_seconds: int64 = 3, fail_if_zero_versions_at_startup: bool = 4
    servable_versions_always_present: bool = 6
    message ServableVersionPolicy
      oneof policy_choice | latest: Latest = 100, all: All = 101, specific: Specific = 102
      message Latest
        num_versions: uint32 = 1
      message All
      message Specific
        versions: int64* = 1
    message ServableToMonitor
      servable_name: string = 1, base_path: string = 2, servable_version_policy: ServableVersionPolicy = 4

file tensorflow_serving/util/status.proto package tensorflow.serving
  message StatusProto
    error_code: error.Code = 1, error_message: string = 2

file tensorflow_serving/config/ssl_config.proto package tensorflow.serving
  message SSLConfig
    server_key: string = 1, server_cert: string = 2, custom_ca: string = 3, client_verify: bool = 4

file tensorflow_serving/config/monitoring_config.proto package tensorflow.serving
  message PrometheusConfig
    enable: bool = 1, path: string = 2
  message MonitoringConfig
    prometheus_config: PrometheusConfig = 1

file tensorflow_serving/servables/tensorflow/session_bundle_config.proto package tensorflow.serving
  message BatchingParameters
    max_batch_size: google.protobuf.Int64Value = 1, batch_timeout_micros: google.protobuf.Int64Value = 2
    max_enqueued_batches: google.protobuf.Int64Value = 3, num_batch_threads: google.protobuf.Int64Value = 4
    thread_pool_name: google.protobuf.StringValue = 5, allowed_batch_sizes: int64* = 6, pad_variable_length_inputs: bool = 7
    enable_large_batch_splitting: google.protobuf.BoolValue = 8, max_execution_batch_size: google.protobuf.Int64Value = 9

file grpc/health/v1/health.proto package grpc.health.v1
  message HealthCheckRequest
    service: string = 1
  message HealthCheckResponse
    status: ServingStatus = 1
    enum ServingStatus
      UNKNOWN = 0, SERVING = 1, NOT_SERVING = 2, SERVICE_UNKNOWN = 3
  service Health
    Check: HealthCheckRequest -> HealthCheckResponse
    Watch: HealthCheckRequest -> stream HealthCheckResponse
"""
