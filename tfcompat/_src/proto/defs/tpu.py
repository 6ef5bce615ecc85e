"""Message definitions of `tensorflow/core/protobuf/tpu`: topology and embedding configuration."""

DEFINITIONS = """\
file tensorflow/core/protobuf/tpu/dynamic_padding.proto package tensorflow.tpu
  message PaddingMap
    arg_index: int32 = 1, shape_index: int32 = 2, padding_arg_index: int32 = 3

file tensorflow/core/protobuf/tpu/optimization_parameters.proto package tensorflow.tpu
  message ClippingLimits
    lower: google.protobuf.FloatValue = 1, upper: google.protobuf.FloatValue = 2
  message DynamicLearningRate
    tag: int32 = 1
  message LearningRate
    oneof learning_rate | constant: float = 1, dynamic: DynamicLearningRate = 2
  message AdagradParameters
    initial_accumulator: float = 1
  message BoundedAdagradParameters
    update_accumulator_first: bool = 1, max_var_update: float = 2, max_accumulator: float = 3
  message StochasticGradientDescentParameters
  message FtrlParameters
    l1: float = 1, l2: float = 2, lr_power: float = 3, initial_accum: float = 4, initial_linear: float = 5
  message AdamParameters
    beta1: float = 3, beta2: float = 4, epsilon: float = 5, initial_m: float = 6, initial_v: float = 7
    use_non_lazy_adam: bool = 8, use_sum_inside_sqrt: bool = 10
  message MomentumParameters
    momentum: float = 1, use_nesterov: bool = 2, initial_accum: float = 3
  message RmsPropParameters
    rho: float = 1, momentum: float = 2, epsilon: float = 3, initial_ms: float = 4, initial_mom: float = 5
  message CenteredRmsPropParameters
    rho: float = 1, momentum: float = 2, epsilon: float = 3, initial_ms: float = 4, initial_mom: float = 5
    initial_mg: float = 6
  message MdlAdagradLightParameters
    l2: float = 1, lr_power: float = 2, min_servable_mdl_benefit: float = 3, mdl_mix_in_margin: float = 4
    mdl_benefit_rampup_coeff: float = 5, mdl_min_weight: float = 6, benefit_revisit_scale: float = 7
    max_event_benefit: float = 8, max_total_benefit: float = 9, mdl_hard_limit: float = 10
    hard_limit_min_benefit: bool = 11, mdl_regularize: bool = 12, initial_accumulator: float = 13
    initial_weight: float = 14, initial_benefit: float = 15
  message AdadeltaParameters
    rho: float = 1, epsilon: float = 2, initial_accumulator: float = 3, initial_update: float = 4
  message ProximalAdagradParameters
    l1: float = 1, l2: float = 2, initial_accumulator: float = 3
  message OnlineYogiParameters
    l1: float = 1, l2: float = 2, beta2: float = 3, initial_v: float = 4, initial_linear: float = 5
    oneof activation | sign: SignActivation = 6, tanh: TanhActivation = 7
    message SignActivation
    message TanhActivation
  message GradientAccumulationStatus
    enum Status
      UNSPECIFIED = 0, ENABLED = 1, DISABLED = 2
  message HotIdReplicationConfiguration
    status: Status = 1
    enum Status
      UNSPECIFIED = 0, ENABLED = 1, DISABLED = 2
  message OptimizationParameters
    learning_rate: LearningRate = 13, clipping_limits: ClippingLimits = 2
    gradient_clipping_limits: ClippingLimits = 7, weight_decay_factor: float = 16
    gradient_accumulation_status: GradientAccumulationStatus.Status = 17
    hot_id_replication_configuration: HotIdReplicationConfiguration = 18
    oneof parameters | adagrad: AdagradParameters = 3, bounded_adagrad: BoundedAdagradParameters = 19
    oneof parameters | stochastic_gradient_descent: StochasticGradientDescentParameters = 4
    oneof parameters | ftrl: FtrlParameters = 5, adam: AdamParameters = 6, momentum: MomentumParameters = 8
    oneof parameters | rms_prop: RmsPropParameters = 9, centered_rms_prop: CenteredRmsPropParameters = 10
    oneof parameters | mdl_adagrad_light: MdlAdagradLightParameters = 11, adadelta: AdadeltaParameters = 12
    oneof parameters | proximal_adagrad: ProximalAdagradParameters = 14, online_yogi: OnlineYogiParameters = 20
  message StateVariableSpecification
    name: string = 1
    oneof usage | user_defined: UserDefined = 2, fill_with_constant: FillWithConstant = 3
    message UserDefined
      padding_initial_value: double = 1
    message FillWithConstant
      initial_value: double = 1

file tensorflow/core/protobuf/tpu/topology.proto package tensorflow.tpu
  message TopologyProto
    mesh_shape: int32* = 1, num_tasks: int32 = 2, num_tpu_devices_per_task: int32 = 3
    device_coordinates: int32* = 4

file tensorflow/core/protobuf/tpu/tpu_embedding_configuration.proto package tensorflow.tpu
  message TPUEmbeddingConfiguration
    table_descriptor: TableDescriptor* = 1, mode: Mode = 2, batch_size_per_tensor_core: int32 = 3
    num_hosts: int32 = 4, num_tensor_cores: int32 = 5, sharding_strategy: ShardingStrategy = 6
    pipeline_execution_with_tensor_core: bool = 7, output_layout: TPUEmbeddingOutputLayout = 8
    enum Mode
      UNSPECIFIED = 0, INFERENCE = 1, TRAINING = 2, BACKWARD_PASS_ONLY = 3
    enum ShardingStrategy
      DIV_DEFAULT = 0, MOD = 1
    message TableDescriptor
      name: string = 1, vocabulary_size: int32 = 2, dimension: int32 = 3, num_features: int32 = 4
      optimization_parameters: OptimizationParameters = 5

file tensorflow/core/protobuf/tpu/tpu_embedding_output_layout.proto package tensorflow.tpu
  message TPUEmbeddingOutputLayout
    table: TableDescriptor* = 1, output: EmbeddingOutputTensor* = 2
    message OutputLocation
      tensor_index: int32 = 1, dim0_offset: int32 = 2, dim1_offset: int32 = 3
    message FeatureDescriptor
      output_location: OutputLocation* = 1
    message TableDescriptor
      feature: FeatureDescriptor* = 1
    message TwoDOutputTensor
      dim0_size_per_sample: int32 = 2, dim1_size: int32 = 1
    message EmbeddingOutputTensor
      oneof output_format | two_d: TwoDOutputTensor = 4
"""
