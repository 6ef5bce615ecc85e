"""tf.keras.mixed_precision.experimental.Policy: the dtypes in which layers compute and keep their weights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from tfcompat._src.base import dtypes, mixed_precision_state
from tfcompat._src.base.export import export
from tfcompat._src.keras.backend.config import floatx
from tfcompat._src.keras.engine.base_layer_utils import v2_dtype_behavior_enabled
from tfcompat._src.platform import logging
from tfcompat._src.train import loss_scale as loss_scales

USE_DEFAULT = "USE_DEFAULT"
_FLOAT32_VARIABLES = "_with_float32_vars"
_OTHER_NAMES = {
    "infer_float32_vars": "infer_with_float32_vars",
    "float32_with_float32_vars": "float32",
}


def _dtypes_of(name: str) -> tuple[str | None, str | None]:
    """The dtypes (of computation, of variables) that a name says, None where they come from the inputs."""
    if name in ("mixed_float16", "mixed_bfloat16"):
        return name.removeprefix("mixed_"), "float32"
    base = name.removesuffix(_FLOAT32_VARIABLES)
    try:
        compute = None if base == "infer" else dtypes.as_dtype(base).name
    except TypeError:
        more = f" The value {name} ends with _with_float32_vars, but {base} cannot be converted to a DType"
        raise ValueError(
            f"Cannot convert value {name} to a mixed precision Policy. Valid policies include include those in the "
            'form "<dtype>" and "<dtype>_with_float32_vars", where <dtype> is the name of a dtype.'
            + (more if base != name else "")
        ) from None
    return compute, compute if base == name else "float32"


@export("keras.mixed_precision.experimental.Policy")
class Policy:
    """In which dtypes a layer computes and keeps its weights.

    Args:
      name: a dtype's name; "<dtype>_with_float32_vars", "mixed_float16" or "mixed_bfloat16" for weights of float32;
        "infer" or "infer_with_float32_vars" for the dtype of the first input.
      loss_scale: factor of the loss of a model: a LossScale, a number or "dynamic"; by default "dynamic" for
        "mixed_float16" and none for others.

    Raises:
      TypeError: `name` is no string. ValueError: it says no dtype.
    """

    def __init__(self, name: str, loss_scale: Any = USE_DEFAULT) -> None:
        if isinstance(name, dtypes.DType):
            raise TypeError(f"'name' must be a string, not a DType. Instead, pass DType.name. Got: {name.name}")
        if not isinstance(name, str):
            raise TypeError(f"'name' must be a string, but got: {name}")
        self._name = _OTHER_NAMES.get(name, name)
        self._compute_dtype, self._variable_dtype = _dtypes_of(self._name)
        if loss_scale == USE_DEFAULT:
            loss_scale = "dynamic" if name == "mixed_float16" else None
        if loss_scale and self._compute_dtype not in (None, "float16"):
            logging.warn(
                "Creating a Policy with a loss scale is only useful for float16 policies. You passed "
                f"loss_scale={loss_scale!r} for policy {self._name}. Consider not passing any loss_scale instead."
            )
        self._loss_scale = loss_scales.get(loss_scale)

    name = property(lambda self: self._name)
    compute_dtype = property(lambda self: self._compute_dtype)
    variable_dtype = property(lambda self: self._variable_dtype)
    loss_scale = property(lambda self: self._loss_scale)
    should_cast_variables = property(lambda self: self._variable_dtype != self._compute_dtype)

    def __repr__(self) -> str:
        return f'<Policy "{self._name}", loss_scale={self._loss_scale}>'


def with_input_dtype(policy: Policy, dtype: Any) -> Policy:
    """The policy that an "infer" policy becomes when the first input has `dtype`."""
    name = dtypes.as_dtype(dtype).name
    return Policy(name if policy.variable_dtype is None else name + _FLOAT32_VARIABLES)


_global_policy: Policy | None = None


@export("keras.mixed_precision.experimental.global_policy")
def global_policy() -> Policy:
    """The policy of layers that are given none."""
    if _global_policy is not None:
        return _global_policy
    return Policy(floatx() if v2_dtype_behavior_enabled() else "infer")


def policy_defaults_to_floatx() -> bool:
    """Whether layers that are given no policy compute in floatx."""
    return _global_policy is None and v2_dtype_behavior_enabled()


@export("keras.mixed_precision.experimental.set_policy")
def set_policy(policy: Any) -> None:
    """Sets the policy of layers that are given none.

    Args:
      policy: a Policy, the name of one, or None for the default.

    Raises:
      ValueError: it does not take the dtype of inputs, and layers are those of TensorFlow 1; or
        `enable_mixed_precision_graph_rewrite` was called.
    """
    global _global_policy
    if mixed_precision_state.mixed_precision_graph_rewrite_is_enabled:
        raise ValueError(
            "The mixed precision policy cannot be set, because the mixed precision graph rewrite has already been enabled: call "
            "tf.train.experimental.enable_mixed_precision_graph_rewrite() or this function, not both."
        )
    if policy is not None and not isinstance(policy, Policy):
        policy = Policy(policy)
    if policy and policy.compute_dtype and not v2_dtype_behavior_enabled():
        raise ValueError("The global policy can only be set to a non-infer policy in TensorFlow 2")
    _global_policy = policy
    mixed_precision_state.using_default_mixed_precision_policy = policy is None


@contextlib.contextmanager
def policy_scope(policy: Any) -> Iterator[None]:
    """A block with another policy of layers that are given none."""
    before = _global_policy
    set_policy(policy)
    try:
        yield
    finally:
        set_policy(before)
