"""tf.contrib.estimator.replicate_model_fn: one copy of a model on each device, for a part of the batch each."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.device import DeviceSpecV1 as DeviceSpec
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.contrib.estimator.tower_optimizer import TowerOptimizer, scaled, summed_on
from tfcompat._src.estimator.model_fn import EstimatorSpec
from tfcompat._src.estimator.util import fn_args
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, get_collection, name_scope
from tfcompat._src.graph.scopes import device as on_device
from tfcompat._src.losses.losses import Reduction
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import concat, split, stack
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.ops.sparse.layout import sparse_split
from tfcompat._src.platform import logging
from tfcompat._src.runtime.devices.device_lib import list_local_devices
from tfcompat._src.saved_model.model_utils.export_output import ClassificationOutput, PredictOutput, RegressionOutput
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys as ModeKeys
from tfcompat._src.train.device_setter import _RoundRobinStrategy
from tfcompat._src.variables.assign import assign, assign_add
from tfcompat._src.variables.scope import variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")


class _VariableDistributionMode:
    """Where variables are placed: all on one device, or each on the next device."""

    SHARED_LOCAL_PARAMETER_SERVER = 1
    SHARED_ROUND_ROBIN = 2


@export("contrib.estimator.replicate_model_fn")
def replicate_model_fn(
    model_fn: Callable, loss_reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS, devices: list[str] | None = None
) -> Callable:
    """A model function that builds `model_fn` once for each device, with a part of the batch, and joins what they give.

    Losses and gradients are summed (their shares, unless `loss_reduction` is SUM), metrics are added up, predictions put after each
    other; all else is the first tower's. Variables are shared.

    Args:
      model_fn: an Estimator's model function, whose optimizers are wrapped with `TowerOptimizer`.
      loss_reduction: how `model_fn` reduces its loss, a `tf.losses.Reduction`.
      devices: names of devices; by default all GPUs, or the CPUs where there is none.

    Returns:
      the model function.

    Raises:
      ValueError: `loss_reduction` is NONE; when it is called, the batch is not divisible by the number of devices, or optimizers
        are not wrapped or not called alike.
    """
    return _replicate_model_fn_with_mode(model_fn, loss_reduction, devices)


def _replicate_model_fn_with_mode(
    model_fn: Callable, loss_reduction: str, devices: list[str] | None = None,
    mode: int = _VariableDistributionMode.SHARED_LOCAL_PARAMETER_SERVER,
) -> Callable:  # fmt: skip
    if loss_reduction == Reduction.NONE:
        raise ValueError(f"Tower losses need to be reduced in some way, yet {loss_reduction} reduction is specified.")
    devices = devices or _get_local_devices("GPU") or _get_local_devices("CPU")
    main = devices[0] if len(devices) == 1 and "GPU" in devices[0].upper() else "/CPU:0"
    holders = devices if mode == _VariableDistributionMode.SHARED_ROUND_ROBIN else [main]
    logging.info(
        "Replicating the `model_fn` across %s.  Variables are going to be placed on %s.  Consolidation device is going to be %s.",
        devices, holders, main,
    )  # fmt: skip

    def replicated(features: TensorLike, labels: TensorLike, mode: str, params: object = None, config: object = None) -> EstimatorSpec | None:
        if len(devices) == 1:
            parts = [features], [labels]
        else:
            parts = _split_batch(features, labels, len(devices), device=main)
        specs = _get_loss_towers(model_fn, mode, *parts, params, config, devices, holders, loss_reduction)
        if len(devices) == 1:
            return specs[0]
        joined = {ModeKeys.TRAIN: _train_spec, ModeKeys.EVAL: _eval_spec, ModeKeys.PREDICT: _predict_spec}.get(mode)
        return joined(specs, main) if joined else None

    return replicated


def _get_local_devices(device_type: str) -> list[str]:
    return [found.name for found in list_local_devices() if found.device_type == device_type]


# ---- the batch ----


def _split_batch(features: TensorLike, labels: TensorLike, number_of_shards: int, device: str) -> tuple[Any, Any]:
    """Features and labels as a list of their parts along the first dimension; None for labels that are None."""
    with name_scope("split_inputs"), on_device(device):
        return _shards(features, number_of_shards), None if labels is None else _shards(labels, number_of_shards)



def _shards(given: TensorLike, number: int) -> list[Any]:
    if isinstance(given, dict):
        parts = {key: _shards(value, number) for key, value in given.items()}
        return [{key: shards[i] for key, shards in parts.items()} for i in range(number)]
    if isinstance(given, SparseTensor):
        return sparse_split(sp_input=given, num_split=number, axis=0)
    size = convert_to_tensor(given).get_shape()[0]
    if size % number != 0:
        raise ValueError(f"Batch size {size} needs to be divisible by the number of GPUs, which is {number}.")
    return split(given, number)


# ---- the towers ----


def _get_loss_towers(
    model_fn: Callable, mode: str, features: Any, labels: Any, params: Any, config: Any, devices: list[str],
    local_ps_devices: list[str], loss_reduction: str, name_scope_pattern: str = "tower_{}",
) -> list[EstimatorSpec]:  # fmt: skip
    """What `model_fn` gives on each device; the names of the first tower have no scope, variables are those of the first."""
    accepted = fn_args(model_fn)
    options = {key: copy.deepcopy(value) for key, value in (("params", params), ("config", config)) if key in accepted}
    turn = _RoundRobinStrategy(len(local_ps_devices))
    towers = TowerOptimizer._graph_state()
    towers.reduction, towers.count = loss_reduction, len(devices)
    specs = []
    for i, where in enumerate(devices):
        scope = name_scope_pattern.format(i) if i else ""
        with variable_scope("", reuse=i != 0) as variables, name_scope(scope) as names, towers.tower(i, variables, names):
            with on_device(_local_device_setter(where, local_ps_devices, turn)):
                spec = model_fn(mode=mode, features=features[i], labels=labels[i] if labels else None, **options)
                if spec.train_op is not None and len(devices) > 1 and not TowerOptimizer.has_been_used():
                    raise ValueError("Please wrap optimizers with TowerOptimizer in order to use replicate_model_fn with multiple `devices`.")
                specs.append(_with(spec, loss=scaled(spec.loss, loss_reduction, len(devices))))
    if not towers.had_same_calls():
        raise ValueError("Each invocation of model_fn was supposed to make the same optimizer calls.")
    TowerOptimizer._clear_graph_state()
    return specs


def _local_device_setter(worker_device: str, ps_devices: list[str], ps_strategy: Callable) -> Callable:
    """A device function: variables go to the holders in turn, all else to the tower's device."""

    def choose(op: Any) -> str:
        kind = op.op if hasattr(op, "op") else op.type
        found = DeviceSpec.from_string(ps_devices[ps_strategy(op)] if kind in _VARIABLES else worker_device or "")
        found.merge_from(DeviceSpec.from_string(op.device or ""))
        return found.to_string()

    return choose


# ---- what the towers give ----


def _with(spec: EstimatorSpec, **changed: Any) -> EstimatorSpec:
    return EstimatorSpec(**{**{key: getattr(spec, key) for key in spec._fields}, **changed})


def _train_spec(tower_specs: list[EstimatorSpec], aggregation_device: str, aggregated_loss_name: str = "loss") -> EstimatorSpec:
    loss = summed_on(aggregation_device, [spec.loss for spec in tower_specs], aggregated_loss_name)
    return _with(tower_specs[-1], mode=ModeKeys.TRAIN, loss=loss)


def _eval_spec(tower_specs: list[EstimatorSpec], aggregation_device: str, aggregated_loss_name: str = "loss") -> EstimatorSpec:
    first = tower_specs[0]
    loss = summed_on(aggregation_device, [spec.loss for spec in tower_specs], aggregated_loss_name)
    with control_dependencies([update for spec in tower_specs for _, update in spec.eval_metric_ops.values()]):
        added = _reduce_metric_variables(len(tower_specs))
    metrics = {name: (value, added) for name, (value, _) in first.eval_metric_ops.items()}
    return _with(first, mode=ModeKeys.EVAL, loss=loss, eval_metric_ops=metrics)


def _reduce_metric_variables(number_of_towers: int) -> Operation:
    """Adds the metric variables of the other towers to the first one's, and sets them to zero."""
    if number_of_towers == 1:
        return no_op(name="no_eval_metric_reduction")
    variables = get_collection(GraphKeys.METRIC_VARIABLES)
    count, rest = divmod(len(variables), number_of_towers)
    if rest:
        raise ValueError(
            "Different `EstimatorSpec.eval_metric_ops` across `model_fn()` calls. "
            f"Expected {count * number_of_towers} local variables, but got {len(variables)} instead."
        )
    emptied = []
    for i in range(count):
        others = variables[i + count :: count]
        with control_dependencies([assign_add(variables[i], add_n(others))]):
            emptied += [assign(other, zeros(shape(other), dtype=other.dtype)) for other in others]
    return group(*emptied)


def _predict_spec(tower_specs: list[EstimatorSpec], aggregation_device: str) -> EstimatorSpec:
    with on_device(aggregation_device):
        predictions = _joined([spec.predictions for spec in tower_specs])
        outputs = {
            name: _joined_output(found)
            for name, found in _by_name([spec.export_outputs for spec in tower_specs]).items()
        }
    return _with(tower_specs[0], mode=ModeKeys.PREDICT, predictions=predictions, export_outputs=outputs)


def _joined_output(outputs: list[Any]) -> Any:
    """One export output of those of all towers."""
    first = outputs[0]
    if isinstance(first, PredictOutput):
        return PredictOutput(outputs=_joined([output.outputs for output in outputs]))
    if isinstance(first, RegressionOutput):
        return RegressionOutput(value=concat([output.value for output in outputs], axis=0))
    if not isinstance(first, ClassificationOutput):
        raise TypeError(f"replicate_model_fn cannot join export outputs of type {type(first).__name__}.")
    scores = None if first.scores is None else concat([output.scores for output in outputs], axis=0)
    classes = None if first.classes is None else stack([output.classes for output in outputs], axis=0)
    return ClassificationOutput(scores=scores, classes=classes)


def _by_name(dicts: list[dict[str, Any] | None]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for given in dicts:
        for key, value in (given or {}).items():
            found.setdefault(key, []).append(value)
    return found


def _joined(dicts: list[dict[str, Any] | None]) -> dict[str, Any]:
    """Tensors of the same name after each other."""
    return {name: concat(tensors, axis=0, name=name) for name, tensors in _by_name(dicts).items()}
