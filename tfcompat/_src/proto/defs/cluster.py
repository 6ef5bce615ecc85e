"""Message definitions of the services between the processes of a cluster: masters and workers."""

DEFINITIONS = """\
file tensorflow/core/protobuf/master.proto
  message CreateSessionRequest
    graph_def: GraphDef = 1, config: ConfigProto = 2, target: string = 3
  message CreateSessionResponse
    session_handle: string = 1, graph_version: int64 = 2
  message ExtendSessionRequest
    session_handle: string = 1, graph_def: GraphDef = 2, current_graph_version: int64 = 3
  message ExtendSessionResponse
    new_graph_version: int64 = 4
  message RunStepRequest
    session_handle: string = 1, feed: NamedTensorProto* = 2, fetch: string* = 3, target: string* = 4
    options: RunOptions = 5, partial_run_handle: string = 6, store_errors_in_response_body: bool = 7
    request_id: int64 = 8
  message RunStepResponse
    tensor: NamedTensorProto* = 1, metadata: RunMetadata = 2, status_code: error.Code = 3
    status_error_message: string = 4
  message PartialRunSetupRequest
    session_handle: string = 1, feed: string* = 2, fetch: string* = 3, target: string* = 4, request_id: int64 = 5
  message PartialRunSetupResponse
    partial_run_handle: string = 1
  message CloseSessionRequest
    session_handle: string = 1
  message CloseSessionResponse
  message ResetRequest
    container: string* = 1, device_filters: string* = 2
  message ResetResponse
  message ListDevicesRequest
    session_handle: string = 1
  message ListDevicesResponse
    local_device: DeviceAttributes* = 1, remote_device: DeviceAttributes* = 2
  message MakeCallableRequest
    session_handle: string = 1, options: CallableOptions = 2, request_id: int64 = 3
  message MakeCallableResponse
    handle: int64 = 1
  message RunCallableRequest
    session_handle: string = 1, handle: int64 = 2, feed: TensorProto* = 3, request_id: int64 = 4
  message RunCallableResponse
    fetch: TensorProto* = 1, metadata: RunMetadata = 2
  message ReleaseCallableRequest
    session_handle: string = 1, handle: int64 = 2
  message ReleaseCallableResponse
  service MasterService
    CreateSession: CreateSessionRequest -> CreateSessionResponse
    ExtendSession: ExtendSessionRequest -> ExtendSessionResponse
    PartialRunSetup: PartialRunSetupRequest -> PartialRunSetupResponse
    RunStep: RunStepRequest -> RunStepResponse
    CloseSession: CloseSessionRequest -> CloseSessionResponse
    ListDevices: ListDevicesRequest -> ListDevicesResponse
    Reset: ResetRequest -> ResetResponse
    MakeCallable: MakeCallableRequest -> MakeCallableResponse
    RunCallable: RunCallableRequest -> RunCallableResponse
    ReleaseCallable: ReleaseCallableRequest -> ReleaseCallableResponse

file tensorflow/core/protobuf/worker.proto
  message GetStatusRequest
  message GetStatusResponse
    device_attributes: DeviceAttributes* = 1
  message CreateWorkerSessionRequest
    session_handle: string = 1, server_def: ServerDef = 2, isolate_session_state: bool = 3
    cluster_device_attributes: DeviceAttributes* = 4
  message CreateWorkerSessionResponse
  message DeleteWorkerSessionRequest
    session_handle: string = 1
  message DeleteWorkerSessionResponse
  message RegisterGraphRequest
    session_handle: string = 1, create_worker_session_called: bool = 6, graph_def: GraphDef = 2
    has_control_flow: bool = 3, graph_options: GraphOptions = 4, debug_options: DebugOptions = 5
    collective_graph_key: int64 = 7
  message RegisterGraphResponse
    graph_handle: string = 1
  message DeregisterGraphRequest
    session_handle: string = 2, create_worker_session_called: bool = 3, graph_handle: string = 1
  message DeregisterGraphResponse
  message CleanupAllRequest
    container: string* = 1
  message CleanupAllResponse
  message ExecutorOpts
    record_costs: bool = 1, record_timeline: bool = 3, record_partition_graphs: bool = 4
    report_tensor_allocations_upon_oom: bool = 5
  message RunGraphRequest
    session_handle: string = 8, create_worker_session_called: bool = 10, graph_handle: string = 1, step_id: int64 = 2
    exec_opts: ExecutorOpts = 5, send: NamedTensorProto* = 3, recv_key: string* = 4, is_partial: bool = 6
    is_last_partial_run: bool = 7, store_errors_in_response_body: bool = 9, request_id: int64 = 11
  message RunGraphResponse
    recv: NamedTensorProto* = 1, step_stats: StepStats = 2, cost_graph: CostGraphDef = 3, partition_graph: GraphDef* = 4
    status_code: error.Code = 5, status_error_message: string = 6
  message CleanupGraphRequest
    step_id: int64 = 1
  message CleanupGraphResponse
  message RecvTensorRequest
    step_id: int64 = 1, rendezvous_key: string = 2, dma_ok: bool = 3, client_locality: DeviceLocality = 4
    server_locality: DeviceLocality = 5, transport_options: google.protobuf.Any = 6, request_id: int64 = 7
  message RecvTensorResponse
    tensor: TensorProto = 1, is_dead: bool = 2, send_start_micros: int64 = 3, transport_options: google.protobuf.Any = 4
    require_ack: bool = 5
  message MarkRecvFinishedRequest
    request_id: int64 = 1
  message MarkRecvFinishedResponse
  message LoggingRequest
    enable_rpc_logging: bool = 1, disable_rpc_logging: bool = 4, clear: bool = 2, fetch_step_id: int64* = 3
  message LabeledStepStats
    step_id: int64 = 1, step_stats: StepStats = 2
  message LoggingResponse
    step: LabeledStepStats* = 1
  message TraceOpts
    duration: double = 1, use_step_profiler: bool = 2, use_kernel_profiler: bool = 3, use_extended_profiler: bool = 4
    use_gpu_profiler: bool = 5, use_sample_profiler: bool = 6
  message TracingRequest
    options: TraceOpts = 1
  message TracingResponse
  message CompleteGroupRequest
    group_key: int32 = 1, group_size: int32 = 2, device_type: string = 3, device_name: string* = 4, collective_type: int32 = 5
  message CompleteGroupResponse
    group_key: int32 = 1, group_size: int32 = 2, device_type: string = 3, num_tasks: int32 = 4, device_name: string* = 5
    task_name: string* = 6, communicator_key: bytes = 7
  service WorkerService
    GetStatus: GetStatusRequest -> GetStatusResponse
    CreateWorkerSession: CreateWorkerSessionRequest -> CreateWorkerSessionResponse
    DeleteWorkerSession: DeleteWorkerSessionRequest -> DeleteWorkerSessionResponse
    RegisterGraph: RegisterGraphRequest -> RegisterGraphResponse
    DeregisterGraph: DeregisterGraphRequest -> DeregisterGraphResponse
    RunGraph: RunGraphRequest -> RunGraphResponse
    CleanupGraph: CleanupGraphRequest -> CleanupGraphResponse
    CleanupAll: CleanupAllRequest -> CleanupAllResponse
    RecvTensor: RecvTensorRequest -> RecvTensorResponse
    MarkRecvFinished: MarkRecvFinishedRequest -> MarkRecvFinishedResponse
    Logging: LoggingRequest -> LoggingResponse
    Tracing: TracingRequest -> TracingResponse
    CompleteGroup: CompleteGroupRequest -> CompleteGroupResponse

file tfcompat/transfer.proto package tfcompat
  message RecvTensorsRequest
    step_id: int64 = 1, rendezvous_key: string* = 2, request_id: int64 = 3
  message RecvTensorsResponse
    tensor: tensorflow.RecvTensorResponse* = 1
  message OpenRequest
    purpose: {string: string} = 1
  message OpenResponse
    port: int32 = 1, secret: bytes = 2
  message PushRequest
  message PushResponse
  service TransferService
    RecvTensors: RecvTensorsRequest -> RecvTensorsResponse
    Open: OpenRequest -> OpenResponse
    Push: stream PushRequest -> PushResponse
"""
