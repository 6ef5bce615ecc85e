"""Message definitions of `tensorflow/contrib/decision_trees` and `tensorflow/contrib/tensor_forest`."""

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
"""
