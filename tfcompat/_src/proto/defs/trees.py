"""Message definitions of `tensorflow/contrib/decision_trees`, `tensor_forest` and `boosted_trees`."""

DEFINITIONS = """\
file tensorflow/contrib/decision_trees/proto/generic_tree_model.proto package tensorflow.decision_trees
  message Model
    oneof model | decision_tree: DecisionTree = 1, ensemble: Ensemble = 2, custom_model: google.protobuf.Any = 3
    additional_data: google.protobuf.Any* = 4
  message ModelAndFeatures
    features: {string: Feature} = 1, model: Model = 2, additional_data: google.protobuf.Any* = 3
    message Feature
      feature_id: FeatureId = 1, additional_data: google.protobuf.Any* = 2
  message Ensemble
    members: Member* = 100
    oneof combination_technique | summation_combination_technique: Summation = 1
    oneof combination_technique | averaging_combination_technique: Averaging = 2
    oneof combination_technique | custom_combination_technique: google.protobuf.Any = 3
    additional_data: google.protobuf.Any* = 4
    message Member
      submodel: Model = 1, submodel_id: google.protobuf.Int32Value = 2, additional_data: google.protobuf.Any* = 3
  message Summation
    additional_data: google.protobuf.Any* = 1
  message Averaging
    additional_data: google.protobuf.Any* = 1
  message DecisionTree
    nodes: TreeNode* = 1, additional_data: google.protobuf.Any* = 2
  message TreeNode
    node_id: google.protobuf.Int32Value = 1, depth: google.protobuf.Int32Value = 2
    subtree_size: google.protobuf.Int32Value = 3
    oneof node_type | binary_node: BinaryNode = 4, leaf: Leaf = 5, custom_node_type: google.protobuf.Any = 6
    additional_data: google.protobuf.Any* = 7
  message BinaryNode
    left_child_id: google.protobuf.Int32Value = 1, right_child_id: google.protobuf.Int32Value = 2
    default_direction: Direction = 3
    oneof left_child_test | inequality_left_child_test: InequalityTest = 4, custom_left_child_test: google.protobuf.Any = 5
    enum Direction
      LEFT = 0, RIGHT = 1
  message SparseVector
    sparse_value: {int64: Value} = 1
  message Vector
    value: Value* = 1
  message Leaf
    oneof leaf | vector: Vector = 1, sparse_vector: SparseVector = 2
    additional_data: google.protobuf.Any* = 3
  message FeatureId
    id: google.protobuf.StringValue = 1, additional_data: google.protobuf.Any* = 2
  message ObliqueFeatures
    features: FeatureId* = 1, weights: float* = 2
  message InequalityTest
    oneof FeatureSum | feature_id: FeatureId = 1, oblique: ObliqueFeatures = 4
    type: Type = 2, threshold: Value = 3
    enum Type
      LESS_OR_EQUAL = 0, LESS_THAN = 1, GREATER_OR_EQUAL = 2, GREATER_THAN = 3
  message Value
    oneof value | float_value: float = 1, double_value: double = 2, int32_value: int32 = 3, int64_value: int64 = 4
    oneof value | custom_value: google.protobuf.Any = 5

file tensorflow/contrib/decision_trees/proto/generic_tree_model_extensions.proto package tensorflow.decision_trees
  message MatchingValuesTest
    feature_id: FeatureId = 1, value: Value* = 2, inverse: bool = 3
  message ConstResultTest
    feature_id: FeatureId = 1, value_for_dtype: Value = 2, test_result: bool = 3

file tensorflow/contrib/tensor_forest/proto/tensor_forest_params.proto package tensorflow.tensorforest
  enum LeafModelType
    MODEL_DENSE_CLASSIFICATION = 0, MODEL_SPARSE_CLASSIFICATION = 1, MODEL_REGRESSION = 2
    MODEL_SPARSE_OR_DENSE_CLASSIFICATION = 3
  enum StatsModelType
    STATS_DENSE_GINI = 0, STATS_SPARSE_GINI = 1, STATS_LEAST_SQUARES_REGRESSION = 2, STATS_SPARSE_THEN_DENSE_GINI = 3
    STATS_FIXED_SIZE_SPARSE_GINI = 4
  enum SplitCollectionType
    COLLECTION_BASIC = 0, GRAPH_RUNNER_COLLECTION = 1
  enum SplitPruningStrategyType
    SPLIT_PRUNE_NONE = 0, SPLIT_PRUNE_HALF = 1, SPLIT_PRUNE_QUARTER = 2, SPLIT_PRUNE_10_PERCENT = 3
    SPLIT_PRUNE_HOEFFDING = 4
  message SplitPruningConfig
    prune_every_samples: DepthDependentParam = 1, type: SplitPruningStrategyType = 2
  enum SplitFinishStrategyType
    SPLIT_FINISH_BASIC = 0, SPLIT_FINISH_DOMINATE_HOEFFDING = 2, SPLIT_FINISH_DOMINATE_BOOTSTRAP = 3
  message SplitFinishConfig
    check_every_steps: DepthDependentParam = 1, type: SplitFinishStrategyType = 2
  message LinearParam
    slope: float = 1, y_intercept: float = 2, min_val: float = 3, max_val: float = 4
  message ExponentialParam
    bias: float = 1, base: float = 2, multiplier: float = 3, depth_multiplier: float = 4
  message ThresholdParam
    on_value: float = 1, off_value: float = 2, threshold: float = 3
  message DepthDependentParam
    oneof ParamType | constant_value: float = 1, linear: LinearParam = 2, exponential: ExponentialParam = 3
    oneof ParamType | threshold: ThresholdParam = 4
  message TensorForestParams
    leaf_type: LeafModelType = 1, stats_type: StatsModelType = 2, collection_type: SplitCollectionType = 3
    pruning_type: SplitPruningConfig = 4, finish_type: SplitFinishConfig = 5, num_trees: int32 = 6, max_nodes: int32 = 7
    num_features: int32 = 21, inequality_test_type: decision_trees.InequalityTest.Type = 19, is_regression: bool = 8
    drop_final_class: bool = 9, collate_examples: bool = 10, checkpoint_stats: bool = 11
    use_running_stats_method: bool = 20, initialize_average_splits: bool = 22, inference_tree_paths: bool = 23
    num_outputs: int32 = 12, num_splits_to_consider: DepthDependentParam = 13
    split_after_samples: DepthDependentParam = 14, dominate_fraction: DepthDependentParam = 15
    min_split_samples: DepthDependentParam = 18, graph_dir: string = 16, num_select_features: int32 = 17
    num_classes_to_track: int32 = 24

file tensorflow/contrib/tensor_forest/proto/fertile_stats.proto package tensorflow.tensorforest
  message FertileStats
    node_to_slot: FertileSlot* = 1
  message GiniStats
    square: float = 2
  message LeafStat
    weight_sum: float = 3
    oneof leaf_stat | classification: GiniImpurityClassificationStats = 1, regression: LeastSquaresRegressionStats = 2
    message GiniImpurityClassificationStats
      oneof counts | dense_counts: decision_trees.Vector = 1, sparse_counts: decision_trees.SparseVector = 2
      gini: GiniStats = 3
    message LeastSquaresRegressionStats
      mean_output: decision_trees.Vector = 1, mean_output_squares: decision_trees.Vector = 2
  message FertileSlot
    leaf_stats: LeafStat = 4, candidates: SplitCandidate* = 1, post_init_leaf_stats: LeafStat = 6, node_id: int32 = 5
    depth: int32 = 7
  message SplitCandidate
    split: decision_trees.BinaryNode = 1, left_stats: LeafStat = 4, right_stats: LeafStat = 5, unique_id: string = 6
  message TreePath
    nodes_visited: decision_trees.TreeNode* = 1

file tensorflow/contrib/boosted_trees/proto/tree_config.proto package tensorflow.boosted_trees.trees
  message TreeNode
    oneof node | leaf: Leaf = 1, dense_float_binary_split: DenseFloatBinarySplit = 2
    oneof node | sparse_float_binary_split_default_left: SparseFloatBinarySplitDefaultLeft = 3
    oneof node | sparse_float_binary_split_default_right: SparseFloatBinarySplitDefaultRight = 4
    oneof node | categorical_id_binary_split: CategoricalIdBinarySplit = 5
    oneof node | categorical_id_set_membership_binary_split: CategoricalIdSetMembershipBinarySplit = 6
    oneof node | oblivious_dense_float_binary_split: ObliviousDenseFloatBinarySplit = 7
    oneof node | oblivious_categorical_id_binary_split: ObliviousCategoricalIdBinarySplit = 8
    node_metadata: TreeNodeMetadata = 777
  message TreeNodeMetadata
    gain: float = 1, original_leaf: Leaf = 2, original_oblivious_leaves: Leaf* = 3
  message Leaf
    oneof leaf | vector: Vector = 1, sparse_vector: SparseVector = 2
  message Vector
    value: float* = 1
  message SparseVector
    index: int32* = 1, value: float* = 2
  message DenseFloatBinarySplit
    feature_column: int32 = 1, dimension_id: int32 = 5, threshold: float = 2, left_id: int32 = 3, right_id: int32 = 4
  message SparseFloatBinarySplitDefaultLeft
    split: DenseFloatBinarySplit = 1
  message SparseFloatBinarySplitDefaultRight
    split: DenseFloatBinarySplit = 1
  message CategoricalIdBinarySplit
    feature_column: int32 = 1, feature_id: int64 = 2, left_id: int32 = 3, right_id: int32 = 4
  message CategoricalIdSetMembershipBinarySplit
    feature_column: int32 = 1, feature_ids: int64* = 2, left_id: int32 = 3, right_id: int32 = 4
  message ObliviousDenseFloatBinarySplit
    feature_column: int32 = 1, threshold: float = 2
  message ObliviousCategoricalIdBinarySplit
    feature_column: int32 = 1, feature_id: int64 = 2
  message DecisionTreeConfig
    nodes: TreeNode* = 1
  message DecisionTreeMetadata
    num_tree_weight_updates: int32 = 1, num_layers_grown: int32 = 2, is_finalized: bool = 3
  message GrowingMetadata
    num_trees_attempted: int64 = 1, num_layers_attempted: int64 = 2, used_handler_ids: int64* = 3
  message DecisionTreeEnsembleConfig
    trees: DecisionTreeConfig* = 1, tree_weights: float* = 2, tree_metadata: DecisionTreeMetadata* = 3
    growing_metadata: GrowingMetadata = 4

file tensorflow/contrib/boosted_trees/proto/learner.proto package tensorflow.boosted_trees.learner
  message TreeRegularizationConfig
    l1: float = 1, l2: float = 2, tree_complexity: float = 3
  message TreeConstraintsConfig
    max_tree_depth: uint32 = 1, min_node_weight: float = 2, max_number_of_unique_feature_columns: int64 = 3
  message LearningRateConfig
    oneof tuner | fixed: LearningRateFixedConfig = 1, dropout: LearningRateDropoutDrivenConfig = 2
    oneof tuner | line_search: LearningRateLineSearchConfig = 3
  message LearningRateFixedConfig
    learning_rate: float = 1
  message LearningRateLineSearchConfig
    max_learning_rate: float = 1, num_steps: int32 = 2
  message AveragingConfig
    oneof config | average_last_n_trees: float = 1, average_last_percent_trees: float = 2
  message LearningRateDropoutDrivenConfig
    dropout_probability: float = 1, probability_of_skipping_dropout: float = 2, learning_rate: float = 3
  message LearnerConfig
    enum PruningMode
      PRUNING_MODE_UNSPECIFIED = 0, PRE_PRUNE = 1, POST_PRUNE = 2
    enum GrowingMode
      GROWING_MODE_UNSPECIFIED = 0, WHOLE_TREE = 1, LAYER_BY_LAYER = 2
    enum MultiClassStrategy
      MULTI_CLASS_STRATEGY_UNSPECIFIED = 0, TREE_PER_CLASS = 1, FULL_HESSIAN = 2, DIAGONAL_HESSIAN = 3
    enum WeakLearnerType
      NORMAL_DECISION_TREE = 0, OBLIVIOUS_DECISION_TREE = 1
    num_classes: uint32 = 1
    oneof feature_fraction | feature_fraction_per_tree: float = 2, feature_fraction_per_level: float = 3
    regularization: TreeRegularizationConfig = 4, constraints: TreeConstraintsConfig = 5, pruning_mode: PruningMode = 8
    growing_mode: GrowingMode = 9, learning_rate_tuner: LearningRateConfig = 6
    multi_class_strategy: MultiClassStrategy = 10, averaging_config: AveragingConfig = 11
    weak_learner_type: WeakLearnerType = 12, each_tree_start: boosted_trees.trees.DecisionTreeConfig = 13
    each_tree_start_num_layers: int32 = 14

file tensorflow/contrib/boosted_trees/proto/split_info.proto package tensorflow.boosted_trees.learner
  message SplitInfo
    split_node: boosted_trees.trees.TreeNode = 1, left_child: boosted_trees.trees.Leaf = 2
    right_child: boosted_trees.trees.Leaf = 3
  message ObliviousSplitInfo
    split_node: boosted_trees.trees.TreeNode = 1, children: boosted_trees.trees.Leaf* = 2, children_parent_id: int32* = 3

file tensorflow/contrib/boosted_trees/proto/quantiles.proto package boosted_trees
  message QuantileConfig
    eps: double = 1, num_quantiles: int64 = 2
  message QuantileEntry
    value: float = 1, weight: float = 2, min_rank: float = 3, max_rank: float = 4
  message QuantileSummaryState
    entries: QuantileEntry* = 1
  message QuantileStreamState
    summaries: QuantileSummaryState* = 1
"""
