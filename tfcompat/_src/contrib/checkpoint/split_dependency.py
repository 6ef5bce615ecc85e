"""Values of several objects of a checkpoint that one operation gives, or takes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.trackable import VARIABLE_VALUE_KEY, Trackable
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.train.saveable_object import SaveableObject, SaveSpec

_Buffer = dict[str, Any]


class _Shared:
    """What the parts have in common: values that wait to be saved, and values that wait for the others to be restored."""

    def __init__(self, count: int, fill: Callable[[_Buffer], Any], consume: Callable[[_Buffer], Any]) -> None:
        self._count, self._fill, self._consume = count, fill, consume
        self._saved: _Buffer = {}
        self._restored: _Buffer = {}

    def value_of(self, name: str) -> Any:
        """The value to be saved; the first of a round makes those of all."""
        if name not in self._saved:
            if self._saved:
                raise AssertionError(f"{name!r} is saved again before {sorted(self._saved)}; parts that one value is split into go together.")
            self._fill(self._saved)
        return self._saved.pop(name)

    def restore(self, name: str, value: object) -> Any:
        """Keeps a restored value; the last of a round gives all of them away."""
        if name in self._restored:
            raise AssertionError(f"{name!r} is restored again before the others; parts that one value is split into go together.")
        self._restored[name] = value
        if len(self._restored) < self._count:
            return no_op()
        values = dict(self._restored)
        self._restored.clear()
        return self._consume(values)


class _Saveable(SaveableObject):
    def __init__(self, name: str, part: _Part) -> None:
        value = functools.partial(part.shared.value_of, part.name)
        super().__init__(value, [SaveSpec(value, "", name, part.dtype, part.device)], name)
        self._part = part

    def restore(self, restored_tensors: list[Any], restored_shapes: list[Any] | None) -> Any:
        (value,) = restored_tensors
        return self._part.shared.restore(self._part.name, value)


class _Part(Trackable):
    """One of the values; a checkpoint sees it as a variable."""

    def __init__(self, name: str, dtype: Any, device: str, shared: _Shared) -> None:
        self.name, self.dtype, self.device, self.shared = name, dtype, device, shared

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {VARIABLE_VALUE_KEY: functools.partial(_Saveable, part=self)}


@export("contrib.checkpoint.split_dependency")
def split_dependency(
    component_names: Sequence[str], component_dtypes: Sequence[Any], fill_save_buffer_fn: Callable[[_Buffer], Any],
    consume_restore_buffer_fn: Callable[[_Buffer], Any], device: str,
) -> dict[str, Trackable]:  # fmt: skip
    """Objects that are saved as variables are, whose values one function makes and one function takes.

    Args:
      component_names: names of the values.
      component_dtypes: their dtypes.
      fill_save_buffer_fn: puts tensors under these names into the dict that it is given.
      consume_restore_buffer_fn: makes the operation that restores the tensors of a dict; None where it has run already.
      device: where the values are saved and restored.

    Returns:
      An object for each name; objects that depend on one of them must depend on all.
    """
    shared = _Shared(len(component_names), fill_save_buffer_fn, consume_restore_buffer_fn)
    return {name: _Part(name, dtype, device, shared) for name, dtype in zip(component_names, component_dtypes, strict=False)}
