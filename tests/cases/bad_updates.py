"""Bad input of the ops that apply gradients to variables: shapes, positions and numbers that do not fit."""

import numpy as np

from cases.bad_control import fed
from cases.table import Table

TABLE = Table("bad_updates")
error_case = TABLE.error_case

_START = np.arange(1.0, 7.0, dtype=np.float32).reshape(3, 2)


def applied(tf, name, variables, resource=True, **inputs):
    """What an op of the name gives, once its variables have been initialized; others than `variables` are fed."""
    held = {}
    for key, value in variables.items():
        held[key] = tf.Variable(fed(tf, value), validate_shape=False, use_resource=resource, name=key)
    handles = {key: v.handle if resource else v._ref() for key, v in held.items()}
    with tf.control_dependencies([v.initializer for v in held.values()]):
        others = {key: tf.identity(fed(tf, value)) for key, value in inputs.items()}
    done = getattr(tf.raw_ops, ("Resource" if resource else "") + name)(**dict(handles, **others))
    with tf.control_dependencies([done]):
        return tf.constant(0)


def rows(tf, name, indices=(0, 2), grad=_START[:2], resource=True, slots=("accum",), slot=_START, **numbers):
    """A sparse update of a variable [3, 2] and of slots."""
    variables = dict({key: slot for key in slots}, var=_START)
    return applied(tf, name, variables, resource, indices=np.array(indices, np.int32), grad=grad, **numbers)


def adam(tf, grad=_START, m=_START, resource=True, **numbers):
    given = dict.fromkeys(("beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon"), 0.5)
    return applied(tf, "ApplyAdam", {"var": _START, "m": m, "v": _START}, resource, grad=grad, **dict(given, **numbers))


def ftrl(tf, name="ApplyFtrl", **numbers):
    given = dict({"lr": 0.5, "l1": 0.5, "l2": 0.5, "lr_power": -0.5}, **numbers)
    return applied(tf, name, dict.fromkeys(("var", "accum", "linear"), _START), grad=_START, **given)


# fmt: off
ROWS = {
    "adam_grad": lambda tf: adam(tf, _START[:2]),
    "adam_grad_ref": lambda tf: adam(tf, _START[:2], resource=False),
    "adam_moment": lambda tf: adam(tf, m=_START[:, :1]),
    "adam_beta": lambda tf: adam(tf, beta1=[0.5]),
    "descent_alpha": lambda tf: applied(tf, "ApplyGradientDescent", {"var": _START}, alpha=[0.5], delta=_START),
    "momentum_grad": lambda tf: applied(tf, "ApplyMomentum", {"var": _START, "accum": _START}, lr=0.5, momentum=0.5, grad=_START[0]),
    "ftrl_rate_nan": lambda tf: ftrl(tf, lr=np.nan),
    "ftrl_rate_zero": lambda tf: ftrl(tf, lr=0.0),
    "ftrl_rate_rank": lambda tf: ftrl(tf, lr=[0.5]),
    "ftrl_l1": lambda tf: ftrl(tf, l1=-1.0),
    "ftrl_power": lambda tf: ftrl(tf, lr_power=0.5),
    "ftrl_v2_shrinkage": lambda tf: ftrl(tf, "ApplyFtrlV2", l2_shrinkage=-1.0),
    "proximal_adagrad_rate": lambda tf: applied(
        tf, "ApplyProximalAdagrad", {"var": _START, "accum": _START}, lr=-1.0, l1=0.5, l2=0.5, grad=_START
    ),
    "proximal_adagrad_l2": lambda tf: applied(
        tf, "ApplyProximalAdagrad", {"var": _START, "accum": _START}, lr=1.0, l1=0.5, l2=np.nan, grad=_START
    ),
    "sparse_adagrad_index": lambda tf: rows(tf, "SparseApplyAdagrad", [0, 3], lr=0.5),
    "sparse_adagrad_index_ref": lambda tf: rows(tf, "SparseApplyAdagrad", [0, 3], resource=False, lr=0.5),
    "sparse_adagrad_negative": lambda tf: rows(tf, "SparseApplyAdagrad", [-1, 2], lr=0.5),
    "sparse_adagrad_indices_rank": lambda tf: rows(tf, "SparseApplyAdagrad", [[0, 2]], lr=0.5),
    "sparse_adagrad_lengths": lambda tf: rows(tf, "SparseApplyAdagrad", [0, 1, 2], lr=0.5),
    "sparse_adagrad_width": lambda tf: rows(tf, "SparseApplyAdagrad", grad=_START[:2, :1], lr=0.5),
    "sparse_adagrad_rate": lambda tf: rows(tf, "SparseApplyAdagrad", lr=[0.5]),
    "sparse_momentum_slot": lambda tf: rows(tf, "SparseApplyMomentum", slot=_START[:2], lr=0.5, momentum=0.5),
    "sparse_rms_prop_index": lambda tf: rows(
        tf, "SparseApplyRMSProp", [0, 7], slots=("ms", "mom"), lr=0.5, rho=0.5, momentum=0.5, epsilon=0.5
    ),
}
# fmt: on

for _name, _build in ROWS.items():
    error_case(_name, _build, same_words=True)
