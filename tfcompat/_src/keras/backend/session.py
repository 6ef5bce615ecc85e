"""What Keras keeps for each graph, and the session in which it runs."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import threading
import weakref
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import nest
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.base.device import DeviceSpecV1
from tfcompat._src.base.export import export
from tfcompat._src.graph import device_scope
from tfcompat._src.graph.distribution_context import strategy_in_use
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import (
    executing_eagerly,
    get_default_graph,
    graph_from_inputs,
    init_scope,
    name_scope,
    reset_default_graph,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.function_body import FuncGraph
from tfcompat._src.ops.array.constant import placeholder_with_default
from tfcompat._src.runtime.session.config import session_config
from tfcompat._src.runtime.session.session import BaseSession, Session, get_default_session
from tfcompat._src.train.worker_context import get_current_worker_context
from tfcompat._src.variables.assign import is_variable_initialized
from tfcompat._src.variables.collections import variables_initializer
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@dataclasses.dataclass
class GraphState:
    """Keras' notes on one graph: counters of names, learning phase, and what it has to initialize."""

    uids: dict[Any, int] = dataclasses.field(default_factory=lambda: collections.defaultdict(int))
    learning_phase: Any = None
    variables: list[weakref.ref] = dataclasses.field(default_factory=list)
    optimizers: list[weakref.ref] = dataclasses.field(default_factory=list)


class _Current(threading.local):
    """The session that Keras made or was given in this thread, and the strategy that configured it."""

    session: BaseSession | None = None
    strategy: Any = None


_states: weakref.WeakSet = weakref.WeakSet()
_current = _Current()
_manual_initialization = False


def graph_state(graph: Graph | None = None) -> GraphState:
    """The notes on `graph`, by default the default graph."""
    graph = get_default_graph() if graph is None else graph
    if not hasattr(graph, "_keras_state"):
        graph._keras_state = GraphState()
        _states.add(graph)
    return graph._keras_state


class KerasGraph(FuncGraph):
    """The graph of models in a program where operations run when they are called."""

    name = "keras_graph"

    def __init__(self, outer_graph: Graph) -> None:
        super().__init__(outer_graph)
        self.functional_control_flow = True


_eager_programs_graph: list[KerasGraph] = []


def get_graph() -> Graph:
    """The graph that Keras builds in: the default graph, or one of its own where operations run when they are called."""
    if not executing_eagerly():
        return get_default_graph()
    if not _eager_programs_graph or _eager_programs_graph[0].outer_graph is not get_default_graph():
        _eager_programs_graph[:] = [KerasGraph(get_default_graph())]
    return _eager_programs_graph[0]


def is_keras_graph(graph: Graph) -> bool:
    """Whether `graph` is the one that Keras has of its own, or a function inside it."""
    while graph.building_function:
        if graph in _eager_programs_graph:
            return True
        graph = graph.outer_graph
    return False


# ---- names ----


@export("keras.backend.get_uid")
def get_uid(prefix: str = "") -> int:
    """How often this was asked for `prefix` in the graph that Keras builds in, this time included."""
    uids = graph_state(get_graph()).uids
    uids[prefix] += 1
    return uids[prefix]


@export("keras.backend.reset_uids")
def reset_uids() -> None:
    """Starts the numbers of names anew, in every graph."""
    for graph in list(_states):
        graph_state(graph).uids.clear()


def get_default_graph_uid_map() -> dict[Any, int]:
    """The counters of names of the default graph."""
    return graph_state().uids


def unique_object_name(
    name: str, name_uid_map: dict[Any, int] | None = None, avoid_names: Container[str] | None = None,
    namespace: str = "", zero_based: bool = False,
) -> str:  # fmt: skip
    """`name` with the number of its kind: dense_1, dense_2; dense, dense_1 where `zero_based`.

    Args:
      name: what to make unique.
      name_uid_map: counters (a defaultdict(int)); by default those of the default graph.
      avoid_names: names that are not to be given.
      namespace: numbers are counted for each.
      zero_based: whether the first name has no number.
    """
    uids = get_default_graph_uid_map() if name_uid_map is None else name_uid_map
    while True:
        uids[namespace, name] += 1
        number = uids[namespace, name] - zero_based
        found = f"{name}_{number}" if number else name
        if found not in (avoid_names or ()):
            return found


# ---- learning phase ----


@export("keras.backend.learning_phase")
def learning_phase() -> Any:
    """Whether Keras layers train.

    Returns:
      0 or 1 where it was set; else a bool placeholder of the graph, False by default, or 0 where operations run at once.
    """
    if is_keras_graph(get_default_graph()):
        return symbolic_learning_phase()
    with init_scope():
        if executing_eagerly():
            return graph_state().learning_phase or 0
        return symbolic_learning_phase()


def symbolic_learning_phase() -> Any:
    """The learning phase of the graph that Keras builds in."""
    graph = get_graph()
    graph = _eager_programs_graph[0] if is_keras_graph(graph) else graph
    state = graph_state(graph)
    if state.learning_phase is None:
        with graph.as_default(), name_scope(""):
            state.learning_phase = placeholder_with_default(False, shape=(), name="keras_learning_phase")
    return state.learning_phase


def global_learning_phase_is_set() -> bool:
    """Whether the learning phase was set to 0 or 1."""
    with init_scope():
        return graph_state().learning_phase in (0, 1)


def _checked_phase(value: int) -> int:
    if value not in (0, 1):
        raise ValueError("Expected learning phase to be 0 or 1.")
    return value


def _states_with_phase() -> list[GraphState]:
    """The notes that say the learning phase here."""
    with init_scope():
        return [graph_state(graph) for graph in dict.fromkeys((get_default_graph(), get_graph()))]


@export("keras.backend.set_learning_phase")
def set_learning_phase(value: int) -> None:
    """Sets the learning phase of the graph: 0 for inference, 1 for training; ValueError for anything else."""
    _checked_phase(value)
    for state in _states_with_phase():
        state.learning_phase = value


@contextlib.contextmanager
def _phase_in(states: list[GraphState], value: int) -> Iterator[None]:
    before = [state.learning_phase for state in states]
    for state in states:
        state.learning_phase = value
    try:
        yield
    finally:
        for state, phase in zip(states, before):
            state.learning_phase = phase


@export("keras.backend.learning_phase_scope")
def learning_phase_scope(value: int) -> contextlib.AbstractContextManager[None]:
    """The learning phase is `value`, 0 or 1, inside the block; ValueError for anything else."""
    return _phase_in(_states_with_phase(), _checked_phase(value))


def eager_learning_phase_scope(value: int) -> contextlib.AbstractContextManager[None]:
    """The learning phase of operations that run at once is `value` inside the block, not that of Keras' graph."""
    return _phase_in(_states_with_phase()[:1], _checked_phase(value))


# ---- session ----


def _current_graph(op_input_list: Any) -> Graph:
    return graph_from_inputs(op_input_list)


def get_default_session_config() -> Any:
    """The configuration of a session that Keras makes."""
    config = session_config()
    config.allow_soft_placement = True
    return config


def configure_and_create_distributed_session(distribution_strategy: Any) -> None:
    """Makes the session of Keras one that `distribution_strategy` configured."""
    config, context = get_default_session_config(), get_current_worker_context()
    if _current.session is not None:
        config.MergeFrom(_current.session._config)
    if context is None:
        if not (_current.strategy is distribution_strategy and _current.session and _current.session.graph is get_default_graph()):
            distribution_strategy.configure(config)
            set_session(Session(config=config))
            _current.strategy = distribution_strategy
        return
    of_task = context.session_config
    of_task.MergeFrom(config)
    set_session(Session(context.master_target, config=of_task))


def _get_session(op_input_list: object = ()) -> BaseSession:
    """The default session, or that of Keras for the graph of `op_input_list`."""
    session = get_default_session()
    if session is not None:
        return session
    if get_default_graph().building_function:
        raise RuntimeError("Cannot get session inside Tensorflow graph function.")
    if _current.session is None or _current.session.graph is not _current_graph(op_input_list):
        strategy = strategy_in_use()
        if strategy is None:
            _current.session = Session(config=get_default_session_config())
        else:
            configure_and_create_distributed_session(strategy)
    return _current.session


@export("keras.backend.get_session")
def get_session(op_input_list: object = ()) -> BaseSession:
    """The session that Keras runs in, with the variables that Keras made initialized.

    Args:
      op_input_list: tensors and operations whose graph the session must have; by default the default graph.

    Returns:
      the default session where there is one, else the session that was set, else one that is made and kept.
    """
    session = _get_session(op_input_list)
    if not _manual_initialization:
        with session.graph.as_default():
            _initialize_variables(session)
    return session


@export("keras.backend.set_session")
def set_session(session: BaseSession) -> None:
    """Makes `session` the one that Keras runs in, in this thread."""
    _current.session, _current.strategy = session, None


@export("keras.backend.clear_session")
def clear_session() -> None:
    """Starts anew with an empty default graph and without a session."""
    reset_default_graph()
    reset_uids()
    _eager_programs_graph.clear()
    _current.session = _current.strategy = None
    for state in _states_with_phase():
        state.learning_phase = None
    symbolic_learning_phase()


@export("keras.backend.manual_variable_initialization")
def manual_variable_initialization(value: bool) -> None:
    """Says whether the user initializes variables; by default Keras does when it runs."""
    global _manual_initialization
    _manual_initialization = value


def track_variable(variable: Any) -> None:
    """Has `variable` of a graph initialized when Keras runs."""
    if not executing_eagerly():
        graph_state(variable.graph).variables.append(weakref.ref(variable))


def track_tf_optimizer(tf_optimizer: object) -> None:
    """Has the variables of the tf.train.Optimizer of `tf_optimizer` initialized when Keras runs."""
    if not executing_eagerly():
        graph_state().optimizers.append(weakref.ref(tf_optimizer))


def _get_variables(graph: Graph | None = None) -> list[Any]:
    """The variables of `graph` that Keras initializes."""
    state = graph_state(graph)
    alive = [v for v in (ref() for ref in state.variables) if v is not None]
    for optimizer in (ref() for ref in state.optimizers):
        if optimizer is not None:
            alive += [v for v in optimizer.optimizer.variables() if not any(v is seen for seen in alive)]
    return alive


def _initialize_variables(session: BaseSession) -> None:
    """Initializes the variables that Keras has not seen initialized, where they are not."""
    candidates = [v for v in _get_variables() if not getattr(v, "_keras_initialized", False)]
    if not candidates:
        return
    flags = session.run([is_variable_initialized(v) for v in candidates])
    for variable in candidates:
        variable._keras_initialized = True
    waiting = [v for v, initialized in zip(candidates, flags) if not initialized]
    if waiting:
        session.run(variables_initializer(waiting))


# ---- devices ----


class _DeviceOfNode:
    """Stands for a node while the device scopes are applied to it."""

    _device = ""
    device = property(lambda self: self._device)
    name, type = "a Keras operation", "NoOp"


def _get_current_tf_device() -> DeviceSpecV1:
    """What the device scopes say for a node made now."""
    node = _DeviceOfNode()
    device_scope.apply(get_default_graph()._devices, node)
    return DeviceSpecV1.from_string(node.device)


def _is_current_explicit_device(device_type: str) -> bool:
    """Whether the device scopes name a device of this type; ValueError unless it is "CPU" or "GPU"."""
    if device_type.upper() not in ("CPU", "GPU"):
        raise ValueError('`device_type` should be either "CPU" or "GPU".')
    return _get_current_tf_device().device_type == device_type.upper()


@functools.cache
def _get_available_gpus() -> tuple[str, ...]:
    """The names of the GPUs of the session that was Keras' when this was first asked."""
    return tuple(d.name for d in get_session().list_devices() if d.device_type == "GPU")


def _has_nchw_support() -> bool:
    """Whether operations made now may have the channels first: a GPU is there and no scope says CPU."""
    return not _is_current_explicit_device("CPU") and bool(_get_available_gpus())


_tensor_like_types: set[type] = set()


def register_symbolic_tensor_type(cls: type) -> None:
    """Lets Keras take objects of a class, which `tf.convert_to_tensor` accepts, as the tensors that they become."""
    _tensor_like_types.add(cls)


def is_symbolic_tensor(x: TensorLike) -> bool:
    """Whether `x` is a tensor of a graph, or a variable where operations are added to one."""
    if isinstance(x, tuple(_tensor_like_types)):
        x = convert_to_tensor(x)
    if isinstance(x, CompositeTensor):
        return all(is_symbolic_tensor(part) for part in nest.flatten(x, expand_composites=True))
    if isinstance(x, Variable):
        return not executing_eagerly()
    return isinstance(x, Tensor) and not isinstance(x, EagerTensor)


def are_all_symbolic(values: object) -> bool:
    """Whether all leaves of a nest are tensors of graphs."""
    return all(map(is_symbolic_tensor, nest.flatten(values)))
