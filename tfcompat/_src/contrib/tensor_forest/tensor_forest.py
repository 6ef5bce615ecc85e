"""tf.contrib.tensor_forest: extremely random forests that grow online (Denil et al. 2013; Domingos and Hulten 2000)."""

from __future__ import annotations

import math
import numbers
import random
from typing import TYPE_CHECKING, Any

from google.protobuf import text_format

from tfcompat._src.base import dtypes
from tfcompat._src.contrib.framework.variables import VariableDeviceChooser
from tfcompat._src.contrib.tensor_forest import data_ops, kernels, tensor_forest_ops  # noqa: F401  (the operations)
from tfcompat._src.contrib.tensor_forest.params import PARAMS
from tfcompat._src.contrib.tensor_forest.splits import tree_message
from tfcompat._src.contrib.tensor_forest.variables import fertile_stats_variable, tree_variable
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, device
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, split, stack
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.array.shape import reshape, shape, squeeze
from tfcompat._src.ops.array.slice import strided_slice
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.binary import div, maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import less
from tfcompat._src.ops.math.reduce import reduce_mean, reduce_sum
from tfcompat._src.ops.math.unary import negative
from tfcompat._src.ops.random.stateful import random_uniform
from tfcompat._src.platform import logging
from tfcompat._src.variables.collections import local_variables
from tfcompat._src.variables.scope import get_variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

CLASSIFICATION_LEAF_MODEL_TYPES = {
    "all_dense": (PARAMS.MODEL_DENSE_CLASSIFICATION, PARAMS.STATS_DENSE_GINI),
    "all_sparse": (PARAMS.MODEL_SPARSE_CLASSIFICATION, PARAMS.STATS_SPARSE_GINI),
    "sparse_then_dense": (PARAMS.MODEL_SPARSE_OR_DENSE_CLASSIFICATION, PARAMS.STATS_SPARSE_THEN_DENSE_GINI),
}
REGRESSION_MODEL_TYPE = (PARAMS.MODEL_REGRESSION, PARAMS.STATS_LEAST_SQUARES_REGRESSION, PARAMS.COLLECTION_BASIC)
FINISH_TYPES = {
    "basic": PARAMS.SPLIT_FINISH_BASIC,
    "hoeffding": PARAMS.SPLIT_FINISH_DOMINATE_HOEFFDING,
    "bootstrap": PARAMS.SPLIT_FINISH_DOMINATE_BOOTSTRAP,
}
PRUNING_TYPES = {
    "none": PARAMS.SPLIT_PRUNE_NONE,
    "half": PARAMS.SPLIT_PRUNE_HALF,
    "quarter": PARAMS.SPLIT_PRUNE_QUARTER,
    "10_percent": PARAMS.SPLIT_PRUNE_10_PERCENT,
    "hoeffding": PARAMS.SPLIT_PRUNE_HOEFFDING,
}
SPLIT_TYPES = {
    "less_or_equal": tree_message("InequalityTest").LESS_OR_EQUAL,
    "less": tree_message("InequalityTest").LESS_THAN,
}


def parse_number_or_string_to_proto(proto: Any, param: Any) -> None:
    """Fills in a DepthDependentParam: a number, or the message as text."""
    if isinstance(param, numbers.Number):
        proto.constant_value = param
    elif param.isdigit():
        proto.constant_value = int(param)
    else:
        text_format.Merge(param, proto)


def build_params_proto(params: ForestHParams) -> Any:
    """The TensorForestParams message of filled parameters."""
    proto = PARAMS.TensorForestParams(
        num_trees=params.num_trees,
        max_nodes=params.max_nodes,
        is_regression=params.regression,
        num_outputs=params.num_classes,
        num_features=params.num_features,
        leaf_type=params.leaf_model_type,
        stats_type=params.stats_model_type,
        collection_type=PARAMS.COLLECTION_BASIC,
        inequality_test_type=params.split_type,
        drop_final_class=False,
        collate_examples=params.collate_examples,
        checkpoint_stats=params.checkpoint_stats,
        use_running_stats_method=params.use_running_stats_method,
        initialize_average_splits=params.initialize_average_splits,
        inference_tree_paths=params.inference_tree_paths,
    )
    proto.pruning_type.type = params.pruning_type
    proto.finish_type.type = params.finish_type
    parse_number_or_string_to_proto(proto.pruning_type.prune_every_samples, params.prune_every_samples)
    parse_number_or_string_to_proto(proto.finish_type.check_every_steps, params.early_finish_check_every_samples)
    parse_number_or_string_to_proto(proto.split_after_samples, params.split_after_samples)
    parse_number_or_string_to_proto(proto.num_splits_to_consider, params.num_splits_to_consider)
    proto.dominate_fraction.constant_value = params.dominate_fraction
    if params.param_file:
        with open(params.param_file) as file:
            text_format.Merge(file.read(), proto)
    return proto


class ForestHParams:
    """Parameters of a forest, as attributes; `fill` computes those that follow from others.

    Args:
      num_trees: int.
      max_nodes: int, per tree.
      bagging_fraction: the share of the examples that each tree sees.
      num_splits_to_consider: candidate splits per leaf; 0 for the square root of the number of features, from 10 to 1000.
      feature_bagging_fraction: the share of the features that each tree sees.
      max_fertile_nodes: not used since leaves are fertile from the start.
      split_after_samples: how many examples a leaf counts before it splits; a number, or a DepthDependentParam as text.
      valid_leaf_threshold: not used by these trees.
      dominate_method: not used: `split_finish_name` chooses it.
      dominate_fraction: how sure early decisions are.
      model_name: how classes are counted: "all_dense" or "all_sparse" ("sparse_then_dense" is not done).
      split_finish_name: "basic", "hoeffding" or "bootstrap": whether leaves may finish early.
      split_pruning_name: "none", "half", "quarter", "10_percent" or "hoeffding": which candidates go early.
      prune_every_samples: how often candidates go; 0 for half of `split_after_samples`.
      early_finish_check_every_samples: how often leaves may finish early; 0 for a quarter of `split_after_samples`.
      collate_examples: whether examples are counted leaf by leaf.
      checkpoint_stats: whether checkpoints hold the statistics of leaves.
      use_running_stats_method: keep running sums; the results are the same.
      initialize_average_splits: whether a threshold is half way between examples of two classes.
      inference_tree_paths: whether inference gives the nodes that an example passed.
      param_file: path of a TensorForestParams as text that is merged in.
      split_name: "less_or_equal" or "less".
      **kwargs: `num_classes` (the number of targets in regression) and `num_features`, which are needed; `regression`,
        `base_random_seed`, and anything else.
    """

    def __init__(
        self,
        num_trees=100,
        max_nodes=10000,
        bagging_fraction=1.0,
        num_splits_to_consider=0,
        feature_bagging_fraction=1.0,
        max_fertile_nodes=0,
        split_after_samples=250,
        valid_leaf_threshold=1,
        dominate_method="bootstrap",
        dominate_fraction=0.99,
        model_name="all_dense",
        split_finish_name="basic",
        split_pruning_name="none",
        prune_every_samples=0,
        early_finish_check_every_samples=0,
        collate_examples=False,
        checkpoint_stats=False,
        use_running_stats_method=False,
        initialize_average_splits=False,
        inference_tree_paths=False,
        param_file=None,
        split_name="less_or_equal",
        **kwargs,
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self", "kwargs", "__class__")}
        vars(self).update(given | kwargs)

    def values(self) -> dict[str, Any]:
        """The parameters by name."""
        return self.__dict__

    def fill(self) -> ForestHParams:
        """Computes the parameters that follow from others; gives the object itself.

        Raises:
          AttributeError: no `num_classes` or `num_features`.
          KeyError: a name of a method that there is not.
        """
        self.num_classes, self.num_features = self.num_classes, self.num_features
        self.bagged_num_features = int(self.feature_bagging_fraction * self.num_features)
        self.bagged_features = None
        if self.feature_bagging_fraction < 1.0:
            self.bagged_features = [
                random.sample(range(self.num_features), self.bagged_num_features) for _ in range(self.num_trees)
            ]
        self.regression = getattr(self, "regression", False)
        self.num_outputs = self.num_classes if self.regression else 1
        self.num_output_columns = self.num_classes + 1
        self.num_splits_to_consider = self.num_splits_to_consider or min(
            max(10, math.floor(math.sqrt(self.num_features))), 1000
        )
        self.base_random_seed = getattr(self, "base_random_seed", 0)
        models = REGRESSION_MODEL_TYPE if self.regression else CLASSIFICATION_LEAF_MODEL_TYPES[self.model_name]
        self.leaf_model_type, self.stats_model_type = models[:2]
        self.finish_type = PARAMS.SPLIT_FINISH_BASIC if self.regression else FINISH_TYPES[self.split_finish_name]
        self.pruning_type = PRUNING_TYPES[self.split_pruning_name]
        if self.pruning_type == PARAMS.SPLIT_PRUNE_NONE:
            self.prune_every_samples = 0
        self.prune_every_samples = self.prune_every_samples or self._share(self.pruning_type, 2)
        if self.finish_type == PARAMS.SPLIT_FINISH_BASIC:
            self.early_finish_check_every_samples = 0
        self.early_finish_check_every_samples = self.early_finish_check_every_samples or self._share(
            self.finish_type, 4
        )
        self.split_type = SPLIT_TYPES[self.split_name]
        return self

    def _share(self, strategy: int, parts: int) -> float:
        """A part of `split_after_samples`, or 0 where there is no strategy."""
        if not strategy:
            return 0
        if not (isinstance(self.split_after_samples, numbers.Number) or self.split_after_samples.isdigit()):
            logging.error("Must specify prune_every_samples if using a depth-dependent split_after_samples")
        return int(self.split_after_samples) / parts


def get_epoch_variable() -> Any:
    """The local variable that counts epochs of the input as a Tensor [1], or [0] where there is none."""
    for variable in local_variables():
        if "limit_epochs/epoch" in variable.op.name:
            return reshape(variable, [1])
    return [0]


class TreeVariables:
    """The handles of one tree: `tree`, and `stats`, which is None without training.

    Args:
      params: a filled ForestHParams.
      tree_num: the number of the tree.
      training: whether there are statistics.
      tree_config: serialized decision_trees.Model to start with, "" for a leaf.
      tree_stat: serialized FertileStats to start with.
    """

    def __init__(self, params: Any, tree_num: int, training: bool, tree_config: Any = "", tree_stat: object = "") -> None:
        if not isinstance(getattr(params, "params_proto", None), PARAMS.TensorForestParams):
            params.params_proto = build_params_proto(params)
        params.serialized_params_proto = params.params_proto.SerializeToString()
        self.stats = None
        if training:
            self.stats = fertile_stats_variable(params, tree_stat, self.get_tree_name("stats", tree_num))
        self.tree = tree_variable(params, tree_config, self.stats, self.get_tree_name("tree", tree_num))

    def get_tree_name(self, name: str, num: int) -> str:
        """The name of a resource of a tree."""
        return f"{name}-{num}"


class ForestVariables:
    """The variables of all trees, by number.

    Args:
      params: a filled ForestHParams.
      device_assigner: what `tf.device` takes; says where each tree is.
      training: whether there are statistics.
      tree_variables_class: makes the variables of one tree.
      tree_configs: a serialized model for each tree to start with.
      tree_stats: serialized statistics for each tree to start with.
    """

    def __init__(
        self, params: Any, device_assigner: object, training: bool = True, tree_variables_class: Any = TreeVariables,
        tree_configs: Any = None, tree_stats: Any = None,
    ) -> None:  # fmt: skip
        with device(device_assigner):
            self.device_dummies = [get_variable(name=f"device_dummy_{i}", shape=0) for i in range(params.num_trees)]
        self.variables: list[Any] = []
        for i in range(params.num_trees):
            start = {}
            if tree_configs is not None:
                start["tree_config"] = tree_configs[i]
            if tree_stats is not None:
                start["tree_stat"] = tree_stats[i]
            with device(self.device_dummies[i].device):
                self.variables.append(tree_variables_class(params, i, training, **start))

    def __setitem__(self, t: int, val: Any) -> None:
        self.variables[t] = val

    def __getitem__(self, t: int) -> Any:
        return self.variables[t]


class RandomForestGraphs:
    """Builds the nodes that train a forest and that ask it.

    Args:
      params: a filled ForestHParams.
      tree_configs: a serialized decision_trees.Model for each tree to start with.
      tree_stats: a serialized FertileStats for each tree to start with.
      device_assigner: what `tf.device` takes; says where each tree is.
      variables: a ForestVariables to use.
      tree_variables_class: makes the variables of one tree.
      tree_graphs: builds the nodes of one tree, RandomTreeGraphs by default.
      training: whether there are statistics of leaves.
    """

    def __init__(
        self, params: Any, tree_configs: Any = None, tree_stats: Any = None, device_assigner: Any = None, variables: Any = None,
        tree_variables_class: Any = TreeVariables, tree_graphs: Any = None, training: bool = True,
    ) -> None:  # fmt: skip
        self.params = params
        self.device_assigner = device_assigner or VariableDeviceChooser()
        logging.info("Constructing forest with params = ")
        logging.info(self.params.__dict__)
        self.variables = variables or ForestVariables(
            params,
            device_assigner=self.device_assigner,
            training=training,
            tree_variables_class=tree_variables_class,
            tree_configs=tree_configs,
            tree_stats=tree_stats,
        )
        tree_graph_class = tree_graphs or RandomTreeGraphs
        self.trees = [tree_graph_class(self.variables[i], params, i) for i in range(params.num_trees)]

    def _device(self, tree_num: int) -> Any:
        return device(self.variables.device_dummies[tree_num].device)

    def _bag_features(self, tree_num: int, input_data: object, sparse_features: object) -> Any:
        """The features that a tree sees."""
        if not self.params.bagged_features:
            return input_data
        if sparse_features is not None:
            raise NotImplementedError("Feature bagging not supported with sparse features.")
        columns = split(value=input_data, num_or_size_splits=self.params.num_features, axis=1)
        return concat([columns[i] for i in self.params.bagged_features[tree_num]], 1)

    def _bag_examples(self, seed: int, data: object, labels: TensorLike, sparse_features: object) -> tuple[Any, Any]:
        """The examples that a tree sees, at random."""
        if self.params.bagging_fraction >= 1.0:
            return data, labels
        if sparse_features is not None:
            raise NotImplementedError("Bagging not supported with sparse features.")
        drawn = random_uniform(strided_slice(shape(data), [0], [1]), seed=seed)
        chosen = squeeze(where_v2(less(drawn, ones_like(drawn) * self.params.bagging_fraction)), axis=[1])
        return gather(data, chosen), gather(labels, chosen)

    def get_all_resource_handles(self) -> list[Any]:
        """The handles of all trees, then of their statistics."""
        both = [self.variables[i] for i in range(len(self.trees))]
        return [each.tree for each in both] + [each.stats for each in both]

    def training_graph(
        self, input_data: TensorLike, input_labels: object, num_trainers: int = 1, trainer_id: int = 0, **tree_kwargs: Any
    ) -> Operation:
        """The operation that shows the trees a batch of examples, and splits their leaves that are finished.

        Args:
          input_data: Tensor [examples, features], SparseTensor, or dict of both.
          input_labels: Tensor [examples] or [examples, targets], SparseTensor or dict.
          num_trainers: among how many trainers the trees are divided.
          trainer_id: which one this is.
          **tree_kwargs: for `RandomTreeGraphs.training_graph`: `input_weights`, float32 [examples].

        Raises:
          NotImplementedError: bagging with sparse features.
        """
        data, sparse_features, data_spec = data_ops.ParseDataTensorOrDict(input_data)
        labels = data_ops.ParseLabelTensorOrDict(input_labels)
        share = self.params.num_trees / num_trainers
        trained = []
        for i in range(int(trainer_id * share), int((trainer_id + 1) * share)):
            with self._device(i):
                seed = self.params.base_random_seed
                seed += i if seed else 0
                tree_data, tree_labels = self._bag_examples(seed, data, labels, sparse_features)
                tree_data = self._bag_features(i, tree_data, sparse_features)
                trained.append(
                    self.trees[i].training_graph(
                        tree_data,
                        tree_labels,
                        seed,
                        data_spec=data_spec,
                        sparse_features=sparse_features,
                        **tree_kwargs,
                    )
                )
        return group(*trained, name="train")

    def inference_graph(self, input_data: TensorLike, **inference_args: Any) -> tuple[Tensor, Tensor, Tensor]:
        """What the forest predicts.

        Args:
          input_data: Tensor [examples, features], SparseTensor, or dict of both.
          **inference_args: for `RandomTreeGraphs.inference_graph`.

        Returns:
          float32 [examples, outputs]: probabilities of classes, or means of targets; string [examples, trees]: serialized
          TreePaths with `inference_tree_paths`; float32 [examples, outputs]: the variance among the trees.

        Raises:
          NotImplementedError: bagging with sparse features.
        """
        data, sparse_features, data_spec = data_ops.ParseDataTensorOrDict(input_data)
        probabilities, paths = [], []
        for i in range(self.params.num_trees):
            with self._device(i):
                tree_data = self._bag_features(i, data, sparse_features)
                found, path = self.trees[i].inference_graph(
                    tree_data, data_spec, sparse_features=sparse_features, **inference_args
                )
                probabilities.append(found)
                paths.append(path)
        with self._device(0):
            predictions = stack(probabilities, axis=1)
            average = div(reduce_sum(predictions, 1), self.params.num_trees, name="probabilities")
            tree_paths = stack(paths, axis=1)
            squares = div(reduce_sum(predictions * predictions, 1), self.params.num_trees)
            return average, tree_paths, maximum(0.0, squares - average * average)

    def average_size(self) -> Tensor:
        """The mean number of nodes of a tree, a float32 scalar."""
        sizes = []
        for i in range(self.params.num_trees):
            with self._device(i):
                sizes.append(self.trees[i].size())
        return reduce_mean(cast(stack(sizes), dtypes.float32))

    def training_loss(self, features: object, labels: object, name: str = "training_loss") -> Tensor:
        """Minus the average size, which stops falling when the trees stop growing."""
        return negative(self.average_size(), name=name)

    def validation_loss(self, features: object, labels: object) -> Tensor:
        """Minus the average size."""
        return negative(self.average_size())

    def average_impurity(self) -> Tensor:
        """The mean of `average_impurity` of the trees, which a class given as `tree_graphs` may have."""
        impurities = []
        for i in range(self.params.num_trees):
            with self._device(i):
                impurities.append(self.trees[i].average_impurity())
        return reduce_mean(stack(impurities))

    def feature_importances(self) -> Tensor:
        """The share of the nodes that use each feature, float64 [features]."""
        counts = [tree.feature_usage_counts() for tree in self.trees]
        total = reduce_sum(stack(counts, 0), 0)
        return total / reduce_sum(total)


class RandomTreeGraphs:
    """Builds the nodes that train one tree and that ask it.

    Args:
      variables: its TreeVariables.
      params: a filled ForestHParams.
      tree_num: the number of the tree.
    """

    def __init__(self, variables: Any, params: Any, tree_num: int) -> None:
        self.variables, self.params, self.tree_num = variables, params, tree_num

    def _data(self, input_data: object, sparse_features: SparseTensor | None) -> list[Any]:
        """Dense features, and indices, values and shape of sparse ones; [] for what there is not."""
        dense = [] if input_data is None else input_data
        if sparse_features is None:
            return [dense, [], [], []]
        return [dense, sparse_features.indices, sparse_features.values, sparse_features.dense_shape]

    def training_graph(
        self,
        input_data: Any,
        input_labels: object,
        random_seed: int,
        data_spec: Any,
        sparse_features: Any = None,
        input_weights: Any = None,
    ) -> Operation:
        """The operation that shows the tree a batch of examples.

        Args:
          input_data: dense features, float32 [examples, features], or None.
          input_labels: float32 [examples] or [examples, targets].
          random_seed: seed of the candidates; 0 for other ones each time.
          data_spec: a TensorForestDataSpec.
          sparse_features: SparseTensor or None.
          input_weights: float32 [examples]; None: all are 1.
        """
        cast(get_epoch_variable(), dtypes.int32)
        weights = [] if input_weights is None else input_weights
        data = self._data(input_data, sparse_features)
        spec, params = data_spec.SerializeToString(), self.params.serialized_params_proto
        leaf_ids = raw.TraverseTreeV4(self.variables.tree, *data, input_spec=spec, params=params)
        update = raw.UpdateModelV4(self.variables.tree, leaf_ids, input_labels, weights, params=params)
        finished = raw.ProcessInputV4(
            self.variables.tree, self.variables.stats, *data, input_labels, weights, leaf_ids,
            input_spec=spec, random_seed=random_seed, params=params,
        )  # fmt: skip
        with control_dependencies([update]):
            return raw.GrowTreeV4(self.variables.tree, self.variables.stats, finished, params=params)

    def inference_graph(self, input_data: Any, data_spec: Any, sparse_features: Any = None) -> tuple[Tensor, Tensor]:
        """What the tree predicts, float32 [examples, outputs], and serialized TreePaths, string [examples] or [0]."""
        data = self._data(input_data, sparse_features)
        spec, params = data_spec.SerializeToString(), self.params.serialized_params_proto
        return raw.TreePredictionsV4(self.variables.tree, *data, input_spec=spec, params=params)

    def size(self) -> Tensor:
        """The number of nodes, an int32 scalar."""
        return raw.TreeSize(self.variables.tree)

    def feature_usage_counts(self) -> Tensor:
        """How many nodes use each feature, int32 [features]."""
        return raw.FeatureUsageCounts(self.variables.tree, params=self.params.serialized_params_proto)
