"""Message definitions of all other directories: error codes, debugger, grappler, boosted trees, Python, contrib."""

DEFINITIONS = """\
file tensorflow/contrib/session_bundle/manifest.proto package tensorflow.serving
  message Signatures
    default_signature: Signature = 1, named_signatures: {string: Signature} = 2
  message TensorBinding
    tensor_name: string = 1
  message AssetFile
    tensor_binding: TensorBinding = 1, filename: string = 2
  message Signature
    oneof type | regression_signature: RegressionSignature = 1
    oneof type | classification_signature: ClassificationSignature = 2, generic_signature: GenericSignature = 3
  message RegressionSignature
    input: TensorBinding = 1, output: TensorBinding = 2
  message ClassificationSignature
    input: TensorBinding = 1, classes: TensorBinding = 2, scores: TensorBinding = 3
  message GenericSignature
    map: {string: TensorBinding} = 1

file tensorflow/contrib/tensorboard/plugins/projector/projector_config.proto
  message SpriteMetadata
    image_path: string = 1, single_image_dim: uint32* = 2
  message EmbeddingInfo
    tensor_name: string = 1, metadata_path: string = 2, bookmarks_path: string = 3, tensor_shape: uint32* = 4
    sprite: SpriteMetadata = 5, tensor_path: string = 6
  message ProjectorConfig
    model_checkpoint_path: string = 1, embeddings: EmbeddingInfo* = 2, model_checkpoint_dir: string = 3

file tensorflow/contrib/training/python/training/hparam.proto
  message HParamDef
    hparam: {string: HParamType} = 1
    message BytesList
      value: bytes* = 1
    message FloatList
      value: float* = 1
    message Int64List
      value: int64* = 1
    message BoolList
      value: bool* = 1
    message HParamType
      oneof kind | int64_value: int64 = 1, float_value: float = 2, bytes_value: bytes = 3, bool_value: bool = 7
      oneof kind | int64_list: Int64List = 4, float_list: FloatList = 5, bytes_list: BytesList = 6
      oneof kind | bool_list: BoolList = 8

file tensorflow/core/debug/debug_service.proto
  message EventReply
    debug_op_state_changes: DebugOpStateChange* = 1, tensor: TensorProto = 2
    message DebugOpStateChange
      state: State = 1, node_name: string = 2, output_slot: int32 = 3, debug_op: string = 4
      enum State
        STATE_UNSPECIFIED = 0, DISABLED = 1, READ_ONLY = 2, READ_WRITE = 3
  message CallTraceback
    call_type: CallType = 1, call_key: string = 2, origin_stack: tfprof.CodeDef = 3
    origin_id_to_string: {int64: string} = 4, graph_traceback: tfprof.OpLogProto = 5, graph_version: int64 = 6
    enum CallType
      UNSPECIFIED = 0, GRAPH_EXECUTION = 1, EAGER_EXECUTION = 2
  service EventListener
    SendEvents: stream Event -> stream EventReply
    SendTracebacks: CallTraceback -> EventReply
    SendSourceFiles: DebuggedSourceFiles -> EventReply

file tensorflow/core/debug/debugger_event_metadata.proto package third_party.tensorflow.core.debug
  message DebuggerEventMetadata
    device: string = 1, output_slot: int32 = 2, num_chunks: int32 = 3, chunk_index: int32 = 4

file tensorflow/core/grappler/costs/op_performance_data.proto
  message SessionInfo
    intra_op_parallelism: int64 = 1
  message OpInfo
    op: string = 1, attr: {string: AttrValue} = 2, inputs: TensorProperties* = 3, outputs: TensorProperties* = 5
    device: DeviceProperties = 4, session_info: SessionInfo = 6
    message TensorProperties
      dtype: DataType = 1, shape: TensorShapeProto = 2, value: TensorProto = 3
  message NormalDistribution
    mu: double = 1, sigma: double = 2
  message LogNormalDistribution
    mu: double = 1, sigma: double = 2
  message OpPerformance
    op: OpInfo = 1, session_info: SessionInfo = 12, node: string = 5, temporary_memory_size: int64 = 2
    compute_cost: int64 = 3, compute_time: int64 = 6, memory_time: int64 = 7, compute_efficiency: double = 4
    memory_efficiency: double = 8
    oneof execution_time | execution_time_normal: NormalDistribution = 10
    oneof execution_time | execution_time_log_normal: LogNormalDistribution = 11
    op_memory: OpMemory = 9
    message OpMemory
      output_memory: int64* = 1, temp_memory: int64 = 2, persistent_memory: int64 = 4
      device_temp_memory: int64 = 3, device_persistent_memory: int64 = 5
  message OpPerformanceList
    op_performance: OpPerformance* = 1

file tensorflow/core/kernels/boosted_trees/boosted_trees.proto package tensorflow.boosted_trees
  enum SplitTypeWithDefault
    INEQUALITY_DEFAULT_LEFT = 0, INEQUALITY_DEFAULT_RIGHT = 1, EQUALITY_DEFAULT_RIGHT = 3
  enum DefaultDirection
    DEFAULT_LEFT = 0, DEFAULT_RIGHT = 1
  message Node
    oneof node | leaf: Leaf = 1, bucketized_split: BucketizedSplit = 2, categorical_split: CategoricalSplit = 3
    oneof node | dense_split: DenseSplit = 4
    metadata: NodeMetadata = 777
  message NodeMetadata
    gain: float = 1, original_leaf: Leaf = 2
  message Leaf
    oneof leaf | vector: Vector = 1, sparse_vector: SparseVector = 2
    scalar: float = 3
  message Vector
    value: float* = 1
  message SparseVector
    index: int32* = 1, value: float* = 2
  message BucketizedSplit
    feature_id: int32 = 1, threshold: int32 = 2, dimension_id: int32 = 5, default_direction: DefaultDirection = 6
    left_id: int32 = 3, right_id: int32 = 4
  message CategoricalSplit
    feature_id: int32 = 1, value: int32 = 2, dimension_id: int32 = 5, left_id: int32 = 3, right_id: int32 = 4
  message DenseSplit
    feature_id: int32 = 1, threshold: float = 2, left_id: int32 = 3, right_id: int32 = 4
  message Tree
    nodes: Node* = 1
  message TreeMetadata
    num_layers_grown: int32 = 2, is_finalized: bool = 3, post_pruned_nodes_meta: PostPruneNodeUpdate* = 4
    message PostPruneNodeUpdate
      new_node_id: int32 = 1, logit_change: float* = 2
  message GrowingMetadata
    num_trees_attempted: int64 = 1, num_layers_attempted: int64 = 2, last_layer_node_start: int32 = 3
    last_layer_node_end: int32 = 4
  message TreeEnsemble
    trees: Tree* = 1, tree_weights: float* = 2, tree_metadata: TreeMetadata* = 3
    growing_metadata: GrowingMetadata = 4
  message DebugOutput
    feature_ids: int32* = 1, logits_path: float* = 2

file tensorflow/core/lib/core/error_codes.proto package tensorflow.error
  enum Code
    OK = 0, CANCELLED = 1, UNKNOWN = 2, INVALID_ARGUMENT = 3, DEADLINE_EXCEEDED = 4, NOT_FOUND = 5
    ALREADY_EXISTS = 6, PERMISSION_DENIED = 7, UNAUTHENTICATED = 16, RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9, ABORTED = 10, OUT_OF_RANGE = 11, UNIMPLEMENTED = 12, INTERNAL = 13, UNAVAILABLE = 14
    DATA_LOSS = 15, DO_NOT_USE_RESERVED_FOR_FUTURE_EXPANSION_USE_DEFAULT_IN_SWITCH_INSTEAD_ = 20

file tensorflow/python/framework/cpp_shape_inference.proto
  message CppShapeInferenceResult
    shape: TensorShapeProto = 1, handle_data: HandleData = 4
    message HandleShapeAndType
      shape: TensorShapeProto = 1, dtype: DataType = 2
    message HandleData
      is_set: bool = 1, shape_and_type: HandleShapeAndType* = 2
  message CppShapeInferenceInputsNeeded
    input_tensors_needed: int32* = 1, input_tensors_as_shapes_needed: int32* = 2

file tensorflow/python/tpu/tensor_tracer.proto
  message TensorTracerReport
    config: TensorTracerConfig = 1, graphdef: GraphDef = 2, tensordef: {string: TracedTensorDef} = 3
    message TensorTracerConfig
      version: string = 1, device: string = 2, trace_mode: string = 3, num_cores: int32 = 4, num_hosts: int32 = 5
      submode: string = 6, num_cores_per_host: int32 = 7, included_cores: int32* = 8, signatures: string* = 9
    message TracedTensorDef
      name: string = 1, cache_index: int32 = 2, trace_point_name: string = 3, is_traced: bool = 4
      explanation: string = 5

file tensorflow/python/training/checkpoint_state.proto
  message CheckpointState
    model_checkpoint_path: string = 1, all_model_checkpoint_paths: string* = 2
    all_model_checkpoint_timestamps: double* = 3, last_preserved_timestamp: double = 4
"""
