"""Message definitions of `tensorflow/core/{example,util}`: examples, event files, V1 checkpoints."""

DEFINITIONS = """\
file tensorflow/core/example/example.proto
  message Example
    features: Features = 1
  message SequenceExample
    context: Features = 1, feature_lists: FeatureLists = 2

file tensorflow/core/example/example_parser_configuration.proto
  message VarLenFeatureProto
    dtype: DataType = 1, values_output_tensor_name: string = 2, indices_output_tensor_name: string = 3
    shapes_output_tensor_name: string = 4
  message FixedLenFeatureProto
    dtype: DataType = 1, shape: TensorShapeProto = 2, default_value: TensorProto = 3
    values_output_tensor_name: string = 4
  message FeatureConfiguration
    oneof config | fixed_len_feature: FixedLenFeatureProto = 1, var_len_feature: VarLenFeatureProto = 2
  message ExampleParserConfiguration
    feature_map: {string: FeatureConfiguration} = 1

file tensorflow/core/example/feature.proto
  message BytesList
    value: bytes* = 1
  message FloatList
    value: float* = 1
  message Int64List
    value: int64* = 1
  message Feature
    oneof kind | bytes_list: BytesList = 1, float_list: FloatList = 2, int64_list: Int64List = 3
  message Features
    feature: {string: Feature} = 1
  message FeatureList
    feature: Feature* = 1
  message FeatureLists
    feature_list: {string: FeatureList} = 1

file tensorflow/core/util/event.proto
  enum WorkerHealth
    OK = 0, RECEIVED_SHUTDOWN_SIGNAL = 1, INTERNAL_ERROR = 2, SHUTTING_DOWN = 3
  enum WorkerShutdownMode
    DEFAULT = 0, NOT_CONFIGURED = 1, WAIT_FOR_COORDINATOR = 2, SHUTDOWN_AFTER_TIMEOUT = 3
  message Event
    wall_time: double = 1, step: int64 = 2
    oneof what | file_version: string = 3, graph_def: bytes = 4, summary: Summary = 5, log_message: LogMessage = 6
    oneof what | session_log: SessionLog = 7, tagged_run_metadata: TaggedRunMetadata = 8, meta_graph_def: bytes = 9
  message LogMessage
    level: Level = 1, message: string = 2
    enum Level
      UNKNOWN = 0, DEBUGGING = 10, INFO = 20, WARN = 30, ERROR = 40, FATAL = 50
  message SessionLog
    status: SessionStatus = 1, checkpoint_path: string = 2, msg: string = 3
    enum SessionStatus
      STATUS_UNSPECIFIED = 0, START = 1, STOP = 2, CHECKPOINT = 3
  message TaggedRunMetadata
    tag: string = 1, run_metadata: bytes = 2
  message WatchdogConfig
    timeout_ms: int64 = 1
  message WorkerHeartbeatRequest
    shutdown_mode: WorkerShutdownMode = 1, watchdog_config: WatchdogConfig = 2
  message WorkerHeartbeatResponse
    health_status: WorkerHealth = 1, worker_log: Event* = 2, hostname: string = 3

file tensorflow/core/util/memmapped_file_system.proto
  message MemmappedFileSystemDirectoryElement
    offset: uint64 = 1, name: string = 2, length: uint64 = 3
  message MemmappedFileSystemDirectory
    element: MemmappedFileSystemDirectoryElement* = 1

file tensorflow/core/util/saved_tensor_slice.proto
  message SavedSliceMeta
    name: string = 1, shape: TensorShapeProto = 2, type: DataType = 3, slice: TensorSliceProto* = 4
  message SavedTensorSliceMeta
    tensor: SavedSliceMeta* = 1, versions: VersionDef = 2
  message SavedSlice
    name: string = 1, slice: TensorSliceProto = 2, data: TensorProto = 3
  message SavedTensorSlices
    meta: SavedTensorSliceMeta = 1, data: SavedSlice = 2

file tensorflow/core/util/test_log.proto
  message EntryValue
    oneof kind | double_value: double = 1, string_value: string = 2
  message MetricEntry
    name: string = 1, value: double = 2, min_value: google.protobuf.DoubleValue = 3
    max_value: google.protobuf.DoubleValue = 4
  message BenchmarkEntry
    name: string = 1, iters: int64 = 2, cpu_time: double = 3, wall_time: double = 4, throughput: double = 5
    extras: {string: EntryValue} = 6, metrics: MetricEntry* = 7
  message BenchmarkEntries
    entry: BenchmarkEntry* = 1
  message BuildConfiguration
    mode: string = 1, cc_flags: string* = 2, opts: string* = 3
  message CommitId
    oneof kind | changelist: int64 = 1, hash: string = 2
    snapshot: string = 3, pending_changelist: int64 = 4
  message CPUInfo
    num_cores: int64 = 1, num_cores_allowed: int64 = 2, mhz_per_cpu: double = 3, cpu_info: string = 4
    cpu_governor: string = 5, cache_size: {string: int64} = 6
  message MemoryInfo
    total: int64 = 1, available: int64 = 2
  message GPUInfo
    model: string = 1, uuid: string = 2, bus_id: string = 3
  message PlatformInfo
    bits: string = 1, linkage: string = 2, machine: string = 3, release: string = 4, system: string = 5
    version: string = 6
  message AvailableDeviceInfo
    name: string = 1, type: string = 2, memory_limit: int64 = 3, physical_description: string = 4
  message MachineConfiguration
    hostname: string = 1, serial_identifier: string = 7, platform_info: PlatformInfo = 2, cpu_info: CPUInfo = 3
    device_info: google.protobuf.Any* = 4, available_device_info: AvailableDeviceInfo* = 5
    memory_info: MemoryInfo = 6
  message RunConfiguration
    argument: string* = 1
  message TestResults
    target: string = 1, entries: BenchmarkEntries = 2, build_configuration: BuildConfiguration = 3
    commit_id: CommitId = 4, start_time: int64 = 5, run_time: double = 6
    machine_configuration: MachineConfiguration = 7, run_configuration: RunConfiguration = 8, name: string = 9
    benchmark_type: BenchmarkType = 10, run_mode: string = 11, tf_version: string = 12
    enum BenchmarkType
      UNKNOWN = 0, CPP_MICROBENCHMARK = 1, PYTHON_BENCHMARK = 2, ANDROID_BENCHMARK = 3
"""
