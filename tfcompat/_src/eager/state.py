"""State that eager operations share: variables, random sequences, resources, and cached programs."""

from __future__ import annotations

import collections
import contextlib
import functools
import threading
from collections.abc import Iterable, Iterator, MutableMapping
from typing import Any

from tfcompat._src.base import process_settings
from tfcompat._src.base.arrays import Array
from tfcompat._src.base.recent import Recent
from tfcompat._src.graph import op_spec
from tfcompat._src.graph.operation import Operation
from tfcompat._src.runtime.devices.devices import Device, session_devices
from tfcompat._src.runtime.session.config import process_config, session_config
from tfcompat._src.runtime.state.random_state import RandomState
from tfcompat._src.runtime.state.variable_state import VariableState


class _Sequence:
    """A random sequence, shared by operations of one type with the same seeds. It represents them in a RandomState.

    Args:
      op_type: their type.
      attrs: attributes with their seeds.
    """

    def __init__(self, op_type: str, attrs: dict[str, Any]) -> None:
        self.name, self.attrs = op_type, {"seed": attrs["seed"], "seed2": attrs["seed2"]}


class _EagerRandomState(RandomState):
    """Random state in which operations of the same type and seeds draw from one sequence, whatever their shapes, as in 1.15."""

    def __init__(self) -> None:
        super().__init__()
        self._sequences: dict[tuple[Any, ...], _Sequence] = {}
        self._current: dict[Operation, _Sequence] = {}
        self._lock = threading.RLock()

    @contextlib.contextmanager
    def drawing(self, op: Operation, attrs: dict[str, Any]) -> Iterator[None]:
        """A block in which `op` draws from the sequence that the attributes select; other threads wait."""
        key = (op.type, attrs["seed"], attrs["seed2"], str(attrs.get("dtype")))
        with self._lock:
            outer = self._current.get(op)
            self._current[op] = self._sequences.get(key) or self._sequences.setdefault(key, _Sequence(op.type, attrs))
            try:
                yield
            finally:
                del self._current[op]
                if outer is not None:  # this call came from a signal handler that interrupted a call of the same program
                    self._current[op] = outer

    def _counted(self, op: Operation) -> Operation:
        return self._current.get(op, op)  # type: ignore[return-value]  # a _Sequence takes its place


class EagerState:
    """State that eager operations share: variables, random sequences, resources, and cached programs.

    Args:
      config: the ConfigProto of the devices; None for the process's settings, which are fixed when a device is first used.
    """

    def __init__(self, config: object = None) -> None:
        self._config_given, self.process = config, process_config()
        self.variable_state = VariableState()
        self.writes: collections.Counter[str] = collections.Counter()
        """How often each variable has been written; the gradient of a call compares counts to see if variables changed since."""
        self.resources: dict[str, Any] = {}
        self.random_state = _EagerRandomState()
        self.programs: dict[tuple[Any, ...], Recent[Any, Any]] = {}
        """Cached programs, by op type, attributes without seeds, and device; then by kinds of inputs."""

    @functools.cached_property
    def config(self) -> Any:
        """The ConfigProto of the devices."""
        return session_config() if self._config_given is None else self._config_given

    @functools.cached_property
    def devices(self) -> list[Device]:
        """The devices that operations run on."""
        process_settings.apply()
        return session_devices(self.config)

    @property
    def variables(self) -> MutableMapping[str, Array]:
        """The values of all variables of the process, by the keys of their handles."""
        return self.variable_state.values

    def forget_programs(self) -> None:
        """Restarts all random sequences, and drops the programs of stateful ops."""
        self.random_state = _EagerRandomState()
        # Programs of stateful ops may hold random counters of their own.
        self.programs = {k: p for k, p in self.programs.items() if not op_spec.get(k[0]).effects.is_stateful}


class ProcessVariables(VariableState):
    """Variables of the process, seen by a program under the program's own keys.

    Args:
      state: the variables of the process.
      keys: the program's keys to those of the process.
    """

    def __init__(self, state: VariableState, keys: dict[str, str]) -> None:
        # Lock and unfiled calls are shared: these are the same variables.
        self.lock, self.unfiled = state.lock, state.unfiled
        self._all, self._keys = state.held, keys
        self.held = _Renamed(state.held, keys)

    def entries(self, keys: list[str], values: Iterable[Any]) -> list[tuple[dict[Any, Any], dict[Any, Any]]]:
        return [(self._all, dict(zip([self._keys[key] for key in keys], values)))]  # type: ignore[list-item]  # values of a process are in a dict


class _Renamed(MutableMapping[str, Any]):
    """A view of a mapping under other keys."""

    def __init__(self, mapping: MutableMapping[str, Any], keys: dict[str, str]) -> None:
        self._mapping, self._keys = mapping, keys

    def __getitem__(self, key: str) -> Any:
        return self._mapping[self._keys[key]]

    def __setitem__(self, key: str, value: object) -> None:
        self._mapping[self._keys[key]] = value

    def __delitem__(self, key: str) -> None:
        del self._mapping[self._keys[key]]

    def __iter__(self) -> Iterator[str]:
        return (mine for mine, key in self._keys.items() if key in self._mapping)

    def __len__(self) -> int:
        return sum(1 for _ in self)
