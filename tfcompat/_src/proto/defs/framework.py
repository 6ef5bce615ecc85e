"""Message definitions of `tensorflow/core/framework`: graphs, ops, tensors, types, summaries and step statistics."""

DEFINITIONS = """\
file tensorflow/core/framework/allocation_description.proto
  message AllocationDescription
    requested_bytes: int64 = 1, allocated_bytes: int64 = 2, allocator_name: string = 3, allocation_id: int64 = 4
    has_single_reference: bool = 5, ptr: uint64 = 6

file tensorflow/core/framework/api_def.proto
  message ApiDef
    graph_op_name: string = 1, deprecation_message: string = 12, deprecation_version: int32 = 13
    visibility: Visibility = 2, endpoint: Endpoint* = 3, in_arg: Arg* = 4, out_arg: Arg* = 5
    arg_order: string* = 11, attr: Attr* = 6, summary: string = 7, description: string = 8
    description_prefix: string = 9, description_suffix: string = 10
    enum Visibility
      DEFAULT_VISIBILITY = 0, VISIBLE = 1, SKIP = 2, HIDDEN = 3
    message Endpoint
      name: string = 1, deprecated: bool = 3, deprecation_version: int32 = 4
    message Arg
      name: string = 1, rename_to: string = 2, description: string = 3
    message Attr
      name: string = 1, rename_to: string = 2, default_value: AttrValue = 3, description: string = 4
  message ApiDefs
    op: ApiDef* = 1

file tensorflow/core/framework/attr_value.proto
  message AttrValue
    oneof value | s: bytes = 2, i: int64 = 3, f: float = 4, b: bool = 5, type: DataType = 6
    oneof value | shape: TensorShapeProto = 7, tensor: TensorProto = 8, list: ListValue = 1
    oneof value | func: NameAttrList = 10, placeholder: string = 9
    message ListValue
      s: bytes* = 2, i: int64* = 3, f: float* = 4, b: bool* = 5, type: DataType* = 6, shape: TensorShapeProto* = 7
      tensor: TensorProto* = 8, func: NameAttrList* = 9
  message NameAttrList
    name: string = 1, attr: {string: AttrValue} = 2

file tensorflow/core/framework/cost_graph.proto
  message CostGraphDef
    node: Node* = 1
    message Node
      name: string = 1, device: string = 2, id: int32 = 3, input_info: InputInfo* = 4, output_info: OutputInfo* = 5
      temporary_memory_size: int64 = 6, persistent_memory_size: int64 = 12, host_temp_memory_size: int64 = 10
      device_temp_memory_size: int64 = 11, device_persistent_memory_size: int64 = 16, compute_cost: int64 = 9
      compute_time: int64 = 14, memory_time: int64 = 15, is_final: bool = 7, control_input: int32* = 8
      inaccurate: bool = 17
      message InputInfo
        preceding_node: int32 = 1, preceding_port: int32 = 2
      message OutputInfo
        size: int64 = 1, alias_input_port: int64 = 2, shape: TensorShapeProto = 3, dtype: DataType = 4

file tensorflow/core/framework/device_attributes.proto
  message InterconnectLink
    device_id: int32 = 1, type: string = 2, strength: int32 = 3
  message LocalLinks
    link: InterconnectLink* = 1
  message DeviceLocality
    bus_id: int32 = 1, numa_node: int32 = 2, links: LocalLinks = 3
  message DeviceAttributes
    name: string = 1, device_type: string = 2, memory_limit: int64 = 4, locality: DeviceLocality = 5
    incarnation: fixed64 = 6, physical_device_desc: string = 7

file tensorflow/core/framework/function.proto
  message FunctionDefLibrary
    function: FunctionDef* = 1, gradient: GradientDef* = 2
  message FunctionDef
    signature: OpDef = 1, attr: {string: AttrValue} = 5, arg_attr: {uint32: ArgAttrs} = 7, node_def: NodeDef* = 3
    ret: {string: string} = 4, control_ret: {string: string} = 6
    message ArgAttrs
      attr: {string: AttrValue} = 1
  message GradientDef
    function_name: string = 1, gradient_func: string = 2

file tensorflow/core/framework/graph.proto
  message GraphDef
    node: NodeDef* = 1, versions: VersionDef = 4, version: int32 = 3, library: FunctionDefLibrary = 2

file tensorflow/core/framework/graph_transfer_info.proto
  message GraphTransferNodeInput
    node_id: int32 = 1, output_port: int32 = 2
  message GraphTransferNodeInfo
    name: string = 1, node_id: int32 = 2, type_name: string = 3, soc_op_id: int32 = 4, padding_id: int32 = 5
    input_count: int32 = 6, output_count: int32 = 7
  message GraphTransferConstNodeInfo
    name: string = 1, node_id: int32 = 2, shape: int64* = 3, data: bytes = 4, dtype: DataType = 5
  message GraphTransferNodeInputInfo
    node_id: int32 = 1, node_input: GraphTransferNodeInput* = 2
  message GraphTransferNodeOutputInfo
    node_id: int32 = 1, max_byte_size: int32* = 2
  message GraphTransferGraphInputNodeInfo
    name: string = 1, shape: int64* = 2, dtype: DataType = 3
  message GraphTransferGraphOutputNodeInfo
    name: string = 1, shape: int64* = 2, dtype: DataType = 3
  message GraphTransferInfo
    node_info: GraphTransferNodeInfo* = 1, const_node_info: GraphTransferConstNodeInfo* = 2
    node_input_info: GraphTransferNodeInputInfo* = 3, node_output_info: GraphTransferNodeOutputInfo* = 4
    graph_input_node_info: GraphTransferGraphInputNodeInfo* = 5
    graph_output_node_info: GraphTransferGraphOutputNodeInfo* = 6, destination: Destination = 7
    enum Destination
      NOP = 0, HEXAGON = 1

file tensorflow/core/framework/kernel_def.proto
  message KernelDef
    op: string = 1, device_type: string = 2, constraint: AttrConstraint* = 3, host_memory_arg: string* = 4
    label: string = 5, priority: int32 = 6
    message AttrConstraint
      name: string = 1, allowed_values: AttrValue = 2
  message KernelList
    kernel: KernelDef* = 1

file tensorflow/core/framework/log_memory.proto
  message MemoryLogStep
    step_id: int64 = 1, handle: string = 2
  message MemoryLogTensorAllocation
    step_id: int64 = 1, kernel_name: string = 2, tensor: TensorDescription = 3
  message MemoryLogTensorDeallocation
    allocation_id: int64 = 1, allocator_name: string = 2
  message MemoryLogTensorOutput
    step_id: int64 = 1, kernel_name: string = 2, index: int32 = 3, tensor: TensorDescription = 4
  message MemoryLogRawAllocation
    step_id: int64 = 1, operation: string = 2, num_bytes: int64 = 3, ptr: uint64 = 4, allocation_id: int64 = 5
    allocator_name: string = 6
  message MemoryLogRawDeallocation
    step_id: int64 = 1, operation: string = 2, allocation_id: int64 = 3, allocator_name: string = 4
    deferred: bool = 5

file tensorflow/core/framework/node_def.proto
  message NodeDef
    name: string = 1, op: string = 2, input: string* = 3, device: string = 4, attr: {string: AttrValue} = 5
    experimental_debug_info: ExperimentalDebugInfo = 6
    message ExperimentalDebugInfo
      original_node_names: string* = 1, original_func_names: string* = 2

file tensorflow/core/framework/op_def.proto
  message OpDef
    name: string = 1, input_arg: ArgDef* = 2, output_arg: ArgDef* = 3, control_output: string* = 20
    attr: AttrDef* = 4, deprecation: OpDeprecation = 8, summary: string = 5, description: string = 6
    is_commutative: bool = 18, is_aggregate: bool = 16, is_stateful: bool = 17
    allows_uninitialized_input: bool = 19
    message ArgDef
      name: string = 1, description: string = 2, type: DataType = 3, type_attr: string = 4, number_attr: string = 5
      type_list_attr: string = 6, is_ref: bool = 16
    message AttrDef
      name: string = 1, type: string = 2, default_value: AttrValue = 3, description: string = 4
      has_minimum: bool = 5, minimum: int64 = 6, allowed_values: AttrValue = 7
  message OpDeprecation
    version: int32 = 1, explanation: string = 2
  message OpList
    op: OpDef* = 1

file tensorflow/core/framework/reader_base.proto
  message ReaderBaseState
    work_started: int64 = 1, work_finished: int64 = 2, num_records_produced: int64 = 3, current_work: bytes = 4

file tensorflow/core/framework/remote_fused_graph_execute_info.proto
  message RemoteFusedGraphExecuteInfo
    remote_graph: GraphDef = 1, graph_input_node_name: string* = 2, graph_output_node_name: string* = 3
    executor_name: string = 4, serialized_executor_parameters: bytes = 5
    default_graph_input_tensor_shape: TensorShapeTypeProto* = 6
    default_graph_output_tensor_shape: TensorShapeTypeProto* = 7
    message TensorShapeTypeProto
      dtype: DataType = 1, shape: TensorShapeProto = 2

file tensorflow/core/framework/resource_handle.proto
  message ResourceHandleProto
    device: string = 1, container: string = 2, name: string = 3, hash_code: uint64 = 4, maybe_type_name: string = 5
    dtypes_and_shapes: DtypeAndShape* = 6
    message DtypeAndShape
      dtype: DataType = 1, shape: TensorShapeProto = 2

file tensorflow/core/framework/step_stats.proto
  message AllocationRecord
    alloc_micros: int64 = 1, alloc_bytes: int64 = 2
  message AllocatorMemoryUsed
    allocator_name: string = 1, total_bytes: int64 = 2, peak_bytes: int64 = 3, live_bytes: int64 = 4
    allocation_records: AllocationRecord* = 6, allocator_bytes_in_use: int64 = 5
  message NodeOutput
    slot: int32 = 1, tensor_description: TensorDescription = 3
  message MemoryStats
    temp_memory_size: int64 = 1, persistent_memory_size: int64 = 3, persistent_tensor_alloc_ids: int64* = 5
    device_temp_memory_size: int64 = 2, device_persistent_memory_size: int64 = 4
    device_persistent_tensor_alloc_ids: int64* = 6
  message NodeExecStats
    node_name: string = 1, all_start_micros: int64 = 2, op_start_rel_micros: int64 = 3
    op_end_rel_micros: int64 = 4, all_end_rel_micros: int64 = 5, memory: AllocatorMemoryUsed* = 6
    output: NodeOutput* = 7, timeline_label: string = 8, scheduled_micros: int64 = 9, thread_id: uint32 = 10
    referenced_tensor: AllocationDescription* = 11, memory_stats: MemoryStats = 12, all_start_nanos: int64 = 13
    op_start_rel_nanos: int64 = 14, op_end_rel_nanos: int64 = 15, all_end_rel_nanos: int64 = 16
    scheduled_nanos: int64 = 17
  message DeviceStepStats
    device: string = 1, node_stats: NodeExecStats* = 2, thread_names: {uint32: string} = 3
  message StepStats
    dev_stats: DeviceStepStats* = 1

file tensorflow/core/framework/summary.proto
  message SummaryDescription
    type_hint: string = 1
  message HistogramProto
    min: double = 1, max: double = 2, num: double = 3, sum: double = 4, sum_squares: double = 5
    bucket_limit: double* = 6, bucket: double* = 7
  message SummaryMetadata
    plugin_data: PluginData = 1, display_name: string = 2, summary_description: string = 3
    message PluginData
      plugin_name: string = 1, content: bytes = 2
  message Summary
    value: Value* = 1
    message Image
      height: int32 = 1, width: int32 = 2, colorspace: int32 = 3, encoded_image_string: bytes = 4
    message Audio
      sample_rate: float = 1, num_channels: int64 = 2, length_frames: int64 = 3, encoded_audio_string: bytes = 4
      content_type: string = 5
    message Value
      node_name: string = 7, tag: string = 1, metadata: SummaryMetadata = 9
      oneof value | simple_value: float = 2, obsolete_old_style_histogram: bytes = 3, image: Image = 4
      oneof value | histo: HistogramProto = 5, audio: Audio = 6, tensor: TensorProto = 8

file tensorflow/core/framework/tensor.proto
  message TensorProto
    dtype: DataType = 1, tensor_shape: TensorShapeProto = 2, version_number: int32 = 3, tensor_content: bytes = 4
    half_val: int32* = 13, float_val: float* = 5, double_val: double* = 6, int_val: int32* = 7
    string_val: bytes* = 8, scomplex_val: float* = 9, int64_val: int64* = 10, bool_val: bool* = 11
    dcomplex_val: double* = 12, resource_handle_val: ResourceHandleProto* = 14
    variant_val: VariantTensorDataProto* = 15, uint32_val: uint32* = 16, uint64_val: uint64* = 17
  message VariantTensorDataProto
    type_name: string = 1, metadata: bytes = 2, tensors: TensorProto* = 3

file tensorflow/core/framework/tensor_description.proto
  message TensorDescription
    dtype: DataType = 1, shape: TensorShapeProto = 2, allocation_description: AllocationDescription = 4

file tensorflow/core/framework/tensor_shape.proto
  message TensorShapeProto
    dim: Dim* = 2, unknown_rank: bool = 3
    message Dim
      size: int64 = 1, name: string = 2

file tensorflow/core/framework/tensor_slice.proto
  message TensorSliceProto
    extent: Extent* = 1
    message Extent
      start: int64 = 1
      oneof has_length | length: int64 = 2

file tensorflow/core/framework/types.proto
  enum DataType
    DT_INVALID = 0, DT_FLOAT = 1, DT_DOUBLE = 2, DT_INT32 = 3, DT_UINT8 = 4, DT_INT16 = 5, DT_INT8 = 6
    DT_STRING = 7, DT_COMPLEX64 = 8, DT_INT64 = 9, DT_BOOL = 10, DT_QINT8 = 11, DT_QUINT8 = 12, DT_QINT32 = 13
    DT_BFLOAT16 = 14, DT_QINT16 = 15, DT_QUINT16 = 16, DT_UINT16 = 17, DT_COMPLEX128 = 18, DT_HALF = 19
    DT_RESOURCE = 20, DT_VARIANT = 21, DT_UINT32 = 22, DT_UINT64 = 23, DT_FLOAT_REF = 101, DT_DOUBLE_REF = 102
    DT_INT32_REF = 103, DT_UINT8_REF = 104, DT_INT16_REF = 105, DT_INT8_REF = 106, DT_STRING_REF = 107
    DT_COMPLEX64_REF = 108, DT_INT64_REF = 109, DT_BOOL_REF = 110, DT_QINT8_REF = 111, DT_QUINT8_REF = 112
    DT_QINT32_REF = 113, DT_BFLOAT16_REF = 114, DT_QINT16_REF = 115, DT_QUINT16_REF = 116, DT_UINT16_REF = 117
    DT_COMPLEX128_REF = 118, DT_HALF_REF = 119, DT_RESOURCE_REF = 120, DT_VARIANT_REF = 121, DT_UINT32_REF = 122
    DT_UINT64_REF = 123

file tensorflow/core/framework/variable.proto
  enum VariableSynchronization
    VARIABLE_SYNCHRONIZATION_AUTO = 0, VARIABLE_SYNCHRONIZATION_NONE = 1, VARIABLE_SYNCHRONIZATION_ON_WRITE = 2
    VARIABLE_SYNCHRONIZATION_ON_READ = 3
  enum VariableAggregation
    VARIABLE_AGGREGATION_NONE = 0, VARIABLE_AGGREGATION_SUM = 1, VARIABLE_AGGREGATION_MEAN = 2
    VARIABLE_AGGREGATION_ONLY_FIRST_REPLICA = 3
  message VariableDef
    variable_name: string = 1, initial_value_name: string = 6, initializer_name: string = 2
    snapshot_name: string = 3, save_slice_info_def: SaveSliceInfoDef = 4, is_resource: bool = 5
    trainable: bool = 7, synchronization: VariableSynchronization = 8, aggregation: VariableAggregation = 9
  message SaveSliceInfoDef
    full_name: string = 1, full_shape: int64* = 2, var_offset: int64* = 3, var_shape: int64* = 4

file tensorflow/core/framework/versions.proto
  message VersionDef
    producer: int32 = 1, min_consumer: int32 = 2, bad_consumers: int32* = 3
"""
