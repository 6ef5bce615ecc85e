"""How variables, tensors and trackable objects become SaveableObjects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.device import DeviceSpecV2
from tfcompat._src.base.trackable import VARIABLE_VALUE_KEY, Trackable
from tfcompat._src.graph.scopes import device, executing_eagerly
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import internal_convert_to_tensor
from tfcompat._src.train.saveable_object import SaveableObject, SaveSpec
from tfcompat._src.variables import assign
from tfcompat._src.variables.partitioned import PartitionedVariable
from tfcompat._src.variables.ref_variable import RefVariable
from tfcompat._src.variables.resource_variable import BaseResourceVariable, is_resource_variable
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_REF_OPS = ("Variable", "VariableV2", "AutoReloadVariable")
_VARIABLE_OPS = (*_REF_OPS, "VarHandleOp", "ReadVariableOp")


def set_cpu0(device_string: str) -> str:
    """The device string with CPU:0 for the device."""
    return DeviceSpecV2.from_string(device_string).replace(device_type="CPU", device_index=0).to_string()


class ReferenceVariableSaveable(SaveableObject):
    """A variable by reference, or a part of one."""

    def __init__(self, var: Any, slice_spec: str, name: str) -> None:
        super().__init__(var, [SaveSpec(var, slice_spec, name, dtype=var.dtype)], name)

    def restore(self, restored_tensors: list[Any], restored_shapes: list[Any] | None) -> Any:
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = raw.Reshape(value, restored_shapes[0])
        check = restored_shapes is None and self.op.get_shape().is_fully_defined()
        return assign.assign(self.op, value, validate_shape=check)


class ResourceVariableSaveable(SaveableObject):
    """A resource variable, a part of one, or a read of one.

    Raises:
      ValueError: `var` is none of these.
    """

    def __init__(self, var: Any, slice_spec: str, name: str) -> None:
        self._var_device, self._var_shape = var.device, var.shape
        if isinstance(var, Tensor):
            self.handle_op = var.op.inputs[0]
            tensor = var
        elif is_resource_variable(var):
            self.handle_op = var.handle
            tensor = read_on_cpu(var)
        else:
            raise ValueError(f"Saveable is neither a resource variable nor a read operation. Got: {var!r}")
        super().__init__(var, [SaveSpec(tensor, slice_spec, name, dtype=var.dtype, device=var.device)], name)

    def restore(self, restored_tensors: list[Any], restored_shapes: list[Any] | None) -> Any:
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = raw.Reshape(value, restored_shapes[0])
        with device(self._var_device):
            value = raw.Identity(value)
            self._var_shape.assert_is_compatible_with(value.shape)
            return raw.AssignVariableOp(self.handle_op, value)


def read_on_cpu(variable: Any) -> Callable[[], Tensor]:
    def read() -> Tensor:
        with device(variable.device):
            value = variable.read_value()
            with device("/device:CPU:0"):
                return raw.Identity(value)

    return read


def _comes_from_variable(value: object) -> bool:
    return isinstance(value, Tensor) and value.op.type in _VARIABLE_OPS


def _saveable(variable: Any, slice_spec: str, name: str) -> SaveableObject:
    is_resource = isinstance(variable, BaseResourceVariable) or variable.op.type not in _REF_OPS
    kind = ResourceVariableSaveable if is_resource else ReferenceVariableSaveable
    return kind(variable, slice_spec, name)


def _makes_saveables(value: object) -> bool:
    """Whether a trackable makes its SaveableObjects itself, as a variable of several components does."""
    is_one_variable = isinstance(value, (BaseResourceVariable, RefVariable)) and not hasattr(value, "_is_distributed")
    return isinstance(value, Trackable) and not is_one_variable


def saveable_objects_for_op(op: Any, name: str) -> Iterator[SaveableObject]:
    """The SaveableObjects of a variable, a tensor that reads one, a list of parts, a trackable or a SaveableObject.

    Raises:
      TypeError: `name` is no str, or `op` none of these. ValueError: the parts do not belong together.
    """
    if not isinstance(name, str):
        raise TypeError(
            f"names_to_saveables must be a dict mapping string names to trackable operations. Name is not a string: {name}"
        )
    if isinstance(op, SaveableObject):
        yield op
    elif isinstance(op, (list, tuple, PartitionedVariable)):
        yield from _saveables_of_parts(list(op), name)
    elif _makes_saveables(op):
        for attribute, factory in op._gather_saveables_for_checkpoint().items():
            full_name = name if attribute == VARIABLE_VALUE_KEY else f"{name}_{attribute}"
            made = factory(full_name) if callable(factory) else factory
            yield from saveable_objects_for_op(made, made.name)
    elif isinstance(op, BaseResourceVariable):
        yield ResourceVariableSaveable(op._graph_element if op._in_graph_mode else op, "", name)
    elif executing_eagerly():
        raise ValueError(f"Can only save/restore ResourceVariables when executing eagerly, got type: {type(op)}.")
    else:
        tensor = internal_convert_to_tensor(op, as_ref=True)
        if not _comes_from_variable(tensor):
            raise TypeError(
                f"names_to_saveables must be a dict mapping string names to Tensors/Variables. Not a variable: {tensor}"
            )
        yield _saveable(tensor, "", name)


def _saveables_of_parts(parts: list[Any], name: str) -> Iterator[SaveableObject]:
    whole = None
    for part in parts:
        if not isinstance(part, Variable):
            raise ValueError(f"Slices must all be Variables: {part}")
        if not part._save_slice_info:
            raise ValueError(f"Slices must all be slices: {part}")
        if whole not in (None, part._save_slice_info.full_name):
            raise ValueError(f"Slices must all be from the same tensor: {whole} != {part._save_slice_info.full_name}")
        whole = part._save_slice_info.full_name
        yield _saveable(part, part._save_slice_info.spec, name)


def op_list_to_dict(op_list: object, convert_variable_to_tensor: bool = True) -> dict[str, Any]:
    """Variables and SaveableObjects by the names under which they are saved; parts of one variable are a list.

    Args:
      op_list: list, tuple or set of them.
      convert_variable_to_tensor: whether whole variables become tensors.

    Raises:
      TypeError: `op_list` is none, or something in it cannot be saved. ValueError: two share a name.
    """
    if not isinstance(op_list, (list, tuple, set)):
        raise TypeError(f"Variables to save should be passed in a dict or a list: {op_list}")
    found: dict[str, Any] = {}
    for var in sorted(op_list, key=lambda v: v.name):
        if isinstance(var, SaveableObject):
            found[var.name] = var
        elif isinstance(var, PartitionedVariable):
            _add_once(found, var.name, var)
        elif isinstance(var, Variable) and var._save_slice_info:
            name = var._save_slice_info.full_name
            if not isinstance(found.setdefault(name, []), list):
                raise ValueError(f"Mixing slices and non-slices with the same name: {name}")
            found[name].append(var)
        elif _makes_saveables(var):
            made = [f() if callable(f) else f for f in var._gather_saveables_for_checkpoint().values()]
            found.update(op_list_to_dict(made))
        elif executing_eagerly() or not getattr(var, "_in_graph_mode", True):
            _add_eager(found, var)
        else:
            value = _as_tensor(var) if convert_variable_to_tensor else var
            reads = value.op.type == "ReadVariableOp"
            _add_once(found, value.op.inputs[0].op.name if reads else value.op.name, value)
    return found


def _add_eager(found: dict[str, Any], var: object) -> None:
    """Adds a variable that is in no graph."""
    if not isinstance(var, BaseResourceVariable):
        raise ValueError(f"Can only save/restore ResourceVariables when eager execution is enabled, type: {type(var)}.")
    if found.setdefault(var._shared_name, var) is not var:
        raise ValueError(
            f"Two different ResourceVariable objects with the same shared_name '{var._shared_name}' were passed to the "
            "Saver. This likely means that they were created in different Graphs or isolation contexts, and may not be "
            "checkpointed together."
        )


def _as_tensor(var: TensorLike) -> Tensor:
    tensor = (
        var._graph_element if isinstance(var, BaseResourceVariable) else internal_convert_to_tensor(var, as_ref=True)
    )
    if not _comes_from_variable(tensor):
        raise TypeError(f"Variable to save is not a Variable: {tensor}")
    return tensor


def _add_once(found: dict[str, Any], name: str, value: object) -> None:
    if name in found:
        raise ValueError(f"At least two variables have the same name: {name}")
    found[name] = value


def validate_and_slice_inputs(names_to_saveables: object) -> list[SaveableObject]:
    """The SaveableObjects of a dict (or list, see `op_list_to_dict`), sorted by name.

    Raises:
      TypeError: a name or value has the wrong type. ValueError: something is saved under two names.
    """
    if not isinstance(names_to_saveables, dict):
        names_to_saveables = op_list_to_dict(names_to_saveables)
    found: list[SaveableObject] = []
    seen: set[int] = set()
    for name, op in sorted(names_to_saveables.items(), key=lambda item: item[0]):
        for saveable in saveable_objects_for_op(op, name):
            if id(saveable.op) in seen:
                raise ValueError(f"The same saveable will be restored with two names: {saveable.name}")
            seen.add(id(saveable.op))
            found.append(saveable)
    return found
