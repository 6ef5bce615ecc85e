"""Message definitions of `tensorflow/core/protobuf`: configuration, meta graphs, saved models, servers."""

DEFINITIONS = """\
file tensorflow/core/protobuf/cluster.proto
  message JobDef
    name: string = 1, tasks: {int32: string} = 2
  message ClusterDef
    job: JobDef* = 1

file tensorflow/core/protobuf/config.proto
  message GPUOptions
    per_process_gpu_memory_fraction: double = 1, allow_growth: bool = 4, allocator_type: string = 2
    deferred_deletion_bytes: int64 = 3, visible_device_list: string = 5, polling_active_delay_usecs: int32 = 6
    polling_inactive_delay_msecs: int32 = 7, force_gpu_compatible: bool = 8, experimental: Experimental = 9
    message Experimental
      virtual_devices: VirtualDevices* = 1, use_unified_memory: bool = 2, num_dev_to_dev_copy_streams: int32 = 3
      collective_ring_order: string = 4, timestamped_allocator: bool = 5, kernel_tracker_max_interval: int32 = 7
      kernel_tracker_max_bytes: int32 = 8, kernel_tracker_max_pending: int32 = 9
      message VirtualDevices
        memory_limit_mb: float* = 1
  message OptimizerOptions
    do_common_subexpression_elimination: bool = 1, do_constant_folding: bool = 2
    max_folded_constant_in_bytes: int64 = 6, do_function_inlining: bool = 4, opt_level: Level = 3
    global_jit_level: GlobalJitLevel = 5
    enum Level
      L1 = 0, L0 = -1
    enum GlobalJitLevel
      DEFAULT = 0, OFF = -1, ON_1 = 1, ON_2 = 2
  message GraphOptions
    enable_recv_scheduling: bool = 2, optimizer_options: OptimizerOptions = 3, build_cost_model: int64 = 4
    build_cost_model_after: int64 = 9, infer_shapes: bool = 5, place_pruned_graph: bool = 6
    enable_bfloat16_sendrecv: bool = 7, timeline_step: int32 = 8, rewrite_options: RewriterConfig = 10
  message ThreadPoolOptionProto
    num_threads: int32 = 1, global_name: string = 2
  message RPCOptions
    use_rpc_for_inprocess_master: bool = 1, compression_algorithm: string = 2, compression_level: int32 = 3
    cache_rpc_response: bool = 4, disable_session_connection_sharing: bool = 5
  message SessionMetadata
    name: string = 1, version: int64 = 2
  message ConfigProto
    device_count: {string: int32} = 1, intra_op_parallelism_threads: int32 = 2
    inter_op_parallelism_threads: int32 = 5, use_per_session_threads: bool = 9
    session_inter_op_thread_pool: ThreadPoolOptionProto* = 12, placement_period: int32 = 3
    device_filters: string* = 4, gpu_options: GPUOptions = 6, allow_soft_placement: bool = 7
    log_device_placement: bool = 8, graph_options: GraphOptions = 10, operation_timeout_in_ms: int64 = 11
    rpc_options: RPCOptions = 13, cluster_def: ClusterDef = 14, isolate_session_state: bool = 15
    experimental: Experimental = 16
    message Experimental
      collective_group_leader: string = 1, executor_type: string = 3, recv_buf_max_chunk: int32 = 4
      use_numa_affinity: bool = 5, collective_deterministic_sequential_execution: bool = 6
      collective_nccl: bool = 7, share_session_state_in_clusterspec_propagation: bool = 8
      disable_thread_spinning: bool = 9, share_cluster_devices_in_session: bool = 10
      session_metadata: SessionMetadata = 11, optimize_for_static_graph: bool = 12
  message RunOptions
    trace_level: TraceLevel = 1, timeout_in_ms: int64 = 2, inter_op_thread_pool: int32 = 3
    output_partition_graphs: bool = 5, debug_options: DebugOptions = 6
    report_tensor_allocations_upon_oom: bool = 7, experimental: Experimental = 8
    enum TraceLevel
      NO_TRACE = 0, SOFTWARE_TRACE = 1, HARDWARE_TRACE = 2, FULL_TRACE = 3
    message Experimental
      collective_graph_key: int64 = 1, use_run_handler_pool: bool = 2
  message RunMetadata
    step_stats: StepStats = 1, cost_graph: CostGraphDef = 2, partition_graphs: GraphDef* = 3
    function_graphs: FunctionGraphs* = 4
    message FunctionGraphs
      partition_graphs: GraphDef* = 1, pre_optimization_graph: GraphDef = 2, post_optimization_graph: GraphDef = 3
  message TensorConnection
    from_tensor: string = 1, to_tensor: string = 2
  message CallableOptions
    feed: string* = 1, fetch: string* = 2, target: string* = 3, run_options: RunOptions = 4
    tensor_connection: TensorConnection* = 5, feed_devices: {string: string} = 6
    fetch_devices: {string: string} = 7, fetch_skip_sync: bool = 8

file tensorflow/core/protobuf/control_flow.proto
  message ValuesDef
    values: string* = 1, external_values: {string: string} = 2
  message ControlFlowContextDef
    oneof ctxt | cond_ctxt: CondContextDef = 1, while_ctxt: WhileContextDef = 2
  message CondContextDef
    context_name: string = 1, pred_name: string = 2, pivot_name: string = 3, branch: int32 = 4
    values_def: ValuesDef = 5, nested_contexts: ControlFlowContextDef* = 6
  message WhileContextDef
    context_name: string = 1, parallel_iterations: int32 = 2, back_prop: bool = 3, swap_memory: bool = 4
    pivot_name: string = 5, pivot_for_pred_name: string = 6, pivot_for_body_name: string = 7
    loop_exit_names: string* = 8, loop_enter_names: string* = 10, values_def: ValuesDef = 9
    maximum_iterations_name: string = 11, nested_contexts: ControlFlowContextDef* = 12

file tensorflow/core/protobuf/critical_section.proto
  message CriticalSectionDef
    critical_section_name: string = 1
  message CriticalSectionExecutionDef
    execute_in_critical_section_name: string = 1, exclusive_resource_access: bool = 2

file tensorflow/core/protobuf/data/experimental/snapshot.proto package tensorflow.data.experimental
  message SnapshotRecord
    tensor: TensorProto* = 1
  message SnapshotMetadataRecord
    graph_hash: string = 1, run_id: string = 2, creation_timestamp: int64 = 3, finalized: bool = 1000

file tensorflow/core/protobuf/debug.proto
  message DebugTensorWatch
    node_name: string = 1, output_slot: int32 = 2, debug_ops: string* = 3, debug_urls: string* = 4
    tolerate_debug_op_creation_failures: bool = 5
  message DebugOptions
    debug_tensor_watch_opts: DebugTensorWatch* = 4, global_step: int64 = 10, reset_disk_byte_usage: bool = 11
  message DebuggedSourceFile
    host: string = 1, file_path: string = 2, last_modified: int64 = 3, bytes: int64 = 4, lines: string* = 5
  message DebuggedSourceFiles
    source_files: DebuggedSourceFile* = 1

file tensorflow/core/protobuf/device_properties.proto
  message DeviceProperties
    type: string = 1, vendor: string = 2, model: string = 3, frequency: int64 = 4, num_cores: int64 = 5
    environment: {string: string} = 6, num_registers: int64 = 7, l1_cache_size: int64 = 8, l2_cache_size: int64 = 9
    l3_cache_size: int64 = 10, shared_memory_size_per_multiprocessor: int64 = 11, memory_size: int64 = 12
    bandwidth: int64 = 13
  message NamedDevice
    name: string = 1, properties: DeviceProperties = 2

file tensorflow/core/protobuf/graph_debug_info.proto
  message GraphDebugInfo
    files: string* = 1, traces: {string: StackTrace} = 2
    message FileLineCol
      file_index: int32 = 1, line: int32 = 2, col: int32 = 3, func: string = 4, code: string = 5
    message StackTrace
      file_line_cols: FileLineCol* = 1

file tensorflow/core/protobuf/meta_graph.proto
  message MetaGraphDef
    meta_info_def: MetaInfoDef = 1, graph_def: GraphDef = 2, saver_def: SaverDef = 3
    collection_def: {string: CollectionDef} = 4, signature_def: {string: SignatureDef} = 5
    asset_file_def: AssetFileDef* = 6, object_graph_def: SavedObjectGraph = 7
    message MetaInfoDef
      meta_graph_version: string = 1, stripped_op_list: OpList = 2, any_info: google.protobuf.Any = 3
      tags: string* = 4, tensorflow_version: string = 5, tensorflow_git_version: string = 6
      stripped_default_attrs: bool = 7
  message CollectionDef
    oneof kind | node_list: NodeList = 1, bytes_list: BytesList = 2, int64_list: Int64List = 3
    oneof kind | float_list: FloatList = 4, any_list: AnyList = 5
    message NodeList
      value: string* = 1
    message BytesList
      value: bytes* = 1
    message Int64List
      value: int64* = 1
    message FloatList
      value: float* = 1
    message AnyList
      value: google.protobuf.Any* = 1
  message TensorInfo
    oneof encoding | name: string = 1, coo_sparse: CooSparse = 4, composite_tensor: CompositeTensor = 5
    dtype: DataType = 2, tensor_shape: TensorShapeProto = 3
    message CooSparse
      values_tensor_name: string = 1, indices_tensor_name: string = 2, dense_shape_tensor_name: string = 3
    message CompositeTensor
      type_spec: TypeSpecProto = 1, components: TensorInfo* = 2
  message SignatureDef
    inputs: {string: TensorInfo} = 1, outputs: {string: TensorInfo} = 2, method_name: string = 3
  message AssetFileDef
    tensor_info: TensorInfo = 1, filename: string = 2

file tensorflow/core/protobuf/named_tensor.proto
  message NamedTensorProto
    name: string = 1, tensor: TensorProto = 2

file tensorflow/core/protobuf/queue_runner.proto
  message QueueRunnerDef
    queue_name: string = 1, enqueue_op_name: string* = 2, close_op_name: string = 3, cancel_op_name: string = 4
    queue_closed_exception_types: error.Code* = 5

file tensorflow/core/protobuf/rewriter_config.proto
  message AutoParallelOptions
    enable: bool = 1, num_replicas: int32 = 2
  message ScopedAllocatorOptions
    enable_op: string* = 1
  message RewriterConfig
    layout_optimizer: Toggle = 1, constant_folding: Toggle = 3, shape_optimization: Toggle = 13
    remapping: Toggle = 14, arithmetic_optimization: Toggle = 7, dependency_optimization: Toggle = 8
    loop_optimization: Toggle = 9, function_optimization: Toggle = 10, debug_stripper: Toggle = 11
    disable_model_pruning: bool = 2, scoped_allocator_optimization: Toggle = 15
    pin_to_host_optimization: Toggle = 18, implementation_selector: Toggle = 22, auto_mixed_precision: Toggle = 23
    disable_meta_optimizer: bool = 19, meta_optimizer_iterations: NumIterationsType = 12
    min_graph_nodes: int32 = 17, memory_optimization: MemOptType = 4
    memory_optimizer_target_node_name_scope: string = 6, meta_optimizer_timeout_ms: int64 = 20
    auto_parallel: AutoParallelOptions = 5, fail_on_optimizer_errors: bool = 21
    scoped_allocator_opts: ScopedAllocatorOptions = 16, optimizers: string* = 100
    custom_optimizers: CustomGraphOptimizer* = 200, inter_optimizer_verifier_config: VerifierConfig = 300
    post_optimization_verifier_config: VerifierConfig = 301
    enum Toggle
      DEFAULT = 0, ON = 1, OFF = 2, AGGRESSIVE = 3
    enum NumIterationsType
      DEFAULT_NUM_ITERS = 0, ONE = 1, TWO = 2
    enum MemOptType
      DEFAULT_MEM_OPT = 0, NO_MEM_OPT = 1, MANUAL = 2, SWAPPING_HEURISTICS = 4, RECOMPUTATION_HEURISTICS = 5
      SCHEDULING_HEURISTICS = 6, HEURISTICS = 3
    message CustomGraphOptimizer
      name: string = 1, parameter_map: {string: AttrValue} = 2

file tensorflow/core/protobuf/saved_model.proto
  message SavedModel
    saved_model_schema_version: int64 = 1, meta_graphs: MetaGraphDef* = 2

file tensorflow/core/protobuf/saved_object_graph.proto
  message SavedObjectGraph
    nodes: SavedObject* = 1, concrete_functions: {string: SavedConcreteFunction} = 2
  message SavedObject
    children: TrackableObjectGraph.TrackableObject.ObjectReference* = 1
    slot_variables: TrackableObjectGraph.TrackableObject.SlotVariableReference* = 3
    oneof kind | user_object: SavedUserObject = 4, asset: SavedAsset = 5, function: SavedFunction = 6
    oneof kind | variable: SavedVariable = 7, bare_concrete_function: SavedBareConcreteFunction = 8
    oneof kind | constant: SavedConstant = 9, resource: SavedResource = 10
  message SavedUserObject
    identifier: string = 1, version: VersionDef = 2, metadata: string = 3
  message SavedAsset
    asset_file_def_index: int32 = 1
  message SavedFunction
    concrete_functions: string* = 1, function_spec: FunctionSpec = 2
  message SavedConcreteFunction
    bound_inputs: int32* = 2, canonicalized_input_signature: StructuredValue = 3
    output_signature: StructuredValue = 4
  message SavedBareConcreteFunction
    concrete_function_name: string = 1, argument_keywords: string* = 2, allowed_positional_arguments: int64 = 3
  message SavedConstant
    operation: string = 1
  message SavedVariable
    dtype: DataType = 1, shape: TensorShapeProto = 2, trainable: bool = 3
    synchronization: VariableSynchronization = 4, aggregation: VariableAggregation = 5, name: string = 6
  message FunctionSpec
    fullargspec: StructuredValue = 1, is_method: bool = 2, input_signature: StructuredValue = 5
  message SavedResource
    device: string = 1

file tensorflow/core/protobuf/saver.proto
  message SaverDef
    filename_tensor_name: string = 1, save_tensor_name: string = 2, restore_op_name: string = 3
    max_to_keep: int32 = 4, sharded: bool = 5, keep_checkpoint_every_n_hours: float = 6
    version: CheckpointFormatVersion = 7
    enum CheckpointFormatVersion
      LEGACY = 0, V1 = 1, V2 = 2

file tensorflow/core/protobuf/struct.proto
  message StructuredValue
    oneof kind | none_value: NoneValue = 1, float64_value: double = 11, int64_value: sint64 = 12
    oneof kind | string_value: string = 13, bool_value: bool = 14, tensor_shape_value: TensorShapeProto = 31
    oneof kind | tensor_dtype_value: DataType = 32, tensor_spec_value: TensorSpecProto = 33
    oneof kind | type_spec_value: TypeSpecProto = 34, list_value: ListValue = 51, tuple_value: TupleValue = 52
    oneof kind | dict_value: DictValue = 53, named_tuple_value: NamedTupleValue = 54
  message NoneValue
  message ListValue
    values: StructuredValue* = 1
  message TupleValue
    values: StructuredValue* = 1
  message DictValue
    fields: {string: StructuredValue} = 1
  message PairValue
    key: string = 1, value: StructuredValue = 2
  message NamedTupleValue
    name: string = 1, values: PairValue* = 2
  message TensorSpecProto
    name: string = 1, shape: TensorShapeProto = 2, dtype: DataType = 3
  message TypeSpecProto
    type_spec_class: TypeSpecClass = 1, type_state: StructuredValue = 2, type_spec_class_name: string = 3
    enum TypeSpecClass
      UNKNOWN = 0, SPARSE_TENSOR_SPEC = 1, INDEXED_SLICES_SPEC = 2, RAGGED_TENSOR_SPEC = 3, TENSOR_ARRAY_SPEC = 4
      DATA_DATASET_SPEC = 5, DATA_ITERATOR_SPEC = 6, OPTIONAL_SPEC = 7, PER_REPLICA_SPEC = 8

file tensorflow/core/protobuf/tensor_bundle.proto
  message BundleHeaderProto
    num_shards: int32 = 1, endianness: Endianness = 2, version: VersionDef = 3
    enum Endianness
      LITTLE = 0, BIG = 1
  message BundleEntryProto
    dtype: DataType = 1, shape: TensorShapeProto = 2, shard_id: int32 = 3, offset: int64 = 4, size: int64 = 5
    crc32c: fixed32 = 6, slices: TensorSliceProto* = 7

file tensorflow/core/protobuf/tensorflow_server.proto
  message ServerDef
    cluster: ClusterDef = 1, job_name: string = 2, task_index: int32 = 3, default_session_config: ConfigProto = 4
    protocol: string = 5

file tensorflow/core/protobuf/trace_events.proto package tensorflow.profiler
  message Trace
    devices: {uint32: Device} = 1, trace_events: TraceEvent* = 4
  message Device
    name: string = 1, device_id: uint32 = 2, resources: {uint32: Resource} = 3
  message Resource
    name: string = 1, resource_id: uint32 = 2
  message TraceEvent
    device_id: uint32 = 1, resource_id: uint32 = 2, name: string = 3, timestamp_ps: uint64 = 9
    duration_ps: uint64 = 10, args: {string: string} = 11

file tensorflow/core/protobuf/trackable_object_graph.proto
  message TrackableObjectGraph
    nodes: TrackableObject* = 1
    message TrackableObject
      children: ObjectReference* = 1, attributes: SerializedTensor* = 2, slot_variables: SlotVariableReference* = 3
      message ObjectReference
        node_id: int32 = 1, local_name: string = 2
      message SerializedTensor
        name: string = 1, full_name: string = 2, checkpoint_key: string = 3, optional_restore: bool = 4
      message SlotVariableReference
        original_variable_node_id: int32 = 1, slot_name: string = 2, slot_variable_node_id: int32 = 3

file tensorflow/core/protobuf/transport_options.proto
  message RecvBufRespExtra
    tensor_content: bytes* = 1

file tensorflow/core/protobuf/verifier_config.proto
  message VerifierConfig
    verification_timeout_in_ms: int64 = 1, structure_verifier: Toggle = 2
    enum Toggle
      DEFAULT = 0, ON = 1, OFF = 2
"""
