"""Message definitions of `tensorflow/core/profiler`: profiles, their options and their reports."""

DEFINITIONS = """\
file tensorflow/core/profiler/op_profile.proto package tensorflow.profiler.op_profile
  message Profile
    by_category: Node = 1, by_program: Node = 4
  message Node
    name: string = 1, metrics: Metrics = 2, children: Node* = 3
    oneof contents | category: InstructionCategory = 4, xla: XLAInstruction = 5
    num_children: int32 = 6
    message InstructionCategory
    message XLAInstruction
      op: string = 1, expression: string = 2, provenance: string = 3, category: string = 4
      layout: LayoutAnalysis = 5
      message LayoutAnalysis
        dimensions: Dimension* = 1
        message Dimension
          size: int32 = 1, alignment: int32 = 2, semantics: string = 3
  message Metrics
    time: double = 1, flops: double = 2, memory_bandwidth: double = 3, raw_time: double = 11
    raw_flops: double = 12, raw_bytes_accessed: double = 13

file tensorflow/core/profiler/profile.proto package tensorflow.tfprof.pprof
  message Profile
    sample_type: ValueType* = 1, sample: Sample* = 2, mapping: Mapping* = 3, location: Location* = 4
    function: Function* = 5, string_table: string* = 6, drop_frames: int64 = 7, keep_frames: int64 = 8
    time_nanos: int64 = 9, duration_nanos: int64 = 10, period_type: ValueType = 11, period: int64 = 12
    comment: int64* = 13, default_sample_type: int64 = 14
  message ValueType
    type: int64 = 1, unit: int64 = 2
  message Sample
    location_id: uint64* = 1, value: int64* = 2, label: Label* = 3
  message Label
    key: int64 = 1, str: int64 = 2, num: int64 = 3
  message Mapping
    id: uint64 = 1, memory_start: uint64 = 2, memory_limit: uint64 = 3, file_offset: uint64 = 4
    filename: int64 = 5, build_id: int64 = 6, has_functions: bool = 7, has_filenames: bool = 8
    has_line_numbers: bool = 9, has_inline_frames: bool = 10
  message Location
    id: uint64 = 1, mapping_id: uint64 = 2, address: uint64 = 3, line: Line* = 4
  message Line
    function_id: uint64 = 1, line: int64 = 2
  message Function
    id: uint64 = 1, name: int64 = 2, system_name: int64 = 3, filename: int64 = 4, start_line: int64 = 5

file tensorflow/core/profiler/profiler_analysis.proto
  message NewProfileSessionRequest
    request: ProfileRequest = 1, repository_root: string = 2, hosts: string* = 3, session_id: string = 4
  message NewProfileSessionResponse
    error_message: string = 1, empty_trace: bool = 2
  message EnumProfileSessionsAndToolsRequest
    repository_root: string = 1
  message ProfileSessionInfo
    session_id: string = 1, available_tools: string* = 2
  message EnumProfileSessionsAndToolsResponse
    error_message: string = 1, sessions: ProfileSessionInfo* = 2
  message ProfileSessionDataRequest
    repository_root: string = 1, session_id: string = 2, host_name: string = 5, tool_name: string = 3
    parameters: {string: string} = 4
  message ProfileSessionDataResponse
    error_message: string = 1, output_format: string = 2, output: bytes = 3
  service ProfileAnalysis
    NewSession: NewProfileSessionRequest -> NewProfileSessionResponse
    EnumSessions: EnumProfileSessionsAndToolsRequest -> EnumProfileSessionsAndToolsResponse
    GetSessionToolData: ProfileSessionDataRequest -> ProfileSessionDataResponse

file tensorflow/core/profiler/profiler_service.proto
  message ProfileOptions
    include_dataset_ops: bool = 1
  message ToolRequestOptions
    output_formats: string = 2, save_to_repo: bool = 3
  message ProfileRequest
    duration_ms: uint64 = 1, max_events: uint64 = 2, tools: string* = 3
    tool_options: {string: ToolRequestOptions} = 8, opts: ProfileOptions = 4, repository_root: string = 5
    session_id: string = 6, host_name: string = 7
  message ProfileToolData
    name: string = 1, data: bytes = 2
  message ProfileResponse
    computation_graph: GraphDef* = 2, hlo_metadata: RunMetadata = 5, encoded_trace: bytes = 3
    op_profile: profiler.op_profile.Profile = 4, tool_data: ProfileToolData* = 6, empty_trace: bool = 7
  message MonitorRequest
    duration_ms: uint64 = 1, monitoring_level: int32 = 2, timestamp: bool = 3
  message MonitorResponse
    data: string = 1
  service ProfilerService
    Profile: ProfileRequest -> ProfileResponse
    Monitor: MonitorRequest -> MonitorResponse

file tensorflow/core/profiler/tfprof_log.proto package tensorflow.tfprof
  message CodeDef
    traces: Trace* = 1
    message Trace
      file: string = 1, file_id: int64 = 6, lineno: int32 = 2, function: string = 3, function_id: int64 = 7
      line: string = 4, line_id: int64 = 8, func_start_line: int32 = 5
  message OpLogEntry
    name: string = 1, float_ops: int64 = 2, types: string* = 3, code_def: CodeDef = 4
  message OpLogProto
    log_entries: OpLogEntry* = 1, id_to_string: {int64: string} = 2
  message ProfileProto
    nodes: {int64: ProfileNode} = 1, has_trace: bool = 2, miss_accelerator_stream: bool = 5, steps: int64* = 3
    id_to_string: {int64: string} = 4
  message ProfileNode
    name: string = 1, op: string = 9, id: int64 = 13, inputs: {int32: int64} = 2, input_shapes: {int32: Tuple} = 16
    outputs: {int32: int64} = 3, output_shapes: {int32: Tuple} = 15, src_output_index: {int64: int32} = 14
    shape: int64* = 4, op_types: string* = 5, canonical_device: string = 6, host_device: string = 7
    float_ops: int64 = 8, trace: CodeDef = 10, attrs: {string: AttrValue} = 11, execs: {int64: ExecProfile} = 12
  message ExecProfile
    run_count: int64 = 1, all_start_micros: int64 = 2, latest_end_micros: int64 = 3
    accelerator_execs: {string: ExecTime} = 4, cpu_execs: {string: ExecTime} = 5, memory_execs: ExecMemory* = 7
    allocations: AllocationRecord* = 11, devices: string* = 6
  message ExecTime
    times: Tuple* = 1
  message ExecMemory
    memory_micros: int64 = 1, host_temp_bytes: int64 = 2, host_persistent_bytes: int64 = 3
    accelerator_temp_bytes: int64 = 4, accelerator_persistent_bytes: int64 = 5, requested_bytes: int64 = 6
    peak_bytes: int64 = 7, residual_bytes: int64 = 8, output_bytes: int64 = 9, allocator_bytes_in_use: int64 = 10
    output_memory: {int32: Memory} = 11
  message Tuple
    int64_values: int64* = 1
  message Memory
    bytes: int64 = 1, ptr: uint64 = 2

file tensorflow/core/profiler/tfprof_options.proto package tensorflow.tfprof
  message OptionsProto
    max_depth: int64 = 1, min_bytes: int64 = 2, min_peak_bytes: int64 = 19, min_residual_bytes: int64 = 20
    min_output_bytes: int64 = 21, min_micros: int64 = 3, min_accelerator_micros: int64 = 22
    min_cpu_micros: int64 = 23, min_params: int64 = 4, min_float_ops: int64 = 5, min_occurrence: int64 = 17
    step: int64 = 18, order_by: string = 7, account_type_regexes: string* = 8, start_name_regexes: string* = 9
    trim_name_regexes: string* = 10, show_name_regexes: string* = 11, hide_name_regexes: string* = 12
    account_displayed_op_only: bool = 13, select: string* = 14, output: string = 15, dump_to_file: string = 16
  message AdvisorOptionsProto
    checkers: {string: CheckerOption} = 1
    message CheckerOption
      options: {string: string} = 1

file tensorflow/core/profiler/tfprof_output.proto package tensorflow.tfprof
  message TFProfTensorProto
    dtype: DataType = 1, value_double: double* = 2, value_int64: int64* = 3, value_str: string* = 4
  message GraphNodeProto
    name: string = 1, tensor_value: TFProfTensorProto = 15, run_count: int64 = 21, exec_micros: int64 = 2
    accelerator_exec_micros: int64 = 17, cpu_exec_micros: int64 = 18, requested_bytes: int64 = 3
    peak_bytes: int64 = 24, residual_bytes: int64 = 25, output_bytes: int64 = 26, parameters: int64 = 4
    float_ops: int64 = 13, devices: string* = 10, total_definition_count: int64 = 23, total_run_count: int64 = 22
    total_exec_micros: int64 = 6, total_accelerator_exec_micros: int64 = 19, total_cpu_exec_micros: int64 = 20
    total_requested_bytes: int64 = 7, total_peak_bytes: int64 = 27, total_residual_bytes: int64 = 28
    total_output_bytes: int64 = 29, total_parameters: int64 = 8, total_float_ops: int64 = 14
    shapes: TensorShapeProto* = 11, input_shapes: {int32: TensorShapeProto} = 16, children: GraphNodeProto* = 12
  message MultiGraphNodeProto
    name: string = 1, exec_micros: int64 = 2, accelerator_exec_micros: int64 = 12, cpu_exec_micros: int64 = 13
    requested_bytes: int64 = 3, peak_bytes: int64 = 16, residual_bytes: int64 = 17, output_bytes: int64 = 18
    parameters: int64 = 4, float_ops: int64 = 5, total_exec_micros: int64 = 6
    total_accelerator_exec_micros: int64 = 14, total_cpu_exec_micros: int64 = 15, total_requested_bytes: int64 = 7
    total_peak_bytes: int64 = 19, total_residual_bytes: int64 = 20, total_output_bytes: int64 = 21
    total_parameters: int64 = 8, total_float_ops: int64 = 9, graph_nodes: GraphNodeProto* = 10
    children: MultiGraphNodeProto* = 11
  message AdviceProto
    checkers: {string: Checker} = 1
    message Checker
      reports: string* = 2
"""
