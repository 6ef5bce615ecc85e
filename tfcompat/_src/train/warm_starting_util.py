"""tf.train.warm_start: variables begin with the values of an earlier model."""

from __future__ import annotations

from typing import Any, NamedTuple

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.scopes import get_collection
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.platform import logging
from tfcompat._src.train import checkpoint_utils, saveable_object_util
from tfcompat._src.train.checkpoint_ops import load_and_remap_matrix_initializer
from tfcompat._src.train.saver import object_graph_key_mapping
from tfcompat._src.variables.assign import assign
from tfcompat._src.variables.partitioned import PartitionedVariable, PartitionInfo


class _VocabInfo(NamedTuple):
    new_vocab: str
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: str
    old_vocab_size: int = -1
    backup_initializer: Any = None
    axis: int = 0


@export("train.VocabInfo", "estimator.VocabInfo", "compat.v2.estimator.VocabInfo")
class VocabInfo(_VocabInfo):
    """How the rows (or columns) of a variable belong to words, now and in an earlier model.

    Args:
      new_vocab: path of the words of this model, one a line.
      new_vocab_size: how many of them are used.
      num_oov_buckets: rows for other words.
      old_vocab: path of the words of the earlier model.
      old_vocab_size: how many of them are used; -1 for all.
      backup_initializer: gives the values for words that it lacks; by default zeros.
      axis: 0 for rows, 1 for columns.

    Raises:
      ValueError: another axis.
    """

    def __new__(
        cls, new_vocab: str, new_vocab_size: int, num_oov_buckets: int, old_vocab: str, old_vocab_size: int = -1,
        backup_initializer: object = None, axis: int = 0,
    ) -> VocabInfo:  # fmt: skip
        if axis not in (0, 1):
            raise ValueError(f"The only supported values for the axis argument are 0 and 1.  Provided axis: {axis}")
        return super().__new__(
            cls, new_vocab, new_vocab_size, num_oov_buckets, old_vocab, old_vocab_size, backup_initializer, axis
        )


def _saved_name(variables: list[Any]) -> str:
    names = list(saveable_object_util.op_list_to_dict(variables))
    if len(names) > 1:
        raise TypeError(f"`var` = {variables} passed as arg violates the constraints.  names = {names}")
    return names[0]


def _parts(var: object) -> list[Any]:
    """A variable, list of variables or PartitionedVariable as a list; TypeError for anything else."""
    if checkpoint_utils._is_variable(var):
        return [var]
    if isinstance(var, PartitionedVariable):
        return var._get_variable_list()
    if isinstance(var, list) and all(map(checkpoint_utils._is_variable, var)):
        return var
    raise TypeError(
        f"var MUST be one of the following: a Variable, list of Variable or PartitionedVariable, but is {type(var)}"
    )


def _get_var_info(var: object, prev_tensor_name: str | None = None) -> tuple[str, Any]:
    """The name in the checkpoint (by default the variable's own), and the variable or list of its parts."""
    parts = _parts(var)
    return prev_tensor_name or _saved_name(parts), var if checkpoint_utils._is_variable(var) else parts


def _warm_start_var_with_vocab(
    var: object, current_vocab_path: Any, current_vocab_size: int, prev_ckpt: Any, prev_vocab_path: Any,
    previous_vocab_size: int = -1, current_oov_buckets: int = 0, prev_tensor_name: str | None = None, initializer: Any = None,
    axis: int = 0,
) -> None:  # fmt: skip
    """Makes the initializer of a matrix, or of its parts, read a saved one whose words stand elsewhere."""
    if not (current_vocab_path and current_vocab_size and prev_ckpt and prev_vocab_path):
        raise ValueError(
            "Invalid args: Must provide all of [current_vocab_path, current_vocab_size, prev_ckpt, prev_vocab_path}."
        )
    parts = _parts(var)
    name = prev_tensor_name or _saved_name(parts)
    rows = sum(p.get_shape().as_list()[0] for p in parts)
    for part in parts:
        shape = part.get_shape().as_list()
        info = part._get_save_slice_info()
        place = PartitionInfo(full_shape=info.full_shape, var_offset=info.var_offset) if info else None
        if axis == 0:
            words = {
                "new_row_vocab_size": current_vocab_size, "new_col_vocab_size": shape[1],
                "old_row_vocab_size": previous_vocab_size, "old_row_vocab_file": prev_vocab_path,
                "new_row_vocab_file": current_vocab_path, "num_row_oov_buckets": current_oov_buckets,
            }  # fmt: skip
        else:
            words = {
                "new_row_vocab_size": rows, "new_col_vocab_size": current_vocab_size, "old_col_vocab_file": prev_vocab_path,
                "new_col_vocab_file": current_vocab_path, "num_col_oov_buckets": current_oov_buckets,
            }  # fmt: skip
        initialize = load_and_remap_matrix_initializer(
            checkpoint_utils._prefix(prev_ckpt), name, initializer=initializer, **words
        )
        value = convert_to_tensor(initialize(shape=shape, partition_info=place))
        part._initializer_op = assign(part, value)


def _grouped_variables(vars_to_warm_start: object) -> dict[str, list[Any]]:
    """The variables meant, by the names under which they are saved; the parts of one are together."""
    if isinstance(vars_to_warm_start, str) or vars_to_warm_start is None:
        logging.info("Warm-starting variables only in TRAINABLE_VARIABLES.")
        found = get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=vars_to_warm_start)
    elif not isinstance(vars_to_warm_start, list):
        raise ValueError(f"`vars_to_warm_start must be a `list` or `str`.  Given type is {type(vars_to_warm_start)}")
    elif all(isinstance(v, str) for v in vars_to_warm_start):
        found = [v for scope in vars_to_warm_start for v in get_collection(GraphKeys.GLOBAL_VARIABLES, scope=scope)]
    elif all(map(checkpoint_utils._is_variable, vars_to_warm_start)):
        found = vars_to_warm_start
    else:
        raise ValueError(
            "If `vars_to_warm_start` is a list, it must be all `Variable` or all `str`.  Given types are "
            f"{[type(v) for v in vars_to_warm_start]}"
        )
    grouped: dict[str, list[Any]] = {}
    for variable in found:
        parts = variable if isinstance(variable, list) else [variable]
        grouped.setdefault(_saved_name(parts), []).append(variable)
    return grouped


def _object_keys(checkpoint: object, names: list[str]) -> dict[str, str]:
    """The keys of variables in a checkpoint of objects by name; empty where a Saver wrote it."""
    try:
        keys = object_graph_key_mapping(checkpoint_utils._prefix(checkpoint))
    except errors.NotFoundError:
        return {}
    missing = set(names) - set(keys)
    if missing:
        raise ValueError(
            "Attempting to warm-start from an object-based checkpoint, but found that the checkpoint did not contain values for all "
            f"variables. The following variables were missing: {missing}"
        )
    return {name: keys[name] for name in names}


@export("train.warm_start")
def warm_start(
    ckpt_to_initialize_from: object, vars_to_warm_start: object = ".*", var_name_to_vocab_info: dict[str, VocabInfo] | None = None,
    var_name_to_prev_var_name: dict[str, str] | None = None,
) -> None:  # fmt: skip
    """Makes the initializers of variables read the checkpoint of an earlier model.

    Args:
      ckpt_to_initialize_from: its prefix, or a folder whose latest checkpoint is meant.
      vars_to_warm_start: regular expression of trainable variables, list of them for all variables, list of variables, or
        None for trainable ones with a VocabInfo.
      var_name_to_vocab_info: by name of variable, how its rows belong to words.
      var_name_to_prev_var_name: by name of variable, its name in the checkpoint.

    Raises:
      ValueError: a name is not used, the checkpoint lacks a variable, or an argument has the wrong type.
    """
    logging.info("Warm-starting from: %s", ckpt_to_initialize_from)
    grouped = _grouped_variables(vars_to_warm_start)
    vocabularies = var_name_to_vocab_info or {}
    previous = var_name_to_prev_var_name or _object_keys(ckpt_to_initialize_from, list(grouped))
    assignments = {}
    for name, variables in grouped.items():
        words = vocabularies.get(name)
        if words:
            _warm_start_var_with_vocab(
                variables, words.new_vocab, words.new_vocab_size, ckpt_to_initialize_from, words.old_vocab, words.old_vocab_size,
                words.num_oov_buckets, previous.get(name), words.backup_initializer, words.axis,
            )  # fmt: skip
        elif vars_to_warm_start:
            saved_name, variable = _get_var_info(variables[0] if len(variables) == 1 else variables, previous.get(name))
            assignments[saved_name] = variable
    checkpoint_utils.init_from_checkpoint(ckpt_to_initialize_from, assignments)
    logging.info("Warm-started %d variables.", len(assignments) + len(set(vocabularies) & set(grouped)))
    for argument, given in (("var_name_to_prev_var_name", previous), ("var_name_to_vocab_info", vocabularies)):
        unused = set(given) - set(grouped)
        if unused:
            raise ValueError(
                f"You provided the following variables in {argument} that were not used: {unused}.  Perhaps you misspelled them?  "
                f"Here is the list of viable variable names: {grouped.keys()}"
            )
